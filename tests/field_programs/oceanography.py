"""Oceans: tides, waves, mixing."""

import cmath
import math
from collections import namedtuple
from itertools import pairwise

import numpy as np
from numba import njit
from scipy import special
from scipy.integrate import simpson

from tests.field_programs import program, rng

# ---------------------------------------------------------------- tide_misfit
SPEEDS = {"M2": 28.984104, "S2": 30.0, "N2": 28.43973, "K1": 15.041069, "O1": 13.943035}


@program(
    "tidal harmonic prediction with a dictionary of constituents",
    lambda: ({k: np.array([0.3 + 0.1 * i, 10.0 * i]) for i, k in enumerate(SPEEDS)}, np.arange(48.0)),
)
def tide_misfit(amps, hours):
    level = np.zeros_like(hours)
    for name, (a, g) in amps.items():
        level += a * np.cos(np.deg2rad(SPEEDS[name] * hours - g))
    observed = 0.4 * np.cos(2 * np.pi * hours / 12.42)
    resid = level - observed
    return np.sqrt(np.mean(resid**2))


# ---------------------------------------------------------------- stratification
@program(
    "TEOS-like polynomial density and Brunt-Vaisala with polyval",
    lambda: (np.array([18.0, 15.0, 9.0, 5.0, 3.5]), np.array([36.0, 35.8, 35.1, 34.8, 34.7])),
    wrt=(0, 1),
)
def stratification(T, S):
    z = np.array([0, -50, -200, -500, -1000.0])
    rho0 = np.polyval([6.536332e-9, -1.120083e-6, 1.001685e-4, -9.09529e-3, 6.793952e-2, 999.842594], T)
    A = np.polyval([5.3875e-9, -8.2467e-7, 7.6438e-5, -4.0899e-3, 8.24493e-1], T)
    B = np.polynomial.polynomial.polyval(T, [-5.72466e-3, 1.0227e-4, -1.6546e-6])
    rho = rho0 + A * S + B * S**1.5 + 4.8314e-4 * S**2
    N2 = -9.81 / 1025 * np.gradient(rho, z)
    N = np.sqrt(np.clip(N2, 1e-8, None))
    mixed = z[np.argmax(rho > rho[0] + 0.3)]
    c1 = -np.trapezoid(N, z) / np.pi
    return c1 + 0.001 * mixed * rho[2] / 1000


# ---------------------------------------------------------------- mixed_layer
EOS = {"T": (-0.2, -0.005), "S": (0.8,), "ref": 26.0}


@program(
    "equation of state polynomials by dictionary, mixed layer by while loop with break",
    lambda: (np.array([18.0, 17.5, 15.0, 11.0, 8.0]), np.array([35.2, 35.1, 35.0, 34.8, 34.7])),
    wrt=(0, 1),
)
def mixed_layer(T, S, dz=10.0):
    def sigma(t, s):
        terms = {"T": t - 10.0, "S": s - 35.0}
        return EOS["ref"] + sum(c * v ** (k + 1) for key, v in terms.items() for k, c in enumerate(EOS[key]))

    density = [sigma(t, s) for t, s in zip(T, S)]
    depth = 0.0
    for k, (upper, lower) in enumerate(pairwise(density)):
        if lower - density[0] > 0.5:
            depth += dz * (0.5 - (upper - density[0])) / (lower - upper)
            break
        depth += dz
    else:
        depth = math.nan
    n2 = [9.81 / 1025 * (b - a) / dz for a, b in pairwise(density)]
    return depth * 0.01 + max(n2) * 1e3 + math.sqrt(sum(v * v for v in n2)) * 100


# ---------------------------------------------------------------- tide_rms
Constituent = namedtuple("Constituent", "name speed")


TIDES = [Constituent("M2", 28.984), Constituent("S2", 30.0), Constituent("K1", 15.041), Constituent("O1", 13.943)]


def predict_tide(t, z0, amp, phase):
    h = np.full_like(t, z0)
    for a, g, c in zip(amp, phase, TIDES):
        h += a * np.cos(np.deg2rad(c.speed * t - g))
    return h


def _tide_args():
    t = np.arange(0.0, 25.0, 1.0)
    level = 0.2 + 1.1 * np.cos(0.5 * t - 1.0) + 0.3 * np.sin(0.27 * t)
    return 0.1, np.array([1.0, 0.35, 0.2, 0.15]), np.array([50.0, 80.0, 120.0, 200.0]), t, level


@program("ocean tides: tidal harmonics", _tide_args, wrt=(0, 1, 2))
def tide_rms(z0, amp, phase, t, level):
    return np.sqrt(np.mean((predict_tide(t, z0, amp, phase) - level) ** 2))


