"""Joining, turning, repeating and picking from arrays, written as stores, views and loops.

In: the arguments of the NumPy function as numba takes them; tuples, axes and None are static. Out: what it returns.
(Views, elementwise expressions, np.where, np.zeros and its kin, indexing and slices are the compiler's own.)

    c = np.concatenate((a, b))      c = np.empty(a.size + b.size);  c[:a.size] = a;  c[a.size:] = b
"""

import numpy as np

from adjit.rules.registry import builtin

tangent, decomposition = builtin.tangent, builtin.decomposition

# -------------------------------------------------------------------------------------------------------------- joining


def common_dtype(arrays):
    """The dtype that a sum of them would have."""
    joined = np.zeros(0, arrays[0].dtype)
    for a in arrays:
        if a.dtype != joined.dtype:
            joined = joined + np.zeros(0, a.dtype)
    return joined.dtype


@decomposition(np.concatenate)
def concatenate(arrays, axis=0):
    shape, axis = arrays[0].shape, axis % arrays[0].ndim
    extent = 0
    for a in arrays:
        extent += a.shape[axis]
    out = np.empty(shape[:axis] + (extent,) + shape[axis + 1 :], common_dtype(arrays))
    start = 0
    for a in arrays:
        stop = start + a.shape[axis]
        if axis == 0:
            out[start:stop] = a
        elif axis == 1:
            out[:, start:stop] = a
        elif axis == 2:
            out[:, :, start:stop] = a
        else:
            raise NotImplementedError("np.concatenate along an axis beyond the third")
        start = stop
    return out


@decomposition(np.stack)
def stack(arrays, axis=0):
    shape, axis = arrays[0].shape, axis % (arrays[0].ndim + 1)
    out = np.empty(shape[:axis] + (len(arrays),) + shape[axis:], common_dtype(arrays))
    for k, a in enumerate(arrays):
        if axis == 0:
            out[k] = a
        elif axis == a.ndim:
            out[..., k] = a
        elif axis == 1:
            out[:, k] = a
        else:
            raise NotImplementedError("np.stack along an inner axis beyond the second")
    return out


decomposition(np.hstack)(lambda tup: np.concatenate(tup, axis=0 if tup[0].ndim == 1 else 1))
if hasattr(np, "row_stack"):
    decomposition(np.row_stack)(lambda tup: np.vstack(tup))
decomposition(np.vstack)(lambda tup: np.stack(tup) if tup[0].ndim == 1 else np.concatenate(tup))


@decomposition(np.dstack)
def dstack(tup):
    if tup[0].ndim == 1:
        return np.stack(tup, axis=1).reshape(1, tup[0].size, len(tup))
    if tup[0].ndim == 2:
        return np.stack(tup, axis=2)
    return np.concatenate(tup, axis=2)


@decomposition(np.column_stack)
def column_stack(tup):
    columns = 0
    for a in tup:
        columns += 1 if a.ndim == 1 else a.shape[1]
    out = np.empty((tup[0].shape[0], columns), common_dtype(tup))
    start = 0
    for a in tup:
        if a.ndim == 1:
            out[:, start] = a
            start += 1
        else:
            out[:, start : start + a.shape[1]] = a
            start += a.shape[1]
    return out


def flat(values):
    """A number or an array as a vector."""
    if np.ndim(values) == 0:
        return np.array([values])
    return np.asarray(values).ravel()


@decomposition(np.append)
def append(arr, values, axis=None):
    if axis is not None:
        return np.concatenate((arr, values), axis=axis)
    return np.concatenate((arr.ravel(), flat(values)))


# --------------------------------------------------------------------------------------------------- turning, reshaping


@decomposition(np.flip)
def flip(m):
    if m.ndim == 1:
        return m[::-1]
    if m.ndim == 2:
        return m[::-1, ::-1]
    if m.ndim == 3:
        return m[::-1, ::-1, ::-1]
    raise NotImplementedError("np.flip of more than three axes")


decomposition(np.flipud)(lambda m: m[::-1])
decomposition(np.fliplr)(lambda m: m[:, ::-1])


