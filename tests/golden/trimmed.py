import numpy as np

from adjit.transform.support import stored_extent


def trimmed_grad(x, lower, upper):
    """Gradient of trimmed at primals.py:213 with respect to x, lower, upper."""
    # ---- forward sweep
    # slices as values and as targets of stores
    y = x.copy()
    # y[1:] -= lower * x[:-1]
    y_view = y[1:]
    x_view = x[:-1]
    stored_extent(y_view.size, x_view.size)
    is_wide = x_view.size != 1
    for i in range(y_view.size):
        y_view[i] -= lower * x_view[i if is_wide else 0]
    # y[:-1] *= upper
    y_view_2 = y[:-1]
    y_view_item_tape = np.empty(y_view_2.size)
    for i in range(y_view_2.size):
        y_view_item = y_view_2[i]
        y_view_item_tape[i] = y_view_item
        y_view_2[i] = y_view_item * upper
    # ---- reverse sweep
    y_bar = np.zeros_like(y)
    y_view_bar = y_bar[:-1]
    y_view_bar_2 = y_bar[1:]
    x_bar = np.zeros_like(x)
    x_view_bar = x_bar[:-1]
    # L218: return np.dot(y, y)
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = y[i]
    for i in range(x.size):
        y_bar[i] += result[i]
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = y[i]
    for i in range(x.size):
        y_bar[i] += result[i]
    # L217: y[:-1] *= upper
    upper_bar = 0.0
    for i in range(y_view_2.size):
        stored_bar = y_view_bar[i]
        upper_bar += y_view_item_tape[i] * stored_bar
        y_view_bar[i] = upper * stored_bar
    # L216: y[1:] -= lower * x[:-1]
    lower_bar = 0.0
    for i in range(y_view.size):
        stored_bar = y_view_bar_2[i]
        i_own = i if is_wide else 0
        lower_bar -= x_view[i_own] * stored_bar
        x_view_bar[i_own] += lower * -stored_bar
    # L215: y = x.copy()
    for i in range(x.size):
        x_bar[i] += y_bar[i]
    return x_bar, lower_bar, upper_bar
