"""Joining arrays of any number of axes, and what NumPy takes for them; taking places out or putting some in; sets.

In: the arguments of the NumPy function; tuples, lists, axes and None are static. Out: an array of its own.

    np.vstack((a, v))      out = np.empty((a.shape[0] + 1, v.size));  out[:-1] = a;  out[-1:] = v[None]
"""

import numpy as np

from adjit.rules.numpy.arrays import common_dtype
from adjit.rules.numpy.axes import one_axis
from adjit.rules.numpy.manipulation import along
from adjit.rules.registry import builtin

general, decomposition = builtin.general, builtin.decomposition


@general(np.concatenate)
def concatenate(arrays, axis=0, dtype=None):
    if axis is None:
        return joined(tuple(np.asarray(a).ravel() for a in arrays), 0, dtype)
    return joined(arrays, axis, dtype)


def joined(arrays, axis, dtype):
    ndim = arrays[0].ndim
    axis = one_axis(axis, ndim)
    for a in arrays:
        if a.ndim != ndim:
            raise ValueError("all the input arrays must have the same number of dimensions")
    if dtype is None and ndim <= 3:
        return np.concatenate(arrays, axis)
    shape = arrays[0].shape
    extent = 0
    for a in arrays:
        extent += a.shape[axis]
    out = np.empty(shape[:axis] + (extent,) + shape[axis + 1 :], common_dtype(arrays) if dtype is None else dtype)
    start = 0
    for a in arrays:
        stop = start + a.shape[axis]
        out[along(ndim, axis, slice(start, stop))] = a
        start = stop
    return out


@general(np.stack)
def stack(arrays, axis=0):
    if np.ndim(arrays[0]) == 0:
        return np.array(arrays)
    shape, ndim = arrays[0].shape, arrays[0].ndim + 1
    axis = one_axis(axis, ndim)
    if ndim <= 3:
        return np.stack(arrays, axis)
    out = np.empty(shape[:axis] + (len(arrays),) + shape[axis:], common_dtype(arrays))
    for k, a in enumerate(arrays):
        out[along(ndim, axis, k)] = a
    return out


def is_rows(tup):
    """Whether what is joined is an array, or a list whose length is known at run time only: its rows."""
    return not isinstance(tup, (tuple, list))


@general(np.hstack)
def hstack(tup):
    if is_rows(tup):
        return tup.copy() if tup.ndim == 1 else np.concatenate(tup, axis=0 if tup.ndim == 2 else 1)
    parts = tuple(np.atleast_1d(a) for a in tup)
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1)


@general(np.vstack)
def vstack(tup):
    if is_rows(tup):
        return tup.reshape(-1, 1).copy() if tup.ndim == 1 else tup.copy() if tup.ndim == 2 else np.concatenate(tup)
    return np.concatenate(tuple(np.atleast_2d(a) for a in tup))


@general(np.dstack)
def dstack(tup):
    if is_rows(tup):
        return np.atleast_2d(tup.T)[np.newaxis].copy() if tup.ndim < 3 else np.moveaxis(tup, 0, 2).copy()
    return np.concatenate(tuple(np.atleast_3d(a) for a in tup), axis=2)


@general(np.column_stack)
def column_stack(tup):
    if is_rows(tup):
        return np.concatenate(tup, axis=1) if tup.ndim > 2 else np.atleast_2d(tup.T).copy()
    parts = tuple(np.atleast_1d(a) for a in tup)
    return np.concatenate(tuple(a.reshape(-1, 1) if a.ndim == 1 else a for a in parts), axis=1)


@decomposition(np.block)
def block(arrays_in_lists):
    if is_rows(arrays_in_lists):
        return np.hstack(arrays_in_lists)
    if not isinstance(arrays_in_lists[0], list):
        return np.concatenate(tuple(np.atleast_1d(a) for a in arrays_in_lists), axis=-1)
    rows = tuple(
        np.concatenate(tuple(np.atleast_2d(a) for a in row), axis=-1)
        for row in arrays_in_lists
    )
    return np.concatenate(rows, axis=-2)


