"""Economics, econometrics and games."""

import functools
import math
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import scipy.special as sc
from scipy import optimize, special, stats
from scipy.linalg import cholesky, solve_discrete_lyapunov
from scipy.special import ndtr

from tests.field_programs import program, rng


# ---------------------------------------------------------------- growth_vfi
@program("value function iteration with interpolation and golden choice grid", lambda: (np.array([0.95, 2.0, 0.36]),))
def growth_vfi(p):
    beta, sigma, alpha = p
    grid = np.linspace(0.1, 2.0, 15)
    V = np.zeros(15)
    for it in range(30):
        c = grid[:, None] ** alpha + 0.1 * grid[:, None] - 0.4 * grid[None, :]
        u = np.where(c > 0.01, (np.maximum(c, 0.01) ** (1 - sigma) - 1) / (1 - sigma), -50.0)
        Vn = np.max(u + beta * V[None, :], axis=1)
        if np.max(np.abs(Vn - V)) < 1e-6:
            break
        V = Vn
    return V[7]


# ---------------------------------------------------------------- vfi
@program("Aiyagari/VFI with argmax and interpolation", lambda: (np.array([0.95, 2.0]),))
def vfi(par):
    beta, sigma = par
    grid = np.linspace(0.5, 5, 8)
    u = lambda c: (c ** (1 - sigma) - 1) / (1 - sigma)
    V = np.zeros_like(grid)
    for _ in range(15):
        C = 1.03 * grid[:, None] + 1 - grid[None, :]
        val = np.where(C > 0, u(np.maximum(C, 1e-3)), -1e3) + beta * V[None, :]
        V = val.max(axis=1)
        policy = val.argmax(1)
    return V[policy].mean()


# ---------------------------------------------------------------- rbc
@program("RBC: value of a real business cycle model by iteration on a grid", lambda: (0.36, 0.95, 0.05), wrt=(0, 1, 2))
def rbc(alpha, beta, rho_shock):
    z = np.array([1 - rho_shock, 1 + rho_shock])
    Pi = np.array([[0.9, 0.1], [0.1, 0.9]])
    kss = (alpha * beta) ** (1 / (1 - alpha))
    k = np.linspace(0.7, 1.3, 12) * kss
    y = z[:, np.newaxis] * k**alpha
    V = np.zeros((2, 12))
    diff = 10.0
    n_iter = 0
    while diff > 1e-12 and n_iter < 40:
        EV = Pi @ V
        TV = np.empty_like(V)
        for iz in range(2):
            kp0 = 0
            for ik in range(12):
                best = -np.inf
                for ikp in range(kp0, 12):
                    c = y[iz, ik] - k[ikp]
                    if c <= 0:
                        break
                    val = (1 - beta) * np.log(c) + beta * EV[iz, ikp]
                    if val > best:
                        best = val
                        kp0 = ikp
                    else:
                        break
                TV[iz, ik] = best
        diff = np.abs(TV - V).max()
        V = TV
        n_iter += 1
    return V.mean()


# ---------------------------------------------------------------- welfare_in_equilibrium
@program(
    "general equilibrium of an exchange economy by tatonnement, welfare of its people",
    lambda: (np.array([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]]), np.array([0.6, 1.4, 0.9])),
    wrt=(0, 1),
)
def welfare_in_equilibrium(share, sigma):
    endowment = np.array([[1.0, 0.2], [0.1, 1.5], [0.7, 0.6]])
    price = np.array([1.0, 1.0])
    for _ in range(200):
        income = endowment @ price
        weight = share ** sigma[:, None] * price ** (1 - sigma[:, None])
        demand = income[:, None] * weight / price / weight.sum(axis=1, keepdims=True)
        excess = (demand - endowment).sum(axis=0)
        if not np.any(np.abs(excess) > 1e-11):
            break
        price = price + 0.3 * excess * price
        price = price / price[0]
    utility = ((share * demand ** ((sigma[:, None] - 1) / sigma[:, None])).sum(axis=1)) ** (sigma / (sigma - 1))
    return np.sum(np.log(utility)) + 0.1 * price[1]


