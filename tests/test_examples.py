"""The demo's objective has right gradients, on a small problem (the demo itself is `make demo`)."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import adjit

FILE = Path(__file__).parent.parent / "examples" / "mixture.py"


@pytest.fixture(scope="module")
def mixture():
    spec = importlib.util.spec_from_file_location("mixture", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def problem():
    """logits, means, factors, points: two components, three features, seven points."""
    draw = np.random.default_rng(3)
    factors = np.tril(0.4 * draw.normal(size=(2, 3, 3)))
    return draw.normal(size=2), draw.normal(size=(2, 3)), factors, draw.normal(size=(7, 3))


def test_objective_is_the_likelihood(mixture, problem):
    logits, means, factors, points = problem
    weights = np.exp(logits) / np.exp(logits).sum()
    densities = np.zeros(len(points))
    for weight, mean, covariance in zip(weights, means, mixture.covariances_of(factors), strict=True):
        offset = points - mean
        distance = np.einsum("ni,ij,nj->n", offset, np.linalg.inv(covariance), offset)
        densities += weight * np.exp(-0.5 * distance) / math.sqrt(np.linalg.det(2.0 * math.pi * covariance))
    assert mixture.negative_log_likelihood(*problem) == pytest.approx(-np.log(densities).mean(), rel=1e-13)


def test_vector_and_parameters_are_inverse(mixture, problem):
    logits, means, factors, _ = problem
    for found, wanted in zip(mixture.unpack(mixture.pack(logits, means, factors), 2, 3), problem, strict=False):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(mixture.factors_of(mixture.covariances_of(factors)), factors, atol=1e-14)


def test_gradients(mixture, problem):
    adjit.check_grads(mixture.negative_log_likelihood, problem)


def test_upper_triangles_do_not_count(mixture, problem):
    value, gradient = adjit.value_and_grad(mixture.negative_log_likelihood, wrt="factors")(*problem)
    assert value == pytest.approx(mixture.negative_log_likelihood(*problem), rel=1e-14)
    assert not np.triu(gradient, 1).any()
    assert np.tril(gradient).all(axis=0)[np.tril_indices(3)].all()
