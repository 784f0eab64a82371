"""Thermodynamics, phase equilibria, reactors and processes."""

import math
import statistics
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import reduce
from typing import Dict, NamedTuple

import numpy as np
from scipy import integrate, interpolate, optimize
from scipy.optimize import brentq

from tests.field_programs import program


# ---------------------------------------------------------------- compression_work
def vdw_pressure(T, V, a, b, R=0.083145):
    return R * T / (V - b) - a / V**2


def molar_volume(T, P, a, b, V, tol=1e-13):
    """Newton from the ideal-gas volume."""
    R = 0.083145
    for _ in range(60):
        f = vdw_pressure(T, V, a, b) - P
        df = -R * T / (V - b) ** 2 + 2 * a / V**3
        step = f / df
        V = V - step
        if abs(step) < tol * abs(V):
            break
    return V


@program(
    "thermodynamics: isothermal work between two pressures of a van der Waals gas",
    lambda: (320.0, 1.0, 25.0, 3.64, 0.0427),
    wrt=(0, 1, 2, 3, 4),
)
def compression_work(T, P1, P2, a, b):
    """Isothermal work between two pressures of a van der Waals gas."""
    R = 0.083145
    V1 = molar_volume(T, P1, a, b, R * T / P1)
    V2 = molar_volume(T, P2, a, b, R * T / P2)
    return -R * T * np.log((V2 - b) / (V1 - b)) - a * (1 / V2 - 1 / V1)


# ---------------------------------------------------------------- flash
class Component(NamedTuple):
    tc: float
    pc: float
    omega: float

    def wilson(self, T, P):
        return self.pc / P * np.exp(5.373 * (1 + self.omega) * (1 - self.tc / T))


@program(
    "thermodynamics: Rachford-Rice by Newton inside, NamedTuple of components",
    lambda: (np.array([0.5, 0.3, 0.2]), 310.0, 2.0e6),
    wrt=(0, 1, 2),
)
def flash(z, T, P):
    comps = [Component(190.6, 4.6e6, 0.011), Component(369.8, 4.25e6, 0.152), Component(507.6, 3.03e6, 0.301)]
    K = np.array([c.wilson(T, P) for c in comps])
    V = 0.5
    for _ in range(20):
        den = 1 + V * (K - 1)
        f = np.sum(z * (K - 1) / den)
        df = -np.sum(z * (K - 1) ** 2 / den**2)
        V -= f / df
        if abs(f) < 1e-13:
            break
    x = z / (1 + V * (K - 1))
    y = K * x
    return V + np.dot(y, np.log(y)) - x @ np.log(x)


# ---------------------------------------------------------------- pr_flash
@dataclass
class Compound:
    name: str
    Tc: float
    Pc: float
    omega: float
    kappa: float = field(init=False)

    def __post_init__(self):
        self.kappa = 0.37464 + 1.54226 * self.omega - 0.26992 * self.omega**2

    def alpha(self, T):
        return (1 + self.kappa * (1 - np.sqrt(T / self.Tc))) ** 2


def cubic_roots(c2, c1, c0):
    q = (3 * c1 - c2**2) / 9
    r = (9 * c2 * c1 - 27 * c0 - 2 * c2**3) / 54
    disc = q**3 + r**2
    if disc > 0:
        s = np.cbrt(r + np.sqrt(disc))
        t = np.cbrt(r - np.sqrt(disc))
        return [s + t - c2 / 3]
    th = np.arccos(r / np.sqrt(-(q**3)))
    return sorted(2 * np.sqrt(-q) * np.cos((th + 2 * np.pi * k) / 3) - c2 / 3 for k in range(3))


