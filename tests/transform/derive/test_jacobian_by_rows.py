"""Jacobians by rows, against those by columns."""

import numpy as np
import pytest

import adjit
from tests.api.programs import relaxed as renewed
from tests.api.programs import swapped
from tests.transform.derive.test_jacobian_by_columns import RNG, calls, recursive, relaxed, residual, shaped


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("function", [residual, relaxed, recursive])
def test_sizes(function, size):
    x = RNG.uniform(0.2, 1.0, size)
    want = adjit.jacfwd(function, wrt=(0, 1))(x, 0.4)
    got = adjit.jacrev(function, wrt=(0, 1))(x, 0.4)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-11)  # sums in another order


@pytest.mark.long
def test_calls():
    x = RNG.uniform(0.2, 1.0, 5)
    np.testing.assert_allclose(adjit.jacrev(calls)(x, 0.4), adjit.jacfwd(calls)(x, 0.4), rtol=1e-11, atol=1e-11)


def test_results_in_a_tuple():
    x = RNG.uniform(0.2, 1.0, 6)
    for got, want in zip(adjit.jacrev(shaped)(x, 0.4), adjit.jacfwd(shaped)(x, 0.4), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("function", [renewed, swapped])
def test_sweeps_that_cannot_be_had_apart(function):
    """A tape of arrays, and arrays changed under two names: both sweeps run for each row."""
    x = RNG.uniform(0.2, 1.0, 4)
    want = adjit.jacfwd(function)(x, 3)
    np.testing.assert_allclose(adjit.jacrev(function)(x, 3), want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(adjit.jacrev(function)(x, 0), adjit.jacfwd(function)(x, 0))


def test_one_row_is_a_gradient():
    def energy(x, k):
        return k * np.sum(x * x)

    x = RNG.uniform(0.2, 1.0, 4)
    of = adjit.jacrev(energy, wrt=(0, 1))
    by_x, by_k = of(x, 3.0)
    np.testing.assert_allclose(by_x, 6.0 * x)
    assert by_k == pytest.approx(np.sum(x * x))
    assert "for row" not in of.source(x, 3.0, tuned=True)


def test_random_draws_are_made_once():
    def noisy(x):
        return np.random.normal() * x

    one = adjit.jacrev(noisy)(np.ones(3))
    np.testing.assert_array_equal(one, one[0, 0] * np.eye(3))


def test_an_argument_changed_in_place():
    """Views of one array are changed by the reverse sweep under several names."""

    def overwriting(x):
        x[0] *= 2.0
        x[1:] += x[:-1] * x[0]
        return x

    x = RNG.uniform(0.2, 1.0, 10)
    kept = x.copy()
    np.testing.assert_allclose(adjit.jacrev(overwriting)(x), adjit.jacfwd(overwriting)(x), rtol=1e-13)
    np.testing.assert_array_equal(x, kept)
