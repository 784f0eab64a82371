"""Which names of arrays are never the same memory, told apart by induction over the trips of loops."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.frontend.walk.entry import elaborate
from adjit.transform.pipeline import build
from adjit.transform.rewrite.simplify import simplify
from tests.transform.building import VECTOR, I, Program


def carried(swap):
    """Two copies of `a` carried by a loop that hands on `swap(u, v, w)`; the names inside and after the loop."""
    p = Program(a=VECTOR, n=I)
    first, second, third = p.copy(p["a"]), p.copy(p["a"]), p.copy(p["a"])
    inside = []

    def body(i, u, v):
        inside.extend((u, v))
        return swap(p, u, v, third)

    after = p.loop((p["n"],), (first, second), body)
    function = p.function(*after)
    return Aliases(function), inside, after, third


@pytest.mark.parametrize(
    ("swap", "are_distinct"),
    [
        (lambda p, u, v, w: (u, v), True),
        (lambda p, u, v, w: (v, u), True),
        (lambda p, u, v, w: (v, v), False),
        (lambda p, u, v, w: (v, w), False),
        (lambda p, u, v, w: (v, p.copy(w)), True),
        (lambda p, u, v, w: (p.view(v, (None, None, None)), u), True),
        (lambda p, u, v, w: (p.view(v, (None, None, None)), v), False),
    ],
)
def test_two_arrays_that_a_loop_carries(swap, are_distinct):
    distinct, inside, after, _ = carried(swap)
    assert distinct.are_distinct(*inside) is are_distinct
    assert distinct.are_distinct(*after) is are_distinct


def test_an_array_outside_of_the_loop():
    distinct, (u, v), _, third = carried(lambda p, u, v, w: (v, u))
    assert distinct.are_distinct(u, third)
    distinct, (u, v), _, third = carried(lambda p, u, v, w: (w, u))
    assert not distinct.are_distinct(u, third)
    assert not distinct.are_distinct(v, third)


def test_an_array_made_in_the_trip_is_not_the_one_that_came_in():
    p = Program(a=VECTOR, n=I)
    start, seen = p.copy(p["a"]), []

    def body(i, u):
        new = p.copy(u)
        seen.extend((u, new))
        return (new,)

    out = p.loop((p["n"],), (start,), body)
    function = p.function(*out)
    distinct = Aliases(function)
    assert distinct.are_distinct(*seen)
    assert not distinct.are_distinct(out[0], seen[1])


def test_arrays_picked_by_one_branch():
    p = Program(a=VECTOR, n=I)
    x, y = p.copy(p["a"]), p.copy(p["a"])
    condition = p.do(operator.gt, p["n"], 0)
    outs = (ir.Var("x", VECTOR), ir.Var("y", VECTOR), ir.Var("z", VECTOR))
    then, orelse = ir.Region((), (), (x, y, x)), ir.Region((), (), (y, x, x))
    p.emit(ir.If(condition=condition, then=then, orelse=orelse, outs=outs))
    function = p.function(*outs)
    distinct = Aliases(function)
    assert distinct.are_distinct(outs[0], outs[1])
    assert not distinct.are_distinct(outs[0], outs[2])
    assert not distinct.are_distinct(outs[0], x)


def swapped(a, n):
    u, v = a.copy(), a.copy()
    for _ in range(n):
        u[0] = v[0] + 1.0
        u, v = v, u
    return u[0] + v[1]


def one_twice(a, n):
    u = a.copy()
    v = u
    for _ in range(n):
        u[0] = v[0] + 1.0
        u, v = v, u
    return u[0] + v[1]


def joined(a, n):
    u, v = a.copy(), a.copy()
    for _ in range(n):
        u[0] = v[0] + 1.0
        v = u
    return u[0] + v[1]


@pytest.mark.parametrize("function, apart", [(swapped, True), (one_twice, False), (joined, False)])
def test_apart(function, apart):
    made = simplify(elaborate(function, (VECTOR, types.intp), build))
    (loop,) = [op for op in made.body.ops if isinstance(op, ir.For)]
    aliases = Aliases(made)
    names = [out for out in loop.body.args[1:] if ir.is_array(out)]
    outs = [out for out in loop.outs if ir.is_array(out)]
    for group in (names, outs):
        pairs = [(p, q) for p in group for q in group if p is not q]
        assert all(aliases.are_distinct(p, q) == apart for p, q in pairs)
    assert not any(aliases.are_distinct(p, p) for p in names)
    assert np.isfinite(function(np.ones(3), 3))
