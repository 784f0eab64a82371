"""Dictionaries, sets and queues, of keys that are known or found at run time; objects, which are known by attributes.

In: keys and items. Out: the value of a dictionary, a set, a queue or an object.

    {"k": x}                 KnownDict(("k",), (%x,))
    Spring(k=x)              Instance(("k",), (%x,), of=Spring)
    d = {}; d[k] = x         RuntimeDict("dict", <the list of the pairs (%k, %x)>)
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeGuard

from adjit.transform import ir
from adjit.transform.frontend.values.cells import Container, Copied, ItemRef, Ref, View
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, fields_of, is_list
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, dereference, parts_of
from adjit.transform.ir.types import const


@dataclass(frozen=True)
class Record(Container, made_of="items"):
    """What has its items under keys that are known."""

    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    cell: Ref | ItemRef | View | Copied | None = None

    def get(self, key: Any) -> Value | None:
        return self.items[self.keys.index(key)] if key in self.keys else None

    def with_item(self, key: Any, value: Value) -> Self:
        if key not in self.keys:
            return replace(self, keys=(*self.keys, key), items=(*self.items, value))
        place = self.keys.index(key)
        return replace(self, items=(*self.items[:place], value, *self.items[place + 1 :]))

    def without(self, key: Any) -> Self:
        place = self.keys.index(key)
        keys = self.keys[:place] + self.keys[place + 1 :]
        return replace(self, keys=keys, items=self.items[:place] + self.items[place + 1 :])

    def flatten(self) -> list[Value]:
        return [part for one in self.items for part in parts_of(one)]


class KnownDict(Record):
    """A dictionary of keys that are known."""

    what, classes = "a dictionary", (dict,)

    def view(self, part: str) -> Value:
        return as_table(self).view(part)


@dataclass(frozen=True)
class Instance(Record):
    """An object of the class `of`: what it has as the attribute of each name."""

    of: type = object

    @property
    def classes(self) -> tuple[type, ...]:
        return (self.of,)

    def describe(self) -> str:
        return f"an object of the class {self.of.__name__}"

    def view(self, part: str) -> Value:
        cell = View(self.cell, part) if isinstance(self.cell, Ref | ItemRef) else self.cell
        return KnownDict(self.keys, self.items, cell) if part == "attributes" else self


@dataclass(frozen=True)
class RuntimeDict(Container, made_of="items limit"):
    """A dictionary, a set or a queue whose members are found at run time: the list of its pairs, members or items.

    kind: 'dict', 'set' or 'deque'; or 'iterator' of a list, with the place that it has come to as its limit. default:
    what makes the value of a key that a dictionary lacks; limit: how many items a queue takes.
    """

    grows = True

    kind: str
    items: List
    default: Static | None = None
    limit: ir.Operand | None = None
    cell: Ref | ItemRef | Copied | None = None

    @property
    def classes(self) -> tuple[type, ...]:
        of_default = Counter if self.default == Static(Counter) else defaultdict
        return ({"dict": dict if self.default is None else of_default, "set": set, "deque": deque}[self.kind],)

    def length(self) -> ir.Operand:
        return self.items.length()

    def describe(self) -> str:
        return {"dict": "a dictionary", "set": "a set", "deque": "a deque", "iterator": "an iterator"}[self.kind]

    def state(self, env: Mapping[str, Value]) -> Value:
        whole = dereference(env, self.items)
        return replace(self, items=whole) if isinstance(whole, List) else self

    def view(self, part: str) -> Value:
        cell = View(self.cell, part) if isinstance(self.cell, Ref | ItemRef) else None
        if isinstance(self.items, GrowableList):
            whole = self.items if part == "items" else self.items.columns()[part == "values"]
            return replace(whole, cell=cell)
        if part == "items":
            return TupleValue(self.items.items, cell=cell)
        pairs: Any = self.items.items
        return TupleValue(tuple(pair.items[part == "values"] for pair in pairs), cell=cell)

    def flatten(self) -> list[Value]:
        return parts_of(self.items)


def open_reference(env: Mapping[str, Value], value: Value) -> Value:
    """A list of known length or an object with what is in it now, its own lists and objects by reference."""
    if not isinstance(value, Ref):
        return value
    state = env.get(value.key)
    return state.known_by(value) if isinstance(state, TupleValue | Record) else value


def any_order(value: Value) -> Value:
    """The members of a set, for what does not ask for their order; anything else as it is."""
    return replace(value.items, cell=None) if isinstance(value, RuntimeDict) and value.kind == "set" else value


def as_list(value: Value) -> Value:
    """The list of what is in a dictionary, a set or a queue; anything else as it is."""
    return value.items if isinstance(value, RuntimeDict) else value


def as_record(keys: tuple[Any, ...], items: tuple[Value, ...], of: type | None) -> Record:
    """An object of that class, of None a dictionary."""
    return KnownDict(keys, items) if of is None else Instance(keys, items, of=of)


def is_keyed(value: Value) -> TypeGuard[KnownDict | RuntimeDict]:
    """Whether it is a dictionary, a set or a queue."""
    return isinstance(value, KnownDict | RuntimeDict)


def as_table(value: Value) -> RuntimeDict:
    """A dictionary of constant keys as one to which others may come."""
    if isinstance(value, KnownDict):
        return RuntimeDict("dict", pairs_of(value), cell=None if isinstance(value.cell, View) else value.cell)
    assert isinstance(value, RuntimeDict)
    return value


def key_value(key: Any) -> Value:
    """The value that stands for a constant key."""
    if isinstance(key, tuple):
        return TupleValue(tuple(map(key_value, key)), fields=fields_of(type(key)))
    return const(key) if isinstance(key, bool | int | float) else Static(key)


def pairs_of(value: KnownDict) -> TupleValue:
    """The keys of a dictionary, with what it has under them."""
    pairs = zip(map(key_value, value.keys), value.items, strict=True)
    return TupleValue(tuple(map(TupleValue, pairs)), is_list=True)


def is_mutable(value: Value) -> TypeGuard[TupleValue | GrowableList | Record | RuntimeDict]:
    """Whether it is a list, a dictionary or an object, of which all who have it see what becomes of it."""
    return is_list(value) or isinstance(value, Record | RuntimeDict)
