"""Programs that are easily differentiated wrong."""

import pytest

from tests.programs.harness import check
from tests.programs.more_traps import MORE_TRAPS
from tests.programs.rows import Row


@pytest.mark.parametrize("row", MORE_TRAPS.rows, ids=lambda row: row.name)
def test_trap(row: Row) -> None:
    try:
        check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)
    except AssertionError as fault:
        fault.add_note(row.why)
        raise
