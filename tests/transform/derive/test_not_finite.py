"""Zero times infinity, and times nan, is zero where nothing flows: both modes agree with differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

P, Y = np.array([1.0, 2.0, 3.0, 0.5]), np.array([0.0, np.nan, 1.0, 2.0])
MASK = np.array([False, True, False, False])
X, Z = np.array([0.3, 1.2, 2.0, 0.7]), np.array([0.5, 1.0, 1.5, 1.0])


def differences(function, at, *rest):
    with np.errstate(all="ignore"):
        steps = 1e-6 * np.eye(at.size)
        return np.array([(function(at + h, *rest) - function(at - h, *rest)) / 2e-6 for h in steps])


def both_ways(function, *given, wrt=0, **options):
    """The gradient by both modes; where it agrees with differences."""
    wanted = differences(lambda at: function(*given[:wrt], at, *given[wrt + 1 :]), given[wrt])
    with np.errstate(all="ignore"):
        reverse = adjit.grad(function, wrt=wrt, **options)(*given)
        forward = adjit.jacfwd(function, wrt=wrt, **options)(*given)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(reverse, wanted, atol=1e-6)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-14)


# ------------------------------------------------------------------------------------- forward mode: what does not move


def padded_with_zeros(x):
    p = np.zeros(4)
    p[1:] = x[:3]
    return math.sqrt(p[0]) + p[1] * p[2] + np.arccos(1.0 - p[0]) + p[0] ** 0.5 + np.cbrt(p[0]) + x[3]


def stored_under_a_mask(x):
    d = x - 1.0
    d[d < 0] = 0
    return np.sum(np.sqrt(d))


def time_warp(x, z):
    n, m = x.size, z.size
    r = np.full((n + 1, m + 1), np.inf)
    r[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            r[i + 1, j + 1] = math.sqrt((x[i] - z[j]) ** 2 + min(r[i, j] ** 2, r[i, j + 1] ** 2, r[i + 1, j] ** 2))
    return r[n, m]


def soft_time_warp(x, z):
    n, m = x.size, z.size
    r = np.full((n + 1, m + 1), np.inf)
    r[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            ways = np.array([r[i, j], r[i, j + 1], r[i + 1, j]])
            least = np.min(ways)
            near = np.exp(-((ways - least) ** 2) / 0.5)
            r[i + 1, j + 1] = (x[i] - z[j]) ** 2 + least - 0.5 * np.log(np.sum(near))
    return r[n, m]


def weights_without_a_bound(x, z):
    far = np.full(4, np.inf)
    far[1:] = z[1:] * 1.0
    return np.sum(x * np.exp(-far * far)) + np.sum(np.arctan(far * x[1]))


def the_greater_of_two(x):
    roots = np.sqrt(x - x[0])
    return np.sum(np.maximum(roots, 0.5)) + max(math.sqrt(x[1] - x[1]), x[2]) + np.max(roots)


@pytest.mark.parametrize("function", [time_warp, soft_time_warp, weights_without_a_bound])
def test_filled_up_with_infinity(function):
    both_ways(function, X, Z, target="python", strategy=CHEAPEST)


def test_an_element_that_does_not_move():
    wanted = [X[1], X[0], 0.0, 1.0]
    for mode in (adjit.grad, adjit.jacfwd):
        np.testing.assert_allclose(mode(padded_with_zeros, target="python", strategy=CHEAPEST)(X), wanted, rtol=1e-14)


def test_what_a_store_sets_to_zero():
    both_ways(stored_under_a_mask, X, target="python", strategy=CHEAPEST)


def test_what_is_not_the_greater_one():
    at = np.array([0.3, 1.2, 2.0, 0.7])
    roots = np.array([0.0, 0.5 / math.sqrt(0.9), 0.5 / math.sqrt(1.7), 0.5 / math.sqrt(0.4)])
    wanted = roots + np.array([-np.sum(roots[1:]), 0.0, 1.0, 0.0]) + roots[2] * np.array([-1.0, 0.0, 1.0, 0.0])
    for mode in (adjit.grad, adjit.jacfwd):
        found = mode(the_greater_of_two, target="python", strategy=CHEAPEST)(at)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def tangents_that_are_zero(x, y, z):
    return math.sqrt(x) + y**z + np.arcsin(1.0 + x)


def test_a_tangent_of_zero():
    for tangents, wanted in (((0.0, 1.0, 0.0), 0.5), ((0.0, 0.0, 1.0), 4.0 * math.log(4.0)), ((0.0, 0.0, 0.0), 0.0)):
        found = adjit.jvp(tangents_that_are_zero, (0.0, 4.0, 1.0), tangents, target="python", strategy=CHEAPEST)[1]
        assert found == pytest.approx(wanted if tangents[1] == 0.0 else 1.0)


# --------------------------------------------------------------------------------------------------------- missing data


def nansum(p, y):
    return np.nansum((p - y) ** 2)


def nan_family(p, y):
    s = (p - y) ** 2
    return np.nanmean(s) + np.nanvar(s) + np.nanstd(s) + np.nanmax(s) + np.nanmin(s)


def nan_family_in_order(p, y):
    s = (p - y) ** 2
    total = np.nanprod(s) + np.sum(np.nancumsum(s)) + np.sum(np.nancumprod(s))
    return total + np.nanmedian(s) + np.nanpercentile(s, 30.0) + np.nanquantile(s, 0.6)


def nan_family_along_axes(p, y):
    s = ((p - y) ** 2).reshape(2, 2)
    return np.sum(np.nanmean(s, axis=0) * np.nansum(s, axis=1)) + np.sum(np.nanstd(s, axis=1))


def nan_to_num(p, y):
    return np.sum(np.nan_to_num((p - y) ** 2)) + np.sum(np.nan_to_num(np.exp(p * y), nan=1.5))


def skipped_in_a_loop(p, y):
    t = 0.0
    for i in range(y.size):
        r = (p[i] - y[i]) ** 2
        if not np.isnan(r):
            t += r
    return t


def skipped_by_inequality(p, y):
    t = 0.0
    for i in range(y.size):
        r = p[i] * y[i]
        t += math.exp(r) if r == r else 0.0
    return t


def overwritten(p, y):
    r = (p - y) ** 2
    r[np.isnan(r)] = 0
    return np.sum(r)


def selected(p, y):
    r = (p - y) ** 2
    return np.sum(np.where(np.isfinite(y), r, 0.0)) + np.sum(r[~np.isnan(y)]) + np.sum(r, where=~np.isnan(y))


def lengths(p, y):
    n, total = np.sqrt((p * y) ** 2), 0.0
    for i in range(y.size):
        r = (n[i] - p[i]) ** 2
        total += r if r == r else 0.0
    return total


def the_greatest_that_is_there(p, y):
    r = (p - 2.0) ** 2 * y
    return r[np.nanargmax(r)] + (p * y)[np.nanargmin(y)]


def passed_over(p, y):
    return np.sum(np.fmax(p * y, p)) + np.sum(np.fmin(p, np.exp(p * y)))


def to_the_power_of_zero(p, y):
    return np.nansum((p * y) ** np.array([1.0, 0.0, 2.0, 3.0]))


def sums_of_rows(p, y):
    a = np.outer(y, p)
    return np.nansum(np.sum(np.exp(-a * a), axis=1)) + np.sum(p)


def recurrences_of_rows(p, y):
    totals = np.empty(y.size)
    for i in range(y.size):
        t, s = p[0], 1.0
        for j in range(p.size):
            r = np.exp(-y[i] * p[j])
            t = 0.5 * t + r
            s *= r
        totals[i] = t * s
    return np.nansum(totals) + np.nanmax(totals)


MISSING = [
    nansum, sums_of_rows, recurrences_of_rows, nan_family, nan_family_in_order, nan_family_along_axes, nan_to_num,
    skipped_in_a_loop, skipped_by_inequality, overwritten, selected,
]  # fmt: skip


@pytest.mark.parametrize("function", MISSING)
def test_missing_data(function):
    both_ways(function, P, Y, target="python", strategy=CHEAPEST)


def test_what_is_missing_does_not_move():
    for function in (passed_over, selected):
        with np.errstate(all="ignore"):
            assert np.isfinite(adjit.jacfwd(function, wrt=1, target="python", strategy=CHEAPEST)(P, Y)).all()
            assert np.isfinite(adjit.grad(function, wrt=1, target="python", strategy=CHEAPEST)(P, Y)).all()


def by_a_mask(p, y, missing):
    r = (p - y) ** 2
    total = np.sum(np.where(missing, 0.0, r)) + np.sum(r[~missing]) + np.sum(r, where=~missing)
    for i in range(y.size):
        s = math.exp(p[i] * y[i])
        total += 0.0 if missing[i] else s
    return total


def test_data_that_a_mask_leaves_out():
    both_ways(by_a_mask, P, Y, MASK, target="python", strategy=CHEAPEST)


def packed(p, y, missing):
    r = np.where(p > 0.6, y * p, p)
    return np.sum(r[~missing] * p[~missing]) + np.max(r[~missing])


def filled_under_a_mask(p, y, missing):
    r, s = np.where(p > 0.6, y * p, p), np.where(p > 0.6, p, y * p)
    for i in range(y.size):
        if missing[i]:
            r[i] = p[i]
    s[missing] = p[0]
    return np.max(r) + np.sum(s)


def running_sums(p, y, missing):
    r, s, q, u = np.cumsum(y * p), np.cumsum(y * p), np.cumsum(y * p), np.cumprod(p - y)
    r[np.isnan(r)] = 0.0
    u[np.isnan(u)] = 0.0
    for i in range(y.size):
        s[i] = s[i] if s[i] == s[i] else 0.25 * p[0]
        if i > 0:
            q[i] = p[i]
    return np.sum(np.sin(r)) + r[0] + np.sum(s * s) + np.sum(q) + np.sum(u * u)


def read_by_places(p, y, missing):
    r, total = p * y, 0.0
    for i in np.nonzero(~missing)[0]:
        total += r[i] ** 2
    return total + np.sum((p * y)[np.flatnonzero(~missing)])


def read_by_places_of_its_own(p, y, missing):
    places, n, r, total = np.empty(y.size, np.int64), 0, p * y, 0.0
    for i in range(y.size):
        if not missing[i]:
            places[n] = i
            n += 1
    for k in range(n):
        total += r[places[k]]
    return total


@pytest.mark.parametrize(
    "function", [packed, filled_under_a_mask, running_sums, read_by_places, read_by_places_of_its_own]
)
def test_what_a_mask_or_a_store_leaves_out_of_an_array(function):
    both_ways(function, P, Y, MASK, target="python", strategy=CHEAPEST)


def all_of_them(p, y, missing, x, z):
    total = nansum(p, y) + nan_family(p, y) + nan_to_num(p, y) + skipped_in_a_loop(p, y) + overwritten(p, y)
    total += lengths(p, y) + the_greatest_that_is_there(p, y) + passed_over(p, y) + to_the_power_of_zero(p, y)
    total += packed(p, y, missing) + filled_under_a_mask(p, y, missing) + running_sums(p, y, missing)
    total += read_by_places(p, y, missing) + read_by_places_of_its_own(p, y, missing)
    return total + by_a_mask(p, y, missing) + time_warp(p + x, z) + stored_under_a_mask(p + x)


def test_compiled():
    both_ways(all_of_them, P, Y, MASK, X, Z)


# ------------------------------------------------------------------------------------------- where no guard is needed


def data_that_is_not_asked(p, y):
    r = (p - y) ** 2
    return np.sum(np.where(p > 0.0, r * p, 0.1 * r)) + np.sum(np.maximum(r, 0.5))


def the_greatest_so_far(p, y):
    greatest = -np.inf
    for i in range(y.size):
        greatest = max(greatest, p[i] * y[i])
    return math.exp(greatest) + math.tanh(greatest * p[0]) + np.sum(np.exp(p / 3.0))


@pytest.mark.parametrize("function", [data_that_is_not_asked, the_greatest_so_far])
def test_no_guard(function):
    for mode in (adjit.grad, adjit.jacfwd):
        assert "isnan" not in mode(function).source(P, Y)


# ------------------------------------------------------------------------------------------------- what nothing heals


def overflowing(a):
    c = np.zeros(a.size)
    c[0] = a[0]
    for i in range(1, a.size):
        c[i] = (c[i - 1] - a[i]) ** 2
    return c[3]


def test_rows_that_overflow_and_are_not_read_are_named():
    """Forward mode has them, too, and nobody asks; a guard of each product would cost all programs that do not."""
    with np.errstate(all="ignore"):
        assert np.isnan(adjit.grad(overflowing, target="python", strategy=CHEAPEST)(np.full(17, 3.0))).any()
        with pytest.raises(FloatingPointError, match="test_not_finite"):
            adjit.grad(overflowing, debug="nan", target="python")(np.full(17, 3.0))


def roots_of_what_stays_zero(x, w):
    return np.sum(np.sqrt(w * x)) + np.sum(np.sqrt(x - x[0]))


def roots_of_what_is_chosen(x, w):
    products, apart = w * x, x - x[0]
    roots = np.where(w > 0.0, np.sqrt(np.where(w > 0.0, products, 1.0)), 0.0)
    return np.sum(roots) + np.sum(np.where(apart > 0.0, np.sqrt(np.where(apart > 0.0, apart, 1.0)), 0.0))


def test_a_root_of_what_stays_zero():
    """The adjoint of the root's argument is infinite, and only forward mode knows that nothing moves it."""
    x, w = np.array([1.0, 4.0, 9.0]), np.array([0.0, 1.0, 0.0])
    wanted = differences(roots_of_what_stays_zero, x, w)
    with np.errstate(all="ignore"):
        found = adjit.jacfwd(roots_of_what_stays_zero, target="python", strategy=CHEAPEST)(x, w)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        reverse = adjit.grad(roots_of_what_stays_zero, target="python", strategy=CHEAPEST)(x, w)
    np.testing.assert_array_equal(np.isnan(reverse), [True, False, True])
    both_ways(roots_of_what_is_chosen, x, w, target="python", strategy=CHEAPEST)