# ---------------------------------------------------------------- tidal_constituents
@program(
    "tidal analysis: harmonic constants by least squares with named constituents",
    lambda: (rng(6).normal(size=72) + np.cos(np.arange(72) * 0.5), 0.02),
    wrt=(0, 1),
)
def tidal_constituents(eta, ridge):
    speeds = {"M2": 28.984, "S2": 30.0, "K1": 15.041, "O1": 13.943}
    t = np.arange(eta.size)
    columns = [np.ones_like(t, dtype=float)]
    for name, s in speeds.items():
        arg = np.deg2rad(s) * t
        columns += [np.cos(arg), np.sin(arg)]
    A = np.stack(columns, axis=-1)
    x = np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T @ eta)
    amp = {n: np.hypot(*x[1 + 2 * k : 3 + 2 * k]) for k, n in enumerate(speeds)}
    phase = {n: np.arctan2(x[2 + 2 * k], x[1 + 2 * k]) for k, n in enumerate(speeds)}
    form = (amp["K1"] + amp["O1"]) / (amp["M2"] + amp["S2"])
    return form + np.var(eta - A @ x) + np.cos(phase["M2"] - phase["S2"])


# ---------------------------------------------------------------- shallow_water_energy
@program(
    "physical oceanography: 1-D linearised-drag shallow water, staggered grid with periodic boundary",
    lambda: (np.exp(-0.5 * (np.arange(14) - 6.0) ** 2), np.zeros(14) + 0.02, 1.0, 0.05, 0.1, 12),
    wrt=(0, 1, 2, 3),
)
@njit
def shallow_water_energy(h, u, g, drag, dt, steps):
    """1-D linearised-drag shallow water, staggered grid with periodic boundary."""
    n = h.size
    h = h.copy()
    u = u.copy()
    for _ in range(steps):
        un = np.empty(n)
        for i in range(n):
            left = h[i - 1] if i > 0 else h[n - 1]
            un[i] = u[i] - dt * g * (h[i] - left) - dt * drag * u[i]
        hn = np.empty(n)
        for i in range(n):
            j = (i + 1) % n
            hn[i] = h[i] - dt * (1.0 + 0.1 * h[i]) * (un[j] - un[i])
        u = un
        h = hn
    e = 0.0
    for i in range(n):
        e += 0.5 * u[i] ** 2 + 0.5 * g * h[i] ** 2
    return e


# ---------------------------------------------------------------- stress_under_waves
G = 9.81


def wavenumber(omega, depth):
    k = omega**2 / (G * np.sqrt(np.tanh(omega**2 * depth / G)))
    step = np.inf
    while np.max(np.abs(step)) > 1e-13:
        t = np.tanh(k * depth)
        step = (G * k * t - omega**2) / (G * t + G * k * depth * (1 - t**2))
        k = k - np.clip(step, -0.5 * k, 0.5 * k)
    return k


def jonswap(f, hs, tp, peakedness):
    fp = 1 / tp
    sigma = np.where(f <= fp, 0.07, 0.09)
    shape = f**-5.0 * np.exp(-1.25 * (fp / f) ** 4) * peakedness ** np.exp(-0.5 * ((f / fp - 1) / sigma) ** 2)
    return shape * hs**2 / 16 / simpson(shape, x=f)


def mitsuyasu(f, theta, fp, s_max, mean_direction):
    s = s_max * np.where(f < fp, (f / fp) ** 5, (f / fp) ** -2.5)
    norm = np.exp((2 * s - 1) * np.log(2) + 2 * special.gammaln(s + 1) - special.gammaln(2 * s + 1)) / np.pi
    half = 0.5 * (theta[None, :] - mean_direction)
    return norm[:, None] * np.abs(np.cos(half)) ** (2 * s[:, None])


