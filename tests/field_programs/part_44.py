import enum
import itertools
import math
from collections import namedtuple
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse, special
from scipy.integrate import simpson
from scipy.interpolate import CubicSpline, RectBivariateSpline
from scipy.sparse.linalg import spsolve
from scipy.spatial.transform import Rotation

from tests.field_programs import collection

PROGRAMS, prog = collection()


# market making: the quotes of Gueant, Lehalle and Fernandez-Tapia, and the law of the inventory under them
@dataclass(frozen=True)
class OrderFlow:
    arrival: float
    decay: float

    def intensity(self, depth):
        return self.arrival * np.exp(-self.decay * depth)


def glft_generator(flow, sigma, gamma, levels):
    ratio = 1 + gamma / flow.decay
    eta = flow.arrival * ratio ** -(1 + flow.decay / gamma)
    alpha = 0.5 * flow.decay * gamma * sigma**2
    n = len(levels)
    return np.diag(-alpha * levels**2) + eta * (np.eye(n, k=1) + np.eye(n, k=-1))


@prog("market_making", lambda: (0.3, 0.05, np.array([0.9, 1.5])), (0, 1, 2))
def quoting_utility(sigma, gamma, book, max_inventory=4, horizon=20.0, n_steps=80):
    flow = OrderFlow(*book)
    q = np.arange(-max_inventory, max_inventory + 1, dtype=float)
    dt = horizon / n_steps
    propagator = linalg.expm(glft_generator(flow, sigma, gamma, q) * dt)

    # backwards in time: the value function, and with it the depth of both quotes at each inventory
    base = np.log1p(gamma / flow.decay) / gamma
    value = np.ones_like(q)
    policy = []
    for _ in range(n_steps):
        value = propagator @ value
        log_v = np.log(value) / flow.decay
        bid = np.full_like(q, np.inf)
        ask = np.full_like(q, np.inf)
        bid[:-1] = base - np.diff(log_v)
        ask[1:] = base + np.diff(log_v)
        policy.append((bid, ask))

    # forwards: the probability of each inventory, and what the spread earns
    p = np.where(q == 0, 1.0, 0.0)
    revenue = 0.0
    variance = 0.0
    for bid, ask in reversed(policy):
        buys, sells = p * flow.intensity(bid), p * flow.intensity(ask)
        finite = np.isfinite(bid)
        revenue += dt * (buys[finite] @ bid[finite] + sells[1:] @ ask[1:])
        variance += dt * sigma**2 * (p @ q**2)
        p = p - dt * (buys + sells)
        p[1:] += dt * buys[:-1]
        p[:-1] += dt * sells[1:]
    assert abs(p.sum() - 1) < 1e-9, f"probability leaks: {p.sum()}"
    return revenue - 0.5 * gamma * variance


# traffic flow: the second-order macroscopic model METANET of a motorway with a ramp metered by ALINEA
class MotorwayStretch:
    TAU, NU, KAPPA, DELTA = 18 / 3600, 60.0, 40.0, 0.0122
    JAM, LANES, LENGTH, DT = 180.0, 2, 0.5, 10 / 3600

    def __init__(self, free_speed, critical, exponent, density, merge=4):
        self.vf, self.rho_c, self.a = free_speed, critical, exponent
        self.rho = density.copy()
        self.v = self.desired(self.rho)
        self.merge = merge
        self.queue = {"mainline": 0.0, "ramp": 0.0}
        self.rate = 1200.0

    def desired(self, rho):
        return self.vf * np.exp(-((rho / self.rho_c) ** self.a) / self.a)

    def _discharge(self, origin, demand, limit):
        flow = min(demand + self.queue[origin] / self.DT, limit)
        self.queue[origin] += self.DT * (demand - flow)
        return flow

    def step(self, main_demand, ramp_demand, target):
        dt, length, lanes = self.DT, self.LENGTH, self.LANES
        self.rate = min(max(self.rate + 70.0 * (target - self.rho[self.merge]), 240.0), 1800.0)
        room = min(1.0, (self.JAM - self.rho[self.merge]) / (self.JAM - self.rho_c))
        ramp = self._discharge("ramp", ramp_demand, min(self.rate, 2000.0 * room))
        inflow = self._discharge("mainline", main_demand, 4000.0)

        q = self.rho * self.v * lanes
        upstream_v = np.concatenate(([self.v[0]], self.v[:-1]))
        downstream_rho = np.append(self.rho[1:], min(self.rho[-1], self.rho_c))
        relaxation = (self.desired(self.rho) - self.v) * dt / self.TAU
        convection = self.v * (upstream_v - self.v) * dt / length
        anticipation = self.NU * dt / (self.TAU * length) * (downstream_rho - self.rho) / (self.rho + self.KAPPA)
        dv = relaxation + convection - anticipation
        dv[self.merge] -= self.DELTA * dt * ramp * self.v[self.merge] / (length * lanes * (self.rho[self.merge] + 40))

        net = np.r_[inflow, q[:-1]] - q
        net[self.merge] += ramp
        self.rho += dt / (length * lanes) * net
        self.v = np.maximum(self.v + dv, 5.0)
        return dt * (self.rho.sum() * length * lanes + sum(self.queue.values()))


