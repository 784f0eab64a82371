"""Lists: what is in them, also where that grows, and what NumPy makes of them.

In: the value of a list. Out: its items, its arrays, the same list with an item more.

A list whose items are known one by one is a `TupleValue`. Where a loop or a branch makes it longer, a `GrowableList`:
an array for each number of an item (or for each array, with an axis in front), and how many items there are.

    out = []                          buffer, count = np.empty(0), 0
    for x in a: out.append(x * x)     if count == buffer.size: a longer one;  buffer[count] = x * x;  count += 1
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.rules.python.lists import common_extent
from adjit.transform import ir
from adjit.transform.frontend.heap.aliasing import puts_away_items, shares_items
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.arrays import allocated_part, array_of, shape_of, store
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import Ref
from adjit.transform.frontend.values.checks import require, require_equal
from adjit.transform.frontend.values.dictionaries import Record, RuntimeDict
from adjit.transform.frontend.values.elementwise import as_lazy, check_fits, copied, materialise, store_all
from adjit.transform.frontend.values.fold import constant, is_texts, items_of_texts
from adjit.transform.frontend.values.frame import ANYWHERE, ITEM, ITEMS, KEPT, Context, as_index, wrap
from adjit.transform.frontend.values.invariant_extents import varies
from adjit.transform.frontend.values.lists import ROW, GrowableList, List, Ragged, Row, TupleValue, is_list, items_in
from adjit.transform.frontend.values.numbers import Complex, Flat, Number, dtype, is_array, is_number, operands_in
from adjit.transform.frontend.values.statics import Static, StringArray
from adjit.transform.frontend.values.structures import is_put_together, item_apart, item_of, joint
from adjit.transform.frontend.values.values import (
    LEAF,
    Hole,
    Structure,
    Value,
    describe,
    leaf_count,
    leaves_of,
    parts_of,
    structure,
)
from adjit.transform.ir.types import array_type


def displayed(ctx: Context, value: Value) -> Value:
    """A list from outside, or one in a tuple or a list, as a display of it would be: NumPy makes an array of either."""
    if isinstance(value, Static) and type(value.value) is list:
        return TupleValue(tuple(displayed(ctx, wrap(ctx, one)) for one in value.value), is_list=True)
    return value.mapped(functools.partial(displayed, ctx)) if isinstance(value, TupleValue) else value


def elements(ctx: Context, value: Value) -> Value:
    """What NumPy sees of a value: of `x.flat`, the vector; of a list that grows, the array that it makes of it."""
    if is_texts(value):
        return value
    value = contents(ctx, value)
    return as_array(ctx, value) if isinstance(value, GrowableList) else value


def contents(ctx: Context, value: Value) -> Value:
    """What a loop over a value runs over: of a dictionary its keys, of a queue its items, of `x.flat` the vector."""
    match value:
        case Flat(array=array):
            return array
        case Static(value=StringArray()):
            return items_of_texts(ctx, value)
        case RuntimeDict(kind="dict"):
            return value.view("keys")
        case RuntimeDict(kind="iterator"):
            raise ctx.unsupported("an iterator in this place", "Loop over it, call next, or make a list of it.")
        case RuntimeDict(kind="deque", items=items):
            return items.known_by(None)
    if not isinstance(value, RuntimeDict):
        return value
    known = set_order(value)
    if known is None:
        raise ctx.unsupported(
            "the items of a set one after the other",
            "Write `sorted(...)` around it.",
            why="The order of a set depends on hashes, which only Python knows.",
        )
    return known


def set_order(value: RuntimeDict) -> TupleValue | None:
    """The members of a set in the order in which Python has them, where all are constant numbers; else None."""
    if not isinstance(value.items, TupleValue):
        return None
    found: dict[Any, Value] = {}
    for one in value.items.items:
        if not all(isinstance(n, ir.Const) for n in parts_of(one)):
            return None
        found[constant(one)] = one
    return TupleValue(tuple(found[key] for key in set(found)))


def as_array(ctx: Context, value: GrowableList) -> Value:
    """The items as an array, a row each."""
    if isinstance(value.item, Hole | Row):
        # which is an array of its own where anybody keeps it
        return as_lazy(ctx, _used(ctx, value.buffers[0], value.count))
    if isinstance(value.item, Ragged):
        return as_lazy(ctx, _even(ctx, value))
    if isinstance(value.item, Complex):
        real, imag = (_used(ctx, buffer, value.count) for buffer in value.buffers)
        return as_lazy(ctx, Complex(real, imag))
    columns = [as_array(ctx, GrowableList(LEAF, (buffer,), value.count)) for buffer in value.buffers]
    if not columns or any(part != LEAF for part in value.item.items):
        raise ctx.unsupported("an array of this list", "Append numbers, arrays, or tuples of numbers.")
    kind = functools.reduce(scalars.wider, map(dtype, columns))
    first = shape_of(ctx, columns[0])
    out = allocated_part(ctx, (first[0], ir.integer(len(columns)), *first[1:]), kind, None, "array")
    for k, column in enumerate(columns):
        check_fits(ctx, first, column)
        at: tuple[ir.Selector, ...] = (ir.Span(), ir.At(ir.integer(k)), *[ir.Span()] * (len(first) - 1))
        store_all(ctx, _view(ctx, out, at, first), column)
    return out


def _even(ctx: Context, value: GrowableList) -> ir.Var:
    """The arrays that are the items as one array. ValueError, as NumPy has it, where their extents differ."""
    buffer, *columns = value.buffers
    lengths = (GrowableList(LEAF, (column,), value.count) for column in columns)
    extents = [as_index(ctx, ctx.inline(common_extent, [one], {}, False, False), "a length") for one in lengths]
    used = (ir.Span(stop=value.count), *(ir.Span(stop=extent) for extent in extents))
    return _view(ctx, buffer, used, (value.count, *extents))


def _used(ctx: Context, buffer: ir.Operand, count: ir.Operand) -> ir.Var:
    """The part of a buffer that belongs to the list."""
    shape = ctx.shape(buffer)
    return _view(ctx, buffer, (ir.Span(stop=count), *[ir.Span()] * (len(shape) - 1)), (count, *shape[1:]))


def _view(ctx: Context, array: ir.Operand, selectors: Sequence[ir.Selector], shape: Sequence[ir.Operand]) -> ir.Var:
    out = ctx.builder.slice(array, selectors, f"{ir.name_of(array, 'list')}_view")
    return ctx.new_array(out, shape, ctx.roots_of(array))


# ---------------------------------------------------------------------------------------------------------------- items


def read_item(ctx: Context, value: GrowableList, index: ir.Operand) -> Value:
    parts = iter(value.buffers)

    def made(shape: Structure) -> Value:
        if isinstance(shape, Row | Ragged):
            buffer = next(parts)
            extents = [_at(ctx, next(parts), index) for _ in shape.members[1:]]
            own = _at(ctx, buffer, index, extents or None)
            is_a_list = isinstance(shape, Row) or shape.is_list
            return GrowableList(LEAF, (own,), ctx.shape(own)[0]) if is_a_list else own
        return _at(ctx, next(parts), index) if type(shape) is Hole else shape.with_members(*map(made, shape.members))

    return made(value.item)


def _at(ctx: Context, buffer: ir.Operand, index: ir.Operand, extents: Sequence[ir.Operand] | None = None) -> ir.Operand:
    """What a buffer has for an item; `extents`: those of its own that it has."""
    shape = ctx.shape(buffer)
    if len(shape) == 1:
        return ctx.builder.load(buffer, (index,))
    spans = [ir.Span()] * (len(shape) - 1) if extents is None else [ir.Span(stop=extent) for extent in extents]
    row = _view(ctx, buffer, (ir.At(index), *spans), shape[1:] if extents is None else extents)
    ctx.arrays.roots[row] |= {KEPT}
    ctx.heap.row_of[row] = buffer
    return row


def store_item(ctx: Context, value: GrowableList, index: ir.Operand, given: Value) -> None:
    """`value[index] = given`, for an index from 0 on."""
    leaves = _leaves(ctx, value.item, given)
    for k, (buffer, leaf, axes) in enumerate(zip(value.buffers, leaves, _own_axes(value.item), strict=True)):
        shape = ctx.shape(buffer)
        if is_array(leaf) != (len(shape) > 1):
            raise differ(ctx)
        if len(shape) == 1:
            ctx.builder.store(buffer, (index,), scalars.cast(ctx, leaf, dtype(buffer)))
        else:
            if len(shape_of(ctx, leaf)) != len(shape) - 1:
                raise differ(ctx)
            row = _at(ctx, buffer, index, leaves[k + 1 : k + 1 + axes] if axes else None)
            assert isinstance(row, ir.Var)
            store_all(ctx, row, _of_extents(ctx, leaf, ctx.shape(row)))
            takes_row(ctx, buffer, leaf)


def takes_row(ctx: Context, buffer: ir.Operand, given: ir.Operand) -> None:
    """Takes note that a list has copied an array, or the rows of one, into its memory. In Python it has the array:
    what changes that afterwards is refused, if the list is read then."""
    ctx.heap.copied_rows |= {given, *(ctx.roots_of(given) - {KEPT, ANYWHERE})}
    ctx.detached(buffer, given, ITEMS, always=True, is_kept=True)


def _of_extents(ctx: Context, leaf: Value, extents: Sequence[ir.Operand]) -> Value:
    """An array as one of these extents, those of the items; ValueError if it has others, which Python would take."""
    lazy = as_lazy(ctx, leaf)
    for held, given in zip(extents, lazy.shape, strict=True):
        _same_extent(ctx, held, given)
    return dataclasses.replace(lazy, shape=tuple(extents))


def _same_extent(ctx: Context, items: ir.Operand, given: ir.Operand) -> ir.Operand:
    """The extent that is that of the items and of what comes to them, which is checked."""
    require_equal(ctx, items, given, "arrays of different shapes in one list: axes of length {} and {}")
    return items


def _own_axes(shape: Structure) -> list[int]:
    """For each leaf of an item, how many axes it has whose extents are its own: these are the leaves after it."""
    if isinstance(shape, Ragged):
        return [len(shape.extents), *[0] * len(shape.extents)]
    return [axes for p in shape.members for axes in _own_axes(p)] if shape.members else [0] * leaf_count(shape)


def extents_differ(ctx: Context, value: List | RuntimeDict, given: Value) -> None:
    """Makes the items of lists have extents of their own, if that is what this one, which the list takes, will need."""
    if ctx.assumed.own_extents:
        return
    before = len(ctx.heap.created_in.get(value.cell.key, ())) if isinstance(value.cell, Ref) else 0
    rows = (one for one in parts_of(given) if is_array(one) or isinstance(one, GrowableList))
    for row in rows:
        extents = (row.count,) if isinstance(row, GrowableList) else shape_of(ctx, row)
        if any(varies(ctx, extent, before) for extent in extents):
            raise Restart(own_extents=True)


def fitted(ctx: Context, value: List, given: Value) -> GrowableList:
    """A list as one that may grow, and that takes this item: with numbers as wide as those of the item."""
    if isinstance(value, TupleValue):
        # one item more than it has, which is not counted
        whole = grown(ctx, TupleValue((*value.items, given), is_list=True))
        return dataclasses.replace(whole, count=ir.integer(len(value.items)))
    value = _taking(ctx, value, given)
    leaves = _leaves(ctx, value.item, given)
    pairs = zip(value.buffers, leaves, strict=True)
    kinds = [scalars.wider(dtype(buffer), dtype(leaf)) for buffer, leaf in pairs]
    buffers = (
        as_wide(ctx, buffer, array_type(kind, len(ctx.shape(buffer))))
        for buffer, kind in zip(value.buffers, kinds, strict=True)
    )
    return dataclasses.replace(value, buffers=tuple(buffers))


def _taking(ctx: Context, value: GrowableList, given: Value) -> GrowableList:
    """A list as one whose items are put together so that this can be one: lists in it may have any length."""
    own = value.structure().item
    shape = item_of(own, structure(given))
    if shape is None or shape == own or Complex in (type(shape), type(own)):
        return value
    if not ctx.assumed.own_extents:
        raise Restart(own_extents=True)
    return grown(ctx, value, _item_shape(ctx, shape))


def _leaves(ctx: Context, shape: Structure, given: Value) -> list[ir.Operand]:
    """The numbers and arrays of an item."""
    if isinstance(given, TupleValue | Record) and type(given) is type(shape):
        if len(given.items) != len(shape.items):
            raise differ(ctx)
        return [leaf for part, one in zip(shape.items, given.items, strict=True) for leaf in _leaves(ctx, part, one)]
    if not is_put_together(shape):
        if given != shape:
            raise differ(ctx)
        return []
    if shape == ROW and is_list(given):
        # of no items, numbers of any kind
        array = as_array(ctx, given) if isinstance(given, GrowableList) else array_of(ctx, given, of_none=types.boolean)
        (row,) = operands_in(_number(ctx, array))
        return [row, *shape_of(ctx, row)]
    if isinstance(shape, Ragged) and is_array(given):
        made = materialise(ctx, given)
        if not isinstance(made, ir.Operand) or len(shape_of(ctx, made)) != len(shape.extents):
            raise differ(ctx)
        return [made, *shape_of(ctx, made)]
    if isinstance(shape, Row) and is_list(given):
        array = as_array(ctx, given) if isinstance(given, GrowableList) else array_of(ctx, given)
        return [*operands_in(_number(ctx, array))]
    if isinstance(shape, Complex):
        number = _number(ctx, given)
        if is_array(number) and not isinstance(number, Complex):
            raise differ(ctx)
        return [*operands_in(number if is_array(number) else complexes.promote(ctx, number))]
    made = materialise(ctx, given)
    if not isinstance(shape, Hole) or not isinstance(made, ir.Operand):
        raise differ(ctx)
    return [made]


def _number(ctx: Context, value: Value) -> Number:
    made = materialise(ctx, value)
    if not isinstance(made, Number):
        raise differ(ctx)
    return made


def differ(ctx: Context) -> Exception:
    return ctx.not_constant(
        "a list of items of different kinds",
        "Give it items of one kind: numbers, arrays of one shape, or tuples of them.",
    )


# --------------------------------------------------------------------------------------------------------------- growth


def columns(ctx: Context, rows: GrowableList) -> TupleValue:
    """`zip(*rows)`: for each place in the rows, the list of what they have there. ValueError of no rows, of which
    Python has no columns."""
    is_any = scalars.scalar(ctx, operator.gt, (rows.count, ir.integer(0)))
    require(ctx, is_any, ValueError, "zip of no rows, which has no columns")
    return TupleValue(tuple(part_of_list(ctx, column, ir.Span()) for column in rows.columns()))


def grown(ctx: Context, value: TupleValue | GrowableList, shape: Structure | None = None) -> GrowableList:
    """A list of known items as one that may grow; `shape`: how its items will be put together."""
    if isinstance(value, GrowableList):
        return value if shape in (None, value.item) else _built_as(ctx, value, shape)
    items = [materialise(ctx, one) for one in value.items]
    shape = _item_shape(ctx, *map(structure, items)) if shape is None else shape
    if shape is None or not items:
        raise differ(ctx)
    rows = [_leaves(ctx, shape, one) for one in items]
    count = ir.integer(len(items))
    buffers: list[ir.Operand] = []
    for column, axes in zip(zip(*rows, strict=True), _own_axes(shape), strict=True):
        kind, extents = _number_type(ctx, column), [shape_of(ctx, leaf) for leaf in column]
        if not axes and any(_are_other(*pair) for one in extents for pair in zip(extents[0], one, strict=True)):
            raise Restart(own_extents=True) if not ctx.assumed.own_extents else differ(ctx)
        widest = [functools.reduce(functools.partial(_larger, ctx), along) for along in zip(*extents, strict=True)]
        buffers.append(_buffer(ctx, kind, (count, *(widest if axes else extents[0]))))
    made = GrowableList(shape, tuple(buffers), count)
    for k, one in enumerate(items):
        store_item(ctx, made, ir.integer(k), one)
    return made


def in_memory(ctx: Context, items: Sequence[Value]) -> GrowableList:
    """A list of numbers, or of tuples of those, that is read and never changed: constants are an array of them."""
    shapes = set(map(structure, items))
    if len(shapes) > 1 or not all(map(_is_of_numbers, items)):
        raise differ(ctx)
    columns = list(zip(*map(leaves_of, items), strict=True))
    if not all(isinstance(leaf, ir.Const) for column in columns for leaf in column):
        return grown(ctx, TupleValue(tuple(items), is_list=True))
    kinds = [functools.reduce(scalars.wider, (leaf.type for leaf in column)) for column in columns]
    tables = (
        np.array([leaf.value for leaf in column], dtype=np.dtype(str(kind)))
        for column, kind in zip(columns, kinds, strict=True)
    )
    buffers = tuple(ir.Const(table, array_type(kind, 1)) for table, kind in zip(tables, kinds, strict=True))
    return GrowableList(shapes.pop(), buffers, ir.integer(len(items)))


def _is_of_numbers(value: Value) -> bool:
    if isinstance(value, TupleValue):
        return not value.is_list and all(map(_is_of_numbers, value.items))
    return is_number(value)


def _item_shape(ctx: Context, *shapes: Structure) -> Structure | None:
    """How the items of a list are put together, which are like these."""
    found = item_of(*shapes)
    return item_apart(found) if found is not None and ctx.assumed.own_extents else found


def _built_as(ctx: Context, value: GrowableList, shape: Structure) -> GrowableList:
    """A list as one whose items are put together in another way: a list of so many numbers as one of any length."""
    if joint(value.structure().item, shape) != shape:
        raise differ(ctx)
    parts = iter(value.buffers)
    buffers = [
        _buffer(ctx, kind, (value.count, *extents)) for kind, extents in _built_of(ctx, value.item, shape, parts)
    ]
    made = GrowableList(shape, tuple(buffers), value.count)
    with ctx.builder.loop(value.count, "k") as k:
        store_item(ctx, made, k, read_item(ctx, value, k))
    return made


def _built_of(
    ctx: Context, old: Structure, new: Structure, parts: Iterator[ir.Operand]
) -> Iterator[tuple[types.Type, Sequence[ir.Operand]]]:
    """For each leaf of an item put together as `new`, its type, and the extents that are enough for what is in
    `parts`, the leaves of items put together as `old`."""
    if isinstance(new, Ragged) and not isinstance(old, Ragged):
        own = [next(parts) for _ in range(leaf_count(old))]
        no_kind: types.Type = types.boolean
        kind = functools.reduce(scalars.wider, map(dtype, own), no_kind)
        yield kind, [ir.integer(len(own))] if isinstance(old, TupleValue) else ctx.shape(own[0])[1:]
        yield from ((types.intp, ()) for _ in new.extents)
        return
    if type(new) is not type(old) or is_list(new) != is_list(old):
        raise differ(ctx)
    if isinstance(new, TupleValue | Record):
        for a, b in zip(old.items, new.items, strict=True):
            yield from _built_of(ctx, a, b, parts)
        return
    for buffer in itertools.islice(parts, leaf_count(new)):
        yield dtype(buffer), ctx.shape(buffer)[1:]


def _are_other(one: ir.Operand, other: ir.Operand) -> bool:
    """Whether two extents are known to differ."""
    return isinstance(one, ir.Const) and isinstance(other, ir.Const) and one.value != other.value


def _larger(ctx: Context, one: ir.Operand, other: ir.Operand) -> ir.Operand:
    return one if one == other else scalars.scalar(ctx, max, (one, other), "widest")


def _buffer(ctx: Context, kind: types.Type, extents: Sequence[ir.Operand]) -> ir.Var:
    """An array for one leaf of all items."""
    return allocated_part(ctx, extents, kind, None, "items")


def empty_buffer(ctx: Context, kind: types.Type) -> ir.Var:
    """The array of a list that has no items yet."""
    assert isinstance(kind, types.Array)
    return _buffer(ctx, kind.dtype, (ir.integer(0),) * kind.ndim)


def _number_type(ctx: Context, column: Sequence[ir.Operand]) -> types.Type:
    """The type of the numbers in one leaf of all items, which are of one rank."""
    if len({len(shape_of(ctx, leaf)) for leaf in column}) > 1:
        raise differ(ctx)
    return functools.reduce(scalars.wider, map(dtype, column))


def widened(one: types.Type, other: types.Type) -> types.Array | None:
    """The type of an array that takes what either takes; None where there is none."""
    if not isinstance(one, types.Array) or not isinstance(other, types.Array) or one.ndim != other.ndim:
        return None
    return array_type(scalars.wider(one.dtype, other.dtype), one.ndim)


def as_wide(ctx: Context, buffer: ir.Operand, kind: types.Array) -> ir.Operand:
    """A buffer with numbers of that type."""
    if dtype(buffer) == kind.dtype:
        return buffer
    out = _buffer(ctx, kind.dtype, ctx.shape(buffer))
    store_all(ctx, out, buffer)
    return out


def appended(
    ctx: Context, value: GrowableList, given: Value, choose: Callable[..., Any], trips: ir.Operand
) -> GrowableList:
    """The list with an item more; `choose(condition, yes, no)`: one of two; `trips`: a guess at how many come."""
    key, loop = value.cell.key if isinstance(value.cell, Ref) else "", ctx.loop.around[-1] if ctx.loop.around else None
    ctx.heap.grown_in.setdefault(key, []).append(loop)
    if not ir.same(ctx.heap.rooms.get((loop, key), ()), value.buffers):
        value = _with_room(ctx, value, given, choose, trips)
    store_item(ctx, value, value.count, given)
    return dataclasses.replace(value, count=scalars.scalar(ctx, operator.add, (value.count, ir.integer(1)), "count"))


def _with_room(
    ctx: Context, value: GrowableList, given: Value, choose: Callable[..., Any], trips: ir.Operand
) -> GrowableList:
    """The list, in memory that has room for one item more."""
    if not value.buffers:
        return value
    value = with_width(ctx, value, given, choose)
    leaves, own = _leaves(ctx, value.item, given), _own_axes(value.item)
    is_full = scalars.scalar(ctx, operator.eq, (ctx.shape(value.buffers[0])[0], value.count), "is_full")

    def longer() -> Value:
        doubled = scalars.scalar(ctx, operator.mul, (value.count, ir.integer(2)))
        least = scalars.scalar(ctx, max, (trips, ir.integer(4)))
        capacity = scalars.scalar(ctx, max, (doubled, least), "capacity")
        extents = (
            ctx.shape(b)[1:] if axes else shape_of(ctx, leaf)
            for b, leaf, axes in zip(value.buffers, leaves, own, strict=True)
        )
        pairs = zip(value.buffers, extents, strict=True)
        return TupleValue(tuple(_longer(ctx, b, value.count, (capacity, *found)) for b, found in pairs))

    found = choose(is_full, longer, lambda: TupleValue(value.buffers))
    return dataclasses.replace(value, buffers=found.items)


def with_width(ctx: Context, value: GrowableList, given: Value, choose: Callable[..., Any]) -> GrowableList:
    """The list, in memory that has room for the extents of this item."""
    buffers = list(value.buffers)
    leaves = _leaves(ctx, value.item, given)
    for k, axes in enumerate(_own_axes(value.item)):
        if axes:
            buffers[k] = as_wide_as(ctx, buffers[k], value.count, leaves[k + 1 : k + 1 + axes], choose)
    return dataclasses.replace(value, buffers=tuple(buffers))


def as_wide_as(
    ctx: Context,
    buffer: ir.Operand,
    count: ir.Operand,
    extents: Sequence[ir.Operand],
    choose: Callable[..., ir.Operand],
) -> ir.Operand:
    rows, *held = ctx.shape(buffer)
    fits: ir.Operand = ir.boolean(True)
    for extent, room in zip(extents, held, strict=True):
        is_in = functools.partial(scalars.scalar, ctx, operator.le, (extent, room), "fits")
        fits = (
            is_in()
            if fits == ir.boolean(True)
            else complexes.branch(ctx, fits, is_in, lambda: ir.boolean(False), "fits")
        )

    def wider() -> Value:
        widths: list[ir.Operand] = []
        for extent, room in zip(extents, held, strict=True):
            # twice as much each time
            doubled = scalars.scalar(ctx, operator.mul, (room, ir.integer(2)))
            more = functools.partial(scalars.scalar, ctx, max, (extent, doubled), "width")
            is_more = scalars.scalar(ctx, operator.gt, (extent, room))
            widths.append(complexes.branch(ctx, is_more, more, scalars.ready(room), "width"))
        return _longer(ctx, buffer, count, (rows, *widths))

    return choose(fits, scalars.ready(buffer), wider)


def roomy(ctx: Context, buffer: ir.Operand | None, kind: types.Type, count: ir.Operand, capacity: ir.Operand) -> ir.Var:
    """A buffer of numbers with room for so many, the first of which are those of this one."""
    assert isinstance(kind, types.Array)
    return _longer(ctx, buffer, count, (capacity,), kind.dtype)


def _longer(
    ctx: Context,
    buffer: ir.Operand | None,
    count: ir.Operand,
    extents: Sequence[ir.Operand],
    kind: types.Type | None = None,
) -> ir.Var:
    """A buffer of these extents, the first items of which are those of this one; `kind`: of its numbers."""
    if buffer is not None and len(ctx.shape(buffer)) != len(extents):
        raise differ(ctx)
    known = kind if kind is not None or buffer is None else dtype(buffer)
    assert known is not None
    out = _buffer(ctx, known, extents)
    if buffer is not None:
        _copy_items(ctx, buffer, ir.integer(0), count, out)
    return out


def joined(ctx: Context, left: List, right: List) -> List:
    """`left + right` of two lists."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return TupleValue((*left.items, *right.items), is_list=True)
    if isinstance(left, TupleValue) and not left.items:
        return right
    if isinstance(right, TupleValue) and not right.items:
        return left
    for one, other in ((left, right), (right, left)):
        for item in other.items if isinstance(other, TupleValue) else ():
            extents_differ(ctx, one, item)
    shape = _item_shape(ctx, *items_in(structure(left)), *items_in(structure(right)))
    if shape is None:
        raise differ(ctx)
    puts_away_items(ctx, left)
    puts_away_items(ctx, right)
    first, second = grown(ctx, left, shape), grown(ctx, right, shape)
    count = scalars.scalar(ctx, operator.add, (first.count, second.count), "count")
    buffers: list[ir.Operand] = []
    for a, b, axes in zip(first.buffers, second.buffers, _own_axes(shape), strict=True):
        kind = widened(a.type, b.type)
        if kind is None:
            raise differ(ctx)
        merged = functools.partial(_larger, ctx) if axes else functools.partial(_shared, ctx, first.count, second.count)
        extents = tuple(merged(*pair) for pair in zip(ctx.shape(a)[1:], ctx.shape(b)[1:], strict=True))
        out = _buffer(ctx, kind.dtype, (count, *extents))
        buffers.append(out)
        _copy_items(ctx, a, ir.integer(0), first.count, out)
        _copy_items(ctx, b, first.count, second.count, out)
        _has_items_of(ctx, out, a, b)
    return GrowableList(shape, tuple(buffers), count)


