"""Python's builtins, as ordinary Python.

In: iterables and numbers. Out: a value, or items one by one.

    for item in filter(f, items):      the body of `filter`, inlined, and in the place of its `yield` a trip of the loop
"""

from __future__ import annotations

from typing import Any


def filter(function: Any, iterable: Any) -> Any:
    """Python's filter."""
    for item in iterable:
        if item if function is None else function(item):
            yield item


def map(function: Any, iterable: Any, *others: Any) -> Any:
    """Python's map."""
    if len(others) == 0:
        for item in iterable:
            yield function(item)
    else:
        for row in zip(iterable, *others, strict=False):
            yield function(*row)


def sum(iterable: Any, start: Any = 0) -> Any:
    """Python's sum."""
    total = start
    for item in iterable:
        total = total + item
    return total


def any(iterable: Any) -> Any:
    """Python's any."""
    found = False
    for item in iterable:
        if item:
            found = True
            break
    return found


def all(iterable: Any) -> Any:
    """Python's all."""
    found = True
    for item in iterable:
        if not item:
            found = False
            break
    return found


def pow(base: int, exponent: int, modulus: int) -> int:
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
