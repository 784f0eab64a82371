"""How many trips a loop makes, and the range that runs through them the other way.

In: a loop. Out: operands, for which operations are emitted where they are not literals.

    for i in range(1, n - 1)      n - 2 trips      for i in range(n - 2, 0, -1)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from numba import types

from adjit.transform import ir


def _emit(builder: ir.Builder, callee: object, left: ir.Operand, right: ir.Operand, name: str) -> ir.Operand:
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return ir.integer(callee(left.value, right.value))  # type: ignore[operator]
    if callee in (operator.add, operator.sub) and right == ir.integer(0):
        return left
    return builder.call(callee, left, right, type=types.intp, name=name)


def count_trips(builder: ir.Builder, op: ir.For) -> ir.Operand:
    """max(0, ceil((stop - start) / step))."""
    name = f"{op.body.args[0].name}_trips".lstrip("_")
    if op.step == ir.integer(-1):
        return _emit(builder, max, _emit(builder, operator.sub, op.start, op.stop, name), ir.integer(0), name)
    count = _emit(builder, operator.sub, op.stop, op.start, name)
    if op.step != ir.integer(1):
        ahead = _emit(builder, operator.add, count, op.step, name)
        if isinstance(op.step, ir.Const):
            sign: ir.Operand = ir.integer(1 if op.step.value > 0 else -1)
        else:
            positive = builder.call(operator.gt, op.step, ir.integer(0), type=types.boolean, name="is_ascending")
            sign = builder.call(ir.select, positive, ir.integer(1), ir.integer(-1), type=types.intp, name="sign")
        ahead = _emit(builder, operator.sub, ahead, sign, name)
        count = _emit(builder, operator.floordiv, ahead, op.step, name)
    return _emit(builder, max, count, ir.integer(0), name)


def literal_trips(op: ir.For) -> range | None:
    """The trips of a loop over a literal range that is not left early."""
    bounds = [int(o.value) for o in op.operands[:3] if isinstance(o, ir.Const)]
    return None if op.stops or len(bounds) < 3 or bounds[2] == 0 else range(*bounds)


def has_one_trip(op: ir.Op) -> bool:
    """Whether it is a loop only in name, as a checkpointed call is."""
    return isinstance(op, ir.For) and (trips := literal_trips(op)) is not None and len(trips) == 1


def has_trips(builder: ir.Builder, op: ir.For, definitions: Mapping[ir.Operand, ir.Op]) -> ir.Operand:
    """Whether the loop makes a trip."""
    if isinstance(op.step, ir.Const):
        low, high = (op.start, op.stop) if op.step.value > 0 else (op.stop, op.start)
        return _is_below(builder, low, high, definitions)
    up = builder.call(operator.gt, op.step, ir.integer(0), type=types.boolean, name="is_ascending")
    rising = _is_below(builder, op.start, op.stop, definitions)
    falling = _is_below(builder, op.stop, op.start, definitions)
    return builder.call(ir.select, up, rising, falling, type=types.boolean, name="has_trips")


def _is_below(
    builder: ir.Builder, low: ir.Operand, high: ir.Operand, definitions: Mapping[ir.Operand, ir.Op]
) -> ir.Operand:
    made = definitions.get(high) if isinstance(high, ir.Var) else None
    if isinstance(low, ir.Const) and isinstance(made, ir.Call) and made.callee is operator.sub:
        # -1 < n - 1
        base, offset = made.args
        if isinstance(offset, ir.Const):
            low, high = ir.integer(low.value + offset.value), base
    return builder.call(operator.gt, high, low, type=types.boolean, name="has_trips")


def is_natural(operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether an extent is surely not below zero, also where a loop around makes no trip. `made`: by result."""
    if isinstance(operand, ir.Const):
        return bool(operand.value >= 0)
    op = made.get(operand)
    if isinstance(op, ir.Call) and op.callee is max:
        return any(is_natural(a, made) for a in op.args)
    if isinstance(op, ir.Call) and op.callee in (min, operator.add, operator.mul, operator.floordiv):
        return all(is_natural(a, made) for a in op.args)
    return isinstance(op, ir.Extent)


def natural(builder: ir.Builder, operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> ir.Operand:
    """The extent, zero where it is below."""
    return operand if is_natural(operand, made) else _emit(builder, max, operand, ir.integer(0), "n")


def trip_number(builder: ir.Builder, op: ir.For, counter: ir.Operand) -> ir.Operand:
    """The number of the trip, from 0, in which the loop's counter has this value."""
    name = f"{op.body.args[0].name}_place"
    place = _emit(builder, operator.sub, counter, op.start, name)
    return place if op.step == ir.integer(1) else _emit(builder, operator.floordiv, place, op.step, name)


def counter_of(builder: ir.Builder, op: ir.For, trip: ir.Var) -> ir.Operand:
    """The loop's counter in the trip of this number, from 0."""
    offset = trip if op.step == ir.integer(1) else _emit(builder, operator.mul, trip, op.step, "offset")
    return offset if op.start == ir.integer(0) else _emit(builder, operator.add, op.start, offset, op.body.args[0].name)


def is_last_trip(builder: ir.Builder, op: ir.For) -> ir.Operand:
    """Whether the trip at hand is the last one, asked inside the loop."""
    counter = op.body.args[0]
    if isinstance(op.step, ir.Const) and abs(op.step.value) == 1:
        last = _emit(builder, operator.sub, op.stop, op.step, "last")
        return builder.call(operator.eq, counter, last, type=types.boolean, name="is_last")
    last = _emit(builder, operator.sub, count_trips(builder, op), ir.integer(1), "last")
    return builder.call(operator.eq, trip_number(builder, op, counter), last, type=types.boolean, name="is_last")


def place_in_range(builder: ir.Builder, op: ir.For, counter: ir.Operand) -> ir.Operand:
    """Where a tape has what belongs to the trip of this counter: its number, or as well the trips still to come."""
    is_down_to_zero = op.step == ir.integer(-1) and op.stop == ir.integer(-1)
    return counter if is_down_to_zero else trip_number(builder, op, counter)


def mirrored_range(builder: ir.Builder, op: ir.For, backwards: bool) -> tuple[ir.Operand, ir.Operand, ir.Operand]:
    """The same trips, last first; as they are where the order does not matter and `backwards` does not ask for it."""
    if op.order_free and not backwards:
        return op.start, op.stop, op.step
    if isinstance(op.step, ir.Const) and abs(op.step.value) == 1:
        step = int(op.step.value)
        first = _emit(builder, operator.sub, op.stop, ir.integer(step), "last")
        end = _emit(builder, operator.sub, op.start, ir.integer(step), "end")
        return first, end, ir.integer(-step)
    count = count_trips(builder, op)
    before = _emit(builder, operator.sub, count, ir.integer(1), "n")
    offset = _emit(builder, operator.mul, before, op.step, "offset")
    first = _emit(builder, operator.add, op.start, offset, "last")
    end = _emit(builder, operator.sub, op.start, op.step, "end")
    back = _emit(builder, operator.sub, ir.integer(0), op.step, "back")
    return first, end, back
