import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from enum import Enum

import numpy as np
from numpy import linalg as LA
from scipy import interpolate, linalg, special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# meteorology: potential temperature, lapse-rate column with enum of phases
class Phase(Enum):
    DRY = 0
    MOIST = 1


CP, RD, LV, G = 1004.0, 287.0, 2.5e6, 9.81


def es(T):
    return 611.2 * np.exp(17.67 * (T - 273.15) / (T - 29.65))


@prog("meteorology", lambda: (np.array([300.0, 0.012]), np.linspace(1e5, 6e4, 9)))
def parcel(state, p):
    T, q = state
    phase = Phase.DRY
    cape = 0.0
    env = 300.0 * (p / p[0]) ** 0.2
    for k in range(len(p) - 1):
        dp = p[k + 1] - p[k]
        if phase is Phase.DRY and q > 0.622 * es(T) / p[k]:
            phase = Phase.MOIST
        rho = p[k] / (RD * T)
        if phase == Phase.DRY:
            dTdp = 1 / (rho * CP)
        else:
            w = 0.622 * es(T) / p[k]
            num = RD * T + LV * w
            den = CP + LV**2 * w * 0.622 / (RD * T**2)
            dTdp = num / den / p[k]
        T = T + dTdp * dp
        cape += max(0.0, (T - env[k + 1]) / env[k + 1]) * -dp / rho
    return cape + T


# battery: equivalent circuit with lookup table interpolation and closures nonlocal
@prog("batteries", lambda: (np.array([0.01, 0.02, 1500.0]), np.array([1.0, 2.0, -1.0, 0.5, 3.0] * 4)))
def battery(theta, current):
    r0, r1, c1 = theta
    soc_grid, ocv_grid = np.linspace(0, 1, 6), np.array([3.0, 3.4, 3.6, 3.7, 3.9, 4.2])
    soc, v1 = 0.8, 0.0

    def step(i, dt=10.0):
        nonlocal soc, v1
        soc -= i * dt / 3600 / 2.5
        tau = r1 * c1
        v1 = v1 * np.exp(-dt / tau) + r1 * (1 - np.exp(-dt / tau)) * i
        return np.interp(soc, soc_grid, ocv_grid) - v1 - r0 * i

    volts = np.fromiter((step(i) for i in current), dtype=float)
    return np.sum((volts - 3.7) ** 2)


# neuroscience: hodgkin-huxley with dict of gates and lambdas
@prog("neuroscience", lambda: (np.array([120.0, 36.0, 0.3]), 10.0), (0, 1))
def hh(g, I):
    rates = {
        "m": (lambda v: 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10)), lambda v: 4 * np.exp(-(v + 65) / 18)),
        "h": (lambda v: 0.07 * np.exp(-(v + 65) / 20), lambda v: 1 / (1 + np.exp(-(v + 35) / 10))),
        "n": (lambda v: 0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10)), lambda v: 0.125 * np.exp(-(v + 65) / 80)),
    }
    V = -65.0
    gates = {k: a(V) / (a(V) + b(V)) for k, (a, b) in rates.items()}
    trace = [V]
    for _ in range(40):
        for k, (a, b) in rates.items():
            gates[k] += 0.02 * (a(V) * (1 - gates[k]) - b(V) * gates[k])
        ina = g[0] * gates["m"] ** 3 * gates["h"] * (V - 50)
        ik = g[1] * gates["n"] ** 4 * (V + 77)
        V += 0.02 * (I - ina - ik - g[2] * (V + 54.4))
        trace.append(V)
    return np.mean(trace) + max(trace)


# fluid: SIMPLE-like 1D shock tube with Roe/HLL flux, tuple-of-arrays state
def prim(U, gamma=1.4):
    rho, mom, E = U
    u = mom / rho
    return rho, u, (gamma - 1) * (E - 0.5 * rho * u**2)


def flux(U):
    rho, u, p = prim(U)
    return np.array([rho * u, rho * u**2 + p, u * (U[2] + p)])


@prog("gas dynamics", lambda: (np.array([1.0, 0.125]), np.array([1.0, 0.1])), (0, 1))
def shock_tube(rho0, p0):
    n, dx, dt = 16, 1 / 16, 0.01
    left = np.arange(n) < n // 2
    rho, p = np.where(left, rho0[0], rho0[1]), np.where(left, *p0)
    U = np.stack([rho, np.zeros(n), p / 0.4])
    for _ in range(6):
        UL, UR = U[:, :-1], U[:, 1:]
        (rl, ul, pl), (rr, ur, pr) = prim(UL), prim(UR)
        al, ar = np.sqrt(1.4 * pl / rl), np.sqrt(1.4 * pr / rr)
        sl, sr = np.minimum(ul - al, ur - ar), np.maximum(ul + al, ur + ar)
        FL, FR = flux(UL), flux(UR)
        F = np.where(sl >= 0, FL, np.where(sr <= 0, FR, (sr * FL - sl * FR + sl * sr * (UR - UL)) / (sr - sl)))
        U[:, 1:-1] -= dt / dx * np.diff(F, axis=1)
    rho, u, p = prim(U)
    return np.sum(rho * u**2) + np.trapezoid(p, dx=dx)


