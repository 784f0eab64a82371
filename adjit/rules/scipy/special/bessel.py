"""SciPy's special functions: those of Bessel, elliptic integrals, hypergeometric functions, orthogonal polynomials.

In: a function's arguments and, as the keyword-only parameter, its result. Out: its partial derivatives. Section numbers
are those of the Digital Library of Mathematical Functions (DLMF). None: no rule for that argument, the order, which has
to be held fixed.

    y = jv(n, x)      x_bar += 0.5 * (jv(n - 1, x) - jv(n + 1, x)) * y_bar
"""

import math

import numba
import numpy as np
import scipy.special as sc

from adjit.rules.registry import builtin

partials, decomposition = builtin.partials, builtin.decomposition

# ----------------------------------------------------------------------------------------------------- Bessel functions
# 10.6.1 and 10.29.1; those with an e are scaled by exp(-abs(x)), or exp(x) for k

partials((sc.jv, sc.jn, sc.jve), lambda v, z: (None, 0.5 * (sc.jv(v - 1, z) - sc.jv(v + 1, z))))
partials((sc.yv, sc.yn, sc.yve), lambda v, z: (None, 0.5 * (sc.yv(v - 1, z) - sc.yv(v + 1, z))))
partials(sc.iv, lambda v, z: (None, 0.5 * (sc.iv(v - 1, z) + sc.iv(v + 1, z))))
partials((sc.kv, sc.kn), lambda v, z: (None, -0.5 * (sc.kv(v - 1, z) + sc.kv(v + 1, z))))
partials(sc.ive, lambda v, z, *, y: (None, 0.5 * (sc.ive(v - 1, z) + sc.ive(v + 1, z)) - np.sign(z) * y))
partials(sc.kve, lambda v, z, *, y: (None, y - 0.5 * (sc.kve(v - 1, z) + sc.kve(v + 1, z))))
# 11.4.27, 11.4.29
partials(sc.struve, lambda v, x, *, y: (None, sc.struve(v - 1, x) - v * y / x))
partials(sc.modstruve, lambda v, x, *, y: (None, sc.modstruve(v - 1, x) - v * y / x))
partials(sc.j0, lambda x: -sc.j1(x))
partials(sc.j1, lambda x: 0.5 * (sc.j0(x) - sc.jv(2, x)))
partials(sc.y0, lambda x: -sc.y1(x))
partials(sc.y1, lambda x: 0.5 * (sc.y0(x) - sc.yv(2, x)))
partials(sc.i0, lambda x: sc.i1(x))
partials(sc.i1, lambda x: 0.5 * (sc.i0(x) + sc.iv(2, x)))
partials(sc.k0, lambda x: -sc.k1(x))
partials(sc.k1, lambda x: -0.5 * (sc.k0(x) + sc.kv(2, x)))
partials(sc.i0e, lambda x, *, y: sc.i1e(x) - np.sign(x) * y)
partials(sc.i1e, lambda x, *, y: 0.5 * (sc.i0e(x) + sc.ive(2, x)) - np.sign(x) * y)
partials(sc.k0e, lambda x, *, y: y - sc.k1e(x))
partials(sc.k1e, lambda x, *, y: y - 0.5 * (sc.k0e(x) + sc.kve(2, x)))


@numba.njit(error_model="numpy")
def spherical_j(n, z):
    """10.47.3; for abs(z) < 0.5 the series 10.53.1, to rounding."""
    if abs(z) >= 0.5:
        return math.sqrt(0.5 * math.pi / abs(z)) * sc.jv(n + 0.5, abs(z)) * (-1.0 if z < 0.0 and n % 2 == 1 else 1.0)
    term, total = 1.0, 1.0
    for k in range(1, 8):
        term *= -0.5 * z * z / (k * (2 * n + 2 * k + 1))
        total += term
    for k in range(n):
        total *= z / (2 * k + 3)
    return total


@numba.njit(error_model="numpy")
def spherical_y(n, z):
    """10.47.4, for positive z."""
    return math.sqrt(0.5 * math.pi / z) * sc.yv(n + 0.5, z)


def spherical_slope(function, n, z):
    # 10.51.1
    below = 0.0 if n == 0 else n * function(n - 1, z)
    return (below - (n + 1) * function(n + 1, z)) / (2 * n + 1)


decomposition(sc.spherical_jn)(lambda n, z: spherical_j(n, z))
decomposition(sc.spherical_yn)(lambda n, z: spherical_y(n, z))
partials(spherical_j, lambda n, z: (None, spherical_slope(spherical_j, n, z)))
partials(spherical_y, lambda n, z: (None, spherical_slope(spherical_y, n, z)))

# --------------------------------------------------------------------------------------------------- elliptic integrals


