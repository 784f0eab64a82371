"""Exceptions whose texts are made of values: what compiled code raises, which formats nothing itself.

In: the class, how its arguments are made, and the values. Out: the exception.

    raise ValueError("no root in {}".format(x))     raise_made(ValueError, '[["no root in {}", 1, "format"]]', (x,))
"""

from __future__ import annotations

import json
from typing import Any


class _AnyClass(type):
    """The class of one that makes exceptions of other classes: these count as its own where Python looks."""

    def __subclasscheck__(cls, other: type) -> bool:
        return True


class RaisedWith(Exception, metaclass=_AnyClass):
    """Makes an exception of the class `kind`; `how`: JSON of a list with an item for each argument, a constant or a
    list of a text or None, of how many values it takes, and how these are put in."""

    def __new__(cls, kind: Any, how: str, *values: Any) -> Any:
        rest, args = iter(values), []
        for item in json.loads(how):
            if not isinstance(item, list):
                args.append(item)
                continue
            text, count, way = item
            given = tuple(next(rest) for _ in range(count))
            args.append(given[0] if text is None else text % given if way == "%" else text.format(*given))
        return kind(*args)


def raise_made(kind: Any, how: str, values: tuple[Any, ...]) -> None:
    """Raises it."""
    raise RaisedWith(kind, how, *values)
