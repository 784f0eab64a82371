"""Bounds of rounding errors hold, and are what the formula says."""

import math

import numpy as np
import pytest

import adjit
from adjit.errors import NotScalar, Unsupported

PYTHON = {"target": "python"}
U, U32 = 2.0**-53, 2.0**-24


def chain(x, w):
    a = x * w
    b = a + 3.0
    c = np.exp(b)
    return c / x


def test_formula():
    x, w = 0.7, 1.3
    a = x * w
    b, c = a + 3.0, math.exp(a + 3.0)
    found = adjit.rounding_error(chain, **PYTHON)(x, w)
    # the adjoints of a, b and c are those of c / x
    wanted = {"a = x * w": abs(a * c / x), "b = a + 3.0": abs(b * c / x), "c = np.exp(b)": 2.0 * c / x}
    wanted["return c / x"] = c / x
    assert {s.text: s.bound for s in found.statements} == pytest.approx(
        {t: U * b for t, b in wanted.items()}, rel=1e-14
    )
    assert found.bound == pytest.approx(U * sum(wanted.values()), rel=1e-14)
    assert found.value == chain(x, w)
    assert [s.bound for s in found.statements] == sorted((s.bound for s in found.statements), reverse=True)
    assert all(s.file == __file__ for s in found.statements)


def filtered(x, k):
    s = x[0] * 0.0
    for i in range(x.size):
        s = np.tanh(k * s + x[i]) if x[i] > 0.0 else s - x[i] * k
    return s * s


def variance(x, k):
    total, squares = x[0] * 0.0, x[0] * 0.0
    for i in range(x.size):
        total += x[i]
        squares += x[i] * x[i]
    mean = total / np.float32(x.size)
    return k * (squares / np.float32(x.size) - mean * mean)


def histogram(x, k):
    bins = np.zeros(4, x.dtype)
    for i in range(x.size):
        bins[i % 4] += np.exp(x[i] * k)
    return np.sum(np.sqrt(bins)) - bins[0]


def relaxed(x, k):
    u = x.copy()
    for _ in range(5):
        u[1:-1] = u[1:-1] + k * (u[:-2] - np.float32(2.0) * u[1:-1] + u[2:])
    return np.sum(u * u)


def root(x, k):
    y = x[0] * x[0] + k
    while y > k:
        y = y * x[1] * x[1] - k / np.float32(3.0)
    return y


@pytest.mark.parametrize("function", [filtered, variance, histogram, relaxed, root])
def test_bounds_hold_in_single_precision(function):
    """The error is told by double precision: it is within the bound, and the bound within what errors may add up to."""
    draw = np.random.default_rng(4)
    bound_of = adjit.rounding_error(function, **PYTHON)
    ratios = []
    for _ in range(40):
        x = draw.uniform(0.2, 0.9, 8).astype(np.float32) * draw.choice([-1.0, 1.0], 8).astype(np.float32)
        k = np.float32(draw.uniform(0.1, 0.4))
        found = bound_of(x, k)
        exact = function(x.astype(np.float64), float(k))
        error = abs(found.value - float(exact))
        assert error <= found.bound * (1.0 + 1e-3)  # to first order
        ratios.append(error / found.bound)
    assert 0.02 < max(ratios)


def test_what_is_exact_adds_nothing():
    def exact(x):
        return max(-2.0 * abs(x), 0.25 * x)

    found = adjit.rounding_error(exact, **PYTHON)(0.7)
    assert (found.bound, found.statements) == (0.0, ())
    converted = adjit.rounding_error(lambda x: np.float32(x), **PYTHON)(0.7)
    assert converted.bound == pytest.approx(0.7 * U32, rel=1e-6)


def test_compiled_and_printed():
    def difference(x):
        root = np.sqrt(x * x + 1.0)
        return root - x

    found = adjit.rounding_error(difference)(1e8)
    assert found == adjit.rounding_error(difference, **PYTHON)(1e8)
    assert abs(found.value - 5e-9) < found.bound == pytest.approx(2.0 * U * 1e8, rel=1e-12)
    assert "root = np.sqrt(x * x + 1.0)  2.2e-08" in str(found)


def test_structures_methods_and_names():
    class Model:
        k = 3.0

        def energy(self, p, scale=2.0):
            return self.k * np.sum(p["x"] * p["w"]) * scale

    given = {"x": np.ones(3), "w": np.full(3, 0.1)}
    found = adjit.rounding_error(Model().energy, **PYTHON)(given, scale=1.5)
    assert found.value == Model().energy(given, 1.5)
    assert found.bound > 0.0

    def loss(p, scale=2.0):
        return np.sum(p["x"] * p["w"]) * scale

    assert adjit.rounding_error(loss, **PYTHON)(given, scale=1.5).bound > 0.0
    assert "bounds_bar" in adjit.rounding_error(chain, **PYTHON).source(0.7, 1.3)


def test_refusals():
    with pytest.raises(Unsupported, match=r"(?s)rounding error of np.linalg.solve.*test_rounding.py:\d+"):
        adjit.rounding_error(lambda a, b: np.sum(np.linalg.solve(a, b)), **PYTHON)(np.eye(2), np.ones(2))
    held = adjit.rounding_error(lambda a, b: np.sum(adjit.stop_gradient(np.linalg.solve(a, b)) * b), **PYTHON)
    assert held(np.eye(2), np.ones(2)).bound == pytest.approx(U * 6.0)  # two products and two sums, 0 + 1 and 1 + 1
    with pytest.raises(NotScalar, match="the rounding error of"):
        adjit.rounding_error(lambda x: 2.5 * x, **PYTHON)(np.ones(2))
    with pytest.raises(NotScalar):
        adjit.rounding_error(lambda n: n + 1, **PYTHON)(2)
    with pytest.raises(Unsupported, match="on a GPU"):
        adjit.rounding_error(chain, target="cuda")
