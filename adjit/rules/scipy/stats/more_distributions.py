"""More distributions of scipy.stats, each by the formulas of its standard form.

In: what a method of a distribution is called with: a place, shapes, `loc` and `scale`. Out: its value; outside of the
support that of SciPy, and nan for a scale or shapes that are none.

    stats.weibull_min.logpdf(x, c, loc, s)      y = (x - loc) / s;  log(c) + xlogy(c - 1, y) - y ** c - log(s)
"""

import math

import numba
import numpy as np
import scipy.special as sc
import scipy.stats as stats

from adjit.rules.registry import builtin
from adjit.rules.scipy.special.functions import log_quotient_slope
from adjit.rules.scipy.stats.distributions import HALF_LOG_TWO_PI, LOG_PI, LOG_TWO, density, positive

decomposition, partials = builtin.decomposition, builtin.partials

EULER, LOG_TWO_PI = 0.5772156649015329, 1.8378770664093453
LOG_TWO_OVER_PI, ROOT_TWO_OVER_PI, ROOT_HALF_PI = -0.45158270528945486, 0.7978845608028654, 1.2533141373155001


@numba.njit(error_model="numpy")
def log_quotient(u):
    """log1p(u) / u, which is 1 at 0: what makes formulas with a shape that may be 0 one formula."""
    return math.log1p(u) / u if u != 0.0 else 1.0


partials(log_quotient, lambda u: log_quotient_slope(u))

# ------------------------------------------------------------------------------------------- from the standard form on


def parameters(names, given, named):
    """The shapes, `loc` and `scale` that a method is called with, by position and by name."""
    if len(given) > len(names) + 2:
        raise NotImplementedError("a distribution with more arguments than it has parameters")
    for name in named:
        if name not in (*names, "loc", "scale"):
            raise NotImplementedError("a distribution with an unknown argument")
    for name in names[len(given) :]:
        if name not in named:
            raise NotImplementedError("a distribution with a missing shape parameter")
    shapes = (*given[: len(names)], *[named[name] for name in names[len(given) :]])
    loc = given[len(names)] if len(given) > len(names) else named.get("loc", 0.0)
    scale = given[len(names) + 1] if len(given) > len(names) + 1 else named.get("scale", 1.0)
    return shapes, loc, scale


def log_density(names, ok, low, high, is_open, own):
    def logpdf(x, *given, **named):
        shapes, loc, scale = parameters(names, given, named)
        y = (x - loc) / positive(scale)
        if is_open:
            outside = (y <= low(*shapes)) | (y >= high(*shapes))
        else:
            outside = (y < low(*shapes)) | (y > high(*shapes))
        return np.where(ok(*shapes), np.where(outside | np.isinf(y), -np.inf, own(y, *shapes) - np.log(scale)), np.nan)

    return logpdf


def exponential_of(logarithm):
    def value(x, *given, **named):
        return density(logarithm(x, *given, **named))

    return value


def by_place(names, ok, low, high, below, above, own):
    """What is `below` up to the support, and `above` after it."""

    def value(x, *given, **named):
        shapes, loc, scale = parameters(names, given, named)
        y = (x - loc) / positive(scale)
        inside = np.where(y >= high(*shapes), above, own(y, *shapes))
        return np.where(ok(*shapes), np.where(y <= low(*shapes), below, inside), np.nan)

    return value


def quantile(names, ok, first, last, own):
    """From what it is at 0 to what it is at 1."""

    def value(q, *given, **named):
        shapes, loc, scale = parameters(names, given, named)
        y = np.where(q == 0, first(*shapes), np.where(q == 1, last(*shapes), own(q, *shapes)))
        return np.where(ok(*shapes) & (q >= 0) & (q <= 1), loc + positive(scale) * y, np.nan)

    return value


def moment(names, ok, own, by_loc, power):
    """A location's or a scale's, to that power of the scale."""

    def value(*given, **named):
        shapes, loc, scale = parameters(names, given, named)
        size = positive(scale) if power == 1 else positive(scale) ** 2
        return np.where(ok(*shapes), (loc if by_loc else 0.0) + size * own(*shapes), np.nan)

    return value


def deviation(variance):
    def std(*given, **named):
        return np.sqrt(variance(*given, **named))

    return std


def information(names, ok, own):
    def entropy(*given, **named):
        shapes, _, scale = parameters(names, given, named)
        return np.where(ok(*shapes), own(*shapes) + np.log(positive(scale)), np.nan)

    return entropy


def middle(ppf):
    def median(*given, **named):
        return ppf(0.5, *given, **named)

    return median


def logarithm_of(own):
    def value(y, *shapes):
        return np.log(own(y, *shapes))

    return value


def all_positive(*shapes):
    found = True
    for shape in shapes:
        found = found & (shape > 0)
    return found


def constant(number):
    def bound(*shapes):
        return number

    return bound


