from numba import njit


@njit(error_model="numpy", nogil=True)
def series_grad(x, tolerance):
    """Gradient of series at container_primals.py:97 with respect to x."""
    # ---- forward sweep
    k_tape = []
    term_tape = []
    k = 0
    term = 1.0
    position = 0
    trips = 0
    while True:
        term_tape.append(term)
        is_not = not abs(term) > tolerance
        if not is_not:
            k += 1
            k_tape.append(k)
            term *= x / k
            position += 1
        trips += 1
        if is_not:
            break
    # ---- reverse sweep
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
            x_bar += term * term_bar / k
            term_bar *= x / k
        # L103: yield term
        if not is_not:
            term_bar += 1.0
    return x_bar
