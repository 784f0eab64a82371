"""Rows of the rule table for SciPy's sparse matrices, made of their elements inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from tests.rules.rows import Row, row, vector

INDICES, RUNS = np.array([0, 2, 1, 3, 3, 0]), np.array([0, 2, 2, 5, 6])
FIRST, SECOND = np.array([2, 0, 1, 2, 0, 3]), np.array([1, 3, 0, 1, 2, 3])  # of which one is there twice

MATRICES: list[Row] = [
    row(sp.csr_matrix, lambda d, x: sp.csr_matrix((d, INDICES, RUNS), shape=(4, 4)) @ x, vector(6), vector(4)),
    row(sp.csc_matrix, lambda d, x: x @ sp.csc_matrix((d, (FIRST, SECOND))) * 0.5, vector(6), vector(4)),
    row(sp.csr_array, lambda d, x: sp.csr_array((d, (FIRST, SECOND))).T.dot(x), vector(6), vector(4)),
    row(sp.csc_array, lambda d: sp.csc_array((d, INDICES, RUNS)).sum(axis=1), vector(6)),
    row(sp.coo_matrix, lambda d: sp.coo_matrix((d, (FIRST, SECOND)), shape=(4, 5)).tocsr().data, vector(6)),
    row(sp.coo_array, lambda d: (d[0] * sp.coo_array((d, (FIRST, SECOND))).tocsc()).toarray(), vector(6)),
]

WITHOUT_EXAMPLE: tuple[Any, ...] = (
    sp.issparse,
    # what tests/rules/test_scipy_sparse_made.py is of
    sp.diags, sp.diags_array, sp.spdiags, sp.eye, sp.eye_array, sp.identity, sp.kron, sp.kronsum, sp.hstack, sp.vstack,
    sp.bmat, sp.block_array, sp.block_diag, sp.tril, sp.triu, sla.spsolve, sla.splu, sla.factorized,
    sla.spsolve_triangular,
    # which are refused, with what to write
    sp.lil_matrix, sp.lil_array, sp.dok_matrix, sp.dok_array, sp.dia_matrix, sp.dia_array, sp.random, sp.rand,
    sp.random_array, sla.spilu, sla.inv, sla.cg, sla.bicgstab, sla.gmres, sla.minres, sla.lsqr, sla.lsmr, sla.expm,
    sla.expm_multiply, sla.norm, sla.eigs, sla.eigsh, sla.svds,
)  # fmt: skip
