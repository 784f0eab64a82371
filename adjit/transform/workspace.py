"""Arrays whose memory is kept: what generated code allocates for tapes and temporaries, and drops before it returns.

In: shapes and types, as for np.empty and its kin. Out: arrays, of which large ones take memory that earlier ones gave
back: fresh pages cost more than most arithmetic on them.

    u_tape = workspace.empty((steps, n))      the second call finds the pages of the first one

In plain Python these are NumPy's own; where the memory comes from is in `pool.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable
from numba.np import arrayobj
from numba.np.linalg import dot_3_mm

from adjit.transform.pool import MEMORY, SYMBOL

_ALIGNMENT = 64
# products of so many multiplications, with so few columns, are made the other way round
_LARGE, _NARROW = 1 << 20, 32


def empty(shape: Any, dtype: Any = float) -> Any:
    """np.empty in the workspace."""
    return np.empty(shape, dtype)


def zeros(shape: Any, dtype: Any = float) -> Any:
    """np.zeros in the workspace."""
    return np.zeros(shape, dtype)


def empty_like(array: Any) -> Any:
    """np.empty_like of an array in C order, in the workspace."""
    return np.empty_like(array)


def zeros_like(array: Any) -> Any:
    """np.zeros_like of an array in C order, in the workspace."""
    return np.zeros_like(array)


def dot(left: Any, right: Any) -> Any:
    """np.dot of two matrices, in the workspace. It compiles in a fraction of the time that numba's own takes."""
    return np.dot(left, right)


def product_type(callee: Any, args: Sequence[types.Type]) -> types.Array | None:
    """The type of a call that `dot` may stand for: a product of two contiguous matrices of the same kind of float."""
    if (callee is not np.dot and callee is not operator.matmul) or len(args) != 2:
        return None
    left, right = args
    if not isinstance(left, types.Array) or not isinstance(right, types.Array) or left.dtype != right.dtype:
        return None
    if left.dtype not in (types.float32, types.float64):
        return None
    fits = all(t.ndim == 2 and t.layout in ("C", "F") and t.aligned for t in (left, right))
    return types.Array(left.dtype, 2, "C") if fits else None


# ------------------------------------------------------------------------------------------- as numba compiles them


@type_callable(empty)
@type_callable(zeros)
def _type_of_shape(context: Any) -> Any:
    def typer(shape: types.Type, dtype: types.Type | None = None) -> types.Type | None:
        ndim = parse_shape(shape)
        element = types.float64 if dtype is None else parse_dtype(dtype)
        return None if ndim is None or element is None else types.Array(element, ndim, "C")

    return typer


@type_callable(empty_like)
@type_callable(zeros_like)
def _type_of_like(context: Any) -> Any:
    def typer(array: types.Type) -> types.Type | None:
        if isinstance(array, types.Array) and array.layout == "C":
            return types.Array(array.dtype, array.ndim, "C")
        return None

    return typer


@type_callable(dot)
def _type_of_dot(context: Any) -> Any:
    def typer(left: types.Type, right: types.Type) -> types.Type | None:
        return product_type(np.dot, (left, right))

    return typer


def _lower(function: Any, zeroed: bool) -> None:
    @lower_builtin(function, types.Any)
    @lower_builtin(function, types.Any, types.Any)
    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        shape = arrayobj._parse_shape(context, builder, sig.args[0], args[0])
        return new_array(context, builder, sig.return_type, shape, zeroed, _block)


def _lower_like(function: Any, zeroed: bool) -> None:
    @lower_builtin(function, types.Array)
    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        like = arrayobj.make_array(sig.args[0])(context, builder, value=args[0])
        shape = cgutils.unpack_tuple(builder, like.shape)
        return new_array(context, builder, sig.return_type, shape, zeroed, _block)


