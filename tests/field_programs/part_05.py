from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from scipy.integrate import solve_ivp
from scipy.special import betaln, digamma, gammaln

PROGRAMS = []


# ---------------------------------------------------------------- control
def lqr_gain(A, B, Q, R):
    P = la.solve_continuous_are(A, B, Q, R)
    return np.linalg.solve(R, B.T @ P)


def pendulum_cost(K, m, l, x0, dt=0.02, steps=25, g=9.81):
    """Closed-loop quadratic cost of a nonlinear inverted pendulum under a fixed linear feedback."""
    x = np.array(x0)
    J = 0.0
    for _ in range(steps):
        u = -K @ x
        th, om = x
        acc = g / l * np.sin(th) + u / (m * l**2)
        x = x + dt * np.array([om, acc])
        J += dt * (10.0 * th**2 + om**2 + 0.1 * u**2)
    return J


def _pend_args():
    A = np.array([[0.0, 1.0], [9.81 / 0.5, 0.0]])
    B = np.array([[0.0], [1 / (0.2 * 0.25)]])
    K = lqr_gain(A, B, np.diag([10.0, 1.0]), np.array([[2.0]]))
    return K[0], 0.2, 0.5, [0.3, -0.1]


PROGRAMS.append(("pendulum_lqr", "control", pendulum_cost, _pend_args, (0, 1, 2, 3)))


# ---------------------------------------------------------------- ecology
class PredatorPrey:
    """Rosenzweig-MacArthur model."""

    def __init__(self, r, K, a, h, e, m):
        self.r, self.K, self.a, self.h, self.e, self.m = r, K, a, h, e, m

    def functional_response(self, n):
        return self.a * n / (1 + self.a * self.h * n)

    def step(self, n, p, dt):
        f = self.functional_response(n)
        dn = self.r * n * (1 - n / self.K) - f * p
        dp = self.e * f * p - self.m * p
        return n + dt * dn, p + dt * dp

    def simulate(self, n0, p0, dt=0.1, steps=30):
        out = [(n0, p0)]
        for _ in range(steps):
            out.append(self.step(*out[-1], dt))
        return np.array(out)


def rm_log_error(r, K, a, h, n0, p0, data):
    model = PredatorPrey(r, K, a, h, e=0.4, m=0.25)
    traj = model.simulate(n0, p0)
    pred = traj[::5]
    return np.sum((np.log(pred) - np.log(data)) ** 2)


PROGRAMS.append(
    (
        "rosenzweig_macarthur",
        "ecology",
        rm_log_error,
        lambda: (
            1.1,
            12.0,
            0.5,
            0.3,
            6.0,
            2.0,
            np.column_stack([5 + np.cos(np.arange(7)), 2.2 + 0.3 * np.sin(np.arange(7))]),
        ),
        (0, 1, 2, 3, 4, 5),
    )
)


# ---------------------------------------------------------------- actuarial science
def gompertz_survival(x, t, B, c):
    return np.exp(-B * c**x * (c**t - 1) / np.log(c))


def net_premium(age, term, i, B, c):
    """Annual net premium of a term insurance, Gompertz mortality, benefit 100000."""
    v = 1 / (1 + i)
    k = np.arange(term)
    kpx = gompertz_survival(age, k, B, c)
    qx = 1 - gompertz_survival(age + k, 1, B, c)
    benefit = 100000 * np.sum(v ** (k + 1) * kpx * qx)
    annuity = np.sum(v**k * kpx)
    return benefit / annuity


PROGRAMS.append(("term_premium", "actuarial science", net_premium, lambda: (45, 15, 0.03, 2.7e-5, 1.11), (2, 3, 4)))


# ---------------------------------------------------------------- topic of gene counts: negative binomial GLM
def nb_glm_nll(beta, log_disp, X, counts, offset):
    """Negative binomial regression with log link, as used for RNA-seq counts."""
    mu = np.exp(X @ beta + offset)
    r = np.exp(-log_disp)
    ll = (
        gammaln(counts + r)
        - gammaln(r)
        - gammaln(counts + 1)
        + r * np.log(r / (r + mu))
        + counts * np.log(mu / (r + mu))
    )
    return -ll.sum()


def _nb_args():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(10), np.repeat([0, 1], 5), rng.normal(size=10)])
    return np.array([1.5, 0.6, -0.2]), -0.7, X, rng.poisson(8, 10), np.log(rng.uniform(0.7, 1.4, 10))


PROGRAMS.append(("rnaseq_nb_glm", "genomics", nb_glm_nll, _nb_args, (0, 1)))


# ---------------------------------------------------------------- recommender systems
def mf_loss(U, V, bu, bi, ratings, reg=0.05):
    """Regularised matrix factorisation with biases, observed triples only."""
    mu = np.mean([r for _, _, r in ratings])
    loss = 0.0
    for u, i, r in ratings:
        pred = mu + bu[u] + bi[i] + np.dot(U[u], V[i])
        loss += (r - pred) ** 2 + reg * (bu[u] ** 2 + bi[i] ** 2 + U[u] @ U[u] + V[i] @ V[i])
    return loss / len(ratings)


