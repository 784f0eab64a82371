"""Programs that launch kernels, as the people of ten fields write them.

PROGRAMS: by name, the program, what makes its arguments, and those to differentiate with respect to. In the simulator
the program itself runs, which is what its gradients are compared with.
"""

import math

import numpy as np
from numba import cuda, float64

# ------------------------------------------------------------------------- a Poisson problem in three dimensions


@cuda.jit
def jacobi_sweep(u, u_new, f, h):
    i, j, k = cuda.grid(3)
    nx, ny, nz = u.shape
    if i == 0 or j == 0 or k == 0:
        return
    if i >= nx - 1 or j >= ny - 1 or k >= nz - 1:
        return
    u_new[i, j, k] = (
        u[i - 1, j, k]
        + u[i + 1, j, k]
        + u[i, j - 1, k]
        + u[i, j + 1, k]
        + u[i, j, k - 1]
        + u[i, j, k + 1]
        - h * h * f[i, j, k]
    ) / 6.0


@cuda.jit
def squared_difference(u, target, total):
    i, j, k = cuda.grid(3)
    if i < u.shape[0] and j < u.shape[1] and k < u.shape[2]:
        d = u[i, j, k] - target[i, j, k]
        cuda.atomic.add(total, 0, d * d)


def poisson(f, boundary, target, sweeps):
    n = f.shape[0]
    h = 1.0 / (n - 1)
    threads = (2, 2, 4)
    blocks = (
        math.ceil(f.shape[0] / threads[0]),
        math.ceil(f.shape[1] / threads[1]),
        math.ceil(f.shape[2] / threads[2]),
    )
    d_f = cuda.to_device(f)
    d_target = cuda.to_device(target)
    u = cuda.to_device(boundary)
    u_new = cuda.to_device(boundary)
    for it in range(sweeps):
        jacobi_sweep[blocks, threads](u, u_new, d_f, h)
        u, u_new = u_new, u
    total = cuda.to_device(np.zeros(1))
    squared_difference[blocks, threads](u, d_target, total)
    return total.copy_to_host()[0]


# ------------------------------------------------------------------------------------------------ acoustic waves


@cuda.jit
def step_wave(p_old, p, p_new, c2, damp, dt, dx):
    """Fourth order in space, second in time."""
    i, j = cuda.grid(2)
    nz, nx = p.shape
    if 2 <= i < nz - 2 and 2 <= j < nx - 2:
        lap = (
            -p[i - 2, j]
            + 16.0 * p[i - 1, j]
            - 30.0 * p[i, j]
            + 16.0 * p[i + 1, j]
            - p[i + 2, j]
            - p[i, j - 2]
            + 16.0 * p[i, j - 1]
            - 30.0 * p[i, j]
            + 16.0 * p[i, j + 1]
            - p[i, j + 2]
        ) / (12.0 * dx * dx)
        g = damp[i, j]
        p_new[i, j] = (2.0 - g) * p[i, j] - (1.0 - g) * p_old[i, j] + dt * dt * c2[i, j] * lap


@cuda.jit
def inject(p, value, iz, ix):
    if cuda.grid(1) == 0:
        p[iz, ix] += value


@cuda.jit
def record(p, traces, rz, rx, it):
    r = cuda.grid(1)
    if r < rx.size:
        traces[r, it] = p[rz[r], rx[r]]


