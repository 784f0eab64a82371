"""Arguments of derived functions: numbers, arrays of numbers, tuples of those, strings, None and compiled functions.

In: a value, or its type. Out: the type that the transformation sees, or TypeMismatch that says what to pass instead.

    type_of("lower")     a string literal: the value is part of the type
"""

from __future__ import annotations

import array
import enum
import numbers
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import errors, typeof, types

from adjit.errors import TypeMismatch
from adjit.notation import to_text
from adjit.runtime.library.gpus import is_on_device
from adjit.transform.source.protocols import own_of_argument, own_of_builtin, plain_class
from adjit.transform.source.structures import (
    ARRAYS,
    InCircle,
    NotTaken,
    Unread,
    has_array,
    is_derived_number,
    is_member,
    own_of,
)

_PLAIN = (types.Boolean, types.Integer, types.Complex)
_FLOATS = (types.float32, types.float64)


def type_of(value: object) -> types.Type:
    """numba's type of a value, that of a string with the value in it; `pyobject` if it has none."""
    if type(value) is str:
        return types.StringLiteral(value)
    if type(value) is tuple and any(isinstance(part, str | tuple) for part in value):
        return types.Tuple([type_of(part) for part in value])  # type: ignore[no-untyped-call]
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
                why="numba takes a generator only as an argument of the call.",
                instead="Pass it in the call.",
            )
        given = type_of(given.value)
    if isinstance(given, types.Literal) and not isinstance(given, types.StringLiteral):
        given = types.unliteral(given)  # type: ignore[no-untyped-call]
    return given


def check_value(owner: str, name: str, value: Any) -> None:
    """TypeMismatch if a derivative cannot take this value for the parameter `name` of `owner`."""
    if not is_taken(value):
        what, instead = told(value, name)
        raise TypeMismatch(f"argument `{name}` of {owner} is {what}", instead=instead)


def check_type(owner: str, name: str, type_: types.Type) -> None:
    """As `check_value`, of a type alone."""
    if not _is_taken(type_):
        raise TypeMismatch(
            f"argument `{name}` of {owner} is of type {to_text(type_)}",
            instead="Pass numbers, NumPy arrays of numbers, or tuples of them.",
        )


def is_taken(value: Any) -> bool:
    """Whether a derivative can take this value."""
    if isinstance(value, tuple):
        return own_of_argument(type(value)) is None and all(map(is_taken, value))
    is_array_like = isinstance(value, np.ndarray) and type(value) not in ARRAYS
    if is_on_device(value) or is_member(value) or is_derived_number(value):
        return False  # whose type may be that of an array, or of a plain number
    return not is_array_like and _is_taken(specialised(type_of(value)))


def _is_taken(type_: types.Type) -> bool:
    if isinstance(type_, types.BaseTuple):
        kind = getattr(type_, "instance_class", tuple)
        return own_of_argument(kind) is None and all(map(_is_taken, type_.types))  # type: ignore[attr-defined]
    if isinstance(type_, types.Array):
        return _is_number(type_.dtype)
    known = types.NoneType | types.UnicodeType | types.StringLiteral | types.Dispatcher | types.NumPyRandomGeneratorType
    return _is_number(type_) or isinstance(type_, known)


def _is_number(type_: types.Type) -> bool:
    return isinstance(type_, _PLAIN) or type_ in _FLOATS