@prog(
    "traffic_flow",
    lambda: (np.array([24.0, 25.5, 23.0, 26.0, 28.0, 27.0, 25.0, 22.0]), 108.0, 33.5, 1.87, 31.0),
    (0, 1, 2, 3, 4),
)
def total_time_spent(density, free_speed, critical, exponent, target, n_steps=150):
    road = MotorwayStretch(free_speed, critical, exponent, density)
    clock = (k * MotorwayStretch.DT for k in range(n_steps))
    demands = ((3100 + 700 * math.sin(9 * t), 500 + 900 * math.exp(-(((t - 0.15) / 0.08) ** 2))) for t in clock)
    return sum(road.step(main, ramp, target) for main, ramp in demands)


# sailing polar diagrams: the time around a course in a shifting wind and a current, by the best angles to the wind
TWA_TABLE = np.array([32.0, 40.0, 52.0, 75.0, 90.0, 110.0, 135.0, 150.0, 180.0])
TWS_TABLE = np.array([6.0, 10.0, 14.0, 20.0])


def _example_polar():
    twa = np.radians(TWA_TABLE)[:, None]
    shape = (
        np.sin(0.5 * twa) ** 0.9 * (1.25 - 0.42 * (twa / np.pi) ** 3) * (1 - 0.5 * np.exp(-(((twa - 0.3) / 0.3) ** 2)))
    )
    return 8.6 * shape * np.tanh(TWS_TABLE / 9.5)


def best_vmg_angle(polar, tws, bracket, sign):
    """The angle, in degrees, at which the speed made good to windward (sign 1) or to leeward (-1) is stationary."""

    def slope(twa):
        a = math.radians(twa)
        speed, gradient = polar.ev(twa, tws), polar.ev(twa, tws, dx=1)
        return sign * (gradient * math.cos(a) - speed * math.sin(a) * math.pi / 180)

    return optimize.brentq(slope, *bracket, xtol=1e-13, rtol=1e-14)


def hours_of_leg(polar, bearing, distance, twd, tws, current):
    heading = np.array([math.sin(bearing), math.cos(bearing)])
    wind_from = np.array([math.sin(twd), math.cos(twd)])
    over_water = -tws * wind_from - current
    speed_of_wind = np.linalg.norm(over_water)
    upwind_dir = -over_water / speed_of_wind
    up = best_vmg_angle(polar, speed_of_wind, (33.0, 75.0), 1)
    down = best_vmg_angle(polar, speed_of_wind, (115.0, 179.0), -1)

    hours = distance / 6.0
    for _ in range(200):
        through_water = distance * heading - hours * current
        run = np.linalg.norm(through_water)
        twa = math.degrees(math.acos(np.clip(through_water @ upwind_dir / run, -1, 1)))
        match twa:
            case a if a < up:
                made_good = polar.ev(up, speed_of_wind) * math.cos(math.radians(up))
                new = run * math.cos(math.radians(a)) / made_good
            case a if a > down:
                made_good = polar.ev(down, speed_of_wind) * math.cos(math.radians(down))
                new = run * math.cos(math.radians(a)) / made_good
            case a:
                new = run / polar.ev(a, speed_of_wind)
        if abs(new - hours) < 1e-14:
            break
        hours = float(new)
    return hours


@prog("sailing_polar", lambda: (_example_polar(), 11.3, 0.35, np.array([0.6, -0.35])), (0, 1, 2, 3))
def elapsed_time_of_race(table, tws, twd, current):
    polar = RectBivariateSpline(TWA_TABLE, TWS_TABLE, table, kx=3, ky=3)
    course = [(20.0, 2.1), (115.0, 1.4), (197.0, 2.3), (285.0, 1.2)]
    elapsed = 0.0
    for bearing, miles in course:
        veer = math.radians(8.0) * elapsed
        elapsed += hours_of_leg(polar, math.radians(bearing), miles, twd + veer, tws - 0.5 * elapsed, current)
    return elapsed * 60


# option volatility surfaces: FX smiles from the quotes by delta, a digital with its skew and a variance swap
Smile = namedtuple("Smile", "expiry forward vol_of_k")
Quote = namedtuple("Quote", ["atm", "rr25", "bf25", "rr10", "bf10"])


