"""What an operation costs to run again, against a memory slot written and read back.

In: a call. Out: whether it is run again where its result is needed in the reverse sweep.

    a * b + c      again          np.exp(x)      a slot
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.support import broadcast_extent

_CHEAP: frozenset[Any] = frozenset(
    {
        operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, operator.floordiv,
        operator.mod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.not_,
        operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift,
        ir.cast, ir.select, broadcast_extent, abs, max, min, int, float, bool, len,
        math.fabs, math.floor, math.ceil, math.sqrt, math.copysign,
        np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.fabs, np.sqrt, np.square,
        np.maximum, np.minimum, np.floor, np.ceil, np.reciprocal, np.sign, np.less, np.less_equal, np.greater,
        np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not, np.isnan, np.clip,
    }
)  # fmt: skip


def is_cheap(op: ir.Call) -> bool:
    """Whether a call on numbers is better run again than kept."""
    if op.effect or any(isinstance(a.type, types.Array) for a in (*op.args, *op.outs)):
        return False
    if op.callee is operator.pow:
        exponent = op.args[1]
        return isinstance(exponent, ir.Const) and isinstance(exponent.type, types.Integer) and abs(exponent.value) <= 4
    try:
        return op.callee in _CHEAP
    except TypeError:
        return False
