"""An array takes the memory of one that is read for the last time where it is filled, and of no other."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform import ir
from adjit.transform.machine.reused_memory import reuse_memory
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.transform.building import MATRIX, VECTOR, I, Program, count, evaluate

A = np.array([0.3, -1.2, 0.8, 2.0, 0.5])


def program(body, shown=False, after=None, is_users=False, order_free=False):
    """w[i] from v, both as long as `a`, for each i; the sum of w is returned, or w itself."""
    p = Program(a=VECTOR)
    v = ir.Var("v", VECTOR, is_users)
    p.emit(ir.Copy(source=p["a"], out=v))
    n = p.size(p["a"])
    w = p.alloc(n, name="w")
    s = p.alloc(1, fill=0.0, name="s")
    each(p, n, lambda i: body(p, w, v, i), order_free)
    if after is not None:
        after(p, s, v)
    each(p, n, lambda i: p.put(s, 0, value=p.get(w, i), add=True))
    return p.function(w) if shown else p.function(s)


def each(p, n, body, order_free=False):
    i = ir.Var("i", I)
    with p.region() as ops:
        body(i)
    loop = ir.Region((i,), tuple(ops), ())
    step = ir.integer(1)
    p.emit(ir.For(start=ir.integer(0), stop=n, step=step, inits=(), body=loop, outs=(), order_free=order_free))


def arrays(function):
    return count(function, ir.Alloc) + count(function, ir.Copy)


def twice(p, w, v, i):
    p.put(w, i, value=p.mul(2.0, p.get(v, i)))


def test_element_by_element():
    function = program(twice)
    reused = reuse_memory(function)
    assert arrays(reused) == arrays(function) - 1
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(reused, A)[0])


def test_an_array_of_the_user_s_keeps_its_name():
    function = program(twice, is_users=True)
    assert reuse_memory(function) is function


def test_what_is_returned_has_memory_of_its_own():
    function = program(twice, shown=True)
    assert reuse_memory(function) is function


def test_a_later_read_of_the_element_keeps_it():
    function = program(twice, after=lambda p, s, v: p.put(s, 0, value=p.get(v, 1), add=True))
    assert reuse_memory(function) is function

    def in_the_trip(p, w, v, i):
        twice(p, w, v, i)
        p.put(w, i, value=p.get(v, i), add=True)

    function = program(in_the_trip)
    assert reuse_memory(function) is function


def test_a_read_of_another_element_in_a_later_trip_keeps_it():
    def first(p, w, v, i):
        p.put(w, i, value=p.get(v, 0))

    function = program(first)
    assert reuse_memory(function) is function


def test_trips_that_may_run_in_any_order():
    def next_one(p, w, v, i):
        following = p.do(min, p.add(i, 1), p.sub(p.size(p["a"]), 1))
        p.put(w, i, value=p.get(v, i), add=False)
        p.put(w, i, value=p.get(v, following), add=True)

    def mirrored(p, w, v, i):
        p.put(w, i, value=p.get(v, p.sub(p.sub(p.size(p["a"]), 1), i)))

    assert arrays(reuse_memory(program(twice, order_free=True))) == 2
    for body in (next_one, mirrored):
        function = program(body, order_free=True)
        assert reuse_memory(function) is function


def shifted(p, w, v, i):
    """Element i + 1 of v, which is one longer: in order, each is read before it is stored to."""
    p.put(w, i, value=p.get(v, p.add(i, 1)))


@pytest.mark.parametrize("order_free", [False, True])
def test_elements_of_later_trips(order_free):
    p = Program(a=VECTOR)
    v = ir.Var("v", VECTOR)
    p.emit(ir.Copy(source=p["a"], out=v))
    n = p.size(p["a"])
    w = p.alloc(n, name="w")
    s = p.alloc(1, fill=0.0, name="s")
    each(p, p.sub(n, 1), lambda i: shifted(p, w, v, i), order_free)
    p.put(s, 0, value=p.get(w, 0))
    function = p.function(s)
    reused = reuse_memory(function)
    assert (reused is function) == order_free
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(reused, A)[0])


def test_a_copy_is_no_pass_at_all():
    function = program(lambda p, w, v, i: p.put(w, i, value=p.get(v, i)))
    reused = reuse_memory(function)
    assert count(reused, ir.Store) == count(function, ir.Store) - 1
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(reused, A)[0])


def test_products_tell_what_is_of_one_shape():
    p = Program(a=MATRIX, b=MATRIX, c=MATRIX)
    left = p.do(np.dot, p["a"], p["b"], type=MATRIX, name="left")
    p.do(np.dot, left, p["c"], type=MATRIX, name="right")
    # as long as an axis of c: of b too, since the second product was made
    wide = p.alloc(p.size(p["a"]), p.size(p["c"]), name="wide")
    s = p.alloc(1, fill=0.0, name="s")

    def row(i):
        each(p, p.size(p["c"]), lambda j: p.put(wide, i, j, value=p.get(left, i, j)))

    each(p, p.size(p["a"]), row)
    p.put(s, 0, value=p.get(wide, 0, 0))
    function = p.function(s)
    assert arrays(reuse_memory(function)) == arrays(function) - 1


def layer(x, w1, w2):
    hidden = np.tanh(np.dot(x, w1))
    return np.sum(np.tanh(np.dot(hidden, w2)) ** 2)


@pytest.mark.parametrize("without", [(), ("reuse",)])
def test_a_network(without):
    random = np.random.default_rng(5)
    args = random.standard_normal((4, 3)), random.standard_normal((3, 5)), random.standard_normal((5, 2))
    derived = adjit.grad(layer, wrt=(1, 2), strategy=Strategy(without=frozenset(without)))
    expected = adjit.jacfwd(layer, wrt=(1, 2), target="python", strategy=CHEAPEST)(*args)
    for found, matrix in zip(derived(*args), expected, strict=True):
        np.testing.assert_allclose(found, matrix, rtol=1e-12)
    source = derived.source(*args, tuned=True)
    assert bool(re.search(r"hidden\[i, j\] = \w+\.tanh\(hidden\[i, j\]\)", source)) == (not without)
