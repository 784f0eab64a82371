"""A clear followed by an addition becomes one store, and only where nothing looks in between."""

from __future__ import annotations

import operator

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.sweeps.clears.clears import merge_clears
from tests.transform.building import VECTOR, F, Program, evaluate

ZERO = ir.Const(0.0, F)


def body(statements):
    """`statements` in a loop over the inner elements of a copy of `a`, which is returned."""
    p = Program(a=VECTOR, x=F)
    out = ir.Var("w", VECTOR)
    p.emit(ir.Copy(source=p["a"], out=out))
    n = p.extent(p["a"], 0)
    last = p.call(operator.sub, n, ir.integer(1), type=types.intp)
    i = ir.Var("i", types.intp)
    with p.region() as ops:
        statements(p, out, i)
    loop = ir.Region((i,), tuple(ops), ())
    p.emit(ir.For(start=ir.integer(1), stop=last, step=ir.integer(1), inits=(), body=loop, outs=()))
    return p.function(out)


def stores(function):
    return [op.add for op in ir.walk(function.body) if isinstance(op, ir.Store)]


def same_values(before, after):
    a = np.array([0.3, -1.2, 0.8, 2.0, 0.5])
    np.testing.assert_array_equal(evaluate(before, a, 1.5)[0], evaluate(after, a, 1.5)[0])


def at(p, i, step):
    return p.call(operator.add, i, ir.integer(step), type=types.intp)


def test_a_clear_and_an_addition():
    def statements(p, w, i):
        p.store(w, (i,), ZERO)
        p.store(w, (i,), p["x"], add=True)

    function = body(statements)
    merged = merge_clears(function)
    assert stores(merged) == [False]
    same_values(function, merged)


def test_an_addition_to_another_element_may_stand_between():
    def statements(p, w, i):
        p.store(w, (i,), ZERO)
        p.store(w, (at(p, i, 1),), p["x"], add=True)
        p.store(w, (i,), p["x"], add=True)

    function = body(statements)
    merged = merge_clears(function)
    assert stores(merged) == [True, False]
    same_values(function, merged)


def test_an_index_that_may_count_from_the_end_is_no_other_element():
    def statements(p, w, i):
        p.store(w, (i,), ZERO)
        p.store(w, (at(p, i, -1),), p["x"], add=True)
        p.store(w, (i,), p["x"], add=True)

    function = body(statements)
    assert merge_clears(function) is function


def test_a_read_between_keeps_the_clear():
    def statements(p, w, i):
        p.store(w, (i,), ZERO)
        e = p.load(w, (at(p, i, 1),))
        p.store(w, (i,), e, add=True)

    function = body(statements)
    assert merge_clears(function) is function
