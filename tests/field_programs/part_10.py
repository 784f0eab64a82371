import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.special import erfc

PROGRAMS = []


# ---------------------------------------------------------------- snow hydrology
@dataclass
class DegreeDay:
    ddf: float
    t_melt: float
    refreeze: float
    lapse: float = -0.0065


def softplus(x, s=0.5):
    return s * np.log1p(np.exp(x / s))


def melt_runoff(p, temp, precip, elevations):
    """Temperature-index melt over elevation bands, smooth thresholds; total runoff."""
    swe = np.zeros(len(elevations))
    runoff = 0.0
    for t, pr in zip(temp, precip):
        tb = t + p.lapse * (elevations - 1000.0)
        snow_frac = 1.0 / (1.0 + np.exp(2.0 * (tb - 1.0)))
        swe += pr * snow_frac
        pot = p.ddf * softplus(tb - p.t_melt)
        melt = swe * (1.0 - np.exp(-pot / (swe + 1.0)))
        swe = swe - melt * (1.0 - p.refreeze)
        runoff += np.mean(melt * (1.0 - p.refreeze) + pr * (1.0 - snow_frac))
    return runoff


PROGRAMS.append(
    (
        "degree_day",
        "snow hydrology",
        melt_runoff,
        lambda: (
            DegreeDay(4.2, 0.3, 0.05),
            [-4.0, -1.0, 2.5, 5.0, 1.0, 7.0, 9.0],
            [6.0, 12.0, 3.0, 0.5, 8.0, 1.0, 0.2],
            np.array([900.0, 1300.0, 1700.0, 2100.0]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- phase retrieval
def pupil_phase(zern, x, y):
    """Low order Zernike polynomials: tilt, defocus, astigmatism, coma."""
    r2 = x**2 + y**2
    modes = [
        2 * x,
        2 * y,
        math.sqrt(3) * (2 * r2 - 1),
        math.sqrt(6) * 2 * x * y,
        math.sqrt(6) * (x**2 - y**2),
        math.sqrt(8) * (3 * r2 - 2) * x,
    ]
    return sum(c * z for c, z in zip(zern, modes))


def phase_retrieval_loss(zern, measured, n=8):
    g = (np.arange(n) - (n - 1) / 2) / (n / 2)
    x, y = np.meshgrid(g, g)
    aperture = (x**2 + y**2 <= 1.0).astype(float)
    field = aperture * np.exp(1j * pupil_phase(zern, x, y))
    psf = np.abs(np.fft.fftshift(np.fft.fft2(field))) ** 2
    psf /= psf.sum()
    return np.sum((np.sqrt(psf) - np.sqrt(measured)) ** 2)


def _pr_args():
    y, x = np.mgrid[0:8, 0:8]
    m = np.exp(-((x - 4.2) ** 2 + (y - 3.7) ** 2) / 2.5)
    return np.array([0.1, -0.2, 0.4, 0.15, -0.1, 0.2]), m / m.sum()


PROGRAMS.append(("phase_retrieval", "adaptive optics", phase_retrieval_loss, _pr_args, (0, 1)))


# ---------------------------------------------------------------- sensor calibration
def ellipsoid_residual(offset, soft_iron, samples, field=1.0):
    """Magnetometer calibration with an upper-triangular soft-iron matrix."""
    W = np.zeros((3, 3))
    W[np.triu_indices(3)] = soft_iron
    cal = (samples - offset) @ W.T
    mag = np.sqrt((cal**2).sum(axis=1))
    return ((mag - field) ** 2).sum()


def _mag_args():
    rng = np.random.default_rng(31)
    s = rng.normal(size=(9, 3))
    s = s / np.linalg.norm(s, axis=1)[:, None] + 0.05 * rng.normal(size=(9, 3))
    return np.array([0.1, -0.05, 0.02]), np.array([1.05, 0.02, -0.01, 0.97, 0.03, 1.02]), s


PROGRAMS.append(("mag_calibration", "sensor calibration", ellipsoid_residual, _mag_args, (0, 1, 2)))


# ---------------------------------------------------------------- contaminant transport
def ogata_banks(x, t, v, D):
    a = erfc((x - v * t) / (2 * np.sqrt(D * t)))
    b = np.exp(v * x / D) * erfc((x + v * t) / (2 * np.sqrt(D * t)))
    return 0.5 * (a + b)


def breakthrough_error(v, D, R, decay, x, t, conc):
    """Column experiment with retardation and first order decay."""
    ve, De = v / R, D / R
    c = ogata_banks(x, t, ve, De) * np.exp(-decay * x / ve)
    return np.sqrt(np.mean((c - conc) ** 2))


PROGRAMS.append(
    (
        "column_breakthrough",
        "contaminant transport",
        breakthrough_error,
        lambda: (
            1.2,
            0.35,
            1.6,
            0.02,
            5.0,
            np.array([2.0, 4.0, 6.0, 8.0, 10.0, 14.0]),
            np.array([0.01, 0.1, 0.4, 0.65, 0.85, 0.9]),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- robotics, pose graph
def wrap(a):
    return np.arctan2(np.sin(a), np.cos(a))


def pose_graph_cost(poses, edges, info=(10.0, 10.0, 40.0)):
    """SE(2) pose graph optimisation objective."""
    w = np.array(info)
    cost = np.sum(poses[0] ** 2) * 100.0
    for i, j, meas in edges:
        xi, yi, ti = poses[i]
        xj, yj, tj = poses[j]
        c, s = np.cos(ti), np.sin(ti)
        dx, dy = xj - xi, yj - yi
        e = np.array([c * dx + s * dy - meas[0], -s * dx + c * dy - meas[1], wrap(tj - ti - meas[2])])
        cost += e @ (w * e)
    return cost


PROGRAMS.append(
    (
        "pose_graph_slam",
        "robotics, SLAM",
        pose_graph_cost,
        lambda: (
            np.array([[0.01, -0.02, 0.0], [1.1, 0.1, 0.3], [1.9, 0.7, 1.2], [1.7, 1.8, 2.0]]),
            [(0, 1, (1.0, 0.0, 0.35)), (1, 2, (1.0, 0.3, 0.8)), (2, 3, (1.0, 0.5, 0.9)), (0, 3, (1.6, 1.7, 1.9))],
        ),
        (0,),
    )
)


# ---------------------------------------------------------------- Bayesian optimisation / design
def matern52_cov(x, y, ell):
    r = np.abs(x[:, None] - y[None, :]) / ell
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r)


def expected_improvement(xq, X, y, ell=0.7, noise=1e-2):
    """EI at a query point under a standardised GP surrogate (minimisation)."""
    K = matern52_cov(X, X, ell) + noise * np.eye(len(X))
    L = np.linalg.cholesky(K)
    ys = (y - y.mean()) / y.std()
    ks = matern52_cov(X, np.array([xq]), ell)[:, 0]
    a = solve_triangular(L, ks, lower=True)
    b = solve_triangular(L, ys, lower=True)
    mu = a @ b
    sd = np.sqrt(1.0 - a @ a)
    z = (ys.min() - mu) / sd
    return sd * (z * 0.5 * erfc(-z / math.sqrt(2)) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))


PROGRAMS.append(
    (
        "expected_improvement",
        "Bayesian optimisation",
        expected_improvement,
        lambda: (1.37, np.array([0.0, 0.8, 1.9, 2.5, 3.1]), np.array([1.0, 0.2, -0.5, 0.1, 0.7]), 0.7),
        (0, 2, 3),
    )
)


# ---------------------------------------------------------------- vibration modes
def frequencies(k, m):
    """Natural frequencies of a chain of masses fixed on the left."""
    n = len(m)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] = k[i] + (k[i + 1] if i + 1 < n else 0.0)
        if i + 1 < n:
            K[i, i + 1] = K[i + 1, i] = -k[i + 1]
    w2 = eigh(K, np.diag(m), eigvals_only=True)
    return np.sqrt(w2) / (2 * np.pi)


def modal_update(k, m, measured):
    f = frequencies(k, m)
    return np.sum(((f - measured) / measured) ** 2)


PROGRAMS.append(
    (
        "modal_updating",
        "structural vibration",
        modal_update,
        lambda: (
            np.array([900.0, 700.0, 800.0, 500.0]),
            np.array([2.0, 1.5, 1.2, 1.0]),
            np.array([1.2, 3.1, 5.2, 6.9]),
        ),
        (0, 1),
    )
)


# ---------------------------------------------------------------- epidemiology with ages
def next_generation_r0(contact, suscept, infectious, vacc, ve):
    """Dominant eigenvalue by power iteration."""
    eff = suscept * (1.0 - ve * vacc)
    K = eff[:, None] * contact * infectious[None, :]
    x = np.ones(len(vacc)) / len(vacc)
    r = 0.0
    for _ in range(40):
        y = K @ x
        r = np.sum(y)
        x = y / r
    return r


def vaccination_objective(vacc, contact, suscept, infectious, pop, ve=0.85, price=0.3):
    doses = np.dot(pop, vacc) / pop.sum()
    return next_generation_r0(contact, suscept, infectious, vacc, ve) + price * doses**2


PROGRAMS.append(
    (
        "vaccine_allocation",
        "epidemiology",
        vaccination_objective,
        lambda: (
            np.array([0.2, 0.5, 0.7]),
            np.array([[8.0, 3.0, 1.0], [3.0, 6.0, 2.0], [1.0, 2.0, 3.0]]),
            np.array([0.05, 0.08, 0.1]),
            np.array([4.0, 5.0, 6.0]),
            np.array([20.0, 55.0, 25.0]),
            0.8,
        ),
        (0, 1, 2, 3, 5),
    )
)


# ---------------------------------------------------------------- colour science
def srgb_to_linear(c):
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def rgb_to_lab(rgb, white=(0.9505, 1.0, 1.089)):
    M = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = srgb_to_linear(rgb) @ M.T / np.asarray(white)
    eps = (6 / 29) ** 3
    f = np.where(xyz > eps, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    L = 116 * f[:, 1] - 16
    a = 500 * (f[:, 0] - f[:, 1])
    b = 200 * (f[:, 1] - f[:, 2])
    return np.stack([L, a, b], axis=-1)


def profile_error(ccm, gamma, camera, reference):
    """Mean CIE76 error of a colour correction matrix with a tone exponent."""
    rgb = np.clip(camera @ ccm.T, 1e-4, 1.0) ** gamma
    lab = rgb_to_lab(rgb)
    return np.mean(np.sqrt(np.sum((lab - reference) ** 2, axis=1)))


PROGRAMS.append(
    (
        "colour_profile",
        "colour science",
        profile_error,
        lambda: (
            np.array([[0.9, 0.05, 0.02], [0.03, 0.88, 0.04], [0.0, 0.06, 0.9]]),
            0.9,
            np.array([[0.4, 0.3, 0.2], [0.1, 0.6, 0.3], [0.7, 0.7, 0.65], [0.2, 0.15, 0.5], [0.02, 0.03, 0.4]]),
            np.array([[36.0, 10, 15], [55, -40, 20], [75, 0, 3], [22, 20, -40], [12, 25, -45.0]]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- chemical engineering
def antoine(T, A, B, C):
    return 10 ** (A - B / (T + C))


def wilson_gamma(x, lam12, lam21):
    x1, x2 = x, 1 - x
    s1, s2 = x1 + lam12 * x2, x2 + lam21 * x1
    t = lam12 / s1 - lam21 / s2
    return np.exp(-np.log(s1) + x2 * t), np.exp(-np.log(s2) - x1 * t)


def bubble_temperature(x, P, lam, T=70.0):
    for it in range(50):
        g1, g2 = wilson_gamma(x, *lam)
        p1, p2 = antoine(T, 8.2, 1642.9, 230.3), antoine(T, 8.07, 1730.6, 233.4)
        f = x * g1 * p1 + (1 - x) * g2 * p2 - P
        h = 1e-3
        p1h, p2h = antoine(T + h, 8.2, 1642.9, 230.3), antoine(T + h, 8.07, 1730.6, 233.4)
        df = (x * g1 * (p1h - p1) + (1 - x) * g2 * (p2h - p2)) / h
        T -= f / df
        if abs(f) < 1e-11 * P:
            break
    return T, x * g1 * p1 / P


def vle_objective(lam12, lam21, P, x_data, y_data, T_data):
    """Sum of squared errors of vapour composition and boiling point."""
    obj = 0.0
    for x, y, Tobs in zip(x_data, y_data, T_data):
        T, y_calc = bubble_temperature(x, P, (lam12, lam21))
        obj += 100 * (y_calc - y) ** 2 + (T - Tobs) ** 2
    return obj


PROGRAMS.append(
    (
        "wilson_vle",
        "chemical engineering",
        vle_objective,
        lambda: (0.18, 0.9, 760.0, [0.1, 0.3, 0.5, 0.8], [0.44, 0.57, 0.65, 0.81], [86.5, 81.7, 79.8, 78.4]),
        (0, 1, 2),
    )
)
