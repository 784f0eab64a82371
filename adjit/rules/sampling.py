"""Random draws: each runs once, in order, and is never drawn again in a reverse sweep.

In: the parameters of a distribution. Out: the draw, shifted and scaled from a fixed distribution where that is what
numba computes, so that the parameters have derivatives along the sample. The rest may not depend on anything active.

    z = np.random.normal(m, s)      e = np.random.standard_normal();  z = m + s * e
"""

import math
import random

import numpy as np

from adjit.rules.registry import builtin

effect, decomposition = builtin.effect, builtin.decomposition

effect(np.random.seed, np.random.random, np.random.random_sample, np.random.sample, np.random.ranf, np.random.rand)
effect(np.random.randn, np.random.standard_normal, np.random.standard_exponential, np.random.standard_cauchy)
effect(np.random.randint, random.seed, random.random, random.getrandbits, random.randrange, random.randint)

effect(np.random.shuffle, np.random.permutation, np.random.choice, random.shuffle, constant=False)
effect(np.random.beta, np.random.binomial, np.random.chisquare, np.random.dirichlet, np.random.f, constant=False)
effect(np.random.gamma, np.random.geometric, np.random.gumbel, np.random.hypergeometric, constant=False)
effect(np.random.laplace, np.random.logistic, np.random.lognormal, np.random.logseries, constant=False)
effect(np.random.multinomial, np.random.negative_binomial, np.random.noncentral_chisquare, constant=False)
effect(np.random.pareto, np.random.poisson, np.random.power, np.random.rayleigh, constant=False)
effect(np.random.standard_gamma, np.random.standard_t, np.random.triangular, np.random.vonmises, constant=False)
effect(np.random.wald, np.random.weibull, np.random.zipf, constant=False)
effect(random.gauss, random.normalvariate, random.triangular, random.gammavariate, random.betavariate, constant=False)
effect(random.lognormvariate, random.paretovariate, random.weibullvariate, random.vonmisesvariate, constant=False)


@decomposition(np.random.normal)
def normal(loc=0.0, scale=1.0, size=None):
    if size is None:
        return loc + scale * np.random.standard_normal()
    return loc + scale * np.random.standard_normal(size)


@decomposition(np.random.uniform)
def uniform(low=0.0, high=1.0, size=None):
    if size is None:
        return low + (high - low) * np.random.random()
    return low + (high - low) * np.random.random(size)


@decomposition(np.random.exponential)
def exponential(scale=1.0, size=None):
    if size is None:
        return np.random.standard_exponential() * scale
    return np.random.standard_exponential(size) * scale


@decomposition(random.uniform)
def uniform_between(a, b):
    return a + (b - a) * random.random()


@decomposition(random.expovariate)
def exponential_of_rate(lambd):
    return -math.log(1.0 - random.random()) / lambd
