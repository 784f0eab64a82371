"""Functions whose results NumPy makes real or complex by their values, with the type that the arguments say.

In: an array of real numbers; of complex ones, its parts. Out: the results, real; or their parts. ValueError where those
of real numbers are complex, as numba has it. They stand here, away from the rules, as saved sources take their text.
From NumPy 2.5 on eigenvalues and eigenvectors of real matrices are complex always, and so they are here.

    real_eigvals(a)      np.linalg.eigvals(a), or ValueError
"""

import numba
import numpy as np
from numba.extending import overload

from adjit.errors import NOT_REAL
from adjit.runtime.library.spectra import spectrum_of_real

SPECTRA_ARE_COMPLEX = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


def real_eig(a):
    """Eigenvalues and eigenvectors. ValueError where they are complex."""
    values, vectors = np.linalg.eig(a)
    if np.any(values.imag != 0.0):
        raise ValueError(NOT_REAL)
    return values.real, vectors.real


def real_eigvals(a):
    """Eigenvalues. ValueError where they are complex."""
    values = np.linalg.eigvals(a)
    if np.any(values.imag != 0.0):
        raise ValueError(NOT_REAL)
    return values.real


def real_roots(p):
    """The roots of a polynomial, the highest power first. ValueError where they are complex."""
    found = np.roots(p)
    if np.iscomplexobj(found):
        raise ValueError(NOT_REAL)
    return found


def roots_of_real(p):
    """The roots of a polynomial of real coefficients, in parts, in the order that NumPy has."""
    first, last = 0, p.size
    while first < last and p[first] == 0.0:
        first += 1
    while last > first and p[last - 1] == 0.0:
        last -= 1
    real, imag = np.zeros(max(p.size - first - 1, 0), p.dtype), np.zeros(max(p.size - first - 1, 0), p.dtype)
    n = last - first - 1
    if n > 0:
        companion = np.zeros((n, n), p.dtype)
        for k in range(n):
            companion[0, k] = -p[first + 1 + k] / p[first]
        for k in range(n - 1):
            companion[k + 1, k] = 1.0
        real_values, imag_values, _, _ = spectrum_of_real(companion)
        real[:n], imag[:n] = real_values, imag_values
    return real, imag


vars(roots_of_real)["is_of_backend"] = True


# run by Python as they stand, where NumPy would go on with complex numbers
overload(real_eig)(lambda a: real_eig)
overload(real_eigvals)(lambda a: real_eigvals)
overload(real_roots)(lambda p: real_roots)
overload(roots_of_real)(lambda p: roots_of_real)


@numba.njit
def complex_roots(real, imag):
    """The roots of a polynomial of complex coefficients, all in parts."""
    found = np.roots(real + 1j * imag)
    return found.real.astype(real.dtype), found.imag.astype(real.dtype)
