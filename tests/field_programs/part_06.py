import math

import numpy as np
from numpy.fft import rfft, rfftfreq
from numpy.polynomial.legendre import leggauss
from scipy.linalg import solve_banded
from scipy.special import j0, spherical_jn

PROGRAMS = []


# ---------------------------------------------------------------- computed tomography
def siddon_free_projection(mu, angle, offsets, pixel=1.0, nsamples=24):
    """Line integrals through a bilinear interpolated image."""
    n = mu.shape[0]
    half = (n - 1) / 2
    s = np.linspace(-0.9 * half, 0.9 * half, nsamples)
    ds = s[1] - s[0]
    proj = []
    for o in offsets:
        x = o * np.cos(angle) - s * np.sin(angle) + half
        y = o * np.sin(angle) + s * np.cos(angle) + half
        i, j = np.floor(y).astype(int), np.floor(x).astype(int)
        a, b = y - i, x - j
        vals = (
            (1 - a) * (1 - b) * mu[i, j]
            + a * (1 - b) * mu[i + 1, j]
            + (1 - a) * b * mu[i, j + 1]
            + a * b * mu[i + 1, j + 1]
        )
        proj.append(vals.sum() * ds * pixel)
    return np.array(proj)


def ct_objective(mu, angles, offsets, counts, I0=1e4, lam=0.5):
    """Transmission Poisson likelihood with a quadratic smoothness penalty."""
    nll = 0.0
    for k, ang in enumerate(angles):
        expected = I0 * np.exp(-siddon_free_projection(mu, ang, offsets))
        nll += np.sum(expected - counts[k] * np.log(expected))
    rough = np.sum(np.diff(mu, axis=0) ** 2) + np.sum(np.diff(mu, axis=1) ** 2)
    return nll + lam * rough


def _ct_args():
    y, x = np.mgrid[0:6, 0:6]
    mu = 0.02 + 0.1 * np.exp(-((x - 2.6) ** 2 + (y - 2.2) ** 2) / 3)
    return mu, np.array([0.13, 0.71, 1.37]), np.array([-1.1, -0.35, 0.4, 1.15]), np.full((3, 4), 8000.0)


PROGRAMS.append(("ct_map", "tomography", ct_objective, _ct_args, (0,)))


# ---------------------------------------------------------------- speech
def autocorr(x, order):
    return np.array([np.dot(x[: len(x) - k], x[k:]) for k in range(order + 1)])


def levinson(r, order):
    """Levinson-Durbin recursion, returns LPC coefficients and residual energy."""
    a = np.zeros(order + 1)
    a[0] = 1.0
    err = r[0]
    for i in range(1, order + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        k = -acc / err
        a_new = a.copy()
        for j in range(1, i):
            a_new[j] = a[j] + k * a[i - j]
        a_new[i] = k
        a = a_new
        err *= 1.0 - k * k
    return a, err


def lpc_spectral_distance(x, ref_env, order=4):
    """Log spectral distance between the LPC envelope of a frame and a reference envelope."""
    frame = x * np.hamming(len(x))
    a, g = levinson(autocorr(frame, order), order)
    A = rfft(a, 16)
    env = g / np.abs(A) ** 2
    d = 10 * np.log10(env) - ref_env
    return np.sqrt(np.mean(d**2))


PROGRAMS.append(
    (
        "lpc_distance",
        "speech processing",
        lpc_spectral_distance,
        lambda: (
            np.sin(0.5 * np.arange(32))
            + 0.4 * np.cos(1.7 * np.arange(32))
            + 0.05 * np.random.default_rng(6).normal(size=32),
            3 * np.cos(np.arange(9)),
        ),
        (0, 1),
    )
)


# ---------------------------------------------------------------- geodesy
def geodetic_to_ecef(lat, lon, h, a=6378137.0, f=1 / 298.257223563):
    e2 = f * (2 - f)
    N = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    return (
        (N + h) * math.cos(lat) * math.cos(lon),
        (N + h) * math.cos(lat) * math.sin(lon),
        (N * (1 - e2) + h) * math.sin(lat),
    )


def vincenty_inverse(lat1, lon1, lat2, lon2, a=6378137.0, f=1 / 298.257223563):
    """Geodesic distance on the ellipsoid."""
    b = (1 - f) * a
    U1 = math.atan((1 - f) * math.tan(lat1))
    U2 = math.atan((1 - f) * math.tan(lat2))
    L = lon2 - lon1
    lam = L
    while True:
        sl, cl = math.sin(lam), math.cos(lam)
        sin_sigma = math.hypot(math.cos(U2) * sl, math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * cl)
        if sin_sigma == 0:
            return 0.0
        cos_sigma = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * cl
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(U1) * math.cos(U2) * sl / sin_sigma
        cos2a = 1 - sin_alpha**2
        c2sm = cos_sigma - 2 * math.sin(U1) * math.sin(U2) / cos2a
        C = f / 16 * cos2a * (4 + f * (4 - 3 * cos2a))
        lam_new = L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (c2sm + C * cos_sigma * (-1 + 2 * c2sm**2)))
        if abs(lam_new - lam) < 1e-14:
            break
        lam = lam_new
    u2 = cos2a * (a**2 - b**2) / b**2
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    dsig = (
        B
        * sin_sigma
        * (
            c2sm
            + B / 4 * (cos_sigma * (-1 + 2 * c2sm**2) - B / 6 * c2sm * (-3 + 4 * sin_sigma**2) * (-3 + 4 * c2sm**2))
        )
    )
    return b * A * (sigma - dsig)


