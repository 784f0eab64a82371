"""Solvers of scipy.sparse.linalg: spsolve, factorized, splu and spsolve_triangular; others are refused by name.

In: a sparse matrix, and right sides. Out: the solution, by elimination within the band that the elements take, or,
where that is wide, of the dense matrix: SciPy's SuperLU takes the columns in another order, which changes roundings.

    x = spsolve(A, b)      (below, above) = band of A;  x = banded_solve(below, above, diagonals of A, b)
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse.linalg as sla

from adjit.rules.numpy.linalg.triangular import banded_solve
from adjit.rules.registry import builtin

decomposition = builtin.decomposition


def band_of(row, col):
    """How far elements are below and above the diagonal at most."""
    below, above = 0, 0
    for k in range(row.size):
        below, above = max(below, row[k] - col[k]), max(above, col[k] - row[k])
    return below, above


def solution(A, b):
    if A.shape[0] != A.shape[1]:
        raise ValueError("matrix must be square")
    places, given = A.tocoo(), np.ascontiguousarray(np.asarray(b) * 1.0)
    below, above = band_of(places.row, places.col)
    if 3 * (below + above + 1) > A.shape[0]:
        return np.linalg.solve(places.toarray(), given)
    diagonals = np.zeros((below + above + 1, A.shape[0]))
    for k in range(places.data.size):
        diagonals[above + places.row[k] - places.col[k], places.col[k]] += places.data[k]
    return banded_solve(below, above, diagonals, given)


@decomposition(sla.spsolve)
def spsolve(A, b, permc_spec=None, use_umfpack=True):
    found = solution(A, b.toarray() if hasattr(b, "toarray") else b)
    # one column is a vector in SciPy
    return found.ravel() if np.ndim(found) == 2 and found.shape[1] == 1 else found


@decomposition(sla.spsolve_triangular)
def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    if unit_diagonal:
        raise NotImplementedError(
            "scipy.sparse.linalg.spsolve_triangular with unit_diagonal: store ones on the "
            "diagonal")
    return solution(A, b)


@dataclass(frozen=True, eq=False)
class SuperLU:
    """What splu gives: it solves with the matrix."""

    matrix: Any

    KNOWN: ClassVar[tuple[str, ...]] = ("shape", "solve")

    @property
    def shape(self):
        return self.matrix.shape

    def solve(self, rhs, trans="N"):
        return solution(self.matrix if trans == "N" else self.matrix.T, rhs)


@decomposition(sla.splu)
def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None):
    return SuperLU(A)


@decomposition(sla.factorized)
def factorized(A):
    return lambda b: solution(A, b)


@decomposition(sla.inv)
def inv(A):
    raise NotImplementedError("the inverse of a sparse matrix: write spsolve(A, b), or np.linalg.inv(A.toarray())")


@decomposition(sla.spilu)
def spilu(*given, **named):
    raise NotImplementedError("an incomplete factorisation: write splu(A), which is exact")


@decomposition(sla.cg, sla.bicgstab, sla.gmres, sla.minres, sla.lsqr, sla.lsmr)
def iterated(*given, **named):
    raise NotImplementedError("an iterative solver of SciPy: write spsolve(A, b), or its iterations, with A @ p")


@decomposition(sla.expm, sla.expm_multiply, sla.norm, sla.eigs, sla.eigsh, sla.svds)
def other(*given, **named):
    raise NotImplementedError("this function of sparse matrices: use .toarray() and a function of np.linalg")
