"""Where a derivative asks for nan, of fast math that takes no number to be one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit


def overwritten(x, c):
    s = np.sqrt(x)
    s[0] = 1.0
    total = 0.0
    for i in range(x.size):
        if not math.isnan(x[i]) and np.isfinite(c):
            total += s[i] * c
    return total


def harmless(x, c):
    return np.sum(c * x * x)


FIRST = overwritten.__code__.co_firstlineno
GUARDS = (
    (FIRST + 1, "s = np.sqrt(x)", "zero times a derivative that is not finite is zero"),
    (FIRST + 5, "if not math.isnan(x[i]) and np.isfinite(c):", "the program tests for nan"),
    (FIRST + 5, "if not math.isnan(x[i]) and np.isfinite(c):", "the program tests for nan and infinity"),
)
TYPES = "float64[::1], float64"


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("flags", [True, {"nnan"}, {"fast"}])
def test_they_are_listed(target, flags):
    derived = adjit.grad(overwritten, wrt=("x", "c"), target=target, fastmath=flags)
    made = derived.explain(TYPES)
    assert made.guards == GUARDS
    assert "Guards that fast math may drop\n  line  statement" in str(made)
    # in forward mode the same
    tangent = adjit.jacfwd(overwritten, wrt="c", target=target, fastmath=flags).explain(TYPES)
    assert {line for line, _, _ in tangent.guards} == {FIRST + 5}


def test_what_the_guard_keeps():
    # the first element is overwritten: what is infinite there goes nowhere
    np.testing.assert_array_equal(adjit.grad(overwritten)(np.array([0.0, 4.0]), 1.0), [0.0, 0.25])


@pytest.mark.parametrize("flags", [False, {"contract"}, {"reassoc", "contract"}])
def test_other_flags_take_nan_as_it_is(flags):
    assert adjit.grad(overwritten, fastmath=flags).explain(TYPES).guards == ()


def test_there_may_be_none():
    made = adjit.grad(harmless, fastmath=True).explain(TYPES)
    assert made.guards == ()
    assert "Guards" not in str(made)
