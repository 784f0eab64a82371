"""Factorisations: Cholesky, QR, eigenvalues, singular values; and least squares, which rest on them.

In: matrices of floats. Out: the tangents of all factors. The vectors of equal eigenvalues or singular values may turn
into each other, and by how much nobody knows. Where the values are not used beside the vectors (`wanted`), what is
differentiable does not depend on that, such as projections on all vectors of a value: they are taken not to turn.
Where they are, as in functions of the matrix, it does by how the values are used: inf or nan.

    q, r = np.linalg.qr(a)      with m = q.T @ a_dot @ inv(r):  r_dot = (upper part of m) @ r;  q_dot = ...
"""

import numba
import numpy as np

from adjit.rules.numpy.linalg.matrices import check_independent, pinv
from adjit.rules.numpy.real_or_complex import real_eig, real_eigvals
from adjit.rules.registry import builtin

tangent, linear, adjoint, decomposition = builtin.tangent, builtin.linear, builtin.adjoint, builtin.decomposition

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
def eigh(a, a_dot, *, y):
    values, vectors = y
    inner = np.dot(np.dot(vectors.T, symmetric(a_dot)), vectors)
    return eigenvalues_dot(a, inner), np.dot(vectors, turns(inner, values, np.empty(0, np.int64)))


@adjoint(np.linalg.eigh)
def eigh_adjoint(a, *, y, y_bar, wanted):
    inner = spectral_bar(y, y_bar, wanted, np.empty(0, np.int64))
    return of_lower(np.dot(np.dot(y[1], inner), y[1].T))


def spectral_bar(y, y_bar, wanted, spaces):
    """The adjoint of the matrix in terms of its eigenvectors, from those of eigenvalues and vectors."""
    values, vectors = y[0], y[1]
    inner = turns_asked_for(np.dot(vectors.T, y_bar[1]), values, spaces) if wanted[1] else np.zeros_like(vectors)
    if wanted[0]:
        for k in range(values.size):
            inner[k, k] = y_bar[0][k]
    return inner


def of_lower(found):
    """The adjoint of the lower triangle that a symmetric matrix with this adjoint is made of."""
    lower = np.zeros_like(found)
    for i in range(found.shape[0]):
        for j in range(i):
            lower[i, j] = found[i, j] + found[j, i]
        lower[i, i] = found[i, i]
    return lower


@tangent(np.linalg.eigvalsh)
def eigvalsh(a, a_dot, *, y):
    _, vectors = np.linalg.eigh(a)
    return eigenvalues_dot(a, np.dot(np.dot(vectors.T, symmetric(a_dot)), vectors))


@numba.njit
def rounding_of(values, a):
    """How far values that are equal may be apart by rounding."""
    largest = 0.0
    for k in range(values.size):
        largest = max(largest, abs(values[k]))
    return 8 * values.size * np.finfo(a.dtype).eps * largest


@numba.njit
def turns(inner, values, spaces, sign=-1.0):
    """What each vector takes of the others as the matrix moves, `inner` in terms of the vectors; nothing of those of
    its own space. nan of another one whose value is equal, to rounding, if the matrix moves at all.

    spaces: the number of each value's space; empty if none has two. sign: over differences of the values, or of
    singular values their sums.
    """
    found, nearest = np.zeros_like(inner), rounding_of(values, inner) if sign < 0 else 0.0
    if is_zero(inner):
        return found
    for j in range(values.size):
        for i in range(values.size):
            if i != j and (sign > 0 or are_apart(spaces, i, j)):
                gap = values[j] + sign * values[i]
                found[i, j] = inner[i, j] / gap if abs(gap) > nearest else np.nan
    return found


@numba.njit
def are_apart(spaces, i, j):
    """Whether two vectors are of different spaces."""
    return i != j and (spaces.size == 0 or spaces[i] != spaces[j])


