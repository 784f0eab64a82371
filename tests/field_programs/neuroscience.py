"""Neurons, their networks and images of them."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from scipy import signal, stats
from scipy.special import gammaln

from tests.field_programs import program, rng


# ---------------------------------------------------------------- hh_energy
@dataclass
class HH:
    gNa: float
    gK: float
    gL: float
    C: float = 1.0

    def rates(self, V):
        am = 0.1 * (V + 40) / (1 - np.exp(-(V + 40) / 10))
        bm = 4 * np.exp(-(V + 65) / 18)
        ah = 0.07 * np.exp(-(V + 65) / 20)
        bh = 1 / (1 + np.exp(-(V + 35) / 10))
        an = 0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10))
        bn = 0.125 * np.exp(-(V + 65) / 80)
        return am, bm, ah, bh, an, bn

    def step(self, s, I, dt):
        V, m, h, n = s
        am, bm, ah, bh, an, bn = self.rates(V)
        dV = (I - self.gNa * m**3 * h * (V - 50) - self.gK * n**4 * (V + 77) - self.gL * (V + 54.4)) / self.C
        return np.array(
            [
                V + dt * dV,
                m + dt * (am * (1 - m) - bm * m),
                h + dt * (ah * (1 - h) - bh * h),
                n + dt * (an * (1 - n) - bn * n),
            ]
        )


@program("Hodgkin-Huxley with dataclass", lambda: (np.array([120.0, 36.0, 0.3]), 10.0), wrt=(0, 1))
def hh_energy(g, current):
    cell = HH(*g)
    s = np.array([-65.0, 0.05, 0.6, 0.32])
    trace = [s[0]]
    for k in range(200):
        s = cell.step(s, current if k > 20 else 0.0, 0.02)
        trace.append(s[0])
    v = np.array(trace)
    return np.mean((v + 60) ** 2) / 100 + v.max() / 50


# ---------------------------------------------------------------- hh
@program("Hodgkin-Huxley with dict of gates and lambdas", lambda: (np.array([120.0, 36.0, 0.3]), 10.0), wrt=(0, 1))
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


# ---------------------------------------------------------------- hodgkin_huxley_gates
def vtrap_with_limit(x, y):
    return y * (1 - x / y / 2) if abs(x / y) < 1e-6 else x / (math.exp(x / y) - 1)


RATES = {
    "m": (lambda v: 0.1 * vtrap_with_limit(-(v + 40), 10), lambda v: 4 * math.exp(-(v + 65) / 18)),
    "h": (lambda v: 0.07 * math.exp(-(v + 65) / 20), lambda v: 1 / (math.exp(-(v + 35) / 10) + 1)),
    "n": (lambda v: 0.01 * vtrap_with_limit(-(v + 55), 10), lambda v: 0.125 * math.exp(-(v + 65) / 80)),
}


def pulses(amp, n, on=5, off=35):
    for k in range(n):
        yield amp if on <= k < off else 0.0


@program(
    "Hodgkin-Huxley with gates in a dict of rate-function pairs and a stimulus generator",
    lambda: ({"gna": 120.0, "gk": 36.0, "gl": 0.3}, 15.0),
    wrt=(0, 1),
)
def hodgkin_huxley_gates(g, amp):
    v = -65.0
    gates = {k: a(v) / (a(v) + b(v)) for k, (a, b) in RATES.items()}
    trace = []
    dt = 0.05
    for I in pulses(amp, 80):
        m, h, n = (gates[k] for k in "mhn")
        ina = g["gna"] * m**3 * h * (v - 50)
        ik = g["gk"] * n**4 * (v + 77)
        il = g["gl"] * (v + 54.387)
        v += dt * (I - ina - ik - il)
        for key, (alpha, beta) in RATES.items():
            gates[key] += dt * (alpha(v) * (1 - gates[key]) - beta(v) * gates[key])
        trace.append(v)
    return np.mean(np.exp(np.array(trace) / 40))


# ---------------------------------------------------------------- firing
@program(
    "a small network of leaky integrators with delays, spikes smoothed by a softplus",
    lambda: (rng(382).normal(size=(4, 4)), np.array([0.5, 0.2, 0.9, 0.4]), 8.0),
    wrt=(0, 1, 2),
)
def firing(W, drive, sharpness):
    steps, delay = 12, 3
    v = np.zeros((steps + 1, 4))
    rate = np.zeros((steps + 1, 4))
    for t in range(steps):
        heard = rate[max(t - delay, 0)] if t >= delay else np.zeros(4)
        v[t + 1] = v[t] + 0.1 * (-v[t] + drive + np.where(np.eye(4, dtype=bool), 0.0, W) @ heard)
        rate[t + 1] = np.log1p(np.exp(sharpness * (v[t + 1] - 0.2))) / sharpness
    mean = rate[delay:].mean(axis=0)
    cross = np.corrcoef(rate[delay:], rowvar=False)
    return mean.sum() + 0.01 * np.triu(cross, 1).sum()


# ---------------------------------------------------------------- hh_voltage
@program("Hodgkin-Huxley with lambdas in tuple, exprel-type rate", lambda: (120.0, 36.0, 0.3, 10.0), wrt=(0, 1, 2, 3))
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


# ---------------------------------------------------------------- hodgkin_huxley
def vtrap(x, y):
    return x / (np.exp(x / y) - 1.0)


@program(
    "computational neuroscience: forward Euler Hodgkin-Huxley, returns time-averaged squared deviation from rest",
    lambda: (10.0, 120.0, 36.0, 0.3),
    wrt=(0, 1, 2, 3),
)
def hodgkin_huxley(I_ext, gna, gk, gl, dt=0.02, steps=60, V0=-55.3):
    """Forward Euler Hodgkin-Huxley, returns time-averaged squared deviation from rest."""
    V, m, h, n = V0, 0.25, 0.5, 0.37
    acc = 0.0
    for i in range(steps):
        am = 0.1 * vtrap(-(V + 40.0), 10.0)
        bm = 4.0 * np.exp(-(V + 65.0) / 18.0)
        ah = 0.07 * np.exp(-(V + 65.0) / 20.0)
        bh = 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))
        an = 0.01 * vtrap(-(V + 55.0), 10.0)
        bn = 0.125 * np.exp(-(V + 65.0) / 80.0)
        i_ion = gna * m**3 * h * (V - 50.0) + gk * n**4 * (V + 77.0) + gl * (V + 54.387)
        V += dt * (I_ext - i_ion)
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        acc += (V + 65.0) ** 2
    return acc / steps


# ---------------------------------------------------------------- glm_contrast
@program(
    "neuroscience imaging: HRF double gamma convolution, GLM with AR(1) prewhitening, contrast t",
    lambda: (np.array([6.0, 16.0, 1.0 / 6]), 0.3, rng(5).normal(size=60)),
    wrt=(0, 1, 2),
)
def glm_contrast(hrf_pars, rho, y, tr=2.0):
    t = np.arange(0, 32, tr)
    a1, a2, c = hrf_pars
    hrf = stats.gamma.pdf(t, a1) - c * stats.gamma.pdf(t, a2)
    box = np.zeros(y.size)
    box[10:20] = box[35:45] = 1
    reg = np.convolve(box, hrf / hrf.sum())[: y.size]
    drift = np.vander(np.linspace(-1, 1, y.size), 3, increasing=True)
    X = np.c_[reg, drift]
    W = la.toeplitz(rho ** np.arange(y.size))
    Lw = np.linalg.cholesky(W)
    Xw, yw = la.solve_triangular(Lw, X, lower=True), la.solve_triangular(Lw, y, lower=True)
    b, *_ = np.linalg.lstsq(Xw, yw, rcond=None)
    r = yw - Xw @ b
    s2 = r @ r / (y.size - X.shape[1])
    con = np.array([1, 0, 0, 0])
    return con @ b / np.sqrt(s2 * con @ np.linalg.pinv(Xw.T @ Xw) @ con)


# ---------------------------------------------------------------- spike_history_bits
@program(
    "neural spike trains: Poisson GLM with raised-cosine history (Pillow et al.), IRLS, then the time-rescaling test",
    lambda: (9.0, 1.3, 0.7),
    wrt=(0, 1, 2),
)
def spike_history_bits(tau_stim, log_offset, ridge):
    T, n_basis, dt = 700, 3, 1e-3
    rng = np.random.default_rng(20260311)
    stim = rng.standard_normal(T)
    spikes = np.zeros(T, dtype=int)
    refractory, drive = 0, signal.lfilter([0.35], [1, -0.88], stim)
    for t in range(T):
        if refractory > 0:
            refractory -= 1
            continue
        if rng.random() < min(0.6, 0.055 * np.exp(drive[t])):
            spikes[t] = 1
            refractory = 3

    # design matrix
    lags = np.arange(1, 31)
    log_t = np.log(lags + log_offset)
    centres = np.linspace(np.log(1 + log_offset), np.log(22 + log_offset), n_basis)
    spacing = centres[1] - centres[0]
    phase = np.clip((log_t[None, :] - centres[:, None]) * np.pi / (2 * spacing), -np.pi, np.pi)
    bumps = 0.5 * (np.cos(phase) + 1)
    kernel = np.exp(-np.arange(60) / tau_stim)
    kernel /= np.linalg.norm(kernel)
    cols = [np.ones(T), np.convolve(stim, kernel)[:T]]
    for b in bumps:
        h = np.convolve(spikes, b)
        cols.append(np.r_[0.0, h[: T - 1]])
    X = np.stack(cols, axis=1)
    train = np.arange(T) < 500
    penalised = np.arange(1, X.shape[1])
    w = np.zeros(X.shape[1])
    w[0] = np.log(spikes[train].mean())
    for it in range(60):
        mu = np.exp(X[train] @ w)
        grad = X[train].T @ (spikes[train] - mu)
        grad[penalised] -= ridge * w[penalised]
        H = (X[train] * mu[:, None]).T @ X[train]
        H[np.ix_(penalised, penalised)] += ridge * np.eye(len(penalised))
        step = np.linalg.solve(H, grad)
        w += step / (1 + np.abs(step).max()) if it < 3 else step
        if np.max(np.abs(step)) < 1e-13:
            break
    else:
        raise RuntimeError("IRLS did not converge")
    rate = np.exp(X @ w)
    y, mu = spikes[~train], rate[~train]
    null = spikes[train].mean()
    ll = np.sum(y * np.log(mu) - mu - gammaln(y + 1))
    ll0 = np.sum(y * np.log(null) - null - gammaln(y + 1))
    bits = (ll - ll0) / np.log(2) / y.sum()
    # KS plot against the uniform
    cum = np.cumsum(rate)[np.flatnonzero(spikes)]
    z = np.sort(1 - np.exp(-np.diff(cum)))
    n = z.size
    cvm = 1 / (12 * n) + ((z - (2 * np.arange(1, n + 1) - 1) / (2 * n)) ** 2).sum()
    return float(bits - 0.1 * cvm + 1e-3 * rate.mean() / dt)
