import itertools
import math
from typing import Final, Literal, TypedDict

import numpy as np
import scipy.signal as ss

from tests.field_programs import collection

PROGRAMS, prog = collection()

AVOGADRO: Final = 6.02214076e23


class Config(TypedDict):
    lr: float
    steps: int
    kind: Literal["adam", "sgd"]


# training loop inside: meta-gradient with typed dict config
@prog("ml", lambda: ({"w": np.array([0.1, -0.3]), "b": 0.2}, 0.05, 0.9), (0, 1, 2))
def meta_loss(params, lr, b1):
    cfg: Config = {"lr": lr, "steps": 12, "kind": "adam"}
    X = np.linspace(-1, 1, 10)[:, None] ** np.array([1, 2])
    y = 0.7 * X[:, 0] - 0.2
    w, b = params["w"].copy(), params["b"]
    m: dict = {"w": np.zeros_like(w), "b": 0.0}
    v: dict = {"w": np.zeros_like(w), "b": 0.0}
    loss = math.nan
    for step in range(1, cfg["steps"] + 1):
        pred = X @ w + b
        err = pred - y
        loss = (err**2).mean()
        grads = {"w": 2 * X.T @ err / len(y), "b": 2 * err.mean()}
        if cfg["kind"] == "adam":
            for key in grads:
                m[key] = b1 * m[key] + (1 - b1) * grads[key]
                v[key] = 0.99 * v[key] + 0.01 * grads[key] ** 2
            mh = {k: u / (1 - b1**step) for k, u in m.items()}
            vh = {k: u / (1 - 0.99**step) for k, u in v.items()}
            w -= cfg["lr"] * mh["w"] / (np.sqrt(vh["w"]) + 1e-8)
            b -= cfg["lr"] * mh["b"] / (np.sqrt(vh["b"]) + 1e-8)
        else:
            w, b = w - lr * grads["w"], b - lr * grads["b"]
    return loss


# chem: parse of a formula string, molar mass & reaction equilibrium w/ bisection
@prog("chem", lambda: (350.0, 2.0, np.array([1.0, 3.0, 0.0])), (0, 1, 2))
def equilibrium_extent(T, P, n0):
    nu = np.array([-1, -3, 2])
    dH, dS = -92.2e3, -198.0
    R = 8.314
    lnK = -(dH - T * dS) / (R * T)

    def g(xi):
        n = n0 + nu * xi
        y = n / n.sum()
        return np.sum(nu * np.log(y * P)) - lnK

    lo, hi = 1e-9, n0[:2].min() - 1e-9
    for _ in range(60):
        mid = (lo + hi) / 2
        if g(mid) < 0:
            lo = mid
        else:
            hi = mid
    xi = (lo + hi) / 2
    for _ in range(3):
        h = 1e-6
        xi = xi - g(xi) / ((g(xi + h) - g(xi - h)) / (2 * h))
    return xi


# ecology: Leslie matrix with np.diag k, eig power; slices assign
@prog("ecology", lambda: (np.array([0.0, 1.2, 1.5, 0.3]), np.array([0.5, 0.8, 0.4])), (0, 1))
def leslie_growth(fec, surv):
    L = np.zeros((4, 4))
    L[0, :] = fec
    L[range(1, 4), range(3)] = surv
    n = np.ones(4)
    for _ in range(100):
        n, prev = L @ n, n
        lam = np.linalg.norm(n) / np.linalg.norm(prev)
        n = n / n.sum()
    v = np.ones(4)
    for _ in range(100):
        v = v @ L
        v = v / v.sum()
    sens = np.outer(v, n) / (v @ n)
    elast = sens * L / lam
    assert np.isclose(elast.sum(), 1.0), "elasticities sum to one"
    return np.log(lam) + elast[0, 1:].sum() + 1 / lam


# graphics: Bezier with de Casteljau, arc length; list of arrays same length shrinking
@prog("graphics", lambda: (np.array([[0.0, 0], [1, 2], [3, 3], [4, 0.5]]),), (0,))
def bezier_length(ctrl, n=30):
    def at(t):
        pts = ctrl
        while len(pts) > 1:
            pts = (1 - t) * pts[:-1] + t * pts[1:]
        return pts[0]

    P = np.array([at(t) for t in np.linspace(0, 1, n)])
    seg = np.hypot(*np.diff(P, axis=0).T)
    kappa = (P[1:-1, 0] - P[:-2, 0]) * (P[2:, 1] - P[1:-1, 1]) - (P[1:-1, 1] - P[:-2, 1]) * (P[2:, 0] - P[1:-1, 0])
    return seg.sum() + np.sum(kappa**2)


