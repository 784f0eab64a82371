"""What one trip clears and the next adds to is stored to, where the induction over the trips holds."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

U = np.array([0.3, -1.2, 0.8, 2.0, 0.5])
K = np.array([0.2, 0.1, 0.4, 0.3, 0.25])


def blur(u, k, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        for i in range(1, a.size - 1):
            b[i] = a[i] + k[i] * (a[i - 1] + a[i + 1] - 2.0 * a[i])
        a, b = b, a
    return np.sum(a * a)


def source_of(function, *args):
    """The source, after the gradient is seen to be right for no trip, one, and several."""
    derived = adjit.grad(function, wrt=(0, 1), target="python", strategy=CHEAPEST)
    forward = adjit.jacfwd(function, wrt=(0, 1), target="python", strategy=CHEAPEST)
    for n in (0, 1, 2, 5):
        for found, expected in zip(derived(*args, n), forward(*args, n), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    return derived.source(*args, 2, tuned=True)


def clears_in_loop(source):
    """Whether the loop over the steps, last first, clears something."""
    loop = re.search(r"\n    for \w+ in range\(n - 1, -1, -1\):\n((?:        .*\n|\n)*)", source)
    return "] = 0.0" in loop[1]


def test_buffers_that_change_places():
    source = source_of(blur, U, K)
    assert not clears_in_loop(source)
    assert re.search(r"    if n > 0:\n        for i in range\(1, .*:\n            \w+\[i\] = 0\.0", source)
    assert "b_bar_2[i] = reassociable_sub(" in source


def test_too_short_for_a_trip():
    for size in (0, 1, 2, 3):
        gradient = adjit.grad(blur, target="python", strategy=CHEAPEST)(U[:size], K[:size], 3)
        np.testing.assert_allclose(
            gradient, adjit.jacfwd(blur, target="python", strategy=CHEAPEST)(U[:size], K[:size], 3), rtol=1e-12
        )


def whole(u, k, n):
    """Nothing of a buffer is left from before: no clear is needed after the loop, as nothing reads it."""
    a, b = u.copy(), np.zeros_like(u)
    for _ in range(n):
        for i in range(a.size):
            b[i] = k[i] * a[i] * a[a.size - 1 - i]
        a, b = b, a
    return np.sum(a)


def other_elements(u, k, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        for i in range(1, a.size):
            b[i] = a[i - 1] * k[i]
        a, b = b, a
    return np.sum(a * a)


def looked_at(u, k, n):
    """The sum of what is there before the trip stores to it has an adjoint of its own."""
    a, b = u.copy(), u.copy()
    s = 0.0
    for _ in range(n):
        for i in range(a.size):
            s += b[i] * k[i]
        for i in range(a.size):
            b[i] = a[i] * k[i]
        a, b = b, a
    return np.sum(a * a) + s


def used_afterwards(u, k, n):
    """Both buffers count: the adjoint of the second is not zero where the loop starts."""
    a, b = u.copy(), u.copy()
    for _ in range(n):
        for i in range(a.size):
            b[i] = a[i] * k[i]
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


def three(u, k, n):
    a, b, c = u.copy(), u.copy(), u.copy()
    for _ in range(n):
        for i in range(a.size):
            c[i] = a[i] * k[i] + b[i]
        a, b, c = b, c, a
    return np.sum(a * b * c)


def now_and_then(u, k, n):
    a, b = u.copy(), u.copy()
    for t in range(n):
        for i in range(a.size):
            if (t + i) % 2 == 0:
                b[i] = a[i] * k[i]
        a, b = b, a
    return np.sum(a * a)


def growing(u, k, n):
    """Each trip stores to more elements than the one before."""
    a, b = u.copy(), u.copy()
    for t in range(n):
        for i in range(min(t, a.size)):
            b[i] = a[i] * k[i]
        a, b = b, a
    return np.sum(a * a)


@pytest.mark.parametrize("function", [whole, other_elements, looked_at, used_afterwards, three, now_and_then, growing])
def test_gradients(function):
    source_of(function, U, K)


@pytest.mark.parametrize("function", [looked_at, used_afterwards, now_and_then, growing])
def test_what_is_not_zero_for_certain_is_added_to(function):
    assert clears_in_loop(source_of(function, U, K))


def from_the_end(u, k, n):
    """The first and the last trip of the inner loop may be at one element."""
    a, b = u.copy(), u.copy()
    for _ in range(n):
        for i in range(-2, 3):
            b[i] = a[i] * k[i]
        a, b = b, a
    return np.sum(a * a)


def test_indices_that_count_from_the_end():
    assert clears_in_loop(source_of(from_the_end, U[:4], K[:4]))
