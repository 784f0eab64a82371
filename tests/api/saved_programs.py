"""Functions whose derivatives are saved to files, and run from there without adjit."""

import math

import numpy as np
from numba import njit, prange

import adjit

TABLE = np.array([[0.5, -1.0], [np.inf, 2.0]])


def chain(x, k):
    """The energy of a chain of springs."""
    # stretched by how much
    stretch = x[1:] - x[:-1]
    return 0.5 * k * np.sum(stretch * stretch)


def layered(x, w):
    return np.sum(np.tanh(x @ w) * adjit.stop_gradient(w[0]))


def stretched(x, y):
    """Axes of which one may be of length 1."""
    return np.sum(np.exp(x * y[:, np.newaxis])) + np.max(x)


def over_time(u, steps):
    u = u.copy()
    for t in adjit.checkpoint(range(steps)):
        for i in range(1, u.size - 1):
            u[i] += 0.1 * math.sin(u[i - 1]) * u[i + 1]
    return np.sum(u * u)


def looked_up(x, k):
    """A frozen array, and elements chosen by integers."""
    return x * TABLE[k, k] + TABLE[0, 1]


@njit
def shared_sums(x, w):
    total = 0.0
    for i in prange(x.size):
        total += w[i % w.size] * math.exp(x[i])
    return total


def distribution(x):
    return math.lgamma(x) + math.erf(x)


def of_length(x, n, k):
    s = 0.0
    for i in range(n):
        s += x[i] * x[2]
    return s + x[k + int(0.0 * x[0])] ** 2


def in_place(x, y):
    """It writes into an argument."""
    x[0] = y[0] * y[1]
    return np.sum(x * y)


def helped(x):
    def square(z):
        return z * z

    return square(x) + x
