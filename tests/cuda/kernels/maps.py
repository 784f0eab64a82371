"""Kernels of one stretch: maps, stencils, gathers, scatters, particles, ensembles."""

import math

import numpy as np
from numba import cuda, float32, float64


@cuda.jit
def scale(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * math.sin(x[i])


@cuda.jit
def in_place(y, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = y[i] * y[i] * a + math.cos(y[i])


@cuda.jit
def early_return(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    if x[i] < 0.0:
        y[i] = x[i] * x[i]
        return
    y[i] = math.exp(x[i])


@cuda.jit
def strided(x, y):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.size, stride):
        y[i] = math.tanh(x[i]) * x[i]


@cuda.jit
def strided_while(x, y, scale):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < x.size:
        y[i] = math.tanh(x[i]) * scale
        i += cuda.gridDim.x * cuda.blockDim.x


@cuda.jit
def heat(u, v, c):
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) - 0.1 * u[i] ** 3


@cuda.jit
def jacobi(u, v, k):
    i, j = cuda.grid(2)
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        v[i, j] = k[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / (1.0 + u[i, j] ** 2)


@cuda.jit
def waves(u, v):
    i, j, k = cuda.grid(3)
    n, m, l = u.shape
    if i < n and j < m and k < l:
        left = u[i - 1, j, k] if i > 0 else 0.0
        below = u[i, j - 1, k] if j > 0 else 0.0
        behind = u[i, j, k - 1] if k > 0 else 0.0
        v[i, j, k] = u[i, j, k] * (left + below + behind)


@cuda.jit
def periodic(u, v):
    i = cuda.grid(1)
    n = u.size
    if i < n:
        v[i] = u[(i + 1) % n] * u[(i + n - 1) % n]


@cuda.jit
def table(x, grid, values, y):
    i = cuda.grid(1)
    if i < x.size:
        step = grid[1] - grid[0]
        place = (x[i] - grid[0]) / step
        k = min(max(int(math.floor(place)), 0), values.size - 2)
        t = place - k
        y[i] = (1.0 - t) * values[k] + t * values[k + 1]


@cuda.jit
def gathered(x, index, y):
    i = cuda.grid(1)
    if i < index.size:
        y[i] = x[index[i]] ** 2


@cuda.jit
def scattered(x, index, y):
    i = cuda.grid(1)
    if i < index.size:
        y[index[i]] = x[i] ** 2


@cuda.jit
def histogram(x, w, h):
    i = cuda.grid(1)
    if i < x.size:
        b = min(max(int(x[i] * h.size), 0), h.size - 1)
        cuda.atomic.add(h, b, w[i] * x[i])


@cuda.jit
def summed(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i] * x[i])


@cuda.jit
def taken_away(x, h):
    i = cuda.grid(1)
    if i < x.shape[0]:
        cuda.atomic.sub(h, (i % 2, i % 3), math.exp(x[i]))


@cuda.jit
def particles(p, start, neighbours, energy, radius):
    i = cuda.grid(1)
    if i < p.shape[0]:
        e = 0.0
        for s in range(start[i], start[i + 1]):
            j = neighbours[s]
            dx = p[i, 0] - p[j, 0]
            dy = p[i, 1] - p[j, 1]
            r2 = dx * dx + dy * dy + 0.1
            if r2 < radius:
                e += math.exp(-r2) / math.sqrt(r2)
        energy[i] = e


@cuda.jit
def forces(p, f):
    i = cuda.grid(1)
    n = p.shape[0]
    if i < n:
        for j in range(n):
            if j != i:
                d = p[i] - p[j]
                w = d / (0.5 + d * d)
                cuda.atomic.add(f, i, w)
                cuda.atomic.add(f, j, -w * p[i])


@cuda.jit
def decay(y0, rate, steps, out):
    i = cuda.grid(1)
    if i < y0.size:
        y = y0[i]
        for s in range(steps[i]):
            k1 = -rate[i] * y * y
            k2 = -rate[i] * (y + 0.05 * k1) * (y + 0.05 * k1)
            y += 0.1 * k2
        out[i] = y


@cuda.jit
def two_of_a_branch(x, y):
    # one branch makes the adjoints of two neighbours
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        p = x[i - 1]
        q = x[i + 1]
        if x[i] > 0.0:
            v = math.sin(p * q)
        else:
            v = p * p * math.cos(q)
        y[i] = v


@cuda.jit
def decay_bounded(y0, rate, steps, most, out):
    # how many steps there are differs by thread, and is no more than an argument says
    i = cuda.grid(1)
    if i < y0.size:
        y = y0[i]
        for s in range(min(steps[i], most)):
            y += 0.1 * -rate[i] * y * y
        out[i] = y


@cuda.jit
def relaxed(y0, out):
    i = cuda.grid(1)
    if i < y0.size:
        y = y0[i]
        n = 0
        while y > 0.5 and n < 50:
            y = 0.9 * y - 0.01 * y * y
            n += 1
        out[i] = y


@cuda.jit
def newton(a, out):
    i = cuda.grid(1)
    if i < a.size:
        x = 1.0
        for it in range(20):
            f = x * x * x - a[i]
            if abs(f) < 1e-13:
                break
            x -= f / (3.0 * x * x)
        out[i] = x


@cuda.jit
def path(normals, s0, sigma, out):
    i = cuda.grid(1)
    if i < normals.shape[0]:
        s = s0
        highest = s0
        for t in range(normals.shape[1]):
            s *= math.exp(-0.5 * sigma * sigma * 0.01 + sigma * 0.1 * normals[i, t])
            if s > highest:
                highest = s
        out[i] = max(highest - 0.9, 0.0) + 0.1 * s


@cuda.jit
def streaming(f, g):
    x, y = cuda.grid(2)
    n, m = f.shape[1], f.shape[2]
    if x < n and y < m:
        rho = f[0, x, y] + f[1, x, y] + f[2, x, y]
        ux = (f[1, x, y] - f[2, x, y]) / rho
        for q in range(3):
            e = 0 if q == 0 else (1 if q == 1 else -1)
            eq = rho / 3.0 * (1.0 + e * ux + ux * ux)
            g[q, (x + e + n) % n, y] = f[q, x, y] + 0.6 * (eq - f[q, x, y])


@cuda.jit
def small_solve(a, b, x):
    s = cuda.grid(1)
    if s < a.shape[0]:
        m = cuda.local.array((3, 3), float64)
        r = cuda.local.array(3, float64)
        for i in range(3):
            r[i] = b[s, i]
            for j in range(3):
                m[i, j] = a[s, i, j]
        for p in range(3):
            for i in range(p + 1, 3):
                factor = m[i, p] / m[p, p]
                for j in range(p, 3):
                    m[i, j] -= factor * m[p, j]
                r[i] -= factor * r[p]
        for p in range(2, -1, -1):
            total = r[p]
            for j in range(p + 1, 3):
                total -= m[p, j] * x[s, j]
            x[s, p] = total / m[p, p]


@cuda.jit
def thomas(lower, diagonal, upper, d, x):
    s = cuda.grid(1)
    n = d.shape[1]
    if s < d.shape[0]:
        c = cuda.local.array(8, float64)
        e = cuda.local.array(8, float64)
        c[0] = upper[s, 0] / diagonal[s, 0]
        e[0] = d[s, 0] / diagonal[s, 0]
        for i in range(1, n):
            w = diagonal[s, i] - lower[s, i] * c[i - 1]
            c[i] = upper[s, i] / w
            e[i] = (d[s, i] - lower[s, i] * e[i - 1]) / w
        x[s, n - 1] = e[n - 1]
        for i in range(n - 2, -1, -1):
            x[s, i] = e[i] - c[i] * x[s, i + 1]


@cuda.jit(device=True)
def smooth(x, k):
    return x * k if x > 0.0 else math.expm1(x) * k


@cuda.jit
def device_function(x, y, k):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = smooth(x[i], k) + smooth(-x[i], 2.0)


@cuda.jit
def matrix_vector(a, x, y):
    i = cuda.grid(1)
    if i < a.shape[0]:
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] += total


