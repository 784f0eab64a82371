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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, dataclass_transform

_Class = TypeVar("_Class", bound=type)
_Value = TypeVar("_Value")
PARTS = ("operands", "regions", "results")


def operand(memory: str = "", **given: Any) -> Any:
    """A field with one operand, or None for none; `memory`: whether what it names is "read" or "written"."""
    return dataclasses.field(metadata={"part": "operands", "memory": memory}, **given)


def operands(**given: Any) -> Any:
    """A field with a tuple of operands."""
    return dataclasses.field(metadata={"part": "operands", "many": True}, **given)


def region(**given: Any) -> Any:
    """A field with a region."""
    return dataclasses.field(metadata={"part": "regions"}, **given)


def result() -> Any:
    """A field with one result."""
    return dataclasses.field(metadata={"part": "results"})


def results(**given: Any) -> Any:
    """A field with a tuple of results."""
    return dataclasses.field(metadata={"part": "results", "many": True}, **given)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(operand, operands, region, result, results)
)
def node(kind: _Class) -> _Class:
    """The class as a dataclass that compares by identity, and whose parts are those that its fields declare."""
    made: Any = quick(dataclasses.dataclass(frozen=True, eq=False, kw_only=True)(kind))
    fields = {part: [f for f in dataclasses.fields(made) if f.metadata.get("part") == part] for part in PARTS}
    for part, own in fields.items():
        if part not in vars(made):
            _put(made, part, f"def {part}(self): return ({''.join(_read(f) for f in own)})", once)
    for f in fields["operands"]:
        if memory := f.metadata.get("memory"):
            # one is written, and any number read
            given = f"self.{f.name}" if memory == "written" else f"(self.{f.name},)"
            _put(made, f"memory_{memory}", f"def memory_{memory}(self): return {given}", once)
    if "rebuilt" not in vars(made):
        _put(made, "rebuilt", _rebuilding(dataclasses.fields(made), fields), lambda function: function)
    return made  # type: ignore[no-any-return]


def quick(kind: _Class) -> _Class:
    """The frozen dataclass, made in a third of the time: its own `__init__` asks Python to set each field."""
    fields = dataclasses.fields(kind)
    given = ", ".join(f.name + _otherwise(f) for f in fields)
    star = "*, " if fields[0].kw_only is True else ""
    lines = [f"def __init__(self, {star}{given}):", "    there, fields = self.__dict__, kind.__dataclass_fields__"]
    for f in fields:
        is_made = f.default_factory is not dataclasses.MISSING
        value = f"fields[{f.name!r}].default_factory() if {f.name} is None else {f.name}" if is_made else f.name
        lines.append(f"    there[{f.name!r}] = {value}")
    _put(kind, "__init__", "\n".join(lines), lambda f: f)
    return kind


def _otherwise(field: dataclasses.Field[Any]) -> str:
    """What stands behind a parameter that may be left out."""
    if field.default_factory is not dataclasses.MISSING:
        return "=None"
    return "" if field.default is dataclasses.MISSING else f"=kind.{field.name}"


def _put(kind: Any, name: str, text: str, wrapper: Callable[[Any], Any]) -> None:
    """Gives a class a method, by its text, as `dataclasses` does."""
    scope: dict[str, Any] = {"new": object.__new__, "kind": kind}
    exec(text, scope)
    found = wrapper(scope[name])
    setattr(kind, name, found)
    if isinstance(found, once):
        found.__set_name__(kind, name)


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.default is None


def _read(field: dataclasses.Field[Any]) -> str:
    own = f"self.{field.name}"
    if field.metadata.get("many"):
        return f"*{own}, "
    return f"*(() if {own} is None else ({own},)), " if _is_optional(field) else f"{own}, "


def _rebuilding(fields: Sequence[dataclasses.Field[Any]], parts: Mapping[str, Sequence[dataclasses.Field[Any]]]) -> str:
    """The text of a method that copies the fields, and puts the parts that it is given into those for parts.

        there['array'], *there['index'], there['value'], = operands
        there['index'] = tuple(there['index'])

    A field for many takes what the others leave; one that is None, the last of its part, stays so.
    """
    if not any(parts.values()):
        return "def rebuilt(self, operands, regions, results): return self"
    lines = ["def rebuilt(self, operands, regions, results):", "    made, own = new(kind), self.__dict__"]
    lines += ["    there = made.__dict__"]
    lines += [f"    there[{f.name!r}] = own[{f.name!r}]" for f in fields]
    for part, own in parts.items():
        many = [f.name for f in own if f.metadata.get("many")]
        targets = "".join(f"{'*' if f.name in many else ''}there[{f.name!r}], " for f in own)
        optional = [f"    if self.{f.name} is None: {part} = (*{part}, None)" for f in own if _is_optional(f)]
        lines += [*optional, f"    {targets}= {part}"] if own else []
        lines += [f"    there[{name!r}] = tuple(there[{name!r}])" for name in many]
    return "\n".join([*lines, "    return made"])


class once(Generic[_Value]):
    """An attribute that is worked out when it is first asked for: of what never changes."""

    def __init__(self, work: Callable[[Any], _Value]) -> None:
        self.work = work

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> _Value:
        found = owner.__dict__[self.name] = self.work(owner)
        return found
