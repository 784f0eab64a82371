"""The distributions of scipy.stats that models are made of, in terms of special functions.

In: the arguments of a density, a distribution function or a quantile. Out: its value; outside of the support that of
SciPy, and nan for a scale or a shape that is not positive.

    stats.norm.logpdf(x, loc, scale)      y = (x - loc) / scale;  -0.5 * y * y - log(sqrt(2 pi)) - log(scale)
"""

import numpy as np
import scipy.special as sc
import scipy.stats as stats

from adjit.rules.registry import builtin

decomposition = builtin.decomposition

HALF_LOG_TWO_PI, LOG_PI, LOG_TWO = 0.9189385332046728, 1.1447298858494002, 0.6931471805599453


def positive(s):
    return np.where(s > 0, s, np.nan)


def valid(value, shape):
    """What is so whatever the shape, if that is one."""
    return np.where(shape > 0, value, np.nan)


def standard(x, loc, scale):
    return (x - loc) / positive(scale)


# ---------------------------------------------------------------------------------------------------- on the whole line


def density(logarithm):
    """The density with this logarithm; where that is -inf, at an end of the support or beyond, it is held at zero."""
    if np.ndim(logarithm) == 0:
        return 0.0 if logarithm == -np.inf else np.exp(logarithm)
    return np.where(logarithm == -np.inf, 0.0, np.exp(logarithm))


def norm_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return -0.5 * y * y - HALF_LOG_TWO_PI - np.log(scale)


decomposition(stats.norm.logpdf)(norm_logpdf)
decomposition(stats.norm.pdf)(lambda x, loc=0.0, scale=1.0: np.exp(norm_logpdf(x, loc, scale)))


def norm_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.ndtr(y)


def norm_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.ndtr(-y)


decomposition(stats.norm.cdf)(norm_cdf)
decomposition(stats.norm.sf)(norm_sf)
decomposition(stats.norm.logcdf)(lambda x, loc=0.0, scale=1.0: sc.log_ndtr(standard(x, loc, scale)))
decomposition(stats.norm.logsf)(lambda x, loc=0.0, scale=1.0: sc.log_ndtr(-standard(x, loc, scale)))
decomposition(stats.norm.ppf)(lambda q, loc=0.0, scale=1.0: loc + positive(scale) * sc.ndtri(q))


def t_logpdf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    size = sc.betaln(0.5 * positive(df), 0.5) + 0.5 * np.log(df) + np.log(scale)
    return -0.5 * (df + 1) * np.log1p(y * y / df) - size


decomposition(stats.t.logpdf)(t_logpdf)
decomposition(stats.t.pdf)(lambda x, df, loc=0.0, scale=1.0: np.exp(t_logpdf(x, df, loc, scale)))


def t_cdf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.stdtr(df, y)


def t_sf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.stdtr(df, -y)


decomposition(stats.t.cdf)(t_cdf)
decomposition(stats.t.sf)(t_sf)
decomposition(stats.t.logcdf)(lambda x, df, loc=0.0, scale=1.0: np.log(t_cdf(x, df, loc, scale)))
decomposition(stats.t.logsf)(lambda x, df, loc=0.0, scale=1.0: np.log(t_sf(x, df, loc, scale)))
decomposition(stats.t.ppf)(lambda q, df, loc=0.0, scale=1.0: loc + positive(scale) * sc.stdtrit(df, q))


def cauchy_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return -LOG_PI - np.log1p(y * y) - np.log(scale)


decomposition(stats.cauchy.logpdf)(cauchy_logpdf)
decomposition(stats.cauchy.pdf)(lambda x, loc=0.0, scale=1.0: np.exp(cauchy_logpdf(x, loc, scale)))


def cauchy_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.arctan2(1.0, -y) / np.pi


def cauchy_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.arctan2(1.0, y) / np.pi


decomposition(stats.cauchy.cdf)(cauchy_cdf)
decomposition(stats.cauchy.sf)(cauchy_sf)
decomposition(stats.cauchy.logcdf)(lambda x, loc=0.0, scale=1.0: np.log(cauchy_cdf(x, loc, scale)))
decomposition(stats.cauchy.logsf)(lambda x, loc=0.0, scale=1.0: np.log(cauchy_sf(x, loc, scale)))
decomposition(stats.cauchy.ppf)(lambda q, loc=0.0, scale=1.0: loc + positive(scale) * np.tan(np.pi * (q - 0.5)))


