"""Sums of squares: numbers that are zero only where they are at their least, so that their derivative is zero there.

In: a function and what is active in it. Out: `Squares`.

    q = dx * dx + dy * dy           for d in offsets:
    r = np.sqrt(q)                      q += d * d

The derivative of such a root at zero is that of `np.linalg.norm` and `abs`, 0, and not infinite as of other roots.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.signs import Signs, is_square, makers_in

_SUMS = (operator.add, np.add)
_SCALED = (operator.mul, np.multiply, operator.truediv, np.divide)
_CHOICES = (max, min, np.maximum, np.minimum)
_ROOTS = (math.sqrt, np.sqrt)
_POWERS = (operator.pow, np.power, math.pow)


class Squares:
    """is_active: whether a number moves with what is differentiated."""

    def __init__(self, function: ir.Function, is_active: Callable[[ir.Operand], bool]):
        self._is_active = is_active
        self._find = function.analysis(Aliases).find
        self._signs = function.analysis(Signs)
        self._found: set[ir.Operand] = set()
        inside = function.body.inside
        if any(_root_of(op) is not None for op in inside):
            self._find_all(function)

    def is_length(self, op: ir.Call) -> bool:
        """Whether it is the root of a sum of squares that may be zero."""
        of = _root_of(op)
        return of in self._found and not self._signs.is_not_zero(of, op)

    def _find_all(self, function: ir.Function) -> None:
        """All that no operation says otherwise of: what goes round a loop counts as long as nothing else goes in."""
        made: dict[ir.Operand, list[tuple[ir.Op, Sequence[ir.Operand]]]] = {}
        for op in function.body.inside:
            for out, of in makers_in(op, self._find):
                made.setdefault(out, []).append((op, of))
        given = {self._find(a) for a in function.body.args}
        self._found = {out for out in made if out not in given}
        size = -1
        while size != (size := len(self._found)):
            for out in list(self._found):
                if not all(self._is_one(op, of) for op, of in made[out]):
                    self._found.discard(out)

    def _is_one(self, op: ir.Op, of: Sequence[ir.Operand]) -> bool:
        if isinstance(op, ir.Call):
            return self._makes_one(op)
        if op.regions or isinstance(op, ir.Store | ir.Load | ir.Copy | ir.Alloc):
            return all(self._is_such(o) for o in of)
        return False

    def _is_such(self, operand: ir.Operand) -> bool:
        if isinstance(operand, ir.Const):
            return not ir.is_array(operand) and ir.is_float(operand.type) and bool(operand.value >= 0)
        return operand in self._found

    def _makes_one(self, op: ir.Call) -> bool:
        if is_square(op) or (op.callee is np.dot and op.args[0] is op.args[1]):
            return True
        if op.callee in _SCALED:
            # by what does not move, and is not negative
            sides = ((0, 1),) if op.callee in _SCALED[2:] else ((0, 1), (1, 0))
            return any(self._is_such(op.args[k]) and self._is_factor(op.args[j], op) for k, j in sides)
        if op.callee in (*_SUMS, *_CHOICES):
            return all(map(self._is_such, op.args))
        if op.callee is ir.select:
            return all(map(self._is_such, op.args[1:]))
        return (op.callee is ir.cast or op.callee in _ROOTS) and self._is_such(op.args[0])

    def _is_factor(self, operand: ir.Operand, op: ir.Call) -> bool:
        return self._is_such(operand) or (
            not self._is_active(operand) and (not ir.is_float(operand.type) or self._signs.is_positive(operand, op))
        )


def _root_of(op: ir.Op) -> ir.Operand | None:
    """What a square root, or a power from 1/2 to 1, is taken of."""
    if isinstance(op, ir.Call) and not any(map(ir.is_array, op.args)):
        if op.callee in _ROOTS:
            return op.args[0]
        if op.callee in _POWERS and isinstance(op.args[1], ir.Const) and 0.5 <= op.args[1].value < 1:
            return op.args[0]
    return None
