# Tuned code: it needs adjit for its workspaces and elementary functions.
import numpy as np
from numba import njit

from adjit.runtime.library import check_bounds, reassociable_add, reassociable_sub, workspace


@njit(error_model="numpy", nogil=True)
def diffuse_grad(u, alpha, steps):
    """Gradient of diffuse at primals.py:31 with respect to u, alpha."""
    # ---- forward sweep
    # one sweep a time step, in place
    n = u.size
    check_bounds(0, 0, n)
    v = u.copy()
    sum_tape = workspace.empty((max(steps, 0), max(n - 2, 0)))
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            total = reassociable_sub(left, 2.0 * here) + v[i + 1]
            sum_tape[t, i - 1] = total
            v[i] = reassociable_add(here, alpha * total)
            left = here
    # ---- reverse sweep
    v_bar = np.empty_like(v)
    for i in range(n):
        # L43: energy += v[i] * v[i]
        v_bar[i] = 2.0 * v[i]
    alpha_bar = 0.0
    for t in range(steps - 1, -1, -1):
        left_bar = 0.0
        for i in range(n - 2, 0, -1):
            # L39: v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            stored_bar = v_bar[i]
            alpha_bar = reassociable_add(alpha_bar, sum_tape[t, i - 1] * stored_bar)
            sum_bar = alpha * stored_bar
            v_bar[i + 1] = reassociable_add(v_bar[i + 1], sum_bar)
            here_bar = reassociable_sub(left_bar + stored_bar, 2.0 * sum_bar)
            # L38: here = v[i]
            v_bar[i] = here_bar
            left_bar = sum_bar
        # L36: left = v[0]
        v_bar[0] += left_bar
    return v_bar, alpha_bar
