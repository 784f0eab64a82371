"""Solves with triangular and banded matrices, and the elimination that makes triangular ones.

In: matrices of floats. Out: solutions, and their rules: those of a solve, where only what is read of the matrix moves.

    x = lower_solve(t, b)      z = upper_solve(t.T, x_bar);  b_bar += z;  t_bar -= np.tril(np.outer(z, x))
"""

import numba
import numpy as np

from adjit.rules.registry import builtin

tangent, linear, adjoint, constant = builtin.tangent, builtin.linear, builtin.adjoint, builtin.constant

# ----------------------------------------------------------------------------------------------------------- triangular


@numba.njit
def lower_solve(t, b):
    """The solution x of `tril(t) @ x = b`, of one right-hand side (n,) or several (n, m)."""
    # a quotient is of floats; columns apart, so that one and several are the same loops
    x = np.ascontiguousarray(b / t.dtype.type(1)).reshape(t.shape[0], -1)
    for i in range(t.shape[0]):
        for j in range(i):
            for k in range(x.shape[1]):
                x[i, k] -= t[i, j] * x[j, k]
        for k in range(x.shape[1]):
            x[i, k] /= t[i, i]
    return x.reshape(b.shape)


@numba.njit
def upper_solve(t, b):
    """The solution x of `triu(t) @ x = b`, of one right-hand side (n,) or several (n, m)."""
    x = np.ascontiguousarray(b / t.dtype.type(1)).reshape(t.shape[0], -1)
    for i in range(t.shape[0] - 1, -1, -1):
        for j in range(i + 1, t.shape[0]):
            for k in range(x.shape[1]):
                x[i, k] -= t[i, j] * x[j, k]
        for k in range(x.shape[1]):
            x[i, k] /= t[i, i]
    return x.reshape(b.shape)


def spread(b_bar, x):
    """What a matrix gets where its product with `x` gets `b_bar`."""
    return np.outer(b_bar, x) if x.ndim == 1 else np.dot(b_bar, x.T)


def lower_transpose(t, b, *, x, x_bar):
    return upper_solve(np.ascontiguousarray(t.T), np.ascontiguousarray(x_bar))


def upper_transpose(t, b, *, x, x_bar):
    return lower_solve(np.ascontiguousarray(t.T), np.ascontiguousarray(x_bar))


@adjoint(lower_solve)
def lower_adjoint(t, b, *, x, x_bar):
    b_bar = lower_transpose(t, b, x=x, x_bar=x_bar)
    return -np.tril(spread(b_bar, x)), b_bar


@adjoint(upper_solve)
def upper_adjoint(t, b, *, x, x_bar):
    b_bar = upper_transpose(t, b, x=x, x_bar=x_bar)
    return -np.triu(spread(b_bar, x)), b_bar


tangent(lower_solve)(lambda t, b, t_dot, b_dot, *, x: lower_solve(t, b_dot - np.dot(np.tril(t_dot), x)))
tangent(upper_solve)(lambda t, b, t_dot, b_dot, *, x: upper_solve(t, b_dot - np.dot(np.triu(t_dot), x)))
linear(lower_solve, argument=1, transpose=lower_transpose)
linear(upper_solve, argument=1, transpose=upper_transpose)

# ---------------------------------------------------------------------------------------------------------- elimination


@numba.njit
def is_positive_definite(a):
    """Whether the Cholesky factorisation of a matrix (n, n), of which the lower triangle is read, succeeds."""
    work = a / a.dtype.type(1)
    for j in range(work.shape[0]):
        for k in range(j):
            work[j, j] -= work[j, k] * work[j, k]
        if not work[j, j] > 0:
            return False
        work[j, j] = np.sqrt(work[j, j])
        for i in range(j + 1, work.shape[0]):
            for k in range(j):
                work[i, j] -= work[i, k] * work[j, k]
            work[i, j] /= work[j, j]
    return True


constant(is_positive_definite)


@numba.njit
def exchanges(a):
    """LAPACK's `piv` of an elimination with partial pivoting: row i and row piv[i] change places, one after another."""
    work = a / a.dtype.type(1)
    count = min(a.shape[0], a.shape[1])
    found = np.empty(count, np.int32)
    for k in range(count):
        pivot = k
        for i in range(k + 1, a.shape[0]):
            if abs(work[i, k]) > abs(work[pivot, k]):
                pivot = i
        found[k] = pivot
        for j in range(a.shape[1]):
            work[k, j], work[pivot, j] = work[pivot, j], work[k, j]
        if work[k, k] != 0:
            for i in range(k + 1, a.shape[0]):
                share = work[i, k] / work[k, k]
                for j in range(k + 1, a.shape[1]):
                    work[i, j] -= share * work[k, j]
    return found


