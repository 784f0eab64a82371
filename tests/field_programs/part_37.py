import abc
import bisect
import itertools
import math
import operator
from collections import ChainMap, OrderedDict, namedtuple
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from scipy import linalg, signal, special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# glaciology: shallow ice flow line with Glen's law, mass balance by elevation, until it hardly moves
@prog("glaciology", lambda: (np.linspace(900.0, 100.0, 24), 0.006, 500.0, 2.4e-24), (0, 1, 2, 3))
def glacier_volume(bed, gradient, line, A, n=3, rho=917.0, g=9.81, years=40):
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


# crystallography: structure factors with Debye-Waller factors and an R value against amplitudes
class Atom(NamedTuple):
    element: str
    xyz: tuple[float, float, float]
    occupancy: float = 1.0


FORM = {"Na": (4.7626, 3.285, 3.1736, 8.8422), "Cl": (11.4604, 0.0104, 7.1964, 1.1662)}


@prog("crystallography", lambda: (5.64, np.array([0.9, 1.3]), np.array([0.01, -0.02, 0.015])), (0, 1, 2))
def r_value(a, B, shift):
    basis = [Atom("Na", (0.0, 0.0, 0.0)), Atom("Cl", (0.5, 0.0, 0.0), 0.95)]
    centring = [(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    observed = {(1, 1, 1): 18.0, (2, 0, 0): 78.0, (2, 2, 0): 64.0, (3, 1, 1): 13.0, (2, 2, 2): 52.0}
    numerator = denominator = 0.0
    for hkl, amplitude in observed.items():
        h = np.array(hkl, dtype=float)
        s2 = (h @ h) / (4.0 * a * a)
        F = 0j
        for k, atom in enumerate(basis):
            a1, b1, a2, b2 = FORM[atom.element]
            f = a1 * np.exp(-b1 * s2) + a2 * np.exp(-b2 * s2)
            for c in centring:
                r = np.add(atom.xyz, c) + (shift if atom.element == "Cl" else 0.0)
                F += atom.occupancy * f * np.exp(-B[k] * s2) * np.exp(2j * np.pi * (h @ r))
        numerator += abs(amplitude - abs(F)) ** 2
        denominator += amplitude**2
    return math.sqrt(numerator / denominator)


# acoustics: reverberation of a room by its surfaces, a filter bank and the decay of a response
class Material(Enum):
    PLASTER = (0.02, 0.03, 0.04)
    CARPET = (0.08, 0.24, 0.57)
    GLASS = (0.35, 0.25, 0.18)


@prog("acoustics", lambda: (np.array([7.0, 5.0, 3.0]), 1.2, np.array([0.9, 0.5, 0.2])), (0, 1, 2))
def decay_of_a_room(size, scale, weights):
    lx, ly, lz = size
    surfaces = [
        (Material.PLASTER, 2 * (lx * lz + ly * lz) - 4.0),
        (Material.CARPET, lx * ly),
        (Material.PLASTER, lx * ly),
        (Material.GLASS, 4.0),
    ]
    bands = list(zip(*(material.value for material, _ in surfaces)))
    volume, total = lx * ly * lz, sum(area for _, area in surfaces)
    times = []
    for coefficients in bands:
        mean = sum(scale * alpha * area for alpha, (_, area) in zip(coefficients, surfaces)) / total
        times.append(0.161 * volume / (-total * math.log(1 - mean)))
    t = np.arange(0, 0.2, 0.004)
    response = sum(w * np.exp(-6.91 * t / T) for w, T in zip(weights, times))
    energy = np.cumsum(response[::-1] ** 2)[::-1]
    level = 10 * np.log10(energy / energy[0])
    inside = (level < -0.5) & (level > -6)
    slope, offset = np.polyfit(t[inside], level[inside], 1)
    return -60 / slope + 0.01 * offset


# population genetics: site frequency spectrum by a transition matrix between allele counts
@lru_cache(maxsize=None)
def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@prog("population genetics", lambda: (0.03, 0.01, np.array([0.5, 0.3, 0.2])), (0, 1, 2))
def spectrum_of_sites(s, mu, start):
    n = 8
    p = np.zeros(n + 1)
    p[1:4] = start / start.sum()

    def row(i):
        x = i / n
        x = x * (1 + s) / (1 + s * x)
        x = x * (1 - mu) + (1 - x) * mu
        return [math.exp(log_choose(n, j) + j * math.log(x) + (n - j) * math.log1p(-x)) for j in range(n + 1)]

    P = np.array([row(i) for i in range(n + 1)])
    for _ in range(12):
        p = p @ P
    heterozygosity = sum(2 * p[i] * (i / n) * (1 - i / n) for i in range(n + 1))
    return heterozygosity - 0.1 * np.sum(p * np.log(p))


# control engineering: a linear quadratic regulator by value iteration, applied to a pendulum with saturation
@prog("control", lambda: (np.array([10.0, 1.0]), 0.5, np.array([0.6, 0.0])), (0, 1, 2))
def cost_of_swinging(q, r, start):
    dt, grav = 0.05, 9.81
    A = np.array([[1.0, dt], [grav * dt, 1.0]])
    B = np.array([[0.0], [dt]])
    Q, R = np.diag(q), np.array([[r]])
    P = Q.copy()
    while True:
        K = linalg.solve(R + B.T @ P @ B, B.T @ P @ A, assume_a="pos")
        new = Q + A.T @ P @ (A - B @ K)
        change = np.abs(new - P).max()
        P = 0.5 * (new + new.T)
        if change < 1e-9:
            break
    x, cost = start.copy(), 0.0
    for k in range(60):
        u = float(np.clip(-(K @ x).item(), -8.0, 8.0))
        cost += (x @ Q @ x + r * u * u) * dt
        theta, omega = x
        x = np.array([theta + dt * omega, omega + dt * (grav * math.sin(theta) + u)])
    return cost


# pharmacology: doses of several drugs, effects by Hill functions, tolerance in a compartment
Drug = namedtuple("Drug", "name ka ke ec50 hill", defaults=(1.0,))


@prog("pharmacology", lambda: (np.array([1.1, 0.7]), np.array([0.2, 0.12]), 0.8, 1.6), (0, 1, 2, 3))
def effect_of_two_drugs(ka, ke, ec50, hill):
    drugs = [Drug(f"drug {k}", a, e, ec50 * (k + 1)) for k, (a, e) in enumerate(zip(ka, ke))]
    drugs[0] = drugs[0]._replace(hill=hill)
    schedule = {"drug 0": [(0.0, 5.0), (8.0, 5.0)], "drug 1": [(2.0, 3.0)]}

    def concentration(drug, t):
        return sum(
            dose * drug.ka / (drug.ka - drug.ke) * (math.exp(-drug.ke * (t - t0)) - math.exp(-drug.ka * (t - t0)))
            for t0, dose in schedule[drug.name]
            if t > t0
        )

    tolerance, total = 0.0, 0.0
    for step in range(96):
        t = 0.25 * step
        occupied = [concentration(d, t) ** d.hill for d in drugs]
        effect = sum(c / (d.ec50**d.hill + c) for c, d in zip(occupied, drugs)) / (1 + tolerance)
        tolerance += 0.25 * (0.3 * effect - 0.1 * tolerance)
        total += 0.25 * effect
    return total + tolerance


# image processing: anisotropic diffusion after Perona and Malik, then the sharpness of what is left
@prog("image processing", lambda: (rng(3).random((9, 8)) + np.eye(9, 8), 0.3, 0.2), (0, 1, 2))
def smoothed_but_sharp(image, kappa, lam):
    def conduct(d):
        return 1.0 / (1.0 + (d / kappa) ** 2)

    u = image.astype(float)
    for _ in range(6):
        padded = np.pad(u, 1, mode="edge")
        flows = [
            padded[:-2, 1:-1] - u,
            padded[2:, 1:-1] - u,
            padded[1:-1, :-2] - u,
            padded[1:-1, 2:] - u,
        ]
        u = u + lam * sum(conduct(d) * d for d in flows)
    gy, gx = np.gradient(u)
    kernel = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    return np.hypot(gx, gy).mean() + np.var(signal.convolve2d(u, kernel, mode="valid"))


# queueing: an M/M/c queue with impatient customers, and how many servers would be enough
@prog("queueing", lambda: (9.0, 2.5, 0.4, 1.7), (0, 1, 2, 3))
def cost_of_servers(arrival, service, patience, price):
    best, at = np.inf, None
    for c in range(2, 8):
        weights = [1.0]
        for n in range(1, 60):
            rate = min(n, c) * service + max(n - c, 0) * patience
            weights.append(weights[-1] * arrival / rate)
        norm = math.fsum(weights)
        waiting = sum((n - c) * w for n, w in enumerate(weights) if n > c) / norm
        lost = patience * waiting
        cost = price * c + 5.0 * lost + waiting
        if cost < best:
            best, at = cost, c
    return best + 0.01 * at


# music: tuning of partials, roughness of a chord after Sethares
@prog("music", lambda: (np.array([261.6, 329.0, 392.5]), 0.88, 3.5), (0, 1, 2))
def roughness_of_a_chord(roots, decay, sharpness):
    partials = [(f * (k + 1), decay**k) for f in roots for k in range(5)]
    total = 0.0
    for (f1, a1), (f2, a2) in itertools.combinations(sorted(partials, key=operator.itemgetter(0)), 2):
        s = 0.24 / (0.0207 * f1 + 18.96)
        d = s * (f2 - f1)
        total += min(a1, a2) * (math.exp(-sharpness * d) - math.exp(-5.75 * d))
    return total


# solid mechanics: return mapping of J2 plasticity along a strain path, with its consistent work
@dataclass(frozen=True)
class Plastic:
    strain: np.ndarray
    alpha: float


@prog("solid mechanics", lambda: (200.0, 0.3, 0.25, 10.0), (0, 1, 2, 3))
def plastic_work(E, nu, yield_stress, hardening):
    mu, bulk = E / (2 * (1 + nu)), E / (3 * (1 - 2 * nu))
    eye = np.eye(3)
    state = Plastic(np.zeros((3, 3)), 0.0)
    work, stress = 0.0, np.zeros((3, 3))
    previous = np.zeros((3, 3))
    for k in range(1, 25):
        g = 0.004 * math.sin(0.25 * k)
        strain = np.array([[0.0005 * k, g, 0.0], [g, -0.0002 * k, 0.0], [0.0, 0.0, 0.0]])
        elastic = strain - state.strain
        trial = 2 * mu * (elastic - np.trace(elastic) / 3 * eye)
        size = np.linalg.norm(trial)
        f = size - math.sqrt(2 / 3) * (yield_stress + hardening * state.alpha)
        if f > 0:
            gamma = f / (2 * mu + 2 / 3 * hardening)
            n = trial / size
            trial = trial - 2 * mu * gamma * n
            state = replace(state, strain=state.strain + gamma * n, alpha=state.alpha + math.sqrt(2 / 3) * gamma)
        stress = trial + bulk * np.trace(elastic) * eye
        work += np.tensordot(stress, strain - previous)
        previous = strain
    return work + state.alpha


# astronomy: light curve of an eclipsing binary with quadratic limb darkening
class Body(abc.ABC):
    def __init__(self, radius):
        self.radius = radius

    @abc.abstractmethod
    def brightness(self, mu): ...

    @property
    def area(self):
        return math.pi * self.radius**2


class Star(Body):
    def __init__(self, radius, u1, u2):
        super().__init__(radius)
        self.u1, self.u2 = u1, u2

    def brightness(self, mu):
        return 1 - self.u1 * (1 - mu) - self.u2 * (1 - mu) ** 2


class Planet(Body):
    def brightness(self, mu):
        return 0.0


@prog("astronomy", lambda: (0.11, np.array([0.4, 0.25]), 0.3), (0, 1, 2))
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


# economics: general equilibrium of an exchange economy by tatonnement, welfare of its people
@prog("economics", lambda: (np.array([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]]), np.array([0.6, 1.4, 0.9])), (0, 1))
def welfare_in_equilibrium(share, sigma):
    endowment = np.array([[1.0, 0.2], [0.1, 1.5], [0.7, 0.6]])
    price = np.array([1.0, 1.0])
    for _ in range(200):
        income = endowment @ price
        weight = share ** sigma[:, None] * price ** (1 - sigma[:, None])
        demand = income[:, None] * weight / price / weight.sum(axis=1, keepdims=True)
        excess = (demand - endowment).sum(axis=0)
        if not np.any(np.abs(excess) > 1e-11):
            break
        price = price + 0.3 * excess * price
        price = price / price[0]
    utility = ((share * demand ** ((sigma[:, None] - 1) / sigma[:, None])).sum(axis=1)) ** (sigma / (sigma - 1))
    return np.sum(np.log(utility)) + 0.1 * price[1]


# epidemiology: contact tracing on a network that grows, by levels from the first case
@prog("epidemiology", lambda: (np.array([0.3, 0.5, 0.2, 0.4, 0.6, 0.35]), 0.7), (0, 1))
def expected_cases(transmit, detect):
    contacts = {0: [1, 2], 1: [3, 4], 2: [4, 5], 3: [], 4: [5], 5: []}
    chance = {0: 1.0}
    frontier, seen, generation = [0], {0}, 0
    while frontier:
        following = []
        for person in frontier:
            for other in contacts[person]:
                p = chance[person] * transmit[other] * (1 - detect) ** generation
                chance[other] = 1 - (1 - chance.get(other, 0.0)) * (1 - p)
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        frontier, generation = following, generation + 1
    return sum(chance.values()) + chance[5] ** 2


# geodesy: an orbit's ground track on an ellipsoid, distances by Vincenty's formula
@prog("geodesy", lambda: (np.array([48.1, 11.6]), np.array([52.5, 13.4]), 6378.137, 298.257), (0, 1, 2, 3))
def distance_on_the_ellipsoid(here, there, a, inverse):
    f = 1 / inverse
    b = (1 - f) * a
    (phi1, lam1), (phi2, lam2) = np.deg2rad(here), np.deg2rad(there)
    U1, U2 = (math.atan((1 - f) * math.tan(phi)) for phi in (phi1, phi2))
    L = lam = lam2 - lam1
    for _ in range(50):
        sin_sigma = math.hypot(
            math.cos(U2) * math.sin(lam),
            math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * math.cos(lam),
        )
        cos_sigma = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * math.cos(lam)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(U1) * math.cos(U2) * math.sin(lam) / sin_sigma
        cos2 = 1 - sin_alpha**2
        mid = cos_sigma - 2 * math.sin(U1) * math.sin(U2) / cos2 if cos2 else 0.0
        C = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
        last, lam = (
            lam,
            L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (mid + C * cos_sigma * (-1 + 2 * mid**2))),
        )
        if abs(lam - last) < 1e-14:
            break
    else:
        raise ArithmeticError("nearly antipodal")
    u2 = cos2 * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    delta = B * sin_sigma * (mid + B / 4 * (cos_sigma * (-1 + 2 * mid**2)))
    return b * A * (sigma - delta)


