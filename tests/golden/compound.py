import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def compound_grad(rates):
    """Gradient of compound at primals.py:132 with respect to rates."""
    # ---- forward sweep
    capital_tape = np.empty(rates.size)
    # capital after each period, and its mean
    capital = 1.0
    for i in range(rates.size):
        capital_tape[i] = capital
        capital *= 1.0 + rates[i]
    # ---- reverse sweep
    rates_bar = np.zeros_like(rates)
    # L139: return total / rates.size
    quotient = 1 / rates.size
    capital_bar = 0.0
    for i in range(rates.size - 1, -1, -1):
        # L138: total += capital
        capital_bar += quotient
        # L137: capital *= 1.0 + rates[i]
        capital = capital_tape[i]
        rates_bar[i] += capital * capital_bar
        capital_bar *= 1.0 + rates[i]
    return rates_bar
