"""Functions of many kinds, as users write them, and arguments for them: numbers, and shapes of arrays.

The derivatives of each are compared with the CPU's, and with each other.
"""

import math

import numpy as np
from numba import prange

import adjit

# ------------------------------------------------------------------------------------------------- maps and sums


def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + y


def misfit(x, d, w, a):
    total = 0.0
    for i in range(x.size):
        y = a[0] * math.tanh(a[1] * x[i])
        r = y - d[i]
        total += w[i] * r * r
    return total


def in_threads(x, c):
    y = np.empty_like(x)
    for i in prange(x.size):
        y[i] = c * x[i] if x[i] > 0.5 else math.sin(x[i])
    return y


def norm(x):
    return np.sqrt(np.sum(x * x))


def two_sums(x, y):
    return np.sum(x * y) / np.sum(x * x)


def scaled_by_sum(x):
    return x / np.sum(x)


def outer_product(x, y):
    return np.exp(-np.outer(x, y))


def pairs(x, y):
    k = np.empty((x.size, y.size))
    for i in range(x.size):
        for j in range(y.size):
            d = x[i] - y[j]
            k[i, j] = math.exp(-d * d)
    return k


def sums_over_rows(a):
    return np.sum(a * a, axis=1)


def sums_over_columns(a):
    return np.sum(np.sin(a), axis=0)


def total_of_matrix(a, b):
    return np.sum(a * b)


def softmax_rows(a):
    e = np.exp(a - np.max(a, axis=1).reshape((a.shape[0], 1)))
    return e / np.sum(e, axis=1).reshape((a.shape[0], 1))


def centred(a):
    return a - np.mean(a, axis=0)


def loss_of_rows(a, w):
    z = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * w[j]
        z[i] = math.log1p(math.exp(-s))
    return np.mean(z)


def clipped(x, lo):
    return np.where(x < lo, lo * lo, np.minimum(x, 0.7))


def powers(x):
    return x**2 + x**3.0 + x**0.5 + x**-1 + np.sqrt(x) ** 1.7


def elementary(x):
    return np.arctan(x) + np.log1p(x) * np.expm1(x) + np.cosh(x) + np.hypot(x, 2.0) + np.cbrt(x)


def rank_three(a):
    return np.sum(np.cos(a) * a, axis=2)


def broadcast(a, x, y):
    return a * x + y.reshape((y.size, 1))


def counted(x):
    total = 0.0
    n = 0
    for i in range(x.size):
        if x[i] > 0.4:
            total += x[i] ** 2
            n += 1
    return total / n


def backwards(x):
    y = np.zeros(x.size)
    for i in range(x.size - 1, -1, -1):
        y[i] = x[x.size - 1 - i] * x[i]
    return y


def every_third(x):
    y = x.copy()
    for i in range(1, x.size, 3):
        y[i] = x[i] * x[i]
    return y


# ------------------------------------------------------------------------------------------------- stencils


def seep(p0, k, steps):
    p = p0.copy()
    q = p0.copy()
    for t in range(steps):
        for i in range(1, p.size - 1):
            q[i] = p[i] + k[i] * (p[i - 1] - 2.0 * p[i] + p[i + 1]) - 0.1 * p[i] ** 3
        p, q = q, p
    return np.sum(p * p)


def by_slices(u, c, steps):
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        w[1:-1] = v[1:-1] + c * (v[2:] - 2.0 * v[1:-1] + v[:-2])
        v = w
    return v


def heat_plane(u, c, steps):
    v = u.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = v[1:-1, 1:-1] + c * (
            v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * v[1:-1, 1:-1]
        )
    return np.sum(v * v)


def laplace_box(u):
    v = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for k in range(1, u.shape[2] - 1):
                v[i, j, k] = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j, k + 1] * u[i, j, k]
    return v


def convolution(x, h):
    y = np.zeros(x.size)
    for i in range(2, x.size - 2):
        for k in range(5):
            y[i] += h[k] * x[i + k - 2]
    return y


def upwind(u, a, steps):
    v = u.copy()
    for t in range(steps):
        w = np.empty_like(v)
        for i in range(v.size):
            left = v[i - 1] if i > 0 else v[v.size - 1]
            w[i] = v[i] - a * (v[i] - left)
        v = w
    return v


