"""Arrays that each trip makes anew: shadows made going back, and right when memory is shared after all."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

A = np.array([[0.6, 0.3], [-0.2, 0.8]])
X = np.array([0.7, 1.1])


def check(function, *arguments):
    """Gradients with respect to all float arrays against differences, second order included; gives the source."""
    wrt = tuple(k for k, a in enumerate(arguments) if isinstance(a, np.ndarray))
    derived = adjit.grad(function, wrt=wrt, target="python", strategy=CHEAPEST)
    found = derived(*arguments)
    for position, gradient in zip(wrt, found, strict=True):
        for place in np.ndindex(gradient.shape):

            def at(step, position=position, place=place):
                moved = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
                moved[position][place] += step
                return function(*moved)

            assert gradient[place] == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-6, abs=1e-8)
    adjit.check_grads(function, tuple(arguments), wrt=wrt, target="python", strategy=CHEAPEST)
    return derived.source(*arguments, tuned=True)


def powers(A, x, n):
    for _ in range(n):
        x = A @ x + 0.1 * x * x
    return (x * x).sum()


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_vector_made_anew_has_no_tape_of_shadows(trips):
    source = check(powers, A, X, trips)
    assert "_bar_tape" not in source
    assert "_bar" not in source.split("reverse sweep")[0].split("forward sweep")[1].replace("(A, x", "")


def still_read(A, x, n):
    first = x
    for _ in range(n):
        x = np.sin(A @ x) + 0.2 * first
    return (x * first).sum()


@pytest.mark.parametrize("trips", [0, 2])
def test_what_it_started_from_may_be_read_later(trips):
    source = check(still_read, A, X, trips)
    assert "_bar_tape" not in source


def written_later(A, x, n):
    """With no trip `v` and `first` are one array, and the store is seen under both names."""
    first = x.copy()
    v = first
    for _ in range(n):
        v = A @ v
    v[0] = v[0] * v[1]
    return (v * first).sum()


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_a_store_after_the_loop_may_be_into_what_it_started_from(trips):
    check(written_later, A, X, trips)


def written_inside(A, x, n):
    v = x.copy()
    for _ in range(n):
        w = A @ v
        v[0] = 0.5 * v[1]
        v = w + v
    return (v * v).sum()


def test_an_array_that_a_trip_changes_before_it_lets_go_of_it():
    check(written_inside, A, X, 3)


def two_of_a_kind(A, x, n):
    u, v = x.copy(), x.copy()
    for _ in range(n):
        w = A @ (u * v)
        u, v = v, w
    return (u * v).sum()


def test_a_pair_that_moves_up():
    check(two_of_a_kind, A, X, 3)


def relax(u, n):
    v = u.copy()
    for _ in range(n):
        w = v.copy()
        for i in range(1, u.size - 1):
            w[i] = 0.5 * v[i] + 0.25 * (v[i - 1] + v[i + 1])
        v = w
    return (v * v).sum()


def test_a_linear_relaxation_keeps_nothing_not_even_for_its_shape():
    source = check(relax, np.sin(np.arange(6.0)), 4)
    assert "_tape" not in source
