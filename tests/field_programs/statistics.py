"""Statistics, survival analysis and reliability."""

import collections
import functools
import math

import numpy as np
import scipy.special as sc
import scipy.special as sp
import scipy.stats as st
from numpy.linalg import cholesky, norm, slogdet, solve
from scipy import linalg as sla
from scipy import special, stats
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from tests.field_programs import program, rng

# ---------------------------------------------------------------- mixture_nll
Mix = collections.namedtuple("Mix", "logits mu logsig")


@program(
    "mixture by broadcasting with named tuple",
    lambda: (
        Mix(np.array([0.1, 0.2, -0.3]), np.array([-1.0, 0.0, 2.0]), np.array([0.0, -0.3, 0.2])),
        rng(25).normal(size=30),
    ),
)
def mixture_nll(m, x):
    logw = sp.log_softmax(m.logits)
    comp = stats.norm.logpdf(x[:, np.newaxis], m.mu, np.exp(m.logsig))
    return -np.mean(sp.logsumexp(comp + logw, axis=-1))


# ---------------------------------------------------------------- reml
@program(
    "mixed model REML with cho_factor, slogdet",
    lambda: (np.array([0.2, -0.3]), rng(23).normal(size=(9, 2)), rng(24).normal(size=9)),
)
def reml(theta, X, y):
    s2, t2 = np.exp(theta)
    groups = np.repeat([0, 1, 2], 3)
    Z = (groups[:, None] == np.arange(3)).astype(float)
    V = s2 * np.eye(9) + t2 * Z @ Z.T
    c, low = sla.cho_factor(V, lower=True)
    ViX = sla.cho_solve((c, low), X)
    XtViX = X.T @ ViX
    beta = np.linalg.solve(XtViX, ViX.T @ y)
    r = y - X @ beta
    return np.log(np.diag(c)).sum() + 0.5 * np.linalg.slogdet(XtViX)[1] + 0.5 * r @ sla.cho_solve((c, low), r)


# ---------------------------------------------------------------- betabinom
@program(
    "beta-binomial mixture EM with memoised gammaln via functools.partial",
    lambda: (np.array([0.4, 1.2, 2.0, 3.0, 0.8]), np.array([1, 3, 0, 7, 9, 5]), 10),
)
def betabinom(theta, k, n):
    pi, *ab = theta

    def logpmf(k, a, b, n):
        return (
            gammaln(n + 1)
            - gammaln(k + 1)
            - gammaln(n - k + 1)
            + special.betaln(k + a, n - k + b)
            - special.betaln(a, b)
        )

    comps = [functools.partial(logpmf, a=a, b=b, n=n) for a, b in zip(ab[::2], ab[1::2])]
    mix = np.array([np.log(w) + c(k) for w, c in zip((pi, 1 - pi), comps)])
    return -logsumexp(mix, axis=0).sum()


# ---------------------------------------------------------------- mixed_model
@program(
    "mixed models: restricted likelihood with random intercepts by groups in a dict",
    lambda: (np.array([0.5, -0.3, 0.2, -0.1]), rng(12).normal(size=12), rng(13).normal(size=12), list("aabbbccccdda")),
)
def mixed_model(theta, y, x, groups):
    b0, b1, ls, lt = theta
    s2, t2 = np.exp(ls), np.exp(lt)
    members = collections.defaultdict(list)
    for i, g in enumerate(groups):
        members[g].append(i)
    nll = 0.0
    for g in sorted(members):
        idx = members[g]
        r = y[idx] - b0 - b1 * x[idx]
        n = len(idx)
        V = s2 * np.eye(n) + t2
        sign, logdet = np.linalg.slogdet(V)
        nll += 0.5 * (logdet + r @ np.linalg.solve(V, r))
    return nll


# ---------------------------------------------------------------- kmeans_of_moving_centres
@program(
    "spatial: Voronoi-like soft assign k-means with fancy index, argmin, unique, bincount",
    lambda: (np.random.default_rng(4).normal(size=(20, 2)),),
)
def kmeans_of_moving_centres(X, k=3, iters=6):
    C = X[:k].copy()
    for _ in range(iters):
        d = np.linalg.norm(X[:, None, :] - C[None, :, :], axis=-1)
        lab = d.argmin(axis=1)
        for j in range(k):
            members = X[lab == j]
            if len(members):
                C[j] = members.mean(axis=0)
    counts = np.bincount(lab, minlength=k)
    inertia = np.sum((X - C[lab]) ** 2)
    return inertia + (counts / counts.sum()) @ norm(C, axis=1)


