"""What is computed again is arithmetic on numbers; what is kept are calls that take many cycles, arrays, and draws."""

import math
import operator

import numpy as np
import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.cost import is_cheap
from tests.transform.building import VECTOR, F, I


def call(callee, *args, out=F, **more):
    return ir.Call(callee=callee, args=args, outs=(ir.Var("y", out),), **more)


X, N, A = ir.Var("x", F), ir.Var("n", I), ir.Var("a", VECTOR)


@pytest.mark.parametrize(
    "callee", [operator.mul, operator.truediv, np.add, max, np.maximum, math.sqrt, ir.select, ir.cast]
)
def test_arithmetic_is_cheap(callee):
    assert is_cheap(call(callee, X, X))


@pytest.mark.parametrize("callee", [math.exp, np.exp, np.sin, np.tanh, math.erf, np.hypot, [], {}])
def test_others_are_kept(callee):
    assert not is_cheap(call(callee, X))


def test_small_integer_powers_are_cheap():
    for exponent in (-4, 0, 2, 4):
        assert is_cheap(call(operator.pow, X, ir.integer(exponent)))
    for exponent in (ir.integer(5), ir.integer(-5), ir.Const(2.0, F), N, X):
        assert not is_cheap(call(operator.pow, X, exponent))


def test_arrays_and_draws_are_kept():
    assert not is_cheap(call(operator.mul, A, X, out=VECTOR))
    assert not is_cheap(call(len, A, out=I))
    assert not is_cheap(call(np.add, X, X, effect=True))


def test_types_do_not_matter_to_numbers():
    assert is_cheap(call(operator.add, N, N, out=I))
    assert is_cheap(call(operator.lt, X, X, out=types.boolean))
