"""Searches, samples and iterators of Python's library, and methods behind operators: value and gradient."""

import bisect
import heapq
import itertools
import operator
import statistics

import numpy as np
import pytest

import adjit

X = np.array([0.5, 1.5, 2.5, 0.7])
CUTS = [0.1, 0.6, 1.0, 2.0]


def searched(x):
    total = 0.0
    for v in x:
        total += v * bisect.bisect(CUTS, v) + bisect.bisect_left(x, 1.0, 0, 2) * v * v
    return total + bisect.bisect_right([3.0, 2.0, 1.0], -x[1], key=lambda u: -u) * x[0]


def kept_in_order(x):
    kept, backwards = [], []
    for v in x:
        bisect.insort(kept, v * v)
        bisect.insort_left(backwards, v, key=lambda u: -u)
    return sum(k * v for k, v in enumerate(kept)) + sum(k * v**3 for k, v in enumerate(backwards))


def searched_while_it_grows(x):
    kept = []
    for v in x:
        low, high = 0, len(kept)
        while low < high:
            middle = (low + high) // 2
            if kept[middle] < v:
                low = middle + 1
            else:
                high = middle
        kept.insert(low, v)
    return sum(k * v for k, v in enumerate(kept))


def ties_broken_by_a_count(x):
    count, heap = itertools.count(), []
    for v in x:
        heapq.heappush(heap, (int(v), next(count), v))
    total = 0.0
    while heap:
        rank, place, v = heapq.heappop(heap)
        total += v * (place + 1) * (rank + 2)
    return total


def counted_by_halves(x):
    steps = itertools.count(x[1], 0.5)
    return next(steps) * x[0] + next(steps) * x[2]


def beside_what_is_shorter(x):
    total = 0.0
    for a, b in itertools.zip_longest(x, x[1:]):
        total += a if b is None else a * b
    return total + sum(a * b for a, b in itertools.zip_longest([x[0]], [1.0, 2.0], fillvalue=x[3]))


def sifted(x):
    return sum(itertools.compress(x, [True, False, True, False])) + sum(itertools.filterfalse(lambda v: v > 1, x**2))


def asked_by_functions(x):
    big = [v for v in x if operator.truth(v > 0.6)]
    found = operator.indexOf(map(int, big), 2) * x[0] + operator.indexOf(itertools.count(), 3) * x[1]
    return found + operator.countOf((v > 0.6 for v in x), True) * x[2] ** 2 + operator.countOf("abca", "a") * x[3]


class Congruential:
    def __init__(self, seed):
        self.state = seed

    def __next__(self):
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return self.state / 2**31


def drawn_by_next(x):
    draws = Congruential(42)
    return sum(v * next(draws) for v in x)


def behind_operators(x):
    twice = [2 * v for v in x]
    best = max(range(len(twice)), key=twice.__getitem__)
    return twice[best] * twice.__len__() + x.__add__(1.0).sum() + x[0].__mul__(x[1])


def best_of(x):
    best, place = None, None
    for k in range(len(x)):
        if x[k] > 0.6 and (best is None or x[k] < best):
            best, place = x[k], k
    return best, place


def perhaps_in_a_tuple(x):
    best, place = best_of(x)
    pair = best_of(x[:1])
    return (0.0 if best is None else best * place * x[0]) + (x[1] if pair[0] is None else pair[0])


def of_samples(x):
    items = [v * v for v in x]
    spread = statistics.stdev(items) * statistics.pstdev(x) + statistics.variance(x, 1.0) / statistics.pvariance(items)
    middle = statistics.median(x) * statistics.median(items[:3]) + statistics.median_low(x) * statistics.median_high(x)
    means = statistics.mean(x) * statistics.fmean(x, [1, 2, 3, x[0]]) + statistics.geometric_mean(items)
    return spread + middle + means + statistics.harmonic_mean(x) + statistics.correlation(x, CUTS) * x[0]


def asked_whether_callable(x):
    def inner(v):
        return v

    class_of = Congruential
    draws = class_of(3)
    named = {"mean": x.mean, "sum": np.sum, "inner": inner, "none": None, "text": "C", "number": x[0], "draws": draws}
    return sum(k * x[k % 4] for k, one in enumerate(named.values()) if callable(one)) + callable(class_of)


PROGRAMS = [
    asked_whether_callable, searched, kept_in_order, searched_while_it_grows, ties_broken_by_a_count, counted_by_halves,
    beside_what_is_shorter, sifted, drawn_by_next, behind_operators, perhaps_in_a_tuple, of_samples,
    asked_by_functions,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), rel=1e-12)
    slopes = [(function(X + step) - function(X - step)) / 2e-6 for step in np.eye(4) * 1e-6]
    np.testing.assert_allclose(bar, slopes, rtol=1e-6, atol=1e-7)


def test_what_python_raises() -> None:
    for function, message in (
        (lambda x: statistics.stdev(x[:1]), "two data points"),
        (lambda x: x[0] * bisect.bisect(x, 1.0, -1), "lo must be"),
        (lambda x: x[0] * operator.indexOf(x, 9.0), "not in sequence"),
    ):
        for run in (function, adjit.grad(function, target="python")):
            with pytest.raises(ValueError, match=message):
                run(X)


def run_through_after_next(x):
    count = itertools.count()
    first = next(count)
    return sum(v * k for k, v in zip(count, x)) + first


def counted_down(x):
    return sum(v * k for k, v in zip(itertools.count(3, -1), x))


@pytest.mark.parametrize(
    ("function", "message"),
    [(run_through_after_next, "used in more than one place"), (counted_down, "not a positive literal")],
)
def test_refused(function, message) -> None:
    with pytest.raises(adjit.Unsupported, match=message):
        adjit.grad(function, target="python")(X)