# particle physics: a binned likelihood with nuisance parameters and a template that is morphed
@prog("particle physics", lambda: (1.2, np.array([0.3, -0.4]), np.array([12.0, 9.0, 7.5, 3.0])), (0, 1, 2))
def binned_likelihood(strength, nuisance, background):
    observed = np.array([15, 12, 7, 4])
    signal_ = OrderedDict(low=np.array([0.5, 1.5, 1.0, 0.2]), mid=np.array([0.6, 2.0, 0.9, 0.3]))
    signal_["high"] = signal_["mid"] * 1.1
    x = nuisance[0]
    match int(np.sign(x)):
        case 1:
            template = signal_["mid"] + x * (signal_["high"] - signal_["mid"])
        case -1:
            template = signal_["mid"] + x * (signal_["mid"] - signal_["low"])
        case _:
            template = signal_["mid"]
    scales = ChainMap({"norm": 0.05}, {"norm": 0.1, "shape": 0.02})
    expected = strength * template + background * (1 + scales["norm"]) ** nuisance[1]
    expected = expected * np.linspace(1 - scales["shape"], 1 + scales["shape"], 4)
    loglike = np.sum(special.xlogy(observed, expected) - expected - special.gammaln(observed + 1))
    return -loglike + 0.5 * np.dot(nuisance, nuisance)


