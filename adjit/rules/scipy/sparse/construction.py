"""Sparse matrices made inside: of diagonals, of ones, of other matrices.

In: the arguments of the function of scipy.sparse. Out: a matrix of `matrices.py`: the elements with their places,
which the lengths of diagonals and the matrices given say, in the format that SciPy gives. Elements that are zero stay
elements, where SciPy leaves them out on the way to CSR.

    diags([a, b], [0, 1])      elements [*a, *b[: n - 1]], rows [0, 1, .., 0, 1, ..], columns [0, 1, .., 1, 2, ..]
"""

import numpy as np
import scipy.sparse as sp

from adjit.rules.registry import builtin
from adjit.rules.scipy.sparse.matrices import CooArray, CooMatrix, DiaArray, DiaMatrix, is_sparse

decomposition = builtin.decomposition


def in_format(made, format, usual):
    """A matrix in the format asked for, or else in the usual one."""
    asked = usual if format is None else format
    if asked == "csr":
        return made.tocsr()
    if asked == "csc":
        return made.tocsc()
    if asked == "coo":
        return made.tocoo()
    if asked == "dia":
        return made
    raise NotImplementedError("a sparse matrix in this format: adjit knows csr, csc, coo and dia")


def of_elements(is_array, elements, rows, columns, shape):
    return DiaArray(elements, rows, columns, shape) if is_array else DiaMatrix(elements, rows, columns, shape)


def placed(is_array, elements, rows, columns, shape):
    return CooArray(elements, rows, columns, shape) if is_array else CooMatrix(elements, rows, columns, shape)


# ------------------------------------------------------------------------------------------------------- of diagonals


def length_of(offset, shape):
    return max(min(shape[0] + min(offset, 0), shape[1] - max(offset, 0)), 0)


def along(diagonal, offset, shape):
    """The elements on a diagonal: one is for all of them."""
    length = length_of(offset, shape)
    if np.ndim(diagonal) == 0:
        return np.full(length, diagonal * 1.0)
    given = np.asarray(diagonal) * 1.0
    if given.size == 1:
        return np.full(length, given[0])
    if given.size < length:
        raise ValueError("a diagonal of a sparse matrix is too short")
    return given[:length]


def of_diagonals(is_array, diagonals, offsets, shape):
    given = [(diagonals, offsets)] if np.ndim(offsets) == 0 else list(zip(diagonals, offsets, strict=True))
    size = np.size(given[0][0]) + abs(given[0][1])
    whole = (size, size) if shape is None else shape
    elements = np.concatenate([along(d, k, whole) for d, k in given])
    rows = np.concatenate([np.arange(length_of(k, whole)) + max(-k, 0) for _, k in given])
    columns = np.concatenate([np.arange(length_of(k, whole)) + max(k, 0) for _, k in given])
    return of_elements(is_array, elements, rows, columns, whole)


def only_of(diagonals, offsets):
    """The diagonal, where one is given in a list, for the main one."""
    if np.ndim(offsets) == 0 and isinstance(diagonals, (list, tuple)) and len(diagonals) == 1:
        return diagonals[0]
    return diagonals


@decomposition(sp.diags)
def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):
    return in_format(of_diagonals(False, only_of(diagonals, offsets), offsets, shape), format, "dia")


@decomposition(sp.diags_array)
def diags_array(diagonals, offsets=0, shape=None, format=None, dtype=None):
    return in_format(of_diagonals(True, only_of(diagonals, offsets), offsets, shape), format, "dia")


@decomposition(sp.spdiags)
def spdiags(data, diags, m=None, n=None, format=None):
    """Diagonals whose element j is in column j."""
    given, offsets = np.atleast_2d(np.asarray(data) * 1.0), np.atleast_1d(np.asarray(diags))
    whole = (m, n) if n is not None else (given.shape[1], given.shape[1]) if m is None else (m[0], m[1])
    count = 0
    for k in offsets:
        count += length_of(k, (whole[0], min(whole[1], given.shape[1])))
    elements, rows, columns = np.zeros(count), np.empty(count, np.int64), np.empty(count, np.int64)
    at = 0
    for d in range(offsets.size):
        for j in range(max(offsets[d], 0), min(whole[1], given.shape[1], whole[0] + offsets[d])):
            elements[at], rows[at], columns[at] = given[d, j], j - offsets[d], j
            at += 1
    return in_format(DiaMatrix(elements, rows, columns, whole), format, "dia")


def of_ones(is_array, m, n, k):
    whole = (m, m if n is None else n)
    length = length_of(k, whole)
    return of_elements(is_array, np.ones(length), np.arange(length) + max(-k, 0), np.arange(length) + max(k, 0), whole)


