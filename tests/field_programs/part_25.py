import functools
import itertools
import math
from collections import deque, namedtuple
from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm
from scipy import linalg as sla
from scipy.special import logsumexp

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# 1 glaciology: shallow ice with flux limiter, deque history
@prog("glaciology", lambda: (rng(0).uniform(1, 2, 12), 0.3))
def ice_sheet(h, a):
    dx, dt, n = 1.0, 0.01, 3
    hist = deque(maxlen=4)
    for step in range(15):
        s = np.pad(h, 1, mode="edge")
        slope = np.diff(s) / dx
        hm = 0.5 * (s[1:] + s[:-1])
        D = 2 * a / (n + 2) * hm ** (n + 2) * np.abs(slope) ** (n - 1)
        q = -D * slope
        h = np.maximum(h - dt * np.diff(q) / dx + dt * 0.1, 0.0)
        hist.append(h.copy())
    return np.mean(hist[-1] ** 2) + sum(np.sum(g) for g in hist) * 0.01


# 2 epidemiology: gillespie-free SEIR with age groups, dict state
@prog("epidemiology", lambda: (np.array([0.3, 0.5]), np.array([[1.2, 0.4], [0.4, 0.9]])), (0, 1))
def seir(beta, C):
    state = dict(S=np.array([0.9, 0.8]), E=np.array([0.05, 0.1]), I=np.array([0.05, 0.1]), R=np.zeros(2))

    def rhs(st):
        lam = beta * (C @ st["I"])
        new = lam * st["S"]
        return {"S": -new, "E": new - 0.2 * st["E"], "I": 0.2 * st["E"] - 0.1 * st["I"], "R": 0.1 * st["I"]}

    peak = 0.0
    for _ in range(30):
        k1 = rhs(state)
        k2 = rhs({k: state[k] + 0.5 * k1[k] for k in state})
        state = {k: v + 0.5 * (k1[k] + k2[k]) for k, v in state.items()}
        peak = max(peak, state["I"].sum())
    return peak + state["R"].sum()


# 3 robotics: product of exponentials, list of screws
def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def exp6(S, th):
    w, v = S[:3], S[3:]
    W = skew(w)
    Rm = np.eye(3) + np.sin(th) * W + (1 - np.cos(th)) * W @ W
    G = np.eye(3) * th + (1 - np.cos(th)) * W + (th - np.sin(th)) * (W @ W)
    T = np.eye(4)
    T[:3, :3] = Rm
    T[:3, 3] = G @ v
    return T


@prog("robotics", lambda: (np.array([0.3, -0.5, 0.8]), np.array([0.5, 0.2, 0.4])))
def poe(theta, target):
    screws = [np.array([0, 0, 1, 0, 0, 0.0]), np.array([0, -1, 0, 0, 0, -0.5]), np.array([1, 0, 0, 0, 0.3, 0.0])]
    M = np.eye(4)
    M[0, 3] = 1.0
    T = functools.reduce(np.matmul, [exp6(S, t) for S, t in zip(screws, theta)] + [M])
    return norm(T[:3, 3] - target) ** 2


# 4 finance: American put LSM with polynomial regression
@prog("finance", lambda: (np.array([100.0, 0.2]), rng(3).normal(size=(5, 40))))
def lsm(p, z):
    s0, sig = p
    r, K, dt = 0.05, 105.0, 0.2
    paths = [np.full(z.shape[1], s0)]
    for row in z:
        paths.append(paths[-1] * np.exp((r - sig**2 / 2) * dt + sig * np.sqrt(dt) * row))
    cash = np.maximum(K - paths[-1], 0)
    for S in paths[-2:0:-1]:
        cash = cash * np.exp(-r * dt)
        itm = S < K
        if itm.sum() > 4:
            X = np.vander(S[itm] / K, 3)
            coef, *_ = np.linalg.lstsq(X, cash[itm], rcond=None)
            cont = X @ coef
            ex = K - S[itm]
            cash[itm] = np.where(ex > cont, ex, cash[itm])
    return np.exp(-r * dt) * cash.mean()


