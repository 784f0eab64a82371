"""Arrays that are filled with zeros, and then added to once all over, are stored to instead.

    x_bar = np.zeros_like(x)             x_bar = np.empty_like(x)
    for i in range(x.size):              for i in range(x.size):
        x_bar[i] += w[i] * y_bar             x_bar[i] = w[i] * y_bar

In: a function. Out: the same, with the zeros left out where the first thing that happens to the array, in the region
that makes it, is a nest of loops over all of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.sweeps.clears.clears import touches


def leave_out_fills(function: ir.Function) -> ir.Function:
    """The function without the zeros that are overwritten before anything reads them."""
    fills, instead = _Fills(function), dict[ir.Op, Sequence[ir.Op]]()
    for region in ir.regions(function.body):
        for k, op in enumerate(region.ops):
            if not isinstance(op, ir.Alloc) or op.fill is None or op.fill.value != 0 or not ir.is_float(op.out.type):
                continue
            first = next((later for later in region.ops[k + 1 :] if fills.touches(later, op.out)), None)
            store = None if first is None else fills.first_store(first, op)
            if store is not None:
                instead[op] = (dataclasses.replace(op, fill=None),)
                instead[store] = (dataclasses.replace(store, add=False),)
    return ir.with_body(function, ir.replaced(function.body, instead))


class _Fills:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)

    def touches(self, op: ir.Op, array: ir.Var) -> bool:
        """Whether an operation, or one inside it, may look at the array or hand it on."""
        memory = self.aliases.find(array)
        return any(touches(inner, memory, self.aliases) for inner in ir.with_inner(op))

    def first_store(self, op: ir.Op, alloc: ir.Alloc) -> ir.Store | None:
        """The addition that is the first access to each element and reaches all of them, in a nest of loops."""
        counters: dict[ir.Operand, ir.For] = {}
        while isinstance(op, ir.For) and not op.stops:
            counters[op.body.args[0]] = op
            first = next((inner for inner in op.body.ops if self.touches(inner, alloc.out)), None)
            if first is None or any(y is alloc.out for y in op.body.yields):
                return None
            if any(self.touches(i, alloc.out) for i in op.body.ops if i is not first) and first.regions:
                return None
            if not first.regions:
                return first if isinstance(first, ir.Store) and self.covers(first, op, alloc, counters) else None
            op = first
        return None

    def covers(self, store: ir.Store, innermost: ir.For, alloc: ir.Alloc, counters: dict[ir.Operand, ir.For]) -> bool:
        if not store.add or store.array is not alloc.out:
            return False
        if len(counters) != len(store.index) or set(store.index) != set(counters):
            return False
        for other in innermost.body.ops:
            # whatever else the trip does to the array, it does to this element
            if other is not store and self.touches(other, alloc.out):
                if not isinstance(other, ir.Load | ir.Store) or other.array is not alloc.out:
                    return False
                if other.index != store.index:
                    return False
        return all(self.runs_over(counters[i], alloc.out, axis) for axis, i in enumerate(store.index))

    def runs_over(self, loop: ir.For, array: ir.Var, axis: int) -> bool:
        """Whether the loop's counter takes each index of the axis, up or down."""
        start, stop = self.iterations.value(loop.start), self.iterations.value(loop.stop)
        if start is None or stop is None or loop.step not in (ir.integer(1), ir.integer(-1)):
            return False
        if loop.step == ir.integer(-1):
            start, stop = stop.plus(Affine(constant=1)), start.plus(Affine(constant=1))
        return start == Affine() and stop == self.iterations.extent(array, axis)