def build_smile(expiry, forward, quote):
    wing = lambda phi, rr, bf: quote.atm + bf + 0.5 * phi * rr
    pillars = {
        ("put", 0.10): wing(-1, quote.rr10, quote.bf10),
        ("put", 0.25): wing(-1, quote.rr25, quote.bf25),
        ("call", 0.25): wing(1, quote.rr25, quote.bf25),
        ("call", 0.10): wing(1, quote.rr10, quote.bf10),
    }
    points = [(0.5 * quote.atm**2 * expiry, quote.atm)]
    for (kind, delta), vol in pillars.items():
        phi = 1 if kind == "call" else -1
        width = vol * np.sqrt(expiry)
        points.append((-phi * special.ndtri(delta) * width + 0.5 * width**2, vol))
    k, vols = map(np.array, zip(*sorted(points), strict=True))
    spline = CubicSpline(k, vols, bc_type="natural")
    return Smile(expiry, forward, lambda x, lo=k[0], hi=k[-1]: spline(np.clip(x, lo, hi)))


def surface_vol(smiles, k, t):
    for near, far in itertools.pairwise(smiles):
        if near.expiry <= t <= far.expiry:
            w = (t - near.expiry) / (far.expiry - near.expiry)
            total = (1 - w) * near.vol_of_k(k) ** 2 * near.expiry + w * far.vol_of_k(k) ** 2 * far.expiry
            return np.sqrt(total / t)
    raise ValueError(f"expiry {t} is outside the surface")


def undiscounted_black(forward, strike, vol, t):
    sd = vol * np.sqrt(t)
    d1 = np.log(forward / strike) / sd + 0.5 * sd
    call = forward * special.ndtr(d1) - strike * special.ndtr(d1 - sd)
    return np.where(strike >= forward, call, call - forward + strike)


@prog(
    "vol_surface",
    lambda: (1.0862, np.array([0.071, 0.074, 0.0785]), np.array([-0.006, -0.0085, -0.011]), np.array([0.04, 0.022])),
    (0, 1, 2, 3),
)
def exotic_vol_book(spot, atm, rr25, rates):
    domestic, foreign = rates
    tenors = (1 / 12, 0.25, 1.0)
    smiles = [
        build_smile(t, spot * np.exp((domestic - foreign) * t), Quote(a, r, 0.0021, 1.85 * r, 0.0068))
        for t, a, r in zip(tenors, atm, rr25, strict=True)
    ]
    t, barrier = 0.6, 1.12
    fwd = spot * np.exp((domestic - foreign) * t)
    vol_at = partial(surface_vol, smiles, t=t)

    # the variance swap, replicated by a strip of options out of the money
    k = np.linspace(-0.45, 0.45, 301)
    strikes = fwd * np.exp(k)
    strip = undiscounted_black(fwd, strikes, vol_at(k), t) / strikes
    fair_vol = np.sqrt(2 / t * np.trapezoid(strip, k))

    # the digital by a tight spread of calls, so that it carries the skew
    width = 1e-3
    lo, hi = barrier * (1 - width), barrier * (1 + width)
    calls = [undiscounted_black(fwd, s, vol_at(np.log(s / fwd)), t) for s in (lo, hi)]
    digital = np.exp(-domestic * t) * (calls[0] - calls[1]) / (hi - lo)
    return float(100 * fair_vol + 10 * digital)


# ocean wave spectra: a JONSWAP sea over a finite depth (TMA), spread in direction, and the stress at the bed
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


@prog("wave_spectrum", lambda: (2.35, 8.9, 3.1, 14.0, 0.42), (0, 1, 2, 3, 4))
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


# hydrology, rainfall and runoff: the model HBV with snow, and the efficiency of Kling and Gupta
class HbvParameters(NamedTuple):
    threshold: float
    degree_day: float
    field_capacity: float
    evap_limit: float
    beta: float
    k0: float
    k1: float
    k2: float
    quick_level: float
    percolation: float
    maxbas: float


def forcing_of_catchment(days=120, seed=11):
    rng = np.random.default_rng(seed)
    wet = rng.random(days) < 0.45
    rain = np.where(wet, rng.gamma(0.9, 9.0, days), 0.0)
    day = np.arange(days)
    temperature = -2.5 + 14 * day / days + 3 * rng.standard_normal(days)
    pet = np.maximum(0.3, 0.8 + 2.4 * day / days)
    return rain, temperature, pet


