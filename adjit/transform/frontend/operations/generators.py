"""Generators: a call of one makes a stream, and its body is elaborated where somebody runs through that.

In: the body of a function with `yield`. Out: a stream; in the place of each `yield x`, what is done with an item.

    def steps(x):                               i.e.     while True:
        while True:                                          x = 0.5 * (x + 2.0 / x)
            x = 0.5 * (x + 2.0 / x)                          total += x
            yield x                                          if x * x < 2.1: break
    for x in steps(x0):
        total += x
        if x * x < 2.1: break

The generator and who runs through it keep variables of their own. While the body of a generator is elaborated, what the
other assigns stands among its variables, under names that no program can write, so that its loops and branches hand
that on as they do their own; at a `yield` they stand in the other function, and control goes there. Where that leaves
its loop, the generator returns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import libcst as cst

from adjit.transform import ir
from adjit.transform.frontend.heap.iterators import Taking, of_run
from adjit.transform.frontend.heap.references import as_reference
from adjit.transform.frontend.operations.control import CALLERS, FLAGS, RETURN
from adjit.transform.frontend.values.cells import AWAY, CELL, COMMON
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Frame, Giving, Guess
from adjit.transform.frontend.values.values import Value, dereference
from adjit.transform.source.syntax import yield_in

Under = Callable[[], contextlib.AbstractContextManager[None]]
Around = Callable[[], Mapping[str, Value]]


def generated(frame: Frame, name: str, run: Callable[[], None], under: Under, around: Around) -> Value:
    """What a call of a generator gives.

    run: elaborates its body; under: within it the call is under way; around: the variables around its definition.
    """
    env = {name: value for name, value in frame.env.items() if not name.startswith(COMMON)}

    def taken(user: Frame, taking: Taking) -> None:
        frame.env = dict(env)
        _run_through(frame, run, under, around, user, taking)

    return of_run(name, taken)


def _run_through(
    frame: Frame, run: Callable[[], None], under: Under, around: Around, user: Frame, taking: Taking
) -> None:
    ctx = user.ctx
    names = tuple(dict.fromkeys((*taking.names, *user.shared)))
    of_user = {CALLERS + name: user.env[name] for name in names if name in user.env}
    frame.earlier = {CALLERS + name: user.earlier[name] for name in names if name in user.earlier}
    frame.sought = frozenset(CALLERS + name for name in names if name in user.sought)
    frame.giving = Giving(user, names, taking.do, taking.stops, len(ctx.active_calls), len(ctx.call_places))
    user.env.update(dict.fromkeys(names, AWAY))
    frame.env.update({**around(), **of_user})
    ctx.call_places.append(ctx.here())
    try:
        with under(), ctx.entered(frame):
            run()
    except Guess as guess:
        if guess.name.startswith(CALLERS):
            raise Guess(guess.name.removeprefix(CALLERS)) from None
        raise ctx.unsupported(
            f"`{guess.name}` may be read before it is assigned", "Assign it before the loop."
        ) from None
    ctx.call_places.pop()
    for key in [name for name in user.env if name.startswith(CELL) and name not in frame.env]:
        # a list that a trip made and nothing has after the loop
        del user.env[key]
    user.earlier.update((n, frame.earlier[CALLERS + n]) for n in names if CALLERS + n in frame.earlier)
    _come_back(frame, user, names)


def _come_back(frame: Frame, user: Frame, names: Sequence[str]) -> None:
    """The variables of who runs through a generator are theirs again."""
    for name in names:
        value = frame.env.pop(CALLERS + name, None)
        if value is None:
            user.env.pop(name, None)
        else:
            user.env[name] = value


def give(frame: Frame, value: Value) -> None:
    """`yield value`: control goes to who runs through the generator, and comes back or has left."""
    ctx, giving = frame.ctx, frame.giving
    assert giving is not None
    user, names = giving.user, giving.names
    held = as_reference(frame, materialise(ctx, value, "item"))
    with _in_user(frame, giving), ctx.entered(user):
        _come_back(frame, user, names)
        # control would not be here if it had left
        user.env.update((name, ir.boolean(False)) for name in names if name in FLAGS)
        gone = giving.do(dereference(user.env, held))
        frame.env.update((CALLERS + name, user.env[name]) for name in names if name in user.env)
        user.env.update(dict.fromkeys(names, AWAY))
    if giving.stops and gone is not None:
        frame.env[RETURN] = gone


@contextlib.contextmanager
def _in_user(frame: Frame, giving: Giving) -> Iterator[None]:
    """Within it, the function is elaborated that runs through the generator."""
    ctx, user = frame.ctx, giving.user
    outer = ctx.frame, ctx.node, ctx.builder.origin
    calls, places = ctx.active_calls[giving.calls :], ctx.call_places[giving.places :]
    del ctx.active_calls[giving.calls :], ctx.call_places[giving.places :]
    state = user.earlier, user.sought, user.in_loop
    of_user = [name for name in giving.names if CALLERS + name in frame.earlier]
    user.earlier = {**user.earlier, **{name: frame.earlier[CALLERS + name] for name in of_user}}
    user.sought |= {name for name in giving.names if CALLERS + name in frame.sought}
    user.in_loop |= frame.in_loop
    try:
        yield
    except Guess as guess:
        raise Guess(CALLERS + guess.name) from None
    finally:
        frame.earlier.update((CALLERS + name, user.earlier[name]) for name in of_user)
        user.earlier, user.sought, user.in_loop = state
    ctx.active_calls += calls
    ctx.call_places += places
    ctx.frame, ctx.node, ctx.builder.origin = outer


def carried(frame: Frame, node: cst.CSTNode) -> tuple[list[str], bool]:
    """What a loop of a generator carries for who runs through it, and whether that may end it."""
    return ([], False) if frame.giving is None or yield_in(node) is None else handed_on_by(frame)


def handed_on_by(frame: Frame) -> tuple[list[str], bool]:
    """The same of a loop with a `yield`."""
    giving = frame.giving
    assert giving is not None
    return [*(CALLERS + name for name in giving.names), *([RETURN] if giving.stops else [])], giving.stops
