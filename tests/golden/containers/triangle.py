import math

import numpy as np
from numba import njit


class OutOfBounds(IndexError):
    """An index of the program is out of bounds. `where`: the array, and in further lines the place in the program."""

    def __init__(self, where, index, extent):
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self):
        what, *lines = self.where.splitlines()
        return "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))


@njit
def check_index(index, extent, where):
    """OutOfBounds if an axis of this extent has no element at the index, which may count from its end."""
    if not -extent <= index < extent:
        raise OutOfBounds(where, index, extent)


@njit(error_model="numpy", nogil=True)
def triangle_grad(x, rows):
    """Gradient of triangle at container_primals.py:80 with respect to x."""
    # ---- forward sweep
    items = np.empty((1, 1))
    items_bar = np.zeros_like(items)
    items_2 = np.empty(1, np.int64)
    items[0, 0] = x
    items_2[0] = 1
    k_trips = max(rows - 1, 0)
    items_bar_tape = []
    items_item_tape = np.empty(k_trips, np.int64)
    chosen_bar_tape = []
    items_bar_tape_2 = []
    chosen_tape = []
    chosen_bar_tape_2 = []
    items_bar_tape_3 = []
    items_tape = []
    items_view_item_tape = np.empty(k_trips)
    items_view_item_row_tape = []
    items_bar_2 = items_bar
    position = 0
    position_2 = 0
    position_3 = 0
    for k in range(1, rows):
        items_bar_tape.append(items_bar_2)
        items_tape.append(items)
        n = items.shape[0]
        n_2 = items.shape[1]
        items_item = items_2[k - 1]
        items_item_tape[k - 1] = items_item
        items_view = items[k - 1, :items_item]
        check_index(
            0,
            items_item,
            where="a list\n  container_primals.py:85 in triangle\n    table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])"
        )
        items_view_item = items[k - 1, 0]
        n_3 = max(k - 1, 0)
        items_3 = np.empty(n_3)
        items_view_item_row = np.empty(n_3)
        for j in range(1, k):
            check_index(
                j - 1,
                items_item,
                where="a list\n  container_primals.py:85 in triangle\n    table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])"
            )
            check_index(
                j,
                items_item,
                where="a list\n  container_primals.py:85 in triangle\n    table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])"
            )
            items_view_item_2 = items_view[items_item + j if j < 0 else j]
            items_view_item_row[j - 1] = items_view_item_2
            items_3[j - 1] = items_view[items_item + (j - 1) if j - 1 < 0 else j - 1] + x * items_view_item_2
        items_view_item_row_tape.append(items_view_item_row)
        items_4 = np.empty(n_3 + 1)
        items_4[0] = items_view_item * 0.5
        for k_2 in range(n_3):
            items_4[k_2 + 1] = items_3[k_2]
        check_index(
            -1,
            items_item,
            where="a list\n  container_primals.py:85 in triangle\n    table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])"
        )
        items_view_item = items_view[items_item - 1]
        items_view_item_tape[k - 1] = items_view_item
        items_3 = np.empty(n_3 + 2)
        for k_2 in range(n_3 + 1):
            items_3[k_2] = items_4[k_2]
        items_3[n_3 + 1] = items_view_item ** 2
        if n_3 + 2 > n_2:
            product = n_2 * 2
            items_5 = np.empty((n, max(n_3 + 2, product) if n_3 + 2 > n_2 else n_2))
            items_bar_2 = np.zeros_like(items_5)
            items_bar_tape_3.append(items_bar_2)
            for k_2 in range(k):
                for i in range(n_2):
                    items_5[k_2, i] = items[k_2, i]
            position_3 += 1
            items = items_5
        chosen_tape.append(items)
        chosen_bar_tape_2.append(items_bar_2)
        n = items.shape[1]
        if items.shape[0] == k:
            capacity = max(k * 2, 4)
            items_5 = np.empty((capacity, n))
            items_bar_2 = np.zeros_like(items_5)
            items_bar_tape_2.append(items_bar_2)
            for k_2 in range(k):
                for i in range(n):
                    items_5[k_2, i] = items[k_2, i]
            items_6 = np.empty(capacity, np.int64)
            for k_2 in range(k):
                items_6[k_2] = items_2[k_2]
            position_2 += 1
            items = items_5
            items_2 = items_6
        chosen_bar_tape.append(items_bar_2)
        for i in range(n_3 + 2):
            items[k, i] = items_3[i]
        items_2[k] = n_3 + 2
        position += 1
    items_3 = np.empty(0)
    items_tape_2 = np.empty(max(k_trips + 1, 0), np.int64)
    chosen_bar_tape_3 = []
    items_bar_tape_4 = []
    items_tape_3 = []
    items_bar_tape_5 = []
    items_7 = 0
    items_bar_3 = np.zeros_like(items_3)
    position_4 = 0
    for i in range(k_trips + 1):
        items_tape_2[i] = items_7
        items_tape_3.append(items_3)
        items_bar_tape_5.append(items_bar_3)
        n = items_3.size
        items_item = items_2[i]
        capacity = items_7 + max(items_item, 0)
        capacity_2 = max(capacity, n * 2)
        if n < capacity:
            items_4 = np.empty(capacity_2)
            items_bar_3 = np.zeros_like(items_4)
            items_bar_tape_4.append(items_bar_3)
            for k in range(items_7):
                items_4[k] = items_3[k]
            position_4 += 1
            items_3 = items_4
        chosen_bar_tape_3.append(items_bar_3)
        for i_2 in range(items_item):
            entry = items[i, i_2]
            items_3[items_7 + i_2] = math.sin(entry)
        items_7 = capacity
    # ---- reverse sweep
    # L86: return sum(math.sin(entry) for row in table for entry in row)
    for i in range(items_7):
        items_bar_3[i] += 1.0
    for i in range(k_trips, -1, -1):
        items_item = items_2[i]
        items_7 = items_tape_2[i]
        chosen_bar = chosen_bar_tape_3[i]
        for i_2 in range(items_item - 1, -1, -1):
            count = items_7 + i_2
            stored_bar = chosen_bar[count]
            chosen_bar[count] = 0.0
            entry = items[i, i_2]
            entry_bar = np.cos(entry) * stored_bar
            items_bar_2[i, i_2] += 0.0 if (stored_bar == 0.0) & np.isnan(entry_bar) else entry_bar
        items_3 = items_tape_3[i]
        items_bar_3 = items_bar_tape_5[i]
        if items_3.size < items_7 + max(items_item, 0):
            position_4 -= 1
            items_bar_4 = items_bar_tape_4[position_4]
            for k in range(items_7):
                stored_bar = items_bar_4[k]
                items_bar_4[k] = 0.0
                items_bar_3[k] += stored_bar
    x_bar = 0.0
    for k in range(rows - 1, 0, -1):
        n = max(k - 1, 0)
        items_bar_3 = np.zeros(n + 2)
        items_bar_4 = np.zeros(n + 1)
        items_bar_2 = items_bar_tape[position - 1]
        items_item = items_item_tape[k - 1]
        items_view_bar = items_bar_2[k - 1, :items_item]
        items_bar_5 = np.zeros(n)
        # L85: table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])
        chosen_bar_2 = chosen_bar_tape[position - 1]
        for i in range(n + 2):
            stored_bar = chosen_bar_2[k, i]
            chosen_bar_2[k, i] = 0.0
            items_bar_3[i] += stored_bar
        chosen = chosen_tape[position - 1]
        chosen_bar_2 = chosen_bar_tape_2[position - 1]
        if chosen.shape[0] == k:
            position_2 -= 1
            items_bar_6 = items_bar_tape_2[position_2]
            for k_2 in range(k):
                for i in range(chosen.shape[1]):
                    stored_bar = items_bar_6[k_2, i]
                    items_bar_6[k_2, i] = 0.0
                    chosen_bar_2[k_2, i] += stored_bar
        items = items_tape[position - 1]
        if n + 2 > items.shape[1]:
            position_3 -= 1
            items_bar_6 = items_bar_tape_3[position_3]
            for k_2 in range(k):
                for i in range(items.shape[1]):
                    stored_bar = items_bar_6[k_2, i]
                    items_bar_6[k_2, i] = 0.0
                    items_bar_2[k_2, i] += stored_bar
        stored_bar = items_bar_3[n + 1]
        items_bar_3[n + 1] = 0.0
        for k_2 in range(n + 1):
            items_bar_4[k_2] += items_bar_3[k_2]
        items_view_bar[items_item - 1] += 2.0 * items_view_item_tape[k - 1] * stored_bar
        for k_2 in range(n):
            items_bar_5[k_2] += items_bar_4[k_2 + 1]
        items_view_item_row = items_view_item_row_tape[position - 1]
        for j in range(k - 1, 0, -1):
            stored_bar = items_bar_5[j - 1]
            x_bar += items_view_item_row[j - 1] * stored_bar
            items_view_bar[items_item + j if j < 0 else j] += x * stored_bar
            items_view_bar[items_item + (j - 1) if j - 1 < 0 else j - 1] += stored_bar
        items_bar_2[k - 1, 0] += 0.5 * items_bar_4[0]
        position -= 1
    # L85: table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])
    x_bar += items_bar[0, 0]
    return x_bar
