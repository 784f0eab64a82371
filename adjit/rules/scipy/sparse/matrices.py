"""Sparse matrices of scipy.sparse, compressed by rows (CSR) or by columns (CSC), as what they hold.

In: `data`, `indices`, `indptr` and `shape`, of a matrix from outside, of an argument, or of one that is made inside.
Out: its products, sums and transposes as loops over the elements that it has, of which the adjoint is such loops, too.

    csr @ x      for i ..: for k in range(indptr[i], indptr[i + 1]): y[i] += data[k] * x[indices[k]]
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from adjit.rules.numpy.arrays import common_dtype
from adjit.rules.registry import builtin

decomposition = builtin.decomposition

# ------------------------------------------------------------------------------- products, by the axis it is compressed


def gathered(data, indices, indptr, x):
    """The product whose elements are each a sum over a run of the matrix."""
    out = np.zeros((indptr.size - 1,) + x.shape[1:], common_dtype((data, x)))
    for i in range(indptr.size - 1):
        if x.ndim == 1:
            total = out[i]
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * x[indices[k]]
            out[i] = total
        else:
            for k in range(indptr[i], indptr[i + 1]):
                for j in range(x.shape[1]):
                    out[i, j] += data[k] * x[indices[k], j]
    return out


def scattered(data, indices, indptr, x, size):
    """The product to which each run of the matrix adds."""
    out = np.zeros((size,) + x.shape[1:], common_dtype((data, x)))
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            if x.ndim == 1:
                out[indices[k]] += data[k] * x[j]
            else:
                for i in range(x.shape[1]):
                    out[indices[k], i] += data[k] * x[j, i]
    return out


def multiplied(data, indices, indptr, other_data, other_indices, other_indptr):
    """The elements of a product of two that are compressed along one axis, with their places; some are there often."""
    count = 0
    for k in range(indptr[indptr.size - 1]):
        count += other_indptr[indices[k] + 1] - other_indptr[indices[k]]
    found = np.zeros(count, common_dtype((data, other_data)))
    major, minor, at = np.empty(count, np.int64), np.empty(count, np.int64), 0
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            for j in range(other_indptr[indices[k]], other_indptr[indices[k] + 1]):
                found[at] = data[k] * other_data[j]
                major[at], minor[at] = i, other_indices[j]
                at += 1
    return found, major, minor


def runs_of(indptr):
    """Of each element, the run that it is in."""
    found = np.empty(indptr[indptr.size - 1], np.int64)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            found[k] = i
    return found


def is_sparse(thing):
    return isinstance(thing, (sp.spmatrix, sp.sparray))


def as_factor(x, size):
    """What a matrix is multiplied with, of as many rows as that has columns."""
    x = np.asarray(x)
    if x.ndim != 1 and x.ndim != 2:
        raise NotImplementedError("a sparse matrix times an array that is neither a vector nor a matrix")
    if x.shape[0] != size:
        raise ValueError("matmul: dimension mismatch with signature (n,k=?),(k,m)->(n,m)")
    return x


# ------------------------------------------------------------------------------------------------- changes of structure


def transposed_order(indices, indptr, size):
    """Compressed along the other axis: its `indptr`, the indices, and where each element was."""
    starts = np.zeros(size + 1, indptr.dtype)
    for k in range(indices.size):
        starts[indices[k] + 1] += 1
    for i in range(size):
        starts[i + 1] += starts[i]
    following = starts.copy()
    others, places = np.empty(indices.size, indices.dtype), np.empty(indices.size, np.int64)
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            place = following[indices[k]]
            others[place], places[place] = j, k
            following[indices[k]] += 1
    return starts, others, places


def summed_by_place(data, major, minor, size):
    """Elements given with their places, in order, those of one place added up."""
    width = np.max(minor) + 1 if minor.size > 0 else 1
    order = np.argsort(major.astype(np.int64) * width + minor, kind="mergesort")
    counts, places, last = np.zeros(size + 1, np.int32), np.empty(order.size, np.int64), -1
    for k in range(order.size):
        now, before = order[k], order[max(k - 1, 0)]
        if k == 0 or major[now] != major[before] or minor[now] != minor[before]:
            last += 1
            counts[major[now] + 1] += 1
        places[now] = last
    for i in range(size):
        counts[i + 1] += counts[i]
    indices, found = np.empty(last + 1, np.int32), np.zeros(last + 1, data.dtype)
    for k in range(order.size):
        indices[places[k]] = minor[k]
        found[places[k]] += data[k]
    return found, indices, counts


# ------------------------------------------------------------------------------------------------------- what they do


@dataclass(frozen=True, eq=False)
class Summed:
    """Sums along an axis, which are np.matrix in SciPy: taken as an array, or as its elements."""

    A: Any

    KNOWN: ClassVar[tuple[str, ...]] = ("A", "A1", "np.asarray", "np.array", "shape")

    @property
    def A1(self):
        return self.A.ravel()

    @property
    def shape(self):
        return self.A.shape

    def __array__(self):
        return self.A


@dataclass(frozen=True, eq=False)
class Compressed:
    """What matrices of both kinds have in common. `is_matrix`: `*` is the matrix product, and sums are np.matrix.

    own, turned: the class, and that of the transpose; KNOWN: what is said to be there.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: Any

    is_matrix: ClassVar[bool] = False
    ndim: ClassVar[int] = 2
    KNOWN: ClassVar[tuple[str, ...]] = (
        "+", "-", "@", "T", "copy", "data", "diagonal", "dot", "indices", "indptr", "mean", "multiply", "nnz", "power",
        "shape", "sum", "toarray", "tocoo", "tocsc", "tocsr", "trace",
    )  # fmt: skip
    own: ClassVar[type]
    turned: ClassVar[type]
    placed: ClassVar[type]

    @property
    def nnz(self):
        return self.indptr[self.indptr.size - 1]

    @property
    def size(self):
        return self.nnz

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def T(self):
        return self.transpose()

    def transpose(self):
        return self.turned(self.data, self.indices, self.indptr, (self.shape[1], self.shape[0]))

    def scaled(self, factor):
        return self.own(factor * self.data, self.indices, self.indptr, self.shape)

    def copy(self):
        return self.own(self.data.copy(), self.indices.copy(), self.indptr.copy(), self.shape)

    def compressed_otherwise(self, size):
        starts, others, places = transposed_order(self.indices, self.indptr, size)
        return self.turned(self.data[places], others, starts, self.shape)

    def getnnz(self):
        return self.nnz

    def dot(self, other):
        if is_sparse(other):
            return self.times_sparse(other)
        if np.ndim(other) == 0:
            return self.scaled(other)
        return self.times(as_factor(other, self.shape[1]))

    def __matmul__(self, other):
        return self.times_sparse(other) if is_sparse(other) else self.times(as_factor(other, self.shape[1]))

    def of_places(self, data, major, minor, shape):
        """A matrix of this kind, of elements with their places."""
        found, indices, indptr = summed_by_place(data, major, minor, shape[self.along])
        return self.own(found, indices, indptr, shape)

    def plus(self, other, factor):
        if self.shape[0] != other.shape[0] or self.shape[1] != other.shape[1]:
            raise ValueError("inconsistent shapes")
        second = self.alike(other)
        data = np.concatenate((self.data, factor * second.data))
        major = np.concatenate((runs_of(self.indptr), runs_of(second.indptr)))
        return self.of_places(data, major, np.concatenate((self.indices, second.indices)), self.shape)

    def by_elements(self, other):
        """The elements of an array, or of another matrix, where this one has elements."""
        if is_sparse(other):
            dense = other.toarray()
        else:
            dense = np.broadcast_to(other, (self.shape[0], self.shape[1]))
        found = np.empty(self.indices.size, dense.dtype)
        for i in range(self.indptr.size - 1):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                found[k] = dense[i, self.indices[k]] if self.along == 0 else dense[self.indices[k], i]
        return found

    def __rmatmul__(self, other):
        other = np.asarray(other)
        if other.ndim == 1:
            return self.transpose().times(as_factor(other, self.shape[0]))
        return np.ascontiguousarray(self.transpose().times(as_factor(other.T, self.shape[0])).T)

    def __mul__(self, other):
        if self.is_matrix:
            return self.dot(other)
        return self.multiply(other)

    def __rmul__(self, other):
        if np.ndim(other) == 0:
            return self.scaled(other)
        return self.__rmatmul__(other) if self.is_matrix else self.multiply(other)

    def multiply(self, other):
        if not is_sparse(other) and np.ndim(other) == 0:
            return self.scaled(other)
        return self.own(self.data * self.by_elements(other), self.indices, self.indptr, self.shape)

    def power(self, n):
        return self.own(self.data**n, self.indices, self.indptr, self.shape)

    def __truediv__(self, other):
        if is_sparse(other):
            raise NotImplementedError("a sparse matrix divided by another: divide .toarray()")
        if np.ndim(other) > 0:
            return self.own(self.data / self.by_elements(other), self.indices, self.indptr, self.shape)
        return self.scaled(1.0 / other)

    def __neg__(self):
        return self.scaled(-1)

    def __add__(self, other):
        if is_sparse(other):
            return self.plus(other, 1.0)
        if self.is_matrix:
            raise NotImplementedError("a sparse matrix with a dense one, which returns np.matrix: write .toarray()")
        return self.toarray() + other

    def __radd__(self, other):
        return self.__add__(other)

    def __sub__(self, other):
        return self.plus(other, -1.0) if is_sparse(other) else self.__add__(-other)

    def __rsub__(self, other):
        return self.__neg__().__add__(other)

    def __pow__(self, other):
        if self.is_matrix:
            raise NotImplementedError("a power of a sparse matrix: multiply with the vector repeatedly")
        return self.power(other)

    def __getitem__(self, index):
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[0], int) and isinstance(index[1], int):
            i, j = index[0] % self.shape[0], index[1] % self.shape[1]
            major, minor = (i, j) if self.along == 0 else (j, i)
            total = 0.0 * self.data[0]
            for k in range(self.indptr[major], self.indptr[major + 1]):
                if self.indices[k] == minor:
                    total += self.data[k]
            return total
        raise NotImplementedError("a part of a sparse matrix: use a part of .toarray(), or .data and .indices")

    def sum(self, axis=None):
        if axis is None:
            return np.sum(self.data)
        found = self.along_axis(axis)
        return found if not self.is_matrix else Summed(found.reshape(-1, 1) if axis % 2 == 1 else found.reshape(1, -1))

    def along_axis(self, axis):
        one = np.ones(self.shape[axis % 2], self.data.dtype)
        return self.times(one) if axis % 2 == 1 else self.transpose().times(one)

    def mean(self, axis=None):
        if axis is None:
            return self.sum() / (self.shape[0] * self.shape[1])
        found = self.along_axis(axis) / self.shape[axis % 2]
        return found if not self.is_matrix else Summed(found.reshape(-1, 1) if axis % 2 == 1 else found.reshape(1, -1))

    def todense(self):
        if self.is_matrix:
            raise NotImplementedError("todense, which returns np.matrix: write .toarray()")
        return self.toarray()

    def diagonal(self):
        out = np.zeros(min(self.shape[0], self.shape[1]), self.data.dtype)
        for i in range(out.size):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                if self.indices[k] == i:
                    out[i] += self.data[k]
        return out

    def trace(self):
        return np.sum(self.diagonal())


