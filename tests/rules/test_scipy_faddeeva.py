"""The Faddeeva function and its derivatives against SciPy's values, and programs of spectroscopy that use it."""

import math

import numpy as np
import pytest
from scipy import special

import adjit
from adjit.rules.scipy.special.faddeeva import imaginary_part, real_part

PLACES = [
    complex(x, y)
    for x in (0.0, 1e-7, 0.13, 0.52, 1.04, 2.3, 4.9, 6.9, 7.1, 30.0, 1e6, -0.3, -5.2, -40.0)
    for y in (0.0, 1e-20, 1e-9, 0.02, 0.7, 3.1, 6.2, 6.99, 7.3, 50.0, 1e5)
]


@pytest.mark.parametrize("z", PLACES)
def test_values_and_the_recurrence(z: complex) -> None:
    parts = [complex(real_part(n, z.real, z.imag), imaginary_part(n, z.real, z.imag)) for n in range(4)]
    assert parts[0] == pytest.approx(special.wofz(z), rel=3e-13)
    assert parts[0].real == pytest.approx(special.wofz(z).real, rel=3e-13, abs=1e-300)
    # w'' = -2 (z w' + w), whose terms cancel far from 0
    for n in (1, 2):
        terms = z * parts[n], n * parts[n - 1]
        assert abs(parts[n + 1] + 2.0 * sum(terms)) <= 1e-11 * max(map(abs, terms)) * max(1.0, min(abs(z), 7.0) ** 2)


@pytest.mark.parametrize("x", [0.0, 0.4, 3.7, 6.99, 7.01, 20.0])
def test_on_the_real_axis_it_is_a_gaussian(x: float) -> None:
    bell = math.exp(-x * x)
    slopes = bell, -2 * x * bell, (4 * x * x - 2) * bell
    for n, expected in enumerate(slopes):
        assert real_part(n, x, 0.0) == pytest.approx(expected, rel=1e-11)


def test_ends() -> None:
    assert real_part(0, math.inf, 1.0) == 0.0
    assert imaginary_part(2, -math.inf, 0.0) == 0.0
    assert math.isnan(real_part(1, math.nan, 0.0))


def lines(p, x):
    z = ((x - p[0]) + 1j * p[2]) / (p[1] * np.sqrt(2.0))
    shape = special.wofz(z).real / (p[1] * np.sqrt(2.0 * np.pi))
    return np.sum(shape * x) + special.wofz(complex(p[0], -p[2])).imag + special.wofz(p[1]).imag


def profile(p, x):
    return np.sum(special.voigt_profile(x - p[0], p[1], p[2]) * x) + special.wofz(complex(p[0], -p[2])).imag


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("f", [lines, profile])
def test_programs(f, target) -> None:
    p, x = np.array([0.3, 0.5, 0.2]), np.linspace(-3.0, 9.0, 25)
    value, bar = adjit.value_and_grad(f, target=target)(p, x)
    assert value == pytest.approx(f(p, x), rel=1e-13)
    steps = 1e-5 * np.eye(3)
    differences = [(8 * (f(p + e, x) - f(p - e, x)) - f(p + 2 * e, x) + f(p - 2 * e, x)) / 12e-5 for e in steps]
    np.testing.assert_allclose(bar, differences, rtol=1e-8)


def test_wings_of_a_narrow_line_keep_their_digits() -> None:
    slope = adjit.grad(lambda x, gamma: special.voigt_profile(x, 1.0, gamma))
    for x in (3.0, 12.0, 30.0):
        assert slope(x, 0.0) == pytest.approx(-x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi), rel=1e-11)
