"""Counts that loops carry and that their counters tell: of a list, one more item a trip.

In: a function. Out: the same without integers that grow by a constant in every trip, but for the user's own.

    k = 0                                for i in range(n):
    for i in range(n):                       a[i] = ...
        a[k] = ...;  k = k + 1           k = n
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.integers import is_natural
from adjit.transform.ir.types import is_integer


def solve_list_lengths(function: ir.Function) -> ir.Function:
    """The function with such integers made of the counters of their loops."""
    made = function.body.made

    def changed(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        if not isinstance(op, ir.For) or op.stops or op.step != ir.integer(1):
            return op
        steps = [_step(op, k, slot) for k, slot in enumerate(op.slots)]
        return op if not any(steps) else _without(op, steps, made)

    return ir.with_body(function, ir.rewritten(function.body, changed))


def _step(loop: ir.For, place: int, slot: ir.Slot) -> int:
    """What every trip adds to a value that is carried; 0 if that is no constant, or a variable of the user's."""
    adding = loop.body.made.get(slot.yielded)
    if slot.arg.user or not is_integer(slot.arg.type) or slot.arg.type != types.intp:
        return 0
    if not isinstance(adding, ir.Call) or adding.callee is not operator.add or adding not in loop.body.ops:
        return 0
    one, other = adding.args
    return int(other.value) if one == slot.arg and isinstance(other, ir.Const) else 0


def _without(loop: ir.For, steps: Sequence[int], made: Mapping[ir.Operand, ir.Op]) -> Sequence[ir.Op]:
    """The loop without the values of which every trip adds so much, and what they are after it."""
    head, tail = ir.Builder(loop.origin), ir.Builder(loop.origin)
    past: ir.Operand = loop.body.args[0]
    trips = loop.stop
    if loop.start != ir.integer(0):
        past = head.call(operator.sub, past, loop.start, type=types.intp, name="past")
        trips = tail.call(operator.sub, trips, loop.start, type=types.intp, name="trips")
    if trips is not loop.stop or not is_natural(trips, made):
        trips = tail.call(max, trips, ir.integer(0), type=types.intp, name="trips")
    mapping: dict[ir.Var, ir.Operand] = {}
    for slot, step in zip(loop.slots, steps, strict=True):
        if step:
            mapping[slot.arg] = _count(head, slot.init, past, step)
            last = _count(tail, slot.init, trips, step)
            # which `simplify` takes for what it is
            tail.emit(ir.Call(callee=operator.add, args=(last, ir.integer(0)), outs=(slot.out,)))
    inner = ir.substituted_region(loop.body, mapping)
    whole = ir.with_regions(loop, [ir.with_ops(inner, (*head.ops, *inner.ops))])
    return [ir.with_results(whole, [k for k, step in enumerate(steps) if not step]), *tail.ops]


def _count(builder: ir.Builder, start: ir.Operand, trips: ir.Operand, step: int) -> ir.Operand:
    """`start + step * trips`."""
    many = trips if step == 1 else builder.call(operator.mul, trips, ir.integer(step), type=types.intp, name="count")
    return many if start == ir.integer(0) else builder.call(operator.add, start, many, type=types.intp, name="count")
