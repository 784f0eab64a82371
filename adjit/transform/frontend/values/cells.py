"""How variables hold lists, dictionaries and objects, and what they hold where the paths to them differ.

In: a list, a dictionary or an object. Out: what stands for it under a name of the program.

    a = []            Ref(1); what is in the list stands in the environment, under "%list1"
    p = bodies[i]     ItemRef(Ref(2), %i), where the items of a list that grows are changed
    d.items()         View(Ref(3), "items")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeGuard

from adjit.transform import ir
from adjit.transform.frontend.values.values import Composite, Kind, Value, dereference


class Container(Composite):
    """A tuple, list, dictionary or object; cell: what names know it by, if any does."""

    cell: Ref | ItemRef | View | Copied | None

    def known_by(self, cell: Ref | ItemRef | View | Copied | None) -> Self:
        return self if self.cell is cell else replace(self, cell=cell)  # type: ignore[type-var]

    def length(self) -> ir.Operand:
        return ir.integer(len(self.members))

    def structure(self) -> Self:
        return super().structure().known_by(None)


@dataclass(frozen=True)
class Ref(Kind):
    """A list, a dictionary or an object as the variables hold it that name it: what is in it now, the frame knows under
    `key`."""

    number: int

    @property
    def key(self) -> str:
        return f"{CELL}{self.number}"

    def state(self, env: Mapping[str, Value]) -> Value:
        state = env.get(self.key, MADE_BEFORE)
        return dereference(env, state).known_by(self) if isinstance(state, Container) else state  # type: ignore[union-attr]


CELL = "%list"


@dataclass(frozen=True)
class ClosureCell(Kind):
    """A variable that functions defined inside assign, as all see it that call these: its value stands under `key`."""

    number: int
    name: str

    @property
    def key(self) -> str:
        return f"{SHARED}{self.number}:{self.name}"


SHARED = "%shared"
COMMON = (CELL, SHARED)  # how keys begin under which all functions under way find the same


@dataclass(frozen=True)
class ItemRef(Composite, made_of="index"):
    """A list or an object that is an item of a list that grows, or part of one, as the variables hold it that name it.

    cell: of the list, None for one that has no name; index: of the item, from 0 on; path: which part of the item it is,
    as the places of parts in parts.
    """

    cell: Ref | None
    index: ir.Operand
    path: tuple[int, ...] = ()

    def is_beside(self, other: object) -> TypeGuard[ItemRef]:
        """Whether both are items of one list, or the same parts of them."""
        is_one = isinstance(other, ItemRef) and self.cell is not None
        return is_one and (self.cell, self.path) == (other.cell, other.path)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Copied:
    """What is known by no name: a list or an object as a copy of what is in one of several, chosen at run time."""


COPIED = Copied()


@dataclass(frozen=True)
class View(Kind):
    """`d.keys()`, `d.values()` or `d.items()` as a variable holds it: what is in the dictionary now; or, as
    'attributes', `vars(obj)`."""

    cell: Ref | ItemRef
    part: str

    def state(self, env: Mapping[str, Value]) -> Value:
        return self.of(self.cell.state(env)) if isinstance(self.cell, Ref) else self

    def of(self, state: Value) -> Value:
        """This part of a dictionary or an object."""
        return state.view(self.part) if isinstance(state, Kind) else state


@dataclass(frozen=True)
class Poison(Kind):
    """A name that holds things of different kinds, depending on the path taken, or nothing. Reading it is an error.

    is_of_trips: of one kind when a loop starts, and of another one after a trip. text: a text that is made as the
    program runs, on the path on which it was made (of `output.py`).
    """

    what = "a value whose type depends on the path taken"

    why: str
    is_deleted: bool = False
    is_of_trips: bool = False
    text: Any = None

    def structure(self) -> Poison:
        return self.elsewhere()

    def elsewhere(self) -> Poison:
        """What is known of it where paths meet."""
        return self if self.text is None else replace(self, text=None)


AWAY = Poison("A loop over a generator assigns it while the generator reads it.")
MADE_TEXT = Poison("It is a string that is only known at run time.")
# what is said of such a string that goes elsewhere
WHERE_TEXTS_GO = "Write it in the raise, assert, print, warning or log call, or remove it."
MADE_BEFORE = Poison("It is a list of an earlier iteration of the loop.")
