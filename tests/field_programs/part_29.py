import bisect
import collections
import functools
import itertools
import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from scipy import special, stats

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# psychology: Rescorla-Wagner learning with softmax choice and a sticky bonus
@prog(
    "psychology",
    lambda: ({"alpha": 0.3, "beta": 2.5, "stick": 0.4}, [0, 1, 1, 0, 2, 1], [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
)
def rescorla(params, choices, rewards):
    alpha, beta, stick = (params[k] for k in ("alpha", "beta", "stick"))
    Q = np.zeros(3)
    last = None
    ll = 0.0
    for c, r in zip(choices, rewards):
        logits = beta * Q
        if last is not None:
            logits[last] += stick
        logits -= special.logsumexp(logits)
        ll += logits[c]
        Q[c] += alpha * (r - Q[c])
        last = c
    return -ll


# archaeology: radiocarbon calibration with an interpolated curve and a phase model
@prog(
    "archaeology",
    lambda: (np.array([2710.0, 2655.0, 2560.0]), np.array([2480.0, 2455.0, 2460.0]), np.array([25.0, 30.0, 28.0])),
)
def calibration(ages, measured, error):
    grid = np.arange(2300, 2901, 50)
    curve = 0.92 * grid + 30 * np.sin(grid / 40.0)
    curve_sd = np.full(len(grid), 12.0)
    mu = np.interp(ages, grid, curve)
    sd = np.hypot(np.interp(ages, grid, curve_sd), error)
    logp = stats.norm(mu, sd).logpdf(measured).sum()
    span = np.ptp(ages)
    return logp - 2 * np.log(span) - np.sum(np.diff(np.sort(ages)) ** 2) / 1e4


# queueing networks: mean value analysis, closed network
@prog("queueing", lambda: (np.array([0.05, 0.08, 0.04]), np.array([1.0, 0.5, 0.7]), 8))
def mva(service, visits, customers):
    Q = [0.0] * len(service)
    X = 0.0
    for n in range(1, customers + 1):
        R = [v * s * (1 + q) for v, s, q in zip(visits, service, Q)]
        X = n / (1.5 + sum(R))
        Q = [X * r for r in R]
    bottleneck = max(range(len(Q)), key=Q.__getitem__)
    return X + 0.1 * Q[bottleneck]


# nuclear engineering: a Bateman chain with branching, by the general solution
@prog("nuclear", lambda: (np.array([0.5, 0.2, 0.9, 0.05]), 3.0))
def bateman(lam, t):
    def atoms(n):
        prod = math.prod(lam[:n])
        total = 0.0
        for i in range(n + 1):
            denom = 1.0
            for j in range(n + 1):
                if j == i:
                    continue
                denom *= lam[j] - lam[i]
            total += math.exp(-lam[i] * t) / denom
        return prod * total

    return sum((k + 1) * atoms(k) for k in range(len(lam)))


# telecommunications: water filling by bisection, then the sum rate of an OFDM link
@prog("telecom", lambda: (np.array([1.2, 0.3, 2.2, 0.05, 0.9]), 2.0))
def water_filling(gains, power):
    lo, hi = 0.0, power + 1 / gains.min()
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        used = np.maximum(mid - 1 / gains, 0).sum()
        lo, hi = (mid, hi) if used < power else (lo, mid)
    active = lo > 1 / gains
    level = (power + (1 / gains[active]).sum()) / np.count_nonzero(active)
    p = np.where(active, level - 1 / gains, 0.0)
    return np.log2(1 + p * gains).sum()


# chemistry: Hueckel theory of a ring with a heteroatom, bond orders
@prog("quantum chemistry", lambda: (np.array([0.5, 0.0, 0.0, 0.1, 0.0, 0.2]), -1.0))
def huckel(alpha, beta):
    n = alpha.size
    H = np.diag(alpha)
    for i in range(n):
        j = (i + 1) % n
        H[i, j] = H[j, i] = beta * (1 + 0.1 * i)
    E, C = np.linalg.eigh(H)
    occ = np.zeros(n)
    occ[: n // 2] = 2
    P = (C * occ) @ C.T
    bonds = [P[i, (i + 1) % n] for i in range(n)]
    return occ @ E + np.var(bonds)


# quantum computing: a variational eigensolver with gates as tensors
@prog("quantum computing", lambda: (np.array([0.3, -0.8, 1.1, 0.4, 0.9, -0.2]),))
def vqe(theta):
    X = np.array([[0, 1], [1, 0]], dtype=complex)
    Z = np.diag([1.0 + 0j, -1.0])
    I = np.eye(2)
    CNOT = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])

    def ry(t):
        return np.array([[np.cos(t / 2), -np.sin(t / 2)], [np.sin(t / 2), np.cos(t / 2)]])

    def rz(t):
        return np.array([[np.exp(-0.5j * t), 0], [0, np.exp(0.5j * t)]])

    state = np.zeros(4, dtype=complex)
    state[0] = 1.0
    for a, b, c in theta.reshape(-1, 3):
        state = np.kron(ry(a), rz(b) @ ry(c)) @ state
        state = CNOT @ state
    H = 0.5 * np.kron(Z, Z) + 0.3 * np.kron(X, I) - 0.7 * np.kron(I, X)
    return np.vdot(state, H @ state).real


# transport: user equilibrium by Frank-Wolfe on a small network of dicts
@prog("transport", lambda: ({"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.5, "e": 0.25}, 6.0))
def user_equilibrium(t0, demand):
    capacity = {"a": 3.0, "b": 4.0, "c": 3.5, "d": 3.0, "e": 2.0}
    routes = [("a", "d"), ("b", "c"), ("a", "e", "c")]
    flow = dict.fromkeys(t0, 0.0)

    def cost(link):
        return t0[link] * (1 + 0.15 * (flow[link] / capacity[link]) ** 4)

    for it in range(12):
        times = [sum(cost(l) for l in r) for r in routes]
        best = times.index(min(times))
        step = 2.0 / (it + 2)
        for link in flow:
            target = demand if link in routes[best] else 0.0
            flow[link] += step * (target - flow[link])
    return sum(flow[l] * cost(l) for l in flow)


# ecology: an integral projection model, dominant eigenvalue by power iteration
@prog("ecology", lambda: (np.array([-1.0, 0.8, 0.3, 0.9, 0.2]),))
def ipm_growth(theta):
    b0, b1, g0, g1, sg = theta
    L, U, m = 0.0, 5.0, 20
    h = (U - L) / m
    y = L + h * (np.arange(m) + 0.5)
    surv = 1 / (1 + np.exp(-(b0 + b1 * y)))
    G = stats.norm.pdf(y[:, None], loc=g0 + g1 * y[None, :], scale=np.exp(sg))
    F = 0.6 * np.outer(stats.norm.pdf(y, 0.5, 0.4), np.exp(0.2 * y))
    K = h * (G * surv + F)
    w = np.ones(m) / m
    lam, prev = 1.0, 0.0
    while abs(lam - prev) > 1e-13:
        w = K @ w
        prev, lam = lam, w.sum()
        w /= lam
    return np.log(lam) + w @ y


# natural language: linear-chain CRF with forward algorithm, features from strings
@prog(
    "natural language",
    lambda: (rng(3).normal(size=(3, 4)) * 0.5, rng(4).normal(size=(3, 3)) * 0.5, ["the", "cat", "sat", "the"], "DNVD"),
    (0, 1),
)
def crf(W, T, words, tags):
    vocab = {w: i for i, w in enumerate(sorted(set(words) | {"mat"}))}
    labels = {t: i for i, t in enumerate("DNV")}
    xs = [vocab[w] for w in words]
    ys = [labels[t] for t in tags]
    score = W[ys[0], xs[0]]
    alpha = W[:, xs[0]]
    for t in range(1, len(xs)):
        score += T[ys[t - 1], ys[t]] + W[ys[t], xs[t]]
        alpha = np.logaddexp.reduce(alpha[:, None] + T, axis=0) + W[:, xs[t]]
    return special.logsumexp(alpha) - score


# plasma physics: a Grad-Shafranov like elliptic problem with a nonlinear source, Picard
@prog("plasma physics", lambda: (1.3, 0.7, 0.4))
def grad_shafranov(p0, f0, width):
    n = 9
    R = np.linspace(0.5, 1.5, n)
    Z = np.linspace(-0.5, 0.5, n)
    RR, ZZ = np.meshgrid(R, Z, indexing="ij")
    dR, dZ = R[1] - R[0], Z[1] - Z[0]
    psi = np.exp(-((RR - 1) ** 2 + ZZ**2) / width**2)
    psi[[0, -1], :] = 0
    psi[:, [0, -1]] = 0
    for _ in range(15):
        j = RR**2 * p0 * psi + f0 * np.sqrt(1 + psi**2)
        new = psi.copy()
        east = psi[2:, 1:-1] * (1 / dR**2 - 1 / (2 * dR * RR[1:-1, 1:-1]))
        west = psi[:-2, 1:-1] * (1 / dR**2 + 1 / (2 * dR * RR[1:-1, 1:-1]))
        vert = (psi[1:-1, 2:] + psi[1:-1, :-2]) / dZ**2
        new[1:-1, 1:-1] = (east + west + vert + j[1:-1, 1:-1]) / (2 / dR**2 + 2 / dZ**2)
        psi = 0.5 * psi + 0.5 * new
    k = np.unravel_index(np.argmax(psi), psi.shape)
    return psi[k] + psi.sum() * dR * dZ


# pharmacology: a PBPK model, organs as dataclass objects in a dict
@dataclass
class Organ:
    volume: float
    flow: float
    kp: float
    amount: float = 0.0

    @property
    def conc(self):
        return self.amount / self.volume


@prog(
    "pharmacology",
    lambda: ({"liver": Organ(1.8, 1.45, 2.1), "gut": Organ(1.1, 1.1, 1.5), "muscle": Organ(29.0, 0.75, 0.9)}, 3.0),
)
def pbpk(organs, clearance):
    blood = Organ(volume=5.2, flow=sum(o.flow for o in organs.values()), kp=1.0, amount=100.0)
    dt, auc = 0.05, 0.0
    for step in range(100):
        cb = blood.conc
        auc += cb * dt
        back = 0.0
        for name, organ in organs.items():
            out = organ.flow * organ.conc / organ.kp
            rate = organ.flow * cb - out
            if name == "liver":
                rate -= clearance * organ.conc
            organ.amount += dt * rate
            back += out
        blood.amount += dt * (back - blood.flow * cb)
    return auc


# macroeconomics: a small DSGE, linear rational expectations solved by iteration
@prog("macroeconomics", lambda: (np.array([0.99, 1.5, 0.1, 0.7]), rng(6).normal(size=(20, 2))))
def dsge(theta, shocks):
    beta, phi, kappa, rho = theta
    A = np.array([[1.0, 1.0], [0.0, beta]])
    B = np.array([[1.0, phi], [-kappa, 1.0]])
    P = np.zeros((2, 2))
    C = np.array([[1.0, 0.2], [0.0, 1.0]])
    R = rho * np.eye(2)
    for _ in range(50):
        P = np.linalg.solve(B, A @ P @ R + C)
    z = np.zeros(2)
    loss = 0.0
    for e in shocks:
        z = R @ z + 0.1 * e
        x = P @ z
        loss += x @ np.diag([0.5, 1.0]) @ x
    return loss / len(shocks)


# insurance: a t copula with gamma margins, log-likelihood
@prog("insurance", lambda: (np.array([2.0, 1.5, 0.8, 3.0, 0.4]), np.abs(rng(8).normal(2, 0.8, size=(15, 2))) + 0.1))
def copula(theta, losses):
    a1, s1, a2, s2, r = theta
    u = np.column_stack([stats.gamma.cdf(losses[:, 0], a1, scale=s1), stats.gamma.cdf(losses[:, 1], a2, scale=s2)])
    z = stats.norm.ppf(u)
    rho = np.tanh(r)
    q = (z[:, 0] ** 2 - 2 * rho * z[:, 0] * z[:, 1] + z[:, 1] ** 2) / (1 - rho**2)
    logc = -0.5 * np.log1p(-(rho**2)) - 0.5 * q + 0.5 * (z**2).sum(axis=1)
    margins = stats.gamma.logpdf(losses[:, 0], a1, scale=s1) + stats.gamma.logpdf(losses[:, 1], a2, scale=s2)
    return np.mean(logc + margins)


# robotics: iterative LQR, backward and forward pass, namedtuple for the gains
Gains = namedtuple("Gains", "K k")


@prog("robotics", lambda: (np.array([1.0, 0.2]), 0.5, np.array([0.0, 0.1, 0.0, -0.1, 0.0])))
def ilqr(x0, mass, u):
    dt = 0.1

    def f(x, u):
        return np.array([x[0] + dt * x[1], x[1] + dt * (u / mass - np.sin(x[0]))])

    u = list(u)
    for _ in range(2):
        xs = [x0]
        for ut in u:
            xs.append(f(xs[-1], ut))
        Vx, Vxx = 2 * xs[-1], 2 * np.eye(2)
        gains = []
        for x, ut in zip(reversed(xs[:-1]), reversed(u)):
            A = np.array([[1.0, dt], [-dt * np.cos(x[0]), 1.0]])
            B = np.array([0.0, dt / mass])
            Qu = 0.02 * ut + B @ Vx
            Qx = 0.2 * x + A.T @ Vx
            Quu = 0.02 + B @ Vxx @ B
            Qux = B @ Vxx @ A
            gains.insert(0, Gains(K=-Qux / Quu, k=-Qu / Quu))
            Vx = Qx + gains[0].K * Qu
            Vxx = 0.2 * np.eye(2) + A.T @ Vxx @ A + np.outer(gains[0].K, Qux)
        x, new = x0, []
        for g, ut, ref in zip(gains, u, xs):
            unew = ut + g.k + g.K @ (x - ref)
            new.append(unew)
            x = f(x, unew)
        u = new
    cost = 0.0
    x = x0
    for ut in u:
        cost += 0.1 * x @ x + 0.01 * ut**2
        x = f(x, ut)
    return cost + x @ x


# sports analytics: Glicko ratings over a season of games given as tuples
@prog(
    "sports",
    lambda: (
        {"ann": 1500.0, "bob": 1600.0, "cy": 1450.0},
        [("ann", "bob", 1.0), ("cy", "ann", 0.5), ("bob", "cy", 1.0), ("ann", "cy", 1.0)],
    ),
)
def glicko(ratings, games):
    q = math.log(10) / 400
    rd = {name: 200.0 for name in ratings}
    ratings = dict(ratings)
    loglik = 0.0
    for home, away, score in games:
        g = lambda d: 1 / math.sqrt(1 + 3 * q**2 * d**2 / math.pi**2)
        E = 1 / (1 + 10 ** (-g(rd[away]) * (ratings[home] - ratings[away]) / 400))
        loglik += score * math.log(E) + (1 - score) * math.log(1 - E)
        d2 = 1 / (q**2 * g(rd[away]) ** 2 * E * (1 - E))
        denom = 1 / rd[home] ** 2 + 1 / d2
        delta = q / denom * g(rd[away]) * (score - E)
        ratings[home], ratings[away] = ratings[home] + delta, ratings[away] - delta
        rd[home] = min(math.sqrt(1 / denom), 350.0)
    ranking = sorted(ratings.items(), key=lambda kv: kv[1], reverse=True)
    return loglik + (ranking[0][1] - ranking[-1][1]) / 1000


# image processing: bilateral filter with padding and shifts
@prog("image processing", lambda: (rng(11).random((7, 8)), 0.8, 0.3), (0, 1, 2))
def bilateral(img, sigma_s, sigma_r):
    pad = np.pad(img, 1, mode="reflect")
    out = np.zeros_like(img)
    norm = np.zeros_like(img)
    h, w = img.shape
    for dy, dx in itertools.product((-1, 0, 1), repeat=2):
        shifted = pad[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]
        weight = np.exp(-(dx * dx + dy * dy) / (2 * sigma_s**2) - (shifted - img) ** 2 / (2 * sigma_r**2))
        out += weight * shifted
        norm += weight
    return np.mean((out / norm - img) ** 2) + np.abs(np.gradient(out / norm, axis=0)).max()


# acoustics: Karplus-Strong string with a fractional delay, ring buffer by deque
@prog("acoustics", lambda: (np.array([0.3, -0.5, 0.8, 0.1, -0.9, 0.4]), 0.98, 0.3), (0, 1, 2))
def karplus(burst, damping, frac):
    buf = collections.deque(burst)
    out = []
    prev = 0.0
    for n in range(24):
        x = buf.popleft()
        y = damping * ((1 - frac) * x + frac * prev)
        prev = x
        buf.append(y)
        out.append(y)
    spectrum = np.abs(np.fft.rfft(np.array(out) * np.hanning(len(out)))) ** 2
    return np.sum(spectrum * np.arange(spectrum.size)) / spectrum.sum()


# mixed models: restricted likelihood with random intercepts by groups in a dict
@prog(
    "statistics",
    lambda: (np.array([0.5, -0.3, 0.2, -0.1]), rng(12).normal(size=12), rng(13).normal(size=12), list("aabbbccccdda")),
)
def mixed_model(theta, y, x, groups):
    b0, b1, ls, lt = theta
    s2, t2 = np.exp(ls), np.exp(lt)
    members = collections.defaultdict(list)
    for i, g in enumerate(groups):
        members[g].append(i)
    nll = 0.0
    for g in sorted(members):
        idx = members[g]
        r = y[idx] - b0 - b1 * x[idx]
        n = len(idx)
        V = s2 * np.eye(n) + t2
        sign, logdet = np.linalg.slogdet(V)
        nll += 0.5 * (logdet + r @ np.linalg.solve(V, r))
    return nll


# optics: Gaussian beam through lenses, complex q parameter, elements as list of tuples
@prog("optics", lambda: ([("space", 0.2), ("lens", 0.1), ("space", 0.15), ("lens", 0.05), ("space", 0.06)], 1e-3))
def beam(elements, waist):
    wavelength = 633e-9
    q = 1j * math.pi * waist**2 / wavelength
    for kind, value in elements:
        if kind == "space":
            q = q + value
        elif kind == "lens":
            q = q / (-q / value + 1)
        else:
            raise ValueError(kind)
    w = np.sqrt(-wavelength / (np.pi * (1 / q).imag))
    return w * 1e6 + 1e-3 * q.real


# astronomy: orbit from Gauss, Stumpff functions and universal Kepler by Newton
def stumpff(z):
    if z > 1e-6:
        s = math.sqrt(z)
        return (1 - math.cos(s)) / z, (s - math.sin(s)) / s**3
    if z < -1e-6:
        s = math.sqrt(-z)
        return (1 - math.cosh(s)) / z, (math.sinh(s) - s) / s**3
    return 0.5 - z / 24, 1 / 6 - z / 120


@prog("astrodynamics", lambda: (np.array([1.0, 0.1, 0.05]), np.array([0.1, 1.05, 0.2]), 2.3), (0, 1, 2))
def universal_kepler(r0, v0, t):
    r, v2 = np.linalg.norm(r0), v0 @ v0
    vr = r0 @ v0 / r
    alpha = 2 / r - v2
    chi = alpha * t
    for _ in range(100):
        C, S = stumpff(alpha * chi**2)
        F = r * vr * chi**2 * C + (1 - alpha * r) * chi**3 * S + r * chi - t
        dF = r * vr * chi * (1 - alpha * chi**2 * S) + (1 - alpha * r) * chi**2 * C + r
        step = F / dF
        chi -= step
        if abs(step) < 1e-14:
            break
    C, S = stumpff(alpha * chi**2)
    f = 1 - chi**2 / r * C
    g = t - chi**3 * S
    return np.sum((f * r0 + g * v0) * np.array([1.0, 2.0, 3.0]))


# speech: dynamic formant tracking cost with lpc roots
@prog(
    "speech", lambda: (np.sin(np.arange(40) * 0.9) * np.exp(-np.arange(40) / 15) + 0.1 * np.cos(np.arange(40) * 2.1),)
)
def formants(frame):
    w = frame * np.hamming(len(frame))
    r = np.correlate(w, w, mode="full")[len(w) - 1 : len(w) + 4]
    a = sla.solve_toeplitz(r[:-1], -r[1:])
    A = np.concatenate(([1.0], a))
    freqs = np.linspace(0, np.pi, 16)
    H = np.array([1 / abs(np.sum(A * np.exp(-1j * f * np.arange(A.size)))) for f in freqs])
    return np.log(H).std() + (r[0] + a @ r[1:]) / r[0]


# operations research: newsvendor network, smoothed, with partial and reduce
@prog("operations research", lambda: (np.array([12.0, 8.0, 15.0]), np.array([3.0, 2.5, 4.0])), (0, 1))
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


# meteorology: lifted parcel with bisect into a sounding
@prog("meteorology", lambda: (np.array([298.0, 290.0, 278.0, 262.0, 240.0]), 300.0, 0.014), (0, 1))
def lifted_index(env, t0, mixing):
    levels = [1000.0, 900.0, 750.0, 550.0, 350.0]
    heights = [100.0 * k for k in range(0, 60, 3)]
    T, q, total = t0, mixing, 0.0
    for z in heights[1:]:
        p = 1000.0 * math.exp(-z / 8000.0)
        es = 6.112 * math.exp(17.67 * (T - 273.15) / (T - 29.65))
        qs = 0.622 * es / (p - es)
        lapse = (
            9.8e-3
            if q < qs
            else 9.8e-3 * (1 + 2.5e6 * qs / (287 * T)) / (1 + 2.5e6**2 * 0.622 * qs / (1005 * 287 * T**2))
        )
        T -= lapse * 300.0
        q = min(q, qs)
        k = bisect.bisect([-l for l in levels], -p)
        w = (levels[k - 1] - p) / (levels[k - 1] - levels[k])
        Te = (1 - w) * env[k - 1] + w * env[k]
        total += 9.81 * (T - Te) / Te * 300.0
    return total


# machine learning: k-nearest soft voting with a Mahalanobis metric, NCA loss
@prog(
    "metric learning",
    lambda: (rng(21).normal(size=(2, 3)), rng(22).normal(size=(8, 3)), np.array([0, 1, 0, 1, 1, 0, 0, 1])),
    (0, 1),
)
def nca(L, X, labels):
    Z = X @ L.T
    D = ((Z[:, np.newaxis] - Z) ** 2).sum(-1)
    np.fill_diagonal(D, np.inf)
    P = special.softmax(-D, axis=1)
    same = labels[:, None] == labels
    return -np.log((P * same).sum(1)).mean()


# heat exchangers: effectiveness-NTU network with fixed point through scipy optimise-like brent
@prog("thermal engineering", lambda: (np.array([1.2, 0.8]), np.array([350.0, 290.0]), 2.0), (0, 1, 2))
def exchanger(cp_flow, inlet, ua):
    cmin, cmax = cp_flow.min(), cp_flow.max()
    cr = cmin / cmax
    ntu = ua / cmin
    match round(float(cr), 12):
        case 1.0:
            eff = ntu / (1 + ntu)
        case 0.0:
            eff = 1 - np.exp(-ntu)
        case _:
            e = np.exp(-ntu * (1 - cr))
            eff = (1 - e) / (1 - cr * e)
    heat = eff * cmin * (inlet[0] - inlet[1])
    hot, cold = inlet + np.array([-1, 1]) * heat / cp_flow
    return heat + abs(hot - cold)
