"""What calls with stores inside expressions and conditions give, and the derivatives of that."""

import pytest

from tests.programs.harness import check
from tests.programs.order import ORDER
from tests.programs.rows import Row

COMPILED = ("aug_gather_mul", "while_else")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", ORDER.rows, ids=lambda row: row.name)
def test_order(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second)


@pytest.mark.parametrize("row", [row for row in ORDER.rows if row.name in COMPILED], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu")
