"""Several rows at once: which loops, and that each number is what it was."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import Strategy

ONE = Strategy(without=frozenset({"jam"}))
A = np.sin(np.arange(77.0)).reshape(11, 7)
X = np.linspace(-1.0, 1.0, 7)


def there_and_back(a, x):
    return np.sum((a @ x @ a) ** 2)


def scaled(a, x):
    y = x[0] * a @ x
    return np.sum(y * y)


def of_two(a, x):
    y = 2.0 * a @ x
    return np.sum(y * (a * a @ x)) + y.size


def in_a_loop(a, x):
    total = 0.0
    for k in range(3):
        y = a @ x
        total += np.dot(y @ a, x) / (k + 1)
    return total


def column_sums(a, x):
    total = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total[j] += x[0] * a[i, j]
    return np.sum(total * total)


def in_order(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        row = 0.0
        for j in range(a.shape[1]):
            row += a[i, j] * x[j]
        total += row * row
    return total


TAKEN = [there_and_back, scaled, of_two, in_a_loop]


def source(function, **options):
    return adjit.value_and_grad(function, wrt=(0, 1), **options).source(A, X, tuned=True)


@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_rows_of_products_are_taken_by_four(function):
    assert "range(0, whole, 4)" in source(function)
    assert "range(0, whole, 4)" not in source(function, strategy=ONE)


@pytest.mark.parametrize("function", [column_sums, in_order], ids=lambda f: f.__name__)
def test_other_loops_take_one(function):
    assert "whole, 4)" not in source(function)


@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 11])
def test_each_number_is_what_it_was(function, count):
    value, gradients = adjit.value_and_grad(function, wrt=(0, 1))(A[:count].copy(), X)
    expected, others = adjit.value_and_grad(function, wrt=(0, 1), strategy=ONE)(A[:count].copy(), X)
    # LLVM adds up a row in the order that it chooses for a loop
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    for one, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