def told(value: Any, name: str = "value") -> tuple[str, str]:
    """What a value of this name that is not taken is, and what to pass instead."""
    kind = type(value)
    if is_derived_number(value):
        own = own_of_builtin(kind)
        what = "a class of numbers that adjit does not know" if own is None else f"which has its own `{own}`"
        return f"of type {_name_of(kind)}, {what}", f"Pass {plain_class(kind).__name__}({name})."
    if own := own_of(value):
        return f"of type {_name_of(kind)}, which has its own `{own}`", _instead_of(kind)
    if isinstance(value, tuple):
        return next(
            (told(part, f"{name}[{k}]") for k, part in enumerate(value) if not is_taken(part)), ("a tuple", _NUMBERS)
        )
    if isinstance(value, list):
        return "a list", f"Pass np.array({name})."
    if isinstance(value, enum.Enum):
        return f"a member of {_name_of(kind)}", "Leave it out of wrt: an enumeration has no derivative."
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array", f"Pass {name}.filled(...), or its data and its mask as two arguments."
    if isinstance(value, np.ndarray):
        return _told_of_array(value, name)
    if isinstance(value, np.void):
        fields = ", ".join(value.dtype.names or ())
        return f"a record with the fields {fields}", "Pass each field as an argument."
    if isinstance(value, np.inexact):
        is_complex = isinstance(value, np.complexfloating)
        instead = f"complex({name})" if is_complex else f"float({name}) or np.float32({name})"
        return f"a number of {value.dtype}, which numba does not take", f"Pass {instead}."
    if isinstance(value, np.datetime64 | np.timedelta64):
        return f"a number of {value.dtype}", "Pass a number, for example of seconds."
    if isinstance(value, int):
        return "an integer of more than 64 bits", f"Pass float({name})."
    if isinstance(value, numbers.Number):
        return f"of type {_name_of(kind)}", f"Pass float({name})."
    if is_on_device(value) or _is_elsewhere(value):
        return (
            f"of type {_name_of(kind)}, an array on a device",
            f"Pass a copy in NumPy's memory: {name}.copy_to_host(), {name}.cpu() or {name}.get().",
        )
    if has_array(value):
        what, bridge = f"of type {_name_of(kind)}, which is not a NumPy array", kind.__module__.partition(".")[0]
        bridge = {"jaxlib": "jax"}.get(bridge, bridge)
        if bridge in ("torch", "jax"):
            operation = f"make the function an operation of {bridge}, with adjit.bridges.{bridge}.function"
            return what, f"Pass np.asarray({name}), or {operation}."
        return what, f"Pass np.asarray({name})."
    if isinstance(value, memoryview | array.array):
        return f"of type {_name_of(kind)}, which is not a NumPy array", f"Pass np.asarray({name})."
    if isinstance(value, range):
        return "a range", "Pass np.arange(...), or pass its ends and write the range in the function."
    if _name_of(kind).startswith("scipy.") and hasattr(value, "toarray"):
        what = f"a sparse matrix, of type {_name_of(kind)}"
        is_compressed = value.format in ("csr", "csc")
        return what, f"Pass {name}.data, and build the matrix inside." if is_compressed else f"Pass {name}.tocsr()."
    if hasattr(kind, "__slots__") and not hasattr(value, "__dict__") and kind.__module__ not in sys.stdlib_module_names:
        instead = "Pass an object of a class without __slots__, or of a dataclass, which may have them."
        return f"of type {_name_of(kind)}, whose class has __slots__", instead
    if callable(value):
        instead = "Pass a function that numba.njit compiles, or call it by its global or enclosing name."
        return "a Python function" if hasattr(value, "__code__") else f"of type {_name_of(kind)}", instead
    return f"of type {_name_of(kind)}", _NUMBERS


def told_of(fault: NotTaken, name: str = "value") -> tuple[str, str]:
    """The same of what was met in a value that is taken apart."""
    what, instead = told(fault.value, name)
    if isinstance(fault, InCircle):
        return f"{what}, and contains itself", "Pass only the parts that are needed."
    return what, instead


def unread(fault: NotTaken, name: str) -> Unread:
    """The same of an attribute of this name, for whoever reads it."""
    return Unread(*told_of(fault, name))


def _instead_of(kind: type) -> str:
    """What to pass in the place of an object of a class that does something in its own way."""
    plain = plain_class(kind)
    if plain is object:
        return "Pass an object of a plain class, a dataclass or a named tuple."
    return f"Pass its contents as a plain {plain.__name__}."


_NUMBERS = "Pass numbers, NumPy arrays of numbers, or tuples of them."


