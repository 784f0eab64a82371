"""What the passes decide, for whoever wants to know: records of IR and words, collected while a derivative is made.

In: records, noted by any pass. Out: a list of them, for the block that records. A pass need not know whether anybody
reads what it notes; what is tried and given up is recorded apart, and only what is kept is noted on.

    with recording() as tried:                     with recording() as records:
        joint = join(...)                              build(derivative, types)
    note(*tried)                                   [Provided(%e, "taped"), Scheduled(for, "fused"), ...]

The list belongs to the context (`contextvars`), so that compilations in several threads do not meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from adjit.transform import ir

How = Literal["alive", "recomputed", "reloaded", "taped", "lifted", "stepped back", "with axes"]
Way = Literal["fused", "apart", "run again", "one trip"]


@dataclass(frozen=True)
class Elaborated:
    """The program as it was read, what its names were bound to (name, statement, operand), and what derivatives that it
    makes itself take and give."""

    function: ir.Function
    bound: tuple[tuple[str, ir.Origin | None, ir.Operand], ...]
    derived: tuple[tuple[tuple[ir.Operand, ...], tuple[ir.Operand, ...]], ...] = ()


@dataclass(frozen=True)
class Restarted:
    """The program was read once more, as the front end had assumed otherwise: why, and where that was found."""

    why: str
    origin: ir.Origin | None


@dataclass(frozen=True)
class Differentiated:
    """Which of the arguments' leaves a function was differentiated with respect to, and which of its yields."""

    function: ir.Function
    inputs: tuple[ir.Var, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Swept:
    """The forward sweep that storage was decided for, and the shadow of each array that has one."""

    function: ir.Function
    shadows: Mapping[ir.Operand, ir.Var]


@dataclass(frozen=True)
class Provided:
    """How a value of the forward sweep gets to the reverse sweep, which has it as `copy` there if that is another.

    `origin`: the statement that makes it. `trip`: the loop that is run again, where this is in a trip of it.
    """

    value: ir.Var
    how: How
    origin: ir.Origin | None = None
    copy: ir.Operand | None = None
    trip: ir.Op | None = None


@dataclass(frozen=True)
class Restored:
    """A store that is undone on the way back, from what it overwrote."""

    store: ir.Store
    old: ir.Var


@dataclass(frozen=True)
class Scheduled:
    """What was made of a loop and its mirror, and why not more."""

    loop: object
    way: Way
    why: str = ""


@dataclass(frozen=True)
class Rounded:
    """The statements whose results are rounded, in the order of their bounds: file, line, text."""

    statements: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Remark:
    """Anything else that is worth knowing about the loop or statement at a place."""

    origin: ir.Origin | None
    text: str


Record = Elaborated | Restarted | Differentiated | Swept | Provided | Restored | Scheduled | Rounded | Remark

_records: ContextVar[list[Record] | None] = ContextVar("adjit_records", default=None)


@contextmanager
def recording() -> Iterator[list[Record]]:
    """Collects what is noted inside the block, and nothing of it outside."""
    records: list[Record] = []
    token = _records.set(records)
    try:
        yield records
    finally:
        _records.reset(token)


def note(*records: Record) -> None:
    """Leaves records with the innermost block that records, if there is one."""
    found = _records.get()
    if found is not None:
        found.extend(records)
