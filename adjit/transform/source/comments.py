"""The comments of a function: which statement each belongs to.

In: a function's definition and its lines. Out: `UserComment`s.

    # Newton's iteration             above `x = a`
    x = a
    while abs(x * x - a) > eps:      # until it is good enough      beside `while ...:`
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from adjit.transform import ir


def last_line(definition: ast.FunctionDef, lines: Sequence[str]) -> int:
    """The last line of a function, with the comments in it that follow its last statement."""
    last = line = definition.end_lineno or definition.lineno
    for text in lines[last:]:
        line += 1
        inner = text.lstrip()
        if inner.startswith("#") and len(text) - len(inner) > definition.col_offset:
            last = line
        elif inner:
            break
    return last


def comments_in(definition: ast.FunctionDef, lines: Sequence[str]) -> tuple[ir.UserComment, ...]:
    """The comments from the line of a `def` on, in their order."""
    first, last = definition.lineno, last_line(definition, lines)
    text = "".join(lines[first - 1 : last])
    if "#" not in text:
        return ()
    statements = list(_statements(definition.body, None, lines))
    found: list[ir.UserComment] = []
    depth = 0
    code_on = 0  # the last line that has something else than comments
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start[0] + first - 1, token.start[1]
        if token.type == tokenize.COMMENT:
            is_beside = code_on == line and depth == 0
            found.append(_comment(token.string, line, column, is_beside, depth > 0, statements))
        elif token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type not in _BLANK:
            code_on = token.end[0] + first - 1
    return tuple(found)


_BLANK = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
)  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """A statement: where it begins and ends, and the lines of the block that it stands in, None for the outermost."""

    line: int
    column: int
    last: int
    code: str
    block: tuple[int, int] | None

    def comment(self, text: str, where: Literal["above", "beside", "below"]) -> ir.UserComment:
        return ir.UserComment(text, self.line, self.code, self.block, where)


def _statements(body: Sequence[ast.stmt], block: tuple[int, int] | None, lines: Sequence[str]) -> Iterator[_Place]:
    """The statements of a block and of the blocks in them, in the order of the source."""
    for statement in body:
        last = statement.end_lineno or 0
        # columns are counted in bytes
        line = lines[last - 1].encode()[statement.col_offset : statement.end_col_offset]
        code = line.decode() if statement.lineno == last else ""
        yield _Place(statement.lineno, statement.col_offset, last, code, block)
        handlers = [handler.body for handler in getattr(statement, "handlers", ())]
        for inner in (getattr(statement, "body", ()), *handlers, getattr(statement, "orelse", ())):
            if inner:
                yield from _statements(inner, (inner[0].lineno, inner[-1].end_lineno or 0), lines)


def _comment(
    text: str, line: int, column: int, is_beside: bool, is_inside: bool, statements: Sequence[_Place]
) -> ir.UserComment:
    before = [s for s in statements if s.line <= line]
    after = next((s for s in statements if s.line > line), None)
    is_in_code = is_beside or is_inside
    # `else:` and `def` are lines of no statement
    if is_in_code and before and before[-1].last >= line:
        return before[-1].comment(text, "beside" if is_beside else "above")
    if after is not None and (is_in_code or after.column >= column or not before):
        return after.comment(text, "above")
    # the end of a block: it belongs to the last statement that is indented no more than it is
    place = next((s for s in reversed(before) if s.column <= column), before[-1])
    return place.comment(text, "below")
