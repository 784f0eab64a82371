"""Writes gathers: the nest that adds contributions up, and the rows and elements around it that take some of them.

In: `Gather`s, which say what is added where. Out: the function with them. Contributions are kept in an array with a rim
of zeros, or, where they are multiples of an array's elements, made again from those.

    e_bars[i + 1] = k[i] * v_bar[i]                          kept, by each trip
    for i in range(n): u_bar[i] += e_bars[i] + e_bars[i + 2]

    for i in range(2, n - 2): u_bar[i] += c * (v_bar[i - 1] + v_bar[i + 1])     multiples, where all trips are made, and
    u_bar[0] += c * v_bar[1]; u_bar[1] += c * v_bar[2]; ...                     around that the terms that there are
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.ir.types import array_type
from adjit.transform.rewrite.affine_ops import Writer


@dataclass(frozen=True)
class Axis:
    """An axis of the target, along which a loop runs: index = scale * counter + ..., low <= counter < high."""

    loop: ir.For
    axis: int
    scale: int
    low: Affine
    high: Affine

    @property
    def counter(self) -> ir.Var:
        return self.loop.body.args[0]

    @property
    def trips(self) -> Affine:
        return self.high.plus(self.low, -1)

    def shift(self, constant: int) -> tuple[int, int]:
        """A constant as so many trips, and what is left of it."""
        rest = constant % abs(self.scale)
        return (constant - rest) // self.scale, rest


@dataclass(frozen=True)
class Term:
    """What `store` adds: a number times a factor, to the element that bears the number of the trip `shifts` later.

    rests: what such a number is short of the element, where strides are wider than one.
    """

    store: ir.Store
    factor: ir.Operand
    coefficient: float
    shifts: tuple[int, ...]
    rests: tuple[int, ...]


class Multiple(NamedTuple):
    """A factor that `ops` make of the element that `load` reads, each trip of its own.

    place: the index of that element, by counters.
    """

    load: ir.Load
    place: Sequence[Affine]
    ops: Sequence[ir.Op]


class Own(NamedTuple):
    """What the nest itself stores, or adds, to the elements that bear its trips' numbers; `value` makes it again."""

    store: ir.Store
    value: Sequence[ir.Op]


