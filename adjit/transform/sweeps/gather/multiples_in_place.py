"""Writes gathers that read what they add up where it is: one nest inside, and single rows and elements around that.

In: a place found by `multiples.py`. Out: the function with it.

    u_bar[i] += v_bar[i - 1] + v_bar[i + 1]     for 2 <= i < n - 2, where both are made
    u_bar[0] += v_bar[1]                        and so on for 1, n - 2 and n - 1, if there are so many
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.sweeps.gather.gathered import plus_times

# Writes what is done for some counters, with these terms, and what the nest itself stores if that is wanted.
_Leaf = Callable[[Writer, Sequence[Affine], Sequence["Term"], bool], None]


@dataclass(frozen=True)
class Term:
    """What is gathered from `shifts` further on, so many times."""

    shifts: tuple[int, ...]
    coefficient: float


@dataclass(frozen=True)
class Axis:
    """An axis of the contributions: `low` to `high` are made, `below` before and `above` behind are added to.

    counter, element: the counters of the two nests.
    place: where in the array of contributions the first counter's is, less that counter.
    """

    counter: ir.Var
    element: ir.Var
    low: Affine
    high: Affine
    below: int
    above: int
    place: Affine

    def suits(self, shifts: Sequence[int]) -> bool:
        """Whether the elements that are added to are those to which one of these shifts brings something."""
        return self.below == max(shifts) and self.above == -min(shifts)


@dataclass(frozen=True)
class Own:
    """What the nest of the contributions itself stores, or adds, to the elements that they go to; `value` makes it."""

    store: ir.Store
    value: tuple[ir.Op, ...]


@dataclass(frozen=True)
class Place:
    """Contributions, kept by `store` in the nest `maker` as multiples of what `load` reads, and the gather of them."""

    kept: ir.Alloc
    store: ir.Store
    maker: ir.For
    load: ir.Load
    multiple: tuple[ir.Op, ...]
    gather: ir.For
    addition: ir.Store
    target: tuple[Affine, ...]
    axes: tuple[Axis, ...]
    terms: tuple[Term, ...]
    clear: ir.Store | None
    own: Own | None

    def interior(self) -> list[tuple[int, int]]:
        """How far before and behind what is made the elements reach that get all terms, an axis."""
        return [(min(shifts), -max(shifts)) for shifts in self.shifts()]

    def shifts(self) -> list[tuple[int, ...]]:
        """Those of all terms, an axis."""
        return list(zip(*(term.shifts for term in self.terms), strict=True))

    def pieces(self) -> int:
        """How many statements there are around the nest."""
        found = 0

        def count(writer: Writer, counters: Sequence[Affine], terms: Sequence[Term], with_own: bool) -> None:
            nonlocal found
            found += 1

        self._around(Writer(), count)
        return found

    # --------------------------------------------------------------------------------------------------- writing

    def applied(self, function: ir.Function) -> ir.Function:
        instead: dict[ir.Op, list[ir.Op]] = {self.kept: [], self.store: []}
        if self.own is not None:
            instead[self.own.store] = []
        instead[self.gather] = [*self._inside(self._store), *self._long_or_not(self._store, self._scattered)]
        if self.clear is not None:
            instead[self.clear] = []
            instead[self.gather] += self._cleared()
        return dataclasses.replace(function, body=ir.replaced(function.body, instead))

    def _inside(self, leaf: _Leaf) -> list[ir.Op]:
        """The nest over the elements that get all terms, parallel as the gather is."""
        bounds = self._bounds(self.interior())
        # LLVM runs the innermost loop as vectors where it begins with what is made, and not behind that
        ahead = Affine(constant=max(-self.interior()[-1][0], 0))
        bounds[-1] = bounds[-1][0].plus(ahead, -1), bounds[-1][1].plus(ahead, -1)

        def fill(inner: Writer, counters: Sequence[Affine]) -> None:
            leaf(inner, (*counters[:-1], counters[-1].plus(ahead)), self.terms, True)

        writer = Writer(self.addition.origin)
        self._nest(writer, bounds, fill)
        *before, outermost = writer.ops
        assert isinstance(outermost, ir.For)
        return [*before, dataclasses.replace(outermost, parallel=self.gather.parallel)]

    def _bounds(self, reach: Sequence[tuple[int, int]]) -> list[tuple[Affine, Affine]]:
        """From so much before what is made to so much behind it, an axis."""
        return [
            (axis.low.plus(Affine(constant=-below)), axis.high.plus(Affine(constant=above)))
            for axis, (below, above) in zip(self.axes, reach, strict=True)
        ]

    def _over_made(self, writer: Writer, fill: Callable[[Writer, Sequence[Affine]], None]) -> None:
        """A nest over all that is made."""
        self._nest(writer, self._bounds([(0, 0)] * len(self.axes)), fill)

    def _long_or_not(self, leaf: _Leaf, short: Callable[[Writer], None]) -> list[ir.Op]:
        """What is around that nest, where the axes are so long that all of it is there; else `short`."""
        writer = Writer(self.addition.origin)
        with writer.region() as around:
            self._around(writer, leaf)
        with writer.region() as others:
            short(writer)

        def both(left: ir.Var, right: ir.Var) -> ir.Var:
            return writer.call(operator.and_, left, right, type=types.boolean, name="is_long")

        condition = functools.reduce(both, [self._is_long(writer, k) for k in range(len(self.axes))])
        writer.emit(ir.If(condition=condition, then=_region(around), orelse=_region(others)))
        return writer.ops

    def _is_long(self, writer: Writer, k: int) -> ir.Var:
        axis, shifts = self.axes[k], self.shifts()[k]
        length = writer.integer(axis.high.plus(axis.low, -1))
        least = ir.integer(max(max(shifts) - min(shifts), 1))
        return writer.call(operator.ge, length, least, type=types.boolean, name="is_long")

    def _around(
        self,
        writer: Writer,
        leaf: _Leaf,
        counters: tuple[Affine, ...] = (),
        terms: Sequence[Term] = (),
        with_own: bool = True,
        is_inside: bool = True,
    ) -> None:
        """The elements around: rows before, the rows inside with what is around in each, rows behind."""
        k = len(counters)
        terms = terms if k else self.terms
        if k == len(self.axes):
            if not is_inside:
                leaf(writer, counters, terms, with_own)
            return
        axis, (below, above) = self.axes[k], self.interior()[k]

        def rows(end: Affine, places: range, is_made: Callable[[int], bool]) -> None:
            for place in places:
                met = [term for term in terms if is_made(place + term.shifts[k])]
                own = with_own and is_made(place)
                if met or own:
                    self._around(writer, leaf, (*counters, end.plus(Affine(constant=place))), met, own, False)

        rows(axis.low, range(-axis.below, -below), lambda place: place >= 0)
        if not is_inside or k + 1 < len(self.axes):
            counter = dataclasses.replace(axis.counter)
            with writer.region() as ops:
                self._around(writer, leaf, (*counters, Affine({counter: 1})), terms, with_own, is_inside)
            self._loop(writer, counter, self._bounds(self.interior())[k], ops)
        rows(axis.high, range(above, axis.above), lambda place: place < 0)

    def _scattered(self, writer: Writer) -> None:
        """The same where there is little: what each trip contributes, term by term."""
        if self.own is not None:
            self._over_made(writer, lambda inner, counters: self._store(inner, counters, (), True))

        def scatter(inner: Writer, counters: Sequence[Affine]) -> None:
            for term in self.terms:
                shifted = zip(counters, term.shifts, strict=True)
                elements = [counter.plus(Affine(constant=-shift)) for counter, shift in shifted]
                self._store(inner, elements, (term,), False)

        self._over_made(writer, scatter)

    def _cleared(self) -> list[ir.Op]:
        """The clear of all that contributes, in the pieces that the gather is in where these are part of it."""
        if all(below <= 0 and above <= 0 for below, above in self.interior()):
            # last what the next trip may find clear without that
            return [*self._long_or_not(self._clear, self._all_cleared), *self._inside(self._clear)]
        writer = Writer(self.addition.origin)
        self._all_cleared(writer)
        return writer.ops

    def _all_cleared(self, writer: Writer) -> None:
        self._over_made(writer, lambda inner, counters: self._clear(inner, counters, (), True))

    def _nest(
        self,
        writer: Writer,
        bounds: Sequence[tuple[Affine, Affine]],
        fill: Callable[[Writer, Sequence[Affine]], None],
        counters: tuple[Affine, ...] = (),
    ) -> None:
        k = len(counters)
        if k == len(bounds):
            fill(writer, counters)
            return
        counter = dataclasses.replace(self.axes[k].counter)
        with writer.region() as ops:
            self._nest(writer, bounds, fill, (*counters, Affine({counter: 1})))
        self._loop(writer, counter, bounds[k], ops)

    def _loop(self, writer: Writer, counter: ir.Var, bounds: tuple[Affine, Affine], ops: Sequence[ir.Op]) -> None:
        if ops:
            start, stop = map(writer.integer, bounds)
            body = ir.Region((counter,), tuple(ops), ())
            writer.emit(ir.For(start=start, stop=stop, body=body, order_free=True, origin=writer.origin))

    # ------------------------------------------------------------------------------------------------ an element

    def _element(self, counters: Sequence[Affine], writer: Writer, shifts: Sequence[int]) -> list[ir.Operand]:
        """The element that counters, so much further on, contribute a multiple of."""
        places = [axis.counter for axis in self.axes]
        order = [places.index(index) for index in self.load.index if isinstance(index, ir.Var)]
        return [writer.integer(counters[k].plus(Affine(constant=shifts[k]))) for k in order]

    def _own_value(self, writer: Writer, counters: Sequence[Affine]) -> ir.Operand:
        assert self.own is not None
        pairs = zip(self.axes, counters, strict=True)
        cloner = ir.Cloner({axis.counter: writer.integer(counter) for axis, counter in pairs})
        for op in self.own.value:
            writer.emit(cloner.op(op))
        return cloner.operand(self.own.store.value)

    def _store(self, writer: Writer, counters: Sequence[Affine], terms: Sequence[Term], with_own: bool) -> None:
        """Adds the terms to an element; what the nest itself stores there is stored with them."""
        value = self._sum(writer, counters, terms) if terms else None
        own = self._own_value(writer, counters) if self.own is not None and with_own else None
        if own is not None:
            value = own if value is None else writer.call(operator.add, own, value, type=own.type, name="total")
        if value is not None:
            elements = {axis.element: counter for axis, counter in zip(self.axes, counters, strict=True)}
            index = [writer.integer(substituted(entry, elements)) for entry in self.target]
            is_added = own is None or (self.own is not None and self.own.store.add)
            writer.store(self.addition.array, index, value, add=is_added)

    def _sum(self, writer: Writer, counters: Sequence[Affine], terms: Sequence[Term]) -> ir.Operand:
        total: ir.Operand | None = None
        # one product in the place of many
        common = abs(terms[0].coefficient)
        if common == 0.0 or any(abs(term.coefficient) != common for term in terms):
            common = 1.0
        for term in terms:
            value = writer.load(self.load.array, self._element(counters, writer, term.shifts))
            total = plus_times(writer, total, term.coefficient / common, value)
        assert total is not None
        if common != 1.0:
            total = writer.call(operator.mul, ir.Const(common, total.type), total, type=total.type)
        cloner = ir.Cloner({self.load.out: total})
        for op in self.multiple:
            writer.emit(cloner.op(op))
        return cloner.operand(self.store.value)

    def _clear(self, writer: Writer, counters: Sequence[Affine], terms: Sequence[Term], with_own: bool) -> None:
        if with_own:
            element = self._element(counters, writer, [0] * len(counters))
            writer.store(self.load.array, element, ir.Const(0.0, self.load.out.type))


def _region(ops: Sequence[ir.Op]) -> ir.Region:
    return ir.Region((), tuple(ops), ())


def substituted(value: Affine, counters: Mapping[ir.Var, Affine]) -> Affine:
    found = Affine(constant=value.constant)
    for symbol, factor in value.terms.items():
        known = counters.get(symbol) if isinstance(symbol, ir.Var) else None
        found = found.plus(Affine({symbol: 1}) if known is None else known, factor)
    return found
