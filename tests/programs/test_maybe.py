"""What is None on some paths: right in all modes, and a TypeError where it is None and read, as in Python."""

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.maybe import MAYBE
from tests.programs.rows import Row


@pytest.mark.parametrize("row", MAYBE.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in MAYBE.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def largest_above(x, least):
    best = None
    for v in x:
        if v > least:
            best = v if best is None else max(best, v)
    return best * 2.0


def test_none_is_not_taken_for_a_number() -> None:
    x = np.array([0.5, 2.0, 1.0])
    gradient = adjit.grad(largest_above)
    assert gradient(x, 0.0).tolist() == [0.0, 2.0, 0.0]
    with pytest.raises(TypeError, match="`best` is None"):
        gradient(x, 5.0)


def first_above(x, least):
    for v in x:
        if v > least:
            return v
    return None


def test_result_that_is_none() -> None:
    gradient = adjit.grad(first_above, target="python")
    assert gradient(np.array([0.5, 2.0]), 1.0).tolist() == [0.0, 1.0]
    with pytest.raises(TypeError, match="the result is None"):
        gradient(np.array([0.5, 2.0]), 5.0)
