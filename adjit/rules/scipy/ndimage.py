"""Filters of scipy.ndimage: Gaussian, uniform and given weights, along axes or in all of them; their gradients.

In: an array and the arguments of the function. Out: the array that SciPy returns, of floats. Along an axis a filter is
a sum of shifted copies of the array, continued beyond its ends as the mode says.

    y = correlate1d(x, w)      y[i] = sum of w[k] * x[at(i + k - w.size // 2)],  at(-1) == 0 where mode is "reflect"
"""

import math

import numpy as np
import scipy.ndimage as ndi

from adjit.rules.registry import builtin

decomposition = builtin.decomposition

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")


def place(i, n, mode):
    """Where the element at a place beyond the ends of an axis of this length is taken from; -1 for none."""
    if mode == "reflect" or mode == "grid-mirror":
        k = i % (2 * n)
        found = k if k < n else 2 * n - 1 - k
    elif mode == "mirror":
        k = i % (2 * n - 2) if n > 1 else 0
        found = k if k < n else 2 * n - 2 - k
    elif mode == "nearest":
        found = min(max(i, 0), n - 1)
    elif mode == "wrap" or mode == "grid-wrap":
        found = i % n
    else:
        found = i if i >= 0 and i < n else -1
    return found


def along_last(x, weights, mode, cval, origin):
    """The filter along the last of two axes."""
    rows, n = x.shape
    out, half = np.zeros((rows, n)), weights.size // 2 + origin
    for i in range(n):
        for k in range(weights.size):
            at = place(i + k - half, n, mode)
            for r in range(rows):
                out[r, i] += weights[k] * (x[r, at] if at >= 0 else cval)
    return out


def filtered(x, weights, axis, mode, cval, origin):
    if mode not in MODES:
        raise NotImplementedError("a filter of scipy.ndimage in this mode")
    turned = np.moveaxis(np.asarray(x) * 1.0, axis, -1)
    # not -1, which says nothing where an axis has no elements
    rows = np.ascontiguousarray(turned).reshape(math.prod(turned.shape[:-1]), turned.shape[-1])
    return np.moveaxis(along_last(rows, weights, mode, cval, origin).reshape(turned.shape), -1, axis)


def in_turn(own, x, k=0):
    """What a filter makes of an array along its first axis, of that along the second, and so on."""
    return x if k == np.ndim(x) else in_turn(own, own(x, k), k + 1)


def of_axis(given, k):
    """What is given for an axis: one value for all, or one for each."""
    return given[k] if isinstance(given, (tuple, list)) else given


def unsaid(output):
    if output is not None:
        raise NotImplementedError("a filter of scipy.ndimage with an output: assign what it returns")


# ------------------------------------------------------------------------------------------------------ given weights


@decomposition(ndi.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    unsaid(output)
    return filtered(input, np.asarray(weights) * 1.0, axis, mode, cval, origin)


@decomposition(ndi.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    unsaid(output)
    given = np.asarray(weights) * 1.0
    # turned around, the middle of an even number of weights is the one before
    return filtered(input, given[::-1], axis, mode, cval, -origin - (0 if given.size % 2 == 1 else 1))


def correlated(x, weights, mode, cval):
    """Two axes at once."""
    if np.ndim(x) != 2:
        raise NotImplementedError(
            "correlate and convolve of scipy.ndimage, of an array that is not a matrix: use "
            "correlate1d and convolve1d")
    (rows, columns), (m, n) = x.shape, weights.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            for k in range(m):
                for c in range(n):
                    p, q = place(i + k - m // 2, rows, mode), place(j + c - n // 2, columns, mode)
                    out[i, j] += weights[k, c] * (x[p, q] if p >= 0 and q >= 0 else cval)
    return out


@decomposition(ndi.correlate)
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    unsaid(output)
    if origin != 0:
        raise NotImplementedError("scipy.ndimage.correlate with an origin: roll the array")
    if np.ndim(input) == 1:
        return correlate1d(input, weights, 0, None, mode, cval)
    return correlated(np.asarray(input) * 1.0, np.asarray(weights) * 1.0, mode, cval)


@decomposition(ndi.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    unsaid(output)
    if origin != 0:
        raise NotImplementedError("scipy.ndimage.convolve with an origin: roll the array")
    if np.ndim(input) == 1:
        return convolve1d(input, weights, 0, None, mode, cval)
    given = np.asarray(weights) * 1.0
    if given.shape[0] % 2 == 0 or given.shape[1] % 2 == 0:
        raise NotImplementedError("scipy.ndimage.convolve with an even number of weights: add a row or column of zeros")
    return correlated(np.asarray(input) * 1.0, given[::-1, ::-1], mode, cval)


# --------------------------------------------------------------------------------------------- Gaussian, uniform, edges


def bell(sigma, order, radius):
    """The weights of a Gaussian filter, or of its first or second derivative."""
    x = np.arange(-radius, radius + 1) * 1.0
    phi = np.exp(-0.5 * (x / sigma) ** 2)
    phi = phi / np.sum(phi)
    if order == 0:
        return phi
    if order == 1:
        return x / sigma**2 * phi
    if order == 2:
        return (x * x / sigma**4 - 1.0 / sigma**2) * phi
    raise NotImplementedError("a Gaussian filter of an order above 2")


@decomposition(ndi.gaussian_filter1d)
def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    unsaid(output)
    width = int(truncate * sigma + 0.5) if radius is None else radius
    return filtered(input, bell(sigma, order, width), axis, mode, cval, 0)


@decomposition(ndi.gaussian_filter)
def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None
):
    unsaid(output)
    if axes is not None:
        raise NotImplementedError("scipy.ndimage.gaussian_filter with axes: use gaussian_filter1d along each")

    def along(x, k):
        if of_axis(sigma, k) <= 1e-15:
            return x
        own = None if radius is None else of_axis(radius, k)
        kind = of_axis(order, k)
        return gaussian_filter1d(x, of_axis(sigma, k), k, kind, None, of_axis(mode, k), cval, truncate, radius=own)

    return in_turn(along, np.asarray(input) * 1.0)


@decomposition(ndi.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    unsaid(output)
    return filtered(input, np.full(size, 1.0 / size), axis, mode, cval, origin)


@decomposition(ndi.uniform_filter)
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    unsaid(output)
    if axes is not None:
        raise NotImplementedError("scipy.ndimage.uniform_filter with axes: use uniform_filter1d along each")

    def along(x, k):
        return uniform_filter1d(x, of_axis(size, k), k, None, of_axis(mode, k), cval, of_axis(origin, k))

    return in_turn(along, np.asarray(input) * 1.0)


def edges(input, axis, mode, cval, smooth):
    def along(x, k):
        is_across = k == axis % np.ndim(input)
        return filtered(x, np.array([-1.0, 0.0, 1.0]) if is_across else smooth, k, mode, cval, 0)

    return in_turn(along, np.asarray(input) * 1.0)


@decomposition(ndi.sobel)
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    unsaid(output)
    return edges(input, axis, mode, cval, np.array([1.0, 2.0, 1.0]))


@decomposition(ndi.prewitt)
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    unsaid(output)
    return edges(input, axis, mode, cval, np.array([1.0, 1.0, 1.0]))


@decomposition(ndi.laplace)
def laplace(input, output=None, mode="reflect", cval=0.0):
    unsaid(output)
    bends = [filtered(input, np.array([1.0, -2.0, 1.0]), k, mode, cval, 0) for k in tuple(range(np.ndim(input)))]
    whole = bends[0]
    for bend in bends[1:]:
        whole = whole + bend
    return whole
