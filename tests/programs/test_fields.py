"""Programs of fields, as their people write them: right in all modes."""

import pytest

from tests.programs import more_fields
from tests.programs.fields import FIELDS
from tests.programs.harness import check
from tests.programs.rows import Row

ROWS = [*FIELDS.rows, *more_fields.FIELDS.rows]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.sampled(3, first=1)
@pytest.mark.parametrize("row", [row for row in ROWS if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)
