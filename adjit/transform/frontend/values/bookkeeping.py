"""What the front end notes of lists, arrays, numbers, arguments, loops and names while it reads a program.

In: notes, as values are made. Out: records, one for each of these, which the context holds.

    ctx.arrays.shapes[array]      its extents, as operands
    ctx.loop.around               the loops around what is being read
    before = ctx.heap.snapshot()  what is known of lists, to come back to it after a loop is tried out
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjit.transform import ir
from adjit.transform.frontend.values.cells import Ref
from adjit.transform.frontend.values.numbers import Complex
from adjit.transform.frontend.values.values import Value
from adjit.transform.source.external_reads import Changed


@dataclass
class Heap:
    """What is known of lists, dictionaries and objects, by the keys of their references, besides what is in them.

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


@dataclass
class ArrayNotes:
    """
    shapes:      the extents of each array
    roots:       the memory that each may be a view of
    has_small:   whether some array has numbers of few bits, as many as NumPy's products of them with Python's have
    given:       the arguments
    looked_at:   arrays that were met before their shape was known, and the operations that their extents stand in
    shortened:   the extent that is left of another without so many elements, and the operations that it is made in
    at_most_one: extents of slices such as [:1]
    overlapping: copies that stand for views in which elements stand several times
    distinct:    arrays of integers that are all different, as the user promises
    complex_globals: the real and imaginary parts of global arrays
    record_globals:  the fields and parts of global arrays of records, beside these
    """

    shapes: dict[ir.Operand, tuple[ir.Operand, ...]] = field(default_factory=dict)
    roots: dict[ir.Var, frozenset[object]] = field(default_factory=dict)
    has_small: bool = False
    given: frozenset[object] = frozenset()
    looked_at: dict[ir.Operand, list[ir.Op]] = field(default_factory=dict)
    shortened: dict[tuple[ir.Operand, int], tuple[ir.Operand, list[ir.Op]]] = field(default_factory=dict)
    at_most_one: set[ir.Operand] = field(default_factory=set)
    overlapping: set[object] = field(default_factory=set)
    distinct: set[ir.Operand] = field(default_factory=set)
    complex_globals: dict[int, Complex] = field(default_factory=dict)
    record_globals: dict[tuple[int, str], tuple[Any, Value]] = field(default_factory=dict)


@dataclass
class NumberNotes:
    """
    of_two_kinds: numbers that are floats here, and in Python integers on one path
    of_views:     numbers that NumPy gives as views of rank 0
    whose:        whether numbers are Python's, or else NumPy's, where what makes them does not tell; None if either
    as_floats:    integers that are others, or none, as floats: what makes them so
    """

    of_two_kinds: set[ir.Operand] = field(default_factory=set)
    of_views: set[ir.Operand] = field(default_factory=set)
    whose: dict[ir.Operand, bool | None] = field(default_factory=dict)
    as_floats: dict[ir.Operand, Callable[[], ir.Operand]] = field(default_factory=dict)


@dataclass
class ArgumentNotes:
    """
    same:     what stands in several places of the arguments: by a reference to each, the number that all have and what
              is in it
    at:       where in the arguments lists, dictionaries and objects stand, by the keys of their references
    columns:  where lists of arrays do that are one array here, by the parameter and the place among its leaves
    defaults: parameters whose default is a list, by what the function is called with
    drawn:    the arrays that generators drew while the program was compiled, by identity
    """

    same: dict[Ref, tuple[int, Value]] = field(default_factory=dict)
    at: dict[str, Changed] = field(default_factory=dict)
    columns: dict[tuple[str, int], Changed] = field(default_factory=dict)
    defaults: dict[Value, str] = field(default_factory=dict)
    drawn: dict[int, Any] = field(default_factory=dict)


@dataclass
class LoopState:
    """
    around:       the loops around what is read
    bodies:       of each of these, its operations so far and what it carries
    runs:         those that run through lists, of mutation_during_iteration.py
    trips:        how many the innermost loop makes, where that is known
    in_prange:    whether one of them is over prange
    sides:        the open regions that are run through once, as sides of branches are
    taking:       what is run through item by item
    holds_values: whether a function was made in a loop, which may hold values of a trip
    """

    around: list[object] = field(default_factory=list)
    bodies: list[tuple[list[ir.Op], frozenset[ir.Operand]]] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)
    trips: ir.Operand | None = None
    in_prange: bool = False
    sides: int = 0
    taking: int = 0
    holds_values: bool = False


@dataclass
class NameNotes:
    """
    called:  what the user calls a value that has no name, and where
    bound:   every binding of a variable of the user's: its name, the statement, the numbers and arrays in its value
    derived: what derivatives that the program makes itself take and give
    """

    called: dict[ir.Var, tuple[str, ir.Origin | None]] = field(default_factory=dict)
    bound: list[tuple[str, ir.Origin | None, Value]] = field(default_factory=list)
    derived: list[tuple[Sequence[ir.Operand], Sequence[ir.Operand]]] = field(default_factory=list)
