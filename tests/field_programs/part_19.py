import math
from collections import namedtuple

import numpy as np
from numpy import exp, log, pi, sqrt
from numpy.linalg import norm

from tests.field_programs import collection

PROGRAMS, prog = collection()

Point = namedtuple("Point", "x y")


# surveying: polygon area/centroid/moment via roll and zip
@prog("surveying", lambda: (np.array([[0.0, 0], [4, 0.2], [5, 3], [2, 4.5], [-0.5, 2]]),), (0,))
def polygon_props(pts):
    x, y = pts.T
    x2, y2 = np.roll(x, -1), np.roll(y, -1)
    cr = x * y2 - x2 * y
    A = cr.sum() / 2
    cx, cy = ((x + x2) * cr).sum() / (6 * A), ((y + y2) * cr).sum() / (6 * A)
    per = 0.0
    poly = [Point(*p) for p in pts]
    for a, b in zip(poly, poly[1:] + poly[:1]):
        per += math.dist(a, b)
    Ixx = (cr * (y * y + y * y2 + y2 * y2)).sum() / 12
    return 4 * pi * A / per**2 + cx * cy + Ixx / A


# graph: Floyd–Warshall soft, Dijkstra with heap
@prog("networks", lambda: (np.random.default_rng(1).uniform(0.5, 3, (6, 6)),), (0,))
def efficiency(W):
    n = len(W)
    D = W.copy()
    D[range(n), range(n)] = 0
    for k in range(n):
        D = np.minimum(D, D[:, k, None] + D[None, k, :])
    iu = np.triu_indices(n, k=1)
    return np.mean(1 / D[iu]) + D[np.tril_indices(n, -1)].max()


# pharmacology: multi-dose PK with dict of models and try/except/ raise
class DoseError(ValueError):
    pass


@prog("pharma", lambda: ({"CL": 5.0, "V": 40.0, "ka": 1.2}, np.array([100.0, 50.0, 50.0])), (0, 1))
def pk_auc(theta, doses, interval=12.0, route="oral"):
    if route not in ("oral", "iv"):
        raise DoseError(f"{route=} not known")
    ke = theta["CL"] / theta["V"]
    t = np.arange(0, 48, 0.5)
    conc = np.zeros(t.shape)
    for k, dose in enumerate(doses):
        tau = t - k * interval
        on = tau >= 0
        if route == "iv":
            conc[on] += dose / theta["V"] * exp(-ke * tau[on])
        else:
            ka = theta["ka"]
            assert abs(ka - ke) > 1e-9
            conc[on] += dose * ka / (theta["V"] * (ka - ke)) * (exp(-ke * tau[on]) - exp(-ka * tau[on]))
    auc = ((conc[1:] + conc[:-1]) / 2 * np.diff(t)).sum()
    return auc + conc.max() * 3 + t[conc > 1.0].size * 0.0


# optimization: BFGS by hand with line search, closure for gradient
@prog("optim", lambda: (np.array([-1.2, 1.0, 0.5]), 5.0), (0, 1))
def bfgs_rosen(x0, b):
    def f(x):
        return sum(b * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(x) - 1))

    def g(x):
        out = np.zeros_like(x)
        out[:-1] += -4 * b * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        out[1:] += 2 * b * (x[1:] - x[:-1] ** 2)
        return out

    n = x0.size
    H = np.identity(n)
    x, gx = x0, g(x0)
    I = np.eye(n)
    for it in range(5):
        p = -H @ gx
        t = 1.0
        while f(x + t * p) > f(x) + 1e-4 * t * gx @ p:
            t *= 0.5
            if t < 1e-8:
                break
        s = t * p
        x = x + s
        gn = g(x)
        y = gn - gx
        rho = 1 / (y @ s)
        H = (I - rho * np.outer(s, y)) @ H @ (I - rho * np.outer(y, s)) + rho * np.outer(s, s)
        gx = gn
    return f(x)


# sound: LPC via Levinson-Durbin with lists
@prog("speech", lambda: (np.random.default_rng(3).normal(size=50),), (0,))
def lpc_gain(x):
    order = 5
    w = x * np.hamming(len(x))
    r = [np.dot(w[: len(w) - k], w[k:]) for k in range(order + 1)]
    a = [1.0] + [0.0] * order
    e = r[0]
    for i in range(1, order + 1):
        k = -sum(a[j] * r[i - j] for j in range(i)) / e
        new = a[:]
        for j in range(1, i):
            new[j] = a[j] + k * a[i - j]
        new[i] = k
        a = new
        e *= 1 - k * k
    return log(e) + sum(v * v for v in a[1:])


