"""What the forward sweep does besides the primal: it saves values on tapes and out of branches, and counts trips.

In: a function, and requests. Out: the function with the saving operations in place.

    for i in range(n):            x_tape = np.empty(n)
        y = f(x)                  for i in range(n):  x_tape[i] = x;  y = f(x)

A loop nest whose trip counts are known when it is entered has its tapes allocated before it, one axis a loop, indexed
by the loop counters. Elsewhere a tape is a list, indexed by a position that counts the trips of its loop.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, place_in_range
from adjit.transform.ir.types import array_type, list_type
from adjit.transform.storage.overwriting import Primal


class ForwardEdits:
    def __init__(self, primal: Primal):
        self.primal = primal
        self.function = primal.function
        # what a store overwrites, loaded in front of it
        self.overwritten: dict[ir.Var, ir.Store] = {}
        # the number of the trip in the reverse loop, for loops whose trips were counted
        self.trip_counter: dict[ir.Region, ir.Var] = {}
        self.reverse_index: dict[ir.Region, ir.Var] = {}
        # how many loops the tapes of an operation run through, for operations of the outermost level
        self.axes: dict[ir.Op, int] = {}
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
        if op not in self._trips:
            self._trips[op] = (ir.Var("trips", types.intp), ir.Var("trips", types.intp))
        return self._trips[op][1]

    def lift(self, value: ir.Var, branch: ir.If, side: ir.Region) -> ir.Var:
        """A value made in a branch as a result of the branch; undefined on the other side."""
        known = self._lifted.setdefault(branch, {})
        if value not in known:
            known[value] = (side, dataclasses.replace(value))
        return known[value][1]

    def tape(self, value: ir.Var, region: ir.Region) -> tuple[list[ir.Op], ir.Var]:
        """Saves a value made in a loop, where it is made.

        Gives the operations that read it back in the mirror, and what they load.
        """
        loaded, role = dataclasses.replace(value), ir.Role("tape", value)
        nest = self._rectangular(region)
        top = self._top(region)
        # a list takes what it needs, and making one anew in each trip would cost more than a long one
        self.axes[top] = max(self.axes.get(top, 0), 1 if nest is None else len(nest))
        if nest is not None and not isinstance(value.type, types.Array | types.List):
            tape = ir.Var(f"{value.name}_tape", array_type(value.type, len(nest)))
            self.before(top, ir.Alloc(shape=tuple(self._extents[loop] for loop in nest), out=tape, role=role))
            builder = ir.Builder()
            index = [place_in_range(builder, loop, loop.body.args[0]) for loop in nest]
            builder.store(tape, index, value)
            self._insert(value, region, builder.ops)
            builder = ir.Builder()
            index = [place_in_range(builder, loop, loop.body.args[0]) for loop in nest]
            builder.emit(ir.Load(array=tape, index=tuple(index), out=loaded))
            return builder.ops, loaded
        tape = ir.Var(f"{value.name}_tape", list_type(value.type))
        self.before(top, ir.NewTape(out=tape, role=role))
        forward, backward = self._positions(region)
        self._insert(value, region, [ir.Push(tape=tape, index=forward, value=value)])
        return [ir.Pull(tape=tape, index=backward, out=loaded)], loaded

    def _insert(self, value: ir.Var, region: ir.Region, ops: Sequence[ir.Op]) -> None:
        if value in self.overwritten:
            self._before[self.overwritten[value]].extend(ops)
        else:
            self._after.setdefault((region, self.primal.made[value][1]), []).extend(ops)

    def _positions(self, region: ir.Region) -> tuple[ir.Operand, ir.Operand]:
        """The number of the entry on the growable tapes of a region, forward and in the mirror."""
        owner = self.primal.owner[region]
        if region in self.trip_counter and self.primal.region_of[owner] is self.function.body:
            assert isinstance(owner, ir.For | ir.While)
            self.trips(owner)
            return self._trips[owner][0], self.trip_counter[region]
        if (
            isinstance(owner, ir.For)
            and self._counts_from_zero(owner)
            and self.primal.region_of[owner] is self.function.body
        ):
            # entered once: one entry a trip
            return owner.body.args[0], owner.body.args[0]
        if region not in self._forward_index:
            self._forward_index[region] = ir.Var("position", types.intp)
            self.reverse_index[region] = ir.Var("position", types.intp)
        return self._forward_index[region], self.reverse_index[region]

    def _counts_from_zero(self, loop: ir.For) -> bool:
        return loop.start == ir.integer(0) and loop.step == ir.integer(1)

    # --------------------------------------------------------------------------------------------------- loop nests

    def _top(self, region: ir.Region) -> ir.Op:
        return self.primal.chain(region)[0]

    def _rectangular(self, region: ir.Region) -> list[ir.For] | None:
        """The loops around a region if all their trip counts are known before the outermost, else None."""
        loops = self.primal.nest(region)
        for loop in loops or ():
            if loop not in self._extents:
                builder = ir.Builder()
                self._extents[loop] = count_trips(builder, loop)
                for made in builder.ops:
                    self.before(self._top(region), made)
        return loops

    # ------------------------------------------------------------------------------------------------------ applying

    def apply(self) -> tuple[ir.Region, dict[ir.Region, ir.Operand]]:
        """The forward sweep, and for each growable tape's loop the number of all its trips."""
        counted = {region: self.primal.chain(region) for region in self._forward_index}
        current: dict[ir.Region, ir.Operand] = {region: ir.integer(0) for region in counted}
        ops = self._ops(self.function.body, current, counted)
        body = self.function.body
        return ir.Region(body.args, tuple(ops), body.yields), current

    def _ops(
        self, region: ir.Region, current: dict[ir.Region, ir.Operand], counted: dict[ir.Region, list[ir.Op]]
    ) -> list[ir.Op]:
        ops = list(self._after.get((region, -1), ()))
        for k, op in enumerate(region.ops):
            ops.extend(self._before.get(op, ()))
            inside = [r for r, chain in counted.items() if op in chain]
            ops.append(self._edited(op, current, counted, inside))
            ops.extend(self._after.get((region, k), ()))
        return ops

    def _edited(
        self,
        op: ir.Op,
        current: dict[ir.Region, ir.Operand],
        counted: dict[ir.Region, list[ir.Op]],
        inside: Sequence[ir.Region],
    ) -> ir.Op:
        if isinstance(op, ir.If):
            return self._edited_if(op, current, counted, inside)
        if op in self.replaced:
            return self.replaced[op]
        if isinstance(op, ir.For | ir.While):
            return self._edited_loop(op, current, counted, inside)
        return op

    def _edited_if(
        self,
        op: ir.If,
        current: dict[ir.Region, ir.Operand],
        counted: dict[ir.Region, list[ir.Op]],
        inside: Sequence[ir.Region],
    ) -> ir.Op:
        sides: list[tuple[list[ir.Op], list[ir.Operand]]] = []
        for side in op.regions:
            own = dict(current)
            ops = self._ops(side, own, counted)
            if side in inside:
                # the branch has entries of its own on a growable tape
                index = self._forward_index[side]
                start = ir.Call(callee=operator.add, args=(current[side], ir.integer(0)), outs=(index,))
                builder = ir.Builder()
                own[side] = _incremented(builder, index)
                ops = [start, *ops, *builder.ops]
            yields = [*side.yields, *(own[r] for r in inside)]
            for value, (home, _) in self._lifted.get(op, {}).items():
                if home is side:
                    yields.append(value)
                else:
                    absent = dataclasses.replace(value)
                    ops.append(ir.Undefined(out=absent))
                    yields.append(absent)
            sides.append((ops, yields))
        outs = list(op.outs)
        for r in inside:
            out = ir.Var("position", types.intp)
            outs.append(out)
            current[r] = out
        outs.extend(out for _, out in self._lifted.get(op, {}).values())
        (then_ops, then_yields), (else_ops, else_yields) = sides
        return dataclasses.replace(
            op,
            then=ir.Region((), tuple(then_ops), tuple(then_yields)),
            orelse=ir.Region((), tuple(else_ops), tuple(else_yields)),
            outs=tuple(outs),
        )

    def _edited_loop(
        self,
        op: ir.For | ir.While,
        current: dict[ir.Region, ir.Operand],
        counted: dict[ir.Region, list[ir.Op]],
        inside: Sequence[ir.Region],
    ) -> ir.Op:
        inits: list[ir.Operand] = []
        args: list[ir.Var] = []
        outs: list[ir.Var] = []
        own = dict(current)
        for r in inside:
            arg = self._forward_index[r] if op.body is r else ir.Var("position", types.intp)
            inits.append(current[r])
            args.append(arg)
            outs.append(ir.Var("position", types.intp))
            own[r] = arg
        ops = self._ops(op.body, own, counted)
        yields: list[ir.Operand] = []
        builder = ir.Builder()
        for r in inside:
            yields.append(_incremented(builder, own[r]) if op.body is r else own[r])
        if op in self._trips:
            arg, out = self._trips[op]
            inits.append(ir.integer(0))
            args.append(arg)
            outs.append(out)
            yields.append(_incremented(builder, arg))
        ops.extend(builder.ops)
        current.update(zip(inside, outs, strict=False))
        cut = len(op.outs)
        old = op.body.yields
        body = ir.Region((*op.body.args, *args), tuple(ops), (*old[:cut], *yields, *old[cut:]))
        if isinstance(op, ir.For):
            return dataclasses.replace(
                op, inits=(*op.inits, *inits), body=body, outs=(*op.outs, *outs), pair=op, is_mirror=False
            )
        test_args = tuple(dataclasses.replace(a) for a in args)
        test = ir.Region((*op.test.args, *test_args), op.test.ops, op.test.yields)
        return dataclasses.replace(op, inits=(*op.inits, *inits), test=test, body=body, outs=(*op.outs, *outs))


def _incremented(builder: ir.Builder, value: ir.Operand) -> ir.Operand:
    return builder.call(operator.add, value, ir.integer(1), type=types.intp, name="position")
