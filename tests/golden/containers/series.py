import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def series_grad(x, tolerance):
    """Gradient of series at container_primals.py:97 with respect to x."""
    # ---- forward sweep
    items = np.empty(0)
    k_tape = []
    term_tape = []
    chosen_bar_tape = []
    items_bar_tape = []
    items_tape = []
    items_tape_2 = []
    items_bar_tape_2 = []
    k = 0
    term = 1.0
    items_2 = 0
    items_bar = np.zeros_like(items)
    position = 0
    position_2 = 0
    position_3 = 0
    trips = 0
    while True:
        term_tape.append(term)
        items_tape.append(items_2)
        items_tape_2.append(items)
        items_bar_tape_2.append(items_bar)
        n = items.size
        is_not = not abs(term) > tolerance
        if not is_not:
            if n == items_2:
                items_3 = np.empty(max(items_2 * 2, 4))
                items_bar = np.zeros_like(items_3)
                items_bar_tape.append(items_bar)
                for k_2 in range(items_2):
                    items_3[k_2] = items[k_2]
                position_3 += 1
                items = items_3
            chosen_bar_tape.append(items_bar)
            items[items_2] = term
            position_2 += 1
            items_2 += 1
        if not is_not:
            k += 1
            k_tape.append(k)
            term *= x / k
            position += 1
        trips += 1
        if is_not:
            break
    # ---- reverse sweep
    # L107: return sum(itertools.takewhile(lambda term: abs(term) > tolerance, terms()))
    for i in range(items_2):
        items_bar[i] += 1.0
    term_bar = 0.0
    x_bar = 0.0
    for trip in range(trips - 1, -1, -1):
        # L104: k += 1
        term = term_tape[trip]
        is_not = not abs(term) > tolerance
        # L103: yield term
        if not is_not:
            position -= 1
            # L105: term *= x / k
            k = k_tape[position]
            term_bar_2 = x / k * term_bar
            is_zero = term_bar == 0.0
            quotient_bar = term * term_bar
            quotient_bar = 0.0 if is_zero & np.isnan(quotient_bar) else quotient_bar
            x_bar_2 = quotient_bar / k
            x_bar += 0.0 if (quotient_bar == 0.0) & np.isnan(x_bar_2) else x_bar_2
            term_bar = 0.0 if is_zero & np.isnan(term_bar_2) else term_bar_2
        # L103: yield term
        items_2 = items_tape[trip]
        items = items_tape_2[trip]
        items_bar = items_bar_tape_2[trip]
        if not is_not:
            position_2 -= 1
            chosen_bar = chosen_bar_tape[position_2]
            stored_bar = chosen_bar[items_2]
            chosen_bar[items_2] = 0.0
            term_bar += stored_bar
            if items.size == items_2:
                position_3 -= 1
                items_bar_2 = items_bar_tape[position_3]
                for k in range(items_2):
                    stored_bar = items_bar_2[k]
                    items_bar_2[k] = 0.0
                    items_bar[k] += stored_bar
    return x_bar
