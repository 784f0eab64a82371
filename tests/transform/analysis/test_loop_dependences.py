"""What trips share: the memory that decides whether they may run at the same time."""

from __future__ import annotations

import operator

import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from tests.transform.building import VECTOR, I, Program


def shared_by(body, stop=None):
    """What the trips of a loop over an array `u` share; `body` gets the program, the counter, u, v and k (integers)."""
    p = Program(a=VECTOR, k=types.Array(I, 1, "C"))
    u, v = p.copy(p["a"], "u"), p.copy(p["a"], "v")

    def trip(i):
        body(p, i, u, v)
        return ()

    p.loop((1, stop or p.sub(p.size(p["a"]), 5), 1), (), trip)
    function = p.function(u, v)
    (loop,) = (op for op in ir.walk(function.body) if isinstance(op, ir.For))
    return LoopDependences(function).of(loop)


def at(p, i, shift):
    return p.do(operator.add, i, shift, type=I) if shift else i


def add(p, array, index, value):
    p.store(array, (index,), value, add=True)


def names(arrays):
    return [array.name for array in arrays]


def test_elements_of_a_trip_of_its_own():
    found = shared_by(lambda p, i, u, v: p.put(v, i, value=p.get(u, at(p, i, 1))))
    assert names(found.disjoint) == ["v"]
    assert found.is_plain


@pytest.mark.parametrize("shape", [(None, 1), (1, None), (1, None, 1)])
def test_elements_of_views_with_axes_of_one_element(shape):
    p = Program(a=VECTOR)
    v = p.copy(p["a"], "v")
    size, view = p.size(v), ir.Var("view", types.Array(types.float64, len(shape), "C"))
    p.emit(ir.Reshape(base=v, shape=tuple(size if n is None else ir.integer(n) for n in shape), out=view))

    def trip(i):
        p.store(view, tuple(i if n is None else ir.integer(0) for n in shape), p.get(p["a"], i), add=True)
        return ()

    p.loop((0, size, 1), (), trip)
    function = p.function(v)
    found = LoopDependences(function).of(next(op for op in ir.walk(function.body) if isinstance(op, ir.For)))
    assert found.is_plain
    assert names(found.disjoint) == ["v"]


@pytest.mark.parametrize("shape", [(4, -1), (-1,)])
def test_elements_of_other_views_are_not_known(shape):
    p = Program(a=types.Array(types.float64, 2, "C"))
    v = p.copy(p["a"], "v")
    view = ir.Var("view", types.Array(types.float64, len(shape), "C"))
    p.emit(ir.Reshape(base=v, shape=tuple(map(ir.integer, shape)), out=view))

    def trip(i):
        p.store(view, (i, *(ir.integer(0) for _ in shape[1:])), p.get(p["a"], i, 0), add=True)
        p.put(v, 0, i, value=1.0, add=True)
        return ()

    p.loop((0, 4, 1), (), trip)
    function = p.function(v)
    found = LoopDependences(function).of(next(op for op in ir.walk(function.body) if isinstance(op, ir.For)))
    assert not found.disjoint


def test_what_another_trip_stores():
    found = shared_by(lambda p, i, u, v: p.put(u, i, value=p.get(u, at(p, i, 1))))
    assert isinstance(found, Serial)
    assert names(found.about) == ["u"]


@pytest.mark.parametrize("distance", [1, 2, 4])
def test_additions_of_neighbours(distance):
    def body(p, i, u, v):
        add(p, v, i, p.get(u, i))
        add(p, v, at(p, i, distance), p.get(u, i))

    found = shared_by(body)
    assert found.near == distance
    assert names(found.shared) == ["v"]


def test_neighbours_that_look_at_what_they_add_to():
    def body(p, i, u, v):
        add(p, v, at(p, i, 1), p.get(v, i))

    assert isinstance(shared_by(body), Serial)


def test_additions_anywhere_are_private():
    def body(p, i, u, v):
        add(p, v, p.get(p["k"], i), p.get(u, i))

    found = shared_by(body)
    assert names(found.added) == ["v"]
    assert not found.near


def test_additions_and_stores_anywhere():
    def body(p, i, u, v):
        add(p, v, p.get(p["k"], i), p.get(u, i))
        p.put(v, i, value=p.get(u, i))

    assert isinstance(shared_by(body), Serial)


def test_additions_too_far_away_are_private():
    def body(p, i, u, v):
        add(p, v, i, p.get(u, i))
        add(p, v, at(p, i, 5), p.get(u, i))

    assert names(shared_by(body).added) == ["v"]


def scratch_program(is_read_after):
    p = Program(a=VECTOR)
    s, out = ir.Var("s", VECTOR), p.copy(p["a"], "out")
    p.emit(ir.Alloc(shape=(ir.integer(2),), out=s))

    def trip(i):
        p.put(s, 0, value=p.get(p["a"], i))
        p.put(s, 1, value=p.mul(p.get(s, 0), p.get(s, 0)))
        p.put(out, i, value=p.get(s, 1))
        return ()

    p.loop((0, p.size(p["a"]), 1), (), trip)
    function = p.function(out, p.get(s, 0)) if is_read_after else p.function(out)
    (loop,) = (op for op in ir.walk(function.body) if isinstance(op, ir.For))
    return LoopDependences(function).of(loop)


def test_scratch():
    found = scratch_program(is_read_after=False)
    assert [alloc.out.name for alloc in found.scratch] == ["s"]
    assert names(found.disjoint) == ["out"]


def test_scratch_that_is_read_afterwards():
    assert isinstance(scratch_program(is_read_after=True), Serial)


def test_a_number_that_is_no_sum():
    p = Program(a=VECTOR)
    p.loop((0, p.size(p["a"]), 1), (p.get(p["a"], 0),), lambda i, s: (p.mul(s, p.get(p["a"], i)),))
    function = p.function()
    (loop,) = (op for op in ir.walk(function.body) if isinstance(op, ir.For))
    assert isinstance(LoopDependences(function).of(loop), Serial)
