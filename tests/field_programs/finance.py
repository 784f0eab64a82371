"""Finance."""

import bisect
import itertools
import math
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce

import numpy as np
from numpy import exp, log, pi, sqrt
from scipy import linalg, special, stats
from scipy.integrate import simpson
from scipy.interpolate import CubicSpline
from scipy.linalg import expm
from scipy.stats import norm

from tests.field_programs import program, rng


# ---------------------------------------------------------------- heston_price
def heston_characteristic(u, tau, kappa, theta, sigma, rho, v0):
    d = np.sqrt((rho * sigma * u * 1j - kappa) ** 2 + sigma**2 * (u * 1j + u**2))
    g = (kappa - rho * sigma * u * 1j - d) / (kappa - rho * sigma * u * 1j + d)
    C = (
        kappa
        * theta
        / sigma**2
        * ((kappa - rho * sigma * u * 1j - d) * tau - 2 * np.log((1 - g * np.exp(-d * tau)) / (1 - g)))
    )
    D = (kappa - rho * sigma * u * 1j - d) / sigma**2 * ((1 - np.exp(-d * tau)) / (1 - g * np.exp(-d * tau)))
    return np.exp(C + D * v0)


@program("Heston characteristic function by quadrature", lambda: (np.array([1.5, 0.04, 0.5, -0.6, 0.05]), 1.02))
def heston_price(p, strike):
    u = np.linspace(1e-3, 40, 200)
    k = math.log(strike)
    phi = heston_characteristic(u - 0.5j, 1.0, *p)
    integrand = (np.exp(-1j * u * k) * phi / (u**2 + 0.25)).real
    return 1 - math.sqrt(strike) / np.pi * np.trapezoid(integrand, u)