def leapfrog(x, v, dt, steps):
    x = x.copy()
    v = v.copy()
    for t in range(steps):
        v -= dt * np.sin(x)
        x += dt * v
    return np.sum(x) + np.sum(v * v)


# ------------------------------------------------------------------------------------------------- index arrays


def gathered(x, idx):
    return x[idx] * x[idx]


def scattered(x, idx):
    y = np.zeros(7)
    for i in range(x.size):
        y[idx[i]] += x[i] * x[i]
    return y


def on_edges(p, ends):
    total = 0.0
    for e in range(ends.shape[0]):
        d = p[ends[e, 0]] - p[ends[e, 1]]
        total += d * d
    return total


def permuted(x, idx):
    y = np.empty_like(x)
    for i in prange(x.size):
        y[idx[i]] = math.exp(x[i])
    return y


# ------------------------------------------------------------------------------------------------- loops in a trip


def monte_carlo(s0, sigma, z):
    total = 0.0
    for i in range(z.shape[0]):
        s = s0
        for t in range(z.shape[1]):
            s *= math.exp(-0.005 * sigma * sigma + 0.1 * sigma * z[i, t])
        total += max(s - 1.0, 0.0)
    return total / z.shape[0]


def ensemble(r, steps):
    out = np.empty_like(r)
    for i in prange(r.size):
        x = 0.3
        for _ in range(steps):
            x = r[i] * x * (1.0 - x)
        out[i] = x
    return out


def newton(a):
    y = np.empty_like(a)
    for i in range(a.size):
        x = 1.0
        for _ in range(6):
            x = 0.5 * (x + a[i] / x)
        y[i] = x
    return y


def small_solves(d, b):
    # the Thomas algorithm, a system a row
    x = np.empty_like(b)
    for s in range(b.shape[0]):
        c = np.empty(4)
        y = np.empty(4)
        c[0] = 0.25 / d[s, 0]
        y[0] = b[s, 0] / d[s, 0]
        for i in range(1, 4):
            m = d[s, i] + 2.0 - 0.25 * c[i - 1]
            c[i] = 0.25 / m
            y[i] = (b[s, i] - 0.25 * y[i - 1]) / m
        x[s, 3] = y[3]
        for i in range(2, -1, -1):
            x[s, i] = y[i] - c[i] * x[s, i + 1]
    return x


def oscillators(x0, v0, steps):
    total = 0.0
    for i in range(x0.size):
        x = x0[i]
        v = v0[i]
        for t in range(steps):
            v = v - 0.1 * math.sin(x)
            x = x + 0.1 * v
        total += x * x + v * v
    return total


def nearest(x, y):
    out = np.empty(x.size)
    for i in range(x.size):
        best = 1e30
        for j in range(y.size):
            d = (x[i] - y[j]) ** 2
            if d < best:
                best = d
        out[i] = best
    return out


def histogram_of_rows(a, c):
    h = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > c:
                break
            h[i] += a[i, j] ** 2
    return h


def lattice(f, omega, steps):
    g = f.copy()
    for t in range(steps):
        rho = g[0] + g[1] + g[2]
        u = (g[1] - g[2]) / rho
        e0 = rho * (2.0 / 3.0 - u * u)
        e1 = rho * (1.0 / 6.0 + 0.5 * u + 0.5 * u * u)
        e2 = rho * (1.0 / 6.0 - 0.5 * u + 0.5 * u * u)
        h = np.empty_like(g)
        n = g.shape[1]
        for i in prange(n):
            h[0, i] = g[0, i] + omega * (e0[i] - g[0, i])
            h[1, (i + 1) % n] = g[1, i] + omega * (e1[i] - g[1, i])
            h[2, (i + n - 1) % n] = g[2, i] + omega * (e2[i] - g[2, i])
        g = h
    return np.sum(g[1] * g[1])


# ------------------------------------------------------------------------------------------------- host control flow


def damped_until(x, tolerance):
    y = x.copy()
    while np.sum(y * y) > tolerance:
        y = 0.5 * y * y + 0.1 * y
    return y


def recurrence(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.size):
        y[i] = a * y[i - 1] + x[i]
    return np.sum(y * y)


def by_mean(x):
    m = np.mean(x)
    if x.size > 5:
        m = m * m
    return (x - m) ** 2


