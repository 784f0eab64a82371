"""Elementary functions of the rows of an array, each less a number, as the exponentials of a softmax are.

In: a function of one float. Out: one of rows.

    exp_of_rows(e, x, largest)          e[i, j] = exp(x[i, j] - largest[i]) for all i and j

Compiled code calls them for some rows at once: each is compiled once for a machine (`runtime/backend/rows.py`). Where
rows are short, vectors run on from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SHORT = 128  # elements of rows that leave many over beside vectors


def of_rows(function: Callable[..., Any]) -> Callable[..., None]:
    """What stores the function of each element, less the number of its row, to rows that lie one after the other."""

    def made(target, source, less):  # type: ignore[no-untyped-def]
        n, m = target.shape
        if m < SHORT:
            for i in range(n):
                fixed = less[i]
                for j in range(m):
                    target[i, j] = source[i, j] - fixed
            items = target.reshape(n * m)
            for k in range(n * m):
                items[k] = function(items[k])
        else:
            for i in range(n):
                fixed = less[i]
                for j in range(m):
                    target[i, j] = function(source[i, j] - fixed)

    made.__name__ = made.__qualname__ = f"{function.__name__}_of_rows"
    made.__doc__ = f"target[i, j] = {function.__name__}(source[i, j] - less[i]) for all i and j."
    return made
