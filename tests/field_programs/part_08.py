from dataclasses import dataclass

import numpy as np
from numba import jit
from scipy import stats

PROGRAMS = []


# ---------------------------------------------------------------- extreme value statistics
def gpd_profile(params, exceed, return_period=100.0, rate=2.5):
    """Penalised generalised Pareto likelihood plus a return level prior."""
    log_scale, xi = params
    scale = np.exp(log_scale)
    ll = stats.genpareto.logpdf(exceed, xi, loc=0.0, scale=scale).sum()
    level = scale / xi * ((return_period * rate) ** xi - 1)
    return -ll + 0.5 * (np.log(level) - np.log(20.0)) ** 2 / 0.25


PROGRAMS.append(
    (
        "gpd_return_level",
        "extreme value statistics",
        gpd_profile,
        lambda: (np.array([0.8, 0.15]), np.array([0.3, 1.1, 2.4, 0.8, 5.2, 1.7, 3.1, 0.5, 0.9, 7.4])),
        (0, 1),
    )
)


# ---------------------------------------------------------------- diffusion MRI
def dti_design(bvals, bvecs):
    x, y, z = bvecs.T
    return -bvals[:, None] * np.stack([x * x, y * y, z * z, 2 * x * y, 2 * x * z, 2 * y * z], axis=1)


def fa_of_tensor(d):
    D = np.array([[d[0], d[3], d[4]], [d[3], d[1], d[5]], [d[4], d[5], d[2]]])
    ev = np.linalg.eigvalsh(D)
    return np.sqrt(1.5 * np.sum((ev - ev.mean()) ** 2) / np.sum(ev**2))


def weighted_fa(signal, bvals, bvecs):
    """Fractional anisotropy from a weighted log-linear tensor fit."""
    X = np.column_stack([dti_design(bvals, bvecs), np.ones(len(bvals))])
    w = signal**2
    XtW = X.T * w
    beta = np.linalg.solve(XtW @ X, XtW @ np.log(signal))
    return fa_of_tensor(beta[:6])


def _dti_args():
    rng = np.random.default_rng(17)
    v = rng.normal(size=(12, 3))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    b = np.r_[0.0, np.full(11, 1.0)]
    D = np.array([[1.6, 0.2, 0.1], [0.2, 0.5, 0.05], [0.1, 0.05, 0.35]])
    s = np.exp(-b * np.einsum("ni,ij,nj->n", v, D, v)) * (1 + 0.01 * rng.normal(size=12))
    return s, b, v


PROGRAMS.append(("dti_fa", "diffusion MRI", weighted_fa, _dti_args, (0,)))


# ---------------------------------------------------------------- protein folding
@dataclass
class GoModel:
    k_bond: float = 100.0
    k_angle: float = 20.0
    eps_native: float = 1.0
    eps_rep: float = 0.5


def go_energy(coords, native, model):
    """C-alpha Go-like model: bonds, angles and 12-10 native contacts."""
    bonds = coords[1:] - coords[:-1]
    b = np.linalg.norm(bonds, axis=1)
    b0 = np.linalg.norm(native[1:] - native[:-1], axis=1)
    e = model.k_bond * np.sum((b - b0) ** 2)

    def cos_angles(x):
        d = x[1:] - x[:-1]
        num = -np.sum(d[:-1] * d[1:], axis=1)
        return num / np.linalg.norm(d[:-1], axis=1) / np.linalg.norm(d[1:], axis=1)

    e += 0.5 * model.k_angle * np.sum((cos_angles(coords) - cos_angles(native)) ** 2)
    n = len(coords)
    for i in range(n - 3):
        for j in range(i + 3, n):
            r = np.linalg.norm(coords[i] - coords[j])
            r0 = np.linalg.norm(native[i] - native[j])
            if r0 < 7.5:
                e += model.eps_native * (5 * (r0 / r) ** 12 - 6 * (r0 / r) ** 10)
            else:
                e += model.eps_rep * (4.0 / r) ** 12
    return e


def _go_args():
    t = np.arange(7) * 1.745
    native = np.column_stack([2.3 * np.cos(t), 2.3 * np.sin(t), 1.5 * np.arange(7)])
    coords = native + 0.15 * np.random.default_rng(2).normal(size=native.shape)
    return coords, native, GoModel()


PROGRAMS.append(("go_model", "protein folding", go_energy, _go_args, (0, 2)))


