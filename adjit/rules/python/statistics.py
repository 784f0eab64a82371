"""What Python's `statistics` makes of samples, as ordinary Python.

In: lists or arrays of numbers. Out: a number. Calls of the library are elaborated as calls of these.

    statistics.stdev(xs)      the body of `stdev`, inlined

Sums are those of floats, in the order of the items, where the library adds fractions; they differ by rounding. Too few
items raise ValueError, of which StatisticsError is one.
"""

from __future__ import annotations

import math
from typing import Any


def mean(data: Any) -> Any:
    items = list(data)
    if len(items) < 1:
        raise ValueError("mean requires at least one data point")
    return sum(items) / len(items)


def fmean(data: Any, weights: Any = None) -> Any:
    items = list(data)
    if len(items) < 1:
        raise ValueError("fmean requires at least one data point")
    if weights is None:
        return sum(items) / len(items)
    shares = list(weights)
    if len(shares) != len(items):
        raise ValueError("data and weights must be the same length")
    return sum([w * v for w, v in zip(shares, items, strict=False)]) / sum(shares)


def geometric_mean(data: Any) -> Any:
    return math.exp(fmean([math.log(v) for v in data]))


def harmonic_mean(data: Any, weights: Any = None) -> Any:
    items = list(data)
    if weights is None:
        return len(items) / sum([1.0 / v for v in items])
    shares = list(weights)
    return sum(shares) / sum([w / v for w, v in zip(shares, items, strict=False)])


def median(data: Any) -> Any:
    items = sorted(data)
    count = len(items)
    if count < 1:
        raise ValueError("no median for empty data")
    return items[count // 2] if count % 2 == 1 else (items[count // 2 - 1] + items[count // 2]) / 2


def median_low(data: Any) -> Any:
    items = sorted(data)
    if len(items) < 1:
        raise ValueError("no median for empty data")
    return items[(len(items) - 1) // 2]


def median_high(data: Any) -> Any:
    items = sorted(data)
    if len(items) < 1:
        raise ValueError("no median for empty data")
    return items[len(items) // 2]


def squares_about(items: Any, center: Any) -> Any:
    return sum([(v - center) ** 2 for v in items])


def pvariance(data: Any, mu: Any = None) -> Any:
    items = list(data)
    if len(items) < 1:
        raise ValueError("pvariance requires at least one data point")
    return squares_about(items, mean(items) if mu is None else mu) / len(items)


def variance(data: Any, xbar: Any = None) -> Any:
    items = list(data)
    if len(items) < 2:
        raise ValueError("variance requires at least two data points")
    return squares_about(items, mean(items) if xbar is None else xbar) / (len(items) - 1)


def pstdev(data: Any, mu: Any = None) -> Any:
    return math.sqrt(pvariance(data, mu))


def stdev(data: Any, xbar: Any = None) -> Any:
    return math.sqrt(variance(data, xbar))


def covariance(x: Any, y: Any) -> Any:
    first, second = list(x), list(y)
    if len(first) != len(second):
        raise ValueError("covariance requires that both inputs have same number of data points")
    if len(first) < 2:
        raise ValueError("covariance requires at least two data points")
    mx, my = mean(first), mean(second)
    return sum([(a - mx) * (b - my) for a, b in zip(first, second, strict=False)]) / (len(first) - 1)


def correlation(x: Any, y: Any) -> Any:
    first, second = list(x), list(y)
    return covariance(first, second) / math.sqrt(variance(first) * variance(second))


OF_STATISTICS = (
    mean, fmean, geometric_mean, harmonic_mean, median, median_low, median_high, pvariance, variance, pstdev, stdev,
    covariance, correlation,
)  # fmt: skip