# agronomy: soil water in layers, filled from the top, roots that take from the wettest
@prog("agronomy", lambda: (np.array([0.32, 0.30, 0.28]), np.array([30.0, 40.0, 60.0]), 0.75), (0, 1, 2))
def stress_of_a_crop(capacity, depth, coefficient):
    rain = [0, 12, 0, 0, 25, 3, 0, 0, 0, 0, 8, 0]
    water = 0.6 * capacity * depth
    days = stress = 0
    for day, mm in enumerate(rain):
        excess = float(mm)
        for k in range(len(depth)):
            water[k] += excess
            room = capacity[k] * depth[k]
            excess, water[k] = max(water[k] - room, 0.0), min(water[k], room)
        demand = coefficient * (4.0 + 2.0 * math.sin(0.5 * day))
        order = sorted(range(3), key=lambda k: -water[k] / depth[k])
        for k in order:
            taken = min(demand, 0.3 * water[k])
            water[k] -= taken
            demand -= taken
            if demand <= 0:
                break
        else:
            days += 1
            stress += demand**1.5
    return stress + 0.01 * water.sum() + 0.1 * days


# chemistry: equilibrium of a buffer by Newton's method on charges, activity after Davies
@prog("chemistry", lambda: (0.1, 0.05, 4.76, 0.509), (0, 1, 2, 3))
def ph_of_a_buffer(acid, base, pKa, A):
    Kw, Ka = 1e-14, 10.0**-pKa
    ionic = base
    for outer in range(8):
        root = math.sqrt(ionic)
        log_gamma = -A * (root / (1 + root) - 0.3 * ionic)
        K = Ka / 10 ** (2 * log_gamma)
        h = Ka

        def charge(h):
            return h + base - Kw / h - (acid + base) * K / (K + h)

        def slope(h):
            return 1 + Kw / h**2 + (acid + base) * K / (K + h) ** 2

        for _ in range(100):
            step = charge(h) / slope(h)
            new = h - step
            h = new if new > 0 else h / 2
            if abs(step) < 1e-16:
                break
        ionic = 0.5 * (h + base + Kw / h + (acid + base) * K / (K + h))
    return -math.log10(h) - log_gamma