@lower_builtin(dot, types.Array, types.Array)
def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    left, right = (arrayobj.make_array(t)(context, builder, a) for t, a in zip(sig.args, args, strict=True))
    (rows, depth), (_, columns) = (cgutils.unpack_tuple(builder, a.shape) for a in (left, right))
    out = new_array(context, builder, sig.return_type, (rows, columns), False, _block)
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
            product = new_array(context, builder, sig.return_type, (columns, rows), False, _block)
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
    turned = kind.copy(layout="F" if kind.layout == "C" else "C")
    array = arrayobj.make_array(kind)(context, builder, value)
    made = arrayobj.make_array(turned)(context, builder)
    arrayobj.populate_array(
        made,
        data=array.data,
        shape=cgutils.pack_array(builder, cgutils.unpack_tuple(builder, array.shape)[::-1]),
        strides=cgutils.pack_array(builder, cgutils.unpack_tuple(builder, array.strides)[::-1]),
        itemsize=array.itemsize,
        meminfo=array.meminfo,
    )
    return turned, made._getvalue()


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


_lower(empty, False)
_lower(zeros, True)
_lower_like(empty_like, False)
_lower_like(zeros_like, True)


def _block(context: Any, builder: ir.IRBuilder, type_: types.Array, size: ir.Value) -> ir.Value:
    """Memory of the workspace."""
    kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.intp_t, ir.IntType(32)])
    known = builder.module.globals.get(SYMBOL)
    place = known or ir.GlobalVariable(builder.module, kind.as_pointer(), SYMBOL)
    meminfo = builder.call(builder.load(place), [size, ir.IntType(32)(_ALIGNMENT)])
    with builder.if_then(cgutils.is_null(builder, meminfo), likely=False):
        context.call_conv.return_user_exc(builder, MemoryError, ("Allocation failed (probably too large).",))
    return meminfo


def _memory(builder: ir.IRBuilder, meminfo: ir.Value) -> ir.Value:
    """Where the elements of a new array are. LLVM is told that they are in no other array, so that no loop tests it."""
    kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
    function = builder.module.globals.get(MEMORY)
    if function is None:
        function = ir.Function(builder.module, kind, MEMORY)
        function.attributes.add("nounwind")
        function.return_value.add_attribute("noalias")
    data = builder.call(function, [meminfo])
    # It is freed by way of `meminfo`. For LLVM to expect that of a call it has to see the pointer go somewhere.
    builder.asm(ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t]), "", "r,~{memory}", [data], side_effect=True)
    return data


def new_array(
    context: Any, builder: ir.IRBuilder, type_: types.Array, shape: Sequence[ir.Value], zeroed: bool, allocate: Any
) -> ir.Value:
    """An array over memory that `allocate` gets; ValueError and MemoryError as numba's own np.empty."""
    made = arrayobj.make_array(type_)(context, builder)
    itemsize = context.get_constant(types.intp, arrayobj.get_itemsize(context, type_))
    # from the innermost axis outwards
    inward = list(range(len(shape)) if type_.layout == "F" else reversed(range(len(shape))))
    strides, stride = {}, itemsize
    for axis in inward:
        strides[axis] = stride
        stride = builder.mul(stride, shape[axis])
    size, is_too_large = itemsize, ir.Constant(ir.IntType(1), 0)
    for extent in shape:
        product = builder.smul_with_overflow(size, extent)
        size = builder.extract_value(product, 0)
        is_too_large = builder.or_(is_too_large, builder.extract_value(product, 1))
    with builder.if_then(is_too_large, likely=False):
        context.call_conv.return_user_exc(builder, ValueError, ("array is too big",))
    meminfo = allocate(context, builder, type_, size)
    data = _memory(builder, meminfo)
    if zeroed:
        cgutils.memset(builder, data, size, 0)
    arrayobj.populate_array(
        made,
        data=builder.bitcast(data, context.get_data_type(type_.dtype).as_pointer()),
        shape=cgutils.pack_array(builder, shape, ty=cgutils.intp_t),
        strides=cgutils.pack_array(builder, [strides[k] for k in range(len(shape))], ty=cgutils.intp_t),
        itemsize=itemsize,
        meminfo=meminfo,
    )
    return impl_ret_new_ref(context, builder, type_, made._getvalue())