def accumulated(x, steps):
    total = 0.0
    y = x.copy()
    for t in range(steps):
        y = np.sin(y)
        total += np.sum(y)
    return total


def checkpointed(x, steps):
    y = x.copy()
    for t in adjit.checkpoint(range(steps)):
        y = y + 0.1 * np.sin(y)
    return np.sum(y * y)


def corners(a):
    return a[0, 0] * a[-1, -1] + a[1, 0] ** 2


def transposed_views(a):
    b = a.T
    return np.sum(b[1:] * b[:-1], axis=0)


TABLE = np.array([0.3, -0.2, 0.7, 0.1])


def with_global(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = TABLE[i % 4] * x[i] ** 2
    return y


def pair_of_results(x, c):
    return np.sum(x * c), x * c


def first_so_many(x, count):
    # how many trips there are stands in an array
    total = 0.0
    y = np.zeros(x.size)
    for i in range(count[0]):
        y[i] = x[i] * x[i]
    for i in range(count[1], count[0]):
        total += x[i]
    return total * np.sum(y)


def last_where(x, c):
    # a number that kernels make, and integers with it, in branches and loops of the host
    best = 0.0
    place = 0
    for t in range(3):
        s = np.sum(x) * (t + 1)
        if s > c:
            best = s * c
            place = t
    return best * best + place * c


def on_a_grid(x, n):
    t = np.linspace(0.0, 1.0, n)
    return np.sum(np.arange(n) * x) + np.sum(np.exp(t) * x)


def log_sum_exp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def spread_of(x):
    low = 1e30
    for i in range(x.size):
        if x[i] * x[i] < low:
            low = x[i] * x[i]
    return np.max(x) - low


def converted(x, k):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = float(int(x[i] * 8.0)) * x[i] + float(k) + (x[-i] if x[i] > 0.5 else 0.0) + max(x[i], 0.3) + abs(x[i])
    return y + np.sign(x) * np.heaviside(x, 0.5) + np.logaddexp(x, 0.3) + np.maximum(x, 0.4) + np.floor(3.0 * x) * x


def largest_of_rows(a):
    y = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        y[i] = np.max(a[i]) * a[i, 0]
    return y


def of_products(a, b, x):
    # of matrices and vectors, of parts of them and of what is transposed
    y = np.dot(a, x)
    c = a @ b.T
    return np.dot(y, y) + np.sum(c * c) + y[1:] @ c[1:, 0] + x @ (b.T @ y)


def network(w, v, x):
    h = np.tanh(x @ w)
    return np.mean((h @ v) ** 2)


def rows_times(a, w):
    y = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        y[i] = np.dot(a[i], w) ** 2
    return y


INDICES = np.array([3, 1, 1, 0, 6, 5, 3, 2, 2, 4, 6])
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 4]])
ORDER = np.array([4, 2, 0, 1, 3, 6, 5])


# function, arguments: [n] or [n, m] is an array of that shape, everything else is itself
def clusters(p, cut):
    """Pairs: forces on each by all others, of which one in range has an energy."""
    energy = 0.0
    for i in prange(p.size):
        own = 0.0
        for j in range(p.size):
            r = p[i] - p[j]
            if j != i and abs(r) < cut:
                s = 1.0 / (0.3 + r * r)
                own += s * s * s - s
        energy += own * p[i]
    return energy


def potential(x, y, m, soft):
    """Pairs, of which the reverse would keep what a root was."""
    total = 0.0
    for i in prange(x.size):
        for j in range(x.size):
            if i != j:
                dx, dy = x[i] - x[j], y[i] - y[j]
                total -= m[i] * m[j] / math.sqrt(dx * dx + dy * dy + soft)
    return total


def coupled(y0, m, k):
    """Pairs in two axes, in a time loop."""
    y = y0.copy()
    for _ in range(2):
        f = np.zeros_like(y)
        for i in prange(y.shape[0]):
            for j in range(y.shape[0]):
                d = y[j, 0] - y[i, 0]
                f[i, 0] += k * m[j] * math.sin(d)
                f[i, 1] += m[j] * d * y[j, 1]
        y = y + 0.1 * f
    return y


