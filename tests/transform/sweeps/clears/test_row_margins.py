"""Zeros of a new matrix go where rows are added to in part: the rest of each row, and other rows, are cleared."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from adjit.transform import ir
from adjit.transform.sweeps.clears.row_margins import with_margins
from tests.transform.building import MATRIX, Program, evaluate

A = np.array([[0.3, -1.2, 0.8, 0.1], [2.0, 0.5, -0.7, 0.9], [1.1, -0.4, 0.6, 1.3]])


def program(trip, rows=None):
    """A matrix of zeros, to the rows of which something is added, row by row."""
    p = Program(a=MATRIX)
    w = p.alloc(p.size(p["a"]), p.size(p["a"], 1), fill=0.0)
    p.loop(rows or (p.size(p["a"]),), (), lambda i: trip(p, w, i) or ())
    return p.function(w)


def checked(function):
    """The function with margins, which does the same for large and small matrices, whatever is in new memory."""
    found = with_margins(function)
    for a in (A, A[:, :3], A[:1], A[:0]):
        wanted, got = evaluate(function, a)[0], evaluate(found, a)[0]
        np.testing.assert_array_equal(got, wanted)
    return found


def added(p, w, i, start, stop, shift=0):
    def one(j):
        k = p.add(j, shift) if shift else j
        p.put(w, i, k, value=p.get(p["a"], i, j), add=True)
        return ()

    p.loop((start, stop), (), one)


def below(p, w, i):
    added(p, w, i, 0, i)


def above(p, w, i):
    added(p, w, i, p.add(i, 1), p.size(w, 1))


def diagonal_first(p, w, i):
    p.put(w, i, i, value=p.get(p["a"], i, i), add=True)
    above(p, w, i)


def diagonal_last(p, w, i):
    below(p, w, i)
    p.put(w, i, i, value=p.get(p["a"], i, i), add=True)


def inside(p, w, i):
    added(p, w, i, 1, p.sub(p.size(w, 1), 1))


def through_a_view(p, w, i):
    view = p.view(w, i, (p.add(i, 1), None, None))
    p.loop((p.size(view),), (), lambda j: p.put(view, j, value=p.get(p["a"], i, j), add=True) and ())


def through_a_view_of_the_front(p, w, i):
    view = p.view(w, i, (None, i, None))
    p.loop((p.size(view),), (), lambda j: p.put(view, j, value=p.get(p["a"], i, j), add=True) and ())


def and_once_more(p, w, i):
    below(p, w, i)
    below(p, w, i)
    p.put(w, i, 0, value=1.5, add=True)


def read_afterwards(p, w, i):
    below(p, w, i)
    p.put(w, i, 0, value=p.get(w, i, p.sub(p.size(w, 1), 1)), add=True)


KINDS = [
    below, above, diagonal_first, diagonal_last, inside, through_a_view, through_a_view_of_the_front, and_once_more,
    read_afterwards,
]  # fmt: skip


@pytest.mark.parametrize("trip", KINDS)
@pytest.mark.parametrize("rows", ["all", "but the first", "but the last", "backwards"])
def test_the_first_interval_of_a_row_is_stored_to(trip, rows):
    p = Program(a=MATRIX)
    n = p.size(p["a"])
    w = p.alloc(n, p.size(p["a"], 1), fill=0.0)
    last = p.sub(n, 1)
    ranges = {"all": (0, n, 1), "but the first": (1, n, 1), "but the last": (0, last, 1), "backwards": (last, -1, -1)}
    p.loop(ranges[rows], (), lambda i: trip(p, w, i) or ())
    found = checked(p.function(w))
    (alloc,) = (op for op in ir.walk(found.body) if isinstance(op, ir.Alloc))
    assert alloc.fill is None


def one_element(p, w, i):
    p.put(w, i, i, value=p.get(p["a"], i, i), add=True)


def another_row(p, w, i):
    below(p, w, i)
    p.put(w, 0, 0, value=1.5, add=True)


def read_before(p, w, i):
    p.put(w, i, 3, value=p.get(w, i, 0), add=True)
    below(p, w, i)


def of_each_other_trip(p, w, i):
    p.loop((0, i, 2), (), lambda j: p.put(w, i, j, value=p.get(p["a"], i, j), add=True) and ())


def a_neighbour_that_the_next_trip_is_about(p, w, i):
    def both(j):
        p.put(w, i, j, value=p.get(p["a"], i, j), add=True)
        p.put(w, i, p.add(j, 1), value=p.get(p["a"], i, j), add=True)
        return ()

    p.loop((i,), (), both)


def from_the_end(p, w, i):
    p.loop((i,), (), lambda j: p.put(w, i, p.sub(j, 1), value=p.get(p["a"], i, j), add=True) and ())


def a_view_of_a_column(p, w, i):
    below(p, w, i)
    p.put(p.view(w, (None, None, None), 0), 1, value=1.5, add=True)


@pytest.mark.parametrize(
    "trip",
    [one_element, another_row, read_before, of_each_other_trip, a_neighbour_that_the_next_trip_is_about, from_the_end,
     a_view_of_a_column],
)  # fmt: skip
def test_zeros_stay_where_more_than_that_is_touched(trip):
    function = program(trip)
    assert with_margins(function) is function


def test_a_loop_that_may_end_early_leaves_rows_as_they_are():
    p = Program(a=MATRIX)
    w = p.alloc(p.size(p["a"]), p.size(p["a"], 1), fill=0.0)

    def trip(i):
        below(p, w, i)
        return (p.do(operator.gt, i, 1),)

    p.loop((p.size(p["a"]),), (), trip, stops=True)
    function = p.function(w)
    assert with_margins(function) is function
