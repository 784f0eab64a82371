"""Zeros that are stored to next, or that nothing reads, are left out: those of clears, and of arrays filled with them.

    v_bar[i] = 0.0                                y_bar = h_bar[i]
    v_bar[i + 1] += a      v_bar[i + 1] += a      h_bar[i] = 0.0            y_bar = h_bar[i]
    v_bar[i] += e          v_bar[i] = e           x_bar[i] += w * y_bar     x_bar[i] += w * y_bar

    x_bar = np.zeros_like(x)             x_bar = np.empty_like(x)
    for i in range(x.size):              for i in range(x.size):
        x_bar[i] += w[i] * y_bar             x_bar[i] = w[i] * y_bar

In: a function. Out: the same with an addition to what was cleared made a store, and without clears after which isl
finds no read; without the zeros that fill an array, where the first thing that happens to it, in the region that makes
it, is a nest of loops over all of it, or, trip by trip of its outer loops, over all that these trips touch. Between a
clear and an addition nothing may read the memory, and what is added elsewhere must be another element for certain. The
adjoint of a store reads and clears that of the element: an earlier value may have been read.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
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
            if any(self.aliases.touches(inner, memory) for inner in ir.with_inner(op)):
                return None
        return None

    def differs(self, a: ir.Operand, b: ir.Operand) -> bool:
        """Whether two indices differ for certain: by a literal, and neither counts from the end."""
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return bool(a.value != b.value and a.value >= 0 and b.value >= 0)
        (base, shift), (other, moved) = parted(a, self.made), parted(b, self.made)
        # the lower of the two must not be below zero, where it would count from the end
        return base is other and base in self.naturals and shift != moved and min(shift, moved) >= 0


def leave_out_fills(function: ir.Function, stored_too: bool = False) -> ir.Function:
    """The function without the zeros that are added to before anything reads them, or, `stored_too`, overwritten."""
    fills, instead = _Fills(function, stored_too), dict[ir.Op, Sequence[ir.Op]]()
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
    def __init__(self, function: ir.Function, stored_too: bool):
        self.stored_too = stored_too
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)

    def touching(self, op: ir.Op, array: ir.Var) -> list[ir.Op]:
        """What looks at the array, or at slices of it, or hands it on, of an operation and those inside it."""
        memory = self.aliases.find(array)
        touching = [inner for inner in ir.with_inner(op) if self.aliases.touches(inner, memory)]
        elements = (ir.Load, ir.Store)
        touching = [o for o in touching if not (isinstance(o, ir.Slice) and o.base is array)]
        return [o for o in touching if not isinstance(o, elements) or not self.aliases.are_distinct(o.array, array)]

    def first_store(self, alloc: ir.Alloc, touching: Sequence[ir.Op]) -> ir.Store | None:
        """The addition, or store, that is the first access to each element and reaches all of them, in a nest of loops.

        touching: what is done to the array, first of all by the nest. What comes after that, in a trip of its outer
        loops, is done to elements that the nest has reached in this trip.

            for i in range(n):
                for j in range(m): x_bar[i, j] += e[j] * y_bar
                x_bar[i, k] -= y_bar
        """
        store = touching[0] if touching else None
        if not isinstance(store, ir.Store) or not (store.add or self.stored_too):
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
        return [selector.index if isinstance(selector, ir.At) else None for selector in view.selectors]

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
