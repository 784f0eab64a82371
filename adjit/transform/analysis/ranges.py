"""Between which integers an index lies in all trips of the loops around it, in what is known before these.

In: a function. Out: `Ranges`, which gives for an integer, where it is used, ranges of which it is sure to be in one.

    for i in range(1, n):                      i - 1:  0 to n - 2
        for j in range(i): x[i - j]            i - j:  1 to n - 1
        y[left[i]], left[i] = min(i, m)        left[i]: the least to the greatest of left
        k = i - 1 if i > 4 else n - i          k:  4 to n - 2, or n - 4 to n - 1

What is found is never too narrow; it may be too wide. A range that turns out to be empty is of no trip.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Chain, Constraint, Iterations, loops_in

MOST_RANGES = 6  # of one integer
MOST_ENDS = 4  # of one range


class Range(NamedTuple):
    """From the greatest of `lows` to the least of `highs`, each divided by `scale` and rounded down."""

    lows: tuple[Affine, ...]
    highs: tuple[Affine, ...]
    scale: int = 1

    def shifted(self, other: Range) -> Range | None:
        """That of the sum of two integers."""
        if self.scale != 1 and other.scale != 1:
            return None
        scale = self.scale * other.scale
        one, two = scale // self.scale, scale // other.scale
        lows = [a.times(one).plus(b, two) for a in self.lows for b in other.lows]
        highs = [a.times(one).plus(b, two) for a in self.highs for b in other.highs]
        return Range(_tightest(lows, -1), _tightest(highs, 1), scale)

    @property
    def negative(self) -> Range | None:
        if self.scale != 1:
            return None
        return Range(tuple(a.times(-1) for a in self.highs), tuple(a.times(-1) for a in self.lows))


Found = tuple[Range, ...]  # none: of what never is used, as it is not there
_Elements = Callable[[ir.Load], Found | None]


class Ranges:
    """Those of one function. `elements`: the ranges of what is loaded, if they are known before the loops. `made`: what
    has a name before the loops is looked through, to what it was made of."""

    def __init__(self, iterations: Iterations, elements: _Elements, made: bool = False):
        self._iterations, self._elements, self._made = iterations, elements, made
        self._carried: set[ir.Operand] = set()  # whose ranges are looked for

    def of(self, operand: ir.Operand, chain: Chain) -> Found | None:
        """The ranges of an integer that is used in the innermost region of a chain; None if they are not known."""
        found = self._found(operand, chain)
        return None if found is None or len(set(found)) > MOST_RANGES else tuple(dict.fromkeys(found))

    def _found(self, operand: ir.Operand, chain: Chain) -> Found | None:
        value = self._iterations.value(operand)
        if self._made and value == Affine({operand: 1}):
            return self._structural(operand, chain) or (Range((value,), (value,)),)
        if value is not None:
            lows = [end.times(-1) for end in _ends(self._iterations, chain, value.times(-1))]
            highs = _ends(self._iterations, chain, value)
            if lows and highs:
                return (Range(_tightest(lows, -1), _tightest(highs, 1)),)
        return self._structural(operand, chain)

    def _structural(self, operand: ir.Operand, chain: Chain) -> Found | None:
        """By what makes the integer."""
        loop = self._iterations.counted(operand)
        if loop is not None:
            return self._of_counter(loop)
        carried = self._iterations.carried(operand)
        if carried is not None:
            return self._of_carried(*carried)
        match self._iterations.definitions.get(operand):
            case ir.Call() as call if call.outs and isinstance(call.outs[0].type, types.Integer):
                return self._of_call(call, chain)
            case ir.If() as branch:
                place = branch.outs.index(operand)
                sides = ((k, region.yields[place]) for k, region in enumerate(branch.regions))
                around = self._iterations.places[branch].chain
                return self.any_of((side, (*around, (branch, k))) for k, side in sides)
            case ir.Load() as load:
                return self._elements(load)
            case ir.Undefined():
                return ()
        return None

    def any_of(self, sides: Iterable[tuple[ir.Operand, Chain]]) -> Found | None:
        """The ranges of integers of which an index is one, each where it is used."""
        found: list[Range] = []
        for operand, chain in sides:
            ranges = self._found(operand, chain)
            if ranges is None:
                return None
            found += ranges
        return tuple(dict.fromkeys(found))

    def _of_counter(self, loop: ir.For) -> Found | None:
        """Of the counter of a loop whose ends are not sums of what is known."""
        if not isinstance(loop.step, ir.Const) or loop.step.value == 0:
            return None
        chain = self._iterations.places[loop].chain
        starts, stops = self._found(loop.start, chain), self._found(loop.stop, chain)
        if not starts or not stops or any(end.scale != 1 for end in (*starts, *stops)):
            return None
        if loop.step.value > 0:
            return tuple(
                Range(start.lows, tuple(end.plus(ONE, -1) for end in stop.highs)) for start in starts for stop in stops
            )
        return tuple(Range(tuple(end.plus(ONE) for end in b.lows), a.highs) for a in starts for b in stops)

    def _of_carried(self, loop: ir.For | ir.While, slot: int) -> Found | None:
        """Of what a loop carries, where each trip hands on what it got, or what has a range of its own."""
        init, arg, yielded, _ = loop.slots[slot]
        if arg in self._carried:
            # it is what it was
            return ()
        self._carried.add(arg)
        around = self._iterations.places[loop].chain
        found = self.any_of(((init, around), (yielded, (*around, (loop, len(loop.regions) - 1)))))
        self._carried.remove(arg)
        return found

    def _of_call(self, call: ir.Call, chain: Chain) -> Found | None:
        callee = ir.canonical(call.callee)
        if callee is ir.select:
            return self.any_of((arg, chain) for arg in call.args[1:])
        if callee not in _KNOWN or not all(isinstance(a.type, types.Integer) for a in call.args):
            return None
        if callee is operator.mod:
            return self._of_remainder(call.args[1], chain)
        given = [self._found(arg, chain) for arg in call.args]
        ranges = [found for found in given if found]
        if len(ranges) < len(given):
            # of what a loop hands on something is made: that has no end
            return None
        if callee is ir.cast:
            return ranges[0]
        if callee is operator.neg:
            return _all(one.negative for one in ranges[0])
        if len(ranges) != 2:
            return None
        left, right = ranges
        if callee is operator.add:
            return _all(a.shifted(b) for a in left for b in right)
        if callee is operator.sub:
            return _all(None if b.negative is None else a.shifted(b.negative) for a in left for b in right)
        factor = self._literal(call.args[1])
        if callee is operator.mul:
            factor, given_ranges = (factor, left) if factor is not None else (self._literal(call.args[0]), right)
            return None if factor is None else _all(_times(one, factor) for one in given_ranges)
        if callee is operator.floordiv:
            return None if factor is None or factor < 1 else tuple(a._replace(scale=a.scale * factor) for a in left)
        # of an extremum
        if any(one.scale != 1 for one in (*left, *right)):
            return None
        if callee is max:
            return tuple(Range(a.lows + b.lows, c.highs) for a in left for b in right for c in (a, b))
        return tuple(Range(c.lows, a.highs + b.highs) for a in left for b in right for c in (a, b))

    def _of_remainder(self, divisor: ir.Operand, chain: Chain) -> Found | None:
        """0 to n - 1 if n is above zero, n + 1 to 0 if it is below; and 0 of nothing, which comes of n = 0."""
        n = self._iterations.value(divisor)
        if n is None or not _is_outside(n):
            return None
        zero = Affine()
        if is_natural(self._iterations, chain, n.plus(ONE, -1)):
            return (Range((zero,), (n.plus(ONE, -1),)),)
        below = () if n.is_natural else (Range((n.plus(ONE),), (zero,)),)
        return Range((zero,), (n.plus(ONE, -1),)), *below, Range((zero,), (zero,))

    def _literal(self, operand: ir.Operand) -> int | None:
        value = self._iterations.value(operand)
        return value.constant if value is not None and value.is_constant else None


def is_natural(iterations: Iterations, chain: Chain, value: Affine) -> bool:
    """Whether a sum is surely not below zero in the innermost region of a chain.

    isl is not asked: it knows of more, but most programs that are asked of here have no other question for it, and to
    load it takes as long as a quarter of a first gradient.
    """
    lows = [end.times(-1) for end in _ends(iterations, chain, value.times(-1), is_scaled=True)]
    if any(low.is_natural for low in lows):
        return True
    facts = _facts(iterations, chain)
    return any(low.plus(fact, -1).is_natural for low in lows for fact in facts)


def _facts(iterations: Iterations, chain: Chain) -> list[Affine]:
    """What is not below zero there, without counters: conditions, and that the loops make a trip."""
    known = _known(iterations, chain)
    found = [fact for fact in known if _is_outside(fact)]
    for loop in loops_in(chain):
        lows = [fact for fact in known if fact.terms.get(loop) == 1]
        highs = [fact for fact in known if fact.terms.get(loop, 0) < 0]
        both = (high.plus(low, -high.terms[loop]) for low in lows for high in highs)
        found += [fact for fact in both if _is_outside(fact)]
    return found


def _known(iterations: Iterations, chain: Chain) -> list[Affine]:
    return [least for each in iterations.domain(chain) for least in _not_below_zero(each)]


def _is_outside(value: Affine) -> bool:
    """Whether it is the same in all trips of all loops."""
    return not any(isinstance(symbol, ir.For | ir.While) for symbol in value.terms)


def _ends(iterations: Iterations, chain: Chain, value: Affine, is_scaled: bool = False) -> list[Affine]:
    """What a value is at most, without the counters of loops; of `is_scaled` so many times that.

    A constraint says of a sum that it is not below zero. So much of one is added that a counter goes; what bounds the
    counter of an inner loop is of outer ones, so that inner ones go first.
    """
    if _is_outside(value):
        return [value]
    known, found = _known(iterations, chain), [value]
    for loop in reversed(loops_in(chain)):
        left = [each for each in found if loop not in each.terms]
        for each in found:
            factor = each.terms.get(loop, 0)
            bounds = [b for b in known if factor * b.terms.get(loop, 0) < 0]
            if is_scaled:
                left += [each.times(abs(b.terms[loop])).plus(b, abs(factor)) for b in bounds]
            else:
                left += [each.plus(b, abs(factor // b.terms[loop])) for b in bounds if not factor % b.terms[loop]]
        found = list(_tightest(left, 1))
    return [each for each in found if _is_outside(each)]


_KNOWN = (
    operator.add, operator.sub, operator.mul, operator.neg, operator.floordiv, operator.mod, min, max, ir.cast,
)  # fmt: skip


def _not_below_zero(constraint: Constraint) -> Sequence[Affine]:
    if constraint.relation == "!=":
        return ()
    least = constraint.least
    return (least, least.times(-1)) if constraint.relation == "=" else (least,)


def _tightest(ends: Sequence[Affine], sign: int) -> tuple[Affine, ...]:
    """The ends without those that another one is known to be inside of; `sign`: 1 of upper ones, -1 of lower ones."""
    found: dict[frozenset[tuple[object, int]], Affine] = {}
    for end in ends:
        terms = frozenset(end.terms.items())
        other = found.get(terms)
        if other is None or sign * (end.constant - other.constant) < 0:
            found[terms] = end
    return tuple(found.values())[:MOST_ENDS]


def _times(one: Range, factor: int) -> Range | None:
    if one.scale != 1:
        return None
    ends = tuple(a.times(factor) for a in one.lows), tuple(a.times(factor) for a in one.highs)
    return Range(*ends) if factor >= 0 else Range(*ends[::-1])


def _all(found: Iterable[Range | None]) -> Found | None:
    ranges = list(found)
    known = tuple(one for one in ranges if one is not None)
    return known if len(known) == len(ranges) else None
