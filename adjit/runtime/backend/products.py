"""How numba multiplies the matrices of generated code: as BLAS does it best, into memory of the workspace.

In: two contiguous matrices. Out: instructions.

    workspace.dot(a.T, b)      for 2 to 32 columns of the result the transposed product, which takes less time
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from adjit.runtime.backend.arrays import block, new_array, told
from adjit.runtime.library.workspace import dot, product_type


def _of_product(context: Any) -> Any:
    return lambda left, right: product_type(np.dot, (left, right))


def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.apart import known_call, write_call
    from adjit.runtime.backend.linear_algebra import dot_into

    factors, kinds, flags = [], [], []
    for kind, value in zip(sig.args, args, strict=True):
        is_turned = kind.layout == "F"
        kinds.append(kind.copy(layout="C"))
        factors.append(_turned(context, builder, kind, value) if is_turned else value)
        flags.append(context.get_constant(types.intp, int(is_turned)))
    left, right = (context.make_array(t)(context, builder, a) for t, a in zip(sig.args, args, strict=True))
    (rows, _), (_, columns) = (cgutils.unpack_tuple(builder, a.shape) for a in (left, right))
    out = new_array(context, builder, sig.return_type, (rows, columns), False, block)
    taken = (*kinds, sig.return_type, types.intp, types.intp)
    call = known_call(dot_into, taken)
    assert call is not None
    write_call(context, builder, call, taken, (*factors, out, *flags))
    return out


def _turned(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """The transpose of a matrix whose columns lie side by side."""
    # what compiling takes, and importing adjit does not
    from numba.np.arrayobj import populate_array

    given = context.make_array(kind)(context, builder, value)
    made = context.make_array(kind.copy(layout="C"))(context, builder)
    shape, strides = (cgutils.unpack_tuple(builder, field)[::-1] for field in (given.shape, given.strides))
    populate_array(
        made, data=given.data, shape=shape, strides=strides, itemsize=given.itemsize, meminfo=given.meminfo,
        parent=given.parent,
    )  # fmt: skip
    turned: ir.Value = made._getvalue()
    return turned


told(dot, _of_product, _lower_dot, 2)
