"""Kernels of many fields, as their users write them: each a whole computation, with the idioms of its trade."""

import math

import numpy as np
from numba import cuda, float32, float64, int32

from tests.cuda.kernels.maps import normal

TPB = 8
N_STATES = 5
EPS2 = np.float32(0.05)
DT = 0.01
C1 = 9.0 / 8.0
C2 = -1.0 / 24.0

# --------------------------------------------------------------------------------------- fatigue: cracks that grow


@cuda.jit(device=True)
def stress_intensity(sigma, a, width):
    ratio = a / width
    shape = 1.12 - 0.231 * ratio + 10.55 * ratio**2 - 21.72 * ratio**3
    return shape * sigma * math.sqrt(math.pi * a)


@cuda.jit
def crack_growth(a0, stress, width, log_c, m, threshold, lengths, broken):
    tid = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if tid >= a0.shape[0]:
        return
    a = a0[tid]
    failed = -1
    for cycle in range(stress.shape[1]):
        dk = stress_intensity(stress[tid, cycle], a, width)
        if dk < threshold:
            continue
        a += math.exp(log_c) * math.pow(dk, m)
        if a > 0.6 * width:
            failed = cycle
            break
    lengths[tid] = a
    broken[tid] = failed


# --------------------------------------------------------------------- astrophysics: gravity in tiles, single precision


@cuda.jit(device=True)
def body_body(xi, yi, zi, xj, yj, zj, mj, ax, ay, az):
    dx = xj - xi
    dy = yj - yi
    dz = zj - zi
    dist2 = dx * dx + dy * dy + dz * dz + EPS2
    inv = float32(1.0) / math.sqrt(dist2)
    s = mj * inv * inv * inv
    return ax + dx * s, ay + dy * s, az + dz * s


