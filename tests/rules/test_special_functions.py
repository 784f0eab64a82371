"""The special functions against SciPy's."""

import math

import numpy as np
import pytest
from scipy import special as scipy_special

from adjit.rules.special_functions import digamma, polygamma

POSITIVE = np.concatenate([np.linspace(0.01, 3.0, 60), np.geomspace(1e-8, 1e8, 60)])
# away from the poles, near which the argument's own rounding decides
NEGATIVE = -(np.arange(0.0, 30.0)[:, None] + np.array([0.1, 0.37, 0.5, 0.83])).ravel()


@pytest.mark.parametrize("x", POSITIVE)
def test_digamma_of_positive(x: float) -> None:
    assert digamma(x) == pytest.approx(scipy_special.digamma(x), rel=1e-14)


@pytest.mark.parametrize("x", NEGATIVE[::7])
def test_digamma_of_negative(x: float) -> None:
    assert digamma(x) == pytest.approx(scipy_special.digamma(x), rel=1e-14, abs=3e-14)


def test_digamma_at_its_zero() -> None:
    zero = 1.4616321449683622
    assert digamma(zero) == pytest.approx(scipy_special.digamma(zero), rel=1e-9)
    assert abs(digamma(zero)) < 1e-16


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_polygamma_of_positive(n: int) -> None:
    for x in POSITIVE:
        if x ** -(n + 1.0) < 1e290:
            assert polygamma(n, x) == pytest.approx(scipy_special.polygamma(n, x), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_polygamma_of_negative_by_recurrence(n: int) -> None:
    # psi_n(x) = psi_n(x + m) - (-1) ** n n! sum of (x + k) ** -(n + 1); SciPy has positive x alone
    for x in (-0.37, -2.5, -6.83):
        m = math.ceil(-x) + 1
        below = sum((x + k) ** -(n + 1.0) for k in range(m))
        expected = float(scipy_special.polygamma(n, x + m)) - (-1) ** n * math.factorial(n) * below
        assert polygamma(n, x) == pytest.approx(expected, rel=1e-12)


def test_poles_are_nan() -> None:
    for x in (0.0, -1.0, -7.0):
        assert math.isnan(digamma(x))
        assert math.isnan(polygamma(1, x))
    assert math.isnan(digamma(math.nan))
