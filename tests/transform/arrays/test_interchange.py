"""Loops around array statements, turned inside out: when that is done, when it is refused, and that nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from adjit.api.specialise.dispatch import Options, derive
from adjit.transform import ir, pipeline
from adjit.transform.source.derivative import Derivative
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
WITHOUT = Strategy(without=frozenset({"interchange"}))


def built(function, *arg_types, strategy=None):
    return pipeline.primal(function, arg_types, **({} if strategy is None else {"strategy": strategy}))


def elements(made):
    """The ranks of the arrays that a function makes."""
    return sorted(len(op.shape) for op in ir.walk(made.body) if isinstance(op, ir.Alloc))


def outermost(made):
    return [op for op in made.body.ops if isinstance(op, ir.For)]


def by_columns(x, w):
    n, d = x.shape
    y = np.zeros((n, 2))
    for j in range(d):
        y[:, 0] += w[j] * x[:, j]
        y[:, 1] = y[:, 1] * 0.5 + y[:, 0]
    return np.sum(np.exp(y[:, 0]) * y[:, 1])


def running(x, w):
    n, d = x.shape
    y = x * 2.0
    p = 0
    for j in range(d):
        y[:, j:] += w[p : p + d - j] * x[:, j : j + 1]
        p += d - j
    return np.sum(y * y) + p


def two_deep(x, w):
    n, d = x.shape
    out = np.empty((n, 3))
    for k in range(3):
        y = x - w[k]
        for j in range(d):
            y[:, j] *= w[j] + 0.1 * k
        out[:, k] = np.sum(y * y, axis=1)
    total = 0.0
    for i in range(n):
        total += np.max(out[i]) + np.sum(np.exp(out[i]))
    return total


@pytest.mark.parametrize("function, ranks", [(by_columns, [1]), (running, [1]), (two_deep, [1, 1])])
def test_what_is_done_for_an_element_is_done_together(function, ranks):
    made = built(function, MATRIX, VECTOR)
    assert elements(made) == ranks
    assert max(elements(built(function, MATRIX, VECTOR, strategy=WITHOUT))) == 2


@pytest.mark.parametrize("function", [by_columns, running, two_deep])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(6.0))), (0, 1))


@pytest.mark.parametrize("function", [by_columns, running, two_deep])
def test_values_keep_their_bits(function):
    x, w = np.sin(1.0 + np.arange(33.0)).reshape(11, 3), np.cos(np.arange(6.0))
    values = []
    for strategy in (CHEAPEST, WITHOUT):
        derivative = Derivative(function, "value_and_grad", (0,), True, strategy=strategy)
        values.append(derive(derivative, Options(target="python", strategy=CHEAPEST))(x, w)[0])
    assert values[0] == values[1]


def neighbours(x, w):
    y = x * 1.0
    for j in range(3):
        y[1:] += w[j] * y[:-1]
    return np.sum(y * y)


def reversed_rows(x, w):
    y = x * 1.0
    for j in range(3):
        y += w[j] * y[::-1]
    return np.sum(y * y)


def summed_between(x, w):
    y = x * 1.0
    for j in range(3):
        y *= w[j]
        y += np.sum(y)
    return np.sum(y * y)


def first_row(x, w):
    y = x * 1.0
    for j in range(3):
        y += w[j] * y[0]
    return np.sum(y * y)


def stopping(x, w):
    y = x * 1.0
    for j in range(3):
        y *= w[j]
        if w[j] < -0.9:
            break
    return np.sum(y * y)


def raising(x, w):
    y = x * 1.0
    for j in range(3):
        assert w[j] > -2.0
        y *= w[j]
    return np.sum(y * y)


def expensive(x, w):
    y = x * 1.0
    for j in range(3):
        y *= np.exp(w[j])
    return np.sum(y * y)


@pytest.mark.parametrize(
    "function", [neighbours, reversed_rows, summed_between, first_row, stopping, raising, expensive]
)
def test_elements_that_meet_stay_where_they_are(function):
    made = built(function, MATRIX, VECTOR)
    assert 2 in elements(made)
    check(function, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(3.0))), (0, 1))


def along_rows(x, w):
    y = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        y += w[i] * x[i]
    return np.sum(y * y)


def test_rows_are_run_through_in_their_order():
    assert len(outermost(built(along_rows, MATRIX, VECTOR))) == 2


def one_number(x, w):
    y = np.zeros(x.shape[0])
    for j in range(3):
        y = y * 1.0
        y += w[j] * x[:, j]
    z = np.zeros(x.shape[0])
    for j in range(3):
        z += w[j] * x[:, j] * y
        z *= 1.0 + x[:, 0]
    return np.sum(z * z)


def test_what_an_element_is_to_a_trip_is_a_number():
    made = built(one_number, MATRIX, VECTOR)
    assert len(elements(made)) < len(elements(built(one_number, MATRIX, VECTOR, strategy=WITHOUT)))
    check(one_number, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(3.0))), (0, 1))


def handed_on(x, w):
    y = x * 1.0
    for j in range(3):
        y *= w[j]
    return y


def test_an_array_that_is_returned_is_not_turned_for():
    made = built(handed_on, MATRIX, VECTOR)
    assert elements(made) == [2]
    assert len(outermost(made)) == 2


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
