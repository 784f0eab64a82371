"""Shapes: turning, padding, splitting and repeating along axes; grids of indices.

In: the arguments of the NumPy function; axes, shapes of tuples, modes and None are static. Out: views where NumPy gives
views and numba can, else arrays of their own.

    np.flip(x, 1)    x[:, ::-1]        np.tile(v, 2)      out = np.empty((2, v.size));  out[...] = v;  out.ravel()
"""

import numpy as np

from adjit.rules.numpy.arrays import as_view
from adjit.rules.numpy.axes import normal_axes, one_axis, product
from adjit.rules.registry import builtin

general, decomposition = builtin.general, builtin.decomposition


def along(ndim, axis, entry):
    """The index that is `entry` along an axis, and takes all along the others."""
    return tuple(entry if k == axis else slice(None) for k in range(ndim))


# ------------------------------------------------------------------------------------------------------------- turning


@general(np.flip)
def flip(m, axis=None):
    axes = normal_axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


@general(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    first, second = axes[0] % m.ndim, axes[1] % m.ndim
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    if turns == 2:
        return np.flip(m, (first, second))
    return np.flip(np.swapaxes(m, first, second), second)


@general(np.roll)
def roll(a, shift, axis=None):
    if axis is None:
        return np.roll(a, shift)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    found = a
    for distance, k in zip(shifts, axes if len(axes) == len(shifts) else axes * len(shifts), strict=True):
        found = rolled(found, distance, one_axis(k, a.ndim))
    return found


def rolled(a, shift, axis):
    out = np.empty(a.shape, a.dtype)
    n = a.shape[axis]
    if n > 0:
        split = shift % n
        out[along(a.ndim, axis, slice(split, None))] = a[along(a.ndim, axis, slice(None, n - split))]
        out[along(a.ndim, axis, slice(None, split))] = a[along(a.ndim, axis, slice(n - split, None))]
    return out


@decomposition(np.rollaxis)
def rollaxis(a, axis, start=0):
    axis = one_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if start > axis else start)


decomposition(np.matrix_transpose, np.linalg.matrix_transpose)(lambda x: np.swapaxes(x, -1, -2))


@general(np.atleast_1d)
def atleast_1d(ary):
    return np.asarray(ary).reshape(1) if np.ndim(ary) == 0 else ary


@general(np.atleast_2d)
def atleast_2d(ary):
    if np.ndim(ary) == 0:
        return np.asarray(ary).reshape(1, 1)
    return ary[np.newaxis] if ary.ndim == 1 else ary


@decomposition(np.atleast_3d)
def atleast_3d(ary):
    if np.ndim(ary) == 0:
        return np.asarray(ary).reshape(1, 1, 1)
    if ary.ndim == 1:
        return ary[np.newaxis, :, np.newaxis]
    return ary[:, :, np.newaxis] if ary.ndim == 2 else ary


@decomposition(np.asarray_chkfinite)
def asarray_chkfinite(a, dtype=None):
    found = np.asarray(a) if dtype is None else np.asarray(a, dtype)
    if not np.all(np.isfinite(found)):
        raise ValueError("array must not contain infs or NaNs")
    return found


decomposition(np.astype)(lambda x, dtype, copy=True: x.astype(dtype) if copy else np.asarray(x, dtype))


@decomposition(np.require)
def require(a, dtype=None, requirements=None):
    asked = () if requirements is None else requirements
    found = np.asarray(a) if dtype is None else np.asarray(a, dtype)
    for one in asked:
        if one not in ("C", "C_CONTIGUOUS", "CONTIGUOUS", "A", "ALIGNED", "W", "WRITEABLE", "E", "ENSUREARRAY"):
            raise NotImplementedError("np.require with Fortran order, or with its own memory: write a.copy()")
    return np.ascontiguousarray(found) if "C" in asked or "C_CONTIGUOUS" in asked or "CONTIGUOUS" in asked else found


@decomposition(np.unstack)
def unstack(x, axis=0):
    rows = np.moveaxis(x, axis, 0)
    return [rows[k] for k in range(rows.shape[0])]


# ---------------------------------------------------------------------------------------------------------- repetition


@general(np.repeat)
def repeat(a, repeats, axis=None):
    if np.ndim(a) == 0:
        return np.full(repeats, a)
    if axis is None:
        return np.repeat(a, repeats)
    axis = one_axis(axis, a.ndim)
    places = np.repeat(np.arange(a.shape[axis]), repeats)
    return a[along(a.ndim, axis, places)].copy()


