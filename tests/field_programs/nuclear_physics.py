"""Particles, nuclei, reactors and plasmas."""

import cmath
import itertools
import math
from collections import ChainMap, OrderedDict, defaultdict, namedtuple
from enum import Enum

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numba import njit
from scipy import integrate, linalg, special
from scipy.sparse.linalg import spsolve

from tests.field_programs import program, rng


# ---------------------------------------------------------------- dalitz_nll
def breit_wigner(m, m0, width):
    return 1.0 / (m0**2 - m**2 - 1j * m0 * width)


@program(
    "particle physics: unbinned amplitude fit: coherent sum of resonances normalised on a grid",
    lambda: (
        np.array([1.0, 0.6, 0.3]),
        np.array([0.1, 1.2, -0.8]),
        np.array([0.77, 0.98, 1.27]),
        np.array([0.15, 0.07, 0.18]),
        np.array([0.7, 0.75, 0.81, 0.92, 1.0, 1.21, 1.3, 0.78]),
        np.linspace(0.4, 1.6, 40),
    ),
    wrt=(0, 1, 2, 3),
)
def dalitz_nll(mag, phase, masses, widths, events, grid):
    """Unbinned amplitude fit: coherent sum of resonances normalised on a grid."""
    coeff = mag * np.exp(1j * phase)

    def intensity(m):
        amp = np.zeros(m.shape, dtype=complex)
        for c, m0, w in zip(coeff, masses, widths):
            amp = amp + c * breit_wigner(m, m0, w)
        return np.abs(amp) ** 2

    norm = np.mean(intensity(grid)) * (grid[-1] - grid[0])
    return -np.sum(np.log(intensity(events) / norm))


# ---------------------------------------------------------------- invariant_masses
class FourVector:
    __slots__ = ("E", "px", "py", "pz")

    def __init__(self, E, px, py, pz):
        self.E, self.px, self.py, self.pz = E, px, py, pz

    @classmethod
    def from_ptetaphim(cls, pt, eta, phi, m=0.0):
        px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
        return cls(np.sqrt(px**2 + py**2 + pz**2 + m**2), px, py, pz)

    def __add__(self, o):
        return FourVector(self.E + o.E, self.px + o.px, self.py + o.py, self.pz + o.pz)

    def __radd__(self, o):
        return self if o == 0 else self + o

    def __neg__(self):
        return FourVector(-self.E, -self.px, -self.py, -self.pz)

    def __sub__(self, o):
        return self + (-o)

    def __matmul__(self, o):
        return self.E * o.E - self.px * o.px - self.py * o.py - self.pz * o.pz

    @property
    def mass(self):
        return np.sqrt(max(self @ self, 0.0))

    def boost_z(self, beta):
        g = 1 / np.sqrt(1 - beta**2)
        return type(self)(g * (self.E - beta * self.pz), self.px, self.py, g * (self.pz - beta * self.E))

    def __getitem__(self, i):
        return (self.E, self.px, self.py, self.pz)[i]


@program(
    "particle physics: kinematics with a four-vector class (operators), invariant masses of combinations",
    lambda: (np.array([[45.0, 0.3, 0.1], [40.0, -0.5, 2.9], [25.0, 1.1, -1.8], [18.0, -1.4, 1.0]]), 0.2),
    wrt=(0, 1),
)
def invariant_masses(jets, beta):
    vecs = [FourVector.from_ptetaphim(*j, m=0.1) for j in jets]
    best = min(
        (pair for pair in itertools.combinations(range(4), 2)),
        key=lambda ij: abs((vecs[ij[0]] + vecs[ij[1]]).mass - 91.19),
    )
    z = vecs[best[0]] + vecs[best[1]]
    total = sum(vecs)
    recoil = (total - z).boost_z(beta)
    ht = sum(math.hypot(v.px, v.py) for v in vecs)
    chi2 = sum((v[0] - 30) ** 2 / 100 for v in vecs)
    return z.mass + 0.1 * recoil.mass + recoil[3] / 50 + ht / 100 + chi2 / 50


