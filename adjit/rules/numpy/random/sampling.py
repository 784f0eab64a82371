"""Random draws: each runs once, in order, and is never drawn again in a reverse sweep.

In: the parameters of a distribution, numbers or arrays, and a size. Out: the draw, the one that numba or NumPy makes,
with derivatives along the sample. A location and a scale shift and stretch a fixed draw; with its other parameters a
draw moves as the quantile that it is (`quantiles.py`). Discrete draws, and places in arrays, are held fixed.

    z = np.random.normal(m, s)      e = np.random.standard_normal();  z = m + s * e
    z = np.random.gamma(a, s)       e = np.random.gamma(a, s);        z = gamma_quantile(e, a, s)
"""

import math
import random

import numpy as np

from adjit.rules.numpy.axes import product
from adjit.rules.numpy.random import quantiles
from adjit.rules.registry import builtin

effect, general, decomposition = builtin.effect, builtin.general, builtin.decomposition

effect(np.random.seed, np.random.rand, np.random.randn, np.random.random, np.random.random_sample, np.random.sample)
effect(np.random.ranf, np.random.standard_normal, np.random.standard_exponential, np.random.standard_cauchy)
effect(random.seed, random.random, random.getrandbits, random.randrange, random.randint)

effect(np.random.laplace, np.random.logistic, np.random.gumbel, np.random.rayleigh, np.random.weibull)
effect(np.random.pareto, np.random.power, np.random.triangular, np.random.gamma, np.random.standard_gamma)
effect(np.random.beta, np.random.chisquare, np.random.standard_t, np.random.vonmises, np.random.wald, np.random.f)
effect(np.random.noncentral_chisquare, random.gauss, random.normalvariate, random.triangular, random.gammavariate)
effect(random.betavariate, random.paretovariate, random.weibullvariate, random.vonmisesvariate)

effect(np.random.randint, np.random.binomial, np.random.geometric, np.random.hypergeometric, np.random.logseries)
effect(np.random.multinomial, np.random.negative_binomial, np.random.poisson, np.random.zipf)
effect(np.random.permutation, np.random.choice)


# ------------------------------------------------------------------------------------------------------------ of a size


def extents_of(size, params):
    """The shape of what is drawn: the size, or that of the parameters together; None of one number."""
    if size is None:
        together = params[0]
        for p in params[1:]:
            together = together + p
        return None if np.ndim(together) == 0 else together.shape
    return size if isinstance(size, tuple) else (size,)


def shaped(flat, extents):
    return flat if len(extents) == 1 else flat.reshape(extents)


def standard(draw, params, size):
    """`draw()`, once for each element of what `params` shift and stretch it to."""
    extents = extents_of(size, params)
    return draw() if extents is None else draw(extents)


def sized(draw, size):
    """`draw(size)` of whatever size."""
    if size is None:
        return draw()
    extents = extents_of(size, (0.0,))
    return shaped(draw(product(extents)), extents)


def drawn(draw, params, size, dtype=np.float64):
    """`draw(*params)` of numbers, or of arrays, element after element as in NumPy."""
    extents = extents_of(size, params)
    if extents is None:
        return draw(*params)
    n = product(extents)
    if all(np.ndim(p) == 0 for p in params):
        return shaped(draw(*params, n), extents)
    return one_by_one(draw, params, extents, dtype)


def one_by_one(draw, params, extents, dtype):
    flat = np.empty(product(extents), dtype)
    rows = tuple(np.broadcast_to(p, extents).ravel() for p in params)
    for k in range(flat.size):
        flat[k] = draw(*tuple(row[k] for row in rows))
    return shaped(flat, extents)


general(np.random.random)(lambda size=None: sized(np.random.random, size))
general(np.random.random_sample)(lambda size=None: sized(np.random.random_sample, size))
general(np.random.sample)(lambda size=None: sized(np.random.sample, size))
general(np.random.ranf)(lambda size=None: sized(np.random.ranf, size))
general(np.random.standard_normal)(lambda size=None: sized(np.random.standard_normal, size))
general(np.random.standard_exponential)(lambda size=None: sized(np.random.standard_exponential, size))
general(np.random.standard_cauchy)(lambda size=None: sized(np.random.standard_cauchy, size))

# --------------------------------------------------------------------------------------------------- shifted, stretched


def fitted(parameter, fixed):
    """A number as it is; an array as NumPy takes one, each element for as many draws as its shape leaves free."""
    return parameter if np.ndim(parameter) == 0 else np.broadcast_to(parameter, fixed.shape)


def stretched(loc, scale, fixed):
    return fitted(loc, fixed) + fitted(scale, fixed) * fixed


@decomposition(np.random.normal)
def normal(loc=0.0, scale=1.0, size=None):
    return stretched(loc, scale, standard(np.random.standard_normal, (loc, scale), size))


