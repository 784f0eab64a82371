"""Nodes that are declared: which fields of a class are operands, regions and results.

In: a class with fields. Out: a frozen dataclass that says in which of them its parts are.

    @node
    class Load(Op):
        array: Operand = operand()
        index: tuple[Operand, ...] = operands()          load.operands   ->   (%a, %i, %j)
        out: Var = result()                              load.results    ->   (%e,)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar, dataclass_transform

_Class = TypeVar("_Class", bound=type)
_Value = TypeVar("_Value")
Parts = tuple[tuple[str, bool], ...]  # names of fields, and whether there is a tuple in them


def operand(**given: Any) -> Any:
    """A field with one operand, or None for none."""
    return dataclasses.field(metadata={"part": "operands"}, **given)


def operands(**given: Any) -> Any:
    """A field with a tuple of operands."""
    return dataclasses.field(metadata={"part": "operands", "many": True}, **given)


def region() -> Any:
    """A field with a region."""
    return dataclasses.field(metadata={"part": "regions"})


def result() -> Any:
    """A field with one result."""
    return dataclasses.field(metadata={"part": "results"})


def results() -> Any:
    """A field with a tuple of results."""
    return dataclasses.field(metadata={"part": "results", "many": True})


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(operand, operands, region, result, results)
)
def node(kind: _Class) -> _Class:
    """The class as a dataclass that compares by identity, and whose parts are those that its fields declare."""
    made: Any = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)(kind)
    for part in ("operands", "regions", "results"):
        own = [f for f in dataclasses.fields(made) if f.metadata.get("part") == part]
        setattr(made, f"_{part}_in", tuple((f.name, f.metadata.get("many", False)) for f in own))
    made._names = tuple(f.name for f in dataclasses.fields(made))
    return made  # type: ignore[no-any-return]


class once(Generic[_Value]):
    """An attribute that is worked out when it is first asked for: of what never changes."""

    def __init__(self, work: Callable[[Any], _Value]) -> None:
        self.work = work

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> _Value:
        found = owner.__dict__[self.name] = self.work(owner)
        return found
