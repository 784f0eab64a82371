"""Picking from arrays and storing into them, by places, masks and choices; functions applied along axes.

In: the arguments of the NumPy function; axes, None and functions are static. Out: what it returns.

    np.take_along_axis(x, k, 1)      x[np.arange(n)[:, np.newaxis], k]
"""

import numpy as np

from adjit.rules.numpy.axes import one_axis, product, rows_along
from adjit.rules.numpy.manipulation import along, row_of
from adjit.rules.registry import builtin

general, decomposition = builtin.general, builtin.decomposition

# ---------------------------------------------------------------------------------------------------------- by places


@general(np.take)
def take(a, indices, axis=None, mode="raise"):
    if mode == "raise" and (axis is None or one_axis(axis, a.ndim) < 2):
        return np.take(a, indices, axis)
    flat = a.ravel() if axis is None else a
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    n = flat.shape[axis]
    places = indices if mode == "raise" else indices % n if mode == "wrap" else np.clip(indices, 0, n - 1)
    found = flat[along(flat.ndim, axis, places)]
    return found if np.ndim(found) == 0 else found.copy()


def places_along(a, indices, axis):
    """The index of a place along an axis for each place along the others."""
    return tuple(
        indices if k == axis else np.arange(a.shape[k]).reshape(row_of(k, a.ndim)) for k in range(a.ndim)
    )


