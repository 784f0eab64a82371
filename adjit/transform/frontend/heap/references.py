"""How variables name lists, dictionaries and objects, so that all names of one see what becomes of it.

In: a value, what is in it from now on. Out: what a variable holds, what it stands for now.

    a = b = []        both hold one `Ref`; what is in it stands in the environment, by its key
    p = bodies[i]     the item of a list that grows, where such items are changed: its place, `ItemRef`
    p.speed += 1.0    a store into the memory of the list
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from adjit.transform import ir
from adjit.transform.frontend.heap.aliasing import are_shared, note_escape, shared_items, takes_note
from adjit.transform.frontend.heap.lists import (
    as_wide,
    as_wide_as,
    differ,
    fitted,
    grown,
    read_item,
    store_item,
    with_width,
)
from adjit.transform.frontend.heap.mutation_during_iteration import sees_change
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import COPIED, MADE_BEFORE, Container, Copied, ItemRef, Poison, Ref, View
from adjit.transform.frontend.values.dictionaries import Instance, Record, RuntimeDict, as_list, is_mutable
from adjit.transform.frontend.values.elementwise import copied, materialise
from adjit.transform.frontend.values.frame import ITEM, ITEMS, KEPT, Context, Frame, Held
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, is_list, is_tuple, list_in
from adjit.transform.frontend.values.numbers import dtype, is_array, is_number, operands_in
from adjit.transform.frontend.values.statics import Static, Stream
from adjit.transform.frontend.values.structures import with_own_extents
from adjit.transform.frontend.values.unions import Union
from adjit.transform.frontend.values.values import Structure, Value, dereference, describe
from adjit.transform.ir.types import array_type


def item(ctx: Context, value: GrowableList, index: ir.Operand) -> Value:
    """The item at an index from 0 on; lists and objects in it know where they are."""
    cell = value.cell
    path: tuple[int, ...] = ()
    if isinstance(cell, View):
        path = _PATHS[cell.part]
        cell = cell.cell
    found = read_item(ctx, value, index)
    if isinstance(found, ir.Var):
        ctx.numbers.whose[found] = None
    # what is within an item is not known by an item of its own
    return _placed(found, cell if isinstance(cell, Ref) else None, index, path)


_PATHS: Mapping[str, tuple[int, ...]] = {"keys": (0,), "values": (1,), "items": ()}


def _placed(value: Value, cell: Ref | None, index: ir.Operand, path: tuple[int, ...]) -> Value:
    if isinstance(value, TupleValue | Record):
        items = tuple(_placed(one, cell, index, (*path, k)) for k, one in enumerate(value.items))
        is_one = is_mutable(value) and not (isinstance(value, Instance) and value.of is np.record)
        return dataclasses.replace(value, items=items, cell=ItemRef(cell, index, path) if is_one else None)
    return value.known_by(ItemRef(cell, index, path)) if isinstance(value, GrowableList) else value


def _is_open(value: Value) -> TypeGuard[TupleValue | Union]:
    """Whether it is a tuple or one of several values, which variables hold as they are."""
    return isinstance(value, Union) or is_tuple(value)


def read_items(frame: Frame, value: Value) -> Value:
    """A variable's value with the items of lists that grow as they are now."""
    if isinstance(value, ItemRef):
        return item_now(frame, value)
    if isinstance(value, View) and isinstance(value.cell, ItemRef):
        return value.of(item_now(frame, value.cell))
    return value.mapped(functools.partial(read_items, frame)) if _is_open(value) else value


def item_now(frame: Frame, place: ItemRef) -> Value:
    """What is at a place in a list."""
    whole = _items_at(frame, place)
    if isinstance(whole, Poison):
        return whole
    found: Value = _placed(read_item(frame.ctx, whole, place.index), place.cell, place.index, ())
    for k in place.path:
        assert isinstance(found, TupleValue | Record)
        found = found.items[k]
    return found


