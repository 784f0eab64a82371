"""Kernels whose threads raise and lower elements together, and kernels that draw random numbers."""

import math

import numpy as np
from numba import cuda, float64, int64
from numba.cuda.random import (
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

from tests.cuda.kernels.maps import normal

T = 8


@cuda.jit
def greatest(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(y, 0, x[i] * x[i])


@cuda.jit
def bounds(x, k, low, high):
    """The least and the greatest value of each group, and what they are made of goes on."""
    i = cuda.grid(1)
    if i >= x.size:
        return
    v = math.sin(x[i]) * x[i]
    cuda.atomic.min(low, k[i], v)
    cuda.atomic.max(high, k[i], v + 0.1 * x[i])


@cuda.jit
def softmax_of_rows(x, y):
    """The greatest value of a row in shared memory."""
    top = cuda.shared.array(1, float64)
    total = cuda.shared.array(1, float64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        top[0] = -math.inf
        total[0] = 0.0
    cuda.syncthreads()
    if t < x.shape[1]:
        cuda.atomic.max(top, 0, x[row, t])
    cuda.syncthreads()
    e = math.exp(x[row, t] - 0.5 * top[0]) if t < x.shape[1] else 0.0
    cuda.atomic.add(total, 0, e)
    cuda.syncthreads()
    if t < x.shape[1]:
        y[row, t] = e / total[0] + top[0]


@cuda.jit
def spread(x, out):
    """A tree in shared memory in each block, and one operation of the block's on global memory."""
    part = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] if i < x.size else -math.inf
    cuda.syncthreads()
    half = T // 2
    while half > 0:
        if t < half:
            part[t] = max(part[t], part[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.max(out, 0, part[0])


@cuda.jit
def columns(u, top):
    i, j = cuda.grid(2)
    if i < u.shape[0] and j < u.shape[1]:
        cuda.atomic.max(top, j, u[i, j] * math.cos(u[i, j]))


@cuda.jit
def strided_least(x, low):
    """Several trips a thread, which lower several elements."""
    i, stride = cuda.grid(1), cuda.gridsize(1)
    for k in range(i, x.size, stride):
        cuda.atomic.min(low, k % 3, math.sin(x[k]))


@cuda.jit
def depths(p, z, colour, depth, image):
    """Splatted points: the nearest depth of each pixel, as whole numbers that say who is nearest."""
    i = cuda.grid(1)
    if i < p.size:
        cuda.atomic.min(depth, p[i], int64(z[i] * 1000.0))
        cuda.atomic.add(image, p[i], colour[i] * z[i])


@cuda.jit
def pooled(x, y):
    """Maxima over windows of a tile, each thread for two windows."""
    top = cuda.shared.array((2, T // 2), float64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t < T // 2:
        top[0, t] = 0.0
        top[1, t] = 1.0
    cuda.syncthreads()
    v = x[b * T + t]
    cuda.atomic.max(top, (0, t // 2), v * v)
    cuda.atomic.max(top, (1, (t + 1) // 2 % (T // 2)), v)
    cuda.syncthreads()
    if t < T // 2:
        y[b, t] = top[0, t] * top[1, t]


@cuda.jit
def walks(states, s0, mu, sigma, steps, out):
    """Paths of a price, a payoff at the end."""
    i = cuda.grid(1)
    if i < s0.size:
        s = s0[i]
        for _ in range(steps):
            s *= math.exp(mu + sigma[i] * xoroshiro128p_normal_float64(states, i))
        out[i] = math.log1p(math.exp(5.0 * (s - 1.0)))


@cuda.jit
def scattering(states, x, absorb, out):
    """A photon that is scattered until it is absorbed: the draws say which way a path goes."""
    i = cuda.grid(1)
    if i < x.size:
        weight, depth = 1.0, x[i]
        for _ in range(6):
            u = xoroshiro128p_uniform_float64(states, i)
            if u < 0.4:
                weight *= 1.0 - absorb
                depth = depth + math.sin(depth) * u
            else:
                depth = depth * (1.0 + 0.1 * xoroshiro128p_uniform_float32(states, i))
        cuda.atomic.add(out, 0, weight * depth)


@cuda.jit(device=True)
def jitter(states, i):
    return xoroshiro128p_normal_float32(states, i) * 0.1


@cuda.jit
def noisy(states, x, w, y):
    """Draws by a device function, in a grid-stride loop, between barriers."""
    part = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] * (1.0 + jitter(states, i)) if i < x.size else 0.0
    cuda.syncthreads()
    if i < x.size:
        y[i] = w[t] * part[T - 1 - t] * (1.0 + jitter(states, i))


def states(g, n):
    """As `create_xoroshiro128p_states` makes them."""
    made = np.zeros(n, [("s0", np.uint64), ("s1", np.uint64)])
    for name in made.dtype.names:
        made[name] = g.integers(1, 2**63, n, dtype=np.uint64)
    return made


CASES = {
    "greatest": (greatest, (3, 8), lambda g: (normal(g, 20), normal(g, 1))),
    "greatest, stays": (greatest, (3, 8), lambda g: (normal(g, 20), np.array([50.0]))),
    "bounds": (bounds, (3, 8), lambda g: (normal(g, 20), g.integers(0, 5, 20), normal(g, 5), normal(g, 5))),
    "softmax of rows": (softmax_of_rows, (3, T), lambda g: (normal(g, 3, 6), normal(g, 3, 6))),
    "spread": (spread, (3, T), lambda g: (normal(g, 20), normal(g, 1))),
    "columns": (columns, ((2, 2), (4, 4)), lambda g: (normal(g, 7, 6), normal(g, 6))),
    "strided least": (strided_least, (2, 4), lambda g: (normal(g, 20), normal(g, 3))),
    "depths": (
        depths, (2, 8),
        lambda g: (g.integers(0, 6, 15), g.random(15), normal(g, 15), np.full(6, 900), normal(g, 6)),
    ),
    "pooled": (pooled, (2, T), lambda g: (normal(g, 16), normal(g, 2, 4))),
    "walks": (walks, (2, 8), lambda g: (states(g, 13), 1 + g.random(13), 0.01, 0.2 * g.random(13), 5, normal(g, 13))),
    "scattering": (scattering, (2, 8), lambda g: (states(g, 13), normal(g, 13), 0.3, normal(g, 1))),
    "noisy": (noisy, (2, T), lambda g: (states(g, 16), normal(g, 13), normal(g, T), normal(g, 13))),
}  # fmt: skip
