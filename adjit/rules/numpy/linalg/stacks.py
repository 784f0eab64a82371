"""Linear algebra of stacks of matrices, one matrix after the other; and with what else NumPy takes.

In: the arguments of the NumPy function; None, texts and truth values are static. Out: what it returns.

    np.linalg.inv(a)      out[k] = np.linalg.inv(a[k])
"""

import numpy as np

from adjit.rules.numpy.axes import product
from adjit.rules.numpy.linalg.complex_matrices import complex_eig_of_real, complex_eigvals_of_real
from adjit.rules.numpy.real_or_complex import SPECTRA_ARE_COMPLEX, real_eig, real_eigvals
from adjit.rules.registry import builtin

general, decomposition, in_parts = builtin.general, builtin.decomposition, builtin.in_parts


def as_stack(a):
    """The matrices of `a` along one axis."""
    return a.reshape((product(a.shape[:-2]),) + a.shape[-2:])


def matrix_of_each(function, a, shape):
    matrices = as_stack(a)
    out = np.empty((matrices.shape[0],) + shape, a.dtype)
    for k in range(matrices.shape[0]):
        out[k] = function(matrices[k])
    return out.reshape(a.shape[:-2] + shape)


@general(np.linalg.inv)
def inv(a):
    return np.linalg.inv(a) if a.ndim == 2 else matrix_of_each(np.linalg.inv, a, a.shape[-2:])


@general(np.linalg.cholesky)
def cholesky(a):
    return np.linalg.cholesky(a) if a.ndim == 2 else matrix_of_each(np.linalg.cholesky, a, a.shape[-2:])


@general(np.linalg.pinv)
def pinv(a, rcond=1e-15):
    if a.ndim == 2:
        return np.linalg.pinv(a, rcond)
    return matrix_of_each(lambda m: np.linalg.pinv(m, rcond), a, (a.shape[-1], a.shape[-2]))


@general(np.linalg.matrix_power)
def matrix_power(a, n):
    if a.ndim == 2:
        return np.linalg.matrix_power(a, n)
    return matrix_of_each(lambda m: np.linalg.matrix_power(m, n), a, a.shape[-2:])


@general(np.linalg.det)
def det(a):
    if a.ndim == 2:
        return np.linalg.det(a)
    matrices = as_stack(a)
    out = np.empty(matrices.shape[0], a.dtype)
    for k in range(matrices.shape[0]):
        out[k] = np.linalg.det(matrices[k])
    return out.reshape(a.shape[:-2])


@general(np.linalg.slogdet)
def slogdet(a):
    if a.ndim == 2:
        return np.linalg.slogdet(a)
    matrices = as_stack(a)
    signs, logs = np.empty(matrices.shape[0], a.dtype), np.empty(matrices.shape[0], a.dtype)
    for k in range(matrices.shape[0]):
        signs[k], logs[k] = np.linalg.slogdet(matrices[k])
    return signs.reshape(a.shape[:-2]), logs.reshape(a.shape[:-2])


@general(np.linalg.solve)
def solve(a, b):
    if a.ndim == 2 and b.ndim <= 2:
        return np.linalg.solve(a, b)
    if b.ndim == 1:
        return np.linalg.solve(a, b.reshape(-1, 1))[..., 0]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = as_stack(np.broadcast_to(a, batch + a.shape[-2:]))
    right = as_stack(np.broadcast_to(b, batch + b.shape[-2:]))
    out = np.empty(right.shape, b.dtype)
    for k in range(right.shape[0]):
        out[k] = np.linalg.solve(left[k], right[k])
    return out.reshape(batch + b.shape[-2:])


