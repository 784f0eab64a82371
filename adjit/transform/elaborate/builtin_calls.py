"""The functions and methods that the compiler itself writes as IR: creation, shape, conversion, sums, Python's builtins.

    np.zeros((n, m))  Alloc          x.reshape(2, 3)  Reshape          len(x)  the first extent
"""

from __future__ import annotations

import builtins
import cmath
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import complexes, scalars
from adjit.transform.elaborate.elementwise import (
    as_lazy,
    converted,
    elementwise,
    materialise,
    operand,
    shape_of,
    store_all,
    stretched,
    total,
    where,
)
from adjit.transform.elaborate.frame import Context, Frame, as_index, static_items
from adjit.transform.elaborate.operators import either, both, truth
from adjit.transform.elaborate.values import (
    Lazy,
    Paired,
    Range,
    Static,
    TupleValue,
    Value,
    dtype,
    is_array,
    is_number,
    ndim,
)
from adjit.transform.elaborate.whole import whole_call
from adjit.transform.types import array_type, call_type, const, dtype_of, is_integer, transposed_type, typed_const

Handler = Callable[[Frame, list[Value], dict[str, Value]], Value]


def bound(frame: Frame, name: str, parameters: str, args: Sequence[Value], named: dict[str, Value]) -> list[Value | None]:
    """Arguments in the order of `parameters` ('shape dtype=None'), None where not given."""
    ctx = frame.ctx
    names = parameters.split()
    required = [n for n in names if not n.endswith("?")]
    names = [n.removesuffix("?") for n in names]
    if len(args) > len(names):
        raise ctx.fail(errors.Unsupported, f"{len(args)} arguments for {name}", "numba does not take them.")
    found: dict[str, Value] = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in names or key in found:
            raise ctx.fail(
                errors.Unsupported, f"argument `{key}` of {name}", "numba does not take it.", "Write the computation without it."
            )
        found[key] = value
    for key in required:
        if key not in found:
            raise ctx.fail(errors.TypeMismatch, f"{name} needs `{key}`")
    return [found.get(n) for n in names]


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

        def element(index: tuple[ir.Operand, ...]) -> ir.Operand:
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
                errors.Unsupported, "reshape of an array that is not contiguous in C order", "numba does not take it either.",
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


# ------------------------------------------------------------------------------------------------------------- creation


def _shape_argument(frame: Frame, value: Value) -> tuple[ir.Operand, ...]:
    ctx = frame.ctx
    if isinstance(value, TupleValue):
        return tuple(as_index(ctx, v, "an extent") for v in value.items)
    return (as_index(ctx, value, "the shape"),)


def _dtype_argument(frame: Frame, value: Value | None, default: types.Type) -> types.Type:
    if value is None or (isinstance(value, Static) and value.value is None):
        return default
    found = dtype_of(value.value) if isinstance(value, Static) else None
    if found is None:
        raise frame.ctx.fail(errors.TypeMismatch, "this is not a dtype")
    return found


def alloc(
    ctx: Context, shape: Sequence[ir.Operand], kind: types.Type, fill: ir.Const | None, name: str = "array"
) -> ir.Var:
    out = ir.Var(name, array_type(kind, len(shape)))
    ctx.builder.emit(ir.Alloc(shape=tuple(shape), out=out, fill=fill))
    return ctx.new_array(out, shape)


