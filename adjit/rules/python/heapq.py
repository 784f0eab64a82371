"""Python's `heapq`, as ordinary Python.

In: lists. Out: the same lists with their items in other places.

    heapq.heappush(heap, item)      the body of `heappush`, inlined, with the user's list as `heap`

The heaps are textbook binary ones, with the choices among equal items that give Python's order. Items are compared with
`<` alone, as Python compares them.
"""

from __future__ import annotations

from typing import Any

from adjit.rules.python.lists import move_out


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    place = len(heap) - 1
    while place > 0:
        parent = (place - 1) // 2
        if not item < heap[parent]:
            break
        heap[place] = move_out(heap[parent])
        place = parent
    heap[place] = item


def settle(heap: Any, place: int) -> None:
    """The item at a place goes down until none below it is smaller."""
    count = len(heap)
    item = move_out(heap[place])
    child = 2 * place + 1
    while child < count:
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child = child + 1
        if item < heap[child]:
            break
        heap[place] = move_out(heap[child])
        place = child
        child = 2 * place + 1
    heap[place] = item


def heapify(x: Any) -> None:
    for k in range(len(x) // 2 - 1, -1, -1):
        settle(x, k)


def heappop(heap: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("pop from an empty heap")
    last = heap.pop()
    if len(heap) > 0:
        first = move_out(heap[0])
        heap[0] = last
        settle(heap, 0)
        return first
    return last


def heapreplace(heap: Any, item: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("replacement in an empty heap")
    first = move_out(heap[0])
    heap[0] = item
    settle(heap, 0)
    return first


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        first = move_out(heap[0])
        heap[0] = item
        settle(heap, 0)
        return first
    return item
