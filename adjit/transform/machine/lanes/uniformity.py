"""What is the same in all trips of a loop that run side by side, and what differs from lane to lane.

In: a loop and what its trips share. Out: `Uniformity`: each operation is done once for all lanes, or lane by lane, or
is a loop or branch around operations of both kinds that all lanes take together.

    for i in range(n):                    i differs
        p = d                             once
        for j in range(d):                together
            s += w[p] * x[i, j]           w[p] once, the rest lane by lane
            p += 1                        once
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import cost
from adjit.transform.analysis.loop_dependences import Trips

Kind = Literal["once", "by lane", "together"]


class Uniformity:
    def __init__(self, loop: ir.For, trips: Trips, aliases: Aliases):
        self.loop, self.trips, self.aliases = loop, trips, aliases
        self._differing: set[ir.Operand] = {loop.body.args[0]}
        self._sums = {var for s in trips.sums for var in s.chain if not s.is_inner}
        # lanes add to such a sum each by itself
        self._differing.update(var for s in trips.sums for var in s.chain if s.is_inner)
        self._ordered = {var for s in trips.sums if s.is_ordered for var in s.chain}
        # private arrays in which lanes have something different
        self._memory: set[ir.Operand] = set()
        self._by_lane: set[ir.Op] = set()
        size = -1
        while size != (size := len(self._differing) + len(self._memory) + len(self._by_lane)):
            self._region(loop.body)
        self._kinds: dict[ir.Op, Kind] = {}
        # what is made again in each loop over lanes rather than kept: numbers that follow from the counter
        self.made_again: dict[ir.Operand, ir.Call] = {}
        self._classify(loop.body, {loop.body.args[0]})

    def __contains__(self, op: ir.Op) -> bool:
        """Whether the operation has a kind, as all have but those inside of one that is done lane by lane."""
        return op in self._kinds

    def kind(self, op: ir.Op) -> Kind:
        return self._kinds[op]

    def differs(self, operand: ir.Operand) -> bool:
        return operand in self._differing

    def is_laned(self, array: ir.Operand) -> bool:
        """Whether each lane needs an array of its own."""
        return self.aliases.find(array) in self._memory

    # ---------------------------------------------------------------------------------------------- what differs

    def _any(self, operands: Iterable[ir.Operand]) -> bool:
        return any(o in self._differing for o in operands)

    def _differ(self, variables: Iterable[ir.Var]) -> None:
        self._differing.update(v for v in variables if v not in self._sums)

    def _region(self, region: ir.Region) -> None:
        for op in region.ops:
            self._op(op)

    def _op(self, op: ir.Op) -> None:
        match op:
            case ir.For() | ir.If() if self._any(op.operands[: 3 if isinstance(op, ir.For) else 1]):
                self._inside(op)
            case ir.For() if self._adds_in_order(op):
                self._inside(op)
            case ir.For() | ir.If():
                for name, *sources in ir.joined(op):
                    if self._any(sources):
                        self._differ((name,))
                for region in op.regions:
                    self._region(region)
            case ir.Store(array=array, index=index, value=value):
                if self._any((*index, value)):
                    self._store(array)
            case ir.Load(array=array, index=index, out=out):
                if self._any(index) or self.aliases.find(array) in self._memory:
                    self._differ((out,))
            case _:
                if self._any(op.operands):
                    self._differ(op.results)

    def _store(self, array: ir.Operand) -> None:
        if self.trips.kinds.get(self.aliases.find(array)) == "private":
            self._memory.add(self.aliases.find(array))

    def _adds_in_order(self, op: ir.For) -> bool:
        """Whether it only adds to a sum that keeps its order, which one lane does after the other."""
        is_sum = len(op.outs) == 1 and op.outs[0] in self._ordered
        return is_sum and all(isinstance(i, ir.Call | ir.Load | ir.For | ir.Comment) for i in op.body.inside)

    def _inside(self, op: ir.Op) -> None:
        """An operation of which lanes run a part, or different parts: all in it is done lane by lane."""
        self._by_lane.add(op)
        self._differ(op.results)
        for region in op.regions:
            self._differ(region.args)
            for inner in region.ops:
                self._inside(inner)
                if isinstance(inner, ir.Store):
                    self._store(inner.array)

    # ---------------------------------------------------------------------------------------------- kinds

    def _classify(self, region: ir.Region, known: set[ir.Operand]) -> None:
        """`known`: what can be made again anywhere in the region, beside what does not differ."""
        for op in region.ops:
            if op not in self._by_lane:
                for inner in op.regions:
                    self._classify(inner, known)
            self._kinds[op] = self._own_kind(op)
            if isinstance(op, ir.Call) and self._kinds[op] == "by lane" and self._is_made_again(op, known):
                known.add(op.outs[0])
                self.made_again[op.outs[0]] = op

    def _is_made_again(self, op: ir.Call, known: set[ir.Operand]) -> bool:
        if cost(op) != 1 or ir.is_float(op.outs[0].type) or op.outs[0] in self._sums:
            return False
        return all(a in known or not self.differs(a) for a in op.args)

    def _own_kind(self, op: ir.Op) -> Kind:
        if op in self._by_lane or (self._any(op.results) and not op.regions):
            return "by lane"
        if isinstance(op, ir.Store):
            memory = self.aliases.find(op.array)
            shared = self.trips.kinds.get(memory) in ("own", "summed") or memory in self._memory
            return "by lane" if shared else "once"
        if isinstance(op, ir.For | ir.If):
            carried = (*op.results, *(a for r in op.regions for a in r.args))
            if any(v in self._sums or v in self._differing for v in carried):
                return "together"
            inner = {self._kinds[i] for r in op.regions for i in r.ops}
            return "together" if inner - {"once"} else "once"
        return "by lane" if any(o in self._sums for o in (*op.operands, *op.results)) else "once"
