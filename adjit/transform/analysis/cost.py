"""What an operation costs to run again, against a memory slot written and read back.

In: an operation. Out: processor cycles, as far as they tell what is worth a slot; None where it is not run again.
They are of vectorised or pipelined code on a common processor: it is their order of magnitude that decides.

    a * b + c      2, run again          np.exp(x)      30, kept in a slot
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.library import (
    broadcast_extent,
    distinct,
    held,
    reassociable_add,
    reassociable_max,
    reassociable_min,
    reassociable_sub,
)
from adjit.transform import ir

LOAD = 1
# a value written to a tape and read back: in an array indexed by the loop counters, in a list; a value kept alive
SLOT, ENTRY, KEPT = 8, 20, 1
# what one launch writes for another goes to a GPU's memory and back: 16 bytes, in which time it computes a sine
LAUNCHED_SLOT = 40

_CALL = 30  # elementary functions, and whatever else is not listed
_CYCLES: dict[Any, int] = {
    **dict.fromkeys(
        (
            operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.lt, operator.le, operator.gt,
            operator.ge, operator.eq, operator.ne, operator.not_, operator.and_, operator.or_, operator.xor,
            operator.invert, operator.lshift, operator.rshift, ir.cast, ir.select, broadcast_extent, distinct, held,
            reassociable_add, reassociable_sub, reassociable_max, reassociable_min,
            abs, max, min, int, float, bool, len, math.fabs, math.floor, math.ceil, math.copysign, np.add, np.subtract,
            np.multiply, np.negative, np.absolute, np.fabs, np.square, np.maximum, np.minimum, np.floor, np.ceil,
            np.sign, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_and,
            np.logical_or, np.logical_not, np.isnan, np.clip,
        ),
        1,
    ),
    **dict.fromkeys(
        (operator.truediv, np.divide, np.reciprocal, math.sqrt, np.sqrt, operator.floordiv, operator.mod), 4
    ),
}  # fmt: skip


def is_cheap(op: ir.Op) -> bool:
    """Whether an operation alone is better run again than its result kept."""
    cycles = cost(op)
    return cycles is not None and cycles < SLOT


def cost(op: ir.Op) -> int | None:
    """The cycles of an operation with all that is inside it, None where it cannot or should not be run again."""
    if isinstance(op, ir.Call):
        return _call_cost(op)
    if isinstance(op, ir.Load):
        return LOAD
    if isinstance(op, ir.If):
        if any(ir.is_reference(out) for out in op.outs):
            return None
        sides = [_sum(side) for side in op.regions]
        return None if None in sides else 1 + max(side for side in sides if side is not None)
    return 0 if isinstance(op, (*ir.VIEWS, ir.Extent, ir.Undefined, ir.Pull)) else None


def _sum(region: ir.Region) -> int | None:
    total = 0
    for op in region.ops:
        cycles = cost(op)
        if cycles is None or isinstance(op, (*ir.VIEWS, ir.Pull)):
            return None
        total += cycles
    return total


def _call_cost(op: ir.Call) -> int | None:
    if op.effect or any(ir.is_reference(o) for o in (*op.args, *op.outs)):
        return None
    if op.callee is operator.pow:
        exponent = op.args[1]
        if isinstance(exponent, ir.Const) and isinstance(exponent.type, types.Integer) and abs(exponent.value) <= 4:
            return 3
        return 2 * _CALL
    try:
        return _CYCLES.get(op.callee, _CALL)
    except TypeError:
        return _CALL
