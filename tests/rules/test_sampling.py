"""Draws that reject numbers on their way, against quantiles of scipy.stats; shuffles; and draws as numba makes them."""

import random

import numpy as np
import pytest
import scipy.stats as st
from numba import njit

import adjit
from adjit import errors

# A draw, its distribution, and parameters. (A draw by itself is no continuous function of them.)
DRAWS = [
    (np.random.gamma, lambda a, s: st.gamma(a, scale=s), (0.7, 1.9)),
    (np.random.gamma, lambda a, s: st.gamma(a, scale=s), (3.2, 0.4)),
    (np.random.standard_gamma, st.gamma, (0.4,)),
    (np.random.chisquare, st.chi2, (2.7,)),
    (np.random.standard_t, st.t, (3.4,)),
    (np.random.noncentral_chisquare, st.ncx2, (2.5, 1.3)),
    (np.random.noncentral_chisquare, st.ncx2, (0.6, 4.0)),
    (np.random.beta, st.beta, (0.6, 2.3)),
    (np.random.beta, st.beta, (4.0, 1.2)),
    (np.random.f, st.f, (3.5, 5.0)),
    (np.random.wald, lambda m, s: st.invgauss(m / s, scale=s), (1.4, 2.2)),
    (np.random.vonmises, lambda m, k: st.vonmises(k, loc=m), (0.3, 1.7)),
    (random.gammavariate, lambda a, s: st.gamma(a, scale=s), (1.6, 0.9)),
    (random.betavariate, st.beta, (1.6, 0.9)),
    (random.vonmisesvariate, lambda m, k: st.vonmises(k, loc=m), (0.3, 6.0)),
]


def along_quantile(distribution, parameters, z):
    """How z moves with each parameter while its place in the distribution stays."""
    slopes = []
    for k, p in enumerate(parameters):
        step = 1e-5 * p
        above, below = ([*parameters[:k], p + by, *parameters[k + 1 :]] for by in (step, -step))
        change = (distribution(*above).cdf(z) - distribution(*below).cdf(z)) / (2 * step)
        slopes.append(-change / distribution(*parameters).pdf(z))
    return np.array(slopes)


def of_seed(callee, count, seed):
    """A function of the parameters that draws once, the same each time."""

    def of_one(p):
        np.random.seed(seed)
        return callee(p[0])

    def of_two(p):
        np.random.seed(seed)
        return callee(p[0], p[1])

    def of_python(p):
        random.seed(seed)
        return callee(p[0], p[1])

    # Python's own streams are seeded in compiled functions alone
    is_pythons = isinstance(getattr(callee, "__self__", None), random.Random)
    return njit(of_python) if is_pythons else of_one if count == 1 else of_two


@pytest.mark.parametrize(("callee", "distribution", "parameters"), DRAWS)
def test_a_draw_moves_as_a_quantile(callee, distribution, parameters):
    p, direction = np.array(parameters), np.array([0.7, -1.3])[: len(parameters)]
    for seed in (1, 2):
        function = of_seed(callee, p.size, seed)
        value, gradient = adjit.value_and_grad(function, target="python")(p)
        assert value == getattr(function, "py_func", function)(p)
        np.testing.assert_allclose(gradient, along_quantile(distribution, parameters, value), rtol=1e-6)
        same, tangent = adjit.jvp(function, (p,), (direction,), target="python")
        assert same == value
        np.testing.assert_allclose(tangent, gradient @ direction, rtol=1e-12)


def in_a_program(a, s, n):
    total = np.sum(np.random.gamma(a, s, size=(2, n)) ** 2)
    for k in range(n):
        if k % 2 == 0:
            total *= np.random.standard_gamma(a) + k
    return total + np.sum(np.random.gamma(np.array([a, 2 * a]), 1.0))


