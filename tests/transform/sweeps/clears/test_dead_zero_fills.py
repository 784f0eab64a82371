"""Zeros that are added to once all over, before anything reads them, are left out."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.runtime.library import workspace
from adjit.transform.strategy import CHEAPEST, Strategy

X = np.array([0.4, -0.7, 1.3, 0.9])


def differences(function, x):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        h = np.zeros_like(x)
        h[place] = 1e-6
        found[place] = (function(x + h) - function(x - h)) / 2e-6
    return found


UNFUSED = Strategy(without=frozenset({"contract"}))


def source_of(function, x=X):
    derived = adjit.grad(function, target="python", strategy=UNFUSED, boundscheck=False)
    # what is not written would be seen
    text = re.sub(r"\b((?:np|workspace)\.empty(?:_like)?\()", r"np.nan * \1", derived.source(x, tuned=True))
    names = {"np": np, "math": math, "workspace": workspace}
    exec(text, names)
    found = names[f"{function.__name__}_grad"](x)
    np.testing.assert_allclose(found, differences(function, x), rtol=1e-6, atol=1e-8)
    return derived.source(x, tuned=True)


def elementwise(x):
    total = 0.0
    for i in range(x.size):
        total += math.sin(x[i]) * x[i]
    return total


def test_a_shadow_that_a_loop_covers():
    source = source_of(elementwise)
    assert "x_bar = np.empty_like(x)" in source
    assert "x_bar[i] = " in source


def matrix(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += math.sin(x[i, j]) ** 2
    return total


def test_a_nest_covers_a_matrix():
    assert "np.empty_like(x)" in source_of(matrix, X.reshape(2, 2))
    assert "np.empty_like(x)" in source_of(matrix, np.asfortranarray(X.reshape(2, 2)))
    # an empty one has nothing to write
    assert adjit.grad(matrix, target="python", strategy=CHEAPEST)(np.empty((0, 3))).shape == (0, 3)


def partly(x):
    total = 0.0
    for i in range(1, x.size):
        total += math.sin(x[i])
    return total


def every_other(x):
    total = 0.0
    for i in range(0, x.size, 2):
        total += math.sin(x[i])
    return total


def neighbours(x):
    total = 0.0
    for i in range(x.size):
        total += math.sin(x[i]) * x[i - 1]
    return total


def repeated(x):
    total = 0.0
    for k in range(3):
        for i in range(x.size):
            total += math.sin(k * x[i])
    return total


def diagonal(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += math.sin(x[i, i])
    return total


@pytest.mark.parametrize("function", [partly, every_other, neighbours, repeated])
def test_a_loop_that_misses_some_or_comes_twice_needs_zeros(function):
    assert "np.zeros_like(x)" in source_of(function)


def test_one_loop_does_not_cover_two_axes():
    assert "np.zeros_like(x)" in source_of(diagonal, X.reshape(2, 2))


def another_length(x, n):
    total = 0.0
    for i in range(n):
        total += math.sin(x[i])
    return total


def test_a_length_that_is_not_the_array_s():
    source = adjit.grad(another_length, target="python", strategy=CHEAPEST).source(X, 4, tuned=True)
    assert "np.zeros_like(x)" in source
