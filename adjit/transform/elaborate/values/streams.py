"""What gives its items one after the other, as somebody runs through it: what a call of a generator makes.

In: how it is run through. Out: a value, and others that run through it: enumerate, zip, map.

    for k, x in enumerate(steps(x0)):       the body of `steps`, and in the place of each `yield x` a trip of this loop
        total += x
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.names import new_cell
from adjit.transform.elaborate.values.values import Cell, Static, Value

COUNTED = "%counted"  # how many items were taken, before a number


class Taking(NamedTuple):
    """What becomes of each item, in the function of who takes them.

    do: says after an item whether no more are wanted, None if that is never so. names: the variables that it assigns.
    """

    do: Callable[[Value], ir.Operand | None]
    names: Sequence[str]
    stops: bool


@dataclass(frozen=True, eq=False)
class Stream:
    """`spent`: the cell that says whether it was run through, after which nothing is left in it."""

    run: Callable[[Frame, Taking], None]
    spent: Cell
    __name__: str


def as_stream(value: Value) -> Stream | None:
    return value.value if isinstance(value, Static) and isinstance(value.value, Stream) else None


def new_stream(frame: Frame, name: str, run: Callable[[Frame, Taking], None]) -> Value:
    spent = new_cell(frame)
    frame.env[spent.key] = Static(False)
    return Static(Stream(run, spent, name))


def take_all(frame: Frame, stream: Stream, taking: Taking) -> None:
    """Runs through what is left in a stream, which is all or nothing."""
    state = frame.env.get(stream.spent.key)
    if not isinstance(state, Static):
        raise frame.ctx.unsupported(
            f"{stream.__name__}, a generator, is run through in a loop around, or after a path on which it was",
            f"Make it where you run through it, or make it a list: `list({stream.__name__}(...))`.",
            why="In Python nothing is left in it the second time.",
        )
    if not state.value:
        frame.env[stream.spent.key] = Static(True)
        stream.run(frame, taking)


def seen_through(frame: Frame, stream: Stream, each: Callable[[Value], Value]) -> Value:
    """What `each` makes of every item."""

    def run(user: Frame, taking: Taking) -> None:
        take_all(user, stream, taking._replace(do=lambda one: taking.do(each(one))))

    return new_stream(frame, stream.__name__, run)


def at_most(
    frame: Frame, stream: Stream, limit: ir.Operand | None, each: Callable[[Value, ir.Operand], Value], is_first: bool
) -> Value:
    """What `each` makes of every item and its number, of no more than `limit` items, all if that is None.

    is_first: the stream is asked for one more before it is seen that there are enough, as by `zip(stream, xs)`.
    """
    name = f"{COUNTED}{new_cell(frame).number}"

    def run(user: Frame, taking: Taking) -> None:
        ctx = user.ctx

        def count() -> ir.Operand:
            known = user.env[name]
            assert isinstance(known, ir.Var | ir.Const)
            return known

        def is_enough() -> ir.Operand:
            assert limit is not None
            return scalars.scalar(ctx, operator.ge, (count(), limit), "is_enough")

        def one_more(one: Value) -> ir.Operand | None:
            place = count()
            user.env[name] = scalars.scalar(ctx, operator.add, (place, ir.integer(1)), "count")
            return taking.do(each(one, place))

        def do(one: Value) -> ir.Operand | None:
            if limit is None:
                return one_more(one)
            if is_first:
                return _either(user, is_enough(), lambda: one_more(one) or ir.boolean(False))
            return _either(user, one_more(one) or ir.boolean(False), is_enough)

        def take() -> None:
            user.env[name] = ir.integer(0)
            take_all(user, stream, Taking(do, (*taking.names, name), taking.stops or limit is not None))
            del user.env[name]

        if limit is None or is_first:
            take()
        else:
            is_any = scalars.scalar(ctx, operator.gt, (limit, ir.integer(0)))
            ctx.either_value(user, is_any, lambda: _done(take), lambda: Static(None))

    return new_stream(frame, stream.__name__, run)


def _done(run: Callable[[], None]) -> Value:
    run()
    return Static(None)


def _either(frame: Frame, one: ir.Operand, other: Callable[[], ir.Operand]) -> ir.Operand:
    if isinstance(one, ir.Const):
        return one if one.value else other()
    found = frame.ctx.either_value(frame, one, lambda: ir.boolean(True), other)
    assert isinstance(found, ir.Var | ir.Const)
    return found