def state_of(frame: Frame, cell: Ref | ItemRef) -> Value:
    """What is in a list, a dictionary or an object now."""
    return item_now(frame, cell) if isinstance(cell, ItemRef) else dereference(frame.env, cell)


def latest(frame: Frame, value: Held) -> Held:
    """A list, a dictionary or an object that was evaluated before something else was, as it is now."""
    match value:
        case Union():
            return value.mapped(functools.partial(latest, frame))
        case Record(cell=View() as view):
            return view.of(latest(frame, state_of(frame, view.cell)))  # type: ignore[return-value]
    cell = value.cell if is_mutable(value) else None
    if isinstance(cell, Ref) or (
        isinstance(cell, ItemRef) and frame.ctx.assumed.items_change and cell.cell is not None
    ):
        return state_of(frame, cell)  # type: ignore[return-value]
    return value


def current_view(frame: Frame, value: Value) -> Value:
    """The same, and of a view of a dictionary what that shows now."""
    cell = value.cell if isinstance(value, List) else None
    return cell.of(state_of(frame, cell.cell)) if isinstance(cell, View) else latest(frame, value)


def _items_at(frame: Frame, place: ItemRef) -> GrowableList | Poison:
    """The list around an item."""
    assert place.cell is not None
    state = dereference(frame.env, place.cell)
    state = as_list(state)
    return state if isinstance(state, GrowableList) else MADE_BEFORE


def current(frame: Frame, value: GrowableList) -> GrowableList:
    """A list that grows, as it is now, which a loop runs through."""
    if not frame.ctx.assumed.items_change or not isinstance(value.cell, Ref | View):
        return value
    now = dereference(frame.env, value.cell)
    return now if isinstance(now, GrowableList) and now.item == value.item else value


def _store_parts(ctx: Context, value: GrowableList, index: ir.Operand, old: Any, new: Value) -> None:
    """An item becomes `new`, which was `old`: what is the same in both is left alone."""
    if old == new:
        return
    if type(old) is type(value.item) and isinstance(new, TupleValue | Record):
        for column, was, given in zip(value.columns(), old.items, new.items, strict=True):
            _store_parts(ctx, column, index, was, given)
        return
    note_escape(ctx, new)
    changes_rows(ctx, value)
    store_item(ctx, value, index, new)


State = TupleValue | GrowableList | Record | RuntimeDict


def mutate(frame: Frame, value: State, state: State, what: str, keeps_places: bool = False) -> None:
    """A list, dictionary or object holds something else now, for all who know it; `what` changes it.

    keeps_places: the items that it had are where they were.
    """
    cell = value.cell
    match cell:
        case ItemRef():
            sees_change(frame, value, state)
            _change_item(frame, value, cell, state, what)
            return
        case View():
            owner = state_of(frame, cell.cell)
            if not isinstance(state, Record) or not isinstance(owner, Record):
                raise frame.ctx.mismatch(f"{what} of a view of a dictionary", "Make a list of it: `list(...)`.")
            mutate(frame, owner, dataclasses.replace(owner, keys=state.keys, items=state.items), what)
            return
        case Copied() if not frame.ctx.assumed.keeps_chosen:
            raise Restart(keeps_chosen=True)
    if not isinstance(cell, Ref):
        raise frame.ctx.unsupported(
            f"{what} of {describe(value)} without a name",
            "Create a new one: `new = [*old, x]`, `new = {**old, 'key': x}`.",
            why="It was chosen by a condition, or created in an earlier iteration.",
        )
    if cell in frame.ctx.arguments.same:
        raise frame.ctx.unsupported(
            f"{what} of {describe(value)} that occurs more than once in the arguments",
            "Pass copies, with copy.copy(...).",
            why="In Python all places see the change; compiled code has one object per place.",
        )
    if cell in frame.ctx.arguments.defaults:
        name = frame.ctx.arguments.defaults[cell]
        raise frame.ctx.unsupported(
            f"a change of `{name}`, whose default is {describe(value)}",
            f"Write `{name}=None`, and `if {name} is None: {name} = []` in the function.",
            why="In Python all calls share the default, so each call sees the changes of the last one.",
        )
    if cell.key in frame.ctx.heap.copied_cells and not frame.ctx.assumed.keeps_chosen:
        raise Restart(keeps_chosen=True)
    takes_note(frame.ctx, value, cell)
    sees_change(frame, value, state)
    if not keeps_places and frame.ctx.assumed.items_change:
        for other in frame.ctx.frames:
            other.env = {name: _without_places(known, cell) for name, known in other.env.items()}
    frame.env[cell.key] = dereference_all(frame, state)


