"""The incomplete gamma and beta functions by their parameters, and Hurwitz's zeta function: what SciPy lacks.

In: floats. Out: derivatives that numba compiles, to about 1e-12 of their size.

    y = gammainc(a, x)      a_bar += gammainc_by_a(a, x) * y_bar

Each comes from the series or the continued fraction of the function, differentiated term by term, on the side where
all its terms have one sign.
"""

import math

import numba

from adjit.rules.special_functions import digamma

# B2 / 2!, B4 / 4!, ..
_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
)
_TINY = 1e-300
_ENOUGH = 2e-16
_MOST = 100_000


@numba.njit(error_model="numpy")
def gammainc_over_power(a: float, x: float) -> float:
    """The derivative of gammainc(a, x) by a, over x ** a e ** -x / gamma(a + 1); for a, x > 0 (DLMF 8.7.1, 8.9.2)."""
    if x < a + 1.0:
        term, term_by_a, total, total_by_a, n = 1.0, 0.0, 1.0, 0.0, 0
        while term > 1e-17 * total and n < _MOST:
            n += 1
            term_by_a = (term_by_a - term / (a + n)) * x / (a + n)
            term *= x / (a + n)
            total += term
            total_by_a += term_by_a
        return total * (math.log(x) - digamma(a + 1.0)) + total_by_a
    # Q = x ** a e ** -x / gamma(a) times a fraction, by Lentz's method with derivatives
    b, c, c_by_a = x + 1.0 - a, 1.0 / _TINY, 0.0
    d = 1.0 / b
    d_by_a = d * d
    h, h_by_a, n, change, before = d, d_by_a, 0, 0.0, math.inf
    # where a is whole the fraction ends, but not its derivative
    while n < _MOST and not (abs(change - 1.0) <= _ENOUGH and abs(h_by_a - before) <= _ENOUGH * abs(h_by_a)):
        n += 1
        before = h_by_a
        top = -n * (n - a)
        b += 2.0
        d_by_a, d = n * d + top * d_by_a - 1.0, top * d + b
        d_by_a, d = -d_by_a / (d * d), 1.0 / d
        c_by_a, c = -1.0 + n / c - top * c_by_a / (c * c), b + top / c
        change = c * d
        h_by_a, h = h_by_a * change + h * (c_by_a * d + c * d_by_a), h * change
    return -a * (h * (math.log(x) - digamma(a)) + h_by_a)


@numba.njit(error_model="numpy")
def gammainc_by_a(a: float, x: float) -> float:
    """The derivative of gammainc(a, x) by a, for a > 0."""
    if not (a > 0.0 and x >= 0.0):
        return math.nan
    if x == 0.0 or x == math.inf:
        return 0.0
    return math.exp(a * math.log(x) - x - math.lgamma(a + 1.0)) * gammainc_over_power(a, x)


@numba.njit(error_model="numpy")
def _of_fraction(a: float, b: float, x: float) -> tuple[float, float, float]:
    """DLMF 8.17.22 below its front factor, x ** a (1 - x) ** b / (a B(a, b)), and its derivatives by a and b."""
    # numerators with their derivatives go through Lentz's recurrence
    c, c_a, c_b = 1.0, 0.0, 0.0
    d, d_a, d_b = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), 0.0, 0.0
    d_a, d_b = d * d * x * (1.0 - b) / ((a + 1.0) * (a + 1.0)), d * d * x / (a + 1.0)
    h, h_a, h_b, n, left = d, d_a, d_b, 1, math.inf
    while left > _ENOUGH and n < _MOST:
        n += 1
        before_a, before_b = h_a, h_b
        m = n // 2
        low = (a + n - 1.0) * (a + n)
        if n % 2 == 0:
            top = m * (b - m) * x / low
            top_a, top_b = -top * (2.0 * a + 2.0 * n - 1.0) / low, m * x / low
        else:
            top = -(a + m) * (a + b + m) * x / low
            top_a = -(2.0 * a + b + 2.0 * m) * x / low - top * (2.0 * a + 2.0 * n - 1.0) / low
            top_b = -(a + m) * x / low
        d_a, d_b, d = top_a * d + top * d_a, top_b * d + top * d_b, 1.0 + top * d
        d_a, d_b, d = -d_a / (d * d), -d_b / (d * d), 1.0 / d
        c_a, c_b, c = (top_a - top * c_a / c) / c, (top_b - top * c_b / c) / c, 1.0 + top / c
        change = c * d
        h_a = h_a * change + h * (c_a * d + c * d_a)
        h_b = h_b * change + h * (c_b * d + c * d_b)
        h *= change
        size = abs(h)
        left = max(abs(change - 1.0), abs(h_a - before_a) / (size + abs(h_a)), abs(h_b - before_b) / (size + abs(h_b)))
    return h, h_a, h_b


