"""Molecules and polymers by classical forces."""

import collections
import itertools
import math
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

import numpy as np
from scipy import integrate, optimize

from tests.field_programs import program, rng


# ---------------------------------------------------------------- lj_mixture
@program("MD with neighbor dict", lambda: (rng(20).uniform(0, 3, (8, 3)), {"A": 1.0, "B": 0.8}), wrt=(0, 1))
def lj_mixture(pos, eps):
    kinds = "AABABBAB"
    box = 3.2
    cells = collections.defaultdict(list)
    for i in range(len(pos)):
        cells[int(pos[i, 0] // 1.7)].append(i)
    e = 0.0
    for (i, a), (j, b) in itertools.combinations(enumerate(kinds), 2):
        d = pos[i] - pos[j]
        d -= box * np.round(d / box)
        r2 = max(d @ d, 0.64)
        s6 = (0.9 / r2) ** 3
        e += 4 * math.sqrt(eps[a] * eps[b]) * (s6 * s6 - s6)
    return e / 100


# ---------------------------------------------------------------- chain_energy
def scaled(factor):
    def deco(fn):
        @wraps(fn)
        def inner(*args, **kw):
            return factor * fn(*args, **kw)

        return inner

    return deco


@scaled(2.0)
def potential(r, *, k=1.0, r0=1.0):
    return 0.5 * k * (r - r0) ** 2


@program(
    "decorator with wraps and memo-less; function returning multiple with dict",
    lambda: (np.random.default_rng(1).normal(size=(5, 3)), 3.0),
    wrt=(0, 1),
)
def chain_energy(x, k):
    bonds = x[1:] - x[:-1]
    r = np.sqrt(np.einsum("...i,...i", bonds, bonds))
    cos_t = np.sum(bonds[:-1] * -bonds[1:], -1) / (r[:-1] * r[1:])
    theta = np.arccos(np.clip(cos_t, -1.0, 1.0))
    n1 = np.cross(bonds[:-2], bonds[1:-1])
    n2 = np.cross(bonds[1:-1], bonds[2:])
    m1 = np.cross(n1, bonds[1:-1] / r[1:-1, None])
    phi = np.arctan2((m1 * n2).sum(1), (n1 * n2).sum(1))
    return potential(r, k=k, r0=1.2).sum() + np.sum((theta - 1.9) ** 2) + np.sum(1 + np.cos(3 * phi - 0.3))


# ---------------------------------------------------------------- md
class Simulation:
    def __init__(self, pos, vel, box, dt=0.005):
        self.pos, self.vel, self.box, self.dt = pos, vel, box, dt
        self.i, self.j = np.triu_indices(len(pos), 1)
        self.force, self.epot = self.compute()

    def compute(self):
        d = self.pos[self.i] - self.pos[self.j]
        d -= self.box * np.round(d / self.box)
        r2 = np.sum(d * d, axis=1)
        inside = r2 < 2.5**2
        inv6 = np.where(inside, 1 / r2**3, 0)
        f = (24 * inv6 * (2 * inv6 - 1) / r2)[:, np.newaxis] * d
        F = np.zeros_like(self.pos)
        np.add.at(F, self.i, f)
        np.subtract.at(F, self.j, f)
        return F, 4 * np.sum(inv6 * (inv6 - 1))

    def step(self):
        self.vel += 0.5 * self.dt * self.force
        self.pos = (self.pos + self.dt * self.vel) % self.box
        self.force, self.epot = self.compute()
        self.vel += 0.5 * self.dt * self.force

    @property
    def temperature(self):
        return (self.vel**2).sum() / (3 * len(self.vel))


@program(
    "Lennard-Jones with cell list, velocity Verlet, periodic boundaries, pairs by triu",
    lambda: (
        np.array(list(itertools.product([0.6, 1.8], repeat=3))) + 0.05 * rng(7).normal(size=(8, 3)),
        0.1 * rng(8).normal(size=(8, 3)),
        3.6,
    ),
    wrt=(0, 1, 2),
)
def md(pos, vel, box):
    sim = Simulation(pos.copy(), vel.copy(), box)
    temps = []
    for k in range(8):
        sim.step()
        if k % 2 == 0:
            temps.append(sim.temperature)
    return sim.epot + np.mean(temps) + np.var(sim.pos)


# ---------------------------------------------------------------- lj_energy
def _lj_args():
    pos = np.array([[0.0, 0.0, 0.0], [3.6, 0.2, -0.1], [0.3, 3.9, 0.4], [-0.2, 0.1, 4.1], [3.5, 3.8, 0.2]])
    return (
        pos,
        np.array([0.1, 0.15, 0.12, 0.2, 0.1]),
        np.array([3.2, 3.4, 3.1, 3.3, 3.5]),
        np.array([0.1, -0.2, 0.15, 0.05, -0.1]),
    )


@program("molecular modelling: Lennard-Jones plus Coulomb, all pairs", _lj_args, wrt=(0, 1, 2, 3))
def lj_energy(pos, eps, sigma, q):
    """Lennard-Jones plus Coulomb, all pairs."""
    E = 0.0
    n = len(pos)
    for i in range(n):
        for j in range(i + 1, n):
            rij = pos[i] - pos[j]
            r = np.sqrt(np.dot(rij, rij))
            e = math.sqrt(eps[i] * eps[j])
            s = 0.5 * (sigma[i] + sigma[j])
            sr6 = (s / r) ** 6
            E += 4 * e * (sr6**2 - sr6) + 332.06 * q[i] * q[j] / r
    return E


# ---------------------------------------------------------------- go_energy
@dataclass
class GoModel:
    k_bond: float = 100.0
    k_angle: float = 20.0
    eps_native: float = 1.0
    eps_rep: float = 0.5


def _go_args():
    t = np.arange(7) * 1.745
    native = np.column_stack([2.3 * np.cos(t), 2.3 * np.sin(t), 1.5 * np.arange(7)])
    coords = native + 0.15 * np.random.default_rng(2).normal(size=native.shape)
    return coords, native, GoModel()


@program("protein folding: C-alpha Go-like model: bonds, angles and 12-10 native contacts", _go_args, wrt=(0, 2))
def go_energy(coords, native, model):
    """C-alpha Go-like model: bonds, angles and 12-10 native contacts."""
    bonds = coords[1:] - coords[:-1]
    b = np.linalg.norm(bonds, axis=1)
    b0 = np.linalg.norm(native[1:] - native[:-1], axis=1)
    e = model.k_bond * np.sum((b - b0) ** 2)

    def cos_angles(x):
        d = x[1:] - x[:-1]
        num = -np.sum(d[:-1] * d[1:], axis=1)
        return num / np.linalg.norm(d[:-1], axis=1) / np.linalg.norm(d[1:], axis=1)

    e += 0.5 * model.k_angle * np.sum((cos_angles(coords) - cos_angles(native)) ** 2)
    n = len(coords)
    for i in range(n - 3):
        for j in range(i + 3, n):
            r = np.linalg.norm(coords[i] - coords[j])
            r0 = np.linalg.norm(native[i] - native[j])
            if r0 < 7.5:
                e += model.eps_native * (5 * (r0 / r) ** 12 - 6 * (r0 / r) ** 10)
            else:
                e += model.eps_rep * (4.0 / r) ** 12
    return e


# ---------------------------------------------------------------- wlc
@program(
    "polymer physics: worm-like chain energy, generator for bonds", lambda: (rng(1).normal(size=(8, 3)).cumsum(axis=0),)
)
def wlc(r):
    def bonds(pos):
        for a, b in zip(pos[:-1], pos[1:]):
            yield b - a

    u = [t / np.linalg.norm(t) for t in bonds(r)]
    bend = sum(1.0 - np.dot(a, b) for a, b in zip(u, u[1:]))
    stretch = sum((np.linalg.norm(b) - 1.0) ** 2 for b in bonds(r))
    return 5.0 * bend + 50.0 * stretch


# ---------------------------------------------------------------- polydispersity
class Rates(NamedTuple):
    kd: float
    kp: float
    kt: float


@program(
    "polymer science: moments of free-radical polymerisation with the gel effect, polydispersity at the end",
    lambda: (np.array([0.05, 6.0, 20.0]), 8.0, 0.04),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- scattering_chain
@program(
    "polymer physics: self-consistent worm-like chain, Debye function, persistence length by bisect",
    lambda: (np.array([0.05, 0.2, 0.6, 1.1]), 12.0, 1.5),
    wrt=(0, 1, 2),
)
def scattering_chain(q, N, b):
    rg2 = N * b**2 / 6
    x = (q[:, np.newaxis] ** 2 * rg2).ravel()
    debye = 2 * (np.expm1(-x) + x) / x**2
    lp = optimize.bisect(lambda l: 2 * l * N * (1 - l / N * (1 - np.exp(-N / l))) - N * b**2, 1e-2, 50, xtol=1e-13)
    s = integrate.simpson(debye * q**2, x=q)
    chi = optimize.newton(lambda c: 1 / (N * 0.3) + 1 / (N * 0.7) - 2 * c - 0.01 * c**2, 0.1)
    return s + lp + 10 * chi


# ---------------------------------------------------------------- lj_cluster
@program(
    "chemistry: LJ cluster with combinations and Gupta; nested functions",
    lambda: (np.random.default_rng(1).uniform(0, 3, (6, 3)), 0.8, 1.1),
    wrt=(0, 1, 2),
)
def lj_cluster(pos, eps, sigma):
    def pair(r2):
        s6 = (sigma * sigma / r2) ** 3
        return 4 * eps * (s6 * s6 - s6)

    total = 0
    for i, j in itertools.combinations(range(len(pos)), 2):
        d = pos[i] - pos[j]
        r2 = d @ d
        if r2 > 9.0:
            continue
        total += np.tanh(pair(r2) * 1e-2)
    return total