@decomposition(np.random.lognormal)
def lognormal(mean=0.0, sigma=1.0, size=None):
    return np.exp(stretched(mean, sigma, standard(np.random.standard_normal, (mean, sigma), size)))


@decomposition(np.random.uniform)
def uniform(low=0.0, high=1.0, size=None):
    return stretched(low, high - low, standard(np.random.random, (low, high), size))


@decomposition(np.random.exponential)
def exponential(scale=1.0, size=None):
    fixed = standard(np.random.standard_exponential, (scale,), size)
    return fixed * fitted(scale, fixed)


@decomposition(np.random.multivariate_normal)
def multivariate_normal(mean, cov, size=None):
    center = np.asarray(mean)
    extents = (center.size,) if size is None else (*extents_of(size, (0.0,)), center.size)
    fixed = np.random.standard_normal(extents)
    _, s, vh = np.linalg.svd(np.asarray(cov))
    return fixed @ (np.sqrt(s)[:, np.newaxis] * vh) + center


def around_zero(draw, params, size):
    """`draw(0, 1)`, once for each element of what the location and the scale make of it."""
    extents = extents_of(size, params)
    return draw(0.0, 1.0) if extents is None else shaped(draw(0.0, 1.0, product(extents)), extents)


@general(np.random.laplace)
def laplace(loc=0.0, scale=1.0, size=None):
    return stretched(loc, scale, around_zero(np.random.laplace, (loc, scale), size))


@general(np.random.logistic)
def logistic(loc=0.0, scale=1.0, size=None):
    return stretched(loc, scale, around_zero(np.random.logistic, (loc, scale), size))


@general(np.random.gumbel)
def gumbel(loc=0.0, scale=1.0, size=None):
    return stretched(loc, scale, around_zero(np.random.gumbel, (loc, scale), size))


@decomposition(random.uniform)
def uniform_between(a, b):
    return a + (b - a) * random.random()


@decomposition(random.expovariate)
def exponential_of_rate(lambd=1.0):
    return -math.log(1.0 - random.random()) / lambd


general(random.gauss)(lambda mu=0.0, sigma=1.0: mu + sigma * random.gauss(0.0, 1.0))
general(random.normalvariate)(lambda mu=0.0, sigma=1.0: mu + sigma * random.normalvariate(0.0, 1.0))


@decomposition(random.lognormvariate)
def lognormal_number(mu=0.0, sigma=1.0):
    return math.exp(mu + sigma * random.normalvariate(0.0, 1.0))


# ------------------------------------------------------------------------------------------------------- as quantiles


@general(np.random.rayleigh)
def rayleigh(scale=1.0, size=None):
    return quantiles.scaled_quantile(drawn(np.random.rayleigh, (scale,), size), scale)


@general(np.random.weibull)
def weibull(a, size=None):
    return quantiles.power_quantile(drawn(np.random.weibull, (a,), size), a)


@general(np.random.power)
def power(a, size=None):
    return quantiles.power_quantile(drawn(np.random.power, (a,), size), a)


@general(np.random.pareto)
def pareto(a, size=None):
    return quantiles.lomax_quantile(drawn(np.random.pareto, (a,), size), a)


@general(np.random.triangular)
def triangular(left, mode, right, size=None):
    found = drawn(np.random.triangular, (left, mode, right), size)
    return quantiles.triangular_quantile(found, left, mode, right)


@general(np.random.gamma)
def gamma(shape, scale=1.0, size=None):
    return quantiles.gamma_quantile(drawn(np.random.gamma, (shape, scale), size), shape, scale)


@general(np.random.standard_gamma)
def standard_gamma(shape, size=None):
    return quantiles.gamma_quantile(drawn(np.random.standard_gamma, (shape,), size), shape, 1.0)


@general(np.random.chisquare)
def chisquare(df, size=None):
    return quantiles.chisquare_quantile(drawn(np.random.chisquare, (df,), size), df)


@general(np.random.noncentral_chisquare)
def noncentral_chisquare(df, nonc, size=None):
    return quantiles.noncentral_quantile(drawn(np.random.noncentral_chisquare, (df, nonc), size), df, nonc)


@general(np.random.beta)
def beta(a, b, size=None):
    return quantiles.beta_quantile(drawn(np.random.beta, (a, b), size), a, b)


@general(np.random.f)
def f(dfnum, dfden, size=None):
    return quantiles.f_quantile(drawn(np.random.f, (dfnum, dfden), size), dfnum, dfden)


@general(np.random.standard_t)
def standard_t(df, size=None):
    return quantiles.t_quantile(drawn(np.random.standard_t, (df,), size), df)


@general(np.random.vonmises)
def vonmises(mu, kappa, size=None):
    return quantiles.vonmises_quantile(drawn(np.random.vonmises, (mu, kappa), size), mu, kappa)


@general(np.random.wald)
def wald(mean, scale, size=None):
    return quantiles.wald_quantile(drawn(np.random.wald, (mean, scale), size), mean, scale)


