"""Kernels of further fields, as they are written there: hearts, telescopes, phylogeny, robots, scans, ions, speech."""

import math

import numpy as np
from numba import cuda, float64

from tests.cuda.kernels.maps import normal

TX = 4
HALO = TX + 2
LABELS = 5
BODIES = 4


@cuda.jit
def excitable(u, v, params, dt, u_new, v_new):
    """A step of FitzHugh and Nagumo's tissue on a grid without flux through its rim, from a tile with a halo."""
    tile = cuda.shared.array((HALO, HALO), float64)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    nx, ny = u.shape
    xc = min(x, nx - 1)
    yc = min(y, ny - 1)
    tile[tx + 1, ty + 1] = u[xc, yc]
    if tx == 0:
        tile[0, ty + 1] = u[max(xc - 1, 0), yc]
    if tx == TX - 1:
        tile[HALO - 1, ty + 1] = u[min(xc + 1, nx - 1), yc]
    if ty == 0:
        tile[tx + 1, 0] = u[xc, max(yc - 1, 0)]
    if ty == TX - 1:
        tile[tx + 1, HALO - 1] = u[xc, min(yc + 1, ny - 1)]
    cuda.syncthreads()
    if x >= nx or y >= ny:
        return
    here = tile[tx + 1, ty + 1]
    laplacian = tile[tx, ty + 1] + tile[tx + 2, ty + 1] + tile[tx + 1, ty] + tile[tx + 1, ty + 2] - 4.0 * here
    a, b, eps, diffusion = params[0], params[1], params[2], params[3]
    recovery = v[x, y]
    u_new[x, y] = here + dt * (diffusion * laplacian + here - here**3 / 3.0 - recovery)
    v_new[x, y] = recovery + dt * eps * (here + a - b * recovery)


@cuda.jit
def gridded(uvw, visibilities, weights, support, grid):
    """Visibilities of an interferometer spread on a grid with a tapered kernel, real parts and imaginary ones."""
    k = cuda.grid(1)
    if k >= visibilities.shape[0]:
        return
    size = grid.shape[0]
    u, v = uvw[k, 0] + size / 2, uvw[k, 1] + size / 2
    iu, iv = int(math.floor(u)), int(math.floor(v))
    for di in range(-support, support + 1):
        for dj in range(-support, support + 1):
            i, j = iu + di, iv + dj
            if i < 0 or i >= size or j < 0 or j >= size:
                continue
            r2 = (u - i) ** 2 + (v - j) ** 2
            taper = weights[k] * math.exp(-0.5 * r2)
            cuda.atomic.add(grid, (i, j, 0), taper * visibilities[k, 0])
            cuda.atomic.add(grid, (i, j, 1), taper * visibilities[k, 1])


@cuda.jit
def pruned(parents, lengths, rates, tips, likelihood):
    """Felsenstein's pruning: of each site, the log-likelihood of a tree whose nodes come after their children."""
    site = cuda.grid(1)
    if site >= likelihood.size:
        return
    n = parents.size
    partial = cuda.local.array((7, 4), float64)
    for node in range(n):
        for s in range(4):
            partial[node, s] = 1.0
    for tip in range(tips.shape[0]):
        for s in range(4):
            partial[tip, s] = 1.0 if s == tips[tip, site] else 0.0
    scale = 0.0
    for node in range(n - 1):
        stay = 0.25 + 0.75 * math.exp(-4.0 / 3.0 * rates[site] * lengths[node])
        move = (1.0 - stay) / 3.0
        up = parents[node]
        total = 0.0
        for s in range(4):
            total += partial[node, s]
        for s in range(4):
            partial[up, s] *= stay * partial[node, s] + move * (total - partial[node, s])
        if node % 2 == 1:
            biggest = max(max(partial[up, 0], partial[up, 1]), max(partial[up, 2], partial[up, 3]))
            for s in range(4):
                partial[up, s] /= biggest
            scale += math.log(biggest)
    total = 0.0
    for s in range(4):
        total += 0.25 * partial[n - 1, s]
    likelihood[site] = math.log(total) + scale


@cuda.jit(device=True)
def times(left, right, out):
    for i in range(3):
        for j in range(4):
            s = left[i, 3] if j == 3 else 0.0
            for k in range(3):
                s += left[i, k] * right[k, j]
            out[i, j] = s


@cuda.jit
def arm(angles, links, target, reach, cost):
    """The end of an arm of joints about z and x in turn, a thread a pose, and how far it is from where it should be."""
    pose = cuda.grid(1)
    if pose >= angles.shape[0]:
        return
    chain = cuda.local.array((3, 4), float64)
    joint = cuda.local.array((3, 4), float64)
    found = cuda.local.array((3, 4), float64)
    for i in range(3):
        for j in range(4):
            chain[i, j] = 1.0 if i == j else 0.0
    for k in range(angles.shape[1]):
        c, s = math.cos(angles[pose, k]), math.sin(angles[pose, k])
        for i in range(3):
            for j in range(4):
                joint[i, j] = 0.0
        if k % 2 == 0:
            joint[0, 0], joint[0, 1], joint[1, 0], joint[1, 1], joint[2, 2] = c, -s, s, c, 1.0
        else:
            joint[0, 0], joint[1, 1], joint[1, 2], joint[2, 1], joint[2, 2] = 1.0, c, -s, s, c
        joint[0, 3] = links[k] * joint[0, 0]
        joint[1, 3] = links[k] * joint[1, 0]
        times(chain, joint, found)
        for i in range(3):
            for j in range(4):
                chain[i, j] = found[i, j]
    off = 0.0
    for i in range(3):
        reach[pose, i] = chain[i, 3]
        off += (chain[i, 3] - target[pose, i]) ** 2
    cost[pose] = math.sqrt(off)


