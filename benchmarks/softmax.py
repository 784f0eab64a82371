"""Softmax, attention and similar code with hand-written adjoints, and matrix products with their primals.

In:  a size. Out: `softmaxes(size)` and `products(size)`, as the `Workload`s of `workloads.py`.

Written as an expert would: the reverse sweep of a softmax reads only its array of weights, computes no exponential
twice, and writes each gradient of a matrix once.
"""

import dataclasses
import math

import numpy as np
from numba import njit

from kinds_in_jax import in_jax
from workloads import Workload, workload


def softmaxes(size: str) -> list[Workload]:
    draw = np.random.default_rng(5)
    scale = {"small": 1, "default": 4, "large": 8}[size]
    tokens = tuple(draw.normal(size=(48 * scale, 12 * scale)) for _ in range(3))
    heads = tuple(draw.normal(size=(2 * scale, 4, 12 * scale, 8 * scale)) for _ in range(2))
    rows, features, classes = 100 * scale, 16 * scale, 10
    labels = draw.integers(classes, size=rows)
    regression = (
        draw.normal(size=(features, classes)), np.zeros(classes), draw.normal(size=(rows, features)), labels,
    )  # fmt: skip
    normed = tuple(draw.normal(size=s) for s in ((rows, features), features, features, (rows, features)))
    found = [
        workload("attention, loops", attention_loops, attention_by_hand, tokens, (0, 1, 2)),
        workload("attention, arrays", attention_arrays, attention_by_hand, tokens, (0, 1, 2)),
        workload("softmax, 4 axes", softmax_of_four, softmax_of_four_by_hand, heads, (0, 1)),
        workload("softmax regression", regress, regress_by_hand, regression, (0, 1)),
        workload("cross-entropy", cross_entropy, cross_entropy_by_hand, (8.0 * regression[2], labels), (0,)),
        workload("layer norm", layer_norm, layer_norm_by_hand, normed, (0, 1, 2)),
    ]
    return [dataclasses.replace(kind, jax=in_jax(kind.name, kind.arguments, kind.wrt)) for kind in found]


