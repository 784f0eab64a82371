"""Atomic additions stand after what does not wait for them.

In: the operations of a kernel. Out: the same, with each atomic addition at the end of its region, or before the first
operation that has to do with its array, is a barrier or has regions of its own.

    atomic.add(table_bar, j, v)                    f_bar[i] += table[j] * w
    f_bar[i] += table[j] * w                       atomic.add(table_bar, j, v)

Nothing is made of what an addition finds, but a compiler moves no load up over it, as it does not know that the arrays
are apart: what is loaded after it comes that much later.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases


def additions_last(ops: Sequence[ir.Op], aliases: Aliases) -> list[ir.Op]:
    """The operations, with atomic additions as late as nothing speaks against."""
    found: list[ir.Op] = []
    late: list[ir.Store] = []
    for op in ops:
        if isinstance(op, ir.Store) and op.atomic and not op.extreme:
            late.append(op)
            continue
        if late and (op.regions or _is_waited_for(op) or _touches(op, late, aliases)):
            found += late
            late = []
        inner = [ir.with_ops(region, additions_last(region.ops, aliases)) for region in op.regions]
        found.append(ir.with_regions(op, inner) if inner else op)
    return [*found, *late]


def _is_waited_for(op: ir.Op) -> bool:
    """Whether other threads may be waited for there."""
    return isinstance(op, ir.Barrier) or (isinstance(op, ir.Call) and op.effect)


def _touches(op: ir.Op, late: Sequence[ir.Store], aliases: Aliases) -> bool:
    """Whether an operation reads or writes one of the arrays that are added to."""
    arrays = [*op.memory_read] if op.memory_written is None else [*op.memory_read, op.memory_written]
    own = set(map(aliases.find, arrays))
    return any(aliases.find(store.array) in own for store in late)
