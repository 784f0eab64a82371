"""Writes gathers: the stores that keep the contributions, the array that they are kept in, the nest that adds them up.

In: `Gather`s, which say what is added where. Out: the function with them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    def trips(self) -> Affine:
        return self.high.plus(self.low, -1)

    def shift(self, constant: int) -> tuple[int, int]:
        """A constant as so many trips, and what is left of it."""
        rest = constant % abs(self.scale)
        return (constant - rest) // self.scale, rest


@dataclass(frozen=True)
class Term:
    """What `store` adds: a number times a factor."""

    store: ir.Store
    factor: ir.Operand
    coefficient: float


@dataclass(frozen=True)
class Gather:
    """The terms are added to elements of `root` in the innermost loop of the nest, each loop of which has its axis.

    home: the loop before which what they are kept in is made.
    """

    root: ir.Operand
    nest: tuple[ir.For, ...]
    axes: tuple[Axis, ...]
    index: Mapping[ir.Store, tuple[Affine, ...]]
    terms: tuple[Term, ...]
    home: ir.Op

    def shifts(self, term: Term) -> tuple[int, ...]:
        """How many trips before the one that bears the number of its element each term comes."""
        return tuple(axis.shift(self.index[term.store][axis.axis].constant)[0] for axis in self.axes)

    def rests(self, term: Term) -> tuple[int, ...]:
        return tuple(axis.shift(self.index[term.store][axis.axis].constant)[1] for axis in self.axes)


@dataclass(frozen=True)
class _Kept:
    """The array of a factor: the trip with counter i is at i - low + width."""

    array: ir.Var
    widths: tuple[int, ...]


class Edits:
    def __init__(self, model: IndexModel):
        self._model = model
        self._instead: dict[ir.Op, list[ir.Op]] = {}
        self._before: dict[ir.Op, list[ir.Op]] = {}
        self._after: dict[ir.Op, list[ir.Op]] = {}

    def add(self, gather: Gather) -> None:
        every = [gather.shifts(term) for term in gather.terms]
        widths = tuple(max(shifts) - min(shifts) for shifts in zip(*every, strict=True))
        kept: dict[ir.Operand, _Kept] = {}
        for term in gather.terms:
            self._instead[term.store] = []
            if term.factor not in kept:
                kept[term.factor] = self._keep(gather, term, widths)
        by_rest: dict[tuple[int, ...], list[Term]] = {}
        for term in gather.terms:
            by_rest.setdefault(gather.rests(term), []).append(term)
        for rest, terms in by_rest.items():
            self._after.setdefault(gather.nest[0], []).extend(self._sum(gather, terms, rest, kept))

    # --------------------------------------------------------------------------------------------- contributions

    def _keep(self, gather: Gather, term: Term, widths: tuple[int, ...]) -> _Kept:
        name = term.factor.name if isinstance(term.factor, ir.Var) else "contribution"
        made = ir.Var(f"{name}s", array_type(term.factor.type, len(widths)))
        writer = Writer()
        shape: list[ir.Operand] = []
        for axis, width in zip(gather.axes, widths, strict=True):
            trips = writer.integer(axis.trips.plus(Affine(constant=2 * width)))
            if not isinstance(trips, ir.Const):
                trips = writer.call(max, trips, ir.integer(2 * width), type=types.intp, name="n")
            shape.append(trips)
        zero = ir.Const(0.0, term.factor.type)
        writer.emit(ir.Alloc(shape=tuple(shape), fill=zero, out=made))
        self._before.setdefault(gather.home, []).extend(writer.ops)
        kept = _Kept(made, widths)
        writer = Writer(term.store.origin)
        index = [self._place(writer, a, w, a.loop.body.args[0], 0) for a, w in zip(gather.axes, widths, strict=True)]
        writer.store(made, index, term.factor)
        self._instead[term.store] = writer.ops
        return kept

    def _place(self, writer: Writer, axis: Axis, width: int, counter: ir.Var, shift: int) -> ir.Operand:
        """Where the contribution is that trip `counter` - `shift` made."""
        return writer.integer(Affine({counter: 1}, width - shift).plus(axis.low, -1))

    # ------------------------------------------------------------------------------------------------- the nest

    def _sum(
        self, gather: Gather, terms: Sequence[Term], rest: tuple[int, ...], kept: Mapping[ir.Operand, _Kept]
    ) -> list[ir.Op]:
        """The nest over all elements that these terms are added to, if the first nest made any trip."""
        every = [gather.shifts(term) for term in terms]
        low = tuple(map(min, zip(*every, strict=True)))
        high = tuple(map(max, zip(*every, strict=True)))
        writer = Writer(terms[0].store.origin)
        counters = [dataclasses.replace(axis.loop.body.args[0]) for axis in gather.axes]
        bounds = [
            (writer.integer(axis.low.plus(Affine(constant=a))), writer.integer(axis.high.plus(Affine(constant=b))))
            for axis, a, b in zip(gather.axes, low, high, strict=True)
        ]
        with writer.region() as ops:
            total: ir.Var | None = None
            for term, shifts in zip(terms, every, strict=True):
                total = self._added(writer, total, term, gather, kept[term.factor], counters, shifts)
            assert total is not None
            index = self._index(writer, gather, terms[0], counters, rest)
            writer.store(gather.root, index, total, add=True)
        for axis, counter, (start, stop) in reversed(list(zip(gather.axes, counters, bounds, strict=True))):
            made = ir.For(
                start=start,
                stop=stop,
                step=ir.integer(1),
                inits=(),
                body=ir.Region((counter,), tuple(ops), ()),
                outs=(),
                order_free=True,
                parallel=axis.loop.parallel,
                origin=writer.origin,
            )
            ops = [made]
        nest: list[ir.Op] = [*writer.ops, *ops]
        for axis, left, a, b in reversed(list(zip(gather.axes, rest, low, high, strict=True))):
            if not self._is_harmless(gather, terms[0], axis, left, a, b):
                nest = guarded(axis.trips, nest, writer.origin)
        return nest

    def _is_harmless(self, gather: Gather, term: Term, axis: Axis, rest: int, low: int, high: int) -> bool:
        """Whether the nest may run where the loop makes no trip: then it adds zeros, if the elements are there."""
        if low == high:
            return True
        terms = dict(gather.index[term.store][axis.axis].terms)
        scale = terms.pop(axis.loop.body.args[0])
        ends = [axis.low.plus(Affine(constant=low)), axis.high.plus(Affine(constant=high - 1))]
        first, last = (Affine(terms, rest).plus(end, scale) for end in (ends if scale > 0 else reversed(ends)))
        return self._model.has_elements(gather.root, axis.axis, first, last)

    def _added(
        self,
        writer: Writer,
        total: ir.Var | None,
        term: Term,
        gather: Gather,
        kept: _Kept,
        counters: Sequence[ir.Var],
        shifts: Sequence[int],
    ) -> ir.Var:
        places = zip(gather.axes, kept.widths, counters, shifts, strict=True)
        value = writer.load(kept.array, [self._place(writer, *place) for place in places])
        return plus_times(writer, total, term.coefficient, value)

    def _index(
        self, writer: Writer, gather: Gather, term: Term, counters: Sequence[ir.Var], rest: Sequence[int]
    ) -> list[ir.Operand]:
        """The element of the target that belongs to the counters of the gather."""
        entries = list(gather.index[term.store])
        for axis, counter, left in zip(gather.axes, counters, rest, strict=True):
            terms = dict(entries[axis.axis].terms)
            scale = terms.pop(axis.loop.body.args[0])
            entries[axis.axis] = Affine({counter: scale, **terms}, left)
        return [writer.integer(entry) for entry in entries]

    # ------------------------------------------------------------------------------------------------- rewriting

    def applied(self, function: ir.Function) -> ir.Function:
        if not self._instead:
            return function
        instead: dict[ir.Op, list[ir.Op]] = {}
        for op in {**self._before, **self._instead, **self._after}:
            instead[op] = [*self._before.get(op, ()), *self._instead.get(op, (op,)), *self._after.get(op, ())]
        return dataclasses.replace(function, body=ir.replaced(function.body, instead))


def plus_times(writer: Writer, total: ir.Operand | None, coefficient: float, value: ir.Var) -> ir.Var:
    """A sum, if there is one so far, and so many times a value more."""
    callee = operator.add
    if coefficient < 0 and total is not None:
        callee, coefficient = operator.sub, -coefficient
    if coefficient == -1.0:
        value = writer.call(operator.neg, value, type=value.type)
    elif coefficient != 1.0:
        value = writer.call(operator.mul, ir.Const(coefficient, value.type), value, type=value.type)
    return value if total is None else writer.call(callee, total, value, type=value.type, name="total")


def guarded(trips: Affine, ops: list[ir.Op], origin: ir.Origin | None) -> list[ir.Op]:
    """The operations where the loop makes a trip."""
    if trips.is_constant:
        return ops if trips.constant > 0 else []
    writer = Writer(origin)
    count = writer.integer(Affine(trips.terms))
    some = writer.call(operator.gt, count, ir.integer(-trips.constant), type=types.boolean, name="is_any")
    writer.emit(ir.If(condition=some, then=ir.Region((), tuple(ops), ())))
    return writer.ops
