"""What was decided for a derivative, as text for people.

In: the derivative's IR, what the passes noted, the arguments. Out: an `Explanation`, which prints as text and has its
tables as attributes.

    print(grad(diffuse, wrt="alpha").explain(u, 0.1, 50))

        Values that the reverse sweep reads
          value  line  how    in         bytes
          sum    L39   taped  sum_tape   8 * steps * (n - 2) = 39,200
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.api.specialise.notation import to_text
from adjit.errors import with_cells
from adjit.transform import ir
from adjit.transform.explain.guards import guards
from adjit.transform.explain.loops import Line
from adjit.transform.explain.tables import Array, Tables, tables
from adjit.transform.explain.tables import Decided as Decided
from adjit.transform.explain.variables import Variable
from adjit.transform.rewrite.notes import Record

WIDTH = 100
INDENT = "  "
LONGEST = 44  # of the text of a loop
RESOURCES = ("kernel", "registers", "local", "shared", "threads at a time")


@dataclass(frozen=True)
class Explanation(Tables):
    """Why a derivative is as it is. `str()` is the text; the tables behind it are attributes.

    `total`: the bytes of all arrays that it makes, those that a trip of a loop makes counted once; None where one of
    them is not known before it runs, or only types were given. `guards`: with fast math that takes no number to be nan,
    the statements where the derivative asks for one: line, text, what for.
    """

    title: str
    arguments: tuple[tuple[str, str], ...]
    launches: tuple[tuple[str, str, str, str], ...] = ()
    resources: tuple[tuple[str, str, str, str, str], ...] = ()
    guards: tuple[tuple[int, str, str], ...] = ()

    @property
    def total(self) -> int | None:
        found = [array.bytes for array in self.arrays]
        return None if None in found else sum(size for size in found if size is not None)

    def __str__(self) -> str:
        return with_cells("\n".join(_lines(self)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from adjit.report.parts import explanation_html

        return explanation_html(with_cells(self.title), self)


def explanation(
    function: ir.Function,
    records: Sequence[Record],
    arg_types: Sequence[types.Type],
    values: Sequence[Any] | None,
    has_no_nan: bool = False,
) -> Explanation:
    """`values`: of all arguments, None if only their types are known. `has_no_nan`: to fast math, there is none."""
    known = {} if values is None else dict(_leaves(function.params, tuple(values)))
    made = tables(function, records, known)
    arguments = tuple((n, to_text(t)) for n, t in zip(function.names, arg_types, strict=True))
    found = guards(function) if has_no_nan else ()
    return Explanation(**vars(made), title=function.doc.rstrip("."), arguments=arguments, guards=found)


def _leaves(tree: ir.Tree, value: Any) -> Iterator[tuple[ir.Var, Any]]:
    """The leaves of parameters with the values for them."""
    if isinstance(tree, ir.Pair):
        yield from ((tree[0], value.real), (tree[1], value.imag))
    elif isinstance(tree, tuple):
        for part, own in zip(tree, value, strict=True):
            yield from _leaves(part, own)
    else:
        yield tree, value


# ---------------------------------------------------------------------------------------------------------------- text


def _lines(e: Explanation) -> Iterator[str]:
    yield from textwrap.wrap(e.title, WIDTH, subsequent_indent=INDENT)
    given = ", ".join(f"{name}: {type_}" for name, type_ in e.arguments)
    yield from textwrap.wrap(f"for {given}", WIDTH - 2, initial_indent=INDENT, subsequent_indent=INDENT * 2)
    rows = [
        (v.name, _assigned(v), "active" if v.is_active else "not active", v.why + _home(v, e.variables))
        for v in e.variables
    ]
    yield from _section("Variables", ("name", "line", "", "why"), rows)
    decided = [(_at(d.line), _short(d.text), ", ".join(d.by)) for d in e.decisions]
    yield from _section("Decisions (they have no derivative)", ("line", "statement", "depends on"), decided)
    kept = [
        (v.name, _at(v.line), v.how, "" if v.array is None else f"{v.array.name}, {_size(v.array)}") for v in e.values
    ]
    yield from _section("Values that the reverse sweep reads", ("value", "line", "how", "where, and bytes"), kept)
    yield from _section(
        "Memory", ("array", "for", "bytes"), [*((a.name, a.what, _size(a)) for a in e.arrays), *_totals(e)]
    )
    yield from _section("Loops", ("line", "loop", "how it is differentiated"), list(map(_line_row, e.loops)))
    yield from _section("Launches", ("kernel", "line", "threads", "additions"), e.launches)
    yield from _section("What kernels take", RESOURCES, e.resources)
    asked = [(_at(line), _short(text), what) for line, text, what in e.guards]
    yield from _section("Guards that fast math may drop", ("line", "statement", "what for"), asked)
    yield from _section(
        "Array statements", ("line", "statement", "how it is differentiated"), map(_line_row, e.statements)
    )
    yield from _section("Read again", ("line", "because"), [(_at(line), why) for line, why in e.restarts])


def _assigned(v: Variable) -> str:
    if not v.lines:
        return "argument"
    return _at(v.lines[0]) + (f", {_at(v.lines[1])}" if len(v.lines) == 2 else ", ..." if v.lines[2:] else "")


def _home(v: Variable, everything: Sequence[Variable]) -> str:
    return "" if v.function == everything[0].function else f" (in {v.function})"


def _at(line: int | None) -> str:
    return "" if line is None else f"L{line}"


def _size(array: Array) -> str:
    size = array.formula
    if array.bytes is not None and size != str(array.bytes):
        size += f" = {array.bytes:,}"
    if array.loops:
        size += f", per iteration of {_at(array.loops[-1]) or 'its loop'}"
    return size + "; it grows" if array.grows else size


def _totals(e: Explanation) -> Iterator[tuple[str, str, str]]:
    if any(array.bytes is not None for array in e.arrays):
        known = sum(array.bytes for array in e.arrays if array.bytes is not None)
        more = "" if e.total is not None else ", and arrays whose sizes are only known after a run"
        yield "total", "", f"{known:,}{more}"


def _line_row(line: Line) -> tuple[str, str, str]:
    why = f": {line.why}" if line.why else ""
    return _at(line.line), _short(INDENT * line.depth + line.text.rstrip(":")), line.strategy + why


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]] | Iterator[Sequence[str]]) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        return
    yield ""
    yield title
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head) - 1)]
    for row in (head, *rows):
        lead = INDENT + "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        space = max(WIDTH - len(lead), 30)
        first, *rest = textwrap.wrap(row[-1], space) or [""]
        yield (lead + first).rstrip()
        yield from (" " * len(lead) + more for more in rest)
