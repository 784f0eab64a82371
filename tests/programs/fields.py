"""Programs of ten fields, drawn at random, as their people write them."""

import math

import numpy as np

from tests.programs.rows import Rows, vector, wave

FIELDS = Rows()


# ------------------------------------------------------------------------------------------------- marketing mix


def _weekly_spend():
    rng = np.random.default_rng(3)
    return rng.gamma(2.0, 1.5, size=(26, 3))


def adstock(spend, decay):
    """Carry-over of advertising: what was spent in a week still works in the next ones."""
    out = np.zeros_like(spend)
    out[0] = spend[0]
    for week in range(1, len(spend)):
        out[week] = spend[week] + decay * out[week - 1]
    return out


def hill(x, half, shape):
    return x**shape / (half**shape + x**shape)


@FIELDS.add(
    lambda: (
        np.array([0.3, 0.55, 0.1]), np.array([2.0, 4.0, 1.5]), np.array([1.2, 0.9, 2.1]), np.array([3.0, 2.0, 1.0]),
        _weekly_spend(), 8.0 + np.sin(np.arange(26.0)),
    ),
    (0, 1, 2, 3),
)  # fmt: skip
def marketing_mix(decay, half, shape, beta, spend, sales):
    weeks, channels = spend.shape
    baseline = sales.mean()
    predicted = np.full(weeks, baseline)
    for c in range(channels):
        stock = adstock(spend[:, c], decay[c])
        predicted += beta[c] * hill(stock, half[c], shape[c])
    # seasonal dummies
    residuals = sales - predicted
    residuals -= residuals.mean()
    mse = np.mean(residuals**2)
    penalty = 0.1 * np.sum(np.abs(beta)) + 0.01 * np.dot(decay, decay)
    return mse + penalty


# --------------------------------------------------------------------------------------------------- power grids


def _four_buses():
    g = np.zeros((4, 4))
    b = np.zeros((4, 4))
    for i, j, r, x in [
        (0, 1, 0.02, 0.06),
        (0, 2, 0.08, 0.24),
        (1, 2, 0.06, 0.18),
        (1, 3, 0.06, 0.18),
        (2, 3, 0.01, 0.03),
    ]:
        y = 1.0 / complex(r, x)
        g[i, j] = g[j, i] = -y.real
        b[i, j] = b[j, i] = -y.imag
        g[i, i] += y.real
        g[j, j] += y.real
        b[i, i] += y.imag
        b[j, j] += y.imag
    return g, b


@FIELDS.add(lambda: (vector(-0.4, -0.3, -0.5), vector(-0.1, -0.2, -0.15), *_four_buses()), (0, 1))
def fast_decoupled_power_flow(p_load, q_load, G, B):
    """Losses of a small grid; bus 0 is the slack."""
    n = G.shape[0]
    v = np.ones(n)
    theta = np.zeros(n)
    Bp = np.linalg.inv(-B[1:, 1:])
    for sweep in range(12):
        p = np.empty(n)
        q = np.empty(n)
        for i in range(n):
            pi = qi = 0.0
            for j in range(n):
                angle = theta[i] - theta[j]
                pi += v[j] * (G[i, j] * np.cos(angle) + B[i, j] * np.sin(angle))
                qi += v[j] * (G[i, j] * np.sin(angle) - B[i, j] * np.cos(angle))
            p[i] = v[i] * pi
            q[i] = v[i] * qi
        dp = (p_load - p[1:]) / v[1:]
        theta[1:] += Bp @ dp
        dq = (q_load - q[1:]) / v[1:]
        v[1:] += Bp @ dq
        if max(np.abs(dp).max(), np.abs(dq).max()) < 1e-13:
            break
    losses = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if G[i, j] != 0:
                losses -= G[i, j] * (v[i] ** 2 + v[j] ** 2 - 2 * v[i] * v[j] * math.cos(theta[i] - theta[j]))
    return losses


# ------------------------------------------------------------------------------------------------------ robotics


def rot_z(t):
    c, s = np.cos(t), np.sin(t)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rot_x(t):
    c, s = np.cos(t), np.sin(t)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def dh_transform(theta, d, a, alpha):
    T = np.eye(4)
    T[:3, :3] = rot_z(theta) @ rot_x(alpha)
    T[:3, 3] = [a * np.cos(theta), a * np.sin(theta), d]
    return T


@FIELDS.add(
    lambda: (
        vector(0.2, -0.6, 0.9, 0.4), vector(0.4, 0.0, 0.1, 0.2), vector(0.0, 0.5, 0.4, 0.1),
        vector(1.5, 0.0, 0.3, -0.4), vector(0.6, 0.2, 0.5),
    ),
    (0, 4),
)  # fmt: skip
def reach_cost(joints, d, a, alpha, goal):
    """How far the hand of an arm is from a goal, with soft joint limits, by Denavit-Hartenberg parameters."""
    T = np.eye(4)
    positions = []
    for k in range(len(joints)):
        T = T @ dh_transform(joints[k], d[k], a[k], alpha[k])
        positions.append(T[:3, 3].copy())
    err = positions[-1] - goal
    cost = err @ err
    # stay away from the floor
    for p in positions:
        if p[2] < 0.05:
            cost += (0.05 - p[2]) ** 2
    limit = np.pi / 2
    over = np.maximum(np.abs(joints) - limit, 0.0)
    return cost + 10.0 * np.sum(over**2) + 1e-3 * np.linalg.norm(joints)


