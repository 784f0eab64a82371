"""What the front end notes of arrays, numbers, arguments, loops and names while it reads a program.

In: notes, as values are made. Out: records, one for each of these, which the context holds.

    ctx.arrays.shapes[array]      its extents, as operands
    ctx.loop.around               the loops around what is being read
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjit.transform import ir
from adjit.transform.frontend.values.values import Complex, Ref, Value
from adjit.transform.source.external_reads import Changed


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
