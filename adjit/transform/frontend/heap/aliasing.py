"""Which lists and objects are known by more than one name, of which a list that grows holds copies.

In: what such a list takes as an item, and what is changed. Out: a refusal, where in Python both were the same.

    rows.append(row)     row is put away: the list has a copy of it
    row[0] = 1.0         refused: in Python rows[-1][0] is 1.0 now
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import ItemRef, Ref, View
from adjit.transform.frontend.values.dictionaries import Record, as_list, is_mutable
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import GrowableList, Row, TupleValue
from adjit.transform.frontend.values.ranges import Zip
from adjit.transform.frontend.values.values import Structure, Value, describe


def note_escape(ctx: Context, value: Value) -> None:
    """Takes note that a list that grows takes a value as an item, as a copy: of what has a name, in Python itself."""
    cell = value.cell if is_mutable(value) else None
    if isinstance(cell, ItemRef):
        are_shared(ctx)
    if isinstance(cell, Ref):
        around = ctx.loop.around[len(ctx.heap.created_in.get(cell.key, ())) :]
        if not ctx.heap.changed_in.get(cell.key, set()).isdisjoint(around):
            raise _is_put_away(ctx, describe(value))
        if cell.key in ctx.heap.escaped:
            are_shared(ctx)
        ctx.heap.escaped.add(cell.key)
    if isinstance(value, TupleValue | Record):
        for one in value.items:
            note_escape(ctx, one)


def puts_away_items(ctx: Context, value: Value) -> None:
    """The same, of what is in a list that becomes one that grows."""
    value = as_list(value)
    if isinstance(value, TupleValue):
        for one in value.items:
            note_escape(ctx, one)


def shares_items(ctx: Context, value: Value) -> None:
    """Takes note that another list takes over the items of this one, or some of them twice."""
    if isinstance(value, GrowableList) and has_mutable(value.item):
        are_shared(ctx)


def shared_by(value: GrowableList) -> frozenset[Ref]:
    """The lists with which a list of the items of this one shares them."""
    cell = value.cell.cell if isinstance(value.cell, View) else value.cell
    return value.shares | ({cell} if isinstance(cell, Ref) and has_mutable(value.item) else frozenset())


def changes_of(ctx: Context, value: Value) -> int:
    """How often items were changed that are copies in what a loop runs through."""
    if isinstance(value, Zip):
        return sum(changes_of(ctx, part) for part in value.parts if part is not None)
    return sum(ctx.heap.item_changes.get(cell, 0) for cell in value.shares) if isinstance(value, GrowableList) else 0


@contextlib.contextmanager
def run_through(ctx: Context, value: Value) -> Iterator[None]:
    """Within it a loop over a value is elaborated, which must not change items of which that has copies."""
    before = changes_of(ctx, value)
    yield
    if changes_of(ctx, value) > before:
        raise ctx.not_constant(
            "a loop over a slice or a copy of a list, which changes the items",
            "Loop over the list itself, or over its indices.",
            why="In Python the slice holds the same items; compiled code copies them.",
        )


@contextlib.contextmanager
def in_place(ctx: Context) -> Iterator[None]:
    """Within it, what takes over the items of a list comes into its place."""
    outer, ctx.heap.in_place = ctx.heap.in_place, True
    try:
        yield
    finally:
        ctx.heap.in_place = outer


def are_shared(ctx: Context) -> None:
    if ctx.heap.in_place:
        return
    ctx.heap.items_are_shared = True
    if ctx.assumed.items_change:
        raise shared_items(ctx)


def has_mutable(shape: Structure) -> bool:
    is_one = type(shape) is Row or (is_mutable(shape) and getattr(shape, "of", None) is not np.record)
    return is_one or any(map(has_mutable, shape.members))


def takes_note(ctx: Context, value: Value, cell: Ref) -> None:
    """Refuses the change of what a list that grows has taken as an item: in Python it is the same one."""
    ctx.heap.changed_in.setdefault(cell.key, set()).update(ctx.loop.around)
    if cell.key in ctx.heap.escaped:
        raise _is_put_away(ctx, describe(value))


def _is_put_away(ctx: Context, what: str) -> Exception:
    if not ctx.assumed.items_change:
        return Restart(items_change=True)
    return ctx.not_constant(
        f"{what} that changes after it was appended to a list",
        "Append it when it is complete, append a copy, or change it in the list: `items[-1].append(...)`.",
        why="In Python the list holds the same object; compiled code copies it.",
    )


def shared_items(ctx: Context) -> Exception:
    return ctx.not_constant(
        "changes of lists or objects that are appended more than once",
        "Append copies, or change them before.",
        why="In Python the items are one object; compiled code has one per item.",
    )
