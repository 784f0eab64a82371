"""Which numbers are known to be greater than zero where an operation runs.

In: a function. Out: `Signs`, by what a number is made of, and by the tests that the program makes before.

    if x <= 0.0:
        return 0.0
    return np.sqrt(x)           x is positive here
    np.log(1.0 + y * y)         and so is this, whatever y is
    for d in offsets:
        q += d * d              q is at least zero, and so is what an array has of which all elements are such

What is nan counts as whatever a test that is not passed says: `not (x <= 0)` holds of it.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property

import numpy as np

from adjit.runtime.library import reassociable_add
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases

# how far back a number is followed, so that long sums cost little
_DEPTH = 8

_NOT_NEGATIVE = (
    builtins.abs, np.absolute, np.fabs, math.fabs, np.square, math.exp, np.exp, math.exp2, np.exp2, math.sqrt, np.sqrt,
    math.hypot, np.hypot,
)  # fmt: skip
_AT_LEAST_ONE = (math.cosh, np.cosh)
_SUMS = (operator.add, np.add, reassociable_add)
_PRODUCTS = (operator.mul, np.multiply)
_QUOTIENTS = (operator.truediv, np.divide)
_POWERS = (operator.pow, np.power, math.pow)
_GREATER = (max, np.maximum, np.fmax)
_LESS = (min, np.minimum, np.fmin)
_NOTS = (operator.not_, operator.invert, np.logical_not)
_ANDS = (operator.and_, np.logical_and)
_ORS = (operator.or_, np.logical_or)
# a test as one of its first operand; what says the opposite; what says the same of the second one
_TESTS = {
    operator.gt: ">", operator.ge: ">=", operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=",
    np.greater: ">", np.greater_equal: ">=", np.less: "<", np.less_equal: "<=", np.equal: "==", np.not_equal: "!=",
}  # fmt: skip
_OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}

# what is known of a number wherever it is, or of all elements of an array
UNKNOWN, AT_LEAST_ZERO, POSITIVE = range(3)

_FOLLOWED = (ir.Load, ir.Copy, ir.Store, ir.Alloc, ir.If, ir.For, ir.While)

# a number, and that it is positive, or just not zero
_Fact = tuple[Hashable, str]
_Facts = frozenset[_Fact]
_Holds = Callable[[ir.Operand, _Facts, int], bool]


class Signs:
    # constants up to here count as zero
    least = 0.0

    def __init__(self, function: ir.Function):
        self._function = function
        self._made = function.body.made
        self._aliases = function.analysis(Aliases)
        self._facts: dict[ir.Op, _Facts] = {}
        self._walk(function.body, frozenset())

    def is_positive(self, operand: ir.Operand, at: ir.Op) -> bool:
        """Whether a number is greater than zero wherever the operation `at` runs."""
        return self._is_positive(operand, self._facts.get(at, frozenset()), _DEPTH)

    def is_not_zero(self, operand: ir.Operand, at: ir.Op) -> bool:
        facts = self._facts.get(at, frozenset())
        return (self._key(operand), "!=") in facts or self._is_positive(operand, facts, _DEPTH)

    def _walk(self, region: ir.Region, facts: _Facts) -> None:
        for op in region.ops:
            if facts and isinstance(op, ir.Call):
                self._facts[op] = facts
            if isinstance(op, ir.If):
                told = [facts.union(self._told(op.condition, holds, facts, _DEPTH)) for holds in (True, False)]
                for side, known in zip(op.regions, told, strict=True):
                    self._walk(side, known)
                # after a side that raises the other one was taken
                for side, known in zip(op.regions, reversed(told), strict=True):
                    if any(isinstance(inner, ir.Raise) and inner.condition is None for inner in side.ops):
                        facts = facts | known
            else:
                for inner in op.regions:
                    self._walk(inner, facts)
            if isinstance(op, ir.Raise) and op.condition is not None:
                facts = facts.union(self._told(op.condition, True, facts, _DEPTH))

    # ---------------------------------------------------------------------------------------------------------- tests

    def _told(self, condition: ir.Operand, holds: bool, facts: _Facts, depth: int) -> Iterator[_Fact]:
        """What a condition that holds, or does not, tells."""
        op = self._made.get(condition)
        if depth == 0 or op is None:
            return
        if isinstance(op, ir.Call) and isinstance(op.callee, Hashable):
            if op.callee in _TESTS:
                test = _TESTS[op.callee] if holds else _OPPOSITE[_TESTS[op.callee]]
                left, right = op.args
                yield from self._compared(left, test, right, facts, depth)
                yield from self._compared(right, _FLIPPED[test], left, facts, depth)
            elif op.callee in _NOTS:
                yield from self._told(op.args[0], not holds, facts, depth - 1)
            elif op.callee in (_ANDS if holds else _ORS):
                for each in op.args:
                    yield from self._told(each, holds, facts, depth - 1)
        elif isinstance(op, ir.If) and len(op.outs) == 1:
            # `a and b` is `b if a else False`
            for side, other, is_first in ((op.then, op.orelse, True), (op.orelse, op.then, False)):
                if ir.is_literal(other.yields[0], not holds):
                    yield from self._told(op.condition, is_first, facts, depth - 1)
                    yield from self._told(side.yields[0], holds, facts, depth - 1)

    def _compared(self, one: ir.Operand, test: str, other: ir.Operand, facts: _Facts, depth: int) -> Iterator[_Fact]:
        if test == "!=" and ir.is_literal(other, 0):
            yield self._key(one), "!="
        elif (test == ">" and self._is_at_least_zero(other, facts, depth)) or (
            test in (">=", "==") and self._is_positive(other, facts, depth)
        ):
            yield self._key(one), ">"

    def _key(self, operand: ir.Operand) -> Hashable:
        """The same for numbers that are one: elements of an array that nothing stores to are."""
        op = self._made.get(operand)
        if isinstance(op, ir.Load) and not self._aliases.is_written(op.array):
            return (op.array, *op.index)
        return operand

    # ---------------------------------------------------------------------------------------------- what it is made of

    def _is_positive(self, operand: ir.Operand, facts: _Facts, depth: int) -> bool:
        if isinstance(operand, ir.Const):
            return self._level(operand) == POSITIVE
        if (self._key(operand), ">") in facts:
            return True
        if (self._key(operand), "!=") in facts and self._is_at_least_zero(operand, facts, depth):
            return True
        op = self._made.get(operand)
        if depth == 0 or isinstance(op, ir.Load | ir.For | None):
            return self._level(operand) == POSITIVE
        return self._of_sides(op, operand, facts, depth, self._is_positive) or (
            isinstance(op, ir.Call) and self._makes_positive(op, facts, depth - 1)
        )

    def _makes_positive(self, op: ir.Call, facts: _Facts, depth: int) -> bool:
        def positive(k: int) -> bool:
            return self._is_positive(op.args[k], facts, depth)

        if op.callee in _SUMS:
            sides = ((0, 1), (1, 0))
            return any(positive(k) and self._is_at_least_zero(op.args[j], facts, depth) for k, j in sides)
        if op.callee in (*_PRODUCTS, *_QUOTIENTS, *_LESS):
            return positive(0) and positive(1)
        if op.callee in _GREATER:
            return positive(0) or positive(1)
        if op.callee in _POWERS or op.callee in (math.sqrt, np.sqrt, ir.cast):
            return positive(0)
        return op.callee in _AT_LEAST_ONE

    def _is_at_least_zero(self, operand: ir.Operand, facts: _Facts, depth: int) -> bool:
        if isinstance(operand, ir.Const):
            return self._level(operand) >= AT_LEAST_ZERO
        if (self._key(operand), ">") in facts:
            return True
        op = self._made.get(operand)
        if depth == 0 or isinstance(op, ir.Load | ir.For | None):
            return self._level(operand) >= AT_LEAST_ZERO
        return self._of_sides(op, operand, facts, depth, self._is_at_least_zero) or (
            isinstance(op, ir.Call) and self._makes_none_below_zero(op, facts, depth - 1)
        )

    def _makes_none_below_zero(self, op: ir.Call, facts: _Facts, depth: int) -> bool:
        if op.callee in _NOT_NEGATIVE or op.callee in _AT_LEAST_ONE or is_square(op):
            return True
        found = (self._is_at_least_zero(a, facts, depth) for a in op.args)
        if op.callee in (*_SUMS, *_PRODUCTS, *_QUOTIENTS, *_LESS):
            return all(found)
        if op.callee in _GREATER:
            return any(found)
        return op.callee in (*_POWERS, ir.cast) and next(found)

    def _of_sides(self, op: ir.Op, operand: ir.Operand, facts: _Facts, depth: int, holds: _Holds) -> bool:
        """Whether it holds of both values that a choice is made of, each where it is chosen."""
        if isinstance(op, ir.Call) and op.callee is ir.select:
            condition, *sides = op.args
        elif isinstance(op, ir.If):
            place = next(k for k, out in enumerate(op.outs) if out is operand)
            condition, sides = op.condition, [side.yields[place] for side in op.regions]
        else:
            return False
        return all(
            holds(side, facts.union(self._told(condition, is_first, facts, depth - 1)), depth - 1)
            for side, is_first in zip(sides, (True, False), strict=True)
        )

    # ------------------------------------------------------------------------------------------ what holds everywhere

    def _level(self, operand: ir.Operand) -> int:
        if isinstance(operand, ir.Const):
            if ir.is_array(operand) or not operand.value >= 0:
                return UNKNOWN
            return POSITIVE if operand.value > self.least else AT_LEAST_ZERO
        return self._levels.get(operand, UNKNOWN)

    @cached_property
    def _levels(self) -> dict[ir.Operand, int]:
        """The most that no operation says otherwise of: so what goes round a loop is."""
        makers: dict[ir.Operand, list[tuple[ir.Op, Sequence[ir.Operand]]]] = {}
        users: dict[ir.Operand, list[ir.Operand]] = {}
        for op in self._function.body.inside:
            for out, of in makers_in(op, self._aliases.find):
                makers.setdefault(out, []).append((op, of))
                for operand in of:
                    users.setdefault(operand, []).append(out)
        levels = self._levels = dict.fromkeys(makers, POSITIVE)
        levels.update((self._aliases.find(arg), UNKNOWN) for arg in self._function.body.args)
        waiting = list(makers)
        while waiting:
            out = waiting.pop()
            level = min(self._level_of(op, of) for op, of in makers[out])
            if level < levels[out]:
                levels[out] = level
                waiting += users.get(out, ())
        return levels

    def _level_of(self, op: ir.Op, of: Sequence[ir.Operand]) -> int:
        """What is known of what an operation makes of these."""
        levels = list(map(self._level, of))
        if not isinstance(op, ir.Call):
            return min(levels, default=POSITIVE) if isinstance(op, _FOLLOWED) else UNKNOWN
        if op.callee in _AT_LEAST_ONE:
            return POSITIVE
        if op.callee in _GREATER or (op.callee in _SUMS and UNKNOWN not in levels):
            return max(levels)
        if op.callee in (*_PRODUCTS, *_QUOTIENTS, *_LESS):
            level = min(levels)
        elif op.callee in (*_POWERS, math.sqrt, np.sqrt, ir.cast):
            level = levels[0]
        else:
            level = min(levels[1:]) if op.callee is ir.select else UNKNOWN
        return max(level, AT_LEAST_ZERO) if op.callee in _NOT_NEGATIVE or is_square(op) else level


def makers_in(op: ir.Op, find: Callable[[ir.Operand], ir.Operand]) -> Iterator[tuple[ir.Operand, Sequence[ir.Operand]]]:
    """The numbers and memory that an operation makes or stores into, with what they are made of."""
    if isinstance(op, ir.Call):
        yield from ((find(out), op.args) for out in op.outs)
    elif isinstance(op, ir.Load | ir.Copy):
        yield find(op.out), (find(op.operands[0]),)
    elif isinstance(op, ir.Store):
        yield find(op.array), (op.value,)
    elif isinstance(op, ir.Alloc):
        yield find(op.out), () if op.fill is None else (op.fill,)
    elif isinstance(op, ir.If | ir.For | ir.While):
        yield from ((name, of) for name, *of in ir.joined(op) if not ir.is_reference(name))
    elif not isinstance(op, ir.VIEWS):
        made = (*op.results, *(() if op.memory_written is None else (op.memory_written,)))
        yield from ((find(out), ()) for out in made)


def is_square(op: ir.Call) -> bool:
    """Whether it is a number times itself, or an even power."""
    if op.callee in _PRODUCTS:
        return op.args[0] is op.args[1]
    if op.callee in _POWERS and isinstance(op.args[1], ir.Const):
        return bool(op.args[1].value > 0 and op.args[1].value % 2 == 0)
    return op.callee is np.square
