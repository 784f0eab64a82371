"""Roots and minima by scipy.optimize: SciPy's values, with first and second derivatives by what the equation has."""

import numpy as np
import pytest
from scipy import optimize
from scipy.optimize import brentq, newton, root_scalar

import adjit

P = np.array([0.8, 1.7])
THIRDS = np.array([1.0, 2.0, 3.0])


def cubic(x, a, b):
    return x**3 - a * x - b


def crossing(p):
    return brentq(lambda x: np.exp(-p[0] * x) - p[1] * x, 0.0, 5.0)


def by_secants(p):
    return newton(cubic, 2.0, args=(p[0], p[1])) ** 2


def by_slopes(p):
    return newton(cubic, 2.0, fprime=lambda x, a, b: 3 * x * x - a, args=(p[0], p[1])) * p[0]


def of_an_interval(p):
    found = root_scalar(lambda x: x * np.tan(x) - p[0], bracket=[0.1, 1.4])
    return found.root * p[1] if found.converged else 0.0


def in_three_ways(p):
    halved = optimize.bisect(lambda x: x**2 - p[0], 0, 3)
    return halved + optimize.ridder(lambda x: x**2 - p[1], 0, 3) + optimize.brenth(lambda x: x**3 - p[1], 0, 3)


def each_by_slopes(p):
    return np.sum(newton(lambda x: x**2 - p[0] * THIRDS, THIRDS, fprime=lambda x: 2 * x) * p[1])


def each_by_secants(p):
    return np.sum(newton(lambda x: x**2 - p[0] * THIRDS, THIRDS) ** 3)


def with_slopes_beside(p):
    first = root_scalar(lambda x, a: (x * x - a, 2 * x), args=(p[0],), x0=1.0, fprime=True).root
    return first + root_scalar(lambda x: x**3 - p[1], x0=1.0, method="newton").root


def roots_in_a_loop(p):
    total, start = 0.0, 0.5
    for k in range(3):
        start = newton(lambda x: x - p[0] * np.sin(x) - 0.3 * (k + 1), start)
        total += start * p[1]
    return total


def system(p):
    def equations(v, a, b):
        x, y, z = v
        return np.array([x + a * np.sin(y) - z, y - b * np.exp(-x), z * z - x - 1])

    return np.sum(optimize.root(equations, np.zeros(3), args=(p[0], p[1])).x ** 2)


def of_a_list(p):
    x = optimize.fsolve(lambda v: [v[0] ** 2 + p[0] * v[1] - 3.0, v[1] ** 3 - p[1] * v[0]], [1.0, 1.0])
    return x[0] * x[1] + optimize.fsolve(lambda x: x**3 - p[0] * x - p[1], 2.0)[0]


def at_a_bound(p):
    return optimize.minimize_scalar(lambda x: (x - 9) ** 2 * p[0], bounds=(0, p[1]), method="bounded").x


def inside_bounds(p):
    found = optimize.minimize_scalar(lambda x: np.cos(p[0] * x) + 0.1 * p[1] * x, bounds=(1, 6))
    return found.x + found.fun**2


def downhill(p):
    found = optimize.minimize_scalar(lambda x: (x - p[0]) ** 4 + p[1] * x**2)
    return found.x * found.fun


PROGRAMS = [
    crossing, by_secants, by_slopes, of_an_interval, in_three_ways, each_by_slopes, each_by_secants,
    with_slopes_beside, roots_in_a_loop, system, of_a_list, at_a_bound, inside_bounds, downhill,
]  # fmt: skip
ROUGH = (system, of_a_list, at_a_bound, inside_bounds, downhill)  # to which SciPy comes by 1e-8 or less
TWICE = (crossing, by_slopes, each_by_slopes, downhill)


def slopes(f, x):
    sides = [(f(x + h) - f(x - h), f(x + 2 * h) - f(x - 2 * h)) for h in np.eye(x.size) * 1e-3]
    return np.array([(8 * near - far) / 12e-3 for near, far in sides])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(P)
    assert value == pytest.approx(function(P), rel=1e-14)
    np.testing.assert_allclose(bar, slopes(function, P), rtol=1e-5 if function in ROUGH else 1e-7, atol=1e-8)


@pytest.mark.parametrize("function", TWICE, ids=lambda f: f.__name__)
def test_hessian(function) -> None:
    bars = adjit.grad(function, target="python")
    expected = np.transpose([slopes(lambda x: bars(x)[k], P) for k in range(2)])
    np.testing.assert_allclose(
        adjit.hessian(function, target="python")(P), expected, rtol=1e-5 if function in ROUGH else 1e-7, atol=1e-7
    )


def test_third_derivative() -> None:
    def root(p):
        return brentq(lambda x: x**3 - p, 0.0, 5.0)

    third = adjit.grad(adjit.grad(adjit.grad(root)), target="python")(1.7)
    assert third == pytest.approx(10 / 27 * 1.7 ** (-8 / 3), rel=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda p: brentq(lambda x: x**3 - p, 0.0, 5.0),
        lambda p: newton(lambda x: x**3 - p, np.array([1.0, 2.0]))[1],
        lambda p: optimize.fsolve(lambda x: x**3 - p, [1.0])[0],
        lambda p: optimize.minimize_scalar(lambda x: x**4 - p * x).x,
    ],
    ids=("brentq", "newton", "fsolve", "minimize_scalar"),
)
def test_a_fourth_derivative_is_refused(function) -> None:
    """The steps that a root moves by are right to the third order."""
    made = function
    for _ in range(3):
        made = adjit.jacfwd(made, target="python")
    assert np.isfinite(made(1.7))
    with pytest.raises(adjit.AdjitError, match="root_third_derivative has no derivative rule"):
        adjit.jacfwd(made, target="python")(1.7)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda p: brentq(lambda x: x * x + p[0], 0, 1), ValueError, "must have different signs"),
        (lambda p: brentq(lambda x: x - p[0], 0, 5, maxiter=0), RuntimeError, "Failed to converge"),
        (lambda p: newton(lambda x: x * x, 0.0, fprime=lambda x: 2 * x) + p[0], ValueError, "no derivative"),
        (lambda p: optimize.minimize(lambda x: np.sum((x - p) ** 2), p).x[0], adjit.AdjitError, "adjit.implicit"),
        (lambda p: optimize.root(lambda x: x - p, p, method="krylov").x[0], adjit.AdjitError, "hybr and lm"),
        (lambda p: optimize.toms748(lambda x: x - p[0], 0, 5), adjit.AdjitError, "write brentq"),
        (lambda p: root_scalar(lambda x: x - p[0], bracket=(0, 5), method="toms748").root, adjit.AdjitError, "brentq"),
    ],
)
def test_what_has_no_root_or_is_refused(function, error, message) -> None:
    with pytest.raises(error, match=message):
        adjit.grad(function, target="python")(P)


@pytest.mark.long
def test_compiled() -> None:
    np.testing.assert_allclose(adjit.grad(crossing)(P), slopes(crossing, P), rtol=1e-7)
