"""Operations on arrays, which are references to memory, and on tapes, which grow.

In: operands that are arrays. Out: nodes, of which `VIEWS` give an array in the memory of another.

    a[i] += x            store %a[%i] += %x
    a[1:].T              %s = slice %a[1:];  %t = transpose %s (1, 0)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numba import types

from adjit.transform.ir.core import Const, Op, Operand, Region, Var
from adjit.transform.ir.nodes import node, once, operand, operands, result


@dataclass(frozen=True)
class Role:
    """What an array is made for that the user's program has not; `of`: the value or array that it belongs to, or loop.

    tape: values of all trips; snapshots: what trips start from, to run them again; shadow: adjoints or tangents of an
    array; axes: the user's own array, with axes for loops; kept: a value that threads keep from one stretch to another;
    block: an array that the threads of a block share, in kernels.
    """

    kind: Literal["tape", "snapshots", "shadow", "axes", "kept", "block"]
    of: object = None


@node
class Alloc(Op):
    """A fresh C-ordered array of the result's type and the given shape; `fill` None leaves it unwritten (np.empty).

    With `like`, the layout and shape of that array are taken and `shape` is empty (np.zeros_like).
    """

    shape: tuple[Operand, ...] = operands()
    out: Var = result()
    fill: Const | None = None
    like: Var | None = operand(default=None)
    role: Role | None = None


@node
class Copy(Op):
    """A fresh array with the contents of `source`, in Fortran order if the result's type says so, else in C order."""

    source: Operand = operand(memory="read")
    out: Var = result()


@node
class Extent(Op):
    """`array.shape[axis]`."""

    array: Operand = operand()
    axis: int
    out: Var = result()


@node
class Load(Op):
    """`array[index]`, one integer an axis; negative ones count from the end. A scalar. early: a statement of its own,
    where it stands. unsure: the program gives the index, and whether it is in bounds has yet to be seen."""

    array: Operand = operand(memory="read")
    index: tuple[Operand, ...] = operands()
    out: Var = result()
    early: bool = False
    unsure: bool = False


@node
class Store(Op):
    """`array[index] = value`; `add` makes it `array[index] += value` without a Load of its own.

    promised: no other trip of the loops over prange around touches the element, or its user has a race already; that is
    believed where nothing else is known of the element, or "surely", where the store is in a branch that sees to it.
    atomic: threads may add to the element at the same time, or raise or lower it; in kernels.
    extreme: "max" or "min": it stands, alone, in a branch that is taken where the value is greater than the element, or
    less, and more than one thread of a kernel may do so.
    handed_on: it clears an adjoint, which has gone on to what it is the adjoint of; the sign of that zero says nothing.
    unsure: as of a Load.
    """

    array: Operand = operand(memory="written")
    index: tuple[Operand, ...] = operands()
    value: Operand = operand()
    add: bool = False
    promised: bool | Literal["surely"] = False
    atomic: bool = False
    extreme: Literal["", "max", "min"] = ""
    handed_on: bool = False
    unsure: bool = False


@node
class AddProduct(Op):
    """`target += left @ right`, of matrices, each element's terms in the order of the axis that is summed over.

    callee: the function of `runtime/library/products.py` that does it, or takes the product off. What is emitted has it
    in the place of loops; no derivative is made of it.
    """

    callee: Any
    target: Operand = operand(memory="written")
    left: Operand = operand()
    right: Operand = operand()

    @once
    def memory_read(self) -> tuple[Operand, ...]:
        return (self.target, self.left, self.right)


@node
class OfRows(Op):
    """`target[i, j] = callee(source[i, j] - less[i])` for all i and j.

    What is emitted has it in the place of loops; no derivative is made of it.
    """

    callee: Any
    target: Operand = operand(memory="written")
    source: Operand = operand()
    less: Operand = operand()

    @once
    def memory_read(self) -> tuple[Operand, ...]:
        return (self.source, self.less)


@dataclass(frozen=True)
class At:
    """An integer in an index: the axis goes away."""

    index: Operand


