"""Rows for what NumPy has beside numba's: roots and series, sets of numbers, windows, stores by masks and places.

As those of tests/rules/table.py, which says what a row is; a row may call an op in several of its forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import polynomial, polyutils

from adjit.rules.polynomials import complex_roots, real_roots
from tests.rules.rows import Row, array, real, row, vector


def apart(rng: np.random.Generator) -> Any:
    """A polynomial, the highest power first, with roots that are real and far from each other."""
    return np.poly([1.0, 2.2, -1.3] + rng.uniform(-0.1, 0.1, 3))


def divided(u: Any, v: Any) -> Any:
    (q, r), (p, s) = np.polydiv(u, v), polynomial.polydiv(u, v)
    return np.concatenate((q * p, r * s))


def of_lowest_first(c: Any, d: Any, x: Any) -> Any:
    together = polynomial.polyadd(polynomial.polymul(c, d), polynomial.polysub(polynomial.polymulx(c), d))
    slopes = polynomial.polyder(together, 2, scl=1.5)
    return polynomial.polyval(x, polynomial.polyint(slopes, 2, k=[0.5], lbnd=0.1)) * polynomial.polyval(x[0], c)


def trimmed(x: Any, y: Any) -> Any:
    longer = np.array([x * y, x, 0.0, 0.0])
    first, _ = polyutils.as_series([longer, [y, 1.0]])
    return first * polyutils.trimseq(longer)


def real_spectra(rng: np.random.Generator) -> Any:
    return np.diag([1.0, 2.5]) + rng.uniform(-0.3, 0.3, (2, 1, 2, 2))


def of_stacks(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    return values * vectors[..., 0] ** 2 * np.linalg.eigvals(a)


SERIES: list[Row] = [
    row(real_roots, lambda p: np.roots(p) ** 2, apart, tags="double"),
    row(complex_roots, lambda p, q: complex_roots(p, q)[1], vector(4), vector(4), tags="double"),
    row(polynomial.polyroots, lambda p: polynomial.polyroots(p[::-1]) * np.roots(p), apart, tags="double"),
    row(np.poly, lambda x: np.poly(x) * polynomial.polyfromroots(x), vector(3)),
    row(np.polydiv, divided, vector(5), vector(3)),
    row(polynomial.polymul, of_lowest_first, vector(3), vector(2), vector(3)),
    row(
        polynomial.polyval,
        lambda x, c: polynomial.polyval(x, c) * polynomial.polyder(c, axis=1)[0, 0],
        real,
        array(2, 3),
        note="of-columns",
    ),
    row(polyutils.as_series, trimmed, real, real),
]

# Ops that rows of others call.
CALLED: tuple[Any, ...] = (
    np.linalg.eig, np.linalg.eigvals, np.roots, polynomial.polyfromroots, polynomial.polydiv, polynomial.polyadd,
    polynomial.polysub, polynomial.polymulx, polynomial.polyder, polynomial.polyint, polyutils.trimseq,
)  # fmt: skip

MORE_NUMPY: list[Row] = [row(np.linalg.eig, of_stacks, real_spectra, tags="double", note="stacks"), *SERIES]
