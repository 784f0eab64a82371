import functools
import itertools
import math
import operator
from abc import ABC, abstractmethod
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, special, stats
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from tests.field_programs import collection

PROGRAMS, prog = collection()


# battery electrochemistry: the single particle model of an NMC/graphite cell (Chen 2020), mean voltage of a pulse test
FARADAY, GAS_CONSTANT = 96485.33212, 8.314462618


@dataclass
class Electrode:
    radius: float
    diffusivity: float
    c_max: float
    stoichiometry: float
    loading: float  # active surface per unit of cell area
    rate: float
    sign: int  # +1: lithium leaves on discharge
    ocp: Callable
    shells: int = 8
    faces: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        self.faces = np.linspace(0.0, self.radius, self.shells + 1)
        self.width = self.radius / self.shells

    @property
    def initial(self):
        return np.full(self.shells, self.stoichiometry * self.c_max)

    def flux(self, current_density):
        return self.sign * current_density / (FARADAY * self.loading)

    def rhs(self, c, current_density):
        inner = -self.diffusivity * np.diff(c) / self.width
        n = np.concatenate(([0.0], inner, [self.flux(current_density)]))
        return -np.diff(n * self.faces**2) / (np.diff(self.faces**3) / 3)

    def potential(self, c, current_density, temperature):
        j = self.flux(current_density)
        surface = c[-1] - j * self.width / (2 * self.diffusivity)
        arrhenius = np.exp(3.5e4 / GAS_CONSTANT * (1 / 298.15 - 1 / temperature))
        exchange = self.rate * arrhenius * np.sqrt(1000.0 * surface * (self.c_max - surface))
        eta = 2 * GAS_CONSTANT * temperature / FARADAY * np.arcsinh(FARADAY * j / (2 * exchange))
        return self.ocp(surface / self.c_max) + eta


def graphite_ocp(x):
    steps = [(0.0909, 29.8538, 0.1234), (0.04478, 14.9159, 0.2769), (0.0205, 30.4444, 0.6103)]
    return 1.9793 * np.exp(-39.3631 * x) + 0.2482 - sum(a * np.tanh(b * (x - x0)) for a, b, x0 in steps)


def nmc_ocp(x):
    out = -0.8090 * x + 4.4875 - 0.0428 * np.tanh(18.5138 * (x - 0.5542))
    return out - 17.7326 * np.tanh(15.7890 * (x - 0.3117)) + 17.5842 * np.tanh(15.9308 * (x - 0.3120))


@prog("battery", lambda: (5.0, np.array([3.3e-14, 4.0e-15]), 303.15, 0.012), (0, 1, 2, 3))
def spm_pulse_voltage(current, diffusivity, temperature, r_contact, area=0.1027):
    neg = Electrode(5.86e-6, diffusivity[0], 33133.0, 0.9014, 32.7, 6.48e-7, +1, graphite_ocp)
    pos = Electrode(5.22e-6, diffusivity[1], 63104.0, 0.27, 28.9, 3.42e-6, -1, nmc_ocp)
    state, energy, clock = np.concatenate([neg.initial, pos.initial]), 0.0, 0.0
    for duration, c_rate in [(120.0, 1.0), (60.0, 0.0), (90.0, 0.5)]:
        density = c_rate * current / area

        def rhs(_, y, density=density):
            return np.concatenate([neg.rhs(y[: neg.shells], density), pos.rhs(y[neg.shells :], density)])

        grid = np.linspace(0.0, duration, 7)
        sol = solve_ivp(rhs, (0.0, duration), state, t_eval=grid, rtol=1e-10, atol=1e-8)
        if not sol.success:
            raise RuntimeError(f"integration failed at t={clock + sol.t[-1]:.1f} s: {sol.message}")
        split = (np.split(y, [neg.shells]) for y in sol.y.T)
        volts = [pos.potential(p, density, temperature) - neg.potential(n, density, temperature) for n, p in split]
        energy += np.trapezoid(np.array(volts) - c_rate * current * r_contact, grid)
        state, clock = sol.y[:, -1], clock + duration
    return float(energy / clock)


# sports rankings: Glicko-2 over a season of rating periods, the log loss on the matches of the last round
SCALE = 173.7178