# ---------------------------------------------------------------- welch_test
@program("Welch test", lambda: (rng(0).normal(1, 2, 30), rng(1).normal(0.5, 1.5, 25)), wrt=(0, 1))
def welch_test(a, b):
    va, vb = np.var(a, ddof=1) / a.size, np.var(b, ddof=1) / b.size
    t = (a.mean() - b.mean()) / np.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    p = 2 * st.norm.sf(abs(t))
    mad = np.median(np.abs(a - np.median(a)))
    iqr = np.subtract(*np.percentile(b, [75, 25]))
    return t + p + 0.01 * df + mad / iqr + st.kurtosis(a) + st.skew(b)


# ---------------------------------------------------------------- particle_filter
@program("particle filter with resampling fixed draws", lambda: (0.9, 0.5, rng(10).normal(size=8)), wrt=(0, 1, 2))
def particle_filter(phi, sigma, y):
    gen = np.random.default_rng(0)
    N = 20
    x = gen.standard_normal(N)
    ll = 0.0
    for t in range(8):
        x = phi * x + sigma * gen.standard_normal(N)
        logw = st.norm.logpdf(y[t], x, 1.0)
        m = logw.max()
        w = np.exp(logw - m)
        ll += m + np.log(w.mean())
        w /= w.sum()
        x = x * 0.5 + 0.5 * (w @ x)
    return ll


# ---------------------------------------------------------------- gmm_kl
@program(
    "probability: mixture via scipy stats and special",
    lambda: (
        np.array([0.2, -0.5]),
        np.array([1.0, 2.0]),
        np.array([0.3, 0.7]),
        np.random.default_rng(11).normal(size=12),
    ),
    wrt=(0, 1, 2, 3),
)
def gmm_kl(mu, sd, w, x):
    w = w / np.sum(w)
    comp = st.norm.pdf(x[:, None], loc=mu, scale=sd)
    lik = comp @ w
    resp = comp * w / lik[:, None]
    ent = -sc.xlogy(resp, resp).sum()
    return -np.log(lik).mean() + 0.1 * ent + st.norm(mu[0], sd[0]).cdf(0.3) + st.gamma.logpdf(sd, a=2.0).sum()


# ---------------------------------------------------------------- log_posterior
def mvn_logpdf(x, mu, Sigma):
    L = cholesky(Sigma)
    z = solve(L, x - mu)
    return -0.5 * z @ z - np.sum(np.log(np.diag(L))) - 0.5 * len(x) * np.log(2 * np.pi)


@program(
    "Bayesian inference: bivariate normal with inverse-Wishart-like prior on the covariance",
    lambda: (
        np.array([0.3, -0.4]),
        np.array([0.1, -0.3]),
        0.45,
        np.random.default_rng(5).normal(size=(8, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]]),
    ),
    wrt=(0, 1, 2, 3),
)
def log_posterior(mu, log_scale, rho, data, nu=6.0):
    """Bivariate normal with inverse-Wishart-like prior on the covariance."""
    s = np.exp(log_scale)
    corr = np.array([[1.0, rho], [rho, 1.0]])
    Sigma = np.outer(s, s) * corr
    loglik = sum(mvn_logpdf(row, mu, Sigma) for row in data)
    sign, logdet = slogdet(Sigma)
    log_prior = -0.5 * (nu + 3) * logdet - 0.5 * np.trace(np.linalg.inv(Sigma))
    return loglik + log_prior - 0.5 * np.sum(mu**2) / 100.0


# ---------------------------------------------------------------- hmc
@program(
    "sampling: HMC leapfrog with an explicit gradient and accept masks",
    lambda: (np.array([0.5, -0.2]), 0.1),
    wrt=(0, 1),
)
def hmc(q, eps):
    logp = lambda q: -0.5 * q[0] ** 2 - 0.5 * (q[1] - q[0] ** 2) ** 2

    def grad(q):
        r = q[1] - q[0] ** 2
        return np.array([-q[0] + 2 * q[0] * r, -r])

    start = np.random.RandomState(0).normal(size=(3, 2))
    acc = 0.0
    for i in range(3):
        p = start[i]
        q0, p0 = q, p
        p = p + 0.5 * eps * grad(q)
        for l in range(5):
            q = q + eps * p
            if l != 4:
                p = p + eps * grad(q)
        p = p + 0.5 * eps * grad(q)
        logr = logp(q) - logp(q0) - 0.5 * (p @ p - p0 @ p0)
        acc += min(1.0, math.exp(logr))
    return acc + q.sum()


