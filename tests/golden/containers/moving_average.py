import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def moving_average_grad(signal, width):
    """Gradient of moving_average at container_primals.py:60 with respect to signal."""
    # ---- forward sweep
    items = np.empty(0)
    difference_tape = np.empty(signal.size)
    items_tape = np.empty(signal.size, np.int64)
    chosen_tape = []
    chosen_bar_tape = []
    items_tape_2 = np.empty(signal.size, np.int64)
    items_bar_tape = []
    items_tape_3 = []
    items_bar_tape_2 = []
    items_2 = 0
    items_bar = np.zeros_like(items)
    position = 0
    for i in range(signal.size):
        items_tape_2[i] = items_2
        items_tape_3.append(items)
        items_bar_tape_2.append(items_bar)
        value = signal[i]
        # window.append(value)
        if items.size == items_2:
            items_3 = np.empty(max(items_2 * 2, max(signal.size, 4)))
            items_bar = np.zeros_like(items_3)
            items_bar_tape.append(items_bar)
            for k in range(items_2):
                items_3[k] = items[k]
            position += 1
            items = items_3
        chosen_tape.append(items)
        chosen_bar_tape.append(items_bar)
        items[items_2] = value
        count = items_2 + 1
        if count > width:
            for k in range(1, count):
                items[count + (k - 1) if k - 1 < 0 else k - 1] = items[count + k if k < 0 else k]
        else:
            items_2 = count
        items_tape[i] = items_2
        # mean = sum(window) / len(window)
        items_view = items[:items_2]
        total = 0.0
        for i_2 in range(items_view.size):
            total += items[i_2]
        mean = total / items_2
        difference_tape[i] = value - mean
    # ---- reverse sweep
    signal_bar = np.zeros_like(signal)
    for i in range(signal.size - 1, -1, -1):
        # L67: total += (value - mean) ** 2
        product = 2.0 * difference_tape[i]
        mean_bar = -product
        # L66: mean = sum(window) / len(window)
        items_2 = items_tape[i]
        total_bar = mean_bar / items_2
        chosen = chosen_tape[i]
        items_view = chosen[:items_2]
        chosen_bar = chosen_bar_tape[i]
        for i_2 in range(items_view.size):
            chosen_bar[i_2] += total_bar
        items_2 = items_tape_2[i]
        # L65: window.append(value)
        if items_2 + 1 > width:
            for k in range(items_2, 0, -1):
                if k - 1 < 0:
                    place = items_2 + 1 + (k - 1)
                else:
                    place = k - 1
                stored_bar = chosen_bar[place]
                chosen_bar[place] = 0.0
                chosen_bar[items_2 + 1 + k if k < 0 else k] += stored_bar
        stored_bar = chosen_bar[items_2]
        chosen_bar[items_2] = 0.0
        value_bar = product + stored_bar
        items = items_tape_3[i]
        items_bar = items_bar_tape_2[i]
        if items.size == items_2:
            position -= 1
            items_bar_2 = items_bar_tape[position]
            for k in range(items_2):
                stored_bar = items_bar_2[k]
                items_bar_2[k] = 0.0
                items_bar[k] += stored_bar
        signal_bar[i] += value_bar
    return signal_bar
