"""What a class does in its own way where Python asks it: of its objects, when attributes are read, items are taken...

In: a class. Out: the name of what it does so and what is not followed here, or None.

    class Grid(np.ndarray): __getitem__ ...      `__getitem__`: what is taken from it is not what the base would give
    class Model: __setattr__ ...                 `__setattr__`: an assignment does not make an attribute
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import inspect
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

import numpy as np

from adjit.transform.source.external_reads import definitions_read, while_class_holds

_LIBRARIES = frozenset((
    "builtins", "abc", "collections", "enum", "functools", "numbers", "numpy", "scipy", "types", "typing",
))  # fmt: skip
_BUILTIN = (
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, collections.deque, np.generic,
)  # fmt: skip
_ATTRIBUTES = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__")
_CONTAINER = (
    "__getitem__", "__setitem__", "__delitem__", "__missing__", "__len__", "__bool__", "__iter__", "__reversed__",
    "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__init__",
)  # fmt: skip
_ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip
_IN_PLACE = tuple(f"__i{name}__" for name in _ARITHMETIC)
_OPERATORS = (*(f"__{name}__" for name in _ARITHMETIC), *(f"__r{name}__" for name in _ARITHMETIC), *_IN_PLACE)
_OF_ONE = (
    "__neg__", "__pos__", "__abs__", "__invert__", "__round__", "__float__", "__int__", "__index__", "__complex__",
)  # fmt: skip
_ASKED = (*_ATTRIBUTES, *_CONTAINER, *_OPERATORS, *_OF_ONE)
# what makes no difference to the numbers that a program computes
_SILENT = frozenset((
    "__new__", "__doc__", "__module__", "__dict__", "__weakref__", "__slots__", "__repr__", "__str__", "__format__",
    "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__setstate__", "__sizeof__",
    "__dir__", "__class_getitem__", "__init_subclass__", "__subclasshook__", "__copy__", "__deepcopy__",
))  # fmt: skip
_OF_NAMED_TUPLES = ("_replace", "_asdict", "_make", "_fields", "_field_defaults", "count", "index")
_DESCRIPTORS = (FunctionType, BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, property)


def own_of_object(kind: type) -> str | None:
    """What a class of objects does in its own way when attributes are read or stored, or an object is made."""
    definitions_read(kind, _ATTRIBUTES)
    return _of_object(kind)


def own_of_named_tuple(kind: type) -> str | None:
    """What a class of named tuples does in its own way where others are tuples; arithmetic is followed."""
    definitions_read(kind, _asked_of(kind))
    return _of_named_tuple(kind)


def own_of_builtin(kind: type) -> str | None:
    """What a class that is derived from one of Python's or NumPy's numbers, texts or containers does in its own way.
    Other methods of texts and containers are followed where they are called; numbers have none here."""
    if kind in _BUILTIN or not issubclass(kind, _BUILTIN):
        return None
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return own_of_named_tuple(kind)
    definitions_read(kind, _asked_of(kind))
    return _of_builtin(kind)


def own_of_argument(kind: type) -> str | None:
    """The same of a class of arguments, of which nothing is known any more but what is in them; or what a class of
    objects does in its own way."""
    if not issubclass(kind, _BUILTIN):
        return own_of_object(kind)
    if kind in _BUILTIN or not issubclass(kind, list | dict | set | frozenset):
        return own_of_builtin(kind)
    definitions_read(kind, _asked_of(kind))
    return _of_container(kind)


def _asked_of(kind: type) -> Iterator[str]:
    """The names that a class may have in its own way."""
    yield from (*_ASKED, *_OF_NAMED_TUPLES, *getattr(kind, "_fields", ()), *dir(plain_class(kind)))


@while_class_holds
def _of_object(kind: type) -> str | None:
    generated = ("__setattr__", "__delattr__") if _is_frozen(kind) else ()
    for owner, name, thing in _defined(kind):
        if name in _ATTRIBUTES and not (name in generated and dataclasses.is_dataclass(owner)):
            return name
        if hasattr(type(thing), "__set__") and not isinstance(thing, _DESCRIPTORS):
            return name
    is_plain = inspect.getattr_static(type(kind), "__call__") is inspect.getattr_static(type, "__call__")
    return None if is_plain else f"a call of {kind.__name__}"


@while_class_holds
def _of_named_tuple(kind: type) -> str | None:
    asked = (*_ATTRIBUTES, *_CONTAINER, *_IN_PLACE, "count", "index")
    of_derived = (*asked, "__new__", *_OF_NAMED_TUPLES, *getattr(kind, "_fields", ()))
    for owner, name, _ in _defined(kind):
        is_made = "_fields" in vars(owner) and "_make" in vars(owner)  # by `namedtuple`, with fields and methods
        if name in (asked if is_made else of_derived):
            return name
    return None


@while_class_holds
def _of_builtin(kind: type) -> str | None:
    is_number = issubclass(kind, int | float | complex | np.generic) and not issubclass(kind, enum.Enum)
    return next((name for name in _replaced(kind) if is_number or name in _ASKED), None)


@while_class_holds
def _of_container(kind: type) -> str | None:
    return next(iter(_replaced(kind)), None)


def _replaced(kind: type) -> Iterator[str]:
    """What classes of users say of what a class of Python's or NumPy's, of which they are derived, has or may have."""
    base = plain_class(kind)
    for _, name, _ in _defined(kind):
        if name in _ASKED or (hasattr(base, name) and name not in _SILENT):
            yield name


def plain_class(kind: type) -> type:
    """The class of Python's own, or of a library, that one is derived from."""
    return next(owner for owner in kind.__mro__ if _is_of_library(owner))


def _defined(kind: type) -> Iterator[tuple[type, str, Any]]:
    """What the classes of users say, of which a class is derived, the nearest first; not what they have from a library
    as it is there, as flags have their operators."""
    known = [vars(owner) for owner in kind.__mro__ if _is_of_library(owner)]
    for owner in kind.__mro__:
        if not _is_of_library(owner):
            named = vars(owner).items()
            yield from ((owner, name, thing) for name, thing in named if all(k.get(name) is not thing for k in known))


def _is_of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES


def _is_frozen(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and params.frozen
