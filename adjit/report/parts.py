"""The tables of what was decided as HTML: bytes as bars, what became of loops, of values, of variables.

In: the tables of an explanation. Out: HTML, to be put into a page or a notebook.

    sections(tables, key_of_line)       <h2>Memory</h2> ... bars ... <h2>Loops</h2> ...
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

from adjit.transform.explain import Array, Line, Tables, Value

KeyOfLine = Callable[[int | None], str]


def facts(tables: Tables, text: str) -> str:
    """The numbers at the head of a page."""
    kept = [array for array in tables.arrays if array.is_kept]
    found = [("allocated memory", _total(tables.arrays)), ("kept for the reverse sweep", _total(kept))]
    found.append(("active variables", str(sum(v.is_active for v in tables.variables))))
    found.append(("loops", str(len(tables.loops))))
    found.append(("lines of readable code", str(text.count("\n"))))
    return '<div class="facts">' + "".join(f"<div><b>{v}</b><span>{k}</span></div>" for k, v in found) + "</div>"


def sections(tables: Tables, key_of_line: KeyOfLine, launches: Sequence[Sequence[str]] = ()) -> str:
    """All tables that have rows."""
    found = _memory(tables.arrays)
    rows = [
        (key_of_line(line.line), [("m", _at(line.line)), ("m", "  " * line.depth + line.text), ("", _fate(line))])
        for line in (*tables.loops, *tables.statements)
    ]
    found += _table("Loops and array statements", ("line", "in the program", "how it is differentiated"), rows)
    rows = [("", [("m", cell) for cell in launch]) for launch in launches]
    found += _table("Launches", ("kernel", "line", "threads", "additions"), rows)
    rows = [
        (key_of_line(d.line), [("m", _at(d.line)), ("m", d.text), ("m", ", ".join(d.by))]) for d in tables.decisions
    ]
    found += _table("Decisions (they have no derivative)", ("line", "in the program", "depends on"), rows)
    kept = [
        (key_of_line(v.line), [("m", v.name), ("m", _at(v.line)), ("", v.how), ("m", v.array.name if v.array else "")])
        for v in tables.values
    ]
    found += _table("Values that the reverse sweep reads", ("value", "line", "how it gets there", "kept in"), kept)
    rows = [
        (
            key_of_line(v.lines[0] if v.lines else None),
            [
                ("m", v.name),
                ("m", ", ".join(map(_at, v.lines)) or "argument"),
                ("", "active" if v.is_active else "not active"),
                ("", v.why),
            ],
        )
        for v in tables.variables
    ]
    return found + _table("Variables", ("name", "line", "", "why"), rows)


def explanation_html(title: str, tables: Tables) -> str:
    """An explanation as a notebook shows it."""
    style = "<style>.adjit-told td.m,.adjit-told td.f{font-family:monospace;text-align:left;white-space:pre}"
    style += ".adjit-told td,.adjit-told th{text-align:left}.adjit-told .track{display:block;height:8px;width:160px}"
    style += ".adjit-told .fill{display:block;height:8px;background:#7ba7bc}.adjit-told .fill.taped{background:#d99a00}"
    head = f"<strong>{html.escape(title)}</strong>"
    return f'{style}</style><div class="adjit-told">{head}{sections(tables, lambda line: "")}</div>'


def chip(value: Value) -> str:
    """What became of a value, in a few words."""
    kind = next((name for word, name in _KINDS if value.how.startswith(word)), "")
    size = "" if value.array is None else f" · {bytes_of(value.array.bytes) or value.array.formula}"
    return f'<span class="chip {kind}">{html.escape(f"{value.name} {value.how}{size}")}</span>'


_KINDS = (
    ("taped", "taped"),
    ("kept, for each", "taped"),
    ("recomputed", "again"),
    ("reloaded", "again"),
    ("computed", "again"),
    ("loaded", "again"),
    ("restored", "restored"),
)


def bytes_of(size: int | None) -> str:
    """An amount of memory in the unit that suits it, of 1000."""
    if size is None:
        return ""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def _total(arrays: Sequence[Array]) -> str:
    known = [array.bytes for array in arrays if array.bytes is not None]
    if not arrays:
        return "0 B"
    if not known:
        return "not known yet"
    return bytes_of(sum(known)) + (" and more" if len(known) < len(arrays) else "")


def _memory(arrays: Sequence[Array]) -> str:
    most = max((array.bytes or 0 for array in arrays), default=0)
    rows = []
    for array in sorted(arrays, key=lambda a: -1 if a.bytes is None else -a.bytes):
        size = "" if array.bytes is None else bytes_of(array.bytes)
        width = 100.0 * (array.bytes or 0) / most if most else 0.0
        kind = " taped" if array.is_kept else ""
        bar = f'<span class="track"><span class="fill{kind}" style="width:{width:.2f}%"></span></span>' if most else ""
        rows.append((array, size, bar))
    body = "".join(
        f'<tr><td class="m">{html.escape(a.name)}</td><td>{html.escape(a.what)}</td>'
        f'<td class="f">{html.escape(a.formula)}</td><td class="num">{size}</td><td class="w">{bar}</td></tr>'
        for a, size, bar in rows
    )
    if not body:
        return ""
    head = "<tr><th>array</th><th>for</th><th>bytes</th><th></th><th></th></tr>"
    return f'<h2>Memory</h2><div class="sheet"><table>{head}{body}</table></div>'


def _marked(text: str) -> str:
    """With names that stand in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _table(title: str, head: Sequence[str], rows: Iterable[tuple[str, Sequence[tuple[str, str]]]]) -> str:
    body = "".join(
        f"<tr{f' data-l={chr(34)}{key}{chr(34)} tabindex={chr(34)}0{chr(34)}' if key else ''}>"
        + "".join(f'<td class="{kind}">{_marked(text)}</td>' for kind, text in cells)
        + "</tr>"
        for key, cells in rows
    )
    if not body:
        return ""
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return f'<h2>{html.escape(title)}</h2><div class="sheet"><table><tr>{names}</tr>{body}</table></div>'


def _at(line: int | None) -> str:
    return "" if line is None else f"L{line}"


def _fate(line: Line) -> str:
    return f"{line.strategy}: {line.why}" if line.why else line.strategy
