"""Arrays whose memory is kept: what generated code allocates for tapes and temporaries, and drops before it returns.

In: shapes and types, as for np.empty and its kin. Out: arrays, of which large ones take memory that earlier ones gave
back: fresh pages cost more than most arithmetic on them.

    u_tape = workspace.empty((steps, n))      the second call finds the pages of the first one

In plain Python these are NumPy's own; compiled, their memory comes from `pool.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types


def empty(shape: Any, dtype: Any = float) -> Any:
    """np.empty in the workspace."""
    return np.empty(shape, dtype)


def zeros(shape: Any, dtype: Any = float) -> Any:
    """np.zeros in the workspace."""
    return np.zeros(shape, dtype)


def empty_like(array: Any) -> Any:
    """np.empty_like of an array in C order, in the workspace."""
    return np.empty_like(array)


def zeros_like(array: Any) -> Any:
    """np.zeros_like of an array in C order, in the workspace."""
    return np.zeros_like(array)


def dot(left: Any, right: Any) -> Any:
    """np.dot of two matrices, in the workspace. It compiles in a fraction of the time that numba's own takes."""
    return np.dot(left, right)


def product_type(callee: Any, args: Sequence[types.Type]) -> types.Array | None:
    """The type of a call that `dot` may stand for: a product of two contiguous matrices of the same kind of float."""
    if (callee is not np.dot and callee is not operator.matmul) or len(args) != 2:
        return None
    left, right = args
    if not isinstance(left, types.Array) or not isinstance(right, types.Array) or left.dtype != right.dtype:
        return None
    if left.dtype not in (types.float32, types.float64):
        return None
    fits = all(t.ndim == 2 and t.layout in ("C", "F") and t.aligned for t in (left, right))
    return types.Array(left.dtype, 2, "C") if fits else None