@program(
    "thermodynamics: Peng-Robinson flash with Rachford-Rice, roots of a cubic",
    lambda: (320.0, 1.1e6, np.array([0.6, 0.4])),
    wrt=(0, 1, 2),
)
def pr_flash(T, P, z):
    R = 8.314462618
    comps = [Compound("propane", 369.83, 4.248e6, 0.152), Compound("butane", 425.12, 3.796e6, 0.2)]
    a = np.array([0.45724 * (R * c.Tc) ** 2 / c.Pc * c.alpha(T) for c in comps])
    b = np.array([0.0778 * R * c.Tc / c.Pc for c in comps])
    kij = np.array([[0, 0.01], [0.01, 0]])
    aij = np.sqrt(np.outer(a, a)) * (1 - kij)

    def lnphi(x, phase):
        am = x @ aij @ x
        bm = x @ b
        A, B = am * P / (R * T) ** 2, bm * P / (R * T)
        Z = cubic_roots(B - 1, A - 3 * B**2 - 2 * B, -(A * B - B**2 - B**3))
        Z = Z[0] if phase == "liquid" else Z[-1]
        s2 = math.sqrt(2)
        return (
            b / bm * (Z - 1)
            - np.log(Z - B)
            - A / (2 * s2 * B) * (2 * (aij @ x) / am - b / bm) * np.log((Z + (1 + s2) * B) / (Z + (1 - s2) * B))
        )

    K = np.array([c.Pc / P * np.exp(5.373 * (1 + c.omega) * (1 - c.Tc / T)) for c in comps])
    for _ in range(25):
        lo, hi = 0.0, 1.0
        V = 0.5
        for _ in range(40):
            f = np.sum(z * (K - 1) / (1 + V * (K - 1)))
            df = -np.sum(z * (K - 1) ** 2 / (1 + V * (K - 1)) ** 2)
            V = V - f / df
            V = min(max(V, lo), hi)
        x = z / (1 + V * (K - 1))
        y = K * x
        x, y = x / x.sum(), y / y.sum()
        K = np.exp(lnphi(x, "liquid") - lnphi(y, phase="vapour"))
    return np.log(K) @ z + lnphi(z, "liquid")[0]


# ---------------------------------------------------------------- isotherm
class NoRoot(ArithmeticError):
    pass


class VanDerWaals:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def pressure(self, v, T):
        return T / (v - self.b) - self.a / v**2


class RedlichKwong(VanDerWaals):
    def pressure(self, v, T):
        return T / (v - self.b) - self.a / (math.sqrt(T) * v * (v + self.b))


def volume(eos, p, T, guess):
    v = guess
    for _ in range(50):
        h = 1e-5 * v
        slope = (eos.pressure(v + h, T) - eos.pressure(v - h, T)) / (2 * h)
        if slope >= 0:
            raise NoRoot("unstable")
        new = v - (eos.pressure(v, T) - p) / slope
        if new <= eos.b:
            new = 0.5 * (v + eos.b)
        if abs(new - v) < 1e-13 * v:
            return new
        v = new
    raise NoRoot("no convergence")


@program(
    "thermodynamics: cubic equations of state as classes, root choice, error where there is none",
    lambda: (1.0, 0.2, 0.9),
    wrt=(0, 1, 2),
)
def isotherm(a, b, T):
    models = {"vdw": VanDerWaals(a, b), "rk": RedlichKwong(a, b)}
    work = 0.0
    for name, eos in models.items():
        for p in (0.3, 0.6, 2.0):
            try:
                v = volume(eos, p, T, 3.0)
            except NoRoot:
                try:
                    v = volume(eos, p, T, 1.2 * eos.b)
                except NoRoot:
                    v = 1.0
            work += p * v * (2 if name == "rk" else 1)
    return work


# ---------------------------------------------------------------- vle_objective
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


@program(
    "sum of squared errors of vapour composition and boiling point",
    lambda: (0.18, 0.9, 760.0, [0.1, 0.3, 0.5, 0.8], [0.44, 0.57, 0.65, 0.81], [86.5, 81.7, 79.8, 78.4]),
    wrt=(0, 1, 2),
)
def vle_objective(lam12, lam21, P, x_data, y_data, T_data):
    """Sum of squared errors of vapour composition and boiling point."""
    obj = 0.0
    for x, y, Tobs in zip(x_data, y_data, T_data):
        T, y_calc = bubble_temperature(x, P, (lam12, lam21))
        obj += 100 * (y_calc - y) ** 2 + (T - Tobs) ** 2
    return obj


# ---------------------------------------------------------------- reactor_train
class Reaction:
    def __init__(self, equation: str, k: float, Ea: float):
        lhs, rhs = equation.split("->")
        self.reactants = [s.strip() for s in lhs.split("+")]
        self.products = [s.strip() for s in rhs.split("+")]
        self.k, self.Ea = k, Ea

    def rate(self, conc: Dict[str, float], T: float) -> float:
        r = self.k * math.exp(-self.Ea / 8.314 * (1 / T - 1 / 350))
        for s in self.reactants:
            r *= conc[s]
        return r


