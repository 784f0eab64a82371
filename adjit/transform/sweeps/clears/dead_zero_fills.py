"""Zeros that fill an array and are added to before anything reads them are left out.

    x_bar = np.zeros_like(x)             x_bar = np.empty_like(x)
    for i in range(x.size):              for i in range(x.size):
        x_bar[i] += w[i] * y_bar             x_bar[i] = w[i] * y_bar

In: a function. Out: the same without the zeros of an array where the first thing that happens to it, in the region that
makes it, is a nest of loops over all of it, or, trip by trip of its outer loops, over all that these trips touch.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Aliases


def leave_out_fills(function: ir.Function, stored_too: bool = False) -> ir.Function:
    """The function without the zeros that are added to before anything reads them, or, `stored_too`, overwritten."""
    fills, instead = Fills(function), dict[ir.Op, Sequence[ir.Op]]()
    for alloc, touching in fills.zeros(function.body):
        store = fills.first_store(alloc, touching, stored_too)
        if store is not None:
            instead[alloc] = (dataclasses.replace(alloc, fill=None),)
            instead[store] = (dataclasses.replace(store, add=False),)
    return ir.with_body(function, ir.replaced(function.body, instead))


class Fills:
    """Arrays that are made of zeros, and what is done to them."""

    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)

    def zeros(self, body: ir.Region) -> Iterator[tuple[ir.Alloc, list[ir.Op]]]:
        """Each such array, and what the first operation after it that does anything to it does."""
        for region in ir.regions(body):
            for k, op in enumerate(region.ops):
                if isinstance(op, ir.Alloc) and op.fill is not None and op.fill.value == 0 and ir.is_float(op.out.type):
                    memory = self.aliases.find(op.out)
                    later = (other for other in region.ops[k + 1 :] if self.aliases.has_inside(other, memory))
                    yield op, next(filter(None, (self.touching(other, op.out) for other in later)), [])

    def touching(self, op: ir.Op, array: ir.Var) -> list[ir.Op]:
        """What looks at the array, or at slices of it, or hands it on, of an operation and those inside it."""
        touching = self.aliases.touching((op,), self.aliases.find(array))
        elements = (ir.Load, ir.Store)
        touching = (o for o in touching if not (isinstance(o, ir.Slice) and o.base is array))
        return [o for o in touching if not isinstance(o, elements) or not self.aliases.are_distinct(o.array, array)]

    def first_store(self, alloc: ir.Alloc, touching: Sequence[ir.Op], stored_too: bool) -> ir.Store | None:
        """The addition, or store, that is the first access to each element and reaches all of them, in a nest of loops.

        touching: what is done to the array, first of all by the nest. What comes after that, in a trip of its outer
        loops, is done to elements that the nest has reached in this trip.

            for i in range(n):
                for j in range(m): x_bar[i, j] += e[j] * y_bar
                x_bar[i, k] -= y_bar
        """
        store = touching[0] if touching else None
        if not isinstance(store, ir.Store) or not (store.add or stored_too):
            return None
        chain = self.iterations.places[store].chain
        around = len(self.iterations.places[alloc].chain)
        nest = [op for op, _ in chain[around:]]
        loops = [op for op in nest if isinstance(op, ir.For) and not op.stops]
        counters: dict[ir.Operand, ir.For] = {loop.body.args[0]: loop for loop in loops}
        if not nest or not len(loops) == len(nest) == len(store.index) or set(store.index) != set(counters):
            return None
        for op in touching:
            index = self.index(op, alloc.out)
            if index is None:
                return None
            both = zip(chain, self.iterations.places[op].chain, strict=False)
            shared = [one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both)][around:]
            fixed = {loop.body.args[0] for loop, _ in shared if isinstance(loop, ir.For)}
            if any(own in fixed and i is not own for own, i in zip(store.index, index, strict=True)):
                return None
        is_whole = all(self.runs_over(counters[i], alloc.out, axis) for axis, i in enumerate(store.index))
        return store if is_whole else None

    def index(self, op: ir.Op, array: ir.Var) -> Sequence[ir.Operand | None] | None:
        """Which element of the array an operation is about, by axis, or a slice of it: None where a view has it; None
        for any other operation."""
        if not isinstance(op, ir.Load | ir.Store):
            return None
        if op.array is array:
            return op.index
        view = self.iterations.definitions.get(op.array) if isinstance(op.array, ir.Var) else None
        if not isinstance(view, ir.Slice) or view.base is not array:
            return None
        selectors = [selector for selector in view.selectors if not isinstance(selector, ir.NewAxis)]
        return [selector.index if isinstance(selector, ir.At) else None for selector in selectors]

    def runs_over(self, loop: ir.For, array: ir.Var, axis: int) -> bool:
        """Whether the loop's counter takes each index of the axis, up or down."""
        start, stop = self.iterations.value(loop.start), self.iterations.value(loop.stop)
        if start is None or stop is None or loop.step not in (ir.integer(1), ir.integer(-1)):
            return False
        if loop.step == ir.integer(-1):
            start, stop = stop.plus(1), start.plus(1)
        return start == Affine() and stop == self.length(array, axis)

    def length(self, array: ir.Var, axis: int) -> Affine | None:
        """How long an axis is, or n where it is max(n, 0), which is the same to a loop."""
        made = self.iterations.definitions.get(array)
        shape = made.shape if isinstance(made, ir.Alloc) else ()
        extent = self.iterations.definitions.get(shape[axis]) if shape else None
        if isinstance(extent, ir.Call) and extent.callee is max and extent.args[1] == ir.integer(0):
            return self.iterations.value(extent.args[0])
        return self.iterations.extent(array, axis)