# ---------------------------------------------------------------- growth_model
@program("value function iteration with broadcasting and max over axis", lambda: (0.95, 0.36, 1.5), wrt=(0, 1, 2))
def growth_model(beta, alpha, sigma):
    kgrid = np.linspace(0.5, 2.0, 12)
    y = kgrid**alpha + 0.9 * kgrid
    c = y[:, None] - kgrid[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.where(c > 0, (np.maximum(c, 1e-10) ** (1 - sigma) - 1) / (1 - sigma), -1e10)
    V = np.zeros_like(kgrid)
    diff = np.inf
    n = 0
    while diff > 1e-8 and n < 200:
        Vn = np.max(u + beta * V[None, :], axis=1)
        diff = np.max(np.abs(Vn - V))
        V, n = Vn, n + 1
    policy = kgrid[np.argmax(u + beta * V, axis=1)]
    return V.sum() + policy.std()


# ---------------------------------------------------------------- garch_nll
@program(
    "econometrics: Gaussian GARCH(1,1) negative log likelihood",
    lambda: (np.array([0.02, 0.1, 0.12, 0.8]), np.random.default_rng(3).standard_normal(30) * 1.1),
    wrt=(0, 1),
)
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


# ---------------------------------------------------------------- choice_objective
def probit_ll(beta, X, y):
    xb = X @ beta
    q = 2 * y - 1
    return np.log(ndtr(q * xb)).sum()


def nested_logit_shares(delta, nests, lam):
    shares = np.empty(len(delta))
    incl = []
    for k in range(nests.max() + 1):
        s = np.exp(delta[nests == k] / lam[k])
        shares[nests == k] = s / s.sum()
        incl.append(lam[k] * np.log(s.sum()))
    w = np.exp(np.array(incl))
    w /= 1.0 + w.sum()
    return shares * w[nests]


@program(
    "econometrics: probit participation plus GMM-like distance of nested logit market shares",
    lambda: (
        np.array([0.2, -0.4]),
        np.array([0.5, -0.2, 0.3, 0.9, -0.5]),
        np.array([0.6, 0.8]),
        np.random.default_rng(2).normal(size=(7, 2)),
        np.array([1, 0, 1, 1, 0, 0, 1]),
        np.array([0, 0, 1, 1, 1]),
        np.array([0.2, 0.1, 0.15, 0.3, 0.05]),
    ),
    wrt=(0, 1, 2),
)
def choice_objective(beta, delta, lam, X, y, nests, observed):
    """Probit participation plus GMM-like distance of nested logit market shares."""
    s = nested_logit_shares(delta, nests, lam)
    return -probit_ll(beta, X, y) + 100.0 * np.sum((np.log(s) - np.log(observed)) ** 2)


# ---------------------------------------------------------------- local_trend_loglik
@program("econometrics: Kalman filter loglik", lambda: (np.array([-0.5, 0.2, 0.9]), rng(4).normal(size=40).cumsum()))
def local_trend_loglik(theta, y):
    q1, q2 = np.exp(theta[:2])
    phi = np.tanh(theta[2])
    F = np.array([[1.0, 1.0], [0.0, phi]])
    H = np.array([[1.0, 0.0]])
    Q = np.diag([q1, q2])
    x, P = np.zeros(2), 10 * np.eye(2)
    ll = 0.0
    for yt in y:
        x = F @ x
        P = F @ P @ F.T + Q
        S = (H @ P @ H.T)[0, 0] + 1.0
        K = (P @ H.T / S)[:, 0]
        innov = yt - x[0]
        ll += -0.5 * (np.log(2 * np.pi * S) + innov**2 / S)
        x = x + K * innov
        P = P - np.outer(K, H @ P)
    return ll


# ---------------------------------------------------------------- gmm_objective
@program(
    "econometrics: GMM with HAC weights, and a Wald statistic",
    lambda: (np.array([0.5, -0.2, 0.3]), rng(1).normal(size=(40, 3)), rng(2).normal(size=40)),
    wrt=(0, 1, 2),
)
def gmm_objective(beta, X, y, lags=3):
    n = len(y)
    Zm = np.column_stack([X, X[:, 0] * X[:, 1], np.roll(y, 1)])
    u = y - X @ beta
    g = Zm * u[:, None]
    gbar = g.mean(axis=0)
    e = g - gbar
    S = e.T @ e / n
    for l in range(1, lags + 1):
        w = 1 - l / (lags + 1)
        gamma = e[l:].T @ e[:-l] / n
        S += w * (gamma + gamma.T)
    J = n * gbar @ np.linalg.solve(S, gbar)
    Gm = -Zm.T @ X / n
    V = np.linalg.inv(Gm.T @ np.linalg.solve(S, Gm)) / n
    R = np.array([[1.0, -1.0, 0.0]])
    wald = (R @ beta) @ np.linalg.inv(R @ V @ R.T) @ (R @ beta)
    return J + wald


# ---------------------------------------------------------------- var_stationary_nll
@program(
    "macroeconometrics: exact Gaussian likelihood of a VAR(1) started from its stationary distribution",
    lambda: (
        np.array([[0.6, 0.1], [-0.2, 0.5]]),
        np.array([0.1, -0.2]),
        0.3,
        np.random.default_rng(15).normal(size=(8, 2)),
    ),
    wrt=(0, 1, 2, 3),
)
def var_stationary_nll(Phi, log_sd, corr_raw, Y):
    """Exact Gaussian likelihood of a VAR(1) started from its stationary distribution."""
    sd = np.exp(log_sd)
    r = np.tanh(corr_raw)
    Q = np.outer(sd, sd) * np.array([[1.0, r], [r, 1.0]])
    P = solve_discrete_lyapunov(Phi, Q)

    def half_quad(e, S):
        c = cholesky(S, lower=True)
        z = np.linalg.solve(c, e)
        return 0.5 * z @ z + np.log(np.diag(c)).sum() + 0.5 * len(e) * np.log(2 * np.pi)

    nll = half_quad(Y[0], P)
    for t in range(1, len(Y)):
        nll += half_quad(Y[t] - Phi @ Y[t - 1], Q)
    return nll


# ---------------------------------------------------------------- euler_residual
def steady_state(alpha, beta, delta):
    return (alpha / (1 / beta - 1 + delta)) ** (1 / (1 - alpha))


@program(
    "macroeconomics: sum of squared Euler equation errors along a deterministic capital path",
    lambda: (np.array([2.0, 2.3, 2.5, 2.83, 2.95, 3.2, 3.3, 3.45]), 0.36, 0.95, 0.1, 2.0),
    wrt=(0, 1, 2, 3, 4),
)
def euler_residual(k_path, alpha, beta, delta, gamma):
    """Sum of squared Euler equation errors along a deterministic capital path."""
    y = k_path**alpha
    c = y[:-1] + (1 - delta) * k_path[:-1] - k_path[1:]
    if np.any(c <= 0):
        raise ValueError("consumption must stay positive")
    R = alpha * k_path[1:-1] ** (alpha - 1) + 1 - delta
    res = 1 - beta * (c[1:] / c[:-1]) ** (-gamma) * R
    k_ss = steady_state(alpha, beta, delta)
    return np.sum(res**2) + 0.1 * (k_path[-1] / k_ss - 1) ** 2


# ---------------------------------------------------------------- dsge
@program(
    "macroeconomics: a small DSGE, linear rational expectations solved by iteration",
    lambda: (np.array([0.99, 1.5, 0.1, 0.7]), rng(6).normal(size=(20, 2))),
)
def dsge(theta, shocks):
    beta, phi, kappa, rho = theta
    A = np.array([[1.0, 1.0], [0.0, beta]])
    B = np.array([[1.0, phi], [-kappa, 1.0]])
    P = np.zeros((2, 2))
    C = np.array([[1.0, 0.2], [0.0, 1.0]])
    R = rho * np.eye(2)
    for _ in range(50):
        P = np.linalg.solve(B, A @ P @ R + C)
    z = np.zeros(2)
    loss = 0.0
    for e in shocks:
        z = R @ z + 0.1 * e
        x = P @ z
        loss += x @ np.diag([0.5, 1.0]) @ x
    return loss / len(shocks)


# ---------------------------------------------------------------- qre_distance
def logit_response(payoff, opp, lam):
    u = lam * (payoff @ opp)
    e = np.exp(u - u.max())
    return e / e.sum()


@program(
    "game theory: fit of a quantal response equilibrium of a bimatrix game to observed play",
    lambda: (
        np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 0.0]]),
        np.array([[1.0, 2.0, 0.5], [2.0, 0.0, 1.0]]),
        0.9,
        np.array([0.4, 0.6]),
        np.array([0.3, 0.5, 0.2]),
    ),
    wrt=(0, 1, 2),
)
def qre_distance(A, B, lam, freq_row, freq_col, damping=0.5, iters=40):
    """Fit of a quantal response equilibrium of a bimatrix game to observed play."""
    x = np.ones(A.shape[0]) / A.shape[0]
    y = np.ones(A.shape[1]) / A.shape[1]
    for _ in range(iters):
        x_new = logit_response(A, y, lam)
        y_new = logit_response(B.T, x, lam)
        x = damping * x + (1 - damping) * x_new
        y = damping * y + (1 - damping) * y_new
    kl = np.sum(freq_row * np.log(freq_row / x)) + np.sum(freq_col * np.log(freq_col / y))
    return kl


