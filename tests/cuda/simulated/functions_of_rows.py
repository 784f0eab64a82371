"""Functions of which a trip has long loops inside, whose trips several threads share, and arguments for them."""

import math

import numpy as np
from numba import prange


def softmax_by_rows(x):
    """Arrays that a trip makes are each row's own."""
    y = np.empty_like(x)
    for i in prange(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        y[i] = e / np.sum(e)
    return y


def layer_norm(x, g, b):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        m = 0.0
        for j in range(x.shape[1]):
            m += x[i, j]
        m /= x.shape[1]
        v = 0.0
        for j in range(x.shape[1]):
            v += (x[i, j] - m) ** 2
        s = 1.0 / math.sqrt(v / x.shape[1] + 1e-5)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - m) * s * g[j] + b[j]
    return y


def cross_entropy(w, x, k):
    """Sums of rows, and one over all rows; few elements of w_bar, and many terms of each."""
    z = x @ w
    total = 0.0
    for i in prange(z.shape[0]):
        s = 0.0
        for j in range(z.shape[1]):
            s += math.exp(z[i, j])
        total += math.log(s) - z[i, k[i]]
    return total / z.shape[0]


def turned_twice(x):
    """What a thread of a row reads another one has stored: these wait for each other, also round a loop."""
    y = x.copy()
    z = np.empty_like(x)
    m = x.shape[1]
    for i in prange(x.shape[0]):
        for _ in range(2):
            for j in range(m):
                z[i, j] = y[i, m - 1 - j] * y[i, j]
            for j in range(m):
                y[i, j] = z[i, m - 1 - j] + x[i, j]
    return y


def some_rows(x, c):
    """Sums that some rows have: a row that waits has its block for itself."""
    y = np.zeros(x.shape[0])
    total = 0.0
    for i in prange(x.shape[0]):
        if x[i, 0] > c:
            s = 0.0
            for j in range(x.shape[1]):
                s += x[i, j] * x[i, j]
            y[i] = math.sqrt(s)
            total += s * c
        else:
            y[i] = x[i, 1] * c
    return y, total


def until_small(x, c):
    """As many sums as a row needs."""
    y = np.empty(x.shape[0])
    for i in prange(x.shape[0]):
        f = 1.0
        n = 0
        s = 10.0
        while s > c and n < 9:
            s = 0.0
            for j in range(x.shape[1]):
                s += (f * x[i, j]) ** 2
            f *= 0.7
            n += 1
        y[i] = s * f
    return y


def ragged(x, w, starts):
    """Loops as long as each row says, and one as long for all."""
    y = np.empty(starts.size - 1)
    for i in prange(starts.size - 1):
        s = 0.0
        for j in range(starts[i], starts[i + 1]):
            s += x[j] * x[j]
        t = 0.0
        for k in range(w.size):
            t += math.sin(w[k] * s)
        y[i] = s * t
    return y


def down_columns(a, b):
    """Rows whose elements lie far apart; trips that count from one on, downwards, and by two."""
    y = np.empty(a.shape[1])
    for j in prange(a.shape[1]):
        s = 0.0
        for i in range(1, a.shape[0]):
            s += a[i, j] * a[i - 1, j]
        t = 1.5
        for i in range(a.shape[0] - 1, 0, -1):
            t -= a[i, j] * b[i]
        for i in range(1, a.shape[0], 2):
            t += math.sin(a[i, j] * s)
        y[j] = s * t
    return y


def with_copies(x, w):
    """Arrays of a row's own that start as zeros, or as a copy."""
    total = 0.0
    for i in prange(x.shape[0]):
        own = x[i].copy()
        sums = np.zeros(x.shape[1])
        for j in range(x.shape[1]):
            own[j] = own[j] * w[j]
        for j in range(x.shape[1]):
            sums[j] += own[x.shape[1] - 1 - j] * x[i, j]
        s = 1.0
        for j in range(x.shape[1]):
            s += sums[j] * own[j]
        total += s * s
    return total


def looked_up(x, table):
    """An element that is known once a row has been added up."""
    y = np.empty(x.shape[0])
    for i in prange(x.shape[0]):
        s = 0.0
        w = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * j
            w += x[i, j]
        y[i] = table[int(s / w)] * w
    return y


def softmax_of_batches(x):
    """Rows that two counters name."""
    y = np.empty_like(x)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            s = 0.0
            for j in range(x.shape[2]):
                s += math.exp(x[b, i, j])
            for j in range(x.shape[2]):
                y[b, i, j] = math.exp(x[b, i, j]) / s
    return y


def norms_of_heads(x):
    """Rows that three counters name, and a sum over all of them."""
    return np.sum(np.sqrt(np.sum(x * x, axis=3)))


def sparse_product(values, columns, starts, x):
    """Rows of lengths that stand in an array, one behind the other."""
    y = np.empty(starts.size - 1)
    for i in prange(starts.size - 1):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s
    return y


COLUMNS = np.array([0, 2, 4, 1, 2, 3, 4, 0, 1, 3, 2, 2])
STARTS = np.array([0, 3, 3, 11, 12])

FUNCTIONS_OF_ROWS = {
    "softmax_by_rows": (softmax_by_rows, [[5, 7]]),
    "layer_norm": (layer_norm, [[5, 6], [6], [6]]),
    "cross_entropy": (cross_entropy, [[4, 3], [9, 4], np.array([0, 1, 2, 0, 1, 2, 2, 1, 0])]),
    "turned_twice": (turned_twice, [[3, 6]]),
    "some_rows": (some_rows, [[5, 6], 0.5]),
    "until_small": (until_small, [[4, 6], 0.4]),
    "ragged": (ragged, [[12], [5], STARTS]),
    "down_columns": (down_columns, [[9, 5], [9]]),
    "softmax_of_batches": (softmax_of_batches, [[3, 4, 6]]),
    "norms_of_heads": (norms_of_heads, [[2, 3, 3, 5]]),
    "sparse_product": (sparse_product, [[12], COLUMNS, STARTS, [5]]),
    "looked_up": (looked_up, [[5, 6], [6]]),
    "with_copies": (with_copies, [[5, 6], [6]]),
}
