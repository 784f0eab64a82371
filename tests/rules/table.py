"""One row or more for every rule: an example that uses the op, where to sample its arguments, which of them are active.

A row's `function` is ordinary source that calls the op and returns a number or an array; `sample` draws its arguments
from a region where it is smooth, away from kinks and ties. Tags:
scalar    the op takes numbers, and `function` too          array   whole arrays
constant  the derivative of the op is zero or none; `function` depends on its arguments otherwise
effect    it draws random numbers                           inplace  the op writes into an argument
double    too ill-conditioned for float32
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from adjit import stop_gradient
from adjit.rules import special_functions
from adjit.rules.numpy.linalg.complex_matrices import (
    complex_cofactors,
    complex_spectrum,
    determinant,
    hermitian_eigenvalues,
    hermitian_factor,
    hermitian_spectrum,
    signed_logarithm,
)
from adjit.rules.numpy.linalg.matrices import cofactors
from adjit.rules.numpy.real_or_complex import real_eig, real_eigvals
from adjit.runtime.library import held
from tests.rules import rows as at
from tests.rules import (
    sampling_rows,
    scipy_descriptive_rows,
    scipy_linalg_rows,
    scipy_rows,
    scipy_sample_rows,
    scipy_sparse_rows,
)
from tests.rules.fourier import FOURIER, WITHOUT_TRANSFORMS
from tests.rules.more_numpy_rows import MORE_NUMPY
from tests.rules.numpy_rows import NUMPY
from tests.rules.rows import Row, array, constant, fixed, numbers, positive, real, row, scalar, vector

# ----------------------------------------------------------------------------------------------------------- scalar ops

SCALARS: list[Row] = [
    *scalar((operator.add, np.add, operator.sub, np.subtract, operator.mul, np.multiply), real, real),
    *scalar((operator.truediv, np.divide), real, real),
    *scalar((operator.neg, np.negative, operator.pos, np.positive, np.conjugate, np.reciprocal, np.square), real),
    *scalar((operator.mod, np.remainder, np.fmod, math.fmod), sample=at.quotient_between_integers),
    Row(
        divmod,
        lambda a, b: divmod(a, b)[0] * divmod(a, b)[1],
        at.quotient_between_integers,
        (0, 1),
        frozenset({"scalar"}),
    ),
    Row(
        math.modf,
        lambda x: math.modf(x)[0] ** 2 * math.modf(x)[1] + np.modf(2.0 * x)[0],
        numbers(at.between_quarters),
        (0,),
        frozenset({"scalar"}),
    ),
    *scalar((operator.pow, np.power, np.float_power, math.pow), positive, real),
    *scalar((operator.pow,), real, at.small_integer, active=(0,)),
    *scalar((math.sqrt, np.sqrt, np.cbrt), positive),
    *scalar((builtins.abs, np.absolute, np.fabs, math.fabs), real),
    *scalar((math.copysign, np.copysign), real, real, active=(0,)),
    *scalar((math.hypot, np.hypot, math.atan2, np.arctan2), real, real),
    *scalar((math.exp, np.exp, math.exp2, np.exp2, math.expm1, np.expm1), real),
    *scalar((math.log, np.log, math.log2, np.log2, math.log10, np.log10), positive),
    *scalar((math.log1p, np.log1p), at.above_minus_one),
    *scalar((np.logaddexp, np.logaddexp2), real, real),
    *scalar((math.sin, np.sin, math.cos, np.cos, math.sinh, np.sinh, math.cosh, np.cosh, math.tanh, np.tanh), real),
    *scalar((math.tan, np.tan, math.asin, np.arcsin, math.acos, np.arccos, math.atanh, np.arctanh), at.unit),
    *scalar((math.atan, np.arctan, math.asinh, np.arcsinh), real),
    *scalar((math.acosh, np.arccosh), at.above_one),
    *scalar((math.radians, np.deg2rad, np.radians, math.degrees, np.rad2deg, np.degrees, np.sinc), real),
    *scalar((max, min, np.maximum, np.minimum, np.fmax, np.fmin), sample=at.distinct),
    *scalar((np.heaviside,), real, real),
    *scalar((math.ldexp, np.ldexp), real, at.small_integer, active=(0,)),
    *scalar((math.nextafter, np.nextafter), real, real, active=(0,)),
    *scalar((math.erf, math.erfc), real),
    *scalar((math.lgamma, math.gamma, special_functions.digamma), positive),
    *scalar((special_functions.polygamma,), at.small_integer, positive, active=(1,)),
]

# ------------------------------------------------------------------------------------------------------------ array ops

REDUCTIONS: list[Row] = [
    row(np.mean, lambda a: np.mean(a), array(2, 3)),
    row(np.average, lambda a, w: np.average(a, weights=w), vector(), at.positive_array(5)),
    row(np.average, lambda a: np.average(a), vector(), note="unweighted"),
    row(np.var, lambda a: np.var(a), array(2, 3)),
    row(np.std, lambda a: np.std(a), array(2, 3)),
    row(np.cov, lambda m: np.cov(m), array(2, 4)),
    row(np.cov, lambda m: np.cov(m, rowvar=False, ddof=0), array(4, 2), note="columns"),
    row(np.cov, lambda m, y: np.cov(m, y, bias=True), vector(), vector(), note="of-two"),
    row(np.corrcoef, lambda x: np.corrcoef(x), array(2, 4)),
    row(np.ptp, lambda a: np.ptp(a), vector()),
    row(np.max, lambda a: np.max(a), array(2, 3)),
    row(np.min, lambda a: np.min(a), array(2, 3)),
    row(np.amax, lambda a: np.amax(a), vector()),
    row(np.amin, lambda a: np.amin(a), vector()),
    row(np.nanmax, lambda a: np.nanmax(a), at.with_nan),
    row(np.nanmin, lambda a: np.nanmin(a), at.with_nan),
    row(np.nansum, lambda a: np.nansum(a), at.with_nan),
    row(np.nanmean, lambda a: np.nanmean(a), at.with_nan),
    row(np.nanvar, lambda a: np.nanvar(a), at.with_nan),
    row(np.nanvar, lambda a: np.nanvar(a, ddof=1), at.with_nan, note="ddof"),
    row(np.nanstd, lambda a: np.nanstd(a), at.with_nan),
    row(np.prod, lambda a: np.prod(a), array(2, 3)),
    row(np.nanprod, lambda a: np.nanprod(a), at.with_nan),
    row(np.cumprod, lambda a: np.cumprod(a), array(2, 3)),
    row(np.nancumprod, lambda a: np.nancumprod(a), at.with_nan),
    row(np.cumsum, lambda a: np.cumsum(a), array(2, 3)),
    row(np.cumsum, lambda a: np.cumsum(a, axis=0), array(2, 3), note="axis0"),
    row(np.cumsum, lambda a: np.cumsum(a, axis=-1), array(2, 3), note="last"),
    row(np.cumsum, lambda a: np.cumsum(a, axis=1), array(2, 3, 2), note="inner"),
    row(np.nancumsum, lambda a: np.nancumsum(a), at.with_nan),
    row(np.trapezoid, lambda y: np.trapezoid(y), vector()),
    row(np.trapezoid, lambda y, x: np.trapezoid(y, x), vector(6), at.knots, note="x"),
    row(np.trapezoid, lambda y, dx: np.trapezoid(y, dx=dx), vector(), positive, note="dx"),
    row(math.dist, lambda p, q: math.dist(p, q), vector(3), vector(3)),
    row(np.bincount, lambda x, w: np.bincount(x, w), fixed(np.array([1, 0, 1, 3, 1])), vector(), active=(1,)),
    row(np.sort, lambda a: np.sort(a), vector()),
    row(np.partition, lambda a: np.partition(a, 2), vector()),
    row(np.unique, lambda ar: np.unique(ar), array(2, 3)),
    row(np.median, lambda a: np.median(a), vector(), note="odd"),
    row(np.median, lambda a: np.median(a), array(2, 3), note="even"),
    row(np.nanmedian, lambda a: np.nanmedian(a), at.with_nan),
    row(np.quantile, lambda a, q: np.quantile(a, q), vector(), fixed(0.3)),
    row(np.quantile, lambda a, q: np.quantile(a, q), vector(), fixed(np.array([0.1, 0.6])), note="several"),
    row(np.nanquantile, lambda a, q: np.nanquantile(a, q), at.with_nan, fixed(0.3)),
    row(np.percentile, lambda a, q: np.percentile(a, q), vector(), fixed(30.0)),
    row(np.nanpercentile, lambda a, q: np.nanpercentile(a, q), at.with_nan, fixed(30.0)),
]

JOINING: list[Row] = [
    row(np.concatenate, lambda a, b: np.concatenate((a, b)), vector(3), vector(2)),
    row(np.concatenate, lambda a, b: np.concatenate((a, b), axis=1), array(2, 3), array(2, 1), note="axis1"),
    row(np.concatenate, lambda a, b: np.concatenate((a, b), axis=-1), array(2, 1, 3), array(2, 1, 2), note="last"),
    row(np.stack, lambda a, b: np.stack((a, b)), vector(3), vector(3)),
    row(np.stack, lambda a, b: np.stack((a, b), axis=1), array(2, 3), array(2, 3), note="axis1"),
    row(np.stack, lambda a, b: np.stack((a, b), axis=-1), array(2, 3), array(2, 3), note="last"),
    row(np.hstack, lambda a, b: np.hstack((a, b)), array(2, 3), array(2, 1)),
    row(np.hstack, lambda a, b: np.hstack((a, b)), vector(3), vector(2), note="vectors"),
    row(np.vstack, lambda a, b: np.vstack((a, b)), array(2, 3), array(1, 3)),
    row(np.vstack, lambda a, b: np.vstack((a, b)), vector(3), vector(3), note="vectors"),
    *(
        [row(np.row_stack, lambda a, b: np.row_stack((a, b)), array(2, 3), array(1, 3))]
        if hasattr(np, "row_stack")
        else []
    ),
    row(np.dstack, lambda a, b: np.dstack((a, b)), array(2, 3), array(2, 3)),
    row(np.dstack, lambda a, b: np.dstack((a, b)), vector(3), vector(3), note="vectors"),
    row(np.column_stack, lambda a, b: np.column_stack((a, b)), vector(2), array(2, 3)),
    row(np.append, lambda a, b: np.append(a, b), array(2, 2), vector(2)),
    row(np.append, lambda a, b: np.append(a, b), vector(3), real, note="number"),
    row(np.append, lambda a, b: np.append(a, b, axis=1), array(2, 2), array(2, 1), note="axis1"),
]

TURNING: list[Row] = [
    row(np.flip, lambda m: np.flip(m), array(2, 3)),
    row(np.flipud, lambda m: np.flipud(m), array(2, 3)),
    row(np.fliplr, lambda m: np.fliplr(m), array(2, 3)),
    row(np.rot90, lambda m: np.rot90(m), array(2, 3)),
    row(np.rot90, lambda m: np.rot90(m, 3), array(2, 3), note="back"),
    row(np.atleast_1d, lambda x: np.atleast_1d(x), vector(3)),
    row(np.atleast_2d, lambda x: np.atleast_2d(x), vector(3)),
    row(np.roll, lambda a: np.roll(a, 2), array(2, 3)),
    row(np.roll, lambda a: np.roll(a, -7), vector(5), note="back"),
    row(np.repeat, lambda a: np.repeat(a, 3), array(2, 2)),
    row(np.repeat, lambda a, n: np.repeat(a, n), vector(3), fixed(np.array([2, 0, 1])), active=(0,), note="each"),
]

DIAGONALS: list[Row] = [
    row(np.diag, lambda v: np.diag(v), vector(3)),
    row(np.diag, lambda v: np.diag(v, -1), vector(3), note="below"),
    row(np.diag, lambda v: np.diag(v, 1), array(3, 4), note="of-matrix"),
    row(np.diagonal, lambda a: np.diagonal(a, -1), array(3, 4)),
    row(np.diagflat, lambda v: np.diagflat(v, 1), array(2, 2)),
    row(np.trace, lambda a: np.trace(a), array(3, 3)),
    row(np.trace, lambda a: np.trace(a, -1), array(3, 4), note="below"),
    row(np.tril, lambda m: np.tril(m), array(3, 4)),
    row(np.tril, lambda m: np.tril(m, -1), vector(3), note="of-vector"),
    row(np.triu, lambda m: np.triu(m, 1), array(3, 4)),
    row(np.triu, lambda m: np.triu(m, -1), array(4, 3), note="below"),
    row(np.vander, lambda x: np.vander(x), vector(3)),
    row(np.vander, lambda x: np.vander(x, 4, True), vector(3), note="increasing"),
]


def filled(a: Any, value: Any) -> Any:
    b = a.copy()
    np.fill_diagonal(b, value)
    return b * b


PICKING: list[Row] = [
    row(np.fill_diagonal, filled, array(3, 4), real, tags="inplace"),
    row(np.take, lambda a: np.take(a, 4), array(2, 3)),
    row(
        np.take,
        lambda a, k: np.take(a, k),
        array(2, 3),
        fixed(np.array([[1, -1], [5, 1]])),
        active=(0,),
        note="several",
    ),
    row(
        np.take, lambda a, k: np.take(a, k, axis=1), array(2, 3), fixed(np.array([2, 0, 2])), active=(0,), note="axis1"
    ),
    row(np.extract, lambda a: np.extract(a > 0.4, a), vector()),
    row(np.extract, lambda a: np.extract(np.array([2, 0, 1]), a), vector(3), note="of integers"),
    row(np.select, lambda a, b: np.select((a > 0.4, b > 0.0), (a * a, b)), vector(), vector()),
    row(np.clip, lambda a: np.clip(a, -0.75, 1.1), vector(5, 0.21)),
    row(np.clip, lambda a, low: np.clip(a, low, None), vector(), fixed(0.111), note="below"),
    row(
        np.clip,
        lambda a, high: np.clip(a, None, high),
        vector(),
        fixed(np.array([0.1, -0.1, 0.12, -3.0, 4.0])),
        note="above",
    ),
    row(np.nan_to_num, lambda x: np.nan_to_num(x), at.with_nan),
]

GRIDS: list[Row] = [
    row(np.linspace, lambda a, b: np.linspace(a, b, 5), real, real),
    row(np.linspace, lambda a, b: np.linspace(a, b, 1), real, real, note="one"),
    row(np.logspace, lambda a, b: np.logspace(a, b, 4), at.unit, at.unit),
    row(np.geomspace, lambda a, b: np.geomspace(a, b, 4), positive, positive),
    row(np.arange, lambda a, s: np.arange(a, a + 4.5 * s, s), real, positive),
    row(np.arange, lambda a: np.arange(a, 9.3), at.unit, note="start"),
    row(np.diff, lambda a: np.diff(a), array(2, 4)),
    row(np.diff, lambda a: np.diff(a, 2), vector(), note="second"),
    row(np.ediff1d, lambda a: np.ediff1d(a), array(2, 3)),
    row(np.ediff1d, lambda a, e, b: np.ediff1d(a, e, b), vector(3), real, vector(2), note="ends"),
    row(
        np.interp,
        lambda x, xp, fp: np.interp(x, xp, fp),
        fixed(np.array([0.1, 2.2, 1.4, 2.9, 9.0])),
        at.knots,
        vector(6),
    ),
    row(np.interp, lambda x, xp, fp: np.interp(x, xp, fp), fixed(2.2), at.knots, vector(6), note="number"),
    *[
        row(callee, function, vector(n), vector(m), note=f"{mode}{n}{m}")
        for callee, mode, function in (
            (np.convolve, "full", lambda a, v: np.convolve(a, v)),
            (np.convolve, "same", lambda a, v: np.convolve(a, v, "same")),
            (np.convolve, "valid", lambda a, v: np.convolve(a, v, "valid")),
            (np.correlate, "full", lambda a, v: np.correlate(a, v, "full")),
            (np.correlate, "same", lambda a, v: np.correlate(a, v, "same")),
            (np.correlate, "valid", lambda a, v: np.correlate(a, v)),
        )
        for n, m in ((6, 3), (4, 4), (2, 5), (3, 3))
    ],
]

PRODUCTS: list[Row] = [
    row(np.outer, lambda a, b: np.outer(a, b), vector(3), vector(2)),
    row(np.kron, lambda a, b: np.kron(a, b), array(2, 3), array(2, 2)),
    row(np.kron, lambda a, b: np.kron(a, b), vector(3), vector(2), note="vectors"),
    row(np.kron, lambda a: np.kron(np.array([[1, 2], [0, 1]]), a), array(2, 2), note="of integers and floats"),
    row(np.tri, lambda a: np.where(np.tri(3, 4, 1, dtype=bool), a, np.tri(3, M=4, k=-1) + np.tri(3, 4)), array(3, 4)),
    row(np.cross, lambda a, b: np.cross(a, b), vector(3), vector(3)),
    row(np.cross, lambda a, b: np.cross(a, b), array(2, 3), vector(3), note="rows"),
    row(np.vdot, lambda a, b: np.vdot(a, b), vector(3), vector(3)),
    *[
        row(callee, function, first, second, note=note)
        for callee, function in (
            (np.dot, lambda a, b: np.dot(a, b)),
            (operator.matmul, lambda a, b: operator.matmul(a, b)),
        )
        for note, first, second in (
            ("11", vector(3), vector(3)),
            ("12", vector(3), array(3, 2)),
            ("21", array(2, 3), vector(3)),
            ("22", array(2, 3), array(3, 4)),
        )
    ],
]


def of_parts(callee: Any, function: Any, real: at.Domain = at.regular(3)) -> Row:
    """Of the parts of a complex matrix."""
    return row(callee, function, real, at.small_matrix(3), tags="double")


OF_COMPLEX_MATRICES: list[Row] = [
    of_parts(determinant, lambda a, b: determinant(a, b)[0]),
    of_parts(complex_cofactors, lambda a, b: complex_cofactors(a, b)[1]),
    of_parts(signed_logarithm, lambda a, b: signed_logarithm(a, b)[1]),
    of_parts(hermitian_eigenvalues, lambda a, b: hermitian_eigenvalues(a, b), at.spd(3)),
    of_parts(hermitian_spectrum, lambda a, b: hermitian_spectrum(a, b)[1], at.spd(3)),
    of_parts(hermitian_factor, lambda a, b: hermitian_factor(a, b)[1], at.spd(3)),
    of_parts(complex_spectrum, lambda a, b: complex_spectrum(a, b)[3]),
]


def real_eigenvalues(rng: np.random.Generator) -> Any:
    return np.diag([1.0, 2.5, 4.5]) + rng.uniform(-0.3, 0.3, (3, 3))


def scaled_eigenvectors(a: Any) -> Any:
    values, vectors = real_eig(a)
    return values * vectors


def factors_together(q: Any, r: Any) -> Any:
    return q[:3] * r + q[:3] * r[0]


def first_singular_vectors(u: Any, s: Any, vt: Any) -> Any:
    return u[0, :3] * s * vt[:3, 0]


def solution_and_misfit(x: Any, residuals: Any, rank: Any, s: Any) -> Any:
    return x.sum() * s + residuals * rank


LINEAR_ALGEBRA: list[Row] = [
    row(np.linalg.solve, lambda a, b: np.linalg.solve(a, b), at.regular(3), vector(3)),
    row(np.linalg.solve, lambda a, b: np.linalg.solve(a, b), at.regular(3), array(3, 2), note="matrix"),
    row(np.linalg.inv, lambda a: np.linalg.inv(a), at.regular(3)),
    row(np.linalg.pinv, lambda a: np.linalg.pinv(a), array(4, 3), tags="double"),
    row(np.linalg.pinv, lambda a: np.linalg.pinv(a), array(2, 3), tags="double", note="wide"),
    row(np.linalg.det, lambda a: np.linalg.det(a), at.regular(3)),
    row(cofactors, lambda a: cofactors(a), at.regular(3)),
    row(np.linalg.slogdet, lambda a: np.linalg.slogdet(a)[1], at.regular(3)),
    *OF_COMPLEX_MATRICES,
    row(np.linalg.cholesky, lambda a: np.linalg.cholesky(a), at.spd(3)),
    row(np.linalg.matrix_power, lambda a: np.linalg.matrix_power(a, 3), at.regular(3)),
    row(np.linalg.matrix_power, lambda a: np.linalg.matrix_power(a, -2), at.regular(3), note="negative"),
    row(np.linalg.matrix_power, lambda a: np.linalg.matrix_power(a, 0) * a, at.regular(2), note="zero"),
    row(np.linalg.eigh, lambda a: np.linalg.eigh(a)[0], at.spd(3)),
    row(np.linalg.eigvalsh, lambda a: np.linalg.eigvalsh(a), at.spd(3)),
    row(real_eig, lambda a: scaled_eigenvectors(a), real_eigenvalues),
    row(real_eigvals, lambda a: real_eigvals(a), real_eigenvalues),
    row(np.linalg.qr, lambda a: factors_together(*np.linalg.qr(a)), array(3, 3)),
    row(np.linalg.qr, lambda a: factors_together(*np.linalg.qr(a)), array(4, 3), note="tall"),
    row(np.linalg.svd, lambda a: np.linalg.svd(a)[1], array(3, 4)),
    row(np.linalg.svd, lambda a: first_singular_vectors(*np.linalg.svd(a)), array(4, 3), note="tall"),
    row(np.linalg.svd, lambda a: first_singular_vectors(*np.linalg.svd(a, False)), array(3, 4), note="thin"),
    row(np.linalg.cond, lambda x: np.linalg.cond(x), at.regular(3), tags="double"),
    row(np.linalg.cond, lambda x: np.linalg.cond(x, 1), at.regular(3), note="columns"),
    row(np.linalg.lstsq, lambda a, b: solution_and_misfit(*np.linalg.lstsq(a, b)), array(4, 2), vector(4)),
    row(
        np.linalg.lstsq,
        lambda a, b: solution_and_misfit(*np.linalg.lstsq(a, b)),
        array(4, 2),
        array(4, 2),
        note="matrix",
    ),
    row(np.linalg.norm, lambda x: np.linalg.norm(x), vector(3)),
    row(np.linalg.norm, lambda x: np.linalg.norm(x), array(2, 3), note="matrix"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, 2), vector(3), note="2"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, 1), vector(3), note="1"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, np.inf), vector(3), note="inf"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, -np.inf), vector(3), note="least"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, 3), vector(3), note="3"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, 1), array(2, 3), note="columns"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, np.inf), array(2, 3), note="rows"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, 2), array(2, 3), note="spectral"),
    row(np.linalg.norm, lambda x: np.linalg.norm(x, -2), array(3, 2), note="least-stretch"),
]

# -------------------------------------------------------------------------------------------------- constants and draws

CONSTANTS: list[Row] = [
    *constant((operator.floordiv, np.floor_divide), at.times_of_two, at.between_integers, positive),
    *constant((builtins.round, np.round, np.around, math.floor, math.ceil, math.trunc), at.times, at.between_integers),
    *constant(
        (np.floor, np.ceil, np.trunc, np.rint, np.sign, np.signbit, np.spacing, np.angle, np.imag),
        at.times,
        at.between_integers,
    ),
    *constant(
        (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne), at.chosen_by_two, real, positive
    ),
    *constant(
        (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), at.chosen_by_two, real, positive
    ),
    *constant((np.logical_and, np.logical_or, np.logical_xor), at.chosen_by_two, real, positive),
    *constant((np.logical_not, operator.not_), at.chosen_by, real),
    *constant((math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite), at.chosen_by, real),
    *constant((operator.and_, operator.or_, operator.xor), at.of_integers, real, at.small_integer, at.small_integer),
    *constant((operator.lshift, operator.rshift), at.of_integers, real, at.small_integer, at.small_integer),
    *constant(
        (np.bitwise_and, np.bitwise_or, np.bitwise_xor), at.of_integers, real, at.small_integer, at.small_integer
    ),
    *constant(
        (np.left_shift, np.right_shift, math.gcd, np.gcd, np.lcm),
        at.of_integers,
        real,
        at.small_integer,
        at.small_integer,
    ),
    *constant((operator.invert, np.invert), at.of_integer, real, at.small_integer),
    *constant((np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.flatnonzero), at.at_place, vector()),
    *constant((np.all, np.any, np.isrealobj, np.iscomplexobj), at.if_array, vector()),
    *constant(
        (np.eye, np.identity, np.hamming, np.hanning, np.bartlett, np.blackman),
        at.matrix_of,
        real,
        at.small_integer,
    ),
    Row(np.count_nonzero, lambda a: np.count_nonzero(a > 0.5) * a[0], numbers(vector()), (0,), frozenset({"constant"})),
    Row(np.nonzero, lambda a: a[np.nonzero(a > 0.5)[0]], numbers(vector()), (0,), frozenset({"constant"})),
    Row(
        np.searchsorted,
        lambda a, x: a[np.searchsorted(a, x)] * x,
        numbers(at.knots, fixed(2.2)),
        (0, 1),
        frozenset({"constant"}),
    ),
    Row(
        np.searchsorted,
        lambda a: a[np.searchsorted(a, 2.2, side="right")] ** 2,
        numbers(at.knots),
        (0,),
        frozenset({"constant"}),
        "right",
    ),
    Row(
        np.eye, lambda x: np.eye(3, k=1, dtype=np.float64) * x, numbers(real), (0,), frozenset({"constant"}), "options"
    ),
    Row(
        np.digitize,
        lambda x, a: a[np.digitize(x, a)] * x[0],
        numbers(fixed(np.array([1.1, 2.2])), at.knots),
        (0, 1),
        frozenset({"constant"}),
    ),
    Row(np.shape, lambda a: np.shape(a)[1] * a[0], numbers(array(2, 3)), (0,), frozenset({"constant"})),
    Row(np.size, lambda a: np.size(a) * a[0], numbers(array(2, 3)), (0,), frozenset({"constant"})),
    Row(
        np.isclose,
        lambda a, b: np.where(np.isclose(a, b), a, a * b),
        numbers(vector(), vector()),
        (0, 1),
        frozenset({"constant"}),
    ),
    Row(
        np.allclose,
        lambda a, b: a if np.allclose(a, b) else a * b,
        numbers(vector(), vector()),
        (0, 1),
        frozenset({"constant"}),
    ),
    Row(
        np.array_equal,
        lambda a, b: a if np.array_equal(a, b) else a * b,
        numbers(vector(), vector()),
        (0, 1),
        frozenset({"constant"}),
    ),
    Row(
        np.linalg.matrix_rank,
        lambda a: np.linalg.matrix_rank(a) * a[0],
        numbers(array(2, 3)),
        (0,),
        frozenset({"constant"}),
    ),
]

# Registered without an example: on static things or integers alone, without a result, or without a derivative rule.
WITHOUT_EXAMPLE: tuple[Any, ...] = (
    *WITHOUT_TRANSFORMS,
    stop_gradient, held, operator.is_, operator.is_not, operator.contains, operator.truth, np.isnat,
    np.isneginf, np.isposinf, np.isreal, np.iscomplex, np.isscalar, np.isin, np.argpartition, np.argwhere,
    np.broadcast_shapes,
    *sampling_rows.WITHOUT_EXAMPLE, *scipy_rows.WITHOUT_EXAMPLE, *scipy_linalg_rows.WITHOUT_EXAMPLE,
    *scipy_sample_rows.WITHOUT_EXAMPLE, *scipy_sparse_rows.WITHOUT_EXAMPLE,
)  # fmt: skip

ARRAYS: list[Row] = [
    *REDUCTIONS, *JOINING, *TURNING, *DIAGONALS, *PICKING, *GRIDS, *PRODUCTS, *LINEAR_ALGEBRA, *FOURIER,
]  # fmt: skip
TABLE: list[Row] = [
    *SCALARS, *ARRAYS, *CONSTANTS, *sampling_rows.DRAWS, *NUMPY, *MORE_NUMPY, *scipy_rows.NUMBERS, *scipy_rows.SUMS,
    *scipy_linalg_rows.LINEAR_ALGEBRA, *scipy_sample_rows.SAMPLES, *scipy_sparse_rows.MATRICES,
    *scipy_descriptive_rows.DESCRIPTIVE,
]  # fmt: skip
