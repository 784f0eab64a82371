import numpy as np
import pytest

from adjit.api.functions import hessian, jacfwd, jacobian, jacrev
from adjit.errors import WrongWrt
from tests.api.programs import X, energy, overwritten, pair, scaled

OF = [jacfwd, jacrev, jacobian]


@pytest.mark.parametrize("of", OF)
def test_matrix(of):
    np.testing.assert_array_equal(of(scaled)(X, 3.0), np.diag(6.0 * X))
    np.testing.assert_array_equal(of(scaled, wrt="k", target="python")(X, 3.0), X * X)
    by_x, by_k = of(wrt=(0, 1), target="python")(scaled)(X, 3.0)
    np.testing.assert_array_equal(by_x, np.diag(6.0 * X))
    np.testing.assert_array_equal(by_k, X * X)
    assert of(scaled).__name__ == "scaled"


@pytest.mark.parametrize("of", OF)
def test_scalar_result(of):
    np.testing.assert_array_equal(of(energy, target="python")(X, 3.0), 6.0 * X)
    assert of(energy, wrt=1, target="python")(X, 3.0) == 5.25


@pytest.mark.parametrize("of", OF)
def test_defaults_and_keywords(of):
    of_energy = of(energy, target="python")
    np.testing.assert_array_equal(of_energy(X), 4.0 * X)
    np.testing.assert_array_equal(of_energy(X, k=3.0), 6.0 * X)
    assert of(energy, wrt="k", target="python")(X) == 5.25


@pytest.mark.parametrize("of", OF)
def test_matrices_have_all_axes(of):
    x = np.arange(6.0).reshape(2, 3)
    got = of(scaled, target="python")(x, 1.0)
    assert got.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(got.reshape(6, 6), np.diag(2.0 * x.ravel()))


@pytest.mark.parametrize("of", OF)
def test_tuples(of):
    got = of(pair, wrt=("x", "both"), target="python")(2.0, 3, (5.0, X))
    (f_x, (f_a, f_b)), (n_x, (n_a, n_b)), (g_x, (g_a, g_b)) = got
    assert (f_x, f_a, n_x, n_a) == (5.0, 2.0, 0.0, 0.0)
    assert f_b.shape == n_b.shape == (3,)
    assert not f_b.any()
    np.testing.assert_array_equal(g_x, X * X)
    np.testing.assert_array_equal(g_a, np.zeros(3))
    np.testing.assert_array_equal(g_b, np.diag(4.0 * X))


@pytest.mark.parametrize("of", OF)
def test_arguments_stay_as_they_were(of):
    x = X.copy()
    got = of(overwritten, target="python")(x)
    np.testing.assert_array_equal(got, [[0.0, 0.0, 0.0], [0.0, 0.5, -2.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(x, X)


def test_empty():
    assert jacfwd(scaled, target="python")(X[:0], 3.0).shape == (0, 0)
    assert jacrev(scaled, target="python")(X[:0], 3.0).shape == (0, 0)


def test_hessian():
    np.testing.assert_array_equal(hessian(energy)(X, 3.0), 6.0 * np.eye(3))
    (xx, xk), (kx, kk) = hessian(energy, wrt=(0, 1), target="python")(X, 3.0)
    np.testing.assert_array_equal(xx, 6.0 * np.eye(3))
    np.testing.assert_array_equal(xk, 2.0 * X)
    np.testing.assert_array_equal(kx, 2.0 * X)
    assert kk == 0.0
    of_cube = hessian(target="python")(lambda x: np.sum(x**3))
    np.testing.assert_array_equal(of_cube(X), np.diag(6.0 * X))


def test_integer():
    with pytest.raises(WrongWrt, match="`n` of pair is an integer"):
        jacfwd(pair, wrt="n")(2.0, 3, (5.0, X))
