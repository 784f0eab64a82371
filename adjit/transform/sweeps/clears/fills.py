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


def leave_out_fills(function: ir.Function) -> ir.Function:
    """The function without the zeros that are overwritten before anything reads them."""
    fills, instead = _Fills(function), dict[ir.Op, Sequence[ir.Op]]()
    for region in ir.regions(function.body):
        for k, op in enumerate(region.ops):
            if not isinstance(op, ir.Alloc) or op.fill is None or op.fill.value != 0 or not ir.is_float(op.out.type):
                continue
            touching = (fills.touching(later, op.out) for later in region.ops[k + 1 :])
            store = fills.first_store(op, next(filter(None, touching), []))
            if store is not None:
                instead[op] = (dataclasses.replace(op, fill=None),)
                instead[store] = (dataclasses.replace(store, add=False),)
    return ir.with_body(function, ir.replaced(function.body, instead))


class _Fills:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)

    def touching(self, op: ir.Op, array: ir.Var) -> list[ir.Op]:
        """What looks at the array or hands it on, of an operation and those inside it."""
        memory = self.aliases.find(array)
        return [inner for inner in ir.with_inner(op) if self.aliases.touches(inner, memory)]

    def first_store(self, alloc: ir.Alloc, touching: Sequence[ir.Op]) -> ir.Store | None:
        """The addition that is the first access to each element and reaches all of them, in a nest of loops.

        touching: what the nest does to the array. A trip does all that to one element.
        """
        store = touching[0] if touching else None
        if not isinstance(store, ir.Store) or not store.add:
            return None
        chain = self.iterations.places[store].chain
        for op in touching:
            is_alike = isinstance(op, ir.Load | ir.Store) and op.array is alloc.out and op.index == store.index
            if not is_alike or self.iterations.places[op].chain != chain:
                return None
        nest = [op for op, _ in chain[len(self.iterations.places[alloc].chain) :]]
        loops = [op for op in nest if isinstance(op, ir.For) and not op.stops]
        counters: dict[ir.Operand, ir.For] = {loop.body.args[0]: loop for loop in loops}
        if not nest or not len(loops) == len(nest) == len(store.index) or set(store.index) != set(counters):
            return None
        is_whole = all(self.runs_over(counters[i], alloc.out, axis) for axis, i in enumerate(store.index))
        return store if is_whole else None

    def runs_over(self, loop: ir.For, array: ir.Var, axis: int) -> bool:
        """Whether the loop's counter takes each index of the axis, up or down."""
        start, stop = self.iterations.value(loop.start), self.iterations.value(loop.stop)
        if start is None or stop is None or loop.step not in (ir.integer(1), ir.integer(-1)):
            return False
        if loop.step == ir.integer(-1):
            start, stop = stop.plus(1), start.plus(1)
        return start == Affine() and stop == self.iterations.extent(array, axis)
