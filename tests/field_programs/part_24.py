import itertools
import math
from dataclasses import dataclass
from typing import Optional

import numpy as np
import scipy.stats as st

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# manual autodiff tape: Value class à la micrograd (list of nodes, closures)
@dataclass
class Layer:
    W: np.ndarray
    b: np.ndarray
    cache: Optional[np.ndarray] = None

    def forward(self, x):
        self.cache = x
        return np.tanh(x @ self.W + self.b)


@prog("ml", lambda: (rng(1).normal(size=(3, 4)), rng(2).normal(size=(4, 4)), rng(3).normal(size=(5, 3))), (0, 1, 2))
def manual_backprop_norm(W1, W2, X):
    layers = [Layer(W1, np.zeros(4)), Layer(W2, np.ones(4) * 0.1)]
    h = X
    for layer in layers:
        h = layer.forward(h)
    grad = 2 * (h - 0.5) / h.size
    out = h
    norms = []
    for layer in reversed(layers):
        dz = grad * (1 - out**2)
        gW = layer.cache.T @ dz
        grad = dz @ layer.W.T
        out = layer.cache
        norms.append((gW**2).sum())
    return sum(norms) + (grad**2).sum()


# epidemiology: metapopulation with list of dicts
@prog("epi", lambda: (np.array([0.4, 0.3, 0.5]), 0.1, 0.05), (0, 1, 2))
def metapop(betas, gamma, mix):
    cities = [{"S": 0.99, "I": 0.01, "R": 0.0, "beta": b} for b in betas]
    for day in range(30):
        total = sum(c["I"] for c in cities) / len(cities)
        for c in cities:
            force = c["beta"] * ((1 - mix) * c["I"] + mix * total)
            new = force * c["S"]
            rec = gamma * c["I"]
            c["S"] -= new
            c["I"] += new - rec
            c["R"] += rec
    return sum(c["R"] for c in cities) + max(c["I"] for c in cities)


# DP: DTW with lists of lists
@prog("speech", lambda: (np.sin(np.arange(7) * 0.7), np.cos(np.arange(6) * 0.8)), (0, 1))
def dtw(a, b):
    n, m = len(a), len(b)
    D = [[math.inf] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i][j] = cost + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return math.sqrt(D[n][m])


# finance: binomial tree with lists, American option; while shrink
@prog("finance", lambda: (100.0, 0.25, 0.03), (0, 1, 2))
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


# astronomy: octree-free Barnes–Hut like grid binning w/ defaultdict? use tuple keys
@prog("astro", lambda: (rng(5).uniform(0, 4, (6, 2)), rng(6).uniform(1, 2, 6)), (0, 1))
def grid_mass(pos, m):
    cells = {}
    for p, w in zip(pos, m):
        key = (int(p[0]), int(p[1]))
        if key not in cells:
            cells[key] = [0.0, 0.0, 0.0]
        c = cells[key]
        c[0] += w
        c[1] += w * p[0]
        c[2] += w * p[1]
    total = 0.0
    for c in cells.values():
        total += c[0] ** 2 * (c[1] / c[0]) - c[2]
    return total


# signal: adaptive LMS with float32 & convolution; ring buffer by np.roll
@prog("signal", lambda: (rng(7).normal(size=40), np.array([0.5, -0.3, 0.2]), 0.05), (0, 1, 2))
def lms_error(x, h, mu):
    d = np.convolve(x, h)[: x.size]
    w = np.zeros(4)
    buf = np.zeros(4)
    err = np.empty_like(x)
    for n, (xn, dn) in enumerate(zip(x, d)):
        buf = np.roll(buf, 1)
        buf[0] = xn
        e = dn - w @ buf
        w += mu * e * buf
        err[n] = e
    return np.mean(err[-20:] ** 2) + np.linalg.norm(w[:3] - h)


# chem: reaction network with parsed strings and dict stoich
REACTIONS = ["A + B -> C", "C -> A + B", "C -> D"]


def parse(r):
    left, right = r.split("->")
    return [s.strip() for s in left.split("+")], [s.strip() for s in right.split("+")]


NETWORK = [parse(r) for r in REACTIONS]
SPECIES = sorted({s for l, r in NETWORK for s in l + r})


@prog("chem", lambda: (np.array([1.0, 0.3, 0.2]), np.array([1.0, 0.8, 0.1, 0.0])), (0, 1))
def mass_action(k, c0):
    index = {s: i for i, s in enumerate(SPECIES)}
    c = c0.copy()
    for step in range(40):
        dc = np.zeros_like(c)
        for rate, (reactants, products) in zip(k, NETWORK):
            flux = rate
            for s in reactants:
                flux *= c[index[s]]
            for s in reactants:
                dc[index[s]] -= flux
            for s in products:
                dc[index[s]] += flux
        c += 0.05 * dc
    return c[index["D"]] + (c**2).sum()


# stats: particle filter with resampling fixed draws
@prog("stats", lambda: (0.9, 0.5, rng(10).normal(size=8)), (0, 1, 2))
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
