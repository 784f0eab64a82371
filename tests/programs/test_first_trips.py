"""Variables that are of another type in the first trip of a loop than later: that trip stands before the loop."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError

X = np.array([1.0, 2.0, 3.0])


def a_step_that_begins_as_a_number(x):
    k, step = x / 9.81, 1.0
    while np.max(np.abs(step)) > 1e-13:
        step = (k * np.tanh(k) - x) / (np.tanh(k) + k / np.cosh(k) ** 2)
        k = k - step
    return np.sum(k**2)


def two_that_begin_as_numbers(x):
    last, before, total = 0.0, 0.0, 0.0
    for i in range(200):
        now = 0.3 * x * math.cos(0.1 * i) - 0.2 * last + 0.1 * before
        total += np.sum(now * now)
        before, last = last, now
    return total


def read_after_the_loop_alone(x):
    y = 0.0
    for i in range(100):
        y = x * i
        if i > 50 and x[0] > 100:
            break
    return np.sum(y * y)


def of_so_many_trips(x, n):
    y, total = 0.0, 0.0
    for _ in range(n):
        y = 0.5 * y + x
        total += np.sum(y)
    return total


def read_after_so_many_trips(x, n):
    y = 0.0
    for _ in range(n):
        y = 0.5 * y + x
    return np.sum(y)


def items_of_a_list(x):
    held, total = [0.0, 0.0], 0.0
    for _ in range(100):
        held = [0.5 * held[1] + x, held[0]]
        total += np.sum(held[0] * held[0])
    return total


def an_item_of_a_dictionary(x):
    held = {"p": 0.0, "q": 2.0}
    for _ in range(80):
        held["p"] = held["p"] * 0.5 + x
    return np.sum(held["p"]) * held["q"]


class State:
    def __init__(self):
        self.level, self.trips = 0.0, 0


def an_attribute_of_an_object(x):
    state = State()
    for _ in range(75):
        state.level = state.level * 0.5 + x
        state.trips += 1
    return np.sum(state.level**2) + state.trips


def skipped_broken_and_else(x):
    y = 1.0
    for i in range(80):
        y = y * 0.9 + x * 0.1
        if np.sum(y) > 1e9:
            break
        if i % 2:
            continue
        y = y * 1.01
    else:
        return np.sum(y * y)
    return 0.0


def left_in_the_first_trip(x, n):
    y = 1.0
    for i in range(100):
        y = y * 0.9 + x * 0.1
        if i == n:
            break
        y = y * x
    return np.sum(y**3)


def returned_from(x, n):
    y = 1.0
    for i in range(100):
        y = y * 0.9 + x * 0.1
        if i >= n:
            return np.sum(y**3)
    return 0.0


def an_array_of_another_rank(x):
    y = np.zeros(3)
    for v in x:
        y = np.outer(y.ravel()[:3], y.ravel()[:3]) + v
    return np.sum(y)


def in_another_loop(x):
    total = 0.0
    for i in range(70):
        y = 0.0
        for j in range(i):
            y = 0.5 * y + x * j
            total += 0.01 * np.sum(y)
    return total


CASES = [
    (a_step_that_begins_as_a_number,), (two_that_begin_as_numbers,), (read_after_the_loop_alone,),
    (of_so_many_trips, 0), (of_so_many_trips, 7), (read_after_so_many_trips, 0), (read_after_so_many_trips, 7),
    (items_of_a_list,), (an_item_of_a_dictionary,), (an_attribute_of_an_object,), (skipped_broken_and_else,),
    (left_in_the_first_trip, 0), (left_in_the_first_trip, 3),
    (returned_from, 0), (returned_from, 70), (an_array_of_another_rank,), (in_another_loop,),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(getattr(c, "__name__", c)) for c in case))
def test_gradient(case):
    function, *rest = case
    value, bar = adjit.value_and_grad(function, target="python")(X, *rest)
    assert value == pytest.approx(function(X, *rest), rel=1e-12)
    steps = np.eye(3) * 1e-6
    wanted = [(function(X + h, *rest) - function(X - h, *rest)) / 2e-6 for h in steps]
    np.testing.assert_allclose(bar, wanted, rtol=1e-6, atol=1e-7)


def test_it_stands_there_once():
    text = adjit.grad(of_so_many_trips, target="python").source(X, 7)
    (function,) = ast.parse(text).body
    forward = [node for node in ast.walk(function) if isinstance(node, ast.For) and "range(1, n)" in ast.unparse(node)]
    assert len(forward) == 1


def one_that_settles_never(x):
    y, total = x, 0.0
    for _ in range(100):
        total += np.sum(y)
        y = np.stack([y, y])
    return total


def test_what_is_of_another_type_in_each_trip_is_refused():
    with pytest.raises(AdjitError, match="the type of `y` depends on the path taken"):
        adjit.grad(one_that_settles_never, target="python")(X)
