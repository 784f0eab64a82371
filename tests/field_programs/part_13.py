import collections
import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.special as sp
from numba import njit
from scipy import linalg, stats
from scipy.interpolate import CubicSpline

from tests.field_programs import collection

PROGRAMS, prog = collection()


rng = lambda s=0: np.random.default_rng(s)


# hydrology: Muskingum routing + unit hydrograph + NSE
@prog("hydrology", lambda: (np.array([2.1, 0.2]), np.abs(rng(1).normal(10, 4, 30)), np.abs(rng(2).normal(9, 3, 30))))
def muskingum_nse(p, inflow, observed):
    K, X = p
    dt = 1.0
    denom = 2 * K * (1 - X) + dt
    c0, c1, c2 = (dt - 2 * K * X) / denom, (dt + 2 * K * X) / denom, (2 * K * (1 - X) - dt) / denom
    out = np.zeros_like(inflow)
    out[0] = inflow[0]
    for t, (a, b) in enumerate(zip(inflow[:-1], inflow[1:]), start=1):
        out[t] = c0 * b + c1 * a + c2 * out[t - 1]
    resid = observed - out
    return 1 - (resid**2).sum() / ((observed - observed.mean()) ** 2).sum()


# robotics: DH chain
def dh(theta, d, a, alpha):
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1.0]])


@prog("robotics", lambda: (np.array([0.3, -0.4, 0.8, 0.2, 0.1, -0.7]), np.array([0.4, 0.2, 0.9])))
def reach_cost(q, target):
    table = [
        (0.3, 0.0, np.pi / 2),
        (0.0, 0.4, 0.0),
        (0.0, 0.35, 0.0),
        (0.1, 0.0, np.pi / 2),
        (0.1, 0.0, -np.pi / 2),
        (0.05, 0.0, 0.0),
    ]
    T = functools.reduce(np.matmul, (dh(th, *row) for th, row in zip(q, table)))
    p, R = T[:3, 3], T[:3, :3]
    manip = np.linalg.det(R @ np.diag([1.0, 2.0, 3.0]))
    return np.linalg.norm(p - target) ** 2 + 1e-2 * np.trace(R) + 1e-3 * manip + 0.01 * q @ q


# astronomy: Kepler
@prog("astronomy", lambda: (np.array([12.0, 3.1, 0.3, 0.7, 1.1]), np.linspace(0, 20, 25), rng(3).normal(0, 5, 25)))
def rv_chi2(theta, t, v):
    K, P, e, w, t0 = theta
    M = 2 * np.pi * (t - t0) / P
    E = M + e * np.sin(M)
    for _ in range(8):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    model = K * (np.cos(nu + w) + e * np.cos(w))
    return np.sum(((v - model) / 2.5) ** 2) - 2 * np.log(K)


# finance: Heston characteristic function by quadrature
def heston_cf(u, tau, kappa, theta, sigma, rho, v0):
    d = np.sqrt((rho * sigma * u * 1j - kappa) ** 2 + sigma**2 * (u * 1j + u**2))
    g = (kappa - rho * sigma * u * 1j - d) / (kappa - rho * sigma * u * 1j + d)
    C = (
        kappa
        * theta
        / sigma**2
        * ((kappa - rho * sigma * u * 1j - d) * tau - 2 * np.log((1 - g * np.exp(-d * tau)) / (1 - g)))
    )
    D = (kappa - rho * sigma * u * 1j - d) / sigma**2 * ((1 - np.exp(-d * tau)) / (1 - g * np.exp(-d * tau)))
    return np.exp(C + D * v0)


@prog("finance", lambda: (np.array([1.5, 0.04, 0.5, -0.6, 0.05]), 1.02))
def heston_price(p, strike):
    u = np.linspace(1e-3, 40, 200)
    k = math.log(strike)
    phi = heston_cf(u - 0.5j, 1.0, *p)
    integrand = (np.exp(-1j * u * k) * phi / (u**2 + 0.25)).real
    return 1 - math.sqrt(strike) / np.pi * np.trapezoid(integrand, u)


