"""Astronomy, astrophysics and cosmology."""

import abc
import functools
import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
from numpy.linalg import norm
from scipy import integrate, linalg, optimize, stats
from scipy.integrate import quad, trapezoid
from scipy.special import gammaln

from tests.field_programs import program, rng


# ---------------------------------------------------------------- rv_chi2
@program(
    "Kepler's equation, chi squared of radial velocities",
    lambda: (np.array([12.0, 3.1, 0.3, 0.7, 1.1]), np.linspace(0, 20, 25), rng(3).normal(0, 5, 25)),
)
def rv_chi2(theta, t, v):
    K, P, e, w, t0 = theta
    M = 2 * np.pi * (t - t0) / P
    E = M + e * np.sin(M)
    for _ in range(8):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    model = K * (np.cos(nu + w) + e * np.cos(w))
    return np.sum(((v - model) / 2.5) ** 2) - 2 * np.log(K)


# ---------------------------------------------------------------- radial_velocity
def kepler(M, e):
    E = M if e < 0.8 else math.pi
    for _ in range(50):
        dE = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E -= dE
        if abs(dE) < 1e-14:
            return E
    return E


kepler_v = np.vectorize(kepler)


@program("Kepler solver with Newton and vectorize", lambda: (np.array([1.0, 0.3, 0.7, 0.2]),))
def radial_velocity(p):
    K, e, omega, t0 = p
    t = np.linspace(0, 10, 21)
    M = np.mod(2 * np.pi * (t - t0) / 3.1, 2 * np.pi)
    E = kepler_v(M, e)
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    rv = K * (np.cos(nu + omega) + e * np.cos(omega))
    return np.sum((rv - np.cos(t)) ** 2)


# ---------------------------------------------------------------- rv
@program(
    "Kepler's equation Newton with for-else and RV model",
    lambda: (np.array([1.0, 0.3, 0.5, 2.0]), np.linspace(0, 5, 9)),
)
def rv(p, t):
    K, e, w, per = p

    def kepler(Mv):
        E = Mv
        for _ in range(50):
            d = (E - e * math.sin(E) - Mv) / (1 - e * math.cos(E))
            E -= d
            if abs(d) < 1e-13:
                break
        else:
            raise RuntimeError("no convergence")
        return E

    out = []
    for ti in t:
        E = kepler(2 * math.pi * ti / per)
        nu = 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))
        out.append(K * (math.cos(nu + w) + e * math.cos(w)))
    return float(np.dot(out, out))


# ---------------------------------------------------------------- rv_periodogram
@program(
    "radial velocity with Kepler solver, periodogram by lstsq",
    lambda: (np.array([3.1, 0.2, 0.5, 1.1]), np.linspace(0, 10, 25)),
)
def rv_periodogram(p, t):
    P, e, w, tp = p
    M = 2 * np.pi * (t - tp) / P
    E = M.copy()
    while True:
        dE = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        E = E - dE
        if np.max(np.abs(dE)) < 1e-13:
            break
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    base = np.cos(nu + w) + e * np.cos(w)
    A = np.column_stack([base, np.ones_like(t), t])
    y = 20 * np.sin(2 * np.pi * t / 3.0) + 3
    coef, *_ = np.linalg.lstsq(A, y, rcond=None)
    return np.sum((y - A @ coef) ** 2) / 100


# ---------------------------------------------------------------- light_curve_misfit
class CelestialBody(abc.ABC):
    def __init__(self, radius):
        self.radius = radius

    @abc.abstractmethod
    def brightness(self, mu): ...

    @property
    def area(self):
        return math.pi * self.radius**2


class Star(CelestialBody):
    def __init__(self, radius, u1, u2):
        super().__init__(radius)
        self.u1, self.u2 = u1, u2

    def brightness(self, mu):
        return 1 - self.u1 * (1 - mu) - self.u2 * (1 - mu) ** 2


class Planet(CelestialBody):
    def brightness(self, mu):
        return 0.0


@program(
    "light curve of an eclipsing binary with quadratic limb darkening",
    lambda: (0.11, np.array([0.4, 0.25]), 0.3),
    wrt=(0, 1, 2),
)
def light_curve_misfit(ratio, u, impact):
    star, planet = Star(1.0, *u), Planet(ratio)
    r = (np.arange(60) + 0.5) / 60
    mu = np.sqrt(1 - r**2)
    full = np.sum(star.brightness(mu) * r) * 2 * np.pi / 60
    misfit = 0.0
    for k, x in enumerate(np.linspace(-1.3, 1.3, 11)):
        z = np.hypot(x, impact)
        if z >= 1 + planet.radius:
            flux = 1.0
        else:
            # what of each ring is covered, by a smooth step over the planet's edge
            c = (r**2 + z**2 - planet.radius**2) / (2 * r * z)
            covered = np.arccos(np.clip(c, -0.999999, 0.999999))
            flux = 1 - np.sum(star.brightness(mu) * r * 2 * covered) / 60 / full
        misfit += (flux - (1.0 if k in (0, 10) else 0.99)) ** 2
    return 1e4 * misfit + planet.area


