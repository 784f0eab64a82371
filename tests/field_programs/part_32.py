import itertools
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import scipy.special as sc
from numpy.lib.stride_tricks import sliding_window_view
from numpy.linalg import LinAlgError
from scipy import linalg, signal, stats
from scipy.spatial.distance import cdist
from scipy.stats import norm

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# thermodynamics: Peng-Robinson flash with Rachford-Rice, roots of a cubic
@dataclass
class Component:
    name: str
    Tc: float
    Pc: float
    omega: float
    kappa: float = field(init=False)

    def __post_init__(self):
        self.kappa = 0.37464 + 1.54226 * self.omega - 0.26992 * self.omega**2

    def alpha(self, T):
        return (1 + self.kappa * (1 - np.sqrt(T / self.Tc))) ** 2


def cubic_roots(c2, c1, c0):
    q = (3 * c1 - c2**2) / 9
    r = (9 * c2 * c1 - 27 * c0 - 2 * c2**3) / 54
    disc = q**3 + r**2
    if disc > 0:
        s = np.cbrt(r + np.sqrt(disc))
        t = np.cbrt(r - np.sqrt(disc))
        return [s + t - c2 / 3]
    th = np.arccos(r / np.sqrt(-(q**3)))
    return sorted(2 * np.sqrt(-q) * np.cos((th + 2 * np.pi * k) / 3) - c2 / 3 for k in range(3))


@prog("thermodynamics", lambda: (320.0, 1.1e6, np.array([0.6, 0.4])), (0, 1, 2))
def pr_flash(T, P, z):
    R = 8.314462618
    comps = [Component("propane", 369.83, 4.248e6, 0.152), Component("butane", 425.12, 3.796e6, 0.2)]
    a = np.array([0.45724 * (R * c.Tc) ** 2 / c.Pc * c.alpha(T) for c in comps])
    b = np.array([0.0778 * R * c.Tc / c.Pc for c in comps])
    kij = np.array([[0, 0.01], [0.01, 0]])
    aij = np.sqrt(np.outer(a, a)) * (1 - kij)

    def lnphi(x, phase):
        am = x @ aij @ x
        bm = x @ b
        A, B = am * P / (R * T) ** 2, bm * P / (R * T)
        Z = cubic_roots(B - 1, A - 3 * B**2 - 2 * B, -(A * B - B**2 - B**3))
        Z = Z[0] if phase == "liquid" else Z[-1]
        s2 = math.sqrt(2)
        return (
            b / bm * (Z - 1)
            - np.log(Z - B)
            - A / (2 * s2 * B) * (2 * (aij @ x) / am - b / bm) * np.log((Z + (1 + s2) * B) / (Z + (1 - s2) * B))
        )

    K = np.array([c.Pc / P * np.exp(5.373 * (1 + c.omega) * (1 - c.Tc / T)) for c in comps])
    for _ in range(25):
        lo, hi = 0.0, 1.0
        V = 0.5
        for _ in range(40):
            f = np.sum(z * (K - 1) / (1 + V * (K - 1)))
            df = -np.sum(z * (K - 1) ** 2 / (1 + V * (K - 1)) ** 2)
            V = V - f / df
            V = min(max(V, lo), hi)
        x = z / (1 + V * (K - 1))
        y = K * x
        x, y = x / x.sum(), y / y.sum()
        K = np.exp(lnphi(x, "liquid") - lnphi(y, phase="vapour"))
    return np.log(K) @ z + lnphi(z, "liquid")[0]


# gaussian process: kernels composed with operator overloading
class Kernel:
    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)

    def __call__(self, X, Y=None):
        raise NotImplementedError


class Sum(Kernel):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, X, Y=None):
        return self.a(X, Y) + self.b(X, Y)


class Product(Sum):
    def __call__(self, X, Y=None):
        return self.a(X, Y) * self.b(X, Y)


class RBF(Kernel):
    def __init__(self, ls=1.0):
        self.ls = ls

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return np.exp(-0.5 * cdist(X / self.ls, Y / self.ls, "sqeuclidean"))