# info theory: Blahut-Arimoto
@prog("info", lambda: (np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2]]),), (0,))
def capacity(W):
    W = W / W.sum(axis=1)[:, None]
    p = np.full(W.shape[0], 1 / W.shape[0])
    for i in range(60):
        q = p @ W
        D = np.sum(W * np.log2(W / q), axis=1)
        c = p * 2**D
        p, p_old = c / c.sum(), p
        if np.allclose(p, p_old, atol=1e-12):
            break
    return np.log2(c.sum())


# signal: biquad IIR chain, lists of coeffs, zip star
@prog(
    "audio", lambda: (np.array([0.2, 0.35]), np.array([0.9, 1.4]), np.random.default_rng(8).normal(size=40)), (0, 1, 2)
)
def biquad_chain(w0, Q, x):
    def lowpass(w, q):
        alpha = math.sin(w) / (2 * q)
        c = math.cos(w)
        b = [(1 - c) / 2, 1 - c, (1 - c) / 2]
        a = [1 + alpha, -2 * c, 1 - alpha]
        return [v / a[0] for v in b], [v / a[0] for v in a]

    y = x
    for b, a in itertools.starmap(lowpass, zip(w0, Q)):
        z1 = z2 = 0.0
        out = []
        for s in y:
            o = b[0] * s + z1
            z1 = b[1] * s - a[1] * o + z2
            z2 = b[2] * s - a[2] * o
            out.append(o)
        y = np.array(out)
    yf = ss.lfilter([0.2, 0.3], [1.0, -0.4], y)
    return 10 * np.log10(np.mean(y**2)) + yf[-1]


# physics: Wigner / ladder operators with kron, expm, trace
@prog("quantum", lambda: (0.8, 1.1, 0.3), (0, 1, 2))
def jaynes_cummings(g, w, t):
    N = 4
    a = np.diag(np.sqrt(np.arange(1, N)), 1)
    sm = np.array([[0, 1], [0, 0]])
    A = np.kron(a, np.eye(2))
    S = np.kron(np.eye(N), sm)
    H = w * A.conj().T @ A + 0.5 * w * np.kron(np.eye(N), np.diag([1, -1])) + g * (A.T @ S + A @ S.T)
    psi = np.zeros(2 * N, dtype=complex)
    psi[2] = 1
    U = np.eye(2 * N, dtype=complex)
    term = np.eye(2 * N, dtype=complex)
    for k in range(1, 15):
        term = term @ (-1j * H * t) / k
        U += term
    psi = U @ psi
    rho = np.outer(psi, psi.conj()).reshape(N, 2, N, 2)
    rq = np.einsum("iaib->ab", rho)
    purity = np.trace(rq @ rq).real
    return purity + np.vdot(psi, H @ psi).real + abs(psi[3]) ** 2


# traffic: cellular car following with lists of objects & next()
class Car:
    def __init__(self, pos, vel):
        self.pos = pos
        self.vel = vel

    def __repr__(self):
        return f"Car({self.pos:.2f}, {self.vel:.2f})"


@prog("traffic", lambda: (np.array([30.0, 1.5, 2.0]), np.array([0.0, 15.0, 28.0, 50.0])), (0, 1))
def platoon_of_cars(theta, x0):
    v0, T, a = theta
    cars = [Car(x, 10.0) for x in x0]
    lead = cars[-1]
    dt = 0.25
    for _ in range(30):
        accs = []
        for c, front in zip(cars, cars[1:]):
            gap = front.pos - c.pos - 5.0
            dv = c.vel - front.vel
            s_star = 2.0 + max(0.0, c.vel * T + c.vel * dv / (2 * np.sqrt(a * 1.5)))
            accs.append(a * (1 - (c.vel / v0) ** 4 - (s_star / gap) ** 2))
        accs.append(0.2 if lead.vel < 12 else 0.0)
        for c, acc in zip(cars, accs):
            c.vel = max(c.vel + dt * acc, 0.0)
            c.pos += c.vel * dt
    gaps = [f.pos - c.pos for c, f in zip(cars, cars[1:])]
    return min(gaps) + np.std([c.vel for c in cars]) + sum(gaps) / len(gaps)


# agronomy: growing degree days w/ cumulative, np.where on searchsorted & digitize, lookups
@prog("agro", lambda: (np.array([10.0, 30.0]), 15 + 8 * np.sin(np.arange(60) / 10)), (0, 1))
def phenology(cardinal, temp):
    tbase, tmax = cardinal
    gdd = np.clip(temp, tbase, tmax) - tbase
    cum = np.cumsum(gdd)
    stages = np.array([50.0, 150.0, 260.0])
    days = np.searchsorted(cum, stages)
    frac = []
    for s, d in zip(stages, days):
        if d >= len(cum):
            frac.append(float(len(cum)))
            continue
        prev = cum[d - 1] if d else 0.0
        frac.append(d + (s - prev) / (cum[d] - prev))
    kc = np.choose(np.digitize(cum, stages), [0.3, 0.7, 1.1, 0.6])
    et = np.dot(kc, 0.0023 * (temp + 17.8))
    return np.diff(frac).sum() + et
