"""The Faddeeva function, w(z) = exp(-z**2) erfc(-iz), and the Voigt profile, which is its real part.

In: n, and real numbers x, y >= 0. Out: the parts of the n-th derivative of w at x + iy, which numba compiles; the
derivatives of SciPy's `voigt_profile` and `wofz` by these.

    p = voigt_profile(x, sigma, gamma)      x_bar += real_part(1, x / s, gamma / s) / (s * s * sqrt(pi)) * p_bar
"""

import math

import numba
import numpy as np
import scipy.special as sc

from adjit.rules.numpy.complex_numbers import complex_of
from adjit.rules.registry import builtin

_NODES = 12
_STEP = math.sqrt(math.pi / _NODES)
_FAR = 7.0  # from here on the asymptotic series is exact to rounding
_TERMS = 24
_ROOT_PI = math.sqrt(math.pi)


@numba.njit(error_model="numpy")
def _faddeeva(x: float, y: float) -> complex:
    """w(x + iy) of x, y >= 0 by a trapezoidal rule, less the residue of its pole (Chiarella, Reichel 1968; Al Azah,
    Chandler-Wilde 2021).

    Of its two grids that is taken whose nodes are farther from x. Errors are below 3e-14 of abs(w).
    """
    is_low = y < max(x, math.pi / _STEP)
    share = x / _STEP - math.floor(x / _STEP)
    on_wholes = is_low and 0.25 <= share <= 0.75
    value = 0.0j
    if on_wholes:
        below = _STEP / math.pi / (x * x + y * y)
        value += complex(below * y, below * x)
    for k in range(_NODES):
        node = (k + 1.0 if on_wholes else k + 0.5) * _STEP
        a, b = x * x - y * y - node * node, 2.0 * x * y
        weight = 2.0 * _STEP / math.pi * math.exp(-node * node) / (a * a + b * b)
        value += complex(weight * (x * b - y * a), weight * (x * a + y * b))
    if is_low:
        turn = complex(math.cos(2.0 * math.pi * share), -math.sin(2.0 * math.pi * share))
        residue = 2.0 * math.exp(y * y - x * x) * complex(math.cos(2.0 * x * y), -math.sin(2.0 * x * y))
        far = math.exp(2.0 * math.pi * y / _STEP)
        value += residue / (1.0 - far * turn if on_wholes else 1.0 + far * turn)
    return value


@numba.njit(error_model="numpy")
def _of_gaussian(n: int, x: float) -> float:
    """The n-th derivative of exp(-x**2) (DLMF 18.9.25)."""
    before, value = 0.0, math.exp(-x * x)
    for k in range(n):
        before, value = value, -2.0 * (x * value + k * before)
    return value


@numba.njit(error_model="numpy")
def _derivative(n: int, x: float, y: float) -> complex:
    """The n-th derivative of w at x + iy, y >= 0 (DLMF 7.10.3, 7.12.1)."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return complex(math.nan, math.nan) if math.isnan(x) or math.isnan(y) else 0.0j
    z = complex(x, y)
    if abs(z) >= _FAR:
        inverse = 1.0 / z
        term = complex(0.0, (-1.0) ** n / _ROOT_PI) * inverse
        for k in range(1, n + 1):
            term *= k * inverse
        value = term
        for k in range(1, _TERMS):
            term *= 0.5 * (2 * k + n - 1) * (2 * k + n) / k * inverse * inverse / 2.0
            value += term
        # on the real axis the real part is all beyond the series' reach; farther off, nothing to speak of
        return value + _of_gaussian(n, x) if y < 1e-5 else value
    right = _faddeeva(abs(x), y)
    before, value = 0.0j, right if x >= 0.0 else right.conjugate()
    for k in range(n):
        source = complex(0.0, 2.0 / _ROOT_PI) if k == 0 else -2.0 * k * before
        before, value = value, source - 2.0 * z * value
    return value


@numba.njit(error_model="numpy")
def real_part(n: int, x: float, y: float) -> float:
    """The real part of the n-th derivative of the Faddeeva function at x + iy, y >= 0."""
    return float(_derivative(n, x, y).real)


@numba.njit(error_model="numpy")
def imaginary_part(n: int, x: float, y: float) -> float:
    """The imaginary part of the n-th derivative of the Faddeeva function at x + iy, y >= 0."""
    return float(_derivative(n, x, y).imag)


partials = builtin.partials
# those of Cauchy and Riemann
partials(real_part, lambda n, x, y: (0, real_part(n + 1, x, y), -imaginary_part(n + 1, x, y)))
partials(imaginary_part, lambda n, x, y: (0, imaginary_part(n + 1, x, y), real_part(n + 1, x, y)))


def voigt_profile(x, sigma, gamma):
    s = 1.4142135623730951 * sigma
    u, v = x / s, gamma / s
    scale = 1 / (s * s * _ROOT_PI)
    # it solves the equation of heat: its derivative by sigma is sigma times its second one by x
    return real_part(1, u, v) * scale, real_part(2, u, v) * scale * sigma / s, -imaginary_part(1, u, v) * scale


partials(sc.voigt_profile, voigt_profile)


def upper_half(x, y):
    """The parts of w at x + iy, y >= 0: the real one by SciPy, to its own digits where it is small."""
    return _ROOT_PI * sc.voigt_profile(x, 0.7071067811865476, y), imaginary_part(0, x, y)


def wofz(z):
    x, y = np.real(z), np.imag(z)
    real, imag = upper_half(x, np.abs(y))
    # w(-z) = 2 exp(-z ** 2) - w(z), which below the axis is what is left (DLMF 7.4.3)
    is_below = y < 0
    side = np.where(is_below, -1.0, 1.0)
    growth = np.where(is_below, 2.0 * np.exp(np.where(is_below, y * y - x * x, 0.0)), 0.0)
    return complex_of(side * real + growth * np.cos(2.0 * x * y), imag - growth * np.sin(2.0 * x * y))


builtin.of_complex(sc.wofz)(wofz)
builtin.decomposition(sc.wofz)(lambda z: wofz(z + 0.0j))
