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
from adjit.transform.analysis.integers import parted
from adjit.transform.machine.vectors.elementary import is_elementary
from adjit.transform.machine.vectors.strips import Block

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
    assert isinstance(loop.start, ir.Const)
    # from the number of the trip to what it makes of it
    shifts = {operand: loop.start.value + shift for operand, shift in _shifts(loop).items()}
    block = Block(builder, loop, first, end, shifts, "window", is_careful=True)
    k, number = ir.Var("k", types.intp), ir.Var("number", types.intp)
    # what still needs the counter finds it, and what does not is dead
    ops: list[ir.Op] = [
        ir.Call(callee=operator.add, args=(first, k), outs=(number,), origin=loop.origin),
        ir.Call(callee=operator.add, args=(number, loop.start), outs=loop.body.args, origin=loop.origin),
        *(block.through(op, k) for op in loop.body.ops),
    ]
    count = builder.call(operator.sub, end, first, type=types.intp, name="n")
    builder.emit(loop.rebuilt((ir.integer(0), count, ir.integer(1)), (ir.Region((k,), tuple(ops), ()),), ()))


def _is_plain(op: ir.Op) -> bool:
    if isinstance(op, ir.Call):
        return is_cheap(op) or is_elementary(op)
    return isinstance(op, ir.Load | ir.Store | ir.If | ir.Comment)


def _shifts(loop: ir.For) -> Mapping[ir.Operand, int]:
    """The counter and what is some places from it, and how many."""
    counter = loop.body.args[0]
    parts = {counter: (counter, 0)} | {out: parted(out, loop.body.made) for op in loop.body.ops for out in op.results}
    return {out: shift for out, (base, shift) in parts.items() if base is counter}