def continuous(dist, low=-np.inf, high=np.inf, ok=all_positive, is_open=False, **of):
    """The methods of a distribution by those `of` the standard form; a bound may be a function of the shapes."""
    names = tuple((dist.shapes or "").replace(" ", "").split(",")) if dist.shapes else ()
    low, high = (bound if callable(bound) else constant(bound) for bound in (low, high))
    if "logpdf" in of:
        logpdf = decomposition(dist.logpdf)(log_density(names, ok, low, high, is_open, of["logpdf"]))
        decomposition(dist.pdf)(exponential_of(logpdf))
    of.setdefault("logcdf", logarithm_of(of["cdf"]) if "cdf" in of else None)
    of.setdefault("logsf", logarithm_of(of["sf"]) if "sf" in of else None)
    for name, below, above in (("cdf", 0.0, 1.0), ("sf", 1.0, 0.0), ("logcdf", -np.inf, 0.0), ("logsf", 0.0, -np.inf)):
        if of.get(name) is not None:
            decomposition(getattr(dist, name))(by_place(names, ok, low, high, below, above, of[name]))
    for name, first, last in (("ppf", low, high), ("isf", high, low)):
        if name in of:
            decomposition(getattr(dist, name))(quantile(names, ok, first, last, of[name]))
    known = builtin.find(dist.ppf)
    if known is not None:
        decomposition(dist.median)(middle(known.decomposition))
    if "mean" in of:
        decomposition(dist.mean)(moment(names, ok, of["mean"], True, 1))
    if "var" in of:
        variance = decomposition(dist.var)(moment(names, ok, of["var"], False, 2))
        decomposition(dist.std)(deviation(variance))
    if "entropy" in of:
        decomposition(dist.entropy)(information(names, ok, of["entropy"]))


def no_condition(*shapes):
    return True


# ------------------------------------------------------------------------------------- those of distributions.py, more

