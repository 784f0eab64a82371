"""Lists, dictionaries and sets that are changed while a loop runs through them: which loops have to see that.

In: what a loop runs through, what is changed in it. Out: the loop to be elaborated anew, or a refusal.

    for x in queue:            the items as they are when their turn comes, and as many as there are then
        queue.append(x + 1)
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from adjit.transform import ir
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import Container, ItemRef, Ref, View
from adjit.transform.frontend.values.dictionaries import Record, RuntimeDict
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue
from adjit.transform.frontend.values.ranges import Zip
from adjit.transform.frontend.values.statics import as_stream
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.source.syntax import contains

STORED, RESIZED = "stored", "resized"  # how a list is changed in a loop that runs through it


@dataclasses.dataclass(eq=False)
class Run:
    """A loop around what is elaborated, and what it runs through."""

    loop: object  # the statement; None for what is no statement, or runs through no list
    frame: Frame
    cells: frozenset[Ref | ItemRef]
    through: frozenset[Ref | ItemRef]  # the lists of which that was made, item by item in Python
    is_known: bool  # whether the items are taken as they were where it begins
    leaves: bool = False  # whether it is certainly left after what is elaborated


def cells_of(value: Value) -> frozenset[Ref | ItemRef]:
    """The lists, dictionaries and sets that a loop over a value runs through."""
    match value:
        case Zip(parts=parts):
            return frozenset().union(*(cells_of(part) for part in parts if part is not None))
        case RuntimeDict(kind="iterator"):
            return frozenset()  # which is emptied when the loop begins
        case Container(cell=View(cell=cell)) | Container(cell=Ref() | ItemRef() as cell):
            return frozenset((cell,))
    return frozenset()


def looked_at(value: Value) -> frozenset[Ref | ItemRef]:
    """The lists and iterators that are looked at when an iterator over a value is asked for its items."""
    stream = as_stream(value)
    if isinstance(value, RuntimeDict) and value.kind == "iterator" and isinstance(value.cell, Ref):
        return frozenset((value.cell,))
    return cells_of(value) if stream is None else stream.through


@contextlib.contextmanager
def running(
    frame: Frame, loop: object, value: Value | None, through: frozenset[Ref | ItemRef] = frozenset()
) -> Iterator[None]:
    """Within it, a trip of a loop over a value is elaborated; None: a loop over no list.

    through: the lists that it was made of, for what looks at them when their items are asked for.
    """
    is_known = not isinstance(value, GrowableList)
    cells = frozenset[Any]() if value is None else cells_of(value)
    frame.ctx.loop.runs.append(Run(loop, frame, cells, through - cells, is_known))
    try:
        yield
    finally:
        frame.ctx.loop.runs.pop()


@contextlib.contextmanager
def ended(frame: Frame) -> Iterator[None]:
    """Within it, the innermost loop over a value has come to its end, as its `else` finds it."""
    run = frame.ctx.loop.runs.pop()
    try:
        yield
    finally:
        frame.ctx.loop.runs.append(run)


@contextlib.contextmanager
def leaving(frame: Frame, statements: Sequence[cst.CSTNode]) -> Iterator[None]:
    """Within it these statements are elaborated; loops that are left at their end do not see what they change."""
    left = [run for run in _left_by(frame, statements) if not run.leaves]
    for run in left:
        run.leaves = True
    try:
        yield
    finally:
        for run in left:
            run.leaves = False


def _left_by(frame: Frame, statements: Sequence[cst.CSTNode]) -> Sequence[Run]:
    last = statements[-1] if statements else None
    last = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    if not isinstance(last, cst.Break | cst.Return) or frame.catching:
        return ()
    runs = [run for run in frame.ctx.loop.runs if run.frame is frame]
    if any(contains(statement, cst.Continue) for statement in statements):
        return ()
    return runs if isinstance(last, cst.Return) else runs[-1:]


def is_run_through(ctx: Context, iterator: RuntimeDict) -> bool:
    """Whether a loop around what is elaborated takes the items of this iterator."""
    return any(iterator.cell in run.through for run in ctx.loop.runs)


def sees_change(frame: Frame, value: TupleValue | GrowableList | Record | RuntimeDict, state: Container) -> None:
    """Takes note that a list, a dictionary or a set holds something else now: a loop that runs through it sees that."""
    ctx = frame.ctx
    cell = value.cell
    for run in ctx.loop.runs:
        if cell not in run.cells | run.through or run.leaves:
            continue
        before, after = value.length(), state.length()
        is_resized = before != after
        if not isinstance(value, List) and not (isinstance(before, ir.Const) and isinstance(after, ir.Const)):
            is_resized = False  # known as it runs, as which keys there are: Python raises RuntimeError where it is
        if not is_resized and not run.is_known and cell in run.cells:
            continue
        if is_resized and not isinstance(value, List):
            raise ctx.unsupported(
                f"{describe(value)} that changes its length while a loop runs over it",
                "Loop over a copy, `for key in list(d)`.",
                why="Python raises RuntimeError at the next iteration.",
            )
        if run.loop is None or cell in run.through:
            raise ctx.unsupported(
                f"{describe(value)} that changes while code runs over it",
                "Write it as a loop, or use a copy: `list(xs)`.",
            )
        how = RESIZED if is_resized else STORED
        if ctx.assumed.changing.get(run.loop) not in (how, RESIZED):
            raise Restart(changing={run.loop: how})