def laplace_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return -LOG_TWO - np.abs(y) - np.log(scale)


decomposition(stats.laplace.logpdf)(laplace_logpdf)
decomposition(stats.laplace.pdf)(lambda x, loc=0.0, scale=1.0: np.exp(laplace_logpdf(x, loc, scale)))


def laplace_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y > 0, 1 - 0.5 * np.exp(-y), 0.5 * np.exp(y))


def laplace_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y > 0, 0.5 * np.exp(-y), 1 - 0.5 * np.exp(y))


decomposition(stats.laplace.cdf)(laplace_cdf)
decomposition(stats.laplace.sf)(laplace_sf)


def laplace_logcdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y > 0, np.log1p(-0.5 * np.exp(-y)), y - LOG_TWO)


def laplace_logsf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y > 0, -y - LOG_TWO, np.log1p(-0.5 * np.exp(y)))


decomposition(stats.laplace.logcdf)(laplace_logcdf)
decomposition(stats.laplace.logsf)(laplace_logsf)


def laplace_ppf(q, loc=0.0, scale=1.0):
    return loc + positive(scale) * np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q))


decomposition(stats.laplace.ppf)(laplace_ppf)


def logistic_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.log_expit(y) + sc.log_expit(-y) - np.log(scale)


decomposition(stats.logistic.logpdf)(logistic_logpdf)
decomposition(stats.logistic.pdf)(lambda x, loc=0.0, scale=1.0: np.exp(logistic_logpdf(x, loc, scale)))


def logistic_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.expit(y)


def logistic_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return sc.expit(-y)


decomposition(stats.logistic.cdf)(logistic_cdf)
decomposition(stats.logistic.sf)(logistic_sf)
decomposition(stats.logistic.logcdf)(lambda x, loc=0.0, scale=1.0: sc.log_expit(standard(x, loc, scale)))
decomposition(stats.logistic.logsf)(lambda x, loc=0.0, scale=1.0: sc.log_expit(-standard(x, loc, scale)))
decomposition(stats.logistic.ppf)(lambda q, loc=0.0, scale=1.0: loc + positive(scale) * sc.logit(q))


# --------------------------------------------------------------------------------------- on a half line, or an interval


def expon_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y < 0, -np.inf, -y - np.log(scale))


decomposition(stats.expon.logpdf)(expon_logpdf)
decomposition(stats.expon.pdf)(lambda x, loc=0.0, scale=1.0: density(expon_logpdf(x, loc, scale)))


def expon_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, 0.0, -np.expm1(-y))


def expon_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, 1.0, np.exp(-y))


decomposition(stats.expon.cdf)(expon_cdf)
decomposition(stats.expon.sf)(expon_sf)


def expon_logcdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, -np.inf, np.log(-np.expm1(-y)))


def expon_logsf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, 0.0, -y)


decomposition(stats.expon.logcdf)(expon_logcdf)
decomposition(stats.expon.logsf)(expon_logsf)
decomposition(stats.expon.ppf)(lambda q, loc=0.0, scale=1.0: loc + positive(scale) * -np.log1p(-q))


