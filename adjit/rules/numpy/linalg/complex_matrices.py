"""Solves, determinants, eigenvalues and Cholesky factors of complex matrices.

In: complex matrices, or, of the operations that LAPACK does, their real and imaginary parts. Out: what NumPy returns,
in parts; the tangents, as textbooks state them of complex matrices.

    np.linalg.solve(A, b)      one solve with the real matrix [[A.real, -A.imag], [A.imag, A.real]]
    np.linalg.det(A)           determinant(A.real, A.imag)
"""

import numba
import numpy as np

from adjit.rules.numpy.complex_numbers import complex_of, parts
from adjit.rules.numpy.linalg.factorisations import rounding_of
from adjit.rules.numpy.linalg.matrices import check_independent
from adjit.rules.registry import builtin
from adjit.runtime.library.spectra import spectrum_of_real

tangent, of_complex = builtin.tangent, builtin.of_complex

# --------------------------------------------------------------------------------------- solves, inverses: as real ones


def as_real(a):
    """The real matrix that does to real and imaginary part, one above the other, what `a` does to a complex vector."""
    real, imag = parts(a)
    rows, columns = real.shape
    out = np.empty((2 * rows, 2 * columns), real.dtype)
    out[:rows, :columns] = real
    out[:rows, columns:] = -imag
    out[rows:, :columns] = imag
    out[rows:, columns:] = real
    return out


def of_real(x, rows, columns):
    """The complex matrix of so many rows and columns that a real one stands for, as `as_real` makes it."""
    return complex_of(x[:rows, :columns].copy(), x[rows:, :columns].copy())


@of_complex(np.linalg.solve)
def complex_solve(a, b):
    # a vector as one column: numba takes seconds to compile a solve, so all are of one type
    columns = np.concatenate(parts(b.reshape(-1, 1) if b.ndim == 1 else b))
    x, n = np.linalg.solve(as_real(a), columns), a.shape[0]
    if b.ndim == 1:
        return complex_of(x[:n, 0].copy(), x[n:, 0].copy())
    return complex_of(x[:n].copy(), x[n:].copy())


@of_complex(np.linalg.inv)
def complex_inv(a):
    return of_real(np.linalg.inv(as_real(a)), a.shape[0], a.shape[0])


@of_complex(np.linalg.pinv)
def complex_pinv(a, rcond=1e-15):
    return of_real(np.linalg.pinv(as_real(a), rcond), a.shape[1], a.shape[0])


# --------------------------------------------------------------------------------------------------------- determinants


@numba.njit
def determinant(real, imag):
    """The determinant of a complex matrix, from its parts."""
    found = np.linalg.det(real + 1j * imag)
    return found.real, found.imag


@numba.njit
def complex_cofactors(real, imag):
    """The matrix of cofactors, det(a) inv(a).T, shape (n, n), of a singular matrix as well, in parts."""
    a = real + 1j * imag
    found = np.linalg.det(a)
    if found != 0.0:
        c = found * np.linalg.inv(a).T
    else:
        # those of U diag(s) V are det(U) det(V) times conj(U) diag(product of the other s) conj(V)
        u, s, v = np.linalg.svd(a)
        turned = np.conj(u) * (np.linalg.det(u) * np.linalg.det(v))
        for k in range(s.size):
            for j in range(s.size):
                if j != k:
                    turned[:, k] *= s[j]
        c = np.dot(turned, np.conj(v))
    return c.real.astype(real.dtype), c.imag.astype(real.dtype)


@tangent(determinant)
def determinant_dot(real, imag, real_dot, imag_dot, *, y):
    return parts(np.sum(complex_of(*complex_cofactors(real, imag)) * complex_of(real_dot, imag_dot)))


@tangent(complex_cofactors)
def complex_cofactors_dot(real, imag, real_dot, imag_dot, *, y):
    c, a_dot = complex_of(*y), complex_of(real_dot, imag_dot)
    found = complex_of(*determinant(real, imag))
    if found == 0.0:
        raise np.linalg.LinAlgError("the second derivative of np.linalg.det of a singular complex matrix")
    return parts((np.sum(c * a_dot) * c - np.dot(np.dot(c, a_dot.T), c)) / found)


