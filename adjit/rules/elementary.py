"""The partial derivatives of the scalar ops: operators, `math` and NumPy's ufuncs.

In: the op's arguments and, as the keyword-only parameter, its result. Out: its partial derivatives, one an argument.
What is right at kinks, ties and other special points is stated in the row; inf is an answer, nan is not.

    z = np.hypot(x, y)      x_bar += x / z * z_bar;  y_bar += y / z * z_bar      (0 at the origin)
"""

import builtins
import math
import operator

import numpy as np

from adjit.rules.registry import builtin
from adjit.runtime.library import reassociable_add, reassociable_sub

partials = builtin.partials

# ---------------------------------------------------------------------------------------------------------- arithmetic

# sums of a derivative that may be added up in any order are differentiated again
partials((operator.add, np.add, reassociable_add), lambda a, b: (1, 1))
partials((operator.sub, np.subtract, reassociable_sub), lambda a, b: (1, -1))
partials((operator.mul, np.multiply), lambda a, b: (b, a))


def quotient(a, b, *, c):
    inverse = 1 / b  # one division for both
    return inverse, -c * inverse


partials((operator.truediv, np.divide), quotient)
partials((operator.neg, np.negative), lambda x: -1)
partials((operator.pos, np.positive, np.conjugate), lambda x: 1)
partials(np.reciprocal, lambda x, *, y: -y * y)
partials(np.square, lambda x: 2 * x)