@program(
    "CSTR train and plug flow with named reactions parsed from strings", lambda: ([0.8, 0.3, 0.05], 360.0), wrt=(0, 1)
)
def reactor_train(ks, T):
    reactions = [Reaction(eq, k, Ea) for eq, k, Ea in zip(("A + B -> C", "C -> D", "D + B -> E"), ks, (5e4, 6e4, 4e4))]
    species = sorted({s for r in reactions for s in r.reactants + r.products})
    conc = dict.fromkeys(species, 0.0)
    conc.update(A=1.0, B=1.2)
    dt = 0.05
    for _ in range(40):
        change = {s: 0.0 for s in species}
        for rxn in reactions:
            r = rxn.rate(conc, T)
            for s in rxn.reactants:
                change[s] -= r
            for s in rxn.products:
                change[s] += r
        conc = {s: max(c + dt * change[s], 0.0) for s, c in conc.items()}
    selectivity = conc["C"] / (conc["D"] + conc["E"] + 1e-9)
    return math.log(selectivity) + conc["A"]


# ---------------------------------------------------------------- vapour_fraction
class Mix(NamedTuple):
    tau: np.ndarray
    alpha: np.ndarray


@program(
    "an isothermal flash of a mixture with NRTL activities, by Rachford and Rice",
    lambda: (np.array([[0.0, 1.35, 0.6], [0.35, 0.0, 0.2], [0.4, 0.9, 0.0]]), 356.0, np.array([0.3, 0.5, 0.2])),
    wrt=(0, 1, 2),
)
def vapour_fraction(tau, T, z):
    mix = Mix(tau, np.full((3, 3), 0.3))
    antoine = np.array([[8.2, 1640.0, 233.4], [8.07, 1730.6, 233.4], [7.6, 1385.0, 224.0]])
    psat = 10.0 ** (antoine[:, 0] - antoine[:, 1] / (T - 273.15 + antoine[:, 2])) / 760.0

    def gammas(x, mix):
        G = np.exp(-mix.alpha * mix.tau)
        below = x @ G
        above = x @ (mix.tau * G)
        second = (x / below) * G @ np.eye(3)
        return np.exp(above / below + ((mix.tau - above / below) * second).sum(axis=1))

    x, V = z.copy(), 0.5
    for _ in range(40):
        K = gammas(x, mix) * psat
        for _ in range(8):
            d = 1.0 + V * (K - 1.0)
            f = np.sum(z * (K - 1.0) / d)
            V = np.clip(V + f / np.sum(z * (K - 1.0) ** 2 / d**2), 0.01, 0.99)
        x = z / (1.0 + V * (K - 1.0))
        x /= x.sum()
    y = K * x
    return V + 0.3 * np.log(y / x) @ np.arange(3)


# ---------------------------------------------------------------- fug_column_trays
Species = namedtuple("Species", "name a b c viscosity")


BTEX = (
    Species("benzene", 6.90565, 1211.033, 220.790, 0.26),
    Species("toluene", 6.95464, 1344.800, 219.482, 0.25),
    Species("ethylbenzene", 6.95719, 1424.255, 213.206, 0.27),
    Species("o-xylene", 6.99891, 1474.679, 213.686, 0.29),
)


def saturation(t):
    return np.array([10 ** (s.a - s.b / (t + s.c)) for s in BTEX])


def bubble_point(x, pressure):
    try:
        t = brentq(lambda t: x @ saturation(t) / pressure - 1.0, 20.0, 260.0, xtol=1e-13, rtol=1e-14)
    except ValueError as err:
        raise ValueError(f"no bubble point at {pressure:.0f} mmHg for x={np.round(x, 3)}") from err
    else:
        return t