def _shared(ctx: Context, left: ir.Operand, right: ir.Operand, one: ir.Operand, other: ir.Operand) -> ir.Operand:
    """The extent of the items of two lists of so many items, one of which may have none."""
    if one == other:
        return one
    own = _unless_empty(ctx, left, one, other)
    return _same_extent(ctx, own, _unless_empty(ctx, right, other, one))


def _unless_empty(ctx: Context, count: ir.Operand, extent: ir.Operand, otherwise: ir.Operand) -> ir.Operand:
    has_items = scalars.scalar(ctx, operator.gt, (count, ir.integer(0)), "has_items")
    if isinstance(has_items, ir.Const):
        return extent if has_items.value else otherwise
    return ctx.builder.call(ir.select, has_items, extent, otherwise, type=types.intp, name="n")


def _copy_items(ctx: Context, source: ir.Operand, start: ir.Operand, count: ir.Operand, target: ir.Var) -> None:
    """`target[start : start + count] = source[:count]`."""
    rows = as_lazy(ctx, source)
    with ctx.builder.loop(count, "k", order_free=True) as k:
        place = scalars.scalar(ctx, operator.add, (start, k))
        extents = ctx.shape(source)[1:] if ctx.assumed.own_extents else ctx.shape(target)[1:]
        ctx.builder.nest(extents, lambda index: store(ctx, target, (place, *index), rows.element((k, *index))))


