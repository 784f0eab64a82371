"""Psychology, its tests and its experiments."""

import functools
import math
from collections import OrderedDict

import numpy as np
import scipy.special as sp
from scipy import special, stats
from scipy.special import expit

from tests.field_programs import program, rng


# ---------------------------------------------------------------- ddm
@program(
    "drift diffusion first passage density series",
    lambda: (np.array([0.8, 1.2, 0.5, 0.2]), np.array([0.5, 0.7, 0.9, 1.4]), np.array([1, 1, 0, 1])),
)
def ddm(theta, rt, choice):
    v, a, z, t0 = theta

    @np.vectorize
    def density(t, upper):
        drift, w = (-v, 1 - z) if upper else (v, z)
        tt = (t - t0) / a**2
        s = sum((w + 2 * k) * np.exp(-((w + 2 * k) ** 2) / (2 * tt)) for k in range(-3, 4))
        return s / np.sqrt(2 * np.pi * tt**3) * np.exp(-drift * a * w - drift**2 * (t - t0) / 2) / a**2

    return -np.log(density(rt, choice)).sum()


# ---------------------------------------------------------------- rescorla
@program(
    "Rescorla-Wagner learning with softmax choice and a sticky bonus",
    lambda: ({"alpha": 0.3, "beta": 2.5, "stick": 0.4}, [0, 1, 1, 0, 2, 1], [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
)
def rescorla(params, choices, rewards):
    alpha, beta, stick = (params[k] for k in ("alpha", "beta", "stick"))
    Q = np.zeros(3)
    last = None
    ll = 0.0
    for c, r in zip(choices, rewards):
        logits = beta * Q
        if last is not None:
            logits[last] += stick
        logits -= special.logsumexp(logits)
        ll += logits[c]
        Q[c] += alpha * (r - Q[c])
        last = c
    return -ll


# ---------------------------------------------------------------- irt_2pl_nll
def _irt_args():
    resp = np.array([[1, 0, 1, np.nan], [0, 0, 1, 1], [1, 1, np.nan, 1], [0, 1, 0, 0], [1, 0, 0, 1]], dtype=float)
    return np.array([0.3, -0.2, 1.1, -0.9, 0.1]), np.array([0.1, -0.2, 0.3, 0.0]), np.array([-0.5, 0.4, 0.0, 0.2]), resp


@program("psychometrics: two-parameter logistic IRT, missing answers coded as nan", _irt_args, wrt=(0, 1, 2))
def irt_2pl_nll(ability, log_a, b, responses):
    """Two-parameter logistic IRT, missing answers coded as nan."""
    z = np.exp(log_a)[None, :] * (ability[:, None] - b[None, :])
    p = expit(z)
    seen = ~np.isnan(responses)
    y = np.where(seen, responses, 0.0)
    ll = y * np.log(p) + (1 - y) * np.log(1 - p)
    return -np.sum(ll[seen]) + 0.5 * np.sum(ability**2)


# ---------------------------------------------------------------- irt_marginal
@program(
    "psychometrics: 2PL IRT with EM quadrature",
    lambda: (
        np.array([1.0, 0.7, 1.5, 1.2]),
        np.array([-1.0, 0.0, 0.5, 1.0]),
        np.random.default_rng(3).integers(0, 2, (10, 4)),
    ),
    wrt=(0, 1),
)
def irt_marginal(a, b, resp):
    nodes, weights = np.polynomial.hermite.hermgauss(15)
    theta = np.sqrt(2) * nodes
    w = weights / np.sqrt(np.pi)
    P = special.expit(a[:, None] * (theta[None, :] - b[:, None]))
    ll = 0.0
    for row in resp:
        like = np.where(row[:, None] == 1, P, 1 - P).prod(axis=0)
        ll += np.log(like @ w)
    return -ll / len(resp)


# ---------------------------------------------------------------- ability_of_examinee
@program(
    "psychometrics: three-parameter logistic items, ability by EAP on a quadrature grid",
    lambda: (np.array([1.2, 0.8, 1.5, 0.6]), np.array([-0.5, 0.1, 0.7, 1.1]), 0.18),
    wrt=(0, 1, 2),
)
def ability_of_examinee(a, b, guess):
    nodes, weights = np.polynomial.hermite_e.hermegauss(11)
    answers = {"q1": 1, "q2": 1, "q3": 0, "q4": 1}
    like = np.ones_like(nodes)
    for (item, correct), ai, bi in zip(answers.items(), a, b):
        p = guess + (1 - guess) / (1 + np.exp(-1.702 * ai * (nodes - bi)))
        like *= p if correct else 1 - p
    posterior = like * weights / np.sum(like * weights)
    eap = posterior @ nodes
    psd = np.sqrt(posterior @ (nodes - eap) ** 2)
    return eap + 0.5 * psd


# ---------------------------------------------------------------- graded_response
@program(
    "psychometrics: a graded response model, expected a posteriori abilities by quadrature, total marginal likelihood",
    lambda: (np.array([1.1, 0.8, 1.5]), np.array([[-1.0, 0.2, 1.1], [-0.5, 0.4, 1.6], [-1.3, -0.1, 0.9]])),
    wrt=(0, 1),
)
def graded_response(discrimination, thresholds):
    responses = np.array([[0, 1, 2], [3, 2, 3], [1, 1, 0], [2, 3, 3], [0, 0, 1]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()
    items, categories = thresholds.shape
    above = special.expit(discrimination[:, None, None] * (nodes - thresholds[..., None]))
    ones, zeros = np.ones((items, 1, nodes.size)), np.zeros((items, 1, nodes.size))
    edges = np.concatenate([ones, above, zeros], axis=1)
    p = edges[:, :-1] - edges[:, 1:]
    total, abilities = 0.0, []
    for person in responses:
        likelihood = functools.reduce(np.multiply, (p[i, c] for i, c in enumerate(person)))
        marginal = likelihood @ weights
        abilities.append((likelihood * nodes) @ weights / marginal)
        total += np.log(marginal)
    return total + 0.01 * np.var(abilities)


# ---------------------------------------------------------------- irt_loglik
@program(
    "psychometrics: item response theory, log likelihood",
    lambda: (
        rng(12).normal(size=6),
        np.abs(rng(13).normal(1, 0.2, 5)),
        rng(14).normal(size=5),
        rng(15).integers(0, 2, (6, 5)),
    ),
    wrt=(0, 1, 2),
)
def irt_loglik(ability, disc, diff, y):
    z = disc * (ability[:, None] - diff)
    p = 0.15 + 0.85 * sp.expit(z)
    ll = np.where(y == 1, np.log(p), np.log1p(-p)).sum()
    return ll + stats.norm.logpdf(ability).sum() + stats.lognorm.logpdf(disc, s=0.5).sum()


# ---------------------------------------------------------------- staircase
@program("psychophysics: staircase with while True and break", lambda: (np.array([0.4, 0.08, 0.02]), rng(8).random(40)))
def staircase(theta, coin):
    thr, slope, lapse = theta
    level, step = 1.0, 0.2
    reversals = []
    direction = -1
    i, nll = 0, 0.0
    while True:
        p = 0.5 + (0.5 - lapse) * stats.norm.cdf((level - thr) / slope)
        correct = coin[i] < p
        nll -= np.log(p if correct else 1 - p)
        new = -1 if correct else 1
        if new != direction:
            reversals.append(level)
            step *= 0.8
            direction = new
        level = min(max(level + direction * step, 0.05), 1.5)
        i += 1
        if len(reversals) >= 6 or i == len(coin):
            break
    return nll


# ---------------------------------------------------------------- psychometric_staircase
def weibull(x, a, b):
    return 1 - np.exp(-((x / a) ** b))


PSYCHOMETRIC = OrderedDict(logistic=lambda x, a, b: special.expit(b * (x - a)), weibull=weibull)


@program(
    "psychophysics: psychometric functions picked by name, likelihood with lapses, staircase with reversals",
    lambda: (1.2, 2.5, 0.02),
    wrt=(0, 1, 2),
)
def psychometric_staircase(threshold, slope, lapse):
    answers = [0.1, 0.6, 0.3, 0.8, 0.95, 0.4, 0.2, 0.7]
    level, step, direction = 2.0, 0.4, -1
    nll, reversals = 0.0, []
    names = list(PSYCHOMETRIC)
    for n, u in enumerate(answers):
        psi = PSYCHOMETRIC[names[n % 2]](level, threshold, slope)
        p = 0.5 + (0.5 - lapse) * psi
        correct = u < 0.7
        nll -= math.log(p if correct else 1 - p)
        new = -1 if correct else 1
        if new != direction:
            reversals.append(level)
            step *= 0.7
        direction = new
        level = max(level + direction * step, 0.1)
    return nll + (np.mean(reversals) if reversals else 0.0) * threshold
