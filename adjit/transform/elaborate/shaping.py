"""Shapes of arrays: views, copies and conversions, and questions about extents.

In: an array and where it goes. Out: a view or an array made of it, or a number.

    x.reshape(2, 3)  Reshape          x.T  Transpose          x.size  the product of its extents
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.arrays import shape_of
from adjit.transform.elaborate.elementwise import as_lazy, converted, materialise, operand, paired, store_all, stretched
from adjit.transform.elaborate.frame import Context, Frame
from adjit.transform.elaborate.handlers import Handler, axis_argument, bound, dtype_argument, shape_argument, taken
from adjit.transform.elaborate.values import (
    Complex,
    Lazy,
    Number,
    Static,
    TupleValue,
    Value,
    dtype,
    is_array,
    is_complex,
    ndim,
)
from adjit.transform.types import array_type, array_type_of, transposed_type


def array_attribute(ctx: Context, owner: Value, name: str) -> Value | None:
    """An attribute of an array that is not a method, None for the methods."""
    if name == "shape":
        return TupleValue(tuple(shape_of(ctx, owner)))
    if name == "size":
        return size(ctx, owner)
    if name == "ndim":
        return ir.integer(ndim(owner))
    if name == "dtype":
        return Static(np.dtype(str(dtype(owner))) if not isinstance(dtype(owner), types.Boolean) else np.dtype(bool))
    if name == "real":
        return owner
    if name in ("T", "flat") and is_complex(owner):
        pair = materialise(ctx, owner)
        assert isinstance(pair, Complex)
        real, imag = (array_attribute(ctx, p, name) for p in (pair.real, pair.imag))
        assert real is not None
        assert imag is not None
        return paired(real, imag)
    if name == "T":
        return transpose(ctx, owner, tuple(range(ndim(owner)))[::-1])
    if name == "flat":
        return ravel(ctx, owner)
    return None


def size(ctx: Context, owner: Value) -> ir.Operand:
    result: ir.Operand = ir.integer(1)
    for k, extent in enumerate(shape_of(ctx, owner)):
        result = extent if k == 0 else scalars.scalar(ctx, operator.mul, (result, extent), "size")
    return result


def transpose(ctx: Context, value: Value, axes: tuple[int, ...]) -> Value:
    if axes == tuple(range(len(axes))):
        return value
    if isinstance(value, Lazy):
        lazy = value

        def element(index: tuple[ir.Operand, ...]) -> Number:
            return lazy.element(tuple(index[axes.index(k)] for k in range(len(axes))))

        return Lazy(tuple(lazy.shape[a] for a in axes), lazy.dtype, element, lazy.sources, lazy.sources)
    array = operand(ctx, value)
    assert isinstance(array.type, types.Array)
    name = array.name if isinstance(array, ir.Var) else "array"
    out = ir.Var(f"{name}_T", transposed_type(array.type, axes))
    ctx.builder.emit(ir.Transpose(base=array, axes=axes, out=out))
    shape = ctx.shape(array)
    return ctx.new_array(out, [shape[a] for a in axes], ctx.roots_of(array))


def contiguous(ctx: Context, value: Value) -> ir.Operand:
    """The array itself if numba knows it to be in C order, else a copy."""
    array = operand(ctx, value)
    assert isinstance(array.type, types.Array)
    if array.type.layout == "C":
        return array
    made = materialise(ctx, as_lazy(ctx, array), array.name if isinstance(array, ir.Var) else "array")
    assert isinstance(made, ir.Var)
    return made


def reshape(ctx: Context, value: Value, shape: Sequence[ir.Operand], copy_if_needed: bool = False) -> Value:
    array = operand(ctx, value)
    assert isinstance(array.type, types.Array)
    if array.type.layout != "C":
        if not copy_if_needed:
            raise ctx.fail(
                errors.Unsupported,
                "reshape of an array that is not contiguous in C order",
                "numba does not take it either.",
                "Copy it first: np.ascontiguousarray(x).reshape(...).",
            )  # fmt: skip
        array = contiguous(ctx, array)
    name = array.name if isinstance(array, ir.Var) else "array"
    assert isinstance(array.type, types.Array)
    out = ir.Var(f"{name}_view", array_type(array.type.dtype, len(shape)))
    ctx.builder.emit(ir.Reshape(base=array, shape=tuple(shape), out=out))
    known: list[ir.Operand] | None = list(shape)
    if array.type.ndim == 1 and sorted(map(repr, shape)) == sorted(["-1", *["1"] * (len(shape) - 1)]):
        # a column or a row
        known = [ctx.shape(array)[0] if s == ir.integer(-1) else s for s in shape]
    elif any(s == ir.integer(-1) or isinstance(s, ir.Var) for s in shape):
        known = None
    return ctx.new_array(out, known, ctx.roots_of(array))


def ravel(ctx: Context, value: Value) -> Value:
    if isinstance(value, Lazy) and value.ndim == 1:
        return value
    array = contiguous(ctx, value)
    if ndim(array) == 1:
        return array
    return reshape(ctx, array, [ir.integer(-1)])


# ------------------------------------------------------------------------------------------------ functions and methods


def _reshape(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if named:
        raise frame.ctx.fail(
            errors.Unsupported, f"argument `{next(iter(named))}` of reshape", "numba does not take it."
        )
    owner, *rest = args
    owner = taken(frame, "reshape", "array", owner)
    if not rest:
        raise frame.ctx.fail(errors.TypeMismatch, "reshape without a shape", "", "Give the extents, or a tuple.")
    shape: list[ir.Operand] = []
    for part in rest:
        shape.extend(shape_argument(frame, part))
    return reshape(frame.ctx, owner, shape)


def _ravel(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "ravel", "a:array", args, named)
    assert value is not None
    return ravel(frame.ctx, value)


def _flatten(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "flatten", "a:array", args, named)
    assert value is not None
    flat = ravel(frame.ctx, value)
    source = operand(frame.ctx, value) if not isinstance(value, Lazy) else None
    if source is not None and array_type_of(source).layout == "C":
        return _copy(frame, [flat], {})
    return flat


def _transpose(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, *rest = args
    owner = taken(frame, "transpose", "array", owner)
    axes = list(range(ndim(owner)))[::-1]
    if named:
        rest = [*rest, *named.values()]
    if rest and not (isinstance(rest[0], Static) and rest[0].value is None):
        given = rest[0].items if isinstance(rest[0], TupleValue) else tuple(rest)
        axes = [axis_argument(frame, "transpose", g, ndim(owner)) for g in given]
        if sorted(axes) != list(range(ndim(owner))):
            raise ctx.fail(
                errors.TypeMismatch, "transpose with other axes than the array has", "", "Name each axis once."
            )
    return transpose(ctx, owner, tuple(axes))


def _swapaxes(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, a, b = bound(frame, "swapaxes", "a:array axis1 axis2", args, named)
    assert owner is not None
    axes = list(range(ndim(owner)))
    p, q = (axis_argument(frame, "swapaxes", axis, ndim(owner)) for axis in (a, b))
    axes[p], axes[q] = axes[q], axes[p]
    return transpose(frame.ctx, owner, tuple(axes))


def _expand_dims(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, axis = bound(frame, "np.expand_dims", "a:array axis", args, named)
    assert owner is not None
    place = axis_argument(frame, "np.expand_dims", axis, ndim(owner) + 1)
    lazy = as_lazy(ctx, owner)
    shape = (*lazy.shape[:place], ir.integer(1), *lazy.shape[place:])
    return Lazy(shape, lazy.dtype, lambda i: lazy.element(i[:place] + i[place + 1 :]), lazy.sources, lazy.sources)


def _broadcast_to(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, shape = bound(frame, "np.broadcast_to", "array:value shape", args, named)
    assert value is not None
    assert shape is not None
    extents = shape_argument(frame, shape)
    element = stretched(ctx, value, extents)
    sources = as_lazy(ctx, value).sources if is_array(value) else ()
    return Lazy(extents, dtype(value), element, sources, sources)


def _copy(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    (value,) = bound(frame, "copy", "a:array", args, named)
    if isinstance(value, Lazy):
        return materialise(ctx, value)
    assert isinstance(value, ir.Var | ir.Const)
    assert isinstance(value.type, types.Array)
    # in C order whatever the order of the original, as numba has it
    type_ = value.type.copy(readonly=False, layout="C")
    out = ir.Var(value.name if isinstance(value, ir.Var) else "array", type_)
    ctx.builder.emit(ir.Copy(source=value, out=out))
    return ctx.new_array(out, ctx.shape(value))


def _ascontiguous(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.ascontiguousarray", "a:array", args, named)
    assert value is not None
    return contiguous(frame.ctx, value)


def _astype(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, kind = bound(frame, "astype", "a:array dtype", args, named)
    assert owner is not None
    return materialise(
        frame.ctx, converted(frame.ctx, as_lazy(frame.ctx, owner), dtype_argument(frame, kind, dtype(owner)))
    )


def _shape(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.shape", "a:value", args, named)
    assert value is not None
    return TupleValue(tuple(shape_of(frame.ctx, value)))


def _size(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.size", "a:value", args, named)
    assert value is not None
    return size(frame.ctx, value) if is_array(value) else ir.integer(1)


def _ndim(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.ndim", "a:value", args, named)
    assert value is not None
    return ir.integer(ndim(value))


def _fill(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, value = bound(frame, "fill", "a:array value:scalar", args, named)
    assert value is not None
    if not isinstance(owner, ir.Var | Complex):
        raise frame.ctx.fail(errors.Unsupported, "fill of this array with this value")
    store_all(frame.ctx, owner, value)
    return Static(None)


def _item(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    array = operand(ctx, args[0])
    if len(args) > 1 or named:
        raise ctx.fail(errors.Unsupported, "item() with arguments", "", "Index the array.")
    return ctx.builder.load(array, [ir.integer(0)] * ndim(array))


SHAPING: dict[Any, Handler] = {
    np.ascontiguousarray: _ascontiguous,
    np.copy: _copy,
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.expand_dims: _expand_dims,
    np.broadcast_to: _broadcast_to,
    np.shape: _shape,
    np.size: _size,
    np.ndim: _ndim,
}

SHAPING_METHODS: dict[str, Handler] = {
    "copy": _copy,
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": _flatten,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "astype": _astype,
    "fill": _fill,
    "item": _item,
}
