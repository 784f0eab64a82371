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
from numba.core.typing.templates import signature
from numba.np import arrayobj
from numba.np.linalg import dot_3_mm

from adjit.runtime.backend.arrays import block, new_array, told
from adjit.runtime.library.workspace import dot, product_type

# products of so many multiplications, with so few columns, are made the other way round
_LARGE, _NARROW = 1 << 20, 32


def _of_product(context: Any) -> Any:
    return lambda left, right: product_type(np.dot, (left, right))


def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    left, right = (arrayobj.make_array(t)(context, builder, a) for t, a in zip(sig.args, args, strict=True))
    (rows, depth), (_, columns) = (cgutils.unpack_tuple(builder, a.shape) for a in (left, right))
    out = new_array(context, builder, sig.return_type, (rows, columns), False, block)
    if sig.args[0].layout == "C":
        _multiply(context, builder, sig.args, args, sig.return_type, out)
        return out
    # beyond the products that it has small kernels for, OpenBLAS takes up to 1.6 times as long for few columns of a
    # result as for few rows
    is_large = _compared(builder, ">=", builder.mul(builder.mul(rows, depth), columns), _LARGE)
    is_narrow = builder.and_(_compared(builder, ">", columns, 1), _compared(builder, "<=", columns, _NARROW))
    is_narrow = builder.and_(is_large, is_narrow)
    with builder.if_else(is_narrow) as (narrow, otherwise):
        with narrow:
            turned = [_turned(context, builder, t, a) for t, a in zip(sig.args, args, strict=True)][::-1]
            product = new_array(context, builder, sig.return_type, (columns, rows), False, block)
            _multiply(context, builder, [t for t, _ in turned], [a for _, a in turned], sig.return_type, product)
            _copy_turned(context, builder, sig.return_type, product, out)
            context.nrt.decref(builder, sig.return_type, product)
        with otherwise:
            _multiply(context, builder, sig.args, args, sig.return_type, out)
    return out


def _multiply(
    context: Any, builder: ir.IRBuilder, operands: Any, args: Sequence[ir.Value], kind: types.Array, out: ir.Value
) -> None:
    # the product into an array that is there is the part of numba's that calls BLAS
    made = dot_3_mm(context, builder, signature(kind, *operands, kind), (*args, out))
    # that takes a reference of its own for what it returns
    context.nrt.decref(builder, kind, made)


def _turned(context: Any, builder: ir.IRBuilder, kind: types.Array, value: ir.Value) -> tuple[types.Array, ir.Value]:
    """The transposed matrix, as a borrowed reference."""
    made = arrayobj.array_T(context, builder, kind, value)
    # numba's own takes a reference for the view
    context.nrt.decref(builder, kind, made)
    return kind.copy(layout="F" if kind.layout == "C" else "C"), made


def _copy_turned(context: Any, builder: ir.IRBuilder, kind: types.Array, source: ir.Value, target: ir.Value) -> None:
    """target = source.T"""
    arrays = [arrayobj.make_array(kind)(context, builder, a) for a in (source, target)]
    columns, rows = cgutils.unpack_tuple(builder, arrays[0].shape)
    with cgutils.for_range(builder, rows) as outer, cgutils.for_range(builder, columns) as inner:
        there = builder.add(builder.mul(inner.index, rows), outer.index)
        here = builder.add(builder.mul(outer.index, columns), inner.index)
        value = builder.load(builder.gep(arrays[0].data, [there]))
        builder.store(value, builder.gep(arrays[1].data, [here]))


def _compared(builder: ir.IRBuilder, sign: str, left: ir.Value, right: int) -> ir.Value:
    return builder.icmp_signed(sign, left, ir.Constant(cgutils.intp_t, right))


told(dot, _of_product, _lower_dot, 2)
