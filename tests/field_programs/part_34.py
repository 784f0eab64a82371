import cmath
import math
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import reduce
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
from scipy import integrate, linalg, special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# glaciology: shallow ice flowline, sliding laws chosen by zone, calving by exception
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


@prog("glaciology", lambda: (np.linspace(1.2, 0.3, 12), 0.8, 0.15), (0, 1, 2))
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


# oceanography: equation of state polynomials by dictionary, mixed layer by while loop with break
EOS = {"T": (-0.2, -0.005), "S": (0.8,), "ref": 26.0}


@prog(
    "oceanography", lambda: (np.array([18.0, 17.5, 15.0, 11.0, 8.0]), np.array([35.2, 35.1, 35.0, 34.8, 34.7])), (0, 1)
)
def mixed_layer(T, S, dz=10.0):
    def sigma(t, s):
        terms = {"T": t - 10.0, "S": s - 35.0}
        return EOS["ref"] + sum(c * v ** (k + 1) for key, v in terms.items() for k, c in enumerate(EOS[key]))

    density = [sigma(t, s) for t, s in zip(T, S)]
    depth = 0.0
    for k, (upper, lower) in enumerate(pairwise(density)):
        if lower - density[0] > 0.5:
            depth += dz * (0.5 - (upper - density[0])) / (lower - upper)
            break
        depth += dz
    else:
        depth = math.nan
    n2 = [9.81 / 1025 * (b - a) / dz for a, b in pairwise(density)]
    return depth * 0.01 + max(n2) * 1e3 + math.sqrt(sum(v * v for v in n2)) * 100


# seismology: layered ray tracing with namedtuple layers, Snell's law and a critical angle error
Layer = namedtuple("Layer", "thickness vp vs rho", defaults=(2.6,))


class Critical(ValueError):
    pass


def leg(layer, p, wave="P"):
    v = layer.vp if wave == "P" else layer.vs
    if p * v >= 1:
        raise Critical(f"critical angle in {layer}")
    cos = math.sqrt(1 - (p * v) ** 2)
    return layer.thickness * p * v / cos, layer.thickness / (v * cos)


@prog("seismology", lambda: (np.array([[1.0, 3.0, 1.7], [2.0, 4.5, 2.6], [3.0, 6.0, 3.5]]), 0.12), (0, 1))
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


# power systems: economic dispatch by lambda iteration, generator classes with limits, piecewise costs
class Unit(ABC):
    limits = (0.0, 2.0)

    @abstractmethod
    def output(self, lam): ...

    def dispatch(self, lam):
        lo, hi = self.limits
        return min(max(self.output(lam), lo), hi)


@dataclass
class Thermal(Unit):
    a: float
    b: float
    name: str = "thermal"

    def output(self, lam):
        return (lam - self.b) / (2 * self.a)

    def cost(self, p):
        return self.a * p**2 + self.b * p


@dataclass
class Hydro(Unit):
    value: float
    name: str = "hydro"
    limits = (0.1, 1.0)

    def output(self, lam):
        return 1 / (1 + math.exp(-4 * (lam - self.value)))

    def cost(self, p):
        return self.value * p + 0.1 * math.log1p(p)


@prog("power systems", lambda: (np.array([0.5, 0.8, 0.35]), np.array([1.0, 0.7, 1.3]), 2.4), (0, 1, 2))
def dispatch(a, b, demand):
    units = [*(Thermal(ai, bi) for ai, bi in zip(a, b)), Hydro(1.1)]
    lam = 1.5
    for _ in range(30):
        supply = sum(u.dispatch(lam) for u in units)
        h = 1e-5
        slope = (sum(u.dispatch(lam + h) for u in units) - sum(u.dispatch(lam - h) for u in units)) / (2 * h)
        if slope <= 0:
            raise RuntimeError("no unit can move")
        lam += (demand - supply) / slope
        if abs(demand - supply) < 1e-12:
            break
    total = defaultdict(float)
    for u in units:
        total[u.name] += u.cost(u.dispatch(lam))
    return total["thermal"] + 2 * total["hydro"] + lam


