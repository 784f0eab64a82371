from collections import namedtuple
from functools import partial

import numpy as np
from numpy.linalg import cholesky, slogdet, solve
from scipy.linalg import cho_factor, cho_solve, expm
from scipy.special import logsumexp

PROGRAMS = []


# ---------------------------------------------------------------- Gaussian processes
def rbf(X1, X2, lengthscale, variance):
    d2 = np.sum(X1**2, axis=1)[:, None] + np.sum(X2**2, axis=1)[None, :] - 2 * X1 @ X2.T
    return variance * np.exp(-0.5 * d2 / lengthscale**2)


def gp_nlml(log_hyper, X, y):
    """Negative log marginal likelihood of a zero-mean GP."""
    ell, sf2, sn2 = np.exp(log_hyper)
    n = X.shape[0]
    K = rbf(X, X, ell, sf2) + sn2 * np.eye(n)
    c, low = cho_factor(K, lower=True)
    alpha = cho_solve((c, low), y)
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(c))) + 0.5 * n * np.log(2 * np.pi)


def _gp_args():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (9, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=9)
    return np.array([0.1, -0.2, -3.0]), X, y


PROGRAMS.append(("gp_nlml", "Gaussian processes", gp_nlml, _gp_args, (0, 2)))


# ---------------------------------------------------------------- hidden Markov models
def softmax(a, axis=-1):
    a = a - a.max(axis=axis, keepdims=True)
    e = np.exp(a)
    return e / e.sum(axis=axis, keepdims=True)


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


