"""Functions defined inside see the variables around them as they are when they are called."""

import functools
import math
from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check

K = 7.0


def made_before_a_change(x: Any) -> Any:
    k = 2.0

    def make() -> Any:
        return lambda v: v * k

    times = make()
    k = 5.0
    return times(x)


def made_before_and_after_a_change(x: Any) -> Any:
    scale = x

    def make() -> Any:
        s = scale * 2.0
        return lambda v: v * s * scale

    first = make()
    scale = 3.0
    second = make()
    return first(1.0) + second(x)


def three_deep(x: Any) -> Any:
    def outer(a: Any) -> Any:
        def inner(b: Any) -> Any:
            def innermost(c: Any) -> Any:
                return a * b * c * x

            return innermost

        return inner

    return outer(2.0)(x)(4.0)


def made_in_a_loop(x: Any) -> Any:
    functions = []
    for k in (1.0, 2.0, 3.0):
        functions.append(lambda v: v * k)
    return functions[0](x) + functions[1](x * x)


def defined_in_a_loop(x: Any) -> Any:
    functions = []
    for k in (1.0, 2.0):

        def times(v: Any) -> Any:
            return v * k

        functions.append(times)
    k = 10.0
    return functions[0](x)


def made_by_a_function(x: Any) -> Any:
    def times(k: Any) -> Any:
        return lambda v: v * k

    return [times(k) for k in range(3)][1](x)


def given_as_a_default(x: Any) -> Any:
    functions = [lambda v, k=k: v * k for k in (1.0, 2.0)]
    return functions[0](x) + functions[1](x)


def called_in_the_comprehension(x: Any) -> Any:
    return sum(max((lambda t: t * k)(x), k) for k in (0.1, 2.0)) + sum([(lambda v: v * k)(x) for k in (1.0, 2.0)])


def made_in_each_trip(x: Any) -> Any:
    """Loops that are not written out, of which each trip makes its functions."""
    total = 0.0
    for v in np.linspace(0.1, x, 5):

        def scaled(u: Any, v: Any = v) -> Any:
            return u * v

        square = (lambda k: lambda u: u * k * k)(v + total)
        total += scaled(v) + square(x) + functools.partial(math.pow, v)(2.0)
    return total


def used_after_its_loop(x: Any) -> Any:
    """What it reads around it is there after the loop, too."""
    for v in np.linspace(0.1, x, 5):
        w = v * x
        scaled = lambda u, k=x: u * w * k  # noqa: E731
    return scaled(2.0)


RIGHT = (
    made_in_each_trip, used_after_its_loop,
    made_before_a_change, made_before_and_after_a_change, three_deep, made_in_a_loop, defined_in_a_loop,
    made_by_a_function, given_as_a_default, called_in_the_comprehension,
)  # fmt: skip


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_right(function: Any) -> None:
    check(function, lambda: (0.5,), (0,), second=False)


def called_after_the_comprehension(x: Any) -> Any:
    functions = [lambda v: v * K for K in (1.0, 2.0)]
    return functions[0](x)


def with_another_of_its_name_around(x: Any) -> Any:
    k = 10.0
    functions = {k: (lambda v: v * k) for k in (1.0, 2.0)}
    return functions[1.0](x) * k


def made_by_a_function_in_the_comprehension(x: Any) -> Any:
    functions = [(lambda: [lambda v: v * K])()[0] for K in (1.0, 2.0, 4.0)]
    return functions[0](x)


@pytest.mark.parametrize(
    "function",
    [called_after_the_comprehension, with_another_of_its_name_around, made_by_a_function_in_the_comprehension],
    ids=lambda function: function.__name__,
)
def test_refused(function: Any) -> None:
    with pytest.raises(adjit.AdjitError, match="of a comprehension, in a function that is called later"):
        adjit.grad(function, target="python")(0.5)


def default_of_a_trip(x: Any) -> Any:
    for v in np.linspace(0.1, x, 5):
        scaled = lambda u, v=v: u * v  # noqa: E731
    return scaled(2.0)


def closure_of_a_trip(x: Any) -> Any:
    total = 0.0
    for v in np.linspace(0.1, x, 5):
        square = (lambda k: lambda u: u * k * k)(v * x)
        total += square(x)
    return total + square(2.0)


def partial_of_a_trip(x: Any) -> Any:
    for v in np.linspace(0.1, x, 5):
        power = functools.partial(math.pow, v * x)
    return power(2.0)


@pytest.mark.parametrize("function", [default_of_a_trip, closure_of_a_trip, partial_of_a_trip])
def test_of_a_trip(function: Any) -> None:
    with pytest.raises(adjit.AdjitError, match="defined in one iteration of a loop and called in another"):
        adjit.grad(function, target="python")(0.5)
