"""Array statements fused: where they may be, where they may not, and what they compute."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from numba import types

import adjit
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Options
from adjit.transform import ir, pipeline
from adjit.transform.pipeline import Derivative
from adjit.transform.strategy import CHEAPEST, FORCED
from tests.defining import define
from tests.programs.harness import check
from tests.transform.array_programs import write

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def primal(function, *arg_types):
    return pipeline.primal(function, arg_types)


def loops(region):
    """How many loops stand side by side, and inside those."""
    return [loops(op.body) for op in region.ops if isinstance(op, ir.For)]


def allocated(made):
    return sorted(op.out.name for op in ir.walk(made.body) if isinstance(op, ir.Alloc))


def outer(made):
    (loop,) = [op for op in made.body.ops if isinstance(op, ir.For)]
    return loop


def vectors(*lengths):
    return tuple(np.sin(1.0 + k + 0.9 * np.arange(float(n))) for k, n in enumerate(lengths))


# -------------------------------------------------------------------------------------------------------- what is fused


def chain(a, b):
    d = a - b
    e = d * d
    return np.sum(e * a)


def test_a_chain_of_statements_is_one_loop_without_arrays():
    made = primal(chain, VECTOR, VECTOR)
    assert loops(made.body) == [[]]
    assert allocated(made) == []
    check(chain, lambda: vectors(6, 6), (0, 1))


def stencil(u, k):
    lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
    v = u.copy()
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + k[1:-1, 1:-1] * lap
    return np.sum(v * v)


def test_a_slice_store_needs_no_array_for_its_right_side():
    made = primal(stencil, MATRIX, MATRIX)
    assert allocated(made) == []
    grid = np.sin(np.arange(30.0)).reshape(5, 6)
    check(stencil, lambda: (grid.copy(), 0.1 * grid), (0, 1))


def swapped(u, n):
    v = u.copy()
    u = u.copy()
    for _ in range(n):
        right = u[1:] - u[:-1]
        v[1:] = u[1:] + 0.1 * right
        u, v = v, u
    return np.sum(u * u)


def test_arrays_that_are_swapped_are_apart():
    assert allocated(primal(swapped, VECTOR, types.intp)) == []
    check(swapped, lambda: (*vectors(5), 3), (0,))


def rows(x):
    d = x - np.sum(x, axis=1)[:, np.newaxis]
    return np.sum(d * d)


def test_a_sum_along_rows_joins_at_the_outer_loop():
    made = primal(rows, MATRIX)
    assert loops(made.body) == [[[], []]]
    assert allocated(made) == []
    check(rows, lambda: (np.sin(np.arange(12.0)).reshape(3, 4),), (0,))


def mixed(x, a):
    out = np.empty_like(a)
    scaled = 2.0 * x * a
    for i in range(a.size):
        out[i] = np.sin(scaled[i])
    return np.sum(out)


def test_a_loop_of_the_users_joins_where_an_array_goes_away():
    made = primal(mixed, types.float64, VECTOR)
    assert loops(made.body) == [[]]
    assert allocated(made) == []
    check(mixed, lambda: (0.3, *vectors(5)), (0, 1))


def two_loops(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    t = 0.0
    for i in range(a.size):
        t += a[i] + b[i]
    return s * t


def test_loops_of_the_user_stay_two():
    assert loops(primal(two_loops, VECTOR, VECTOR).body) == [[], []]


# ---------------------------------------------------------------------------------------------------- what is not fused


def shifted_down(a, b):
    a = a.copy()
    a[:-1] = a[1:] * b[:-1]
    return np.sum(a * a)


def shifted_up(a, b):
    a = a.copy()
    a[1:] = a[:-1] + b[1:]
    return np.sum(a * a * b)


def both_sides(a, b):
    a = a.copy()
    a[1:-1] = a[:-2] + a[2:] * b[1:-1]
    return np.sum(a * a)


def mirrored(a, b):
    a = a.copy()
    a += a[::-1]
    return np.sum(a * a * b)


def read_shifted(a, b):
    c = a * b
    d = np.empty_like(c)
    d[1:] = c[:-1] * b[1:]
    d[:1] = c[:1]
    return np.sum(d * c)


def overlapping_sums(a, b):
    a = a.copy()
    b = b.copy()
    b[1:] = b[:-1] * a[1:]
    a[:-1] += 0.3 * b[:-1]
    a[1:] -= 0.4 * b[1:]
    b *= a
    return np.sum(a * a) + np.sum(b * b)


def reduction_between(a, b):
    c = a * b
    c = c / np.sqrt(np.sum(c * c))
    return np.sum(c * b)


@pytest.mark.parametrize(
    "function, temporaries",
    [
        (shifted_down, 0),  # from first to last every element is read before it is stored to
        (shifted_up, 0),  # and here from last to first
        (both_sides, 1),
        (mirrored, 1),
        (read_shifted, 2),
        (overlapping_sums, 0),
        (reduction_between, 0),  # a product is worked out again
    ],
)
@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_the_right_side_is_evaluated_before_the_store(function, temporaries, length):
    made = primal(function, VECTOR, VECTOR)
    assert len(allocated(made)) == temporaries
    check(function, lambda: vectors(length, length), (0, 1), second=length == 3)


def test_a_store_onto_later_reads_runs_backwards():
    loop = next(op for op in primal(shifted_up, VECTOR, VECTOR).body.ops if isinstance(op, ir.For))
    assert loop.step == ir.integer(-1)
    assert not loop.order_free


def test_the_order_is_free_only_where_no_trip_reads_of_another():
    assert outer(primal(chain, VECTOR, VECTOR)).order_free

    def follows(a, b):
        a = a.copy()
        a[:-1] = a[1:] * b[:-1]
        return a

    assert not outer(primal(follows, VECTOR, VECTOR)).order_free


def test_a_vectorisable_store_is_not_tied_to_a_sum():
    def kept(a, b):
        c = a * b
        return c, np.sum(c)

    assert loops(primal(kept, VECTOR, VECTOR).body) == [[], []]


def test_sums_of_several_trips_are_in_order():
    # what is saved of an element and put back depends on it
    def summed(x):
        return np.sum(np.sum(np.sin(x), axis=0) ** 2)

    first, _ = [op for op in primal(summed, MATRIX).body.ops if isinstance(op, ir.For)]
    (inner,) = [op for op in first.body.ops if isinstance(op, ir.For)]
    assert not first.order_free
    assert inner.order_free
    check(summed, lambda: (np.sin(np.arange(12.0)).reshape(3, 4),), (0,))


def printed(a, b):
    c = a * b
    assert np.sum(a) > -100.0
    d = c - b
    return np.sum(d * d)


def test_what_stands_between_and_has_nothing_to_do_with_it_moves():
    made = primal(printed, VECTOR, VECTOR)
    assert allocated(made) == []
    check(printed, lambda: vectors(4, 4), (0, 1))


# -------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [chain, swapped, shifted_up, both_sides, mirrored, reduction_between])
def test_compiled_code_agrees(function):
    arguments = (*vectors(7), 3) if function is swapped else vectors(7, 7)
    active = (0,) if function is swapped else (0, 1)
    check(function, lambda: tuple(np.copy(a) if np.ndim(a) else a for a in arguments), active, target="cpu")


def test_empty_arrays():
    value, (a_bar, b_bar) = adjit.value_and_grad(chain, wrt=(0, 1), target="python", strategy=CHEAPEST)(
        np.empty(0), np.empty(0)
    )
    assert value == 0.0
    assert a_bar.shape == b_bar.shape == (0,)


def test_no_array_statement_leaves_an_array_behind():
    source = adjit.grad(chain, wrt=(0, 1)).source("float64[::1], float64[::1]", tuned=True)
    assert not re.search(r"empty\(|_tape", source)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(strategies.randoms(use_true_random=False))
def test_random_array_programs(draw):
    text = write(draw)
    scope = define(text, f"<array program {hash(text)}>", __name__="array_program")
    wave = np.sin(1.0 + 0.9 * np.arange(16.0))
    check(
        scope["program"],
        lambda: (wave[:5].copy(), wave[5:10].copy(), wave[10:].reshape(2, 3).copy(), 0.37),
        (0, 1, 2, 3),
        second=False,
    )


# --------------------------------------------------------------------------------------- what may raise stays before


def stored_into_columns(u, M):
    M[:, 0:] += 1
    M[:, 0:] *= u
    return np.sum(M)


def stored_into_matrix(u):
    r = np.diag(u)
    r *= np.outer(u, np.ones(5))
    return np.sum(r)


def refused_by_the_user(u, x):
    y = x * 2
    if u.size < x.size:
        raise ValueError("operands could not be broadcast together")
    total = 0.0
    for i in range(x.size):
        total += y[i] * u[i]
    return total


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (stored_into_columns, (np.ones(3), np.ones((3, 4)))),
        (stored_into_columns, (np.ones(4), np.ones((4, 3)))),
        (stored_into_matrix, (np.ones(6),)),
        (refused_by_the_user, vectors(3, 4)),
    ],
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_error_comes_before_what_it_keeps_from_being_read(function, arguments, target):
    """In plain Python an element beyond an end would be an IndexError; compiled code would read it."""
    with pytest.raises(ValueError, match="could not (be )?broadcast"):
        function(*[a.copy() for a in arguments])
    for strategy in (CHEAPEST, *FORCED.values()) if target == "python" else (CHEAPEST,):
        with pytest.raises(ValueError, match="could not (be )?broadcast|cannot take a value"):
            derive(Derivative(function, "grad", (0,)), Options(target=target, strategy=strategy))(*arguments)
