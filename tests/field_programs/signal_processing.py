"""Signals: filters, speech, radar, communications, tracking and sensors."""

import itertools
import math
from itertools import accumulate, combinations
from typing import List, Tuple

import numpy as np
import scipy.linalg as sla
import scipy.special as sc
from numpy import log
from numpy.fft import rfft, rfftfreq
from scipy import interpolate, signal
from scipy.signal import windows
from scipy.special import logsumexp

from tests.field_programs import program, rng


# ---------------------------------------------------------------- peak_estimate
@program(
    "Goertzel + windows + argmax peak interpolation",
    lambda: (np.array([50.3, 120.7]), np.array([1.0, 0.4])),
    wrt=(0, 1),
)
def peak_estimate(freqs, amps):
    fs = 512.0
    n = 256
    t = np.arange(n) / fs
    x = sum(a * np.sin(2 * np.pi * f * t) for a, f in zip(amps, freqs))
    w = np.hanning(n)
    spec = np.abs(np.fft.rfft(x * w))
    k = np.argmax(spec)
    alpha, beta, gamma = np.log(spec[k - 1 : k + 2])
    delta = 0.5 * (alpha - gamma) / (alpha - 2 * beta + gamma)
    return (k + delta) * fs / n + spec[::-4].mean()


# ---------------------------------------------------------------- lms_error
@program(
    "adaptive LMS with float32 and convolution; ring buffer by np.roll",
    lambda: (rng(7).normal(size=40), np.array([0.5, -0.3, 0.2]), 0.05),
    wrt=(0, 1, 2),
)
def lms_error(x, h, mu):
    d = np.convolve(x, h)[: x.size]
    w = np.zeros(4)
    buf = np.zeros(4)
    err = np.empty_like(x)
    for n, (xn, dn) in enumerate(zip(x, d)):
        buf = np.roll(buf, 1)
        buf[0] = xn
        e = dn - w @ buf
        w += mu * e * buf
        err[n] = e
    return np.mean(err[-20:] ** 2) + np.linalg.norm(w[:3] - h)


