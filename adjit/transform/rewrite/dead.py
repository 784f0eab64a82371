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

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases


def eliminate_dead(function: ir.Function) -> ir.Function:
    """The function with only its live operations, carried slots and results; loops are taken to end."""
    return ir.with_body(function, _swept(function.body, _Marking(function)))


class _Marking:
    """What is live: variables, operations, carried slots, and classes of memory. It starts from what must happen."""

    def __init__(self, function: ir.Function):
        self.variables: set[ir.Var] = set()
        self.ops: set[ir.Op] = set()
        self.slots: set[ir.Var] = set()  # by what they are called after the loop or branch
        self._aliases = function.analysis(Aliases)
        self._memory: set[ir.Operand] = set()
        self._writers: defaultdict[ir.Operand, list[ir.Op]] = defaultdict(list)
        self._parent: dict[ir.Op, ir.Op] = {}
        self._source: dict[ir.Var, tuple[ir.Op, ir.Slot | None]] = {}  # of results and arguments of regions
        self._pending: list[ir.Var | ir.Op] = []
        roots: list[ir.Op] = []
        for op in function.body.inside:
            self._index(op)
            if isinstance(op, ir.Raise) or (isinstance(op, ir.Call) and op.effect):
                roots.append(op)
        for root in roots:
            self._keep(root)
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
        self._source.update(dict.fromkeys(op.results, (op, None)))
        for region in op.regions:
            self._source.update(dict.fromkeys(region.args, (op, None)))
            self._parent.update(dict.fromkeys(region.ops, op))
        for slot in ir.slots(op):
            self._source.update(dict.fromkeys((slot.out, *slot.args), (op, slot)))
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
        op, slot = self._source[var]
        self._keep(op)
        if slot is not None:
            self.slots.add(slot.out)
            for source in slot.sources:
                self._use(source)

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


def _swept(region: ir.Region, live: _Marking) -> ir.Region:
    """The region with what is marked; what has no dead part is kept as the object it is."""
    ops: list[ir.Op] = []
    for op in region.ops:
        if op in live.ops and op.regions:
            kept = [k for k, out in enumerate(op.results) if out in live.slots]
            ops.append(ir.with_slots(ir.with_regions(op, [_swept(inner, live) for inner in op.regions]), kept))
        elif op in live.ops or isinstance(op, ir.Comment):
            # a comment stays where its region does, but keeps nothing itself
            ops.append(op)
    return ir.with_ops(region, ops)
