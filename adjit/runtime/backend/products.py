"""How numba multiplies the matrices of generated code: as BLAS does it best, into memory of the workspace.

In: two contiguous matrices. Out: instructions.

    workspace.dot(a.T, b)      for 2 to 32 columns of the result the transposed product, which takes less time
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from adjit.runtime.backend.arrays import block, new_array, told
from adjit.runtime.library.workspace import dot, product_type


def _of_product(context: Any) -> Any:
    return lambda left, right: product_type(np.dot, (left, right))


def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.apart import known_call, write_call
    from adjit.runtime.backend.linear_algebra import dot_into

    left, right = (context.make_array(t)(context, builder, a) for t, a in zip(sig.args, args, strict=True))
    (rows, _), (_, columns) = (cgutils.unpack_tuple(builder, a.shape) for a in (left, right))
    out = new_array(context, builder, sig.return_type, (rows, columns), False, block)
    kinds = (*sig.args, sig.return_type)
    call = known_call(dot_into, kinds)
    assert call is not None
    write_call(context, builder, call, kinds, (*args, out))
    return out


told(dot, _of_product, _lower_dot, 2)
