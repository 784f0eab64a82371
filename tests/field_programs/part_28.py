import functools
import itertools
import math
import operator
from enum import IntEnum

import numpy as np
from numpy.linalg import inv, norm
from scipy import integrate, special, stats
from scipy.special import expit, gammaln, logsumexp

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# dentistry/biomechanics: Hill muscle with callable class and lambda force curves
class Muscle:
    fl = staticmethod(lambda l: np.exp(-(((l - 1) / 0.45) ** 2)))

    def __init__(self, fmax, lopt, vmax):
        self.fmax = fmax
        self.lopt = lopt
        self.vmax = vmax

    def fv(self, v):
        return (self.vmax - v) / (self.vmax + 4 * v) if v >= 0 else 1.5 - 0.5 * (self.vmax + v) / (self.vmax - 7.56 * v)

    def __call__(self, act, l, v):
        ln, vn = l / self.lopt, v / self.lopt
        return self.fmax * (act * self.fl(ln) * self.fv(vn) + math.exp(5 * (ln - 1.6)))


@prog("biomechanics", lambda: (np.array([900.0, 700.0]), np.array([0.11, 0.12]), np.linspace(0, 1, 30)), (0, 1, 2))
def elbow(fmax, lopt, act):
    biceps, triceps = (Muscle(f, l, 10.0) for f, l in zip(fmax, lopt))
    theta, omega, cost = 1.0, 0.0, 0.0
    for a in act:
        lb, lt = 0.12 - 0.03 * (theta - 1), 0.11 + 0.02 * (theta - 1)
        torque = 0.03 * biceps(a, lb, -0.03 * omega) - 0.02 * triceps(1 - a, lt, 0.02 * omega)
        omega += 0.01 * (torque - 0.4 * np.sin(theta) * 9.81 - 0.5 * omega)
        theta += 0.01 * omega
        cost += a**2 + (theta - 1.2) ** 2
    return cost


# power systems: Newton power flow with Ybus complex
@prog("power systems", lambda: (np.array([0.5, 0.6, -0.4]), np.array([0.2, 0.1, 0.15])), (0, 1))
def power_flow(P, Q):
    lines = {
        (0, 1): 0.02 + 0.06j,
        (0, 2): 0.08 + 0.24j,
        (1, 2): 0.06 + 0.18j,
        (1, 3): 0.06 + 0.18j,
        (2, 3): 0.01 + 0.03j,
    }
    n = 4
    Y = np.zeros((n, n), dtype=complex)
    for (i, j), z in lines.items():
        y = 1 / z
        Y[i, i] += y
        Y[j, j] += y
        Y[i, j] -= y
        Y[j, i] -= y
    V = np.ones(n, dtype=complex)
    S = np.concatenate([[0], -P - 1j * Q])
    for sweep in range(30):
        for i in range(1, n):
            V[i] = (np.conj(S[i] / V[i]) - Y[i] @ V + Y[i, i] * V[i]) / Y[i, i]
    slack = V[0] * np.conj(Y[0] @ V)
    return slack.real + np.abs(V).min()


# ornithology: Cormack-Jolly-Seber with capture histories as strings
@prog("ornithology", lambda: (np.array([0.8, -0.3]), ["1011", "1100", "0110", "1111", "1000", "0101"]))
def cjs(theta, histories):
    phi, p = expit(theta)
    T = len(histories[0])
    chi = [1.0] * T
    for t in reversed(range(T - 1)):
        chi[t] = 1 - phi + phi * (1 - p) * chi[t + 1]
    ll = 0.0
    for h in histories:
        first, last = h.index("1"), h.rindex("1")
        for t in range(first + 1, last + 1):
            ll += math.log(phi) + (math.log(p) if h[t] == "1" else math.log1p(-p))
        ll += math.log(chi[last])
    return -ll


# civil: catenary cable by bisection, with assert
@prog("civil engineering", lambda: (100.0, 120.0, 10.0), (0, 1, 2))
def catenary(span, length, h):
    assert length > np.hypot(span, h), "cable too short"
    lo, hi = 10.0, 1000.0
    g = lambda a: 2 * a * np.sinh(span / (2 * a)) - np.sqrt(length**2 - h**2)
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if g(mid) > 0 else (lo, mid)
    a = 0.5 * (lo + hi)
    a = a - g(a) / (2 * np.sinh(span / (2 * a)) - span / a * np.cosh(span / (2 * a)))
    return a * np.cosh(span / (2 * a))


