"""Writes gathers that read what they add up where it is: what is around that is put aside, and zero for the time being.

In: a place found by `zero_rims.py`. Out: the function with it.
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
from adjit.transform.ir.types import array_type
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.sweeps.gather.boxes import Bound, Part, around, shifted, whole
from adjit.transform.sweeps.gather.gathered import guarded, plus_times

_Fill = Callable[[Writer, Sequence[Affine]], None]
_Item = tuple[tuple[Part, ...], _Fill]


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
    ends: operands that are `low` and `high`, if there are any.
    """

    counter: ir.Var
    element: ir.Var
    low: Affine
    high: Affine
    below: int
    above: int
    place: Affine
    ends: Mapping[str, ir.Operand]

    def bound(self, bound: Bound) -> Affine:
        end, more = bound
        return {"low": self.low, "high": self.high}[end].plus(Affine(constant=more))

    def operand(self, writer: Writer, bound: Bound) -> ir.Operand:
        end, more = bound
        return self.ends[end] if end in self.ends and not more else writer.integer(self.bound(bound))

    def beside(self, shifts: Sequence[int]) -> tuple[int, int]:
        """How far before and behind what is made the gather reaches, for elements that are also made."""
        low, high = max(-self.below, 0), min(self.above, 0)
        return max(0, -(low + min(shifts))), max(0, high + max(shifts))


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

    def reach(self) -> list[tuple[int, int]]:
        """How far before and behind the elements that contribute the gather reads, an axis."""
        shifts = zip(*(term.shifts for term in self.terms), strict=True)
        return [axis.beside(each) for axis, each in zip(self.axes, shifts, strict=True)]

    def rim(self) -> list[tuple[Part, ...]]:
        """What is around the elements that contribute and is read with them."""
        reach = self.reach()
        return list(around([(0, 0)] * len(reach), reach))

    def others(self) -> list[tuple[Term, tuple[Part, ...]]]:
        """Which terms elements get that do not contribute themselves."""
        inner = [(min(axis.below, 0), min(axis.above, 0)) for axis in self.axes]
        outer = [(axis.below, axis.above) for axis in self.axes]
        found: list[tuple[Term, tuple[Part, ...]]] = []
        for box in around(inner, outer):
            for term in self.terms:
                parts = [shifted(part, shift) for part, shift in zip(box, term.shifts, strict=True)]
                if all(part is not None for part in parts):
                    found.append((term, tuple(part for part in parts if part is not None)))
        return found

    # --------------------------------------------------------------------------------------------------- writing

    def applied(self, function: ir.Function) -> ir.Function:
        made = Writer(self.kept.origin)
        asides = self._asides(made)
        others = [(box, self._adding([term])) for term, box in self.others()]
        instead: dict[ir.Op, list[ir.Op]] = {
            self.kept: made.ops,
            self.maker: [*self._where_some(self._over(asides, False)), self.maker],
            self.store: [],
            self.gather: [*self._gathered(), *self._where_some([*self._over(asides, True), *others])],
        }
        if self.clear is not None:
            instead[self.clear] = []
            instead[self.gather] += self._cleared()
        return dataclasses.replace(function, body=ir.replaced(function.body, instead))

    def _where_some(self, items: Sequence[_Item]) -> list[ir.Op]:
        """What is done around what contributes, where anything does."""
        writer = Writer(self.addition.origin)
        self._nests(writer, items)
        ops = writer.ops
        for axis in reversed(self.axes):
            ops = guarded(axis.high.plus(axis.low, -1), ops, self.addition.origin) if ops else []
        return ops

    def _nests(self, writer: Writer, items: Sequence[_Item], counters: tuple[Affine, ...] = ()) -> None:
        """Loops over boxes, with what is done in each; those that share their outer loops are run together.

        What is done in one box has nothing to do with what is done in another. What is one trip needs no loop.
        """
        if len(counters) == len(self.axes):
            for _, fill in items:
                fill(writer, counters)
            return
        axis = self.axes[len(counters)]
        parts = dict.fromkeys(box[len(counters)] for box, _ in items)
        for part in parts:
            inner = [item for item in items if item[0][len(counters)] == part]
            if part.is_one:
                self._nests(writer, inner, (*counters, axis.bound(part.starts[0])))
                continue
            counter = dataclasses.replace(axis.counter)
            starts, stops = ([axis.operand(writer, bound) for bound in ends] for ends in (part.starts, part.stops))
            start, stop = _one(writer, max, starts), _one(writer, min, stops)
            with writer.region() as ops:
                self._nests(writer, inner, (*counters, Affine({counter: 1})))
            writer.emit(
                ir.For(
                    start=start, stop=stop, step=ir.integer(1), inits=(), outs=(), order_free=True,
                    body=ir.Region((counter,), tuple(ops), ()), origin=writer.origin,
                )
            )  # fmt: skip

    def _nest(self, box: Sequence[Part], fill: _Fill) -> list[ir.Op]:
        """A nest over elements that contribute, parallel as the gather is."""
        writer = Writer(self.addition.origin)
        self._nests(writer, [(tuple(box), fill)])
        *before, outermost = writer.ops
        assert isinstance(outermost, ir.For)
        return [*before, dataclasses.replace(outermost, parallel=self.gather.parallel)]

    def _element(self, counters: Sequence[Affine], writer: Writer, shifts: Sequence[int]) -> list[ir.Operand]:
        """The element that counters, so much further on, contribute a multiple of."""
        places = [axis.counter for axis in self.axes]
        order = [places.index(index) for index in self.load.index if isinstance(index, ir.Var)]
        return [writer.integer(counters[k].plus(Affine(constant=shifts[k]))) for k in order]

    def _asides(self, writer: Writer) -> list[tuple[tuple[Part, ...], ir.Var]]:
        """The parts of the rim, and an array for what is in each."""
        found: list[tuple[tuple[Part, ...], ir.Var]] = []
        for box in self.rim():
            shape: list[ir.Operand] = []
            for axis, part in self._long(box):
                trips = writer.integer(axis.bound(part.stops[0]).plus(axis.bound(part.starts[0]), -1))
                if not isinstance(trips, ir.Const):
                    trips = writer.call(max, trips, ir.integer(0), type=types.intp, name="n")
                shape.append(trips)
            aside = ir.Var("rim", array_type(self.load.out.type, max(len(shape), 1)))
            writer.emit(ir.Alloc(shape=tuple(shape) or (ir.integer(1),), out=aside))
            found.append((box, aside))
        return found

    def _long(self, box: Sequence[Part]) -> list[tuple[Axis, Part]]:
        return [(axis, part) for axis, part in zip(self.axes, box, strict=True) if not part.is_one]

    def _over(self, asides: Sequence[tuple[tuple[Part, ...], ir.Var]], is_back: bool) -> list[_Item]:
        """Puts the rim aside and zeros into it, or what was put aside back."""
        return [(box, functools.partial(self._move, box, aside, is_back)) for box, aside in asides]

    def _move(
        self, box: Sequence[Part], aside: ir.Var, is_back: bool, writer: Writer, counters: Sequence[Affine]
    ) -> None:
        array, element = self.load.array, self._element(counters, writer, [0] * len(counters))
        places = [
            writer.integer(counter.plus(axis.bound(part.starts[0]), -1))
            for counter, axis, part in zip(counters, self.axes, box, strict=True)
            if not part.is_one
        ] or [ir.integer(0)]
        if is_back:
            writer.store(array, element, writer.load(aside, places))
        else:
            writer.store(aside, places, writer.load(array, element))
            writer.store(array, element, ir.Const(0.0, self.load.out.type))

    def _gathered(self) -> list[ir.Op]:
        """The gather for the elements that contribute themselves."""
        box = [whole(min(axis.below, 0), min(axis.above, 0)) for axis in self.axes]
        return self._nest(box, self._adding(self.terms))

    def _cleared(self) -> list[ir.Op]:
        def clear(writer: Writer, counters: Sequence[Affine]) -> None:
            element = self._element(counters, writer, [0] * len(counters))
            writer.store(self.load.array, element, ir.Const(0.0, self.load.out.type))

        return self._nest([whole(0, 0)] * len(self.axes), clear)

    def _adding(self, terms: Sequence[Term]) -> _Fill:
        def add(writer: Writer, counters: Sequence[Affine]) -> None:
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
            own = {axis.element: counter for axis, counter in zip(self.axes, counters, strict=True)}
            index = [writer.integer(_substituted(entry, own)) for entry in self.target]
            writer.store(self.addition.array, index, cloner.operand(self.store.value), add=True)

        return add


def _one(writer: Writer, of: object, values: Sequence[ir.Operand]) -> ir.Operand:
    """The latest, or the earliest, of some integers."""
    return values[0] if len(values) == 1 else writer.call(of, *values, type=types.intp, name="n")


def _substituted(value: Affine, counters: Mapping[ir.Var, Affine]) -> Affine:
    found = Affine(constant=value.constant)
    for symbol, factor in value.terms.items():
        known = counters.get(symbol) if isinstance(symbol, ir.Var) else None
        found = found.plus(Affine({symbol: 1}) if known is None else known, factor)
    return found
