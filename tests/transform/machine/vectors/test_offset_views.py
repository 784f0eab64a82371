"""Loops over shifted elements in windows: which they are, and that negative places stay what they mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import prange

import adjit
from adjit.transform.strategy import CHEAPEST

X = np.random.default_rng(0).uniform(0.5, 1.5, 1200)
TABLE = np.random.default_rng(1).uniform(0.5, 1.5, (3, 1200))


def neighbours(x):
    y = np.zeros(x.size)
    for i in prange(1, x.size - 1):
        y[i] = x[i - 1] * x[1 + i]
    return np.sum(y * y)


def around(x):
    """x[-1] is the last element."""
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[i] = x[i - 1] * x[i]
    return np.sum(y)


def row(a):
    y = np.zeros(a.shape[1])
    for k in range(a.shape[0]):
        for i in prange(2, a.shape[1]):
            y[i] = y[i] * 0.5 + a[k, i] * a[k, i - 2]
    return np.sum(y)


def elementary(x):
    y = np.zeros(x.size)
    for i in prange(x.size - 1):
        y[i] = math.exp(-x[i + 1]) * x[i]
    return np.sum(y)


def conditional(x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        if i > 0:
            y[i] = x[i - 1] * x[i]
        else:
            y[i] = x[i]
    return np.sum(y)


def numbered(x):
    y = np.zeros(x.size)
    for i in prange(3, x.size):
        y[i] = x[i - 3] * i
    return np.sum(y * y)


def backwards(x):
    """Where a trip stores is no number of places from the counter."""
    y = np.zeros(x.size)
    for i in prange(x.size - 1):
        y[x.size - 1 - i] = x[i + 1] * x[i]
    return np.sum(y)


def straight(x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[i] = x[i] * x[i]
    return np.sum(y)


def recursive(x):
    y = np.zeros(x.size)
    for i in prange(1, x.size):
        s = x[i - 1]
        for _ in range(3):
            s = s * x[i]
        y[i] = s
    return np.sum(y)


IN_WINDOWS = {"neighbours": X, "row": TABLE, "elementary": X, "numbered": X}
NOT = {"around": X, "conditional": X, "backwards": X, "straight": X, "recursive": X}


def source(name):
    argument = {**IN_WINDOWS, **NOT}[name]
    return adjit.value_and_grad(globals()[name], parallel=True).source(argument, tuned=True)


@pytest.mark.parametrize("name", IN_WINDOWS)
def test_loops_in_windows(name):
    assert "_window[k" in source(name)


@pytest.mark.parametrize("name", NOT)
def test_other_loops(name):
    assert "_window[" not in source(name)


def test_windows_are_made_in_each_chunk():
    lines = source("neighbours").splitlines()
    loop = next(k for k, line in enumerate(lines) if "for chunk in prange(chunks):" in line)
    made = [k for k, line in enumerate(lines) if "x_window = x[" in line or "x_window_n2 = x[" in line]
    assert made == [loop + 3, loop + 4]


def test_rows_keep_their_place():
    assert "a_window_n2 = a[k, first:end]" in source("row")


@pytest.mark.parametrize("name", [*IN_WINDOWS, *NOT])
@pytest.mark.parametrize("size", [1, 2, 3, 511, 513, 1200])
def test_the_same_derivatives(name, size):
    argument = {**IN_WINDOWS, **NOT}[name][..., :size].copy()
    function = globals()[name]
    wanted, gradient = adjit.value_and_grad(function, target="python", strategy=CHEAPEST)(argument)
    value, found = adjit.value_and_grad(function, target="python", strategy=CHEAPEST, parallel=True)(argument)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(found, gradient, rtol=1e-12)


@pytest.mark.parametrize("name", ["row", "elementary"])
def test_compiled(name):
    wanted, gradient = adjit.value_and_grad(globals()[name], target="python", strategy=CHEAPEST)(IN_WINDOWS[name])
    value, found = adjit.value_and_grad(globals()[name], parallel=True)(IN_WINDOWS[name])
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(found, gradient, rtol=1e-12)
