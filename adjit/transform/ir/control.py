"""Control flow: operations that hold regions, and those that leave.

In: regions and the operands they start from. Out: nodes, whose results are what the regions yield.

    if c: y = x          %y = if %c {yield %x} else {yield %y0}
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple, TypeVar

from adjit.transform.ir.core import Op, Operand, Region, Var, integer
from adjit.transform.ir.nodes import node, operand, operands, region, results

_Item = TypeVar("_Item")


@node
class If(Op):
    """Both regions have no arguments and yield one operand a result."""

    condition: Operand = operand()
    then: Region = region()
    orelse: Region = region(default_factory=lambda: Region((), (), ()))
    outs: tuple[Var, ...] = results(default=())


@node
class For(Op):
    """`for i in range(start, stop, step)`; the body's arguments are (i, *carried) and it yields the carried values.

    stops:      the body yields one more operand, a boolean, last: true ends the loop after this trip (`break`).
    order_free: the trips may run in any order (up to rounding of sums), as those of whole-array statements may.
    parallel:   the user wrote prange; in what is emitted, the trips run at the same time.
    over_chunks: a loop of the compiler's own, over chunks of the trips of a loop of the program's.
    pair:       what a loop of the forward sweep and its mirror in the reverse sweep (`is_mirror`) have in common.
    snapshots:  the trips are run again in the reverse sweep, from that many snapshots; 0 leaves their number open.
    """

    start: Operand = operand(default=integer(0))
    stop: Operand = operand()
    step: Operand = operand(default=integer(1))
    inits: tuple[Operand, ...] = operands(default=())
    body: Region = region()
    outs: tuple[Var, ...] = results(default=())
    stops: bool = False
    order_free: bool = False
    parallel: bool = False
    over_chunks: bool = False
    pair: object = None
    is_mirror: bool = False
    snapshots: int | None = None


@node
class While(Op):
    """`test` and `body` take the carried values; `test` yields one boolean, `body` the carried values.

    stops: the body yields one more operand, a boolean, last: true ends the loop without another test (`break`).
    """

    inits: tuple[Operand, ...] = operands()
    test: Region = region()
    body: Region = region()
    outs: tuple[Var, ...] = results()
    stops: bool = False


@node
class Raise(Op):
    """`raise exception(*args)`. `condition` None raises always; else only where it is false (`assert`)."""

    exception: type[BaseException]
    args: tuple[Operand | str, ...] = ()
    condition: Operand | None = operand(default=None)


# The headings of the two sweeps, and of the second half of a trip that does both.
FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP = "---- forward sweep", "---- reverse sweep", "---- reverse of the trip"
HEADINGS = (FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP)


@node
class Comment(Op):
    """`# text` on a line of its own. Each `{}` in the text stands for the name that one of `about` is given."""

    text: str
    about: tuple[Var, ...] = ()


def carried_args(op: For | While) -> tuple[Var, ...]:
    """What a loop's body calls the carried values."""
    return op.body.args[1:] if isinstance(op, For) else op.body.args


class Slot(NamedTuple):
    """A value that a loop carries, or a branch gives: its names, and the two that it may be.

    args:    what regions of a loop call it.
    sources: what a loop starts from and what each trip hands on, or what the sides of a branch give.
    """

    out: Var
    args: tuple[Var, ...]
    sources: tuple[Operand, Operand]


def slots(op: Op) -> Sequence[Slot]:
    """The values that a loop carries or a branch gives; of others none."""
    return op.analysis(_slots) if op.regions else ()


def _slots(op: Op) -> Sequence[Slot]:
    if isinstance(op, If):
        return [Slot(*parts) for parts in zip(op.outs, repeat(()), zip(op.then.yields, op.orelse.yields, strict=True))]
    assert isinstance(op, For | While)
    regions = [carried_args(op)] if isinstance(op, For) else [op.test.args, op.body.args]
    # what a body with `stops` yields last has no slot
    sources = zip(op.inits, op.body.yields, strict=False)
    return [Slot(*parts) for parts in zip(op.outs, zip(*regions, strict=True), sources, strict=True)]


def with_slots(op: Op, kept: Sequence[int]) -> Op:
    """A loop that carries, or a branch that gives, these of its values alone. Counter and boolean for `break` stay."""
    count = len(op.results)
    if len(kept) == count:
        return op

    def picked(items: Sequence[_Item], first: int = 0) -> tuple[_Item, ...]:
        return (*items[:first], *(items[first + k] for k in kept), *items[first + count :])

    operands = op.operands if isinstance(op, If) else picked(op.operands, len(op.operands) - count)
    regions: list[Region] = []
    for inner in op.regions:
        args = picked(inner.args, len(inner.args) - count) if inner.args else ()
        is_test = isinstance(op, While) and inner is op.test
        regions.append(Region(args, inner.ops, inner.yields if is_test else picked(inner.yields)))
    return op.rebuilt(operands, regions, picked(op.results))
