"""Rows for what NumPy has beside numba's: roots and series, sets of numbers, windows, stores by masks and places.

As those of tests/rules/table.py, which says what a row is; a row may call an op in several of its forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import Polynomial, chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils

from adjit.rules import constants
from adjit.rules.numpy.real_or_complex import complex_roots, real_roots, roots_of_real
from adjit.runtime.library.spectra import spectrum_of_real
from tests.rules.rows import Row, array, real, row, vector


def apart(rng: np.random.Generator) -> Any:
    """A polynomial, the highest power first, with roots that are real and far from each other."""
    return np.poly([1.0, 2.2, -1.3] + rng.uniform(-0.1, 0.1, 3))


def divided(u: Any, v: Any) -> Any:
    (q, r), (p, s) = np.polydiv(u, v), polynomial.polydiv(u, v)
    return np.concatenate((q * p, r * s))


def of_lowest_first(c: Any, d: Any) -> Any:
    together = polynomial.polyadd(polynomial.polymul(c, d), polynomial.polysub(polynomial.polymulx(d), c))
    return polynomial.polyint(polynomial.polyder(together, 2, scl=1.5), k=[0.5], lbnd=0.1)


def of_orthogonal(x: Any, c: Any) -> Any:
    found = chebyshev.chebval(x, c) * laguerre.lagval(x, c) + hermite.hermval(x[:2], c)[0]
    return found * legendre.legval(0.5, c) + legendre.legval([0.3, x[1]], c[0]) @ hermite_e.hermeval(x[:2], c)


def trimmed(x: Any, y: Any) -> Any:
    longer = np.array([x * y, x, 0.0, 0.0])
    first, _ = polyutils.as_series([longer, [y, 1.0]])
    return first * polyutils.trimseq(longer)


def real_spectra(rng: np.random.Generator) -> Any:
    return np.diag([1.0, 2.5]) + rng.uniform(-0.3, 0.3, (2, 1, 2, 2))


def near_diagonal(rng: np.random.Generator) -> Any:
    return real_spectra(rng)[0, 0]


def of_stacks(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    # complex numbers from NumPy 2.5 on
    return np.real(values * vectors[..., 0] ** 2 * np.linalg.eigvals(a))


SERIES: list[Row] = [
    row(real_roots, lambda p: np.roots(p) ** 2, apart, tags="double"),
    row(spectrum_of_real, lambda a: spectrum_of_real(a)[0] * spectrum_of_real(a)[2], near_diagonal, tags="double"),
    row(roots_of_real, lambda p: roots_of_real(p)[0] ** 2 + roots_of_real(p)[1], vector(4), tags="double"),
    row(complex_roots, lambda p, q: complex_roots(p, q)[1], vector(4), vector(4), tags="double"),
    row(polynomial.polyroots, lambda p: polynomial.polyroots(p[::-1]), apart, tags="double"),
    row(np.poly, lambda x: np.poly(x) * polynomial.polyfromroots(x), vector(3)),
    row(np.polydiv, divided, vector(5), vector(3)),
    row(polynomial.polymul, of_lowest_first, vector(3), vector(2)),
    row(
        polynomial.polyval,
        lambda x, c: polynomial.polyval(x, c) * polynomial.polyder(c, axis=1)[0, 0],
        real,
        array(2, 3),
        note="of-columns",
    ),
    row(legendre.legval, of_orthogonal, vector(3), array(3, 2)),
    row(polyutils.as_series, trimmed, real, real),
]

# ----------------------------------------------------------------------------------------- sets, stores, windows, sums


def of_sets(x: Any, y: Any) -> Any:
    return np.union1d(x, np.append(y, x[:1]))[:2] * np.intersect1d(x, np.append(y, x))


def of_differences(x: Any, y: Any) -> Any:
    return np.setxor1d(x, y)[:2] * np.setdiff1d(x, np.append(y, x[:1]))


def by_masks(x: Any, y: Any) -> Any:
    a, b, c = x * y, x + y, x * 1.0
    np.place(a, x > 0.0, y[:1])
    np.putmask(b, x > 0.0, y[0, 1:])
    np.copyto(c, y[0], where=x > 1.0)
    return a * b + c + np.maximum(x, y, where=x < 1.0, out=y * 3.0)


def summed_from_places(x: Any) -> Any:
    parts = np.add.reduceat(x, [0, 2, 1], axis=1) * np.multiply.reduceat(x, np.array([1]))
    return parts * np.cumulative_sum(x, axis=0, include_initial=True)[:2, :3] * np.cumulative_prod(x[0])[:3]


def shown_again(x: Any) -> Any:
    a, b = np.unstack(np.require(x, requirements=["C"]))
    return np.fromfunction(lambda i, j: (i + 2.0 * j) * a * b, (2, 3)) * np.asarray_chkfinite(x) * x.mT.T


def in_a_grid(x: Any, y: Any, w: Any) -> Any:
    counts, rows, _ = np.histogram2d(x, y, bins=(2, [-9.0, 0.5, 9.0]), weights=w)
    return counts * rows[:2] * np.histogram2d(x, y, bins=2, density=True)[0]


def solved_as_tensors(a: Any, b: Any) -> Any:
    far = a.reshape(2, 2, 4) + 4.0 * np.eye(4).reshape(2, 2, 4)
    return np.linalg.tensorsolve(far, b) @ np.linalg.tensorinv(far)[:, 0] + np.linalg.cond(a[None] + 3.0 * np.eye(4))


def factors_of_stacks(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    return q * np.swapaxes(q[:, :1], 1, 2)[:, :1] + (q @ r) * np.linalg.qr(a, mode="r")[:, :1]


def in_windows(x: Any, v: Any) -> Any:
    return sliding_window_view(x, (2, 2)).mean(axis=(2, 3)) * sliding_window_view(v * v, 3)[0] + np.squeeze(v[:1])


def by_keys(x: Any, y: Any) -> Any:
    return x[np.lexsort((y, x > 0.0))] * np.fromiter((v * v for v in x), dtype=float)


def by_objects(c: Any, x: Any) -> Any:
    p = 1.0 - Polynomial(c).deriv() * 2.0
    return p(x) * OUTSIDE(x)


def of_highest_first(c: Any, x: Any) -> Any:
    q = np.poly1d(c)
    return (q * q - 1.0)(x) * q.order


OUTSIDE = Polynomial([0.5, -1.0], domain=[0.0, 2.0])


def put_and_multiplied(x: Any, v: Any) -> Any:
    y = x * 2.0
    np.put(y, [0, -1], v)
    return y * np.vecmat(v, x) + np.fix(v[0]) * np.matvec(x, v)


def in_a_triangle(x: Any) -> Any:
    return x[np.mask_indices(2, np.triu)] ** 2


def in_place(x: Any) -> Any:
    y = x * x[::-1]
    y.sort(axis=0)
    y[1].sort()
    return y


BESIDE: list[Row] = [
    row(np.union1d, of_sets, vector(2), vector(2, 3.3)),
    row(np.setxor1d, of_differences, vector(2), vector(2, 3.3), active=(0,)),
    row(np.place, by_masks, array(2, 3), array(2, 3)),
    row(np.cumulative_sum, summed_from_places, array(2, 3)),
    row(np.unstack, shown_again, array(2, 3)),
    row(np.histogram2d, in_a_grid, vector(5), vector(5), vector(5), active=(2,)),
    row(np.linalg.tensorsolve, solved_as_tensors, array(4, 4), array(2, 2), tags="double"),
    row(np.linalg.qr, factors_of_stacks, array(2, 3, 2), tags="double", note="stacks"),
    row(np.kaiser, lambda b, v: np.kaiser(5, b) * v, real, vector(5)),
    row(np.mean, in_windows, array(3, 4), vector(5), note="windows"),
    row(np.lexsort, by_keys, vector(4), vector(4), active=(0,)),
    row(Polynomial, by_objects, vector(3), real, tags="double"),
    row(np.poly1d, of_highest_first, vector(2), real, tags="double"),
    row(np.put, put_and_multiplied, array(2, 2), vector(2)),
    row(np.mask_indices, in_a_triangle, array(2, 2)),
    row(np.sort, in_place, array(3, 2), note="in-place"),
]

# Ops that rows of others call.
CALLED: tuple[Any, ...] = (
    np.linalg.eig, np.linalg.eigvals, np.roots, polynomial.polyfromroots, polynomial.polydiv, polynomial.polyadd,
    polynomial.polysub, polynomial.polymulx, polynomial.polyder, polynomial.polyint, polyutils.trimseq,
    np.intersect1d, np.setdiff1d,
    np.copyto, np.putmask, np.cumulative_prod, np.fromfunction, np.require, np.asarray_chkfinite, np.linalg.tensorinv,
    np.divmod, np.modf, np.poly1d.__call__, Polynomial.__call__, np.astype, np.matvec,
    np.vecmat, np.fix, Polynomial.fit, *constants.INSTEAD,
)  # fmt: skip

MORE_NUMPY: list[Row] = [row(np.linalg.eig, of_stacks, real_spectra, tags="double", note="stacks"), *SERIES, *BESIDE]