def dereference_all(frame: Frame, state: State) -> State:
    """What is in a list and the like, with the lists in it by their cells."""
    match state:
        case GrowableList():
            return dataclasses.replace(state, cell=None, shares=frozenset())
        case RuntimeDict(kind="iterator", items=items):
            # it goes through the list itself, whatever becomes of that
            return dataclasses.replace(state, items=as_reference(frame, items), cell=None)  # type: ignore[arg-type]
        case RuntimeDict(items=items):
            return dataclasses.replace(state, items=list_in(dereference_all(frame, items)), cell=None)
    return dataclasses.replace(state, items=tuple(_held_item(frame, one) for one in state.items), cell=None)


def _held_item(frame: Frame, value: Value) -> Value:
    if is_mutable(value) and isinstance(value.cell, ItemRef):
        are_shared(frame.ctx)
        value = unnamed(value) if frame.ctx.assumed.items_change else value
    return as_reference(frame, value)


FRESH, EMPTY, LEFT = (Static(state) for state in ("fresh", "empty", "left"))  # what a cell says of a stream


def as_reference(frame: Frame, value: Value) -> Value:
    """A value as a variable holds it: lists by their cells, new ones for lists that have none."""
    match value:
        case ir.Var() if is_array(value) and KEPT in frame.ctx.roots_of(value):
            return _kept_row(frame.ctx, value)
        case Container(cell=View() as view):
            return view
        case Static(value=Stream(spent=None, at=at) as stream):
            spent = new_cell(frame)
            frame.env[spent.key] = FRESH if at is None else ir.integer(0)
            return Static(dataclasses.replace(stream, spent=spent))
    if _is_open(value):
        return value.mapped(functools.partial(as_reference, frame))
    if not is_mutable(value):
        return value
    if isinstance(value, GrowableList) and value.shares:
        are_shared(frame.ctx)
    match value.cell:
        case None:
            return held_by(frame, new_cell(frame), value)
        case Ref() as cell:
            return cell
        case ItemRef(cell=owner) as place if frame.ctx.assumed.items_change and owner is not None:
            return place
    # a copy, or an item as it is now, where nobody changes it
    return value


def as_copy(value: Value) -> Value:
    """A value whose lists and objects are copies, and so are not what they are in Python."""
    if isinstance(value, TupleValue | Record | Union):
        value = value.mapped(as_copy)
    return value.known_by(COPIED if is_mutable(value) else None) if isinstance(value, Container) else value


def by_reference(value: Value) -> Value:
    """A value as one holds it that gives no names: what has one, by its cell."""
    if is_mutable(value) and isinstance(value.cell, Ref):
        return value.cell
    return value.mapped(by_reference) if _is_open(value) else value


def in_new_reference(frame: Frame, value: Value) -> Value:
    """A value that knows its cell, a new one if it is a list, a dictionary or an object that has none."""
    return dereference(frame.env, as_reference(frame, value))


def new_cell(frame: Frame) -> Ref:
    frame.ctx.heap.count += 1
    return Ref(frame.ctx.heap.count)