def as_second(first, second):
    """The second factor of a product, of as many rows as the first has columns."""
    if second.shape[0] != first.shape[1]:
        raise ValueError("matmul: dimension mismatch")
    return second


class Rows(Compressed):
    """Compressed by rows."""

    format = "csr"
    along = 0

    def alike(self, other):
        return other.tocsr()

    def times_sparse(self, other):
        second = as_second(self, other).tocsr()
        parts = (self.data, self.indices, self.indptr, second.data, second.indices, second.indptr)
        return self.of_places(*multiplied(*parts), (self.shape[0], second.shape[1]))

    def tocoo(self):
        return self.placed(self.data, runs_of(self.indptr), self.indices, self.shape)

    def times(self, x):
        return gathered(self.data, self.indices, self.indptr, x)

    def toarray(self):
        out = np.zeros((self.shape[0], self.shape[1]), self.data.dtype)
        for i in range(self.shape[0]):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                out[i, self.indices[k]] += self.data[k]
        return out

    def tocsr(self):
        return self

    def tocsc(self):
        return self.compressed_otherwise(self.shape[1])


class Columns(Compressed):
    """Compressed by columns."""

    format = "csc"
    along = 1

    def alike(self, other):
        return other.tocsc()

    def times_sparse(self, other):
        second = as_second(self, other).tocsc()
        parts = (second.data, second.indices, second.indptr, self.data, self.indices, self.indptr)
        return self.of_places(*multiplied(*parts), (self.shape[0], second.shape[1]))

    def tocoo(self):
        return self.placed(self.data, self.indices, runs_of(self.indptr), self.shape)

    def times(self, x):
        return scattered(self.data, self.indices, self.indptr, x, self.shape[0])

    def toarray(self):
        out = np.zeros((self.shape[0], self.shape[1]), self.data.dtype)
        for j in range(self.shape[1]):
            for k in range(self.indptr[j], self.indptr[j + 1]):
                out[self.indices[k], j] += self.data[k]
        return out

    def tocsc(self):
        return self

    def tocsr(self):
        return self.compressed_otherwise(self.shape[0])