# geodesy: coordinate transforms and least squares adjustment w/ scipy block_diag
@prog(
    "geodesy",
    lambda: (np.array([0.1, -0.2, 0.3, 1.001]), rng(1).normal(size=(5, 3)), rng(2).normal(size=(5, 3))),
    (0, 1),
)
def helmert(t, src, dst):
    *angles, scale = t
    cx, cy, cz = np.cos(angles)
    sx, sy, sz = np.sin(angles)
    Rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    moved = scale * src @ (Rz @ Ry @ Rx).T
    W = linalg.block_diag(*[np.eye(3) * (i + 1) for i in range(len(src))])
    r = (moved - dst).reshape(-1)
    return r @ W @ r


# NLP/IR: tf-idf cosines with Counter on tokens
@prog("retrieval", lambda: (np.array([1.0, 0.5, 2.0, 1.5, 0.8]),))
def bm25(w):
    docs = ["a b c a", "b c d", "a d e e e", "c"]
    vocab = {t: i for i, t in enumerate(sorted({t for d in docs for t in d.split()}))}
    counts = [Counter(d.split()) for d in docs]
    avg = sum(map(len, (d.split() for d in docs))) / len(docs)
    k1, b = w[0], w[1]
    score = []
    for d, c in zip(docs, counts):
        s = 0.0
        for t in ("a", "c", "e"):
            df = sum(t in c2 for c2 in counts)
            idf = math.log((len(docs) - df + 0.5) / (df + 0.5) + 1)
            tf = c[t]
            s += w[vocab[t]] * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(d.split()) / avg))
        score.append(s)
    p = special.softmax(score)
    return -np.log(p[2])


# optics: ABCD matrices with functools.reduce and operator.matmul
@prog("laser optics", lambda: (np.array([0.1, 0.25, 0.5]), 0.2), (0, 1))
def resonator(d, f):
    free = lambda L: np.array([[1.0, L], [0.0, 1.0]])
    lens = lambda f: np.array([[1.0, 0.0], [-1 / f, 1.0]])
    M = functools.reduce(operator.matmul, itertools.chain.from_iterable((free(x), lens(f)) for x in d))
    A, B, C, D = M.ravel()
    q = 1j * 0.3
    q2 = (A * q + B) / (C * q + D)
    return (1 / q2).real ** 2 - (1 / q2).imag + np.trace(M) / 2


# genetics: Wright-Fisher moments / EM for haplotype freq (while convergence)
@prog("genetics", lambda: (np.array([20.0, 12.0, 9.0, 7.0]),))
def em_abo(n):
    nA, nB, nAB, nO = n
    p, q, r = 0.3, 0.3, 0.4
    N = n.sum()
    it = 0
    while True:
        it += 1
        aa = nA * p**2 / (p**2 + 2 * p * r)
        ao = nA - aa
        bb = nB * q**2 / (q**2 + 2 * q * r)
        bo = nB - bb
        p1, q1 = (2 * aa + ao + nAB) / (2 * N), (2 * bb + bo + nAB) / (2 * N)
        delta = abs(p1 - p) + abs(q1 - q)
        p, q, r = p1, q1, 1 - p1 - q1
        if delta < 1e-14 or it > 500:
            break
    return p * math.log(p) + q * math.log(q) + r * math.log(r)


# acoustics: image source with itertools.product & distance dictionary
@prog("acoustics", lambda: (np.array([4.0, 3.0, 2.5]), 0.8, np.array([1.0, 1.2, 1.1])), (0, 1, 2))
def image_sources(room, beta, src):
    mic = np.array([2.5, 1.5, 1.3])
    energy = 0.0
    for idx in itertools.product((-1, 0, 1), repeat=3):
        idx = np.asarray(idx)
        img = (
            np.where(idx % 2 == 0, src, -src) + 2 * room * (idx + 1) // 2 * 0 + np.abs(idx) * room * np.sign(idx + 0.5)
        )
        d = LA.norm(img - mic)
        energy += beta ** np.abs(idx).sum() / (4 * np.pi * d**2)
    return 10 * np.log10(energy)


