"""Statistics of samples in scipy.stats: scores, moments, means, entropies, correlation and a line.

In: samples, along an axis. Out: the statistic, as an expression of sums and means.

    zscore(a)      (a - mean(a)) / std(a)
"""

from collections import namedtuple

import numpy as np
import scipy.special as sc
import scipy.stats as stats

from adjit.rules.numpy.moments import root
from adjit.rules.registry import builtin

decomposition = builtin.decomposition


def samples(a, axis, nan_policy):
    """The samples as an array of floats, and the axis that they lie along."""
    if nan_policy != "propagate":
        raise NotImplementedError("nan_policy: remove the nan values first")
    a = np.asarray(a)
    a = a if a.dtype == np.float64 or a.dtype == np.float32 else a * 1.0
    if axis is None:
        return a.ravel(), 0
    return a, axis % a.ndim


def centred(a, axis):
    return a - np.mean(a, axis=axis, keepdims=True)


@decomposition(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    if axis is None:
        found = zscore(np.asarray(a).ravel(), 0, ddof, nan_policy)
        return found.reshape(np.asarray(a).shape)
    a, axis = samples(a, axis, nan_policy)
    return centred(a, axis) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


@decomposition(stats.moment)
def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    offsets = centred(a, axis) if center is None else a - center
    return np.mean(offsets**order, axis=axis, keepdims=keepdims)


@decomposition(stats.skew)
def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    offsets, n = centred(a, axis), a.shape[axis]
    second = np.mean(offsets * offsets, axis=axis, keepdims=keepdims)
    found = np.mean(offsets * offsets * offsets, axis=axis, keepdims=keepdims) / (second * np.sqrt(second))
    return found if bias or n < 3 else np.sqrt((n - 1.0) * n) / (n - 2.0) * found


@decomposition(stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    squares, n = centred(a, axis) ** 2, a.shape[axis]
    second = np.mean(squares, axis=axis, keepdims=keepdims)
    found = np.mean(squares * squares, axis=axis, keepdims=keepdims) / (second * second)
    if not bias and n > 3:
        found = ((n * n - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return found - 3.0 if fisher else found


@decomposition(stats.gmean)
def gmean(a, axis=0, dtype=None, weights=None, nan_policy="propagate", *, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    return np.exp(np.average(np.log(a), axis=axis, weights=weights, keepdims=keepdims))


@decomposition(stats.hmean)
def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    return 1.0 / np.average(1.0 / a, axis=axis, weights=weights, keepdims=keepdims)


@decomposition(stats.pmean)
def pmean(a, p, *, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    return np.average(a**p, axis=axis, weights=weights, keepdims=keepdims) ** (1.0 / p)


@decomposition(stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    pk, axis = samples(pk, axis, nan_policy)
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        terms = sc.entr(pk)
    else:
        qk = np.asarray(qk)
        terms = sc.rel_entr(pk, qk / np.sum(qk, axis=axis, keepdims=True))
    found = np.sum(terms, axis=axis, keepdims=keepdims)
    return found if base is None else found / np.log(base)


@decomposition(stats.sem)
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(a.shape[axis])


@decomposition(stats.variation)
def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    a, axis = samples(a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(a, axis=axis, keepdims=keepdims)


@decomposition(stats.iqr)
def iqr(x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear", keepdims=False):
    if interpolation != "linear" or keepdims or isinstance(scale, str):
        raise NotImplementedError("iqr with another interpolation, keepdims or a scale by name: write it by quantiles")
    x, axis = samples(x, axis, nan_policy)
    return (np.percentile(x, rng[1], axis=axis) - np.percentile(x, rng[0], axis=axis)) / scale


@decomposition(stats.trim_mean)
def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate", keepdims=False):
    if keepdims:
        raise NotImplementedError("trim_mean with keepdims: write it with np.sort")
    a, axis = samples(a, axis, nan_policy)
    n = a.shape[axis]
    cut = int(proportiontocut * n)
    if 2 * cut > n:
        raise ValueError("Proportion too big.")
    ordered = np.sort(np.moveaxis(a, axis, 0), axis=0)
    return np.mean(ordered[cut : n - cut], axis=0)


@decomposition(stats.median_abs_deviation)
def median_abs_deviation(x, axis=0, center=np.median, scale=1.0, nan_policy="propagate", *, keepdims=False):
    if center is not np.median or keepdims or isinstance(scale, str):
        raise NotImplementedError("median_abs_deviation with another center, keepdims or a scale by name: write it out")
    x, axis = samples(x, axis, nan_policy)
    middle = np.median(x) if x.ndim == 1 else np.expand_dims(np.median(x, axis=axis), axis)
    return np.median(np.abs(x - middle), axis=axis) / scale


# ---------------------------------------------------------------------------------------------------------- two samples

Correlation = namedtuple("Correlation", ("statistic", "pvalue"))
Line = namedtuple("Line", ("slope", "intercept", "rvalue", "pvalue", "stderr"))


def tail_of_correlation(r, n):
    """The chance of a correlation as far from 0 among n pairs of normal numbers that have none."""
    return 2.0 * sc.betainc(0.5 * n - 1.0, 0.5 * n - 1.0, 0.5 * (1.0 - np.abs(r)))


@decomposition(stats.pearsonr)
def pearsonr(x, y):
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        raise NotImplementedError("pearsonr of anything but two vectors: loop over them")
    x, y = np.asarray(x), np.asarray(y)
    if x.size != y.size or x.size < 3:
        raise ValueError("`x` and `y` must have the same length, of at least 3.")
    u, v = x - np.mean(x), y - np.mean(y)
    r = np.clip(np.sum(u * v) / (root(np.sum(u * u)) * root(np.sum(v * v))), -1.0, 1.0)
    return Correlation(r, tail_of_correlation(r, x.size))


@decomposition(stats.linregress)
def linregress(x, y):
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        raise NotImplementedError("linregress of anything but two vectors: loop over them")
    x, y = np.asarray(x), np.asarray(y)
    if x.size != y.size or x.size < 3:
        raise ValueError("`x` and `y` must have the same length, of at least 3.")
    u, v = x - np.mean(x), y - np.mean(y)
    uu, uv, vv = np.mean(u * u), np.mean(u * v), np.mean(v * v)
    slope, r = uv / uu, uv / root(uu * vv)
    free = x.size - 2
    t = r * np.sqrt(free / ((1.0 - r) * (1.0 + r)))
    error = np.sqrt((1.0 - r * r) * vv / uu / free)
    return Line(slope, np.mean(y) - slope * np.mean(x), r, 2.0 * sc.stdtr(free * 1.0, -np.abs(t)), error)