class CsrMatrix(Rows):
    is_matrix = True


class CscMatrix(Columns):
    is_matrix = True


class CsrArray(Rows):
    pass


class CscArray(Columns):
    pass


CsrMatrix.own, CsrMatrix.turned = CsrMatrix, CscMatrix
CscMatrix.own, CscMatrix.turned = CscMatrix, CsrMatrix
CsrArray.own, CsrArray.turned = CsrArray, CscArray
CscArray.own, CscArray.turned = CscArray, CsrArray
builtin.stands_for(sp.csr_matrix, CsrMatrix)
builtin.stands_for(sp.csc_matrix, CscMatrix)
builtin.stands_for(sp.csr_array, CsrArray)
builtin.stands_for(sp.csc_array, CscArray)



class Uncompressed:
    """What is compressed where it is used."""

    @property
    def T(self):
        return self.turned()

    @property
    def nnz(self):
        return self.tocsr().nnz

    def transpose(self):
        return self.turned()

    def copy(self):
        return self

    def toarray(self):
        return self.tocsr().toarray()

    def sum(self, axis=None):
        return self.tocsr().sum(axis)

    def mean(self, axis=None):
        return self.tocsr().mean(axis)

    def diagonal(self):
        return self.tocsr().diagonal()

    def trace(self):
        return self.tocsr().trace()

    def dot(self, other):
        return self.tocsr().dot(other)

    def multiply(self, other):
        return self.tocsr().multiply(other)

    def power(self, n):
        return self.tocsr().power(n)

    def __matmul__(self, other):
        return self.tocsr().__matmul__(other)

    def __rmatmul__(self, other):
        return self.tocsr().__rmatmul__(other)

    def __mul__(self, other):
        return self.tocsr().__mul__(other)

    def __rmul__(self, other):
        return self.tocsr().__rmul__(other)

    def __truediv__(self, other):
        return self.tocsr().__truediv__(other)

    def __neg__(self):
        return self.tocsr().__neg__()

    def __add__(self, other):
        return self.tocsr().__add__(other)

    def __radd__(self, other):
        return self.tocsr().__radd__(other)

    def __sub__(self, other):
        return self.tocsr().__sub__(other)

    def __rsub__(self, other):
        return self.tocsr().__rsub__(other)

    def __pow__(self, other):
        return self.tocsr().__pow__(other)


