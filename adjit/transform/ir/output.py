"""What a program says: the callee of a call that prints, warns or logs, and what an exception says of values.

In: the function, and its arguments as they are written. Out: the callee of a `Call` that is an effect without results.

    print("loss", loss)                     Said(print, ("'loss', ", ""), is_native=True), of loss
    raise ValueError(f"no root in {x}")     Made(1, "no root in {}"), of x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


def quoted(text: str) -> str:
    """A string literal in double quotes, where that needs no escapes."""
    found = repr(text)
    return f'"{found[1:-1]}"' if found[0] == "'" and '"' not in found else found


@dataclass(frozen=True)
class Said:
    """`pieces`: the text of the arguments, with the operands of the call between each two. `is_native`: compiled code
    says it; else the interpreter does, in object mode. `method`: what stands between the function and the arguments,
    as of a logger, `getLogger("solver").debug("x %s", x)`."""

    function: Callable[..., Any]
    pieces: tuple[str, ...]
    is_native: bool
    method: str = ""

    @property
    def __name__(self) -> str:
        return self.method.rpartition(".")[2] or self.function.__name__

    def arguments(self, operands: tuple[str, ...]) -> str:
        """The text between the parentheses, of the texts of the operands."""
        return self.pieces[0] + "".join(map("".join, zip(operands, self.pieces[1:], strict=True)))


@dataclass(frozen=True)
class Made:
    """An argument of an exception that is made as the program runs, of the next `count` of its values: by `str.format`
    of the text, or by `%`; without a text it is the value itself."""

    count: int
    text: str | None = None
    by_percent: bool = False

    def written(self, values: Sequence[str]) -> str:
        """The expression, of the texts of the values."""
        if self.text is None:
            return values[0]
        if self.by_percent:
            return f"{quoted(self.text)} % ({''.join(f'{value}, ' for value in values).rstrip()})"
        return f"{quoted(self.text)}.format({', '.join(values)})"
