"""Models that people fit with SciPy's special functions."""

import numpy as np
import pytest
from scipy import special
from scipy.special import erf, expit, gammaln, i0e, kv, log_ndtr, logsumexp, softmax, xlogy

from tests.programs.harness import check

X = np.array([[1.0, -0.4], [1.0, 0.3], [1.0, 1.1], [1.0, 2.0]])
COUNTS = np.array([0.0, 2.0, 1.0, 5.0])


def negative_binomial(theta, x, counts):
    # mean exp(x beta), dispersion r
    mean, r = np.exp(x @ theta[:2]), np.exp(theta[2])
    p = r / (r + mean)
    terms = gammaln(counts + r) - gammaln(r) - gammaln(counts + 1.0)
    return np.sum(terms + r * np.log(p) + special.xlog1py(counts, -p))


def poisson_regression(beta, x, counts):
    rate = np.exp(x @ beta)
    return np.sum(rate - xlogy(counts, rate) + gammaln(counts + 1))


def von_mises(mu, kappa, angles):
    # i0e keeps its size for large kappa
    return np.sum(kappa * (np.cos(angles - mu) - 1.0) - np.log(2 * np.pi * i0e(kappa)))


def matern(log_scale, points, y):
    scale, nu = np.exp(log_scale), 1.7
    n = points.size
    k = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            r = np.sqrt(2.0 * nu) * abs(points[i] - points[j]) / scale
            k[i, j] = 1.01 if i == j else 2.0 ** (1.0 - nu) / special.gamma(nu) * r**nu * kv(nu, r)
    return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]


def probit(beta, x, is_one):
    z = x @ beta
    return -np.sum(np.where(is_one > 0, log_ndtr(z), log_ndtr(-z)))


def beta_regression(theta, x, y):
    mean, precision = expit(x @ theta[:2]), np.exp(theta[2])
    a, b = mean * precision, (1.0 - mean) * precision
    return np.sum((a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b))


def ordinal_logit(theta, x, levels):
    total = 0.0
    for i in range(levels.size):
        z = x[i] @ theta[:2]
        low = expit(theta[2] - z)
        high = expit(theta[2] + np.exp(theta[3]) - z)
        if levels[i] == 0:
            total += np.log(low)
        elif levels[i] == 1:
            total += np.log(high - low)
        else:
            total += special.log_expit(z - theta[2] - np.exp(theta[3]))
    return total


def planck_fraction(temperature, edge):
    """The part of a black body's radiation below a wavelength, a sum of exponentials over zeta(4)."""
    x = edge / temperature
    total = 0.0
    for n in range(1, 12):
        total += np.exp(-n * x) * (x**3 / n + 3 * x**2 / n**2 + 6 * x / n**3 + 6 / n**4)
    return total / (6.0 * special.zeta(4.0))


def debye(x, nodes, weights):
    t = 0.5 * x * (nodes + 1.0)
    return 3.0 / x**3 * np.sum(0.5 * x * weights * t**2 / special.exprel(t))


def attention(q, k, v):
    scores = softmax(q @ k.T / np.sqrt(q.shape[1]), axis=1)
    return scores @ v


def mixture(theta, x):
    """The logarithm of a mixture's likelihood, by logsumexp over its parts."""
    logits, means = theta[:2], theta[2:4]
    parts = -0.5 * (x[:, None] - means) ** 2 + special.log_softmax(logits)
    return np.sum(logsumexp(parts, axis=1))


def heat_front(x, diffusivity, t):
    return np.sum(special.erfc(x / (2.0 * np.sqrt(diffusivity * t))) * erf(x))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
UNIFORM = np.random.default_rng(3).uniform(0.2, 1.0, (6, 3))

PROGRAMS = [
    (negative_binomial, lambda: (np.array([0.2, 0.3, 0.5]), X, COUNTS), (0,)),
    (poisson_regression, lambda: (np.array([0.2, 0.3]), X, COUNTS), (0,)),
    (von_mises, lambda: (0.4, 3.0, np.array([0.1, 0.9, -0.3])), (0, 1)),
    (matern, lambda: (0.2, np.array([0.0, 0.4, 1.3]), np.array([0.5, -0.2, 0.7])), (0,)),
    (probit, lambda: (np.array([0.2, -0.7]), X, np.array([0, 1, 0, 1])), (0,)),
    (beta_regression, lambda: (np.array([0.1, 0.4, 1.2]), X, np.array([0.2, 0.5, 0.6, 0.9])), (0,)),
    (ordinal_logit, lambda: (np.array([0.1, 0.4, -0.3, 0.2]), X, np.array([0, 2, 1, 2])), (0,)),
    (planck_fraction, lambda: (1.3, 2.0), (0,)),
    (debye, lambda: (1.7, NODES.copy(), WEIGHTS.copy()), (0,)),
    (attention, lambda: (UNIFORM[:2].copy(), UNIFORM[2:5].copy(), UNIFORM[3:].copy()), (0, 1, 2)),
    (mixture, lambda: (np.array([0.3, -0.2, 0.1, 1.4]), np.array([0.2, 1.1, 2.5])), (0, 1)),
    (heat_front, lambda: (np.array([0.3, 0.8]), 0.7, 1.2), (0, 1, 2)),
]


@pytest.mark.parametrize(("function", "arguments", "active"), PROGRAMS, ids=[row[0].__name__ for row in PROGRAMS])
def test_program(function, arguments, active):
    check(function, arguments, active)


def test_compiled():
    check(mixture, PROGRAMS[10][1], (0, 1), second=False, target="cpu")
    check(negative_binomial, PROGRAMS[0][1], (0,), second=False, target="cpu")