def _is_elsewhere(value: Any) -> bool:
    """Whether an array of another library is not in memory that NumPy reads."""
    device = getattr(value, "__dlpack_device__", None)
    return callable(device) and device()[0] != 1  # of DLPack's numbers that of the CPU


def _told_of_array(value: np.ndarray[Any, Any], name: str) -> tuple[str, str]:
    dtype = value.dtype
    if dtype.names:
        fields = ", ".join(f"{name}[{field!r}]" for field in dtype.names)
        return "an array of records", f"Pass each field as an argument: {fields}."
    if type(value) not in ARRAYS:
        # whose operators may do something else, or which has units
        return f"of type {_name_of(type(value))}, which is not quite a NumPy array", f"Pass np.asarray({name})."
    if dtype.kind in "fiuc":
        if not dtype.isnative:
            return f"an array of {dtype}, with swapped bytes", f'Pass {name}.astype("={dtype.str[1:]}").'
        instead = "np.complex128)." if dtype.kind == "c" else "np.float64), or np.float32."
        return f"an array of {dtype}, which numba does not take", f"Pass {name}.astype({instead}"
    if dtype.kind == "O":
        return "an array of Python objects", f"Pass an array of numbers: {name}.astype(np.float64)."
    if dtype.kind in "mM":
        return f"an array of {dtype}", f"Pass numbers, for example ({name} - {name}[0]) / np.timedelta64(1, 's')."
    if dtype.kind in "US":
        return (
            f"an array of strings, {dtype}",
            f"Pass an array of integers: np.unique({name}, return_inverse=True) numbers the strings.",
        )
    return f"an array of {dtype}", "Pass arrays of numbers."


def _name_of(kind: type) -> str:
    package = "" if kind.__module__ == "builtins" else kind.__module__.partition(".")[0] + "."
    return package + kind.__qualname__


# ---------------------------------------------------------------------------------------------- what a call has to do

# What numba tells apart by itself, and at once.
PLAIN = frozenset((*ARRAYS, float, int, complex, bool, str, type(None)))
SCALARS = frozenset(np.dtype(code).type for code in "?bhilqBHILQfdFD")


def has_typed(owner: str, names: Iterable[str], values: Iterable[Any]) -> bool:
    """Whether there are NumPy's numbers among these arguments. TypeMismatch where one is not taken: numba looks at them
    only if it has seen none of their kind."""
    found = False
    for name, value in zip(names, values, strict=False):
        found |= _has_typed(owner, name, value)
    return found


def _has_typed(owner: str, name: str, value: Any) -> bool:
    kind = type(value)
    if (kind in PLAIN and (kind not in ARRAYS or value.dtype.isnative)) or kind in SCALARS:
        return kind in SCALARS
    if isinstance(value, tuple):
        # each is looked at
        return max([_has_typed(owner, name, part) for part in value], default=False)
    check_value(owner, name, value)
    return False


def as_given(found: Any, argument: Any) -> Any:
    """What belongs to an argument, with its types: NumPy's numbers for NumPy's numbers, Python's for Python's."""
    kind, own = type(argument), type(found)
    if found is None or (own is kind and kind is not tuple):
        return found
    if (own is float or own is complex) and kind in SCALARS:
        return kind(found)
    if isinstance(argument, tuple) and isinstance(found, tuple) and len(found) == len(argument):
        parts = [as_given(f, a) for f, a in zip(found, argument, strict=True)]
        return tuple(parts) if type(found) is tuple else type(found)(*parts)
    is_number = isinstance(found, float | complex | np.inexact)
    return kind(found) if is_number and (kind is float or kind is complex or kind in SCALARS) else found


def as_numpys(found: Any, type_: types.Type) -> Any:
    """The numbers in a result of this type as NumPy's."""
    if isinstance(found, tuple):
        parts = [as_numpys(f, t) for f, t in zip(found, type_.types, strict=True)]  # type: ignore[attr-defined]
        return tuple(parts) if type(found) is tuple else type(found)(*parts)
    return np.dtype(str(type_)).type(found) if isinstance(found, float | complex) else found