# ---------------------------------------------------------------- imf_mean
@program(
    "isochrone with integrate.trapezoid and histogram weights",
    lambda: (np.array([2.35, 0.53]), np.linspace(0.1, 5, 50)),
)
def imf_mean(p, m):
    a, mc = p
    xi = np.where(m < mc, m ** (-0.5 * a), mc ** (0.5 * a) * m**-a)
    norm = integrate.trapezoid(xi, m)
    cum = integrate.cumulative_trapezoid(xi, m, initial=0) / norm
    med = np.interp(0.5, cum, m)
    return integrate.simpson(m * xi, x=m) / norm + med


# ---------------------------------------------------------------- grid_mass
@program(
    "octree-free Barnes-Hut like grid binning with tuple keys",
    lambda: (rng(5).uniform(0, 4, (6, 2)), rng(6).uniform(1, 2, 6)),
    wrt=(0, 1),
)
def grid_mass(pos, m):
    cells = {}
    for p, w in zip(pos, m):
        key = (int(p[0]), int(p[1]))
        if key not in cells:
            cells[key] = [0.0, 0.0, 0.0]
        c = cells[key]
        c[0] += w
        c[1] += w * p[0]
        c[2] += w * p[1]
    total = 0.0
    for c in cells.values():
        total += c[0] ** 2 * (c[1] / c[0]) - c[2]
    return total


# ---------------------------------------------------------------- psf_cash
def moffat(x, y, x0, y0, amp, fwhm, beta):
    gamma = fwhm / (2 * np.sqrt(2 ** (1 / beta) - 1))
    r2 = (x - x0) ** 2 + (y - y0) ** 2
    return amp * (1 + r2 / gamma**2) ** -beta


@program(
    "astronomical photometry: Cash statistic for a few overlapping stars",
    lambda: (
        [(2.3, 3.1, 80.0), (5.2, 4.4, 45.0)],
        6.0,
        2.8,
        3.1,
        np.random.default_rng(8).poisson(15.0, size=(7, 8)).astype(float),
    ),
    wrt=(0, 1, 2, 3),
)
def psf_cash(stars, sky, fwhm, beta, counts):
    """Cash statistic for a few overlapping stars."""
    y, x = np.indices(counts.shape)
    model = sky + sum(moffat(x, y, *star, fwhm, beta) for star in stars)
    return 2 * np.sum(model - counts * np.log(model) + gammaln(counts + 1))


# ---------------------------------------------------------------- tidal_spread
def leapfrog(pos, vel, mass, dt, steps, soft=0.1):
    def accel(x):
        d = x[None, :, :] - x[:, None, :]
        r3 = (np.sum(d**2, axis=-1) + soft**2) ** 1.5
        return np.sum(mass[None, :, None] * d / r3[..., None], axis=1)

    a = accel(pos)
    for _ in range(steps):
        vel = vel + 0.5 * dt * a
        pos = pos + dt * vel
        a = accel(pos)
        vel = vel + 0.5 * dt * a
    return pos, vel


@program(
    "astrophysics: mean pair separation after a short integration plus kinetic energy",
    lambda: (
        np.array([[0.0, 0.0], [1.0, 0.2], [-0.4, 0.9], [0.3, -1.1]]),
        np.array([[0.0, 0.1], [0.0, 0.9], [-0.8, -0.2], [0.7, 0.1]]),
        np.array([2.0, 0.3, 0.2, 0.4]),
    ),
    wrt=(0, 1, 2),
)
def tidal_spread(pos, vel, mass):
    """Mean pair separation after a short integration plus kinetic energy."""
    x, v = leapfrog(pos, vel, mass, 0.05, 15)
    sep = [np.linalg.norm(x[i] - x[j]) for i, j in combinations(range(len(x)), 2)]
    return np.mean(sep) + 0.5 * np.sum(mass * np.sum(v**2, axis=1))


