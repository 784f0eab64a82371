"""x ** y against mpmath, and at all pairs of corners."""

import mpmath
import numpy as np
import pytest
from numba import njit

from adjit.runtime import vectormath
from tests.runtime.vectormath.reference import DTYPES, Row, worst_error

CORNERS = (0.0, 1.0, 2.0, 0.5, 3.0, 1.5, np.inf, 1e30, 1e-30, 2.0**53 + 2, 2.0**53 - 1, 2.0**24 - 1, 5.0)


@njit
def powers(x, y, out):
    for i in range(x.size):
        out[i] = vectormath.pow(x[i], y[i])


def pairs(kind, count):
    """Bases, and exponents that use the whole range; one of them is far from 0 and 1, or near."""
    random = np.random.default_rng(5)
    if kind == "small":
        return random.uniform(0, 10, count), random.uniform(-10, 10, count)
    base = np.exp(random.uniform(-1, 1, count) * {"near one": 1e-3, "wide": 85, "middle": 3}[kind])
    return base, random.uniform(-1, 1, count) * 745 / np.abs(np.log(base))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["small", "near one", "wide", "middle"])
def test_error_in_units_of_the_last_place(kind, dtype):
    x, y = (p.astype(dtype) for p in pairs(kind, 500))
    out = np.empty_like(x)
    powers(x, y, out)
    errors = []
    for base, exponent, value in zip(x, y, out, strict=True):
        row = Row(lambda b, e=exponent: mpmath.power(b, float(e)), np.power, ())
        errors.append(worst_error(row, np.array([base]), np.array([value]))[0])
    assert max(errors) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_corners(dtype):
    smallest = float(np.finfo(dtype).smallest_subnormal)
    ends = np.array([*CORNERS, smallest, 7 * smallest], dtype)
    ends = np.concatenate([ends, -ends, np.array([np.nan], dtype)])
    x, y = (a.ravel().copy() for a in np.meshgrid(ends, ends))
    out = np.empty_like(x)
    powers(x, y, out)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_array_max_ulp(out[~np.isnan(expected)], expected[~np.isnan(expected)], 1)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(expected)[~np.isnan(out)])
