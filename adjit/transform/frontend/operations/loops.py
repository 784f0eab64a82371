"""Loops in single-assignment form: what they carry from one iteration to the next, and of what type that is.

In: the names that the body of a loop assigns, and how it is read. Out: the loop, and what its variables hold after it.

A loop carries every variable that its body assigns; what is not needed is removed later. Types are found by trying: the
body is read with the types at entry, and again with wider ones until they hold.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from numba import types

from adjit.notation import to_text
from adjit.transform import ir
from adjit.transform.frontend.heap import lists
from adjit.transform.frontend.heap.join import (
    EMPTY,
    both_shapes,
    choice,
    in_list,
    leaves_as,
    note_copies,
    note_escapes,
    open_alike,
    unified,
)
from adjit.transform.frontend.heap.references import as_copy, as_reference, held_by, new_cell
from adjit.transform.frontend.operations.control import (
    CHECKPOINTED,
    SPOKEN,
    at_end_of,
    bare_name,
    convert_leaf,
    either_value,
    find_before,
    is_alone,
    is_flag,
    leaf_variable,
    note_inner_copies,
    note_phi,
    with_copies,
)
from adjit.transform.frontend.operations.seeded_generators import KINDS
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.cells import CELL, COMMON, Poison, Ref
from adjit.transform.frontend.values.dictionaries import Instance, is_mutable
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import ANYWHERE, Context, Frame, Guess, LocalFunction
from adjit.transform.frontend.values.invariant_extents import fixed_extents, of_extents, still_fixed
from adjit.transform.frontend.values.lists import GrowableList
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.structures import is_put_together, options_in
from adjit.transform.frontend.values.unions import Optional, Union
from adjit.transform.frontend.values.values import (
    LEAF,
    Structure,
    Value,
    dereference,
    leaves_of,
    parts_of,
    rebuild,
    structure,
)
from adjit.transform.ir.types import array_type_of
from adjit.transform.source.syntax import walrus_names

MOST_READINGS = 16
Env = dict[str, Value]


class _Slot(NamedTuple):
    """A variable that a loop carries: how its value is put together and the types of its leaves; None if unknown."""

    shape: Structure | None
    types: tuple[types.Type, ...] = ()
    guessed: bool = False

    def variables(self, name: str) -> list[ir.Var]:
        return [leaf_variable(name, type_) for type_ in self.types]


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
    loop = _Loop(frame, names, count)
    for _ in range(MOST_READINGS):
        try:
            is_read = loop.read(body)
        except _NeverEntered:
            return
        if is_read and not loop.is_changed():
            loop.finish(build, is_certain)
            return
    fault = frame.ctx.mismatch(
        "the types of the variables in this loop change from iteration to iteration",
        "Assign each variable before the loop with the type that it has after an iteration.",
    )
    fault.is_of_trips = True
    raise fault


class _NeverEntered(Exception):
    """The loop reads what the loop around it has not assigned: the first trip around does not come here."""


class _Loop:
    """A loop whose body is read until what a trip leaves is as what it began with.

    slots:  the variables that it carries, as far as that is known
    fixed:  the extents of arrays in them that stay the same
    rooms:  how many items a trip appends at most to a list for which there is room
    moving: lists that trips put into other memory
    sought: variables that are read before a trip assigns them, of no type yet
    alone:  the variables that alone name a list or an object, before the loop and after a trip: its cell in each trip
    with_copies: those of them that have copies of lists and objects in it

    Of the last reading: args, the operands of the slots; ops and extra, its operations and what it yields besides;
    asked, what it read of an earlier trip; afters, what each variable holds after it.
    """

    def __init__(self, frame: Frame, names: Sequence[str], count: Callable[[], ir.Operand] | None):
        self.frame, self.ctx, self.count = frame, frame.ctx, count
        self.key = object()
        self.fixed = fixed_extents(self.ctx, names, frame.env)
        self.before = dict(frame.env)
        self.before |= {n: held.elsewhere() for n in names if isinstance(held := self.before.get(n), Poison)}
        # what holds things of different kinds is not carried: the first trip would read those, and so who reads without
        # one
        shared = (name for name in frame.shared if name in self.before and name not in names)
        names = [name for name in (*names, *shared) if not _is_poisoned(self.before.get(name))]
        self.slots = {name: _entry_slot(self.before.get(name)) for name in names}
        self.rooms: dict[str, int] = {}
        self.moving: set[str] = set()
        self.sought: set[str] = set()
        self.outer, self.outer_sought = frame.earlier, frame.sought
        self.alone = {
            name: new_cell(frame)
            for name in names
            if name not in self.before or is_alone(frame, name, self.before, self.ctx.heap.escaped)
        }
        self.with_copies: set[str] = set()
        self.heap, self.go_back = self.ctx.heap.snapshot(), self.ctx.calls_under_way()
        self.args: dict[str, list[ir.Var]] = {}
        self.ops: list[ir.Op] = []
        self.extra: Sequence[ir.Operand] = ()
        self.asked: dict[str, Value | None] = {}
        self.afters: dict[str, Value | None] = {}

    # ------------------------------------------------------------------------------------------------------- reading

    def read(self, body: Callable[[], Sequence[ir.Operand]]) -> bool:
        """Reads a trip; whether it came to its end. (Otherwise more is known of what it reads first.)"""
        frame, ctx = self.frame, self.ctx
        # a list that a trip makes is the same one when the trip is read once more
        ctx.heap = self.heap.snapshot()
        self.args = {name: slot.variables(name) for name, slot in self.slots.items()}
        # what is assigned in an inner loop alone is the outer loop's as well
        earlier = [n for n, s in self.slots.items() if s.shape is None and not bare_name(n).startswith("%")]
        frame.earlier, frame.sought = {**self.outer, **dict.fromkeys(earlier)}, self.outer_sought | self.sought
        frame.env = self._at_start()
        was_in_loop, frame.in_loop = frame.in_loop, True
        try:
            with ctx.builder.region() as self.ops:
                self._note_arrays()
                ctx.loop.around.append(self.key)
                carried = frozenset(arg for group in self.args.values() for arg in group)
                ctx.loop.bodies.append((self.ops, carried))
                ctx.heap.rooms |= {(self.key, name): tuple(self.args[name][:-1]) for name in self.rooms}
                self.extra = body()
        except Guess as guess:
            self._learn(guess)
            return False
        finally:
            ctx.loop.around.pop()
            ctx.loop.bodies.pop()
            frame.in_loop = was_in_loop
            self.asked = {name: frame.earlier[name] for name in earlier}
            frame.earlier, frame.sought = self.outer, self.outer_sought
        return True

    def _at_start(self) -> Env:
        """What the variables hold when a trip begins."""
        env = self.frame.env = dict(self.before)
        for name, slot in self.slots.items():
            if slot.shape is not None:
                held = env[name] = rebuild(slot.shape, self.args[name])
                held = with_copies(held) if name in self.with_copies else held
                if name in self.alone and is_mutable(held):
                    env[name] = held_by(self.frame, self.alone[name], held)
                elif not name.startswith(CELL):
                    env[name] = as_copy(held)
            elif not is_flag(name):
                env.pop(name, None)
        return env

    def _note_arrays(self) -> None:
        """Takes note of the shapes of the arrays that are carried."""
        for name, group in self.args.items():
            extents = self.fixed.get(name, [])
            for k, arg in enumerate(group):
                if isinstance(arg.type, types.Array):
                    shape = of_extents(self.ctx, arg, extents[k] if len(extents) == len(group) else ())
                    self.ctx.new_array(arg, shape, frozenset((ANYWHERE,)))

    def _learn(self, guess: Guess) -> None:
        """A variable was read that has no type yet."""
        name = guess.name
        is_around = name in self.outer_sought and name not in self.slots
        if not is_around and (name not in self.slots or self.slots[name].shape is not None):
            raise guess
        self.go_back()
        if is_around:
            self.frame.env = self.before
            raise _NeverEntered from None
        if name in self.sought:
            self.sought.discard(name)
            self.slots[name] = _GUESS
        else:
            # once more without what reads it, which is not reached in the first trip
            self.sought.add(name)

    # ------------------------------------------------------------------------------------------------------ widening

    def is_changed(self) -> bool:
        """Whether a trip leaves something else than it began with, so that it has to be read again."""
        steps = (
            self._has_other_names, self._has_sought, self._has_lost_lists, self._has_more_variables,
            self._has_other_contents, self._has_wider_types, self._has_other_extents, self._has_moved_lists,
            self._is_not_entered, self._has_other_room,
        )  # fmt: skip
        return any(step() for step in steps)

    def _has_other_names(self) -> bool:
        """Whether something else names a list or an object after a trip."""
        env = self.frame.env
        named = (name for name in self.alone if isinstance(env.get(name), Ref))
        several = {name for name in named if not is_alone(self.frame, name, env, self.ctx.heap.escaped)}
        self.alone = {name: cell for name, cell in self.alone.items() if name not in several}
        return bool(several)

    def _has_sought(self) -> bool:
        for name in self.sought:
            found = _entry_slot(self.frame.env.get(name))
            self.slots[name] = _GUESS if found.shape is None else found._replace(guessed=True)
        was_sought = bool(self.sought)
        self.sought.clear()
        return was_sought

    def _has_lost_lists(self) -> bool:
        gone = _lists_gone(self.before, self.frame.env, self.slots)
        self.slots = {name: slot for name, slot in self.slots.items() if name not in gone}
        return bool(gone)

    def _has_more_variables(self) -> bool:
        """Whether a trip changes lists, or what comprehensions assign, that the loop does not carry yet."""
        before, env = self.before, self.frame.env
        own = {cell.key for cell in self.alone.values()}
        more = {name: slot for name, slot in _lists_of(before, env, self.slots).items() if name not in own}
        if not more:
            changed = (n for n in walrus_names(self.frame.source.node) if env.get(n) != before.get(n))
            more = {name: _entry_slot(before.get(name)) for name in sorted(changed) if name not in self.slots}
        self.slots |= more
        return bool(more)

    def _has_other_contents(self) -> bool:
        slots, self.afters = _compared(
            self.frame, self.before, self.frame.env, self.slots, self.alone, self.with_copies
        )
        return self._replaces(slots)

    def _replaces(self, slots: dict[str, _Slot]) -> bool:
        was, self.slots = self.slots, slots
        return was != slots

    def _has_wider_types(self) -> bool:
        slots, asked = self.slots, self.asked
        wider = {
            name: _wider(self.ctx, self.key, name, slot, self.afters[name], asked.get(name) is not None)
            for name, slot in slots.items()
        }
        if wider == slots:
            return False
        unread = {name: _entry_slot(asked.get(name)) for name, slot in slots.items() if slot.shape is None}
        # where the rest holds, what the body assigns before it reads it needs no second look
        is_settled = all(wider[name] == slots[name] for name in slots if name not in unread)
        self.slots = wider
        if not is_settled or any(slot.shape is not None and slot != wider[name] for name, slot in unread.items()):
            return True
        for name in unread:
            value = asked.get(name)
            leaves = wider[name].variables(name) if value is None else leaves_of(value)
            self.args[name] = [leaf for leaf in leaves if isinstance(leaf, ir.Var)]
        return False

    def _has_other_extents(self) -> bool:
        was, self.fixed = self.fixed, still_fixed(self.ctx, self.fixed, self.frame.env)
        return was != self.fixed

    def _has_moved_lists(self) -> bool:
        moved = {name for name in self.rooms if not _stays(self.frame.env.get(name), self.args[name])}
        self.moving |= moved
        self.rooms = {name: each for name, each in self.rooms.items() if name not in moved}
        return bool(moved)

    def _is_not_entered(self) -> bool:
        """Whether a variable is of another kind before the loop."""
        unfit = [name for name, slot in self.slots.items() if not _is_entered(self.ctx, self.before, name, slot)]
        why = "It has values of different kinds before the loop and after an iteration."
        self.slots |= {name: _read_by_none(self.ctx, name, why) for name in unfit}
        return bool(unfit)

    def _has_other_room(self) -> bool:
        if self.count is None:
            return False
        found = _rooms(self.ctx, self.slots, self.key).items()
        rooms = {name: each for name, each in found if name not in self.moving and name in self.before}
        was, self.rooms = self.rooms, rooms
        return was != rooms

    # ------------------------------------------------------------------------------------------------------ the loop

    def finish(self, build: Callable[[Trips], ir.Op], is_certain: bool) -> None:
        """Emits the loop; afterwards the environment holds what it leaves."""
        frame, ctx, after = self.frame, self.ctx, self.frame.env
        if is_certain and (anew := _made_anew(after, self.slots)):
            self.slots |= anew
            self.args |= {name: slot.variables(name) for name, slot in anew.items()}
            self.before = {name: value for name, value in self.before.items() if name not in anew}
        self._note_escapes()
        shapes = {name: slot.shape for name, slot in self.slots.items() if slot.shape is not None}
        outs = {name: self.slots[name].variables(name) for name in shapes}
        inits: list[ir.Operand] = []
        yields: list[ir.Operand] = []
        for name, shape in shapes.items():
            if isinstance(shape, Poison):
                continue
            kinds = self.slots[name].types
            start = self._start(name, shape)
            inits += [convert_leaf(ctx, name, leaf, type_) for leaf, type_ in zip(start, kinds, strict=True)]
            with at_end_of(ctx, self.ops):
                given = in_list(after, shape, after.get(name))
                final = self.args[name] if given is None else leaves_as(ctx, shape, given)
                assert final is not None
                yields += [convert_leaf(ctx, name, leaf, type_) for leaf, type_ in zip(final, kinds, strict=True)]
        flat_args = tuple(arg for name in shapes for arg in self.args[name])
        flat_outs = tuple(out for group in outs.values() for out in group)
        trips = Trips(tuple(inits), flat_args, tuple(self.ops), (*yields, *self.extra), flat_outs)
        ctx.builder.emit(build(trips))
        frame.env = dict(self.before)
        for name, shape in shapes.items():
            frame.env[name] = rebuild(shape, outs[name])
            if name in self.alone:
                held = frame.env[name]
                frame.env[name] = as_reference(frame, with_copies(held) if name in self.with_copies else held)
            elif not name.startswith(CELL):
                frame.env[name] = as_copy(frame.env[name])
        for out, *incoming in zip(flat_outs, inits, yields, strict=True):
            note_phi(ctx, out, incoming)

    def _note_escapes(self) -> None:
        """Takes note of what goes into a list that grows: the loop must not change it under another name."""
        self.ctx.loop.around.append(self.key)
        for name, slot in self.slots.items():
            if slot.shape is not None and self.before.get(name) is not None:
                note_escapes(self.ctx, slot.shape, dereference(self.before, self.before[name]))
        self.ctx.loop.around.pop()

    def _start(self, name: str, shape: Structure) -> Sequence[ir.Operand | None]:
        """The operands with which the loop begins; None for those that are undefined then."""
        kinds = self.slots[name].types
        initial = in_list(self.before, shape, self.before.get(name))
        if initial is None or isinstance(initial, Poison):
            initial = find_before(self.frame, name, rebuild(shape, self.args[name]))
        # control has not left when the loop is entered
        start: Sequence[ir.Operand | None] = [ir.boolean(False) if is_flag(name) else None] * len(kinds)
        if initial is not None:
            leaves = leaves_as(self.ctx, shape, initial)
            assert leaves is not None
            start = leaves
        if name in self.rooms and self.count is not None:
            return _with_room(self.frame, start, kinds, self.rooms[name], self.count())
        return start


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


def _note_copies(ctx: Context, before: Env, value: Value | None, content: Value | None) -> None:
    """Takes note of what a loop has copies of; what a trip makes is another list or object in the next one."""
    parts = () if value is None else (value,) if isinstance(value, Ref) else parts_of(value)
    for part in parts:
        if isinstance(part, Ref) and part.key in before:
            note_copies(ctx, before, part, content if part is value else None)


def _compared(
    frame: Frame, before: Env, after: Env, slots: dict[str, _Slot], alone: Collection[str], with_copies: set[str]
) -> tuple[dict[str, _Slot], dict[str, Value | None]]:
    """What each variable holds before the loop and after a trip; where that is not one list, by what is in it."""
    ctx = frame.ctx
    own: dict[str, _Slot] = {}
    afters: dict[str, Value | None] = {}
    for name, slot in slots.items():
        value = after.get(name)
        if value is not None and slot.shape is not None and structure(value) != slot.shape:
            known = before.get(name)
            is_first = known is not None and slot.shape == structure(known)
            held = known if is_first and known is not None else rebuild(slot.shape, slot.variables(name))
            _, start, content = open_alike(ctx, (before, held), (after, value))
            opened = _entry_slot(start) if is_first else slot
            if name.startswith(CELL) or not _stays_chosen(ctx, before, (slot.shape, value), (opened.shape, content)):
                if name in alone:
                    has_copies = note_inner_copies(frame, before, known, start)
                    if note_inner_copies(frame, after, value, content) or has_copies:
                        with_copies.add(name)
                else:
                    _note_copies(ctx, before, known, start)
                    _note_copies(ctx, before, value, content)
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
        if isinstance(value, Instance) and value.of in KINDS:
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
    if bare_name(name).startswith("%"):
        raise ctx.mismatch(f"{SPOKEN[bare_name(name)]} of a loop has more than one type", "Keep to one type.", why=why)
    return _Slot(structure(Poison(why, is_of_trips=True)))


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
        made.append(either_value(frame, is_enough, scalars.ready(known), moved))
    return [*made, length]


def run_checkpointed(frame: Frame, call: Callable[[], Value]) -> Value:
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