def products(size: str) -> list[Workload]:
    draw = np.random.default_rng(6)
    order = {"small": 100, "default": 400, "large": 1000}[size]
    A, B = draw.normal(size=(2, order, order))
    x, w = draw.normal(size=(2, order))
    half, rows = draw.normal(size=(2, order // 2, order // 2))
    half += 3.0 * np.eye(order // 2)
    L = np.tril(draw.normal(size=(order, order))) / order + 2.0 * np.eye(order)
    many = L[: half.shape[0], : half.shape[0]].copy()
    found = [
        workload("x @ A @ x", quadratic_form, quadratic_form_by_hand, (A, x), (0, 1)),
        workload("A @ x @ A", twice, twice_by_hand, (A, x, w), (0, 1)),
        workload("a A @ x + b B @ x", both, both_by_hand, (A, B, x, 1.5, -0.5), (0, 1, 2, 3, 4)),
        workload("(A @ B) @ x", chain, chain_by_hand, (A, B, x), (0, 1, 2)),
        workload("covariance", covariance, covariance_by_hand, (A, B), (0,)),
        workload("Gram-Schmidt", gram_schmidt, gram_schmidt_by_hand, (half, rows), (0, 1)),
        workload("substitution", solve, solve_by_hand, (L, L.T.copy(), x), (0, 1, 2)),
        workload("many right sides", solve_many, solve_many_by_hand, (many, half), (0, 1)),
    ]
    return [dataclasses.replace(kind, moved=MOVED[kind.name](kind.arguments[0].shape[0])) for kind in found]


# What comes from beyond the first cache or goes there, in elements of matrices of n rows and columns: by the primal, by
# the gradient that adjit makes. A row that is read again in the same trip counts once; what is made and not returned
# counts where it is a matrix. Substitutions read triangles and write squares; Gram-Schmidt and many right sides go
# through the rows in front of each one, n / 2 in the mean, and blocks of 32 updates through those of each block.
MOVED = {
    "x @ A @ x": lambda n: (n**2, 2 * n**2),  # A | A; A_bar
    "A @ x @ A": lambda n: (2 * n**2, 2 * n**2),  # A twice | A; A_bar
    "a A @ x + b B @ x": lambda n: (6 * n**2, 4 * n**2),  # A, B, multiples made and read | A, B; A_bar, B_bar
    "(A @ B) @ x": lambda n: (4 * n**2, 8 * n**2),  # A, B, made and read | that, B, A; A_bar, B_bar
    # X twice, centred made and read, product made and read, w, quotients made and read | that, and as much once more
    "covariance": lambda n: (9 * n**2, 18 * n**2),
    "Gram-Schmidt": lambda n: (n**3, n**3 + 28 * n**2),  # Q[:k] twice | once each way; updates, by blocks
    "substitution": lambda n: (n**2, 4 * n**2),  # L, U | twice; L_bar, U_bar
    "many right sides": lambda n: (n**3 / 2, n**3 + 28 * n**2),  # X[:i] | twice; updates, by blocks
}


# ----------------------------------------------------------------------------------------------------------- attention


@njit
def attention_loops(Q, K, V):
    n, m = Q.shape[0], K.shape[0]
    A = Q @ K.T / math.sqrt(Q.shape[1])
    for i in range(n):
        largest = A[i, 0]
        for j in range(1, m):
            largest = max(largest, A[i, j])
        total = 0.0
        for j in range(m):
            e = math.exp(A[i, j] - largest)
            A[i, j] = e
            total += e
        for j in range(m):
            A[i, j] = A[i, j] / total
    out = A @ V
    return np.sum(out * out)


@njit
def attention_arrays(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    e = np.exp(scores - row_maxima(scores))
    weights = e / np.sum(e, axis=1).reshape((-1, 1))
    return np.sum((weights @ V) ** 2)


@njit
def row_maxima(x):
    largest = np.empty((x.shape[0], 1))
    for i in range(x.shape[0]):
        largest[i, 0] = np.max(x[i])
    return largest


@njit
def attention_by_hand(Q, K, V):
    n, m = Q.shape[0], K.shape[0]
    root = 1.0 / math.sqrt(Q.shape[1])
    A = np.dot(Q, K.T)
    for i in range(n):
        largest = A[i, 0]
        for j in range(1, m):
            largest = max(largest, A[i, j])
        total = 0.0
        for j in range(m):
            A[i, j] = math.exp((A[i, j] - largest) * root)
            total += A[i, j]
        for j in range(m):
            A[i, j] /= total
    out = np.dot(A, V)
    value = 0.0
    for i in range(n):
        for k in range(out.shape[1]):
            value += out[i, k] * out[i, k]
            out[i, k] *= 2.0
    V_bar = np.dot(A.T, out)
    A_bar = np.dot(out, V.T)
    for i in range(n):
        inner = 0.0
        for j in range(m):
            inner += A_bar[i, j] * A[i, j]
        for j in range(m):
            A_bar[i, j] = A[i, j] * (A_bar[i, j] - inner) * root
    return value, (np.dot(A_bar, K), np.dot(A_bar.T, Q), V_bar)


# ----------------------------------------------------------------------------------------- softmax over the last axis


def softmax_of_four(x, w):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.sum(w * (e / e.sum(axis=-1, keepdims=True)))


@njit
def softmax_of_four_by_hand(x, w):
    n0, n1, n2, m = x.shape
    x_bar, w_bar = np.empty_like(x), np.empty_like(w)
    value = 0.0
    for a in range(n0):
        for b in range(n1):
            for c in range(n2):
                largest = x[a, b, c, 0]
                for j in range(1, m):
                    largest = max(largest, x[a, b, c, j])
                total = 0.0
                for j in range(m):
                    w_bar[a, b, c, j] = math.exp(x[a, b, c, j] - largest)
                    total += w_bar[a, b, c, j]
                inner = 0.0
                for j in range(m):
                    w_bar[a, b, c, j] /= total
                    inner += w_bar[a, b, c, j] * w[a, b, c, j]
                value += inner
                for j in range(m):
                    x_bar[a, b, c, j] = w_bar[a, b, c, j] * (w[a, b, c, j] - inner)
    return value, (x_bar, w_bar)


# -------------------------------------------------------------------------------------- softmax regression, its entropy


def regress(w, b, x, labels):
    logits = x @ w + b
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(labels.size), labels]) + 0.5e-3 * np.sum(w * w)


@njit
def regress_by_hand(w, b, x, labels):
    logits = np.dot(x, w)
    for i in range(logits.shape[0]):
        for j in range(logits.shape[1]):
            logits[i, j] += b[j]
    value, p = entropy_and_adjoint(logits, labels)
    b_bar = np.zeros_like(b)
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            b_bar[j] += p[i, j]
    w_bar = np.dot(x.T, p)
    squares = 0.0
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            squares += w[i, j] * w[i, j]
            w_bar[i, j] += 1e-3 * w[i, j]
    return value + 0.5e-3 * squares, (w_bar, b_bar)


def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(labels.size), labels])