class GlickoPlayer:
    def __init__(self, rating=1500.0, rd=350.0, vol=0.06):
        self.mu, self.phi, self.vol = (rating - 1500.0) / SCALE, rd / SCALE, vol

    @property
    def g(self):
        return 1.0 / math.sqrt(1.0 + 3.0 * self.phi**2 / math.pi**2)

    def expect(self, other):
        return 1.0 / (1.0 + math.exp(-other.g * (self.mu - other.mu)))

    def _new_volatility(self, delta, v, tau, eps=1e-13):
        a = math.log(self.vol**2)

        def f(x):
            ex = math.exp(x)
            d = self.phi**2 + v + ex
            return ex * (delta**2 - d) / (2.0 * d**2) - (x - a) / tau**2

        A, k = a, 1
        if delta**2 > self.phi**2 + v:
            B = math.log(delta**2 - self.phi**2 - v)
        else:
            while f(a - k * tau) < 0:
                k += 1
            B = a - k * tau
        fA, fB = f(A), f(B)
        while abs(B - A) > eps and fB != 0.0:
            C = A + (A - B) * fA / (fB - fA)
            fC = f(C)
            if fC * fB <= 0:
                A, fA = B, fB
            else:
                fA /= 2.0
            B, fB = C, fC
        return math.exp(B / 2.0)

    def updated(self, results, tau):
        v = 1.0 / sum(o.g**2 * (e := self.expect(o)) * (1.0 - e) for o, _ in results)
        gain = sum(o.g * (s - self.expect(o)) for o, s in results)
        vol = self._new_volatility(v * gain, v, tau)
        phi = 1.0 / math.sqrt(1.0 / (self.phi**2 + vol**2) + 1.0 / v)
        return self.mu + phi**2 * gain, phi, vol


SEASON = ["ARS 1 BHA, ARS 0 CHE, DUN 0.5 CHE", "BHA 1 CHE, ARS 0 DUN", "CHE 0 ARS, BHA 0.5 DUN, ARS 1 DUN, BHA 1 CHE"]


@prog(
    "rankings", lambda: (np.array([1500.0, 1420.0, 1710.0, 1610.0]), np.array([60.0, 45.0, 40.0, 50.0]), 0.8), (0, 1, 2)
)
def glicko_holdout_logloss(ratings, deviations, tau, vol=0.25):
    table = {n: GlickoPlayer(r, rd, vol) for n, r, rd in zip(("ARS", "BHA", "CHE", "DUN"), ratings, deviations)}
    for period in SEASON:
        games = defaultdict(list)
        for home, score, away in map(str.split, period.split(",")):
            games[home].append((table[away], float(score)))
            games[away].append((table[home], 1.0 - float(score)))
        # everybody's update uses the ratings before the period
        fresh = {name: p.updated(games[name], tau) for name, p in table.items()}
        for name, state in fresh.items():
            vars(table[name]).update(zip(("mu", "phi", "vol"), state))
    loss = 0.0
    for a, b, won in [("ARS", "CHE", 0), ("BHA", "DUN", 1), ("CHE", "DUN", 1)]:
        one, two = table[a], table[b]
        both = 1.0 / math.sqrt(1.0 + 3.0 * (one.phi**2 + two.phi**2) / math.pi**2)
        prob = 1.0 / (1.0 + math.exp(-both * (one.mu - two.mu)))
        loss -= math.log(prob if won else 1.0 - prob)
    return loss


# distillation columns: the Fenske-Underwood-Gilliland short cut of a BTEX column, real trays below the feed
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


