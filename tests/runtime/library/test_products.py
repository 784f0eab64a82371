"""Products that are added to matrices: term by term, in order, whatever lies side by side in memory."""

import itertools

import numpy as np
import pytest
from numba import njit

from adjit.runtime.library import add_product, subtract_product


@njit
def added(out, left, right):
    add_product(out, left, right)


@njit
def taken_off(out, left, right):
    subtract_product(out, left, right)


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
    (11, 6, 2), (4, 2, 270),
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


def test_elements_around_a_part_stay_as_they_are():
    whole = np.full((9, 30), 7.0)
    added(whole[1:8, 2:25], np.ones((7, 4)), np.ones((4, 23)))
    assert np.all(whole[1:8, 2:25] == 11.0)
    whole[1:8, 2:25] = 7.0
    assert np.all(whole == 7.0)
