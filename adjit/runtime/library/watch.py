"""How far a long sweep is, and whether it is to be left: what is written and read while compiled code runs.

In: a loop by its line, and the trip that it has made. Out: whether no further one is wanted.

    for i in range(n): ...; if is_stopped(12, False, i, n): break
"""

from __future__ import annotations

import numpy as np

# whether to leave; the line of the outermost loop, whether it is one of the reverse sweep, its trip, and of how many
STATE = np.zeros(5, np.int64)
QUIET = -1  # the line of a loop that says nothing


def is_stopped(line: int, is_reverse: bool, trip: int, trips: int) -> bool:
    """Says which trip of which loop has been made; whether the loop is to be left."""
    if line != QUIET:
        STATE[1:] = line, is_reverse, trip + 1, trips
    return bool(STATE[0])
