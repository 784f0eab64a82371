"""Running extrema and the like: one place instead of what every trip compared, and the same adjoints."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import FORCED, Strategy

WITHOUT = Strategy(without=frozenset({"places"}))


def largest_squared(x):
    largest = x[0]
    for i in range(1, x.size):
        largest = max(largest, x[i])
    return largest * largest


def smallest_of_values(x):
    smallest = 3.0
    for i in range(x.size):
        smallest = min(math.sin(x[i]) * x[0], smallest)
    return smallest


def best_of_rows(x):
    total = 0.0
    for i in range(x.shape[0]):
        best, place = -1e30, -1
        for j in range(x.shape[1]):
            value = math.sin(x[i, j]) * x[i, 0]
            if value > best:
                best, place = value, j
        total += best * (place + 1)
    return total


def both_ways(x):
    """The inner loops may make no trip, and count down."""
    total = 0.0
    for i in range(x.size):
        most = 0.0
        for j in range(i):
            most = max(most, x[j] * x[i])
        for j in range(4, -1, -2):
            most = min(most, x[j] * x[i])
        total += most
    return total


def loaded_again(x):
    """As people write it, with the element twice; the second loop changes elements in between."""
    y = x * x
    best, place, least = x[0], 0, y[0]
    for i in range(1, x.size):
        if x[i] > best:
            best = x[i]
            place = i
    for i in range(1, x.size):
        before = y[i] < least
        y[i] *= 0.5
        if before:
            least = y[i]
    return best * best * (place + 1) + least * x[-1]


def rescaled(x):
    """The maximum is read before it is replaced: nothing is to be done with its place alone."""
    largest, total = x[0], 0.0
    for j in range(x.size):
        new = max(largest, x[j])
        total = total * math.exp(largest - new) + math.exp(x[j] - new)
        largest = new
    return largest + math.log(total)


def vector(*values):
    return np.array(values)


PROGRAMS = {
    "largest": (largest_squared, vector(0.3, -1.2, 2.0, 0.4, 1.9)),
    "ties": (largest_squared, vector(1.0, 2.0, 2.0, 0.5, 2.0)),
    "the first": (largest_squared, vector(5.0, 2.0, 5.0)),
    "one element": (largest_squared, vector(5.0)),
    "nan": (largest_squared, vector(1.0, np.nan, 2.0, 3.0)),
    "nan first": (largest_squared, vector(np.nan, 2.0, 3.0)),
    "values": (smallest_of_values, vector(0.7, 2.5, -1.0, 4.1)),
    "nothing replaces": (smallest_of_values, vector(4.0, 4.0)),
    "rows": (best_of_rows, np.cos(np.arange(20.0)).reshape(4, 5)),
    "both ways": (both_ways, np.sin(3.0 * np.arange(8.0))),
    "loaded again": (loaded_again, np.sin(5.0 * np.arange(6.0))),
    "loaded again, ties": (loaded_again, vector(1.0, 2.0, 2.0, 0.5, 2.0)),
    "rescaled": (rescaled, np.sin(5.0 * np.arange(6.0))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_without(name):
    function, x = PROGRAMS[name]
    wanted = adjit.value_and_grad(function, target="python", strategy=WITHOUT)(x)
    for strategy in (Strategy(), FORCED["readable"], FORCED["trips again"], FORCED["kept"]):
        found = adjit.value_and_grad(function, target="python", strategy=strategy)(x)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-13)
        np.testing.assert_equal(found[0], wanted[0])


def test_the_first_of_equals_gets_all():
    np.testing.assert_array_equal(adjit.grad(largest_squared, target="python")(vector(1.0, 2.0, 2.0)), [0.0, 4.0, 0.0])


def test_second_derivatives():
    x = PROGRAMS["both ways"][1]
    found, wanted = (adjit.hessian(both_ways, target="python", strategy=s)(x) for s in (Strategy(), WITHOUT))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("function", [largest_squared, both_ways])
def test_nothing_is_kept_but_places(function):
    source = adjit.grad(function).source("float64[:]")
    tapes = {word for word in source.replace("[", " ").split() if word.endswith("_tape")}
    assert "_place" in source
    assert all("_place" in tape for tape in tapes)


def test_an_element_that_a_branch_loads_again_is_that_before_it():
    source = adjit.grad(loaded_again).source("float64[:]")
    assert "best_place" in source
    assert "least_place" not in source


def test_what_reads_it_in_between_keeps_it():
    assert "_place" not in adjit.grad(rescaled).source("float64[:]")
