"""Python's `bisect`, as ordinary Python.

In: a list in order. Out: a place in it, or the list with one more item.

    bisect.bisect(items, x)      the body of `bisect_right`, inlined
"""

from __future__ import annotations

from typing import Any


def place_in_order(a: Any, x: Any, lo: int, hi: Any, key: Any, is_after: bool) -> int:
    """Where x belongs in what is sorted, before or after what equals it."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    first = lo
    last = len(a) if hi is None else hi
    while first < last:
        middle = (first + last) // 2
        known = a[middle] if key is None else key(a[middle])
        is_further = not x < known if is_after else known < x
        if is_further:
            first = middle + 1
        else:
            last = middle
    return first


def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    """bisect.bisect_left."""
    return place_in_order(a, x, lo, hi, key, False)


def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    """bisect.bisect_right."""
    return place_in_order(a, x, lo, hi, key, True)


def insort_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    """bisect.insort_left."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    """bisect.insort_right."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)
