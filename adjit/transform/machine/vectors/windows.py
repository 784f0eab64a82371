"""A chunk of trips that sees its elements through views, in which no index can be negative.

In: a loop from a place of which the compiler behind us knows nothing. Out: views, and the loop counted from zero.

    for i in range(first, end):                 u_window = u[first - 1 : end - 1]
        v[i] = u[i - 1] + u[i + 1]              u_window_2 = u[first + 1 : end + 1]
                                                v_window = v[first:end]
                                                for k in range(end - first):
                                                    v_window[k] = u_window[k] + u_window_2[k]

To that compiler, i - 1 may be negative and so count from the end of the array. A loop that has to tell that in each
trip does not become SIMD instructions, and takes four to seven times as long. Where prange counts from zero and i
itself is the index, it takes i for unsigned, and all is well.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.cost import is_cheap
from adjit.transform.ir.types import array_type_of, slice_type
from adjit.transform.machine.vectors.elementary import is_elementary

LEAST_TRIPS = 512  # of a chunk in windows, which are made in the time of some hundred simple trips


def suits_windows(loop: ir.For) -> bool:
    """Whether the loop could become SIMD instructions, were it not for indices such as i - 1."""
    if loop.stops or loop.inits or loop.step != ir.integer(1) or not isinstance(loop.start, ir.Const):
        return False
    shifts = _shifts(loop)
    inside = loop.body.inside
    if not all(_is_plain(op) for op in inside):
        return False
    accesses = [op for op in inside if isinstance(op, ir.Load | ir.Store)]
    if not all(any(i in shifts for i in op.index) for op in accesses if isinstance(op, ir.Store)):
        return False
    used = [shifts[i] for op in accesses for i in op.index if i in shifts]
    return any(used) and loop.start.value + min(used) >= 0


def write_windows(builder: ir.Builder, loop: ir.For, first: ir.Operand, end: ir.Operand) -> None:
    """Emits some trips of the loop, at least one, with windows: from that of number `first` to the one before `end`."""
    _Windows(builder, loop, first, end).write()


class _Windows:
    def __init__(self, builder: ir.Builder, loop: ir.For, first: ir.Operand, end: ir.Operand):
        assert isinstance(loop.start, ir.Const)
        self.builder, self.loop, self.first, self.end = builder, loop, first, end
        # from the number of the trip to what it makes of it
        self.shifts = {operand: loop.start.value + shift for operand, shift in _shifts(loop).items()}
        self.inside = loop.body.defines
        self.made: dict[tuple[ir.Operand, tuple[ir.Operand | None, ...], int], ir.Var] = {}

    def write(self) -> None:
        loop, b = self.loop, self.builder
        counter = loop.body.args[0]
        k = ir.Var("k", types.intp)
        ops = [self.through(op, k, is_sure=True) for op in loop.body.ops]
        # what still needs the counter finds it, and what does not is dead
        number = ir.Var("number", types.intp)
        ops.insert(0, ir.Call(callee=operator.add, args=(number, loop.start), outs=(counter,), origin=loop.origin))
        ops.insert(0, ir.Call(callee=operator.add, args=(self.first, k), outs=(number,), origin=loop.origin))
        count = b.call(operator.sub, self.end, self.first, type=types.intp, name="n")
        body = ir.Region((k,), tuple(ops), ())
        b.emit(loop.rebuilt((ir.integer(0), count, ir.integer(1)), (body,), ()))

    def through(self, op: ir.Op, k: ir.Var, is_sure: bool) -> ir.Op:
        """The operation on windows; `is_sure`: it is done in each trip."""
        if op.regions:
            regions = [
                ir.Region(r.args, tuple(self.through(i, k, is_sure=False) for i in r.ops), r.yields) for r in op.regions
            ]
            return ir.with_regions(op, regions)
        if not isinstance(op, ir.Load | ir.Store) or op.array in self.inside:
            return op
        axes = [axis for axis, i in enumerate(op.index) if i in self.shifts]
        others = [i for i in op.index if i not in self.shifts]
        if len(axes) != 1 or any(i in self.inside for i in others):
            return op
        # the other indices of an element that is not used may be beyond the array
        shift = self.shifts[op.index[axes[0]]]
        if others and not is_sure:
            return op
        place = tuple(None if i in self.shifts else i for i in op.index)
        return op.rebuilt((self.window(op.array, place, shift), k, *op.operands[1 + len(op.index) :]), (), op.results)

    def window(self, array: ir.Operand, place: tuple[ir.Operand | None, ...], shift: int) -> ir.Var:
        """The part of an array that the trips see, where `place` has None, so many elements on."""
        found = self.made.get((array, place, shift))
        if found is None:
            span = ir.Span(self.shifted(self.first, shift), self.shifted(self.end, shift))
            selectors = [span if i is None else ir.At(i) for i in place]
            name = f"{array.name}_window" if isinstance(array, ir.Var) else "window"
            found = ir.Var(name, slice_type(array_type_of(array), selectors))
            self.made[array, place, shift] = found
            self.builder.emit(ir.Slice(base=array, selectors=tuple(selectors), out=found))
        return found

    def shifted(self, end: ir.Operand, shift: int) -> ir.Operand:
        if not shift:
            return end
        return self.builder.call(operator.add, end, ir.integer(shift), type=types.intp, name="shifted")


def _is_plain(op: ir.Op) -> bool:
    if isinstance(op, ir.Call):
        return is_cheap(op) or is_elementary(op)
    return isinstance(op, ir.Load | ir.Store | ir.If | ir.Comment)


def _shifts(loop: ir.For) -> Mapping[ir.Operand, int]:
    """The counter and what is some places from it, and how many."""
    counter = loop.body.args[0]
    found: dict[ir.Operand, int] = {counter: 0}
    for op in loop.body.ops:
        match op:
            case ir.Call(callee=operator.add, args=(left, ir.Const(value=int(shift)))) if left is counter:
                found[op.outs[0]] = shift
            case ir.Call(callee=operator.add, args=(ir.Const(value=int(shift)), right)) if right is counter:
                found[op.outs[0]] = shift
            case ir.Call(callee=operator.sub, args=(left, ir.Const(value=int(shift)))) if left is counter:
                found[op.outs[0]] = -shift
    return found
