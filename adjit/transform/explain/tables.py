"""Tables of what was decided for one derivative: variables, values, memory, loops, array statements.

In: the derivative's IR, what the passes noted while they made it (`notes.py`), and the arguments' values if there are
any. Out: `Tables`. What is said of a value is what became of it in the end: a tape that fusion made superfluous is no
tape, and the sizes are those of the arrays that the final IR makes.

    Provided(%exp, "taped"), and no tape of it in the IR        exp  L70  alive in its trip
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from numba import types

from adjit.transform import ir
from adjit.transform.derive.activity import carries
from adjit.transform.emit.emit import variable_names
from adjit.transform.explain.formulas import Sizes, item_bytes
from adjit.transform.explain.loops import Line, lines_of, trip_of
from adjit.transform.explain.variables import Variable, variables
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.notes import (
    Differentiated,
    Elaborated,
    Provided,
    Record,
    Remark,
    Restored,
    Scheduled,
    Swept,
)

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True)
class Array:
    """An array that the derivative makes: its name in the source, what it is for, its bytes as text and as a number.

    `loops`: the lines of the loops around it, in each trip of which it is made anew, None for those that the derivative
    has for itself. A list that grows has no number.
    """

    name: str
    what: str
    formula: str
    bytes: int | None
    loops: tuple[int | None, ...] = ()
    grows: bool = False


@dataclass(frozen=True)
class Value:
    """A value that the reverse sweep reads, and how it gets there; `array`: where it is kept."""

    name: str
    line: int | None
    how: str
    array: Array | None = None


@dataclass(frozen=True)
class Tables:
    variables: tuple[Variable, ...]
    values: tuple[Value, ...]
    arrays: tuple[Array, ...]
    loops: tuple[Line, ...]
    statements: tuple[Line, ...]


def tables(function: ir.Function, records: Sequence[Record], values: Mapping[ir.Var, Any]) -> Tables:
    """`values`: of the leaves of the parameters, as far as they are known."""
    return _Explaining(function, records, values).tables()


class _Explaining:
    def __init__(self, function: ir.Function, records: Sequence[Record], values: Mapping[ir.Var, Any]):
        self.function = function
        self.records = records
        self.name = variable_names(function)
        self.sizes = Sizes(function, self.name, values)
        self.defined = function.body.defines
        self.provided = self.of(Provided)
        self.lines = {p.value: p.origin.line for p in self.provided if p.origin is not None}
        self.olds = {r.old: r.store for r in self.of(Restored)}
        self.shadowed = {
            shadow: array for s in self.of(Swept) for array, shadow in s.shadows.items() if isinstance(array, ir.Var)
        }
        # by what they are for
        self.made: dict[object, Array] = {}
        self.arrays: list[Array] = []
        for op, loops in _with_loops(function.body, ()):
            self.array(op, loops)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [record for record in self.records if isinstance(record, kind)]

    def tables(self) -> Tables:
        read, taken, swept = self.of(Elaborated), self.of(Differentiated), self.of(Swept)
        found: Sequence[Variable] = ()
        loops: Sequence[Line] = ()
        if taken:
            found = variables(read[-1] if read else None, taken[-1])
            primal = swept[-1].function if swept else taken[-1].function
            loops = lines_of(
                primal, self.function, self.sizes, self.of(Scheduled), self.of(Remark), with_reverse=bool(swept)
            )
        return Tables(
            tuple(found),
            tuple(self.values()),
            tuple(self.arrays),
            tuple(line for line in loops if not line.is_statement),
            tuple(line for line in loops if line.is_statement),
        )

    # ---------------------------------------------------------------------------------------------------------- memory

    def array(self, op: ir.Op, loops: tuple[ir.Op, ...]) -> None:
        around = tuple(_line(loop.origin) for loop in loops)
        role = op.role if isinstance(op, ir.Alloc | ir.NewTape) else None
        if role is not None and role.kind == "axes" and not _has_axes(op, role):
            # it had axes until both sweeps of a trip came to be in one loop
            role = None
        if isinstance(op, ir.NewTape):
            found = Array(self.name(op.out), self.purpose(op, role), self.growth(op), None, around, grows=True)
            self.add(found, role)
            return
        if not isinstance(op, ir.Alloc | ir.Copy | ir.Call):
            return
        for out in op.results:
            if isinstance(out.type, types.Array):
                size = self.sizes.bytes_of(out)
                self.add(Array(self.name(out), self.purpose(op, role), str(size), size.value, around), role)

    def add(self, array: Array, role: ir.Role | None) -> None:
        self.arrays.append(array)
        if role is not None and role.kind in ("tape", "axes"):
            self.made[role.of] = array

    def growth(self, op: ir.NewTape) -> str:
        assert isinstance(op.out.type, types.List)
        item = op.out.type.dtype
        each = "an array" if isinstance(item, types.Array) else str(item_bytes(item))
        for other, loops in _with_loops(self.function.body, ()):
            if isinstance(other, ir.Push) and other.tape is op.out and loops and loops[-1].origin is not None:
                return f"{each} a trip of L{loops[-1].origin.line}"
        return each

    def purpose(self, op: ir.Op, role: ir.Role | None) -> str:
        where = "" if op.origin is None else f", L{op.origin.line}"
        if role is None:
            shadowed = [self.shadowed[out] for out in op.results if out in self.shadowed]
            if shadowed:
                return f"shadow of {self.name(shadowed[0])}"
            if any(out.user for out in op.results):
                return f"your array{where}"
            return "returned" if any(out in self.function.body.yields for out in op.results) else f"temporary{where}"
        of = role.of
        if isinstance(of, ir.Op):
            return "snapshots" + ("" if of.origin is None else f" for the loop at L{of.origin.line}")
        if not isinstance(of, ir.Var):
            return role.kind
        if of in self.olds:
            store = self.olds[of]
            line = "a store" if store.origin is None else f"L{store.origin.line}"
            return f"tape of what {line} overwrites"
        own = self.lines.get(of)
        where = "" if own is None else f", L{own}"
        if role.kind == "axes":
            return f"your array, with axes for loops{where}"
        return f"{role.kind} of {self.name(of)}{where if role.kind == 'tape' else ''}"

    # ---------------------------------------------------------------------------------------------------------- values

    def values(self) -> Iterator[Value]:
        """One for each version of a variable that a line makes, and one for each tape."""
        found: dict[object, Value] = {}
        for p in sorted(self.provided, key=lambda p: _EFFORT.index(p.how), reverse=True):
            how = "" if p.value in self.olds else self.how(p)
            if how and ((p.value.user and carries(p.value.type)) or p.value in self.made):
                line = _line(p.origin)
                if line is None and p.trip is not None and _is_made_in(p.value, p.trip):
                    line = _line(p.trip.origin)
                name = p.value.name if p.value.user else self.name(p.value)
                array = self.made.get(p.value)
                found.setdefault(array or (name, line), Value(name, line, how, array))
        for old, store in self.olds.items():
            line = _line(store.origin)
            name = self.name(store.array) if isinstance(store.array, ir.Var) else "array"
            how = "restored, from a tape" if old in self.made else "restored, from a value that is there"
            found.setdefault(old, Value(name, line, how, self.made.get(old)))
        yield from sorted(found.values(), key=lambda v: (v.line or 0, v.name))

    def how(self, p: Provided) -> str:
        """What became of a decision; empty if nothing of the value is left."""
        is_there, is_copied = p.value in self.defined, p.copy in self.defined
        if p.value in self.made:
            return _inside("kept, each trip's" if p.how == "with axes" else "taped", p)
        if p.trip is not None and _is_made_in(p.value, p.trip):
            return _inside("computed again", p)
        if p.how == "stepped back":
            return "stepped back"
        if p.how == "lifted":
            return "kept, out of its branch" if is_copied else ""
        if is_there and (not is_copied or p.how == "taped"):
            return "alive" if p.how == "alive" else "alive in its trip"
        if is_copied and p.how != "taped":
            return p.how if is_there else f"{p.how.removesuffix(' again')} in the reverse sweep only"
        return ""


# what it takes to provide a value, in increasing order
_EFFORT = ("alive", "lifted", "stepped back", "computed again", "loaded again", "with axes", "taped")


def _is_made_in(value: ir.Var, loop: ir.Op) -> bool:
    return any(value in region.defines for region in loop.regions)


def _line(origin: ir.Origin | None) -> int | None:
    return None if origin is None else origin.line


def _has_axes(op: ir.Op, role: ir.Role) -> bool:
    if not isinstance(op, ir.Alloc) or not isinstance(role.of, ir.Var):
        return False
    return array_type_of(op.out).ndim > array_type_of(role.of).ndim


def _inside(how: str, p: Provided) -> str:
    if p.trip is None:
        return how
    return f"{how}, with {trip_of(p.trip)}"


def _with_loops(region: ir.Region, loops: tuple[ir.Op, ...]) -> Iterator[tuple[ir.Op, tuple[ir.Op, ...]]]:
    for op in region.ops:
        yield op, loops
        for inner in op.regions:
            yield from _with_loops(inner, (*loops, op) if isinstance(op, ir.For | ir.While) else loops)
