"""Which arrays of a loop have to be kept for running its trips again, and that the others come back all the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST
from tests.transform.storage.test_reexecution import check

U = np.sin(np.arange(7.0)) + 1.5
STEPS = (0, 1, 2, 3, 5, 6)


def rims_apart(u, k, steps):
    """Only the inside of `v` is stored to, and what is at its ends differs from what `u` has there."""
    u = u.copy()
    v = 0.5 * u + 0.25
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(1, u.size - 1):
            v[i] = u[i] * u[i - 1] * k + 0.5 * u[i + 1]
        u, v = v, u
    return (u * u).sum() + v[0] * v[1]


def whole(u, k, steps):
    u = u.copy()
    v = 2.0 * u
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(u.size):
            v[i] = k * u[i] * u[u.size - 1 - i]
        u, v = v, u
    return (u * u).sum()


def three_places(u, k, steps):
    a, b, c = u.copy(), u * u, 0.5 * u
    for t in adjit.checkpoint(range(steps), 3):
        for i in range(1, a.size - 1):
            c[i] = k * a[i] * b[i - 1] + 0.1 * b[i + 1]
        a, b, c = b, c, a
    return (a * b * c).sum()


def old_target(u, k, steps):
    """What is in the target is read before it is stored to."""
    u = u.copy()
    v = 0.5 * u
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(1, u.size - 1):
            v[i] = 0.5 * v[i] + k * u[i] * u[i - 1]
        u, v = v, u
    return (u * v).sum()


def some_trips(u, k, steps):
    """Not each trip stores."""
    u = u.copy()
    v = 0.5 * u
    for t in adjit.checkpoint(range(steps), 2):
        if t % 2 == 0:
            for i in range(u.size):
                v[i] = k * u[i] * u[i]
        u, v = v, u
    return (u * v).sum()


def moving(u, k, steps):
    """What a trip stores to is where a later one reads."""
    u = u.copy()
    v = 0.5 * u
    for t in adjit.checkpoint(range(steps), 2):
        v[t + 1] = k * u[t] * u[t + 1]
        u, v = v, u
    return (u * v).sum()


def beside(u, k, steps):
    """Arrays around the loop: a table whose ends do not change, and one that is made in each trip."""
    total = 0.0
    table, scratch = 0.5 * u, np.empty(u.size)
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(1, u.size - 1):
            scratch[i] = k * table[i - 1] * table[i + 1]
        for i in range(1, u.size - 1):
            table[i] += 0.3 * scratch[i]
            total += scratch[i] * table[0]
    return total + (table * table).sum()


def ends_only(u, k, steps):
    """Of an array around the loop trips read only what none of them changes."""
    table, total = 0.5 * u, k
    for t in adjit.checkpoint(range(steps), 2):
        total = total * table[0] + np.sin(total) * table[0]
        for i in range(1, u.size - 1):
            table[i] = total * u[i]
    return total + (table * table).sum()


def taken(source):
    return set(re.findall(r"(\w+)_snapshots = ", source))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("function", "kept"),
    [
        (rims_apart, {"u"}),
        (whole, {"u"}),
        (three_places, {"a", "b"}),
        (old_target, {"u", "v"}),
        (some_trips, {"u", "v"}),
        (moving, {"u", "v"}),
        (beside, {"table"}),
        (ends_only, {"total"}),
    ],
)
def test_what_is_kept(function, kept, target):
    for steps in STEPS:
        source = check(function, (0, 1), U * 0.5, 0.3, steps, target=target)
    assert taken(source) == kept


@pytest.mark.parametrize("function", [rims_apart, three_places, old_target, ends_only])
def test_a_pullback(function):
    arguments = (U * 0.5, 0.3, 5)
    _, wanted = adjit.value_and_grad(function, wrt=(0, 1), target="python", strategy=CHEAPEST)(*arguments)
    _, pullback = adjit.vjp(function, *arguments)
    for _ in range(2):
        for found, want in zip(pullback(1.0), wanted, strict=False):
            np.testing.assert_allclose(found, want, rtol=1e-12)
