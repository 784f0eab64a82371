"""A derivative as one page: what was written beside what became of it, lines linked both ways, and what was decided.

In: the texts of the derivative, whose lines know their places in the user's files, and the tables of what was decided.
Out: HTML that needs no network.

    page("Gradient of diffuse", "u: float64[:]", ("a.py", "diffuse"), [Text("Adjoint", ...)], tables)
"""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjit.report.code import Listing, Namer, adjoint_names, lines_of, listing_of, primal_names
from adjit.report.parts import chip, facts, sections
from adjit.transform import ir
from adjit.transform.explain import Tables

Home = tuple[str, str]  # the file and the name of a function


@dataclass(frozen=True)
class Text:
    """One text of the derivative. `places`: for each line, the statement of the user's that it comes from."""

    label: str
    text: str
    places: tuple[ir.Origin | None, ...]


def page(
    title: str, given: str, main: Home, texts: Sequence[Text], tables: Tables, launches: Sequence[Sequence[str]] = ()
) -> str:
    """The page. `given`: the arguments with their types; `main`: the function that was derived; `launches`: of kernels,
    each with its line, its threads and how it adds up."""
    linked = _Linked(main, texts)
    tapes = [array.name for array in tables.arrays if array.is_kept]
    active = [variable.name for variable in tables.variables if variable.is_active]
    shown = Path(__file__).parent
    body = "\n".join(
        [
            "<header><div>",
            f"<h1>{html.escape(title)}</h1>",
            f'<p class="sub">{html.escape(given)}</p></div>',
            '<button id="theme" type="button" title="light or dark">Light / dark</button></header>',
            facts(tables, texts[0].text),
            '<div class="panes">',
            _primal(linked, tables),
            _derived(linked, texts, adjoint_names(tapes, active)),
            "</div>",
            _LEGEND,
            sections(tables, linked.key_of_line, launches),
            "<footer>Written by adjit. Point at a line to light up its derivative, or its origin. Click to keep the "
            "light, Esc to end it.</footer>",
        ]
    )
    style, script = (shown.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


_LEGEND = (
    '<div class="legend"><span><b class="act">name</b> active: it has a derivative</span>'
    '<span><b class="adj">name_bar</b> an adjoint or a tangent</span>'
    '<span><b class="tape">name_tape</b> memory kept for the reverse sweep</span>'
    '<span><b class="chip taped">taped</b> saved</span>'
    '<span><b class="chip again">recomputed</b> computed a second time</span>'
    '<span><b class="chip">alive</b> still in its variable</span></div>'
)


class _Linked:
    """The user's functions that the texts come from, and the keys that lines are linked by."""

    def __init__(self, main: Home, texts: Sequence[Text]) -> None:
        met: defaultdict[Home, dict[tuple[int, int], ir.Origin]] = defaultdict(dict)
        met[main] = {}
        for text in texts:
            for place in text.places:
                if place is not None:
                    met[place.filename, place.function][place.line, place.end_line] = place
        self.origins = {home: own for home, own in met.items() if own}
        self.numbers = {home: k for k, home in enumerate(self.origins)}
        self.listings = [
            listing_of(*home, {line for span in own for line in span}) for home, own in self.origins.items()
        ]

    def key(self, place: ir.Origin | None) -> str:
        """What the lines of a statement have in common."""
        return "" if place is None else f"{self.numbers[place.filename, place.function]}:{place.line}"

    def key_at(self, listing: Listing, line: int) -> str:
        """The key of a line of the user's: that of the last statement that begins on it, or before and goes on."""
        home = listing.filename, listing.function
        found = 0
        for place in self.origins[home].values():
            is_header = place.text.endswith(":")
            if place.line == line or (place.line < line <= place.end_line and not is_header):
                found = max(found, place.line)
        return f"{self.numbers[home]}:{found}" if found else ""

    def key_of_line(self, line: int | None) -> str:
        """The key of a line of which only the number is known: in the function that was derived, if it is there."""
        if line is None:
            return ""
        for listing in self.listings:
            if listing.first <= line < listing.first + len(listing.lines):
                return self.key_at(listing, line)
        return ""


def _primal(linked: _Linked, tables: Tables) -> str:
    """What the user wrote."""
    chips: Mapping[tuple[int, int], list[str]] = _chips(linked, tables)
    found = ['<section class="pane"><div class="bar"><strong>Primal</strong></div><div class="code" id="primal">']
    for number, listing in enumerate(linked.listings):
        file = Path(listing.filename).name
        found.append(f"<h3>{html.escape(f'{listing.function} · {file}:{listing.first}')}</h3>")
        active = [v.name for v in tables.variables if v.is_active and v.function == listing.function]
        for k, line in enumerate(lines_of("\n".join(listing.lines), primal_names(active))):
            at = listing.first + k
            found.append(_line(at, line, linked.key_at(listing, at), _together(chips.get((number, at), ()))))
    return "\n".join([*found, "</div></section>"])


def _together(chips: Sequence[str]) -> str:
    """What stands below a line; what is said of several values alike once."""
    count = Counter(chips)
    found = [one if n == 1 else one.replace("</span>", f" × {n}</span>") for one, n in count.items()]
    return f'<span class="chips">{"".join(found)}</span>' if found else ""


def _chips(linked: _Linked, tables: Tables) -> dict[tuple[int, int], list[str]]:
    """What became of the values that a line makes."""
    found: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for value in tables.values:
        for number, listing in enumerate(linked.listings):
            if value.line is not None and listing.first <= value.line < listing.first + len(listing.lines):
                found[number, value.line].append(chip(value))
                break
    return found


def _derived(linked: _Linked, texts: Sequence[Text], named: Namer) -> str:
    """What it became, a tab for each text."""
    tabs, codes = [], []
    for k, text in enumerate(texts):
        is_first = k == 0
        tabs.append(
            f'<button type="button" role="tab" id="tab-{k}" aria-controls="text-{k}" '
            f'aria-selected="{"true" if is_first else "false"}">{html.escape(text.label)}</button>'
        )
        lines = lines_of(text.text, named)
        keys = _filled([linked.key(place) for place in text.places])
        rows = [_line(n + 1, line, key) for n, (line, key) in enumerate(zip(lines, keys, strict=True))]
        hidden = "" if is_first else " hidden"
        codes.append(
            f'<div class="code" id="text-{k}" role="tabpanel" aria-labelledby="tab-{k}"{hidden}>\n'
            + "\n".join(rows)
            + "\n</div>"
        )
    return "\n".join(['<section class="pane"><div class="bar" role="tablist">', *tabs, "</div>", *codes, "</section>"])


def _filled(keys: Sequence[str]) -> list[str]:
    """The keys, also of lines of the compiler's own between lines of one statement, such as a store to a tape."""
    found = list(keys)
    last, since = "", 0
    for k, key in enumerate(keys):
        if key:
            if key == last:
                found[since:k] = [key] * (k - since)
            last, since = key, k
    return found


def _line(number: int, content: str, key: str, below: str = "") -> str:
    link = f' data-l="{key}" tabindex="0"' if key else ""
    return f'<div class="ln"{link}><i>{number}</i><code>{content}</code>{below}</div>'