# ---------------------------------------------------------------- lane_emden
@program("astrophysics: Lane-Emden by RK4 with interpolation to the surface, then structure", lambda: (1.5,))
def lane_emden(n, h=0.05):
    def f(xi, y):
        theta, phi = y
        return np.array([phi, -(np.abs(theta) ** n) * np.sign(theta) - 2 / xi * phi])

    xi, y = 1e-3, np.array([1 - 1e-6 / 6, -1e-3 / 3])
    old = (xi, *y)
    while y[0] > 0:
        old = (xi, *y)
        k1 = f(xi, y)
        k2 = f(xi + h / 2, y + h / 2 * k1)
        k3 = f(xi + h / 2, y + h / 2 * k2)
        k4 = f(xi + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * (k2 + k3) + k4)
        xi += h
    frac = old[1] / (old[1] - y[0])
    xi1 = old[0] + frac * h
    slope = old[2] + frac * (y[1] - old[2])
    return -xi1 / (3 * slope) + xi1**2 * abs(slope)


# ---------------------------------------------------------------- stefcal
@program(
    "radio astronomy: visibility, gains, self-cal StEFCal with complex gains per antenna",
    lambda: (rng(6).normal(size=(4, 2)) * 20, np.array([[0.01, 0.02, 1.0], [-0.015, 0.005, 0.6]])),
    wrt=(0, 1),
)
def stefcal(ant, sources):
    p, q = np.triu_indices(4, k=1)
    uv = ant[q] - ant[p]
    vis = np.zeros(len(p), dtype=complex)
    for l, m, flux in sources:
        vis += flux * np.exp(-2j * np.pi * (uv[:, 0] * l + uv[:, 1] * m))
    true = np.array([1.0 + 0.1j, 0.9 - 0.2j, 1.1 + 0j, 0.8 + 0.3j])
    M = np.zeros((4, 4), dtype=complex)
    M[p, q] = vis
    M = M + M.conj().T
    V = true[:, None] * M * true.conj()
    g = np.ones(4, dtype=complex)
    for it in range(20):
        old = g.copy()
        for i in range(4):
            z = old * M[:, i]
            g[i] = np.vdot(V[:, i], z) / np.vdot(z, z)
        if it % 2:
            g = 0.5 * (g + old)
    return np.abs(g).sum() + np.angle(g[1] / g[0])


# ---------------------------------------------------------------- light_curve
@program(
    "period folding with string length, Lomb-Scargle closed form, weighted polynomial detrend",
    lambda: (np.sort(rng(9).random(30)) * 10, rng(10).normal(size=30), 1.7),
    wrt=(1, 2),
)
def light_curve(t, m, f):
    m = m + np.sin(2 * np.pi * 0.3 * t)
    coef = np.polyfit(t, m, 2)
    y = m - np.polyval(coef, t)
    w = 2 * np.pi * f
    tau = np.arctan2(np.sin(2 * w * t).sum(), np.cos(2 * w * t).sum()) / (2 * w)
    c, s = np.cos(w * (t - tau)), np.sin(w * (t - tau))
    power = 0.5 * ((y @ c) ** 2 / (c @ c) + (y @ s) ** 2 / (s @ s)) / y.var(ddof=1)
    phase = (t * f) % 1
    order = np.argsort(phase)
    folded = np.append(y[order], y[order][0])
    ph = np.append(phase[order], phase[order][0] + 1)
    string = np.hypot(np.diff(folded), np.diff(ph)).sum()
    return power - 0.01 * string + stats.skew(y)


# ---------------------------------------------------------------- supernova_chi2
def E_of_z(z, om, w0, ol):
    ok = 1.0 - om - ol
    return np.sqrt(om * (1 + z) ** 3 + ok * (1 + z) ** 2 + ol * (1 + z) ** (3 * (1 + w0)))


def distance_modulus(z, h0, om, w0, n=41):
    zz = np.linspace(0.0, z, n)
    dc = 299792.458 / h0 * trapezoid(1.0 / E_of_z(zz, om, w0, 1.0 - om), zz)
    return 5 * np.log10((1 + z) * dc) + 25


@program(
    "cosmology: chi squared of supernovae",
    lambda: (
        70.0,
        0.3,
        -0.95,
        np.array([0.05, 0.2, 0.4, 0.7, 1.1]),
        np.array([36.7, 40.0, 41.7, 43.1, 44.3]),
        np.array([0.1, 0.1, 0.12, 0.15, 0.2]),
    ),
    wrt=(0, 1, 2),
)
def supernova_chi2(h0, om, w0, z, mu, err):
    model = np.array([distance_modulus(zi, h0, om, w0) for zi in z])
    chi2 = np.sum(((mu - model) / err) ** 2)
    age, _ = quad(lambda a: 1.0 / (a * E_of_z(1 / a - 1, om, w0, 1 - om)), 0.2, 1.0)
    return chi2 + ((age * 977.8 / h0 - 12.0) / 1.0) ** 2


