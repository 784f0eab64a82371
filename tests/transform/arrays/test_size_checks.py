"""Slices whose bounds are worked out first: what is checked, and slices that are clipped after all."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import adjit
from adjit.errors import Stretched
from adjit.runtime.library import broadcast_extent, slice_inside, stored_extent
from adjit.transform import ir, pipeline
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")


def calls(made, *callees):
    return [op for op in ir.walk(made.body) if isinstance(op, ir.Call) and op.callee in callees]


def running(a, b, m):
    total = 0.0
    p = 0
    for j in range(m):
        total += np.sum(a[p : p + j] * b[:j])
        p += j
    return total


def inside_two_loops(a, b, m):
    total = 0.0
    for i in range(a.size):
        for j in range(1, m):
            total += a[i] * np.sum(a[j : j + m] * b[:m])
    return total


def chosen(a, b, k):
    first = 0
    for j in range(a.size):
        if a[j] > 0.0:
            first = j
    return np.sum(a[first : first + k] * b[:k])


@pytest.mark.parametrize("function, checks", [(running, 2), (inside_two_loops, 2), (chosen, 0)])
def test_slices_are_checked_once_before_all_else(function, checks):
    made = pipeline.primal(function, (VECTOR, VECTOR, types.intp))
    assert len(calls(made, slice_inside)) == checks
    assert bool(calls(made, broadcast_extent, stored_extent)) == (checks == 0)
    stretching = pipeline.primal(function, (VECTOR, VECTOR, types.intp), stretches=True)
    assert not calls(stretching, slice_inside)
    assert calls(stretching, broadcast_extent, stored_extent)


def test_a_check_has_only_the_loops_that_it_follows_from():
    made = pipeline.primal(inside_two_loops, (VECTOR, VECTOR, types.intp))
    (loop,) = [op for op in made.body.ops if isinstance(op, ir.For) and calls_in(op, slice_inside)]
    assert not any(isinstance(op, ir.For) for op in loop.body.ops)
    assert made.body.ops.index(loop) < min(
        k for k, op in enumerate(made.body.ops) if isinstance(op, ir.For) and op is not loop
    )


def calls_in(op, callee):
    return [inner for inner in ir.walk(op.body) if isinstance(inner, ir.Call) and inner.callee is callee]


@pytest.mark.parametrize("function", [running, inside_two_loops, chosen])
def test_gradients(function):
    check(function, lambda: (np.sin(1.0 + np.arange(9.0)), np.cos(np.arange(5.0)), 4), (0, 1))


def test_a_clipped_slice_of_one_element_is_stretched():
    a, b = np.array([2.0, 3.0, 5.0, 7.0]), np.array([1.0, 10.0, 100.0])
    # the last slice is a[3:6], of which there is one element
    expected = 3.0 * 0 + 2.0 * 1.0 + (3.0 + 50.0) + 7.0 * 111.0
    value, (a_bar, b_bar) = adjit.value_and_grad(running, wrt=(0, 1))(a, b, 4)
    assert running(a, b, 4) == value == expected
    np.testing.assert_allclose(a_bar, [1.0, 1.0, 10.0, 111.0])
    np.testing.assert_allclose(b_bar, [2.0 + 3.0 + 7.0, 5.0 + 7.0, 7.0])


def test_a_clipped_slice_of_another_length_stays_an_error():
    with pytest.raises(ValueError, match="broadcast"):
        adjit.grad(running)(np.ones(5), np.ones(3), 4)


def below(a, b, k):
    return np.sum(a[k : k + 3] * b[:3])


def test_bounds_below_zero_count_from_the_end():
    derived = adjit.grad(below, wrt=(0, 1))
    a, b = np.arange(6.0), np.ones(3)
    np.testing.assert_allclose(derived(a, b, 1)[0], [0, 1, 1, 1, 0, 0])
    np.testing.assert_allclose(derived(a, b, -5)[0], [0, 1, 1, 1, 0, 0])
    with pytest.raises(ValueError, match="broadcast"):
        derived(a, b, -2)


def test_the_check_says_what_it_found():
    slice_inside(0, 0, 0)
    slice_inside(1, 3, 3)
    for bounds in [(-1, 1, 3), (2, 1, 3), (1, 4, 3)]:
        with pytest.raises(Stretched, match="exceeds its array"):
            slice_inside(*bounds)
