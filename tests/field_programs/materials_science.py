"""Materials: plasticity, alloys, phases, rheology, magnets, semiconductors."""

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
import scipy
from numba import jit
from scipy import optimize, special

from tests.field_programs import program, rng


# ---------------------------------------------------------------- return_mapping
@program(
    "Voce hardening return mapping with Newton loop",
    lambda: (70e3, 250.0, 120.0, 15.0, np.linspace(0, 0.02, 25)),
    wrt=(0, 1, 2, 3, 4),
)
def return_mapping(E, sy, Q, b, strains):
    ep, alpha = 0.0, 0.0
    stress = []
    for eps in strains:
        trial = E * (eps - ep)
        fy = abs(trial) - (sy + Q * (1 - math.exp(-b * alpha)))
        if fy <= 0:
            stress.append(trial)
            continue
        dg = 0.0
        it = 0
        while True:
            res = abs(trial) - E * dg - (sy + Q * (1 - math.exp(-b * (alpha + dg))))
            if abs(res) < 1e-9 or (it := it + 1) > 50:
                break
            dg += res / (E + Q * b * math.exp(-b * (alpha + dg)))
        ep += dg * np.sign(trial)
        alpha += dg
        stress.append(E * (eps - ep))
    s = np.array(stress)
    return np.trapezoid(s, strains) if hasattr(np, "trapezoid") else np.trapz(s, strains)


# ---------------------------------------------------------------- semi_implicit_cahn_hilliard
@program("phase field FFT semi-implicit", lambda: (rng(5).normal(size=(8, 8)) * 0.1, 0.5), wrt=(0, 1))
def semi_implicit_cahn_hilliard(c, kappa):
    k = np.fft.fftfreq(8) * 2 * np.pi
    k2 = k[:, None] ** 2 + k[None] ** 2
    for _ in range(3):
        mu = c**3 - c
        c = np.real(np.fft.ifft2((np.fft.fft2(c) - 0.1 * k2 * np.fft.fft2(mu)) / (1 + 0.1 * kappa * k2**2)))
    return np.mean(c**4) + kappa * np.mean(np.gradient(c, axis=0) ** 2)


# ---------------------------------------------------------------- cahn_hilliard
def laplacian(u, dx=1.0):
    return (sum(np.roll(u, s, axis=a) for s in (1, -1) for a in (0, 1)) - 4 * u) / dx**2


@program("phase-field Cahn-Hilliard with roll, energy", lambda: (0.1 * rng(1).normal(size=(8, 8)), 0.5), wrt=(0, 1))
def cahn_hilliard(c, kappa, *, M=0.05, nsteps=10):
    df = lambda c: c**3 - c
    for _ in range(nsteps):
        mu = df(c) - kappa * laplacian(c)
        c = c + M * laplacian(mu)
    gy, gx = np.gradient(c)
    return (0.25 * (c**2 - 1) ** 2 + 0.5 * kappa * (gx**2 + gy**2)).sum()


# ---------------------------------------------------------------- alloy_strength
@program(
    "Hall-Petch and rule of mixtures over pairs of phases, with counters and groups",
    lambda: (np.array([120.0, 310.0, 205.0]), np.array([0.5, 0.3, 0.2]), 0.7),
    wrt=(0, 1, 2),
)
def alloy_strength(sigma, fraction, k):
    grains = defaultdict(list)
    for phase, size in [("a", 10.0), ("b", 2.5), ("a", 14.0), ("c", 6.0), ("b", 3.0)]:
        grains[phase].append(size)
    counts = Counter(chain.from_iterable([p] * len(s) for p, s in grains.items()))
    strength = 0.0
    for (phase, sizes), s0, f in zip(grains.items(), sigma, fraction):
        mean = sum(sizes) / counts[phase]
        strength += f * (s0 + k * 100.0 / math.sqrt(mean))
    for i, j in combinations(range(3), 2):
        strength += 4.0 * fraction[i] * fraction[j] * abs(sigma[i] - sigma[j]) ** 0.5
    return strength


