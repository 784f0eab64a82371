"""What the forward sweep does besides the primal: it saves values on tapes and out of branches, and counts trips.

In: a function, and requests. Out: the function with the saving operations in place.

    for i in range(n):            x_tape = np.empty(n)
        y = f(x)                  for i in range(n):  x_tape[i] = x;  y = f(x)

A loop nest whose trip counts are known when it is entered has its tapes allocated before it, one axis a loop, indexed
by the loop counters. Elsewhere a tape is a list, indexed by a position that counts the trips of its loop; where inner
loops have trip counts that are known when they are entered, as in triangles, it is a list of arrays, one each time.

    for i in range(n):            for i in range(n):
        for j in range(i):            x_row = np.empty(i)
            y = f(x)                  for j in range(i):  x_row[j] = x;  y = f(x)
                                      x_row_tape.append(x_row)
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.trip_counts import count_trips, literal_trips, place_in_range
from adjit.transform.ir.types import array_type, list_type
from adjit.transform.storage.primal import Primal

SHORT = 16  # trips of which an array is not worth while
_FROM_ZERO = (ir.integer(0), ir.integer(1))
Positions = dict[ir.Region, ir.Operand]  # how many entries the growable tapes of a region have


class ForwardEdits:
    def __init__(self, primal: Primal, has_rows: bool):
        self.primal = primal
        self.has_rows = has_rows
        self.function = primal.function
        # what a store overwrites, loaded in front of it
        self.overwritten: dict[ir.Var, ir.Store] = {}
        # the number of the trip in the reverse loop, for loops whose trips were counted
        self.trip_counter: dict[ir.Region, ir.Var] = {}
        self.reverse_index: dict[ir.Region, ir.Var] = {}
        # how many loops each tape of an operation runs through, for operations of the outermost level
        self.axes: dict[ir.Op, list[int]] = {}
        # loops whose trips have to stay in their order, for the sake of what is put back
        self.in_order: set[ir.Op] = set()
        # loops that look after what they save themselves
        self.replaced: dict[ir.Op, ir.Op] = {}
        self._before: dict[ir.Op, list[ir.Op]] = {}
        self._after: dict[tuple[ir.Region, int], list[ir.Op]] = {}
        self._lifted: dict[ir.Op, dict[ir.Var, tuple[ir.Region, ir.Var]]] = {}
        self._trips: dict[ir.Op, tuple[ir.Var, ir.Var]] = {}
        self._extents: dict[ir.Op, ir.Operand] = {}
        self._forward_index: dict[ir.Region, ir.Var] = {}

    # ------------------------------------------------------------------------------------------------------ requests

    def before(self, op: ir.Op, edit: ir.Op) -> None:
        self._before.setdefault(op, []).append(edit)

    def trips(self, op: ir.For | ir.While) -> ir.Var:
        """The number of trips that a loop made."""
        return self._trips.setdefault(op, (ir.Var("trips", types.intp), ir.Var("trips", types.intp)))[1]

    def lift(self, value: ir.Var, branch: ir.If, side: ir.Region) -> ir.Var:
        """A value made in a branch as a result of the branch; undefined on the other side."""
        return self._lifted.setdefault(branch, {}).setdefault(value, (side, dataclasses.replace(value)))[1]

    def tape(self, value: ir.Var, region: ir.Region) -> tuple[list[ir.Op], ir.Var]:
        """Saves a value made in a loop, where it is made.

        Gives the operations that read it back in the mirror, and what they load.
        """
        loaded, role = dataclasses.replace(value), ir.Role("tape", value)
        nest, top = self._rectangular(region), self.primal.chain(region)[0]
        # a list takes what it needs, and making one anew in each trip would cost more than a long one
        self.axes.setdefault(top, []).append(1 if nest is None else len(nest))
        if nest is not None and not isinstance(value.type, types.Array | types.List):
            tape = ir.Var(f"{value.name}_tape", array_type(value.type, len(nest)))
            self.before(top, ir.Alloc(shape=tuple(self._extents[loop] for loop in nest), out=tape, role=role))
            saving, reading = ir.Builder(), ir.Builder()
            saving.store(tape, _places(saving, nest), value)
            self._insert(value, region, saving.ops)
            reading.emit(ir.Load(array=tape, index=_places(reading, nest), out=loaded))
            return reading.ops, loaded
        row = self._row(region) if self.has_rows and not isinstance(value.type, types.Array | types.List) else []
        if row:
            return self._tape_in_rows(value, region, row, loaded)
        tape = ir.Var(f"{value.name}_tape", list_type(value.type))
        self.before(top, ir.NewTape(out=tape, role=role))
        forward, backward = self._positions(region)
        self._insert(value, region, [ir.Push(tape=tape, index=forward, value=value)])
        return [ir.Pull(tape=tape, index=backward, out=loaded)], loaded

    def _row(self, region: ir.Region) -> list[ir.For]:
        """The innermost loops around a region, nothing but one in the other, whose trip counts are known before them.

        None if there may well be few trips: for certain, or where their number is no sum of sizes and counters. Of
        those loops one goes by a counter around them, or is run again and again until something is so: else it is
        a few elements of many, as of the neighbours that a list has for each point.
        """
        chain = self.primal.chain(region)
        value = self.function.analysis(Iterations).value
        found: list[ir.For] = []
        for op in reversed(chain):
            bounds = [o for loop in (op, *found) for o in loop.operands[:3]] if isinstance(op, ir.For) else []
            if not isinstance(op, ir.For) or op.stops or any(o in op.body.defines or value(o) is None for o in bounds):
                break
            found.insert(0, op)
        ends = [o for loop in found for o in loop.operands[:3]]
        trips = [literal_trips(loop) for loop in found]
        known = [len(trip) for trip in trips if trip is not None]
        is_short = len(known) == len(trips) and math.prod(known) < SHORT
        is_of_trip = any(isinstance(o, ir.Var) and self.primal.made[o][0] is not self.function.body for o in ends)
        around = [op for op in chain[: len(chain) - len(found)] if isinstance(op, ir.For | ir.While)]
        is_again = bool(around) and isinstance(around[-1], ir.While)
        return found if (is_of_trip or is_again) and not is_short else []

    def _tape_in_rows(
        self, value: ir.Var, region: ir.Region, row: list[ir.For], loaded: ir.Var
    ) -> tuple[list[ir.Op], ir.Var]:
        """Saves a value of each trip of the innermost loops in an array, which is a value of the trip around them."""
        home, place = self.primal.region_of[row[0]], self.primal.position[row[0]]
        counting, saving, reading = ir.Builder(), ir.Builder(), ir.Builder()
        shape = tuple(count_trips(counting, loop) for loop in row)
        tape = ir.Var(f"{value.name}_row", array_type(value.type, len(row)))
        counting.emit(ir.Alloc(shape=shape, out=tape, role=ir.Role("tape", value)))
        for made in counting.ops:
            self.before(row[0], made)
        self.primal.made[tape] = home, place
        saving.store(tape, _places(saving, row), value)
        self._insert(value, region, saving.ops)
        reading.emit(ir.Load(array=tape, index=_places(reading, row), out=loaded))
        return reading.ops, loaded

    def _insert(self, value: ir.Var, region: ir.Region, ops: Sequence[ir.Op]) -> None:
        if value in self.overwritten:
            self._before[self.overwritten[value]].extend(ops)
        else:
            self._after.setdefault((region, self.primal.made[value][1]), []).extend(ops)

    def _positions(self, region: ir.Region) -> tuple[ir.Operand, ir.Operand]:
        """The number of the entry on the growable tapes of a region, forward and in the mirror."""
        owner = self.primal.owner[region]
        is_entered_once = self.primal.region_of[owner] is self.function.body
        if region in self.trip_counter and is_entered_once:
            assert isinstance(owner, ir.For | ir.While)
            self.trips(owner)
            return self._trips[owner][0], self.trip_counter[region]
        if isinstance(owner, ir.For) and is_entered_once and (owner.start, owner.step) == _FROM_ZERO:
            # one entry a trip
            return owner.body.args[0], owner.body.args[0]
        forward = self._forward_index.setdefault(region, position())
        return forward, self.reverse_index.setdefault(region, position())

    # --------------------------------------------------------------------------------------------------- loop nests

    def _rectangular(self, region: ir.Region) -> list[ir.For] | None:
        """The loops around a region if all their trip counts are known before the outermost, else None."""
        loops = self.primal.nest(region)
        for loop in loops or ():
            if loop not in self._extents:
                builder = ir.Builder()
                self._extents[loop] = count_trips(builder, loop)
                for made in builder.ops:
                    self.before(self.primal.chain(region)[0], made)
        return loops

    # ------------------------------------------------------------------------------------------------------ applying

    def apply(self) -> tuple[ir.Region, Positions]:
        """The forward sweep, and for each growable tape's loop the number of all its trips."""
        body = self.function.body
        current: Positions = dict.fromkeys(self._forward_index, ir.integer(0))
        return ir.Region(body.args, tuple(self._ops(body, current)), body.yields), current

    def _ops(self, region: ir.Region, current: Positions) -> list[ir.Op]:
        ops = list(self._after.get((region, -1), ()))
        for k, op in enumerate(region.ops):
            ops.extend(self._before.get(op, ()))
            ops.append(self._edited(op, current))
            ops.extend(self._after.get((region, k), ()))
        return ops

    def _edited(self, op: ir.Op, current: Positions) -> ir.Op:
        inside = [r for r in self._forward_index if op in self.primal.chain(r)] if op.regions else []
        if isinstance(op, ir.If):
            return self._edited_if(op, current, inside)
        if op in self.replaced:
            return self.replaced[op]
        return self._edited_loop(op, current, inside) if isinstance(op, ir.For | ir.While) else op

    def _edited_if(self, op: ir.If, current: Positions, inside: Sequence[ir.Region]) -> ir.Op:
        sides: list[ir.Region] = []
        lifted = self._lifted.get(op, {})
        for side in op.regions:
            own = dict(current)
            ops = self._ops(side, own)
            if side in inside:
                # the branch has entries of its own on a growable tape
                index = self._forward_index[side]
                start = ir.Call(callee=operator.add, args=(current[side], ir.integer(0)), outs=(index,))
                builder = ir.Builder()
                own[side] = _incremented(builder, index)
                ops = [start, *ops, *builder.ops]
            yields = [*side.yields, *(own[r] for r in inside)]
            for value, (home, _) in lifted.items():
                if home is not side:
                    value = dataclasses.replace(value)
                    ops.append(ir.Undefined(out=value))
                yields.append(value)
            sides.append(ir.Region((), tuple(ops), tuple(yields)))
        positions = {r: position() for r in inside}
        current.update(positions)
        outs = (*op.outs, *positions.values(), *(out for _, out in lifted.values()))
        return dataclasses.replace(op, then=sides[0], orelse=sides[1], outs=outs)

    def _edited_loop(self, op: ir.For | ir.While, current: Positions, inside: Sequence[ir.Region]) -> ir.Op:
        args = {r: self._forward_index[r] if op.body is r else position() for r in inside}
        own: Positions = {**current, **args}
        ops, builder = self._ops(op.body, own), ir.Builder()
        more: list[ir.Slot] = []
        for r, arg in args.items():
            left = _incremented(builder, own[r]) if op.body is r else own[r]
            more.append(ir.Slot(current[r], arg, left, position()))
        current.update((r, slot.out) for r, slot in zip(inside, more, strict=True))
        if op in self._trips:
            arg, out = self._trips[op]
            more.append(ir.Slot(ir.integer(0), arg, _incremented(builder, arg), out))
        changed: dict[str, Any] = {"pair": op, "is_mirror": False} if isinstance(op, ir.For) else {}
        if op in self.in_order:
            changed |= {"order_free": False, "parallel": False}
        return ir.with_slots(op, more, [*ops, *builder.ops], **changed)


def _places(builder: ir.Builder, nest: Sequence[ir.For]) -> tuple[ir.Operand, ...]:
    """Where a tape has what belongs to this trip of each loop."""
    return tuple(place_in_range(builder, loop, loop.body.args[0]) for loop in nest)


def position() -> ir.Var:
    """A place in a growable tape."""
    return ir.Var("position", types.intp)


def _incremented(builder: ir.Builder, value: ir.Operand) -> ir.Operand:
    return builder.call(operator.add, value, ir.integer(1), type=types.intp, name="position")
