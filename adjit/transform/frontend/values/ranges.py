"""What a loop runs over that is no list, and parts of lists and arrays.

In: ends, or what else is run through. Out: the value that a loop or a subscript takes.

    range(n)                  Range(0, %n, 1)
    zip(a, b), enumerate(a)   Zip((%a, %b)), Zip((None, %a))
    a[1:n]                    the entry SliceValue(Span(1, %n))
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.frontend.values.values import Kind, Value


@dataclass(frozen=True)
class Range(Kind):
    what, classes = "a range", (range,)

    start: ir.Operand
    stop: ir.Operand
    step: ir.Operand
    snapshots: int | None = None  # for the reverse sweep, where the user asks for some
    parallel: bool = False  # written prange

    def known(self) -> range | None:
        """Its numbers, if they are known."""
        ends = [int(e.value) for e in (self.start, self.stop, self.step) if isinstance(e, ir.Const)]
        return range(*ends) if len(ends) == 3 and ends[2] != 0 else None


ENDLESS = ir.integer(2**62)  # where a range stops that does not end


@dataclass(frozen=True)
class Zip(Kind):
    """enumerate and zip: several things iterated over together; None stands for the counter of enumerate."""

    what = "a result of enumerate or zip"

    parts: tuple[Value | None, ...]
    first: ir.Operand | None = None


@dataclass(frozen=True)
class NdIndex(Kind):
    """np.ndindex, np.ndenumerate and np.nditer: the places of an array of this shape, in C order.

    Each gives its index, the elements there of these arrays, or, of ndenumerate, both.
    """

    what = "a result of np.ndindex, np.ndenumerate or np.nditer"

    shape: tuple[ir.Operand, ...]
    arrays: tuple[Value, ...] = ()
    has_index: bool = True


@dataclass(frozen=True)
class SliceValue(Kind):
    """`start:stop:step` in a subscript."""

    what, classes = "a slice", (slice,)

    span: ir.Span

    def known(self) -> slice | None:
        """The slice itself, if it is known."""
        ends = [e for e in (self.span.start, self.span.stop, self.span.step) if not isinstance(e, ir.Var)]
        return slice(*(None if e is None else int(e.value) for e in ends)) if len(ends) == 3 else None
