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
def decay_grad(rates, times):
    """Gradient of decay at container_primals.py:25 with respect to rates."""
    # ---- forward sweep
    check_bounds(0, 1, rates.size)
    rates_item = rates[0]
    rates_item_2 = rates[1]
    rates_item_bar = 0.0
    rates_item_bar_2 = 0.0
    parameters_item_bar = 0.0
    for i in range(times.size):
        t = times[i]
        # total += parameters["amplitude"] * math.exp(-parameters["rate"] * t) + parameters["offset"]
        exp = math.exp(-rates_item_2 * t)
        # ---- reverse of the iteration
        # L31: total += parameters["amplitude"] * math.exp(-parameters["rate"] * t) + parameters["offset"]
        parameters_item_bar += 1.0
        rates_item_bar_2 += exp
        rates_item_bar -= t * (exp * rates_item)
    # ---- reverse sweep
    rates_bar = np.zeros_like(rates)
    # L27: parameters = {"amplitude": rates[0], "rate": rates[1]}
    rates_bar[1] += rates_item_bar
    rates_bar[0] += rates_item_bar_2 + 0.1 * parameters_item_bar
    return rates_bar
