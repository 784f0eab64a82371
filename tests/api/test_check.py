import numba
import numpy as np
import pytest

import adjit
from adjit import rules
from adjit.api.tools.check import check_grads
from adjit.errors import SourceUnavailable, WrongWrt
from tests.api.programs import X, energy, overwritten, pair, relaxed, scaled, whole


@numba.njit
def square(x):
    return x * x


@numba.njit
def doubled(x):
    return 2.0 * x


# rules are taken on faith; the check is what finds these two out
rules.partials(square, lambda x: 3.0 * x)


@rules.tangent(doubled)
def _right(x, x_dot):
    return 2.0 * x_dot


@rules.adjoint(doubled)
def _wrong(x, *, y, y_bar):
    return 3.0 * y_bar


def test_right():
    check_grads(energy, (X, 3.0))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (energy, (X,)),
        (pair, (2.0, 3, (5.0, X))),
        (scaled, (X, 3.0)),
        (overwritten, (X,)),
        (relaxed, (X, 3)),
        (scaled, (X.astype(np.float32), np.float32(3.0))),
    ],
)
def test_right_in_plain_python(function, arguments):
    check_grads(function, arguments, target="python")


def test_third_order():
    check_grads(lambda x: x**4 * np.exp(x), (0.7,), order=3, target="python")


def test_small_arguments():
    """Steps go down to where they stay inside the domain of a function of small numbers."""
    check_grads(lambda x: np.sum(np.log(x)), (np.array([1e-5, 2e-5]),), target="python")
    with pytest.raises(AssertionError, match="differs from finite differences"):
        check_grads(
            lambda x: np.sum(np.log(x)) + 1e9 * square(x[0]), (np.array([1e-5, 2e-5]),), order=1, target="python"
        )


def test_says_which_derivative_differs_and_what_the_user_decided():
    def kinked(x):
        if x > 0.0:
            return x + x * abs(x) + x**3
        return x + x**3

    with pytest.raises(AssertionError, match=r"derivative 2 of 2\)\n  L\d+, if x > 0.0:, is decided by x, and held"):
        check_grads(kinked, (0.0,), target="python")


@pytest.mark.parametrize("value", [np.ones(3), [1.0], {"a": 1.0}])
def test_values_are_not_functions(value):
    for call in (
        adjit.grad, adjit.jacobian, adjit.hessian, adjit.vmap, adjit.rounding_error, adjit.fixed_point,
        lambda f: adjit.implicit(f, f), lambda f: adjit.vjp(f, 1.0), lambda f: adjit.jvp(f, (1.0,), (1.0,)),
        lambda f: check_grads(f, (1.0,)),
    ):  # fmt: skip
        with pytest.raises(SourceUnavailable, match="is not a function"):
            call(value)


def test_wrong():
    with pytest.raises(AssertionError, match="differs from finite differences"):
        check_grads(lambda x: x + square(x), (2.0,), target="python")


def test_modes_differ():
    with pytest.raises(AssertionError, match="forward and reverse mode differ"):
        check_grads(lambda x: np.sum(doubled(x)), (X,), target="python")


def test_wrong_in_one_argument():
    def function(x, y):
        return square(x) * y

    check_grads(function, (2.0, 3.0), wrt="y", order=1, target="python")
    with pytest.raises(AssertionError, match="differs from finite differences"):
        check_grads(function, (2.0, 3.0), wrt=(1, 0), order=1, target="python")


def test_nothing_to_check():
    with pytest.raises(WrongWrt):
        check_grads(whole, (3,))
