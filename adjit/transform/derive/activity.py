"""Which values carry a derivative: those that depend on an active input and reach an active output.

In: a function, the variables differentiated with respect to, the results that have an adjoint or tangent.
Out: an `Activity`; memory is active by alias class.

    y = x * n       with respect to x: x and y are active, n is not
    z = np.floor(y) is not, nor is anything made of it alone
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases


def carries(type_: types.Type) -> bool:
    """Whether values of this type can have a derivative: floats, arrays of floats, tapes of either."""
    return carries(type_.dtype) if isinstance(type_, types.List) else ir.is_float(type_)


def is_constant(callee: Any) -> bool:
    """Whether the result of a call has no derivative whatever goes in."""
    if callee in (ir.cast, ir.select):
        return False
    entry = lookup(callee)
    return entry is not None and entry.constant


class Activity:
    """The active variables of a function, and the alias classes they are found with."""

    def __init__(self, function: ir.Function, inputs: Iterable[ir.Operand], outputs: Iterable[ir.Operand]):
        self.aliases = function.analysis(Aliases)
        self._function = function
        self.varied = self._fixpoint(self._varied, inputs)
        self._useful = self._fixpoint(self._reached, outputs)

    def is_active(self, operand: ir.Operand) -> bool:
        if not isinstance(operand, ir.Var) or not carries(operand.type):
            return False
        key = self._key(operand)
        return key in self.varied and key in self._useful

    def is_varied(self, operand: ir.Operand) -> bool:
        return isinstance(operand, ir.Var) and carries(operand.type) and self._key(operand) in self.varied

    def _key(self, operand: ir.Operand) -> ir.Operand:
        return self.aliases.find(operand) if ir.is_reference(operand) else operand

    def _fixpoint(self, step: Any, start: Iterable[ir.Operand]) -> set[ir.Operand]:
        found = {self._key(o) for o in start if isinstance(o, ir.Var) and carries(o.type)}
        size = -1
        while size != len(found):
            size = len(found)
            step(self._function.body, found)
        return found

    # -------------------------------------------------------------------------------------------------- forwards

    def _varied(self, region: ir.Region, found: set[ir.Operand]) -> None:
        def has(operand: ir.Operand) -> bool:
            return self._key(operand) in found

        def mark(operand: ir.Operand) -> None:
            if isinstance(operand, ir.Var) and carries(operand.type):
                found.add(self._key(operand))

        for op in region.ops:
            if isinstance(op, ir.For | ir.While):
                for init, arg, _, _ in op.slots:
                    if has(init):
                        mark(arg)
                self._varied(op.body, found)
                for _, arg, yielded, out in op.slots:
                    if has(yielded) or has(arg):
                        mark(arg)
                        mark(out)
            elif isinstance(op, ir.If):
                for side in op.regions:
                    self._varied(side, found)
                    for yielded, out in zip(side.yields, op.outs, strict=True):
                        if has(yielded):
                            mark(out)
            elif isinstance(op, ir.Store | ir.Push):
                if has(op.value):
                    mark(op.operands[0])
            elif isinstance(op, ir.Call):
                if not is_constant(op.callee) and any(has(a) for a in op.args):
                    for out in op.outs:
                        mark(out)
            elif isinstance(op, ir.Load):
                if has(op.array):
                    mark(op.out)
            elif isinstance(op, ir.Copy):
                if has(op.source):
                    mark(op.out)
            elif isinstance(op, ir.Pull) and has(op.tape):
                mark(op.out)

    # ------------------------------------------------------------------------------------------------- backwards

    def _reached(self, region: ir.Region, found: set[ir.Operand]) -> None:
        def has(operand: ir.Operand) -> bool:
            return self._key(operand) in found

        def mark(operand: ir.Operand) -> None:
            if isinstance(operand, ir.Var) and carries(operand.type):
                found.add(self._key(operand))

        for op in reversed(region.ops):
            if isinstance(op, ir.For | ir.While):
                for _, arg, yielded, out in op.slots:
                    if has(out) or has(arg):
                        mark(yielded)
                self._reached(op.body, found)
                for init, arg, yielded, out in op.slots:
                    if has(out) or has(arg):
                        mark(init)
                        mark(yielded)
            elif isinstance(op, ir.If):
                for side in op.regions:
                    for yielded, out in zip(side.yields, op.outs, strict=True):
                        if has(out):
                            mark(yielded)
                    self._reached(side, found)
            elif isinstance(op, ir.Store | ir.Push):
                if has(op.operands[0]):
                    mark(op.value)
            elif isinstance(op, ir.Call):
                if not is_constant(op.callee) and any(has(out) for out in op.outs):
                    for a in op.args:
                        mark(a)
            elif isinstance(op, ir.Load):
                if has(op.out):
                    mark(op.array)
            elif isinstance(op, ir.Copy):
                if has(op.out):
                    mark(op.source)
            elif isinstance(op, ir.Pull) and has(op.out):
                mark(op.tape)
