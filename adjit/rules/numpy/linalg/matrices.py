"""Products, solves, determinants and norms: calls of BLAS and LAPACK that stay calls.

In: matrices and vectors of floats. Out: the tangent, as a textbook states it (Giles 2008, "Collected matrix derivative
results"), or the transpose of an op that is linear in an argument.

    x = np.linalg.solve(A, b)      z = np.linalg.solve(A.T, x_bar);  b_bar += z;  A_bar -= np.outer(z, x)
"""

import math
import operator

import numba
import numpy as np

from adjit.rules.registry import builtin

tangent, linear, adjoint, decomposition = builtin.tangent, builtin.linear, builtin.adjoint, builtin.decomposition

# ------------------------------------------------------------------------------------------------------------- products


# Expressions where there is no sum, which are added to an adjoint as they are worked out.
linear(np.dot, operator.matmul, np.vdot, argument=0, transpose=lambda a, b, *, y, y_bar: (
    y_bar * b if a.ndim == 1 and b.ndim == 1
    else np.dot(b, y_bar) if a.ndim == 1
    else y_bar[:, np.newaxis] * b if b.ndim == 1
    else np.dot(y_bar, b.T)
))  # fmt: skip
linear(np.dot, operator.matmul, np.vdot, argument=1, transpose=lambda a, b, *, y, y_bar: (
    y_bar * a if a.ndim == 1 and b.ndim == 1
    else a[:, np.newaxis] * y_bar if a.ndim == 1
    else np.dot(a.T, y_bar)
))  # fmt: skip


tangent(np.dot, operator.matmul, np.vdot)(lambda a, b, a_dot, b_dot, *, y: np.dot(a_dot, b) + np.dot(a, b_dot))
decomposition(np.outer)(lambda a, b: a.ravel().reshape(-1, 1) * b.ravel().reshape(1, -1))


@decomposition(np.kron)
def kron(a, b):
    if a.ndim == 1 and b.ndim == 1:
        return np.outer(a, b).ravel()
    rows, columns = b.shape
    none = np.zeros(0, a.dtype) * np.zeros(0, b.dtype)
    out = np.empty((a.shape[0] * rows, a.shape[1] * columns), none.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns] = a[i, j] * b
    return out


@decomposition(np.cross)
def cross(a, b):
    if a.shape[a.ndim - 1] != 3 or b.shape[b.ndim - 1] != 3:
        raise NotImplementedError("np.cross of vectors that do not have three components: append a zero")
    if a.ndim == 1 and b.ndim == 1:
        found = np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
        kind = (a[:0] * b[:0]).dtype
        return found if kind == found.dtype else found.astype(kind)
    first = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out = np.empty(first.shape + (3,), first.dtype)
    out[..., 0] = first
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


@decomposition(np.linalg.matrix_power)
def matrix_power(a, n):
    if n == 1:
        return a
    base = np.linalg.inv(a) if n < 0 else a
    power = np.zeros(a.shape, a.dtype)
    for k in range(a.shape[0]):
        power[k, k] = 1.0
    for _ in range(abs(n)):
        power = np.dot(power, base)
    return power


