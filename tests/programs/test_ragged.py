"""Lists whose items have lengths of their own: right in all modes, and a ValueError where they have to be one array."""

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.ragged import RAGGED
from tests.programs.rows import Row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", RAGGED.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in RAGGED.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def as_one_array(x, ends):
    parts = []
    for k in range(ends.size):
        parts.append(x[: ends[k]])
    return np.sum(np.array(parts) ** 2)


def test_one_array_of_different_lengths() -> None:
    gradient = adjit.grad(as_one_array, wrt="x", target="python")
    x = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(gradient(x, np.array([2, 2])), [4.0, 8.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="different lengths"):
        gradient(x, np.array([2, 3]))


def windows(x, n):
    parts = []
    for k in range(x.size - n + 1):
        parts.append(x[k : k + n] * k)
    return np.sum(np.array(parts) ** 2)


def states(x, n):
    path = [x]
    for _ in range(n):
        path.append(np.sin(path[-1]) + x)
    return sum(np.sum(one) for one in path)


@pytest.mark.parametrize("function", [windows, states])
def test_items_of_one_shape_have_no_extents_of_their_own(function) -> None:
    source = adjit.grad(function, wrt="x").source(np.ones(5), 3)
    assert "np.int64" not in source
