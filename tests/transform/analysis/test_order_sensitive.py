"""What the values of a function depend on: what arrays hold, or only which arrays there are and of what shape."""

from __future__ import annotations

import math
import operator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.order_sensitive import Reach, Roundings
from tests.transform.building import VECTOR, F, I, Program


def reach(p, *results, values=(0,)):
    function = p.function(*results)
    return Reach(function, Aliases(function), values)


def test_what_an_array_holds_reaches_what_is_loaded_from_it():
    p = Program(a=VECTOR, b=VECTOR)
    u, v = p.copy(p["a"], "u"), p.copy(p["b"], "v")
    found = reach(p, p.load(u, (ir.integer(0),)), p.load(v, (ir.integer(0),)))
    assert found.has_memory(u)
    assert found.has_memory(p["a"])
    assert not found.has_memory(v)
    assert not found.has_memory(p["b"])


def test_an_extent_says_nothing_of_what_an_array_holds():
    p = Program(a=VECTOR, x=F)
    u = p.copy(p["a"], "u")
    n = p.size(u)
    total = p.do(operator.mul, p["x"], p.do(ir.cast, n, type=F), type=F)
    p.loop((0, n, 1), (), lambda i: (p.store(u, (i,), p["x"], add=True), ())[1])
    found = reach(p, total)
    assert found.has_var(n)
    assert not found.has_memory(u)


def test_indices_and_bounds_steer():
    p = Program(a=VECTOR, k=types.Array(I, 1, "C"))
    u = p.copy(p["a"], "u")
    place = p.load(p["k"], (ir.integer(0),))
    p.store(u, (place,), p.load(p["a"], (ir.integer(0),)))
    found = reach(p, u, values=())
    assert found.has_memory(p["k"])
    assert not found.has_memory(u)


def told_apart(*, added, tested=False):
    """Whether a difference counts to the last bit, of which the square and a constant have a root."""
    p = Program(x=F, y=F)
    difference = p.do(operator.sub, p["x"], p["y"], type=F, name="difference")
    square = p.do(operator.mul, difference, difference, type=F)
    total = p.do(operator.add, square, added, type=F)
    root = p.do(math.sqrt, total, type=F)
    results = [root, p.do(operator.gt, total, 0.5)] if tested else [root]
    function = p.function(*results)
    return Roundings(function, Aliases(function)).has_var(difference)


def test_a_root_of_what_is_positive_is_smooth():
    assert not told_apart(added=0.05)
    assert told_apart(added=0.0)
    assert told_apart(added=-0.05)
    assert told_apart(added=1e-300)
    assert told_apart(added=0.05, tested=True)
