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
def weights_of_words_grad(weights, words):
    """Gradient of weights_of_words at container_primals.py:71 with respect to weights."""
    # ---- forward sweep
    chosen_tape = []
    chosen_old_tape = np.empty(words.size, np.int64)
    is_missing_tape = np.empty(words.size, np.bool_)
    items_tape = np.empty(words.size, np.int64)
    items_tape_2 = []
    items = np.empty(0, np.int64)
    items_2 = np.empty(0, np.int64)
    items_3 = 0
    position = 0
    # counts = Counter(words)
    for i in range(words.size):
        items_tape[i] = items_3
        items_tape_2.append(items)
        n = items.size
        words_item = words[i]
        returned = False
        k = 0
        for k in range(items_3):
            returned = items[items_3 + k if k < 0 else k] == words_item
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        total_2 = (0 if k < 0 else items_2[k]) + 1
        returned = False
        k = 0
        for k in range(items_3):
            returned = items[items_3 + k if k < 0 else k] == words_item
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        is_missing = k < 0
        is_missing_tape[i] = is_missing
        if is_missing:
            if n == items_3:
                capacity = max(items_3 * 2, max(words.size, 4))
                items_4 = np.empty(capacity, np.int64)
                for k in range(items_3):
                    items_4[k] = items[k]
                items = np.empty(capacity, np.int64)
                for k in range(items_3):
                    items[k] = items_2[k]
                items_2 = items
                items = items_4
            chosen_tape.append(items)
            chosen_old_tape[i] = items[items_3]
            items[items_3] = words_item
            items_2[items_3] = total_2
            position += 1
            items_3 += 1
        else:
            items_2[k] = total_2
    n = min(words.size, weights.size)
    items_5 = np.empty(0)
    check_bounds(0, n - 1, words.size)
    check_bounds(0, n - 1, weights.size)
    i_trips = max(n, 0)
    chosen_bar_tape = []
    chosen_tape_2 = []
    chosen_old_tape_2 = np.empty(i_trips, np.int64)
    items_bar_tape = []
    result_tape = np.empty(i_trips, np.int64)
    items_tape_3 = np.empty(i_trips, np.int64)
    items_tape_2 = []
    items_bar_tape_2 = []
    result_tape_2 = np.empty(i_trips, np.int64)
    items_tape_4 = np.empty(i_trips, np.int64)
    chosen_bar_tape_2 = []
    chosen_tape_3 = []
    chosen_old_tape_3 = np.empty(i_trips, np.int64)
    items_bar_tape_3 = []
    items_tape_5 = []
    items_bar_tape_4 = []
    items_4 = np.empty(0, np.int64)
    items_6 = 0
    items_bar = np.zeros_like(items_5)
    position_2 = 0
    position_3 = 0
    position_4 = 0
    position_5 = 0
    for i in range(n):
        items_tape_4[i] = items_6
        items_tape_5.append(items_4)
        items_bar_tape_4.append(items_bar)
        n_2 = items_4.size
        word = words[i]
        weight = weights[i]
        returned = False
        k = 0
        for k in range(items_6):
            returned = items_4[items_6 + k if k < 0 else k] == word
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        result_tape_2[i] = k
        is_missing = k < 0
        if is_missing:
            if n_2 == items_6:
                capacity = max(items_6 * 2, max(n, 4))
                items_7 = np.empty(capacity, np.int64)
                for k_2 in range(items_6):
                    items_7[k_2] = items_4[k_2]
                items_8 = np.empty(capacity)
                items_bar = np.zeros_like(items_8)
                items_bar_tape_3.append(items_bar)
                for k_2 in range(items_6):
                    items_8[k_2] = items_5[k_2]
                position_5 += 1
                items_4 = items_7
                items_5 = items_8
            chosen_bar_tape_2.append(items_bar)
            chosen_tape_3.append(items_4)
            chosen_old_tape_3[i] = items_4[items_6]
            items_4[items_6] = word
            items_5[items_6] = 0.0
            position_4 += 1
            items_9 = items_6 + 1
        else:
            items_9 = items_6
        items_tape_3[i] = items_9
        items_tape_2.append(items_4)
        items_bar_tape_2.append(items_bar)
        n_2 = items_4.size
        total = items_5[items_6 if is_missing else k] + weight * weight
        returned = False
        k = 0
        for k in range(items_9):
            returned = items_4[items_9 + k if k < 0 else k] == word
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        result_tape[i] = k
        if k < 0:
            if n_2 == items_9:
                capacity = max(items_9 * 2, max(n, 4))
                items_7 = np.empty(capacity, np.int64)
                for k in range(items_9):
                    items_7[k] = items_4[k]
                items_8 = np.empty(capacity)
                items_bar = np.zeros_like(items_8)
                items_bar_tape.append(items_bar)
                for k in range(items_9):
                    items_8[k] = items_5[k]
                position_3 += 1
                items_4 = items_7
                items_5 = items_8
            chosen_bar_tape.append(items_bar)
            chosen_tape_2.append(items_4)
            chosen_old_tape_2[i] = items_4[items_9]
            items_4[items_9] = word
            items_5[items_9] = total
            position_2 += 1
            items_6 = items_9 + 1
        else:
            items_5[k] = total
            items_6 = items_9
    # return sum(math.sqrt(total) / counts[word] for word, total in sums.items())
    n_2 = max(items_6, 0)
    items_8 = np.empty(n_2)
    items_bar_2 = np.zeros_like(items_8)
    for i in range(n_2):
        items_bar_2[i] += 1.0
    for i in range(items_6):
        word = items_4[i]
        returned = False
        k = 0
        for k in range(items_3):
            returned = items[items_3 + k if k < 0 else k] == word
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        # ---- reverse of the iteration
        # L77: return sum(math.sqrt(total) / counts[word] for word, total in sums.items())
        total = items_5[i]
        sqrt = math.sqrt(total)
        items_bar[i] += 0.0 if sqrt == 0.0 else 0.5 / sqrt * (items_bar_2[i] / (0 if k < 0 else items_2[k]))
    # ---- reverse sweep
    weights_bar = np.zeros_like(weights)
    for i in range(n - 1, -1, -1):
        # L76: sums[word] += weight * weight
        result = result_tape[i]
        items_3 = items_tape_3[i]
        items = items_tape_2[i]
        items_bar = items_bar_tape_2[i]
        if result < 0:
            position_2 -= 1
            chosen_bar = chosen_bar_tape[position_2]
            sum_bar = chosen_bar[items_3]
            chosen_bar[items_3] = 0.0
            chosen = chosen_tape_2[position_2]
            chosen[items_3] = chosen_old_tape_2[i]
            if items.size == items_3:
                position_3 -= 1
                items_bar_2 = items_bar_tape[position_3]
                for k in range(items_3):
                    stored_bar = items_bar_2[k]
                    items_bar_2[k] = 0.0
                    items_bar[k] += stored_bar
        else:
            sum_bar = items_bar[result]
            items_bar[result] = 0.0
        weight = weights[i]
        weight_bar = 2.0 * weight * sum_bar
        weight_bar = 0.0 if (sum_bar == 0.0) & np.isnan(weight_bar) else weight_bar
        result = result_tape_2[i]
        is_missing = result < 0
        items_3 = items_tape_4[i]
        items_bar[items_3 if is_missing else result] += sum_bar
        items = items_tape_5[i]
        items_bar = items_bar_tape_4[i]
        if is_missing:
            position_4 -= 1
            chosen_bar = chosen_bar_tape_2[position_4]
            chosen_bar[items_3] = 0.0
            chosen = chosen_tape_3[position_4]
            chosen[items_3] = chosen_old_tape_3[i]
            if items.size == items_3:
                position_5 -= 1
                items_bar_2 = items_bar_tape_3[position_5]
                for k in range(items_3):
                    stored_bar = items_bar_2[k]
                    items_bar_2[k] = 0.0
                    items_bar[k] += stored_bar
        weights_bar[i] += weight_bar
    # L73: counts = Counter(words)
    for i in range(words.size - 1, -1, -1):
        items_3 = items_tape[i]
        if is_missing_tape[i]:
            position -= 1
            chosen = chosen_tape[position]
            chosen[items_3] = chosen_old_tape[i]
    return weights_bar
