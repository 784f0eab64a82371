"""Decorators: what is called is the wrapper, whatever it says that it wraps."""

import functools
import math

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.rules import registry

X = 1.5


def plus(f):
    @functools.wraps(f)
    def fixed(*a, **k):
        return 2 * f(*a, **k) + a[0]

    return fixed


def repeated(n):
    def decorate(f):
        def run(x):
            for _ in range(n):
                x = f(x)
            return x

        return run

    return decorate


@plus
def outer(x):
    return x * x


@plus
def nest(x):
    return 3 * outer(x)


@plus
@plus
def twice(x):
    return x**3


def calls_alike(x):
    return nest(x) + twice(x)


@repeated(3)
@repeated(2)
def inner(x):
    return 1.1 * x


@repeated(2)
def around(x):
    return inner(x) * x


@plus
def to_a_depth(n, x):
    return x if n == 0 else x * to_a_depth(n - 1, x)


def by_recursion(x):
    return to_a_depth(2, x)


CHAIN = lambda x: x  # noqa: E731
for _ in range(8):
    CHAIN = repeated(1)(CHAIN)


def a_chain(x):
    return CHAIN(x) ** 2


def another(x):
    return 1000.0 * x


def of_another(f):
    def run(x):
        return f(x) + 1

    run.__wrapped__, run.__name__ = another, "another"
    return run


@of_another
def mislabelled(x):
    return x * x


cached = functools.wraps(another)(functools.lru_cache(lambda x: 3 * x))


@functools.wraps(np.mean)
def mean(x):
    return 2 * np.sum(x)


@functools.wraps(math.sin)
def sine(x):
    return 3 * math.sin(x)


class Filter:
    @functools.wraps(math.sin)
    def apply(self, x):
        return 7 * x

    @staticmethod
    @plus
    def shifted(x):
        return x * x


FILTER = Filter()
scaled = functools.partial(lambda k, x: k * x, 5.0)


class Wrapper:
    def __init__(self, f):
        functools.update_wrapper(self, f)

    def __call__(self, x):
        return 4 * x


of_derivative = adjit.grad(lambda x: x**3)
OBJECT = Wrapper(of_derivative)


@functools.wraps(of_derivative)
def around_a_derivative(x):
    return 3 * of_derivative(x)


@functools.wraps(njit(another))
def around_a_dispatcher(x):
    return 5 * x * x


solver = adjit.implicit(lambda x: 2.0 * x, lambda y, x: y - 2.0 * x)


@functools.wraps(solver)
def around_a_solver(x):
    return 3 * solver(x)


def others(x):
    total = mislabelled(x) + cached(x) + mean(np.ones(2) * x) + sine(x) + FILTER.apply(x) + FILTER.shifted(x)
    return total + scaled(x) + OBJECT(x) + around_a_derivative(x) + around_a_dispatcher(x) + around_a_solver(x)


# 2(3(2x² + x)) + x;  2(2x³ + x) + x
PROGRAMS = [
    (calls_alike, 12 * X**2 + 7 * X + 4 * X**3 + 3 * X, 24 * X + 10 + 12 * X**2),
    (around, 1.1**18 * X**4, 4 * 1.1**18 * X**3),
    (by_recursion, 8 * X**3 + 2 * X + 2, 24 * X**2 + 2),
    (a_chain, X * X, 2 * X),
    (mislabelled, X * X + 1, 2 * X),
    (cached, 3 * X, 3.0),
    (sine, 3 * math.sin(X), 3 * math.cos(X)),
    (around_a_derivative, 9 * X**2, 18 * X),
    (around_a_dispatcher, 5 * X**2, 10 * X),
    (around_a_solver, 6 * X, 6.0),
    (others, None, None),
]


@pytest.mark.parametrize(("function", "value", "slope"), PROGRAMS, ids=[f.__name__ for f, _, _ in PROGRAMS])
def test_program(function, value, slope) -> None:
    found, bar = adjit.value_and_grad(function, target="python")(X)
    assert found == pytest.approx(function(X), rel=1e-13)
    if value is not None and slope is not None:
        assert (found, bar) == (pytest.approx(value, rel=1e-13), pytest.approx(slope, rel=1e-13))
    assert bar == pytest.approx((function(X + 1e-5) - function(X - 1e-5)) / 2e-5, rel=1e-8)
    assert adjit.jvp(function, (X,), (1.0,), target="python") == (pytest.approx(found), pytest.approx(bar, rel=1e-13))


def test_compiled() -> None:
    def whole(x):
        return calls_alike(x) + around(x) + by_recursion(x) + a_chain(x) + others(x)

    expected = [pytest.approx(v, rel=1e-13) for v in adjit.value_and_grad(whole, target="python")(X)]
    assert list(adjit.value_and_grad(whole)(X)) == expected
    assert list(adjit.jvp(whole, (X,), (1.0,))) == expected


def test_a_rule_is_that_of_what_is_wrapped(monkeypatch) -> None:
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))
    base = njit(lambda x: x * x)
    adjit.rules.partials(base, lambda x: (50.0,))

    @functools.wraps(base)
    def over(x):
        return 3 * base(x)

    assert adjit.value_and_grad(lambda x: over(x), target="python")(X) == (3 * X * X, 150.0)