OPERATIONS = ("+", "-", "@", "T", "diagonal", "dot", "mean", "multiply", "nnz", "power", "shape", "sum", "toarray")


@dataclass(frozen=True, eq=False)
class Places(Uncompressed):
    """A matrix of elements with their places (COO)."""

    data: Any
    row: Any
    col: Any
    shape: Any

    KNOWN: ClassVar[tuple[str, ...]] = (*OPERATIONS, "col", "data", "row", "tocsc", "tocsr")

    def tocoo(self):
        return self

    def tocsr(self):
        found, indices, indptr = summed_by_place(self.data, self.row, self.col, self.shape[0])
        return self.by_rows(found, indices, indptr, self.shape)

    def tocsc(self):
        found, indices, indptr = summed_by_place(self.data, self.col, self.row, self.shape[1])
        return self.by_columns(found, indices, indptr, self.shape)


class CooMatrix(Places):
    by_rows, by_columns = CsrMatrix, CscMatrix

    def turned(self):
        return CooMatrix(self.data, self.col, self.row, (self.shape[1], self.shape[0]))


class CooArray(Places):
    by_rows, by_columns = CsrArray, CscArray

    def turned(self):
        return CooArray(self.data, self.col, self.row, (self.shape[1], self.shape[0]))


CsrMatrix.placed, CscMatrix.placed, CsrArray.placed, CscArray.placed = CooMatrix, CooMatrix, CooArray, CooArray
builtin.stands_for(sp.coo_matrix, CooMatrix)
builtin.stands_for(sp.coo_array, CooArray)


@dataclass(frozen=True, eq=False)
class Elements(Uncompressed):
    """A matrix in another format (by diagonals), known by what is done with it."""

    elements: Any
    rows: Any
    columns: Any
    shape: Any

    KNOWN: ClassVar[tuple[str, ...]] = (*OPERATIONS, "tocoo", "tocsc", "tocsr")

    def tocoo(self):
        return self.placed(self.elements, self.rows, self.columns, self.shape)

    def tocsr(self):
        return self.tocoo().tocsr()

    def tocsc(self):
        return self.tocoo().tocsc()


class DiaMatrix(Elements):
    placed = CooMatrix

    def turned(self):
        return DiaMatrix(self.elements, self.columns, self.rows, (self.shape[1], self.shape[0]))


class DiaArray(Elements):
    placed = CooArray

    def turned(self):
        return DiaArray(self.elements, self.columns, self.rows, (self.shape[1], self.shape[0]))


