import math
from dataclasses import dataclass, field

import numpy as np
import scipy.special as sc
from scipy.integrate import quad, trapezoid
from scipy.interpolate import CubicSpline

PROGRAMS = []


# ---------------------------------------------------------------- orbital mechanics
def solve_kepler(M, e, tol=1e-13, max_iter=50):
    """Newton iteration for the eccentric anomaly."""
    E = M if e < 0.8 else math.pi
    for _ in range(max_iter):
        dE = (E - e * math.sin(E) - M) / (1.0 - e * math.cos(E))
        E -= dE
        if abs(dE) < tol:
            return E
    raise RuntimeError(f"Kepler solver did not converge for M={M}, e={e}")


def satellite_range(elements, t, observer, mu=398600.4418):
    a, e, inc, raan, argp, M0 = elements
    n = math.sqrt(mu / a**3)
    E = solve_kepler(M0 + n * t, e)
    xp = a * (math.cos(E) - e)
    yp = a * math.sqrt(1 - e * e) * math.sin(E)
    cO, sO = math.cos(raan), math.sin(raan)
    cw, sw = math.cos(argp), math.sin(argp)
    ci, si = math.cos(inc), math.sin(inc)
    x = (cO * cw - sO * sw * ci) * xp + (-cO * sw - sO * cw * ci) * yp
    y = (sO * cw + cO * sw * ci) * xp + (-sO * sw + cO * cw * ci) * yp
    z = sw * si * xp + cw * si * yp
    return math.sqrt((x - observer[0]) ** 2 + (y - observer[1]) ** 2 + (z - observer[2]) ** 2)


