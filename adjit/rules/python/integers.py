"""Products of arrays of integers, which BLAS has not.

In: vectors and matrices of integers. Out: their product.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def product_of_integers(left: Any, right: Any) -> Any:
    """The product of arrays of integers, which BLAS has not: vectors and matrices. ValueError if they do not fit.

    It has the bits that NumPy's has; sums are made in 64.
    """
    if left.shape[left.ndim - 1] != right.shape[0]:
        raise ValueError("operands of a product of matrices do not fit")
    if left.ndim == 1 and right.ndim == 1:
        return np.sum(left * right, dtype=(left[:0] * right[:0]).dtype)
    if right.ndim == 1:
        return np.sum(left * right, axis=1, dtype=(left[:0] * right[:0, np.newaxis]).dtype)
    if left.ndim == 1:
        return np.sum(left.reshape(-1, 1) * right, axis=0, dtype=(left[:0, np.newaxis] * right[:0]).dtype)
    out = np.zeros((left.shape[0], right.shape[1]), (left[:0, :0] * right[:0, :0]).dtype)
    for i in range(left.shape[0]):
        for k in range(right.shape[0]):
            for j in range(right.shape[1]):
                out[i, j] += left[i, k] * right[k, j]
    return out