# ---------------------------------------------------------------- cascade
@program(
    "biquad cascade, direct form II with state in list of lists",
    lambda: (rng(12).normal(size=24), np.array([[0.2, 0.3, 0.2, -0.5, 0.2], [0.5, -0.2, 0.1, 0.3, 0.1]])),
    wrt=(0, 1),
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


# ---------------------------------------------------------------- bound_of_a_chirp
@program("a matched filter and the Cramer-Rao bound of a chirp's parameters", lambda: (0.05, 0.002, 0.3), wrt=(0, 1, 2))
def bound_of_a_chirp(f0, rate, phase):
    t = np.arange(64.0)
    window = signal.windows.hann(64)
    x = window * np.exp(2j * np.pi * (f0 * t + 0.5 * rate * t**2) + 1j * phase)
    columns = [2j * np.pi * t * x, 1j * np.pi * t**2 * x, 1j * x]
    fisher = np.array([[np.vdot(a, b).real for b in columns] for a in columns])
    bound = np.sqrt(np.diag(np.linalg.inv(fisher)))
    b, a = signal.butter(2, 0.2)
    filtered = signal.lfilter(b, a, x.real)
    spectrum = np.abs(np.fft.rfft(filtered * x.imag)) ** 2
    return np.log(bound).sum() + spectrum[:10].sum() / spectrum.sum()


# ---------------------------------------------------------------- hmm_posterior
@program(
    "HMM forward-backward; loops with negative ranges, log-space, out=",
    lambda: (
        np.random.default_rng(0).normal(size=(3, 3)),
        np.random.default_rng(1).normal(size=(3, 4)),
        np.array([0, 1, 3, 2, 2, 0, 1]),
    ),
    wrt=(0, 1),
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


# ---------------------------------------------------------------- lpc_gain
@program("sound: LPC via Levinson-Durbin with lists", lambda: (np.random.default_rng(3).normal(size=50),))
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


# ---------------------------------------------------------------- dtw
@program("DP: DTW with lists of lists", lambda: (np.sin(np.arange(7) * 0.7), np.cos(np.arange(6) * 0.8)), wrt=(0, 1))
def dtw(a, b):
    n, m = len(a), len(b)
    D = [[math.inf] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i][j] = cost + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return math.sqrt(D[n][m])


# ---------------------------------------------------------------- ctc
@program("NLP: CTC loss forward algorithm in log space", lambda: (rng(8).normal(size=(6, 4)),))
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


# ---------------------------------------------------------------- formants
@program(
    "speech: dynamic formant tracking cost with lpc roots",
    lambda: (np.sin(np.arange(40) * 0.9) * np.exp(-np.arange(40) / 15) + 0.1 * np.cos(np.arange(40) * 2.1),),
)
def formants(frame):
    w = frame * np.hamming(len(frame))
    r = np.correlate(w, w, mode="full")[len(w) - 1 : len(w) + 4]
    a = sla.solve_toeplitz(r[:-1], -r[1:])
    A = np.concatenate(([1.0], a))
    freqs = np.linspace(0, np.pi, 16)
    H = np.array([1 / abs(np.sum(A * np.exp(-1j * f * np.arange(A.size)))) for f in freqs])
    return np.log(H).std() + (r[0] + a @ r[1:]) / r[0]


# ---------------------------------------------------------------- prediction_gain
@program(
    "speech: linear prediction by Levinson and Durbin, spectral distance",
    lambda: (rng(381).normal(size=40), 0.95),
    wrt=(0, 1),
)
def prediction_gain(frame, emphasis):
    x = np.append(frame[0], frame[1:] - emphasis * frame[:-1])
    x = x * np.hamming(len(x))
    order = 4
    R = [x[: len(x) - k] @ x[k:] for k in range(order + 1)]
    a, error = [1.0], R[0]
    reflections = []
    for i in range(1, order + 1):
        acc = sum(a[j] * R[i - j] for j in range(i))
        k = -acc / error
        reflections.append(k)
        a = [u + k * v for u, v in zip([*a, 0.0], [0.0, *reversed(a)])]
        error *= 1.0 - k * k
    areas = list(accumulate(reflections, lambda area, k: area * (1 - k) / (1 + k), initial=1.0))
    return 10.0 * math.log10(R[0] / error) + max(areas) - min(areas)


# ---------------------------------------------------------------- levinson_prediction_gain
@program(
    "speech: autocorrelation, Levinson-Durbin, and the gain of the predictor",
    lambda: (np.sin(np.arange(40.0) * 0.7) + 0.3 * np.cos(np.arange(40.0) * 2.1), 0.02),
    wrt=(0, 1),
)
def levinson_prediction_gain(frame, floor, order=4):
    windowed = frame * np.hamming(len(frame))
    R = [np.dot(windowed[: len(windowed) - lag], windowed[lag:]) for lag in range(order + 1)]
    R[0] *= 1 + floor
    a, error = [1.0], R[0]
    reflections = []
    for i in range(1, order + 1):
        k = -sum(a[j] * R[i - j] for j in range(i)) / error
        extended = a + [0.0]
        a = [x + k * y for x, y in zip(extended, extended[::-1])]
        error *= 1 - k * k
        reflections.append(k)
    cepstrum = [-a[1]]
    for n in range(2, order + 1):
        cepstrum.append(-a[n] - sum((m / n) * cepstrum[m - 1] * a[n - m] for m in range(1, n)))
    return 10 * np.log10(R[0] / error) + np.sum(np.arctanh(reflections) ** 2) + sum(c * c for c in cepstrum)


# ---------------------------------------------------------------- lpc_spectral_distance
def autocorr(x, order):
    return np.array([np.dot(x[: len(x) - k], x[k:]) for k in range(order + 1)])


def levinson(r, order):
    """Levinson-Durbin recursion, returns LPC coefficients and residual energy."""
    a = np.zeros(order + 1)
    a[0] = 1.0
    err = r[0]
    for i in range(1, order + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        k = -acc / err
        a_new = a.copy()
        for j in range(1, i):
            a_new[j] = a[j] + k * a[i - j]
        a_new[i] = k
        a = a_new
        err *= 1.0 - k * k
    return a, err


@program(
    "speech processing: log spectral distance between the LPC envelope of a frame and a reference envelope",
    lambda: (
        np.sin(0.5 * np.arange(32))
        + 0.4 * np.cos(1.7 * np.arange(32))
        + 0.05 * np.random.default_rng(6).normal(size=32),
        3 * np.cos(np.arange(9)),
    ),
    wrt=(0, 1),
)
def lpc_spectral_distance(x, ref_env, order=4):
    """Log spectral distance between the LPC envelope of a frame and a reference envelope."""
    frame = x * np.hamming(len(x))
    a, g = levinson(autocorr(frame, order), order)
    A = rfft(a, 16)
    env = g / np.abs(A) ** 2
    d = 10 * np.log10(env) - ref_env
    return np.sqrt(np.mean(d**2))


# ---------------------------------------------------------------- ambiguity
@program(
    "radar: CFAR-like ambiguity with strided windows and np.roll",
    lambda: (rng(9).normal(size=32) + 1j * rng(10).normal(size=32),),
)
def ambiguity(s):
    n = len(s)
    t = np.arange(n)
    best = 0.0
    for shift in range(-3, 4):
        for dop in (-0.1, 0.0, 0.1):
            chi = np.vdot(np.roll(s, shift), s * np.exp(2j * np.pi * dop * t))
            if shift or dop:
                best += np.abs(chi) ** 4
    e = np.vdot(s, s).real
    return best / e**4


# ---------------------------------------------------------------- track_estimate
@program(
    "radar: pulses of a chirp compressed and filtered by Doppler, a detector of "
    "constant false alarm rate, range and speed",
    lambda: (
        np.array([410.0, 985.0, 640.0]),
        np.array([31.0, -52.0, 8.0]),
        np.array([1.0, 0.6, 0.45]),
        (rng(21).normal(size=(16, 128)) + 1j * rng(22).normal(size=(16, 128))) * 0.05,
    ),
    wrt=(0, 1, 2),
)
def track_estimate(ranges, speeds, amplitudes, noise):
    c, carrier, bandwidth, width, fs, pri = 2.998e8, 9.4e9, 4e6, 6e-6, 5e6, 1e-4
    pulses, samples = noise.shape
    fast = np.arange(samples) / fs
    slow = np.arange(pulses)[:, None] * pri
    chirp = lambda t: np.exp(1j * np.pi * bandwidth / width * (t - width / 2) ** 2)  # noqa: E731
    echo = noise.copy()
    for R, v, a in zip(ranges, speeds, amplitudes):
        delay = 2 * (R + v * slow) / c
        inside = (fast >= delay) & (fast < delay + width)
        echo += a * chirp(fast - delay) * np.exp(-4j * np.pi * carrier * v * slow / c) * inside
    reference = np.where(fast < width, chirp(fast), 0)
    reference[: int(width * fs)] *= windows.hamming(int(width * fs))
    compressed = np.fft.ifft(np.fft.fft(echo, axis=1) * np.conj(np.fft.fft(reference)), axis=1)
    taper = windows.chebwin(pulses, at=50)
    power = np.abs(np.fft.fftshift(np.fft.fft(compressed * taper[:, None], axis=0), axes=0)) ** 2
    # mean of the neighbours but for the guard cells, by differences of a running sum
    sums = np.cumsum(np.pad(power, ((0, 0), (8, 8)), mode="wrap"), axis=1)
    wide = sums[:, 15:-1] - sums[:, :samples]
    snr = power / ((wide - power) / 14.0)
    found = []
    left = power.copy()
    for _ in range(3):
        d, r = np.unravel_index(left.argmax(), left.shape)
        lo, mid, hi = np.log(power[d, r - 1 : r + 2])
        bin_ = r + 0.5 * (lo - hi) / (lo - 2 * mid + hi)
        column = np.log(np.take(power[:, r], [d - 1, d, d + 1], mode="wrap"))
        doppler = d - pulses // 2 + 0.5 * (column[0] - column[2]) / (column[0] - 2 * column[1] + column[2])
        found.append((bin_ * c / (2 * fs), doppler * c / (2 * carrier * pulses * pri), 10 * np.log10(snr[d, r])))
        left[max(d - 2, 0) : d + 3, max(r - 4, 0) : r + 5] = 0.0
    found.sort()
    return sum(0.01 * distance + 0.05 * speed + level for distance, speed, level in found)


# ---------------------------------------------------------------- water_filling
@program(
    "telecommunications: water filling by bisection, then the sum rate of an OFDM link",
    lambda: (np.array([1.2, 0.3, 2.2, 0.05, 0.9]), 2.0),
)
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


# ---------------------------------------------------------------- equalizer_loss
def qam_constellation(levels):
    return np.array([complex(a, b) for a in levels for b in levels])


def _eq_args():
    rng = np.random.default_rng(12)
    pts = qam_constellation([-3, -1, 1, 3]) / np.sqrt(10)
    sym = pts[rng.integers(0, 16, 20)]
    noise = 0.05 * (rng.normal(size=22) + 1j * rng.normal(size=22))
    taps = 0.1 * rng.normal(size=(5, 2))
    taps[2, 0] += 1.0
    return taps, np.array([1.0, 0.35 - 0.2j, 0.1j]), sym, noise


@program(
    "digital communications: mean squared error of a linear equaliser after a multipath channel (complex baseband)",
    _eq_args,
)
def equalizer_loss(taps, channel, symbols, noise, mu_reg=1e-2):
    """Mean squared error of a linear equaliser after a multipath channel (complex baseband)."""
    rx = np.convolve(symbols, channel) + noise
    w = taps[:, 0] + 1j * taps[:, 1]
    y = np.convolve(rx, w)
    delay = 2
    e = y[delay : delay + len(symbols)] - symbols
    return np.mean(np.abs(e) ** 2) + mu_reg * np.sum(np.abs(w) ** 2)


# ---------------------------------------------------------------- capacity
@program("info theory: Blahut-Arimoto", lambda: (np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2]]),))
def capacity(W):
    W = W / W.sum(axis=1)[:, None]
    p = np.full(W.shape[0], 1 / W.shape[0])
    for i in range(60):
        q = p @ W
        D = np.sum(W * np.log2(W / q), axis=1)
        c = p * 2**D
        p, p_old = c / c.sum(), p
        if np.allclose(p, p_old, atol=1e-12):
            break
    return np.log2(c.sum())