continuous(
    stats.norm,
    ppf=sc.ndtri,
    isf=lambda q: -sc.ndtri(q),
    mean=lambda: 0.0,
    var=lambda: 1.0,
    entropy=lambda: HALF_LOG_TWO_PI + 0.5,
)
continuous(
    stats.cauchy,
    ppf=lambda q: np.tan(np.pi * (q - 0.5)),
    isf=lambda q: 1.0 / np.tan(np.pi * q),
    entropy=lambda: 2 * LOG_TWO + LOG_PI,
)
continuous(
    stats.laplace,
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - q)), -np.log(2 * q)),
    mean=lambda: 0.0,
    var=lambda: 2.0,
    entropy=lambda: LOG_TWO + 1,
)
continuous(
    stats.logistic, isf=lambda q: -sc.logit(q), mean=lambda: 0.0, var=lambda: np.pi**2 / 3, entropy=lambda: 2.0
)
continuous(
    stats.expon,
    low=0.0,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    mean=lambda: 1.0,
    var=lambda: 1.0,
    entropy=lambda: 1.0,
)
continuous(
    stats.uniform,
    low=0.0,
    high=1.0,
    isf=lambda q: 1 - q,
    mean=lambda: 0.5,
    var=lambda: 1 / 12,
    entropy=lambda: 0.0,
)
continuous(
    stats.t,
    ppf=lambda q, df: sc.stdtrit(df, q),
    isf=lambda q, df: -sc.stdtrit(df, q),
    mean=lambda df: np.where(df > 1, 0.0, np.inf),
    var=lambda df: np.where(df > 2, df / (df - 2), np.where(df > 1, np.inf, np.nan)),
)
continuous(
    stats.gamma,
    low=0.0,
    isf=lambda q, a: sc.gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    entropy=lambda a: a + sc.gammaln(a) + (1 - a) * sc.psi(a),
)
continuous(
    stats.chi2,
    low=0.0,
    isf=lambda q, df: 2 * sc.gammainccinv(0.5 * df, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
    entropy=lambda df: 0.5 * df + LOG_TWO + sc.gammaln(0.5 * df) + (1 - 0.5 * df) * sc.psi(0.5 * df),
)
continuous(
    stats.lognorm,
    low=0.0,
    isf=lambda q, s: np.exp(-s * sc.ndtri(q)),
    mean=lambda s: np.exp(0.5 * s * s),
    var=lambda s: np.expm1(s * s) * np.exp(s * s),
    entropy=lambda s: 0.5 + HALF_LOG_TWO_PI + np.log(s),
)
continuous(
    stats.beta,
    low=0.0,
    high=1.0,
    isf=lambda q, a, b: 1 - sc.betaincinv(b, a, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    entropy=lambda a, b: (
        sc.betaln(a, b) - (a - 1) * sc.psi(a) - (b - 1) * sc.psi(b) + (a + b - 2) * sc.psi(a + b)
    ),
)

# ------------------------------------------------------------------------------------------------------- extreme values


def excess(y, c):
    """log1p(c y) / c, which is y where c is 0."""
    return y * log_quotient(c * y)


continuous(
    stats.genpareto,
    low=0.0,
    high=lambda c: np.where(c < 0, -1 / c, np.inf),
    ok=np.isfinite,
    logpdf=lambda y, c: -(c + 1) * excess(y, c),
    cdf=lambda y, c: -np.expm1(-excess(y, c)),
    sf=lambda y, c: np.exp(-excess(y, c)),
    logsf=lambda y, c: -excess(y, c),
    ppf=lambda q, c: -sc.boxcox(1 - q, -c),
    isf=lambda q, c: -sc.boxcox(q, -c),
    mean=lambda c: np.where(c < 1, 1 / (1 - c), np.inf),
    var=lambda c: np.where(c < 0.5, 1 / ((1 - c) ** 2 * (1 - 2 * c)), np.where(c < 1, np.inf, np.nan)),
    entropy=lambda c: 1 + c,
)
continuous(
    stats.genextreme,
    low=lambda c: np.where(c < 0, 1 / c, -np.inf),
    high=lambda c: np.where(c > 0, 1 / c, np.inf),
    ok=np.isfinite,
    logpdf=lambda y, c: -np.exp(-excess(y, -c)) - excess(y, -c) - np.log1p(-c * y),
    cdf=lambda y, c: np.exp(-np.exp(-excess(y, -c))),
    logcdf=lambda y, c: -np.exp(-excess(y, -c)),
    sf=lambda y, c: -np.expm1(-np.exp(-excess(y, -c))),
    ppf=lambda q, c: -np.log(-np.log(q)) * sc.exprel(c * np.log(-np.log(q))),
    isf=lambda q, c: -np.log(-np.log1p(-q)) * sc.exprel(c * np.log(-np.log1p(-q))),
)
continuous(
    stats.gumbel_r,
    logpdf=lambda y: -y - np.exp(-y),
    cdf=lambda y: np.exp(-np.exp(-y)),
    logcdf=lambda y: -np.exp(-y),
    sf=lambda y: -np.expm1(-np.exp(-y)),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
    mean=lambda: EULER,
    var=lambda: np.pi**2 / 6,
    entropy=lambda: EULER + 1,
)
continuous(
    stats.gumbel_l,
    logpdf=lambda y: y - np.exp(y),
    cdf=lambda y: -np.expm1(-np.exp(y)),
    sf=lambda y: np.exp(-np.exp(y)),
    logsf=lambda y: -np.exp(y),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
    mean=lambda: -EULER,
    var=lambda: np.pi**2 / 6,
    entropy=lambda: EULER + 1,
)
continuous(
    stats.weibull_min,
    low=0.0,
    logpdf=lambda y, c: np.log(c) + sc.xlogy(c - 1, y) - y**c,
    cdf=lambda y, c: -np.expm1(-(y**c)),
    sf=lambda y, c: np.exp(-(y**c)),
    logsf=lambda y, c: -(y**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
    mean=lambda c: sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - sc.gamma(1 + 1 / c) ** 2,
    entropy=lambda c: EULER + 1 - EULER / c - np.log(c),
)
continuous(
    stats.weibull_max,
    high=0.0,
    logpdf=lambda y, c: np.log(c) + sc.xlogy(c - 1, -y) - (-y) ** c,
    cdf=lambda y, c: np.exp(-((-y) ** c)),
    logcdf=lambda y, c: -((-y) ** c),
    sf=lambda y, c: -np.expm1(-((-y) ** c)),
    ppf=lambda q, c: -((-np.log(q)) ** (1 / c)),
    isf=lambda q, c: -((-np.log1p(-q)) ** (1 / c)),
    mean=lambda c: -sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - sc.gamma(1 + 1 / c) ** 2,
    entropy=lambda c: EULER + 1 - EULER / c - np.log(c),
)


def log_of_rest(t):
    """log(1 - exp(-t)), to all its digits."""
    return np.where(t > LOG_TWO, np.log1p(-np.exp(-t)), np.log(-np.expm1(-t)))


continuous(
    stats.exponweib,
    low=0.0,
    logpdf=lambda y, a, c: (
        np.log(a) + np.log(c) + sc.xlogy(a - 1, -np.expm1(-(y**c))) - y**c + sc.xlogy(c - 1, y)
    ),
    cdf=lambda y, a, c: (-np.expm1(-(y**c))) ** a,
    logcdf=lambda y, a, c: a * log_of_rest(y**c),
    sf=lambda y, a, c: -np.expm1(a * log_of_rest(y**c)),
    ppf=lambda q, a, c: (-np.log1p(-(q ** (1 / a)))) ** (1 / c),
    isf=lambda q, a, c: (-np.log(-np.expm1(np.log1p(-q) / a))) ** (1 / c),
)
continuous(
    stats.gompertz,
    low=0.0,
    logpdf=lambda y, c: np.log(c) + y - c * np.expm1(y),
    cdf=lambda y, c: -np.expm1(-c * np.expm1(y)),
    sf=lambda y, c: np.exp(-c * np.expm1(y)),
    logsf=lambda y, c: -c * np.expm1(y),
    ppf=lambda q, c: np.log1p(-np.log1p(-q) / c),
    isf=lambda q, c: np.log1p(-np.log(q) / c),
)

# --------------------------------------------------------------------------------------------------- of half a line

continuous(
    stats.halfnorm,
    low=0.0,
    logpdf=lambda y: 0.5 * LOG_TWO_OVER_PI - 0.5 * y * y,
    cdf=lambda y: sc.erf(math.sqrt(0.5) * y),
    sf=lambda y: sc.erfc(math.sqrt(0.5) * y),
    logsf=lambda y: LOG_TWO + sc.log_ndtr(-y),
    ppf=lambda q: math.sqrt(2.0) * sc.erfinv(q),
    isf=lambda q: math.sqrt(2.0) * sc.erfcinv(q),
    mean=lambda: ROOT_TWO_OVER_PI,
    var=lambda: 1 - 2 / np.pi,
    entropy=lambda: 0.5 - 0.5 * LOG_TWO_OVER_PI,
)
continuous(
    stats.halfcauchy,
    low=0.0,
    logpdf=lambda y: LOG_TWO_OVER_PI - np.log1p(y * y),
    cdf=lambda y: 2 / np.pi * np.arctan(y),
    sf=lambda y: 2 / np.pi * np.arctan2(1.0, y),
    ppf=lambda q: np.tan(0.5 * np.pi * q),
    isf=lambda q: 1 / np.tan(0.5 * np.pi * q),
    entropy=lambda: LOG_TWO_PI,
)
continuous(
    stats.halflogistic,
    low=0.0,
    logpdf=lambda y: LOG_TWO - y - 2 * np.log1p(np.exp(-y)),
    cdf=lambda y: np.tanh(0.5 * y),
    sf=lambda y: 2 * sc.expit(-y),
    logsf=lambda y: LOG_TWO + sc.log_expit(-y),
    ppf=lambda q: 2 * np.arctanh(q),
    isf=lambda q: np.log((2 - q) / q),
    mean=lambda: 2 * LOG_TWO,
    var=lambda: np.pi**2 / 3 - 4 * LOG_TWO**2,
    entropy=lambda: 2 - LOG_TWO,
)
continuous(
    stats.invgamma,
    low=0.0,
    is_open=True,
    logpdf=lambda y, a: -(a + 1) * np.log(y) - sc.gammaln(a) - 1 / y,
    cdf=lambda y, a: sc.gammaincc(a, 1 / y),
    sf=lambda y, a: sc.gammainc(a, 1 / y),
    ppf=lambda q, a: 1 / sc.gammainccinv(a, q),
    isf=lambda q, a: 1 / sc.gammaincinv(a, q),
    mean=lambda a: np.where(a > 1, 1 / (a - 1), np.inf),
    var=lambda a: np.where(a > 2, 1 / ((a - 1) ** 2 * (a - 2)), np.inf),
    entropy=lambda a: a - (a + 1) * sc.psi(a) + sc.gammaln(a),
)
continuous(
    stats.pareto,
    low=1.0,
    logpdf=lambda y, b: np.log(b) - (b + 1) * np.log(y),
    cdf=lambda y, b: -np.expm1(-b * np.log(y)),
    sf=lambda y, b: y**-b,
    logsf=lambda y, b: -b * np.log(y),
    ppf=lambda q, b: (1 - q) ** (-1 / b),
    isf=lambda q, b: q ** (-1 / b),
    mean=lambda b: np.where(b > 1, b / (b - 1), np.inf),
    var=lambda b: np.where(b > 2, b / ((b - 1) ** 2 * (b - 2)), np.inf),
    entropy=lambda b: 1 + 1 / b - np.log(b),
)
continuous(
    stats.lomax,
    low=0.0,
    logpdf=lambda y, c: np.log(c) - (c + 1) * np.log1p(y),
    cdf=lambda y, c: -np.expm1(-c * np.log1p(y)),
    sf=lambda y, c: np.exp(-c * np.log1p(y)),
    logsf=lambda y, c: -c * np.log1p(y),
    ppf=lambda q, c: np.expm1(-np.log1p(-q) / c),
    isf=lambda q, c: np.expm1(-np.log(q) / c),
    mean=lambda c: np.where(c > 1, 1 / (c - 1), np.inf),
    var=lambda c: np.where(c > 2, c / ((c - 1) ** 2 * (c - 2)), np.where(c > 1, np.inf, np.nan)),
    entropy=lambda c: 1 + 1 / c - np.log(c),
)
continuous(
    stats.rayleigh,
    low=0.0,
    is_open=True,
    logpdf=lambda y: np.log(y) - 0.5 * y * y,
    cdf=lambda y: -np.expm1(-0.5 * y * y),
    sf=lambda y: np.exp(-0.5 * y * y),
    logsf=lambda y: -0.5 * y * y,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2 * np.log(q)),
    mean=lambda: ROOT_HALF_PI,
    var=lambda: 2 - 0.5 * np.pi,
    entropy=lambda: 0.5 * EULER + 1 - 0.5 * LOG_TWO,
)
continuous(
    stats.maxwell,
    low=0.0,
    logpdf=lambda y: 0.5 * LOG_TWO_OVER_PI + 2 * np.log(y) - 0.5 * y * y,
    cdf=lambda y: sc.gammainc(1.5, 0.5 * y * y),
    sf=lambda y: sc.gammaincc(1.5, 0.5 * y * y),
    ppf=lambda q: np.sqrt(2 * sc.gammaincinv(1.5, q)),
    isf=lambda q: np.sqrt(2 * sc.gammainccinv(1.5, q)),
    mean=lambda: 2 * ROOT_TWO_OVER_PI,
    var=lambda: 3 - 8 / np.pi,
    entropy=lambda: EULER + HALF_LOG_TWO_PI - 0.5,
)
continuous(
    stats.chi,
    low=0.0,
    logpdf=lambda y, df: LOG_TWO - 0.5 * LOG_TWO * df - sc.gammaln(0.5 * df) + sc.xlogy(df - 1, y) - 0.5 * y * y,
    cdf=lambda y, df: sc.gammainc(0.5 * df, 0.5 * y * y),
    sf=lambda y, df: sc.gammaincc(0.5 * df, 0.5 * y * y),
    ppf=lambda q, df: np.sqrt(2 * sc.gammaincinv(0.5 * df, q)),
    isf=lambda q, df: np.sqrt(2 * sc.gammainccinv(0.5 * df, q)),
    mean=lambda df: math.sqrt(2.0) * sc.poch(0.5 * df, 0.5),
    var=lambda df: df - 2 * sc.poch(0.5 * df, 0.5) ** 2,
)
continuous(
    stats.f,
    low=0.0,
    logpdf=lambda y, n, m: (
        0.5 * m * np.log(m)
        + 0.5 * n * np.log(n)
        + sc.xlogy(0.5 * n - 1, y)
        - 0.5 * (n + m) * np.log(m + n * y)
        - sc.betaln(0.5 * n, 0.5 * m)
    ),
    cdf=lambda y, n, m: sc.betainc(0.5 * n, 0.5 * m, n * y / (m + n * y)),
    sf=lambda y, n, m: sc.betainc(0.5 * m, 0.5 * n, m / (m + n * y)),
    ppf=lambda q, n, m: m / n * (1 / sc.betaincinv(0.5 * m, 0.5 * n, 1 - q) - 1),
    isf=lambda q, n, m: m / n * (1 / sc.betaincinv(0.5 * m, 0.5 * n, q) - 1),
    mean=lambda n, m: np.where(m > 2, m / (m - 2), np.inf),
    var=lambda n, m: np.where(m > 4, 2 * m * m * (m + n - 2) / (n * (m - 2) ** 2 * (m - 4)), np.inf),
)
continuous(
    stats.betaprime,
    low=0.0,
    is_open=True,
    logpdf=lambda y, a, b: sc.xlogy(a - 1, y) - sc.xlog1py(a + b, y) - sc.betaln(a, b),
    cdf=lambda y, a, b: sc.betainc(a, b, y / (1 + y)),
    sf=lambda y, a, b: sc.betainc(b, a, 1 / (1 + y)),
    ppf=lambda q, a, b: 1 / (1 / sc.betaincinv(a, b, q) - 1),
    isf=lambda q, a, b: 1 / sc.betaincinv(b, a, q) - 1,
    mean=lambda a, b: np.where(b > 1, a / (b - 1), np.inf),
    var=lambda a, b: np.where(b > 2, a * (a + b - 1) / ((b - 2) * (b - 1) ** 2), np.inf),
)
continuous(
    stats.burr12,
    low=0.0,
    logpdf=lambda y, c, d: np.log(c) + np.log(d) + sc.xlogy(c - 1, y) + sc.xlog1py(-d - 1, y**c),
    cdf=lambda y, c, d: -np.expm1(-d * np.log1p(y**c)),
    sf=lambda y, c, d: np.exp(-d * np.log1p(y**c)),
    logsf=lambda y, c, d: -d * np.log1p(y**c),
    ppf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c),
    isf=lambda q, c, d: np.expm1(-np.log(q) / d) ** (1 / c),
)
continuous(
    stats.fisk,
    low=0.0,
    logpdf=lambda y, c: np.log(c) + sc.xlogy(c - 1, y) - 2 * np.log1p(y**c),
    cdf=lambda y, c: sc.expit(c * np.log(y)),
    sf=lambda y, c: sc.expit(-c * np.log(y)),
    ppf=lambda q, c: (q / (1 - q)) ** (1 / c),
    isf=lambda q, c: ((1 - q) / q) ** (1 / c),
    entropy=lambda c: 2 - np.log(c),
)


def inverse_normal_parts(y, mu):
    root = 1 / np.sqrt(y)
    return root * (y / mu - 1), 2 / mu + sc.log_ndtr(-root * (y / mu + 1))


def invgauss_logcdf(y, mu):
    z, rest = inverse_normal_parts(y, mu)
    return sc.log_ndtr(z) + np.log1p(np.exp(rest - sc.log_ndtr(z)))


def invgauss_logsf(y, mu):
    z, rest = inverse_normal_parts(y, mu)
    return sc.log_ndtr(-z) + np.log1p(-np.exp(rest - sc.log_ndtr(-z)))


continuous(
    stats.invgauss,
    low=0.0,
    is_open=True,
    logpdf=lambda y, mu: -HALF_LOG_TWO_PI - 1.5 * np.log(y) - (y / mu - 1) ** 2 / (2 * y),
    cdf=lambda y, mu: np.exp(invgauss_logcdf(y, mu)),
    logcdf=invgauss_logcdf,
    sf=lambda y, mu: np.exp(invgauss_logsf(y, mu)),
    logsf=invgauss_logsf,
    mean=lambda mu: mu,
    var=lambda mu: mu**3,
)

# ------------------------------------------------------------------------------------------ of the line, of an interval


def skewnorm_cdf(y, a):
    return np.clip(sc.ndtr(y) - 2 * sc.owens_t(y, a), 0.0, 1.0)


continuous(
    stats.skewnorm,
    ok=np.isfinite,
    logpdf=lambda y, a: LOG_TWO - HALF_LOG_TWO_PI - 0.5 * y * y + sc.log_ndtr(a * y),
    cdf=skewnorm_cdf,
    sf=lambda y, a: skewnorm_cdf(-y, -a),
    # in the tails the difference has too few digits
    logcdf=None,
    logsf=None,
    mean=lambda a: ROOT_TWO_OVER_PI * a / np.sqrt(1 + a * a),
    var=lambda a: 1 - 2 / np.pi * a * a / (1 + a * a),
)


def laplace_halves(kappa):
    whole = kappa + 1 / kappa
    return 1 / kappa / whole, kappa / whole


def laplace_asymmetric_cdf(y, kappa):
    above, below = laplace_halves(kappa)
    return np.where(y >= 0, 1 - above * np.exp(-y * kappa), below * np.exp(y / kappa))


def laplace_asymmetric_sf(y, kappa):
    above, below = laplace_halves(kappa)
    return np.where(y >= 0, above * np.exp(-y * kappa), 1 - below * np.exp(y / kappa))


def laplace_asymmetric_ppf(q, kappa):
    above, below = laplace_halves(kappa)
    return np.where(q >= below, -np.log((1 - q) / above) / kappa, np.log(q / below) * kappa)


def laplace_asymmetric_isf(q, kappa):
    above, below = laplace_halves(kappa)
    return np.where(q <= above, -np.log(q / above) / kappa, np.log((1 - q) / below) * kappa)


continuous(
    stats.laplace_asymmetric,
    logpdf=lambda y, kappa: np.where(y >= 0, -y * kappa, y / kappa) - np.log(kappa + 1 / kappa),
    cdf=laplace_asymmetric_cdf,
    sf=laplace_asymmetric_sf,
    ppf=laplace_asymmetric_ppf,
    isf=laplace_asymmetric_isf,
    mean=lambda kappa: 1 / kappa - kappa,
    var=lambda kappa: 1 / kappa**2 + kappa**2,
    entropy=lambda kappa: 1 + np.log(kappa + 1 / kappa),
)
continuous(
    stats.vonmises,
    ok=lambda kappa: kappa >= 0,
    logpdf=lambda y, kappa: kappa * sc.cosm1(y) - LOG_TWO_PI - np.log(sc.i0e(kappa)),
    entropy=lambda kappa: LOG_TWO_PI + np.log(sc.i0e(kappa)) + kappa - kappa * sc.i1e(kappa) / sc.i0e(kappa),
)
continuous(
    stats.loguniform,
    low=lambda a, b: a,
    high=lambda a, b: b,
    ok=lambda a, b: (a > 0) & (b > a),
    logpdf=lambda y, a, b: -np.log(y) - np.log(np.log(b) - np.log(a)),
    cdf=lambda y, a, b: (np.log(y) - np.log(a)) / (np.log(b) - np.log(a)),
    sf=lambda y, a, b: (np.log(b) - np.log(y)) / (np.log(b) - np.log(a)),
    ppf=lambda q, a, b: np.exp(np.log(a) + q * (np.log(b) - np.log(a))),
    isf=lambda q, a, b: np.exp(np.log(b) - q * (np.log(b) - np.log(a))),
    mean=lambda a, b: (b - a) / (np.log(b) - np.log(a)),
    var=lambda a, b: (
        (b * b - a * a) / (2 * (np.log(b) - np.log(a))) - ((b - a) / (np.log(b) - np.log(a))) ** 2
    ),
    entropy=lambda a, b: 0.5 * (np.log(a) + np.log(b)) + np.log(np.log(b) - np.log(a)),
)
continuous(
    stats.powerlaw,
    low=0.0,
    high=1.0,
    logpdf=lambda y, a: np.log(a) + sc.xlogy(a - 1, y),
    cdf=lambda y, a: y**a,
    logcdf=lambda y, a: a * np.log(y),
    sf=lambda y, a: -np.expm1(a * np.log(y)),
    ppf=lambda q, a: q ** (1 / a),
    isf=lambda q, a: (1 - q) ** (1 / a),
    mean=lambda a: a / (a + 1),
    var=lambda a: a / ((a + 2) * (a + 1) ** 2),
    entropy=lambda a: 1 - 1 / a - np.log(a),
)
continuous(
    stats.triang,
    low=0.0,
    high=1.0,
    ok=lambda c: (c >= 0) & (c <= 1),
    logpdf=lambda y, c: np.log(np.where((y < c) | (c == 1), 2 * y / c, 2 * (1 - y) / (1 - c))),
    cdf=lambda y, c: np.where((y < c) | (c == 1), y * y / c, 1 - (1 - y) ** 2 / (1 - c)),
    sf=lambda y, c: np.where((y < c) | (c == 1), 1 - y * y / c, (1 - y) ** 2 / (1 - c)),
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
    isf=lambda q, c: np.where(q < 1 - c, 1 - np.sqrt((1 - c) * q), np.sqrt(c * (1 - q))),
    mean=lambda c: (c + 1) / 3,
    var=lambda c: (1 - c + c * c) / 18,
    entropy=lambda c: 0.5 - LOG_TWO,
)


def log_difference(large, small):
    """log(exp(large) - exp(small)), of which the second may be nothing."""
    return large + np.where(small == -np.inf, 0.0, np.log1p(-np.exp(small - large)))


def log_mass(a, b):
    """The logarithm of the normal distribution's mass between two places, from the nearer tail."""
    return np.where(
        a > 0,
        log_difference(sc.log_ndtr(-a), sc.log_ndtr(-b)),
        log_difference(sc.log_ndtr(b), sc.log_ndtr(a)),
    )


def normal_density(a):
    return np.where(np.isinf(a), 0.0, np.exp(-0.5 * a * a - HALF_LOG_TWO_PI))


def normal_moment(a):
    return np.where(np.isinf(a), 0.0, a * np.exp(-0.5 * a * a - HALF_LOG_TWO_PI))


def truncnorm_mean(a, b):
    return (normal_density(a) - normal_density(b)) / np.exp(log_mass(a, b))


def truncnorm_var(a, b):
    mass = np.exp(log_mass(a, b))
    return 1 + (normal_moment(a) - normal_moment(b)) / mass - truncnorm_mean(a, b) ** 2


def truncnorm_ppf(q, a, b):
    whole = log_mass(a, b)
    return np.where(
        a < 0,
        sc.ndtri_exp(np.logaddexp(sc.log_ndtr(a), np.log(q) + whole)),
        -sc.ndtri_exp(np.logaddexp(sc.log_ndtr(-b), np.log1p(-q) + whole)),
    )


continuous(
    stats.truncnorm,
    low=lambda a, b: a,
    high=lambda a, b: b,
    ok=lambda a, b: a < b,
    logpdf=lambda y, a, b: -HALF_LOG_TWO_PI - 0.5 * y * y - log_mass(a, b),
    cdf=lambda y, a, b: np.exp(log_mass(a, y) - log_mass(a, b)),
    logcdf=lambda y, a, b: log_mass(a, y) - log_mass(a, b),
    sf=lambda y, a, b: np.exp(log_mass(y, b) - log_mass(a, b)),
    logsf=lambda y, a, b: log_mass(y, b) - log_mass(a, b),
    ppf=truncnorm_ppf,
    isf=lambda q, a, b: -truncnorm_ppf(q, -b, -a),
    mean=truncnorm_mean,
    var=truncnorm_var,
)

# ------------------------------------------------------------------------------------------------------------ of counts


def counted(names, given, named):
    """The shapes and `loc` of a distribution of whole numbers, which has no scale."""
    if len(given) > len(names) + 1 or "scale" in named:
        raise NotImplementedError("a distribution of counts with more arguments than it has parameters")
    shapes, loc, _ = parameters(names, given, named)
    return shapes, loc


def log_mass_at(names, ok, low, high, own):
    def logpmf(k, *given, **named):
        shapes, loc = counted(names, given, named)
        n = k - loc
        outside = (n < low(*shapes)) | (n > high(*shapes)) | (n != np.floor(n))
        return np.where(np.isnan(n) | ~ok(*shapes), np.nan, np.where(outside, -np.inf, own(n, *shapes)))

    return logpmf


def by_count(names, ok, low, high, below, above, own):
    def value(k, *given, **named):
        shapes, loc = counted(names, given, named)
        n = np.floor(k - loc)
        inside = np.where(n >= high(*shapes), above, own(n, *shapes))
        return np.where(np.isnan(n) | ~ok(*shapes), np.nan, np.where(n < low(*shapes), below, inside))

    return value


def moment_of_counts(names, ok, own, by_loc):
    def value(*given, **named):
        shapes, loc = counted(names, given, named)
        return np.where(ok(*shapes), (loc if by_loc else 0.0) + own(*shapes), np.nan)

    return value


def discrete(dist, ok, low=0.0, high=np.inf, **of):
    """The same of a distribution of whole numbers."""
    names = tuple(dist.shapes.replace(" ", "").split(","))
    low, high = (bound if callable(bound) else constant(bound) for bound in (low, high))
    if "logpmf" in of:
        logpmf = decomposition(dist.logpmf)(log_mass_at(names, ok, low, high, of["logpmf"]))
        decomposition(dist.pmf)(exponential_of(logpmf))
    of.setdefault("logcdf", logarithm_of(of["cdf"]) if "cdf" in of else None)
    of.setdefault("logsf", logarithm_of(of["sf"]) if "sf" in of else None)
    for name, below, above in (("cdf", 0.0, 1.0), ("sf", 1.0, 0.0), ("logcdf", -np.inf, 0.0), ("logsf", 0.0, -np.inf)):
        if of.get(name) is not None:
            decomposition(getattr(dist, name))(by_count(names, ok, low, high, below, above, of[name]))
    decomposition(dist.mean)(moment_of_counts(names, ok, of["mean"], True))
    variance = decomposition(dist.var)(moment_of_counts(names, ok, of["var"], False))
    decomposition(dist.std)(deviation(variance))
    if "entropy" in of:
        decomposition(dist.entropy)(moment_of_counts(names, ok, of["entropy"], False))


def is_share(p):
    return (p >= 0) & (p <= 1)


discrete(
    stats.poisson,
    ok=lambda mu: mu >= 0,
    cdf=lambda k, mu: sc.gammaincc(k + 1, mu),
    sf=lambda k, mu: sc.gammainc(k + 1, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
)
discrete(
    stats.binom,
    ok=lambda n, p: (n >= 0) & (n == np.floor(n)) & is_share(p),
    high=lambda n, p: n,
    cdf=lambda k, n, p: sc.betaincc(k + 1, np.maximum(n - k, 0.5), p),
    sf=lambda k, n, p: sc.betainc(k + 1, np.maximum(n - k, 0.5), p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
)
discrete(
    stats.bernoulli,
    ok=is_share,
    high=1.0,
    logpmf=lambda k, p: sc.xlogy(k, p) + sc.xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p,
    sf=lambda k, p: p + 0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
    entropy=lambda p: sc.entr(p) + sc.entr(1 - p),
)
discrete(
    stats.geom,
    ok=lambda p: (p > 0) & (p <= 1),
    low=1.0,
    logpmf=lambda k, p: sc.xlog1py(k - 1, -p) + np.log(p),
    cdf=lambda k, p: -np.expm1(np.log1p(-p) * k),
    sf=lambda k, p: np.exp(np.log1p(-p) * k),
    logsf=lambda k, p: np.log1p(-p) * k,
    mean=lambda p: 1 / p,
    var=lambda p: (1 - p) / (p * p),
)
discrete(
    stats.nbinom,
    ok=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpmf=lambda k, n, p: (
        sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n) + n * np.log(p) + sc.xlog1py(k, -p)
    ),
    cdf=lambda k, n, p: sc.betainc(n, k + 1, p),
    sf=lambda k, n, p: sc.betaincc(n, k + 1, p),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / (p * p),
)
discrete(
    stats.betabinom,
    ok=lambda n, a, b: (n >= 0) & (n == np.floor(n)) & (a > 0) & (b > 0),
    high=lambda n, a, b: n,
    logpmf=lambda k, n, a, b: (
        -np.log(n + 1) - sc.betaln(n - k + 1, k + 1) + sc.betaln(k + a, n - k + b) - sc.betaln(a, b)
    ),
    mean=lambda n, a, b: n * a / (a + b),
    var=lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1)),
)

