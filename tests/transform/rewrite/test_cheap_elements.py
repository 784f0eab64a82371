"""Cheap elements worked out where they are read: where they may be, and where they may not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from adjit.transform import ir, pipeline
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def allocated(function, *arg_types):
    made = pipeline.primal(function, arg_types)
    return sorted(op.out.name for op in ir.walk(made.body) if isinstance(op, ir.Alloc))


def pairwise(x, m):
    d = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    r2 = np.sum(d * d, axis=2) + 0.3
    w = m / (r2 * np.sqrt(r2))
    return np.sum(np.sum(w[:, :, np.newaxis] * d, axis=1) ** 3)


def normalised(a, b):
    c = a - b
    c = c / np.sqrt(np.sum(c * c))
    return np.sum(c * b)


def test_no_array_of_differences_is_left():
    assert "d" not in allocated(pairwise, MATRIX, VECTOR)
    assert allocated(normalised, VECTOR, VECTOR) == []


def overwritten(a, b):
    a = a.copy()
    c = a - b
    s = np.sum(c * c)
    a[0] = s
    return np.sum(c * b * s) + np.sum(a)


def expensive(a, b):
    c = np.exp(a) * b
    s = np.sum(c * c)
    return np.sum(c * b * s)


def elsewhere(a, b):
    c = a - b
    s = np.sum(c * c)
    return s * np.sum(c[1:] * b[:-1])


def returned(a, b):
    c = a - b
    s = np.sum(c * c)
    b = b * s
    return c, np.sum(c * b)


@pytest.mark.parametrize("function", [overwritten, expensive, elsewhere, returned])
def test_others_keep_their_array(function):
    assert "c" in allocated(function, VECTOR, VECTOR)


@pytest.mark.parametrize("function", [normalised, overwritten, expensive, elsewhere])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(5.0)), np.cos(np.arange(5.0))), (0, 1))


def test_gradients_of_pairs():
    check(pairwise, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(4.0))), (0, 1))


def stored_before(a, b):
    a, s = a.copy(), 0.0
    for i in range(a.size):
        a[i] = a[i] * 2.0 + b[i]
        c = a * b
        s += c[i]
    return s


def computed_before(a, b):
    s = 0.0
    for i in range(a.size):
        most = max(a[i], b[i])
        c = a * most - b
        s += c[i] * c[i]
    return s


def in_another_order(a, b):
    s = 0.0
    for i in range(a.size):
        a = a + b[i]
        c = a - b
        for j in range(a.size):
            s += c[j] * c[i]
    return s


@pytest.mark.parametrize("function", [stored_before, computed_before, in_another_order])
def test_an_element_is_worked_out_where_its_array_was_made(function):
    # a trip may change what it is made of before, and what comes after it may be read elsewhere
    check(function, lambda: (np.sin(1.0 + np.arange(5.0)), np.cos(np.arange(5.0))), (0, 1))
