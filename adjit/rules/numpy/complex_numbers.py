"""Functions of complex numbers and of arrays of them, written with their parts; what holds of real ones, too, as it is.

In: numbers and arrays, of which one is complex. Out: what NumPy returns. The parts are real, and so are derivatives.

    np.var(z)      np.var(z.real) + np.var(z.imag)
"""

import numpy as np

from adjit.rules.numpy.grids import correlate
from adjit.rules.registry import builtin

of_complex = builtin.of_complex


def complex_of(real, imag):
    """The complex number, or the array of them, with these parts; known to the compiler, which keeps pairs."""
    return real + 1j * imag


def parts(a):
    """Real and imaginary part as floats; known to the compiler. Of a real number or array the second is zero."""
    return np.real(a), np.imag(a)


builtin.as_of_real(
    np.append, np.apply_along_axis, np.array_split, np.atleast_1d, np.atleast_2d, np.average, np.block, np.choose,
    np.column_stack, np.concatenate, np.convolve, np.cov, np.cross, np.delete, np.diagflat, np.diagonal, np.diff,
    np.dstack, np.ediff1d, np.einsum, np.extract, np.fill_diagonal, np.gradient, np.hstack, np.inner, np.insert,
    np.kron, np.linalg.matrix_power, np.linalg.multi_dot, np.mean, np.meshgrid, np.nanmean, np.outer, np.pad,
    np.polyval, np.roll, np.select, np.split, np.stack, np.std, np.take, np.tensordot, np.tile, np.trapezoid, np.vander,
    np.vstack,
)  # fmt: skip


@of_complex(np.interp)
def interp(x, xp, fp):
    real, imag = parts(fp)
    return complex_of(np.interp(x, xp, real), np.interp(x, xp, imag))


# ----------------------------------------------------------------------------------------------------------- reductions


@of_complex(np.prod)
def prod(a):
    product = complex(1.0)
    for z in a.ravel():
        product = product * z
    return product


@of_complex(np.cumprod)
def cumprod(a):
    factors = a.ravel()
    products = np.empty(factors.size, factors.dtype)
    product = complex(1.0)
    for k in range(factors.size):
        product = product * factors[k]
        products[k] = product
    return products


of_complex(np.var)(lambda a: np.var(np.real(a)) + np.var(np.imag(a)))


of_complex(np.correlate)(lambda a, v, mode="valid": correlate(a, np.conj(v), mode))


@of_complex(np.angle)
def angle(z, deg=False):
    return np.degrees(np.angle(z)) if deg else np.angle(z)


# ---------------------------------------------------------------------------------------------------------------- norms


@of_complex(np.linalg.norm)
def norm(x, ord=None):
    if x.ndim == 1 and ord is not None and ord != 2:
        return np.linalg.norm(np.abs(x), ord)
    if x.ndim == 2 and ord is not None and ord != "fro":
        return matrix_norm(x, ord)
    # of one vector, so that second derivatives are right where one of the parts is zero
    return np.linalg.norm(np.concatenate((np.real(x).ravel(), np.imag(x).ravel())))


def matrix_norm(x, ord):
    if ord == "nuc":
        raise NotImplementedError(
            "the nuclear norm of a complex matrix: sum the roots of np.linalg.eigvalsh(x.conj().T @ x)"
        )
    if abs(ord) != 2:
        return np.linalg.norm(np.abs(x), ord)
    # singular values are the roots of the eigenvalues of the smaller Gram matrix
    adjoint = x.conj().T
    squares = np.linalg.eigvalsh(np.dot(adjoint, x) if x.shape[0] >= x.shape[1] else np.dot(x, adjoint))
    return np.sqrt(np.maximum(squares[squares.size - 1 if ord == 2 else 0], 0.0))
