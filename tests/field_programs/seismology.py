"""Seismology and exploration geophysics."""

import itertools
import math
from collections import namedtuple
from enum import IntEnum
from itertools import pairwise

import numpy as np
from scipy import optimize

from tests.field_programs import program


# ---------------------------------------------------------------- travel_time_misfit
@program(
    "hypocentre misfit in a homogeneous half space, origin time removed by demeaning",
    lambda: (
        np.array([12.0, -3.5, 8.0]),
        5.8,
        [(0.0, 0.0), (20.0, 5.0), (-10.0, 15.0), (5.0, -25.0), (30.0, -12.0)],
        np.array([4.9, 4.6, 8.1, 6.9, 6.2]),
    ),
    wrt=(0, 1),
)
def travel_time_misfit(source, velocity, stations, picks):
    """Hypocentre misfit in a homogeneous half space, origin time removed by demeaning."""
    x, y, z = source
    tt = []
    for sx, sy in stations:
        d = np.sqrt((sx - x) ** 2 + (sy - y) ** 2 + z**2)
        tt.append(d / velocity)
    tt = np.array(tt)
    res = picks - tt
    res = res - np.mean(res)
    return np.sum(res**2)


# ---------------------------------------------------------------- synthetic_misfit
@program(
    "Zoeppritz-ish + ricker convolution",
    lambda: (np.array([2.0, 2.4, 2.2, 2.9]), np.array([2.1, 2.2, 2.15, 2.4])),
    wrt=(0, 1),
)
def synthetic_misfit(vp, rho):
    imp = vp * rho
    rc = (imp[1:] - imp[:-1]) / (imp[1:] + imp[:-1])
    t = np.arange(-20, 21) * 0.004
    f = 25.0
    ricker = (1 - 2 * (np.pi * f * t) ** 2) * np.exp(-((np.pi * f * t) ** 2))
    refl = np.zeros(60)
    tt = np.cumsum(0.05 / vp[:-1])
    for r, tau in zip(rc, tt):
        k = int(tau / 0.004)
        w = tau / 0.004 - k
        refl[k] += r * (1 - w)
        refl[k + 1] += r * w
    trace = np.convolve(refl, ricker, mode="same")
    return np.sum(trace**2) * 100 + trace[20]


# ---------------------------------------------------------------- ray
@program(
    "geophysics: ray tracing through layers with bisection on ray param",
    lambda: (np.array([2.0, 3.0, 4.5]), np.array([1.0, 0.7, 1.2])),
    wrt=(0, 1),
)
def ray(v, h):
    X = 1.5
    lo, hi = 0.0, 1 / v.max() - 1e-9
    dist = lambda p: sum(hi_ * p * vi / np.sqrt(1 - (p * vi) ** 2) for vi, hi_ in zip(v, h))
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if dist(mid) > X:
            hi = mid
        else:
            lo = mid
    p = 0.5 * (lo + hi)
    # one Newton step so that the derivative is right
    eps = np.sum(h * v / (1 - (p * v) ** 2) ** 1.5)
    p = p - (dist(p) - X) / eps
    return np.sum(h / (v * np.sqrt(1 - (p * v) ** 2)))


# ---------------------------------------------------------------- travel_time
class Wave(IntEnum):
    P = 0
    S = 1


@program(
    "ray tracing through layers, Snell, enumerated phases as IntEnum",
    lambda: (np.array([[3.0, 1.7], [4.5, 2.6], [6.0, 3.4]]), 0.12),
    wrt=(0, 1),
)
def travel_time(vel, p):
    path = [(0, Wave.P), (1, Wave.P), (2, Wave.S), (1, Wave.S), (0, Wave.S)]
    h = (1.0, 2.0, 3.5)
    t = x = 0.0
    for layer, wave in path:
        v = vel[layer][wave]
        eta = math.sqrt(1 / v**2 - p**2)
        t += h[layer] / v**2 / eta
        x += h[layer] * p / eta
    return t - p * x + x**2 / 100


# ---------------------------------------------------------------- travel_times
Layer = namedtuple("Layer", "thickness vp vs rho", defaults=(2.6,))


class Critical(ValueError):
    pass


def leg(layer, p, wave="P"):
    v = layer.vp if wave == "P" else layer.vs
    if p * v >= 1:
        raise Critical(f"critical angle in {layer}")
    cos = math.sqrt(1 - (p * v) ** 2)
    return layer.thickness * p * v / cos, layer.thickness / (v * cos)