@decomposition(np.random.dirichlet)
def dirichlet(alpha, size=None):
    # so do NumPy and numba: one gamma draw each, over their sum
    shapes = np.asarray(alpha)
    extents = shapes.shape if size is None else (*size, shapes.size) if isinstance(size, tuple) else (size, shapes.size)
    drops = np.random.standard_gamma(shapes, extents)
    return drops / np.sum(drops, axis=-1, keepdims=True)


@general(random.triangular)
def triangular_number(low=0.0, high=1.0, mode=None):
    if mode is None:
        return quantiles.triangular_quantile(random.triangular(low, high), low, 0.5 * (low + high), high)
    return quantiles.triangular_quantile(random.triangular(low, high, mode), low, mode, high)


@general(random.gammavariate)
def gamma_number(alpha, beta):
    return quantiles.gamma_quantile(random.gammavariate(alpha, beta), alpha, beta)


@general(random.betavariate)
def beta_number(alpha, beta):
    return quantiles.beta_quantile(random.betavariate(alpha, beta), alpha, beta)


@general(random.paretovariate)
def pareto_number(alpha):
    return quantiles.pareto_quantile(random.paretovariate(alpha), alpha)


@general(random.weibullvariate)
def weibull_number(alpha, beta):
    return quantiles.weibull_quantile(random.weibullvariate(alpha, beta), alpha, beta)


@general(random.vonmisesvariate)
def vonmises_number(mu, kappa):
    return quantiles.vonmises_quantile(random.vonmisesvariate(mu, kappa), mu, kappa)


# ---------------------------------------------------------------------------------------------------------- held fixed


@general(np.random.randint)
def randint(low, high=None, size=None):
    if high is None:
        return drawn(np.random.randint, (0, low), size, np.int64)
    return drawn(np.random.randint, (low, high), size, np.int64)


general(np.random.poisson)(lambda lam=1.0, size=None: drawn(np.random.poisson, (lam,), size, np.int64))
general(np.random.binomial)(lambda n, p, size=None: drawn(np.random.binomial, (n, p), size, np.int64))
general(np.random.geometric)(lambda p, size=None: drawn(np.random.geometric, (p,), size, np.int64))
general(np.random.logseries)(lambda p, size=None: drawn(np.random.logseries, (p,), size, np.int64))
general(np.random.zipf)(lambda a, size=None: drawn(np.random.zipf, (a,), size, np.int64))


@general(np.random.hypergeometric)
def hypergeometric(ngood, nbad, nsample, size=None):
    return drawn(np.random.hypergeometric, (ngood, nbad, nsample), size, np.int64)


@general(np.random.negative_binomial)
def negative_binomial(n, p, size=None):
    # numba draws one at a time
    extents = extents_of(size, (n, p))
    if extents is None:
        return np.random.negative_binomial(n, p)
    return one_by_one(np.random.negative_binomial, (n, p), extents, np.int64)


@general(np.random.multinomial)
def multinomial(n, pvals, size=None):
    weights = np.asarray(pvals)
    if size is None:
        return np.random.multinomial(n, weights)
    extents = extents_of(size, (0.0,))
    return shaped(np.random.multinomial(n, weights, product(extents)), (*extents, weights.size))


# -------------------------------------------------------------------------------------------------- places in an array


@general(np.random.permutation)
def permutation(x):
    return np.random.permutation(x) if np.ndim(x) == 0 else x[np.random.permutation(x.shape[0])]


def check_shuffled(things):
    if not isinstance(things, np.ndarray):
        raise NotImplementedError("the shuffling of a list in place, instead of an array")


@decomposition(np.random.shuffle)
def shuffle(things):
    check_shuffled(things)
    things[:] = things[np.random.permutation(things.shape[0])]


@general(np.random.choice)
def choice(a, size=None, replace=True, p=None):
    if np.ndim(a) > 1:
        raise NotImplementedError("np.random.choice of an array that is not a vector")
    if p is not None and not replace:
        raise NotImplementedError("np.random.choice with probabilities and without replacement")
    n = a if np.ndim(a) == 0 else a.size
    if p is not None:
        cumulated = np.cumsum(p)
        places = np.searchsorted(cumulated / cumulated[-1], np.random.random(size), "right")
    elif size is None:
        places = np.random.choice(n)
    else:
        extents = extents_of(size, (0.0,))
        places = shaped(np.random.choice(n, product(extents), replace), extents)
    return places if np.ndim(a) == 0 else a[places]


@decomposition(random.shuffle)
def shuffle_by_swaps(things):
    check_shuffled(things)
    places = np.arange(things.shape[0])
    for i in range(places.size - 1, 0, -1):
        j = random.randrange(i + 1)
        places[i], places[j] = places[j], places[i]
    things[:] = things[places]


@decomposition(random.choice)
def choice_of_one(seq):
    return seq[random.randrange(len(seq))]
