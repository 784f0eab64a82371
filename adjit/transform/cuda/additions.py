"""Additions that the trips of one loop of a nest share: a thread adds up its own trips, and a second launch the rest.

In: a nest, and which memory its loops add to together. Out: a `Split`, None where additions have to be atomic.

    for i in range(n):                  thread (row, j): for i in row, row + rows, ...: s += f(i, j); parts[row, j] = s
        for j in range(m):              thread j:        a[j] += parts[0, j] + parts[1, j] + ...
            a[j] += f(i, j)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched


@dataclass(frozen=True, eq=False)
class Split:
    """`loop`: the place among the nest's loops of the one whose trips a thread adds up. `stores`: those additions."""

    loop: int
    stores: tuple[ir.Store, ...]


def split(loops: Sequence[ir.For], meeting: Mapping[ir.Operand, set[int]], aliases: Aliases) -> Split | None:
    """How the additions of a nest are made without atomics, as far as they are. `meeting`: by alias class, the loops of
    which several trips add to one element."""
    counters = [loop.body.args[0] for loop in loops]
    if len(loops) < 2 or any(not _counts_up(loop) for loop in loops):
        return None
    inner = loops[-1].body
    by_loop: dict[int, list[ir.Store]] = {}
    for memory, shared in meeting.items():
        stores = [op for op in inner.ops if isinstance(op, ir.Store) and op.add and aliases.find(op.array) == memory]
        users = [op for op in loops[0].body.inside if any(aliases.find(a) == memory for a in touched(op))]
        if len(shared) != 1 or len(stores) != len(users):
            continue
        (own,) = shared
        others = {counter for k, counter in enumerate(counters) if k != own}
        outside = loops[0].body.defines
        is_plain = all(i in others or i not in outside for store in stores for i in store.index)
        if is_plain and all(others <= set(store.index) for store in stores):
            by_loop.setdefault(own, []).extend(stores)
    if not by_loop:
        return None
    best = max(by_loop, key=lambda k: (len(by_loop[k]), -k))
    return Split(best, tuple(by_loop[best]))


def _counts_up(loop: ir.For) -> bool:
    """Whether the counter runs upwards by one from a literal that is no negative one."""
    return loop.step == ir.integer(1) and isinstance(loop.start, ir.Const) and loop.start.value >= 0
