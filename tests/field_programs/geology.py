"""Geology: volcanoes, minerals, ores, slopes, and the dating of finds."""

import itertools
import math
from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy import special, stats
from scipy.spatial.distance import cdist
from scipy.special import j0

from tests.field_programs import program, rng

# ---------------------------------------------------------------- mogi
Station = namedtuple("Station", "x y uz")


@program(
    "volcanology: Mogi source with station table as list of tuples",
    lambda: (
        np.array([0.3, -0.2, 4.0, 1.2]),
        [Station(float(i), float(j), 0.1 / (1 + i * i + j * j)) for i in range(-2, 3) for j in (-1, 0, 2)],
    ),
)
def mogi(m, stations):
    x0, y0, depth, dV = m
    nu = 0.25
    chi2 = 0
    for s in stations:
        r2 = (s.x - x0) ** 2 + (s.y - y0) ** 2
        R3 = (r2 + depth**2) ** 1.5
        uz = (1 - nu) * dV / np.pi * depth / R3
        chi2 += ((uz - s.uz) / 0.01) ** 2
    return 0.5 * chi2


# ---------------------------------------------------------------- eruption_rate
@program(
    "volcanology: steady ascent of magma in a conduit, with water coming out of solution, to where it fragments",
    lambda: (np.array([0.045, 6.0, 1150.0, 25.0]), 2.2),
    wrt=(0, 1),
)
def eruption_rate(magma, u0, depth=5000.0, dz=50.0):
    n0, log_mu, T, radius = magma
    R, s, rho_l, g = 461.5, 4.11e-6, 2400.0, 9.81
    mu0 = 10.0**log_mu
    p = rho_l * g * depth + 1.0e7
    z, flux = 0.0, None
    history = []
    while z < depth:
        dissolved = min(n0, s * math.sqrt(p))
        n = (n0 - dissolved) / (1.0 - dissolved)
        rho_g = p / (R * T)
        rho = 1.0 / (n / rho_g + (1.0 - n) / rho_l)
        if flux is None:
            flux = rho * u0
        u = flux / rho
        phi = n * rho / rho_g
        if phi > 0.75:
            break
        mu = mu0 * (1.0 - phi / 0.9) ** -2.0 * math.exp(0.02 * (n0 - dissolved) * 1000.0)
        friction = 8.0 * mu * u / radius**2 if phi < 0.6 else 0.0025 * rho * u * u / radius
        dpdz = -(rho * g + friction)
        if p + dpdz * dz < 1.0e5:
            break
        p += dpdz * dz
        z += dz
        history.append((z, p, phi))
    zs, ps, phis = zip(*history)
    return np.interp(3000.0, zs, ps) / 1e7 + np.trapezoid(phis, zs) / 1e3 + math.pi * radius**2 * flux / 1e7


# ---------------------------------------------------------------- tephra_centroid_km
# standard atmosphere for the plume model: height (m), temperature (K), wind (m/s)
ATMOSPHERE = [
    (0.0, 288.15, 4.0),
    (3000.0, 268.65, 9.0),
    (7000.0, 242.65, 18.0),
    (11000.0, 216.65, 29.0),
    (20000.0, 216.65, 12.0),
    (32000.0, 228.65, 20.0),
]


Z_ATM, T_ATM, U_ATM = map(np.array, zip(*ATMOSPHERE, strict=True))


