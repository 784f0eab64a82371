"""Roots of sums of squares, whose derivative is 0 where they are; and what only looks like one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

X = np.array([0.3, 0.3, 2.0])


def smoothed_particles(x):
    d = x[:, None] - x[None, :]
    r = np.sqrt(d**2)
    return np.sum(np.exp(-(r**2)))


def gaussian_process(x, scale):
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            d = (x[i] - x[j]) / scale
            r = math.sqrt(d * d)
            total += (1.0 + math.sqrt(3.0) * r) * math.exp(-math.sqrt(3.0) * r) * (i + 1.0)
    return total


def summed_in_a_loop(x):
    total = 0.0
    for i in range(x.size):
        q = 0.0
        for k in range(2):
            d = (x[i] - x[i - 1]) * (k + 1.0)
            q += d * d
        total += math.sqrt(q) ** 3
    return total


def in_an_array(x):
    q = np.zeros(x.size)
    q += (x - x[0]) ** 2
    q += 2.0 * np.square(x - x[1])
    return np.sum(q**0.5 * q)


def chosen(x):
    q = (x[0] - x[1]) ** 2
    r = np.sqrt(q if x[2] > 1.0 else 2.0 * q)
    return r * r * x[2]


def spread(x):
    m = x[:2].mean()
    return np.sqrt(np.sum((x[:2] - m) ** 2) / 2) + x[2] ** 2


LENGTHS = [smoothed_particles, summed_in_a_loop, in_an_array, chosen, spread]


def differences(function, x, *rest):
    steps = 1e-6 * np.eye(x.size)
    return np.array([(function(x + h, *rest) - function(x - h, *rest)) / 2e-6 for h in steps])


@pytest.mark.parametrize("function", LENGTHS)
def test_lengths_of_zero(function):
    wanted = differences(function, X)
    assert np.isfinite(wanted).all()
    found = adjit.grad(function, target="python", strategy=CHEAPEST)(X)
    columns = adjit.jacfwd(function, target="python", strategy=CHEAPEST)(X)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(columns, found, rtol=1e-12, atol=1e-15)


def test_compiled():
    for wrt in (0, 1):
        found = adjit.grad(gaussian_process, wrt=wrt)(X, 0.7)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(adjit.jacfwd(gaussian_process, wrt=wrt)(X, 0.7), found, rtol=1e-12)
    np.testing.assert_allclose(adjit.grad(gaussian_process)(X, 0.7), differences(gaussian_process, X, 0.7), atol=1e-5)


def of_what_may_be_negative(x):
    return np.sqrt(x[0] * x[1]) * x[2]


def of_an_argument(x):
    return np.sqrt(x[0]) * x[2]


def with_an_odd_power(x):
    return np.sqrt(x[0] ** 2 + x[1] ** 3)


def stored_beside(x):
    q = x.copy()
    q[0] = x[0] ** 2
    return np.sum(np.sqrt(q))


@pytest.mark.parametrize("function", [of_what_may_be_negative, of_an_argument, with_an_odd_power, stored_beside])
def test_other_roots_are_infinitely_steep(function):
    found = adjit.grad(function, target="python", strategy=CHEAPEST)(np.array([0.0, 0.0, 2.0]))
    assert not np.isfinite(found).all()