@dataclass(frozen=True)
class Gather:
    """The terms are added to elements of `root` in the innermost loop of the nest, each loop of which has its axis.

    index: the element that bears the number of a trip.
    home: the loop before which what they are kept in is made.
    kept: the arrays for the factors, in which the trip with counter i is at i - low + width, with one of `widths`.
    multiple: what all are multiples of, if they need not be kept.
    clear: the clear of what the terms are made of, which has to wait until they are gathered.
    carried: a loop around, and what is cleared after it in the place of that clear.
    """

    root: ir.Operand
    nest: tuple[ir.For, ...]
    axes: tuple[Axis, ...]
    index: tuple[Affine, ...]
    terms: tuple[Term, ...]
    home: ir.Op
    kept: Mapping[ir.Operand, ir.Var] = field(default_factory=dict)
    widths: tuple[int, ...] = ()
    multiple: Multiple | None = None
    own: Own | None = None
    clear: ir.Store | None = None
    carried: tuple[ir.For, Sequence[ir.Op], ir.Store] | None = None

    def with_kept(self) -> Gather:
        """The gather with arrays for the factors, which have room for a rim."""
        kept = {
            factor: ir.Var(f"{ir.name_of(factor, 'contribution')}s", array_type(factor.type, len(self.axes)))
            for factor in dict.fromkeys(term.factor for term in self.terms)
        }
        return dataclasses.replace(self, kept=kept, widths=tuple(high - low for low, high in self.reach))

    @functools.cached_property
    def reach(self) -> list[tuple[int, int]]:
        """The least and the greatest shift of the terms, an axis."""
        return [(min(shifts), max(shifts)) for shifts in zip(*(term.shifts for term in self.terms), strict=True)]

    @functools.cached_property
    def trip(self) -> list[Affine]:
        """The numbers of a trip in that trip."""
        return [Affine({axis.counter: 1}) for axis in self.axes]

    def element(self, numbers: Sequence[Affine]) -> list[Affine]:
        """The index of the element of the target that bears these numbers, of those that the first term is added to."""
        places = {axis.counter: number for axis, number in zip(self.axes, numbers, strict=True)}
        entries = [entry.substituted(places) for entry in self.index]
        for axis, rest in zip(self.axes, self.terms[0].rests, strict=True):
            entries[axis.axis] = entries[axis.axis].plus(rest)
        return entries

    def pieces(self) -> int:
        """How many statements there are around that of the nest."""
        writer = Writer()
        self._taken(writer)
        return sum(isinstance(op, ir.Store) for made in writer.ops for op in ir.with_inner(made)) - 1

    # -------------------------------------------------------------------------------------- what is kept, and cleared

    def room(self, factor: ir.Operand) -> list[ir.Op]:
        """What makes the array for a factor."""
        writer = Writer()
        shape: list[ir.Operand] = []
        for axis, width in zip(self.axes, self.widths, strict=True):
            trips = writer.integer(axis.trips.plus(2 * width))
            if not isinstance(trips, ir.Const):
                trips = writer.call(max, trips, ir.integer(2 * width), type=types.intp, name="n")
            shape.append(trips)
        writer.emit(ir.Alloc(shape=tuple(shape), fill=ir.Const(0.0, factor.type), out=self.kept[factor]))
        return writer.ops

    def keeping(self, term: Term) -> list[ir.Op]:
        """The store of what a trip contributes, in the place of the term's own."""
        writer = Writer(term.store.origin)
        writer.store(self.kept[term.factor], self._kept_place(writer, self.trip), term.factor)
        return writer.ops

    def cleared(self, clear: ir.Store) -> list[ir.Op]:
        """The clear of all that contributes."""
        writer = Writer(clear.origin)

        def fill(numbers: Sequence[Affine]) -> None:
            writer.store(clear.array, self._source(writer, numbers), clear.value, promised=clear.promised)

        self._nest(writer, fill)
        return writer.ops

    # ------------------------------------------------------------------------------- where elements take the terms

    def sums(self, model: IndexModel) -> list[ir.Op]:
        """What takes the place of the additions, where the loops end: nests for the terms that have the same rests."""
        by_rest: dict[tuple[int, ...], list[Term]] = {}
        for term in self.terms:
            by_rest.setdefault(term.rests, []).append(term)
        parts = [dataclasses.replace(self, terms=tuple(terms)) for terms in by_rest.values()]
        return [op for part in parts for op in part._sum(model)]

    def _sum(self, model: IndexModel) -> list[ir.Op]:
        made, others = (Writer(self.terms[0].store.origin) for _ in range(2))
        self._taken(made)
        if self._interior == self.reach:
            needed = [(axis, 1) for k, axis in enumerate(self.axes) if not self._is_harmless(model, k)]
        elif self.multiple is None:
            needed = [(axis, 1) for axis in self.axes]
        else:
            self._scattered(others)
            needed = [(axis, max(high - low, 1)) for axis, (low, high) in zip(self.axes, self.reach, strict=True)]
        return _if_long(needed, made, others)

    @functools.cached_property
    def _interior(self) -> list[tuple[int, int]]:
        """How far from the first and last trip the nest begins and ends, an axis."""
        if self.multiple is not None:
            return [(high, low) for low, high in self.reach]
        # beside what is kept there are zeros
        return self.reach if self.own is None else [(0, 0)] * len(self.axes)

    def _nest(self, writer: Writer, fill: Callable[[Sequence[Affine]], None]) -> None:
        """A nest over all trips."""
        bounds = [(axis.low, axis.high) for axis in self.axes]
        loops = [axis.loop for axis in self.axes]
        writer.box(loops, bounds, lambda counters: fill([Affine({counter: 1}) for counter in counters]))

    def _is_harmless(self, model: IndexModel, k: int) -> bool:
        """Whether the nest may run where its loop makes no trip: then it adds zeros, if the elements are there."""
        axis, (low, high) = self.axes[k], self.reach[k]
        if low == high:
            return True
        ends = [axis.low.plus(low), axis.high.plus(high - 1)]
        first, last = (
            self.element([end if other is axis else Affine() for other in self.axes])[axis.axis]
            for end in (ends if axis.scale > 0 else reversed(ends))
        )
        return model.has_elements(self.root, axis.axis, first, last)

    def _taken(
        self,
        writer: Writer,
        numbers: tuple[Affine, ...] = (),
        terms: Sequence[Term] | None = None,
        with_own: bool = True,
        is_inside: bool = True,
    ) -> None:
        """Elements take terms: rows before, the rows inside, parallel as the additions were, rows behind."""
        k = len(numbers)
        terms = self.terms if terms is None else terms
        if k == len(self.axes):
            self._store(writer, numbers, terms, with_own)
            return
        axis, (first, last), (low, high) = self.axes[k], self._interior[k], self.reach[k]

        def rows(end: Affine, places: range, is_made: Callable[[int], bool]) -> None:
            for place in places:
                met = [term for term in terms if is_made(place - term.shifts[k])]
                own = with_own and is_made(place)
                if met or (own and self.own is not None):
                    self._taken(writer, (*numbers, end.plus(place)), met, own, False)

        rows(axis.low, range(low, first), lambda place: place >= 0)
        start, stop = writer.integer(axis.low.plus(first)), writer.integer(axis.high.plus(last))
        parallel, name = is_inside and axis.loop.parallel, axis.counter.name
        with writer.loop(stop, name, start=start, order_free=True, parallel=parallel) as counter:
            self._taken(writer, (*numbers, Affine({counter: 1})), terms, with_own, is_inside)
        rows(axis.high, range(last, high), lambda place: place < 0)

    def _scattered(self, writer: Writer) -> None:
        """The same where there is little: what each trip contributes, term by term."""
        if self.own is not None:
            self._nest(writer, lambda numbers: self._store(writer, numbers, (), True))

        def scatter(numbers: Sequence[Affine]) -> None:
            for term in self.terms:
                self._store(writer, _moved(numbers, term.shifts), (term,), False)

        self._nest(writer, scatter)

    # ------------------------------------------------------------------------------------------------ an element

    def _store(self, writer: Writer, numbers: Sequence[Affine], terms: Sequence[Term], with_own: bool) -> None:
        """Adds the terms to an element; what the nest itself stores there is stored with them."""
        value = self._total(writer, numbers, terms) if terms else None
        own = self.own if with_own else None
        if own is not None:
            made = self._own_value(writer, numbers, own)
            is_zero = isinstance(made, ir.Const) and made.value == 0
            if value is None:
                value = made
            elif not is_zero:
                value = writer.call(operator.add, made, value, type=made.type, name="total")
        if value is not None:
            index = [writer.integer(entry) for entry in self.element(numbers)]
            is_added = own is None or (own.store.add and self.carried is None)
            writer.store(self.root, index, value, add=is_added)

    def _total(self, writer: Writer, numbers: Sequence[Affine], terms: Sequence[Term]) -> ir.Operand:
        total: ir.Operand | None = None
        # one product in the place of many
        common = abs(terms[0].coefficient)
        if self.multiple is None or common == 0.0 or any(abs(term.coefficient) != common for term in terms):
            common = 1.0
        for term in terms:
            value = self._factor(writer, term.factor, _moved(numbers, [-shift for shift in term.shifts]))
            total = _plus_times(writer, total, term.coefficient / common, value)
        assert total is not None
        if common != 1.0:
            total = writer.call(operator.mul, ir.Const(common, total.type), total, type=total.type)
        if self.multiple is None:
            return total
        return _made(writer, {self.multiple.load.out: total}, self.multiple.ops, terms[0].factor)

    def _own_value(self, writer: Writer, numbers: Sequence[Affine], own: Own) -> ir.Operand:
        known = self._counters(writer, numbers)
        needed = {own.store.value, *(operand for op in own.value for operand in op.operands)}
        for factor in self.kept:
            if isinstance(factor, ir.Var) and factor in needed:
                known[factor] = self._factor(writer, factor, numbers)
        return _made(writer, known, own.value, own.store.value)

    def _factor(self, writer: Writer, factor: ir.Operand, trips: Sequence[Affine]) -> ir.Var:
        """What a trip contributes, or what that is a multiple of."""
        if self.multiple is None:
            return writer.load(self.kept[factor], self._kept_place(writer, trips))
        return writer.load(self.multiple.load.array, self._source(writer, trips))

    def _source(self, writer: Writer, trips: Sequence[Affine]) -> list[ir.Operand]:
        """The index of the element of which these trips contribute a multiple."""
        assert self.multiple is not None
        places = {axis.counter: number for axis, number in zip(self.axes, trips, strict=True)}
        return [writer.integer(entry.substituted(places)) for entry in self.multiple.place]

    def _kept_place(self, writer: Writer, trips: Sequence[Affine]) -> list[ir.Operand]:
        places = zip(self.axes, self.widths, trips, strict=True)
        return [writer.integer(trip.plus(width).plus(axis.low, -1)) for axis, width, trip in places]

    def _counters(self, writer: Writer, numbers: Sequence[Affine]) -> dict[ir.Var, ir.Operand]:
        pairs = zip(self.axes, numbers, strict=True)
        return {axis.counter: writer.integer(number) for axis, number in pairs}