@decomposition(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        return arr.ravel()[indices]
    return arr[places_along(arr, indices, one_axis(axis, arr.ndim))]


@decomposition(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is None:
        raise NotImplementedError("np.put_along_axis without an axis")
    arr[places_along(arr, indices, one_axis(axis, arr.ndim))] = values


@decomposition(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    dst[...] = src if where is True else np.where(where, src, dst)


def stored_in_turn(arr, mask, values, by_place):
    """The values one after the other, and from the start again: for each element, or for each of those that are set."""
    chosen, given = np.ravel(mask), np.ravel(values)
    if given.size > 0:
        flat, count = np.arange(arr.size), 0
        for k in range(arr.size):
            flat[k] = k % given.size if by_place else count % given.size
            count += 1 if chosen[k] else 0
        arr[...] = np.where(mask, given[flat].reshape(arr.shape), arr)


@decomposition(np.place)
def place(arr, mask, vals):
    if np.size(vals) == 0 and np.any(mask):
        raise ValueError("Cannot insert from an empty array!")
    stored_in_turn(arr, np.asarray(mask, np.bool_), np.asarray(vals), False)


@decomposition(np.putmask)
def putmask(a, mask, values):
    if np.ndim(values) == 0:
        a[...] = np.where(mask, values, a)
    else:
        stored_in_turn(a, np.asarray(mask, np.bool_), np.asarray(values), True)


@decomposition(np.put)
def put(a, ind, v, mode="raise"):
    places, values = np.ravel(np.asarray(ind)), np.ravel(np.asarray(v))
    for k in range(places.size if values.size > 0 else 0):
        place = places[k]
        if mode == "raise" and (place < -a.size or place >= a.size):
            raise IndexError("index is out of bounds")
        inside = min(max(place, 0), a.size - 1) if mode == "clip" else place % a.size
        a[np.unravel_index(inside, a.shape)] = values[k % values.size]


@decomposition(np.mask_indices)
def mask_indices(n, mask_func, k=0):
    return np.nonzero(mask_func(np.ones((n, n)), k) != 0)


@decomposition(np.compress)
def compress(condition, a, axis=None):
    places = np.flatnonzero(condition)
    if axis is None:
        return a.ravel()[places]
    return a[along(a.ndim, one_axis(axis, a.ndim), places)]


@general(np.nonzero)
def nonzero(a):
    places = np.flatnonzero(a)
    if a.ndim == 1:
        return (places,)
    return tuple(
        places // product(a.shape[k + 1 :]) % a.shape[k] if k > 0 else places // product(a.shape[1:])
        for k in range(a.ndim)
    )


def triangle_indices(n, k, m, is_lower):
    """The rows and columns of the places of a triangle, row by row."""
    columns = n if m is None else m
    count = 0
    for i in range(n):
        reach = min(max(i + k + 1, 0), columns) if is_lower else columns - min(max(i + k, 0), columns)
        count += reach
    rows, places, filled = np.empty(count, np.intp), np.empty(count, np.intp), 0
    for i in range(n):
        start = 0 if is_lower else min(max(i + k, 0), columns)
        stop = min(max(i + k + 1, 0), columns) if is_lower else columns
        for j in range(start, stop):
            rows[filled] = i
            places[filled] = j
            filled += 1
    return rows, places


decomposition(np.tril_indices)(lambda n, k=0, m=None: triangle_indices(n, k, m, True))
decomposition(np.triu_indices)(lambda n, k=0, m=None: triangle_indices(n, k, m, False))
decomposition(np.tril_indices_from)(lambda arr, k=0: triangle_indices(arr.shape[0], k, arr.shape[1], True))
decomposition(np.triu_indices_from)(lambda arr, k=0: triangle_indices(arr.shape[0], k, arr.shape[1], False))
decomposition(np.diag_indices)(lambda n, ndim=2: (np.arange(n),) * ndim)
decomposition(np.diag_indices_from)(lambda arr: (np.arange(arr.shape[0]),) * arr.ndim)


@decomposition(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    if order != "C":
        raise NotImplementedError("np.unravel_index with an order other than 'C'")
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(n, int) for n in extents):
        raise NotImplementedError("np.unravel_index with a shape that is not made up of integers")
    return tuple(indices // product(extents[k + 1 :]) % extents[k] for k in range(len(extents)))


@decomposition(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    if order != "C" or mode != "raise":
        raise NotImplementedError("np.ravel_multi_index with this order or mode")
    found = multi_index[0]
    for k in tuple(range(1, len(dims))):
        found = found * dims[k] + multi_index[k]
    return found


# --------------------------------------------------------------------------------------------------------- by choices


@decomposition(np.choose)
def choose(a, choices, mode="raise"):
    count = len(choices)
    if np.asarray(a).dtype.kind == "f":
        raise NotImplementedError("np.choose with numbers that are not integers")
    if mode == "raise":
        if np.any(np.asarray((a < 0) | (a >= count))):
            raise ValueError("invalid entry in choice array")
        which = a
    else:
        which = a % count if mode == "wrap" else np.clip(a, 0, count - 1)
    found = choices[count - 1]
    for k in tuple(range(count - 1))[::-1]:
        found = np.where(which == k, choices[k], found)
    return found


@general(np.select)
def select(condlist, choicelist, default=0):
    found = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = np.where(condition, choice, found)
    return found


@decomposition(np.piecewise)
def piecewise(x, condlist, funclist):
    given = condlist if isinstance(condlist, (tuple, list)) else (condlist,)
    # integers there are true or false, and no places
    conditions = tuple(condition != 0 for condition in given)
    out = np.zeros(x.shape, x.dtype)
    if len(funclist) == len(conditions) + 1:
        fill(out, x, others(conditions), funclist[len(funclist) - 1])
    for k in tuple(range(len(conditions))):
        fill(out, x, conditions[k], funclist[k])
    return out


def others(conditions):
    """Where none of them holds."""
    found = ~conditions[0]
    for condition in conditions[1:]:
        found = found & ~condition
    return found


def fill(out, x, condition, piece):
    if isinstance(piece, (int, float, np.number)):
        out[condition] = piece
    else:
        out[condition] = piece(x[condition])


@general(np.clip)
def clip(a, a_min=..., a_max=..., out=None, min=None, max=None):
    if (a_min is ...) != (a_max is ...):
        raise NotImplementedError("np.clip with one bound: give None for the other")
    lowest, highest = min if a_min is ... else a_min, max if a_max is ... else a_max
    if lowest is None and highest is None and out is None:
        return np.copy(a)
    return np.clip(a, lowest, highest, out)


@decomposition(np.heaviside)
def heaviside(x1, x2):
    return np.where(x1 == 0, x2, np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, x1)))


@general(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        raise NotImplementedError("np.nan_to_num in place")
    if nan == 0.0 and posinf is None and neginf is None:
        return np.nan_to_num(x)
    known = np.where(np.isnan(x), nan, x)
    high = known if posinf is None else np.where(known == np.inf, posinf, known)
    low = high if neginf is None else np.where(high == -np.inf, neginf, high)
    return np.nan_to_num(low)


# ----------------------------------------------------------------------------------------------------- along an axis


@decomposition(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr):
    axis = one_axis(axis, arr.ndim)
    rest = arr.shape[:axis] + arr.shape[axis + 1 :]
    rows = rows_along(arr, (axis,))
    if rows.shape[0] == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = func1d(rows[0])
    if np.ndim(first) > 1:
        raise NotImplementedError("np.apply_along_axis of a function that returns a matrix")
    out = np.empty((rows.shape[0],) + np.shape(first), np.asarray(first).dtype)
    out[0] = first
    for k in range(1, rows.shape[0]):
        out[k] = func1d(rows[k])
    if np.ndim(first) == 0:
        return out.reshape(rest)[()]
    return np.moveaxis(out.reshape(rest + np.shape(first)), -1, axis)