@decomposition(np.rot90)
def rot90(m, k=1):
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 1:
        return np.swapaxes(np.fliplr(m), 0, 1)
    if turns == 2:
        return np.flipud(np.fliplr(m))
    return np.fliplr(np.swapaxes(m, 0, 1))


decomposition(np.atleast_1d)(lambda ary: ary.reshape(1) if ary.ndim == 0 else ary)


@decomposition(np.atleast_2d)
def atleast_2d(ary):
    if ary.ndim == 0:
        return ary.reshape(1, 1)
    if ary.ndim == 1:
        return ary[np.newaxis]
    return ary


@decomposition(np.roll)
def roll(a, shift):
    out = np.empty(a.shape, a.dtype)
    if a.size > 0:
        split = shift % a.size
        elements, out_flat = a.ravel(), out.ravel()
        out_flat[split:] = elements[: a.size - split]
        out_flat[:split] = elements[a.size - split :]
    return out


@decomposition(np.repeat)
def repeat(a, repeats):
    elements = a.ravel()
    if np.ndim(repeats) == 0:
        if repeats < 0:
            raise ValueError("negative dimensions are not allowed")
        out = np.empty(elements.size * repeats, a.dtype)
        for k in range(elements.size):
            for copies in range(repeats):
                out[k * repeats + copies] = elements[k]
        return out
    if repeats.size != elements.size and repeats.size != 1:
        raise ValueError("operands could not be broadcast together")
    extent = 0
    for k in range(elements.size):
        count = repeats[k if repeats.size > 1 else 0]
        if count < 0:
            raise ValueError("negative dimensions are not allowed")
        extent += count
    out = np.empty(extent, a.dtype)
    start = 0
    for k in range(elements.size):
        count = repeats[k if repeats.size > 1 else 0]
        for copies in range(count):
            out[start + copies] = elements[k]
        start += count
    return out


# ------------------------------------------------------------------------------------------------- diagonals, triangles


def as_view(copy, base, what, readonly=True):
    """`copy`, which stands for the view of `base` that `what` takes in NumPy: the compiler notes it."""
    return copy


def overlaps(a):
    """Whether `a` is known to be a view in which elements stand several times, as in windows. The compiler's own."""
    return False


@decomposition(np.diag)
def diag(v, k=0):
    if v.ndim == 1:
        n = v.size + abs(k)
        square = np.zeros((n, n), v.dtype)
        for i in range(v.size):
            square[i + max(-k, 0), i + max(k, 0)] = v[i]
        return square
    n = max(min(v.shape[0] + min(k, 0), v.shape[1] - max(k, 0)), 0)
    out = np.empty(n, v.dtype)
    for i in range(n):
        out[i] = v[i + max(-k, 0), i + max(k, 0)]
    return as_view(out, v, "np.diag")


@decomposition(np.diagonal)
def diagonal(a, offset=0):
    if a.ndim != 2:
        raise NotImplementedError("np.diagonal of more than two axes")
    return np.diag(a, offset)


decomposition(np.diagflat)(lambda v, k=0: np.diag(v.ravel(), k))


@decomposition(np.fill_diagonal)
def fill_diagonal(a, val):
    if a.ndim > 2:
        raise NotImplementedError("np.fill_diagonal of more than two axes")
    if np.ndim(val) == 0:
        for i in range(min(a.shape[0], a.shape[1])):
            a[i, i] = val
    else:
        values = np.ravel(val)
        for i in range(min(a.shape[0], a.shape[1])):
            a[i, i] = values[i % values.size]


@decomposition(np.trace)
def trace(a, offset=0):
    total = 0
    for i in range(max(min(a.shape[0] + min(offset, 0), a.shape[1] - max(offset, 0)), 0)):
        total += a[i + max(-offset, 0), i + max(offset, 0)]
    return total


@decomposition(np.tri)
def tri(N, M=None, k=0, dtype=np.float64):
    out = np.zeros((N, N if M is None else M), dtype)
    for i in range(out.shape[0]):
        for j in range(min(max(i + k + 1, 0), out.shape[1])):
            out[i, j] = 1
    return out


