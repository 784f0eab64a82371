"""How a draw moves with the parameters of its distribution: as the quantile that it is (implicit reparametrisation).

In: what was drawn, and the parameters it was drawn with. Out: the same number, with partials by the parameters; and
the slopes of quantiles that have no formula, which numba compiles. None: no second derivative by that argument.

    z = gamma_quantile(e, a, s)      a_bar += s * gamma_slope(a, z / s) * z_bar;  s_bar += z / s * z_bar

F(z; a) stays what it is while a moves: dz/da = -(dF/da) / (dF/dz) (Figurnov, Mohamed and Mnih, 2018). The quotient is
worked out without its two parts, which both vanish in the tails.
"""

import math

import numba
import numpy as np

from adjit.rules.incomplete_gamma import betainc_over_power, gammainc_over_power
from adjit.rules.registry import builtin
from adjit.rules.special_functions import digamma

partials = builtin.partials

# ---------------------------------------------------------------------------------------------------------- by formulas


@numba.njit
def scaled_quantile(z: float, scale: float) -> float:
    """Of what a scale stretches."""
    return z


partials(scaled_quantile, lambda z, scale, *, y: (1, y / scale))


@numba.njit
def pareto_quantile(z: float, a: float) -> float:
    """Of u ** (-1 / a)."""
    return z


partials(pareto_quantile, lambda z, a, *, y: (1, -y * np.log(y) / a))


@numba.njit
def lomax_quantile(z: float, a: float) -> float:
    """Of u ** (-1 / a) - 1, which is NumPy's pareto."""
    return z


partials(lomax_quantile, lambda z, a, *, y: (1, -(y + 1) * np.log1p(y) / a))


def by_power(y, a):
    """The derivative of y = e ** (1 / a) by a."""
    return -y * np.log(y) / a if y > 0 else 0.0


@numba.njit
def power_quantile(z: float, a: float) -> float:
    """Of u ** (1 / a)."""
    return z


partials(power_quantile, lambda z, a, *, y: (1, by_power(y, a)))


@numba.njit
def weibull_quantile(z: float, scale: float, a: float) -> float:
    """Of scale * e ** (1 / a)."""
    return z


partials(weibull_quantile, lambda z, scale, a, *, y: (1, y / scale, scale * by_power(y / scale, a)))


@numba.njit
def triangular_quantile(z: float, left: float, mode: float, right: float) -> float:
    """Of left + sqrt(u (right - left) (mode - left)), and of its mirror image above the mode."""
    return z


def triangular(z, left, mode, right, *, y):
    if right == left:
        return 1, 1.0, 0.0, 0.0
    if y <= mode:
        half = 0.5 * (y - left)
        by_mode, by_right = half / (mode - left), half / (right - left)
        return 1, 1 - by_mode - by_right, by_mode, by_right
    half = 0.5 * (right - y)
    by_mode, by_left = half / (right - mode), half / (right - left)
    return 1, by_left, by_mode, 1 - by_mode - by_left


partials(triangular_quantile, triangular)


@numba.njit(error_model="numpy")
def mills(t: float) -> float:
    """What is above t > 0 of a normal distribution, over its density at t (DLMF 7.2.3, 7.9.3)."""
    if t < 5.0:
        return 1.2533141373155001 * math.exp(0.5 * t * t) * math.erfc(0.7071067811865476 * t)  # sqrt(pi / 2)
    below = t
    for k in range(60, 0, -1):
        below = t + k / below
    return 1.0 / below


partials(mills, lambda t, *, y: t * y - 1)


@numba.njit
def wald_quantile(z: float, mean: float, scale: float) -> float:
    """Of an inverse normal distribution."""
    return z


def wald(z, mean, scale, *, y):
    # F = Phi(r (y / mean - 1)) + exp(2 scale / mean) Phi(-r (y / mean + 1)); both densities are one but for that factor
    r = np.sqrt(scale / y)
    tail = 2 * y / (r * mean) * mills(r * (y / mean + 1))
    return 1, scale / mean * tail, y / scale - tail


partials(wald_quantile, wald)

# ------------------------------------------------------------------------------------------------ of the gamma function


@numba.njit(error_model="numpy")
def gamma_slope(a: float, x: float) -> float:
    """How the quantile x of a gamma distribution moves with its shape a."""
    return -x / a * gammainc_over_power(a, x) if x > 0.0 else 0.0


partials(gamma_slope, lambda a, x, *, y: (None, digamma(a) - np.log(x) - y * ((a - 1) / x - 1)))


@numba.njit
def gamma_quantile(z: float, shape: float, scale: float) -> float:
    return z


partials(gamma_quantile, lambda z, shape, scale, *, y: (1, scale * gamma_slope(shape, y / scale), y / scale))


@numba.njit
def chisquare_quantile(z: float, df: float) -> float:
    return z


partials(chisquare_quantile, lambda z, df, *, y: (1, gamma_slope(0.5 * df, 0.5 * y)))


@numba.njit(error_model="numpy")
def _over_waits(df: float, nonc: float, x: float, of_df: bool) -> float:
    """A mean over the number j of waits that a noncentral chi-square is a mixture of, df + 2 j, given that x came out.

    Of the slope of the quantile with df + 2 j; else of x / (df + 2 j).
    """
    a, y, m = 0.5 * df, 0.5 * x, 0.5 * nonc
    middle = math.floor(0.5 * (1.0 - a + math.sqrt((a - 1.0) * (a - 1.0) + 4.0 * m * y)))
    j = start = max(middle, 0.0)
    total, weights, weight = 0.0, 0.0, 1.0
    while weight > 1e-18 * weights:
        total += weight * (gamma_slope(a + j, y) if of_df else y / (a + j))
        weights += weight
        weight *= m * y / ((j + 1.0) * (a + j))
        j += 1.0
    j, weight = start, 1.0
    while j > 0.0 and weight > 1e-18 * weights:
        weight *= j * (a + j - 1.0) / (m * y)
        j -= 1.0
        total += weight * (gamma_slope(a + j, y) if of_df else y / (a + j))
        weights += weight
    return total / weights


