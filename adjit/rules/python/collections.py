"""Python's `collections`, as ordinary Python.

In: Counters. Out: what their methods and operators make of them.

    left + right      the body of `join_counts`, inlined
"""

from __future__ import annotations

import collections
from typing import Any


def most_common(counter: Any, n: Any = None) -> Any:
    """What a Counter has counted and how often, the most frequent first."""
    ordered = sorted(counter.items(), key=lambda pair: pair[1], reverse=True)
    return ordered if n is None else ordered[:n]


def total(counter: Any) -> Any:
    """How many a Counter has counted in all."""
    return sum(counter.values())


def elements(counter: Any) -> Any:
    """What a Counter has counted, each as often as it has."""
    return [key for key, count in counter.items() for _ in range(count)]


def join_counts(left: Any, right: Any, join: Any) -> Any:
    """Two Counters joined, count by count, by `join`: `left + right` by a sum, `left | right` by `max`. What is not
    counted at least once is left out."""
    found: collections.Counter[Any] = collections.Counter()
    for key, count in left.items():
        if join(count, right[key]) > 0:
            found[key] = join(count, right[key])
    for key, count in right.items():
        if key not in left and join(0, count) > 0:
            found[key] = join(0, count)
    return found


def are_same_counts(left: Any, right: Any) -> bool:
    """Whether two Counters have counted the same; what is missing is counted no times."""
    return all(count == right[key] for key, count in left.items()) and all(
        count == left[key] for key, count in right.items()
    )
