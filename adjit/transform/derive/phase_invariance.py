"""Whether what a program makes of complex eigenvectors stays where each vector is multiplied by a phase.

In: `Spaces` of a factorisation that gives vectors in parts. Out: nothing, or Unproven. Each number of the program is
worked out for random vectors, once as they are and once with random phases, modulo a large prime: sums, products and
quotients are exact there, and what other functions give is drawn at random for each of their arguments.

    re = vr[i, k] * vr[j, k] + vi[i, k] * vi[j, k]      stays
    re = vr[i, k] * vr[j, k]                            does not: where it goes, it has to be completed

Sums over k are taken by their terms. What multiplies two vectors of one k is to stay as well if the two are different
vectors that have the phase in common: then it is `conj(v) H v` for some H, and not only equal to it by accident.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from adjit.runtime.library import broadcast_extent
from adjit.transform import ir
from adjit.transform.analysis.extents import is_product, ndim
from adjit.transform.derive.invariant_subspaces import ALL, Spaces, Unproven, axes_of_base, is_square

PRIME = (1 << 61) - 1
Places = Mapping[object, int]  # what counters are; and under SIDE, which factor of products one is in
SIDE = "side"


def check_phases(spaces: Spaces, region: ir.Region, start: int) -> None:
    """Goes through the operations of a region from there on."""
    check = _Phases(spaces, region)
    check.walk(region.ops[start:])
    if any(map(check.turns, region.yields)):
        raise Unproven


class _Phases:
    """turning: numbers, and the memory of arrays, that depend on the phases."""

    def __init__(self, spaces: Spaces, region: ir.Region):
        self.region = region
        self.spaces, self.made, self.uses, self.aliases = spaces, spaces.made, spaces.uses, spaces.aliases
        self.turning: set[ir.Operand] = set(map(spaces.aliases.find, spaces.vectors))
        self._drawn: dict[tuple[object, ...], int] = {}
        self._random = random.Random(0)
        self._origin: dict[int, int] = {}
        self._is_turned = False
        self._known: dict[tuple[object, ...], int] = {}
        self._loops = {arg: op for op in self.uses.home for region in op.regions for arg in region.args}

    def turns(self, operand: ir.Operand) -> bool:
        return (self.aliases.find(operand) if ir.is_array(operand) else operand) in self.turning

    # ---------------------------------------------------------------------------------------------------- operations

    def walk(self, ops: Sequence[ir.Op]) -> None:
        for op in ops:
            if isinstance(op, ir.For | ir.If):
                self.control(op)
            elif any(map(self.turns, op.reads)) and not isinstance(op, (ir.Extent, ir.Comment, *ir.VIEWS)):
                self.op(op)

    def op(self, op: ir.Op) -> None:
        if isinstance(op, ir.Store) and not any(map(self.turns, op.index)):
            if self.turns(op.value):
                made = self.made.get(ir.base_of(op.array, self.made))
                if made is None or self.uses.within(made, self.region) is None:
                    # it is read where nobody looks
                    raise Unproven
                self.turning.add(self.aliases.find(op.array))
        elif isinstance(op, ir.Load | ir.Copy) or (
            isinstance(op, ir.Call) and (is_product(op) or not any(map(ir.is_array, (*op.args, *op.outs))))
        ):
            self.mark(op.results)
        else:
            raise Unproven

    def control(self, op: ir.For | ir.If) -> None:
        if any(map(self.turns, op.operands[: 1 if isinstance(op, ir.If) else 3])):
            raise Unproven
        known = -1
        while known < len(self.turning):
            known = len(self.turning)
            for region in op.regions:
                self.walk(region.ops)
            if isinstance(op, ir.For):
                self.turning.update(s.arg for s in op.slots if self.turns(s.init) or self.turns(s.yielded))
        self.mark([out for out, *given in ir.joined(op) if out in op.results and any(map(self.turns, given))])

    def mark(self, results: Sequence[ir.Var]) -> None:
        for out in results:
            name = self.aliases.find(out) if ir.is_array(out) else out
            if name not in self.turning:
                self._known.clear()
                self.turning.add(name)
                if self.found(out, turned=False) == self.found(out, turned=True):
                    self.turning.remove(name)

    def found(self, out: ir.Var, turned: bool) -> int:
        self._is_turned = turned
        if not ir.is_array(out):
            return self.number(out, {})
        return self.element(out, [self.drawn("place", axis) for axis in range(ndim(out))], {}) % PRIME

    # ------------------------------------------------------------------------------------------------------- numbers

    def drawn(self, *key: object) -> int:
        if key not in self._drawn:
            self._drawn[key] = self._random.randrange(1, PRIME)
        return self._drawn[key]

    def phase(self, place: int) -> tuple[int, int]:
        """Cosine and sine, for the vector at a place."""
        half = self.drawn("phase", self._origin.get(place, place))
        over = pow(1 + half * half, -1, PRIME)
        return (1 - half * half) * over % PRIME, 2 * half * over % PRIME

    def beside(self, place: int, *key: object) -> int:
        """Another place, whose vector has the phase of this one."""
        found = self.drawn("beside", place, *key)
        self._origin[found] = self._origin.get(place, place)
        return found

    def number(self, value: ir.Operand, at: Places) -> int:
        key = (value, self._is_turned, frozenset(at.items()))
        if key not in self._known:
            self._known[key] = self.worked_out(value, at) % PRIME
        return self._known[key]

    def worked_out(self, value: ir.Operand, at: Places) -> int:
        if isinstance(value, ir.Const):
            if not np.isfinite(value.value):
                return self.drawn(repr(value.value))
            exact = Fraction(value.value if isinstance(value.value, int) else float(value.value))
            return exact.numerator * pow(exact.denominator, -1, PRIME)
        if value in at:
            return at[value]
        op = self.made.get(value)
        if isinstance(op, ir.Extent):
            return self.length(op.array, op.axis, at)
        if isinstance(op, ir.Load) and (self.turns(op.array) or self.is_filled_once(op.array)):
            return self.element(op.array, self.places(op.array, op.index, at), at)
        if isinstance(op, ir.Call) and (self.turns(value) or op.callee in (ir.select, operator.ne, broadcast_extent)):
            return self.call(op, op.outs.index(value), at)
        if op is None and value in self.uses.counters:
            return self.drawn(value)
        if not self.turns(value) or op is None:
            trip = self.trip(op or self._loops.get(value), at)
            return self.drawn(value, self._is_turned and self.turns(value), *trip)
        if isinstance(op, ir.If):
            sides = [self.number(side.yields[op.outs.index(value)], at) for side in op.regions]
            return self.either(self.number(op.condition, at), *sides)
        if isinstance(op, ir.For):
            slot = op.slots[op.outs.index(value)]
            if self.spaces.number(slot.yielded).terms is None:
                raise Unproven
            trips = [self.number(o, at) for o in (op.start, op.stop, op.step)]
            counter = self.drawn("bound", *trips, at.get(SIDE))
            inner = {**at, op.body.args[0]: counter, slot.arg: 0, SIDE: self.drawn("sum", at.get(SIDE))}
            return self.number(slot.init, at) + self.number(slot.yielded, inner)
        raise Unproven

    def trip(self, op: ir.Op | None, at: Places) -> Sequence[int | None]:
        """In which trips of loops an operation is."""
        around = () if op is None else (*self.uses.around[op], op)
        return [at.get(loop.body.args[0]) for loop in around if isinstance(loop, ir.For)]

    def either(self, condition: int, yes: int, no: int) -> int:
        share = self.drawn("if", condition)
        return share * yes + (1 - share) * no

    def call(self, op: ir.Call, place: int, at: Places) -> int:
        if is_product(op):
            return self.contracted(op, (), at)
        callee, args = ir.canonical(op.callee), op.args
        if is_square(op):
            callee, args = operator.mul, (args[0], args[0])
        if callee is operator.mul and all(map(self.turns, args)):
            return self.product(args[0], args[1], at)
        given = [self.number(a, at) for a in args]
        if callee in (operator.pos, ir.cast):
            return given[0]
        if callee is operator.neg:
            return -given[0]
        if callee is operator.add:
            return given[0] + given[1]
        if callee is operator.sub:
            return given[0] - given[1]
        if callee is operator.mul:
            return given[0] * given[1]
        if callee is operator.truediv and given[1] and not self.turns(args[1]):
            return given[0] * pow(given[1], -1, PRIME)
        if callee is ir.select:
            return self.either(*given)
        if callee is broadcast_extent and given[0] == given[1]:
            return given[0]
        return self.drawn(callee, str(op.options), place, *given)

    def product(self, left: ir.Operand, right: ir.Operand, at: Places) -> int:
        """Of two numbers that turn: vectors of one index are different ones."""
        shared = [k for k, degree in self.spaces.number(left).degrees.items() if degree == 1]
        shared = [k for k in shared if self.spaces.number(right).degrees.get(k) == 1]
        beside: Places = {k: self.beside(self.number(k, at)) for k in shared}
        first = {**at, SIDE: self.drawn("left", at.get(SIDE))}
        second = {**at, **beside, SIDE: self.drawn("right", at.get(SIDE))}
        return self.number(left, first) * self.number(right, second)

    # -------------------------------------------------------------------------------------------------------- arrays

    def places(self, array: ir.Operand, index: Sequence[ir.Operand], at: Places) -> list[int]:
        axes = self.spaces.entries(array).axes
        return [
            self.number(place if axis is None else self.spaces.counter(place), at)
            for axis, place in zip(axes, index, strict=True)
        ]

    def is_filled_once(self, array: ir.Operand) -> bool:
        """Whether an element is stored once at most, so that it is one number at all times."""
        base = ir.base_of(array, self.made)
        stores = self.spaces.stores_into(array)
        made = self.made.get(base)
        if not stores:
            return base not in self._loops and not isinstance(made, ir.If | ir.For | ir.While)
        nest = self.uses.within(stores[0], self.uses.home[made]) if isinstance(made, ir.Alloc) else None
        if nest is None or len(stores) > 1 or stores[0].add or stores[0].array is not base:
            return False
        loops = [op.body.args[0] for op in nest if isinstance(op, ir.For)]
        return all(isinstance(op, ir.For) for op in nest[:-1]) and set(loops) == {*stores[0].index}

    def length(self, array: ir.Operand, axis: int, at: Places) -> int:
        """The extent of an array, the same for those that are known to be as long."""
        op = self.made.get(array)
        if op is self.spaces.call or array in self.spaces.call.args:
            return self.drawn("length")
        if isinstance(op, ir.Call) and is_product(op):
            left = ndim(op.args[0]) - 1
            return self.length(op.args[0], axis, at) if axis < left else self.length(op.args[1], axis - left + 1, at)
        if isinstance(op, ir.Transpose):
            return self.length(op.base, op.axes[axis], at)
        if isinstance(op, ir.Reshape):
            return self.number(op.shape[axis], at)
        if isinstance(op, ir.Slice) and (of := axes_of_base(op)[axis]) >= 0:
            whole = self.length(op.base, of, at)
            ends = self.ends([s for s in op.selectors if not isinstance(s, ir.NewAxis)][of], at)
            return self.drawn("length", whole, *ends) if ends else whole
        if isinstance(op, ir.Alloc | ir.Copy):
            like = op.source if isinstance(op, ir.Copy) else op.like
            if like is not None:
                return self.length(like, axis, at)
            if isinstance(op, ir.Alloc):
                return self.number(op.shape[axis], at)
        return self.drawn("length", array, axis)

    def ends(self, span: ir.Selector, at: Places) -> list[int | None]:
        """What a slice is told apart by; nothing of one of all elements."""
        given = vars(span).values()
        return [] if span == ALL else [None if end is None else self.number(end, at) for end in given]

    def element(self, array: ir.Operand, index: Sequence[int], at: Places) -> int:
        op = self.made.get(array)
        if not self.turns(array):
            if not self.is_filled_once(array):
                raise Unproven
            return self.drawn(array, *self.trip(op, at), *index)
        if array in self.spaces.vectors:
            row, place = index
            parts = [self.drawn("vector", part, row, place) for part in range(2)]
            if self._is_turned:
                cos, sin = self.phase(place)
                parts = [cos * parts[0] - sin * parts[1], sin * parts[0] + cos * parts[1]]
            return parts[self.spaces.vectors.index(array)]
        if isinstance(op, ir.Transpose):
            return self.element(op.base, [index[op.axes.index(k)] for k in range(len(index))], at)
        if isinstance(op, ir.Slice):
            rest, found = iter(index), list[int]()
            for s in op.selectors:
                if isinstance(s, ir.At):
                    found.append(self.number(s.index, at))
                    continue
                place = next(rest)
                if isinstance(s, ir.Span):
                    ends = self.ends(s, at)
                    found.append(self.beside(place, *ends) if ends else place)
            return self.element(op.base, found, at)
        if isinstance(op, ir.Reshape) and array in self.spaces.arrays:
            found = [place for extent, place in zip(op.shape, index, strict=True) if not ir.is_literal(extent, 1)]
            return self.element(op.base, found, at)
        if isinstance(op, ir.Copy) and not self.aliases.is_written(array):
            return self.element(op.source, index, at)
        if isinstance(op, ir.Call):
            return self.contracted(op, index, at)
        if isinstance(op, ir.Alloc) and self.is_filled_once(array):
            store = self.spaces.stored(array)
            return self.number(store.value, {**at, **dict(zip(store.index, index, strict=True))})
        raise Unproven

    def contracted(self, op: ir.Call, index: Sequence[int], at: Places) -> int:
        (left, right), rank = op.args, ndim(op.args[0]) - 1
        if right in self.spaces.diagonal:
            return self.element(left, index, at) * self.drawn(right, index[-1])
        if left in self.spaces.diagonal:
            return self.element(right, index, at) * self.drawn(left, index[0])
        length = self.length(left, rank, at) if self.turns(left) else self.length(right, 0, at)
        place = self.drawn("bound", length, at.get(SIDE))
        first = {**at, SIDE: self.drawn("left", at.get(SIDE))}
        second = {**at, SIDE: self.drawn("right", at.get(SIDE))}
        one = self.element(left, [*index[:rank], place], first)
        return one * self.element(right, [self.beside(place), *index[rank:]], second)
