"""Arithmetic with more than the 53 bits of a float64: exact sums and products, and numbers of two parts.

In: numbers of `values.py`. Out: the same. References: T. J. Dekker (1971); J.-M. Muller et al., Handbook of
Floating-Point Arithmetic, 2nd edition, chapters 4 and 14.

    two_product(a, b)      Double(p, e) with p == fl(a * b) and p + e == a * b exactly
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adjit.runtime.vectormath.values import Real, Whole, bits_of, multiply_add

# Adding it to a small number rounds that to a whole one, which then stands in the lowest bits.
ROUNDER = 1.5 * 2.0**52
ROUNDER_BITS = bits_of(ROUNDER)
ONE_BITS = bits_of(1.0)
INFINITY = float("inf")
NAN = float("nan")


class Double(NamedTuple):
    """The exact sum of two parts, of which `low` is at most about half a unit in the last place of `high`."""

    high: Real
    low: Real


def fast_two_sum(a: Real, b: Real) -> Double:
    """a + b exactly, where |a| >= |b| or a == 0."""
    total = a + b
    return Double(total, b - (total - a))


def two_sum(a: Real, b: Real) -> Double:
    """a + b exactly."""
    total = a + b
    rest = total - a
    return Double(total, (a - (total - rest)) + (b - rest))


def two_product(a: Real, b: Real) -> Double:
    """a * b exactly, if neither that nor its rounding error is out of range."""
    product = a * b
    if a.machine.has_fma:
        rest = a.machine.intrinsic("llvm.fma", a.value, b.value, (-product).value)
        return Double(product, Real(a.machine, rest))
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return Double(product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def remainder(total: Real, a: Real, b: Real) -> Real:
    """total - a * b exactly, where a * b is the product nearest to the total or next to that."""
    if a.machine.has_fma:
        return Real(a.machine, a.machine.intrinsic("llvm.fma", (-a).value, b.value, total.value))
    product = two_product(a, b)
    return (total - product.high) - product.low


def _halves(a: Real) -> Double:
    """The upper and the lower 26 bits."""
    spread = a * 134217729.0  # 2 ** 27 + 1
    high = spread - (spread - a)
    return Double(high, a - high)


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """coefficients[0] + coefficients[1] * x + ..., by Horner's rule."""
    value = x.like(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = multiply_add(value, x, coefficient)
    return value


def rounded(x: Real) -> tuple[Real, Whole]:
    """The nearest whole number, |x| < 2 ** 51, and bits whose lowest ones are that number's."""
    shifted = x + ROUNDER
    return shifted - ROUNDER, shifted.bits()


def power_of_two(whole: Whole) -> Real:
    """2 ** k of a whole number k in [-1022, 1023], of which any but the lowest 12 bits are ignored."""
    return ((whole << 52) + ONE_BITS).real()


def quotient(numerator: Double, denominator: Double) -> Double:
    """numerator / denominator, to a few bits more than a float64 has."""
    inverse = 1.0 / denominator.high
    first = numerator.high * inverse
    rest = remainder(numerator.high, first, denominator.high) + numerator.low
    return fast_two_sum(first, multiply_add(first, -denominator.low, rest) * inverse)