# cosmology: distances by quad, growth by odeint, parameters in a frozen dataclass
@dataclass(frozen=True)
class Cosmology:
    h: float
    om: float
    w0: float = -1.0

    @property
    def ode(self):
        return 1 - self.om

    def E(self, z):
        return np.sqrt(self.om * (1 + z) ** 3 + self.ode * (1 + z) ** (3 * (1 + self.w0)))

    def modulus(self, z):
        d, _ = integrate.quad(lambda t: 1 / self.E(t), 0, z)
        return 5 * np.log10((1 + z) * d * 2997.92 / self.h) + 25


@prog("cosmology", lambda: (0.7, 0.3, -0.95), (0, 1, 2))
def supernovae(h, om, w0):
    cosmo = Cosmology(h, om)
    other = replace(cosmo, w0=w0)
    zs = (0.1, 0.4, 0.9)
    data = {0.1: 38.3, 0.4: 41.7, 0.9: 43.9}
    chi2 = sum((model.modulus(z) - data[z]) ** 2 / 0.02 for model in (cosmo, other) for z in zs)
    return chi2 + asdict(other)["w0"] ** 2


# phylogenetics: Felsenstein pruning on a nested tuple tree, Jukes-Cantor and Kimura as strategies
class JukesCantor:
    def P(self, t):
        e = np.exp(-4 * t / 3)
        return np.full((4, 4), 0.25 - 0.25 * e) + np.eye(4) * e


class Kimura:
    def __init__(self, kappa):
        self.kappa = kappa

    def P(self, t):
        Q = np.ones((4, 4))
        for i, j in ((0, 2), (2, 0), (1, 3), (3, 1)):
            Q[i, j] = self.kappa
        np.fill_diagonal(Q, 0)
        Q = Q / Q.sum(1)[0]
        np.fill_diagonal(Q, -Q.sum(1))
        return linalg.expm(Q * t)


@prog("phylogenetics", lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.05]), 2.5), (0, 1))
def tree_likelihood(t, kappa):
    sites = ("ACGT", "AAGA", "CCGT")
    tree = ((0, 1), (2, 3))

    def partials(node, site, model):
        if isinstance(node, int):
            v = np.zeros(4)
            v["ACGT".index(site[node])] = 1.0
            return model.P(t[node]) @ v
        return reduce(np.multiply, (partials(child, site, model) for child in node))

    total = 0.0
    for model, weight in ((JukesCantor(), 0.4), (Kimura(kappa), 0.6)):
        for site in sites:
            left, right = (partials(half, site, model) for half in tree)
            total += weight * np.log(0.25 * np.sum(left * (model.P(t[4]) @ right)))
    return -total


# acoustics: duct network by transfer matrices, elements in a list of different classes
class Duct:
    def __init__(self, length, area):
        self.length, self.area = length, area

    def matrix(self, k):
        z = 1 / self.area
        c, s = np.cos(k * self.length), np.sin(k * self.length)
        return np.array([[c, 1j * z * s], [1j / z * s, c]])


class Helmholtz:
    def __init__(self, volume, neck):
        self.volume, self.neck = volume, neck

    def matrix(self, k):
        z = 1j * (k * 0.1 / self.neck - 1 / (k * self.volume)) + 0.05
        return np.array([[1, 0], [1 / z, 1]])


@prog("acoustics", lambda: (np.array([0.5, 0.8]), np.array([1.0, 2.0]), 0.02), (0, 1, 2))
def muffler(lengths, areas, volume):
    elements = [Duct(lengths[0], areas[0]), Helmholtz(volume, 0.01), Duct(lengths[1], areas[1])]
    tl = []
    for f in np.linspace(50, 300, 6):
        k = 2 * np.pi * f / 343.0
        T = np.eye(2, dtype=complex)
        for i in range(len(elements)):
            T = T @ elements[i].matrix(k)
        total = T[0, 0] + T[0, 1] + T[1, 0] + T[1, 1]
        tl.append(20 * np.log10(np.abs(total) / 2))
    return np.mean(tl) + max(tl)


