"""Handlers that only raise: they change no value, and what is raised is what they make of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import adjit
from tests.programs.harness import check


class NoRoot(Exception):
    """There is none where it was looked for."""


def root(x):
    try:
        t = brentq(lambda t: t * t - x, 0.0, 3.0, xtol=1e-14, rtol=1e-14)
    except ValueError as err:
        raise NoRoot(f"no root for {x:.3f}") from err
    else:
        return t * x


def root_again(x):
    try:
        return brentq(lambda t: t * t - x, 0.0, 3.0, xtol=1e-14, rtol=1e-14) * x
    except ValueError:
        print("none")
        raise


def several(x):
    try:
        if x > 50.0:
            raise KeyError("far")
        ratio = math.log(x + 1.0) / x
    except KeyError:
        ratio = 2.0 * x
    except ZeroDivisionError as err:
        if x > 0.0:
            raise NoRoot("no ratio") from err
        else:
            raise ValueError("nothing") from err
    return ratio * x


def in_a_loop(x):
    total = 0.0
    for k in range(1, 4):
        total += root(x * k)
    return total


@pytest.mark.parametrize("function", [root, root_again, several, in_a_loop])
def test_right(function: Any) -> None:
    check(function, lambda: (1.3,), second=False)


def test_compiled() -> None:
    check(in_a_loop, lambda: (1.3,), target="cpu", second=False)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("function, error", [(root, NoRoot), (root_again, ValueError), (in_a_loop, NoRoot)])
def test_raises(function: Any, error: type[Exception], target: str) -> None:
    with pytest.raises(error):
        function(20.0)
    with pytest.raises(error) as found:
        adjit.grad(function, target=target)(20.0)
    assert type(found.value) is error


def test_of_its_own(capsys: Any) -> None:
    """What the body raises itself goes through the handler, too."""
    gradient = adjit.grad(several, target="python")
    assert gradient(60.0) == pytest.approx(4.0 * 60.0)


def caught_around(x):
    try:
        try:
            ratio = 1.0 / x
        except ZeroDivisionError as err:
            raise NoRoot("none") from err
    except NoRoot:
        ratio = 3.0
    return ratio


def caught_by_a_caller(x):
    try:
        found = root(x)
    except NoRoot:
        found = 3.0
    return found


def returns_at_times(x):
    try:
        ratio = 1.0 / x
    except ZeroDivisionError as err:
        if x > -1.0:
            return 0.0
        raise NoRoot("none") from err
    return ratio


def of_lapack(x):
    try:
        found = np.linalg.solve(np.eye(2) * x, np.ones(2)).sum()
    except np.linalg.LinAlgError as err:
        raise NoRoot("singular") from err
    return found


def of_a_variable(x):
    try:
        ratio = 1.0 / x
    except ZeroDivisionError:
        error = NoRoot("none")
        raise error from None
    return ratio


def of_two_kinds(x):
    try:
        found = brentq(lambda t: t * t - x, 0.0, 3.0)
    except ValueError as err:
        if x > 0.0:
            raise NoRoot("none") from err
        raise
    return found


@pytest.mark.parametrize(
    "function", [caught_around, caught_by_a_caller, returns_at_times, of_lapack, of_a_variable, of_two_kinds]
)
def test_refused(function: Any) -> None:
    with pytest.raises(adjit.AdjitError, match="`except` for a .* that an operation raises"):
        adjit.grad(function, target="python")(1.3)