def shot(c2, damp, wavelet, rz, rx, observed, dt, dx):
    nz, nx = c2.shape
    nt = wavelet.size
    tpb = (4, 4)
    bpg = ((nz + tpb[0] - 1) // tpb[0], (nx + tpb[1] - 1) // tpb[1])
    p_old = cuda.to_device(np.zeros((nz, nx)))
    p = cuda.to_device(np.zeros((nz, nx)))
    p_new = cuda.to_device(np.zeros((nz, nx)))
    traces = cuda.device_array((rx.size, nt))
    for it in range(nt):
        step_wave[bpg, tpb](p_old, p, p_new, c2, damp, dt, dx)
        inject[1, 1](p_new, wavelet[it] * dt * dt, 3, nx // 2)
        record[1, 8](p_new, traces, rz, rx, it)
        p_old, p, p_new = p, p_new, p_old
    residual = traces.copy_to_host() - observed
    return 0.5 * np.sum(residual**2)


# ------------------------------------------------------------------------------------- particles with neighbours


@cuda.jit(device=True)
def nearest_image(d, box):
    return d - box * round(d / box)


@cuda.jit
def lj_forces(pos, neigh, n_neigh, box, eps, sigma, force, energy):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= pos.shape[0]:
        return
    fx = 0.0
    fy = 0.0
    fz = 0.0
    e = 0.0
    for k in range(n_neigh[i]):
        j = neigh[i, k]
        dx = nearest_image(pos[i, 0] - pos[j, 0], box)
        dy = nearest_image(pos[i, 1] - pos[j, 1], box)
        dz = nearest_image(pos[i, 2] - pos[j, 2], box)
        r2 = dx * dx + dy * dy + dz * dz
        if r2 < 6.25 * sigma * sigma:
            s6 = (sigma * sigma / r2) ** 3
            e += 0.5 * 4.0 * eps * (s6 * s6 - s6)
            ff = 24.0 * eps * (2.0 * s6 * s6 - s6) / r2
            fx += ff * dx
            fy += ff * dy
            fz += ff * dz
    force[i, 0] = fx
    force[i, 1] = fy
    force[i, 2] = fz
    energy[i] = e


@cuda.jit
def half_kick_drift(pos, vel, force, dt, box):
    i = cuda.grid(1)
    if i < pos.shape[0]:
        for d in range(3):
            vel[i, d] += 0.5 * dt * force[i, d]
            pos[i, d] += dt * vel[i, d]


@cuda.jit
def half_kick(vel, force, dt):
    i = cuda.grid(1)
    if i < vel.shape[0]:
        for d in range(3):
            vel[i, d] += 0.5 * dt * force[i, d]


def molecular_dynamics(pos0, vel0, neigh, n_neigh, eps, sigma, box, dt, steps):
    n = pos0.shape[0]
    threads = 8
    blocks = (n + threads - 1) // threads
    pos = cuda.to_device(pos0)
    vel = cuda.to_device(vel0)
    force = cuda.device_array_like(pos)
    energy = cuda.device_array(n, dtype=np.float64)
    lj_forces[blocks, threads](pos, neigh, n_neigh, box, eps, sigma, force, energy)
    for step in range(steps):
        half_kick_drift[blocks, threads](pos, vel, force, dt, box)
        lj_forces[blocks, threads](pos, neigh, n_neigh, box, eps, sigma, force, energy)
        half_kick[blocks, threads](vel, force, dt)
    v = vel.copy_to_host()
    return energy.copy_to_host().sum() + 0.5 * (v * v).sum()


# --------------------------------------------------------------------------------------------- lattice Boltzmann

CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
WEIGHTS = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])


@cuda.jit
def collide(f, omega, solid):
    x, y = cuda.grid(2)
    nx, ny = f.shape[1], f.shape[2]
    if x >= nx or y >= ny or solid[x, y]:
        return
    w = cuda.const.array_like(WEIGHTS)
    rho = 0.0
    ux = 0.0
    uy = 0.0
    for q in range(9):
        rho += f[q, x, y]
        ux += CX[q] * f[q, x, y]
        uy += CY[q] * f[q, x, y]
    ux = ux / rho
    uy = uy / rho
    usq = ux * ux + uy * uy
    for q in range(9):
        cu = CX[q] * ux + CY[q] * uy
        feq = w[q] * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * usq)
        f[q, x, y] += omega * (feq - f[q, x, y])