# The divisor is subtracted a whole number of times; that number is piecewise constant.
partials((operator.mod, np.remainder), lambda a, b: (1, -(a // b)))
builtin.decomposition(np.fix)(lambda x: np.trunc(x))
builtin.decomposition(builtins.divmod, np.divmod)(lambda a, b: (a // b, a % b))



@builtin.decomposition(math.modf, np.modf)
def modf(x):
    whole = np.trunc(x)
    # an infinite number has no fraction
    return np.where(np.isinf(x), 0.0 * np.sign(x), x - whole), whole


partials(np.fmod, lambda a, b: (1, -np.trunc(a / b)))
builtin.decomposition(math.fmod)(lambda x, y: np.fmod(float(x), float(y)))


def power(x, y, *, z):
    """x ** y. With respect to x: 0 at 0 ** 0 and nan ** 0, else what y * x ** (y - 1) gives, so each further derivative
    is right, for x == 0 with y = 1, 2, .. as for an active y at 0. With respect to y: 0 at x == 0.
    """
    of_base = 0 if y == 0 and not abs(x) > 0 else y * x ** (y - 1)
    of_exponent = 0 if x == 0 and y >= 0 else z * np.log(x)
    return of_base, of_exponent


partials((operator.pow, np.power, np.float_power, math.pow), power)

# -------------------------------------------------------------------------------------------- roots and absolute values

partials((math.sqrt, np.sqrt), lambda x, *, y: 0.5 / y)  # +inf at 0
partials(np.cbrt, lambda x, *, y: 1 / (3 * y * y))  # +inf at 0
partials((builtins.abs, np.absolute, np.fabs, math.fabs), lambda x: np.sign(x))  # 0 at 0
# abs(a) with the sign of b: 0 at a == 0
partials((math.copysign, np.copysign), lambda a, b: (np.sign(a) * np.copysign(1.0, b), 0))
partials((math.hypot, np.hypot), lambda a, b, *, c: (0 if c == 0 else a / c, 0 if c == 0 else b / c))  # 0 at the origin

# --------------------------------------------------------------------------------------------- exponentials, logarithms

partials((math.exp, np.exp), lambda x, *, y: y)
partials((math.exp2, np.exp2), lambda x, *, y: y * 0.6931471805599453)  # log 2
partials((math.expm1, np.expm1), lambda x, *, y: y + 1)
partials((math.log, np.log), lambda x: 1 / x)
partials((math.log2, np.log2), lambda x: 1 / (x * 0.6931471805599453))  # log 2
partials((math.log10, np.log10), lambda x: 1 / (x * 2.302585092994046))  # log 10
partials((math.log1p, np.log1p), lambda x: 1 / (1 + x))


def shares(a, b, c, power):
    """Those of power(a) and power(b) in their sum, power(c); half each where both are the same infinity."""
    both = a == b and math.isinf(a)
    return 0.5 if both else power(a - c), 0.5 if both else power(b - c)


partials(np.logaddexp, lambda a, b, *, c: shares(a, b, c, math.exp))
partials(np.logaddexp2, lambda a, b, *, c: shares(a, b, c, np.exp2))

# --------------------------------------------------------------------------------------------------------- trigonometry

partials((math.sin, np.sin), lambda x: np.cos(x))
partials((math.cos, np.cos), lambda x: -np.sin(x))
partials((math.tan, np.tan), lambda x, *, y: 1 + y * y)
partials((math.asin, np.arcsin), lambda x: 1 / np.sqrt((1 - x) * (1 + x)))
partials((math.acos, np.arccos), lambda x: -1 / np.sqrt((1 - x) * (1 + x)))
partials((math.atan, np.arctan), lambda x: 1 / (1 + x * x))
partials((math.atan2, np.arctan2), lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)))
partials((math.sinh, np.sinh), lambda x: np.cosh(x))
partials((math.cosh, np.cosh), lambda x: np.sinh(x))
partials((math.tanh, np.tanh), lambda x, *, y: 1 - y * y)
partials((math.asinh, np.arcsinh), lambda x: 1 / np.sqrt(x * x + 1))
partials((math.acosh, np.arccosh), lambda x: 1 / np.sqrt((x - 1) * (x + 1)))
partials((math.atanh, np.arctanh), lambda x: 1 / ((1 - x) * (1 + x)))
partials((math.radians, np.deg2rad, np.radians), lambda x: 0.017453292519943295)  # pi / 180
partials((math.degrees, np.rad2deg, np.degrees), lambda x: 57.29577951308232)  # 180 / pi


def sinc(x, *, y):
    """sin(pi x) / (pi x). Near 0 the quotient loses its digits: there a Taylor series, good to the third derivative."""
    u = (3.141592653589793 * x) ** 2
    series = -1 / 3 + u * (1 / 30 + u * (-1 / 840 + u * (1 / 45360 + u * (-1 / 3991680 + u * (1 / 518918400)))))
    near = 9.869604401089358 * x * series  # pi ** 2
    return near if abs(x) < 0.1 else (np.cos(3.141592653589793 * x) - y) / x


partials(np.sinc, sinc)

# --------------------------------------------------------------------------------------------------- choices and digits

# Python's max and min are branches: all to the one that is returned, the first of equals.
partials(max, lambda a, b: (0 if b > a else 1, 1 if b > a else 0))
partials(min, lambda a, b: (0 if b < a else 1, 1 if b < a else 0))

# Half to each operand where they are equal.
def shares_of_greater(a, b):
    share = 0.5 if a == b else 1.0
    return share if a >= b else 0.0, share if b >= a else 0.0


def shares_of_less(a, b):
    share = 0.5 if a == b else 1.0
    return share if a <= b else 0.0, share if b <= a else 0.0


partials(np.maximum, shares_of_greater)
partials(np.minimum, shares_of_less)
# These pass over nan: all to the other operand.
def shares_of_greater_number(a, b):
    share = 0.5 if a == b else 1.0
    return share if a >= b or b != b else 0.0, share if b >= a or a != a else 0.0


def shares_of_lesser_number(a, b):
    share = 0.5 if a == b else 1.0
    return share if a <= b or b != b else 0.0, share if b <= a or a != a else 0.0


partials(np.fmax, shares_of_greater_number)
partials(np.fmin, shares_of_lesser_number)
# 0 by x everywhere; by h where x is 0
builtin.decomposition(np.heaviside)(lambda x, h: np.where(x < 0, 0.0, np.where(x > 0, 1.0, np.where(x == 0, h, x))))
partials((math.ldexp, np.ldexp), lambda x, n: (math.ldexp(1.0, n), 0))
partials((math.nextafter, np.nextafter), lambda x, towards: (1, 0))
