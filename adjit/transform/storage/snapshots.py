"""Snapshots of a loop's state, from which its trips are run again in the reverse sweep instead of being taped.

In: a loop, and which of its state is kept. Out: the operations that take snapshots on the way forward, and that go back
to the last one and on from there to a trip on the way back. Which trips have one is decided by Griewank and Walther's
binomial schedule, so that as few trips as possible are run again for the number of snapshots there is room for.

    for t in range(T):               if t == due: u_snapshots[taken] = u; ...; taken += 1; due = t + distance(...)
        u = step(u)                  u = step(u)

    Reference: A. Griewank, A. Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26 (2000) 19-45.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numba import types

from adjit.runtime.library import checkpoint_distance
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import trip_number
from adjit.transform.ir.types import array_type, array_type_of, typed_const


@dataclass(frozen=True)
class State:
    """What a trip starts from: carried numbers and arrays, by slot, and the arrays around the loop that it changes.

    Other arrays need no snapshot: those that `change_places` from trip to trip are there but for what they hold, those
    `in_place` are the ones before the loop, and `new` ones each trip makes for what is after the loop.
    """

    numbers: tuple[int, ...]
    arrays: tuple[int, ...]
    around: tuple[ir.Var, ...]
    change_places: tuple[int, ...]
    in_place: tuple[int, ...]
    new: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.numbers or self.arrays or self.around)


@dataclass(eq=False)
class Snapshots:
    """Where the snapshots of one loop are kept. `size` is how many there is room for."""

    loop: ir.For
    state: State
    size: ir.Operand
    trips: ir.Operand
    places: ir.Var = field(default_factory=lambda: ir.Var("snapshot_at", array_type(types.intp, 1)))
    kept: dict[object, ir.Var] = field(default_factory=dict)

    def allocate(self, builder: ir.Builder) -> None:
        builder.emit(ir.Alloc(shape=(self.size,), out=self.places, role=ir.Role("snapshots", self.loop)))
        for slot in self.state.numbers:
            init = self.loop.inits[slot]
            self.kept[slot] = self._alloc(builder, _name(self.loop.body.args[1 + slot]), init.type, ())
        for slot in self.state.arrays:
            self.kept[slot] = self._alloc_like(builder, self.loop.inits[slot])
        for array in self.state.around:
            self.kept[array] = self._alloc_like(builder, array)

    def _alloc_like(self, builder: ir.Builder, array: ir.Operand) -> ir.Var:
        type_ = array_type_of(array)
        shape = [builder.extent(array, axis) for axis in range(type_.ndim)]
        return self._alloc(builder, _name(array), type_.dtype, shape)

    def _alloc(self, builder: ir.Builder, name: str, dtype: types.Type, shape: Sequence[ir.Operand]) -> ir.Var:
        out = ir.Var(f"{name}_snapshots", array_type(dtype, 1 + len(shape)))
        builder.emit(ir.Alloc(shape=(self.size, *shape), out=out, role=ir.Role("snapshots", self.loop)))
        return out

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
            more = builder.call(operator.add, taken, ir.integer(1), type=types.intp, name="taken")
            left = builder.call(operator.sub, end, place, type=types.intp, name="left")
            free = builder.call(operator.sub, self.size, taken, type=types.intp, name="free")
            distance = builder.call(checkpoint_distance, left, free, type=types.intp, name="distance")
            later = builder.call(operator.add, place, distance, type=types.intp, name="due")
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

    def go_back(
        self, builder: ir.Builder, number: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> dict[int, ir.Operand]:
        """Puts snapshot `number` back into the arrays, which are in these places; gives the carried numbers."""
        for slot in self.state.arrays:
            _copy(builder, self.kept[slot], (number,), places.get(slot, self.loop.inits[slot]), ())
        for array in self.state.around:
            _copy(builder, self.kept[array], (number,), array, ())
        names = {slot: _name(self.loop.body.args[1 + slot]) for slot in self.state.numbers}
        return {slot: builder.load(self.kept[slot], (number,), name) for slot, name in names.items()}

    # ----------------------------------------------------------------------------------------------------- both sweeps

    def forward(self) -> ir.For:
        """The loop with its snapshots."""
        loop = self.loop
        taken, due = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        builder = ir.Builder()
        place = trip_number(builder, loop, loop.body.args[0])
        # the sweep goes on to the end, where no snapshot is left of the last trip: as if there were one trip more
        end = builder.call(operator.add, self.trips, ir.integer(1), type=types.intp, name="end")
        more, later = self.take_if_due(builder, place, end, taken, due, self.now(loop.body.args[1:]))
        self.taken = ir.Var("taken", types.intp)
        body = ir.Region(
            (*loop.body.args, taken, due), (*builder.ops, *loop.body.ops), (*loop.body.yields, more, later)
        )
        return ir.For(
            start=loop.start, stop=loop.stop, step=loop.step, body=body, origin=loop.origin, parallel=loop.parallel,
            inits=(*loop.inits, ir.integer(0), ir.integer(0)), outs=(*loop.outs, self.taken, ir.Var("due", types.intp)),
        )  # fmt: skip

    def advance(
        self, builder: ir.Builder, place: ir.Operand, taken: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> tuple[dict[int, ir.Operand], ir.Operand]:
        """From the last snapshot to the trip `place`: the carried values there, and the snapshots left before it.

        places: where the arrays that change places are in that trip.
        """
        loop = self.loop
        last = builder.call(operator.sub, taken, ir.integer(1), type=types.intp, name="last")
        from_place = builder.load(self.places, (last,), "snapshot")
        starts = self._turned_back(builder, from_place, place, places)
        values = {**self.go_back(builder, last, starts), **starts}
        end = builder.call(operator.add, place, ir.integer(1), type=types.intp, name="end")
        left = builder.call(operator.sub, end, from_place, type=types.intp, name="left")
        free = builder.call(operator.sub, self.size, last, type=types.intp, name="free")
        distance = builder.call(checkpoint_distance, left, free, type=types.intp, name="distance")
        due = builder.call(operator.add, from_place, distance, type=types.intp, name="due")
        slots = list(values)
        args = {slot: _fresh(loop.body.args[1 + slot]) for slot in slots}
        trip, taken_arg, due_arg = (ir.Var(name, types.intp) for name in ("trip", "taken", "due"))
        with builder.region() as ops:
            now = self.now({slot: args.get(slot, loop.inits[slot]) for slot in range(len(loop.inits))})
            more, later = self.take_if_due(builder, trip, end, taken_arg, due_arg, now)
            counter = _counter(builder, loop, trip)
            # other numbers are sums, and what they add up to is of no account
            sums = {arg: typed_const(0, arg.type) for arg in loop.body.args[1:] if not ir.is_reference(arg)}
            names = {**{slot: loop.inits[slot] for slot in self.state.in_place}, **args}
            known = {loop.body.args[1 + slot]: value for slot, value in names.items()}
            cloner = ir.Cloner({**sums, loop.body.args[0]: counter, **known})
            for op in loop.body.ops:
                builder.emit(ir.unpaired(cloner.op(op)))
            yields = tuple(cloner.operand(loop.body.yields[slot]) for slot in slots)
        outs = {slot: _fresh(arg) for slot, arg in args.items()}
        taken_out, due_out = ir.Var("taken", types.intp), ir.Var("due", types.intp)
        builder.emit(
            ir.For(
                start=from_place, stop=place, step=ir.integer(1),
                inits=(*values.values(), taken, due),
                body=ir.Region((trip, *args.values(), taken_arg, due_arg), tuple(ops), (*yields, more, later)),
                outs=(*outs.values(), taken_out, due_out), origin=loop.origin,
            )
        )  # fmt: skip
        is_here = builder.call(operator.eq, from_place, place, type=types.boolean, name="is_here")
        remaining = builder.call(ir.select, is_here, last, taken_out, type=types.intp, name="taken")
        return dict(outs), remaining

    def _turned_back(
        self, builder: ir.Builder, start: ir.Operand, stop: ir.Operand, places: Mapping[int, ir.Operand]
    ) -> dict[int, ir.Operand]:
        """Where arrays are in the trip `start`, from where they are in the trip `stop`."""
        if not places:
            return {}
        body, slots = self.loop.body, list(places)
        args = {slot: _fresh(body.args[1 + slot]) for slot in slots}
        outs = {slot: _fresh(body.args[1 + slot]) for slot in slots}
        yields = tuple(args[next(j for j in slots if body.yields[j] is body.args[1 + slot])] for slot in slots)
        builder.emit(
            ir.For(
                start=start, stop=stop, step=ir.integer(1), inits=tuple(places.values()), outs=tuple(outs.values()),
                body=ir.Region((ir.Var("trip", types.intp), *args.values()), (), yields), origin=self.loop.origin,
            )
        )  # fmt: skip
        return dict(outs)

    def now(self, carried: Sequence[ir.Operand] | Mapping[int, ir.Operand]) -> Now:
        """The state as it is where the carried values are these."""
        found: dict[object, ir.Operand] = {slot: carried[slot] for slot in (*self.state.numbers, *self.state.arrays)}
        return {**found, **{array: array for array in self.state.around}}


@dataclass(eq=False)
class Kept:
    """The state that a loop of one trip starts from: numbers are there anyway, arrays are copied."""

    loop: ir.For
    state: State
    copies: list[tuple[ir.Operand, ir.Var]] = field(default_factory=list)

    def allocate(self, builder: ir.Builder) -> None:
        for array in (*(self.loop.inits[slot] for slot in self.state.arrays), *self.state.around):
            type_ = array_type_of(array)
            shape = tuple(builder.extent(array, axis) for axis in range(type_.ndim))
            copy = ir.Var(f"{_name(array)}_snapshot", array_type(type_.dtype, type_.ndim))
            builder.emit(ir.Alloc(shape=shape, out=copy, role=ir.Role("snapshots", self.loop)))
            _copy(builder, array, (), copy, ())
            self.copies.append((array, copy))

    def go_back(self, builder: ir.Builder) -> dict[int, ir.Operand]:
        """Puts the arrays back; gives the carried values."""
        for array, copy in self.copies:
            _copy(builder, copy, (), array, ())
        return {slot: self.loop.inits[slot] for slot in (*self.state.numbers, *self.state.change_places)}


Now = Mapping[object, ir.Operand]


def bytes_of(builder: ir.Builder, loop: ir.For, state: State) -> ir.Operand:
    """The bytes of one snapshot."""
    total: ir.Operand = ir.integer(8 * (1 + len(state.numbers)))
    for array in (*(loop.inits[slot] for slot in state.arrays), *state.around):
        type_ = array_type_of(array)
        size: ir.Operand = ir.integer(type_.dtype.bitwidth // 8 if hasattr(type_.dtype, "bitwidth") else 1)
        for axis in range(type_.ndim):
            extent = builder.extent(array, axis)
            size = builder.call(operator.mul, size, extent, type=types.intp, name="size")
        total = builder.call(operator.add, total, size, type=types.intp, name="snapshot_bytes")
    return total


def _counter(builder: ir.Builder, loop: ir.For, trip: ir.Operand) -> ir.Operand:
    """The loop's counter in its trip of this number."""
    counter = trip
    name = loop.body.args[0].name
    if loop.step != ir.integer(1):
        counter = builder.call(operator.mul, trip, loop.step, type=types.intp, name="offset")
    if loop.start != ir.integer(0):
        counter = builder.call(operator.add, loop.start, counter, type=types.intp, name=name)
    return counter


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


def _fresh(var: ir.Operand) -> ir.Var:
    assert isinstance(var, ir.Var)
    return ir.Var(var.name, var.type, var.user)


def _name(operand: ir.Operand) -> str:
    return operand.name if isinstance(operand, ir.Var) else "value"
