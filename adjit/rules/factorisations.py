"""Factorisations: Cholesky, QR, eigenvalues, singular values; and least squares, which rest on them.

In: matrices of floats. Out: the tangents of all factors. The vectors of equal eigenvalues or singular values may turn
into each other, and by how much nobody knows. Where the values are not used beside the vectors (`wanted`), what is
differentiable does not depend on that, such as projections on all vectors of a value: they are taken not to turn.
Where they are, as in functions of the matrix, it does by how the values are used: inf or nan.

    q, r = np.linalg.qr(a)      with m = q.T @ a_dot @ inv(r):  r_dot = (upper part of m) @ r;  q_dot = ...
"""

import numpy as np

from adjit.rules.linear_algebra import check_independent, pinv
from adjit.rules.of_real_numbers import real_eig, real_eigvals
from adjit.rules.registry import builtin

tangent, decomposition = builtin.tangent, builtin.decomposition

# ------------------------------------------------------------------------------------------------ of symmetric matrices


def symmetric(a):
    """The symmetric matrix with the lower triangle of `a`: what LAPACK reads of it."""
    return np.tril(a) + np.tril(a, -1).T


@tangent(np.linalg.cholesky)
def cholesky(a, a_dot, *, x):
    # L' is L times the lower triangle, its diagonal halved, of inv(L) A' inv(L).T (Murray 2016)
    inner = np.linalg.solve(x, np.linalg.solve(x, symmetric(a_dot)).T)
    halved = np.tril(inner)
    for k in range(a.shape[0]):
        halved[k, k] = 0.5 * inner[k, k]
    return np.dot(x, halved)


@tangent(np.linalg.eigh)
def eigh(a, a_dot, *, y, wanted):
    values, vectors = y
    inner = np.dot(np.dot(vectors.T, symmetric(a_dot)), vectors)
    values_dot, mixed = spectrum_dot(a, values, inner, -1.0 if wanted[0] else rounding_of(values, a))
    return values_dot, np.dot(vectors, mixed)


@tangent(np.linalg.eigvalsh)
def eigvalsh(a, a_dot, *, y):
    _, vectors = np.linalg.eigh(a)
    return eigenvalues_dot(a, np.dot(np.dot(vectors.T, symmetric(a_dot)), vectors))


def rounding_of(values, a):
    """How far values that are equal may be apart by rounding."""
    return 8 * values.size * np.finfo(a.dtype).eps * np.max(np.abs(values)) if values.size > 0 else 0.0


def spectrum_dot(a, values, inner, nearest):
    """The tangents of eigenvalues, and those of the eigenvectors in terms of these, from inv(vectors) a_dot vectors.

    Vectors of values that are no more than `nearest` apart do not turn into each other.
    """
    n = a.shape[0]
    values_dot = np.empty(n, a.dtype)
    mixed = np.zeros((n, n), a.dtype)
    for j in range(n):
        values_dot[j] = inner[j, j]
        for i in range(n):
            gap = values[j] - values[i]
            if i != j and abs(gap) > nearest:
                mixed[i, j] = inner[i, j] / gap
    return values_dot, mixed


def eigenvalues_dot(a, inner):
    """The tangents of the eigenvalues alone."""
    values_dot = np.empty(a.shape[0], a.dtype)
    for k in range(a.shape[0]):
        values_dot[k] = inner[k, k]
    return values_dot


# ------------------------------------------------------------------------------------------------- of square matrices


@tangent(real_eig)
def eig(a, a_dot, *, y, wanted):
    # the eigenvectors keep length 1
    values, vectors = y
    check_independent(vectors, np.finfo(a.dtype).eps)
    inner = np.linalg.solve(vectors, np.dot(a_dot, vectors))
    values_dot, mixed = spectrum_dot(a, values, inner, -1.0 if wanted[0] else rounding_of(values, a))
    vectors_dot = np.dot(vectors, mixed)
    for j in range(a.shape[0]):
        stretch = np.sum(vectors[:, j] * vectors_dot[:, j])
        for i in range(a.shape[0]):
            mixed[i, j] = vectors_dot[i, j] - stretch * vectors[i, j]
    return values_dot, mixed


@tangent(real_eigvals)
def eigvals(a, a_dot, *, y):
    _, vectors = real_eig(a)
    check_independent(vectors, np.finfo(a.dtype).eps)
    return eigenvalues_dot(a, np.linalg.solve(vectors, np.dot(a_dot, vectors)))


# -------------------------------------------------------------------------------------------- of rectangular matrices