# ---------------------------------------------------------------- mvdr_power
def steering(theta, positions, wavelength):
    return np.exp(-2j * np.pi * positions * np.sin(theta) / wavelength)


@program(
    "beamforming: Capon spectrum at one look angle for a linear array",
    lambda: (0.3, np.arange(6) * 1.0, np.array([0.25, -0.4]), np.array([1.0, 0.6])),
    wrt=(0, 1, 2, 3),
)
def mvdr_power(theta, positions, sources, powers, noise=0.1, wavelength=2.0):
    """Capon spectrum at one look angle for a linear array."""
    m = len(positions)
    R = noise * np.eye(m, dtype=complex)
    for th, p in zip(sources, powers):
        a = steering(th, positions, wavelength)
        R = R + p * np.outer(a, a.conj())
    a = steering(theta, positions, wavelength)
    Ri_a = np.linalg.solve(R, a)
    return 1.0 / np.real(np.vdot(a, Ri_a))


# ---------------------------------------------------------------- kalman_loglik
@program(
    "target tracking: innovation log likelihood of a constant-velocity tracker",
    lambda: (0.3, 0.5, np.array([0.2, 1.1, 1.4, 2.7, 3.1, 4.4, 4.6, 5.9])),
    wrt=(0, 1, 2),
)
def kalman_loglik(q, r, z, dt=0.5):
    """Innovation log likelihood of a constant-velocity tracker."""
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    R = np.array([[r]])
    x = np.zeros((2, 1))
    P = np.diag([10.0, 4.0])
    ll = 0.0
    for zk in z:
        x = F @ x
        P = F @ P @ F.T + Q
        y = zk - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        ll += -0.5 * (y.T @ np.linalg.solve(S, y))[0, 0] - 0.5 * np.log(2 * np.pi * np.linalg.det(S))
    return ll


