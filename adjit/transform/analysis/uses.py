"""Where operations stand, and who uses the values of a function.

In: a function. Out: `Uses`, with what is around each operation, the loop of each counter, and the users of each value.

    for i in range(n):
        y[i] = a[i]          around the store: the loop;  users of y: the store;  %i counts in the loop
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir


class Uses:
    def __init__(self, function: ir.Function):
        self.around: dict[ir.Op, tuple[ir.Op, ...]] = {}  # from the outside in
        self.home: dict[ir.Op, ir.Region] = {}
        self.counters: dict[ir.Operand, ir.For] = {}
        self.users: dict[ir.Operand, list[ir.Op]] = {}
        self.held: set[ir.Operand] = set()  # what regions yield
        self._walk(function.body, ())

    def _walk(self, region: ir.Region, around: tuple[ir.Op, ...]) -> None:
        self.held.update(region.yields)
        for op in region.ops:
            self.around[op], self.home[op] = around, region
            if isinstance(op, ir.For):
                self.counters[op.body.args[0]] = op
            for operand in op.operands:
                if isinstance(operand, ir.Var) or ir.is_array(operand):
                    self.users.setdefault(operand, []).append(op)
            for inner in op.regions:
                self._walk(inner, (*around, op))

    def within(self, op: ir.Op, region: ir.Region) -> Sequence[ir.Op] | None:
        """What is around an operation up to a region, and itself; None if it is not in the region."""
        chain = (*self.around[op], op)
        return next((chain[k:] for k, one in enumerate(chain) if self.home[one] is region), None)