@numba.njit
def signed_logarithm(real, imag):
    """The sign of the determinant of a complex matrix, in parts, and the logarithm of its size."""
    sign, logarithm = np.linalg.slogdet(real + 1j * imag)
    return sign.real, sign.imag, logarithm


@tangent(signed_logarithm)
def signed_logarithm_dot(real, imag, real_dot, imag_dot, *, y):
    real_sign, imag_sign, _ = y
    change = np.sum(np.linalg.inv(complex_of(real, imag)).T * complex_of(real_dot, imag_dot))
    return -change.imag * imag_sign, change.imag * real_sign, change.real


of_complex(np.linalg.det)(lambda a: complex_of(*determinant(*parts(a))))


@of_complex(np.linalg.slogdet)
def complex_slogdet(a):
    real, imag, logarithm = signed_logarithm(*parts(a))
    return complex_of(real, imag), logarithm


# ------------------------------------------------------------------------------------------------ of Hermitian matrices


@numba.njit
def hermitian_spectrum(real, imag):
    """Eigenvalues and eigenvectors, these in parts, of the Hermitian matrix with this lower triangle."""
    values, vectors = np.linalg.eigh(real + 1j * imag)
    return values.astype(real.dtype), vectors.real.astype(real.dtype), vectors.imag.astype(real.dtype)


@numba.njit
def hermitian_eigenvalues(real, imag):
    """The eigenvalues of the Hermitian matrix with this lower triangle."""
    return np.linalg.eigvalsh(real + 1j * imag).astype(real.dtype)


def hermitian(real, imag):
    """The Hermitian matrix with this lower triangle; LAPACK reads no imaginary part on the diagonal."""
    return complex_of(np.tril(real) + np.tril(real, -1).T, np.tril(imag, -1) - np.tril(imag, -1).T)


def in_terms_of(vectors, real_dot, imag_dot):
    """inv(vectors) a_dot vectors, of orthonormal ones."""
    return np.dot(np.dot(vectors.conj().T, hermitian(real_dot, imag_dot)), vectors)


@tangent(hermitian_eigenvalues)
def hermitian_eigenvalues_dot(real, imag, real_dot, imag_dot, *, y):
    _, real_vectors, imag_vectors = hermitian_spectrum(real, imag)
    inner = in_terms_of(complex_of(real_vectors, imag_vectors), real_dot, imag_dot)
    return np.diag(inner.real).copy()


def over_gaps(inner, values, nearest, otherwise):
    """What each eigenvector takes of the others: elements over the differences of their eigenvalues; `otherwise` of
    those whose eigenvalues are equal, to rounding, as `factorisations` has it."""
    mixed = np.zeros(inner.shape, inner.dtype)
    for j in range(values.size):
        for i in range(values.size):
            gap = values[j] - values[i]
            if i != j:
                mixed[i, j] = inner[i, j] / gap if abs(gap) > nearest else otherwise * inner[i, j]
    return mixed


@tangent(hermitian_spectrum)
def hermitian_spectrum_dot(real, imag, real_dot, imag_dot, *, y, wanted):
    values, real_vectors, imag_vectors = y
    vectors = complex_of(real_vectors, imag_vectors)
    inner = in_terms_of(vectors, real_dot, imag_dot)
    moved = np.dot(vectors, over_gaps(inner, values, rounding_of(values, real), np.nan if wanted[0] else 0.0))
    for j in range(values.size):
        # LAPACK turns each so that its first component that is not zero is real
        first = 0
        for i in range(values.size - 1, -1, -1):
            if vectors[i, j] != 0.0:
                first = i
        moved[:, j] -= 1j * (moved[first, j].imag / real_vectors[first, j]) * vectors[:, j]
    return np.diag(inner.real).copy(), moved.real, moved.imag


@numba.njit
def hermitian_factor(real, imag):
    """The Cholesky factor, in parts, of the Hermitian matrix with this lower triangle."""
    factor = np.linalg.cholesky(real + 1j * imag)
    return factor.real.astype(real.dtype), factor.imag.astype(real.dtype)


