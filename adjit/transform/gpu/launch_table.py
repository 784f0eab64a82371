"""A plan in words: a table of its launches.

In: a `Plan`. Out: `Told`, with rows of text: the kernel, the user's line, how many threads and for what, how arrays are
added to.

    misfit_grad_L15    L15    several trips a thread, for x.size trips    x_bar, w_bar: own elements; a_bar_sum: ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.emit import Emitted, texts_of
from adjit.transform.gpu.emit import emit_plan
from adjit.transform.gpu.plan import Plan


@dataclass(frozen=True)
class Told:
    """What a plan launches: the table, by kernel the threads of a block, 0 for the usual number, and the text."""

    table: tuple[tuple[str, str, str, str], ...]
    threads: Mapping[str, int]
    emitted: Emitted


def told(plan: Plan, fastmath: bool) -> Told:
    """What a plan launches, with the text that is compiled."""
    threads = {made.kernel.name: made.block for made in plan.launches}
    return Told(tuple(_table(plan)), threads, emit_plan(plan, fastmath))


def _table(plan: Plan) -> list[tuple[str, str, str, str]]:
    """A row for each kernel, in the order of their launches; then one for each number that the host waits for."""
    text = texts_of(plan.host)
    rows = []
    for made in plan.launches:
        trips = " by ".join(text(operand) for operand in reversed(made.trips))
        threads = f"{made.threads}, for {trips} trips" if made.trips else made.threads
        additions = "; ".join(f"{', '.join(_names(about))}: {what}" for what, about in made.additions)
        rows.append((made.kernel.name, _line(made.origin), threads, additions))
    for name, origin in plan.reads:
        rows.append(("", _line(origin), "the host waits", f"for {name}, which a kernel makes"))
    return rows


def _names(about: Sequence[ir.Var]) -> Sequence[str]:
    return list(dict.fromkeys(v.name for v in about))


def _line(origin: ir.Origin | None) -> str:
    return "" if origin is None else f"L{origin.line}"