def runoff_of_reservoirs(p, rain, temperature, pet):
    snow, liquid, soil, upper, lower = 25.0, 0.0, 0.55 * p.field_capacity, 8.0, 20.0
    for r, t, e in zip(rain, temperature, pet, strict=True):
        if t < p.threshold:
            snow += 0.9 * r
            refrozen = min(0.05 * p.degree_day * (p.threshold - t), liquid)
            snow, liquid = snow + refrozen, liquid - refrozen
            water = 0.0
        else:
            melt = min(p.degree_day * (t - p.threshold), snow)
            snow -= melt
            liquid += melt + r
            held = 0.1 * snow
            water = max(liquid - held, 0.0)
            liquid -= water
        recharge = water * (soil / p.field_capacity) ** p.beta
        soil += water - recharge
        if soil > p.field_capacity:
            recharge += soil - p.field_capacity
            soil = p.field_capacity
        soil -= min(e * min(soil / (p.evap_limit * p.field_capacity), 1.0), soil)
        upper += recharge
        seep = min(p.percolation, upper)
        upper -= seep
        lower += seep
        q0 = p.k0 * max(upper - p.quick_level, 0.0)
        q1 = p.k1 * upper
        q2 = p.k2 * lower
        upper -= q0 + q1
        lower -= q2
        yield q0 + q1 + q2


def triangular_weights(maxbas):
    edges = np.minimum(np.arange(math.ceil(maxbas) + 1), maxbas) / maxbas
    cumulative = np.where(edges < 0.5, 2 * edges**2, 1 - 2 * (1 - edges) ** 2)
    return np.diff(cumulative)


@prog(
    "rainfall_runoff",
    lambda: (np.array([0.3, 3.1, 180.0, 0.7, 2.4, 0.21, 0.09, 0.03, 14.0, 1.1, 2.6]), 1.07),
    (0, 1),
)
def kling_gupta_of_hbv(theta, rain_factor, warmup=15):
    rain, temperature, pet = forcing_of_catchment()
    reference = HbvParameters(0.0, 2.8, 210.0, 0.8, 2.0, 0.25, 0.11, 0.025, 18.0, 0.9, 3.0)

    def discharge(p, factor):
        flow = np.fromiter(runoff_of_reservoirs(p, factor * rain, temperature, pet), dtype=float)
        return np.convolve(flow, triangular_weights(p.maxbas))[: len(rain)]

    observed = discharge(reference, 1.0)
    simulated = discharge(HbvParameters(*theta), rain_factor)
    obs, sim = observed[warmup:], simulated[warmup:]
    r = np.corrcoef(obs, sim)[0, 1]
    variability = (sim.std() / sim.mean()) / (obs.std() / obs.mean())
    bias = sim.mean() / obs.mean()
    return 1 - math.sqrt((r - 1) ** 2 + (variability - 1) ** 2 + (bias - 1) ** 2)


# groundwater contaminant transport: mobile and immobile water, a pulse at the source, Talbot's inverse of Laplace
@dataclass
class DualPorosity:
    velocity: float
    dispersivity: float
    retardation: float
    exchange: float
    decay: float
    theta_mobile: float = 0.22
    theta_immobile: float = 0.09

    def transfer(self, s, x):
        """The response in Laplace space at x to a unit concentration in the flux at the source."""
        d = self.dispersivity * self.velocity
        s = s + self.decay
        capacity = self.theta_immobile * self.retardation
        memory = self.exchange * capacity * s / (capacity * s + self.exchange) / self.theta_mobile
        psi = self.retardation * s + memory
        root = np.sqrt(1 + 4 * d * psi / self.velocity**2)
        return 2 / (1 + root) * np.exp(self.velocity * x * (1 - root) / (2 * d))


def talbot_inverse(transform, t, m=18):
    t = np.atleast_1d(t)
    angle = np.arange(1, m) * np.pi / m
    cot = 1 / np.tan(angle)
    radius = 2 * m / (5 * t)[:, None]
    s = radius * angle * (cot + 1j)
    sigma = angle + (angle * cot - 1) * cot
    body = np.exp(t[:, None] * s) * transform(s) * (1 + 1j * sigma)
    edge = 0.5 * np.exp(radius[:, 0] * t) * transform(radius[:, 0])
    return radius[:, 0] / m * (edge + body.real.sum(axis=1))


def breakthrough(medium, x, y, times, pulse, width, alpha_t):
    step = lambda t: talbot_inverse(lambda s: medium.transfer(s, x) / s, t)
    c = step(times)
    after = times > pulse
    if after.any():
        # what decays in the source decays before it is cut off, too
        c[after] -= step(times[after] - pulse) * np.exp(-medium.decay * pulse)
    reach = 2 * np.sqrt(alpha_t * x)
    lateral = 0.5 * (special.erf((y + width / 2) / reach) - special.erf((y - width / 2) / reach))
    return c * lateral


