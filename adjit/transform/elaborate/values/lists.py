"""Lists: what is in them, also where that grows, and what NumPy makes of them.

In: the value of a list. Out: its items, its arrays, the same list with an item more.

A list whose items are known one by one is a `TupleValue`. Where a loop or a branch makes it longer it is `Grown`: an
array for each number of an item (or for each array, with an axis in front), and how many items there are.

    out = []                          buffer, count = np.empty(0), 0
    for x in a: out.append(x * x)     if count == buffer.size: a longer one;  buffer[count] = x * x;  count += 1
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.arrays import allocated_part, array_of, shape_of, store
from adjit.transform.elaborate.values.elementwise import as_lazy, check_fits, copied, materialise, store_all
from adjit.transform.elaborate.values.frame import KEPT, Context
from adjit.transform.elaborate.values.sharing import puts_away_items, shares_items
from adjit.transform.elaborate.values.values import (
    LEAF,
    Cell,
    Complex,
    Flat,
    Grown,
    List,
    Number,
    Record,
    Shape,
    Table,
    TupleValue,
    Value,
    described,
    dtype,
    is_array,
    is_list,
    item_of,
    object_of,
    operands_in,
    parts_of,
    structure,
    view_of,
)
from adjit.transform.ir.types import array_type


def elements(ctx: Context, value: Value) -> Value:
    """What NumPy sees of a value: of `x.flat`, the vector; of a list that grows, the array that it makes of it."""
    if isinstance(value, Flat):
        return value.array
    value = contents(ctx, value)
    return as_array(ctx, value) if isinstance(value, Grown) else value


def contents(ctx: Context, value: Value) -> Value:
    """What a loop over a value runs over: of a dictionary its keys, of a queue its items."""
    if not isinstance(value, Table):
        return value
    if value.kind == "dict":
        return view_of(value, "keys")
    if value.kind == "iterator":
        raise ctx.unsupported("an iterator in this place", "Loop over it, call next, or make a list of it.")
    if value.kind == "deque":
        return dataclasses.replace(value.items, cell=None)
    known = set_order(value)
    if known is None:
        raise ctx.unsupported(
            "the items of a set one after the other",
            "Write `sorted(...)` around it.",
            why="Their order is that of their hashes, which is known to Python alone.",
        )
    return known


def set_order(value: Table) -> TupleValue | None:
    """The members of a set in the order in which Python has them, where all are constant numbers; else None."""
    if not isinstance(value.items, TupleValue):
        return None
    found: dict[Any, Value] = {}
    for one in value.items.items:
        numbers = parts_of(one)
        if not all(isinstance(n, ir.Const) for n in numbers):
            return None
        found[object_of(one, lambda part: AssertionError(part))] = one
    return TupleValue(tuple(found[key] for key in set(found)))


def as_array(ctx: Context, value: Grown) -> Value:
    """The items as an array, a row each."""
    if value.item.kind in ("leaf", "row"):
        # which is an array of its own where anybody keeps it
        return as_lazy(ctx, _used(ctx, value.buffers[0], value.count))
    if value.item.kind == "complex":
        real, imag = (_used(ctx, buffer, value.count) for buffer in value.buffers)
        return as_lazy(ctx, Complex(real, imag))
    columns = [as_array(ctx, Grown(LEAF, (buffer,), value.count)) for buffer in value.buffers]
    if any(part != LEAF for part in value.item.parts):
        raise ctx.unsupported("an array of a list of such items", "Append numbers, arrays, or tuples of numbers.")
    kind = functools.reduce(scalars.wider, map(dtype, columns))
    first = shape_of(ctx, columns[0])
    out = allocated_part(ctx, (first[0], ir.integer(len(columns)), *first[1:]), kind, None, "array")
    for k, column in enumerate(columns):
        check_fits(ctx, first, column)
        at: tuple[ir.Selector, ...] = (ir.Span(), ir.At(ir.integer(k)), *[ir.Span()] * (len(first) - 1))
        store_all(ctx, _view(ctx, out, at, first), column)
    return out


def _used(ctx: Context, buffer: ir.Operand, count: ir.Operand) -> ir.Var:
    """The part of a buffer that belongs to the list."""
    shape = ctx.shape(buffer)
    return _view(ctx, buffer, (ir.Span(stop=count), *[ir.Span()] * (len(shape) - 1)), (count, *shape[1:]))


def _view(ctx: Context, array: ir.Operand, selectors: Sequence[ir.Selector], shape: Sequence[ir.Operand]) -> ir.Var:
    out = ctx.builder.slice(array, selectors, f"{ir.name_of(array, 'list')}_view")
    return ctx.new_array(out, shape, ctx.roots_of(array))


# ---------------------------------------------------------------------------------------------------------------- items


def read_item(ctx: Context, value: Grown, index: ir.Operand) -> Value:
    parts = iter(value.buffers)

    def made(shape: Shape) -> Value:
        if shape.kind in ("tuple", "list"):
            return TupleValue(tuple(map(made, shape.parts)), shape.kind == "list", shape.fields)
        if shape.kind == "record":
            return Record(shape.fields, tuple(map(made, shape.parts)), shape.of)
        if shape.kind == "complex":
            return Complex(_at(ctx, next(parts), index), _at(ctx, next(parts), index))
        found = _at(ctx, next(parts), index)
        return Grown(LEAF, (found,), ctx.shape(found)[0]) if shape.kind == "row" else found

    return made(value.item)


def _at(ctx: Context, buffer: ir.Operand, index: ir.Operand) -> ir.Operand:
    shape = ctx.shape(buffer)
    if len(shape) == 1:
        return ctx.builder.load(buffer, (index,))
    row = _view(ctx, buffer, (ir.At(index), *[ir.Span()] * (len(shape) - 1)), shape[1:])
    ctx.roots[row] |= {KEPT}
    return row


def store_item(ctx: Context, value: Grown, index: ir.Operand, given: Value) -> None:
    """`value[index] = given`, for an index from 0 on."""
    for buffer, leaf in zip(value.buffers, _leaves(ctx, value.item, given), strict=True):
        shape = ctx.shape(buffer)
        if is_array(leaf) != (len(shape) > 1):
            raise _differs(ctx)
        if len(shape) == 1:
            ctx.builder.store(buffer, (index,), scalars.cast(ctx, leaf, dtype(buffer)))
        else:
            if len(shape_of(ctx, leaf)) != len(shape) - 1:
                raise _differs(ctx)
            row = _at(ctx, buffer, index)
            assert isinstance(row, ir.Var)
            store_all(ctx, row, leaf)
            # the list has the array itself in Python: what changes it afterwards is refused, if the list is read then
            ctx.detached(buffer, leaf, "an item of a list that grows", always=True, is_kept=True)


def fitted(ctx: Context, value: List, given: Value) -> Grown:
    """A list as one that may grow, and that takes this item: with numbers as wide as those of the item."""
    if isinstance(value, TupleValue):
        # one item more than it has, which is not counted
        whole = grown(ctx, TupleValue((*value.items, given), is_list=True))
        return dataclasses.replace(whole, count=ir.integer(len(value.items)))
    leaves = _leaves(ctx, value.item, given)
    pairs = zip(value.buffers, leaves, strict=True)
    kinds = [scalars.wider(dtype(buffer), dtype(leaf)) for buffer, leaf in pairs]
    buffers = (
        as_wide(ctx, buffer, array_type(kind, len(ctx.shape(buffer))))
        for buffer, kind in zip(value.buffers, kinds, strict=True)
    )
    return dataclasses.replace(value, buffers=tuple(buffers))


def _leaves(ctx: Context, shape: Shape, given: Value) -> list[ir.Operand]:
    """The numbers and arrays of an item."""
    is_alike = isinstance(given, Record) if shape.kind == "record" else isinstance(given, TupleValue)
    if is_alike and shape.kind in ("tuple", "list", "record"):
        assert isinstance(given, TupleValue | Record)
        if len(given.items) != len(shape.parts):
            raise _differs(ctx)
        return [leaf for part, one in zip(shape.parts, given.items, strict=True) for leaf in _leaves(ctx, part, one)]
    if shape.kind == "row" and is_list(given):
        array = as_array(ctx, given) if isinstance(given, Grown) else array_of(ctx, given)
        return [*operands_in(_number(ctx, array))]
    if shape.kind == "complex":
        number = _number(ctx, given)
        if is_array(number) and not isinstance(number, Complex):
            raise _differs(ctx)
        return [*operands_in(number if is_array(number) else complexes.promote(ctx, number))]
    made = materialise(ctx, given)
    if shape.kind != "leaf" or not isinstance(made, ir.Var | ir.Const):
        raise _differs(ctx)
    return [made]


def _number(ctx: Context, value: Value) -> Number:
    made = materialise(ctx, value)
    if not isinstance(made, Number):
        raise _differs(ctx)
    return made


def _differs(ctx: Context) -> Exception:
    return ctx.unsupported(
        "a list that grows, of items of different kinds",
        "Give it items of one kind: numbers, arrays of one shape, or tuples of those.",
    )


# --------------------------------------------------------------------------------------------------------------- growth


def grown(ctx: Context, value: TupleValue | Grown, shape: Shape | None = None) -> Grown:
    """A list of known items as one that may grow; `shape`: how its items will be put together."""
    if isinstance(value, Grown):
        if shape not in (None, value.item):
            raise _differs(ctx)
        return value
    items = [materialise(ctx, one) for one in value.items]
    shape = item_of(*map(structure, items)) if shape is None else shape
    if shape is None or not items:
        raise _differs(ctx)
    rows = [_leaves(ctx, shape, one) for one in items]
    count = ir.integer(len(items))
    buffers: list[ir.Operand] = []
    for column in zip(*rows, strict=True):
        buffers.append(_buffer(ctx, _number_type(ctx, column), (count, *shape_of(ctx, column[0]))))
    made = Grown(shape, tuple(buffers), count)
    for k, one in enumerate(items):
        store_item(ctx, made, ir.integer(k), one)
    return made


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
        raise _differs(ctx)
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


def appended(ctx: Context, value: Grown, given: Value, choose: Callable[..., Value], trips: ir.Operand) -> Grown:
    """The list with an item more; `choose(condition, yes, no)`: one of two; `trips`: a guess at how many come."""
    key, loop = value.cell.key if isinstance(value.cell, Cell) else "", ctx.loops[-1] if ctx.loops else None
    ctx.grows.setdefault(key, []).append(loop)
    if not ir.same(ctx.roomy.get((loop, key), ()), value.buffers):
        value = _with_room(ctx, value, given, choose, trips)
    store_item(ctx, value, value.count, given)
    return dataclasses.replace(value, count=scalars.scalar(ctx, operator.add, (value.count, ir.integer(1)), "count"))


def _with_room(ctx: Context, value: Grown, given: Value, choose: Callable[..., Value], trips: ir.Operand) -> Grown:
    """The list, in memory that has room for one item more."""
    leaves = _leaves(ctx, value.item, given)
    is_full = scalars.scalar(ctx, operator.eq, (ctx.shape(value.buffers[0])[0], value.count), "is_full")

    def longer() -> Value:
        doubled = scalars.scalar(ctx, operator.mul, (value.count, ir.integer(2)))
        least = scalars.scalar(ctx, max, (trips, ir.integer(4)))
        capacity = scalars.scalar(ctx, max, (doubled, least), "capacity")
        pairs = zip(value.buffers, leaves, strict=True)
        return TupleValue(tuple(_longer(ctx, b, value.count, (capacity, *shape_of(ctx, leaf))) for b, leaf in pairs))

    found = choose(is_full, longer, lambda: TupleValue(value.buffers))
    assert isinstance(found, TupleValue)
    return dataclasses.replace(value, buffers=tuple(found.items))  # type: ignore[arg-type]


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
        raise _differs(ctx)
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
    shape = item_of(*structure(left).parts, *structure(right).parts)
    if shape is None:
        raise _differs(ctx)
    puts_away_items(ctx, left)
    puts_away_items(ctx, right)
    first, second = grown(ctx, left, shape), grown(ctx, right, shape)
    count = scalars.scalar(ctx, operator.add, (first.count, second.count), "count")
    buffers: list[ir.Operand] = []
    for a, b in zip(first.buffers, second.buffers, strict=True):
        kind = widened(a.type, b.type)
        if kind is None:
            raise _differs(ctx)
        out = _buffer(ctx, kind.dtype, (count, *ctx.shape(a)[1:]))
        buffers.append(out)
        _copy_items(ctx, a, ir.integer(0), first.count, out)
        _copy_items(ctx, b, first.count, second.count, out)
    return Grown(shape, tuple(buffers), count)


def _copy_items(ctx: Context, source: ir.Operand, start: ir.Operand, count: ir.Operand, target: ir.Var) -> None:
    """`target[start : start + count] = source[:count]`."""
    rows = as_lazy(ctx, source)
    with ctx.builder.loop(count, "k", order_free=True) as k:
        place = scalars.scalar(ctx, operator.add, (start, k))
        ctx.builder.nest(
            ctx.shape(target)[1:], lambda index: store(ctx, target, (place, *index), rows.element((k, *index)))
        )


def part_of_list(ctx: Context, value: Grown, span: ir.Span) -> Grown:
    """`value[start:stop:step]`, a list of its own."""
    buffers: list[ir.Operand] = []
    for buffer in value.buffers:
        used = _used(ctx, buffer, value.count)
        rank = len(ctx.shape(used))
        view = ctx.builder.slice(used, (span, *[ir.Span()] * (rank - 1)), "list_view")
        ctx.new_array(view, (ctx.builder.extent(view, 0), *ctx.shape(used)[1:]), ctx.roots_of(used))
        buffers.append(*operands_in(copied(ctx, view, "items")))
    return Grown(value.item, tuple(buffers), ctx.shape(buffers[0])[0])


def repeated(ctx: Context, value: TupleValue, count: ir.Operand) -> Value:
    """`value * count`."""
    if isinstance(count, ir.Const):
        return TupleValue(value.items * int(count.value), value.is_list)
    if not value.is_list or len(value.items) != 1:
        raise ctx.unsupported(
            f"{described(value)}, repeated as often as is known at run time only", "Use np.full or np.tile."
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
    return Grown(one.item, tuple(buffers), times)