# pharmacometrics: mixed effects, Laplace approximation with inner Newton
@prog(
    "pharmacometrics",
    lambda: (
        np.array([1.0, 0.2, -1.0]),
        [np.array([0.5, 1.0, 2.0, 4.0]), np.array([1.0, 3.0])],
        [np.array([2.2, 1.8, 1.1, 0.4]), np.array([1.5, 0.5])],
    ),
)
def laplace(theta, times, conc):
    A, k, logsig = theta
    s2 = np.exp(2 * logsig)
    total = 0
    for t, y in zip(times, conc):
        eta = 0.0
        for _ in range(8):
            f = A * np.exp(-(k + eta) * t) * 2
            r = y - f
            g = np.sum(-r * t * f) / s2 * -1 * -1 + eta / 0.1
            h = np.sum(t**2 * f**2) / s2 + 1 / 0.1
            eta -= 0.5 * (np.sum(r * t * f) / s2 + eta / 0.1) / h if False else (np.sum(r * t * f) / s2 + eta / 0.1) / h
        f = 2 * A * np.exp(-(k + eta) * t)
        h = np.sum(t**2 * f**2) / s2 + 10.0
        total += np.sum(stats.norm.logpdf(y, f, np.sqrt(s2))) - 5 * eta**2 - 0.5 * np.log(h)
    return -total


# mineralogy: crystal field, eigenvalues of a parametric Hermitian
@prog("mineralogy", lambda: (np.array([1.2, 0.3, 0.1]),))
def crystal_field(p):
    dq, lam, b = p
    base = np.diag([6.0, 6, -4, -4, -4]) * dq
    L = np.zeros((5, 5), complex)
    for m in range(4):
        L[m, m + 1] = 1j * np.sqrt((m + 1) * (4 - m))
    H = base + lam * (L + L.conj().T) + b * np.diag(np.arange(-2, 3))
    w, v = np.linalg.eigh(H)
    Z = np.exp(-w / 0.5).sum()
    return -0.5 * np.log(Z) + w[0]


# crystallography: structure factors with symmetry operations, list of (R, t)
SYM = [(np.eye(3), np.zeros(3)), (-np.eye(3), np.zeros(3)), (np.diag([-1.0, 1, -1]), np.array([0, 0.5, 0.5]))]


@prog("crystallography", lambda: (rng(2).random((3, 3)), np.array([1.0, 2.0, 1.5])), (0, 1))
def structure_factor(xyz, B):
    f = {"C": 6.0, "O": 8.0}
    kinds = ["C", "O", "C"]
    total = 0.0
    for hkl in itertools.product(range(2), repeat=3):
        h = np.array(hkl)
        F = 0j
        for atom, b, kind in zip(xyz, B, kinds):
            for R, t in SYM:
                x = R @ atom + t
                F += f[kind] * np.exp(-b * (h @ h) / 40) * np.exp(2j * np.pi * (h @ x))
        total += abs(F) ** 2
    return total / 1000


# image registration: bilinear warp with meshgrid and clip
@prog("registration", lambda: (np.array([0.05, 0.3, -0.2]), rng(12).random((9, 9)), rng(13).random((9, 9))), (0, 1))
def register(p, moving, fixed):
    ang, ty, tx = p
    yy, xx = np.meshgrid(np.arange(9), np.arange(9), indexing="ij")
    c, s = np.cos(ang), np.sin(ang)
    y = c * (yy - 4) - s * (xx - 4) + 4 + ty
    x = s * (yy - 4) + c * (xx - 4) + 4 + tx
    y0 = np.clip(np.floor(y).astype(int), 0, 7)
    x0 = np.clip(np.floor(x).astype(int), 0, 7)
    wy, wx = y - y0, x - x0
    warped = (
        moving[y0, x0] * (1 - wy) * (1 - wx)
        + moving[y0 + 1, x0] * wy * (1 - wx)
        + moving[y0, x0 + 1] * (1 - wy) * wx
        + moving[y0 + 1, x0 + 1] * wy * wx
    )
    inside = (y >= 0) & (y <= 8) & (x >= 0) & (x <= 8)
    return ((warped - fixed)[inside] ** 2).mean()


# toxicology: dose-response with groupby on sorted rows
@prog(
    "toxicology",
    lambda: (
        np.array([-2.0, 1.5]),
        np.array([[0.5, 0], [0.5, 1], [1.0, 0], [1.0, 1], [1.0, 1], [2.0, 1], [2.0, 1], [4.0, 1]]),
    ),
)
def probit(theta, rows):
    a, b = theta
    ll = 0.0
    for dose, group in itertools.groupby(rows.tolist(), key=lambda r: r[0]):
        outcomes = [g[1] for g in group]
        p = special.ndtr(a + b * math.log(dose + 2))
        k, n = sum(outcomes), len(outcomes)
        ll += special.xlogy(k, p) + special.xlog1py(n - k, -p)
    return -ll


