import functools
import itertools
import math
from functools import wraps

import numpy as np
import scipy.linalg
import scipy.special
import scipy.stats

from tests.field_programs import collection

PROGRAMS, prog = collection()


# decorator with wraps and memo-less; function returning multiple with dict
def scaled(factor):
    def deco(fn):
        @wraps(fn)
        def inner(*args, **kw):
            return factor * fn(*args, **kw)

        return inner

    return deco


@scaled(2.0)
def potential(r, *, k=1.0, r0=1.0):
    return 0.5 * k * (r - r0) ** 2


@prog("md", lambda: (np.random.default_rng(1).normal(size=(5, 3)), 3.0), (0, 1))
def chain_energy(x, k):
    bonds = x[1:] - x[:-1]
    r = np.sqrt(np.einsum("...i,...i", bonds, bonds))
    cos_t = np.sum(bonds[:-1] * -bonds[1:], -1) / (r[:-1] * r[1:])
    theta = np.arccos(np.clip(cos_t, -1.0, 1.0))
    n1 = np.cross(bonds[:-2], bonds[1:-1])
    n2 = np.cross(bonds[1:-1], bonds[2:])
    m1 = np.cross(n1, bonds[1:-1] / r[1:-1, None])
    phi = np.arctan2((m1 * n2).sum(1), (n1 * n2).sum(1))
    return potential(r, k=k, r0=1.2).sum() + np.sum((theta - 1.9) ** 2) + np.sum(1 + np.cos(3 * phi - 0.3))


# pipeline of callables, reduce compose
def compose(*fs):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)


@prog("ml", lambda: (np.random.default_rng(3).normal(size=(4, 5)), np.array([0.5, -0.2, 0.1])), (0, 1))
def pipeline(x, w):
    standardize = lambda z: (z - z.mean(0)) / (z.std(0, ddof=1) + 1e-8)
    clip = functools.partial(np.clip, a_min=-1.2, a_max=1.2)
    poly = lambda z: w[0] + w[1] * z + w[2] * z**2
    f = compose(standardize, clip, poly, np.tanh)
    return f(x).sum() + f(x[::-1, ::-2]).prod()


# reservoir: Buckley-Leverett, upwind & CFL subcycling
@prog("reservoir", lambda: (2.0, 3.0, np.full(20, 0.2)), (0, 1, 2))
def buckley_leverett(nw, M, s0):
    s = np.array(s0)
    t, t_end, dx = 0.0, 0.15, 1.0 / len(s)
    frac = lambda s: s**nw / (s**nw + (1 - s) ** nw / M)
    while t < t_end:
        ds = 1e-4
        speed = (frac(np.minimum(s + ds, 1)) - frac(s)) / ds
        dt = min(0.01, t_end - t)
        f = np.concatenate(([1.0], frac(s)))
        s -= dt / dx * np.diff(f)
        np.clip(s, 0.0, 1.0, out=s)
        t += dt
    return s.mean() + s[np.argmax(s < 0.5)]


# tomography: sparse operators & CG
@prog("inverse", lambda: (np.random.default_rng(4).normal(size=12), 0.3), (0, 1))
def tikhonov_cg(d, lam):
    n = d.size
    D = np.diff(np.eye(n), axis=0)
    A = scipy.linalg.toeplitz(np.exp(-0.3 * np.arange(n) ** 2))

    def matvec(v):
        return A.T @ (A @ v) + lam * D.T @ (D @ v)

    x = np.zeros(n)
    r = A.T @ d - matvec(x)
    p, rs = r.copy(), r @ r
    for k in range(2 * n):
        Ap = matvec(p)
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if math.sqrt(rs_new) < 1e-12:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return np.linalg.norm(x, 1) + np.abs(D @ x).max()


# seismics: eikonal fast sweeping with sorted neighbours
@prog("seismic", lambda: (np.random.default_rng(5).uniform(1, 2, (6, 7)),), (0,))
def fast_sweep(slow):
    ny, nx = slow.shape
    T = np.full((ny + 2, nx + 2), 1e9)
    T[1, 1] = 0
    h = 0.5
    for sy, sx in itertools.product((1, -1), (1, -1)):
        for i in range(ny)[::sy]:
            for j in range(nx)[::sx]:
                if (i, j) == (0, 0):
                    continue
                a = min(T[i, j + 1], T[i + 2, j + 1])
                b = min(T[i + 1, j], T[i + 1, j + 2])
                a, b = sorted((a, b))
                f = slow[i, j] * h
                cand = a + f if b - a >= f else (a + b + math.sqrt(2 * f * f - (a - b) ** 2)) / 2
                T[i + 1, j + 1] = min(T[i + 1, j + 1], cand)
    inner = T[1:-1, 1:-1]
    return inner[-1, -1] + inner.mean()


# numerics: Rosenbrock stiff w/ jacobian finite; complex-step derivative
@prog("stiff", lambda: (np.array([0.04, 3e1, 1e2]), np.array([1.0, 0.0, 0.0])), (0, 1))
def robertson(k, y0):
    def f(y):
        r1, r2, r3 = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.array([-r1 + r2, r1 - r2 - r3, r3])

    def jac(y):
        J = np.zeros((3, 3))
        for j in range(3):
            yc = y.astype(complex)
            yc[j] += 1e-20j
            J[:, j] = np.imag(f(yc)) / 1e-20
        return J

    y, h = y0, 0.1
    for _ in range(15):
        yn = y
        for it in range(3):
            F = yn - y - h * f(yn)
            yn = yn - np.linalg.solve(np.eye(3) - h * jac(yn), F)
        y = yn
    return y @ np.array([1.0, 100.0, 2.0])
