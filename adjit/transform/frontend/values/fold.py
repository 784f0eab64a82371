"""What is known of a value while a program is compiled, as Python's own objects.

In: a value. Out: the object that it stands for.

    TupleValue((ir.integer(2), Static("a")))    (2, "a")
    [("a", "f8"), ("b", int)]                   the dtype of records with these fields
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.transform import ir
from adjit.transform.frontend.values.values import (
    Complex,
    Record,
    SliceValue,
    Static,
    StringArray,
    TupleValue,
    Value,
    parts_of,
)


class Unknown(Exception):
    """Something is known at run time only."""


def constant(value: Value, refused: Callable[[Value], Exception] = Unknown, is_frozen: bool = False) -> Any:
    """The Python object that a value known while compiling stands for; `refused`: the error for a part that is not.

    is_frozen: as a key of a dictionary, or for what might change a list: lists as tuples, and no dictionaries, slices
    and complex numbers.
    """
    if isinstance(value, Static | ir.Const):
        return value.value.array if isinstance(value.value, StringArray) else value.value
    if isinstance(value, TupleValue):
        items = [constant(one, refused, is_frozen) for one in value.items]
        return items if value.is_list and not is_frozen else tuple(items)
    if is_frozen:
        raise refused(value)
    if isinstance(value, Record) and value.of is None:
        return {key: constant(one, refused) for key, one in zip(value.keys, value.items, strict=True)}
    if isinstance(value, SliceValue):
        ends = (value.span.start, value.span.stop, value.span.step)
        return slice(*(None if end is None else constant(end, refused) for end in ends))
    if isinstance(value, Complex) and isinstance(value.real, ir.Const) and isinstance(value.imag, ir.Const):
        return value.real.value + 1j * value.imag.value
    raise refused(value)


def is_constant(value: Value) -> bool:
    """Whether all that is in a value is known while compiling."""
    return all(isinstance(part, Static | ir.Const) for part in parts_of(value))


def structured_dtype(value: Value) -> np.dtype[Any] | None:
    """The dtype of records that a value stands for, `[("a", "f8"), ("b", int, (3,))]` or one of NumPy's; else None."""
    try:
        known = constant(value)
        if isinstance(known, list) and known and all(isinstance(field, tuple) for field in known):
            known = np.dtype(known)
    except (Unknown, TypeError):
        return None
    return known if isinstance(known, np.dtype) and known.names else None
