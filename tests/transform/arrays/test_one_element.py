"""An element that each trip has for itself, as a value that loops and branches hand on."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from adjit.transform import ir, pipeline
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def summed(x, w):
    y = np.zeros(x.shape[0])
    for j in range(x.shape[1]):
        y += w[j] * x[:, j]
    return np.sum(y * y)


def multiplied(x, w):
    y = x[:, 0] * 1.0
    for j in range(x.shape[1]):
        y *= w[j] * x[:, j]
        y += np.where(x[:, j] > 0.0, y * y, 0.3)
    return np.sum(np.sin(y))


def two(x, w):
    y = np.ones(x.shape[0])
    z = np.empty(x.shape[0])
    z[:] = 0.2
    for j in range(x.shape[1]):
        y += z * x[:, j]
        z[:] = y * w[j]
    return np.sum(y * z)


@pytest.mark.parametrize("function", [summed, multiplied, two])
def test_no_array_is_left(function):
    made = pipeline.primal(function, (MATRIX, VECTOR))
    assert not any(isinstance(op, ir.Alloc) for op in ir.walk(made.body))
    check(function, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(3.0))), (0, 1))


def until(x, w):
    y = np.zeros(x.shape[0])
    j = 0
    while w[j] > 0.0:
        y += w[j] * x[:, j]
        j += 1
    return np.sum(y * y)


def test_a_loop_of_unknown_length_keeps_its_array():
    made = pipeline.primal(until, (MATRIX, VECTOR))
    assert any(isinstance(op, ir.Alloc) for op in ir.walk(made.body))
    check(until, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(3.0))), (0, 1))
