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


# ---------------------------------------------------------------------------------------------- elements picked out

LABELS = types.Array(types.int64, 1, "C")


def picking():
    # indices from the end, and an element twice
    x = np.sin(1.0 + np.arange(12.0)).reshape(4, 3)
    return x, 1.5 + np.cos(np.arange(3.0)), np.array([1, -2, -1, 1])


def likelihood(x, scale, labels):
    log_p = x * scale - np.log(np.exp(x).sum(axis=1))[:, np.newaxis]
    return log_p[np.arange(labels.size), labels].sum()


def likelihood_by_hand(x, scale, labels):
    log_p = x * scale - np.log(np.exp(x).sum(axis=1))[:, np.newaxis]
    total = 0.0
    for i in range(labels.size):
        total += log_p[i, labels[i]]
    return total


def one_of_them(x, scale, labels):
    c = x * scale
    return c[labels[0], -1] * np.sum(x)


@pytest.mark.parametrize("function", [likelihood, likelihood_by_hand, one_of_them])
def test_what_is_picked_out_is_worked_out_there(function):
    assert not {"log_p", "c"} & set(allocated(function, MATRIX, VECTOR, LABELS))
    check(function, picking, (0, 1))


def of_fewer_rows(x, scale, labels):
    c = np.empty((x.shape[0] + 1, x.shape[1]))
    c[0] = 1.0
    c[1:] = x * scale
    return c[labels, labels].sum()


def overwritten_before(x, scale, labels):
    x = x.copy()
    c = x * scale
    x[1, 1] = 2.0
    return np.sum(x) + c[labels, labels].sum()


def by_their_place(x, scale, labels):
    c = np.empty(x.shape)
    for i in range(x.shape[0]):
        c[i] = x[i] * i
    return c[labels, labels].sum() * scale[0]


def again_and_again(x, scale, labels):
    c = x * scale
    total = 0.0
    for t in range(100):
        total += c[t % 3, labels[t % 4]]
    return total


def with_functions(x, scale, labels):
    c = np.exp(x) * scale
    return c[labels, labels].sum()


@pytest.mark.parametrize(
    "function", [of_fewer_rows, overwritten_before, by_their_place, again_and_again, with_functions]
)
def test_what_cannot_be_worked_out_there_or_costs_more_stays(function):
    assert "c" in allocated(function, MATRIX, VECTOR, LABELS)
    check(function, picking, (0, 1))
