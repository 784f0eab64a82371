"""Integers that loops hand on, told by the number of the trip.

In: a kernel as it was elaborated. Out: the same, in which `while` loops that count are `for` loops, and integers that
follow from constants are no longer handed on, but worked out while compiling.

    i = start                          for i in range(start, n, step):
    while i < n:                           ...
        ...; i += step

    half = 8                           for level in range(4):
    while half > 0:                        half = 8 >> level
        ...; half //= 2                    ...

A mirror keeps what a loop hands on, and of a loop whose trips nobody counts it keeps that in lists, which kernels have
not.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.integers import is_natural
from adjit.transform.ir.types import array_type, typed_const

MOST_TRIPS = 4096  # of a loop that is run while compiling

_WORKED_OUT = {
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg, operator.lshift,
    operator.rshift, operator.and_, operator.or_, operator.xor, operator.not_, operator.eq, operator.ne, operator.lt,
    operator.le, operator.gt, operator.ge, min, max, abs, bool, ir.cast,
}  # fmt: skip
_NEVER_FAIL = {operator.add, operator.sub, operator.mul, operator.neg, min, max}
_ENDS = {operator.lt: 0, operator.le: 1}


def solve_induction_variables(function: ir.Function) -> ir.Function:
    """The function with such loops and integers told by the trip."""
    made = _Telling(function)
    return ir.with_body(function, ir.rewritten(function.body, made.op))


class _Telling:
    def __init__(self, function: ir.Function):
        self.made = function.body.made
        self.counts = frozenset(function.counts)
        self.loops = {op.body.args[0]: op for op in function.body.inside if isinstance(op, ir.For)}
        self.read = {
            o for op in function.body.inside for o in (*op.operands, *(y for r in op.regions for y in r.yields))
        }

    def op(self, op: ir.Op) -> Sequence[ir.Op]:
        if not isinstance(op, ir.While | ir.For):
            return (op,)
        if isinstance(op, ir.While) and any(isinstance(o, ir.Call) and o.effect for o in op.test.inside):
            return _tested_in_trips(op)
        found = self.worked_out(op)
        if found is not None or isinstance(op, ir.For):
            return (op,) if found is None else found
        fixed, loop = _without_fixed(op)
        counted = self.counted(loop)
        return (op,) if counted is None else (*fixed, *counted)

    # -------------------------------------------------------------------------------------- run while compiling

    def worked_out(self, loop: ir.While | ir.For) -> Sequence[ir.Op] | None:
        """The loop, if what it hands on of integers, and how often it runs, follows from constants."""
        slots = self.constant_slots(loop)
        if not slots or loop.stops or (isinstance(loop, ir.For) and loop.level is not None):
            return None
        rows = _run(loop, slots)
        if rows is None:
            return None
        *values, last = rows
        builder = ir.Builder(loop.origin)
        counter = ir.Var("level", types.intp) if isinstance(loop, ir.While) else loop.body.args[0]
        number: ir.Operand = counter
        mapping: dict[ir.Var, ir.Operand] = {}
        if isinstance(loop, ir.For):
            number = _number(builder, loop)
        for place, k in enumerate(slots):
            mapping[loop.slots[k].arg] = _told(builder, number, [row[place] for row in values], loop.slots[k].arg)
        others = [k for k in range(len(loop.outs)) if k not in slots]
        narrow = ir.with_results(loop, others)
        ops = [*builder.ops, *(ir.substituted(inner, mapping) for inner in loop.body.ops)]
        yields = tuple(ir.substituted_operand(y, mapping) for y in narrow.body.yields)
        ends = [
            ir.Call(callee=ir.cast, args=(typed_const(last[place], out.type),), outs=(out,), origin=loop.origin)
            for place, k in enumerate(slots)
            if (out := loop.outs[k]) in self.read
        ]
        if isinstance(narrow, ir.For):
            return (dataclasses.replace(narrow, body=ir.Region(narrow.body.args, tuple(ops), yields)), *ends)
        body = ir.Region((counter, *narrow.body.args), tuple(ops), yields)
        trips = ir.integer(len(values))
        made = ir.For(stop=trips, inits=narrow.inits, body=body, outs=narrow.outs, origin=loop.origin)
        return (made, *ends)

    def constant_slots(self, loop: ir.While | ir.For) -> list[int]:
        """The slots of integers that follow from constants, trip by trip."""
        made = {out: op for op in loop.body.ops for out in op.results}
        found = [k for k, s in enumerate(loop.slots) if isinstance(s.init, ir.Const) and _is_whole(s.init)]
        size = -1
        while size != (size := len(found)):
            known: set[ir.Operand] = {loop.slots[k].arg for k in found}
            if isinstance(loop, ir.For):
                known.add(loop.body.args[0])
            found = [k for k in found if _follows(loop.slots[k].yielded, known, made)]
        if isinstance(loop, ir.For):
            bounds = (loop.start, loop.stop, loop.step)
            return found if found and all(isinstance(b, ir.Const) for b in bounds) else []
        tested: set[ir.Operand] = {loop.test.args[k] for k in found}
        own = {out: op for op in loop.test.ops for out in op.results}
        return found if _follows(loop.test.yields[0], tested, own) else []

    # ------------------------------------------------------------------------------------------------- that count

    def counted(self, loop: ir.While) -> Sequence[ir.Op] | None:
        """The loop as one over a range, if its test compares an integer that goes up by the same in each trip."""
        if len(loop.test.ops) != 1:
            return None
        (test,) = loop.test.ops
        if not isinstance(test, ir.Call) or loop.test.yields[0] is not test.outs[0] or len(test.args) != 2:
            return None
        left, bound = test.args
        if test.callee not in _ENDS or left not in loop.test.args or not self.is_fixed(loop, bound):
            return None
        place = loop.test.args.index(left)
        slot = loop.slots[place]
        step = self.step(loop, slot)
        if step is None or slot.arg.type != types.intp or (loop.stops and slot.out in self.read):
            return None
        before, after = ir.Builder(loop.origin), ir.Builder(loop.origin)
        if _ENDS[test.callee]:
            bound = before.call(operator.add, bound, ir.integer(1), type=types.intp, name="stop")
        narrow = ir.with_results(loop, [k for k in range(len(loop.outs)) if k != place])
        body = ir.Region((slot.arg, *narrow.body.args), narrow.body.ops, narrow.body.yields)
        if slot.out in self.read:
            _last_value(after, slot, bound, step)
        made = ir.For(
            start=slot.init, stop=bound, step=step, inits=narrow.inits, body=body, outs=narrow.outs, stops=loop.stops,
            origin=loop.origin,
        )  # fmt: skip
        return (*before.ops, made, *after.ops)

    def is_fixed(self, loop: ir.While, operand: ir.Operand) -> bool:
        """Whether it is an integer that is there before the loop."""
        inside = loop.test.defines | loop.body.defines
        return operand not in inside and isinstance(operand.type, types.Integer)

    def step(self, loop: ir.While, slot: ir.Slot) -> ir.Operand | None:
        """By how much the integer goes up in each trip; None if that is not known to be so."""
        made = next((op for op in loop.body.ops if slot.yielded in op.results), None)
        if not isinstance(made, ir.Call) or ir.canonical(made.callee) is not operator.add:
            return None
        left, right = made.args
        step = right if left is slot.arg else left if right is slot.arg else None
        if step is None or not self.is_fixed(loop, step) or step == ir.integer(0):
            return None
        return step if self.is_natural(step) else None

    def is_natural(self, operand: ir.Operand) -> bool:
        op = self.made.get(operand)
        if isinstance(op, ir.Call) and op.callee is operator.mul:
            return all(map(self.is_natural, op.args))
        return operand in self.counts or is_natural(operand, self.made)


def _tested_in_trips(loop: ir.While) -> Sequence[ir.Op]:
    """A loop whose test has a barrier in it, with that before the loop and at the end of each trip.

    while syncthreads_or(v > 1): ...        goes_on = syncthreads_or(v > 1)
                                            while goes_on: ...; goes_on = syncthreads_or(v > 1)
    """

    def tested(builder: ir.Builder, values: Sequence[ir.Operand]) -> ir.Operand:
        cloner = ir.Cloner(dict(zip(loop.test.args, values, strict=True)))
        for op in loop.test.ops:
            builder.emit(cloner.op(op))
        return cloner.operand(loop.test.yields[0])

    if loop.stops:
        raise errors.Unsupported(
            "`break` in a loop whose test is a barrier",
            ir.place_of(loop.origin),
            "",
            "Move the condition into the test of the loop.",
        )
    before, after = ir.Builder(loop.origin), ir.Builder(loop.origin)
    first, following = tested(before, loop.inits), tested(after, loop.body.yields)
    test_arg, arg, out = (ir.Var("goes_on", types.boolean) for _ in range(3))
    test = ir.Region((*(dataclasses.replace(a) for a in loop.test.args), test_arg), (), (test_arg,))
    body = ir.Region((*loop.body.args, arg), (*loop.body.ops, *after.ops), (*loop.body.yields, following))
    made = dataclasses.replace(loop, inits=(*loop.inits, first), test=test, body=body, outs=(*loop.outs, out))
    return (*before.ops, made)


def _without_fixed(loop: ir.While) -> tuple[list[ir.Op], ir.While]:
    """Integers that a loop works out anew, which are the same in each trip; and the loop without them."""
    inside = loop.test.defines | loop.body.defines
    fixed, moved = list[ir.Op](), set[ir.Operand]()
    regions: list[ir.Region] = []
    for region in loop.regions:
        left: list[ir.Op] = []
        for op in region.ops:
            is_known = isinstance(op, ir.Extent) or (isinstance(op, ir.Call) and op.callee in _NEVER_FAIL)
            if is_known and all(map(_is_whole, op.results)) and all(o not in inside or o in moved for o in op.operands):
                fixed.append(op)
                moved.update(op.results)
            else:
                left.append(op)
        regions.append(ir.with_ops(region, left))
    return fixed, ir.with_regions(loop, regions)


def _is_whole(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.Integer | types.Boolean)


def _follows(operand: ir.Operand, known: set[ir.Operand], made: Mapping[ir.Var, ir.Op]) -> bool:
    """Whether an integer follows from literals and from what is known, by operations that can be worked out."""
    if isinstance(operand, ir.Const):
        return _is_whole(operand)
    if operand in known:
        return True
    op = made.get(operand)
    if not isinstance(op, ir.Call) or op.options or ir.canonical(op.callee) not in _WORKED_OUT:
        return False
    return _is_whole(operand) and all(_follows(a, known, made) for a in op.args)


def _run(loop: ir.While | ir.For, slots: Sequence[int]) -> list[list[int]] | None:
    """What the slots hold in each trip, and after the last one; None if there are too many trips, or a number is not
    one of 64 bits."""
    state = [int(loop.slots[k].init.value) for k in slots]  # type: ignore[union-attr]
    rows: list[list[int]] = []
    trips = None
    if isinstance(loop, ir.For):
        bounds = [int(b.value) for b in (loop.start, loop.stop, loop.step) if isinstance(b, ir.Const)]
        if bounds[2] == 0 or len(range(*bounds)) > MOST_TRIPS:
            return None
        trips = iter(range(*bounds))
    while True:
        rows.append(state)
        if len(rows) > MOST_TRIPS + 1 or any(abs(n) >= 2**62 for n in state):
            return None
        known: dict[ir.Operand, int] = {}
        if isinstance(loop, ir.While):
            known.update((loop.test.args[k], n) for k, n in zip(slots, state, strict=True))
            test = _worker(loop.test, known)(loop.test.yields[0])
            if test is None or not test:
                return None if test is None else rows
        elif trips is not None:
            count = next(trips, None)
            if count is None:
                return rows
            known[loop.body.args[0]] = count
        known.update((loop.slots[k].arg, n) for k, n in zip(slots, state, strict=True))
        work = _worker(loop.body, known)
        following = [work(loop.slots[k].yielded) for k in slots]
        if None in following:
            return None
        state = [n for n in following if n is not None]


def _worker(region: ir.Region, known: dict[ir.Operand, int]) -> Callable[[ir.Operand], int | None]:
    """What works out integers of a region from those that are known; None where Python cannot."""
    made = {out: op for op in region.ops for out in op.results}

    def work(operand: ir.Operand) -> int | None:
        if isinstance(operand, ir.Const):
            return int(operand.value)
        if operand not in known:
            op: Any = made[operand]
            given: list[Any] = [work(a) for a in op.args]
            callee = int if op.callee is ir.cast else ir.canonical(op.callee)
            try:
                known[operand] = int(callee(*given))
            except (ArithmeticError, TypeError, ValueError):
                return None
        return known[operand]

    return work


def _number(builder: ir.Builder, loop: ir.For) -> ir.Operand:
    """Which trip it is, from 0 on."""
    assert isinstance(loop.start, ir.Const)
    assert isinstance(loop.step, ir.Const)
    number: ir.Operand = loop.body.args[0]
    if loop.start.value:
        number = builder.call(operator.sub, number, loop.start, type=types.intp, name="number")
    if loop.step.value != 1:
        number = builder.call(operator.floordiv, number, loop.step, type=types.intp, name="number")
    return number


def _told(builder: ir.Builder, number: ir.Operand, values: Sequence[int], like: ir.Var) -> ir.Operand:
    """The integer that has these values, trip by trip."""
    if not values or len(set(values)) == 1:
        return typed_const(values[0] if values else 0, like.type)
    first = values[0]
    for callee in (operator.rshift, operator.lshift):
        if first > 0 and all(callee(first, k) == n for k, n in enumerate(values)):
            return _as(builder, builder.call(callee, ir.integer(first), number, type=types.intp, name=like.name), like)
    apart = values[1] - first
    if all(first + k * apart == n for k, n in enumerate(values)):
        far = number if apart == 1 else builder.call(operator.mul, number, ir.integer(apart), type=types.intp)
        if first:
            far = builder.call(operator.add, ir.integer(first), far, type=types.intp, name=like.name)
        return _as(builder, far, like)
    table = ir.Const(np.array(values, np.int64), array_type(types.int64, 1))
    return _as(builder, builder.load(table, (number,), like.name), like)


def _as(builder: ir.Builder, value: ir.Operand, like: ir.Var) -> ir.Operand:
    return value if value.type == like.type else builder.call(ir.cast, value, type=like.type, name=like.name)


def _last_value(builder: ir.Builder, slot: ir.Slot, bound: ir.Operand, step: ir.Operand) -> None:
    """What the integer is after the loop: the first value that is not below the bound."""
    zero = ir.integer(0)

    def made(callee: Any, left: ir.Operand, right: ir.Operand, name: str) -> ir.Var:
        return builder.call(callee, left, right, type=types.intp, name=name)

    distance = made(max, made(operator.sub, bound, slot.init, "distance"), zero, "distance")
    rounded = made(operator.add, distance, made(operator.sub, step, ir.integer(1), "less"), "rounded")
    trips = made(operator.floordiv, rounded, step, "trips")
    far = made(operator.mul, trips, step, "far")
    builder.emit(ir.Call(callee=operator.add, args=(slot.init, far), outs=(slot.out,)))
