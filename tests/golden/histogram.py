import numpy as np
from numba import njit


@njit(error_model="numpy", fastmath={"contract"}, nogil=True)
def histogram_grad(values, bins, scale):
    """Gradient of histogram at primals.py:202 with respect to values."""
    # ---- forward sweep
    # soft weights fall into the bins that an index array names
    counts = np.zeros(scale.size)
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
