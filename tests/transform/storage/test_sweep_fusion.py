"""Independent trips: forward and reverse of one trip back to back, and no tape across trips."""

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


def loops(source):
    """The headers of the loops of the outermost level."""
    return re.findall(r"^    for .*:$", source, re.MULTILINE)


def made(function, wrt, *arguments):
    derived = adjit.value_and_grad(function, wrt=wrt, target="python", strategy=CHEAPEST)
    return derived.source(*arguments, tuned=True), derived(*arguments)


def at(function, arguments, position, place, shift):
    moved = [np.array(a, copy=True) if isinstance(a, np.ndarray) else a for a in arguments]
    if place is None:
        moved[position] += shift
    else:
        moved[position][place] += shift
    return function(*moved)


def check(function, wrt, *arguments):
    source, (value, gradients) = made(function, wrt, *arguments)
    assert value == pytest.approx(function(*arguments), rel=1e-14)
    for position, found in zip(wrt, gradients, strict=True):
        for place in np.ndindex(np.shape(found)) if np.ndim(found) else [None]:
            h = 1e-6
            wanted = (at(function, arguments, position, place, h) - at(function, arguments, position, place, -h)) / (
                2 * h
            )
            assert (found if place is None else found[place]) == pytest.approx(wanted, rel=1e-6, abs=1e-8)
    return source


X = np.array([0.4, -0.7, 1.3, 0.9])
W = np.array([1.1, 0.3, -0.8])


def summed(x, a):
    total = 0.0
    for i in range(x.size):
        e = math.exp(a * x[i])
        total += e * e + x[i]
    return total


def test_a_sum_over_samples_is_one_loop_without_a_tape():
    source = check(summed, (0, 1), X, 0.7)
    assert len(loops(source)) == 1
    assert "_tape" not in source


def nonlinear(x, a):
    return math.log(summed(x, a)) * a


def test_the_adjoint_must_be_known_before_the_loop():
    source = check(nonlinear, (0, 1), X, 0.7)
    assert len(loops(source)) == 2


def weighted(x, a):
    return math.exp(-a) * summed(x, a)


def test_a_contribution_that_needs_the_sum_itself_is_added_after_the_loop():
    source = check(weighted, (0, 1), X, 0.7)
    assert len(loops(source)) == 1
    assert "_tape" not in source


def softmax_loss(x, w):
    total = 0.0
    scores = np.empty(w.size)
    for i in range(x.size):
        for k in range(w.size):
            scores[k] = math.sin(w[k] * x[i])
        largest = scores[0]
        for k in range(w.size):
            largest = max(largest, scores[k])
        summed = 0.0
        for k in range(w.size):
            summed += math.exp(scores[k] - largest)
        total += largest + math.log(summed)
    return total / x.size


def test_scratch_that_is_rewritten_in_each_trip_is_private():
    source = check(softmax_loss, (0, 1), X, W)
    assert len(loops(source)) == 1
    # tapes of one trip only
    assert not re.search(r"_tape\w* = np.empty\(\(", source)


def scratch_carried_over(x, w):
    total = 0.0
    scores = np.zeros(w.size)
    for i in range(x.size):
        for k in range(1, w.size):
            scores[k] = math.sin(w[k] * x[i]) * scores[k - 1] + scores[k]
        scores[0] = x[i] * x[i]
        total += scores[2] * scores[1]
    return total


def test_scratch_that_carries_something_over_is_not():
    source = check(scratch_carried_over, (0, 1), X, W)
    assert len(loops(source)) == 2


def recurrence(x, a):
    state, total = a, 0.0
    for i in range(x.size):
        state = state * x[i] + math.sin(state)
        total += state
    return total


def test_a_recurrence_is_not_fused():
    assert len(loops(check(recurrence, (0, 1), X, 0.7))) == 2


def replaced(x, start):
    state, total = start, 0.0
    for i in range(x.size):
        total += state * x[i]
        if x[i] > 0.5:
            state = math.sin(x[i])
    return total


def test_what_some_trips_replace_is_no_sum():
    # only the trips up to the first that replaces it count
    check(replaced, (1,), np.array([0.1, 0.7, 0.3, 0.9]), 0.4)


def used_afterwards(x):
    y = np.empty(x.size)
    total = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i]
        total += y[i]
    for i in range(x.size):
        total += y[i] * y[i - 1]
    return total


def test_what_a_later_loop_reads_of_it_keeps_the_sweeps_apart():
    check(used_afterwards, (0,), X)


def read_and_replaced(x, n):
    """The loop restores what it overwrites: the next trip would read the restored value."""
    x = x.copy()
    total = 0.0
    for i in range(n):
        total += x[0] * x[1]
        x[0] = x[1] * x[2]
    return total


def test_memory_that_is_restored_keeps_the_sweeps_apart():
    check(read_and_replaced, (0,), X, 3)


def empty(x, n):
    total = 1.0
    for i in range(n):
        total += math.exp(x[i])
    return total


def first_element(a):
    c = np.empty_like(a)
    total = 0.0
    for i in range(a.size):
        c[i] = a[i] * a[i]
        total += c[0] * c[i]
    return total


def test_an_array_that_grows_from_trip_to_trip_is_not_a_trips_own():
    check(first_element, (0,), np.array([0.3, 0.5, 0.7]))


def linear_in_what_is_left(x, w):
    """No value of `c` is needed for the gradient, but its adjoint goes from trip to trip."""
    c = np.zeros(3)
    total = 0.0
    for i in range(x.size):
        total += 2.0 * c[0] + 3.0 * c[1]
        c[0] = w[0] * x[i]
        c[1] = c[0] * w[1]
    return total + c[1]


def test_the_adjoint_of_what_a_trip_leaves_goes_to_the_next():
    check(linear_in_what_is_left, (0, 1), X, W)


def test_no_trips():
    source, (value, (found,)) = made(empty, (0,), X, 0)
    assert value == 1.0
    np.testing.assert_array_equal(found, np.zeros(4))


def replaced_unless(y, u):
    """The adjoint of `a` is reset in a trip: the loop and its mirror stay apart."""
    a = y
    for i in range(3, -1, -1):
        if 0 <= i < 3:
            continue
        a = math.exp(0.3)
    u[2] = a
    return y + abs(0.2 * u[-1:-5:-1].sum() - 0.31) + np.sum(u * 0.3)


def test_an_adjoint_that_is_reset_is_not_a_sum():
    u = np.array([0.8, 0.9, 0.3, -0.5, -0.9])
    y_bar, u_bar = adjit.grad(replaced_unless, (0, 1), target="python", strategy=CHEAPEST)(-0.47, u)
    assert y_bar == 1.0
    np.testing.assert_allclose(u_bar, [0.3, 0.1, 0.0, 0.1, 0.1])


def of_no_elements_unless(a, is_made):
    r = np.empty((0, 0))
    if is_made:
        r = np.ones_like(a)
    return np.sum(a) + np.sum(r)


@pytest.mark.parametrize("is_made", [False, True])
def test_an_array_that_a_branch_hands_on_keeps_its_axes(is_made):
    a = np.full((2, 3), 0.5)
    value, a_bar = adjit.value_and_grad(of_no_elements_unless, target="python")(a, is_made)
    assert value == of_no_elements_unless(a, is_made)
    np.testing.assert_array_equal(a_bar, np.ones((2, 3)))
