import math

import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def trajectory_grad(position, velocity, step, count):
    """Gradient of trajectory at container_primals.py:13 with respect to position, velocity."""
    # ---- forward sweep
    capacity = max(count, 0) + 1
    items = np.empty(capacity)
    items[0] = position
    for _ in range(count):
        velocity -= 9.81 * step
        items[1 + _] = items[_] + velocity * step
    items_view = items[:capacity]
    list_view = items_view[1:]
    items_2 = np.empty(list_view.size)
    for i in range(list_view.size):
        items_2[i] = items[i + 1]
    items_bar = np.zeros_like(items_2)
    items_bar_2 = np.zeros_like(items)
    for i in range(min(capacity, list_view.size)):
        before = items[i]
        after = items_2[i]
        # length += math.hypot(step, after - before)
        difference = after - before
        hypot = math.hypot(step, difference)
        # ---- reverse of the iteration
        # L21: length += math.hypot(step, after - before)
        chosen = 0.0 if hypot == 0.0 else difference / hypot
        before_bar = -chosen
        items_bar[i] += chosen
        items_bar_2[i] += before_bar
    # ---- reverse sweep
    for i in range(list_view.size):
        items_bar_2[i + 1] += items_bar[i]
    velocity_bar = 0.0
    for _ in range(count - 1, -1, -1):
        # L18: points.append(points[-1] + velocity * step)
        stored_bar = items_bar_2[1 + _]
        velocity_bar += step * stored_bar
        items_bar_2[_] += stored_bar
    return items_bar_2[0], velocity_bar
