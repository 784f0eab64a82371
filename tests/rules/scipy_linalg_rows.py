"""Rows of the rule table for SciPy's functions of arrays: linear algebra, integrals, distances, filters."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjit.rules.numpy.linalg.triangular import (
    banded_solve,
    eliminated,
    exchanges,
    is_positive_definite,
    lower_solve,
    order_of_rows,
    upper_solve,
)
from adjit.rules.scipy.linalg.matrices import principal_root
from tests.rules import rows as at
from tests.rules.rows import Row, array, row, vector

SOLVES: list[Row] = [
    row(linalg.solve, lambda a, b: linalg.solve(a, b), at.regular(2), vector(2)),
    row(linalg.solve, lambda a, b: linalg.solve(a @ a.T, b, assume_a="pos"), at.regular(2), array(2, 2), note="spd"),
    row(linalg.solve_triangular, lambda a, b: linalg.solve_triangular(a, b, lower=True), at.regular(3), vector(3)),
    row(
        linalg.solve_triangular,
        lambda a, b: linalg.solve_triangular(a, b, trans="T", unit_diagonal=True),
        at.regular(2),
        array(2, 2),
        note="turned",
    ),
    row(linalg.solve_banded, lambda ab, b: linalg.solve_banded((1, 2), ab, b), at.positive_array(4, 4), vector(4)),
    row(linalg.inv, lambda a: linalg.inv(a), at.regular(2)),
    row(linalg.det, lambda a: linalg.det(a), at.regular(2)),
    row(linalg.norm, lambda a: linalg.norm(a), array(2, 3)),
    row(linalg.norm, lambda a: linalg.norm(a, axis=1), array(2, 3), note="axis1"),
    row(linalg.pinv, lambda a: linalg.pinv(a), array(3, 2), tags="double"),
    row(linalg.lstsq, lambda a, b: linalg.lstsq(a, b)[0], array(3, 2), vector(3), tags="double"),
]

FACTORS: list[Row] = [
    row(linalg.cholesky, lambda a: linalg.cholesky(a), at.spd(2)),
    row(linalg.cholesky, lambda a: linalg.cholesky(a, lower=True), at.spd(2), note="lower"),
    row(linalg.cho_factor, lambda a: np.triu(linalg.cho_factor(a)[0]), at.spd(2)),
    row(
        linalg.cho_solve,
        lambda a, b: linalg.cho_solve(linalg.cho_factor(a, lower=True), b),
        at.spd(2),
        vector(2),
    ),
    row(linalg.lu_factor, lambda a: linalg.lu_factor(a)[0], at.regular(3)),
    row(linalg.lu_solve, lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), at.regular(3), vector(3)),
    row(
        linalg.lu_solve,
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1),
        at.regular(2),
        vector(2),
        note="turned",
    ),
    row(linalg.lu, lambda a: linalg.lu(a)[1] @ linalg.lu(a)[0], at.regular(2)),
    row(linalg.qr, lambda a: linalg.qr(a, mode="economic")[1], array(3, 2), tags="double"),
    row(linalg.svd, lambda a: linalg.svd(a, full_matrices=False)[1], array(3, 2), tags="double"),
    row(linalg.svdvals, lambda a: linalg.svdvals(a), array(2, 2), tags="double"),
    row(linalg.eigh, lambda a: linalg.eigh(a)[1] ** 2, at.spd(2), tags="double"),
    row(linalg.eigh, lambda a, b: linalg.eigh(a, b)[1] ** 2, at.spd(2), at.spd(2), tags="double", note="general"),
    row(linalg.eigvalsh, lambda a, b: linalg.eigvalsh(a, b), at.spd(2), at.spd(2), tags="double"),
]

EQUATIONS: list[Row] = [
    row(linalg.sqrtm, lambda A: linalg.sqrtm(A @ A), at.regular(2), tags="double long"),
    row(
        linalg.solveh_banded,
        lambda ab, b: linalg.solveh_banded(ab + [[0.0], [4.0]], b),
        at.positive_array(2, 4),
        vector(4),
        tags="double",
    ),
    row(linalg.expm, lambda A: linalg.expm(A), array(2, 2)),
    row(linalg.expm, lambda A: linalg.expm(9.0 * A), array(2, 2), tags="double", note="squared"),
    row(
        linalg.solve_sylvester,
        lambda a, b, q: linalg.solve_sylvester(a, b, q),
        at.spd(2),
        at.spd(2),
        array(2, 2),
        tags="double",
    ),
    row(linalg.solve_continuous_lyapunov, lambda a, q: linalg.solve_continuous_lyapunov(a, q), at.spd(2), array(2, 2)),
    row(
        linalg.solve_discrete_lyapunov,
        lambda a, q: linalg.solve_discrete_lyapunov(0.1 * a, q),
        at.spd(2),
        array(2, 2),
        tags="double",
    ),
]

PATTERNS: list[Row] = [
    row(linalg.khatri_rao, lambda a, b: linalg.khatri_rao(a, b), array(2, 3), array(3, 3)),
    row(linalg.companion, lambda a: linalg.companion(a), vector(4)),
    row(linalg.leslie, lambda f, s: linalg.leslie(f, s), vector(3), vector(2)),
    row(linalg.toeplitz, lambda c: linalg.toeplitz(c), vector(3)),
    row(linalg.toeplitz, lambda c, r: linalg.toeplitz(c, r), vector(3), vector(2), note="of-two"),
    row(linalg.circulant, lambda c: linalg.circulant(c), vector(3)),
    row(linalg.hankel, lambda c: linalg.hankel(c), vector(3)),
    row(linalg.hankel, lambda c, r: linalg.hankel(c, r), vector(3), vector(2), note="of-two"),
    row(linalg.block_diag, lambda a, b: linalg.block_diag(a, [[1.0]], b), array(2, 2), vector(2), tags="double"),
    row(
        linalg.solve_toeplitz,
        lambda c, b: linalg.solve_toeplitz(c + [4.0, 0.0], b),
        vector(2),
        vector(2),
        tags="double",
    ),
    row(linalg.solve_circulant, lambda c, b: linalg.solve_circulant(c, b), vector(3), vector(3), tags="double"),
]

LINEAR_ALGEBRA: list[Row] = [*SOLVES, *FACTORS, *EQUATIONS, *PATTERNS]

# What rules call, and what is refused.
_CALLED_BY_RULES = (
    lower_solve, upper_solve, banded_solve, eliminated, exchanges, order_of_rows, principal_root,
    is_positive_definite,
)  # fmt: skip
_REFUSED = (
    linalg.logm, linalg.fractional_matrix_power, linalg.funm, linalg.signm, linalg.sinm, linalg.cosm, linalg.tanm,
    linalg.sinhm, linalg.coshm, linalg.tanhm, linalg.eig, linalg.eigvals, linalg.orth, linalg.null_space, linalg.schur,
    linalg.hessenberg,
)  # fmt: skip
WITHOUT_EXAMPLE = (*_REFUSED, *_CALLED_BY_RULES, *(f.py_func for f in _CALLED_BY_RULES))
