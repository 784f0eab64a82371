"""Programs of fields, as their people write them: right in all modes."""

import pytest

from tests.programs import more_fields
from tests.programs.fields import FIELDS
from tests.programs.harness import check, some
from tests.programs.rows import Row

ROWS = [*FIELDS.rows, *more_fields.FIELDS.rows]


@pytest.mark.parametrize("row", some(ROWS, 2))
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", some([row for row in ROWS if row.compiled], 2, 1))
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)
