"""What a program does to lists and tuples: items read and set, methods of lists, what collects items.

In: the value of a list or a tuple. Out: an item, or the same list with something else in it.

    out.append(x)        the state of the list, for all who know it
    out[-1], out[1:]     an item; a list of its own
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence

from numba import types

from adjit import errors
from adjit.rules import python
from adjit.rules.registry import class_of
from adjit.runtime.library import check_index
from adjit.transform import ir
from adjit.transform.frontend.heap.aliasing import (
    has_mutable,
    in_place,
    note_escape,
    puts_away_items,
    shared_by,
    shares_items,
)
from adjit.transform.frontend.heap.iterators import opened_stream
from adjit.transform.frontend.heap.lists import (
    appended,
    contents,
    extents_differ,
    fitted,
    grown,
    joined,
    part_of_list,
    store_item,
    takes_row,
    with_width,
)
from adjit.transform.frontend.heap.references import append_to_item, by_reference, changes_rows, item, known_in, mutate
from adjit.transform.frontend.operations.control import either_value, of_option
from adjit.transform.frontend.operations.operators import binary, either, truth
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.arrays import shape_of
from adjit.transform.frontend.values.cells import ItemRef, Ref, View
from adjit.transform.frontend.values.checks import emit_check, require
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record, RuntimeDict, as_table, is_mutable
from adjit.transform.frontend.values.elementwise import copied, materialise
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import (
    GrowableList,
    List,
    TupleValue,
    is_list,
    is_tuple,
    items_or_one,
    list_in,
)
from adjit.transform.frontend.values.numbers import is_array, is_number, ndim
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static, as_stream
from adjit.transform.frontend.values.structures import item_of, joint
from adjit.transform.frontend.values.unions import Union, functions_in
from adjit.transform.frontend.values.values import LEAF, Structure, Value, dereference, describe, leaves_of, structure
from adjit.transform.ir.types import is_integer
from adjit.transform.source.external_reads import is_defined, static_attribute


def item_at(frame: Frame, base: List, entries: Sequence[Value], what: str = "") -> Value:
    """`base[entries]` as the program writes it; `what`: what it is for the user, where that is no list or tuple."""
    if len(entries) == 1 and is_number(entries[0]) and is_integer(entries[0].type):
        _check_place(frame, base, entries[0], what)
    return get_item(frame, base, entries)


def _check_place(frame: Frame, base: List, index: ir.Operand, what: str = "") -> None:
    """Checks that there is an item at an index that the program gives."""
    ctx = frame.ctx
    is_known = isinstance(base, TupleValue) and (isinstance(index, ir.Const) or not base.items)
    if is_known or frame.is_rule or ctx.kernel is not None:
        return
    index = scalars.cast(ctx, index, types.intp) if isinstance(index.type, types.Boolean) else index
    what = what or ("a list" if is_list(base) else "a tuple")
    emit_check(ctx, check_index, index, base.length(), what=what)


def get_item(frame: Frame, base: List, entries: Sequence[Value]) -> Value:
    """`base[entries]`, where that is there."""
    ctx = frame.ctx
    (entry,) = entries if len(entries) == 1 else (None,)
    match base, entry:
        case GrowableList(), SliceValue(span=span):
            return dataclasses.replace(part_of_list(ctx, base, span), shares=shared_by(base))
        case GrowableList(), _:
            if entry is not None and is_number(entry):
                return item(ctx, base, _from_start(frame, base, entry))
            raise ctx.unsupported(f"this subscript of {describe(base)}", "Use an integer or a slice.")
        case TupleValue(items=items), ir.Const(value=place) if is_integer(entry.type):
            if not -len(items) <= place < len(items):
                raise ctx.mismatch(f"{describe(base)} has no item {place}", "Give an index within its length.")
            return items[int(place)]
        case TupleValue(items=items), SliceValue(span=span):
            if (known := entry.known()) is not None:
                return TupleValue(items[known], base.is_list)
            if base.is_list:
                return part_of_list(ctx, grown(ctx, base), span)
        case TupleValue(items=items), ir.Var() if is_integer(entry.type) and items:
            are_kept = ctx.assumed.keeps_chosen and all(is_mutable(o) and isinstance(o.cell, Ref) for o in items)
            if _are_choices(items) or are_kept:
                return _chosen(frame, items, entry)
            if item_of(*(structure(one) for one in items)) is not None and _is_even(ctx, base):
                whole = _as_grown(frame, base)
                return item(ctx, whole, _from_start(frame, whole, entry))
            if not ctx.wants_known and _may_be_any(items):
                return _chosen(frame, items, entry)
    raise ctx.not_constant(
        "an index of a tuple that is only known at run time", "Use an array or a list, or a constant index."
    )


def _as_grown(frame: Frame, base: TupleValue) -> GrowableList:
    """A list of known items as one that grows, as an item is asked for by a place that is known at run time."""
    ctx, cell = frame.ctx, base.cell
    whole = grown(ctx, base)
    is_changed = has_mutable(whole.item) or any(ndim(buffer) > 1 for buffer in whole.buffers)
    if ctx.assumed.items_change and is_changed and isinstance(cell, Ref | View):
        # items are changed where they are: from now on the list is kept so
        place = cell.cell if isinstance(cell, View) else cell
        state = dereference(frame.env, place)
        state = as_table(state) if isinstance(state, KnownDict) else state
        assert isinstance(state, TupleValue | RuntimeDict)
        pairs = state.items if isinstance(state, RuntimeDict) else state
        puts_away_items(ctx, pairs)
        made = grown(ctx, pairs)
        becomes = dataclasses.replace(state, items=made) if isinstance(state, RuntimeDict) else made
        mutate(frame, state.known_by(place), becomes, "a subscript", keeps_places=True)
        found = dereference(frame.env, cell)
        assert isinstance(found, GrowableList)
        return found
    return dataclasses.replace(whole, cell=cell)


def _is_even(ctx: Context, base: TupleValue) -> bool:
    """Whether the items can be rows of arrays: the arrays in them are known to be of one shape."""
    rows = [leaves_of(one) for one in base.items]
    return len(set(map(len, rows))) == 1 and all(
        len({shape_of(ctx, leaf) for leaf in column}) == 1 and len({is_array(leaf) for leaf in column}) == 1
        for column in zip(*rows, strict=True)
    )


def _from_start(frame: Frame, base: GrowableList, entry: Value) -> ir.Operand:
    """An index as it is counted from the start."""
    ctx = frame.ctx
    index = as_index(ctx, entry, "the index of a list")
    if isinstance(index, ir.Const):
        return index if index.value >= 0 else scalars.scalar(ctx, operator.add, (base.count, index), "place")
    from_end = functools.partial(scalars.scalar, ctx, operator.add, (base.count, index), "place")
    is_from_end = scalars.scalar(ctx, operator.lt, (index, ir.integer(0)))
    return complexes.branch(ctx, is_from_end, from_end, scalars.ready(index), "place")


def _is_at(frame: Frame, index: ir.Operand, place: int, count: int) -> ir.Operand:
    """Whether an index, which may be counted from the end, is that of a place."""
    is_from_end = functools.partial(scalars.scalar, frame.ctx, operator.eq, (index, ir.integer(place - count)))
    return either(frame, scalars.scalar(frame.ctx, operator.eq, (index, ir.integer(place))), is_from_end)


def _are_choices(values: Sequence[Value]) -> bool:
    """Whether they are numbers, or functions and texts, or tuples of as many of these, not of numbers alone."""
    if all(map(is_number, values)) or all(map(functions_in, values)):
        return True
    columns = _columns(values)
    has_others = any(not all(map(is_number, column)) for column in columns)
    return has_others and all(map(_are_choices, columns))


def _may_be_any(values: Sequence[Value]) -> bool:
    """Whether a value can be any of these: arrays of one rank, objects, tuples and the like."""
    shape: Structure | None = structure(by_reference(values[0]))
    for one in values[1:]:
        shape = None if shape is None else joint(shape, structure(by_reference(one)), chooses=True)
    alike: dict[Structure, list[Value]] = {}
    for one in values:
        alike.setdefault(structure(one), []).append(one)
    columns = (column for group in alike.values() for column in zip(*map(leaves_of, group), strict=True))
    return shape is not None and all(len({ndim(leaf) for leaf in column}) == 1 for column in columns)


def _columns(values: Sequence[Value]) -> list[tuple[Value, ...]]:
    """The items of tuples of one length, place by place; none of anything else."""
    tuples = [one.items for one in values if is_tuple(one)]
    return list(zip(*tuples, strict=True)) if len(tuples) == len(values) and len(set(map(len, tuples))) == 1 else []


def _chosen(frame: Frame, values: Sequence[Value], index: ir.Var) -> Value:
    """One of some values at an index known at run time only."""
    ctx = frame.ctx
    if columns := _columns(values):
        return TupleValue(tuple(_chosen(frame, column, index) for column in columns))
    choose: Callable[..., Value] = functools.partial(either_value, frame)
    if all(map(is_number, values)):
        choose = functools.partial(complexes.branch, ctx, name="item")
    result = values[-1]
    for k in range(len(values) - 2, -1, -1):
        one, rest = (scalars.ready(value) for value in (values[k], result))
        result = choose(_is_at(frame, index, k, len(values)), one, rest)
    return result


def set_item(frame: Frame, base: List, entries: Sequence[Value], value: Value) -> None:
    """`base[entries] = value` of a list."""
    ctx = frame.ctx
    (entry,) = entries if len(entries) == 1 else (None,)
    if isinstance(entry, SliceValue):
        shares_items(ctx, value)
        mutate(frame, base, part_replaced(frame, base, entry.span, to_list(frame, value)), "a store into a part of it")
        return
    if entry is None or not is_number(entry):
        raise ctx.unsupported("this subscript of a list", "Store into an item, or into a slice.")
    value = materialise(ctx, value)
    index = as_index(ctx, entry, "the index of a list")
    if isinstance(base, TupleValue) and isinstance(index, ir.Const):
        if not -len(base.items) <= index.value < len(base.items):
            raise ctx.mismatch(f"{describe(base)} has no item {index.value}", "Give an index within its length.")
        items = list(base.items)
        items[int(index.value)] = value
        mutate(frame, base, TupleValue(tuple(items), is_list=True), "a store into an item")
        return
    is_of_numbers = isinstance(base, TupleValue) and all(map(is_number, base.items))
    if isinstance(base, TupleValue) and is_of_numbers and is_number(value) and isinstance(base.cell, ItemRef):
        # it stays of so many numbers, as the other items of its list are
        mutate(frame, base, _with_one(frame, base, index, value), "a store into an item")
        return
    _check_place(frame, base, index)
    # the numbers of a list that grows are stored in place: nobody else has that memory
    puts_away_items(ctx, base)
    note_escape(ctx, value)
    extents_differ(ctx, base, value)
    whole = with_width(ctx, fitted(ctx, base, value), value, functools.partial(either_value, frame))
    changes_rows(ctx, whole)
    mutate(frame, base, whole, "a store into an item")
    store_item(ctx, whole, _from_start(frame, whole, index), value)


def part_replaced(frame: Frame, owner: List, span: ir.Span, new: List) -> List:
    """A list with other items in the place of `owner[span]`, as many as there are."""
    ctx = frame.ctx
    known = SliceValue(span).known()
    if span.step not in (None, ir.integer(1)):
        raise ctx.unsupported(
            "an assignment to a slice of a list with a step", "Assign item by item, or create a new list."
        )
    if isinstance(owner, TupleValue) and isinstance(new, TupleValue) and known is not None:
        items = list(owner.items)
        items[known] = new.items
        return TupleValue(tuple(items), is_list=True)
    count = owner.length()
    first = ir.integer(0) if span.start is None else span.start
    last = count if span.stop is None else span.stop
    found = ctx.inline(python.lists.ends_of_part, [count, first, last], {}, True, False)
    start, stop = (as_index(ctx, end, "an end of the part") for end in items_or_one(found))
    whole = grown(ctx, owner)
    before, after = (part_of_list(ctx, whole, each) for each in (ir.Span(stop=start), ir.Span(start=stop)))
    return joined(ctx, joined(ctx, before, new), after)


def _with_one(frame: Frame, base: TupleValue, index: ir.Operand, given: ir.Operand) -> TupleValue:
    """A list of numbers with another one at an index known at run time only. IndexError, as Python has it."""
    ctx = frame.ctx
    numbers = [one for one in base.items if is_number(one)]
    held: list[Value] = []
    found: ir.Operand = ir.boolean(False)
    for k, one in enumerate(numbers):
        is_here = _is_at(frame, index, k, len(numbers))
        found = either(frame, found, scalars.ready(is_here))
        held.append(complexes.branch(ctx, is_here, scalars.ready(given), scalars.ready(one), "item"))
    require(ctx, found, IndexError, "list assignment index out of range")
    return TupleValue(tuple(held), is_list=True)


# -------------------------------------------------------------------------------------------------------------- methods


def list_method(frame: Frame, owner: List, name: str, args: Sequence[Value], named: dict[str, Value]) -> Value:
    """`owner.name(*args)`."""
    if name == "sort" and is_list(owner):
        return _sort(frame, owner, args, named)
    is_asked = is_list(owner) or name in ("index", "count")
    handler = _METHODS.get(name) if is_asked else None
    if handler is None:
        raise frame.ctx.unsupported(f"the method `{name}` of {describe(owner)}", "Write its operations out.")
    most, method = handler
    if named or len(args) > most:
        raise frame.ctx.fail(errors.WrongCall, f"`{name}` of a list with these arguments", instead="See Python's list.")
    return method(frame, owner, *(materialise(frame.ctx, a) for a in args))


def append(frame: Frame, owner: List, given: Value) -> Value:
    assumed = frame.ctx.assumed
    is_stored = assumed.items_change and assumed.own_extents
    if is_stored and isinstance(owner, GrowableList) and isinstance(owner.cell, ItemRef):
        append_to_item(frame, owner, owner.cell, given)
        return Static(None)
    mutate(frame, owner, longer(frame, owner, given), "`append`", keeps_places=True)
    if isinstance(owner, GrowableList) and isinstance(owner.cell, Ref):
        known_in(frame, given, ItemRef(owner.cell, owner.count))
    return Static(None)


def longer(frame: Frame, owner: List, given: Value) -> List:
    """A list with an item more."""
    ctx = frame.ctx
    if isinstance(owner, TupleValue):
        return TupleValue((*owner.items, given), is_list=True)
    note_escape(ctx, given)
    extents_differ(ctx, owner, given)
    whole, choose = fitted(ctx, owner, given), functools.partial(either_value, frame)
    return appended(ctx, whole, given, choose, ctx.loop.trips or ir.integer(4))


def extended(frame: Frame, owner: List, given: Value, what: str = "`extend`") -> Value:
    """`owner += given`."""
    shares_items(frame.ctx, given)
    mutate(frame, owner, joined(frame.ctx, owner, to_list(frame, given)), what, keeps_places=True)
    return Static(None)


def _insert(frame: Frame, owner: List, place: Value, given: Value) -> Value:
    index = as_index(frame.ctx, place, "the place")
    new = TupleValue((given,), is_list=True)
    if isinstance(owner, TupleValue) and isinstance(index, ir.Const):
        items = list(owner.items)
        items.insert(int(index.value), given)
        mutate(frame, owner, TupleValue(tuple(items), is_list=True), "`insert`")
        return Static(None)
    extents_differ(frame.ctx, owner, given)
    whole = fitted(frame.ctx, owner, given)
    parts = (ir.Span(stop=index), ir.Span(start=index))
    before, after = (part_of_list(frame.ctx, whole, span) for span in parts)
    mutate(frame, owner, joined(frame.ctx, joined(frame.ctx, before, new), after), "`insert`")
    return Static(None)


def _pop(frame: Frame, owner: List, place: Value | None = None) -> Value:
    index = LAST if place is None else as_index(frame.ctx, place, "the place")
    _check_place(frame, owner, index)
    return popped(frame, owner, index)


LAST = ir.integer(-1)


def popped(frame: Frame, owner: List, index: ir.Operand = LAST) -> Value:
    """An item that is there, which leaves its list."""
    ctx = frame.ctx
    found = get_item(frame, owner, [index])
    if isinstance(owner, TupleValue) and isinstance(index, ir.Const):
        items = list(owner.items)
        items.pop(int(index.value))
        mutate(frame, owner, TupleValue(tuple(items), is_list=True), "`pop`")
        return found
    whole = grown(ctx, owner)
    if index == LAST:
        changes_rows(ctx, whole)
        count = scalars.scalar(ctx, operator.sub, (whole.count, ir.integer(1)), "count")
        found = copied_item(frame, found)
        mutate(frame, owner, GrowableList(whole.item, whole.buffers, count), "`pop`")
        return found
    at = _from_start(frame, whole, index)
    found = copied_item(frame, found)
    mutate(frame, owner, without(frame, whole, at), "`pop`")
    return found


def without(frame: Frame, whole: GrowableList, place: ir.Operand) -> List:
    """A list without the item at a place."""
    ctx = frame.ctx
    after = scalars.scalar(ctx, operator.add, (place, ir.integer(1)))
    return joined(ctx, *(part_of_list(ctx, whole, span) for span in (ir.Span(stop=place), ir.Span(start=after))))


def copied_item(frame: Frame, value: Value) -> Value:
    """An item that leaves a list, or its place in it: memory of its own."""
    if isinstance(value, TupleValue | Record):
        return value.mapped(functools.partial(copied_item, frame)).known_by(None)
    if isinstance(value, GrowableList):
        return part_of_list(frame.ctx, value, ir.Span())
    return copied(frame.ctx, value) if is_array(value) else value


def _clear(frame: Frame, owner: List) -> Value:
    mutate(frame, owner, TupleValue((), is_list=True), "`clear`")
    return Static(None)


def _reverse(frame: Frame, owner: List) -> Value:
    backwards = SliceValue(ir.Span(step=ir.integer(-1)))
    mutate(frame, owner, list_in(get_item(frame, owner, [backwards])), "`reverse`")
    return Static(None)


def _sort(frame: Frame, owner: List, args: Sequence[Value], named: dict[str, Value]) -> Value:
    if args:
        raise frame.ctx.fail(errors.WrongCall, "`sort` of a list with arguments by position", instead="Name them.")
    with in_place(frame.ctx):
        made = frame.ctx.call(frame, Static(sorted), [owner], named)
    mutate(frame, owner, list_in(made), "`sort`")
    return Static(None)


def _is_item(frame: Frame, owner: List, wanted: Value, place: int) -> ir.Operand:
    assert isinstance(owner, TupleValue)
    return truth(frame, binary(frame, operator.eq, owner.items[place], wanted))


def _index(frame: Frame, owner: List, wanted: Value) -> ir.Operand:
    """The place of the first item that equals the wanted one. ValueError where there is none, as in Python."""
    ctx = frame.ctx
    if isinstance(owner, TupleValue):
        place: ir.Operand = ir.integer(-1)
        for k in reversed(range(len(owner.items))):
            here, other = scalars.ready(ir.integer(k)), scalars.ready(place)
            place = complexes.branch(ctx, _is_item(frame, owner, wanted, k), here, other, "place")
    else:
        place = as_index(ctx, ctx.inline(python.lists.place_of, [owner, wanted], {}, True, False), "the place")
    is_there = scalars.scalar(ctx, operator.ge, (place, ir.integer(0)))
    if is_there == ir.boolean(False):
        raise ctx.mismatch(f"an item that {describe(owner)} does not have", "Test with `in` first.")
    require(ctx, is_there, ValueError, "the item is not in list")
    return place


def _remove(frame: Frame, owner: List, wanted: Value) -> Value:
    _pop(frame, owner, _index(frame, owner, wanted))
    return Static(None)


def _count(frame: Frame, owner: List, wanted: Value) -> Value:
    ctx = frame.ctx
    if not isinstance(owner, TupleValue):
        return ctx.inline(python.lists.count_of, [owner, wanted], {}, True, False)
    found: ir.Operand = ir.integer(0)
    for k in range(len(owner.items)):
        found = scalars.scalar(ctx, operator.add, (found, _is_item(frame, owner, wanted, k)), "count")
    return found


_METHODS: dict[str, tuple[int, Callable[..., Value]]] = {
    "append": (1, append),
    "extend": (1, extended),
    "insert": (2, _insert),
    "pop": (1, _pop),
    "clear": (0, _clear),
    "copy": (0, lambda frame, owner: to_list(frame, owner)),
    "reverse": (0, _reverse),
    "index": (1, _index),
    "remove": (1, _remove),
    "count": (1, _count),
}


# ---------------------------------------------------------------------------------------------------------- collections


def exhaust(frame: Frame, value: Value) -> Value:
    """What an iterator has left, after which it has nothing, or what an object iterates over; else the value."""
    if isinstance(value, Instance):
        method = static_attribute(class_of(value.of), "__iter__", None)
        if is_defined(value.of, "__next__"):
            what, instead = f"a loop over {describe(value)}, which has `__next__`", "Write `__iter__` with `yield`."
            raise frame.ctx.unsupported(what, instead)
        return exhaust(frame, frame.ctx.call(frame, Static(method), [value], {})) if method is not None else value
    if not isinstance(value, RuntimeDict) or value.kind != "iterator":
        return value
    rest = get_item(frame, value.items.known_by(None), [SliceValue(ir.Span(value.limit, None))])
    end = value.items.length()
    if value.cell is not None:
        mutate(frame, value, dataclasses.replace(value, limit=end), "a loop")
    return rest


def to_list(frame: Frame, value: Value) -> List:
    """`list(value)`: a list of its own."""
    ctx = frame.ctx
    value = opened_stream(frame, exhaust(frame, value))
    if isinstance(value, Union):
        return of_option(frame, value, functools.partial(to_list, frame))
    if as_stream(value) is not None:
        return ctx.collected(frame, value, None)
    value = materialise(ctx, contents(ctx, value))
    if isinstance(value, GrowableList):
        return dataclasses.replace(part_of_list(ctx, value, ir.Span()), shares=shared_by(value))
    if isinstance(value, TupleValue):
        return TupleValue(value.items, is_list=True)
    if is_array(value) and ndim(value) > 0 and not ctx.knows_extents:
        rows = copied(ctx, value, "items", keeps_order=False)
        if isinstance(rows, ir.Var):
            if isinstance(value, ir.Var) and ndim(value) > 1:
                takes_row(ctx, rows, value)
            return GrowableList(LEAF, (rows,), shape_of(ctx, rows)[0])
    return ctx.collected(frame, value, None)
