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

from adjit.runtime.backend.arrays import block, leaves, new_array, part, told
from adjit.runtime.library.workspace import dot, product_type


def _of_product(context: Any) -> Any:
    return lambda left, right: product_type(np.dot, (left, right))


def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.apart import known_call, write_call
    from adjit.runtime.backend.linear_algebra import dot_into

    factors, kinds, flags, extents = [], [], [], []
    for kind, value in zip(sig.args, args, strict=True):
        is_turned = kind.layout == "F"
        kinds.append(kind.copy(layout="C"))
        factors.append(_turned(context, builder, kind, value) if is_turned else value)
        flags.append(context.get_constant(types.intp, int(is_turned)))
        extents.append(leaves(builder, part(context, builder, kind, value, "shape")))
    (rows, _), (_, columns) = extents
    out = new_array(context, builder, sig.return_type, (rows, columns), False, block)
    taken = (*kinds, sig.return_type, types.intp, types.intp)
    call = known_call(dot_into, taken)
    assert call is not None
    write_call(context, builder, call, taken, (*factors, out, *flags))
    return out


def _turned(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """The transpose of a matrix whose columns lie side by side."""
    made = context.get_constant_undef(kind)
    for position, name in enumerate(("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")):
        found = part(context, builder, kind, value, name)
        if name in ("shape", "strides"):
            found = cgutils.pack_array(builder, leaves(builder, found)[::-1])
        made = builder.insert_value(made, found, position)
    return made


told(dot, _of_product, _lower_dot, 2)
