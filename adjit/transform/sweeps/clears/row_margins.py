"""Zeros are stored to what is left of each row, where a trip adds to a part of a row of its own.

    U_bar = np.zeros_like(U)                   U_bar = np.empty_like(U)
    for i in range(n):                         for i in range(n, U_bar.shape[0]):
        for j in range(i + 1, m):                  for j in range(m): U_bar[i, j] = 0.0
            U_bar[i, j] += y[i] * x[j]         for i in range(n):
                                                   for j in range(min(i + 1, m)): U_bar[i, j] = 0.0
                                                   for j in range(i + 1, m): U_bar[i, j] = y[i] * x[j]

In: a function. Out: the same without the zeros of an array where the first operation that does anything to it, in the
region that makes it, is a loop over its rows, or a nest over all axes but the last, and what a trip does is done to the
trip's own row. Of the additions in such a trip those to an interval of the row become stores that nothing in the trip
comes before; zeros are stored to the rest of the row at the start of the trip, and to other rows before the loop. So an
element is stored to once, where it was cleared, read and stored to: a triangular solve takes 0.85 of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.extents import ndim, sliced
from adjit.transform.analysis.integers import Naturals
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.sweeps.clears.dead_zero_fills import Fills


def with_margins(function: ir.Function) -> ir.Function:
    """The function with such zeros where nothing else is stored to."""
    if not any(isinstance(op, ir.Alloc) and op.fill is not None and ndim(op.out) > 1 for op in function.body.inside):
        return function
    search, instead = _Search(function), dict[ir.Op, Sequence[ir.Op]]()
    for alloc, touching in search.fills.zeros(function.body):
        rows = search.rows(alloc, touching)
        if rows is not None:
            instead |= {alloc: (dataclasses.replace(alloc, fill=None),), **search.stored(alloc, rows)}
    return ir.with_body(function, ir.replaced(function.body, instead))


class _Part(NamedTuple):
    """The interval of a row that an operation is about, from `low` up to `high`, element by element in a loop.

    is_sure: each trip has the operation, or the loop that it is alone in, or with its like, to the end.
    """

    op: ir.Load | ir.Store
    low: Affine
    high: Affine
    loop: ir.For | None
    is_sure: bool

    def is_apart(self, other: _Part) -> bool:
        gaps = (other.low.plus(self.high, -1), self.low.plus(other.high, -1))
        return any(gap.is_constant and gap.constant >= 0 for gap in gaps)


class _Rows(NamedTuple):
    """loops: whose trips have a row each; extents: of the array; first: in a trip, that does anything to the row
    ends: by axis, of the indices that are stored to; stores: that were additions; within: indices that there are
    name: of an index along the row
    """

    loops: Sequence[ir.For]
    extents: Sequence[Affine]
    first: ir.Op
    ends: Sequence[tuple[Affine, Affine]]
    stores: Sequence[ir.Store]
    within: Sequence[Affine]
    name: str

    def reach(self, low: Affine) -> bool:
        """Whether a row has at least as many elements, as there is the last of them."""
        gaps = (low.plus(index, -1) for index in self.within)
        return any(gap.is_constant and gap.constant <= 1 for gap in gaps)


class _Search:
    def __init__(self, function: ir.Function):
        self.fills = Fills(function)
        self.iterations = self.fills.iterations
        self.naturals = function.analysis(Naturals)

    # ------------------------------------------------------------------------------------------- what is stored to

    def rows(self, alloc: ir.Alloc, touching: Sequence[ir.Op]) -> _Rows | None:
        """The rows of an array, if what is done to it is done to each of them in a trip of its own."""
        loops, extents = self.loops(alloc, touching), self.extents(alloc.out)
        if not loops or extents is None:
            return None
        parts = list[_Part | None]()
        for op in touching:
            index = self.fills.index(op, alloc.out)
            if index is None or [*index[:-1]] != [loop.body.args[0] for loop in loops]:
                return None
            parts.append(self.part(op, alloc.out, loops[-1]))
        first = next(op for op in loops[-1].body.ops if touching[0] in ir.with_inner(op))
        others = [*zip(touching, parts, strict=True)]
        stored = [part for part in parts if part is not None and self.is_stored(part, others)]
        joined = _joined(stored)
        if not joined:
            return None
        bounds = [found for loop in loops if (found := self.iterations.bounds(loop)) is not None]
        ends = [*bounds, (joined[0].low, joined[-1].high)]
        within = [part.low for part in parts if part is not None and part.is_sure and part.loop is None]
        stores = [part.op for part in joined if isinstance(part.op, ir.Store)]
        name = next(part.loop.body.args[0].name for part in joined if part.loop is not None)
        return _Rows(loops, extents, first, ends, stores, within, name)

    def loops(self, alloc: ir.Alloc, touching: Sequence[ir.Op]) -> list[ir.For]:
        """Those over all axes but the last around what is done to an array, if all trips are made; else none."""
        places = self.iterations.places
        chain = places[touching[0]].chain[len(places[alloc].chain) :] if touching else ()
        count = ndim(alloc.out) - 1
        loops = [op for op, _ in chain[:count] if isinstance(op, ir.For) and not op.stops and self.naturals.counts(op)]
        return loops if len(loops) == count and all(map(self.iterations.bounds, loops)) else []

    def extents(self, array: ir.Var) -> list[Affine] | None:
        found = [self.fills.length(array, axis) for axis in range(ndim(array))]
        shown = [None if length is None else self.iterations.in_variables(length) for length in found]
        return [extent for extent in shown if extent is not None] if None not in shown else None

    def part(self, op: ir.Op, array: ir.Var, trip: ir.For) -> _Part | None:
        """What of a row an operation is about; None where that is not known."""
        shown = self.place(op, array) if isinstance(op, ir.Load | ir.Store) else None
        if shown is None or not isinstance(op, ir.Load | ir.Store):
            return None
        chain = [inner for inner, _ in self.iterations.places[op].chain]
        inside = chain[chain.index(trip) + 1 :]
        counted = [loop for loop in inside if isinstance(loop, ir.For) and loop.body.args[0] in shown.terms]
        if not counted:
            return _Part(op, shown, shown.plus(1), None, not inside)
        (loop, *others), counter = counted, counted[0].body.args[0]
        bounds = self.bounds(loop, array, shown.plus(Affine({counter: 1}), -1))
        if others or bounds is None or shown.terms[counter] != 1:
            return None
        return _Part(op, *bounds, loop, inside == [loop] and not loop.stops)

    def place(self, op: ir.Load | ir.Store, array: ir.Var) -> Affine | None:
        """The index along the row, in variables; None where it is not known, or may count from the end."""
        terms = [op.index[-1]]
        if op.array is not array:
            view = self.iterations.definitions.get(op.array)
            (*_, selector) = view.selectors if isinstance(view, ir.Slice) else (None,)
            if not isinstance(selector, ir.Span) or selector.step not in (None, ir.integer(1)) or len(op.index) > 1:
                return None
            terms.append(selector.start or ir.integer(0))
        total = Affine()
        for term in terms:
            value = self.iterations.value(term) if term in self.naturals else None
            if value is None:
                return None
            total = total.plus(value)
        return self.iterations.in_variables(total)

    def bounds(self, loop: ir.For, array: ir.Var, shift: Affine) -> tuple[Affine, Affine] | None:
        """The least of the loop's counter and `shift`, and one more than the greatest, or what is past the row."""
        stop = self.iterations.definitions.get(loop.stop)
        view = self.iterations.definitions.get(stop.array) if isinstance(stop, ir.Extent) else None
        if isinstance(stop, ir.Extent) and isinstance(view, ir.Slice) and loop.start == ir.integer(0):
            selector, axis = sliced(view, stop.axis)
            extent = self.iterations.extent(view.base, axis)
            own = self.iterations.extent(array, ndim(array) - 1)
            if extent is not None and extent == own and isinstance(selector, ir.Span) and loop.step == ir.integer(1):
                return self.ends(selector, extent, shift)
        bounds = self.iterations.bounds(loop)
        return None if bounds is None else (bounds[0].plus(shift), bounds[1].plus(shift))

    def ends(self, span: ir.Span, extent: Affine, shift: Affine) -> tuple[Affine, Affine] | None:
        """The ends of a slice that begins at `shift`: as they are written, though the axis may be shorter."""
        start, stop = span.start or ir.integer(0), span.stop
        is_plain = span.step in (None, ir.integer(1)) and start in self.naturals
        if not is_plain or (stop is not None and stop not in self.naturals):
            return None
        found = [self.iterations.value(start), extent if stop is None else self.iterations.value(stop)]
        low, high = (None if end is None else self.iterations.in_variables(end) for end in found)
        return (low, high) if low is not None and high is not None and low == shift else None

    def is_stored(self, part: _Part, others: Sequence[tuple[ir.Op, _Part | None]]) -> bool:
        """Whether it is an addition to zeros: nothing in the trip that comes before is about the same elements."""
        store, is_before = part.op, True
        if not isinstance(store, ir.Store) or not store.add or not part.is_sure:
            return False
        for op, other in others:
            if other is part:
                is_before = False
            elif other is None or not part.is_apart(other):
                is_beside = any(around is part.loop for around, _ in self.iterations.places[op].chain)
                is_alike = other is not None and (other.op.array, *other.op.index) == (store.array, *store.index)
                if is_before or (is_beside and not is_alike):
                    return False
        return True

    # ------------------------------------------------------------------------------------------- zeros

    def stored(self, alloc: ir.Alloc, rows: _Rows) -> dict[ir.Op, Sequence[ir.Op]]:
        """The additions as stores, and zeros where nothing is stored to, in each row and in other rows."""
        instead: dict[ir.Op, Sequence[ir.Op]] = {op: (dataclasses.replace(op, add=False),) for op in rows.stores}
        for axis, (low, high) in enumerate(rows.ends):
            is_row = axis == len(rows.loops)
            before = rows.first if is_row else rows.loops[axis]
            writer, extent = Writer(rows.stores[0].origin), rows.extents[axis]
            if low != Affine():
                stop = writer.integer(low)
                if not is_row or not rows.reach(low):
                    stop = writer.call(min, stop, writer.integer(extent), type=types.intp, name="stop")
                self.store_zeros(writer, alloc, rows, ir.integer(0), stop, axis)
            if high != extent:
                start = writer.integer(high)
                if not self.is_natural(high):
                    start = writer.call(max, start, ir.integer(0), type=types.intp, name="start")
                self.store_zeros(writer, alloc, rows, start, writer.integer(extent), axis)
            instead[before] = (*writer.ops, *instead.get(before, (before,)))
        return instead

    def store_zeros(
        self, writer: Writer, alloc: ir.Alloc, rows: _Rows, start: ir.Operand, stop: ir.Operand, axis: int
    ) -> None:
        """Zeros in all elements with such an index of an axis, at the trips' own indices of the axes before."""
        assert alloc.fill is not None
        zero, names = alloc.fill, [*(loop.body.args[0].name for loop in rows.loops), rows.name]

        def fill(index: tuple[ir.Operand, ...]) -> None:
            if len(index) == len(names):
                writer.store(alloc.out, index, zero)
                return
            own = len(index)
            first, last = (start, stop) if own == axis else (ir.integer(0), writer.integer(rows.extents[own]))
            with writer.loop(last, names[own], start=first, order_free=True) as counter:
                fill((*index, counter))

        fill(tuple(loop.body.args[0] for loop in rows.loops[:axis]))

    def is_natural(self, value: Affine) -> bool:
        """Whether it is surely not below zero, as `Affine.is_natural`, in variables."""
        naturals = [isinstance(s, tuple) or (isinstance(s, ir.Var) and s in self.naturals) for s in value.terms]
        return value.constant >= 0 and all(naturals) and min(value.terms.values(), default=1) > 0


def _joined(stored: Sequence[_Part]) -> list[_Part]:
    """Parts that are one interval together, with a loop over more elements than is known while compiling."""
    long = [part for part in stored if part.loop is not None and not part.high.plus(part.low, -1).is_constant]
    joined = long[:1]
    rest = [part for part in stored if part not in joined]
    while joined:
        beside = next((part for part in rest if part.high == joined[0].low or part.low == joined[-1].high), None)
        if beside is None:
            break
        rest.remove(beside)
        joined = [beside, *joined] if beside.high == joined[0].low else [*joined, beside]
    return joined
