"""Outer products are put off where no later trip of a block looks at what they are added to."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import Strategy
from adjit.transform.sweeps import delayed_updates
from tests.programs.harness import check

AT_ONCE = Strategy(without=frozenset({"delay"}))


def gram_schmidt(A, w):
    Q = np.zeros_like(A)
    for k in range(A.shape[0]):
        v = A[k] - (Q[:k] @ A[k]) @ Q[:k]
        Q[k] = v / np.sqrt(v @ v)
    return np.sum(Q * w)


def substitution(L, B):
    X = np.zeros_like(B)
    for i in range(B.shape[0]):
        X[i] = (B[i] - L[i, :i] @ X[:i]) / (2.0 + L[i, i] ** 2)
    return np.sum(X * X)


def back_substitution(U, B):
    X = np.zeros_like(B)
    n = B.shape[0]
    for i in range(n - 1, -1, -1):
        X[i] = (B[i] - U[i, i + 1 :] @ X[i + 1 :]) / (2.0 + U[i, i] ** 2)
    return np.sum(X * X)


def recurrent(A, w):
    h = w[0] * 1.0
    for t in range(w.shape[0]):
        h = np.tanh(A @ h + w[t])
    return np.sum(h * h)


def lagged(A, w):
    H = np.zeros_like(w)
    for t in range(2, w.shape[0]):
        H[t] = w[t] + 0.1 * (H[: t - 1] @ w[t]) @ H[: t - 1] + A[t] * H[t - 2]
    return np.sum(H * A)


def twofold(A, w):
    H, G = np.zeros_like(w), np.zeros_like(w)
    for t in range(w.shape[0]):
        H[t] = w[t] + 0.1 * (G[:t] @ A[t]) @ H[:t]
        G[t] = A[t] * H[t] - 0.1 * (H[:t] @ w[t]) @ G[:t]
    return np.sum(H * A) + np.sum(G * w)


def first_row_changed(A, w):
    Q = A.copy()
    for k in range(A.shape[0]):
        Q[0] = Q[0] * 0.5
        Q[k] = A[k] - 0.1 * (Q[:k] @ w[k]) @ Q[:k]
    return np.sum(Q * w)


def last_row_changed(A, w):
    H = A.copy()
    n = w.shape[0]
    for t in range(n - 3, -1, -1):
        H[n - 1] = H[n - 1] * 0.5
        H[t] = w[t] + 0.1 * (H[t + 1 :] @ A[t]) @ H[t + 1 :]
    return np.sum(H * A)


def more_rows_later(A, w):
    H = A.copy()
    for t in range(w.shape[0] - 1, -1, -1):
        H[t] = w[t] + 0.1 * (H[:t] @ A[t]) @ H[:t]
    return np.sum(H * A)


def in_a_branch(A, w):
    H = np.zeros_like(A)
    for t in range(w.shape[0]):
        if w[t, 0] > 0.0:
            H[t] = w[t] + 0.1 * (H[:t] @ A[t]) @ H[:t]
        else:
            H[t] = w[t] * A[t]
    return np.sum(H * A)


DELAYED = [gram_schmidt, substitution, back_substitution, recurrent, lagged, twofold]
OTHERS = [first_row_changed, last_row_changed, more_rows_later, in_a_branch]


def square(order):
    draw = np.random.default_rng(order)
    return np.eye(order) + draw.normal(size=(order, order)) / max(1, order), draw.normal(size=(order, order))


def is_delayed(function):
    return "block in range" in adjit.grad(function, wrt=(0, 1)).source(*square(3), tuned=True)


@pytest.fixture
def few(monkeypatch):
    """Blocks of three trips, for matrices of any size."""
    for name, value in {"TRIPS": 3, "FEW": 1, "LEAST": 0}.items():
        monkeypatch.setattr(delayed_updates, name, value)


@pytest.mark.parametrize("function", DELAYED)
def test_what_waits_is_added_as_one_product(function, few):
    assert is_delayed(function)
    for order in (1, 3, 7):
        for bar, expected in zip(*both_ways(function, order), strict=True):
            np.testing.assert_allclose(bar, expected, rtol=1e-12, atol=1e-12)
    check(function, lambda: square(5), (0, 1), second=False)


@pytest.mark.parametrize("function", OTHERS)
def test_what_a_later_trip_looks_at_does_not_wait(function, few):
    assert not is_delayed(function)
    check(function, lambda: square(5), (0, 1), second=False)


def test_blocks_of_many_trips():
    for bar, expected in zip(*both_ways(gram_schmidt, 75, target="cpu"), strict=True):
        np.testing.assert_allclose(bar, expected, rtol=1e-9, atol=1e-9)


def both_ways(function, order, target="python"):
    """The gradients with and without updates that wait."""
    ways = [{}, {"strategy": AT_ONCE}] if target == "cpu" else [{"strategy": Strategy()}, {"strategy": AT_ONCE}]
    return [adjit.grad(function, wrt=(0, 1), target=target, **way)(*square(order)) for way in ways]
