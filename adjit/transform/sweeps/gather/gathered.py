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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.ir.types import array_type
from adjit.transform.rewrite.affine_ops import Writer

_Bounds = Sequence[tuple[Affine, Affine]]


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


@dataclass(frozen=True)
class Multiple:
    """A factor that `ops` make of the element that `load` reads, each trip of its own."""

    load: ir.Load
    ops: tuple[ir.Op, ...]


@dataclass(frozen=True)
class Own:
    """What the nest itself stores, or adds, to the elements that bear its trips' numbers; `value` makes it again."""

    store: ir.Store
    value: tuple[ir.Op, ...]
    is_added: bool


@dataclass(frozen=True)
class Gather:
    """The terms are added to elements of `root` in the innermost loop of the nest, each loop of which has its axis.

    index: the element that bears the number of a trip.
    home: the loop before which what they are kept in is made.
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
    multiple: Multiple | None = None
    own: Own | None = None
    clear: ir.Store | None = None
    carried: tuple[ir.For, Sequence[ir.Op]] | None = None

    def shifts(self) -> list[tuple[int, ...]]:
        """Those of all terms, an axis."""
        return list(zip(*(term.shifts for term in self.terms), strict=True))

    def element(self, numbers: Sequence[Affine], rests: Sequence[int]) -> list[Affine]:
        """The index of the element of the target that bears these numbers."""
        places = {axis.counter: number for axis, number in zip(self.axes, numbers, strict=True)}
        entries = [_substituted(entry, places) for entry in self.index]
        for axis, rest in zip(self.axes, rests, strict=True):
            entries[axis.axis] = entries[axis.axis].plus(Affine(constant=rest))
        return entries

    def kept(self) -> dict[ir.Operand, Kept]:
        """The arrays for the factors, with room for a rim."""
        if self.multiple is not None:
            return {}
        widths = tuple(max(shifts) - min(shifts) for shifts in self.shifts())
        found: dict[ir.Operand, Kept] = {}
        for factor in dict.fromkeys(term.factor for term in self.terms):
            name = ir.name_of(factor, "contribution")
            found[factor] = Kept(ir.Var(f"{name}s", array_type(factor.type, len(widths))), widths)
        return found

    def pieces(self) -> int:
        """How many statements there are around the nest."""
        writer = Writer()
        if self.multiple is not None or self.own is not None:
            _Sum(self, self.kept()).around(writer)
        return sum(isinstance(op, ir.Store) for op in ir.walk(_region(writer.ops)))

    def nests(self, kept: Mapping[ir.Operand, Kept], model: IndexModel) -> list[ir.Op]:
        """What takes the place of the additions, where the loops end."""
        by_rest: dict[tuple[int, ...], list[Term]] = {}
        for term in self.terms:
            by_rest.setdefault(term.rests, []).append(term)
        parts = [_Sum(dataclasses.replace(self, terms=tuple(terms)), kept) for terms in by_rest.values()]
        return [op for part in parts for op in part.ops(model)]


@dataclass(frozen=True)
class Kept:
    """The array of a factor: the trip with counter i is at i - low + width."""

    array: ir.Var
    widths: tuple[int, ...]

    def index(self, writer: Writer, axes: Sequence[Axis], trips: Sequence[Affine]) -> list[ir.Operand]:
        places = zip(axes, self.widths, trips, strict=True)
        return [writer.integer(trip.plus(Affine(constant=width)).plus(axis.low, -1)) for axis, width, trip in places]


class Edits:
    def __init__(self, model: IndexModel):
        self._model = model
        self._instead: dict[ir.Op, Sequence[ir.Op]] = {}
        self._before: dict[ir.Op, list[ir.Op]] = {}
        self._after: dict[ir.Op, list[ir.Op]] = {}
        self._clears: list[tuple[ir.Op, Sequence[ir.Op]]] = []

    def add(self, gather: Gather) -> None:
        self._instead.update({term.store: [] for term in gather.terms})
        kept = gather.kept()
        first = {term.factor: term for term in reversed(gather.terms)}
        for factor, array in kept.items():
            self._keep(gather, first[factor], array)
        if gather.own is not None:
            self._instead[gather.own.store] = []
        self._after.setdefault(gather.nest[0], []).extend(gather.nests(kept, self._model))
        if gather.clear is not None and gather.clear not in self._instead:
            self._instead[gather.clear] = []
            late = (gather.nest[0], _Sum(gather, kept).cleared(gather.clear))
            self._clears.append(late if gather.carried is None else gather.carried)

    def _keep(self, gather: Gather, term: Term, kept: Kept) -> None:
        writer = Writer()
        shape: list[ir.Operand] = []
        for axis, width in zip(gather.axes, kept.widths, strict=True):
            trips = writer.integer(axis.trips.plus(Affine(constant=2 * width)))
            if not isinstance(trips, ir.Const):
                trips = writer.call(max, trips, ir.integer(2 * width), type=types.intp, name="n")
            shape.append(trips)
        writer.emit(ir.Alloc(shape=tuple(shape), fill=ir.Const(0.0, term.factor.type), out=kept.array))
        self._before.setdefault(gather.home, []).extend(writer.ops)
        writer = Writer(term.store.origin)
        index = kept.index(writer, gather.axes, [Affine({axis.counter: 1}) for axis in gather.axes])
        writer.store(kept.array, index, term.factor)
        self._instead[term.store] = writer.ops

    def applied(self, function: ir.Function) -> ir.Function:
        for op, clearing in self._clears:
            self._after.setdefault(op, []).extend(clearing)
        instead = {op: list(self._instead.get(op, (op,))) for op in {**self._before, **self._instead, **self._after}}
        for op, made in instead.items():
            made[:0] = self._before.get(op, ())
            made += self._after.get(op, ())
        return ir.with_body(function, ir.replaced(function.body, instead))


@dataclass(frozen=True)
class _Sum:
    """The nests in which elements take the terms of a gather, which all have the same rests."""

    gather: Gather
    kept: Mapping[ir.Operand, Kept]

    def ops(self, model: IndexModel) -> list[ir.Op]:
        inside = self._inside()
        gather, origin = self.gather, self._origin
        reach = [(min(shifts), max(shifts)) for shifts in gather.shifts()]
        if gather.multiple is None and gather.own is None:
            ends = zip(gather.axes, reach, strict=True)
            return _if_long(
                [(axis, 1) for axis, end in ends if not self._is_harmless(model, axis, *end)], inside, origin
            )
        around, others = Writer(origin), Writer(origin)
        self.around(around)
        least = [1] * len(reach)
        if gather.multiple is not None:
            self._scattered(others)
            least = [max(high - low, 1) for low, high in reach]
        return [*inside, *_if_long(list(zip(gather.axes, least, strict=True)), around.ops, origin, others.ops)]

    @property
    def _origin(self) -> ir.Origin | None:
        return self.gather.terms[0].store.origin

    @functools.cached_property
    def _interior(self) -> list[tuple[int, int]]:
        """How far from the first and last trip the nest begins and ends, an axis."""
        ends = [(min(shifts), max(shifts)) for shifts in self.gather.shifts()]
        if self.gather.multiple is not None:
            return [(high, low) for low, high in ends]
        # beside what is kept there are zeros
        return ends if self.gather.own is None else [(0, 0)] * len(ends)

    def _bounds(self, reach: Sequence[tuple[int, int]]) -> list[tuple[Affine, Affine]]:
        return [
            (axis.low.plus(Affine(constant=first)), axis.high.plus(Affine(constant=last)))
            for axis, (first, last) in zip(self.gather.axes, reach, strict=True)
        ]

    def _inside(self) -> list[ir.Op]:
        """The nest over the elements that take all terms, parallel as the additions were."""
        bounds = self._bounds(self._interior)
        # LLVM runs the innermost loop as vectors where it begins with what is made, and not behind that
        ahead = Affine(constant=max(self._interior[-1][0], 0) if self.gather.multiple is not None else 0)
        bounds[-1] = bounds[-1][0].plus(ahead, -1), bounds[-1][1].plus(ahead, -1)

        def fill(inner: Writer, numbers: Sequence[Affine]) -> None:
            self._store(inner, (*numbers[:-1], numbers[-1].plus(ahead)), self.gather.terms, True)

        writer = Writer(self._origin)
        self._nest(writer, bounds, fill)
        return writer.ops

    def _is_harmless(self, model: IndexModel, axis: Axis, low: int, high: int) -> bool:
        """Whether the nest may run where the loop makes no trip: then it adds zeros, if the elements are there."""
        if low == high:
            return True
        ends = [axis.low.plus(Affine(constant=low)), axis.high.plus(Affine(constant=high - 1))]
        rests = self.gather.terms[0].rests
        first, last = (
            self.gather.element([end if other is axis else Affine() for other in self.gather.axes], rests)[axis.axis]
            for end in (ends if axis.scale > 0 else reversed(ends))
        )
        return model.has_elements(self.gather.root, axis.axis, first, last)

    def around(
        self,
        writer: Writer,
        numbers: tuple[Affine, ...] = (),
        terms: Sequence[Term] | None = None,
        with_own: bool = True,
        is_inside: bool = True,
    ) -> None:
        """The elements around: rows before, the rows inside with what is around in each, rows behind."""
        k = len(numbers)
        terms = self.gather.terms if terms is None else terms
        if k == len(self.gather.axes):
            if not is_inside:
                self._store(writer, numbers, terms, with_own)
            return
        axis, (first, last), shifts = self.gather.axes[k], self._interior[k], self.gather.shifts()[k]

        def rows(end: Affine, places: range, is_made: Callable[[int], bool]) -> None:
            for place in places:
                met = [term for term in terms if is_made(place - term.shifts[k])]
                own = with_own and is_made(place)
                if met or (own and self.gather.own is not None):
                    self.around(writer, (*numbers, end.plus(Affine(constant=place))), met, own, False)

        rows(axis.low, range(min(shifts), first), lambda place: place >= 0)
        if not is_inside or k + 1 < len(self.gather.axes):
            start, stop = map(writer.integer, self._bounds(self._interior)[k])
            with writer.loop(stop, axis.counter.name, start=start, order_free=True) as counter:
                self.around(writer, (*numbers, Affine({counter: 1})), terms, with_own, is_inside)
        rows(axis.high, range(last, max(shifts)), lambda place: place < 0)

    def _scattered(self, writer: Writer) -> None:
        """The same where there is little: what each trip contributes, term by term."""
        if self.gather.own is not None:
            self._each_trip(writer, lambda inner, numbers: self._store(inner, numbers, (), True))

        def scatter(inner: Writer, numbers: Sequence[Affine]) -> None:
            for term in self.gather.terms:
                self._store(inner, _moved(numbers, term.shifts), (term,), False)

        self._each_trip(writer, scatter)

    def cleared(self, clear: ir.Store) -> list[ir.Op]:
        """The clear of all that contributes."""
        writer = Writer(clear.origin)

        def fill(inner: Writer, numbers: Sequence[Affine]) -> None:
            inner.store(clear.array, self._place(inner, clear.index, numbers), clear.value, promised=clear.promised)

        self._each_trip(writer, fill)
        return writer.ops

    def _each_trip(self, writer: Writer, fill: Callable[[Writer, Sequence[Affine]], None]) -> None:
        self._nest(writer, self._bounds([(0, 0)] * len(self.gather.axes)), fill)

    def _nest(
        self,
        writer: Writer,
        bounds: _Bounds,
        fill: Callable[[Writer, Sequence[Affine]], None],
        numbers: tuple[Affine, ...] = (),
    ) -> None:
        k = len(numbers)
        if k == len(bounds):
            fill(writer, numbers)
            return
        start, stop = map(writer.integer, bounds[k])
        loop = self.gather.axes[k].loop
        name, parallel = loop.body.args[0].name, loop.parallel
        with writer.loop(stop, name, start=start, order_free=True, parallel=parallel) as counter:
            self._nest(writer, bounds, fill, (*numbers, Affine({counter: 1})))

    # ------------------------------------------------------------------------------------------------ an element

    def _store(self, writer: Writer, numbers: Sequence[Affine], terms: Sequence[Term], with_own: bool) -> None:
        """Adds the terms to an element; what the nest itself stores there is stored with them."""
        value = self._total(writer, numbers, terms) if terms else None
        own = self.gather.own if with_own else None
        if own is not None:
            made = self._own_value(writer, numbers, own)
            is_zero = isinstance(made, ir.Const) and made.value == 0
            if value is None:
                value = made
            elif not is_zero:
                value = writer.call(operator.add, made, value, type=made.type, name="total")
        if value is not None:
            element = self.gather.element(numbers, self.gather.terms[0].rests)
            is_added = own is None or own.is_added
            writer.store(self.gather.root, [writer.integer(entry) for entry in element], value, add=is_added)

    def _total(self, writer: Writer, numbers: Sequence[Affine], terms: Sequence[Term]) -> ir.Operand:
        total: ir.Operand | None = None
        multiple = self.gather.multiple
        # one product in the place of many
        common = abs(terms[0].coefficient)
        if multiple is None or common == 0.0 or any(abs(term.coefficient) != common for term in terms):
            common = 1.0
        for term in terms:
            value = self._factor(writer, term.factor, _moved(numbers, [-shift for shift in term.shifts]))
            total = _plus_times(writer, total, term.coefficient / common, value)
        assert total is not None
        if common != 1.0:
            total = writer.call(operator.mul, ir.Const(common, total.type), total, type=total.type)
        if multiple is None:
            return total
        cloner = ir.Cloner({multiple.load.out: total})
        for op in multiple.ops:
            writer.emit(cloner.op(op))
        return cloner.operand(terms[0].factor)

    def _factor(self, writer: Writer, factor: ir.Operand, trips: Sequence[Affine]) -> ir.Var:
        """What a trip contributes, or what that is a multiple of."""
        if self.gather.multiple is None:
            return writer.load(self.kept[factor].array, self.kept[factor].index(writer, self.gather.axes, trips))
        load = self.gather.multiple.load
        return writer.load(load.array, self._place(writer, load.index, trips))

    def _own_value(self, writer: Writer, numbers: Sequence[Affine], own: Own) -> ir.Operand:
        cloner = ir.Cloner(self._counters(writer, numbers))
        needed = {own.store.value, *(operand for op in own.value for operand in op.operands)}
        for factor in self.kept:
            if isinstance(factor, ir.Var) and factor in needed:
                cloner.mapping[factor] = self._factor(writer, factor, numbers)
        for op in own.value:
            writer.emit(cloner.op(op))
        return cloner.operand(own.store.value)

    def _counters(self, writer: Writer, numbers: Sequence[Affine]) -> dict[ir.Var, ir.Operand]:
        pairs = zip(self.gather.axes, numbers, strict=True)
        return {axis.counter: writer.integer(number) for axis, number in pairs}

    def _place(self, writer: Writer, index: Sequence[ir.Operand], numbers: Sequence[Affine]) -> list[ir.Operand]:
        """An index that is made of the counters, in the trip of these numbers."""
        counters = self._counters(writer, numbers)
        return [counters[entry] for entry in index if isinstance(entry, ir.Var)]


def _moved(numbers: Sequence[Affine], shifts: Sequence[int]) -> tuple[Affine, ...]:
    return tuple(number.plus(Affine(constant=shift)) for number, shift in zip(numbers, shifts, strict=True))


def _region(ops: Sequence[ir.Op]) -> ir.Region:
    return ir.Region((), tuple(ops), ())


def _substituted(value: Affine, known: Mapping[ir.Var, Affine]) -> Affine:
    found = Affine(constant=value.constant)
    for symbol, factor in value.terms.items():
        there = known.get(symbol) if isinstance(symbol, ir.Var) else None
        found = found.plus(Affine({symbol: 1}) if there is None else there, factor)
    return found


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


def _if_long(
    axes: Sequence[tuple[Axis, int]], ops: list[ir.Op], origin: ir.Origin | None, others: Sequence[ir.Op] = ()
) -> list[ir.Op]:
    """The operations where there are so many trips at least along each of the axes, and the others elsewhere."""
    writer = Writer(origin)
    is_long: ir.Var | None = None
    for axis, least in axes:
        more = least - axis.trips.constant
        if axis.trips.is_constant and more > 0:
            return list(others)
        if not axis.trips.is_constant:
            count = writer.integer(Affine(axis.trips.terms))
            test = writer.call(operator.gt, count, ir.integer(more - 1), type=types.boolean, name="is_long")
            if is_long is not None:
                test = writer.call(operator.and_, is_long, test, type=types.boolean, name="is_long")
            is_long = test
    if is_long is None:
        return ops
    writer.emit(ir.If(condition=is_long, then=_region(ops), orelse=ir.rewritten(_region(others), _serial)))
    return writer.ops


def _serial(op: ir.Op) -> ir.Op:
    """Loops of few trips are not worth their threads."""
    return dataclasses.replace(op, parallel=False) if isinstance(op, ir.For) and op.parallel else op
