"""Products of windows: with a vector a sum over them where they lie, with a matrix the product of a copy."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from numba import types
from numpy.lib.stride_tricks import sliding_window_view

from adjit.transform import ir, pipeline
from tests.programs.harness import check

MATRIX = types.Array(types.float64, 2, "C")


def by_letters(x, w):
    return np.sum(np.einsum("ijab,ab->ij", sliding_window_view(x, w.shape), w) ** 2)


def by_axes(x, w):
    return np.sum(np.tensordot(w, sliding_window_view(x, w.shape), axes=([0, 1], [2, 3])) ** 2)


def by_operator(x, w):
    windows = sliding_window_view(x, 2, axis=1)
    return np.sum((windows @ w[0]) ** 3)


def from_the_left(x, w):
    windows = sliding_window_view(x[0], 2)
    return np.sum(np.dot(w[:, 0], windows.T) ** 2) + np.sum((w[:, 1] @ sliding_window_view(x[1], 2).T) ** 3)


def several(x, w):
    return np.sum((sliding_window_view(x[0], 2) @ w) ** 2)


def made(function):
    return list(ir.walk(pipeline.primal(function, (MATRIX, MATRIX)).body))


def arguments():
    return np.sin(np.arange(20.0)).reshape(4, 5), np.cos(np.arange(4.0)).reshape(2, 2)


@pytest.mark.parametrize("function", [by_letters, by_axes, by_operator, from_the_left])
def test_one_filter_reads_the_windows_where_they_are(function):
    ops = made(function)
    assert not [op for op in ops if isinstance(op, ir.Call) and op.callee in (np.dot, operator.matmul)]
    assert not [op for op in ops if isinstance(op, ir.Alloc)]


def test_several_filters_are_one_product_of_matrices():
    ops = made(several)
    assert [op for op in ops if isinstance(op, ir.Call) and op.callee in (np.dot, operator.matmul)]


@pytest.mark.parametrize("function", [by_letters, by_axes, by_operator, from_the_left, several])
def test_gradients(function):
    check(function, arguments, (0, 1))


def misfit(x, w):
    return np.sum(sliding_window_view(x[0], 2) @ w[0, :1])


def test_a_filter_of_another_length_is_an_error():
    import adjit

    with pytest.raises(ValueError, match="shape-mismatch"):
        adjit.grad(misfit, target="python")(*arguments())
