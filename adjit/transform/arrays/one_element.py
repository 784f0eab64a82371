"""An element that each trip of a loop has for itself, as a value that is handed on from one statement to the next.

In: the body of a loop that knows an array only by the element of the trip. Out: the same without the array.

    for i in range(n):                       for i in range(n):
        y[i] = 0.0                               y = 0.0
        for j in range(m): y[i] += x[i, j]       for j in range(m): y = y + x[i, j]
        s += y[i] * y[i]                         s += y * y
"""

from __future__ import annotations

import dataclasses
import operator

from adjit.transform import ir
from adjit.transform.ir.types import array_type_of


def as_value(body: ir.Region, array: ir.Var, start: ir.Operand) -> ir.Region:
    """The body with a value for the one element of `array` that it loads and stores; at first it is `start`."""
    writing = _Writing(array)
    ops, _ = writing.ops(body, start)
    return ir.substituted_region(ir.with_ops(body, ops), writing.mapping)


def may_be_value(body: ir.Region, array: ir.Var) -> bool:
    """Whether loops that store to the element can carry it."""
    loops = [op for op in ir.walk(body) if isinstance(op, ir.While) or (isinstance(op, ir.For) and op.stops)]
    return not any(isinstance(op, ir.Store) and op.array is array for loop in loops for op in ir.with_inner(loop))


class _Writing:
    def __init__(self, array: ir.Var):
        self.array = array
        self.mapping: dict[ir.Var, ir.Operand] = {}

    def fresh(self) -> ir.Var:
        return ir.Var(self.array.name, array_type_of(self.array).dtype, self.array.user)

    def current(self, operand: ir.Operand) -> ir.Operand:
        while isinstance(operand, ir.Var) and operand in self.mapping:
            operand = self.mapping[operand]
        return operand

    def ops(self, region: ir.Region, value: ir.Operand) -> tuple[list[ir.Op], ir.Operand]:
        """The operations of a region that starts with a value of the element, and the value at its end."""
        made: list[ir.Op] = []
        for op in region.ops:
            if isinstance(op, ir.Load) and op.array is self.array:
                self.mapping[op.out] = value
            elif isinstance(op, ir.Store) and op.array is self.array:
                stored = self.current(op.value)
                if op.add:
                    out = self.fresh()
                    made.append(ir.Call(callee=operator.add, args=(value, stored), outs=(out,), origin=op.origin))
                    stored = out
                value = stored
            elif op.regions:
                op, value = self.control(op, value)
                made.append(op)
            else:
                made.append(op)
        return made, value

    def control(self, op: ir.Op, value: ir.Operand) -> tuple[ir.Op, ir.Operand]:
        is_stored = any(isinstance(inner, ir.Store) and inner.array is self.array for inner in ir.with_inner(op))
        if not is_stored:
            regions = [dataclasses.replace(r, ops=tuple(self.ops(r, value)[0])) for r in op.regions]
            return ir.with_regions(op, regions), value
        out = self.fresh()
        if isinstance(op, ir.If):
            sides = [self.ops(r, value) for r in op.regions]
            then, orelse = (
                ir.Region((), tuple(ops), (*r.yields, last)) for r, (ops, last) in zip(op.regions, sides, strict=True)
            )
            return dataclasses.replace(op, then=then, orelse=orelse, outs=(*op.outs, out)), out
        assert isinstance(op, ir.For)
        arg = self.fresh()
        ops, last = self.ops(op.body, arg)
        return ir.with_slots(op, [ir.Slot(value, arg, last, out)], ops), out
