"""Structures, vibrations, machines and muscles."""

import itertools
import math
from abc import ABC, abstractmethod
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.linalg import solve
from scipy import linalg
from scipy.linalg import eigh

from tests.field_programs import program


# ---------------------------------------------------------------- duffing
class Force:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        raise NotImplementedError


class Spring(Force):
    def __call__(self, x):
        return -self.k * x


class Duffing(Force):
    def __init__(self, k, b):
        super().__init__(k)
        self.b = b

    def __call__(self, x):
        return -self.k * x - self.b * x**3


class Particle:
    def __init__(self, x, v, m):
        self.x, self.v, self.m = x, v, m

    @property
    def energy(self):
        return 0.5 * self.m * self.v**2

    def kick(self, f, dt):
        self.v += f(self.x) / self.m * dt
        return self

    def drift(self, dt):
        self.x += self.v * dt
        return self


@program("particle tracking: class with inheritance and property", lambda: (1.3, 0.4), wrt=(0, 1))
def duffing(k, b):
    fs = [Spring(k), Duffing(k, b)]
    ps = [Particle(1.0, 0.0, 1.0 + 0.5 * i) for i in range(2)]
    for _ in range(25):
        for p, f in zip(ps, fs):
            p.kick(f, 0.05).drift(0.1).kick(f, 0.05)
    return sum(p.energy for p in ps) + ps[-1].x


# ---------------------------------------------------------------- truss_compliance
def bar_stiffness(E, A, L):
    return E * A / L * np.array([[1.0, -1.0], [-1.0, 1.0]])


def _truss_args():
    nodes = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [0.1, 1.0], [1.1, 1.2]])
    elements = [(0, 1), (1, 2), (0, 3), (3, 4), (1, 3), (1, 4), (2, 4), (0, 4)]
    loads = np.zeros(10)
    loads[[3, 8, 9]] = [-1.5, 0.4, -1.0]
    return np.linspace(0.8, 1.5, 8), nodes, elements, loads, np.array([0, 1, 5])


@program("finite elements: compliance of a plane truss assembled element by element", _truss_args, wrt=(0, 1))
def truss_compliance(areas, nodes, elements, loads, fixed, E=200.0):
    """Compliance of a plane truss assembled element by element."""
    ndof = 2 * len(nodes)
    K = np.zeros((ndof, ndof))
    for e, (i, j) in enumerate(elements):
        d = nodes[j] - nodes[i]
        L = np.linalg.norm(d)
        c, s = d / L
        T = np.array([[c, s, 0, 0], [0, 0, c, s]])
        ke = T.T @ bar_stiffness(E, areas[e], L) @ T
        dofs = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dofs, dofs)] += ke
    free = np.setdiff1d(np.arange(ndof), fixed)
    u = np.zeros(ndof)
    u[free] = solve(K[np.ix_(free, free)], loads[free])
    return loads @ u


# ---------------------------------------------------------------- truss_fem
@program(
    "finite elements: compliance of a truss",
    lambda: (np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.3]), np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])),
    wrt=(0, 1),
)
def truss_fem(area, nodes):
    bars = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
    K = np.zeros((8, 8))
    for e, (i, j) in enumerate(bars):
        d = nodes[j] - nodes[i]
        L = np.hypot(*d)
        c = d / L
        k = 100 * area[e] / L * np.outer(c, c)
        dof = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dof, dof)] += np.block([[k, -k], [-k, k]])
    free = [2, 4, 5, 7]
    f = np.array([0.0, 1.0, -1.0, 0.5])
    u = np.linalg.solve(K[np.ix_(free, free)], f)
    return f @ u


# ---------------------------------------------------------------- frame_assembly
Element = namedtuple("Element", "i j E A")


