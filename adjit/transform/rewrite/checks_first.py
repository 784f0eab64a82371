"""Checks that come out the same in all trips of a loop are made before it.

In: a loop whose trips are to run at the same time. Out: the checks, if it makes a trip at all, and the loop without
them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import some_elements
from adjit.transform import ir
from adjit.transform.analysis.effects import is_check


def checked_first(loop: ir.For) -> Sequence[ir.Op]:
    """The loop, and before it the checks of extents that come out the same in each of its trips.

        for i in prange(n):                        if n > 0:
            stored_extent(a.shape[1], b.size)          stored_extent(a.shape[1], b.size)
            ...                                    for i in prange(n):
                                                       ...

    An error that a thread raises does not get out of it, so trips that may raise one do not run at the same time.
    """
    inside = set(loop.body.defines)
    moved: list[ir.Op] = []
    for op in loop.body.ops:
        if (_is_check(op) or isinstance(op, ir.Extent)) and not inside.intersection(op.operands):
            inside.difference_update(op.results)
            moved.append(op)
    if not any(_is_check(op) for op in moved) or loop.step not in (ir.integer(1), ir.integer(-1)):
        return [loop]
    checks = [op for op in moved if _is_check(op)]
    extents = [op for op in moved if not _is_check(op)]
    cloner = ir.Cloner()
    tested = tuple(cloner.op(op) for op in checks)
    outs = tuple(out for op in checks for out in op.results)
    builder = ir.Builder(loop.origin)
    low, high = (loop.start, loop.stop) if loop.step == ir.integer(1) else (loop.stop, loop.start)
    some = builder.call(operator.gt, high, low, type=types.boolean, name="has_trips")
    then = ir.Region((), tested, tuple(map(cloner.operand, outs)))
    builder.emit(ir.If(condition=some, then=then, orelse=ir.Region((), (), (ir.integer(0),) * len(outs)), outs=outs))
    body = ir.with_ops(loop.body, [op for op in loop.body.ops if op not in moved])
    return [*extents, *builder.ops, ir.with_regions(loop, [body])]


def _is_check(op: ir.Op) -> bool:
    return is_check(op) or (isinstance(op, ir.Call) and op.callee is some_elements)
