"""Generators of random numbers in programs: seeded inside."""

import numpy as np
import pytest

import adjit
from adjit import errors
from tests.programs.harness import check

X = np.array([0.8, 1.6, 0.9])


def numbers(x):
    rng = np.random.default_rng(3)
    total = rng.normal(x[0], x[1]) + rng.laplace(x[0], x[1]) * rng.logistic(x[0], x[1]) + rng.gumbel(x[0], x[1])
    total += rng.lognormal(x[0], x[1]) * rng.uniform(x[0], x[1]) + rng.exponential(x[0]) + rng.rayleigh(x[1])
    total += rng.weibull(x[1]) * rng.pareto(x[1]) + rng.power(x[1]) * rng.gamma(1.7, x[0])
    return total + rng.triangular(x[0] - 2, x[1], x[1] + 3) * rng.triangular(-x[0], 0.1, x[1]) * rng.random()


def arrays(x):
    rng = np.random.default_rng(3)
    w = np.arange(6.0).reshape(2, 3)
    total = rng.normal(x, x[0], (2, 3)) * w + rng.laplace(x[0], 2.0, size=(2, 3)) * rng.logistic(0.0, x, (2, 3))
    total += rng.weibull(x, size=(2, 3)) + rng.pareto(4 * x[1], (2, 3)) + rng.power(x[1], (2, 3))
    total += rng.gamma(0.6, x, (2, 3)) + rng.triangular(-x, x, 2.0, (2, 3)) + rng.normal([x[0], x[1], 1.0], 0.5, (2, 3))
    return total * rng.poisson(3.0, 3)


def picked(x):
    rng = np.random.default_rng(3)
    y = np.array([x[0], x[1], x[2], 2.0])
    z = rng.permutation(y) * rng.choice(y, 4)
    rng.shuffle(y)
    other = rng.choice([x[0], x[1], x[2]], size=4, p=[0.2, 0.3, 0.5]) + rng.choice(y, 4, replace=False)
    return np.sum(z * y * other) * rng.choice([x[0], x[2]])


@pytest.mark.parametrize("function", [numbers, arrays, picked], ids=lambda f: f.__name__)
def test_seeded(function) -> None:
    check(function, lambda: (X.copy(),), second=False)


def test_seeded_draws_are_numpys() -> None:
    assert adjit.value_and_grad(numbers, target="python")(X)[0] == numbers(X)
    np.testing.assert_array_equal(adjit.vjp(arrays, X, target="python")[0], arrays(X))
    np.testing.assert_allclose(adjit.value_and_grad(numbers)(X)[0], numbers(X), rtol=1e-14)


REFUSED = [
    (lambda rng, x: rng.gamma(x[0], 2.0), "`gamma` .* a number that is not constant"),
    (lambda rng, x: rng.poisson(x[0]) * x[0], "`poisson` .* a number that is not constant"),
    (lambda rng, x: rng.normal(x, 1.0)[0], "`normal` .* not constant"),
    (lambda rng, x: rng.choice(x), "`choice` .* not constant"),
    (lambda rng, x: rng.normal(0.0, -1.0) * x[0], "scale < 0"),
    (lambda rng, x: rng.normal(x[0], 1.0, dtype=np.float32), "with these arguments"),
    (lambda rng, x: rng.multivariate_normal(x, np.eye(3))[0], "not constant"),
    (lambda rng, x: rng.spawn(2)[0].normal() * x[0], "`spawn`"),
]


@pytest.mark.parametrize(("draw", "message"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_refused(draw, message) -> None:
    def function(x):
        rng = np.random.default_rng(3)
        return draw(rng, x)

    with pytest.raises(errors.AdjitError, match=message):
        adjit.grad(function, target="python")(X)


def test_a_shape_that_does_not_fit() -> None:
    def function(x):
        return np.sum(np.random.default_rng(3).normal(x, 1.0, 2))

    with pytest.raises(ValueError, match="broadcast"):
        adjit.grad(function, target="python")(X)
    with pytest.raises(ValueError, match="broadcast"):
        adjit.grad(lambda x: np.sum(np.broadcast_to(x, (2,))), target="python")(X)