@program(
    "structural: frame assembly with dict of dof, np.ix_",
    lambda: (np.array([1.0, 2.0, 1.5]), np.array([[0.0, 0], [1, 0], [0.4, 1.0]])),
    wrt=(0, 1),
)
def frame_assembly(areas, nodes):
    elements = [Element(0, 1, 10.0, areas[0]), Element(1, 2, 10.0, areas[1]), Element(0, 2, 10.0, areas[2])]
    K = np.zeros((6, 6))
    for e in elements:
        dx = nodes[e.j] - nodes[e.i]
        L = np.hypot(*dx)
        c, s = dx / L
        k = e.E * e.A / L
        T = np.array([-c, -s, c, s])
        dof = [2 * e.i, 2 * e.i + 1, 2 * e.j, 2 * e.j + 1]
        K[np.ix_(dof, dof)] += k * np.outer(T, T)
    fixed = {0, 1, 3}
    free = [i for i in range(6) if i not in fixed]
    f = np.zeros(6)
    f[5] = -1.0
    f[4] = 0.3
    u = np.zeros(6)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return f @ u


# ---------------------------------------------------------------- truss
@program(
    "structural engineering: truss by direct stiffness, np.ix_, elements as list of tuples, reactions",
    lambda: (np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5], [3.0, 1.4]]), np.array([1.0, 1.2, 0.8, 1.5, 1.1])),
    wrt=(0, 1),
)
def truss(nodes, area):
    elems = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    ndof = 2 * len(nodes)
    K = np.zeros((ndof, ndof))
    for A, (i, j) in zip(area, elems):
        d = nodes[j] - nodes[i]
        L = np.linalg.norm(d)
        c, s = d / L
        T = np.array([[c, s, 0, 0], [0, 0, c, s]])
        k = 200.0 * A / L * np.array([[1, -1], [-1, 1]])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += T.T @ k @ T
    fixed = [0, 1, 3]
    free = np.setdiff1d(np.arange(ndof), fixed)
    F = np.zeros(ndof)
    F[[5, 7]] = -1.0, -2.0
    u = np.zeros(ndof)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    reactions = K[fixed] @ u
    stress = []
    for i, j in elems:
        d = nodes[j] - nodes[i]
        stress.append(200 * d @ (u[2 * j : 2 * j + 2] - u[2 * i : 2 * i + 2]) / (d @ d))
    return F @ u + np.max(np.abs(stress)) + reactions[2]


# ---------------------------------------------------------------- newmark_peak
@program(
    "structural dynamics: linear SDOF under ground acceleration; p-norm of the displacement as a smooth peak",
    lambda: (1.2, 0.8, 240.0, 3.0 * np.sin(13.0 * np.arange(30) * 0.02) * np.exp(-np.arange(30) / 20)),
    wrt=(0, 1, 2, 3),
)
def newmark_peak(m, c, k, ground, dt=0.02, beta=0.25, gamma=0.5):
    """Linear SDOF under ground acceleration; p-norm of the displacement as a smooth peak."""
    u, v = 0.0, 0.0
    a = -ground[0]
    keff = k + gamma / (beta * dt) * c + m / (beta * dt**2)
    disp = []
    for ag in ground[1:]:
        p = -m * ag
        p += m * (u / (beta * dt**2) + v / (beta * dt) + (1 / (2 * beta) - 1) * a)
        p += c * (gamma / (beta * dt) * u + (gamma / beta - 1) * v + dt * (gamma / (2 * beta) - 1) * a)
        u_new = p / keff
        v_new = gamma / (beta * dt) * (u_new - u) + (1 - gamma / beta) * v + dt * (1 - gamma / (2 * beta)) * a
        a = (u_new - u) / (beta * dt**2) - v / (beta * dt) - (1 / (2 * beta) - 1) * a
        u, v = u_new, v_new
        disp.append(u)
    return np.linalg.norm(np.array(disp), ord=8)


