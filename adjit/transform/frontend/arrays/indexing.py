"""Subscripts: loads, views, gathers and masks, as values and as targets of stores.

In: an array and the entries of a subscript. Out: a `Place`, to read or write.

    a[i, j]      Load            a[1:, k]      Slice (a view)
    a[places]    gather: a lazy array expression            a[a > 0]      the selected elements, in order
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.arrays.shaping import sliced
from adjit.transform.frontend.heap.lists import displayed, elements
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.arrays import allocated_part, array_of, as_promised, store
from adjit.transform.frontend.values.elementwise import (
    as_lazy,
    broadcast_shapes,
    check_fits,
    check_mask_fits,
    copied,
    elementwise,
    expression,
    halves,
    materialise,
    operand,
    paired,
    store_all,
    stretched,
)
from adjit.transform.frontend.values.evaluation_order import inserted, is_overwritten
from adjit.transform.frontend.values.frame import KEPT, Context
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import (
    Complex,
    Index,
    Lazy,
    Number,
    dtype,
    is_array,
    is_complex,
    is_number,
    is_numeric,
    is_scalar,
    ndim,
)
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static, is_none
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import complex_of, is_integer


@dataclass(frozen=True)
class Place:
    """Where a subscript points: one element, a view, gathered elements of a view, or a mask.

    places, front: gathered are the elements at places along some axes, `(axis, array of places)`. The axes of the
        places, broadcast together, are one block of axes of the result, the first of which is `front`.
    is_view: NumPy gives the element as a view, as of `a[0, ...]`.
    """

    kind: str  # 'element', 'view', 'gather' or 'mask'
    array: ir.Operand
    index: Index = ()
    mask: ir.Operand | None = None
    places: tuple[tuple[int, ir.Operand], ...] = ()
    front: int = 0
    is_view: bool = False

    @property
    def read_from(self) -> tuple[ir.Operand, ...]:
        """The arrays that reading it reads."""
        return (self.array, *(p for _, p in self.places), *(() if self.mask is None else (self.mask,)))


@dataclass(frozen=True)
class Pair:
    """A place in an array of complex numbers: that in the real parts, and that in the imaginary ones."""

    real: Place
    imag: Place


def resolve(ctx: Context, base: Value, entries: Sequence[Value]) -> Place | Pair:
    """The place that `base[entries]` names. Views are made on the way."""
    if is_complex(base):
        return Pair(*(_resolved(ctx, part, entries) for part in halves(ctx, base)))
    return _resolved(ctx, base, entries)


def _resolved(ctx: Context, base: Value, entries: Sequence[Value]) -> Place:
    array = operand(ctx, base)
    if not is_array(array):
        raise ctx.mismatch("a number cannot be indexed", "Index an array.")
    given = [_entry(ctx, e) for e in entries]
    flat = _without_ellipsis(ctx, given, ndim(array))
    masks = [e for e in flat if _is_mask(e)]
    if masks and len(flat) - flat.count(_WHOLE) == 1 and ndim(masks[0]) == ndim(array):
        mask = operand(ctx, masks[0])
        check_mask_fits(ctx, array, 0, mask)
        return Place("mask", array, mask=mask)
    if not any(is_array(e) for e in flat):
        is_view = any(isinstance(e, Static) and e.value is Ellipsis for e in given)
        return dataclasses.replace(_basic(ctx, array, flat), is_view=is_view)
    # None has no axis of its own
    axes = itertools.accumulate((not is_none(e) for e in flat), initial=0)
    given = [_places(ctx, array, axis, e) if is_array(e) else e for axis, e in zip(axes, flat, strict=False)]
    return _advanced(ctx, array, given)


def _entry(ctx: Context, entry: Value) -> Value:
    """An entry of a subscript, a list or a tuple in a tuple as the array that NumPy makes of it."""
    entry = displayed(ctx, entry)
    return array_of(ctx, entry, of_none=types.intp) if isinstance(entry, TupleValue) else elements(ctx, entry)


def _places(ctx: Context, array: ir.Operand, axis: int, entry: Value) -> ir.Operand:
    """An array of integers in the index of an axis; a mask by the places where it is true."""
    places = operand(ctx, entry)
    if _is_mask(places):
        if ndim(places) != 1:
            raise ctx.unsupported("a mask that does not cover the whole array", "Write the selection as a loop.")
        check_mask_fits(ctx, array, axis, places)
        return operand(ctx, whole_call(ctx, np.flatnonzero, (places,)))
    if not is_integer(dtype(places)):
        raise ctx.mismatch("an array of floats cannot be an index", "Convert it: astype(np.int64).")
    return places


def _advanced(ctx: Context, array: ir.Operand, entries: Sequence[Value]) -> Place:
    """Index arrays: integers and slices first, as a view; the axes that are chosen from are whole in it."""
    rest = [_WHOLE if is_array(e) else e for e in entries]
    view = _basic(ctx, array, rest) if any(e != _WHOLE for e in rest) else Place("view", array)
    places: list[tuple[int, ir.Operand]] = []
    blocks = 0  # of index arrays and integers side by side
    axis, front = 0, 0
    for k, e in enumerate(entries):
        if is_array(e) or is_number(e):
            blocks += k == 0 or not (is_array(entries[k - 1]) or is_number(entries[k - 1]))
            front = axis if blocks == 1 and not places else front
        if is_array(e):
            places.append((axis, operand(ctx, e)))
        axis += not is_number(e)
    # where slices stand in between, the axes of the places come first
    return Place("gather", view.array, places=tuple(places), front=front if blocks == 1 else 0)


_WHOLE = SliceValue(ir.Span())


def _is_mask(entry: Value) -> bool:
    return is_array(entry) and isinstance(dtype(entry), types.Boolean)


def _without_ellipsis(ctx: Context, entries: list[Value], rank: int) -> list[Value]:
    """Every axis with its entry."""
    consumed = 0
    for e in entries:
        if isinstance(e, Static) and e.value in (None, Ellipsis):
            continue
        consumed += ndim(e) if _is_mask(e) else 1
    if consumed > rank:
        raise ctx.mismatch(f"{consumed} indices for an array of rank {rank}", f"Give {rank} or fewer.")
    missing: list[Value] = [_WHOLE] * (rank - consumed)
    for k, e in enumerate(entries):
        if isinstance(e, Static) and e.value is Ellipsis:
            return [*entries[:k], *missing, *entries[k + 1 :]]
    return [*entries, *missing]


def _basic(ctx: Context, array: ir.Operand, entries: Sequence[Value]) -> Place:
    selectors: list[ir.Selector] = []
    for e in entries:
        if isinstance(e, SliceValue):
            selectors.append(e.span)
        elif is_none(e):
            selectors.append(ir.NewAxis())
        elif isinstance(e, ir.Operand) and isinstance(e.type, types.Boolean):
            raise ctx.unsupported(
                "a boolean as an index", "Write int(...).", why="NumPy takes it as a mask, not as 0 or 1."
            )
        elif isinstance(e, ir.Operand) and is_integer(e.type):
            selectors.append(ir.At(e))
        else:
            raise ctx.mismatch(
                f"{describe(e)} as an index",
                "Give an integer, a slice, newaxis, Ellipsis or an array; convert floats with int(...).",
            )
    if all(isinstance(s, ir.At) for s in selectors):
        return Place("element", array, tuple(s.index for s in selectors if isinstance(s, ir.At)))
    return Place("view", sliced(ctx, array, selectors, unsure=ctx.unsure))


def read(ctx: Context, place: Place | Pair) -> Value:
    """The value at a place."""
    if isinstance(place, Pair):
        real, imag = read(ctx, place.real), read(ctx, place.imag)
        if isinstance(real, Lazy) and isinstance(imag, Lazy):
            return _lazy_pair(ctx, real, imag)
        return paired(real, imag)
    if place.kind == "element":
        loaded = ctx.builder.load(place.array, place.index, unsure=ctx.unsure)
        element = as_promised(ctx, place.array, loaded)
        if place.is_view:
            ctx.detached(element, place.array, "an index with `...`", always=True)
            ctx.numbers.of_views.add(element)
        return element
    if place.kind == "view":
        return place.array
    if place.kind == "gather":
        shape, target = _gather(ctx, place)
        sources, array, unsure = place.read_from, place.array, ctx.unsure

        def gathered(index: Index) -> Number:
            return ctx.builder.load(array, target(index), unsure=unsure)

        # NumPy puts the axes of the places first while it gathers
        return Lazy(shape, dtype(array), gathered, sources, sources, is_free=place.front > 0)
    return _selected(ctx, place)


def _lazy_pair(ctx: Context, real: Lazy, imag: Lazy) -> Lazy:
    def element(index: Index) -> Number:
        return Complex(complexes.real(ctx, real.element(index)), complexes.real(ctx, imag.element(index)))

    return expression([real, imag], real.shape, complex_of(real.dtype), element)


def _gather(ctx: Context, place: Place) -> tuple[tuple[ir.Operand, ...], Callable[[Index], Index]]:
    """The shape of gathered elements, and where in the array the one at an index is."""
    front, shape = place.front, ctx.shape(place.array)
    axes = [axis for axis, _ in place.places]
    block = broadcast_shapes(ctx, [ctx.shape(places) for _, places in place.places])
    chosen = [stretched(ctx, places, block) for _, places in place.places]
    others = [extent for axis, extent in enumerate(shape) if axis not in axes]

    def target(index: Index) -> Index:
        inner = index[front : front + len(block)]
        found = iter([complexes.real(ctx, places(inner)) for places in chosen])
        rest = iter(index[:front] + index[front + len(block) :])
        return tuple(next(found) if axis in axes else next(rest) for axis in range(len(shape)))

    return (*others[:front], *block, *others[front:]), target


def _count(ctx: Context, mask: ir.Operand) -> ir.Operand:
    return ctx.reduce(
        ctx.shape(mask),
        ir.integer(0),
        lambda index, count: scalars.scalar(
            ctx, operator.add, (count, scalars.cast(ctx, ctx.builder.load(mask, index), types.intp)), "count"
        ),
        "count",
        order_free=True,
    )


def _for_each_selected(ctx: Context, mask: ir.Operand, body: Callable[[Index, ir.Operand], None]) -> None:
    """Runs `body(index, k)` for the k-th true element of a mask, in order."""

    def element(index: Index, count: ir.Operand) -> ir.Operand:
        def selected() -> ir.Operand:
            body(index, count)
            return scalars.scalar(ctx, operator.add, (count, ir.integer(1)), "count")

        return complexes.branch(ctx, ctx.builder.load(mask, index), selected, scalars.ready(count), "count")

    ctx.reduce(ctx.shape(mask), ir.integer(0), element, "count")


def _selected(ctx: Context, place: Place) -> Value:
    assert place.mask is not None
    array, mask = place.array, place.mask
    count = _count(ctx, mask)
    out = allocated_part(ctx, (count,), dtype(array), None, "selected")
    _for_each_selected(ctx, mask, lambda index, k: ctx.builder.store(out, (k,), ctx.builder.load(array, index)))
    return out


def write(ctx: Context, place: Place | Pair, value: Value) -> None:
    """`base[entries] = value`."""
    value = stored(ctx, value)
    if isinstance(place, Pair):
        real, imag = _parts(ctx, value)
        write(ctx, place.real, real)
        write(ctx, place.imag, imag)
        return
    array = _target(ctx, place, value)
    if place.kind == "element":
        number = scalars.cast(ctx, _number(ctx, value), dtype(array))
        ctx.builder.store(array, place.index, number, promised=ctx.loop.in_prange, unsure=ctx.unsure)
    elif place.kind == "view":
        store_all(ctx, array, value)
    elif place.kind == "gather":
        _scatter(ctx, place, array, value)
    else:
        _store_selected(ctx, place, array, value)


def stored(ctx: Context, value: Value) -> Value:
    """What is stored, a tuple or list as the array that NumPy makes of it."""
    value = displayed(ctx, value)
    value = array_of(ctx, value) if isinstance(value, TupleValue) else elements(ctx, value)
    if not is_numeric(value):
        raise ctx.unsupported(f"{describe(value)} stored in an array", "Store a number or an array.")
    return value


def _parts(ctx: Context, value: Value) -> tuple[Value, Value]:
    """The parts of what is stored among complex numbers; both are there before one is stored."""
    made = materialise(ctx, value)
    return (made.real, made.imag) if isinstance(made, Complex) else (made, ir.Const(0.0, types.float64))


def _target(ctx: Context, place: Place, value: Value) -> ir.Var:
    """The array that a value is stored in, if it can be."""
    if is_complex(value):
        raise ctx.mismatch(
            "a store of a complex number into a real array",
            "Store its .real, or create the array with dtype=np.complex128.",
        )
    return writable(ctx, place.array)


def _number(ctx: Context, value: Value) -> ir.Operand:
    if not is_number(value):
        raise ctx.mismatch("a store of an array into a single element", "Store a number, or store into a slice.")
    return value


CHANGED_GLOBAL = (
    "a change of a global array",
    "Pass it as an argument, or copy it first.",
    "Arrays from outside the function are constants, as in numba.",
)


def writable(ctx: Context, array: ir.Operand) -> ir.Var:
    if isinstance(array, ir.Const):
        ctx.changes_drawn(array)
        raise ctx.unsupported(*CHANGED_GLOBAL)
    if KEPT in ctx.roots_of(array):
        ctx.stores_to_row(array)
    return array


def _scatter(ctx: Context, place: Place, array: ir.Var, value: Value) -> None:
    # one store after another: with repeated places the last one stays, as in NumPy
    full, target, element = _into_places(ctx, place, array, value)

    def body(index: Index) -> None:
        store(ctx, array, target(index), element(index), unsure=ctx.unsure)

    ctx.builder.nest(full, body, ordered=range(len(full)))


def _into_places(
    ctx: Context, place: Place, array: ir.Var, value: Value
) -> tuple[tuple[ir.Operand, ...], Callable[[Index], Index], Callable[[Index], Number]]:
    """The shape of the places that are stored to, where each is, and what goes there: nothing of it is overwritten."""
    if is_array(value) and any(ctx.may_alias(s, array) for s in as_lazy(ctx, value).sources):
        # also where the value is an array already: it is this memory, or a view of it
        value = copied(ctx, value, f"{array.name}_new")
    own = tuple((k, operand(ctx, copied(ctx, p)) if ctx.may_alias(p, array) else p) for k, p in place.places)
    full, target = _gather(ctx, dataclasses.replace(place, places=own))
    check_fits(ctx, full, value)
    return full, target, stretched(ctx, value, full)


def accumulate(ctx: Context, place: Place | Pair, operation: Any, value: Value) -> None:
    """`ufunc.at`: an update at each of the places, one after the other, also where one is named twice."""
    operation = {np.add: operator.add, np.subtract: operator.sub}.get(operation, operation)
    value = stored(ctx, value)
    if isinstance(place, Pair) or place.kind != "gather":
        update(ctx, place, operation, value, len(ctx.builder.ops))
        return
    array = _target(ctx, place, value)
    full, target, element = _into_places(ctx, place, array, value)
    kind = dtype(array)

    def body(index: Index) -> None:
        at, new = target(index), complexes.real(ctx, element(index))
        added = _as_addition(ctx, operation, new)
        if added is not None and added.type == kind:
            ctx.builder.store(array, at, added, add=True, unsure=ctx.unsure)
            return
        old = ctx.builder.load(array, at, unsure=ctx.unsure)
        ctx.builder.store(array, at, scalars.cast(ctx, scalars.scalar(ctx, operation, (old, new)), kind))

    ctx.builder.nest(full, body, ordered=range(len(full)))


def _store_selected(ctx: Context, place: Place, array: ir.Var, value: Value) -> None:
    mask = place.mask
    assert mask is not None
    if is_number(value):
        number = scalars.cast(ctx, value, dtype(array))

        def store_number(index: Index) -> None:
            with ctx.builder.when(ctx.builder.load(mask, index)):
                ctx.builder.store(array, index, number)

        ctx.builder.nest(ctx.shape(mask), store_number)
        return
    if is_array(value) and any(ctx.may_alias(s, array) for s in as_lazy(ctx, value).sources):
        value = materialise(ctx, as_lazy(ctx, value), f"{array.name}_new")
    values = operand(ctx, value)
    if ndim(values) != 1:
        raise ctx.mismatch("a store of an array of rank above 1 through a mask", "Give a number or a vector.")
    count = _count(ctx, mask)
    check_fits(ctx, (count,), values)
    element = stretched(ctx, values, (count,))
    _for_each_selected(ctx, mask, lambda index, k: store(ctx, array, index, element((k,))))


def update(ctx: Context, place: Place | Pair, operation: Any, value: Value, mark: int) -> None:
    """`base[entries] op= value`, where the operations from `mark` on are those of `value`.

    What is updated is read before the value is evaluated; a view is a reference, and read after it.
    """
    value = stored(ctx, value)
    if isinstance(place, Pair):
        _update_pair(ctx, place, operation, value, mark)
        return
    array = _target(ctx, place, value)
    kind = dtype(array)
    if place.kind == "element":
        value = _number(ctx, value)
        old: Value | None = None
        if is_overwritten(ctx, (array,), mark):
            old = inserted(ctx, mark, lambda: read(ctx, place))
        added = _as_addition(ctx, operation, value)
        if old is None and added is not None and added.type == kind:
            promised = ctx.kernel is not None
            ctx.builder.store(array, place.index, added, add=True, promised=promised, unsure=ctx.unsure)
            return
        old = operand(ctx, read(ctx, place) if old is None else old)
        new = scalars.scalar(ctx, operation, (old, value))
        ctx.builder.store(array, place.index, scalars.cast(ctx, new, kind), promised=ctx.kernel is not None)
    elif place.kind == "view":
        store_all(ctx, array, value, operation)
    else:
        gathered = _read_before(ctx, place, mark)
        write(ctx, place, materialise(ctx, elementwise(ctx, operation, (gathered, value)), "updated"))


def _read_before(ctx: Context, place: Place | Pair, mark: int) -> Value:
    """The value at a place before the operations from `mark` on."""
    places = (place.real, place.imag) if isinstance(place, Pair) else (place,)
    read_from = [o for p in places for o in p.read_from]
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
    if not is_scalar(value):
        raise ctx.mismatch("a store of an array into a single element", "Store a number.")
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
