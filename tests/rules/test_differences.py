"""Central differences as the rule of functions that are not looked into."""

import math

import numpy as np
import pytest
from numba import njit, objmode

import adjit
from adjit.errors import Unsupported, WrongCall

PYTHON = {"target": "python"}
V, A = np.array([1.0, -2.0, 0.5]), np.arange(6.0).reshape(2, 3) - 1.5


@njit
def number(x, w, n):
    with objmode(y="float64"):
        y = math.sin(x) * w**n
    return y


@njit
def sums(v, k):
    with objmode(y="float64[:]"):
        y = np.cumsum(v * v) * k
    return y


@njit
def whole(a, order):
    with objmode(y="float64"):
        y = float(np.sum(np.sin(a) * a[:, order]))
    return y


@njit
def rough(x):
    return np.float32(x) * np.float32(x)


@njit
def pair(x):
    return x, 2.0 * x


for function in (number, sums, pair):
    adjit.rules.differences(function)
adjit.rules.differences(whole)
adjit.rules.differences(rough, step=4e-3)


def plain_number(x, w, n):
    return math.sin(x) * w**n


def plain_sums(v, k):
    return np.cumsum(v * v) * k


def plain_whole(a, order):
    return np.sum(np.sin(a) * a[:, order])


# as it is called, what stands for it with a text, arguments, what they are differentiated by
CASES = {
    "numbers": (number, plain_number, (0.7, 1.2, 3), (0, 1)),
    "large number": (number, plain_number, (0.3, 7e3, 2), (0, 1)),
    "vectors": (sums, plain_sums, (V, 2.0), (0, 1)),
    "matrix": (whole, plain_whole, (A, np.array([2, 0, 1])), (0,)),
    "view": (whole, plain_whole, (A.T, np.array([1, 0])), (0,)),
}


@pytest.mark.parametrize("make", [adjit.jacfwd, adjit.jacrev])
@pytest.mark.parametrize("name", CASES)
def test_both_modes(name, make):
    function, plain, arguments, wrt = CASES[name]

    def of(called):
        if len(arguments) == 3:
            return make(lambda x, w, n: called(x, w, n), wrt=wrt, **PYTHON)
        return make(lambda x, k: called(x, k), wrt=wrt, **PYTHON)

    for f, w in zip(of(function)(*arguments), of(plain)(*arguments), strict=True):
        np.testing.assert_allclose(f, w, rtol=2e-8, atol=2e-9)  # of differences


def test_compiled():
    def total(v, k, x):
        return np.sum(sums(v, k) ** 2) * number(x, 1.1, 2)

    def wanted(v, k, x):
        return np.sum(plain_sums(v, k) ** 2) * plain_number(x, 1.1, 2)

    found = adjit.grad(total, wrt=(0, 1, 2))(V, 2.0, 0.3)
    for f, w in zip(found, adjit.grad(wanted, wrt=(0, 1, 2), **PYTHON)(V, 2.0, 0.3), strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-8)


def test_second_derivatives():
    found = adjit.hessian(lambda x: number(x, 1.2, 3) * x, **PYTHON)(0.7)
    assert found == pytest.approx(adjit.hessian(lambda x: plain_number(x, 1.2, 3) * x, **PYTHON)(0.7), rel=1e-4)


def test_steps():
    """A function that is known to single precision alone wants a step for that."""
    assert adjit.grad(lambda x: 1.0 * rough(x), **PYTHON)(1.7) == pytest.approx(3.4, rel=1e-4)
    assert adjit.grad(lambda x: rough(x), **PYTHON)(np.float32(1.7)).dtype == np.float32


def test_refusals():
    with pytest.raises(WrongCall, match="whose parameters are not known"):
        adjit.rules.differences(lambda *given: given[0])
    for step in (0.0, -1e-6, True, "small"):
        with pytest.raises(WrongCall, match="step="):
            adjit.rules.differences(number, step=step)
    with pytest.raises(Unsupported, match="more than one result"):
        adjit.grad(lambda x: pair(x)[0], **PYTHON)(0.5)
    with pytest.raises(WrongCall, match="differences of int"):
        adjit.rules.differences(3)
