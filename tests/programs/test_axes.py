"""Reductions along axes, one or several, kept or not: the value is NumPy's, and both modes agree with differences."""

import numpy as np
import pytest

import adjit

A = np.random.default_rng(5).normal(size=(2, 3, 4))
W = np.random.default_rng(6).normal(size=(2, 3, 4))
AXES = [0, 1, 2, -1, (0, 2), (1, 2), (0, 1), (2, 0), (0, 1, 2), None]


def _program(reduction, axis, keepdims):
    if reduction == "sum":
        return lambda a, w: np.sum(np.sum(a * w, axis=axis, keepdims=keepdims) ** 2 * np.sum(w))
    if reduction == "mean":
        return lambda a, w: np.sum(np.mean(a * w, axis=axis, keepdims=keepdims) ** 2 * np.sum(w))
    if reduction == "max":
        return lambda a, w: np.sum(np.max(a * w, axis=axis, keepdims=keepdims) ** 2 * np.sum(w))
    return lambda a, w: np.sum((a * w).min(axis, keepdims=keepdims) ** 2 * np.sum(w))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min"])
def test_reduction(reduction, axis):
    for keepdims in (False, True):
        function = _program(reduction, axis, keepdims)
        value, (bar, _) = adjit.value_and_grad(function, (0, 1), target="python")(A, W)
        assert value == pytest.approx(function(A, W), rel=1e-13)
        tangent = adjit.jvp(function, (A, W), (W, 0.0 * W), target="python")[1]
        assert np.sum(bar * W) == pytest.approx(tangent, rel=1e-12)
        step = 1e-5
        difference = (function(A + step * W, W) - function(A - step * W, W)) / (2 * step)
        assert tangent == pytest.approx(difference, rel=1e-7)


def normalised(a):
    shifted = a - a.max(axis=1, keepdims=True)
    weights = np.exp(shifted)
    return np.sum((weights / weights.sum(axis=1, keepdims=True)) ** 2 * a.mean(axis=0))


def test_softmax_along_an_axis():
    adjit.check_grads(normalised, (A[0],), order=1, target="python")
    np.testing.assert_allclose(adjit.grad(normalised)(A[0]), adjit.grad(normalised, target="python")(A[0]), rtol=1e-12)


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_equally(name):
    """In each row for itself, in both modes; also where more than two tie."""
    a = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    function = (lambda a, w: np.sum(w * a.max(axis=1))) if name == "max" else (lambda a, w: np.sum(w * a.min(axis=1)))
    best = a.max(axis=1) if name == "max" else a.min(axis=1)
    ties = a == best[:, None]
    w = np.array([3.0, 4.0, 5.0])
    wanted = w[:, None] * ties / ties.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(adjit.grad(function, target="python")(a, w), wanted)
    along = np.arange(9.0).reshape(3, 3)
    tangent = adjit.jvp(function, (a, w), (along, 0.0 * w), target="python")[1]
    assert tangent == pytest.approx(np.sum(wanted * along), rel=1e-15)


def test_second_order_and_rows_of_zero_length():
    adjit.check_grads(lambda a: np.sum(np.max(a * a * a, axis=(0, 1)) ** 2), (A,), target="python")
    assert adjit.value_and_grad(lambda a: np.sum(np.max(a, axis=1)), target="python")(np.ones((0, 3)))[0] == 0.0