# transport: shortest travel times with flows that congest, the method of successive averages
@prog("transport", lambda: (np.array([10.0, 6.0, 8.0, 12.0, 5.0]), np.array([4.0, 5.0, 3.0, 6.0, 2.0]), 9.0), (0, 1, 2))
def total_travel_time(capacity, free, demand):
    edges = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")]
    routes = [["s", "a", "t"], ["s", "b", "t"], ["s", "a", "b", "t"]]
    uses = [[edges.index(pair) for pair in zip(route, route[1:])] for route in routes]
    flow = np.zeros(len(edges))
    for k in range(1, 16):
        time = free * (1 + 0.15 * (flow / capacity) ** 4)
        costs = np.array([time[use].sum() for use in uses])
        choice = np.exp(-0.8 * (costs - costs.min()))
        choice /= choice.sum()
        loaded = np.zeros_like(flow)
        for use, share in zip(uses, choice):
            np.add.at(loaded, use, demand * share)
        flow += (loaded - flow) / k
    return flow @ (free * (1 + 0.15 * (flow / capacity) ** 4))


# signal processing: a matched filter and the Cramer-Rao bound of a chirp's parameters
@prog("signal processing", lambda: (0.05, 0.002, 0.3), (0, 1, 2))
def bound_of_a_chirp(f0, rate, phase):
    t = np.arange(64.0)
    window = signal.windows.hann(64)
    x = window * np.exp(2j * np.pi * (f0 * t + 0.5 * rate * t**2) + 1j * phase)
    columns = [2j * np.pi * t * x, 1j * np.pi * t**2 * x, 1j * x]
    fisher = np.array([[np.vdot(a, b).real for b in columns] for a in columns])
    bound = np.sqrt(np.diag(np.linalg.inv(fisher)))
    b, a = signal.butter(2, 0.2)
    filtered = signal.lfilter(b, a, x.real)
    spectrum = np.abs(np.fft.rfft(filtered * x.imag)) ** 2
    return np.log(bound).sum() + spectrum[:10].sum() / spectrum.sum()


