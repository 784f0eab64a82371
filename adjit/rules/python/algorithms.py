"""What Python's library does to its containers, as ordinary Python: heaps, stable orders, searches.

In: lists. Out: the same lists in another order, places in them. Calls of the library are elaborated as calls of these.

    heapq.heappush(heap, item)      the body of `heappush`, inlined, with the user's list as `heap`

The heaps are textbook binary ones, with the choices among equal items that give Python's order. Items are compared with
`<` alone, as Python compares them.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np


def taken(item: Any) -> Any:
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


def total_count(counter: Any) -> Any:
    """How many a Counter has counted in all."""
    return sum(counter.values())


def counted_elements(counter: Any) -> Any:
    """What a Counter has counted, each as often as it has."""
    return [key for key, count in counter.items() for _ in range(count)]


def joined_counts(left: Any, right: Any, join: Any) -> Any:
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


def moved_up(items: Any) -> None:
    """The list without its first item."""
    for k in range(1, len(items)):
        items[k - 1] = taken(items[k])
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


# ------------------------------------------------------------------------------------------------------- whole numbers


def product_of_integers(left: Any, right: Any) -> Any:
    """The product of arrays of integers, which BLAS has not: vectors and matrices. ValueError if they do not fit.

    It has the bits that NumPy's has; sums are made in 64.
    """
    if left.shape[left.ndim - 1] != right.shape[0]:
        raise ValueError("operands of a product of matrices do not fit")
    if left.ndim == 1 and right.ndim == 1:
        return np.sum(left * right, dtype=(left[:0] * right[:0]).dtype)
    if right.ndim == 1:
        return np.sum(left * right, axis=1, dtype=(left[:0] * right[:0, np.newaxis]).dtype)
    if left.ndim == 1:
        return np.sum(left.reshape(-1, 1) * right, axis=0, dtype=(left[:0, np.newaxis] * right[:0]).dtype)
    out = np.zeros((left.shape[0], right.shape[1]), (left[:0, :0] * right[:0, :0]).dtype)
    for i in range(left.shape[0]):
        for k in range(right.shape[0]):
            for j in range(right.shape[1]):
                out[i, j] += left[i, k] * right[k, j]
    return out


def factorial(n: int) -> float:
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    found = 1.0
    for k in range(2, n + 1):
        found = found * k
    return found


def comb(n: int, k: int) -> float:
    if n < 0 or k < 0:
        raise ValueError("comb of a negative number")
    found = 1.0
    for j in range(1, min(k, n - k) + 1):
        # each product is one of j numbers in a row, so that nothing is left
        found = found * (n - j + 1) / j
    return found if k <= n else 0.0


def perm(n: int, k: int = -1) -> float:
    if n < 0 or k < -1:
        raise ValueError("perm of a negative number")
    found = 1.0
    for j in range(n if k < 0 else k):
        found = found * (n - j)
    return found


def isqrt(n: int) -> int:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(np.sqrt(float(n)))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


# ---------------------------------------------------------------------------------------------------------------- heaps


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    place = len(heap) - 1
    while place > 0:
        parent = (place - 1) // 2
        if not item < heap[parent]:
            break
        heap[place] = taken(heap[parent])
        place = parent
    heap[place] = item


def settle(heap: Any, place: int) -> None:
    """The item at a place goes down until none below it is smaller."""
    count = len(heap)
    item = taken(heap[place])
    child = 2 * place + 1
    while child < count:
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child = child + 1
        if item < heap[child]:
            break
        heap[place] = taken(heap[child])
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
        first = taken(heap[0])
        heap[0] = last
        settle(heap, 0)
        return first
    return last


def heapreplace(heap: Any, item: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("replacement in an empty heap")
    first = taken(heap[0])
    heap[0] = item
    settle(heap, 0)
    return first


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        first = taken(heap[0])
        heap[0] = item
        settle(heap, 0)
        return first
    return item


# --------------------------------------------------------------------------------------------------------------- orders


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


def picked(items: Any, order: Any) -> Any:
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


# --------------------------------------------------------------------------------------------- operators as functions


def getitem(a: Any, b: Any) -> Any:
    return a[b]


def setitem(a: Any, b: Any, c: Any) -> None:
    a[b] = c


def delitem(a: Any, b: Any) -> None:
    del a[b]


def contains(a: Any, b: Any) -> Any:
    return b in a


def item_by(key: Any, of: Any) -> Any:
    return of[key]


def items_by(keys: Any, of: Any) -> Any:
    return tuple(of[key] for key in keys)


def attribute_by(names: Any, of: Any) -> Any:
    for name in names:
        of = getattr(of, name)
    return of


def attributes_by(paths: Any, of: Any) -> Any:
    return tuple(attribute_by(names, of) for names in paths)


def power_modulo(base: int, exponent: int, modulus: int) -> int:
    """By squaring. The product of two numbers below the modulus has to be an integer of 64 bits."""
    if exponent < 0:
        raise ValueError("a negative exponent modulo a number")
    found = 1 % modulus
    factor = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            found = found * factor % modulus
        factor = factor * factor % modulus
        exponent = exponent // 2
    return found


def fromkeys(keys: Any, value: Any = None) -> Any:
    """dict.fromkeys."""
    made: dict[Any, Any] = {}
    for key in keys:
        made[key] = value
    return made


# ------------------------------------------------------------------------------------------------------ generators


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


def count(start: Any, step: Any) -> Any:
    """itertools.count."""
    while True:
        yield start
        start = start + step


def cycle(iterable: Any) -> Any:
    """itertools.cycle."""
    items = list(iterable)
    while len(items) > 0:
        yield from items


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    """itertools.zip_longest."""
    columns = tuple(list(one) for one in iterables)
    count = max(len(one) for one in columns)
    for k in range(count):
        row: Any = ()
        for one in columns:
            row = (*row, one[k] if k < len(one) else fillvalue)
        yield row


def compress(data: Any, selectors: Any) -> Any:
    """itertools.compress."""
    for item, is_taken in zip(data, selectors, strict=False):
        if is_taken:
            yield item


def filterfalse(predicate: Any, iterable: Any) -> Any:
    """itertools.filterfalse."""
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def takewhile(predicate: Any, iterable: Any) -> Any:
    """itertools.takewhile."""
    for item in iterable:
        if not predicate(item):
            return
        yield item


def filtered(predicate: Any, iterable: Any) -> Any:
    """Python's filter."""
    for item in iterable:
        if item if predicate is None else predicate(item):
            yield item


def is_any(iterable: Any) -> Any:
    """Python's any."""
    for item in iterable:  # noqa: SIM110
        if item:
            return True
    return False


def are_all(iterable: Any) -> Any:
    """Python's all."""
    for item in iterable:  # noqa: SIM110
        if not item:
            return False
    return True


def chained(*iterables: Any) -> Any:
    """itertools.chain."""
    for one in iterables:
        yield from one


def starmapped(function: Any, iterable: Any) -> Any:
    """itertools.starmap."""
    for arguments in iterable:
        yield function(*arguments)


def dropwhile(predicate: Any, iterable: Any) -> Any:
    """itertools.dropwhile."""
    is_begun = False
    for item in iterable:
        if is_begun or not predicate(item):
            is_begun = True
            yield item


def groupby(iterable: Any, key: Any = None) -> Any:
    """itertools.groupby, with lists for groups."""
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    begin = 0
    for k in range(1, len(items) + 1):
        if k == len(items) or keys[k] != keys[begin]:
            yield keys[begin], items[begin:k]
            begin = k
