"""Draws of NumPy's generators: transforms of draws whose parameters are known, or quantiles.

In: a generator and the arguments of its method. Out: what the method draws, the numbers that NumPy makes of the same
state, with derivatives along the sample. A generator is an argument, which draws when the program runs; or it is
seeded inside and draws while the program is compiled, with parameters that are known then
(`frontend/operations/seeded_generators.py`).

    rng.weibull(a, n)      e = rng.standard_exponential(n);  z = e ** (1 / a)
    rng.beta(a, b, n)      e = rng.beta(a, b, n);            z = beta_quantile(e, a, b)
"""

import numpy as np
from numpy.random import Generator

from adjit.rules.numpy.random import quantiles
from adjit.rules.numpy.random.sampling import check_shuffled, drawn, extents_of, fitted, sized, stretched
from adjit.rules.registry import builtin

effect, general, decomposition = builtin.effect, builtin.general, builtin.decomposition

effect(Generator.random, Generator.standard_normal, Generator.standard_exponential, Generator.standard_cauchy)
effect(Generator.normal, Generator.lognormal, Generator.uniform, Generator.exponential, Generator.laplace)
effect(Generator.logistic, Generator.gumbel, Generator.rayleigh, Generator.weibull, Generator.pareto, Generator.power)
effect(Generator.triangular, Generator.gamma, Generator.standard_gamma, Generator.beta, Generator.chisquare)
effect(Generator.standard_t, Generator.wald, Generator.f, Generator.noncentral_chisquare)
effect(Generator.integers, Generator.binomial, Generator.geometric, Generator.poisson, Generator.zipf)
effect(Generator.logseries, Generator.negative_binomial)
effect(Generator.permutation, Generator.shuffle, Generator.choice)

general(Generator.random)(lambda rng, size=None: sized(rng.random, size))
general(Generator.standard_normal)(lambda rng, size=None: sized(rng.standard_normal, size))
general(Generator.standard_exponential)(lambda rng, size=None: sized(rng.standard_exponential, size))
general(Generator.standard_cauchy)(lambda rng, size=None: sized(rng.standard_cauchy, size))

# ----------------------------------------------------------------------------------------------------------- transforms


@general(Generator.normal)
def normal(rng, loc=0.0, scale=1.0, size=None):
    fixed = rng.standard_normal(extents_of(size, (loc, scale)))
    return stretched(loc, scale, fixed)


@general(Generator.lognormal)
def lognormal(rng, mean=0.0, sigma=1.0, size=None):
    fixed = rng.standard_normal(extents_of(size, (mean, sigma)))
    return np.exp(stretched(mean, sigma, fixed))


@general(Generator.uniform)
def uniform(rng, low=0.0, high=1.0, size=None):
    fixed = rng.random(extents_of(size, (low, high)))
    return stretched(low, high - low, fixed)


@general(Generator.exponential)
def exponential(rng, scale=1.0, size=None):
    fixed = rng.standard_exponential(extents_of(size, (scale,)))
    return fitted(scale, fixed) * fixed


@general(Generator.laplace)
def laplace(rng, loc=0.0, scale=1.0, size=None):
    fixed = drawn(rng.laplace, (0.0, 1.0), extents_of(size, (loc, scale)))
    return stretched(loc, scale, fixed)


@general(Generator.logistic)
def logistic(rng, loc=0.0, scale=1.0, size=None):
    fixed = drawn(rng.logistic, (0.0, 1.0), extents_of(size, (loc, scale)))
    return stretched(loc, scale, fixed)


@general(Generator.gumbel)
def gumbel(rng, loc=0.0, scale=1.0, size=None):
    fixed = rng.random(extents_of(size, (loc, scale)))  # numba has no gumbel
    return stretched(loc, scale, -np.log(-np.log(1.0 - fixed)))


@general(Generator.rayleigh)
def rayleigh(rng, scale=1.0, size=None):
    fixed = drawn(rng.rayleigh, (1.0,), extents_of(size, (scale,)))
    return fitted(scale, fixed) * fixed


@general(Generator.weibull)
def weibull(rng, a, size=None):
    fixed = rng.standard_exponential(extents_of(size, (a,)))
    return fixed ** (1.0 / fitted(a, fixed))


@general(Generator.pareto)
def pareto(rng, a, size=None):
    fixed = rng.standard_exponential(extents_of(size, (a,)))
    return np.expm1(fixed / fitted(a, fixed))


@general(Generator.power)
def power(rng, a, size=None):
    fixed = rng.standard_exponential(extents_of(size, (a,)))
    return (-np.expm1(-fixed)) ** (1.0 / fitted(a, fixed))


