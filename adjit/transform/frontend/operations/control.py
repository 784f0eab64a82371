"""Branches in single-assignment form: which variables they change, and of what type those are.

In: a condition, and what either side does. Out: the branch, which yields the variables on which its two sides differ.
Besides: what is tried out, and forgotten if it does not come to a good end.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.frontend.heap import lists
from adjit.transform.frontend.heap.iterators import COUNTED
from adjit.transform.frontend.heap.join import (
    EMPTY,
    NOTHING,
    both_shapes,
    by_content,
    common,
    converted,
    in_list,
    leaves_as,
    note_copies,
    note_escapes,
    unified,
)
from adjit.transform.frontend.heap.references import as_copy, as_reference, by_reference, mentions
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.cells import CELL, Poison, Ref
from adjit.transform.frontend.values.dictionaries import Record
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Context, Frame, Guess, Held
from adjit.transform.frontend.values.invariant_extents import in_common, known_extents, of_extents
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.unions import Union, any_of, functions_in, is_option, is_text
from adjit.transform.frontend.values.values import Value, dereference, leaves_of, parts_of, rebuild, structure

BREAK, CONTINUE, RETURN, VALUE = "%break", "%continue", "%return", "%value"
# an exception was raised that is caught, the number of its class, and the object
RAISED, EXCEPTION, THROWN = "%raised", "%exception", "%thrown"
ENDED = "%ended"  # the test of a loop failed, where it stands in the trip
EXPRESSION = "%expression"  # the value of a conditional expression while its sides are elaborated
REDUCED = "%reduced"  # what functools.reduce has made so far
CHECKPOINTED = "%checkpointed"  # the value of a checkpointed call, as it leaves the loop that stands for the call
FLAGS = (BREAK, CONTINUE, RETURN, ENDED, RAISED)
CALLERS = "caller:"  # before the names of the variables of who runs through a generator, among those of the generator
SPOKEN = {
    BREAK: "broke", CONTINUE: "skip", RETURN: "returned", ENDED: "ended", RAISED: "raised", EXCEPTION: "kind",
    THROWN: "error", VALUE: "result", EXPRESSION: "chosen", CHECKPOINTED: "result", REDUCED: "reduced",
}  # fmt: skip

Env = dict[str, Value]


def bare_name(name: str) -> str:
    """The name of a variable in the function that it belongs to."""
    return name.rpartition(":")[2]


def is_flag(name: str) -> bool:
    return bare_name(name) in FLAGS


def flag(frame: Frame, name: str) -> ir.Operand:
    value = frame.env.get(name, ir.boolean(False))
    assert isinstance(value, ir.Operand)
    return value


def left(frame: Frame) -> ir.Operand:
    """Whether control has left the statements being elaborated: by break, continue, return, or what is caught."""
    found = [flag(frame, name) for name in FLAGS]
    if any(isinstance(f, ir.Const) and f.value for f in found):
        return ir.boolean(True)
    variables = [f for f in found if isinstance(f, ir.Var)]
    if not variables:
        return ir.boolean(False)
    result: ir.Operand = variables[0]
    for other in variables[1:]:
        result = complexes.branch(frame.ctx, result, lambda: ir.boolean(True), scalars.ready(other), "left")
    return result


# ------------------------------------------------------------------------------------------------------------ branches


class _Side(NamedTuple):
    """One side of a branch: its operations, the variables after it, and what it hands on."""

    ops: list[ir.Op]
    env: Env
    yields: list[ir.Operand]
    put_away: set[str]  # the lists and objects that lists which grow have taken

    def region(self) -> ir.Region:
        return ir.Region((), tuple(self.ops), tuple(self.yields))


def conditional(frame: Frame, condition: ir.Operand, then: Callable[[], None], orelse: Callable[[], None]) -> None:
    """`if condition: then() else: orelse()`; afterwards the environment holds what is true on both sides."""
    if isinstance(condition, ir.Const):
        (then if condition.value else orelse)()
        return
    ctx = frame.ctx
    before, origin = frame.env, ctx.builder.origin
    sides: list[_Side] = []
    put_away = ctx.heap.escaped
    for run in (then, orelse):
        frame.env, ctx.heap.escaped = dict(before), set(put_away)
        with aside(ctx) as ops:
            _run(frame, run)
        sides.append(_Side(ops, frame.env, [], ctx.heap.escaped))
    ctx.builder.origin = origin  # that of the last statement in a branch until now
    frame.env = {}
    outs: list[ir.Var] = []
    alone: list[str] = []  # the variables that alone name a list or an object
    for name in dict.fromkeys(name for side in sides for name in side.env):
        absent = ir.boolean(False) if is_flag(name) else None
        a, b = (side.env.get(name, absent) for side in sides)
        if a is not None and (a is b or a == b):
            frame.env[name] = a
            continue
        if isinstance(a, Static) and isinstance(b, Static) and (options := any_of(functions_in(a), functions_in(b))):
            frame.env[name] = Union(options, condition)
            continue
        a = find_before(frame, name, b) if a is None else a
        b = find_before(frame, name, a) if b is None else b
        if name.startswith(CELL):
            a, b = _without_raised(ctx, sides, (a, b))
        is_only = all(is_alone(frame, name, side.env, side.put_away) for side in sides)
        frame.env[name] = _join(frame, name, (a, b), sides, outs, is_only)
        if is_only:
            alone.append(name)
    for name in alone:
        frame.env[name] = as_reference(frame, frame.env[name])
    ctx.heap.escaped = set().union(*(side.put_away for side in sides))
    then_region, else_region = (side.region() for side in sides)
    ctx.builder.emit(ir.If(condition=condition, then=then_region, orelse=else_region, outs=tuple(outs)))
    for out, *incoming in zip(outs, *(side.yields for side in sides), strict=True):
        note_phi(ctx, out, incoming)


@contextlib.contextmanager
def aside(ctx: Context) -> Iterator[list[ir.Op]]:
    """Operations in a list of their own, which run at most once where it is put."""
    ctx.loop.sides += 1
    try:
        with ctx.builder.region() as ops:
            yield ops
    finally:
        ctx.loop.sides -= 1


def unless_left(frame: Frame, run: Callable[[], None]) -> None:
    """Runs what comes next, unless control has left: by a statement before, or as a call has raised what is caught."""

    def gone() -> None:
        if all(flag(frame, name) == ir.boolean(False) for name in FLAGS if name != RAISED):
            frame.env[RAISED] = ir.boolean(True)

    conditional(frame, left(frame), gone if isinstance(flag(frame, RAISED), ir.Var) else lambda: None, run)


def either_value(frame: Frame, condition: ir.Operand, yes: Callable[[], Held], no: Callable[[], Held]) -> Held:
    """`yes() if condition else no()`, with the variables that the side assigns which is taken."""
    return _either_or_none(frame, condition, yes, no)  # type: ignore[return-value]


def _either_or_none(
    frame: Frame, condition: ir.Operand, yes: Callable[[], Value | None], no: Callable[[], Value | None]
) -> Value | None:
    """The same, of sides that may have no value, as they raise; None if neither has one."""
    outer = frame.env.pop(EXPRESSION, None)

    def side(value: Callable[[], Value | None]) -> None:
        if (made := value()) is not None:
            frame.env[EXPRESSION] = by_reference(materialise(frame.ctx, made))

    conditional(frame, condition, functools.partial(side, yes), functools.partial(side, no))
    found = frame.env.pop(EXPRESSION, None)
    found = None if found is None else dereference(frame.env, found)
    if outer is not None:
        frame.env[EXPRESSION] = outer
    if isinstance(found, Poison):
        raise frame.ctx.not_constant(
            "the two sides of this expression are of different kinds",
            "Give both sides one type.",
            why=found.why,
        )
    return found


def of_option(frame: Frame, chosen: Union, run: Callable[[Value], Held]) -> Held:
    """`run` of what is chosen at run time: a branch for each option but the last. One that Python would refuse to call
    so raises TypeError there, as it runs."""
    faults: list[errors.WrongCall] = []

    def own(option: Value) -> Value | None:
        forget = as_it_is(frame)
        try:
            with aside(frame.ctx) as ops:
                found = run(option)
        except errors.WrongCall as fault:
            forget()
            faults.append(fault)
            frame.ctx.builder.emit(ir.Raise(exception=TypeError, args=(fault.what,)))
            return None
        frame.ctx.builder.ops.extend(ops)
        return found

    def at(place: int) -> Value | None:
        first = functools.partial(own, chosen.options[place])
        if place + 1 == len(chosen.options):
            return first()
        is_first = is_option(frame.ctx, chosen, place)
        return _either_or_none(frame, is_first, first, functools.partial(at, place + 1))

    made = at(0)
    if made is None:
        raise faults[0]
    return made  # type: ignore[return-value]


def do_for_option(frame: Frame, value: Value, run: Callable[[Value], None]) -> bool:
    """Runs something with what is chosen at run time, in a branch for each option; whether the value is that."""
    if not isinstance(value, Union):
        return False

    def at(place: int) -> None:
        own = functools.partial(run, value.options[place])
        if place + 1 == len(value.options):
            own()
        else:
            conditional(frame, is_option(frame.ctx, value, place), own, functools.partial(at, place + 1))

    at(0)
    return True


def for_option(frame: Frame, value: Value, run: Callable[[Value], Held]) -> Held | None:
    """`run` of a value in which all that is chosen at run time, but functions, is one of its options; None if nothing
    is."""
    if isinstance(value, Union) and not all(map(_is_function, value.options)):
        return of_option(frame, value, run)
    if not isinstance(value, TupleValue):
        return None
    for place, item in enumerate(value.items):

        def whole(one: Value, k: int = place) -> Held:
            made = replace(value, items=(*value.items[:k], one, *value.items[k + 1 :]))
            found = for_option(frame, made, run)
            return run(made) if found is None else found

        if (found := for_option(frame, item, whole)) is not None:
            return found
    return None


def _is_function(value: Value) -> bool:
    return isinstance(value, Static) and not is_text(value)


def _run(frame: Frame, run: Callable[[], None]) -> None:
    """One side of a branch; nothing, where it reads what is assigned later on and has no type yet."""
    before, go_back = dict(frame.env), frame.ctx.calls_under_way()
    try:
        run()
    except Guess as guess:
        if guess.name not in frame.sought:
            raise
        go_back()
        frame.env = before


def find_before(frame: Frame, name: str, like: Value | None) -> Value | None:
    """What the trip before left in a variable that this one may not assign; None outside loops that assign it."""
    if name not in frame.earlier or like is None or isinstance(like, Poison):
        return None
    known = frame.earlier[name]
    if known is None:
        leaves = [leaf_variable(name, leaf.type) for leaf in leaves_of(like)]
        known = frame.earlier[name] = rebuild(structure(like), leaves)
    return known


def note_phi(ctx: Context, out: ir.Var, incoming: Sequence[ir.Operand]) -> None:
    if isinstance(out.type, types.Array):
        first, *rest = (known_extents(ctx, one) for one in incoming)
        for others in rest:
            first = in_common(first, others)
        shape = of_extents(ctx, out, first)
        ctx.new_array(out, shape, frozenset().union(*map(ctx.roots_of, incoming)))


def _join(
    frame: Frame,
    name: str,
    held: Sequence[Value | None],
    sides: Sequence[_Side],
    outs: list[ir.Var],
    is_only: bool,
) -> Value:
    """What a variable holds after a branch; `held`: what each side leaves in it, of which one may be nothing.

    is_only: of lists and objects, this is the only name.
    """
    ctx = frame.ctx
    known = [value for value in held if value is not None]
    poison = next((value for value in known if isinstance(value, Poison)), None)
    if poison is not None:
        return poison.elsewhere()
    envs = [side.env for side, value in zip(sides, held, strict=True) if value is not None]
    if name.startswith(CELL):
        # what a list holds is one list
        shape = by_content(ctx, (envs[0], known[0]), (envs[-1], known[-1]))
    else:
        shape = common(ctx, (envs[0], known[0]), (envs[-1], known[-1]), ctx.assumed.keeps_chosen and not is_only)
    if shape is not None:
        named = held
        held = [in_list(side.env, shape, v) for side, v in zip(sides, held, strict=True)]
        is_taken = name.startswith(CELL) and shape.grows  # of which `sharing` knows
        copied = [] if is_taken else [*zip(sides, named, held, strict=True)]
        known = [value for value in held if value is not None]
    found: list[list[ir.Operand]] = []
    for side, value in zip(sides, held, strict=True):
        if value is not None and shape is not None:
            with at_end_of(ctx, side.ops):
                ctx.heap.escaped = side.put_away
                note_escapes(ctx, shape, value)
                leaves = leaves_as(ctx, shape, value)
            found += [] if leaves is None else [leaves]
    if shape is None or len(found) < len(known):
        return Poison("It has values of different kinds on two paths.")
    made: list[ir.Operand] = []
    for row in zip(*found, strict=True):
        if len(row) == 2 and row[0] == row[1] and row[0] is not EMPTY and row[0] is not NOTHING:
            made.append(row[0])
            continue
        type_ = unified(shape, row[0], row[-1])
        if type_ is None:
            return Poison(f"It is {row[0].type} on one path and {row[-1].type} on another.")
        rest = iter(row)
        for side, value in zip(sides, held, strict=True):
            with at_end_of(ctx, side.ops):
                side.yields.append(convert_leaf(ctx, name, None if value is None else next(rest), type_))
        outs.append(leaf_variable(name, type_))
        made.append(outs[-1])
        if isinstance(type_, types.Float) and any(_is_whole(one) or one in ctx.numbers.of_two_kinds for one in row):
            ctx.numbers.of_two_kinds.add(outs[-1])
    found_value = rebuild(shape, made)
    return _with_copies_noted(frame, found_value, copied, is_only)


def _with_copies_noted(
    frame: Frame, value: Value, sides: Sequence[tuple[_Side, Value | None, Value | None]], is_only: bool
) -> Value:
    """A value after a branch, its lists and objects known as copies where they are copies of what a side has."""
    opened = [(side.env, one, content) for side, one, content in sides if one is not None and content is not one]
    if is_only:
        has_copies = [note_inner_copies(frame, *each) for each in opened]
        return with_copies(value) if any(has_copies) else value
    for env, one, content in opened:
        note_copies(frame.ctx, env, one, content)
    return as_copy(value) if opened else value


def _is_whole(value: ir.Operand) -> bool:
    return isinstance(value, ir.Operand) and isinstance(value.type, types.Integer | types.Boolean)


def _without_raised(
    ctx: Context, sides: Sequence[_Side], held: tuple[Value | None, Value | None]
) -> tuple[Value | None, Value | None]:
    """What is in a list or object on each side; nothing on one that has raised, where it is of another kind: who made
    it does not have it then."""
    one, other = held
    if one is None or other is None or both_shapes(ctx, structure(one), structure(other)) is not None:
        return held
    if sides[0].env.get(RAISED) == ir.boolean(True):
        return None, other
    return (one, None) if sides[1].env.get(RAISED) == ir.boolean(True) else held


def is_alone(frame: Frame, name: str, env: Env, put_away: Collection[str]) -> bool:
    """Whether this is the only name of a list or an object, so that what becomes of it concerns nobody else."""
    value = env.get(name)
    if not isinstance(value, Ref) or value.key in put_away:
        return False
    return not _is_named(frame, env, value, name)


def _is_named(frame: Frame, env: Env, value: Ref, but: str) -> bool:
    """Whether something else than what stands under one key names a list or an object."""
    others = (known for other in frame.ctx.frames if other is not frame for known in other.env.values())
    own = (known for name, known in env.items() if name != but)
    return any(mentions(known, value) for known in itertools.chain(own, others))


def with_copies(value: Value) -> Value:
    """A list or an object in which lists and objects are copies."""
    return value.mapped(as_copy) if isinstance(value, TupleValue | Record) else value


def note_inner_copies(frame: Frame, env: Env, value: Value | None, content: Value | None) -> bool:
    """Takes note of copies of lists and objects that are in one which has no other name, and have names themselves;
    whether there are any."""
    if not isinstance(value, Ref) or not isinstance(state := env.get(value.key), TupleValue | Record):
        return False
    found = False
    held = content.items if isinstance(content, TupleValue | Record) else ()
    for k, item in enumerate(state.items):
        own = held[k] if k < len(held) else None
        for part in parts_of(item) if item != own else ():
            if isinstance(part, Ref):
                inner = own if part is item else None
                if _is_named(frame, env, part, value.key):
                    note_copies(frame.ctx, env, part, inner)
                    found = True
                else:
                    found |= note_inner_copies(frame, env, part, inner)
    return found


@contextlib.contextmanager
def at_end_of(ctx: Context, ops: list[ir.Op]) -> Iterator[None]:
    """What is emitted within it comes after these operations."""
    with ctx.builder.region() as more:
        yield
    ops.extend(more)


def leaf_variable(name: str, type_: types.Type) -> ir.Var:
    name = bare_name(name)
    if name.startswith("%"):
        spoken = "items" if name.startswith(CELL) else "count" if name.startswith(COUNTED) else SPOKEN[name]
        return ir.Var(spoken, type_)
    return ir.Var(name, type_, user=True)


def convert_leaf(ctx: Context, name: str, value: ir.Operand | None, type_: types.Type) -> ir.Operand:
    """`value` with the type that the join has; what a path does not assign is undefined there."""
    if value is EMPTY:
        return lists.empty_buffer(ctx, type_)
    if value is not None and value is not NOTHING:
        return converted(ctx, value, type_)
    out = leaf_variable(name, type_)
    ctx.builder.emit(ir.Undefined(out=out))
    return out


def fault_of_trips(frame: Frame, run: Callable[[], None]) -> errors.AdjitError | None:
    """Runs a loop; the fault, if a variable is of another type in its first trip than later. All that it has done is
    forgotten then."""
    return _excused(frame, run, lambda fault: fault.is_of_trips)


def tried(frame: Frame, run: Callable[[], None], is_strict: bool = False) -> bool:
    """Runs what may turn out to want constants; whether it did not. What it has done until then is forgotten.

    `is_strict`: the keys of dictionaries are wanted as constants, too.
    """
    ctx = frame.ctx
    wants_known = ctx.wants_known
    try:
        ctx.wants_known = wants_known or is_strict
        return _excused(frame, run, lambda fault: fault.wants_constant) is None
    finally:
        ctx.wants_known = wants_known


def _excused(
    frame: Frame, run: Callable[[], None], is_excused: Callable[[errors.AdjitError], bool]
) -> errors.AdjitError | None:
    """Runs something; the fault that it raises, if that is excused, with all that it has done until then forgotten."""
    forget = as_it_is(frame)
    try:
        with aside(frame.ctx) as ops:
            run()
    except errors.Unsupported as fault:
        if not is_excused(fault):
            raise
        forget()
        return fault
    frame.ctx.builder.ops.extend(ops)
    return None


def unless_changing(frame: Frame, run: Callable[[], Held]) -> Callable[[], Held] | None:
    """What gives the value of `run`, with its operations where that is called; None where variables, lists or objects
    change on the way, which they may only do where it runs: all that it has done is forgotten then."""
    ctx, before, forget = frame.ctx, dict(frame.env), as_it_is(frame)
    with aside(ctx) as ops:
        value = run()
    if frame.env != before:
        forget()
        return None

    def place() -> Held:
        ctx.builder.ops.extend(ops)
        return value

    return place


def is_short(frame: Frame, run: Callable[[], None], most: int) -> bool:
    """Runs what makes no more operations than that; whether it does not. What makes more is forgotten."""
    ctx = frame.ctx
    forget = as_it_is(frame)
    with aside(ctx) as ops:
        run()
    if len(ir.Region((), tuple(ops), ()).inside) > most:
        forget()
        return False
    ctx.builder.ops.extend(ops)
    return True


def as_it_is(frame: Frame) -> Callable[[], None]:
    """What brings all back to where it is now."""
    ctx = frame.ctx
    before, state = dict(frame.env), (frame.in_loop, frame.earlier, frame.sought)
    held = ctx.loop.in_prange, ctx.loop.trips, len(ctx.names.bound), len(ctx.decomposed)
    of_frame = frame.local_names, frame.comprehensions, frame.catching, frame.handling, frame.source
    heap, go_back = ctx.heap.snapshot(), ctx.calls_under_way()

    def forget() -> None:
        frame.env, (frame.in_loop, frame.earlier, frame.sought) = before, state
        ctx.loop.in_prange, ctx.loop.trips, bound, rules = held
        ctx.heap = heap
        go_back()
        frame.local_names, frame.comprehensions, frame.catching, frame.handling, frame.source = of_frame
        del ctx.names.bound[bound:], ctx.decomposed[rules:]

    return forget