# ---------------------------------------------------------------- binned_likelihood
@program(
    "particle physics: a binned likelihood with nuisance parameters and a template that is morphed",
    lambda: (1.2, np.array([0.3, -0.4]), np.array([12.0, 9.0, 7.5, 3.0])),
    wrt=(0, 1, 2),
    refused="a call of the class ChainMap",
)
def binned_likelihood(strength, nuisance, background):
    observed = np.array([15, 12, 7, 4])
    signal_ = OrderedDict(low=np.array([0.5, 1.5, 1.0, 0.2]), mid=np.array([0.6, 2.0, 0.9, 0.3]))
    signal_["high"] = signal_["mid"] * 1.1
    x = nuisance[0]
    match int(np.sign(x)):
        case 1:
            template = signal_["mid"] + x * (signal_["high"] - signal_["mid"])
        case -1:
            template = signal_["mid"] + x * (signal_["mid"] - signal_["low"])
        case _:
            template = signal_["mid"]
    scales = ChainMap({"norm": 0.05}, {"norm": 0.1, "shape": 0.02})
    expected = strength * template + background * (1 + scales["norm"]) ** nuisance[1]
    expected = expected * np.linspace(1 - scales["shape"], 1 + scales["shape"], 4)
    loglike = np.sum(special.xlogy(observed, expected) - expected - special.gammaln(observed + 1))
    return -loglike + 0.5 * np.dot(nuisance, nuisance)


# ---------------------------------------------------------------- bateman
@program(
    "nuclear engineering: a Bateman chain with branching, by the general solution",
    lambda: (np.array([0.5, 0.2, 0.9, 0.05]), 3.0),
)
def bateman(lam, t):
    def atoms(n):
        prod = math.prod(lam[:n])
        total = 0.0
        for i in range(n + 1):
            denom = 1.0
            for j in range(n + 1):
                if j == i:
                    continue
                denom *= lam[j] - lam[i]
            total += math.exp(-lam[i] * t) / denom
        return prod * total

    return sum((k + 1) * atoms(k) for k in range(len(lam)))


# ---------------------------------------------------------------- point_kinetics
@program(
    "nuclear engineering: point kinetics with expm and six delayed groups, block matrix",
    lambda: (0.003, np.array([0.00021, 0.0014, 0.0013, 0.0026]), np.array([0.0124, 0.0305, 0.111, 0.301])),
    wrt=(0, 1, 2),
)
def point_kinetics(rho, beta, lam, Lam=1e-3):
    n = beta.size
    A = np.block([[np.array([[(rho - beta.sum()) / Lam]]), lam[None, :]], [beta[:, None] / Lam, -np.diag(lam)]])
    c0 = beta / (lam * Lam)
    y = np.concatenate(([1.0], c0))
    P = sla.expm(A * 0.5)
    power = [y[0]]
    for _ in range(4):
        y = P @ y
        power.append(y[0])
    w = np.roots([1.0, 2.0, 3.0])
    return np.log(power[-1]) + integrate.simpson(power, dx=0.5)


# ---------------------------------------------------------------- decay_heat
class Mode(Enum):
    BETA = 1
    ALPHA = 2


CHAIN = {"A": [("B", Mode.BETA, 0.7), ("C", Mode.ALPHA, 0.3)], "B": [("C", Mode.BETA, 1.0)], "C": []}


ENERGY = {Mode.BETA: 0.8, Mode.ALPHA: 5.2}


@program(
    "nuclear: Bateman chain by expm, decay modes enum, branching dictionary",
    lambda: (np.array([0.5, 0.2, 0.05]), 3.0),
    wrt=(0, 1),
)
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


