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
def forces_grad(masses, positions):
    """Gradient of forces at container_primals.py:50 with respect to masses, positions."""
    # ---- forward sweep
    # bodies = [Body(m, p) for m, p in zip(masses, positions)]
    n = min(masses.size, positions.size)
    n_2 = max(n, 0)
    items = np.empty(n_2)
    items_2 = np.empty(n_2)
    items_3 = np.empty(n_2)
    check_bounds(0, n - 1, masses.size)
    check_bounds(0, n - 1, positions.size)
    for i in range(n):
        m = masses[i]
        p = positions[i]
        items[i] = m
        items_2[i] = p
        items_3[i] = 0.0
    for i in range(n):
        for i_2 in range(n):
            if i_2 != i:
                # distance = other.position - self.position
                distance = items_2[i_2] - items_2[i]
                # self.force += self.mass * other.mass / (1.0 + distance * distance)
                items_3[i] += items[i] * items[i_2] / (1.0 + distance * distance)
    items_4 = np.empty(n_2)
    # ---- reverse sweep
    items_bar = np.zeros_like(items_4)
    items_bar_2 = np.zeros_like(items_2)
    items_bar_3 = np.zeros_like(items)
    items_bar_4 = np.zeros_like(items_3)
    positions_bar = np.zeros_like(positions)
    masses_bar = np.zeros_like(masses)
    # L57: return sum(body.force * body.moment for body in bodies)
    for i in range(n_2):
        items_bar[i] += 1.0
    for i in range(n - 1, -1, -1):
        stored_bar = items_bar[i]
        items_item = items[i]
        items_item_2 = items_2[i]
        product_bar = items_3[i] * stored_bar
        # L43 in moment: return self.mass * self.position
        items_bar_2[i] += items_item * product_bar
        items_bar_3[i] += items_item_2 * product_bar
        # L57: return sum(body.force * body.moment for body in bodies)
        items_bar_4[i] += items_item * items_item_2 * stored_bar
    for i in range(n - 1, -1, -1):
        for i_2 in range(n - 1, -1, -1):
            if i_2 != i:
                # L47 in pull: self.force += self.mass * other.mass / (1.0 + distance * distance)
                stored_bar = items_bar_4[i]
                distance = items_2[i_2] - items_2[i]
                total = 1.0 + distance * distance
                quotient = 1.0 / total
                items_item = items[i]
                items_item_2 = items[i_2]
                product_bar = quotient * stored_bar
                is_zero = stored_bar == 0.0
                product_bar = 0.0 if is_zero & np.isnan(product_bar) else product_bar
                sum_bar = -(items_item * items_item_2 / total) * quotient * stored_bar
                sum_bar = 0.0 if is_zero & np.isnan(sum_bar) else sum_bar
                distance_bar = 2.0 * distance * sum_bar
                distance_bar = 0.0 if (sum_bar == 0.0) & np.isnan(distance_bar) else distance_bar
                items_item_bar = items_item_2 * product_bar
                is_zero = product_bar == 0.0
                items_item_bar_2 = items_item * product_bar
                items_bar_3[i_2] += 0.0 if is_zero & np.isnan(items_item_bar_2) else items_item_bar_2
                items_bar_3[i] += 0.0 if is_zero & np.isnan(items_item_bar) else items_item_bar
                items_bar_4[i] = stored_bar
                # L46 in pull: distance = other.position - self.position
                items_bar_2[i] -= distance_bar
                items_bar_2[i_2] += distance_bar
    # L52: bodies = [Body(m, p) for m, p in zip(masses, positions)]
    for i in range(n - 1, -1, -1):
        positions_bar[i] += items_bar_2[i]
        masses_bar[i] += items_bar_3[i]
    return masses_bar, positions_bar