@njit
def cross_entropy_by_hand(logits, labels):
    value, bar = entropy_and_adjoint(logits, labels)
    return value, (bar,)


@njit
def entropy_and_adjoint(logits, labels):
    n, m = logits.shape
    value = 0.0
    bar = np.empty_like(logits)
    for i in range(n):
        largest = logits[i, 0]
        for j in range(1, m):
            largest = max(largest, logits[i, j])
        total = 0.0
        for j in range(m):
            bar[i, j] = math.exp(logits[i, j] - largest)
            total += bar[i, j]
        value += math.log(total) - (logits[i, labels[i]] - largest)
        scale = 1.0 / (total * n)
        for j in range(m):
            bar[i, j] *= scale
        bar[i, labels[i]] -= 1.0 / n
    return value / n, bar


# ------------------------------------------------------------------------------------------------- layer normalisation


def layer_norm(x, scale, shift, w):
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    y = (x - mean) / np.sqrt(variance + 1e-5)
    return np.sum(w * (scale * y + shift))


@njit
def layer_norm_by_hand(x, scale, shift, w):
    n, m = x.shape
    x_bar, scale_bar, shift_bar = np.empty_like(x), np.zeros_like(scale), np.zeros_like(shift)
    value = 0.0
    for i in range(n):
        mean = 0.0
        for j in range(m):
            mean += x[i, j]
        mean /= m
        variance = 0.0
        for j in range(m):
            variance += (x[i, j] - mean) ** 2
        over = 1.0 / math.sqrt(variance / m + 1e-5)
        along, across = 0.0, 0.0
        for j in range(m):
            y = (x[i, j] - mean) * over
            bar = w[i, j] * scale[j]
            value += w[i, j] * (scale[j] * y + shift[j])
            scale_bar[j] += w[i, j] * y
            shift_bar[j] += w[i, j]
            along += bar
            across += bar * y
            x_bar[i, j] = y
        for j in range(m):
            x_bar[i, j] = over * (w[i, j] * scale[j] - (along + x_bar[i, j] * across) / m)
    return value, (x_bar, scale_bar, shift_bar)


# ------------------------------------------------------------------------------------------------ matrices and vectors


@njit
def outer(u, v):
    made = np.empty((u.size, v.size))
    for i in range(u.size):
        for j in range(v.size):
            made[i, j] = u[i] * v[j]
    return made


@njit
def quadratic_form(A, x):
    return np.dot(np.dot(x, A), x)


@njit
def quadratic_form_by_hand(A, x):
    y = np.dot(x, A)
    return np.dot(y, x), (outer(x, x), y + np.dot(A, x))


@njit
def twice(A, x, w):
    return np.dot(A @ x @ A, w)


@njit
def twice_by_hand(A, x, w):
    y = np.dot(A, x)
    y_bar = np.dot(A, w)
    A_bar = np.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A_bar[i, j] = y[i] * w[j] + y_bar[i] * x[j]
    return np.dot(y, y_bar), (A_bar, np.dot(y_bar, A))


@njit
def both(A, B, x, a, b):
    y = a * A @ x + b * B @ x
    return np.sum(y * y)


@njit
def both_by_hand(A, B, x, a, b):
    left, right = np.dot(A, x), np.dot(B, x)
    y = a * left + b * right
    y_bar = 2.0 * y
    a_bar, b_bar = np.dot(y_bar, left), np.dot(y_bar, right)
    x_bar = np.dot(a * y_bar, A) + np.dot(b * y_bar, B)
    return np.dot(y, y), (outer(a * y_bar, x), outer(b * y_bar, x), x_bar, a_bar, b_bar)


@njit
def chain(A, B, x):
    y = (A @ B) @ x
    return np.sum(y * y)


@njit
def chain_by_hand(A, B, x):
    z = np.dot(B, x)
    y = np.dot(np.dot(A, B), x)
    y_bar = 2.0 * y
    z_bar = np.dot(y_bar, A)
    return np.dot(y, y), (outer(y_bar, z), outer(z_bar, x), np.dot(z_bar, B))


