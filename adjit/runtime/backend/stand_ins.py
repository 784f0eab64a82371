"""Stand-ins for functions that numba would compile apart, 20 to 100 ms each: a few instructions where they are called.

In: a callee. Out: a function for numba that does the same, and is typed and lowered without compiling another.

    x_bar = np.zeros_like(x)     an allocation and a memset here, not four functions, compiled, linked and inlined

The text of generated code names NumPy's own functions; only numba's compilation of it, and questions about types, see
these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.cpython.builtins import do_minmax

from adjit.runtime.backend.arrays import like, of_like, of_shape, shaped, told
from adjit.runtime.backend.pool import ALLOCATION

_STAND_INS: dict[tuple[Any, int], Callable[..., Any]] = {}


def stand_in(callee: Any, count: int) -> Callable[..., Any] | None:
    """What stands for a function in calls with so many arguments, by position."""
    return _STAND_INS.get((callee, count)) if callable(callee) else None


def _stands_for(original: Callable[..., Any], count: int, typer: Any, lower: Any) -> None:
    """Registers a stand-in for calls with so many arguments: what finds the type, and writes the instructions."""

    def function(*arguments: Any) -> Any:
        return original(*arguments)

    function.__name__ = function.__qualname__ = original.__name__
    told(function, typer, lower, count)
    _STAND_INS[original, count] = function


# -------------------------------------------------------------------------------------------------------------- arrays


for _count in (1, 2):
    for _zeroed, _new, _new_like in ((False, np.empty, np.empty_like), (True, np.zeros, np.zeros_like)):
        _stands_for(_new, _count, of_shape, shaped(_zeroed, ALLOCATION))
        _stands_for(_new_like, _count, of_like, like(_zeroed, ALLOCATION))


# ------------------------------------------------------------------------------------------------------------- numbers


def _of_ordered(context: Any) -> Any:
    def typer(first: types.Type, second: types.Type, third: types.Type | None = None) -> Any:
        numbers = (first, second) if third is None else (first, second, third)
        are_ordered = all(isinstance(n, types.Integer | types.Float | types.Boolean) for n in numbers)
        return context.unify_types(*numbers) if are_ordered else None

    return typer


def _extreme(compare: Any) -> Any:
    def lower(context: Any, builder: llvm.IRBuilder, sig: Any, args: Sequence[llvm.Value]) -> llvm.Value:
        return do_minmax(context, builder, sig.args, args, compare)

    return lower


for _count in (2, 3):
    _stands_for(min, _count, _of_ordered, _extreme(operator.lt))
    _stands_for(max, _count, _of_ordered, _extreme(operator.gt))
