import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def huber_grad(residual, width):
    """Gradient of huber at primals.py:109 with respect to residual."""
    # ---- forward sweep
    size = abs(residual)
    # ---- reverse sweep
    if size <= width:
        # L112: return 0.5 * residual * residual
        residual_bar = 2.0 * (0.5 * residual)
        size_bar = 0.0
    else:
        residual_bar = 0.0
        size_bar = width
    # L110: size = abs(residual)
    residual_bar += np.sign(residual) * size_bar
    return residual_bar