# ---------------------------------------------------------------- gpd_profile
@program(
    "extreme value statistics: penalised generalised Pareto likelihood plus a return level prior",
    lambda: (np.array([0.8, 0.15]), np.array([0.3, 1.1, 2.4, 0.8, 5.2, 1.7, 3.1, 0.5, 0.9, 7.4])),
    wrt=(0, 1),
)
def gpd_profile(params, exceed, return_period=100.0, rate=2.5):
    """Penalised generalised Pareto likelihood plus a return level prior."""
    log_scale, xi = params
    scale = np.exp(log_scale)
    ll = stats.genpareto.logpdf(exceed, xi, loc=0.0, scale=scale).sum()
    level = scale / xi * ((return_period * rate) ** xi - 1)
    return -ll + 0.5 * (np.log(level) - np.log(20.0)) ** 2 / 0.25


# ---------------------------------------------------------------- neg_elbo
def kl_diag_normal(m, log_s):
    return 0.5 * np.sum(m**2 + np.exp(2 * log_s) - 2 * log_s - 1)


@program(
    "variational inference: reparameterised ELBO for Bayesian logistic regression with common random numbers",
    lambda: (
        np.array([0.3, -0.5, 0.2]),
        np.array([-0.5, -0.8, -0.3]),
        np.random.default_rng(1).normal(size=(10, 3)),
        np.array([1, 0, 0, 1, 1, 0, 1, 1, 0, 0]),
    ),
    wrt=(0, 1, 2),
)
def neg_elbo(m, log_s, X, y, n_samples=6, seed=0):
    """Reparameterised ELBO for Bayesian logistic regression with common random numbers."""
    rng = np.random.default_rng(seed)
    eps = rng.standard_normal((n_samples, m.size))
    w = m + np.exp(log_s) * eps
    z = w @ X.T
    ll = y * z - np.logaddexp(0.0, z)
    return kl_diag_normal(m, log_s) - ll.sum(axis=1).mean()


# ---------------------------------------------------------------- flow_nll
def coupling_layer(x, params, flip):
    d = x.shape[1] // 2
    a, b = (x[:, d:], x[:, :d]) if flip else (x[:, :d], x[:, d:])
    h = np.tanh(a @ params["w1"] + params["b1"])
    s = np.tanh(h @ params["ws"])
    t = h @ params["wt"]
    b = b * np.exp(s) + t
    out = np.concatenate([b, a], axis=1) if flip else np.concatenate([a, b], axis=1)
    return out, s.sum(axis=1)


def _flow_args():
    rng = np.random.default_rng(41)
    layers = [
        dict(
            w1=rng.normal(size=(1, 3)),
            b1=rng.normal(size=3),
            ws=0.3 * rng.normal(size=(3, 1)),
            wt=0.3 * rng.normal(size=(3, 1)),
        )
        for _ in range(3)
    ]
    return layers, rng.normal(size=(8, 2))


@program(
    "density estimation: negative log likelihood of an affine coupling flow with standard normal base",
    _flow_args,
    wrt=(0, 1),
)
def flow_nll(layers, x):
    """Negative log likelihood of an affine coupling flow with standard normal base."""
    logdet = 0.0
    for k, layer in enumerate(layers):
        x, ld = coupling_layer(x, layer, flip=k % 2 == 1)
        logdet = logdet + ld
    logp = -0.5 * np.sum(x**2, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)
    return -np.mean(logp + logdet)


# ---------------------------------------------------------------- cox_partial
@program(
    "survival: Cox partial likelihood",
    lambda: (
        np.array([0.3, -0.2]),
        rng(6).normal(size=(12, 2)),
        rng(7).exponential(size=12),
        rng(8).integers(0, 2, 12),
    ),
    wrt=(0, 1),
)
def cox_partial(beta, X, time, event):
    order = np.argsort(-time)
    eta = X[order] @ beta
    risk = np.log(np.cumsum(np.exp(eta)))
    return -np.sum((eta - risk) * event[order]) / event.sum()


# ---------------------------------------------------------------- cox
@program(
    "survival analysis: Cox partial likelihood, sorting and cumulative logsumexp",
    lambda: (np.array([0.5, -0.3]), rng(9).normal(size=(8, 2)), rng(10).exponential(size=8)),
)
def cox(beta, X, t):
    event = np.array([1, 0, 1, 1, 0, 1, 1, 1], bool)
    order = np.argsort(-t)
    eta = (X @ beta)[order]
    lse = np.logaddexp.accumulate(eta)
    return -np.sum((eta - lse)[event[order]])


