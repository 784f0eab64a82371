"""Kernels whose threads work together, as their users write them: what a block does in stages, in shared memory."""

import math

import numpy as np
from numba import cuda, float32, float64, int32

from tests.cuda.kernels.maps import normal

B = 8  # threads of a block


@cuda.jit
def soft_dtw(x, y, gamma, out):
    """Dynamic time warping, along the diagonals: a block a pair, a thread a row."""
    d0 = cuda.shared.array(B + 1, float64)
    d1 = cuda.shared.array(B + 1, float64)
    d2 = cuda.shared.array(B + 1, float64)
    pair, t = cuda.blockIdx.x, cuda.threadIdx.x
    n, m = x.shape[1], y.shape[1]
    d0[t + 1] = 1e3
    d1[t + 1] = 1e3
    d2[t + 1] = 1e3
    if t == 0:
        d0[0] = 0.0
        d1[0] = 1e3
        d2[0] = 1e3
    cuda.syncthreads()
    for k in range(n + m - 1):
        j = k - t
        if t < n and j >= 0 and j < m:
            cost = (x[pair, t] - y[pair, j]) ** 2
            a, b, c = -d0[t] / gamma, -d1[t] / gamma, -d1[t + 1] / gamma
            top = max(a, b, c)
            d2[t + 1] = cost - gamma * (top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top)))
        cuda.syncthreads()
        d0[t + 1] = d1[t + 1]
        if t == 0:
            d0[0] = 1e3
        cuda.syncthreads()
        d1[t + 1] = d2[t + 1]
        d2[t + 1] = 1e3
        cuda.syncthreads()
    if t == n - 1:
        out[pair] = d1[n]


