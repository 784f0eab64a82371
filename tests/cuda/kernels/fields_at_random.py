"""Kernels of fields drawn at random, as they are written by who does not know what is taken."""

import math

import numpy as np
from numba import cuda, float32, float64

from tests.cuda.kernels.maps import normal

TILE = 4
RADIUS = 2
BLOCK = 8
STATES = 3


@cuda.jit
def tiled_matmul(A, B, C):
    """C = A B in tiles, of any shapes: what lies outside is zero."""
    sA = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    sB = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = 0.0
    for i in range((A.shape[1] + TILE - 1) // TILE):
        sA[ty, tx] = 0.0
        sB[ty, tx] = 0.0
        if y < A.shape[0] and (tx + i * TILE) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TILE]
        if x < B.shape[1] and (ty + i * TILE) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TILE, x]
        cuda.syncthreads()
        for j in range(TILE):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@cuda.jit
def spmv_rows(indptr, indices, data, x, y):
    """A sparse matrix by rows, a thread a row."""
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row < indptr.shape[0] - 1:
        acc = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            acc += data[k] * x[indices[k]]
        y[row] = acc


@cuda.jit
def spmv_vector(indptr, indices, data, x, y):
    """A sparse matrix by rows, a block a row: threads take every eighth entry, and add up in a tree."""
    partial = cuda.shared.array(BLOCK, float64)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    acc = 0.0
    for k in range(indptr[row] + tid, indptr[row + 1], cuda.blockDim.x):
        acc += data[k] * x[indices[k]]
    partial[tid] = acc
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            partial[tid] += partial[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        y[row] = partial[0]


@cuda.jit
def bilateral(img, out, sigma_s, sigma_r):
    """Bilateral filter with a halo in shared memory, clamped at the edges."""
    tile = cuda.shared.array((TILE + 2 * RADIUS, TILE + 2 * RADIUS), float32)
    h, w = img.shape
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for dy in range(ty, TILE + 2 * RADIUS, TILE):
        for dx in range(tx, TILE + 2 * RADIUS, TILE):
            gx = min(max(bx + dx - RADIUS, 0), w - 1)
            gy = min(max(by + dy - RADIUS, 0), h - 1)
            tile[dy, dx] = img[gy, gx]
    cuda.syncthreads()
    x, y = bx + tx, by + ty
    if x >= w or y >= h:
        return
    centre = tile[ty + RADIUS, tx + RADIUS]
    num = float32(0.0)
    den = float32(0.0)
    for j in range(-RADIUS, RADIUS + 1):
        for i in range(-RADIUS, RADIUS + 1):
            v = tile[ty + RADIUS + j, tx + RADIUS + i]
            d = v - centre
            weight = math.exp(-float32(i * i + j * j) * sigma_s - d * d * sigma_r)
            num += weight * v
            den += weight
    out[y, x] = num / den


@cuda.jit
def hillis_steele(x, y, sums):
    """An inclusive scan with two buffers that change roles, and what the block comes to."""
    buf = cuda.shared.array((2, BLOCK), float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    pout, pin = 0, 1
    buf[pout, t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        pout = 1 - pout
        pin = 1 - pout
        if t >= offset:
            buf[pout, t] = buf[pin, t] + buf[pin, t - offset]
        else:
            buf[pout, t] = buf[pin, t]
        cuda.syncthreads()
        offset *= 2
    if i < y.size:
        y[i] = buf[pout, t]
    if t == BLOCK - 1:
        sums[cuda.blockIdx.x] = buf[pout, t]


@cuda.jit
def n_body(pos, mass, acc, soft):
    """Forces of all on all, in tiles of a block."""
    sh = cuda.shared.array((BLOCK, 4), float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = pos.shape[0]
    xi = pos[min(i, n - 1), 0]
    yi = pos[min(i, n - 1), 1]
    zi = pos[min(i, n - 1), 2]
    ax = 0.0
    ay = 0.0
    az = 0.0
    for tile in range(cuda.gridDim.x):
        j = tile * cuda.blockDim.x + t
        if j < n:
            sh[t, 0] = pos[j, 0]
            sh[t, 1] = pos[j, 1]
            sh[t, 2] = pos[j, 2]
            sh[t, 3] = mass[j]
        else:
            sh[t, 3] = 0.0
            sh[t, 0] = sh[t, 1] = sh[t, 2] = 0.0
        cuda.syncthreads()
        for k in range(cuda.blockDim.x):
            dx = sh[k, 0] - xi
            dy = sh[k, 1] - yi
            dz = sh[k, 2] - zi
            r2 = dx * dx + dy * dy + dz * dz + soft
            inv = r2**-1.5
            ax += sh[k, 3] * dx * inv
            ay += sh[k, 3] * dy * inv
            az += sh[k, 3] * dz * inv
        cuda.syncthreads()
    if i < n:
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@cuda.jit
def weighted_histogram(values, weights, bins, lo, hi):
    """A linear (cloud-in-cell) histogram in shared memory, added to the one of all blocks."""
    local = cuda.shared.array(16, float64)
    t = cuda.threadIdx.x
    nbins = bins.size
    k = t
    while k < nbins:
        local[k] = 0.0
        k += cuda.blockDim.x
    cuda.syncthreads()
    start = cuda.grid(1)
    for i in range(start, values.size, cuda.gridsize(1)):
        u = (values[i] - lo) / (hi - lo) * nbins - 0.5
        b = int(math.floor(u))
        f = u - b
        if 0 <= b < nbins:
            cuda.atomic.add(local, b, weights[i] * (1.0 - f))
        if 0 <= b + 1 < nbins:
            cuda.atomic.add(local, b + 1, weights[i] * f)
    cuda.syncthreads()
    for k in range(t, nbins, cuda.blockDim.x):
        cuda.atomic.add(bins, k, local[k])


@cuda.jit
def thomas_batch(a, b, c, d, x, cp, dp):
    """Tridiagonal systems, one a thread, coalesced: element j of system s is at [j, s]; scratch is the caller's."""
    s = cuda.grid(1)
    if s >= d.shape[1]:
        return
    n = d.shape[0]
    cp[0, s] = c[0, s] / b[0, s]
    dp[0, s] = d[0, s] / b[0, s]
    for j in range(1, n):
        m = 1.0 / (b[j, s] - a[j, s] * cp[j - 1, s])
        cp[j, s] = c[j, s] * m
        dp[j, s] = (d[j, s] - a[j, s] * dp[j - 1, s]) * m
    x[n - 1, s] = dp[n - 1, s]
    for j in range(n - 2, -1, -1):
        x[j, s] = dp[j, s] - cp[j, s] * x[j + 1, s]


@cuda.jit
def asian_option(z, s0, strike, rate, vol, maturity, payoff):
    """Paths of a stock with normals that are passed in; an Asian call with a barrier that knocks out."""
    path = cuda.grid(1)
    if path >= z.shape[0]:
        return
    steps = z.shape[1]
    dt = maturity / steps
    drift = (rate - 0.5 * vol * vol) * dt
    diffusion = vol * math.sqrt(dt)
    s = s0
    total = 0.0
    alive = True
    for t in range(steps):
        s *= math.exp(drift + diffusion * z[path, t])
        if s > 2.5 * s0:
            alive = False
            break
        total += s
    if alive:
        payoff[path] = math.exp(-rate * maturity) * max(total / steps - strike, 0.0)
    else:
        payoff[path] = 0.0


@cuda.jit
def attend_row(q, k, v, out, scale):
    """Softmax of a row of scores by reductions of a block, and the mean of the values with those weights."""
    red = cuda.shared.array(BLOCK, float64)
    score = cuda.shared.array(32, float64)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = k.shape[0]
    biggest = -math.inf
    for j in range(t, n, BLOCK):
        dot = 0.0
        for c in range(q.shape[1]):
            dot += q[row, c] * k[j, c]
        score[j] = dot * scale
        biggest = max(biggest, score[j])
    red[t] = biggest
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if t < s:
            red[t] = max(red[t], red[t + s])
        cuda.syncthreads()
        s >>= 1
    top = red[0]
    cuda.syncthreads()
    part = 0.0
    for j in range(t, n, BLOCK):
        score[j] = math.exp(score[j] - top)
        part += score[j]
    red[t] = part
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if t < s:
            red[t] += red[t + s]
        cuda.syncthreads()
        s >>= 1
    norm = red[0]
    for c in range(t, v.shape[1], BLOCK):
        acc = 0.0
        for j in range(n):
            acc += score[j] * v[j, c]
        out[row, c] = acc / norm


@cuda.jit
def viterbi_soft(emission, transition, temperature, out):
    """A soft Viterbi recursion: a thread a sequence, states in local memory."""
    seq = cuda.grid(1)
    if seq >= emission.shape[0]:
        return
    prev = cuda.local.array(STATES, float64)
    cur = cuda.local.array(STATES, float64)
    for s in range(STATES):
        prev[s] = emission[seq, 0, s]
    for t in range(1, emission.shape[1]):
        for s in range(STATES):
            m = -1e30
            for r in range(STATES):
                m = max(m, prev[r] + transition[r, s])
            acc = 0.0
            for r in range(STATES):
                acc += math.exp((prev[r] + transition[r, s] - m) / temperature)
            cur[s] = emission[seq, t, s] + m + temperature * math.log(acc)
        for s in range(STATES):
            prev[s] = cur[s]
    best = prev[0]
    for s in range(1, STATES):
        if prev[s] > best:
            best = prev[s]
    out[seq] = best


@cuda.jit
def morse(pos, box, start, count, neighbours, depth, width, r0, cutoff, force, virial):
    """Pair forces of a neighbour list in a periodic box, with the virial added up in the block."""
    block_virial = cuda.shared.array(1, float64)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        block_virial[0] = 0.0
    cuda.syncthreads()
    if i < pos.shape[0]:
        fx = fy = 0.0
        vir = 0.0
        for m in range(count[i]):
            j = neighbours[start[i] + m]
            dx = pos[i, 0] - pos[j, 0]
            dy = pos[i, 1] - pos[j, 1]
            dx -= box * round(dx / box)
            dy -= box * round(dy / box)
            r2 = dx * dx + dy * dy
            if r2 > cutoff * cutoff:
                continue
            r = math.sqrt(r2)
            e = math.exp(-width * (r - r0))
            f = 2.0 * depth * width * e * (e - 1.0)
            fx += f * dx / r
            fy += f * dy / r
            vir += f * r
        force[i, 0] = fx
        force[i, 1] = fy
        cuda.atomic.add(block_virial, 0, 0.5 * vir)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(virial, 0, block_virial[0])


@cuda.jit
def logistic_maps(x0, r, y):
    """A trajectory a thread, of so many steps that registers cannot hold them all."""
    i = cuda.grid(1)
    if i < y.size:
        x, own = x0[i], r[i]
        for _ in range(64):
            x = own * x * (1.0 - x)
        y[i] = x


def of_sparse(g):
    counts = np.array([3, 0, 17, 1, 5])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return indptr, g.integers(0, 7, indptr[-1]), normal(g, indptr[-1]), normal(g, 7), normal(g, 5)


def of_morse(g):
    n = 9
    pos = 3.0 * np.stack(np.meshgrid(np.arange(3), np.arange(3)), axis=-1).reshape(-1, 2) / 3 + 0.2 * g.random((n, 2))
    lists = [[j for j in range(n) if j != i] for i in range(n)]
    counts = np.array([len(row) for row in lists])
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return pos, 3.0, start, counts, np.concatenate(lists), 0.7, 1.3, 0.9, 1.6, normal(g, n, 2), normal(g, 1)


CASES = {
    "tiled matmul": (
        tiled_matmul, ((2, 2), (TILE, TILE)), lambda g: (normal(g, 5, 6), normal(g, 6, 7), normal(g, 5, 7))
    ),
    "sparse rows": (spmv_rows, (1, BLOCK), of_sparse),
    "sparse blocks": (spmv_vector, (5, BLOCK), of_sparse),
    "bilateral": (
        bilateral, ((2, 2), (TILE, TILE)),
        lambda g: (
            g.random((6, 7)).astype(np.float32), normal(g, 6, 7).astype(np.float32), np.float32(0.2), np.float32(1.5)
        ),
    ),
    "hillis steele": (hillis_steele, (2, BLOCK), lambda g: (normal(g, 13), normal(g, 13), normal(g, 2))),
    "n body": (n_body, (2, BLOCK), lambda g: (g.random((13, 3)), g.random(13), normal(g, 13, 3), 0.1)),
    "weighted histogram": (
        weighted_histogram, (2, BLOCK), lambda g: (g.random(21), normal(g, 21), normal(g, 11), -0.1, 1.2)
    ),
    "thomas batch": (
        thomas_batch, (1, BLOCK),
        lambda g: (
            normal(g, 6, 5), 4 + g.random((6, 5)), normal(g, 6, 5), normal(g, 6, 5), normal(g, 6, 5), normal(g, 6, 5),
            normal(g, 6, 5),
        ),
    ),
    "asian option": (asian_option, (2, BLOCK), lambda g: (normal(g, 11, 5), 1.0, 0.9, 0.03, 0.5, 1.0, normal(g, 11))),
    "attend row": (
        attend_row, (3, BLOCK), lambda g: (normal(g, 3, 4), normal(g, 13, 4), normal(g, 13, 5), normal(g, 3, 5), 0.5)
    ),
    "soft viterbi": (
        viterbi_soft, (1, BLOCK), lambda g: (normal(g, 5, 6, STATES), normal(g, STATES, STATES), 0.7, normal(g, 5))
    ),
    "morse": (morse, (2, BLOCK), of_morse),
    "logistic maps": (
        logistic_maps, (2, BLOCK), lambda g: (0.1 + 0.8 * g.random(11), 1.5 + 1.3 * g.random(11), normal(g, 11))
    ),
}  # fmt: skip
