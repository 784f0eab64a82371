"""Reductions, order and norms along axes, by what is known of a vector; and with what else NumPy takes.

In: the arguments of the NumPy function; axes, None, texts and truth values are static. Out: what it returns.

    np.median(x, axis=0)      out[k] = np.median(x[:, k])          np.sort(x)      out[k] = np.sort(x[k])
"""

import numpy as np

from adjit.rules.numpy.axes import float_type, mapped, normal_axes, one_axis, product, reduced, rows_along, without_axes
from adjit.rules.numpy.moments import root
from adjit.rules.registry import builtin

general, decomposition = builtin.general, builtin.decomposition

# ---------------------------------------------------------------------------------------------------- sums and products


def only(a, where, otherwise):
    """The elements of which `where` holds, another number in the place of the others."""
    return a if where is True else np.where(where, a, a.dtype.type(otherwise))


def as_terms(what, a, dtype):
    """The elements as they are accumulated."""
    if dtype is None:
        return a
    if np.zeros(0, dtype).dtype.kind == "b":
        raise NotImplementedError(f"{what} with dtype=bool, which asks whether any, or all, are true")
    return a.astype(dtype)


def as_asked(found, dtype):
    """What was accumulated in 64 bits, with as many as were asked for: in these NumPy's sums wrap around."""
    if dtype is None:
        return found
    kind = np.zeros(0, dtype).dtype
    return kind.type(found) if np.ndim(found) == 0 else found.astype(kind)


@general(np.prod)
def prod(a, axis=None, dtype=None, keepdims=False, initial=None, where=True):
    factors = only(as_terms("np.prod", a, dtype), where, 1)
    if axis is None and not keepdims:
        found = np.prod(factors)
    else:
        whole = factors if factors.dtype.kind == "f" else factors.astype(np.int64)
        found = reduced(np.prod, whole, axis, keepdims, whole.dtype)
    return as_asked(found if initial is None else found * initial, dtype)


@general(np.nanprod)
def nanprod(a, axis=None, dtype=None, keepdims=False, initial=None, where=True):
    if axis is None and dtype is None and not keepdims and initial is None and where is True:
        return np.nanprod(a)
    return np.prod(only(a, ~np.isnan(a), 1), axis, dtype, keepdims, initial, where)


@general(np.nansum)
def nansum(a, axis=None, dtype=None, keepdims=False, initial=None, where=True):
    if axis is None and dtype is None and not keepdims and initial is None and where is True:
        return np.nansum(a)
    return np.sum(only(a, ~np.isnan(a), 0), axis, dtype, None, keepdims, initial, where)


@general(np.cumsum)
def cumsum(a, axis=None, dtype=None):
    if np.ndim(a) == 0:
        raise NotImplementedError("np.cumsum of a number")
    terms = as_terms("np.cumsum", a, dtype)
    if axis is None or a.ndim == 1:
        return as_asked(np.cumsum(terms), dtype)
    if a.ndim <= 3:
        return as_asked(np.cumsum(terms, one_axis(axis, a.ndim)), dtype)
    whole = terms if terms.dtype.kind == "f" else terms.astype(np.int64)
    return as_asked(mapped(np.cumsum, whole, axis, whole.dtype), dtype)