@tangent(np.linalg.qr)
def qr(a, a_dot, *, y):
    # with m = q' a_dot inv(r), of full column rank: q' q_dot is the antisymmetric matrix with m's lower triangle
    q, r = y
    if a.shape[0] < a.shape[1]:
        raise NotImplementedError(
            "np.linalg.qr of a matrix with more columns than rows has no derivative: factorise its first columns"
        )
    if a.size > 0:
        sizes = np.abs(np.diag(r))
        largest = np.max(sizes)
        raised = np.empty_like(sizes)
        raised[:] = largest + sizes / 1024
        if np.min(raised) == largest:
            # a column is what those before it give, up to rounding: not even a digit or two of inv(r) would be right
            raise np.linalg.LinAlgError("np.linalg.qr is not differentiable where the columns are linearly dependent")
    scaled = np.linalg.solve(r.T, a_dot.T).T
    inner = np.dot(q.T, scaled)
    turn = np.tril(inner, -1) - np.tril(inner, -1).T
    return scaled - np.dot(q, inner - turn), np.dot(inner - turn, r)


@tangent(np.linalg.svd)
def svd(a, full_matrices=1, a_dot=0.0, *, y, wanted):
    # u_dot = u turn + what leaves the span of u; vectors that complete a basis turn as little as they can
    u, s, vt = y
    nearest = -1.0 if wanted[1] else rounding_of(s, a)
    inner = np.dot(np.dot(u.T, a_dot), vt.T)
    count = s.size
    s_dot = np.empty(count, a.dtype)
    turn_u, turn_v = np.zeros((u.shape[1], u.shape[1]), a.dtype), np.zeros((vt.shape[0], vt.shape[0]), a.dtype)
    for j in range(count):
        s_dot[j] = inner[j, j]
        for i in range(count):
            if i != j:
                # what u and v turn by together, and against each other
                together = against = a.dtype.type(0)
                if abs(s[j] - s[i]) > nearest:
                    together = 0.5 * (inner[i, j] + inner[j, i]) / (s[j] - s[i])
                if s[j] + s[i] > nearest:
                    against = 0.5 * (inner[i, j] - inner[j, i]) / (s[j] + s[i])
                turn_u[i, j] = together + against
                turn_v[i, j] = together - against
        for i in range(count, u.shape[1]):
            turn_u[i, j] = inner[i, j] / s[j]
            turn_u[j, i] = -inner[i, j] / s[j]
        for i in range(count, vt.shape[0]):
            turn_v[i, j] = inner[j, i] / s[j]
            turn_v[j, i] = -inner[j, i] / s[j]
    u_dot, v_dot = np.dot(u, turn_u), np.dot(vt.T, turn_v)
    if u.shape[1] < u.shape[0]:
        across = np.dot(a_dot, vt.T)
        u_dot += (across - np.dot(u, np.dot(u.T, across)))[:, : u.shape[1]] / s
    if vt.shape[0] < vt.shape[1]:
        across = np.dot(a_dot.T, u)
        v_dot += (across - np.dot(vt.T, np.dot(vt, across)))[:, : vt.shape[0]] / s
    return u_dot, s_dot, v_dot.T


@decomposition(np.linalg.cond)
def cond(x, p=None):
    if p is None or p == 2 or p == -2:
        _, s, _ = np.linalg.svd(x)
        return s[s.size - 1] / s[0] if p == -2 else s[0] / s[s.size - 1]
    return np.linalg.norm(x, p) * np.linalg.norm(np.linalg.inv(x), p)


# -------------------------------------------------------------------------------------------------------- least squares


@tangent(np.linalg.lstsq)
def lstsq(a, b, rcond=-1.0, a_dot=0.0, b_dot=0.0, *, y):
    # of constant rank: then x is the pseudo-inverse times b
    x, residuals, _, s = y
    inverse = np.linalg.pinv(a)
    x_dot = np.dot(pinv(a, 1e-15, a_dot, x=inverse), b) + np.dot(inverse, b_dot)
    missed, missed_dot = b - np.dot(a, x), b_dot - np.dot(a_dot, x)
    residuals_dot = np.zeros(residuals.size, a.dtype)
    if b.ndim == 1:
        residuals_dot[:] = 2.0 * np.sum(missed * missed_dot)
    else:
        for k in range(residuals.size):
            residuals_dot[k] = 2.0 * np.sum(missed[:, k] * missed_dot[:, k])
    u, _, vt = np.linalg.svd(a, False)
    s_dot = np.empty(s.size, a.dtype)
    for k in range(s.size):
        s_dot[k] = np.sum(np.outer(u[:, k], vt[k]) * a_dot)
    return x_dot, residuals_dot, 0, s_dot
