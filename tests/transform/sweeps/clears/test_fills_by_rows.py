"""Zeros of a new array go, too, where a trip reaches all of a row before anything else, and stay everywhere else."""

from __future__ import annotations

import numpy as np
import pytest

from adjit.transform import ir
from adjit.transform.sweeps.clears.dead_zero_fills import leave_out_fills
from tests.transform.building import MATRIX, Program, evaluate

A = np.array([[0.3, -1.2, 0.8], [2.0, 0.5, -0.7]])


def program(after, before=lambda p, w, i: None):
    """Rows of `a` are added to zeros, row by row, with something done in the same trip before that, and after."""
    p = Program(a=MATRIX)
    a, n, m = p["a"], p.size(p["a"]), p.size(p["a"], 1)
    w = p.alloc(n, m, fill=0.0)

    def row(i):
        before(p, w, i)
        p.loop((m,), (), lambda j: p.put(w, i, j, value=p.get(a, i, j), add=True) and ())
        after(p, w, i)
        return ()

    p.loop((n,), (), row)
    return p.function(w)


def own_row(p, w, i):
    p.loop((p.size(w, 1),), (), lambda j: p.put(w, i, j, value=p.get(p["a"], i, j), add=True) and ())


def one_element(p, w, i):
    p.put(w, i, 0, value=1.5, add=True)


def through_a_view(p, w, i):
    view = p.view(w, i, (None, None, None), layout="C")
    p.put(view, 1, value=p.get(view, 0), add=True)


@pytest.mark.parametrize("after", [own_row, one_element, through_a_view])
def test_what_comes_later_in_the_row_finds_it_there(after):
    function = program(after)
    left = leave_out_fills(function)
    (alloc,) = (op for op in ir.walk(left.body) if isinstance(op, ir.Alloc))
    first, *others = (op for op in ir.walk(left.body) if isinstance(op, ir.Store))
    assert alloc.fill is None
    assert not first.add
    assert all(op.add for op in others)
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(left, A)[0])


def another_row(p, w, i):
    p.put(w, p.sub(p.size(w), 1), 0, value=1.5, add=True)


def a_column(p, w, i):
    view = p.view(w, (None, None, None), 0)
    p.put(view, 1, value=1.5, add=True)


def a_row_of_a_part(p, w, i):
    view = p.view(p.view(w, (0, None, None), (None, None, None)), 1, (None, None, None))
    p.put(view, 0, value=1.5, add=True)


@pytest.mark.parametrize("after", [another_row, a_column, a_row_of_a_part])
def test_another_row_may_not_be_there_yet(after):
    function = program(after)
    assert leave_out_fills(function) is function


@pytest.mark.parametrize("before", [own_row, one_element, through_a_view])
def test_what_comes_before_it_needs_zeros_but_where_it_is_such_a_nest(before):
    function = program(lambda p, w, i: None, before)
    left = leave_out_fills(function)
    assert (left is function) is (before is not own_row)
    np.testing.assert_array_equal(evaluate(function, A)[0], evaluate(left, A)[0])