# optics: transfer matrix multilayer
@prog("optics", lambda: (np.array([0.1, 0.06, 0.12, 0.08]), np.array([1.38, 2.3, 1.46, 2.1])), (0, 1))
def reflectance(thickness, index):
    total = 0.0
    for lam in (0.45, 0.55, 0.65):
        M = np.eye(2, dtype=complex)
        for n, d in zip(index, thickness):
            delta = 2 * np.pi * n * d / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        n0, ns = 1.0, 1.52
        B = M @ np.array([1.0, ns])
        r = (n0 * B[0] - B[1]) / (n0 * B[0] + B[1])
        total += abs(r) ** 2
    return total / 3


# econometrics: Kalman filter loglik
@prog("econometrics", lambda: (np.array([-0.5, 0.2, 0.9]), rng(4).normal(size=40).cumsum()))
def local_trend_loglik(theta, y):
    q1, q2 = np.exp(theta[:2])
    phi = np.tanh(theta[2])
    F = np.array([[1.0, 1.0], [0.0, phi]])
    H = np.array([[1.0, 0.0]])
    Q = np.diag([q1, q2])
    x, P = np.zeros(2), 10 * np.eye(2)
    ll = 0.0
    for yt in y:
        x = F @ x
        P = F @ P @ F.T + Q
        S = (H @ P @ H.T)[0, 0] + 1.0
        K = (P @ H.T / S)[:, 0]
        innov = yt - x[0]
        ll += -0.5 * (np.log(2 * np.pi * S) + innov**2 / S)
        x = x + K * innov
        P = P - np.outer(K, H @ P)
    return ll


# genetics: HMM forward in log space
@prog("genetics", lambda: (rng(5).normal(size=(3, 3)), rng(6).normal(size=(3, 4)), rng(7).integers(0, 4, 25)), (0, 1))
def hmm_loglik(A, B, obs):
    logA = A - sp.logsumexp(A, axis=1, keepdims=True)
    logB = B - sp.logsumexp(B, axis=1)[:, None]
    alpha = np.full(3, -np.log(3)) + logB[:, obs[0]]
    for o in obs[1:]:
        alpha = sp.logsumexp(alpha[:, None] + logA, axis=0) + logB[:, o]
    return sp.logsumexp(alpha)


# neuroscience: Hodgkin-Huxley with dataclass
@dataclass
class HH:
    gNa: float
    gK: float
    gL: float
    C: float = 1.0

    def rates(self, V):
        am = 0.1 * (V + 40) / (1 - np.exp(-(V + 40) / 10))
        bm = 4 * np.exp(-(V + 65) / 18)
        ah = 0.07 * np.exp(-(V + 65) / 20)
        bh = 1 / (1 + np.exp(-(V + 35) / 10))
        an = 0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10))
        bn = 0.125 * np.exp(-(V + 65) / 80)
        return am, bm, ah, bh, an, bn

    def step(self, s, I, dt):
        V, m, h, n = s
        am, bm, ah, bh, an, bn = self.rates(V)
        dV = (I - self.gNa * m**3 * h * (V - 50) - self.gK * n**4 * (V + 77) - self.gL * (V + 54.4)) / self.C
        return np.array(
            [
                V + dt * dV,
                m + dt * (am * (1 - m) - bm * m),
                h + dt * (ah * (1 - h) - bh * h),
                n + dt * (an * (1 - n) - bn * n),
            ]
        )


@prog("neuroscience", lambda: (np.array([120.0, 36.0, 0.3]), 10.0), (0, 1))
def hh_energy(g, current):
    cell = HH(*g)
    s = np.array([-65.0, 0.05, 0.6, 0.32])
    trace = [s[0]]
    for k in range(200):
        s = cell.step(s, current if k > 20 else 0.0, 0.02)
        trace.append(s[0])
    v = np.array(trace)
    return np.mean((v + 60) ** 2) / 100 + v.max() / 50


