import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def damped_jvp(x, w, x_dot, w_dot):
    """Value and tangent of damped at primals.py:25 with respect to x, w."""
    # phase of the oscillator
    phase = w * x
    phase_dot = x * w_dot + w * x_dot
    exp = np.exp(-x)
    sin = np.sin(phase)
    return exp * sin, exp * (np.cos(phase) * phase_dot) - sin * (exp * x_dot)
