"""Eigenvalues and eigenvectors where only the spaces of equal values matter, not which vectors LAPACK gives of them.

In: a matrix. Out: what the factorisation gives, and a matrix of zeros, `mixing`, whose tangent is that of the matrix
between vectors of equal values. The vectors of one space are taken not to turn into each other; what functions of the
values do to them the compiler adds, by `mixing` (transform/derive/equal_values.py).

    w, v, spaces, mixing = spectrum(a, cuts)

v diag(f(w)) v' moves with v, with diag(f(w)), and between equal values by v (f'(w) times the tangent of mixing) v'.

This is f[w_i, w_j] = (f(w_i) - f(w_j)) / (w_i - w_j) of Daleckii and Krein where the values are equal (Higham 2008,
Functions of Matrices, 3.2). `cuts`: places between vectors; the program takes those on both sides of one apart, so that
the vectors themselves matter there, and if the values are equal nan or inf is right.
"""

import numba
import numpy as np

from adjit.rules.numpy.complex_numbers import complex_of
from adjit.rules.numpy.linalg.complex_matrices import hermitian_spectrum, in_terms_of
from adjit.rules.numpy.linalg.factorisations import (
    eigenvalues_dot,
    of_lower,
    rounding_of,
    singular_bar,
    singular_dot,
    spectral_bar,
    symmetric,
    turns,
    turns_asked_for,
)
from adjit.rules.registry import builtin

tangent, linear, adjoint, partials = builtin.tangent, builtin.linear, builtin.adjoint, builtin.partials


@numba.njit
def spaces_of(values, cuts, nearest):
    """A number for each value, which neighbours have in common that are one; none if no two are."""
    count = 0
    for j in range(1, values.size):
        if are_one(values, cuts, nearest, j):
            count = values.size
    spaces = np.zeros(count, np.int64)
    for j in range(1, count):
        spaces[j] = spaces[j - 1] if are_one(values, cuts, nearest, j) else spaces[j - 1] + 1
    return spaces


@numba.njit
def are_one(values, cuts, nearest, j):
    """Whether a value and the one before are equal, so far that the slope of a function is nearer to its divided
    difference than the quotient of two differences in its rounding; and no cut is between them."""
    close = np.sqrt(np.finfo(values.dtype).eps) * max(abs(values[j - 1]), abs(values[j]))
    if abs(values[j] - values[j - 1]) > max(nearest, close):
        return False
    is_cut = False
    for k in range(cuts.size):
        is_cut |= cuts[k] == j or cuts[k] + values.size == j
    return not is_cut


@numba.njit
def moved(change, slope):
    """Zero, which moves by the slope times the change of a zero."""
    return change - change


partials(moved, lambda change, slope, *, y: (slope, 0))


def between_equal(found, inner, spaces):
    """Adds the elements of `inner` between vectors of one space, beside the diagonal, to those of `found`."""
    for i in range(spaces.size):
        for j in range(spaces.size):
            if i != j and spaces[i] == spaces[j]:
                found[i, j] += inner[i, j]
    return found


# ----------------------------------------------------------------------------------------------------- eigenvalues


@numba.njit
def spectrum(a, cuts):
    values, vectors = np.linalg.eigh(a)
    spaces = spaces_of(values, cuts, rounding_of(values, a))
    return values, vectors, spaces, np.zeros((spaces.size, spaces.size), a.dtype)


builtin.spectral(np.linalg.eigh, moved, values=0, vectors={1: 1})(spectrum)


@tangent(spectrum)
def spectrum_dot(a, cuts, a_dot, *, y):
    values, vectors, spaces, mixing = y
    inner = np.dot(np.dot(vectors.T, symmetric(a_dot)), vectors)
    vectors_dot = np.dot(vectors, turns(inner, values, spaces))
    return eigenvalues_dot(a, inner), vectors_dot, spaces, between_equal(np.zeros_like(mixing), inner, spaces)


@adjoint(spectrum)
def spectrum_adjoint(a, cuts, *, y, y_bar, wanted):
    values, vectors, spaces, _ = y
    inner = spectral_bar((values, vectors), y_bar, wanted, spaces)
    if wanted[3]:
        inner = between_equal(inner, y_bar[3], spaces)
    return of_lower(np.dot(np.dot(vectors, inner), vectors.T))


# ------------------------------------------------------------------------------- eigenvalues of Hermitian matrices