@cuda.jit
def neurons(x, c, b, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        s = b[0]
        for j in range(x.shape[1]):
            s += c[j] * x[i, j]
        y[i] = math.tanh(s)


@cuda.jit
def single(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * math.sin(x[i]) / (float32(1.0) + x[i] * x[i])


@cuda.jit
def swapped(x, y):
    i = cuda.grid(1)
    if i < x.size:
        held = x[i]
        x[i] = y[i] * y[i]
        y[i] = held * held * held


@cuda.jit
def rows(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        own = x[i]
        largest = own[0]
        for j in range(1, own.size):
            largest = max(largest, own[j])
        total = 0.0
        for j in range(own.size):
            total += math.exp(own[j] - largest)
        for j in range(own.size):
            y[i, j] = math.exp(own[j] - largest) / total


@cuda.jit(device=True)
def powers(x, n):
    return 1.0 if n < 1 else x * powers(x, n - 1)


@cuda.jit
def recursive(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = powers(x[i], i)


@cuda.jit
def nothing(x, y):
    i = cuda.grid(1)
    if i < 0:
        y[i] = x[i]


@cuda.jit
def constants(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 3.0
        if i < 4:
            y[i] += x[i] * WEIGHTS[i]


WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25])


def normal(g, *shape):
    return g.normal(size=shape)


def neighbour_list(g, n):
    start = np.zeros(n + 1, np.int64)
    start[1:] = np.cumsum(g.integers(0, 5, n))
    return start, g.integers(0, n, start[-1])


def of_particles(g):
    start, neighbours = neighbour_list(g, 20)
    return normal(g, 20, 2), start, neighbours, np.zeros(20), 3.0


def well(g, *shape):
    return normal(g, *shape) + 4.0 * np.eye(3)


# kernel, what it is launched with, arguments from a generator
@cuda.jit
def upwind(u, k, c, v):
    """What all trips of two loops add to, of an array and a number, and elements of other trips under a condition."""
    i, j = cuda.grid(2)
    if i < u.shape[0] and j < u.shape[1]:
        above = u[i - 1, j] if i > 0 else 0.0
        v[i, j] = u[i, j] + k[1] * above * u[i, j] + c * above


CASES = {
    "upwind": (upwind, ((2, 2), (4, 4)), lambda g: (normal(g, 6, 7), normal(g, 2), 0.3, normal(g, 6, 7))),
    "scale": (scale, (3, 16), lambda g: (normal(g, 40), normal(g, 40), 2.0)),
    "scale, not covered": (scale, (2, 16), lambda g: (normal(g, 40), normal(g, 40), 2.0)),
    "scale, too many": (scale, (5, 16), lambda g: (normal(g, 40), normal(g, 40), 2.0)),
    "scale, empty": (scale, (2, 16), lambda g: (normal(g, 0), normal(g, 0), 2.0)),
    "scale, no blocks": (scale, (0, 16), lambda g: (normal(g, 40), normal(g, 40), 2.0)),
    "scale, one thread": (scale, (7, 1), lambda g: (normal(g, 5), normal(g, 5), 2.0)),
    "in place": (in_place, (3, 16), lambda g: (normal(g, 40), 1.5)),
    "early return": (early_return, (3, 16), lambda g: (normal(g, 40), normal(g, 40))),
    "strided": (strided, (2, 8), lambda g: (normal(g, 40), normal(g, 40))),
    "strided while": (strided_while, (2, 8), lambda g: (normal(g, 40), normal(g, 40), 0.7)),
    "heat": (heat, (3, 16), lambda g: (normal(g, 40), normal(g, 40), 0.3)),
    "jacobi": (jacobi, ((3, 2), (4, 4)), lambda g: (normal(g, 9, 8), normal(g, 9, 8), normal(g, 9, 8))),
    "waves": (waves, ((2, 2, 2), (2, 3, 2)), lambda g: (normal(g, 4, 5, 3), normal(g, 4, 5, 3))),
    "periodic": (periodic, (3, 8), lambda g: (normal(g, 21), normal(g, 21))),
    "table": (table, (3, 8), lambda g: (4.2 * g.random(20), np.linspace(0, 4, 9), normal(g, 9), normal(g, 20))),
    "gathered": (gathered, (3, 8), lambda g: (normal(g, 9), g.integers(0, 9, 20), normal(g, 20))),
    "scattered": (scattered, (3, 8), lambda g: (normal(g, 20), g.permutation(25)[:20], normal(g, 25))),
    "histogram": (histogram, (3, 8), lambda g: (g.random(20), normal(g, 20), normal(g, 5))),
    "summed": (summed, (3, 8), lambda g: (normal(g, 20), normal(g, 1))),
    "taken away": (taken_away, (3, 8), lambda g: (normal(g, 20), normal(g, 2, 3))),
    "particles": (particles, (3, 8), of_particles),
    "forces": (forces, (2, 8), lambda g: (normal(g, 11), normal(g, 11))),
    "decay": (decay, (2, 8), lambda g: (1 + g.random(13), g.random(13), g.integers(0, 9, 13), normal(g, 13))),
    "two of a branch": (two_of_a_branch, (2, 8), lambda g: (normal(g, 13), normal(g, 13))),
    "decay, bounded": (
        decay_bounded, (2, 8),
        lambda g: (1 + g.random(13), g.random(13), g.integers(0, 9, 13), 7, normal(g, 13)),
    ),
    "relaxed": (relaxed, (2, 8), lambda g: (3 * g.random(13), normal(g, 13))),
    "newton": (newton, (2, 8), lambda g: (1 + g.random(13), normal(g, 13))),
    "path": (path, (2, 8), lambda g: (normal(g, 13, 7), 1.0, 0.4, normal(g, 13))),
    "streaming": (streaming, ((2, 2), (4, 3)), lambda g: (1 + g.random((3, 7, 5)), normal(g, 3, 7, 5))),
    "small solve": (small_solve, (2, 4), lambda g: (well(g, 6, 3, 3), normal(g, 6, 3), normal(g, 6, 3))),
    "thomas": (
        thomas, (2, 4), lambda g: tuple(normal(g, 6, 8) + shift for shift in (0.0, 6.0, 0.0, 0.0, 0.0))
    ),
    "device function": (device_function, (2, 8), lambda g: (normal(g, 13), normal(g, 13), 1.7)),
    "matrix vector": (matrix_vector, (2, 8), lambda g: (normal(g, 13, 6), normal(g, 6), normal(g, 13))),
    "neurons": (
        neurons, (2, 8), lambda g: (normal(g, 13, 6), normal(g, 6), normal(g, 1), normal(g, 13))
    ),
    "single": (single, (2, 8), lambda g: (normal(g, 13).astype(np.float32), normal(g, 13).astype(np.float32))),
    "swapped": (swapped, (2, 8), lambda g: (normal(g, 13), normal(g, 13))),
    "rows": (rows, (2, 8), lambda g: (normal(g, 13, 5), normal(g, 13, 5))),
    "rows, strided": (rows, (2, 8), lambda g: (normal(g, 13, 10)[:, ::2], normal(g, 13, 5))),
    "recursive": (recursive, (2, 8), lambda g: (normal(g, 13), normal(g, 13))),
    "nothing": (nothing, (2, 8), lambda g: (normal(g, 13), normal(g, 13))),
    "constants": (constants, (2, 8), lambda g: (normal(g, 13), normal(g, 13))),
}  # fmt: skip
