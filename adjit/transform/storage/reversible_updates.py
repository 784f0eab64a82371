"""Carried values that a reverse loop finds by going back from the last one, instead of from a tape.

In: a loop. Out: for each such value how the one before is found: arrays that the loop only passes around, integers that
it moves by a fixed amount, and integers that an inner loop moves so.

    u, v = v, u         u, v = v, u
    p += 1              p -= 1
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from numba import types

from adjit.transform import ir


@dataclass(frozen=True)
class Step:
    """`inverse` is the operator that undoes the step, `amount` what it moves by; None where nothing is computed."""

    inverse: object = None
    amount: ir.Operand | None = None


def retraceable(op: ir.For | ir.While) -> dict[int, Step]:
    """The slots that can be retraced."""
    if isinstance(op, ir.For) and op.order_free:
        return {}
    found: dict[int, Step] = {k: Step() for k in handed_round(op)}
    for k, slot in enumerate(op.slots):
        if isinstance(slot.arg.type, types.Integer):
            step = _integer_step(slot.arg, slot.yielded, op.body)
            if step is not None:
                found[k] = step
    return found


def handed_round(op: ir.For | ir.While) -> list[int]:
    """The slots of arrays and tapes that a loop only passes around, among themselves."""
    slots = op.slots
    found = [k for k, slot in enumerate(slots) if ir.is_reference(slot.arg)]
    while True:
        args, yields = {slots[k].arg for k in found}, {slots[k].yielded for k in found}
        kept = [k for k in found if slots[k].yielded in args and slots[k].arg in yields]
        if kept == found:
            return found
        found = kept


def _integer_step(arg: ir.Var, yielded: ir.Operand, body: ir.Region) -> Step | None:
    if not isinstance(yielded, ir.Var):
        return None
    if yielded is arg:
        return Step()
    op = body.made.get(yielded)
    if isinstance(op, ir.For | ir.While):
        slot = op.outs.index(yielded)
        return Step() if op.inits[slot] is arg and slot in retraceable(op) else None
    if not isinstance(op, ir.Call) or yielded.type != arg.type:
        return None
    if op.callee in (operator.add, operator.iadd):
        other = op.args[1] if op.args[0] is arg else op.args[0] if op.args[1] is arg else None
        inverse: object = operator.sub
    elif op.callee in (operator.sub, operator.isub) and op.args[0] is arg:
        other, inverse = op.args[1], operator.add
    else:
        return None
    if other is None or other in body.defines or not isinstance(other.type, types.Integer):
        return None
    return Step(inverse, other)