def _has_items_of(ctx: Context, buffer: ir.Operand, *others: ir.Operand) -> None:
    """Takes note that a list has arrays that other lists have, too: what changes these afterwards is refused."""
    for other in others:
        if len(ctx.shape(buffer)) > 1:
            ctx.detached(buffer, other, ITEMS, always=True, is_kept=True, by=ITEM)


def part_of_list(ctx: Context, value: GrowableList, span: ir.Span) -> GrowableList:
    """`value[start:stop:step]`, a list of its own."""
    if not value.buffers:
        raise differ(ctx)
    buffers: list[ir.Operand] = []
    for buffer in value.buffers:
        used = _used(ctx, buffer, value.count)
        rank = len(ctx.shape(used))
        view = ctx.builder.slice(used, (span, *[ir.Span()] * (rank - 1)), "list_view")
        ctx.new_array(view, (ctx.builder.extent(view, 0), *ctx.shape(used)[1:]), ctx.roots_of(used))
        buffers.append(*operands_in(copied(ctx, view, "items")))
        _has_items_of(ctx, buffers[-1], buffer)
    return GrowableList(value.item, tuple(buffers), ctx.shape(buffers[0])[0])


def repeated(ctx: Context, value: TupleValue, count: ir.Operand) -> Value:
    """`value * count`."""
    if isinstance(count, ir.Const):
        return TupleValue(value.items * int(count.value), value.is_list)
    if not value.is_list or len(value.items) != 1:
        raise ctx.unsupported(
            f"{describe(value)}, repeated a number of times that is only known at run time", "Use np.full or np.tile."
        )
    one = grown(ctx, value)
    shares_items(ctx, one)
    times = scalars.scalar(ctx, max, (count, ir.integer(0)), "count")
    buffers: list[ir.Operand] = []
    for buffer in one.buffers:
        extents = (times, *ctx.shape(buffer)[1:])
        out = _buffer(ctx, dtype(buffer), extents)
        same = as_lazy(ctx, buffer)
        ctx.builder.nest(
            extents,
            lambda index, s=same, o=out: store(ctx, o, index, s.element((ir.integer(0), *index[1:]))),  # type: ignore[misc]
        )
        buffers.append(out)
        _has_items_of(ctx, out, buffer)
    return GrowableList(one.item, tuple(buffers), times)
