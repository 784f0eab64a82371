"""Elementary functions of rows, in calls for a block of rows: which loops are parted, and that each number is what it
was."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import Strategy

WITHOUT = Strategy(without=frozenset({"functions"}))
TYPES = "float64[:, ::1], float64[:, ::1]"


def log_sum_exp(x, w):
    """Both sweeps in a trip, which keeps its exponentials."""
    return np.sum(w[:, 0] * np.log(np.sum(np.exp(x - x.max(1, keepdims=True)), 1)))


def softmax(x, w):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.sum(w * (e / e.sum(axis=1, keepdims=True)))


def likelihood(x, w):
    """A tape of rows, to which the call stores."""
    logits = x @ w.T
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.sum((shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))[:, :1])


def of_two(x, w):
    """Values of both kinds and a view go from part to part; the second function has no call."""
    total = 0.0
    for i in range(x.shape[0]):
        k = int(abs(w[i, 0])) % x.shape[1]
        row = w[i]
        least = x[i, k] + np.min(row)
        s = np.sum(np.tanh(x[i] - least))
        total += s * row[k] + np.sum(np.exp(x[i] - s) * row)
    return total


TAKEN = {log_sum_exp: "exp", softmax: "exp", likelihood: "exp", of_two: "tanh"}


def forward(x, w):
    return np.sum(w * np.log1p(x * x + w * w - 0.5))


def over_rows_before(x, w):
    """A trip reads what the one before has stored."""
    y = x.copy()
    for i in range(1, x.shape[0]):
        total = np.sum(y[i - 1])
        y[i] = np.exp(x[i] - total) * w[i]
    return np.sum(y * y)


def of_parts(x, w):
    """Rows that do not lie one after the other."""
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sum(np.exp(x[i, 1:] - w[i, 0])) ** 2
    return total


def of_what_it_adds(x, w):
    """A number that is added to in both parts."""
    total = 0.0
    for i in range(x.shape[0]):
        largest = np.max(x[i])
        total += largest
        total += np.sum(np.exp(x[i] - largest) * w[i]) ** 2
    return total


def drawn(n, m, kind=np.float64):
    draw = np.random.default_rng(n + m)
    return tuple(draw.normal(size=(n, m)).astype(kind) for _ in range(2))


def derived(function, strategy=None):
    options = {} if strategy is None else {"strategy": strategy}
    return adjit.value_and_grad(function, wrt=("x", "w"), **options)


@pytest.mark.parametrize("function", list(TAKEN))
def test_loops_over_rows_are_parted(function):
    text = derived(function).source(TYPES, tuned=True)
    assert text.count(f"vectormath.{TAKEN[function]}_of_rows(") == 1
    assert "_of_rows(" not in derived(function, WITHOUT).source(TYPES, tuned=True)


@pytest.mark.parametrize("function", [forward, over_rows_before, of_parts, of_what_it_adds])
def test_others_stay_as_they_are(function):
    assert "_of_rows(" not in derived(function).source(TYPES, tuned=True)


def of_columns(x, w):
    return np.sum(w.T * np.exp(x.T - x.T.max(axis=-1).reshape((-1, 1))))


def of_planes(x, w):
    return np.sum(w * np.exp(x - x.max(axis=-1, keepdims=True)))


def test_rows_lie_one_after_the_other_and_axes_before_them_do_not_matter():
    assert "_of_rows(" not in derived(of_columns).source(TYPES, tuned=True)
    assert "_of_rows(" in derived(of_planes).source("float64[:, :, ::1], float64[:, :, ::1]", tuned=True)
    given = tuple(a.reshape(4, 5, 10) for a in drawn(20, 10))
    (value, gradient), (expected, wanted) = derived(of_planes)(*given), derived(of_planes, WITHOUT)(*given)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)


@pytest.mark.parametrize("function", [*TAKEN, of_what_it_adds])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 10), (250, 10), (3, 130), (7, 1100)])
def test_every_number_is_what_it_was(function, n, m):
    given = drawn(n, m)
    value, gradient = derived(function)(*given)
    expected, wanted = derived(function, WITHOUT)(*given)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for found, other in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-10, atol=1e-12)


def test_single_precision():
    given = drawn(40, 10, np.float32)
    value, gradient = derived(softmax)(*given)
    expected, wanted = derived(softmax, WITHOUT)(*given)
    assert all(g.dtype == np.float32 for g in gradient)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for found, other in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(found, other, atol=1e-6)


def test_rows_without_elements_are_an_error_as_before():
    with pytest.raises(ValueError, match="zero-size|without elements"):
        derived(softmax)(np.ones((3, 0)), np.ones((3, 0)))