@cuda.jit
def gravity(pos, acc, n):
    tile = cuda.shared.array(shape=(TPB, 4), dtype=float32)
    tx = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + tx
    px = py = pz = float32(0.0)
    if i < n:
        px, py, pz = pos[i, 0], pos[i, 1], pos[i, 2]
    ax = ay = az = float32(0.0)
    for t in range((n + TPB - 1) // TPB):
        j = t * TPB + tx
        for c in range(4):
            tile[tx, c] = pos[j, c] if j < n else float32(0.0)
        cuda.syncthreads()
        for k in range(TPB):
            ax, ay, az = body_body(px, py, pz, tile[k, 0], tile[k, 1], tile[k, 2], tile[k, 3], ax, ay, az)
        cuda.syncthreads()
    if i < n:
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


# ------------------------------------------------------------------------------- audio: a bank of filters, in cascade


@cuda.jit
def biquads(signal, coeffs, gains, out):
    """A thread a channel; sections one behind the other, in transposed direct form II."""
    ch = cuda.grid(1)
    if ch < signal.shape[0]:
        state = cuda.local.array((3, 2), float64)
        for s in range(3):
            for z in range(2):
                state[s, z] = 0.0
        for n in range(signal.shape[1]):
            v = signal[ch, n]
            for s in range(3):
                b0, b1, b2 = coeffs[s, 0], coeffs[s, 1], coeffs[s, 2]
                a1, a2 = coeffs[s, 3], coeffs[s, 4]
                w = b0 * v + state[s, 0]
                state[s, 0] = b1 * v - a1 * w + state[s, 1]
                state[s, 1] = b2 * v - a2 * w
                v = w
            out[ch, n] = math.tanh(gains[ch] * v)


# ---------------------------------------------------------------------- seismology: elastic waves, staggered, in 3-D


@cuda.jit(device=True, inline=True)
def dx_forward(f, i, j, k, h):
    return (C1 * (f[i + 1, j, k] - f[i, j, k]) + C2 * (f[i + 2, j, k] - f[i - 1, j, k])) / h


@cuda.jit(device=True, inline=True)
def dy_backward(f, i, j, k, h):
    return (C1 * (f[i, j, k] - f[i, j - 1, k]) + C2 * (f[i, j + 1, k] - f[i, j - 2, k])) / h


@cuda.jit
def update_vx(vx, sxx, sxy, rho, damp, dt, h):
    k, j, i = cuda.grid(3)
    nx, ny, nz = vx.shape
    if i < 2 or j < 2 or k < 1 or i >= nx - 2 or j >= ny - 2 or k >= nz - 1:
        return
    buoyancy = 2.0 / (rho[i, j, k] + rho[i + 1, j, k])
    v = vx[i, j, k] + dt * buoyancy * (dx_forward(sxx, i, j, k, h) + dy_backward(sxy, i, j, k, h))
    vx[i, j, k] = v * damp[i] * damp[j]


# ------------------------------------------------------------------------- hydrology: water that runs over the ground


@cuda.jit
def overland(h, z, manning, dt, dx, dh):
    col, row = cuda.grid(2)
    rows, cols = h.shape
    if row >= rows or col >= cols:
        return
    depth = h[row, col]
    if depth <= 1e-6:
        return
    head = z[row, col] + depth
    for d in range(4):
        r = row + (1 if d == 0 else -1 if d == 1 else 0)
        c = col + (1 if d == 2 else -1 if d == 3 else 0)
        if r < 0 or r >= rows or c < 0 or c >= cols:
            continue
        slope = (head - z[r, c] - h[r, c]) / dx
        if slope > 0.0:
            q = dt * depth ** (5.0 / 3.0) * math.sqrt(slope) / (manning[row, col] * dx)
            q = min(q, 0.25 * depth)
            cuda.atomic.add(dh, (row, col), -q)
            cuda.atomic.add(dh, (r, c), q)


# -------------------------------------------------------------------------------------- traffic: drivers on a ring road


@cuda.jit
def drivers(x, v, params, road, dt, x_new, v_new):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        lead = (i + 1) % x.size
        gap = x[lead] - x[i]
        if gap < 0:
            gap += road
        v0, headway, a_max, b, s0 = params[0], params[1], params[2], params[3], params[4]
        dv = v[i] - v[lead]
        s_star = s0 + max(0.0, v[i] * headway + v[i] * dv / (2 * math.sqrt(a_max * b)))
        acc = a_max * (1 - (v[i] / v0) ** 4 - (s_star / gap) ** 2)
        vi = max(v[i] + acc * dt, 0.0)
        v_new[i] = vi
        x_new[i] = (x[i] + vi * dt) % road


# ------------------------------------------------------------------------------------ ecology: a food chain in patches


@cuda.jit(device=True)
def food_chain(y, p, dy):
    f1 = p[0] * y[0] * y[1] / (1.0 + p[1] * y[0])
    f2 = p[2] * y[1] * y[2] / (1.0 + p[3] * y[1])
    dy[0] = y[0] * (1.0 - y[0]) - f1
    dy[1] = f1 - f2 - p[4] * y[1]
    dy[2] = f2 - p[5] * y[2]


@cuda.jit
def patches(y0, p, steps, h, final, mean):
    i = cuda.grid(1)
    if i >= y0.shape[0]:
        return
    y = cuda.local.array(3, dtype=np.float64)
    tmp = cuda.local.array(3, dtype=np.float64)
    k = cuda.local.array((4, 3), dtype=np.float64)
    for s in range(3):
        y[s] = y0[i, s]
    total = 0.0
    for _ in range(steps):
        food_chain(y, p, k[0])
        for s in range(3):
            tmp[s] = y[s] + 0.5 * h * k[0, s]
        food_chain(tmp, p, k[1])
        for s in range(3):
            tmp[s] = y[s] + 0.5 * h * k[1, s]
        food_chain(tmp, p, k[2])
        for s in range(3):
            tmp[s] = y[s] + h * k[2, s]
        food_chain(tmp, p, k[3])
        for s in range(3):
            y[s] += h / 6.0 * (k[0, s] + 2.0 * k[1, s] + 2.0 * k[2, s] + k[3, s])
        total += y[2]
    for s in range(3):
        final[i, s] = y[s]
    cuda.atomic.add(mean, 0, total / (steps * y0.shape[0]))


# -------------------------------------------------------------------- materials: a phase field, with a tile's rim


@cuda.jit
def allen_cahn(phi, mobility, kappa, dt, out):
    s = cuda.shared.array((6, 6), dtype=float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    nx, ny = phi.shape
    bx, by = cuda.blockIdx.x * 4, cuda.blockIdx.y * 4
    # all threads fill the tile and its rim together
    idx = tx * 4 + ty
    while idx < 36:
        li, lj = idx // 6, idx % 6
        gi = (bx + li - 1 + nx) % nx
        gj = (by + lj - 1 + ny) % ny
        s[li, lj] = phi[gi, gj]
        idx += 16
    cuda.syncthreads()
    if x < nx and y < ny:
        c = s[tx + 1, ty + 1]
        lap = s[tx, ty + 1] + s[tx + 2, ty + 1] + s[tx + 1, ty] + s[tx + 1, ty + 2] - 4.0 * c
        bulk = c * (1.0 - c) * (c - 0.5 + 0.3 * math.tanh(c))
        out[x, y] = c + dt * mobility[x, y] * (kappa * lap + bulk)


# ---------------------------------------------------------------------------------- genomics: hidden Markov models


@cuda.jit
def hmm_forward(log_start, log_trans, log_emit, obs, lengths, loglik):
    """A block a sequence, a thread a state."""
    alpha = cuda.shared.array(N_STATES, float64)
    seq = cuda.blockIdx.x
    s = cuda.threadIdx.x
    alpha[s] = log_start[s] + log_emit[s, obs[seq, 0]]
    cuda.syncthreads()
    for t in range(1, lengths[seq]):
        top = alpha[0] + log_trans[0, s]
        for r in range(1, N_STATES):
            v = alpha[r] + log_trans[r, s]
            if v > top:
                top = v
        acc = 0.0
        for r in range(N_STATES):
            acc += math.exp(alpha[r] + log_trans[r, s] - top)
        new = top + math.log(acc) + log_emit[s, obs[seq, t]]
        cuda.syncthreads()
        alpha[s] = new
        cuda.syncthreads()
    if s == 0:
        top = alpha[0]
        for r in range(1, N_STATES):
            top = max(top, alpha[r])
        acc = 0.0
        for r in range(N_STATES):
            acc += math.exp(alpha[r] - top)
        loglik[seq] = top + math.log(acc)


# -------------------------------------------------------------------------------------- acoustics: a room, with walls


@cuda.jit
def room(prev, curr, nxt, mask, beta, courant2):
    ix = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    iy = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    iz = cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z
    nx, ny, nz = curr.shape
    if not (0 < ix < nx - 1 and 0 < iy < ny - 1 and 0 < iz < nz - 1):
        return
    if mask[ix, iy, iz] == 0:
        nxt[ix, iy, iz] = 0.0
        return
    total = 0.0
    neighbours = 0
    for axis in range(3):
        for side in (-1, 1):
            jx = ix + side if axis == 0 else ix
            jy = iy + side if axis == 1 else iy
            jz = iz + side if axis == 2 else iz
            if mask[jx, jy, jz]:
                total += curr[jx, jy, jz]
                neighbours += 1
    loss = 0.5 * math.sqrt(courant2) * beta * (6 - neighbours)
    nxt[ix, iy, iz] = (
        (2.0 - courant2 * neighbours) * curr[ix, iy, iz] + courant2 * total + (loss - 1.0) * prev[ix, iy, iz]
    ) / (1.0 + loss)


# --------------------------------------------------------------------- radiative transfer: rays through a cloud


@cuda.jit
def march(extinction, source, origin, direction, ds, detector, absorbed):
    ray = cuda.grid(1)
    if ray >= origin.shape[0]:
        return
    x, y = origin[ray, 0], origin[ray, 1]
    ux, uy = direction[ray, 0], direction[ray, 1]
    norm = math.sqrt(ux * ux + uy * uy)
    ux /= norm
    uy /= norm
    transmittance = 1.0
    radiance = 0.0
    step = 0
    while transmittance > 1e-3 and step < 12:
        i, j = int(math.floor(x)), int(math.floor(y))
        if i < 0 or j < 0 or i >= extinction.shape[0] - 1 or j >= extinction.shape[1] - 1:
            break
        fx, fy = x - i, y - j
        k = (
            (1 - fx) * (1 - fy) * extinction[i, j] + fx * (1 - fy) * extinction[i + 1, j]
            + (1 - fx) * fy * extinction[i, j + 1] + fx * fy * extinction[i + 1, j + 1]
        )  # fmt: skip
        passed = math.exp(-k * ds)
        radiance += transmittance * (1.0 - passed) * source[i, j]
        cuda.atomic.add(absorbed, (i, j), transmittance * (1.0 - passed))
        transmittance *= passed
        x += ux * ds
        y += uy * ds
        step += 1
    detector[ray] = radiance


# ------------------------------------------------------------ rendering: spheres in soft light, single precision


@cuda.jit(device=True)
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@cuda.jit(device=True)
def unit3(a):
    inv = float32(1.0) / math.sqrt(dot3(a, a))
    return a[0] * inv, a[1] * inv, a[2] * inv


@cuda.jit(device=True)
def hit_sphere(origin, ray, centre, radius):
    oc = (origin[0] - centre[0], origin[1] - centre[1], origin[2] - centre[2])
    b = dot3(oc, ray)
    disc = b * b - (dot3(oc, oc) - radius * radius)
    if disc < float32(0.0):
        return float32(-1.0)
    return -b - math.sqrt(disc)


@cuda.jit
def render(spheres, albedo, light, image):
    px, py = cuda.grid(2)
    h, w = image.shape
    if px >= w or py >= h:
        return
    u = (float32(px) + float32(0.5)) / float32(w) * float32(2.0) - float32(1.0)
    v = (float32(py) + float32(0.5)) / float32(h) * float32(2.0) - float32(1.0)
    origin = (float32(0.0), float32(0.0), float32(-3.0))
    ray = unit3((u, v, float32(2.0)))
    nearest = float32(1e9)
    which = int32(-1)
    for s in range(spheres.shape[0]):
        t = hit_sphere(origin, ray, (spheres[s, 0], spheres[s, 1], spheres[s, 2]), spheres[s, 3])
        if t > float32(0.0) and t < nearest:
            nearest = t
            which = s
    if which < 0:
        image[py, px] = float32(0.1)
        return
    point = (origin[0] + nearest * ray[0], origin[1] + nearest * ray[1], origin[2] + nearest * ray[2])
    normal_ = unit3((point[0] - spheres[which, 0], point[1] - spheres[which, 1], point[2] - spheres[which, 2]))
    shade = dot3(normal_, unit3((light[0], light[1], light[2])))
    image[py, px] = albedo[which] * math.log(float32(1.0) + math.exp(float32(4.0) * shade)) / float32(4.0)


# ------------------------------------------------------------------------------------------------------------- cases


def single(*arrays):
    return tuple(a.astype(np.float32) for a in arrays)


def of_gravity(g):
    pos = g.random((19, 4))
    return (*single(pos, np.zeros((19, 3))), 19)


def of_render(g):
    spheres = np.array([[-0.6, 0.1, 0.4, 0.7], [0.7, -0.2, 0.1, 0.6], [0.0, 0.8, 1.0, 0.5]]) + 0.05 * g.random((3, 4))
    return single(spheres, 0.3 + 0.5 * g.random(3), np.array([0.4, -0.6, -0.9]), g.random((6, 7)))


def of_march(g):
    origin = np.stack([0.3 + 4 * g.random(9), 0.3 + g.random(9)], axis=1)
    direction = np.stack([0.3 * normal(g, 9), 0.8 + 0.2 * g.random(9)], axis=1)
    return g.random((7, 9)), g.random((7, 9)), origin, direction, 0.45, normal(g, 9), normal(g, 7, 9)


def of_hmm(g):
    def logs(*shape):
        p = 0.1 + g.random(shape)
        return np.log(p / p.sum(axis=-1, keepdims=True))

    lengths = np.array([1, 6, 4])
    return logs(5), logs(5, 5), logs(5, 4), g.integers(0, 4, (3, 6)), lengths, normal(g, 3)


CASES = {
    "crack growth": (
        crack_growth, (2, 8),
        lambda g: (
            0.2 + 0.1 * g.random(11), 1.0 + g.random((11, 6)), 2.0, -4.0, 2.7, 0.9, normal(g, 11), np.zeros(11, int)
        ),
    ),
    "gravity": (gravity, (3, 8), of_gravity),
    "biquads": (biquads, (1, 8), lambda g: (normal(g, 5, 9), 0.4 * normal(g, 3, 5), normal(g, 5), normal(g, 5, 9))),
    "elastic waves": (
        update_vx, ((2, 2, 2), (4, 4, 4)),
        lambda g: (
            normal(g, 7, 8, 5), normal(g, 7, 8, 5), normal(g, 7, 8, 5), 1.0 + g.random((7, 8, 5)),
            0.9 + 0.1 * g.random(8), 0.1, 0.7,
        ),
    ),
    "overland": (
        overland, ((2, 2), (4, 4)),
        lambda g: (g.random((6, 7)) - 0.2, g.random((6, 7)), 0.5 + g.random((6, 7)), 0.1, 1.0, normal(g, 6, 7)),
    ),
    "drivers": (
        drivers, (2, 4),
        lambda g: (
            np.sort(90 * g.random(13)), 5 + 3 * g.random(13), np.array([15.0, 1.2, 1.1, 1.6, 2.0]), 100.0, 0.1,
            normal(g, 13), normal(g, 13),
        ),
    ),
    "patches": (
        patches, (2, 4),
        lambda g: (
            0.2 + g.random((6, 3)), np.array([5.0, 3.0, 0.4, 2.0, 0.4, 0.02]), 3, 0.1, normal(g, 6, 3), normal(g, 1)
        ),
    ),
    "allen cahn": (
        allen_cahn, ((2, 2), (4, 4)), lambda g: (g.random((7, 6)), g.random((7, 6)), 0.4, 0.1, normal(g, 7, 6))
    ),
    "hidden markov": (hmm_forward, (3, N_STATES), of_hmm),
    "room": (
        room, ((2, 2, 1), (3, 3, 4)),
        lambda g: (
            normal(g, 6, 5, 4), normal(g, 6, 5, 4), normal(g, 6, 5, 4), (g.random((6, 5, 4)) > 0.3).astype(np.uint8),
            0.3, 0.25,
        ),
    ),
    "march": (march, (2, 8), of_march),
    "render": (render, ((2, 2), (4, 4)), of_render),
}  # fmt: skip
