"""Functions that are checkpointed: calls made again in the reverse sweep, of which only the arguments are kept."""

from __future__ import annotations

import math
import re

import numba
import numpy as np
import pytest

import adjit
from adjit import checkpoint
from adjit.transform.strategy import CHEAPEST

W = 0.7 * np.eye(3) + 0.1
X = np.array([0.1, 0.2, 0.3])
U = np.sin(np.arange(5.0)) + 1.5


@numba.njit
def layer(weights, x):
    hidden = np.tanh(weights @ x)
    return np.tanh(weights @ hidden)


def network(weights, x, n):
    for _ in range(n):
        x = checkpoint(layer)(weights, x)
    return np.sum(x * x)


def without(weights, x, n):
    for _ in range(n):
        x = layer(weights, x)
    return np.sum(x * x)


@checkpoint
@numba.njit
def decorated(weights, x):
    return np.tanh(weights @ x)


def by_decorator(weights, x, n):
    for _ in range(n):
        x = decorated(weights, x) + x
    return np.sum(x * x)


@numba.njit
def step(x, u, h):
    y = x
    for i in range(u.size):
        y = y + h * np.sin(y * u[i])
    return y, 2.0 * y


def numbers(x, u, h, n):
    total = 0.0
    for _ in range(n):
        x, twice = checkpoint(step)(x, u, h)
        total += twice
    return x + total


def in_place(u, h):
    for i in range(u.size):
        u[i] = u[i] + h * np.sin(u[i] * u[i - 1])


def writes(u, h, n):
    checkpoint(in_place)(u, h)
    first = np.sum(u * u)
    checkpoint(in_place)(u, h * first)
    return first * np.sum(u * u)


def writes_in_a_loop(u, h, n):
    total = 0.0
    for t in range(n):
        total += np.sin(u[0] * u[1])
        checkpoint(in_place)(u, h)
        total += np.sum(u * u)
        if t % 2 == 0:
            checkpoint(in_place)(u, h * total)
    return total


def written_afterwards(weights, x):
    y = checkpoint(layer)(weights, x)
    y[0] = y[1] * x[0]
    return np.sum(y * y)


def several(weights, x):
    def inner(a):
        v = np.exp(a)
        return v, np.sum(v), (v * 2.0, a[0])

    y, total, (z, first) = checkpoint(inner)(weights @ x)
    return total * np.sum(y * z) + first


@checkpoint
def outer(weights, x):
    return checkpoint(layer)(weights, x) + x


def nested(weights, x):
    return np.sum(outer(weights, outer(weights, x)))


def in_a_checkpointed_loop(weights, x, n):
    for _ in checkpoint(range(n)):
        x[:] = checkpoint(layer)(weights, x)
    return np.sum(x)


def left_early(x, n):
    def inner(a):
        for _ in range(n):
            a = np.sin(a) + a * a
            if a > 3.0:
                break
        return a

    total = 0.0
    for t in range(n):
        total += checkpoint(inner)(x * t)
    return total


def a_lambda(x, u):
    k = 2.0 * x
    total = checkpoint(lambda a: np.sum(np.exp(a * k * u) * np.sin(a * u)))(x)
    return total**2