@njit
def column_means(X):
    means = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        means += X[i]
    return means / X.shape[0]


@njit
def covariance(X, w):
    centred = X - column_means(X)
    return np.sum(centred.T @ centred / (X.shape[0] - 1) * w)


@njit
def covariance_by_hand(X, w):
    centred = X - column_means(X)
    C = np.dot(centred.T, centred)
    scale = 1.0 / (X.shape[0] - 1)
    value = 0.0
    factor = np.empty_like(w)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            value += scale * C[i, j] * w[i, j]
            factor[i, j] = scale * (w[i, j] + w[j, i])
    bar = np.dot(centred, factor)
    return value, (bar - column_means(bar),)


# ------------------------------------------------------------------------------------------- slices of matrices


@njit
def gram_schmidt(A, w):
    Q = np.zeros_like(A)
    for k in range(A.shape[0]):
        v = A[k] - (Q[:k] @ A[k]) @ Q[:k]
        Q[k] = v / np.sqrt(v @ v)
    return np.sum(Q * w)


@njit(fastmath=True)
def gram_schmidt_by_hand(A, w):
    n, m = A.shape
    Q, c, r = np.empty_like(A), np.empty((n, n)), np.empty(n)
    value = 0.0
    for k in range(n):
        c[k, :k] = np.dot(Q[:k], A[k])
        less = np.dot(c[k, :k], Q[:k])
        squares = 0.0
        for j in range(m):
            Q[k, j] = A[k, j] - less[j]
            squares += Q[k, j] * Q[k, j]
        r[k] = math.sqrt(squares)
        for j in range(m):
            Q[k, j] /= r[k]
            value += Q[k, j] * w[k, j]
    A_bar, Q_bar, v_bar = np.empty_like(A), w.copy(), np.empty(m)
    for k in range(n - 1, -1, -1):
        along = np.dot(Q_bar[k], Q[k])
        for j in range(m):
            v_bar[j] = (Q_bar[k, j] - along * Q[k, j]) / r[k]
        c_bar = np.dot(Q[:k], v_bar)
        for i in range(k):
            for j in range(m):
                Q_bar[i, j] -= c[k, i] * v_bar[j] + c_bar[i] * A[k, j]
        less = np.dot(c_bar, Q[:k])
        for j in range(m):
            A_bar[k, j] = v_bar[j] - less[j]
    return value, (A_bar, Q)


@njit
def solve(L, U, b):
    n = b.size
    y, x = np.zeros(n), np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return np.sum(x * x)


@njit
def solve_by_hand(L, U, b):
    n = b.size
    y, x = np.empty(n), np.empty(n)
    value = 0.0
    for i in range(n):
        y[i] = (b[i] - np.dot(L[i, :i], y[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
        value += x[i] * x[i]
    L_bar, U_bar, bar = np.zeros_like(L), np.zeros_like(U), 2.0 * x
    for i in range(n):
        bar[i] /= U[i, i]
        U_bar[i, i] = -bar[i] * x[i]
        for j in range(i + 1, n):
            U_bar[i, j] = -bar[i] * x[j]
            bar[j] -= bar[i] * U[i, j]
    for i in range(n - 1, -1, -1):
        bar[i] /= L[i, i]
        L_bar[i, i] = -bar[i] * y[i]
        for j in range(i):
            L_bar[i, j] = -bar[i] * y[j]
            bar[j] -= bar[i] * L[i, j]
    return value, (L_bar, U_bar, bar)


@njit
def solve_many(L, B):
    X = np.zeros_like(B)
    for i in range(B.shape[0]):
        X[i] = (B[i] - L[i, :i] @ X[:i]) / L[i, i]
    return np.sum(X * X)


@njit
def solve_many_by_hand(L, B):
    n = B.shape[0]
    X = np.empty_like(B)
    value = 0.0
    for i in range(n):
        X[i] = (B[i] - np.dot(L[i, :i], X[:i])) / L[i, i]
        value += np.dot(X[i], X[i])
    L_bar, B_bar = np.zeros_like(L), 2.0 * X
    for i in range(n - 1, -1, -1):
        B_bar[i] /= L[i, i]
        L_bar[i, : i + 1] = -np.dot(X[: i + 1], B_bar[i])
        for k in range(i):
            for j in range(B.shape[1]):
                B_bar[k, j] -= L[i, k] * B_bar[i, j]
    return value, (L_bar, B_bar)
