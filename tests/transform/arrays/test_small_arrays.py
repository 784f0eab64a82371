"""Small arrays as numbers, and the uses that keep them arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import adjit
from adjit.transform import ir, pipeline
from tests.programs.harness import check

F, I = types.float64, types.intp


def arrays(function, *arg_types):
    return sum(isinstance(op, ir.Alloc | ir.Copy) for op in ir.walk(pipeline.primal(function, arg_types).body))


def rate(state, a):
    return np.array([a * state[1], -state[0]])


def steps(x, y, h, n):
    state = np.array([x, y])
    for _ in range(n):
        k = rate(state, 0.9)
        state = state + h * rate(state + 0.5 * h * k, 0.9)
    return np.sum(state * state) + state[-1]


def chosen(x, n):
    m = np.array([[x, 1.0], [0.5, x]])
    if n > 1:
        m = m * 2.0
    return m[0, 0] * m[1, -1] - m[0, 1]


def copied(x, n):
    a = np.array([x, x * x])
    b = a.copy()
    a[0] = 3.0
    b[1] += x
    return np.sum(a * b) * n


def until(x, n):
    v = np.zeros(2)
    v[0] = x
    k = 0
    while v[0] < 5.0 and k < n:
        v = np.array([v[0] * 1.5, v[1] + v[0]])
        k += 1
    return v[1]


@pytest.mark.parametrize("function", [chosen, copied, until])
def test_numbers_instead(function):
    assert arrays(function, F, I) == 0
    check(function, lambda: (0.6, 3), (0,))


def test_state_vectors():
    assert arrays(steps, F, F, F, I) == 0
    check(steps, lambda: (0.7, 0.2, 0.1, 4), (0, 1, 2))
    source = adjit.grad(steps).source(0.1, 0.2, 0.1, 4, tuned=True)
    assert "state_0" in source
    assert "np.empty(2)" not in source


def six_steps(x, y, h, n):
    state = np.array([x, y])
    for _ in range(6):
        k = rate(state, 0.9)
        m = rate(state + 0.5 * h * k, 0.9)
        state = state + h * (k + 2.0 * m + rate(state + h * m, 0.9)) / 4.0
    return np.sum(state * state) + n


def test_few_steps_in_time_stay_a_loop():
    function = pipeline.primal(six_steps, (F, F, F, I))
    assert arrays(six_steps, F, F, F, I) == 0
    assert sum(isinstance(op, ir.For) for op in ir.walk(function.body)) == 1
    check(six_steps, lambda: (0.7, 0.2, 0.1, 4), (0, 1, 2))


def stored_later(x, n):
    a = np.array([x, 1.0])
    b = a
    for _ in range(n):
        a[0] = a[0] * 1.1
        b = a
    return b[0] + a[1]


def second_name(x, n):
    a = np.array([x, 1.0])
    b = np.array([2.0, x])
    for _ in range(n):
        a, b = b, a
        a[0] = 2.0 * b[1]
    return a[0] * b[0] + a[1]


def returned(x, n):
    return np.array([x * x, n * x])


def unknown_place(x, n):
    a = np.array([x, 1.0, x * x])
    return a[n % 3] * a[0]


def sorted_out(x, n):
    a = np.array([x, 1.0 - x, 0.1 * n])
    return np.sort(a)[1]


def large(x, n):
    a = np.zeros(40)
    a[n] = x
    return np.sum(a * a)


@pytest.mark.parametrize("function", [stored_later, second_name, returned, unknown_place, sorted_out, large])
def test_arrays_stay(function):
    assert arrays(function, F, I) > 0
    check(function, lambda: (0.6, 3), (0,))