@numba.njit
def is_zero(matrix):
    """Whether all elements of a matrix are zero."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j] != 0:
                return False
    return True


@numba.njit
def turns_asked_for(turns_bar, values, spaces, sign=-1.0):
    """The transpose of `turns`. Of vectors of one space whose values are zero, which sums are asked for, nan if any is:
    an adjoint of zero may be that of vectors that nobody reads."""
    found, nearest = np.zeros_like(turns_bar), rounding_of(values, turns_bar) if sign < 0 else 0.0
    for j in range(values.size):
        for i in range(values.size):
            gap = values[j] + sign * values[i]
            if are_apart(spaces, i, j):
                found[i, j] = turns_bar[i, j] / gap if abs(gap) > nearest else np.nan
            elif i != j and sign > 0:
                if gap > 0:
                    found[i, j] = turns_bar[i, j] / gap
                elif turns_bar[i, j] != 0:
                    found[i, j] = np.nan
    return found


def gaps_dot(turn, values, spaces, sign, values_dot):
    """How turns change with the values; of what is in one space only the first derivatives are known."""
    found = np.zeros_like(turn)
    for j in range(values.size):
        for i in range(values.size):
            if i != j:
                share = np.nan
                if sign > 0 or are_apart(spaces, i, j):
                    share = turn[i, j] / (values[j] + sign * values[i])
                found[i, j] = share * (values_dot[j] + sign * values_dot[i])
    return found


@tangent(turns)
def turns_dot(inner, values, spaces, sign=-1.0, inner_dot=0.0, values_dot=0.0, *, y):
    return turns(inner_dot, values, spaces, sign) - gaps_dot(y, values, spaces, sign, values_dot)


@tangent(turns_asked_for)
def turns_asked_for_dot(turns_bar, values, spaces, sign=-1.0, turns_bar_dot=0.0, values_dot=0.0, *, y):
    return turns_asked_for(turns_bar_dot, values, spaces, sign) - gaps_dot(y, values, spaces, sign, values_dot)


linear(turns, transpose=lambda inner, values, spaces, sign=-1.0, *, y, y_bar: (
    turns_asked_for(y_bar, values, spaces, sign)
))  # fmt: skip
linear(turns_asked_for, transpose=lambda turns_bar, values, spaces, sign=-1.0, *, y, y_bar: (
    turns(y_bar, values, spaces, sign)
))  # fmt: skip


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
def svd(a, full_matrices=1, a_dot=0.0, *, y):
    return singular_dot(a_dot, y, np.empty(0, np.int64), np.dot(np.dot(y[0].T, a_dot), y[2].T))


def singular_dot(a_dot, y, spaces, inner):
    """The tangents of u, s and v', from u' a_dot v; vectors that complete a basis turn as little as they can."""
    u, s, vt = y
    count = s.size
    square = inner[:count, :count].copy()
    # what u and v turn by together, and against each other
    together = turns(0.5 * (square + square.T), s, spaces)
    against = turns(0.5 * (square - square.T), s, spaces, 1.0)
    turn_u, turn_v = np.zeros((u.shape[1], u.shape[1]), a_dot.dtype), np.zeros((vt.shape[0], vt.shape[0]), a_dot.dtype)
    turn_u[:count, :count], turn_v[:count, :count] = together + against, together - against
    for j in range(count):
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
    return u_dot, eigenvalues_dot(square, square), v_dot.T


@adjoint(np.linalg.svd)
def svd_adjoint(a, full_matrices=1, *, y, y_bar, wanted):
    inner = np.zeros((y[0].shape[1], y[2].shape[0]), a.dtype)
    return singular_bar(y, y_bar, wanted, np.empty(0, np.int64), inner)


def singular_bar(y, y_bar, wanted, spaces, inner):
    """The transpose of `singular_dot`; `inner`: what else the adjoint of u' a v has."""
    u, s, vt = y
    u_bar, s_bar, vt_bar = y_bar
    count = s.size
    for k in range(count):
        inner[k, k] += s_bar[k]
    outside = np.zeros((u.shape[0], vt.shape[1]), inner.dtype)
    if wanted[0] or wanted[2]:
        turn_u, turn_v = np.dot(u.T, u_bar), np.dot(vt, vt_bar.T)
        square_u, square_v = turn_u[:count, :count], turn_v[:count, :count]
        together = turns_asked_for(square_u + square_v, s, spaces)
        against = turns_asked_for(square_u - square_v, s, spaces, 1.0)
        inner[:count, :count] += 0.5 * (together + together.T + against - against.T)
        for j in range(count):
            for i in range(count, u.shape[1]):
                inner[i, j] += (turn_u[i, j] - turn_u[j, i]) / s[j]
            for i in range(count, vt.shape[0]):
                inner[j, i] += (turn_v[i, j] - turn_v[j, i]) / s[j]
        if u.shape[1] < u.shape[0]:
            across = np.zeros(u.shape, inner.dtype)
            for j in range(count):
                for i in range(u.shape[0]):
                    across[i, j] = u_bar[i, j] / s[j]
            outside += np.dot(across - np.dot(u, np.dot(u.T, across)), vt[:count])
        if vt.shape[0] < vt.shape[1]:
            across = np.zeros(vt.shape, inner.dtype)
            for j in range(count):
                for i in range(vt.shape[1]):
                    across[j, i] = vt_bar[j, i] / s[j]
            outside += np.dot(u[:, :count], across - np.dot(np.dot(across, vt.T), vt))
    return np.dot(np.dot(u, inner), vt) + outside


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