# ---------------------------------------------------------------- common_tangent
@program(
    "CALPHAD binary phase diagram, common tangent by root, lever rule",
    lambda: (np.array([12.0, -3.0]), 0.9),
    wrt=(0, 1),
)
def common_tangent(L, T, R=8.314e-3):
    RT = R * T * 1000

    def g(x):
        return RT * (x * np.log(x) + (1 - x) * np.log(1 - x)) + x * (1 - x) * (L[0] * 1.8 + L[1] * 0.3 * (1 - 2 * x))

    def mu(x):
        h = (1 - x) * x
        dg = RT * np.log(x / (1 - x)) + (1 - 2 * x) * (L[0] * 1.8 + L[1] * 0.3 * (1 - 2 * x)) - 0.6 * L[1] * h
        return g(x) - x * dg, g(x) + (1 - x) * dg

    def equal(v):
        (a1, b1), (a2, b2) = mu(v[0]), mu(v[1])
        return [a1 - a2, b1 - b2]

    sol = optimize.root(equal, [0.05, 0.95])
    xa, xb = sol.x
    fraction = (0.5 - xa) / (xb - xa)
    return fraction * g(xb) + (1 - fraction) * g(xa) + (xb - xa if sol.success else 0.0)


# ---------------------------------------------------------------- fit_energy
def ramberg_osgood(stress, E, K, n):
    return stress / E + (stress / K) ** (1 / n)


@program(
    "materials testing: strain residual plus mismatch of the absorbed energy density",
    lambda: (
        70e3,
        530.0,
        0.11,
        np.array([0.0007, 0.0015, 0.0029, 0.0045, 0.008, 0.015]),
        np.array([50.0, 100.0, 200.0, 280.0, 320.0, 345.0]),
    ),
    wrt=(0, 1, 2),
)
def fit_energy(E, K, n, strain, stress):
    """Strain residual plus mismatch of the absorbed energy density."""
    model = ramberg_osgood(stress, E, K, n)
    energy_model = np.trapezoid(stress, model)
    energy_exp = np.trapezoid(stress, strain)
    return 1e6 * np.mean((model - strain) ** 2) + (energy_model - energy_exp) ** 2


# ---------------------------------------------------------------- plastic_work
@dataclass(frozen=True)
class Plastic:
    strain: np.ndarray
    alpha: float


@program(
    "solid mechanics: return mapping of J2 plasticity along a strain path, with its consistent work",
    lambda: (200.0, 0.3, 0.25, 10.0),
    wrt=(0, 1, 2, 3),
)
def plastic_work(E, nu, yield_stress, hardening):
    mu, bulk = E / (2 * (1 + nu)), E / (3 * (1 - 2 * nu))
    eye = np.eye(3)
    state = Plastic(np.zeros((3, 3)), 0.0)
    work, stress = 0.0, np.zeros((3, 3))
    previous = np.zeros((3, 3))
    for k in range(1, 25):
        g = 0.004 * math.sin(0.25 * k)
        strain = np.array([[0.0005 * k, g, 0.0], [g, -0.0002 * k, 0.0], [0.0, 0.0, 0.0]])
        elastic = strain - state.strain
        trial = 2 * mu * (elastic - np.trace(elastic) / 3 * eye)
        size = np.linalg.norm(trial)
        f = size - math.sqrt(2 / 3) * (yield_stress + hardening * state.alpha)
        if f > 0:
            gamma = f / (2 * mu + 2 / 3 * hardening)
            n = trial / size
            trial = trial - 2 * mu * gamma * n
            state = replace(state, strain=state.strain + gamma * n, alpha=state.alpha + math.sqrt(2 / 3) * gamma)
        stress = trial + bulk * np.trace(elastic) * eye
        work += np.tensordot(stress, strain - previous)
        previous = strain
    return work + state.alpha


