"""Which values carry a derivative: those that depend on an active input and reach an active output.

In: a function, the variables differentiated with respect to, the results that have an adjoint or tangent.
Out: an `Activity`; memory is active by alias class.

    y = x * n       with respect to x: x and y are active, n is not
    z = np.floor(y) is not, nor is anything made of it alone
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, TypeVar

from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases

_Item = TypeVar("_Item")


def carries(type_: types.Type) -> bool:
    """Whether values of this type can have a derivative: floats, arrays of floats, tapes of either."""
    return carries(type_.dtype) if isinstance(type_, types.List) else ir.is_float(type_)


def is_constant(callee: Any) -> bool:
    """Whether the result of a call has no derivative whatever goes in."""
    if callee in (ir.cast, ir.select):
        return False
    entry = lookup(callee)
    return entry is not None and entry.constant


def is_exchange(op: ir.Op) -> bool:
    """Whether another process takes part in an operation, so that its derivative is made whatever is active here."""
    entry = lookup(op.callee) if isinstance(op, ir.Call) and op.effect else None
    return entry is not None and entry.exchange


def goes_into(op: ir.Op) -> Iterator[tuple[ir.Operand, ...]]:
    """What an operation makes or changes, each before what goes into it."""
    if isinstance(op, ir.Call):
        yield from ((out, *op.args) for out in op.outs)
    elif isinstance(op, ir.Store | ir.Push):
        yield op.operands[0], op.value
    elif isinstance(op, ir.Load | ir.Copy | ir.Pull):
        yield op.out, op.operands[0]
    else:
        yield from ir.joined(op)


def reached(start: Set[_Item], steps: Sequence[tuple[Set[_Item], Set[_Item]]]) -> set[_Item]:
    """What is reached from the start by steps, each from any of some to all of others."""
    found = set(start)
    size = -1
    while size != (size := len(found)):
        for any_of, to in steps:
            if not found.isdisjoint(any_of):
                found |= to
    return found


class Activity:
    """The active variables of a function, and the alias classes they are found with."""

    def __init__(self, function: ir.Function, inputs: Iterable[ir.Operand], outputs: Iterable[ir.Operand]):
        self.aliases = function.analysis(Aliases)
        exchanges = [op for op in function.body.inside if is_exchange(op)]
        arriving = [out for op in exchanges for out in op.results]
        leaving = [operand for op in exchanges for operand in op.operands]
        flows = [names for op in function.body.inside if not self.is_constant(op) for names in goes_into(op)]
        self.varied = self._reached((*inputs, *arriving), [(of, [made]) for made, *of in flows])
        self._useful = self._reached((*outputs, *leaving), [([made], of) for made, *of in reversed(flows)])

    @staticmethod
    def is_constant(op: ir.Op) -> bool:
        """Whether nothing that goes into an operation flows on."""
        return isinstance(op, ir.Call) and is_constant(op.callee)

    def is_active(self, operand: ir.Operand) -> bool:
        return self.is_varied(operand) and self.is_useful(operand)

    def is_useful(self, operand: ir.Operand) -> bool:
        """Whether it goes into an output, in a way that has a derivative."""
        return self._carries(operand) and self._key(operand) in self._useful

    def is_varied(self, operand: ir.Operand) -> bool:
        return self._carries(operand) and self._key(operand) in self.varied

    def _carries(self, operand: ir.Operand) -> bool:
        return isinstance(operand, ir.Var) and carries(operand.type)

    def _key(self, operand: ir.Operand) -> ir.Operand:
        return self.aliases.find(operand) if ir.is_reference(operand) else operand

    def _reached(
        self, start: Iterable[ir.Operand], steps: Sequence[tuple[Sequence[ir.Operand], Sequence[ir.Operand]]]
    ) -> set[ir.Operand]:
        """What is reached from the start by steps from any of some operands to all of others that can carry it."""
        keys = [
            ({self._key(o) for o in any_of}, {self._key(o) for o in to if self._carries(o)}) for any_of, to in steps
        ]
        return reached({self._key(o) for o in start if self._carries(o)}, keys)