@general(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    if UPLO != "L":
        return np.linalg.eigvalsh(np.swapaxes(a, -1, -2))
    if a.ndim == 2:
        return np.linalg.eigvalsh(a)
    matrices = as_stack(a)
    out = np.empty(matrices.shape[:2], a.dtype)
    for k in range(matrices.shape[0]):
        out[k] = np.linalg.eigvalsh(matrices[k])
    return out.reshape(a.shape[:-1])


@general(np.linalg.eigh)
def eigh(a, UPLO="L"):
    if UPLO != "L":
        return np.linalg.eigh(np.swapaxes(a, -1, -2))
    if a.ndim == 2:
        return np.linalg.eigh(a)
    matrices = as_stack(a)
    values, vectors = np.empty(matrices.shape[:2], a.dtype), np.empty(matrices.shape, a.dtype)
    for k in range(matrices.shape[0]):
        values[k], vectors[k] = np.linalg.eigh(matrices[k])
    return values.reshape(a.shape[:-1]), vectors.reshape(a.shape)


def as_floats(a):
    return a if a.dtype.kind == "f" else a.astype(np.float64)


def complex_type(a):
    return np.complex64 if a.dtype == np.float32 else np.complex128


def real_type(a):
    return a.dtype


@decomposition(np.linalg.eigvals)
def eigvals(a):
    return eigvals_by(a, real_eigvals, real_type)


@decomposition(np.linalg.eig)
def eig(a):
    return eig_by(a, real_eig, real_type)


@in_parts(np.linalg.eigvals)
def eigvals_in_parts(a):
    return eigvals_by(a, complex_eigvals_of_real, complex_type)


@in_parts(np.linalg.eig)
def eig_in_parts(a):
    return eig_by(a, complex_eig_of_real, complex_type)


if SPECTRA_ARE_COMPLEX:
    decomposition(np.linalg.eigvals)(eigvals_in_parts)
    decomposition(np.linalg.eig)(eig_in_parts)


def eigvals_by(a, of_one, kind):
    if a.ndim == 2:
        return of_one(as_floats(a))
    matrices = as_stack(as_floats(a))
    out = np.empty(matrices.shape[:2], kind(matrices))
    for k in range(matrices.shape[0]):
        out[k] = of_one(matrices[k])
    return out.reshape(a.shape[:-1])


def eig_by(a, of_one, kind):
    if a.ndim == 2:
        return of_one(as_floats(a))
    matrices = as_stack(as_floats(a))
    values, vectors = np.empty(matrices.shape[:2], kind(matrices)), np.empty(matrices.shape, kind(matrices))
    for k in range(matrices.shape[0]):
        values[k], vectors[k] = of_one(matrices[k])
    return values.reshape(a.shape[:-1]), vectors.reshape(a.shape)


@general(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        raise NotImplementedError("np.linalg.svd with `hermitian`")
    if a.ndim == 2:
        if compute_uv:
            return np.linalg.svd(a, full_matrices)
        _, s, _ = np.linalg.svd(a, False)
        return s
    if compute_uv:
        raise NotImplementedError("np.linalg.svd of a stack of matrices with `compute_uv`: loop over the stack")
    matrices = as_stack(a)
    count = min(a.shape[-2], a.shape[-1])
    out = np.empty((matrices.shape[0], count), a.dtype)
    for k in range(matrices.shape[0]):
        _, s, _ = np.linalg.svd(matrices[k], False)
        out[k] = s
    return out.reshape(a.shape[:-2] + (count,))


decomposition(np.linalg.svdvals)(lambda x: np.linalg.svd(x, compute_uv=False))


@general(np.linalg.qr)
def qr(a, mode="reduced"):
    if mode not in ("reduced", "r"):
        raise NotImplementedError("np.linalg.qr in this mode: write mode='reduced', or mode='r'")
    if a.ndim == 2:
        q, r = np.linalg.qr(a)
        return r if mode == "r" else (q, r)
    matrices, count = as_stack(a), min(a.shape[-2], a.shape[-1])
    qs = np.empty(matrices.shape[:2] + (count,), a.dtype)
    rs = np.empty((matrices.shape[0], count, a.shape[-1]), a.dtype)
    for k in range(matrices.shape[0]):
        qs[k], rs[k] = np.linalg.qr(matrices[k])
    upper = rs.reshape(a.shape[:-2] + rs.shape[1:])
    return upper if mode == "r" else (qs.reshape(a.shape[:-2] + qs.shape[1:]), upper)


@general(np.linalg.cond)
def cond(x, p=None):
    if x.ndim == 2:
        return np.linalg.cond(x, p)
    matrices = as_stack(x)
    out = np.empty(matrices.shape[0], x.dtype)
    for k in range(matrices.shape[0]):
        out[k] = np.linalg.cond(matrices[k], p)
    return out.reshape(x.shape[:-2])


@decomposition(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    if axes is not None:
        raise NotImplementedError("np.linalg.tensorsolve with `axes`: move them to the end, np.moveaxis(a, axes, ...)")
    rest = a.shape[b.ndim :]
    return np.linalg.solve(a.reshape((b.size, product(rest))), b.ravel()).reshape(rest)


@decomposition(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    if not ind > 0:
        raise ValueError("Invalid ind argument.")
    first, rest = a.shape[:ind], a.shape[ind:]
    return np.linalg.inv(a.reshape((product(first), product(rest)))).reshape(rest + first)


@general(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    if rcond is None:
        tiny = 1.1920929e-07 if a.dtype == np.float32 else 2.220446049250313e-16
        return np.linalg.lstsq(a, b, tiny * max(a.shape[0], a.shape[1]))
    return np.linalg.lstsq(a, b, rcond)


# -------------------------------------------------------------------------------------------- what the array API names

decomposition(np.linalg.trace)(lambda x, offset=0: np.trace(x, offset, -2, -1))
decomposition(np.linalg.diagonal)(lambda x, offset=0: np.diagonal(x, offset, -2, -1))
decomposition(np.linalg.outer)(lambda x1, x2: np.outer(x1, x2))


@decomposition(np.linalg.cross)
def cross_of_three(x1, x2, axis=-1):
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return np.cross(x1, x2, axis=axis)


decomposition(np.linalg.matmul)(lambda x1, x2: np.matmul(x1, x2))
decomposition(np.linalg.matrix_norm)(
    lambda x, keepdims=False, ord="fro": np.linalg.norm(x, ord, (-2, -1), keepdims)
)


@decomposition(np.linalg.vector_norm)
def vector_norm(x, axis=None, keepdims=False, ord=2):
    if axis is None:
        return np.linalg.norm(x.ravel(), ord)
    return np.linalg.norm(x, ord, axis, keepdims)
