"""Glaciers, ice sheets and snow."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from tests.field_programs import program, rng


# ---------------------------------------------------------------- sia_glacier
@dataclass
class IceParams:
    A: float = 2.4
    n: float = 3.0
    rho_g: float = 0.9
    smb_gradient: float = 0.05


def ice_flux(h, s, dx, p):
    slope = (s[1:] - s[:-1]) / dx
    hm = 0.5 * (h[1:] + h[:-1])
    return -2.0 * p.A / (p.n + 2.0) * p.rho_g**p.n * hm ** (p.n + 2.0) * np.abs(slope) ** (p.n - 1.0) * slope


def _glacier_args():
    x = np.linspace(0, 1, 12)
    bed = 2.5 - 1.8 * x
    h0 = 0.9 * np.sqrt(1.05 - x) + 0.3
    return IceParams(), h0, bed


@program("shallow-ice flowline: volume after a few explicit time steps", _glacier_args, wrt=(0, 1, 2))
def sia_glacier(p, h0, bed, dx=1.0, dt=1e-3, nsteps=12):
    """Shallow-ice flowline: volume after a few explicit time steps."""
    h = h0.copy()
    for _ in range(nsteps):
        s = bed + h
        q = ice_flux(h, s, dx, p)
        smb = p.smb_gradient * (s - 2.0)
        dhdt = smb.copy()
        dhdt[1:-1] -= (q[1:] - q[:-1]) / dx
        h = h + dt * dhdt
    return dx * np.sum(h)


# ---------------------------------------------------------------- glacier_volume
@program("glacier volume", lambda: (np.linspace(200, 20, 20), 1e-3), wrt=(0, 1))
def glacier_volume(H, smb):
    bed = np.linspace(1500, 1000, 20)
    dx = 100.0
    for _ in range(10):
        s = H + bed
        grad = (s[1:] - s[:-1]) / dx
        Hm = 0.5 * (H[1:] + H[:-1])
        D = 1e-7 * Hm**5 * np.abs(grad) ** 2
        q = -D * grad
        div = np.diff(np.concatenate(([0.0], q, [0.0]))) / dx
        H = np.maximum(H - 0.05 * div + smb * (s - 1200), 0.0)
    return H.sum() * dx / 1e4


# ---------------------------------------------------------------- flux_limited_ice_sheet
@program("shallow ice with flux limiter, deque history", lambda: (rng(0).uniform(1, 2, 12), 0.3))
def flux_limited_ice_sheet(h, a):
    dx, dt, n = 1.0, 0.01, 3
    hist = deque(maxlen=4)
    for step in range(15):
        s = np.pad(h, 1, mode="edge")
        slope = np.diff(s) / dx
        hm = 0.5 * (s[1:] + s[:-1])
        D = 2 * a / (n + 2) * hm ** (n + 2) * np.abs(slope) ** (n - 1)
        q = -D * slope
        h = np.maximum(h - dt * np.diff(q) / dx + dt * 0.1, 0.0)
        hist.append(h.copy())
    return np.mean(hist[-1] ** 2) + sum(np.sum(g) for g in hist) * 0.01


# ---------------------------------------------------------------- masked_ice_sheet
@program(
    "shallow ice with masked flux, boundaries by slicing, np.errstate",
    lambda: (np.maximum(0, 1 - np.linspace(-1.1, 1.1, 21) ** 2) + 0.01, 0.3),
    wrt=(0, 1),
)
def masked_ice_sheet(H, A):
    b = 0.05 * np.cos(np.linspace(0, 6, H.size))
    x = np.linspace(-1, 1, H.size)
    dx = x[1] - x[0]
    acc = np.where(np.abs(x) < 0.6, 0.2, -0.4)
    t, dt = 0.0, 0.0
    H = H.copy()
    steps = 0
    while t < 0.05 and steps < 200:
        s = b + H
        Hs = 0.5 * (H[1:] + H[:-1])
        grad = np.diff(s) / dx
        D = A * Hs**5 * np.abs(grad) ** 2
        with np.errstate(divide="ignore"):
            dt = min(0.1 * dx**2 / (D.max() + 1e-10), 0.005)
        q = -D * grad
        H[1:-1] += dt * (acc[1:-1] - np.diff(q) / dx)
        H[H < 0] = 0
        t += dt
        steps += 1
    return np.sum(H) * dx


# ---------------------------------------------------------------- flowline
class CalvingError(Exception):
    def __init__(self, where, thickness):
        super().__init__(f"front at {where} is too thin: {thickness}")
        self.where, self.thickness = where, thickness


class Weertman:
    def __init__(self, C, m=3):
        self.C, self.m = C, m

    def __call__(self, tau):
        return self.C * np.sign(tau) * abs(tau) ** self.m


class Budd:
    def __init__(self, C, N):
        self.C, self.N = C, N

    def __call__(self, tau):
        return self.C * tau**3 / self.N


@program(
    "shallow ice flowline, sliding laws chosen by zone, calving by exception",
    lambda: (np.linspace(1.2, 0.3, 12), 0.8, 0.15),
    wrt=(0, 1, 2),
)
def flowline(H0, A, C):
    laws = [Weertman(C), Budd(C, 0.7), Weertman(0.5 * C, m=1)]
    bed = np.linspace(0.4, -0.2, len(H0))
    H = H0.copy()
    dx, dt = 1.0 / len(H0), 2e-4

    def check(H):
        if H[-1] < 0.05:
            raise CalvingError(len(H) - 1, H[-1])
        return H

    lost = 0.0
    for n in range(15):
        s = bed + H
        flux = np.zeros(len(H) + 1)
        for i in range(1, len(H)):
            slope = (s[i] - s[i - 1]) / dx
            h = 0.5 * (H[i] + H[i - 1])
            tau = -h * slope
            zone = 0 if i < 4 else (1 if i < 8 else 2)
            flux[i] = 0.4 * A * h**2 * tau**3 + laws[zone](tau) * h
        flux[-1] = flux[-2]
        H = H - dt * np.diff(flux) / dx
        try:
            H = check(H)
        except CalvingError as err:
            lost += err.thickness
            H[err.where] = 0.2
    return H.sum() * dx + lost


# ---------------------------------------------------------------- steady_glacier_volume
@program(
    "shallow ice flow line with Glen's law, mass balance by elevation, until it hardly moves",
    lambda: (np.linspace(900.0, 100.0, 24), 0.006, 500.0, 2.4e-24),
    wrt=(0, 1, 2, 3),
)
def steady_glacier_volume(bed, gradient, line, A, n=3, rho=917.0, g=9.81, years=40):
    dx, dt = 500.0, 0.5
    gamma = 2.0 * A * 3.15e7 * (rho * g) ** n / (n + 2)
    h = np.zeros_like(bed)
    for year in range(years):
        surface = bed + h
        slope = np.diff(surface) / dx
        thick = 0.5 * (h[1:] + h[:-1])
        flux = -gamma * thick ** (n + 2) * np.abs(slope) ** (n - 1) * slope
        flux = np.concatenate(([0.0], flux, [0.0]))
        balance = np.minimum(gradient * (surface - line), 1.5)
        h = np.maximum(h + dt * (balance - np.diff(flux) / dx), 0.0)
    return np.trapezoid(h, dx=dx) / 1e4 + h.max()


# ---------------------------------------------------------------- melt_runoff
@dataclass
class DegreeDay:
    ddf: float
    t_melt: float
    refreeze: float
    lapse: float = -0.0065


def softplus(x, s=0.5):
    return s * np.log1p(np.exp(x / s))


@program(
    "snow hydrology: temperature-index melt over elevation bands, smooth thresholds; total runoff",
    lambda: (
        DegreeDay(4.2, 0.3, 0.05),
        [-4.0, -1.0, 2.5, 5.0, 1.0, 7.0, 9.0],
        [6.0, 12.0, 3.0, 0.5, 8.0, 1.0, 0.2],
        np.array([900.0, 1300.0, 1700.0, 2100.0]),
    ),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- seasonal_runoff
@program(
    "cryosphere: a degree-day model of a snow pack with refreezing and an ice albedo, runoff of a season",
    lambda: (8.0 * np.sin(np.linspace(-1.2, 2.6, 60)) + rng(6).normal(size=60), np.array([4.0, 7.0, 0.1, 0.5])),
    wrt=(0, 1),
)
def seasonal_runoff(temperature, parameters):
    ddf_snow, ddf_ice, holding, threshold = parameters
    precipitation = np.abs(np.cos(np.arange(temperature.size))) * 6.0
    swe, liquid, runoff = 120.0, 0.0, np.zeros_like(temperature)
    for day, (T, P) in enumerate(zip(temperature, precipitation)):
        fraction = min(max((threshold + 1.0 - T) / 2.0, 0.0), 1.0)
        swe += fraction * P
        rain = P - fraction * P
        if T > threshold:
            potential = ddf_snow * (T - threshold)
            melt = min(potential, swe)
            swe -= melt
            if melt < potential:
                runoff[day] += (potential - melt) * ddf_ice / ddf_snow
            liquid += melt + rain
        else:
            refreeze = min(liquid, 0.05 * ddf_snow * (threshold - T))
            liquid -= refreeze
            swe += refreeze
            liquid += rain
        capacity = holding * swe
        if liquid > capacity:
            runoff[day] += liquid - capacity
            liquid = capacity
    return np.average(runoff, weights=1.0 + np.arange(runoff.size)) + 0.001 * swe


# ---------------------------------------------------------------- ice_volume
@program(
    "an ice cap's profile by the shallow-ice approximation, with a mass balance by elevation",
    lambda: (np.array([1.2, 0.006, 1493.7]), 1.43),
    wrt=(0, 1),
)
def ice_volume(climate, softness):
    accumulation, gradient, ela = climate
    dx, dt, n = 4000.0, 10.0, 3
    x = np.arange(-12, 13) * dx
    bed = 900.0 + 700.0 * np.exp(-((x / 30e3) ** 2))
    H = np.zeros_like(x)
    A = softness * 1e-16
    gamma = 2 * A * (910 * 9.81) ** n / (n + 2)
    for _ in range(40):
        s = bed + H
        mid = 0.5 * (H[1:] + H[:-1])
        slope = np.diff(s) / dx
        D = gamma * mid ** (n + 2) * slope ** (n - 1)
        flux = np.pad(-D * slope, 1)
        b = np.minimum(gradient * (s - ela), accumulation)
        H = np.maximum(H + dt * (b - np.diff(flux) / dx), 0.0)
    return H.sum() * dx / 1e6 + H.max() / 100.0


# ---------------------------------------------------------------- stability
@dataclass(frozen=True)
class Layer:
    thickness: float
    density: float

    @property
    def load(self):
        return self.thickness * self.density * 9.81


@program(
    "avalanche safety: a slab on a weak layer, the critical crack length by bisection, a skier's load on top",
    lambda: (np.array([0.12, 0.25, 0.4]), 38.0, 1.6),
    wrt=(0, 1, 2),
)
def stability(thickness, angle, toughness):
    slab = [Layer(h, rho) for h, rho in zip(thickness, (110.0, 180.0, 240.0), strict=True)]
    slope = math.radians(angle)
    load = sum(layer.load for layer in slab)
    shear, normal = load * math.sin(slope), load * math.cos(slope)
    depth = sum(layer.thickness for layer in slab)
    stiff = 5.07e6 * sum(l.thickness * (l.density / 917.0) ** 5.13 * 1e3 for l in slab) / depth

    def released(r):
        shear_part = (shear * r) ** 2 / (2 * stiff * depth)
        bending = normal**2 * r**4 / (2.4 * stiff * depth**3)
        return shear_part + bending

    low, high = 0.0, 5.0
    for _ in range(60):
        mid = (low + high) / 2
        if released(mid) < toughness:
            low = mid
        else:
            high = mid
    crack = (low + high) / 2
    # one step of Newton, so that it is exact
    step = 1e-4
    crack -= (released(crack) - toughness) / ((released(crack + step) - released(crack - step)) / (2 * step))
    skier = 0.155 * 500 / (depth + 0.3) * math.cos(slope) * math.sin(slope) ** 2
    return crack + 2.1e3 / (shear + skier)
