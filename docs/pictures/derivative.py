"""Draws the picture of the front page from a report: a function and its derivative, lines that belong together linked.

    python docs/pictures/derivative.py        writes derivative-{wide,narrow}-{light,dark}.svg beside this file

The function is `swing` below. Its report's lines carry the keys that link them, and its page the colours.
"""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

import numpy as np

import adjit
import adjit.report

HERE = Path(__file__).parent
TYPES = "float64, float64, float64, int"


def swing(x, v, h, steps):
    for t in range(steps):
        # gravity, then a wall
        v -= h * np.sin(x)
        x += h * v
        if x < 0.0:
            v = -0.9 * v
    return x


@dataclass
class Line:
    """`number`: as the report shows it. `key`: the same for all lines of a statement. `parts`: classes and words."""

    number: str
    key: str
    parts: list[tuple[str, str]]

    @property
    def width(self) -> int:
        return sum(len(word) for _, word in self.parts)


class _Reader(HTMLParser):
    """The lines of the panes of a report."""

    def __init__(self) -> None:
        super().__init__()
        self.panes: dict[str, list[Line]] = {}
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("class") == "code":
            self.panes[given["id"] or ""] = []
        elif given.get("class") == "ln":
            self.panes[list(self.panes)[-1]].append(Line("", given.get("data-l") or "", []))
        if tag in ("i", "code", "span"):
            self.inside.append(given.get("class") or tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("i", "code", "span"):
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.panes or not self.inside:
            return
        lines = self.panes[list(self.panes)[-1]]
        if self.inside[-1] == "i":
            lines[-1].number = data
        elif self.inside[0] == "code":
            lines[-1].parts.append((self.inside[-1], data))


def panes() -> tuple[list[Line], list[Line]]:
    """The function and its derivative, from the page of its report."""
    reader = _Reader()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        adjit.grad(swing, wrt=("x", "v")).report(str(page), TYPES)
        reader.feed(page.read_text("utf-8"))
    primal = reader.panes["primal"]
    # lines are counted from the function's own first one, as if it stood alone in its file
    first = int(primal[0].number) - 1
    for line in primal:
        line.number = str(int(line.number) - first)
        line.key = _counted_from(first, r"(?<=:)\d+", line.key)
    derived = reader.panes["text-0"]
    for line in derived:
        line.key = _counted_from(first, r"(?<=:)\d+", line.key)
        line.parts = [(kind, _counted_from(first, r"(?<=# L)\d+|(?<=\.py:)\d+", word)) for kind, word in line.parts]
        line.parts = [(kind, word.replace(f"{Path(__file__).stem}.py", "swing.py")) for kind, word in line.parts]
    return primal, derived


def _counted_from(first: int, pattern: str, text: str) -> str:
    return re.sub(pattern, lambda found: str(int(found.group()) - first), text)


def colours(scheme: str) -> Mapping[str, str]:
    """The colours of a report's page."""
    text = (Path(adjit.report.__file__).parent / "page.css").read_text("utf-8")
    start = text.index(":root {" if scheme == "light" else ':root[data-theme="dark"] {')
    return dict(re.findall(r"--([\w-]+): (#\w+);", text[start : text.index("}", start)]))


SIZE, WIDE, HIGH, PAD = 14, 8.43, 22, 14  # of the font, of a letter, of a line, around a pane
CLASSES = {"k": "key", "s": "text", "n": "text", "c": "quiet", "act": "act", "adj": "adj", "tape": "tape"}
HUES = {
    "light": ("#2f6fdb", "#c2570c", "#0a8a5a", "#8b3fc4", "#b0276b", "#6b7200"),
    "dark": ("#7aa7ff", "#ff9d5c", "#5fd3a4", "#c99bff", "#ff86bd", "#cfd45a"),
}


def picture(layout: str, scheme: str) -> str:
    """The SVG: both panes side by side with curves between them, or one above the other."""
    primal, derived = panes()
    ink = colours(scheme)
    shared = {line.key for line in derived} - {""}
    keys = list(dict.fromkeys(line.key for line in primal if line.key in shared))
    hue = dict(zip(keys, HUES[scheme], strict=False))
    widths = [PAD * 2 + 24 + WIDE * max(line.width for line in pane) for pane in (primal, derived)]
    heights = [PAD * 2 + HIGH * len(pane) for pane in (primal, derived)]
    gap, head = (64.0 if layout == "wide" else 18.0), 30
    if layout == "wide":
        places = [(0.0, head), (widths[0] + gap, head)]
        size = (widths[0] + gap + widths[1], head + max(heights))
    else:
        widths = [max(widths)] * 2
        places = [(0.0, head), (0.0, head + heights[0] + gap + head)]
        size = (widths[0], places[1][1] + heights[1])
    found = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0] + 2:.0f}" height="{size[1] + 2:.0f}" '
        f'viewBox="-1 -1 {size[0] + 2:.0f} {size[1] + 2:.0f}" font-size="{SIZE}" '
        "font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">",
        "<title>A function, and the derivative that adjit writes. Lines of one statement have one colour.</title>",
    ]
    for title, place, width, height, pane in zip(
        ("you write", "adjit writes"), places, widths, heights, (primal, derived), strict=True
    ):
        found += _pane(title, place, (width, height), pane, hue, ink)
    if layout == "wide":
        found += _links(primal, derived, places, widths[0], hue)
    return "\n".join([*found, "</svg>", ""])


