import itertools
import math
from collections import defaultdict
from functools import lru_cache
from typing import Dict

import numpy as np
import scipy
import scipy.linalg as la

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# astrophysics: Lane-Emden by RK4 with interpolation to the surface, then structure
@prog("astrophysics", lambda: (1.5,))
def lane_emden(n, h=0.05):
    def f(xi, y):
        theta, phi = y
        return np.array([phi, -(np.abs(theta) ** n) * np.sign(theta) - 2 / xi * phi])

    xi, y = 1e-3, np.array([1 - 1e-6 / 6, -1e-3 / 3])
    old = (xi, *y)
    while y[0] > 0:
        old = (xi, *y)
        k1 = f(xi, y)
        k2 = f(xi + h / 2, y + h / 2 * k1)
        k3 = f(xi + h / 2, y + h / 2 * k2)
        k4 = f(xi + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * (k2 + k3) + k4)
        xi += h
    frac = old[1] / (old[1] - y[0])
    xi1 = old[0] + frac * h
    slope = old[2] + frac * (y[1] - old[2])
    return -xi1 / (3 * slope) + xi1**2 * abs(slope)


# chemical engineering: CSTR train and plug flow with named reactions parsed from strings
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


@prog("chemical engineering", lambda: ([0.8, 0.3, 0.05], 360.0), (0, 1))
def reactor(ks, T):
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


# geostatistics: variogram fit and ordinary kriging
@prog("geostatistics", lambda: (np.array([0.1, 1.0, 0.6]), rng(0).random((7, 2)), rng(1).normal(size=7)), (0, 1, 2))
def kriging(theta, xy, z):
    nugget, sill, rang = theta

    def gamma(h):
        return np.where(
            h == 0, 0.0, np.where(h < rang, nugget + sill * (1.5 * h / rang - 0.5 * (h / rang) ** 3), nugget + sill)
        )

    n = len(z)
    diff = xy[:, None, :] - xy[None, :, :]
    d2 = (diff**2).sum(-1)
    h = np.sqrt(np.where(np.eye(n, dtype=bool), 1.0, d2))
    G = np.where(np.eye(n, dtype=bool), 0.0, gamma(h))
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = G
    A[n, n] = 0
    targets = np.array([[0.51, 0.52], [0.21, 0.83]])
    est = 0.0
    for t in targets:
        b = np.append(gamma(np.linalg.norm(xy - t, axis=1)), 1.0)
        w = np.linalg.solve(A, b)
        est += w[:-1] @ z + 0.1 * (w @ b)
    return est


# semiconductor physics: Fermi level by charge neutrality, implicit function via bisection + Newton polish; constants from scipy
@prog("semiconductors", lambda: (1e16, 1.12, 300.0), (0, 1, 2))
def fermi_level(Nd, Eg, T):
    kT = scipy.constants.k / scipy.constants.e * T
    Nc, Nv = 2.8e19 * (T / 300) ** 1.5, 1.04e19 * (T / 300) ** 1.5
    neutral = lambda Ef: (
        Nv * np.exp(-Ef / kT) + Nd / (1 + 2 * np.exp((Ef - (Eg - 0.045)) / kT)) - Nc * np.exp((Ef - Eg) / kT)
    )
    lo, hi = 0.0, Eg
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if neutral(mid) > 0:
            lo = mid
        else:
            hi = mid
    Ef = (lo + hi) / 2
    for _ in range(4):
        d = 1e-7
        Ef = Ef - neutral(Ef) * 2 * d / (neutral(Ef + d) - neutral(Ef - d))
    return Ef


# evolutionary game / biology: Gillespie with fixed uniforms; choice by cumsum/searchsorted and propensity list of lambdas
@prog("systems biology", lambda: (np.array([1.0, 0.1, 0.05]), rng(4).random((30, 2))), (0,))
def gillespie(k, u):
    stoich = ((1, 0), (-1, 1), (0, -1))
    propensity = [lambda a, b: k[0], lambda a, b: k[1] * a, lambda a, b: k[2] * b]
    a, b, t = 3, 1, 0.0
    area = 0.0
    for u1, u2 in u:
        rates = np.array([p(a, b) for p in propensity])
        total = rates.sum()
        tau = -math.log(u1) / total
        area += tau * (a + 2 * b)
        t += tau
        r = int(np.searchsorted(np.cumsum(rates), u2 * total))
        da, db = stoich[r]
        a, b = a + da, b + db
    return area / t


