"""Weather, climate and the chemistry of the atmosphere."""

import bisect
import itertools
import math
from enum import Enum
from typing import NamedTuple, Optional

import numpy as np
from numpy import exp, log
from scipy import linalg
from scipy.stats import t as student_t

from tests.field_programs import program, rng


# ---------------------------------------------------------------- parcel
class Phase(Enum):
    DRY = 0
    MOIST = 1


CP, RD, LV, G = 1004.0, 287.0, 2.5e6, 9.81


def es(T):
    return 611.2 * np.exp(17.67 * (T - 273.15) / (T - 29.65))


@program(
    "potential temperature, lapse-rate column with enum of phases",
    lambda: (np.array([300.0, 0.012]), np.linspace(1e5, 6e4, 9)),
)
def parcel(state, p):
    T, q = state
    phase = Phase.DRY
    cape = 0.0
    env = 300.0 * (p / p[0]) ** 0.2
    for k in range(len(p) - 1):
        dp = p[k + 1] - p[k]
        if phase is Phase.DRY and q > 0.622 * es(T) / p[k]:
            phase = Phase.MOIST
        rho = p[k] / (RD * T)
        if phase == Phase.DRY:
            dTdp = 1 / (rho * CP)
        else:
            w = 0.622 * es(T) / p[k]
            num = RD * T + LV * w
            den = CP + LV**2 * w * 0.622 / (RD * T**2)
            dTdp = num / den / p[k]
        T = T + dTdp * dp
        cape += max(0.0, (T - env[k + 1]) / env[k + 1]) * -dp / rho
    return cape + T


# ---------------------------------------------------------------- lifted_index
@program(
    "lifted parcel with bisect into a sounding",
    lambda: (np.array([298.0, 290.0, 278.0, 262.0, 240.0]), 300.0, 0.014),
    wrt=(0, 1),
)
def lifted_index(env, t0, mixing):
    levels = [1000.0, 900.0, 750.0, 550.0, 350.0]
    heights = [100.0 * k for k in range(0, 60, 3)]
    T, q, total = t0, mixing, 0.0
    for z in heights[1:]:
        p = 1000.0 * math.exp(-z / 8000.0)
        es = 6.112 * math.exp(17.67 * (T - 273.15) / (T - 29.65))
        qs = 0.622 * es / (p - es)
        lapse = (
            9.8e-3
            if q < qs
            else 9.8e-3 * (1 + 2.5e6 * qs / (287 * T)) / (1 + 2.5e6**2 * 0.622 * qs / (1005 * 287 * T**2))
        )
        T -= lapse * 300.0
        q = min(q, qs)
        k = bisect.bisect([-l for l in levels], -p)
        w = (levels[k - 1] - p) / (levels[k - 1] - levels[k])
        Te = (1 - w) * env[k - 1] + w * env[k]
        total += 9.81 * (T - Te) / Te * 300.0
    return total


# ---------------------------------------------------------------- cape_by_skew_t
@program(
    "skew-T parcel, CAPE; Brent-like iteration for wet bulb, np.select/piecewise",
    lambda: (np.array([302.0, 295, 285, 270, 250, 228]), 0.016),
)
def cape_by_skew_t(Tenv, r0):
    p = np.array([1000.0, 900, 750, 550, 380, 250])
    es = lambda T: 6.112 * np.exp(17.67 * (T - 273.15) / (T - 29.65))
    rs = lambda T, p: 0.622 * es(T) / (p - es(T))
    T = Tenv[0] + 0.5
    parcel = np.empty_like(Tenv)
    parcel[0] = T
    saturated = False
    for k in range(1, p.size):
        for _ in range(10):
            dp = (p[k] - p[k - 1]) / 10
            pm = p[k - 1] + dp * (_ + 0.5)
            if not saturated and rs(T, pm) < r0:
                saturated = True
            if saturated:
                L, r = 2.5e6, rs(T, pm)
                gamma = (287 * T + L * r) / (1004 + L**2 * r * 0.622 / (287 * T**2))
            else:
                gamma = 287 * T / 1004
            T += gamma * dp / pm
        parcel[k] = T
    buoy = np.piecewise(parcel - Tenv, [parcel > Tenv], [lambda d: d, lambda d: 0.1 * d])
    layer = np.select([p > 800, p > 400], [1.0, 0.9], default=0.5)
    return -287 * np.trapezoid(buoy * layer, np.log(p))


