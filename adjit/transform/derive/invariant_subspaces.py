"""What of a program depends on the vectors of a factorisation only by the spaces of equal values.

In: a function, and a call in it that gives values and vectors. Out: `Spaces`, or Unproven. An array has *indices*: the
axes along which the pairs of a value and its vector are counted. It is of degree 0 along one where its elements are
functions of the value alone, of degree 1 where it is the vectors times what is the same for all of them, and of degree
2 as a product of two such. Where vectors of equal values are replaced by others of their space, elements of degree 1
turn like these, and sums over an index of degree 2, or 0, stay.

    w, v = np.linalg.eigh(a)        w: degree 0 along axis 0;  v: degree 1 along axis 1
    p = v * np.exp(w)               degree 1 along axis 1, and a product of vectors with a function of the values: *met*
    z = p @ v.T                     none: the sum over k is of degree 2

A number or a slice that is picked out, `v[:, 2]`, `v[:, :r]`, makes a *cut* between vectors: those on both sides are
told apart. Whatever else is done with vectors is unproven.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjit.rules.registry import Spectral
from adjit.runtime.library import broadcast_extent
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.extents import is_product
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type_of

ALL = ir.Span()  # all pairs; other slices are of some
BACKWARDS = ir.Span(step=ir.integer(-1))


class Unproven(Exception):
    """It may matter which vectors of a space there are."""


class InPlace(Exception):
    """An array that is followed is stored into more than once, or only where a condition holds."""

    def __init__(self, store: ir.Store):
        self.store = store


class Index(NamedTuple):
    """An axis along which pairs are counted: those of a slice, and the degree."""

    of: ir.Span
    degree: int


class Entries(NamedTuple):
    """An array: the index of each axis, or None; counters of loops around that are indices of all of it, with degrees;
    other counters that it depends on."""

    axes: tuple[Index | None, ...]
    at: Mapping[ir.Operand, int] = {}
    other: frozenset[ir.Operand] = frozenset()

    @property
    def has_vectors(self) -> bool:
        return any(axis is not None and axis.degree > 0 for axis in self.axes) or any(d > 0 for d in self.at.values())

    @property
    def is_plain(self) -> bool:
        return not self.at and all(axis is None for axis in self.axes)


class Number(NamedTuple):
    """A number in loops: the counters that are indices of it, with degrees; what it depends on otherwise."""

    degrees: Mapping[ir.Operand, int] = {}
    other: frozenset[ir.Operand] = frozenset()
    terms: tuple[Number, ...] | None = None  # of a sum that a loop carries

    @property
    def has_vectors(self) -> bool:
        return any(d > 0 for d in self.degrees.values()) or any(t.has_vectors for t in self.terms or ())

    @property
    def is_plain(self) -> bool:
        return not self.degrees and not self.terms


PLAIN = Number()


def _length(of: ir.Span) -> ir.Span:
    """A slice that is as long."""
    return ALL if of == BACKWARDS else of


def axes_of_base(view: ir.Slice) -> list[int]:
    """Which axis of the base each one of a slice is; -1 for a new one."""
    of_base = (s for s in view.selectors if not isinstance(s, ir.NewAxis))
    kept = (k for k, s in enumerate(of_base) if isinstance(s, ir.Span))
    return [-1 if isinstance(s, ir.NewAxis) else next(kept) for s in view.selectors if not isinstance(s, ir.At)]


def is_square(op: ir.Call) -> bool:
    """Whether a number is multiplied by itself."""
    callee, args = ir.canonical(op.callee), op.args
    if callee is operator.mul:
        return args[0] is args[1]
    return callee is np.square or (callee is operator.pow and ir.is_literal(args[1], 2))


_SAME_DEGREE = (operator.neg, operator.pos, ir.cast)


class Spaces:
    """arrays, numbers: what has indices. cuts: integers, with what is to be added. met: numbers that are products of
    vectors with functions of the values, and the stores of such; totals: results of loops that are sums of such;
    products: calls of such; diagonals: stores of functions of the values along a diagonal."""

    def __init__(self, function: ir.Function, call: ir.Call, spectral: Spectral):
        self.call = call
        self.made = function.body.made
        self.uses = function.analysis(Uses)
        self.aliases = function.analysis(Aliases)
        self.values = call.outs[spectral.values]
        self.is_square = spectral.in_parts or len(spectral.vectors) == 1
        self.vectors: list[ir.Operand] = [call.outs[k] for k in spectral.vectors]
        self.arrays: dict[ir.Operand, Entries] = {self.values: Entries((Index(ALL, 0),))}
        for k, axis in spectral.vectors.items():
            axes = [Index(ALL, 1) if n == axis else None for n in range(2)]
            self.arrays[call.outs[k]] = Entries(tuple(axes))
        self.numbers: dict[ir.Operand, Number] = {}
        self.cuts: list[tuple[ir.Operand, int]] = []
        self.spans: dict[ir.Operand, ir.Span] = {}
        self.met: set[ir.Operand | ir.Store] = set()
        self.diagonals: list[ir.Store] = []
        self.diagonal: dict[ir.Operand, ir.Store] = {}
        self.totals: list[ir.Var] = []
        self.products: list[ir.Call] = []
        self._in_parts = spectral.in_parts
        self._conditions: list[Number] = []
        self._filled: dict[ir.Operand, Entries] = {}
        self._stores = self.aliases.stores()
        self._function = function
        self._known_before = self.defined_before(call)
        self._order = {op: k for k, op in enumerate(function.body.inside)}
        if all(out in self.uses.held or not self.uses.users.get(out) for out in self.arrays if out is not self.values):
            # it is of the values alone
            raise Unproven
        region = self.uses.home[call]
        self._region(region.ops[region.ops.index(call) + 1 :])
        self._leave(region.yields)

    # ---------------------------------------------------------------------------------------------------- questions

    def defined_before(self, op: ir.Op) -> set[ir.Operand]:
        """What can be named where an operation stands."""
        known: set[ir.Operand] = set(self._function.body.args)
        for one in (*self.uses.around[op], op):
            home = self.uses.home[one]
            known.update(home.args)
            known.update(out for before in home.ops[: home.ops.index(one)] for out in before.results)
        return known

    def order(self, op: ir.Op) -> int:
        """Where an operation stands in the function."""
        return self._order[op]

    def number(self, operand: ir.Operand) -> Number:
        if operand in self.numbers:
            return self.numbers[operand]
        return Number(other=frozenset((operand,))) if operand in self.uses.counters else PLAIN

    def entries(self, array: ir.Operand) -> Entries:
        return self.arrays.get(array) or Entries((None,) * array_type_of(array).ndim)

    def counters_around(self, op: ir.Op) -> frozenset[ir.Operand]:
        """The counters of the loops that an operation stands in."""
        return frozenset(loop.body.args[0] for loop in self.uses.around[op] if isinstance(loop, ir.For))

    def others(self, array: ir.Operand, op: ir.Op) -> frozenset[ir.Operand]:
        """The counters that what an operation reads of an array depends on, beside its indices."""
        if array in self.arrays:
            return self.arrays[array].other
        found: frozenset[ir.Operand] = frozenset()
        sources: list[ir.Op] = list(self._stores.get(self.aliases.find(array), ()))
        while isinstance(made := self.made.get(array), ir.VIEWS):
            found = found.union(*(self.number(o).other for o in made.operands[1:]))
            array = made.operands[0]
        if made is not None:
            sources.append(made)
        elif isinstance(array, ir.Var) and array not in self._function.body.args:
            return self.counters_around(op)
        return found.union(*(self.counters_around(op) & self.counters_around(source) for source in sources))

    def counter(self, index: ir.Operand) -> ir.Operand:
        """The counter that an index is, also of an axis that may be stretched."""
        op = self.made.get(index)
        if isinstance(op, ir.Call) and op.callee is ir.select and ir.is_literal(op.args[2], 0):
            return self.counter(op.args[1])
        return index

    def stores_into(self, array: ir.Operand) -> Sequence[ir.Store]:
        return self._stores.get(self.aliases.find(array), ())

    def stored(self, array: ir.Operand) -> ir.Store:
        """The one store that fills an array."""
        stores = self.stores_into(array)
        if not stores:
            raise Unproven
        if len(stores) > 1:
            raise InPlace(stores[-1])
        return stores[0]

    def is_whole(self, counter: ir.Operand, of: ir.Span) -> bool:
        """Whether a loop's trips are those of all the pairs in a slice."""
        loop = self.uses.counters.get(counter)
        if loop is None or (loop.start, loop.step, loop.stops) != (ir.integer(0), ir.integer(1), False):
            return False
        return self._counts(loop.stop, of) and self.spans.setdefault(counter, of) == of

    def _counts(self, length: ir.Operand, of: ir.Span) -> bool:
        op = self.made.get(length)
        if isinstance(op, ir.Call) and op.callee is broadcast_extent:
            # the other one is as long, or of length 1; where this one is, no two values are equal
            return any(self._counts(a, of) for a in op.args)
        return isinstance(op, ir.Extent) and self._is_axis(op.array, op.axis, of)

    def _is_axis(self, array: ir.Operand, axis: int, of: ir.Span) -> bool:
        """Whether an array has an element along an axis for each of the pairs."""
        index = self.entries(array).axes[axis]
        if index is not None:
            return _length(index.of) == _length(of)
        if array in self.call.args:
            return _length(of) == ALL and self.is_square
        made = self.made.get(array)
        if not isinstance(made, ir.Alloc):
            return False
        return self._counts(made.shape[axis], of) if made.like is None else self._is_axis(made.like, axis, of)

    # ---------------------------------------------------------------------------------------------------- operations

    def _region(self, ops: Sequence[ir.Op]) -> None:
        for op in ops:
            self._op(op)

    def _op(self, op: ir.Op) -> None:
        match op:
            case ir.Call():
                if not any(map(ir.is_array, (*op.args, *op.outs))):
                    self._number_call(op)
                elif is_product(op):
                    self._product(op)
                else:
                    self._leave(op.args)
                    self._unknown(op)
            case ir.Load():
                self.numbers[op.out] = self._loaded(op)
            case ir.Store():
                self._store(op)
            case ir.Transpose():
                if op.base in self.arrays:
                    given = self.entries(op.base)
                    self.arrays[op.out] = given._replace(axes=tuple(given.axes[k] for k in op.axes))
            case ir.Slice():
                if op.base in self.arrays:
                    self._slice(op)
            case ir.Reshape():
                if op.base in self.arrays:
                    self._reshape(op)
            case ir.Copy():
                if op.source in self.arrays:
                    self.arrays[op.out] = self.entries(op.source)
            case ir.For():
                self._loop(op)
            case ir.If():
                self._branch(op)
            case ir.Extent():
                self.numbers[op.out] = Number(other=self.others(op.array, op))
            case ir.Alloc() | ir.Comment() | ir.Raise():
                pass
            case _:
                self._leave(op.reads)
                self._unknown(op)

    def _unknown(self, op: ir.Op) -> None:
        """Its results may depend on all that is at hand."""
        other = self.counters_around(op)
        self.numbers.update({out: Number(other=other) for out in op.results if not ir.is_array(out)})

    def _leave(self, operands: Sequence[ir.Operand]) -> None:
        """What goes where it is not followed."""
        for operand in operands:
            if ir.is_array(operand):
                if self.entries(operand).has_vectors:
                    raise Unproven
            elif self.number(operand).has_vectors:
                raise Unproven

    def _cut(self, place: ir.Operand, further: int = 0) -> None:
        if not isinstance(place, ir.Const) and place not in self._known_before:
            raise Unproven
        self.cuts.append((place, further))

    # ------------------------------------------------------------------------------------------------------- arrays

    def _product(self, op: ir.Call) -> None:
        left, right = (self.entries(a) for a in op.args)
        if not (left.has_vectors or right.has_vectors):
            self._unknown(op)
            return
        one, two = left.axes[-1], right.axes[0]
        if one is None or two is None:
            if one is not two:
                raise Unproven
        elif one.of == two.of and {one.degree, two.degree} == {0, 2}:
            self.products.append(op)
        elif one.of != two.of or (one.degree, two.degree) != (1, 1):
            raise Unproven
        elif not self.diagonal.keys().isdisjoint(op.args):
            self.products.append(op)
        at = {k: left.at.get(k, 0) + right.at.get(k, 0) for k in (*left.at, *right.at)}
        other = self.others(op.args[0], op) | self.others(op.args[1], op)
        found = Entries((*left.axes[:-1], *right.axes[1:]), at, other)
        if not other.isdisjoint(at):
            raise Unproven
        if any(axis is not None and axis.degree != 1 for axis in found.axes) or any(d > 2 for d in at.values()):
            raise Unproven
        if op in self.products and not found.is_plain and self.diagonal.keys().isdisjoint(op.args):
            raise Unproven
        (out,) = op.outs
        if ir.is_array(out):
            if not found.is_plain:
                self.arrays[out] = found
        else:
            self.numbers[out] = Number(at, other)

    def _slice(self, op: ir.Slice) -> None:
        given, place = self.entries(op.base), 0
        axes: list[Index | None] = []
        at = dict(given.at)
        for selector in op.selectors:
            if isinstance(selector, ir.NewAxis):
                axes.append(None)
                continue
            index = given.axes[place]
            place += 1
            if index is None:
                axes += [] if isinstance(selector, ir.At) else [None]
            elif isinstance(selector, ir.At):
                if self.is_whole(selector.index, index.of):
                    at[selector.index] = at.get(selector.index, 0) + index.degree
                elif index.degree > 0:
                    self._pick(selector.index, index)
            elif selector == ALL:
                axes.append(index)
            else:
                axes.append(self._part(selector, index))
        other = given.other.union(*(self.number(o).other - at.keys() for o in op.operands[1:]))
        found = given._replace(axes=tuple(axes), at=at, other=other)
        if not other.isdisjoint(at) and found.has_vectors:
            raise Unproven
        if not found.is_plain:
            self.arrays[op.out] = found

    def _pick(self, place: ir.Operand, index: Index) -> None:
        """One vector: told apart from those before it and behind it."""
        if index.of != ALL:
            raise Unproven
        self._cut(place)
        self._cut(place, 1)

    def _part(self, selector: ir.Span, index: Index) -> Index | None:
        """The pairs of a slice."""
        if index.of != ALL or not (selector == BACKWARDS or selector.step in (None, ir.integer(1))):
            if index.degree > 0:
                raise Unproven
            return None
        if index.degree > 0:
            for end in (selector.start, selector.stop):
                if end is not None:
                    self._cut(end)
        return index._replace(of=selector)

    def _reshape(self, op: ir.Reshape) -> None:
        """Axes of one element may come and go."""
        given, axes = self.entries(op.base), list[Index | None]()
        left = list(given.axes)
        for extent in op.shape:
            if ir.is_literal(extent, 1):
                axes.append(None)
            elif left and (left[0] is None or self._counts(extent, left[0].of)):
                axes.append(left.pop(0))
            else:
                self._leave((op.base,))
                return
        if left or sum(axis is None for axis in given.axes) > 1:
            self._leave((op.base,))
            return
        self.arrays[op.out] = given._replace(axes=tuple(axes))

    def _loaded(self, op: ir.Load) -> Number:
        if isinstance(self.made.get(op.array), ir.Alloc) and not self.aliases.is_written(op.array):
            # all elements are what it was filled with
            return PLAIN
        given = self.entries(op.array)
        degrees: dict[ir.Operand, int] = dict(given.at)
        other = self.others(op.array, op)
        for axis, place in zip(given.axes, op.index, strict=True):
            counter = self.counter(place)
            if axis is not None and self.is_whole(counter, axis.of):
                degrees[counter] = degrees.get(counter, 0) + axis.degree
            elif axis is not None and axis.degree > 0:
                self._pick(place, axis)
            else:
                other |= self.number(place).other
        return self._whole(Number(degrees, other))

    def _whole(self, found: Number) -> Number:
        """The number, if it is the same function for all pairs; one without indices if that does not matter."""
        if found.other.isdisjoint(found.degrees):
            if any(d > 2 for d in found.degrees.values()):
                raise Unproven
            return found
        if found.has_vectors:
            raise Unproven
        return Number(other=found.other | frozenset(found.degrees))

    # ------------------------------------------------------------------------------------------------------- numbers

    def _number_call(self, op: ir.Call) -> None:
        given = [self.number(a) for a in op.args]
        if all(g is PLAIN for g in given) or not op.outs:
            return
        callee = ir.canonical(op.callee)
        if any(g.terms is not None for g in given):
            found = self._of_sums(op, callee, given)
        else:
            found = self._of_numbers(op, callee, given)
        if len(op.outs) != 1 and found.has_vectors:
            raise Unproven
        self.numbers.update(dict.fromkeys(op.outs, found))
        if not self.met.isdisjoint(op.args) or self.meets(op):
            self.met.update(op.outs)

    def meets(self, op: ir.Call) -> bool:
        """Whether an operation on numbers is a product of vectors with a function of the values, of one index."""
        given = [self.number(a) for a in op.args]
        functions = {k for g in given for k, degree in g.degrees.items() if degree == 0}
        return any(g.degrees.get(k, 0) > 0 for g in given for k in functions)

    def _of_sums(self, op: ir.Call, callee: object, given: Sequence[Number]) -> Number:
        """Of a sum that a loop carries and a term of it."""
        is_sum = callee is operator.add or (callee is operator.sub and given[1].terms is None)
        if not is_sum or len(given) != 2:
            if any(g.has_vectors for g in given):
                raise Unproven
            return Number(other=self.counters_around(op))
        terms = [t for g in given for t in ((g,) if g.terms is None else g.terms)]
        return Number(terms=tuple(self._under_conditions(t) for t in terms))

    def _under_conditions(self, number: Number) -> Number:
        for condition in self._conditions:
            degrees = dict.fromkeys(condition.degrees, 0) | dict(number.degrees)
            number = self._whole(number._replace(degrees=degrees, other=number.other | condition.other))
        return number

    def _of_numbers(self, op: ir.Call, callee: object, given: Sequence[Number]) -> Number:
        degrees = dict(self._joined(given).degrees)
        if any(g.has_vectors for g in given):
            first, second = given[0], given[-1]
            if callee in _SAME_DEGREE:
                pass
            elif callee in (operator.add, operator.sub):
                if not self._are_alike(first, second):
                    raise Unproven
            elif callee is ir.select:
                if first.has_vectors or not self._are_alike(given[1], second):
                    raise Unproven
            elif callee is operator.mul:
                for counter in degrees:
                    degrees[counter] = first.degrees.get(counter, 0) + second.degrees.get(counter, 0)
            elif callee is operator.truediv and not second.has_vectors:
                pass
            elif is_square(op):
                degrees = {counter: 2 * degree for counter, degree in degrees.items()}
            else:
                raise Unproven
        return self._whole(self._joined(given)._replace(degrees=degrees))

    def _joined(self, given: Sequence[Number]) -> Number:
        """What depends on all of these, of the greatest degree."""
        degrees: dict[ir.Operand, int] = {}
        for g in given:
            for counter, degree in g.degrees.items():
                degrees[counter] = max(degrees.get(counter, 0), degree)
        other: frozenset[ir.Operand] = frozenset().union(*(g.other for g in given))
        return Number(degrees, other)

    def _are_alike(self, first: Number, second: Number) -> bool:
        def turning(number: Number) -> dict[ir.Operand, int]:
            return {k: d for k, d in number.degrees.items() if d > 0}

        return turning(first) == turning(second)

    # -------------------------------------------------------------------------------------------------------- stores

    def _store(self, op: ir.Store) -> None:
        base = ir.base_of(op.array, self.made)
        value = self.number(op.value)
        if value.terms is not None:
            if value.has_vectors:
                raise Unproven
            value = Number(other=self.counters_around(op))
        value = self._under_conditions(value)
        found = self._stored(op, base, value)
        if found is None:
            if value.has_vectors:
                raise Unproven
            self._forget(base)
            return
        if op.value in self.met:
            self.met.add(op)
        if self._filled.setdefault(base, found) != found:
            raise Unproven
        if not found.is_plain:
            if self._is_seen_before(base, op):
                raise InPlace(op)
            self.arrays[base] = found

    def _stored(self, op: ir.Store, base: ir.Operand, value: Number) -> Entries | None:
        """What an array is in which numbers are stored; None if that is not followed."""
        made, places = self.made.get(base), list(op.index)
        if value.is_plain and base not in self.arrays:
            return Entries((None,) * len(places))
        view = self.made.get(op.array)
        is_all = isinstance(view, ir.Slice) and {*view.selectors} == {ALL}
        if is_all or (base in self.arrays and self._is_changed(base, op)):
            raise InPlace(op)
        if base is not op.array or not isinstance(made, ir.Alloc):
            return None
        is_zero = made.fill is not None and ir.is_literal(made.fill, 0)
        if not (is_zero or (made.fill is None and not op.add)):
            return None
        at = {}
        for counter, degree in value.degrees.items():
            if counter not in places:
                if self.uses.counters[counter] in self.uses.around[made]:
                    at[counter] = degree
                elif not op.add or degree == 1:
                    return None
        inside = [place for place in places if place in value.degrees]
        if any(not self._is_axis(base, k, self.spans[p]) for k, p in enumerate(places) if p in inside):
            return None
        if len(set(inside)) < len(inside):
            if value.has_vectors or op.add or len(places) != 2 or op.value in self.met:
                return None
            # a function of the values along the diagonal: it turns on both sides
            if not self._in_parts:
                self.diagonals.append(op)
            elif all(isinstance(user, ir.Store | ir.Extent | ir.Call) for user in self.uses.users[base]):
                self.diagonal[base] = op
            else:
                return None
            return Entries((Index(self.spans[places[0]], 1),) * 2, {}, value.other.difference(places))
        axes = (Index(self.spans[p], value.degrees[p]) if p in inside else None for p in places)
        return Entries(tuple(axes), at, value.other.difference(places))

    def _is_changed(self, array: ir.Operand, store: ir.Store) -> bool:
        """Whether a store replaces elements that are there from elsewhere."""
        made = self.made[array]
        if not isinstance(made, ir.Alloc) or self._is_seen_before(array, store):
            return True
        before = self._stores[self.aliases.find(array)]
        homes = [self.uses.within(op, self.uses.home[made]) for op in (*before[: before.index(store)], store)]
        return not store.add and len({home and home[0] for home in homes}) > 1

    def _is_seen_before(self, array: ir.Operand, store: ir.Store) -> bool:
        """Whether an array is read, or looked at, before something is stored there."""
        root, place = self.aliases.find(array), self._order[store]
        return any(
            self.aliases.find(name) == root and self._order[op] < place
            for name, users in self.uses.users.items()
            if ir.is_array(name)
            for op in users
            if not isinstance(op, (ir.Store, ir.Extent, *ir.VIEWS))
        )

    def _forget(self, array: ir.Operand) -> None:
        for name in [a for a in self.arrays if self.aliases.find(a) == self.aliases.find(array)]:
            if self.arrays[name].has_vectors:
                raise Unproven
            del self.arrays[name]

    # ------------------------------------------------------------------------------------------------ control flow

    def _loop(self, op: ir.For) -> None:
        counter = op.body.args[0]
        for slot in op.slots:
            if ir.is_array(slot.arg):
                self._leave((slot.init,))
            else:
                init = self.number(slot.init)
                if init.has_vectors and init.terms is None:
                    raise Unproven
                terms = init.terms if init.terms is not None else (init,) if init.degrees or init.other else ()
                self.numbers[slot.arg] = Number(terms=terms)
        self._region(op.body.ops)
        for slot in op.slots:
            if ir.is_array(slot.arg):
                self._leave((slot.yielded,))
                continue
            found = self.number(slot.yielded)
            if found.terms is None:
                if found.has_vectors:
                    raise Unproven
                self.numbers[slot.out] = Number(other=self.counters_around(op))
                continue
            self.numbers[slot.out] = Number(terms=tuple(self._summed(t, counter) for t in found.terms))
            if slot.yielded in self.met:
                self.met.update((slot.arg, slot.out))
        self._settle(op)

    def _settle(self, op: ir.For) -> None:
        """What is left of sums behind a loop that no other one carries on: numbers."""
        for slot in op.slots:
            found = self.numbers.get(slot.out)
            init = self.numbers.get(slot.init)
            if found is None or found.terms is None or (init is not None and init.terms is not None):
                continue
            if slot.out in self.met:
                self.met.discard(slot.out)
                self.totals.append(slot.out)
            terms = found.terms
            other: frozenset[ir.Operand] = frozenset().union(*(t.other for t in terms))
            if all(t.is_plain for t in terms):
                self.numbers[slot.out] = Number(other=other)
            elif len({tuple(t.degrees.items()) for t in terms}) == 1 and ir.is_literal(slot.init, 0):
                self.numbers[slot.out] = self._whole(Number(terms[0].degrees, other))
            elif found.has_vectors:
                raise Unproven
            else:
                self.numbers[slot.out] = Number(other=self.counters_around(op))

    def _summed(self, term: Number, counter: ir.Operand) -> Number:
        """A term of a sum over a loop's trips."""
        if term.degrees.get(counter) == 1:
            raise Unproven
        degrees = {k: d for k, d in term.degrees.items() if k is not counter}
        return Number(degrees, term.other - {counter})

    def _branch(self, op: ir.If) -> None:
        condition = self.number(op.condition)
        if condition.has_vectors:
            raise Unproven
        self._conditions.append(condition)
        for side in op.regions:
            self._region(side.ops)
        self._conditions.pop()
        for out, *sides in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
            if ir.is_array(out):
                self._leave(sides)
                continue
            given = [self.number(side) for side in sides]
            if any(g.terms is not None for g in given):
                terms = [t for g in given for t in ((g,) if g.terms is None else g.terms)]
                self.numbers[out] = Number(terms=tuple(terms))
            else:
                if any(g.has_vectors for g in given) and not self._are_alike(*given):
                    raise Unproven
                self.numbers[out] = self._whole(self._joined((condition, *given)))
            if not self.met.isdisjoint(sides):
                self.met.add(out)