@numba.njit(error_model="numpy")
def _over_power(a: float, b: float, x: float, rest: float) -> tuple[float, float]:
    """The same two where the fraction converges fast, over x ** a rest ** b / B(a, b), with rest = 1 - x."""
    h, h_a, h_b = _of_fraction(a, b, x)
    both = digamma(a + b)
    over_a = (h * (math.log(x) - digamma(a + 1.0) + both) + h_a) / a
    over_b = (h * (math.log(rest) - digamma(b) + both) + h_b) / a
    return over_a, over_b


@numba.njit(error_model="numpy")
def betainc_over_power(a: float, b: float, x: float, rest: float) -> float:
    """The derivative of betainc(a, b, x) by a, over x ** a rest ** b / B(a, b), with rest = 1 - x (DLMF 8.17.22)."""
    if x < (a + 1.0) / (a + b + 2.0):
        return _over_power(a, b, x, rest)[0]
    return -_over_power(b, a, rest, x)[1]  # I_x(a, b) = 1 - I_(1 - x)(b, a), DLMF 8.17.4


@numba.njit(error_model="numpy")
def betainc_by_a(a: float, b: float, x: float) -> float:
    """The derivative of betainc(a, b, x) by a, for a, b > 0."""
    if not (a > 0.0 and b > 0.0 and 0.0 <= x <= 1.0):
        return math.nan
    if x == 0.0 or x == 1.0:
        return 0.0
    power = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    return power * betainc_over_power(a, b, x, 1.0 - x)


@numba.njit(error_model="numpy")
def betainc_by_b(a: float, b: float, x: float) -> float:
    """The derivative of betainc(a, b, x) by b."""
    return -betainc_by_a(b, a, 1.0 - x)


@numba.njit(error_model="numpy")
def hurwitz(x: float, q: float) -> float:
    """Hurwitz's zeta function for x > 1 and q > 0: the sum of (q + k) ** -x (DLMF 25.11.5, Euler and Maclaurin)."""
    if not (x > 1.0 and q > 0.0):
        return math.inf if x == 1.0 else math.nan
    total = 0.0
    while q < 12.0:
        total += q**-x
        q += 1.0
    power = q**-x
    total += q * power / (x - 1.0) + 0.5 * power
    factor, place = x * power / q, x
    for k in range(len(_MACLAURIN)):
        total += _MACLAURIN[k] * factor
        factor *= (place + 1.0) * (place + 2.0) / (q * q)
        place += 2.0
    return float(total)


@numba.njit(error_model="numpy")
def hurwitz_by_x(x: float, q: float) -> float:
    """The derivative of that by x, term by term; nan for x <= 1."""
    if not (x > 1.0 and q > 0.0):
        return math.nan
    total = 0.0
    while q < 12.0:
        total -= math.log(q) * q**-x
        q += 1.0
    power, log_q = q**-x, math.log(q)
    total -= q * power / (x - 1.0) * (log_q + 1.0 / (x - 1.0)) + 0.5 * log_q * power
    factor, slope, place = x * power / q, 1.0 / x - log_q, x
    for k in range(len(_MACLAURIN)):
        total += _MACLAURIN[k] * factor * slope
        factor *= (place + 1.0) * (place + 2.0) / (q * q)
        slope += 1.0 / (place + 1.0) + 1.0 / (place + 2.0)
        place += 2.0
    return float(total)
