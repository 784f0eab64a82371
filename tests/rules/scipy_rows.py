"""Rows of the rule table for SciPy's special functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from adjit.rules.incomplete_gamma import betainc_by_a, betainc_by_b, gammainc_by_a, hurwitz, hurwitz_by_x
from adjit.rules.scipy.special.bessel import spherical_j, spherical_y
from adjit.rules.scipy.special.faddeeva import imaginary_part, real_part
from adjit.rules.scipy.special.several_results import (
    cosine_integral,
    fresnel_cosine,
    fresnel_sine,
    hyperbolic_cosine_integral,
    hyperbolic_sine_integral,
    real_lambertw,
    sine_integral,
)
from adjit.rules.scipy.stats.more_distributions import log_quotient
from tests.rules import rows as at
from tests.rules.rows import Row, array, numbers, positive, real, row, scalar, unit, vector


def fraction(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.1, 0.9))


def tail(rng: np.random.Generator) -> float:
    """Where densities vanish and their logarithms do not."""
    return float(rng.uniform(-12.0, -6.0))


def after(callees: Any, *fixed_ones: float, of: Any) -> list[Row]:
    """Functions that are differentiated by their last argument alone, after others that are held fixed."""
    note = "-".join(map(str, fixed_ones))
    return [
        Row(c, _after(c, fixed_ones), numbers(of), (0,), frozenset({"scalar"}), note)
        for c in (callees if isinstance(callees, tuple) else (callees,))
    ]


def _after(callee: Any, fixed_ones: tuple[float, ...]) -> Any:
    # a product, as what is not a ufunc makes arrays of rank 0 of numbers
    return lambda x: 1.0 * callee(*fixed_ones, x)


def at_pair(callee: Any) -> Any:
    return lambda x: callee(x)[0] * callee(x)[1]


def of_last(callee: Any, *domains: Any) -> Row:
    """By the others there is no second derivative."""
    shapes: dict[int, Any] = {2: lambda a, x: callee(a, x), 3: lambda a, b, x: callee(a, b, x)}
    count = len(domains)
    return Row(callee, shapes[count], numbers(*domains), (count - 1,), frozenset({"scalar"}))


ELEMENTARY: list[Row] = [
    *scalar((special.exp2, special.exp10, special.expm1, special.cosm1), real),
    *scalar((special.expit, special.log_expit, special.exprel), real),
    *scalar((special.log1p,), at.above_minus_one),
    *scalar((special.cbrt,), positive),
    *scalar((special.cosdg, special.sindg, special.tandg), real),
    *scalar((special.powm1,), positive, real),
    Row(
        special.radian,
        lambda d, m, s: special.radian(d, m, s),
        numbers(real, real, real),
        (0, 1, 2),
        frozenset({"scalar"}),
    ),
    *scalar((special.logit,), fraction),
    *([*scalar((special.softplus,), real)] if hasattr(special, "softplus") else []),
    *scalar((special.boxcox, special.boxcox1p), positive, real),
    *scalar((special.inv_boxcox, special.inv_boxcox1p), fraction, fraction),
    *scalar((special.xlogy, special.xlog1py, special.rel_entr, special.kl_div), positive, positive),
    *scalar((special.entr,), positive),
    *scalar((special.huber, special.pseudo_huber), positive, real),
]

GAMMA: list[Row] = [
    *scalar((special.gamma, special.gammaln, special.loggamma, special.rgamma, special.psi), positive),
    *scalar((special.factorial,), positive),
    *scalar((special.beta, special.betaln, special.poch), positive, positive),
    *scalar((special.binom, special.comb), at.above_one, fraction),
    *after(special.polygamma, 0, of=positive),
    *after(special.polygamma, 2, of=positive),
    *after(special.zeta, 2.5, of=positive),
    *scalar((special.perm,), at.above_one, fraction),
    row(special.multigammaln, lambda a: special.multigammaln(a, 3), at.above_one, note="three", tags="double"),
]

INCOMPLETE: list[Row] = [
    *[of_last(c, positive, fraction) for c in (special.gammainc, special.gammaincc)],
    *[of_last(c, positive, fraction) for c in (special.gammaincinv, special.gammainccinv)],
    *[of_last(c, positive, positive, fraction) for c in (special.betainc, special.betaincc, special.betaincinv)],
]

NORMAL: list[Row] = [
    *scalar((special.erf, special.erfc, special.erfcx, special.erfi, special.dawsn, special.ndtr), real),
    *scalar((special.erfinv,), unit),
    *scalar((special.erfcinv, special.ndtri), fraction),
    *scalar((special.log_ndtr,), real),
    *scalar((special.ndtri_exp,), tail),
    *scalar((special.owens_t,), real, real),
    row(special.voigt_profile, lambda x, s, g: special.voigt_profile(x, s, g), real, positive, positive),
    row(special.wofz, lambda x, y: abs(special.wofz(complex(x, y)) - 0.3j), real, real, tags="double"),
]

BESSEL: list[Row] = [
    *scalar(
        tuple(getattr(special, name) for name in "j0 j1 y0 y1 i0 i1 k0 k1 i0e i1e k0e k1e expi exp1 spence".split()),
        positive,
    ),
    *after(np.i0, of=positive),
    *after((special.jv, special.yv, special.iv, special.kv), 2.3, of=positive),
    *after((special.jv, special.yv, special.iv, special.kv), 0, of=positive),
    *after((special.jve, special.yve, special.ive, special.kve), 0.5, of=positive),
    *after((special.yn, special.kn, special.expn), 2, of=positive),
    *after((special.struve, special.modstruve), 1.3, of=positive),
]

INTEGRALS: list[Row] = [
    *scalar((special.ellipk, special.ellipe), unit),
    *scalar((special.ellipkm1,), fraction),
    *scalar((special.ellipkinc, special.ellipeinc), unit, unit),
    *after(special.hyp0f1, 1.3, of=real),
    *after((special.hyp1f1, special.hyperu), 0.7, 1.4, of=positive),
    *after(special.hyp2f1, 0.7, 1.4, 2.2, of=unit),
]

POLYNOMIALS: list[Row] = [
    *after(
        tuple(
            getattr(special, f"eval_{name}") for name in "legendre chebyt chebyu hermite hermitenorm laguerre".split()
        ),
        3,
        of=unit,
    ),
    *after((special.eval_genlaguerre, special.eval_gegenbauer), 3, 1.2, of=unit),
    *after(special.eval_jacobi, 3, 1.2, 0.4, of=unit),
]

SUMS: list[Row] = [
    row(special.logsumexp, lambda a: special.logsumexp(a), vector(3)),
    row(special.logsumexp, lambda a: special.logsumexp(a, axis=1), array(2, 3), note="axis1"),
    row(special.logsumexp, lambda a: special.logsumexp(a, axis=0, keepdims=True), array(2, 3), note="keepdims"),
    row(special.logsumexp, lambda a, b: special.logsumexp(a, b=b), vector(3), at.positive_array(3), note="weights"),
    row(special.softmax, lambda x: special.softmax(x), vector(3)),
    row(special.softmax, lambda x: special.softmax(x, axis=-1), array(2, 3), note="last"),
    row(special.log_softmax, lambda x: special.log_softmax(x), vector(3)),
    row(special.log_softmax, lambda x: special.log_softmax(x, axis=0), array(2, 3), note="axis0"),
]

PAIRS: list[Row] = [
    Row(c, at_pair(c), numbers(positive), (0,), frozenset({"scalar"}))
    for c in (special.sici, special.shichi, special.fresnel)
]

REAL_BRANCHES: list[Row] = [
    Row(special.lambertw, lambda z: special.lambertw(z).real, numbers(positive), (0,), frozenset({"scalar"})),
    Row(
        special.lambertw,
        lambda p: special.lambertw(-0.3 * p, -1).real,
        numbers(fraction),
        (0,),
        frozenset({"scalar"}),
        "below",
    ),
]

DISTRIBUTIONS: list[Row] = [
    *[of_last(c, positive, positive) for c in (special.chdtr, special.chdtrc, special.stdtr)],
    *[of_last(c, positive, positive, positive) for c in (special.gdtr, special.gdtrc, special.fdtr, special.fdtrc)],
    of_last(special.stdtrit, positive, fraction),
    *after((special.pdtr, special.pdtrc), 3, of=positive),
    *after((special.nbdtr, special.nbdtrc), 2, 5, of=fraction),
    *after(special.chdtri, 2.5, of=fraction),
    *after(special.fdtri, 2.5, 3.2, of=fraction),
]

SPHERICAL: list[Row] = [
    *after(special.spherical_jn, 0, of=positive),
    *after((special.spherical_jn, special.spherical_yn), 2, of=positive),
]

NUMBERS: list[Row] = [
    *PAIRS,
    *REAL_BRANCHES,
    *DISTRIBUTIONS,
    *SPHERICAL,
    *ELEMENTARY,
    *GAMMA,
    *INCOMPLETE,
    *NORMAL,
    *BESSEL,
    *INTEGRALS,
    *POLYNOMIALS,
]

# Constants, and what rules call: by those of their arguments that have a rule, other rows differentiate them.
_CALLED_BY_RULES: tuple[Any, ...] = (
    imaginary_part, real_part,
    gammainc_by_a, betainc_by_a, betainc_by_b, hurwitz, hurwitz_by_x, spherical_j, spherical_y, sine_integral,
    cosine_integral,
    hyperbolic_sine_integral, hyperbolic_cosine_integral, fresnel_sine, fresnel_cosine, real_lambertw,
    log_quotient,
)  # fmt: skip
WITHOUT_EXAMPLE: tuple[Any, ...] = (
    # like nbdtr; SciPy's own warn of how they are called
    special.bdtr, special.bdtrc,
    # of all distributions, which test_scipy_distributions.py has
    type(stats.norm).__call__, type(stats.multivariate_normal).__call__,
    special.round, special.gammasgn, special.zetac, *_CALLED_BY_RULES, *(f.py_func for f in _CALLED_BY_RULES),
)  # fmt: skip