@cuda.jit
def backprojected(sinogram, angles, centre, image):
    """Filtered rays smeared back over an image, with linear interpolation between detectors."""
    i, j = cuda.grid(2)
    if i >= image.shape[0] or j >= image.shape[1]:
        return
    x, y = i - 0.5 * (image.shape[0] - 1), j - 0.5 * (image.shape[1] - 1)
    total = 0.0
    for a in range(angles.size):
        s = x * math.cos(angles[a]) + y * math.sin(angles[a]) + centre
        k = int(s)
        if s >= 0.0 and k + 1 < sinogram.shape[1]:
            f = s - k
            total += (1.0 - f) * sinogram[a, k] + f * sinogram[a, k + 1]
    image[i, j] = total * math.pi / angles.size


@cuda.jit
def shallow(h, q, dx, dt, g, h_new, q_new):
    """A step of the shallow water equations in one dimension, fluxes by Rusanov, in shared memory."""
    flux_h = cuda.shared.array(9, float64)
    flux_q = cuda.shared.array(9, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = h.size
    for e in range(t, 9, cuda.blockDim.x):
        right = min(cuda.blockIdx.x * cuda.blockDim.x + e, n - 1)
        left = max(right - 1, 0) if cuda.blockIdx.x * cuda.blockDim.x + e < n else n - 1
        hl, hr, ql, qr = h[left], h[right], q[left], q[right]
        ul, ur = ql / hl, qr / hr
        speed = max(abs(ul) + math.sqrt(g * hl), abs(ur) + math.sqrt(g * hr))
        flux_h[e] = 0.5 * (ql + qr) - 0.5 * speed * (hr - hl)
        flux_q[e] = 0.5 * (ql * ul + 0.5 * g * hl * hl + qr * ur + 0.5 * g * hr * hr) - 0.5 * speed * (qr - ql)
    cuda.syncthreads()
    if i < n:
        h_new[i] = h[i] - dt / dx * (flux_h[t + 1] - flux_h[t])
        q_new[i] = q[i] - dt / dx * (flux_q[t + 1] - flux_q[t])


@cuda.jit
def heston(normals, s0, v0, kappa, theta, xi, rho, strike, dt, payoff):
    """Calls under stochastic volatility by Euler's scheme with full truncation, a thread a path."""
    path = cuda.grid(1)
    if path < payoff.size:
        x, v = math.log(s0), v0
        for step in range(normals.shape[1]):
            z1 = normals[path, step, 0]
            z2 = rho * z1 + math.sqrt(1.0 - rho * rho) * normals[path, step, 1]
            positive = max(v, 0.0)
            x -= 0.5 * positive * dt - math.sqrt(positive * dt) * z1
            v += kappa * (theta - positive) * dt + xi * math.sqrt(positive * dt) * z2
        payoff[path] = max(math.exp(x) - strike, 0.0)


@cuda.jit
def ranked(row_start, sources, out_degree, rank, damping, new_rank, change):
    """A step of PageRank, a block a page, whose threads share its links; what it has changed by, over all pages."""
    part = cuda.shared.array(8, float64)
    page, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = 0.0
    for e in range(row_start[page] + t, row_start[page + 1], 8):
        mine += rank[sources[e]] / out_degree[sources[e]]
    part[t] = mine
    cuda.syncthreads()
    stride = 4
    while stride:
        if t < stride:
            part[t] += part[t + stride]
        cuda.syncthreads()
        stride >>= 1
    if t == 0:
        new = (1.0 - damping) / rank.size + damping * part[0]
        new_rank[page] = new
        cuda.atomic.add(change, 0, (new - rank[page]) ** 2)


@cuda.jit
def pushed(position, velocity, charge, field, dx, dt, density):
    """Particles in cells: the field at each ion by linear weights, a kick, a drift, and its charge back on the grid."""
    p = cuda.grid(1)
    stride = cuda.gridsize(1)
    cells = field.size
    while p < position.size:
        s = position[p] / dx
        cell = int(math.floor(s))
        w = s - cell
        here = field[cell % cells] * (1.0 - w) + field[(cell + 1) % cells] * w
        velocity[p] += charge[p] * here * dt
        position[p] += velocity[p] * dt
        s = position[p] / dx
        cell = int(math.floor(s))
        w = s - cell
        cuda.atomic.add(density, cell % cells, charge[p] * (1.0 - w) / dx)
        cuda.atomic.add(density, (cell + 1) % cells, charge[p] * w / dx)
        p += stride


@cuda.jit
def scattered_by(miller, atoms, factors, b_factors, amplitudes):
    """Amplitudes of reflections of a crystal: a thread a reflection, a sum over all atoms."""
    r = cuda.grid(1)
    if r < amplitudes.size:
        real = imaginary = 0.0
        h2 = miller[r, 0] ** 2 + miller[r, 1] ** 2 + miller[r, 2] ** 2
        for a in range(atoms.shape[0]):
            phase = 0.0
            for k in range(3):
                phase += miller[r, k] * atoms[a, k]
            phase *= 2.0 * math.pi
            f = factors[a] * math.exp(-b_factors[a] * h2 / 4.0)
            real += f * math.cos(phase)
            imaginary += f * math.sin(phase)
        amplitudes[r] = math.sqrt(real * real + imaginary * imaginary)


@cuda.jit(device=True)
def log_add(a, b):
    if a == -math.inf:
        return b
    if b == -math.inf:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@cuda.jit
def aligned(log_probs, labels, lengths, loss):
    """The forward algorithm of connectionist temporal classification: a block an utterance, a thread a state."""
    alpha = cuda.shared.array((2, 2 * LABELS + 1), float64)
    b, s = cuda.blockIdx.x, cuda.threadIdx.x
    states = 2 * lengths[b] + 1
    label = 0
    if s < states and s % 2 == 1:
        label = labels[b, s // 2]
    alpha[0, s] = log_probs[b, 0, label] if s < 2 else -math.inf
    cuda.syncthreads()
    now = 0
    for t in range(1, log_probs.shape[1]):
        total = -math.inf
        if s < states:
            total = alpha[now, s]
            if s > 0:
                total = log_add(total, alpha[now, s - 1])
            if s > 1 and label != 0 and label != labels[b, (s - 2) // 2]:
                total = log_add(total, alpha[now, s - 2])
            total += log_probs[b, t, label]
        alpha[1 - now, s] = total
        now = 1 - now
        cuda.syncthreads()
    if s == 0:
        loss[b] = -log_add(alpha[now, states - 1], alpha[now, states - 2])


def links(g):
    start = np.array([0, 3, 12, 12, 14, 19])
    return start, g.integers(0, 5, 19), g.integers(1, 5, 5).astype(float)


def utterances(g):
    probs = np.exp(normal(g, 2, 6, 4))
    labels = np.array([[1, 1, 2, 0, 0], [3, 2, 0, 0, 0]])
    return np.log(probs / probs.sum(axis=2, keepdims=True)), labels, np.array([3, 2])


def phylogeny(g):
    parents = np.array([4, 4, 5, 5, 6, 6, 6])
    return parents, 0.1 + g.random(7), 0.5 + g.random(6), g.integers(0, 4, (4, 6)), normal(g, 6)


CASES = {
    "excitable": (
        excitable, ((2, 2), (TX, TX)),
        lambda g: (
            normal(g, 7, 6), normal(g, 7, 6), np.array([0.7, 0.8, 0.08, 0.5]), 0.1, normal(g, 7, 6), normal(g, 7, 6)
        ),
    ),
    "gridded": (
        gridded, (2, 8),
        lambda g: (1.7 * normal(g, 11, 2), normal(g, 11, 2), 1 + g.random(11), 1, normal(g, 9, 9, 2)),
    ),
    "pruned": (pruned, (2, 4), phylogeny),
    "arm": (
        arm, (2, 4),
        lambda g: (normal(g, 6, BODIES), 0.5 + g.random(BODIES), normal(g, 6, 3), normal(g, 6, 3), normal(g, 6)),
    ),
    "backprojected": (
        backprojected, ((2, 2), (4, 4)),
        lambda g: (normal(g, 5, 9), math.pi * g.random(5), 4.1, normal(g, 6, 7)),
    ),
    "shallow": (
        shallow, (2, 8),
        lambda g: (1 + g.random(13), 0.3 * normal(g, 13), 0.5, 0.01, 9.81, normal(g, 13), normal(g, 13)),
    ),
    "heston": (
        heston, (2, 8),
        lambda g: (0.5 * normal(g, 11, 5, 2), 1.1, 0.04, 1.5, 0.05, 0.3, -0.6, 0.9, 0.05, normal(g, 11)),
    ),
    "ranked": (ranked, (5, 8), lambda g: (*links(g), g.random(5), 0.85, normal(g, 5), normal(g, 1))),
    "pushed": (
        pushed, (1, 8),
        lambda g: (6 * g.random(13), normal(g, 13), 1 + g.random(13), normal(g, 6), 1.0, 0.1, normal(g, 6)),
    ),
    "scattered by": (
        scattered_by, (2, 8),
        lambda g: (g.integers(-3, 4, (11, 3)), g.random((6, 3)), 1 + g.random(6), 0.1 * g.random(6), normal(g, 11)),
    ),
    "aligned": (aligned, (2, 2 * LABELS + 1), lambda g: (*utterances(g), normal(g, 2))),
}  # fmt: skip
