"""Statements of the user's program, one function a kind.

In: statements, and the frame with the variables so far. Out: operations, and the variables changed. `break`, `continue`
and `return` set flags in the environment; what follows a statement that may set one is elaborated under `if not left`,
or in the other branch where a branch always leaves.

    for x in a:                 for x in a:
        if x < 0: break             if x < 0: broke = True
        s += x                      else: s += x                 the loop stops once `broke` is true
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import libcst as cst
import numba
import numpy as np
from numba import types

from adjit import errors
from adjit.rules import python
from adjit.transform import ir
from adjit.transform.frontend.heap.aliasing import run_through
from adjit.transform.frontend.heap.iterators import Taking, in_one_loop, opened_in_turns, opened_stream, take_all
from adjit.transform.frontend.heap.lists import contents, in_memory
from adjit.transform.frontend.heap.mutation_during_iteration import RESIZED, STORED, ended, leaving, looked_at, running
from adjit.transform.frontend.heap.references import as_reference
from adjit.transform.frontend.library import dicts_and_sets
from adjit.transform.frontend.library.builtins import iteration, known_items, length
from adjit.transform.frontend.operations import control, loops
from adjit.transform.frontend.operations.containers import append, exhaust
from adjit.transform.frontend.operations.generators import carried, generated, give, handed_on_by
from adjit.transform.frontend.operations.operators import truth
from adjit.transform.frontend.operations.records import delete_attribute
from adjit.transform.frontend.operations.seeded_generators import after_draws
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.cells import ClosureCell, Poison, Ref
from adjit.transform.frontend.values.dictionaries import Record, RuntimeDict, is_mutable
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.evaluation_order import stored_to
from adjit.transform.frontend.values.frame import CallRaises, Context, Frame, LocalFunction, Names
from adjit.transform.frontend.values.lists import List, TupleValue, is_list, list_in
from adjit.transform.frontend.values.numbers import is_number
from adjit.transform.frontend.values.ranges import ENDLESS, Range, Zip
from adjit.transform.frontend.values.statics import Static, Stream, as_stream, object_of
from adjit.transform.frontend.values.unions import Union
from adjit.transform.frontend.values.values import Value, dereference
from adjit.transform.frontend.walk.assignment import (
    annotated_assignment,
    assign,
    assignment,
    augmented_assignment,
    bind,
)
from adjit.transform.frontend.walk.exceptions import assertion, attempt, factorises, raising
from adjit.transform.frontend.walk.expressions import (
    Facts,
    condition,
    evaluate,
    evaluate_or_none,
    facts,
    knowing,
    local_function,
    subscript_entries,
)
from adjit.transform.frontend.walk.handlers import INTRINSICS
from adjit.transform.frontend.walk.imports import importing, importing_from
from adjit.transform.frontend.walk.matching import match
from adjit.transform.source.anf import calls_first, names_from
from adjit.transform.source.syntax import (
    always_leaves,
    assigned,
    body_of,
    clauses,
    contains,
    else_of,
    inside,
    names_read,
)


def block(frame: Frame, statements: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> None:
    """Statements in order, until control has certainly left."""
    with leaving(frame, statements):
        _in_order(frame, statements)


def _in_order(frame: Frame, statements: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> None:
    for k, statement in enumerate(statements):
        rest = statements[k + 1 :]
        if isinstance(statement, cst.SimpleStatementLine):
            if len(statement.body) > 1:
                block(frame, [*statement.body, *rest])
                return
        elif isinstance(statement, cst.If) and rest and any(map(always_leaves, _sides(statement))):
            _begun(frame, statement)
            _apart_if_it_raises(frame, statement, statement, functools.partial(_if, frame, statement, rest), rest)
            return
        one(frame, statement)
        gone = control.left(frame)
        if isinstance(gone, ir.Const):
            if gone.value:
                return
            continue
        if rest:
            control.unless_left(frame, functools.partial(block, frame, rest))
        return


def one(frame: Frame, statement: cst.BaseStatement | cst.BaseSmallStatement) -> None:
    node = _begun(frame, statement)
    handler = _HANDLERS.get(type(node))
    if handler is None:
        name, instead = _REFUSED.get(type(node), (type(node).__name__, "Write it with other statements."))
        raise frame.ctx.unsupported(f"{name} is not supported", instead)

    def run() -> None:
        if not factorises(frame, node, lambda: handler(frame, node)):
            handler(frame, node)

    _apart_if_it_raises(frame, statement, node, run)


def _apart_if_it_raises(
    frame: Frame, statement: Any, node: cst.CSTNode, run: Callable[[], None], rest: Sequence[Any] = ()
) -> None:
    """Runs a statement; where a call in it may raise what is caught around, and more is done after the call, as one
    statement for the call and one for the rest."""
    if not frame.catching:
        run()
        return
    outer, forget = (frame.whole, frame.stands_at), control.as_it_is(frame)
    try:
        with control.aside(frame.ctx) as ops:
            frame.begins(getattr(node, "value", None))
            run()
    except CallRaises as found:
        if found.frame is not frame:
            raise
        forget()
        block(frame, [*_taken_apart(frame, statement, node, found.node), *rest])
    else:
        frame.ctx.builder.ops.extend(ops)
    frame.whole, frame.stands_at = outer


def _taken_apart(frame: Frame, statement: Any, node: cst.CSTNode, site: cst.CSTNode | None) -> Sequence[Any]:
    source = frame.source
    names = [each.value for each in inside(source.node, ()) if isinstance(each, cst.Name)]
    fresh = names_from([*names, *frame.env, *source.globals])
    is_whole = site is None or site is getattr(node, "value", None)
    made = None if is_whole or site is None else calls_first(node, site, fresh)
    if made is None:
        raise frame.ctx.unsupported(
            "`try` around a call inside a larger statement",
            "Write the call as a single statement, `value = f(x)`, also in a loop.",
            why="If the call raises, the rest of the statement must not run.",
            node=site,
        )
    known = {each: (source, statement) for one in made for each in inside(one, ()) if not source.holds(each)}
    new = frozenset(each.value for each in known if isinstance(each, cst.Name)) - frozenset(names)
    frame.source = dataclasses.replace(source, stands_for={**source.stands_for, **known}, made_up=source.made_up | new)
    return made


def _begun(frame: Frame, statement: cst.BaseStatement | cst.BaseSmallStatement) -> cst.CSTNode:
    """The statement without the line that it stands in; what is emitted and refused now has its place."""
    ctx = frame.ctx
    node: cst.CSTNode = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    if not frame.is_rule:
        ctx.frame, ctx.node = frame, node
        frame.begun = len(ctx.builder.ops)
        ctx.builder.origin = frame.source.origin(statement, frame.source.comments_above(statement))
    return node


# ------------------------------------------------------------------------------------------------------- simple ones


def _return(frame: Frame, node: cst.Return) -> None:
    ctx = frame.ctx
    value: Value = Static(None) if node.value is None else evaluate_or_none(frame, node.value)
    value = materialise(ctx, value, "result")

    def gives() -> None:
        frame.env[control.VALUE] = as_reference(frame, value)
        frame.env[control.RETURN] = ir.boolean(True)

    control.unless_left(frame, gives)


def _leave(frame: Frame, node: cst.Break | cst.Continue) -> None:
    frame.env[control.BREAK if isinstance(node, cst.Break) else control.CONTINUE] = ir.boolean(True)


def _expression(frame: Frame, node: cst.Expr) -> None:
    if isinstance(node.value, cst.Yield):
        _yield(frame, node.value)
    elif not isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
        frame.ctx.statement = node.value
        evaluate_or_none(frame, node.value)


def _yield(frame: Frame, node: cst.Yield) -> None:
    value = node.value
    if not isinstance(value, cst.From):
        give(frame, Static(None) if value is None else evaluate_or_none(frame, value))
        return
    names, stops = carried(frame, node)

    def each(one: Value) -> ir.Operand | None:
        give(frame, one)
        return control.left(frame) if stops else None

    iterated = evaluate(frame, value.item)
    take(frame, iterated, each, names, stops)


def _pass(frame: Frame, node: cst.CSTNode) -> None:
    return


# ---------------------------------------------------------------------------------------------------------- branches


def _sides(node: cst.If) -> tuple[list[Any], list[Any]]:
    return body_of(node.body), else_of(node)


def _if(frame: Frame, node: cst.If, rest: Sequence[Any] = ()) -> None:
    """A branch; `rest`: the statements after it, where one side always leaves, which go into the other."""
    yes, no = _sides(node)
    (no if always_leaves(yes) else yes).extend(rest)
    test = condition(frame, node.test)
    held, not_held = facts(frame, node.test)
    then = functools.partial(_side, frame, held, yes, no)
    orelse = functools.partial(_side, frame, not_held, no, yes)
    control.conditional(frame, test, then, orelse)


def _side(frame: Frame, known: Facts, statements: Sequence[Any], others: Sequence[Any]) -> None:
    with knowing(frame, known, assigned(others).names if known else ()):
        block(frame, statements)


# ------------------------------------------------------------------------------------------------------------- loops


def _loop_names(frame: Frame, node: cst.For | cst.While, more: Iterable[cst.CSTNode]) -> tuple[list[str], bool]:
    """The variables a loop carries, and whether it may end early."""
    found = assigned([node.body, *more])
    names = [*found.names]
    breaks = contains(node.body, cst.Break)
    if breaks and node.orelse is not None:
        names.append(control.BREAK)
    if found.returns:
        names.extend((control.RETURN, control.VALUE))
    if frame.catching:
        names.extend((control.RAISED, control.EXCEPTION))
        if any(handler.node.name is not None for handlers in frame.catching for handler in handlers):
            names.append(control.THROWN)
    of_user, is_ended = carried(frame, node.body)
    return [*names, *of_user], breaks or found.returns or bool(frame.catching) or is_ended


def _trip(frame: Frame, node: cst.For | cst.While, stops: bool, test: ir.Operand | None = None) -> list[ir.Operand]:
    """The body of a loop, which ends where `test` is false; what it yields besides the carried values."""
    for name in control.FLAGS:
        frame.env[name] = ir.boolean(False)
    if test is None:
        block(frame, body_of(node.body))
    else:
        control.conditional(frame, test, lambda: block(frame, body_of(node.body)), lambda: _end(frame))
    frame.env[control.CONTINUE] = ir.boolean(False)
    return [control.left(frame)] if stops else []


def _end(frame: Frame) -> None:
    frame.env[control.ENDED] = ir.boolean(True)


def _after_loop(frame: Frame, node: cst.For | cst.While, outer_break: Value | None) -> None:
    broke = control.flag(frame, control.BREAK)
    if outer_break is None:
        frame.env.pop(control.BREAK, None)
    else:
        frame.env[control.BREAK] = outer_break
    if node.orelse is None:
        return
    orelse = body_of(node.orelse.body)
    with contextlib.nullcontext() if isinstance(node, cst.While) else ended(frame):
        control.conditional(frame, broke, lambda: None, lambda: block(frame, orelse))


def _loop(frame: Frame, node: cst.For | cst.While) -> None:
    """A loop; one that draws, and reads what is known while compiling, is run then."""
    found = after_draws(frame, node, INTRINSICS)
    if found is not None:
        for name, value in found.items():
            bind(frame, name, value)
    elif isinstance(node, cst.For):
        _for(frame, node)
    else:
        _while(frame, node)


def _for(frame: Frame, node: cst.For) -> None:
    loop = (frame.ctx.builder.origin, node if frame.is_rule else None)  # the same when it is elaborated anew
    iterated = evaluate(frame, node.iter)
    through = looked_at(iterated)
    iterated = opened_in_turns(frame, exhaust(frame, iterated) if isinstance(iterated, Record) else iterated)
    iterated = _left_in(frame, node, in_one_loop(frame, iterated) if _grows_lists(node) else iterated)
    how = frame.ctx.assumed.changing.get(loop)
    if how == RESIZED:
        iterated, through = _as_it_grows(frame, iterated), frozenset()
    with running(frame, loop, None if how == RESIZED else iterated, through):
        _for_in(frame, node, iterated, how == STORED)


@functools.lru_cache(maxsize=4096)
def _grows_lists(node: cst.CSTNode) -> bool:
    """Whether a loop makes a list longer, which it has room for if it is one loop."""
    return any(isinstance(each, cst.Attribute) and each.attr.value == "append" for each in inside(node))


def _left_in(frame: Frame, node: cst.For, iterated: Value) -> Value:
    """What an iterator has left, all of which a loop takes; anything else as it is."""
    if not isinstance(iterated, RuntimeDict) or iterated.kind != "iterator":
        return iterated
    is_left = contains(node.body, cst.Break) or assigned([node.body]).returns
    if is_left or (frame.catching and contains(node.body, cst.Raise)):
        raise frame.ctx.unsupported(
            "a loop over an iterator, with `break`", "Loop over a list, or call `next` in a `while` loop."
        )
    return exhaust(frame, iterated)


def _as_it_grows(frame: Frame, iterated: Value) -> Value:
    """What runs through a list that gets longer or shorter on the way."""
    inline = frame.ctx.inline
    if is_list(iterated):
        return inline(python.lists.items_one_by_one, (iterated,), {}, True, False)
    if isinstance(iterated, Zip) and len(iterated.parts) == 2 and iterated.parts[0] is None:
        whole, start = iterated.parts[1], iterated.first or ir.integer(0)
        if whole is not None and is_list(whole):
            return inline(python.lists.numbered_one_by_one, (whole, start), {}, True, False)
    raise frame.ctx.unsupported(
        "a loop that changes the length of the list that it runs over",
        "Loop over a list itself, or over a copy: `list(xs)`.",
    )


def _for_in(frame: Frame, node: cst.For, iterated: Value, is_stored: bool = False) -> None:
    """is_stored: the trips put other items into what the loop runs through."""
    ctx = frame.ctx
    if _for_each_option(frame, iterated, functools.partial(_for_in, frame, node, is_stored=is_stored)):
        return
    iterated = _without_end(frame, iterated)
    if (stream := as_stream(iterated)) is not None:
        _streamed(frame, node, stream)
        return
    iterated = contents(ctx, _left_in(frame, node, iterated))
    items = None if is_stored else known_items(frame, iterated)
    if items is not None:
        _unrolled(frame, node, items, as_loop=lambda: _looped(frame, node, in_memory(ctx, items)))
        return
    counted = None
    if not frame.is_rule and (ctx.knows_extents or is_stored or isinstance(iterated, Range)):
        run, item = iteration(frame, iterated)
        counted = _numbers(run, MOST_UNROLLED)
    if not counted:
        _looped(frame, node, iterated)
        return
    as_loop = functools.partial(_looped, frame, node)
    in_full = functools.partial(_unrolled, frame, node, of=lambda k: item(k))
    if control.tried(frame, lambda: as_loop(iterated), is_strict=True):
        return
    # what it does wants to know which trip it is
    if ctx.wants_known:
        in_full(counted)
        return
    if control.tried(frame, lambda: in_full(counted), is_strict=True):
        return
    # and that does not tell the keys of dictionaries either: these are searched
    if not control.tried(frame, lambda: as_loop(iterated)):
        in_full(counted)


def _without_end(frame: Frame, iterated: Value) -> Value:
    """What a loop runs over: of a range that does not end, what gives one number after the other."""
    if not isinstance(iterated, Range) or iterated.stop != ENDLESS:
        return iterated
    return frame.ctx.inline(python.itertools.count, (iterated.start, iterated.step), {}, True, False)


def _for_each_option(frame: Frame, iterated: Value, run: Callable[[Value], None]) -> bool:
    """Runs through each of the options, in branches, of what is chosen at run time; whether it is that."""
    if not isinstance(iterated, Zip):
        return control.do_for_option(frame, iterated, run)
    place = next((k for k, part in enumerate(iterated.parts) if isinstance(part, Union)), None)
    if place is None:
        return False
    before, chosen, after = iterated.parts[:place], iterated.parts[place], iterated.parts[place + 1 :]
    assert chosen is not None
    return control.do_for_option(
        frame, chosen, lambda option: run(dataclasses.replace(iterated, parts=(*before, option, *after)))
    )


def _streamed(frame: Frame, node: cst.For, stream: Stream) -> None:
    """A loop over what a generator gives: that runs, and a trip in the place of each of its `yield`s."""
    names, stops = _loop_names(frame, node, [cst.AssignTarget(node.target)])
    outer_break = frame.env.get(control.BREAK)
    frame.env[control.BREAK] = ir.boolean(False)
    if contains(node.body, cst.Break) and control.BREAK not in names:
        names.append(control.BREAK)

    def trip(item: Value) -> ir.Operand | None:
        gone = _written_out(frame, node, item)
        return gone if stops else None

    take_all(frame, stream, Taking(trip, names, stops))
    _after_loop(frame, node, outer_break)


def _looped(frame: Frame, node: cst.For, iterated: Value) -> None:
    ctx = frame.ctx
    iterated = materialise(ctx, iterated)
    if isinstance(iterated, Range) and iterated.known() == range(0):
        # what its body assigns is not assigned
        block(frame, [] if node.orelse is None else body_of(node.orelse.body))
        return
    outer_break = frame.env.get(control.BREAK)
    run, item = iteration(frame, iterated)
    with run_through(ctx, iterated):
        _trips(frame, node, run, item, run is iterated)
    _after_loop(frame, node, outer_break)


MOST_APART = 2  # first trips of a loop that stand before it


def _trips(
    frame: Frame, node: cst.For, run: Range, item: Callable[[ir.Operand], Value], is_counted: bool, apart: int = 0
) -> None:
    """The loop over a range, the first trip before it where variables have their types only from then on.

    apart: how many trips stand before it already.
    """
    ctx, origin = frame.ctx, frame.ctx.builder.origin
    names, stops = _loop_names(frame, node, [cst.AssignTarget(node.target)])
    counter_name = node.target.value if isinstance(node.target, cst.Name) and is_counted else "i"
    counter = ir.Var(counter_name, types.intp, user=is_counted)

    def body() -> list[ir.Operand]:
        ctx.builder.origin = origin
        assign(frame, node.target, item(counter))
        was_in_prange = ctx.loop.in_prange
        ctx.loop.in_prange |= run.parallel
        try:
            with _of_so_many(ctx, run):
                return _trip(frame, node, stops)
        finally:
            ctx.loop.in_prange = was_in_prange

    def build(trips: loops.Trips) -> ir.Op:
        region = trips.body(counter)
        return ir.For(
            start=run.start, stop=run.stop, step=run.step, inits=trips.inits,
            body=_without_own_promises(region) if run.parallel else region,
            outs=trips.outs, stops=stops, origin=origin, parallel=run.parallel, snapshots=run.snapshots,
        )  # fmt: skip

    def loop() -> None:
        count = functools.partial(length, frame, run)
        loops.carried_loop(frame, names, body, build, count, bool(run.known()))

    fault = control.fault_of_trips(frame, loop)
    if fault is None:
        return
    if apart == MOST_APART or run.parallel or run.snapshots is not None or not isinstance(run.step, ir.Const):
        raise fault
    rest = dataclasses.replace(run, start=scalars.scalar(ctx, operator.add, (run.start, run.step), "start"))
    relation = operator.lt if run.step.value > 0 else operator.gt
    is_there = scalars.scalar(ctx, relation, (run.start, run.stop), "has_trips")
    first = functools.partial(_written_out, frame, node)
    _first_apart(
        frame, fault, is_there, lambda: first(item(run.start)),
        lambda: _trips(frame, node, rest, item, is_counted, apart + 1),
    )  # fmt: skip


def _first_apart(
    frame: Frame,
    fault: errors.AdjitError,
    is_there: ir.Operand,
    first: Callable[[], ir.Operand],
    rest: Callable[[], None],
) -> None:
    """The first trip of a loop, if there is one, and the rest, unless control has left it; or that fault, of a loop of
    all trips, if what is known of the first one does not help.

        step = 1.0                                  step = 1.0
        while np.max(np.abs(step)) > 1e-9:          if np.max(np.abs(step)) > 1e-9:
            step = f(x) / slope                         step = f(x) / slope
            x = x - step                                x = x - step
                                                        while np.max(np.abs(step)) > 1e-9: ..
    """

    def both() -> None:
        frame.env[control.BREAK] = ir.boolean(False)
        control.conditional(frame, first(), lambda: None, rest)

    try:
        control.conditional(frame, is_there, both, lambda: None)
    except errors.AdjitError as other:
        raise fault if other.wants_constant or other.is_of_trips else other from None


@contextlib.contextmanager
def _of_so_many(ctx: Context, run: Range) -> Iterator[None]:
    """Within it, a trip of a loop over that range is elaborated."""
    outer = ctx.loop.trips
    ctx.loop.trips = run.stop if run.start == ir.integer(0) and run.step == ir.integer(1) else None
    yield
    ctx.loop.trips = outer


def collected(frame: Frame, iterated: Value, each: Callable[[Value], Value] | None) -> List:
    """The list of all items of something, or of what `each` makes of them."""
    made = as_reference(frame, TupleValue((), is_list=True))

    def add(one: Value) -> None:
        _append(frame, made, one if each is None else each(one))

    for_each(frame, iterated, add)
    return list_in(dereference(frame.env, made))


def _append(frame: Frame, cell: Value, one: Value) -> None:
    append(frame, list_in(dereference(frame.env, cell)), materialise(frame.ctx, one))


UNROLLED = 16  # trips of a comprehension that is written out
MOST_UNROLLED = 64  # and of a loop where that has to be
FEW = 4  # trips that are written out however long they are
WRITTEN_OUT = 500  # operations of all trips of what is written out, where a loop would do


def for_each(frame: Frame, iterated: Value, do: Callable[[Value], None], names: Sequence[str] = ()) -> None:
    """Runs `do` on each item, in order; `names`: the variables that it changes, lists aside."""

    def each(one: Value) -> None:
        do(one)

    take(frame, iterated, each, names, stops=False)


def take(
    frame: Frame, iterated: Value, do: Callable[[Value], ir.Operand | None], names: Sequence[str], stops: bool
) -> None:
    """Runs `do` on each item, in order, until it says that control has left, which it may if it `stops`."""
    frame.ctx.loop.taking += 1
    try:
        with running(frame, None, iterated):
            _take(frame, iterated, do, names, stops)
    finally:
        frame.ctx.loop.taking -= 1


def _take(
    frame: Frame, iterated: Value, do: Callable[[Value], ir.Operand | None], names: Sequence[str], stops: bool
) -> None:
    ctx = frame.ctx
    iterated = _without_end(frame, opened_stream(frame, exhaust(frame, iterated)))
    if (stream := as_stream(iterated)) is not None:
        take_all(frame, stream, Taking(do, names, stops))
        return
    if _for_each_option(frame, iterated, functools.partial(_take, frame, do=do, names=names, stops=stops)):
        return
    iterated = materialise(ctx, contents(ctx, iterated))
    items = known_items(frame, iterated)
    if items is not None:
        looped = functools.partial(_taken_in_loop, frame, do=do, names=names, stops=stops)
        _each_in_turn(frame, items, do, lambda: looped(in_memory(ctx, items)))
        return
    run, item = iteration(frame, iterated)
    numbers = _numbers(run, MOST_UNROLLED if ctx.knows_extents else UNROLLED)
    as_loop = functools.partial(_taken_in_loop, frame, iterated, do, names, stops)
    if numbers is not None and (ctx.knows_extents or isinstance(iterated, Range)):
        _each_in_turn(frame, numbers, lambda k: do(item(k)), as_loop)
    else:
        as_loop()


def _taken_in_loop(
    frame: Frame, iterated: Value, do: Callable[[Value], ir.Operand | None], names: Sequence[str], stops: bool
) -> None:
    ctx, origin = frame.ctx, frame.ctx.builder.origin
    run, item = iteration(frame, iterated)
    counter = ir.Var("i", types.intp)

    def body() -> list[ir.Operand]:
        ctx.builder.origin = origin
        with _of_so_many(ctx, run):
            gone = do(item(counter))
        return [gone or ir.boolean(False)] if stops else []

    def build(trips: loops.Trips) -> ir.Op:
        return ir.For(
            start=run.start, stop=run.stop, step=run.step, inits=trips.inits, body=trips.body(counter),
            outs=trips.outs, stops=stops, origin=origin,
        )  # fmt: skip

    with run_through(ctx, iterated):
        loops.carried_loop(frame, names, body, build, functools.partial(length, frame, run))


def _each_in_turn(
    frame: Frame,
    items: Sequence[Value],
    do: Callable[[Any], ir.Operand | None],
    as_loop: Callable[[], None] | None = None,
) -> bool:
    """Runs `do` on all items, written out; where that is long, `as_loop`, if that can be. Whether it was that."""
    gone: ir.Operand | None = None

    def run(one: Value) -> None:
        nonlocal gone
        gone = do(one)

    for k, one in enumerate(items):
        first = functools.partial(run, one)
        if k > 0 or as_loop is None or len(items) <= FEW:
            first()
        elif not control.is_short(frame, first, WRITTEN_OUT // len(items)):
            if control.tried(frame, as_loop, is_strict=True):
                return True
            if not frame.ctx.wants_known and control.tried(frame, as_loop):
                return True
            first()
        if gone is not None and gone != ir.boolean(False):
            control.conditional(frame, gone, lambda: None, functools.partial(_rest_in_turn, frame, items[k + 1 :], do))
            break
    return False


def _rest_in_turn(frame: Frame, items: Sequence[Value], do: Callable[[Any], ir.Operand | None]) -> None:
    _each_in_turn(frame, items, do)


def _numbers(run: Range, most: int) -> Sequence[Value] | None:
    """The numbers of a range of literals, if they are few and nothing is asked of the loop."""
    known = run.known()
    if known is None or run.parallel or run.snapshots is not None or len(known) > most:
        return None
    return [ir.integer(k) for k in known]


def comprehension(
    frame: Frame, node: cst.ListComp | cst.GeneratorExp, is_first_alone: bool = False, first: Value | None = None
) -> Value:
    """`[elt for target in iter if test ...]`, the names of which are its own.

    `is_first_alone`: nothing is computed after the first item. `first`: what the first clause runs over; over a
    generator, a generator expression is one.
    """
    stream = None if first is None else as_stream(first)
    if stream is not None and not contains(node, cst.NamedExpr):
        return _generator_expression(frame, node, stream)
    made = as_reference(frame, TupleValue((), is_list=True))
    has_one = (lambda: truth(frame, dereference(frame.env, made))) if is_first_alone else None
    _each_in_clauses(frame, node, lambda one: _append(frame, made, one), first, (), has_one)
    return dereference(frame.env, made)


def _generator_expression(frame: Frame, node: cst.ListComp | cst.GeneratorExp, first: Stream) -> Value:
    """What a generator expression over a generator gives."""
    own = Frame(frame.ctx, frame.source, frame.is_rule, frame.weak)
    own.home, own.kept, own.comprehensions = frame, frame.kept, frame.comprehensions

    def run() -> None:
        names, stops = handed_on_by(own)
        gone = functools.partial(control.flag, own, control.RETURN) if stops else None
        _each_in_clauses(own, node, functools.partial(give, own), Static(first), names, gone)

    made = as_stream(generated(own, "a generator expression", run, frame.ctx.away, frame.visible))
    assert made is not None
    return Static(dataclasses.replace(made, ends=first.ends))


def _each_in_clauses(
    frame: Frame,
    node: cst.ListComp | cst.GeneratorExp,
    do: Callable[[Value], None],
    first: Value | None,
    names: Sequence[str],
    is_enough: Callable[[], ir.Operand] | None,
) -> None:
    """Runs `do` on each item of a comprehension, which may change `names`, until there are enough."""
    own = assigned([cst.AssignTarget(clause.target) for clause in clauses(node.for_in)]).names
    outer = {name: frame.env[name] for name in own if name in frame.env}
    if several := [name for name, value in outer.items() if isinstance(value, ClosureCell)]:
        what = f"a comprehension with the variable `{several[0]}`, which an inner function assigns"
        raise frame.ctx.unsupported(what, "Give it another name.")

    def clause(part: cst.CompFor, then: Callable[[], None]) -> None:
        def sought(one: Value) -> None:
            assign(frame, part.target, one)
            _where(frame, [test.test for test in part.ifs], then)

        def trip(one: Value) -> ir.Operand | None:
            sought(one)
            return None if is_enough is None else is_enough()

        iterated = first if part is node.for_in else None
        iterated = evaluate(frame, part.iter) if iterated is None else iterated
        iterated = in_one_loop(frame, iterated) if isinstance(node, cst.ListComp) else iterated
        take(frame, iterated, trip, names, is_enough is not None)

    def run(parts: Sequence[cst.CompFor]) -> None:
        if parts:
            clause(parts[0], lambda: run(parts[1:]))
        else:
            do(evaluate_or_none(frame, node.elt))

    local, around = frame.local_names, frame.comprehensions
    here = Names(frozenset(own))
    frame.local_names, frame.comprehensions = local | set(own), (*around, here)
    run(clauses(node.for_in))
    frame.local_names, frame.comprehensions = local, around
    here.are_gone = True
    for name in own:
        frame.env.pop(name, None)
    frame.env.update(outer)


def _where(frame: Frame, tests: Sequence[cst.BaseExpression], then: Callable[[], None]) -> None:
    """`then` where all tests hold."""
    if not tests:
        then()
        return
    held = condition(frame, tests[0])
    known, _ = facts(frame, tests[0])

    def others() -> None:
        with knowing(frame, known):
            _where(frame, tests[1:], then)

    control.conditional(frame, held, others, lambda: None)


def _without_own_promises(body: ir.Region) -> ir.Region:
    """The body of a loop over prange, whose user says of a store that no other trip touches the element.

    Nothing is said of arrays that a trip makes for itself, for they may become one array of all trips; nor of updates,
    for many who write these mean the sum.

        for i in prange(n):
            y[order[i]] = x[i]          promised
            s = np.empty(2)
            s[k[i]] = x[i]              nothing said
            h[k[i]] += x[i]             nothing said
    """

    def made(op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Store) and op.promised and ir.base_of(op.array, body.made) in body.defines:
            return dataclasses.replace(op, promised=False)
        return op

    return ir.rewritten(body, made)


def _unrolled(
    frame: Frame,
    node: cst.For,
    items: Sequence[Value],
    of: Callable[[Any], Value] = lambda item: item,
    as_loop: Callable[[], None] | None = None,
) -> None:
    """A loop over a tuple, written out. `of`: what a trip has for an item. `as_loop`: runs it, where that is long."""
    outer_break = frame.env.get(control.BREAK)
    frame.env[control.BREAK] = ir.boolean(False)

    def looped() -> None:
        assert as_loop is not None
        if outer_break is None:
            frame.env.pop(control.BREAK, None)
        else:
            frame.env[control.BREAK] = outer_break
        as_loop()

    if not _each_in_turn(frame, items, lambda item: _written_out(frame, node, of(item)), as_loop and looped):
        _after_loop(frame, node, outer_break)


def _written_out(frame: Frame, node: cst.For, item: Value) -> ir.Operand:
    """The trip of a loop for one item; whether control has left the loop."""
    assign(frame, node.target, item)
    return _by_itself(frame, node)


def _by_itself(frame: Frame, node: cst.For | cst.While) -> ir.Operand:
    """A trip of a loop that is written out; whether control has left the loop."""
    frame.env[control.CONTINUE] = ir.boolean(False)
    block(frame, body_of(node.body))
    frame.env[control.CONTINUE] = ir.boolean(False)
    return control.left(frame)


def _never_runs(frame: Frame, node: cst.While) -> bool:
    """Whether the test of a loop, of numbers and lists that are known, is false where the loop begins."""
    held = [frame.env.get(name) for name in names_read(node.test)]
    is_of_lists = any(isinstance(dereference(frame.env, value), TupleValue) for value in held if isinstance(value, Ref))
    numbers = [isinstance(value, ir.Const) for value in held if value is not None and is_number(value)]
    if not is_of_lists and not (numbers and all(numbers)):
        return False
    before = dict(frame.env)
    with frame.ctx.builder.region():
        found = condition(frame, node.test)
    frame.env = before
    return found == ir.boolean(False)


def _while(frame: Frame, node: cst.While) -> None:
    if _never_runs(frame, node):
        block(frame, [] if node.orelse is None else body_of(node.orelse.body))
        return
    outer_break = frame.env.get(control.BREAK)
    with running(frame, None, None):
        _trips_while(frame, node)
    _after_loop(frame, node, outer_break)


def _trips_while(frame: Frame, node: cst.While, apart: int = 0) -> None:
    """The loop, its first trip before it where variables have their types only from then on."""
    ctx = frame.ctx
    origin = ctx.builder.origin
    names, stops = _loop_names(frame, node, [node.test])
    # the operations of the test and what they give, unless they are part of the trip
    test: tuple[Sequence[ir.Op], ir.Operand] | None = None

    def body() -> list[ir.Operand]:
        nonlocal test
        ctx.builder.origin = origin
        before = dict(frame.env)
        with ctx.builder.region() as ops:
            held = condition(frame, node.test)
        has_effect = bool(stored_to(ctx, ops)) or any(v is not before.get(n) for n, v in frame.env.items())
        test = None if has_effect else (ops, held)
        if not has_effect:
            return _trip(frame, node, stops)
        # what it does is done in the trip, and differentiated there: `while True: if not held: break`
        ctx.builder.ops.extend(ops)
        return _trip(frame, node, True, held)

    def build(trips: loops.Trips) -> ir.Op:
        # the test has arguments of its own, and asks for their extents itself
        ops, held = test or ((), ir.boolean(True))
        own = tuple(dataclasses.replace(a) for a in trips.args)
        cloner = ir.Cloner(dict(zip(trips.args, own, strict=True)))
        extents = [o for o in trips.ops if isinstance(o, ir.Extent) and any(o.array is a for a in trips.args)]
        tested = tuple(cloner.op(o) for o in (*extents, *ops))
        region, stopping = ir.Region(own, tested, (cloner.operand(held),)), stops or test is None
        is_endless = held == ir.boolean(True) and not stopping
        if is_endless and not any(isinstance(op, ir.Raise) for op in ir.walk(trips.body())):
            raise ctx.unsupported(
                "a loop that never ends",
                "Loop over the generator with `break`." if frame.giving else "Leave it by `break` or `return`.",
                why="All items of a generator without an end are asked for." if frame.giving else "",
                node=node.test,
            )
        return ir.While(
            inits=trips.inits, test=region, body=trips.body(), outs=trips.outs, stops=stopping, origin=origin
        )

    fault = control.fault_of_trips(frame, lambda: loops.carried_loop(frame, names, body, build))
    if fault is None:
        return
    if apart == MOST_APART:
        raise fault
    first = functools.partial(_by_itself, frame, node)
    _first_apart(frame, fault, condition(frame, node.test), first, lambda: _trips_while(frame, node, apart + 1))


def _del(frame: Frame, node: cst.Del) -> None:
    """Names are free again; what they stood for goes when nothing else stands for it."""
    is_many = isinstance(node.target, cst.Tuple)
    targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
    for target in targets:
        match target:
            case cst.Subscript(value=owner) if is_mutable(container := evaluate(frame, owner)):
                dicts_and_sets.delete(frame, container, subscript_entries(frame, target))
            case cst.Attribute(value=owner, attr=name):
                delete_attribute(frame, evaluate(frame, owner), Static(name.value))
            case cst.Name(value=name):
                if frame.lookup(name) is None:
                    what = f"`{name}` is not defined"
                    raise frame.ctx.unsupported(what, "Leave it out, or assign it first.", node=target)
                frame.store(name, Poison("", is_deleted=True))
            case _:
                what = "`del` of something that is not a name"
                raise frame.ctx.unsupported(what, "Leave it out.", node=target if is_many else node)


_COMPILERS = (numba.jit, numba.njit)


def _decorated(frame: Frame, node: cst.BaseExpression, value: Value) -> Value:
    """What a decorator makes of a function; those that give one with the same results leave it alone."""
    decorator = evaluate(frame, node.func if isinstance(node, cst.Call) else node)
    made = object_of(decorator)
    if any(made is one for one in _COMPILERS):
        return value
    if made is functools.cache or made is functools.lru_cache:
        function = object_of(value)
        return Static(dataclasses.replace(function, remembers=True)) if isinstance(function, LocalFunction) else value
    return frame.ctx.call(frame, evaluate(frame, node), [value], {})


def _function(frame: Frame, node: cst.FunctionDef) -> None:
    if node.asynchronous is not None:
        raise frame.ctx.unsupported("a coroutine inside a differentiated function", "Write a plain function.")
    value = local_function(frame, node)
    for each in reversed(node.decorators):
        value = _decorated(frame, each.decorator, value)
    frame.store(node.name.value, value)


def _with(frame: Frame, node: cst.With) -> None:
    """`with np.errstate(...)`: warnings are no part of the derivative; what other contexts do is not known."""
    ctx = frame.ctx
    for item in node.items:
        made = item.item if isinstance(item.item, cst.Call) else cst.Call(item.item)
        kind = evaluate(frame, made.func)
        context = object_of(kind)
        if context is numba.objmode:
            what, why = "`with objmode`", "adjit does not see code that Python's interpreter runs."
            raise ctx.unsupported(
                what, "Compute it before the call and pass it as an argument, or write a rule.", why=why
            )
        if context is not np.errstate:
            raise ctx.unsupported("`with` of this context", "Move it outside the differentiated function.")
        for argument in made.args:
            mode = evaluate(frame, argument.value)
            if not isinstance(mode, Static) or mode.value not in ("ignore", "warn"):
                raise ctx.unsupported("np.errstate that raises", "Test the condition, and raise.")
    block(frame, body_of(node.body))


def _global(frame: Frame, node: cst.Global) -> None:
    """A name of the module, which is read as if nothing were said; what is assigned to it is refused where it is."""
    for one in node.names:
        if one.name.value in frame.local_names:
            raise frame.ctx.unsupported(
                f"an assignment to the global `{one.name.value}`", "Pass it as an argument and return the new value."
            )


def _nonlocal(frame: Frame, node: cst.Nonlocal) -> None:
    """Variables of the function around, which is differentiated: they are in `frame.env`."""
    for one in node.names:
        if one.name.value not in frame.env:
            raise frame.ctx.unsupported(
                f"an assignment to `{one.name.value}` of a function around the differentiated one",
                "Pass it as an argument and return the new value.",
            )


_HANDLERS: dict[type, Callable[[Frame, Any], None]] = {
    cst.Assign: assignment,
    cst.AnnAssign: annotated_assignment,
    cst.AugAssign: augmented_assignment,
    cst.Return: _return,
    cst.Break: _leave,
    cst.Continue: _leave,
    cst.Expr: _expression,
    cst.Pass: _pass,
    cst.Assert: assertion,
    cst.Raise: raising,
    cst.Try: lambda frame, node: attempt(frame, node, block),
    cst.If: _if,
    cst.For: _loop,
    cst.While: _loop,
    cst.FunctionDef: _function,
    cst.Del: _del,
    cst.Match: lambda frame, node: match(frame, node, block),
    cst.With: _with,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.Import: importing,
    cst.ImportFrom: importing_from,
}

_REFUSED: dict[type, tuple[str, str]] = {
    cst.TryStar: ("`except*`", "Test the condition with `if` before the operation that may raise."),
    cst.ClassDef: ("a class inside a function", "Define it outside."),
}