class Periodic(Kernel):
    def __init__(self, ls, period):
        self.ls, self.period = ls, period

    def __call__(self, X, Y=None):
        d = np.abs(X[:, None, 0] - (X if Y is None else Y)[None, :, 0])
        return np.exp(-2 * np.sin(np.pi * d / self.period) ** 2 / self.ls**2)


class White(Kernel):
    def __init__(self, noise):
        self.noise = noise

    def __call__(self, X, Y=None):
        return self.noise * np.eye(len(X)) if Y is None else np.zeros((len(X), len(Y)))


@prog(
    "gaussian process",
    lambda: (np.log([0.8, 1.3, 2.0, 0.1]), rng(0).random((8, 1)) * 5, rng(1).normal(size=8)),
    (0, 1, 2),
)
def gp_marginal(theta, X, y):
    ls, lp, per, noise = np.exp(theta)
    kernel = RBF(ls) * Periodic(lp, per) + White(noise)
    K = kernel(X)
    try:
        L = linalg.cholesky(K, lower=True)
    except LinAlgError:
        return np.inf
    alpha = linalg.cho_solve((L, True), y)
    lml = -0.5 * y @ alpha - np.log(np.diagonal(L)).sum() - 0.5 * len(X) * np.log(2 * np.pi)
    Xs = np.linspace(0, 5, 4)[:, None]
    Ks = kernel(X, Xs)
    v = linalg.solve_triangular(L, Ks, lower=True)
    var = 1.0 - np.einsum("ij,ij->j", v, v)
    return -lml + var.mean()


# photogrammetry/graphics: Phong shading with ray-sphere, objects as SimpleNamespace, any/all/min with default
@prog(
    "graphics",
    lambda: (np.array([[0.0, 0.1, 4.0], [0.9, -0.2, 5.0]]), np.array([1.0, 0.7]), np.array([3.0, 4.0, -2.0])),
    (0, 1, 2),
)
def phong(centers, radii, light):
    spheres = [
        SimpleNamespace(c=c, r=r, color=np.array(col))
        for c, r, col in zip(centers, radii, [(1, 0.2, 0.1), (0.3, 0.8, 0.4)])
    ]
    image = np.zeros((4, 4, 3))
    normalize = lambda v: v / np.linalg.norm(v)

    def hit(s, o, d):
        oc = o - s.c
        b = oc @ d
        disc = b * b - (oc @ oc - s.r**2)
        if disc < 0:
            return None
        t = -b - np.sqrt(disc)
        return t if t > 1e-4 else None

    for iy, ix in np.ndindex(4, 4):
        d = normalize(np.array([(ix - 1.43) / 4, (1.47 - iy) / 4, 1.0]))
        o = np.zeros(3)
        hits = [(t, k) for k, s in enumerate(spheres) if (t := hit(s, o, d)) is not None]
        if not hits:
            continue
        t, k = min(hits)
        s = spheres[k]
        p = o + t * d
        n = normalize(p - s.c)
        l = normalize(light - p)
        shadow = any(hit(other, p + 1e-3 * n, l) is not None for other in spheres if other is not s)
        diffuse = 0.0 if shadow else max(n @ l, 0.0)
        image[iy, ix] = s.color * (0.1 + diffuse)
    return (image**2).mean() * 10


