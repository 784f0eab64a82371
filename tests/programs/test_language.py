"""Every feature of the language: the value and all derivatives of each program of the table."""

import pytest

from tests.programs.harness import check
from tests.programs.rows import Row
from tests.programs.table import TABLE

COMPILED = [row for row in TABLE if row.compiled]


def run(row: Row, target: str, second: bool) -> None:
    check(
        row.function,
        row.arguments,
        row.active,
        second=second,
        single=row.single,
        target=target,
        expected=row.expected,
        tolerance=row.tolerance,
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    run(row, "python", row.second)


# numba types products and solves of each layout anew, which takes it seconds
SLOW = ("results_of_libraries_turned_and_flattened", "products_of_parts_of_three_axes", "products_of_expressions")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.name in SLOW else []) for row in COMPILED],
)
def test_compiled(row: Row) -> None:
    # second derivatives take numba seconds to compile, and run the same text
    run(row, "cpu", second=False)


def test_names_are_unique() -> None:
    names = [row.name for row in TABLE]
    assert sorted(set(names)) == sorted(names)
