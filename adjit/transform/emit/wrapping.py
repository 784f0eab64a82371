"""Long lines, broken where a person would: at commas, or before the operators that bind loosest.

In: a valid expression and what stands before and after it. Out: lines of at most WIDTH columns, where that can be had.

    x = first + second          x = (
                                    first
                                    + second
                                )
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from adjit.transform.emit.expression import AND, CHOICE, INFIX, OR

WIDTH = 110
INDENT = "    "

# Operators with blanks around them, and how tightly they bind; signs have no blank after them.
_LEVEL = {"if": CHOICE, "else": CHOICE, "or": OR, "and": AND} | dict(INFIX.values())
_SIGNS = sorted(_LEVEL, key=len, reverse=True)
_TOKEN = re.compile(
    r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<open>[(\[])|(?P<close>[)\]])|(?P<comma>,[ ])"""
    rf"""|[ ](?P<sign>{"|".join(re.escape(sign) for sign in _SIGNS)})[ ]"""
)


def wrapped(before: str, text: str, after: str, indent: str) -> list[str]:
    """The lines of `before text after`, of which `text` is an expression that may be put in parentheses."""
    groups, pieces = _parts(text)
    is_call = bool(groups) and all(one[1] + 1 == other[0] for one, other in itertools.pairwise(groups))
    if len(pieces) == 1 and is_call and groups[-1][1] == len(text) - 1 and groups[-1] == max(groups, key=_length):
        start, end = groups[-1]
        inner = _lines(text[start + 1 : end], indent + INDENT)
        return [f"{indent}{before}{text[: start + 1]}", *inner, f"{indent}{text[end:]}{after}"]
    return [f"{indent}{before}(", *_lines(text, indent + INDENT), f"{indent}){after}"]


def _length(group: tuple[int, int]) -> int:
    return group[1] - group[0]


def _lines(text: str, indent: str, piece: bool = False) -> list[str]:
    """`text` inside brackets, on as many lines as it takes; a `piece` of a longer one opens its own brackets first."""
    if len(indent) + len(text) <= WIDTH:
        return [indent + text]
    groups, pieces = _parts(text)
    start, end = max(groups, key=_length, default=(0, 0))
    if len(pieces) > 1 and not (piece and 2 * (end - start) > len(text)):
        below = indent + INDENT if piece else indent
        first, *rest = _lines(pieces[0], indent, piece=True)
        return [first, *rest, *(line for part in pieces[1:] for line in _lines(part, below, piece=True))]
    if end == 0:
        return [indent + text]
    inner = _lines(text[start + 1 : end], indent + INDENT)
    return [f"{indent}{text[: start + 1]}", *inner, f"{indent}{text[end:]}"]


def _parts(text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """Where the outermost brackets of `text` open and close; and `text` cut after its outermost commas, or else before
    the operators that bind loosest."""
    depth = start = 0
    groups: list[tuple[int, int]] = []
    commas: list[int] = []
    signs: dict[int, list[int]] = {}
    for token in _tokens(text):
        if token["open"]:
            start = start if depth else token.start()
            depth += 1
        elif token["close"]:
            depth -= 1
            if depth == 0:
                groups.append((start, token.start()))
        elif depth == 0 and token["comma"]:
            commas.append(token.end())
        elif depth == 0 and token["sign"]:
            # the operator of a piece that begins with one is not a place to cut
            signs.setdefault(_LEVEL[token["sign"]], []).append(token.start() + 1)
    cuts = commas or (signs[min(signs)] if signs else [])
    edges = [0, *cuts, len(text)]
    return groups, [text[a:b].rstrip() for a, b in itertools.pairwise(edges)]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    # two operators may share a blank: `a + b` is scanned from the blank after each
    position = 0
    while (token := _TOKEN.search(text, position)) is not None:
        yield token
        position = token.end() - 1 if token["sign"] else token.end()