@prog(
    "distillation",
    lambda: (np.array([40.0, 30.0, 18.0, 12.0]), 900.0, np.array([0.985, 0.97]), 0.8, 1.3),
    (0, 1, 2, 3, 4),
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


# cosmology distances: supernova distance moduli in a curved CPL cosmology, chi squared with correlated errors
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


@prog("cosmology", lambda: (68.5, 0.29, 0.015, np.array([-0.92, 0.2])), (0, 1, 2, 3))
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


# atmospheric chemistry: a NOx/HOx/ozone box model from reaction strings, ROS2 (Rosenbrock) steps through an afternoon
MECHANISM = """
NO2 + hv -> NO + O3           | J 8.9e-3
O3 + hv -> 2 OH               | J 4.0e-6
HCHO + hv -> CO + 2 HO2       | J 3.0e-5
NO + O3 -> NO2                | ARR 3.0e-12 1500
HO2 + NO -> OH + NO2          | ARR 3.3e-12 -270
OH + CO -> HO2                | ARR 2.4e-13 0
OH + HCHO -> CO + HO2         | ARR 5.5e-12 -125
OH + NO2 -> HNO3              | TROE 1.8e-30 3.0 2.8e-11
"""


def parse_reaction(line):
    def species(side):
        for term in side.split(" + "):
            match term.split():
                case [count, name]:
                    yield from [name] * int(count)
                case [name] if name != "hv":
                    yield name

    equation, law = line.split("|")
    lhs, rhs = (list(species(side)) for side in equation.split("->"))
    return lhs, rhs, [float(w) if w[0].isdigit() or w[0] == "-" else w for w in law.split()]


class BoxModel:
    def __init__(self, text, temperature, air):
        self.temperature, self.air = temperature, air
        left, right, self.laws = zip(*map(parse_reaction, text.strip().splitlines()))
        self.species = sorted(set(itertools.chain(*left, *right)))
        self.reactants = [[self.species.index(s) for s in lhs] for lhs in left]
        self.stoich = np.array([[r.count(s) - l.count(s) for l, r in zip(left, right)] for s in self.species], float)

    def constant(self, law, sun):
        match law:
            case ["J", j]:
                return j * sun
            case ["ARR", a, ea]:
                return a * math.exp(-ea / self.temperature)
            case ["TROE", k0, n, kinf]:
                low = k0 * self.air * (self.temperature / 300) ** -n
                return low / (1 + low / kinf) * 0.6 ** (1 / (1 + math.log10(low / kinf) ** 2))

    def tendency(self, c, k):
        return self.stoich @ [ki * np.prod(c[idx]) for ki, idx in zip(k, self.reactants)]

    def jacobian(self, c, k):
        dr = np.zeros(self.stoich.T.shape)
        for r, idx in enumerate(self.reactants):
            for pos, i in enumerate(idx):
                dr[r, i] += k[r] * np.prod(c[idx[:pos] + idx[pos + 1 :]])
        return self.stoich @ dr


@prog("atmos_chemistry", lambda: (np.array([40.0, 5.0, 10.0, 150.0, 2.0]), 2.0e6, 295.0), (0, 1, 2))
def box_model_ozone_ppb(initial_ppb, no_emission, temperature, steps=30, h=300.0):
    air = 101325.0 / (1.380649e-23 * temperature) * 1e-6
    box = BoxModel(MECHANISM, temperature, air)
    c, source = np.zeros((2, len(box.species)))
    c[[box.species.index(s) for s in ("O3", "NO", "NO2", "CO", "HCHO")]] = initial_ppb * 1e-9 * air
    source[box.species.index("NO")] = no_emission
    for n in range(steps):
        sun = max(0.0, math.cos(math.pi * (n + 0.5) * h / 3600 / 14.0))
        k = [box.constant(law, sun) for law in box.laws]
        lu = linalg.lu_factor(np.eye(c.size) - (1 + math.sqrt(0.5)) * h * box.jacobian(c, k))
        k1 = linalg.lu_solve(lu, box.tendency(c, k) + source)
        k2 = linalg.lu_solve(lu, box.tendency(c + h * k1, k) + source - 2 * k1)
        c = c + 1.5 * h * k1 + 0.5 * h * k2
    return float(c[box.species.index("O3")] / air * 1e9)


# freight logistics: the pollution-routing problem, the cheapest order of the drops with fuel that depends on the load
class Drop(NamedTuple):
    name: str
    x: float
    y: float
    due: float = math.inf
    demand: float = 0.0


DEPOT = Drop("depot", 0.0, 0.0)
CUSTOMERS = (
    Drop("Almere", 21.0, 9.0, 3.0),
    Drop("Breda", -14.0, -78.0, 4.5),
    Drop("Delft", -44.0, -38.0, 1.2),
    Drop("Ede", 48.0, -31.0, 2.5),
    Drop("Gouda", -18.0, -36.0, 2.0),
)


@prog("freight", lambda: (np.array([3.1, 4.4, 2.2, 1.7, 3.9]), 68.0, np.array([1.72, 33.0]), 0.4), (0, 1, 2, 3))
def pollution_routing_cost(demand_t, speed, prices, service_h):
    diesel, wage = prices
    drops = [drop._replace(demand=w) for drop, w in zip(CUSTOMERS, demand_t)]

    def fuel_litres(km, load_t, curb_t=7.5, drag_area=5.2, rolling=0.0085):
        v = speed / 3.6
        force = (curb_t + load_t) * 1e3 * 9.81 * rolling + 0.5 * 1.2 * drag_area * v**2
        engine = 0.2 * 33.0 * 5.0 * (km / speed) * 3600 / 44000 / 0.737 * 0.18
        return engine + force * km * 1e3 / 0.36 / 36.5e6

    def route_cost(order):
        legs = list(itertools.pairwise([DEPOT, *order, DEPOT]))
        km = [1.22 * math.hypot(b.x - a.x, b.y - a.y) for a, b in legs]
        total = sum(d.demand for d in order)
        aboard = itertools.accumulate((d.demand for d in order), operator.sub, initial=total)
        litres = sum(itertools.starmap(fuel_litres, zip(km, aboard)))
        arrivals = itertools.accumulate(km, lambda t, leg: t + leg / speed + service_h, initial=-service_h)
        _, *times = arrivals
        lateness = sum(max(0.0, t - d.due) ** 1.5 for t, d in zip(times, order))
        return diesel * litres + wage * times[-1] + 45.0 * lateness

    costs = sorted(map(route_cost, itertools.permutations(drops)))
    best, runner_up = costs[:2]
    return float(best + 0.1 * (runner_up - best))


# copulas: a mixture of Archimedean and Gaussian copulas that share Kendall's tau, log likelihood with Student margins
class BivariateCopula:
    registry: dict = {}

    def __init_subclass__(cls, /, key, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[key] = cls

    def __init__(self, theta):
        self.theta = theta

    @classmethod
    def from_tau(cls, tau):
        return cls(cls.theta_of(tau))

    def __call__(self, u, v):
        return np.exp(self.logpdf(u, v))


class Clayton(BivariateCopula, key="clayton"):
    @staticmethod
    def theta_of(tau):
        return 2 * tau / (1 - tau)

    def logpdf(self, u, v):
        t = self.theta
        return np.log1p(t) - (1 + t) * np.log(u * v) - (2 + 1 / t) * np.log(u**-t + v**-t - 1)


class Gumbel(BivariateCopula, key="gumbel"):
    @staticmethod
    def theta_of(tau):
        return 1 / (1 - tau)

    def logpdf(self, u, v):
        t, x, y = self.theta, -np.log(u), -np.log(v)
        s = (x**t + y**t) ** (1 / t)
        return -s + x + y + (t - 1) * np.log(x * y) + (1 - 2 * t) * np.log(s) + np.log(s + t - 1)


class Frank(BivariateCopula, key="frank"):
    @staticmethod
    def theta_of(tau):
        def debye(t):
            return quad(lambda x: x / np.expm1(x) if x else 1.0, 0, t, epsabs=1e-13, epsrel=1e-13)[0] / t

        return brentq(lambda t: 1 - 4 / t * (1 - debye(t)) - tau, 1e-2, 60.0, xtol=1e-13, rtol=1e-14)

    def logpdf(self, u, v):
        t = self.theta
        bottom = -np.expm1(-t) - np.expm1(-t * u) * np.expm1(-t * v)
        return np.log(t * -np.expm1(-t)) - t * (u + v) - 2 * np.log(bottom)


class Gaussian(BivariateCopula, key="gaussian"):
    @staticmethod
    def theta_of(tau):
        return np.sin(np.pi / 2 * tau)

    def logpdf(self, u, v):
        r, (x, y) = self.theta, special.ndtri([u, v])
        return -0.5 * np.log1p(-(r**2)) - (r**2 * (x**2 + y**2) - 2 * r * x * y) / (2 * (1 - r**2))


@prog("copulas", lambda: (0.42, np.array([0.3, -0.2, 0.5, 0.1]), np.array([[0.1, 1.2], [-0.2, 0.8]])), (0, 1, 2))
def copula_mixture_loglik(tau, logits, margins):
    rng = np.random.default_rng(11)
    shock = rng.standard_t(6, size=(40, 1))
    data = 0.7 * shock + 0.6 * rng.standard_normal((40, 2))
    weights = special.softmax(logits)
    loc, scale = margins[:, 0], margins[:, 1]
    standardised = (data - loc) / scale
    marginal = (stats.t.logpdf(standardised, df=6) - np.log(scale)).sum()
    u, v = stats.t.cdf(standardised, df=6).T
    families = [BivariateCopula.registry[k].from_tau(tau) for k in ("clayton", "gumbel", "frank", "gaussian")]
    density = sum(w * c(u, v) for w, c in zip(weights, families))
    return float(marginal + np.log(density).sum())


# cloth simulation: XPBD on a hanging banner in the wind that drapes over a ball, potential plus kinetic energy
class Node:
    __slots__ = ("inv_mass", "pos", "prev", "vel")

    def __init__(self, pos, inv_mass):
        self.pos, self.prev = np.array(pos, dtype=float), np.array(pos, dtype=float)
        self.vel, self.inv_mass = np.zeros(3), inv_mass


class DistanceConstraint:
    def __init__(self, a, b, compliance):
        self.a, self.b, self.compliance = a, b, compliance
        self.rest = np.linalg.norm(a.pos - b.pos)

    def solve(self, dt):
        if (w := self.a.inv_mass + self.b.inv_mass) == 0.0:
            return
        along = self.a.pos - self.b.pos
        length = np.linalg.norm(along)
        lam = -(length - self.rest) / (w + self.compliance / dt**2)
        self.a.pos += self.a.inv_mass * lam / length * along
        self.b.pos -= self.b.inv_mass * lam / length * along


class Cloth:
    gravity = np.array([0.0, -9.81, 0.0])

    def __init__(self, n, spacing, mass, stretch, shear):
        self.grid = [[Node((c * spacing, 0.02 * r * c, r * spacing), n**2 / mass) for c in range(n)] for r in range(n)]
        self.grid[0][0].inv_mass = self.grid[0][-1].inv_mass = 0.0
        self.nodes = sum(self.grid, [])
        self.constraints = []
        for r, c in itertools.product(range(n), repeat=2):
            for dr, dc, soft in ((0, 1, stretch), (1, 0, stretch), (1, 1, shear), (1, -1, shear)):
                if r + dr < n and 0 <= c + dc < n:
                    self.constraints.append(DistanceConstraint(self.grid[r][c], self.grid[r + dr][c + dc], soft))

    def faces(self):
        for upper, lower in itertools.pairwise(self.grid):
            for a, b, c, d in zip(upper, upper[1:], lower, lower[1:]):
                yield from ((a, b, c), (b, d, c))

    def step(self, dt, wind, damping, centre, radius):
        for tri in self.faces():
            p, q, r = (n.pos for n in tri)
            normal = np.cross(q - p, r - p)
            push = normal * (normal @ (wind - sum(n.vel for n in tri) / 3)) / np.linalg.norm(normal)
            for n in tri:
                n.vel += dt * n.inv_mass * 0.2 * push
        for n in self.nodes:
            n.prev = n.pos.copy()
            if n.inv_mass:
                n.vel += dt * self.gravity
                n.pos += dt * n.vel
        for con in self.constraints:
            con.solve(dt)
        for n in self.nodes:
            if (dist := np.linalg.norm(n.pos - centre)) < radius:
                n.pos = centre + (n.pos - centre) * (radius / dist)
            n.vel = (n.pos - n.prev) / dt * math.exp(-damping * dt)


@prog("cloth", lambda: (np.array([1.5, 0.2, -2.5]), 2e-4, 0.35, 0.8), (0, 1, 2, 3))
def banner_xpbd_energy(wind, compliance, mass, damping):
    banner = Cloth(4, 0.25, mass, compliance, 3 * compliance)
    for _ in range(24):
        banner.step(1 / 60, wind, damping, centre=np.array([0.4, -0.35, 0.5]), radius=0.25)
    kinetic = sum(0.5 * (n.vel @ n.vel) / n.inv_mass for n in banner.nodes if n.inv_mass)
    potential = sum(-(banner.gravity @ n.pos) / n.inv_mass for n in banner.nodes if n.inv_mass)
    return float(kinetic + potential)


# colour science: paints under a black-body lamp, spectra to XYZ to adapted Lab, the mean CIEDE2000 to the print targets
def _lobe(wl, mean, left, right):
    return np.exp(-0.5 * ((wl - mean) / np.where(wl < mean, left, right)) ** 2)


def wyman_cmfs(wl):
    x = (
        1.056 * _lobe(wl, 599.8, 37.9, 31.0)
        + 0.362 * _lobe(wl, 442.0, 16.0, 26.7)
        - 0.065 * _lobe(wl, 501.1, 20.4, 26.2)
    )
    y = 0.821 * _lobe(wl, 568.8, 46.9, 40.5) + 0.286 * _lobe(wl, 530.9, 16.3, 31.1)
    z = 1.217 * _lobe(wl, 437.0, 11.8, 36.0) + 0.681 * _lobe(wl, 459.0, 26.0, 13.8)
    return np.stack([x, y, z])


def planck(wl, kelvin):
    return (560.0 / wl) ** 5 * np.expm1(1.4388e7 / (560.0 * kelvin)) / np.expm1(1.4388e7 / (wl * kelvin))


D65_WHITE = np.array([0.95047, 1.0, 1.08883])
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def adapt(xyz, source_white, target_white=D65_WHITE):
    gain = (BRADFORD @ target_white) / (BRADFORD @ source_white)
    return np.einsum("ij,j,jk,...k->...i", np.linalg.inv(BRADFORD), gain, BRADFORD, xyz)


def xyz_to_lab(xyz, white=D65_WHITE):
    t = xyz / white
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def delta_e_2000(lab1, lab2, kL=1.0, kC=1.0, kH=1.0):
    (L1, a1, b1), (L2, a2, b2) = np.moveaxis(lab1, -1, 0), np.moveaxis(lab2, -1, 0)
    c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 1 + 0.5 * (1 - np.sqrt(c7 / (c7 + 25.0**7)))
    C1, C2 = np.hypot(g * a1, b1), np.hypot(g * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dh = (h2 - h1 + 180) % 360 - 180
    h_bar = np.where(np.abs(h1 - h2) > 180, (h1 + h2 + 360) / 2, (h1 + h2) / 2) % 360
    L_bar, C_bar = (L1 + L2) / 2, (C1 + C2) / 2
    waves = [(-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63)]
    T = 1 + sum(amp * np.cos(np.radians(n * h_bar + shift)) for amp, n, shift in waves)
    S_L = 1 + 0.015 * (L_bar - 50) ** 2 / np.sqrt(20 + (L_bar - 50) ** 2)
    S_C, S_H = 1 + 0.045 * C_bar, 1 + 0.015 * C_bar * T
    R_T = -2 * np.sqrt(C_bar**7 / (C_bar**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h_bar - 275) / 25) ** 2))))
    l_term, c_term = (L2 - L1) / (kL * S_L), (C2 - C1) / (kC * S_C)
    h_term = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(dh) / 2) / (kH * S_H)
    return np.sqrt(l_term**2 + c_term**2 + h_term**2 + R_T * c_term * h_term)


