"""Scratch arrays: those of which each trip of a loop writes all before it reads any.

In: an array, the body of a loop. Out: whether the array holds nothing from one trip to the next.

    for i in range(n):
        for k in range(m): s[k] = x[i, k]        s, of length m, is private to a trip
        for k in range(m): total += s[k] * s[0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adjit.transform import ir
from adjit.transform.alias import Aliases


def is_private(
    memory: ir.Operand,
    body: ir.Region,
    aliases: Aliases,
    allocated: Mapping[ir.Var, ir.Alloc],
    is_ignored: Callable[[ir.Op], bool],
) -> bool:
    """Whether all that a trip reads of an alias class it has written in that trip, whatever the ones before left there.

    `is_ignored`: loads that do not count.
    """
    return _Coverage(memory, aliases, allocated, is_ignored).holds(body, False)


def is_filled(memory: ir.Operand, body: ir.Region, aliases: Aliases, allocated: Mapping[ir.Var, ir.Alloc]) -> bool:
    """Whether a trip surely writes every element, so that the shadow is zero all over when the trip is undone."""
    coverage = _Coverage(memory, aliases, allocated, lambda op: False)
    return any(
        coverage.covers(op, []) or any(r in allocated and aliases.find(r) == memory for r in op.results)
        for op in body.ops
    )


class _Coverage:
    def __init__(
        self,
        memory: ir.Operand,
        aliases: Aliases,
        allocated: Mapping[ir.Var, ir.Alloc],
        is_ignored: Callable[[ir.Op], bool],
    ):
        self.memory = memory
        self.aliases = aliases
        self.allocated = allocated
        self.is_ignored = is_ignored

    def touches(self, op: ir.Op) -> bool:
        return any(ir.is_array(o) and self.aliases.find(o) == self.memory for o in ir.reads(op))

    def holds(self, region: ir.Region, covered: bool) -> bool:
        """Whether every read in the region comes after all of the array was written; `covered`: it was before."""
        for op in region.ops:
            if covered:
                return True
            if not self.touches(op) or self.is_ignored(op):
                # an array made in the trip is the trip's own
                covered = any(ir.is_array(r) and self.aliases.find(r) == self.memory for r in op.results)
                continue
            if isinstance(op, ir.Store) and not op.add:
                covered = self.covers(op, [])
                continue
            if not op.regions:
                return False
            if not all(self.holds(inner, False) for inner in op.regions):
                return False
            covered = self.covers(op, [])
        return True

    def covers(self, op: ir.Op, loops: list[ir.For]) -> bool:
        """Whether an operation surely writes every element: a nest of loops over the whole shape around one store."""
        if isinstance(op, ir.For) and not op.stops:
            return any(self.covers(inner, [*loops, op]) for inner in op.body.ops)
        if not isinstance(op, ir.Store) or op.add or not isinstance(op.array, ir.Var):
            return False
        made = self.allocated.get(op.array)
        if made is None or self.aliases.find(op.array) != self.memory or len(made.shape) != len(op.index):
            return False
        counters = {loop.body.args[0]: loop for loop in loops}
        for extent, index in zip(made.shape, op.index, strict=True):
            loop = counters.get(index) if isinstance(index, ir.Var) else None
            if loop is None:
                if extent == ir.integer(1) and index == ir.integer(0):
                    continue
                return False
            if loop.start != ir.integer(0) or loop.stop != extent or loop.step != ir.integer(1):
                return False
        # a loop around that is not one of the axes may make no trip at all
        return len([loop for loop in loops if loop.body.args[0] not in op.index]) == 0
