"""Factorisations where eigenvalues or singular values are equal, exactly or to rounding, or are zero.

Both modes give what differences give of functions that are differentiable there; where only the choice of vectors
inside of an equal space matters, or values are used beside the vectors, nan.
"""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

TURN = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.7, 1.0]]))[0]
WEIGHTS = np.arange(9.0).reshape(3, 3) - 2.5


def like(*values):
    found = TURN @ np.diag(values) @ TURN.T
    return 0.5 * (found + found.T)


EQUAL = [np.diag([1.0, 1.0, 4.0]), like(1.0, 1.0, 4.0), like(1.0, 1.0 + 1e-14, 4.0), like(-2.0, -2.0, 4.0)]


def both_ways(function, a, tolerance=1e-6):
    options = {"target": "python", "strategy": CHEAPEST}
    with np.errstate(all="ignore"):
        reverse, forward = adjit.grad(function, **options)(a), adjit.jacfwd(function, **options)(a)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9)
    wanted = np.zeros(a.shape)
    for place in np.ndindex(a.shape):
        step = np.zeros(a.shape)
        step[place] = 1e-5
        wanted[place] = (function(a + step) - function(a - step)) / 2e-5
    np.testing.assert_allclose(reverse, wanted, atol=tolerance)


def the_vector_of_another_value(a):
    return np.linalg.eigh(a)[1][0, 2] ** 2 * a[1, 0]


def projection(a):
    v = np.linalg.eigh(a)[1]
    return np.sum(v[:, :2] @ v[:, :2].T * WEIGHTS)


def eigenvalues(a):
    return np.sum(np.exp(0.5 * np.linalg.eigvalsh(a))) + np.sum(np.linalg.eigh(a)[0] ** 2)


@pytest.mark.parametrize("a", EQUAL)
@pytest.mark.parametrize("function", [the_vector_of_another_value, projection, eigenvalues])
def test_equal_eigenvalues(function, a):
    both_ways(function, a)


def vector_of_a_nonsymmetric_matrix(a):
    v = np.linalg.eig(a.astype(complex))[1]
    return np.sum((v[:, 2] * v[:, 2].conj()).real * WEIGHTS[0])


def test_equal_eigenvalues_of_a_nonsymmetric_matrix():
    both_ways(vector_of_a_nonsymmetric_matrix, np.diag([1.0, 1.0, 4.0]))


def hermitian_projection(a):
    v = np.linalg.eigh(a + 1j * (a - a.T))[1]
    return np.sum((v[:, 2:] @ v[:, 2:].conj().T).real * WEIGHTS)


def test_equal_eigenvalues_of_a_hermitian_matrix():
    both_ways(hermitian_projection, EQUAL[1])


def polar_factor(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(u @ vt * WEIGHTS)


def singular_values(a):
    return np.linalg.norm(a, "nuc") + np.sum(np.linalg.svd(a)[1] ** 3)


@pytest.mark.parametrize("a", [2.0 * np.eye(3), like(2.0, 2.0, 5.0), TURN * 1.5, like(2.0, 2.0 - 1e-14, 5.0)])
@pytest.mark.parametrize("function", [polar_factor, singular_values])
def test_equal_singular_values(function, a):
    both_ways(function, a)


def norms(a):
    return np.linalg.norm(a, 2) + np.linalg.norm(a, -2) + np.linalg.norm(a, "nuc") + np.linalg.norm(a)


def conditions(a):
    x = np.linalg.lstsq(a, np.array([1.0, 2.0, 4.0]), rcond=None)[0]
    return np.linalg.cond(a) + np.sum(x**2) + np.sum(np.linalg.pinv(a) * WEIGHTS)


@pytest.mark.parametrize("a", [np.zeros((3, 3)), 2.0 * np.eye(3), np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])])
@pytest.mark.parametrize("function", [norms, conditions])
def test_both_modes_agree_at_kinks_and_where_rank_is_lost(function, a):
    """One of the slopes, the same in both modes; where the value is finite, so is that."""
    options = {"target": "python", "strategy": CHEAPEST}
    with np.errstate(all="ignore"):
        if not np.isfinite(function(a)):
            return
        reverse, forward = adjit.grad(function, **options)(a), adjit.jacfwd(function, **options)(a)
    assert np.isfinite(reverse).all()
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9 * np.abs(reverse).max())


def vectors_and_values(a):
    w, v = np.linalg.eigh(a)
    return v[0, 0] * w[0]


def test_what_depends_on_the_choice_is_named():
    with np.errstate(all="ignore"):
        found = adjit.grad(vectors_and_values, target="python")(EQUAL[0])
        assert not np.isfinite(found).all()
        with pytest.raises(FloatingPointError, match="test_equal_eigenvalues"):
            adjit.grad(vectors_and_values, target="python", debug="nan")(EQUAL[0])


def all_of_them(a):
    return the_vector_of_another_value(a) + projection(a) + polar_factor(a) + singular_values(a)


def test_compiled():
    a = EQUAL[1]
    found = adjit.grad(all_of_them)(a)
    with np.errstate(all="ignore"):
        wanted = adjit.grad(all_of_them, target="python", strategy=CHEAPEST)(a)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
