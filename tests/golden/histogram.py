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


@njit
def index_range(indices):
    """The least and the greatest of an array of integers; 0 and -1 where it has none."""
    if indices.size == 0:
        return 0, -1
    least = greatest = 0
    is_first = True
    for place in indices.flat:
        if is_first or place < least:
            least = int(place)
        if is_first or place > greatest:
            greatest = int(place)
        is_first = False
    return least, greatest


@njit(error_model="numpy", nogil=True)
def histogram_grad(values, bins, scale):
    """Gradient of histogram at primals.py:202 with respect to values."""
    # ---- forward sweep
    check_bounds(0, values.size - 1, bins.size)
    # soft weights fall into the bins that an index array names
    counts = np.zeros(scale.size)
    least, greatest = index_range(bins)
    check_bounds(least, greatest, scale.size)
    exp_tape = np.empty(values.size)
    for i in range(values.size):
        exp = np.exp(-values[i])
        exp_tape[i] = exp
        counts[bins[i]] += exp
    # ---- reverse sweep
    counts_bar = np.zeros_like(counts)
    values_bar = np.zeros_like(values)
    for b in range(scale.size - 1, -1, -1):
        # L209: total += scale[b] * counts[b] * counts[b]
        counts_bar[b] += 2.0 * (scale[b] * counts[b])
    for i in range(values.size - 1, -1, -1):
        # L206: counts[bins[i]] += np.exp(-values[i])
        values_bar[i] -= exp_tape[i] * counts_bar[bins[i]]
    return values_bar
