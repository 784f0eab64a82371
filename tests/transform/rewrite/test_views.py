"""Loads and stores through views, as elements of the array behind them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from adjit.transform import ir, pipeline
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def views(function, *arg_types):
    """How many loads and stores go through a view."""
    ops = list(ir.walk(pipeline.primal(function, arg_types).body))
    made = {op.out for op in ops if isinstance(op, ir.VIEWS)}
    return sum(isinstance(op, ir.Load | ir.Store) and op.array in made for op in ops)


def inner(a):
    return np.sum(a[1:-1] * a[2:])


def strided(a):
    return np.sum(a[::2] ** 2) + np.sum(a[1::3])


def nested(A):
    return np.sum(A[1:].T[:, 1:][::2] * 2.0)


def row(A):
    total = 0.0
    for i in range(A.shape[0]):
        r = A[i]
        for j in range(r.size):
            total += r[j] * A[-1, j]
    return total


@pytest.mark.parametrize("function, type_", [(inner, VECTOR), (strided, VECTOR), (nested, MATRIX), (row, MATRIX)])
def test_elements_are_those_of_the_base(function, type_):
    assert views(function, type_) == 0
    values = np.sin(1.0 + np.arange(20.0))
    check(function, lambda: (values[:7].copy() if type_ is VECTOR else values.reshape(4, 5).copy(),), (0,))


def from_the_end(a):
    v = a[1:]
    return v[-1] * v[0] + a[-3:][-1]


def clipped(a, k):
    return np.sum(a[k:] ** 2)


def backwards(a):
    return np.sum(a[::-1] * np.arange(a.size))


@pytest.mark.parametrize("function, more", [(from_the_end, ()), (clipped, (-2,)), (clipped, (9,)), (backwards, ())])
def test_views_stay_where_the_place_is_not_plain(function, more):
    assert views(function, VECTOR, *(types.intp for _ in more)) > 0
    check(function, lambda: (np.sin(1.0 + np.arange(5.0)), *more), (0,))