# ---------------------------------------------------------------- lifted_parcel
def bolton(T):
    return 6.112 * np.exp(17.67 * T / (T + 243.5))


def magnus(T):
    return 6.1094 * np.exp(17.625 * T / (T + 243.04))


SCHEMES = {"bolton": bolton, "magnus": magnus}


@program(
    "parcel ascent, lifted until it condenses, schemes of vapour pressure by name, sounding with missing levels",
    lambda: (np.array([25.0, 18.0, 9.0, -2.0, -15.0]), 18.0),
)
def lifted_parcel(environment, dewpoint):
    levels = [1000.0, 900.0, 800.0, 650.0, 500.0]
    sounding = {p: (t if p != 800.0 else None) for p, t in zip(levels, environment)}
    cape, base = 0.0, None
    T, Td = environment[0], dewpoint
    for upper, lower in zip(levels[1:], levels):
        scheme = SCHEMES["bolton" if upper > 700 else "magnus"]
        saturated = T <= Td
        rate = 0.286 * (T + 273.15) / lower
        if saturated:
            if base is None:
                base = lower
            w = 0.622 * scheme(T) / (lower - scheme(T))
            rate /= 1 + 4800.0 * w / (T + 273.15)
        T -= rate * (lower - upper)
        Td -= 0.02 * (lower - upper) if not saturated else rate * (lower - upper)
        observed = sounding[upper]
        if observed is None:
            continue
        buoyancy = (T - observed) / (observed + 273.15)
        cape += max(buoyancy, -0.01) * 287 * math.log(lower / upper)
    return cape + (0.0 if base is None else 0.001 * base) + T


# ---------------------------------------------------------------- cape
@program(
    "a parcel lifted along its adiabats, condensation level by bisection, available potential energy",
    lambda: (np.array([302.0, 16.0]), np.linspace(301.0, 225.0, 12)),
    wrt=(0, 1),
)
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


# ---------------------------------------------------------------- cape_of_a_profile
@program(
    "thermodynamic profile, moist adiabat; np.interp, searchsorted and any/all",
    lambda: (300.0, 0.012, np.linspace(298, 220, 12)),
    wrt=(0, 2),
)
def cape_of_a_profile(T0, q0, env):
    p = np.linspace(1000, 200, 12)
    Rd, cp, Lv, eps = 287.0, 1004.0, 2.5e6, 0.622

    def es(T):
        return 6.112 * exp(17.67 * (T - 273.15) / (T - 29.65))

    T, q, total = T0, q0, 0.0
    started = False
    for lev in range(1, len(p)):
        dlnp = log(p[lev - 1] / p[lev])
        qs = eps * es(T) / (p[lev] - es(T))
        if q < qs and not started:
            T = T * (p[lev] / p[lev - 1]) ** (Rd / cp)
        else:
            started = True
            gamma = (Rd * T / cp + Lv * qs / cp) / (1 + Lv**2 * qs * eps / (cp * Rd * T**2))
            T -= gamma * dlnp
        buoy = T - env[lev]
        if buoy > 0:
            total += Rd * buoy * dlnp
    return total


# ---------------------------------------------------------------- mean_temperature
def energy_balance(T, S, albedo_ice, A, B, D, x):
    """North-type diffusive energy balance, right hand side on a grid in sin(latitude)."""
    albedo = 0.3 + 0.5 * (albedo_ice - 0.3) * (1 - np.tanh((T + 10.0) / 4.0))
    dx = x[1] - x[0]
    xe = 0.5 * (x[1:] + x[:-1])
    flux = D * (1 - xe**2) * np.diff(T) / dx
    div = np.diff(np.pad(flux, 1)) / dx
    return S * (1 - 0.48 * 0.5 * (3 * x**2 - 1)) * (1 - albedo) - A - B * T + div


