"""SciPy's linear algebra: solves, factorisations, functions and equations of matrices.

In: matrices and vectors of floats. Out: what SciPy returns; of a matrix of which it reads a triangle, the other one is
not read here either.

    x = cho_solve((c, True), b)      x = upper_solve(c.T, lower_solve(c, b))
"""

import math

import numba
import numpy as np
import scipy.linalg as sl

from adjit.rules.numpy.linalg.complex_matrices import as_real, of_real
from adjit.rules.numpy.linalg.triangular import (
    banded_solve,
    eliminated,
    exchanges,
    lower_solve,
    order_of_rows,
    upper_solve,
    with_ones,
)
from adjit.rules.registry import builtin

decomposition = builtin.decomposition

# --------------------------------------------------------------------------------------------------------------- solves


def floats(a):
    """As an array of floats, which is what LAPACK takes."""
    a = np.asarray(a)
    return a if a.dtype == np.float64 or a.dtype == np.float32 else a * 1.0


def of_triangle(a, lower):
    """The symmetric matrix with this triangle of `a`."""
    return np.tril(a) + np.tril(a, -1).T if lower else np.triu(a) + np.triu(a, 1).T


@decomposition(sl.solve)
def solve(
    a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False
):
    a, b = floats(a), floats(b)
    if np.ndim(a) != 2:
        raise NotImplementedError("scipy.linalg.solve of stacks of matrices: loop over them")
    if assume_a is None or assume_a in ("gen", "general", "banded", "tridiagonal"):
        return np.linalg.solve(np.ascontiguousarray(a.T) if transposed else a, b)
    if assume_a in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        return np.linalg.solve(of_triangle(a, lower), b)
    if assume_a == "diagonal":
        return (b.T / np.diag(a)).T
    if assume_a in ("lower triangular", "upper triangular"):
        return solve_triangular(a, b, 1 if transposed else 0, assume_a == "lower triangular")
    raise NotImplementedError("scipy.linalg.solve with this assume_a: leave it out")


@decomposition(sl.solve_triangular)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    a, b = floats(a), floats(b)
    if np.ndim(a) != 2:
        raise NotImplementedError("scipy.linalg.solve_triangular of stacks of matrices: loop over them")
    triangle = a
    if unit_diagonal:
        triangle = with_ones(a) if lower else np.ascontiguousarray(with_ones(a.T).T)
    turns = trans != 0 and trans != "N"
    square = np.ascontiguousarray(triangle.T) if turns else np.ascontiguousarray(triangle)
    columns = np.ascontiguousarray(b)
    if lower:
        return upper_solve(square, columns) if turns else lower_solve(square, columns)
    return lower_solve(square, columns) if turns else upper_solve(square, columns)


@decomposition(sl.solve_banded)
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    below, above = l_and_u
    return banded_solve(below, above, np.ascontiguousarray(floats(ab)), np.ascontiguousarray(floats(b)))


@decomposition(sl.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    given = floats(ab)
    width, n = given.shape[0] - 1, given.shape[1]
    whole = np.zeros((2 * width + 1, n), given.dtype)
    for d in range(width + 1):
        for j in range(n - d):
            element = given[d, j] if lower else given[width - d, j + d]
            whole[width + d, j] = element
            whole[width - d, j + d] = element
    return banded_solve(width, width, whole, np.ascontiguousarray(floats(b)))


@decomposition(sl.inv)
def inv(a, overwrite_a=False, check_finite=True):
    if np.ndim(a) != 2:
        raise NotImplementedError("scipy.linalg.inv of stacks of matrices: loop over them")
    return np.linalg.inv(floats(a))


@decomposition(sl.det)
def det(a, overwrite_a=False, check_finite=True):
    if np.ndim(a) != 2:
        raise NotImplementedError("scipy.linalg.det of stacks of matrices: loop over them")
    return np.linalg.det(floats(a))


def lengths(squares):
    """Roots, with the derivative 0 at 0, as a norm's."""
    is_zero = squares == 0.0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, squares)))


