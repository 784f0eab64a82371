"""Every function against mpmath, over its whole range, and at the corners."""

import numpy as np
import pytest
from numba import njit

from adjit.runtime import vectormath
from tests.runtime.vectormath.reference import DTYPES, ROWS, corners, sample, values, worst_error

CASES = [(name, dtype) for name in ROWS for dtype in DTYPES]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_error_in_units_of_the_last_place(name, dtype):
    x = sample(ROWS[name], dtype, 500, seed=1)
    error, argument = worst_error(ROWS[name], x, values(name, x))
    assert error <= ROWS[name].ulps, argument


@pytest.mark.long
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_error_of_a_dense_sample(name, dtype):
    x = sample(ROWS[name], dtype, 20_000, seed=2)
    error, argument = worst_error(ROWS[name], x, values(name, x))
    assert error <= ROWS[name].ulps, argument


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_corners(name, dtype):
    row, x = ROWS[name], corners(dtype)
    found = values(name, x)
    error, argument = worst_error(row, x, found)
    assert error <= row.ulps, argument
    with np.errstate(all="ignore"):
        expected = row.numpy(x)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    special = ((x == 0) | np.isinf(x)) & ~np.isnan(expected)
    np.testing.assert_array_equal(found[special], expected[special])
    np.testing.assert_array_equal(np.signbit(found[special]), np.signbit(expected[special]))


@pytest.mark.parametrize("name", ROWS)
def test_without_fused_multiply_add(name, monkeypatch):
    """As on a machine that has none; values of both kinds may differ, by the same bound."""
    monkeypatch.setattr("adjit.runtime.vectormath.library.has_fma", lambda codegen: False)
    monkeypatch.setattr("adjit.runtime.vectormath.library._libraries", {})
    plain = njit(_elementwise(getattr(vectormath, name)))
    x = sample(ROWS[name], np.float64, 300, seed=3)
    out = np.empty_like(x)
    plain(x, out)
    error, argument = worst_error(ROWS[name], x, out)
    assert error <= ROWS[name].ulps, argument


def _elementwise(function):
    def each(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return each
