"""Which of two ways of the compiler's own is the usual one, and that both are right."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy

WITHOUT = Strategy(without=frozenset({"usual"}))


def smoothed(u, c):
    n, m = u.shape
    a, b = u.copy(), u.copy()
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = a[i, j] + c * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j])
        a, b = b, a
    return np.sum(a * a * a)


def of_one_way(u, c):
    total = 0.0
    for i in range(u.shape[0]):
        if u[i, 0] > 0.5:
            total += c * u[i, 0]
        else:
            for j in range(u.shape[1]):
                total += u[i, j]
    return total


@pytest.mark.parametrize("shape", [(5, 7), (4, 4), (3, 9), (9, 3), (2, 2), (1, 4), (0, 3)])
def test_both_ways(shape):
    u = np.linspace(0.3, 1.4, shape[0] * shape[1]).reshape(shape)
    value, tangent = adjit.jvp(smoothed, (u, 0.1), (np.cos(u), 0.0))
    fast, slow = (adjit.value_and_grad(smoothed, strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    for gradient in (fast, slow):
        found, bar = gradient(u, 0.1)
        assert found == pytest.approx(value, rel=1e-14)
        assert np.sum(bar * np.cos(u)) == pytest.approx(tangent, rel=1e-12)
    np.testing.assert_array_equal(fast(u, 0.1)[1], slow(u, 0.1)[1])


def test_what_is_usual_is_said():
    u = np.ones((5, 7))
    assert "if usual(" in adjit.grad(smoothed).source(u, 0.1, tuned=True)
    # it is the user who knows of those
    assert "usual(" not in adjit.grad(of_one_way).source(u, 0.1, tuned=True)
    assert "usual(" not in adjit.grad(smoothed).source(u, 0.1)
    assert "usual(" not in adjit.grad(smoothed, strategy=WITHOUT).source(u, 0.1, tuned=True)
