"""Filters of scipy.signal: convolutions as direct sums, recursive filters as recurrences, trends and smoothing.

In: the arguments of the SciPy function; modes are known while compiling. Out: what it returns.

    y = lfilter(b, a, x)      y[k] = (sum_j b[j] x[k - j] - sum_j a[j] y[k - j]) / a[0]
"""

import numpy as np
import scipy.signal as ss

from adjit.rules.numpy.arrays import common_dtype
from adjit.rules.registry import builtin

decomposition = builtin.decomposition

# --------------------------------------------------------------------------------------------------------- convolutions


def full(a, b):
    out = np.zeros(a.size + b.size - 1, common_dtype((a, b)))
    for i in range(a.size):
        for j in range(b.size):
            out[i + j] += a[i] * b[j]
    return out


def full_2d(a, b):
    out = np.zeros((a.shape[0] + b.shape[0] - 1, a.shape[1] + b.shape[1] - 1), common_dtype((a, b)))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(b.shape[0]):
                for m in range(b.shape[1]):
                    out[i + k, j + m] += a[i, j] * b[k, m]
    return out


def part(whole, first, second, mode):
    """Of the full convolution along one axis, what is as long as the first, or made of all of the shorter one."""
    start = (second - 1) // 2 if mode == "same" else min(first, second) - 1
    length = first if mode == "same" else max(first, second) - min(first, second) + 1
    return whole[start : start + length]


@decomposition(ss.convolve, ss.fftconvolve, ss.oaconvolve)
def convolve(in1, in2, mode="full", method="auto"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if in1.ndim > 2 or in1.ndim != in2.ndim:
        raise NotImplementedError("scipy.signal.convolve of more than two axes: write the sums as loops")
    if in1.ndim == 2:
        return convolve2d(in1, in2, mode)
    whole = full(in1, in2)
    return whole if mode == "full" else part(whole, in1.size, in2.size, mode)


@decomposition(ss.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if in1.ndim == 2:
        return convolve2d(in1, in2[::-1, ::-1], mode)
    return convolve(in1, in2[::-1], mode)


@decomposition(ss.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError("scipy.signal.convolve2d with a boundary other than zeros: call np.pad first")
    in1, in2 = np.asarray(in1), np.asarray(in2)
    whole = full_2d(in1, in2)
    if mode == "full":
        return whole
    columns = np.swapaxes(part(whole, in1.shape[0], in2.shape[0], mode), 0, 1)
    return np.ascontiguousarray(np.swapaxes(part(columns, in1.shape[1], in2.shape[1], mode), 0, 1))


@decomposition(ss.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    return convolve2d(in1, np.asarray(in2)[::-1, ::-1], mode, boundary, fillvalue)


# -------------------------------------------------------------------------------------------------------------- filters


@decomposition(ss.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    if zi is not None:
        raise NotImplementedError("scipy.signal.lfilter with initial conditions: write the recurrence as a loop")
    b, a, x = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a)), np.asarray(x)
    if axis != -1 and axis != x.ndim - 1:
        raise NotImplementedError("scipy.signal.lfilter along an axis other than the last: transpose first")
    out = np.zeros(x.shape, common_dtype((b / a[0], x)))
    for k in range(x.shape[x.ndim - 1]):
        for j in range(min(b.size, k + 1)):
            out[..., k] += b[j] / a[0] * x[..., k - j]
        for j in range(1, min(a.size, k + 1)):
            out[..., k] -= a[j] / a[0] * out[..., k - j]
    return out


@decomposition(ss.sosfilt)
def sosfilt(sos, x, axis=-1, zi=None):
    sos, x = np.asarray(sos), np.asarray(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if zi is not None:
        raise NotImplementedError("scipy.signal.sosfilt with initial conditions: write the recurrences as loops")
    out = x.astype(common_dtype((sos, x)))
    for k in range(sos.shape[0]):
        if sos[k, 3] != 1.0:
            raise ValueError("sos[:, 3] should be all ones")
        out = lfilter(sos[k, :3], sos[k, 3:], out, axis)
    return out


@decomposition(ss.savgol_filter)
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    x = np.asarray(x)
    if x.ndim != 1 or mode != "interp" or window_length % 2 == 0:
        raise NotImplementedError(
            "scipy.signal.savgol_filter: adjit knows it for a vector, in mode 'interp', with "
            "an odd window")
    if window_length > x.size:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    # at both ends the polynomial of the first or the last window, at its other places
    places = range(window_length)
    weights = [ss.savgol_coeffs(window_length, polyorder, deriv, delta, place, "dot") for place in places]
    half = window_length // 2
    out = np.zeros(x.size)
    for k in range(half, x.size - half):
        for j in range(window_length):
            out[k] += weights[half][j] * x[k - half + j]
    for k in range(half):
        for j in range(window_length):
            out[k] += weights[k][j] * x[j]
            out[x.size - 1 - k] += weights[window_length - 1 - k][j] * x[x.size - window_length + j]
    return out


@decomposition(ss.detrend)
def detrend(data, axis=-1, type="linear"):
    data = np.asarray(data)
    if axis != -1 and axis != data.ndim - 1:
        raise NotImplementedError("scipy.signal.detrend along an axis other than the last: transpose first")
    centred = data - np.sum(data, axis=-1, keepdims=True) / data.shape[data.ndim - 1]
    if type in ("constant", "c"):
        return centred
    if type not in ("linear", "l"):
        raise NotImplementedError("scipy.signal.detrend with this type: adjit knows 'linear' and 'constant'")
    places = np.arange(data.shape[data.ndim - 1]) - 0.5 * (data.shape[data.ndim - 1] - 1)
    return centred - np.sum(centred * places, axis=-1, keepdims=True) / np.sum(places * places) * places