def _pane(
    title: str,
    place: tuple[float, float],
    size: tuple[float, float],
    pane: list[Line],
    hue: Mapping[str, str],
    ink: Mapping[str, str],
) -> Iterator[str]:
    x, y = place
    yield f'<text x="{x + 2:.0f}" y="{y - 10:.0f}" fill="{ink["quiet"]}" font-family="sans-serif">{title}</text>'
    yield (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="8" '
        f'fill="{ink["sheet"]}" stroke="{ink["line"]}"/>'
    )
    for n, line in enumerate(pane):
        top = y + PAD + n * HIGH
        if line.key in hue:
            band = f'x="{x + 1:.1f}" y="{top:.1f}" height="{HIGH}" fill="{hue[line.key]}"'
            yield f'<rect {band} width="{size[0] - 2:.1f}" opacity="0.13"/><rect {band} width="4"/>'
        words = "".join(
            f'<tspan fill="{ink[CLASSES[kind]]}">{html.escape(word, quote=False)}</tspan>'
            if kind in CLASSES
            else html.escape(word, quote=False)
            for kind, word in line.parts
        )
        at = f'x="{x + PAD + 8:.1f}" y="{top + 0.7 * HIGH:.1f}"'
        yield f'<text {at} fill="{ink["ink"]}" xml:space="preserve">{words}</text>'


def _links(primal: list[Line], derived: list[Line], places: list, width: float, hue: dict) -> Iterator[str]:
    """A curve from each statement to each run of lines that it became."""
    left, right = places[0][0] + width, places[1][0]
    starts = {line.key: n for n, line in enumerate(primal)}
    for key, run in groupby(range(len(derived)), key=lambda n: derived[n].key):
        lines = list(run)
        if key not in hue:
            continue
        begin = places[0][1] + PAD + (starts[key] + 0.5) * HIGH
        end = places[1][1] + PAD + ((lines[0] + lines[-1] + 1) / 2) * HIGH
        middle = (left + right) / 2
        yield (
            f'<path d="M{left:.1f} {begin:.1f} C{middle:.1f} {begin:.1f} {middle:.1f} {end:.1f} {right:.1f} {end:.1f}" '
            f'fill="none" stroke="{hue[key]}" stroke-width="1.6"/>'
        )


def files() -> Iterator[tuple[Path, str]]:
    for layout in ("wide", "narrow"):
        for scheme in ("light", "dark"):
            yield HERE / f"derivative-{layout}-{scheme}.svg", picture(layout, scheme)


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text, encoding="utf-8")
