"""Sums of a few terms inside of loops, written out, and those that stay."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import adjit
from adjit.transform import ir, pipeline
from adjit.transform.machine.unroll_short_sums import write_out
from tests.programs.harness import check

MATRIX = types.Array(types.float64, 2, "C")


def sums(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(2):
            for m in range(1, 3):
                total += x[i, k + m] * k
        y[i] = total
        for k in range(3):
            y[i] *= x[i, k]
    return np.sum(y)


def maps(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        for k in range(3):
            y[i, k] = np.sin(x[i, k])
    return np.sum(y)


def many(x):
    total = 0.0
    for i in range(x.shape[0]):
        part = 0.0
        for k in range(5):
            part += x[i, k % 4]
        total += part * part
    return total


def at_the_top(x):
    total = 0.0
    for k in range(3):
        total += x[k, 0]
    return total


def loops(function):
    made = write_out(pipeline.primal(function, (MATRIX,)))
    return sum(isinstance(op, ir.For) for op in ir.walk(made.body))


@pytest.mark.parametrize("function, left", [(sums, 1), (maps, 3), (many, 2), (at_the_top, 1)])
def test_which_loops_are_left(function, left):
    assert loops(function) == left


@pytest.mark.parametrize("function", [sums, maps, many, at_the_top])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(20.0)).reshape(5, 4),), (0,))


def largest_of_blocks(x):
    n, m = x.shape
    return np.sum(np.max(x.reshape(n // 2, 2, m // 2, 2), axis=(1, 3)) ** 2)


def test_blocks_are_written_out():
    source = adjit.grad(largest_of_blocks).source(np.ones((4, 4)), tuned=True)
    assert "range(2)" not in source
    assert "= np.max(" not in source
    check(largest_of_blocks, lambda: (np.sin(np.arange(24.0)).reshape(4, 6),), (0,))


@pytest.mark.parametrize("place", [0, 1, 6, 7])
def test_nan_in_a_block_comes_out(place):
    x = np.arange(24.0).reshape(4, 6)
    x.flat[place] = np.nan
    value, _ = adjit.vjp(lambda x: np.max(x.reshape(2, 2, 3, 2), axis=(1, 3)), x)
    np.testing.assert_array_equal(value, np.max(x.reshape(2, 2, 3, 2), axis=(1, 3)))
