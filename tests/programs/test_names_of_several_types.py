"""Functions that are inlined beside each other and have one name for values of several types, and return early: the
generated text has another name where numba could not tell which of them is read."""

from __future__ import annotations

import numpy as np
import pytest

import adjit


def mean_of(x, y):
    n = x.size
    s = 0.0
    for i in range(n):
        if x[i] < 0:
            return np.nan
        s += x[i] * y
    return s / n


def over_squares(x, y):
    n = 0.0
    for i in range(x.size):
        n += x[i] ** 2
        if n > 1e3:
            return np.nan
    if n == 0.0:
        return np.nan
    return y / n


def scaled(x, y):
    if x[0] > 1e3:
        return np.nan
    n = x * 2
    if n[0] > 1e3:
        return np.nan
    n = n * y
    return n.sum()


def counted(x, y):
    n = x > 0
    if not n.any():
        return np.nan
    k = 0
    for i in range(3):
        if n[i]:
            k += 1
    return y * k


def all_of_them(x, y):
    n = np.empty(2)
    n[0] = mean_of(x, y)
    if n[0] > 100:
        return np.nan
    n[1] = scaled(x, n[0])
    if n[1] > 1000:
        return np.nan
    return counted(x, n[0]) * over_squares(x, n[1])


X = np.array([1.0, 2.0, 0.5])


@pytest.mark.parametrize("options", [{}, {"boundscheck": True}])
def test_forward_and_reverse(options):
    value, (x_bar, y_bar) = adjit.value_and_grad(all_of_them, wrt=(0, 1), **options)(X, 1.5)
    assert value == pytest.approx(all_of_them(X, 1.5), rel=1e-14)
    by_y = (all_of_them(X, 1.5 + 1e-6) - all_of_them(X, 1.5 - 1e-6)) / 2e-6
    assert y_bar == pytest.approx(by_y, rel=1e-8)
    for k, step in enumerate(1e-6 * np.eye(3)):
        assert x_bar[k] == pytest.approx((all_of_them(X + step, 1.5) - all_of_them(X - step, 1.5)) / 2e-6, rel=1e-7)
    along = np.array([0.3, -0.2, 0.7])
    value, tangent = adjit.jvp(all_of_them, (X, 1.5), (along, 0.4), **options)
    assert (value, tangent) == pytest.approx((all_of_them(X, 1.5), x_bar @ along + 0.4 * y_bar), rel=1e-12)