# ---------------------------------------------------------------- qre
@program(
    "game theory: replicator / logit quantal response fixed point",
    lambda: (rng(5).normal(size=(3, 3)), rng(6).normal(size=(3, 3)), 1.5),
    wrt=(0, 1, 2),
)
def qre(A, B, lam):
    p = q = np.ones(3) / 3
    for it in range(200):
        up, uq = A @ q, B.T @ p
        pn = np.exp(lam * (up - up.max()))
        pn /= pn.sum()
        qn = np.exp(lam * (uq - uq.max()))
        qn /= qn.sum()
        delta = np.abs(pn - p).max() + np.abs(qn - q).max()
        p, q = 0.5 * p + 0.5 * pn, 0.5 * q + 0.5 * qn
        if delta < 1e-12:
            break
    return p @ A @ q - p @ B @ q


# ---------------------------------------------------------------- quantal
@program(
    "game theory: fictitious play softened; logit equilibrium fixed point; polymatrix in dict keyed by pairs",
    lambda: (
        {
            (0, 1): np.array([[2.0, 0], [0, 1]]),
            (1, 2): np.array([[1.0, -1], [-1, 1]]),
            (0, 2): np.array([[0.5, 0.2], [0.1, 0.7]]),
        },
        1.5,
    ),
)
def quantal(payoff, lam):
    players = sorted({i for pair in payoff for i in pair})
    sigma = {i: np.ones(2) / 2 + 0.01 * i * np.array([1, -1]) for i in players}
    for _ in range(50):
        new = {}
        for i in players:
            u = np.zeros(2)
            for (a, b), M in payoff.items():
                if a == i:
                    u += M @ sigma[b]
                elif b == i:
                    u += M.T @ sigma[a]
            new[i] = sc.softmax(lam * u)
        sigma = {i: 0.5 * sigma[i] + 0.5 * new[i] for i in players}
    welfare = sum(sigma[a] @ M @ sigma[b] for (a, b), M in payoff.items())
    return welfare + stats.entropy(sigma[0])