def baseline_residual(lat, lon, h, stations, slant):
    """Sum of squared relative residuals of surface distance and chord to known stations."""
    p = geodetic_to_ecef(lat, lon, h)
    total = 0.0
    for (la, lo, hh), obs in zip(stations, slant):
        q = geodetic_to_ecef(la, lo, hh)
        chord = math.dist(p, q)
        arc = vincenty_inverse(lat, lon, la, lo)
        total += ((chord - obs) / obs) ** 2 + 0.1 * ((arc - obs) / obs) ** 2
    return total


PROGRAMS.append(
    (
        "vincenty_adjust",
        "geodesy",
        baseline_residual,
        lambda: (
            0.83,
            0.12,
            250.0,
            [(0.80, 0.05, 10.0), (0.9, 0.2, 300.0), (0.78, 0.22, 120.0)],
            [330000.0, 540000.0, 510000.0],
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- heat conduction
def crank_nicolson_rod(T0, k, source, q_left, dx=0.1, dt=0.02, nt=6):
    """Tridiagonal Crank-Nicolson, flux on the left and fixed temperature on the right."""
    n = len(T0)
    r = k * dt / (2 * dx**2)
    ab = np.zeros((3, n))
    ab[0, 1:] = -r
    ab[1, :] = 1 + 2 * r
    ab[2, :-1] = -r
    ab[0, 1] = -2 * r
    ab[1, -1] = 1.0
    ab[2, -2] = 0.0
    T = T0.copy()
    for _ in range(nt):
        rhs = np.empty(n)
        rhs[1:-1] = T[1:-1] + r * (T[2:] - 2 * T[1:-1] + T[:-2]) + dt * source[1:-1]
        rhs[0] = T[0] + 2 * r * (T[1] - T[0]) + 2 * dt * q_left / dx + dt * source[0]
        rhs[-1] = T[-1]
        T = solve_banded((1, 1), ab, rhs)
    return T


def sensor_misfit(k, q_left, T0, source, readings):
    T = crank_nicolson_rod(T0, k, source, q_left)
    return np.sum((T[[1, 4, 7]] - readings) ** 2)


PROGRAMS.append(
    (
        "crank_nicolson_rod",
        "heat conduction",
        sensor_misfit,
        lambda: (0.7, 1.2, 20 + np.sin(np.arange(10)), np.linspace(0, 3, 10), np.array([20.5, 19.8, 21.0])),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- electromagnetics
def hankel_halfspace(sigma1, sigma2, d, height, lam, w):
    """Quasi-static secondary field ratio for a two-layer earth, fixed quadrature in wavenumber."""
    mu0 = 4e-7 * np.pi
    omega = 2 * np.pi * 9000.0
    u1 = np.sqrt(lam**2 + 1j * omega * mu0 * sigma1)
    u2 = np.sqrt(lam**2 + 1j * omega * mu0 * sigma2)
    r12 = (u1 - u2) / (u1 + u2)
    r01 = (lam - u1) / (lam + u1)
    refl = (r01 + r12 * np.exp(-2 * u1 * d)) / (1 + r01 * r12 * np.exp(-2 * u1 * d))
    kernel = refl * np.exp(-2 * lam * height) * lam**2
    return np.sum(w * kernel * j0(lam * 10.0)) * 1000.0


def em_survey_misfit(log_sigma, depth, heights, obs_re, obs_im):
    x, w = leggauss(24)
    lam = 0.5 * (x + 1) * 0.8
    w = 0.4 * w
    s1, s2 = np.exp(log_sigma)
    err = 0.0
    for h, re, im in zip(heights, obs_re, obs_im):
        z = hankel_halfspace(s1, s2, depth, h, lam, w)
        err += (z.real - re) ** 2 + (z.imag - im) ** 2
    return err


PROGRAMS.append(
    (
        "airborne_em",
        "electromagnetic induction",
        em_survey_misfit,
        lambda: (np.array([-3.0, -1.2]), 8.0, [5.0, 8.0, 12.0], [-0.5, -0.3, -0.1], [-0.4, -0.2, -0.1]),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- gravity field
def legendre_poly(n, x):
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return ((2 * n - 1) * x * legendre_poly(n - 1, x) - (n - 1) * legendre_poly(n - 2, x)) / n


def zonal_potential(r, lat, J, GM=398600.44, R=6378.137):
    """Potential with zonal harmonics J2, J3, ... plus the centrifugal term."""
    s = math.sin(lat)
    u = GM / r
    total = 1.0
    for n, jn in enumerate(J, start=2):
        total -= jn * (R / r) ** n * legendre_poly(n, s)
    return u * total + 0.5 * (7.292e-5 * r * math.cos(lat)) ** 2


PROGRAMS.append(
    (
        "zonal_gravity",
        "physical geodesy",
        zonal_potential,
        lambda: (6900.0, 0.7, [1.08263e-3, -2.54e-6, -1.62e-6, -2.3e-7]),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- radar / communication
def qam_constellation(levels):
    return np.array([complex(a, b) for a in levels for b in levels])


def equalizer_loss(taps, channel, symbols, noise, mu_reg=1e-2):
    """Mean squared error of a linear equaliser after a multipath channel (complex baseband)."""
    rx = np.convolve(symbols, channel) + noise
    w = taps[:, 0] + 1j * taps[:, 1]
    y = np.convolve(rx, w)
    delay = 2
    e = y[delay : delay + len(symbols)] - symbols
    return np.mean(np.abs(e) ** 2) + mu_reg * np.sum(np.abs(w) ** 2)


def _eq_args():
    rng = np.random.default_rng(12)
    pts = qam_constellation([-3, -1, 1, 3]) / np.sqrt(10)
    sym = pts[rng.integers(0, 16, 20)]
    noise = 0.05 * (rng.normal(size=22) + 1j * rng.normal(size=22))
    taps = 0.1 * rng.normal(size=(5, 2))
    taps[2, 0] += 1.0
    return taps, np.array([1.0, 0.35 - 0.2j, 0.1j]), sym, noise


PROGRAMS.append(("qam_equaliser", "digital communications", equalizer_loss, _eq_args, (0,)))


# ---------------------------------------------------------------- turbulence / time series
def whittle_nll(log_params, x):
    """Whittle likelihood of an AR(1) plus white noise model."""
    s2, tau2 = np.exp(log_params[:2])
    phi = np.tanh(log_params[2])
    n = len(x)
    f = rfftfreq(n)[1:-1]
    I = np.abs(rfft(x - x.mean()))[1:-1] ** 2 / n
    S = s2 / (1 - 2 * phi * np.cos(2 * np.pi * f) + phi**2) + tau2
    return np.sum(np.log(S) + I / S)


PROGRAMS.append(
    (
        "whittle_ar1",
        "time series",
        whittle_nll,
        lambda: (np.array([0.1, -0.7, 0.6]), np.cumsum(np.random.default_rng(7).normal(size=24)) * 0.5),
        (0, 1),
    )
)


# ---------------------------------------------------------------- small-angle scattering
def sphere_form_factor(q, R):
    qr = q * R
    return 3 * spherical_jn(1, qr) / qr


def core_shell_intensity(q, r_core, shell, rho_core, rho_shell, rho_solv):
    r_out = r_core + shell
    vc = 4 / 3 * np.pi * r_core**3
    vo = 4 / 3 * np.pi * r_out**3
    F = (rho_core - rho_shell) * vc * sphere_form_factor(q, r_core) + (rho_shell - rho_solv) * vo * sphere_form_factor(
        q, r_out
    )
    return F**2 / vo


def saxs_chi2(r_core, shell, rho_core, rho_shell, bkg, scale, q, I_obs):
    I = scale * core_shell_intensity(q, r_core, shell, rho_core, rho_shell, 9.4) * 1e-4 + bkg
    return np.sum(((np.log(I) - np.log(I_obs)) / 0.05) ** 2) / (q.size - 6)


PROGRAMS.append(
    (
        "saxs_core_shell",
        "small-angle scattering",
        saxs_chi2,
        lambda: (
            30.0,
            10.0,
            12.0,
            10.5,
            0.8,
            1.3,
            np.geomspace(0.01, 0.25, 14),
            200 * np.exp(-np.linspace(0, 5, 14)) + 1,
        ),
        (0, 1, 2, 3, 4, 5),
    )
)


# ---------------------------------------------------------------- computer music
def karplus_brightness(freqs, amps, decay, t, target_centroid):
    """Additive tone: squared error between its spectral centroid and a target."""
    y = np.zeros_like(t)
    for k, (f, a) in enumerate(zip(freqs, amps), start=1):
        y += a * np.exp(-decay * k * t) * np.sin(2 * np.pi * f * t)
    mag = np.abs(rfft(y * np.hanning(len(t))))
    bins = np.arange(len(mag))
    centroid = np.sum(bins * mag) / np.sum(mag)
    return (centroid - target_centroid) ** 2


PROGRAMS.append(
    (
        "tone_centroid",
        "music synthesis",
        karplus_brightness,
        lambda: (np.array([2.1, 4.3, 6.2]), np.array([1.0, 0.5, 0.3]), 0.8, np.linspace(0, 1.5, 40), 6.0),
        (0, 1, 2),
    )
)
