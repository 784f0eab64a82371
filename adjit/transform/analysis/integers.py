"""Integers that are never negative, wherever they are computed.

In: a function. Out: `Naturals`, which knows of an operand, and of the counter of a loop, whether that is sure.

    n = x.size                              natural
    for chunk in range(8):                  natural: counts up from zero
        for i in range(n * chunk // 8, n):  natural: sums, products and quotients of such are
            x[i - 1]                        not known

An index of which that is known counts from the front; what other indices mean depends on their sign.
"""

from __future__ import annotations

import operator

from numba import types

from adjit.transform import ir

_OF_ALL = (operator.add, operator.mul, operator.floordiv, min)


class Naturals:
    def __init__(self, function: ir.Function):
        self._found: set[ir.Operand] = set()
        for op in ir.walk(function.body):
            self._note(op)

    def __contains__(self, operand: ir.Operand) -> bool:
        if isinstance(operand, ir.Const):
            return isinstance(operand.type, types.Integer) and operand.value >= 0
        return operand in self._found

    def counts(self, loop: ir.For) -> bool:
        """Whether the counter is a natural number in each trip."""
        if not isinstance(loop.step, ir.Const):
            return False
        if loop.step.value > 0:
            return loop.start in self
        return loop.stop == ir.integer(-1) or loop.stop in self

    def _note(self, op: ir.Op) -> None:
        if isinstance(op, ir.Extent):
            self._found.add(op.out)
        elif isinstance(op, ir.Call) and (op.callee is max or op.callee in _OF_ALL):
            # a maximum is one if any of its arguments is
            if (any if op.callee is max else all)(a in self for a in op.args):
                self._found.update(op.outs)
        elif isinstance(op, ir.For) and self.counts(op):
            self._found.add(op.body.args[0])