# finance: a bond portfolio under a spline of zero rates, its convexity and worst of some scenarios
@prog("finance", lambda: (np.array([0.01, 0.015, 0.022, 0.03]), np.array([1.0, 0.6, 0.3])), (0, 1))
def worst_scenario(rates, holdings):
    knots = [0.5, 2.0, 5.0, 10.0]

    def rate(t, curve):
        k = min(max(bisect.bisect_right(knots, t) - 1, 0), len(knots) - 2)
        w = (t - knots[k]) / (knots[k + 1] - knots[k])
        return (1 - w) * curve[k] + w * curve[k + 1]

    def price(coupon, maturity, curve):
        times = np.arange(0.5, maturity + 0.25, 0.5)
        flows = np.full(len(times), coupon / 2)
        flows[-1] += 1.0
        return reduce(lambda total, tf: total + tf[1] * math.exp(-rate(tf[0], curve) * tf[0]), zip(times, flows), 0.0)

    bonds = [(0.02, 2), (0.03, 5), (0.04, 10)]
    base = sum(h * price(c, m, rates) for h, (c, m) in zip(holdings, bonds))
    shifts = {
        "parallel": np.full(4, 0.01),
        "steeper": np.linspace(-0.005, 0.01, 4),
        "flatter": np.linspace(0.01, -0.002, 4),
    }
    losses = {
        name: base - sum(h * price(c, m, rates + shift) for h, (c, m) in zip(holdings, bonds))
        for name, shift in shifts.items()
    }
    worst = max(losses, key=losses.get)
    return losses[worst] / base + (0.1 if worst == "parallel" else 0.2)
