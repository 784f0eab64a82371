"""What is known to be positive, by what it is made of and by tests before it, needs no guard of its root's partial."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit

A = np.array([0.3, 0.7])


def tangent(function):
    """The text of forward mode, of which the tangent that comes in may be zero."""
    return adjit.jacfwd(lambda x: function(x[0])).source(A)


def a_sum_with_one(x):
    return np.sqrt(1.0 + x * x)


def an_even_power_and_more(x):
    return np.sqrt(abs(x) * 2.0 + x**4 + 0.5)


def after_a_test(x):
    if x <= 0.0:
        return 0.0
    return math.sqrt(x)


def after_a_test_from_the_other_side(x):
    y = 0.0
    if x > 1.0 and 0.5 < 2.0 * x:
        y = np.sqrt(x)
    return y


def after_what_ends_it(x):
    if not (x > 0.0):
        raise ValueError("x has to be positive")
    return np.sqrt(x)


def asserted(x):
    assert x >= 0.25
    return np.sqrt(x)


def clipped(x):
    return np.sqrt(max(x, 1e-12))


def chosen(x):
    return np.sqrt(x if x > 0.0 else 1.0)


def not_zero_and_not_negative(x):
    y = x * x
    return 0.0 if y == 0.0 else y**0.5


def a_cosh(x):
    return np.sqrt(np.cosh(x) * 3.0)


def summed_in_a_loop(x):
    total = 0.0
    for k in range(3):
        total += (x - k) ** 2
    return np.sqrt(total + 0.1)


def counted_up(x):
    k, y = 0.0, 1.0
    for _ in range(3):
        k += 1.0
        y *= math.sqrt(k * x**2 + k)
    return y


def elements_that_are_all_positive(x):
    squares = np.zeros((3, 2))
    for i in range(3):
        squares[i] += x * x
    return np.sum(np.sqrt(squares.T + 0.1))


POSITIVE = [
    a_sum_with_one, an_even_power_and_more, after_a_test, after_a_test_from_the_other_side, after_what_ends_it,
    asserted, clipped, chosen, not_zero_and_not_negative, a_cosh, summed_in_a_loop, counted_up,
    elements_that_are_all_positive,
]  # fmt: skip


@pytest.mark.parametrize("function", POSITIVE)
def test_positive(function):
    text = tangent(function)
    assert "isnan" not in text
    # the program's own test, and the comment with it
    assert text.count("== 0.0") == (2 if function is not_zero_and_not_negative else 0)


def elements_that_are_tested(x):
    t = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            t += np.sqrt(x[i])
    return t


def test_elements_of_what_nothing_stores_to():
    assert "isnan" not in adjit.jacfwd(elements_that_are_tested).source(A)


def elements_that_change(x):
    y = x.copy()
    t = 0.0
    for i in range(y.size):
        if y[i] > 0.0:
            y[i] = x[0] - 0.3
            t += np.sqrt(y[i])
    return t


def before_its_test(x):
    y = np.sqrt(x)
    return y + (2.0 * y if x > 0.0 else 0.0)


def on_the_wrong_side(x):
    return np.sqrt(x) if x < 1.0 else x


def not_far_enough(x):
    return np.sqrt(x) if x >= 0.0 else x


def one_of_two(x):
    return np.sqrt(x) if x > 0.0 or x > -1.0 else 0.0


def shifted_down(x):
    return np.sqrt(x * x - 1.0)


def summed_and_subtracted(x):
    total = 1.0
    for k in range(3):
        total += (x - k) ** 2
        if k == 1:
            total -= 0.1
    return np.sqrt(total)


def exchanged_in_a_loop(x):
    total, other = 1.0, x
    for _ in range(3):
        total, other = other, total
    return np.sqrt(total)


def elements_of_which_one_is_not(x):
    squares = np.ones(3)
    row = squares[1:]
    row[0] = x
    return np.sum(np.sqrt(squares))


def counted_down(x):
    k, y = 3.0, 1.0
    while k > -1.0:
        k -= 1.0
        y *= math.sqrt(k * x + 2.0)
    return y


NOT_KNOWN = [
    before_its_test, on_the_wrong_side, not_far_enough, one_of_two, shifted_down, summed_and_subtracted,
    exchanged_in_a_loop, elements_of_which_one_is_not, counted_down,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_KNOWN)
def test_not_known(function):
    assert "isnan" in tangent(function)


def test_elements_that_change_in_between():
    assert "isnan" in adjit.jacfwd(elements_that_change).source(A)
