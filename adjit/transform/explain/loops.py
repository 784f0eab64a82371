"""What was made of each loop of the program, and of each array statement, which is a loop too.

In: the forward sweep, the derivative's IR, and what the passes noted. Out: a `Line` for each.

    for t in range(steps):    L35    forward, then backwards: a trip's `alpha_bar` ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import has_one_trip
from adjit.transform.explain.formulas import Sizes
from adjit.transform.rewrite.notes import Remark, Scheduled

FUSED = "both sweeps in one loop, iteration by iteration"
BOTH = "forward loop, then reverse loop"


@dataclass(frozen=True)
class Line:
    """`depth`: how many loops are around it. `is_statement`: an array statement."""

    line: int
    text: str
    depth: int
    strategy: str
    why: str
    is_statement: bool


def lines_of(
    primal: ir.Function,
    function: ir.Function,
    sizes: Sizes,
    scheduled: Sequence[Scheduled],
    remarks: Sequence[Remark],
    with_reverse: bool,
) -> list[Line]:
    """The loops of the primal in their order; several of one array statement with the same fate are one line."""
    table = _Table(function, sizes, scheduled, with_reverse)
    found = list(dict.fromkeys(table.region(primal.body, 0, None)))
    for k, line in enumerate(found):
        own = dict.fromkeys(r.text for r in remarks if r.origin is not None and r.origin.line == line.line)
        found[k] = dataclasses.replace(line, why="; ".join((*filter(None, (line.why,)), *own)))
    return found


class _Table:
    def __init__(self, function: ir.Function, sizes: Sizes, scheduled: Sequence[Scheduled], with_reverse: bool):
        self.sizes = sizes
        self.scheduled = {s.loop: s for s in scheduled}
        self.with_reverse = with_reverse
        loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For)]
        self.mirrored = {op.pair for op in loops if op.is_mirror}
        self.forward = {op.pair for op in loops if not op.is_mirror and op.pair is not None}
        self.whiles = {op.origin for op in ir.walk(function.body) if isinstance(op, ir.While)}
        self.snapshots = {
            op.role.of: op.shape[0]
            for op in ir.walk(function.body)
            if isinstance(op, ir.Alloc) and op.role is not None and op.role.kind == "snapshots"
        }

    def region(self, region: ir.Region, depth: int, again: ir.Op | None) -> Iterator[Line]:
        """`again`: the loop around the region that is run again."""
        for op in region.ops:
            inside, rerun = depth, again
            if isinstance(op, ir.For | ir.While):
                inside += 1
                own = self.scheduled.get(op)
                if own is not None and own.way == "run again":
                    rerun = op
                if op.origin is not None:
                    line = self.line(op, op.origin, depth, again)
                    yield line
                    if line.is_statement:
                        # the loops of one statement are told of once
                        continue
            for inner in op.regions:
                yield from self.region(inner, inside, rerun)

    def line(self, op: ir.For | ir.While, origin: ir.Origin, depth: int, again: ir.Op | None) -> Line:
        strategy, why = self.fate(op) if again is None else (f"recomputed with {trip_of(again)}", "")
        text = origin.text.splitlines()[0] if origin.text else ""
        is_loop = text.startswith(("for ", "while ")) or is_call(op)
        return Line(origin.line, text, depth, strategy, why, not is_loop)

    def fate(self, op: ir.For | ir.While) -> tuple[str, str]:
        if not self.with_reverse:
            return "values and tangents in one loop", ""
        found = self.scheduled.get(op)
        if found is not None and found.way == "fused":
            return FUSED, found.why
        if found is not None and found.way == "run again":
            if is_call(op):
                return "recomputed", "from its arguments"
            if op not in self.snapshots:
                return "checkpointed: iterations are recomputed", found.why
            count = self.sizes.of(self.snapshots[op])
            number = "" if count.value is None or str(count.value) == str(count) else f" = {count.value}"
            return f"checkpointed: iterations are recomputed; snapshots: {count}{number}", found.why
        if found is not None and found.way == "one trip":
            return "forward loop, then one reverse iteration", "no other iteration contributes to an adjoint"
        is_forward = op in self.forward or (isinstance(op, ir.While) and op.origin in self.whiles)
        if op in self.mirrored:
            if not is_forward:
                return "reverse loop only", "the reverse sweep needs no value of its forward iterations"
            if isinstance(op, ir.While) or op.stops:
                return BOTH, "the number of iterations is only known after the loop"
            return BOTH, "" if found is None else found.why
        return ("forward loop only" if is_forward else "not needed"), "no derivative depends on it"


def is_call(op: ir.Op) -> bool:
    """Whether it stands for a checkpointed call."""
    return isinstance(op, ir.For) and op.snapshots is not None and has_one_trip(op)


def trip_of(loop: ir.Op) -> str:
    """What is run again, in words."""
    return ("the call" if is_call(loop) else "the iteration") + at_line(loop.origin, " of ")


def at_line(origin: ir.Origin | None, before: str = "") -> str:
    """The line of a statement, after these words; nothing where there is no statement."""
    return "" if origin is None else f"{before}L{origin.line}"