# cosmology: luminosity distances by cumulative trapezoid and interpolation
@prog("cosmology", lambda: (np.array([70.0, 0.3]), np.array([0.1, 0.4, 0.8, 1.1]), np.array([38.3, 41.7, 43.5, 44.3])))
def supernovae(theta, z, mu):
    H0, Om = theta
    grid = np.linspace(0, 1.5, 200)
    E = np.sqrt(Om * (1 + grid) ** 3 + (1 - Om))
    dc = integrate.cumulative_trapezoid(1 / E, grid, initial=0) * 299792.458 / H0
    dl = (1 + z) * np.interp(z, grid, dc)
    return np.sum(((mu - 5 * np.log10(dl) - 25) / 0.15) ** 2) / 2


# agriculture: soil water with a match statement
@prog("agriculture", lambda: (np.array([0.3, 0.1, 2.0]), rng(17).gamma(0.5, 6, 40)))
def soil_water(p, rain):
    fc, wp, ksat = p
    w, drain = 0.2, 0.0
    for day, r in enumerate(rain):
        match day % 7:
            case 0:
                et = 0.0
            case 1 | 2:
                et = 0.003
            case _:
                et = 0.005
        w += r / 1000
        if w > fc:
            d = (w - fc) * (1 - np.exp(-ksat))
            drain += d
            w -= d
        w -= et * max(0, (w - wp) / (fc - wp))
    return drain * 100 + w


# optics: transfer matrix of multilayer with wavelength loop, matrices multiplied by operator.matmul
@prog("optics", lambda: (np.array([100.0, 80.0, 120.0]), np.array([2.3, 1.38, 2.3])), (0, 1))
def coating(d, n):
    def layer(nk, dk, lam):
        phi = 2 * np.pi * nk * dk / lam
        return np.array([[np.cos(phi), 1j * np.sin(phi) / nk], [1j * nk * np.sin(phi), np.cos(phi)]])

    refl = []
    for lam in np.arange(450, 700, 50.0):
        M = functools.reduce(operator.matmul, (layer(nk, dk, lam) for nk, dk in zip(n, d)))
        B, C = M @ np.array([1.0, 1.52])
        r = (B - C) / (B + C)
        refl.append(abs(r) ** 2)
    return np.mean(refl)


# evolutionary biology: coalescent likelihood with heap of lineages
@prog("evolution", lambda: (np.array([1.0, 0.5]), [0.1, 0.15, 0.4, 0.9, 1.3]))
def coalescent(theta, times):
    N0, growth = theta
    k = len(times) + 1
    ll, prev = 0.0, 0.0
    for t in times:
        rate = k * (k - 1) / 2
        Lam = (np.expm1(growth * t) - np.expm1(growth * prev)) / (growth * N0)
        ll += -rate * Lam + np.log(rate / N0) + growth * t
        prev, k = t, k - 1
    return ll


# plasma: Vlasov-like 1D PIC with deposit by np.add.at and FFT Poisson
@prog("plasma", lambda: (rng(23).uniform(0, 2 * np.pi, 40), rng(24).normal(size=40) * 0.3), (0, 1))
def pic(x, v):
    ng, L = 16, 2 * np.pi
    dx = L / ng
    k = np.fft.fftfreq(ng, d=dx) * 2 * np.pi
    k[0] = 1.0
    x, v = x.copy(), v.copy()
    energy = 0.0
    for _ in range(4):
        g = x / dx
        i = np.floor(g).astype(int)
        w = g - i
        rho = np.zeros(ng)
        np.add.at(rho, i % ng, 1 - w)
        np.add.at(rho, (i + 1) % ng, w)
        rho = rho / 40 * ng - 1
        phik = np.fft.fft(rho) / k**2
        phik[0] = 0
        E = np.fft.ifft(-1j * k * phik).real
        Ep = E[i % ng] * (1 - w) + E[(i + 1) % ng] * w
        v += -0.1 * Ep
        x = (x + 0.1 * v) % L
        energy += 0.5 * np.sum(E**2) * dx
    return energy + 0.5 * np.sum(v**2) / 40


