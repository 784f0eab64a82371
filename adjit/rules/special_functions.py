"""The gamma and error functions, and the special functions that numba lacks but their derivatives need.

In: a float. Out: `digamma(x)`, `polygamma(n, x)`, which numba compiles, and the partials of `math.gamma` and its kin.

    y = math.lgamma(x)      x_bar += digamma(x) * y_bar
"""

import math

import numba
import numpy as np

from adjit.rules.registry import builtin

partials = builtin.partials

# The positive zero of digamma, in two parts, and the Taylor coefficients there: polygamma(k, zero) / k!
_ZERO = 1.4616321449683622
_ZERO_REST = 9.549995429965697e-17
_AT_ZERO = (
    0.9676722454476214, -0.44276316898359214, 0.2584997609556512, -0.16394270544240658, 0.10782405069126239,
    -0.07219956125645476, 0.048804288164143145, -0.033161126474847376, 0.022597648232218125, -0.015424765904948968,
    0.010538791616612182, -0.007204534386356875, 0.004926781395729858, -0.0033698016554393317, 0.00230512632673493,
    -0.0015769367714301987, 0.0010788252019162975, -0.000738070938996006,
)
# Bernoulli numbers B2, B4, .., of the asymptotic series
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_FAR = 15.0  # from here on the asymptotic series is exact to rounding


@numba.njit(error_model="numpy")
def digamma(x: float) -> float:
    """The derivative of log(gamma(x)); nan at 0, -1, -2, .. (DLMF 5.5.2, 5.5.4, 5.11.2)."""
    reflected = 0.0
    if x <= 0.0:
        if x == math.floor(x):
            return math.nan
        # the fraction alone goes into tan, which keeps its digits for large x
        reflected = math.pi / math.tan(math.pi * (x - math.floor(x)))
        x = 1.0 - x
    offset = (x - _ZERO) - _ZERO_REST
    if abs(offset) < 0.15:
        value = 0.0
        for coefficient in _AT_ZERO[::-1]:
            value = (value + coefficient) * offset
        return value - reflected
    value = 0.0
    while x < _FAR:
        value -= 1.0 / x
        x += 1.0
    inverse_square = 1.0 / (x * x)
    series, factor = 0.0, 1.0
    for k in range(len(_BERNOULLI)):
        factor *= inverse_square
        series += _BERNOULLI[k] / (2 * k + 2) * factor
    return value + math.log(x) - 0.5 / x - series - reflected


@numba.njit(error_model="numpy")
def _derivative_of_cotangent(n: int, x: float) -> float:
    """The n-th derivative of pi / tan(pi x): a polynomial in the cotangent, as cot' = -(1 + cot ** 2)."""
    coefficients = np.zeros(n + 2)
    coefficients[1] = 1.0
    for _ in range(n):
        slope = np.zeros(n + 2)
        for k in range(1, n + 2):
            slope[k - 1] -= k * coefficients[k]
            if k < n + 1:
                slope[k + 1] -= k * coefficients[k]
        coefficients = slope
    cotangent, value = 1.0 / math.tan(math.pi * (x - math.floor(x))), 0.0
    for k in range(n + 1, -1, -1):
        value = value * cotangent + coefficients[k]
    return float(value * math.pi ** (n + 1))


@numba.njit(error_model="numpy")
def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma, n >= 1; nan at 0, -1, -2, .. (DLMF 5.15.5, 5.15.6, 5.15.8)."""
    sign = 1.0 if n % 2 == 1 else -1.0
    is_reflected, reflected = x <= 0.0, 0.0
    if is_reflected:
        if x == math.floor(x):
            return math.nan
        reflected = _derivative_of_cotangent(n, x)
        x = 1.0 - x
    # sign * polygamma = (n - 1)! / x ** n + n! / (2 x ** (n + 1)) + sum of B_2k (2k + n - 1)! / ((2k)! x ** (2k + n))
    below = 0.0
    while x < _FAR + n:
        below += x ** (-n - 1.0)
        x += 1.0
    factorial = math.gamma(float(n))
    term = factorial * x ** (-float(n))
    value = term + 0.5 * n * term / x
    for k in range(len(_BERNOULLI)):
        # (2k + n - 1)! / (2k)! x ** -(2k + n), from the one before
        low = 2.0 * k + n
        term *= low * (low + 1.0) / ((2.0 * k + 1.0) * (2.0 * k + 2.0) * x * x)
        value += _BERNOULLI[k] * term
    found = sign * (value + factorial * n * below)
    return float(-sign * found - reflected if is_reflected else found)


partials(math.erf, lambda x: 1.1283791670955126 * math.exp(-x * x))  # 2 / sqrt(pi)
partials(math.erfc, lambda x: -1.1283791670955126 * math.exp(-x * x))
partials(math.lgamma, lambda x: digamma(x))
partials(math.gamma, lambda x, *, y: y * digamma(x))
partials(digamma, lambda x: polygamma(1, x))
partials(polygamma, lambda n, x: (0, polygamma(n + 1, x)))
