"""Nests of loops that store to all of an array, but for a rim.

In: a function. Out: for a nest and an array, what its trips do to that, if each stores to an element of its own and
those are all but so many at the ends of the axes as is known while compiling.

    for i in range(1, q.size - 1):        axis 0 of q: all but the first and the last
        q[i] = 2.0 * q[i] + p[i]          the load is of the element that is stored to next
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.uses import Uses


@dataclass(frozen=True, eq=False)
class Cover:
    """store: the one of the nest to the array; loads: of that element, before it
    loops: of the nest, outermost first; axes: that of the array along which each runs
    shifts: by axis, how much more an index is than the counter; rims: how many elements are left out at either end
    """

    store: ir.Store
    loads: Sequence[ir.Load]
    loops: Sequence[ir.For]
    axes: Sequence[int]
    shifts: Sequence[int]
    rims: Sequence[tuple[int, int]]
    extents: Sequence[Affine]  # of the array, in variables


class Covers:
    def __init__(self, function: ir.Function):
        self._iterations = function.analysis(Iterations)
        self._uses = function.analysis(Uses)

    def of(self, nest: ir.Op, array: ir.Operand, is_whole: bool = True) -> Cover | None:
        """How the nest stores to the array. `is_whole`: None if what it leaves out is not known; else rims count for
        nothing, and extents are not there."""
        touching = [op for op in ir.with_inner(nest) if array in op.operands and not isinstance(op, ir.Extent)]
        if not touching:
            return None
        *before, store = touching
        if not isinstance(store, ir.Store) or store.extreme:
            return None
        home = self._uses.home[store]
        loads = [op for op in before if isinstance(op, ir.Load) and op.index == store.index]
        if len(loads) < len(before) or any(self._uses.home[op] is not home for op in loads):
            return None
        around = self._uses.around[store]
        return self._cover(store, loads, around[around.index(nest) :], is_whole) if nest in around else None

    def _cover(
        self, store: ir.Store, loads: Sequence[ir.Load], around: Sequence[ir.Op], is_whole: bool
    ) -> Cover | None:
        loops = [op for op in around if isinstance(op, ir.For) and not op.stops and op.step == ir.integer(1)]
        axes, shifts, rims, extents = list[int](), list[int](), list[tuple[int, int]](), list[Affine]()
        for axis, operand in enumerate(store.index):
            index = self._iterations.value(operand)
            shown = None if index is None else self._iterations.in_variables(index)
            known = self._iterations.extent(store.array, axis)
            extent = None if known is None else self._iterations.in_variables(known)
            own = [k for k, op in enumerate(loops) if shown and shown.terms == {op.body.args[0]: 1}]
            bounds = self._iterations.bounds(loops[own[0]]) if own else None
            if bounds is None or shown is None or (extent is None and is_whole):
                return None
            axes += own
            shifts.append(shown.constant)
            if extent is None or not is_whole:
                continue
            low, high = (end.plus(Affine(constant=shown.constant)) for end in bounds)
            left = extent.plus(high, -1)
            if not low.is_constant or not left.is_constant or min(low.constant, left.constant) < 0:
                return None
            rims.append((low.constant, left.constant))
            extents.append(extent)
        by_loop = [axes.index(k) for k in range(len(loops)) if k in axes]
        is_nest = len(loops) == len(around) == len(by_loop) == len(axes)
        return Cover(store, loads, loops, by_loop, shifts, rims, extents) if is_nest else None
