"""Sets of columns as numbers, in a table of unions: what the pattern of a Jacobian is found with.

In: two sets. Out: their union, which is an earlier number where there is one for it.

    0                  the empty set
    1 ... columns      the sets of one column
    from there on      the union of the two in its row of the table, which have lower numbers

The first row of the table counts its rows; where it is too short the count goes on, and the caller makes a longer one.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit
def united(table: Any, left: int, right: int) -> int:
    """The union of two sets."""
    if left == right or right == 0:
        return left
    if left == 0:
        return right
    found = table[0, 0]
    if found < table.shape[0]:
        table[found, 0] = left
        table[found, 1] = right
    table[0, 0] = found + 1
    return found  # type: ignore[no-any-return]


@njit
def united_all(table: Any, sets: Any) -> int:
    """The union of all sets in an array."""
    found = 0
    for one in sets.flat:
        found = united(table, found, one)
    return found
