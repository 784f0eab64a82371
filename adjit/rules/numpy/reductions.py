"""Reductions over an array: means and moments, extrema, products, order statistics, running sums.

In: the arguments as numba takes them. Out: the value, where that is a loop of arithmetic; the tangent, where it is a
choice or has cases of its own (nan, empty arrays, the accumulator's type). np.sum is the compiler's own.

    m = np.max(x)      x_bar[k] += m_bar / (how many x are equal to m), where x[k] == m
"""

import numpy as np

from adjit.rules.registry import builtin

tangent, adjoint, linear, decomposition = builtin.tangent, builtin.adjoint, builtin.linear, builtin.decomposition

# ---------------------------------------------------------------------------------------------------- means and moments


@decomposition(np.mean)
def mean(a):
    # the elements are read once, so that an expression is summed without becoming an array
    found = np.sum(a) / a.size
    return np.float32(found) if a.dtype == np.float32 else found


@decomposition(np.average)
def average(a, axis=None, weights=None):
    if axis is not None:
        raise TypeError("numba's np.average takes no axis")
    if weights is None:
        return np.mean(a)
    scale = np.sum(weights)
    if scale == 0.0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized.")
    return np.sum(a * weights) / scale


@decomposition(np.var)
def var(a):
    centre = np.mean(a)
    flat = a.ravel()
    squares = 0.0
    for k in range(flat.size):
        offset = flat[k] - centre
        squares += offset * offset
    return squares / a.size


@decomposition(np.std)
def std(a):
    variance = np.var(a)
    # 0 where all elements are equal, as a norm's at the zero vector
    return variance if variance == 0.0 else variance**0.5