# ---------------------------------------------------------------- newmark
@program(
    "structural dynamics: Newmark with assembled matrices",
    lambda: (np.array([1000.0, 800.0, 600.0]), np.sin(np.arange(60) * 0.3)),
)
def newmark(k, quake):
    n = k.size
    K = np.zeros((n, n))
    for e in range(n):
        K[e, e] += k[e]
        if e > 0:
            K[e - 1, e - 1] += k[e]
            K[e - 1, e] -= k[e]
            K[e, e - 1] -= k[e]
    M = np.diag([2.0, 2.0, 1.5])
    C = 0.02 * M + 0.002 * K
    beta, gamma, dt = 0.25, 0.5, 0.05
    u, v = np.zeros(n), np.zeros(n)
    a = np.linalg.solve(M, -M.sum(1) * quake[0])
    Keff = K + gamma / (beta * dt) * C + M / (beta * dt**2)
    lu = linalg.lu_factor(Keff)
    drift = 0.0
    for ag in quake[1:]:
        p = -M @ np.ones(n) * ag
        rhs = p + M @ (u / (beta * dt**2) + v / (beta * dt) + (1 / (2 * beta) - 1) * a)
        rhs += C @ (gamma / (beta * dt) * u + (gamma / beta - 1) * v + dt * (gamma / (2 * beta) - 1) * a)
        un = linalg.lu_solve(lu, rhs)
        an = (un - u) / (beta * dt**2) - v / (beta * dt) - (1 / (2 * beta) - 1) * a
        v = v + dt * ((1 - gamma) * a + gamma * an)
        u, a = un, an
        drift += np.sum(np.diff(u, prepend=0.0) ** 2)
    return drift * 1e4


# ---------------------------------------------------------------- modal_update
def frequencies(k, m):
    """Natural frequencies of a chain of masses fixed on the left."""
    n = len(m)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] = k[i] + (k[i + 1] if i + 1 < n else 0.0)
        if i + 1 < n:
            K[i, i + 1] = K[i + 1, i] = -k[i + 1]
    w2 = eigh(K, np.diag(m), eigvals_only=True)
    return np.sqrt(w2) / (2 * np.pi)


@program(
    "structural vibration: modal updating",
    lambda: (
        np.array([900.0, 700.0, 800.0, 500.0]),
        np.array([2.0, 1.5, 1.2, 1.0]),
        np.array([1.2, 3.1, 5.2, 6.9]),
    ),
    wrt=(0, 1),
)
def modal_update(k, m, measured):
    f = frequencies(k, m)
    return np.sum(((f - measured) / measured) ** 2)


# ---------------------------------------------------------------- catenary
@program("civil: catenary cable by bisection, with assert", lambda: (100.0, 120.0, 10.0), wrt=(0, 1, 2))
def catenary(span, length, h):
    assert length > np.hypot(span, h), "cable too short"
    lo, hi = 10.0, 1000.0
    g = lambda a: 2 * a * np.sinh(span / (2 * a)) - np.sqrt(length**2 - h**2)
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if g(mid) > 0 else (lo, mid)
    a = 0.5 * (lo + hi)
    a = a - g(a) / (2 * np.sinh(span / (2 * a)) - span / a * np.cosh(span / (2 * a)))
    return a * np.cosh(span / (2 * a))


# ---------------------------------------------------------------- compliance
class TrussElement(ABC):
    def __init__(self, nodes, area):
        self.nodes, self.area = nodes, area

    @abstractmethod
    def stiffness(self, points): ...

    def direction(self, points):
        a, b = (points[k] for k in self.nodes)
        d = b - a
        length = math.hypot(*d)
        return d / length, length


class Bar(TrussElement):
    E = 210.0

    def stiffness(self, points):
        c, length = self.direction(points)
        return self.E * self.area / length * np.outer(c, c)


class Cable(Bar):
    E = 160.0

    def stiffness(self, points):
        return 0.8 * super().stiffness(points)


