"""The user's comments: where they stand in the source, and where they go in the text.

In: a function's lines, or the lines of its derivative with the statements that they come from. Out: `UserComment`s, or
the lines with them.

    # Newton's iteration             a statement that is none in the text: above the next one that is printed
    x = a
    while abs(x * x - a) > eps:      # Newton's iteration
                                     while abs(a * a - a) > eps:
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from adjit.transform import ir
from adjit.transform.wrapping import INDENT, WIDTH

# ------------------------------------------------------------------------------------------------------- in the source


def last_line(definition: ast.AST, lines: Sequence[str]) -> int:
    """The last line of a function, with the comments in it that follow its last statement."""
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
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
    statements = list(_statements(definition.body, None, lines))
    found: list[ir.UserComment] = []
    depth = 0
    code_on = 0  # the last line that has something else than comments
    text = "".join(lines[first - 1 : last])
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
    if is_beside or is_inside:
        # `else:` and `def` are lines of no statement
        if before and before[-1].last >= line:
            return before[-1].comment(text, "beside" if is_beside else "above")
        is_above = after is not None
    else:
        is_above = after is not None and after.column >= column
    if after is not None and (is_above or not before):
        return after.comment(text, "above")
    # the end of a block: it belongs to the last statement that is indented no more than it is
    place = next((s for s in reversed(before) if s.column <= column), before[-1])
    return place.comment(text, "below")


# --------------------------------------------------------------------------------------------------------- in the text


@dataclass(frozen=True)
class Mark:
    """Lines of the text from `start` to `end`, printed for a statement of the user's at an indentation."""

    start: int
    end: int
    indent: str
    text: str
    origin: ir.Origin | None = None


def commented(function: ir.Function, lines: Sequence[str], marks: Sequence[Mark], end: int) -> list[str]:
    """`lines` with the comments of the user's; `marks`: of the forward sweep, which ends before the line `end`."""
    return _Placing(function, lines, marks, end).lines()


class _Placing:
    def __init__(self, function: ir.Function, lines: Sequence[str], marks: Sequence[Mark], end: int):
        self._text = list(lines)
        self._end = end
        self._above: dict[int, list[str]] = {}  # what comes before each line
        self._marks: dict[int, list[Mark]] = {}  # of the function's own statements, by their lines in the source
        self._beside: set[int] = set()  # lines of the text that end in a comment
        own = function.origin
        met: set[ir.Origin] = set()
        for mark in sorted(marks, key=lambda m: (m.start, len(m.indent))):
            origin = mark.origin
            assert origin is not None
            if own is not None and (origin.filename, origin.function) == (own.filename, own.function):
                self._marks.setdefault(origin.line, []).append(mark)
                if function.comments:
                    continue
            if origin.comments and origin not in met:
                met.add(origin)
                self._put(mark.start, mark.indent, *origin.comments)
        for comment in function.comments:
            self._find(comment)
        for comment in function.comments:
            if comment.where != "beside" or not self._is_beside(comment):
                self._place(comment)

    def lines(self) -> list[str]:
        found: list[str] = []
        for k, line in enumerate(self._text):
            found += [*self._above.get(k, ()), line]
        return found + self._above.get(len(self._text), [])

    def _put(self, place: int, indent: str, *comments: str) -> None:
        self._above.setdefault(place, []).extend(indent + comment for comment in comments)

    def _find(self, comment: ir.UserComment) -> None:
        """Marks `total = 0.0`, which is no operation but what a loop starts from, where it is printed as it stands."""
        number, code = comment.line, comment.code
        if number in self._marks or not code:
            return
        before = max((m.start for line in self._marks if line < number for m in self._marks[line]), default=-1)
        after = min((m.start for line in self._marks if line > number for m in self._marks[line]), default=self._end)
        for k in range(before + 1, after):
            if self._text[k].strip() == code:
                self._marks[number] = [Mark(k, k + 1, self._text[k].removesuffix(code), code)]
                return

    def _is_beside(self, comment: ir.UserComment) -> bool:
        """Puts a comment at the end of the line of its statement, where that is one line, or the header of a block."""
        marks = self._marks.get(comment.line, ())
        for mark in marks:
            line = self._text[mark.start]
            is_alone = len(marks) == 1 and mark.end == mark.start + 1
            is_header = mark.text.endswith(":") and line.endswith(":")
            is_free = mark.start not in self._beside and len(line) + 2 + len(comment.text) <= WIDTH
            if is_free and (is_alone or is_header or line.strip() == mark.text):
                self._beside.add(mark.start)
                self._text[mark.start] = f"{line}  {comment.text}"
                return True
        return False

    def _place(self, comment: ir.UserComment) -> None:
        """Puts a comment above its statement, or else above the next one of the block, or at the end of the block."""
        first, last = comment.block or (0, max(self._marks, default=0))
        within = [line for line in self._marks if first <= line <= last]
        later = [line for line in within if line >= comment.line and comment.where != "below"]
        beyond = [line for line in self._marks if line > last]
        if later or (beyond and not within):
            mark = self._marks[min(later or beyond)][0]
            self._put(mark.start, mark.indent, comment.text)
        elif within and comment.block is not None:
            mark = max((m for line in within for m in self._marks[line]), key=lambda m: (m.end, -len(m.indent)))
            self._put(mark.end, mark.indent, comment.text)
        else:
            self._put(self._end, INDENT, comment.text)
