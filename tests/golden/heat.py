import numpy as np
from numba import njit

BEFOREHAND = "an axis\n  in code that checks its indices before it runs"


class OutOfBounds(IndexError):
    """An index of the program is out of bounds. `where`: the array, and in further lines the place in the program."""

    def __init__(self, where, index, extent):
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self):
        what, *lines = self.where.splitlines()
        return "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))


class BeyondLoop(OutOfBounds):
    """A test before a loop finds an index out of bounds. Only users of a saved source see this error."""


@njit
def check_bounds(least, greatest, extent):
    """BeyondLoop if an index may be out of bounds that lies between these two; if they leave none, no trip has one."""
    if least <= greatest and least < -extent:
        raise BeyondLoop(BEFOREHAND, least, extent)
    if least <= greatest and greatest >= extent:
        raise BeyondLoop(BEFOREHAND, greatest, extent)


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
    flow_tape = np.empty((max(steps, 0), max(n - 2, 0), max(m - 2, 0)))
    now_bar_2 = now_bar
    after_bar_2 = after_bar
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                now_item = now[i, j]
                flow = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now_item
                flow_tape[t, i - 1, j - 1] = flow
                after[i, j] = now_item + conductivity[i, j] * flow
        now, after = after, now
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # ---- reverse sweep
    conductivity_bar = np.zeros_like(conductivity)
    # L103: return np.sum(now * now)
    for i in range(n):
        for j in range(m):
            now_bar_2[i, j] += 2.0 * now[i, j]
    for t in range(steps - 1, -1, -1):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                # L101: after[i, j] = now[i, j] + conductivity[i, j] * flow
                stored_bar = now_bar_2[i, j]
                now_bar_2[i, j] = 0.0
                flow = flow_tape[t, i - 1, j - 1]
                flow_bar = conductivity[i, j] * stored_bar
                conductivity_bar[i, j] += flow * stored_bar
                # L100: flow = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                after_bar_2[i, j] += stored_bar - 4.0 * flow_bar
                after_bar_2[i, j + 1] += flow_bar
                after_bar_2[i, j - 1] += flow_bar
                after_bar_2[i + 1, j] += flow_bar
                after_bar_2[i - 1, j] += flow_bar
        now_bar_2, after_bar_2 = after_bar_2, now_bar_2
    # L96: now, after = u.copy(), u.copy()
    for i in range(n):
        for j in range(m):
            after_bar[i, j] += now_bar[i, j]
    return after_bar, conductivity_bar
