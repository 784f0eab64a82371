"""Eigenvalues of real matrices, which may be complex, as arrays of real numbers.

In plain Python these are NumPy's; compiled, they are in `backend/linear_algebra.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def spectrum_of_real(a: Any) -> tuple[Any, Any, Any, Any]:
    """Eigenvalues and eigenvectors of a real matrix, all in parts, in the order that NumPy has for real matrices."""
    values, vectors = np.linalg.eig(a)
    return values.real.copy(), values.imag.copy(), vectors.real.copy(), vectors.imag.copy()


# what numba makes of this text alone refuses what is complex
vars(spectrum_of_real)["is_of_backend"] = True