@decomposition(sp.eye)
def eye(m, n=None, k=0, dtype=float, format=None):
    return in_format(of_ones(False, m, n, k), format, "dia")


@decomposition(sp.eye_array)
def eye_array(m, n=None, k=0, dtype=float, format=None):
    return in_format(of_ones(True, m, n, k), format, "dia")


@decomposition(sp.identity)
def identity(n, dtype="d", format=None):
    return in_format(of_ones(False, n, None, 0), format, "dia")


# ----------------------------------------------------------------------------------------------------------- of others


def is_array_of(matrix):
    return isinstance(matrix, sp.sparray)


def as_places(matrix):
    """A matrix by its elements and their places; of an array, all are elements."""
    if is_sparse(matrix):
        return matrix.tocoo()
    dense = np.atleast_2d(np.asarray(matrix) * 1.0)
    columns = np.arange(dense.size) % dense.shape[1]
    return CooMatrix(dense.ravel(), np.arange(dense.size) // dense.shape[1], columns, dense.shape)


@decomposition(sp.kron)
def kron(A, B, format=None):
    a, b = as_places(A), as_places(B)
    count, size = a.data.size, b.data.size
    elements = (a.data.reshape(count, 1) * b.data.reshape(1, size)).ravel()
    rows = (a.row.reshape(count, 1) * b.shape[0] + b.row.reshape(1, size)).ravel()
    columns = (a.col.reshape(count, 1) * b.shape[1] + b.col.reshape(1, size)).ravel()
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    is_array = is_array_of(A) or is_array_of(B)
    return in_format(of_elements(is_array, elements, rows, columns, shape), format, "dia")


@decomposition(sp.kronsum)
def kronsum(A, B, format=None):
    first = kron(of_ones(False, B.shape[0], None, 0), A)
    return in_format(first + kron(B, of_ones(False, A.shape[0], None, 0)), format, "csr")


def beside(blocks, axis):
    """Matrices one after the other along an axis."""
    elements, rows, columns, at = [], [], [], 0
    for block in blocks:
        own = as_places(block)
        elements.append(own.data * 1.0)
        rows.append(own.row + (at if axis == 0 else 0))
        columns.append(own.col + (at if axis == 1 else 0))
        at += own.shape[axis]
    other = as_places(blocks[0]).shape[1 - axis]
    shape = (at, other) if axis == 0 else (other, at)
    is_array = is_array_of(blocks[0])
    return placed(is_array, np.concatenate(elements), np.concatenate(rows), np.concatenate(columns), shape)


@decomposition(sp.hstack)
def hstack(blocks, format=None, dtype=None):
    return in_format(beside(blocks, 1), format, "coo")


@decomposition(sp.vstack)
def vstack(blocks, format=None, dtype=None):
    return in_format(beside(blocks, 0), format, "coo")


@decomposition(sp.block_diag)
def block_diag(mats, format=None, dtype=None):
    elements, rows, columns, m, n = [], [], [], 0, 0
    for block in mats:
        own = as_places(block)
        elements.append(own.data * 1.0)
        rows.append(own.row + m)
        columns.append(own.col + n)
        m += own.shape[0]
        n += own.shape[1]
    is_array = is_array_of(mats[0])
    made = placed(is_array, np.concatenate(elements), np.concatenate(rows), np.concatenate(columns), (m, n))
    return in_format(made, format, "coo")


def nothing(m, n):
    return CooMatrix(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), (m, n))


def height_of(row):
    for block in row:
        if block is not None:
            return as_places(block).shape[0]
    raise ValueError("a row of blocks has none")


def width_of(blocks, k):
    for row in blocks:
        if row[k] is not None:
            return as_places(row[k]).shape[1]
    raise ValueError("a column of blocks has none")


@decomposition(sp.bmat, sp.block_array)
def bmat(blocks, format=None, dtype=None):
    rows = []
    for row in blocks:
        filled = [nothing(height_of(row), width_of(blocks, k)) if b is None else b for k, b in enumerate(row)]
        rows.append(beside(filled, 1))
    return in_format(beside(rows, 0), format, "coo")


@decomposition(sp.tril)
def tril(A, k=0, format=None):
    own = as_places(A)
    kept = own.col <= own.row + k
    return in_format(placed(is_array_of(A), own.data[kept], own.row[kept], own.col[kept], own.shape), format, "coo")


@decomposition(sp.triu)
def triu(A, k=0, format=None):
    own = as_places(A)
    kept = own.col >= own.row + k
    return in_format(placed(is_array_of(A), own.data[kept], own.row[kept], own.col[kept], own.shape), format, "coo")
