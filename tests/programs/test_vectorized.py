"""np.vectorize: the type that NumPy makes of its results."""

from typing import Any

import numba
import numpy as np
import pytest

import adjit
from tests.programs.harness import check

X = np.array([0.5, 2.5, 1.5])


def step(t: float) -> float:
    if t < 1:
        return 0
    return t * 1.33


def scaled(t: float) -> float:
    return t * 1.33


as_integers, as_floats = np.vectorize(scaled, otypes=[int]), np.vectorize(step, otypes=[float])
as_single, of_tests = np.vectorize(scaled, otypes="f"), np.vectorize(lambda t: t > 1.0, otypes=[float])
of_integers = np.vectorize(lambda t: 2 if t > 1 else 3)
first_decides, nested = np.vectorize(step), np.vectorize(lambda t: 0 if t < 1 else 1 if t < 2 else t)
of_numba = numba.vectorize(step)


def from_outside(x):
    found = as_integers(x) + as_floats(x) + of_tests(x) + of_integers(x) + of_numba(x)
    return np.sum(found * x) + as_integers(x[1]) * x[0]


def made_inside(x):
    found = np.vectorize(scaled, otypes=[int])(x) + np.vectorize(step, otypes=(np.float64,))(x)
    return np.sum(found * x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_results_are_cast(target: str) -> None:
    check(from_outside, lambda: (X.copy(),), second=False, target=target)
    check(made_inside, lambda: (X.copy(),), second=False, target=target)
    value = adjit.value_and_grad(lambda x: np.sum(as_single(x) * x), target=target)(X)[0]
    assert value == np.sum(as_single(X) * X)


def of_the_first(x):
    return np.sum(first_decides(x) * x)


def of_the_first_inside(x):
    return np.sum(np.vectorize(step)(x) * x)


def of_three(x):
    return np.sum(nested(x) * x)


@pytest.mark.parametrize("function", [of_the_first, of_the_first_inside, of_three])
def test_a_type_that_the_first_result_decides_is_refused(function: Any) -> None:
    assert function(X) != function(np.roll(X, -1))
    with pytest.raises(adjit.Unsupported, match=r"(?s)an integer on one path and a float.*otypes=\[float\]"):
        adjit.grad(function)(X)


def of_complex(x):
    return np.sum(np.vectorize(scaled, otypes="D")(x).real)


def of_two(x):
    return np.sum(np.vectorize(scaled, otypes="dd")(x))


@pytest.mark.parametrize("function", [of_complex, of_two])
def test_other_types_are_refused(function: Any) -> None:
    with pytest.raises(adjit.Unsupported, match="np.vectorize with otypes of"):
        adjit.grad(function)(X)
