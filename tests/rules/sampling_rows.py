"""Rows of the rule table for random draws that are continuous in their parameters for a given seed.

Those that reject numbers on their way are in test_sampling.py, as they are not.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from adjit.rules.numpy.random import quantiles
from tests.rules.rows import (
    Row,
    above_one,
    array,
    drawn_times,
    numbers,
    positive,
    positive_array,
    real,
    seeded,
    unit,
    vector,
)


def draw(callee: Any, function: Any, *domains: Any, note: str = "") -> Row:
    return Row(callee, seeded(function), numbers(*domains), tuple(range(len(domains))), frozenset({"effect"}), note)


# Draws without a parameter are drawn once; those with parameters have derivatives along the sample.
DRAWS: list[Row] = [
    *[
        Row(c, drawn_times(c), numbers(real), (0,), frozenset({"effect"}))
        for c in (
            np.random.random,
            np.random.random_sample,
            np.random.sample,
            np.random.ranf,
            np.random.rand,
            np.random.randn,
            np.random.standard_normal,
            np.random.standard_exponential,
            np.random.standard_cauchy,
            random.random,
        )
    ],
    draw(np.random.random, lambda x: np.random.random((2, 3)) * x, array(2, 3), note="shape"),
    draw(np.random.standard_normal, lambda x: np.random.standard_normal(size=3) * x, vector(3), note="size"),
    draw(np.random.normal, lambda m, s: np.random.normal(m, s), real, positive),
    draw(np.random.normal, lambda m, s: np.random.normal(m, s), array(2, 3), positive_array(3), note="arrays"),
    draw(np.random.normal, lambda m, s: np.random.normal(m, s, (2, 3)), real, positive, note="shape"),
    draw(np.random.lognormal, lambda m, s: np.random.lognormal(m, s), unit, positive),
    draw(np.random.uniform, lambda a, b: np.random.uniform(a, b), unit, above_one),
    draw(np.random.uniform, lambda a, b: np.random.uniform(a, b, size=(0, 2)), unit, above_one, note="empty"),
    draw(np.random.exponential, lambda s: np.random.exponential(s), positive),
    draw(np.random.laplace, lambda m, s: np.random.laplace(m, s, 3), real, positive),
    draw(np.random.logistic, lambda m, s: np.random.logistic(m, s), real, positive),
    draw(np.random.gumbel, lambda m, s: np.random.gumbel(m, s), vector(3), positive),
    draw(np.random.rayleigh, lambda s: np.random.rayleigh(s), positive),
    draw(np.random.weibull, lambda a: np.random.weibull(a, size=(2, 2)), above_one),
    draw(np.random.weibull, lambda a: np.random.weibull(a), positive_array(3), note="array"),
    draw(np.random.pareto, lambda a: np.random.pareto(a), above_one),
    draw(np.random.power, lambda a: np.random.power(a), positive),
    draw(np.random.triangular, lambda m, s: np.random.triangular(m - s, m, m + 2 * s, 4), real, positive),
    draw(random.uniform, lambda a, b: random.uniform(a, b), unit, above_one),
    draw(random.expovariate, lambda r: random.expovariate(r), positive),
    draw(random.gauss, lambda m, s: random.gauss(m, s) * random.gauss(m, s), real, positive),
    draw(random.normalvariate, lambda m, s: random.normalvariate(m, s), real, positive),
    draw(random.lognormvariate, lambda m, s: random.lognormvariate(m, s), unit, positive),
    draw(random.paretovariate, lambda a: random.paretovariate(a), above_one),
    draw(random.weibullvariate, lambda s, a: random.weibullvariate(s, a), positive, above_one),
    draw(random.triangular, lambda m, s: random.triangular(m - s, m + 2 * s, m), real, positive),
    draw(random.triangular, lambda m, s: random.triangular(m, m + s), real, positive, note="in-the-middle"),
    draw(np.random.randint, lambda x: np.random.randint(1, 9) * x, real),
    draw(random.randint, lambda x: random.randint(1, 9) * x, real),
    draw(random.randrange, lambda x: random.randrange(1, 9) * x, real),
    draw(np.random.poisson, lambda x: np.random.poisson(x) * x, positive_array(2, 3)),
    draw(np.random.binomial, lambda x: np.random.binomial(9, 0.3, (2, 3)) * x, real),
    draw(np.random.geometric, lambda x: np.random.geometric(0.3, size=2) * x, real),
    draw(np.random.hypergeometric, lambda x: np.random.hypergeometric(3, 4, 5, 2) * x, real),
    draw(np.random.logseries, lambda x: np.random.logseries(0.6, 3) * x, real),
    draw(np.random.negative_binomial, lambda x: np.random.negative_binomial(3, 0.4, 3) * x, real),
    draw(np.random.zipf, lambda x: np.random.zipf(3.0, 4) * x, real),
    draw(np.random.multinomial, lambda x: np.random.multinomial(9, [0.2, 0.3, 0.5], 2) * x, real),
    draw(np.random.permutation, lambda x: np.random.permutation(x), array(4, 2)),
    draw(np.random.choice, lambda x: np.random.choice(x, (2, 3)), vector(5)),
    draw(np.random.choice, lambda x: np.random.choice(x, 4, replace=False), vector(5), note="without-replacement"),
    draw(np.random.choice, lambda x: np.random.choice(x, 3, p=x / np.sum(x)), positive_array(5), note="weights"),
    draw(random.choice, lambda x: random.choice(x), vector(5)),
    Row(quantiles.mills, lambda t: quantiles.mills(t), numbers(positive), (0,)),
    Row(quantiles.mills, lambda t: quantiles.mills(4 + t), numbers(positive), (0,), note="far"),
]

QUANTILES = (
    quantiles.scaled_quantile, quantiles.pareto_quantile, quantiles.lomax_quantile, quantiles.power_quantile,
    quantiles.weibull_quantile, quantiles.triangular_quantile, quantiles.wald_quantile, quantiles.gamma_quantile,
    quantiles.chisquare_quantile, quantiles.noncentral_quantile, quantiles.beta_quantile, quantiles.f_quantile,
    quantiles.t_quantile, quantiles.vonmises_quantile, quantiles.gamma_slope, quantiles.noncentral_slope_by_df,
    quantiles.noncentral_slope_by_nonc, quantiles.odds_slope, quantiles.vonmises_slope,
)  # fmt: skip

# Of generators, in tests/programs/test_draws.py.
METHODS = tuple(method for name, method in vars(np.random.Generator).items() if callable(method) and name[0] != "_")

# In test_sampling.py; or without a result.
WITHOUT_EXAMPLE: tuple[Any, ...] = (
    np.random.seed, random.seed, random.getrandbits, np.random.shuffle, random.shuffle, np.random.beta,
    np.random.chisquare, np.random.dirichlet, np.random.f, np.random.gamma, np.random.multivariate_normal,
    np.random.noncentral_chisquare, np.random.standard_gamma, np.random.standard_t, np.random.vonmises, np.random.wald,
    random.gammavariate, random.betavariate, random.vonmisesvariate, *QUANTILES, *METHODS,
    *(made.py_func for made in QUANTILES),
)  # fmt: skip
