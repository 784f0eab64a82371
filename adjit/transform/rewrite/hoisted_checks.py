"""Checks of a loop whose trips are to run at the same time are made before it.

In: the loop. Out: the checks, and the loop without them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import some_elements
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check
from adjit.transform.rewrite.dead_code import eliminate_dead


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


def checked_apart(loop: ir.For, aliases: Aliases) -> Sequence[ir.Op]:
    """The loop, and before it a serial one that makes the checks of its trips, where these need nothing that it stores.

    for i in prange(n):                        for i in range(n):
        k = int(x[i] * m)                          k = int(x[i] * m)
        check_index(k, w.size)                     check_index(k, w.size)
        y[i] = w[k] * math.exp(x[i])           for i in prange(n):
                                                   k = int(x[i] * m)
                                                   y[i] = w[k] * math.exp(x[i])
    """
    checks = [op for op in loop.body.inside if _is_check(op)]
    if not checks or any(op.results for op in checks) or any(isinstance(op, ir.Raise) for op in loop.body.inside):
        return [loop]
    copy = ir.Cloner().op(dataclasses.replace(loop, parallel=False))
    own = ir.free_vars(ir.Region((), (copy,), ()))
    alone = ir.Function("checks", (), (), ir.Region(tuple(own), (copy,), ()), None)
    live = eliminate_dead(alone).body
    written = [op.memory_written for op in loop.body.inside if op.memory_written is not None]
    for op in live.inside:
        is_quiet = isinstance(op, (ir.Call, ir.Extent, ir.Comment, ir.Load, ir.If, ir.For, ir.While, *ir.VIEWS))
        is_stored = any(aliases.may_share(array, target) for array in op.memory_read for target in written)
        if not is_quiet or is_stored or (isinstance(op, ir.Call) and op.effect and not _is_check(op)):
            return [loop]
    return [*live.ops, ir.with_regions(loop, [ir.replaced(loop.body, dict.fromkeys(checks, ()))])]


def _is_check(op: ir.Op) -> bool:
    return is_check(op) or (isinstance(op, ir.Call) and op.callee is some_elements)
