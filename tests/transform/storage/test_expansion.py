"""Scratch arrays with an axis more for the loops around their use."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

X = np.array([[0.4, -0.7, 1.3], [0.9, 0.2, -1.1], [1.5, 0.3, 0.6], [-0.2, 0.8, 0.1]])


def differences(function, x):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        h = np.zeros_like(x)
        h[place] = 1e-6
        found[place] = (function(x + h) - function(x - h)) / 2e-6
    return found


def source_of(function, x, compiled=False):
    """The gradient's source, once it is right under plain Python."""
    derived = adjit.grad(function, target="python", strategy=CHEAPEST)
    np.testing.assert_allclose(derived(x), differences(function, x), rtol=1e-6, atol=1e-8)
    return derived.source(x, tuned=True)


def reused(x):
    n, m = x.shape
    s = np.empty(m)
    state = 0.3
    for i in range(n):
        for k in range(m):
            s[k] = math.sin(x[i, k])
        for k in range(1, m):
            s[k] += s[k - 1] * s[k - 1]
        state = math.sin(state) + s[m - 1]
    return state


def test_scratch_of_a_trip_is_not_restored_for_the_trip_before():
    source = source_of(reused, X)
    # one row a trip; what the trip itself overwrites is still saved
    assert re.search(r"s = workspace.empty\(\(n, m\)\)", source)
    assert "s[i, k]" in source


def test_it_is_right_when_compiled():
    np.testing.assert_allclose(adjit.grad(reused)(X), differences(reused, X), rtol=1e-6, atol=1e-8)


def made_in_the_trip(x):
    n, m = x.shape
    state = 0.3
    for i in range(n):
        s = np.zeros(m)
        for k in range(1, m):
            s[k] = math.sin(x[i, k]) + s[k - 1] * s[k - 1]
        state = math.sin(state) + s[m - 1] * s[1]
    return state


def test_an_array_made_in_each_trip_becomes_one_with_an_axis():
    source = source_of(made_in_the_trip, X)
    assert re.search(r"s = workspace.empty\(\(n, m\)\)", source)
    assert "append" not in source


def partly_written(x):
    n, m = x.shape
    s = np.ones(m)
    last = np.empty(n)
    for i in range(n):
        for k in range(1, m):
            s[k] = math.sin(x[i, k]) * s[k - 1]
        s[0] = s[1]
        last[i] = s[m - 1]
    return math.log(np.sum(last * last))


def test_scratch_that_carries_something_over_keeps_its_shape():
    source = source_of(partly_written, X)
    assert "workspace.empty((n, m))" not in re.sub(r".*_tape.*", "", source)


def read_afterwards(x):
    n, m = x.shape
    s = np.empty(m)
    last = np.empty(n)
    for i in range(n):
        for k in range(m):
            s[k] = math.sin(x[i, k]) ** 2
        last[i] = s[0] * s[1]
    return math.log(np.sum(last)) + s[0]


def test_scratch_that_is_read_after_the_loop_keeps_its_shape():
    assert "s[i, k]" not in source_of(read_afterwards, X)


def a_branch_writes_it(x):
    n, m = x.shape
    s = np.zeros(m)
    last = np.empty(n)
    for i in range(n):
        if x[i, 0] > 0.5:
            for k in range(m):
                s[k] = math.sin(x[i, k])
        last[i] = s[0] * s[1]
    return math.log(1.0 + np.sum(last * last))


def test_what_only_a_branch_writes_is_not_private():
    assert "s[i, " not in source_of(a_branch_writes_it, X)


def strided(x):
    n, m = x.shape
    s = np.empty(m)
    last = np.zeros(n)
    for i in range(n - 1, 0, -2):
        for k in range(m):
            s[k] = math.sin(x[i, k])
        for k in range(1, m):
            s[k] *= s[k - 1]
        last[i] = s[m - 1]
    return math.log(1.0 + np.sum(last * last))


def test_a_loop_that_counts_otherwise():
    source_of(strided, X)


def whole_array_use(x):
    n, m = x.shape
    s = np.empty(m)
    last = np.empty(n)
    w = np.eye(m) + 0.5
    for i in range(n):
        for k in range(m):
            s[k] = math.sin(x[i, k])
        s[0] = s[1] * s[2]
        last[i] = np.dot(s, w @ s)
    return math.log(np.sum(last * last))


def test_calls_on_the_whole_array_see_the_part_of_the_trip():
    source_of(whole_array_use, X)


def sums_of_trips(x):
    n, m = x.shape
    s = np.empty(m)
    total = 0.0
    for i in range(n):
        for k in range(m):
            s[k] = math.sin(x[i, k])
        for k in range(1, m):
            s[k] += s[k - 1] * s[k - 1]
        total += s[m - 1] * total
    return total


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_few_trips(rows):
    found = adjit.grad(sums_of_trips, target="python", strategy=CHEAPEST)(X[:rows])
    np.testing.assert_allclose(found, differences(sums_of_trips, X[:rows]), rtol=1e-6, atol=1e-8)


def written_over(x):
    total = 0.0
    for k in range(2):
        w = np.ones(3)
        for _ in range(2):
            for j in range(3):
                w[j] = x[k, j]
            total += w[0] * w[2]
    return total


def test_what_no_trip_reads_is_not_filled():
    source = source_of(written_over, X)
    assert "= 1.0" not in source
