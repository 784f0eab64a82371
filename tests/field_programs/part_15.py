import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from scipy import integrate, linalg, special

from tests.field_programs import collection

PROGRAMS, prog = collection()


rng = lambda s=0: np.random.default_rng(s)


# climate: two-box energy balance with named tuple params and optional volcanic forcing
class Params(NamedTuple):
    lam: float
    cap: np.ndarray
    gamma: float


@prog(
    "climate",
    lambda: (Params(1.1, np.array([8.0, 100.0]), 0.7), rng(1).normal(2, 0.5, 40), rng(2).normal(1, 0.3, 40)),
    (0, 1),
)
def ebm_misfit(p, forcing, obs, volcano: Optional[np.ndarray] = None):
    T = np.zeros(2)
    out = []
    for t, F in enumerate(forcing):
        if volcano is not None:
            F = F - volcano[t]
        flux = p.gamma * (T[0] - T[1])
        dT = np.array([F - p.lam * T[0] - flux, flux]) / p.cap
        T = T + dT
        out.append(T[0])
    r = np.asarray(out) - obs
    return float(r @ r) / len(obs)


# transport: user equilibrium BPR with logit assignment
@prog("transport", lambda: (np.array([10.0, 12.0, 8.0]), 0.4), (0, 1))
def logit_assignment(cap, theta):
    free = np.array([5.0, 7.0, 6.0])
    flow = np.full(3, 10.0)
    for k in range(1, 30):
        cost = free * (1 + 0.15 * (flow / cap) ** 4)
        p = np.exp(-theta * (cost - cost.min()))
        p /= p.sum()
        flow += (30 * p - flow) / (k + 1)
    cost = free * (1 + 0.15 * (flow / cap) ** 4)
    return (flow * cost).sum()


