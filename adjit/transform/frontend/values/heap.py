"""What is known of the lists, dictionaries and objects of a program besides what is in them.

In: notes that the front end takes as it reads a program. Out: `Heap`, with a copy to come back to.

    before = ctx.heap.snapshot()
    ...                              a loop is tried out, and refused
    ctx.heap = before
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field

from adjit.transform import ir
from adjit.transform.frontend.values.values import Ref


@dataclass
class Heap:
    """Lists, dictionaries and objects by the keys of their references, and arrays by their operands.

    count:            how many have got a name
    created_in:       the loops in which each was made
    changed_in:       the loops in which each is changed
    grown_in:         the loops in which each list is made longer
    rooms:            the memory in which a loop made room, by loop and list
    escaped:          those that a growing list has taken as items
    copied_cells:     those of which a variable has what is in them
    item_changes:     how often items of a list were changed
    items_are_shared: whether items of growing lists went into another list, where they would be the same ones in Python
    in_place:         whether a list's items are being put into another order
    row_of:           of which memory of a list an array is an item
    own_rows:         copies of such arrays, which variables hold
    has_taken_rows:   whether such an array was taken as it is
    has_changed_rows: whether one was replaced or taken out
    copied_rows:      the memory that growing lists have copied as items
    stale:            those of it that such a list has changed since
    """

    count: int = 0
    created_in: dict[str, tuple[object, ...]] = field(default_factory=dict)
    changed_in: dict[str, set[object]] = field(default_factory=dict)
    grown_in: dict[str, list[object]] = field(default_factory=dict)
    rooms: dict[tuple[object, str], tuple[ir.Operand, ...]] = field(default_factory=dict)
    escaped: set[str] = field(default_factory=set)
    copied_cells: set[str] = field(default_factory=set)
    item_changes: dict[Ref, int] = field(default_factory=dict)
    items_are_shared: bool = False
    in_place: bool = False
    row_of: dict[ir.Operand, ir.Operand] = field(default_factory=dict)
    own_rows: set[ir.Operand] = field(default_factory=set)
    has_taken_rows: bool = False
    has_changed_rows: bool = False
    copied_rows: set[object] = field(default_factory=set)
    stale: set[object] = field(default_factory=set)

    def snapshot(self) -> Heap:
        """A copy, which later notes do not change."""
        known = {name: copy.copy(value) for name, value in vars(self).items()}
        known["changed_in"] = {key: set(loops) for key, loops in self.changed_in.items()}
        known["grown_in"] = {key: list(loops) for key, loops in self.grown_in.items()}
        return dataclasses.replace(self, **known)
