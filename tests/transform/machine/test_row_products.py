"""Products of rows as sums: which ones, what they come to, and that factors that do not fit raise."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import njit

import adjit
from tests.programs.harness import check

L = 2.0 * np.eye(6) + np.tril(np.sin(np.arange(36.0)).reshape(6, 6)) / 6
B = np.linspace(-1.0, 2.0, 6)


def forward(L, b):
    x = np.zeros(b.size)
    for i in range(b.size):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * x)


def back(L, b):
    n = b.size
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
    return np.sum(x * x)


def of_rows(A, b):
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total += np.dot(A[i], A[j]) * b[j]
    return total


def of_whole_vectors(A, b):
    total = 0.0
    for _ in range(3):
        b = A @ b
        total += b @ b
    return total


def text(function):
    """What is compiled, without the comments that head loops."""
    lines = adjit.value_and_grad(function, wrt=(0, 1)).source(L, B, tuned=True).splitlines()
    return "\n".join(line.partition("#")[0] for line in lines)


@pytest.mark.parametrize("function", [forward, back, of_rows, of_whole_vectors])
def test_gradients(function):
    check(function, lambda: (L.copy(), B.copy()), (0, 1), second=False, single=True)


def test_products_of_rows_are_sums():
    for function in (forward, back, of_rows):
        assert " @ " not in text(function)
        assert "np.dot" not in text(function)
        assert "reassociable_add" in text(function)
    assert re.search(r"(\w+) @ \1\b", text(of_whole_vectors))


def test_rows_that_do_not_fit_raise():
    with pytest.raises(ValueError, match="the factors of a product do not fit"):
        adjit.grad(forward, wrt=(0, 1), boundscheck=False)(L[:, :3].copy(), B)
    # what comes first is the element at the diagonal
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 of `L` with size 3"):
        adjit.grad(forward, wrt=(0, 1))(L[:, :3].copy(), B)


def test_exact_values_are_those_of_the_primal():
    draw = np.random.default_rng(1)
    L, b = np.tril(draw.normal(size=(90, 90))) / 90 + 2.0 * np.eye(90), draw.normal(size=90)
    value, _ = adjit.value_and_grad(forward, wrt=(0, 1), vectormath=False)(L, b)
    assert value == njit(forward)(L, b)