@program(
    "distillation columns: the Fenske-Underwood-Gilliland short cut of a BTEX column, real trays below the feed",
    lambda: (np.array([40.0, 30.0, 18.0, 12.0]), 900.0, np.array([0.985, 0.97]), 0.8, 1.3),
    wrt=(0, 1, 2, 3, 4),
)
def fug_column_trays(feed, pressure, recoveries, q, reflux_factor, lk=0, hk=1):
    z = feed / feed.sum()
    rec_lk, rec_hk = recoveries
    to_top = np.where(np.arange(len(BTEX)) <= lk, rec_lk, 0.0)
    to_top[hk] = 1 - rec_hk
    n_min = 0.0
    for _ in range(80):
        d, b = feed * to_top, feed * (1 - to_top)
        t_top, t_bottom = bubble_point(d / d.sum(), pressure), bubble_point(b / b.sum(), pressure)
        ends = [saturation(t) / saturation(t)[hk] for t in (t_top, t_bottom)]
        alpha = np.sqrt(ends[0] * ends[1])
        previous = n_min
        n_min = math.log(rec_lk / (1 - rec_lk) * rec_hk / (1 - rec_hk)) / math.log(alpha[lk])
        split = alpha**n_min * (1 - rec_hk) / rec_hk
        to_top = split / (1 + split)
        if abs(n_min - previous) < 1e-12:
            break
    else:
        raise RuntimeError(f"Fenske split did not settle: {n_min:.6f} after {previous:.6f}")

    # Underwood: the root between the keys
    theta = brentq(
        lambda th: np.sum(alpha * z / (alpha - th)) - (1 - q), 1 + 1e-8, alpha[lk] - 1e-8, xtol=1e-14, rtol=1e-14
    )
    r_min = np.sum(alpha * (d / d.sum()) / (alpha - theta)) - 1
    reflux = reflux_factor * r_min

    def gilliland(x):
        return 1 - math.exp((1 + 54.4 * x) / (11 + 117.2 * x) * (x - 1) / math.sqrt(x))

    y = gilliland((reflux - r_min) / (reflux + 1))
    stages = (n_min + y) / (1 - y)
    mu = sum(zi * s.viscosity for zi, s in zip(z, BTEX))
    o_connell = 0.492 * (mu * alpha[lk]) ** -0.245
    x_lk_bottom, x_hk_top = b[lk] / b.sum(), d[hk] / d.sum()
    kirkbride = (b.sum() / d.sum() * z[hk] / z[lk] * (x_lk_bottom / x_hk_top) ** 2) ** 0.206
    return float(stages / o_connell / (1 + kirkbride))


# ---------------------------------------------------------------- stirred_reactor
@program(
    "combustion: a perfectly stirred reactor's temperature, found by bracketing, and its slope over residence times",
    lambda: (np.array([2.0e8, 15000.0]), 0.85, np.array([0.004, 0.02])),
    wrt=(0, 1, 2),
)
def stirred_reactor(arrhenius, phi, residence):
    a, ta = arrhenius
    t_in, q, cp = 600.0, 2.6e6, 1350.0
    grid = np.array([600.0, 1000.0, 1400.0, 1800.0, 2200.0, 2600.0])
    heat = interpolate.CubicSpline(grid, cp * (1.0 + 0.05 * ((grid - 600.0) / 1000.0) ** 1.5))

    def balance(t, tau):
        fuel = phi * 0.06
        rate = a * np.exp(-ta / t)
        burnt = rate * tau / (1.0 + rate * tau)
        return fuel * q * burnt * 10.0 - heat(t) * (t - t_in)

    found = [optimize.brentq(balance, 1200.0, 2599.0, args=(tau,)) for tau in residence]
    mean, _ = integrate.quad(lambda tau: a * np.exp(-ta / found[0]) * tau, 0.0, residence[-1])
    return np.dot(found, [1.0, -0.5]) / 1000.0 + 1e-4 * mean


# ---------------------------------------------------------------- helmholtz
@program(
    "Helmholtz free energy as in Griewank",
    lambda: (np.array([0.11, 0.25, 0.08, 0.3]), np.array([0.2, 0.4, 0.1, 0.3])),
    wrt=(0, 1),
)
def helmholtz(x, b):
    n = len(x)
    A = np.fromfunction(lambda i, j: 1.0 / (i + j + 1), (n, n))
    bx = b @ x
    speel = reduce(lambda acc, xi: acc * (1 + xi), x, 1.0)
    energy = 0.0826 * 300 * sum(xi * math.log(xi / (1 - bx)) for xi in x)
    quad = x @ A @ x / (math.sqrt(8) * bx)
    return energy - quad * math.log((1 + (1 + math.sqrt(2)) * bx) / (1 + (1 - math.sqrt(2)) * bx)) + speel