def held_by(frame: Frame, cell: Ref, value: State) -> Ref:
    """The cell, from now on that of this list or object."""
    state = dereference_all(frame, value)
    frame.ctx.heap.escaped.discard(cell.key)
    frame.ctx.heap.copied_cells.discard(cell.key)
    frame.ctx.heap.changed_in.pop(cell.key, None)
    frame.ctx.heap.created_in[cell.key] = tuple(frame.ctx.loop.around)
    if cell.key in frame.env:
        # one that the trip before made: who still names it has that one
        for other in frame.ctx.frames:
            other.env = {name: _without(known, cell) for name, known in other.env.items()}
    frame.env[cell.key] = state
    return cell


def _kept_row(ctx: Context, row: ir.Var) -> ir.Operand:
    """An array that is an item of a list, which stays what it is when the list takes another one in its place."""
    ctx.heap.has_taken_rows = True
    if not ctx.assumed.owns_rows or row in ctx.heap.own_rows:
        if ctx.heap.has_changed_rows and not ctx.assumed.owns_rows:
            raise Restart(owns_rows=True)
        return row
    (own,) = operands_in(copied(ctx, row, row.name))
    assert isinstance(own, ir.Var)
    ctx.arrays.roots[own] |= {KEPT}
    ctx.heap.own_rows.add(own)
    ctx.heap.copied_rows.add(own)
    ctx.detached(own, row, ITEMS, always=True, is_kept=True, by=ITEM)
    return own


def changes_rows(ctx: Context, value: GrowableList) -> None:
    """Takes note that an item of a list is replaced, or taken out."""
    if any(len(ctx.shape(buffer)) > 1 for buffer in value.buffers):
        ctx.heap.has_changed_rows = True
        if ctx.heap.has_taken_rows and not ctx.assumed.owns_rows:
            raise Restart(owns_rows=True)


def known_in(frame: Frame, value: Value, place: ItemRef) -> None:
    """Whoever names a list or an object by a variable names the item that it has become."""
    cell = value.cell if is_mutable(value) else None
    if frame.ctx.assumed.items_change and isinstance(cell, Ref):
        for other in frame.ctx.frames:
            other.env = {name: place if known == cell else known for name, known in other.env.items()}


def _change_item(frame: Frame, value: State, place: ItemRef, state: State, what: str) -> None:
    """A list or an object that is an item of a list holds something else now."""
    ctx = frame.ctx
    if place.cell is None:
        raise ctx.unsupported(
            f"{what} of {describe(value)} in a list without a name",
            "Give the list a name, and use the name to change its items.",
        )
    if not ctx.assumed.items_change:
        raise Restart(items_change=True)
    if ctx.heap.items_are_shared:
        raise shared_items(ctx)
    whole, state = _items_at(frame, place), state.known_by(None)
    assert isinstance(whole, GrowableList)
    if _other_length(value, state):
        if not ctx.assumed.own_extents:
            raise Restart(own_extents=True)
        whole = grown(ctx, whole, _with_rows(whole.item, place.path))
    part = _part_of(whole, place.path)
    wide = with_width(ctx, fitted(ctx, part, state), state, functools.partial(ctx.either_value, frame))
    _takes_part(frame, value, place, whole, wide)
    _store_parts(ctx, wide, place.index, value, state)


def append_to_item(frame: Frame, owner: GrowableList, place: ItemRef, given: Value) -> None:
    """`rows[k].append(x)`, into the memory that a list of rows has for it."""
    ctx = frame.ctx
    whole, number = _items_at(frame, place), materialise(ctx, given)
    assert isinstance(whole, GrowableList)
    if not is_number(number):
        raise differ(ctx)
    part = _part_of(whole, place.path)
    count = scalars.scalar(ctx, operator.add, (owner.count, ir.integer(1)), "count")
    rows, counts = part.buffers
    rows = as_wide(ctx, rows, array_type(scalars.wider(dtype(rows), dtype(number)), 2))
    rows = as_wide_as(ctx, rows, whole.count, (count,), functools.partial(ctx.either_value, frame))
    _takes_part(frame, owner, place, whole, dataclasses.replace(part, buffers=(rows, counts)))
    ctx.builder.store(rows, (place.index, owner.count), scalars.cast(ctx, number, dtype(rows)))
    ctx.builder.store(counts, (place.index,), count)


