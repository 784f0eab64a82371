"""Distributions by their standard forms, and frozen ones: all methods at once, against SciPy's, and differences."""

import numpy as np
import pytest
from scipy import stats

import adjit
from adjit.rules.registry import lookup
from tests.defining import define
from tests.programs.harness import check

# shapes, and a place of the standard form
CONTINUOUS = {
    "norm": ((), 0.4), "t": ((3.5,), -0.7), "cauchy": ((), 0.6), "laplace": ((), -0.5), "logistic": ((), 0.8),
    "expon": ((), 0.7), "gamma": ((1.8,), 1.2), "chi2": ((3.3,), 2.1), "lognorm": ((0.6,), 1.4),
    "beta": ((1.7, 2.6), 0.3), "uniform": ((), 0.6), "genpareto": ((0.3,), 0.8), "genextreme": ((-0.2,), 0.8),
    "gumbel_r": ((), 0.3), "gumbel_l": ((), 0.3), "weibull_min": ((1.4,), 0.8), "weibull_max": ((1.7,), -0.6),
    "exponweib": ((1.3, 1.6), 0.7), "gompertz": ((0.9,), 0.6), "halfnorm": ((), 0.7), "halfcauchy": ((), 0.7),
    "halflogistic": ((), 0.7), "invgamma": ((2.7,), 0.6), "pareto": ((2.6,), 1.4), "lomax": ((2.3,), 0.5),
    "rayleigh": ((), 1.1), "maxwell": ((), 1.4), "chi": ((2.7,), 1.2), "f": ((3.4, 5.2), 0.8),
    "betaprime": ((1.7, 3.2), 0.6), "burr12": ((1.6, 2.3), 0.7), "fisk": ((2.3,), 0.9), "invgauss": ((0.8,), 0.7),
    "skewnorm": ((1.3,), 0.6), "laplace_asymmetric": ((1.4,), 0.5), "vonmises": ((1.7,), 0.6),
    "loguniform": ((0.4, 2.7), 1.3), "powerlaw": ((1.8,), 0.4), "triang": ((0.35,), 0.6),
    "truncnorm": ((-0.4, 1.9), 0.6),
}  # fmt: skip
# shapes, and those that are differentiated
DISCRETE = {
    "poisson": ((1.7,), (0,)), "binom": ((5, 0.3), (1,)), "bernoulli": ((0.3,), (0,)), "geom": ((0.3,), (0,)),
    "nbinom": ((2.6, 0.4), (0, 1)), "betabinom": ((6, 1.4, 2.2), (1, 2)),
}  # fmt: skip
OF_PLACES = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "logpmf", "pmf")
OF_SHARES = ("ppf", "isf")
MOMENTS = ("median", "mean", "var", "std", "entropy")
LOC, SCALE = 0.2, 1.3
# SciPy's logarithm of what has vanished
INEXACT = {("gompertz", "logsf"), ("exponweib", "logsf")}


def methods_of(name):
    dist = getattr(stats, name)
    return [m for m in (*OF_PLACES, *OF_SHARES, *MOMENTS) if lookup(getattr(dist, m, None)) is not None]


def all_methods(name, shapes, ends, methods=None):
    """The function (place, share, *shapes, *ends) of all methods of a distribution."""
    given = ", ".join([*"abc"[: len(shapes)], *ends])
    calls = [
        f"stats.{name}.{m}({'x, ' if m in OF_PLACES else 'q, ' if m in OF_SHARES else ''}{given})"
        for m in methods or methods_of(name)
    ]
    return define(
        f"from scipy import stats\ndef f(x, q, {given}):\n    return ({', '.join(calls)},)\n", f"<all of {name}>"
    )["f"]


def slopes(f, point, direction):
    """The central differences of the fourth order along a direction."""

    def at(step):
        return np.array(f(*(p + step * d for p, d in zip(point, direction, strict=True))))

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_values_and_slopes(name):
    shapes, place = CONTINUOUS[name]
    f, methods = all_methods(name, shapes, ("loc", "scale")), methods_of(name)
    point = (LOC + SCALE * place, 0.3, *shapes, LOC, SCALE)
    direction = (1.0, 0.3, *(0.2 for _ in shapes), -0.4, 0.5)
    values, tangents = adjit.jvp(f, point, direction, target="python")
    np.testing.assert_allclose(values, f(*point), rtol=1e-11)
    np.testing.assert_allclose(tangents, slopes(f, point, direction), rtol=1e-7, atol=1e-8, err_msg=str(methods))
    weights = tuple(np.cos(range(len(methods))))
    bars = adjit.vjp(f, *point, target="python")[1](weights)
    along = sum(np.sum(b * d) for b, d in zip(bars, direction, strict=True))
    assert along == pytest.approx(sum(w * t for w, t in zip(weights, tangents, strict=True)), rel=1e-11)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_ends_of_the_support_and_parameters_that_are_none(name):
    shapes, place = CONTINUOUS[name]
    methods = methods_of(name)
    f, direction = all_methods(name, shapes, ("loc", "scale")), tuple(1.0 for _ in range(4 + len(shapes)))
    points = [(x, 0.3, *shapes, LOC, SCALE) for x in (-40.0, LOC, LOC + SCALE, 40.0, np.nan)]
    points += [(LOC + SCALE * place, q, *shapes, LOC, SCALE) for q in (0.0, 1.0, -0.1, 1.1)]
    points += [(0.5, 0.3, *shapes, LOC, -1.0)] + [(0.5, 0.3, *(-s for s in shapes), LOC, SCALE)] * bool(shapes)
    exact = [k for k, m in enumerate(methods) if (name, m) not in INEXACT]
    with np.errstate(all="ignore"):
        for point in points:
            got, expected = np.array(adjit.jvp(f, point, direction, target="python")[0]), np.array(f(*point))
            np.testing.assert_allclose(got[exact], expected[exact], rtol=1e-9, atol=1e-14, err_msg=str(point))