@prog("colour", lambda: (np.array([[0.1, 0.2, 0.5, 0.4, 0.2], [0.05, 0.1, 0.2, 0.6, 0.7]]), 3100.0, 1.5), (0, 1, 2))
def paint_delta_e_under_lamp(knots, kelvin, lightness_weight):
    wl = np.arange(400.0, 701.0, 10.0)
    reflectance = np.array([np.interp(wl, np.linspace(400, 700, row.size), row) for row in knots])
    weights = wyman_cmfs(wl) * planck(wl, kelvin)
    weights = weights / weights[1].sum()
    pipeline = [lambda s: s @ weights.T, functools.partial(adapt, source_white=weights.sum(axis=1)), xyz_to_lab]
    lab = functools.reduce(lambda value, stage: stage(value), pipeline, reflectance)
    targets = np.array([[68.0, -22.0, 30.0], [55.0, 30.0, 35.0]])
    return float(delta_e_2000(lab, targets, kL=lightness_weight).mean())


# piano string physics: a felt hammer strikes a stiff lossy string (modes as complex phasors), the centroid of its sound
@dataclass
class PianoString:
    length: float
    tension: float
    diameter: float
    young: float = 2.0e11
    density: float = 7850.0
    modes: int = 24
    b1: float = 0.6
    b3: float = 2.5e-9

    @property
    def linear_density(self) -> float:
        return self.density * math.pi * self.diameter**2 / 4

    @property
    def inharmonicity(self) -> float:
        return math.pi**3 * self.young * self.diameter**4 / (64 * self.tension * self.length**2)

    def poles(self) -> np.ndarray:
        n = np.arange(1, self.modes + 1)
        f0 = math.sqrt(self.tension / self.linear_density) / (2 * self.length)
        omega = 2 * np.pi * n * f0 * np.sqrt(1 + self.inharmonicity * n**2)
        return -(self.b1 + self.b3 * omega**2) + 1j * omega

    def shape(self, where: float) -> np.ndarray:
        return np.sin(np.pi * np.arange(1, self.modes + 1) * where)


