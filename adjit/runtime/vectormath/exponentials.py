"""Exponentials.

In: a number. Out: the instructions for exp, exp2 and expm1 of it.

x = k log 2 + r with |r| <= log(2) / 2 (Cody and Waite), and exp(r) = 1 + r + r ** 2 * q(r) with a polynomial q that
interpolates at the Chebyshev nodes.
"""

from __future__ import annotations

from typing import NamedTuple

from adjit.runtime.vectormath.arithmetic import (
    ROUNDER,
    Double,
    fast_two_sum,
    polynomial,
    power_of_two,
    rounded,
    two_product,
    two_sum,
)
from adjit.runtime.vectormath.values import Real, Whole, multiply_add, select

PER_LOG2 = 1.4426950408889634  # 1 / log 2
LOG2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # its last 21 bits are 0, so k * LOG2_HIGH is exact
LOG2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LOG2, LOG2_REST = 0.6931471805599453, 2.3190468138462996e-17
# (exp(r) - 1 - r) / r ** 2, to 2 ** -60 of exp(r) - 1
TAIL = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748, 0.00019841269874820627,
    2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08,
    2.0914686968086876e-09,
)  # fmt: skip


class Reduced(NamedTuple):
    """x = k log 2 + r. `bits`: the lowest bits are those of k."""

    k: Real
    bits: Whole
    r: Double


def reduce(x: Real) -> Reduced:
    """Of |x| below 2 ** 20 or so."""
    return reduced(x, *rounded(x * PER_LOG2))


def reduced(x: Real, k: Real, bits: Whole) -> Reduced:
    """x less k log 2, for the whole number that is near x / log 2."""
    near = multiply_add(k, -LOG2_HIGH, x)
    r = multiply_add(k, -LOG2_LOW, near)
    return Reduced(k, bits, Double(r, multiply_add(k, -LOG2_LOW, near - r)))


def scaled(x: Real, k: Real) -> Real:
    """x * 2 ** k for k from -2000 to 2000, rounded once where that is subnormal."""
    half, half_bits = rounded(k * 0.5)
    rest_bits = ((k - half) + ROUNDER).bits()
    return x * power_of_two(half_bits) * power_of_two(rest_bits)


def exp_parts(x: Double) -> tuple[Double, Real]:
    """p, to a few bits more than a float64 has, and a whole k with exp(x) = p * 2 ** k."""
    parts = reduce(x.high)
    r = parts.r.high
    one = fast_two_sum(r.like(1.0), r)
    tail = multiply_add(r * r, polynomial(r, TAIL), parts.r.low)
    # exp(x.low) is 1 + x.low to rounding
    return Double(one.high, multiply_add(x.low, one.high + tail, one.low + tail)), parts.k


def exp(x: Real) -> Real:
    within = select(x < -746.0, -746.0, select(x > 710.0, 710.0, x))
    parts = reduce(within)
    r = parts.r.high
    tail = multiply_add(r * r, polynomial(r, TAIL), parts.r.low)
    return scaled(1.0 + (r + tail), parts.k)


def exp2(x: Real) -> Real:
    within = select(x < -1076.0, -1076.0, select(x > 1025.0, 1025.0, x))
    k, _ = rounded(within)
    fraction = within - k
    r, low = two_product(fraction, x.like(LOG2))
    tail = multiply_add(r * r, polynomial(r, TAIL), multiply_add(fraction, LOG2_REST, low))
    return scaled(1.0 + (r + tail), k)


def expm1_quarter(x: Real) -> Double:
    """(exp(x) - 1) / 4, to a few bits more than a float64 has, for x from -40 to 710.8. Below 2 ** -1000 inaccurate."""
    parts = reduce(x)
    r = parts.r.high
    one = fast_two_sum(r.like(1.0), r)
    tail = multiply_add(r * r, polynomial(r, TAIL), parts.r.low) + one.low
    # 2 ** (k - 2) * (1 + r + tail) - 1 / 4
    scale = power_of_two(parts.bits - 2)
    whole = two_sum(scale * one.high, r.like(-0.25))
    return fast_two_sum(whole.high, multiply_add(scale, tail, whole.low))


def below_one(x: Real) -> Double:
    """1 - exp(x), to a few bits more than a float64 has, for x from -40 to 0. Below 2 ** -1000 inaccurate."""
    shifted = multiply_add(x, PER_LOG2, ROUNDER)
    # with fewer than 54 bits before it, 1 - 2 ** k is exact; where r is large then, few bits of exp(r) matter
    shifted = select(shifted < ROUNDER - 53.0, ROUNDER - 53.0, shifted)
    parts = reduced(x, shifted - ROUNDER, shifted.bits())
    r = parts.r.high
    p = fast_two_sum(r, multiply_add(r * r, polynomial(r, TAIL), parts.r.low))
    # (1 - 2 ** k) - 2 ** k * p; where the first term is not zero it is the larger one
    scale = power_of_two(parts.bits)
    total = fast_two_sum(1.0 - scale, -(scale * p.high))
    return Double(total.high, multiply_add(-scale, p.low, total.low))


def expm1(x: Real) -> Real:
    within = select(x < -40.0, -40.0, select(x > 710.6, 710.6, x))
    value = 4.0 * expm1_quarter(within).high
    return select(abs(x) < 2.0**-54, x, value)
