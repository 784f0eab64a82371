"""Loops over the lanes of a block, one by one.

In: operations that lanes do each by itself, and the block they are of. Out: a loop that does them for each lane.

    %y = call mul(%x, %w)            for lane in range(lanes):
    store %v[%j] = %y                    v[j, lane] = x_lanes[lane] * w
    store %w_bar[%j] += %x               w_bar_sum = reassociable_add(w_bar_sum, x_lanes[lane])
                                     w_bar[j] += w_bar_sum
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.runtime.library import reassociable_add
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.sums import in_any_order
from adjit.transform.analysis.trips import Sum, Trips
from adjit.transform.ir.types import array_type, array_type_of, slice_type, typed_const
from adjit.transform.machine.lanes.turned_blocks import TurnedKind
from adjit.transform.machine.lanes.uniformity import Uniformity


@dataclasses.dataclass(frozen=True)
class Turned:
    """A copy of the block's part of an array, without the axis of the trips and with a last one for the lanes.

    Elements that lanes have as their own are copied back at the end; what they add up starts from zero, and is added.
    """

    axis: int
    extents: tuple[ir.Operand, ...]
    array: ir.Var
    kind: TurnedKind


class Block:
    """What the loops over the lanes of one block know of it.

    width:  lanes a block at most
    laned:  for each array of a trip, the one with a last axis for the lanes
    turned: arrays of which the block's part is copied
    is_natural: whether the loop's counter is never negative
    """

    def __init__(
        self,
        loop: ir.For,
        trips: Trips,
        uniformity: Uniformity,
        aliases: Aliases,
        laned: Mapping[ir.Operand, ir.Var],
        turned: Mapping[ir.Operand, Turned],
        width: ir.Operand,
        is_natural: bool,
    ):
        self.trips = trips
        self.uniformity = uniformity
        self.aliases = aliases
        self.laned = laned
        self.turned = turned
        self.width = width
        self.counter = counter = loop.body.args[0]
        self.first = ir.Var(f"{counter.name}0", counter.type)
        self.end = ir.Var(f"{counter.name}1", types.intp)
        self.lanes = ir.Var("lanes", types.intp)
        # where values live that are used in another loop over lanes than the one that makes them
        self.kept: dict[ir.Operand, ir.Var] = {}
        # sums over all trips, and where they stand
        self.sum_of: dict[ir.Operand, Sum] = {v: s for s in trips.sums for v in s.chain if not s.is_inner}
        self.in_any_order = {v for v, s in self.sum_of.items() if not s.is_ordered}
        self.now: dict[Sum, ir.Operand] = {}
        # the loops over lanes, with their counters
        self.lane_of: dict[ir.For, ir.Var] = {}
        # what lanes add up each by itself starts from zero
        self.zeros: dict[ir.Operand, ir.Const] = {
            arg: typed_const(0, arg.type) for arg, s in zip(loop.body.args[1:], trips.sums, strict=True) if s.is_inner
        }
        # the part of an array that a block sees, along an axis that the trips go through
        self.parts: dict[tuple[ir.Operand, int], ir.Slice] = {}
        made_inside = (out for op in ir.walk(loop.body) for out in op.results)
        self._inside: set[ir.Operand] = {*made_inside, *laned}
        self._is_natural = is_natural

    def view(self, array: ir.Operand, axis: int) -> ir.Var:
        """The view of what a block sees of an array along an axis, in which a lane stands for the loop's counter."""
        if (array, axis) not in self.parts:
            span, type_ = ir.Span(self.first, self.end), array_type_of(array)
            selectors = tuple(span if k == axis else ir.Span() for k in range(type_.ndim))
            name = ir.name_of(array, "array")
            out = ir.Var(f"{name}_block", slice_type(type_, selectors))
            self.parts[array, axis] = ir.Slice(base=array, selectors=selectors, out=out)
        return self.parts[array, axis].out

    def in_parts(self, op: ir.Op, lane: ir.Var) -> ir.Op:
        """The operation on the block's parts of arrays."""
        if not isinstance(op, ir.Load | ir.Store):
            return op
        if op.array in self.turned:
            copied = self.turned[op.array]
            index = (*op.index[: copied.axis], *op.index[copied.axis + 1 :], lane)
            return dataclasses.replace(op, array=copied.array, index=index)
        # an index into a part is known not to be negative, which one of the array is not in the eyes of the compiler
        if self.counter not in op.index or op.array in self._inside or not self._is_natural:
            return op
        axis = op.index.index(self.counter)
        index = (*op.index[:axis], lane, *op.index[axis + 1 :])
        return dataclasses.replace(op, array=self.view(op.array, axis), index=index)