# ---------------------------------------------------------------- cox_partial_nll
def _cox_args():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(15, 3))
    time = rng.exponential(5.0, size=15)
    event = rng.uniform(size=15) < 0.7
    return np.array([0.4, -0.2, 0.1]), X, time, event


@program("survival analysis: negative Cox partial log likelihood (no ties)", _cox_args, wrt=(0, 1))
def cox_partial_nll(beta, X, time, event):
    """Negative Cox partial log likelihood (no ties)."""
    order = np.argsort(-time)
    Xs = X[order]
    ev = event[order]
    eta = Xs @ beta
    log_risk = np.log(np.cumsum(np.exp(eta)))
    return -np.sum((eta - log_risk)[ev])


# ---------------------------------------------------------------- weibull_censored
@program(
    "reliability: Weibull with censoring, mixed with a competing risk, structured array of units",
    lambda: (np.array([1.8, 60.0, 0.004]),),
)
def weibull_censored(theta):
    units = np.array(
        [(12.5, 1, 0.2), (33.0, 0, 0.5), (48.1, 1, 0.1), (71.0, 2, 0.9), (55.2, 0, 0.3)],
        dtype=[("time", "f8"), ("cause", "i4"), ("load", "f8")],
    )
    shape, scale, lam = theta
    eta = scale * np.exp(-0.3 * units["load"])
    t = units["time"]
    log_h1 = np.log(shape / eta) + (shape - 1) * np.log(t / eta)
    cum = (t / eta) ** shape + lam * t
    ll = np.where(units["cause"] == 1, log_h1, np.where(units["cause"] == 2, np.log(lam), 0.0)) - cum
    b10 = scale * (-np.log(0.9)) ** (1 / shape)
    worst = units[np.argmax(units["load"])]
    return ll.sum() + b10 / 10 + special.gamma(1 + 1 / shape) * worst["time"] / 100


# ---------------------------------------------------------------- weibull_censored_nll
@program(
    "reliability engineering: accelerated life test with right censoring and an Arrhenius-type stress term",
    lambda: (
        0.4,
        6.5,
        np.array([120.0, 340.0, 510.0, 800.0, 95.0, 210.0, 400.0, 60.0, 150.0]),
        np.array([1, 1, 1, 0, 1, 1, 0, 1, 1], dtype=bool),
        3.0,
        np.array([330.0] * 4 + [350.0] * 3 + [370.0] * 2),
    ),
    wrt=(0, 1, 2, 4),
)
def weibull_censored_nll(log_shape, log_scale, times, failed, beta, temp):
    """Accelerated life test with right censoring and an Arrhenius-type stress term."""
    k = np.exp(log_shape)
    eta = np.exp(log_scale + beta * (1000.0 / temp - 1000.0 / 298.0))
    z = (times / eta) ** k
    log_pdf = np.log(k / eta) + (k - 1) * np.log(times / eta) - z
    return -np.sum(np.where(failed, log_pdf, -z))


# ---------------------------------------------------------------- hmm_loglik
def softmax(a, axis=-1):
    a = a - a.max(axis=axis, keepdims=True)
    e = np.exp(a)
    return e / e.sum(axis=axis, keepdims=True)


