"""Greatest and least elements that loops take, as loops."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


def softest(A):
    total = 0.0
    for i in range(A.shape[0]):
        largest = np.max(A[i])
        total += largest + np.log(np.sum(np.exp(A[i] - largest)))
    return total


def spread(A):
    total = 0.0
    for j in range(A.shape[1]):
        column = A[:, j] * A[:, j]
        total += np.max(column) - np.min(column)
    return total


@pytest.mark.parametrize("function", [softest, spread])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3),), (0,))


@pytest.mark.parametrize("function", [softest, spread])
def test_they_are_loops(function):
    assert "= np.m" not in adjit.grad(function).source(np.ones((4, 3)), tuned=True)


def least_of_rows(A):
    total = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        total[i] = np.min(A[i])
    return total


@pytest.mark.parametrize("length", [1, 7, 8, 31, 32, 33, 100])
@pytest.mark.parametrize("place", [None, 0, -1])
def test_vectors_compare_as_numpy_does(length, place):
    A = np.random.default_rng(length).normal(size=(5, length))
    if place is not None:
        A[2, place] = np.nan
    for function, of_numpy in ((largest_of_rows, np.max), (least_of_rows, np.min)):
        value, _ = adjit.vjp(function, A)
        np.testing.assert_array_equal(value, of_numpy(A, axis=1))


def largest_of_rows(A):
    total = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        total[i] = np.max(A[i])
    return total


@pytest.mark.parametrize(
    "row", [[1.0, np.nan, 2.0], [np.nan, 1.0, 2.0], [3.0, 2.0, np.nan], [-np.inf, -np.inf, -np.inf]]
)
def test_nan_and_infinity_come_out_as_from_numpy(row):
    A = np.array([row, [1.0, 2.0, 3.0]])
    value, _ = adjit.vjp(largest_of_rows, A)
    np.testing.assert_array_equal(value, np.max(A, axis=1))


def test_equal_elements_have_equal_shares():
    value, gradient = adjit.value_and_grad(spread)(np.array([[2.0, 1.0], [2.0, 3.0], [1.0, 3.0]]))
    assert value == 3.0 + 8.0
    np.testing.assert_allclose(gradient, [[2.0, -2.0], [2.0, 3.0], [-2.0, 3.0]])


def test_no_elements_stay_an_error():
    derived = adjit.grad(softest)
    with pytest.raises(ValueError, match="zero-size|without elements"):
        derived(np.ones((2, 0)))
    assert derived(np.ones((0, 0))).shape == (0, 0)