@tangent(hermitian_factor)
def hermitian_factor_dot(real, imag, real_dot, imag_dot, *, y):
    # L' is L times the lower triangle, its diagonal halved, of inv(L) A' inv(L)^H (Murray 2016)
    factor = complex_of(*y)
    inner = np.linalg.solve(factor, np.linalg.solve(factor, hermitian(real_dot, imag_dot)).conj().T)
    halved = np.tril(inner)
    for k in range(halved.shape[0]):
        halved[k, k] = 0.5 * inner[k, k].real
    return parts(np.dot(factor, halved))


@of_complex(np.linalg.eigh)
def complex_eigh(a):
    values, real, imag = hermitian_spectrum(*parts(a))
    return values, complex_of(real, imag)


of_complex(np.linalg.eigvalsh)(lambda a: hermitian_eigenvalues(*parts(a)))
of_complex(np.linalg.cholesky)(lambda a: complex_of(*hermitian_factor(*parts(a))))


# --------------------------------------------------------------------------------------------------- of square matrices


@numba.njit
def complex_spectrum(real, imag):
    """Eigenvalues and eigenvectors of a complex matrix, all in parts."""
    values, vectors = np.linalg.eig(real + 1j * imag)
    real_values, imag_values = values.real.astype(real.dtype), values.imag.astype(real.dtype)
    return real_values, imag_values, vectors.real.astype(real.dtype), vectors.imag.astype(real.dtype)


@tangent(complex_spectrum)
def complex_spectrum_dot(real, imag, real_dot, imag_dot, *, y, wanted):
    return spectrum_dot(real, complex_of(real_dot, imag_dot), y, wanted)


@tangent(spectrum_of_real)
def spectrum_of_real_dot(a, a_dot, *, y, wanted):
    return spectrum_dot(a, complex_of(a_dot, np.zeros_like(a_dot)), y, wanted)


def spectrum_dot(a, a_dot, y, wanted):
    values, vectors = complex_of(y[0], y[1]), complex_of(y[2], y[3])
    check_independent(vectors, np.finfo(a.dtype).eps)
    inner = np.linalg.solve(vectors, np.dot(a_dot, vectors))
    otherwise = np.nan if wanted[0] or wanted[1] else 0.0
    moved = np.dot(vectors, over_gaps(inner, values, rounding_of(values, a), otherwise))
    for j in range(values.size):
        # they keep length 1, and the largest component real
        stretch = np.sum(np.conj(vectors[:, j]) * moved[:, j]).real
        largest = np.argmax(vectors[:, j].real ** 2 + vectors[:, j].imag ** 2)
        turn = (moved[largest, j] / vectors[largest, j]).imag
        moved[:, j] -= complex_of(stretch, turn) * vectors[:, j]
    return np.diag(inner.real).copy(), np.diag(inner.imag).copy(), moved.real, moved.imag


@of_complex(np.linalg.eig)
def complex_eig(a):
    real_values, imag_values, real, imag = complex_spectrum(*parts(a))
    return complex_of(real_values, imag_values), complex_of(real, imag)


@of_complex(np.linalg.eigvals)
def complex_eigvals(a):
    real, imag, _, _ = complex_spectrum(*parts(a))
    return complex_of(real, imag)


def complex_eig_of_real(a):
    real_values, imag_values, real, imag = spectrum_of_real(a)
    return complex_of(real_values, imag_values), complex_of(real, imag)


def complex_eigvals_of_real(a):
    real, imag, _, _ = spectrum_of_real(a)
    return complex_of(real, imag)


# --------------------------------------------------------------------------------------------------------------- others


@of_complex(np.linalg.svd)
def complex_svd(a, full_matrices=1):
    raise NotImplementedError(
        "np.linalg.svd of a complex matrix, whose vectors have an arbitrary phase: write np.linalg.eigh(a.conj().T @ a)"
    )


@of_complex(np.linalg.qr)
def complex_qr(a):
    raise NotImplementedError(
        "np.linalg.qr of a complex matrix: r is np.linalg.cholesky(a.conj().T @ a).conj().T"
    )


@of_complex(np.linalg.lstsq)
def complex_lstsq(a, b, rcond=-1.0):
    raise NotImplementedError("np.linalg.lstsq of complex matrices: write np.linalg.pinv(a) @ b")
