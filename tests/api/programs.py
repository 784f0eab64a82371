"""The functions that the tests of the interface share, so that each is compiled once, and what they are called with."""

import math

import numba
import numpy as np

from adjit import stop_gradient

X = np.array([1.0, -2.0, 0.5])
DOT = np.array([0.5, 1.0, -1.0])


def energy(x, k=2.0):
    """k times the sum of squares."""
    return k * np.sum(x * x)


def scaled(x, k):
    return k * x * x


def pair(x, n, both):
    return x * both[0], n, both[1] * both[1] * x


def chosen(x, kind="plain"):
    if kind == "plain":
        return 2.0 * x
    return x * x


def with_aux(x):
    return np.sum(x * x), (3, x[0])


def relaxed(x, n):
    """Makes a new array in each trip, so that the reverse sweep needs a tape of arrays."""
    u = x.copy()
    v = 0.5 * x
    while u[0] < 1000.0 and n > 0:
        u, v = v, u * v + x
        n -= 1
    return u


def swapped(x, n):
    """Two arrays take turns, so that what the reverse sweep changes has two names."""
    u = x.copy()
    v = 2.0 * x
    for t in range(n):
        for i in range(1, u.size):
            v[i] = u[i] * u[i - 1] + v[i]
        u, v = v, u
    return u


def overwritten(x):
    """Writes into its argument and returns it."""
    x[0] = 5.0
    x[1] *= x[2]
    return x


def spread(x, y):
    x[0] = y[1]
    return np.sum(x * y)


@numba.njit
def compiled(x, k):
    return k * np.sum(np.sin(x))


def held(x, w):
    """w * w differentiates as if one factor were given, and each x[i] in the sum as well."""
    return w * stop_gradient(w) + np.sum(stop_gradient(x) * x)


@numba.njit
def held_compiled(x, w):
    return w * stop_gradient(w) + np.sum(stop_gradient(x) * x)


def no_rule(x):
    return math.frexp(x[0])[0]


def vector_valued(x):
    return 2.0 * x


def whole(n):
    return 2 * n


def growth(x):
    total = 0.0
    for i in numba.prange(x.size):
        y = x[i]
        while abs(y) < 10.0:
            y = y * 1.5 + 0.1 * y * y
        total += y
    return total