@decomposition(math.dist)
def dist(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        total += (a - b) * (a - b)
    # 0 where the points are one, as a norm's at the zero vector
    return total if total == 0.0 else total**0.5


# ----------------------------------------------------------------------------------------------------- solves, inverses


tangent(np.linalg.solve)(lambda a, b, a_dot, b_dot, *, x: np.linalg.solve(a, b_dot - np.dot(a_dot, x)))
tangent(np.linalg.inv)(lambda a, a_dot, *, x: -np.dot(np.dot(x, a_dot), x))


def solve_transpose(a, b, *, x, x_bar):
    # in the layout of the primal's own solve, which is compiled already: each further one costs numba seconds
    return np.linalg.solve(np.ascontiguousarray(a.T), np.ascontiguousarray(x_bar))


@adjoint(np.linalg.solve)
def solve_adjoint(a, b, *, x, x_bar):
    b_bar = solve_transpose(a, b, x=x, x_bar=x_bar)
    if b.ndim == 1:
        return np.outer(-b_bar, x), b_bar
    return np.dot(-b_bar, x.T), b_bar


linear(np.linalg.solve, argument=1, transpose=solve_transpose)


@tangent(np.linalg.pinv)
def pinv(a, rcond=1e-15, a_dot=0.0, *, x):
    # Golub and Pereyra 1973, for a of constant rank
    left = a_dot.T - np.dot(np.dot(a_dot.T, a), x)
    right = a_dot.T - np.dot(np.dot(x, a), a_dot.T)
    outside = np.dot(np.dot(x, x.T), left) + np.dot(np.dot(right, x.T), x)
    return outside - np.dot(np.dot(x, a_dot), x)


# --------------------------------------------------------------------------------------------------------- determinants


@numba.njit
def without(a, row, column):
    """`a` without one row and one column."""
    n = a.shape[0]
    minor = np.empty((n - 1, n - 1), a.dtype)
    for i in range(n - 1):
        for j in range(n - 1):
            minor[i, j] = a[i if i < row else i + 1, j if j < column else j + 1]
    return minor


@numba.njit
def cofactors(a):
    """The matrix of cofactors, det(a) inv(a).T, shape (n, n), of a singular matrix as well.

    There by singular values: the cofactors of U diag(s) V' are det(U) det(V') U diag(product of the other s) V'.
    """
    n = a.shape[0]
    determinant = np.linalg.det(a)
    found = np.empty((n, n), a.dtype)
    if determinant != 0.0:
        inverse = np.linalg.inv(a)
        for i in range(n):
            for j in range(n):
                found[i, j] = determinant * inverse[j, i]
        return found
    u, s, vt = np.linalg.svd(a)
    sign = np.linalg.det(np.dot(u, vt))
    scaled = np.empty_like(u)
    for k in range(n):
        others = sign
        for j in range(n):
            if j != k:
                others *= s[j]
        for i in range(n):
            scaled[i, k] = u[i, k] * others
    return np.dot(scaled, vt)


tangent(np.linalg.det)(lambda a, a_dot, *, y: np.sum(cofactors(a) * a_dot))
tangent(np.linalg.slogdet)(lambda a, a_dot, *, y: (0.0, np.sum(np.linalg.inv(a).T * a_dot)))


@tangent(cofactors)
def cofactors_dot(a, a_dot, *, c):
    n = a.shape[0]
    determinant = np.linalg.det(a)
    if determinant != 0.0:
        return ((np.sum(c * a_dot) * c - np.dot(np.dot(c, a_dot.T), c)) / determinant).astype(a.dtype)
    c_dot = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            share = np.sum(cofactors(without(a, i, j)) * without(a_dot, i, j))
            c_dot[i, j] = share if (i + j) % 2 == 0 else -share
    return c_dot


# ---------------------------------------------------------------------------------------------------------------- norms


@tangent(np.linalg.norm)
def norm(x, ord=None, x_dot=0.0, *, y):
    if ord is None:
        return euclidean_norm_dot(x, x_dot, y)
    if x.ndim == 1:
        return vector_norm_dot(x, ord, x_dot, y)
    return matrix_norm_dot(x, ord, x_dot, y)


def euclidean_norm_dot(x, x_dot, y):
    along = np.sum(x * x_dot)
    # 0 at the zero vector
    return 0.0 if y == 0 else along / y


def vector_norm_dot(x, ord, x_dot, y):
    if ord == 2:
        return euclidean_norm_dot(x, x_dot, y)
    y_dot, count = 0.0, 0
    for k in range(x.size):
        if ord == np.inf or ord == -np.inf:
            # equal shares among the tied elements
            if abs(x[k]) == y:
                y_dot += np.sign(x[k]) * x_dot[k]
                count += 1
        elif ord == 1:
            y_dot += np.sign(x[k]) * x_dot[k]
        elif ord != 0 and y > 0 and x[k] != 0:
            y_dot += np.sign(x[k]) * (abs(x[k]) / y) ** (ord - 1) * x_dot[k]
    return y_dot / count if count > 0 else y_dot


def matrix_norm_dot(x, ord, x_dot, y):
    if abs(ord) == 2:
        return singular_value_dot(x, ord == 2, x_dot, y)
    slopes = np.sign(x) * x_dot
    if abs(ord) == 1:
        sums, sums_dot = np.sum(np.abs(x), axis=0), np.sum(slopes, axis=0)
    else:
        sums, sums_dot = np.sum(np.abs(x), axis=1), np.sum(slopes, axis=1)
    # equal shares among the tied rows or columns
    y_dot, count = 0.0, 0
    for k in range(sums.size):
        if sums[k] == y:
            y_dot += sums_dot[k]
            count += 1
    return y_dot / count if count > 0 else y_dot


def singular_value_dot(x, is_largest, x_dot, y):
    # u' x_dot v; the singular vector of the shorter side is the Gram matrix's, so that eigh's rule takes it further
    is_tall = x.shape[0] >= x.shape[1]
    _, vectors = np.linalg.eigh(np.dot(x.T, x) if is_tall else np.dot(x, x.T))
    vector = vectors[:, vectors.shape[1] - 1 if is_largest else 0].copy()
    along = np.dot(np.dot(x_dot, vector), np.dot(x, vector)) if is_tall else np.dot(
        np.dot(vector, x_dot), np.dot(vector, x)
    )
    # 0 where it is 0, as of other norms
    return 0.0 if y == 0 else along / y


def check_independent(vectors, eps):
    """LinAlgError where two eigenvectors, of length 1, are one up to roundings: the matrix is defective there, and the
    eigenvalues move by roots of its change."""
    for i in range(vectors.shape[1]):
        for j in range(i):
            share = np.sum(np.conj(vectors[:, i]) * vectors[:, j])
            rest = 0.0
            for k in range(vectors.shape[0]):
                rest += abs(vectors[k, j] - share * vectors[k, i]) ** 2
            if rest <= (8.0 * eps) ** 2:
                raise np.linalg.LinAlgError(
                    "np.linalg.eig of a defective matrix has no derivative: two "
                    "eigenvectors are equal")
