"""Stores into the coefficients of `np.poly1d`, which are in the memory of what it is made of, as in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit


def made_of(a: Any) -> Any:
    p = np.poly1d(a)
    a[0] = 7.0
    return p(2.0) * a[1]


def by_name(a: Any) -> Any:
    p = np.poly1d(a)
    c = p.coeffs
    c[0] = 5.0 * a[1]
    return p(2.0) * a[0]


def of_another(a: Any) -> Any:
    p = np.poly1d(a)
    q = np.poly1d(p)
    q.c[0] = a[2]
    return p(2.0)


def of_integers(a: Any) -> Any:
    p = np.poly1d(np.array([1, 2, 3]))
    p.c[0] = a[0] + 1.7
    return p(a[1]) * p.deriv()(a[2])


def of_results(a: Any) -> Any:
    p = np.poly1d(a)
    q, r = -p, p + 0.0
    q.c[0], r.c[0] = 1.0, 9.0
    return p(2.0) + q(1.0)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("function", [made_of, by_name, of_another, of_integers, of_results])
def test_stores_into_coefficients(function: Callable[[Any], Any], target: str) -> None:
    given = np.array([1.0, 2.0, 3.0])
    value, slopes = adjit.value_and_grad(function, target=target)(given.copy())
    assert value == function(given.copy())
    for place, slope in enumerate(slopes):
        step = np.zeros(3)
        step[place] = 1e-5
        # differences of quadratic functions have rounding errors alone
        assert slope == pytest.approx((function(given + step) - function(given - step)) / 2e-5, rel=1e-8, abs=1e-8)