# ---------------------------------------------------------------- crra_auction_revenue
class AuctionFormat(Enum):
    FIRST_PRICE = auto()
    SECOND_PRICE = auto()
    ALL_PAY = auto()


@dataclass
class PrivateValues:
    mu: float
    sigma: float
    bidders: int
    seller_value: float

    def _score(self, v):
        return (np.log(v) - self.mu) / self.sigma

    def cdf(self, v):
        return special.ndtr(self._score(v))

    def pdf(self, v):
        return np.exp(-0.5 * self._score(v) ** 2) / (v * self.sigma * math.sqrt(2 * math.pi))

    def virtual(self, v):
        return v - special.ndtr(-self._score(v)) / self.pdf(v)

    @functools.cached_property
    def top(self):
        return math.exp(self.mu + 7.0 * self.sigma)

    @functools.cached_property
    def reserve(self):
        gap = lambda v: self.virtual(v) - self.seller_value  # noqa: E731
        return optimize.brentq(gap, self.seller_value + 1e-9, self.top, xtol=1e-14, rtol=1e-14)

    @functools.cached_property
    def nodes(self):
        # the values above the reserve, on a log scale
        x, w = np.polynomial.legendre.leggauss(48)
        low, high = math.log(self.reserve), math.log(self.top)
        v = np.exp(low + (high - low) * (x + 1) / 2)
        return v, w * v * (high - low) / 2

    def bid(self, v, exponent):
        x, w = np.polynomial.legendre.leggauss(24)
        s = self.reserve + (v[:, None] - self.reserve) * (x + 1) / 2
        won = (self.cdf(s) / self.cdf(v)[:, None]) ** exponent
        return v - (won @ w) * (v - self.reserve) / 2

    def revenue(self, fmt: AuctionFormat, rho=0.0):
        v, w = self.nodes
        n = self.bidders
        win = self.cdf(v) ** (n - 1)
        match fmt:
            case AuctionFormat.FIRST_PRICE:
                payment = self.bid(v, (n - 1) / (1 - rho)) * win
            case AuctionFormat.ALL_PAY:
                payment = self.bid(v, n - 1) * win
            case AuctionFormat.SECOND_PRICE:
                payment = np.maximum(self.virtual(v), 0.0) * win
        kept = self.seller_value * self.cdf(self.reserve) ** n
        return kept + n * np.sum(w * payment * self.pdf(v))


@program(
    "auction theory: log-normal private values, Myerson's reserve, revenue of three formats with CRRA bidders",
    lambda: (0.4, 0.6, 0.9, 0.35, 4),
    wrt=(0, 1, 2, 3),
)
def crra_auction_revenue(mu, sigma, seller_value, risk_aversion, bidders):
    market = PrivateValues(mu, sigma, bidders, seller_value)
    table = {fmt: market.revenue(fmt, rho=risk_aversion) for fmt in AuctionFormat}
    premium = table[AuctionFormat.FIRST_PRICE] - table[AuctionFormat.SECOND_PRICE]
    shaded = market.bid(np.array([2.0, 3.0]) * market.reserve, (bidders - 1) / (1 - risk_aversion))
    return float(table[AuctionFormat.ALL_PAY] + 2 * premium + 0.05 * shaded.mean() + 0.1 * market.reserve)