# ---------------------------------------------------------------- assign
@program(
    "particle tracking: bipartite assignment by brute force permutations",
    lambda: (rng(31).normal(size=(4, 2)), rng(32).normal(size=(4, 2))),
    wrt=(0, 1),
)
def assign(a, b):
    cost = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    best = min(itertools.permutations(range(4)), key=lambda perm: sum(cost[i, j] for i, j in enumerate(perm)))
    return sum(cost[i, j] ** 2 for i, j in enumerate(best))


# ---------------------------------------------------------------- tracking
class KalmanFilter:
    def __init__(self, F, H, Q, R, x0=None, P0=None):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.n = F.shape[0]
        self.x = np.zeros((self.n, 1)) if x0 is None else x0
        self.P = np.eye(self.n) if P0 is None else P0
        self.history: List[Tuple[np.ndarray, np.ndarray]] = []
        self.loglik = 0

    def predict(self, u=0, B=None):
        self.x = self.F @ self.x
        if B is not None:
            self.x = self.x + B * u
        self.P = np.linalg.multi_dot([self.F, self.P, self.F.T]) + self.Q
        return self

    def update(self, z):
        y = z - self.H @ self.x
        S = self.R + self.H @ self.P @ self.H.T
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ y
        I = np.eye(self.n)
        self.P = (I - K @ self.H) @ self.P @ (I - K @ self.H).T + K @ self.R @ K.T
        self.history.append((self.x, self.P))
        self.loglik += -0.5 * (y.T @ np.linalg.inv(S) @ y).item() - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
        return self


