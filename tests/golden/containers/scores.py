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


@njit
def check_index(index, extent, where):
    """OutOfBounds if an axis of this extent has no element at the index, which may count from its end."""
    if not -extent <= index < extent:
        raise OutOfBounds(where, index, extent)


@njit(error_model="numpy", nogil=True)
def scores_grad(x, y):
    """Gradient of scores at container_primals.py:89 with respect to y."""
    # ---- forward sweep
    # ranked = sorted(zip(x, y), key=lambda pair: pair[0])
    n = min(x.size, y.size)
    n_2 = max(n, 0)
    items = np.empty(n_2)
    items_2 = np.empty(n_2)
    check_bounds(0, n - 1, x.size)
    check_bounds(0, n - 1, y.size)
    for i in range(n):
        items[i] = x[i]
        items_2[i] = y[i]
    items_3 = np.empty(n_2)
    for i in range(n):
        items_3[i] = items[i]
    arange = np.arange(n_2)
    order = np.empty(arange.size, np.int64)
    for i in range(arange.size):
        order[i] = arange[i]
    arange_2 = np.arange(n_2)
    merged = np.empty(arange_2.size, np.int64)
    for i in range(arange_2.size):
        merged[i] = arange_2[i]
    check_bounds(0, n - 1, arange_2.size)
    check_bounds(0, n - 1, arange.size)
    order_old_row_tape = []
    width = 1
    trips = 0
    while width < n_2:
        product = 2 * width
        for low in range(0, n_2, product):
            smaller = min(low + width, n_2)
            smaller_2 = min(low + product, n_2)
            left = low
            right = smaller
            for k in range(low, smaller_2):
                takes_left = right >= smaller_2
                if left < smaller and right < smaller_2:
                    check_index(
                        right,
                        arange.size,
                        where="axis 0 of `order`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    order_item = order[right]
                    place = n_2 + order_item if order_item < 0 else order_item
                    check_index(
                        left,
                        arange.size,
                        where="axis 0 of `order`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    order_item = order[left]
                    takes_left = (
                        not items_3[place] < items_3[n_2 + order_item if order_item < 0 else order_item]
                    )
                if takes_left:
                    check_index(
                        left,
                        arange.size,
                        where="axis 0 of `order`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    check_index(
                        k,
                        arange_2.size,
                        where="axis 0 of `merged`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    merged[k] = order[left]
                    left += 1
                else:
                    check_index(
                        right,
                        arange.size,
                        where="axis 0 of `order`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    check_index(
                        k,
                        arange_2.size,
                        where="axis 0 of `merged`\n  container_primals.py:91 in scores\n    ranked = sorted(zip(x, y), key=lambda pair: pair[0])"
                    )
                    merged[k] = order[right]
                    right += 1
        order_old_row = np.empty(max(n_2, 0), np.int64)
        for k in range(n_2):
            order_old_row[k] = order[k]
            order[k] = merged[k]
        order_old_row_tape.append(order_old_row)
        width = product
        trips += 1
    items = np.empty(arange.size)
    for i in range(arange.size):
        order_item = order[i]
        items[i] = items_2[n + order_item if order_item < 0 else order_item]
    items_3 = np.empty(arange.size)
    items_tape = np.empty(arange.size, np.int64)
    items_4 = 0
    for i in range(arange.size):
        items_tape[i] = items_4
        rank = i + 1
        value = items[i]
        if value > 0.0:
            items_3[items_4] = rank * value
            items_4 += 1
    n_3 = max(items_4, 0)
    items_5 = np.empty(n_3)
    total = 0.0
    for i in range(items_4):
        items_item = items_3[i]
        total = items_item if i == 0 else total + items_item
        items_5[i] = total
    if n_3 < 1:
        raise ValueError(
            "max() iterable argument is empty\n  container_primals.py:93 in scores\n    best = max(itertools.accumulate(gains))"
        )
    best = items_5[0]
    max_place = 0
    for i in range(1, n_3):
        items_view_item = items_5[i]
        max_place = i if items_view_item > best else max_place
        best = max(best, items_view_item)
    # ---- reverse sweep
    items_bar = np.zeros_like(items_3)
    items_bar_2 = np.zeros_like(items_5)
    items_bar_3 = np.zeros_like(items)
    items_bar_4 = np.zeros_like(items_2)
    y_bar = np.zeros_like(y)
    # L94: return best + sum(filter(lambda gain: gain < 2.0, gains))
    for i in range(items_4 - 1, -1, -1):
        items_bar[i] += 1.0 if items_3[i] < 2.0 else 0.0
    # L93: best = max(itertools.accumulate(gains))
    if max_place >= 1:
        items_bar_2[max_place] += 1.0
    items_bar_2[0] += 1.0 if max_place == 0 else 0.0
    total_bar = 0.0
    for i in range(items_4 - 1, -1, -1):
        total_bar_2 = total_bar + items_bar_2[i]
        if i == 0:
            total_bar = 0.0
        else:
            total_bar = total_bar_2
        items_bar[i] += total_bar_2
    # L92: gains = [rank * value for rank, (_, value) in enumerate(ranked, 1) if value > 0.0]
    for i in range(arange.size - 1, -1, -1):
        value = items[i]
        items_4 = items_tape[i]
        rank = i + 1
        if value > 0.0:
            stored_bar = items_bar[items_4]
            items_bar[items_4] = 0.0
            value_bar = rank * stored_bar
            value_bar = 0.0 if (stored_bar == 0.0) & np.isnan(value_bar) else value_bar
        else:
            value_bar = 0.0
        items_bar_3[i] += value_bar
    # L91: ranked = sorted(zip(x, y), key=lambda pair: pair[0])
    for i in range(arange.size - 1, -1, -1):
        order_item = order[i]
        items_bar_4[n + order_item if order_item < 0 else order_item] += items_bar_3[i]
    for trip in range(trips - 1, -1, -1):
        order_old_row = order_old_row_tape[trip]
        for k in range(n_2 - 1, -1, -1):
            order[k] = order_old_row[k]
    for i in range(n - 1, -1, -1):
        y_bar[i] += items_bar_4[i]
    return y_bar