@program(
    "layered ray tracing with namedtuple layers, Snell's law and a critical angle error",
    lambda: (np.array([[1.0, 3.0, 1.7], [2.0, 4.5, 2.6], [3.0, 6.0, 3.5]]), 0.12),
    wrt=(0, 1),
)
def travel_times(model, p):
    layers = [Layer(*row) for row in model]
    times = {}
    for wave in ("P", "S"):
        x = t = 0.0
        for layer in layers:
            try:
                dx, dt = leg(layer, p * (1.6 if wave == "P" else 1.0), wave)
            except Critical:
                break
            x, t = x + dx, t + dt
        times[wave] = 2 * t, 2 * x
    tp, xp = times["P"]
    ts, xs = times["S"]
    impedance = [l.vp * l.rho for l in layers]
    R = [(b - a) / (b + a) for a, b in pairwise(impedance)]
    return ts - tp + 0.1 * (xs + xp) + sum(r**2 for r in R)


# ---------------------------------------------------------------- reflection_travel_time
@program(
    "travel times through layers, ray parameter by brentq, amplitude by Zoeppritz-like reflection",
    lambda: (np.array([1.5, 2.2, 3.1]), np.array([0.8, 1.1, 0.9]), 2.5),
    wrt=(0, 1, 2),
)
def reflection_travel_time(v, d, offset):
    def x_of(p):
        s = p * v
        return 2 * np.sum(d * s / np.sqrt(1 - s**2))

    p = optimize.brentq(lambda p: x_of(p) - offset, 0, 0.999 / v.max())
    cos = np.sqrt(1 - (p * v) ** 2)
    t = 2 * np.sum(d / (v * cos))
    rho = 1.74 * v**0.25
    Z = rho * v / cos
    R = (Z[1:] - Z[:-1]) / (Z[1:] + Z[:-1])
    wavelet = lambda t, f=8.0: (1 - 2 * (np.pi * f * t) ** 2) * np.exp(-((np.pi * f * t) ** 2))
    times = np.linspace(t - 0.2, t + 0.2, 41)
    trace = sum(r * wavelet(times - t * (k + 1) / 2) for k, r in enumerate(R))
    return t + np.sum(trace**2) + p


# ---------------------------------------------------------------- trace_misfit
def ricker(f0, t, t0):
    a = (np.pi * f0 * (t - t0)) ** 2
    return (1 - 2 * a) * np.exp(-a)


@program(
    "exploration geophysics: convolutional model of a normal-incidence trace, L2 misfit",
    lambda: (
        np.array([1800.0, 2200.0, 2900.0, 2600.0]),
        np.array([2.0, 2.1, 2.35, 2.25]),
        np.array([25.0, 30.0, 40.0]),
        30.0,
        0.05 * np.cos(np.arange(30) * 0.7),
    ),
    wrt=(0, 1, 2, 3),
)
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


# ---------------------------------------------------------------- fast_sweep
@program("eikonal fast sweeping with sorted neighbours", lambda: (np.random.default_rng(5).uniform(1, 2, (6, 7)),))
def fast_sweep(slow):
    ny, nx = slow.shape
    T = np.full((ny + 2, nx + 2), 1e9)
    T[1, 1] = 0
    h = 0.5
    for sy, sx in itertools.product((1, -1), (1, -1)):
        for i in range(ny)[::sy]:
            for j in range(nx)[::sx]:
                if (i, j) == (0, 0):
                    continue
                a = min(T[i, j + 1], T[i + 2, j + 1])
                b = min(T[i + 1, j], T[i + 1, j + 2])
                a, b = sorted((a, b))
                f = slow[i, j] * h
                cand = a + f if b - a >= f else (a + b + math.sqrt(2 * f * f - (a - b) ** 2)) / 2
                T[i + 1, j + 1] = min(T[i + 1, j + 1], cand)
    inner = T[1:-1, 1:-1]
    return inner[-1, -1] + inner.mean()


# ---------------------------------------------------------------- pick_misfit
@program(
    "travel times of rays in a layered earth with a gradient, and the misfit to picks with outliers",
    lambda: (np.array([5.8, 6.5, 8.0]), np.array([20.0, 15.0]), 8.0),
    wrt=(0, 1, 2),
)
def pick_misfit(v, h, depth):
    layers = [*zip(v, h), (v[-1], math.inf)]
    stations = [20.0, 60.0, 110.0, 180.0, 260.0]

    def direct(x):
        return math.hypot(x, depth) / layers[0][0]

    def head(k, x):
        vk = v[k]
        t = x / vk
        for j, (vj, hj) in enumerate(layers[:k]):
            legs = (2 * hj - depth) if j == 0 else 2 * hj
            t += legs * math.sqrt(1 / vj**2 - 1 / vk**2)
        return t

    total = 0.0
    for k, x in enumerate(stations):
        arrivals = {"Pg": direct(x)} | {name: head(j, x) for j, name in enumerate(("P*", "Pn"), 1)}
        first = min(arrivals, key=arrivals.get)
        residual = arrivals[first] - (x / 7.1 + 1.4 + 0.3 * (-1) ** k)
        total += residual**2 if abs(residual) < 1.0 else 2 * abs(residual) - 1.0
        total += 0.01 * len(first) * sorted(arrivals.values())[1]
    return total
