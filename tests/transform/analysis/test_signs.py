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


POSITIVE = [
    a_sum_with_one, an_even_power_and_more, after_a_test, after_a_test_from_the_other_side, after_what_ends_it,
    asserted, clipped, chosen, not_zero_and_not_negative, a_cosh,
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


@pytest.mark.parametrize("function", [before_its_test, on_the_wrong_side, not_far_enough, one_of_two, shifted_down])
def test_not_known(function):
    assert "isnan" in tangent(function)


def test_elements_that_change_in_between():
    assert "isnan" in adjit.jacfwd(elements_that_change).source(A)