# ---------------------------------------------------------------- lattice physics
@jit(nopython=True)
def xy_energy(theta, J, h):
    """Periodic 2D XY model with a field along x."""
    n, m = theta.shape
    e = 0.0
    for i in range(n):
        for j in range(m):
            right = theta[i, (j + 1) % m]
            down = theta[(i + 1) % n, j]
            e -= J * (np.cos(theta[i, j] - right) + np.cos(theta[i, j] - down))
            e -= h * np.cos(theta[i, j])
    return e


PROGRAMS.append(
    (
        "xy_model",
        "statistical physics",
        xy_energy,
        lambda: (np.random.default_rng(4).uniform(-3, 3, (4, 4)), 1.0, 0.3),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- photogrammetry
def rodrigues(rvec):
    theta = np.linalg.norm(rvec)
    k = rvec / theta
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * (K @ K)


def project(points, rvec, tvec, focal, dist):
    p = points @ rodrigues(rvec).T + tvec
    xy = p[:, :2] / p[:, 2:]
    r2 = np.sum(xy**2, axis=1, keepdims=True)
    return focal * xy * (1 + dist[0] * r2 + dist[1] * r2**2)


def reprojection_error(cameras, points, observations, focal, dist):
    """Bundle adjustment cost; observations hold (camera, point, u, v)."""
    cost = 0.0
    for cam, (rvec, tvec) in enumerate(cameras):
        obs = [(p, u, v) for c, p, u, v in observations if c == cam]
        idx = [o[0] for o in obs]
        uv = np.array([[o[1], o[2]] for o in obs])
        r = project(points[idx], rvec, tvec, focal, dist) - uv
        s = np.sum(r**2, axis=1)
        cost += np.sum(np.sqrt(1 + s) - 1)
    return cost


def _ba_args():
    cams = [
        (np.array([0.1, -0.2, 0.05]), np.array([0.1, 0.0, 4.0])),
        (np.array([-0.15, 0.25, 0.1]), np.array([-0.3, 0.1, 4.5])),
    ]
    pts = np.array([[0.2, 0.1, 0.5], [-0.5, 0.4, -0.2], [0.6, -0.3, 0.1], [-0.2, -0.6, 0.3]])
    obs = [(0, 0, 30, 12), (0, 1, -40, 55), (0, 3, -10, -70), (1, 0, 5, 20), (1, 2, 60, -25), (1, 3, -35, -60)]
    return cams, pts, obs, 500.0, np.array([-0.1, 0.02])


PROGRAMS.append(("bundle_adjustment", "photogrammetry", reprojection_error, _ba_args, (0, 1, 3, 4)))


# ---------------------------------------------------------------- game theory
def logit_response(payoff, opp, lam):
    u = lam * (payoff @ opp)
    e = np.exp(u - u.max())
    return e / e.sum()


def qre_distance(A, B, lam, freq_row, freq_col, damping=0.5, iters=40):
    """Fit of a quantal response equilibrium of a bimatrix game to observed play."""
    x = np.ones(A.shape[0]) / A.shape[0]
    y = np.ones(A.shape[1]) / A.shape[1]
    for _ in range(iters):
        x_new = logit_response(A, y, lam)
        y_new = logit_response(B.T, x, lam)
        x = damping * x + (1 - damping) * x_new
        y = damping * y + (1 - damping) * y_new
    kl = np.sum(freq_row * np.log(freq_row / x)) + np.sum(freq_col * np.log(freq_col / y))
    return kl


PROGRAMS.append(
    (
        "quantal_response",
        "game theory",
        qre_distance,
        lambda: (
            np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 0.0]]),
            np.array([[1.0, 2.0, 0.5], [2.0, 0.0, 1.0]]),
            0.9,
            np.array([0.4, 0.6]),
            np.array([0.3, 0.5, 0.2]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- pricing of American options
def binomial_american_put(S0, K, r, sigma, T, n=25):
    """Cox-Ross-Rubinstein tree."""
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    S = S0 * u ** np.arange(n, -n - 1, -2)
    V = np.maximum(K - S, 0)
    for i in range(n - 1, -1, -1):
        S = S0 * u ** np.arange(i, -i - 1, -2)
        V = disc * (p * V[:-1] + (1 - p) * V[1:])
        V = np.maximum(V, K - S)
    return V[0]


PROGRAMS.append(
    (
        "crr_american_put",
        "derivatives pricing",
        binomial_american_put,
        lambda: (97.3, 100.0, 0.045, 0.27, 0.83),
        (0, 1, 2, 3, 4),
    )
)


# ---------------------------------------------------------------- plant physiology
def farquhar(ci, vcmax, jmax, par, temp):
    """Net photosynthesis, smooth minimum of the Rubisco and light limited rates."""
    tk = temp + 273.15
    arr = lambda k25, ea: k25 * np.exp(ea * (tk - 298.15) / (298.15 * 8.314 * tk))
    kc, ko, gstar = arr(404.9, 79430.0), arr(278.4, 36380.0), arr(42.75, 37830.0)
    vc = arr(vcmax, 65330.0)
    j_abs = 0.36 * par
    b = j_abs + jmax
    j = (b - np.sqrt(b**2 - 4 * 0.7 * j_abs * jmax)) / 1.4
    wc = vc * (ci - gstar) / (ci + kc * (1 + 210.0 / ko))
    wj = j / 4 * (ci - gstar) / (ci + 2 * gstar)
    s = wc + wj
    return (s - np.sqrt(s**2 - 4 * 0.98 * wc * wj)) / (2 * 0.98) - 0.015 * vcmax


def leaf_gas_exchange(vcmax, jmax, g1, par, temp, vpd, ca=410.0):
    """Daily mean assimilation with a Medlyn-type stomatal closure, fixed-point on ci."""
    total = 0.0
    for q, tl, d in zip(par, temp, vpd):
        ci = 0.7 * ca
        for _ in range(30):
            a = farquhar(ci, vcmax, jmax, q, tl)
            gs = 0.02 + 1.6 * (1 + g1 / np.sqrt(d)) * a / ca
            ci = 0.5 * ci + 0.5 * (ca - 1.6 * a / gs)
        total += farquhar(ci, vcmax, jmax, q, tl)
    return total / len(par)


PROGRAMS.append(
    (
        "farquhar_leaf",
        "plant physiology",
        leaf_gas_exchange,
        lambda: (62.0, 110.0, 3.5, [400.0, 1100.0, 1500.0, 800.0], [18.0, 23.0, 27.0, 25.0], [0.6, 1.0, 1.7, 1.4]),
        (0, 1, 2, 4),
    )
)


# ---------------------------------------------------------------- reliability
def weibull_censored_nll(log_shape, log_scale, times, failed, beta, temp):
    """Accelerated life test with right censoring and an Arrhenius-type stress term."""
    k = np.exp(log_shape)
    eta = np.exp(log_scale + beta * (1000.0 / temp - 1000.0 / 298.0))
    z = (times / eta) ** k
    log_pdf = np.log(k / eta) + (k - 1) * np.log(times / eta) - z
    return -np.sum(np.where(failed, log_pdf, -z))


PROGRAMS.append(
    (
        "weibull_alt",
        "reliability engineering",
        weibull_censored_nll,
        lambda: (
            0.4,
            6.5,
            np.array([120.0, 340.0, 510.0, 800.0, 95.0, 210.0, 400.0, 60.0, 150.0]),
            np.array([1, 1, 1, 0, 1, 1, 0, 1, 1], dtype=bool),
            3.0,
            np.array([330.0] * 4 + [350.0] * 3 + [370.0] * 2),
        ),
        (0, 1, 2, 4),
    )
)


# ---------------------------------------------------------------- particle physics
def breit_wigner(m, m0, width):
    return 1.0 / (m0**2 - m**2 - 1j * m0 * width)


def dalitz_nll(mag, phase, masses, widths, events, grid):
    """Unbinned amplitude fit: coherent sum of resonances normalised on a grid."""
    coeff = mag * np.exp(1j * phase)

    def intensity(m):
        amp = np.zeros(m.shape, dtype=complex)
        for c, m0, w in zip(coeff, masses, widths):
            amp = amp + c * breit_wigner(m, m0, w)
        return np.abs(amp) ** 2

    norm = np.mean(intensity(grid)) * (grid[-1] - grid[0])
    return -np.sum(np.log(intensity(events) / norm))


PROGRAMS.append(
    (
        "breit_wigner_fit",
        "particle physics",
        dalitz_nll,
        lambda: (
            np.array([1.0, 0.6, 0.3]),
            np.array([0.1, 1.2, -0.8]),
            np.array([0.77, 0.98, 1.27]),
            np.array([0.15, 0.07, 0.18]),
            np.array([0.7, 0.75, 0.81, 0.92, 1.0, 1.21, 1.3, 0.78]),
            np.linspace(0.4, 1.6, 40),
        ),
        (0, 1, 2, 3),
    )
)
