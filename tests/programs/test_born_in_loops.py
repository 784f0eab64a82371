"""Variables first assigned inside a loop: programs that read them afterwards, and those that never assign them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError
from tests.programs.born_in_loops import BORN
from tests.programs.harness import check
from tests.programs.rows import Row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", BORN.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active)


@pytest.mark.parametrize("row", [r for r in BORN.rows if r.compiled], ids=lambda row: row.name)
def test_compiled_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu")


def last_of_so_many(x: Any, n: Any) -> Any:
    for k in range(n):
        v = x * k
    return np.sum(v * v)


def last_of_none(x: Any) -> Any:
    for k in range(0):
        v = x * k
    return np.sum(v)


def test_a_loop_without_a_trip_assigns_nothing() -> None:
    x = np.array([0.3, -0.7, 1.1])
    derived = adjit.grad(last_of_so_many, target="python")
    np.testing.assert_allclose(derived(x, 3), 8.0 * x)
    with pytest.raises(UnboundLocalError):
        derived(x, 0)
    with pytest.raises(AdjitError, match="`v` is read before it is assigned"):
        adjit.grad(last_of_none, target="python")(x)


def test_nothing_is_kept_of_an_array_that_only_the_last_trip_hands_on() -> None:
    text = adjit.grad(last_of_so_many).source("float64[:], int64", tuned=True)
    assert "tape" not in text
    assert "np.empty(0)" not in text
