"""Integers that loops count up or down by themselves, and what the tests of `while` loops say of them.

In: a function. Out: `Counting`, which has affine forms and constraints of these as well.

    i = 2                              i: 2 + 3 * the number of the trip
    while i < n:                       that is below n
        x[i]; i += 3
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Chain, Constraint, Iterations

_MOVING = {operator.add: 1, operator.sub: -1}


class Counting(Iterations):
    """Iterations that know of integers that only grow, or only get less, and what holds in a trip of a `while` loop."""

    def _derived(self, var: ir.Var) -> Affine | None:
        found = super()._derived(var)
        carried = self.carried(var) if found is None and isinstance(var.type, types.Integer) else None
        if carried is None or var in carried[0].outs:
            return found
        loop, place = carried
        slot = loop.slots[place]
        if not isinstance(slot.init.type, types.Integer):
            return None
        start, steps = self.value(slot.init), self._steps(slot.yielded, slot.arg)
        if start is None or steps is None:
            return None
        least, most = steps
        if least == most:
            return start.plus(Affine({loop: 1}), least)
        # one symbol in all regions of the loop
        return Affine({slot.arg: 1}) if least >= 0 or most <= 0 else None

    def _steps(self, operand: ir.Operand, arg: ir.Var) -> tuple[int, int] | None:
        """How much an integer is more than another one, at least and at most, if these are constants."""
        if operand == arg:
            return 0, 0
        match self.definitions.get(operand):
            case ir.If() as branch:
                place = branch.outs.index(operand)
                first, second = (self._steps(region.yields[place], arg) for region in branch.regions)
                if first is None or second is None:
                    return None
                return min(first[0], second[0]), max(first[1], second[1])
            case ir.Call(callee=ir.cast, args=(only,)) if isinstance(only.type, types.Integer):
                return self._steps(only, arg)
            case ir.Call(callee=callee, args=(left, ir.Const() as right)) if callee in _MOVING:
                found = self._steps(left, arg) if isinstance(right.type, types.Integer) else None
                by = _MOVING[callee] * int(right.value) if found is not None else 0
                return None if found is None else (found[0] + by, found[1] + by)
        return None

    def _constraints(self, chain: Chain) -> Iterator[Constraint]:
        yield from super()._constraints(chain)
        for op, number in chain:
            if isinstance(op, ir.While) and number == 1:
                yield from self._implied(op.test.yields[0], True)
            if isinstance(op, ir.While | ir.For):
                yield from self._growing(op)

    def _growing(self, loop: ir.For | ir.While) -> Iterator[Constraint]:
        """That what only grows is not below what it was before the loop, and the other way round."""
        for slot in loop.slots:
            if not isinstance(slot.arg.type, types.Integer) or not isinstance(slot.init.type, types.Integer):
                continue
            value, start, steps = self.value(slot.arg), self.value(slot.init), self._steps(slot.yielded, slot.arg)
            if start is not None and steps is not None and value == Affine({slot.arg: 1}):
                yield Constraint(value.plus(start, -1), ">=" if steps[0] >= 0 else "<=")