@decomposition(np.tile)
def tile(A, reps):
    times = reps if isinstance(reps, tuple) else (reps,)
    rank = max(np.ndim(A), len(times))
    ones = (1,) * rank
    counts = ones[: rank - len(times)] + times
    inner = ones[: rank - np.ndim(A)] + np.shape(A)
    out = np.empty(pairs(counts, inner), A.dtype if np.ndim(A) > 0 else np.asarray(A).dtype)
    out[...] = np.asarray(A).reshape(pairs(ones, inner))
    return out.reshape(tuple(count * n for count, n in zip(counts, inner, strict=True)))


def pairs(first, second):
    """The numbers of two tuples in turn."""
    return tuple(pair[k] for pair in zip(first, second, strict=True) for k in range(2))


@decomposition(np.resize)
def resize(a, new_shape):
    elements = a.ravel()
    shape = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    out = np.empty(product(shape), a.dtype)
    if out.size > 0 and elements.size == 0:
        raise ValueError("np.resize of an array without elements")
    for k in range(out.size):
        out[k] = elements[k % elements.size]
    return out.reshape(shape)


@decomposition(np.trim_zeros)
def trim_zeros(filt, trim="fb"):
    start, stop = 0, filt.size
    if trim in ("fb", "f", "bf", "FB", "F", "BF"):
        while start < stop and filt[start] == 0:
            start += 1
    if trim in ("fb", "b", "bf", "FB", "B", "BF"):
        while stop > start and filt[stop - 1] == 0:
            stop -= 1
    return filt[start:stop]


# ------------------------------------------------------------------------------------------------------------- padding


def widths(pad_width, ndim):
    """How much is added before and after, for each axis."""
    if not isinstance(pad_width, (tuple, list)):
        return ((pad_width, pad_width),) * ndim
    if not isinstance(pad_width[0], (tuple, list)):
        one = (pad_width[0], pad_width[0 if len(pad_width) == 1 else 1])
        return (one,) * ndim
    if len(pad_width) == 1:
        return ((pad_width[0][0], pad_width[0][1]),) * ndim
    return tuple((pair[0], pair[len(pair) - 1]) for pair in pad_width)


@decomposition(np.pad)
def pad(array, pad_width, mode="constant", constant_values=0, end_values=0):
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "empty"):
        raise NotImplementedError("np.pad in this mode")
    found = array
    ends = widths(end_values if mode == "linear_ramp" else constant_values, array.ndim)
    for axis, (before, after) in enumerate(widths(pad_width, array.ndim)):
        found = padded(found, axis, before, after, mode, ends[axis])
    return found


def padded(a, axis, before, after, mode, ends):
    n = a.shape[axis]
    if before < 0 or after < 0:
        raise ValueError("index can't contain negative values")
    if n == 0 and mode != "constant" and before + after > 0:
        raise ValueError("can't extend empty axis using modes other than 'constant' or 'empty'")
    shape = a.shape[:axis] + (before + n + after,) + a.shape[axis + 1 :]
    out = np.empty(shape, a.dtype)
    out[along(a.ndim, axis, slice(before, before + n))] = a
    if mode == "constant" or mode == "empty":
        out[along(a.ndim, axis, slice(None, before))] = ends[0]
        out[along(a.ndim, axis, slice(before + n, None))] = ends[1]
        return out
    first, last = a[along(a.ndim, axis, 0)], a[along(a.ndim, axis, n - 1)]
    for k in range(before):
        if mode == "linear_ramp":
            out[along(a.ndim, axis, k)] = ends[0] + (first - ends[0]) * (k / before)
        else:
            out[along(a.ndim, axis, k)] = a[along(a.ndim, axis, mirrored(k - before, n, mode))]
    for k in range(after):
        if mode == "linear_ramp":
            out[along(a.ndim, axis, before + n + after - 1 - k)] = ends[1] + (last - ends[1]) * (k / after)
        else:
            out[along(a.ndim, axis, before + n + k)] = a[along(a.ndim, axis, mirrored(n + k, n, mode))]
    return out


def mirrored(k, n, mode):
    """Which of n elements stands at place k, which is before the first or after the last one."""
    if mode == "edge":
        return min(max(k, 0), n - 1)
    if mode == "wrap":
        return k % n
    if mode == "symmetric":
        place = k % (2 * n)
        return place if place < n else 2 * n - 1 - place
    period = max(2 * n - 2, 1)
    place = k % period
    return place if place < n else period - place


# ----------------------------------------------------------------------------------------------------------- splitting


@decomposition(np.split)
def split(ary, indices_or_sections, axis=0):
    if not isinstance(indices_or_sections, (tuple, list, np.ndarray)):
        check_equal_division(ary.shape[one_axis(axis, ary.ndim)], indices_or_sections)
    return np.array_split(ary, indices_or_sections, axis)


def check_equal_division(extent, count):
    if extent % count != 0:
        raise ValueError("array split does not result in an equal division")


