"""Removal of operations that nothing needs.

In: a function. Out: the function without operations, carried slots and results that no returned value depends on.
What the user asks to happen stays: `raise`, `assert`, random draws. Stores stay where live code may read the memory.

    b = np.empty(3)
    b[0] = x                 (gone: nothing reads b)
    y = x * x                y = x * x
    return y                 return y
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import has_effect, is_unsure
from adjit.transform.analysis.order_sensitive import steering


def eliminate_dead(function: ir.Function) -> ir.Function:
    """The function with only its live operations, carried slots and results; loops are taken to end."""
    return ir.with_body(function, _Live(function).region(function.body))


class _Live:
    """What is live: variables, operations and classes of memory. It starts from what must happen."""

    def __init__(self, function: ir.Function):
        self._variables: set[ir.Operand] = set()
        self._ops: set[ir.Op] = set()
        self._aliases = function.analysis(Aliases)
        self._memory: set[ir.Operand] = set()
        self._writers: defaultdict[ir.Operand, list[ir.Op]] = defaultdict(list)
        self._parent: dict[ir.Op, ir.Op] = {}
        # what makes a variable, and what control flow hands on to it
        self._made: dict[ir.Operand, ir.Op] = dict(function.body.made)
        self._sources: dict[ir.Operand, Sequence[ir.Operand]] = {}
        self._pending: list[ir.Op] = []
        for op in function.body.inside:
            if op.regions:
                self._index(op)
            if op.memory_written is not None:
                self._writers[self._aliases.find(op.memory_written)].append(op)
            if has_effect(op) or is_unsure(op):
                self._keep(op)
        self._use(function.body.yields)
        for operand in filter(ir.is_reference, function.body.yields):
            self._touch(operand)
        while self._pending:
            self._visit(self._pending.pop())

    def _index(self, op: ir.Op) -> None:
        for region in op.regions:
            self._made.update(dict.fromkeys(region.args, op))
            self._parent.update(dict.fromkeys(region.ops, op))
        self._sources.update((name, sources) for name, *sources in ir.joined(op))

    def _use(self, operands: Iterable[ir.Operand]) -> None:
        waiting = list(operands)
        while waiting:
            operand = waiting.pop()
            if isinstance(operand, ir.Var) and operand not in self._variables:
                self._variables.add(operand)
                if operand in self._made:
                    self._keep(self._made[operand])
                waiting += self._sources.get(operand, ())

    def _keep(self, op: ir.Op) -> None:
        if op not in self._ops:
            self._ops.add(op)
            self._pending.append(op)

    def _touch(self, operand: ir.Operand) -> None:
        """Live code reads the memory of `operand`, so all that may write it is live."""
        memory = self._aliases.find(operand)
        if memory not in self._memory:
            self._memory.add(memory)
            for writer in self._writers[memory]:
                self._keep(writer)

    def _visit(self, op: ir.Op) -> None:
        if op in self._parent:
            self._keep(self._parent[op])
        self._use(steering(op) if op.regions else op.operands)
        for operand in op.memory_read:
            self._touch(operand)

    def region(self, region: ir.Region) -> ir.Region:
        """The region of what is live; what has no dead part is kept as the object it is."""
        # a comment stays where its region does, but keeps nothing itself
        live = (op for op in region.ops if op in self._ops or isinstance(op, ir.Comment))
        return ir.with_ops(region, [self._narrowed(op) if op.regions else op for op in live])

    def _narrowed(self, op: ir.Op) -> ir.Op:
        made = ir.with_regions(op, [self.region(region) for region in op.regions])
        assert isinstance(made, ir.If | ir.For | ir.While)
        names = zip(made.outs, strict=True) if isinstance(made, ir.If) else ir.names_of_slots(made)
        return ir.with_results(made, [k for k, of in enumerate(names) if not self._variables.isdisjoint(of)])
