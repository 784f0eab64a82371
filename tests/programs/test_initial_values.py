"""solve_ivp and odeint: values are SciPy's, and derivatives those of the method on the steps that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, solve_ivp

import adjit

AT = np.linspace(0.0, 5.0, 11)


def lotka(p):
    def rhs(t, z):
        x, y = z
        return [p[0] * x - p[1] * x * y, -p[2] * y + p[3] * x * y]

    s = solve_ivp(rhs, (0, 5), [1.0, 0.8], t_eval=AT, rtol=1e-9, atol=1e-11)
    return np.sum(s.y**2)


def epidemic(p):
    y0 = [1.0 - p[2], p[2], 0.0]
    rhs = lambda t, y, b, g: [-b * y[0] * y[1], b * y[0] * y[1] - g * y[1], g * y[1]]  # noqa: E731
    s = solve_ivp(rhs, [0.0, 30.0], y0, args=(p[0], p[1]), rtol=1e-10, atol=1e-12, method="DOP853")
    return s.y[1, -1] + s.t[-1] * s.y[2, -1] if s.success and s.status == 0 else 0.0


def ends_move(p):
    s = solve_ivp(lambda t, y: -p[0] * y + np.sin(t), (p[1], 2 * p[0]), p[2:4], method="RK23", rtol=1e-8, atol=1e-10)
    return s.y[0, -1] * s.y[1, -1] + s.t[-1]


def backwards(p):
    s = solve_ivp(
        lambda t, y: np.array([y[1], -p[0] * np.sin(y[0])]), (3.0, 0.0), p[1:3], "DOP853", [2.0, 1.0, 0.0], rtol=1e-10
    )
    return (s.y[0] ** 2).sum()


def times_move(p):
    s = solve_ivp(lambda t, y: y * np.cos(p[1] * t), (0.0, 3.0), p[:1], t_eval=p[2:4], rtol=1e-9, atol=1e-11)
    return s.y[0, 0] * s.y[0, 1] ** 2


def fitted(p):
    t = np.linspace(0, 20, 21)

    def rhs(y, t, b, g):
        s, i = y
        return [-b * s * i, b * s * i - g * i]

    y = odeint(rhs, [0.99, 0.01], t, args=(p[0], p[1]))
    return np.sum(y[:, 1] ** 2)


def first_is_time(p):
    return odeint(lambda t, y: -p[0] * y + p[1] * t, p[2], [0.0, 1.0, 2.5], tfirst=True, rtol=1e-10)[-1, 0]


PROGRAMS: list[tuple[Any, list[float]]] = [
    (lotka, [1.1, 0.4, 0.9, 0.3]),
    (epidemic, [0.5, 0.2, 0.1]),
    (ends_move, [0.7, 0.1, 1.0, 2.0]),
    (backwards, [1.4, 0.3, 0.1]),
    (times_move, [0.8, 1.3, 0.9, 2.2]),
    (fitted, [0.6, 0.2]),
    (first_is_time, [0.6, 0.4, 1.2]),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function, at", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_derivatives(function: Any, at: list[float]) -> None:
    x = np.array(at)
    value, gradient = adjit.value_and_grad(function, target="python")(x)
    assert value == pytest.approx(float(function(x)), rel=1e-6 if function is fitted else 1e-8)
    for k, unit in enumerate(np.eye(x.size)):
        step = 1e-4 * unit
        wanted = (
            8 * (function(x + step) - function(x - step)) - (function(x + 2 * step) - function(x - 2 * step))
        ) / 12e-4
        assert gradient[k] == pytest.approx(float(wanted), rel=1e-4, abs=1e-5 * abs(value))
    direction = np.linspace(1.0, 0.4, x.size)
    _, forward = adjit.jvp(function, (x,), (direction,), target="python")
    assert forward == pytest.approx(gradient @ direction, rel=1e-10)


def test_compiled() -> None:
    x = np.array(PROGRAMS[0][1])
    value, gradient = adjit.value_and_grad(lotka)(x)
    again, wanted = adjit.value_and_grad(lotka, target="python")(x)
    assert value == pytest.approx(again, rel=1e-10)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-8)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_the_steps_are_scipys(method: str) -> None:
    def times(p):
        found = solve_ivp(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - p * y[0]], (0.0, 8.0), [2.0, 0.0], method=method)
        # by themselves they are only decided by p
        return found.t + 0.0 * p

    found, _ = adjit.jvp(times, (1.0,), (1.0,), target="python")
    np.testing.assert_allclose(found, times(1.0), rtol=1e-6)


def rate(t, y):
    return -0.5 * y


REFUSED = [
    (lambda p: solve_ivp(rate, (0.0, 1.0), [p], method="BDF").y[0, -1], "RK45, RK23 and DOP853"),
    (lambda p: solve_ivp(rate, (0.0, 1.0), [p], dense_output=True).y[0, -1], "give the times as t_eval"),
    (lambda p: solve_ivp(rate, (0.0, 1.0), [p], vectorized=True).y[0, -1], "leave it out"),
    (lambda p: solve_ivp(rate, (0.0, 1.0), [p], events=lambda t, y: y[0] - 0.5).y[0, -1], "stop it by `break`"),
    (lambda p: odeint(rate, p, [0.0, 1.0], tfirst=True, full_output=True)[0][-1, 0], "leave it out"),
]


@pytest.mark.parametrize("program, said", REFUSED, ids=range(len(REFUSED)))
def test_refused(program: Any, said: str) -> None:
    with pytest.raises(adjit.AdjitError, match=said):
        adjit.grad(program, target="python")(0.7)


def test_what_scipy_raises() -> None:
    def outside(p):
        return solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0], t_eval=[0.5, 1.5]).y[0, -1]

    with pytest.raises(ValueError, match="not within"):
        adjit.grad(outside, target="python")(0.7)
