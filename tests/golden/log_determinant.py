import math

import numpy as np

from adjit.transform import workspace


def log_determinant_grad(a):
    """Gradient of log_determinant at primals.py:130 with respect to a."""
    # ---- forward sweep
    # Cholesky factorisation in place, lower triangle
    n = a.shape[0]
    lower = a.copy()
    lower_old_tape = []
    lower_item_tape = workspace.empty(n)
    position = 0
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                lower[i, j] -= lower[i, k] * lower[j, k]
        lower_item = lower[j, j]
        lower_item_tape[j] = lower_item
        pivot = math.sqrt(lower_item)
        for i in range(j, n):
            lower_item = lower[i, j]
            lower_old_tape.append(lower_item)
            lower[i, j] = lower_item / pivot
            position += 1
    # ---- reverse sweep
    lower_bar = np.zeros_like(lower)
    for j in range(n - 1, -1, -1):
        # L143: total += math.log(lower[j, j])
        lower_bar[j, j] += 2.0 / lower[j, j]
    for j in range(n - 1, -1, -1):
        # L140: lower[i, j] /= pivot
        pivot = math.sqrt(lower_item_tape[j])
        pivot_bar = 0.0
        for i in range(n - 1, j - 1, -1):
            lower_old = lower_old_tape[position - 1]
            lower[i, j] = lower_old
            stored_bar = lower_bar[i, j]
            quotient = 1.0 / pivot
            pivot_bar -= lower_old / pivot * quotient * stored_bar
            lower_bar[i, j] = quotient * stored_bar
            position -= 1
        # L138: pivot = math.sqrt(lower[j, j])
        lower_bar[j, j] += 0.5 / pivot * pivot_bar
        for k in range(j - 1, -1, -1):
            for i in range(n - 1, j - 1, -1):
                # L137: lower[i, j] -= lower[i, k] * lower[j, k]
                product_bar = -lower_bar[i, j]
                lower_bar[j, k] += lower[i, k] * product_bar
                lower_bar[i, k] += lower[j, k] * product_bar
    return lower_bar
