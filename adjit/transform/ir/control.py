"""Control flow: operations that hold regions, and those that leave.

In: regions and the operands they start from. Out: nodes, whose results are what the regions yield.

    if c: y = x          %y = if %c {yield %x} else {yield %y0}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from adjit.transform.ir.core import Op, Operand, Region, Var, integer
from adjit.transform.ir.nodes import node, once, operand, operands, region, results
from adjit.transform.ir.output import Made

_Control = TypeVar("_Control", bound="If | For | While")
_Loop = TypeVar("_Loop", bound="For | While")
Level = Literal["blocks", "threads"]


class Slot(NamedTuple):
    """A value that a loop carries: what it starts from, what the body calls and hands on, and the last one."""

    init: Operand
    arg: Var
    yielded: Operand
    out: Var


def _slots(loop: For | While) -> tuple[Slot, ...]:
    # the boolean of a loop that stops has no partner
    return tuple(map(Slot, loop.inits, carried_args(loop), loop.body.yields, loop.outs))


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
    level:      the trips are blocks of a kernel, or the threads of one; nested loops of one level are the axes z, y, x.
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
    level: Level | None = None
    pair: object = None
    is_mirror: bool = False
    snapshots: int | None = None

    slots = once(_slots)


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

    slots = once(_slots)


@node
class Raise(Op):
    """`raise exception(*args)`. `condition` None raises always; else only where it is false (`assert`). `values`: those
    that arguments are made of."""

    exception: type[BaseException]
    args: tuple[Operand | str | Made, ...] = ()  # without variables
    values: tuple[Operand, ...] = operands(default=())
    condition: Operand | None = operand(default=None)


# The headings of the two sweeps, of the second half of a trip that does both, and of the halves of a block.
FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP = "---- forward sweep", "---- reverse sweep", "---- reverse of the iteration"
BLOCK_AGAIN, REVERSE_BLOCK = "---- the block again", "---- reverse of the block"
HEADINGS = (FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP, BLOCK_AGAIN, REVERSE_BLOCK)
# where what follows is the reverse of the user's statements
REVERSED = (REVERSE_SWEEP, REVERSE_TRIP, REVERSE_BLOCK)


@node
class Comment(Op):
    """`# text` on a line of its own. Each `{}` in the text stands for the name that one of `about` is given."""

    text: str
    about: tuple[Var, ...] = ()


def raises(region: Region) -> bool:
    """Whether a region ends by an error in any case."""
    last = next((op for op in reversed(region.ops) if not isinstance(op, Comment)), None)
    if isinstance(last, If):
        return all(map(raises, last.regions))
    return isinstance(last, Raise) and last.condition is None


def carried_args(op: For | While) -> tuple[Var, ...]:
    """What a loop's body calls the carried values."""
    return op.body.args[1:] if isinstance(op, For) else op.body.args


def joined(op: Op) -> Sequence[tuple[Var, Operand, Operand]]:
    """The names that control flow gives to one of two values: to those of its branches, or to what a loop starts from
    and what a trip hands on.

    %y = if c {yield %a} else {yield %b}        (%y, %a, %b)
    """
    return op.analysis(_joined) if op.regions else ()


def _joined(op: Op) -> Sequence[tuple[Var, Operand, Operand]]:
    if isinstance(op, If):
        return list(zip(op.outs, op.then.yields, op.orelse.yields, strict=True))
    assert isinstance(op, For | While)
    slots = zip(op.slots, names_of_slots(op), strict=True)
    return [(name, slot.init, slot.yielded) for slot, names in slots for name in names]


def names_of_slots(loop: For | While) -> Sequence[tuple[Var, ...]]:
    """What a loop calls each value that it carries: in its regions and, last, after them."""
    return loop.analysis(_names_of_slots)


def _names_of_slots(loop: For | While) -> Sequence[tuple[Var, ...]]:
    tested = [loop.test.args] if isinstance(loop, While) else []
    return list(zip(*tested, carried_args(loop), loop.outs, strict=True))


def next_slots(loop: For | While, slots: Iterable[int]) -> dict[int, int]:
    """Arrays that only change places: in which of these slots the next trip has what one has in slot k."""
    slots = list(slots)
    return {k: next(j for j in slots if loop.slots[j].yielded is loop.slots[k].arg) for k in slots}


def with_slots(loop: _Loop, more: Sequence[Slot], ops: Iterable[Op] | None = None, **fields: Any) -> _Loop:
    """The loop carrying more values, with these operations in its body if they are given, and these fields."""
    inits, args, yields, outs = zip(*more, strict=True) if more else ((), (), (), ())
    cut, body = len(loop.outs), loop.body
    # the boolean of a loop that stops stays last
    yields = (*body.yields[:cut], *yields, *body.yields[cut:])
    made = Region((*body.args, *args), body.ops if ops is None else tuple(ops), yields)
    if isinstance(loop, While):
        tested = tuple(dataclasses.replace(arg) for arg in args)
        fields["test"] = Region((*loop.test.args, *tested), loop.test.ops, loop.test.yields)
    return dataclasses.replace(loop, inits=(*loop.inits, *inits), body=made, outs=(*loop.outs, *outs), **fields)


def with_results(op: _Control, kept: Sequence[int]) -> _Control:
    """The operation with these results alone, and what hands them on; itself if it has no others."""
    cut = len(op.outs)
    if len(kept) == cut:
        return op

    def picked(items: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of what there is one of each result, in front of what else there is."""
        return (*(items[k] for k in kept), *items[cut:])

    def narrowed(region: Region) -> Region:
        first = len(region.args) - cut  # a counter comes before what is carried
        args = (*region.args[:first], *picked(region.args[first:])) if region.args else ()
        is_test = isinstance(op, While) and region is op.test
        return Region(args, region.ops, region.yields if is_test else picked(region.yields))

    operands = op.operands if isinstance(op, If) else (*op.operands[:-cut], *picked(op.inits))
    made: Any = op.rebuilt(operands, [narrowed(region) for region in op.regions], picked(op.outs))
    return made  # type: ignore[no-any-return]