# power systems
@prog(
    "power systems",
    lambda: (np.array([0.02, -0.05, -0.08]), np.array([1.01, 0.98, 0.99]), np.array([0.5, -0.6, -0.4])),
    (0, 1),
)
def power_mismatch(theta, vm, pspec):
    n = 4
    Y = np.zeros((n, n), dtype=np.complex128)
    for i, j, r, x in [(0, 1, 0.02, 0.1), (1, 2, 0.03, 0.12), (2, 3, 0.01, 0.08), (0, 3, 0.02, 0.15)]:
        y = 1 / complex(r, x)
        Y[i, j] -= y
        Y[j, i] -= y
        Y[i, i] += y
        Y[j, j] += y
    V = np.concatenate(([1.0], vm)) * np.exp(1j * np.concatenate(([0.0], theta)))
    S = V * np.conj(Y @ V)
    return np.sum((S.real[1:] - pspec) ** 2) + 0.1 * np.sum(S.imag**2)


# 4D-Var Lorenz96
def l96(x, F):
    return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + F


@prog("4d-var lorenz96", lambda: (rng(8).normal(size=12) + 4, rng(9).normal(size=(5, 12)) + 4, 8.0), (0, 2))
def fourdvar(x0, obs, F):
    x, cost, dt = x0, 0.0, 0.02
    for k in range(5):
        for _ in range(4):
            k1 = l96(x, F)
            k2 = l96(x + dt / 2 * k1, F)
            k3 = l96(x + dt / 2 * k2, F)
            k4 = l96(x + dt * k3, F)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        cost += 0.5 * np.sum((x[::2] - obs[k, ::2]) ** 2)
    return cost + 0.05 * np.sum((x0 - 4) ** 2)


# truss FEM
@prog(
    "truss fem",
    lambda: (np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.3]), np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])),
    (0, 1),
)
def truss_compliance(area, nodes):
    bars = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
    K = np.zeros((8, 8))
    for e, (i, j) in enumerate(bars):
        d = nodes[j] - nodes[i]
        L = np.hypot(*d)
        c = d / L
        k = 100 * area[e] / L * np.outer(c, c)
        dof = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dof, dof)] += np.block([[k, -k], [-k, k]])
    free = [2, 4, 5, 7]
    f = np.array([0.0, 1.0, -1.0, 0.5])
    u = np.linalg.solve(K[np.ix_(free, free)], f)
    return f @ u


# vision: reprojection
def rodrigues(r):
    th = np.linalg.norm(r)
    k = r / th
    Kx = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(th) * Kx + (1 - np.cos(th)) * Kx @ Kx


@prog(
    "vision",
    lambda: (
        np.array([0.1, -0.2, 0.3]),
        np.array([0.1, 0.2, 4.0]),
        rng(10).normal(size=(7, 3)),
        rng(11).normal(size=(7, 2)) * 50 + 320,
    ),
    (0, 1, 2),
)
def reprojection(r, t, X, uv):
    Xc = X @ rodrigues(r).T + t
    xy = Xc[:, :2] / Xc[:, 2:]
    r2 = (xy**2).sum(axis=1, keepdims=True)
    dist = xy * (1 + 0.1 * r2 - 0.05 * r2**2)
    pix = 500 * dist + np.array([320, 240])
    e = pix - uv
    huber = np.where(np.abs(e) < 30, 0.5 * e**2, 30 * (np.abs(e) - 15))
    return huber.sum() / 1e4