# economics: Aiyagari/VFI with argmax and interpolation
@prog("economics", lambda: (np.array([0.95, 2.0]),))
def vfi(par):
    beta, sigma = par
    grid = np.linspace(0.5, 5, 8)
    u = lambda c: (c ** (1 - sigma) - 1) / (1 - sigma)
    V = np.zeros_like(grid)
    for _ in range(15):
        C = 1.03 * grid[:, None] + 1 - grid[None, :]
        val = np.where(C > 0, u(np.maximum(C, 1e-3)), -1e3) + beta * V[None, :]
        V = val.max(axis=1)
        policy = val.argmax(1)
    return V[policy].mean()


# plasma: Grad-Shafranov red-black SOR with slices steps
@prog("plasma", lambda: (np.array([1.0, 0.5]), 1.5), (0, 1))
def sor(source, omega):
    n = 7
    psi = np.zeros((n, n))
    x = np.linspace(0, 1, n)
    S = source[0] * np.sin(np.pi * x)[:, None] * np.sin(np.pi * x) + source[1]
    h2 = (x[1] - x[0]) ** 2
    for it in range(5):
        for color in (0, 1):
            for i in range(1, n - 1):
                j0 = 1 + (i + color) % 2
                res = (
                    psi[i - 1, j0:-1:2]
                    + psi[i + 1, j0:-1:2]
                    + psi[i, j0 - 1 : -2 : 2]
                    + psi[i, j0 + 1 :: 2]
                    + h2 * S[i, j0:-1:2]
                )
                psi[i, j0:-1:2] += omega * (0.25 * res - psi[i, j0:-1:2])
    return psi.sum() + psi[3, 3] ** 2


# materials: phase field FFT semi-implicit
@prog("materials", lambda: (rng(5).normal(size=(8, 8)) * 0.1, 0.5), (0, 1))
def cahn_hilliard(c, kappa):
    k = np.fft.fftfreq(8) * 2 * np.pi
    k2 = k[:, None] ** 2 + k[None] ** 2
    for _ in range(3):
        mu = c**3 - c
        c = np.real(np.fft.ifft2((np.fft.fft2(c) - 0.1 * k2 * np.fft.fft2(mu)) / (1 + 0.1 * kappa * k2**2)))
    return np.mean(c**4) + kappa * np.mean(np.gradient(c, axis=0) ** 2)


# robotics: EKF SLAM tiny with dict of landmarks & np.block
@prog("slam", lambda: (np.array([0.1, 0.2]), np.array([[1.0, 0.5], [1.2, 0.8], [0.9, 1.4]])), (0, 1))
def ekf(noise, obs):
    x, Pm = np.zeros(3), np.eye(3) * 0.1
    landmarks = {0: np.array([2.0, 1.0]), 1: np.array([1.5, 2.0])}
    Q, Rn = np.diag([noise[0], noise[0], noise[1]]), np.eye(2) * noise[1]
    ll = 0.0
    for t, z in enumerate(obs):
        v, w = 0.5, 0.1
        th = x[2]
        x = x + np.array([v * np.cos(th), v * np.sin(th), w])
        F = np.block(
            [[np.eye(2), np.array([[-v * np.sin(th)], [v * np.cos(th)]])], [np.zeros((1, 2)), np.ones((1, 1))]]
        )
        Pm = F @ Pm @ F.T + Q
        lm = landmarks[t % 2]
        d = lm - x[:2]
        r = np.sqrt(d @ d)
        zhat = np.array([r, np.arctan2(d[1], d[0]) - x[2]])
        H = np.array([[-d[0] / r, -d[1] / r, 0], [d[1] / r**2, -d[0] / r**2, -1]])
        S = H @ Pm @ H.T + Rn
        K = Pm @ H.T @ LA.inv(S)
        y = z - zhat
        y[1] = (y[1] + np.pi) % (2 * np.pi) - np.pi
        x = x + K @ y
        Pm = (np.eye(3) - K @ H) @ Pm
        ll -= 0.5 * (y @ LA.solve(S, y) + np.log(LA.det(S)))
    return ll


