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
def tree_sum_grad(values, depth):
    """Gradient of tree_sum at container_primals.py:130 with respect to values."""
    # ---- forward sweep
    check_bounds(0, 7, values.size)
    left = values[0]
    right = values[1]
    left_2 = values[2]
    right_2 = values[3]
    left_3 = values[4]
    right_3 = values[5]
    left_4 = values[6]
    right_4 = values[7]
    tanh = math.tanh(left + 0.5 * right)
    tanh_2 = math.tanh(left_2 + 0.5 * right_2)
    tanh_3 = math.tanh(tanh + 0.5 * tanh_2)
    tanh_4 = math.tanh(left_3 + 0.5 * right_3)
    tanh_5 = math.tanh(left_4 + 0.5 * right_4)
    tanh_6 = math.tanh(tanh_4 + 0.5 * tanh_5)
    tanh_7 = math.tanh(tanh_3 + 0.5 * tanh_6)
    # ---- reverse sweep
    values_bar = np.zeros_like(values)
    # L142: return math.tanh(fold(left) + 0.5 * fold(right))
    difference = 1.0 - tanh_7 * tanh_7
    sum_bar = (1.0 - tanh_6 * tanh_6) * (0.5 * difference)
    sum_bar_2 = (1.0 - tanh_5 * tanh_5) * (0.5 * sum_bar)
    right_bar = 0.5 * sum_bar_2
    sum_bar *= 1.0 - tanh_4 * tanh_4
    right_bar_2 = 0.5 * sum_bar
    sum_bar_3 = (1.0 - tanh_3 * tanh_3) * difference
    sum_bar_4 = (1.0 - tanh_2 * tanh_2) * (0.5 * sum_bar_3)
    right_bar_3 = 0.5 * sum_bar_4
    sum_bar_3 *= 1.0 - tanh * tanh
    right_bar_4 = 0.5 * sum_bar_3
    # L135: return values[first]
    values_bar[7] += right_bar
    values_bar[6] += sum_bar_2
    values_bar[5] += right_bar_2
    values_bar[4] += sum_bar
    values_bar[3] += right_bar_3
    values_bar[2] += sum_bar_4
    values_bar[1] += right_bar_4
    values_bar[0] += sum_bar_3
    return values_bar
