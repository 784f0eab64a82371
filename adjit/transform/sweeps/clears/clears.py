"""Clears of elements that are stored to next, or that nothing reads, are left out.

    v_bar[i] = 0.0                                y_bar = h_bar[i]
    v_bar[i + 1] += a      v_bar[i + 1] += a      h_bar[i] = 0.0            y_bar = h_bar[i]
    v_bar[i] += e          v_bar[i] = e           x_bar[i] += w * y_bar     x_bar[i] += w * y_bar

In: a function. Out: the same with an addition to what was cleared made a store, and without clears after which isl
finds no read. Between a clear and an addition nothing may read the memory, and what is added elsewhere must be another
element for certain. The adjoint of a store reads and clears that of the element: an earlier value may have been read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel, is_clear
from adjit.transform.analysis.integers import Naturals, parted


def leave_out_clears(function: ir.Function) -> ir.Function:
    """The function without the clears of its own arrays that nothing reads."""
    clears = [op for op in ir.walk(function.body) if isinstance(op, ir.Store) and is_clear(op)]
    if not clears:
        return function
    aliases, model = function.analysis(Aliases), function.analysis(IndexModel)
    shown = {aliases.find(o) for o in (*function.body.args, *function.body.yields) if ir.is_reference(o)}
    readers: dict[ir.Operand, list[ir.Op]] = {}
    for op in ir.walk(function.body):
        arrays = (op.array,) if isinstance(op, ir.Store) and op.add else op.memory_read
        for memory in {aliases.find(array) for array in arrays}:
            readers.setdefault(memory, []).append(op)
    idle = [
        clear
        for clear in clears
        if (memory := aliases.find(clear.array)) not in shown
        and not any(model.may_reach(clear, reader) for reader in readers.get(memory, ()))
    ]
    return ir.with_body(function, ir.replaced(function.body, dict.fromkeys(idle, ())))


def merge_clears(function: ir.Function) -> ir.Function:
    """The function with each clear followed by an addition to the same element made one store."""
    return ir.with_body(function, _Merging(function).region(function.body))


class _Merging:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.naturals = function.analysis(Naturals)
        self.made = function.body.made

    def region(self, region: ir.Region) -> ir.Region:
        ops = [ir.with_regions(op, [self.region(r) for r in op.regions]) for op in region.ops]
        for clear in [op for op in ops if isinstance(op, ir.Store) and is_clear(op)]:
            k = ops.index(clear)
            addition = self.addition_after(clear, ops[k + 1 :])
            if addition is not None:
                ops[ops.index(addition)] = dataclasses.replace(addition, add=False, promised=clear.promised)
                del ops[k]
        return ir.with_ops(region, ops)

    def addition_after(self, clear: ir.Store, later: Sequence[ir.Op]) -> ir.Store | None:
        """The addition to the element that is cleared, if nothing looks at it before."""
        memory = self.aliases.find(clear.array)
        for op in later:
            if isinstance(op, ir.Store) and op.array is clear.array:
                if op.index == clear.index:
                    return op if op.add else None
                if any(self.differs(a, b) for a, b in zip(op.index, clear.index, strict=True)):
                    continue
            if self.aliases.has_inside(op, memory):
                return None
        return None

    def differs(self, a: ir.Operand, b: ir.Operand) -> bool:
        """Whether two indices differ for certain: by a literal, and neither counts from the end."""
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return bool(a.value != b.value and a.value >= 0 and b.value >= 0)
        (base, shift), (other, moved) = parted(a, self.made), parted(b, self.made)
        # the lower of the two must not be below zero, where it would count from the end
        return base is other and base in self.naturals and shift != moved and min(shift, moved) >= 0