# traffic: intelligent driver model on a ring, cars as dicts, following types chosen per driver
DRIVERS = {"calm": dict(a=0.8, b=1.5, T=1.6), "fast": dict(a=1.4, b=2.0, T=1.0)}


@prog("traffic", lambda: (np.array([28.0, 30.0, 25.0, 33.0]), 1.1), (0, 1))
def ring_road(v0, gap_factor):
    kinds = ["calm", "fast", "calm", "fast"]
    cars = [{"x": 20.0 * i, "v": 8.0 + i, "kind": kind} for i, kind in enumerate(kinds)]
    length = 90.0
    for step in range(40):
        accelerations = []
        for i, car in enumerate(cars):
            ahead = cars[(i + 1) % len(cars)]
            gap = (ahead["x"] - car["x"]) % length - 4.0
            p = DRIVERS[car["kind"]]
            dv = car["v"] - ahead["v"]
            s = 2.0 + max(0.0, gap_factor * p["T"] * car["v"] + car["v"] * dv / (2 * math.sqrt(p["a"] * p["b"])))
            accelerations.append(p["a"] * (1 - (car["v"] / v0[i]) ** 4 - (s / gap) ** 2))
        for car, acc in zip(cars, accelerations):
            car["x"] += 0.1 * car["v"]
            car["v"] = max(car["v"] + 0.1 * acc, 0.0)
    speeds = np.array([c["v"] for c in cars])
    return speeds.mean() - speeds.var()


# robotics: inverse kinematics with damped least squares, joints of several types, joint limits raise
class JointLimit(Exception):
    pass


