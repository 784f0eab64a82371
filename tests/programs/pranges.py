"""Programs with prange: what the trips share is all that differs from one to the next.

Each row of PRANGES has a function, the parameters to differentiate with respect to, and arguments of a size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import prange


def squares(x):
    y = np.empty(x.size)
    for i in prange(x.size):
        y[i] = x[i] * x[i] * x[i]
    return np.sum(y * y)


def total(x, w):
    s = 0.0
    for i in prange(x.size):
        s += math.sin(x[i]) * w
    return s


def two_totals(x):
    s, c = 1.0, 2.0
    for i in prange(x.size):
        s += math.sin(x[i])
        c -= math.cos(x[i]) * x[i]
    return s * c


def shifted(x):
    y = np.zeros(x.size)
    for i in prange(1, x.size - 1):
        y[i] = x[i - 1] * x[i] + x[i + 1]
    return np.sum(y * y)


def diffusion(u, k, steps):
    n, m = u.shape
    v, w = u.copy(), u.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                bend = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j]
                w[i, j] = v[i, j] + k * bend * v[i, j]
        v, w = w, v
    return np.sum(v * v)


def linear_diffusion(u, steps):
    n, m = u.shape
    v, w = u.copy(), u.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                w[i, j] = v[i, j] + 0.1 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j])
        v, w = w, v
    return np.sum(v * v)


def looked_up(x, w, k):
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[i] = x[i] * w[k[i]] * w[k[i]]
    return np.sum(y * y)


def histogram(x, w, k):
    h = np.zeros(w.size)
    for i in prange(x.size):
        h[k[i]] += x[i] * x[i]
    return np.sum(h * w)


def product(a, x):
    y = np.zeros(a.shape[0])
    for i in prange(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = math.tanh(s)
    return np.sum(y * y)


def log_likelihood(x, means, logits):
    n, d = x.shape
    k = means.shape[0]
    s = 0.0
    for i in prange(n):
        terms = np.empty(k)
        for c in range(k):
            q = 0.0
            for j in range(d):
                r = x[i, j] - means[c, j]
                q += r * r
            terms[c] = logits[c] - 0.5 * q
        most = terms[0]
        for c in range(1, k):
            most = max(most, terms[c])
        z = 0.0
        for c in range(k):
            z += math.exp(terms[c] - most)
        s += math.log(z) + most
    return s


def paths(start, drift, spread, noise):
    s = 0.0
    for p in prange(noise.shape[0]):
        x = start
        for t in range(noise.shape[1]):
            x = x + drift * x * 0.01 + spread * x * noise[p, t] * 0.1
        s += max(x - 1.0, 0.0)
    return s / noise.shape[0]


def nested(a):
    y = np.zeros(a.shape)
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            y[i, j] = math.sin(a[i, j])
    return np.sum(y * y)


def strided(x):
    y = np.zeros(x.size)
    for i in prange(2, x.size, 3):
        y[i] = x[i] * x[i - 2] * x[i - 1]
    return np.sum(y * y)


def backwards(x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[x.size - 1 - i] = math.exp(-x[i]) * x[i]
    return np.sum(y * y)


def conditional(x, w):
    s = 0.0
    y = x.copy()
    for i in prange(x.size):
        if x[i] > 0.5:
            y[i] = x[i] * w[0]
            s += y[i] * w[1]
        elif x[i] < 0.1:
            s += x[i]
    return s + np.sum(y * y)


def in_place(x):
    y = x.copy()
    for _ in range(3):
        for i in prange(y.size):
            y[i] = math.sin(y[i]) * y[i]
    return np.sum(y)


def extreme(x):
    most = x[0]
    for i in prange(x.size):
        most = max(most, x[i] * x[i])
    return most


def filtered(u, w):
    """Reaches further than the neighbours."""
    y = np.zeros(u.size)
    for i in prange(u.size - w.size):
        s = 0.0
        for j in range(w.size):
            s += w[j] * u[i + j]
        y[i] = s * s
    return np.sum(y)


def wide(u, a):
    """Two trips to either side."""
    y = np.zeros(u.size)
    for i in prange(2, u.size - 2):
        y[i] = a * u[i] * (u[i - 2] + u[i + 2]) - u[i - 1] * u[i + 1]
    return np.sum(y * y)


def rows(a, b):
    y = np.zeros(a.shape)
    for i in prange(a.shape[0]):
        y[i] = np.exp(a[i]) * b + a[i, 0]
    return np.sum(y * y)


def until_small(x):
    s = 0.0
    for i in prange(x.size):
        y = x[i]
        while y > 0.3:
            y = y * y
        s += y
    return s


def triangle(a, x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        s = 0.0
        for j in range(i + 1):
            s = math.sin(s + a[i, j] * x[j])
        y[i] = s
    return np.sum(y * y)


def workspace(x, w):
    """A trip overwrites what it has made itself."""
    s = 0.0
    for i in prange(x.size):
        v = np.empty(w.size)
        for j in range(w.size):
            v[j] = x[i] * w[j]
        for _ in range(2):
            for j in range(w.size):
                v[j] = math.sin(v[j]) * v[j]
        s += np.sum(v)
    return s


def columns(a):
    s = 0.0
    t = a.T
    for j in prange(a.shape[1]):
        column = t[j]
        for i in range(1, column.size):
            s += column[i] * column[i - 1]
    return s


def swapped(x, order):
    """Where the trips store is known to the user alone."""
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[order[i]] = x[i] * x[i]
    return np.sum(y * y * np.arange(x.size))


def own_by_index(x, w, k):
    """Nobody says that the trips have scratch to themselves but its place in the loop."""
    s = 0.0
    for i in prange(x.size):
        v = np.zeros(w.size)
        v[k[i]] = x[i] * w[k[i]]
        for j in range(w.size):
            v[j] = v[j] * v[k[i]]
        s += math.sin(v[k[i]]) * v[k[i]]
    return s


def skipping(x, w):
    """What one path leaves undefined is no number that the trips hand on."""
    s = 0.0
    for i in prange(x.size):
        if x[i] < 0.3:
            continue
        scale = w
        if x[i] > 0.7:
            scale = w * x[i]
            far = math.sin(scale)
        else:
            far = scale * scale
        s += far * x[i]
    return s


def counted(x):
    count, s = 0, 0.0
    for i in prange(x.size):
        if x[i] > 0.4:
            count += 1
            s += x[i] * x[i]
    return s / max(count, 1)


def checked_trips(x):
    s = 0.0
    for i in prange(x.size):
        assert x[i] < 2.0
        s += x[i] * x[i]
    return s


def cells(x, w):
    s = 0.0
    for i in prange(x.size):
        k = int(math.floor(abs(math.sin(x[i])) * 4.0))
        s += w[k] * math.exp(x[i])
        if x[i] > 0.5:
            s += w[k - 1] * x[i]
    return s


def cells_kept(x, w):
    places = np.zeros(x.size, np.int64)
    y = np.zeros_like(x)
    for i in prange(x.size):
        places[i] += int(math.floor(abs(math.sin(x[i])) * 4.0))
        y[i] = w[places[i]] * x[i]
    return np.sum(y * y)


def singles(x, w):
    y = np.zeros_like(x)
    for i in prange(x.size):
        y[i] = x[i] * w[i % 3] * x[i]
    return np.sum(y * y)


def dependent(x):
    """No parallel loop at all, whatever the user says."""
    y = x.copy()
    for i in prange(1, y.size):
        y[i] = y[i] * y[i - 1]
    return np.sum(y)


def options(spot, strike, maturity, rate):
    """Sums over trips, and nothing but what vectors have, elementary functions aside."""
    s = 0.0
    for i in prange(spot.size):
        spread = 0.3 * math.sqrt(maturity[i])
        d = (math.log(spot[i] / strike[i]) + rate * maturity[i]) / spread
        s += spot[i] * math.erf(d) - strike[i] * math.exp(-rate * maturity[i]) * math.erf(d - spread)
    return s


def packed(x, factors):
    """Scratch of more than one axis, and a place in what is packed that inner loops count on."""
    n, d = x.shape
    k = factors.shape[0]
    s = 0.0
    for i in prange(n):
        terms = np.empty(k)
        scaled = np.empty(d)
        for c in range(k):
            for j in range(d):
                scaled[j] = math.exp(factors[c, j]) * x[i, j]
            p = d
            for j in range(d):
                for row in range(j + 1, d):
                    scaled[row] += factors[c, p] * x[i, j]
                    p += 1
            q = 0.0
            for j in range(d):
                q += scaled[j] * scaled[j]
            terms[c] = -0.5 * q
        z = 0.0
        for c in range(k):
            z += math.exp(terms[c])
        s += math.log(z)
    return s


def coupled(u, w):
    """A recurrence in each trip, of what neighbours use as well."""
    y = np.zeros(u.size)
    for i in prange(1, u.size - 1):
        s = u[i]
        for j in range(w.size):
            s = math.tanh(s * w[j] + u[i - 1] * u[i + 1])
        y[i] = s
    return np.sum(y * y)


def some(x, w, n):
    """As many trips as the caller says, none if it is below zero."""
    s = 0.0
    for i in prange(n):
        q = 0.0
        for j in range(w.size):
            q = math.exp(-q * w[j]) + x[i] * w[j]
        s += q
    return s


def damped(u, k, steps):
    """Sweeps over elements next to each other, with a decay that is no constant."""
    n = u.size
    v, w = u.copy(), u.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            w[i] = math.exp(-k[i]) * v[i] + k[i] * (v[i - 1] + v[i + 1])
        v, w = w, v
    return np.sum(v * v)


@dataclass(frozen=True)
class Row:
    function: Callable[..., float]
    wrt: tuple[int, ...]
    arguments: Callable[[np.random.Generator, int], Sequence[Any]]
    largest: int = 100_000


def vector(rng, n):
    return rng.uniform(0.05, 1.0, n)


PRANGES = {
    row.function.__name__: row
    for row in (
        Row(squares, (0,), lambda rng, n: (vector(rng, n),)),
        Row(total, (0, 1), lambda rng, n: (vector(rng, n), 1.3)),
        Row(two_totals, (0,), lambda rng, n: (vector(rng, n),)),
        Row(shifted, (0,), lambda rng, n: (vector(rng, n),)),
        Row(diffusion, (0, 1), lambda rng, n: (rng.random((n, 9)), 0.1, 3)),
        Row(linear_diffusion, (0,), lambda rng, n: (rng.random((n, 9)), 3)),
        Row(looked_up, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 5), rng.integers(0, 5, n))),
        Row(histogram, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 5), rng.integers(0, 5, n))),
        Row(product, (0, 1), lambda rng, n: (rng.random((n, 7)), vector(rng, 7))),
        Row(log_likelihood, (0, 1, 2), lambda rng, n: (rng.random((n, 3)), rng.random((4, 3)), vector(rng, 4))),
        Row(paths, (0, 1, 2), lambda rng, n: (1.0, 0.2, 0.3, rng.standard_normal((n + 1, 8)))),
        Row(nested, (0,), lambda rng, n: (rng.random((n, 6)),)),
        Row(strided, (0,), lambda rng, n: (vector(rng, n),)),
        Row(backwards, (0,), lambda rng, n: (vector(rng, n),)),
        Row(conditional, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 2))),
        Row(in_place, (0,), lambda rng, n: (vector(rng, n),)),
        Row(extreme, (0,), lambda rng, n: (vector(rng, n + 1),)),
        Row(filtered, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 3))),
        Row(wide, (0, 1), lambda rng, n: (vector(rng, n), 0.7)),
        Row(rows, (0, 1), lambda rng, n: (rng.random((n, 4)), vector(rng, 4))),
        Row(until_small, (0,), lambda rng, n: (vector(rng, n) * 0.9,)),
        Row(triangle, (0, 1), lambda rng, n: (rng.random((n, n)), vector(rng, n)), largest=300),
        Row(workspace, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 5))),
        Row(columns, (0,), lambda rng, n: (rng.random((6, n)),)),
        Row(skipping, (0, 1), lambda rng, n: (vector(rng, n), 1.2)),
        Row(counted, (0,), lambda rng, n: (vector(rng, n),)),
        Row(checked_trips, (0,), lambda rng, n: (vector(rng, n),)),
        Row(cells, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 4))),
        Row(cells_kept, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 4))),
        Row(singles, (0, 1), lambda rng, n: (vector(rng, n).astype(np.float32), vector(rng, 3).astype(np.float32))),
        Row(dependent, (0,), lambda rng, n: (vector(rng, n),)),
        Row(own_by_index, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 5), rng.integers(0, 5, n))),
        Row(swapped, (0,), lambda rng, n: (vector(rng, n), rng.permutation(n))),
        Row(options, (0, 1, 2, 3), lambda rng, n: (vector(rng, n), vector(rng, n), vector(rng, n), 0.03)),
        Row(packed, (0, 1), lambda rng, n: (rng.random((n, 3)), 0.3 * rng.random((4, 6)))),
        Row(coupled, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 4))),
        Row(some, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, 4), n or -3)),
        Row(damped, (0, 1), lambda rng, n: (vector(rng, n), vector(rng, n), 3)),
    )
}