@decomposition(np.tril)
def tril(m, k=0):
    if m.ndim > 2:
        raise NotImplementedError("np.tril of more than two axes")
    columns = m.shape[m.ndim - 1]
    rows = columns if m.ndim == 1 else m.shape[0]
    out = np.zeros((rows, columns), m.dtype)
    for i in range(rows):
        for j in range(min(max(i + k + 1, 0), columns)):
            out[i, j] = m[j] if m.ndim == 1 else m[i, j]
    return out


@decomposition(np.triu)
def triu(m, k=0):
    if m.ndim > 2:
        raise NotImplementedError("np.triu of more than two axes")
    columns = m.shape[m.ndim - 1]
    rows = columns if m.ndim == 1 else m.shape[0]
    out = np.zeros((rows, columns), m.dtype)
    for i in range(rows):
        for j in range(max(i + k, 0), columns):
            out[i, j] = m[j] if m.ndim == 1 else m[i, j]
    return out


@decomposition(np.vander)
def vander(x, N=None, increasing=False):
    columns = x.size if N is None else N
    out = np.empty((x.size, columns), common_dtype((x, np.zeros(0, np.int64))))
    for i in range(x.size):
        power = 1.0
        for j in range(columns):
            out[i, j if increasing else columns - 1 - j] = power
            power = power * x[i]
    return out


# -------------------------------------------------------------------------------------------------------------- picking


@decomposition(np.take)
def take(a, indices, axis=None):
    if axis is not None:
        if axis % a.ndim == 0:
            # of one place, too, a copy
            return a[indices].copy() if np.ndim(indices) == 0 and a.ndim > 1 else a[(indices,)]
        if axis % a.ndim == 1:
            return a[:, indices].copy() if np.ndim(indices) == 0 else a[:, indices]
        raise NotImplementedError("np.take along an axis beyond the second")
    elements = a.ravel()
    if np.ndim(indices) == 0:
        if indices >= a.size or indices < -a.size:
            raise IndexError("Index out of bounds")
        return elements[indices]
    chosen = np.asarray(indices)
    out, places = np.empty(chosen.size, a.dtype), chosen.ravel()
    for k in range(places.size):
        if places[k] >= a.size or places[k] < -a.size:
            raise IndexError("Index out of bounds")
        out[k] = elements[places[k]]
    return out.reshape(chosen.shape)


@decomposition(np.extract)
def extract(condition, arr):
    # integers there are true or false, and no places
    return arr.ravel()[np.flatnonzero(condition)]


@decomposition(np.nonzero)
def nonzero(a):
    places = np.flatnonzero(a)
    if a.ndim == 1:
        return (places,)
    if a.ndim == 2:
        return places // a.shape[1], places % a.shape[1]
    if a.ndim == 3:
        rows = places // a.shape[2]
        return rows // a.shape[1], rows % a.shape[1], places % a.shape[2]
    raise NotImplementedError("np.nonzero of more than three axes")


@decomposition(np.select)
def select(condlist, choicelist, default=0):
    out = np.empty(choicelist[0].shape, choicelist[0].dtype)
    out[...] = default
    # from the last to the first, so that the first condition that holds wins
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        out[...] = np.where(condition, choice, out)
    return out


@decomposition(np.clip)
def clip(a, a_min, a_max, out=None):
    # the interval is closed: at a bound the derivative is that of `a`
    if a_min is None and a_max is None:
        raise ValueError("array_clip: must set either max or min")
    raised = a if a_min is None else np.where(a < a_min, a_min, a)
    lowered = raised if a_max is None else np.where(raised > a_max, a_max, raised)
    if np.ndim(lowered) == 0:
        return lowered
    if out is None:
        out = np.empty(lowered.shape, lowered.dtype if np.ndim(a) == 0 else a.dtype)
    out[...] = lowered
    return out


tangent(np.nan_to_num)(lambda x, x_dot, *, y: np.where(np.isfinite(x), x_dot, 0.0))
