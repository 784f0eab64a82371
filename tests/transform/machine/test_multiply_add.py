"""Compiled code rounds as Python does where it matters, and fuses products with sums where it does not."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

import adjit
from adjit.runtime.backend.machine_code import has_fused_products
from adjit.transform.strategy import Strategy


def root_of_difference(x, k):
    return np.sum(np.sqrt(x * k - np.min(x * k)))


def logarithms_of_positive(x, k):
    d = x * k - np.min(x * k)
    t = 0.0
    for r in d:
        if r > 0.0:
            t += math.sqrt(r) + math.log(r)
    return t


def in_memory(x, k):
    a = np.empty((x.size, 2))
    for i in range(x.size):
        a[i, 0] = x[i] + x[i] * k
        a[i, 1] = a[i, 0]
    a[0, 1] = x[0] + x[0] * k
    t = np.sum(a)
    for i in range(x.size):
        if a[i, 0] != x[i] + x[i] * k:
            t += 1e3 * x[i]
    return t + math.sqrt(a[0, 1] - a[0, 0])


def two_forms_of_exp(x, k):
    least = np.exp(x[0] * k)
    for i in range(x.size):
        least = min(least, np.exp(x[i] * k))
    t = 0.0
    for i in range(x.size):
        r = np.exp(x[i] * k) - least
        if r > 0.0:
            t += math.log(r)
    return t


def two_forms_of_log(x, k):
    y = np.log(2.5 + np.tanh(x)) * k
    return np.sum(np.sqrt(y - np.min(y))) + np.sum(np.sqrt(y - np.min(np.log(2.5 + np.tanh(x)) * k)))


def all_but_zero(x, k):
    d = x * k - np.min(x * k)
    return np.sum(np.sqrt(d * d + np.finfo(float).tiny)) + np.sum(np.sqrt(d * d + 0.1))


EXACT = [all_but_zero, root_of_difference, logarithms_of_positive, in_memory, two_forms_of_exp, two_forms_of_log]


@functools.cache
def compiled(function, transformation):
    return getattr(adjit, transformation)(function, wrt=(0, 1))


@pytest.mark.parametrize("transformation", ["grad", "value_and_grad", "jacfwd"])
@pytest.mark.parametrize("function", EXACT)
def test_what_is_zero_in_python_is_zero_compiled(function, transformation):
    draw = np.random.default_rng(3)
    in_python = getattr(adjit, transformation)(function, wrt=(0, 1), target="python")
    for _ in range(40):
        x, k = draw.normal(size=draw.integers(2, 30)), draw.normal()
        with np.errstate(all="ignore"):
            wanted = flat(in_python(x, k))
        np.testing.assert_allclose(flat(compiled(function, transformation)(x, k)), wanted, rtol=1e-7, atol=1e-9)


def flat(result):
    return np.concatenate([flat(r) for r in result]) if isinstance(result, tuple) else np.ravel(result)


def test_second_derivatives_round_alike():
    def through_gradient(x, k):
        g = adjit.grad(cubic)(x, k)
        return np.sum(np.sqrt(g - np.min(g)))

    x = np.array([0.3, -1.2, 2.0, 0.7])
    np.testing.assert_allclose(
        adjit.grad(through_gradient, wrt=(0, 1))(x, 0.7)[1],
        adjit.grad(through_gradient, wrt=(0, 1), target="python")(x, 0.7)[1],
        rtol=1e-12,
    )


def cubic(x, k):
    return np.sum(x * x * x * k + x * k)


def smoothed(u, c, steps):
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.size - 1):
            v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return np.sum(u**2)


def smoothed_array(u, c, steps):
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.size - 1):
            v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return u


GIVEN = (np.sin(np.arange(9.0)), 0.2, 3)


def test_adjoints_are_fused_and_so_is_a_number_that_is_returned():
    text, exact = (
        adjit.value_and_grad(smoothed, wrt=(0, 1), vectormath=vectormath).source(*GIVEN, tuned=True)
        for vectormath in (True, False)
    )
    forward, reverse = text.split("# ---- reverse sweep")
    assert "multiply_add(" in forward
    assert "reassociable_add(" not in forward
    assert "reassociable_add(" in reverse
    assert "multiply_add(" not in exact
    plain = Strategy(without=frozenset({"contract"}))
    value, bars = adjit.value_and_grad(smoothed, wrt=(0, 1))(*GIVEN)
    expected, wanted = adjit.value_and_grad(smoothed, wrt=(0, 1), strategy=plain)(*GIVEN)
    assert expected == pytest.approx(smoothed(*GIVEN), rel=1e-14)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(bars[0], wanted[0], rtol=1e-14)
    assert bars[1] == pytest.approx(wanted[1], rel=1e-13)


def summed(x, y):
    t = 0.0
    for i in range(x.size):
        t = t + x[i] * y[i]
        t -= y[i] * y[i]
    return t


def test_sums_of_a_number_that_is_returned_keep_their_order():
    draw = np.random.default_rng(4)
    x, y = draw.normal(size=50), draw.normal(size=50)
    expected = 0.0
    for a, b in zip(x, y, strict=True):
        for factor, sign in ((a, 1), (b, -1)):
            if has_fused_products():
                expected = float(Fraction(expected) + sign * Fraction(factor) * Fraction(b))
            else:
                expected += sign * factor * b
    for transformation in (adjit.value_and_grad, functools.partial(adjit.value_and_grad, wrt=1)):
        assert transformation(summed)(x, y)[0] == expected


def test_arrays_that_are_returned_are_not():
    value, _ = adjit.jvp(smoothed_array, GIVEN, (np.ones(9), 1.0, 0))
    np.testing.assert_array_equal(value, smoothed_array(*GIVEN))
    value, _ = adjit.vjp(smoothed_array, *GIVEN)
    np.testing.assert_array_equal(value, smoothed_array(*GIVEN))


def guarded(x, k):
    r = np.sqrt((x * k - x[0] * k) ** 2)
    return np.sum(np.exp(-r * r))


def test_an_adjoint_that_is_asked_for_zero_rounds_as_it_stands():
    x = np.array([0.3, 0.3, -0.7, 1.1])
    for bar in adjit.grad(guarded, wrt=(0, 1))(x, 0.3):
        assert np.isfinite(bar).all()


def of_several_types(x, k, n, y):
    out = np.zeros(3, np.float32)
    for i in range(3):
        out[i] += np.float32(k) * y[i]
    return (0.5 * k * np.sum(x * x) + np.sum(out)) * (n + 2.0 * k)


def test_sums_of_several_types_stay_as_they_are():
    x, y = np.array([0.3, -1.2, 2.0]), np.array([0.5, 1.5, 2.5], np.float32)
    found = adjit.grad(of_several_types, wrt=(0, 1, 3))(x, 0.7, 3, y)
    wanted = adjit.grad(of_several_types, wrt=(0, 1, 3), target="python")(x, 0.7, 3, y)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