@program(
    "volcano plume: the column model of Woods (1988) by RK4 up to neutral "
    "buoyancy, then the ash falls out of the umbrella",
    lambda: (130.0, 1080.0, 0.04, 70.0),
    wrt=(0, 1, 2, 3),
)
def tephra_centroid_km(u0, temp0, n0, radius, dz=100.0):
    G, RA, RV, CA, CM, RHO_S = 9.81, 287.0, 462.0, 998.0, 1617.0, 1200.0

    def ambient(z):
        t = np.interp(z, Z_ATM, T_ATM)
        p = 101325.0 * np.exp(-z / 7800.0)
        return t, p, p / (RA * t)

    def bulk(y, z):
        q, m, e = y
        _, p, _ = ambient(z)
        n = 1 - (1 - n0) * q0 / q
        r_gas = RA + (RV - RA) * (1 - n) / n * n0 / (1 - n0)
        cp = CA + (CM - CA) * (1 - n) / (1 - n0)
        t = e / (q * cp)
        rho = 1.0 / ((1 - n) / RHO_S + n * r_gas * t / p)
        u = m / q
        return rho, u, np.sqrt(q / (rho * u)), t

    def rhs(z, y):
        rho, u, L, _ = bulk(y, z)
        ta, _, rho_a = ambient(z)
        eps = 0.09 if rho < rho_a else np.sqrt(rho / rho_a) / 16.0
        dq = 2 * eps * u * L * rho_a
        return np.array([dq, (rho_a - rho) * G * L**2, (CA * ta + 0.5 * u * u) * dq - rho_a * L**2 * u * G])

    rho_vent = 1.0 / ((1 - n0) / RHO_S + n0 * RV * temp0 / 101325.0)
    q0 = rho_vent * u0 * radius**2
    y, z = np.array([q0, q0 * u0, q0 * CM * temp0]), 0.0
    buoyant, excess_old = False, bulk(y, z)[0] - ambient(z)[2]
    while z < 30e3:
        k1 = rhs(z, y)
        k2 = rhs(z + dz / 2, y + dz / 2 * k1)
        k3 = rhs(z + dz / 2, y + dz / 2 * k2)
        k4 = rhs(z + dz, y + dz * k3)
        y = y + dz / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        z += dz
        if y[1] <= 0:
            return z / 1000  # the column has collapsed
        excess = bulk(y, z)[0] - ambient(z)[2]
        if buoyant and excess > 0:
            break
        buoyant = buoyant or excess < 0
        excess_old = excess
    h_nbl = z - dz * excess / (excess - excess_old)

    @np.vectorize
    def drift(phi):
        d, x, n_layers = 1e-3 * 2.0**-phi, 0.0, 20
        for i in range(n_layers):
            zi = h_nbl * (i + 0.5) / n_layers
            rho_a, mu = ambient(zi)[2], 1.8e-5
            v = G * d * d * RHO_S / (18 * mu)
            if rho_a * v * d / mu > 6:
                v = d * (4 * (G * RHO_S) ** 2 / (225 * mu * rho_a)) ** (1 / 3)
            if rho_a * v * d / mu > 500:
                v = math.sqrt(3.1 * RHO_S * G * d / rho_a)
            x += np.interp(zi, Z_ATM, U_ATM) * h_nbl / n_layers / v
        return x

    phis = np.arange(-4.0, 4.5, 1.0)
    weights = np.exp(-((phis - 0.5) ** 2) / (2 * 1.7**2))
    return float(np.sum(weights * drift(phis)) / weights.sum() / 1000)


# ---------------------------------------------------------------- em_survey_misfit
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


