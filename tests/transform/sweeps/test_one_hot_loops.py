"""Loops of the reverse sweep of which one trip alone adds anything are that trip, and others stay."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import adjit
from adjit.transform import ir
from adjit.transform.ir.verify import verify
from adjit.transform.strategy import CHEAPEST, Strategy
from adjit.transform.sweeps.one_hot_loops import take_single_trips
from tests.transform.building import VECTOR, F, I, Program
from tests.transform.interpreter import run

WITHOUT = Strategy(without=frozenset({"single"}))
X = np.random.default_rng(8).normal(size=24)


def greatest(x, b):
    most = x[0]
    for i in range(1, x.size):
        most = max(most, x[i])
    return most * b


def scaled(x, b):
    """A number outside takes part in each trip."""
    least = 2.0
    for i in range(x.size):
        least = min(least, -(b * x[i]) / 3.0)
    return least * least


def both_ends(x, b):
    """Two trips of one loop, which may be the same one."""
    low, high = 1e30, -1e30
    for i in range(x.size):
        low = min(low, x[i])
        high = max(high, x[i])
    return high * b - low


def of_rows(x, b):
    """How many trips there are, and whether there are any, differs from row to row."""
    total = 0.0
    for i in range(x.size):
        most = 0.1
        for j in range(i):
            most = max(most, x[j] * b)
        total += most * x[i]
    return total


SINGLE = [greatest, scaled, both_ends, of_rows]


@pytest.mark.parametrize("function", SINGLE, ids=lambda f: f.__name__)
def test_one_trip(function):
    one, all_trips = (adjit.value_and_grad(function, wrt=(0, 1), strategy=s) for s in (CHEAPEST, WITHOUT))
    for x in (X, X[:1], X[:2], -X, np.abs(X), np.zeros(3)):
        value, (x_bar, b_bar) = one(x, 0.7)
        wanted, (x_wanted, b_wanted) = all_trips(x, 0.7)
        assert value == pytest.approx(wanted, rel=1e-13)
        np.testing.assert_allclose(x_bar, x_wanted, rtol=1e-13)
        assert b_bar == pytest.approx(b_wanted, rel=1e-13)
    assert one.source(X, 0.7).count("for ") < all_trips.source(X, 0.7).count("for ")


@pytest.mark.parametrize("function", SINGLE, ids=lambda f: f.__name__)
def test_its_derivatives(function):
    adjit.check_grads(function, (X, 0.7), order=2)


def test_what_is_known_of_the_number():
    """That it is of some trip is asked alone where the loop found it itself."""
    assert "if most_place >= 1:" in adjit.grad(greatest).source(X, 0.7)
    assert "if (most_place >= 0) & (most_place < i):" in adjit.grad(of_rows).source(X, 0.7)


def test_it_is_told_of():
    table = str(adjit.grad(greatest).explain(X, 0.7))
    told = "forward loop, then one reverse iteration: no other iteration contributes to an adjoint"
    assert told in " ".join(table.split())


def test_nothing_comes_of_other_trips():
    x, w = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, -np.inf])

    def weighted(x, w):
        most = -1e300
        for i in range(x.size):
            most = max(most, x[i] * w[i])
        return most

    assert adjit.grad(weighted)(x, w).tolist() == [0.0, 5.0, 0.0]


# ---------------------------------------------------------------------------------------------- what stays as it is


def beside(x, b):
    """The loop adds something in each trip."""
    most, total = 0.0, 0.0
    for i in range(x.size):
        most = max(most, x[i])
        total += x[i] * x[i]
    return most * total * b


def through_an_array(x, b):
    """What is chosen goes on to elements that other trips have added to."""
    y = x * b
    most = y[0]
    for i in range(1, x.size):
        y[i] = y[i] * y[i - 1]
        most = max(most, y[i])
    return most


def carried(x, b):
    """What is chosen goes through all trips before it."""
    most, y = 0.0, b
    for i in range(x.size):
        y = math.sin(y + x[i])
        most = max(most, y)
    return most


@pytest.mark.parametrize("function", [beside, through_an_array, carried], ids=lambda f: f.__name__)
def test_loops_that_stay(function):
    one, all_trips = (adjit.value_and_grad(function, wrt=(0, 1), strategy=s) for s in (CHEAPEST, WITHOUT))
    assert one.source(X, 0.7) == all_trips.source(X, 0.7)
    adjit.check_grads(function, (X, 0.7))


def one_loop(body):
    """A function of x and y, which are added to, of numbers of trips and a factor, around such a loop."""
    p = Program(x=VECTOR, y=VECTOR, i=I, k=I, b=F)

    def step(counter, total):
        def chosen(place, value):
            return p.do(ir.select, p.do(operator.eq, counter, place), value, 0.0, type=F)

        return [body(p, counter, total, chosen)]

    args = [ir.Var("total", F)]
    (total,) = p.fold(ir.integer(6), "j", [ir.Const(0.5, F)], args, step)
    return p.function(total)


def two_places(p, j, total, chosen):
    one, other = chosen(p["i"], p["b"]), chosen(p["k"], 3.0)
    p.store(p["x"], (j,), p.do(np.subtract, one, p.do(operator.mul, other, p["b"])), add=True)
    p.store(p["y"], (j,), p.do(np.add, p.do(operator.neg, other), other), add=True)
    return p.do(operator.sub, total, p.do(operator.truediv, other, p["b"]))


def chosen_twice(p, j, total, chosen):
    p.store(p["x"], (j,), chosen(p["i"], chosen(p["k"], p["b"])), add=True)
    return total


def chosen_of_a_sum(p, j, total, chosen):
    p.store(p["x"], (j,), chosen(p["i"], total), add=True)
    return p.do(operator.add, total, chosen(p["k"], p["b"]))


def chosen_times_chosen(p, j, total, chosen):
    p.store(p["x"], (j,), p.do(operator.mul, chosen(p["i"], p["b"]), chosen(p["k"], p["b"])), add=True)
    return total


@pytest.mark.parametrize("i", range(-1, 7))
def test_places_that_may_be_the_same(i):
    function = one_loop(two_places)
    made = take_single_trips(function)
    verify(made)
    assert not any(isinstance(op, ir.For) for op in made.body.ops)
    for k in range(-1, 7):
        results = []
        for program in (function, made):
            x, y = np.arange(6.0), np.arange(6.0)
            results += [x, y, run(program, x, y, i, k, 1.25)]
        for found, wanted in zip(results[3:], results[:3], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("body", [chosen_twice, chosen_of_a_sum, chosen_times_chosen], ids=lambda f: f.__name__)
def test_choices_that_depend_on_each_other(body):
    function = one_loop(body)
    assert take_single_trips(function) is function
