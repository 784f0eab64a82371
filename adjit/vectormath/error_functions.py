"""The error function and its complement.

In: a number. Out: the instructions for erf and erfc of it.

Near 0, erf(x) = x p(x ** 2). Elsewhere erfc(x) = exp(-x ** 2) erfcx(x), and erfcx, which is smooth and falls slowly, is
a polynomial in t = (x - c) / (x + c) (Shepherd and Laframboise 1981). The polynomials interpolate at Chebyshev nodes.
"""

from __future__ import annotations

from adjit.vectormath.arithmetic import Double, fast_two_sum, polynomial, quotient, two_product, two_sum
from adjit.vectormath.exponentials import exp_parts, scaled
from adjit.vectormath.values import Real, copysign, multiply_add, select

# erf(x) / x as a polynomial in x ** 2 for x < 0.845, to 2 ** -56
SMALL = (
    1.1283791670955126,
    -0.3761263890318339,
    0.11283791670934794,
    -0.026866170640679404,
    0.005223977575393125,
    -0.0008548323735990299,
    0.00012055198067442148,
    -1.4922082334281781e-05,
    1.6401134783270226e-06,
    -1.5711015442071791e-07,
    1.0716405622243079e-08,
)
SMALL_REST = 1.533545961316588e-17  # of the first of them
# erfcx(x) for 0.835 < x < 6, c = 1.75, to 2 ** -57 / erfc(x)
MIDDLE = (
    0.2849722347374364,
    -0.4584172093006985,
    0.2246872592661172,
    -0.04660556814152354,
    -0.011122540473565104,
    0.005636963110995143,
    0.0018349842035661713,
    -0.0006405052326446625,
    -0.000457892981592639,
    1.7406507182435447e-06,
    9.650856819892997e-05,
    3.537725927529462e-05,
    -8.131326701007432e-06,
    -1.2627146478760168e-05,
    -4.029438685013052e-06,
    1.7906976211517729e-06,
    1.718406407707964e-06,
)
# (1 + 2 x) erfcx(x) for 0.835 < x < 27.5, c = 3, to 2 ** -57 but for the rounding of the coefficients
WIDE = (
    1.2530080582697296,
    -0.13562110612458136,
    -0.047562294353452904,
    0.129645158702793,
    -0.1192736634151457,
    0.06830802734242539,
    -0.023770514923107586,
    0.0025293918510035395,
    0.0018886904146137701,
    -0.0007798327081908827,
    -0.00010516010859255396,
    0.00012510260097357053,
    4.9497199587577565e-06,
    -2.0115288532562903e-05,
    -7.254463254370609e-07,
    3.5117410553702315e-06,
    3.246667198233079e-07,
    -6.71587258134924e-07,
    -7.247364390954789e-08,
    1.2642101224338913e-07,
    -1.8190503979668286e-08,
)
_NEAR = 0.84
_ONE_FROM = 6.0  # from here on erf(x) is 1 to rounding
_ZERO_FROM = 27.5  # from here on erfc(x) is less than the smallest number


def _near_zero(x: Real) -> Double:
    """erf(x) for |x| < 0.845."""
    square = two_product(x, x)
    cube = two_product(x, square.high)
    cube_low = multiply_add(x, square.low, cube.low)
    first = two_product(x, x.like(SMALL[0]))
    series = polynomial(square.high, SMALL[1:])
    rest = multiply_add(cube_low, series, multiply_add(x, SMALL_REST, first.low))
    # products of subnormal numbers have no exact rest
    rest = select(abs(x) < 2.0**-900, 0.0, rest)
    return fast_two_sum(first.high, multiply_add(cube.high, series, rest))


def erf(x: Real) -> Real:
    size = select(abs(x) > _ONE_FROM, _ONE_FROM, abs(x))
    power, k = exp_parts(Double(-(size * size), x.like(0.0)))
    complement = scaled((power.high + power.low) * polynomial((size - 1.75) / (size + 1.75), MIDDLE), k)
    return copysign(select(size < _NEAR, _near_zero(size).high, 1.0 - complement), x)


def erfc(x: Real) -> Real:
    size = select(abs(x) > _ZERO_FROM, _ZERO_FROM, abs(x))
    square = two_product(size, size)
    power, k = exp_parts(Double(-square.high, -square.low))
    t = (size - 3.0) / (size + 3.0)
    smooth = fast_two_sum(x.like(WIDE[0]), t * polynomial(t, WIDE[1:]))
    product = two_product(power.high, smooth.high)
    low = product.low + multiply_add(power.high, smooth.low, power.low * smooth.high)
    complement = quotient(Double(product.high, low), two_sum(x.like(1.0), 2.0 * size))
    high, low = scaled(complement.high, k), scaled(complement.low, k)

    other = fast_two_sum(x.like(2.0), -high)
    far = select(x < 0.0, other.high + (other.low - low), high + low)
    part = _near_zero(x)
    difference = fast_two_sum(x.like(1.0), -part.high)
    near = difference.high + (difference.low - part.low)
    return select(abs(x) < _NEAR, near, far)
