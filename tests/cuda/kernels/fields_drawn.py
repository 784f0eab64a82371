"""Kernels of fields drawn at random, as the people of each write them: finance, graphics, graphs, statistics, cloth."""

import math

import numpy as np
from numba import cuda, float64
from numba.cuda.random import xoroshiro128p_normal_float64, xoroshiro128p_uniform_float64

from tests.cuda.kernels.extremes import states
from tests.cuda.kernels.maps import normal

STEPS = 7


@cuda.jit
def american_put(spot, strike, rate, sigma, maturity, price):
    """A binomial tree of Cox, Ross and Rubinstein, a block an option, a thread a node of the last step."""
    value = cuda.shared.array(STEPS + 1, float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    dt = maturity[b] / STEPS
    up = math.exp(sigma[b] * math.sqrt(dt))
    down = 1.0 / up
    discount = math.exp(-rate * dt)
    p = (math.exp(rate * dt) - down) / (up - down)
    value[t] = max(strike[b] - spot[b] * up ** (2.0 * t - STEPS), 0.0)
    cuda.syncthreads()
    for m in range(STEPS - 1, -1, -1):
        held = 0.0
        if t <= m:
            held = discount * (p * value[t + 1] + (1.0 - p) * value[t])
        cuda.syncthreads()
        if t <= m:
            now = strike[b] - spot[b] * up ** (2.0 * t - m)
            value[t] = held if held > now else now
        cuda.syncthreads()
    if t == 0:
        price[b] = value[0]


@cuda.jit
def summed_area(image, table):
    """The sum over all pixels above and to the left, a block an image, rows first and then columns."""
    t = cuda.threadIdx.x
    h, w = image.shape
    total = 0.0
    if t < h:
        for j in range(w):
            total += image[t, j]
            table[t, j] = total
    cuda.syncthreads()
    if t < w:
        total = 0.0
        for i in range(h):
            total += table[i, t]
            table[i, t] = total


@cuda.jit
def box_filter(table, radius, out):
    """Means over squares, from four corners of a table of sums."""
    j, i = cuda.grid(2)
    h, w = out.shape
    if i >= h or j >= w:
        return
    top, left = max(i - radius - 1, -1), max(j - radius - 1, -1)
    bottom, right = min(i + radius, h - 1), min(j + radius, w - 1)
    total = table[bottom, right]
    if top >= 0:
        total -= table[top, right]
    if left >= 0:
        total -= table[bottom, left]
    if top >= 0 and left >= 0:
        total += table[top, left]
    out[i, j] = total / ((bottom - top) * (right - left))


@cuda.jit(device=True)
def bilinear(image, x, y):
    h, w = image.shape
    x, y = min(max(x, 0.0), w - 1.001), min(max(y, 0.0), h - 1.001)
    j, i = int(x), int(y)
    u, v = x - j, y - i
    upper = (1.0 - u) * image[i, j] + u * image[i, j + 1]
    lower = (1.0 - u) * image[i + 1, j] + u * image[i + 1, j + 1]
    return (1.0 - v) * upper + v * lower


@cuda.jit
def warp(image, flow, target, loss):
    """The photometric loss of an optical flow."""
    j, i = cuda.grid(2)
    if i < target.shape[0] and j < target.shape[1]:
        r = bilinear(image, j + flow[0, i, j], i + flow[1, i, j]) - target[i, j]
        cuda.atomic.add(loss, 0, math.sqrt(r * r + 1e-3))


@cuda.jit
def springs(p, edges, rest, stiffness, force):
    """Mass points and springs, both ends of which a thread adds to."""
    e = cuda.grid(1)
    if e >= edges.shape[0]:
        return
    a, b = edges[e, 0], edges[e, 1]
    dx, dy, dz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    f = stiffness[e] * (length - rest[e]) / length
    cuda.atomic.add(force, (a, 0), f * dx)
    cuda.atomic.add(force, (a, 1), f * dy)
    cuda.atomic.add(force, (a, 2), f * dz)
    cuda.atomic.sub(force, (b, 0), f * dx)
    cuda.atomic.sub(force, (b, 1), f * dy)
    cuda.atomic.sub(force, (b, 2), f * dz)


@cuda.jit
def metropolis(states, x0, scale, width, steps, mean):
    """Random walks that prefer what is likely; each thread its own, of which the mean is left."""
    i = cuda.grid(1)
    if i >= x0.size:
        return
    x, total = x0[i], 0.0
    energy = 0.5 * (x / scale[i]) ** 2
    for _ in range(steps):
        y = x + width * xoroshiro128p_normal_float64(states, i)
        other = 0.5 * (y / scale[i]) ** 2
        if xoroshiro128p_uniform_float64(states, i) < math.exp(energy - other):
            x, energy = y, other
        total += x * x * math.exp(-0.1 * energy)
    mean[i] = total / steps


@cuda.jit
def edge_maxima(source, target, score, top):
    """Of graph attention: the greatest score of the edges that end in a node."""
    e = cuda.grid(1)
    if e < source.size:
        cuda.atomic.max(top, target[e], score[source[e]] * score[target[e]])


@cuda.jit
def pooled(image, out):
    """Maxima over windows of two by two in a tile, and what is over the mean of these."""
    tile = cuda.shared.array((4, 4), float64)
    mean = cuda.shared.array(1, float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    if tx == 0 and ty == 0:
        mean[0] = 0.0
    tile[ty, tx] = image[i, j] if i < image.shape[0] and j < image.shape[1] else 0.0
    cuda.syncthreads()
    top = 0.0
    if tx < 2 and ty < 2:
        a = max(tile[2 * ty, 2 * tx], tile[2 * ty, 2 * tx + 1])
        b = max(tile[2 * ty + 1, 2 * tx], tile[2 * ty + 1, 2 * tx + 1])
        top = max(a, b)
        cuda.atomic.add(mean, 0, 0.25 * top)
    cuda.syncthreads()
    oi, oj = cuda.blockIdx.y * 2 + ty, cuda.blockIdx.x * 2 + tx
    if tx < 2 and ty < 2 and oi < out.shape[0] and oj < out.shape[1]:
        out[oi, oj] = top * math.tanh(top - mean[0])


def cloth(g):
    edges = np.array([(a, b) for a in range(6) for b in range(a + 1, 6) if (a + b) % 3])
    n = len(edges)
    return normal(g, 6, 3), edges, 0.5 + g.random(n), 1.0 + g.random(n), normal(g, 6, 3)


CASES = {
    "american put": (
        american_put, (3, STEPS + 1),
        lambda g: (9 + g.random(3), 10 + g.random(3), 0.05, 0.2 + 0.1 * g.random(3), 1 + g.random(3), normal(g, 3)),
    ),
    "summed area": (summed_area, (1, 8), lambda g: (normal(g, 7, 5), normal(g, 7, 5))),
    "box filter": (box_filter, ((2, 2), (4, 4)), lambda g: (normal(g, 7, 6), 1, normal(g, 7, 6))),
    "warp": (
        warp, ((2, 2), (4, 4)),
        lambda g: (normal(g, 7, 6), 0.7 * normal(g, 2, 7, 6), normal(g, 7, 6), normal(g, 1)),
    ),
    "springs": (springs, (2, 8), cloth),
    "metropolis": (
        metropolis, (2, 8), lambda g: (states(g, 11), normal(g, 11), 1 + g.random(11), 0.8, 6, normal(g, 11)),
    ),
    "edge maxima": (
        edge_maxima, (3, 8),
        lambda g: (g.integers(0, 6, 20), g.integers(0, 6, 20), normal(g, 6), normal(g, 6)),
    ),
    "pooled means": (pooled, ((2, 2), (4, 4)), lambda g: (normal(g, 8, 7), normal(g, 4, 4))),
}  # fmt: skip
