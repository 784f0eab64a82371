"""What a class does in its own way where Python asks it: of its objects, when attributes are read, items are taken...

In: a class. Out: the name of what it does so and what is not followed here, or None.

    class Grid(np.ndarray): __getitem__ ...      `__getitem__`: what is taken from it is not what the base would give
    class Model: __setattr__ ...                 `__setattr__`: an assignment does not make an attribute
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

_LIBRARIES = frozenset((
    "builtins", "abc", "collections", "enum", "functools", "numbers", "numpy", "scipy", "types", "typing",
))  # fmt: skip
_BUILTIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
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
_DESCRIPTORS = (FunctionType, BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, property)


def _of_object(kind: type) -> str | None:
    """What a class of objects does in its own way when attributes are read or stored, or an object is made."""
    generated = ("__setattr__", "__delattr__") if _is_frozen(kind) else ()
    for owner, name, thing in _defined(kind):
        if name in _ATTRIBUTES and not (name in generated and dataclasses.is_dataclass(owner)):
            return name
        if hasattr(type(thing), "__set__") and not isinstance(thing, _DESCRIPTORS):
            return name
    is_plain = inspect.getattr_static(type(kind), "__call__") is inspect.getattr_static(type, "__call__")
    return None if is_plain else f"a call of {kind.__name__}"


def _of_named_tuple(kind: type) -> str | None:
    """What a class of named tuples does in its own way where others are tuples; arithmetic is followed."""
    for owner, name, _ in _defined(kind):
        if name in (*_ATTRIBUTES, *_CONTAINER, *_IN_PLACE) or (name == "__new__" and "_fields" not in vars(owner)):
            return name
    return None


def _of_builtin(kind: type) -> str | None:
    """What a class that is derived from one of Python's numbers, texts or containers does in its own way."""
    if kind in _BUILTIN or not issubclass(kind, _BUILTIN):
        return None
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _of_named_tuple(kind)
    asked = (*_ATTRIBUTES, *_CONTAINER, *_OPERATORS, *_OF_ONE)
    return next((name for _, name, _ in _defined(kind) if name in asked), None)


def _defined(kind: type) -> Iterator[tuple[type, str, Any]]:
    """What the classes of users say, of which a class is derived, the nearest first."""
    for owner in kind.__mro__:
        if owner.__module__.partition(".")[0] not in _LIBRARIES:
            # enumerations are given what their base has, too
            yield from (
                (owner, name, thing)
                for name, thing in vars(owner).items()
                if getattr(thing, "__module__", None) != "enum"
            )


def _is_frozen(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and params.frozen


_Question = Callable[[type], str | None]
own_of_object: _Question = functools.lru_cache(maxsize=1024)(_of_object)
own_of_named_tuple: _Question = functools.lru_cache(maxsize=1024)(_of_named_tuple)
own_of_builtin: _Question = functools.lru_cache(maxsize=1024)(_of_builtin)