@pytest.mark.parametrize("name", DISCRETE)
def test_counts(name):
    shapes, active = DISCRETE[name]
    f, methods = all_methods(name, shapes, ("loc",)), methods_of(name)
    direction = (0.0, 0.0, *(0.3 * (k in active) for k in range(len(shapes))), 0.0)
    with np.errstate(all="ignore"):
        for k in (-1.0, 0.0, 1.0, 2.0, 2.5, 5.0, 9.0, np.nan):
            point = (k, 0.3, *shapes, 0.0)
            values, tangents = adjit.jvp(f, point, direction, target="python")
            np.testing.assert_allclose(values, f(*point), rtol=1e-10, atol=1e-14, err_msg=f"{methods}{k}")
            expected = np.where(np.isfinite(values), slopes(f, point, direction), tangents)
            np.testing.assert_allclose(tangents, expected, rtol=1e-6, atol=1e-9, err_msg=f"{methods}{k}")


def test_shapes_that_are_limits():
    """At 0 the generalized distributions are others, and their slopes go on."""
    for f in (lambda c: stats.genpareto.logpdf(1.3, c), lambda c: stats.genextreme.cdf(0.4, c)):
        at_zero = adjit.grad(f, target="python")(0.0)
        assert at_zero == pytest.approx((f(1e-5) - f(-1e-5)) / 2e-5, rel=1e-6)
    one_sided = adjit.grad(lambda m: stats.truncnorm.logpdf(0.7, (0.0 - m) / 1.3, np.inf, m, 1.3), target="python")
    h = 1e-6
    expected = stats.truncnorm.logpdf(0.7, (0.0 - np.array([0.4 + h, 0.4 - h])) / 1.3, np.inf, [0.4 + h, 0.4 - h], 1.3)
    assert one_sided(0.4) == pytest.approx((expected[0] - expected[1]) / (2 * h), rel=1e-7)


# --------------------------------------------------------------------------------------------------------------- frozen

PRIOR, RATE = stats.gamma(2.0, scale=1.5), stats.poisson(1.4)


def frozen(x, m, s):
    noise = stats.norm(m, scale=s)
    shape = stats.weibull_min(1.7, loc=-1.0)
    if m > 0.0:
        noise = stats.norm(2.0 * m, scale=2.0 * s)
    return (
        np.sum(noise.logpdf(x) + shape.logsf(x)) * noise.std()
        + PRIOR.logpdf(s)
        + shape.mean() * noise.ppf(0.3)
        + stats.poisson(s).logpmf(2) * RATE.pmf(1)
    )


def test_frozen():
    check(frozen, lambda: (np.array([0.3, 0.7]), 0.4, 1.1), (0, 1, 2), second=False)


def vectors(x, a):
    p = a / np.sum(a)
    return stats.dirichlet.logpdf(x / np.sum(x), a) + stats.multinomial.logpmf(np.array([1, 0, 3]), 4, p) * p[0]


def test_vectors():
    check(vectors, lambda: (np.array([0.3, 0.7, 0.4]), np.array([1.2, 2.3, 0.8])), (0, 1), second=False)
    check(lambda x, c: np.sum(stats.weibull_min.logpdf(x, c)), lambda: (np.array([[0.3], [0.7]]), np.array([1.2, 2.0])))


def test_chances_of_correlations():
    def f(x, y):
        line = stats.linregress(x, y)
        r, chance = stats.pearsonr(x, y)
        return line.stderr * r + line.pvalue - chance

    at = np.array([0.3, 0.7, 1.4, 1.5]), np.array([0.2, -0.3, 0.9, 0.4])
    value, (x_bar, _) = adjit.value_and_grad(f, wrt=(0, 1), target="python")(*at)
    assert value == pytest.approx(f(*at), rel=1e-12)
    assert x_bar @ at[0] == pytest.approx(
        (f(at[0] * (1 + 1e-6), at[1]) - f(at[0] * (1 - 1e-6), at[1])) / 2e-6, rel=1e-6
    )


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda x: stats.skew(np.array([x, 2.0, 0.1]), nan_policy="omit"), "remove the nan values"),
        (lambda x: stats.spearmanr(np.array([x, 2.0, 0.1]), np.arange(3.0))[0], r"scipy\.stats\.spearmanr"),
        (lambda x: stats.nct.logpdf(x, 1.5, 0.3), r"scipy\.stats\.nct\.logpdf"),
        (lambda x: stats.norm(x).rvs(3), "draw with np.random"),
        (lambda x: stats.gamma.rvs(x), "draw with np.random"),
        (lambda x: stats.norm(x).interval(0.9), "`interval` of an object of the class rv_continuous_frozen"),
        (lambda x: stats.norm.fit(np.array([x, 2.0])), "pdf, cdf"),
        (lambda x: stats.weibull_min.logpdf(x), "with a missing shape parameter"),
        (lambda x: stats.weibull_min.logpdf(x, c=1.0, sigma=2.0), "an unknown argument"),
    ],
)
def test_what_is_refused(f, match):
    with pytest.raises(adjit.AdjitError, match=match):
        adjit.grad(f, target="python")(0.7)
