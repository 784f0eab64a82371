"""Products that are added to matrices: term by term, in order, whatever lies side by side in memory."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.products import in_tiles, suits_tiles
from adjit.runtime.library import add_product, fused_add_product, fused_subtract_product, subtract_product, workspace


@njit
def added(out, left, right):
    add_product(out, left, right)


@njit
def taken_off(out, left, right):
    subtract_product(out, left, right)


@njit
def fused(out, left, right):
    fused_add_product(out, left, right)


@njit
def fused_off(out, left, right):
    fused_subtract_product(out, left, right)


def laid_out(matrix, order):
    """The matrix as a part of a larger one, with its rows or columns side by side, or with neither."""
    m, n = matrix.shape
    whole = np.zeros((2 * m + 1, 3 * n + 1), matrix.dtype, order=order if order in "CF" else "C")
    part = whole[::2, ::3][:m, :n] if order == "A" else whole[:m, :n]
    part[:] = matrix
    return part


# tiles are of 6, 3, 2 and 1 rows, 8, 4 and fewer columns (in single precision 16, 8 and fewer); 256 terms are one panel
SIZES = [
    (6, 8, 3), (1, 1, 1), (13, 21, 5), (9, 35, 20), (7, 12, 300), (0, 4, 3), (4, 0, 3), (5, 7, 0), (3, 3, 64),
    (11, 6, 2), (4, 2, 270), (29, 19, 260), (24, 8, 3),
]  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("m, n, count", SIZES)
def test_each_element_is_added_up_in_order(m, n, count, kind):
    draw = np.random.default_rng(m + n)
    given = [draw.normal(size=shape).astype(kind) for shape in ((m, n), (m, count), (count, n))]
    for sign, compiled, plain in ((1, added, add_product), (-1, taken_off, subtract_product)):
        expected = given[0].copy()
        for k in range(count):
            expected += kind(sign) * np.outer(given[1][:, k], given[2][k])
        for orders in itertools.product("CFA", repeat=3):
            out, left, right = map(laid_out, given, orders)
            compiled(out, left, right)
            np.testing.assert_array_equal(out, expected)
        out = given[0].copy()
        plain(out, *given[1:])
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("m, n, count", [(6, 8, 3), (13, 21, 5), (3, 5, 64)])
def test_fused_ones_round_a_product_and_its_sum_once(m, n, count):
    draw = np.random.default_rng(m + n)
    start, left, right = (draw.normal(size=shape) for shape in ((m, n), (m, count), (count, n)))
    for sign, compiled, plain in ((1, fused, fused_add_product), (-1, fused_off, fused_subtract_product)):
        expected = start.copy()
        for i, j, k in np.ndindex(m, n, count):
            term = Fraction(left[i, k]) * Fraction(right[k, j])
            expected[i, j] = float(Fraction(expected[i, j]) + sign * term)
        out = start.copy()
        compiled(out, left, right)
        np.testing.assert_array_equal(out, expected)
        out = start.copy()
        plain(out, left, right)
        np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_elements_around_a_part_stay_as_they_are():
    whole = np.full((9, 30), 7.0)
    added(whole[1:8, 2:25], np.ones((7, 4)), np.ones((4, 23)))
    assert np.all(whole[1:8, 2:25] == 11.0)
    whole[1:8, 2:25] = 7.0
    assert np.all(whole == 7.0)


# ------------------------------------------------------------------------------------------------ in the place of BLAS


@njit(pipeline_class=GeneratedCompiler)
def stored(out, left, right, left_turned, right_turned):
    in_tiles(out, left, right, left_turned, right_turned)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("m, n, count", [(6, 8, 3), (13, 21, 5), (29, 35, 300), (24, 9, 513), (1, 1, 1), (5, 7, 256)])
def test_products_in_tiles(m, n, count, kind):
    """What was in the memory before says nothing. As in BLAS, a product and its sum round once."""
    draw = np.random.default_rng(m + n)
    left, right = draw.normal(size=(m, count)).astype(kind), draw.normal(size=(count, n)).astype(kind)
    expected = np.zeros((m, n), kind)
    for k in range(count):
        expected += np.outer(left[:, k], right[k])
    for turned in itertools.product((0, 1), repeat=2):
        given = [np.ascontiguousarray(a.T if flag else a) for a, flag in zip((left, right), turned, strict=True)]
        out = np.full((m, n), np.nan, kind)
        stored(out, *given, *turned)
        bound = np.finfo(kind).eps * count * np.max(np.abs(left) @ np.abs(right))
        np.testing.assert_allclose(out, expected, rtol=0.0, atol=bound)


@njit(pipeline_class=GeneratedCompiler)
def products(a, b):
    return workspace.dot(a, b), workspace.dot(a, b.copy().T.copy().T), workspace.dot(a.T.copy().T, b)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "m, n, count", [(24, 256, 200), (64, 100, 170), (65, 100, 170), (23, 300, 170), (200, 16, 400)]
)
def test_products_that_are_large_enough(m, n, count, kind):
    draw = np.random.default_rng(n)
    a, b = draw.normal(size=(m, count)).astype(kind), draw.normal(size=(count, n)).astype(kind)
    a[1, 2], b[3, 4] = np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = a @ b
        for found in products(a, b):
            np.testing.assert_allclose(found, expected, rtol=2e-4 if kind is np.float32 else 1e-11, atol=1e-4)


def test_which_products_are_made_in_tiles():
    suits = suits_tiles.py_func if hasattr(suits_tiles, "py_func") else suits_tiles
    assert suits(192, 48, 192, False)
    assert suits(48, 192, 192, True)
    assert not suits(192, 192, 48, True)
    assert not suits(16, 1000, 200, False)
    assert not suits(1000, 1000, 1000, False)
    assert not suits(20, 20, 20, False)
