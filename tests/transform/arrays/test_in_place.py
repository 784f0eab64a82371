"""Arrays that trips make anew: left where they are only where no other variable has them when the trip is over."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.errors import Unsupported


def stored_by_its_other_name(u, n):
    w = u
    for _ in range(n):
        w = np.sin(u) * 2.0
        u = w
    w[1] = 7.0
    return np.sum(u * u) + 0.7 * np.sum(w)


def stored_by_its_own_name(u, n):
    w = u
    for _ in range(n):
        w = np.sin(u) * 2.0
        u = w
    u[1] *= u[0]
    return np.sum(u * u) + 0.7 * np.sum(w)


def stored_through_a_part(u, n):
    part = u[1:]
    for _ in range(n):
        made = np.sin(u) * 2.0
        part = made[1:]
        u = made
    part *= 3.0
    return np.sum(u * u) + 0.7 * np.sum(part)


def part_of_what_is_stored(u, n):
    part = u[1:]
    for _ in range(n):
        made = np.sin(u) * 2.0
        part = made[1:]
        u = made
    u *= u[0]
    return np.sum(u * u) + 0.7 * np.sum(part)


def stored_in_the_next_trip(u, n):
    w = u * 2.0
    total = 0.0
    for k in range(n):
        w[0] = 0.3 * k
        total += np.sum(u * u)
        w = np.sin(u) * 2.0
        u = w
    return total + np.sum(u) + 0.7 * np.sum(w)


def marked(u, n):
    part = u[1:]
    for _ in adjit.checkpoint(range(n)):
        made = np.sin(u) * 2.0
        part = made[1:]
        u = made
    part *= 3.0
    return np.sum(u * u) + 0.7 * np.sum(part)


ALIASED = [
    stored_by_its_other_name,
    stored_by_its_own_name,
    stored_through_a_part,
    part_of_what_is_stored,
    stored_in_the_next_trip,
]


@pytest.mark.parametrize("function", ALIASED)
def test_stores_are_seen_by_the_other_name_with_a_limit_of_memory(function):
    u = np.sin(1.0 + np.arange(4.0))
    value, gradient = adjit.value_and_grad(function, memory_limit=100, target="python")(u, 3)
    expected, without_limit = adjit.value_and_grad(function, target="python")(u, 3)
    assert value == expected == pytest.approx(function(u.copy(), 3), rel=1e-14)
    np.testing.assert_allclose(gradient, without_limit, rtol=1e-14)


def test_a_marked_loop_of_that_kind_is_refused():
    with pytest.raises(Unsupported, match="changes an array that has a second name"):
        adjit.grad(marked)(np.ones(4), 3)
