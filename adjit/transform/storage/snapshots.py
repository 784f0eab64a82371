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
from adjit.transform.analysis.trip_counts import counter_of, trip_number
from adjit.transform.ir.types import array_type, array_type_of, typed_const


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
    def memory(self) -> tuple[ir.Operand, ...]:
        """The arrays that are kept, by the names that they have before the loop."""
        return (*(self.loop.inits[slot] for slot in self.arrays), *self.around)


@dataclass(eq=False)
class Snapshots:
    """Where the snapshots of one loop are kept. `size` is how many there is room for."""

    state: State
    size: ir.Operand
    trips: ir.Operand
    places: ir.Var = field(default_factory=lambda: ir.Var("snapshot_at", array_type(types.intp, 1)))
    kept: dict[object, ir.Var] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loop = self.state.loop

    def allocate(self, builder: ir.Builder) -> None:
        builder.emit(ir.Alloc(shape=(self.size,), out=self.places, role=ir.Role("snapshots", self.loop)))
        for slot in self.state.numbers:
            self.kept[slot] = _room(builder, self.loop, self.loop.slots[slot].arg, "snapshots", self.size)
        for what, array in zip((*self.state.arrays, *self.state.around), self.state.memory, strict=True):
            self.kept[what] = _room(builder, self.loop, array, "snapshots", self.size)

    # ------------------------------------------------------------------------------------------- taking and going back

    def take_if_due(
        self, builder: ir.Builder, place: ir.Operand, end: ir.Operand, taken: ir.Operand, due: ir.Operand, now: Now
    ) -> tuple[ir.Var, ir.Var]:
        """A snapshot of `now` if trip `place` is the one that is due; `end`: the trip after the last to be reversed.

        Gives how many there are after that, and which trip is due next.
        """
        is_due = builder.call(operator.eq, place, due, type=types.boolean, name="is_due")
        with builder.region() as ops:
            builder.store(self.places, (taken,), place)
            for what, kept in self.kept.items():
                value = now[what]
                if ir.is_array(value):
                    _copy(builder, value, (), kept, (taken,))
                else:
                    builder.store(kept, (taken,), value)
            more = _integer(builder, operator.add, taken, ir.integer(1), "taken")
            later = self._next(builder, place, end, taken)
        outs = (ir.Var("taken", types.intp), ir.Var("due", types.intp))
        builder.emit(
            ir.If(
                condition=is_due,
                then=ir.Region((), tuple(ops), (more, later)),
                orelse=ir.Region((), (), (taken, due)),
                outs=outs,
            )
        )
        return outs

    def _next(self, builder: ir.Builder, place: ir.Operand, end: ir.Operand, taken: ir.Operand) -> ir.Var:
        """The trip for the snapshot after that of `place`, which is number `taken`."""
        left = _integer(builder, operator.sub, end, place, "left")
        free = _integer(builder, operator.sub, self.size, taken, "free")
        distance = _integer(builder, checkpoint_distance, left, free, "distance")
        return _integer(builder, operator.add, place, distance, "due")

    def go_back(
        self, builder: ir.Builder, number: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> dict[int, ir.Operand]:
        """Puts snapshot `number` back into the arrays, which are in these places; gives the carried numbers."""
        for slot in self.state.arrays:
            _copy(builder, self.kept[slot], (number,), places.get(slot, self.loop.inits[slot]), ())
        for array in self.state.around:
            _copy(builder, self.kept[array], (number,), array, ())
        names = {slot: self.loop.slots[slot].arg.name for slot in self.state.numbers}
        return {slot: builder.load(self.kept[slot], (number,), name) for slot, name in names.items()}

    # ----------------------------------------------------------------------------------------------------- both sweeps

    def forward(self) -> ir.For:
        """The loop with its snapshots."""
        loop = self.loop
        taken, due = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        builder = ir.Builder()
        place = trip_number(builder, loop, loop.body.args[0])
        # the sweep goes on to the end, where no snapshot is left of the last trip: as if there were one trip more
        end = _integer(builder, operator.add, self.trips, ir.integer(1), "end")
        more, later = self.take_if_due(builder, place, end, taken, due, self.now(loop.body.args[1:]))
        self.taken = ir.Var("taken", types.intp)
        counts = [
            ir.Slot(ir.integer(0), taken, more, self.taken),
            ir.Slot(ir.integer(0), due, later, ir.Var("due", types.intp)),
        ]
        fresh = ir.For(
            start=loop.start, stop=loop.stop, step=loop.step, inits=loop.inits, body=loop.body, outs=loop.outs,
            parallel=loop.parallel, origin=loop.origin,
        )  # fmt: skip
        return ir.with_slots(fresh, counts, [*builder.ops, *loop.body.ops])

    def advance(
        self, builder: ir.Builder, place: ir.Operand, taken: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> tuple[dict[int, ir.Operand], ir.Operand]:
        """From the last snapshot to the trip `place`: the carried values there, and the snapshots left before it.

        places: where the arrays that change places are in that trip.
        """
        loop = self.loop
        last = _integer(builder, operator.sub, taken, ir.integer(1), "last")
        from_place = builder.load(self.places, (last,), "snapshot")
        starts = self._turned_back(builder, from_place, place, places)
        values = {**self.go_back(builder, last, starts), **starts}
        end = _integer(builder, operator.add, place, ir.integer(1), "end")
        due = self._next(builder, from_place, end, last)
        args = {slot: dataclasses.replace(loop.slots[slot].arg) for slot in values}
        trip, taken_arg, due_arg = (ir.Var(name, types.intp) for name in ("trip", "taken", "due"))
        with builder.region() as ops:
            now = self.now({slot: args.get(slot, loop.inits[slot]) for slot in range(len(loop.inits))})
            more, later = self.take_if_due(builder, trip, end, taken_arg, due_arg, now)
            counter = counter_of(builder, loop, trip)
            # other numbers are sums, and what they add up to is of no account
            sums = {arg: typed_const(0, arg.type) for arg in loop.body.args[1:] if not ir.is_reference(arg)}
            names = {**{slot: loop.inits[slot] for slot in self.state.in_place}, **args}
            known = {loop.slots[slot].arg: value for slot, value in names.items()}
            cloner = ir.Cloner({**sums, loop.body.args[0]: counter, **known})
            for op in loop.body.ops:
                builder.emit(ir.unpaired(cloner.op(op)))
        outs = {slot: dataclasses.replace(arg) for slot, arg in args.items()}
        taken_out, due_out = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        carried = [ir.Slot(values[k], args[k], cloner.operand(loop.slots[k].yielded), outs[k]) for k in values]
        carried += [ir.Slot(taken, taken_arg, more, taken_out), ir.Slot(due, due_arg, later, due_out)]
        builder.emit(self._run(from_place, place, trip, carried, ops))
        is_here = builder.call(operator.eq, from_place, place, type=types.boolean, name="is_here")
        remaining = builder.call(ir.select, is_here, last, taken_out, type=types.intp, name="taken")
        return dict(outs), remaining

    def _run(
        self, start: ir.Operand, stop: ir.Operand, trip: ir.Var, carried: Sequence[ir.Slot], ops: Sequence[ir.Op]
    ) -> ir.For:
        """A loop over some trips."""
        empty = ir.For(start=start, stop=stop, body=ir.Region((trip,), tuple(ops), ()), origin=self.loop.origin)
        return ir.with_slots(empty, carried)

    def _turned_back(
        self, builder: ir.Builder, start: ir.Operand, stop: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> dict[int, ir.Operand]:
        """Where arrays are in the trip `start`, from where they are in the trip `stop`."""
        if not places:
            return {}
        args, outs = ({k: dataclasses.replace(self.loop.slots[k].arg) for k in places} for _ in range(2))
        there = ir.next_slots(self.loop, places)
        carried = [ir.Slot(places[k], args[k], args[there[k]], outs[k]) for k in places]
        builder.emit(self._run(start, stop, ir.Var("trip", types.intp), carried, ()))
        return dict(outs)

    def now(self, carried: Sequence[ir.Operand] | Mapping[int, ir.Operand]) -> Now:
        """The state as it is where the carried values are these."""
        found: dict[object, ir.Operand] = {slot: carried[slot] for slot in (*self.state.numbers, *self.state.arrays)}
        return {**found, **{array: array for array in self.state.around}}


@dataclass(eq=False)
class Kept:
    """The state that a loop of one trip starts from: numbers are there anyway, arrays are copied."""

    state: State
    copies: list[tuple[ir.Operand, ir.Var]] = field(default_factory=list)

    def allocate(self, builder: ir.Builder) -> None:
        for array in self.state.memory:
            copy = _room(builder, self.state.loop, array, "snapshot")
            _copy(builder, array, (), copy, ())
            self.copies.append((array, copy))

    def go_back(self, builder: ir.Builder) -> dict[int, ir.Operand]:
        """Puts the arrays back; gives the carried values."""
        for array, copy in self.copies:
            _copy(builder, copy, (), array, ())
        return {slot: self.state.loop.inits[slot] for slot in (*self.state.numbers, *self.state.change_places)}


Now = Mapping[object, ir.Operand]


def bytes_of(builder: ir.Builder, state: State) -> ir.Operand:
    """The bytes of one snapshot."""
    total: ir.Operand = ir.integer(8 * (1 + len(state.numbers)))
    for array in state.memory:
        type_ = array_type_of(array)
        size: ir.Operand = ir.integer(type_.dtype.bitwidth // 8 if hasattr(type_.dtype, "bitwidth") else 1)
        for axis in range(type_.ndim):
            size = _integer(builder, operator.mul, size, builder.extent(array, axis), "size")
        total = _integer(builder, operator.add, total, size, "snapshot_bytes")
    return total


def _integer(builder: ir.Builder, callee: object, left: ir.Operand, right: ir.Operand, name: str) -> ir.Var:
    return builder.call(callee, left, right, type=types.intp, name=name)


def _room(builder: ir.Builder, loop: ir.For, value: ir.Operand, name: str, *numbers: ir.Operand) -> ir.Var:
    """An array for a value as the loop starts with it; `numbers`: for so many."""
    shape, dtype = numbers, value.type
    if isinstance(dtype, types.Array):
        shape = (*numbers, *(builder.extent(value, axis) for axis in range(dtype.ndim)))
        dtype = dtype.dtype
    out = ir.Var(f"{ir.name_of(value, 'value')}_{name}", array_type(dtype, len(shape)))
    builder.emit(ir.Alloc(shape=shape, out=out, role=ir.Role("snapshots", loop)))
    return out


def _copy(
    builder: ir.Builder,
    source: ir.Operand,
    source_prefix: Sequence[ir.Operand],
    target: ir.Operand,
    target_prefix: Sequence[ir.Operand],
) -> None:
    """Element by element, what is in one array into the other, of which only parts may be meant."""
    rank = array_type_of(source).ndim - len(source_prefix)
    whole, offset = (source, 0) if not source_prefix else (target, len(target_prefix))
    extents = [builder.extent(whole, offset + axis) for axis in range(rank)]

    def one(index: tuple[ir.Var, ...]) -> None:
        item = builder.load(source, (*source_prefix, *index), "item")
        builder.store(target, (*target_prefix, *index), item)

    builder.nest(extents, one, "ijkl")
