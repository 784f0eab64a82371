"""What is read of slices is not kept where other rows are stored; tapes of triangles are arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST
from tests.programs.harness import check

L = 2.0 * np.eye(6) + np.sin(np.arange(36.0)).reshape(6, 6) / 6
B = np.linspace(-1.0, 2.0, 6)


def tapes(function, *arguments):
    options = {"wrt": (0, 1), "target": "python", "strategy": CHEAPEST}
    return set(re.findall(r"^ *(\w+_tape\w*) =", adjit.grad(function, **options).source(*arguments), re.MULTILINE))


# --------------------------------------------------------------------------------------------------------- slices


def substitution(L, b):
    x = np.zeros(b.size)
    for i in range(b.size):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * x)


def many_substitutions(L, B):
    X = np.zeros_like(B)
    for i in range(B.shape[0]):
        X[i] = (B[i] - L[i, :i] @ X[:i]) / L[i, i]
    return np.sum(X * X)


def stored_before(L, b):
    x = b * b
    for i in range(1, b.size):
        x[i - 1] = L[i, :i] @ x[:i]
    return np.sum(x * x)


def stored_in_turn(L, b):
    x = b * b
    for i in range(b.size):
        x[(3 * i) % b.size] = L[i, :i] @ x[:i]
    return np.sum(x * x)


@pytest.mark.parametrize(("function", "arguments"), [(substitution, (L, B)), (many_substitutions, (L, L.T + 1.0))])
def test_rows_that_are_stored_later_are_not_kept(function, arguments):
    assert tapes(function, *arguments) == set()
    check(function, lambda: tuple(a.copy() for a in arguments), (0, 1), second=False)


@pytest.mark.parametrize("function", [stored_before, stored_in_turn])
def test_rows_that_are_stored_into_are_kept(function):
    assert "x_old_tape" in tapes(function, L, B)
    check(function, lambda: (L.copy(), B.copy()), (0, 1))


def of_products(L, b):
    total = 1.0
    for i in range(b.size):
        y = L[:i] @ b
        total = np.sin(total + np.sum(y))
    return total


def test_nothing_is_kept_for_its_shape_alone():
    assert tapes(of_products, L, B) == {"sum_tape"}
    check(of_products, lambda: (L.copy(), B.copy()), (0, 1))


# ------------------------------------------------------------------------------------------------------ triangles


def modified_gram_schmidt(A, w):
    Q = A.copy()
    for i in range(Q.shape[0]):
        for j in range(i):
            Q[i] -= (Q[j] @ Q[i]) * Q[j]
        Q[i] /= np.sqrt(np.sum(Q[i] ** 2))
    return np.sum(Q * w)


def recurrences(A, w):
    total = 0.0
    for i in range(A.shape[0]):
        x = A[i, 0]
        for j in range(i):
            x = np.sin(x * w[0, j])
        total += x
    return total


def until_it_is_so(A, w):
    x, steps = w[0] * 1.0, 0
    while np.sum(x * x) > 1e-3 and steps < 5:
        for i in range(1, x.size):
            x[i] = 0.5 * np.sin(x[i - 1]) * x[i] + A[i, 0] * 0.1
        steps += 1
    return np.sum(x * x)


def in_branches(A, w):
    total = 0.0
    for i in range(A.shape[0]):
        if w[i, 0] > 0.0:
            x = A[i, 0]
            for j in range(2 * i + 1):
                if j % 2 == 0:
                    x = np.sin(x * w[0, 1])
            total += x
    return total


def few(A, w):
    total = 0.0
    for i in range(A.shape[0]):
        x = A[i, 0]
        for _ in range(i % 3):
            x = np.sin(x * w[0, 0])
        total += x
    return total


TRIANGLES = [modified_gram_schmidt, recurrences, until_it_is_so, in_branches]


@pytest.mark.parametrize("function", TRIANGLES)
def test_tapes_of_triangles_are_arrays(function):
    assert any("_row_tape" in tape for tape in tapes(function, L, L.T))
    check(function, lambda: (L.copy(), L.T.copy()), (0, 1))


def test_numbers_of_trips_that_are_no_sums_have_lists():
    assert tapes(few, L, L.T) == {"x_tape"}
    check(few, lambda: (L.copy(), L.T.copy()), (0, 1))


@pytest.mark.parametrize("function", [modified_gram_schmidt, in_branches])
def test_compiled(function):
    wanted = adjit.grad(function, wrt=(0, 1), target="python", strategy=CHEAPEST)(L, L.T.copy())
    for bar, expected in zip(adjit.grad(function, wrt=(0, 1))(L, L.T.copy()), wanted, strict=True):
        np.testing.assert_allclose(bar, expected, rtol=1e-11, atol=1e-13)