@decomposition(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    axis = one_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if isinstance(indices_or_sections, np.ndarray):
        parts, start = [], 0
        for stop in indices_or_sections:
            parts.append(ary[along(ary.ndim, axis, slice(start, stop))])
            start = stop
        parts.append(ary[along(ary.ndim, axis, slice(start, n))])
        return parts
    if isinstance(indices_or_sections, (tuple, list)):
        ends = tuple(indices_or_sections)
        starts, stops = (0,) + ends, ends + (n,)
    else:
        count = indices_or_sections
        size, longer = n // count, n % count
        starts = tuple(k * size + min(k, longer) for k in range(count))
        stops = tuple((k + 1) * size + min(k + 1, longer) for k in range(count))
    return [ary[along(ary.ndim, axis, slice(start, stop))] for start, stop in zip(starts, stops, strict=True)]


decomposition(np.vsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 0))
decomposition(np.hsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1))
decomposition(np.dsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 2))

# --------------------------------------------------------------------------------------------------- grids of indices


@decomposition(np.indices)
def indices(dimensions, dtype=int, sparse=False):
    if sparse:
        return tuple(np.arange(n).reshape(row_of(k, len(dimensions))) for k, n in enumerate(dimensions))
    out = np.empty((len(dimensions),) + dimensions, dtype)
    for k in tuple(range(len(dimensions))):
        out[k] = np.arange(dimensions[k]).reshape(row_of(k, len(dimensions)))
    return out


def row_of(axis, ndim):
    """The shape of a vector that lies along an axis."""
    return tuple(-1 if k == axis else 1 for k in range(ndim))


@decomposition(np.broadcast_arrays)
def broadcast_arrays(all_given):
    shape = np.broadcast_shapes(*[np.shape(a) for a in all_given])
    return tuple(np.broadcast_to(a, shape) for a in all_given)


@decomposition(np.meshgrid)
def meshgrid(all_given, copy=True, sparse=False, indexing="xy"):
    rank = len(all_given)
    places = (1, 0) + tuple(range(2, rank)) if indexing == "xy" and rank > 1 else tuple(range(rank))
    lying = tuple(np.asarray(x).reshape(row_of(place, rank)) for x, place in zip(all_given, places, strict=True))
    if sparse:
        return tuple(x.copy() for x in lying) if copy else lying
    shape = tuple(lying[places[k]].size for k in range(rank))
    if not copy:
        return tuple(as_view(np.broadcast_to(x, shape).copy(), x, "np.meshgrid") for x in lying)
    return tuple(np.broadcast_to(x, shape).copy() for x in lying)


@decomposition(np.fromfunction)
def fromfunction(function, shape, dtype=np.float64):
    places = np.indices(shape).astype(dtype)
    return function(*[places[k] for k in range(len(shape))])


@decomposition(np.ix_)
def ix_(all_given):
    rank = len(all_given)
    found = tuple(np.flatnonzero(x) if x.dtype == np.bool_ else x for x in all_given)
    return tuple(x.reshape(row_of(k, rank)) for k, x in enumerate(found))


# ------------------------------------------------------------------------------------------------ diagonals, triangles


@general(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    if a.ndim == 2 and axis1 == 0 and axis2 == 1:
        return np.diagonal(a, offset)
    return as_view(copied_diagonal(a, offset, axis1, axis2), a, "np.diagonal")


def copied_diagonal(a, offset, axis1, axis2):
    matrices, shape = with_axes_last(a, axis1, axis2)
    first, second = max(-offset, 0), max(offset, 0)
    n = max(min(matrices.shape[a.ndim - 2] - first, matrices.shape[a.ndim - 1] - second), 0)
    out = np.empty(shape + (n,), a.dtype)
    for k in range(n):
        out[..., k] = matrices[..., k + first, k + second]
    return out


def with_axes_last(a, axis1, axis2):
    """The array with these axes at the end, and the shape of the others."""
    first, second = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = tuple(k for k in range(a.ndim) if k != first and k != second)
    return np.transpose(a, rest + (first, second)), tuple(a.shape[k] for k in rest)


@general(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    if a.ndim == 2 and axis1 == 0 and axis2 == 1 and dtype is None:
        return np.trace(a, offset)
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def triangle(m, k, is_lower):
    rows, columns = m.shape[m.ndim - 2], m.shape[m.ndim - 1]
    out = np.zeros(m.shape, m.dtype)
    for i in range(rows):
        if is_lower:
            stop = min(max(i + k + 1, 0), columns)
            out[..., i, :stop] = m[..., i, :stop]
        else:
            start = min(max(i + k, 0), columns)
            out[..., i, start:] = m[..., i, start:]
    return out


general(np.tril)(lambda m, k=0: np.tril(m, k) if m.ndim <= 2 else triangle(m, k, True))
general(np.triu)(lambda m, k=0: np.triu(m, k) if m.ndim <= 2 else triangle(m, k, False))
