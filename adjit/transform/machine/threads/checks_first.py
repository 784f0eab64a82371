"""Checks that come out the same in each trip of a loop over prange are made before it.

In: a function. Out: the same, with the checks of extents that depend on no trip in front of their loops.

    for i in prange(n):                        if n > 0:
        stored_extent(a.shape[1], b.size)          stored_extent(a.shape[1], b.size)
        ...                                    for i in prange(n):
                                                   ...

An error that a thread raises does not get out of it, so trips that may raise one do not run at the same time.
"""

from __future__ import annotations

import operator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.effects import is_check


def checked_first(loop: ir.For) -> list[ir.Op]:
    """The loop, and before it what it checks in each trip alike."""
    inside = set(loop.body.defines)
    moved: list[ir.Op] = []
    for op in loop.body.ops:
        if (is_check(op) or isinstance(op, ir.Extent)) and not inside.intersection(op.operands):
            inside.difference_update(op.results)
            moved.append(op)
    if not any(is_check(op) for op in moved) or loop.step not in (ir.integer(1), ir.integer(-1)):
        return [loop]
    checks = [op for op in moved if is_check(op)]
    extents = [op for op in moved if not is_check(op)]
    outs = tuple(out for op in checks for out in op.results)
    inner = {out: ir.Var(out.name, out.type) for out in outs}
    tested = tuple(
        op.rebuilt([ir.substituted_operand(o, inner) for o in op.operands], (), [inner[o] for o in op.results])
        for op in checks
    )
    builder = ir.Builder()
    builder.origin = loop.origin
    low, high = (loop.start, loop.stop) if loop.step == ir.integer(1) else (loop.stop, loop.start)
    some = builder.call(operator.gt, high, low, type=types.boolean, name="has_trips")
    then = ir.Region((), tested, tuple(inner.values()))
    builder.emit(ir.If(condition=some, then=then, orelse=ir.Region((), (), (ir.integer(0),) * len(outs)), outs=outs))
    left = tuple(op for op in loop.body.ops if op not in moved)
    body = ir.Region(loop.body.args, left, loop.body.yields)
    made = loop.rebuilt(loop.operands, (body,), loop.results)
    return [*extents, *builder.ops, made]
