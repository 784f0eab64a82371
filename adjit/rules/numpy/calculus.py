"""Grids with all that NumPy takes, differences and gradients, integrals along axes, histograms.

In: the arguments of the NumPy function; axes, orders, texts and None are static. Out: what it returns.

    np.gradient(f, h)      out[0] = (f[1] - f[0]) / h;  out[1:-1] = (f[2:] - f[:-2]) / (2 * h);  out[-1] = ...
"""

import numpy as np

from adjit.rules.numpy.axes import one_axis
from adjit.rules.registry import builtin

general, decomposition = builtin.general, builtin.decomposition

# --------------------------------------------------------------------------------------------------------------- grids


def shares(num, endpoint):
    """How far each of so many points is from the start to the stop."""
    parts = num - 1 if endpoint else num
    return np.arange(num) / max(parts, 1)


def as_column(values, ndim):
    """A vector that lies along the first of so many axes."""
    return values if ndim == 0 else values.reshape((values.size,) + (1,) * ndim)


@general(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    ndim = max(np.ndim(start), np.ndim(stop))
    if endpoint and ndim == 0:
        found = np.linspace(start, stop, num)
    else:
        found = between(np.asarray(start), np.asarray(stop), num, endpoint, ndim)
    if dtype is not None:
        # of numbers that are cut off NumPy takes the whole ones below, as it does nowhere else
        found = (np.floor(found) if np.zeros(0, dtype).dtype.kind in "iu" else found).astype(dtype)
    grid = np.moveaxis(found, 0, axis)
    return (grid, (stop - start) / (num - 1 if endpoint else num)) if retstep else grid


def between(start, stop, num, endpoint, ndim):
    whole = start + as_column(shares(num, endpoint), ndim) * (stop - start)
    if endpoint and num > 1:
        whole[-1] = stop
    return whole


@general(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    found = np.power(base, np.linspace(start, stop, num, endpoint=endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


@general(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    if endpoint and np.ndim(start) == 0 and np.ndim(stop) == 0:
        found = np.geomspace(start, stop, num)
    else:
        ndim = max(np.ndim(start), np.ndim(stop))
        found = start * np.power(np.divide(stop, start), as_column(shares(num, endpoint), ndim))
    return np.moveaxis(found if dtype is None else found.astype(dtype), 0, axis)


# ------------------------------------------------------------------------------------------- differences and integrals


@general(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    axis = one_axis(axis, a.ndim)
    whole = a
    if prepend is not None:
        whole = np.concatenate((as_part(prepend, a, axis), whole), axis=axis)
    if append is not None:
        whole = np.concatenate((whole, as_part(append, a, axis)), axis=axis)
    if axis == a.ndim - 1:
        return np.diff(whole, n)
    return np.moveaxis(np.diff(np.moveaxis(whole, axis, -1), n), -1, axis)


def as_part(values, a, axis):
    """What stands before or after an array: a number is one more place along the axis."""
    if np.ndim(values) > 0:
        return np.asarray(values)
    return np.full(a.shape[:axis] + (1,) + a.shape[axis + 1 :], values, a.dtype)


@general(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    axis = one_axis(axis, y.ndim)
    if axis == y.ndim - 1:
        return np.trapezoid(y, x, dx)
    places = x if x is None or x.ndim == 1 else np.moveaxis(x, axis, -1)
    return np.trapezoid(np.moveaxis(y, axis, -1), places, dx)


@decomposition(np.gradient)
def gradient(all_given, axis=None, edge_order=1):
    spacings = all_given[1:]
    # differences of integers are not made in the bits that these have
    f = all_given[0] * 1.0 if all_given[0].dtype.kind in "iu" else all_given[0]
    axes = tuple(range(f.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    # one number is the step along all axes; places are those of one axis
    is_for_all = len(spacings) == 1 and np.ndim(spacings[0]) == 0
    steps = (1.0,) * len(axes) if len(spacings) == 0 else spacings * len(axes) if is_for_all else spacings
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    found = tuple(slope(f, h, one_axis(k, f.ndim), edge_order) for k, h in zip(axes, steps, strict=True))
    return found[0] if len(axes) == 1 else found


def slope(f, h, axis, edge_order):
    """The derivative along an axis, with the step, or the places, h."""
    out = np.empty(f.shape, (np.zeros(0, f.dtype) / np.ones(0, f.dtype)).dtype)
    y, y_dot = np.moveaxis(f, axis, 0), np.moveaxis(out, axis, 0)
    if y.shape[0] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    if np.ndim(h) == 0:
        slope_of_even(y, y_dot, h, edge_order)
    else:
        slope_of_uneven(y, y_dot, h[1:] - h[:-1], edge_order)
    return out


def slope_of_even(y, y_dot, h, edge_order):
    y_dot[1:-1] = (y[2:] - y[:-2]) / (2.0 * h)
    if edge_order == 1:
        y_dot[0] = (y[1] - y[0]) / h
        y_dot[-1] = (y[-1] - y[-2]) / h
    else:
        y_dot[0] = (2.0 * y[1] - 1.5 * y[0] - 0.5 * y[2]) / h
        y_dot[-1] = (1.5 * y[-1] - 2.0 * y[-2] + 0.5 * y[-3]) / h


def slope_of_uneven(y, y_dot, steps, edge_order):
    # the derivative of the parabola through three neighbours
    if steps.size != y.shape[0] - 1:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    before, after = as_column(steps[:-1], y.ndim - 1), as_column(steps[1:], y.ndim - 1)
    left, right = after / (before * (before + after)), before / (after * (before + after))
    y_dot[1:-1] = right * y[2:] + (left - right) * y[1:-1] - left * y[:-2]
    if edge_order == 1:
        y_dot[0] = (y[1] - y[0]) / steps[0]
        y_dot[-1] = (y[-1] - y[-2]) / steps[-1]
    else:
        p, q = steps[0], steps[1]
        y_dot[0] = (p + q) / (p * q) * y[1] - (2.0 * p + q) / (p * (p + q)) * y[0] - p / (q * (p + q)) * y[2]
        p, q = steps[-2], steps[-1]
        y_dot[-1] = q / (p * (p + q)) * y[-3] + (2.0 * q + p) / (q * (p + q)) * y[-1] - (p + q) / (p * q) * y[-2]


@decomposition(np.unwrap)
def unwrap(p, discont=None, axis=-1, period=2 * np.pi):
    axis = one_axis(axis, p.ndim)
    y = np.moveaxis(p, axis, 0)
    steps = y[1:] - y[:-1]
    inside = np.mod(steps + period / 2, period) - period / 2
    wrapped = np.where((inside == -period / 2) & (steps > 0), period / 2, inside)
    threshold = period / 2 if discont is None else max(discont, period / 2)
    jumps = np.where(np.abs(steps) < threshold, 0.0, wrapped - steps)
    out = p.copy()
    np.moveaxis(out, axis, 0)[1:] += np.cumsum(jumps, axis=0)
    return out


@general(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        places, order = x % period, np.argsort(xp % period)
        knots, values = (xp % period)[order], fp[order]
        knots = np.concatenate((knots[-1:] - period, knots, knots[:1] + period))
        return np.interp(places, knots, np.concatenate((values[-1:], values, values[:1])))
    found = np.interp(x, xp, fp)
    if left is not None:
        found = np.where(x < xp[0], left, found)
    if right is not None:
        found = np.where(x > xp[-1], right, found)
    return found


# ---------------------------------------------------------------------------------------------------------- histograms


@general(np.bincount)
def bincount(x, weights=None, minlength=0):
    if weights is not None:
        return np.bincount(x, weights, minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    counts = np.bincount(x)
    if minlength == 0:
        return counts
    out = np.zeros(max(counts.size, minlength), np.intp)
    out[: counts.size] = counts
    return out


@decomposition(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    edges = np.histogram_bin_edges(a, bins, range)
    counts = np.zeros(edges.size - 1, np.intp if weights is None else weights.dtype)
    values = a.ravel()
    for k in np.arange(values.size):
        if edges[0] <= values[k] and values[k] <= edges[-1]:
            place = min(np.searchsorted(edges, values[k], side="right"), edges.size - 1) - 1
            counts[place] += 1 if weights is None else weights.ravel()[k]
    if density:
        return counts / (np.sum(counts) * (edges[1:] - edges[:-1])), edges
    return counts, edges


@decomposition(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    if np.ndim(bins) == 1:
        return np.asarray(bins)
    if not isinstance(bins, int):
        raise NotImplementedError("a histogram with this choice of bins")
    first, last = (np.min(a), np.max(a)) if range is None else (range[0], range[1])
    if first == last:
        return np.linspace(first - 0.5, last + 0.5, bins + 1)
    return np.linspace(first, last, bins + 1)


@decomposition(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    of_x, of_y = bins if isinstance(bins, (tuple, list)) else (bins, bins)
    rows = np.histogram_bin_edges(x, of_x, None if range is None else range[0])
    columns = np.histogram_bin_edges(y, of_y, None if range is None else range[1])
    counts = np.zeros((rows.size - 1, columns.size - 1))
    for k in np.arange(x.size):
        if rows[0] <= x[k] and x[k] <= rows[-1] and columns[0] <= y[k] and y[k] <= columns[-1]:
            i = min(np.searchsorted(rows, x[k], side="right"), rows.size - 1) - 1
            j = min(np.searchsorted(columns, y[k], side="right"), columns.size - 1) - 1
            counts[i, j] += 1.0 if weights is None else weights[k]
    if density:
        return counts / (np.sum(counts) * np.outer(rows[1:] - rows[:-1], columns[1:] - columns[:-1])), rows, columns
    return counts, rows, columns


# ------------------------------------------------------------------------------------------------------------- windows


@decomposition(np.i0)
def i0(x):
    import scipy.special as sc  # which takes its time, and has the rule

    return sc.i0(x)


@decomposition(np.kaiser)
def kaiser(M, beta):
    if M == 1:
        return np.ones(1)
    places = (np.arange(M) - (M - 1) / 2.0) / ((M - 1) / 2.0)
    return np.i0(beta * np.sqrt(1.0 - places * places)) / np.i0(beta)
