"""Arrays that loops carry: of known extents where trips leave these, and of others where they do not; and what
recursive functions loop over."""

import functools
import math

import numpy as np
import pytest

import adjit

X = np.array([0.5, 1.5, -0.7])


def longer_each_trip(x):
    y = np.array([x[0], x[1]])
    for k in range(3):
        y = np.append(y, x[2] * k)
    return np.sum(y * np.arange(y.size)) * len(y)


def shorter_under_a_condition(x):
    y = np.array([x[0], x[1], x[2], 2.0])
    while np.sum(y) > -1.0 and len(y) > 1:
        y = y[1:] if y[0] > 0 else y[:-1] * 0.5
    return np.sum(y) * y.size + x[0]


def lengths_that_change_places(x):
    a, b = np.array([x[0], x[1]]), np.array([x[2], 1.0, 3.0])
    for _ in range(3):
        a, b = b * x[0], a
    return a.size * np.sum(a) + np.sum(b) / b.size


def left_early(x):
    y, z = np.array([x[0], 1.0]), np.zeros(2)
    for k in range(5):
        if k == 2:
            z = np.array([x[1], x[2], 3.0])
            break
        y = y * x[1]
        z = z + y
    return z.size * np.sum(z) + np.hypot(*y)


def one_of_two_axes(x):
    m = np.array([[x[0], x[1]], [x[2], 1.0]])
    for _ in range(2):
        m = np.vstack((m, m[:1] * x[0]))
    first, *others = m[0] * x[1]
    return m.shape[0] * m.shape[1] * np.sum(m) + first * others[0]


def nested_loops(x):
    y = np.array([x[0], x[1]])
    for i in range(2):
        z = y * 1.0
        for j in range(i + 1):
            z = np.append(z, x[2])
        y = z[-2:] * x[0]
    return np.sum(y) + z.size * z[0]


def of_other_kinds(x):
    y = (x[0], np.array([x[1], x[2]]))
    for k in range(3):
        t, v = y
        y = (t + 0.1, np.array([*v]) * t)
    return np.sum(y[1]) * y[0]


def memoised(x, horizon=3):
    chances = {1: 0.3, 2: 0.7}

    @functools.lru_cache(maxsize=None)
    def best(t, stock):
        if t == horizon:
            return x[2] * stock
        found = math.inf
        for order in chances:
            cost = 0.2 * order
            for k, (p, q) in enumerate(zip(x, [2, 1, 0]), 1):
                cost += p * p * (stock + q - order) ** 2 * k + 0.1 * best(t + 1, abs(stock - order) % 3)
            found = min(found, cost * chances[order])
        return found

    return best(0, 1)


def of_a_tree(x):
    children = {0: [1, 2], 1: [3], 2: [], 3: []}

    def weight(node):
        total = x[node % 3]
        for place, child in enumerate(children[node]):
            total += np.sin(weight(child)) * (place + 1)
        return total

    return weight(0)


def in_rows(x):
    m = np.outer(x, x)

    def deep(t, depth):
        if depth == 0:
            return t
        for row, w in zip(m, x):
            t = t + 0.1 * w * deep(row[0] * t, depth - 1)
        return t

    return deep(x[1], int(2 + x[0]))


PROGRAMS = [
    longer_each_trip, shorter_under_a_condition, lengths_that_change_places, left_early, one_of_two_axes, nested_loops,
    of_other_kinds, memoised, of_a_tree, in_rows,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), rel=1e-13)
    steps = np.eye(3) * 1e-5
    np.testing.assert_allclose(bar, [(function(X + h) - function(X - h)) / 2e-5 for h in steps], rtol=1e-7, atol=1e-8)
