"""SciPy's special functions: the gamma, beta and error functions and their kin, and those of entropies and losses.

In: a function's arguments and, as the keyword-only parameter, its result. Out: its partial derivatives. Section numbers
are those of the Digital Library of Mathematical Functions (DLMF). None: no rule for that argument, which has to be held
fixed.

    y = gammaln(x)      x_bar += psi(x) * y_bar
"""

import numpy as np
import scipy.special as sc

from adjit.rules.incomplete_gamma import betainc_by_a, betainc_by_b, gammainc_by_a, hurwitz, hurwitz_by_x
from adjit.rules.registry import builtin
from adjit.rules.special_functions import polygamma

partials, decomposition, constant = builtin.partials, builtin.decomposition, builtin.constant

# -------------------------------------------------------------------------------------------- those that NumPy has, too

partials(sc.exp2, lambda x, *, y: y * 0.6931471805599453)  # log 2
partials(sc.exp10, lambda x, *, y: y * 2.302585092994046)  # log 10
partials(sc.expm1, lambda x, *, y: y + 1)
partials(sc.log1p, lambda x: 1 / (1 + x))
partials(sc.cbrt, lambda x, *, y: 1 / (3 * y * y))  # +inf at 0
partials(sc.cosm1, lambda x: -np.sin(x))
partials(sc.powm1, lambda x, y, *, p: (y * x ** (y - 1), (p + 1) * np.log(x)))
DEGREE = 0.017453292519943295
partials(sc.cosdg, lambda x: -DEGREE * sc.sindg(x))
partials(sc.sindg, lambda x: DEGREE * sc.cosdg(x))
partials(sc.tandg, lambda x, *, y: DEGREE * (1 + y * y))
partials(sc.radian, lambda d, m, s: (DEGREE, DEGREE / 60, DEGREE / 3600))
constant(sc.round)

# --------------------------------------------------------------------------------------------------- logistic functions

partials(sc.expit, lambda x, *, y: y * sc.expit(-x))
partials(sc.logit, lambda x: 1 / (x * (1 - x)))
partials(sc.log_expit, lambda x: sc.expit(-x))
if hasattr(sc, "softplus"):
    decomposition(sc.softplus)(lambda x: -sc.log_expit(-x))

# ------------------------------------------------------------------------------------------------------ gamma functions
# 5.2.2, 5.5.2; psi is the logarithmic derivative of gamma

partials(sc.gamma, lambda x, *, y: y * sc.psi(x))
partials((sc.gammaln, sc.loggamma), lambda x: sc.psi(x))
partials(sc.rgamma, lambda x, *, y: -y * sc.psi(x))
partials(sc.psi, lambda x: polygamma(1, x))
constant(sc.gammasgn)


@decomposition(sc.polygamma)
def derivative_of_psi(n, x):
    return np.where(n == 0, sc.psi(x), polygamma(n, x))


@decomposition(sc.multigammaln)
def multigammaln(a, d):
    # 35.3.4
    found = d * (d - 1) * 0.28618247146235004  # log(pi) / 4
    for j in range(d):
        found = found + sc.gammaln(a - 0.5 * j)
    return found


def poch(a, m, *, y):
    both = sc.psi(a + m)
    return y * (both - sc.psi(a)), y * both


partials(sc.poch, poch)


def binom(n, k, *, y):
    rest = sc.psi(n - k + 1)
    return y * (sc.psi(n + 1) - rest), y * (rest - sc.psi(k + 1))


partials(sc.binom, binom)


@decomposition(sc.comb)
def comb(N, k, exact=False, repetition=False):
    if exact:
        raise NotImplementedError(
            "scipy.special.comb of Python integers with exact=True: write exact=False, or "
            "math.comb")
    if repetition:
        return comb(N + k - 1, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), sc.binom(N, k), 0.0)


@decomposition(sc.perm)
def perm(N, k, exact=False):
    if exact:
        raise NotImplementedError(
            "scipy.special.perm of Python integers with exact=True: write exact=False, or "
            "math.perm")
    return np.where((k <= N) & (N >= 0) & (k >= 0), sc.poch(N - k + 1, k), 0.0)


@decomposition(sc.factorial)
def factorial(n):
    return np.where(n >= 0, sc.gamma(n + 1.0), 0.0)


# ---------------------------------------------------------------------------------------- beta and incomplete functions


def betaln(a, b):
    # 5.12.1
    both = sc.psi(a + b)
    return sc.psi(a) - both, sc.psi(b) - both


partials(sc.betaln, betaln)


def beta(a, b, *, y):
    both = sc.psi(a + b)
    return y * (sc.psi(a) - both), y * (sc.psi(b) - both)


partials(sc.beta, beta)


def gamma_density(a, x):
    """The derivative of gammainc by x, 8.8.13."""
    return np.exp(sc.xlogy(a - 1, x) - x - sc.gammaln(a))


