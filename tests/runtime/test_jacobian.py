import numpy as np
import pytest

from adjit.errors import WrongWrt
from adjit.runtime.jacobian import hessian, jacfwd, jacobian, jacrev

X = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("of", [jacfwd, jacrev, jacobian])
def test_matrix(handmade, of):
    np.testing.assert_array_equal(of(handmade.scaled)(X, 3.0), np.diag(6.0 * X))
    np.testing.assert_array_equal(of(handmade.scaled, wrt="k")(X, 3.0), X * X)
    by_x, by_k = of(wrt=(0, 1))(handmade.scaled)(X, 3.0)
    np.testing.assert_array_equal(by_x, np.diag(6.0 * X))
    np.testing.assert_array_equal(by_k, X * X)
    assert of(handmade.scaled).__name__ == "scaled"


@pytest.mark.parametrize("of", [jacfwd, jacrev, jacobian])
def test_scalar_result(handmade, of):
    np.testing.assert_array_equal(of(handmade.energy)(X, 3.0), 6.0 * X)
    assert of(handmade.energy, wrt=1)(X, 3.0) == 5.25


@pytest.mark.parametrize("of", [jacfwd, jacrev])
def test_matrices_have_all_axes(handmade, of):
    x = np.arange(6.0).reshape(2, 3)
    got = of(handmade.scaled)(x, 1.0)
    assert got.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(got.reshape(6, 6), np.diag(2.0 * x.ravel()))


@pytest.mark.parametrize("of", [jacfwd, jacrev])
def test_tuples(handmade, of):
    got = of(handmade.pair, wrt=("x", "both"))(2.0, 3, (5.0, X))
    (f_x, (f_a, f_b)), (n_x, (n_a, n_b)), (g_x, (g_a, g_b)) = got
    assert (f_x, f_a, n_x, n_a) == (5.0, 2.0, 0.0, 0.0)
    assert f_b.shape == n_b.shape == (3,)
    assert not f_b.any()
    np.testing.assert_array_equal(g_x, X * X)
    np.testing.assert_array_equal(g_a, np.zeros(3))
    np.testing.assert_array_equal(g_b, np.diag(4.0 * X))


def test_empty(handmade):
    assert jacfwd(handmade.scaled)(X[:0], 3.0).shape == (0, 0)
    assert jacrev(handmade.scaled)(X[:0], 3.0).shape == (0, 0)


def test_hessian(handmade):
    np.testing.assert_array_equal(hessian(handmade.energy)(X, 3.0), 6.0 * np.eye(3))


def test_integer(handmade):
    with pytest.raises(WrongWrt, match="argument 'n' has no float"):
        jacfwd(handmade.pair, wrt="n")(2.0, 3, (5.0, X))
