"""Operators as functions, of Python's `operator`, as ordinary Python.

In: containers and objects. Out: what is in them.

    operator.itemgetter(1)(pair)      the body of `item_by`, inlined, with 1 as `key`
"""

from __future__ import annotations

from typing import Any


def getitem(a: Any, b: Any) -> Any:
    return a[b]


def setitem(a: Any, b: Any, c: Any) -> None:
    a[b] = c


def delitem(a: Any, b: Any) -> None:
    del a[b]


def contains(a: Any, b: Any) -> Any:
    return b in a


def truth(a: Any) -> bool:
    return bool(a)


def count_of(a: Any, b: Any) -> int:
    return sum([1 for item in a if item == b])


def index_of(a: Any, b: Any) -> int:
    for k, item in enumerate(a):
        if item == b:
            return k
    raise ValueError("sequence.index(x): x not in sequence")


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
