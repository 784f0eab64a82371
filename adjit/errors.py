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

import ntpath
from dataclasses import dataclass

MOST_LINES = 8


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
        """The place as a message shows it: the file without its folder, so that messages are the same everywhere."""
        # names such as <ipython-input-1-abc> and <adjit f_vjp float64> are no paths
        name = self.filename if self.filename.startswith("<") else ntpath.basename(self.filename)
        found = [f"{name}:{self.line} in {self.function}"]
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
    """The base of all errors that adjit raises on purpose."""

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
        """The text as Python prints it of an error that nobody catches, with the kind in front."""
        return f"{type(self).__name__}: {self}"

    def __str__(self) -> str:
        lines = [self.what]
        if self.place is not None:
            lines += ["  " + line for line in self.place.lines()]
        instead = self.instead.splitlines()
        room = MOST_LINES - len(lines) - len(instead)
        lines += ["  " + line for line in self.why.splitlines()[: max(room, 0)]]
        lines += ["  " + line for line in instead]
        return "\n".join(lines[:MOST_LINES])


class Unsupported(AdjitError):
    """A construct of Python that adjit does not take."""


class NoRule(AdjitError):
    """A function that is differentiated has no derivative rule and no source."""


class WrongWrt(AdjitError):
    """`wrt` names no parameter, or one that carries no derivative."""


class WrongCall(AdjitError, TypeError):
    """The arguments of a call do not fit the parameters, or there is no such option."""


class NotDifferentiable(AdjitError):
    """The result depends on what is differentiated through conditions, indices or rounding alone, so that the
    derivative would be zero whatever the result does."""


class NotScalar(AdjitError):
    """A gradient was asked of a function whose result is not one number."""


class SourceUnavailable(AdjitError):
    """The source of a function cannot be read, or is not what runs."""


class TypeMismatch(AdjitError):
    """Types do not fit: numba cannot type the program, or a seed or tangent is unlike what it belongs to."""


class WrongDevice(AdjitError, TypeError):
    """An array is in memory that the code does not reach: NumPy's, of code for a GPU."""


class Unwritten(AdjitError):
    """An element of an array from np.empty is read before anything is stored there."""


class Aliased(AdjitError):
    """Two arguments share memory, or elements of one do, and it is written."""

    usual = "Pass a copy."


class ReadOnly(AdjitError, ValueError):
    """The program stores into an argument that is read-only, or into a view that NumPy gives as one."""


class Race(AdjitError):
    """Two threads of a kernel touch one element, which one of them stores to. Found with ADJIT_CUDA_CHECK=1."""


class Stretched(AdjitError):
    """Arrays are combined whose lengths differ, in code made for lengths that agree. Users of `source` alone see it."""

    usual = "Call the derivative itself: it makes other code then."


class OutOfBounds(IndexError):
    """An index of the program is out of bounds: `where` says of what and, in lines of its own, at which place."""

    def __init__(self, where: str, index: int, extent: int) -> None:
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self) -> str:
        what, *lines = self.where.splitlines()
        return "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))


class BeyondLoop(OutOfBounds, Stretched):
    """An index is out of bounds in a loop of which all trips are checked before it, those that a `break` or a condition
    leaves out among them. Users of `source` alone see it."""


class UnfitMask(IndexError):
    """A mask is not as long as the axis that it chooses from; `where`: as of OutOfBounds."""

    def __init__(self, where: str, extent: int, own: int) -> None:
        super().__init__(where, extent, own)
        self.where, self.extent, self.own = where, extent, own

    def __str__(self) -> str:
        what, *lines = self.where.splitlines()
        said = f"boolean index did not match {what}: its size is {self.extent}, and that of the mask {self.own}"
        return "\n".join((said, *lines))


class InternalError(AdjitError):
    """A fault of adjit itself."""

    usual = "This is a fault of adjit: please report it with this message."


class NotCached(UserWarning):
    """With `cache=True`, or compiled ahead: a function whose compiled form cannot be kept for later processes."""


class OnlyDecides(UserWarning):
    """A derivative that is zero because a part of an argument, or one of several, goes into the result through
    conditions, indices or rounding alone."""


# NumPy's functions give real numbers or complex ones by what comes out; the type of a derivative is settled before.
NOT_REAL = "complex eigenvalues or roots of real numbers: write np.linalg.eigvals(A.astype(complex)), np.roots(p + 0j)"
