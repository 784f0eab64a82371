"""How many trips a loop makes, and the range that runs through them the other way.

In: a loop. Out: operands, for which operations are emitted where they are not literals.

    for i in range(1, n - 1)      n - 2 trips      for i in range(n - 2, 0, -1)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer, is_natural, parted


def count_trips(builder: ir.Builder, op: ir.For) -> ir.Operand:
    """max(0, ceil((stop - start) / step))."""
    name = f"{op.body.args[0].name}_trips".lstrip("_")
    first, last = (op.stop, op.start) if op.step == ir.integer(-1) else (op.start, op.stop)
    count = emit_integer(builder, operator.sub, last, first, name)
    if op.step not in (ir.integer(1), ir.integer(-1)):
        ahead = emit_integer(builder, operator.add, count, op.step, name)
        if isinstance(op.step, ir.Const):
            sign: ir.Operand = ir.integer(1 if op.step.value > 0 else -1)
        else:
            positive = builder.call(operator.gt, op.step, ir.integer(0), type=types.boolean, name="is_ascending")
            sign = builder.call(ir.select, positive, ir.integer(1), ir.integer(-1), type=types.intp, name="sign")
        ahead = emit_integer(builder, operator.sub, ahead, sign, name)
        count = emit_integer(builder, operator.floordiv, ahead, op.step, name)
    return emit_integer(builder, max, count, ir.integer(0), name)


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
    base, offset = parted(high, definitions)
    if isinstance(low, ir.Const) and offset < 0:
        # -1 < n - 1
        low, high = ir.integer(low.value - offset), base
    return builder.call(operator.gt, high, low, type=types.boolean, name="has_trips")


def natural(builder: ir.Builder, operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> ir.Operand:
    """The extent, zero where it is below."""
    return operand if is_natural(operand, made) else emit_integer(builder, max, operand, ir.integer(0), "n")


def trip_number(builder: ir.Builder, op: ir.For, counter: ir.Operand) -> ir.Operand:
    """The number of the trip, from 0, in which the loop's counter has this value."""
    name = f"{op.body.args[0].name}_place"
    place = emit_integer(builder, operator.sub, counter, op.start, name)
    return emit_integer(builder, operator.floordiv, place, op.step, name)


def counter_of(builder: ir.Builder, op: ir.For, trip: ir.Var) -> ir.Operand:
    """The loop's counter in the trip of this number, from 0."""
    offset = emit_integer(builder, operator.mul, trip, op.step, "offset")
    return emit_integer(builder, operator.add, op.start, offset, op.body.args[0].name)


def is_last_trip(builder: ir.Builder, op: ir.For) -> ir.Operand:
    """Whether the trip at hand is the last one, asked inside the loop."""
    counter = op.body.args[0]
    if isinstance(op.step, ir.Const) and abs(op.step.value) == 1:
        last = emit_integer(builder, operator.sub, op.stop, op.step, "last")
        return builder.call(operator.eq, counter, last, type=types.boolean, name="is_last")
    last = emit_integer(builder, operator.sub, count_trips(builder, op), ir.integer(1), "last")
    return builder.call(operator.eq, trip_number(builder, op, counter), last, type=types.boolean, name="is_last")


def place_in_range(builder: ir.Builder, op: ir.For, counter: ir.Operand) -> ir.Operand:
    """Where a tape has what belongs to the trip of this counter: its number, or as well the trips still to come."""
    is_down_to_zero = op.step == ir.integer(-1) and op.stop == ir.integer(-1)
    return counter if is_down_to_zero else trip_number(builder, op, counter)


def mirrored_range(builder: ir.Builder, op: ir.For, backwards: bool) -> tuple[ir.Operand, ir.Operand, ir.Operand]:
    """The same trips, last first; as they are where the order does not matter and `backwards` does not ask for it.

    Blocks of a kernel run at the same time: their order does not matter.
    """
    if op.level == "blocks" or (op.order_free and not backwards):
        return op.start, op.stop, op.step
    if isinstance(op.step, ir.Const) and abs(op.step.value) == 1:
        step = int(op.step.value)
        first = emit_integer(builder, operator.sub, op.stop, ir.integer(step), "last")
        end = emit_integer(builder, operator.sub, op.start, ir.integer(step), "end")
        return first, end, ir.integer(-step)
    count = count_trips(builder, op)
    before = emit_integer(builder, operator.sub, count, ir.integer(1), "n")
    offset = emit_integer(builder, operator.mul, before, op.step, "offset")
    first = emit_integer(builder, operator.add, op.start, offset, "last")
    end = emit_integer(builder, operator.sub, op.start, op.step, "end")
    back = emit_integer(builder, operator.sub, ir.integer(0), op.step, "back")
    return first, end, back
