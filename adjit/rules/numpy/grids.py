"""Grids, differences, interpolation and convolution: ops on samples of a function.

In: the arguments of the NumPy function as numba takes them; modes, axes and None are static. Out: what it returns.

    y = np.interp(x, xp, fp)      x_bar += slope * y_bar;  fp_bar[j] += (1 - share) * y_bar;  ...
"""

import numpy as np

from adjit.rules.numpy.arrays import common_dtype, flat
from adjit.rules.registry import builtin

tangent, decomposition = builtin.tangent, builtin.decomposition

# --------------------------------------------------------------------------------------------------- grids, differences


@tangent(np.linspace)
def linspace(start, stop, num=50, start_dot=0.0, stop_dot=0.0, *, y):
    y_dot = np.empty(num)
    for k in range(num):
        share = np.divide(k, num - 1) if num > 1 else 0.0
        y_dot[k] = (1 - share) * start_dot + share * stop_dot
    return y_dot


decomposition(np.logspace)(lambda start, stop, num=50: np.power(10.0, np.linspace(start, stop, num)))


@tangent(np.geomspace)
def geomspace(start, stop, num=50, start_dot=0.0, stop_dot=0.0, *, y):
    y_dot = np.empty(num)
    for k in range(num):
        share = np.divide(k, num - 1) if num > 1 else 0.0
        y_dot[k] = y[k] * ((1 - share) * start_dot / start + share * stop_dot / stop)
    return y_dot


@tangent(np.arange)
def arange(start, stop=None, step=None, dtype=None, start_dot=0.0, stop_dot=0.0, step_dot=0.0, *, y):
    # the end only decides how many there are; given alone, `start` is the end
    y_dot = np.zeros(y.size, y.dtype)
    if stop is not None:
        for k in range(y.size):
            y_dot[k] = start_dot if step is None else start_dot + k * step_dot
    return y_dot


@decomposition(np.diff)
def diff(a, n=1):
    if n == 1:
        return a[..., 1:] - a[..., :-1]
    if n == 0:
        return a
    if n < 0:
        raise ValueError("diff(): order must be non-negative")
    work, size = a.copy(), a.shape[a.ndim - 1]
    for done in range(n):
        for k in range(size - 1 - done):
            work[..., k] = work[..., k + 1] - work[..., k]
    return work[..., : max(size - n, 0)].copy()


@decomposition(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    mid = ary.ravel()
    steps = mid[1:] - mid[:-1]
    if to_begin is not None:
        steps = np.concatenate((flat(to_begin), steps))
    if to_end is not None:
        steps = np.concatenate((steps, flat(to_end)))
    return steps


# ------------------------------------------------------------------------------------------- interpolation, convolution


def interpolated_dot(x, xp, fp, x_dot, xp_dot, fp_dot):
    """The tangent of one interpolated value; the slope at a knot is that to its left."""
    last = xp.size - 1
    j = np.searchsorted(xp, x) - 1
    if j < 0:
        y_dot = fp_dot[0]
    elif j >= last:
        y_dot = fp_dot[last]
    else:
        width = xp[j + 1] - xp[j]
        share = (x - xp[j]) / width
        slope = (fp[j + 1] - fp[j]) / width
        moved = x_dot - (1 - share) * xp_dot[j] - share * xp_dot[j + 1]
        y_dot = (1 - share) * fp_dot[j] + share * fp_dot[j + 1] + slope * moved
    return y_dot


@tangent(np.interp)
def interp(x, xp, fp, x_dot, xp_dot, fp_dot, *, y):
    if np.ndim(x) == 0:
        return interpolated_dot(x, xp, fp, x_dot, xp_dot, fp_dot)
    elements, elements_dot = x.ravel(), x_dot.ravel()
    y_dot = np.empty(elements.size)
    for k in range(elements.size):
        y_dot[k] = interpolated_dot(elements[k], xp, fp, elements_dot[k], xp_dot, fp_dot)
    return y_dot.reshape(x.shape)


def convolved(a, v, start, length):
    """`length` sums over j of a[k - j] v[j], from k = start on."""
    full = np.zeros(a.size + v.size - 1, common_dtype((a, v)))
    for i in range(a.size):
        for j in range(v.size):
            full[i + j] += a[i] * v[j]
    return full[start : start + length]


@decomposition(np.convolve)
def convolve(a, v, mode="full"):
    shorter, longer = min(a.size, v.size), max(a.size, v.size)
    if shorter == 0:
        raise ValueError("an array to convolve cannot be empty")
    if mode == "full":
        return convolved(a, v, 0, a.size + v.size - 1)
    if mode == "same":
        return convolved(a, v, (shorter - 1) // 2, longer)
    return convolved(a, v, shorter - 1, longer - shorter + 1)


@decomposition(np.correlate)
def correlate(a, v, mode="valid"):
    shorter, longer = min(a.size, v.size), max(a.size, v.size)
    if shorter == 0:
        raise ValueError("an array to correlate cannot be empty")
    if mode == "full":
        return convolved(a, v[::-1], 0, a.size + v.size - 1)
    if mode == "same":
        # the middle of an even number of places is further on where `a` is the shorter one
        return convolved(a, v[::-1], (shorter - 1) // 2 if a.size >= v.size else shorter // 2, longer)
    return convolved(a, v[::-1], shorter - 1, longer - shorter + 1)
