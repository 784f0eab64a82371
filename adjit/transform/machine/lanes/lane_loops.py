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
from adjit.transform.analysis.loop_dependences import Sum
from adjit.transform.analysis.sums import in_any_order
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.machine.lanes.packing import TurnedKind
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

    laned:  for each array of a trip, what makes the one with a last axis for the lanes
    turned: arrays of which the block's part is copied
    width:  lanes a block at most
    is_natural: whether the loop's counter is never negative
    """

    def __init__(
        self,
        uniformity: Uniformity,
        laned: Mapping[ir.Operand, ir.Alloc],
        turned: dict[ir.Operand, Turned],
        width: ir.Operand,
        is_natural: bool,
    ):
        loop, sums = uniformity.loop, uniformity.trips.sums
        self.uniformity, self.laned, self.turned, self.width = uniformity, laned, turned, width
        self.counter = counter = loop.body.args[0]
        self.first = ir.Var(f"{counter.name}0", counter.type)
        self.end = ir.Var(f"{counter.name}1", types.intp)
        self.lanes = ir.Var("lanes", types.intp)
        # where values live that are used in another loop over lanes than the one that makes them
        self.kept: dict[ir.Operand, ir.Var] = {}
        # sums over all trips, and where they stand
        self.sum_of: dict[ir.Operand, Sum] = {v: s for s in sums for v in s.chain if not s.is_inner}
        self.in_any_order = {v for v, s in self.sum_of.items() if not s.is_ordered}
        self.now: dict[Sum, ir.Operand] = {}
        # the counters of the loops over lanes
        self.counters: set[ir.Operand] = set()
        # what lanes add up each by itself starts from zero
        self.zeros: dict[ir.Operand, ir.Const] = {
            slot.arg: typed_const(0, slot.arg.type) for slot, s in zip(loop.slots, sums, strict=True) if s.is_inner
        }
        # the loops that copy parts of arrays, there and back, by what they copy to
        self.copies: dict[ir.Op, ir.Operand] = {}
        # the part of an array that a block sees, along an axis that the trips go through
        self.parts = ir.Builder()
        self._views: dict[tuple[ir.Operand, int], ir.Var] = {}
        self._inside: set[ir.Operand] = {*loop.body.made, *laned}
        self._is_natural = is_natural

    def view(self, array: ir.Operand, axis: int) -> ir.Var:
        """The view of what a block sees of an array along an axis, in which a lane stands for the loop's counter."""
        if (array, axis) not in self._views:
            span = ir.Span(self.first, self.end)
            selectors = [span if k == axis else ir.Span() for k in range(array_type_of(array).ndim)]
            self._views[array, axis] = self.parts.slice(array, selectors, f"{ir.name_of(array, 'array')}_block")
        return self._views[array, axis]

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
        # what the loop carries: sums over all trips, and those of elements that it adds to
        self._sums: dict[Sum, ir.Slot] = {}
        self._stores: dict[ir.Store, ir.Slot] = {}

    def op(self, op: ir.Op) -> None:
        block = self.block
        self.builder.origin = op.origin
        if isinstance(op, ir.Store) and self._is_one_sum(op):
            type_ = array_type_of(op.array).dtype
            total = ir.Var(f"{op.array.name}_sum" if isinstance(op.array, ir.Var) else "sum", type_)
            self._stores[op] = self._adding(typed_const(0, type_), total, op.value)
            return
        op = ir.rewritten_op(op, lambda inner: block.in_parts(inner, self.lane))
        mapping = {v: self.value(v) for v in ir.free_vars(ir.Region((), (op,), ()))}
        op = ir.substituted(in_arrays(in_any_order(op, block.in_any_order), block.laned, self.lane), mapping)
        self.builder.ops.append(op)
        for out in op.results:
            self._here[out] = out
            if out in block.sum_of:
                self._sums[block.sum_of[out]] = self._sums[block.sum_of[out]]._replace(yielded=out)

    def _is_one_sum(self, op: ir.Store) -> bool:
        """Whether all lanes add to the same element."""
        uniformity = self.block.uniformity
        is_summed = uniformity.trips.kinds.get(uniformity.aliases.find(op.array)) == "summed"
        return is_summed and not any(uniformity.differs(i) for i in op.index)

    def _adding(self, start: ir.Operand, arg: ir.Var, term: ir.Operand) -> ir.Slot:
        callee = reassociable_add if isinstance(arg.type, types.Float) else operator.add
        total = self.builder.call(callee, arg, self.value(term), type=arg.type, name=arg.name)
        return ir.Slot(start, arg, total, dataclasses.replace(arg))

    def add_to(self, found: Sum, term: ir.Operand) -> None:
        """Adds what each lane has added up by itself."""
        now = self.block.now[found]
        assert isinstance(now, ir.Var)
        self._sums[found] = self._adding(now, dataclasses.replace(now), term)

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
                arg = dataclasses.replace(operand)
                self._sums[found] = ir.Slot(block.now[found], arg, arg, dataclasses.replace(arg))
            return self._sums[found].yielded
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
        body = ir.Region((self.lane,), tuple(self.builder.ops), ())
        loop = ir.For(stop=self.block.lanes, body=body, origin=self.builder.ops[0].origin)
        self.block.counters.add(self.lane)
        self.block.now.update((found, slot.out) for found, slot in self._sums.items())
        stores = [dataclasses.replace(op, value=slot.out) for op, slot in self._stores.items()]
        return [ir.with_slots(loop, [*self._sums.values(), *self._stores.values()]), *stores]


def array_for(value: ir.Var) -> ir.Var:
    return ir.Var(f"{value.name}_lanes", array_type(value.type, 1))


def in_arrays(op: ir.Op, laned: Mapping[ir.Operand, ir.Alloc], lane: ir.Var | None) -> ir.Op:
    """The operation on the arrays with an axis for the lanes; `lane` None where it looks at their extents alone."""

    def made(op: ir.Op) -> ir.Op:
        if not isinstance(op, ir.Load | ir.Store | ir.Extent) or op.array not in laned:
            return op
        array = laned[op.array].out
        if isinstance(op, ir.Extent):
            return dataclasses.replace(op, array=array)
        assert lane is not None
        return dataclasses.replace(op, array=array, index=(*op.index, lane))

    return ir.rewritten_op(op, made)