PROGRAMS = [
    (network, (W, X, 3), (0, 1)),
    (by_decorator, (W, X, 3), (0, 1)),
    (numbers, (0.3, U, 0.1, 4), (0, 1, 2)),
    (writes, (0.3 * U, 0.05, 0), (0, 1)),
    (writes_in_a_loop, (0.3 * U, 0.05, 3), (0, 1)),
    (written_afterwards, (W, X), (0, 1)),
    (several, (W, X), (0, 1)),
    (nested, (W, X), (0, 1)),
    (in_a_checkpointed_loop, (W, X, 5), (0, 1)),
    (left_early, (0.4, 5), (0,)),
    (a_lambda, (0.3, U), (0, 1)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("function", "arguments", "wrt"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_programs(function, arguments, wrt):
    adjit.check_grads(function, arguments, wrt=wrt, target="python", strategy=CHEAPEST)


@pytest.mark.parametrize(("function", "arguments"), [(network, (W, X, 3)), (writes_in_a_loop, (U, 0.1, 3))])
def test_compiled(function, arguments):
    wanted = adjit.grad(function, wrt=(0, 1), target="python", strategy=CHEAPEST)(*arguments)
    for found, right in zip(adjit.grad(function, wrt=(0, 1))(*arguments), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)
    _, pullback = adjit.vjp(function, *arguments)
    for _ in range(2):
        for found, right in zip(pullback(1.0), wanted, strict=False):
            np.testing.assert_allclose(found, right, rtol=1e-12)


def test_only_the_arguments_are_kept():
    kept = adjit.grad(network, wrt=(0, 1)).source(W, X, 3, tuned=True)
    assert re.findall(r"(\w+_tape\w*) = ", kept) == ["x_tape"]
    every_trip = adjit.grad(without, wrt=(0, 1)).source(W, X, 3, tuned=True)
    assert set(re.findall(r"(\w+_tape\w*) = ", every_trip)) == {"tanh_tape", "x_tape"}
    # each product of the call is made twice: on the way forward, and on the way back
    assert len(re.findall(r"= W @|= weights @", kept)) == 4


def test_the_call_is_no_loop_in_any_derivative():
    assert "once" not in adjit.grad(several, wrt=(0, 1)).source(W, X, tuned=True)
    assert "once" not in adjit.jacfwd(several).source(W, X, tuned=True)
    value, _ = adjit.jvp(several, (W, X), (W, X))
    assert value == pytest.approx(several(W, X))


def test_a_branch_that_is_not_taken_makes_no_call():
    def chosen(x, n):
        y = x
        if n > 2:
            y = checkpoint(math.sin)(x) * x
        return y

    assert adjit.grad(chosen)(0.5, 1) == 1.0
    assert adjit.grad(chosen)(0.5, 3) == pytest.approx(math.cos(0.5) * 0.5 + math.sin(0.5))


def test_a_checkpoint_makes_no_difference_to_the_function():
    assert decorated.__name__ == "decorated"
    np.testing.assert_array_equal(decorated(W, X), np.tanh(W @ X))
    assert numba.njit(by_decorator)(W, X, 2) == pytest.approx(by_decorator(W, X, 2))
    assert numba.njit(network)(W, X, 2) == pytest.approx(without(W, X, 2))
    # the derivative of the function itself is what it was
    assert adjit.grad(checkpoint(math_of))(0.5) == pytest.approx(math.cos(0.5))


def math_of(x):
    return math.sin(x)


def test_explained():
    text = str(adjit.grad(network, wrt=(0, 1)).explain(W, X, 3))
    assert re.search(r"checkpoint\(layer\)\(weights, x\)\s+recomputed", text)
    assert re.search(r"hidden .* recomputed, with the call of L29", text)


def draws(x):
    return checkpoint(lambda a: a * np.random.random())(x)


def returns_its_argument(x):
    return np.sum(checkpoint(lambda a: a)(x))


def returns_a_view(x):
    return np.sum(checkpoint(lambda a: a[1:])(x))


def with_a_number(x):
    return checkpoint(math_of, 3)(x)


@pytest.mark.parametrize(
    ("function", "argument", "why"),
    [
        (draws, 0.5, "random"),
        (returns_its_argument, U, "an array from outside"),
        (returns_a_view, U, "an array from outside"),
        (with_a_number, 0.5, "neither a range nor a function"),
    ],
)
def test_refusals(function, argument, why):
    with pytest.raises(adjit.Unsupported, match=why) as fault:
        adjit.grad(function, target="python", strategy=CHEAPEST)(argument)
    assert "test_checkpointed_calls.py" in str(fault.value)


def test_snapshots_of_a_call():
    with pytest.raises(adjit.AdjitError, match="snapshots of a call"):
        checkpoint(math_of, 3)
