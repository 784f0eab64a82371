import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from numpy.linalg import norm

from tests.field_programs import collection

PROGRAMS, prog = collection()

FloatArray = npt.NDArray[np.float64]


# optics: transfer matrix method with complex
@prog("optics", lambda: (np.array([1.38, 2.3, 1.45]), np.array([0.1, 0.06, 0.12])), (0, 1))
def thin_film(n_layers, d):
    wl = np.linspace(0.4, 0.7, 16)
    n_all = [1.0, *n_layers, 1.52]
    R = np.empty(wl.size)
    for iw, w in enumerate(wl):
        M = np.eye(2, dtype=complex)
        for n, t in zip(n_all[1:-1], d):
            delta = 2 * np.pi * n * t / w
            layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
            M = M @ layer
        B, C = M @ np.array([1.0, n_all[-1]])
        r = (n_all[0] * B - C) / (n_all[0] * B + C)
        R[iw] = abs(r) ** 2
    return R.mean() + R.max()


# electronics: AC circuit with class of components with operator overloading
class Z:
    def __init__(self, val):
        self.val = val

    def __add__(self, other):  # series
        return Z(self.val + other.val)

    def __or__(self, other):  # parallel
        return Z(self.val * other.val / (self.val + other.val))

    def __truediv__(self, other):
        return self.val / other.val


@prog("electronics", lambda: (100.0, 1e-3, 1e-6), (0, 1, 2))
def rlc_bandpass(R, L, C):
    total = 0.0
    for f in np.logspace(3, 5, 20):
        w = 2 * math.pi * f
        tank = Z(1j * w * L) | Z(1 / (1j * w * C))
        H = tank / (Z(R + 0j) + tank)
        total += 20 * np.log10(np.abs(H)) + 0.1 * np.angle(H)
    return total


# networks: pagerank on adjacency w/ power iteration, while
@prog("networks", lambda: (np.random.default_rng(0).uniform(0.1, 1, (8, 8)), 0.85), (0, 1))
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


# OR: Sinkhorn with log domain, logsumexp hand-written
def lse(a: FloatArray, axis: int = -1) -> FloatArray:
    m = a.max(axis=axis, keepdims=True)
    return (m + np.log(np.exp(a - m).sum(axis=axis, keepdims=True))).squeeze(axis)


@prog(
    "or",
    lambda: (np.random.default_rng(1).uniform(size=(5, 2)), np.random.default_rng(2).uniform(size=(7, 2)), 0.1),
    (0, 1, 2),
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


# physics: N-body leapfrog, with __slots__ class
class Body:
    __slots__ = ("m", "x", "v")

    def __init__(self, m, x, v):
        self.m = m
        self.x = np.array(x, dtype=float)
        self.v = np.array(v, dtype=float)

    def kinetic(self):
        return 0.5 * self.m * self.v.dot(self.v)


@prog(
    "physics",
    lambda: (
        np.array([1.0, 0.5, 0.1]),
        np.array([[0, 0], [1.0, 0.1], [0, 2.0]]),
        np.array([[0, 0.1], [0, 1.0], [0.7, 0]]),
    ),
    (0, 1, 2),
)
def three_body(masses, X, V):
    bodies = [Body(m, x, v) for m, x, v in zip(masses, X, V)]

    def accel(b):
        a = np.zeros(2)
        for o in bodies:
            if o is b:
                continue
            r = o.x - b.x
            a += o.m * r / (r @ r + 0.01) ** 1.5
        return a

    dt = 0.02
    for _ in range(20):
        acc = [accel(b) for b in bodies]
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
            b.x += dt * b.v
        acc = [accel(b) for b in bodies]
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
    return sum(b.kinetic() for b in bodies) + norm(bodies[0].x - bodies[1].x)


# ML: MLP with list of layers, activations dictionary of lambdas
ACT = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "softplus": lambda z: np.log1p(np.exp(z))}