# psychology: drift diffusion first passage density series
@prog("psychology", lambda: (np.array([0.8, 1.2, 0.5, 0.2]), np.array([0.5, 0.7, 0.9, 1.4]), np.array([1, 1, 0, 1])))
def ddm(theta, rt, choice):
    v, a, z, t0 = theta

    @np.vectorize
    def density(t, upper):
        drift, w = (-v, 1 - z) if upper else (v, z)
        tt = (t - t0) / a**2
        s = sum((w + 2 * k) * np.exp(-((w + 2 * k) ** 2) / (2 * tt)) for k in range(-3, 4))
        return s / np.sqrt(2 * np.pi * tt**3) * np.exp(-drift * a * w - drift**2 * (t - t0) / 2) / a**2

    return -np.log(density(rt, choice)).sum()


# audio: biquad cascade with sosfilt-like loops, dB and windows
@prog(
    "audio",
    lambda: (np.array([[1.0, 0.5, 0.2, 0.3, 0.1], [0.9, -0.3, 0.1, -0.2, 0.05]]), np.sin(np.arange(64) * 0.4)),
    (0, 1),
)
def cascade(sos, x):
    y = x
    for b0, b1, b2, a1, a2 in sos:
        z1 = z2 = 0.0
        out = np.empty_like(y)
        for n, xn in enumerate(y):
            out[n] = b0 * xn + z1
            z1 = b1 * xn - a1 * out[n] + z2
            z2 = b2 * xn - a2 * out[n]
        y = out
    spec = np.abs(np.fft.rfft(y * np.hanning(len(y)))) ** 2
    return 10 * np.log10(spec[3:20] + 1e-9).mean()


# transportation: traffic assignment Frank-Wolfe with Dijkstra inside
@prog("transportation", lambda: (np.array([1.0, 2.0, 1.5, 1.0, 2.5]), 3.0), (0, 1))
def assignment(t0, demand):
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)]
    flow = np.zeros(5)
    for it in range(6):
        cost = t0 * (1 + 0.15 * (flow / 2) ** 4)
        dist = {0: 0.0, 1: math.inf, 2: math.inf, 3: math.inf}
        pred = {}
        todo = set(dist)
        while todo:
            u = min(todo, key=lambda n: dist[n])
            todo.remove(u)
            for e, (i, j) in enumerate(edges):
                if i == u and dist[u] + cost[e] < dist[j]:
                    dist[j] = dist[u] + cost[e]
                    pred[j] = e
        aux = np.zeros(5)
        node = 3
        while node != 0:
            aux[pred[node]] = demand
            node = edges[pred[node]][0]
        flow = flow + (aux - flow) * 2 / (it + 2)
    return np.sum(t0 * (flow + 0.03 * flow**5 / 16))


# seismology: ray tracing through layers, Snell, enumerated phases as IntEnum
class Wave(IntEnum):
    P = 0
    S = 1


@prog("seismology", lambda: (np.array([[3.0, 1.7], [4.5, 2.6], [6.0, 3.4]]), 0.12), (0, 1))
def travel_time(vel, p):
    path = [(0, Wave.P), (1, Wave.P), (2, Wave.S), (1, Wave.S), (0, Wave.S)]
    h = (1.0, 2.0, 3.5)
    t = x = 0.0
    for layer, wave in path:
        v = vel[layer][wave]
        eta = math.sqrt(1 / v**2 - p**2)
        t += h[layer] / v**2 / eta
        x += h[layer] * p / eta
    return t - p * x + x**2 / 100


# astronomy: radial velocity with Kepler solver, periodogram by lstsq
@prog("astronomy", lambda: (np.array([3.1, 0.2, 0.5, 1.1]), np.linspace(0, 10, 25)))
def rv(p, t):
    P, e, w, tp = p
    M = 2 * np.pi * (t - tp) / P
    E = M.copy()
    while True:
        dE = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        E = E - dE
        if np.max(np.abs(dE)) < 1e-13:
            break
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    base = np.cos(nu + w) + e * np.cos(w)
    A = np.column_stack([base, np.ones_like(t), t])
    y = 20 * np.sin(2 * np.pi * t / 3.0) + 3
    coef, *_ = np.linalg.lstsq(A, y, rcond=None)
    return np.sum((y - A @ coef) ** 2) / 100