# ------------------------------------------------------------------------------------------- atmospheric chemistry


@FIELDS.add(lambda: (vector(1.2, 0.8, 2.0), vector(0.9, 0.1, 0.6), 40), (0, 1))
def ozone(rates, start, steps):
    """O3 after a day of NO2 + hv -> NO + O, O + O2 -> O3, NO + O3 -> NO2, by an implicit step with Newton's method."""
    j0, k2, k3 = rates
    c = start.copy()
    dt = 1.0 / steps
    for n in range(steps):
        # photolysis follows the sun
        hour = 24.0 * (n + 0.5) / steps
        sun = max(0.0, math.sin(math.pi * (hour - 6.0) / 12.0))
        j = j0 * sun
        new = c.copy()
        for it in range(8):
            no2, no, o3 = new
            production = j * no2
            loss = k3 * no * o3
            F = new - c - dt * np.array([loss - production, production - loss, k2 * production - loss])
            J = np.eye(3) - dt * np.array(
                [[-j, k3 * o3, k3 * no], [j, -k3 * o3, -k3 * no], [k2 * j, -k3 * o3, -k3 * no]]
            )
            step = np.linalg.solve(J, F)
            new -= step
            if np.max(np.abs(step)) < 1e-14:
                break
        c = new
    return c[2]


# -------------------------------------------------------------------------------------------------------- optics


@FIELDS.add(
    lambda: (vector(0.11, 0.07, 0.13, 0.05), vector(1.46, 2.1, 1.46, 2.1), 1.52, np.linspace(0.45, 0.7, 9)), (0, 1)
)
def thin_film_reflectance(thickness, index, substrate, wavelengths):
    """Mean reflectance of a stack of layers at normal incidence, by characteristic matrices."""
    total = 0.0
    for lam in wavelengths:
        m = np.eye(2, dtype=np.complex128)
        for d, n in zip(thickness, index):
            delta = 2 * np.pi * n * d / lam
            layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
            m = m @ layer
        b = m[0, 0] + m[0, 1] * substrate
        c = m[1, 0] + m[1, 1] * substrate
        r = (b - c) / (b + c)
        total += abs(r) ** 2
    return total / len(wavelengths)


@FIELDS.add(lambda: (0.08, 0.5, 1.3), (0, 1, 2), compiled=True)
def fabry_perot(loss, phase, finesse):
    """Transmission through a cavity as a sum over round trips."""
    r = 1 - loss
    field = 0j
    amplitude = 1.0 + 0j
    hop = complex(r * np.cos(phase), r * np.sin(phase))
    for trip in range(25):
        field += amplitude
        amplitude *= hop
    return (field * field.conjugate()).real * loss**2 + 0.1 * finesse * abs(field)


# ---------------------------------------------------------------------------------------------------- glaciology


@FIELDS.add(lambda: (1.8, 0.3, 0.02 * wave(31), 30), (0, 1, 2))
def glacier_volume(accumulation, melt, bed_noise, years):
    """Shallow ice on a slope: thickness by explicit steps, flux on a staggered grid."""
    nx = bed_noise.size
    dx = 0.5
    n_glen = 3
    x = np.arange(nx) * dx
    bed = 3.0 - 0.15 * x + bed_noise
    H = np.zeros(nx)
    for year in range(years):
        s = bed + H
        b = np.minimum(accumulation * 0.2, melt * (s - 1.9))
        for sub in range(4):
            s = bed + H
            slope = (s[1:] - s[:-1]) / dx
            Hm = 0.5 * (H[1:] + H[:-1])
            D = 2e-3 * Hm ** (n_glen + 2) * np.abs(slope) ** (n_glen - 1)
            q = -D * slope
            dHdt = b.copy()
            dHdt[1:-1] -= (q[1:] - q[:-1]) / dx
            H = H + 0.1 * dHdt
            H[H < 0] = 0.0
    return np.trapezoid(H, x)


# ------------------------------------------------------------------------------------------------ heat exchangers


@FIELDS.add(lambda: (1.5, 0.9, 380.0, 300.0, 2.2, 20), (0, 1, 2, 3, 4))
def counterflow_duty(m_hot, m_cold, t_hot, t_cold, ua, cells):
    """Heat that a counter-current exchanger moves: Gauss-Seidel over its cells until it settles."""

    def cp(t):
        return 4.18 + 1e-3 * (t - 300.0) + 2e-6 * (t - 300.0) ** 2

    hot = [t_hot] * (cells + 1)
    hot = np.array(hot)
    cold = np.full(cells + 1, t_cold)
    change = 1.0
    sweeps = 0
    while change > 1e-12 and sweeps < 400:
        change = 0.0
        for i in range(cells):
            q = ua / cells * (0.5 * (hot[i] + hot[i + 1]) - 0.5 * (cold[i] + cold[i + 1]))
            new_hot = hot[i] - q / (m_hot * cp(hot[i]))
            change = max(change, abs(new_hot - hot[i + 1]))
            hot[i + 1] = new_hot
        for i in reversed(range(cells)):
            q = ua / cells * (0.5 * (hot[i] + hot[i + 1]) - 0.5 * (cold[i] + cold[i + 1]))
            cold[i] = cold[i + 1] + q / (m_cold * cp(cold[i + 1]))
        sweeps += 1
    return m_hot * cp(t_hot) * (t_hot - hot[-1]) * 1e-2


