"""Logarithms.

In: a number. Out: the instructions for log, log1p, log2 and log10 of it.

x = 2 ** k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). With s = f / (2 + f), log(1 + f) = 2 atanh(s), which is
f - (h - s * (h + R)) where h = f ** 2 / 2 and R = s ** 2 p(s ** 2); f and h are kept exactly.
"""

from __future__ import annotations

from typing import NamedTuple

from adjit.runtime.vectormath.arithmetic import (
    INFINITY,
    NAN,
    Double,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from adjit.runtime.vectormath.exponentials import LOG2_HIGH, LOG2_LOW
from adjit.runtime.vectormath.values import Real, Whole, bits_of, copysign, multiply_add, select

PER_LOG2, PER_LOG2_REST = 1.4426950408889634, 2.0355273740931033e-17  # 1 / log 2
PER_LOG10, PER_LOG10_REST = 0.4342944819032518, 1.098319650216765e-17  # 1 / log 10
# log10(2); the last 12 bits of the first part are 0
LOG10_OF_2_HIGH, LOG10_OF_2_LOW = float.fromhex("0x1.34413509f7000p-2"), float.fromhex("0x1.3fde623e2566bp-43")
# (2 atanh(s) - 2 s) / s ** 3 as a polynomial in s ** 2, to 2 ** -60 of 2 s
SERIES = (
    0.6666666666666666, 0.4000000000000088, 0.2857142857080285, 0.22222222391887064, 0.18181795621632782,
    0.15386240708969665, 0.13268746195596595, 0.13086907887965027,
)  # fmt: skip
_SMALLEST_NORMAL = 2.0**-1022
_ROOT_HALF_BITS = bits_of(0.5**0.5)
_EXPONENT = -(1 << 52)  # the bits of exponent and sign
_WHOLE_BITS = bits_of(2.0**52)


class Parts(NamedTuple):
    """x = 2 ** k (1 + f). `shift`: a whole number whose lowest 11 bits are those of k + 1023."""

    k: Real
    f: Real
    shift: Whole


def parts(x: Real) -> Parts:
    """Of a normal x > 0."""
    bits = x.bits()
    above = bits - _ROOT_HALF_BITS
    f = (bits - (above & _EXPONENT)).real() - 1.0
    shift = (above + (1023 << 52)) >> 52
    return Parts((shift | _WHOLE_BITS).real() - (2.0**52 + 1023.0), f, shift)


def scaled_parts(x: Real) -> Parts:
    """Of any x > 0; `shift` is not that of k where x is subnormal."""
    is_small = x < _SMALLEST_NORMAL
    found = parts(select(is_small, x * 2.0**54, x))
    return found._replace(k=found.k - select(is_small, 54.0, 0.0))


def near_one(f: Real) -> Double:
    """log(1 + f), to a few bits more than a float64 has."""
    s = f / (2.0 + f)
    z = s * s
    h = two_product(0.5 * f, f)
    first = fast_two_sum(f, -h.high)
    return Double(first.high, multiply_add(s, h.high + z * polynomial(z, SERIES), first.low - h.low))


def with_corners(x: Real, value: Real) -> Real:
    """The value for 0 < x < inf, and what there is at other x."""
    value = select(x < INFINITY, value, x)
    return select(x > 0.0, value, select(x.equals(0.0), -INFINITY, NAN))


def log(x: Real) -> Real:
    k, f, _ = scaled_parts(x)
    of_f = near_one(f)
    total = fast_two_sum(k * LOG2_HIGH, of_f.high)
    return with_corners(x, total.high + (total.low + multiply_add(k, LOG2_LOW, of_f.low)))


def log1p(x: Real) -> Real:
    whole = two_sum(x.like(1.0), x)
    k, f, shift = parts(whole.high)
    # what the sum lost: (u + rest) / 2 ** k = 1 + f + rest / 2 ** k
    rest = select(x > 2.0**60, 0.0, whole.low * ((2046 - shift) << 52).real() / (1.0 + f))
    of_f = near_one(f)
    total = fast_two_sum(k * LOG2_HIGH, of_f.high)
    value = total.high + (total.low + (multiply_add(k, LOG2_LOW, of_f.low) + rest))
    return copysign(with_corners(whole.high, value), x)


def log2(x: Real) -> Real:
    k, f, _ = scaled_parts(x)
    of_f = _times(near_one(f), PER_LOG2, PER_LOG2_REST)
    total = fast_two_sum(k, of_f.high)
    return with_corners(x, total.high + (total.low + of_f.low))


def log10(x: Real) -> Real:
    k, f, _ = scaled_parts(x)
    of_f = _times(near_one(f), PER_LOG10, PER_LOG10_REST)
    total = fast_two_sum(k * LOG10_OF_2_HIGH, of_f.high)
    return with_corners(x, total.high + (total.low + multiply_add(k, LOG10_OF_2_LOW, of_f.low)))


def _times(number: Double, factor: float, rest: float) -> Double:
    """The product with factor + rest."""
    sharp = fast_two_sum(number.high, number.low)
    product = two_product(sharp.high, sharp.high.like(factor))
    return Double(product.high, product.low + multiply_add(sharp.low, factor, sharp.high * rest))
