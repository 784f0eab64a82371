"""What a step of a time loop does: as many launches, and as many passes over arrays, as one would write."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from tests.cuda.passes import Step, steps
from tests.cuda.time_loops import PROGRAMS

# a step forward reads and writes what one would write by hand; so it does back, but where the shadow that neighbours
# get contributions of is changed in place: those are kept, and read again by a launch of their own
FOUND = {
    "heat": (Step(1, 2, 1, 0), Step(2, 3, 0, 0)),
    "heat_made_anew": (Step(1, 2, 1, 0), Step(3, 8, 1, 0)),
    "heat_in_place": (Step(1, 2, 1, 0), Step(3, 7, 0, 0)),
    "conducting": (Step(1, 3, 1, 0), Step(1, 6, 0, 0)),
    "waves": (Step(1, 4, 1, 0), Step(2, 14, 0, 0)),
    "stepped": (Step(1, 3, 1, 0), Step(1, 7, 1, 0)),
    "springs": (Step(1, 5, 1, 0), Step(1, 6, 0, 0)),
    "advection": (Step(1, 3, 1, 0), Step(1, 6, 0, 0)),
}


def text_of(name):
    function, wrt, types, _ = PROGRAMS[name]
    return adjit.grad(function, wrt=wrt, target="cuda").source(", ".join(types))


@pytest.mark.parametrize("name", PROGRAMS)
def test_launches_and_passes(name):
    assert tuple(steps(text_of(name))) == FOUND[name]


def test_the_rim_of_a_buffer_is_stored_by_the_launch_that_stores_the_rest():
    kernel = text_of("heat").split("@cuda.jit")[1]
    assert "if (i >= 1) & (i < n - 1):" in kernel
    assert "else:\n            v[i] = v_2[i]" in kernel
    # where an array is made anew, what it starts from
    assert "else:\n            v[i] = 0.0" in text_of("heat_made_anew").split("@cuda.jit")[1]
    # of arrays that are stored to all over there is none
    assert "else" not in text_of("springs")


def keeps_a_copy(u0, steps):
    """What is copied is changed before the copy is."""
    u = u0.copy()
    v = u.copy()
    for _ in range(steps):
        w = u.copy()
        u[0] = v[1]
        for i in range(1, u.size - 1):
            w[i] = u[i] + u[i + 1]
        v[1] = np.sum(w)
    return np.sum(u) + v[1]


def in_order(u0, steps):
    """A nest whose trips need each other is for one thread, and fills no rim."""
    u = u0.copy()
    for _ in range(steps):
        v = np.zeros_like(u)
        for i in range(1, u.size):
            v[i] = v[i - 1] * u[i]
        u = v
    return np.sum(u)


@pytest.mark.parametrize("function", [keeps_a_copy, in_order])
def test_arrays_that_are_filled_by_a_call_of_their_own(function):
    forward, *_ = steps(adjit.grad(function, target="cuda").source("float64[::1], int64"))
    assert forward.filled == 1


def test_contributions_are_made_again_where_they_are_gathered():
    text = text_of("conducting")
    kernel = next(part for part in text.split("@cuda.jit") if "k_bar[i, j] +=" in part)
    # of each neighbour, where it is a trip; then what the trip itself stores, with that
    assert kernel.count("k[i - 1, j] * u_bar[i - 1, j]") == kernel.count("k[i, j + 1] * u_bar[i, j + 1]") == 1
    assert re.search(r"v_bar\[i, j\] = .* \+ total(_\d)?\n", kernel)
    assert re.search(r"            else:\n(.*\n)*                v_bar\[i, j\] \+= total", kernel)
    assert "_bars" not in text


def costly(u0, k, steps):
    """What neighbours get takes an exponential each."""
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            v[i] = np.exp(k[i] * (u[i + 1] - u[i - 1]))
        u, v = v, u
    return np.sum(u)


@pytest.mark.parametrize("name", ["waves", "costly"])
def test_contributions_that_are_kept(name):
    # the nest clears what they are made of; they would be made again for each neighbour
    text = adjit.grad(costly, wrt=("u0", "k"), target="cuda").source("float64[::1], float64[::1], int64")
    _, back = steps(text if name == "costly" else text_of(name))
    assert back.launches == 2
    assert "_bars[" in (text if name == "costly" else text_of(name))