@program(
    "Kalman filter/RTS smoother class with optional control",
    lambda: (0.3, 0.5, np.array([0.1, 0.4, 0.7, 1.3, np.nan, 2.2, 2.4])),
    wrt=(0, 1),
)
def tracking(q, r, zs, dt=1.0):
    F = np.array([[1, dt], [0, 1]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    kf = KalmanFilter(F=F, H=np.array([[1.0, 0.0]]), Q=Q, R=np.array([[r**2]]))
    for z in zs:
        kf.predict()
        if not np.isnan(z):
            kf.update(z)
    xs, Ps = kf.history[-1]
    for x, P in reversed(kf.history[:-1]):
        Pp = F @ P @ F.T + Q
        G = np.linalg.solve(Pp, F @ P).T
        xs = x + G @ (xs - F @ x)
        Ps = P + G @ (Ps - Pp) @ G.T
    return kf.loglik + float(xs[0, 0]) + np.trace(Ps)


# ---------------------------------------------------------------- ellipsoid_residual
def _mag_args():
    rng = np.random.default_rng(31)
    s = rng.normal(size=(9, 3))
    s = s / np.linalg.norm(s, axis=1)[:, None] + 0.05 * rng.normal(size=(9, 3))
    return np.array([0.1, -0.05, 0.02]), np.array([1.05, 0.02, -0.01, 0.97, 0.03, 1.02]), s


@program(
    "sensor calibration: magnetometer calibration with an upper-triangular soft-iron matrix", _mag_args, wrt=(0, 1, 2)
)
def ellipsoid_residual(offset, soft_iron, samples, field=1.0):
    """Magnetometer calibration with an upper-triangular soft-iron matrix."""
    W = np.zeros((3, 3))
    W[np.triu_indices(3)] = soft_iron
    cal = (samples - offset) @ W.T
    mag = np.sqrt((cal**2).sum(axis=1))
    return ((mag - field) ** 2).sum()


# ---------------------------------------------------------------- spline_energy
@program(
    "spline fit: scipy make_interp / CubicSpline and quad via fixed_quad nodes",
    lambda: (np.array([0.0, 0.8, 0.9, 0.1, -0.8]),),
)
def spline_energy(y):
    x = np.arange(5.0)
    cs = interpolate.CubicSpline(x, y, bc_type="natural")
    nodes, w = np.polynomial.legendre.leggauss(6)
    t = 2 + 2 * nodes
    return 2 * np.sum(w * cs(t, 2) ** 2) + cs(1.5)


# ---------------------------------------------------------------- uncertainty
@program(
    "metrology: combined standard uncertainty with correlated inputs, partial derivatives by differences",
    lambda: (np.array([10.0, 2.0, 0.5]), np.array([0.1, 0.05, 0.01])),
    wrt=(0, 1),
)
def uncertainty(values, sigmas):
    def resistance(v, i, offset):
        if i == offset:
            raise ZeroDivisionError
        return v / (i - offset)

    names = ("v", "i", "offset")
    point = dict(zip(names, values))

    def sensitivity(name, h=1e-5):
        up = resistance(**{**point, name: point[name] + h})
        down = resistance(**{**point, name: point[name] - h})
        return (up - down) / (2 * h)

    c = {n: sensitivity(n) for n in names}
    u = dict(zip(names, sigmas))
    correlation = {("v", "i"): 0.3}
    var = sum((c[n] * u[n]) ** 2 for n in names)
    var += 2 * sum(c[a] * c[b] * u[a] * u[b] * correlation.get((a, b), 0.0) for a, b in combinations(names, 2))
    return math.sqrt(var) / resistance(**point)


# ---------------------------------------------------------------- whittle_nll
@program(
    "time series: Whittle likelihood of an AR(1) plus white noise model",
    lambda: (np.array([0.1, -0.7, 0.6]), np.cumsum(np.random.default_rng(7).normal(size=24)) * 0.5),
    wrt=(0, 1),
)
def whittle_nll(log_params, x):
    """Whittle likelihood of an AR(1) plus white noise model."""
    s2, tau2 = np.exp(log_params[:2])
    phi = np.tanh(log_params[2])
    n = len(x)
    f = rfftfreq(n)[1:-1]
    I = np.abs(rfft(x - x.mean()))[1:-1] ** 2 / n
    S = s2 / (1 - 2 * phi * np.cos(2 * np.pi * f) + phi**2) + tau2
    return np.sum(np.log(S) + I / S)


# ---------------------------------------------------------------- soft_dtw
@program(
    "text: Levenshtein-like soft-DTW with nested list rows",
    lambda: (rng(29).normal(size=5), rng(30).normal(size=6)),
    wrt=(0, 1),
)
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
