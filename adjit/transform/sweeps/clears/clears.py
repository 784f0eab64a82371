"""An element that is cleared and then added to is stored to.

    v_bar[i] = 0.0
    v_bar[i + 1] += a            v_bar[i + 1] += a
    v_bar[i] += e                v_bar[i] = e

In: a function. Out: the same with such pairs made one. Between the two nothing may read the memory, and what is added
elsewhere must be another element for certain.
"""

from __future__ import annotations

import dataclasses
import operator

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import is_clear


def merge_clears(function: ir.Function) -> ir.Function:
    """The function with each clear followed by an addition to the same element made one store."""
    merging = _Merging(function)
    body = merging.region(function.body)
    return dataclasses.replace(function, body=body) if merging.changed else function


class _Merging:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.changed = False
        self.made = function.body.made
        self.natural = {
            op.body.args[0] for op in ir.walk(function.body) if isinstance(op, ir.For) and is_never_negative(op)
        }

    def region(self, region: ir.Region) -> ir.Region:
        ops = [self.inside(op) for op in region.ops]
        k = 0
        while k < len(ops):
            place = self.addition_after(ops, k)
            if place is not None:
                later = ops[place]
                clear = ops[k]
                assert isinstance(later, ir.Store)
                assert isinstance(clear, ir.Store)
                ops[place] = dataclasses.replace(later, add=False, promised=clear.promised)
                del ops[k]
                self.changed = True
                continue
            k += 1
        return ir.Region(region.args, tuple(ops), region.yields) if self.changed else region

    def inside(self, op: ir.Op) -> ir.Op:
        return ir.with_regions(op, [self.region(r) for r in op.regions])

    def addition_after(self, ops: list[ir.Op], k: int) -> int | None:
        """Where the element that `ops[k]` clears is added to, if nothing looks at it before."""
        clear = ops[k]
        if not isinstance(clear, ir.Store) or not is_clear(clear):
            return None
        memory = self.aliases.find(clear.array)
        for place in range(k + 1, len(ops)):
            op = ops[place]
            if isinstance(op, ir.Store) and op.array is clear.array and op.index == clear.index:
                return place if op.add else None
            if isinstance(op, ir.Store) and op.array is clear.array and self.is_elsewhere(op.index, clear.index):
                continue
            if any(ir.is_array(o) and self.aliases.find(o) == memory for o in ir.reads(op)):
                return None
            if any(self.aliases.find(a) == memory for a in op.memory_read):
                return None
        return None

    def is_elsewhere(self, one: tuple[ir.Operand, ...], other: tuple[ir.Operand, ...]) -> bool:
        """Whether two indices differ for certain on some axis: by a literal, and neither counts from the end."""
        return any(self.differs(a, b) for a, b in zip(one, other, strict=True))

    def differs(self, a: ir.Operand, b: ir.Operand) -> bool:
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return bool(a.value != b.value and a.value >= 0 and b.value >= 0)
        (base, shift), (other, moved) = self.split(a), self.split(b)
        if base is not other or base not in self.natural or shift == moved:
            return False
        # the lower of the two must not be below zero, where it would count from the end
        return min(shift, moved) >= 0

    def split(self, index: ir.Operand) -> tuple[ir.Operand, int]:
        """An index as a variable and a literal offset."""
        op = self.made.get(index) if isinstance(index, ir.Var) else None
        if isinstance(op, ir.Call) and op.callee is operator.add and isinstance(op.args[1], ir.Const):
            return op.args[0], int(op.args[1].value)
        if isinstance(op, ir.Call) and op.callee is operator.sub and isinstance(op.args[1], ir.Const):
            return op.args[0], -int(op.args[1].value)
        return index, 0


def is_never_negative(op: ir.For) -> bool:
    """Whether the counter of a loop is known not to go below zero."""
    if not isinstance(op.step, ir.Const):
        return False
    if op.step.value > 0:
        return isinstance(op.start, ir.Const) and bool(op.start.value >= 0)
    return isinstance(op.stop, ir.Const) and bool(op.stop.value >= -1)