class LaneLoop:
    """One loop over lanes in the making."""

    def __init__(self, block: Block):
        self.block = block
        self.builder = ir.Builder()
        self.lane = ir.Var("lane", types.intp)
        self._here: dict[ir.Operand, ir.Operand] = {self.lane: self.lane}
        # sums that this loop adds to: what the loop carries, and where they stand
        self._sums: dict[Sum, ir.Var] = {}
        self._current: dict[Sum, ir.Operand] = {}
        self._stores: list[tuple[ir.Store, ir.Var, ir.Operand]] = []

    def op(self, op: ir.Op) -> None:
        block = self.block
        self.builder.origin = op.origin
        if isinstance(op, ir.Store) and self._is_one_sum(op):
            self._add_up(op)
            return
        op = ir.rewritten_op(op, lambda inner: block.in_parts(inner, self.lane))
        mapping = {v: self.value(v) for v in ir.free_vars(ir.Region((), (op,), ()))}
        op = ir.substituted(in_arrays(in_any_order(op, block.in_any_order), block.laned, self.lane), mapping)
        self.builder.ops.append(op)
        for out in op.results:
            self._here[out] = out
            if out in block.sum_of:
                self._current[block.sum_of[out]] = out

    def _is_one_sum(self, op: ir.Store) -> bool:
        """Whether all lanes add to the same element."""
        block = self.block
        is_summed = block.trips.kinds.get(block.aliases.find(op.array)) == "summed"
        return is_summed and not any(block.uniformity.differs(i) for i in op.index)

    def _add_up(self, op: ir.Store) -> None:
        type_ = array_type_of(op.array).dtype
        name = f"{op.array.name}_sum" if isinstance(op.array, ir.Var) else "sum"
        arg = ir.Var(name, type_)
        self._stores.append((op, arg, self._plus(arg, op.value)))

    def _plus(self, total: ir.Var, term: ir.Operand) -> ir.Var:
        callee = reassociable_add if isinstance(total.type, types.Float) else operator.add
        return self.builder.call(callee, total, self.value(term), type=total.type, name=total.name)

    def add_to(self, found: Sum, term: ir.Operand) -> None:
        """Adds what each lane has added up by itself."""
        now = self.block.now[found]
        assert isinstance(now, ir.Var)
        self._sums[found] = dataclasses.replace(now)
        self._current[found] = self._plus(self._sums[found], term)

    def keep(self, last: Sequence[tuple[ir.Var, ir.Operand]]) -> None:
        values = [(array, self.value(operand)) for array, operand in last]
        for array, value in values:
            self.builder.store(array, (self.lane,), value)

    def value(self, operand: ir.Operand) -> ir.Operand:
        """What stands for an operand in this loop."""
        block = self.block
        if operand in self._here:
            return self._here[operand]
        if operand in block.zeros:
            return block.zeros[operand]
        found = block.sum_of.get(operand)
        if found is not None:
            if found not in self._sums:
                assert isinstance(operand, ir.Var)
                self._current[found] = self._sums[found] = dataclasses.replace(operand)
            return self._current[found]
        if not isinstance(operand, ir.Var) or not block.uniformity.differs(operand):
            return operand
        made: ir.Operand
        if operand is block.counter:
            made = self.builder.call(operator.add, block.first, self.lane, type=operand.type, name=operand.name)
        elif operand in block.uniformity.made_again:
            again = block.uniformity.made_again[operand]
            args = [self.value(a) for a in again.args]
            made = dataclasses.replace(operand)
            self.builder.ops.append(again.rebuilt(args, (), (made,)))
        else:
            array = block.kept.get(operand)
            if array is None:
                array = block.kept[operand] = array_for(operand)
            made = self.builder.load(array, (self.lane,), operand.name)
        self._here[operand] = made
        return made

    def made(self) -> list[ir.Op]:
        if not self.builder.ops:
            return []
        args = [*self._sums.values(), *(arg for _, arg, _ in self._stores)]
        outs = tuple(dataclasses.replace(arg) for arg in args)
        now = self.block.now
        zeros = (typed_const(0, arg.type) for _, arg, _ in self._stores)
        yields = (*(self._current[s] for s in self._sums), *(total for _, _, total in self._stores))
        loop = ir.For(
            stop=self.block.lanes,
            inits=(*(now[s] for s in self._sums), *zeros),
            body=ir.Region((self.lane, *args), tuple(self.builder.ops), yields),
            outs=outs,
            origin=self.builder.ops[0].origin,
        )
        self.block.lane_of[loop] = self.lane
        now.update(zip(self._sums, outs, strict=False))
        totals = outs[len(self._sums) :]
        stores = [dataclasses.replace(op, value=out) for (op, _, _), out in zip(self._stores, totals, strict=True)]
        return [loop, *stores]


def array_for(value: ir.Var) -> ir.Var:
    return ir.Var(f"{value.name}_lanes", array_type(value.type, 1))


def in_arrays(op: ir.Op, laned: Mapping[ir.Operand, ir.Var], lane: ir.Var | None) -> ir.Op:
    """The operation on the arrays with an axis for the lanes; `lane` None where it looks at their extents alone."""

    def made(op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Load | ir.Store) and op.array in laned:
            assert lane is not None
            return dataclasses.replace(op, array=laned[op.array], index=(*op.index, lane))
        if isinstance(op, ir.Extent) and op.array in laned:
            return dataclasses.replace(op, array=laned[op.array])
        return op

    return ir.rewritten_op(op, made)
