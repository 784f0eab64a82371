"""Python's `itertools`, as ordinary Python.

In: iterables. Out: items one by one.

    for item in itertools.chain(a, b):      the body of `chain`, inlined, and in the place of its `yield` a trip
"""

from __future__ import annotations

from typing import Any


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


def dropwhile(predicate: Any, iterable: Any) -> Any:
    """itertools.dropwhile."""
    is_begun = False
    for item in iterable:
        if is_begun or not predicate(item):
            is_begun = True
            yield item


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """itertools.accumulate."""
    if initial is not None:
        total = initial
        yield total
    for k, item in enumerate(iterable):
        if initial is None and k == 0:
            total = item
        elif func is None:
            total = total + item
        else:
            total = func(total, item)
        yield total


def from_iterable(iterable: Any) -> Any:
    """itertools.chain.from_iterable."""
    for one in iterable:
        for item in one:  # noqa: UP028
            yield item


def chain(*iterables: Any) -> Any:
    """itertools.chain."""
    for one in iterables:
        yield from one


def starmap(function: Any, iterable: Any) -> Any:
    """itertools.starmap."""
    for arguments in iterable:
        yield function(*arguments)


def groupby(iterable: Any, key: Any = None) -> Any:
    """itertools.groupby, with lists for groups."""
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    begin = 0
    for k in range(1, len(items) + 1):
        if k == len(items) or keys[k] != keys[begin]:
            yield keys[begin], items[begin:k]
            begin = k


def product(columns: Any) -> Any:
    """itertools.product, of a tuple of what the items are taken of."""
    if len(columns) == 0:
        yield ()
    else:
        for item in columns[0]:
            for rest in product(columns[1:]):
                yield (item, *rest)


def combinations(count: int, r: int, begin: int = 0) -> Any:
    """The places of itertools.combinations among so many, from one on."""
    if r == 0:
        yield ()
    else:
        for k in range(begin, count):
            for rest in combinations(count, r - 1, k + 1):
                yield (k, *rest)


def permutations(count: int, r: int, taken: Any = ()) -> Any:
    """The places of itertools.permutations among so many, without those that are taken."""
    if r == 0:
        yield ()
    else:
        for k in range(count):
            if k not in taken:
                for rest in permutations(count, r - 1, (*taken, k)):
                    yield (k, *rest)
