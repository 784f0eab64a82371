"""Integers that are never negative, wherever they are computed, and integers that are another one and a literal.

In: operands, and the operations that make them. Out: whether that is sure, what is added to which, and sums of such.

    n = x.size                              natural
    for chunk in range(8):                  natural: counts up from zero
        for i in range(n * chunk // 8, n):  natural: sums, products and quotients of such are
            x[i - 1]                        not known;  i and -1

An index of which that is known counts from the front; what other indices mean depends on their sign.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.uses import Uses

_OF_ALL = (operator.add, operator.mul, operator.floordiv, min)
_NEUTRAL: Mapping[Any, ir.Const] = {
    **dict.fromkeys((operator.add, operator.sub), ir.integer(0)),
    **dict.fromkeys((operator.mul, operator.floordiv), ir.integer(1)),
}


def is_natural(operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether an integer is surely not below zero. `made`: by result; loops by their counters where those may count.

    Without them it holds also in front of a loop that makes no trip.
    """
    if isinstance(operand, ir.Const):
        return isinstance(operand.type, types.Integer) and bool(operand.value >= 0)
    op = made.get(operand)
    if isinstance(op, ir.Call) and (op.callee is max or op.callee in _OF_ALL):
        # a maximum is one if any of its arguments is
        return (any if op.callee is max else all)(is_natural(a, made) for a in op.args)
    if isinstance(op, ir.For):
        return operand is op.body.args[0] and _counts(op, made)
    return isinstance(op, ir.Extent)


def _counts(loop: ir.For, made: Mapping[ir.Operand, ir.Op]) -> bool:
    if not isinstance(loop.step, ir.Const):
        return False
    if loop.step.value > 0:
        return is_natural(loop.start, made)
    return loop.stop == ir.integer(-1) or is_natural(loop.stop, made)


class Naturals:
    """Those of one function."""

    def __init__(self, function: ir.Function):
        self._made = {**function.body.made, **function.analysis(Uses).counters}
        self._counts = function.counts

    def __contains__(self, operand: ir.Operand) -> bool:
        return operand in self._counts or is_natural(operand, self._made)

    def counts(self, loop: ir.For) -> bool:
        """Whether the counter is a natural number in each trip."""
        return _counts(loop, self._made)


def is_quotient(op: ir.Call) -> bool:
    """Whether it divides by a literal, so that it has a result for any integer."""
    if ir.canonical(op.callee) not in (operator.floordiv, operator.mod):
        return False
    return isinstance(op.args[1], ir.Const) and bool(op.args[1].value != 0)


def parted(operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> tuple[ir.Operand, int]:
    """An integer as another one and a literal that is added to it."""
    op = made.get(operand)
    if isinstance(op, ir.Call) and len(op.args) == 2:
        left, right = op.args
        callee = ir.canonical(op.callee)
        if callee is operator.add and isinstance(left, ir.Const):
            left, right = right, left
        if callee in (operator.add, operator.sub) and isinstance(right, ir.Const) and right.type == types.intp:
            return left, int(right.value if callee is operator.add else -right.value)
    return operand, 0


def emit_integer(
    builder: ir.Builder, callee: Callable[..., int], left: ir.Operand, right: ir.Operand, name: str
) -> ir.Operand:
    """What comes of two integers: a literal of literals; x of x + 0, 0 + x, x - 0, x * 1, 1 * x and x // 1."""
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return ir.integer(callee(left.value, right.value))
    neutral = _NEUTRAL.get(callee)
    if right == neutral:
        return left
    if left == neutral and callee in (operator.add, operator.mul):
        return right
    return builder.call(callee, left, right, type=types.intp, name=name)
