"""Rows for what NumPy takes beyond numba: axes and other arguments, methods, lists in the place of arrays.

As those of tests/rules/table.py, which says what a row is; a row may call an op in several of its forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rules import rows as at
from tests.rules.rows import Row, array, fixed, positive, real, row, vector


def with_nan(rng: np.random.Generator) -> Any:
    a = array(3, 4)(rng)
    a[[0, 1, 2], [1, 3, 0]] = np.nan
    return a


MASK = fixed(np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]]))


def added_at(x: Any, b: Any) -> Any:
    y = np.ones(4) * b
    np.add.at(y, np.array([2, 0, 2]), x)
    np.multiply.at(y, [1, 1], x[:2])
    np.subtract.at(y, np.array([3, 3]), b)
    return y * y


def summed_into(x: Any) -> Any:
    y = np.zeros(4)
    np.sum(x, axis=0, out=y)
    return y * y


REDUCED: list[Row] = [
    row(
        np.mean,
        lambda x, w: np.sum(x, axis=(0, -1), keepdims=True) * np.sum(x * w, 1, np.float64)[:, None],
        array(2, 3, 2),
        array(2, 3, 2),
    ),
    row(
        np.mean,
        lambda x, m: np.sum(x, 0, where=m, initial=2.0) * x.mean(axis=0, where=m),
        array(3, 4),
        MASK,
        active=(0,),
        note="where",
    ),
    row(np.mean, summed_into, array(3, 4), note="out"),
    row(np.mean, lambda x, y: np.sum([x, y], axis=0) * np.mean([x[0], y[1], 2.0]), vector(3), vector(3), note="lists"),
    row(
        np.prod,
        lambda x: np.prod(x, axis=(0, 2)) + x.prod(axis=-1, keepdims=True)[0, :, 0],
        array(2, 3, 2),
        note="axes",
    ),
    row(np.var, lambda x: np.var(x, axis=(0, 1)) * x.var(2, ddof=1, keepdims=True), array(2, 3, 2), note="axes"),
    row(
        np.std, lambda x: np.std(x, axis=0) * x.std(-1, ddof=1, keepdims=True) + x.std(ddof=1), array(3, 4), note="axes"
    ),
    row(
        np.max,
        lambda x, m: np.max(x, axis=0, where=m, initial=-0.5) * x.min(axis=(0, 1), initial=3.0),
        array(3, 4),
        MASK,
        active=(0,),
        note="where",
    ),
    row(np.ptp, lambda x: np.ptp(x, axis=0) * np.ptp(x, 1, keepdims=True), array(3, 4), note="axes"),
    row(
        np.any,
        lambda x: np.where(np.any(x > 1.0, axis=0) & (x > -2.0).all(1, keepdims=True), x, x * x),
        array(3, 4),
        note="axes",
    ),
    row(np.argmax, lambda x: x[0, x.argmax(axis=1)] * x[np.argmin(x, 0, keepdims=True), 0], array(3, 3), note="axes"),
    row(np.median, lambda x: np.median(x, axis=0) * np.median(x, (0, 1), keepdims=True), array(3, 4), note="axes"),
    row(
        np.average,
        lambda x, w: np.average(x, axis=0, weights=w) * np.average(x, 1, keepdims=True),
        array(3, 3),
        at.positive_array(3),
        note="axes",
    ),
    row(np.nansum, lambda x: np.nansum(x, axis=0) * np.nanprod(x, 1, keepdims=True), with_nan, note="axes-nan"),
    row(np.nanmean, lambda x: np.nanmean(x, axis=0) * np.nanmedian(x, 1, keepdims=True), with_nan, note="axes-nan"),
    row(np.nanstd, lambda x: np.nanstd(x, axis=0) * np.nanvar(x, 1, ddof=1, keepdims=True), with_nan, note="axes-nan"),
    row(np.nanmax, lambda x: np.nanmax(x, axis=0) * np.nanmin(x, 1, keepdims=True), with_nan, note="axes-nan"),
    row(np.cumsum, lambda x: np.cumsum(x, axis=2) * x.cumsum(1), array(1, 2, 3, 2), note="of-four-axes"),
    row(np.cumprod, lambda x: np.cumprod(x, axis=0) * x.cumprod(1), array(3, 2), note="axes"),
    row(np.count_nonzero, lambda x: np.count_nonzero(x > 0.0, axis=0, keepdims=True) * x, array(3, 2), note="axes"),
    row(
        np.quantile,
        lambda x: np.quantile(x, [0.3, 0.7], axis=1) * np.quantile(x, 0.4, (0, 1), keepdims=True),
        array(2, 3),
        note="axes",
    ),
    row(
        np.percentile,
        lambda x: np.percentile(x, 30, axis=0) * np.nanpercentile(x, 20.0, axis=0),
        array(2, 3),
        note="axes",
    ),
]

NORMS: list[Row] = [
    row(
        np.linalg.norm,
        lambda x: np.linalg.norm(x, axis=0) * np.linalg.norm(x, 1, -1, keepdims=True),
        array(2, 3),
        note="axes",
    ),
    row(
        np.linalg.norm,
        lambda x: np.linalg.norm(x, np.inf, axis=0) * np.linalg.norm(x, ord=3, axis=0),
        array(2, 3),
        note="orders",
    ),
    row(
        np.linalg.norm, lambda x: np.linalg.norm(x, "fro") * np.linalg.norm([x[0, 0], x[1, 1]]), array(2, 3), note="fro"
    ),
    row(
        np.linalg.norm,
        lambda x: np.linalg.norm(x, axis=(0, 2)) * np.linalg.norm(x, 1, axis=(2, 0)) + np.linalg.norm(x),
        array(2, 3, 2),
        note="matrices",
    ),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, "nuc"), at.regular(2), tags="double", note="nuc"),
]

ORDER: list[Row] = [
    row(np.sort, lambda x: np.sort(x) * np.sort(x, axis=0) * np.sort(x, None)[:3], array(2, 3), note="axes"),
    row(np.sort, lambda x, y: np.sort([x, y, 0.1]), real, real, note="list"),
    row(np.argsort, lambda x: x[0, np.argsort(x, kind="stable")] * x[x.argsort(axis=0), 0], array(2, 2), note="axes"),
    row(np.partition, lambda x: np.partition(x, 1, axis=0), array(3, 2), note="axes"),
]

UFUNC_METHODS: list[Row] = [
    row(
        np.logaddexp,
        lambda x: np.logaddexp.reduce(x, axis=0) * np.logaddexp.reduce(x, (0, 1)),
        array(2, 3),
        note="reduce",
    ),
    row(
        np.add,
        lambda x: np.add.reduce(x) * np.multiply.reduce(x, keepdims=True) * np.add.accumulate(x, 1),
        array(2, 3),
        note="reduce",
    ),
    row(
        np.maximum, lambda x: np.maximum.reduce(x, axis=1) * np.minimum.accumulate(x[:, 0]), array(2, 3), note="reduce"
    ),
    row(
        np.subtract, lambda x, y: np.subtract.outer(x, y) * np.multiply.outer(x, y), vector(3), vector(2), note="outer"
    ),
    row(np.add, added_at, vector(3), positive, note="at"),
]


def rolled_and_flipped(x: Any) -> Any:
    return np.roll(x, (1, 2), axis=(0, 1)) * np.flip(x, axis=0) + np.flip(np.roll(x, -1, 1))


def repeated(x: Any) -> Any:
    return np.repeat(x, 2, axis=0) * np.tile(x, (2, 1)) * np.repeat(x, [1, 3, 0, 4], axis=0)


def padded(x: Any, s: Any) -> Any:
    return np.pad(x, ((1, 0), (2, 1)), constant_values=s) * np.pad(x, [(1, 0), (1, 2)], mode="wrap")


def padded_by_edges(v: Any) -> Any:
    return np.pad(v, 2, "edge") * np.pad(v, (2, 2), "reflect") * np.pad(v, 2, mode="symmetric")


def turned_shapes(z: Any) -> Any:
    first = np.rollaxis(z, 2) * np.moveaxis(z, (0, 1), (1, 2))
    return first * np.matrix_transpose(z).transpose(1, 0, 2) + np.atleast_3d(z[:, 0, 0, None]).squeeze(axis=2)


def flat_by_columns(x: Any) -> Any:
    return np.ravel(x, order="F") * x.flatten("F") + x.reshape((3, 2), order="F").ravel()


def parts(x: Any, v: Any) -> Any:
    a, b = np.split(x, 2, axis=1)
    c, d, e = np.array_split(v, 3)
    f, g = np.hsplit(x, [1])
    return a * b + np.sum(f * g) + c[0] * d[0] * e[0] + np.vsplit(x, 2)[1][0, 0]


def groups(v, x):
    """Groups of which the data tells where they begin."""
    firsts = np.flatnonzero(np.array([3, 3, 1, 1, 1, 2, 2, 4])[1:] != np.array([3, 3, 1, 1, 1, 2, 2, 4])[:-1]) + 1
    total = sum([np.sum(group) ** 2 for group in np.split(v, firsts)])
    for k, rows in enumerate(np.array_split(x, firsts[:2] - 1)):
        total += (k + 1) * np.sum(rows * rows)
    return total


def on_grids(v: Any, w: Any) -> Any:
    a, b = np.meshgrid(v, w, indexing="ij")
    c, d = np.broadcast_arrays(v[:, np.newaxis], w)
    i, j = np.indices((3, 2))
    return a * b + c * d * d + np.meshgrid(w, v)[0] * i + np.ogrid[0:2] * j


def joined(x: Any, v: Any, s: Any) -> Any:
    rows = np.vstack((x, v[:2], [s, 1.0]))
    return np.block([[rows, np.ones((4, 1))], [v, s]]) * np.concatenate((np.r_[0.0, v, s], [s, s, s]), axis=None)[:3]


def joined_of_four_axes(u: Any) -> Any:
    return np.concatenate([u, u * u], axis=3) * np.stack([u[..., 0], u[..., 1]], axis=-1).sum()


def without_and_with(v: Any, x: Any) -> Any:
    return np.delete(v, 1) * np.insert(v, [1, 1], x)[2:-1] + np.append(np.delete(v, [0, 2, 3]), [x[0], 1.0])[0]


def of_diagonals(z: Any) -> Any:
    return np.trace(z, axis1=1, axis2=2) * np.diagonal(z, 1, 0, 2)[0] + np.tril(z)[:, 0, 0] * np.triu(z, 1)[:, 0, 1]


def on_even_grids(s: Any, t: Any) -> Any:
    return np.linspace(s, t, 4, endpoint=False) * np.geomspace(s, t, 4, endpoint=False) * np.logspace(s, t, 4, base=2.0)


def along_others(x: Any) -> Any:
    return np.diff(x, axis=0, prepend=0.0) * np.trapezoid(x, axis=0) + np.diff(x, n=2, axis=1, append=x[:, :2])


SHAPES: list[Row] = [
    row(np.roll, rolled_and_flipped, array(2, 3), note="axes"),
    row(np.tile, repeated, array(4, 2)),
    row(np.pad, padded, array(2, 3), real),
    row(np.pad, padded_by_edges, vector(4), note="edges"),
    row(np.rollaxis, turned_shapes, array(2, 2, 2)),
    row(np.atleast_2d, flat_by_columns, array(2, 3), note="columns"),
    row(np.split, parts, array(2, 4), vector(3)),
    row(np.split, groups, vector(8), array(4, 3)),
    row(np.meshgrid, on_grids, vector(3), vector(2)),
    row(np.block, joined, array(2, 2), vector(2), real),
    row(np.concatenate, joined_of_four_axes, array(1, 2, 1, 2), note="of-four-axes"),
    row(np.delete, without_and_with, vector(5), vector(2)),
    row(np.diagonal, of_diagonals, array(2, 2, 3), note="axes"),
    row(np.linspace, on_even_grids, positive, positive, note="arguments"),
    row(np.diff, along_others, array(2, 3), note="axes"),
    row(np.rot90, lambda z: np.rot90(z, axes=(1, 2)) * np.resize(z, (2, 2, 2)), array(2, 2, 2), note="axes"),
]


def picked(x: Any) -> Any:
    best = np.argmax(x, axis=1, keepdims=True)
    chosen = np.take_along_axis(x, best, axis=1) * np.take_along_axis(x, np.argsort(x, axis=0), 0)
    return chosen * np.compress([True, False, True], x, axis=1)[:, :1] + x[np.ix_([0, 1], [2, 0, 0])]


def stored(x: Any, v: Any) -> Any:
    y = np.zeros((3, 3))
    y[np.triu_indices(3, 1)] = v
    y[np.diag_indices(3)] = x[0]
    np.put_along_axis(y, np.array([[0], [0], [1]]), v[0], axis=1)
    return y * x[np.tril_indices(2)][0] + x[x[:, 0] > -9.0, 1].sum()


def chosen_pieces(v: Any, s: Any) -> Any:
    which = np.array([0, 1, 1, 0, 1])
    pieces = np.piecewise(v, [v < 0.0, v > 1.0], [lambda r: -r, lambda r: r * s, 3.0])
    pieces = pieces + np.piecewise(v, [2 * which], [lambda r: r * r, s])
    return pieces * np.choose(which, (v, s)) + np.select([v > 0.5], [v * v], default=s) * np.heaviside(v, 0.5)


def along_rows(x: Any) -> Any:
    squares = np.vectorize(lambda a, b: a * b if a > 0.0 else b)
    return np.apply_along_axis(lambda r: r * r.sum(), 1, x) * np.apply_along_axis(np.sum, 0, x) * squares(x, 2.0)


def places_of_numbers(v: Any, x: Any) -> Any:
    i, j = np.unravel_index(np.argmax(x), (2, 3))
    return v[np.where(v > 0.0)].sum() * x[i, j] * x.ravel()[np.ravel_multi_index((1, 2), (2, 3))]


PICKED: list[Row] = [
    row(np.take_along_axis, picked, array(2, 3)),
    row(np.put_along_axis, stored, array(2, 3), vector(3)),
    row(np.piecewise, chosen_pieces, vector(5), real),
    row(np.apply_along_axis, along_rows, array(2, 3)),
    row(np.unravel_index, places_of_numbers, vector(4), array(2, 3)),
    row(
        np.take,
        lambda x: np.take(x, [3, -1], 2, mode="wrap") * np.take(x, 9, mode="clip"),
        array(1, 2, 3),
        note="modes",
    ),
    row(np.unique, lambda v: np.unique([1.0, 3.0, 1.0], return_counts=True)[1] * v, vector(2), note="counts"),
    row(np.clip, lambda x: x.clip(min=0.111) * np.clip(x, a_min=None, a_max=0.9), vector(5, 0.21), note="names"),
]


def sums_of_products(a: Any, b: Any) -> Any:
    together = np.einsum("ij,jk->ik", a, b) * np.einsum("ij,ik,il->jl", a, a, b[:2])[:2]
    return together + np.einsum("ii", together) * np.einsum("ij->j", b) + np.einsum("i,j", a[0, :2], b[0])


def sums_of_stacks(s: Any, t: Any) -> Any:
    return np.einsum("bij,bjk->bik", s, t) + s @ t + np.einsum("...ij,...jk", s, t) * np.einsum("bij,bjk->", s, t)


def tensor_products(s: Any, a: Any) -> Any:
    return (
        np.tensordot(s, a, axes=([1, 2], [0, 1])) * np.inner(s, a[0])[:, 0] + np.vecdot(s, a)[:, 0] + (s @ a[0])[:, 0]
    )


PRODUCTS: list[Row] = [
    row(np.einsum, sums_of_products, array(2, 3), array(3, 2)),
    row(np.matmul, sums_of_stacks, array(2, 2, 3), array(2, 3, 2), note="stacks"),
    row(np.tensordot, tensor_products, array(2, 2, 3), array(2, 3)),
    row(
        np.linalg.multi_dot,
        lambda a, b: np.linalg.multi_dot([a, b, a]) * np.kron(b[:1, 0], a),
        array(2, 3),
        array(3, 2),
    ),
    row(
        np.cross,
        lambda a, b: np.cross(a, b, axis=0) * np.linalg.cross(a.T, b.T).T,
        array(3, 2),
        array(3, 2),
        note="axis",
    ),
]


def symmetric_stack(rng: np.random.Generator) -> Any:
    a = rng.normal(size=(2, 2, 2))
    return a @ np.swapaxes(a, 1, 2) + np.diag([1.0, 3.0])


def of_stacks(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b) * np.linalg.inv(a) + np.linalg.cholesky(a) * np.linalg.det(a)[:, None, None]


def values_of_stacks(a: Any) -> Any:
    values, _ = np.linalg.eigh(a)
    return values * np.linalg.svd(a, compute_uv=False) * np.linalg.slogdet(a)[1][:, None] + np.linalg.eigvalsh(a)


STACKS: list[Row] = [
    row(np.linalg.inv, of_stacks, symmetric_stack, array(2, 2, 2), tags="double", note="stacks"),
    row(np.linalg.eigh, values_of_stacks, symmetric_stack, tags="double", note="stacks"),
    row(np.linalg.vector_norm, lambda x: np.linalg.vector_norm(x, axis=1) * np.linalg.matrix_norm(x), array(2, 3)),
]


def sloped(v: Any, x: Any, t: Any) -> Any:
    rows, columns = np.gradient(x, 0.5, t)
    return (
        np.gradient(v)
        * np.gradient(v, np.cumsum(t * t), edge_order=2)
        * rows[0]
        * columns[1]
        * np.gradient(v, 0.1, edge_order=2)
    )


def polynomials(p: Any, x: Any) -> Any:
    long = np.polyadd(np.polyint(p, k=1.5), np.polyder(p))
    return np.polyval(np.polysub(np.polymul(p, [1.0, 2.0]), long), x) * np.polynomial.polynomial.polyval(x, p)


def counted(v: Any, w: Any) -> Any:
    counts, edges = np.histogram(v, bins=3, range=(-3.0, 3.0), weights=w)
    return counts * np.bincount([0, 2], minlength=3) * edges[:3] * np.histogram(v, [-9.0, 0.0, 9.0])[0][0]


CALCULUS: list[Row] = [
    row(np.gradient, sloped, vector(4), array(3, 4), at.positive_array(4)),
    row(np.polyval, polynomials, vector(3), vector(4)),
    row(np.polyfit, lambda x, y: np.polyfit(x, y, 2), at.knots, vector(6), tags="double"),
    row(np.unwrap, lambda v: np.unwrap(v * 4.0) * v, vector(5)),
    row(
        np.interp,
        lambda x, xp, fp: np.interp(x, xp, fp, left=fp[1], right=2.0),
        vector(5),
        at.knots,
        vector(6),
        active=(1, 2),
        note="ends",
    ),
    row(np.histogram, counted, vector(5), vector(5), active=(1,)),
    row(
        np.convolve,
        lambda v: np.convolve([0.5, 1.0], v, "same") * np.correlate(v, [1.0, 2.0, 3.0], "same"),
        vector(4),
        note="lists",
    ),
]

# Ops that rows of others call.
ALSO_SHOWN: tuple[Any, ...] = (
    np.rollaxis, np.matrix_transpose, np.linalg.matrix_transpose, np.atleast_3d, np.resize, np.trim_zeros,
    np.array_split, np.vsplit, np.hsplit, np.dsplit, np.indices, np.broadcast_arrays, np.ix_, np.insert,
    np.histogram_bin_edges, np.polynomial.polynomial.polyval, np.polyder, np.polyint, np.polyadd, np.polysub,
    np.polymul, np.compress, np.diag_indices, np.diag_indices_from, np.ravel_multi_index, np.choose, np.heaviside,
    np.tril_indices, np.triu_indices, np.tril_indices_from, np.triu_indices_from, np.inner, np.vecdot,
    np.linalg.vecdot, np.linalg.tensordot, np.linalg.svdvals, np.linalg.trace, np.linalg.diagonal, np.linalg.outer,
    np.linalg.cross, np.linalg.matmul, np.linalg.matrix_norm, np.polynomial.chebyshev.chebval,
    np.polynomial.hermite.hermval, np.polynomial.hermite_e.hermeval, np.polynomial.laguerre.lagval,
)  # fmt: skip

NUMPY: list[Row] = [*REDUCED, *NORMS, *ORDER, *UFUNC_METHODS, *SHAPES, *PICKED, *PRODUCTS, *STACKS, *CALCULUS]
