"""quad and dblquad: the integral to SciPy's tolerance, its derivative by parameters, ends and points; refusals."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import quad

import adjit
from adjit.rules.scipy.integrate import quadrature

X = np.array([0.8, 1.7])


def between_ends(x):
    return quad(lambda t: np.exp(-x[0] * t) * np.sin(t), 0, x[1])[0] + quad(np.cos, x[1], x[0])[0]


def without_end(x):
    right = quad(lambda t, c: math.exp(-c * t * t), x[1], np.inf, args=(x[0],))[0]
    left = quad(lambda t, c: math.exp(c * t) / (1 + t * t), -np.inf, x[1], args=x[0])[0]
    return right * left + quad(lambda t: np.exp(-x[0] * (t - x[1]) ** 2), -np.inf, np.inf)[0]


def singular_at_an_end(x):
    value, error = quad(lambda t: t ** (x[0] - 1) * np.exp(-t), 0, np.inf)
    return value + quad(lambda t: x[1] / np.sqrt(t), 0, 1)[0]


def jump_at_a_point(x):
    def density(t):
        return x[0] if t < x[1] else 2.0 * t

    return quad(density, 0, 2, points=[x[1]])[0]


def many_in_a_loop(x):
    total = 0.0
    for z in (0.1, 0.5, x[1]):
        total += quad(lambda s: 1 / np.sqrt(x[0] * (1 + s) ** 3 + 1 - x[0]), 0, z)[0] ** 2
    return total


def over_a_region(x):
    return integrate.dblquad(lambda y, u: x[0] * u * y**2, 0, x[1], 0, lambda u: 1 + u)[0]


PROGRAMS = [between_ends, without_end, singular_at_an_end, jump_at_a_point, many_in_a_loop, over_a_region]


def slopes(f, x):
    sides = [(f(x + h) - f(x - h), f(x + 2 * h) - f(x - 2 * h)) for h in np.eye(x.size) * 1e-3]
    return [(8 * near - far) / 12e-3 for near, far in sides]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), abs=1e-9)
    np.testing.assert_allclose(bar, slopes(function, X), rtol=1e-6, atol=1e-8)


@pytest.mark.long
def test_compiled_forward_and_twice() -> None:
    value, bar = adjit.value_and_grad(between_ends)(X)
    np.testing.assert_allclose(
        adjit.jvp(between_ends, (X,), (np.array([1.0, 2.0]),))[1], bar[0] + 2 * bar[1], rtol=1e-12
    )
    bars = adjit.grad(between_ends, target="python")
    np.testing.assert_allclose(
        adjit.hessian(between_ends)(X), np.transpose([slopes(lambda x: bars(x)[k], X) for k in range(2)]), rtol=1e-6
    )


def test_rule_is_exact_for_polynomials() -> None:
    places = quadrature.SHARES
    for weights, degree in ((quadrature.WEIGHTS, 31), (quadrature.OF_GAUSS, 19)):
        for k in range(degree + 1):
            assert np.sum(weights * places**k) == pytest.approx(1 / (k + 1), rel=1e-14)


def test_where_there_is_no_integral() -> None:
    with pytest.raises(ValueError, match="does not reach its tolerance"):
        adjit.grad(lambda x: quad(lambda t: x[0] / t, 0, 1)[0], target="python")(X)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: quad(lambda t: t * x[0], 0, 1, weight="cos", wvar=3.0)[0], "multiply the function by it"),
        (lambda x: quad(lambda t: t * x[0], 0, 1, full_output=1)[0], "leave it out"),
        (lambda x: quad(lambda t: t * x[0] * 1j, 0, 1, complex_func=True)[0].imag, "its two parts"),
    ],
)
def test_refused(function, message) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(function, target="python")(X)
