"""Solvers of scipy.sparse.linalg: refused by name, with what solves such systems here.

In: a call of one. Out: the refusal, which says what to write.
"""

import scipy.sparse.linalg as sla

from adjit.rules.registry import builtin

decomposition = builtin.decomposition


@decomposition(sla.spsolve, sla.splu, sla.spilu, sla.factorized, sla.spsolve_triangular, sla.inv)
def direct(*given, **named):
    raise NotImplementedError(
        "a sparse factorisation: write np.linalg.solve(A.toarray(), b), scipy.linalg.solve_banded, or the iterations"
    )


@decomposition(sla.cg, sla.bicgstab, sla.gmres, sla.minres, sla.lsqr, sla.lsmr)
def iterated(*given, **named):
    raise NotImplementedError("an iterative solver of SciPy: write its iterations out, with A @ p, in a loop")


@decomposition(sla.expm, sla.expm_multiply, sla.norm, sla.eigs, sla.eigsh, sla.svds)
def other(*given, **named):
    raise NotImplementedError("this function of sparse matrices: take .toarray(), and what np.linalg has for it")
