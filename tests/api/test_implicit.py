"""Functions that are given by what they solve: derivatives by the equation are those through the solver."""

import numpy as np
import pytest
import scipy.optimize
from numba import njit

import adjit
from adjit.errors import WrongCall


def residual(x, a, b):
    r = np.empty_like(x)
    for i in range(x.size):
        r[i] = x[i] ** 3 + a * x[i] - b[i] + 0.1 * x[i - 1]
    return r


def newton(a, b):
    """Gauss-Seidel's sweeps of Newton's steps."""
    x = np.ones_like(b)
    for _ in range(60):
        for i in range(b.size):
            x[i] -= (x[i] ** 3 + a * x[i] - b[i] + 0.1 * x[i - 1]) / (3.0 * x[i] ** 2 + a)
    return x


A, B = 2.0, np.array([1.0, 2.0, -1.0, 0.3])


def through(a, b):
    return np.sum(newton(a, b) ** 2 * np.arange(1.0, 5.0))


SOLUTIONS = {linear: adjit.implicit(newton, residual, linear=linear) for linear in ("lu", "gmres")}


@pytest.fixture(scope="module", params=["lu", "gmres"])
def loss(request):
    solution = SOLUTIONS[request.param]

    def of_solution(a, b):
        return np.sum(solution(a, b) ** 2 * np.arange(1.0, 5.0))

    return of_solution


def test_gradient_is_that_through_the_solver(loss):
    found = adjit.grad(loss, wrt=("a", "b"), target="python")(A, B)
    expected = adjit.grad(through, wrt=("a", "b"), target="python")(A, B)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


def test_tangent_is_that_through_the_solver(loss):
    found = adjit.jvp(loss, (A, B), (0.3, -B), target="python")
    np.testing.assert_allclose(found, adjit.jvp(through, (A, B), (0.3, -B), target="python"), rtol=1e-11)


def test_second_derivatives_are_those_through_the_solver(loss):
    found = adjit.hessian(loss, wrt=("a", "b"), target="python")(A, B)
    expected = adjit.hessian(through, wrt=("a", "b"), target="python")(A, B)
    for row, other in zip(found, expected, strict=True):
        for block, wanted in zip(row, other, strict=True):
            np.testing.assert_allclose(block, wanted, rtol=1e-9, atol=1e-11)


def test_gradient_takes_one_solve():
    solution, by_products = SOLUTIONS.values()
    source = adjit.grad(lambda b: np.sum(solution(2.0, b)), target="python").source(B)
    assert source.count("np.linalg.solve(") == 1
    source = adjit.grad(lambda b: np.sum(by_products(2.0, b)), target="python").source(B)
    assert (source.count("transposed_solve("), source.count("matrix_solve(")) == (1, 0)


def test_compiled_in_loops_and_branches():
    solution = SOLUTIONS["lu"]

    def loss(a, b):
        total = 0.0
        for t in range(3):
            if a > 0.0:
                total += np.sum(solution(a + t, b * a) ** 2)
        return total

    def plain(a, b):
        total = 0.0
        for t in range(3):
            total += np.sum(newton(a + t, b * a) ** 2)
        return total

    value, gradient = adjit.value_and_grad(loss)(A, B)
    assert value == pytest.approx(plain(A, B), rel=1e-13)
    assert gradient == pytest.approx(adjit.grad(plain, target="python")(A, B), rel=1e-11)
    np.testing.assert_allclose(SOLUTIONS["lu"](A, B), newton(A, B), rtol=1e-14)


def test_numbers_defaults_and_integers():
    def root(a, c=2.0, trips=60):
        x = 1.0
        for _ in range(trips):
            x -= (c * x**2 - a) / (2.0 * c * x)
        return x

    solved = adjit.implicit(root, lambda x, a, c, trips: c * x * x - a)

    def loss(a):
        return solved(a) + solved(a, 3.0) * solved(a, a, 70)

    value, gradient = adjit.value_and_grad(loss, target="python")(9.0)
    assert value == pytest.approx(np.sqrt(4.5) + np.sqrt(3.0), rel=1e-14)
    assert gradient == pytest.approx(np.sqrt(4.5) / 18.0 + np.sqrt(3.0) / 18.0, rel=1e-13)
    assert adjit.grad(adjit.grad(lambda a: solved(a), target="python"), target="python")(9.0) == pytest.approx(
        -np.sqrt(4.5) / (4.0 * 81.0), rel=1e-12
    )


