"""Sums over a loop in one element of a shadow are added up in a variable."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.machine import steps
from adjit.transform.strategy import CHEAPEST


@pytest.fixture(autouse=True)
def _without_lanes(monkeypatch):
    """What is looked at here stands before trips are laid into lanes."""
    monkeypatch.setattr(steps, "lay_lanes", lambda function, values, strategy: function)


X = np.array([0.4, -0.7, 1.3, 0.9])
Y = np.array([1.2, 0.1, 0.7])


def differences(function, arguments, position):
    found = np.zeros_like(arguments[position])
    for place in np.ndindex(found.shape):
        moved = [[a.copy() for a in arguments] for _ in range(2)]
        moved[0][position][place] += 1e-6
        moved[1][position][place] -= 1e-6
        found[place] = (function(*moved[0]) - function(*moved[1])) / 2e-6
    return found


def checked(function, *arguments):
    wrt = tuple(range(len(arguments)))
    derived = adjit.grad(function, wrt=wrt, target="python", strategy=CHEAPEST)
    for position, found in enumerate(derived(*arguments)):
        np.testing.assert_allclose(found, differences(function, arguments, position), rtol=1e-6, atol=1e-8)
    return derived.source(*arguments, tuned=True)


def pairs(x, y):
    total = 0.0
    for i in range(x.size):
        for j in range(y.size):
            total += math.sin(x[i] * y[j])
    return total


def test_the_sum_goes_into_the_element_after_the_loop():
    source = checked(pairs, X, Y)
    assert re.search(r"^            x_bar_sum = reassociable_add\(x_bar_sum, ", source, re.MULTILINE)
    assert re.search(r"^        x_bar\[i\] = x_bar_sum$", source, re.MULTILINE)
    # i is below x.size, so the element is there without a look at the trips
    assert "if y.size > 0" not in source


def parameters(x, y):
    total = 0.0
    for i in range(x.size):
        total += math.sin(x[i] * y[0] + y[1]) + y[0] * y[0] * y[2]
    return total


def test_elements_that_may_not_exist_are_touched_only_if_the_loop_makes_a_trip():
    source = checked(parameters, X, Y)
    assert "if x.size > 0:" in source
    # several additions to one element are one sum
    assert len(set(re.findall(r"y_bar_sum\w*(?= = 0.0)", source))) == 3
    found = adjit.grad(parameters, wrt=1, target="python", strategy=CHEAPEST)(np.empty(0), np.empty(0))
    assert found.size == 0


def triangle(x, y):
    total = 0.0
    for i in range(x.size):
        for j in range(i + 1, x.size):
            total += math.sin(x[i] - x[j]) * y[0]
    return total


def test_other_additions_to_the_same_memory_do_not_matter():
    source = checked(triangle, X, Y)
    assert "x_bar_sum" in source


def recurrence(x, y):
    a = np.zeros(3)
    for i in range(x.size):
        a[0] = math.sin(a[0] + x[i]) * y[1]
        a[1] += a[0] * y[1]
    return a[0] * a[1]


def test_an_element_that_is_read_in_the_loop_stays_in_memory():
    source = checked(recurrence, X, Y)
    assert "a_bar_sum" not in source
    assert "y_bar_sum" in source


def conditional(x, y):
    total = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            total += x[i] * y[0]
    return total


def test_an_addition_in_a_branch_stays_where_it_is():
    assert "y_bar_sum" not in checked(conditional, X, Y)


def values(x):
    s = np.zeros(1)
    for i in range(x.size):
        s[0] += x[i] * x[i]
    return s[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_value_keeps_its_bits(seed):
    x = np.random.default_rng(seed).standard_normal(50)
    value, _ = adjit.value_and_grad(values, target="python", strategy=CHEAPEST)(x)
    assert value == values(x)


def eliminated(x, y):
    """The inner loop of the reverse sweep reads one row of the shadow, and adds to another and to a column."""
    m = x.copy()
    for k in range(m.shape[0]):
        for i in range(k + 1, m.shape[0]):
            m[i, k] = m[i, k] / m[k, k]
            for j in range(k + 1, m.shape[0]):
                m[i, j] -= m[i, k] * m[k, j]
    total = 0.0
    for k in range(m.shape[0]):
        total += math.log(abs(m[k, k])) * y[k]
    return total


def test_other_elements_may_be_read_in_the_loop():
    x = np.array([[4.0, 1.0, 0.5, 0.1], [1.0, 5.0, 0.3, 0.2], [0.4, 0.2, 6.0, 1.0], [0.3, 0.6, 0.7, 4.0]])
    source = checked(eliminated, x, X)
    assert "m_bar_sum" in source
    # what the loop over j adds to m_bar[i, k] goes there after it
    assert re.search(r"for j in .*\n(?:.*\n){3,5} +m_bar_sum (?:[-+]=|= reassociable)", source)


def shifted(x, y):
    """The element that is added to is one of those that are read."""
    m = x.copy()
    for k in range(1, m.shape[0]):
        for j in range(m.shape[1]):
            m[k, j] = m[k, j] * m[k, 1] + y[j]
    return (m * m).sum()


def test_an_element_that_is_among_those_read_stays_in_memory():
    source = checked(shifted, np.sin(np.arange(12.0)).reshape(3, 4) + 1.0, X)
    assert "m_bar_sum" not in source