@program(
    "climate: North's energy balance model, mean temperature",
    lambda: (342.0, 0.62, 203.3, 2.09, 0.4),
    wrt=(0, 1, 2, 3, 4),
)
def mean_temperature(S, albedo_ice, A, B, D, n=14, dt=0.02, steps=40):
    x = np.linspace(-0.95, 0.95, n)
    T = 14.0 - 30.0 * x**2
    for _ in range(steps):
        T = T + dt * energy_balance(T, S, albedo_ice, A, B, D, x)
    return np.average(T, weights=np.sqrt(1 - x**2))


# ---------------------------------------------------------------- ebm_misfit
class Params(NamedTuple):
    lam: float
    cap: np.ndarray
    gamma: float


@program(
    "climate: two-box energy balance with named tuple params and optional volcanic forcing",
    lambda: (Params(1.1, np.array([8.0, 100.0]), 0.7), rng(1).normal(2, 0.5, 40), rng(2).normal(1, 0.3, 40)),
    wrt=(0, 1),
)
def ebm_misfit(p, forcing, obs, volcano: Optional[np.ndarray] = None):
    T = np.zeros(2)
    out = []
    for t, F in enumerate(forcing):
        if volcano is not None:
            F = F - volcano[t]
        flux = p.gamma * (T[0] - T[1])
        dT = np.array([F - p.lam * T[0] - flux, flux]) / p.cap
        T = T + dT
        out.append(T[0])
    r = np.asarray(out) - obs
    return float(r @ r) / len(obs)


# ---------------------------------------------------------------- ar_gappy
@program(
    "climate/stat: AR with missing values NaN masked",
    lambda: (np.array([0.5, 0.2, 0.1]), np.random.default_rng(5).normal(size=30)),
    wrt=(0, 1),
)
def ar_gappy(p, y):
    y = y.copy()
    y[[3, 7, 8, 20]] = np.nan
    c, phi, logsig = p
    ok = ~np.isnan(y)
    filled = np.where(ok, y, np.nanmean(y))
    pred = c + phi * filled[:-1]
    both = ok[1:] & ok[:-1]
    res = (y[1:] - pred)[both]
    n = np.count_nonzero(both)
    return 0.5 * np.sum(res**2) / np.exp(2 * logsig) + n * logsig + np.nanstd(y) + np.nansum(y[::3])


# ---------------------------------------------------------------- ebm
@program(
    "climate: energy balance with latitude bands and ice albedo tanh, history list of arrays",
    lambda: (np.array([203.3, 2.09, 3.8]), np.sin(np.linspace(-1.2, 1.2, 15))),
)
def ebm(par, x):
    A, B, D = par
    Q = 342 * (1 - 0.48 * (3 * x**2 - 1) / 2)
    T = 14.0 - 30 * x**2
    history = [T]
    for n in range(40):
        albedo = 0.45 - 0.15 * np.tanh((T + 10) / 5)
        dT = np.gradient(T, x)
        flux = D * (1 - x**2) * dT
        T = T + 0.01 * (Q * (1 - albedo) - A - B * T + np.gradient(flux, x))
        if n % 10 == 0:
            history.append(T)
    hist = np.array(history)
    return np.average(hist[-1], weights=np.ones(15)) + 0.1 * hist.std(axis=0).mean()


# ---------------------------------------------------------------- two_box
@program(
    "climate: two-box energy balance with forcing callable, singledispatch-ish, odeint",
    lambda: (np.array([1.1, 0.7, 8.0, 100.0]), np.linspace(0, 3.7, 50)),
    wrt=(0, 1),
)
def two_box(theta, forcing):
    lam, gamma, C, Cd = theta
    years = np.arange(forcing.size)

    def rhs(state, t):
        T, Td = state
        F = np.interp(t, years, forcing)
        return np.array([(F - lam * T - gamma * (T - Td)) / C, gamma * (T - Td) / Cd])

    state = np.zeros(2)
    out = np.empty((forcing.size, 2))
    for n, t in enumerate(years):
        out[n] = state
        mid = state + 0.5 * rhs(state, t)
        state = state + rhs(mid, t + 0.5)
    anomalies = out[:, 0] - out[:10, 0].mean()
    smooth = np.convolve(anomalies, np.ones(5) / 5, mode="valid")
    return smooth[-1] + np.ptp(out[:, 1]) + np.percentile(anomalies, 60)