def test_matrices_of_unknowns():
    def square_root(m):
        x = np.eye(m.shape[0])
        for _ in range(30):
            x = 0.5 * (x + np.linalg.solve(x, m))
        return x

    solved = adjit.implicit(square_root, lambda x, m: x @ x - m)
    m = np.array([[4.0, 1.0], [0.5, 3.0]])
    adjit.check_grads(lambda m: np.sum(solved(m) * np.array([[1.0, 2.0], [3.0, 4.0]])), (m,), target="python")


@njit
def descended(k, x):
    y = np.zeros_like(x)
    for _ in range(4000):
        for i in range(x.size):
            y[i] -= 0.1 * (y[i] - x[i] + k * y[i] ** 3 + 0.2 * (y[i] - y[i - 1] + y[i] - y[(i + 1) % x.size]))
    return y


def energy(y, k, x):
    total = 0.0
    for i in range(y.size):
        total += 0.5 * (y[i] - x[i]) ** 2 + 0.25 * k * y[i] ** 4 + 0.1 * (y[i] - y[i - 1]) ** 2
    return total


@pytest.mark.parametrize("linear", ["lu", "cg"])
def test_minima(linear):
    smoothed = adjit.implicit(descended, minimum=energy, linear=linear)

    def loss(k, x):
        return np.sum(smoothed(k, x) * x)

    def plain(k, x):
        return np.sum(descended(k, x) * x)

    found = adjit.grad(loss, wrt=("k", "x"), target="python")(0.7, B)
    expected = adjit.grad(plain, wrt=("k", "x"))(0.7, B)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


def kepler(anomaly, mean, e):
    return mean + e * np.sin(anomaly)


def test_fixed_points_by_two_phases():
    orbit = adjit.fixed_point(kepler)
    mean, e = np.array([0.3, 1.1, 2.5]), 0.4

    def loss(mean, e):
        return np.sum(np.cos(orbit(mean, mean, e)))

    found = orbit(mean, mean, e)
    np.testing.assert_allclose(found - e * np.sin(found), mean, rtol=1e-11)
    slope = 1.0 / (1.0 - e * np.cos(found))
    m_bar, e_bar = adjit.grad(loss, wrt=("mean", "e"), target="python")(mean, e)
    np.testing.assert_allclose(m_bar, -np.sin(found) * slope, rtol=1e-10)
    assert e_bar == pytest.approx(-np.sum(np.sin(found) ** 2 * slope), rel=1e-10)
    tangent = adjit.jvp(loss, (mean, e), (np.zeros(3), 1.0), target="python")[1]
    assert tangent == pytest.approx(e_bar, rel=1e-10)
    second = adjit.hessian(loss, wrt="e", target="python")(mean, e)
    quotient = (
        adjit.grad(loss, wrt="e", target="python")(mean, e + 1e-5)
        - adjit.grad(loss, wrt="e", target="python")(mean, e - 1e-5)
    ) / 2e-5
    assert second == pytest.approx(quotient, rel=1e-7)


def test_fixed_points_that_are_numbers_and_compiled():
    cosine = adjit.fixed_point(lambda x, a: np.cos(a * x))
    value, gradient = adjit.value_and_grad(lambda a: cosine(0.5, a))(1.0)
    assert value == pytest.approx(0.7390851332151607, abs=1e-11)
    assert gradient == pytest.approx(-value * np.sin(value) / (1.0 + np.sin(value)), rel=1e-10)


# ---------------------------------------------------------------------------------------------------- what is refused


def test_solver_that_solves_something_else():
    other = adjit.implicit(newton, lambda x, a, b: residual(x, a, 1.1 * b))
    products = adjit.implicit(newton, lambda x, a, b: residual(x, a, 1.1 * b), linear="gmres")
    for solution in (other, products):
        with pytest.raises(ValueError, match="did not solve its equation"):
            adjit.grad(lambda b, solution=solution: np.sum(solution(2.0, b)), target="python")(B)
        with pytest.raises(ValueError, match="did not solve its equation"):
            adjit.jvp(lambda b, solution=solution: np.sum(solution(2.0, b)), (B,), (B,), target="python")
    loose = adjit.implicit(newton, lambda x, a, b: residual(x, a, 1.1 * b), tolerance=None)
    assert np.isfinite(adjit.grad(lambda b: np.sum(loose(2.0, b)), target="python")(B)).all()


def test_steps_that_do_not_settle():
    with pytest.raises(ValueError, match="has not come to a fixed point in 50 steps"):
        adjit.fixed_point(lambda x, a: 2.0 * x + a, most=50)(1.0, 1.0)