@decomposition(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    x = samples(m, rowvar)
    if y is not None:
        x = np.concatenate((x, samples(y, rowvar)))
    lost = ddof if ddof is not None else 0 if bias else 1
    centred = np.empty(x.shape, x.dtype)
    for i in range(x.shape[0]):
        centred[i] = x[i] - np.mean(x[i])
    found = np.dot(centred, centred.conj().T) / max(x.shape[1] - lost, 0)
    if m.ndim == 1 and y is None:
        return found.reshape(())
    return found


def samples(m, rowvar):
    """One variable a row."""
    if m.ndim == 1:
        return m.reshape(1, -1)
    return m if rowvar or m.shape[0] == 1 else m.T


@decomposition(np.corrcoef)
def corrcoef(x, y=None, rowvar=True):
    found = np.cov(x, y, rowvar)
    if found.ndim == 0:
        return 1.0
    n = found.shape[0]
    out = np.empty((n, n), found.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = min(max(found[i, j] / (found[i, i] ** 0.5 * found[j, j] ** 0.5), -1.0), 1.0)
    return out


@decomposition(np.ptp)
def ptp(a):
    found = np.max(a) - np.min(a)
    if a.dtype.kind in "iu":
        return a.dtype.type(found)
    return np.float64(found) if a.dtype == np.float32 else found  # numba's type


@decomposition(np.nanmean)
def nanmean(a):
    flat = a.ravel()
    total, count = 0.0, 0
    for k in range(flat.size):
        if not np.isnan(flat[k]):
            total += flat[k]
            count += 1
    return np.divide(total, count)


@decomposition(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0):
    centre = np.nanmean(a)
    flat = a.ravel()
    squares, count = 0.0, 0
    for k in range(flat.size):
        if not np.isnan(flat[k]):
            offset = flat[k] - centre
            squares += offset * offset
            count += 1
    return np.divide(squares, count - ddof) if count > ddof else np.nan


@decomposition(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0):
    variance = np.nanvar(a, ddof=ddof)
    return variance if variance == 0.0 else variance**0.5


# -------------------------------------------------------------------------------------------------------------- extrema


EXTREMA = (np.max, np.amax, np.nanmax, np.min, np.amin, np.nanmin)


# equal shares among the tied elements, in their precision
@tangent(*EXTREMA)
def extremum(a, a_dot, *, y):
    return np.divide(np.sum(np.where(a == y, a_dot, a.dtype.type(0))), count_of(a, y))


def share(a, y, y_bar):
    return np.divide(y_bar, count_of(a, y))


def count_of(a, y):
    if a.dtype == np.float32:
        # a sum of ones in single precision stops at 2**24
        return np.float32(np.sum(np.where(a == y, 1, 0)))
    return np.sum(np.where(a == y, 1.0, 0.0))


adjoint(*EXTREMA)(lambda a, *, y, y_bar: np.where(a == y, share(a, y, y_bar), a.dtype.type(0)))


# ---------------------------------------------------------------------------------------------------- sums and products


tangent(np.nansum)(lambda a, a_dot, *, y: np.sum(np.where(np.isnan(a), 0.0, a_dot)))


def product_dot(a, a_dot, skips_nan):
    # the recurrence itself, so that the partial products are right where elements are zero
    flat, flat_dot = a.ravel(), a_dot.ravel()
    before, before_dot = 1.0, 0.0
    for k in range(flat.size):
        if not (skips_nan and np.isnan(flat[k])):
            before_dot = before_dot * flat[k] + before * flat_dot[k]
            before = before * flat[k]
    return before_dot


def products_dot(a, a_dot, y, skips_nan):
    flat, flat_dot = a.ravel(), a_dot.ravel()
    y_dot = np.empty(flat.size, a_dot.dtype)
    before, before_dot = 1.0, 0.0
    for k in range(flat.size):
        if not (skips_nan and np.isnan(flat[k])):
            before_dot = before_dot * flat[k] + before * flat_dot[k]
            before = y[k]
        y_dot[k] = before_dot
    return y_dot


def products_bar(a, y, y_bar, skips_nan):
    flat, flat_bar = a.ravel(), np.zeros(a.size, a.dtype)
    later = 0.0  # the adjoint of the product so far
    for k in range(flat.size - 1, -1, -1):
        later = later + y_bar[k]
        if not (skips_nan and np.isnan(flat[k])):
            if k > 0:
                flat_bar[k] = unless_unread(later, y[k - 1])
            else:
                flat_bar[k] = later
            later = unless_unread(later, flat[k])
    return flat_bar.reshape(a.shape)


def unless_unread(bar, partial):
    """An adjoint times a partial; 0 where the adjoint is, whatever is missing."""
    product = bar * partial
    return 0.0 if bar == 0.0 and np.isnan(product) else product


tangent(np.prod)(lambda a, a_dot, *, y: product_dot(a, a_dot, False))
tangent(np.nanprod)(lambda a, a_dot, *, y: product_dot(a, a_dot, True))
tangent(np.cumprod)(lambda a, a_dot, *, y: products_dot(a, a_dot, y, False))
tangent(np.nancumprod)(lambda a, a_dot, *, y: products_dot(a, a_dot, y, True))
adjoint(np.cumprod)(lambda a, *, y, y_bar: products_bar(a, y, y_bar, False))
adjoint(np.nancumprod)(lambda a, *, y, y_bar: products_bar(a, y, y_bar, True))


def cumsum_transpose(a, axis=None, dtype=None, *, y, y_bar):
    """Sums from the end. Without an axis the result is flat."""
    if axis is None:
        return np.cumsum(y_bar[::-1])[::-1].copy().reshape(a.shape)
    a_bar = y_bar.copy()
    for k in range(a.shape[axis] - 2, -1, -1):
        if axis % a.ndim == 0:
            a_bar[k] += a_bar[k + 1]
        elif axis % a.ndim == a.ndim - 1:
            a_bar[..., k] += a_bar[..., k + 1]
        else:
            a_bar[:, k] += a_bar[:, k + 1]
    return a_bar


linear(np.cumsum, transpose=cumsum_transpose)


tangent(np.cumsum)(
    lambda a, axis=None, dtype=None, a_dot=0.0, *, y: np.cumsum(a_dot) if axis is None else np.cumsum(a_dot, axis)
)
tangent(np.nancumsum)(lambda a, a_dot, *, y: np.cumsum(np.where(np.isnan(a), 0.0, a_dot)))


@decomposition(np.trapezoid)
def trapezoid(y, x=None, dx=1.0):
    means = (y[..., 1:] + y[..., :-1]) / 2.0
    if x is None:
        areas = dx * means
    else:
        areas = (x[..., 1:] - x[..., :-1]) * means
    if y.ndim == 1:
        return np.sum(areas)
    return np.sum(areas, axis=y.ndim - 1)


linear(np.bincount, argument=1, transpose=lambda x, weights=None, minlength=0, *, y, y_bar: y_bar[x])


tangent(np.bincount)(lambda x, weights=None, minlength=0, weights_dot=0.0, *, y: np.bincount(x, weights_dot, y.size))

# ----------------------------------------------------------------------------------------------------- order statistics
# With ties, by the position that sorting selects.


tangent(np.sort)(lambda a, a_dot, *, y: a_dot[np.argsort(a)])
tangent(np.partition)(lambda a, kth, a_dot, *, y: a_dot[np.argpartition(a, kth)])


@tangent(np.unique)
def unique(ar, ar_dot, *, y):
    # equal shares among the equal elements
    flat, flat_dot = ar.ravel(), ar_dot.ravel()
    y_dot, counts = np.zeros(y.size, y.dtype), np.zeros(y.size)
    for k in range(flat.size):
        place = np.searchsorted(y, flat[k])
        y_dot[place] += flat_dot[k]
        counts[place] += 1.0
    return y_dot / counts


def median_dot(a, a_dot, skips_nan):
    # argsort puts nan last
    flat_dot, order = a_dot.ravel(), np.argsort(a.ravel())
    n = flat_dot.size - np.sum(np.isnan(a)) if skips_nan else flat_dot.size
    y_dot = 0.0
    if n > 0:
        y_dot = 0.5 * flat_dot[order[(n - 1) // 2]] + 0.5 * flat_dot[order[n // 2]]
    return y_dot


tangent(np.median)(lambda a, a_dot, *, y: median_dot(a, a_dot, False))
tangent(np.nanmedian)(lambda a, a_dot, *, y: median_dot(a, a_dot, True))


def quantile_dot(flat, flat_dot, order, n, q, q_dot):
    """The tangent of the q-quantile, 0 <= q <= 1, of the first n elements in `order`, linear between ranks."""
    y_dot = 0.0
    if n > 0:
        rank = q * (n - 1)
        low = int(np.floor(rank))
        high = min(low + 1, n - 1)
        share = rank - low
        gap = flat[order[high]] - flat[order[low]]
        y_dot = (1 - share) * flat_dot[order[low]] + share * flat_dot[order[high]] + (n - 1) * gap * q_dot
    return y_dot


def quantiles_dot(a, q, a_dot, q_dot, n):
    flat, flat_dot = a.ravel(), a_dot.ravel()
    order = np.argsort(flat)
    if np.ndim(q) == 0:
        return quantile_dot(flat, flat_dot, order, n, q, q_dot)
    flat_q, flat_q_dot = q.ravel(), q_dot.ravel()
    y_dot = np.empty(flat_q.size)
    for k in range(flat_q.size):
        y_dot[k] = quantile_dot(flat, flat_dot, order, n, flat_q[k], flat_q_dot[k])
    return y_dot


tangent(np.quantile)(lambda a, q, a_dot, q_dot, *, y: quantiles_dot(a, q, a_dot, q_dot, a.size))
tangent(np.nanquantile)(
    lambda a, q, a_dot, q_dot, *, y: quantiles_dot(a, q, a_dot, q_dot, a.size - np.sum(np.isnan(a)))
)
tangent(np.percentile)(lambda a, q, a_dot, q_dot, *, y: quantiles_dot(a, q / 100, a_dot, q_dot / 100, a.size))
tangent(np.nanpercentile)(
    lambda a, q, a_dot, q_dot, *, y: quantiles_dot(a, q / 100, a_dot, q_dot / 100, a.size - np.sum(np.isnan(a)))
)