@general(np.append)
def append(arr, values, axis=None):
    if axis is not None:
        return np.concatenate((arr, values), axis=axis)
    return np.concatenate((np.atleast_1d(arr).ravel(), np.atleast_1d(values).ravel()))


@decomposition(np.delete)
def delete(arr, obj, axis=None):
    a = arr.ravel() if axis is None else arr
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    n = a.shape[axis]
    kept = np.ones(n, np.bool_)
    if isinstance(obj, (int, np.ndarray)):
        places = np.atleast_1d(obj)
        for k in range(places.size):
            if places[k] >= n or places[k] < -n:
                raise IndexError("index is out of bounds for the axis")
            kept[places[k]] = False
    else:
        kept[obj] = False
    return a[along(a.ndim, axis, kept)].copy()


@decomposition(np.insert)
def insert(arr, obj, values, axis=None):
    a = arr.ravel() if axis is None else arr
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    n = a.shape[axis]
    if isinstance(obj, np.ndarray):
        return inserted(a, obj, values, axis)
    if not isinstance(obj, int):
        raise NotImplementedError("np.insert at a slice: give the indices as an array")
    if obj > n or obj < -n:
        raise IndexError("index is out of bounds for the axis")
    start = obj + n if obj < 0 else obj
    count = np.size(values) if a.ndim == 1 else values.shape[axis] if np.ndim(values) == a.ndim else 1
    out = np.empty(a.shape[:axis] + (n + count,) + a.shape[axis + 1 :], a.dtype)
    out[along(a.ndim, axis, slice(None, start))] = a[along(a.ndim, axis, slice(None, start))]
    if np.ndim(values) < a.ndim and a.ndim > 1:
        out[along(a.ndim, axis, start)] = values
    else:
        out[along(a.ndim, axis, slice(start, start + count))] = values
    out[along(a.ndim, axis, slice(start + count, None))] = a[along(a.ndim, axis, slice(start, None))]
    return out


def inserted(a, places, values, axis):
    if a.ndim > 1 or np.ndim(values) > 1:
        raise NotImplementedError("np.insert of more than one row at once: insert row by row")
    n = a.size
    starts = np.empty(places.size, np.intp)
    for k in range(places.size):
        if places[k] > n or places[k] < -n:
            raise IndexError("index is out of bounds for the axis")
        starts[k] = places[k] + n if places[k] < 0 else places[k]
    order = np.argsort(starts, kind="stable")
    given = np.broadcast_to(values, (places.size,))
    out = np.empty(n + places.size, a.dtype)
    taken, put = 0, 0
    for k in range(out.size):
        is_new = False
        if put < places.size:
            is_new = starts[order[put]] <= taken
        if is_new:
            out[k] = given[order[put]]
            put += 1
        else:
            out[k] = a[taken]
            taken += 1
    return out


# ---------------------------------------------------------------------------------------------------------------- sets

# Which numbers are chosen is held fixed; those that are keep their derivative, of equal ones the one of np.unique.


def among(values, others):
    """Which of the values there are among the others."""
    known, found = np.sort(others.ravel()), np.zeros(values.size, np.bool_)
    for k in range(values.size):
        place = np.searchsorted(known, values[k])
        if place < known.size:
            found[k] = known[place] == values[k]
    return found


def members(ar, assume_unique):
    return ar.ravel() if assume_unique else np.unique(ar)


@decomposition(np.union1d)
def union1d(ar1, ar2):
    return np.unique(np.concatenate((ar1.ravel(), ar2.ravel())))


@decomposition(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        raise NotImplementedError("np.intersect1d with `return_indices`: call np.searchsorted with its result")
    found = np.unique(ar1)
    return found[among(found, ar2)].astype(common_dtype((ar1, ar2)))


@decomposition(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    found = members(ar1, assume_unique)
    return found[~among(found, ar2)]


@decomposition(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    left, right = members(ar1, assume_unique), members(ar2, assume_unique)
    return np.sort(np.concatenate((left[~among(left, right)], right[~among(right, left)])))
