"""Programs of library calls and whole-array statements, which take longest to compile.

In: nothing. Out: `programs()`, pairs of a function and its arguments, by name, with the positions to differentiate.

A Kalman filter, the likelihood of a Gaussian process, least squares by QR, and a LeNet in NumPy style.
"""

import numpy as np


def kalman(observed, a, c, q, r, mean, covariance):
    total = 0.0
    for t in range(observed.shape[0]):
        mean = a @ mean
        covariance = a @ covariance @ a.T + q
        spread = c @ covariance @ c.T + r
        residual = observed[t] - c @ mean
        gain = np.linalg.solve(spread, c @ covariance).T
        mean = mean + gain @ residual
        covariance = covariance - gain @ spread @ gain.T
        total += 0.5 * (residual @ np.linalg.solve(spread, residual)) + 0.5 * np.log(np.linalg.det(spread))
    return total


def gaussian_process(points, values, length, scale, noise):
    n = points.shape[0]
    distances = np.sum((points[:, None, :] - points[None, :, :]) ** 2, axis=2)
    kernel = scale**2 * np.exp(-0.5 * distances / length**2) + noise**2 * np.eye(n)
    factor = np.linalg.cholesky(kernel)
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, values))
    return 0.5 * values @ weights + np.sum(np.log(np.diag(factor))) + 0.5 * n * np.log(2 * np.pi)


def least_squares(features, targets, scales):
    q, r = np.linalg.qr(features * scales)
    solution = np.linalg.solve(r, q.T @ targets)
    residuals = features @ solution - targets
    return np.sum(residuals * residuals) + np.sum(solution * solution)


def convolved(x, w, b):
    n, channels, height, width = x.shape
    kinds, _, rows, columns = w.shape
    out = np.zeros((n, kinds, height - rows + 1, width - columns + 1))
    for i in range(rows):
        for j in range(columns):
            for c in range(channels):
                for k in range(kinds):
                    out[:, k] += x[:, c, i : i + height - rows + 1, j : j + width - columns + 1] * w[k, c, i, j]
    return out + b[None, :, None, None]


def pooled(x):
    upper = np.maximum(x[:, :, 0::2, 0::2], x[:, :, 0::2, 1::2])
    lower = np.maximum(x[:, :, 1::2, 0::2], x[:, :, 1::2, 1::2])
    return np.maximum(upper, lower)


def lenet(images, labels, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5):
    n = images.shape[0]
    h = pooled(np.maximum(convolved(images, w1, b1), 0.0))
    h = pooled(np.maximum(convolved(h, w2, b2), 0.0))
    f = h.reshape(n, h.shape[1] * h.shape[2] * h.shape[3])
    f = np.maximum(f @ w3 + b3, 0.0)
    f = np.maximum(f @ w4 + b4, 0.0)
    z = f @ w5 + b5
    z = z - np.max(z, axis=1).reshape(n, 1)
    log_p = z - np.log(np.sum(np.exp(z), axis=1)).reshape(n, 1)
    total = 0.0
    for i in range(n):
        total -= log_p[i, labels[i]]
    return total / n


def programs():
    normal = np.random.default_rng(0).normal
    shapes = ((6, 1, 5, 5), 6, (16, 6, 5, 5), 16, (256, 120), 120, (120, 84), 84, (84, 10), 10)
    layers = [0.1 * normal(size=shape) for shape in shapes]
    return {
        "kalman": (
            kalman,
            (normal(size=(10, 2)), 0.9 * np.eye(4), normal(size=(2, 4)), np.eye(4), np.eye(2), np.zeros(4), np.eye(4)),
            (1, 2, 3, 4),
        ),
        "gaussian_process": (gaussian_process, (normal(size=(20, 3)), normal(size=20), 1.0, 1.0, 0.3), (2, 3, 4)),
        "least_squares": (least_squares, (normal(size=(20, 4)), normal(size=20), normal(size=4)), (0, 1, 2)),
        "lenet": (lenet, (0.1 * normal(size=(4, 1, 28, 28)), np.arange(4), *layers), tuple(range(2, 12))),
    }
