"""Drugs and poisons in the body."""

import itertools
import math
from collections import ChainMap, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as la
from numpy import exp
from scipy import special, stats
from scipy.integrate import solve_ivp

from tests.field_programs import program


# ---------------------------------------------------------------- pk_objective
def one_compartment(t, dose, ka, ke, v):
    """Concentration after an oral dose, first order absorption."""
    return dose * ka / (v * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


@program(
    "weighted least squares for a one-compartment oral model (log parameters)",
    lambda: (
        np.log(np.array([1.3, 0.17, 22.0])),
        np.array([0.5, 1, 2, 4, 6, 8, 12, 24]),
        np.array([1.9, 2.9, 3.3, 2.7, 2.0, 1.5, 0.7, 0.1]),
    ),
)
def pk_objective(params, times, conc, dose=100.0):
    """Weighted least squares for a one-compartment oral model (log parameters)."""
    ka, ke, v = np.exp(params)
    pred = one_compartment(times, dose, ka, ke, v)
    w = 1.0 / (0.1 + 0.15 * conc) ** 2
    return np.sum(w * (conc - pred) ** 2)


# ---------------------------------------------------------------- two_compartments
@program(
    "pharmacology: two-compartment model by matrix exponential, multiple dosing, AUC by trapezoid",
    lambda: (np.array([0.3, 0.15, 0.08, 1.2]), 100.0),
    wrt=(0, 1),
)
def two_compartments(theta, dose, tau=8.0, doses=4):
    ke, k12, k21, ka = theta
    K = np.array([[-ka, 0, 0], [ka, -(ke + k12), k21], [0, k12, -k21]])
    step = la.expm(K * tau / 16)
    state, trace = np.zeros(3), []
    for d in range(doses):
        state = state + np.array([dose, 0, 0])
        for _ in range(16):
            trace.append(state[1])
            state = step @ state
    c = np.asarray(trace) / 20.0
    t = np.arange(c.size) * tau / 16
    steady = la.solve(np.eye(3) - la.expm(K * tau), np.array([dose, 0, 0.0]))
    return np.trapezoid(c, t) + c.max() - c[-1] + steady[1] / 20


# ---------------------------------------------------------------- phenytoin_minus_2ll
@program(
    "phenytoin, saturable elimination, an infused load then capsules; -2 log likelihood of the levels",
    lambda: (np.array([7.2, 4.4, 0.68, 0.21]), 71.0, 0.12),
    wrt=(0, 1, 2),
)
def phenytoin_minus_2ll(theta, weight, cv):
    vmax_mgkgd, km, v_lkg, ka = theta
    V, vmax = v_lkg * weight, vmax_mgkgd * weight / 24.0  # L, mg/h
    doses = [
        {"t": 0.0, "mg_per_kg": 15.0, "route": "iv", "rate": 1500.0},
        {"t": 12.0, "mg": 100.0, "route": "po"},
        {"t": 20.0, "mg": 100.0, "route": "po"},
        {"t": 28.0, "mg": 200.0, "route": "po"},
    ]
    levels = [(2.0, 20.6), (11.5, 15.1), (19.0, 16.4), (27.5, 13.2), (36.0, 15.6)]  # h, mg/L
    infusions, boluses, breaks = [], {}, {0.0, levels[-1][0]}
    for d in doses:
        amount = d.get("mg") or d["mg_per_kg"] * weight
        breaks.add(d["t"])
        if d["route"] == "iv":
            t_end = d["t"] + amount / d["rate"]
            infusions.append((d["t"], t_end, d["rate"] * 0.92))
            breaks.add(t_end)
        else:
            boluses[d["t"]] = 0.92 * amount
    breaks = sorted(breaks)
    y = np.zeros(3)  # gut, plasma, cumulated area
    predicted = {}
    for t0, t1 in zip(breaks[:-1], breaks[1:], strict=True):
        y[0] += boluses.get(t0, 0.0)
        rate_in = sum(rate for a, b, rate in infusions if a <= t0 < b)

        def ode(t, s, rate_in=rate_in):
            conc = s[1] / V
            return [-ka * s[0], ka * s[0] + rate_in - vmax * conc / (km + conc), conc]

        wanted = [t for t, _ in levels if t0 < t <= t1]
        sol = solve_ivp(ode, (t0, t1), y, method="DOP853", t_eval=sorted({*wanted, t1}), rtol=1e-12, atol=1e-13)
        if not sol.success:
            return float("inf")
        for i, t in enumerate(wanted):
            predicted[t] = sol.y[1, i] / V
        y = sol.y[:, -1].copy()
    m2ll = 0.0
    for t, c_obs in levels:
        var = (cv * predicted[t]) ** 2 + 0.3**2
        m2ll += math.log(2 * math.pi * var) + (c_obs - predicted[t]) ** 2 / var
    return float(m2ll + ((y[2] / levels[-1][0] - 14.0) / 5.0) ** 2)


# ---------------------------------------------------------------- pk_auc
class DoseError(ValueError):
    pass


@program(
    "pharmacology: multi-dose PK with dict of models and try/except/ raise",
    lambda: ({"CL": 5.0, "V": 40.0, "ka": 1.2}, np.array([100.0, 50.0, 50.0])),
    wrt=(0, 1),
)
def pk_auc(theta, doses, interval=12.0, route="oral"):
    if route not in ("oral", "iv"):
        raise DoseError(f"{route=} not known")
    ke = theta["CL"] / theta["V"]
    t = np.arange(0, 48, 0.5)
    conc = np.zeros(t.shape)
    for k, dose in enumerate(doses):
        tau = t - k * interval
        on = tau >= 0
        if route == "iv":
            conc[on] += dose / theta["V"] * exp(-ke * tau[on])
        else:
            ka = theta["ka"]
            assert abs(ka - ke) > 1e-9
            conc[on] += dose * ka / (theta["V"] * (ka - ke)) * (exp(-ke * tau[on]) - exp(-ka * tau[on]))
    auc = ((conc[1:] + conc[:-1]) / 2 * np.diff(t)).sum()
    return auc + conc.max() * 3 + t[conc > 1.0].size * 0.0


# ---------------------------------------------------------------- pbpk
@dataclass
class Organ:
    volume: float
    flow: float
    kp: float
    amount: float = 0.0

    @property
    def conc(self):
        return self.amount / self.volume


@program(
    "pharmacology: a PBPK model, organs as dataclass objects in a dict",
    lambda: ({"liver": Organ(1.8, 1.45, 2.1), "gut": Organ(1.1, 1.1, 1.5), "muscle": Organ(29.0, 0.75, 0.9)}, 3.0),
)
def pbpk(organs, clearance):
    blood = Organ(volume=5.2, flow=sum(o.flow for o in organs.values()), kp=1.0, amount=100.0)
    dt, auc = 0.05, 0.0
    for step in range(100):
        cb = blood.conc
        auc += cb * dt
        back = 0.0
        for name, organ in organs.items():
            out = organ.flow * organ.conc / organ.kp
            rate = organ.flow * cb - out
            if name == "liver":
                rate -= clearance * organ.conc
            organ.amount += dt * rate
            back += out
        blood.amount += dt * (back - blood.flow * cb)
    return auc


# ---------------------------------------------------------------- effect_of_two_drugs
Drug = namedtuple("Drug", "name ka ke ec50 hill", defaults=(1.0,))


@program(
    "pharmacology: doses of several drugs, effects by Hill functions, tolerance in a compartment",
    lambda: (np.array([1.1, 0.7]), np.array([0.2, 0.12]), 0.8, 1.6),
    wrt=(0, 1, 2, 3),
)
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


# ---------------------------------------------------------------- laplace
@program(
    "pharmacometrics: mixed effects, Laplace approximation with inner Newton",
    lambda: (
        np.array([1.0, 0.2, -1.0]),
        [np.array([0.5, 1.0, 2.0, 4.0]), np.array([1.0, 3.0])],
        [np.array([2.2, 1.8, 1.1, 0.4]), np.array([1.5, 0.5])],
    ),
)
def laplace(theta, times, conc):
    A, k, logsig = theta
    s2 = np.exp(2 * logsig)
    total = 0
    for t, y in zip(times, conc):
        eta = 0.0
        for _ in range(8):
            f = A * np.exp(-(k + eta) * t) * 2
            r = y - f
            g = np.sum(-r * t * f) / s2 * -1 * -1 + eta / 0.1
            h = np.sum(t**2 * f**2) / s2 + 1 / 0.1
            eta -= 0.5 * (np.sum(r * t * f) / s2 + eta / 0.1) / h if False else (np.sum(r * t * f) / s2 + eta / 0.1) / h
        f = 2 * A * np.exp(-(k + eta) * t)
        h = np.sum(t**2 * f**2) / s2 + 10.0
        total += np.sum(stats.norm.logpdf(y, f, np.sqrt(s2))) - 5 * eta**2 - 0.5 * np.log(h)
    return -total


# ---------------------------------------------------------------- probit
@program(
    "toxicology: dose-response with groupby on sorted rows",
    lambda: (
        np.array([-2.0, 1.5]),
        np.array([[0.5, 0], [0.5, 1], [1.0, 0], [1.0, 1], [1.0, 1], [2.0, 1], [2.0, 1], [4.0, 1]]),
    ),
)
def probit(theta, rows):
    a, b = theta
    ll = 0.0
    for dose, group in itertools.groupby(rows.tolist(), key=lambda r: r[0]):
        outcomes = [g[1] for g in group]
        p = special.ndtr(a + b * math.log(dose + 2))
        k, n = sum(outcomes), len(outcomes)
        ll += special.xlogy(k, p) + special.xlog1py(n - k, -p)
    return -ll


# ---------------------------------------------------------------- exposure
@dataclass
class Tank:
    volume: float
    concentration: float = 0.0
    inflows: list = field(default_factory=list)

    def __post_init__(self):
        self.mass = self.volume * self.concentration


@program(
    "pharmacology: a drug in tissues joined by blood flow, doses on a schedule, an area under the curve",
    lambda: (np.array([5.0, 1.5, 40.0]), np.array([1.5, 0.7, 0.3]), 0.9),
    wrt=(0, 1, 2),
    refused="a call of the class ChainMap",
)
def exposure(volumes, flows, clearance):
    names = ("blood", "liver", "muscle")
    tanks = {name: Tank(v) for name, v in zip(names, volumes)}
    tanks["liver"].inflows.append(("blood", flows[1]))
    tanks["muscle"].inflows += [("blood", flows[2])]
    tanks["blood"].inflows.extend([("liver", flows[1]), ("muscle", flows[2])])
    partition = ChainMap({"liver": 2.0}, {"blood": 1.0, "liver": 1.0, "muscle": 0.8})
    doses = deque([(0.0, 100.0), (6.0, 50.0), (12.0, 50.0)])
    dt, t, auc, peak = 0.05, 0.0, 0.0, 0.0
    while t < 18.0:
        while doses and doses[0][0] <= t + 1e-9:
            tanks["blood"].mass += doses.popleft()[1]
        level = {name: tank.mass / (tank.volume * partition[name]) for name, tank in tanks.items()}
        for name, tank in tanks.items():
            for source, q in tank.inflows:
                tank.mass += dt * q * level[source]
                tanks[source].mass -= dt * q * level[source]
        tanks["liver"].mass -= dt * clearance * level["liver"]
        auc += dt * level["blood"]
        peak = max(peak, level["muscle"])
        t += dt
    return auc / 10.0 + peak