# magnetism: Ewald/dipole sums and LLG spin dynamics, spins as (N,3), np.cross and normalise
@prog("magnetism", lambda: (rng(5).normal(size=(6, 3)), 0.1, np.array([0.0, 0.0, 1.0])), (0, 1, 2))
def llg(m0, alpha, B):
    m = m0 / np.linalg.norm(m0, axis=1, keepdims=True)
    J = 0.5

    def field(m):
        H = np.tile(B, (m.shape[0], 1))
        H = H + J * (np.roll(m, 1, axis=0) + np.roll(m, -1, 0))
        H[:, 2] += 0.3 * m[:, 2]
        return H

    def rhs(m):
        H = field(m)
        mxH = np.cross(m, H)
        return -(mxH + alpha * np.cross(m, mxH)) / (1 + alpha**2)

    dt = 0.05
    energies = []
    for n in range(10):
        k1 = rhs(m)
        pred = m + dt * k1
        m = m + 0.5 * dt * (k1 + rhs(pred))
        m /= np.linalg.norm(m, axis=1)[:, None]
        energies.append(-np.einsum("ij,ij->", m, field(m)))
    return energies[-1] + np.std(energies)


# optics/imaging: Zernike polynomials with factorials and PSF by fft2
def zernike_radial(n, m, r):
    m = abs(m)
    return sum(
        (-1) ** k
        * math.factorial(n - k)
        / (math.factorial(k) * math.factorial((n + m) // 2 - k) * math.factorial((n - m) // 2 - k))
        * r ** (n - 2 * k)
        for k in range((n - m) // 2 + 1)
    )


@prog("adaptive optics", lambda: (np.array([0.1, -0.2, 0.15, 0.05]),))
def strehl(coef, N=16):
    y, x = np.mgrid[-1 : 1 : N * 1j, -1 : 1 : N * 1j]
    r, th = np.hypot(x, y), np.arctan2(y, x)
    pupil = (r <= 1).astype(float)
    modes = [(2, 0), (2, 2), (2, -2), (3, 1)]
    phase = np.zeros_like(r)
    for c, (n, m) in zip(coef, modes):
        ang = np.cos(m * th) if m >= 0 else np.sin(-m * th)
        phase += c * zernike_radial(n, m, r) * ang
    field = pupil * np.exp(2j * np.pi * phase)
    psf = np.abs(np.fft.fftshift(np.fft.fft2(field, s=(32, 32)))) ** 2
    ref = pupil.sum() ** 2
    return psf.max() / ref + (psf**2).sum() / psf.sum() ** 2


# operations research: inventory DP with expectation, policy evaluation, EOQ; memoised recursion over states
@prog("operations research", lambda: (np.array([0.2, 0.5, 0.3]), 1.0, 4.0), (0, 1, 2))
def inventory(demand, hold, penalty, horizon=4, cap=4):
    @lru_cache(maxsize=None)
    def value(t, stock):
        if t == horizon:
            return 0.5 * stock * hold
        best = math.inf
        for order in range(cap - stock + 1):
            cost = 2.0 * (order > 0) + 1.0 * order
            for d, p in enumerate(demand):
                left = stock + order - d
                cost += p * (hold * max(left, 0) + penalty * max(-left, 0) + value(t + 1, max(left, 0)))
            best = min(best, cost)
        return best

    return value(0, 1)


# radio astronomy: visibility, gains, self-cal StEFCal with complex gains per antenna
@prog(
    "radio astronomy",
    lambda: (rng(6).normal(size=(4, 2)) * 20, np.array([[0.01, 0.02, 1.0], [-0.015, 0.005, 0.6]])),
    (0, 1),
)
def stefcal(ant, sources):
    p, q = np.triu_indices(4, k=1)
    uv = ant[q] - ant[p]
    vis = np.zeros(len(p), dtype=complex)
    for l, m, flux in sources:
        vis += flux * np.exp(-2j * np.pi * (uv[:, 0] * l + uv[:, 1] * m))
    true = np.array([1.0 + 0.1j, 0.9 - 0.2j, 1.1 + 0j, 0.8 + 0.3j])
    M = np.zeros((4, 4), dtype=complex)
    M[p, q] = vis
    M = M + M.conj().T
    V = true[:, None] * M * true.conj()
    g = np.ones(4, dtype=complex)
    for it in range(20):
        old = g.copy()
        for i in range(4):
            z = old * M[:, i]
            g[i] = np.vdot(V[:, i], z) / np.vdot(z, z)
        if it % 2:
            g = 0.5 * (g + old)
    return np.abs(g).sum() + np.angle(g[1] / g[0])


# forestry: taper and volume, mixed tree list of dicts with missing heights
@prog(
    "forestry",
    lambda: (
        np.array([1.2, 0.9, -1.1]),
        [
            {"dbh": 23.0, "h": 18.5, "sp": "pine"},
            {"dbh": 31.0, "h": None, "sp": "oak"},
            {"dbh": 12.0, "h": 9.0, "sp": "pine"},
        ],
    ),
)
def stand_volume(b, trees):
    form = {"pine": 0.42, "oak": 0.48}
    total, by_species = 0.0, defaultdict(list)
    for tree in trees:
        d = tree["dbh"]
        h = tree["h"] if tree["h"] is not None else 1.3 + np.exp(b[0] + b[1] * np.log(d)) ** 0.7
        v = form.get(tree["sp"], 0.45) * np.pi / 4 * (d / 100) ** 2 * h * np.exp(b[2] / 10)
        by_species[tree["sp"]].append(v)
        total += v
    shares = np.array([sum(v) for v in by_species.values()]) / total
    return total - np.sum(shares * np.log(shares))


# electrical: MNA circuit with netlist of strings, AC sweep complex
NETLIST = """
R1 1 2 R
C1 2 0 C
L1 2 3 L
R2 3 0 R
"""


@prog("electronics", lambda: ({"R1": 100.0, "C1": 1e-6, "L1": 1e-3, "R2": 50.0},))
def ac_gain(values, freqs=(1e3, 5e3, 2e4)):
    gains = []
    for f in freqs:
        w = 2 * np.pi * f
        Y = np.zeros((3, 3), dtype=complex)
        for line in NETLIST.strip().splitlines():
            name, n1, n2, kind = line.split()
            i, j, val = int(n1), int(n2), values[name]
            y = {"R": 1 / val, "C": 1j * w * val, "L": 1 / (1j * w * val)}[kind]
            for a, b, s in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                if a > 0 and b > 0:
                    Y[a - 1, b - 1] += s * y
        Y[0, 0] += 1e6
        I = np.array([1e6, 0, 0], dtype=complex)
        V = np.linalg.solve(Y, I)
        gains.append(20 * np.log10(abs(V[2])))
    return sum(gains)


# molecular dynamics: Lennard-Jones with cell list, velocity Verlet, periodic boundaries, pairs by triu
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


@prog(
    "molecular dynamics",
    lambda: (
        np.array(list(itertools.product([0.6, 1.8], repeat=3))) + 0.05 * rng(7).normal(size=(8, 3)),
        0.1 * rng(8).normal(size=(8, 3)),
        3.6,
    ),
    (0, 1, 2),
)
def md(pos, vel, box):
    sim = Simulation(pos.copy(), vel.copy(), box)
    temps = []
    for k in range(8):
        sim.step()
        if k % 2 == 0:
            temps.append(sim.temperature)
    return sim.epot + np.mean(temps) + np.var(sim.pos)


# phylogenetics: Felsenstein pruning with recursion over nested tuples, HKY matrix exponentiated
@prog("phylogenetics", lambda: (2.0, np.array([0.3, 0.2, 0.2, 0.3]), 0.1), (0, 1, 2))
def pruning(kappa, pi, scale):
    seqs = {"human": "ACGTA", "chimp": "ACGTG", "mouse": "ATGAA", "rat": "ATGAC"}
    tree = ((("human", 0.5), ("chimp", 0.6)), 0.9), ((("mouse", 1.0), ("rat", 1.1)), 0.7)
    Q = np.array([[0, 1, kappa, 1], [1, 0, 1, kappa], [kappa, 1, 0, 1], [1, kappa, 1, 0]]) * pi
    np.fill_diagonal(Q, -Q.sum(axis=1))
    Q = Q / -np.dot(pi, np.diag(Q))

    def partial_lik(node, site):
        if isinstance(node, str):
            vec = np.zeros(4)
            vec["ACGT".index(seqs[node][site])] = 1
            return vec
        out = np.ones(4)
        for child, length in node:
            out = out * (la.expm(Q * length * scale) @ partial_lik(child, site))
        return out

    return sum(math.log(pi @ partial_lik(tree, s)) for s in range(5))


# meteorology: skew-T parcel, CAPE; brent-like iteration for wet bulb, np.select/piecewise
@prog("meteorology", lambda: (np.array([302.0, 295, 285, 270, 250, 228]), 0.016), (0,))
def cape(Tenv, r0):
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


# sociology: exponential random graph change statistics on adjacency, SBM likelihood with labels via np.unique inverse and bincount
@prog(
    "sociology",
    lambda: (
        np.array([[0.6, 0.2, 0.1], [0.2, 0.5, 0.15], [0.1, 0.15, 0.7]]),
        (rng(9).random((9, 9)) < 0.4).astype(int),
        list("abcabcaab"),
    ),
)
def sbm(P, adj, groups):
    labels, z = np.unique(groups, return_inverse=True)
    n = len(z)
    theta = P[z][:, z]
    upper = np.triu(np.ones((n, n), dtype=bool), k=1)
    ll = (adj * np.log(theta) + (1 - adj) * np.log1p(-theta))[upper].sum()
    sizes = np.bincount(z, minlength=len(labels))
    return ll + np.sum(sizes / n * np.log(np.diag(P))) + np.linalg.eigvalsh(P)[-1]
