"""Which carried values are only added to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.transform import ir, pipeline
from adjit.transform.sums import is_sum
from tests.transform.building import F, I


def loop_of(function, *types_):
    body = pipeline.primal(function, types_).body
    return next(op for op in body.ops if isinstance(op, ir.For))


def slots(function, *types_):
    body = loop_of(function, *types_).body
    return {arg.name: is_sum(arg, body.yields[k], body) for k, arg in enumerate(body.args[1:])}


def added(x, n):
    s = 0.0
    for i in range(n):
        s = s + x
        s = s - 2.0 * x
    return s


def inner(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x * j
    return s


def on_one_side(x, n):
    s = 0.0
    for i in range(n):
        if i > 2:
            s += x
    return s


def on_both_sides(x, n):
    s = 0.0
    for i in range(n):
        if x > 2.0:
            s += x
        else:
            s -= 3.0
            s += x * i
    return s


def reset(x, n):
    s = 1.0
    for i in range(n):
        if i > 2:
            s = 0.0
    return s + x


def reset_or_added(x, n):
    s = 1.0
    for i in range(n):
        if i > 2:
            s = 0.0
        else:
            s += x
    return s


def read(x, n):
    s, t = 0.0, 0.0
    for i in range(n):
        t += s
        s += x
    return s + t


def scaled(x, n):
    s = 0.0
    for i in range(n):
        s = x - s
    return s


def copied(x, n):
    s, t = 0.0, 0.0
    for i in range(n):
        t = s
        s += x
    return s * t


@pytest.mark.parametrize("function", [added, inner, on_one_side, on_both_sides])
def test_sums(function):
    assert slots(function, F, I)["s"]


@pytest.mark.parametrize("function", [reset, reset_or_added, read, scaled, copied])
def test_others(function):
    assert not slots(function, F, I)["s"]


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
    y_bar, u_bar = adjit.grad(replaced_unless, (0, 1), target="python")(-0.47, u)
    assert y_bar == 1.0
    np.testing.assert_allclose(u_bar, [0.3, 0.1, 0.0, 0.1, 0.1])
