"""Hyperbolic functions.

In: a number. Out: the instructions for sinh, cosh and tanh of it, from exp(|x|) - 1 or 1 - exp(-2 |x|).
"""

from __future__ import annotations

from adjit.runtime.vectormath.arithmetic import Double, fast_two_sum, quotient, remainder, two_sum
from adjit.runtime.vectormath.exponentials import below_one, expm1_quarter
from adjit.runtime.vectormath.values import Real, copysign, multiply_add, select

_LINEAR = 2.0**-28  # below it the functions are x, or 1, to rounding


def tanh(x: Real) -> Real:
    """With q = 1 - exp(-2 |x|): q / (2 - q)."""
    size = abs(x)
    q = below_one(-2.0 * select(size > 20.0, 20.0, size))
    below = fast_two_sum(x.like(2.0), -q.high)
    inverse = 1.0 / below.high
    value = q.high * inverse
    rest = remainder(q.high, value, below.high) + q.low
    return copysign(multiply_add(multiply_add(value, q.low - below.low, rest), inverse, value), x)


def sinh(x: Real) -> Real:
    """2 (q + q / (1 + 4 q))."""
    size = abs(x)
    q = expm1_quarter(select(size > 710.6, 710.6, size))
    # from here on the second term is nothing beside the first
    near = select(q.high > 2.0**100, 2.0**100, q.high)
    below = two_sum(x.like(1.0), 4.0 * near)
    second = quotient(Double(near, q.low), Double(below.high, below.low + 4.0 * q.low))
    total = fast_two_sum(q.high, second.high)
    value = 2.0 * (total.high + (total.low + (q.low + second.low)))
    return select(size < _LINEAR, x, copysign(value, x))


def cosh(x: Real) -> Real:
    """2 (e + 1 / (16 e)) with e = q + 1 / 4."""
    size = abs(x)
    q = expm1_quarter(select(size > 710.6, 710.6, size))
    e = two_sum(q.high, x.like(0.25))
    second = 0.0625 / e.high
    total = fast_two_sum(e.high, second)
    # what e.low adds to both terms
    slope = 1.0 - 16.0 * second * second
    return 2.0 * (total.high + multiply_add(e.low + q.low, slope, total.low))