# ---------------------------------------------------------------- chronology_logpost
def age_depth(sed_rate, depth_knots, depth):
    """Piecewise linear age-depth model from accumulation rates per segment (years per cm)."""
    thickness = np.diff(depth_knots)
    cum = np.concatenate([[0.0], np.cumsum(sed_rate * thickness)])
    return np.interp(depth, depth_knots, cum)


@program(
    "palaeoclimate: Student-t dates with gamma prior on the rates and an AR(1) memory term",
    lambda: (
        np.array([18.0, 22.0, 25.0, 19.0]),
        -60.0,
        0.4,
        np.array([0.0, 20.0, 45.0, 70.0, 100.0]),
        np.array([12.0, 33.0, 58.0, 88.0]),
        np.array([170.0, 600.0, 1150.0, 1900.0]),
        np.array([30.0, 35.0, 40.0, 60.0]),
    ),
    wrt=(0, 1, 2, 5),
)
def chronology_logpost(sed_rate, surface_age, memory, depth_knots, depth, dates, errors):
    """Student-t dates with gamma prior on the rates and an AR(1) memory term."""
    age = surface_age + age_depth(sed_rate, depth_knots, depth)
    z = (dates - age) / errors
    loglik = np.sum(student_t.logpdf(z, df=7) - np.log(errors))
    innov = (sed_rate[1:] - memory * sed_rate[:-1]) / (1 - memory)
    prior = np.sum(0.5 * np.log(innov) - 1.5 * innov / 20.0)
    return loglik + prior + 3 * np.log(memory) + 6 * np.log(1 - memory)


# ---------------------------------------------------------------- two_stream_olr
@program(
    "radiative transfer: grey-atmosphere outgoing longwave radiation, layer by layer from the ground",
    lambda: (np.linspace(2.0, 0.0, 11) ** 1.3, np.linspace(285.0, 215.0, 10), 288.0),
    wrt=(1, 2),
)
def two_stream_olr(tau_levels, T, Ts, sigma_sb=5.670374e-8):
    """Grey-atmosphere outgoing longwave radiation, layer by layer from the ground."""
    dtau = np.diff(tau_levels)
    trans = np.exp(-1.66 * np.abs(dtau))
    up = sigma_sb * Ts**4
    for tr, temp in zip(trans, T):
        up = up * tr + (1.0 - tr) * sigma_sb * temp**4
    return up


# ---------------------------------------------------------------- box_model_ozone_ppb
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


@program(
    "atmospheric chemistry: a NOx/HOx/ozone box model from reaction strings, ROS2 "
    "(Rosenbrock) steps through an afternoon",
    lambda: (np.array([40.0, 5.0, 10.0, 150.0, 2.0]), 2.0e6, 295.0),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- fourdvar
def l96(x, F):
    return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + F


@program("4D-Var of Lorenz 96", lambda: (rng(8).normal(size=12) + 4, rng(9).normal(size=(5, 12)) + 4, 8.0), wrt=(0, 2))
def fourdvar(x0, obs, F):
    x, cost, dt = x0, 0.0, 0.02
    for k in range(5):
        for _ in range(4):
            k1 = l96(x, F)
            k2 = l96(x + dt / 2 * k1, F)
            k3 = l96(x + dt / 2 * k2, F)
            k4 = l96(x + dt * k3, F)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        cost += 0.5 * np.sum((x[::2] - obs[k, ::2]) ** 2)
    return cost + 0.05 * np.sum((x0 - 4) ** 2)