@prog("contaminant", lambda: (0.43, 2.2, 1.75, 0.0031, 7.5e-4, np.array([1.6, 0.35])), (0, 1, 2, 3, 4, 5))
def misfit_of_wells(velocity, dispersivity, retardation, exchange, decay, source):
    medium = DualPorosity(velocity, dispersivity, retardation, exchange, decay)
    strength, alpha_t = source
    wells = {
        "MW-1": ((12.0, 1.0), {40.0: 0.31, 70.0: 0.98, 120.0: 1.12, 200.0: 0.41}),
        "MW-3": ((25.0, -2.5), {90.0: 0.22, 140.0: 0.61, 220.0: 0.57, 320.0: 0.19}),
        "MW-7": ((40.0, 4.0), {150.0: 0.09, 240.0: 0.27, 400.0: 0.16}),
    }
    total, n = 0.0, 0
    for (x, y), record in wells.values():
        times = np.fromiter(record.keys(), dtype=float)
        measured = np.fromiter(record.values(), dtype=float)
        modelled = strength * breakthrough(medium, x, y, times, pulse=110.0, width=9.0, alpha_t=alpha_t)
        residual = np.log(modelled + 0.01) - np.log(measured + 0.01)
        total += residual @ residual
        n += residual.size
    return float(np.sqrt(total / n))


# archaeology, radiocarbon calibration: the felling of a timber by matching the wiggles of its rings to the curve
def calibration_curve():
    """A curve like IntCal's: calendar years BP, radiocarbon years BP, the error of the curve."""
    cal = np.arange(2300.0, 3300.0, 5.0)
    wiggles = (
        38 * np.sin(2 * np.pi * cal / 208) + 22 * np.sin(2 * np.pi * cal / 88 + 1) + 55 * np.tanh((cal - 2700) / 60)
    )
    return cal, 0.955 * cal + 60 + wiggles, 11 + 3 * np.cos(cal / 130)


@prog(
    "radiocarbon",
    lambda: (np.array([2613.0, 2586.0, 2549.0, 2515.0, 2468.0]), np.array([21.0, 24.0, 19.0, 22.0, 26.0]), 6.5, 0.08),
    (0, 1, 2, 3),
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


# tomography of ultrasound: the delays between transducers on a ring, Siddon's rays, a reweighted inversion
def siddon(source, target, edges):
    direction = target - source
    crossings = ((edges[None, :] - source[:, None]) / direction[:, None]).ravel()
    crossings = np.sort(crossings[(crossings > 0) & (crossings < 1)])
    alpha = np.concatenate([[0.0], crossings, [1.0]])
    middle = source + 0.5 * (alpha[1:] + alpha[:-1])[:, None] * direction
    cell = np.floor((middle - edges[0]) / (edges[1] - edges[0])).astype(int)
    ok = np.all((cell >= 0) & (cell < edges.size - 1), axis=1)
    return cell[ok], (np.diff(alpha) * np.linalg.norm(direction))[ok]


def ring_pairs(n, least=3):
    return [(i, j) for i, j in itertools.combinations(range(n), 2) if least <= j - i <= n - least]


def _delays_of_cyst():
    """Delays in microseconds against water: chords through a fast lump and a slow one."""
    i, j = np.array(ring_pairs(10)).T
    return -0.35 * np.exp(-(((i - 2.0) ** 2 + (j - 6.5) ** 2) / 6)) + 0.2 * np.exp(-((i - 4) ** 2 + (j - 8) ** 2) / 4)


def roughening(n):
    d = np.diff(np.eye(n), axis=0)
    return np.vstack([np.kron(d, np.eye(n)), np.kron(np.eye(n), d)])


@prog("ultrasound_tomography", lambda: (_delays_of_cyst(), 52.3, 1.483, 0.9), (0, 1, 2, 3))
def speed_in_lesion(delays, ring_radius, water_speed, damping, n_transducers=10, n_grid=8):
    bearing = 0.137 + 2 * np.pi * np.arange(n_transducers) / n_transducers
    ring = ring_radius * np.stack([np.cos(bearing), np.sin(bearing)], axis=-1)
    edges = np.linspace(-40.0, 40.0, n_grid + 1)
    pairs = ring_pairs(n_transducers)

    lengths = np.zeros((len(pairs), n_grid, n_grid))
    for row, (i, j) in zip(lengths, pairs, strict=True):
        cells, segments = siddon(ring[i], ring[j], edges)
        np.add.at(row, (cells[:, 0], cells[:, 1]), segments)
    a = lengths.reshape(len(pairs), -1)

    d = roughening(n_grid)
    weights = np.ones(len(d))
    slowness = np.zeros(a.shape[1])
    for _ in range(4):
        normal = a.T @ a + damping**2 * (d.T * weights) @ d + 1e-3 * np.eye(a.shape[1])
        try:
            factor = linalg.cho_factor(normal)
        except linalg.LinAlgError:
            normal[np.diag_indices_from(normal)] += 1.0
            factor = linalg.cho_factor(normal)
        slowness = linalg.cho_solve(factor, a.T @ delays)
        steps = 1e3 * (d @ slowness)
        weights = 100.0 / np.sqrt(steps**2 + 1.0)

    speed = 1 / (1 / water_speed + slowness.reshape(n_grid, n_grid))
    centre = 0.5 * (edges[1:] + edges[:-1])
    xx, yy = np.meshgrid(centre, centre, indexing="ij")
    lesion = np.hypot(xx + 12, yy - 6) < 17
    residual = delays - a @ slowness
    return 1e3 * (speed[lesion].mean() - speed[~lesion].mean()) + 5 * np.sqrt(np.mean(residual**2))


# gyroscope attitude filter: a multiplicative extended Kalman filter of attitude and bias, by gravity and magnetometer
def cross_matrix(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def hamilton(p, q):
    return np.concatenate(([p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])))


def quaternion_of(rotation_vector):
    angle = np.linalg.norm(rotation_vector)
    if angle < 1e-10:
        return np.concatenate(([1.0], 0.5 * rotation_vector))
    return np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * rotation_vector / angle))


