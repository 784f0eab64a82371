"""A clear goes where no read of the element can follow, and stays everywhere else."""

from __future__ import annotations

import operator
import re

import numpy as np

import adjit
from adjit.transform import ir
from adjit.transform.strategy import CHEAPEST
from adjit.transform.sweeps.clears.clears import leave_out_clears
from tests.transform.building import VECTOR, F, I, Program, count, evaluate

A = np.array([0.3, -1.2, 0.8, 2.0, 0.5])
ZERO = ir.Const(0.0, F)


def program(statements, is_shown=False):
    """`statements` for each i of a copy of `a`; the sum of `s`, which they store to, is returned."""
    p = Program(a=VECTOR)
    w = p.copy(p["a"], "w")
    s = p.alloc(p.size(p["a"]), fill=0.0, name="s")
    i = ir.Var("i", I)
    with p.region() as ops:
        statements(p, w, s, i)
    loop = ir.Region((i,), tuple(ops), ())
    p.emit(ir.For(start=ir.integer(1), stop=p.size(p["a"]), step=ir.integer(1), inits=(), body=loop, outs=()))
    return p.function(s, w) if is_shown else p.function(s)


def taken(p, w, s, i):
    e = p.load(w, (i,))
    p.store(w, (i,), ZERO)
    p.store(s, (i,), e)


def test_a_clear_after_the_last_read_goes():
    function = program(taken)
    left = leave_out_clears(function)
    assert count(left, ir.Store) == 1
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(left, A)[0])


def test_an_array_that_is_returned_keeps_it():
    function = program(taken, is_shown=True)
    assert leave_out_clears(function) is function


def test_a_read_in_the_next_trip_keeps_it():
    def statements(p, w, s, i):
        taken(p, w, s, i)
        p.store(s, (i,), p.load(w, (p.call(operator.sub, i, ir.integer(1), type=I),)), add=True)

    function = program(statements)
    assert leave_out_clears(function) is function


def test_an_addition_in_the_next_trip_keeps_it():
    def statements(p, w, s, i):
        e = p.load(w, (ir.integer(0),))
        p.store(w, (ir.integer(0),), ZERO)
        p.store(w, (ir.integer(0),), e, add=True)
        p.store(s, (i,), e)

    function = program(statements)
    assert leave_out_clears(function) is function


def test_a_store_in_between_does_not():
    def statements(p, w, s, i):
        p.store(w, (ir.integer(0),), p.load(p["a"], (i,)))
        p.store(s, (i,), p.load(w, (ir.integer(0),)))
        p.store(w, (ir.integer(0),), ZERO)

    function = program(statements)
    left = leave_out_clears(function)
    assert count(left, ir.Store) == 2
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(left, A)[0])


def test_other_numbers_are_not_clears():
    def statements(p, w, s, i):
        p.store(w, (i,), ir.Const(1.0, F))
        p.store(s, (i,), p.load(p["a"], (i,)))

    function = program(statements)
    assert leave_out_clears(function) is function


def swapped(u, n):
    a, b = u.copy(), np.zeros_like(u)
    for _ in range(n):
        for i in range(a.size):
            b[i] = a[i] * a[a.size - 1 - i]
        a, b = b, a
    return np.sum(a)


def once(u):
    squares = np.empty_like(u)
    for i in range(u.size):
        squares[i] = u[i] * u[i]
    total = 0.0
    for k in range(u.size):
        total += squares[k] * squares[0]
    return total


def test_derivatives():
    source = adjit.grad(once, target="python", strategy=CHEAPEST).source(A, tuned=True)
    assert not re.search(r"_bar\[\w+\] = 0\.0", source)
    np.testing.assert_allclose(
        adjit.grad(once, target="python")(A), adjit.jacfwd(once, target="python", strategy=CHEAPEST)(A)
    )
    # the buffers change places: what is cleared is added to in the next trip
    derived = adjit.grad(swapped, target="python", strategy=CHEAPEST)
    assert re.search(r"_bar\w*\[\w+\] = 0\.0", derived.source(A, 3, tuned=True))
    np.testing.assert_allclose(derived(A, 3), adjit.jacfwd(swapped, wrt=0, target="python", strategy=CHEAPEST)(A, 3))
