"""Arguments of derived functions: numbers, arrays of numbers, tuples of those, strings, None and compiled functions.

In: a value, or its type. Out: the type that the transformation sees, or TypeMismatch that says what to pass instead.

    type_of("lower")     a string literal: the value is part of the type
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import errors, typeof, types

from adjit.errors import TypeMismatch
from adjit.transform.ir.notation import to_text

_PLAIN = (types.Boolean, types.Integer, types.Complex)
_FLOATS = (types.float32, types.float64)


def type_of(value: object) -> types.Type:
    """numba's type of a value, that of a string with the value in it; `pyobject` if it has none."""
    if isinstance(value, str):
        return types.StringLiteral(value)
    try:
        found: types.Type = typeof(value)  # type: ignore[no-untyped-call]
        return found
    except (errors.NumbaError, ValueError):
        return types.pyobject


def specialised(given: types.Type) -> types.Type:
    """The type that the transformation sees: numbers without their values, strings with them."""
    if isinstance(given, types.Omitted):
        if isinstance(given.value, np.random.Generator):
            raise TypeMismatch(
                "the default of an argument is a generator of random numbers",
                why="numba takes one as an argument alone.",
                instead="Pass it in the call.",
            )
        given = type_of(given.value)
    if isinstance(given, types.Literal) and not isinstance(given, types.StringLiteral):
        given = types.unliteral(given)  # type: ignore[no-untyped-call]
    return given


def check_value(owner: str, name: str, value: Any) -> None:
    """TypeMismatch if a derivative cannot take this value for the parameter `name` of `owner`."""
    if not _is_taken(specialised(type_of(value))):
        what, instead = _told(value)
        raise TypeMismatch(f"argument `{name}` of {owner} is {what}", instead=instead)


def check_type(owner: str, name: str, type_: types.Type) -> None:
    """As `check_value`, of a type alone."""
    if not _is_taken(type_):
        raise TypeMismatch(
            f"argument `{name}` of {owner} is of type {to_text(type_)}",
            instead="Pass numbers, NumPy arrays of numbers, or tuples of those.",
        )


def _is_taken(type_: types.Type) -> bool:
    if isinstance(type_, types.BaseTuple):
        return all(map(_is_taken, type_.types))  # type: ignore[attr-defined]
    if isinstance(type_, types.Array):
        return _is_number(type_.dtype)
    known = types.NoneType | types.UnicodeType | types.StringLiteral | types.Dispatcher | types.NumPyRandomGeneratorType
    return _is_number(type_) or isinstance(type_, known)


def _is_number(type_: types.Type) -> bool:
    return isinstance(type_, _PLAIN) or type_ in _FLOATS


def _told(value: Any) -> tuple[str, str]:
    """What a value is, and what to pass in its place."""
    kind = type(value)
    if isinstance(value, tuple):
        return next(_told(part) for part in value if not _is_taken(specialised(type_of(part))))
    if isinstance(value, list):
        return "a list", "Pass a NumPy array: np.array(...)."
    if isinstance(value, np.ndarray) and kind in (np.ndarray, np.memmap):
        return _told_of_array(value)
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array", "Pass filled(...) of it, or its data and its mask as two arguments."
    if isinstance(value, np.void):
        fields = ", ".join(value.dtype.names or ())
        return f"a record with the fields {fields}", "Pass its fields as arguments of their own."
    if isinstance(value, np.floating):
        return f"a number of {value.dtype}, which numba does not take", "Pass float(...) or np.float32(...) of it."
    if hasattr(value, "__array__"):
        return f"of type {_name_of(kind)}, which is no NumPy array", "Pass np.asarray(...) of it."
    if callable(value):
        instead = "Pass one that is compiled with numba.njit, or read it as a global or enclosing name."
        return "a Python function" if hasattr(value, "__code__") else f"of type {_name_of(kind)}", instead
    return f"of type {_name_of(kind)}", "Pass numbers, NumPy arrays of numbers, or tuples of those."


def _told_of_array(value: np.ndarray[Any, Any]) -> tuple[str, str]:
    dtype = value.dtype
    if dtype.names:
        fields = ", ".join(f"...[{name!r}]" for name in dtype.names)
        return "an array of records", f"Pass its fields as arguments of their own: {fields}."
    if dtype.kind in "fiuc":
        return f"an array of {dtype}, which numba does not take", "Pass astype(np.float64) of it, or np.float32."
    if dtype.kind == "O":
        return "an array of Python objects", "Pass an array of numbers: astype(np.float64) of it."
    return f"an array of {dtype}", "Pass arrays of numbers."


def _name_of(kind: type) -> str:
    package = "" if kind.__module__ == "builtins" else kind.__module__.partition(".")[0] + "."
    return package + kind.__qualname__
