"""Distributions of scipy.stats: values as SciPy's, slopes as the differences of those."""

import numpy as np
import pytest
from scipy import stats

import adjit
from tests.programs.harness import check

# shapes, and a point inside
DISTRIBUTIONS = {
    "norm": ((), 0.4), "t": ((3.5,), -0.7), "cauchy": ((), 0.6), "laplace": ((), -0.5), "logistic": ((), 0.8),
    "expon": ((), 0.7), "gamma": ((1.8,), 1.2), "chi2": ((3.3,), 2.1), "lognorm": ((0.6,), 1.4),
    "beta": ((1.7, 2.6), 0.3), "uniform": ((), 0.6),
}  # fmt: skip
METHODS = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf", "ppf")
LOC, SCALE = 0.2, 1.3


def functions(name, method):
    function = getattr(getattr(stats, name), method)
    count = len(DISTRIBUTIONS[name][0])
    return [
        lambda x, loc, scale: function(x, loc, scale),
        lambda x, a, loc, scale: function(x, a, loc, scale),
        lambda x, a, b, loc, scale: function(x, a, b, loc, scale),
    ][count]


def slope(f, point, k):
    """The central difference of the fourth order."""

    def at(step):
        return f(*(p + step * (j == k) for j, p in enumerate(point)))

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_values_and_slopes(name):
    shapes, x = DISTRIBUTIONS[name]
    for method in METHODS:
        f = functions(name, method)
        point = (0.3 if method == "ppf" else LOC + SCALE * x, *shapes, LOC, SCALE)
        value, gradient = adjit.value_and_grad(f, wrt=tuple(range(len(point))), target="python")(*point)
        assert value == pytest.approx(f(*point), rel=1e-12), method
        expected = [slope(f, point, k) for k in range(len(point))]
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9, err_msg=method)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_outside_of_the_support_and_with_parameters_that_are_none(name):
    shapes, _ = DISTRIBUTIONS[name]
    for method in METHODS:
        f = functions(name, method)
        evaluate = adjit.value_and_grad(f, wrt=0, target="python")
        xs = (0.1, 0.9) if method == "ppf" else (-40.0, LOC, LOC + SCALE, 40.0)
        points = [(x, *shapes, LOC, SCALE) for x in xs]
        points += [(0.5, *shapes, LOC, -1.0), (np.nan, *shapes, LOC, SCALE)]
        points += [(x, *(-s for s in shapes), LOC, SCALE) for x in xs for _ in shapes[:1]]
        with np.errstate(all="ignore"):
            for point in points:
                # of logarithms of 1 the last digits are rounding
                got = evaluate(*point)[0]
                np.testing.assert_allclose(got, f(*point), rtol=1e-11, atol=1e-15, err_msg=f"{method}{point}")


def by_defaults(x, s):
    return np.sum(stats.norm.logpdf(x, scale=s) + stats.norm.logpdf(x) * stats.gamma.logpdf(s, 2.0))


def test_arrays_and_defaults():
    check(by_defaults, lambda: (np.array([0.3, -1.0]), 0.7), (0, 1), target="cpu")


@pytest.mark.parametrize("k", [-1, 0, 2, 2.5, 7, np.nan])
def test_counts(k):
    cases = (
        (lambda k, mu: stats.poisson.logpmf(k, mu), (k, 1.7), 1),
        (lambda k, mu: stats.poisson.pmf(k, mu, 1), (k, 1.7), 1),
        (lambda k, n, p: stats.binom.logpmf(k, n, p), (k, 5, 0.3), 2),
        (lambda k, n, p: stats.binom.pmf(k, n, p), (k, 5, 0.3), 2),
    )
    for f, point, active in cases:
        value, gradient = adjit.value_and_grad(f, wrt=active, target="python")(*point)
        assert value == pytest.approx(f(*point), rel=1e-12, nan_ok=True)
        if np.isnan(value):
            continue
        expected = 0.0 if np.isinf(value) else slope(f, point, active)
        assert gradient == pytest.approx(expected, rel=1e-8, abs=1e-12)


def gaussian(x, mean, a):
    cov = a @ a.T + np.eye(2)
    return np.sum(stats.multivariate_normal.logpdf(x, mean, cov)) + stats.multivariate_normal(mean, cov).pdf(x[0])


AROUND = stats.multivariate_normal([0.3, -0.2], [[1.2, 0.3], [0.3, 0.8]])


def test_vectors():
    x, a = np.array([[0.2, 0.4], [1.1, -0.3], [0.5, 0.6]]), np.array([[0.4, 0.1], [-0.2, 0.7]])
    check(gaussian, lambda: (x.copy(), np.array([0.1, 0.3]), a.copy()), (0, 1, 2), second=False)
    by_cov = adjit.grad(lambda c: stats.multivariate_normal.logpdf(x[0], x[1], c), target="python")(a @ a.T + np.eye(2))
    np.testing.assert_allclose(by_cov, by_cov.T, rtol=1e-14)
    frozen = adjit.grad(lambda y: np.sum(AROUND.logpdf(y)), target="python")(x)
    np.testing.assert_allclose(frozen, np.linalg.solve(AROUND.cov, (AROUND.mean - x).T).T, rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        adjit.grad(lambda c: stats.multivariate_normal.logpdf(x[0], x[1], c), target="python")(-np.eye(2))


def test_the_distribution_counts_for_the_cache(tmp_path, monkeypatch, recwarn):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    (tmp_path / "cache").mkdir(mode=0o700)
    family = stats.norm

    def f(x):
        return family.logpdf(x)

    assert adjit.grad(f, cache=True)(0.5) == -0.5
    family = stats.logistic
    assert adjit.grad(f, cache=True)(0.5) == pytest.approx(-np.tanh(0.25))
    assert not recwarn.list


@pytest.mark.parametrize(
    "density",
    [
        lambda p: stats.gamma.pdf(0.0, p[0]),
        lambda p: np.sum(stats.beta.pdf(np.array([0.0, 0.5, 1.0]), p[0], p[1])) - stats.beta.pdf(0.5, p[0], p[1]),
        lambda p: stats.weibull_min.pdf(0.0, p[0], scale=p[1]) + stats.chi2.pdf(0.0, 2 * p[0]),
        lambda p: stats.lognorm.pdf(0.0, p[0]) + stats.expon.pdf(-1.0, scale=p[1]),
    ],
)
def test_densities_are_flat_where_they_vanish(density) -> None:
    value, bar = adjit.value_and_grad(density, target="python")(np.array([2.5, 1.5]))
    assert value == 0.0
    np.testing.assert_array_equal(bar, 0.0)
