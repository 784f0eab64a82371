"""Subscripts: loads, views, gathers and masks, as values and as targets of stores.

In: an array and the entries of a subscript. Out: a `Place`, to read or write.

    a[i, j]      Load            a[1:, k]      Slice (a view)
    a[places]    gather: a lazy array expression            a[a > 0]      the selected elements, in order
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import complexes, scalars
from adjit.transform.elaborate.arrays import shape_of, store
from adjit.transform.elaborate.elementwise import (
    as_lazy,
    elementwise,
    materialise,
    operand,
    paired,
    store_all,
    stretched,
)
from adjit.transform.elaborate.frame import Context
from adjit.transform.elaborate.order import inserted, is_overwritten
from adjit.transform.elaborate.values import (
    Complex,
    Index,
    Lazy,
    Number,
    SliceValue,
    Static,
    TupleValue,
    Value,
    dtype,
    is_array,
    is_complex,
    is_number,
    is_numeric,
)
from adjit.transform.types import array_type, array_type_of, complex_of, is_integer, slice_type


@dataclass(frozen=True)
class Place:
    """Where a subscript points: one element, a view, gathered elements along an axis of a view, or a mask."""

    kind: str  # 'element', 'view', 'gather' or 'mask'
    array: ir.Var | ir.Const
    index: tuple[ir.Operand, ...] = ()
    advanced: ir.Operand | None = None  # the array of places, or the mask
    axis: int = 0


@dataclass(frozen=True)
class Pair:
    """A place in an array of complex numbers: that in the real parts, and that in the imaginary ones."""

    real: Place
    imag: Place


def resolve(ctx: Context, base: Value, entries: Sequence[Value]) -> Place | Pair:
    """The place that `base[entries]` names. Views are made on the way."""
    if is_complex(base):
        pair = materialise(ctx, base)
        assert isinstance(pair, Complex)
        return Pair(_resolved(ctx, pair.real, entries), _resolved(ctx, pair.imag, entries))
    return _resolved(ctx, base, entries)


def _resolved(ctx: Context, base: Value, entries: Sequence[Value]) -> Place:
    array = operand(ctx, base)
    if not isinstance(array.type, types.Array):
        raise ctx.fail(errors.TypeMismatch, "a number cannot be indexed")
    flat = [part for entry in entries for part in (entry.items if isinstance(entry, TupleValue) else (entry,))]
    flat = _without_ellipsis(ctx, flat, array.type.ndim)
    advanced = [k for k, e in enumerate(flat) if is_array(e)]
    if not advanced:
        return _basic(ctx, array, flat)
    if len(advanced) > 1:
        raise ctx.fail(
            errors.Unsupported, "more than one array in an index", "numba takes a single one.",
            "Write the gather as a loop.",
        )  # fmt: skip
    (position,) = advanced
    chosen = operand(ctx, flat[position])
    assert isinstance(chosen.type, types.Array)
    if isinstance(chosen.type.dtype, types.Boolean):
        if len(flat) - flat.count(_WHOLE) > 1 or chosen.type.ndim != array.type.ndim:
            raise ctx.fail(
                errors.Unsupported, "a mask that does not cover the whole array", "", "Write the selection as a loop."
            )
        return Place("mask", array, advanced=chosen)
    if not is_integer(chosen.type.dtype):
        raise ctx.fail(errors.TypeMismatch, "an array of floats cannot be an index")
    before = flat[:position]
    if any(is_number(e) for e in flat) and any(isinstance(e, SliceValue) for e in before):
        raise ctx.fail(
            errors.Unsupported, "an index that mixes integers, slices and an array", "", "Index in two steps."
        )
    # integers and slices first, as a view; the gathered axis is whole in it
    rest = [_WHOLE if k == position else e for k, e in enumerate(flat)]
    axis = sum(not is_number(e) for e in before)
    view = _basic(ctx, array, rest) if any(e != _WHOLE for e in rest) else Place("view", array)
    return Place("gather", view.array, advanced=chosen, axis=axis)


_WHOLE = SliceValue(ir.Span())


def _without_ellipsis(ctx: Context, entries: list[Value], ndim: int) -> list[Value]:
    """Every axis with its entry."""
    consumed = 0
    for e in entries:
        if isinstance(e, Static) and e.value in (None, Ellipsis):
            continue
        if is_array(e) and isinstance(dtype(e), types.Boolean):
            consumed += ndim_of(e)
        else:
            consumed += 1
    if consumed > ndim:
        raise ctx.fail(errors.TypeMismatch, f"{consumed} indices for an array of rank {ndim}")
    missing: list[Value] = [_WHOLE] * (ndim - consumed)
    for k, e in enumerate(entries):
        if isinstance(e, Static) and e.value is Ellipsis:
            return [*entries[:k], *missing, *entries[k + 1 :]]
    return [*entries, *missing]


def ndim_of(value: Value) -> int:
    return value.ndim if isinstance(value, Lazy) else _array(value).ndim


def _array(value: Value) -> types.Array:
    assert isinstance(value, ir.Var | ir.Const)
    assert isinstance(value.type, types.Array)
    return value.type


def _basic(ctx: Context, array: ir.Operand, entries: Sequence[Value]) -> Place:
    selectors: list[ir.Selector] = []
    for e in entries:
        if isinstance(e, SliceValue):
            selectors.append(e.span)
        elif isinstance(e, Static) and e.value is None:
            selectors.append(ir.NewAxis())
        elif isinstance(e, ir.Var | ir.Const) and isinstance(e.type, types.Integer):
            selectors.append(ir.At(e))
        else:
            raise ctx.fail(errors.TypeMismatch, "an index must be an integer, a slice, newaxis, Ellipsis or an array")
    if all(isinstance(s, ir.At) for s in selectors):
        return Place("element", array, tuple(s.index for s in selectors if isinstance(s, ir.At)))
    assert isinstance(array.type, types.Array)
    name = array.name if isinstance(array, ir.Var) else "view"
    out = ir.Var(f"{name}_view", slice_type(array.type, selectors))
    ctx.builder.emit(ir.Slice(base=array, selectors=tuple(selectors), out=out))
    shape: list[ir.Operand] = []
    base_shape = iter(ctx.shape(array))
    for s in selectors:
        if isinstance(s, ir.NewAxis):
            shape.append(ir.integer(1))
            continue
        extent = next(base_shape)
        if isinstance(s, ir.Span):
            left_out = s.left_out
            shape.append(
                ctx.builder.extent(out, len(shape))
                if left_out is None
                else ctx.shortened(extent, left_out, out, len(shape))
            )
    ctx.new_array(out, shape, ctx.roots_of(array))
    return Place("view", out)


def read(ctx: Context, place: Place | Pair) -> Value:
    """The value at a place."""
    if isinstance(place, Pair):
        real, imag = read(ctx, place.real), read(ctx, place.imag)
        if isinstance(real, Lazy) and isinstance(imag, Lazy):
            return _lazy_pair(ctx, real, imag)
        return paired(real, imag)
    if place.kind == "element":
        return ctx.builder.load(place.array, place.index)
    if place.kind == "view":
        return place.array
    if place.kind == "gather":
        return _gathered(ctx, place)
    return _selected(ctx, place)


def _lazy_pair(ctx: Context, real: Lazy, imag: Lazy) -> Lazy:
    def element(index: Index) -> Number:
        return Complex(complexes.real(ctx, real.element(index)), complexes.real(ctx, imag.element(index)))

    sources, moved = (*real.sources, *imag.sources), (*real.moved, *imag.moved)
    return Lazy(real.shape, complex_of(real.dtype), element, sources, moved)


def _gathered(ctx: Context, place: Place) -> Lazy:
    array, places, axis = place.array, place.advanced, place.axis
    assert places is not None
    places_shape = ctx.shape(places)
    shape = ctx.shape(array)
    rank = len(places_shape)

    def element(index: Index) -> ir.Operand:
        where = ctx.builder.load(places, index[axis : axis + rank])
        return ctx.builder.load(array, (*index[:axis], where, *index[axis + rank :]))

    full = (*shape[:axis], *places_shape, *shape[axis + 1 :])
    return Lazy(full, _array(array).dtype, element, (array, places), (array,))


def _count(ctx: Context, mask: ir.Operand) -> ir.Operand:
    return ctx.reduce(
        ctx.shape(mask),
        ir.integer(0),
        lambda index, count: scalars.scalar(
            ctx, operator.add, (count, scalars.cast(ctx, ctx.builder.load(mask, index), types.intp)), "count"
        ),
        "count",
    )


def _for_each_selected(ctx: Context, mask: ir.Operand, body: Any) -> None:
    """Runs `body(index, k)` for the k-th true element of a mask, in order."""
    extents = ctx.shape(mask)

    def level(done: Index, count: ir.Operand) -> ir.Operand:
        if len(done) == len(extents):
            condition = ctx.builder.load(mask, done)
            out = ir.Var("count", types.intp)
            with ctx.builder.region() as ops:
                body(done, count)
                following = scalars.scalar(ctx, operator.add, (count, ir.integer(1)), "count")
            then = ir.Region((), tuple(ops), (following,))
            ctx.builder.emit(ir.If(condition=condition, then=then, orelse=ir.Region((), (), (count,)), outs=(out,)))
            return out
        index = ir.Var("ijklmpq"[len(done)], types.intp)
        carried, out = ir.Var("count", types.intp), ir.Var("count", types.intp)
        with ctx.builder.region() as ops:
            last = level((*done, index), carried)
        ctx.builder.emit(
            ir.For(
                start=ir.integer(0), stop=extents[len(done)], step=ir.integer(1), inits=(count,),
                body=ir.Region((index, carried), tuple(ops), (last,)), outs=(out,),
            )
        )  # fmt: skip
        return out

    level((), ir.integer(0))


def _selected(ctx: Context, place: Place) -> Value:
    assert place.advanced is not None
    array, mask = place.array, place.advanced
    count = _count(ctx, mask)
    out = ir.Var("selected", array_type(_array(array).dtype, 1))
    ctx.builder.emit(ir.Alloc(shape=(count,), out=out))
    ctx.new_array(out, (count,))
    _for_each_selected(ctx, mask, lambda index, k: ctx.builder.store(out, (k,), ctx.builder.load(array, index)))
    return out


def write(ctx: Context, place: Place | Pair, value: Value) -> None:
    """`base[entries] = value`."""
    if isinstance(place, Pair):
        real, imag = _parts(ctx, value)
        write(ctx, place.real, real)
        write(ctx, place.imag, imag)
        return
    _check_real(ctx, value)
    array = _writable(ctx, place.array)
    kind = _array(array).dtype
    if place.kind == "element":
        if not is_number(value):
            raise ctx.fail(errors.TypeMismatch, "an array is stored in a single element")
        assert isinstance(value, ir.Var | ir.Const)
        ctx.builder.store(array, place.index, scalars.cast(ctx, value, kind), promised=ctx.in_prange)
    elif place.kind == "view":
        store_all(ctx, array, value)
    elif place.kind == "gather":
        _scatter(ctx, place, array, value)
    else:
        _store_selected(ctx, place, array, value)


def _parts(ctx: Context, value: Value) -> tuple[Value, Value]:
    """The parts of what is stored among complex numbers; both are there before one is stored."""
    if not is_numeric(value):
        raise ctx.fail(errors.Unsupported, "this value cannot be stored in an array")
    made = materialise(ctx, value)
    return (made.real, made.imag) if isinstance(made, Complex) else (made, ir.Const(0.0, types.float64))


def _check_real(ctx: Context, value: Value) -> None:
    if is_complex(value):
        raise ctx.fail(
            errors.TypeMismatch,
            "a complex number is stored in an array of real ones",
            "",
            "Store its .real, or make the array with dtype=np.complex128.",
        )


def _writable(ctx: Context, array: ir.Operand) -> ir.Var:
    if isinstance(array, ir.Const):
        raise ctx.fail(
            errors.Unsupported,
            "a global array is changed",
            "Arrays from outside the function are constants, as in numba.",
            "Pass it as an argument, or copy it first.",
        )  # fmt: skip
    return array


def _scatter(ctx: Context, place: Place, array: ir.Var, value: Value) -> None:
    # one store after another: with repeated places the last one stays, as in NumPy
    places, axis = _apart(ctx, place, array), place.axis
    if is_array(value) and any(ctx.may_alias(s, array) for s in as_lazy(ctx, value).sources):
        # also where the value is an array already: it is this memory, or a view of it
        value = materialise(ctx, as_lazy(ctx, value), f"{array.name}_new")
    shape = ctx.shape(array)
    places_shape = ctx.shape(places)
    full = (*shape[:axis], *places_shape, *shape[axis + 1 :])
    _check_fits(ctx, full, value)
    element = stretched(ctx, value, full)

    def body(index: Index) -> None:
        where = ctx.builder.load(places, index[axis : axis + len(places_shape)])
        target = (*index[:axis], where, *index[axis + len(places_shape) :])
        store(ctx, array, target, element(index))

    ctx.nest(full, body, ordered=range(len(full)))


def _apart(ctx: Context, place: Place, array: ir.Var) -> ir.Operand:
    """The places as they are before anything is stored: `k[k] = 0` stores into them."""
    chosen = place.advanced
    assert chosen is not None
    if array_type_of(array).dtype != array_type_of(chosen).dtype or not ctx.may_alias(chosen, array):
        return chosen
    return operand(ctx, materialise(ctx, as_lazy(ctx, chosen), "places"))


def _check_fits(ctx: Context, shape: tuple[ir.Operand, ...], value: Value) -> None:
    if not is_array(value):
        return
    own = shape_of(ctx, value)
    if len(own) > len(shape):
        raise ctx.fail(errors.TypeMismatch, f"an array of rank {len(own)} is stored in a place of rank {len(shape)}")


def _store_selected(ctx: Context, place: Place, array: ir.Var, value: Value) -> None:
    mask = place.advanced
    assert mask is not None
    kind = array_type_of(array).dtype
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        number = scalars.cast(ctx, value, kind)

        def store_number(index: Index) -> None:
            with ctx.builder.region() as ops:
                ctx.builder.store(array, index, number)
            then = ir.Region((), tuple(ops), ())
            condition = ctx.builder.load(mask, index)
            ctx.builder.emit(ir.If(condition=condition, then=then, orelse=ir.Region((), (), ()), outs=()))

        ctx.nest(ctx.shape(mask), store_number)
        return
    if is_array(value) and any(ctx.may_alias(s, array) for s in as_lazy(ctx, value).sources):
        value = materialise(ctx, as_lazy(ctx, value), f"{array.name}_new")
    values = operand(ctx, value)
    if _array(values).ndim != 1:
        raise ctx.fail(errors.TypeMismatch, "what is stored through a mask must be a number or a vector")
    _for_each_selected(
        ctx,
        mask,
        lambda index, k: ctx.builder.store(array, index, scalars.cast(ctx, ctx.builder.load(values, (k,)), kind)),
    )


def update(ctx: Context, place: Place | Pair, operation: Any, value: Value, mark: int) -> None:
    """`base[entries] op= value`, where the operations from `mark` on are those of `value`.

    What is updated is read before the value is evaluated; a view is a reference, and read after it.
    """
    if isinstance(place, Pair):
        _update_pair(ctx, place, operation, value, mark)
        return
    _check_real(ctx, value)
    array = _writable(ctx, place.array)
    kind = _array(array).dtype
    if place.kind == "element":
        if not is_number(value):
            raise ctx.fail(errors.TypeMismatch, "an array is stored in a single element")
        assert isinstance(value, ir.Var | ir.Const)
        old: Value | None = None
        if is_overwritten(ctx, (array,), mark):
            old = inserted(ctx, mark, lambda: read(ctx, place))
        added = _as_addition(ctx, operation, value)
        if old is None and added is not None and added.type == kind:
            ctx.builder.store(array, place.index, added, add=True)
            return
        old = operand(ctx, read(ctx, place) if old is None else old)
        new = scalars.scalar(ctx, operation, (old, value))
        ctx.builder.store(array, place.index, scalars.cast(ctx, new, kind))
    elif place.kind == "view":
        store_all(ctx, array, value, operation)
    else:
        gathered = _read_before(ctx, place, mark)
        write(ctx, place, materialise(ctx, elementwise(ctx, operation, (gathered, value)), "updated"))


def _read_before(ctx: Context, place: Place | Pair, mark: int) -> Value:
    """The value at a place before the operations from `mark` on."""
    places = (place.real, place.imag) if isinstance(place, Pair) else (place,)
    read_from = [o for p in places for o in (p.array, p.advanced) if o is not None]
    if is_overwritten(ctx, read_from, mark):
        return inserted(ctx, mark, lambda: materialise(ctx, read(ctx, place)))
    return read(ctx, place)


def _update_pair(ctx: Context, place: Pair, operation: Any, value: Value, mark: int) -> None:
    if operation in (operator.add, operator.sub):
        real, imag = _parts(ctx, value)
        update(ctx, place.real, operation, real, mark)
        update(ctx, place.imag, operation, imag, mark)
        return
    old = _read_before(ctx, place, mark)
    if is_array(old):
        write(ctx, place, elementwise(ctx, operation, (old, value)))
        return
    assert isinstance(old, Complex)
    if is_array(value) or not is_numeric(value):
        raise ctx.fail(errors.TypeMismatch, "an array is stored in a single element")
    assert isinstance(value, ir.Var | ir.Const | Complex)
    write(ctx, place, complexes.binary(ctx, operation, old, value))


def _as_addition(ctx: Context, operation: Any, value: ir.Operand) -> ir.Operand | None:
    """What is added, where the operation is an addition or a subtraction of a number of the same precision."""
    if not isinstance(value.type, types.Float):
        return None
    if operation is operator.add:
        return value
    if operation is operator.sub:
        return scalars.scalar(ctx, operator.neg, (value,))
    return None
