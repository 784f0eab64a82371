"""`np.r_`, `np.c_`, `np.mgrid` and `np.ogrid`, with numbers of all kinds in their slices: NumPy's values."""

import numpy as np
import pytest

import adjit

X = np.array([0.5, 1.5, -0.7])
A = np.array([[0.2, 1.0], [0.7, -0.3]])
COUNT = 5


def by_counts(x):
    y, z = np.mgrid[-1 : 1 : COUNT * 1j, x[0] : x[1] : 4j]
    return np.sum(y * np.sin(z) * x[2])


def of_run_time_count(x, n=4):
    return np.sum(np.mgrid[0 : x[1] : n * 1j] ** 2)


def of_steps(x):
    i, t = np.ogrid[0:3, 0 : 1 + 0.1 * COUNT : 0.25]
    return np.sum(x[0] ** i * np.exp(-t * x[1]))


def in_rows(x):
    return np.sum(np.r_[x, 0.0:1.0:3j, -1:2, x[0] : x[1] : 4j, 1.0] * np.arange(14.0))


def of_matrices(x):
    return np.sum(np.r_[A * x[0], A] * np.arange(8.0).reshape(4, 2)) + np.sum(np.c_[A * x[1], A] ** 2)


def in_columns(x):
    return np.sum(np.c_[x, 0.0:1.0:3j, x * x] @ X)


@pytest.mark.parametrize("function", [by_counts, of_run_time_count, of_steps, in_rows, of_matrices, in_columns])
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    steps = np.eye(3) * 1e-5
    np.testing.assert_allclose(bar, [(function(X + h) - function(X - h)) / 2e-5 for h in steps], rtol=1e-7, atol=1e-9)


def test_what_is_no_number_is_said() -> None:
    with pytest.raises(adjit.AdjitError, match="an array as an end of a slice"):
        adjit.grad(lambda x: np.sum(np.mgrid[0:x]), target="python")(X)
