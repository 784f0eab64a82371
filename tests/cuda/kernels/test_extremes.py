"""Threads that raise or lower elements together: ties, what is refused, launches in programs, and what is launched."""

import math

import numpy as np
import pytest
from numba import cuda, float64

import adjit
from tests.cuda.kernels.extremes import bounds, greatest, softmax_of_rows, states, walks

T = 8


def pulled(kernel, launch, arguments, **bars):
    adjit.cuda.adjoint(kernel, target="python")[launch](*arguments, **bars)
    return bars


def test_of_equal_values_the_first_thread_has_it_all():
    x = np.array([1.0, -3.0, 2.0, 3.0, -3.0])
    found = pulled(greatest, (3, 2), (x, np.zeros(1)), x_bar=np.zeros(5), y_bar=np.array([2.0]))
    np.testing.assert_array_equal(found["x_bar"], [0.0, -12.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found["y_bar"], [0.0])


def test_what_was_as_great_before_keeps_its_own():
    x = np.array([1.0, -3.0, 2.0])
    found = pulled(greatest, (1, 4), (x, np.array([9.0])), x_bar=np.zeros(3), y_bar=np.array([2.0]))
    np.testing.assert_array_equal(found["x_bar"], np.zeros(3))
    np.testing.assert_array_equal(found["y_bar"], [2.0])


def test_nan_is_no_extreme():
    x = np.array([1.0, np.nan, 2.0])
    found = pulled(greatest, (1, 4), (x, np.zeros(1)), x_bar=np.zeros(3), y_bar=np.ones(1))
    np.testing.assert_array_equal(found["x_bar"][[0, 2]], [0.0, 4.0])
    # an element that is nan stays so
    found = pulled(greatest, (1, 4), (np.ones(3), np.array([np.nan])), x_bar=np.zeros(3), y_bar=np.ones(1))
    np.testing.assert_array_equal(found["x_bar"], np.zeros(3))
    np.testing.assert_array_equal(found["y_bar"], [1.0])


@cuda.jit
def loads(x, y):
    top = cuda.shared.array(1, float64)
    t = cuda.threadIdx.x
    top[0] = 0.0
    cuda.syncthreads()
    cuda.atomic.max(top, 0, x[t])  # here
    y[t] = top[0]


@cuda.jit
def both(x, y):
    i = cuda.grid(1)
    cuda.atomic.max(y, 0, x[i])  # here
    cuda.atomic.min(y, 1, x[i])


@cuda.jit
def stored_before(x, y):
    i = cuda.grid(1)
    x[i] = x[i] * x[i]
    cuda.atomic.max(y, 0, x[i] + x[(i + 1) % x.size])  # here


@cuda.jit
def part(x, y):
    i = cuda.grid(1)
    row = y[2:]
    cuda.atomic.max(row, 0, x[i])  # here


@cuda.jit
def result(x, y):
    i = cuda.grid(1)
    y[i + 1] = cuda.atomic.max(y, 0, x[i])  # here


REFUSED = {
    loads: "which the same threads load, or store to", both: "while others lower its elements",
    stored_before: "depends on `x`, to which the same threads stored before", part: "a part of an array",
    result: "the result of cuda.atomic.max",
}  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.py_func.__name__)
def test_what_is_not_taken_is_refused_at_its_line(kernel):
    with pytest.raises(adjit.Unsupported, match=REFUSED[kernel]) as caught:
        pulled(kernel, (1, T), (np.ones(T), np.ones(T)), x_bar=np.ones(T), y_bar=np.ones(T))
    assert caught.value.place.text.endswith("# here")


@cuda.jit
def step(u, speed, v):
    """A step whose length the fastest cell says."""
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        v[i] = u[i] - 0.2 / speed[0] * u[i] * (u[i + 1] - u[i - 1])


@cuda.jit
def fastest(u, speed):
    i = cuda.grid(1)
    if i < u.size:
        cuda.atomic.max(speed, 0, abs(u[i]))


