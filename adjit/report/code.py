"""Python text as HTML, line by line, with classes for what its names are.

In: text, and what names in it are. Out: lines of HTML.

    lines_of("x_bar = w * phase_bar", {...})      ['<span class="adj">x_bar</span> = ...']
"""

from __future__ import annotations

import ast
import html
import io
import keyword
import linecache
import re
import textwrap
import token
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Namer = Callable[[str], str]  # the class of a name, "" for none


# what stands in a notebook, whose page has its own colours: they go with light and dark ones
STYLE = (
    "<style>.adjit-code{font-family:monospace;font-size:13px;line-height:1.45;overflow-x:auto;background:transparent}"
    ".adjit-code .k{color:#8250df}.adjit-code .c{color:#6e7781;font-style:italic}.adjit-code .s{color:#0a7ea4}"
    ".adjit-code .n{color:#0a7ea4}.adjit-code .adj{color:#c2410c}.adjit-code .tape{color:#a16207;font-weight:600}"
    "</style>"
)


@dataclass(frozen=True)
class Listing:
    """The text of one of the user's functions: its lines, of which the first has this number in its file."""

    filename: str
    function: str
    first: int
    lines: tuple[str, ...]


def listing_of(filename: str, function: str, lines: Iterable[int]) -> Listing:
    """The function of that name around some lines of a file; those lines alone where the file is not there."""
    wanted = sorted(lines)
    text = linecache.getlines(filename)
    first, last = wanted[0], min(wanted[-1], len(text))
    for node in _definitions("".join(text)):
        end = node.end_lineno or node.lineno
        if node.name == function and node.lineno <= first and last <= end:
            first, last = node.lineno, end
            break
    return Listing(filename, function, first, tuple(line.rstrip("\n") for line in text[first - 1 : last]))


def _definitions(text: str) -> list[ast.FunctionDef]:
    """The functions in a file, the inner ones first."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        # cells of notebooks may have more in them than Python
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return sorted(found, key=lambda node: node.lineno - (node.end_lineno or node.lineno), reverse=True)


def adjoint_names(tapes: Iterable[str], active: Iterable[str] = ()) -> Namer:
    """What names are in generated text: memory that is kept, adjoints, and active ones of the user's."""
    kept, flows = frozenset(tapes), frozenset(active)

    def named(name: str) -> str:
        if name in kept:
            return "tape"
        if re.search(r"_(bar|dot)(_|$)", name):
            return "adj"
        return "act" if name in flows else ""

    return named


def primal_names(active: Iterable[str]) -> Namer:
    """What names are in the user's text."""
    found = frozenset(active)
    return lambda name: "act" if name in found else ""


def lines_of(text: str, named: Namer) -> list[str]:
    """The lines of some Python text as HTML."""
    lines = text.rstrip("\n").split("\n")
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    marks: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for kind, start, end, word in _tokens(textwrap.dedent("\n".join(lines))):
        name = _class_of(kind, word, named)
        if not name:
            continue
        for row in range(start[0], min(end[0], len(lines)) + 1):
            first = start[1] + margin if row == start[0] else 0
            last = end[1] + margin if row == end[0] else len(lines[row - 1])
            marks[row - 1].append((first, last, name))
    return [_marked(line, own) for line, own in zip(lines, marks, strict=True)]


def _tokens(text: str) -> Iterator[tuple[int, tuple[int, int], tuple[int, int], str]]:
    try:
        for one in tokenize.generate_tokens(io.StringIO(text).readline):
            yield one.type, one.start, one.end, one.string
    except (tokenize.TokenError, IndentationError):
        # a part of a function: what comes before is known
        return


def _class_of(kind: int, word: str, named: Namer) -> str:
    if kind == token.NAME:
        return "k" if keyword.iskeyword(word) else named(word)
    return {token.COMMENT: "c", token.STRING: "s", token.NUMBER: "n"}.get(kind, "")


def _marked(line: str, marks: Iterable[tuple[int, int, str]]) -> str:
    found, at = [], 0
    for first, last, name in marks:
        found += [html.escape(line[at:first], quote=False)]
        found += [f'<span class="{name}">{html.escape(line[first:last], quote=False)}</span>']
        at = last
    return "".join([*found, html.escape(line[at:], quote=False)])
