"""The error function and its complement.

In: a number. Out: the instructions for erf and erfc of it.

Near 0, erf(x) = x p(x ** 2). Elsewhere erfc(x) = exp(-x ** 2) erfcx(x), and erfcx, which is smooth and falls slowly, is
a polynomial in t = (x - c) / (x + c) (Shepherd and Laframboise 1981). The polynomials interpolate at Chebyshev nodes.
"""

from __future__ import annotations

from adjit.runtime.vectormath.arithmetic import Double, fast_two_sum, polynomial, quotient, two_product, two_sum
from adjit.runtime.vectormath.exponentials import exp_parts, scaled
from adjit.runtime.vectormath.values import Real, copysign, multiply_add, select

# erf(x) / x as a polynomial in x ** 2 for x < 0.845, to 2 ** -62
SMALL = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954733, -0.026866170645028383, 0.005223977624049325,
    -0.0008548326912060221, 0.00012055327326399524, -1.492546094031505e-05, 1.6457867663717937e-06,
    -1.630258188530612e-07, 1.4202414667717786e-08, -8.87121168729176e-10,
)  # fmt: skip
SMALL_REST = (1.5189730793815635e-17, 1.6670650849157376e-17)  # of the first two of them
# erfcx(x) for 0.835 < x < 6, c = 1, to 2 ** -57 / erfc(x)
MIDDLE = (
    0.427583576155807, -0.546424029567797, 0.0710622159198386, 0.054732709876753945, 0.005744191747429927,
    -0.007926409882123089, -0.005392865584799878, -0.0012108270289945288, 0.0006997238052508178,
    0.0008686297454537526, 0.0004441038307840493, 8.668835873529763e-05, -0.00016659062605304864,
    8.316519129429188e-05, -0.00040637842880896375, 0.00032838411518501005, -9.894748869667534e-05,
    -0.000176887598285596, 0.00026522033030644846, -9.569653226581896e-05,
)  # fmt: skip
# (1 + 2 x) erfcx(x) for 0.835 < x < 27.5, c = 3, to 2 ** -57 but for the rounding of the coefficients
WIDE = (
    1.2530080582697296, -0.13562110612458136, -0.047562294353452904, 0.129645158702793, -0.1192736634151457,
    0.06830802734242539, -0.023770514923107586, 0.0025293918510035395, 0.0018886904146137701, -0.0007798327081908827,
    -0.00010516010859255396, 0.00012510260097357053, 4.9497199587577565e-06, -2.0115288532562903e-05,
    -7.254463254370609e-07, 3.5117410553702315e-06, 3.246667198233079e-07, -6.71587258134924e-07,
    -7.247364390954789e-08, 1.2642101224338913e-07, -1.8190503979668286e-08,
)  # fmt: skip
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
    rest = multiply_add(x, SMALL_REST[0], first.low) + cube.high * SMALL_REST[1]
    rest = multiply_add(cube_low, series, rest)
    # products of subnormal numbers have no exact rest
    rest = select(abs(x) < 2.0**-900, 0.0, rest)
    return fast_two_sum(first.high, multiply_add(cube.high, series, rest))


def erf(x: Real) -> Real:
    size = select(abs(x) > _ONE_FROM, _ONE_FROM, abs(x))
    power, k = exp_parts(Double(-(size * size), x.like(0.0)))
    complement = scaled((power.high + power.low) * polynomial((size - 1.0) / (size + 1.0), MIDDLE), k)
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
