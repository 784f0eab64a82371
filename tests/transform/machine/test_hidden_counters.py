"""Counters of loops that run downwards, hidden from LLVM where it would run the loops inside without vectors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.library import opaque
from adjit.transform.strategy import CHEAPEST

A = np.sin(np.arange(40.0)).reshape(5, 8) + 1.2
W = np.cos(np.arange(8.0))


def rows(a, w):
    """Each row needs the one after it in the reverse sweep; within a row nothing does."""
    h = np.zeros(w.size)
    for t in range(a.shape[0]):
        for i in range(w.size):
            h[i] = np.sin(h[i] * a[t, i]) + w[i]
    return np.sum(h * h)


def branches(a, w):
    h = np.zeros(w.size)
    for t in range(a.shape[0]):
        if a[t, 0] > 0.0:
            for i in range(w.size):
                h[i] = h[i] * a[t, i] + w[i]
    return np.sum(h * h)


def recurrence(a, w):
    """The inner loop of the reverse sweep runs downwards itself."""
    s = 1.0
    for t in range(a.shape[0]):
        for i in range(w.size):
            s = np.sin(s * a[t, i]) + w[i]
    return s


def elsewhere(a, w):
    """What the inner loop touches has nothing to do with the counter."""
    h = w.copy()
    for _ in range(a.shape[0]):
        for i in range(w.size):
            h[i] = 0.3 * h[i] + w[i]
    return np.sum(h * a[0])


def hidden(function):
    source = adjit.grad(function, wrt=(0, 1)).source(A, W, tuned=True)
    adjit.check_grads(function, (A, W), wrt=(0, 1), target="python", strategy=CHEAPEST)
    return re.findall(r"for (\w+) in range\(.*, -1\):\n +(\w+) = opaque\(\1\)\n", source)


@pytest.mark.parametrize("function", [rows, branches])
def test_the_counter_is_hidden(function):
    assert hidden(function) == [("t", "t")]


@pytest.mark.parametrize("function", [recurrence, elsewhere])
def test_the_counter_stays_where_nothing_is_gained(function):
    assert not hidden(function)


def test_compiled():
    gradient = adjit.grad(rows, wrt=(0, 1))
    wanted = adjit.grad(rows, wrt=(0, 1), target="python", strategy=CHEAPEST)(A, W)
    for found, right in zip(gradient(A, W), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-13)
    # the compiler cannot tell what the counter is: it stands in machine code by itself
    assert is_plain() or any('asm ""' in text for text in gradient.inspect_llvm().values())


def test_the_same_number():
    assert opaque(7) == 7
