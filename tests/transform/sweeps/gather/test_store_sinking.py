"""A store goes to the nest that adds to the same elements, where what it stores can be had there."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest

import adjit
from adjit.transform import ir
from adjit.transform.strategy import CHEAPEST
from adjit.transform.sweeps.gather.store_sinking import move_stores
from tests.transform.building import VECTOR, I, Program, count, evaluate

A = np.array([0.3, -1.2, 0.8, 2.0, 0.5])


def program(first, begin=0, less=0, between=None, start=0):
    """`first` for each i from `begin`, `less` before the end; then w[i] += 2 a[i] for all from `start`."""
    p = Program(a=VECTOR)
    n = p.size(p["a"])
    w = p.alloc(n, fill=1.0, name="w")
    v = p.copy(p["a"], "v")
    stop = p.call(operator.sub, n, ir.integer(less), type=I) if less else n
    nest(p, begin, stop, lambda i: first(p, w, v, i))
    if between is not None:
        between(p, w, v)
    nest(p, start, n, lambda i: p.put(w, i, value=p.mul(2.0, p.get(p["a"], i)), add=True))
    return p.function(w)


def nest(p, start, stop, body):
    i = ir.Var("i", I)
    with p.region() as ops:
        body(i)
    loop = ir.Region((i,), tuple(ops), ())
    p.emit(ir.For(start=ir.integer(start), stop=stop, step=ir.integer(1), inits=(), body=loop, outs=()))


def plain(p, w, v, i):
    p.put(w, i, value=p.mul(3.0, p.get(v, i)))


def additions(function):
    return [op.add for op in ir.walk(function.body) if isinstance(op, ir.Store)]


def test_a_store_goes_to_the_nest_over_the_same_elements():
    function = program(plain, 0, 0)
    moved = move_stores(function)
    assert count(moved, ir.For) == 2
    assert additions(moved) == [False]
    for size in range(6):
        np.testing.assert_array_equal(evaluate(function, A[:size])[0], evaluate(moved, A[:size])[0])


@pytest.mark.parametrize("begin, less", [(0, 1), (1, 0), (1, 1), (2, 3)])
def test_a_store_to_some_of_the_elements_stays(begin, less):
    function = program(plain, begin, less)
    assert move_stores(function) is function


def test_a_store_beyond_the_other_nest_stays():
    function = program(plain, 0, 0, start=1)
    assert move_stores(function) is function


def test_a_value_that_is_overwritten_stays():
    def later(p, w, v, i):
        plain(p, w, v, i)
        p.put(v, i, value=0.0)

    function = program(later)
    assert move_stores(function) is function
    function = program(plain, between=lambda p, w, v: p.put(v, 2, value=0.0))
    assert move_stores(function) is function


def test_elements_that_are_read_before_stay():
    def read(p, w, v):
        p.put(v, 0, value=p.get(w, 1))

    function = program(plain, between=read)
    assert move_stores(function) is function

    def also(p, w, v, i):
        plain(p, w, v, i)
        p.put(v, i, value=p.get(w, i))

    function = program(also)
    assert move_stores(function) is function


def test_what_takes_long_stays():
    def long(p, w, v, i):
        p.put(w, i, value=p.do(np.exp, p.get(v, i)))

    function = program(long)
    assert move_stores(function) is function


def spread(u, k, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                b[i, j] = a[i, j] + k[i, j] * (a[i - 1, j] + a[i, j + 1] - 2.0 * a[i, j])
        a, b = b, a
    return np.sum(a * a)


def test_the_adjoint_of_a_stencil():
    random = np.random.default_rng(4)
    derived = adjit.grad(spread, wrt=(0, 1), target="python", strategy=CHEAPEST)
    for shape in ((5, 6), (3, 3), (2, 5), (4, 1), (1, 1), (0, 3)):
        u, k = random.standard_normal((2, *shape))
        for n in (0, 1, 3):
            forward = adjit.jacfwd(spread, wrt=(0, 1), target="python", strategy=CHEAPEST)(u, k, n)
            for found, expected in zip(derived(u, k, n), forward, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    # what the first nest of a step leaves is in other arrays
    reverse = (
        derived.source(u, k, 3, tuned=True).split("# ---- reverse sweep")[1].split("for _ in range(n - 1, -1, -1)")[1]
    )
    first, second = reverse.split("difference_bars[", 1)
    assert not re.search(r"\bb_bar_2\[.*\] \+?=", first)
    # there is one store to each element: what is around takes the terms that there are
    assert second.count("b_bar_2[i, j] = (") == 1
    assert "b_bar_2[0, j] += difference_bars[1, j]\n" in second


def test_a_nest_that_reads_what_it_adds_to_stays():
    p = Program(a=VECTOR)
    n = p.size(p["a"])
    w = p.alloc(n, fill=1.0, name="w")
    nest(p, 0, n, lambda i: p.put(w, i, value=p.mul(3.0, p.get(p["a"], i))))
    nest(p, 0, n, lambda i: p.put(w, i, value=p.get(w, i), add=True))
    function = p.function(w)
    assert move_stores(function) is function


def test_what_the_first_nest_carries_stays():
    p = Program(a=VECTOR)
    n = p.size(p["a"])
    w = p.alloc(n, fill=1.0, name="w")
    i, carried = ir.Var("i", I), ir.Var("s", p.get(p["a"], ir.integer(0)).type)
    with p.region() as ops:
        total = p.add(carried, p.get(p["a"], i))
        p.put(w, i, value=total)
    p.emit(
        ir.For(
            start=ir.integer(0), stop=n, step=ir.integer(1), inits=(ir.Const(0.0, carried.type),),
            body=ir.Region((i, carried), tuple(ops), (total,)), outs=(ir.Var("s", carried.type),),
        )
    )  # fmt: skip
    nest(p, 0, n, lambda j: p.put(w, j, value=p.mul(2.0, p.get(p["a"], j)), add=True))
    function = p.function(w)
    moved = move_stores(function)
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(moved, A)[0])
    assert moved is function