# ----------------------------------------------------------------------------------------------------------- of vectors


@decomposition(stats.dirichlet.logpdf)
def dirichlet_logpdf(x, alpha):
    if np.ndim(alpha) != 1 or np.ndim(x) != 1 or np.size(x) != np.size(alpha):
        raise NotImplementedError("dirichlet of anything but two vectors of one length: loop over them")
    x, alpha = np.asarray(x), np.asarray(alpha)
    if np.min(alpha) <= 0:
        raise ValueError("All parameters must be greater than 0")
    if np.min(x) < 0 or np.max(x) > 1 or np.abs(np.sum(x) - 1.0) > 10e-10:
        raise ValueError("The input vector 'x' must lie within the normal simplex.")
    return sc.gammaln(np.sum(alpha)) - np.sum(sc.gammaln(alpha)) + np.sum(sc.xlogy(alpha - 1, x))


decomposition(stats.dirichlet.pdf)(lambda x, alpha: np.exp(dirichlet_logpdf(x, alpha)))


@decomposition(stats.dirichlet.mean)
def dirichlet_mean(alpha):
    alpha = np.asarray(alpha)
    return alpha / np.sum(alpha)


@decomposition(stats.multinomial.logpmf)
def multinomial_logpmf(x, n, p):
    if np.ndim(p) != 1 or np.ndim(x) != 1:
        raise NotImplementedError("multinomial of anything but vectors: loop over them")
    x, p = np.asarray(x), np.asarray(p)
    if np.abs(np.sum(p) - 1.0) > 1e-8:
        raise ValueError("the probabilities of a multinomial distribution have to sum to 1")
    found = sc.gammaln(n + 1.0) + np.sum(sc.xlogy(x, p) - sc.gammaln(x + 1.0))
    outside = (np.sum(x) != n) | np.any(x < 0)
    return np.where(np.any(p < 0) | (n < 0), np.nan, np.where(outside, -np.inf, found))


decomposition(stats.multinomial.pmf)(lambda x, n, p: np.exp(multinomial_logpmf(x, n, p)))