def sine_powers(phi, m, first, shift):
    """Near m = 0: the integral of sin ** 2 (1 - m sin ** 2) ** -shift, term by term; first is its factor."""
    sine, wave = np.sin(phi), 0.5 * np.sin(2 * phi)
    power, coefficient, total = 0.5 * (phi - wave), first, 0.0
    for k in range(1, 12):
        total = total + coefficient * power
        coefficient = coefficient * (shift + k - 1) / k * m
        # the integrals of powers of the sine, each from the one before (4.26)
        power = ((2 * k + 1) * power - sine ** (2 * k) * wave) / (2 * k + 2)
    return total


def complete_slope(m, y):
    """Of y = ellipk(m), 19.4.1."""
    near = 0.39269908169872414 * sc.hyp2f1(1.5, 1.5, 2.0, m)  # pi / 8
    return near if abs(m) < 0.25 else (sc.ellipe(m) - (1 - m) * y) / (2 * m * (1 - m))


def complete_slope_of_e(m, y):
    """Of y = ellipe(m), 19.4.2."""
    return -0.39269908169872414 * sc.hyp2f1(0.5, 1.5, 2.0, m) if abs(m) < 0.25 else (y - sc.ellipk(m)) / (2 * m)


def ellipkinc(phi, m, *, y):
    # 19.2.4, 19.4.6
    root = np.sqrt(1 - m * np.sin(phi) ** 2)
    if abs(m) < 0.05:
        return 1 / root, sine_powers(phi, m, 0.5, 1.5)
    rest = 0.5 * np.sin(2 * phi) / root
    return 1 / root, (sc.ellipeinc(phi, m) / m - (1 - m) / m * y - rest) / (2 * (1 - m))


def ellipeinc(phi, m, *, y):
    # 19.2.5, 19.4.7
    root = np.sqrt(1 - m * np.sin(phi) ** 2)
    if abs(m) < 0.05:
        return root, sine_powers(phi, m, -0.5, 0.5)
    return root, (y - sc.ellipkinc(phi, m)) / (2 * m)


partials(sc.ellipk, lambda m, *, y: complete_slope(m, y))
partials(sc.ellipkm1, lambda p, *, y: -(sc.ellipe(1 - p) - p * y) / (2 * (1 - p) * p))
partials(sc.ellipe, lambda m, *, y: complete_slope_of_e(m, y))
partials(sc.ellipkinc, ellipkinc)
partials(sc.ellipeinc, ellipeinc)

# --------------------------------------------------------------------------------------------- hypergeometric functions

partials(sc.hyp0f1, lambda v, z: (None, sc.hyp0f1(v + 1, z) / v))  # 16.3.1
partials(sc.hyp1f1, lambda a, b, x: (None, None, a / b * sc.hyp1f1(a + 1, b + 1, x)))  # 13.3.15
partials(sc.hyperu, lambda a, b, x: (None, None, -a * sc.hyperu(a + 1, b + 1, x)))  # 13.3.22
partials(sc.hyp2f1, lambda a, b, c, z: (None, None, None, a * b / c * sc.hyp2f1(a + 1, b + 1, c + 1, z)))  # 15.5.1

# ----------------------------------------------------------------------------------------------- orthogonal polynomials
# 18.9.15 to 18.9.21; each derivative is one of a degree less


def lower(n, value):
    return 0 if n == 0 else value


partials(sc.eval_legendre, lambda n, x: (None, lower(n, sc.eval_gegenbauer(n - 1, 1.5, x))))
partials(sc.eval_chebyt, lambda n, x: (None, lower(n, n * sc.eval_chebyu(n - 1, x))))
partials(sc.eval_chebyu, lambda n, x: (None, lower(n, 2 * sc.eval_gegenbauer(n - 1, 2.0, x))))
partials(sc.eval_hermite, lambda n, x: (None, lower(n, 2 * n * sc.eval_hermite(n - 1, x))))
partials(sc.eval_hermitenorm, lambda n, x: (None, lower(n, n * sc.eval_hermitenorm(n - 1, x))))
partials(sc.eval_laguerre, lambda n, x: (None, lower(n, -sc.eval_genlaguerre(n - 1, 1.0, x))))
partials(sc.eval_genlaguerre, lambda n, a, x: (None, None, lower(n, -sc.eval_genlaguerre(n - 1, a + 1, x))))
partials(sc.eval_gegenbauer, lambda n, a, x: (None, None, lower(n, 2 * a * sc.eval_gegenbauer(n - 1, a + 1, x))))
partials(
    sc.eval_jacobi,
    lambda n, a, b, x: (None, None, None, lower(n, 0.5 * (n + a + b + 1) * sc.eval_jacobi(n - 1, a + 1, b + 1, x))),
)