def around_zero(x, n):
    """Trips that count from below zero: of a sum, along the second axis of a grid, and downwards."""
    total = 0.0
    for i in range(-n, n + 1):
        total += x[abs(i)] * (i + 0.5)
    y = np.zeros((2 * n + 1, 2 * n + 1))
    for i in range(-n, n + 1):
        for j in range(n, -n - 1, -1):
            y[i + n, j + n] = x[abs(i)] * math.sin(x[abs(j)] + i)
    for i in range(n, -n - 1, -1):
        total -= x[abs(i)] ** 2 * i
    return total + np.sum(y**2)


FUNCTIONS = {
    "chain": (chain, [[37], [37]]),
    "misfit": (misfit, [[61], [61], [61], [3]]),
    "in_threads": (in_threads, [[21], 1.3]),
    "norm": (norm, [[50]]),
    "two_sums": (two_sums, [[33], [33]]),
    "scaled_by_sum": (scaled_by_sum, [[19]]),
    "outer_product": (outer_product, [[9], [5]]),
    "pairs": (pairs, [[6], [7]]),
    "sums_over_rows": (sums_over_rows, [[5, 9]]),
    "sums_over_columns": (sums_over_columns, [[6, 9]]),
    "total_of_matrix": (total_of_matrix, [[7, 9], [7, 9]]),
    "of_products": (of_products, [[4, 5], [4, 5], [5]]),
    "network": (network, [[4, 3], [3], [6, 4]]),
    "rows_times": (rows_times, [[7, 4], [4]]),
    "softmax_rows": (softmax_rows, [[5, 4]]),
    "centred": (centred, [[6, 3]]),
    "loss_of_rows": (loss_of_rows, [[7, 3], [3]]),
    "clipped": (clipped, [[23], 0.4]),
    "powers": (powers, [[17]]),
    "elementary": (elementary, [[18]]),
    "rank_three": (rank_three, [[3, 4, 5]]),
    "broadcast": (broadcast, [[4, 5], [5], [4]]),
    "counted": (counted, [[30]]),
    "backwards": (backwards, [[12]]),
    "every_third": (every_third, [[20]]),
    "seep": (seep, [[37], [37], 3]),
    "by_slices": (by_slices, [[18], 0.2, 3]),
    "heat_plane": (heat_plane, [[6, 7], 0.1, 2]),
    "laplace_box": (laplace_box, [[4, 5, 4]]),
    "convolution": (convolution, [[17], [5]]),
    "upwind": (upwind, [[13], 0.4, 2]),
    "leapfrog": (leapfrog, [[10], [10], 0.1, 3]),
    "gathered": (gathered, [[7], INDICES]),
    "scattered": (scattered, [[11], INDICES]),
    "on_edges": (on_edges, [[5], EDGES]),
    "permuted": (permuted, [[7], ORDER]),
    "monte_carlo": (monte_carlo, [1.1, 0.4, [9, 4]]),
    "ensemble": (ensemble, [[18], 5]),
    "newton": (newton, [[17]]),
    "small_solves": (small_solves, [[5, 4], [5, 4]]),
    "oscillators": (oscillators, [[9], [9], 4]),
    "nearest": (nearest, [[8], [5]]),
    "histogram_of_rows": (histogram_of_rows, [[5, 6], 0.8]),
    "lattice": (lattice, [[3, 9], 0.8, 2]),
    "damped_until": (damped_until, [[9], 0.3]),
    "recurrence": (recurrence, [[14], 0.8]),
    "by_mean": (by_mean, [[15]]),
    "accumulated": (accumulated, [[12], 3]),
    "checkpointed": (checkpointed, [[12], 5]),
    "corners": (corners, [[3, 4]]),
    "transposed_views": (transposed_views, [[4, 5]]),
    "with_global": (with_global, [[11]]),
    "on_a_grid": (on_a_grid, [[9], 9]),
    "converted": (converted, [[19], 3]),
    "largest_of_rows": (largest_of_rows, [[7, 4]]),
    "log_sum_exp": (log_sum_exp, [[53]]),
    "spread_of": (spread_of, [[53]]),
    "first_so_many": (first_so_many, [[9], np.array([6, 2])]),
    "last_where": (last_where, [[9], 5.5]),
    "pair_of_results": (pair_of_results, [[9], 0.7]),
    "clusters": (clusters, [[17], 0.4]),
    "potential": (potential, [[17], [17], [17], 0.1]),
    "coupled": (coupled, [[18, 2], [18], 0.3]),
    "around_zero": (around_zero, [[20], 6]),
}
