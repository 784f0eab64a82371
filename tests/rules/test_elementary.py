"""The partials, called as plain functions of numbers, against central differences, and at special points."""

import inspect
import math
import operator
import zlib

import numpy as np
import pytest

import adjit
from adjit.rules.registry import lookup
from tests.rules.table import SCALARS, Row


def partials_of(callee, *args):
    """The partials at `args`, as a tuple."""
    rule = lookup(callee).partials
    named = [p.name for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY]
    with np.errstate(all="ignore"):
        found = rule(*args, **dict.fromkeys(named, callee(*args)))
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("row", [row for row in SCALARS if lookup(row.callee).partials], ids=lambda row: row.name)
def test_partials_are_the_differences(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    for _ in range(5):
        args = row.sample(rng)
        found = partials_of(row.callee, *args)
        assert len(found) == len(args)
        for k in row.active:
            step = 6e-6
            moved = [[*args], [*args]]
            moved[0][k] += step
            moved[1][k] -= step
            expected = (row.callee(*moved[0]) - row.callee(*moved[1])) / (2 * step)
            # central differences: step squared, and rounding over step
            assert found[k] == pytest.approx(expected, rel=3e-9, abs=3e-9 * max(1.0, abs(row.callee(*args))))


# x, then the expected partials, by the table of conventions
SPECIAL_POINTS = [
    (abs, (0.0,), (0,)),
    (np.absolute, (-0.0,), (0,)),
    (max, (1.5, 1.5), (1, 0)),
    (min, (1.5, 1.5), (1, 0)),
    (np.maximum, (1.5, 1.5), (0.5, 0.5)),
    (np.minimum, (1.5, 1.5), (0.5, 0.5)),
    (np.maximum, (np.inf, np.inf), (0.5, 0.5)),
    (np.fmax, (1.5, np.nan), (1, 0)),
    (np.fmin, (np.nan, 1.5), (0, 1)),
    (np.sqrt, (np.float64(0.0),), (np.inf,)),
    (np.cbrt, (np.float64(0.0),), (np.inf,)),
    (math.hypot, (0.0, 0.0), (0, 0)),
    (np.copysign, (0.0, -2.0), (0, 0)),
    (np.copysign, (3.0, -2.0), (-1, 0)),
    (operator.mod, (7.3, 2.1), (1, -3)),
    (operator.mod, (-7.3, 2.1), (1, 4)),
    (np.fmod, (-7.3, 2.1), (1, 3)),
    (np.power, (0.0, 0), (0, 0)),
    (np.power, (0.0, 1), (1, 0)),
    (np.power, (0.0, 2), (0, 0)),
    (np.power, (np.float64(0.0), 2.5), (0, 0)),
    (np.power, (0.0, 0.0), (0, 0)),
    (np.power, (np.float64(0.0), 0.5), (np.inf, 0)),
    (np.sinc, (0.0,), (0,)),
    (np.logaddexp, (-np.inf, -np.inf), (0.5, 0.5)),
    (np.logaddexp, (-np.inf, 2.0), (0, 1)),
    (np.arctan2, (0.0, -1.0), (-1, 0)),
]


@pytest.mark.parametrize(("callee", "args", "expected"), SPECIAL_POINTS)
def test_special_points(callee, args, expected) -> None:
    assert partials_of(callee, *args) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("larger", [np.maximum, max])
def test_what_is_not_chosen_gets_nothing_of_an_infinite_adjoint(larger) -> None:
    def root(x: float, y: float) -> float:
        return math.sqrt(larger(x, y))

    assert adjit.grad(root, wrt=("x", "y"), target="python")(0.0, -0.5) == (np.inf, 0.0)


@pytest.mark.parametrize("n", [-1, 2, 3, 2.0])
def test_power_of_a_negative_base(n) -> None:
    assert partials_of(np.power, np.float64(-1.7), n)[0] == pytest.approx(n * (-1.7) ** (n - 1))


def test_mixed_partials_of_power_agree_at_exponent_zero() -> None:
    # d/dy of the partial with respect to x, and d/dx of the other: 1 / x both
    x, step = 2.3, 1e-5
    by_exponent = (partials_of(operator.pow, x, step)[0] - partials_of(operator.pow, x, -step)[0]) / (2 * step)
    by_base = (partials_of(operator.pow, x + step, 0.0)[1] - partials_of(operator.pow, x - step, 0.0)[1]) / (2 * step)
    assert by_exponent == pytest.approx(1 / x, rel=1e-8)
    assert by_base == pytest.approx(1 / x, rel=1e-8)


@pytest.mark.parametrize("x", [1e-9, 1e-3, 0.05, 0.0999999, 0.1000001, 0.3])
def test_sinc_near_zero(x) -> None:
    # the Taylor series with many terms, whose rounding error is that of its first one
    u, expected, factor = (math.pi * x) ** 2, 0.0, 1.0
    for k in range(1, 14):
        factor = (-1) ** k * 2 * k / math.factorial(2 * k + 1)
        expected += factor * u ** (k - 1) * math.pi**2 * x
    # (cos - sinc) / x loses eps / x ** 2 just beyond the series
    assert partials_of(np.sinc, x)[0] == pytest.approx(expected, rel=2e-14)


def test_partials_that_are_numbers_are_integers() -> None:
    """The compiler simplifies products with the integers 1, -1 and 0."""
    for callee, args in ((operator.add, (2.0, 3.0)), (operator.sub, (2.0, 3.0)), (operator.neg, (2.0,))):
        assert all(type(p) is int for p in partials_of(callee, *args))