@cuda.jit
def stream(f, f_out, solid):
    x, y = cuda.grid(2)
    nx, ny = f.shape[1], f.shape[2]
    if x < nx and y < ny:
        for q in range(9):
            xs = (x - CX[q] + nx) % nx
            ys = (y - CY[q] + ny) % ny
            if solid[xs, ys]:
                f_out[q, x, y] = f[OPPOSITE[q], x, y]
            else:
                f_out[q, x, y] = f[q, xs, ys]


def channel(f0, omega, solid, steps):
    threads = (4, 4)
    blocks = (-(-f0.shape[1] // 4), -(-f0.shape[2] // 4))
    f = cuda.to_device(f0)
    g = cuda.device_array_like(f)
    mask = cuda.to_device(solid)
    for _ in range(steps):
        collide[blocks, threads](f, omega, mask)
        stream[blocks, threads](f, g, mask)
        f, g = g, f
    out = f.copy_to_host()
    ux = out[1] - out[3] + out[5] - out[6] - out[7] + out[8]
    return np.mean(ux**2)


# ------------------------------------------------------------------------------------------- conjugate gradients

TPB = 8


@cuda.jit
def apply_operator(k, x, y):
    i = cuda.grid(1)
    n = x.size
    if i < n:
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < n - 1 else 0.0
        y[i] = (k[i] + k[i + 1] + 0.1) * x[i] - k[i] * left - k[i + 1] * right


@cuda.jit
def dot(a, b, out):
    cache = cuda.shared.array(TPB, float64)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    temp = 0.0
    while i < a.size:
        temp += a[i] * b[i]
        i += cuda.gridsize(1)
    cache[tid] = temp
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if tid < s:
            cache[tid] += cache[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        cuda.atomic.add(out, 0, cache[0])


@cuda.jit
def update_x_r(x, r, p, ap, rr, pap):
    i = cuda.grid(1)
    if i < x.size:
        alpha = rr[0] / pap[0]
        x[i] += alpha * p[i]
        r[i] -= alpha * ap[i]


@cuda.jit
def update_p(p, r, rr_new, rr):
    i = cuda.grid(1)
    if i < p.size:
        p[i] = r[i] + rr_new[0] / rr[0] * p[i]


def conjugate_gradients(k, b, observed, iterations):
    n = b.size
    blocks = (n + TPB - 1) // TPB
    x = cuda.to_device(np.zeros(n))
    r = cuda.to_device(b)
    p = cuda.to_device(b)
    ap = cuda.device_array(n)
    rr = cuda.to_device(np.zeros(1))
    dot[2, TPB](r, r, rr)
    for it in range(iterations):
        apply_operator[blocks, TPB](k, p, ap)
        pap = cuda.to_device(np.zeros(1))
        dot[2, TPB](p, ap, pap)
        update_x_r[blocks, TPB](x, r, p, ap, rr, pap)
        rr_new = cuda.to_device(np.zeros(1))
        dot[2, TPB](r, r, rr_new)
        update_p[blocks, TPB](p, r, rr_new, rr)
        rr = rr_new
    misfit = x.copy_to_host() - observed
    return np.dot(misfit, misfit)


# -------------------------------------------------------------------------------------------- pricing of options


@cuda.reduce
def sum_of(a, b):
    return a + b


@cuda.jit
def heston_paths(z, s0, v0, kappa, theta, xi, rho, dt, strike, payoffs):
    i = cuda.grid(1)
    stride = cuda.gridsize(1)
    n_steps = z.shape[1]
    while i < payoffs.size:
        s = s0
        v = v0
        for t in range(n_steps):
            z1 = z[i, t, 0]
            z2 = rho * z1 + math.sqrt(1.0 - rho * rho) * z[i, t, 1]
            vp = max(v, 0.0)
            s *= math.exp(-0.5 * vp * dt + math.sqrt(vp * dt) * z1)
            v += kappa * (theta - vp) * dt + xi * math.sqrt(vp * dt) * z2
        payoffs[i] = max(s - strike, 0.0)
        i += stride


def heston_option(z, s0, v0, kappa, theta, xi, rho, strike):
    n = z.shape[0]
    payoffs = cuda.device_array(n)
    heston_paths[2, 8](z, s0, v0, kappa, theta, xi, rho, 1.0 / z.shape[1], strike, payoffs)
    return sum_of(payoffs) / n


# ------------------------------------------------------------------------------------------ a network of kernels

TILE = 4


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    sb = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = (a.shape[1] + TILE - 1) // TILE
    tmp = float64(0.0)
    for i in range(bpg):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and (tx + i * TILE) < a.shape[1]:
            sa[ty, tx] = a[y, tx + i * TILE]
        if x < b.shape[1] and (ty + i * TILE) < b.shape[0]:
            sb[ty, tx] = b[ty + i * TILE, x]
        cuda.syncthreads()
        for j in range(TILE):
            tmp += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = tmp


@cuda.jit
def add_bias_tanh(z, b):
    i, j = cuda.grid(2)
    if i < z.shape[0] and j < z.shape[1]:
        z[i, j] = math.tanh(z[i, j] + b[j])


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, losses):
    i = cuda.grid(1)
    if i < logits.shape[0]:
        m = logits[i, 0] + bias[0]
        for j in range(1, logits.shape[1]):
            m = max(m, logits[i, j] + bias[j])
        total = 0.0
        for j in range(logits.shape[1]):
            total += math.exp(logits[i, j] + bias[j] - m)
        losses[i] = math.log(total) + m - logits[i, labels[i]] - bias[labels[i]]


def grid_of(shape):
    return (shape[1] + TILE - 1) // TILE, (shape[0] + TILE - 1) // TILE


def network(w1, b1, w2, b2, x, labels):
    batch = x.shape[0]
    hidden = cuda.device_array((batch, w1.shape[1]))
    logits = cuda.device_array((batch, w2.shape[1]))
    losses = cuda.device_array(batch)
    matmul[grid_of(hidden.shape), (TILE, TILE)](x, w1, hidden)
    add_bias_tanh[((batch + 3) // 4, (w1.shape[1] + 3) // 4), (4, 4)](hidden, b1)
    matmul[grid_of(logits.shape), (TILE, TILE)](hidden, w2, logits)
    softmax_cross_entropy[(batch + 7) // 8, 8](logits, b2, labels, losses)
    return losses.copy_to_host().mean() + 1e-3 * (np.sum(w1**2) + np.sum(w2**2))


# ------------------------------------------------------------------------------ densities of samples, by kernels

BINS = 8


@cuda.jit
def soft_histogram(samples, lo, width, counts):
    local = cuda.shared.array(BINS, float64)
    t = cuda.threadIdx.x
    if t < BINS:
        local[t] = 0.0
    cuda.syncthreads()
    start = cuda.grid(1)
    for i in range(start, samples.size, cuda.gridsize(1)):
        place = (samples[i] - lo) / width
        left = int(math.floor(place))
        w = place - left
        if left >= 0 and left < BINS:
            cuda.atomic.add(local, left, 1.0 - w)
        if left + 1 >= 0 and left + 1 < BINS:
            cuda.atomic.add(local, left + 1, w)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, local[t])


@cuda.jit
def kde(samples, grid, bandwidth, density):
    j = cuda.grid(1)
    if j < grid.size:
        total = 0.0
        for i in range(samples.size):
            u = (grid[j] - samples[i]) / bandwidth
            total += math.exp(-0.5 * u * u)
        density[j] = total / (samples.size * bandwidth * math.sqrt(2.0 * math.pi))


def density_match(samples, centres, bandwidth):
    lo = -2.0
    width = 4.0 / (BINS - 1)
    counts = cuda.to_device(np.zeros(BINS))
    soft_histogram[2, 8](samples, lo, width, counts)
    density = cuda.device_array(centres.shape, np.float64)
    kde.forall(centres.size)(samples, centres, bandwidth, density)
    h = counts.copy_to_host() / (samples.size * width)
    d = density.copy_to_host()
    return np.sum((h - d) ** 2) - np.sum(d * np.log(d + 1e-12)) * width


# ------------------------------------------------------------------------------------- deconvolution of an image


@cuda.jit
def convolve2d(image, mask, result):
    i, j = cuda.grid(2)
    image_rows, image_cols = image.shape
    if (i >= image_rows) or (j >= image_cols):
        return
    delta_rows = mask.shape[0] // 2
    delta_cols = mask.shape[1] // 2
    s = 0
    for k in range(mask.shape[0]):
        for l in range(mask.shape[1]):
            i_k = i - k + delta_rows
            j_l = j - l + delta_cols
            if (i_k >= 0) and (i_k < image_rows) and (j_l >= 0) and (j_l < image_cols):
                s += mask[k, l] * image[i_k, j_l]
    result[i, j] = s


@cuda.jit
def ratio(observed, blurred, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = observed[i, j] / (blurred[i, j] + 1e-6)


@cuda.jit
def multiply(estimate, correction):
    i, j = cuda.grid(2)
    if i < estimate.shape[0] and j < estimate.shape[1]:
        estimate[i, j] *= correction[i, j]


def richardson_lucy(observed, psf, truth, iterations):
    blockdim = (4, 4)
    griddim = (observed.shape[0] // blockdim[0] + 1, observed.shape[1] // blockdim[1] + 1)
    d_observed = cuda.to_device(observed)
    d_psf = cuda.to_device(psf)
    d_flipped = cuda.to_device(np.ascontiguousarray(psf[::-1, ::-1]))
    estimate = cuda.to_device(np.full(observed.shape, 0.5))
    blurred = cuda.device_array_like(d_observed)
    relative = cuda.device_array_like(d_observed)
    correction = cuda.device_array_like(d_observed)
    for _ in range(iterations):
        convolve2d[griddim, blockdim](estimate, d_psf, blurred)
        ratio[griddim, blockdim](d_observed, blurred, relative)
        convolve2d[griddim, blockdim](relative, d_flipped, correction)
        multiply[griddim, blockdim](estimate, correction)
    cuda.synchronize()
    return np.mean((estimate.copy_to_host() - truth) ** 2)


# -------------------------------------------------------------------------------------- an ensemble of equations


@cuda.jit(device=True)
def lotka_volterra(y, p, dy):
    dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]


@cuda.jit
def integrate(y0, params, t_end, n_steps, samples):
    i = cuda.grid(1)
    if i >= params.shape[0]:
        return
    y = cuda.local.array(2, float64)
    tmp = cuda.local.array(2, float64)
    k1 = cuda.local.array(2, float64)
    k2 = cuda.local.array(2, float64)
    k3 = cuda.local.array(2, float64)
    k4 = cuda.local.array(2, float64)
    p = params[i]
    h = t_end / n_steps
    for d in range(2):
        y[d] = y0[d]
    for s in range(n_steps):
        lotka_volterra(y, p, k1)
        for d in range(2):
            tmp[d] = y[d] + 0.5 * h * k1[d]
        lotka_volterra(tmp, p, k2)
        for d in range(2):
            tmp[d] = y[d] + 0.5 * h * k2[d]
        lotka_volterra(tmp, p, k3)
        for d in range(2):
            tmp[d] = y[d] + h * k3[d]
        lotka_volterra(tmp, p, k4)
        for d in range(2):
            y[d] += h / 6.0 * (k1[d] + 2.0 * k2[d] + 2.0 * k3[d] + k4[d])
        for d in range(2):
            samples[i, s, d] = y[d]


@cuda.jit
def weighted_residuals(samples, data, sigma, out):
    i = cuda.grid(1)
    if i < samples.shape[0]:
        acc = 0.0
        for s in range(samples.shape[1]):
            for d in range(samples.shape[2]):
                r = (samples[i, s, d] - data[s, d]) / sigma[d]
                acc += r * r
        out[i] = acc


def ensemble(y0, params, sigma, data, t_end):
    n, steps = params.shape[0], data.shape[0]
    samples = cuda.device_array((n, steps, 2))
    out = cuda.device_array(n)
    integrate[(n + 7) // 8, 8](y0, params, t_end, steps, samples)
    weighted_residuals[(n + 7) // 8, 8](samples, data, sigma, out)
    chi2 = out.copy_to_host()
    return -np.log(np.mean(np.exp(-0.5 * (chi2 - chi2.min())))) + 0.5 * chi2.min()


# ----------------------------------------------------------------------------------------------------- arguments


def of_particles(g):
    corners = np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)], float)
    pos = 1.3 * corners + 0.05 * g.normal(size=(8, 3))
    neigh = np.array([[j for j in range(8) if j != i] for i in range(8)], np.int32)
    return pos, 0.1 * g.normal(size=(8, 3)), neigh, np.full(8, 7, np.int32), 0.7, 1.1, 6.0, 0.01, 2


def of_shot(g):
    nz, nx = 9, 10
    damp = np.zeros((nz, nx))
    damp[-3:] = 0.1
    rz, rx = np.array([2, 2, 2]), np.array([2, 5, 7])
    return 1.0 + 0.2 * g.normal(size=(nz, nx)), damp, g.normal(size=4), rz, rx, g.normal(size=(3, 4)), 0.3, 1.0


def of_channel(g):
    solid = np.zeros((5, 6), np.bool_)
    solid[:, 0] = True
    solid[2, 3] = True
    return WEIGHTS.reshape(9, 1, 1) * (1.0 + 0.1 * g.normal(size=(9, 5, 6))), 1.2, solid, 2


def of_images(g):
    observed = g.uniform(0.2, 1.0, (6, 7))
    psf = g.uniform(0.1, 1.0, (3, 3))
    return observed, psf / psf.sum(), g.uniform(0.2, 1.0, (6, 7)), 2


def of_poisson(g):
    return (*(g.normal(size=(4, 5, 6)) for _ in range(3)), 2)


def of_equations(g):
    return g.uniform(0.5, 1.5, 13), g.normal(size=12), g.normal(size=12), 2


def of_paths(g):
    return g.normal(size=(19, 4, 2)), 1.0, 0.09, 1.5, 0.08, 0.4, -0.5, 0.95


def of_network(g):
    weights = 0.5 * g.normal(size=(5, 6)), g.normal(size=6), g.normal(size=(6, 3)), g.normal(size=3)
    return (*weights, g.normal(size=(7, 5)), g.integers(0, 3, 7))


def of_samples(g):
    return g.normal(size=21), np.linspace(-2.0, 2.0, BINS), 0.4


def of_ensemble(g):
    return np.array([1.0, 0.5]), g.uniform(0.5, 1.0, (9, 4)), np.array([0.3, 0.2]), g.uniform(0.3, 1.0, (4, 2)), 1.0


PROGRAMS = {
    "poisson": (poisson, of_poisson, ("f", "boundary")),
    "shot": (shot, of_shot, ("c2", "wavelet", "dt")),
    "molecular dynamics": (molecular_dynamics, of_particles, ("pos0", "vel0", "eps", "sigma")),
    "channel": (channel, of_channel, ("f0", "omega")),
    "conjugate gradients": (conjugate_gradients, of_equations, ("k", "b", "observed")),
    "heston option": (heston_option, of_paths, ("s0", "v0", "kappa", "theta", "xi", "rho")),
    "network": (network, of_network, ("w1", "b1", "w2", "b2")),
    "density match": (density_match, of_samples, ("samples", "bandwidth")),
    "richardson lucy": (richardson_lucy, of_images, ("observed", "psf")),
    "ensemble": (ensemble, of_ensemble, ("y0", "params", "sigma", "t_end")),
}