# ML: decision via try/except and kwargs config, batchnorm training loop w/ momentum dict
@prog(
    "deep learning",
    lambda: (
        {"W1": rng(6).normal(size=(3, 4)) * 0.5, "b1": np.zeros(4), "W2": rng(7).normal(size=(4, 1))},
        rng(8).normal(size=(6, 3)),
    ),
    (0, 1),
)
def train(params, X):
    y = np.sin(X.sum(1, keepdims=True))
    cfg = dict(lr=0.1, momentum=0.9, steps=3)

    def forward(p, X):
        h = X @ p["W1"] + p["b1"]
        h = (h - h.mean(0)) / np.sqrt(h.var(0) + 1e-5)
        a = np.maximum(0.01 * h, h)
        return h, a, a @ p["W2"]

    vel = {k: np.zeros_like(v) for k, v in params.items()}
    p = {k: v.copy() for k, v in params.items()}
    for s in range(cfg["steps"]):
        h, a, out = forward(p, X)
        g = 2 * (out - y) / len(X)
        grads = {
            "W2": a.T @ g,
            "b1": ((g @ p["W2"].T) * np.where(h > 0, 1, 0.01)).sum(0),
            "W1": X.T @ ((g @ p["W2"].T) * np.where(h > 0, 1, 0.01)),
        }
        for k in p:
            vel[k] = cfg["momentum"] * vel[k] - cfg["lr"] * grads[k]
            p[k] += vel[k]
    *_, out = forward(p, X)
    return float(((out - y) ** 2).mean())


# survival analysis: cox partial likelihood, sorting & cumulative logsumexp
@prog("survival", lambda: (np.array([0.5, -0.3]), rng(9).normal(size=(8, 2)), rng(10).exponential(size=8)))
def cox(beta, X, t):
    event = np.array([1, 0, 1, 1, 0, 1, 1, 1], bool)
    order = np.argsort(-t)
    eta = (X @ beta)[order]
    lse = np.logaddexp.accumulate(eta)
    return -np.sum((eta - lse)[event[order]])


# sampling: HMC leapfrog with an explicit gradient and accept masks
@prog("mcmc", lambda: (np.array([0.5, -0.2]), 0.1), (0, 1))
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


# geometry: polygon clipping (Sutherland-Hodgman) with list of points
@prog("geometry", lambda: (np.array([[0.0, 0], [2, 0.3], [1.7, 2], [-0.2, 1.5]]),))
def clip_area(poly):
    clip = [(1, 0, 1.5), (0, 1, 1.4), (-1, 0, 0.1), (0, -1, 0.05)]
    pts = [tuple(p) for p in poly]
    for a, b, c in clip:
        out = []
        prev = pts[-1]
        for cur in pts:
            dc, dp = c - a * cur[0] - b * cur[1], c - a * prev[0] - b * prev[1]
            if (dc >= 0) != (dp >= 0):
                t = dp / (dp - dc)
                out.append((prev[0] + t * (cur[0] - prev[0]), prev[1] + t * (cur[1] - prev[1])))
            if dc >= 0:
                out.append(cur)
            prev = cur
        pts = out
    x, y = zip(*pts)
    x, y = np.array(x), np.array(y)
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


# sports/ratings: elo with defaultdict and tuples list
@prog("ratings", lambda: (np.array([32.0, 400.0]),))
def elo(par):
    k, s = par
    rating = defaultdict(lambda: 1500.0)
    games = [("ann", "bob", 1.0), ("bob", "cat", 0.5), ("cat", "ann", 0.0), ("ann", "bob", 0.0)]
    loss = 0.0
    for a, b, r in games:
        e = 1 / (1 + 10 ** ((rating[b] - rating[a]) / s))
        loss -= r * np.log(e) + (1 - r) * np.log(1 - e)
        rating[a] += k * (r - e)
        rating[b] -= k * (r - e)
    top = max(rating, key=rating.get)
    return loss + rating[top] / 1000


# spline fit: scipy make_interp / CubicSpline & quad via fixed_quad nodes
@prog("metrology", lambda: (np.array([0.0, 0.8, 0.9, 0.1, -0.8]),))
def spline_energy(y):
    x = np.arange(5.0)
    cs = interpolate.CubicSpline(x, y, bc_type="natural")
    nodes, w = np.polynomial.legendre.leggauss(6)
    t = 2 + 2 * nodes
    return 2 * np.sum(w * cs(t, 2) ** 2) + cs(1.5)


# kernels: sparse graph pagerank with power iteration via scipy sparse
@prog("networks", lambda: (np.array([0.85]), np.array([1.0, 2.0, 0.5, 1.0, 1.5])), (0, 1))
def pagerank(d, w):
    rows, cols = np.array([0, 1, 2, 2, 3]), np.array([1, 2, 0, 3, 0])
    A = np.zeros((4, 4))
    np.add.at(A, (cols, rows), w)
    A = A / A.sum(axis=0)
    r = np.full(4, 0.25)
    for _ in range(30):
        r = d[0] * A @ r + (1 - d[0]) / 4
    return -(r * np.log(r)).sum()
