"""Queues, stocks, assignments and networks."""

import bisect
import functools
import math
from collections import Counter, defaultdict
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from scipy.special import logsumexp

from tests.field_programs import program, rng


# ---------------------------------------------------------------- newsvendor
@program(
    "newsvendor network, smoothed, with partial and reduce",
    lambda: (np.array([12.0, 8.0, 15.0]), np.array([3.0, 2.5, 4.0])),
    wrt=(0, 1),
)
def newsvendor(orders, price):
    demand_mean, demand_sd = np.array([10.0, 9.0, 14.0]), np.array([3.0, 2.0, 5.0])

    def expected_sales(q, mu, sd):
        z = (q - mu) / sd
        return mu - sd * (stats.norm.pdf(z) - z * (1 - stats.norm.cdf(z)))

    profit = functools.reduce(
        lambda acc, item: acc + item[1] * expected_sales(item[0], *item[2:]) - 1.2 * item[0],
        zip(orders, price, demand_mean, demand_sd),
        0.0,
    )
    return profit - 0.01 * max(0.0, orders.sum() - 30) ** 2


# ---------------------------------------------------------------- inventory
@program(
    "inventory DP with expectation, policy evaluation, EOQ; memoised recursion over states",
    lambda: (np.array([0.2, 0.5, 0.3]), 1.0, 4.0),
    wrt=(0, 1, 2),
)
def inventory(demand, hold, penalty, horizon=4, cap=4):
    @lru_cache(maxsize=None)
    def value(t, stock):
        if t == horizon:
            return 0.5 * stock * hold
        best = math.inf
        for order in range(cap - stock + 1):
            cost = 2.0 * (order > 0) + 1.0 * order
            for d, p in enumerate(demand):
                left = stock + order - d
                cost += p * (hold * max(left, 0) + penalty * max(-left, 0) + value(t + 1, max(left, 0)))
            best = min(best, cost)
        return best

    return value(0, 1)


# ---------------------------------------------------------------- call_centre_cost
def erlang_c(lam, mu, c):
    a = lam / mu
    inv_b = 1.0
    for k in range(1, c + 1):
        inv_b = 1.0 + inv_b * k / a
    b = 1.0 / inv_b
    rho = a / c
    return b / (1.0 - rho * (1.0 - b))


@program("queueing: hourly cost of an M/M/c call centre", lambda: (21.0, 3.2), wrt=(0, 1))
def call_centre_cost(lam, mu, n_agents=8, wage=18.0, wait_cost=45.0):
    """Hourly cost of an M/M/c call centre."""
    if lam >= n_agents * mu:
        raise ValueError(f"unstable queue: lambda={lam} >= c*mu={n_agents * mu}")
    pw = erlang_c(lam, mu, n_agents)
    wq = pw / (n_agents * mu - lam)
    return wage * n_agents + wait_cost * lam * wq


# ---------------------------------------------------------------- staffing_cost
def erlang_b(servers, load):
    if servers == 0:
        return 1.0
    b = erlang_b(servers - 1, load)
    return load * b / (servers + load * b)


@program("queueing: Erlang B recursion", lambda: (np.array([3.0, 4.5, 2.0]), np.array([5, 6, 3])))
def staffing_cost(load, servers):
    total = 0.0
    for a, c in zip(load, servers):
        b = erlang_b(c, a)
        wait = b / (1 - a / c * (1 - b))
        total += 10 * wait + c
    return total


# ---------------------------------------------------------------- mva
@program(
    "queueing networks: mean value analysis, closed network",
    lambda: (np.array([0.05, 0.08, 0.04]), np.array([1.0, 0.5, 0.7]), 8),
)
def mva(service, visits, customers):
    Q = [0.0] * len(service)
    X = 0.0
    for n in range(1, customers + 1):
        R = [v * s * (1 + q) for v, s, q in zip(visits, service, Q)]
        X = n / (1.5 + sum(R))
        Q = [X * r for r in R]
    bottleneck = max(range(len(Q)), key=Q.__getitem__)
    return X + 0.1 * Q[bottleneck]


# ---------------------------------------------------------------- cost_of_servers
@program(
    "queueing: an M/M/c queue with impatient customers, and how many servers would be enough",
    lambda: (9.0, 2.5, 0.4, 1.7),
    wrt=(0, 1, 2, 3),
)
def cost_of_servers(arrival, service, patience, price):
    best, at = np.inf, None
    for c in range(2, 8):
        weights = [1.0]
        for n in range(1, 60):
            rate = min(n, c) * service + max(n - c, 0) * patience
            weights.append(weights[-1] * arrival / rate)
        norm = math.fsum(weights)
        waiting = sum((n - c) * w for n, w in enumerate(weights) if n > c) / norm
        lost = patience * waiting
        cost = price * c + 5.0 * lost + waiting
        if cost < best:
            best, at = cost, c
    return best + 0.01 * at


# ---------------------------------------------------------------- sinkhorn_cost
FloatArray = npt.NDArray[np.float64]


def lse(a: FloatArray, axis: int = -1) -> FloatArray:
    m = a.max(axis=axis, keepdims=True)
    return (m + np.log(np.exp(a - m).sum(axis=axis, keepdims=True))).squeeze(axis)


