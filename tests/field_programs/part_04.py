import numpy as np
from numba import njit
from scipy.special import expit, gammaln, ndtr

PROGRAMS = []


# ---------------------------------------------------------------- soil physics
def van_genuchten(h, theta_r, theta_s, alpha, n):
    """Water content at pressure head h < 0."""
    m = 1.0 - 1.0 / n
    se = (1.0 + (alpha * np.abs(h)) ** n) ** (-m)
    return theta_r + (theta_s - theta_r) * se


def conductivity(h, ks, alpha, n, l=0.5):
    m = 1.0 - 1.0 / n
    se = (1.0 + (alpha * np.abs(h)) ** n) ** (-m)
    return ks * se**l * (1.0 - (1.0 - se ** (1.0 / m)) ** m) ** 2


def retention_fit(theta_r, theta_s, alpha, n, ks, h, theta_obs, k_obs):
    """Simultaneous fit of retention and log conductivity data."""
    r1 = van_genuchten(h, theta_r, theta_s, alpha, n) - theta_obs
    r2 = np.log10(conductivity(h, ks, alpha, n)) - np.log10(k_obs)
    return np.sum(r1**2) / np.var(theta_obs) + 0.1 * np.sum(r2**2)


PROGRAMS.append(
    (
        "van_genuchten_fit",
        "soil physics",
        retention_fit,
        lambda: (
            0.06,
            0.43,
            0.036,
            1.56,
            24.9,
            -np.array([5.0, 20.0, 60.0, 150.0, 500.0, 2000.0]),
            np.array([0.42, 0.37, 0.28, 0.22, 0.15, 0.11]),
            np.array([10.0, 2.5, 0.3, 0.02, 1e-3, 2e-5]),
        ),
        (0, 1, 2, 3, 4),
    )
)


# ---------------------------------------------------------------- image registration
def warp_image(img, theta, tx, ty):
    """Bilinear resampling of img after a rigid motion."""
    ny, nx = img.shape
    yy, xx = np.meshgrid(np.arange(ny), np.arange(nx), indexing="ij")
    cy, cx = (ny - 1) / 2, (nx - 1) / 2
    c, s = np.cos(theta), np.sin(theta)
    xs = c * (xx - cx) - s * (yy - cy) + cx + tx
    ys = s * (xx - cx) + c * (yy - cy) + cy + ty
    x0 = np.clip(np.floor(xs).astype(int), 0, nx - 2)
    y0 = np.clip(np.floor(ys).astype(int), 0, ny - 2)
    fx, fy = xs - x0, ys - y0
    return (
        (1 - fy) * (1 - fx) * img[y0, x0]
        + (1 - fy) * fx * img[y0, x0 + 1]
        + fy * (1 - fx) * img[y0 + 1, x0]
        + fy * fx * img[y0 + 1, x0 + 1]
    )


def ncc_loss(theta, tx, ty, moving, fixed):
    w = warp_image(moving, theta, tx, ty)[1:-1, 1:-1]
    f = fixed[1:-1, 1:-1]
    w = w - w.mean()
    f = f - f.mean()
    return 1.0 - np.sum(w * f) / np.sqrt(np.sum(w**2) * np.sum(f**2))


def _blob(cx, cy, n=10):
    y, x = np.mgrid[0:n, 0:n]
    return np.exp(-((x - cx) ** 2 + 1.5 * (y - cy) ** 2 + 0.4 * (x - cx) * (y - cy)) / 8.0)