PROGRAMS.append(
    (
        "matrix_factorisation",
        "recommender systems",
        mf_loss,
        lambda: (
            np.random.default_rng(0).normal(0, 0.4, (4, 2)),
            np.random.default_rng(1).normal(0, 0.4, (5, 2)),
            np.array([0.1, -0.2, 0.3, 0.05]),
            np.array([0.2, 0.1, -0.1, 0.0, 0.4]),
            [(0, 0, 5), (0, 3, 3), (1, 1, 4), (1, 4, 1), (2, 0, 4), (2, 2, 2), (3, 3, 5), (3, 4, 2)],
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- reinforcement learning
def policy(theta, n_states, n_actions):
    logits = theta.reshape(n_states, n_actions)
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def expected_return(theta, P, R, gamma=0.9, tau=0.05):
    """Exact discounted return of a softmax policy with entropy bonus, tabular MDP."""
    S, A = R.shape
    pi = policy(theta, S, A)
    P_pi = np.einsum("sa,sat->st", pi, P)
    r_pi = np.einsum("sa,sa->s", pi, R) - tau * np.sum(pi * np.log(pi), axis=1)
    v = np.linalg.solve(np.eye(S) - gamma * P_pi, r_pi)
    return v.mean()


def _mdp_args():
    rng = np.random.default_rng(9)
    P = rng.dirichlet(np.ones(4), size=(4, 3))
    return rng.normal(size=12), P, rng.normal(size=(4, 3))


PROGRAMS.append(("softmax_policy_value", "reinforcement learning", expected_return, _mdp_args, (0, 1, 2)))


# ---------------------------------------------------------------- thermodynamics
def vdw_pressure(T, V, a, b, R=0.083145):
    return R * T / (V - b) - a / V**2


def molar_volume(T, P, a, b, V, tol=1e-13):
    """Newton from the ideal-gas volume."""
    R = 0.083145
    for _ in range(60):
        f = vdw_pressure(T, V, a, b) - P
        df = -R * T / (V - b) ** 2 + 2 * a / V**3
        step = f / df
        V = V - step
        if abs(step) < tol * abs(V):
            break
    return V


def compression_work(T, P1, P2, a, b):
    """Isothermal work between two pressures of a van der Waals gas."""
    R = 0.083145
    V1 = molar_volume(T, P1, a, b, R * T / P1)
    V2 = molar_volume(T, P2, a, b, R * T / P2)
    return -R * T * np.log((V2 - b) / (V1 - b)) - a * (1 / V2 - 1 / V1)


PROGRAMS.append(
    ("vdw_compression", "thermodynamics", compression_work, lambda: (320.0, 1.0, 25.0, 3.64, 0.0427), (0, 1, 2, 3, 4))
)


# ---------------------------------------------------------------- insurance / Bayesian text modelling
class Hyper(NamedTuple):
    alpha: float
    beta: float
    shape: float
    rate: float


def credibility_evidence(h, claims, exposure, sizes):
    """Log evidence: beta-binomial frequencies and gamma severities."""
    k = np.asarray(claims)
    n = np.asarray(exposure)
    freq = betaln(h.alpha + k, h.beta + n - k) - betaln(h.alpha, h.beta)
    sev = (h.shape - 1) * np.log(sizes) - h.rate * sizes + h.shape * np.log(h.rate) - gammaln(h.shape)
    prior = -0.5 * (np.log(h.alpha) ** 2 + digamma(h.beta) ** 2)
    return freq.sum() + sev.sum() + prior


PROGRAMS.append(
    (
        "credibility",
        "insurance statistics",
        credibility_evidence,
        lambda: (
            Hyper(2.0, 15.0, 1.8, 0.9),
            [3, 1, 5, 0, 2],
            [30, 22, 41, 10, 18],
            np.array([1.2, 0.8, 3.5, 2.2, 1.9]),
        ),
        (0, 3),
    )
)


# ---------------------------------------------------------------- spectral methods
def cheb(N):
    """Chebyshev differentiation matrix and nodes."""
    x = np.cos(np.pi * np.arange(N + 1) / N)
    c = np.hstack([2, np.ones(N - 1), 2]) * (-1) ** np.arange(N + 1)
    X = np.tile(x, (N + 1, 1)).T
    dX = X - X.T
    D = np.outer(c, 1 / c) / (dX + np.eye(N + 1))
    D = D - np.diag(D.sum(axis=1))
    return D, x


def bvp_functional(eps, f_amp, bc, N=12):
    """int u dx for -eps u'' + u = f on [-1, 1] with Dirichlet data."""
    D, x = cheb(N)
    L = -eps * D @ D + np.eye(N + 1)
    rhs = f_amp[0] * np.cos(np.pi * x / 2) + f_amp[1] * np.sin(np.pi * x) + f_amp[2]
    L[0] = 0.0
    L[-1] = 0.0
    L[0, 0] = L[-1, -1] = 1.0
    rhs[0], rhs[-1] = bc
    u = np.linalg.solve(L, rhs)
    xs, us = x[::-1], u[::-1]
    return np.sum(0.5 * (us[1:] + us[:-1]) * np.diff(xs))


PROGRAMS.append(
    ("cheb_bvp", "spectral methods", bvp_functional, lambda: (0.15, np.array([1.0, -0.5, 0.3]), (0.2, -0.1)), (0, 1, 2))
)


# ---------------------------------------------------------------- systems biology
def toggle_rhs(t, y, a1, a2, n, d):
    u, v = y
    return [a1 / (1 + v**n) - d * u, a2 / (1 + u**n) - d * v]


def toggle_loss(a1, a2, n, d, data):
    """Genetic toggle switch, distance to measured protein levels."""
    t = np.linspace(0, 5, len(data))
    sol = solve_ivp(toggle_rhs, (0, 5), [1.0, 0.8], t_eval=t, args=(a1, a2, n, d), rtol=1e-10, atol=1e-12)
    if not sol.success:
        raise RuntimeError(sol.message)
    return float(np.sum((sol.y.T - data) ** 2))


PROGRAMS.append(
    (
        "toggle_switch",
        "systems biology",
        toggle_loss,
        lambda: (3.0, 2.5, 2.0, 1.1, np.array([[1.0, 0.8], [1.6, 0.9], [2.0, 0.7], [2.2, 0.6], [2.4, 0.5]])),
        (0, 1, 2, 3),
    )
)