# ---------------------------------------------------------------------------------------------------- seismology


def ricker(t, f0):
    arg = (np.pi * f0 * (t - 1.0 / f0)) ** 2
    return (1 - 2 * arg) * np.exp(-arg)


@FIELDS.add(lambda: (1.5 + 0.1 * np.sin(np.arange(40.0)), 0.02 * wave(30), 30), (0,))
def waveform_misfit(c, observed, nt):
    """Full-waveform misfit of a 1-D acoustic shot, absorbing at both ends."""
    nx = len(c)
    dx, dt = 0.01, 0.004
    p_old, p, p_new = np.zeros(nx), np.zeros(nx), np.zeros(nx)
    seismogram = np.zeros(nt)
    src, rec = 5, nx - 8
    for it in range(nt):
        p_new[1:-1] = 2 * p[1:-1] - p_old[1:-1] + (c[1:-1] * dt / dx) ** 2 * (p[2:] - 2 * p[1:-1] + p[:-2])
        k0 = (c[0] * dt - dx) / (c[0] * dt + dx)
        p_new[0] = p[1] + k0 * (p_new[1] - p[0])
        kn = (c[-1] * dt - dx) / (c[-1] * dt + dx)
        p_new[-1] = p[-2] + kn * (p_new[-2] - p[-1])
        p_new[src] += dt**2 * 1e4 * ricker(it * dt, 12.0)
        seismogram[it] = p_new[rec]
        p_old, p, p_new = p, p_new, p_old
    r = seismogram - observed
    return 0.5 * np.sum(r * r) * dt


# ---------------------------------------------------------------------------------------------- population genetics


@FIELDS.add(lambda: (0.3, 0.1, 0.01, 12, np.array([3, 1, 4, 0, 2, 2])), (0, 1, 2))
def wright_fisher_likelihood(p0, s, mu, generations, counts):
    """Log-likelihood of sampled allele counts under drift with selection and mutation, by the transition matrix."""
    N = 6
    choose = np.ones(N + 1)
    for k in range(1, N + 1):
        choose[k] = choose[k - 1] * (N - k + 1) / k
    P = np.zeros((N + 1, N + 1))
    for i in range(N + 1):
        x = i / N
        x = x * (1 + s) / (1 + s * x)
        x = (1 - mu) * x + mu * (1 - x)
        for j in range(N + 1):
            P[i, j] = choose[j] * x**j * (1 - x) ** (N - j)
    state = np.array([choose[k] * p0**k * (1 - p0) ** (N - k) for k in range(N + 1)])
    loglik = 0.0
    seen = 0
    for g in range(generations):
        state = state @ P
        if g % 2 == 1:
            loglik += np.log(state[counts[seen]])
            seen += 1
    return loglik


# -------------------------------------------------------------------------------------------------- oceanography


@FIELDS.add(lambda: (np.linspace(15.0, 4.0, 16), np.linspace(34.5, 35.2, 16), 0.3, 6), (0, 1, 2))
def mixed_layer_heat(T, S, wind, hours):
    """Wind and cooling deepen a mixed layer: convective adjustment, then a bulk Richardson criterion."""
    nz = T.shape[0]
    dz = 5.0
    T, S = T.copy(), S.copy()

    def density(t, s):
        return 1000.0 - 0.15 * (t - 10.0) - 0.005 * (t - 10.0) ** 2 + 0.78 * (s - 35.0)

    u = np.zeros(nz)
    for h in range(hours):
        T[0] -= 0.4
        # convective adjustment from the top
        ml = 0
        while ml < nz - 1 and density(T[: ml + 1].mean(), S[: ml + 1].mean()) > density(T[ml + 1], S[ml + 1]):
            ml += 1
        T[: ml + 1] = T[: ml + 1].mean()
        S[: ml + 1] = np.mean(S[: ml + 1])
        u[: ml + 1] += wind / (ml + 1)
        # entrain while the layer below is too easily stirred
        while ml < nz - 2:
            drho = density(T[ml + 1], S[ml + 1]) - density(T[0], S[0])
            du = u[0] - u[ml + 1]
            rb = 9.81 * drho * (ml + 1) * dz / (1000.0 * du**2 + 1e-9)
            if rb > 0.65:
                break
            ml += 1
            for field in (T, S, u):
                field[: ml + 1] = field[: ml + 1].sum() / (ml + 1)
    depths = dz * (np.arange(nz) + 0.5)
    return np.sum(T * np.exp(-depths / 20.0)) + u[0] ** 2 + 0.1 * S[0]
