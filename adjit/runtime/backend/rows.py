"""How numba calls elementary functions of rows: compiled once for a machine, linked by a symbol.

In: rows that lie one after the other, others, and a number for each. Out: instructions of a call.

    vectormath.exp_of_rows(e, x, largest)       call i32 @adjit_call_5f0c...(...)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types

from adjit.runtime import vectormath
from adjit.runtime.backend.arrays import told
from adjit.runtime.vectormath.rows import of_rows


def _of_three(context: Any) -> Any:
    return lambda target, source, less: types.none


def _lower_call(callee: Any, context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.separate_compilation import known_call, write_call

    call = known_call(callee, sig.args)
    assert call is not None
    write_call(context, builder, call, sig.args, args)
    return context.get_dummy_value()


OWN: set[Any] = set()  # what is compiled, as numba is told of what calls it
for _function, _called in vectormath.OF_ROWS.items():
    _compiled = of_rows(_function)
    OWN.add(_compiled)
    told(_called, _of_three, functools.partial(_lower_call, _compiled), 3)
