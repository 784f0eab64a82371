import itertools
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import scipy.special as sc
import scipy.stats as st

from tests.field_programs import collection

PROGRAMS, prog = collection()


# HMM forward-backward; loops with negative ranges, log-space, out=
@prog(
    "speech",
    lambda: (
        np.random.default_rng(0).normal(size=(3, 3)),
        np.random.default_rng(1).normal(size=(3, 4)),
        np.array([0, 1, 3, 2, 2, 0, 1]),
    ),
    (0, 1),
)
def hmm_posterior(A_logits, B_logits, obs):
    A = np.exp(A_logits)
    np.divide(A, A.sum(axis=1, keepdims=True), out=A)
    B = sc.softmax(B_logits, axis=1)
    T, K = len(obs), len(A)
    alpha = np.zeros((T, K))
    beta = np.ones((T, K))
    scale = np.zeros(T)
    alpha[0] = B[:, obs[0]] / K
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, T):
        np.matmul(alpha[t - 1], A, out=alpha[t])
        alpha[t] *= B[:, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in range(T - 2, -1, -1):
        beta[t] = A @ (B[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
    gamma = alpha * beta
    gamma /= gamma.sum(1)[:, None]
    xi = np.zeros((K, K))
    for t in range(T - 1):
        m = alpha[t][:, None] * A * (B[:, obs[t + 1]] * beta[t + 1])[None, :]
        xi += m / m.sum()
    return np.log(scale).sum() + np.sum(xi * np.log(A)) + gamma[::2, -1].sum()


# astrodynamics: orbital elements from state, arccos & sign fix
@prog("astro", lambda: (np.array([7000.0, 1200.0, 300.0]), np.array([-1.0, 7.0, 2.0])), (0, 1))
def elements_sum(r, v, mu=398600.4418):
    rn, vn = map(np.linalg.norm, (r, v))
    h = np.cross(r, v)
    K = np.array([0.0, 0.0, 1.0])
    n = np.cross(K, h)
    e = ((vn**2 - mu / rn) * r - r.dot(v) * v) / mu
    ecc = np.linalg.norm(e)
    energy = vn**2 / 2 - mu / rn
    if not np.isclose(ecc, 1.0):
        a = -mu / (2 * energy)
        p = a * (1 - ecc**2)
    else:
        p = h @ h / mu
        a = np.inf
    i = np.arccos(h[2] / np.linalg.norm(h))
    Om = np.arccos(n[0] / np.linalg.norm(n))
    if n[1] < 0:
        Om = 2 * np.pi - Om
    argp = np.arccos(n.dot(e) / (np.linalg.norm(n) * ecc))
    argp = argp if e[2] >= 0 else 2 * np.pi - argp
    nu = np.arccos(np.clip(e @ r / (ecc * rn), -1, 1))
    if r @ v < 0:
        nu = 2 * np.pi - nu
    return a / 1000 + p / 1000 + ecc + np.rad2deg(i) / 10 + Om + argp + nu


# neuroscience: Hodgkin-Huxley with lambdas in tuple, exprel-type rate
@prog("neuro", lambda: (120.0, 36.0, 0.3, 10.0), (0, 1, 2, 3))
def hh_voltage(gNa, gK, gL, I):
    alpha_m = lambda V: 0.1 * (V + 40.0) / (1 - np.exp(-(V + 40.0) / 10))
    beta_m = lambda V: 4.0 * np.exp(-(V + 65) / 18)
    alpha_h = lambda V: 0.07 * np.exp(-(V + 65) / 20)
    beta_h = lambda V: 1 / (1 + np.exp(-(V + 35) / 10))
    alpha_n = lambda V: 0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10))
    beta_n = lambda V: 0.125 * np.exp(-(V + 65) / 80)
    gates = [(alpha_m, beta_m), (alpha_h, beta_h), (alpha_n, beta_n)]
    V = -64.99
    x = [a(V) / (a(V) + b(V)) for a, b in gates]
    dt = 0.02
    trace = []
    for step in range(200):
        for k, (a, b) in enumerate(gates):
            av, bv = a(V), b(V)
            x[k] += dt * (av * (1 - x[k]) - bv * x[k])
        m, h, n = x
        I_ion = gNa * m**3 * h * (V - 50) + gK * n**4 * (V + 77) + gL * (V + 54.4)
        V += dt * (I - I_ion)
        if step % 10 == 0:
            trace.append(V)
    return np.mean(trace) + np.max(trace) * 0.1


# climate/stat: AR with missing values NaN masked
@prog("climate", lambda: (np.array([0.5, 0.2, 0.1]), np.random.default_rng(5).normal(size=30)), (0, 1))
def ar_gappy(p, y):
    y = y.copy()
    y[[3, 7, 8, 20]] = np.nan
    c, phi, logsig = p
    ok = ~np.isnan(y)
    filled = np.where(ok, y, np.nanmean(y))
    pred = c + phi * filled[:-1]
    both = ok[1:] & ok[:-1]
    res = (y[1:] - pred)[both]
    n = np.count_nonzero(both)
    return 0.5 * np.sum(res**2) / np.exp(2 * logsig) + n * logsig + np.nanstd(y) + np.nansum(y[::3])


# cryst: structure factor complex exponent with einsum
@prog(
    "cryst",
    lambda: (np.random.default_rng(6).uniform(size=(5, 3)), np.array([1.0, 1.5, 2.0, 0.7, 0.9]), 0.02),
    (0, 1, 2),
)
def structure_factor(xyz, occ, B):
    hkl = np.array(list(itertools.product(range(-1, 2), repeat=3)))
    phase = np.einsum("hi,ai->ha", hkl, xyz) * 2j * np.pi
    q2 = (hkl**2).sum(axis=-1)
    F = np.einsum("ha,a->h", np.exp(phase), occ) * np.exp(-B * q2)
    I = (F * F.conj()).real
    return np.sum(I * np.arange(len(I))) / I.sum() + np.sum(np.angle(F[F.real > 0.5]))


# fluid: lid-driven Poisson with SOR in place, red-black slicing
@prog("fluid", lambda: (np.random.default_rng(8).normal(size=(8, 9)), 1.5), (0, 1))
def sor_poisson(f, omega):
    ny, nx = f.shape
    p = np.zeros((ny + 2, nx + 2))
    h2 = 0.01
    for it in range(10):
        for color in (0, 1):
            for i in range(1, ny + 1):
                start = 1 + (i + color) % 2
                row = p[i, start:-1:2]
                gs = 0.25 * (
                    p[i - 1, start:-1:2]
                    + p[i + 1, start:-1:2]
                    + p[i, start - 1 : -2 : 2]
                    + p[i, start + 1 :: 2]
                    - h2 * f[i - 1, start - 1 :: 2]
                )
                p[i, start:-1:2] = (1 - omega) * row + omega * gs
        p[0, :], p[-1, :] = p[1, :], p[-2, :]
    vx = (p[1:-1, 2:] - p[1:-1, :-2]) / 2
    vy = (p[2:, 1:-1] - p[:-2, 1:-1]) / 2
    return np.sqrt(vx**2 + vy**2 + 1e-8).sum() * 100


# econ: value function iteration with broadcasting & max over axis
@prog("econ", lambda: (0.95, 0.36, 1.5), (0, 1, 2))
def growth_model(beta, alpha, sigma):
    kgrid = np.linspace(0.5, 2.0, 12)
    y = kgrid**alpha + 0.9 * kgrid
    c = y[:, None] - kgrid[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.where(c > 0, (np.maximum(c, 1e-10) ** (1 - sigma) - 1) / (1 - sigma), -1e10)
    V = np.zeros_like(kgrid)
    diff = np.inf
    n = 0
    while diff > 1e-8 and n < 200:
        Vn = np.max(u + beta * V[None, :], axis=1)
        diff = np.max(np.abs(Vn - V))
        V, n = Vn, n + 1
    policy = kgrid[np.argmax(u + beta * V, axis=1)]
    return V.sum() + policy.std()


# medical imaging: radon + filtered back-projection w/ interp
@prog("imaging", lambda: (np.random.default_rng(10).uniform(size=(9, 9)),), (0,))
def radon_energy(img):
    n = img.shape[0]
    c = (n - 1) / 2
    angles = np.deg2rad(np.arange(0, 180, 45))
    sino = np.zeros((len(angles), n))
    ys, xs = np.indices(img.shape)
    for a, th in enumerate(angles):
        s = (xs - c) * math.cos(th) + (ys - c) * math.sin(th) + c
        lo = np.floor(s).astype(int)
        w = s - lo
        for off, wt in ((0, 1 - w), (1, w)):
            idx = lo + off
            valid = (idx >= 0) & (idx < n)
            np.add.at(sino[a], idx[valid], (img * wt)[valid])
    ramp = np.abs(np.fft.fftfreq(n))
    filt = np.real(np.fft.ifft(np.fft.fft(sino, axis=1) * ramp, axis=1))
    return np.sum(filt**2) + sino[1].max()


# control: discrete PID with deque history and anti-windup, dataclass state method
@dataclass
class PID:
    kp: float
    ki: float
    kd: float
    limit: float = 2.0
    integral: float = field(default=0.0, init=False)
    last: float = field(default=0.0, init=False)

    def step(self, err: float, dt: float) -> float:
        self.integral += err * dt
        deriv = (err - self.last) / dt
        u = self.kp * err + self.ki * self.integral + self.kd * deriv
        if not -self.limit <= u <= self.limit:
            self.integral -= err * dt
            u = max(-self.limit, min(self.limit, u))
        self.last = err
        return u


@prog("control", lambda: (np.array([2.0, 0.8, 0.1]), 0.3), (0, 1))
def pid_cost(gains, tau):
    ctl = PID(*gains)
    delay = deque([0.0] * 5, maxlen=5)
    y, cost, dt = 0.0, 0.0, 0.05
    for k in range(80):
        sp = 1.0 if k > 5 else 0.0
        u = ctl.step(sp - y, dt)
        delay.append(u)
        y += dt / tau * (delay[0] - y)
        cost += abs(sp - y) * dt * k * dt
    return cost


# probability: mixture via scipy stats & special
@prog(
    "prob",
    lambda: (
        np.array([0.2, -0.5]),
        np.array([1.0, 2.0]),
        np.array([0.3, 0.7]),
        np.random.default_rng(11).normal(size=12),
    ),
    (0, 1, 2, 3),
)
def gmm_kl(mu, sd, w, x):
    w = w / np.sum(w)
    comp = st.norm.pdf(x[:, None], loc=mu, scale=sd)
    lik = comp @ w
    resp = comp * w / lik[:, None]
    ent = -sc.xlogy(resp, resp).sum()
    return -np.log(lik).mean() + 0.1 * ent + st.norm(mu[0], sd[0]).cdf(0.3) + st.gamma.logpdf(sd, a=2.0).sum()


# combinatorial: permanents, Ryser via itertools, reduce/operator
