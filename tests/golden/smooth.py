import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def smooth_grad(u, rate, steps):
    """Gradient of smooth at primals.py:84 with respect to u, rate."""
    # ---- forward sweep
    now = u.copy()
    now_bar = np.zeros_like(now)
    after = u.copy()
    after_bar = np.zeros_like(after)
    sum_tape = np.empty((max(steps, 0), max(u.size - 2, 0)))
    now_bar_2 = now_bar
    after_bar_2 = after_bar
    for t in range(steps):
        for i in range(1, u.size - 1):
            now_item = now[i]
            total = now[i - 1] - 2.0 * now_item + now[i + 1]
            sum_tape[t, i - 1] = total
            after[i] = now_item + rate * total
        now, after = after, now
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # ---- reverse sweep
    # L91: return np.sum(now * now * now)
    for i in range(u.size):
        now_item = now[i]
        now_bar_2[i] += now_item * now_item + 2.0 * now_item * now_item
    rate_bar = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(u.size - 2, 0, -1):
            # L89: after[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
            stored_bar = now_bar_2[i]
            now_bar_2[i] = 0.0
            rate_bar += sum_tape[t, i - 1] * stored_bar
            sum_bar = rate * stored_bar
            after_bar_2[i + 1] += sum_bar
            after_bar_2[i - 1] += sum_bar
            after_bar_2[i] += stored_bar - 2.0 * sum_bar
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # L85: now = u.copy()
    for i in range(u.size):
        after_bar[i] += now_bar[i]
    return after_bar, rate_bar