def felt_hammer(mass: float, velocity: float, stiffness: float, exponent: float, dt: float) -> Iterator[float]:
    """Coroutine: send it the string's displacement, it yields the contact force."""
    position, force = 0.0, 0.0
    while True:
        string = yield force
        squeeze = position - string
        force = stiffness * squeeze**exponent if squeeze > 0 else 0.0
        velocity -= dt * force / mass
        position += dt * velocity


@prog("piano_string", lambda: (670.0, np.array([4.2e9, 2.5]), 2.1, 0.12), (0, 1, 2, 3))
def hammered_string_centroid(tension, felt, velocity, strike_point):
    fs = 96_000.0
    string = PianoString(length=0.62, tension=tension, diameter=1.0e-3)
    poles = string.poles()
    advance = np.exp(poles / fs)
    shape = string.shape(strike_point)
    modal_mass = string.linear_density * string.length / 2
    kick = shape / (modal_mass * poles.imag) / fs

    hammer = felt_hammer(2.9e-3, velocity, felt[0], felt[1], 1 / fs)
    next(hammer)
    phasors = np.zeros(string.modes, dtype=complex)
    for _ in range(420):
        force = hammer.send(shape @ phasors.imag)
        phasors = advance * (phasors + kick * force)

    t = np.arange(512) / 16_000.0
    bridge = (string.tension * np.pi / string.length * np.arange(1, string.modes + 1)) * (-1.0) ** np.arange(
        string.modes
    )
    audible = np.abs(poles.imag) < 2 * np.pi * 7_500
    sound = ((bridge * phasors)[audible, None] * np.exp(np.outer(poles[audible], t))).sum(axis=0).imag
    power = np.abs(np.fft.rfft(sound * np.hanning(t.size))) ** 2
    return float((np.fft.rfftfreq(t.size, 1 / 16_000.0) * power).sum() / power.sum())


