"""Rivers, runoff, soil water and groundwater."""

import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.special as sc
from scipy import special, stats
from scipy.special import erfc

from tests.field_programs import program, rng


# ---------------------------------------------------------------- theis_misfit
def well_function(u):
    return sc.exp1(u)


@program(
    "Theis drawdown misfit for one pumping test",
    lambda: (
        -2.0,
        -3.5,
        0.02,
        30.0,
        np.array([60.0, 300.0, 900.0, 3600.0, 10800.0, 36000.0]),
        np.array([0.25, 0.5, 0.7, 0.95, 1.1, 1.3]),
    ),
    wrt=(0, 1, 2),
)
def theis_misfit(log_T, log_S, Q, r, t, drawdown):
    """Theis drawdown misfit for one pumping test."""
    T, S = 10**log_T, 10**log_S
    u = r**2 * S / (4 * T * t)
    s = Q / (4 * np.pi * T) * well_function(u)
    return np.sum((s - drawdown) ** 2)


# ---------------------------------------------------------------- muskingum_nse
@program(
    "Muskingum routing + unit hydrograph + NSE",
    lambda: (np.array([2.1, 0.2]), np.abs(rng(1).normal(10, 4, 30)), np.abs(rng(2).normal(9, 3, 30))),
)
def muskingum_nse(p, inflow, observed):
    K, X = p
    dt = 1.0
    denom = 2 * K * (1 - X) + dt
    c0, c1, c2 = (dt - 2 * K * X) / denom, (dt + 2 * K * X) / denom, (2 * K * (1 - X) - dt) / denom
    out = np.zeros_like(inflow)
    out[0] = inflow[0]
    for t, (a, b) in enumerate(zip(inflow[:-1], inflow[1:]), start=1):
        out[t] = c0 * b + c1 * a + c2 * out[t - 1]
    resid = observed - out
    return 1 - (resid**2).sum() / ((observed - observed.mean()) ** 2).sum()


# ---------------------------------------------------------------- bucket_nse
def bucket(precip, pet, cap, k):
    storage = 0.5 * cap
    for p, e in zip(precip, pet):
        storage += p
        excess = max(storage - cap, 0.0)
        storage -= excess
        et = min(e * storage / cap, storage)
        storage -= et
        q = k * storage
        storage -= q
        yield q + excess