# ---------------------------------------------------------------- binding_energies
@program(
    "semi-empirical mass, shell correction by degenerate levels, Q values from a table",
    lambda: (np.array([15.7, 17.8, 0.711, 23.7, 11.2]),),
)
def binding_energies(a):
    nuclides = np.array([(26, 56), (28, 62), (50, 120), (82, 208), (92, 238)])
    Z, A = nuclides.T
    N = A - Z
    pairing = np.select([(Z % 2 == 0) & (N % 2 == 0), (Z % 2 == 1) & (N % 2 == 1)], [1, -1], 0)
    terms = np.vstack([A, -(A ** (2 / 3)), -Z * (Z - 1) / A ** (1 / 3), -((A - 2 * Z) ** 2) / A, pairing / np.sqrt(A)])
    B = a @ terms
    magic = np.array([2, 8, 20, 28, 50, 82, 126])
    near = np.min(np.abs(Z[:, None] - magic), axis=1)
    shell = np.exp(-(near**2) / 8)
    stable = 0.5 * A / (1 + a[2] * A ** (2 / 3) / (4 * a[3]))
    return (B / A).sum() + shell @ (B / 1000) + np.sum((stable - Z) ** 2) / 100


# ---------------------------------------------------------------- power_after_ramp
@program(
    "nuclear engineering: point kinetics with six groups, a ramp of reactivity, implicit steps",
    lambda: (0.003, np.array([2.1, 14.2, 12.7, 25.7, 7.5, 2.7]) * 1e-4, 2.0),
    wrt=(0, 1, 2),
)
def power_after_ramp(rho, beta, life, steps=12, dt=0.05):
    lam = np.array([0.0124, 0.0305, 0.111, 0.301, 1.14, 3.01])
    total, life = beta.sum(), life * 1e-4
    n = 1.0
    C = beta * n / (lam * life)
    history = np.empty(steps + 1)
    history[0] = n
    for k in range(steps):
        r = rho * min(1.0, (k + 1) / 6)
        M = np.zeros((7, 7))
        M[0, 0] = (r - total) / life
        M[0, 1:] = lam
        M[1:, 0] = beta / life
        M[np.arange(1, 7), np.arange(1, 7)] = -lam
        state = np.linalg.solve(np.eye(7) - dt * M, np.concatenate([[n], C]))
        n, C = state[0], state[1:]
        history[k + 1] = n
    period = dt / np.log(history[-1] / history[-2])
    return history[-1] + 0.1 * period


# ---------------------------------------------------------------- pic_energy
@njit
def deposit(x, w, n):
    rho = np.zeros(n)
    for k in range(x.size):
        i = int(np.floor(x[k]))
        f = x[k] - i
        rho[i % n] += w * (1 - f)
        rho[(i + 1) % n] += w * f
    return rho


@program(
    "plasma: PIC deposit and field solve",
    lambda: (rng(16).uniform(0, 16, 20), rng(17).normal(size=20) * 0.1),
    wrt=(0, 1),
)
def pic_energy(x, v):
    n = 16
    for step in range(3):
        rho = deposit(x, 1.0, n) - 20 / 16
        k = 2 * np.pi * np.fft.fftfreq(n)
        k[0] = 1.0
        phik = np.fft.fft(rho) / k**2
        phik[0] = 0
        E = np.real(np.fft.ifft(-1j * k * phik))
        i = np.floor(x).astype(int)
        f = x - i
        Ex = (1 - f) * E[i % n] + f * E[(i + 1) % n]
        v = v - 0.1 * Ex
        x = (x + 0.1 * v) % n
    return 0.5 * np.sum(v**2) + np.sum(E**2)


# ---------------------------------------------------------------- sor
@program("plasma: Grad-Shafranov red-black SOR with slices steps", lambda: (np.array([1.0, 0.5]), 1.5), wrt=(0, 1))
def sor(source, omega):
    n = 7
    psi = np.zeros((n, n))
    x = np.linspace(0, 1, n)
    S = source[0] * np.sin(np.pi * x)[:, None] * np.sin(np.pi * x) + source[1]
    h2 = (x[1] - x[0]) ** 2
    for it in range(5):
        for color in (0, 1):
            for i in range(1, n - 1):
                j0 = 1 + (i + color) % 2
                res = (
                    psi[i - 1, j0:-1:2]
                    + psi[i + 1, j0:-1:2]
                    + psi[i, j0 - 1 : -2 : 2]
                    + psi[i, j0 + 1 :: 2]
                    + h2 * S[i, j0:-1:2]
                )
                psi[i, j0:-1:2] += omega * (0.25 * res - psi[i, j0:-1:2])
    return psi.sum() + psi[3, 3] ** 2


