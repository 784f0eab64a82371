"""Arrays of complex numbers as the caller has them, from real and imaginary parts as the compiler does.

In: two arrays of real numbers. Out: one of complex numbers.

    return joined(z_bar_real, z_bar_imag, np.complex128)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit
def joined(real: Any, imag: Any, dtype: Any) -> Any:
    """The array of complex numbers with these parts."""
    z = np.empty(real.shape, dtype)
    z.real[...] = real
    z.imag[...] = imag
    return z