@decomposition(sl.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    a = floats(a)
    if axis is None and not keepdims:
        if ord is None or ord == "fro":
            return np.linalg.norm(a)
        return np.linalg.norm(a, ord)
    if isinstance(axis, tuple) and (ord is None or ord == "fro"):
        return lengths(np.sum(a * a, axis=axis, keepdims=keepdims))
    if isinstance(axis, tuple) or (ord is not None and ord != 1 and ord != 2):
        raise NotImplementedError(
            "scipy.linalg.norm along an axis, of an order other than 1 and 2: loop over the "
            "vectors")
    if ord == 1:
        return np.sum(np.abs(a), axis=axis, keepdims=keepdims)
    return lengths(np.sum(a * a, axis=axis, keepdims=keepdims))


@decomposition(sl.pinv)
def pinv(a, check_finite=True, rtol=None):
    a = floats(a)
    if rtol is None:
        return np.linalg.pinv(a, max(a.shape[0], a.shape[1]) * 2.220446049250313e-16)
    return np.linalg.pinv(a, rtol)


@decomposition(sl.lstsq)
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    a, b = floats(a), floats(b)
    x, residuals, rank, s = np.linalg.lstsq(a, b, 2.220446049250313e-16 if cond is None else cond)
    if b.ndim == 1:
        # SciPy's is an empty array where there is no residual
        return x, np.sum(residuals) if residuals.size > 0 else np.nan, rank, s
    return x, residuals, rank, s


# ------------------------------------------------------------------------------------------------------- factorisations


@decomposition(sl.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    if np.ndim(a) != 2:
        raise NotImplementedError("scipy.linalg.cholesky of stacks of matrices: loop over them")
    if lower:
        return np.linalg.cholesky(floats(a))
    # the transpose's lower triangle is the one that SciPy reads
    return np.ascontiguousarray(np.linalg.cholesky(np.ascontiguousarray(floats(a).T)).T)


@decomposition(sl.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    return cholesky(a, lower), lower


@decomposition(sl.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    half = solve_triangular(c, b, 0 if lower else 1, lower)
    return solve_triangular(c, half, 1 if lower else 0, lower)


@decomposition(sl.lu_factor)
def lu_factor(a, overwrite_a=False, check_finite=True):
    a = floats(a)
    if a.shape[0] != a.shape[1]:
        raise NotImplementedError("scipy.linalg.lu_factor of a matrix that is not square has no derivative")
    piv = exchanges(a)
    return eliminated(a[order_of_rows(piv, a.shape[0])]), piv


@decomposition(sl.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, piv = lu_and_piv
    order = order_of_rows(piv, lu.shape[0])
    b = floats(b)
    if trans == 0:
        return upper_solve(lu, lower_solve(with_ones(lu), b[order]))
    turned = np.ascontiguousarray(lu.T)
    half = lower_solve(turned, np.ascontiguousarray(b))
    found = upper_solve(np.ascontiguousarray(with_ones(lu).T), half)
    out = np.empty(found.shape, found.dtype)
    for k in range(order.size):
        out[order[k]] = found[k]
    return out


@decomposition(sl.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    factors, piv = lu_factor(a)
    order = order_of_rows(piv, factors.shape[0])
    places = np.argsort(order)
    lower, upper = with_ones(factors), np.triu(factors)
    if permute_l:
        return lower[places], upper
    if p_indices:
        return places, lower, upper
    return np.eye(order.size, dtype=lower.dtype)[places], lower, upper


@decomposition(sl.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if pivoting:
        raise NotImplementedError("scipy.linalg.qr with pivoting: leave it out")
    if mode not in ("full", "economic"):
        raise NotImplementedError("scipy.linalg.qr in this mode: write mode='economic'")
    a = floats(a)
    if mode == "full" and a.shape[0] > a.shape[1]:
        raise NotImplementedError("scipy.linalg.qr of a tall matrix with mode='full': write mode='economic'")
    return np.linalg.qr(a)


@decomposition(sl.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    if not compute_uv:
        return svdvals(a)
    return np.linalg.svd(floats(a), full_matrices)


@decomposition(sl.svdvals)
def svdvals(a, overwrite_a=False, check_finite=True):
    _, s, _ = np.linalg.svd(floats(a), False)
    return s


# ---------------------------------------------------------------------------------------------------------- eigenvalues


@decomposition(sl.eigh)
def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1, check_finite=True):
    if type != 1:
        raise NotImplementedError("scipy.linalg.eigh with a type other than 1: transform the matrices to type 1")
    square = floats(a) if lower else np.ascontiguousarray(floats(a).T)
    if b is None:
        return np.linalg.eigvalsh(square) if eigvals_only else np.linalg.eigh(square)
    factor = np.linalg.cholesky(floats(b) if lower else np.ascontiguousarray(floats(b).T))
    half = lower_solve(factor, of_triangle(square, True))
    inner = lower_solve(factor, np.ascontiguousarray(half.T))
    if eigvals_only:
        return np.linalg.eigvalsh(inner)
    values, vectors = np.linalg.eigh(inner)
    return values, upper_solve(np.ascontiguousarray(factor.T), np.ascontiguousarray(vectors))


@decomposition(sl.eigvalsh)
def eigvalsh(a, b=None, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True):
    return eigh(a, b, lower, True, type=type)


# ------------------------------------------------------------------------------------------------- functions, equations

PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@decomposition(sl.expm)
def expm(A):
    # scaling and squaring around the diagonal Pade approximant of degree 13 (Higham 2005; Al-Mohy and Higham 2009)
    if np.ndim(A) != 2:
        raise NotImplementedError("scipy.linalg.expm of stacks of matrices: loop over them")
    A = floats(A)
    one = np.eye(A.shape[0], dtype=A.dtype)
    size = np.max(np.sum(np.abs(A), axis=0))
    squarings = int(np.ceil(np.log2(size / 4.25))) if size > 4.25 else 0
    scaled = A / 2.0**squarings
    two = np.dot(scaled, scaled)
    four = np.dot(two, two)
    six = np.dot(two, four)
    c = PADE
    odd = np.dot(six, c[13] * six + c[11] * four + c[9] * two) + c[7] * six + c[5] * four + c[3] * two + c[1] * one
    even = np.dot(six, c[12] * six + c[10] * four + c[8] * two) + c[6] * six + c[4] * four + c[2] * two + c[0] * one
    odd = np.dot(scaled, odd)
    found = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        found = np.dot(found, found)
    return found


@builtin.of_complex(sl.expm)
def complex_expm(A):
    return of_real(sl.expm(as_real(A)), A.shape[0], A.shape[0])


@numba.njit
def principal_root(a):
    """The square root whose eigenvalues have positive real parts, by Denman and Beavers' iteration in its product form
    (Higham 2008, 6.29), scaled by norms."""
    n = a.shape[0]
    x, m, last = a.copy(), a.copy(), np.inf
    for _ in range(100):
        inverse = np.linalg.inv(m)
        above, below, left = 0.0, 0.0, 0.0
        for i in range(n):
            for j in range(n):
                above += inverse[i, j] * inverse[i, j]
                below += m[i, j] * m[i, j]
        # close to the end the scale would only disturb
        scale = (above / below) ** 0.25 if last > 1e-2 else 1.0
        for i in range(n):
            for j in range(n):
                one = 1.0 if i == j else 0.0
                over = inverse[i, j] / scale
                m[i, j] = 0.5 * (one + 0.5 * (scale * m[i, j] + over))
                inverse[i, j] = 0.5 * (one + over) * math.sqrt(scale)
                left += (m[i, j] - one) ** 2
        x = np.dot(x, inverse)
        if left == 0.0 or (left < 1e-10 and left >= last * last):
            return x
        last = math.sqrt(left)
    raise np.linalg.LinAlgError("a matrix without a principal square root of real numbers")


@builtin.tangent(principal_root)
def root_dot(a, a_dot, *, x):
    # x x_dot + x_dot x = a_dot
    return solve_sylvester(x, x, a_dot)


@decomposition(sl.sqrtm)
def sqrtm(A):
    if np.ndim(A) != 2:
        raise NotImplementedError("scipy.linalg.sqrtm of stacks of matrices: loop over them")
    return principal_root(np.ascontiguousarray(floats(A)))


@decomposition(sl.logm)
def logm(A):
    raise NotImplementedError(
        "scipy.linalg.logm has no derivative: for a symmetric matrix write w, v = np.linalg.eigh(a), (v * "
        "np.log(w)) @ v.T"
    )


@decomposition(sl.fractional_matrix_power, sl.funm, sl.signm, sl.sinm, sl.cosm, sl.tanm, sl.sinhm, sl.coshm, sl.tanhm)
def other_functions(*given, **named):
    raise NotImplementedError(
        "this function of a matrix: adjit knows expm and sqrtm. For a symmetric matrix write w, v = "
        "np.linalg.eigh(a), (v * f(w)) @ v.T"
    )


@decomposition(sl.eig, sl.eigvals)
def eig(*given, **named):
    raise NotImplementedError("scipy.linalg's eig and eigvals: write np.linalg.eig or np.linalg.eigvals")


@decomposition(sl.orth, sl.null_space, sl.schur, sl.hessenberg)
def bases(*given, **named):
    raise NotImplementedError("a basis that is not unique, and has no derivative: use svd, eigh or qr")


@decomposition(sl.solve_sylvester)
def solve_sylvester(a, b, q):
    a, b, q = floats(a), floats(b), floats(q)
    # by rows, a X + X b is (a x 1 + 1 x b.T) of the elements of X
    ones, others = np.eye(a.shape[0], dtype=a.dtype), np.eye(b.shape[0], dtype=b.dtype)
    system = np.kron(a, others) + np.kron(ones, np.ascontiguousarray(b.T))
    return np.linalg.solve(system, q.ravel()).reshape(q.shape)


@decomposition(sl.solve_continuous_lyapunov, sl.solve_lyapunov)
def solve_continuous_lyapunov(a, q):
    a = floats(a)
    return solve_sylvester(a, np.ascontiguousarray(a.T), q)


@decomposition(sl.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    a, q = floats(a), floats(q)
    system = np.eye(a.shape[0] * a.shape[0], dtype=a.dtype) - np.kron(a, a)
    return np.linalg.solve(system, q.ravel()).reshape(q.shape)