@dataclass(frozen=True)
class Span:
    """A slice in an index; None where the user leaves the end out."""

    start: Operand | None = None
    stop: Operand | None = None
    step: Operand | None = None

    def count_of(self, extent: Operand) -> int | None:
        """How many elements it takes of an axis; None where that is not known."""
        if not isinstance(extent, Const):
            return None
        parts: list[int | None] = []
        for part in (self.start, self.stop, self.step):
            if isinstance(part, Var):
                return None
            parts.append(None if part is None else int(part.value))
        return len(range(*slice(*parts).indices(extent.value)))

    @property
    def left_out(self) -> int | None:
        """How many elements a slice such as [1:-1] leaves out, if the axis has as many; None where that varies."""
        if self.start is None and self.stop is None and self.step == Const(-1, types.intp):
            return 0
        first = 0 if self.start is None else self.start.value if isinstance(self.start, Const) else -1
        last = 0 if self.stop is None else -self.stop.value if isinstance(self.stop, Const) else -1
        if first < 0 or last < 0 or (self.stop is not None and last == 0):
            return None
        return int(first + last) if self.step in (None, Const(1, types.intp)) else None

    @property
    def is_one(self) -> bool:
        """Whether it is of one element, if there is any, such as [:1], [2:3] or [-1:]."""
        start = 0 if self.start is None else self.start.value if isinstance(self.start, Const) else None
        if start is None or self.step not in (None, Const(1, types.intp)):
            return False
        return start == -1 if self.stop is None else isinstance(self.stop, Const) and self.stop.value == start + 1


@dataclass(frozen=True)
class NewAxis:
    """`np.newaxis` in an index."""


Selector = At | Span | NewAxis


@node
class Slice(Op):
    """Basic indexing that leaves an array: a view of `base`. Every axis of the base has its selector (no Ellipsis).

    unsure: as of a Load; of its integers.
    """

    base: Operand = operand()
    selectors: tuple[Selector, ...]
    out: Var = result()
    unsure: bool = False

    @once
    def operands(self) -> tuple[Operand, ...]:
        return (self.base, *(end for s in self.selectors for end in vars(s).values() if end is not None))

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Slice:
        rest = iter(operands)
        base = next(rest)

        def renewed(selector: Selector) -> Selector:
            ends: list[Any] = [None if end is None else next(rest) for end in vars(selector).values()]
            return type(selector)(*ends)

        made = tuple(map(renewed, self.selectors))
        return dataclasses.replace(self, base=base, selectors=made, out=results[0])


@node
class Transpose(Op):
    """A view of `base` with its axes permuted: axis k of the result is axis `axes[k]` of the base."""

    base: Operand = operand()
    axes: tuple[int, ...]
    out: Var = result()


@node
class Reshape(Op):
    """A view of the contiguous array `base` with another shape."""

    base: Operand = operand()
    shape: tuple[Operand, ...] = operands()
    out: Var = result()


VIEWS = (Slice, Transpose, Reshape)


@node
class Detached(Op):
    """A note that `copy`, a fresh array or an element that was loaded, stands for a view that NumPy takes of `base`.

    what:     what made it, as the user writes it.
    always:   NumPy takes a view in any case; else what the base is at run time decides between a view and a copy:
    by:       its layout, or its type.
    readonly: nothing may be stored into that view.
    is_view:  `copy` is a view here, which is NumPy's if the order of `base` is, or its type.
    is_kept:  `copy` keeps it beside others, and nothing is stored into it there.
    """

    base: Operand = operand()
    copy: Operand = operand()
    what: str
    always: bool = False
    readonly: bool = False
    is_view: bool = False
    by: str = "layout"
    is_kept: bool = False


@node
class Ordered(Op):
    """A note on the order that NumPy makes `array` in, a fresh one: C if all of `like` are in C order, else any.

    is_free: any in each case.
    """

    array: Operand = operand()
    like: tuple[Operand, ...] = operands()
    is_free: bool = False


@node
class Passed(Op):
    """A note that a derivative takes these, its arrays as of the order that they have here.

    refuse: raises what is refused where the arrays at some positions are in another order.
    """

    leaves: tuple[Operand, ...] = operands()
    refuse: Callable[[Collection[int]], None]


@node
class NewTape(Op):
    """An empty growable tape (a list) of scalars or array references. Entries are appended and never changed."""

    out: Var = result()  # of type types.List(element)
    role: Role | None = None


@node
class Push(Op):
    """`tape.append(value)`. `index`, an operand that counts the entries, says where it lands."""

    tape: Operand = operand(memory="written")
    index: Operand = operand()
    value: Operand = operand()


@node
class Pull(Op):
    """`tape[index]`: an entry, left where it is."""

    tape: Operand = operand(memory="read")
    index: Operand = operand()
    out: Var = result()
