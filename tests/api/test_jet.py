"""Taylor coefficients are those that nested tangents give, and those of a polynomial that is fitted."""

import math

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, Unsupported, WrongCall
from tests.api.test_several import recurrence, solves, stencil

RNG = np.random.default_rng(7)
X, V, A = np.array([0.4, -0.9, 0.7, 1.3]), RNG.normal(size=4), RNG.normal(size=(4, 4))


def fitted(function, x, v, order):
    """The coefficients of f(x + t v), from a polynomial through fifteen points."""
    points = np.cos(np.pi * (np.arange(15) + 0.5) / 15)
    values = np.array([np.concatenate([np.ravel(p) for p in function(x + 0.02 * t * v)]) for t in points])
    return np.polynomial.polynomial.polyfit(points, values, 10)[: order + 1] / 0.02 ** np.arange(order + 1)[:, None]


@pytest.mark.parametrize(
    ("function", "wrt", "v", "rest"),
    [(recurrence, 0, V, 0.7), (stencil, 0, V, 3), (solves, 0, V, A), (solves, 1, A.T, A)],
)
def test_against_a_fit(function, wrt, v, rest):
    arguments = [X, rest]
    found = adjit.jet(function, 3, wrt=wrt, target="python")(*arguments, v)

    def values(moved):
        result = function(*[moved if k == wrt else a for k, a in enumerate(arguments)])
        return [p for p in result if not isinstance(p, int)] if isinstance(result, tuple) else [result]

    for k, wanted in enumerate(fitted(values, arguments[wrt], v, 3)):
        parts = found[k] if isinstance(found[k], tuple) else (found[k],)
        got = np.concatenate([np.ravel(p) for p in parts if not isinstance(p, int)])
        # what the fit is good for, which is worse with each order
        np.testing.assert_allclose(got, wanted, rtol=10.0 ** (2 * k - 14), atol=10.0 ** (2 * k - 14))


def wave(x):
    return np.tanh(x) * np.exp(-x * x) + x**3 / (1.0 + x)


def test_against_nested_tangents():
    def once(x):
        return adjit.jvp(wave, (x,), (1.3,))[1]

    def twice(x):
        return adjit.jvp(once, (x,), (1.3,))[1]

    def thrice(x):
        return adjit.jvp(twice, (x,), (1.3,))[1]

    found = adjit.jet(wave, 3, target="python")(0.4, 1.3)
    for k, function in enumerate((wave, once, twice, thrice)):
        wanted = adjit.jvp(function, (0.4,), (0.0,), target="python")[0] / math.factorial(k)
        assert found[k] == pytest.approx(wanted, rel=1e-13)


def test_known_series():
    exponential = adjit.jet(np.exp, 6, target="python")(0.0, 1.0)
    np.testing.assert_allclose(exponential, [1.0 / math.factorial(k) for k in range(7)], rtol=1e-15)
    geometric = adjit.jet(lambda x: 1.0 / (1.0 - x), 5, target="python")(0.0, 1.0)
    np.testing.assert_allclose(geometric, np.ones(6), rtol=1e-15)


def test_compiled_and_of_several_arguments():
    along = adjit.jet(lambda x, k: k * np.sum(x**3), 3, wrt=("x", "k"))
    value, first, second, third = along(X, 2.0, (V, 1.0))
    t = np.polynomial.Polynomial([0.0, 1.0])
    wanted = sum(((x + t * v) ** 3 for x, v in zip(X, V, strict=True)), np.polynomial.Polynomial([0.0])) * (2.0 + t)
    np.testing.assert_allclose([value, first, second, third], wanted.coef[:4], rtol=1e-12)


def test_derivatives_of_a_jet_and_jets_of_derivatives():
    def third(x):
        return adjit.jet(wave, 3)(x, 1.0)[3]

    found = adjit.grad(third, target="python")(0.4)
    assert found == pytest.approx(4.0 * adjit.jet(wave, 4, target="python")(0.4, 1.0)[4], rel=1e-11)
    of_gradient = adjit.jet(adjit.grad(wave), 2, target="python")(0.4, 1.0)
    series = adjit.jet(wave, 3, target="python")(0.4, 1.0)
    np.testing.assert_allclose(of_gradient, [series[1], 2.0 * series[2], 3.0 * series[3]], rtol=1e-12)


def test_integers_and_methods():
    class Model:
        k = 3.0

        def value(self, x):
            return self.k * x * x, 7

    found = adjit.jet(Model().value, 2, target="python")(2.0, 1.0)
    assert found == ((12.0, 7), (12.0, 0), (3.0, 0))


def test_refusals():
    for order in (0, 1.5, True):
        with pytest.raises(WrongCall, match="order="):
            adjit.jet(wave, order)
    with pytest.raises(WrongCall, match="without a vector"):
        adjit.jet(wave, 2, target="python")()
    with pytest.raises(TypeMismatch, match="the vector along 'x'"):
        adjit.jet(recurrence, 2, target="python")(X, 0.7, np.ones(3))
    with pytest.raises(Unsupported, match="for a GPU"):
        adjit.jet(wave, 2, target="cuda")
    with pytest.raises(Unsupported, match="a part of an argument"):
        adjit.jet(lambda p: p["x"], 2, wrt="p['x']")
