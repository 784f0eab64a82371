"""Sums in lanes that take four terms at once: the same bits, whatever number of terms, and only of plain products."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import Strategy

WITHOUT = Strategy(without=frozenset({"steps"}))


def attention(queries, keys, values):
    n, d = queries.shape
    scores = np.empty(n)
    total = 0.0
    for i in range(n):
        largest = -np.inf
        for j in range(n):
            s = 0.0
            for k in range(d):
                s += queries[i, k] * keys[j, k]
            scores[j] = s / math.sqrt(d)
            largest = max(largest, scores[j])
        weight = 0.0
        for j in range(n):
            scores[j] = math.exp(scores[j] - largest)
            weight += scores[j]
        for k in range(d):
            out = 0.0
            for j in range(n):
                out += scores[j] * values[j, k]
            out /= weight
            total += out * out
    return total


def distances(queries, keys, values):
    """What is added up is no product with one factor for all lanes."""
    n, d = queries.shape
    scores = np.empty(n)
    total = 0.0
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                s += math.sin(queries[i, k] - keys[j, k])
            scores[j] = s
        for k in range(d):
            out = 0.0
            for j in range(n):
                out += math.exp(scores[j] - values[j, k])
            total += out
    return total


def derived(function, strategy=None):
    options = {} if strategy is None else {"strategy": strategy}
    return adjit.value_and_grad(function, wrt=("queries", "keys", "values"), **options)


TYPES = "float64[:, :], float64[:, :], float64[:, :]"
# the four steps of a sum in lanes
FOUR = re.compile(r"for \w+ in range\(0, whole\w*, 4\):")


def test_sums_of_products_take_four_terms_at_once():
    text = derived(attention).source(TYPES, tuned=True)
    assert len(FOUR.findall(text)) >= 2
    # what is left over goes one by one
    assert len(re.findall(r"in range\(whole\w*, ", text)) == len(FOUR.findall(text))
    assert not FOUR.search(derived(attention, WITHOUT).source(TYPES, tuned=True))


def test_other_sums_go_term_by_term():
    assert not FOUR.search(derived(distances).source(TYPES, tuned=True))


@pytest.mark.parametrize(("n", "d"), [(0, 3), (5, 0), (3, 1), (17, 3), (33, 4), (70, 5), (65, 8), (20, 11)])
def test_bits_are_those_of_one_term_at_a_time(n, d):
    g = np.random.default_rng(n + d)
    given = [g.normal(size=(n, d)) for _ in range(3)]
    found, expected = (derived(attention, strategy)(*given) for strategy in (None, WITHOUT))
    assert found[0] == expected[0]
    for bar, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(bar, other)