@numba.njit
def order_of_rows(piv, count):
    """The rows by number, after these exchanges."""
    order = np.arange(count)
    for k in range(piv.size):
        order[k], order[piv[k]] = order[piv[k]], order[k]
    return order


@numba.njit
def eliminated(a):
    """Both factors of a square matrix whose rows stay where they are: L below the diagonal, without its ones, and U."""
    work = a / a.dtype.type(1)
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            if work[k, k] != 0:
                work[i, k] /= work[k, k]
            for j in range(k + 1, a.shape[0]):
                work[i, j] -= work[i, k] * work[k, j]
    return work


constant(exchanges, order_of_rows)


def with_ones(t):
    """Of L below a diagonal, the whole of it."""
    whole = np.tril(t, -1)
    for k in range(t.shape[0]):
        whole[k, k] = 1.0
    return whole


@tangent(eliminated)
def eliminated_dot(a, a_dot, *, x):
    # inv(L) a_dot inv(U) is inv(L) L_dot + U_dot inv(U): strictly lower, and upper
    lower, upper = with_ones(x), np.triu(x)
    half = lower_solve(lower, a_dot)
    inner = lower_solve(np.ascontiguousarray(upper.T), np.ascontiguousarray(half.T)).T
    return np.dot(lower, np.tril(inner, -1)) + np.dot(np.triu(inner), upper)


# --------------------------------------------------------------------------------------------------------------- banded


@numba.njit
def banded_solve(below, above, ab, b):
    """The solution of a banded system, `ab[above + i - j, j]` being element (i, j), by elimination with pivoting."""
    n = ab.shape[1]
    width = 2 * below + above + 1  # exchanges of rows move elements further up
    work = np.zeros((n, width), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            work[i, j - i + below] = ab[above + i - j, j]
    x = np.ascontiguousarray(b / ab.dtype.type(1)).reshape(n, -1)
    for k in range(n):
        pivot = k
        for i in range(k + 1, min(n, k + below + 1)):
            if abs(work[i, k - i + below]) > abs(work[pivot, k - pivot + below]):
                pivot = i
        last = min(n, k + below + above + 1)
        if pivot != k:
            for j in range(k, last):
                one, other = work[k, j - k + below], work[pivot, j - pivot + below]
                work[k, j - k + below], work[pivot, j - pivot + below] = other, one
            for c in range(x.shape[1]):
                x[k, c], x[pivot, c] = x[pivot, c], x[k, c]
        if work[k, below] == 0:
            raise np.linalg.LinAlgError("singular matrix")
        for i in range(k + 1, min(n, k + below + 1)):
            share = work[i, k - i + below] / work[k, below]
            for j in range(k + 1, last):
                work[i, j - i + below] -= share * work[k, j - k + below]
            for c in range(x.shape[1]):
                x[i, c] -= share * x[k, c]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, min(n, i + below + above + 1)):
            for c in range(x.shape[1]):
                x[i, c] -= work[i, j - i + below] * x[j, c]
        for c in range(x.shape[1]):
            x[i, c] /= work[i, below]
    return x.reshape(b.shape)


def turned(below, above, ab):
    """The transposed matrix, which has `above` diagonals below."""
    n = ab.shape[1]
    out = np.zeros((below + above + 1, n), ab.dtype)
    for d in range(-below, above + 1):
        for j in range(max(0, d), n + min(0, d)):
            out[below + d, j - d] = ab[above - d, j]
    return out


def banded_product(below, above, ab, x):
    out = np.zeros(x.shape, x.dtype)
    for d in range(-below, above + 1):
        for j in range(max(0, d), ab.shape[1] + min(0, d)):
            out[j - d] += ab[above - d, j] * x[j]
    return out


def banded_transpose(below, above, ab, b, *, x, x_bar):
    return banded_solve(above, below, turned(below, above, ab), np.ascontiguousarray(x_bar))


@adjoint(banded_solve)
def banded_adjoint(below, above, ab, b, *, x, x_bar):
    b_bar = banded_transpose(below, above, ab, b, x=x, x_bar=x_bar)
    ab_bar = np.zeros(ab.shape, ab.dtype)
    for d in range(-below, above + 1):
        for j in range(max(0, d), ab.shape[1] + min(0, d)):
            ab_bar[above - d, j] = -np.sum(b_bar[j - d] * x[j])
    return 0, 0, ab_bar, b_bar


@tangent(banded_solve)
def banded_dot(below, above, ab, b, ab_dot, b_dot, *, x):
    return banded_solve(below, above, ab, b_dot - banded_product(below, above, ab_dot, x))


linear(banded_solve, argument=3, transpose=banded_transpose)
