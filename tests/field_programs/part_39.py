import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# dendrochronology: rings detrended by a negative exponential, a biweight mean chronology, its correlation with climate
@prog(
    "dendrochronology",
    lambda: (
        0.4 + 1.2 * np.exp(-np.arange(24) / 8.0) + 0.15 * rng(1).normal(size=(5, 24)),
        np.array([1.1, 0.1, 0.45]),
        rng(2).normal(size=24),
    ),
    (0, 1, 2),
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


# crystallography: structure factors of a cell with symmetry, a scale by least squares, the R factor
SYMMETRY = [lambda x, y, z: (x, y, z), lambda x, y, z: (-x, y + 0.5, -z), lambda x, y, z: (-x, -y, -z)]


@prog(
    "crystallography",
    lambda: (rng(3).uniform(0, 1, (4, 3)), np.array([6.0, 8.0, 7.0, 16.0]), np.array([1.2, 2.0, 1.5, 1.1])),
    (0, 1, 2),
)
def r_factor(xyz, electrons, B):
    observed = {(1, 0, 0): 11.0, (0, 2, 0): 25.0, (1, 1, 1): 9.5, (2, 0, -1): 14.0, (0, 1, 2): 8.0}
    s = {hkl: sum(i * i for i in hkl) / 60.0 for hkl in observed}

    def amplitude(hkl):
        h, k, l = hkl
        re = im = 0.0
        for (x, y, z), f, b in zip(xyz, electrons, B):
            damping = f * np.exp(-b * s[hkl])
            for op in SYMMETRY:
                X, Y, Z = op(x, y, z)
                phase = 2.0 * np.pi * (h * X + k * Y + l * Z)
                re += damping * np.cos(phase)
                im += damping * np.sin(phase)
        return np.hypot(re, im)

    calculated = {hkl: amplitude(hkl) for hkl in observed}
    scale = sum(observed[k] * calculated[k] for k in observed) / sum(c * c for c in calculated.values())
    numerator = sum(abs(observed[k] - scale * calculated[k]) for k in observed)
    return numerator / sum(observed.values())


# rocketry: a two-stage ascent by events, with gravity and drag, height at burnout and coasting
@dataclass
class Stage:
    propellant: float
    dry: float
    thrust: float
    exhaust: float


@prog("rocketry", lambda: (np.array([900.0, 250.0]), np.array([2.4e4, 6.5e3]), 0.35), (0, 1, 2))
def apogee(propellant, thrust, drag_area):
    g0, scale_height = 9.80665, 8400.0
    stages = [Stage(p, 0.12 * p, t, v) for p, t, v in zip(propellant, thrust, (2500.0, 2950.0))]
    payload, dt = 60.0, 0.5
    height = velocity = 0.0
    mass = payload + sum(s.propellant + s.dry for s in stages)
    while stages:
        stage = stages.pop(0)
        left = stage.propellant
        flow = stage.thrust / stage.exhaust
        for _ in range(int(40)):
            burn = min(flow * dt, left)
            push = stage.exhaust * burn / dt
            density = 1.225 * math.exp(-height / scale_height)
            drag = 0.5 * density * drag_area * 0.4 * velocity * abs(velocity)
            velocity += dt * ((push - drag) / mass - g0)
            height = max(height + dt * velocity, 0.0)
            left -= burn
            mass -= burn
        mass -= stage.dry
    return (height + velocity**2 / (2.0 * g0)) / 1000.0


# linguistics: a hidden Markov tagger with add-alpha smoothing by the forward algorithm in logarithms
@prog("linguistics", lambda: (rng(4).normal(size=(3, 3)), rng(5).normal(size=(3, 7)), 0.5), (0, 1, 2))
def tagged_sentences(transitions, emissions, alpha):
    vocabulary = {w: i for i, w in enumerate("the dog cat saw ran big <unk>".split())}
    sentences = ["the big dog ran", "the cat saw the big bird", "dog saw"]
    A = np.exp(transitions) + alpha
    A /= A.sum(axis=1, keepdims=True)
    E = np.exp(emissions) + alpha
    E /= E.sum(axis=1, keepdims=True)
    loglik = 0.0
    for sentence in sentences:
        words = [vocabulary.get(w, vocabulary["<unk>"]) for w in sentence.split()]
        belief = np.full(3, 1.0 / 3) * E[:, words[0]]
        for w in words[1:]:
            norm = belief.sum()
            loglik += np.log(norm)
            belief = (belief / norm) @ A * E[:, w]
        loglik += np.log(belief.sum())
    return loglik / sum(len(s.split()) for s in sentences)


# polymer science: moments of free-radical polymerisation with the gel effect, polydispersity at the end
class Rates(NamedTuple):
    kd: float
    kp: float
    kt: float


@prog("polymer science", lambda: (np.array([0.05, 6.0, 20.0]), 8.0, 0.04), (0, 1, 2))
def polydispersity(k, monomer0, initiator0):
    rates = Rates(*k)

    def rhs(y, t):
        M, I, m0, m1, m2 = y
        X = 1.0 - M / monomer0
        kt = rates.kt * np.exp(-2.3 * X - 0.8 * X**2)
        radicals = np.sqrt(2.0 * 0.6 * rates.kd * I / kt)
        growth = rates.kp * M * radicals
        stop = kt * radicals**2
        nu = growth / stop
        return np.array([-growth, -rates.kd * I, stop, growth, growth * (2.0 * nu + 1.0)])

    y, t, h = np.array([monomer0, initiator0, 0.0, 0.0, 0.0]), 0.0, 0.05
    while t < 1.0 - 1e-12:
        k1 = rhs(y, t)
        k2 = rhs(y + 0.5 * h * k1, t + 0.5 * h)
        k3 = rhs(y + 0.5 * h * k2, t + 0.5 * h)
        k4 = rhs(y + h * k3, t + h)
        y += h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    _, _, m0, m1, m2 = y
    return m2 * m0 / m1**2


# psychometrics: a graded response model, expected a posteriori abilities by quadrature, total marginal likelihood
@prog(
    "psychometrics",
    lambda: (np.array([1.1, 0.8, 1.5]), np.array([[-1.0, 0.2, 1.1], [-0.5, 0.4, 1.6], [-1.3, -0.1, 0.9]])),
    (0, 1),
)
def graded_response(discrimination, thresholds):
    responses = np.array([[0, 1, 2], [3, 2, 3], [1, 1, 0], [2, 3, 3], [0, 0, 1]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()
    items, categories = thresholds.shape
    above = special.expit(discrimination[:, None, None] * (nodes - thresholds[..., None]))
    ones, zeros = np.ones((items, 1, nodes.size)), np.zeros((items, 1, nodes.size))
    edges = np.concatenate([ones, above, zeros], axis=1)
    p = edges[:, :-1] - edges[:, 1:]
    total, abilities = 0.0, []
    for person in responses:
        likelihood = functools.reduce(np.multiply, (p[i, c] for i, c in enumerate(person)))
        marginal = likelihood @ weights
        abilities.append((likelihood * nodes) @ weights / marginal)
        total += np.log(marginal)
    return total + 0.01 * np.var(abilities)


# cryosphere: a degree-day model of a snow pack with refreezing and an ice albedo, runoff of a season
@prog(
    "cryosphere",
    lambda: (8.0 * np.sin(np.linspace(-1.2, 2.6, 60)) + rng(6).normal(size=60), np.array([4.0, 7.0, 0.1, 0.5])),
    (0, 1),
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


# radiology: fan-beam projections through ellipses, filtered, a contrast-to-noise ratio of two regions
@prog(
    "radiology",
    lambda: (
        np.array([[0.013, 0.027, 0.71, 0.93, 1.0], [0.22, 0.11, 0.23, 0.31, -0.4], [-0.33, 0.02, 0.137, 0.119, 0.6]]),
    ),
    (0,),
)
def contrast_to_noise(ellipses):
    angles, offsets = np.linspace(0, np.pi, 12, endpoint=False), np.linspace(-1, 1, 21)
    sinogram = np.empty((angles.size, offsets.size))
    for i, theta in enumerate(angles):
        c, s = np.cos(theta), np.sin(theta)
        row = np.zeros_like(offsets)
        for x0, y0, a, b, mu in ellipses:
            width2 = (a * c) ** 2 + (b * s) ** 2
            t = offsets - (x0 * c + y0 * s)
            inside = np.maximum(width2 - t**2, 0.0)
            row += np.where(inside > 0, 2.0 * mu * a * b * np.sqrt(np.where(inside > 0, inside, 1.0)) / width2, 0.0)
        sinogram[i] = row
    taps = np.arange(-10, 11)
    ramp = np.zeros(taps.size)
    ramp[10] = 0.25
    odd = taps % 2 != 0
    ramp[odd] = -1.0 / (np.pi * taps[odd]) ** 2
    filtered = np.array([np.convolve(row, ramp, mode="same") for row in sinogram])

    def value_at(x, y):
        t = x * np.cos(angles) + y * np.sin(angles)
        return sum(np.interp(tk, offsets, row) for tk, row in zip(t, filtered)) * np.pi / angles.size

    lesion = np.array([value_at(0.2 + dx, 0.1) for dx in (-0.05, 0.0, 0.05)])
    background = np.array([value_at(x, -0.5) for x in (-0.2, 0.0, 0.2)])
    return (background.mean() - lesion.mean()) / (0.01 + background.std())


# forestry: height-diameter curves with random effects shrunk by hand, taper, volume by Smalian's rule
@prog("forestry", lambda: (np.array([28.0, 0.06, 1.2]), rng(7).normal(0, 1.5, 4), np.array([0.9, 0.35])), (0, 1, 2))
def standing_volume(curve, plot_effects, taper):
    trees = {0: [12.5, 20.1, 33.0], 1: [15.2, 18.8], 2: [40.3], 3: [22.2, 27.1, 30.5, 11.9]}
    total = 0.0
    for plot, diameters in trees.items():
        shrink = len(diameters) / (len(diameters) + 2.0)
        top = curve[0] + shrink * plot_effects[plot]
        for dbh in diameters:
            h = 1.3 + top * (1.0 - np.exp(-curve[1] * dbh)) ** curve[2]
            ends = np.append(np.arange(0.3, 9.6, 1.2), 9.6) / 10.0 * h

            def diameter(z, dbh=dbh, h=h):
                q = (h - z) / (h - 1.3)
                return dbh * q ** taper[0] * np.exp(taper[1] * (1.0 - q) * q)

            areas = np.pi / 40000.0 * diameter(ends) ** 2
            total += np.sum(np.diff(ends) * (areas[:-1] + areas[1:]) / 2.0)
    return total


# photogrammetry: collinearity with lens distortion, residuals of two images, a Tukey loss
def rotation(omega, phi, kappa):
    co, so, cp, sp, ck, sk = (f(a) for a in (omega, phi, kappa) for f in (math.cos, math.sin))
    Rx = np.array([[1, 0, 0], [0, co, -so], [0, so, co]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[ck, -sk, 0], [sk, ck, 0], [0, 0, 1]])
    return Rx @ Ry @ Rz


@prog(
    "photogrammetry",
    lambda: (
        np.array([[0.0, 0.0, 100.0, 0.01, -0.02, 0.1], [20.0, 5.0, 102.0, -0.015, 0.01, 0.05]]),
        rng(8).uniform(-10, 30, (5, 3)) * np.array([1.0, 1.0, 0.2]),
        np.array([0.15, -2e-4, 1e-7]),
    ),
    (0, 1, 2),
)
def bundle_residual(cameras, points, lens):
    f, k1, k2 = lens
    measured = rng(9).normal(0, 0.01, (2, 5, 2))
    losses = []
    for camera, image in zip(cameras, measured):
        centre, angles = camera[:3], camera[3:]
        R = rotation(*angles)
        for P, uv in zip(points, image):
            x, y, z = R.T @ (P - centre)
            p = np.array([-f * x / z, -f * y / z])
            r2 = p @ p
            p = p * (1.0 + k1 * r2 + k2 * r2**2)
            e = math.hypot(*(p - uv)) / 0.05
            losses.append(1.0 - (1.0 - e**2) ** 3 if e < 1.0 else 1.0)
    return math.fsum(losses) / len(losses)


# meteorology: a parcel lifted along its adiabats, condensation level by bisection, available potential energy
@prog("meteorology", lambda: (np.array([302.0, 16.0]), np.linspace(301.0, 225.0, 12)), (0, 1))
def cape(surface, environment):
    Rd, cp, Lv, eps = 287.0, 1005.0, 2.5e6, 0.622
    T, r = surface[0], surface[1] / 1000.0

    def saturated(T, p):
        es = 611.2 * np.exp(17.67 * (T - 273.15) / (T - 29.65))
        return eps * es / (p - es)

    pressures = np.linspace(1.0e5, 2.5e4, environment.size)
    lo, hi = 5.0e4, 1.0e5
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        if saturated(T * (mid / 1.0e5) ** (Rd / cp), mid) < r:
            lo, hi = lo, mid
        else:
            lo = mid
    lcl = 0.5 * (lo + hi)
    parcel = [T]
    for p, below in zip(pressures[1:], pressures[:-1]):
        t = parcel[-1]
        if p > lcl:
            parcel.append(T * (p / 1.0e5) ** (Rd / cp))
        else:
            rs = saturated(t, below)
            slope = (Rd * t + Lv * rs) / (cp + Lv**2 * rs * eps / (Rd * t**2))
            parcel.append(t + slope * np.log(p / below))
    buoyancy = np.clip(np.asarray(parcel) - environment, 0.0, None)
    return -Rd * np.trapezoid(buoyancy, np.log(pressures)) / 100.0


# oncology: linear-quadratic survival with repopulation over fractions, a Poisson control probability over a dose volume
@prog(
    "oncology", lambda: (np.array([0.3, 0.03, 0.05]), np.array([0.2, 0.5, 0.3]), np.array([1.8, 2.0, 2.2])), (0, 1, 2)
)
def tumour_control(radiobiology, volumes, doses):
    alpha, beta, repopulation = radiobiology
    days = [d for d in range(39) if d % 7 < 5]
    log_survival = np.zeros(len(doses))
    memory = 0.0
    previous = None
    for day in days:
        gap = 0 if previous is None else day - previous
        memory = 1.0 * np.exp(-0.7 * gap) * (memory + 1.0) if gap else memory
        incomplete = 2.0 * beta * memory * doses**2
        log_survival -= alpha * doses + beta * doses**2 + 0.01 * incomplete
        if day > 21:
            log_survival += repopulation * gap
        previous = day
    clonogens = 1e7 * volumes / volumes.sum()
    survivors = clonogens * np.exp(log_survival)
    control = np.exp(-np.sum(survivors))
    equivalent = np.sum(volumes * doses ** (1 / 0.7)) ** 0.7
    return control + 0.01 * special.ndtr((equivalent - 2.0) / 0.3)
