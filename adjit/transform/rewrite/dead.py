"""Removal of operations that nothing needs.

In: a function. Out: the function without operations, carried slots and results that no returned value depends on.
What the user asks to happen stays: `raise`, `assert`, random draws. Stores stay where live code may read the memory.

    b = np.empty(3)
    b[0] = x                 (gone: nothing reads b)
    y = x * x                y = x * x
    return y                 return y
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import has_effect


def eliminate_dead(function: ir.Function) -> ir.Function:
    """The function with only its live operations, carried slots and results; loops are taken to end."""
    body = _Sweep(_Marking(function)).region(function.body)
    return ir.with_body(function, body)


class _Marking:
    """What is live: variables, operations, carried slots, and classes of memory. It starts from what must happen."""

    def __init__(self, function: ir.Function):
        self.variables: set[ir.Var] = set()
        self.ops: set[ir.Op] = set()
        self.slots: set[tuple[ir.Op, int]] = set()
        self._aliases = function.analysis(Aliases)
        self._memory: set[ir.Operand] = set()
        self._writers: defaultdict[ir.Operand, list[ir.Op]] = defaultdict(list)
        self._parent: dict[ir.Op, ir.Op] = {}
        self._source: dict[ir.Var, tuple[ir.Op, int]] = {}  # a result or region argument: its operation, its slot or -1
        self._pending: list[ir.Var | ir.Op] = []
        for op in function.body.inside:
            self._index(op)
        for op in filter(has_effect, function.body.inside):
            self._keep(op)
        for operand in function.body.yields:
            self._use(operand)
            if ir.is_reference(operand):
                self._touch(operand)
        while self._pending:
            item = self._pending.pop()
            if isinstance(item, ir.Var):
                self._visit_var(item)
            else:
                self._visit_op(item)

    def _index(self, op: ir.Op) -> None:
        for k, out in enumerate(op.results):
            self._source[out] = (op, k)
        for region in op.regions:
            counters = 1 if isinstance(op, ir.For) else 0
            for k, arg in enumerate(region.args):
                self._source[arg] = (op, k - counters)
            self._parent.update(dict.fromkeys(region.ops, op))
        target = op.memory_written
        if target is not None:
            self._writers[self._aliases.find(target)].append(op)

    def _use(self, operand: ir.Operand) -> None:
        if isinstance(operand, ir.Var) and operand not in self.variables:
            self.variables.add(operand)
            self._pending.append(operand)

    def _keep(self, op: ir.Op) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self._pending.append(op)

    def _touch(self, operand: ir.Operand) -> None:
        """Live code reads the memory of `operand`, so all that may write it is live."""
        memory = self._aliases.find(operand)
        if memory not in self._memory:
            self._memory.add(memory)
            for writer in self._writers[memory]:
                self._keep(writer)

    def _visit_var(self, var: ir.Var) -> None:
        if var not in self._source:  # a parameter
            return
        op, k = self._source[var]
        self._keep(op)
        if not op.regions:
            return
        if isinstance(op, ir.If):
            self._use(op.then.yields[k])
            self._use(op.orelse.yields[k])
        elif isinstance(op, (ir.For, ir.While)) and k >= 0 and (op, k) not in self.slots:
            self.slots.add((op, k))
            self._use(op.inits[k])
            self._use(op.body.yields[k])

    def _visit_op(self, op: ir.Op) -> None:
        if op in self._parent:
            self._keep(self._parent[op])
        needed = op.operands
        if isinstance(op, ir.For):
            needed = (op.start, op.stop, op.step)
        elif isinstance(op, ir.While):
            needed = op.test.yields
        for operand in needed:
            self._use(operand)
        if isinstance(op, (ir.For, ir.While)) and op.stops:
            self._use(op.body.yields[-1])
        for operand in op.memory_read:
            self._touch(operand)


class _Sweep:
    """Rebuilds regions out of what is marked; what has no dead part is kept as the object it is."""

    def __init__(self, live: _Marking):
        self.live = live

    def region(self, region: ir.Region) -> ir.Region:
        # a comment stays where its region does, but keeps nothing itself
        live = self.live.ops
        ops = tuple(self.op(op) if op.regions else op for op in region.ops if op in live or isinstance(op, ir.Comment))
        return region if ops == region.ops else dataclasses.replace(region, ops=ops)

    def op(self, op: ir.Op) -> ir.Op:
        live = self.live
        if isinstance(op, ir.If):
            kept = [k for k, out in enumerate(op.outs) if out in live.variables]
        else:
            kept = [k for k in range(len(op.results)) if (op, k) in live.slots]
        made = ir.with_regions(op, [self.region(region) for region in op.regions])
        assert isinstance(made, ir.If | ir.For | ir.While)
        return ir.with_results(made, kept)