def quantiles_of(u):
    """The same program of places in the distributions."""

    def function(a, s, n):
        total = np.sum(st.gamma(a, scale=s).ppf(u[: 2 * n]) ** 2)
        for k in range(n):
            if k % 2 == 0:
                total *= st.gamma(a).ppf(u[2 * n + k // 2]) + k
        return total + np.sum(st.gamma([a, 2 * a]).ppf(u[-2:]))

    return function


def test_draws_in_loops_branches_and_shapes():
    a, s, n = 1.3, 0.8, 3
    np.random.seed(5)
    of_draws = [st.gamma(a, scale=s)] * 6 + [st.gamma(a)] * 3 + [st.gamma(2 * a)]
    plain = quantiles_of(np.array([one.cdf(np.random.gamma(*one.args, **one.kwds)) for one in of_draws]))
    step = 1e-5
    expected = [
        (plain(a + step, s, n) - plain(a - step, s, n)) / (2 * step),
        (plain(a, s + step, n) - plain(a, s - step, n)) / (2 * step),
    ]
    np.random.seed(5)
    value, gradient = adjit.value_and_grad(in_a_program, wrt=(0, 1), target="python")(a, s, n)
    np.testing.assert_allclose(value, plain(a, s, n), rtol=1e-10)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    np.random.seed(5)
    _, tangent = adjit.jvp(in_a_program, (a, s, n), (0.3, -0.4, 0), target="python")
    np.testing.assert_allclose(tangent, 0.3 * gradient[0] - 0.4 * gradient[1], rtol=1e-12)


def test_the_mean_of_derivatives_is_that_of_the_mean():
    def mean_square(a, s):
        return np.mean(np.random.gamma(a, s, 2000) ** 2)

    np.random.seed(1)
    a, s = 1.7, 0.6
    gradient = adjit.grad(mean_square, wrt=(0, 1), target="python")(a, s)
    np.testing.assert_allclose(gradient, [(2 * a + 1) * s**2, 2 * a * (a + 1) * s], rtol=0.05)


def test_dirichlet():
    def function(alpha, w):
        np.random.seed(4)
        return np.sum(np.random.dirichlet(alpha, 3) * w)

    alpha, w = np.array([0.6, 1.7, 2.4]), np.arange(9.0).reshape(3, 3) ** 2
    np.random.seed(4)
    drops = np.random.standard_gamma(alpha, (3, 3))
    u, step = st.gamma(alpha).cdf(drops), 1e-5

    def moved(beta):
        found = st.gamma(beta).ppf(u)
        return np.sum(found / found.sum(axis=1, keepdims=True) * w)

    value, gradient = adjit.value_and_grad(function, target="python")(alpha, w)
    np.testing.assert_allclose(value, function(alpha, w), rtol=1e-14)
    expected = [(moved(alpha + step * e) - moved(alpha - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("size", [0, (0, 2)])
def test_no_draws(size):
    def function(a):
        return np.sum(np.random.gamma(a, 2.0, size)) + np.sum(np.random.beta(a, a, size)) + 3 * a

    assert adjit.grad(function, target="python")(1.5) == 3


def test_single_precision():
    def function(p):
        np.random.seed(3)
        return np.random.gamma(p[0], p[1])

    exact = adjit.grad(function, target="python")(np.array([1.5, 2.0]))
    single = adjit.grad(function, target="python")(np.array([1.5, 2.0], np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, rtol=1e-6)


def test_second_derivatives():
    def wald(p):
        np.random.seed(3)
        return np.random.wald(p[0], p[1])

    p = np.array([1.4, 2.2])
    u, step = st.invgauss(p[0] / p[1], scale=p[1]).cdf(wald(p)), 1e-3

    def moved(q):
        return st.invgauss(q[0] / q[1], scale=q[1]).ppf(u)

    rows, signs = step * np.eye(2), (1, -1)
    expected = [
        [sum(s * t * moved(p + s * d + t * e) for s in signs for t in signs) / (4 * step * step) for d in rows]
        for e in rows
    ]
    np.testing.assert_allclose(adjit.hessian(wald, target="python")(p), expected, rtol=1e-3)

    def gamma(p):
        return np.random.gamma(p[0], p[1])

    with pytest.raises(errors.NoRule, match="gamma_slope"):
        adjit.hessian(gamma, target="python")(p)


# ------------------------------------------------------------------------------------------------------------- shuffles


def shuffled(x):
    np.random.seed(3)
    random.seed(3)
    y, z = x * x, 2 * x
    np.random.shuffle(y)
    random.shuffle(z[0])
    return np.sum(y * np.arange(12.0).reshape(4, 3) * z)


def test_shuffles():
    x = np.arange(12.0).reshape(4, 3) + 0.5
    value, gradient = adjit.value_and_grad(njit(shuffled), target="python")(x)  # random.seed is refused elsewhere
    assert value == shuffled(x.copy())
    step = 1e-4
    expected = np.array(
        [(shuffled(x + step * e) - shuffled(x - step * e)) / (2 * step) for e in np.eye(12).reshape(12, 4, 3)]
    )
    np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-8)


def test_what_is_refused():
    def rows_chosen(x):
        return np.sum(np.random.choice(x, 2))

    with pytest.raises(errors.AdjitError, match="not a vector"):
        adjit.grad(rows_chosen)(np.ones((2, 2)))


# ---------------------------------------------------------------------------------------------------- as numba has them


def few(a, s, n):
    np.random.seed(3)
    x = np.random.normal(a, s, (2, n))
    return np.sum(x * np.random.weibull(a, n)) + np.random.gamma(a, s)


def many(a, s, n):
    np.random.seed(3)
    random.seed(3)
    found = np.zeros((2, n))
    found += np.random.normal(a, s, (2, n)) + np.random.uniform(a, s, (2, n)) + np.random.exponential(s, (2, n))
    found += np.random.lognormal(a, s, (2, n)) + np.random.laplace(a, s, (2, n)) + np.random.logistic(a, s, (2, n))
    found += np.random.gumbel(a, s, (2, n)) + np.random.rayleigh(s, (2, n)) + np.random.weibull(s, (2, n))
    found += np.random.pareto(s, (2, n)) + np.random.power(s, (2, n)) + np.random.triangular(-a, s, 2 * s + a, (2, n))
    found += np.random.gamma(a, s, (2, n)) + np.random.beta(a, s, (2, n)) + np.random.chisquare(a, (2, n))
    found += np.random.standard_gamma(a, (2, n)) + np.random.standard_t(a, (2, n)) + np.random.f(a, s, (2, n))
    found += np.random.noncentral_chisquare(a, s, (2, n)) + np.random.wald(a, s, (2, n))
    found += np.random.vonmises(a, s, (2, n)) + np.random.poisson(s, (2, n)) + np.random.choice(n, (2, n))
    found += np.random.dirichlet(np.array([a, s]), n).T * 3
    y = np.array([a, s, a * s])
    random.shuffle(y)
    np.random.shuffle(y)
    last = random.gauss(a, s) + random.normalvariate(a, s) + random.lognormvariate(a, s) + random.triangular(a, 4.0, s)
    last += random.paretovariate(s) + random.weibullvariate(a, s) + random.gammavariate(a, s) + random.expovariate(s)
    last += random.betavariate(a, s) + random.vonmisesvariate(a, s) + random.uniform(a, s)
    return np.sum(found * found) + last + y[0] * np.random.permutation(y)[1] + np.random.choice(y)


@pytest.mark.parametrize("function", [few, pytest.param(many, marks=pytest.mark.long)])
def test_draws_are_numbas(function):
    """The same numbers from the same state; and derivatives in both modes."""
    value, gradient = adjit.value_and_grad(function, wrt=(0, 1))(1.3, 1.9, 3)
    np.testing.assert_allclose(value, njit(function)(1.3, 1.9, 3), rtol=1e-13)
    _, tangent = adjit.jvp(function, (1.3, 1.9, 3), (0.3, -0.4, 0))
    np.testing.assert_allclose(tangent, 0.3 * gradient[0] - 0.4 * gradient[1], rtol=1e-10)


def seeded_by_python(x):
    random.seed(3)
    return x * random.random()


def seeded_by_numpy(x):
    np.random.seed(3)
    return x * np.random.normal(0.3, 2.0) + x * np.random.exponential(1.5) + x * np.random.random()


def test_streams_of_seeds():
    with pytest.raises(errors.Unsupported, match="random.seed"):
        adjit.grad(seeded_by_python)(1.5)
    assert adjit.value_and_grad(njit(seeded_by_python))(1.5)[0] == njit(seeded_by_python)(1.5)
    assert adjit.value_and_grad(seeded_by_numpy)(1.5)[0] == seeded_by_numpy(1.5)
