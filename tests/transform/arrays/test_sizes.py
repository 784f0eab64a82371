"""Extents that agree: what is taken to be equal, what is checked, and axes of length 1 that are stretched after all."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, types

import adjit
from adjit.errors import Stretched
from adjit.runtime.library import broadcast_extent, same_extent, stored_extent
from adjit.transform import ir, pipeline
from tests.programs.harness import check

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def calls(made, *callees):
    return [op for op in ir.walk(made.body) if isinstance(op, ir.Call) and op.callee in callees]


def questions(made):
    """What asks at run time how long an axis is."""
    return len(calls(made, broadcast_extent, stored_extent, ir.select))


def combined(a, b):
    return np.sum(np.sin(a) * b + b)


def sliced(a, b):
    return np.sum((a[1:-1] + a[2:]) * b[:-2])


def carried(a, n):
    u = a.copy()
    for _ in range(n):
        u = 0.5 * (u + a)
    return np.sum(u)


def product(A, w, y):
    return np.sum((A @ w - y) ** 2)


def inner(a):
    total = 0.0
    for i in range(1, a.size):
        total += np.sum((a[:i] - a[i]) * a[:i])
    return total


def neighbours(A, b):
    return np.sum(np.sin(A[:, ::2]) * A[:, 1::2] * b)


def every_third(A, b):
    return np.sum(A[:, 1:-1:3] * A[:, :6:3] * b)


def blocks(A, b):
    n, m = A.shape
    return np.sum(A.reshape(n, m // 2, 2).sum(axis=2) ** 2 * b)


def windows(a, b):
    m = a.size - b.size + 1
    y = np.zeros(m)
    for k in range(b.size):
        y += b[k] * a[k : k + m]
    return np.sum(y**2)


@pytest.mark.parametrize(
    "function, arg_types, checks",
    [
        (combined, (MATRIX, MATRIX), 2),
        (sliced, (VECTOR, VECTOR), 1),
        (carried, (VECTOR, types.intp), 0),
        (product, (MATRIX, VECTOR, VECTOR), 2),
        (inner, (VECTOR,), 0),
        (neighbours, (MATRIX, VECTOR), 2),
        (every_third, (MATRIX, VECTOR), 2),
        (blocks, (MATRIX, VECTOR), 1),
        (windows, (VECTOR, VECTOR), 0),
    ],
)
def test_nothing_is_asked_in_the_loops(function, arg_types, checks):
    made = pipeline.primal(function, arg_types)
    assert questions(made) == 0
    assert len(calls(made, same_extent)) == checks
    assert questions(pipeline.primal(function, arg_types, stretches=True)) >= (1 if checks else 0)


def growing(a, n):
    u = a[:1].copy()
    for _ in range(n):
        u = np.concatenate((u, u))
    return np.sum(u * u)


def test_an_array_that_grows_has_no_fixed_extent():
    check(growing, lambda: (np.array([0.3, 0.2]), 3), (0,))


def columns(A, j):
    return np.sum(A[:, j : j + 1] * A)


def test_a_column_of_width_one_is_stretched():
    check(columns, lambda: (np.sin(np.arange(6.0)).reshape(3, 2), 1), (0,))


SHAPES = [
    ((4, 3), (4, 3)),
    ((4, 3), (1, 3)),
    ((4, 1), (4, 3)),
    ((4, 1), (1, 3)),
    ((1, 1), (1, 1)),
    ((1, 1), (4, 3)),
    ((0, 3), (0, 3)),
    ((0, 3), (1, 3)),
]


def reduced(values, shape):
    axes = tuple(k for k, n in enumerate(shape) if n == 1)
    return values.sum(axis=axes, keepdims=True)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_lengths_of_one_are_stretched_when_a_call_has_them(target):
    derived = adjit.value_and_grad(combined, wrt=(0, 1), target=target)
    for left, right in SHAPES:
        a, b = np.cos(np.ones(left)), np.sin(1.0 + np.ones(right))
        value, (a_bar, b_bar) = derived(a, b)
        ones = np.ones(np.broadcast_shapes(left, right))
        np.testing.assert_allclose(value, combined(a, b))
        np.testing.assert_allclose(a_bar, reduced(np.cos(a) * b * ones, left))
        np.testing.assert_allclose(b_bar, reduced((np.sin(a) + 1.0) * ones, right))


def test_both_halves_of_a_pullback_stretch():
    a, b = np.ones((4, 3)), np.ones((1, 3))
    value, pullback = adjit.vjp(combined, a, b)
    a_bar, b_bar = pullback(1.0)[:2]
    np.testing.assert_allclose(value, combined(a, b))
    np.testing.assert_allclose(a_bar, np.cos(a) * b)
    np.testing.assert_allclose(b_bar, np.sum(np.sin(a) + 1.0, axis=0, keepdims=True))


def test_forward_mode_stretches():
    a, b = np.ones((4, 3)), np.ones((1, 3))
    value, tangent = adjit.jvp(combined, (a, b), (a, 0.0 * b))
    np.testing.assert_allclose(value, combined(a, b))
    np.testing.assert_allclose(tangent, np.sum(np.cos(a)))


def test_compiled_callers_get_code_that_stretches():
    derived = adjit.grad(combined, wrt=(0, 1))

    @njit
    def caller(a, b):
        return derived(a, b)

    _, b_bar = caller(np.ones((4, 3)), np.ones((1, 3)))
    np.testing.assert_allclose(b_bar, np.full((1, 3), 4.0 * (np.sin(1.0) + 1.0)))


@pytest.mark.parametrize("right", [(4, 2), (3, 3), (2, 4, 2)])
def test_shapes_that_differ_stay_an_error(right):
    with pytest.raises(ValueError, match="broadcast"):
        adjit.grad(combined, wrt=(0, 1))(np.ones((4, 3)), np.ones(right))


def stored(a, b):
    out = np.zeros_like(a)
    out[1:] = b
    return np.sum(out * a)


def test_a_store_of_another_length_stays_an_error():
    derived = adjit.grad(stored, wrt=(0, 1))
    np.testing.assert_allclose(derived(np.ones(4), np.ones(3))[1], np.ones(3))
    np.testing.assert_allclose(derived(np.ones(4), np.ones(1))[1], [3.0])
    with pytest.raises(
        ValueError, match=r"an axis of length 3 cannot take a value of length 2\n  test_sizes.py:179 in stored"
    ):
        derived(np.ones(4), np.ones(2))


def test_the_check_says_what_it_found():
    with pytest.raises(Stretched, match="differ in length"):
        same_extent(2, 3)
    same_extent(3, 3)


inner_gradient = adjit.grad(combined, wrt=1)


def outer_gradient(a, b):
    return np.sum(inner_gradient(a, b) * a)


def test_a_derivative_inside_a_function_stretches_with_it():
    derived = adjit.grad(outer_gradient, wrt=0)
    a, b = np.full((2, 3), 0.4), np.full((1, 3), 0.7)
    with_rows = adjit.grad(outer_gradient, wrt=0)(a, np.full((2, 3), 0.7))
    np.testing.assert_allclose(with_rows, np.sin(a) + 1.0 + a * np.cos(a))
    np.testing.assert_allclose(derived(a, b), np.cos(a) * a.sum(axis=0) + np.sum(np.sin(a) + 1.0, axis=0))


def twice_as_long(a, b):
    w = np.zeros(2 * a.size)
    w[:] = 1.0
    return np.sum(w * b) + np.sum(a)


def written_twice(a, b):
    return np.sum(np.concatenate((a, a)) * b)


def what_is_left(a, b):
    return np.sum(np.full(9 - a.size, 0.5) * b * b) + np.sum(a)


def three_less_two(a, b):
    return np.sum(np.ones(3 * a.size - 2) * b) * np.sum(a)


@pytest.mark.parametrize("function", [twice_as_long, written_twice, what_is_left, three_less_two])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_assumed_of_sizes_is_what_is_checked(function, target):
    """Extents that are multiples of others, or what others leave: right where NumPy runs it, and an error elsewhere."""
    made = adjit.value_and_grad(function, wrt=(0, 1), target=target)
    ran = 0
    for n in (3, 5):
        a = np.linspace(0.5, 1.0, n)
        for size in (1, 2, 3, 4, 6, 7, 10, 13):
            b = np.linspace(-1.0, 2.0, size)
            try:
                value = function(a, b)
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    made(a, b)
                continue
            found, (a_bar, b_bar) = made(a, b)
            assert found == pytest.approx(value, rel=1e-13)
            assert (a_bar.shape, b_bar.shape) == (a.shape, b.shape)
            ran += 1
            if target == "python":
                check(function, lambda a=a, b=b: (a.copy(), b.copy()), (0, 1), second=False)
    assert ran == 4


@pytest.mark.parametrize("function", [neighbours, every_third, blocks])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_slices_and_blocks_are_as_long_as_one_another_or_stretched(function, target):
    """With steps, of odd and of even extents: right where NumPy runs it, and an error elsewhere."""
    made = adjit.value_and_grad(function, wrt=(0, 1), target=target)
    ran = 0
    for n in range(1, 9):
        A = np.sin(1.0 + np.arange(2.0 * n)).reshape(2, n)
        for size in (1, 2, 3, 4, 5):
            b = np.linspace(-1.0, 2.0, size)
            try:
                value = function(A, b)
            except ValueError:
                with pytest.raises(ValueError, match="broadcast|reshape|total size"):
                    made(A, b)
                continue
            assert made(A, b)[0] == pytest.approx(value, rel=1e-13, abs=1e-13)
            ran += 1
            if target == "python":
                check(function, lambda A=A, b=b: (A.copy(), b.copy()), (0, 1), second=False)
    assert ran >= 8


def halved(A, b):
    for _ in range(2):
        A = A[: A.shape[0] // 2] * b
    return np.sum(A**2)


def test_half_of_an_array_is_not_taken_to_be_all_of_it():
    assert not calls(pipeline.primal(halved, (MATRIX, types.float64)), same_extent)
    check(halved, lambda: (np.sin(np.arange(10.0)).reshape(5, 2), 0.7), (0, 1))


def parts_from_twice_the_counter(a, n):
    total = 0.0
    for i in range(n):
        b = a[2 * i :]
        for j in range(b.size):
            total += b[j] * b[j]
        c = a[i:]
        for j in range(c.size):
            total += c[j]
    return total


def test_a_sum_that_is_given_up_is_known_by_nothing():
    """Half of a sum was noted as written when the other half turned out to have no operand."""
    check(parts_from_twice_the_counter, lambda: (np.sin(1.0 + np.arange(6.0)), 2), (0,))
