"""Whether trips are independent, and that loops which are so run upwards."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.loop_dependences import LoopDependences
from adjit.transform.sweeps.clears.loop_reversal import ascending
from tests.transform.building import VECTOR, F, I, Program, evaluate


def loop_over(body):
    """A loop from a.size - 2 down to 1 over copies of `a`, which are the result."""
    p = Program(a=VECTOR)
    u, v = p.copy(p["a"], "u"), p.copy(p["a"], "v")
    first = p.sub(p.size(p["a"]), 2)

    def trip(i):
        body(p, i, u, v)
        return ()

    p.loop((first, 0, -1), (), trip)
    return p.function(u, v)


def at(p, i, shift):
    return p.do(operator.add, i, shift, type=types.intp) if shift else i


def copies(source, target):
    return lambda p, i, u, v: p.put(v, at(p, i, target), value=p.get(u, at(p, i, source)))


def within(source, target):
    return lambda p, i, u, v: p.put(u, at(p, i, target), value=p.get(u, at(p, i, source)))


def adds(source, target):
    return lambda p, i, u, v: p.put(v, at(p, i, target), value=p.get(u, at(p, i, source)), add=True)


def folded(p, i, u, v):
    half = p.do(operator.floordiv, i, 2)
    p.put(v, half, value=p.get(u, i), add=True)


def exchanged(p, i, u, v):
    p.put(v, i, value=p.get(u, i), add=True)
    p.put(u, i, value=0.0)


def one_place(p, i, u, v):
    p.put(v, 0, value=p.get(u, i), add=True)


CASES = [
    (copies(0, 0), True, True),
    (copies(-1, 0), True, True),
    (within(0, 0), True, True),
    (within(-1, 0), False, False),
    (adds(1, -1), True, True),
    (exchanged, True, True),
    (one_place, True, False),
    (folded, True, False),
]


@pytest.mark.parametrize(("body", "but_for_sums", "strictly"), CASES)
def test_independence(body, but_for_sums, strictly):
    function = loop_over(body)
    (loop,) = [op for op in ir.walk(function.body) if isinstance(op, ir.For)]
    sharings = LoopDependences(function)
    assert sharings.are_independent(loop) is but_for_sums
    assert sharings.are_independent(loop, but_for_sums=False) is strictly


@pytest.mark.parametrize(("body", "but_for_sums", "strictly"), CASES)
def test_independent_innermost_loops_are_turned_round(body, but_for_sums, strictly):
    function = loop_over(body)
    turned = ascending(function)
    (loop,) = [op for op in ir.walk(turned.body) if isinstance(op, ir.For)]
    assert (loop.step == ir.integer(1)) is strictly
    for size in range(5):
        a = np.cos(np.arange(float(size)))
        for before, after in zip(evaluate(function, a), evaluate(turned, a), strict=True):
            np.testing.assert_array_equal(before, after)


def test_a_carried_value_keeps_the_order():
    p = Program(a=VECTOR, n=I)
    (total,) = p.loop((p.sub(p["n"], 1), -1, -1), (ir.Const(0.0, F),), lambda i, s: (p.add(s, p.get(p["a"], i)),))
    function = p.function(total)
    assert ascending(function) is function
