"""Adjoints of products with vectors pass once over each matrix: outer products are not arrays of their own."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import Strategy
from tests.programs.harness import check

A = np.sin(np.arange(12.0)).reshape(3, 4)
SQUARE = np.cos(np.arange(9.0)).reshape(3, 3)


def bilinear(A, x, y):
    return x @ A @ y


def on_both_sides(A, x):
    return np.sum((A @ x @ A) ** 2)


def in_a_loop(A, x):
    for _ in range(3):
        x = np.tanh(A @ x)
    return np.dot(x, x)


def scaled(alpha, A, x):
    return np.sum((alpha * A @ x) ** 2)


def test_elements_of_an_outer_product_that_are_read_once_are_no_array():
    arguments = (0.5, A, np.arange(4.0))
    text = adjit.grad(scaled, wrt=(0, 1, 2)).source(*arguments, tuned=True)
    assert re.search(r"values_bar = \w+ \* x_item$", text, re.MULTILINE)
    assert not re.search(r"values_bar = workspace", text)
    check(scaled, lambda: (0.5, A.copy(), np.arange(4.0)), (0, 1, 2))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (bilinear, (A, np.arange(3.0), np.arange(1.0, 5.0))),
        (on_both_sides, (SQUARE, np.arange(3.0))),
        (in_a_loop, (SQUARE, np.arange(3.0))),
    ],
)
def test_one_pass_over_the_gradient_of_a_matrix(function, arguments):
    # of rows one by one, and not of four at once and the rest
    by_rows = Strategy(without=frozenset({"jam"}))
    text = adjit.grad(function, strategy=by_rows).source(*arguments, tuned=True)
    assert len(re.findall(r"^ +A_bar\[i, j\] \+?= ", text, re.MULTILINE)) == 1
    assert "outer" not in text
    assert not re.search(r"workspace.empty\(\(", text.replace("_tape = workspace", ""))
    check(function, lambda: tuple(a.copy() for a in arguments), tuple(range(len(arguments))))