def test_refusals():
    with pytest.raises(WrongCall, match="no equation"):
        adjit.implicit(newton)
    with pytest.raises(WrongCall, match="residual and minimum"):
        adjit.implicit(newton, residual, minimum=energy)
    with pytest.raises(WrongCall, match="takes 2 arguments"):
        adjit.implicit(newton, lambda x, a: x - a)
    with pytest.raises(WrongCall, match="linear='qr'"):
        adjit.implicit(newton, residual, linear="qr")
    with pytest.raises(WrongCall, match="symmetric"):
        adjit.implicit(newton, residual, linear="cg")
    with pytest.raises(WrongCall, match="no parameters"):
        adjit.implicit(lambda: 1.0, lambda x: x - 1.0)
    with pytest.raises(WrongCall, match="takes 1 argument,|takes 1 argument"):
        adjit.fixed_point(lambda x: np.cos(x))


def test_names_of_the_users_own_do_no_harm():
    def solver(matrix, x, found, np_=1.0):
        return (matrix + x) * found * np_

    solved = adjit.implicit(solver, lambda change, matrix, x, found, np_: change - (matrix + x) * found * np_)
    gradient = adjit.grad(lambda m, x, f: solved(m, x, f) ** 2, wrt=(0, 1, 2), target="python")(1.0, 2.0, 3.0)
    np.testing.assert_allclose(gradient, (54.0, 54.0, 54.0), rtol=1e-14)


def test_equations_of_one_name_are_told_apart_in_the_cache(tmp_path, monkeypatch):
    from adjit.api.specialise.keys import key_of
    from adjit.api.specialise.options import Options
    from adjit.transform.source.derivative import Derivative

    def made(power):
        solved = adjit.implicit(lambda a: a ** (1.0 / power), lambda x, a: x**power - a)
        return lambda a: solved(a)

    from numba import types

    keys = {key_of(Derivative(made(p), "grad", (0,), single=True), (types.float64,), Options()).text for p in (2, 2, 3)}
    assert len(keys) == 2


def test_least_squares_fit_of_scipy_through_a_root():
    """What an equation of state gives is fitted: the Jacobian of the model goes through the root."""

    def volume(p, t, a, b):
        v = 1.0
        for _ in range(80):
            f = (p + a / v**2) * (v - b) - t
            v -= f / (p + a / v**2 - 2.0 * a * (v - b) / v**3)
        return v

    solved = adjit.implicit(volume, lambda v, p, t, a, b: (p + a / v**2) * (v - b) - t)
    pressures = np.linspace(0.5, 2.0, 7)

    def model(k):
        v = np.empty(pressures.size)
        for i in range(v.size):
            v[i] = solved(pressures[i], 2.5, k[0], k[1])
        return v

    data = model(np.array([0.3, 0.1]))
    jacobian = adjit.jacobian(model, target="python")
    fit = scipy.optimize.least_squares(
        lambda k: model(k) - data, [0.1, 0.2], lambda k: jacobian(k), xtol=1e-14, ftol=1e-14
    )
    np.testing.assert_allclose(fit.x, [0.3, 0.1], rtol=1e-6)


@pytest.mark.parametrize("linear", ["lu", "gmres"])
def test_parameters_of_any_name(linear):
    """Names that the functions written out for a solver have for what is theirs."""
    programs = [
        (adjit.implicit(lambda x, v: newton(x, v), lambda s, x, v: residual(s, x, v), linear=linear), (A, B)),
        (adjit.implicit(lambda x_bar, y: newton(x_bar, y), residual, linear=linear), (A, B)),
    ]
    along = (0.3, np.array([0.2, -1.0, 0.4, 0.1]))
    expected = adjit.jvp(through, (A, B), along, target="python")[1]
    for solution, given in programs:

        def loss(a, b, solution=solution):
            return np.sum(solution(a, b) ** 2 * np.arange(1.0, 5.0))

        assert adjit.jvp(loss, given, along, target="python")[1] == pytest.approx(expected, rel=1e-10)
        bars = adjit.grad(loss, wrt=("a", "b"), target="python")(*given)
        assert bars[0] * along[0] + bars[1] @ along[1] == pytest.approx(expected, rel=1e-10)
    with pytest.raises(WrongCall, match="parameters named x and x_dot"):
        adjit.implicit(lambda x, x_dot: newton(x, x_dot), residual, linear=linear)
