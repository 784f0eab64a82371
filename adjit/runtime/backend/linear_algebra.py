"""Products, solves and factorisations as they are compiled in the place of numba's: one function each, not twenty.

In: matrices and vectors of one kind of float. Out: what numba's own return, bit for bit, by the same routines of BLAS
and LAPACK.

    own_form(np.linalg.solve, (float64[:, ::1], float64[::1])) is solve_vector

numba makes a solve of general copies, iterators and assignments that each are compiled as functions: 3 to 6 s, where
these take a tenth of a second. Copies of matrices hold their columns as rows, as LAPACK wants them. The copy, which
looks for what is not finite, stands in each: as a function of its own it doubles the time (`inverse`: 0.11 to 0.22 s).
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, overload, type_callable
from numba.np import arrayobj
from numba.np.linalg import (
    F_INT_nptype,
    call_xxdot,
    call_xxgemv,
    check_blas_return,
    ensure_blas,
    ensure_lapack,
    get_blas_kind,
    make_constant_slot,
)  # fmt: skip

from adjit.runtime.backend.loading import load_routines
from adjit.runtime.backend.products import LARGE, in_tiles, suits_tiles, takes_tiles
from adjit.runtime.library import workspace
from adjit.runtime.library.spectra import spectrum_of_real

_SQUARE = "Last 2 dimensions of the array must be square."
_FINITE = "Array must not contain infs or NaNs."
_SINGULAR = "Matrix is singular to machine precision."
_INDEFINITE = "Matrix is not positive definite."
_INVALID = "Incompatible array sizes, system is not dimensionally valid."
_EMPTY = "Arrays cannot be empty"
_UNFIT_MM = "incompatible array sizes for np.dot(a, b) (matrix * matrix)"
_UNFIT_MV = "incompatible array sizes for np.dot(a, b) (matrix * vector)"
_UNFIT_VM = "incompatible array sizes for np.dot(a, b) (vector * matrix)"
_UNFIT_VV = "incompatible array sizes for np.dot(a, b) (vector * vector)"
_TOO_LARGE = "array size too large to fit in C int"
_MOST = 2**31 - 1
_DIVERGED = "Internal algorithm failed to converge."
_UPPER, _ALL, _YES, _NO = ord("U"), ord("A"), ord("V"), ord("N")

LinAlgError = np.linalg.LinAlgError
_PIVOT = F_INT_nptype


def own_form(callee: Any, args: Sequence[types.Type]) -> Callable[..., Any] | None:
    """The function that is compiled for a call with arguments of these types; None where numba's own is."""
    if callee is dot_into:
        return dot_into  # type: ignore[no-any-return]
    if not all(isinstance(t, types.Array) and t.dtype in (types.float64, types.float32) and t.aligned for t in args):
        return None
    arrays: Any = args
    if len({t.dtype for t in arrays}) != 1:
        return None
    return _FORMS.get((callee, tuple(t.ndim for t in arrays)))


def told(function: Any, count: int, typed: Callable[..., Any], lower: Any) -> None:
    """Tells numba of the signature of a function of so many arguments, by `typed(context, *types)`, and what writes its
    instructions."""

    def typer_in(context: Any) -> Any:
        def typer(*args: types.Type) -> Any:
            return typed(context, *args)

        named: Any = typer
        # numba looks at the parameters, one by one
        named.pysig = inspect.Signature(
            [inspect.Parameter(f"a{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(count)]
        )
        return named

    type_callable(function)(typer_in)
    lower_builtin(function, *[types.Any] * count)(lower)


# ----------------------------------------------------------------------------------------------------------- routines


def _routine(symbol: str, form: str) -> Any:
    """A routine of LAPACK, as numba wraps it; `form` says what it takes: `k`ind of float, `c`haracter, `n`umber,
    `p`ointer to an array. Gives what LAPACK returns as info."""

    def called(*arguments: Any) -> int:
        raise NotImplementedError

    called.__name__ = called.__qualname__ = symbol

    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        dtype = next(t.dtype for t in sig.args if isinstance(t, types.Array))
        given = iter(zip(sig.args, args, strict=True))
        values = []
        for letter in form:
            if letter == "k":
                values.append(ir.IntType(8)(ord(get_blas_kind(dtype))))
                continue
            type_, value = next(given)
            if letter == "p":
                data = arrayobj.make_array(type_)(context, builder, value).data
                values.append(builder.bitcast(data, cgutils.voidptr_t))
            else:
                values.append(context.cast(builder, value, type_, types.int8 if letter == "c" else types.intp))
        kind = ir.FunctionType(ir.IntType(32), [value.type for value in values])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), values)

    def typed(context: Any, *args: types.Type) -> Any:
        load_routines()
        ensure_lapack()
        return signature(types.int32, *args)

    told(called, len(form.replace("k", "")), typed, lower)
    return called