def to_body(q, v):
    w, u = q[0], q[1:]
    t = 2 * np.cross(v, u)
    return v + w * t + np.cross(t, u)


class AttitudeFilter:
    def __init__(self, gyro_noise, bias_walk, attitude_sigma=0.2, bias_sigma=0.03):
        self.q = np.array([1.0, 0.0, 0.0, 0.0])
        self.bias = np.zeros(3)
        self.P = np.diag([attitude_sigma**2] * 3 + [bias_sigma**2] * 3)
        self.noise = gyro_noise, bias_walk
        self.nis = []

    def predict(self, gyro, dt):
        rate = gyro - self.bias
        self.q = hamilton(self.q, quaternion_of(rate * dt))
        F = np.eye(6)
        F[:3, :3] -= cross_matrix(rate) * dt
        F[:3, 3:] = -np.eye(3) * dt
        self.P = F @ self.P @ F.T
        self.P[:3, :3] += np.eye(3) * self.noise[0] ** 2 * dt
        self.P[3:, 3:] += np.eye(3) * self.noise[1] ** 2 * dt

    def update(self, measured, reference, sigma, gate=60.0):
        expected = to_body(self.q, reference)
        H = np.hstack([cross_matrix(expected), np.zeros((3, 3))])
        S = H @ self.P @ H.T + sigma**2 * np.eye(3)
        innovation = measured - expected
        distance = innovation @ np.linalg.solve(S, innovation)
        if distance > gate:
            return
        self.nis.append(distance)
        K = np.linalg.solve(S, H @ self.P).T
        dx = K @ innovation
        self.q = hamilton(self.q, quaternion_of(dx[:3]))
        self.q /= np.linalg.norm(self.q)
        self.bias += dx[3:]
        A = np.eye(6) - K @ H
        self.P = A @ self.P @ A.T + sigma**2 * K @ K.T


@prog("attitude_filter", lambda: (np.array([0.021, -0.013, 0.017]), 0.012, 0.002, 0.03, 0.11, 4), (0, 1, 2, 3, 4))
def attitude_error(true_bias, gyro_noise, bias_walk, accel_sigma, dip, n=60, dt=0.05):
    rng = np.random.default_rng(5)
    t = dt * np.arange(n)
    rates = np.column_stack([0.6 * np.sin(1.1 * t), 0.4 * np.cos(0.7 * t), 0.3 + 0.2 * np.sin(2 * t)])
    gravity, north = np.array([0.0, 0.0, 1.0]), np.array([np.cos(dip), 0.0, -np.sin(dip)])
    kf = AttitudeFilter(gyro_noise, bias_walk)
    truth = Rotation.from_rotvec([0.05, -0.08, 0.12])
    loss = 0.0
    for k, rate in enumerate(rates):
        truth = truth * Rotation.from_rotvec(rate * dt)
        kf.predict(rate + true_bias + 0.01 * rng.standard_normal(3), dt)
        to_sensor = truth.as_matrix().T
        kf.update(to_sensor @ gravity + 0.03 * rng.standard_normal(3), gravity, accel_sigma)
        if k % 3 == 0:
            kf.update(to_sensor @ north + 0.05 * rng.standard_normal(3), north, 0.05)
        x, y, z, w = truth.as_quat()
        error = hamilton(np.array([w, -x, -y, -z]), kf.q)
        loss += 4 * np.sum(error[1:] ** 2)
    bias_error = np.linalg.norm(kf.bias - true_bias)
    return np.sqrt(loss / n) + bias_error + 0.01 * np.mean(kf.nis)


