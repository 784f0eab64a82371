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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.runtime.library import default_snapshots, fitting_snapshots
from adjit.transform import ir
from adjit.transform.analysis.alias import FRESH, named_by
from adjit.transform.analysis.cost import SLOT, cost
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.sums import is_sum
from adjit.transform.analysis.trip_counts import count_trips, has_one_trip, mirrored_range
from adjit.transform.derive.mirror import MirroredLoop, Sweeps
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
        return Refusal("The number of its iterations is not known before it starts.")
    if any(isinstance(op, ir.Call) and op.effect and not is_check(op) for op in ir.walk(loop.body)):
        return Refusal("It draws random numbers or exchanges messages, which would differ the second time.")
    if any(isinstance(op, ir.Push) for op in ir.walk(loop.body)):
        return Refusal("It fills its own tape.")
    args = loop.body.args[1:]
    new = _new_results(loop, shadows)
    references = [k for k, arg in enumerate(args) if ir.is_reference(arg) and k not in new]
    if {loop.body.yields[k] for k in references} != {args[k] for k in references}:
        return Refusal(
            "It creates arrays of another shape in each iteration, or changes an array that has a second name."
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
        return Refusal("One of its arrays has a second name.")
    turning = {k for k, after in ir.next_slots(loop, arrays).items() if k != after}
    around: list[ir.Var] = []
    inside = set(loop.body.inside)
    changed_arrays = (array for array in loop.body.memory_written if primal.made_by(array) not in inside)
    for memory in dict.fromkeys(map(primal.aliases.find, changed_arrays)):
        if memory in carried or not outside.get(memory):
            continue
        changed = _only_name(primal, loop, memory, outside[memory])
        if changed is None:
            return Refusal("It changes an array that has a second name.")
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
    primal: Primal, tapes: Mapping[ir.Op, Sequence[int]], shadows: set[ir.Var], limit: int | None, strategy: Strategy
) -> dict[ir.Op, Request]:
    """The loops to run again, of those of the outermost level that have tapes of so many axes each.

    With a limit in bytes these are all that can be run again, which share it. Without, those whose trips start from
    nothing and keep values of inner loops, unless that is cheaper and takes no more memory than what is there.
    """
    found: dict[ir.Op, Request] = {}
    for loop, axes in tapes.items():
        # between two barriers threads have nothing to start from but what is there
        if not isinstance(loop, ir.For | ir.While) or (isinstance(loop, ir.For) and loop.level is not None):
            continue
        state = state_of(primal, loop, shadows, set())
        is_asked = limit is not None or strategy.trips == "again"
        if isinstance(state, Refusal) and is_asked:
            note(Remark(loop.origin, f"its iterations are not recomputed: {state.why}"))
        if isinstance(state, Refusal):
            continue
        is_kept = max(axes) == 1 or (strategy.uses("costly") and _is_better_kept(state.loop, axes))
        if is_asked or (state.is_empty and not is_kept):
            found[loop] = Request(is_own=False)
    if limit is not None:
        found = {loop: Request(limit=limit // len(found), is_own=False) for loop in found}
    return found


def _is_better_kept(loop: ir.For, axes: Sequence[int]) -> bool:
    """Whether what the innermost trips make costs more than slots for it, of which an array is there with as many."""
    inner: Sequence[ir.For] = (loop,)
    for _ in range(max(axes) - 1):
        inner = [op for around in inner for op in around.body.inside if isinstance(op, ir.For) and op is not around]
    counters = {op.body.args[0] for op in (loop, *loop.body.inside) if isinstance(op, ir.For)}
    touched = (op for op in loop.body.inside if isinstance(op, ir.Load | ir.Store) and op.array not in loop.body.made)
    sizes = (len(counters.intersection(op.index)) for op in touched if loop.body.args[0] in op.index)
    again = sum(cost(op) or 0 for around in dict.fromkeys(inner) for op in around.body.inside if not op.regions)
    return max(sizes, default=0) >= max(axes) and again > 2 * SLOT * axes.count(max(axes))


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
    read = {o for op in loop.body.ops for o in ir.reads(op)}.union(loop.body.yields)
    unread = {k: slot for k, slot in enumerate(loop.slots) if slot.arg not in read and slot.arg not in shadows}
    arrays = {k: slot.yielded for k, slot in unread.items() if ir.is_array(slot.arg)}
    return [k for k, yielded in arrays.items() if isinstance(loop.body.made.get(yielded), FRESH)]


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


@dataclass(eq=False)
class Rerun:
    """One loop whose trips are run again. `join_trip` makes both sweeps of a trip, taken as a function."""

    primal: Primal
    item: MirroredLoop
    state: State
    request: Request
    join_trip: Callable[[Sweeps], ir.Function]

    def __post_init__(self) -> None:
        self.loop = self.state.loop
        # made before the loop of the forward sweep
        self.before = ir.Builder(self.loop.origin)
        is_kept = self.state.is_empty or has_one_trip(self.loop)
        self.kept: Kept | Snapshots = Kept(self.state) if is_kept else self._snapshots()
        self.kept.allocate(self.before)

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
        return Snapshots(self.state, size, trips)

    def reverse(self, shadows: Mapping[ir.Operand, ir.Var]) -> list[ir.Op]:
        """The loop of the reverse sweep and what it needs in front of it."""
        loop, item, state = self.loop, self.item, self.state
        before, builder = ir.Builder(loop.origin), ir.Builder(loop.origin)
        has_snapshots = isinstance(self.kept, Snapshots)
        start, stop, step = mirrored_range(before, loop, backwards=has_snapshots or bool(state.change_places))
        counter = dataclasses.replace(loop.body.args[0])
        # shadows that the loop passes around go back the way they came
        fixed = (*state.in_place, *state.new, *(state.change_places if has_one_trip(loop) else ()))
        passed = {k: slot for k, slot in enumerate(loop.slots) if ir.is_reference(slot.arg) and k not in fixed}
        ends = {k: dataclasses.replace(slot.arg) for k, slot in passed.items()}
        starts = {k: ends[after] for k, after in ir.next_slots(loop, passed).items()}
        values, more = self.kept.advance(builder, counter, starts)
        with recording() as noted:
            trip = self.join_trip(self._trip(shadows))
        note(*(dataclasses.replace(record, trip=loop) for record in noted if isinstance(record, Provided)))
        note(*(record for record in noted if isinstance(record, Restored | Remark)))
        why = "" if has_snapshots else "no iteration needs a value of another one"
        note(Scheduled(loop, "run again", why))
        cloner = ir.Cloner(state.names(counter, {**starts, **values}))
        for op in trip.body.ops:
            if not isinstance(op, ir.Comment):
                builder.emit(ir.unpaired(cloner.op(op)))
            elif op.text == ir.REVERSE_SWEEP:
                builder.emit(ir.Comment(text=ir.REVERSE_TRIP))
        carried = list(map(ir.Slot, item.inits, item.args, map(cloner.operand, trip.body.yields), item.outs))
        carried += [ir.Slot(slot.out, ends[k], starts[k], dataclasses.replace(slot.arg)) for k, slot in passed.items()]
        body = ir.Region((counter,), tuple(builder.ops), ())
        made = ir.For(
            start=start, stop=stop, step=step, body=body, parallel=loop.parallel, level=loop.level, origin=loop.origin
        )
        return [*before.ops, ir.with_slots(made, [*carried, *more])]

    def _trip(self, shadows: Mapping[ir.Operand, ir.Var]) -> Sweeps:
        """One trip as a function of what it starts from."""
        body = self.loop.body
        params = (*ir.free_vars(body), *body.args)
        function = with_parameters(self.primal.function, params, body.ops, body.yields)
        # the mirror knows its region by identity
        mirror = dataclasses.replace(self.item.body, region=function.body)
        return Sweeps(function, mirror, list(self.item.body.yields), dict(shadows))
