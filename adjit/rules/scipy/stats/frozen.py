"""Frozen distributions of scipy.stats: a distribution, and what its methods are called with.

In: a call of a distribution, or one that was frozen outside. Out: an object with its methods, which are those of the
distribution.

    stats.norm(loc, scale).logpdf(x)      stats.norm.logpdf(x, loc, scale)
"""

from dataclasses import dataclass
from typing import Any

import scipy.stats as stats

from adjit.rules.registry import builtin

decomposition = builtin.decomposition


@dataclass(frozen=True, eq=False)
class Frozen:
    dist: Any
    args: Any
    kwds: Any

    def pdf(self, x):
        return self.dist.pdf(x, *self.args, **self.kwds)

    def logpdf(self, x):
        return self.dist.logpdf(x, *self.args, **self.kwds)

    def pmf(self, k):
        return self.dist.pmf(k, *self.args, **self.kwds)

    def logpmf(self, k):
        return self.dist.logpmf(k, *self.args, **self.kwds)

    def cdf(self, x):
        return self.dist.cdf(x, *self.args, **self.kwds)

    def logcdf(self, x):
        return self.dist.logcdf(x, *self.args, **self.kwds)

    def sf(self, x):
        return self.dist.sf(x, *self.args, **self.kwds)

    def logsf(self, x):
        return self.dist.logsf(x, *self.args, **self.kwds)

    def ppf(self, q):
        return self.dist.ppf(q, *self.args, **self.kwds)

    def isf(self, q):
        return self.dist.isf(q, *self.args, **self.kwds)

    def mean(self):
        return self.dist.mean(*self.args, **self.kwds)

    def median(self):
        return self.dist.median(*self.args, **self.kwds)

    def var(self):
        return self.dist.var(*self.args, **self.kwds)

    def std(self):
        return self.dist.std(*self.args, **self.kwds)

    def entropy(self):
        return self.dist.entropy(*self.args, **self.kwds)

    def rvs(self, *given, **named):
        return self.dist.rvs(*given, **named)


class FrozenDiscrete(Frozen):
    pass


builtin.stands_for(type(stats.norm()), Frozen)
builtin.stands_for(type(stats.poisson(1)), FrozenDiscrete)


# the method of all of them
@decomposition(type(stats.norm).__call__)
def frozen(self, *args, **kwds):
    if isinstance(self, stats.rv_discrete):
        return FrozenDiscrete(self, args, kwds)
    return Frozen(self, args, kwds)


@dataclass(frozen=True, eq=False)
class FrozenGaussian:
    mean: Any
    cov: Any

    def logpdf(self, x):
        return stats.multivariate_normal.logpdf(x, self.mean, self.cov)

    def pdf(self, x):
        return stats.multivariate_normal.pdf(x, self.mean, self.cov)

    def rvs(self, *given, **named):
        return stats.multivariate_normal.rvs(*given, **named)


builtin.stands_for(type(stats.multivariate_normal([0.0])), FrozenGaussian)


@decomposition(type(stats.multivariate_normal).__call__)
def frozen_gaussian(self, mean, cov):
    return FrozenGaussian(mean, cov)


# ----------------------------------------------------------------------------------------------------- what is refused

ALL = tuple(one for one in vars(stats).values() if isinstance(one, (stats.rv_continuous, stats.rv_discrete)))


@decomposition(*(one.rvs for one in ALL), stats.multivariate_normal.rvs)
def drawn(*given, **named):
    raise NotImplementedError("draws by scipy.stats: draw with np.random or a Generator, as rng.normal(loc, scale)")


SUMMARIES = ("fit", "expect", "interval", "moment", "stats")


@decomposition(*(getattr(one, name) for one in ALL for name in SUMMARIES if hasattr(one, name)))
def summarised(*given, **named):
    raise NotImplementedError("this method of a distribution: adjit knows pdf, cdf, sf, ppf and their logarithms")
