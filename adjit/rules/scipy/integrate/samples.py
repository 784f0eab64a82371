"""Integrals of samples, as sums with weights; and of functions, by Gauss's nodes.

In: the arguments of the function of scipy.integrate. Out: what it returns. Samples lie along one axis, which is turned
to the end first.

    s = trapezoid(y, x)      s = np.sum(0.5 * (x[1:] - x[:-1]) * (y[1:] + y[:-1]))
"""

import numpy as np
import scipy.integrate as si

from adjit.rules.registry import builtin

decomposition = builtin.decomposition

# -------------------------------------------------------------------------------------------------------------- samples


def along(y, axis):
    """As an array, with this axis last."""
    y = np.asarray(y)
    return y if axis == -1 or axis == y.ndim - 1 else np.swapaxes(y, axis, y.ndim - 1)


def along_with(x, y, axis):
    """The places of samples: of all alike, or of each of `y`."""
    x = np.asarray(x)
    return x if x.ndim == 1 else along(x, axis)


def back(y, axis):
    return y if axis == -1 or axis == y.ndim - 1 else np.swapaxes(y, axis, y.ndim - 1)


def widths(x, y, dx, axis):
    """The distances of samples, which broadcast with their areas."""
    if x is None:
        return dx
    places = along_with(x, y, axis)
    return places[..., 1:] - places[..., :-1]


def sum_of(parts, y):
    return np.sum(parts) if y.ndim == 1 else np.sum(parts, axis=y.ndim - 1)


@decomposition(si.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    if np.ndim(y) > 2 and axis != -1 and axis != np.ndim(y) - 1:
        raise NotImplementedError("scipy.integrate.trapezoid along an inner axis of three: turn it to the end first")
    samples = along(y, axis)
    return sum_of(widths(x, y, dx, axis) * (samples[..., 1:] + samples[..., :-1]) / 2.0, samples)


@decomposition(si.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    if np.ndim(y) > 2:
        raise NotImplementedError("scipy.integrate.cumulative_trapezoid of more than two axes: loop over them")
    if initial is not None and initial != 0:
        raise NotImplementedError("scipy.integrate.cumulative_trapezoid with this `initial`: write initial=0")
    samples = along(y, axis)
    areas = widths(x, y, dx, axis) * (samples[..., 1:] + samples[..., :-1]) / 2.0
    ahead = 0 if initial is None else 1
    out = np.zeros(samples.shape[:-1] + (areas.shape[areas.ndim - 1] + ahead,), areas.dtype)
    for k in range(areas.shape[areas.ndim - 1]):
        if k == 0:
            out[..., ahead] = areas[..., 0]
        else:
            out[..., k + ahead] = out[..., k + ahead - 1] + areas[..., k]
    return back(out, axis)


def simpson_weights(h):
    """Of the samples at these distances; of an even number the last interval has its own rule (Cartwright 2017)."""
    count = h.size + 1
    out = np.zeros(count, h.dtype)
    for k in range(0, count - 2, 2):
        whole, ratio = h[k] + h[k + 1], h[k] / h[k + 1]
        out[k] += whole / 6.0 * (2.0 - 1.0 / ratio)
        out[k + 1] += whole / 6.0 * (whole * whole / (h[k] * h[k + 1]))
        out[k + 2] += whole / 6.0 * (2.0 - ratio)
    if count == 2:
        out[:] = 0.5 * h[0]
    elif count % 2 == 0:
        h0, h1 = h[count - 3], h[count - 2]
        out[count - 1] += (2.0 * h1 * h1 + 3.0 * h0 * h1) / (6.0 * (h1 + h0))
        out[count - 2] += (h1 * h1 + 3.0 * h0 * h1) / (6.0 * h0)
        out[count - 3] -= h1 * h1 * h1 / (6.0 * h0 * (h0 + h1))
    return out


@decomposition(si.simpson)
def simpson(y, x=None, dx=1.0, axis=-1):
    if np.ndim(y) > 2 and axis != -1 and axis != np.ndim(y) - 1:
        raise NotImplementedError("scipy.integrate.simpson along an inner axis of three: turn it to the end first")
    if x is not None and np.ndim(x) > 1:
        raise NotImplementedError("scipy.integrate.simpson with points in a matrix: loop over the rows")
    samples = along(y, axis)
    h = np.full(samples.shape[samples.ndim - 1] - 1, 1.0) * dx if x is None else widths(x, y, dx, axis)
    return sum_of(simpson_weights(h * 1.0) * samples, samples)


builtin.as_of_real(si.trapezoid, si.cumulative_trapezoid, si.simpson)

# ------------------------------------------------------------------------------------------------------------ functions


@decomposition(si.fixed_quad)
def fixed_quad(func, a, b, args=(), n=5):
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (b - a) * np.sum(weights * func(0.5 * (b - a) * (nodes + 1.0) + a, *args)), None