def gamma_logpdf(x, a, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    inside = sc.xlogy(positive(a) - 1, y) - y - sc.gammaln(a) - np.log(scale)
    return np.where(y < 0, valid(-np.inf, a), inside)


decomposition(stats.gamma.logpdf)(gamma_logpdf)
decomposition(stats.gamma.pdf)(lambda x, a, loc=0.0, scale=1.0: density(gamma_logpdf(x, a, loc, scale)))


def gamma_cdf(x, a, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(0.0, a), sc.gammainc(a, y))


def gamma_sf(x, a, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(1.0, a), sc.gammaincc(a, y))


decomposition(stats.gamma.cdf)(gamma_cdf)
decomposition(stats.gamma.sf)(gamma_sf)
decomposition(stats.gamma.logcdf)(lambda x, a, loc=0.0, scale=1.0: np.log(gamma_cdf(x, a, loc, scale)))
decomposition(stats.gamma.logsf)(lambda x, a, loc=0.0, scale=1.0: np.log(gamma_sf(x, a, loc, scale)))
decomposition(stats.gamma.ppf)(lambda q, a, loc=0.0, scale=1.0: loc + positive(scale) * sc.gammaincinv(a, q))


def chi2_logpdf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    half = 0.5 * positive(df)
    inside = sc.xlogy(half - 1, y) - 0.5 * y - sc.gammaln(half) - half * LOG_TWO - np.log(scale)
    return np.where(y < 0, valid(-np.inf, df), inside)


decomposition(stats.chi2.logpdf)(chi2_logpdf)
decomposition(stats.chi2.pdf)(lambda x, df, loc=0.0, scale=1.0: density(chi2_logpdf(x, df, loc, scale)))


def chi2_cdf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(0.0, df), sc.gammainc(0.5 * df, 0.5 * y))


def chi2_sf(x, df, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(1.0, df), sc.gammaincc(0.5 * df, 0.5 * y))


decomposition(stats.chi2.cdf)(chi2_cdf)
decomposition(stats.chi2.sf)(chi2_sf)
decomposition(stats.chi2.logcdf)(lambda x, df, loc=0.0, scale=1.0: np.log(chi2_cdf(x, df, loc, scale)))
decomposition(stats.chi2.logsf)(lambda x, df, loc=0.0, scale=1.0: np.log(chi2_sf(x, df, loc, scale)))


def chi2_ppf(q, df, loc=0.0, scale=1.0):
    return loc + positive(scale) * 2 * sc.gammaincinv(0.5 * df, q)


decomposition(stats.chi2.ppf)(chi2_ppf)


