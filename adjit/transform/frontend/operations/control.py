"""Branches and loops in single-assignment form: which variables they change, and of what type those are.

A branch yields the variables on which its two sides differ. A loop carries every variable that its body assigns; what
is not needed is removed later. Types are found by trying: the body is elaborated with the types at entry, and again
with wider ones until they hold.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from numba import types

from adjit import errors
from adjit.notation import to_text
from adjit.transform import ir
from adjit.transform.frontend.heap import lists
from adjit.transform.frontend.heap.iterators import COUNTED
from adjit.transform.frontend.heap.join import (
    EMPTY,
    NOTHING,
    both_shapes,
    by_content,
    choice,
    common,
    converted,
    in_list,
    is_copied,
    leaves_as,
    note_escapes,
    unified,
)
from adjit.transform.frontend.heap.references import as_copy, as_reference, by_reference, held_by, mentions, new_cell
from adjit.transform.frontend.operations.seeded_generators import KINDS
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import ANYWHERE, Context, Frame, Guess, LocalFunction
from adjit.transform.frontend.values.invariant_extents import (
    fixed_extents,
    in_common,
    known_extents,
    of_extents,
    still_fixed,
)
from adjit.transform.frontend.values.unions import any_of, functions_in, is_option, is_text
from adjit.transform.frontend.values.values import (
    CELL,
    COMMON,
    LEAF,
    GrowableList,
    Optional,
    Poison,
    Record,
    Ref,
    Static,
    Structure,
    TupleValue,
    Union,
    Value,
    dereference,
    is_mutable,
    is_put_together,
    leaves_of,
    options_in,
    parts_of,
    rebuild,
    structure,
)
from adjit.transform.ir.types import array_type_of
from adjit.transform.source.syntax import walrus_names

BREAK, CONTINUE, RETURN, VALUE = "%break", "%continue", "%return", "%value"
# an exception was raised that is caught, the number of its class, and the object
RAISED, EXCEPTION, THROWN = "%raised", "%exception", "%thrown"
ENDED = "%ended"  # the test of a loop failed, where it stands in the trip
EXPRESSION = "%expression"  # the value of a conditional expression while its sides are elaborated
REDUCED = "%reduced"  # what functools.reduce has made so far
CHECKPOINTED = "%checkpointed"  # the value of a checkpointed call, as it leaves the loop that stands for the call
FLAGS = (BREAK, CONTINUE, RETURN, ENDED, RAISED)
CALLERS = "caller:"  # before the names of the variables of who runs through a generator, among those of the generator
_SPOKEN = {
    BREAK: "broke", CONTINUE: "skip", RETURN: "returned", ENDED: "ended", RAISED: "raised", EXCEPTION: "kind",
    THROWN: "error", VALUE: "result", EXPRESSION: "chosen", CHECKPOINTED: "result", REDUCED: "reduced",
}  # fmt: skip

Env = dict[str, Value]
Held = TypeVar("Held", bound=Value)


def _bare(name: str) -> str:
    """The name of a variable in the function that it belongs to."""
    return name.rpartition(":")[2]


def _is_flag(name: str) -> bool:
    return _bare(name) in FLAGS


def flag(frame: Frame, name: str) -> ir.Operand:
    value = frame.env.get(name, ir.boolean(False))
    assert isinstance(value, ir.Var | ir.Const)
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
        absent = ir.boolean(False) if _is_flag(name) else None
        a, b = (side.env.get(name, absent) for side in sides)
        if a is not None and (a is b or a == b):
            frame.env[name] = a
            continue
        if isinstance(a, Static) and isinstance(b, Static) and (options := any_of(functions_in(a), functions_in(b))):
            frame.env[name] = Union(options, condition)
            continue
        a = _from_before(frame, name, b) if a is None else a
        b = _from_before(frame, name, a) if b is None else b
        if name.startswith(CELL):
            a, b = _without_raised(ctx, sides, (a, b))
        is_alone = all(_is_alone(frame, name, side.env, side.put_away) for side in sides)
        frame.env[name] = _join(ctx, name, (a, b), sides, outs, is_alone)
        if is_alone:
            alone.append(name)
    for name in alone:
        frame.env[name] = as_reference(frame, frame.env[name])
    ctx.heap.escaped = set().union(*(side.put_away for side in sides))
    then_region, else_region = (side.region() for side in sides)
    ctx.builder.emit(ir.If(condition=condition, then=then_region, orelse=else_region, outs=tuple(outs)))
    for out, *incoming in zip(outs, *(side.yields for side in sides), strict=True):
        _note_phi(ctx, out, incoming)


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


def either_value(frame: Frame, condition: ir.Operand, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
    """`yes() if condition else no()`, with the variables that the side assigns which is taken."""
    found = _either_or_none(frame, condition, yes, no)
    assert found is not None
    return found


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


def of_option(frame: Frame, chosen: Union, run: Callable[[Value], Value]) -> Value:
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
    return made


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


def for_option(frame: Frame, value: Value, run: Callable[[Value], Value]) -> Value | None:
    """`run` of a value in which all that is chosen at run time, but functions, is one of its options; None if nothing
    is."""
    if isinstance(value, Union) and not all(map(_is_function, value.options)):
        return of_option(frame, value, run)
    if not isinstance(value, TupleValue):
        return None
    for place, item in enumerate(value.items):

        def whole(one: Value, k: int = place) -> Value:
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


def _from_before(frame: Frame, name: str, like: Value | None) -> Value | None:
    """What the trip before left in a variable that this one may not assign; None outside loops that assign it."""
    if name not in frame.earlier or like is None or isinstance(like, Poison):
        return None
    known = frame.earlier[name]
    if known is None:
        leaves = [_variable(name, leaf.type) for leaf in leaves_of(like)]
        known = frame.earlier[name] = rebuild(structure(like), leaves)
    return known


def _note_phi(ctx: Context, out: ir.Var, incoming: Sequence[ir.Operand]) -> None:
    if isinstance(out.type, types.Array):
        first, *rest = (known_extents(ctx, one) for one in incoming)
        for others in rest:
            first = in_common(first, others)
        shape = of_extents(ctx, out, first)
        ctx.new_array(out, shape, frozenset().union(*map(ctx.roots_of, incoming)))


def _join(
    ctx: Context,
    name: str,
    held: Sequence[Value | None],
    sides: Sequence[_Side],
    outs: list[ir.Var],
    is_alone: bool,
) -> Value:
    """What a variable holds after a branch; `held`: what each side leaves in it, of which one may be nothing.

    is_alone: of lists and objects, this is the only name.
    """
    known = [value for value in held if value is not None]
    poison = next((value for value in known if isinstance(value, Poison)), None)
    if poison is not None:
        return poison.elsewhere()
    envs = [side.env for side, value in zip(sides, held, strict=True) if value is not None]
    if name.startswith(CELL):
        # what a list holds is one list
        shape = by_content(ctx, (envs[0], known[0]), (envs[-1], known[-1]))
    else:
        shape = common(ctx, (envs[0], known[0]), (envs[-1], known[-1]), ctx.assumed.keeps_chosen and not is_alone)
    if shape is not None:
        named = held
        held = [in_list(side.env, shape, v) for side, v in zip(sides, held, strict=True)]
        is_copy = False
        for side, one, content in zip(sides, named, held, strict=True):
            is_taken = name.startswith(CELL) and shape.grows  # of which `sharing` knows
            if one is not None and content is not one and not is_alone and not is_taken:
                is_copied(ctx, side.env, one)
                is_copy = True
        known = [value for value in held if value is not None]
    found: list[list[ir.Operand]] = []
    for side, value in zip(sides, held, strict=True):
        if value is not None and shape is not None:
            with _at_end_of(ctx, side.ops):
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
            with _at_end_of(ctx, side.ops):
                side.yields.append(_brought(ctx, name, None if value is None else next(rest), type_))
        outs.append(_variable(name, type_))
        made.append(outs[-1])
        if isinstance(type_, types.Float) and any(_is_whole(one) or one in ctx.numbers.of_two_kinds for one in row):
            ctx.numbers.of_two_kinds.add(outs[-1])
    found_value = rebuild(shape, made)
    return as_copy(found_value) if is_copy else found_value


def _is_whole(value: ir.Operand) -> bool:
    return isinstance(value, ir.Var | ir.Const) and isinstance(value.type, types.Integer | types.Boolean)


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


def _is_alone(frame: Frame, name: str, env: Env, put_away: Collection[str]) -> bool:
    """Whether this is the only name of a list or an object, so that what becomes of it concerns nobody else."""
    value = env.get(name)
    if not isinstance(value, Ref) or value.key in put_away:
        return False
    others = (known for other in frame.ctx.frames if other is not frame for known in other.env.values())
    own = (known for n, known in env.items() if n != name)
    return not any(mentions(known, value) for known in itertools.chain(own, others))


@contextlib.contextmanager
def _at_end_of(ctx: Context, ops: list[ir.Op]) -> Iterator[None]:
    """What is emitted within it comes after these operations."""
    with ctx.builder.region() as more:
        yield
    ops.extend(more)


def _variable(name: str, type_: types.Type) -> ir.Var:
    name = _bare(name)
    if name.startswith("%"):
        spoken = "items" if name.startswith(CELL) else "count" if name.startswith(COUNTED) else _SPOKEN[name]
        return ir.Var(spoken, type_)
    return ir.Var(name, type_, user=True)


def _brought(ctx: Context, name: str, value: ir.Operand | None, type_: types.Type) -> ir.Operand:
    """`value` with the type that the join has; what a path does not assign is undefined there."""
    if value is EMPTY:
        return lists.empty_buffer(ctx, type_)
    if value is not None and value is not NOTHING:
        return converted(ctx, value, type_)
    out = _variable(name, type_)
    ctx.builder.emit(ir.Undefined(out=out))
    return out


# --------------------------------------------------------------------------------------------------------------- loops


class _Slot(NamedTuple):
    """A variable that a loop carries: how its value is put together and the types of its leaves; None if unknown."""

    shape: Structure | None
    types: tuple[types.Type, ...] = ()
    guessed: bool = False

    def variables(self, name: str) -> list[ir.Var]:
        return [_variable(name, type_) for type_ in self.types]


_GUESS = _Slot(LEAF, (types.float64,), guessed=True)


class Trips(NamedTuple):
    """What a loop is made of: what it carries before it, in a trip and after it, the operations of a trip, and what it
    yields."""

    inits: tuple[ir.Operand, ...]
    args: tuple[ir.Var, ...]
    ops: tuple[ir.Op, ...]
    yields: tuple[ir.Operand, ...]
    outs: tuple[ir.Var, ...]

    def body(self, *counter: ir.Var) -> ir.Region:
        return ir.Region((*counter, *self.args), self.ops, self.yields)


def carried_loop(
    frame: Frame,
    names: Sequence[str],
    body: Callable[[], Sequence[ir.Operand]],
    build: Callable[[Trips], ir.Op],
    count: Callable[[], ir.Operand] | None = None,
    is_certain: bool = False,
) -> None:
    """A loop that carries `names`.

    `body()` elaborates one trip in `frame.env` and returns what it yields besides the carried values; `build` makes the
    operation. `count`: the number of trips, where that is known at entry: for what they append there is room then.
    is_certain: there is a trip at least.
    """
    ctx = frame.ctx
    loop = object()
    rooms: dict[str, int] = {}  # how many items a trip appends at most to a list for which there is room
    fixed = fixed_extents(ctx, names, frame.env)
    moving: set[str] = set()  # lists that trips put into other memory
    before = dict(frame.env)
    before |= {name: held.elsewhere() for name in names if isinstance(held := before.get(name), Poison)}
    # what holds things of different kinds is not carried: the first trip would read those, and so who reads without one
    shared = (name for name in frame.shared if name in before and name not in names)
    names = [name for name in (*names, *shared) if not _is_poisoned(before.get(name))]
    slots = {name: _entry_slot(before.get(name)) for name in names}
    outer, outer_sought = frame.earlier, frame.sought
    sought: set[str] = set()
    # the variables that alone name a list or an object, before the loop and after a trip: it has a cell in each trip
    alone = {
        name: new_cell(frame)
        for name in names
        if name not in before or _is_alone(frame, name, before, ctx.heap.escaped)
    }
    heap, go_back = ctx.heap.snapshot(), ctx.calls_under_way()
    for _ in range(16):
        # a list that a trip makes is the same one when the trip is elaborated once more
        ctx.heap = heap.snapshot()
        args = {name: slot.variables(name) for name, slot in slots.items()}
        frame.env = dict(before)
        # what is assigned in an inner loop alone is the outer loop's as well
        earlier: dict[str, Value | None] = {
            n: None for n, s in slots.items() if s.shape is None and not _bare(n).startswith("%")
        }
        frame.earlier, frame.sought = {**outer, **earlier}, outer_sought | sought
        for name, slot in slots.items():
            if slot.shape is not None:
                frame.env[name] = rebuild(slot.shape, args[name])
                held = frame.env[name]
                if name in alone and is_mutable(held):
                    frame.env[name] = held_by(frame, alone[name], held)
                elif not name.startswith(CELL):
                    frame.env[name] = as_copy(held)
            elif not _is_flag(name):
                frame.env.pop(name, None)
        was_in_loop, frame.in_loop = frame.in_loop, True
        try:
            with ctx.builder.region() as ops:
                for name, group in args.items():
                    extents = fixed.get(name, [])
                    for k, arg in enumerate(group):
                        if isinstance(arg.type, types.Array):
                            shape = of_extents(ctx, arg, extents[k] if len(extents) == len(group) else ())
                            ctx.new_array(arg, shape, frozenset((ANYWHERE,)))
                ctx.loop.around.append(loop)
                ctx.loop.bodies.append((ops, frozenset(arg for group in args.values() for arg in group)))
                ctx.heap.rooms |= {(loop, name): tuple(args[name][:-1]) for name in rooms}
                extra = body()
        except Guess as guess:
            is_around = guess.name in outer_sought and guess.name not in slots
            if not is_around and (guess.name not in slots or slots[guess.name].shape is not None):
                raise
            go_back()
            if is_around:
                # the first trip around does not come here
                frame.env = before
                return
            if guess.name in sought:
                sought.discard(guess.name)
                slots[guess.name] = _GUESS
            else:
                # once more without what reads it, which is not reached in the first trip
                sought.add(guess.name)
            continue
        finally:
            ctx.loop.around.pop()
            ctx.loop.bodies.pop()
            frame.in_loop = was_in_loop
            asked = {n: frame.earlier[n] for n in earlier}
            frame.earlier, frame.sought = outer, outer_sought
        named = [name for name in alone if isinstance(frame.env.get(name), Ref)]
        if several := [name for name in named if not _is_alone(frame, name, frame.env, ctx.heap.escaped)]:
            alone = {name: cell for name, cell in alone.items() if name not in several}
            continue
        if sought:
            for name in sought:
                found = _entry_slot(frame.env.get(name))
                slots[name] = _GUESS if found.shape is None else found._replace(guessed=True)
            sought.clear()
            continue
        if gone := _lists_gone(before, frame.env, slots):
            slots = {name: slot for name, slot in slots.items() if name not in gone}
            continue
        own = {cell.key for cell in alone.values()}
        if more := {n: slot for n, slot in _lists_of(before, frame.env, slots).items() if n not in own}:
            slots |= more
            continue
        changed = (n for n in walrus_names(frame.source.node) if frame.env.get(n) != before.get(n))
        if more := {name: _entry_slot(before.get(name)) for name in sorted(changed) if name not in slots}:
            # comprehensions do not say what they assign
            slots |= more
            continue
        compared, afters = _compared(ctx, before, frame.env, slots, alone)
        if compared != slots:
            slots = compared
            continue
        wider = {
            name: _wider(ctx, loop, name, slot, afters[name], asked.get(name) is not None)
            for name, slot in slots.items()
        }
        if wider != slots:
            unread = {n: _entry_slot(asked.get(n)) for n, slot in slots.items() if slot.shape is None}
            # where the rest holds, what the body assigns before it reads it needs no second look
            is_settled = all(wider[n] == slots[n] for n in slots if n not in unread)
            if not is_settled or any(k.shape is not None and k != wider[n] for n, k in unread.items()):
                slots = wider
                continue
            for n in unread:
                slots[n] = wider[n]
                value = asked.get(n)
                if value is None:
                    args[n] = wider[n].variables(n)
                else:
                    args[n] = [leaf for leaf in leaves_of(value) if isinstance(leaf, ir.Var)]
        if (still := still_fixed(ctx, fixed, frame.env)) != fixed:
            fixed = still
            continue
        if moved := {name for name in rooms if not _stays(frame.env.get(name), args[name])}:
            moving |= moved
            rooms = {name: each for name, each in rooms.items() if name not in moved}
            continue
        if unfit := [name for name, slot in slots.items() if not _is_entered(ctx, before, name, slot)]:
            why = "It has values of different kinds before the loop and after an iteration."
            slots |= {name: _read_by_none(ctx, name, why) for name in unfit}
            continue
        if count is not None:
            found_room = {n: each for n, each in _rooms(ctx, slots, loop).items() if n not in moving and n in before}
            if found_room != rooms:
                rooms = found_room
                continue
        if is_certain and (anew := _made_anew(frame.env, slots)):
            slots |= anew
            args |= {name: slot.variables(name) for name, slot in anew.items()}
            before = {name: value for name, value in before.items() if name not in anew}
        # what goes into a list that grows in it, the loop must not change under another name
        ctx.loop.around.append(loop)
        for name, slot in slots.items():
            if slot.shape is not None and before.get(name) is not None:
                note_escapes(ctx, slot.shape, dereference(before, before[name]))
        ctx.loop.around.pop()
        _finish(frame, before, slots, args, ops, extra, build, rooms, count, alone)
        return
    fault = ctx.mismatch(
        "the types of the variables in this loop change from iteration to iteration",
        "Assign each variable before the loop with the type that it has after an iteration.",
    )
    fault.is_of_trips = True
    raise fault


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


def _lists_of(before: Env, after: Env, slots: Mapping[str, _Slot]) -> dict[str, _Slot]:
    """The lists and shared variables that a trip changed, and the lists that it made for a variable that the loop
    carries, which are not carried yet."""
    found = [n for n, v in before.items() if n.startswith(COMMON) and after.get(n) is not v]
    found += [part.key for name in slots for part in parts_of(after.get(name, ir.integer(0))) if isinstance(part, Ref)]
    return {n: _entry_slot(before.get(n)) for n in found if n not in slots and after.get(n) is not before.get(n)}


def _lists_gone(before: Env, after: Env, slots: Mapping[str, _Slot]) -> set[str]:
    """The lists of a trip that no variable has which the loop carries: with other types it makes others."""
    found = {part.key for n in slots for part in parts_of(after.get(n, ir.integer(0))) if isinstance(part, Ref)}
    return {n for n in slots if n.startswith(CELL) and n not in before and n not in found}


def _stays_chosen(
    ctx: Context, before: Env, held: tuple[Structure, Value], opened: tuple[Structure | None, Value]
) -> bool:
    """Whether a variable that a loop carries is one of several values, and not known by what is in these."""
    shape = choice(ctx, held[0], structure(held[1]))
    if not isinstance(shape, Union):
        return False
    if not all(part.key in before for part in parts_of(held[1]) if isinstance(part, Ref)):
        # what a trip makes is another one in the next
        return False
    by_content = None if opened[0] is None else both_shapes(ctx, opened[0], structure(opened[1]))
    return by_content is None or ctx.assumed.keeps_chosen


def _copies(ctx: Context, before: Env, values: Iterable[Value | None]) -> None:
    """Takes note of what a loop has copies of; what a trip makes is another list or object in the next one."""
    for part in (part for value in values if value is not None for part in parts_of(value)):
        if isinstance(part, Ref) and part.key in before:
            is_copied(ctx, before, part)


def _compared(
    ctx: Context, before: Env, after: Env, slots: dict[str, _Slot], alone: Collection[str]
) -> tuple[dict[str, _Slot], dict[str, Value | None]]:
    """What each variable holds before the loop and after a trip; where that is not one list, by what is in it."""
    own: dict[str, _Slot] = {}
    afters: dict[str, Value | None] = {}
    for name, slot in slots.items():
        value = after.get(name)
        if value is not None and slot.shape is not None and structure(value) != slot.shape:
            known = before.get(name)
            is_first = known is not None and slot.shape == structure(known)
            opened = _entry_slot(dereference(before, known)) if is_first and known is not None else slot
            content = dereference(after, value)
            if name.startswith(CELL) or not _stays_chosen(ctx, before, (slot.shape, value), (opened.shape, content)):
                _copies(ctx, before, (known, value) if name not in alone else ())
                slot, value = opened, content
        own[name], afters[name] = slot, value
    return own, afters


def _made_anew(after: Env, slots: Mapping[str, _Slot]) -> dict[str, _Slot]:
    """What each trip makes of variables that are of another kind before the loop, if no trip reads them first."""
    found = {name: after.get(name) for name, s in slots.items() if isinstance(s.shape, Poison)}
    return {
        name: _entry_slot(value)
        for name, value in found.items()
        if value is not None and not any(isinstance(part, Ref | Poison) for part in parts_of(value))
    }


def _stays(value: Value | None, args: Sequence[ir.Var]) -> bool:
    """Whether a list is in the same memory after a trip as before it."""
    return isinstance(value, GrowableList) and ir.same(value.buffers, args[:-1])


def _rooms(ctx: Context, slots: Mapping[str, _Slot], loop: object) -> dict[str, int]:
    """The lists of numbers that only the trips of this loop itself make longer, and by how much at most."""
    found: dict[str, int] = {}
    for name, grows in ctx.heap.grown_in.items():
        slot = slots.get(name)
        if slot is not None and isinstance(slot.shape, GrowableList) and grows:
            of_numbers = all(isinstance(t, types.Array) and t.ndim == 1 for t in slot.types[:-1])
            if of_numbers and all(each is loop for each in grows):
                found[name] = len(grows)
    return found


def _is_poisoned(value: Value | None) -> bool:
    """Whether it is of different kinds. (What was deleted is as what was never assigned.)"""
    return isinstance(value, Poison) and not value.is_deleted


def _entry_slot(value: Value | None) -> _Slot:
    if value is None or isinstance(value, Poison):
        return _Slot(None)
    return _Slot(structure(value), tuple(leaf.type for leaf in leaves_of(value)))


def _wider(ctx: Context, loop: object, name: str, slot: _Slot, value: Value | None, is_asked: bool) -> _Slot:
    """What a loop carries in a variable that a trip leaves so. `is_asked`: a trip hands on what the one before left."""
    if isinstance(value, Poison) and (slot.shape is not None or is_asked or not value.is_deleted):
        return _Slot(structure(value))
    if value is None or Poison in (type(value), type(slot.shape)):
        return slot
    found = _entry_slot(value)
    if slot.shape is None or (slot.guessed and (found.shape != slot.shape or found.types != slot.types)):
        return found
    assert found.shape is not None
    if _is_defined_anew(loop, slot.shape, found.shape):
        return _Slot(structure(Poison("It is a function that is defined in each iteration of a loop.")))
    shape = both_shapes(ctx, slot.shape, found.shape)
    if shape is None and not name.startswith(CELL):
        shape = choice(ctx, slot.shape, found.shape)
    are_put_together = is_put_together(slot.shape) and is_put_together(found.shape)
    if found.shape != slot.shape and not are_put_together and not isinstance(shape, Optional | Union):
        return _Slot(structure(Poison("It has values of different kinds in two iterations.", is_of_trips=True)))
    held = (rebuild(slot.shape, slot.variables(name)), value)
    with ctx.builder.region():
        mine, others = (None if shape is None else leaves_as(ctx, shape, each) for each in held)
    if shape is None or mine is None or others is None:
        if isinstance(value, Record) and value.of in KINDS:
            raise ctx.not_constant(
                "a random generator that is seeded in the function and draws in a loop",
                "Draw all numbers before the loop, with a size, or pass the generator as an argument.",
                why="Its numbers are drawn at compile time.",
            )
        return _read_by_none(ctx, name, "It has values of different kinds in two iterations.")
    merged: list[types.Type] = []
    for own, other in zip(mine, others, strict=True):
        both = unified(shape, own, other)
        if both is None:
            why = f"It is {to_text(own.type)} before the loop and {to_text(other.type)} after an iteration."
            return _read_by_none(ctx, name, why)
        merged.append(both)
    return _Slot(shape, tuple(merged), slot.guessed)


def _is_entered(ctx: Context, before: Env, name: str, slot: _Slot) -> bool:
    """Whether what a variable holds before a loop is put together as what the loop carries in it."""
    if slot.shape is None or isinstance(slot.shape, Poison):
        return True
    initial = in_list(before, slot.shape, before.get(name))
    if initial is None or isinstance(initial, Poison):
        return True
    with ctx.builder.region():
        return leaves_as(ctx, slot.shape, initial) is not None


def _is_defined_anew(loop: object, one: Structure, other: Structure) -> bool:
    """Whether a variable has another function each time that a trip is elaborated, of the same text."""
    first, second = (
        [option.value for option in options_in(shape) if isinstance(option, Static)] for shape in (one, other)
    )
    own = [each for each in first if isinstance(each, LocalFunction) and loop in each.loops]
    return any(isinstance(each, LocalFunction) and a.node is each.node and a != each for a in own for each in second)


def _read_by_none(ctx: Context, name: str, why: str) -> _Slot:
    """That of a variable that is of another kind after a trip: a trip may not read what the one before left in it."""
    if name.startswith(COMMON):
        what = "a list, a dictionary or an object" if name.startswith(CELL) else "a variable that functions share,"
        fault = ctx.not_constant(
            f"{what} whose values change their kind in a loop",
            "Keep items of one kind in it: numbers, arrays of one shape, lists of one length, or tuples of them.",
            why=why,
        )
        fault.is_of_trips = True
        raise fault
    if _bare(name).startswith("%"):
        raise ctx.mismatch(f"{_SPOKEN[_bare(name)]} of a loop has more than one type", "Keep to one type.", why=why)
    return _Slot(structure(Poison(why, is_of_trips=True)))


def _finish(
    frame: Frame,
    before: Env,
    slots: dict[str, _Slot],
    args: dict[str, list[ir.Var]],
    ops: list[ir.Op],
    extra: Sequence[ir.Operand],
    build: Callable[[Trips], ir.Op],
    rooms: Mapping[str, int],
    count: Callable[[], ir.Operand] | None,
    alone: Collection[str],
) -> None:
    ctx, after = frame.ctx, frame.env
    inits: list[ir.Operand] = []
    yields: list[ir.Operand] = []
    outs: dict[str, list[ir.Var]] = {}
    for name, slot in slots.items():
        if slot.shape is None:
            continue
        outs[name] = slot.variables(name)
        if isinstance(slot.shape, Poison):
            continue
        initial = in_list(before, slot.shape, before.get(name))
        if initial is None or isinstance(initial, Poison):
            initial = _from_before(frame, name, rebuild(slot.shape, args[name]))
        # control has not left when the loop is entered
        start: Sequence[ir.Operand | None] = [ir.boolean(False) if _is_flag(name) else None] * len(slot.types)
        if initial is not None:
            leaves = leaves_as(ctx, slot.shape, initial)
            assert leaves is not None
            start = leaves
        if name in rooms and count is not None:
            start = _with_room(frame, start, slot.types, rooms[name], count())
        inits += [_brought(ctx, name, leaf, type_) for leaf, type_ in zip(start, slot.types, strict=True)]
        with _at_end_of(ctx, ops):
            given = in_list(after, slot.shape, after.get(name))
            final = args[name] if given is None else leaves_as(ctx, slot.shape, given)
            assert final is not None
            yields += [_brought(ctx, name, leaf, type_) for leaf, type_ in zip(final, slot.types, strict=True)]
    flat_args = tuple(a for n, s in slots.items() if s.shape is not None for a in args[n])
    flat_outs = tuple(o for group in outs.values() for o in group)
    ctx.builder.emit(build(Trips(tuple(inits), flat_args, tuple(ops), (*yields, *extra), flat_outs)))
    frame.env = dict(before)
    for name, group in outs.items():
        shape = slots[name].shape
        assert shape is not None
        frame.env[name] = rebuild(shape, group)
        if name in alone:
            frame.env[name] = as_reference(frame, frame.env[name])
        elif not name.startswith(CELL):
            frame.env[name] = as_copy(frame.env[name])
    for out, *incoming in zip(flat_outs, inits, yields, strict=True):
        _note_phi(ctx, out, incoming)


def _with_room(
    frame: Frame, leaves: Sequence[ir.Operand | None], kinds: Sequence[types.Type], each: int, trips: ir.Operand
) -> Sequence[ir.Operand | None]:
    """The leaves of a list that grows, with room for so many more items in each trip."""
    ctx = frame.ctx
    *buffers, length = leaves
    assert length is not None
    more = scalars.scalar(ctx, operator.mul, (trips, ir.integer(each)))
    wanted = scalars.scalar(ctx, operator.add, (length, more), "capacity")
    made: list[ir.Operand | None] = []
    for buffer, kind in zip(buffers, kinds, strict=False):
        assert isinstance(kind, types.Array)
        is_first = buffer is None or buffer is EMPTY or isinstance(length, ir.Const)
        if is_first or buffer is None or array_type_of(buffer).dtype != kind.dtype:
            made.append(lists.roomy(ctx, None if buffer is EMPTY else buffer, kind, length, wanted))
            continue
        # loops in a loop make room again and again: twice as much each time
        known, room = buffer, ctx.shape(buffer)[0]
        doubled = scalars.scalar(ctx, operator.mul, (room, ir.integer(2)))
        capacity = scalars.scalar(ctx, max, (wanted, doubled), "capacity")
        is_enough = scalars.scalar(ctx, operator.ge, (room, wanted), "is_enough")
        moved = functools.partial(lists.roomy, ctx, known, kind, length, capacity)
        found = either_value(frame, is_enough, scalars.ready(known), moved)
        assert isinstance(found, ir.Var | ir.Const)
        made.append(found)
    return [*made, length]


def checkpointed(frame: Frame, call: Callable[[], Value]) -> Value:
    """The value of a call, as that of a loop of one trip, which the reverse sweep runs again.

    y = checkpoint(layer)(x, w)      for once in checkpoint(range(1)): y = layer(x, w)
    """
    ctx = frame.ctx
    outer = ctx.builder.origin

    def body() -> Sequence[ir.Operand]:
        value = materialise(ctx, call(), "result")
        fresh = (op for op in ctx.builder.ops if isinstance(op, ir.Alloc | ir.Copy | ir.Call))
        made = {out for op in fresh for out in op.results}
        for leaf in leaves_of(value):
            if isinstance(leaf.type, types.Array) and leaf not in made:
                raise ctx.unsupported(
                    "a checkpointed call that returns an array from outside",
                    "Return a copy, or write into an argument and return nothing.",
                    why="When it is recomputed, it would return another array.",
                )
        frame.env[CHECKPOINTED] = value
        ctx.builder.origin = outer
        return ()

    def build(trips: Trips) -> ir.Op:
        trip = trips.body(ir.Var("once", types.intp))
        return ir.For(stop=ir.integer(1), inits=trips.inits, body=trip, outs=trips.outs, snapshots=1, origin=outer)

    carried_loop(frame, (CHECKPOINTED,), body, build)
    return frame.env.pop(CHECKPOINTED)
