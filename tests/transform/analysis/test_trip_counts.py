"""Loops run backwards: as many trips as range makes, through the same numbers."""

import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, mirrored_range
from tests.transform.building import I, Program, evaluate

BOUNDS = [(start, stop, step) for start in (-2, 0, 3) for stop in (-4, 0, 1, 5) for step in (-3, -1, 1, 2, 7)]


def loop(p: Program, step: ir.Operand, order_free: bool = False) -> ir.For:
    body = ir.Region((ir.Var("i", I),), (), ())
    return ir.For(start=p["start"], stop=p["stop"], step=step, inits=(), body=body, outs=(), order_free=order_free)


def program(step: int | None) -> tuple[Program, ir.Operand]:
    """A program whose step is a parameter, or a constant."""
    p = Program(start=I, stop=I, step=I)
    return p, p["step"] if step is None else ir.integer(step)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_trips_of_range_backwards(bounds, is_constant):
    p, step = program(bounds[2] if is_constant else None)
    op = loop(p, step)
    f = p.function(count_trips(p, op), *mirrored_range(p, op, backwards=False))
    count, *mirrored = evaluate(f, *bounds)
    assert count == len(range(*bounds))
    assert list(range(*mirrored)) == list(reversed(range(*bounds)))


@pytest.mark.parametrize("bounds", BOUNDS)
def test_order_free_loops_run_as_they_are(bounds):
    p, step = program(None)
    op = loop(p, step, order_free=True)
    f = p.function(*mirrored_range(p, op, backwards=False), *mirrored_range(p, op, backwards=True))
    found = evaluate(f, *bounds)
    assert found[:3] == bounds
    assert list(range(*found[3:])) == list(reversed(range(*bounds)))


def test_constant_bounds_cost_no_operations():
    p = Program()
    body = ir.Region((ir.Var("i", I),), (), ())
    op = ir.For(start=ir.integer(2), stop=ir.integer(9), step=ir.integer(1), inits=(), body=body, outs=())
    assert count_trips(p, op) == ir.integer(7)
    assert mirrored_range(p, op, backwards=False) == (ir.integer(8), ir.integer(1), ir.integer(-1))
    assert p.ops == []


def test_integers_stay_integers():
    p, step = program(None)
    op = loop(p, step)
    assert all(o.type == types.intp for o in (count_trips(p, op), *mirrored_range(p, op, backwards=False)))