@program(
    "electromagnetic induction: misfit of an airborne survey",
    lambda: (np.array([-3.0, -1.2]), 8.0, [5.0, 8.0, 12.0], [-0.5, -0.3, -0.1], [-0.4, -0.2, -0.1]),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- crystal_field
@program("mineralogy: crystal field, eigenvalues of a parametric Hermitian", lambda: (np.array([1.2, 0.3, 0.1]),))
def crystal_field(p):
    dq, lam, b = p
    base = np.diag([6.0, 6, -4, -4, -4]) * dq
    L = np.zeros((5, 5), complex)
    for m in range(4):
        L[m, m + 1] = 1j * np.sqrt((m + 1) * (4 - m))
    H = base + lam * (L + L.conj().T) + b * np.diag(np.arange(-2, 3))
    w, v = np.linalg.eigh(H)
    Z = np.exp(-w / 0.5).sum()
    return -0.5 * np.log(Z) + w[0]


# ---------------------------------------------------------------- loo_kriging_mse
def matern32(d, sill, rng):
    a = np.sqrt(3) * d / rng
    return sill * (1 + a) * np.exp(-a)


@program(
    "geostatistics: closed-form leave-one-out error of simple kriging",
    lambda: (
        np.log(np.array([1.4, 0.8, 0.1])),
        np.random.default_rng(5).normal(size=10),
        np.random.default_rng(6).uniform(0, 2, (10, 2)),
    ),
    wrt=(0, 1),
)
def loo_kriging_mse(log_theta, z, coords):
    """Closed-form leave-one-out error of simple kriging."""
    sill, rng, nugget = np.exp(log_theta)
    K = matern32(cdist(coords, coords), sill, rng) + nugget * np.eye(len(z))
    Ki = np.linalg.inv(K)
    zc = z - z.mean()
    e = (Ki @ zc) / np.diag(Ki)
    return np.mean(e**2)


# ---------------------------------------------------------------- kriging
@program(
    "geostatistics: variogram fit and ordinary kriging",
    lambda: (np.array([0.1, 1.0, 0.6]), rng(0).random((7, 2)), rng(1).normal(size=7)),
    wrt=(0, 1, 2),
)
def kriging(theta, xy, z):
    nugget, sill, rang = theta

    def gamma(h):
        return np.where(
            h == 0, 0.0, np.where(h < rang, nugget + sill * (1.5 * h / rang - 0.5 * (h / rang) ** 3), nugget + sill)
        )

    n = len(z)
    diff = xy[:, None, :] - xy[None, :, :]
    d2 = (diff**2).sum(-1)
    h = np.sqrt(np.where(np.eye(n, dtype=bool), 1.0, d2))
    G = np.where(np.eye(n, dtype=bool), 0.0, gamma(h))
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = G
    A[n, n] = 0
    targets = np.array([[0.51, 0.52], [0.21, 0.83]])
    est = 0.0
    for t in targets:
        b = np.append(gamma(np.linalg.norm(xy - t, axis=1)), 1.0)
        w = np.linalg.solve(A, b)
        est += w[:-1] @ z + 0.1 * (w @ b)
    return est


# ---------------------------------------------------------------- slope_safety
@dataclass(frozen=True)
class Soil:
    cohesion: float
    friction: float
    weight: float


@program(
    "geotechnics: a slope's factor of safety by Bishop's method of slices, the worst of several circles",
    lambda: (np.array([8.0, 28.0, 18.5]), 0.25, 32.0),
    wrt=(0, 1, 2),
)
def slope_safety(strength, ru, face):
    soil = Soil(*strength)
    height = 10.0
    run = height / math.tan(math.radians(face))

    def surface(x):
        return 0.0 if x <= 0 else height * x / run if x < run else height

    def bishop(xc, yc, soil):
        radius = math.hypot(xc, yc)
        # where the circle meets the ground behind the crest
        right = xc + math.sqrt(radius**2 - (yc - height) ** 2)
        edges = [right * k / 24 for k in range(25)]
        slices = []
        for a, b in itertools.pairwise(edges):
            mid, width = 0.5 * (a + b), b - a
            base = yc - math.sqrt(radius**2 - (mid - xc) ** 2)
            h = max(surface(mid) - base, 0.0)
            slices.append((width, h, math.asin((mid - xc) / radius)))
        tan_phi = math.tan(math.radians(soil.friction))
        fs, previous = 1.0, 0.0
        while abs(fs - previous) > 1e-12:
            previous = fs
            resisting = driving = 0.0
            for width, h, alpha in slices:
                w = soil.weight * h * width
                m = math.cos(alpha) * (1.0 + math.tan(alpha) * tan_phi / previous)
                resisting += (soil.cohesion * width + w * (1.0 - ru) * tan_phi) / m
                driving += w * math.sin(alpha)
            fs = resisting / driving
        return fs

    circles = [(x, y) for x in (2.0, 5.0) for y in (16.0, 22.0)]
    found = min((bishop(x, y, soil), x, y) for x, y in circles)
    weaker = bishop(found[1], found[2], replace(soil, cohesion=0.8 * soil.cohesion))
    return found[0] + 0.5 * weaker


# ---------------------------------------------------------------- calibration
@program(
    "archaeology: radiocarbon calibration with an interpolated curve and a phase model",
    lambda: (np.array([2710.0, 2655.0, 2560.0]), np.array([2480.0, 2455.0, 2460.0]), np.array([25.0, 30.0, 28.0])),
)
def calibration(ages, measured, error):
    grid = np.arange(2300, 2901, 50)
    curve = 0.92 * grid + 30 * np.sin(grid / 40.0)
    curve_sd = np.full(len(grid), 12.0)
    mu = np.interp(ages, grid, curve)
    sd = np.hypot(np.interp(ages, grid, curve_sd), error)
    logp = stats.norm(mu, sd).logpdf(measured).sum()
    span = np.ptp(ages)
    return logp - 2 * np.log(span) - np.sum(np.diff(np.sort(ages)) ** 2) / 1e4


# ---------------------------------------------------------------- felling_date
def calibration_curve():
    """A curve like IntCal's: calendar years BP, radiocarbon years BP, the error of the curve."""
    cal = np.arange(2300.0, 3300.0, 5.0)
    wiggles = (
        38 * np.sin(2 * np.pi * cal / 208) + 22 * np.sin(2 * np.pi * cal / 88 + 1) + 55 * np.tanh((cal - 2700) / 60)
    )
    return cal, 0.955 * cal + 60 + wiggles, 11 + 3 * np.cos(cal / 130)


@program(
    "archaeology, radiocarbon calibration: the felling of a timber by matching the wiggles of its rings to the curve",
    lambda: (np.array([2613.0, 2586.0, 2549.0, 2515.0, 2468.0]), np.array([21.0, 24.0, 19.0, 22.0, 26.0]), 6.5, 0.08),
    wrt=(0, 1, 2, 3),
)
def felling_date(ages, errors, regional_offset, outlier_prior):
    rings_before_bark = np.array([118, 96, 61, 33, 8])
    cal, c14, curve_error = calibration_curve()
    felled = np.arange(2400.0, 2900.0, 1.0)

    # in F14C, where the measurement is normal
    mean_life = 8033
    f_measured = np.exp(-ages / mean_life)
    f_error = f_measured * errors / mean_life
    ring_years = felled[:, None] + rings_before_bark
    age_of_curve = np.interp(ring_years, cal, c14) + regional_offset
    f_curve = np.exp(-age_of_curve / mean_life)
    f_curve_error = f_curve * np.interp(ring_years, cal, curve_error) / mean_life

    def log_normal(variance):
        return -0.5 * ((f_measured - f_curve) ** 2 / variance + np.log(2 * np.pi * variance))

    variance = f_error**2 + f_curve_error**2
    inlier = log_normal(variance) + np.log1p(-outlier_prior)
    outlier = log_normal(25 * variance) + np.log(outlier_prior)
    log_likelihood = np.logaddexp(inlier, outlier)
    log_posterior = log_likelihood.sum(axis=1)
    posterior = np.exp(log_posterior - special.logsumexp(log_posterior))

    cdf = np.cumsum(posterior)
    median, low, high = np.interp([0.5, 0.023, 0.977], cdf, felled)

    # the region of highest density, and the mean date within it
    order = np.argsort(posterior)[::-1]
    inside = np.zeros(felled.size, dtype=bool)
    inside[order[: np.searchsorted(np.cumsum(posterior[order]), 0.683) + 1]] = True
    hpd_mean = np.average(felled[inside], weights=posterior[inside])

    # OxCal's agreement of each ring, and of the model
    single = np.exp(log_likelihood)
    single /= single.sum(axis=0)
    agreement = (posterior @ single) / (single**2).sum(axis=0)
    model = np.prod(agreement) ** (1 / np.sqrt(len(ages)))
    return 1950 - (0.5 * (median + hpd_mean) - 0.02 * (high - low)) + 10 * model


# ---------------------------------------------------------------- chronology_correlation
@program(
    "dendrochronology: rings detrended by a negative exponential, a biweight mean "
    "chronology, its correlation with climate",
    lambda: (
        0.4 + 1.2 * np.exp(-np.arange(24) / 8.0) + 0.15 * rng(1).normal(size=(5, 24)),
        np.array([1.1, 0.1, 0.45]),
        rng(2).normal(size=24),
    ),
    wrt=(0, 1, 2),
)
def chronology_correlation(rings, curve, climate):
    a, b, k = curve
    years = np.arange(rings.shape[1])
    index = rings / (a * np.exp(-b * years) + k)
    centre = np.median(index, axis=0)
    scale = np.median(np.abs(index - centre), axis=0)
    u = (index - centre) / (9.0 * scale + 1e-9)
    w = np.where(np.abs(u) < 1.0, (1.0 - u**2) ** 2, 0.0)
    chronology = (w * index).sum(axis=0) / w.sum(axis=0)
    # first-order autocorrelation is taken out
    resid = chronology[1:] - 0.3 * chronology[:-1]
    c = climate[1:] - climate[1:].mean()
    r = resid - resid.mean()
    return (r @ c) / math.sqrt((r @ r) * (c @ c))
