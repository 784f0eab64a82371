"""Containers at run time: right in all modes, as Python has their order; what cannot be known is refused."""

import pytest

from tests.programs.containers import CONTAINERS
from tests.programs.harness import check
from tests.programs.rows import Row


@pytest.mark.parametrize("row", CONTAINERS.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in CONTAINERS.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)