# psychometrics IRT
@prog(
    "psychometrics irt",
    lambda: (
        rng(12).normal(size=6),
        np.abs(rng(13).normal(1, 0.2, 5)),
        rng(14).normal(size=5),
        rng(15).integers(0, 2, (6, 5)),
    ),
    (0, 1, 2),
)
def irt_loglik(ability, disc, diff, y):
    z = disc * (ability[:, None] - diff)
    p = 0.15 + 0.85 * sp.expit(z)
    ll = np.where(y == 1, np.log(p), np.log1p(-p)).sum()
    return ll + stats.norm.logpdf(ability).sum() + stats.lognorm.logpdf(disc, s=0.5).sum()


# queueing: Erlang B recursion
def erlang_b(servers, load):
    if servers == 0:
        return 1.0
    b = erlang_b(servers - 1, load)
    return load * b / (servers + load * b)


@prog("queueing", lambda: (np.array([3.0, 4.5, 2.0]), np.array([5, 6, 3])))
def staffing_cost(load, servers):
    total = 0.0
    for a, c in zip(load, servers):
        b = erlang_b(c, a)
        wait = b / (1 - a / c * (1 - b))
        total += 10 * wait + c
    return total


# plasma: PIC deposit and field solve
@njit
def deposit(x, w, n):
    rho = np.zeros(n)
    for k in range(x.size):
        i = int(np.floor(x[k]))
        f = x[k] - i
        rho[i % n] += w * (1 - f)
        rho[(i + 1) % n] += w * f
    return rho


@prog("plasma", lambda: (rng(16).uniform(0, 16, 20), rng(17).normal(size=20) * 0.1), (0, 1))
def pic_energy(x, v):
    n = 16
    for step in range(3):
        rho = deposit(x, 1.0, n) - 20 / 16
        k = 2 * np.pi * np.fft.fftfreq(n)
        k[0] = 1.0
        phik = np.fft.fft(rho) / k**2
        phik[0] = 0
        E = np.real(np.fft.ifft(-1j * k * phik))
        i = np.floor(x).astype(int)
        f = x - i
        Ex = (1 - f) * E[i % n] + f * E[(i + 1) % n]
        v = v - 0.1 * Ex
        x = (x + 0.1 * v) % n
    return 0.5 * np.sum(v**2) + np.sum(E**2)


# chemistry: reaction network with dicts
@prog("chemistry", lambda: ({"k1": 1.2, "k2": 0.4, "k3": 0.7}, np.array([1.0, 0.5, 0.0, 0.0])), (0, 1))
def batch_reactor(rates, c0):
    reactions = [("k1", (0, 1), (2,)), ("k2", (2,), (0, 1)), ("k3", (2, 2), (3,))]
    c = c0.copy()
    for _ in range(50):
        dc = np.zeros_like(c)
        for name, reac, prod in reactions:
            r = rates[name] * np.prod([c[s] for s in reac])
            for s in reac:
                dc[s] -= r
            for s in prod:
                dc[s] += r
        c += 0.02 * dc
    return c[3] / (c[:3].sum() + 1e-9)


# GP
@prog("gp", lambda: (np.array([0.1, -0.2, -1.0]), np.sort(rng(18).uniform(0, 5, 12)), rng(19).normal(size=12)))
def gp_nll(logp, x, y):
    ell, sf, sn = np.exp(logp)
    D = np.abs(np.subtract.outer(x, x))
    K = sf**2 * (1 + np.sqrt(3) * D / ell) * np.exp(-np.sqrt(3) * D / ell) + sn**2 * np.eye(len(x))
    L, low = linalg.cho_factor(K, lower=True)
    a = linalg.cho_solve((L, low), y)
    return 0.5 * y @ a + np.log(np.diag(L)).sum() + 0.5 * len(x) * np.log(2 * np.pi)