# ---------------------------------------------------------------- pic
@program(
    "plasma: Vlasov-like 1D PIC with deposit by np.add.at and FFT Poisson",
    lambda: (rng(23).uniform(0, 2 * np.pi, 40), rng(24).normal(size=40) * 0.3),
    wrt=(0, 1),
)
def pic(x, v):
    ng, L = 16, 2 * np.pi
    dx = L / ng
    k = np.fft.fftfreq(ng, d=dx) * 2 * np.pi
    k[0] = 1.0
    x, v = x.copy(), v.copy()
    energy = 0.0
    for _ in range(4):
        g = x / dx
        i = np.floor(g).astype(int)
        w = g - i
        rho = np.zeros(ng)
        np.add.at(rho, i % ng, 1 - w)
        np.add.at(rho, (i + 1) % ng, w)
        rho = rho / 40 * ng - 1
        phik = np.fft.fft(rho) / k**2
        phik[0] = 0
        E = np.fft.ifft(-1j * k * phik).real
        Ep = E[i % ng] * (1 - w) + E[(i + 1) % ng] * w
        v += -0.1 * Ep
        x = (x + 0.1 * v) % L
        energy += 0.5 * np.sum(E**2) * dx
    return energy + 0.5 * np.sum(v**2) / 40


# ---------------------------------------------------------------- ion_acoustic
Species = namedtuple("Species", ["name", "density", "temperature", "mass"])


@program(
    "plasma: dispersion relation root by Newton in the complex plane, species as named tuples",
    lambda: (np.array([1.0, 0.1]), 0.35),
    wrt=(0, 1),
)
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


# ---------------------------------------------------------------- grad_shafranov
@program(
    "plasma physics: a Grad-Shafranov like elliptic problem with a nonlinear source, Picard", lambda: (1.3, 0.7, 0.4)
)
def grad_shafranov(p0, f0, width):
    n = 9
    R = np.linspace(0.5, 1.5, n)
    Z = np.linspace(-0.5, 0.5, n)
    RR, ZZ = np.meshgrid(R, Z, indexing="ij")
    dR, dZ = R[1] - R[0], Z[1] - Z[0]
    psi = np.exp(-((RR - 1) ** 2 + ZZ**2) / width**2)
    psi[[0, -1], :] = 0
    psi[:, [0, -1]] = 0
    for _ in range(15):
        j = RR**2 * p0 * psi + f0 * np.sqrt(1 + psi**2)
        new = psi.copy()
        east = psi[2:, 1:-1] * (1 / dR**2 - 1 / (2 * dR * RR[1:-1, 1:-1]))
        west = psi[:-2, 1:-1] * (1 / dR**2 + 1 / (2 * dR * RR[1:-1, 1:-1]))
        vert = (psi[1:-1, 2:] + psi[1:-1, :-2]) / dZ**2
        new[1:-1, 1:-1] = (east + west + vert + j[1:-1, 1:-1]) / (2 / dR**2 + 2 / dZ**2)
        psi = 0.5 * psi + 0.5 * new
    k = np.unravel_index(np.argmax(psi), psi.shape)
    return psi[k] + psi.sum() * dR * dZ


# ---------------------------------------------------------------- equilibrium
@program(
    "magnetic confinement: Grad-Shafranov by SOR-free sparse solve on a rectangular grid",
    lambda: (1.2, 0.5, 0.3),
    wrt=(0, 1, 2),
)
def equilibrium(p1, f1, R0, n=9):
    R = np.linspace(0.6 + 0.1 * R0, 1.4, n)
    Z = np.linspace(-0.5, 0.5, n)
    dR, dZ = R[1] - R[0], Z[1] - Z[0]
    D = sp.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1])
    G = sp.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1])
    DR = D / dR**2 - sp.diags(1 / R) @ G / (2 * dR)
    L = sp.kron(DR, sp.identity(n)) + sp.kron(sp.identity(n), D / dZ**2)
    RR = np.repeat(R, n)
    psi = np.zeros(n * n)
    for _ in range(3):
        rhs = -(p1 * RR**2 + f1) * (1 + 0.2 * psi)
        psi = spsolve(L.tocsc(), rhs)
    grid = psi.reshape(n, n)
    return grid.max() + (grid * R[:, None]).sum() * dR * dZ


