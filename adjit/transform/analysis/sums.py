"""Carried values that are only added to.

In: a value that a loop carries. Out: whether the order of the trips matters to it no more than rounding.

    total += x[i] * w
    if x[i] > 0.0: total += x[i]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Set

from numba import types

from adjit.runtime.library import multiply_add, multiply_subtract, reassociable_add, reassociable_sub
from adjit.transform import ir


def is_sum(arg: ir.Var, yielded: ir.Operand, body: ir.Region) -> bool:
    """Whether a carried number is only added to, so that the order of the trips does not matter (up to rounding)."""
    return (yielded is arg or isinstance(arg.type, types.Float)) and partial_sums(arg, yielded, body) is not None


def carries_adjoint_sums(loop: ir.For) -> bool:
    """Whether a loop of the reverse sweep carries nothing but sums, the order of whose terms nobody can tell."""
    slots = zip(loop.body.args[1:], loop.body.yields, strict=True)
    return loop.is_mirror and not loop.stops and all(is_sum(arg, y, loop.body) for arg, y in slots)


def partial_sums(value: ir.Operand, result: ir.Operand, region: ir.Region) -> set[ir.Operand] | None:
    """All that the value is called on its way to the result, both included; None if it is not only added to."""
    found = {value}
    while True:
        readers = [op for op in region.ops if any(o is value for o in ir.reads(op))]
        handed_on = sum(y is value for y in region.yields)
        if value is result:
            return found if not readers and handed_on == 1 else None
        step = _added(value, readers[0], found) if len(readers) == 1 and not handed_on else None
        if step is None:
            return None
        value = step
        found.add(value)


def _added(value: ir.Operand, op: ir.Op, found: set[ir.Operand]) -> ir.Var | None:
    """The result of an operation that only adds to the value, None if it does anything else; `found` gets the names."""
    if isinstance(op, ir.Call):
        is_less = op.callee in (operator.sub, reassociable_sub) and op.args[0] is value
        is_product = op.callee in (multiply_add, multiply_subtract) and op.args[2] is value
        is_addition = op.callee in (operator.add, reassociable_add) or is_less or is_product
        return op.outs[0] if is_addition and sum(a is value for a in op.args) == 1 else None
    if isinstance(op, ir.For):
        if op.stops or sum(o is value for o in ir.reads(op)) != 1 or not any(i is value for i in op.inits):
            return None
        slot = next(k for k, init in enumerate(op.inits) if init is value)
        inner = partial_sums(op.body.args[1 + slot], op.body.yields[slot], op.body)
        found.update(inner or ())
        return None if inner is None else op.outs[slot]
    if isinstance(op, ir.If) and op.condition is not value:
        for out, *yields in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
            sides = [partial_sums(value, y, side) for y, side in zip(yields, op.regions, strict=True)]
            if None not in sides:
                found.update(*(side for side in sides if side is not None))
                return out
    return None


def is_unordered(names: Set[ir.Operand], body: ir.Region) -> bool:
    """Whether a sum, which is called these names in a loop, is written such that it is added up in any order."""
    steps = (op for op in body.inside if isinstance(op, ir.Call) and not names.isdisjoint(op.outs))
    return all(op.callee in (reassociable_add, reassociable_sub) for op in steps)


def in_any_order(op: ir.Op, names: Collection[ir.Operand]) -> ir.Op:
    """The operation with its additions to sums, which are called `names`, such that the compiler may reorder them."""

    def made(op: ir.Op) -> ir.Op:
        if not isinstance(op, ir.Call) or op.callee not in (operator.add, operator.sub) or op.outs[0] not in names:
            return op
        total, term = op.args if op.args[0] in names else op.args[::-1]
        if total.type != term.type or not ir.is_float(total.type):
            return op
        callee = reassociable_add if op.callee is operator.add else reassociable_sub
        return dataclasses.replace(op, callee=callee, args=(total, term))

    return ir.rewritten_op(op, made)