@numba.njit(error_model="numpy")
def noncentral_slope_by_df(df: float, nonc: float, x: float) -> float:
    """How the quantile x of a noncentral chi-square moves with its degrees of freedom."""
    return _over_waits(df, nonc, x, True)


partials(noncentral_slope_by_df, lambda df, nonc, x: (None, None, None))


@numba.njit(error_model="numpy")
def noncentral_slope_by_nonc(df: float, nonc: float, x: float) -> float:
    """The same by its noncentrality: the density with df + 2 over that with df, as dF/dnonc is minus the former."""
    return _over_waits(df, nonc, x, False)


partials(noncentral_slope_by_nonc, lambda df, nonc, x: (None, None, None))


@numba.njit
def noncentral_quantile(z: float, df: float, nonc: float) -> float:
    """Of a noncentral chi-square distribution."""
    return z


partials(
    noncentral_quantile,
    lambda z, df, nonc, *, y: (1, noncentral_slope_by_df(df, nonc, y), noncentral_slope_by_nonc(df, nonc, y)),
)

# ------------------------------------------------------------------------------------------------- of the beta function


@numba.njit(error_model="numpy")
def odds_slope(a: float, b: float, x: float, rest: float) -> float:
    """How log(x / rest), with rest = 1 - x, moves with a, where x is a quantile of a beta distribution."""
    return -betainc_over_power(a, b, x, rest) if x > 0.0 and rest > 0.0 else 0.0


partials(odds_slope, lambda a, b, x, rest: (None, None, None, None))


@numba.njit
def beta_quantile(z: float, a: float, b: float) -> float:
    return z


def beta(z, a, b, *, y):
    rest = 1 - y
    return 1, y * rest * odds_slope(a, b, y, rest), -y * rest * odds_slope(b, a, rest, y)


partials(beta_quantile, beta)


@numba.njit
def f_quantile(z: float, dfnum: float, dfden: float) -> float:
    """Of dfden / dfnum times the odds of a beta distribution of their halves."""
    return z


def f(z, dfnum, dfden, *, y):
    both = dfnum * y + dfden
    x, rest = dfnum * y / both, dfden / both
    by_num = y * (0.5 * odds_slope(0.5 * dfnum, 0.5 * dfden, x, rest) - 1 / dfnum)
    by_den = y * (1 / dfden - 0.5 * odds_slope(0.5 * dfden, 0.5 * dfnum, rest, x))
    return 1, by_num, by_den


partials(f_quantile, f)


@numba.njit
def t_quantile(z: float, df: float) -> float:
    """Of Student's distribution: y * y = df * rest / x, with x of a beta distribution of df / 2 and 1 / 2."""
    return z


def t(z, df, *, y):
    both = df + y * y
    return 1, 0.5 * y * (1 / df - 0.5 * odds_slope(0.5 * df, 0.5, df / both, y * y / both))


partials(t_quantile, t)

# ---------------------------------------------------------------------------------------------------------- on a circle

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


@numba.njit(error_model="numpy")
def _mean_cosine(kappa: float) -> float:
    """I1(kappa) / I0(kappa), by the recurrence of Bessel functions downwards (DLMF 10.29.1)."""
    ratio = 0.0
    for n in range(30 + int(9.0 * math.sqrt(kappa)), 0, -1):
        ratio = 1.0 / (2.0 * n / kappa + ratio)
    return ratio


@numba.njit(error_model="numpy")
def vonmises_slope(kappa: float, angle: float) -> float:
    """How the quantile of a von Mises distribution around 0 moves with its concentration.

    The integral of (A - cos t) exp(kappa (cos t - cos angle)) from 0 to the angle, or of minus that from there to pi;
    A is the mean of the cosine.
    """
    if kappa <= 0.0:
        return -math.sin(angle)
    away, mean = min(abs(angle), math.pi), _mean_cosine(kappa)
    depth = 2.0 * math.sin(0.5 * away) ** 2
    start, stop, sign = 0.0, away, 1.0
    if kappa * depth > 1.0:
        # as far as there is something
        end = min(depth + 40.0 / kappa, 2.0)
        start, stop, sign = away, 2.0 * math.asin(math.sqrt(0.5 * end)), -1.0
    total, half = 0.0, 0.5 * (stop - start)
    for k in range(_NODES.size):
        t = start + half * (1.0 + _NODES[k])
        higher = 2.0 * math.sin(0.5 * (away + t)) * math.sin(0.5 * (away - t))  # cos t - cos angle
        total += _WEIGHTS[k] * (mean - math.cos(t)) * math.exp(kappa * higher)
    return sign * half * total * (1.0 if angle > 0.0 else -1.0)


partials(vonmises_slope, lambda kappa, angle: (None, None))


@numba.njit
def vonmises_quantile(z: float, mu: float, kappa: float) -> float:
    return z


def vonmises(z, mu, kappa, *, y):
    angle = y - mu
    turn = 6.283185307179586  # 2 pi
    return 1, 1, vonmises_slope(kappa, angle - turn * np.floor(angle / turn + 0.5))


partials(vonmises_quantile, vonmises)