def burgers(u0, steps):
    u, v = cuda.to_device(u0), cuda.to_device(u0)
    speed = cuda.device_array(1, np.float64)
    for _ in range(steps):
        speed[0] = 0.1
        fastest[(u0.size + T - 1) // T, T](u, speed)
        step[(u0.size + T - 1) // T, T](u, speed, v)
        u, v = v, u
    return np.sum(u * u)


def burgers_in_numpy(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        speed = max(0.1, np.max(np.abs(u)))
        v = u.copy()
        v[1:-1] = u[1:-1] - 0.2 / speed * u[1:-1] * (u[2:] - u[:-2])
        u = v
    return np.sum(u * u)


def test_in_a_time_loop():
    u = np.random.default_rng(1).normal(size=21)
    found = adjit.value_and_grad(burgers, target="python")(u, 4)
    wanted = adjit.value_and_grad(burgers_in_numpy, target="python")(u, 4)
    assert found[0] == pytest.approx(wanted[0], rel=1e-13)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-11, atol=1e-13)


def test_launches():
    text = adjit.cuda.adjoint(bounds).source("float64[::1], int64[::1], float64[::1], float64[::1]", block=8)
    lines = [line.strip() for line in text.splitlines()]
    assert sum(line.startswith("cuda.atomic.max(high_top,") for line in lines) == 1
    assert sum(line.startswith("cuda.atomic.min(low_top,") for line in lines) == 1
    assert sum(line.startswith("cuda.atomic.min(") and "_by," in line for line in lines) == 2
    # what flows back is loaded by the threads that won
    assert not any(line.startswith("cuda.atomic.add(") for line in lines)
    assert text.count("@cuda.jit(") == 3
    shared = adjit.cuda.adjoint(softmax_of_rows).source("float64[:, ::1], float64[:, ::1]", block=8)
    assert shared.count("@cuda.jit(") == 1


def test_draws_are_those_of_numba():
    g = np.random.default_rng(1)
    given, s0 = states(g, 5), 1.0 + g.random(5)
    before, own, out = given.copy(), given.copy(), np.zeros(5)
    adjit.cuda.tangent(walks, target="python")[1, 8](
        own, s0, 0.01, np.full(5, 0.3), 3, out, s0_dot=np.ones(5), out_dot=np.zeros(5)
    )
    assert not np.array_equal(own, before)
    # the adjoint draws the same numbers, from the states that there were, and leaves those
    s0_bar = np.zeros(5)
    adjit.cuda.adjoint(walks, target="python")[1, 8](
        given, s0, 0.01, np.full(5, 0.3), 3, np.zeros(5), s0_bar=s0_bar, out_bar=np.ones(5)
    )
    np.testing.assert_array_equal(given, before)
    ends = [np.zeros(5), np.zeros(5)]
    for end, h in zip(ends, (1e-5, -1e-5), strict=True):
        adjit.cuda.tangent(walks, target="python")[1, 8](
            given.copy(), s0 + h, 0.01, np.full(5, 0.3), 3, end, s0_dot=np.zeros(5), out_dot=np.zeros(5)
        )
    np.testing.assert_allclose(s0_bar, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)
    with pytest.raises(adjit.WrongWrt, match="states is not a float"):
        adjit.cuda.adjoint(walks, target="python")[1, 8](
            given, s0, 0.01, np.full(5, 0.3), 3, np.zeros(5), states_bar=np.zeros(5), out_bar=np.ones(5)
        )


@cuda.jit
def of_the_state(states, x, y):
    i = cuda.grid(1)
    y[i] = x[i] * math.sin(float(states[i]["s0"]))


def test_states_are_for_draws_alone():
    with pytest.raises(adjit.AdjitError):
        adjit.cuda.adjoint(of_the_state, target="python")[1, 8](
            states(np.random.default_rng(1), 8), np.ones(8), np.zeros(8), x_bar=np.ones(8), y_bar=np.ones(8)
        )
