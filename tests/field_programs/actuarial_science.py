"""Insurance and annuities."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats
from scipy.special import betaln, digamma, gammaln

from tests.field_programs import program, rng


# ---------------------------------------------------------------- annuity
@program("an annuity with cumulative products", lambda: (np.array([1e-4, 0.09, 0.03]),))
def annuity(p):
    A, B, i = p
    age = np.arange(60, 110)
    mu = A + 0.0002 * np.exp(B * (age - 20))
    survive = np.cumprod(np.exp(-mu))
    disc = (1 + i) ** -np.arange(1.0, len(age) + 1)
    ax = np.sum(survive * disc)
    Ax = np.dot(disc, -np.diff(np.insert(survive, 0, 1.0)))
    return ax + 3 * Ax


# ---------------------------------------------------------------- net_premium
def gompertz_survival(x, t, B, c):
    return np.exp(-B * c**x * (c**t - 1) / np.log(c))


@program(
    "annual net premium of a term insurance, Gompertz mortality, benefit 100000",
    lambda: (45, 15, 0.03, 2.7e-5, 1.11),
    wrt=(2, 3, 4),
)
def net_premium(age, term, i, B, c):
    """Annual net premium of a term insurance, Gompertz mortality, benefit 100000."""
    v = 1 / (1 + i)
    k = np.arange(term)
    kpx = gompertz_survival(age, k, B, c)
    qx = 1 - gompertz_survival(age + k, 1, B, c)
    benefit = 100000 * np.sum(v ** (k + 1) * kpx * qx)
    annuity = np.sum(v**k * kpx)
    return benefit / annuity


# ---------------------------------------------------------------- joint_annuity
def lives(x, horizon):
    age = x
    while age < x + horizon:
        yield age
        age += 1


@program(
    "joint-life annuity from Gompertz-Makeham mortality, with a generator of ages",
    lambda: (0.0003, 2.7e-6, 1.124, 0.03),
    wrt=(0, 1, 2, 3),
    refused="zip of two generators",
)
def joint_annuity(A, B, c, i):
    def survival(age):
        return math.exp(-A - B * c**age * (c - 1) / math.log(c))

    v = 1.0 / (1.0 + i)
    alive, value = 1.0, 0.0
    for t, (x, y) in enumerate(zip(lives(60, 30), lives(57, 30))):
        value += alive * v**t
        alive *= survival(x) * survival(y)
        if t == 25:
            continue
        value += 0.5 * v ** (t + 0.5) * alive * (1.0 - survival(y))
    return value


# ---------------------------------------------------------------- bootstrapped_chain_ladder
@program(
    "insurance: bootstrapped chain ladder triangle",
    lambda: (np.cumsum(np.abs(rng(10).normal(100, 10, (5, 5))), axis=1),),
)
def bootstrapped_chain_ladder(tri):
    n = tri.shape[0]
    f = []
    for j in range(n - 1):
        rows = n - j - 1
        f.append(tri[:rows, j + 1].sum() / tri[:rows, j].sum())
    reserve = 0.0
    for i in range(1, n):
        latest = tri[i, n - i - 1]
        ultimate = latest * np.prod(f[n - i - 1 :])
        reserve += ultimate - latest
    return reserve


# ---------------------------------------------------------------- chain_ladder
@program(
    "insurance: chain ladder on a triangle with nan cells",
    lambda: (
        np.array(
            [[100.0, 150, 170, 175], [110, 168, 190, np.nan], [120, 175, np.nan, np.nan], [130, np.nan, np.nan, np.nan]]
        ),
    ),
)
def chain_ladder(tri):
    n = tri.shape[0]
    full = tri.copy()
    factors = []
    for j in range(n - 1):
        known = ~np.isnan(tri[:, j + 1])
        f = tri[known, j + 1].sum() / tri[known, j].sum()
        factors.append(f)
        full[~known, j + 1] = full[~known, j] * f
    ult = full[:, -1]
    latest = np.array([tri[i, n - 1 - i] for i in range(n)])
    return (ult - latest).sum() + np.prod(factors)


# ---------------------------------------------------------------- copula
@program(
    "insurance: a t copula with gamma margins, log-likelihood",
    lambda: (np.array([2.0, 1.5, 0.8, 3.0, 0.4]), np.abs(rng(8).normal(2, 0.8, size=(15, 2))) + 0.1),
)
def copula(theta, losses):
    a1, s1, a2, s2, r = theta
    u = np.column_stack([stats.gamma.cdf(losses[:, 0], a1, scale=s1), stats.gamma.cdf(losses[:, 1], a2, scale=s2)])
    z = stats.norm.ppf(u)
    rho = np.tanh(r)
    q = (z[:, 0] ** 2 - 2 * rho * z[:, 0] * z[:, 1] + z[:, 1] ** 2) / (1 - rho**2)
    logc = -0.5 * np.log1p(-(rho**2)) - 0.5 * q + 0.5 * (z**2).sum(axis=1)
    margins = stats.gamma.logpdf(losses[:, 0], a1, scale=s1) + stats.gamma.logpdf(losses[:, 1], a2, scale=s2)
    return np.mean(logc + margins)


# ---------------------------------------------------------------- credibility_evidence
class Hyper(NamedTuple):
    alpha: float
    beta: float
    shape: float
    rate: float


@program(
    "insurance statistics: log evidence: beta-binomial frequencies and gamma severities",
    lambda: (
        Hyper(2.0, 15.0, 1.8, 0.9),
        [3, 1, 5, 0, 2],
        [30, 22, 41, 10, 18],
        np.array([1.2, 0.8, 3.5, 2.2, 1.9]),
    ),
    wrt=(0, 3),
)
def credibility_evidence(h, claims, exposure, sizes):
    """Log evidence: beta-binomial frequencies and gamma severities."""
    k = np.asarray(claims)
    n = np.asarray(exposure)
    freq = betaln(h.alpha + k, h.beta + n - k) - betaln(h.alpha, h.beta)
    sev = (h.shape - 1) * np.log(sizes) - h.rate * sizes + h.shape * np.log(h.rate) - gammaln(h.shape)
    prior = -0.5 * (np.log(h.alpha) ** 2 + digamma(h.beta) ** 2)
    return freq.sum() + sev.sum() + prior


# ---------------------------------------------------------------- reserve_at_ten
@program(
    "Makeham's law, premiums by equivalence, reserves by Thiele backwards",
    lambda: (0.00022, 2.7e-6, 1.124, 0.03),
    wrt=(0, 1, 2, 3),
)
def reserve_at_ten(A, B, c, interest):
    v = 1 / (1 + interest)

    def survival(x, t):
        return np.exp(-A * t - B / np.log(c) * c**x * (c**t - 1))

    tp = partial(survival, 40)
    years = range(25)
    deaths = [tp(t) - tp(t + 1) for t in years]
    benefit = sum(v ** (t + 1) * q for t, q in zip(years, deaths))
    annuity = sum(v**t * tp(t) for t in years)
    premium = 100_000 * benefit / annuity
    reserve, reserves = 0.0, {}
    for t in reversed(years):
        q = 1 - survival(40 + t, 1)
        reserve = v * (q * 100_000 + (1 - q) * reserve) - premium
        reserves[t] = reserve
    break_even = optimize.brentq(lambda i: sum((1 + i) ** -t for t in years) - annuity, 0.0, 0.2)
    return reserves[10] / 1000 + premium / 100 + break_even
