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
def log_likelihood_value_and_grad(points, means, log_weights):
    """Value and gradient of log_likelihood at primals.py:55 with respect to means, log_weights."""
    # ---- forward sweep
    check_bounds(0, points.shape[1] - 1, means.shape[1])
    check_bounds(0, means.shape[0] - 1, log_weights.size)
    exp_tape = np.empty(means.shape[0])
    log_weights_bar = np.zeros_like(log_weights)
    means_bar = np.zeros_like(means)
    total = 0.0
    for i in range(points.shape[0]):
        logits = np.empty(means.shape[0])
        largest = -np.inf
        largest_place = -1
        for k in range(means.shape[0]):
            # squared distance from the centre
            distance = 0.0
            for d in range(points.shape[1]):
                offset = points[i, d] - means[k, d]
                distance += offset * offset
            logits_item = log_weights[k] - 0.5 * distance
            logits[k] = logits_item
            largest_place = k if logits_item > largest else largest_place
            largest = max(largest, logits_item)
        summed = 0.0
        for k in range(means.shape[0]):
            exp = math.exp(logits[k] - largest)
            exp_tape[k] = exp
            summed += exp
        total += largest + math.log(summed)
        # ---- reverse of the iteration
        logits_bar = np.zeros(means.shape[0])
        # L71: total += largest + math.log(summed)
        summed_bar = 1.0 / summed
        largest_bar = 1.0
        for k in range(means.shape[0] - 1, -1, -1):
            # L70: summed += math.exp(logits[k] - largest)
            difference_bar = exp_tape[k] * summed_bar
            largest_bar -= difference_bar
            logits_bar[k] += difference_bar
        for k in range(means.shape[0] - 1, -1, -1):
            # L66: logits[k] = log_weights[k] - 0.5 * distance
            logits_item_bar = (largest_bar if k == largest_place else 0.0) + logits_bar[k]
            distance_bar = 0.5 * -logits_item_bar
            log_weights_bar[k] += logits_item_bar
            for d in range(points.shape[1] - 1, -1, -1):
                # L65: distance += offset * offset
                offset = points[i, d] - means[k, d]
                offset_bar = 2.0 * offset * distance_bar
                # L64: offset = points[i, d] - means[k, d]
                means_bar[k, d] -= offset_bar
    return total, (means_bar, log_weights_bar)