# hydrology: kinematic wave routing over a channel network as adjacency dict, topological order with deque
@prog("hydrology", lambda: (np.array([0.8, 1.2, 0.5, 0.9, 1.5]), rng(2).random((5, 6))), (0, 1))
def route(storage_k, runoff):
    downstream = {0: 2, 1: 2, 2: 4, 3: 4, 4: -1}
    indeg = Counter(v for v in downstream.values() if v >= 0)
    queue = deque(sorted(n for n in downstream if indeg[n] == 0))
    order = []
    while queue:
        n = queue.popleft()
        order.append(n)
        d = downstream[n]
        if d >= 0:
            indeg[d] -= 1
            if indeg[d] == 0:
                queue.append(d)
    S = np.zeros(5)
    outlet = []
    for t in range(runoff.shape[1]):
        inflow = defaultdict(float)
        for n in order:
            inflow[n] += runoff[n, t]
            q = (S[n] + inflow[n]) * (1 - np.exp(-storage_k[n]))
            S[n] += inflow[n] - q
            if downstream[n] == -1:
                outlet.append(q)
            else:
                inflow[downstream[n]] += q
    obs = np.array([0.5, 1.2, 1.8, 2.0, 2.2, 2.1])
    sim = np.asarray(outlet)
    nse = 1 - ((obs - sim) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()
    r, _ = stats.pearsonr(obs, sim)
    return nse + r


# image processing: total variation denoise, sliding windows, structure tensor
@prog("imaging", lambda: (rng(3).random((7, 8)), rng(4).normal(size=(3, 3))), (0, 1))
def conv_tv(img, kern):
    padded = np.pad(img, 1, mode="reflect")
    win = sliding_window_view(padded, kern.shape)
    out = np.einsum("ijkl,kl->ij", win, kern)
    dx = out[:, 1:] - out[:, :-1]
    dy = out[1:] - out[:-1]
    tv = np.sqrt(dx[:-1] ** 2 + dy[:, :-1] ** 2 + 1e-3).sum()
    pooled = out[:6, :8].reshape(3, 2, 4, 2).max(axis=(1, 3))
    med = np.median(pooled, axis=0)
    return tv + np.square(med).sum() + signal.convolve2d(img, kern, mode="valid").std()


# biochemistry: Michaelis-Menten network with stoichiometry, stiff implicit Euler with own Newton
@prog("biochemistry", lambda: (dict(vmax=(1.0, 0.8, 0.5), km=(0.3, 0.5, 0.2), ki=1.5),), (0,))
def pathway(p):
    N = np.array([[-1, 0, 0], [1, -1, 0], [0, 1, -1.0]])
    vmax, km = np.array(p["vmax"]), np.asarray(p["km"])

    def rates(s):
        inhib = 1 / (1 + s[2] / p["ki"])
        return vmax * s / (km + s) * np.array([inhib, 1, 1])

    def jac(s, eps=1e-6):
        cols = []
        for j in range(3):
            e = np.zeros(3)
            e[j] = eps
            cols.append((N @ rates(s + e) - N @ rates(s - e)) / (2 * eps))
        return np.stack(cols, axis=1)

    s, dt = np.array([2.0, 0.1, 0.05]), 0.5
    for _ in range(6):
        guess = s
        for _ in range(12):
            res = guess - s - dt * N @ rates(guess)
            guess = guess - np.linalg.solve(np.eye(3) - dt * jac(guess), res)
        s = guess
    return s[1] + s.max() / 3


# reinforcement learning: policy gradient surrogate with episodes of different lengths, discounted returns by accumulate
@prog("rl", lambda: (rng(5).normal(size=(3, 2)), [rng(6).normal(size=(n, 3)) for n in (3, 5, 2)]), (0,))
def reinforce(W, episodes, gamma=0.9):
    total = 0.0
    entropies = []
    for k, obs in enumerate(episodes):
        logits = obs @ W
        logp = logits - sc.logsumexp(logits, axis=1, keepdims=True)
        actions = np.arange(len(obs)) % 2
        rewards = np.cos(np.arange(len(obs)) + k)
        returns = np.array(list(itertools.accumulate(rewards[::-1], lambda acc, r: r + gamma * acc)))[::-1]
        adv = (returns - returns.mean()) / (returns.std() + 1e-8)
        total -= (np.take_along_axis(logp, actions[:, None], axis=1).squeeze(1) * adv).sum()
        entropies.append(-(np.exp(logp) * logp).sum(-1).mean())
    return total - 0.01 * sum(entropies) / len(entropies)


# acoustics: image source room impulse with fractional delay, fft convolution
@prog("acoustics", lambda: (np.array([4.0, 3.0, 2.5]), np.array([1.0, 1.5, 1.2]), 0.7), (0, 1, 2))
def room(dim, src, beta):
    mic = np.array([2.5, 1.1, 1.4])
    fs, c, n = 2000, 343.0, 64
    h = np.zeros(n)
    k = np.arange(n)
    for nx, ny, nz in itertools.product((-1, 0, 1), repeat=3):
        for px, py, pz in itertools.product((0, 1), repeat=3):
            img = np.array([(1 - 2 * p) * s + 2 * m * d for p, s, m, d in zip((px, py, pz), src, (nx, ny, nz), dim)])
            dist = np.sqrt(np.sum((img - mic) ** 2))
            refl = abs(2 * nx - px) + abs(2 * ny - py) + abs(2 * nz - pz)
            h += beta**refl / (4 * np.pi * dist) * np.sinc(k - dist / c * fs)
    H = np.fft.rfft(h, n=128)
    edc = np.cumsum(h[::-1] ** 2)[::-1]
    return 10 * np.log10(np.abs(H[5:20])).sum() + 10 * np.log10(edc[20] / edc[0])


# demography: Leslie matrix, Gompertz-Makeham life table with np.add.reduceat groups
@prog("demography", lambda: (np.array([0.0003, 0.00004, 0.1]), np.array([0.05, 0.12, 0.1, 0.04])), (0, 1))
def leslie(gm, asfr):
    a, b, c = gm
    ages = np.arange(0, 100)
    mu = a + b * np.exp(c * ages)
    lx = np.concatenate([[1], np.exp(-np.cumsum(mu))[:-1]])
    Lx = np.add.reduceat(lx, np.arange(0, 100, 10)) / 10
    Leslie = np.diag(Lx[1:] / Lx[:-1], k=-1)
    Leslie[0, 1:5] += asfr * 8
    w, v = np.linalg.eig(Leslie[:5, :5].astype(complex))
    dom = np.argmax(np.abs(w))
    r = np.log(np.abs(w[dom])) / 10
    e0 = lx.sum() - 0.5
    return e0 + 100 * r


# game theory: fictitious play softened; logit equilibrium fixed point; polymatrix in dict keyed by pairs
@prog(
    "game theory",
    lambda: (
        {
            (0, 1): np.array([[2.0, 0], [0, 1]]),
            (1, 2): np.array([[1.0, -1], [-1, 1]]),
            (0, 2): np.array([[0.5, 0.2], [0.1, 0.7]]),
        },
        1.5,
    ),
)
def quantal(payoff, lam):
    players = sorted({i for pair in payoff for i in pair})
    sigma = {i: np.ones(2) / 2 + 0.01 * i * np.array([1, -1]) for i in players}
    for _ in range(50):
        new = {}
        for i in players:
            u = np.zeros(2)
            for (a, b), M in payoff.items():
                if a == i:
                    u += M @ sigma[b]
                elif b == i:
                    u += M.T @ sigma[a]
            new[i] = sc.softmax(lam * u)
        sigma = {i: 0.5 * sigma[i] + 0.5 * new[i] for i in players}
    welfare = sum(sigma[a] @ M @ sigma[b] for (a, b), M in payoff.items())
    return welfare + stats.entropy(sigma[0])


# particle physics: kinematics with a four-vector class (operators), invariant masses of combinations
class FourVector:
    __slots__ = ("E", "px", "py", "pz")

    def __init__(self, E, px, py, pz):
        self.E, self.px, self.py, self.pz = E, px, py, pz

    @classmethod
    def from_ptetaphim(cls, pt, eta, phi, m=0.0):
        px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
        return cls(np.sqrt(px**2 + py**2 + pz**2 + m**2), px, py, pz)

    def __add__(self, o):
        return FourVector(self.E + o.E, self.px + o.px, self.py + o.py, self.pz + o.pz)

    def __radd__(self, o):
        return self if o == 0 else self + o

    def __neg__(self):
        return FourVector(-self.E, -self.px, -self.py, -self.pz)

    def __sub__(self, o):
        return self + (-o)

    def __matmul__(self, o):
        return self.E * o.E - self.px * o.px - self.py * o.py - self.pz * o.pz

    @property
    def mass(self):
        return np.sqrt(max(self @ self, 0.0))

    def boost_z(self, beta):
        g = 1 / np.sqrt(1 - beta**2)
        return type(self)(g * (self.E - beta * self.pz), self.px, self.py, g * (self.pz - beta * self.E))

    def __getitem__(self, i):
        return (self.E, self.px, self.py, self.pz)[i]


@prog(
    "particle physics",
    lambda: (np.array([[45.0, 0.3, 0.1], [40.0, -0.5, 2.9], [25.0, 1.1, -1.8], [18.0, -1.4, 1.0]]), 0.2),
    (0, 1),
)
def invariant_masses(jets, beta):
    vecs = [FourVector.from_ptetaphim(*j, m=0.1) for j in jets]
    best = min(
        (pair for pair in itertools.combinations(range(4), 2)),
        key=lambda ij: abs((vecs[ij[0]] + vecs[ij[1]]).mass - 91.19),
    )
    z = vecs[best[0]] + vecs[best[1]]
    total = sum(vecs)
    recoil = (total - z).boost_z(beta)
    ht = sum(math.hypot(v.px, v.py) for v in vecs)
    chi2 = sum((v[0] - 30) ** 2 / 100 for v in vecs)
    return z.mass + 0.1 * recoil.mass + recoil[3] / 50 + ht / 100 + chi2 / 50


# crystal growth / discrete: simulated heat equation solver ADI with Thomas algorithm via helper writing in place
def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.empty(n), np.empty(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m if i < n - 1 else 0
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = dp
    for i in reversed(range(n - 1)):
        x[i] -= cp[i] * x[i + 1]
    return x


@prog("heat transfer", lambda: (rng(7).random((6, 5)), 0.4), (0, 1))
def adi(u, r):
    u = u.copy()
    for step in range(3):
        half = np.zeros_like(u)
        for j in range(u.shape[1]):
            n = u.shape[0]
            left = u[:, j - 1] if j > 0 else 0 * u[:, j]
            right = u[:, j + 1] if j < u.shape[1] - 1 else np.zeros(n)
            half[:, j] = thomas(
                np.full(n, -r / 2),
                np.full(n, 1 + r),
                np.full(n, -r / 2),
                u[:, j] + r / 2 * (left - 2 * u[:, j] + right),
            )
        u = np.apply_along_axis(
            lambda row: thomas(np.full(row.size, -r / 2), (1 + r) * np.ones(row.size), np.full(row.size, -r / 2), row),
            1,
            half,
        )
    return (u**2).sum() + u[2, 2]


# ecology: occupancy model with missing visits; helper decorator; bayesian log posterior with dict of priors
def log_prior(spec, params):
    dists = {
        "normal": lambda x, m, s: norm.logpdf(x, m, s),
        "halfcauchy": lambda x, s: np.log(2) - np.log(np.pi * s * (1 + (x / s) ** 2)),
    }
    return sum(dists[kind](params[name], *args) for name, (kind, *args) in spec.items())


@prog("wildlife", lambda: ({"psi": 0.3, "beta": np.array([0.4, -0.2]), "tau": 0.8}, rng(8).normal(size=(5, 3))))
def occupancy(params, cov):
    spec = {"psi": ("normal", 0, 1.5), "tau": ("halfcauchy", 1.0)}
    y = np.array([[1, 0, -1], [0, 0, 0], [0, 1, 1], [-1, -1, 0], [0, 0, -1]])
    observed = y >= 0
    logit_p = params["beta"][0] + params["beta"][1] * cov
    p = sc.expit(logit_p) ** params["tau"]
    like = np.where(observed, np.where(y == 1, p, 1 - p), 1.0).prod(axis=1)
    psi = sc.expit(params["psi"])
    never = ~np.any((y == 1) & observed, axis=1)
    ll = np.log(psi * like + (1 - psi) * never).sum()
    return ll + log_prior(spec, params) + norm(0, 1).logpdf(params["beta"]).sum()
