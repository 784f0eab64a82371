"""Sparse matrices made inside, of diagonals and of each other, and what solves with them: SciPy's values."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjit

X = np.array([0.81, 0.57, 0.93, 1.37, 0.66, 1.12])
ROWS, COLUMNS = np.array([0, 1, 2, 0, 2, 1]), np.array([1, 2, 0, 0, 2, 1])


def tridiagonal(x):
    a = sp.diags([-x[:-1], 2 + x**2, -x[1:]], [-1, 0, 1], format="csc")
    return np.sum(sla.spsolve(a, x) ** 2)


def laplacian_of_a_grid(x):
    n = x.size
    second, one = sp.diags([1, -2, 1], [-1, 0, 1], shape=(n, n)), sp.eye(n)
    whole = sp.kron(second, one) + sp.kron(one, second)
    u = np.outer(x, np.sin(x)).ravel()
    return u @ (whole @ u) + (second.T @ x).sum() + np.sum((second @ second).diagonal() * x)


def factorised(x):
    a = sp.csr_matrix((x, (ROWS, COLUMNS)), shape=(3, 3))
    b = a.T @ a + 0.5 * sp.identity(3)
    lu, solve, given = sla.splu(b.tocsc()), sla.factorized(b.tocsc()), np.array([1.0, 2.0, 3.0])
    return np.sum(lu.solve(given) * solve(given * x[0])) + (a - b).sum() + a.multiply(x[:3]).sum()


def graph(x):
    w = sp.csr_matrix((x, ([0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 0])), shape=(4, 4))
    w = w + w.T
    degrees = np.asarray(w.sum(axis=1)).ravel()
    scale = sp.diags(1 / np.sqrt(degrees))
    normal = scale @ (sp.diags(degrees) - w) @ scale
    return np.sum(normal.toarray() ** 2) + np.sum(w.sum(axis=0).A1 ** 2) * x[0] + (2 * w).multiply(w).sum() * w[0, 1]


def in_blocks(x):
    a, b = sp.diags([x, x[:5]], [0, 1]), sp.eye(6, format="csr") * x[0]
    whole = sp.bmat([[a, b], [None, a]], format="csr")
    more = sp.block_diag((a, np.outer(x[:2], x[:2]))).sum() + sp.tril(whole).sum() * sp.triu(whole, k=1).sum()
    shifted = sp.spdiags(np.vstack((x, x * x)), [0, -1], 6, 6).tocsr().dot(x).sum()
    v = np.r_[x, x**2]
    below, beside = sp.vstack([a, b]).tocsr(), sp.hstack((a, b))
    return v @ (whole @ v) + np.sum((below @ x) ** 2) + np.sum(beside @ v) + more + whole[0, 6] + shifted


def of_arrays(x):
    a = sp.csr_array((x, (ROWS, COLUMNS)), shape=(3, 3))
    solved = sla.spsolve(a.tocsc(), x[:3]) + sla.spsolve_triangular(sp.tril(a).tocsr(), x[:3])
    return np.sum((a * a).toarray()) + np.sum((a**2) @ x[:3]) + np.sum(a.sum(axis=0) ** 2) + np.sum(solved)


PROGRAMS = [tridiagonal, laplacian_of_a_grid, factorised, graph, in_blocks, of_arrays]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), rel=1e-12)
    sides = [(function(X + h) - function(X - h), function(X + 2 * h) - function(X - 2 * h)) for h in np.eye(6) * 1e-4]
    np.testing.assert_allclose(bar, [(8 * near - far) / 12e-4 for near, far in sides], rtol=1e-8, atol=1e-8)


@pytest.mark.long
def test_compiled_and_twice() -> None:
    np.testing.assert_allclose(adjit.grad(tridiagonal)(X), adjit.grad(tridiagonal, target="python")(X), rtol=1e-12)
    adjit.check_grads(tridiagonal, (X,), order=2, target="python")


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="too short"):
        adjit.grad(lambda x: sp.diags([x, x], [0, -2], shape=(9, 9)).sum(), target="python")(X)
    with pytest.raises(ValueError, match="inconsistent shapes"):
        adjit.grad(lambda x: (sp.diags(x) + sp.eye(5)).sum(), target="python")(X)