# control: discrete Riccati recursion + LQG with list of gains
@prog(
    "control", lambda: (np.array([[1.0, 0.1], [-0.2, 0.95]]), np.array([[0.0], [0.1]]), np.diag([1.0, 0.1])), (0, 1, 2)
)
def lqr(A, B, Q):
    P, R = Q, np.array([[0.5]])
    gains = []
    for _ in range(30):
        K = inv(R + B.T @ P @ B) @ (B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    x, J = np.array([[1.0], [0.0]]), 0.0
    for K in gains[::-1]:
        u = -K @ x
        J += (x.T @ Q @ x + u.T @ R @ u).item()
        x = A @ x + B @ u
    return J


# ecology: integral projection model with outer products and power iteration
@prog("ecology", lambda: (np.array([0.2, 0.9, 0.3, -2.0, 1.1]),))
def ipm(p):
    a, b, sd, s0, s1 = p
    L, U, n = 0.0, 8.0, 20
    h = (U - L) / n
    mesh = L + h * (np.arange(n) + 0.5)
    G = h * stats.norm.pdf(mesh[:, np.newaxis], loc=a + b * mesh, scale=sd + 0.3)
    S = expit(s0 + s1 * mesh)
    F = h * np.outer(stats.norm.pdf(mesh, 1.0, 0.4), np.where(mesh > 4, 0.3 * mesh, 0))
    K = G * S + F
    v = np.ones(n)
    for _ in range(60):
        v = K @ v
        lam = norm(v)
        v /= lam
    return np.log(lam)


# insurance: chain ladder on a triangle with nan cells
@prog(
    "insurance",
    lambda: (
        np.array(
            [[100.0, 150, 170, 175], [110, 168, 190, np.nan], [120, 175, np.nan, np.nan], [130, np.nan, np.nan, np.nan]]
        ),
    ),
)
def chain_ladder(tri):
    n = tri.shape[0]
    full = tri.copy()
    factors = []
    for j in range(n - 1):
        known = ~np.isnan(tri[:, j + 1])
        f = tri[known, j + 1].sum() / tri[known, j].sum()
        factors.append(f)
        full[~known, j + 1] = full[~known, j] * f
    ult = full[:, -1]
    latest = np.array([tri[i, n - 1 - i] for i in range(n)])
    return (ult - latest).sum() + np.prod(factors)


# fluid mechanics: pipe network Hardy Cross, loops given as dicts of signed pipes
@prog("hydraulics", lambda: (np.array([10.0, 20.0, 15.0, 8.0, 12.0]), np.array([0.6, 0.4, 0.1, 0.5, 0.3])), (0, 1))
def hardy_cross(r, q0):
    loops = [{0: 1, 2: 1, 1: -1}, {3: 1, 4: -1, 2: -1}]
    q = list(q0)
    for _ in range(10):
        for loop in loops:
            num = sum(s * r[k] * (s * q[k]) * abs(q[k]) * s for k, s in loop.items())
            den = sum(2 * r[k] * abs(q[k]) for k in loop)
            dq = -num / den
            for k, s in loop.items():
                q[k] += s * dq
    return sum(r_ * abs(q_) ** 3 for r_, q_ in zip(r, q))


# machine learning: small RNN with list-of-dict params and einsum attention readout
@prog(
    "ml",
    lambda: (
        [
            {"W": rng(70 + i).normal(size=(4, 4)) * 0.3, "U": rng(80 + i).normal(size=(4, 4)) * 0.3, "b": np.zeros(4)}
            for i in range(2)
        ],
        rng(90).normal(size=(6, 4)),
    ),
    (0, 1),
)
def rnn(params, xs):
    seq = xs
    for layer in params:
        h, outs = np.zeros(4), []
        for x in seq:
            h = np.tanh(x @ layer["W"] + h @ layer["U"] + layer["b"])
            outs.append(h)
        seq = np.stack(outs)
    score = np.einsum("td,d->t", seq, seq[-1]) / 2.0
    w = np.exp(score - logsumexp(score))
    return (w @ seq).sum() ** 2


# statistics: beta-binomial mixture EM with memoised gammaln via functools.partial
@prog("statistics", lambda: (np.array([0.4, 1.2, 2.0, 3.0, 0.8]), np.array([1, 3, 0, 7, 9, 5]), 10))
def betabinom(theta, k, n):
    pi, *ab = theta

    def logpmf(k, a, b, n):
        return (
            gammaln(n + 1)
            - gammaln(k + 1)
            - gammaln(n - k + 1)
            + special.betaln(k + a, n - k + b)
            - special.betaln(a, b)
        )

    comps = [functools.partial(logpmf, a=a, b=b, n=n) for a, b in zip(ab[::2], ab[1::2])]
    mix = np.array([np.log(w) + c(k) for w, c in zip((pi, 1 - pi), comps)])
    return -logsumexp(mix, axis=0).sum()