PROGRAMS.append(
    (
        "satellite_range",
        "orbital mechanics",
        satellite_range,
        lambda: ([8200.0, 0.12, 0.9, 1.1, 0.4, 0.3], 900.0, (4000.0, 3500.0, 3300.0)),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- battery models
@dataclass
class Cell:
    R0: float = 0.012
    R1: float = 0.008
    C1: float = 2400.0
    capacity_Ah: float = 2.6
    ocv: list = field(default_factory=lambda: [3.1, 0.9, -0.5, 0.6])

    def open_circuit(self, soc):
        return sum(c * soc**i for i, c in enumerate(self.ocv))


def voltage_rmse(cell, current, v_meas, dt=30.0, soc0=0.9):
    """First order equivalent circuit, coulomb counting."""
    soc, v1 = soc0, 0.0
    decay = np.exp(-dt / (cell.R1 * cell.C1))
    err = []
    for i, v in zip(current, v_meas):
        soc = soc - i * dt / (3600.0 * cell.capacity_Ah)
        v1 = decay * v1 + cell.R1 * (1 - decay) * i
        err.append(cell.open_circuit(soc) - v1 - cell.R0 * i - v)
    return np.sqrt(np.mean(np.square(err)))


PROGRAMS.append(
    (
        "battery_ecm",
        "battery models",
        voltage_rmse,
        lambda: (
            Cell(),
            [2.0, 2.0, 4.0, 4.0, 1.0, 0.0, 0.0, 3.0, 5.0, 2.0],
            [3.72, 3.70, 3.63, 3.61, 3.68, 3.72, 3.71, 3.62, 3.55, 3.60],
        ),
        (0,),
    )
)


# ---------------------------------------------------------------- quantum mechanics
def evolve_split_step(psi, V, x, dt, nsteps):
    """Split-operator propagation, hbar = m = 1."""
    k = 2 * np.pi * np.fft.fftfreq(len(x), d=x[1] - x[0])
    half_v = np.exp(-0.5j * dt * V)
    kin = np.exp(-0.5j * dt * k**2)
    for _ in range(nsteps):
        psi = half_v * psi
        psi = np.fft.ifft(kin * np.fft.fft(psi))
        psi = half_v * psi
    return psi


def transmission(height, width, k0, n=32):
    """Probability to the right of a Gaussian barrier."""
    x = np.linspace(-10, 10, n, endpoint=False)
    dx = x[1] - x[0]
    V = height * np.exp(-((x / width) ** 2))
    psi = np.exp(-0.5 * (x + 4) ** 2 / 1.5**2 + 1j * k0 * x)
    psi = psi / np.sqrt(np.sum(np.abs(psi) ** 2) * dx)
    psi = evolve_split_step(psi, V, x, 0.1, 25)
    return np.sum(np.abs(psi[x > 0]) ** 2) * dx


PROGRAMS.append(("tunnelling_split_step", "quantum mechanics", transmission, lambda: (1.1, 0.9, 1.7), (0, 1, 2)))


# ---------------------------------------------------------------- fluid dynamics
def burgers_energy(u0, nu, dt=0.004, steps=15):
    """Kinetic energy of viscous Burgers flow on a periodic grid."""
    u = u0
    dx = 1.0 / len(u0)
    for _ in range(steps):
        up, um = np.roll(u, -1), np.roll(u, 1)
        flux = (0.5 * up**2 - 0.5 * um**2) / (2 * dx)
        diff = nu * (up - 2 * u + um) / dx**2
        u = u + dt * (-flux + diff)
    return 0.5 * dx * np.sum(u**2)


PROGRAMS.append(
    (
        "burgers_energy",
        "fluid dynamics",
        burgers_energy,
        lambda: (np.sin(2 * np.pi * np.arange(20) / 20) + 0.3, 0.02),
        (0, 1),
    )
)


# ---------------------------------------------------------------- molecular modelling
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


def _lj_args():
    pos = np.array([[0.0, 0.0, 0.0], [3.6, 0.2, -0.1], [0.3, 3.9, 0.4], [-0.2, 0.1, 4.1], [3.5, 3.8, 0.2]])
    return (
        pos,
        np.array([0.1, 0.15, 0.12, 0.2, 0.1]),
        np.array([3.2, 3.4, 3.1, 3.3, 3.5]),
        np.array([0.1, -0.2, 0.15, 0.05, -0.1]),
    )


PROGRAMS.append(("lj_coulomb", "molecular modelling", lj_energy, _lj_args, (0, 1, 2, 3)))


# ---------------------------------------------------------------- radiative transfer
def two_stream_olr(tau_levels, T, Ts, sigma_sb=5.670374e-8):
    """Grey-atmosphere outgoing longwave radiation, layer by layer from the ground."""
    dtau = np.diff(tau_levels)
    trans = np.exp(-1.66 * np.abs(dtau))
    up = sigma_sb * Ts**4
    for tr, temp in zip(trans, T):
        up = up * tr + (1.0 - tr) * sigma_sb * temp**4
    return up


PROGRAMS.append(
    (
        "grey_olr",
        "radiative transfer",
        two_stream_olr,
        lambda: (np.linspace(2.0, 0.0, 11) ** 1.3, np.linspace(285.0, 215.0, 10), 288.0),
        (1, 2),
    )
)


# ---------------------------------------------------------------- MRI
def spgr_signal(m0, t1, alpha, tr):
    e1 = np.exp(-tr / t1)
    return m0 * np.sin(alpha) * (1 - e1) / (1 - np.cos(alpha) * e1)


def despot1_cost(m0, t1, b1, flip_deg, signal, tr=5.0):
    """Variable flip angle T1 fit, Rician-free residual."""
    alpha = np.radians(flip_deg) * b1
    model = spgr_signal(m0[:, None], t1[:, None], alpha[None, :], tr)
    return 0.5 * np.sum((model - signal) ** 2) / signal.size


def _mri_args():
    flips = np.array([2.0, 5.0, 10.0, 15.0, 20.0])
    sig = 20 + 10 * np.cos(np.arange(15).reshape(3, 5))
    return np.array([900.0, 1000.0, 750.0]), np.array([800.0, 1200.0, 600.0]), 0.95, flips, sig


PROGRAMS.append(("despot1", "MRI", despot1_cost, _mri_args, (0, 1, 2)))


# ---------------------------------------------------------------- hydrology
def well_function(u):
    return sc.exp1(u)


def theis_misfit(log_T, log_S, Q, r, t, drawdown):
    """Theis drawdown misfit for one pumping test."""
    T, S = 10**log_T, 10**log_S
    u = r**2 * S / (4 * T * t)
    s = Q / (4 * np.pi * T) * well_function(u)
    return np.sum((s - drawdown) ** 2)


PROGRAMS.append(
    (
        "theis_fit",
        "hydrology",
        theis_misfit,
        lambda: (
            -2.0,
            -3.5,
            0.02,
            30.0,
            np.array([60.0, 300.0, 900.0, 3600.0, 10800.0, 36000.0]),
            np.array([0.25, 0.5, 0.7, 0.95, 1.1, 1.3]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- fixed income
def discount_curve(knots, zero_rates):
    cs = CubicSpline(knots, zero_rates)
    return lambda t: np.exp(-cs(t) * t)


def bond_pv01_target(zero_rates, coupon, knots, maturity=5, freq=2):
    """Dirty price of a fixed coupon bond off a spline zero curve."""
    df = discount_curve(knots, zero_rates)
    times = np.arange(1, maturity * freq + 1) / freq
    flows = np.full(times.shape, coupon / freq)
    flows[-1] += 100.0
    return np.sum(flows * df(times))


PROGRAMS.append(
    (
        "bond_spline_curve",
        "fixed income",
        bond_pv01_target,
        lambda: (np.array([0.02, 0.024, 0.027, 0.03, 0.031]), 3.5, np.array([0.25, 1.0, 2.0, 4.0, 7.0])),
        (0, 1),
    )
)


# ---------------------------------------------------------------- cosmology
def E_of_z(z, om, w0, ol):
    ok = 1.0 - om - ol
    return np.sqrt(om * (1 + z) ** 3 + ok * (1 + z) ** 2 + ol * (1 + z) ** (3 * (1 + w0)))


def distance_modulus(z, h0, om, w0, n=41):
    zz = np.linspace(0.0, z, n)
    dc = 299792.458 / h0 * trapezoid(1.0 / E_of_z(zz, om, w0, 1.0 - om), zz)
    return 5 * np.log10((1 + z) * dc) + 25


def supernova_chi2(h0, om, w0, z, mu, err):
    model = np.array([distance_modulus(zi, h0, om, w0) for zi in z])
    chi2 = np.sum(((mu - model) / err) ** 2)
    age, _ = quad(lambda a: 1.0 / (a * E_of_z(1 / a - 1, om, w0, 1 - om)), 0.2, 1.0)
    return chi2 + ((age * 977.8 / h0 - 12.0) / 1.0) ** 2


PROGRAMS.append(
    (
        "sn_chi2",
        "cosmology",
        supernova_chi2,
        lambda: (
            70.0,
            0.3,
            -0.95,
            np.array([0.05, 0.2, 0.4, 0.7, 1.1]),
            np.array([36.7, 40.0, 41.7, 43.1, 44.3]),
            np.array([0.1, 0.1, 0.12, 0.15, 0.2]),
        ),
        (0, 1, 2),
    )
)
