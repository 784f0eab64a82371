"""What lists do, and what is done to them: searches, orders, parts, loops over lists that change.

In: lists. Out: places in them, the same items in another order, the items one by one.

    items.index(item)      the body of `place_of`, inlined, with the user's list as `items`

Items are compared with `<` and `==` alone, as Python compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def move_out(item: Any) -> Any:
    """An item that leaves its place in a list, with memory of its own. (What it is elaborated as is not this body.)"""
    return item


def place_of(items: Any, wanted: Any) -> int:
    """Where the first item is that equals the wanted one; -1 where there is none."""
    for k in range(len(items)):
        if items[k] == wanted:
            return k
    return -1


def count_of(items: Any, wanted: Any) -> int:
    """How many items equal the wanted one."""
    count = 0
    for k in range(len(items)):
        if items[k] == wanted:
            count += 1
    return count


def move_up(items: Any) -> None:
    """The list without its first item."""
    for k in range(1, len(items)):
        items[k - 1] = move_out(items[k])
    items.pop()


def common_extent(extents: Any) -> int:
    """The one extent that all items of a list have; 0 of none. ValueError where they differ."""
    found = 0
    for k in range(len(extents)):
        if k > 0 and extents[k] != found:
            raise ValueError("the items of the list have different lengths")
        found = extents[k]
    return found


def ends_of_part(count: int, start: int, stop: int) -> tuple[int, int]:
    """Where `items[start:stop]` of so many items begins and ends: both inside, and in order."""
    first = min(max(start + count if start < 0 else start, 0), count)
    last = min(max(stop + count if stop < 0 else stop, 0), count)
    return first, max(first, last)


def stable_order(keys: Any, is_reversed: bool) -> Any:
    """The places of the items in order, of equal ones the first first: runs merged into runs twice as long."""
    count = len(keys)
    order = np.arange(count)
    merged = np.arange(count)
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left = low
            right = middle
            for k in range(low, high):
                takes_left = right >= high
                if left < middle and right < high:
                    if is_reversed:
                        takes_left = not keys[order[left]] < keys[order[right]]
                    else:
                        takes_left = not keys[order[right]] < keys[order[left]]
                if takes_left:
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        for k in range(count):
            order[k] = merged[k]
        width *= 2
    return order


def pick(items: Any, order: Any) -> Any:
    return [items[k] for k in order]


def place_of_extreme(keys: Any, is_greatest: bool) -> int:
    """The place of the least or greatest of the keys, of equal ones the first."""
    if len(keys) == 0:
        raise ValueError("the least or the greatest of an empty iterable")
    best = 0
    for k in range(1, len(keys)):
        is_better = keys[best] < keys[k] if is_greatest else keys[k] < keys[best]
        if is_better:
            best = k
    return best


def items_one_by_one(items: Any) -> Any:
    """What a loop over a list has, whatever becomes of the list on the way."""
    k = 0
    while k < len(items):
        yield items[k]
        k += 1


def numbered_one_by_one(items: Any, start: Any) -> Any:
    """The same of `enumerate` of a list."""
    k = 0
    while k < len(items):
        yield start + k, items[k]
        k += 1
