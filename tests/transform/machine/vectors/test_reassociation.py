"""Sums of adjoints and of array statements, in any order, so that they vectorise; other values keep theirs."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy

X = np.sin(np.arange(23.0)) + 1.2
Y = np.cos(np.arange(23.0))


def weighted(x, y, k):
    """The value is a sum, and so is k_bar."""
    total = 0.0
    for i in range(x.size):
        total += k * x[i] * y[i]
    return total


def smoothed(x, k, steps):
    """In the reverse sweep, sums beside a gather, in loops that run upwards for it."""
    u, v = x.copy(), x.copy()
    for _ in range(steps):
        for i in range(1, x.size - 1):
            v[i] = u[i] + k * u[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, x.size - 1):
            u[i] = v[i]
    return np.sum(u * u)


def rows_of_time(x, k, steps):
    """Neighbours in another row of the array that is stored to."""
    u = np.zeros((steps + 1, x.size))
    for i in range(x.size):
        u[0, i] = x[i]
    for t in range(steps):
        for i in range(1, x.size - 1):
            u[t + 1, i] = k * (u[t, i - 1] + u[t, i + 1]) + u[t, i]
    return np.sum(u * u)


def strips(x, y, k):
    """A sum in any order beside one in order, with a function that vectorises."""
    total = 0.0
    for i in range(x.size):
        total += math.exp(k * x[i]) * y[i]
    return total


def recurring(x, y, k):
    """k_bar waits for the recurrence, and stays with it."""
    s = 1.0
    for i in range(x.size):
        s = s * x[i] * k + y[i]
    return s


def source(function, *arguments, without=frozenset(), **options):
    wrt = tuple(k for k, a in enumerate(arguments) if not isinstance(a, int))
    strategy = Strategy(without=without | {"contract"})
    return adjit.value_and_grad(function, wrt=wrt, strategy=strategy, **options).source(*arguments, tuned=True)


def check(function, *arguments):
    wrt = tuple(k for k, a in enumerate(arguments) if not isinstance(a, int))
    adjit.check_grads(function, arguments, wrt=wrt, target="python", strategy=CHEAPEST)
    without = Strategy(without=frozenset({"reassociate"}))
    value, gradients = adjit.value_and_grad(function, wrt=wrt)(*arguments)
    ordered, wanted = adjit.value_and_grad(function, wrt=wrt, strategy=without)(*arguments)
    np.testing.assert_allclose(value, ordered, rtol=1e-14)
    for found, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


PROGRAMS = [
    (weighted, (X, Y, 0.7)), (smoothed, (X, 0.05, 4)), (rows_of_time, (X, 0.2, 3)), (strips, (X, Y, 0.3)),
    (recurring, (0.5 * X, Y, 0.7)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_programs(function, arguments):
    check(function, *arguments)


def test_adjoints_in_any_order_and_values_in_theirs():
    assert "k_bar = reassociable_add(k_bar, " in adjit.grad(weighted, wrt=2).source(X, Y, 0.7, tuned=True)
    # beside a value that has to be added up in order nothing is gained
    text = source(weighted, X, Y, 0.7)
    assert "total +=" in text
    assert "reassociable" not in text


def normalised(x, y, k):
    centred = x - np.mean(x)
    return np.sum(y * centred / np.sqrt(k + np.sum(centred * centred)))


def above_the_mean(x, y, k):
    return np.sum(np.where(x > np.mean(x), k * y, x))


def above_in_a_branch(x, y, k):
    return k * np.sum(y) if np.sum(x) > 1.0 else np.sum(x)


def by_steps(x, y, k):
    return k * (np.sum(x) - np.floor(np.sum(x))) + np.sum(y)


def test_array_statements_add_up_in_any_order():
    text = source(normalised, X, Y, 0.7)
    # the last one is in a loop with its adjoint, of which each trip is done whole
    assert text.split("# ---- reverse", 1)[0].count("reassociable_add(") == 2
    in_order = source(normalised, X, Y, 0.7, without=frozenset({"sums"}))
    assert "reassociable_add(" not in in_order.split("# ---- reverse", 1)[0]
    adjit.check_grads(normalised, (X, Y, 0.7), target="python", strategy=CHEAPEST)
    value, gradients = adjit.value_and_grad(normalised, wrt=(0, 1, 2))(X, Y, 0.7)
    wanted, wanted_gradients = adjit.value_and_grad(normalised, wrt=(0, 1, 2), target="python")(X, Y, 0.7)
    assert value == pytest.approx(wanted, rel=1e-13)
    for found, right in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", [above_the_mean, above_in_a_branch, by_steps])
def test_sums_that_something_is_decided_by_keep_their_order(function):
    """Both sweeps have to find the same side, whichever of their loops adds up."""
    ordered = re.findall(r"total\w* \+= x\[", source(function, X, Y, 0.7))
    assert ordered
    assert not re.search(r"reassociable_add\(total\w*, x\[", source(function, X, Y, 0.7))


def test_sums_beside_a_gather():
    for function in (smoothed, rows_of_time):
        text = source(function, X, 0.05, 4)
        assert "k_bar = reassociable_add(k_bar, " in text
        assert "_bars[i + 1] = " in text


def test_strips_hold_a_sum_in_any_order_in_their_first_loop():
    _, first, second = source(strips, X, Y, 0.3).split(" in range(n):")
    assert "k_bar = reassociable_add(k_bar, " in first
    assert "total += product_strip[" in second
    assert "reassociable" not in second


def test_what_takes_part_in_a_recurrence_stays():
    assert "reassociable" not in source(recurring, X, Y, 0.7)


def test_without_vectormath_loops_that_call_libm_stay():
    assert "reassociable" not in source(strips, X, Y, 0.3, vectormath=False)
    assert "reassociable" in adjit.grad(weighted, wrt=2, vectormath=False).source(X, Y, 0.7, tuned=True)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 31, 64, 257])
def test_sizes(size):
    x = np.sin(np.arange(float(size))) + 1.2
    for function, arguments in ((weighted, (x, x * x, 0.7)), (strips, (x, x * x, 0.3))):
        found = adjit.grad(function, wrt=2)(*arguments)
        wanted = adjit.grad(function, wrt=2, target="python", strategy=CHEAPEST)(*arguments)
        assert found == pytest.approx(wanted, rel=1e-12)
