"""Powers.

In: two numbers. Out: the instructions for one to the power of the other.

x ** y = exp2(y log2(x)), with a dozen more bits in the logarithm than a float64 has: the whole part takes up to ten.
"""

from __future__ import annotations

from adjit.runtime.vectormath.arithmetic import (
    INFINITY,
    NAN,
    Double,
    fast_two_sum,
    polynomial,
    quotient,
    two_product,
    two_sum,
)
from adjit.runtime.vectormath.exponentials import LOG2, LOG2_REST, exp2, exp_parts, scaled
from adjit.runtime.vectormath.logarithms import PER_LOG2, near_one, scaled_parts
from adjit.runtime.vectormath.values import Real, copysign, multiply_add, round_to_whole, select

THIRD, THIRD_REST = 0.3333333333333333, 1.850371707708594e-17
FIFTH, FIFTH_REST = 0.2, -1.1102230246251566e-17
# (atanh(s) / s - 1 - s ** 2 / 3 - s ** 4 / 5) / s ** 6 as a polynomial in s ** 2, to 2 ** -72 of atanh(s) / s
SERIES = (
    0.14285714285714285, 0.11111111111111474, 0.09090909090650176, 0.0769230776251003, 0.0666665733245744,
    0.05883025350730358, 0.05236442130314114, 0.05308630484722615,
)  # fmt: skip
TWO_PER_LOG2, TWO_PER_LOG2_REST = 2.8853900817779268, 4.0710547481862066e-17
_MOST = 1100.0  # 2 ** it is out of range, and so is 2 ** -it


def _log2(x: Real) -> Double:
    """Of a finite x > 0, to 2 ** -67 of it."""
    k, f, _ = scaled_parts(x)
    s = quotient(Double(f, x.like(0.0)), two_sum(x.like(2.0), f))
    square = two_product(s.high, s.high)
    z = fast_two_sum(square.high, multiply_add(2.0 * s.high, s.low, square.low))
    # atanh(s) = s (1 + z (1 / 3 + z (1 / 5 + z series)))
    inner = fast_two_sum(x.like(FIFTH), z.high * polynomial(z.high, SERIES))
    inner = _product(Double(inner.high, inner.low + FIFTH_REST), z)
    inner = _plus(x.like(THIRD), THIRD_REST, inner)
    inner = _plus(x.like(1.0), 0.0, _product(inner, z))
    of_f = _product(_product(inner, s), Double(x.like(TWO_PER_LOG2), x.like(TWO_PER_LOG2_REST)))
    total = fast_two_sum(k, of_f.high)
    return fast_two_sum(total.high, total.low + of_f.low)


def _plus(large: Real, rest: float, small: Double) -> Double:
    total = fast_two_sum(large, small.high)
    return Double(total.high, total.low + (small.low + rest))


def _product(a: Double, b: Double) -> Double:
    product = two_product(a.high, b.high)
    return fast_two_sum(product.high, product.low + multiply_add(a.high, b.low, a.low * b.high))


def pow(x: Real, y: Real) -> Real:
    size = abs(x)
    log = _log2(select(size < INFINITY, size, 1.0))
    whole = two_product(y, log.high)
    is_within = abs(whole.high) < _MOST
    low = select(is_within, multiply_add(y, log.low, whole.low), 0.0)
    high = _bounded(whole.high)
    k = round_to_whole(high)
    rest = fast_two_sum(high - k, low)
    r = two_product(rest.high, x.like(LOG2))
    r_low = multiply_add(rest.high, LOG2_REST, multiply_add(rest.low, LOG2, r.low))
    # |r| is at most log(2) / 2 and a bit: exp_parts takes it as it is, or log 2 less
    power, more = exp_parts(Double(r.high, r_low))
    return _with_corners(x, y, scaled(power.high + power.low, k + more))


def pow_single(x: Real, y: Real) -> Real:
    """To the 24 bits of a float32."""
    size = abs(x)
    k, f, _ = scaled_parts(select(size < INFINITY, size, 1.0))
    of_f = near_one(f)
    exponent = _bounded(y * multiply_add(of_f.high + of_f.low, PER_LOG2, k))
    return _with_corners(x, y, exp2(exponent))


def _bounded(exponent: Real) -> Real:
    """An exponent of 2 cut to the range in which its power may be neither 0 nor inf, and a bit; nan stays nan."""
    return select(exponent > _MOST, _MOST, select(exponent < -_MOST, -_MOST, exponent))


def _with_corners(x: Real, y: Real, value: Real) -> Real:
    """x ** y, given that of |x|, which is right for finite numbers."""
    size = abs(x)
    # |x| is 0 or inf; then |x| is 1 and y is infinite
    is_zero = size.equals(0.0)
    end = select((is_zero & (y > 0.0)) | (~is_zero & (y < 0.0)), 0.0, INFINITY)
    value = select(is_zero | size.equals(INFINITY), end, value)
    value = select(size.equals(1.0), 1.0, value)
    # of a negative x the sign of an odd power, or none; an infinite y is even
    half = 0.5 * y
    is_whole = round_to_whole(y).equals(y)
    is_odd = is_whole & ~round_to_whole(half).equals(half)
    value = select(is_odd, copysign(value, x), value)
    value = select(is_whole | (x >= 0.0) | is_zero | size.equals(INFINITY), value, NAN)
    value = select(x.is_nan() | y.is_nan(), NAN, value)
    return select(y.equals(0.0) | x.equals(1.0), 1.0, value)
