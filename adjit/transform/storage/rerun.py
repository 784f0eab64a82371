"""Loops whose trips are run again in the reverse sweep, from what they started from, instead of being taped.

In: a loop of the primal and its mirror. Out: the loop of the reverse sweep, each trip of which goes back to a snapshot,
runs forward to its place, runs the trip itself once more, now with what it needs for its adjoint, and then that.

    for t in range(T - 1, -1, -1):
        u[:] = u_snapshots[last]; for trip in range(snapshot, t): ...      (`snapshots.py`)
        forward trip
        reverse of the trip

Where trips start from nothing that others leave, but for sums, no snapshots are needed.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.runtime.library import default_snapshots, fitting_snapshots, same_extent, stored_extent
from adjit.transform import ir
from adjit.transform.analysis.alias import named_by
from adjit.transform.analysis.sums import is_sum
from adjit.transform.analysis.trip_counts import count_trips, has_one_trip, mirrored_range, trip_number
from adjit.transform.derive.mirror import MirroredLoop, Sweeps
from adjit.transform.ir.types import typed_const
from adjit.transform.rewrite.notes import Provided, Remark, Restored, Scheduled, note, recording
from adjit.transform.storage.loop_state import exposed
from adjit.transform.storage.primal import Joint, Primal, roots, with_parameters
from adjit.transform.storage.snapshots import Kept, Snapshots, State, bytes_of
from adjit.transform.strategy import Strategy


@dataclass(frozen=True)
class Request:
    """How many snapshots a loop may have: a number, or as many as fit into `limit` bytes, or as its trips ask for."""

    snapshots: int | None = None
    limit: int | None = None
    is_own: bool = True  # the user's; one that is not is dropped where it cannot be met


@dataclass(frozen=True)
class Refusal:
    """Why the trips of a loop cannot be run again."""

    why: str


def state_of(primal: Primal, loop: ir.For | ir.While, shadows: set[ir.Var], wanted: set[ir.Operand]) -> State | Refusal:
    """What the trips of a loop start from; of the alias classes `wanted` the contents before the loop in any case."""
    if isinstance(loop, ir.While) or loop.stops:
        return Refusal("It is not known before the loop how many trips it makes.")
    calls = [op for op in ir.walk(loop.body) if isinstance(op, ir.Call) and op.effect]
    if any(call.callee not in (stored_extent, same_extent) for call in calls):
        return Refusal("It draws random numbers, and would draw others the second time.")
    if any(isinstance(op, ir.Push) for op in ir.walk(loop.body)):
        return Refusal("It fills a tape of its own.")
    args = loop.body.args[1:]
    new = _new_results(loop, shadows)
    references = [k for k, arg in enumerate(args) if ir.is_reference(arg) and k not in new]
    if {loop.body.yields[k] for k in references} != {args[k] for k in references}:
        return Refusal(
            "It makes arrays anew in each trip, of another shape, or changes them where they have other names."
        )
    arrays = tuple(k for k in references if args[k] not in shadows)
    carried = [primal.aliases.find(args[k]) for k in arrays]
    outside = {
        memory: [array for array in arrays if array not in loop.body.made]
        for memory, arrays in roots(primal.function, primal.aliases).items()
    }
    starts = [_root(primal, loop.inits[k]) for k in arrays]
    names = {primal.aliases.find(v) for v in ir.free_vars(loop.body) if ir.is_reference(v)}
    if len(set(starts)) != len(starts) or any(c in names or set(outside.get(c, ())) - set(starts) for c in carried):
        return Refusal("Its arrays have several names.")
    turning = {k for k, after in ir.next_slots(loop, arrays).items() if k != after}
    around: list[ir.Var] = []
    for memory in dict.fromkeys(primal.aliases.find(op.array) for op in _stores(primal, loop)):
        if memory in carried or not outside.get(memory):
            continue
        changed = _only_name(primal, loop, memory, outside[memory])
        if changed is None:
            return Refusal("An array that it changes has several names.")
        around.append(changed)
    read_slots, read_around = exposed(primal, loop, arrays, around)
    read_slots |= {k for k, memory in zip(arrays, carried, strict=True) if memory in wanted}
    read_around |= {array for array in around if primal.aliases.find(array) in wanted}
    return State(
        loop=loop,
        numbers=tuple(_numbers(loop)),
        arrays=tuple(k for k in arrays if k in read_slots),
        around=tuple(array for array in around if array in read_around),
        change_places=tuple(k for k in arrays if k in turning),
        in_place=tuple(k for k in arrays if k not in turning),
        new=tuple(new),
    )


def requests_for(
    primal: Primal, tapes: Mapping[ir.Op, int], shadows: set[ir.Var], limit: int | None, strategy: Strategy
) -> dict[ir.Op, Request]:
    """The loops to run again, of those of the outermost level that have tapes of so many axes.

    With a limit in bytes these are all that can be run again, which share it. Without, those whose trips start from
    nothing and keep values of inner loops.
    """
    found: dict[ir.Op, Request] = {}
    for loop, axes in tapes.items():
        if not isinstance(loop, ir.For | ir.While):
            continue
        state = state_of(primal, loop, shadows, set())
        is_asked = limit is not None or strategy.trips == "again"
        if isinstance(state, Refusal) and is_asked:
            note(Remark(loop.origin, f"its trips are not run again: {state.why}"))
        if isinstance(state, State) and (is_asked or (state.is_empty and axes > 1)):
            found[loop] = Request(is_own=False)
    if limit is not None:
        found = {loop: Request(limit=limit // len(found), is_own=False) for loop in found}
    return found


def _numbers(loop: ir.For) -> list[int]:
    """The carried numbers that a trip looks at, sums aside."""
    read = {o for op in loop.body.ops for o in ir.reads(op)}
    found: list[int] = []
    for k, (_, arg, yielded, _) in enumerate(loop.slots):
        passed_on = any(y is arg for j, y in enumerate(loop.body.yields) if j != k)
        is_read = not ir.is_reference(arg) and (arg in read or passed_on)
        if is_read and not is_sum(arg, yielded, loop.body):
            found.append(k)
    return found


def _new_results(loop: ir.For, shadows: set[ir.Var]) -> list[int]:
    """The slots of arrays that each trip makes for what is after the loop: no trip looks at that of another.

    Their shadows are made anew as well: one that the forward sweep makes would not be that of the array's copy.
    """
    made = {out for op in loop.body.ops if isinstance(op, ir.Alloc | ir.Copy | ir.Call) for out in op.results}
    read = {o for op in loop.body.ops for o in ir.reads(op)}.union(loop.body.yields)
    arrays = {k: slot for k, slot in enumerate(loop.slots) if ir.is_array(slot.arg) and slot.arg not in shadows}
    return [k for k, slot in arrays.items() if slot.yielded in made and slot.arg not in read]


def _stores(primal: Primal, loop: ir.For) -> list[ir.Store]:
    """The stores of a trip, but those into arrays that it makes itself."""
    inside = set(ir.walk(loop.body))
    stores = (op for op in ir.walk(loop.body) if isinstance(op, ir.Store))
    return [op for op in stores if primal.made_by(op.array) not in inside]


def _root(primal: Primal, array: ir.Operand) -> ir.Operand:
    made = primal.made_by(array)
    return made.results[0] if made is not None else array


def _only_name(primal: Primal, loop: ir.For, memory: ir.Operand, made: Sequence[ir.Var]) -> ir.Var | None:
    """The one array of a class that the loop changes, if it is seen in it under the name only that it was made with."""
    names = {v for v in ir.free_vars(loop.body) if ir.is_reference(v) and primal.aliases.find(v) == memory}
    if len(made) > 1:
        # others have a name in common with it, after the loop or before it
        reached = {name: named_by(primal.function, [name]) for name in names}
        made = [root for root in made if any(root in found for found in reached.values())]
    return made[0] if len(made) == 1 and names <= set(made) else None


def with_what_is_around(trip: Joint) -> ir.Function:
    """The sweeps of a trip as a function of all that they read. Of the memory that they change shadows alone are of
    account after the trip: the rest is put back before the next one."""
    body = trip.function.body
    params = (*body.args, *ir.free_vars(body))
    shadows = [shadow for shadow in dict.fromkeys(trip.shadows.values()) if shadow in params]
    return with_parameters(trip.function, params, body.ops, (*body.yields, *shadows))


class Rerun:
    """One loop whose trips are run again. `join_trip` makes both sweeps of a trip, taken as a function."""

    def __init__(
        self,
        primal: Primal,
        item: MirroredLoop,
        state: State,
        request: Request,
        join_trip: Callable[[Sweeps], ir.Function],
    ):
        assert isinstance(item.op, ir.For)
        self.primal, self.item, self.loop, self.state = primal, item, item.op, state
        self.request = request
        self.join_trip = join_trip
        # made before the loop of the forward sweep
        self.before = ir.Builder(self.loop.origin)
        self.snapshots: Snapshots | None = None
        self.kept: Kept | None = None
        if has_one_trip(self.loop):
            self.kept = Kept(state)
            self.kept.allocate(self.before)
        elif not state.is_empty:
            self.snapshots = self._snapshots()

    def _snapshots(self) -> Snapshots:
        builder, request = self.before, self.request
        trips = count_trips(builder, self.loop)
        size: ir.Operand
        if request.snapshots is not None:
            size = ir.integer(request.snapshots)
        elif request.limit is not None:
            each = bytes_of(builder, self.state)
            limit = ir.integer(request.limit)
            size = builder.call(fitting_snapshots, trips, limit, each, type=types.intp, name="snapshots")
        else:
            size = builder.call(default_snapshots, trips, type=types.intp, name="snapshots")
        made = Snapshots(self.state, size, trips)
        made.allocate(builder)
        return made

    @property
    def kept_arrays(self) -> list[ir.Var]:
        """What the reverse sweep reads of the forward sweep, where the loop is one of one trip."""
        return [] if self.kept is None else [copy for _, copy in self.kept.copies]

    def forward(self) -> ir.For:
        """The loop of the forward sweep."""
        return self.loop if self.snapshots is None else self.snapshots.forward()

    def reverse(self, shadows: Mapping[ir.Operand, ir.Var]) -> list[ir.Op]:
        """The loop of the reverse sweep and what it needs in front of it."""
        loop, item = self.loop, self.item
        args = loop.body.args[1:]
        before = ir.Builder(loop.origin)
        is_ordered = self.snapshots is not None or bool(self.state.change_places)
        start, stop, step = mirrored_range(before, loop, backwards=is_ordered)
        counter = dataclasses.replace(loop.body.args[0])
        # shadows that the loop passes around go back the way they came
        state = self.state
        fixed = (*state.in_place, *state.new, *(state.change_places if self.kept is not None else ()))
        passed = [k for k, arg in enumerate(args) if ir.is_reference(arg) and k not in fixed]
        ends = {k: dataclasses.replace(args[k]) for k in passed}
        mapping: dict[ir.Var, ir.Operand] = {loop.body.args[0]: counter}
        mapping.update({args[k]: ends[after] for k, after in ir.next_slots(loop, passed).items()})
        mapping.update({args[k]: loop.inits[k] for k in fixed})
        starts = {k: mapping[args[k]] for k in passed}
        builder = ir.Builder(loop.origin)
        taken, remaining = ir.Var("taken", types.intp), None
        if self.snapshots is not None:
            place = trip_number(builder, loop, counter)
            places = {k: starts[k] for k in state.change_places}
            values, remaining = self.snapshots.advance(builder, place, taken, places)
            mapping.update({args[k]: value for k, value in values.items()})
        elif self.kept is not None:
            mapping.update({args[k]: value for k, value in self.kept.go_back(builder).items()})
        for arg in args:
            if arg not in mapping:
                # a sum: what it adds up to is of no account here
                mapping[arg] = typed_const(0, arg.type)
        with recording() as noted:
            trip = self.join_trip(self._trip(shadows))
        note(*(dataclasses.replace(record, trip=loop) for record in noted if isinstance(record, Provided)))
        note(*(record for record in noted if isinstance(record, Restored | Remark)))
        why = "each trip starts from nothing that others leave" if self.snapshots is None else ""
        note(Scheduled(loop, "run again", why))
        cloner = ir.Cloner(mapping)
        for op in trip.body.ops:
            if isinstance(op, ir.Comment):
                if op.text == ir.REVERSE_SWEEP:
                    builder.emit(ir.Comment(text=ir.REVERSE_TRIP))
                continue
            builder.emit(ir.unpaired(cloner.op(op)))
        carried = list(map(ir.Slot, item.inits, item.args, map(cloner.operand, trip.body.yields), item.outs))
        carried += [ir.Slot(loop.outs[k], ends[k], starts[k], dataclasses.replace(args[k])) for k in passed]
        if self.snapshots is not None and remaining is not None:
            carried.append(ir.Slot(self.snapshots.taken, taken, remaining, ir.Var("taken", types.intp)))
        body = ir.Region((counter,), tuple(builder.ops), ())
        made = ir.For(start=start, stop=stop, step=step, body=body, parallel=loop.parallel, origin=loop.origin)
        return [*before.ops, ir.with_slots(made, carried)]

    def _trip(self, shadows: Mapping[ir.Operand, ir.Var]) -> Sweeps:
        """One trip as a function of what it starts from."""
        body = self.loop.body
        params = (*ir.free_vars(body), *body.args)
        function = with_parameters(self.primal.function, params, body.ops, body.yields)
        # the mirror knows its region by identity
        mirror = dataclasses.replace(self.item.body, region=function.body)
        return Sweeps(function, mirror, list(self.item.body.yields), dict(shadows))

    def put_back(self) -> list[ir.Op]:
        """What the arrays held before the loop, if it made a trip at all."""
        builder = ir.Builder(self.loop.origin)
        if self.kept is not None:
            self.kept.go_back(builder)
        if self.snapshots is None:
            return builder.ops
        has_trips = builder.call(operator.gt, self.snapshots.trips, ir.integer(0), type=types.boolean, name="has_trips")
        with builder.when(has_trips):
            self.snapshots.go_back(builder, ir.integer(0), {})
        return builder.ops
