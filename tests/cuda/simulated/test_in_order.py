"""deterministic=True: additions in the order of the trips, with the bits that one thread alone would give."""

import math

import numpy as np
import pytest

import adjit
from adjit.runtime.cuda.ordered_sums import add_in_order
from adjit.runtime.library.gpus import SIMULATED
from tests.cuda.ordering import gathered, in_blocks, in_planes, interpolated
from tests.cuda.simulated.checks import on_device, on_host, watched

G = np.random.default_rng(1)


@pytest.mark.parametrize(
    "function, given",
    [
        (gathered, (G.normal(size=7), G.integers(0, 7, 37), G.normal(size=37))),
        (in_planes, (G.normal(size=(6, 3)), G.integers(0, 6, (6, 3)), G.normal(size=6))),
    ],
)
def test_sums_are_those_of_one_thread(function, given):
    derived = adjit.grad(function, wrt=("x", "w"), target="cuda", deterministic=True)
    with watched() as faults:
        found = on_host(derived(*map(on_device, given)))
    assert faults == []
    for bar, own in zip(found, adjit.grad(function, wrt=("x", "w"), target="python")(*given), strict=True):
        np.testing.assert_allclose(bar, own, rtol=1e-14, atol=1e-14)
    if function is gathered:
        # not only nearly the same
        x, k, w = given
        total = np.zeros(x.size)
        for place, weight in zip(k, w, strict=True):
            total[place] += math.cos(x[place]) * weight
        # a GPU has cosines of its own
        np.testing.assert_array_max_ulp(found[0], total, 0 if SIMULATED else 8)


@pytest.mark.parametrize(
    "kernel, launch, given",
    [
        (interpolated, (4, 8), (G.normal(size=9), G.integers(0, 8, 30), np.zeros(30))),
        (in_blocks, (3, 8), (G.normal(size=(3, 8)), G.integers(0, 8, (3, 8)), np.zeros((3, 8)))),
    ],
)
def test_of_kernels(kernel, launch, given):
    y_bar = G.normal(size=given[2].shape)
    name = "table_bar" if kernel is interpolated else "x_bar"
    left = []
    for options in ({}, {"deterministic": True}):
        x_bar = on_device(np.ones(given[0].shape))
        made = adjit.cuda.adjoint(kernel, **options)
        made[launch](*map(on_device, given), **{name: x_bar, "y_bar": on_device(y_bar)})
        left.append(on_host(x_bar))
    np.testing.assert_allclose(*left, rtol=1e-13)


def test_what_is_filled_with_a_number_has_its_type():
    # a kernel's signature has the type of the array that is made so
    for value in (-1, 0.5, True):
        assert adjit.cuda.full(3, value).dtype == np.full(3, value).dtype
    assert adjit.cuda.full(3, 1, np.float32).dtype == np.float32


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 2, 3)])
def test_elements_of_any_array(shape):
    g = np.random.default_rng(3)
    places = np.where(g.uniform(size=23) < 0.2, -1, g.integers(0, np.prod(shape), 23))
    values, wanted = g.normal(size=23), np.zeros(shape)
    for k, value in zip(places, values, strict=True):
        if k >= 0:
            wanted.reshape(-1)[k] += value
    base = on_device(np.zeros((*shape, 2)))
    target = adjit.cuda.sliced(base, np.s_[..., 0])
    add_in_order(target, on_device(places), on_device(values))
    assert (on_host(base)[..., 0] == wanted).all()
    assert (on_host(base)[..., 1] == 0.0).all()
    add_in_order(target, on_device(places[:0]), on_device(values[:0]))
    assert (on_host(base)[..., 0] == wanted).all()