@program(
    "hidden Markov models: scaled forward algorithm for a Gaussian-emission HMM",
    lambda: (
        np.array([[1.2, 0.1, -0.4], [0.0, 0.9, 0.2], [-0.3, 0.3, 1.5]]),
        np.array([0.3, 0.1, -0.2]),
        np.array([-1.0, 0.5, 2.0]),
        np.array([-0.2, 0.0, 0.1]),
        np.array([-0.8, -1.3, 0.2, 0.7, 1.9, 2.4, 1.6, 0.4, 0.6]),
    ),
    wrt=(0, 1, 2, 3),
)
def hmm_loglik(trans_logits, init_logits, means, log_sd, obs):
    """Scaled forward algorithm for a Gaussian-emission HMM."""
    A = softmax(trans_logits, axis=1)
    pi = softmax(init_logits)
    sd = np.exp(log_sd)
    dens = np.exp(-0.5 * ((obs[:, None] - means) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)
    alpha = pi * dens[0]
    ll = 0.0
    for t in range(len(obs)):
        if t > 0:
            alpha = (alpha @ A) * dens[t]
        c = alpha.sum()
        ll += np.log(c)
        alpha = alpha / c
    return ll


# ---------------------------------------------------------------- hmm
@program(
    "HMM with log-space Viterbi+forward, np.ufunc.reduce",
    lambda: (rng(19).normal(size=(3, 3)), rng(20).normal(size=(3, 4))),
    wrt=(0, 1),
)
def hmm(A, B):
    obs = [0, 1, 3, 2, 1]
    logA = A - np.logaddexp.reduce(A, axis=1)[:, None]
    logB = B - np.logaddexp.reduce(B, axis=1, keepdims=True)
    f = -np.log(3) + logB[:, obs[0]]
    v = f.copy()
    for o in obs[1:]:
        f = np.logaddexp.reduce(f[:, None] + logA, axis=0) + logB[:, o]
        v = (v[:, None] + logA).max(axis=0) + logB[:, o]
    return np.logaddexp.reduce(f) - v.max()


# ---------------------------------------------------------------- copula_mixture_loglik
class BivariateCopula:
    registry: dict = {}

    def __init_subclass__(cls, /, key, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[key] = cls

    def __init__(self, theta):
        self.theta = theta

    @classmethod
    def from_tau(cls, tau):
        return cls(cls.theta_of(tau))

    def __call__(self, u, v):
        return np.exp(self.logpdf(u, v))


class Clayton(BivariateCopula, key="clayton"):
    @staticmethod
    def theta_of(tau):
        return 2 * tau / (1 - tau)

    def logpdf(self, u, v):
        t = self.theta
        return np.log1p(t) - (1 + t) * np.log(u * v) - (2 + 1 / t) * np.log(u**-t + v**-t - 1)


class Gumbel(BivariateCopula, key="gumbel"):
    @staticmethod
    def theta_of(tau):
        return 1 / (1 - tau)

    def logpdf(self, u, v):
        t, x, y = self.theta, -np.log(u), -np.log(v)
        s = (x**t + y**t) ** (1 / t)
        return -s + x + y + (t - 1) * np.log(x * y) + (1 - 2 * t) * np.log(s) + np.log(s + t - 1)


class Frank(BivariateCopula, key="frank"):
    @staticmethod
    def theta_of(tau):
        def debye(t):
            return quad(lambda x: x / np.expm1(x) if x else 1.0, 0, t, epsabs=1e-13, epsrel=1e-13)[0] / t

        return brentq(lambda t: 1 - 4 / t * (1 - debye(t)) - tau, 1e-2, 60.0, xtol=1e-13, rtol=1e-14)

    def logpdf(self, u, v):
        t = self.theta
        bottom = -np.expm1(-t) - np.expm1(-t * u) * np.expm1(-t * v)
        return np.log(t * -np.expm1(-t)) - t * (u + v) - 2 * np.log(bottom)


class Gaussian(BivariateCopula, key="gaussian"):
    @staticmethod
    def theta_of(tau):
        return np.sin(np.pi / 2 * tau)

    def logpdf(self, u, v):
        r, (x, y) = self.theta, special.ndtri([u, v])
        return -0.5 * np.log1p(-(r**2)) - (r**2 * (x**2 + y**2) - 2 * r * x * y) / (2 * (1 - r**2))


@program(
    "copulas: a mixture of Archimedean and Gaussian copulas that share Kendall's "
    "tau, log likelihood with Student margins",
    lambda: (0.42, np.array([0.3, -0.2, 0.5, 0.1]), np.array([[0.1, 1.2], [-0.2, 0.8]])),
    wrt=(0, 1, 2),
)
def copula_mixture_loglik(tau, logits, margins):
    rng = np.random.default_rng(11)
    shock = rng.standard_t(6, size=(40, 1))
    data = 0.7 * shock + 0.6 * rng.standard_normal((40, 2))
    weights = special.softmax(logits)
    loc, scale = margins[:, 0], margins[:, 1]
    standardised = (data - loc) / scale
    marginal = (stats.t.logpdf(standardised, df=6) - np.log(scale)).sum()
    u, v = stats.t.cdf(standardised, df=6).T
    families = [BivariateCopula.registry[k].from_tau(tau) for k in ("clayton", "gumbel", "frank", "gaussian")]
    density = sum(w * c(u, v) for w, c in zip(weights, families))
    return float(marginal + np.log(density).sum())


# ---------------------------------------------------------------- sbm
@program(
    "sociology: exponential random graph change statistics on adjacency, SBM likelihood "
    "with labels via np.unique inverse and bincount",
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