@general(Generator.triangular)
def triangular(rng, left, mode, right, size=None):
    u = rng.random(extents_of(size, (left, mode, right)))
    low, high, peak = fitted(left, u), fitted(right, u), fitted(mode, u)
    base = high - low
    rises = u <= (peak - low) / base
    return np.where(
        rises,
        low + np.sqrt(np.where(rises, u * ((peak - low) * base), 1.0)),
        high - np.sqrt(np.where(rises, 1.0, (1.0 - u) * ((high - peak) * base))),
    )


@decomposition(Generator.multivariate_normal)
def multivariate_normal(rng, mean, cov, size=None, method="svd"):
    center = np.asarray(mean)
    extents = (center.size,) if size is None else (*extents_of(size, (0.0,)), center.size)
    fixed = rng.standard_normal(extents)
    if method == "cholesky":
        factor = np.linalg.cholesky(np.asarray(cov))
    elif method == "eigh":
        s, u = np.linalg.eigh(np.asarray(cov))
        factor = u * np.sqrt(s)
    else:
        u, s, _ = np.linalg.svd(np.asarray(cov))
        factor = u * np.sqrt(s)
    return center + fixed @ np.ascontiguousarray(factor.T)


@general(Generator.gamma)
def gamma(rng, shape, scale=1.0, size=None):
    fixed = rng.standard_gamma(shape, extents_of(size, (shape, scale)))
    return fixed * fitted(scale, fixed)


# -------------------------------------------------------------------------------------------------------- as quantiles


@general(Generator.standard_gamma)
def standard_gamma(rng, shape, size=None):
    return quantiles.gamma_quantile(drawn(rng.standard_gamma, (shape,), size), shape, 1.0)


@general(Generator.chisquare)
def chisquare(rng, df, size=None):
    return quantiles.chisquare_quantile(drawn(rng.chisquare, (df,), size), df)


@general(Generator.noncentral_chisquare)
def noncentral_chisquare(rng, df, nonc, size=None):
    return quantiles.noncentral_quantile(drawn(rng.noncentral_chisquare, (df, nonc), size), df, nonc)


@general(Generator.beta)
def beta(rng, a, b, size=None):
    return quantiles.beta_quantile(drawn(rng.beta, (a, b), size), a, b)


@general(Generator.f)
def f(rng, dfnum, dfden, size=None):
    return quantiles.f_quantile(drawn(rng.f, (dfnum, dfden), size), dfnum, dfden)


@general(Generator.standard_t)
def standard_t(rng, df, size=None):
    return quantiles.t_quantile(drawn(rng.standard_t, (df,), size), df)


@general(Generator.wald)
def wald(rng, mean, scale, size=None):
    return quantiles.wald_quantile(drawn(rng.wald, (mean, scale), size), mean, scale)


# ---------------------------------------------------------------------------------------------------------- held fixed


@general(Generator.integers)
def integers(rng, low, high=None, size=None):
    bounds = (0, low) if high is None else (low, high)
    return drawn(rng.integers, bounds, size, np.int64)


general(Generator.poisson)(lambda rng, lam=1.0, size=None: drawn(rng.poisson, (lam,), size, np.int64))
general(Generator.binomial)(lambda rng, n, p, size=None: drawn(rng.binomial, (n, p), size, np.int64))
general(Generator.negative_binomial)(lambda rng, n, p, size=None: drawn(rng.negative_binomial, (n, p), size, np.int64))
general(Generator.geometric)(lambda rng, p, size=None: drawn(rng.geometric, (p,), size, np.int64))
general(Generator.logseries)(lambda rng, p, size=None: drawn(rng.logseries, (p,), size, np.int64))
general(Generator.zipf)(lambda rng, a, size=None: drawn(rng.zipf, (a,), size, np.int64))


# -------------------------------------------------------------------------------------------------- places in an array


@general(Generator.permutation)
def permutation(rng, x):
    return rng.permutation(x) if np.ndim(x) == 0 else x[rng.permutation(x.shape[0])]


@general(Generator.shuffle)
def shuffle(rng, things):
    check_shuffled(things)
    things[:] = things[rng.permutation(things.shape[0])]


@general(Generator.choice)
def choice(rng, a, size=None, replace=True, p=None):
    n = a if np.ndim(a) == 0 else a.shape[0]
    if not replace:
        if p is not None:
            raise NotImplementedError("`choice` with probabilities and without replacement")
        places = rng.choice(n, size, False)
    elif p is None:
        places = rng.integers(0, n, size)
    else:
        cumulated = np.cumsum(p)
        places = np.searchsorted(cumulated / cumulated[-1], rng.random(size), "right")
    return places if np.ndim(a) == 0 else a[places]