# auction theory: log-normal private values, Myerson's reserve, revenue of three formats with CRRA bidders
class AuctionFormat(Enum):
    FIRST_PRICE = auto()
    SECOND_PRICE = auto()
    ALL_PAY = auto()


@dataclass
class PrivateValues:
    mu: float
    sigma: float
    bidders: int
    seller_value: float

    def _score(self, v):
        return (np.log(v) - self.mu) / self.sigma

    def cdf(self, v):
        return special.ndtr(self._score(v))

    def pdf(self, v):
        return np.exp(-0.5 * self._score(v) ** 2) / (v * self.sigma * math.sqrt(2 * math.pi))

    def virtual(self, v):
        return v - special.ndtr(-self._score(v)) / self.pdf(v)

    @functools.cached_property
    def top(self):
        return math.exp(self.mu + 7.0 * self.sigma)

    @functools.cached_property
    def reserve(self):
        gap = lambda v: self.virtual(v) - self.seller_value  # noqa: E731
        return optimize.brentq(gap, self.seller_value + 1e-9, self.top, xtol=1e-14, rtol=1e-14)

    @functools.cached_property
    def nodes(self):
        # the values above the reserve, on a log scale
        x, w = np.polynomial.legendre.leggauss(48)
        low, high = math.log(self.reserve), math.log(self.top)
        v = np.exp(low + (high - low) * (x + 1) / 2)
        return v, w * v * (high - low) / 2

    def bid(self, v, exponent):
        x, w = np.polynomial.legendre.leggauss(24)
        s = self.reserve + (v[:, None] - self.reserve) * (x + 1) / 2
        won = (self.cdf(s) / self.cdf(v)[:, None]) ** exponent
        return v - (won @ w) * (v - self.reserve) / 2

    def revenue(self, fmt: AuctionFormat, rho=0.0):
        v, w = self.nodes
        n = self.bidders
        win = self.cdf(v) ** (n - 1)
        match fmt:
            case AuctionFormat.FIRST_PRICE:
                payment = self.bid(v, (n - 1) / (1 - rho)) * win
            case AuctionFormat.ALL_PAY:
                payment = self.bid(v, n - 1) * win
            case AuctionFormat.SECOND_PRICE:
                payment = np.maximum(self.virtual(v), 0.0) * win
        kept = self.seller_value * self.cdf(self.reserve) ** n
        return kept + n * np.sum(w * payment * self.pdf(v))


