"""SciPy's special functions that give two results or complex ones, and the distribution functions among them.

In: a function's arguments. Out: the function in terms of others, or of a function of ours with one real result, and its
partial derivatives. Section numbers are those of the Digital Library of Mathematical Functions (DLMF).

    s, c = sici(x)      s_bar flows by sin(x) / x, c_bar by cos(x) / x
"""

import math

import numba
import numpy as np
import scipy.special as sc

from adjit.rules.incomplete_gamma import betainc_by_a
from adjit.rules.registry import builtin

partials, decomposition = builtin.partials, builtin.decomposition

# ---------------------------------------------------------------------------------------------------------- two results


@numba.njit
def sine_integral(x):
    return sc.sici(x)[0]


@numba.njit
def cosine_integral(x):
    return sc.sici(x)[1]


@numba.njit
def hyperbolic_sine_integral(x):
    return sc.shichi(x)[0]


@numba.njit
def hyperbolic_cosine_integral(x):
    return sc.shichi(x)[1]


@numba.njit
def fresnel_sine(x):
    return sc.fresnel(x)[0]


@numba.njit
def fresnel_cosine(x):
    return sc.fresnel(x)[1]


decomposition(sc.sici)(lambda x: (sine_integral(x), cosine_integral(x)))
decomposition(sc.shichi)(lambda x: (hyperbolic_sine_integral(x), hyperbolic_cosine_integral(x)))
decomposition(sc.fresnel)(lambda x: (fresnel_sine(x), fresnel_cosine(x)))
partials(sine_integral, lambda x: np.sinc(x / np.pi))  # 6.2.9
partials(cosine_integral, lambda x: np.cos(x) / x)  # 6.2.11
partials(hyperbolic_sine_integral, lambda x: 0.5 * (sc.exprel(x) + sc.exprel(-x)))  # 6.2.15
partials(hyperbolic_cosine_integral, lambda x: np.cosh(x) / x)  # 6.2.16
partials(fresnel_sine, lambda x: np.sin(0.5 * np.pi * x * x))  # 7.2.8
partials(fresnel_cosine, lambda x: np.cos(0.5 * np.pi * x * x))  # 7.2.7

# ---------------------------------------------------------------------------------------------------------- Lambert's W


@numba.njit(error_model="numpy")
def real_lambertw(z, k):
    """The real w with w e ** w = z, by Halley's method (4.13): for k = 0 w >= -1, for k = -1 w <= -1; nan elsewhere."""
    distance = math.e * z + 1.0  # from the branch point -1 / e, which is no float
    if abs(distance) < 1e-15:
        return -1.0
    if math.isnan(z) or distance < 0.0 or not (k == 0 or (k == -1 and z <= 0.0)):
        return math.nan
    if z == 0.0 or z == math.inf:
        return z if k == 0 else -math.inf
    root = math.sqrt(2.0 * distance) if k == 0 else -math.sqrt(2.0 * distance)
    if distance < 0.3:
        w = -1.0 + root * (1.0 - root * (1.0 / 3.0 - root * (11.0 / 72.0 - root * 43.0 / 540.0)))
    elif k == 0:
        w = math.log1p(z) if z < 3.0 else math.log(z) - math.log(math.log(z))
    else:
        w = math.log(-z) - math.log(-math.log(-z))
    if distance < 1e-5:
        return w
    for _ in range(20):
        power = math.exp(w)
        rest = w * power - z
        step = rest / (power * (w + 1.0) - (w + 2.0) * rest / (2.0 * (w + 1.0)))
        w -= step
        if abs(step) <= 1e-16 * abs(w):
            break
    return w


# nan outside of the real branches, where SciPy's has an imaginary part
decomposition(sc.lambertw)(lambda z, k=0: real_lambertw(z, k) + 0j)
partials(real_lambertw, lambda z, k, *, w: (np.exp(-w) / (1 + w), 0))  # 4.13.4

# ----------------------------------------------------------------------------------------------- distribution functions
# chi squared, gamma, F and Poisson's, by 8.2.4 and 8.17.2; those with a c are of the upper tail

decomposition(sc.chdtr)(lambda v, x: sc.gammainc(0.5 * v, 0.5 * x))
decomposition(sc.chdtrc)(lambda v, x: sc.gammaincc(0.5 * v, 0.5 * x))
decomposition(sc.gdtr)(lambda a, b, x: sc.gammainc(b, a * x))
decomposition(sc.gdtrc)(lambda a, b, x: sc.gammaincc(b, a * x))
decomposition(sc.fdtr)(lambda dfn, dfd, x: sc.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x)))
decomposition(sc.fdtrc)(lambda dfn, dfd, x: sc.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x)))
decomposition(sc.pdtr)(lambda k, m: sc.gammaincc(np.floor(k) + 1, m))
decomposition(sc.pdtrc)(lambda k, m: sc.gammainc(np.floor(k) + 1, m))
decomposition(sc.nbdtr)(lambda k, n, p: sc.betainc(n, np.floor(k) + 1.0, p))
decomposition(sc.nbdtrc)(lambda k, n, p: sc.betaincc(n, np.floor(k) + 1.0, p))
decomposition(sc.bdtr)(lambda k, n, p: sc.betaincc(np.floor(k) + 1.0, n - np.floor(k), p))
decomposition(sc.bdtrc)(lambda k, n, p: sc.betainc(np.floor(k) + 1.0, n - np.floor(k), p))
decomposition(sc.chdtri)(lambda v, p: 2.0 * sc.gammainccinv(0.5 * v, p))
decomposition(sc.fdtri)(lambda dfn, dfd, p: dfd / dfn * (1.0 / sc.betaincinv(0.5 * dfd, 0.5 * dfn, 1.0 - p) - 1.0))


def student_density(df, t):
    return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df) - 0.5 * np.log(df) - sc.betaln(0.5 * df, 0.5))


def student_by_df(df, t):
    """The derivative of the distribution function, 1 - I_w(df / 2, 1 / 2) / 2 for t > 0, by df."""
    w = df / (df + t * t)
    by_w = t * np.exp((0.5 * df - 1) * np.log(w) - 1.5 * np.log(df + t * t) - sc.betaln(0.5 * df, 0.5))
    return -0.25 * np.sign(t) * betainc_by_a(0.5 * df, 0.5, w) - 0.5 * by_w


def stdtrit(df, p, *, t):
    slope = 1 / student_density(df, t)
    return -student_by_df(df, t) * slope, slope


partials(sc.stdtr, lambda df, t: (student_by_df(df, t), student_density(df, t)))
partials(sc.stdtrit, stdtrit)
