"""Functions of many kinds, as users write them, and arguments for them: numbers, and shapes of arrays.

A gradient of each is compared with the CPU's, and with its tangent.
"""

import math

import numpy as np
from numba import prange


def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + y


def misfit(x, d, w, a):
    total = 0.0
    for i in range(x.size):
        y = a[0] * math.tanh(a[1] * x[i])
        r = y - d[i]
        total += w[i] * r * r
    return total


def seep(p0, k, steps):
    p = p0.copy()
    q = p0.copy()
    for t in range(steps):
        for i in range(1, p.size - 1):
            q[i] = p[i] + k[i] * (p[i - 1] - 2.0 * p[i] + p[i + 1]) - 0.1 * p[i] ** 3
        p, q = q, p
    return np.sum(p * p)


def in_threads(x, c):
    y = np.empty_like(x)
    for i in prange(x.size):
        y[i] = c * x[i] if x[i] > 0.0 else math.sin(x[i])
    return y


def norm(x):
    return np.sqrt(np.sum(x * x))


# function, arguments: an integer n or a tuple in [] is an array of that shape, other numbers are themselves
FUNCTIONS = {
    "chain": (chain, [[37], [37]]),
    "misfit": (misfit, [[61], [61], [61], [3]]),
    "seep": (seep, [[37], [37], 3]),
    "in_threads": (in_threads, [[21], 1.3]),
    "norm": (norm, [[50]]),
}
