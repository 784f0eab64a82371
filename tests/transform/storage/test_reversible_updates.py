"""Carried values that go back by themselves: swapped references, integers that move by a fixed amount."""

import operator

import pytest

from adjit.transform import ir
from adjit.transform.storage.reversible_updates import Step, retraceable
from tests.transform.building import VECTOR, F, I, Program


def slots(p: Program) -> dict[int, Step]:
    return retraceable(p.ops[-1])


def test_swapped_arrays():
    p = Program(a=VECTOR, b=VECTOR, x=F)
    p.loop((5,), (p["a"], p["b"], p["x"]), lambda i, u, v, s: (v, u, p.mul(s, s)))
    assert slots(p) == {0: Step(), 1: Step()}


def test_arrays_that_are_lost_or_made():
    p = Program(a=VECTOR, b=VECTOR)
    p.loop((5,), (p["a"], p["b"]), lambda i, u, v: (v, v))
    assert slots(p) == {1: Step()}
    p.loop((5,), (p["a"], p["b"]), lambda i, u, v: (v, p.copy(u)))
    assert slots(p) == {}


def test_arrays_that_change_places_beside_one_that_is_made():
    p = Program(a=VECTOR, b=VECTOR, c=VECTOR)
    p.loop((5,), (p["a"], p["b"], p["c"]), lambda i, u, v, w: (v, u, p.copy(w)))
    assert slots(p) == {0: Step(), 1: Step()}
    p.loop((5,), (p["a"], p["b"], p["c"]), lambda i, u, v, w: (v, w, p.copy(u)))
    assert slots(p) == {}


@pytest.mark.parametrize(
    ("step", "inverse"),
    [
        (lambda p, n: p.add(n, 3), operator.sub),
        (lambda p, n: p.add(3, n), operator.sub),
        (lambda p, n: p.do(operator.iadd, n, 3), operator.sub),
        (lambda p, n: p.sub(n, 3), operator.add),
        (lambda p, n: p.do(operator.isub, n, 3), operator.add),
    ],
)
def test_integers_that_move_by_a_fixed_amount(step, inverse):
    p = Program()
    p.loop((5,), (0,), lambda i, n: (step(p, n),))
    assert slots(p) == {0: Step(inverse, ir.integer(3))}


def test_the_amount_may_be_of_outside():
    p = Program(k=I)
    p.loop((5,), (0, 7), lambda i, n, same: (p.add(n, p["k"]), same))
    assert slots(p) == {0: Step(operator.sub, p["k"]), 1: Step()}


@pytest.mark.parametrize(
    "step",
    [
        lambda p, i, n: p.add(n, i),
        lambda p, i, n: p.add(n, p.add(i, 1)),
        lambda p, i, n: p.sub(3, n),
        lambda p, i, n: p.mul(n, 2),
        lambda p, i, n: p.add(n, n),
        lambda p, i, n: i,
        lambda p, i, n: ir.integer(0),
        lambda p, i, n: p.branch(p.do(operator.lt, n, 3), lambda: (p.add(n, 1),), lambda: (n,))[0],
    ],
)
def test_integers_that_move_otherwise(step):
    p = Program()
    p.loop((5,), (0,), lambda i, n: (step(p, i, n),))
    assert slots(p) == {}


def test_floats_never():
    """x + 1 - 1 need not be x."""
    p = Program(x=F)
    p.loop((5,), (p["x"],), lambda i, s: (p.add(s, 1.0),))
    assert slots(p) == {}


def test_integers_that_an_inner_loop_moves():
    p = Program()
    p.loop((5,), (0,), lambda i, n: p.loop((i,), (n,), lambda j, m: (p.add(m, 1),)))
    assert slots(p) == {0: Step()}
    p.loop((5,), (0,), lambda i, n: p.loop((i,), (n,), lambda j, m: (p.mul(m, 2),)))
    assert slots(p) == {}
    p.loop((5,), (0,), lambda i, n: p.loop((i,), (p.add(n, 1),), lambda j, m: (p.add(m, 1),)))
    assert slots(p) == {}


def test_while():
    p = Program()
    p.repeat((0,), lambda n: p.do(operator.lt, n, 9), lambda n: (p.add(n, 2),))
    assert slots(p) == {0: Step(operator.sub, ir.integer(2))}