class Joint:
    def __init__(self, kind, offset, limit):
        self.kind = kind
        self.offset = offset
        self.limit = limit

    def transform(self, q):
        if abs(q) > self.limit:
            raise JointLimit(q)
        c, s = np.cos(q), np.sin(q)
        if self.kind == "revolute":
            return np.array([[c, -s, self.offset * c], [s, c, self.offset * s], [0.0, 0.0, 1.0]])
        return np.array([[1.0, 0.0, self.offset + q], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@prog("robotics", lambda: (np.array([1.0, 0.8, 0.3]), np.array([1.2, 0.9])), (0, 1))
def reach(lengths, target):
    joints = [Joint(k, l, m) for k, l, m in zip(("revolute", "revolute", "prismatic"), lengths, (3.0, 2.5, 2.0))]

    def forward(q):
        T = np.eye(3)
        for joint, angle in zip(joints, q):
            T = T @ joint.transform(angle)
        return T[:2, 2]

    q = np.array([0.3, 0.5, 0.0])
    clipped = 0
    for _ in range(8):
        e = target - forward(q)
        J = np.column_stack([(forward(q + d) - forward(q - d)) / 2e-4 for d in 1e-4 * np.eye(3)])
        dq = np.linalg.solve(J.T @ J + 0.05 * np.eye(3), J.T @ e)
        try:
            forward(q + dq)
            q = q + dq
        except JointLimit:
            clipped += 1
            q = q + 0.3 * dq
    return np.linalg.norm(target - forward(q)) * 10 + q @ q + clipped


# hydrology: cascade of reservoirs, rating curve with interp, units in a bag of attributes
@prog("hydrology", lambda: (np.array([0.3, 0.5, 0.2]), np.array([5.0, 12.0, 3.0, 0.0, 8.0, 1.0, 0.0, 0.0])), (0, 1))
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


# crystallography: structure factors with symmetry operations as lambdas, atoms by element
FORM = {"Na": (4.8, 3.3), "Cl": (11.5, 1.2)}
SYMMETRY = [lambda r: r, lambda r: -r, lambda r: np.array([r[1], r[0], r[2]])]


@prog("crystallography", lambda: (np.array([[0.1, 0.2, 0.3], [0.4, 0.15, 0.25]]), np.array([0.5, 0.8])), (0, 1))
def structure_factors(positions, B):
    atoms = [dict(element=e, r=p, B=b) for e, p, b in zip(["Na", "Cl"], positions, B)]
    hkl = [(1, 0, 0), (1, 1, 0), (2, 1, 1), (0, 0, 2)]
    observed = dict(zip(hkl, (8.0, 5.0, 6.5, 4.0)))
    num = den = 0.0
    for h in hkl:
        F = 0j
        s2 = sum(i * i for i in h) / 4
        for atom in atoms:
            a, b = FORM[atom["element"]]
            f = a * np.exp(-b * s2 / 10) * np.exp(-atom["B"] * s2)
            for op in SYMMETRY:
                F += f * cmath.exp(2j * np.pi * np.dot(h, op(atom["r"])))
        num += abs(abs(F) - observed[h])
        den += observed[h]
    return num / den


# credit risk: transition matrices, default raised inside simulation, cash flows of several instruments
class Default(Exception):
    def __init__(self, time, recovery):
        self.time = time
        self.recovery = recovery


def cash_flows(kind, rate, years):
    if kind == "bullet":
        return [rate] * (years - 1) + [1 + rate]
    if kind == "annuity":
        payment = rate / (1 - (1 + rate) ** -years)
        return [payment] * years
    raise ValueError(kind)


@prog("credit risk", lambda: (0.05, 0.03, np.array([0.02, 0.05, 0.1])), (0, 1, 2))
def portfolio(coupon, rate, hazard):
    draws = [0.5, 0.03, 0.9, 0.2, 0.01, 0.7]
    grades = ["A", "B", "C"]

    def pay(kind, grade, draw):
        survival = 1.0
        value = 0.0
        for t, cf in enumerate(cash_flows(kind, coupon, 4), start=1):
            survival *= math.exp(-hazard[grades.index(grade)])
            if 1 - survival > draw:
                raise Default(t, 0.4 * survival)
            value += cf * survival / (1 + rate) ** t
        return value

    total, defaults = 0.0, Counter()
    for n, u in enumerate(draws):
        grade = grades[n % 3]
        try:
            total += pay("bullet" if n < 4 else "annuity", grade, u)
        except Default as d:
            total += d.recovery / (1 + rate) ** d.time
            defaults[grade] += 1
    return total - 0.1 * sum(defaults.values())


# psychophysics: psychometric functions picked by name, likelihood with lapses, staircase with reversals
def weibull(x, a, b):
    return 1 - np.exp(-((x / a) ** b))


PSYCHOMETRIC = OrderedDict(logistic=lambda x, a, b: special.expit(b * (x - a)), weibull=weibull)


@prog("psychophysics", lambda: (1.2, 2.5, 0.02), (0, 1, 2))
def staircase(threshold, slope, lapse):
    answers = [0.1, 0.6, 0.3, 0.8, 0.95, 0.4, 0.2, 0.7]
    level, step, direction = 2.0, 0.4, -1
    nll, reversals = 0.0, []
    names = list(PSYCHOMETRIC)
    for n, u in enumerate(answers):
        psi = PSYCHOMETRIC[names[n % 2]](level, threshold, slope)
        p = 0.5 + (0.5 - lapse) * psi
        correct = u < 0.7
        nll -= math.log(p if correct else 1 - p)
        new = -1 if correct else 1
        if new != direction:
            reversals.append(level)
            step *= 0.7
        direction = new
        level = max(level + direction * step, 0.1)
    return nll + (np.mean(reversals) if reversals else 0.0) * threshold


# ecology: food web with functional responses as strategies held by links
@dataclass
class Link:
    prey: int
    predator: int
    response: object
    efficiency: float = 0.3


class Holling2:
    def __init__(self, a, h):
        self.a, self.h = a, h

    def rate(self, n):
        return self.a * n / (1 + self.a * self.h * n)


class Holling3(Holling2):
    def rate(self, n):
        return super().rate(n**2)


class Linear:
    def __init__(self, a):
        self.a = a

    def rate(self, n):
        return self.a * n


@prog("ecology", lambda: (np.array([1.0, 0.5, 0.3, 0.2]), 1.2, 0.4), (0, 1, 2))
def food_web(start, attack, handling):
    links = [Link(0, 1, Holling2(attack, handling)), Link(0, 2, Linear(0.3)), Link(1, 3, Holling3(attack, 0.5), 0.2)]
    growth = {0: 1.0, 1: -0.2, 2: -0.15, 3: -0.1}
    N = start.copy()
    for _ in range(60):
        dN = np.array([growth[i] * n * (1 - n / 2 if growth[i] > 0 else 1) for i, n in enumerate(N)])
        for l in range(len(links)):
            link = links[l]
            eaten = link.response.rate(N[link.prey]) * N[link.predator]
            dN[link.prey] -= eaten
            dN[link.predator] += link.efficiency * eaten
        N = np.maximum(N + 0.05 * dN, 1e-6)
    p = N / N.sum()
    return -np.sum(p * np.log(p)) + N[3]


# nuclear: Bateman chain by expm, decay modes enum, branching dictionary
class Mode(Enum):
    BETA = 1
    ALPHA = 2


CHAIN = {"A": [("B", Mode.BETA, 0.7), ("C", Mode.ALPHA, 0.3)], "B": [("C", Mode.BETA, 1.0)], "C": []}
ENERGY = {Mode.BETA: 0.8, Mode.ALPHA: 5.2}


@prog("nuclear", lambda: (np.array([0.5, 0.2, 0.05]), 3.0), (0, 1))
def decay_heat(lam, t):
    names = list(CHAIN)
    rate = dict(zip(names, lam))
    M = np.zeros((3, 3))
    for parent, products in CHAIN.items():
        i = names.index(parent)
        M[i, i] -= rate[parent]
        for child, mode, share in products:
            M[names.index(child), i] += share * rate[parent]
    n = linalg.expm(M * t) @ np.array([1.0, 0.2, 0.0])
    heat = 0.0
    for parent, products in CHAIN.items():
        activity = rate[parent] * n[names.index(parent)]
        heat += sum(share * ENERGY[mode] * activity for _, mode, share in products)
    return heat + n @ n


# audio: biquad filter chain and compressor with state objects, deque delay
class Biquad:
    def __init__(self, b, a):
        self.b, self.a = b, a
        self.z = [0.0, 0.0]

    def process(self, x):
        y = self.b[0] * x + self.z[0]
        self.z[0] = self.b[1] * x - self.a[1] * y + self.z[1]
        self.z[1] = self.b[2] * x - self.a[2] * y
        return y


class Compressor:
    def __init__(self, threshold, ratio):
        self.threshold, self.ratio = threshold, ratio
        self.level = 0.0

    def process(self, x):
        self.level = 0.9 * self.level + 0.1 * abs(x)
        over = max(self.level - self.threshold, 0.0)
        return x / (1 + over * (self.ratio - 1))


@prog("audio", lambda: (0.25, 4.0, rng(3).normal(size=24)), (0, 1, 2))
def effects(cutoff, ratio, samples):
    w = math.tan(math.pi * cutoff / 2)
    n = 1 / (1 + math.sqrt(2) * w + w * w)
    low = Biquad([w * w * n, 2 * w * w * n, w * w * n], [1.0, 2 * (w * w - 1) * n, (1 - math.sqrt(2) * w + w * w) * n])
    chain = [low, Compressor(0.2, ratio)]
    delay = deque([0.0] * 3, maxlen=3)
    out = []
    for s in samples:
        for stage in chain:
            s = stage.process(s)
        echo = delay.popleft()
        delay.append(s + 0.3 * echo)
        out.append(s + 0.5 * echo)
    return np.sqrt(np.mean(np.square(out))) + np.max(out)


# thermodynamics: cubic equations of state as classes, root choice, error where there is none
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


@prog("thermodynamics", lambda: (1.0, 0.2, 0.9), (0, 1, 2))
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


# sports: Elo ratings with dictionary updates, home advantage, streak bonus by groups
GAMES = [("ajax", "bayern", 1), ("bayern", "celtic", 0.5), ("celtic", "ajax", 0), ("ajax", "celtic", 1)]


@prog("sports", lambda: ({"ajax": 1500.0, "bayern": 1600.0, "celtic": 1450.0}, 20.0, 60.0), (0, 1, 2))
def elo(ratings, K, home):
    ratings = dict(ratings)
    history = defaultdict(list)
    loss = 0.0
    for at_home, away, result in GAMES:
        expected = 1 / (1 + 10 ** ((ratings[away] - ratings[at_home] - home) / 400))
        loss -= result * math.log(expected) + (1 - result) * math.log(1 - expected)
        change = K * (result - expected)
        for team, sign in ((at_home, 1), (away, -1)):
            ratings[team] += sign * change
            history[team].append(sign * change)
    best = max(ratings, key=ratings.get)
    return loss + 0.01 * ratings[best] + sum(len(h) * max(h) for h in history.values()) * 0.01


# plasma: dispersion relation root by Newton in the complex plane, species as named tuples
Species = namedtuple("Species", ["name", "density", "temperature", "mass"])


@prog("plasma", lambda: (np.array([1.0, 0.1]), 0.35), (0, 1))
def ion_acoustic(density, k):
    species = [Species("hot", density[0], 1.0, 1.0), Species("cold", density[1], 0.05, 1.0)]

    def eps(w):
        total = 1 + 0j
        for s in species:
            wp2 = s.density / s.mass
            vt2 = s.temperature / s.mass
            total -= wp2 / (w * w - 3 * k * k * vt2)
        return total

    w = 1.2 + 0.05j
    for _ in range(12):
        h = 1e-5
        w = w - eps(w) * 2 * h / (eps(w + h) - eps(w - h))
    return abs(w) ** 2 + cmath.phase(w + 1j)


# agriculture: crop growth with phenological stages as a state machine
class Stage(Enum):
    VEGETATIVE = "veg"
    FLOWERING = "flower"
    RIPE = "ripe"


@prog("agriculture", lambda: (np.array([14.0, 18.0, 22.0, 25.0, 20.0, 16.0]), 3.0, 0.5), (1, 2))
def crop_yield(temps, rue, kext):
    stage, gdd, lai, biomass, grain = Stage.VEGETATIVE, 0.0, 0.3, 0.0, 0.0
    thresholds = {Stage.VEGETATIVE: 25.0, Stage.FLOWERING: 50.0}
    for t in temps:
        gdd += max(t - 8.0, 0.0)
        absorbed = 10.0 * (1 - math.exp(-kext * lai))
        growth = rue * absorbed * (1.0 if t < 24 else 0.8)
        if stage is Stage.VEGETATIVE:
            lai += 0.1 * growth / 3
        elif stage is Stage.FLOWERING:
            grain += 0.6 * growth
        else:
            lai *= 0.8
            grain += 0.2 * growth
        biomass += growth
        if stage in thresholds and gdd > thresholds[stage]:
            stage = Stage.FLOWERING if stage is Stage.VEGETATIVE else Stage.RIPE
    return grain / biomass + 0.01 * grain


# photonics: multilayer mirror, materials by Sellmeier coefficients or constants, lookup with fallback
class Material:
    def __init__(self, index):
        self.index = index

    def n(self, lam):
        return self.index


class Sellmeier(Material):
    def __init__(self, *terms):
        self.terms = terms

    def n(self, lam):
        return np.sqrt(1 + sum(b * lam**2 / (lam**2 - c) for b, c in self.terms))


@prog("photonics", lambda: (np.array([0.1, 0.15, 0.1, 0.15]), 2.3, 1.1), (0, 1, 2))
def mirror(d, high, b1):
    library = {"H": Material(high), "L": Sellmeier((b1, 0.01), (0.2, 0.05))}
    stack = "HLHL"
    reflect = []
    for lam in (0.5, 0.6, 0.7):
        M = np.eye(2, dtype=complex)
        for name, thickness in zip(stack, d):
            n = library.get(name, Material(1.0)).n(lam)
            delta = 2 * np.pi * n * thickness / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        B, C = M @ np.array([1.0, 1.5])
        reflect.append(abs((B - C) / (B + C)) ** 2)
    return sum(reflect) / len(reflect)


# tribology: bearing with Reynolds equation by SOR until converged, raising when it does not
class NotConverged(RuntimeError):
    def __init__(self, residual):
        super().__init__("no convergence", residual)
        self.residual = residual


def pressure_field(h, omega, tol, limit=200):
    p = np.zeros_like(h)
    for it in range(limit):
        change = 0.0
        for i in range(1, len(h) - 1):
            he, hw = 0.5 * (h[i] + h[i + 1]), 0.5 * (h[i] + h[i - 1])
            new = (he**3 * p[i + 1] + hw**3 * p[i - 1] - 0.1 * (he - hw)) / (he**3 + hw**3)
            step = omega * (max(new, 0.0) - p[i])
            p[i] += step
            change = max(change, abs(step))
        if change < tol:
            return p
    raise NotConverged(change)


@prog("tribology", lambda: (0.6, 1.0), (0, 1))
def bearing(eccentricity, clearance):
    theta = np.linspace(0, 2 * np.pi, 14)
    h = clearance * (1 + eccentricity * np.cos(theta))
    try:
        p = pressure_field(h, 1.9, 1e-13, limit=30)
    except NotConverged as failure:
        omega = 1.2 if failure.residual > 1e-12 else 1.0
        p = pressure_field(h, omega, 1e-13, limit=600)
    return np.sum(p * np.cos(theta)) ** 2 + np.sum(p)


# demography: Leslie matrices per scenario, dictionary of rates overridden by updates
BASE = {"fertility": [0.0, 1.2, 0.8], "survival": [0.7, 0.9]}


@prog("demography", lambda: (np.array([1.2, 0.8]), np.array([0.7, 0.9])), (0, 1))
def projection(fertility, survival):
    scenarios = {"base": {}, "low": {"fertility": [0.0, *(0.8 * fertility)]}, "health": {"survival": survival**0.5}}
    growth = []
    for name, override in scenarios.items():
        rates = {"fertility": [0.0, *fertility], "survival": survival, **override}
        L = np.zeros((3, 3))
        L[0] = rates["fertility"]
        for k, s in enumerate(rates["survival"]):
            L[k + 1, k] = s
        n = np.array([1.0, 0.8, 0.5])
        for _ in range(10):
            n = L @ n
        growth.append(np.log(n.sum() / 2.3) / 10)
    return sum(growth) + max(growth) - min(growth)


# metrology: combined standard uncertainty with correlated inputs, partial derivatives by differences
@prog("metrology", lambda: (np.array([10.0, 2.0, 0.5]), np.array([0.1, 0.05, 0.01])), (0, 1))
def uncertainty(values, sigmas):
    def resistance(v, i, offset):
        if i == offset:
            raise ZeroDivisionError
        return v / (i - offset)

    names = ("v", "i", "offset")
    point = dict(zip(names, values))

    def sensitivity(name, h=1e-5):
        up = resistance(**{**point, name: point[name] + h})
        down = resistance(**{**point, name: point[name] - h})
        return (up - down) / (2 * h)

    c = {n: sensitivity(n) for n in names}
    u = dict(zip(names, sigmas))
    correlation = {("v", "i"): 0.3}
    var = sum((c[n] * u[n]) ** 2 for n in names)
    var += 2 * sum(c[a] * c[b] * u[a] * u[b] * correlation.get((a, b), 0.0) for a, b in combinations(names, 2))
    return math.sqrt(var) / resistance(**point)


# meteorology: parcel ascent, lifted until it condenses, schemes of vapour pressure by name, sounding with missing levels
def bolton(T):
    return 6.112 * np.exp(17.67 * T / (T + 243.5))


def magnus(T):
    return 6.1094 * np.exp(17.625 * T / (T + 243.04))


SCHEMES = {"bolton": bolton, "magnus": magnus}


@prog("meteorology", lambda: (np.array([25.0, 18.0, 9.0, -2.0, -15.0]), 18.0), (0,))
def parcel(environment, dewpoint):
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
