"""What the values of a function, and the way it takes, depend on: variables and memory.

In: a function and which of its results are values whose every bit counts. Out: `Reach`. What is not in it only reaches
adjoints, so that a sum in it may be added up in any order.

    total += e; x_bar[j] += e_bar       total is in the reach of the returned total, x_bar is not
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases, names_given


class Reach:
    """Everything that flows into the yields at `positions`, into a condition, a loop bound, an index or an effect."""

    def __init__(self, function: ir.Function, aliases: Aliases, positions: Collection[int]):
        self._aliases = aliases
        self._vars: set[ir.Operand] = set()
        self._memory: set[ir.Operand] = set()
        ops = function.body.inside
        wanted = [y for k, y in enumerate(function.body.yields) if k in positions]
        wanted += (operand for op in ops for operand in steering(op))
        self._add(wanted)
        self._add_memory(wanted)
        size = -1
        while size != (size := len(self._vars) + len(self._memory)):
            for op in reversed(ops):
                self._flow(op)

    def has_var(self, var: ir.Var) -> bool:
        return var in self._vars

    def has_memory(self, array: ir.Operand) -> bool:
        return self._aliases.find(array) in self._memory

    def _add(self, operands: Iterable[ir.Operand]) -> None:
        """Values and, of arrays, which they are and of what shape."""
        self._vars.update(o for o in operands if isinstance(o, ir.Var))

    def _add_memory(self, operands: Iterable[ir.Operand]) -> None:
        """What arrays hold."""
        self._memory.update(self._aliases.find(o) for o in operands if ir.is_reference(o))

    def _flow(self, op: ir.Op) -> None:
        """What is read for the sake of what is in the reach, is in it."""
        if isinstance(op, ir.Store | ir.Push):
            target = op.array if isinstance(op, ir.Store) else op.tape
            if self.has_memory(target):
                self._add(op.operands)
        elif isinstance(op, ir.For | ir.While | ir.If):
            for names in names_given(op):
                if any(name in self._vars for name in names):
                    self._add(names)
        elif any(out in self._vars for out in op.results):
            self._add(op.operands)
            self._add_memory(op.memory_read)


def steering(op: ir.Op) -> Iterator[ir.Operand]:
    """What decides which way an operation takes, or where in memory."""
    match op:
        case ir.For() | ir.While():
            yield from (op.start, op.stop, op.step) if isinstance(op, ir.For) else op.test.yields
            if op.stops:
                yield op.body.yields[-1]
        case ir.If() | ir.Raise():
            yield from op.operands
        case ir.Load() | ir.Store():
            yield from op.index
        case ir.Call(effect=True):
            yield from op.args