@general(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    if np.ndim(a) == 0:
        raise NotImplementedError("np.cumprod of a number")
    factors = as_terms("np.cumprod", a, dtype)
    if axis is None or a.ndim == 1:
        return as_asked(np.cumprod(factors), dtype)
    whole = factors if factors.dtype.kind == "f" else factors.astype(np.int64)
    return as_asked(mapped(np.cumprod, whole, axis, whole.dtype), dtype)


@general(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    if axis is None and dtype is None:
        return np.nancumsum(a)
    return np.cumsum(only(a, ~np.isnan(a), 0), axis, dtype)


@general(np.nancumprod)
def nancumprod(a, axis=None, dtype=None):
    if axis is None and dtype is None:
        return np.nancumprod(a)
    return np.cumprod(only(a, ~np.isnan(a), 1), axis, dtype)


def cumulated(function, x, axis, dtype, start):
    """From before the first element on where `start` is a number, and not None."""
    if axis is None and x.ndim > 1:
        raise NotImplementedError("np.cumulative_sum or np.cumulative_prod without an axis: pass axis=...")
    axis = one_axis(0 if axis is None else axis, x.ndim)
    found = function(x, axis, dtype)
    if start is None:
        return found
    before = np.full(x.shape[:axis] + (1,) + x.shape[axis + 1 :], start, found.dtype)
    return np.concatenate((before, found), axis=axis)


@decomposition(np.cumulative_sum)
def cumulative_sum(x, axis=None, dtype=None, include_initial=False):
    return cumulated(np.cumsum, x, axis, dtype, 0 if include_initial else None)


@decomposition(np.cumulative_prod)
def cumulative_prod(x, axis=None, dtype=None, include_initial=False):
    return cumulated(np.cumprod, x, axis, dtype, 1 if include_initial else None)


@general(np.count_nonzero)
def count_nonzero(a, axis=None, keepdims=False):
    if axis is None and not keepdims:
        return np.count_nonzero(a)
    return np.sum(a != 0, axis=axis, keepdims=keepdims)


# --------------------------------------------------------------------------------------------------- extrema and places


@general(np.nanmax)
def nanmax(a, axis=None, keepdims=False):
    return np.nanmax(a) if axis is None and not keepdims else reduced(np.nanmax, a, axis, keepdims, a.dtype)


@general(np.nanmin)
def nanmin(a, axis=None, keepdims=False):
    return np.nanmin(a) if axis is None and not keepdims else reduced(np.nanmin, a, axis, keepdims, a.dtype)


def place(function, a, axis, keepdims):
    if axis is None and not keepdims:
        return function(a)
    return reduced(function, a, axis, keepdims, np.intp)


general(np.argmax)(lambda a, axis=None, keepdims=False: place(np.argmax, a, axis, keepdims))
general(np.argmin)(lambda a, axis=None, keepdims=False: place(np.argmin, a, axis, keepdims))
general(np.nanargmax)(lambda a, axis=None, keepdims=False: place(np.nanargmax, a, axis, keepdims))
general(np.nanargmin)(lambda a, axis=None, keepdims=False: place(np.nanargmin, a, axis, keepdims))

# ---------------------------------------------------------------------------------------------------------------- order


@general(np.sort)
def sort(a, axis=-1, kind=None, order=None, stable=None):
    if axis is None:
        return np.sort(a.ravel())
    return np.sort(a) if a.ndim == 1 else mapped(np.sort, a, axis, a.dtype)


@general(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, stable=None):
    if axis is None:
        return sorting(a.ravel(), kind, stable)
    if a.ndim == 1:
        return sorting(a, kind, stable)
    if kind is None and stable is None:
        return mapped(np.argsort, a, axis, np.intp)
    return mapped(lambda row: sorting(row, kind, stable), a, axis, np.intp)


def sorting(a, kind, stable):
    if kind in ("stable", "mergesort") or stable:
        return np.argsort(a, kind="mergesort")
    return np.argsort(a)


@decomposition(np.lexsort)
def lexsort(keys, axis=-1):
    if np.ndim(keys[0]) != 1:
        raise NotImplementedError("np.lexsort of keys that are not vectors")
    order = np.argsort(keys[0], kind="stable")
    for k in tuple(range(1, len(keys))) if isinstance(keys, (tuple, list)) else range(1, len(keys)):
        order = order[np.argsort(keys[k][order], kind="stable")]
    return order


@general(np.partition)
def partition(a, kth, axis=-1, kind="introselect"):
    if axis is None:
        return np.partition(a.ravel(), kth)
    return np.partition(a, kth) if a.ndim == 1 else mapped(lambda row: np.partition(row, kth), a, axis, a.dtype)


@general(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect"):
    if axis is None:
        return np.argpartition(a.ravel(), kth)
    return np.argpartition(a, kth) if a.ndim == 1 else mapped(lambda row: np.argpartition(row, kth), a, axis, np.intp)


@general(np.median)
def median(a, axis=None, overwrite_input=False, keepdims=False):
    return np.median(a) if axis is None and not keepdims else reduced(np.median, a, axis, keepdims, float_type(a))


@general(np.nanmedian)
def nanmedian(a, axis=None, overwrite_input=False, keepdims=False):
    return np.nanmedian(a) if axis is None and not keepdims else reduced(np.nanmedian, a, axis, keepdims, float_type(a))


def quantiles(function, a, q, axis, method, keepdims):
    """For each of several q a row of values."""
    if method != "linear":
        raise NotImplementedError("a quantile with a method other than 'linear'")
    if axis is None and not keepdims:
        return function(a, q)
    if np.ndim(q) == 0:
        return reduced(lambda row: function(row, q), a, axis, keepdims, float_type(a))
    axes = normal_axes(axis, a.ndim)
    rows = rows_along(a, axes)
    out = np.empty((q.size, rows.shape[0]), float_type(a))
    for k in range(rows.shape[0]):
        out[:, k] = function(rows[k], q)
    return out.reshape(q.shape + without_axes(a.shape, axes, keepdims))


@general(np.quantile)
def quantile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False):
    return quantiles(np.quantile, a, q, axis, method, keepdims)


@general(np.percentile)
def percentile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False):
    return quantiles(np.percentile, a, q, axis, method, keepdims)


@general(np.nanquantile)
def nanquantile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False):
    return quantiles(np.nanquantile, a, q, axis, method, keepdims)


