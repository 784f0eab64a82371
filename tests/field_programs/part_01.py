from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import norm

PROGRAMS = []


# ---------------------------------------------------------------- pharmacokinetics
def one_compartment(t, dose, ka, ke, v):
    """Concentration after an oral dose, first order absorption."""
    return dose * ka / (v * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


def pk_objective(params, times, conc, dose=100.0):
    """Weighted least squares for a one-compartment oral model (log parameters)."""
    ka, ke, v = np.exp(params)
    pred = one_compartment(times, dose, ka, ke, v)
    w = 1.0 / (0.1 + 0.15 * conc) ** 2
    return np.sum(w * (conc - pred) ** 2)


PROGRAMS.append(
    (
        "pk_oral_wls",
        "pharmacokinetics",
        pk_objective,
        lambda: (
            np.log(np.array([1.3, 0.17, 22.0])),
            np.array([0.5, 1, 2, 4, 6, 8, 12, 24]),
            np.array([1.9, 2.9, 3.3, 2.7, 2.0, 1.5, 0.7, 0.1]),
        ),
        (0,),
    )
)


# ---------------------------------------------------------------- glaciology
@dataclass
class IceParams:
    A: float = 2.4
    n: float = 3.0
    rho_g: float = 0.9
    smb_gradient: float = 0.05


def ice_flux(h, s, dx, p):
    slope = (s[1:] - s[:-1]) / dx
    hm = 0.5 * (h[1:] + h[:-1])
    return -2.0 * p.A / (p.n + 2.0) * p.rho_g**p.n * hm ** (p.n + 2.0) * np.abs(slope) ** (p.n - 1.0) * slope


def glacier_volume(p, h0, bed, dx=1.0, dt=1e-3, nsteps=12):
    """Shallow-ice flowline: volume after a few explicit time steps."""
    h = h0.copy()
    for _ in range(nsteps):
        s = bed + h
        q = ice_flux(h, s, dx, p)
        smb = p.smb_gradient * (s - 2.0)
        dhdt = smb.copy()
        dhdt[1:-1] -= (q[1:] - q[:-1]) / dx
        h = h + dt * dhdt
    return dx * np.sum(h)


def _glacier_args():
    x = np.linspace(0, 1, 12)
    bed = 2.5 - 1.8 * x
    h0 = 0.9 * np.sqrt(1.05 - x) + 0.3
    return IceParams(), h0, bed


PROGRAMS.append(("sia_glacier", "glaciology", glacier_volume, _glacier_args, (0, 1, 2)))


# ---------------------------------------------------------------- option pricing
def bs_call(S, K, T, r, sigma):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    return S * norm.cdf(d1) - K * np.exp(-r * T) * norm.cdf(d2)


def portfolio_value(S, sigma, r, strikes, expiries, quantities):
    """Value of a book of calls with a simple smile."""
    vols = sigma * (1.0 + 0.1 * np.log(strikes / S) ** 2)
    prices = bs_call(S, strikes, expiries, r, vols)
    return float(np.dot(quantities, prices))


PROGRAMS.append(
    (
        "bs_book",
        "option pricing",
        portfolio_value,
        lambda: (
            101.0,
            0.22,
            0.03,
            np.array([80.0, 95.0, 100.0, 110.0, 130.0]),
            np.array([0.25, 0.5, 1.0, 1.0, 2.0]),
            np.array([10.0, -5.0, 3.0, 8.0, -2.0]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- seismology
def travel_time_misfit(source, velocity, stations, picks):
    """Hypocentre misfit in a homogeneous half space, origin time removed by demeaning."""
    x, y, z = source
    tt = []
    for sx, sy in stations:
        d = np.sqrt((sx - x) ** 2 + (sy - y) ** 2 + z**2)
        tt.append(d / velocity)
    tt = np.array(tt)
    res = picks - tt
    res = res - np.mean(res)
    return np.sum(res**2)


PROGRAMS.append(
    (
        "hypocenter",
        "seismology",
        travel_time_misfit,
        lambda: (
            np.array([12.0, -3.5, 8.0]),
            5.8,
            [(0.0, 0.0), (20.0, 5.0), (-10.0, 15.0), (5.0, -25.0), (30.0, -12.0)],
            np.array([4.9, 4.6, 8.1, 6.9, 6.2]),
        ),
        (0, 1),
    )
)


# ---------------------------------------------------------------- epidemiology
def seir_loglik(beta, sigma, gamma, cases, N=10000.0, I0=12.0):
    """Poisson log likelihood of daily new cases under an SEIR model, Euler with 4 substeps per day."""
    S, E, I, R = N - I0, 0.0, I0, 0.0
    sub = 4
    dt = 1.0 / sub
    ll = 0.0
    for c in cases:
        new = 0.0
        for _ in range(sub):
            inf = beta * S * I / N * dt
            onset = sigma * E * dt
            rec = gamma * I * dt
            S -= inf
            E += inf - onset
            I += onset - rec
            R += rec
            new += onset
        mu = new + 1e-6
        ll += c * np.log(mu) - mu - gammaln(c + 1)
    return ll


PROGRAMS.append(
    (
        "seir_poisson",
        "epidemiology",
        seir_loglik,
        lambda: (0.62, 0.25, 0.18, [1, 2, 2, 3, 5, 4, 7, 9, 8, 12, 15, 14]),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- optics
def layer_matrix(n, d, wavelength):
    delta = 2 * np.pi * n * d / wavelength
    return np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])


def thin_film_merit(thicknesses, indices, n_sub, wavelengths):
    """Mean reflectance of a coating at normal incidence, transfer matrix method."""
    total = 0.0
    for wl in wavelengths:
        M = np.eye(2, dtype=complex)
        for n, d in zip(indices, thicknesses):
            M = M @ layer_matrix(n, d, wl)
        B, C = M @ np.array([1.0, n_sub])
        r = (B - C) / (B + C)
        total += np.abs(r) ** 2
    return total / len(wavelengths)


PROGRAMS.append(
    (
        "thin_film_ar",
        "optics",
        thin_film_merit,
        lambda: (np.array([99.0, 62.0, 55.0]), np.array([1.38, 2.1, 1.7]), 1.52, np.linspace(450.0, 650.0, 9)),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- econometrics
def garch_nll(theta, r):
    """Gaussian GARCH(1,1) negative log likelihood."""
    mu, omega, alpha, beta = theta
    e = r - mu
    T = len(r)
    h = np.zeros(T)
    h[0] = np.var(r)
    for t in range(1, T):
        h[t] = omega + alpha * e[t - 1] ** 2 + beta * h[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi) + np.log(h) + e**2 / h)


PROGRAMS.append(
    (
        "garch11",
        "econometrics",
        garch_nll,
        lambda: (np.array([0.02, 0.1, 0.12, 0.8]), np.random.default_rng(3).standard_normal(30) * 1.1),
        (0, 1),
    )
)


# ---------------------------------------------------------------- queueing
def erlang_c(lam, mu, c):
    a = lam / mu
    inv_b = 1.0
    for k in range(1, c + 1):
        inv_b = 1.0 + inv_b * k / a
    b = 1.0 / inv_b
    rho = a / c
    return b / (1.0 - rho * (1.0 - b))


def call_centre_cost(lam, mu, n_agents=8, wage=18.0, wait_cost=45.0):
    """Hourly cost of an M/M/c call centre."""
    if lam >= n_agents * mu:
        raise ValueError(f"unstable queue: lambda={lam} >= c*mu={n_agents * mu}")
    pw = erlang_c(lam, mu, n_agents)
    wq = pw / (n_agents * mu - lam)
    return wage * n_agents + wait_cost * lam * wq


PROGRAMS.append(("erlang_c_cost", "queueing", call_centre_cost, lambda: (21.0, 3.2), (0, 1)))


# ---------------------------------------------------------------- robotics
def dh(theta, d, a, alpha):
    ct, st = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def ik_cost(q, target, q_rest, w=0.01):
    """Squared position error of a 4-link arm plus a joint-space regulariser."""
    links = [(0.3, 0.0, np.pi / 2), (0.0, 0.5, 0.0), (0.0, 0.4, 0.0), (0.1, 0.1, -np.pi / 2)]
    T = np.eye(4)
    for qi, (d, a, alpha) in zip(q, links):
        T = T @ dh(qi, d, a, alpha)
    err = T[:3, 3] - target
    return err @ err + w * np.sum((q - q_rest) ** 2)


PROGRAMS.append(
    (
        "arm_ik",
        "robotics kinematics",
        ik_cost,
        lambda: (np.array([0.3, -0.5, 0.9, 0.2]), np.array([0.5, 0.2, 0.6]), np.zeros(4)),
        (0, 1),
    )
)


# ---------------------------------------------------------------- survival analysis
def cox_partial_nll(beta, X, time, event):
    """Negative Cox partial log likelihood (no ties)."""
    order = np.argsort(-time)
    Xs = X[order]
    ev = event[order]
    eta = Xs @ beta
    log_risk = np.log(np.cumsum(np.exp(eta)))
    return -np.sum((eta - log_risk)[ev])


def _cox_args():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(15, 3))
    time = rng.exponential(5.0, size=15)
    event = rng.uniform(size=15) < 0.7
    return np.array([0.4, -0.2, 0.1]), X, time, event


PROGRAMS.append(("cox_ph", "survival analysis", cox_partial_nll, _cox_args, (0, 1)))