@prog("auctions", lambda: (0.4, 0.6, 0.9, 0.35, 4), (0, 1, 2, 3))
def crra_auction_revenue(mu, sigma, seller_value, risk_aversion, bidders):
    market = PrivateValues(mu, sigma, bidders, seller_value)
    table = {fmt: market.revenue(fmt, rho=risk_aversion) for fmt in AuctionFormat}
    premium = table[AuctionFormat.FIRST_PRICE] - table[AuctionFormat.SECOND_PRICE]
    shaded = market.bid(np.array([2.0, 3.0]) * market.reserve, (bidders - 1) / (1 - risk_aversion))
    return float(table[AuctionFormat.ALL_PAY] + 2 * premium + 0.05 * shaded.mean() + 0.1 * market.reserve)


# music tuning temperament: fractional-comma meantone on twelve keys, Sethares' roughness of the triads, key by key
SYNTONIC = Fraction(81, 80)
JUST = {"third": Fraction(5, 4), "fifth": Fraction(3, 2)}
NAMES = "Eb Bb F C G D A E B F# C# G#".split()


def chain_of_fifths(fifth, start=-3):
    """Pitch ratios to C from Eb to G#, folded into one octave."""

    def fold(ratio):
        while ratio >= 2:
            ratio /= 2
        while ratio < 1:
            ratio *= 2
        return ratio

    return {name: fold(fifth**k) for k, name in enumerate(NAMES, start)}


