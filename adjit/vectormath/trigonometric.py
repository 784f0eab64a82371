"""Trigonometric functions.

In: a number. Out: the instructions for sin, cos and tan of it.

x = n pi / 2 + r with |r| <= pi / 4, r in two parts. Below 2 ** 30, n pi / 2 is subtracted in three parts (Cody and Waite).
From there on x = m 2 ** q with a whole m, and x / (pi / 2), but for multiples of 4, is m times 2 ** q / (pi / 2), but for
multiples of 4: a table has the latter for each q, to four float64 (after Payne and Hanek 1983).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from adjit.vectormath.arithmetic import (
    INFINITY,
    NAN,
    ROUNDER,
    Double,
    fast_two_sum,
    polynomial,
    quotient,
    rounded,
    two_product,
    two_sum,
)
from adjit.vectormath.values import Real, Truth, Whole, bits_of, copysign, multiply_add, round_to_whole, select, table

QUARTER = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)  # pi / 2
PER_QUARTER = 0.6366197723675814
# (sin(r) - r) / r ** 3 and (cos(r) - 1 + r ** 2 / 2) / r ** 4 as polynomials in r ** 2, to 2 ** -57
SINE = (
    -0.16666666666666666,
    0.008333333333333331,
    -0.00019841269841264567,
    2.7557319218954762e-06,
    -2.505210610025599e-08,
    1.6058510875319195e-10,
    -7.585486485235938e-13,
)
COSINE = (
    0.041666666666666664,
    -0.0013888888888887241,
    2.480158729853226e-05,
    -2.7557317151858866e-07,
    2.0876121534608454e-09,
    -1.1380868171449914e-11,
)
_LARGE_EXPONENT = 30
_LARGE = 2.0**_LARGE_EXPONENT
_LINEAR = 2.0**-27  # below it the sine and the tangent are x to rounding
_MANTISSA = (1 << 52) - 1
_WHOLE_BITS = bits_of(2.0**52)


class Reduced(NamedTuple):
    """x = n pi / 2 + r. `quadrant`: the lowest two bits are those of n."""

    quadrant: Whole
    r: Double


def reduce(x: Real) -> Reduced:
    """Of a finite x."""
    n, quadrant = rounded(x * PER_QUARTER)
    near, middle = two_product(n, x.like(QUARTER[0])), two_product(n, x.like(QUARTER[1]))
    # both differences are exact
    rest = two_sum((x - near.high) - near.low, -middle.high)
    r = fast_two_sum(rest.high, multiply_add(n, -QUARTER[2], rest.low - middle.low))
    far = _reduce_large(select(abs(x) < _LARGE, _LARGE, x))
    is_large = abs(x) >= _LARGE
    high, low = select(is_large, far.r.high, r.high), select(is_large, far.r.low, r.low)
    return Reduced(select(is_large, far.quadrant.real(), quadrant.real()).bits(), Double(high, low))


def _reduce_large(x: Real) -> Reduced:
    """Of a finite |x| >= 2 ** 30."""
    bits = abs(x).bits()
    row = (bits >> 52) - (1023 + _LARGE_EXPONENT)
    m = copysign(((bits & _MANTISSA) | _WHOLE_BITS).real(), x)
    factors = [table(f"adjit.vectormath.quarters.{k}", part, row) for k, part in enumerate(_quarters())]
    first, second, third = (two_product(m, factor) for factor in factors[:3])
    total = two_sum(first.high - 4.0 * round_to_whole(first.high * 0.25), first.low)
    more = two_sum(total.high, second.high)
    n = round_to_whole(more.high)
    # what is left may cancel down to 2 ** -62
    value = more.high - n
    rest = third.low + m * factors[3]
    for part in (more.low, total.low, second.low, third.high):
        step = two_sum(value, part)
        value, rest = step.high, rest + step.low
    fraction = fast_two_sum(value, rest)
    r = two_product(fraction.high, x.like(QUARTER[0]))
    low = multiply_add(fraction.high, QUARTER[1], multiply_add(fraction.low, QUARTER[0], r.low))
    return Reduced((n + ROUNDER).bits(), fast_two_sum(r.high, low))


@functools.cache
def _quarters() -> tuple[list[float], ...]:
    """2 ** q / (pi / 2), but for multiples of 4, in four float64 for each q from that of 2 ** 30 on; one row to spare."""
    places = 1400
    one = 1 << (places + 64)
    pi = 4 * (4 * _arc_tangent_of_inverse(5, one) - _arc_tangent_of_inverse(239, one))
    per_quarter = (2 * one << places) // pi
    rows: list[list[float]] = []
    for exponent in range(_LARGE_EXPONENT, 1025):
        q = exponent - 52
        scaled = per_quarter << q if q >= 0 else per_quarter >> -q
        rest = (scaled + (2 << places)) % (4 << places) - (2 << places)
        row = []
        for _ in range(4):
            row.append(rest / (1 << places))
            numerator, denominator = row[-1].as_integer_ratio()
            rest -= (numerator << places) // denominator
        rows.append(row)
    return tuple([row[k] for row in rows] for k in range(4))


def _arc_tangent_of_inverse(number: int, one: int) -> int:
    """one * atan(1 / number), by its power series."""
    power = total = one // number
    k = 1
    while power:
        power //= -number * number
        k += 2
        total += power // k
    return total


def _sine(r: Double) -> Double:
    z = r.high * r.high
    return Double(r.high, multiply_add(r.high * z, polynomial(z, SINE), multiply_add(z, -0.5 * r.low, r.low)))


def _cosine(r: Double) -> Double:
    z = r.high * r.high
    half = 0.5 * z
    one = fast_two_sum(z.like(1.0), -half)
    return Double(one.high, one.low + multiply_add(z * z, polynomial(z, COSINE), -(r.high * r.low)))


def _is_odd(quadrant: Whole) -> Truth:
    return (quadrant & 1).equals(1)


def _with_sign(value: Real, quadrant: Whole) -> Real:
    """Negated where the second lowest bit of the quadrant is set."""
    return (value.bits() ^ ((quadrant & 2) << 62)).real()


def _finite(x: Real) -> tuple[Real, Truth]:
    """x, or 0 where it is inf or nan, and whether it was finite."""
    is_finite = abs(x) < INFINITY
    return select(is_finite, x, 0.0), is_finite


def sin(x: Real) -> Real:
    within, is_finite = _finite(x)
    quadrant, r = reduce(within)
    sine, cosine = _sine(r), _cosine(r)
    value = select(_is_odd(quadrant), cosine.high + cosine.low, sine.high + sine.low)
    value = select(abs(x) < _LINEAR, x, _with_sign(value, quadrant))
    return select(is_finite, value, NAN)


def cos(x: Real) -> Real:
    within, is_finite = _finite(x)
    quadrant, r = reduce(within)
    sine, cosine = _sine(r), _cosine(r)
    value = select(_is_odd(quadrant), sine.high + sine.low, cosine.high + cosine.low)
    return select(is_finite, _with_sign(value, quadrant + 1), NAN)


def tan(x: Real) -> Real:
    within, is_finite = _finite(x)
    quadrant, r = reduce(within)
    sine, cosine = _sine(r), _cosine(r)
    is_odd = _is_odd(quadrant)
    over = Double(select(is_odd, -cosine.high, sine.high), select(is_odd, -cosine.low, sine.low))
    under = Double(select(is_odd, sine.high, cosine.high), select(is_odd, sine.low, cosine.low))
    value = quotient(fast_two_sum(*over), fast_two_sum(*under)).high
    return select(is_finite, select(abs(x) < _LINEAR, x, value), NAN)