def init_mlp():
    r = np.random.default_rng(4)
    sizes = [3, 5, 5, 1]
    return [(r.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]


@prog(
    "ml",
    lambda: (init_mlp(), np.random.default_rng(5).normal(size=(6, 3)), np.random.default_rng(6).normal(size=6)),
    (0, 1),
)
def mlp_loss(params, X, y, acts=("tanh", "softplus"), l2=1e-3):
    h = X
    *hidden, (Wl, bl) = params
    for (W, b), name in zip(hidden, acts):
        h = ACT[name](h @ W + b)
    out = (h @ Wl + bl).ravel()
    reg = sum(np.sum(W**2) for W, _ in params)
    return 0.5 * np.mean(np.square(out - y)) + l2 * reg


# astronomy: kepler solver w/ newton & vectorize
def kepler(M, e):
    E = M if e < 0.8 else math.pi
    for _ in range(50):
        dE = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E -= dE
        if abs(dE) < 1e-14:
            return E
    return E


kepler_v = np.vectorize(kepler)


@prog("astronomy", lambda: (np.array([1.0, 0.3, 0.7, 0.2]),), (0,))
def radial_velocity(p):
    K, e, omega, t0 = p
    t = np.linspace(0, 10, 21)
    M = np.mod(2 * np.pi * (t - t0) / 3.1, 2 * np.pi)
    E = kepler_v(M, e)
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    rv = K * (np.cos(nu + omega) + e * np.cos(omega))
    return np.sum((rv - np.cos(t)) ** 2)


# graphics: ray-sphere shading w/ enum & early return
class Material(Enum):
    DIFFUSE = 0
    MIRROR = 1


@dataclass(frozen=True)
class Sphere:
    center: np.ndarray
    radius: float
    color: np.ndarray
    material: Material = Material.DIFFUSE

    def hit(self, o, d):
        oc = o - self.center
        b = oc @ d
        c = oc @ oc - self.radius**2
        disc = b * b - c
        if disc < 0:
            return None
        t = -b - np.sqrt(disc)
        return t if t > 1e-6 else None


@prog("graphics", lambda: (np.array([0.1, 0.2, 3.0]), 1.1, np.array([0.9, 0.3, 0.2])), (0, 1, 2))
def render(center, radius, color):
    scene = [Sphere(center, radius, color), Sphere(np.array([1.5, 0.0, 4.0]), 0.8, np.array([0.2, 0.4, 0.9]))]
    light = np.array([1.0, 1.0, -1.0]) / np.sqrt(3)
    img = np.zeros((4, 4, 3))
    for r in range(4):
        for c in range(4):
            d = np.array([(c - 1.5) / 3, (r - 1.5) / 3, 1.0])
            d /= np.linalg.norm(d)
            best, best_t = None, np.inf
            for s in scene:
                t = s.hit(np.zeros(3), d)
                if t is not None and t < best_t:
                    best, best_t = s, t
            if best is None:
                img[r, c] = 0.1
            else:
                n = (best_t * d - best.center) / best.radius
                img[r, c] = best.color * max(n @ light, 0.05)
    return (img**2).sum()


# numerics: dual numbers by hand
class Dual:
    def __init__(self, re, eps=0.0):
        self.re = re
        self.eps = eps

    def __add__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re + o.re, self.eps + o.eps)

    __radd__ = __add__

    def __mul__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re * o.re, self.re * o.eps + self.eps * o.re)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.re, -self.eps)

    def __sub__(self, o):
        return self + (-o)

    def __rsub__(self, o):
        return (-self) + o

    def __pow__(self, n):
        return Dual(self.re**n, n * self.re ** (n - 1) * self.eps)

    def sin(self):
        return Dual(np.sin(self.re), np.cos(self.re) * self.eps)


@prog("numerics", lambda: (0.7, 1.3), (0, 1))
def newton_dual(x0, a):
    def f(x):
        return a * x**3 - 2 * x.sin() + 1 - x * 0.5

    x = x0
    for _ in range(4):
        y = f(Dual(x, 1.0))
        x = x - y.re / y.eps
    return x + (1 + Dual(x0, a) * 2 - 3).eps


# biochem: Needleman-Wunsch soft alignment DP (2d dp)
@prog("bio", lambda: (np.random.default_rng(7).normal(size=(5, 6)), -0.5), (0, 1))
def soft_nw(S, gap, T=0.5):
    n, m = S.shape
    D = np.full((n + 1, m + 1), -np.inf)
    D[0, :] = gap * np.arange(m + 1)
    D[:, 0] = gap * np.arange(n + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cand = np.array([D[i - 1, j - 1] + S[i - 1, j - 1], D[i - 1, j] + gap, D[i, j - 1] + gap])
            mx = cand.max()
            D[i, j] = mx + T * np.log(np.sum(np.exp((cand - mx) / T)))
    return D[-1, -1]


# thermodynamics: cubic EOS w/ np.roots
