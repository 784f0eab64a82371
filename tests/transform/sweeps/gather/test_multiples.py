"""Gathers of multiples of an array read it in place, and the elements around get their share."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, FORCED, Strategy
from tests.transform.storage.test_reexecution import differences

KEPT = Strategy(without=frozenset({"multiples"}))


# --------------------------------------------------------------------------------------------------------- programs


def diffused(u, c, steps):
    n, m = u.shape
    a, b = u.copy(), 0.5 * u
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = a[i, j] + c * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j])
        a, b = b, a
    return a, b


def two_buffers(u, c, steps):
    a, _ = diffused(u, c, steps)
    return (a * a).sum()


def both_read(u, c, steps):
    """Adjoints of what is overwritten are not zero before the last trip, and cleared in each one."""
    a, b = diffused(u, c, steps)
    return (a * a).sum() + 0.5 * (b * b).sum()


def jacobi(u, c, steps):
    n, m = u.shape
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        a, b = b, a
    return (a * a).sum()


def nine_points(u, c, steps):
    n, m = u.shape
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                corners = a[i - 1, j - 1] + a[i - 1, j + 1] + a[i + 1, j - 1] + a[i + 1, j + 1]
                sides = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                b[i, j] = -(c * (sides + corners - 2.0 * a[i, j]))
        a, b = b, a
    return (a * a).sum()


def one_sided(u, c, steps):
    """Shifts to one side, and by two: there is no rim beside the first rows."""
    n, m = u.shape
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(2, n):
            for j in range(m - 2):
                b[i, j] = a[i, j] / c + (a[i - 2, j] - 2.0 * a[i - 1, j] + a[i, j + 2]) / c
        a, b = b, a
    return (a * a).sum()


def turned(u, c, steps):
    """The loops the other way round, and one counter on each axis of another array."""
    n, m = u.shape
    a, b = u.copy(), np.zeros((m, n))
    for j in range(1, m - 1):
        for i in range(1, n - 1):
            b[j, i] = c * (a[i - 1, j] - a[i + 1, j] + 3.0 * a[i, j + 1])
    return (b * b).sum()


def in_a_line(u, c, steps):
    n = u.shape[1]
    a, b = u[0].copy(), u[0].copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            b[i] = a[i] + c * (a[i - 1] - 2.0 * a[i] + a[i + 1])
        a, b = b, a
    return (a * a).sum()


def in_space(u, c, steps):
    n, m = u.shape
    a = np.zeros((n, m, 5))
    for i in range(n):
        for j in range(m):
            for k in range(5):
                a[i, j, k] = u[i, j] * (1.0 + k)
    b = a.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, 4):
                    around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
                    b[i, j, k] = a[i, j, k] + c * (around + a[i, j, k - 1] + a[i, j, k + 1] - 6.0 * a[i, j, k])
        a, b = b, a
    return (a * a).sum()


def with_a_field(u, c, steps):
    """Products with an array of coefficients are kept: to read them as well costs what it saves."""
    n, m = u.shape
    a, b = u.copy(), u.copy()
    k = c + 0.1 * u
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = a[i, j] + k[i, j] * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        a, b = b, a
    return (a * a).sum()


IN_PLACE = (two_buffers, both_read, jacobi, nine_points, in_a_line, in_space)
OTHERS = (one_sided, turned, with_a_field)


def plate(n, m):
    return np.sin(1.0 + np.arange(float(n * m))).reshape(n, m)


def keeps(function, strategy=CHEAPEST):
    """Whether there is an array of contributions."""
    found = adjit.grad(function, target="python", strategy=strategy).source(plate(5, 6), 0.3, 2, tuned=True)
    return re.search(r"_bars(_\d)? = workspace.zeros", found) is not None


@pytest.mark.parametrize("function", IN_PLACE)
def test_what_is_read_in_place(function):
    assert not keeps(function)
    assert keeps(function, KEPT)


@pytest.mark.parametrize("function", [one_sided, with_a_field])
def test_what_is_not(function):
    assert keeps(function)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("function", [*IN_PLACE, *OTHERS])
def test_programs(function, target):
    found = adjit.grad(function, target=target)
    kept = adjit.grad(function, target="python", strategy=KEPT)
    # plates of which nothing is inside, or next to nothing
    for n, m in itertools.product((1, 2, 3, 4, 7), (1, 2, 3, 4, 8)):
        u = plate(n, m)
        np.testing.assert_allclose(found(u, 0.3, 3), kept(u, 0.3, 3), rtol=1e-12, atol=1e-13, err_msg=f"{n} by {m}")
    wanted = differences(function, (u, 0.3, 3), 0)
    np.testing.assert_allclose(found(u, 0.3, 3), wanted, rtol=1e-5, atol=1e-7 * np.abs(wanted).max())


@pytest.mark.parametrize("function", [two_buffers, jacobi])
def test_both_derivatives_of_it(function):
    """The coefficient's adjoint is a sum in the nest that contributions were kept in."""
    for wrt in ((0, 1), (1,)):
        found = adjit.grad(function, wrt=wrt, target="python", strategy=CHEAPEST)(plate(5, 6), 0.3, 3)
        for position, bar in zip(wrt, found, strict=True):
            wanted = differences(function, (plate(5, 6), 0.3, 3), position)
            np.testing.assert_allclose(bar, wanted, rtol=1e-5, atol=1e-7)


def test_second_order():
    u, v = plate(5, 6), plate(6, 5).T.copy()
    found = adjit.hvp(nine_points)(u, 0.3, 3, v)
    gradient = adjit.grad(nine_points)
    wanted = (gradient(u + 1e-5 * v, 0.3, 3) - gradient(u - 1e-5 * v, 0.3, 3)) / 2e-5
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7 * np.abs(wanted).max())


def spread(u, c):
    v = np.zeros(u.shape)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return v


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_seed_is_not_written_to(target):
    """An array that the caller gives may be read-only, or be read by another thread."""
    u = plate(6, 7)
    _, pullback = adjit.vjp(spread, u, 0.3, target=target)
    seed = np.cos(plate(6, 7))
    seed.flags.writeable = False
    wanted = differences(lambda u, c: (spread(u, c) * seed).sum(), (u, 0.3), 0)
    found, _ = pullback(seed)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def weighted(u, c):
    v = np.zeros(u.size)
    w = u * 1.0
    for i in range(1, u.size - 1):
        v[i] = c * (w[i - 1] + w[i + 1])
    return np.sum(v)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9])
def test_an_infinite_multiplier_makes_no_nan(size):
    """Elements get the terms that there are, and no products with zeros."""
    found = adjit.grad(weighted, target="python", strategy=CHEAPEST)(np.ones(size), np.inf)
    plain = adjit.grad(weighted, target="python", strategy=FORCED["plain"])(np.ones(size), np.inf)
    np.testing.assert_array_equal(found, plain)
    assert not np.isnan(found).any()