def beta_density(a, b, x):
    """The derivative of betainc by x, 8.17.1."""
    return np.exp(sc.xlogy(a - 1, x) + sc.xlog1py(b - 1, -x) - sc.betaln(a, b))


partials(sc.gammainc, lambda a, x: (gammainc_by_a(a, x), gamma_density(a, x)))
partials(sc.gammaincc, lambda a, x: (-gammainc_by_a(a, x), -gamma_density(a, x)))
partials(gammainc_by_a, lambda a, x: (None, gamma_density(a, x) * (np.log(x) - sc.psi(a))))


def gammaincinv(a, y, *, x):
    slope = 1 / gamma_density(a, x)
    return -gammainc_by_a(a, x) * slope, slope


partials(sc.gammaincinv, gammaincinv)


def gammainccinv(a, y, *, x):
    slope = 1 / gamma_density(a, x)
    return -gammainc_by_a(a, x) * slope, -slope


partials(sc.gammainccinv, gammainccinv)


partials(sc.betainc, lambda a, b, x: (betainc_by_a(a, b, x), betainc_by_b(a, b, x), beta_density(a, b, x)))
partials(sc.betaincc, lambda a, b, x: (-betainc_by_a(a, b, x), -betainc_by_b(a, b, x), -beta_density(a, b, x)))
partials(betainc_by_a, lambda a, b, x: (None, None, beta_density(a, b, x) * (np.log(x) - sc.psi(a) + sc.psi(a + b))))
partials(betainc_by_b, lambda a, b, x: (None, None, beta_density(a, b, x) * (np.log1p(-x) - sc.psi(b) + sc.psi(a + b))))


def betaincinv(a, b, y, *, x):
    slope = 1 / beta_density(a, b, x)
    return -betainc_by_a(a, b, x) * slope, -betainc_by_b(a, b, x) * slope, slope


partials(sc.betaincinv, betaincinv)


# ---------------------------------------------------------------------------------------- error and normal distribution

# 2 / sqrt(pi), sqrt(pi) / 2; sqrt(2 pi), its inverse; sqrt(2 / pi), sqrt(1 / 2)
TWO_OVER_ROOT, HALF_ROOT = 1.1283791670955126, 0.886226925452758
ROOT_TWO_PI, OVER_ROOT_TWO_PI = 2.5066282746310002, 0.3989422804014327
ROOT_TWO_OVER_PI, ROOT_HALF = 0.7978845608028654, 0.7071067811865476


def far(u):
    """1 + 3 u + 15 u ** 2 + .. of odd numbers, the asymptotic series that is left where others cancel (7.12.1)."""
    series = 1.0
    for k in range(27, 1, -2):
        series = 1 + k * u * series
    return series


partials(sc.erf, lambda x: TWO_OVER_ROOT * np.exp(-x * x))  # 7.2.1
partials(sc.erfc, lambda x: -TWO_OVER_ROOT * np.exp(-x * x))
partials(sc.erfi, lambda x: TWO_OVER_ROOT * np.exp(x * x))
partials(
    sc.erfcx,
    lambda x, *, y: -0.5 * TWO_OVER_ROOT / (x * x) * far(-0.5 / (x * x)) if x > 10 else 2 * x * y - TWO_OVER_ROOT,
)
partials(sc.dawsn, lambda x, *, y: -0.5 / (x * x) * far(0.5 / (x * x)) if abs(x) > 10 else 1 - 2 * x * y)  # 7.10.1
partials(sc.erfinv, lambda x, *, y: HALF_ROOT * np.exp(y * y))
partials(sc.erfcinv, lambda x, *, y: -HALF_ROOT * np.exp(y * y))
partials(sc.ndtr, lambda x: OVER_ROOT_TWO_PI * np.exp(-0.5 * x * x))
partials(sc.ndtri, lambda p, *, y: ROOT_TWO_PI * np.exp(0.5 * y * y))


def hazard(x, y):
    """The derivative of y = log_ndtr(x), also where both densities vanish."""
    return OVER_ROOT_TWO_PI * np.exp(-0.5 * x * x - y) if x > 0 else ROOT_TWO_OVER_PI / sc.erfcx(-ROOT_HALF * x)


partials(sc.log_ndtr, lambda x, *, y: hazard(x, y))
partials(sc.ndtri_exp, lambda y, *, x: 1 / hazard(x, y))


def owens_t(h, a):
    by_h = -0.5 * OVER_ROOT_TWO_PI * np.exp(-0.5 * h * h) * sc.erf(ROOT_HALF * a * h)
    return by_h, 0.15915494309189535 * np.exp(-0.5 * h * h * (1 + a * a)) / (1 + a * a)  # 1 / (2 pi)


partials(sc.owens_t, owens_t)


# ---------------------------------------------------------------------------------------- entropies, losses, power laws
# 0 log 0 is 0, and so is its derivative by what stands in the logarithm.