# ---------------------------------------------------------------- american_put_lsm
@program("Longstaff-Schwartz with polynomials", lambda: (100.0, 0.2, 0.05, 98.0), wrt=(0, 1, 2))
def american_put_lsm(
    s0: float, sigma: float, r: float, strike: float = 100.0, *, n_paths: int = 64, n_steps: int = 6
) -> float:
    rng = np.random.default_rng(0)
    dt = 1.0 / n_steps
    z = rng.standard_normal((n_paths, n_steps))
    log_s = np.cumsum((r - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * z, axis=1)
    s = s0 * np.exp(log_s)
    cash = np.maximum(strike - s[:, -1], 0)
    for t in range(n_steps - 2, -1, -1):
        cash *= math.exp(-r * dt)
        itm = s[:, t] < strike
        if itm.sum() < 4:
            continue
        X = np.vander(s[itm, t] / strike, 3)
        beta, *_ = np.linalg.lstsq(X, cash[itm], rcond=None)
        cont = X @ beta
        exercise = strike - s[itm, t]
        ex = exercise > cont
        idx = np.where(itm)[0][ex]
        cash[idx] = exercise[ex]
    return float(np.mean(cash) * math.exp(-r * dt))


# ---------------------------------------------------------------- implied_vol
def black_scholes_call(S, K, T, r, sig):
    d1 = (log(S / K) + (r + sig**2 / 2) * T) / (sig * sqrt(T))
    d2 = d1 - sig * sqrt(T)
    N = lambda z: 0.5 * (1 + math.erf(z / math.sqrt(2)))
    return S * N(d1) - K * exp(-r * T) * N(d2)


@program("crypto/quant: implied vol with bisection + Newton polishing", lambda: (10.0, 100.0), wrt=(0, 1))
def implied_vol(price, S, K=100.0, T=1.0, r=0.01):
    lo, hi = 1e-4, 3.0
    while hi - lo > 1e-3:
        mid = 0.5 * (lo + hi)
        if black_scholes_call(S, K, T, r, mid) > price:
            hi = mid
        else:
            lo = mid
    sig = 0.5 * (lo + hi)
    for _ in range(6):
        d1 = (log(S / K) + (r + sig**2 / 2) * T) / (sig * sqrt(T))
        vega = S * exp(-(d1**2) / 2) / sqrt(2 * pi) * sqrt(T)
        sig -= (black_scholes_call(S, K, T, r, sig) - price) / vega
    return sig


# ---------------------------------------------------------------- crr_american
@program("binomial tree with lists, American option; while shrink", lambda: (100.0, 0.25, 0.03), wrt=(0, 1, 2))
def crr_american(S, sigma, r, K=105.0, T=1.0, steps=12):
    dt = T / steps
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    values = [max(K - S * u**j * d ** (steps - j), 0.0) for j in range(steps + 1)]
    for n in range(steps, 0, -1):
        values = [
            max(disc * (p * up + (1 - p) * dn), K - S * u**j * d ** (n - 1 - j))
            for j, (dn, up) in enumerate(itertools.pairwise(values))
        ]
    (price,) = values
    return price


# ---------------------------------------------------------------- lsm
@program("American put LSM with polynomial regression", lambda: (np.array([100.0, 0.2]), rng(3).normal(size=(5, 40))))
def lsm(p, z):
    s0, sig = p
    r, K, dt = 0.05, 105.0, 0.2
    paths = [np.full(z.shape[1], s0)]
    for row in z:
        paths.append(paths[-1] * np.exp((r - sig**2 / 2) * dt + sig * np.sqrt(dt) * row))
    cash = np.maximum(K - paths[-1], 0)
    for S in paths[-2:0:-1]:
        cash = cash * np.exp(-r * dt)
        itm = S < K
        if itm.sum() > 4:
            X = np.vander(S[itm] / K, 3)
            coef, *_ = np.linalg.lstsq(X, cash[itm], rcond=None)
            cont = X @ coef
            ex = K - S[itm]
            cash[itm] = np.where(ex > cont, ex, cash[itm])
    return np.exp(-r * dt) * cash.mean()


# ---------------------------------------------------------------- curve
@program(
    "accounting/finance: bond curve bootstrapping with dict of tenors",
    lambda: ({0.5: 0.02, 1.0: 0.022, 2.0: 0.025, 3.0: 0.027, 5.0: 0.03},),
)
def curve(par):
    df = OrderedDict()
    df[0.0] = 1.0
    for T, c in sorted(par.items()):
        if T < 1:
            df[T] = 1 / (1 + c * T)
            continue
        annuity = 0.0
        t = 1.0
        while t < T:
            ts = np.array(list(df.keys()))
            ds = np.array(list(df.values()))
            annuity += np.exp(np.interp(t, ts, np.log(ds)))
            t += 1.0
        df[T] = (1 - c * annuity) / (1 + c)
    zero = {T: -np.log(d) / T for T, d in df.items() if T > 0}
    return sum(z * (T + 1) for T, z in zero.items())


# ---------------------------------------------------------------- heston_smile
class Kind(Enum):
    CALL = 1
    PUT = -1


def bs_price(S, K, T, r, sigma, kind=Kind.CALL):
    d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    w = kind.value
    return w * (S * stats.norm.cdf(w * d1) - K * np.exp(-r * T) * stats.norm.cdf(w * d2))


def implied_vol_by_newton(price, S, K, T, r, kind):
    sigma = 0.3
    for _ in range(50):
        d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
        vega = S * stats.norm.pdf(d1) * np.sqrt(T)
        if (step := (bs_price(S, K, T, r, sigma, kind) - price) / vega) ** 2 < 1e-24:
            break
        sigma -= step
    return sigma


@program(
    "Heston by characteristic function, Black-Scholes implied vol by Newton, option enum",
    lambda: ({"kappa": 1.5, "theta": 0.04, "xi": 0.5, "rho": -0.7, "v0": 0.05}, 100.0),
    wrt=(0, 1),
)
def heston_smile(params, S0):
    kappa, theta, xi, rho, v0 = params.values()
    r, T = 0.02, 0.75

    def phi(u):
        d = np.sqrt((rho * xi * 1j * u - kappa) ** 2 + xi**2 * (1j * u + u**2))
        g = (kappa - rho * xi * 1j * u - d) / (kappa - rho * xi * 1j * u + d)
        e = np.exp(-d * T)
        C = r * 1j * u * T + kappa * theta / xi**2 * (
            (kappa - rho * xi * 1j * u - d) * T - 2 * np.log((1 - g * e) / (1 - g))
        )
        D = (kappa - rho * xi * 1j * u - d) / xi**2 * (1 - e) / (1 - g * e)
        return np.exp(C + D * v0 + 1j * u * np.log(S0))

    nodes, weights = np.polynomial.legendre.leggauss(32)
    u = 25 * (nodes + 1)
    w = 25 * weights
    vols = []
    for K, kind in zip((90.0, 100.0, 112.0), itertools.cycle([Kind.PUT, Kind.CALL])):
        P1 = 0.5 + np.sum(w * (np.exp(-1j * u * np.log(K)) * phi(u - 1j) / (1j * u * phi(-1j))).real) / np.pi
        P2 = 0.5 + np.sum(w * (np.exp(-1j * u * np.log(K)) * phi(u) / (1j * u)).real) / np.pi
        price = S0 * P1 - K * np.exp(-r * T) * P2
        if kind is Kind.PUT:
            price = price - S0 + K * np.exp(-r * T)
        vols.append(implied_vol_by_newton(price, S0, K, T, r, kind))
    return 100 * (vols[0] - vols[-1]) + np.mean(vols)


# ---------------------------------------------------------------- worst_scenario
@program(
    "a bond portfolio under a spline of zero rates, its convexity and worst of some scenarios",
    lambda: (np.array([0.01, 0.015, 0.022, 0.03]), np.array([1.0, 0.6, 0.3])),
    wrt=(0, 1),
)
def worst_scenario(rates, holdings):
    knots = [0.5, 2.0, 5.0, 10.0]

    def rate(t, curve):
        k = min(max(bisect.bisect_right(knots, t) - 1, 0), len(knots) - 2)
        w = (t - knots[k]) / (knots[k + 1] - knots[k])
        return (1 - w) * curve[k] + w * curve[k + 1]

    def price(coupon, maturity, curve):
        times = np.arange(0.5, maturity + 0.25, 0.5)
        flows = np.full(len(times), coupon / 2)
        flows[-1] += 1.0
        return reduce(lambda total, tf: total + tf[1] * math.exp(-rate(tf[0], curve) * tf[0]), zip(times, flows), 0.0)

    bonds = [(0.02, 2), (0.03, 5), (0.04, 10)]
    base = sum(h * price(c, m, rates) for h, (c, m) in zip(holdings, bonds))
    shifts = {
        "parallel": np.full(4, 0.01),
        "steeper": np.linspace(-0.005, 0.01, 4),
        "flatter": np.linspace(0.01, -0.002, 4),
    }
    losses = {
        name: base - sum(h * price(c, m, rates + shift) for h, (c, m) in zip(holdings, bonds))
        for name, shift in shifts.items()
    }
    worst = max(losses, key=losses.get)
    return losses[worst] / base + (0.1 if worst == "parallel" else 0.2)


# ---------------------------------------------------------------- risk_objective
def cvar(losses, level):
    """Average of the worst (1 - level) share of the losses."""
    s = np.sort(losses)
    k = int(np.ceil(level * len(s)))
    return s[k:].mean()


@program(
    "portfolio risk: conditional value at risk",
    lambda: (np.array([0.1, -0.3, 0.4, 0.0]), np.random.default_rng(21).normal(0.01, 0.05, (22, 4))),
    wrt=(0, 1),
)
def risk_objective(w_raw, returns, level=0.8, risk_aversion=2.0):
    w = np.exp(w_raw) / np.exp(w_raw).sum()
    port = returns @ w
    vol = np.std(port, ddof=1)
    var = np.percentile(-port, 100 * level)
    return -port.mean() + risk_aversion * (0.5 * vol + 0.3 * cvar(-port, level) + 0.2 * var)


# ---------------------------------------------------------------- bond_pv01_target
def discount_curve(knots, zero_rates):
    cs = CubicSpline(knots, zero_rates)
    return lambda t: np.exp(-cs(t) * t)


@program(
    "fixed income: dirty price of a fixed coupon bond off a spline zero curve",
    lambda: (np.array([0.02, 0.024, 0.027, 0.03, 0.031]), 3.5, np.array([0.25, 1.0, 2.0, 4.0, 7.0])),
    wrt=(0, 1),
)
def bond_pv01_target(zero_rates, coupon, knots, maturity=5, freq=2):
    """Dirty price of a fixed coupon bond off a spline zero curve."""
    df = discount_curve(knots, zero_rates)
    times = np.arange(1, maturity * freq + 1) / freq
    flows = np.full(times.shape, coupon / freq)
    flows[-1] += 100.0
    return np.sum(flows * df(times))


# ---------------------------------------------------------------- portfolio_value
def bs_call(S, K, T, r, sigma):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    return S * norm.cdf(d1) - K * np.exp(-r * T) * norm.cdf(d2)


@program(
    "option pricing: value of a book of calls with a simple smile",
    lambda: (
        101.0,
        0.22,
        0.03,
        np.array([80.0, 95.0, 100.0, 110.0, 130.0]),
        np.array([0.25, 0.5, 1.0, 1.0, 2.0]),
        np.array([10.0, -5.0, 3.0, 8.0, -2.0]),
    ),
    wrt=(0, 1, 2),
)
def portfolio_value(S, sigma, r, strikes, expiries, quantities):
    """Value of a book of calls with a simple smile."""
    vols = sigma * (1.0 + 0.1 * np.log(strikes / S) ** 2)
    prices = bs_call(S, strikes, expiries, r, vols)
    return float(np.dot(quantities, prices))


# ---------------------------------------------------------------- binomial_american_put
@program(
    "derivatives pricing: American put by a Cox-Ross-Rubinstein tree",
    lambda: (97.3, 100.0, 0.045, 0.27, 0.83),
    wrt=(0, 1, 2, 3, 4),
)
def binomial_american_put(S0, K, r, sigma, T, n=25):
    """Cox-Ross-Rubinstein tree."""
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    S = S0 * u ** np.arange(n, -n - 1, -2)
    V = np.maximum(K - S, 0)
    for i in range(n - 1, -1, -1):
        S = S0 * u ** np.arange(i, -i - 1, -2)
        V = disc * (p * V[:-1] + (1 - p) * V[1:])
        V = np.maximum(V, K - S)
    return V[0]


# ---------------------------------------------------------------- heston_paths_payoff
@program(
    "Monte Carlo pricing: Asian call by Euler Monte Carlo under stochastic volatility, antithetic normals",
    lambda: (100.0, 0.06, 2.0, 0.06, 0.2, -0.5, 98.0),
    wrt=(0, 1, 2, 3, 4, 5, 6),
)
def heston_paths_payoff(s0, v0, kappa, theta, xi, rho, strike, n_paths=30, n_steps=12, T=1.0, seed=42):
    """Asian call by Euler Monte Carlo under stochastic volatility, antithetic normals."""
    rng = np.random.default_rng(seed)
    dt = T / n_steps
    z = rng.standard_normal((2, n_steps, n_paths // 2))
    z = np.concatenate([z, -z], axis=2)
    z1 = z[0]
    z2 = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
    log_s = np.full(n_paths, np.log(s0))
    v = np.full(n_paths, v0)
    running = np.zeros(n_paths)
    for k in range(n_steps):
        vp = np.maximum(v, 0.0)
        log_s = log_s - 0.5 * vp * dt + np.sqrt(vp * dt) * z1[k]
        v = v + kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z2[k]
        running += np.exp(log_s)
    return np.mean(np.maximum(running / n_steps - strike, 0.0))


# ---------------------------------------------------------------- calibration_error
def heston_cf(u, tau, kappa, theta, xi, rho, v0, r, s0):
    """Characteristic function of log S in the stable formulation."""
    d = np.sqrt((rho * xi * 1j * u - kappa) ** 2 + xi**2 * (1j * u + u**2))
    g = (kappa - rho * xi * 1j * u - d) / (kappa - rho * xi * 1j * u + d)
    e = np.exp(-d * tau)
    C = r * 1j * u * tau + kappa * theta / xi**2 * (
        (kappa - rho * xi * 1j * u - d) * tau - 2 * np.log((1 - g * e) / (1 - g))
    )
    D = (kappa - rho * xi * 1j * u - d) / xi**2 * (1 - e) / (1 - g * e)
    return np.exp(C + D * v0 + 1j * u * np.log(s0))


def heston_call(s0, K, tau, r, params, n=81, umax=60.0):
    u = np.linspace(1e-3, umax, n)
    kappa, theta, xi, rho, v0 = params
    cf1 = heston_cf(u - 1j, tau, kappa, theta, xi, rho, v0, r, s0) / (s0 * np.exp(r * tau))
    cf2 = heston_cf(u, tau, kappa, theta, xi, rho, v0, r, s0)
    k = np.exp(-1j * u * np.log(K)) / (1j * u)
    p1 = 0.5 + simpson((k * cf1).real, x=u) / np.pi
    p2 = 0.5 + simpson((k * cf2).real, x=u) / np.pi
    return s0 * p1 - K * np.exp(-r * tau) * p2


@program(
    "quantitative finance: calibration of Heston's model",
    lambda: ([1.8, 0.05, 0.5, -0.6, 0.045], 100.0, [(90.0, 0.5, 13.0), (100.0, 0.5, 6.9), (110.0, 1.0, 5.2)]),
    wrt=(0, 1),
)
def calibration_error(params, s0, quotes, r=0.02):
    err = [(heston_call(s0, K, tau, r, params) - px) ** 2 for K, tau, px in quotes]
    return sum(err) / len(err)


# ---------------------------------------------------------------- cds_pricing_error
def generator_from_rates(rates):
    """Rating migration generator with an absorbing default state."""
    n = 4
    G = np.zeros((n, n))
    pos = 0
    for i in range(n - 1):
        for j in range(n):
            if i != j:
                G[i, j] = rates[pos]
                pos += 1
    G -= np.diag(G.sum(axis=1))
    return G


@program(
    "credit risk: credit default swaps by rating migration, pricing error",
    lambda: (np.array([0.08, 0.01, 0.002, 0.05, 0.07, 0.01, 0.01, 0.09, 0.06]), [80.0, 120.0, 150.0], [1, 2, 3]),
)
def cds_pricing_error(rates, spreads, tenors, rating=1, recovery=0.4, r=0.03):
    G = generator_from_rates(rates)
    err = 0.0
    for spread, T in zip(spreads, tenors):
        grid = np.linspace(0.0, T, int(2 * T) + 1)
        pd = np.array([expm(G * t)[rating, -1] for t in grid])
        df = np.exp(-r * grid)
        protection = (1 - recovery) * np.sum(0.5 * (df[1:] + df[:-1]) * np.diff(pd))
        annuity = np.sum(0.5 * df[1:] * (1 - pd[1:]))
        err += (1e4 * protection / annuity - spread) ** 2
    return err / len(spreads)


# ---------------------------------------------------------------- portfolio
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


@program(
    "credit risk: transition matrices, default raised inside simulation, cash flows of several instruments",
    lambda: (0.05, 0.03, np.array([0.02, 0.05, 0.1])),
    wrt=(0, 1, 2),
    refused="a list of items of different kinds",
)
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


# ---------------------------------------------------------------- call_prices
@program(
    "calls in Heston's model by its characteristic function, with quadrature of Gauss and Laguerre",
    lambda: (np.array([1.5, 0.05, 0.4, -0.6, 0.04]), np.array([95.0, 105.0])),
    wrt=(0, 1),
)
def call_prices(model, strikes):
    kappa, theta, sigma, rho, v0 = model
    S, r, T = 100.0, 0.02, 0.75
    nodes, weights = np.polynomial.laguerre.laggauss(24)

    def phi(u, j):
        b = kappa - (rho * sigma if j == 1 else 0.0)
        q = 0.5 if j == 1 else -0.5
        d = np.sqrt((rho * sigma * 1j * u - b) ** 2 - sigma**2 * (2j * q * u - u**2))
        g = (b - rho * sigma * 1j * u - d) / (b - rho * sigma * 1j * u + d)
        e = np.exp(-d * T)
        C = r * 1j * u * T + kappa * theta / sigma**2 * (
            (b - rho * sigma * 1j * u - d) * T - 2 * np.log((1 - g * e) / (1 - g))
        )
        D = (b - rho * sigma * 1j * u - d) / sigma**2 * (1 - e) / (1 - g * e)
        return np.exp(C + D * v0 + 1j * u * np.log(S))

    total = 0.0
    for K in strikes:
        P = [
            0.5
            + np.sum(weights * np.exp(nodes) * np.real(np.exp(-1j * nodes * np.log(K)) * phi(nodes, j) / (1j * nodes)))
            / np.pi
            for j in (1, 2)
        ]
        total += S * P[0] - K * np.exp(-r * T) * P[1]
    return total / 10.0


# ---------------------------------------------------------------- quoting_utility
@dataclass(frozen=True)
class OrderFlow:
    arrival: float
    decay: float

    def intensity(self, depth):
        return self.arrival * np.exp(-self.decay * depth)


def glft_generator(flow, sigma, gamma, levels):
    ratio = 1 + gamma / flow.decay
    eta = flow.arrival * ratio ** -(1 + flow.decay / gamma)
    alpha = 0.5 * flow.decay * gamma * sigma**2
    n = len(levels)
    return np.diag(-alpha * levels**2) + eta * (np.eye(n, k=1) + np.eye(n, k=-1))


@program(
    "market making: the quotes of Gueant, Lehalle and Fernandez-Tapia, and the law of the inventory under them",
    lambda: (0.3, 0.05, np.array([0.9, 1.5])),
    wrt=(0, 1, 2),
)
def quoting_utility(sigma, gamma, book, max_inventory=4, horizon=20.0, n_steps=80):
    flow = OrderFlow(*book)
    q = np.arange(-max_inventory, max_inventory + 1, dtype=float)
    dt = horizon / n_steps
    propagator = linalg.expm(glft_generator(flow, sigma, gamma, q) * dt)

    # backwards in time: the value function, and with it the depth of both quotes at each inventory
    base = np.log1p(gamma / flow.decay) / gamma
    value = np.ones_like(q)
    policy = []
    for _ in range(n_steps):
        value = propagator @ value
        log_v = np.log(value) / flow.decay
        bid = np.full_like(q, np.inf)
        ask = np.full_like(q, np.inf)
        bid[:-1] = base - np.diff(log_v)
        ask[1:] = base + np.diff(log_v)
        policy.append((bid, ask))

    # forwards: the probability of each inventory, and what the spread earns
    p = np.where(q == 0, 1.0, 0.0)
    revenue = 0.0
    variance = 0.0
    for bid, ask in reversed(policy):
        buys, sells = p * flow.intensity(bid), p * flow.intensity(ask)
        finite = np.isfinite(bid)
        revenue += dt * (buys[finite] @ bid[finite] + sells[1:] @ ask[1:])
        variance += dt * sigma**2 * (p @ q**2)
        p = p - dt * (buys + sells)
        p[1:] += dt * buys[:-1]
        p[:-1] += dt * sells[1:]
    assert abs(p.sum() - 1) < 1e-9, f"probability leaks: {p.sum()}"
    return revenue - 0.5 * gamma * variance


# ---------------------------------------------------------------- exotic_vol_book
Smile = namedtuple("Smile", "expiry forward vol_of_k")


Quote = namedtuple("Quote", ["atm", "rr25", "bf25", "rr10", "bf10"])


def build_smile(expiry, forward, quote):
    wing = lambda phi, rr, bf: quote.atm + bf + 0.5 * phi * rr
    pillars = {
        ("put", 0.10): wing(-1, quote.rr10, quote.bf10),
        ("put", 0.25): wing(-1, quote.rr25, quote.bf25),
        ("call", 0.25): wing(1, quote.rr25, quote.bf25),
        ("call", 0.10): wing(1, quote.rr10, quote.bf10),
    }
    points = [(0.5 * quote.atm**2 * expiry, quote.atm)]
    for (kind, delta), vol in pillars.items():
        phi = 1 if kind == "call" else -1
        width = vol * np.sqrt(expiry)
        points.append((-phi * special.ndtri(delta) * width + 0.5 * width**2, vol))
    k, vols = map(np.array, zip(*sorted(points), strict=True))
    spline = CubicSpline(k, vols, bc_type="natural")
    return Smile(expiry, forward, lambda x, lo=k[0], hi=k[-1]: spline(np.clip(x, lo, hi)))


def surface_vol(smiles, k, t):
    for near, far in itertools.pairwise(smiles):
        if near.expiry <= t <= far.expiry:
            w = (t - near.expiry) / (far.expiry - near.expiry)
            total = (1 - w) * near.vol_of_k(k) ** 2 * near.expiry + w * far.vol_of_k(k) ** 2 * far.expiry
            return np.sqrt(total / t)
    raise ValueError(f"expiry {t} is outside the surface")


def undiscounted_black(forward, strike, vol, t):
    sd = vol * np.sqrt(t)
    d1 = np.log(forward / strike) / sd + 0.5 * sd
    call = forward * special.ndtr(d1) - strike * special.ndtr(d1 - sd)
    return np.where(strike >= forward, call, call - forward + strike)


@program(
    "option volatility surfaces: FX smiles from the quotes by delta, a digital with its skew and a variance swap",
    lambda: (1.0862, np.array([0.071, 0.074, 0.0785]), np.array([-0.006, -0.0085, -0.011]), np.array([0.04, 0.022])),
    wrt=(0, 1, 2, 3),
)
def exotic_vol_book(spot, atm, rr25, rates):
    domestic, foreign = rates
    tenors = (1 / 12, 0.25, 1.0)
    smiles = [
        build_smile(t, spot * np.exp((domestic - foreign) * t), Quote(a, r, 0.0021, 1.85 * r, 0.0068))
        for t, a, r in zip(tenors, atm, rr25, strict=True)
    ]
    t, barrier = 0.6, 1.12
    fwd = spot * np.exp((domestic - foreign) * t)
    vol_at = partial(surface_vol, smiles, t=t)

    # the variance swap, replicated by a strip of options out of the money
    k = np.linspace(-0.45, 0.45, 301)
    strikes = fwd * np.exp(k)
    strip = undiscounted_black(fwd, strikes, vol_at(k), t) / strikes
    fair_vol = np.sqrt(2 / t * np.trapezoid(strip, k))

    # the digital by a tight spread of calls, so that it carries the skew
    width = 1e-3
    lo, hi = barrier * (1 - width), barrier * (1 + width)
    calls = [undiscounted_black(fwd, s, vol_at(np.log(s / fwd)), t) for s in (lo, hi)]
    digital = np.exp(-domestic * t) * (calls[0] - calls[1]) / (hi - lo)
    return float(100 * fair_vol + 10 * digital)