def with_gathers(function: ir.Function, gathers: Sequence[Gather], model: IndexModel) -> ir.Function:
    """The function with the gathers in the place of their additions."""
    instead: dict[ir.Op, Sequence[ir.Op]] = {}
    before, after, last = (defaultdict[ir.Op, list[ir.Op]](list) for _ in range(3))
    for gather in gathers:
        instead.update({term.store: () for term in gather.terms})
        for factor in gather.kept:
            first = next(term for term in gather.terms if term.factor == factor)
            before[gather.home] += gather.room(factor)
            instead[first.store] = gather.keeping(first)
        if gather.own is not None:
            instead[gather.own.store] = ()
        after[gather.nest[0]] += gather.sums(model)
        if gather.clear is not None and gather.clear not in instead:
            instead[gather.clear] = ()
            loop, clearing, *_ = gather.carried or (gather.nest[0], gather.cleared(gather.clear))
            last[loop] += clearing
    for op in {**before, **after, **last}:
        instead[op] = [*before[op], *instead.get(op, (op,)), *after[op], *last[op]]
    return ir.with_body(function, ir.replaced(function.body, instead))


def _moved(numbers: Sequence[Affine], shifts: Sequence[int]) -> list[Affine]:
    return [number.plus(shift) for number, shift in zip(numbers, shifts, strict=True)]


