"""Products of matrices in lanes are calls: the same value to the bit, and only where trips can be parted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.api import functions
from adjit.transform.strategy import Strategy
from tests.benchmarked import kinds

WITHOUT = Strategy(without=frozenset({"products"}))


attention = kinds.attention.py_func


def residuals(queries, keys, values):
    """Terms that are taken off, and a factor of the adjoint that is the same for all of them."""
    n, d = queries.shape
    total = 0.0
    for i in range(n):
        for j in range(keys.shape[0]):
            r = values[i, 0]
            for k in range(d):
                r -= queries[i, k] * keys[j, k]
            total += math.sin(r)
    return total


def layers(queries, keys, values):
    n, d = queries.shape
    m = keys.shape[0]
    hidden = np.empty(m)
    total = 0.0
    for i in range(n):
        for j in range(m):
            a = 0.0
            for k in range(d):
                a += queries[i, k] * keys[j, k]
            hidden[j] = math.tanh(a)
        for k in range(d):
            a = 0.1
            for j in range(m):
                a += hidden[j] * values[j, k]
            total += math.sin(a)
    return total


def heads(queries, keys, values):
    """Two products of one loop, of parts of arrays."""
    n, d = queries.shape
    total = 0.0
    for i in range(n):
        for half in range(2):
            for j in range(keys.shape[0]):
                s = 0.0
                t = 1.0
                for k in range(d // 2):
                    s += queries[i, k] * keys[j, k]
                for k in range(d // 2):
                    t += queries[i, k] * values[j, k]
                total += math.cos(s + half * t)
    return total


def matrices(queries, keys, values):
    """Plain loops of a product, which are faster along other trips but for that."""
    n, d = queries.shape
    m = keys.shape[0]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(d):
                c[i, j] += queries[i, k] * keys[j, k]
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += math.sin(c[i, j]) * values[j, 0]
    return total


def biased(queries, keys, values):
    """A bias in front of the weights, and counters that begin at one."""
    n, d = queries.shape
    m = keys.shape[0]
    hidden = np.empty(m)
    total = 0.0
    for i in range(n):
        for j in range(1, m):
            a = keys[j, 0]
            for k in range(d - 1):
                a += queries[i, k] * keys[j, k + 1]
            hidden[j] = math.tanh(a)
        for k in range(1, d):
            a = 0.1
            for j in range(1, m):
                a += hidden[j] * values[j - 1, k]
            total += math.sin(a)
    return total


def distances(queries, keys, values):
    """What is added up is no product."""
    n, d = queries.shape
    total = 0.0
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                s += math.sin(queries[i, k] - keys[j, k])
            total += math.exp(-s) * values[j, 0]
    return total


def in_place(queries, keys, values):
    """A trip reads what the one before has stored."""
    n, d = queries.shape
    x = np.empty(d)
    total = 0.0
    for i in range(n):
        for k in range(d):
            x[k] = queries[i, k]
        for j in range(d):
            s = 0.0
            for k in range(d):
                s += keys[j, k] * x[k]
            x[j] = math.tanh(s) * values[j, 0]
        total += x[d - 1]
    return total


def running(queries, keys, values):
    """A sum goes on from trip to trip."""
    n, d = queries.shape
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(keys.shape[0]):
            for k in range(d):
                s += queries[i, k] * keys[j, k]
            total += math.sin(s) * values[j, 0]
    return total


def from_the_end(queries, keys, values):
    """The first index is one below zero, or that of a neighbouring trip."""
    n, d = queries.shape
    total = 0.0
    for i in range(n - 1):
        for j in range(keys.shape[0]):
            s = values[j, 0]
            t = 0.0
            for k in range(d):
                s += queries[i, k] * keys[j, k - 1]
            for k in range(d):
                t += queries[i + 1, k] * keys[j, k]
            total += math.sin(s - t)
    return total


def triangular(queries, keys, values):
    n, d = queries.shape
    total = 0.0
    for i in range(n):
        for j in range(d):
            s = values[j, 0]
            for k in range(j):
                s += queries[i, k] * keys[j, k]
            total += math.sin(s)
    return total


def derived(function, strategy=None, **options):
    options |= {} if strategy is None else {"strategy": strategy}
    return adjit.value_and_grad(function, wrt=("queries", "keys", "values"), **options)


TYPES = "float64[:, :], float64[:, :], float64[:, :]"
COUNTS = {attention: (6, 0), residuals: (2, 1), layers: (6, 0), heads: (6, 0), matrices: (3, 0), biased: (6, 0)}
PARTED, WHOLE = list(COUNTS), [distances, in_place, running, from_the_end, triangular]


@pytest.mark.parametrize("function", PARTED)
def test_products_are_calls(function):
    text = derived(function).source(TYPES, tuned=True)
    assert (text.count("add_product("), text.count("subtract_product(")) == COUNTS[function]
    assert "_product(" not in derived(function, WITHOUT).source(TYPES, tuned=True)


@pytest.mark.parametrize("function", PARTED)
def test_products_are_fused_in_a_derivative_alone(function):
    assert "fused_add_product(" in derived(function).source(TYPES, tuned=True)
    primal = functions.value_of(function, functions.make_options({}))
    assert "fused_" not in primal.source(TYPES, tuned=True)


@pytest.mark.parametrize("function", WHOLE)
def test_other_loops_stay_as_they_are(function):
    text = derived(function).source(TYPES, tuned=True)
    assert "for lane in range(lanes):" in text
    assert "_product(" not in text


def test_blocks_that_products_alone_look_at_are_not_copied():
    text = derived(matrices).source(TYPES, tuned=True)
    assert "add_product(c[i0:i1].T, keys[:, :d], queries[i0:i1].T)" in text
    assert "_turned" not in text


@pytest.mark.parametrize("function", [*PARTED, *WHOLE])
@pytest.mark.parametrize(("n", "d", "order"), [(0, 4, "C"), (1, 2, "C"), (5, 5, "F"), (70, 6, "C"), (70, 6, "F")])
def test_values_keep_their_bits(function, n, d, order):
    draw = np.random.default_rng(n + d)
    rows = max(n, d)
    given = [np.array(draw.normal(size=shape), order=order) for shape in ((n, d), (rows, d), (rows, d))]
    value, gradient = derived(function, vectormath=False)(*given)
    expected, wanted = derived(function, WITHOUT, vectormath=False)(*given)
    assert value == expected
    for found, other in zip(gradient, wanted, strict=True):
        # sums over the lanes have no order
        np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-13)
