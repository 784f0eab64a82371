"""Distances of points, of scipy.spatial.distance. Where two points are one, a distance has the derivative 0, as a norm.

In: points as vectors, or as the rows of matrices. Out: distances.

    d = cdist(a, b)      d[i, j] = sqrt(sum_k (a[i, k] - b[j, k]) ** 2)
"""

import numpy as np
import scipy.spatial.distance as ssd

from adjit.rules.registry import builtin

decomposition = builtin.decomposition

SQUARED = ("sqeuclidean", "sqe", "sqeuclid")
EUCLIDEAN = ("euclidean", "euclid", "eu", "e")
BY_BLOCKS = ("cityblock", "cblock", "cb", "c")


def root(square):
    return 0.0 if square == 0.0 else square**0.5


def distance(a, b, metric):
    """Of two vectors, by a name."""
    if metric in BY_BLOCKS:
        return np.sum(np.abs(a - b))
    if metric == "chebyshev":
        return np.max(np.abs(a - b))
    if metric == "cosine":
        return cosine(a, b)
    square = 0.0
    for k in range(a.size):
        square += (a[k] - b[k]) * (a[k] - b[k])
    return square if metric in SQUARED else root(square)


@decomposition(ssd.cdist)
def cdist(XA, XB, metric="euclidean"):
    if metric not in (*EUCLIDEAN, *SQUARED, *BY_BLOCKS, "chebyshev", "cosine"):
        raise NotImplementedError("cdist of this metric: use euclidean, sqeuclidean, cityblock, chebyshev or cosine")
    XA, XB = np.asarray(XA), np.asarray(XB)
    out = np.empty((XA.shape[0], XB.shape[0]))
    for i in range(XA.shape[0]):
        for j in range(XB.shape[0]):
            out[i, j] = distance(XA[i], XB[j], metric)
    return out


@decomposition(ssd.pdist)
def pdist(X, metric="euclidean"):
    if metric not in (*EUCLIDEAN, *SQUARED, *BY_BLOCKS, "chebyshev", "cosine"):
        raise NotImplementedError("pdist of this metric: use euclidean, sqeuclidean, cityblock, chebyshev or cosine")
    X = np.asarray(X)
    n = X.shape[0]
    out = np.empty(n * (n - 1) // 2)
    for i in range(n):
        for j in range(i + 1, n):
            out[n * i - i * (i + 1) // 2 + j - i - 1] = distance(X[i], X[j], metric)
    return out


@decomposition(ssd.squareform)
def squareform(X, checks=True):
    X = np.asarray(X)
    if X.ndim == 1:
        # of n (n - 1) / 2 distances
        n = int(np.ceil(np.sqrt(X.size * 2))) if X.size > 0 else 1
        square = np.zeros((n, n), X.dtype)
        for i in range(n):
            for j in range(i + 1, n):
                square[i, j] = X[n * i - i * (i + 1) // 2 + j - i - 1]
                square[j, i] = X[n * i - i * (i + 1) // 2 + j - i - 1]
        return square
    n = X.shape[0]
    out = np.empty(n * (n - 1) // 2, X.dtype)
    for i in range(n):
        for j in range(i + 1, n):
            out[n * i - i * (i + 1) // 2 + j - i - 1] = X[i, j]
    return out


@decomposition(ssd.euclidean)
def euclidean(u, v):
    return distance(np.asarray(u), np.asarray(v), "euclidean")


@decomposition(ssd.sqeuclidean)
def sqeuclidean(u, v):
    return distance(np.asarray(u), np.asarray(v), "sqeuclidean")


@decomposition(ssd.cityblock)
def cityblock(u, v):
    return np.sum(np.abs(np.asarray(u) - np.asarray(v)))


@decomposition(ssd.chebyshev)
def chebyshev(u, v):
    return np.max(np.abs(np.asarray(u) - np.asarray(v)))


@decomposition(ssd.cosine)
def cosine(u, v):
    u, v = np.asarray(u), np.asarray(v)
    across, own, other = 0.0, 0.0, 0.0
    for k in range(u.size):
        across += u[k] * v[k]
        own += u[k] * u[k]
        other += v[k] * v[k]
    return 1.0 - across / (own**0.5 * other**0.5)
