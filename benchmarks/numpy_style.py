"""The shared workloads as NumPy users write them: slices and whole-array statements instead of loops.

In: nothing. Out: `STYLES`, pairs of the name of a shared workload and a function with the arguments and the value of
its `primal`. Some are written in more than one way.
"""

import math

import numpy as np
from numba import njit

SQ2 = math.sqrt(0.5)
EPS2 = 0.05
DT = 0.01


@njit
def erf(x):
    """math.erf of each element."""
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = math.erf(x[i])
    return out


@njit
def heat2d(u0, k, T):
    u = u0.copy()
    v = u0.copy()
    for _ in range(T):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + k[1:-1, 1:-1] * lap
        u, v = v, u
    return np.sum(u * u)


@njit
def blackscholes(S, K, T, vol, r):
    sq = vol * np.sqrt(T)
    d1 = (np.log(S / K) + (r + 0.5 * vol**2) * T) / sq
    d2 = d1 - sq
    n1 = 0.5 * (1.0 + erf(d1 * SQ2))
    n2 = 0.5 * (1.0 + erf(d2 * SQ2))
    return np.sum(S * n1 - K * np.exp(-r * T) * n2)


@njit
def accelerate(x, m, a):
    a[:] = 0.0
    for i in range(1, x.shape[0]):
        dx, dy, dz = x[:i, 0] - x[i, 0], x[:i, 1] - x[i, 1], x[:i, 2] - x[i, 2]
        r2 = dx * dx + dy * dy + dz * dz + EPS2
        w = 1.0 / (r2 * np.sqrt(r2))
        wi, wj = m[:i] * w, m[i] * w
        a[i, 0] += np.sum(wi * dx)
        a[i, 1] += np.sum(wi * dy)
        a[i, 2] += np.sum(wi * dz)
        a[:i, 0] -= wj * dx
        a[:i, 1] -= wj * dy
        a[:i, 2] -= wj * dz


@njit
def energy(x, v, m):
    e = 0.5 * np.sum(m * np.sum(v * v, axis=1))
    for i in range(1, x.shape[0]):
        dx, dy, dz = x[:i, 0] - x[i, 0], x[:i, 1] - x[i, 1], x[:i, 2] - x[i, 2]
        e -= m[i] * np.sum(m[:i] / np.sqrt(dx * dx + dy * dy + dz * dz + EPS2))
    return e


@njit
def nbody(x0, v0, m, T):
    x = x0.copy()
    v = v0.copy()
    a = np.empty_like(x)
    accelerate(x, m, a)
    for _ in range(T):
        v += 0.5 * DT * a
        x += DT * v
        accelerate(x, m, a)
        v += 0.5 * DT * a
    return energy(x, v, m)


@njit
def pairwise_accelerations(x, m):
    d = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    r2 = np.sum(d * d, axis=2) + EPS2
    w = m / (r2 * np.sqrt(r2))
    return np.sum(w[:, :, np.newaxis] * d, axis=1)


@njit
def nbody_pairwise(x0, v0, m, T):
    x = x0.copy()
    v = v0.copy()
    a = pairwise_accelerations(x, m)
    for _ in range(T):
        v += 0.5 * DT * a
        x += DT * v
        a = pairwise_accelerations(x, m)
        v += 0.5 * DT * a
    kinetic = 0.5 * np.sum(m * np.sum(v * v, axis=1))
    d = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    r = np.sqrt(np.sum(d * d, axis=2) + EPS2)
    pairs = m[:, np.newaxis] * m / r
    return kinetic - 0.5 * (np.sum(pairs) - np.sum(m * m) / math.sqrt(EPS2))


@njit
def row_max(a):
    largest = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        largest[i] = np.max(a[i])
    return largest


@njit
def mlp(W1, b1, W2, b2, W3, b3, X, y):
    h1 = np.tanh(X @ W1 + b1)
    h2 = np.tanh(h1 @ W2 + b2)
    z = h2 @ W3 + b3
    shifted = z - row_max(z)[:, np.newaxis]
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=1))[:, np.newaxis]
    total = 0.0
    for i in range(y.size):
        total -= log_p[i, y[i]]
    return total / y.size


@njit
def ode_rk4(p, h, n):
    state = np.array([p[0], p[1]])
    a, b, c, d = p[2], p[3], p[4], p[5]
    s = 0.0
    for _ in range(n):
        k1 = rate(state, a, b, c, d)
        k2 = rate(state + 0.5 * h * k1, a, b, c, d)
        k3 = rate(state + 0.5 * h * k2, a, b, c, d)
        k4 = rate(state + h * k3, a, b, c, d)
        state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        s += h * state[0]
    return np.sum(state * state) + s


@njit
def rate(state, a, b, c, d):
    x, y = state[0], state[1]
    return np.array([x * (a - b * y), y * (d * x - c)])


def const_terms(n, d, K, gamma, m):
    nn = d + m + 1
    lg = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(1, d + 1):
        lg += math.lgamma(0.5 * nn + 0.5 * (1 - j))
    C = nn * d * (math.log(gamma) - 0.5 * math.log(2)) - lg
    return -n * d * 0.5 * math.log(2 * math.pi) - K * C


@njit
def log_sum_exp(v):
    largest = np.max(v)
    return largest + np.log(np.sum(np.exp(v - largest)))


@njit
def gmm_by_point(alphas, means, icf, x, gamma, m):
    n, d = x.shape
    K = alphas.size
    Q = np.exp(icf[:, :d])
    sums = np.sum(icf[:, :d], axis=1)
    main = np.empty(K)
    slse = 0.0
    for i in range(n):
        for k in range(K):
            xc = x[i] - means[k]
            Qx = Q[k] * xc
            p = d
            for j in range(d - 1):
                Qx[j + 1 :] += icf[k, p : p + d - 1 - j] * xc[j]
                p += d - 1 - j
            main[k] = alphas[k] + sums[k] - 0.5 * np.sum(Qx * Qx)
        slse += log_sum_exp(main)
    frobenius = np.sum(Q * Q) + np.sum(icf[:, d:] ** 2)
    prior = 0.5 * gamma * gamma * frobenius - m * np.sum(sums)
    return const_terms(n, d, K, gamma, m) + slse - n * log_sum_exp(alphas) + prior


@njit
def gmm(alphas, means, icf, x, gamma, m):
    n, d = x.shape
    K = alphas.size
    Q = np.exp(icf[:, :d])
    sums = np.sum(icf[:, :d], axis=1)
    main = np.empty((n, K))
    for k in range(K):
        xc = x - means[k]
        Qx = Q[k] * xc
        p = d
        for j in range(d - 1):
            Qx[:, j + 1 :] += icf[k, p : p + d - 1 - j] * xc[:, j : j + 1]
            p += d - 1 - j
        main[:, k] = alphas[k] + sums[k] - 0.5 * np.sum(Qx * Qx, axis=1)
    largest = row_max(main)
    slse = np.sum(largest + np.log(np.sum(np.exp(main - largest[:, np.newaxis]), axis=1)))
    frobenius = np.sum(Q * Q) + np.sum(icf[:, d:] ** 2)
    prior = 0.5 * gamma * gamma * frobenius - m * np.sum(sums)
    return const_terms(n, d, K, gamma, m) + slse - n * log_sum_exp(alphas) + prior


STYLES = (
    ("blackscholes", blackscholes),
    ("gmm", gmm),
    ("gmm", gmm_by_point),
    ("heat2d", heat2d),
    ("mlp", mlp),
    ("nbody", nbody),
    ("nbody", nbody_pairwise),
    ("ode_rk4", ode_rk4),
)
