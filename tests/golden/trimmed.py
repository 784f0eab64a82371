import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def trimmed_grad(x, lower, upper):
    """Gradient of trimmed at primals.py:213 with respect to x, lower, upper."""
    # ---- forward sweep
    # slices as values and as targets of stores
    y = x.copy()
    # y[1:] -= lower * x[:-1]
    for i in range(x.size - 1):
        y[i + 1] -= lower * x[i]
    y_view_item_tape = np.empty(max(x.size - 1, 0))
    # y[:-1] *= upper
    for i in range(x.size - 1):
        y_view_item = y[i]
        y_view_item_tape[i] = y_view_item
        y[i] = y_view_item * upper
    # ---- reverse sweep
    y_bar = np.zeros_like(y)
    x_bar = np.zeros_like(x)
    # L218: return np.dot(y, y)
    for i in range(x.size):
        y_bar[i] += y[i]
    for i in range(x.size):
        y_bar[i] += y[i]
    # L217: y[:-1] *= upper
    upper_bar = 0.0
    for i in range(x.size - 1):
        stored_bar = y_bar[i]
        upper_bar += y_view_item_tape[i] * stored_bar
        y_bar[i] = upper * stored_bar
    # L216: y[1:] -= lower * x[:-1]
    lower_bar = 0.0
    for i in range(x.size - 1):
        stored_bar = y_bar[i + 1]
        lower_bar -= x[i] * stored_bar
        x_bar[i] += lower * -stored_bar
    # L215: y = x.copy()
    for i in range(x.size):
        x_bar[i] += y_bar[i]
    return x_bar, lower_bar, upper_bar
