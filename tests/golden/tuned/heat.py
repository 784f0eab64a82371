# Tuned code: it needs adjit for its workspaces and elementary functions.
import numpy as np
from numba import njit

from adjit.runtime.library import check_bounds, reassociable_add, reassociable_sub, workspace


@njit(error_model="numpy", nogil=True)
def heat_grad(u, conductivity, steps):
    """Gradient of heat at primals.py:94 with respect to u, conductivity."""
    # ---- forward sweep
    n = u.shape[0]
    m = u.shape[1]
    check_bounds(1, n - 2, conductivity.shape[0])
    check_bounds(1, m - 2, conductivity.shape[1])
    now = u.copy()
    now_bar = np.zeros_like(now)
    after = u.copy()
    after_bar = np.zeros_like(after)
    flow_tape = workspace.empty((max(steps, 0), max(n - 2, 0), max(m - 2, 0)))
    now_bar_2 = now_bar
    after_bar_2 = after_bar
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                now_item = now[i, j]
                flow = reassociable_sub(
                    now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1], 4.0 * now_item
                )
                flow_tape[t, i - 1, j - 1] = flow
                after[i, j] = reassociable_add(now_item, conductivity[i, j] * flow)
        now, after = after, now
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # ---- reverse sweep
    conductivity_bar = np.zeros_like(conductivity)
    # L103: return np.sum(now * now)
    for i in range(n):
        for j in range(m):
            now_bar_2[i, j] = reassociable_add(now_bar_2[i, j], 2.0 * now[i, j])
    flow_bars = workspace.zeros((max(n + 2, 4), max(m + 2, 4)))
    for t in range(steps - 1, -1, -1):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                # L101: after[i, j] = now[i, j] + conductivity[i, j] * flow
                stored_bar = now_bar_2[i, j]
                flow = flow_tape[t, i - 1, j - 1]
                flow_bar = conductivity[i, j] * stored_bar
                conductivity_bar[i, j] = reassociable_add(conductivity_bar[i, j], flow * stored_bar)
                # L100: flow = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                after_bar_2[i, j] = reassociable_sub(stored_bar, 4.0 * flow_bar)
                flow_bars[i + 1, j + 1] = flow_bar
        # L100: flow = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
        for i in range(n):
            for j in range(m):
                after_bar_2[i, j] += (
                    flow_bars[i + 1, j]
                    + flow_bars[i + 1, j + 2]
                    + flow_bars[i, j + 1]
                    + flow_bars[i + 2, j + 1]
                )
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # L101: after[i, j] = now[i, j] + conductivity[i, j] * flow
    if steps > 0:
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                after_bar_2[i, j] = 0.0
    # L96: now, after = u.copy(), u.copy()
    for i in range(n):
        for j in range(m):
            after_bar[i, j] += now_bar[i, j]
    return after_bar, conductivity_bar