partials(sc.xlogy, lambda x, y: (np.log(y), 0 if x == 0 and y == 0 else x / y))
partials(sc.xlog1py, lambda x, y: (np.log1p(y), 0 if x == 0 and y == -1 else x / (1 + y)))
partials(sc.entr, lambda x: -np.log(x) - 1)
partials(sc.rel_entr, lambda x, y: (0, 0) if x == 0 and y == 0 else (np.log(x / y) + 1, -x / y))
partials(sc.kl_div, lambda x, y: (0, 1) if x == 0 and y == 0 else (np.log(x / y), 1 - x / y))
partials(
    sc.huber, lambda delta, r: (0 if abs(r) <= delta else abs(r) - delta, r if abs(r) <= delta else delta * np.sign(r))
)


def pseudo_huber(delta, r):
    u = r / delta
    s = np.sqrt(1 + u * u)
    return delta * u**4 / (s * (1 + s) ** 2), r / s


partials(sc.pseudo_huber, pseudo_huber)


def exprel_slope(u):
    """The derivative of exprel: by 13.3.15 near 0, where the quotient loses its digits."""
    return 0.5 * sc.hyp1f1(2.0, 3.0, u) if abs(u) < 1 else (np.exp(u) - sc.exprel(u)) / u


def log_quotient_slope(u):
    """The derivative of log1p(u) / u, by 15.4.1 and 15.5.1 near 0."""
    return -0.5 * sc.hyp2f1(2.0, 2.0, 3.0, -u) if abs(u) < 0.5 else (1 / (1 + u) - np.log1p(u) / u) / u


partials(sc.exprel, lambda x: exprel_slope(x))
partials(sc.boxcox, lambda x, lmbda: (x ** (lmbda - 1), np.log(x) ** 2 * exprel_slope(lmbda * np.log(x))))
partials(sc.boxcox1p, lambda x, lmbda: ((1 + x) ** (lmbda - 1), np.log1p(x) ** 2 * exprel_slope(lmbda * np.log1p(x))))


def inv_boxcox(y, lmbda, *, x):
    return x / (1 + lmbda * y), x * y * y * log_quotient_slope(lmbda * y)


partials(sc.inv_boxcox, inv_boxcox)


def inv_boxcox1p(y, lmbda, *, x):
    return (x + 1) / (1 + lmbda * y), (x + 1) * y * y * log_quotient_slope(lmbda * y)


partials(sc.inv_boxcox1p, inv_boxcox1p)


# --------------------------------------------------------------------------------------------------- zeta and integrals


@decomposition(sc.zeta)
def zeta(x, q=None):
    return sc.zetac(x) + 1.0 if q is None else hurwitz(x, q)


partials(sc.zetac, lambda x: hurwitz_by_x(x, 1.0))
partials(hurwitz, lambda x, q: (hurwitz_by_x(x, q), -x * hurwitz(x + 1.0, q)))  # 25.11.17
partials(hurwitz_by_x, lambda x, q: (None, -hurwitz(x + 1.0, q) - x * hurwitz_by_x(x + 1.0, q)))
partials(sc.expi, lambda x: np.exp(x) / x)  # 6.2.5
partials(sc.exp1, lambda x: -np.exp(-x) / x)
partials(sc.expn, lambda n, x, *, y: (None, -(1 + 1 / x) * y if n == 0 else -sc.expn(n - 1, x)))  # 8.19.13
partials(sc.spence, lambda z: -sc.hyp2f1(1.0, 1.0, 2.0, 1 - z) if abs(z - 1) < 0.5 else np.log(z) / (1 - z))  # 25.12.2


# ------------------------------------------------------------------------------------------------- sums of exponentials


def whole_shift(a, axis):
    """A whole number near the greatest element, so that exponentials do not overflow; nothing flows through it."""
    top = np.max(a, axis=axis, keepdims=True)
    zero = np.float32(0.0) if a.dtype == np.float32 else 0.0
    return np.where(np.isfinite(top), np.rint(top), zero)


@decomposition(sc.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False):
    a = np.asarray(a)
    shift = whole_shift(a, axis)
    terms = np.exp(a - shift) if b is None else b * np.exp(a - shift)
    found = np.log(np.sum(terms, axis=axis, keepdims=True)) + shift
    # without keepdims the sum of the one element that is left
    return found if keepdims else np.sum(found, axis=axis)


@decomposition(sc.softmax)
def softmax(x, axis=None):
    x = np.asarray(x)
    terms = np.exp(x - whole_shift(x, axis))
    return terms / np.sum(terms, axis=axis, keepdims=True)


@decomposition(sc.log_softmax)
def log_softmax(x, axis=None):
    x = np.asarray(x)
    lower = x - whole_shift(x, axis)
    return lower - np.log(np.sum(np.exp(lower), axis=axis, keepdims=True))