def _other_length(old: Value, new: Value) -> bool:
    """Whether a list, or one in an item, has got longer or shorter."""
    if isinstance(old, TupleValue | Record) and isinstance(new, TupleValue | Record):
        return len(old.items) != len(new.items) or any(map(_other_length, old.items, new.items))
    if isinstance(old, GrowableList) and isinstance(new, GrowableList):
        return old.count != new.count
    return is_list(old) and is_list(new)


def _with_rows(shape: Structure, path: Sequence[int]) -> Structure:
    """How items are put together of which the list at that place may have any length."""
    if not path:
        return with_own_extents(shape)
    k = path[0]
    return shape.with_members(*shape.items[:k], _with_rows(shape.items[k], path[1:]), *shape.items[k + 1 :])


def _part_of(whole: GrowableList, path: Sequence[int]) -> GrowableList:
    """The list of one part of all items."""
    return functools.reduce(lambda part, k: part.columns()[k], path, whole)


def _with_column(whole: GrowableList, path: Sequence[int], buffers: tuple[ir.Operand, ...]) -> GrowableList:
    """A list with other memory for one part of all items."""
    columns = [column.buffers for column in whole.columns()] if path else [buffers]
    if path:
        columns[path[0]] = _with_column(whole.columns()[path[0]], path[1:], buffers).buffers
    return dataclasses.replace(whole, buffers=tuple(itertools.chain(*columns)))


def _takes_part(frame: Frame, value: State, place: ItemRef, whole: GrowableList, part: GrowableList) -> None:
    """The list around an item has other memory for this part of all items."""
    ctx = frame.ctx
    assert place.cell is not None
    items = _with_column(whole, place.path, part.buffers)
    ctx.heap.item_changes[place.cell] = ctx.heap.item_changes.get(place.cell, 0) + 1
    for key in ctx.heap.escaped & frame.env.keys():
        frame.env[key] = Poison("It is an item of a list, and items of that list were changed.")
    takes_note(ctx, value, place.cell)
    known = frame.env[place.cell.key]
    around = dataclasses.replace(known, items=items) if isinstance(known, RuntimeDict) else items
    frame.env[place.cell.key] = dereference_all(frame, around)


_MOVED = Poison("It is an item of a list whose items have moved since.")


def _without_places(value: Value, cell: Ref) -> Value:
    """A variable's value, unless it is at a place in this list, which something else is at now."""
    if isinstance(value, ItemRef):
        return _MOVED if value.cell == cell else value
    members = value.members if isinstance(value, TupleValue | Union) else ()
    return _MOVED if any(_without_places(one, cell) is _MOVED for one in members) else value


def _without(value: Value, cell: Ref) -> Value:
    place = value.cell if isinstance(value, View) else value
    if place == cell or (isinstance(place, ItemRef) and place.cell == cell):
        return MADE_BEFORE
    if isinstance(value, Container | Union):
        changed = value.mapped(lambda part: _without(part, cell))
        is_whole = isinstance(value, TupleValue | Record)
        return changed if is_whole else next((p for p in changed.members if isinstance(p, Poison)), changed)
    return value


def mentions(value: Value, cell: Ref) -> bool:
    """Whether a variable's value is that list or object, or has it, or is in it."""
    return _without(value, cell) != value


def unnamed(value: Value) -> Value:
    """What is in a value, without the cells of its lists."""
    if isinstance(value, Container | Union):
        value = value.mapped(unnamed)
    return value.known_by(None) if isinstance(value, Container) else value
