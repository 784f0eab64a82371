"""Every row of the table of rules as numba compiles it: values and tangents, many rows in one function.

Uncompiled they are checked against differences and NumPy (test_table.py). What numba makes of the text has to give the
same, and its own functions the numbers that NumPy's give: `make test-long` has all of them, `make test` a few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit
from tests.rules.rows import Row
from tests.rules.table import TABLE
from tests.rules.test_table import SLOW, sampled

TOGETHER = 8  # a compilation takes its time, and more of them in one take more than twice as long
# draws are numba's own
ROWS = [row for row in TABLE if "effect" not in row.tags and "long" not in row.tags and row.name not in SLOW]


def added_up(rows: list[Row]) -> Any:
    functions = tuple(row.function for row in rows)

    def total(points):
        found = 0.0
        for function, point in zip(functions, points):
            found += np.sum(function(*point) * 0.7)
        return found

    return total


def direction(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.full_like(value, 0.3) if value.dtype.kind == "f" else np.zeros_like(value)
    return 0.3 if isinstance(value, float) else 0


@pytest.mark.sampled(40, first=20)
@pytest.mark.parametrize("first", range(0, len(ROWS), TOGETHER))
def test_rows_compiled(first: int) -> None:
    rows = ROWS[first : first + TOGETHER]
    names = ", ".join(row.name for row in rows)
    points = tuple(sampled(row)() for row in rows)
    tangents = tuple(tuple(map(direction, point)) for point in points)
    total = added_up(rows)
    with np.errstate(all="ignore"):
        right = total(points)
        as_read = adjit.jvp(total, (points,), (tangents,), target="python")
        found = adjit.jvp(total, (points,), (tangents,))
    np.testing.assert_allclose(found[0], right, rtol=1e-9, err_msg=names)
    np.testing.assert_allclose(found, as_read, rtol=1e-8, err_msg=names)