# 5 phylogenetics: Felsenstein pruning on newick-like nested tuples
@prog("phylogenetics", lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.25, 0.05]), 0.8), (0, 1))
def felsenstein(bl, kappa):
    tree = (((0, 1), 2), 3)
    tips = [0, 1, 0, 2]
    pi = np.ones(4) / 4
    Q = np.array([[0, 1, kappa, 1], [1, 0, 1, kappa], [kappa, 1, 0, 1], [1, kappa, 1, 0]], dtype=float)
    Q -= np.diag(Q.sum(axis=1))
    counter = itertools.count()

    def partial(node):
        if isinstance(node, tuple):
            L = np.ones(4)
            for child in node:
                Pm = sla.expm(Q * bl[next(counter)])
                L = L * (Pm @ partial(child))
            return L
        e = np.zeros(4)
        e[tips[node]] = 1.0
        return e

    return -np.log(pi @ partial(tree))


# 6 hydrology: GR4J-ish with unit hydrograph lists
@prog("hydrology", lambda: (np.array([300.0, 1.0, 80.0, 1.8]), rng(6).uniform(0, 10, 20), rng(7).uniform(0, 4, 20)))
def gr4j(x, rain, pet):
    x1, x2, x3, x4 = x
    s, r = 0.5 * x1, 0.5 * x3
    n = 3

    def sh(t):
        return 0.0 if t <= 0 else (min(t / x4, 1.0)) ** 2.5

    uh = [sh(i + 1) - sh(i) for i in range(n)]
    q9 = [0.0] * n
    flows = []
    for p, e in zip(rain, pet):
        if p >= e:
            pn = p - e
            ps = x1 * (1 - (s / x1) ** 2) * np.tanh(pn / x1) / (1 + s / x1 * np.tanh(pn / x1))
            s += ps
        else:
            en = e - p
            s -= s * (2 - s / x1) * np.tanh(en / x1) / (1 + (1 - s / x1) * np.tanh(en / x1))
            pn = ps = 0.0
        perc = s * (1 - (1 + (4 / 9 * s / x1) ** 4) ** -0.25)
        s -= perc
        pr = perc + pn - ps
        for i in range(n - 1):
            q9[i] = q9[i + 1] + uh[i] * pr
        q9[-1] = uh[-1] * pr
        f = x2 * (r / x3) ** 3.5
        r = max(0.0, r + q9[0] * 0.9 + f)
        qr = r * (1 - (1 + (r / x3) ** 4) ** -0.25)
        r -= qr
        flows.append(qr + max(0, q9[0] * 0.1 + f))
    return np.sum(np.square(flows))


# 7 NLP: CTC loss forward algorithm in log space
@prog("speech", lambda: (rng(8).normal(size=(6, 4)),))
def ctc(logits):
    labels = [1, 2, 2]
    logp = logits - logsumexp(logits, axis=1, keepdims=True)
    ext = [0]
    for l in labels:
        ext += [l, 0]
    S = len(ext)
    alpha = np.full(S, -np.inf)
    alpha[0] = logp[0, 0]
    alpha[1] = logp[0, ext[1]]
    for t in range(1, len(logp)):
        new = np.full(S, -np.inf)
        for s in range(S):
            terms = [alpha[s]]
            if s > 0:
                terms.append(alpha[s - 1])
            if s > 1 and ext[s] != 0 and ext[s] != ext[s - 2]:
                terms.append(alpha[s - 2])
            m = max(terms)
            if m > -np.inf:
                new[s] = m + np.log(sum(np.exp(a - m) for a in terms)) + logp[t, ext[s]]
        alpha = new
    return -np.logaddexp(alpha[-1], alpha[-2])


# 8 optics: transfer matrix of thin film (complex)
@prog("optics", lambda: (np.array([0.1, 0.2, 0.15]),))
def thin_film(d):
    ns = [1.0, 2.3 + 0.01j, 1.38, 2.3, 1.52]
    total = 0.0
    for lam in np.linspace(0.4, 0.7, 7):
        M = np.eye(2, dtype=complex)
        for n, t in zip(ns[1:-1], d):
            delta = 2 * np.pi * n * t / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        n0, nsb = ns[0], ns[-1]
        B, C = M @ np.array([1, nsb])
        r = (n0 * B - C) / (n0 * B + C)
        total += abs(r) ** 2
    return total


# 9 structural: frame assembly with dict of dof, np.ix_
Element = namedtuple("Element", "i j E A")


