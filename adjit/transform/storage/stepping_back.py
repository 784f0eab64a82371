"""Carried values that a reverse loop finds by going back from the last one, instead of from a tape.

In: a loop. Out: for each such value how the one before is found: arrays that the loop only passes around, integers that
it moves by a fixed amount, and integers that an inner loop moves so.

    u, v = v, u         u, v = v, u
    p += 1              p -= 1
"""

from __future__ import annotations

import operator
from collections.abc import Set
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
    args = ir.carried_args(op)
    slots = [k for k, a in enumerate(args) if ir.is_reference(a)]
    yields = [op.body.yields[k] for k in slots]
    found: dict[int, Step] = {}
    if set(yields) == {args[k] for k in slots} and len(set(yields)) == len(slots):
        found.update((k, Step()) for k in slots)
    made = {out: inner for inner in op.body.ops for out in inner.results}
    inside = op.body.defines
    for k, arg in enumerate(args):
        if isinstance(arg.type, types.Integer):
            step = _integer_step(arg, op.body.yields[k], made, inside)
            if step is not None:
                found[k] = step
    return found


def _integer_step(arg: ir.Var, yielded: ir.Operand, made: dict[ir.Var, ir.Op], inside: Set[ir.Operand]) -> Step | None:
    if not isinstance(yielded, ir.Var):
        return None
    if yielded is arg:
        return Step()
    op = made.get(yielded)
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
    if other is None or other in inside or not isinstance(other.type, types.Integer):
        return None
    return Step(inverse, other)