# ---------------------------------------------------------------- supernovae_by_trapezoids
@program(
    "cosmology: luminosity distances by cumulative trapezoid and interpolation",
    lambda: (np.array([70.0, 0.3]), np.array([0.1, 0.4, 0.8, 1.1]), np.array([38.3, 41.7, 43.5, 44.3])),
)
def supernovae_by_trapezoids(theta, z, mu):
    H0, Om = theta
    grid = np.linspace(0, 1.5, 200)
    E = np.sqrt(Om * (1 + grid) ** 3 + (1 - Om))
    dc = integrate.cumulative_trapezoid(1 / E, grid, initial=0) * 299792.458 / H0
    dl = (1 + z) * np.interp(z, grid, dc)
    return np.sum(((mu - 5 * np.log10(dl) - 25) / 0.15) ** 2) / 2


# ---------------------------------------------------------------- supernovae_and_growth
@dataclass(frozen=True)
class Cosmology:
    h: float
    om: float
    w0: float = -1.0

    @property
    def ode(self):
        return 1 - self.om

    def E(self, z):
        return np.sqrt(self.om * (1 + z) ** 3 + self.ode * (1 + z) ** (3 * (1 + self.w0)))

    def modulus(self, z):
        d, _ = integrate.quad(lambda t: 1 / self.E(t), 0, z)
        return 5 * np.log10((1 + z) * d * 2997.92 / self.h) + 25


@program(
    "cosmology: distances by quad, growth by odeint, parameters in a frozen dataclass",
    lambda: (0.7, 0.3, -0.95),
    wrt=(0, 1, 2),
)
def supernovae_and_growth(h, om, w0):
    cosmo = Cosmology(h, om)
    other = replace(cosmo, w0=w0)
    zs = (0.1, 0.4, 0.9)
    data = {0.1: 38.3, 0.4: 41.7, 0.9: 43.9}
    chi2 = sum((model.modulus(z) - data[z]) ** 2 / 0.02 for model in (cosmo, other) for z in zs)
    return chi2 + asdict(other)["w0"] ** 2


# ---------------------------------------------------------------- supernovae
@program(
    "cosmology: comoving distance with quad, age at redshift by brentq, distance modulus chi square",
    lambda: (0.7, 0.3, np.array([0.1, 0.4, 0.9])),
    wrt=(0, 1),
)
def supernovae(h, om, z):
    E = lambda z: np.sqrt(om * (1 + z) ** 3 + 1 - om)
    dc = np.array([integrate.quad(lambda s: 1 / E(s), 0, zi)[0] for zi in z])
    dl = (1 + z) * dc * 2997.92 / h
    mu = 5 * np.log10(dl) + 25
    observed = np.array([38.3, 41.7, 43.9])
    z_half = optimize.brentq(lambda s: integrate.quad(lambda t: 1 / E(t), 0, s)[0] - 0.5, 0.01, 5)
    return np.sum((mu - observed) ** 2) / 0.15**2 + z_half


# ---------------------------------------------------------------- supernova_modulus_chi2
C_KMS = 299792.458


@dataclass(frozen=True)
class FLRW(ABC):
    H0: float
    Om0: float
    Ok0: float = 0.0
    Or0: float = 8.6e-5

    @property
    def Ode0(self):
        return 1.0 - self.Om0 - self.Ok0 - self.Or0

    @property
    def hubble_distance(self):
        return C_KMS / self.H0

    @abstractmethod
    def de_density_scale(self, z): ...

    def inv_efunc(self, z):
        zp1 = 1.0 + z
        e2 = zp1**2 * ((self.Or0 * zp1 + self.Om0) * zp1 + self.Ok0) + self.Ode0 * self.de_density_scale(z)
        return 1.0 / math.sqrt(e2)

    @functools.lru_cache(maxsize=256)
    def comoving_distance(self, z):
        return self.hubble_distance * quad(self.inv_efunc, 0.0, z, epsabs=1e-13, epsrel=1e-12)[0]

    def transverse_distance(self, z):
        dc, dh = self.comoving_distance(z), self.hubble_distance
        if self.Ok0 == 0:
            return dc
        root = math.sqrt(abs(self.Ok0))
        curve = math.sinh if self.Ok0 > 0 else math.sin
        return dh / root * curve(root * dc / dh)

    def distmod(self, z):
        return 5.0 * math.log10((1.0 + z) * self.transverse_distance(z)) + 25.0


