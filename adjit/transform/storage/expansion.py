"""Scratch arrays with an axis more for each loop around their use, so that what a trip leaves in them stays there.

In: both sweeps, and the arrays that are given axes, with their loops (`primal.py` says which can be). Out: both sweeps
with these axes.

    s = np.empty(m)                         s = np.empty((n, m))
    for i in range(n):                      for i in range(n):
        for k in range(m): s[k] = ...           for k in range(m): s[i, k] = ...

An array can be given the axis of a loop where each trip writes all that it reads of it first. Nothing has to be put
back then: the array is its own tape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, natural, place_in_range
from adjit.transform.ir.types import array_type, array_type_of
from adjit.transform.rewrite.array_contraction import Replaced


def expanded(
    region: ir.Region, loops_of: Mapping[ir.Operand, Sequence[ir.For]]
) -> tuple[ir.Region, dict[ir.Operand, ir.Var]]:
    """Both sweeps with the axes for these arrays, and the new array for each of them.

    A loop of the forward sweep and its mirror are known by their `pair`.
    """
    return _Expanding(region, loops_of).applied()


class _Expanding:
    def __init__(self, body: ir.Region, loops_of: Mapping[ir.Operand, Sequence[ir.For]]):
        self.body = body
        self.loops_of = loops_of
        self.new: dict[ir.Operand, ir.Var] = {}
        allocs = (op for op in ir.walk(body) if isinstance(op, ir.Alloc))
        self.allocs: dict[ir.Operand, ir.Alloc] = {op.out: op for op in allocs if op.out in loops_of}
        self.replaced = Replaced(self.allocs)
        # of the loops around the place that is looked at
        self.counters: dict[object, ir.Var] = {}

    def applied(self) -> tuple[ir.Region, dict[ir.Operand, ir.Var]]:
        ops: list[ir.Op] = []
        for op in self.body.ops:
            for array in self.loops_of:
                if array not in self.new and op is not self.allocs[array] and _uses(op, array):
                    ops.extend(self.alloc(array))
            ops.extend(self.op(op))
        ops = [ir.substituted(op, self.replaced.extents) for op in ops]
        return ir.with_ops(self.body, ops), {old: self.new[old] for old in self.loops_of}

    def alloc(self, array: ir.Operand) -> list[ir.Op]:
        """The new array, made in front of its first use, where the trips of the loops are known."""
        alloc, type_ = self.replaced.model(array), array_type_of(array)
        builder = ir.Builder(self.allocs[array].origin)
        trips = [count_trips(builder, loop) for loop in self.loops_of[array]]
        shape = alloc.shape
        if alloc.like is not None:
            shape = builder.shape(alloc.like)
        elif self.allocs[array] not in self.body.ops:
            # it may be that the loop makes no trip because of an extent below zero
            shape = tuple(natural(builder, n, self.body.made) for n in shape)
        made = self.allocs[array].out
        self.new[array] = ir.Var(made.name, array_type(type_.dtype, type_.ndim + len(trips)), made.user)
        builder.emit(ir.Alloc(shape=(*trips, *shape), out=self.new[array], role=ir.Role("axes", array)))
        return builder.ops

    def op(self, op: ir.Op) -> Iterator[ir.Op]:
        builder = ir.Builder(op.origin)
        if isinstance(op, ir.Alloc) and op.out in self.loops_of:
            # inside a loop that is not around it, each trip stores what it reads: nothing reads what it is filled with
            if op.fill is not None and all(loop in self.counters for loop in self.loops_of[op.out]):
                self.fill(builder, op)
            yield from builder.ops
            return
        if isinstance(op, ir.Extent | ir.Alloc):
            yield from self.replaced.asked(op)
            return
        if isinstance(op, ir.For) and op.pair is not None:
            self.counters[op.pair] = op.body.args[0]
        for array in [o for o in self.loops_of if o in op.operands]:
            prefix = self.prefix(builder, array)
            if isinstance(op, ir.Load | ir.Store):
                op = dataclasses.replace(op, array=self.new[array], index=(*prefix, *op.index))
            else:
                assert isinstance(array, ir.Var)
                op = ir.substituted(op, {array: self.row(builder, array, prefix)})
        yield from builder.ops
        regions = [ir.with_ops(r, [made for inner in r.ops for made in self.op(inner)]) for r in op.regions]
        yield ir.with_regions(op, regions)
        if isinstance(op, ir.For) and op.pair is not None:
            del self.counters[op.pair]

    def prefix(self, builder: ir.Builder, array: ir.Operand) -> list[ir.Operand]:
        return [place_in_range(builder, loop, self.counters[loop]) for loop in self.loops_of[array]]

    def row(self, builder: ir.Builder, array: ir.Operand, prefix: Sequence[ir.Operand]) -> ir.Var:
        """The part of the array for these trips, as a view."""
        selectors: list[ir.Selector] = [ir.At(p) for p in prefix]
        selectors += [ir.Span()] * array_type_of(array).ndim
        out = ir.Var(self.new[array].name, array.type)
        builder.emit(ir.Slice(base=self.new[array], selectors=tuple(selectors), out=out))
        return out

    def fill(self, builder: ir.Builder, alloc: ir.Alloc) -> None:
        """What each trip fills its own part with, where the array was made in the trip."""
        array, value = alloc.out, alloc.fill
        assert value is not None
        prefix, new = self.prefix(builder, array), self.new[array]
        extents = [builder.extent(new, len(prefix) + axis) for axis in range(array_type_of(array).ndim)]
        builder.nest(extents, lambda index: builder.store(new, (*prefix, *index), value), "i")


def _uses(op: ir.Op, array: ir.Operand) -> bool:
    """Whether an operation looks at what is in the array."""
    return any(array in inner.operands for inner in ir.with_inner(op) if not isinstance(inner, ir.Extent | ir.Alloc))
