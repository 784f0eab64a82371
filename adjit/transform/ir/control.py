"""Control flow: operations that hold regions, and those that leave.

In: regions and the operands they start from. Out: nodes, whose results are what the regions yield.

    if c: y = x          %y = if %c {yield %x} else {yield %y0}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from adjit.transform.ir.core import Op, Operand, Region, Var


@dataclass(frozen=True, eq=False, kw_only=True)
class If(Op):
    """Both regions have no arguments and yield one operand a result."""

    condition: Operand
    then: Region
    orelse: Region
    outs: tuple[Var, ...]

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.condition,)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.then, self.orelse)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, condition=operands[0], then=regions[0], orelse=regions[1], outs=tuple(results))


@dataclass(frozen=True, eq=False, kw_only=True)
class For(Op):
    """`for i in range(start, stop, step)`; the body's arguments are (i, *carried) and it yields the carried values.

    stops:      the body yields one more operand, a boolean, last: true ends the loop after this trip (`break`).
    order_free: the trips may run in any order (up to rounding of sums), as those of whole-array statements may.
    parallel:   the user wrote prange; in what is emitted, the trips run at the same time.
    over_chunks: a loop of the compiler's own, over chunks of the trips of a loop of the program's.
    pair:       what a loop of the forward sweep and its mirror in the reverse sweep (`is_mirror`) have in common.
    snapshots:  the trips are run again in the reverse sweep, from that many snapshots; 0 leaves their number open.
    """

    start: Operand
    stop: Operand
    step: Operand
    inits: tuple[Operand, ...]
    body: Region
    outs: tuple[Var, ...]
    stops: bool = False
    order_free: bool = False
    parallel: bool = False
    over_chunks: bool = False
    pair: object = None
    is_mirror: bool = False
    snapshots: int | None = None

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.start, self.stop, self.step, *self.inits)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        start, stop, step, *inits = operands
        return dataclasses.replace(
            self, start=start, stop=stop, step=step, inits=tuple(inits), body=regions[0], outs=tuple(results)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class While(Op):
    """`test` and `body` take the carried values; `test` yields one boolean, `body` the carried values.

    stops: the body yields one more operand, a boolean, last: true ends the loop without another test (`break`).
    """

    inits: tuple[Operand, ...]
    test: Region
    body: Region
    outs: tuple[Var, ...]
    stops: bool = False

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.inits

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.test, self.body)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, inits=tuple(operands), test=regions[0], body=regions[1], outs=tuple(results))


@dataclass(frozen=True, eq=False, kw_only=True)
class Raise(Op):
    """`raise exception(*args)`. `condition` None raises always; else only where it is false (`assert`)."""

    exception: type[BaseException]
    args: tuple[Operand | str, ...] = ()
    condition: Operand | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return () if self.condition is None else (self.condition,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, condition=operands[0] if operands else None)


# The headings of the two sweeps, and of the second half of a trip that does both.
FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP = "---- forward sweep", "---- reverse sweep", "---- reverse of the trip"
HEADINGS = (FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comment(Op):
    """`# text` on a line of its own. Each `{}` in the text stands for the name that one of `about` is given."""

    text: str
    about: tuple[Var, ...] = ()

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return self


def carried_args(op: For | While) -> tuple[Var, ...]:
    """What a loop's body calls the carried values."""
    return op.body.args[1:] if isinstance(op, For) else op.body.args
