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


def normalised(A):
    return np.sum((A / np.sum(np.exp(A), axis=1).reshape((-1, 1))) ** 2)


def column_of_what_changes(a):
    y = a * 2.0
    column, rows = y.reshape(-1, 1), y.reshape((1, 1, -1))
    y[0] = 3.0
    column[1, 0] *= a[2]
    rows[0, 0, 2] += a[0]
    return np.sum(column[:, 0] ** 2) + rows[0, 0, 1] * y[2]


def of_every_other(a):
    return np.sum(a[::2].reshape(-1, 1) * a[::2].reshape(1, -1) * np.sin(a[0]))


def of_rows(A):
    y = np.sin(A)
    return np.sum(y[1].reshape(-1, 1) @ y[2].reshape(1, -1)) + y[1].reshape(-1, 1)[0, 0]


@pytest.mark.parametrize(
    "function, type_",
    [
        (inner, VECTOR), (strided, VECTOR), (nested, MATRIX), (row, MATRIX), (normalised, MATRIX),
        (column_of_what_changes, VECTOR),
    ],
)  # fmt: skip
def test_elements_are_those_of_the_base(function, type_):
    assert views(function, type_) == 0
    values = np.sin(1.0 + np.arange(20.0))
    check(function, lambda: (values[:7].copy() if type_ is VECTOR else values.reshape(4, 5).copy(),), (0,))


@pytest.mark.parametrize("function, shape", [(of_every_other, (7,)), (of_rows, (4, 5))])
def test_rows_and_columns_of_other_arrays(function, shape):
    check(function, lambda: (np.sin(1.0 + np.arange(20.0))[: np.prod(shape)].reshape(shape),), (0,))


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