def _creator(name: str, fill: int | None) -> Handler:
    def create(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        shape, kind = bound(frame, name, "shape dtype?", args, named)
        assert shape is not None
        type_ = _dtype_argument(frame, kind, types.float64)
        return alloc(
            frame.ctx, _shape_argument(frame, shape), type_, None if fill is None else typed_const(fill, type_), "array"
        )

    return create


def _like_creator(name: str, fill: int | None) -> Handler:
    def create(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        prototype, kind = bound(frame, name, "a dtype?", args, named)
        assert prototype is not None
        if not is_array(prototype):
            raise frame.ctx.fail(errors.TypeMismatch, f"{name} of something that is not an array")
        type_ = _dtype_argument(frame, kind, dtype(prototype))
        constant = None if fill is None else typed_const(fill, type_)
        return alloc(frame.ctx, shape_of(frame.ctx, prototype), type_, constant)

    return create


def _full(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    shape, value, kind = bound(frame, "np.full", "shape fill_value dtype?", args, named)
    assert shape is not None and value is not None
    return _filled(frame, _shape_argument(frame, shape), value, kind)


def _full_like(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    prototype, value, kind = bound(frame, "np.full_like", "a fill_value dtype?", args, named)
    assert prototype is not None and value is not None
    type_ = kind if kind is not None else Static(dtype(prototype))
    return _filled(frame, shape_of(frame.ctx, prototype), value, type_)


def _filled(frame: Frame, shape: Sequence[ir.Operand], value: Value, kind: Value | None) -> Value:
    ctx = frame.ctx
    if not is_number(value):
        raise ctx.fail(errors.TypeMismatch, "the fill value is not a number")
    assert isinstance(value, ir.Var | ir.Const)
    type_ = _dtype_argument(frame, kind, value.type)
    if isinstance(value, ir.Const):
        return alloc(ctx, shape, type_, typed_const(value.value, type_))
    return Lazy(tuple(shape), type_, lambda index: scalars.cast(ctx, value, type_), ())


def _arange(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    *ends, kind = bound(frame, "np.arange", "start stop? step? dtype?", args, named)
    given = [e for e in ends if e is not None and not (isinstance(e, Static) and e.value is None)]
    if len(given) < 3 and ends[2] in given:
        raise ctx.fail(errors.Unsupported, "np.arange with a step and no stop", "", "Give start, stop and step.")
    grid = whole_call(ctx, np.arange, [operand(ctx, e) for e in given])
    return converted(ctx, grid, _dtype_argument(frame, kind, dtype(grid)))


def _array(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """np.array and np.asarray of an array (copied by np.array) or of a display of numbers."""
    ctx = frame.ctx
    value, kind = bound(frame, "np.array", "object dtype?", args, named)
    assert value is not None
    if is_array(value):
        made = materialise(ctx, as_lazy(ctx, value), "array")
        return converted(ctx, made, _dtype_argument(frame, kind, dtype(value))) if kind is not None else made
    if is_number(value):
        raise ctx.fail(errors.Unsupported, "np.array of a number", "", "Use np.full((), x), or keep the number.")
    extents, flat = _display(ctx, value)
    type_: types.Type = flat[0].type if flat else types.float64
    for leaf in flat[1:]:
        wider = call_type(operator.add, (type_, leaf.type))
        assert wider is not None
        type_ = wider if type_ != leaf.type else type_
    type_ = _dtype_argument(frame, kind, type_)
    out = alloc(ctx, [ir.integer(n) for n in extents], type_, None)
    for place, leaf in zip(np.ndindex(*extents), flat, strict=True):
        ctx.builder.store(out, [ir.integer(int(p)) for p in place], scalars.cast(ctx, leaf, type_))
    return out


def _display(ctx: Context, value: Value) -> tuple[tuple[int, ...], list[ir.Operand]]:
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        return (), [value]
    items = static_items(ctx, value, "what np.array is made of")
    parts = [_display(ctx, item) for item in items]
    if any(p[0] != parts[0][0] for p in parts):
        raise ctx.fail(errors.TypeMismatch, "the rows of np.array differ in length")
    inner = parts[0][0] if parts else ()
    return (len(items), *inner), [leaf for p in parts for leaf in p[1]]


def _asarray(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if args and is_array(args[0]) and len(args) == 1 and not named:
        return args[0]
    return _array(frame, args, named)


def _ascontiguous(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.ascontiguousarray", "a", args, named)
    assert value is not None
    return contiguous(frame.ctx, value)


def _copy(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    (value,) = bound(frame, "copy", "a", args, named)
    if isinstance(value, Lazy):
        return materialise(ctx, value)
    assert isinstance(value, ir.Var | ir.Const) and isinstance(value.type, types.Array)
    # in C order whatever the order of the original, as numba has it
    type_ = value.type.copy(readonly=False, layout="C")
    out = ir.Var(value.name if isinstance(value, ir.Var) else "array", type_)
    ctx.builder.emit(ir.Copy(source=value, out=out))
    return ctx.new_array(out, ctx.shape(value))


# ------------------------------------------------------------------------------------------------- shape and conversion


def _reshape(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if named:
        raise frame.ctx.fail(errors.Unsupported, f"argument `{next(iter(named))}` of reshape", "numba does not take it.")
    owner, *rest = args
    shape: list[ir.Operand] = []
    for part in rest:
        shape.extend(_shape_argument(frame, part))
    return reshape(frame.ctx, owner, shape)


def _ravel(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "ravel", "a", args, named)
    assert value is not None
    return ravel(frame.ctx, value)


def _flatten(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "flatten", "a", args, named)
    assert value is not None
    flat = ravel(frame.ctx, value)
    source = operand(frame.ctx, value) if not isinstance(value, Lazy) else None
    if source is not None and source.type.layout == "C":  # type: ignore[union-attr]
        return _copy(frame, [flat], {})
    return flat


def _transpose(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, *rest = args
    axes = list(range(ndim(owner)))[::-1]
    if named:
        rest = [*rest, *named.values()]
    if rest and not (isinstance(rest[0], Static) and rest[0].value is None):
        given = rest[0].items if isinstance(rest[0], TupleValue) else tuple(rest)
        if not all(isinstance(g, ir.Const) for g in given):
            raise ctx.fail(errors.Unsupported, "transpose with axes that are not constant")
        axes = [int(g.value) % ndim(owner) for g in given if isinstance(g, ir.Const)]
    return transpose(ctx, owner, tuple(axes))


def _swapaxes(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, a, b = bound(frame, "swapaxes", "a axis1 axis2", args, named)
    if not isinstance(a, ir.Const) or not isinstance(b, ir.Const) or owner is None:
        raise frame.ctx.fail(errors.Unsupported, "swapaxes with axes that are not constant")
    axes = list(range(ndim(owner)))
    p, q = int(a.value) % len(axes), int(b.value) % len(axes)
    axes[p], axes[q] = axes[q], axes[p]
    return transpose(frame.ctx, owner, tuple(axes))


def _expand_dims(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, axis = bound(frame, "np.expand_dims", "a axis", args, named)
    if not isinstance(axis, ir.Const) or owner is None:
        raise ctx.fail(errors.Unsupported, "np.expand_dims with an axis that is not constant")
    place = int(axis.value) % (ndim(owner) + 1)
    lazy = as_lazy(ctx, owner)
    shape = (*lazy.shape[:place], ir.integer(1), *lazy.shape[place:])
    return Lazy(shape, lazy.dtype, lambda i: lazy.element(i[:place] + i[place + 1 :]), lazy.sources, lazy.sources)


def _broadcast_to(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, shape = bound(frame, "np.broadcast_to", "array shape", args, named)
    assert value is not None and shape is not None
    extents = _shape_argument(frame, shape)
    element = stretched(ctx, value, extents)
    sources = as_lazy(ctx, value).sources if is_array(value) else ()
    return Lazy(extents, dtype(value), element, sources, sources)


def _astype(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, kind = bound(frame, "astype", "a dtype", args, named)
    assert owner is not None
    return materialise(frame.ctx, converted(frame.ctx, as_lazy(frame.ctx, owner), _dtype_argument(frame, kind, dtype(owner))))


def _shape(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return TupleValue(tuple(shape_of(frame.ctx, args[0])))


def _size(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = bound(frame, "np.size", "a", args, named)
    assert value is not None
    return size(frame.ctx, value) if is_array(value) else ir.integer(1)


def _ndim(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return ir.integer(ndim(args[0]))


def _fill(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    owner, value = bound(frame, "fill", "a value", args, named)
    if not isinstance(owner, ir.Var) or value is None or not is_number(value):
        raise frame.ctx.fail(errors.Unsupported, "fill of this array with this value")
    store_all(frame.ctx, owner, value)
    return Static(None)


def _item(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    array = operand(ctx, args[0])
    if len(args) > 1 or named:
        raise ctx.fail(errors.Unsupported, "item() with arguments", "", "Index the array.")
    return ctx.builder.load(array, [ir.integer(0)] * ndim(array))


# ------------------------------------------------------------------------------------------------------- sums and choice


def _sum(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, axis = bound(frame, "np.sum", "a axis?", args, named)
    assert value is not None
    if not is_array(value):
        raise ctx.fail(errors.TypeMismatch, "np.sum of something that is not an array")
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return total(ctx, value)
    if not isinstance(axis, ir.Const):
        raise ctx.fail(errors.Unsupported, "np.sum over an axis that is not constant", "", "Write the axis as a number.")
    if not -ndim(value) <= axis.value < ndim(value):
        raise ctx.fail(errors.TypeMismatch, f"axis {axis.value} of an array of rank {ndim(value)}")
    if ndim(value) == 1:
        return total(ctx, value)
    return total(ctx, value, int(axis.value) % ndim(value))


def _where(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if len(args) != 3 or named:
        raise frame.ctx.fail(
            errors.Unsupported, "np.where with one argument", "", "Use the three-argument form, or a mask as an index."
        )
    condition, yes, no = args
    if not all(is_array(a) or is_number(a) for a in args):
        raise frame.ctx.fail(errors.TypeMismatch, "np.where of something that is not a number or an array")
    return where(frame.ctx, condition, yes, no)


def _any_all(name: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        (value,) = bound(frame, name, "a", args, named)
        assert value is not None
        lazy = as_lazy(ctx, value)
        combine = either if name == "any" else both
        return ctx.reduce(
            lazy.shape,
            ir.boolean(name == "all"),
            lambda index, found: combine(frame, found, lambda: truth(frame, lazy.element(index))),
            f"{name}_true",
        )

    return handle


def _dot(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    left, right, out = bound(frame, "np.dot", "a b out?", args, named)
    assert left is not None and right is not None
    if is_number(left) or is_number(right):
        return elementwise(ctx, operator.mul, (left, right)) if is_array(left) or is_array(right) else scalars.scalar(
            ctx, operator.mul, (operand(ctx, left), operand(ctx, right))
        )
    product = whole_call(ctx, np.dot, (operand(ctx, left), operand(ctx, right)), "product")
    if out is None:
        return product
    assert isinstance(out, ir.Var)
    store_all(ctx, out, product)
    return out


def _stop_gradient(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    (value,) = args
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_stop_gradient(frame, [item], {}) for item in value.items))
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        return value if isinstance(value, ir.Const) else ctx.builder.call(ir.stop_gradient, value, type=value.type, name=value.name)
    lazy = as_lazy(ctx, value)
    return Lazy(
        lazy.shape,
        lazy.dtype,
        lambda index: ctx.builder.call(ir.stop_gradient, lazy.element(index), type=lazy.dtype, name="held"),
        lazy.sources,
        lazy.moved,
    )


# --------------------------------------------------------------------------------------------------- Python's builtins


def _range(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    ends = [as_index(ctx, a, "an end of range") for a in args]
    ends = [scalars.cast(ctx, e, types.intp) for e in ends]
    if len(ends) == 1:
        ends = [ir.integer(0), *ends]
    if len(ends) == 2:
        ends = [*ends, ir.integer(1)]
    return Range(*ends)


def _enumerate(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    iterable, first = bound(frame, "enumerate", "iterable start?", args, named)
    start = None if first is None else as_index(frame.ctx, first, "the start of enumerate")
    return Paired((None, iterable), start)


def _zip(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return Paired(tuple(args))


def _len(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    if isinstance(value, TupleValue):
        return ir.integer(len(value.items))
    if not is_array(value) or ndim(value) == 0:
        raise frame.ctx.fail(errors.TypeMismatch, "len of something that has no length")
    return shape_of(frame.ctx, value)[0]


def _extreme(callee: Any) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        items = list(args[0].items) if len(args) == 1 and isinstance(args[0], TupleValue) else args
        if named or len(items) < 2 or not all(is_number(i) for i in items):
            raise ctx.fail(
                errors.Unsupported, f"{callee.__name__} of this", "", f"Use np.{callee.__name__}, or two or more numbers."
            )
        result = operand(ctx, items[0])
        for item in items[1:]:
            result = scalars.scalar(ctx, callee, (result, operand(ctx, item)))
        return result

    return handle


def _abs(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    if is_array(value):
        return elementwise(frame.ctx, np.absolute, (value,))
    if not is_number(value):
        raise frame.ctx.fail(errors.TypeMismatch, "abs of something that is not a number or an array")
    return scalars.scalar(frame.ctx, abs, (operand(frame.ctx, value),))


def _to_number(kind: types.Type) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        (value,) = args
        if is_array(value) and ndim(value) == 0:
            value = frame.ctx.builder.load(operand(frame.ctx, value), ())
        if not is_number(value):
            raise frame.ctx.fail(errors.TypeMismatch, f"{kind} of something that is not a number")
        number = operand(frame.ctx, value)
        if isinstance(kind, types.Boolean):
            return scalars.truth(frame.ctx, number)
        if is_integer(kind) and isinstance(number.type, types.Float):
            return scalars.scalar(frame.ctx, int, (number,))
        return scalars.cast(frame.ctx, number, kind)

    return handle


def _complex(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    parts = [operand(ctx, a) for a in args]
    return complexes.make(ctx, *parts)


def _round(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if not all(is_number(a) for a in args) or named:
        raise ctx.fail(errors.TypeMismatch, "round of something that is not a number", "", "Use np.round for arrays.")
    return scalars.scalar(ctx, round, [operand(ctx, a) for a in args])


def _tuple_builtin(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    return TupleValue(static_items(frame.ctx, value, "the argument of tuple"))


def _sum_builtin(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, *rest = args
    if is_array(value):
        if ndim(value) != 1:
            raise ctx.fail(errors.Unsupported, "Python's sum of an array of rank above 1", "", "Use np.sum.")
        result: Value = total(ctx, value)
        return scalars.scalar(ctx, operator.add, (operand(ctx, rest[0]), operand(ctx, result))) if rest else result
    items = static_items(ctx, value, "the argument of sum")
    accumulated = operand(ctx, rest[0]) if rest else const(0)
    for item in items:
        accumulated = scalars.scalar(ctx, operator.add, (accumulated, operand(ctx, item)))
    return accumulated


def _refused(what: str, instead: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        raise frame.ctx.fail(errors.Unsupported, what, "", instead)

    return handle


def _identity(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    return value


INTRINSICS: dict[Any, Handler] = {
    np.empty: _creator("np.empty", None),
    np.zeros: _creator("np.zeros", 0),
    np.ones: _creator("np.ones", 1),
    np.empty_like: _like_creator("np.empty_like", None),
    np.zeros_like: _like_creator("np.zeros_like", 0),
    np.ones_like: _like_creator("np.ones_like", 1),
    np.full: _full,
    np.full_like: _full_like,
    np.arange: _arange,
    np.array: _array,
    np.asarray: _asarray,
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
    np.sum: _sum,
    np.where: _where,
    np.any: _any_all("any"),
    np.all: _any_all("all"),
    np.dot: _dot,
    np.real: _identity,
    np.conj: _identity,
    range: _range,
    # serial: nothing shows yet that a derivative's loop may run in parallel where the primal's may
    numba.prange: _range,
    enumerate: _enumerate,
    zip: _zip,
    len: _len,
    max: _extreme(max),
    min: _extreme(min),
    abs: _abs,
    float: _to_number(types.float64),
    int: _to_number(types.intp),
    bool: _to_number(types.boolean),
    complex: _complex,
    round: _round,
    tuple: _tuple_builtin,
    list: _refused("a list built at run time", "Use an array."),
    dict: _refused("a dictionary", "Use variables or arrays."),
    print: _refused("print inside a differentiated function", "Take it out; ADJIT_DUMP=1 prints what is compiled."),
    builtins.sum: _sum_builtin,
    cmath.exp: lambda frame, args, named: complexes.function(frame.ctx, "exp", complexes.promote(frame.ctx, args[0])),
    cmath.phase: lambda frame, args, named: complexes.function(frame.ctx, "angle", complexes.promote(frame.ctx, args[0])),
}

METHODS: dict[str, Handler] = {
    "sum": _sum,
    "dot": _dot,
    "copy": _copy,
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": _flatten,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "astype": _astype,
    "fill": _fill,
    "item": _item,
    "any": _any_all("any"),
    "all": _any_all("all"),
    "conj": _identity,
    "conjugate": _identity,
    "view": _refused("the array method `view`", "Use astype, which converts."),
    "sort": _refused("sorting in place", "Use np.sort, which returns a sorted copy."),
}
