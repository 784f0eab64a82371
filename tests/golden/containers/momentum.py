import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def momentum_grad(x, rate, steps):
    """Gradient of momentum at container_primals.py:148 with respect to x, rate."""
    # ---- forward sweep
    x_tape = np.empty(max(steps, 0))
    velocity = 0.0
    for _ in range(steps):
        x_tape[_] = x
        velocity = 0.9 * velocity - rate * (x ** 3 - x)
        x += velocity
    # ---- reverse sweep
    x_bar = 1.0
    velocity_bar = 0.0
    rate_bar = 0.0
    for _ in range(steps - 1, -1, -1):
        # L158: x += step(x**3 - x)
        velocity_bar += x_bar
        # L154: velocity = 0.9 * velocity - rate * gradient
        x = x_tape[_]
        rate_bar -= (x ** 3 - x) * velocity_bar
        difference_bar = rate * -velocity_bar
        velocity_bar *= 0.9
        # L158: x += step(x**3 - x)
        x_bar = x_bar - difference_bar + 3.0 * x ** 2.0 * difference_bar
    return x_bar, rate_bar
