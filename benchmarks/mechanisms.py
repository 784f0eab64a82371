"""Programs that single mechanisms of the compiler are for, beside the workloads: `make bench ARGS=--switches`.

In: a size. Out: what `switches.py` measures, with the mechanisms that have to gain 5 % there.

    for program in programs("small"):
        value, gradients = adjit.value_and_grad(program.function, wrt=program.wrt)(*program.arguments)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Program:
    """`function` is what adjit differentiates, at `arguments`, with respect to the positions `wrt`."""

    name: str
    function: Callable
    arguments: tuple
    wrt: tuple[int, ...]
    mechanisms: frozenset[str]


def programs(size: str) -> list[Program]:
    draw = np.random.default_rng(7)
    scale = {"small": 1, "default": 10, "large": 20}[size]
    x, y = draw.normal(size=(2, 500 * scale))
    points, charges = draw.normal(size=(15 * scale, 3)), draw.normal(size=15 * scale)
    data, image = draw.normal(size=(30 * scale, 10 * scale)), draw.normal(size=(40 * scale, 40 * scale))
    square, b = draw.normal(size=(30 * scale, 30 * scale)), draw.normal(size=30 * scale)
    upper = np.triu(square) / b.size + np.eye(b.size)
    kernel = data[: 6 * scale] @ data[: 6 * scale].T + np.eye(6 * scale)
    found = [
        ("similarity", similarity, (data,), (0,), {"factors"}),
        ("total variation", total_variation, (image, 0.3), (0,), {"inner"}),
        ("Laplacian", laplacian_energy, (image, 0.3), (0,), {"inner"}),
        ("largest difference", largest_difference, (x, y), (0, 1), {"single"}),
        ("infinity norms", infinity_norms, (data,), (0,), {"search", "single"}),
        ("upper form", upper_form, (square, b), (0, 1), {"promote", "margins"}),
        ("upper triangle", back_substitution, (upper, b), (0, 1), {"margins"}),
        ("lower triangle", forward_substitution, (upper.T.copy(), b), (0, 1), {"dots", "margins"}),
        ("Cholesky by rows", log_determinant, (kernel,), (0,), {"dots", "margins"}),
        ("distances one by one", pair_energy, (points, charges), (0, 1), {"triangles"}),
    ]
    return [Program(*row, mechanisms=frozenset(mechanisms)) for *row, mechanisms in found]


def similarity(x):
    return np.sum(np.exp(-0.1 * (x @ x.T)))


def total_variation(u, w):
    total = 0.0
    for i in range(u.shape[0] - 1):
        for j in range(u.shape[1] - 1):
            a = u[i + 1, j] - u[i, j]
            b = u[i, j + 1] - u[i, j]
            total += w * np.sqrt(a * a + b * b + 1e-6)
    return total


def laplacian_energy(u, w):
    total = 0.0
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            r = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
            total += w * r * r
    return total


def largest_difference(x, y):
    largest = abs(x[0] - y[0])
    for i in range(1, x.size):
        largest = max(largest, abs(x[i] - y[i]))
    return largest


def infinity_norms(A):
    total = 0.0
    for i in range(A.shape[0]):
        largest = 0.0
        for j in range(A.shape[1]):
            largest = max(largest, abs(A[i, j]))
        total += largest**2
    return total


def upper_form(U, x):
    total = 0.0
    for i in range(U.shape[0]):
        for j in range(i + 1, U.shape[1]):
            total += U[i, j] * x[i] * x[j]
    return total


def back_substitution(U, b):
    x = np.zeros(b.size)
    for i in range(b.size - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, b.size):
            s -= U[i, j] * x[j]
        x[i] = s / U[i, i]
    return np.sum(x**2)


def forward_substitution(L, b):
    x = np.zeros(b.size)
    for i in range(b.size):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x**2)


def log_determinant(A):
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
        L[i, i] = np.sqrt(A[i, i] - L[i, :i] @ L[i, :i])
    total = 0.0
    for i in range(n):
        total += np.log(L[i, i])
    return total


def pair_energy(x, q):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            s = 0.0
            for k in range(3):
                s = np.sqrt(s * s + (x[i, k] - x[j, k]) ** 2)
            total += q[i] * q[j] / s
    return total
