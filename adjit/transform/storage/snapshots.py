"""Snapshots of a loop's state, from which its trips are run again in the reverse sweep instead of being taped.

In: a loop, and which of its state is kept. Out: the operations that take snapshots on the way forward, and that go back
to the last one and on from there to a trip on the way back. Which trips have one is decided by Griewank and Walther's
binomial schedule, so that as few trips as possible are run again for the number of snapshots there is room for.

    for t in range(T):               if t == due: u_snapshots[taken] = u; ...; taken += 1; due = t + distance(...)
        u = step(u)                  u = step(u)

    Reference: A. Griewank, A. Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26 (2000) 19-45.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numba import types

from adjit.runtime.library import checkpoint_distance
from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.analysis.trip_counts import counter_of, trip_number
from adjit.transform.ir.types import array_type, array_type_of, typed_const

Carried = Mapping[int, ir.Operand]  # by slot


@dataclass(frozen=True)
class State:
    """What a trip of `loop` starts from: carried numbers and arrays, by slot, and arrays around it that it changes.

    Other arrays need no snapshot: those that `change_places` from trip to trip are there but for what they hold, those
    `in_place` are the ones before the loop, and `new` ones each trip makes for what is after the loop.
    """

    loop: ir.For
    numbers: tuple[int, ...]
    arrays: tuple[int, ...]
    around: tuple[ir.Var, ...]
    change_places: tuple[int, ...]
    in_place: tuple[int, ...]
    new: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.numbers or self.arrays or self.around)

    @property
    def memory(self) -> dict[int | ir.Var, ir.Operand]:
        """The arrays that are kept, by slot or name, as they are called before the loop."""
        return {**{slot: self.loop.inits[slot] for slot in self.arrays}, **{array: array for array in self.around}}

    def names(self, counter: ir.Operand, known: Carried) -> dict[ir.Var, ir.Operand]:
        """What stands for the counter and all that the loop carries in a trip that is made again, of which `known` has
        the slots that are found. Other arrays are those before the loop, other numbers are sums: what they add up to is
        of no account."""
        found = {self.loop.body.args[0]: counter}
        for k, (init, arg, *_) in enumerate(self.loop.slots):
            found[arg] = known.get(k, init if ir.is_reference(arg) else typed_const(0, arg.type))
        return found


@dataclass(eq=False)
class Snapshots:
    """Where the snapshots of one loop are kept. `size` is how many there is room for."""

    state: State
    size: ir.Operand
    trips: ir.Operand
    places: ir.Var = field(default_factory=lambda: ir.Var("snapshot_at", array_type(types.intp, 1)))
    kept: dict[int | ir.Var, ir.Var] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loop = self.state.loop

    def allocate(self, builder: ir.Builder) -> None:
        builder.emit(ir.Alloc(shape=(self.size,), out=self.places, role=ir.Role("snapshots", self.loop)))
        for slot in self.state.numbers:
            self.kept[slot] = _room(builder, self.loop, self.loop.slots[slot].arg, "snapshots", self.size)
        for what, array in self.state.memory.items():
            self.kept[what] = _room(builder, self.loop, array, "snapshots", self.size)

    # ------------------------------------------------------------------------------------------- taking and going back

    def take_if_due(
        self, builder: ir.Builder, place: ir.Operand, end: ir.Operand, taken: ir.Operand, due: ir.Operand, now: Carried
    ) -> tuple[ir.Var, ir.Var]:
        """A snapshot if trip `place` is the one that is due; `end`: the trip after the last to be reversed.

        `now` has the carried values by slot. Gives how many there are after that, and which trip is due next.
        """
        is_due = builder.call(operator.eq, place, due, type=types.boolean, name="is_due")
        with builder.region() as ops:
            builder.store(self.places, (taken,), place)
            for what, kept in self.kept.items():
                value = what if isinstance(what, ir.Var) else now[what]
                if ir.is_array(value):
                    _copy(builder, (value,), (kept, taken))
                else:
                    builder.store(kept, (taken,), value)
            more = emit_integer(builder, operator.add, taken, ir.integer(1), "taken")
            later = self._next(builder, place, end, taken)
        outs = (ir.Var("taken", types.intp), ir.Var("due", types.intp))
        then, orelse = ir.Region((), tuple(ops), (more, later)), ir.Region((), (), (taken, due))
        builder.emit(ir.If(condition=is_due, then=then, orelse=orelse, outs=outs))
        return outs

    def _next(self, builder: ir.Builder, place: ir.Operand, end: ir.Operand, taken: ir.Operand) -> ir.Operand:
        """The trip for the snapshot after that of `place`, which is number `taken`."""
        left = emit_integer(builder, operator.sub, end, place, "left")
        free = emit_integer(builder, operator.sub, self.size, taken, "free")
        distance = builder.call(checkpoint_distance, left, free, type=types.intp, name="distance")
        return emit_integer(builder, operator.add, place, distance, "due")

    def go_back(self, builder: ir.Builder, number: ir.Operand, places: Carried) -> dict[int, ir.Operand]:
        """Puts snapshot `number` back into the arrays, which are in these places; gives the carried numbers."""
        for what, array in self.state.memory.items():
            there = array if isinstance(what, ir.Var) else places.get(what, array)
            _copy(builder, (self.kept[what], number), (there,))
        names = {slot: self.loop.slots[slot].arg.name for slot in self.state.numbers}
        return {slot: builder.load(self.kept[slot], (number,), name) for slot, name in names.items()}

    def put_back(self, builder: ir.Builder) -> None:
        """Puts back what the arrays held before the loop, if it made a trip at all."""
        has_trips = builder.call(operator.gt, self.trips, ir.integer(0), type=types.boolean, name="has_trips")
        with builder.when(has_trips):
            self.go_back(builder, ir.integer(0), {})

    # ----------------------------------------------------------------------------------------------------- both sweeps

    def forward(self) -> ir.For:
        """The loop with its snapshots."""
        loop = self.loop
        taken, due = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        builder = ir.Builder()
        place = trip_number(builder, loop, loop.body.args[0])
        # the sweep goes on to the end, where no snapshot is left of the last trip: as if there were one trip more
        end = emit_integer(builder, operator.add, self.trips, ir.integer(1), "end")
        now = {k: slot.arg for k, slot in enumerate(loop.slots)}
        more, later = self.take_if_due(builder, place, end, taken, due, now)
        self.taken = ir.Var("taken", types.intp)
        number_taken = ir.Slot(ir.integer(0), taken, more, self.taken)
        next_due = ir.Slot(ir.integer(0), due, later, ir.Var("due", types.intp))
        ops = [*builder.ops, *loop.body.ops]
        return ir.with_slots(loop, [number_taken, next_due], ops, order_free=False, pair=None, snapshots=None)

    def advance(
        self, builder: ir.Builder, counter: ir.Operand, arrays: Carried
    ) -> tuple[dict[int, ir.Operand], list[ir.Slot]]:
        """From the last snapshot to the trip of this counter: the carried values there, and what the reverse loop
        carries for this, the number of snapshots that are left.

        arrays: where those that change places are in that trip.
        """
        loop = self.loop
        place, taken = trip_number(builder, loop, counter), ir.Var("taken", types.intp)
        places = {slot: arrays[slot] for slot in self.state.change_places}
        last = emit_integer(builder, operator.sub, taken, ir.integer(1), "last")
        from_place = builder.load(self.places, (last,), "snapshot")
        starts = self._turned_back(builder, from_place, place, places)
        values = {**self.go_back(builder, last, starts), **starts}
        end = emit_integer(builder, operator.add, place, ir.integer(1), "end")
        due = self._next(builder, from_place, end, last)
        args = {slot: dataclasses.replace(loop.slots[slot].arg) for slot in values}
        trip, taken_arg, due_arg = (ir.Var(name, types.intp) for name in ("trip", "taken", "due"))
        with builder.region() as ops:
            now = {**dict(enumerate(loop.inits)), **args}
            more, later = self.take_if_due(builder, trip, end, taken_arg, due_arg, now)
            cloner = ir.Cloner(self.state.names(counter_of(builder, loop, trip), args))
            for op in loop.body.ops:
                builder.emit(ir.unpaired(cloner.op(op)))
        outs = {slot: dataclasses.replace(arg) for slot, arg in args.items()}
        taken_out, due_out = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        carried = [ir.Slot(values[k], args[k], cloner.operand(loop.slots[k].yielded), outs[k]) for k in values]
        carried += [ir.Slot(taken, taken_arg, more, taken_out), ir.Slot(due, due_arg, later, due_out)]
        builder.emit(self._run(from_place, place, trip, carried, ops))
        is_here = builder.call(operator.eq, from_place, place, type=types.boolean, name="is_here")
        remaining = builder.call(ir.select, is_here, last, taken_out, type=types.intp, name="taken")
        return dict(outs), [ir.Slot(self.taken, taken, remaining, ir.Var("taken", types.intp))]

    def _run(
        self, start: ir.Operand, stop: ir.Operand, trip: ir.Var, carried: Sequence[ir.Slot], ops: Sequence[ir.Op]
    ) -> ir.For:
        """A loop over some trips."""
        empty = ir.For(start=start, stop=stop, body=ir.Region((trip,), tuple(ops), ()), origin=self.loop.origin)
        return ir.with_slots(empty, carried)

    def _turned_back(
        self, builder: ir.Builder, start: ir.Operand, stop: ir.Operand, places: Carried
    ) -> dict[int, ir.Operand]:
        """Where arrays are in the trip `start`, from where they are in the trip `stop`."""
        if not places:
            return {}
        args, outs = ({k: dataclasses.replace(self.loop.slots[k].arg) for k in places} for _ in range(2))
        there = ir.next_slots(self.loop, places)
        carried = [ir.Slot(places[k], args[k], args[there[k]], outs[k]) for k in places]
        builder.emit(self._run(start, stop, ir.Var("trip", types.intp), carried, ()))
        return dict(outs)


@dataclass(eq=False)
class Kept:
    """The state that a loop of one trip starts from: numbers are there anyway, arrays are copied. It may be empty, and
    then there may be any number of trips."""

    state: State
    copies: list[tuple[ir.Operand, ir.Var]] = field(default_factory=list)

    def allocate(self, builder: ir.Builder) -> None:
        for array in self.state.memory.values():
            copy = _room(builder, self.state.loop, array, "snapshot")
            _copy(builder, (array,), (copy,))
            self.copies.append((array, copy))

    def put_back(self, builder: ir.Builder) -> None:
        for array, copy in self.copies:
            _copy(builder, (copy,), (array,))

    def forward(self) -> ir.For:
        return self.state.loop

    def advance(
        self, builder: ir.Builder, counter: ir.Operand, arrays: Carried
    ) -> tuple[dict[int, ir.Operand], list[ir.Slot]]:
        self.put_back(builder)
        return {slot: self.state.loop.inits[slot] for slot in self.state.numbers}, []


def bytes_of(builder: ir.Builder, state: State) -> ir.Operand:
    """The bytes of one snapshot."""
    total: ir.Operand = ir.integer(8 * (1 + len(state.numbers)))
    for array in state.memory.values():
        type_ = array_type_of(array)
        size: ir.Operand = ir.integer(type_.dtype.bitwidth // 8 if hasattr(type_.dtype, "bitwidth") else 1)
        for axis in range(type_.ndim):
            size = emit_integer(builder, operator.mul, size, builder.extent(array, axis), "size")
        total = emit_integer(builder, operator.add, total, size, "snapshot_bytes")
    return total


def _room(builder: ir.Builder, loop: ir.For, value: ir.Operand, name: str, *numbers: ir.Operand) -> ir.Var:
    """An array for a value as the loop starts with it; `numbers`: for so many."""
    shape, dtype = numbers, value.type
    if isinstance(dtype, types.Array):
        shape = (*numbers, *(builder.extent(value, axis) for axis in range(dtype.ndim)))
        dtype = dtype.dtype
    out = ir.Var(f"{ir.name_of(value, 'value')}_{name}", array_type(dtype, len(shape)))
    builder.emit(ir.Alloc(shape=shape, out=out, role=ir.Role("snapshots", loop)))
    return out


def _copy(builder: ir.Builder, source: Sequence[ir.Operand], target: Sequence[ir.Operand]) -> None:
    """Element by element, what is in one array into the other; behind one of them may stand which part is meant."""
    (this, *here), (that, *there) = source, target
    whole, offset = (that, len(there)) if here else (this, 0)
    extents = [builder.extent(whole, offset + axis) for axis in range(array_type_of(this).ndim - len(here))]

    def one(index: tuple[ir.Var, ...]) -> None:
        builder.store(that, (*there, *index), builder.load(this, (*here, *index), "item"))

    builder.nest(extents, one, "ijkl")