# bridge cable forces: the deck of a cable-stayed bridge, its stays shortened until it is level, Ernst's modulus
@dataclass
class Stay:
    node: int
    run: float
    rise: float
    area: float
    modulus: float = 195e6
    length: float = field(init=False)

    def __post_init__(self):
        self.length = math.hypot(self.run, self.rise)

    @property
    def sine(self):
        return self.rise / self.length

    def ernst(self, force, unit_weight):
        stress = max(force / self.area, 50e3)
        return self.modulus / (1 + (unit_weight * self.run) ** 2 * self.modulus / (12 * stress**3))


def deck_stiffness(x, rigidity):
    k = np.zeros((2 * len(x), 2 * len(x)))
    for e, h in enumerate(np.diff(x)):
        element = np.array(
            [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2]]
            + [[-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
        )
        dofs = np.r_[2 * e : 2 * e + 4]
        k[np.ix_(dofs, dofs)] += rigidity / h**3 * element
    return k


def uniform_load(x, w, spans=slice(None)):
    f = np.zeros(2 * len(x))
    for e in range(len(x) - 1)[spans]:
        h = x[e + 1] - x[e]
        f[2 * e : 2 * e + 4] -= w * h / 2 * np.array([1, h / 6, 1, -h / 6])
    return f


@prog(
    "cable_forces",
    lambda: (np.array([0.0125, 0.0092, 0.0074, 0.0078, 0.0097, 0.0131]), 165.0, 2.4e7, 41.0),
    (0, 1, 2, 3),
)
def governing_stay_stress(areas, dead_load, rigidity, tower_height):
    x = np.array([0.0, 18.0, 36.0, 54.0, 75.0, 97.0, 119.0, 141.0, 160.0])
    tower, supports = 4, [0, 4, 8]
    nodes = [n for n in range(len(x)) if n not in supports]
    stays = [Stay(n, abs(x[n] - x[tower]), tower_height, a) for n, a in zip(nodes, areas, strict=True)]
    free = np.setdiff1d(np.arange(2 * len(x)), [2 * s for s in supports])
    anchor = [2 * s.node for s in stays]
    beam = deck_stiffness(x, rigidity)

    def respond(moduli, load, shortening):
        axial = np.array([e * s.area / s.length for e, s in zip(moduli, stays, strict=True)])
        sines = np.array([s.sine for s in stays])
        k, f = beam.copy(), load.copy()
        k[anchor, anchor] += axial * sines**2
        f[anchor] += axial * sines * shortening
        u = np.zeros(len(f))
        u[free] = np.linalg.solve(k[np.ix_(free, free)], f[free])
        return u, axial * (shortening - sines * u[anchor])

    dead = uniform_load(x, dead_load)
    moduli = np.array([s.modulus for s in stays])
    none = np.zeros(len(stays))
    for _ in range(60):
        level, _ = respond(moduli, dead, none)
        influence = np.column_stack([respond(moduli, 0 * dead, unit)[0][anchor] for unit in np.eye(len(stays))])
        ridge = np.vstack([influence, 0.05 * np.eye(len(stays))])
        shortening, *_ = np.linalg.lstsq(ridge, np.concatenate([-level[anchor], none]), rcond=None)
        _, forces = respond(moduli, dead, shortening)
        updated = np.array([s.ernst(t, 78.5) for s, t in zip(stays, forces, strict=True)])
        if np.allclose(updated, moduli, rtol=1e-13, atol=0):
            break
        moduli = updated
    else:
        raise RuntimeError("Ernst's modulus does not settle")

    cases = [respond(moduli, uniform_load(x, 42.0, part), none)[1] for part in (slice(0, 4), slice(4, 8), slice(2, 6))]
    envelope = reduce(np.maximum, cases)
    stress = (forces + envelope) / areas / 1e3
    ranges = (envelope - reduce(np.minimum, cases)) / areas / 1e3
    return float(stress.max() + 0.5 * ranges.max())


# power grid load flow: Newton's method in polar form on sparse matrices, the limits of the generators enforced
class BusType(enum.IntEnum):
    PQ = 1
    PV = 2
    SLACK = 3


Branch = namedtuple("Branch", "frm to r x b tap", defaults=(0.0, 1.0))


def admittances(branches, shunts):
    n, m = len(shunts), len(branches)
    frm, to = (np.array([getattr(br, end) for br in branches]) for end in ("frm", "to"))
    r, x, b, tap = np.array([br[2:] for br in branches]).T
    series = 1 / (r + 1j * x)
    ytt = series + 0.5j * b
    rows = np.arange(m)
    cf = sparse.csr_matrix((np.ones(m), (rows, frm)), shape=(m, n))
    ct = sparse.csr_matrix((np.ones(m), (rows, to)), shape=(m, n))
    yf = sparse.diags(ytt / tap**2) @ cf - sparse.diags(series / tap) @ ct
    yt = -sparse.diags(series / tap) @ cf + sparse.diags(ytt) @ ct
    return (cf.T @ yf + ct.T @ yt + sparse.diags(1j * shunts)).tocsr(), (cf, yf), (ct, yt)


def newton_power_flow(ybus, injection, v, pv, pq, tol=1e-12):
    va, vm = np.angle(v), np.abs(v)
    pvpq = np.concatenate([pv, pq])
    for _ in range(20):
        current = ybus @ v
        mismatch = v * np.conj(current) - injection
        f = np.concatenate([mismatch[pvpq].real, mismatch[pq].imag])
        if np.linalg.norm(f, np.inf) < tol:
            return v
        diag_v, diag_i = sparse.diags(v), sparse.diags(current)
        ds_dvm = diag_v @ np.conj(ybus @ sparse.diags(v / vm)) + np.conj(diag_i) @ sparse.diags(v / vm)
        ds_dva = 1j * diag_v @ np.conj(diag_i - ybus @ diag_v)
        ds_dvm, ds_dva = ds_dvm.tocsr(), ds_dva.tocsr()
        jacobian = sparse.bmat(
            [
                [ds_dva[np.ix_(pvpq, pvpq)].real, ds_dvm[np.ix_(pvpq, pq)].real],
                [ds_dva[np.ix_(pq, pvpq)].imag, ds_dvm[np.ix_(pq, pq)].imag],
            ],
            format="csc",
        )
        dx = spsolve(jacobian, -f)
        va[pvpq] += dx[: len(pvpq)]
        vm[pq] += dx[len(pvpq) :]
        v = vm * np.exp(1j * va)
    raise RuntimeError(f"no convergence, the mismatch is {np.abs(f).max():.2e}")


@prog(
    "load_flow",
    lambda: (np.array([0.0, 0.21, 0.47, 0.42, 0.63]), np.array([0.0, 0.11, 0.17, 0.08, 0.14]), 0.975, 1.035, 0.4),
    (0, 1, 2, 3, 4),
)
def cost_of_losses(demand_p, demand_q, tap, setpoint, generation):
    branches = [
        Branch(0, 1, 0.02, 0.06, 0.06),
        Branch(0, 2, 0.08, 0.24, 0.05),
        Branch(1, 2, 0.06, 0.18, 0.04),
        Branch(1, 3, 0.06, 0.18, 0.04),
        Branch(1, 4, 0.04, 0.12, 0.03),
        Branch(2, 3, 0.0, 0.03, tap=tap),
        Branch(3, 4, 0.08, 0.24, 0.05),
    ]
    ybus, *ends = admittances(branches, np.array([0.0, 0.0, 0.0, 0.0, 0.05]))
    kinds = [BusType.SLACK, BusType.PV, BusType.PV, BusType.PQ, BusType.PQ]
    q_limits = {1: (-0.3, 0.5), 2: (-0.2, 0.12)}
    injection = np.array([0.0, generation, 0.3, 0.0, 0.0]) - demand_p - 1j * demand_q
    v = np.array([1.05, setpoint, 1.03, 1.0, 1.0], dtype=complex)

    while True:
        pv, pq = ([i for i, kind in enumerate(kinds) if kind is wanted] for wanted in (BusType.PV, BusType.PQ))
        v = newton_power_flow(ybus, injection, v, np.array(pv, dtype=int), np.array(pq, dtype=int))
        produced = (v * np.conj(ybus @ v)).imag + demand_q
        violated = {i: lim for i in pv if not (lim := q_limits[i])[0] <= produced[i] <= lim[1]}
        if not violated:
            break
        for i, (low, high) in violated.items():
            kinds[i] = BusType.PQ
            injection[i] = injection[i].real + 1j * ((high if produced[i] > high else low) - demand_q[i])

    s_from, s_to = (end @ v * np.conj(y @ v) for end, y in ends)
    losses = (s_from + s_to).real.sum()
    overload = np.maximum(np.abs(s_from) - 0.5, 0) ** 2
    sag = np.sum((np.abs(v[3:]) - 1) ** 2)
    return 100 * losses + 20 * overload.sum() + 50 * sag
