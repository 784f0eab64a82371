"""Library calls in context."""

import math

import numpy as np
import scipy.signal as sig
import scipy.special as sc
import scipy.stats as st

from tests.field_programs import collection

PROGRAMS, prog = collection()
R = np.random.default_rng


@prog("stats", lambda: (R(0).normal(1, 2, 30), R(1).normal(0.5, 1.5, 25)), (0, 1))
def welch_test(a, b):
    va, vb = np.var(a, ddof=1) / a.size, np.var(b, ddof=1) / b.size
    t = (a.mean() - b.mean()) / np.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    p = 2 * st.norm.sf(abs(t))
    mad = np.median(np.abs(a - np.median(a)))
    iqr = np.subtract(*np.percentile(b, [75, 25]))
    return t + p + 0.01 * df + mad / iqr + st.kurtosis(a) + st.skew(b)


@prog("geom", lambda: (R(4).normal(size=(6, 3)), R(5).normal(size=(6, 3))), (0, 1))
def kabsch_rmsd(P, Q):
    Pc, Qc = P - P.mean(0), Q - Q.mean(0)
    H = Pc.T @ Qc
    U, S, Vt = np.linalg.svd(H)
    d = np.sign(np.linalg.det(Vt.T @ U.T))
    D = np.diag([1.0, 1.0, d])
    Rm = Vt.T @ D @ U.T
    diff = Pc @ Rm.T - Qc
    return np.sqrt((diff**2).sum() / len(P)) + np.trace(Rm) * 0.1


@prog("ml", lambda: (R(6).normal(size=(5, 3)), R(7).normal(size=(3, 4)), R(8).normal(size=4)), (0, 1, 2))
def softmax_xent(X, W, b):
    labels = np.array([0, 3, 1, 1, 2])
    logits = X @ W + b
    logp = logits - sc.logsumexp(logits, axis=1, keepdims=True)
    nll = -np.take_along_axis(logp, labels[:, None], axis=1).mean()
    onehot = np.eye(4)[labels]
    brier = ((sc.softmax(logits, axis=1) - onehot) ** 2).sum(1).mean()
    smooth = -(0.9 * logp[np.arange(5), labels] + 0.025 * logp.sum(1)).mean()
    acc = (logits.argmax(1) == labels).mean()
    focal = ((1 - np.exp(logp[range(5), labels])) ** 2 * -logp[range(5), labels]).sum()
    return nll + brier + smooth + acc + focal


@prog("opt", lambda: (np.array([1.0, 2.0, 0.5]), 1.5), (0, 1))
def simplex_projection(v, z):
    u = np.sort(v)[::-1]
    css = np.cumsum(u) - z
    rho = np.nonzero(u * np.arange(1, len(u) + 1) > css)[0][-1]
    theta = css[rho] / (rho + 1.0)
    w = np.maximum(v - theta, 0)
    return w @ np.array([1.0, 3.0, 2.0]) + (w**2).sum()


@prog("phys", lambda: (0.3, 1.2, np.linspace(0.1, 5, 8)), (0, 1, 2))
def special_zoo(a, b, x):
    t = sc.j0(x) + sc.jv(1, x) + sc.erf(a * x) + sc.gammaln(x + b) + sc.digamma(b * x) * 0.1
    t += sc.ellipk(a) + sc.i0e(x) + sc.erfc(b) + np.sinc(x)
    t += sc.log1p(x) + sc.xlogy(a, x) + sc.exprel(a) + np.logaddexp(a, x) + np.cbrt(x) + np.heaviside(x - 1, 0.5) * b
    t += sc.lambertw(x).real + sc.eval_legendre(2, a)
    return (
        t.sum()
        + sc.comb(5, 2) * a
        + sc.factorial(4) * b
        + math.lgamma(b)
        + math.comb(5, 2) * a
        + math.hypot(a, b)
        + math.copysign(a, -1)
    )


@prog("image", lambda: (R(9).normal(size=(8, 8)), np.array([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])), (0, 1))
def image_filters(img, ker):
    lap = sig.convolve2d(img, ker, mode="same")
    pad = np.pad(img, 1, mode="edge")
    gx = pad[1:-1, 2:] - pad[1:-1, :-2]
    gy = pad[2:, 1:-1] - pad[:-2, 1:-1]
    mag = np.hypot(gx, gy)
    pooled = img.reshape(4, 2, 4, 2).max(axis=(1, 3))
    win = np.lib.stride_tricks.sliding_window_view(img, (3, 3))
    blur = np.tensordot(win, np.ones((3, 3)) / 9, axes=((2, 3), (0, 1)))
    gy2, gx2 = np.gradient(img)
    return (
        (lap**2).mean()
        + mag.sum() * 0.1
        + pooled.sum()
        + blur.std()
        + np.abs(gx2 * gy2).sum()
        + np.median(win, axis=(2, 3)).sum()
    )