PROGRAMS.append(
    (
        "rigid_ncc",
        "image registration",
        ncc_loss,
        lambda: (0.0371, 0.313, -0.273, _blob(4.2, 5.1), _blob(4.8, 4.6)),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- psychometrics
def irt_2pl_nll(ability, log_a, b, responses):
    """Two-parameter logistic IRT, missing answers coded as nan."""
    z = np.exp(log_a)[None, :] * (ability[:, None] - b[None, :])
    p = expit(z)
    seen = ~np.isnan(responses)
    y = np.where(seen, responses, 0.0)
    ll = y * np.log(p) + (1 - y) * np.log(1 - p)
    return -np.sum(ll[seen]) + 0.5 * np.sum(ability**2)


def _irt_args():
    resp = np.array([[1, 0, 1, np.nan], [0, 0, 1, 1], [1, 1, np.nan, 1], [0, 1, 0, 0], [1, 0, 0, 1]], dtype=float)
    return np.array([0.3, -0.2, 1.1, -0.9, 0.1]), np.array([0.1, -0.2, 0.3, 0.0]), np.array([-0.5, 0.4, 0.0, 0.2]), resp


PROGRAMS.append(("irt_2pl", "psychometrics", irt_2pl_nll, _irt_args, (0, 1, 2)))


# ---------------------------------------------------------------- traffic flow
@njit
def idm_accel(v, dv, gap, v0, T, a, b, s0):
    s_star = s0 + v * T + v * dv / (2.0 * np.sqrt(a * b))
    return a * (1.0 - (v / v0) ** 4 - (s_star / gap) ** 2)


@njit
def platoon_cost(x0, v_init, v0, T, a, b):
    """Intelligent driver model: mean squared acceleration of a small platoon behind a braking leader."""
    n = x0.shape[0]
    dt = 0.2
    x = x0.copy()
    v = v_init.copy()
    acc = np.zeros(n)
    cost = 0.0
    for step in range(20):
        acc[0] = -0.5 if step < 8 else 0.3
        for i in range(1, n):
            gap = x[i - 1] - x[i] - 5.0
            acc[i] = idm_accel(v[i], v[i] - v[i - 1], gap, v0, T, a, b, 2.0)
        for i in range(n):
            v[i] += dt * acc[i]
            x[i] += dt * v[i]
            cost += acc[i] * acc[i]
    return cost / (20 * n)


PROGRAMS.append(
    (
        "idm_platoon",
        "traffic flow",
        platoon_cost,
        lambda: (np.array([100.0, 78.0, 55.0, 30.0]), np.array([18.0, 19.0, 17.5, 20.0]), 30.0, 1.5, 1.2, 2.0),
        (0, 1, 2, 3, 4, 5),
    )
)


# ---------------------------------------------------------------- acoustics / filters
def biquad_peaking(f0, gain_db, q, fs=48000.0):
    A = 10 ** (gain_db / 40)
    w0 = 2 * np.pi * f0 / fs
    alpha = np.sin(w0) / (2 * q)
    b = np.array([1 + alpha * A, -2 * np.cos(w0), 1 - alpha * A])
    a = np.array([1 + alpha / A, -2 * np.cos(w0), 1 - alpha / A])
    return b / a[0], a / a[0]


def eq_match(f0s, gains, qs, freqs, target_db, fs=48000.0):
    """Mean squared dB error between a cascade of peaking filters and a target curve."""
    z = np.exp(-2j * np.pi * freqs / fs)
    H = np.ones(len(freqs), dtype=complex)
    for f0, g, q in zip(f0s, gains, qs):
        b, a = biquad_peaking(f0, g, q, fs)
        H *= (b[0] + b[1] * z + b[2] * z**2) / (a[0] + a[1] * z + a[2] * z**2)
    db = 20 * np.log10(np.abs(H))
    return np.mean((db - target_db) ** 2)


PROGRAMS.append(
    (
        "eq_matching",
        "audio engineering",
        eq_match,
        lambda: (
            [200.0, 1500.0, 6000.0],
            [3.0, -4.0, 2.5],
            [0.8, 1.4, 0.9],
            np.geomspace(50, 16000, 15),
            2.0 * np.sin(np.linspace(0, 5, 15)),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- beamforming
def steering(theta, positions, wavelength):
    return np.exp(-2j * np.pi * positions * np.sin(theta) / wavelength)


def mvdr_power(theta, positions, sources, powers, noise=0.1, wavelength=2.0):
    """Capon spectrum at one look angle for a linear array."""
    m = len(positions)
    R = noise * np.eye(m, dtype=complex)
    for th, p in zip(sources, powers):
        a = steering(th, positions, wavelength)
        R = R + p * np.outer(a, a.conj())
    a = steering(theta, positions, wavelength)
    Ri_a = np.linalg.solve(R, a)
    return 1.0 / np.real(np.vdot(a, Ri_a))


PROGRAMS.append(
    (
        "mvdr_capon",
        "beamforming",
        mvdr_power,
        lambda: (0.3, np.arange(6) * 1.0, np.array([0.25, -0.4]), np.array([1.0, 0.6])),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- power systems
def power_injections(vm, va, Y):
    V = vm * np.exp(1j * va)
    S = V * np.conj(Y @ V)
    return S.real, S.imag


def mismatch_norm(vm, va, p_spec, q_spec, lines, n=4):
    """Squared power mismatch, pi-model lines (from, to, r, x, b)."""
    Y = np.zeros((n, n), dtype=complex)
    for f, t, r, x, b in lines:
        y = 1.0 / (r + 1j * x)
        Y[f, f] += y + 0.5j * b
        Y[t, t] += y + 0.5j * b
        Y[f, t] -= y
        Y[t, f] -= y
    P, Q = power_injections(vm, va, Y)
    dp = P[1:] - p_spec[1:]
    dq = Q[2:] - q_spec[2:]
    return np.sum(np.concatenate([dp, dq]) ** 2)


PROGRAMS.append(
    (
        "power_flow_mismatch",
        "power flow",
        mismatch_norm,
        lambda: (
            np.array([1.05, 1.02, 0.97, 0.98]),
            np.array([0.0, -0.03, -0.08, -0.06]),
            np.array([0.0, 0.5, -0.8, -0.4]),
            np.array([0.0, 0.0, -0.3, -0.2]),
            [
                (0, 1, 0.02, 0.06, 0.03),
                (0, 2, 0.05, 0.2, 0.02),
                (1, 2, 0.04, 0.18, 0.02),
                (2, 3, 0.03, 0.12, 0.01),
                (1, 3, 0.06, 0.25, 0.02),
            ],
        ),
        (0, 1, 4),
    )
)


# ---------------------------------------------------------------- astronomy imaging
def moffat(x, y, x0, y0, amp, fwhm, beta):
    gamma = fwhm / (2 * np.sqrt(2 ** (1 / beta) - 1))
    r2 = (x - x0) ** 2 + (y - y0) ** 2
    return amp * (1 + r2 / gamma**2) ** -beta


def psf_cash(stars, sky, fwhm, beta, counts):
    """Cash statistic for a few overlapping stars."""
    y, x = np.indices(counts.shape)
    model = sky + sum(moffat(x, y, *star, fwhm, beta) for star in stars)
    return 2 * np.sum(model - counts * np.log(model) + gammaln(counts + 1))


PROGRAMS.append(
    (
        "psf_photometry",
        "astronomical photometry",
        psf_cash,
        lambda: (
            [(2.3, 3.1, 80.0), (5.2, 4.4, 45.0)],
            6.0,
            2.8,
            3.1,
            np.random.default_rng(8).poisson(15.0, size=(7, 8)).astype(float),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- discrete choice
def probit_ll(beta, X, y):
    xb = X @ beta
    q = 2 * y - 1
    return np.log(ndtr(q * xb)).sum()


def nested_logit_shares(delta, nests, lam):
    shares = np.empty(len(delta))
    incl = []
    for k in range(nests.max() + 1):
        s = np.exp(delta[nests == k] / lam[k])
        shares[nests == k] = s / s.sum()
        incl.append(lam[k] * np.log(s.sum()))
    w = np.exp(np.array(incl))
    w /= 1.0 + w.sum()
    return shares * w[nests]


def choice_objective(beta, delta, lam, X, y, nests, observed):
    """Probit participation plus GMM-like distance of nested logit market shares."""
    s = nested_logit_shares(delta, nests, lam)
    return -probit_ll(beta, X, y) + 100.0 * np.sum((np.log(s) - np.log(observed)) ** 2)


PROGRAMS.append(
    (
        "nested_logit",
        "econometrics",
        choice_objective,
        lambda: (
            np.array([0.2, -0.4]),
            np.array([0.5, -0.2, 0.3, 0.9, -0.5]),
            np.array([0.6, 0.8]),
            np.random.default_rng(2).normal(size=(7, 2)),
            np.array([1, 0, 1, 1, 0, 0, 1]),
            np.array([0, 0, 1, 1, 1]),
            np.array([0.2, 0.1, 0.15, 0.3, 0.05]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- geophysics, seismic modelling
def ricker(f0, t, t0):
    a = (np.pi * f0 * (t - t0)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def trace_misfit(vp, rho, thickness, f0, observed, dt=0.004):
    """Convolutional model of a normal-incidence trace, L2 misfit."""
    z = vp * rho
    rc = (z[1:] - z[:-1]) / (z[1:] + z[:-1])
    twt = np.cumsum(2 * thickness / vp[:-1])
    t = np.arange(len(observed)) * dt
    trace = np.zeros_like(t)
    for r, t0 in zip(rc, twt):
        trace = trace + r * ricker(f0, t, t0)
    smooth = np.convolve(trace, [0.25, 0.5, 0.25], mode="same")
    return 0.5 * np.sum((smooth - observed) ** 2)


PROGRAMS.append(
    (
        "conv_seismogram",
        "exploration geophysics",
        trace_misfit,
        lambda: (
            np.array([1800.0, 2200.0, 2900.0, 2600.0]),
            np.array([2.0, 2.1, 2.35, 2.25]),
            np.array([25.0, 30.0, 40.0]),
            30.0,
            0.05 * np.cos(np.arange(30) * 0.7),
        ),
        (0, 1, 2, 3),
    )
)
