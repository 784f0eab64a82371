"""Variables that an expression names in a comprehension: they are those of the function around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import Unsupported
from tests.programs.harness import check


def running_sum(x):
    total = 0.0
    sums = [total := total + v for v in x]
    return total * sums[1]


def running_product(x):
    total = 1.0
    products = [total := total * v for v in x if v > 0.5]
    return total + sum(products)


def in_a_generator(x):
    last = 0.0
    total = sum((last := v * 2.0) + last for v in x)
    return total * last


def in_a_test(x):
    square, count = 0.0, 0
    found = [square for v in x if (square := v * v) > 0.3]
    for v in x:
        count += v > 0.5
    return square * len(found) + found[0] * count


def in_a_comprehension_of_its_own(x):
    total = 0.0
    table = [[(total := total + a * b) for b in x[:2]] for a in x]
    return total * table[1][1]


def not_named_before(x):
    sums = [(twice := v * 2.0) + twice for v in x]
    return sums[0] * twice


def all_of_them(x):
    total = running_sum(x) + running_product(x) + in_a_generator(x)
    return total + in_a_test(x) + in_a_comprehension_of_its_own(x) + not_named_before(x)


@pytest.mark.parametrize(
    "program",
    [running_sum, running_product, in_a_generator, in_a_test, in_a_comprehension_of_its_own, not_named_before],
)
def test_program(program: Callable[..., Any]) -> None:
    check(program, lambda: (np.array([0.7, 1.1, -0.4, 0.9]),), (0,), second=False)


def test_compiled() -> None:
    check(all_of_them, lambda: (np.array([0.7, 1.1, -0.4, 0.9]),), (0,), second=False, target="cpu")


def test_a_search_that_names_what_it_finds_is_refused() -> None:
    def found(x):
        hit = 0.0
        if any((hit := v) > 1.0 for v in x):
            return hit * 2.0
        return hit

    with pytest.raises(Unsupported, match="any of a generator that changes a variable"):
        adjit.grad(found, target="python")(np.array([0.7, 1.1]))