# geodesy: Vincenty with break
@prog("geodesy", lambda: (np.array([0.7, -0.2, 0.9, 1.1]),))
def vincenty(p):
    lat1, lon1, lat2, lon2 = p
    a, f = 6378.137, 1 / 298.257
    b = (1 - f) * a
    U1, U2 = math.atan((1 - f) * math.tan(lat1)), math.atan((1 - f) * math.tan(lat2))
    L = lam = lon2 - lon1
    for _ in range(100):
        sl, cl = math.sin(lam), math.cos(lam)
        ss = math.sqrt((math.cos(U2) * sl) ** 2 + (math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * cl) ** 2)
        cs = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * cl
        s = math.atan2(ss, cs)
        sa = math.cos(U1) * math.cos(U2) * sl / ss
        c2a = 1 - sa**2
        c2m = cs - 2 * math.sin(U1) * math.sin(U2) / c2a if c2a else 0.0
        C = f / 16 * c2a * (4 + f * (4 - 3 * c2a))
        prev, lam = lam, L + (1 - C) * f * sa * (s + C * ss * (c2m + C * cs * (-1 + 2 * c2m**2)))
        if abs(lam - prev) < 1e-13:
            break
    u2 = c2a * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    return b * A * s


# MD with neighbor dict
@prog("md", lambda: (rng(20).uniform(0, 3, (8, 3)), {"A": 1.0, "B": 0.8}), (0, 1))
def lj_mixture(pos, eps):
    kinds = "AABABBAB"
    box = 3.2
    cells = collections.defaultdict(list)
    for i in range(len(pos)):
        cells[int(pos[i, 0] // 1.7)].append(i)
    e = 0.0
    for (i, a), (j, b) in itertools.combinations(enumerate(kinds), 2):
        d = pos[i] - pos[j]
        d -= box * np.round(d / box)
        r2 = max(d @ d, 0.64)
        s6 = (0.9 / r2) ** 3
        e += 4 * math.sqrt(eps[a] * eps[b]) * (s6 * s6 - s6)
    return e / 100


# actuarial with cumulative products
@prog("actuarial", lambda: (np.array([1e-4, 0.09, 0.03]),))
def annuity(p):
    A, B, i = p
    age = np.arange(60, 110)
    mu = A + 0.0002 * np.exp(B * (age - 20))
    survive = np.cumprod(np.exp(-mu))
    disc = (1 + i) ** -np.arange(1.0, len(age) + 1)
    ax = np.sum(survive * disc)
    Ax = np.dot(disc, -np.diff(np.insert(survive, 0, 1.0)))
    return ax + 3 * Ax


# spline fitting
@prog("spline fitting", lambda: (np.array([0.1, 0.8, 0.3, -0.2, 0.5]), np.linspace(0.1, 3.8, 15)))
def spline_bend(y, q):
    cs = CubicSpline(np.arange(5.0), y, bc_type="natural")
    return np.sum(np.sin(cs(q)) ** 2) + 0.1 * np.sum(cs(q, 2) ** 2)


# audio: biquad filter cascade
@prog("audio", lambda: (np.array([1000.0, 0.7, 3.0]), rng(21).normal(size=64)), (0, 1))
def eq_energy(p, x):
    f0, Q, gain = p
    A = 10 ** (gain / 40)
    w0 = 2 * np.pi * f0 / 44100
    al = np.sin(w0) / (2 * Q)
    b = np.array([1 + al * A, -2 * np.cos(w0), 1 - al * A])
    a = np.array([1 + al / A, -2 * np.cos(w0), 1 - al / A])
    b, a = b / a[0], a / a[0]
    y = np.empty_like(x)
    z1 = z2 = 0.0
    for n, s in enumerate(x):
        o = b[0] * s + z1
        z1 = b[1] * s - a[1] * o + z2
        z2 = b[2] * s - a[2] * o
        y[n] = o
    spec = np.abs(np.fft.rfft(y * np.hanning(len(y))))
    return np.log10(np.sum(spec**2)) + np.percentile(y, 75)


# glaciology
@prog("glaciology", lambda: (np.linspace(200, 20, 20), 1e-3), (0, 1))
def glacier_volume(H, smb):
    bed = np.linspace(1500, 1000, 20)
    dx = 100.0
    for _ in range(10):
        s = H + bed
        grad = (s[1:] - s[:-1]) / dx
        Hm = 0.5 * (H[1:] + H[:-1])
        D = 1e-7 * Hm**5 * np.abs(grad) ** 2
        q = -D * grad
        div = np.diff(np.concatenate(([0.0], q, [0.0]))) / dx
        H = np.maximum(H - 0.05 * div + smb * (s - 1200), 0.0)
    return H.sum() * dx / 1e4


# recursive FFT-free: quadtree Barnes-Hut potential
class Cell:
    __slots__ = ("mass", "cx", "cy", "kids")

    def __init__(self, mass, cx, cy, kids):
        self.mass, self.cx, self.cy, self.kids = mass, cx, cy, kids


def build(x, y, m, idx, depth):
    M = m[idx].sum()
    cx, cy = (m[idx] * x[idx]).sum() / M, (m[idx] * y[idx]).sum() / M
    if depth == 0 or len(idx) == 1:
        return Cell(M, cx, cy, ())
    half = len(idx) // 2
    return Cell(M, cx, cy, (build(x, y, m, idx[:half], depth - 1), build(x, y, m, idx[half:], depth - 1)))


def potential(c, px, py):
    if not c.kids:
        return -c.mass / math.sqrt((px - c.cx) ** 2 + (py - c.cy) ** 2 + 0.01)
    return sum(potential(k, px, py) for k in c.kids)


@prog(
    "recursive fft-free",
    lambda: (rng(22).normal(size=8), rng(23).normal(size=8), np.abs(rng(24).normal(size=8)) + 0.5),
    (0, 1, 2),
)
def tree_potential(x, y, m):
    root = build(x, y, m, np.arange(8), 2)
    return potential(root, 0.3, -0.2) + potential(root, -1.0, 0.5)


# ecology with while and random thinning (fixed seeds)
@prog("ecology", lambda: (np.array([0.8, 0.02, 0.5, 0.01]), np.array([30.0, 8.0])), (0, 1))
def predator_prey_cost(p, s0):
    np.random.seed(4)
    prey, pred = s0
    t, h, history = 0.0, 0.05, []
    while t < 5.0:
        noise = 1 + 0.01 * np.random.normal()
        dprey = p[0] * prey - p[1] * prey * pred
        dpred = -p[2] * pred + p[3] * prey * pred
        prey, pred = max(prey + h * dprey * noise, 1e-3), max(pred + h * dpred, 1e-3)
        history.append((prey, pred))
        t += h
    H = np.asarray(history)
    return np.std(np.log(H[:, 0])) + np.median(H[:, 1]) / 10


# NMR Bloch with expm
@prog("nmr bloch", lambda: (np.array([1.2, 0.3]), np.array([0.5, 0.2, 0.9])), (0, 1))
def bloch_signal(T, w):
    T1, T2 = T
    total = 0.0
    for off in w:
        B = np.array([[-1 / T2, off, 0.0], [-off, -1 / T2, 1.0], [0.0, -1.0, -1 / T1]])
        m = linalg.expm(B * 0.5) @ np.array([0.0, 0.0, 1.0])
        total += m[0] ** 2 + m[1] ** 2 + 0.1 * m[-1]
    return total


# statistics: mixture by broadcasting with named tuple
Mix = collections.namedtuple("Mix", "logits mu logsig")


@prog(
    "statistics",
    lambda: (
        Mix(np.array([0.1, 0.2, -0.3]), np.array([-1.0, 0.0, 2.0]), np.array([0.0, -0.3, 0.2])),
        rng(25).normal(size=30),
    ),
    (0,),
)
def mixture_nll(m, x):
    logw = sp.log_softmax(m.logits)
    comp = stats.norm.logpdf(x[:, np.newaxis], m.mu, np.exp(m.logsig))
    return -np.mean(sp.logsumexp(comp + logw, axis=-1))
