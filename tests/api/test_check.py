import numba
import numpy as np
import pytest

from adjit import rules
from adjit.api.tools.check import check_grads
from adjit.errors import WrongWrt
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


def test_wrong():
    with pytest.raises(AssertionError, match="not that of the function"):
        check_grads(lambda x: x + square(x), (2.0,), target="python")


def test_modes_differ():
    with pytest.raises(AssertionError, match="modes differ"):
        check_grads(lambda x: np.sum(doubled(x)), (X,), target="python")


def test_wrong_in_one_argument():
    def function(x, y):
        return square(x) * y

    check_grads(function, (2.0, 3.0), wrt="y", order=1, target="python")
    with pytest.raises(AssertionError, match="not that of the function"):
        check_grads(function, (2.0, 3.0), wrt=(1, 0), order=1, target="python")


def test_nothing_to_check():
    with pytest.raises(WrongWrt):
        check_grads(whole, (3,))