@prog("structures", lambda: (np.array([1.0, 2.0, 1.5]), np.array([[0.0, 0], [1, 0], [0.4, 1.0]])), (0, 1))
def truss(areas, nodes):
    elements = [Element(0, 1, 10.0, areas[0]), Element(1, 2, 10.0, areas[1]), Element(0, 2, 10.0, areas[2])]
    K = np.zeros((6, 6))
    for e in elements:
        dx = nodes[e.j] - nodes[e.i]
        L = np.hypot(*dx)
        c, s = dx / L
        k = e.E * e.A / L
        T = np.array([-c, -s, c, s])
        dof = [2 * e.i, 2 * e.i + 1, 2 * e.j, 2 * e.j + 1]
        K[np.ix_(dof, dof)] += k * np.outer(T, T)
    fixed = {0, 1, 3}
    free = [i for i in range(6) if i not in fixed]
    f = np.zeros(6)
    f[5] = -1.0
    f[4] = 0.3
    u = np.zeros(6)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return f @ u


# 10 particle tracking: class with inheritance & property
class Force:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        raise NotImplementedError


class Spring(Force):
    def __call__(self, x):
        return -self.k * x


class Duffing(Force):
    def __init__(self, k, b):
        super().__init__(k)
        self.b = b

    def __call__(self, x):
        return -self.k * x - self.b * x**3


class Particle:
    def __init__(self, x, v, m):
        self.x, self.v, self.m = x, v, m

    @property
    def energy(self):
        return 0.5 * self.m * self.v**2

    def kick(self, f, dt):
        self.v += f(self.x) / self.m * dt
        return self

    def drift(self, dt):
        self.x += self.v * dt
        return self


@prog("mechanics", lambda: (1.3, 0.4), (0, 1))
def duffing(k, b):
    fs = [Spring(k), Duffing(k, b)]
    ps = [Particle(1.0, 0.0, 1.0 + 0.5 * i) for i in range(2)]
    for _ in range(25):
        for p, f in zip(ps, fs):
            p.kick(f, 0.05).drift(0.1).kick(f, 0.05)
    return sum(p.energy for p in ps) + ps[-1].x


# 11 chemistry: stoichiometric network from strings
@prog("chemistry", lambda: (np.array([0.5, 0.3, 0.8]),))
def mass_action(k):
    rxns = ["A + B -> C", "C -> A + B", "2 C -> D"]
    species = ["A", "B", "C", "D"]
    idx = {s: i for i, s in enumerate(species)}

    def parse(side):
        out = []
        for term in side.split("+"):
            parts = term.split()
            n, s = (int(parts[0]), parts[1]) if len(parts) == 2 else (1, parts[0])
            out.append((n, idx[s]))
        return out

    net = [tuple(parse(s) for s in r.split("->")) for r in rxns]
    c = np.array([1.0, 0.8, 0.1, 0.0])
    for _ in range(30):
        dc = np.zeros(4)
        for (lhs, rhs), kr in zip(net, k):
            rate = kr
            for n, i in lhs:
                rate = rate * c[i] ** n
            for n, i in lhs:
                dc[i] -= n * rate
            for n, i in rhs:
                dc[i] += n * rate
        c = c + 0.05 * dc
    return c[3] + 0.1 * c[0]


# 12 signal: biquad cascade, direct form II with state in list of lists
@prog(
    "signals",
    lambda: (rng(12).normal(size=24), np.array([[0.2, 0.3, 0.2, -0.5, 0.2], [0.5, -0.2, 0.1, 0.3, 0.1]])),
    (0, 1),
)
def cascade(x, sos):
    zi = [[0.0, 0.0] for _ in sos]
    y = []
    for v in x:
        for (b0, b1, b2, a1, a2), z in zip(sos, zi):
            w = v - a1 * z[0] - a2 * z[1]
            v = b0 * w + b1 * z[0] + b2 * z[1]
            z[1], z[0] = z[0], w
        y.append(v)
    return np.var(y) + np.max(np.abs(y))


# 13 astronomy: kepler's equation newton with for-else and RV model
@prog("astronomy", lambda: (np.array([1.0, 0.3, 0.5, 2.0]), np.linspace(0, 5, 9)))
def rv(p, t):
    K, e, w, per = p

    def kepler(Mv):
        E = Mv
        for _ in range(50):
            d = (E - e * math.sin(E) - Mv) / (1 - e * math.cos(E))
            E -= d
            if abs(d) < 1e-13:
                break
        else:
            raise RuntimeError("no convergence")
        return E

    out = []
    for ti in t:
        E = kepler(2 * math.pi * ti / per)
        nu = 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))
        out.append(K * (math.cos(nu + w) + e * math.cos(w)))
    return float(np.dot(out, out))


