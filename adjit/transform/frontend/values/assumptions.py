"""What the front end assumes of a program while it reads it, and that it reads it again where an assumption fails.

In: an assumption that does not hold. Out: `Restart`, which the entry catches; it begins again with other assumptions.

    raise Restart(items_change=True)       an item of a growing list changes: variables have to name the item

The cheapest code comes from assuming the least. A program is read once more for each assumption that fails, and
`explain` lists the reasons.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from adjit import errors


@dataclass(frozen=True)
class Assumptions:
    """What is assumed of a program.

    owns_rows:     an array that a variable took from a list keeps its elements when the list takes another one
    items_change:  lists and objects in growing lists change in place; who names one reads it from there
    own_extents:   arrays and lists in growing lists have extents of their own, each one
    keeps_chosen:  lists and objects that are chosen at run time stay those that they are, as they are changed
    copies_drawn:  arrays that generators drew while the program was compiled are copied, as some are changed
    assigning:     functions that assign variables around them, and are called from other functions
    recursive:     functions that call themselves, how deep is known at run time, or their nodes
    changing:      loops that run through what they change, and how they do
    routines:      functions that take and give numbers stay functions, as the program would be long without
    """

    owns_rows: bool = False
    items_change: bool = False
    own_extents: bool = False
    keeps_chosen: bool = False
    copies_drawn: bool = False
    assigning: frozenset[cst.CSTNode] = frozenset()
    recursive: tuple[object, ...] = ()
    changing: Mapping[object, str] = field(default_factory=dict)
    routines: bool = False

    def with_also(self, **found: Any) -> Assumptions:
        """These, and what was found: a switch that is on, or more of what is listed."""
        more: dict[str, Any] = {
            "assigning": self.assigning | found.pop("assigning", frozenset()),
            "recursive": (*self.recursive, *found.pop("recursive", ())),
            "changing": {**self.changing, **found.pop("changing", {})},
        }
        return dataclasses.replace(self, **found, **more)


REASONS = {
    "owns_rows": "a variable holds an item of a list, and the list takes another one in its place",
    "items_change": "a list or an object changes that is an item of a growing list",
    "own_extents": "arrays or lists in a growing list have different lengths",
    "keeps_chosen": "a list or an object changes that was chosen at run time",
    "copies_drawn": "an array changes that was drawn while the program was compiled",
    "assigning": "a function that assigns a variable around it is called from another function",
    "recursive": "a function calls itself, how deep is known at run time",
    "changing": "a loop changes what it runs through",
    "routines": "the program is long when each call of a function is written out",
}


class Restart(Exception):
    """The program has to be read again, as an assumption failed: `found` has the fields of `Assumptions` that change.

    fault: what a call does that may never be made, written out with the others.
    """

    def __init__(self, fault: errors.AdjitError | None = None, **found: Any):
        super().__init__(*found)
        self.fault, self.found = fault, found

    @property
    def reason(self) -> str:
        return REASONS[next(iter(self.found))]
