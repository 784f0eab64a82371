"""What gives its items one after the other, as somebody runs through it: what a call of a generator makes.

In: how it is run through. Out: a value, and others that run through it: enumerate, zip, map.

    for k, x in enumerate(steps(x0)):       the body of `steps`, and in the place of each `yield x` a trip of this loop
        total += x
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.frontend.heap.references import EMPTY, FRESH, LEFT, new_cell
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.cells import ItemRef, Ref
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.statics import Static, Stream, as_stream
from adjit.transform.frontend.values.values import Value

COUNTED = "%counted"  # how many items were taken, before a number


class Taking(NamedTuple):
    """What becomes of each item, in the function of who takes them.

    do: says after an item whether no more are wanted, None if that is never so. names: the variables that it assigns.
    """

    do: Callable[[Value], ir.Operand | None]
    names: Sequence[str]
    stops: bool


def of_run(name: str, run: Callable[[Frame, Taking], None]) -> Value:
    """What gives its items as `run` does."""
    return Static(Stream(name, run=run))


def of_items(
    ctx: Context,
    name: str,
    make: Callable[[Frame], Value],
    at: Callable[[ir.Operand], Value] | None = None,
    through: frozenset[Ref | ItemRef] = frozenset(),
) -> Value:
    """What gives the items of what `make` says when it is run through; what is refused then is refused here.

    at: the item at a place, where each may be taken by itself. through: the lists that it looks at then.
    """
    here = ctx.node, ctx.frame

    def made(user: Frame) -> Value:
        outer = ctx.node, ctx.frame
        ctx.node, ctx.frame = here
        try:
            return make(user)
        finally:
            ctx.node, ctx.frame = outer

    return Static(Stream(name, make=made, at=at, through=through))


def take_all(frame: Frame, stream: Stream, taking: Taking) -> None:
    """Runs through what a generator has left."""
    assert stream.run is not None
    if _begun(frame, stream, LEFT if taking.stops else EMPTY):
        stream.run(frame, taking)


def opened_stream(frame: Frame, value: Value) -> Value:
    """What an iterator runs over, which has nothing after that; a generator, or what is no iterator, as it is."""
    stream = as_stream(value)
    if stream is None or stream.make is None:
        return value
    _begun(frame, stream, LEFT)
    return opened_stream(frame, stream.make(frame))


def at_once(frame: Frame, value: Value) -> Value:
    """The list of what a generator gives, of one whose items may be made at once; anything else as it is."""
    stream = as_stream(value)
    return value if stream is None or not stream.ends else _unchanging(frame, "a loop over", value, all_of_stream)


def in_one_loop(frame: Frame, value: Value) -> Value:
    """The list of what a generator gives that has nested loops; anything else as it is."""
    value = opened_stream(frame, value)
    stream = as_stream(value)
    return value if stream is None or not stream.nests else at_once(frame, value)


def all_of_stream(frame: Frame, value: Value) -> Value:
    """What an iterator runs over, or the list of what a generator gives; what is neither, as it is."""
    value = opened_stream(frame, value)
    return value if as_stream(value) is None else frame.ctx.collected(frame, value, None)


def _begun(frame: Frame, stream: Stream, afterwards: Static) -> bool:
    """Whether there is anything in it; from now on it is as said."""
    if stream.spent is None:
        return True
    state = frame.env.get(stream.spent.key)
    state = FRESH if state == ir.integer(0) else state
    if state not in (FRESH, EMPTY):
        raise frame.ctx.unsupported(
            f"an iterator of {stream.__name__} that is used in more than one place, or in a loop",
            "Make a list of it, `list(...)`, or create it where you use it.",
            why="In Python the second use starts where the first one stopped.",
        )
    frame.env[stream.spent.key] = afterwards
    return state == FRESH


def seen_through(stream: Stream, each: Callable[[Value], Value]) -> Value:
    """What `each` makes of every item."""

    def run(user: Frame, taking: Taking) -> None:
        take_all(user, stream, taking._replace(do=lambda one: taking.do(each(one))))

    return Static(dataclasses.replace(stream, run=run, spent=None))


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
            assert isinstance(known, ir.Operand)
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

    return of_run(stream.__name__, run)


def _done(run: Callable[[], None]) -> Value:
    run()
    return Static(None)


def _either(frame: Frame, one: ir.Operand, other: Callable[[], ir.Operand]) -> ir.Operand:
    if isinstance(one, ir.Const):
        return one if one.value else other()
    return frame.ctx.either_value(frame, one, lambda: ir.boolean(True), other)


def asked_one_by_one(frame: Frame, name: str, value: Value) -> Value:
    """What `any` or `all` of an iterator runs over, which stops in the midst: nothing else may change on the way."""
    return _unchanging(frame, f"{name} of", value, opened_stream)


def opened_in_turns(frame: Frame, value: Value) -> Value:
    """What a loop over an iterator runs over; nothing else may change as its items are made, since a trip comes between
    one item and the next."""
    return _unchanging(frame, "a loop over", value, opened_stream) if as_stream(value) is not None else value


def _unchanging(frame: Frame, name: str, value: Value, opened: Callable[[Frame, Value], Value]) -> Value:
    before, made = dict(frame.env), opened(frame, value)
    changed = {key for key, held in before.items() if frame.env.get(key) != held}
    changed |= {key for key in frame.env.keys() - before.keys() if key.isidentifier()}
    run_through = {key for key in changed if frame.env.get(key) in (EMPTY, LEFT)}
    if changed - run_through:
        raise frame.ctx.unsupported(
            f"{name} a generator that changes a variable, a list or an object",
            "Write it as a loop with `break`.",
            why="Python runs the generator only as far as its items are used.",
        )
    # they may have something left
    frame.env.update(dict.fromkeys(run_through, LEFT))
    return made
