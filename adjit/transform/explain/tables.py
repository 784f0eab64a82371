"""Tables of what was decided for one derivative: variables, decisions, values, memory, loops, array statements.

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
from adjit.transform.analysis.alias import FRESH
from adjit.transform.analysis.uses import Uses
from adjit.transform.derive.activity import carries
from adjit.transform.derive.control_only import dependences
from adjit.transform.emit.emit import variable_names
from adjit.transform.explain.formulas import Sizes, item_bytes
from adjit.transform.explain.loops import Line, at_line, lines_of, trip_of
from adjit.transform.explain.variables import Variable, outputs_of, variables
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite import notes
from adjit.transform.rewrite.notes import Provided, Record

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True)
class Array:
    """An array that the derivative makes: its name in the source, what it is for, its bytes as text and as a number.

    `loops`: the lines of the loops around it, in each trip of which it is made anew, None for those that the derivative
    has for itself. A list that grows has no number. `is_kept`: for the reverse sweep alone.
    """

    name: str
    what: str
    formula: str
    bytes: int | None
    loops: tuple[int | None, ...] = ()
    grows: bool = False
    is_kept: bool = False


@dataclass(frozen=True)
class Value:
    """A value that the reverse sweep reads, and how it gets there; `array`: where it is kept."""

    name: str
    line: int | None
    how: str
    array: Array | None = None


@dataclass(frozen=True)
class Decided:
    """A statement in which what is differentiated decides on the result, by being compared, counted or an index."""

    line: int
    text: str
    by: tuple[str, ...]


@dataclass(frozen=True)
class Tables:
    variables: tuple[Variable, ...]
    decisions: tuple[Decided, ...]
    values: tuple[Value, ...]
    arrays: tuple[Array, ...]
    loops: tuple[Line, ...]
    statements: tuple[Line, ...]
    restarts: tuple[tuple[int | None, str], ...]


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
        self.origins = {p.value: p.origin for p in self.provided if p.origin is not None}
        self.olds = {r.old: r.store for r in self.of(notes.Restored)}
        shadows = [pair for swept in self.of(notes.Swept) for pair in swept.shadows.items()]
        self.shadowed = {shadow: array for array, shadow in shadows if isinstance(array, ir.Var)}
        # by what they are for
        self.made: dict[object, Array] = {}
        self.arrays: list[Array] = []
        self.uses = function.analysis(Uses)
        for op in ir.walk(function.body):
            self.array(op)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [record for record in self.records if isinstance(record, kind)]

    def tables(self) -> Tables:
        read, taken, swept = self.of(notes.Elaborated), self.of(notes.Differentiated), self.of(notes.Swept)
        found: Sequence[Variable] = ()
        decided: Sequence[Decided] = ()
        loops: Sequence[Line] = ()
        if taken:
            program = read[-1] if read else None
            flow = dependences(taken[-1].function if program is None else program.function, self.records)
            found = variables(program, taken[-1], flow)
            made = flow.decisions(taken[-1].inputs, outputs_of(program, taken[-1]))
            decided = [Decided(one.line, one.text, tuple(p.name for p in one.by)) for one in made]
            primal = (swept or taken)[-1].function
            scheduled, remarks = self.of(notes.Scheduled), self.of(notes.Remark)
            loops = lines_of(primal, self.function, self.sizes, scheduled, remarks, with_reverse=bool(swept))
        return Tables(
            tuple(found),
            tuple(decided),
            tuple(self.values()),
            tuple(self.arrays),
            tuple(line for line in loops if not line.is_statement),
            tuple(line for line in loops if line.is_statement),
            tuple((None if each.origin is None else each.origin.line, each.why) for each in self.of(notes.Restarted)),
        )

    # ---------------------------------------------------------------------------------------------------------- memory

    def array(self, op: ir.Op) -> None:
        if not isinstance(op, (*FRESH, ir.NewTape)):
            return
        around = tuple(_line(loop.origin) for loop in self.loops(op))
        role = op.role if isinstance(op, ir.Alloc | ir.NewTape) else None
        if role is not None and role.kind == "axes" and not _has_axes(op, role):
            # it had axes until both sweeps of a trip came to be in one loop
            role = None
        is_kept = role is not None and role.kind in ("tape", "axes", "snapshots")
        for out in op.results:
            if isinstance(out.type, types.Array):
                size = self.sizes.bytes_of(out)
                made = Array(self.name(out), self.purpose(op, role), str(size), size.value, around, is_kept=is_kept)
            elif isinstance(out.type, types.List):
                grows, what = self.growth(out), self.purpose(op, role)
                made = Array(self.name(out), what, grows, None, around, grows=True, is_kept=is_kept)
            else:
                continue
            self.arrays.append(made)
            if role is not None and role.kind in ("tape", "axes"):
                self.made[role.of] = made

    def loops(self, op: ir.Op) -> list[ir.Op]:
        return [loop for loop in self.uses.around[op] if isinstance(loop, ir.For | ir.While)]

    def growth(self, tape: ir.Var) -> str:
        assert isinstance(tape.type, types.List)
        item = tape.type.dtype
        each = "an array" if isinstance(item, types.Array) else str(item_bytes(item))
        pushes = [op for op in self.uses.users.get(tape, ()) if isinstance(op, ir.Push)]
        found = [at_line(loops[-1].origin, " per iteration of ") for op in pushes if (loops := self.loops(op))]
        return each + next(filter(None, found), "")

    def purpose(self, op: ir.Op, role: ir.Role | None) -> str:
        where = at_line(op.origin, ", ")
        if role is None:
            shadowed = [self.shadowed[out] for out in op.results if out in self.shadowed]
            if shadowed:
                return f"shadow of {self.name(shadowed[0])}"
            if any(out.user for out in op.results):
                return f"your array{where}"
            return "returned" if any(out in self.function.body.yields for out in op.results) else f"temporary{where}"
        of = role.of
        if isinstance(of, ir.Op):
            return f"snapshots{at_line(of.origin, ' for the loop at ')}"
        if not isinstance(of, ir.Var):
            return role.kind
        if of in self.olds:
            return f"tape of values that {at_line(self.olds[of].origin) or 'a store'} overwrites"
        where = at_line(self.origins.get(of), ", ")
        if role.kind == "axes":
            return f"your array, with an axis per loop{where}"
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
            how = "restored, from a tape" if old in self.made else "restored, from a value that is alive"
            found.setdefault(old, Value(name, line, how, self.made.get(old)))
        yield from sorted(found.values(), key=lambda v: (v.line or 0, v.name))

    def how(self, p: Provided) -> str:
        """What became of a decision; empty if nothing of the value is left."""
        is_there, is_copied = p.value in self.defined, p.copy in self.defined
        inside = "" if p.trip is None else f", with {trip_of(p.trip)}"
        if p.value in self.made:
            return ("kept, for each iteration" if p.how == "with axes" else "taped") + inside
        if p.trip is not None and _is_made_in(p.value, p.trip):
            return f"recomputed{inside}"
        if p.how == "stepped back":
            return "restored, by a step back"
        if p.how == "lifted":
            return "kept, out of its branch" if is_copied else ""
        if is_there and (not is_copied or p.how == "taped"):
            return "alive" if p.how == "alive" else "alive in its iteration"
        if is_copied and p.how != "taped":
            return p.how if is_there else f"{p.how.removeprefix('re')} in the reverse sweep only"
        return ""


# what it takes to provide a value, in increasing order
_EFFORT = ("alive", "lifted", "stepped back", "recomputed", "reloaded", "with axes", "taped")


def _is_made_in(value: ir.Var, loop: ir.Op) -> bool:
    return any(value in region.defines for region in loop.regions)


def _line(origin: ir.Origin | None) -> int | None:
    return None if origin is None else origin.line


def _has_axes(op: ir.Op, role: ir.Role) -> bool:
    if not isinstance(op, ir.Alloc) or not isinstance(role.of, ir.Var):
        return False
    return array_type_of(op.out).ndim > array_type_of(role.of).ndim
