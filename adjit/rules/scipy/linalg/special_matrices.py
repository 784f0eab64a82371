"""SciPy's matrices of a pattern: Toeplitz, circulant, Hankel, block diagonal; and the systems they belong to.

In: the vectors or blocks that they are made of. Out: the matrix, or the solution.

    t = toeplitz(c)      t[i, j] = c[abs(i - j)]
"""

import numpy as np
import scipy.linalg as sl

from adjit.rules.numpy.arrays import common_dtype
from adjit.rules.registry import builtin
from adjit.rules.scipy.linalg.matrices import floats

decomposition = builtin.decomposition


@decomposition(sl.toeplitz)
def toeplitz(c, r=None):
    column = np.asarray(c)
    row = column if r is None else np.asarray(r)
    out = np.empty((column.size, row.size), common_dtype((column, row)))
    for i in range(column.size):
        for j in range(row.size):
            out[i, j] = column[i - j] if i >= j else row[j - i]
    return out


@decomposition(sl.circulant)
def circulant(c):
    column = np.asarray(c)
    out = np.empty((column.size, column.size), column.dtype)
    for i in range(column.size):
        for j in range(column.size):
            out[i, j] = column[i - j if i >= j else i - j + column.size]
    return out


@decomposition(sl.hankel)
def hankel(c, r=None):
    column = np.asarray(c)
    row = np.zeros(column.size, column.dtype) if r is None else np.asarray(r)
    out = np.empty((column.size, row.size), common_dtype((column, row)))
    for i in range(column.size):
        for j in range(row.size):
            # the first element of `row` is not read
            out[i, j] = column[i + j] if i + j < column.size else row[i + j - column.size + 1]
    return out


@decomposition(sl.khatri_rao)
def khatri_rao(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2:
        raise NotImplementedError("khatri_rao of anything but two matrices")
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    out = np.empty((a.shape[0] * b.shape[0], a.shape[1]), common_dtype((a, b)))
    for i in range(a.shape[0]):
        for k in range(b.shape[0]):
            for j in range(a.shape[1]):
                out[i * b.shape[0] + k, j] = a[i, j] * b[k, j]
    return out


@decomposition(sl.companion)
def companion(a):
    a = floats(a)
    out = np.zeros((a.size - 1, a.size - 1), a.dtype)
    for k in range(a.size - 1):
        out[0, k] = -a[k + 1] / a[0]
    for k in range(1, a.size - 1):
        out[k, k - 1] = 1.0
    return out


@decomposition(sl.leslie)
def leslie(f, s):
    f, s = np.asarray(f), np.asarray(s)
    if s.size != f.size - 1:
        raise ValueError("Incorrect lengths for f and s. The length of s must be one less than the length of f.")
    out = np.zeros((f.size, f.size), common_dtype((f, s)))
    out[0] = f
    for k in range(s.size):
        out[k + 1, k] = s[k]
    return out


def as_block(a):
    if np.ndim(a) == 0:
        return np.array([[a]])
    return np.atleast_2d(np.asarray(a))


@decomposition(sl.block_diag)
def block_diag(*arrs):
    blocks = [as_block(a) for a in arrs]
    rows, columns = 0, 0
    for block in blocks:
        rows += block.shape[0]
        columns += block.shape[1]
    out = np.zeros((rows, columns), common_dtype(blocks))
    rows, columns = 0, 0
    for block in blocks:
        out[rows : rows + block.shape[0], columns : columns + block.shape[1]] = block
        rows += block.shape[0]
        columns += block.shape[1]
    return out


if hasattr(sl, "kron"):
    decomposition(sl.kron)(lambda a, b: np.kron(np.asarray(a), np.asarray(b)))


@decomposition(sl.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    if isinstance(c_or_cr, tuple):
        return np.linalg.solve(toeplitz(floats(c_or_cr[0]), floats(c_or_cr[1])), floats(b))
    return np.linalg.solve(toeplitz(floats(c_or_cr)), floats(b))


@decomposition(sl.solve_circulant)
def solve_circulant(c, b):
    return np.linalg.solve(circulant(floats(c)), floats(b))