@general(np.nanpercentile)
def nanpercentile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False):
    return quantiles(np.nanpercentile, a, q, axis, method, keepdims)


# ---------------------------------------------------------------------------------------------------------------- norms


@general(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    if axis is None:
        found = norm_of_all(x, ord)
        return np.full(without_axes(x.shape, normal_axes(None, x.ndim), True), found) if keepdims else found
    axes = normal_axes(axis, x.ndim)
    if len(axes) == 1:
        return norm_along(x, ord, axes, keepdims)
    if len(axes) > 2:
        raise NotImplementedError("np.linalg.norm along more than two axes")
    if ord is None or ord == "fro":
        return root(np.sum(x * x, axis=axes, keepdims=keepdims))
    return norms_of_matrices(x, ord, axis, keepdims)


def norm_of_all(x, ord):
    if ord is None and x.ndim > 2:
        return np.linalg.norm(x.ravel())
    if ord is None or ord == "fro":
        return np.linalg.norm(x)
    if ord == "nuc":
        _, values, _ = np.linalg.svd(x, False)
        return np.sum(values)
    return np.linalg.norm(x, ord)


def norm_along(x, ord, axes, keepdims):
    if ord is None or ord == 2:
        return root(np.sum(x * x, axis=axes, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axes, keepdims=keepdims).astype(x.dtype)
    if ord == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    return reduced(lambda row: np.linalg.norm(row, ord), x, axes, keepdims, x.dtype)


def norms_of_matrices(x, ord, axis, keepdims):
    """The matrix is along the two axes, in the order in which they are named."""
    first, second = axis[0] % x.ndim, axis[1] % x.ndim
    rest = tuple(k for k in range(x.ndim) if k not in (first, second))
    count = product(tuple(x.shape[k] for k in rest))
    stack = np.transpose(x, rest + (first, second)).reshape((count, x.shape[first], x.shape[second]))
    out = np.empty(count, x.dtype)
    for k in range(count):
        out[k] = norm_of_all(stack[k], ord)
    return out.reshape(without_axes(x.shape, (first, second), keepdims))


@general(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    if axis is not None:
        raise NotImplementedError("np.unique along an axis")
    found, flat = np.unique(ar), ar.ravel()
    if not (return_index or return_inverse or return_counts):
        return found
    first, counts = np.full(found.size, flat.size), np.zeros(found.size, np.intp)
    inverse = np.empty(flat.size, np.intp)
    for k in range(flat.size):
        place = np.searchsorted(found, flat[k])
        first[place] = min(first[place], k)
        inverse[k] = place
        counts[place] += 1
    asked = ((return_index, first), (return_inverse, inverse.reshape(ar.shape)), (return_counts, counts))
    return (found,) + tuple(extra for is_asked, extra in asked if is_asked)