def timbre(partials, rolloff, stretch):
    series = [(k**stretch, rolloff ** (k - 1)) for k in range(1, partials + 1)]

    def sounding(freq):
        yield from ((freq * ratio, amp) for ratio, amp in series)

    return sounding


def roughness(chord, sounding):
    spectrum = sorted((p for f in chord for p in sounding(f)), key=lambda p: p[0])
    total = 0.0
    for (f1, a1), (f2, a2) in itertools.combinations(spectrum, 2):
        s = 0.24 / (0.0207 * f1 + 18.96) * (f2 - f1)
        total += min(a1, a2) * (math.exp(-3.51 * s) - math.exp(-5.75 * s))
    return total


def cents(ratio):
    return 1200 * math.log2(ratio)


@prog("temperament", lambda: (0.2317, 261.6, {"rolloff": 0.83, "stretch": 1.0012}), (0, 1, 2))
def meantone_key_tension(comma_fraction, middle_c, tone):
    scale = chain_of_fifths(JUST["fifth"] / SYNTONIC**comma_fraction)
    sounding = timbre(5, **tone)
    tension, wolves = {}, []
    for i, key in enumerate(NAMES):
        root, third, fifth = (scale[NAMES[(i + step) % 12]] for step in (0, 4, 1))
        third, fifth = (r if r > root else 2 * r for r in (third, fifth))
        errors = [cents(got / root) - cents(JUST[k]) for k, got in (("third", third), ("fifth", fifth))]
        tension[key] = roughness([middle_c * r for r in (root, third, fifth)], sounding)
        if max(map(abs, errors)) > 15:
            wolves.append((key, math.hypot(*errors)))
    usage = {key: math.exp(-abs(i - 4.5) / 2.5) for i, key in enumerate(NAMES)}
    played = sum(usage[k] * tension[k] for k in tension) / sum(usage.values())
    return played + 0.001 * sum(howl for _, howl in wolves)