PROGRAMS.append(
    (
        "hmm_gauss_forward",
        "hidden Markov models",
        hmm_loglik,
        lambda: (
            np.array([[1.2, 0.1, -0.4], [0.0, 0.9, 0.2], [-0.3, 0.3, 1.5]]),
            np.array([0.3, 0.1, -0.2]),
            np.array([-1.0, 0.5, 2.0]),
            np.array([-0.2, 0.0, 0.1]),
            np.array([-0.8, -1.3, 0.2, 0.7, 1.9, 2.4, 1.6, 0.4, 0.6]),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- Kalman filter
def kalman_loglik(q, r, z, dt=0.5):
    """Innovation log likelihood of a constant-velocity tracker."""
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    R = np.array([[r]])
    x = np.zeros((2, 1))
    P = np.diag([10.0, 4.0])
    ll = 0.0
    for zk in z:
        x = F @ x
        P = F @ P @ F.T + Q
        y = zk - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        ll += -0.5 * (y.T @ np.linalg.solve(S, y))[0, 0] - 0.5 * np.log(2 * np.pi * np.linalg.det(S))
    return ll


PROGRAMS.append(
    (
        "kalman_cv",
        "target tracking",
        kalman_loglik,
        lambda: (0.3, 0.5, np.array([0.2, 1.1, 1.4, 2.7, 3.1, 4.4, 4.6, 5.9])),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- phylogenetics
def hky_rate_matrix(kappa, pi):
    Q = np.zeros((4, 4))
    transitions = {(0, 2), (2, 0), (1, 3), (3, 1)}
    for i in range(4):
        for j in range(4):
            if i != j:
                Q[i, j] = pi[j] * (kappa if (i, j) in transitions else 1.0)
        Q[i, i] = -Q[i].sum()
    scale = -np.dot(pi, np.diag(Q))
    return Q / scale


def prune(node, Q, pattern):
    """Felsenstein pruning; a node is a leaf name or a list of (child, branch length)."""
    if isinstance(node, str):
        v = np.zeros(4)
        v["ACGT".index(pattern[node])] = 1.0
        return v
    partial_lik = np.ones(4)
    for child, length in node:
        P = expm(Q * length)
        partial_lik = partial_lik * (P @ prune(child, Q, pattern))
    return partial_lik


def tree_loglik(kappa, freqs, lengths, sites):
    a, b, c, d, e = lengths
    tree = [([("human", a), ("chimp", b)], c), ("gorilla", d), ("orang", e)]
    pi = freqs / freqs.sum()
    Q = hky_rate_matrix(kappa, pi)
    return sum(np.log(pi @ prune(tree, Q, site)) for site in sites)


def _tree_args():
    species = ("human", "chimp", "gorilla", "orang")
    cols = ["AAAA", "CCCT", "GGAG", "TTTT", "ACAA", "GGGA"]
    sites = [dict(zip(species, col)) for col in cols]
    return 4.0, np.array([0.3, 0.25, 0.2, 0.25]), np.array([0.05, 0.06, 0.04, 0.12, 0.3]), sites


PROGRAMS.append(("hky_pruning", "phylogenetics", tree_loglik, _tree_args, (0, 1, 2)))


# ---------------------------------------------------------------- crystal diffraction
SCATTER = {"Na": (10.8, 3.2), "Cl": (16.5, 2.1)}


def form_factor(element, s2, B):
    z, w = SCATTER[element]
    return z * np.exp(-w * s2) * np.exp(-B * s2)


def powder_residual(cell_a, B, scale, two_theta_obs, intensity_obs, hkl, wavelength=1.5406):
    """R-type residual between observed and calculated peak intensities and positions (rock salt)."""
    na = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    cl = na + np.array([0.5, 0.0, 0.0])
    res = 0.0
    for (h, k, l), tt, I_obs in zip(hkl, two_theta_obs, intensity_obs):
        g = np.array([h, k, l], dtype=float)
        d = cell_a / np.sqrt(g @ g)
        s2 = 1.0 / (4 * d**2)
        theta = np.arcsin(wavelength / (2 * d))
        F = 0j
        for element, pos in (("Na", na), ("Cl", cl)):
            F += form_factor(element, s2, B) * np.sum(np.exp(2j * np.pi * (pos @ g)))
        lp = (1 + np.cos(2 * theta) ** 2) / (np.sin(theta) ** 2 * np.cos(theta))
        I_calc = scale * np.abs(F) ** 2 * lp
        res += (I_calc - I_obs) ** 2 / I_obs + 50.0 * (np.degrees(2 * theta) - tt) ** 2
    return res


PROGRAMS.append(
    (
        "nacl_powder",
        "crystal diffraction",
        powder_residual,
        lambda: (5.64, 1.1, 0.01, [31.7, 45.5, 56.5], [1100.0, 900.0, 300.0], [(2, 0, 0), (2, 2, 0), (2, 2, 2)]),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- ocean tides
Constituent = namedtuple("Constituent", "name speed")
TIDES = [Constituent("M2", 28.984), Constituent("S2", 30.0), Constituent("K1", 15.041), Constituent("O1", 13.943)]


def predict_tide(t, z0, amp, phase):
    h = np.full_like(t, z0)
    for a, g, c in zip(amp, phase, TIDES):
        h += a * np.cos(np.deg2rad(c.speed * t - g))
    return h


def tide_rms(z0, amp, phase, t, level):
    return np.sqrt(np.mean((predict_tide(t, z0, amp, phase) - level) ** 2))


def _tide_args():
    t = np.arange(0.0, 25.0, 1.0)
    level = 0.2 + 1.1 * np.cos(0.5 * t - 1.0) + 0.3 * np.sin(0.27 * t)
    return 0.1, np.array([1.0, 0.35, 0.2, 0.15]), np.array([50.0, 80.0, 120.0, 200.0]), t, level


PROGRAMS.append(("tide_harmonics", "ocean tides", tide_rms, _tide_args, (0, 1, 2)))


# ---------------------------------------------------------------- neural networks
def init_params(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(m, n)) / np.sqrt(m), 0.1 * rng.normal(size=n)) for m, n in zip(sizes[:-1], sizes[1:])]


def forward(params, x):
    for W, b in params[:-1]:
        x = np.tanh(x @ W + b)
    W, b = params[-1]
    return x @ W + b


def cross_entropy(params, X, labels, l2=1e-3):
    logits = forward(params, X)
    logp = logits - logsumexp(logits, axis=1, keepdims=True)
    nll = -np.mean(logp[np.arange(len(labels)), labels])
    return nll + l2 * sum(np.sum(W**2) for W, _ in params)


PROGRAMS.append(
    (
        "mlp_xent",
        "neural networks",
        cross_entropy,
        lambda: (init_params([3, 5, 4, 3]), np.random.default_rng(1).normal(size=(6, 3)), np.array([0, 2, 1, 1, 0, 2])),
        (0, 1),
    )
)


# ---------------------------------------------------------------- chemical kinetics
def rk4_step(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def arrhenius(T, A, Ea, R=8.314):
    return A * np.exp(-Ea / (R * T))


def batch_rhs(t, y, k1, k2, k3):
    a, b, c = y
    r1, r2, r3 = k1 * a, k2 * b, k3 * b * c
    return np.array([-r1, r1 - r2 - r3, r2 - r3])


def batch_yield(log_A, Ea, T, t_end=4.0, n=20):
    """Concentration of the intermediate after a batch A -> B -> C with a side reaction."""
    k = arrhenius(T, np.exp(log_A), Ea)
    rhs = partial(batch_rhs, k1=k[0], k2=k[1], k3=k[2])
    y = np.array([1.0, 0.0, 0.0])
    h = t_end / n
    for i in range(n):
        y = rk4_step(rhs, y, i * h, h)
    return y[1]


PROGRAMS.append(
    (
        "batch_arrhenius",
        "chemical kinetics",
        batch_yield,
        lambda: (np.array([14.0, 16.0, 12.0]), np.array([35e3, 44e3, 33e3]), 310.0),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- finite elements
def bar_stiffness(E, A, L):
    return E * A / L * np.array([[1.0, -1.0], [-1.0, 1.0]])


def truss_compliance(areas, nodes, elements, loads, fixed, E=200.0):
    """Compliance of a plane truss assembled element by element."""
    ndof = 2 * len(nodes)
    K = np.zeros((ndof, ndof))
    for e, (i, j) in enumerate(elements):
        d = nodes[j] - nodes[i]
        L = np.linalg.norm(d)
        c, s = d / L
        T = np.array([[c, s, 0, 0], [0, 0, c, s]])
        ke = T.T @ bar_stiffness(E, areas[e], L) @ T
        dofs = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dofs, dofs)] += ke
    free = np.setdiff1d(np.arange(ndof), fixed)
    u = np.zeros(ndof)
    u[free] = solve(K[np.ix_(free, free)], loads[free])
    return loads @ u


def _truss_args():
    nodes = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [0.1, 1.0], [1.1, 1.2]])
    elements = [(0, 1), (1, 2), (0, 3), (3, 4), (1, 3), (1, 4), (2, 4), (0, 4)]
    loads = np.zeros(10)
    loads[[3, 8, 9]] = [-1.5, 0.4, -1.0]
    return np.linspace(0.8, 1.5, 8), nodes, elements, loads, np.array([0, 1, 5])


PROGRAMS.append(("truss_compliance", "finite elements", truss_compliance, _truss_args, (0, 1)))


# ---------------------------------------------------------------- Bayesian inference
def mvn_logpdf(x, mu, Sigma):
    L = cholesky(Sigma)
    z = solve(L, x - mu)
    return -0.5 * z @ z - np.sum(np.log(np.diag(L))) - 0.5 * len(x) * np.log(2 * np.pi)


def log_posterior(mu, log_scale, rho, data, nu=6.0):
    """Bivariate normal with inverse-Wishart-like prior on the covariance."""
    s = np.exp(log_scale)
    corr = np.array([[1.0, rho], [rho, 1.0]])
    Sigma = np.outer(s, s) * corr
    loglik = sum(mvn_logpdf(row, mu, Sigma) for row in data)
    sign, logdet = slogdet(Sigma)
    log_prior = -0.5 * (nu + 3) * logdet - 0.5 * np.trace(np.linalg.inv(Sigma))
    return loglik + log_prior - 0.5 * np.sum(mu**2) / 100.0


PROGRAMS.append(
    (
        "mvn_posterior",
        "Bayesian inference",
        log_posterior,
        lambda: (
            np.array([0.3, -0.4]),
            np.array([0.1, -0.3]),
            0.45,
            np.random.default_rng(5).normal(size=(8, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]]),
        ),
        (0, 1, 2, 3),
    )
)