@dataclass(frozen=True)
class LambdaCDM(FLRW):
    def de_density_scale(self, z):
        return 1.0


@dataclass(frozen=True)
class W0WaCDM(FLRW):
    w0: float = -1.0
    wa: float = 0.0

    def de_density_scale(self, z):
        zp1 = 1.0 + z
        return zp1 ** (3.0 * (1.0 + self.w0 + self.wa)) * math.exp(-3.0 * self.wa * z / zp1)


@program(
    "cosmology distances: supernova distance moduli in a curved CPL cosmology, chi squared with correlated errors",
    lambda: (68.5, 0.29, 0.015, np.array([-0.92, 0.2])),
    wrt=(0, 1, 2, 3),
)
def supernova_modulus_chi2(H0, Om0, Ok0, w):
    z = np.geomspace(0.03, 1.3, 12)
    fiducial = LambdaCDM(70.0, 0.3)
    rng = np.random.default_rng(580)
    sigma = 0.1 + 0.05 * z
    observed = np.array([fiducial.distmod(zi) for zi in z.tolist()]) + rng.normal(0, sigma)
    calib = rng.normal(0, 0.02, size=(3, z.size))
    cov = np.diag(sigma**2) + calib.T @ calib
    model = W0WaCDM(H0, Om0, Ok0, w0=w[0], wa=w[1])
    residual = observed - np.fromiter((model.distmod(zi) for zi in z.tolist()), float)
    chi2 = residual @ linalg.cho_solve(linalg.cho_factor(cov, lower=True), residual)
    # BAO: one transverse distance over the sound horizon
    bao = (model.transverse_distance(0.698) / 147.8 - 17.65) / 0.3
    return float(chi2 + bao**2)


# ---------------------------------------------------------------- tree_potential
class Cell:
    __slots__ = ("mass", "cx", "cy", "kids")

    def __init__(self, mass, cx, cy, kids):
        self.mass, self.cx, self.cy, self.kids = mass, cx, cy, kids


def build(x, y, m, idx, depth):
    M = m[idx].sum()
    cx, cy = (m[idx] * x[idx]).sum() / M, (m[idx] * y[idx]).sum() / M
    if depth == 0 or len(idx) == 1:
        return Cell(M, cx, cy, ())
    half = len(idx) // 2
    return Cell(M, cx, cy, (build(x, y, m, idx[:half], depth - 1), build(x, y, m, idx[half:], depth - 1)))


def potential(c, px, py):
    if not c.kids:
        return -c.mass / math.sqrt((px - c.cx) ** 2 + (py - c.cy) ** 2 + 0.01)
    return sum(potential(k, px, py) for k in c.kids)


@program(
    "recursive FFT-free: quadtree Barnes-Hut potential",
    lambda: (rng(22).normal(size=8), rng(23).normal(size=8), np.abs(rng(24).normal(size=8)) + 0.5),
    wrt=(0, 1, 2),
)
def tree_potential(x, y, m):
    root = build(x, y, m, np.arange(8), 2)
    return potential(root, 0.3, -0.2) + potential(root, -1.0, 0.5)


# ---------------------------------------------------------------- three_body
class Body:
    __slots__ = ("m", "x", "v")

    def __init__(self, m, x, v):
        self.m = m
        self.x = np.array(x, dtype=float)
        self.v = np.array(v, dtype=float)

    def kinetic(self):
        return 0.5 * self.m * self.v.dot(self.v)


@program(
    "physics: N-body leapfrog, with __slots__ class",
    lambda: (
        np.array([1.0, 0.5, 0.1]),
        np.array([[0, 0], [1.0, 0.1], [0, 2.0]]),
        np.array([[0, 0.1], [0, 1.0], [0.7, 0]]),
    ),
    wrt=(0, 1, 2),
)
def three_body(masses, X, V):
    bodies = [Body(m, x, v) for m, x, v in zip(masses, X, V)]

    def accel(b):
        a = np.zeros(2)
        for o in bodies:
            if o is b:
                continue
            r = o.x - b.x
            a += o.m * r / (r @ r + 0.01) ** 1.5
        return a

    dt = 0.02
    for _ in range(20):
        acc = [accel(b) for b in bodies]
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
            b.x += dt * b.v
        acc = [accel(b) for b in bodies]
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
    return sum(b.kinetic() for b in bodies) + norm(bodies[0].x - bodies[1].x)