@cuda.jit
def online_softmax(q, k, v, out):
    """Attention in tiles, with a maximum that runs along: a thread a query."""
    ks = cuda.shared.array((B, 3), float64)
    vs = cuda.shared.array(B, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    n = k.shape[0]
    top, norm, acc = -1e30, 0.0, 0.0
    for start in range(0, n, B):
        j = start + t
        if j < n:
            for c in range(3):
                ks[t, c] = k[j, c]
            vs[t] = v[j]
        cuda.syncthreads()
        if i < q.shape[0]:
            for s in range(min(B, n - start)):
                score = 0.0
                for c in range(3):
                    score += q[i, c] * ks[s, c]
                new_top = max(top, score)
                scale = math.exp(top - new_top)
                w = math.exp(score - new_top)
                norm = norm * scale + w
                acc = acc * scale + w * vs[s]
                top = new_top
        cuda.syncthreads()
    if i < q.shape[0]:
        out[i] = acc / norm


@cuda.jit
def eliminate(a, b, x):
    """Gauss and Jordan, a block a system, a thread a row."""
    m = cuda.shared.array((4, 5), float64)
    s, r = cuda.blockIdx.x, cuda.threadIdx.x
    for c in range(4):
        m[r, c] = a[s, r, c]
    m[r, 4] = b[s, r]
    cuda.syncthreads()
    for p in range(4):
        if r == p:
            pivot = m[p, p]
            for c in range(5):
                m[p, c] /= pivot
        cuda.syncthreads()
        if r != p:
            factor = m[r, p]
            for c in range(5):
                m[r, c] -= factor * m[p, c]
        cuda.syncthreads()
    x[s, r] = m[r, 4]


@cuda.jit
def private_histogram(x, w, hist):
    """A histogram with soft bins: a block its own, then all together."""
    own = cuda.shared.array(6, float64)
    t = cuda.threadIdx.x
    if t < 6:
        own[t] = 0.0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        place = x[i] * 5.0
        low = int(place)
        part = place - low
        cuda.atomic.add(own, low, w[i] * (1.0 - part))
        cuda.atomic.add(own, low + 1, w[i] * part)
    cuda.syncthreads()
    if t < 6:
        cuda.atomic.add(hist, t, own[t] * own[t])


@cuda.jit
def nearest(points, centres, out, which):
    """The least distance and where it is, by a tree: a block a point."""
    best = cuda.shared.array(B, float32)
    index = cuda.shared.array(B, int32)
    p, t = cuda.blockIdx.x, cuda.threadIdx.x
    least = float32(1e9)
    at = -1
    for c in range(t, centres.shape[0], B):
        d = float32(0.0)
        for axis in range(centres.shape[1]):
            diff = points[p, axis] - centres[c, axis]
            d += diff * diff
        if d < least:
            least = d
            at = c
    best[t] = least
    index[t] = at
    cuda.syncthreads()
    s = B // 2
    while s > 0:
        if t < s and best[t + s] < best[t]:
            best[t] = best[t + s]
            index[t] = index[t + s]
        cuda.syncthreads()
        s >>= 1
    if t == 0:
        out[p] = math.sqrt(best[0])
        which[p] = index[0]


@cuda.jit
def red_black(u, f, omega, sweeps):
    """Relaxation of a tile in shared memory, in two colours, in place."""
    s = cuda.shared.array((6, 6), float64)
    i, j = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    tile = cuda.blockIdx.x
    s[i, j] = u[tile, i, j]
    if i == 1:
        s[0, j] = u[tile, 0, j]
        s[5, j] = u[tile, 5, j]
    if j == 1:
        s[i, 0] = u[tile, i, 0]
        s[i, 5] = u[tile, i, 5]
    cuda.syncthreads()
    for _ in range(sweeps):
        for colour in range(2):
            if (i + j) % 2 == colour:
                around = s[i - 1, j] + s[i + 1, j] + s[i, j - 1] + s[i, j + 1]
                c = s[i, j]
                s[i, j] = c + omega * (0.25 * (around - f[tile, i, j]) - c * c)
            cuda.syncthreads()
    u[tile, i, j] = s[i, j]


@cuda.jit
def kalman(z, state0, cov0, q, r, out):
    """A filter of two states in each thread, with matrices in local memory."""
    i = cuda.grid(1)
    if i >= z.shape[0]:
        return
    x = cuda.local.array(2, float64)
    p = cuda.local.array((2, 2), float64)
    gain = cuda.local.array(2, float64)
    for a in range(2):
        x[a] = state0[i, a]
        for b in range(2):
            p[a, b] = cov0[a, b]
    loglik = 0.0
    for t in range(z.shape[1]):
        x[0] += 0.1 * x[1]
        p[0, 0] += 0.1 * (p[0, 1] + p[1, 0]) + 0.01 * p[1, 1] + q
        p[0, 1] += 0.1 * p[1, 1]
        p[1, 0] += 0.1 * p[1, 1]
        p[1, 1] += q
        if z[i, t] < -5.0:
            continue
        s = p[0, 0] + r
        e = z[i, t] - x[0]
        for a in range(2):
            gain[a] = p[a, 0] / s
        for a in range(2):
            x[a] += gain[a] * e
        p00, p01 = p[0, 0], p[0, 1]
        for a in range(2):
            p[a, 0] -= gain[a] * p00
            p[a, 1] -= gain[a] * p01
        loglik -= 0.5 * (math.log(s) + e * e / s)
    out[i] = loglik


@cuda.jit
def scan_then_use(x, out):
    """Blelloch's exclusive scan in a block, and what it is for."""
    temp = cuda.shared.array(2 * B, float64)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * 2 * B
    temp[2 * t] = math.exp(x[base + 2 * t])
    temp[2 * t + 1] = math.exp(x[base + 2 * t + 1])
    offset = 1
    d = B
    while d > 0:
        cuda.syncthreads()
        if t < d:
            temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1]
        offset *= 2
        d >>= 1
    if t == 0:
        temp[2 * B - 1] = 0.0
    d = 1
    while d < 2 * B:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            ai, bi = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
            kept = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += kept
        d *= 2
    cuda.syncthreads()
    out[base + 2 * t] = temp[2 * t] ** 2
    out[base + 2 * t + 1] = temp[2 * t + 1] * x[base + 2 * t]


CASES = {
    "soft dtw": (soft_dtw, (2, B), lambda g: (normal(g, 2, 5), normal(g, 2, 6), 0.7, normal(g, 2))),
    "online softmax": (
        online_softmax, (2, B), lambda g: (normal(g, 11, 3), normal(g, 13, 3), normal(g, 13), normal(g, 11))
    ),
    "eliminate": (eliminate, (3, 4), lambda g: (normal(g, 3, 4, 4) + 5 * np.eye(4), normal(g, 3, 4), normal(g, 3, 4))),
    "private histogram": (
        private_histogram, (2, B), lambda g: (0.05 + 0.9 * g.random(21), normal(g, 21), normal(g, 6))
    ),
    "nearest": (
        nearest, (3, B),
        lambda g: (
            normal(g, 3, 2).astype(np.float32), normal(g, 11, 2).astype(np.float32), normal(g, 3).astype(np.float32),
            np.zeros(3, np.int32),
        ),
    ),
    "red black": (red_black, (2, (4, 4)), lambda g: (g.random((2, 6, 6)), g.random((2, 6, 6)), 0.9, 2)),
    "kalman": (
        kalman, (1, B), lambda g: (normal(g, 5, 4), normal(g, 5, 2), np.eye(2) + 0.1, 0.1, 0.5, normal(g, 5))
    ),
    "scan": (scan_then_use, (2, B), lambda g: (0.3 * normal(g, 32), normal(g, 32))),
}  # fmt: skip
