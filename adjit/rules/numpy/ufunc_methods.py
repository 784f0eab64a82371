"""The methods of ufuncs: one function of two numbers over a whole array.

In: a ufunc and the arguments of its method. Out: what the method returns.

    np.logaddexp.reduce(x)      total = x[0];  for k in 1 ..: total = np.logaddexp(total, x[k])
    np.add.outer(a, b)          a[:, np.newaxis] + b
"""

import numpy as np

from adjit.rules.numpy.axes import normal_axes, one_axis


def reduce(ufunc, array, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    if ufunc is np.add:
        return np.sum(array, axis, dtype, None, keepdims, initial, where)
    if ufunc is np.multiply:
        return np.prod(array, axis, dtype, keepdims, initial, where)
    if where is not True:
        raise NotImplementedError("a ufunc's reduce with `where`")
    a = array if dtype is None else array.astype(dtype)
    if ufunc is np.maximum:
        found = np.max(a, axis, None, keepdims)
    elif ufunc is np.minimum:
        found = np.min(a, axis, None, keepdims)
    elif ufunc is np.logical_and:
        found = np.all(a, axis, None, keepdims)
    elif ufunc is np.logical_or:
        found = np.any(a, axis, None, keepdims)
    else:
        found = folded(ufunc, a, normal_axes(axis, a.ndim), keepdims)
    return found if initial is None else ufunc(found, initial)


def folded(ufunc, a, axes, keepdims):
    found = a
    # from the last one on, so that the numbers of those before stay what they are
    for axis in axes[::-1]:
        found = folded_once(ufunc, np.moveaxis(found, axis, 0))
    return np.expand_dims(found, axes) if keepdims else found


def folded_once(ufunc, rows):
    if rows.shape[0] == 0:
        raise ValueError("zero-size array to reduction operation which has no identity")
    if rows.ndim == 1:
        total = rows[0]
        for k in range(1, rows.shape[0]):
            total = ufunc(total, rows[k])
        return total
    totals = rows[0].copy()
    for k in range(1, rows.shape[0]):
        totals[...] = ufunc(totals, rows[k])
    return totals


def accumulate(ufunc, array, axis=0, dtype=None):
    if ufunc is np.add:
        return np.cumsum(array, axis, dtype)
    if ufunc is np.multiply:
        return np.cumprod(array, axis, dtype)
    out = array.copy() if dtype is None else array.astype(dtype)
    rows = np.moveaxis(out, one_axis(axis, out.ndim), 0)
    for k in range(1, rows.shape[0]):
        rows[k] = ufunc(rows[k - 1], rows[k])
    return out


def reduceat(ufunc, array, indices, axis=0, dtype=None):
    a = array if dtype is None else array.astype(dtype)
    axis = one_axis(axis, a.ndim)
    rows = np.moveaxis(a, axis, 0)
    n, starts = rows.shape[0], np.asarray(indices)
    for k in range(starts.size):
        if starts[k] < 0 or starts[k] >= n:
            raise IndexError("index out of bounds in reduceat")
    out = np.empty((starts.size,) + rows.shape[1:], a.dtype)
    for k in range(starts.size):
        stop = starts[k + 1] if k + 1 < starts.size else n
        out[k] = rows[starts[k]]
        for j in range(starts[k] + 1, stop):
            out[k] = ufunc(out[k], rows[j])
    return np.moveaxis(out, 0, axis)


def outer(ufunc, A, B):
    if np.ndim(A) == 0 or np.ndim(B) == 0:
        return ufunc(A, B)
    return ufunc(A.reshape(A.shape + (1,) * B.ndim), B)


METHODS_OF_UFUNCS = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer}
