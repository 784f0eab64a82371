"""Products with vectors go through a matrix together, where neither waits for what the other makes of all rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.transform.strategy import Strategy
from tests.programs.harness import check

A = np.sin(np.arange(35.0)).reshape(7, 5)
SQUARE = np.cos(np.arange(49.0)).reshape(7, 7)
X, W = np.linspace(-1.0, 1.0, 7), np.linspace(0.5, 2.0, 7)
V = np.linspace(-1.0, 1.0, 5)
PLAIN = Strategy(without=frozenset({"passes"}))


def there_and_back(A, x):
    return A @ x @ A


def on_both_sides(A, x, w):
    return np.dot(A @ x @ A, w)


def quadratic(A, x):
    return x @ A @ x


def nonlinear(A, x, w):
    y = A @ x
    return np.sum(y * y / (1.0 + w * y))


def activated(A, x):
    return np.sum(np.tanh(A @ x))


def scaled(a, b, A, B, x):
    y = a * A @ x + b * B @ x
    return np.sum(y * y)


def of_elements(A, v):
    return np.sum((np.exp(A) @ v) ** 2)


def twice_a_step(A, x):
    for _ in range(3):
        x = np.tanh(A @ x + x @ A)
    return np.dot(x, x)


def waits(A, x):
    return np.sum((A @ (A @ x)) ** 2)


def text(function, *arguments, strategy=None):
    options = {} if strategy is None else {"strategy": strategy}
    return adjit.value_and_grad(function, wrt=tuple(range(len(arguments))), **options).source(*arguments, tuned=True)


PROGRAMS = [
    (on_both_sides, (SQUARE, X, W), 1),
    (quadratic, (SQUARE, X), 1),
    (nonlinear, (SQUARE, X, W), 0),
    (scaled, (0.7, -1.5, A, A[::-1].copy(), V), 0),
    (of_elements, (A, V), 0),
    (twice_a_step, (SQUARE, X), 1),
]


@pytest.mark.parametrize(("function", "arguments", "left"), PROGRAMS, ids=[f.__name__ for f, *_ in PROGRAMS])
def test_one_pass_for_all_that_share_a_matrix(function, arguments, left):
    def products(source):
        statements = (line.partition("#")[0] for line in source.splitlines())
        return sum(len(re.findall(r"np\.dot\(| @ ", line)) for line in statements)

    assert products(text(function, *arguments)) == left
    assert products(text(function, *arguments, strategy=PLAIN)) > left
    check(function, lambda: tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments), (0, 1))


def test_what_is_scaled_is_no_array():
    assert "values = workspace" not in text(scaled, 0.7, -1.5, A, A, V)


def test_elementary_functions_of_rows_stay_vectors():
    found = text(activated, A, V)
    assert "vectormath.tanh" in found
    assert "A @ x" in found


def test_products_that_wait_for_each_other_stay_calls():
    found = text(waits, SQUARE, X)
    assert "A @ x" in found
    check(waits, lambda: (SQUARE.copy(), X.copy()), (0, 1))


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 3), (4, 4), (9, 9)])
def test_matrices_of_few_rows(shape):
    a, x, w = (
        SQUARE.ravel().repeat(2)[: shape[0] * shape[1]].reshape(shape),
        np.ones(shape[0]),
        np.arange(shape[0] + 0.0),
    )
    for function, given in ((on_both_sides, (a, x, w)), (quadratic, (a, x))):
        made, plain = (
            adjit.value_and_grad(function, wrt=(0, 1), **options)(*given) for options in ({}, {"strategy": PLAIN})
        )
        for one, other in zip((made[0], *made[1]), (plain[0], *plain[1]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


def test_factors_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="the factors of a product do not fit"):
        adjit.grad(on_both_sides, wrt=(0, 1))(SQUARE, X[:5].copy(), W)


def test_exact_values_are_those_of_the_primal():
    a = np.sin(np.arange(150.0 * 150.0)).reshape(150, 150)
    x, w = np.cos(np.arange(150.0)), np.sin(np.arange(150.0))
    value, _ = adjit.value_and_grad(on_both_sides, wrt=(0, 1), vectormath=False)(a, x, w)
    assert value == njit(on_both_sides)(a, x, w)


def test_sweeps_that_are_run_apart_have_passes_of_their_own():
    value, pullback = adjit.vjp(there_and_back, SQUARE, X)
    np.testing.assert_allclose(value, SQUARE.T @ (SQUARE @ X), rtol=1e-13)
    for seed in (W, -W):
        A_bar, x_bar = pullback(seed)
        np.testing.assert_allclose(x_bar, SQUARE.T @ (SQUARE @ seed), rtol=1e-12)
        np.testing.assert_allclose(A_bar, np.outer(SQUARE @ X, seed) + np.outer(SQUARE @ seed, X), rtol=1e-12)


def descended(A, b):
    x = A[0] * 1.0
    for _ in range(3):
        r = A @ x - b
        x = x - 0.1 * (A.T @ r)
    return np.sum(np.sin(x)) + r @ r


def test_passes_are_differentiated_again():
    g = np.random.default_rng(3)
    A, b, way = g.normal(size=(5, 3)), g.normal(size=5), g.normal(size=(5, 3))
    gradient, step = adjit.grad(descended), 1e-6
    expected = (gradient(A + step * way, b) - gradient(A - step * way, b)) / (2 * step)
    np.testing.assert_allclose(adjit.hvp(descended)(A, b, way), expected, rtol=1e-6, atol=1e-6)
    # by columns: what checks that extents fit draws nothing
    found = np.tensordot(adjit.hessian(descended)(A, b), way, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
