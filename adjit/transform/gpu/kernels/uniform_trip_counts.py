"""Loops of threads that work together make as many trips in each of them, of which some do nothing.

In: a nest with threads. Out: the same, in which loops whose ends differ from thread to thread, or from trip to trip of
loops around them, have a number of trips that is known before the launch.

    for j in range(t, n, 256):            for trip in range((n + 255) // 256):
        total += x[j]                         j = t + trip * 256
                                              if j < n: total += x[j]

The reverse of such a loop keeps what it reads in an array with an axis for the threads and one for the trips; of the
former nobody would know how long that is. A user would write it like that for the same reason.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.trip_counts import count_trips, literal_trips
from adjit.transform.rewrite.affine_ops import Writer


def trips_alike(function: ir.Function) -> ir.Function:
    """The nest with such loops."""
    found = _Alike(function)
    ops: list[ir.Op] = []
    for op in function.body.ops:
        found.head = Writer(op.origin)
        made = ir.rewritten(ir.Region((), (op,), ()), found.loop).ops
        ops += (*found.head.ops, *made)
    return ir.with_body(function, ir.with_ops(function.body, ops))


class _Alike:
    def __init__(self, function: ir.Function):
        self.iterations = function.analysis(Iterations)
        self.loops = {op.body.args[0]: op for op in function.body.inside if isinstance(op, ir.For)}
        self.head = Writer()

    def loop(self, op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        """A loop, with what is inside it done; other operations as they are."""
        if not isinstance(op, ir.For) or op.level is not None or op.stops:
            return op
        own = self.loops[op.body.args[0]]
        around = self.iterations.places[own].loops
        is_inside = any(isinstance(o, ir.For) and o.level == "threads" for o in around)
        if not is_inside or all(self.is_known(end) for end in (own.start, own.stop)):
            return op
        least, most, step = self.end(own.start, 1), self.end(own.stop, -1), self.end(own.step, 1)
        if least is None or most is None or step is None or not step.is_natural or step == Affine():
            return op
        ends = [self.iterations.in_variables(end) for end in (least, most, step)]
        if None in ends:
            return op
        first, last, by = (self.head.integer(end) for end in ends if end is not None)
        count = count_trips(self.head, dataclasses.replace(own, start=first, stop=last, step=by))
        return _guarded(op, count)

    def is_known(self, operand: ir.Operand) -> bool:
        """Whether it is the same in all trips of all loops."""
        value = self.iterations.value(operand)
        return value is not None and not any(isinstance(symbol, ir.For) for symbol in value.terms)

    def end(self, operand: ir.Operand, sign: int) -> Affine | None:
        """What an integer is at least, sign 1, or at most, sign -1, in all trips of all loops; None if nobody knows."""
        value = self.iterations.value(operand)
        if value is None:
            op = self.iterations.definitions.get(operand)
            if not isinstance(op, ir.Call) or ir.canonical(op.callee) is not (max if sign > 0 else min):
                return None
            return next((end for arg in op.args if (end := self.end(arg, sign)) is not None), None)
        found = Affine(constant=value.constant)
        for symbol, factor in value.terms.items():
            if not isinstance(symbol, ir.For):
                found = found.plus(Affine({symbol: factor}))
            elif factor * sign < 0:
                trips = literal_trips(symbol)
                if trips is None:
                    return None
                found = found.plus(factor * max(0, len(trips) - 1))
        return found


def _guarded(loop: ir.For, count: ir.Operand) -> ir.For:
    """The loop with so many trips, of which those beyond its end do nothing."""
    builder = ir.Builder(loop.origin)
    counter, *args = loop.body.args
    trip = ir.Var("trip", types.intp)
    offset = builder.call(operator.mul, trip, loop.step, type=types.intp, name="offset")
    builder.emit(ir.Call(callee=operator.add, args=(loop.start, offset), outs=(counter,)))
    is_inside = builder.call(operator.lt, counter, loop.stop, type=types.boolean, name="is_inside")
    outs = tuple(dataclasses.replace(arg) for arg in args)
    then, orelse = ir.Region((), loop.body.ops, loop.body.yields), ir.Region((), (), tuple(args))
    builder.emit(ir.If(condition=is_inside, then=then, orelse=orelse, outs=outs))
    body = ir.Region((trip, *args), tuple(builder.ops), outs)
    return dataclasses.replace(loop, start=ir.integer(0), stop=count, step=ir.integer(1), body=body)
