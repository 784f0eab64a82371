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
def diffuse_grad(u, alpha, steps):
    """Gradient of diffuse at primals.py:31 with respect to u, alpha."""
    # ---- forward sweep
    # one sweep a time step, in place
    n = u.size
    check_bounds(0, 0, n)
    v = u.copy()
    sum_tape = np.empty((max(steps, 0), max(n - 2, 0)))
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            total = left - 2.0 * here + v[i + 1]
            sum_tape[t, i - 1] = total
            v[i] = here + alpha * total
            left = here
    # ---- reverse sweep
    v_bar = np.zeros_like(v)
    for i in range(n - 1, -1, -1):
        # L43: energy += v[i] * v[i]
        v_bar[i] += 2.0 * v[i]
    alpha_bar = 0.0
    for t in range(steps - 1, -1, -1):
        left_bar = 0.0
        for i in range(n - 2, 0, -1):
            # L39: v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            stored_bar = v_bar[i]
            alpha_bar += sum_tape[t, i - 1] * stored_bar
            sum_bar = alpha * stored_bar
            v_bar[i + 1] += sum_bar
            here_bar = left_bar + stored_bar - 2.0 * sum_bar
            # L38: here = v[i]
            v_bar[i] = here_bar
            left_bar = sum_bar
        # L36: left = v[0]
        v_bar[0] += left_bar
    return v_bar, alpha_bar
