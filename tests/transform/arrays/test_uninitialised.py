"""Reads of np.empty that nothing can have stored are refused at their line; whatever may have been stored is taken."""

import numpy as np
import pytest
from numba import types

from adjit.errors import Unwritten
from adjit.transform import ir, pipeline
from adjit.transform.arrays.uninitialised import check_written
from tests.transform.building import VECTOR, F, I, Program


def test_another_element_is_stored():
    p = Program(x=F)
    w = p.alloc(3)
    p.put(w, 0, value=p["x"])
    with pytest.raises(Unwritten, match="an element of `w` is read before it is stored"):
        check_written(p.function(p.get(w, 1)))


def test_nothing_is_stored():
    p = Program(n=I)
    w = p.alloc(3)
    with pytest.raises(Unwritten, match="np.zeros"):
        check_written(p.function(p.get(w, p["n"])))


def test_the_place_is_that_of_the_read():
    p = Program(x=F)
    w = p.alloc(3)
    p.origin = ir.Origin("user.py", "f", 7, 4, 7, 15, "return w[1]")
    with pytest.raises(Unwritten) as fault:
        check_written(p.function(p.get(w, 1)))
    assert str(fault.value).splitlines()[1] == "  user.py:7 in f"


def stored_at(p: Program, index) -> ir.Var:
    w = p.alloc(3)
    p.put(w, index, value=p["x"])
    return w


@pytest.mark.parametrize(("stored", "read"), [("n", 0), (0, "n"), (1, 1), (-1, 2), (2, -1)])
def test_elements_that_may_be_the_same(stored, read):
    p = Program(x=F, n=I)
    names = {"n": p["n"]}
    check_written(p.function(p.get(stored_at(p, names.get(stored, stored)), names.get(read, read))))


def test_stores_later_or_elsewhere_count():
    """The order is not looked at, so a store in a later statement of a loop counts for its next trip."""
    p = Program(x=F)
    w = p.alloc(1)

    def body(i, s):
        s = p.add(s, p.get(w, 0))
        p.put(w, 0, value=s)
        return (s,)

    check_written(p.function(*p.loop((3,), (0.0,), body)))


def test_stores_through_a_view_count():
    p = Program(x=F)
    w = p.alloc(3)
    p.put(p.view(w, (1, None, None)), 0, value=p["x"])
    check_written(p.function(p.get(w, 1)))


def test_memory_that_is_filled_or_given_is_written():
    p = Program(a=VECTOR)
    zeros, copied = p.alloc(3, fill=0.0), p.copy(p["a"])
    check_written(p.function(p.get(zeros, 1), p.get(copied, 1), p.get(p["a"], 1)))


def test_memory_that_a_loop_swaps_may_be_another():
    p = Program(a=VECTOR)
    _, v = p.loop((3,), (p.alloc(3), p.copy(p["a"])), lambda i, u, v: (v, u))
    check_written(p.function(p.get(v, 1)))


@pytest.mark.parametrize(("column", "is_written"), [(0, True), (1, False)])
def test_two_axes(column, is_written):
    p = Program(x=F, n=I)
    w = p.alloc(3, 3)
    p.put(w, p["n"], 0, value=p["x"])
    function = p.function(p.get(w, 0, column))
    if is_written:
        check_written(function)
    else:
        with pytest.raises(Unwritten):
            check_written(function)


def test_from_source():
    def partly(x):
        s = np.empty(3)
        s[0] = x
        return s[0] * s[1]

    with pytest.raises(Unwritten) as fault:
        pipeline.primal(partly, (types.float64,))
    assert "return s[0] * s[1]" in str(fault.value)
