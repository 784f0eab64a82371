"""Calls with lists, dictionaries and objects, planned once for each way that arguments are put together.

In: the layouts of the arguments. Out: a function that takes arguments of these layouts apart, runs the derived function
on their leaves, and puts the gradient together; for other arguments it gives `OTHER`.

    {"w": W, "b": 0.5}      if type(a0) is not dict or tuple(a0) != keys: return OTHER
                            a1, a2, = a0.values()
                            ...
                            return {"w": b1, "b": as_given(b2, a2)}

It is written as text, as walking over a layout takes ten times as long.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjit.api.arguments.types import PLAIN, SCALARS, as_given, unread
from adjit.transform.source.structures import (
    Layout,
    count,
    empty,
    in_several_places,
    is_structure,
    put_together,
    taken_apart,
)

Layouts = tuple[Layout | None, ...]
Planned = Callable[[Sequence[Any]], Any]

OTHER = object()
MOST_COMPARED = 5  # objects of one kind that are told apart pair by pair
_NUMBERS = frozenset((float, int, complex, bool)) | SCALARS
GRADIENTS = ("grad", "value_and_grad")


class Branch(NamedTuple):
    """A part of an argument that is one of its own to the derived function."""

    number: int
    layout: Layout

    @property
    def is_leaf(self) -> bool:
        return self.layout.kind in ("number", "array")


def planned(
    kind: str,
    single: bool,
    has_aux: bool,
    layouts: Layouts,
    wanted: Sequence[int | Branch],
    run: Any,
) -> Planned:
    """The function for arguments of these layouts; `run`: the derived function of their leaves, of this kind. `wanted`:
    what it differentiates with respect to, arguments by position, or parts of them."""
    writer = _Writer()
    leaves = [writer.argument(layout, f"arguments[{k}]") for k, layout in enumerate(layouts)]
    writer.apart()
    both = zip(layouts, leaves, strict=True)
    given = [_tuple(own) if layout is not None else own[0] for layout, own in both]
    parts = {one.number: one for one in wanted if isinstance(one, Branch)}
    given += [own[0] if parts[k].is_leaf else _tuple(own) for k, own in sorted(writer.branches.items())]
    # a value has NumPy's type where numbers of NumPy's went in, which only the whole call looks at
    called = run.of_leaves if kind == "grad" and not has_aux else run
    call = f"{writer.held(called)}({', '.join(given)})"
    checks = f"if {writer.held(run.outside.checked)}: {writer.held(run.outside.check_whole)}(arguments)"
    if kind not in GRADIENTS or not wanted:
        writer.line(f"value = {call}")
        writer.line(checks)
        writer.line("return value")
        return writer.made()
    bars = [writer.fresh() for _ in wanted]
    together = bars[0] if single else _tuple(bars)
    if kind == "value_and_grad":
        writer.line(f"value, {together} = {call}")
    else:
        writer.line(f"{together}, aux = {call}" if has_aux else f"{together} = {call}")
    writer.line(checks)
    found = []
    for one, bar in zip(wanted, bars, strict=True):
        if isinstance(one, int):
            found.append(writer.gradient(layouts[one], leaves[one], bar))
        elif one.is_leaf:
            found.append(f"as_given({bar}, {writer.branches[one.number][0]})")
        else:
            found.append(writer.gradient(one.layout, writer.branches[one.number], bar))
    result = found[0] if single else _tuple(found)
    if kind == "value_and_grad":
        result = f"value, {result}"
    writer.line(f"return {result}, aux" if kind == "grad" and has_aux else f"return {result}")
    return writer.made()


class _Writer:
    """The text of such a function, and what it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"OTHER": OTHER, "as_given": as_given, "NUMBERS": _NUMBERS, "array": np.ndarray}
        self.count = 0
        # lists, dictionaries and objects, by what they are known by, and whether some are taken apart as a whole
        self.references: dict[Any, list[str]] = {}
        self.is_whole = False
        self.branches: dict[int, list[str]] = {}  # the leaves of the parts of arguments that are passed beside them

    def line(self, text: str) -> None:
        self.lines.append(f"    {text}\n")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def held(self, value: Any) -> str:
        """The name of an object."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def made(self) -> Planned:
        text = f"def run(arguments):\n{''.join(self.lines)}"
        exec(compile(text, "<adjit call>", "exec", dont_inherit=True), self.scope)
        run: Planned = self.scope["run"]
        return run

    def apart(self) -> None:
        """Gives `OTHER` where a list, a dictionary or an object stands in several places."""
        if self.is_whole:
            self.unless(f"{self.held(in_several_places)}(arguments)")
            return
        for names in self.references.values():
            if len(names) > MOST_COMPARED:
                self.unless(f"len({{{', '.join(f'id({name})' for name in names)}}}) != {len(names)}")
            elif len(names) > 1:
                self.unless(" or ".join(f"{a} is {b}" for a, b in itertools.combinations(names, 2)))

    def unless(self, condition: str) -> None:
        self.line(f"if {condition}: return OTHER")

    # ---------------------------------------------------------------------------------------------------- arguments

    def argument(self, layout: Layout | None, value: str) -> list[str]:
        """The leaves of an argument; the argument itself where it is none of these."""
        name = self.fresh()
        self.line(f"{name} = {value}")
        if layout is None:
            self.unless(f"type({name}) not in {self.held(PLAIN | SCALARS)} and {self.held(is_structure)}({name})")
            return [name]
        return list(self.leaves(layout, name))

    def leaves(self, layout: Layout, name: str) -> Iterator[str]:
        """The leaves of what has this name, once it is known to be of the layout."""
        kind = layout.kind
        if kind in ("list", "table", "dict", "object"):
            self.references.setdefault(layout.of if kind == "object" else dict if kind == "dict" else list, []).append(
                name
            )
        if kind == "number":
            self.unless(f"type({name}) not in NUMBERS")
            yield name
        elif kind == "array":
            # of an array in a tuple, numba does not see in which order its bytes are
            self.unless(f"type({name}) is not array or not {name}.dtype.isnative")
            yield name
        elif kind == "branch":
            self.branches[layout.of] = list(self.leaves(layout.parts[0], name))
        elif kind == "unread":
            return  # whatever it is, nothing reads it
        elif kind == "static":
            own, of = self.held(layout.of), self.held(type(layout.of))
            self.unless(f"{name} is not {own} and (type({name}) is not {of} or {name} != {own})")
        elif kind == "table" and layout.parts[0].kind == "number":
            column = self.fresh()
            self.line(f"{column} = {self.held(_column)}({name}, {self.held(layout.parts[0].of)})")
            self.unless(f"{column} is None")
            yield column
        elif kind in ("tuple", "list"):
            own = self.held(list if kind == "list" else layout.of or tuple)
            self.unless(f"type({name}) is not {own} or len({name}) != {len(layout.parts)}")
            yield from self.parts(layout, name)
        elif kind == "dict":
            self.unless(f"type({name}) is not dict or tuple({name}) != {self.held(layout.keys)}")
            yield from self.parts(layout, f"{name}.values()")
        elif kind == "object" and _is_simple(layout):
            self.unless(f"type({name}) is not {self.held(layout.of)}")
            state = self.fresh()
            self.line(f"{state} = {name}.__dict__")
            self.unless(f"tuple({state}) != {self.held(layout.keys)}")
            yield from self.parts(layout, f"{state}.values()")
        else:
            self.is_whole = True
            taken = self.fresh()
            self.line(f"{taken} = []")
            self.unless(f"{self.held(_taken_apart)}({name}, {taken}) != {self.held(layout)}")
            names = [self.fresh() for _ in range(count(layout))]
            self.line(f"{_tuple(names)} = {taken}")
            yield from names

    def parts(self, layout: Layout, values: str) -> Iterator[str]:
        names = [self.fresh() for _ in layout.parts]
        if names:
            self.line(f"{_tuple(names)} = {values}")
        for part, name in zip(layout.parts, names, strict=True):
            yield from self.leaves(part, name)

    # ---------------------------------------------------------------------------------------------------- gradients

    def gradient(self, layout: Layout | None, leaves: Sequence[str], bar: str) -> str:
        """What is returned with respect to an argument, from what the derived function gives for it."""
        if layout is None:
            return f"as_given({bar}, {leaves[0]})"
        bars = [self.fresh() for _ in leaves]
        if bars:
            self.line(f"{_tuple(bars)} = {bar}")
        return self.together(layout, iter(leaves), iter(bars))

    def together(self, layout: Layout, leaves: Iterator[str], bars: Iterator[str]) -> str:
        kind = layout.kind
        if kind == "number":
            leaf, bar = next(leaves), next(bars)
            return f"({bar} if type({bar}) is type({leaf}) else 0 if {bar} is None else as_given({bar}, {leaf}))"
        if kind == "array":
            bar, _ = next(bars), next(leaves)
            return f"(0 if {bar} is None else {bar})"
        if kind in ("static", "unread"):
            return self.held(layout.of)
        if kind == "table" or (kind == "object" and not _is_simple(layout)):
            own = [next(bars) for _ in range(count(layout))]
            given = [next(leaves) for _ in own]
            values = ", ".join(f"0 if {b} is None else as_given({b}, {a})" for b, a in zip(own, given, strict=True))
            return f"{self.held(put_together)}({self.held(layout)}, iter([{values}]))"
        parts = [self.together(part, leaves, bars) for part in layout.parts]
        if kind == "list":
            return f"[{', '.join(parts)}]"
        if kind == "tuple":
            return _tuple(parts) if layout.of is None else f"{self.held(layout.of)}({', '.join(parts)})"
        both = zip(layout.keys, parts, layout.parts, strict=True)
        named = ", ".join(f"{self.held(key)}: {part}" for key, part, own in both if own.kind != "unread")
        return f"{{{named}}}" if kind == "dict" else f"{self.held(_made)}({self.held(layout.of)}, {{{named}}})"


def _tuple(parts: Sequence[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


def _column(items: Any, kind: type | None) -> Any:
    """A list of numbers as an array; None where these are others."""
    if type(items) is not list:
        return None
    kinds = set(map(type, items))
    if len(kinds) != 1 or kinds.pop() not in ((float, int) if kind is None else (kind,)):
        return None
    return np.array(items)


def _taken_apart(value: Any, leaves: list[Any]) -> Layout | None:
    """The layout of a value, None where it has none: that is said where all arguments are looked at."""
    try:
        return taken_apart(value, leaves, unread=unread)
    except TypeError:
        return None


def _is_simple(layout: Layout) -> bool:
    """Whether objects of this layout are what is in their `__dict__`."""
    kind: Any = layout.of
    is_plain = all(not hasattr(inspect.getattr_static(kind, name, None), "__set__") for name in layout.keys)
    has_slots = any("__slots__" in vars(base) for base in kind.__mro__[:-1])
    has_state = not dataclasses.is_dataclass(kind) or is_plain
    return has_state and not has_slots


def _made(kind: Any, state: dict[str, Any]) -> Any:
    made = empty(kind)
    made.__dict__.update(state)
    return made