# 14 geophysics: ray tracing thru layers w/ bisection on ray param
@prog("seismology", lambda: (np.array([2.0, 3.0, 4.5]), np.array([1.0, 0.7, 1.2])), (0, 1))
def ray(v, h):
    X = 1.5
    lo, hi = 0.0, 1 / v.max() - 1e-9
    dist = lambda p: sum(hi_ * p * vi / np.sqrt(1 - (p * vi) ** 2) for vi, hi_ in zip(v, h))
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if dist(mid) > X:
            hi = mid
        else:
            lo = mid
    p = 0.5 * (lo + hi)
    # one Newton step so that the derivative is right
    eps = np.sum(h * v / (1 - (p * v) ** 2) ** 1.5)
    p = p - (dist(p) - X) / eps
    return np.sum(h / (v * np.sqrt(1 - (p * v) ** 2)))


# 15 ecology: Leslie matrix, dominant eigenvalue by power iteration
@prog("ecology", lambda: (np.array([0.0, 1.5, 1.0]), np.array([0.5, 0.25])), (0, 1))
def leslie(f, s):
    L = np.zeros((3, 3))
    L[0] = f
    L[np.arange(1, 3), np.arange(2)] = s
    n = np.ones(3)
    lam = 0.0
    while True:
        m = L @ n
        new = norm(m)
        n = m / new
        if abs(new - lam) < 1e-14:
            break
        lam = new
    return np.log(new)


