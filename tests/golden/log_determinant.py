import math

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
def log_determinant_grad(a):
    """Gradient of log_determinant at primals.py:142 with respect to a."""
    # ---- forward sweep
    # Cholesky factorisation in place, lower triangle
    n = a.shape[0]
    check_bounds(0, n - 1, a.shape[1])
    lower = a.copy()
    pivot_tape = np.empty(n)
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                lower[i, j] -= lower[i, k] * lower[j, k]
        pivot = math.sqrt(lower[j, j])
        pivot_tape[j] = pivot
        for i in range(j, n):
            lower[i, j] /= pivot
    # ---- reverse sweep
    lower_bar = np.zeros_like(lower)
    for j in range(n - 1, -1, -1):
        # L155: total += math.log(lower[j, j])
        lower_bar[j, j] += 2.0 / lower[j, j]
    for j in range(n - 1, -1, -1):
        # L152: lower[i, j] /= pivot
        pivot = pivot_tape[j]
        pivot_bar = 0.0
        for i in range(n - 1, j - 1, -1):
            stored_bar = lower_bar[i, j]
            quotient = 1.0 / pivot
            pivot_bar -= lower[i, j] * quotient * stored_bar
            lower_bar[i, j] = quotient * stored_bar
        # L150: pivot = math.sqrt(lower[j, j])
        lower_bar[j, j] += 0.5 / pivot * pivot_bar
        for k in range(j - 1, -1, -1):
            lower_bar_sum = 0.0
            for i in range(n - 1, j - 1, -1):
                # L149: lower[i, j] -= lower[i, k] * lower[j, k]
                stored_bar = lower_bar[i, j]
                lower_bar_sum -= lower[i, k] * stored_bar
                lower_bar[i, k] += lower[j, k] * -stored_bar
            if n - 1 > j - 1:
                # L149: lower[i, j] -= lower[i, k] * lower[j, k]
                lower_bar[j, k] += lower_bar_sum
    return lower_bar
