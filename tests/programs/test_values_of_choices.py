"""`and` and `or` give one of their values, parts of lists as targets; lists and tuples looked into."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjit


def bool_and_number(x):
    return (x[0] > 0.0 and x[0] * x[1]) + (x[1] > 5.0 and x[2] or x[1] ** 2)


def bool_or_number(x):
    return (x[0] < 0.0 or x[2] * x[1]) * 2.0


def maybe(x):
    found = None
    for v in x:
        if v > 0.5:
            found = v * v
    return (found or x[0]) * x[1]


def part_replaced(x):
    a = [x[0], x[1], x[2], 1.0]
    a[1:3] = [x[2] * 2.0]
    return a[0] * a[1] + a[2] + len(a)


def part_of_growing(x):
    a = []
    for v in x:
        a.append(v * v)
    a[1:2] = [x[0], x[1]]
    del a[0:1]
    return a[0] * a[1] + sum(a)


def nothing_deleted(x):
    a = []
    for v in x:
        a.append(v * v)
    del a[2:1]
    return sum(a) * len(a)


def looked_into(x):
    a = [x[0], x[1], x[2]]
    a.remove(x[1])
    return a[a.index(x[2])] * 2.0 + a.count(x[0]) * a[0] ** 2


def items_sorted(x):
    d = {"b": x[0], "a": x[1] ** 2, "c": x[2]}
    return sum((k + 1) * v for k, (name, v) in enumerate(sorted(d.items())))


def remainders(x):
    return math.fmod(x[0] * 7.0, 2.0) + x[1] * np.finfo(float).eps + np.finfo(x.dtype).max * 0.0


def diagonal(x):
    A = np.outer(x, x)
    np.fill_diagonal(A, x**3)
    return np.sum(A * np.arange(9.0).reshape(3, 3))


PROGRAMS = [
    bool_and_number, bool_or_number, maybe, part_replaced, part_of_growing, nothing_deleted, looked_into,
    items_sorted, remainders, diagonal,
]  # fmt: skip
POINTS = np.array([[0.31, 0.72, 1.13], [-0.41, 0.93, 0.67], [0.11, 0.27, 0.45]])


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function: Any) -> None:
    derived = adjit.value_and_grad(function, target="python")
    for x in POINTS:
        value, gradient = derived(x)
        assert value == pytest.approx(float(function(x)), rel=1e-13)
        wanted = [(function(x + 1e-6 * unit) - function(x - 1e-6 * unit)) / 2e-6 for unit in np.eye(x.size)]
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)


def test_compiled() -> None:
    for x in POINTS:
        np.testing.assert_allclose(adjit.grad(bool_and_number)(x), adjit.grad(bool_and_number, target="python")(x))


def texts(x):
    which = x[0] > 0.2 and "square" or "cube"
    return x[1] ** 2 if which == "square" else x[1] ** 3


def lists(x):
    which = x[0] > 0.2 and [x[1], x[2]] or [x[2], x[1]]
    return which[0] * 3.0 + which[1] ** 2


@pytest.mark.parametrize("function", [texts, lists])
def test_of_other_kinds_is_refused(function: Any) -> None:
    with pytest.raises(adjit.AdjitError, match="write it with `if`"):
        adjit.grad(function, target="python")(POINTS[0])
