"""What an array is as long as along an axis.

In: the operation that makes an array, and those that make integers. Out: an integer, or an axis of another array.

    w = np.zeros((n, 3))         axis 0 of w: n
    v = x.reshape(n // 2, m)     axis 0 of v: n // 2, if n is an extent; m may be -1
    p = np.dot(A, B)             axis 1 of p: axis 1 of B
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.integers import is_natural

Axis = tuple[ir.Operand, int]

# calls whose result has the shape of one of the arguments
_SHAPED_LIKE: Mapping[Any, int] = {np.linalg.inv: 0, np.linalg.cholesky: 0, np.linalg.solve: 1}


def extent_source(made: ir.Op | None, axis: int, definitions: Mapping[ir.Operand, ir.Op]) -> ir.Operand | Axis | None:
    """What is as long as an axis of the array that the operation makes; None where that is not known.

    `definitions`: what makes each integer, by result.
    """
    if isinstance(made, ir.Copy):
        return made.source, axis
    if isinstance(made, ir.Alloc):
        return made.shape[axis] if made.like is None else (made.like, axis)
    if isinstance(made, ir.Transpose):
        return made.base, made.axes[axis]
    if isinstance(made, ir.Slice):
        selector, base_axis = sliced(made, axis)
        if isinstance(selector, ir.NewAxis):
            return ir.integer(1)
        return (made.base, base_axis) if selector == ir.Span() else None
    if isinstance(made, ir.Reshape):
        # -1 stands for whatever is left
        extent = made.shape[axis]
        return extent if is_natural(extent, definitions) else None
    return _of_call(made, axis) if isinstance(made, ir.Call) and len(made.outs) == 1 else None


def sliced(view: ir.Slice, axis: int) -> tuple[ir.Selector, int]:
    """What makes an axis of a view, and the axis of the base that it looks at."""
    place, selector = [(k, s) for k, s in enumerate(view.selectors) if not isinstance(s, ir.At)][axis]
    return selector, place - sum(isinstance(s, ir.NewAxis) for s in view.selectors[:place])


def _of_call(call: ir.Call, axis: int) -> Axis | None:
    if is_product(call):
        left, right = call.args
        axes = [*((left, k) for k in range(ndim(left) - 1)), *((right, k) for k in range(1, ndim(right)))]
        return axes[axis]
    like = _SHAPED_LIKE.get(call.callee)
    return None if like is None else (call.args[like], axis)


def is_product(op: ir.Call) -> bool:
    """Whether this is a product of vectors and matrices."""
    if op.callee not in (operator.matmul, np.matmul, np.dot) or len(op.args) != 2:
        return False
    return all(isinstance(a.type, types.Array) and 1 <= a.type.ndim <= 2 for a in op.args)


def ndim(array: ir.Operand) -> int:
    """How many axes an array has."""
    assert isinstance(array.type, types.Array)
    return array.type.ndim