builtin.stands_for(sp.dia_matrix, DiaMatrix)
builtin.stands_for(sp.dia_array, DiaArray)

# --------------------------------------------------------------------------------------------------------- made inside

OTHERWISE = ("is created from (data, indices, indptr) or (data, (row, col)): the pattern of an array depends on its "
    "values")


def inside(indices, size):
    if np.any((indices < 0) | (indices >= size)):
        raise ValueError("an index of a sparse matrix is outside of its shape")


def by_places(given, shape):
    """The data, rows, columns and shape of what is made of `(data, (row, col))`."""
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], (tuple, list)):
        raise NotImplementedError("a sparse matrix " + OTHERWISE)
    data, row, col = np.asarray(given[0]), np.asarray(given[1][0]), np.asarray(given[1][1])
    if row.size != data.size or col.size != data.size:
        raise ValueError("row, column, and data arrays must all be the same length")
    whole = (np.max(row) + 1, np.max(col) + 1) if shape is None else (shape[0], shape[1])
    inside(row, whole[0])
    inside(col, whole[1])
    return data, row, col, whole


def by_runs(given, shape, by_rows):
    """The data, indices, indptr and shape of what is made of a tuple of arrays."""
    if not isinstance(given, tuple) or len(given) != 3:
        data, row, col, whole = by_places(given, shape)
        major, minor = (row, col) if by_rows else (col, row)
        found, indices, indptr = summed_by_place(data, major, minor, whole[0] if by_rows else whole[1])
        return found, indices, indptr, whole
    data, indices, indptr = np.asarray(given[0]), np.asarray(given[1]), np.asarray(given[2])
    across = np.max(indices) + 1 if shape is None else shape[1] if by_rows else shape[0]
    along = indptr.size - 1 if shape is None else shape[0] if by_rows else shape[1]
    if indptr.size != along + 1 or indices.size != data.size or indptr[along] > data.size or indptr[0] != 0:
        raise ValueError("indices and data, or indptr and shape, should have the same size")
    if np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr should not decrease")
    inside(indices, across)
    return data, indices, indptr, (along, across) if by_rows else (across, along)


def csr_array_of(matrix):
    return CsrArray(matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def csc_array_of(matrix):
    return CscArray(matrix.data, matrix.indices, matrix.indptr, matrix.shape)


@decomposition(sp.csr_matrix)
def csr_matrix(arg1, shape=None):
    if is_sparse(arg1):
        own = arg1.tocsr()
        return CsrMatrix(own.data, own.indices, own.indptr, own.shape)
    data, indices, indptr, whole = by_runs(arg1, shape, True)
    return CsrMatrix(data, indices, indptr, whole)


@decomposition(sp.csr_array)
def csr_array(arg1, shape=None):
    if is_sparse(arg1):
        return csr_array_of(arg1.tocsr())
    data, indices, indptr, whole = by_runs(arg1, shape, True)
    return CsrArray(data, indices, indptr, whole)


@decomposition(sp.csc_matrix)
def csc_matrix(arg1, shape=None):
    if is_sparse(arg1):
        own = arg1.tocsc()
        return CscMatrix(own.data, own.indices, own.indptr, own.shape)
    data, indices, indptr, whole = by_runs(arg1, shape, False)
    return CscMatrix(data, indices, indptr, whole)


@decomposition(sp.csc_array)
def csc_array(arg1, shape=None):
    if is_sparse(arg1):
        return csc_array_of(arg1.tocsc())
    data, indices, indptr, whole = by_runs(arg1, shape, False)
    return CscArray(data, indices, indptr, whole)


@decomposition(sp.coo_matrix)
def coo_matrix(arg1, shape=None):
    data, row, col, whole = by_places(arg1, shape)
    return CooMatrix(data, row, col, whole)


@decomposition(sp.coo_array)
def coo_array(arg1, shape=None):
    data, row, col, whole = by_places(arg1, shape)
    return CooArray(data, row, col, whole)


decomposition(sp.issparse)(lambda x: isinstance(x, (sp.spmatrix, sp.sparray)))


@decomposition(sp.lil_matrix, sp.lil_array, sp.dok_matrix, sp.dok_array, sp.dia_matrix, sp.dia_array)
def made_by_elements(*given, **named):
    raise NotImplementedError(
        "a sparse matrix of this format: write scipy.sparse.diags, or csr_matrix((data, (row, col)), shape)"
    )


@decomposition(sp.random, sp.rand, sp.random_array)
def drawn(*given, **named):
    raise NotImplementedError("a random sparse matrix: draw it outside, and pass it")