# 16 audio/ML: attention with heads via einsum & masks
@prog("ml", lambda: (rng(16).normal(size=(5, 8)), rng(17).normal(size=(3, 8, 8)) * 0.3), (0, 1))
def mha(x, W):
    T, D = x.shape
    H = 2
    q, k, v = (np.reshape(x @ w, (T, H, D // H)).transpose(1, 0, 2) for w in W)
    att = np.einsum("hid,hjd->hij", q, k) / np.sqrt(D // H)
    att = np.where(np.tri(T, dtype=bool), att, -1e9)
    att = np.exp(att - att.max(-1, keepdims=True))
    att /= att.sum(-1, keepdims=True)
    y = (att @ v).swapaxes(0, 1).reshape(T, D)
    mu, sd = y.mean(1, keepdims=True), y.std(1, keepdims=True)
    return np.sum(((y - mu) / (sd + 1e-5))[:, 0] ** 3)


# 17 combinatorial: Kirchhoff spanning trees / matching via dp over bitmask
@prog("combinatorics", lambda: (rng(18).uniform(0.5, 1.5, (4, 4)),))
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


# 18 HMM with log-space Viterbi+forward, np.ufunc.reduce
@prog("hmm", lambda: (rng(19).normal(size=(3, 3)), rng(20).normal(size=(3, 4))), (0, 1))
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


# 19 tomography: bilinear sampling along rays, np.floor indices, clip
@prog("tomography", lambda: (rng(21).uniform(size=(6, 6)), np.array([0.1, 0.7, 1.3])), (0, 1))
def radon(img, angles):
    ny, nx = img.shape
    tot = 0.0
    for th in angles:
        c, s = np.cos(th), np.sin(th)
        t = np.linspace(-2, 2, 5)
        T, U = np.meshgrid(t, t, indexing="ij")
        X = (nx - 1) / 2 + T * c - U * s
        Y = (ny - 1) / 2 + T * s + U * c
        x0 = np.clip(np.floor(X).astype(int), 0, nx - 2)
        y0 = np.clip(np.floor(Y).astype(int), 0, ny - 2)
        fx, fy = X - x0, Y - y0
        val = (
            img[y0, x0] * (1 - fx) * (1 - fy)
            + img[y0, x0 + 1] * fx * (1 - fy)
            + img[y0 + 1, x0] * (1 - fx) * fy
            + img[y0 + 1, x0 + 1] * fx * fy
        )
        proj = val.sum(axis=1)
        tot += np.sum(proj**2)
    return tot


# 20 control: iLQR-lite backward pass with lists and reversed zip
@prog("control", lambda: (rng(22).normal(size=(8, 1)) * 0.1, np.array([1.0, 0.0])), (0, 1))
def lqr(us, x0):
    A = np.array([[1, 0.1], [-0.1, 0.98]])
    B = np.array([[0.0], [0.1]])
    Q, Rr = np.eye(2), 0.1 * np.eye(1)
    xs = [x0]
    for u in us:
        xs.append(A @ xs[-1] + B @ u + 0.01 * np.sin(xs[-1]))
    V = Q.copy()
    Ks = []
    for x in reversed(xs[:-1]):
        J = A + 0.01 * np.diag(np.cos(x))
        K = np.linalg.solve(Rr + B.T @ V @ B, B.T @ V @ J)
        V = Q + J.T @ V @ (J - B @ K)
        Ks.insert(0, K)
    cost = sum(x @ Q @ x for x in xs) + sum(float(u @ Rr @ u) for u in us)
    return cost + sum((K @ x).item() for K, x in zip(Ks, xs))


# 21 statistics: mixed model REML w/ cho_factor, slogdet
@prog("statistics", lambda: (np.array([0.2, -0.3]), rng(23).normal(size=(9, 2)), rng(24).normal(size=9)))
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


# 22 game dev: quaternion rotation slerp with operator overloading dataclass
@dataclass
class Quat:
    w: float
    x: float
    y: float
    z: float

    def __mul__(self, o):
        if isinstance(o, Quat):
            return Quat(
                self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
                self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
                self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
                self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
            )
        return Quat(self.w * o, self.x * o, self.y * o, self.z * o)

    __rmul__ = lambda self, o: self * o

    def __add__(self, o):
        return Quat(self.w + o.w, self.x + o.x, self.y + o.y, self.z + o.z)

    def conj(self):
        return Quat(self.w, -self.x, -self.y, -self.z)

    def dot(self, o):
        return self.w * o.w + self.x * o.x + self.y * o.y + self.z * o.z

    @classmethod
    def axis_angle(cls, ax, th):
        s = math.sin(th / 2)
        return cls(math.cos(th / 2), *(s * a for a in ax))

    @staticmethod
    def slerp(a, b, t):
        om = math.acos(a.dot(b))
        return (math.sin((1 - t) * om) / math.sin(om)) * a + (math.sin(t * om) / math.sin(om)) * b


@prog("graphics", lambda: (0.4, 1.1, 0.3), (0, 1, 2))
def slerp(a, b, t):
    q1 = Quat.axis_angle((0, 0, 1), a)
    q2 = Quat.axis_angle((0, 1, 0), b)
    q = Quat.slerp(q1, q2, t)
    v = q * Quat(0.0, 1.0, 2.0, 3.0) * q.conj()
    return v.x * v.y + v.z


# 23 crystallography: structure factors, complex exp and dict of atoms
@prog("crystallography", lambda: (np.array([[0.1, 0.2, 0.3], [0.4, 0.1, 0.7]]), np.array([1.0, 0.5])), (0, 1))
def structure_factor(pos, B):
    hkl = [h for h in itertools.product(range(-1, 2), repeat=3) if any(h)]
    F = []
    for h in hkl:
        h = np.array(h)
        s2 = h @ h / 4
        F.append(sum(f * np.exp(-b * s2) * np.exp(2j * np.pi * (h @ p)) for f, p, b in zip((6.0, 8.0), pos, B)))
    I = np.abs(F) ** 2
    return np.log1p(I).sum()


# 24 traffic: IDM car following, objects in list with leader reference
@dataclass
class Car:
    x: float
    v: float

    def accel(self, leader, T, a):
        gap = leader.x - self.x - 4.0
        dv = self.v - leader.v
        s = 2.0 + max(0.0, self.v * T + self.v * dv / (2 * math.sqrt(a * 1.5)))
        return a * (1 - (self.v / 30.0) ** 4 - (s / gap) ** 2)


@prog("traffic", lambda: (1.5, 1.0), (0, 1))
def idm(T, a):
    cars = [Car(x=40.0 - 10.0 * i, v=10.0 + i) for i in range(4)]
    for k in range(20):
        acc = [1.0 if k < 10 else -1.0]
        acc += [c.accel(l, T, a) for l, c in zip(cars, cars[1:])]
        for c, ac in zip(cars, acc):
            c.v = max(0.0, c.v + 0.2 * ac)
            c.x += 0.2 * c.v
    return sum(c.x for c in cars) / len(cars) + min(l.x - c.x for l, c in zip(cars[:-1], cars[1:]))


# 25 image: total variation denoising, Chambolle projection with np.gradient/roll
@prog("imaging", lambda: (rng(25).uniform(size=(6, 5)), 0.3), (0, 1))
def chambolle(f, lam):
    p = np.zeros((2,) + f.shape)

    def div(p):
        d = np.zeros_like(f)
        d[:-1] += p[0, :-1]
        d[1:] -= p[0, :-1]
        d[:, :-1] += p[1, :, :-1]
        d[:, 1:] -= p[1, :, :-1]
        return d

    for _ in range(10):
        u = div(p) - f / lam
        g = np.stack(
            [
                np.append(np.diff(u, axis=0), np.zeros((1, f.shape[1])), axis=0),
                np.append(np.diff(u, axis=1), np.zeros((f.shape[0], 1)), axis=1),
            ]
        )
        p = (p + 0.2 * g) / (1 + 0.2 * np.sqrt((g**2).sum(0)))
    u = f - lam * div(p)
    return np.sum((u - 0.5) ** 2)


# 26 quantum: time evolving block, kron chain, expm of hermitian
@prog("quantum", lambda: (np.array([0.7, 0.3]),))
def ising(p):
    J, hx = p
    sx = np.array([[0, 1], [1, 0]], complex)
    sz = np.diag([1.0, -1.0]).astype(complex)
    I = np.eye(2)

    def op(o, k, n=3):
        return functools.reduce(np.kron, [o if i == k else I for i in range(n)])

    H = -J * sum(op(sz, i) @ op(sz, i + 1) for i in range(2)) - hx * sum(op(sx, i) for i in range(3))
    U = sla.expm(-1j * H * 0.5)
    psi = np.zeros(8, complex)
    psi[0] = 1
    for _ in range(2):
        psi = U @ psi
    return np.vdot(psi, op(sz, 1) @ psi).real


# 27 bandit/RL: GAE and discounted returns w/ reversed ranges
@prog("rl", lambda: (rng(26).normal(size=10), rng(27).normal(size=11), 0.95), (0, 1, 2))
def gae(rew, val, gamma):
    adv = np.empty_like(rew)
    last = 0
    done = {4, 9}
    for t in reversed(range(len(rew))):
        mask = 0.0 if t in done else 1.0
        delta = rew[t] + gamma * val[t + 1] * mask - val[t]
        adv[t] = last = delta + gamma * 0.9 * mask * last
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return (adv * rew).sum() + np.percentile(adv, 75)


# 28 b-splines de boor recursive w/ lru
@prog("splines", lambda: (rng(28).normal(size=7), 2.3), (0, 1))
def deboor(c, x):
    k = 3
    t = np.concatenate([np.zeros(k), np.arange(5.0), np.full(k, 4.0)])

    def B(i, k, x):
        if k == 0:
            return 1.0 if t[i] <= x < t[i + 1] else 0.0
        left = 0.0 if t[i + k] == t[i] else (x - t[i]) / (t[i + k] - t[i]) * B(i, k - 1, x)
        right = 0.0 if t[i + k + 1] == t[i + 1] else (t[i + k + 1] - x) / (t[i + k + 1] - t[i + 1]) * B(i + 1, k - 1, x)
        return left + right

    return sum(ci * B(i, k, x) for i, ci in enumerate(c))


# 29 power systems: newton-raphson power flow, complex admittance
@prog("power", lambda: (np.array([0.5, 0.3]), np.array([10.0, 8.0, 9.0])), (0, 1))
def powerflow(load, y):
    lines = [(0, 1), (1, 2), (0, 2)]
    Y = np.zeros((3, 3), dtype=complex)
    for (a, b), yy in zip(lines, y):
        adm = yy / (0.1 + 1j)
        Y[a, a] += adm
        Y[b, b] += adm
        Y[a, b] -= adm
        Y[b, a] -= adm
    V = np.ones(3, dtype=complex)
    for _ in range(40):
        for i in (1, 2):
            S = -load[i - 1] * (1 + 0.3j)
            cur = np.conj(S / V[i])
            V[i] = (cur - sum(Y[i, j] * V[j] for j in range(3) if j != i)) / Y[i, i]
    loss = (V * np.conj(Y @ V)).sum().real
    return loss + abs(V[2])


# 30 text: levenshtein-like soft-DTW w/ nested list rows
@prog("time series", lambda: (rng(29).normal(size=5), rng(30).normal(size=6)), (0, 1))
def soft_dtw(a, b):
    g = 0.5
    prev = [0.0] + [1e3] * len(b)
    for x in a:
        cur = [1e3]
        for j, y in enumerate(b, start=1):
            opts = (prev[j - 1], prev[j], cur[-1])
            m = min(opts)
            cur.append((x - y) ** 2 + m - g * math.log(sum(math.exp(-(o - m) / g) for o in opts)))
        prev = cur
    return prev[-1]
