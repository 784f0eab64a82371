"""Values that a trip of a loop either hands on or replaces, and the running extrema among them.

In: a loop. Out: what its slots choose from; its extrema, each with what is replaced along with it.

    for j in range(n):
        place = j if x[j] > largest else place          a choice, beside the next one
        largest = max(largest, x[j])                    a choice, and an extremum

In an extremum only what is sure to be better takes the place: of equal ones the first stays, and nan never comes in.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import ir

COMPARISONS = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
_BETTER = {max: operator.gt, min: operator.lt}


@dataclass(frozen=True)
class Choice:
    """The slot of a loop that an operation hands on or replaces by `value`, which is there before the operation.

    It replaces it where `test` of these operands holds or, if `is_negated`, does not; where `test` is None, the operand
    itself says so.
    """

    slot: ir.Slot
    op: ir.Op
    value: ir.Operand
    test: object
    operands: tuple[ir.Operand, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class Extremum:
    """The slot that holds the greatest, or least, of what its trips find, and slots that are replaced when it is.

    ops: all operations of the loop's body that read one of them.
    """

    choice: Choice
    is_greatest: bool
    beside: Sequence[Choice]
    ops: frozenset[ir.Op]

    @property
    def slots(self) -> Sequence[ir.Slot]:
        return [self.choice.slot, *(choice.slot for choice in self.beside)]


def choice_of(loop: ir.For, slot: ir.Slot) -> Choice | None:
    """What a trip chooses from for a slot, if that is all that the operation that yields it does with it."""
    op = loop.body.made.get(slot.yielded)
    if isinstance(op, ir.Call) and op.callee in _BETTER and len(op.args) == 2 and slot.arg in op.args:
        (value,) = [a for a in op.args if a is not slot.arg] or (None,)
        # of two that are equal the first one is what Python returns
        better, operands = _BETTER[op.callee], (op.args[1], op.args[0])
        return _of(slot, op, value, better, operands, is_negated=op.args[0] is not slot.arg)
    if isinstance(op, ir.Call) and op.callee is ir.select:
        condition, *sides = op.args
    elif isinstance(op, ir.If):
        k = next(k for k, out in enumerate(op.outs) if out is slot.yielded)
        condition, *sides = op.condition, op.then.yields[k], op.orelse.yields[k]
    else:
        return None
    others = [side for side in sides if side is not slot.arg]
    if len(others) != 1 or (isinstance(op, ir.If) and others[0] in {**op.then.made, **op.orelse.made}):
        return None
    return _of(slot, op, others[0], None, (condition,), is_negated=sides[0] is slot.arg)


def _of(
    slot: ir.Slot, op: ir.Op, value: ir.Operand | None, test: object, operands: tuple[ir.Operand, ...], is_negated: bool
) -> Choice | None:
    if value is None or value.type != slot.arg.type:
        return None
    return Choice(slot, op, value, test, operands, is_negated)


def extrema_of(loop: ir.For) -> Sequence[Extremum]:
    """The extrema of floats that a loop carries and does nothing else with."""
    choices = [choice for slot in loop.slots if (choice := choice_of(loop, slot)) is not None]
    orders = {choice: _order(choice, loop.body.made) for choice in choices}
    found: list[Extremum] = []
    for choice in choices:
        arg, value = choice.slot.arg, choice.value
        if not isinstance(arg.type, types.Float) or orders[choice] not in ((arg, value), (value, arg)):
            continue
        beside = [other for other in choices if other is not choice and orders[other] == orders[choice]]
        ops = _ops(loop, [choice, *beside])
        if ops is not None:
            found.append(Extremum(choice, orders[choice] == (arg, value), beside, ops))
    return found


def _order(choice: Choice, made: Mapping[Any, ir.Op]) -> tuple[ir.Operand, ir.Operand] | None:
    """Of which two numbers the first has to be less than the second for a choice to replace what it holds."""
    test, operands = choice.test, choice.operands
    if test is None and isinstance(compared := made.get(operands[0]), ir.Call):
        test, operands = compared.callee, compared.args
    if choice.is_negated or test not in (operator.lt, operator.gt):
        return None
    left, right = operands
    return (left, right) if test is operator.lt else (right, left)


def _ops(loop: ir.For, choices: Sequence[Choice]) -> frozenset[ir.Op] | None:
    """The operations that make these choices; None if anything else reads what they hold, or they do more."""
    body = loop.body
    held, next_ones = ({getattr(choice.slot, name) for choice in choices} for name in ("arg", "yielded"))
    compared = {o for choice in choices if choice.test is None for o in choice.operands}
    ops = {*(choice.op for choice in choices), *(body.made[o] for o in compared)}
    for op in body.ops:
        read = set(ir.reads(op))
        if op not in ops and not read.isdisjoint(held | next_ones | compared):
            return None
        if op in ops and (not read.isdisjoint(next_ones) or not next_ones.union(compared).issuperset(op.results)):
            return None
        if op in ops and any(not isinstance(inner, ir.Comment) for region in op.regions for inner in region.ops):
            return None
    # a second one that is handed what the first one held is no place to look up
    if any(choice.value in held for choice in choices):
        return None
    return frozenset(ops) if sum(y in held | next_ones for y in body.yields) == len(choices) else None
