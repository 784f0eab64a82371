"""Functions that assign variables around them, called from wherever: each closure has a state of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import adjit
from tests.programs.harness import check

SIGNAL = np.array([1.0, -2.0, 3.0, 0.5])


def smoother(gain):
    state = 0.0

    def process(sample):
        nonlocal state
        state = 0.5 * state + gain * sample
        return state if state < 2.0 else 0.5 * state**2

    return process


def called(function, *args):
    return function(*args)


def comprehension(x):
    process = smoother(x)
    return np.array([process(s) for s in SIGNAL]) @ SIGNAL + process(3.0)


def generator_map_and_key(x):
    first, second = smoother(x), smoother(2.0 * x)
    total = sum(first(s) for s in SIGNAL) + sum(map(second, SIGNAL))
    return total * float(max(SIGNAL, key=first)) + first(1.0) * second(1.0)


def loops_and_branches(x):
    process, other = smoother(x), smoother(x**2)
    total, i = 0.0, 0
    for s in SIGNAL:
        if s > 0.0:
            total += process(s) * other(s)
    while process(1.0) < 1.5 * x and i < 10:
        total, i = total + other(0.1), i + 1
    return total * (process if x > 0.0 else other)(1.0)


def given_to_others(x):
    state, calls = x, 0

    def add(t):
        nonlocal state, calls
        calls += 1
        state = state * t
        return state

    total = called(add, 2.0) + state * called(add, x)
    for s in SIGNAL:
        total += called(add, s) + state
        state = 0.5 * state
    return total * calls + state


def several_of_one_variable(x):
    def meter(scale):
        count, best = 0, scale

        def put(v):
            nonlocal count, best
            count += 0.5
            if v * scale > best:
                best = v * scale
            else:
                return count
            return best

        def reset():
            nonlocal count
            count = 0

        return put, lambda: count * best, reset

    put, reading, reset = meter(x)
    total = sum(put(v) for v in SIGNAL)
    total += reading()
    reset()
    return (total + put(3.0)) * reading()


def kinds_of_state(x):
    def counted(weight):
        last, window, mode = None, np.zeros(3), "up"

        def step(u):
            nonlocal last, window, mode
            change = 0.0 if last is None else u - last
            window = 0.5 * np.roll(window, 1)
            window[0] = u * weight
            last, mode = u * weight, "up" if u > 0.0 else "down"
            return change * window.sum() * (2.0 if mode == "up" else 3.0)

        return step

    step = counted(x)
    return sum(step(u) for u in SIGNAL) + step(x)


def raises(x):
    state = x

    def add(t):
        nonlocal state
        state = 0.5 * state + t * x
        if state > 1.0:
            raise ValueError("much")
        return state

    def tried():
        total = 0.0
        for s in SIGNAL:
            try:
                total += called(add, s)
            except ValueError:
                total += 10.0 * state
        return total

    return tried() * state


def two_deep(x):
    def outer():
        a = 1.0

        def middle():
            nonlocal a

            def inner():
                nonlocal a
                a = a * x
                return a

            a = a + inner()
            return a

        return middle

    middle = outer()
    return sum(middle() for _ in SIGNAL)


@pytest.mark.parametrize(
    "function",
    [
        comprehension,
        generator_map_and_key,
        loops_and_branches,
        given_to_others,
        several_of_one_variable,
        kinds_of_state,
        raises,
        two_deep,
    ],
)
def test_right(function: Any) -> None:
    check(function, lambda: (0.7,), second=False)


def test_compiled() -> None:
    check(comprehension, lambda: (0.7,), target="cpu", second=False)


def counts_steps_of_a_method(x):
    calls = 0

    def residual(t):
        nonlocal calls
        calls += 1
        return t * t - x

    return brentq(residual, 0.1, 3.0) * calls


def counts_points_of_a_rule(x):
    calls = 0

    def density(t):
        nonlocal calls
        calls += 1
        return t * x

    return quad(density, 0.0, 1.0)[0] * calls


def recursive_and_reads(x):
    depth = 0.0

    def visit(y):
        nonlocal depth
        depth += 1.0
        return y if y < 0.5 else depth + visit(0.5 * y) * x

    return visit(40.0 * x) * depth


def recursive_with_its_own(x):
    def visit(y):
        depth = 0.0

        def add(t):
            nonlocal depth
            depth = depth + t
            return depth

        return y if y < 0.5 else called(add, y) + visit(0.5 * y) * x + depth

    return visit(40.0 * x)


def reads_before(x):
    def add(t):
        nonlocal total
        total = total + t
        return total

    found = called(add, x)
    total = 1.0
    return found * total


def under_a_derivative(x):
    process = smoother(x)
    return process(1.0) * adjit.grad(lambda y: process(y))(2.0)


@pytest.mark.parametrize(
    "function, said",
    [
        (counts_steps_of_a_method, "a call of residual from another function; it assigns to the enclosing `calls`"),
        (counts_points_of_a_rule, "a call of density from another function; it assigns to the enclosing `calls`"),
        (recursive_and_reads, "visit, which calls itself and uses `depth`"),
        (recursive_with_its_own, "visit, which calls itself and uses `depth`"),
        (reads_before, "`total`, which an inner function assigns, is read before"),
        (under_a_derivative, "process"),
    ],
)
def test_refused(function: Any, said: str) -> None:
    with pytest.raises(adjit.AdjitError, match=said):
        adjit.grad(function, target="python")(0.7)
