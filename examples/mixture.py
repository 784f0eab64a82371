"""A Gaussian mixture: its likelihood as plain loops, and its parameters as one vector.

The unknowns are the logits of the weights, the means, and a lower triangle per component. The triangle is the Cholesky
factor of the covariance, with logarithms on its diagonal, so every real number is a valid parameter.

    negative_log_likelihood(logits, means, factors, points)     `gaussian_mixture.py` differentiates and minimises it
"""

import math

import numpy as np
from numba import njit


@njit
def log_sum_exp(scores):
    largest = scores[0]
    for k in range(1, scores.size):
        largest = max(largest, scores[k])
    total = 0.0
    for k in range(scores.size):
        total += math.exp(scores[k] - largest)
    return largest + math.log(total)


@njit
def negative_log_likelihood(logits, means, factors, points):
    """Per point, of points (n, d); logits (k,), means (k, d), factors (k, d, d) with log-diagonals."""
    components, features = means.shape
    # one over the diagonal of each factor, and half the log-determinant of each covariance
    scale = np.empty((components, features))
    log_volume = np.zeros(components)
    for k in range(components):
        for i in range(features):
            scale[k, i] = math.exp(-factors[k, i, i])
            log_volume[k] += factors[k, i, i]
    scores = np.empty(components)
    whitened = np.empty(features)
    total = 0.0
    for n in range(points.shape[0]):
        for k in range(components):
            # forward substitution: factor @ whitened = point - mean
            distance = 0.0
            for i in range(features):
                rest = points[n, i] - means[k, i]
                for j in range(i):
                    rest -= factors[k, i, j] * whitened[j]
                whitened[i] = rest * scale[k, i]
                distance += whitened[i] * whitened[i]
            scores[k] = logits[k] - log_volume[k] - 0.5 * distance
        total += log_sum_exp(scores)
    constant = 0.5 * features * math.log(2.0 * math.pi)
    return log_sum_exp(logits) + constant - total / points.shape[0]


def pack(logits, means, factors):
    """One vector for SciPy, with only the lower triangles of the factors (k, d, d)."""
    rows, columns = np.tril_indices(means.shape[1])
    return np.concatenate([logits, means.ravel(), factors[:, rows, columns].ravel()])


def unpack(vector, components, features):
    logits, means, lower = np.split(vector, [components, components * (1 + features)])
    factors = np.zeros((components, features, features))
    rows, columns = np.tril_indices(features)
    factors[:, rows, columns] = lower.reshape(components, -1)
    return logits, means.reshape(components, features), factors


def covariances_of(factors):
    """(k, d, d), from factors with log-diagonals."""
    lower = np.array([np.tril(f, -1) + np.diag(np.exp(np.diag(f))) for f in factors])
    return lower @ lower.transpose(0, 2, 1)


def factors_of(covariances):
    lower = np.linalg.cholesky(covariances)
    return np.array([np.tril(f, -1) + np.diag(np.log(np.diag(f))) for f in lower])
