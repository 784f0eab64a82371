# Tuned code: it needs adjit for its workspaces and elementary functions.
import numpy as np
from numba import njit

from adjit.runtime.library import reassociable_add, reassociable_sub, workspace


@njit(error_model="numpy", nogil=True)
def smooth_grad(u, rate, steps):
    """Gradient of smooth at primals.py:84 with respect to u, rate."""
    # ---- forward sweep
    now = u.copy()
    now_bar = np.zeros_like(now)
    after = u.copy()
    after_bar = np.zeros_like(after)
    sum_tape = workspace.empty((max(steps, 0), max(u.size - 2, 0)))
    now_bar_2 = now_bar
    after_bar_2 = after_bar
    for t in range(steps):
        for i in range(1, u.size - 1):
            now_item = now[i]
            total = reassociable_sub(now[i - 1], 2.0 * now_item) + now[i + 1]
            sum_tape[t, i - 1] = total
            after[i] = reassociable_add(now_item, rate * total)
        now, after = after, now
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # ---- reverse sweep
    # L91: return np.sum(now * now * now)
    for i in range(u.size):
        now_item = now[i]
        now_bar_2[i] += reassociable_add(now_item * now_item, 2.0 * now_item * now_item)
    rate_bar = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(1, u.size - 1):
            # L89: after[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
            rate_bar = reassociable_add(rate_bar, sum_tape[t, i - 1] * now_bar_2[i])
        # L89: after[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        if u.size > 3:
            after_bar_2[0] = reassociable_add(after_bar_2[0], rate * now_bar_2[1])
            stored_bar = now_bar_2[1]
            after_bar_2[1] = reassociable_add(
                reassociable_sub(stored_bar, 2.0 * (rate * stored_bar)), rate * now_bar_2[2]
            )
            for i in range(2, u.size - 2):
                stored_bar = now_bar_2[i]
                after_bar_2[i] = reassociable_add(
                    reassociable_sub(stored_bar, 2.0 * (rate * stored_bar)),
                    rate * (now_bar_2[i - 1] + now_bar_2[i + 1])
                )
            stored_bar = now_bar_2[u.size - 2]
            after_bar_2[u.size - 2] = reassociable_add(
                reassociable_sub(stored_bar, 2.0 * (rate * stored_bar)), rate * now_bar_2[u.size - 3]
            )
            after_bar_2[u.size - 1] = reassociable_add(after_bar_2[u.size - 1], rate * now_bar_2[u.size - 2])
        else:
            for i in range(1, u.size - 1):
                stored_bar = now_bar_2[i]
                after_bar_2[i] = reassociable_sub(stored_bar, 2.0 * (rate * stored_bar))
            for i in range(1, u.size - 1):
                after_bar_2[i + 1] = reassociable_add(after_bar_2[i + 1], rate * now_bar_2[i])
                after_bar_2[i - 1] = reassociable_add(after_bar_2[i - 1], rate * now_bar_2[i])
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # L89: after[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
    if steps > 0:
        for i in range(1, u.size - 1):
            after_bar_2[i] = 0.0
    # L85: now = u.copy()
    for i in range(u.size):
        after_bar[i] += now_bar[i]
    return after_bar, rate_bar
