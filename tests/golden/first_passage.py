import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def first_passage_grad(drift, noise, barrier):
    """Gradient of first_passage at primals.py:116 with respect to drift, noise."""
    # ---- forward sweep
    position_tape = np.empty(noise.size)
    # time at which a walk crosses the barrier, linear between the steps
    position = 0.0
    trips = 0
    for k in range(noise.size):
        position_tape[k] = position
        step = drift + noise[k]
        is_above = position + step >= barrier
        if not is_above:
            position += step
        trips += 1
        if is_above:
            break
    # ---- reverse sweep
    noise_bar = np.zeros_like(noise)
    crossing_bar = 1.0
    position_bar = 0.0
    drift_bar = 0.0
    for trip in range(trips - 1, -1, -1):
        # L125: position += step
        position = position_tape[trip]
        step = drift + noise[trip]
        if position + step >= barrier:
            # L123: crossing = k + (barrier - position) / step
            quotient = 1.0 / step
            step_bar = -((barrier - position) / step) * quotient * crossing_bar
            position_bar -= quotient * crossing_bar
            crossing_bar = 0.0
        else:
            step_bar = position_bar
        # L121: step = drift + noise[k]
        drift_bar += step_bar
        noise_bar[trip] += step_bar
    return drift_bar, noise_bar
