import numba
import numpy as np
import pytest

from adjit import rules
from adjit.errors import TypeMismatch, WrongWrt
from adjit.rules import registry
from adjit.runtime.api import grad, hvp, jvp, positions_of, stop_gradient, value_and_grad, vjp

X = np.array([1.0, -2.0, 0.5])
DOT = np.array([0.5, 1.0, -1.0])


def test_grad_and_value(handmade):
    np.testing.assert_array_equal(grad(handmade.energy)(X, 3.0), 6.0 * X)
    value, (x_bar, k_bar) = value_and_grad(handmade.energy, wrt=("x", -1))(X, 3.0)
    assert (value, k_bar) == (15.75, 5.25)
    np.testing.assert_array_equal(x_bar, 6.0 * X)


def test_decorators(handmade):
    for decorator in (grad, grad(wrt="x"), grad()):
        assert decorator(handmade.energy) is grad(handmade.energy)


@pytest.mark.parametrize("wrt", [2, -3, "z", (0, 5), 1.0, None, True, (), (0, "x"), (0, -2)])
def test_wrong_wrt(handmade, wrt):
    with pytest.raises(WrongWrt):
        grad(handmade.energy, wrt=wrt)


def test_positions(handmade):
    assert positions_of(handmade.energy, "k") == ((1,), True)
    assert positions_of(handmade.energy, ["k", 0]) == ((1, 0), False)
    assert positions_of(handmade.energy, np.int64(1)) == ((1,), True)


def test_unknown_option(handmade):
    with pytest.raises(TypeError, match="fast"):
        grad(handmade.energy, fast=True)


def test_jvp(handmade):
    value, change = jvp(handmade.energy, (X, 3.0), (DOT, 2))
    assert value == 15.75
    assert change == 6.0 * X @ DOT + 2.0 * 5.25
    assert jvp(handmade.energy, (X,), (DOT,))[1] == 4.0 * X @ DOT


def test_vjp(handmade):
    x = X.copy()
    value, pullback = vjp(handmade.energy, x, 3.0)
    x[:] = 0.0
    for seed in (2, 2.0, np.float64(2.0), np.array(2.0)):
        x_bar, k_bar = pullback(seed)
        np.testing.assert_array_equal(x_bar, 12.0 * X)
        assert (value, k_bar) == (15.75, 10.5)


def test_only_given_arguments_have_an_adjoint(handmade):
    (x_bar,) = vjp(handmade.energy, X)[1](1.0)
    np.testing.assert_array_equal(x_bar, 4.0 * X)


def test_derivatives_of_derivatives(handmade):
    gradient = grad(handmade.energy)
    np.testing.assert_array_equal(jvp(gradient, (X, 3.0), (DOT, 2.0))[1], 6.0 * DOT + 4.0 * X)
    x_bar, k_bar = vjp(gradient, X, 3.0)[1](DOT)
    np.testing.assert_array_equal(x_bar, 6.0 * DOT)
    assert k_bar == 2.0 * X @ DOT
    np.testing.assert_array_equal(hvp(handmade.energy)(X, 3.0, DOT), 6.0 * DOT)
    np.testing.assert_array_equal(hvp(handmade.energy)(X, DOT), 4.0 * DOT)


def test_tuples_and_integers(handmade):
    value, pullback = vjp(handmade.pair, 2.0, 3, (5.0, X))
    assert value[:2] == (10.0, 3)
    x_bar, n_bar, (first, second) = pullback((1.0, None, DOT))
    assert n_bar is None
    assert first == 2.0
    assert x_bar == pytest.approx(5.0 + DOT @ (X * X), rel=1e-15)
    np.testing.assert_array_equal(second, 4.0 * X * DOT)
    _, change = jvp(handmade.pair, (2.0, 3, (5.0, X)), (1.0, 7.5, (0, DOT)))
    assert change[:2] == (5.0, 0)


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ((DOT[:2], 1.0), r"the tangent of argument 'x' is an array of shape \(2,\), not an array of shape \(3,\)"),
        ((1.0, 1.0), "the tangent of argument 'x' is of type float"),
        ((DOT.astype(complex), 1.0), "an array of complex128, not of float64"),
        (([1.0, 2.0, 3.0], 1.0), "a list of 3"),
        ((DOT, DOT), "the tangent of argument 'k' is an array of shape"),
        ((DOT, None), "the tangent of argument 'k' is None"),
        ((DOT, True), "the tangent of argument 'k' is of type bool"),
        ((DOT,), "1 tangents for 2 arguments"),
    ],
)
def test_wrong_tangents(handmade, tangents, message):
    with pytest.raises(TypeMismatch, match=message):
        jvp(handmade.energy, (X, 1.0), tangents)


def test_wrong_seeds(handmade):
    with pytest.raises(TypeMismatch, match="the seed is an array"):
        vjp(handmade.energy, X, 1.0)[1](X)
    pullback = vjp(handmade.pair, 2.0, 3, (5.0, X))[1]
    with pytest.raises(TypeMismatch, match="the seed is of type float, not a tuple of 3"):
        pullback(1.0)
    with pytest.raises(TypeMismatch, match=r"the seed\[2\] is an array of shape"):
        pullback((1.0, None, DOT[:1]))


def test_wrong_vector(handmade):
    with pytest.raises(TypeMismatch, match="the vector along 'x'"):
        hvp(handmade.energy)(X, 1.0, 3.0)


def test_integer_tangent_arrays_are_converted(handmade):
    assert jvp(handmade.energy, (X, 1.0), (np.array([1, 0, 0]), 0))[1] == 2.0


def test_nothing_active(handmade):
    value, change = jvp(handmade.chosen, (3,), (1,))
    assert (value, change) == (3, 0)
    assert vjp(handmade.chosen, 3)[1](1) == (None,)


def test_stop_gradient():
    held = stop_gradient(X)
    assert held is not X
    np.testing.assert_array_equal(held, X)
    assert stop_gradient(2.0) == numba.njit(lambda x: stop_gradient(x))(2.0) == 2.0
    np.testing.assert_array_equal(numba.njit(lambda x: stop_gradient(x))(X), X)
    entry = registry.lookup(stop_gradient)
    assert entry is not None
    assert entry.constant
    assert rules.constant is registry.constant
