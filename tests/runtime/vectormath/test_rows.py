"""Elementary functions of rows have the bits of those of numbers, however long the rows are, and touch no others."""

import numpy as np
import pytest
from numba import njit

from adjit.runtime import vectormath


@njit
def of_rows(target, source, less):
    vectormath.exp_of_rows(target, source, less)


@njit
def of_numbers(target, source, less):
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = vectormath.exp(source[i, j] - less[i])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (1, 1), (7, 10), (3, 127), (2, 128), (2, 301)])
def test_each_is_that_of_the_number(n, m, kind):
    draw = np.random.default_rng(m)
    source = draw.normal(scale=300.0, size=(n, m)).astype(kind)
    less = draw.normal(size=n + 2).astype(kind)
    source.flat[:3] = np.inf, np.nan, -np.inf
    whole = np.full((n + 2, m), 7.0, kind)
    expected = whole.copy()
    of_numbers(expected[1 : n + 1], source, less)
    of_rows(whole[1 : n + 1], source, less)
    np.testing.assert_array_equal(whole, expected)
    plain = np.empty((n, m), kind)
    with np.errstate(over="ignore", invalid="ignore"):
        vectormath.exp_of_rows(plain, source, less)
    np.testing.assert_allclose(plain, expected[1 : n + 1], rtol=4 * np.finfo(kind).eps)


def test_every_function_of_one_number_has_one_of_rows():
    x = np.array([[0.5, 1.5], [2.5, 0.25]])
    for function, rows in vectormath.OF_ROWS.items():
        made = np.empty((2, 2))
        rows(made, x, np.array([0.25, -0.5]))
        assert made[1, 0] == function(3.0)
        assert rows.__name__ == f"{function.__name__}_of_rows"