def lognorm_logpdf(x, s, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    inside = -0.5 * (np.log(y) / positive(s)) ** 2 - np.log(s * y) - HALF_LOG_TWO_PI - np.log(scale)
    return np.where(y <= 0, valid(-np.inf, s), inside)


decomposition(stats.lognorm.logpdf)(lognorm_logpdf)
decomposition(stats.lognorm.pdf)(lambda x, s, loc=0.0, scale=1.0: density(lognorm_logpdf(x, s, loc, scale)))


def lognorm_cdf(x, s, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(0.0, s), sc.ndtr(np.log(y) / positive(s)))


def lognorm_sf(x, s, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(1.0, s), sc.ndtr(-np.log(y) / positive(s)))


decomposition(stats.lognorm.cdf)(lognorm_cdf)
decomposition(stats.lognorm.sf)(lognorm_sf)


def lognorm_logcdf(x, s, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(-np.inf, s), sc.log_ndtr(np.log(y) / positive(s)))


def lognorm_logsf(x, s, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(0.0, s), sc.log_ndtr(-np.log(y) / positive(s)))


decomposition(stats.lognorm.logcdf)(lognorm_logcdf)
decomposition(stats.lognorm.logsf)(lognorm_logsf)


def lognorm_ppf(q, s, loc=0.0, scale=1.0):
    return loc + positive(scale) * np.exp(positive(s) * sc.ndtri(q))


decomposition(stats.lognorm.ppf)(lognorm_ppf)


def beta_logpdf(x, a, b, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    inside = sc.xlogy(positive(a) - 1, y) + sc.xlog1py(positive(b) - 1, -y) - sc.betaln(a, b) - np.log(scale)
    return np.where((y < 0) | (y > 1), valid(valid(-np.inf, a), b), inside)


decomposition(stats.beta.logpdf)(beta_logpdf)
decomposition(stats.beta.pdf)(lambda x, a, b, loc=0.0, scale=1.0: density(beta_logpdf(x, a, b, loc, scale)))


def beta_cdf(x, a, b, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(valid(0.0, a), b), np.where(y >= 1, valid(valid(1.0, a), b), sc.betainc(a, b, y)))


def beta_sf(x, a, b, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, valid(valid(1.0, a), b), np.where(y >= 1, valid(valid(0.0, a), b), sc.betaincc(a, b, y)))


decomposition(stats.beta.cdf)(beta_cdf)
decomposition(stats.beta.sf)(beta_sf)
decomposition(stats.beta.logcdf)(lambda x, a, b, loc=0.0, scale=1.0: np.log(beta_cdf(x, a, b, loc, scale)))
decomposition(stats.beta.logsf)(lambda x, a, b, loc=0.0, scale=1.0: np.log(beta_sf(x, a, b, loc, scale)))
decomposition(stats.beta.ppf)(lambda q, a, b, loc=0.0, scale=1.0: loc + positive(scale) * sc.betaincinv(a, b, q))


def uniform_logpdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where((y < 0) | (y > 1), -np.inf, 0 * y - np.log(scale))


decomposition(stats.uniform.logpdf)(uniform_logpdf)
decomposition(stats.uniform.pdf)(lambda x, loc=0.0, scale=1.0: density(uniform_logpdf(x, loc, scale)))


def uniform_cdf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, 0.0, np.where(y >= 1, 1.0, y))


def uniform_sf(x, loc=0.0, scale=1.0):
    y = standard(x, loc, scale)
    return np.where(y <= 0, 1.0, np.where(y >= 1, 0.0, 1 - y))


decomposition(stats.uniform.cdf)(uniform_cdf)
decomposition(stats.uniform.sf)(uniform_sf)
decomposition(stats.uniform.logcdf)(lambda x, loc=0.0, scale=1.0: np.log(uniform_cdf(x, loc, scale)))
decomposition(stats.uniform.logsf)(lambda x, loc=0.0, scale=1.0: np.log(uniform_sf(x, loc, scale)))


def uniform_ppf(q, loc=0.0, scale=1.0):
    return loc + positive(scale) * np.where((q >= 0) & (q <= 1), q, np.nan)


decomposition(stats.uniform.ppf)(uniform_ppf)

# ------------------------------------------------------------------------------------------------------------ of counts


def poisson_logpmf(k, mu, loc=0.0):
    n = k - loc
    found = sc.xlogy(n, mu) - sc.gammaln(n + 1) - mu
    return np.where(mu >= 0, np.where((n < 0) | (n > np.floor(n)), -np.inf, found), np.nan)


def binom_logpmf(k, n, p, loc=0.0):
    m = k - loc
    ways = sc.gammaln(n + 1) - sc.gammaln(m + 1) - sc.gammaln(n - m + 1)
    found = ways + sc.xlogy(m, p) + sc.xlog1py(n - m, -p)
    inside = np.where((m < 0) | (m > n) | (m > np.floor(m)), -np.inf, found)
    return np.where((n >= 0) & (n == np.floor(n)) & (p >= 0) & (p <= 1), inside, np.nan)


decomposition(stats.poisson.logpmf)(poisson_logpmf)
decomposition(stats.poisson.pmf)(lambda k, mu, loc=0.0: np.exp(poisson_logpmf(k, mu, loc)))
decomposition(stats.binom.logpmf)(binom_logpmf)
decomposition(stats.binom.pmf)(lambda k, n, p, loc=0.0: np.exp(binom_logpmf(k, n, p, loc)))

# ----------------------------------------------------------------------------------------------------------- of vectors


def multivariate_normal_logpdf(x, mean, cov):
    if np.ndim(mean) != 1 or np.ndim(cov) != 2:
        raise NotImplementedError("multivariate_normal with a mean that is not a vector, or a cov that is not a matrix")
    # of both triangles, so that the derivative is symmetric; of what is not positive definite there is no factor
    factor = np.linalg.cholesky(0.5 * (cov + cov.T))
    offsets = x - mean
    half = np.linalg.solve(factor, offsets.T)
    squares = np.sum(half * half, axis=0)
    return -0.5 * squares - np.sum(np.log(np.diag(factor))) - mean.size * HALF_LOG_TWO_PI


decomposition(stats.multivariate_normal.logpdf)(multivariate_normal_logpdf)
decomposition(stats.multivariate_normal.pdf)(lambda x, mean, cov: np.exp(multivariate_normal_logpdf(x, mean, cov)))
