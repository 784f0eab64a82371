"""What generated code calls, as numba compiles it by its own means.

In: the functions of `library`. Out: nothing; numba knows them afterwards.

    workspace.empty((steps, n))      np.empty((steps, n))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

from adjit.runtime import vectormath
from adjit.runtime.library import checks, hints, integers, products, workspace

_AS_WRITTEN = (
    checks.broadcast_extent, checks.stored_extent, checks.equal_extent, checks.equal_size, checks.same_extent,
    checks.check_bounds, checks.check_index, checks.check_mask, checks.check_size, checks.some_elements,
    hints.multiply_add, hints.multiply_subtract,
    hints.reassociable_add, hints.reassociable_sub, hints.reassociable_max, hints.reassociable_min,
    workspace.empty_like, workspace.zeros_like, workspace.dot, products.add_product, products.subtract_product,
    products.fused_add_product, products.fused_subtract_product,
    integers.integer_power, integers.integer_fmod, integers.shift_count, integers.shift_left, integers.shift_right,
    *vectormath.OF_ROWS.values(),
)  # fmt: skip
for _function in _AS_WRITTEN:
    register_jitable(_function)


def _made_by(original: Any) -> Any:
    """How numba makes an array of a shape: `original` in float64, or in the type that is given."""

    def chosen(shape: Any, dtype: Any = None) -> Any:
        if dtype is None:
            return lambda shape, dtype=None: original(shape)
        return lambda shape, dtype=None: original(shape, dtype)

    return chosen


overload(workspace.empty, strict=False)(_made_by(np.empty))
overload(workspace.zeros, strict=False)(_made_by(np.zeros))