# biology: gene circuit ODE solved by own rk4, measured by interp
def rk4(f, y, t, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, y + h / 2 * k1, *args)
    k3 = f(t + h / 2, y + h / 2 * k2, *args)
    k4 = f(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def repressilator(t, y, alpha, n):
    m, p = y[:3], y[3:]
    dm = -m + alpha / (1 + np.roll(p, 1) ** n) + 0.1
    dp = -2 * (p - m)
    return np.concatenate([dm, dp])


@prog("biology", lambda: (12.0, 2.1, np.array([1.0, 0.5, 2.0, 0.1, 0.2, 0.3])), (0, 1, 2))
def circuit_fit(alpha, n, y0):
    ts = np.linspace(0, 5, 51)
    ys = [y0]
    for a, b in zip(ts, ts[1:]):
        ys.append(rk4(repressilator, ys[-1], a, b - a, alpha, n))
    Y = np.stack(ys)
    sampled = np.interp([0.33, 1.7, 2.9, 4.4], ts, Y[:, 3])
    return np.sum((sampled - 1.0) ** 2) + Y[-1].max()


# physics: Ising mean field & partition by enumeration
@prog("physics", lambda: (rng(3).normal(size=(4, 4)), rng(4).normal(size=4)), (0, 1))
def ising_free_energy(J, h):
    Js = (J + J.T) / 2
    energies = []
    for s in itertools.product((-1, 1), repeat=4):
        s = np.array(s)
        energies.append(-0.5 * s @ Js @ s - h @ s)
    return -special.logsumexp(-np.array(energies))


# ML: tiny transformer block dict params
def layer_norm(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return g * (x - mu) / np.sqrt(var + eps) + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def mk():
    r = rng(5)
    d, h = 8, 2
    P = {
        "wqkv": r.normal(size=(d, 3 * d)) * 0.3,
        "wo": r.normal(size=(d, d)) * 0.3,
        "w1": r.normal(size=(d, 16)) * 0.3,
        "w2": r.normal(size=(16, d)) * 0.3,
        "g": np.ones(d),
        "b": np.zeros(d),
    }
    return P, r.normal(size=(5, d))


@prog("ml", mk, (0, 1))
def transformer_loss(P, x, heads=2):
    n, d = x.shape
    h = layer_norm(x, P["g"], P["b"])
    q, k, v = np.split(h @ P["wqkv"], 3, axis=-1)
    q, k, v = (z.reshape(n, heads, -1).transpose(1, 0, 2) for z in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    scores = np.where(np.tril(np.ones((n, n), dtype=bool)), scores, -1e9)
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    y = (w @ v).transpose(1, 0, 2).reshape(n, d) @ P["wo"]
    x = x + y
    x = x + gelu(layer_norm(x, P["g"], P["b"]) @ P["w1"]) @ P["w2"]
    return np.mean((x[1:] - x[:-1]) ** 2)


# seismology: Zoeppritz-ish + ricker convolution
@prog("seismology", lambda: (np.array([2.0, 2.4, 2.2, 2.9]), np.array([2.1, 2.2, 2.15, 2.4])), (0, 1))
def synthetic_misfit(vp, rho):
    imp = vp * rho
    rc = (imp[1:] - imp[:-1]) / (imp[1:] + imp[:-1])
    t = np.arange(-20, 21) * 0.004
    f = 25.0
    ricker = (1 - 2 * (np.pi * f * t) ** 2) * np.exp(-((np.pi * f * t) ** 2))
    refl = np.zeros(60)
    tt = np.cumsum(0.05 / vp[:-1])
    for r, tau in zip(rc, tt):
        k = int(tau / 0.004)
        w = tau / 0.004 - k
        refl[k] += r * (1 - w)
        refl[k + 1] += r * w
    trace = np.convolve(refl, ricker, mode="same")
    return np.sum(trace**2) * 100 + trace[20]


# control: iLQR backward pass
@prog("control", lambda: (np.array([[1.0, 0.1], [0, 0.95]]), np.array([[0.0], [0.1]]), np.array([1.0, 0.1])), (0, 1, 2))
def lqr_cost(A, B, q):
    Q, R = np.diag(q), np.array([[0.05]])
    P = Q
    gains = []
    for _ in range(20):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    x = np.array([1.0, -0.5])
    J = 0.0
    for K in gains[::-1]:
        u = -K @ x
        J += x @ Q @ x + (u @ R @ u)
        x = A @ x + B @ u
    return J + np.linalg.norm(x)


# survival: Cox partial likelihood
@prog(
    "survival",
    lambda: (
        np.array([0.3, -0.2]),
        rng(6).normal(size=(12, 2)),
        rng(7).exponential(size=12),
        rng(8).integers(0, 2, 12),
    ),
    (0, 1),
)
def cox_partial(beta, X, time, event):
    order = np.argsort(-time)
    eta = X[order] @ beta
    risk = np.log(np.cumsum(np.exp(eta)))
    return -np.sum((eta - risk) * event[order]) / event.sum()


# imaging: TV denoise energy, bilinear warp
@prog("imaging", lambda: (rng(9).normal(size=(10, 12)), np.array([0.3, -0.6])), (0, 1))
def warp_energy(img, shift):
    H, W = img.shape
    yy, xx = np.mgrid[0:H, 0:W]
    ys, xs = np.clip(yy + shift[0], 0, H - 1.001), np.clip(xx + shift[1], 0, W - 1.001)
    y0, x0 = np.floor(ys).astype(int), np.floor(xs).astype(int)
    fy, fx = ys - y0, xs - x0
    warped = (
        img[y0, x0] * (1 - fy) * (1 - fx)
        + img[y0, x0 + 1] * (1 - fy) * fx
        + img[y0 + 1, x0] * fy * (1 - fx)
        + img[y0 + 1, x0 + 1] * fy * fx
    )
    gx, gy = np.gradient(warped)
    return np.sqrt(gx**2 + gy**2 + 1e-2).sum() + 0.1 * np.sum((warped - img) ** 2)


# quantum: time evolution of spin chain with kron
sx = np.array([[0, 1], [1, 0]], dtype=complex)
sy = np.array([[0, -1j], [1j, 0]])
sz = np.diag([1.0, -1.0]).astype(complex)


@prog("quantum", lambda: (np.array([0.8, 0.3]), 0.5), (0, 1))
def loschmidt(p, t):
    J, h = p
    n = 3
    Hm = np.zeros((8, 8), dtype=complex)
    for i in range(n - 1):
        ops = [np.eye(2)] * n
        ops[i] = sz
        ops[i + 1] = sz
        Hm += J * functools.reduce(np.kron, ops)
    for i in range(n):
        ops = [np.eye(2)] * n
        ops[i] = sx
        Hm += h * functools.reduce(np.kron, ops)
    psi = np.zeros(8, dtype=complex)
    psi[0] = 1
    U = linalg.expm(-1j * Hm * t)
    amp = np.vdot(psi, U @ psi)
    mz = np.real(np.vdot(U @ psi, functools.reduce(np.kron, [sz, np.eye(2), np.eye(2)]) @ (U @ psi)))
    return abs(amp) ** 2 + mz


# economics: value function iteration with interpolation and golden choice grid
@prog("economics", lambda: (np.array([0.95, 2.0, 0.36]),))
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


# chemistry: equilibrium by Newton with dict of species & line search
@dataclass
class Species:
    name: str
    charge: int
    logK: float


@prog("chemistry", lambda: (np.array([-6.3, -10.3]), 1e-3), (0,))
def carbonate_ph(logK, total):
    species = [Species("H2CO3", 0, 0.0), Species("HCO3", -1, logK[0]), Species("CO3", -2, logK[0] + logK[1])]
    pH = 8.0
    for _ in range(40):
        H = 10.0**-pH
        terms = {s.name: 10.0 ** (s.logK - s.charge * pH) for s in species}
        Z = sum(terms.values())
        resid = H - 1e-14 / H + 0.002 + sum(s.charge * total * terms[s.name] / Z for s in species)
        dZ = sum(-s.charge * math.log(10) * terms[s.name] for s in species)
        d = -math.log(10) * (H + 1e-14 / H) + sum(
            s.charge * total * (-s.charge * math.log(10) * terms[s.name] * Z - terms[s.name] * dZ) / Z**2
            for s in species
        )
        step = resid / d
        pH -= max(min(step, 0.5), -0.5)
        if abs(step) < 1e-12:
            break
    return pH


# insurance: bootstrapped chain ladder triangle
@prog("insurance", lambda: (np.cumsum(np.abs(rng(10).normal(100, 10, (5, 5))), axis=1),))
def chain_ladder(tri):
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


# graphics: ray marcher sdf
def sdf(p, r):
    q = np.abs(p) - np.array([0.6, 0.4, 0.3])
    box = np.linalg.norm(np.maximum(q, 0)) + min(max(q[0], max(q[1], q[2])), 0.0)
    return min(box - 0.05, np.sqrt((p**2).sum()) - r) if r < 0.5 else max(box, -(np.linalg.norm(p) - r))


@prog("graphics", lambda: (np.array([0.1, 0.2, -3.0]), 0.4), (0, 1))
def march_depth(origin, r):
    d = np.array([0.05, -0.02, 1.0])
    d = d / np.linalg.norm(d)
    t = 0.0
    hit = None
    for _ in range(60):
        dist = sdf(origin + t * d, r)
        if dist < 1e-10:
            hit = t
            break
        t += dist
        if t > 10:
            break
    return t if hit is None else hit * hit


# sport: elo ratings with history dict
@prog("sport", lambda: (np.array([20.0, 400.0, 30.0]),))
def elo_brier(p):
    K, scale, home = p
    games = [("a", "b", 1), ("b", "c", 0), ("c", "a", 1), ("a", "c", 1), ("b", "a", 0), ("c", "b", 1)]
    rating = {t: 1500.0 for t in "abc"}
    loss = 0.0
    for h, a, res in games:
        pr = 1 / (1 + 10 ** (-(rating[h] + home - rating[a]) / scale))
        loss += (pr - res) ** 2
        delta = K * (res - pr)
        rating[h] += delta
        rating[a] -= delta
    return loss + 1e-4 * max(rating.values())


# astro: isochrone w/ integrate.trapezoid & histogram weights
@prog("astro", lambda: (np.array([2.35, 0.53]), np.linspace(0.1, 5, 50)), (0,))
def imf_mean(p, m):
    a, mc = p
    xi = np.where(m < mc, m ** (-0.5 * a), mc ** (0.5 * a) * m**-a)
    norm = integrate.trapezoid(xi, m)
    cum = integrate.cumulative_trapezoid(xi, m, initial=0) / norm
    med = np.interp(0.5, cum, m)
    return integrate.simpson(m * xi, x=m) / norm + med
