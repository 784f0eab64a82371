"""The names that one scalar operation goes by.

In: what is called. Out: the operator that it is another name of.

    canonical(np.add), canonical(operator.iadd)   ->   operator.add, operator.add
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjit.transform.ir.core import cast

_SAME: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.logical_not: operator.not_,
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    float: cast,
    int: cast,
}


def canonical(callee: Any) -> Any:
    """The operator that the callee is another name of on scalars, or itself."""
    return _SAME.get(callee, callee)
