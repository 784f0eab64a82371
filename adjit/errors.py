"""Every error that a user of adjit can see: what is wrong, where, why, and what to do, in at most eight lines.

In: the facts of one fault. Out: an exception whose text, after the kind that Python prints, is the whole message.

    raise NoRule("np.median has no derivative rule", place, "It depends on x.", "hold it fixed: ...")

    NoRule: np.median has no derivative rule
      bonds.py:14 in energy
        m = np.median(r)
            ^^^^^^^^^^^^
      It depends on x.
      hold it fixed: ...
"""

from __future__ import annotations

import linecache
import ntpath
import re
import sys
from dataclasses import dataclass

MOST_LINES = 8


def with_cells(text: str) -> str:
    """A message with the cells of a notebook as IPython calls them: `Cell In[2], line 1`.

    IPython gives the code of each cell a file name. What is compiled, and kept for later, has that name.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if label_of is None:
        return text
    found = ((label_of(file), named(file)) for file in list(linecache.cache))
    cells = {name: " ".join(label) for label, name in found if label is not None}
    pattern = "|".join(map(re.escape, cells))
    return re.sub(rf"({pattern}):(\d+)", lambda at: f"{cells[at[1]]}, line {at[2]}", text) if cells else text


def named(filename: str) -> str:
    """A file without its folder, so that messages are the same everywhere."""
    # names such as <ipython-input-1-abc> and <adjit f_vjp float64> are no paths
    return filename if filename.startswith("<") else ntpath.basename(filename)


@dataclass(frozen=True)
class Place:
    """A span on one line of a source file: `line` counts from 1, the columns from 0, `text` is that line."""

    filename: str
    function: str
    line: int
    column: int
    end_column: int
    text: str

    def lines(self) -> list[str]:
        """The place as a message shows it."""
        found = [f"{named(self.filename)}:{self.line} in {self.function}"]
        text = self.text.rstrip()
        shown = text.lstrip()
        if shown:
            # the margin of the caret keeps the line's own tabs, so that it stands under the same character
            column = max(self.column, len(text) - len(shown))
            before = "".join(c if c == "\t" else " " for c in text[len(text) - len(shown) : column])
            width = max(1, min(self.end_column, len(text)) - column)
            found += ["  " + shown, "  " + before + "^" * width]
        return found


class AdjitError(Exception):
    """The base class of all errors of adjit."""

    usual = ""  # what to do, where the fault does not say: compiled code raises with one text alone
    wants_constant = False  # whether it would be none if a number were known while compiling
    is_of_trips = False  # whether it is of a variable that has another type in the first trip of a loop than later

    def __init__(self, what: str, place: Place | None = None, why: str = "", instead: str = "") -> None:
        instead = instead or self.usual
        super().__init__(what, place, why, instead)
        self.what = what
        self.place = place
        self.why = why
        self.instead = instead

    @property
    def message(self) -> str:
        """The message with the class of the error in front, as Python prints it."""
        return f"{type(self).__name__}: {self}"

    def __str__(self) -> str:
        lines = [self.what]
        if self.place is not None:
            lines += ["  " + line for line in self.place.lines()]
        instead = self.instead.splitlines()
        room = MOST_LINES - len(lines) - len(instead)
        lines += ["  " + line for line in self.why.splitlines()[: max(room, 0)]]
        lines += ["  " + line for line in instead]
        return with_cells("\n".join(lines[:MOST_LINES]))


class Unsupported(AdjitError):
    """adjit does not differentiate this construct of Python."""


class NoRule(AdjitError):
    """A function has neither a derivative rule nor a source that adjit can read."""


class WrongWrt(AdjitError):
    """`wrt` does not name a parameter, or names one without floats."""


class WrongCall(AdjitError, TypeError):
    """The arguments of a call do not fit the parameters, or an option is unknown."""


class NotDifferentiable(AdjitError):
    """The result depends on the arguments in wrt only through conditions, indices or rounding.

    The derivative would always be zero, whatever the result does.
    """


class NotScalar(AdjitError):
    """The result of a function is not one number, so that it has no gradient."""


class SourceUnavailable(AdjitError):
    """The source of a function cannot be read, or differs from the code that runs."""


class TypeMismatch(AdjitError):
    """Types do not fit: of the program, of an argument, or of a seed or tangent."""


class WrongDevice(AdjitError, TypeError):
    """An array is in the wrong memory: code for a GPU gets a NumPy array."""


class Unwritten(AdjitError):
    """An element of an array from np.empty is read before it is stored."""


class Aliased(AdjitError):
    """The function writes into memory that two arguments, or two elements of one, share."""

    usual = "Pass a copy."


class ReadOnly(AdjitError, ValueError):
    """The program stores into a read-only argument, or into a view that NumPy makes read-only."""


class Race(AdjitError):
    """Two threads of a kernel use one element, and at least one stores to it. ADJIT_CUDA_CHECK=1 finds it."""


class Stretched(AdjitError):
    """Lengths of arrays differ in code for equal lengths. Only users of a saved source see this error."""

    usual = "Call the derivative itself, which then runs other code."


class OutOfBounds(IndexError):
    """An index of the program is out of bounds. `where`: the array, and in further lines the place in the program."""

    def __init__(self, where: str, index: int, extent: int) -> None:
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self) -> str:
        what, *lines = self.where.splitlines()
        return with_cells(
            "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))
        )


class BeyondLoop(OutOfBounds, Stretched):
    """A test before a loop finds an index out of bounds. Only users of a saved source see this error."""


class UnfitMask(IndexError):
    """A mask and the axis that it selects from differ in length; `where`: as of OutOfBounds."""

    def __init__(self, where: str, extent: int, own: int) -> None:
        super().__init__(where, extent, own)
        self.where, self.extent, self.own = where, extent, own

    def __str__(self) -> str:
        what, *lines = self.where.splitlines()
        said = f"boolean index did not match {what}: its size is {self.extent}, and the mask has {self.own}"
        return with_cells("\n".join((said, *lines)))


class UnfitShapes(ValueError):
    """Two axes differ in length where the program needs them to be equal. `where`: what it needs, with `{}`
    for each length, and the place."""

    def __init__(self, where: str, left: int, right: int) -> None:
        super().__init__(where, left, right)
        self.where, self.left, self.right = where, left, right

    def __str__(self) -> str:
        what, *lines = self.where.splitlines()
        return with_cells("\n".join((what.format(self.left, self.right), *lines)))


class MissingKey(KeyError):
    """A dictionary lacks a key. `said`: what, and the place."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said

    def __str__(self) -> str:
        return with_cells(self.said)


class InternalError(AdjitError):
    """A fault of adjit itself: please report it."""

    usual = "This is a fault of adjit: please report it with this message."


class NotCached(UserWarning):
    """The machine code of a function cannot be kept for later processes, though `cache=True` asks for it."""


class OnlyDecides(UserWarning):
    """A part of a derivative is zero: the result depends on it only through conditions, indices or rounding."""


# NumPy's functions give real numbers or complex ones by what comes out; the type of a derivative is settled before.
NOT_REAL = (
    "a real matrix or polynomial has complex eigenvalues or roots: write "
    "np.linalg.eigvals(A.astype(complex)) or np.roots(p + 0j)"
)
