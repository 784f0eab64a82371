"""Python objects that are known while compiling, and methods and iterators, which are known by what they do.

In: an object from outside, or what the program makes of one. Out: the value that stands for it.

    math.sin, None, "text", np.float64      Static
    rng.normal                              Method(RuntimeGenerator(...), "normal")
    steps(x0)                               Static(Stream("steps", run=...))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, TypeGuard

from adjit.transform import ir
from adjit.transform.frontend.values.cells import ItemRef, Ref
from adjit.transform.frontend.values.values import Kind, Value


@dataclass(frozen=True)
class Static(Kind):
    """A Python object known at compile time: a function, a module, None, a string, a dtype."""

    value: Any

    @property
    def classes(self) -> tuple[type, ...]:
        return (type(self.value),)

    def describe(self) -> str:
        thing = self.value
        if thing is None or thing is Ellipsis:
            return "None" if thing is None else "`...`"
        if isinstance(thing, str | StringArray):
            return "a string" if isinstance(thing, str) else "an array of strings"
        if isinstance(thing, Stream):
            return f"an iterator, of {thing.__name__}"
        name = getattr(thing, "__name__", None) or getattr(thing, "name", None)
        if isinstance(thing, ModuleType):
            return f"the module {name}"
        if isinstance(thing, type):
            return f"the class {name}"
        return f"the function {name}" if isinstance(name, str) else f"an object of type {type(thing).__name__}"


class Followed:
    """A function that is known by its text and the variables that it sees."""


@dataclass(frozen=True, eq=False)
class StringArray:
    """An array of texts, in a `Static`."""

    array: Any


@dataclass(frozen=True)
class RuntimeGenerator(Static):
    """A generator of random numbers that is an argument, so that it draws when the program runs."""

    generator: ir.Var

    def describe(self) -> str:
        return "a generator of random numbers"


@dataclass(frozen=True, eq=False)
class Stream:
    """What gives its items once, one after the other: what a call of a generator makes, of map, of zip.

    run: how a generator is run through. make: of anything else, all that it runs over, worked out where that begins.
    ends: whether all items of a generator may be made at once, as it runs over lists. nests: whether it makes them in
    nested loops, in which a list that grows would move. at: its item at a place, of one that `next` may take by itself.
    spent: the cell that says whether it was run through, or how many `next` has taken, of one that a variable holds.
    through: the lists that it looks at as it is run through.
    """

    __name__: str
    run: Callable[..., None] | None = None
    make: Callable[..., Value] | None = None
    ends: bool = False
    nests: bool = False
    at: Callable[[ir.Operand], Value] | None = None
    spent: Ref | None = None
    through: frozenset[Ref | ItemRef] = frozenset()


@dataclass(frozen=True)
class Method(Kind):
    """`value.name` before it is called."""

    owner: Value
    name: str

    def describe(self) -> str:
        return f"the method `{self.name}`"


def object_of(value: Value | None) -> Any:
    """The object that a value is; None of what is not known."""
    return value.value if isinstance(value, Static) else None


def is_none(value: Value | None) -> bool:
    """Whether it is None itself, or not given."""
    return value is None or (isinstance(value, Static) and value.value is None)


def stands_for(value: Value | None, of: Any) -> TypeGuard[Static]:
    """Whether it is an object of this class, which is known."""
    return isinstance(value, Static) and isinstance(value.value, of)


def as_stream(value: Value) -> Stream | None:
    return value.value if stands_for(value, Stream) else None


def may_be_chosen(value: Value) -> bool:
    """Whether it is a function, a text, a member of an enumeration or None."""
    if not isinstance(value, Static):
        return False
    thing = value.value
    return thing is None or isinstance(thing, str | Enum | Followed) or callable(thing)
