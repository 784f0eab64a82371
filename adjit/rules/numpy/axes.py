"""Along axes: what a function of one row makes of each row of an array, and what NumPy makes of the rest.

In: a function of vectors, an array and its axes. Out: an array without the axes, or one of the same shape.

    reduced(np.median, x, 1, False, x.dtype)      out[k] = np.median(x[k])
    mapped(np.sort, x, 0, x.dtype)                out[:, k] = np.sort(x[:, k])
"""

import numpy as np


def normal_axes(axis, ndim):
    """The axes that `axis` names, from 0 on, in order; all of them where it is None. The compiler's own."""
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(k % ndim for k in given))


def one_axis(axis, ndim):
    """An axis from 0 on."""
    (found,) = normal_axes(axis, ndim)
    return found


def without_axes(shape, axes, keepdims):
    """The shape that is left without the axes; with `keepdims` they are there, of one element."""
    if keepdims:
        return tuple(1 if k in axes else shape[k] for k in range(len(shape)))
    return tuple(shape[k] for k in range(len(shape)) if k not in axes)


def product(extents):
    total = 1
    for n in extents:
        total = total * n
    return total


def float_type(a):
    """The dtype of a mean of the elements."""
    none = np.zeros(0, a.dtype)
    return (none / none).dtype


def rows_along(a, axes):
    """The elements of `a` as a matrix, of which each row is what the axes span."""
    rest = tuple(k for k in range(a.ndim) if k not in axes)
    count, length = product(tuple(a.shape[k] for k in rest)), product(tuple(a.shape[k] for k in axes))
    return np.transpose(a, rest + axes).reshape((count, length))


def reduced(function, a, axis, keepdims, dtype):
    """A number for what the axes span, each time."""
    axes = normal_axes(axis, a.ndim)
    if len(axes) == a.ndim and not keepdims:
        return function(a.ravel())
    rows = rows_along(a, axes)
    out = np.empty(rows.shape[0], dtype)
    for k in range(rows.shape[0]):
        out[k] = function(rows[k])
    return out.reshape(without_axes(a.shape, axes, keepdims))


def mapped(function, a, axis, dtype):
    """A vector in the place of each along the axis, as long as that."""
    axis = one_axis(axis, a.ndim)
    out = np.empty(a.shape, dtype)
    count = product(a.shape[:axis])
    if axis == a.ndim - 1:
        rows, made = a.reshape((count, a.shape[axis])), out.reshape((count, a.shape[axis]))
        for i in range(count):
            made[i] = function(rows[i])
        return out
    inner = product(a.shape[axis + 1 :])
    blocks, made = a.reshape((count, a.shape[axis], inner)), out.reshape((count, a.shape[axis], inner))
    for i in range(count):
        for j in range(inner):
            made[i, :, j] = function(blocks[i, :, j].copy())
    return out
