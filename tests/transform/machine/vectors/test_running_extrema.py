"""Running extrema are compared in any order and searched: the same bits, where nothing else is done with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy

WITHOUT = Strategy(without=frozenset({"search"}))


def greatest(x):
    most = x[0]
    for i in range(1, x.size):
        most = max(most, x[i])
    return most * most


def least(x):
    found = 3.0
    for i in range(x.size):
        found = min(found, x[i])
    return found * x[-1]


def range_of(x):
    low, high = x[0], x[0]
    for i in range(x.size):
        low = min(low, x[i])
        high = max(high, x[i])
    return high * high - low


def place_and_neighbour(x):
    """What else is replaced where the greatest is, in a branch; the loop ends before the last element."""
    best, place, after = -1e30, -1, 0.5
    for i in range(x.size - 1):
        value, neighbour = x[i], x[i + 1]
        if value > best:
            best, place, after = value, i, neighbour
    return best * after + place


def conditional(x):
    most, place = -np.inf, 7
    for i in range(x.size):
        value = x[i]
        place = i if most < value else place
        most = value if most < value else most
    return most * place


def norm(x):
    """The number is worked out again in the search."""
    most = 0.0
    for i in range(1, x.size):
        most = max(most, abs(x[i] - x[i - 1]))
    return most


def of_exponentials(x):
    """In strips, whose functions come first."""
    most, place = -1.0, 0
    for i in range(x.size):
        value = math.exp(x[i])
        if value > most:
            most, place = value, i
    return most + 0.5 * place


def stored_beside(x):
    """What a trip stores comes first, too."""
    y = np.ones(x.size)
    total = 0.0
    for k in range(3):
        most = 0.25
        for i in range(2, x.size):
            y[i] = x[i] * (k + 1)
            most = max(most, x[i])
        total += most * y[x.size // 2]
    return total


SEARCHED = [
    greatest, least, range_of, place_and_neighbour, conditional, norm, of_exponentials, stored_beside
]  # fmt: skip
DRAWN = np.random.default_rng(5).normal(size=500)
ZEROS = np.where(DRAWN > 0.0, 0.0, -0.0)
DATA = {
    "drawn": DRAWN,
    "ascending": np.sort(DRAWN),
    "descending": np.sort(DRAWN)[::-1].copy(),
    "ties": np.round(DRAWN),
    "zeros": ZEROS,
    "zeros, the other first": -ZEROS,
    "nan": np.where(DRAWN > 0.9, np.nan, DRAWN),
    "nan first": np.concatenate(([np.nan], DRAWN)),
    "nan alone": np.full(40, np.nan),
    "infinite": np.where(DRAWN > 0.9, np.inf, np.where(DRAWN < -0.9, -np.inf, DRAWN)),
    "lowest alone": np.full(40, -np.inf),
    **{f"{n} elements": DRAWN[:n] for n in (1, 2, 3, 4, 5, 31, 32, 33, 65)},
}


def bits(result):
    value, bar = result
    return np.float64(value).tobytes(), bar.tobytes()


@pytest.mark.parametrize("function", SEARCHED, ids=lambda f: f.__name__)
def test_the_same_bits(function):
    fast, slow = (adjit.value_and_grad(function, strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    for name, x in DATA.items():
        assert bits(fast(x)) == bits(slow(x)), name
        assert fast(x)[0] == pytest.approx(function(x), rel=1e-13, nan_ok=True), name
    text = fast.source(DRAWN, tuned=True)
    assert "while" in text
    assert "reassociable_m" in text
    assert "while" not in slow.source(DRAWN, tuned=True)


def test_tangents_and_single_precision():
    x, v = (array.astype(np.float32) for array in (DRAWN, np.cos(DRAWN)))
    fast, slow = (adjit.jvp(place_and_neighbour, (x,), (v,), strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    assert fast == slow
    fast, slow = (adjit.value_and_grad(range_of, strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    value, bar = fast(x)
    assert bar.dtype == np.float32
    assert bits((value, bar)) == bits(slow(x))


def rows(A):
    """A row after another; without elements none is greater."""
    total = 0.0
    for i in range(A.shape[0]):
        most = -1.0
        for j in range(A.shape[1]):
            most = max(most, abs(A[i, j] - A[0, j]))
        total += math.sin(most)
    return total


def test_rows_of_any_length():
    fast, slow = (adjit.value_and_grad(rows, strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    for shape in ((0, 5), (3, 0), (1, 1), (4, 3), (5, 70), (70, 5)):
        A = np.resize(DRAWN, shape)
        assert bits(fast(A)) == bits(slow(A)), shape
    assert "while" in fast.source(DRAWN.reshape(5, 100), tuned=True)


# ---------------------------------------------------------------------------------------------- what stays as it is


def other_first(x):
    """Here nan comes in, and goes again."""
    most = x[0]
    for i in range(x.size):
        most = max(x[i], most)
    return most


def last_of_equals(x):
    most, place = x[0], 0
    for i in range(x.size):
        value = x[i]
        if value >= most:
            most, place = value, i
    return most * place


def second(x):
    """The second greatest is what the greatest was."""
    most, other = -1e30, -1e30
    for i in range(x.size):
        value = x[i]
        other = most if value > most else max(other, value)
        most = value if value > most else most
    return most * other


def handed_down(x):
    most, before = -1e30, 0.0
    for i in range(x.size):
        value = x[i]
        if value > most:
            before, most = most, value
    return most * before


def kept_so_far(x):
    y = np.empty(x.size)
    most = x[0]
    for i in range(x.size):
        most = max(most, x[i])
        y[i] = most
    return np.sum(y * y)


def beside_a_sum(x):
    most, total = x[0], 0.0
    for i in range(x.size):
        most = max(most, x[i])
        total += x[i] * x[i]
    return most * total


def overwritten(x):
    """What a trip compares is not there any more when it is searched."""
    y = x.copy()
    most = -1e30
    for i in range(y.size - 1):
        most = max(most, y[i])
        y[i + 1] = 0.5 * y[i + 1] + y[i]
        y[i] = 0.0
    return most * y[-1]


def fused(x):
    """Where a product is added to, one loop may round it and the other one not."""
    most = 0.0
    for i in range(1, x.size):
        most = max(most, abs(0.3 * x[i] - x[i - 1]))
    return most * most


def few(x):
    most = x[0]
    for i in range(1, 6):
        most = max(most, x[i])
    return most * most


@pytest.mark.parametrize(
    "function",
    [other_first, last_of_equals, second, handed_down, kept_so_far, beside_a_sum, overwritten, fused, few],
    ids=lambda f: f.__name__,
)
def test_what_is_not_searched(function):
    fast, slow = (adjit.value_and_grad(function, strategy=strategy) for strategy in (CHEAPEST, WITHOUT))
    assert fast.source(DRAWN, tuned=True) == slow.source(DRAWN, tuned=True)
    value, bar = fast(DRAWN[:40])
    assert value == pytest.approx(function(DRAWN[:40]), rel=1e-13)
    assert np.isfinite(bar).all()
