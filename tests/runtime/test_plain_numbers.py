"""Division by zero under target="python": what NumPy and compiled code give, and no ZeroDivisionError."""

import inspect
import math

import numpy as np
import pytest

import adjit
from adjit.runtime.compile import load


def mean(x, a):
    return x + 0.0 * np.sin(np.mean(a[:, 0] * x))


def variance(x, a):
    v = a * x
    return x * x if math.isnan(np.var(v)) else np.var(v)


def test_means_of_nothing_are_nan():
    empty, full = np.empty((0, 3)), np.ones((2, 3))
    for f in (mean, variance):
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
            right = f(2.0, empty)
        for target in ("python", "cpu"):
            value, bar = adjit.value_and_grad(f, wrt=(0,), target=target)(2.0, empty)
            assert np.array_equal(value, right, equal_nan=True)
            assert adjit.grad(f, wrt=(0,), target=target)(2.0, full)[0] == pytest.approx(
                (f(2.0 + 1e-6, full) - f(2.0 - 1e-6, full)) / 2e-6, rel=1e-6, abs=1e-6
            )
            assert f is mean or bar[0] == 4.0


TEXT = """def f(x, y, a):
    a[1] /= y
    return x / y, x // y, x % y, (x - x) ** (y - 1), a
"""


def test_operations_of_text():
    plain = load(TEXT, {}, "f", "f of divisions", is_plain=True)
    assert inspect.getsource(plain) == TEXT
    with np.errstate(all="ignore"):
        quotient, floor, remainder, power, a = plain(1.0, 0, [1.0, np.float64(-2.0)])
    assert (quotient, power, a) == (math.inf, math.inf, [1.0, -math.inf])
    assert math.isinf(floor) or math.isnan(floor)
    assert math.isnan(remainder)
    assert plain(7, 2, [1, 3]) == (3.5, 3, 1, 0, [1, 1.5])
    with np.errstate(all="ignore"), pytest.raises(ZeroDivisionError):
        plain(7, 0, [1, 3])
    with pytest.raises(ZeroDivisionError):
        load(TEXT, {}, "f", "f of divisions")(1.0, 0, [1.0, 2.0])


def root(x, y):
    z = x**y
    z **= y
    return z if z > 0.0 else y


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_root_of_a_negative_number_is_nan(target):
    value, bars = adjit.value_and_grad(root, wrt=(0, 1), target=target)(-0.35, 0.35)
    assert (value, bars[1]) == (0.35, 1.0)
    assert math.isnan(adjit.value_and_grad(lambda x, y: x**y * 2.0, target=target)(-0.35, 0.35)[0])


def tiny(x, k, n):
    """What float32 cannot hold: numbers of Python's own with elements of that type, as compiled code has them."""
    total = 0.0
    for i in range(x.size):
        small = x[i] * k
        if small > 1e-70 and max(small, 0.0) > 0.0:
            total += small * 1e60 + (x[i] + 16777217 - 16777217.0) * n
    return total


@pytest.mark.parametrize("single", [np.float32, np.float64])
def test_numbers_of_pythons_own_beside_float32(single):
    x = np.array([0.5, -0.25, 2.0], dtype=single)
    found = [adjit.value_and_grad(tiny, wrt=(0, 1), target=target)(x, 1e-60, 1) for target in ("python", "cpu")]
    for value, (x_bar, k_bar) in found:
        assert value == pytest.approx(5.0, rel=1e-6)
        np.testing.assert_allclose(x_bar, [2.0, 0.0, 2.0], rtol=1e-7)
        assert x_bar.dtype == single
        assert k_bar == pytest.approx(2.5e60)