# spatial: Voronoi-like soft assign k-means w/ fancy index, argmin, unique, bincount
@prog("stats", lambda: (np.random.default_rng(4).normal(size=(20, 2)),), (0,))
def kmeans_of_moving_centres(X, k=3, iters=6):
    C = X[:k].copy()
    for _ in range(iters):
        d = np.linalg.norm(X[:, None, :] - C[None, :, :], axis=-1)
        lab = d.argmin(axis=1)
        for j in range(k):
            members = X[lab == j]
            if len(members):
                C[j] = members.mean(axis=0)
    counts = np.bincount(lab, minlength=k)
    inertia = np.sum((X - C[lab]) ** 2)
    return inertia + (counts / counts.sum()) @ norm(C, axis=1)


# electro: multipole using Legendre & sph harmonics via loops; scipy eval
@prog(
    "em",
    lambda: (
        np.array([[0.1, 0.2, 0.3], [-0.2, 0.1, -0.1], [0.0, -0.3, 0.2]]),
        np.array([1.0, -2.0, 1.5]),
        np.array([2.0, 1.0, 1.5]),
    ),
    (0, 1, 2),
)
def multipole_potential(src, q, obs):
    R = norm(obs)
    phi = 0
    for l in range(5):
        ql = 0.0
        for s, qq in zip(src, q):
            rs = norm(s)
            ct = s @ obs / (rs * R)
            p0, p1 = 1.0, ct
            if l == 0:
                pl = p0
            elif l == 1:
                pl = p1
            else:
                for m in range(2, l + 1):
                    p0, p1 = p1, ((2 * m - 1) * ct * p1 - (m - 1) * p0) / m
                pl = p1
            ql += qq * rs**l * pl
        phi += ql / R ** (l + 1)
    direct = sum(qq / norm(obs - s) for s, qq in zip(src, q))
    return phi + (phi - direct) ** 2


# meteorology: thermodynamic profile, moist adiabat; np.interp, searchsorted & any/all
@prog("meteo", lambda: (300.0, 0.012, np.linspace(298, 220, 12)), (0, 2))
def cape(T0, q0, env):
    p = np.linspace(1000, 200, 12)
    Rd, cp, Lv, eps = 287.0, 1004.0, 2.5e6, 0.622

    def es(T):
        return 6.112 * exp(17.67 * (T - 273.15) / (T - 29.65))

    T, q, total = T0, q0, 0.0
    started = False
    for lev in range(1, len(p)):
        dlnp = log(p[lev - 1] / p[lev])
        qs = eps * es(T) / (p[lev] - es(T))
        if q < qs and not started:
            T = T * (p[lev] / p[lev - 1]) ** (Rd / cp)
        else:
            started = True
            gamma = (Rd * T / cp + Lv * qs / cp) / (1 + Lv**2 * qs * eps / (cp * Rd * T**2))
            T -= gamma * dlnp
        buoy = T - env[lev]
        if buoy > 0:
            total += Rd * buoy * dlnp
    return total


# crypto/quant: implied vol w/ bisection + newton polishing
def bs_call(S, K, T, r, sig):
    d1 = (log(S / K) + (r + sig**2 / 2) * T) / (sig * sqrt(T))
    d2 = d1 - sig * sqrt(T)
    N = lambda z: 0.5 * (1 + math.erf(z / math.sqrt(2)))
    return S * N(d1) - K * exp(-r * T) * N(d2)


@prog("finance", lambda: (10.0, 100.0), (0, 1))
def implied_vol(price, S, K=100.0, T=1.0, r=0.01):
    lo, hi = 1e-4, 3.0
    while hi - lo > 1e-3:
        mid = 0.5 * (lo + hi)
        if bs_call(S, K, T, r, mid) > price:
            hi = mid
        else:
            lo = mid
    sig = 0.5 * (lo + hi)
    for _ in range(6):
        d1 = (log(S / K) + (r + sig**2 / 2) * T) / (sig * sqrt(T))
        vega = S * exp(-(d1**2) / 2) / sqrt(2 * pi) * sqrt(T)
        sig -= (bs_call(S, K, T, r, sig) - price) / vega
    return sig
