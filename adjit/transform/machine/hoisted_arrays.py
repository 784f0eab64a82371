"""Scratch arrays that each trip of a loop makes anew are made once, before the loop.

In: a function as it will be emitted. Out: the same with fewer allocations.

    for i in range(n):                       d = np.empty(m)
        d = np.empty(m)                      for i in range(n):
        for j in range(m): d[j] = ...            for j in range(m): d[j] = ...

What a trip finds in such an array nobody has asked for, or it is filled in each trip as before; unless each trip leaves
zeros behind, as those do that take adjoints out of a shadow. Threads keep arrays of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.integers import is_natural


def hoist_scratch(function: ir.Function) -> ir.Function:
    """The function with its scratch arrays as far out as they can be."""
    return ir.with_body(function, _Hoisting(function).region(function.body))


class _Hoisting:
    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases = function.analysis(Aliases)
        self.classes: dict[ir.Operand, set[ir.Operand]] = {}
        for var in filter(ir.is_reference, function.body.defines):
            self.classes.setdefault(self.aliases.find(var), set()).add(var)

    def region(self, region: ir.Region) -> ir.Region:
        return ir.with_ops(region, [made for op in region.ops for made in self.op(op)])

    def op(self, before: ir.Op) -> Sequence[ir.Op]:
        op = ir.with_regions(before, [self.region(r) for r in before.regions])
        if isinstance(op, ir.For | ir.While) and isinstance(before, ir.For | ir.While):
            return self.loop(op, before)
        return [op]

    def loop(self, op: ir.For | ir.While, before: ir.For | ir.While) -> list[ir.Op]:
        """The loop, after the arrays that need not be made in it. `before` is how it stood in the function."""
        if isinstance(op, ir.For) and op.parallel:
            return [op]
        inside = {var for region in op.regions for var in region.defines}
        handed_on = {self.aliases.find(y) for r in op.regions for y in r.yields if ir.is_reference(y)}
        outside: list[ir.Op] = []
        left: list[ir.Op] = []
        for inner in op.body.ops:
            if isinstance(inner, ir.Extent) and inner.array not in inside:
                inside.discard(inner.out)
                outside.append(inner)
            elif isinstance(inner, ir.Alloc) and self.is_hoisted(inner, inside, handed_on):
                inside.discard(inner.out)
                if inner.fill is None or self.is_cleared(inner, before):
                    outside.append(inner)
                else:
                    outside.append(dataclasses.replace(inner, fill=None))
                    left += _filling(inner)
            else:
                left.append(inner)
        if not any(isinstance(o, ir.Alloc) for o in outside):
            return [op]
        return [*outside, dataclasses.replace(op, body=ir.with_ops(op.body, left))]

    def is_hoisted(self, op: ir.Alloc, inside: set[ir.Operand], handed_on: set[ir.Operand]) -> bool:
        memory = self.aliases.find(op.out)
        if memory in handed_on or not self.classes[memory] <= inside | {op.out}:
            return False
        if any(o in inside for o in op.operands):
            return False
        return op.fill is None if op.like is not None else all(is_natural(n, self.function.body.made) for n in op.shape)

    def is_cleared(self, op: ir.Alloc, loop: ir.For | ir.While) -> bool:
        """Whether each trip leaves the array as it found it, full of zeros."""
        is_zero = op.fill is not None and op.fill.value == 0
        model, memory = self.function.analysis(IndexModel), self.aliases.find(op.out)
        return is_zero and isinstance(loop, ir.For) and model.is_cleared(memory, loop)


def _filling(alloc: ir.Alloc) -> list[ir.Op]:
    """What stores the value that an array is filled with to all its elements."""
    value, builder = alloc.fill, ir.Builder(alloc.origin)
    assert value is not None
    axes = range(len(alloc.shape))
    builder.nest(alloc.shape, lambda index: builder.store(alloc.out, index, value), "i", ordered=axes)
    return builder.ops
