"""Which elements of which memory an operation reads or writes: an affine index an axis, through views.

In: a function. Out: accesses, to the array where its memory is named first; conditions on them, and on the order of
execution, as sets of integers, where a prefix tells the counters of several accesses apart.

    w = u[2:, j]
    w[i]            u[2 + i, j]

    text.before(load, "r", store, "w")      r0 < w0, or r0 = w0 and r1 < w1
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from adjit.runtime.library import distinct
from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Chain, Constraint, Count, Iterations, Symbol, loops_in
from adjit.transform.analysis.alias import FRESH, Aliases
from adjit.transform.analysis.extents import ndim
from adjit.transform.analysis.integer_sets import (
    Condition,
    IntegerSet,
    both,
    compared,
    either,
    is_empty,
    names_in,
)


@dataclass(frozen=True, eq=False)
class Unknown:
    """An index of which nothing is known but that it is in bounds; `number` counts those of one access.

    of: the array whose element it is, and the place of that, if its elements are all different.
    """

    number: int
    of: tuple[ir.Operand, tuple[Affine, ...]] | None = None


@dataclass(frozen=True, eq=False)
class Access:
    """The elements of `root` that an operation touches: `index` has an entry an axis of the root, none below zero.

    is_root: `root` is where the array is made, so that other roots are other memory; else it may be any of its class.
    """

    op: ir.Op
    root: ir.Operand
    is_root: bool
    index: tuple[Affine, ...]
    constraints: tuple[Constraint, ...]
    unknowns: tuple[Unknown, ...]


class Text:
    """Writes conditions on counters and sizes. A prefix tells the counters of several accesses apart: r0, r1, w0."""

    def __init__(self, iterations: Iterations):
        self._iterations = iterations
        self._sizes: dict[Symbol, str] = {}
        self._domains: dict[tuple[Access, str], Condition] = {}
        self._orders: dict[tuple[Hashable, ...], Condition | None] = {}

    def at_least(self, least: int, conditions: Iterable[Condition], extents: bool = False) -> list[Condition]:
        """That all sizes in the conditions, or the extents of arrays among them, are at least so large."""
        inside = set().union(*map(names_in, conditions))
        sizes = [name for symbol, name in self._sizes.items() if not extents or isinstance(symbol, tuple)]
        return [compared({name: 1}, -least, ">=") for name in sizes if name in inside]

    def set(self, dimensions: Sequence[str], conditions: Sequence[Condition]) -> IntegerSet:
        condition = both(*conditions)
        inside = names_in(condition)
        sizes = [(symbol, name) for symbol, name in self._sizes.items() if name in inside]
        extents = [compared({name: 1}, 0, ">=") for symbol, name in sizes if isinstance(symbol, tuple | Count)]
        return IntegerSet(dimensions, [name for _, name in sizes], both(condition, *extents))

    def name(self, symbol: Symbol, prefix: str) -> str:
        if isinstance(symbol, (ir.For, ir.While)):
            return f"{prefix}{len(self._iterations.places[symbol].loops)}"
        if isinstance(symbol, Unknown):
            return f"{prefix}u{symbol.number}"
        return self._sizes.setdefault(symbol, f"n{len(self._sizes)}")

    def names(self, symbols: Iterable[Symbol], prefix: str) -> list[str]:
        return [self.name(symbol, prefix) for symbol in symbols]

    def related(self, one: Affine, left: str, relation: str, other: Affine, right: str) -> Condition:
        terms = {self.name(symbol, left): factor for symbol, factor in one.terms.items()}
        for symbol, factor in other.terms.items():
            name = self.name(symbol, right)
            terms[name] = terms.get(name, 0) - factor
        return compared(terms, one.constant - other.constant, relation)

    def all(self, constraints: Iterable[Constraint], prefix: str) -> list[Condition]:
        return [self.related(c.value, prefix, c.relation, Affine(), prefix) for c in constraints]

    def domain(self, access: Access, prefix: str) -> Condition:
        key = (access, prefix)
        if key not in self._domains:
            chain = self._iterations.places[access.op].chain
            known = self.all((*self._iterations.domain(chain), *access.constraints), prefix)
            unknowns = [compared({name: 1}, 0, ">=") for name in self.names(access.unknowns, prefix)]
            self._domains[key] = both(*known, *unknowns)
        return self._domains[key]

    def counters(self, one: Symbol, left: str, relation: str, other: Symbol, right: str, apart: int = 0) -> Condition:
        """How the counter of one loop is related to that of another one, less `apart`."""
        return compared({self.name(one, left): 1, self.name(other, right): -1}, apart, relation)

    def equal(self, symbols: Iterable[Symbol], left: str, right: str) -> Condition:
        return both(*(self.counters(symbol, left, "=", symbol, right) for symbol in symbols))

    def same_element(self, one: Access, left: str, other: Access, right: str) -> list[Condition]:
        """That both touch one element; of an array made in loops, the one made in the same trips of them."""
        pairs = zip(one.index, other.index, strict=True)
        indices = [self._same_index(a, left, b, right) for a, b in pairs]
        return [self.equal(self._iterations.scope(one.root), left, right), *indices]

    def _same_index(self, a: Affine, left: str, b: Affine, right: str) -> Condition:
        """That both are one index; of elements that are all different, that they are one element."""
        found = [self.related(a, left, "=", b, right)]
        one, other = _element_of(a), _element_of(b)
        if one is not None and other is not None and one[0] is other[0]:
            places = zip(one[1], other[1], strict=True)
            found += [self.related(p, left, "=", q, right) for p, q in places]
        return both(*found)

    def before(self, one: ir.Op, left: str, other: ir.Op, right: str) -> Condition | None:
        """That `one` is run before `other`; None if it never is."""
        places = self._iterations.places
        shared: list[Symbol] = []
        same_trip = places[one].order < places[other].order
        for (a, number), (b, other_number) in zip(places[one].chain, places[other].chain, strict=False):
            if a is not b:
                break
            if not isinstance(a, ir.If):
                shared.append(a)
            if number != other_number:
                # of two branches one is run; the test of a while loop comes before its body
                same_trip = same_trip and not isinstance(a, ir.If)
                break
        key = (*shared, same_trip, left, right)
        if key not in self._orders:
            cases = [
                both(self.equal(shared[:k], left, right), self.counters(loop, left, "<", loop, right))
                for k, loop in enumerate(shared)
            ]
            if same_trip:
                cases.append(self.equal(shared, left, right))
            self._orders[key] = either(*cases) if cases else None
        return self._orders[key]


def _unknown(unknowns: list[Unknown], of: tuple[ir.Operand, tuple[Affine, ...]] | None = None) -> Affine:
    """One more index of which nothing is known, but perhaps that it is one of many that are all different."""
    unknowns.append(Unknown(len(unknowns), of))
    return Affine({unknowns[-1]: 1})


def _element_of(index: Affine) -> tuple[ir.Operand, tuple[Affine, ...]] | None:
    """The array and the place in it of an index that is an element, of those that are all different."""
    (symbol, *more) = index.terms or (None,)
    is_alone = not more and isinstance(symbol, Unknown) and index.terms[symbol] == 1 and not index.constant
    return symbol.of if is_alone and isinstance(symbol, Unknown) else None


class Accesses:
    """Those of one function. `expanded`: arrays taken to have one axis more for each of some loops."""

    def __init__(self, function: ir.Function, expanded: Mapping[ir.Operand, Sequence[ir.For]]):
        self.iterations = function.analysis(Iterations)
        self.text = Text(self.iterations)
        self._expanded = expanded
        self._reads: dict[ir.Op, list[Access]] = {}
        self._writes: dict[ir.Op, Access] = {}
        # parameters that are no parts of others
        self._apart = frozenset(function.body.args).difference(*function.overlapping)
        self._aliases = function.analysis(Aliases)

    def read(self, op: ir.Op) -> list[Access]:
        if op not in self._reads:
            if isinstance(op, ir.Store):
                self._reads[op] = [self.write(op)] if op.add else []
            elif isinstance(op, ir.Load):
                self._reads[op] = [self._access(op, op.array, op.index)]
            else:
                self._reads[op] = [self._access(op, a, None) for a in op.memory_read if ir.is_array(a)]
        return self._reads[op]

    def touched(self, op: ir.Op) -> list[Access]:
        """What it reads or writes."""
        return [self.write(op)] if isinstance(op, ir.Store) else self.read(op)

    def all_of(self, place: ir.Op, array: ir.Operand) -> Access:
        """That of an operation, or of its adjoint, which may be to every element of an array or view."""
        return self._access(place, array, None)

    def write(self, op: ir.Store) -> Access:
        if op not in self._writes:
            self._writes[op] = self._access(op, op.array, op.index)
        return self._writes[op]

    def holds(self, chain: Chain, value: Affine, relation: str) -> bool:
        """Whether the relation (>= or <) of the value to zero holds in each trip of the loops in the chain."""
        known, least = self.iterations.domain(chain), Constraint(value, relation).least
        if least.is_natural or any(least.plus(each.least, -1).is_natural for each in known if each.relation != "!="):
            return True
        opposite = Constraint(value, "<" if relation == ">=" else ">=")
        conditions = self.text.all((*known, opposite), "r")
        return is_empty(self.text.set(self.text.names(loops_in(chain), "r"), conditions))

    def _access(self, op: ir.Op, array: ir.Operand, index: Sequence[ir.Operand] | None) -> Access:
        """The access to `array[index]`, or to all of the array, followed through views to the root."""
        chain = self.iterations.places[op].chain
        constraints: list[Constraint] = []
        unknowns: list[Unknown] = []
        places: list[Affine | None] = [None] * ndim(array)
        if index is not None:
            places = [self._position(chain, array, axis, operand) for axis, operand in enumerate(index)]
        elements = [None] * ndim(array) if index is None else [self._promised(chain, operand) for operand in index]
        pairs = zip(places, elements, strict=True)
        entries = [_unknown(unknowns, of) if place is None else place for place, of in pairs]
        while True:
            definition = self.iterations.definitions.get(array)
            if isinstance(definition, ir.Slice):
                entries = self._through_slice(chain, definition, entries, constraints, unknowns)
            elif isinstance(definition, ir.Transpose):
                of_view = dict(zip(definition.axes, entries, strict=True))
                entries = [of_view[axis] for axis in range(len(entries))]
            elif isinstance(definition, ir.Reshape):
                entries = self._through_reshape(definition, entries, unknowns)
            else:
                break
            array = definition.base
        is_root = isinstance(array, ir.Const) or array in self._apart or isinstance(definition, FRESH)
        entries = [Affine({loop: 1}) for loop in self._expanded.get(array, ())] + list(entries)
        return Access(op, array, is_root, tuple(entries), tuple(constraints), tuple(unknowns))

    def _promised(self, chain: Chain, operand: ir.Operand) -> tuple[ir.Operand, tuple[Affine, ...]] | None:
        """The array, of elements that are all different, and the place in it that an index is loaded from."""
        call = self.iterations.definitions.get(operand)
        if not isinstance(call, ir.Call) or call.callee is not distinct:
            return None
        load = self.iterations.definitions.get(call.args[0])
        if not isinstance(load, ir.Load) or self.iterations.scope(load.array) or self._aliases.is_written(load.array):
            return None
        places = [self._position(chain, load.array, axis, own) for axis, own in enumerate(load.index)]
        known = tuple(place for place in places if place is not None)
        return (load.array, known) if len(known) == len(places) else None

    def _position(self, chain: Chain, array: ir.Operand, axis: int, operand: ir.Operand) -> Affine | None:
        """The index counted from the front; None if it is not affine, or from the front in some trips only."""
        index = self.iterations.value(operand)
        if index is None or self.holds(chain, index, ">="):
            return index
        extent = self.iterations.extent(array, axis)
        return index.plus(extent) if extent is not None and self.holds(chain, index, "<") else None

    def _through_slice(
        self,
        chain: Chain,
        view: ir.Slice,
        entries: Sequence[Affine],
        constraints: list[Constraint],
        unknowns: list[Unknown],
    ) -> list[Affine]:
        """Indices into the view as indices into its base; what the bounds of the view say of them is added."""
        found: list[Affine] = []
        rest = iter(entries)
        for selector in view.selectors:
            if isinstance(selector, ir.NewAxis):
                next(rest)
                continue
            axis = len(found)
            if isinstance(selector, ir.At):
                place = self._position(chain, view.base, axis, selector.index)
            else:
                place = self._spanned(chain, view.base, axis, selector, next(rest), constraints)
            found.append(_unknown(unknowns) if place is None else place)
        return found

    def _through_reshape(self, view: ir.Reshape, entries: Sequence[Affine], unknowns: list[Unknown]) -> list[Affine]:
        """Indices into a view that has axes of one element more or fewer as indices into its base; others are unknown.

        y = x.reshape((x.size, 1))        y[i, 0] is x[i]
        """
        own, of_base = self._long_axes(view.out), self._long_axes(view.base)
        extents = [
            [self.iterations.extent(array, axis) for axis in axes]
            for array, axes in ((view.out, own), (view.base, of_base))
        ]
        # one axis is as long as the other, as both have as many elements
        is_same = len(own) == len(of_base) == 1 or (extents[0] == extents[1] and None not in extents[0])
        if not is_same:
            return [_unknown(unknowns) for _ in range(ndim(view.base))]
        places = dict(zip(of_base, (entries[axis] for axis in own), strict=True))
        return [places.get(axis, Affine()) for axis in range(ndim(view.base))]

    def _long_axes(self, array: ir.Operand) -> list[int]:
        """The axes that are not known to have one element."""
        return [axis for axis in range(ndim(array)) if self.iterations.extent(array, axis) != ONE]

    def _spanned(
        self, chain: Chain, base: ir.Operand, axis: int, span: ir.Span, entry: Affine, constraints: list[Constraint]
    ) -> Affine | None:
        """The element of the base that is number `entry` of a slice; what the end of the slice says of it is added."""
        start = self._start(chain, base, axis, span)
        if start is None:
            return None
        first, step = start
        place = first.plus(entry, step)
        stop = None if span.stop is None else self.iterations.value(span.stop)
        if step > 0 and stop is not None and self.holds(chain, stop, ">="):
            constraints.append(Constraint(place.plus(stop, -1), "<"))
        return place

    def _start(self, chain: Chain, base: ir.Operand, axis: int, span: ir.Span) -> tuple[Affine, int] | None:
        """The first element that the slice takes and its step, None if they are not known."""
        step = ONE if span.step is None else self.iterations.value(span.step)
        if step is None or not step.is_constant or step.constant == 0:
            return None
        if span.start is None:
            if step.constant > 0:
                return Affine(), step.constant
            extent = self.iterations.extent(base, axis)
            return None if extent is None else (extent.plus(ONE, -1), step.constant)
        start = self.iterations.value(span.start)
        # a start from the end, or one beyond it where the step goes down, is clipped to the array
        if start is None or step.constant < 0 or not self.holds(chain, start, ">="):
            return None
        return start, step.constant
