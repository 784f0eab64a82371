"""Array statements that work out the same twice, and those that only look like it."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import adjit
from adjit.transform import ir, pipeline
from tests.programs.harness import check

MATRIX = types.Array(types.float64, 2, "C")


def standardised(x, w):
    return np.sum(w * (x - x.mean(axis=0)) / x.std(axis=0))


def of_all(x, w):
    return np.sum((x - x.mean()) ** 2 * w) / x.var()


def changed_between(x, w):
    y = x.copy()
    first = y.sum(axis=0)
    y[0] = 2.0 * y[1]
    return np.sum(first * y.sum(axis=0) * w)


def changed_afterwards(x, w):
    first = x.sum(axis=0)
    other = x.sum(axis=0)
    other *= w[0]
    return np.sum(first * other)


def read_before(x, w):
    first = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        first += x[i]
    other = np.zeros(x.shape[1])
    before = np.sum(other * w)
    for i in range(x.shape[0]):
        other += x[i]
    return before + np.sum(first * other * w)


def in_a_branch(x, w):
    first = x.sum(axis=0)
    if x[0, 0] > 0.0:
        first = first * x.sum(axis=0)
    return np.sum(first * x.sum(axis=0) * w)


FUNCTIONS = [standardised, of_all, changed_between, changed_afterwards, read_before, in_a_branch]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(12.0)).reshape(4, 3), np.array([0.5, -1.0, 2.0])), (0, 1))


@pytest.mark.parametrize(
    "function, sums", [(standardised, 1), (of_all, 1), (changed_between, 2), (changed_afterwards, 2)]
)
def test_a_sum_of_the_argument_is_made_once(function, sums):
    """The loops in which elements of the first argument, or of its copy, are summed up as they are."""
    made = pipeline.primal(function, (MATRIX, types.Array(types.float64, 1, "C")))
    loads = {op.out for op in ir.walk(made.body) if isinstance(op, ir.Load) and len(op.index) == 2}
    stores = [op for op in ir.walk(made.body) if isinstance(op, ir.Store) and op.add and op.value in loads]
    added = [op for op in ir.walk(made.body) if isinstance(op, ir.Call) and len(op.args) == 2 and op.args[1] in loads]
    assert len(stores) + sum(op.outs[0].name == "sum" for op in added) == sums


def test_the_user_sees_two_arrays():
    """Two names of the user's stay two arrays, which the caller may change."""

    def both(x):
        first = x.sum(axis=0)
        other = x.sum(axis=0)
        return first, other

    (first, other), _ = adjit.vjp(both, np.ones((2, 3)))
    assert not np.shares_memory(first, other)


def test_a_name_of_the_users_is_kept():
    def named(x):
        scaled = x / x.sum(axis=0)
        total = x.sum(axis=0)
        return np.sum(scaled * total * total)

    source = adjit.grad(named).source(np.ones((2, 3)))
    assert "total = np.zeros(" in source
    check(named, lambda: (np.cos(np.arange(6.0)).reshape(2, 3),), (0,))