# ---------------------------------------------------------------- solovev_axis_and_current
@program(
    "tokamak equilibrium: Cerfon and Freidberg's \"one size fits all\" Solov'ev "
    "solution, polynomials kept as dictionaries",
    lambda: (0.32, 1.7, 0.33, -0.155),
    wrt=(0, 1, 2, 3),
)
def solovev_axis_and_current(eps, kappa, delta, A):
    # {(power of x, power of y, power of ln x): coefficient}
    homogeneous = [
        {(0, 0, 0): 1},
        {(2, 0, 0): 1},
        {(0, 2, 0): 1, (2, 0, 1): -1},
        {(4, 0, 0): 1, (2, 2, 0): -4},
        {(0, 4, 0): 2, (2, 2, 0): -9, (4, 0, 1): 3, (2, 2, 1): -12},
        {(6, 0, 0): 1, (4, 2, 0): -12, (2, 4, 0): 8},
        {(0, 6, 0): 8, (2, 4, 0): -140, (4, 2, 0): 75, (6, 0, 1): -15, (4, 2, 1): 180, (2, 4, 1): -120},
    ]
    particular = {(4, 0, 0): (1 - A) / 8, (2, 0, 1): A / 2}

    def diff(poly, how):
        if not how:
            return poly
        out = defaultdict(float)
        for (a, b, l), c in poly.items():
            if how[0] == "y":
                if b:
                    out[a, b - 1, l] += b * c
                continue
            if a:
                out[a - 1, b, l] += a * c
            if l:
                out[a - 1, b, l - 1] += l * c
        return diff(dict(out), how[1:])

    def ev(poly, x, y):
        return sum(c * x**a * y**b * np.log(x) ** l for (a, b, l), c in poly.items())

    alpha = math.asin(delta)
    N1, N2 = -((1 + alpha) ** 2) / (eps * kappa**2), (1 - alpha) ** 2 / (eps * kappa**2)
    N3 = -kappa / (eps * math.cos(alpha) ** 2)
    out_, in_, top = (1 + eps, 0.0), (1 - eps, 0.0), (1 - delta * eps, kappa * eps)
    conditions = [
        lambda f: ev(f, *out_),
        lambda f: ev(f, *in_),
        lambda f: ev(f, *top),
        lambda f: ev(diff(f, "x"), *top),
        lambda f: ev(diff(f, "yy"), *out_) + N1 * ev(diff(f, "x"), *out_),
        lambda f: ev(diff(f, "yy"), *in_) + N2 * ev(diff(f, "x"), *in_),
        lambda f: ev(diff(f, "xx"), *top) + N3 * ev(diff(f, "y"), *top),
    ]
    M = np.array([[cond(f) for f in homogeneous] for cond in conditions])
    c = np.linalg.solve(M, -np.array([cond(particular) for cond in conditions]))
    psi = defaultdict(float, particular)
    for ci, poly in zip(c, homogeneous, strict=True):
        for key, coef in poly.items():
            psi[key] += ci * coef
    px, py, pxx = diff(psi, "x"), diff(psi, "y"), diff(psi, "xx")
    x_axis = 1.0 + 0.1 * eps
    for _ in range(25):
        dx = ev(px, x_axis, 0.0) / ev(pxx, x_axis, 0.0)
        x_axis -= dx
        if abs(dx) < 1e-14:
            break
    tau = np.linspace(0, 2 * np.pi, 181)
    xb, yb = 1 + eps * np.cos(tau + alpha * np.sin(tau)), eps * kappa * np.sin(tau)
    dl = np.hypot(np.gradient(xb, tau), np.gradient(yb, tau))
    current = np.trapezoid(np.hypot(ev(px, xb, yb), ev(py, xb, yb)) / xb * dl, tau)
    return float((x_axis - 1) / eps + current / (2 * np.pi))
