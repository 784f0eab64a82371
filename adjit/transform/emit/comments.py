"""The user's comments in the text of a derivative.

In: the lines of a derivative, with the statements that they come from. Out: the lines with the comments.

    # Newton's iteration             a statement that is none in the text: above the next one that is printed
    x = a
    while abs(x * x - a) > eps:      # Newton's iteration
                                     while abs(a * a - a) > eps:
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.emit.wrapping import INDENT, WIDTH


@dataclass(frozen=True)
class Mark:
    """Lines of the text from `start` to `end`, printed for a statement of the user's at an indentation."""

    start: int
    end: int
    indent: str
    text: str
    origin: ir.Origin | None = None


class Placing:
    """`lines` with the comments of the user's; `marks`: of the forward sweep, which ends before the line `end`."""

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

    def placed(self) -> Iterator[tuple[str, int]]:
        """Each line, and which of the lines given it is, or stands above."""
        for k, line in enumerate(self._text):
            yield from ((comment, k) for comment in self._above.get(k, ()))
            yield line, k
        yield from ((comment, len(self._text)) for comment in self._above.get(len(self._text), ()))

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
