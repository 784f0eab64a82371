"""Scratch arrays that are made once in the place of once a trip, and those that are not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange, types

import adjit
from adjit.api.specialise.dispatch import Options, derive
from adjit.transform import ir, pipeline
from adjit.transform.machine.hoisted_arrays import hoist_scratch
from adjit.transform.source.derivative import Derivative
from adjit.transform.strategy import Strategy
from tests.programs.harness import check

MATRIX = types.Array(types.float64, 2, "C")
ALL = frozenset({"hoist", "lanes", "interchange", "substitute", "maps"})


def hoisted(function):
    primal = pipeline.primal(function, (MATRIX,), strategy=Strategy(without=ALL))
    return hoist_scratch(primal)


def allocations(region):
    return sum(isinstance(op, ir.Alloc) for op in region.ops)


def allocations_inside(made):
    return sum(allocations(r) for op in ir.walk(made.body) for r in op.regions)


def scratch(A):
    total = 0.0
    n, d = A.shape
    for i in range(n):
        for k in range(2):
            row = np.empty(d)
            for j in range(d):
                row[j] = A[i, j] ** (k + 1)
            for j in range(d):
                total += row[j] * row[d - 1 - j]
    return total


def zeros(A):
    total = 0.0
    n, d = A.shape
    for i in range(n):
        row = np.zeros(d)
        row[0] = A[i, 0]
        for j in range(1, d):
            row[j] += row[j - 1] * A[i, j]
        total += row[d - 1]
    return total


def ones(A):
    total = 0.0
    n, d = A.shape
    for i in range(n):
        row = np.ones(d)
        for j in range(1, d):
            row[j] += row[j - 1] * A[i, j]
        total += row[d - 1] * row[0]
    return total


@pytest.mark.parametrize("function", [scratch, zeros, ones])
def test_arrays_of_a_trip_are_made_once(function):
    made = hoisted(function)
    assert allocations(made.body) == 1
    assert allocations_inside(made) == 0


def handed_on(A):
    n, d = A.shape
    row = np.ones(d)
    for i in range(n):
        after = np.empty(d)
        for j in range(d):
            after[j] = row[j] * A[i, j]
        row = after
    return np.sum(row)


def maybe_negative(A):
    total = 0.0
    n, d = A.shape
    for i in range(n - 5):
        row = np.empty(n - 5)
        for j in range(n - 5):
            row[j] = A[i, j % d]
        for j in range(n - 5):
            total += row[j] * row[0]
    return total


def longer(A):
    total = 0.0
    for i in range(A.shape[0]):
        row = np.empty(i + 1)
        for j in range(i + 1):
            row[j] = A[i, 0] * j
        for j in range(i + 1):
            total += row[j] * row[0]
    return total


@pytest.mark.parametrize("function", [handed_on, maybe_negative, longer])
def test_others_stay_where_they_are(function):
    made = hoisted(function)
    assert allocations_inside(made) == 1


@pytest.mark.parametrize("function", [scratch, zeros, ones, handed_on, maybe_negative, longer])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(28.0)).reshape(7, 4),), (0,))


def test_no_trips_make_no_error():
    assert adjit.grad(maybe_negative)(np.ones((2, 2))).shape == (2, 2)


def in_threads(A):
    total = 0.0
    for i in prange(A.shape[0]):
        row = np.empty(A.shape[1])
        for j in range(A.shape[1]):
            row[j] = A[i, j] ** 2
        for j in range(A.shape[1]):
            total += row[j] * row[A.shape[1] - 1 - j]
    return total


def test_threads_have_arrays_of_their_own():
    A = np.sin(1.0 + np.arange(400.0)).reshape(100, 4)
    derivative = Derivative(in_threads, "value_and_grad", (0,), True, parallel=True)
    value, gradient = derive(derivative, Options(target="cpu", parallel=True))(A)
    serial = adjit.value_and_grad(in_threads)(A)
    np.testing.assert_allclose(value, serial[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, serial[1], rtol=1e-12)
