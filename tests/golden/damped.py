import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def damped_grad(x, w):
    """Gradient of damped at primals.py:25 with respect to x, w."""
    # ---- forward sweep
    # phase of the oscillator
    phase = w * x
    exp = np.exp(-x)
    # ---- reverse sweep
    # L28: return np.exp(-x) * np.sin(phase)
    phase_bar = np.cos(phase) * exp
    # L27: phase = w * x
    w_bar = x * phase_bar
    x_bar = w * phase_bar - exp * np.sin(phase)
    return x_bar, w_bar