@program(
    "bucket model with generator of steps, for/else",
    lambda: (60.0, 0.12, np.abs(np.random.default_rng(0).normal(5, 8, 40))),
    wrt=(0, 1, 2),
)
def bucket_nse(cap, k, precip):
    pet = 2.0 + np.sin(np.arange(precip.size) / 6)
    sim = np.array([q for q in bucket(precip, pet, cap, k)])
    obs = np.linspace(1, 4, precip.size)
    return 1 - ((sim - obs) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()


# ---------------------------------------------------------------- gr4j
@program(
    "GR4J-ish with unit hydrograph lists",
    lambda: (np.array([300.0, 1.0, 80.0, 1.8]), rng(6).uniform(0, 10, 20), rng(7).uniform(0, 4, 20)),
)
def gr4j(x, rain, pet):
    x1, x2, x3, x4 = x
    s, r = 0.5 * x1, 0.5 * x3
    n = 3

    def sh(t):
        return 0.0 if t <= 0 else (min(t / x4, 1.0)) ** 2.5

    uh = [sh(i + 1) - sh(i) for i in range(n)]
    q9 = [0.0] * n
    flows = []
    for p, e in zip(rain, pet):
        if p >= e:
            pn = p - e
            ps = x1 * (1 - (s / x1) ** 2) * np.tanh(pn / x1) / (1 + s / x1 * np.tanh(pn / x1))
            s += ps
        else:
            en = e - p
            s -= s * (2 - s / x1) * np.tanh(en / x1) / (1 + (1 - s / x1) * np.tanh(en / x1))
            pn = ps = 0.0
        perc = s * (1 - (1 + (4 / 9 * s / x1) ** 4) ** -0.25)
        s -= perc
        pr = perc + pn - ps
        for i in range(n - 1):
            q9[i] = q9[i + 1] + uh[i] * pr
        q9[-1] = uh[-1] * pr
        f = x2 * (r / x3) ** 3.5
        r = max(0.0, r + q9[0] * 0.9 + f)
        qr = r * (1 - (1 + (r / x3) ** 4) ** -0.25)
        r -= qr
        flows.append(qr + max(0, q9[0] * 0.1 + f))
    return np.sum(np.square(flows))


# ---------------------------------------------------------------- route
@program(
    "kinematic wave routing over a channel network as adjacency dict, topological order with deque",
    lambda: (np.array([0.8, 1.2, 0.5, 0.9, 1.5]), rng(2).random((5, 6))),
    wrt=(0, 1),
)
def route(storage_k, runoff):
    downstream = {0: 2, 1: 2, 2: 4, 3: 4, 4: -1}
    indeg = Counter(v for v in downstream.values() if v >= 0)
    queue = deque(sorted(n for n in downstream if indeg[n] == 0))
    order = []
    while queue:
        n = queue.popleft()
        order.append(n)
        d = downstream[n]
        if d >= 0:
            indeg[d] -= 1
            if indeg[d] == 0:
                queue.append(d)
    S = np.zeros(5)
    outlet = []
    for t in range(runoff.shape[1]):
        inflow = defaultdict(float)
        for n in order:
            inflow[n] += runoff[n, t]
            q = (S[n] + inflow[n]) * (1 - np.exp(-storage_k[n]))
            S[n] += inflow[n] - q
            if downstream[n] == -1:
                outlet.append(q)
            else:
                inflow[downstream[n]] += q
    obs = np.array([0.5, 1.2, 1.8, 2.0, 2.2, 2.1])
    sim = np.asarray(outlet)
    nse = 1 - ((obs - sim) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()
    r, _ = stats.pearsonr(obs, sim)
    return nse + r


# ---------------------------------------------------------------- cascade
@program(
    "cascade of reservoirs, rating curve with interp, units in a bag of attributes",
    lambda: (np.array([0.3, 0.5, 0.2]), np.array([5.0, 12.0, 3.0, 0.0, 8.0, 1.0, 0.0, 0.0])),
    wrt=(0, 1),
)
def cascade(k, rain):
    state = SimpleNamespace(storage=[1.0, 0.5, 0.2], outflow=[], balance=0.0)
    area = SimpleNamespace(upper=3.0, lower=1.5)
    for day, r in enumerate(rain):
        inflow = r * area.upper * (0.6 if day < 3 else 0.8)
        for j, kj in enumerate(k):
            q = kj * state.storage[j] ** 1.2
            state.storage[j] = max(state.storage[j] + inflow - q, 0.01)
            inflow = q
        state.outflow.append(inflow)
        state.balance += r - inflow / area.lower
    stage = np.interp(state.outflow, [0.0, 1.0, 5.0, 20.0], [0.0, 0.4, 1.1, 2.5])
    nse = 1 - np.sum((stage - 0.8) ** 2) / np.sum((stage - stage.mean()) ** 2)
    return nse + 0.01 * state.balance + sum(getattr(area, n) for n in vars(area)) * 0.1


# ---------------------------------------------------------------- routed_flood
@program(
    "Muskingum routing through a network of reaches given by who flows into whom",
    lambda: (np.array([1.5, 2.0, 1.1]), np.array([0.2, 0.3, 0.25]), 0.9),
    wrt=(0, 1, 2),
)
def routed_flood(K, X, scale, dt=1.0):
    upstream = {"outlet": ["left", "right"], "left": [], "right": []}
    where = {name: k for k, name in enumerate(["left", "right", "outlet"])}
    storm = {"left": [1.0, 4.0, 9.0, 6.0, 3.0, 1.5, 1.0, 1.0], "right": [0.5, 1.0, 3.0, 7.0, 5.0, 2.0, 1.0, 0.5]}
    hydrographs = {}
    for name in ("left", "right", "outlet"):
        inflow = np.zeros(8)
        for other in upstream[name]:
            inflow = inflow + hydrographs[other]
        if name in storm:
            inflow = inflow + scale * np.array(storm[name])
        k, x = K[where[name]], X[where[name]]
        den = 2 * k * (1 - x) + dt
        c0, c1, c2 = (dt - 2 * k * x) / den, (dt + 2 * k * x) / den, (2 * k * (1 - x) - dt) / den
        out = [inflow[0]]
        for before, now in pairwise(inflow):
            out.append(c0 * now + c1 * before + c2 * out[-1])
        hydrographs[name] = np.array(out)
    outlet = hydrographs["outlet"]
    peak = int(outlet.argmax())
    return outlet[peak] + 0.01 * np.sum(outlet[peak:] ** 2)


# ---------------------------------------------------------------- peak_stage
@program(
    "Muskingum routing through reaches with lateral inflow and a rating curve",
    lambda: (np.array([10, 25, 60, 90, 70, 45, 30, 20.0]), np.array([1.8, 2.2]), 0.2),
    wrt=(0, 1, 2),
)
def peak_stage(inflow, K, X, dt=1.0):
    rating = {"q": np.array([0.0, 20.0, 50.0, 120.0]), "h": np.array([0.0, 0.9, 1.7, 2.9])}
    hydrograph = inflow
    for k in K:
        D = 2.0 * k * (1.0 - X) + dt
        c0, c1 = (dt - 2.0 * k * X) / D, (dt + 2.0 * k * X) / D
        c2 = 1.0 - c0 - c1
        out = [hydrograph[0]]
        for before, now in pairwise(hydrograph):
            out.append(c0 * now + c1 * before + c2 * out[-1])
        hydrograph = np.array(out) + 0.05 * inflow.mean()
    stage = np.interp(hydrograph, rating["q"], rating["h"])
    return stage.max() + 0.1 * stage.std()


# ---------------------------------------------------------------- head_misfit
def assemble_poisson(kappa, dx):
    """1-D finite volume matrix with harmonic mean face conductivities."""
    n = len(kappa)
    face = 2 * kappa[1:] * kappa[:-1] / (kappa[1:] + kappa[:-1])
    A = np.zeros((n, n))
    for i, k in enumerate(face):
        A[i, i] += k / dx**2
        A[i + 1, i + 1] += k / dx**2
        A[i, i + 1] -= k / dx**2
        A[i + 1, i] -= k / dx**2
    A[0, 0] += 2 * kappa[0] / dx**2
    A[-1, -1] += 2 * kappa[-1] / dx**2
    return A


@program(
    "groundwater flow: an inverse problem of an aquifer, misfit of heads",
    lambda: (0.3 * np.sin(np.arange(10.0)), 1.5, 2.0, 1.0, [2, 5, 8], np.array([2.1, 1.9, 1.4])),
    wrt=(0, 1, 2, 3),
)
def head_misfit(log_k, recharge, h_left, h_right, wells, heads, reg=0.1):
    k = np.exp(log_k)
    n = k.size
    dx = 1.0 / n
    A = assemble_poisson(k, dx)
    b = np.full(n, recharge)
    b[0] += 2 * k[0] * h_left / dx**2
    b[-1] += 2 * k[-1] * h_right / dx**2
    h = np.linalg.solve(A, b)
    tik = np.sum(np.diff(log_k, n=2) ** 2)
    return 0.5 * np.sum((h[wells] - heads) ** 2) + reg * tik


# ---------------------------------------------------------------- breakthrough_error
def ogata_banks(x, t, v, D):
    a = erfc((x - v * t) / (2 * np.sqrt(D * t)))
    b = np.exp(v * x / D) * erfc((x + v * t) / (2 * np.sqrt(D * t)))
    return 0.5 * (a + b)


@program(
    "contaminant transport: column experiment with retardation and first order decay",
    lambda: (
        1.2,
        0.35,
        1.6,
        0.02,
        5.0,
        np.array([2.0, 4.0, 6.0, 8.0, 10.0, 14.0]),
        np.array([0.01, 0.1, 0.4, 0.65, 0.85, 0.9]),
    ),
    wrt=(0, 1, 2, 3),
)
def breakthrough_error(v, D, R, decay, x, t, conc):
    """Column experiment with retardation and first order decay."""
    ve, De = v / R, D / R
    c = ogata_banks(x, t, ve, De) * np.exp(-decay * x / ve)
    return np.sqrt(np.mean((c - conc) ** 2))


# ---------------------------------------------------------------- misfit_of_wells
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


@program(
    "groundwater contaminant transport: mobile and immobile water, a pulse at the source, Talbot's inverse of Laplace",
    lambda: (0.43, 2.2, 1.75, 0.0031, 7.5e-4, np.array([1.6, 0.35])),
    wrt=(0, 1, 2, 3, 4, 5),
)
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


# ---------------------------------------------------------------- kling_gupta_of_hbv
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


@program(
    "hydrology, rainfall and runoff: the model HBV with snow, and the efficiency of Kling and Gupta",
    lambda: (np.array([0.3, 3.1, 180.0, 0.7, 2.4, 0.21, 0.09, 0.03, 14.0, 1.1, 2.6]), 1.07),
    wrt=(0, 1),
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


# ---------------------------------------------------------------- retention_fit
def van_genuchten(h, theta_r, theta_s, alpha, n):
    """Water content at pressure head h < 0."""
    m = 1.0 - 1.0 / n
    se = (1.0 + (alpha * np.abs(h)) ** n) ** (-m)
    return theta_r + (theta_s - theta_r) * se


def conductivity(h, ks, alpha, n, l=0.5):
    m = 1.0 - 1.0 / n
    se = (1.0 + (alpha * np.abs(h)) ** n) ** (-m)
    return ks * se**l * (1.0 - (1.0 - se ** (1.0 / m)) ** m) ** 2


@program(
    "soil physics: simultaneous fit of retention and log conductivity data",
    lambda: (
        0.06,
        0.43,
        0.036,
        1.56,
        24.9,
        -np.array([5.0, 20.0, 60.0, 150.0, 500.0, 2000.0]),
        np.array([0.42, 0.37, 0.28, 0.22, 0.15, 0.11]),
        np.array([10.0, 2.5, 0.3, 0.02, 1e-3, 2e-5]),
    ),
    wrt=(0, 1, 2, 3, 4),
)
def retention_fit(theta_r, theta_s, alpha, n, ks, h, theta_obs, k_obs):
    """Simultaneous fit of retention and log conductivity data."""
    r1 = van_genuchten(h, theta_r, theta_s, alpha, n) - theta_obs
    r2 = np.log10(conductivity(h, ks, alpha, n)) - np.log10(k_obs)
    return np.sum(r1**2) / np.var(theta_obs) + 0.1 * np.sum(r2**2)