@program(
    "OR: Sinkhorn with log domain, logsumexp hand-written",
    lambda: (np.random.default_rng(1).uniform(size=(5, 2)), np.random.default_rng(2).uniform(size=(7, 2)), 0.1),
    wrt=(0, 1, 2),
)
def sinkhorn_cost(X, Y, eps):
    C = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(-1)
    loga = np.full(len(X), -np.log(len(X)))
    logb = np.full(len(Y), -np.log(len(Y)))
    f, g = np.zeros_like(loga), np.zeros_like(logb)
    for _ in range(30):
        f = -eps * lse((g - C) / eps + logb, axis=1)
        g = -eps * lse((f[:, np.newaxis] - C) / eps + loga[:, np.newaxis], axis=0)
    P = np.exp((f[:, None] + g - C) / eps + loga[:, None] + logb)
    return np.einsum("ij,ij->", P, C)


# ---------------------------------------------------------------- soft_tsp
@program(
    "combinatorial: Kirchhoff spanning trees / matching via dp over bitmask",
    lambda: (rng(18).uniform(0.5, 1.5, (4, 4)),),
)
def soft_tsp(D):
    n = len(D)
    dp = {(1, 0): 0.0}
    for mask in range(1, 1 << n):
        if not mask & 1:
            continue
        for j in range(1, n):
            if not mask & (1 << j):
                continue
            prev = mask ^ (1 << j)
            cands = [dp[prev, i] + D[i, j] for i in range(n) if (prev, i) in dp]
            if cands:
                dp[mask, j] = -logsumexp([-c for c in cands])
    full = (1 << n) - 1
    return -logsumexp([-(dp[full, j] + D[j, 0]) for j in range(1, n)])


# ---------------------------------------------------------------- pagerank_entropy
@program(
    "networks: PageRank on adjacency with power iteration, while",
    lambda: (np.random.default_rng(0).uniform(0.1, 1, (8, 8)), 0.85),
    wrt=(0, 1),
)
def pagerank_entropy(W, damping):
    W = W.copy()
    np.fill_diagonal(W, 0)
    P = W / W.sum(axis=1, keepdims=True)
    n = len(P)
    r = np.ones(n) / n
    err, it = 1.0, 0
    while err > 1e-13 and it < 500:
        new = (1 - damping) / n + damping * P.T @ r
        err = np.abs(new - r).sum()
        r, it = new, it + 1
    return -(r * np.log(r)).sum()


# ---------------------------------------------------------------- efficiency
@program("graph: Floyd–Warshall soft, Dijkstra with heap", lambda: (np.random.default_rng(1).uniform(0.5, 3, (6, 6)),))
def efficiency(W):
    n = len(W)
    D = W.copy()
    D[range(n), range(n)] = 0
    for k in range(n):
        D = np.minimum(D, D[:, k, None] + D[None, k, :])
    iu = np.triu_indices(n, k=1)
    return np.mean(1 / D[iu]) + D[np.tril_indices(n, -1)].max()


# ---------------------------------------------------------------- pagerank
@program(
    "kernels: sparse graph PageRank with power iteration via scipy sparse",
    lambda: (np.array([0.85]), np.array([1.0, 2.0, 0.5, 1.0, 1.5])),
    wrt=(0, 1),
)
def pagerank(d, w):
    rows, cols = np.array([0, 1, 2, 2, 3]), np.array([1, 2, 0, 3, 0])
    A = np.zeros((4, 4))
    np.add.at(A, (cols, rows), w)
    A = A / A.sum(axis=0)
    r = np.full(4, 0.25)
    for _ in range(30):
        r = d[0] * A @ r + (1 - d[0]) / 4
    return -(r * np.log(r)).sum()


# ---------------------------------------------------------------- pagerank_diffusion
@program(
    "graph learning: PageRank-like diffusion over an adjacency list",
    lambda: (rng(61).random(9), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 0), (1, 5)]),
)
def pagerank_diffusion(weights, edges):
    n = 6
    out = defaultdict(float)
    for (i, _), w in zip(edges, weights):
        out[i] += w
    r = np.full(n, 1 / n)
    for _ in range(25):
        new = np.full(n, 0.15 / n)
        for (i, j), w in zip(edges, weights):
            new[j] += 0.85 * r[i] * w / out[i]
        r = new
    return -np.sum(r * np.log(r))


# ---------------------------------------------------------------- cost_of_day
@program(
    "staffing of a call centre by the Erlang C formula, waiting and abandonment costs over a day",
    lambda: (np.array([0.9, 1.8, 1.3]), 4.5, 0.8),
    wrt=(0, 1, 2),
)
def cost_of_day(load, handling, patience):
    def erlang_c(agents, a):
        inverse = 1.0
        for k in range(1, agents + 1):
            inverse = 1.0 + inverse * k / a
        b = 1.0 / inverse
        rho = a / agents
        return b / (1.0 - rho * (1.0 - b))

    shifts = Counter({8: 4, 12: 7, 16: 5})
    starts = sorted(shifts)
    total = 0.0
    for hour in range(8, 20):
        agents = shifts[starts[bisect.bisect_right(starts, hour) - 1]] + 3
        day = math.pi * (hour - 8) / 12
        calls = 60.0 * (load[0] + load[1] * math.sin(day) ** 2 + load[2] * math.exp(-((hour - 15.0) ** 2) / 6.0)) / 2
        a = calls * handling / 60.0
        while a >= 0.97 * agents:
            agents += 1
        pw = erlang_c(agents, a)
        wait = pw * handling / (agents - a)
        within = 1.0 - pw * math.exp(-(agents - a) * (20.0 / 60.0) / handling)
        lost = calls * (1.0 - math.exp(-wait / patience))
        total += 22.0 * agents + 8.0 * lost + 15.0 * special.expit(20.0 * (0.8 - within))
    return total / 1000.0