# ---------------------------------------------------------------- cup
@program(
    "tea and coffee: extraction from particles of many sizes, strength and balance of a cup poured in stages",
    lambda: (0.021, np.array([45.0, 90.0, 100.0]), 93.0),
    wrt=(0, 1, 2),
    refused="_normal_dist_inv_cdf",
)
def cup(grind, pours, temperature):
    sizes = statistics.NormalDist(0.0, 0.35)
    classes = [math.exp(sizes.inv_cdf((k + 0.5) / 5)) for k in range(5)]
    k0 = grind * math.exp(-1800 * (1 / (temperature + 273.15) - 1 / 366.15))
    inside = {"acids": [0.07] * 5, "sugars": [0.12] * 5, "bitters": [0.09] * 5}
    speed = {"acids": 2.2, "sugars": 1.0, "bitters": 0.45}
    cup_of, water = defaultdict(float), 0.0
    for pour in pours:
        water += pour
        for _ in range(15):
            for what, content in inside.items():
                for k, size in enumerate(classes):
                    out = content[k] * min(1.0, k0 * speed[what] * 2.0 / size**2)
                    content[k] -= out
                    cup_of[what] += 16.0 * out / 5
    strength = sum(cup_of.values()) / water * 100
    balance = cup_of["sugars"] / (cup_of["acids"] + cup_of["bitters"])
    return strength * 2 + balance - 0.3 * abs(strength - 1.3)


# ---------------------------------------------------------------- roast_development_ratio
CK_A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [3 / 10, -9 / 10, 6 / 5],
    [-11 / 54, 5 / 2, -70 / 27, 35 / 27],
    [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
]


CK_B5 = [37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771]


CK_B4 = [2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4]


@program(
    "coffee roasting: Schwartzberg's drum model with moisture and exotherm, "
    "Cash-Karp steps, the development time ratio",
    lambda: (195.0, np.array([0.95, 0.8, 0.62, 0.45]), 0.12, 0.105),
    wrt=(0, 1, 2, 3),
    refused="a list of items of different kinds",
)
def roast_development_ratio(charge_temp, gas, batch_kg, moisture0):
    first_crack_C, drop_C = 196.0, 214.0
    events = {}
    n_rejected = 0

    def rates(s, burner):
        bean, air, water, heat = s
        kelvin = bean + 273.15
        drying = 4.32e9 * water**2 / 5.5**2 * math.exp(-9889.0 / kelvin)
        exotherm = 116.2 * math.exp(-5500.0 / kelvin) * (232.0 - heat) / 232.0
        cp = 1.099 + 0.007 * bean / 10 + 5.0 * water
        d_bean = (0.00045 / batch_kg * (air - bean) + 0.5 * exotherm - 2.79e3 * drying / (1 + water) * 0.3) / cp
        d_air = (charge_temp * 0.4 + 430.0 * burner - air) / 45.0 - 0.0022 / batch_kg * (air - bean) * 0.05
        return [d_bean, d_air, -drying, exotherm]

    def step(s, h, burner):
        k = []
        for row in CK_A:
            stage = [si + h * sum(a * kj[i] for a, kj in zip(row, k, strict=True)) for i, si in enumerate(s)]
            k.append(rates(stage, burner))
        combine = lambda b: [si + h * sum(bj * kj[i] for bj, kj in zip(b, k, strict=True)) for i, si in enumerate(s)]
        return combine(CK_B5), combine(CK_B4)

    def advance(t, s, t_end, burner):
        nonlocal n_rejected
        h = 2.0
        while t < t_end:
            h = min(h, t_end - t)
            new, low = step(s, h, burner)
            err = max(abs(a - b) / (1e-11 + 1e-11 * abs(a)) for a, b in zip(new, low, strict=True)) + 1e-12
            if err > 1:
                n_rejected += 1
                h *= max(0.2, 0.9 * err**-0.25)
                continue
            for name, mark in (("FC", first_crack_C), ("drop", drop_C)):
                if name in events or not s[0] < mark <= new[0]:
                    continue
                part = h * (mark - s[0]) / (new[0] - s[0])
                for _ in range(8):
                    there = step(s, part, burner)[0]
                    part -= (there[0] - mark) / rates(there, burner)[0]
                events[name] = (t + part, step(s, part, burner)[0][2])
            if "drop" in events:
                return t, new
            t, s = t + h, new
            h *= min(4.0, 0.9 * err**-0.2)
        return t_end, s

    t, s = 0.0, [25.0, charge_temp, moisture0, 0.0]
    for i, burner in enumerate(gas):
        t, s = advance(t, s, 120.0 * (i + 1) if i < 3 else 1500.0, burner)
        if "drop" in events:
            break
    if "drop" not in events:
        return -s[0] / 100  # stalled roast
    t_fc, t_drop = events["FC"][0], events["drop"][0]
    return 100 * (t_drop - t_fc) / t_drop + 1e3 * events["drop"][1] + 1e-3 * t_drop