@numba.njit
def hermitian_spaces(real, imag, cuts):
    """The same of complex vectors, in parts; and instead of the mixing, what it makes of them."""
    values, real_vectors, imag_vectors = hermitian_spectrum(real, imag)
    spaces = spaces_of(values, cuts, rounding_of(values, real))
    mixed = np.zeros((spaces.size, spaces.size), real.dtype)
    return values, real_vectors, imag_vectors, spaces, mixed, mixed.copy()


builtin.spectral(hermitian_spectrum, moved, values=0, vectors={1: 1, 2: 1}, in_parts=True)(hermitian_spaces)


@tangent(hermitian_spaces)
def hermitian_spaces_dot(real, imag, cuts, real_dot, imag_dot, *, y):
    values, real_vectors, imag_vectors, spaces = y[:4]
    vectors = complex_of(real_vectors, imag_vectors)
    inner = in_terms_of(vectors, real_dot, imag_dot)
    turn = complex_of(turns(inner.real.copy(), values, spaces), turns(inner.imag.copy(), values, spaces))
    vectors_dot, mixed_dot = np.dot(vectors, turn), np.zeros((spaces.size, spaces.size), inner.dtype)
    if spaces.size > 0:
        mixed_dot = np.dot(vectors, between_equal(mixed_dot, inner, spaces))
    values_dot = np.diag(inner.real).copy()
    return values_dot, vectors_dot.real, vectors_dot.imag, spaces, mixed_dot.real, mixed_dot.imag


@adjoint(hermitian_spaces)
def hermitian_spaces_adjoint(real, imag, cuts, *, y, y_bar, wanted):
    values, real_vectors, imag_vectors, spaces = y[:4]
    vectors = complex_of(real_vectors, imag_vectors)
    inner = np.zeros_like(vectors)
    if wanted[1] or wanted[2]:
        turn = np.dot(vectors.conj().T, complex_of(y_bar[1], y_bar[2]))
        real_turn, imag_turn = turn.real.copy(), turn.imag.copy()
        inner = complex_of(turns_asked_for(real_turn, values, spaces), turns_asked_for(imag_turn, values, spaces))
    if wanted[0]:
        for k in range(values.size):
            inner[k, k] = y_bar[0][k]
    if spaces.size > 0 and (wanted[4] or wanted[5]):
        inner = between_equal(inner, np.dot(vectors.conj().T, complex_of(y_bar[4], y_bar[5])), spaces)
    found = np.dot(np.dot(vectors, inner), vectors.conj().T)
    return of_lower(found.real.copy()), np.tril(found.imag - found.imag.T)


# ------------------------------------------------------------------------------------------------- singular values


@numba.njit
def singular_spectrum(a, full_matrices, cuts):
    u, s, vt = np.linalg.svd(a, full_matrices)
    spaces = spaces_of(s, cuts, rounding_of(s, a))
    return u, s, vt, spaces, np.zeros((spaces.size, spaces.size), a.dtype)


builtin.spectral(np.linalg.svd, moved, values=1, vectors={0: 1, 2: 0})(singular_spectrum)


@tangent(singular_spectrum)
def singular_spectrum_dot(a, full_matrices, cuts, a_dot, *, y):
    u, s, vt, spaces, mixing = y
    inner = np.dot(np.dot(u.T, a_dot), vt.T)
    square = inner[: s.size, : s.size].copy()
    u_dot, s_dot, vt_dot = singular_dot(a_dot, (u, s, vt), spaces, inner)
    return u_dot, s_dot, vt_dot, spaces, between_equal(np.zeros_like(mixing), 0.5 * (square + square.T), spaces)


@adjoint(singular_spectrum)
def singular_spectrum_adjoint(a, full_matrices, cuts, *, y, y_bar, wanted):
    u, s, vt, spaces, _ = y
    inner = np.zeros((u.shape[1], vt.shape[0]), a.dtype)
    if wanted[4]:
        inner = between_equal(inner, 0.5 * (y_bar[4] + y_bar[4].T), spaces)
        for i in range(spaces.size):
            for j in range(spaces.size):
                # of zeros u and v turn against each other, by nobody knows how much
                if i != j and spaces[i] == spaces[j] and s[i] + s[j] == 0 and y_bar[4][i, j] != 0:
                    inner[i, j] = np.nan
    return singular_bar((u, s, vt), y_bar[:3], wanted[:3], spaces, inner)
