"""Means and moments along axes, and with what else NumPy takes: expressions, which are fused as a user's are.

In: the arguments of the NumPy function; axes, None and truth values are static. Out: what it returns.

    np.var(x, axis=0)      offsets = x - np.mean(x, axis=0, keepdims=True);  np.sum(offsets * offsets, axis=0) / n
"""

import numpy as np

from adjit.rules.numpy.axes import normal_axes, product
from adjit.rules.registry import builtin

general = builtin.general


def as_asked(what, a, dtype):
    if dtype is None:
        return a
    if np.zeros(0, dtype).dtype.kind != "f":
        raise NotImplementedError(f"{what} with an integer dtype, which cuts off fractions")
    return a.astype(dtype)


@general(np.average)
def average(a, axis=None, weights=None, returned=False, keepdims=False):
    if weights is not None and a.dtype.kind in "iub":
        # not in the bits that both have
        a = a * 1.0
    if axis is None and not returned and not keepdims:
        return np.average(a) if weights is None else np.average(a, weights=weights)
    if weights is None:
        found = np.mean(a, axis=axis, keepdims=keepdims)
        scale = np.ones(1, a.dtype) * (a.size / np.size(found))
    else:
        shares = weights
        if weights.ndim < a.ndim:
            axes = normal_axes(axis, a.ndim)
            shares = weights.reshape(tuple(a.shape[k] if k in axes else 1 for k in range(a.ndim)))
        scale = np.sum(np.broadcast_to(shares, a.shape), axis=axis, keepdims=keepdims)
        if np.any(scale == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized.")
        found = np.sum(a * shares, axis=axis, keepdims=keepdims) / scale
    if returned and np.ndim(found) == 0:
        return found, np.sum(scale)
    return (found, scale + np.zeros(found.shape, a.dtype)) if returned else found


@general(np.var)
def var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    x = as_asked("np.var or np.std", a, dtype)
    if axis is None and not keepdims:
        return np.var(x) if ddof == 0 else np.var(x) * np.divide(a.size, max(a.size - ddof, 0))
    axes = normal_axes(axis, a.ndim)
    offsets = x - np.mean(x, axis=axes, keepdims=True)
    count = product(tuple(a.shape[k] for k in axes))
    found = np.sum(offsets * offsets, axis=axes, keepdims=keepdims) / max(count - ddof, 0)
    return found.astype(x.dtype) if x.dtype.kind == "f" and np.ndim(found) > 0 else found


def root(variance):
    """0 where all elements are equal, as a norm's at the zero vector."""
    return np.where(variance == 0.0, variance, np.sqrt(variance))


@general(np.std)
def std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    if axis is None and not keepdims:
        variance = np.var(a, dtype=dtype, ddof=ddof)
        return np.std(a) if ddof == 0 and dtype is None else variance if variance == 0.0 else variance**0.5
    variance = np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    return root(variance)


@general(np.ptp)
def ptp(a, axis=None, keepdims=False):
    if axis is None and not keepdims:
        return np.ptp(a)
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@general(np.nanmean)
def nanmean(a, axis=None, dtype=None, keepdims=False):
    x = as_asked("np.nanmean", a, dtype)
    if axis is None and not keepdims:
        return np.nanmean(x)
    known = ~np.isnan(x)
    count = np.sum(known, axis=axis, keepdims=keepdims)
    return np.sum(np.where(known, x, x.dtype.type(0)), axis=axis, keepdims=keepdims) / count.astype(x.dtype)


@general(np.nanvar)
def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False):
    x = as_asked("np.nanvar", a, dtype)
    if axis is None and not keepdims:
        return np.nanvar(x, ddof=ddof)
    axes = normal_axes(axis, x.ndim)
    known = ~np.isnan(x)
    offsets = np.where(known, x - np.nanmean(x, axis=axes, keepdims=True), x.dtype.type(0))
    count = np.sum(known, axis=axes, keepdims=keepdims) - ddof
    squares = np.sum(offsets * offsets, axis=axes, keepdims=keepdims)
    return np.where(count > 0, squares / count.astype(x.dtype), x.dtype.type(np.nan))


@general(np.nanstd)
def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False):
    x = as_asked("np.nanstd", a, dtype)
    if axis is None and not keepdims:
        return np.nanstd(x, ddof=ddof)
    return root(np.nanvar(x, axis=axis, ddof=ddof, keepdims=keepdims))