def _made(writer: Writer, known: Mapping[ir.Var, ir.Operand], ops: Sequence[ir.Op], result: ir.Operand) -> ir.Operand:
    """The result of operations, made of these operands."""
    cloner = ir.Cloner(known)
    for op in ops:
        writer.emit(cloner.op(op))
    return cloner.operand(result)


def _plus_times(writer: Writer, total: ir.Operand | None, coefficient: float, value: ir.Var) -> ir.Var:
    """A sum, if there is one so far, and so many times a value more."""
    callee = operator.add
    if coefficient < 0 and total is not None:
        callee, coefficient = operator.sub, -coefficient
    if coefficient == -1.0:
        value = writer.call(operator.neg, value, type=value.type)
    elif coefficient != 1.0:
        value = writer.call(operator.mul, ir.Const(coefficient, value.type), value, type=value.type)
    return value if total is None else writer.call(callee, total, value, type=value.type, name="total")


def _if_long(axes: Sequence[tuple[Axis, int]], made: Writer, others: Writer) -> list[ir.Op]:
    """What is made where there are so many trips at least along each of the axes, and the others elsewhere."""
    writer = Writer(made.origin)
    is_long: ir.Var | None = None
    for axis, least in axes:
        more = least - axis.trips.constant
        if axis.trips.is_constant and more > 0:
            return others.ops
        if not axis.trips.is_constant:
            count = writer.integer(Affine(axis.trips.terms))
            test = writer.call(operator.gt, count, ir.integer(more - 1), type=types.boolean, name="is_long")
            if is_long is not None:
                test = writer.call(operator.and_, is_long, test, type=types.boolean, name="is_long")
            is_long = test
    if is_long is None:
        return made.ops
    then, orelse = (ir.Region((), tuple(ops), ()) for ops in (made.ops, others.ops))
    writer.emit(ir.If(condition=is_long, then=then, orelse=ir.rewritten(orelse, _serial)))
    return writer.ops


def _serial(op: ir.Op) -> ir.Op:
    """Loops of few trips are not worth their threads."""
    return dataclasses.replace(op, parallel=False) if isinstance(op, ir.For) and op.parallel else op