@program(
    "structural engineering: a truss with bars and a cable, its compliance and weight as an optimiser sees them",
    lambda: (np.array([2.0, 1.5, 1.0, 1.8, 0.7, 0.9]), np.array([1.1, 0.9])),
    wrt=(0, 1),
)
def compliance(areas, shift):
    points = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
    points[2:] += 0.1 * shift
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)]
    elements = [(Cable if k == 5 else Bar)(pair, a) for k, (pair, a) in enumerate(zip(pairs, areas, strict=True))]
    K = np.zeros((8, 8))
    for e in elements:
        k = e.stiffness(points)
        for (p, i), (q, j) in itertools.product(enumerate(e.nodes), repeat=2):
            K[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += (1 if p == q else -1) * k
    free = np.setdiff1d(np.arange(8), [0, 1, 3])
    load = np.zeros(8)
    load[[5, 7]] = -0.02, -0.05
    u = np.linalg.solve(K[np.ix_(free, free)], load[free])
    weight = sum(e.area * e.direction(points)[1] for e in elements)
    return 1e3 * load[free] @ u + 0.1 * weight


# ---------------------------------------------------------------- governing_stay_stress
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


@program(
    "bridge cable forces: the deck of a cable-stayed bridge, its stays shortened until it is level, Ernst's modulus",
    lambda: (np.array([0.0125, 0.0092, 0.0074, 0.0078, 0.0097, 0.0131]), 165.0, 2.4e7, 41.0),
    wrt=(0, 1, 2, 3),
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


# ---------------------------------------------------------------- damage
@program(
    "gear trains: tooth contact stresses of a planetary set, ratios as fractions, life by Miner's rule",
    lambda: (2.5, np.array([180.0, 240.0, 310.0]), 0.32),
    wrt=(0, 1, 2),
)
def damage(module, torques, face):
    sun, planet = 24, 18
    ring = sun + 2 * planet
    ratio = Fraction(ring, sun) + 1
    counts = (4e6, 1.5e6, 2e5)
    total = 0.0
    for torque, cycles in zip(torques, counts):
        share = torque / 3 * 1.1
        radius = module * sun / 2000
        tangential = share / radius
        elastic = 191.0
        geometry = math.prod((2.495, 0.92, math.sqrt((planet / sun + 1) / (planet / sun))))
        stress = elastic * geometry * math.sqrt(1.25 * tangential / (face * 100 * module * sun))
        life = 5e7 * (1350.0 / stress) ** 6.0
        total += cycles * float(ratio) / life
    return total * 100 + 0.01 * module * ring


# ---------------------------------------------------------------- elbow
class Muscle:
    fl = staticmethod(lambda l: np.exp(-(((l - 1) / 0.45) ** 2)))

    def __init__(self, fmax, lopt, vmax):
        self.fmax = fmax
        self.lopt = lopt
        self.vmax = vmax

    def fv(self, v):
        return (self.vmax - v) / (self.vmax + 4 * v) if v >= 0 else 1.5 - 0.5 * (self.vmax + v) / (self.vmax - 7.56 * v)

    def __call__(self, act, l, v):
        ln, vn = l / self.lopt, v / self.lopt
        return self.fmax * (act * self.fl(ln) * self.fv(vn) + math.exp(5 * (ln - 1.6)))


@program(
    "dentistry/biomechanics: Hill muscle with callable class and lambda force curves",
    lambda: (np.array([900.0, 700.0]), np.array([0.11, 0.12]), np.linspace(0, 1, 30)),
    wrt=(0, 1, 2),
)
def elbow(fmax, lopt, act):
    biceps, triceps = (Muscle(f, l, 10.0) for f, l in zip(fmax, lopt))
    theta, omega, cost = 1.0, 0.0, 0.0
    for a in act:
        lb, lt = 0.12 - 0.03 * (theta - 1), 0.11 + 0.02 * (theta - 1)
        torque = 0.03 * biceps(a, lb, -0.03 * omega) - 0.02 * triceps(1 - a, lt, 0.02 * omega)
        omega += 0.01 * (torque - 0.4 * np.sin(theta) * 9.81 - 0.5 * omega)
        theta += 0.01 * omega
        cost += a**2 + (theta - 1.2) ** 2
    return cost


# ---------------------------------------------------------------- elbow_moment
class HillMuscle:
    width = 0.45

    def __init__(self, strength, optimum, slack, path):
        self.strength, self.optimum, self.slack, self.path = strength, optimum, slack, path

    @staticmethod
    def tendon(strain):
        if strain <= 0.0:
            return 0.0
        if strain < 0.02:
            return 0.33 * math.expm1(3.0 * strain / 0.02) / math.expm1(3.0)
        return 0.33 + 1.35 / 0.02 * 0.5 * (strain - 0.02)

    def fibre(self, length, activation):
        active = math.exp(-(((length - 1.0) / self.width) ** 2))
        passive = math.expm1(4.0 * (length - 1.0) / 0.6) / math.expm1(4.0) if length > 1.0 else 0.0
        return activation * active + passive

    def imbalance(self, length, activation, whole):
        cosine = math.sqrt(1.0 - (0.2 / length) ** 2)
        strain = (whole - length * self.optimum * cosine) / self.slack - 1.0
        return self.tendon(strain) - cosine * self.fibre(length, activation)

    def force(self, activation, angle):
        whole = np.polyval(self.path, angle)
        length, step = 0.9, 1.0
        for _ in range(60):
            f = self.imbalance(length, activation, whole)
            slope = (
                self.imbalance(length + 1e-6, activation, whole) - self.imbalance(length - 1e-6, activation, whole)
            ) / 2e-6
            step = -f / slope
            length += max(min(step, 0.05), -0.05)
            if abs(step) < 1e-11:
                break
        else:
            raise RuntimeError("no equilibrium of fibre and tendon")
        return self.strength * self.fibre(length, activation) * math.sqrt(1.0 - (0.2 / length) ** 2)

    def arm(self, angle):
        return -np.polyval(np.polyder(self.path), angle)


@program(
    "biomechanics: muscle and tendon in equilibrium at each angle of the elbow, and the moment about the joint",
    lambda: (
        np.array([[620.0, 0.116, 0.25], [980.0, 0.086, 0.054], [800.0, 0.134, 0.143]]),
        {"biceps": 0.5, "brachialis": 0.3, "triceps": 0.15},
    ),
    wrt=(0, 1),
)
def elbow_moment(architecture, activation):
    paths = {
        "biceps": np.array([0.004, -0.008, -0.033, 0.392]),
        "brachialis": np.array([0.003, -0.007, -0.018, 0.153]),
        "triceps": np.array([0.0, 0.001, 0.021, 0.262]),
    }
    muscles = {name: HillMuscle(*row, path) for row, (name, path) in zip(architecture, paths.items())}
    moments = defaultdict(float)
    for degrees in range(20, 121, 25):
        angle = math.radians(degrees)
        for name, muscle in muscles.items():
            moments[degrees] += muscle.force(activation[name], angle) * muscle.arm(angle)
    best = max(moments, key=moments.get)
    return moments[best] + 0.1 * sum(moments.values())


# ---------------------------------------------------------------- brachistochrone
@program(
    "brachistochrone: JAX style, points of the curve and the time by conservation of energy",
    lambda: (np.linspace(-0.1, -0.9, 9) - 0.05,),
)
def brachistochrone(y_inner):
    y = np.concatenate(([0.0], y_inner, [-1.0]))
    x = np.linspace(0.0, 1.0, y.size)
    dx, dy = np.diff(x), np.diff(y)
    v = np.sqrt(2 * 9.81 * np.maximum(-y, 1e-12))
    ds = np.hypot(dx, dy)
    return (2 * ds / (v[1:] + v[:-1])).sum()
