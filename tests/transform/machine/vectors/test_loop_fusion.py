"""Loops over one range that share arrays, in one: which, and that each number is what it was."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy

APART = Strategy(without=frozenset({"merge"}))
X = np.sin(np.arange(77.0)).reshape(11, 7)
W = np.cos(np.arange(77.0)).reshape(11, 7)
IMAGES = np.sin(np.arange(120.0)).reshape(2, 3, 4, 5)


def normalised(x, w):
    y = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return np.sum(w * y)


def softmax(x, w):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.sum(w * (e / e.sum(axis=1, keepdims=True)))


def of_images(x, w):
    return np.sum(w * (x - x.mean(axis=(0, 2, 3), keepdims=True)) ** 2)


def scaled(x, w):
    """The second loop of a trip waits for the sum of the first."""
    y = x / np.sum(x * x, axis=1).reshape((-1, 1))
    return np.sum(w * y * y)


def shifted(x, w):
    """The second loop reads what another trip of the first one has stored, or will store."""
    y, z = np.zeros(x.size), np.zeros(x.size)
    for i in range(x.size - 1):
        y[i] = x[i] * w[i]
    for i in range(x.size - 1):
        z[i] = y[i + 1] * y[i]
    return np.sum(z * z)


def overwritten(x, w):
    """What the second loop reads changes between the two."""
    y, z = x * w, np.zeros(x.size)
    for i in range(x.size):
        z[i] = y[i] * x[i]
    y[2] = x[0]
    for i in range(x.size):
        z[i] += y[i] * z[i]
    return np.sum(z * z)


def in_order(x, w):
    """A sum that keeps its order beside a map over the same array."""
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = x[i] * w[i]
    total = 0.0
    for i in range(x.size):
        total += x[i] * w[i]
    return total * np.sum(y * y)


def products_between(x, w):
    """The second nest reads what a product makes of what the first one stores."""
    y = x * w
    z = y @ w.T
    return np.sum(z @ y)


ROWS = [
    (normalised, X, W),
    (softmax, X, W),
    (scaled, X, W),
    (products_between, X, W),
    (of_images, IMAGES, IMAGES + 1.0),
]
VECTORS = [(f, X.ravel().copy(), W.ravel().copy()) for f in (shifted, overwritten, in_order)]


def source(function, *arguments, **options):
    return adjit.value_and_grad(function, wrt=(0, 1), **options).source(*arguments, tuned=True)


def loops(text):
    return len(re.findall(r"^ *for ", text, re.MULTILINE))


@pytest.mark.parametrize(("function", "x", "w"), [*ROWS, *VECTORS], ids=lambda o: getattr(o, "__name__", None))
def test_numbers(function, x, w):
    adjit.check_grads(function, (x, w), wrt=(0, 1), target="python", strategy=CHEAPEST)
    value, gradients = adjit.value_and_grad(function, wrt=(0, 1))(x, w)
    apart, wanted = adjit.value_and_grad(function, wrt=(0, 1), strategy=APART)(x, w)
    # LLVM may add up sums of array statements in another order, as the loop around them is another one
    np.testing.assert_allclose(value, apart, rtol=1e-13)
    for found, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "x", "w"), [ROWS[0], ROWS[1], ROWS[2], ROWS[4]], ids=lambda o: getattr(o, "__name__", None)
)
def test_fewer_loops(function, x, w):
    assert loops(source(function, x, w)) < loops(source(function, x, w, strategy=APART))


def test_a_nest_is_one_with_all_its_loops():
    """Nothing of it is done twice over all elements: four loops around the one product of two."""
    text = source(of_images, IMAGES, IMAGES + 1.0)
    assert len(re.findall(r"\n {16}for ", text)) < len(
        re.findall(r"\n {16}for ", source(of_images, IMAGES, IMAGES, strategy=APART))
    )


def test_what_waits_stays_apart():
    for function, x, w in VECTORS:
        forward = source(function, x, w).partition("# ---- reverse")[0]
        assert loops(forward) >= 2, function.__name__


def test_functions_share_a_loop_with_what_reads_them_alone():
    """The sum of exponentials is in their loop, the count of the greatest elements is not."""
    (body,) = re.findall(
        r"\n        for [^\n]*\n((?: {12}[^\n]*\n)*? {12}[^\n]*vectormath\.exp\((?:.|\n)*?)\n        (?! )",
        source(softmax, X, W, strategy=Strategy(without=frozenset({"functions"}))),
    )
    assert "reassociable_add" in body
    assert "==" not in body
