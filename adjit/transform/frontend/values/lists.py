"""Tuples and lists: of items that are known one by one, or of so many as the program finds.

In: items. Out: the value of a tuple or a list.

    (x, 2)                            TupleValue((%x, 2))
    [x, 2]                            TupleValue((%x, 2), is_list=True)
    for x in a: out.append(x)         GrowableList(LEAF, (%buffer,), %count)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from adjit.transform import ir
from adjit.transform.frontend.values.cells import Container, Copied, ItemRef, Ref, View
from adjit.transform.frontend.values.values import (
    LEAF,
    Composite,
    Hole,
    Structure,
    Value,
    leaf_count,
    leaves_of,
    parts_of,
    rebuild,
    structure,
)


class Fields(tuple[str, ...]):
    """The names that a named tuple has for its items; `of`: its class."""

    of: type

    def __new__(cls, of: type) -> Fields:
        made = super().__new__(cls, of._fields)  # type: ignore[attr-defined]
        made.of = of
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.of is other.of

    def __hash__(self) -> int:
        return hash(self.of)


def fields_of(kind: Any) -> tuple[str, ...]:
    """The fields of a class of named tuples; none of any other."""
    return Fields(kind) if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields") else ()


@dataclass(frozen=True)
class TupleValue(Container, made_of="items"):
    """A tuple (or, with `is_list`, a list) of values; `fields`: the names that a named one has for them."""

    items: tuple[Value, ...]
    is_list: bool = False
    fields: tuple[str, ...] = ()
    cell: Ref | ItemRef | View | Copied | None = None

    @property
    def classes(self) -> tuple[type, ...]:
        return (self.fields.of if isinstance(self.fields, Fields) else list if self.is_list else tuple,)

    def describe(self) -> str:
        if self.fields:
            return f"a named tuple of {', '.join(self.fields)}"
        return f"{'a list' if self.is_list else 'a tuple'} of {len(self.items)}"

    def flatten(self) -> list[Value]:
        return [part for one in self.items for part in parts_of(one)]


@dataclass(frozen=True)
class GrowableList(Container, made_of="buffers count"):
    """A list whose length is known at run time only: of items that are put together like `item`, of which each leaf has
    an array, with one more axis in front, of which the first `count` belong to the list.

    shares: the lists whose items these are in Python, of which there are copies here.
    """

    what, grows, classes = "a list", True, (list,)

    item: Structure
    buffers: tuple[ir.Operand, ...]
    count: ir.Operand
    cell: Ref | ItemRef | View | Copied | None = None
    shares: frozenset[Ref] = frozenset()

    def structure(self) -> GrowableList:
        return list_of(rebuild(self.item, (Hole(axes=structure(one).axes - 1) for one in self.buffers)))

    def length(self) -> ir.Operand:
        return self.count

    def columns(self) -> list[GrowableList]:
        """The list of each part of all items."""
        rest = iter(self.buffers)
        return [GrowableList(p, tuple(itertools.islice(rest, leaf_count(p))), self.count) for p in self.item.members]


List = TupleValue | GrowableList


@dataclass(frozen=True)
class Row(Composite, made_of="numbers"):
    """A list of numbers that is an item of a list, in all of which there are as many."""

    numbers: ir.Operand


@dataclass(frozen=True)
class Ragged(Composite, made_of="array extents"):
    """An array, or a list of numbers, that is an item of a list and has extents of its own."""

    array: ir.Operand
    extents: tuple[ir.Operand, ...]
    is_list: bool


ROW = Ragged(LEAF, (LEAF,), is_list=True)  # a list of numbers in a list, of a length of its own


def is_list(value: Value) -> TypeGuard[List]:
    return isinstance(value, GrowableList) or (isinstance(value, TupleValue) and value.is_list)


def is_tuple(value: Value) -> TypeGuard[TupleValue]:
    return isinstance(value, TupleValue) and not value.is_list


def list_in(value: Value) -> List:
    """A value that is a list or a tuple, as one."""
    assert isinstance(value, List)
    return value


def items_or_one(value: Value) -> tuple[Value, ...]:
    """What is in a tuple or a list, or a value that stands there alone."""
    return value.items if isinstance(value, TupleValue) else (value,)


def list_of(item: Structure) -> GrowableList:
    """How a list of such items is put together."""
    return GrowableList(item, tuple(leaves_of(item)), LEAF)


def items_in(shape: Structure) -> Sequence[Structure]:
    """How the items of a list are put together: each of them, or all."""
    return (shape.item,) if isinstance(shape, GrowableList) else shape.members
