from numba import njit


@njit(error_model="numpy", nogil=True)
def square_root_grad(a, tolerance):
    """Gradient of square_root at primals.py:47 with respect to a."""
    # ---- forward sweep
    x_tape = []
    # Newton's iteration
    x = a
    trips = 0
    while abs(x * x - a) > tolerance:
        x_tape.append(x)
        x -= (x * x - a) / (2.0 * x)
        trips += 1
    # ---- reverse sweep
    x_bar = 1.0
    a_bar = 0.0
    for trip in range(trips - 1, -1, -1):
        # L51: x = x - (x * x - a) / (2.0 * x)
        x = x_tape[trip]
        product = 2.0 * x
        quotient = 1.0 / product
        difference_bar = quotient * -x_bar
        a_bar -= difference_bar
        x_bar = x_bar + 2.0 * ((x * x - a) / product * quotient * x_bar) + product * difference_bar
    a_bar += x_bar
    return a_bar
