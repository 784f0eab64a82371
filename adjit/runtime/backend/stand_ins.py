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
from numba.core import cgutils
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.cpython.builtins import do_minmax
from numba.extending import lower_builtin, type_callable
from numba.np import arrayobj

from adjit.runtime.backend.arrays import new_array

_Typer = Callable[..., types.Type | None]
_STAND_INS: dict[tuple[Any, int], Callable[..., Any]] = {}


def stand_in(callee: Any, count: int) -> Callable[..., Any] | None:
    """What stands for a function in calls with so many arguments, by position."""
    return _STAND_INS.get((callee, count)) if callable(callee) else None


def _stands_for(original: Callable[..., Any], count: int, typer: Callable[[Any], _Typer]) -> Callable[[Any], Any]:
    """Registers what writes the instructions of a stand-in for calls with so many arguments; `typer` finds the type."""

    def register(lower: Any) -> Any:
        def function(*arguments: Any) -> Any:
            return original(*arguments)

        function.__name__ = function.__qualname__ = original.__name__
        type_callable(function)(typer)
        lower_builtin(function, *[types.Any] * count)(lower)
        _STAND_INS[original, count] = function
        return lower

    return register


# -------------------------------------------------------------------------------------------------------------- arrays


def _of_shape(context: Any) -> _Typer:
    def typer(shape: types.Type, dtype: types.Type = types.float64) -> types.Type | None:
        ndim = parse_shape(shape)
        element = dtype if dtype is types.float64 else parse_dtype(dtype)
        return None if ndim is None or element is None else types.Array(element, ndim, "C")

    return typer


def _of_like(context: Any) -> _Typer:
    def typer(array: types.Type, dtype: types.Type | None = None) -> types.Type | None:
        if not isinstance(array, types.Array):
            return None
        element = array.dtype if dtype is None else parse_dtype(dtype)
        layout = "C" if array.layout == "A" else array.layout
        return None if element is None else array.copy(dtype=element, layout=layout, readonly=False)

    return typer


def _shaped(zeroed: bool) -> Any:
    def lower(context: Any, builder: llvm.IRBuilder, sig: Any, args: Sequence[llvm.Value]) -> llvm.Value:
        shape = arrayobj._parse_shape(context, builder, sig.args[0], args[0])
        return new_array(context, builder, sig.return_type, shape, zeroed, _allocation)

    return lower


def _like(zeroed: bool) -> Any:
    def lower(context: Any, builder: llvm.IRBuilder, sig: Any, args: Sequence[llvm.Value]) -> llvm.Value:
        like = arrayobj.make_array(sig.args[0])(context, builder, value=args[0])
        shape = cgutils.unpack_tuple(builder, like.shape)
        return new_array(context, builder, sig.return_type, shape, zeroed, _allocation)

    return lower


def _allocation(context: Any, builder: llvm.IRBuilder, type_: types.Array, size: llvm.Value) -> llvm.Value:
    alignment = context.get_constant(types.uint32, context.get_preferred_array_alignment(type_.dtype))
    return context.nrt.meminfo_alloc_aligned(builder, size, alignment)


for _count in (1, 2):
    _stands_for(np.empty, _count, _of_shape)(_shaped(zeroed=False))
    _stands_for(np.zeros, _count, _of_shape)(_shaped(zeroed=True))
    _stands_for(np.empty_like, _count, _of_like)(_like(zeroed=False))
    _stands_for(np.zeros_like, _count, _of_like)(_like(zeroed=True))


# ------------------------------------------------------------------------------------------------------------- numbers


def _of_two(context: Any) -> _Typer:
    return lambda left, right: _ordered(context, left, right)


def _of_three(context: Any) -> _Typer:
    return lambda left, middle, right: _ordered(context, left, middle, right)


def _ordered(context: Any, *numbers: types.Type) -> types.Type | None:
    are_ordered = all(isinstance(n, types.Integer | types.Float | types.Boolean) for n in numbers)
    found: types.Type | None = context.unify_types(*numbers) if are_ordered else None
    return found


def _extreme(compare: Any) -> Any:
    def lower(context: Any, builder: llvm.IRBuilder, sig: Any, args: Sequence[llvm.Value]) -> llvm.Value:
        return do_minmax(context, builder, sig.args, args, compare)

    return lower


for _count, _typer in ((2, _of_two), (3, _of_three)):
    _stands_for(min, _count, _typer)(_extreme(operator.lt))
    _stands_for(max, _count, _typer)(_extreme(operator.gt))
