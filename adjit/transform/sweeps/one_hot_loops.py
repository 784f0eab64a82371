"""Loops of which one trip alone adds anything are that trip.

    for j in range(n - 1, 0, -1):                                   if largest_place >= 1:
        x_bar[j] += largest_bar if j == largest_place else 0.0          x_bar[largest_place] += largest_bar

In: a function with both sweeps. Out: the same with such trips. The adjoint of a running extremum, and of whatever else
a loop chooses from its trips, is such a loop: all that it adds is what was chosen, or follows from that by products,
and so nothing in all trips but one. Where a loop chooses several times, each choice is a trip.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.choices import choice_of
from adjit.transform.analysis.integers import emit_integer, parted
from adjit.transform.ir.types import typed_const
from adjit.transform.rewrite.notes import Scheduled, note

_SUMS = (operator.add, operator.sub)
_OF_FIRST = (operator.neg, operator.pos, operator.truediv, ir.cast)


def take_single_trips(function: ir.Function) -> ir.Function:
    """The function with single trips in the place of loops; the same object if there are none."""
    loops = [op for op in function.body.inside if isinstance(op, ir.For) and _may_be(op)]
    if not loops:
        return function
    aliases, ranges = function.analysis(Aliases), _Ranges(function)
    made: dict[ir.Op, Sequence[ir.Op]] = {}
    for loop in loops:
        chosen = _chosen(loop)
        if chosen and _is_single(loop, chosen, aliases):
            made[loop] = _Trips(loop, chosen, ranges).made()
            if loop.pair is not None:
                note(Scheduled(loop.pair, "one trip"))
    return ir.with_body(function, ir.replaced(function.body, made)) if made else function


# ------------------------------------------------------------------------------------------------------ which loops


def _may_be(loop: ir.For) -> bool:
    is_marked = loop.stops or loop.parallel or loop.over_chunks or loop.level or loop.snapshots is not None
    if is_marked or loop.step not in (ir.integer(1), ir.integer(-1)):
        return False
    return all(
        isinstance(op, ir.Load | ir.Comment)
        or (isinstance(op, ir.Store) and op.add)
        or (isinstance(op, ir.Call) and not op.effect and len(op.outs) == 1)
        for op in loop.body.ops
    )


def _chosen(loop: ir.For) -> dict[ir.Op, ir.Operand]:
    """What is zero but in one trip, with the number of that."""
    counter, body = loop.body.args[0], loop.body
    found: dict[ir.Op, ir.Operand] = {}
    for op in body.ops:
        if not isinstance(op, ir.Call) or op.callee is not ir.select or not ir.is_float(op.outs[0].type):
            continue
        test = body.made.get(op.args[0])
        if not isinstance(test, ir.Call) or test.callee is not operator.eq or not _is_nothing(op.args[2]):
            continue
        places = [a for a in test.args if a is not counter]
        if len(places) == 1 and places[0] not in body.defines and places[0].type == counter.type:
            found[op] = places[0]
    return found


def _is_single(loop: ir.For, chosen: Mapping[ir.Op, ir.Operand], aliases: Aliases) -> bool:
    """Whether a loop adds nothing where nothing is chosen, and does no more than that."""
    zero: set[ir.Operand] = {op.results[0] for op in chosen}
    sums = {slot.yielded: slot.arg for slot in loop.slots if slot.yielded is not slot.arg}
    carried = set(sums.values())
    for op in loop.body.ops:
        if isinstance(op, ir.Store) and (op.value not in zero or op.extreme):
            return False
        if not isinstance(op, ir.Call):
            continue
        if op in chosen:
            # another choice, or a sum, is not what it was once the trips are apart
            if op.args[1] in zero or op.args[1] in carried:
                return False
        elif op.outs[0] in sums:
            if op.callee not in _SUMS or op.args[0] is not sums.pop(op.outs[0]) or op.args[1] not in zero:
                return False
        elif not carried.isdisjoint(op.args):
            return False
        elif not zero.isdisjoint(op.args):
            if not _is_linear(op, zero):
                return False
            zero.add(op.outs[0])
    stored, loaded = (
        {aliases.find(op.array) for op in loop.body.ops if isinstance(op, kind)} for kind in (ir.Store, ir.Load)
    )
    return not sums and stored.isdisjoint(loaded)


def _is_linear(op: ir.Call, zero: Collection[ir.Operand]) -> bool:
    """Whether a call is linear in those of its arguments that are zero, and so zero itself."""
    callee, are_zero = ir.canonical(op.callee), [a in zero for a in op.args]
    if callee is operator.mul:
        return sum(are_zero) == 1
    if callee is ir.select:
        sides = zip(op.args[1:], are_zero[1:], strict=True)
        return not are_zero[0] and all(is_zero or _is_nothing(side) for side, is_zero in sides)
    return all(are_zero) if callee in _SUMS else callee in _OF_FIRST and are_zero[0] and not any(are_zero[1:])


def _is_nothing(operand: ir.Operand) -> bool:
    return isinstance(operand, ir.Const) and ir.is_float(operand.type) and operand == typed_const(0, operand.type)


# ------------------------------------------------------------------------------------------------------ their trips


class _Trips:
    """The trips of a loop in which something is chosen."""

    def __init__(self, loop: ir.For, chosen: Mapping[ir.Op, ir.Operand], ranges: _Ranges):
        self.loop, self.chosen, self.ranges = loop, chosen, ranges
        self.builder = ir.Builder(loop.origin)

    def made(self) -> Sequence[ir.Op]:
        loop = self.loop
        places = list(dict.fromkeys(self.chosen.values()))
        now: Sequence[ir.Operand] = loop.inits
        for place in places:
            outs = loop.outs if place is places[-1] else tuple(dataclasses.replace(out) for out in loop.outs)
            condition = self.ranges.emit_test(self.builder, loop, place)
            with self.builder.region() as ops:
                found = self.emit_trip(place, now)
            then, orelse = ir.Region((), tuple(ops), tuple(found)), ir.Region((), (), tuple(now))
            self.builder.emit(ir.If(condition=condition, then=then, orelse=orelse, outs=outs))
            now = outs
        return self.builder.ops

    def emit_trip(self, place: ir.Operand, carried: Sequence[ir.Operand]) -> Sequence[ir.Operand]:
        """The trip of that number, without what is chosen in others; gives what it hands on."""
        body = self.loop.body
        known = ir.Cloner(dict(zip(body.args, (place, *carried), strict=True)))
        gone: set[ir.Operand] = {op.results[0] for op, other in self.chosen.items() if other != place}
        for op in body.ops:
            if op in self.chosen:
                if op.results[0] not in gone:
                    known.mapping[op.results[0]] = known.operand(op.operands[1])
            elif isinstance(op, ir.Call) and not gone.isdisjoint(op.args):
                self.emit_without(op, gone, known)
            elif not isinstance(op, ir.Store) or op.value not in gone:
                self.builder.emit(known.op(op))
        return [known.operand(y) for y in body.yields]

    def emit_without(self, op: ir.Call, gone: set[ir.Operand], known: ir.Cloner) -> None:
        """What a call gives without those of its arguments, which is zero, the other argument, or less than that."""
        (result,) = op.outs
        callee, left = ir.canonical(op.callee), [a for a in op.args if a not in gone]
        if callee is ir.select and not all(map(_is_nothing, left[1:])):
            sides = [typed_const(0, result.type) if a in gone else a for a in op.args]
            self.builder.emit(known.op(dataclasses.replace(op, args=tuple(sides))))
        elif callee not in _SUMS or not left:
            gone.add(result)
        elif callee is operator.sub and left[0] is not op.args[0]:
            self.builder.emit(known.op(ir.Call(callee=operator.neg, args=(left[0],), outs=op.outs, origin=op.origin)))
        else:
            known.mapping[result] = known.operand(left[0])


End = tuple[ir.Operand | None, int]  # a value and a literal that is added to it; or that alone


class _Ranges:
    """Between which numbers the trips of loops are."""

    def __init__(self, function: ir.Function):
        self.body, self.aliases = function.body, function.analysis(Aliases)
        # what is one number wherever it is read
        self.fixed = {None, *function.body.args, *(out for op in function.body.ops for out in op.results)}

    def emit_test(self, builder: ir.Builder, loop: ir.For, place: ir.Operand) -> ir.Operand:
        """Whether a trip of the loop has that number."""
        low, after = self.ends(loop)
        is_some = builder.call(operator.ge, place, _written(builder, low), type=types.boolean, name="is_some")
        if {low[0], after[0]} <= self.fixed and all(self.is_place(v, low, after) for v in self.values(place)):
            return is_some
        is_before = builder.call(operator.lt, place, _written(builder, after), type=types.boolean, name="is_before")
        return builder.call(operator.and_, is_some, is_before, type=types.boolean, name="is_there")

    def values(self, place: ir.Operand) -> list[ir.Operand]:
        """All that a number may be: of one that was kept, what was stored."""
        op = self.body.made.get(place)
        if not isinstance(op, ir.Load) or not isinstance(self.body.made.get(op.array), ir.Alloc):
            return [place]
        memory = self.aliases.find(op.array)
        changed = ((other, other.memory_written) for other in self.body.inside)
        writers = [other for other, array in changed if array is not None and self.aliases.find(array) is memory]
        return [w.value if isinstance(w, ir.Store) and not w.add else place for w in writers] or [place]

    def is_place(self, value: ir.Operand, low: End, after: End) -> bool:
        """Whether a loop between these ends chose it from its trips, or it is the number before the first one."""
        loop = self.body.made.get(value)
        if not isinstance(loop, ir.For) or loop.stops or loop.step != ir.integer(1):
            return False
        slot = next(slot for slot in loop.slots if slot.out is value)
        choice = choice_of(loop, slot)
        if choice is None or choice.value is not loop.body.args[0]:
            return False
        return self.ends(loop) == (low, after) and self.parted(slot.init) == (low[0], low[1] - 1)

    def ends(self, loop: ir.For) -> tuple[End, End]:
        """The first trip, and the one behind the last, if the loop ran upwards."""
        start, stop = self.parted(loop.start), self.parted(loop.stop)
        return (start, stop) if loop.step == ir.integer(1) else ((stop[0], stop[1] + 1), (start[0], start[1] + 1))

    def parted(self, end: ir.Operand) -> End:
        base, far = parted(end, self.body.made)
        return (None, int(base.value) + far) if isinstance(base, ir.Const) else (base, far)


def _written(builder: ir.Builder, end: End) -> ir.Operand:
    base, far = end
    return ir.integer(far) if base is None else emit_integer(builder, operator.add, base, ir.integer(far), "end")
