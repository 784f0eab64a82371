"""Kernels with shared memory and barriers: tiles, trees, scans, small linear algebra of a block."""

import math

import numpy as np
from numba import cuda, float32, float64

from tests.cuda.kernels.maps import normal

T = 8


@cuda.jit(device=True)
def at(a, i):
    return a[i] if 0 <= i < a.size else 0.0


@cuda.jit
def fir(x, h, y):
    tile = cuda.shared.array(T + 4, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t + 2] = at(x, i)
    if t < 2:
        tile[t] = at(x, i - 2)
    if t >= T - 2:
        tile[t + 4] = at(x, i + 2)
    cuda.syncthreads()
    if i >= y.size:
        return
    acc = 0.0
    for k in range(5):
        acc += h[k] * tile[t + k]
    y[i] = math.tanh(acc)


@cuda.jit
def log_sum_exp(x, out):
    part = cuda.shared.array(T, float64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = x[row, t]
    cuda.syncthreads()
    half = T // 2
    while half > 0:
        if t < half:
            part[t] = part[t] + math.log1p(math.exp(part[t + half] - part[t]))
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = part[0]


@cuda.jit
def staged(a, x, y):
    tile = cuda.shared.array(T, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    acc = 0.0
    for s in range((x.size + T - 1) // T):
        j = s * T + t
        tile[t] = math.sin(x[j]) if j < x.size else 0.0
        cuda.syncthreads()
        if i < y.size:
            for k in range(min(T, x.size - s * T)):
                acc += a[i, s * T + k] * tile[k] * tile[k]
        cuda.syncthreads()
    if i < y.size:
        y[i] = math.tanh(acc)


@cuda.jit(device=True)
def block_sum(value):
    part = cuda.shared.array(T, float64)
    t = cuda.threadIdx.x
    part[t] = value
    cuda.syncthreads()
    half = T // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    return part[0]


@cuda.jit
def dot(x, y, total):
    i, stride = cuda.grid(1), cuda.gridsize(1)
    s = 0.0
    for k in range(i, x.size, stride):
        s += x[k] * y[k]
    s = block_sum(s)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, s * s)


@cuda.jit
def softmax(x, y):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    e = math.exp(x[row, t]) if t < x.shape[1] else 0.0
    total = block_sum(e)
    if t < x.shape[1]:
        y[row, t] = e / total


@cuda.jit
def normalised(x, y):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    n = x.shape[1]
    mean = block_sum(x[row, t] if t < n else 0.0) / n
    d = x[row, t] - mean if t < n else 0.0
    cuda.syncthreads()
    variance = block_sum(d * d) / n
    if t < n:
        y[row, t] = d / math.sqrt(variance + 0.1)


@cuda.jit
def scan(x, y):
    # Hillis and Steele, with two buffers
    a = cuda.shared.array(T, float64)
    b = cuda.shared.array(T, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    for level in range(3):
        far = 1 << level
        if level % 2 == 0:
            b[t] = a[t] * a[t - far] if t >= far else a[t]
        else:
            a[t] = b[t] + b[t - far] if t >= far else b[t]
        cuda.syncthreads()
    if i < x.size:
        y[i] = b[t]


@cuda.jit
def swapping(x, y, steps):
    # the two buffers change names
    a = cuda.shared.array(T, float64)
    b = cuda.shared.array(T, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    a[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    for s in range(steps):
        left = a[t - 1] if t > 0 else 0.0
        b[t] = a[t] + 0.1 * left * a[t]
        cuda.syncthreads()
        a, b = b, a
    if i < x.size:
        y[i] = a[t]


@cuda.jit
def transposed(x, y):
    tile = cuda.shared.array((4, 4), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        tile[tx, ty] = x[i, j] ** 2
    cuda.syncthreads()
    k = cuda.blockIdx.y * 4 + tx
    m = cuda.blockIdx.x * 4 + ty
    if k < y.shape[0] and m < y.shape[1]:
        y[k, m] = tile[ty, tx]


@cuda.jit
def blur(u, v):
    tile = cuda.shared.array((6, 6), float64)
    i, j = cuda.grid(2)
    ti, tj = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    n, m = u.shape
    if i < n and j < m:
        tile[ti, tj] = u[i, j]
        if ti == 1:
            tile[0, tj] = u[i - 1, j] if i > 0 else 0.0
        if ti == 4 or i == n - 1:
            tile[ti + 1, tj] = u[i + 1, j] if i < n - 1 else 0.0
        if tj == 1:
            tile[ti, 0] = u[i, j - 1] if j > 0 else 0.0
        if tj == 4 or j == m - 1:
            tile[ti, tj + 1] = u[i, j + 1] if j < m - 1 else 0.0
    cuda.syncthreads()
    if i < n and j < m:
        around = tile[ti - 1, tj] + tile[ti + 1, tj] + tile[ti, tj - 1] + tile[ti, tj + 1]
        v[i, j] = tile[ti, tj] * around


@cuda.jit
def product(a, b, c):
    sa = cuda.shared.array((4, 4), float64)
    sb = cuda.shared.array((4, 4), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    n = a.shape[1]
    total = 0.0
    for s in range((n + 3) // 4):
        sa[tx, ty] = a[i, s * 4 + ty] if i < a.shape[0] and s * 4 + ty < n else 0.0
        sb[tx, ty] = b[s * 4 + tx, j] if s * 4 + tx < n and j < b.shape[1] else 0.0
        cuda.syncthreads()
        for k in range(4):
            total += sa[tx, k] * sb[k, ty]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@cuda.jit
def shared_histogram(x, h):
    own = cuda.shared.array(5, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 5:
        own[t] = 0.0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(own, min(int(x[i] * 5), 4), x[i] ** 2)
    cuda.syncthreads()
    if t < 5:
        cuda.atomic.add(h, t, own[t] * own[t])


@cuda.jit
def dynamic(x, y):
    tile = cuda.shared.array(0, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i] if i < x.size else 1.0
    cuda.syncthreads()
    if i < x.size:
        y[i] = tile[t] * tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def registers(x, y):
    # values that live past barriers: a number, one under a condition, one that a loop hands on
    part = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    own = math.sin(x[i]) if i < x.size else 0.0
    square = own * own
    part[t] = own
    cuda.syncthreads()
    s = 1.0
    for k in range(3):
        s = s * part[(t + k) % T] + square
        cuda.syncthreads()
        part[t] = s
        cuda.syncthreads()
    if i < x.size:
        y[i] = s * own


@cuda.jit
def local_kept(x, y):
    # an array of a thread's own that lives past a barrier
    part = cuda.shared.array(T, float64)
    powers = cuda.local.array(3, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i] if i < x.size else 0.5
    powers[0] = v
    for k in range(1, 3):
        powers[k] = powers[k - 1] * v
    part[t] = powers[2]
    cuda.syncthreads()
    if i < x.size:
        y[i] = powers[0] * part[T - 1 - t] + powers[1]


@cuda.jit
def until_small(x, y):
    # all go on while one has to
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    while cuda.syncthreads_or(v > 0.5):
        if v > 0.5:
            v = 0.8 * v - 0.01 * v * v
    if i < x.size:
        y[i] = v


@cuda.jit
def counting(x, y):
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    count = cuda.syncthreads_count(v > 0.0)
    if i < x.size:
        y[i] = v * v * count


@cuda.jit
def told_by_all(x, y):
    # all threads store one value to one element
    part = cuda.shared.array(T, float64)
    t = cuda.threadIdx.x
    part[t] = x[cuda.blockIdx.x, t]
    cuda.syncthreads()
    y[cuda.blockIdx.x] = part[0] * part[1]


@cuda.jit
def uniform_branch(x, y, mode):
    part = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    if mode > 1:
        part[t] = v
        cuda.syncthreads()
        v = v * part[T - 1 - t]
    else:
        v = v + 1.0
    if cuda.blockIdx.x > 5:
        return
    cuda.syncthreads()
    if i < x.size:
        y[i] = v * v


@cuda.jit
def factorised(a, out):
    # a block factorises a matrix in shared memory, a column after the other
    m = cuda.shared.array((4, 4), float64)
    tx, ty, b = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
    m[tx, ty] = a[b, tx, ty]
    cuda.syncthreads()
    for k in range(4):
        if tx > k and ty == k:
            m[tx, k] = m[tx, k] / m[k, k]
        cuda.syncthreads()
        if tx > k and ty > k:
            m[tx, ty] -= m[tx, k] * m[k, ty]
        cuda.syncthreads()
    if tx == 0 and ty == 0:
        out[b] = m[0, 0] * m[1, 1] * m[2, 2] * m[3, 3]


@cuda.jit
def tiled_bodies(p, f):
    tile = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = p.size
    own = p[i] if i < n else 0.0
    force = 0.0
    for s in range(cuda.gridDim.x):
        j = s * T + t
        tile[t] = p[j] if j < n else 0.0
        cuda.syncthreads()
        for k in range(T):
            if s * T + k < n:
                d = tile[k] - own
                force += d / (0.1 + d * d)
        cuda.syncthreads()
    if i < n:
        f[i] = force


@cuda.jit
def cube(u, v):
    tile = cuda.shared.array((2, 2, 2), float32)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    i, j, k = cuda.grid(3)
    inside = i < u.shape[0] and j < u.shape[1] and k < u.shape[2]
    tile[x, y, z] = u[i, j, k] if inside else float32(0.0)
    cuda.syncthreads()
    if inside:
        v[i, j, k] = tile[x, y, z] * tile[1 - x, y, z] + tile[x, 1 - y, z] * tile[x, y, 1 - z]


@cuda.jit
def waiting(x, y, tolerance):
    # a loop of which the memory that all share says when it ends
    flag = cuda.shared.array(1, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    if t == 0:
        flag[0] = 1.0
    cuda.syncthreads()
    while flag[0] > tolerance:
        v = v * flag[0] + 0.1
        cuda.syncthreads()
        if t == 0:
            flag[0] = flag[0] * 0.5
        cuda.syncthreads()
    if i < x.size:
        y[i] = v


@cuda.jit
def attention(q, k, v, out, scale):
    # keys in tiles, of which each thread loads a row; a value of each thread's over all of them
    tile = cuda.shared.array((T, 3), float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = k.shape[0]
    total = 0.0
    weighted = 0.0
    for s in range((n + T - 1) // T):
        j = s * T + t
        for d in range(3):
            tile[t, d] = k[j, d] if j < n else 0.0
        cuda.syncthreads()
        if i < q.shape[0]:
            for m in range(min(T, n - s * T)):
                z = 0.0
                for d in range(3):
                    z += q[i, d] * tile[m, d]
                e = math.exp(z * scale)
                total += e
                weighted += e * v[s * T + m]
        cuda.syncthreads()
    if i < q.shape[0]:
        out[i] = weighted / total


@cuda.jit
def last_of_row(k, y):
    # what a tile holds is what the last trip of a loop stores
    tile = cuda.shared.array(T, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    for d in range(3):
        tile[t] = k[i, d] if i < k.shape[0] else 0.0
    cuda.syncthreads()
    if i < y.size:
        y[i] = tile[t] * tile[T - 1 - t]


@cuda.jit
def layer_norm(x, w, b, y):
    part = cuda.shared.array(T, float64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    n = x.shape[1]
    s = 0.0
    for j in range(t, n, T):
        s += x[row, j]
    mean = block_sum(s) / n
    cuda.syncthreads()
    s = 0.0
    for j in range(t, n, T):
        s += (x[row, j] - mean) ** 2
    part[t] = s
    cuda.syncthreads()
    variance = 0.0
    for k in range(T):
        variance += part[k] / n
    r = 1.0 / math.sqrt(variance + 1e-3)
    for j in range(t, n, T):
        y[row, j] = (x[row, j] - mean) * r * w[j] + b[j]


@cuda.jit
def sweeps(u, v, steps):
    # several sweeps over a tile with a rim
    a = cuda.shared.array(T + 2, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    a[t + 1] = u[i] if i < u.size else 0.0
    if t < 2:
        a[t * (T + 1)] = 0.0
    cuda.syncthreads()
    for s in range(steps):
        new = a[t + 1] + 0.1 * (a[t] - 2.0 * a[t + 1] + a[t + 2]) * a[t + 1]
        cuda.syncthreads()
        a[t + 1] = new
        cuda.syncthreads()
    if i < v.size:
        v[i] = a[t + 1]


@cuda.jit
def through_global(x, work, y):
    # threads of a block exchange through global memory
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        work[i] = x[i] * x[i]
    cuda.syncthreads()
    j = cuda.blockIdx.x * T + (T - 1 - t)
    if i < x.size and j < x.size:
        y[i] = work[j] * x[i]


@cuda.jit
def stored_again(u, v, c):
    # a block of three axes, whose tile is stored to again
    tile = cuda.shared.array((2, 3, 4), float64)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    i, j, k = cuda.grid(3)
    inside = i < u.shape[0] and j < u.shape[1] and k < u.shape[2]
    tile[z, y, x] = u[i, j, k] * c if inside else 0.0
    cuda.syncthreads()
    s = 0.0
    for a in range(4):
        s += tile[z, y, a] * tile[1 - z, y, x]
    cuda.syncthreads()
    tile[z, y, x] = s
    cuda.syncthreads()
    if inside:
        v[i, j, k] = tile[z, 2 - y, x] * c


@cuda.jit
def iterated(x, y):
    # each thread keeps values of a loop behind a barrier
    part = cuda.shared.array(T, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] * x[i]
    cuda.syncthreads()
    v = part[T - 1 - t]
    for j in range(5):
        v = math.sin(v) * part[t]
    y[i] = v


@cuda.jit
def in_parts(x, y):
    """Dynamic shared memory as two arrays, as it has to be where a launch asks for several."""
    whole = cuda.shared.array(0, float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    left, right = whole[:T], whole[T:]
    left[t] = x[b, t]
    right[t] = x[b, t] * x[b, t]
    cuda.syncthreads()
    y[b, t] = left[T - 1 - t] * right[t]


WIDE = 3200  # more than half of what a block has


@cuda.jit
def wide_tile(x, y):
    """A tile whose shadow has no room beside it."""
    tile = cuda.shared.array(WIDE, float64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    for k in range(t, WIDE, cuda.blockDim.x):
        tile[k] = math.sin(x[b, k % x.shape[1]] + 0.001 * k)
    cuda.syncthreads()
    total = 0.0
    for k in range(4):
        total += tile[t + 8 * k] * tile[WIDE - 1 - t - k]
    y[b, t] = total


CASES = {
    "wide tile": (wide_tile, (2, T), lambda g: (normal(g, 2, 5), normal(g, 2, T))),
    "iterated": (iterated, (2, T), lambda g: (0.5 * normal(g, 16), normal(g, 16))),
    "attention": (
        attention, (2, T),
        lambda g: (normal(g, 11, 3), normal(g, 13, 3), normal(g, 13), normal(g, 11), 0.4),
    ),
    "last of row": (last_of_row, (2, T), lambda g: (normal(g, 13, 3), normal(g, 13))),
    "layer norm": (
        layer_norm, (3, T), lambda g: (normal(g, 3, 19), normal(g, 19), normal(g, 19), normal(g, 3, 19))
    ),
    "sweeps": (sweeps, (2, T), lambda g: (normal(g, 13), normal(g, 13), 3)),
    "through global": (through_global, (3, T), lambda g: (normal(g, 20), normal(g, 20), normal(g, 20))),
    "stored again": (
        stored_again, ((2, 1, 2), (4, 3, 2)), lambda g: (normal(g, 7, 3, 4), normal(g, 7, 3, 4), 1.3)
    ),
    "fir": (fir, (4, T), lambda g: (normal(g, 27), normal(g, 5), normal(g, 27))),
    "fir, not covered": (fir, (2, T), lambda g: (normal(g, 27), normal(g, 5), normal(g, 27))),
    "fir, empty": (fir, (2, T), lambda g: (normal(g, 0), normal(g, 5), normal(g, 0))),
    "log sum exp": (log_sum_exp, (3, T), lambda g: (normal(g, 3, T), normal(g, 3))),
    "staged": (staged, (2, T), lambda g: (0.3 * normal(g, 13, 19), normal(g, 19), normal(g, 13))),
    "dot": (dot, (3, T), lambda g: (normal(g, 40), normal(g, 40), normal(g, 1))),
    "softmax": (softmax, (4, T), lambda g: (normal(g, 4, 6), normal(g, 4, 6))),
    "normalised": (normalised, (4, T), lambda g: (normal(g, 4, 6), normal(g, 4, 6))),
    "scan": (scan, (3, T), lambda g: (normal(g, 20), normal(g, 20))),
    "swapping": (swapping, (2, T), lambda g: (normal(g, 13), normal(g, 13), 3)),
    "swapping, even": (swapping, (2, T), lambda g: (normal(g, 13), normal(g, 13), 2)),
    "swapping, not": (swapping, (2, T), lambda g: (normal(g, 13), normal(g, 13), 0)),
    "transposed": (transposed, ((2, 3), (4, 4)), lambda g: (normal(g, 7, 10), normal(g, 10, 7))),
    "blur": (blur, ((2, 2), (4, 4)), lambda g: (normal(g, 7, 6), normal(g, 7, 6))),
    "product": (product, ((2, 2), (4, 4)), lambda g: (normal(g, 7, 6), normal(g, 6, 5), normal(g, 7, 5))),
    "shared histogram": (shared_histogram, (3, T), lambda g: (g.random(20), normal(g, 5))),
    "in parts": (in_parts, (2, T, 0, 16 * T), lambda g: (normal(g, 2, T), normal(g, 2, T))),
    "dynamic": (dynamic, (3, T, 0, 8 * T), lambda g: (normal(g, 20), normal(g, 20))),
    "registers": (registers, (2, T), lambda g: (normal(g, 13), normal(g, 13))),
    "local kept": (local_kept, (2, T), lambda g: (normal(g, 13), normal(g, 13))),
    "until small": (until_small, (2, T), lambda g: (2 * g.random(13), normal(g, 13))),
    "counting": (counting, (2, T), lambda g: (normal(g, 13), normal(g, 13))),
    "told by all": (told_by_all, (3, T), lambda g: (normal(g, 3, T), normal(g, 3))),
    "uniform branch": (uniform_branch, (2, T), lambda g: (normal(g, 13), normal(g, 13), 2)),
    "uniform branch, other": (uniform_branch, (2, T), lambda g: (normal(g, 13), normal(g, 13), 1)),
    "factorised": (factorised, (3, (4, 4)), lambda g: (np.stack([well4(g) for _ in range(3)]), normal(g, 3))),
    "tiled bodies": (tiled_bodies, (2, T), lambda g: (normal(g, 13), normal(g, 13))),
    "cube": (
        cube, ((2, 2, 1), (2, 2, 2)), lambda g: tuple(normal(g, 2, 3, 4, 2).astype(np.float32))
    ),
    "waiting": (waiting, (2, T), lambda g: (normal(g, 13), normal(g, 13), 0.1)),
    "fir, longer": (fir, (5, T), lambda g: (normal(g, 27), normal(g, 5), normal(g, 40))),
}  # fmt: skip


def well4(g):
    return normal(g, 4, 4) + 5.0 * np.eye(4)