_gesv = _routine("numba_xgesv", "knnpnppn")
_getrf = _routine("numba_xxgetrf", "knnpnp")
_getri = _routine("numba_ez_xxgetri", "knpnp")
_potrf = _routine("numba_xxpotrf", "kcnpn")
_geqrf = _routine("numba_ez_geqrf", "knnpnp")
_gqr = _routine("numba_ez_xxgqr", "knnnpnp")
_gesdd = _routine("numba_ez_gesdd", "kcnnpnppnpn")
_geev = _routine("numba_ez_rgeev", "kccnpnpppnpn")


def _face(typer: Any, count: int) -> Any:
    """Registers what writes the instructions of a function whose type `typer` tells."""

    def register(lower: Any) -> Any:
        def typed(context: Any, *args: types.Type) -> Any:
            load_routines()
            ensure_blas()
            return signature(typer(*args), *args)

        def called(*arguments: Any) -> Any:
            raise NotImplementedError

        called.__name__ = called.__qualname__ = lower.__name__
        told(called, count, typed, lower)
        return called

    return register


@_face(lambda a: a if a.layout in "CF" else a.copy(layout="C", readonly=False), 1)
def _contiguous(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    """The array itself, or a copy of one that is not contiguous."""
    (kind,) = sig.args
    if kind.layout == "A":
        return arrayobj.array_copy(context, builder, sig, args)
    context.nrt.incref(builder, kind, args[0])
    return args[0]


class _Factor(NamedTuple):
    """A contiguous matrix by its rows as they lie in memory, or, `is_turned`, its transpose."""

    rows: ir.Value
    columns: ir.Value
    data: ir.Value
    is_turned: ir.Value

    def extents(self, builder: ir.IRBuilder) -> tuple[ir.Value, ir.Value]:
        first = builder.select(self.is_turned, self.columns, self.rows)
        return first, builder.select(self.is_turned, self.rows, self.columns)

    def transposed(self, builder: ir.IRBuilder, is_for: str) -> ir.Value:
        """What BLAS is told of the matrix, by columns: `is_for` for the transpose, the other letter else."""
        letters = [ir.IntType(8)(ord(letter)) for letter in (is_for, "tn".replace(is_for, ""))]
        return builder.select(self.is_turned, *letters)


def _write_product(
    context: Any, builder: ir.IRBuilder, dtype: types.Type, left: _Factor, right: _Factor, out: Any
) -> None:
    """out = left @ right, which fit, by the routine that numba calls for such extents."""
    (rows, inner), (_, columns) = left.extents(builder), right.extents(builder)
    zero, one = inner.type(0), inner.type(1)
    is_empty = functools.reduce(builder.or_, [builder.icmp_signed("==", e, zero) for e in (rows, inner, columns)])
    is_column, is_row = (builder.icmp_signed("==", extent, one) for extent in (columns, rows))
    alpha, beta = (make_constant_slot(context, builder, dtype, value) for value in (1.0, 0.0))
    letter = ir.IntType(8)(ord(get_blas_kind(dtype)))

    def call(symbol: str, *values: ir.Value) -> None:
        given = [builder.bitcast(v, cgutils.voidptr_t) if isinstance(v.type, ir.PointerType) else v for v in values]
        kind = ir.FunctionType(ir.IntType(32), [value.type for value in (letter, *given)])
        function = cgutils.get_or_insert_function(builder.module, kind, symbol)
        check_blas_return(context, builder, builder.call(function, (letter, *given)))

    def by_vector(matrix: _Factor, is_for: str, vector: _Factor) -> None:
        extents = matrix.columns, matrix.rows
        stored = alpha, matrix.data, matrix.columns
        call("numba_xxgemv", matrix.transposed(builder, is_for), *extents, *stored, vector.data, beta, out.data)

    with builder.if_else(is_empty, likely=False) as (empty, full):
        with empty:
            cgutils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        with full, builder.if_else(is_column) as (column, wide):
            with column, builder.if_else(is_row) as (number, tall):
                with number:
                    call("numba_xxdot", ir.IntType(8)(0), inner, left.data, right.data, out.data)
                with tall:
                    by_vector(left, "n", right)
            with wide, builder.if_else(is_row) as (row, matrix):
                with row:
                    by_vector(right, "t", left)
                with matrix:
                    turns = [factor.transposed(builder, "t") for factor in (right, left)]
                    first, second = ((factor.data, factor.columns) for factor in (right, left))
                    call("numba_xxgemm", *turns, columns, rows, inner, alpha, *first, *second, beta, out.data, columns)


@_face(lambda a, b, out: types.none, 3)
def _gemm(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    """out = a @ b for two contiguous matrices that fit."""
    a, b, out = (arrayobj.make_array(t)(context, builder, v) for t, v in zip(sig.args, args, strict=True))

    def factor(kind: Any, array: Any) -> _Factor:
        first, second = cgutils.unpack_tuple(builder, array.shape)
        is_turned = kind.layout == "F"
        stored = (second, first) if is_turned else (first, second)
        return _Factor(*stored, array.data, cgutils.true_bit if is_turned else cgutils.false_bit)

    _write_product(context, builder, sig.args[2].dtype, factor(sig.args[0], a), factor(sig.args[1], b), out)
    return context.get_dummy_value()


@_face(lambda a, b, out, a_turned, b_turned: types.none, 5)
def _gemm_turned(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    """out = a @ b for two matrices that fit, of which the arrays are the transposes where the flags are not zero."""
    a, b, out = (arrayobj.make_array(t)(context, builder, v) for t, v in zip(sig.args[:3], args[:3], strict=True))

    def factor(array: Any, flag: ir.Value) -> _Factor:
        rows, columns = cgutils.unpack_tuple(builder, array.shape)
        return _Factor(rows, columns, array.data, builder.icmp_signed("!=", flag, flag.type(0)))

    _write_product(context, builder, sig.args[2].dtype, factor(a, args[3]), factor(b, args[4]), out)
    return context.get_dummy_value()


def _by_gemv(name: str, plain: str) -> Any:
    """The product of a matrix and a vector as numba asks BLAS for it, of the matrix as it is where it has the layout
    `plain`, else of its transpose."""

    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        a, b, out = (arrayobj.make_array(t)(context, builder, v) for t, v in zip(sig.args, args, strict=True))
        kind, shape = sig.args[0], cgutils.unpack_tuple(builder, a.shape)
        call_xxgemv(context, builder, kind.layout == plain, kind, shape, a.data, b.data, out.data)
        return context.get_dummy_value()

    lower.__name__ = name
    return _face(lambda a, b, out: types.none, 3)(lower)


_gemv = _by_gemv("_gemv", "C")  # out = a @ b, of a matrix and a vector
_gevm = _by_gemv("_gevm", "F")  # out = b @ a, of these


@_face(lambda a, b: a.dtype, 2)
def _inner(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    a, b = (arrayobj.make_array(t)(context, builder, v) for t, v in zip(sig.args, args, strict=True))
    (count,) = cgutils.unpack_tuple(builder, a.shape)
    out = cgutils.alloca_once(builder, context.get_value_type(sig.return_type))
    call_xxdot(context, builder, False, sig.return_type, count, a.data, b.data, out)
    return builder.load(out)


# ----------------------------------------------------------------------------------------------------------- products


# products of many multiplications, with so few columns, are made the other way round
_NARROW = 32


def dot_into(a, b, out, a_turned, b_turned):  # type: ignore[no-untyped-def]
    # one function for rows and for columns that lie side by side
    if a_turned:
        k, m = a.shape
    else:
        m, k = a.shape
    if b_turned:
        n, inner = b.shape
    else:
        inner, n = b.shape
    if k != inner:
        raise ValueError(_UNFIT_MM)
    if m > _MOST or k > _MOST or n > _MOST:
        raise OverflowError(_TOO_LARGE)
    if takes_tiles() and suits_tiles(m, k, n, a_turned != 0):
        in_tiles(out, a, b, a_turned, b_turned)
        return
    # beyond the products that it has small kernels for, OpenBLAS takes up to 1.6 times as long for few columns of a
    # result as for few rows
    is_narrow = a_turned != 0 and m * k * n >= LARGE and 1 < n <= _NARROW
    left, right, made = a, b, out
    if is_narrow:
        left, right, made = b, a, workspace.empty((n, m), a.dtype)
        a_turned, b_turned = 1 - b_turned, 0
    _gemm_turned(left, right, made, a_turned, b_turned)
    if is_narrow:
        for i in range(m):
            for j in range(n):
                out[i, j] = made[j, i]


def product_of_matrices(a, b):  # type: ignore[no-untyped-def]
    m, k = a.shape
    n = b.shape[1]
    if k != b.shape[0]:
        raise ValueError(_UNFIT_MM)
    if m > _MOST or k > _MOST or n > _MOST:
        raise OverflowError(_TOO_LARGE)
    out = np.empty((m, n), a.dtype)
    _gemm(_contiguous(a), _contiguous(b), out)
    return out


def matrix_times_vector(a, b):  # type: ignore[no-untyped-def]
    m, n = a.shape
    if n != b.shape[0]:
        raise ValueError(_UNFIT_MV)
    if m > _MOST or n > _MOST:
        raise OverflowError(_TOO_LARGE)
    out = np.empty(m, a.dtype)
    if m == 0 or n == 0:
        for i in range(m):
            out[i] = 0.0
        return out
    _gemv(_contiguous(a), _contiguous(b), out)
    return out


def vector_times_matrix(a, b):  # type: ignore[no-untyped-def]
    m, n = b.shape
    if m != a.shape[0]:
        raise ValueError(_UNFIT_VM)
    if m > _MOST or n > _MOST:
        raise OverflowError(_TOO_LARGE)
    out = np.empty(n, b.dtype)
    if m == 0 or n == 0:
        for i in range(n):
            out[i] = 0.0
        return out
    _gevm(_contiguous(b), _contiguous(a), out)
    return out


def inner_product(a, b):  # type: ignore[no-untyped-def]
    if a.shape[0] != b.shape[0]:
        raise ValueError(_UNFIT_VV)
    if a.shape[0] > _MOST:
        raise OverflowError(_TOO_LARGE)
    return _inner(_contiguous(a), _contiguous(b))


# ------------------------------------------------------------------------------------------------ solves and the like


def solve_vector(a, b):  # type: ignore[no-untyped-def]
    n = a.shape[1]
    columns = np.empty((n, a.shape[0]), a.dtype)
    x = np.empty(b.shape[0], b.dtype)
    rest = 0.0
    for i in range(a.shape[0]):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    for i in range(b.shape[0]):
        x[i] = b[i]
        rest += b[i] - b[i]
    # of what is not finite the difference is not 0
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    if a.shape[0] != b.shape[0]:
        raise LinAlgError(_INVALID)
    if a.shape[0] != n:
        raise LinAlgError(_SQUARE)
    if n == 0:
        return x
    pivots = np.empty(n, _PIVOT)
    if _gesv(n, 1, columns, n, pivots, x, n) > 0:
        raise LinAlgError(_SINGULAR)
    return x


def solve_matrix(a, b):  # type: ignore[no-untyped-def]
    n, count = a.shape[1], b.shape[1]
    columns = np.empty((n, a.shape[0]), a.dtype)
    x = np.empty((count, b.shape[0]), b.dtype)
    rest = 0.0
    for i in range(a.shape[0]):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    for i in range(b.shape[0]):
        for j in range(count):
            x[j, i] = b[i, j]
            rest += b[i, j] - b[i, j]
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    if a.shape[0] != b.shape[0]:
        raise LinAlgError(_INVALID)
    if a.shape[0] != n:
        raise LinAlgError(_SQUARE)
    if n == 0 or count == 0:
        return x.T
    pivots = np.empty(n, _PIVOT)
    if _gesv(n, count, columns, n, pivots, x, n) > 0:
        raise LinAlgError(_SINGULAR)
    return x.T


def inverse(a):  # type: ignore[no-untyped-def]
    n = a.shape[1]
    if a.shape[0] != n:
        raise LinAlgError(_SQUARE)
    columns = np.empty((n, n), a.dtype)
    rest = 0.0
    for i in range(n):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    if n == 0:
        return columns.T
    pivots = np.empty(n, _PIVOT)
    if _getrf(n, n, columns, n, pivots) > 0 or _getri(n, columns, n, pivots) > 0:
        raise LinAlgError(_SINGULAR)
    return columns.T


def log_determinant(a):  # type: ignore[no-untyped-def]
    n = a.shape[1]
    if a.shape[0] != n:
        raise LinAlgError(_SQUARE)
    if n == 0:
        return 1.0, 0.0
    columns = np.empty((n, n), a.dtype)
    rest = 0.0
    for i in range(n):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    pivots = np.empty(n, _PIVOT)
    if _getrf(n, n, columns, n, pivots) > 0:
        return 0.0, -np.inf
    swaps = 0
    for k in range(n):
        swaps += pivots[k] != k + 1
    sign = 1.0 if swaps % 2 == 0 else -1.0
    total = 0.0
    for k in range(n):
        pivot = columns[k, k]
        if pivot < 0.0:
            sign = -sign
            pivot = -pivot
        total += math.log(pivot)
    return sign, total


def determinant(a):  # type: ignore[no-untyped-def]
    sign, logarithm = np.linalg.slogdet(a)
    return sign * math.exp(logarithm)


def lower_factor(a):  # type: ignore[no-untyped-def]
    n = a.shape[1]
    if a.shape[0] != n:
        raise LinAlgError(_SQUARE)
    out = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j]
    if n == 0:
        return out
    # what is above for LAPACK, which reads columns, is below here
    if _potrf(_UPPER, n, out, n) > 0:
        raise LinAlgError(_INDEFINITE)
    for i in range(n):
        for j in range(i + 1, n):
            out[i, j] = 0.0
    return out


_PRODUCTS = {
    (2, 2): product_of_matrices, (2, 1): matrix_times_vector, (1, 2): vector_times_matrix, (1, 1): inner_product,
}  # fmt: skip


def orthogonal_factors(a):  # type: ignore[no-untyped-def]
    m, n = a.shape
    if m == 0 or n == 0:
        raise LinAlgError(_EMPTY)
    columns = np.empty((n, m), a.dtype)
    rest = 0.0
    for i in range(m):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    count = min(m, n)
    scales = np.empty(count, a.dtype)
    _geqrf(m, n, columns, m, scales)
    upper = np.empty((n, count), a.dtype)
    for j in range(n):
        for i in range(count):
            upper[j, i] = columns[j, i] if i <= j else 0.0
    if _gqr(m, count, count, columns, m, scales) > 0:
        raise ValueError(_DIVERGED)
    return columns.T[:, :count], upper.T


def singular_values(a):  # type: ignore[no-untyped-def]
    m, n = a.shape
    if m == 0 or n == 0:
        raise LinAlgError(_EMPTY)
    columns = np.empty((n, m), a.dtype)
    rest = 0.0
    for i in range(m):
        for j in range(n):
            columns[j, i] = a[i, j]
            rest += a[i, j] - a[i, j]
    if rest != 0.0:
        raise LinAlgError(_FINITE)
    left, right = np.empty((m, m), a.dtype), np.empty((n, n), a.dtype)
    values = np.empty(min(m, n), a.dtype)
    if _gesdd(_ALL, m, n, columns, m, values, left, m, right, n) > 0:
        raise ValueError(_DIVERGED)
    return left.T, values, right.T


_FORMS: dict[tuple[Any, tuple[int, ...]], Callable[..., Any]] = {
    **{(callee, axes): form for callee in (np.dot, operator.matmul) for axes, form in _PRODUCTS.items()},
    (np.vdot, (1, 1)): inner_product,
    (np.linalg.solve, (2, 1)): solve_vector,
    (np.linalg.solve, (2, 2)): solve_matrix,
    (np.linalg.inv, (2,)): inverse,
    (np.linalg.cholesky, (2,)): lower_factor,
    (np.linalg.slogdet, (2,)): log_determinant,
    (np.linalg.det, (2,)): determinant,
    (np.linalg.qr, (2,)): orthogonal_factors,
    (np.linalg.svd, (2,)): singular_values,
}


# ------------------------------------------------------------------------------------------------------------- spectra


def _spectrum(a):  # type: ignore[no-untyped-def]
    """As numba has it, whatever comes out: before NumPy 2.5 numba refuses what is complex of a real matrix."""
    n = a.shape[0]
    if a.shape[1] != n:
        raise LinAlgError(_SQUARE)
    if not np.all(np.isfinite(a)):
        raise LinAlgError(_FINITE)
    values, imag_values = np.empty(n, a.dtype), np.empty(n, a.dtype)
    real, imag = np.empty((n, n), a.dtype), np.zeros((n, n), a.dtype)
    if n == 0:
        return values, imag_values, real, imag
    # LAPACK reads columns
    columns, left, rows = a.T.copy(), np.empty((n, 1), a.dtype), np.empty((n, n), a.dtype)
    if _geev(_NO, _YES, n, columns, n, values, imag_values, left, 1, rows, n) != 0:
        raise LinAlgError(_DIVERGED)
    for j in range(n):
        # of a pair the first has the positive imaginary part; real and imaginary part of its vector are both rows
        first = j if imag_values[j] >= 0.0 else j - 1
        for i in range(n):
            real[i, j] = rows[first, i]
            if imag_values[j] != 0.0:
                imag[i, j] = np.sign(imag_values[j]) * rows[first + 1, i]
    return values, imag_values, real, imag


overload(spectrum_of_real, strict=False)(lambda a: _spectrum)