# ---------------------------------------------------------------- moduli
@program(
    "rheology: spectrum of relaxation, complex moduli, nonneg by softplus",
    lambda: (np.array([1.0, 0.2, -0.5]), np.logspace(-2, 2, 9)),
)
def moduli(logG, omega):
    tau = np.geomspace(0.01, 10, num=logG.size)
    G = np.logaddexp(0, logG)
    Gstar = np.sum(G * (1j * omega[:, None] * tau) / (1 + 1j * omega[:, None] * tau), axis=-1)
    Gp, Gpp = Gstar.real, Gstar.imag
    tan_delta = np.divide(Gpp, Gp, out=np.zeros_like(Gp), where=Gp > 1e-12)
    eta = np.abs(Gstar) / omega
    return np.trapezoid(tan_delta, np.log(omega)) + np.log(eta).mean() + np.angle(Gstar).max()


# ---------------------------------------------------------------- loop_misfit
def equilibrium_angle(h, psi, k2, phi0):
    """Newton on the energy derivative with the previous field step as start."""
    phi = phi0
    for _ in range(12):
        g = np.sin(2 * phi) * (1 + 2 * k2 * np.sin(phi) ** 2) + 2 * h * np.sin(phi - psi)
        dg = (
            2 * np.cos(2 * phi) * (1 + 2 * k2 * np.sin(phi) ** 2)
            + 2 * k2 * np.sin(2 * phi) ** 2
            + 2 * h * np.cos(phi - psi)
        )
        phi = phi - g / dg
    return phi


@program(
    "magnetism: Stoner-Wohlfarth, misfit of a loop",
    lambda: (0.6, 0.08, 1.1, np.linspace(2.0, 0.1, 9), np.linspace(1.05, 0.9, 9)),
    wrt=(0, 1, 2, 3),
)
def loop_misfit(psi, k2, ms, fields, moment):
    phi, res = psi, 0.0
    for h, m in zip(fields, moment):
        phi = equilibrium_angle(h, psi, k2, phi)
        res += (ms * np.cos(phi - psi) - m) ** 2
    return res


# ---------------------------------------------------------------- llg
@program(
    "magnetism: Ewald/dipole sums and LLG spin dynamics, spins as (N,3), np.cross and normalise",
    lambda: (rng(5).normal(size=(6, 3)), 0.1, np.array([0.0, 0.0, 1.0])),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- fermi_level
@program(
    "semiconductor physics: Fermi level by charge neutrality, implicit function via "
    "bisection + Newton polish; constants from scipy",
    lambda: (1e16, 1.12, 300.0),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- xy_energy
@program(
    "statistical physics: periodic 2D XY model with a field along x",
    lambda: (np.random.default_rng(4).uniform(-3, 3, (4, 4)), 1.0, 0.3),
    wrt=(0, 1, 2),
)
@jit(nopython=True)
def xy_energy(theta, J, h):
    """Periodic 2D XY model with a field along x."""
    n, m = theta.shape
    e = 0.0
    for i in range(n):
        for j in range(m):
            right = theta[i, (j + 1) % m]
            down = theta[(i + 1) % n, j]
            e -= J * (np.cos(theta[i, j] - right) + np.cos(theta[i, j] - down))
            e -= h * np.cos(theta[i, j])
    return e


# ---------------------------------------------------------------- ising_free_energy
@program(
    "physics: Ising mean field and partition by enumeration",
    lambda: (rng(3).normal(size=(4, 4)), rng(4).normal(size=4)),
    wrt=(0, 1),
)
def ising_free_energy(J, h):
    Js = (J + J.T) / 2
    energies = []
    for s in itertools.product((-1, 1), repeat=4):
        s = np.array(s)
        energies.append(-0.5 * s @ Js @ s - h @ s)
    return -special.logsumexp(-np.array(energies))