@program(
    "ocean wave spectra: a JONSWAP sea over a finite depth (TMA), spread in direction, and the stress at the bed",
    lambda: (2.35, 8.9, 3.1, 14.0, 0.42),
    wrt=(0, 1, 2, 3, 4),
)
def stress_under_waves(hs, tp, peakedness, depth, mean_direction, d50=3e-4):
    f = np.linspace(0.041, 0.45, 121)
    theta = np.linspace(-np.pi, np.pi, 73)
    omega = 2 * np.pi * f
    k = wavenumber(omega, depth)
    kd = k * depth

    kitaigorodskii = np.tanh(kd) ** 3 / (np.tanh(kd) + kd / np.cosh(kd) ** 2)
    energy = jonswap(f, hs, tp, peakedness) * kitaigorodskii
    spreading = mitsuyasu(f, theta, 1 / tp, 10.0, mean_direction)
    spectrum = energy[:, None] * spreading

    moments = {n: simpson(f**n * energy, x=f) for n in (-1, 0, 1, 2)}
    energy_period = moments[-1] / moments[0]
    narrowness = np.sqrt(moments[0] * moments[2] / moments[1] ** 2 - 1)

    # Longuet-Higgins' Fourier coefficient of the direction, as a complex number
    resultant = simpson(simpson(spectrum * np.exp(1j * theta), x=theta, axis=1), x=f) / moments[0]
    spread = np.sqrt(2 * (1 - np.abs(resultant)))

    orbital = 2 * simpson((omega / np.sinh(kd)) ** 2 * energy, x=f)
    u_bed = np.sqrt(orbital)
    excursion = u_bed * energy_period / (2 * np.pi)
    friction = 1.39 * (excursion / (d50 / 12)) ** -0.52
    tau = 0.5 * 1025 * friction * u_bed**2
    return tau * np.cos(np.angle(resultant)) + 0.1 * spread + 0.1 * narrowness


# ---------------------------------------------------------------- high_water_after_analysis
CONSTITUENT_SPEEDS = {  # degrees per hour
    "M2": 28.9841042,
    "S2": 30.0,
    "K1": 15.0410686,
    "O1": 13.9430356,
    "N2": 28.4397295,
    "K2": 30.0821373,
    "P1": 14.9589314,
    "M4": 57.9682084,
}


@program(
    "tidal harmonics: analysis of 15 days of hourly levels, close constituents inferred, then the next high water",
    lambda: (
        np.array([1.62, 0.55, 0.14, 0.11, 0.31, 0.15, 0.045, 0.09]),
        np.array([143.0, 187.0, 38.0, 342.0, 121.0, 185.0, 36.0, 210.0]),
        2.35,
    ),
    wrt=(0, 1, 2),
)
def high_water_after_analysis(amps, lags, msl, hours=360):
    t = np.arange(hours) - (hours - 1) / 2
    truth = {name: cmath.rect(a, -math.radians(g)) for name, a, g in zip(CONSTITUENT_SPEEDS, amps, lags, strict=True)}
    level = np.full(hours, msl) + np.random.default_rng(5).normal(0, 0.03, hours)
    for name, phasor in truth.items():
        level += np.real(phasor * np.exp(1j * np.deg2rad(CONSTITUENT_SPEEDS[name]) * t))
    # Rayleigh criterion
    chosen = []
    for name in CONSTITUENT_SPEEDS:
        for other in chosen:
            if abs(CONSTITUENT_SPEEDS[name] - CONSTITUENT_SPEEDS[other]) * hours < 0.9 * 360:
                break
        else:
            chosen.append(name)
    w = np.deg2rad([CONSTITUENT_SPEEDS[n] for n in chosen])
    arg = np.outer(t, w)
    design = np.hstack([np.ones((hours, 1)), t[:, None] / hours, np.cos(arg), np.sin(arg)])
    coef, *_ = np.linalg.lstsq(design, level, rcond=None)
    n = len(chosen)
    fit = dict(zip(chosen, coef[2 : 2 + n] - 1j * coef[2 + n :], strict=True))
    for small, big, ratio, dg in [("K2", "S2", 0.272, -2.0), ("P1", "K1", 0.331, -2.0)]:
        if small in fit:
            continue
        x = math.radians(CONSTITUENT_SPEEDS[small] - CONSTITUENT_SPEEDS[big]) * hours / 2
        r = ratio * cmath.exp(-1j * math.radians(dg))
        fit[big] /= 1 + r * math.sin(x) / x
        fit[small] = fit[big] * r
    speed = np.array([math.radians(CONSTITUENT_SPEEDS[k]) for k in fit])
    z = np.array(list(fit.values()))

    def height(when, derivative=0):
        return (z * (1j * speed) ** derivative * np.exp(1j * speed * when)).sum().real

    start = hours / 2 + 24.0
    quarter = np.arange(start, start + 26, 0.25)
    curve = np.array([height(q) for q in quarter])
    peaks = np.flatnonzero((curve[1:-1] > curve[:-2]) & (curve[1:-1] >= curve[2:])) + 1
    hw = quarter[peaks[0]]
    for _ in range(20):
        step = height(hw, 1) / height(hw, 2)
        hw -= step
        if abs(step) < 1e-13:
            break
    rms = np.sqrt(np.mean((level - design @ coef) ** 2))
    return float(coef[0] + height(hw) + 0.05 * (hw - start) + rms)
