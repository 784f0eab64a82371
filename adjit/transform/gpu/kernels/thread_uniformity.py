"""What is the same in all threads of a block, and what differs from thread to thread.

In: what one thread does, and its counters. Out: `Varying`, which says of a value whether it differs.

    n = x.size                    the same
    i = b * 16 + t                differs
    v = tile[0]                   the same: between two barriers nobody stores what others load
    w = own[0]                    differs, if `own` is a local array
    for k in range(n): s += v     k and s are the same
    if i < n: ...                 whatever it yields differs
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.frontend.library.cuda import counted, shared


class Varying:
    """The values that differ. A thread's own arrays do, too."""

    def __init__(self, body: ir.Region, counters: Sequence[ir.Var]):
        self._differing: set[ir.Operand] = set(counters)
        size = -1
        while size != (size := len(self._differing)):
            self._region(body)

    def __call__(self, operand: ir.Operand) -> bool:
        return operand in self._differing

    def is_own(self, array: ir.Operand) -> bool:
        """Whether it is an array that each thread has one of."""
        return array in self._differing

    def steers(self, op: ir.If | ir.For | ir.While) -> bool:
        """Whether which of its operations are run differs."""
        if isinstance(op, ir.If):
            return self(op.condition)
        if isinstance(op, ir.For):
            return any(map(self, (op.start, op.stop, op.step))) or (op.stops and self(op.body.yields[-1]))
        return self(op.test.yields[0]) or (op.stops and self(op.body.yields[-1]))

    def _region(self, region: ir.Region) -> None:
        for op in region.ops:
            if isinstance(op, ir.If | ir.For | ir.While):
                for inner in op.regions:
                    self._region(inner)
                self._control(op)
            elif isinstance(op, ir.Call) and op.callee in (counted, shared):
                pass  # which is the same in all threads, whatever they are asked
            elif _makes_own(op) or any(map(self, op.operands)):
                self._differing.update(op.results)

    def _control(self, op: ir.If | ir.For | ir.While) -> None:
        differs = self.steers(op)
        if isinstance(op, ir.If):
            for out, *sides in ir.joined(op):
                if differs or any(map(self, sides)):
                    self._differing.add(out)
            return
        if isinstance(op, ir.For) and differs:
            self._differing.add(op.body.args[0])
        for slot, names in zip(op.slots, ir.names_of_slots(op), strict=True):
            if differs or self(slot.init) or self(slot.yielded) or self(slot.arg):
                self._differing.update(names)


def _makes_own(op: ir.Op) -> bool:
    """Whether each thread makes something of its own."""
    return isinstance(op, ir.Alloc | ir.Copy | ir.NewTape) or (isinstance(op, ir.Call) and op.effect)
