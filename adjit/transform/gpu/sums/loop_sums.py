"""Additions that the trips of one loop of a nest share: a thread adds up its own trips, and a second launch the rest.

In: a nest, and which memory its loops add to together. Out: a `Split`, None where additions have to be atomic.

    for i in range(n):                  thread (row, j): for i in row, row + rows, ...: s += f(i, j); parts[row, j] = s
        for j in range(m):              thread j:        a[j] += parts[0, j] + parts[1, j] + ...
            a[j] += f(i, j)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched

Extreme = Literal["greatest", "least"]
_DIRECTIONS: dict[object, tuple[Extreme, Extreme]] = {
    # of the element before the carried value, and after it
    operator.gt: ("greatest", "least"), operator.ge: ("greatest", "least"),
    operator.lt: ("least", "greatest"), operator.le: ("least", "greatest"),
}  # fmt: skip


def extreme(loop: ir.For) -> Extreme | None:
    """Whether all that a loop does is to take the greatest, or the least, of the values that its trips make.

    It may start from any of them, and as often as one likes, so that each thread takes that of its own trips.

        for k in range(1, n): largest = a[k] if a[k] > largest or a[k] is nan else largest
    """
    is_plain = all(isinstance(op, ir.Load | ir.Call | ir.Extent | ir.If | ir.Comment) for op in loop.body.inside)
    if loop.stops or len(loop.slots) != 1 or not is_plain:
        return None
    ((_, arg, yielded, _),) = loop.slots
    choice = loop.body.made.get(yielded)
    if isinstance(choice, ir.Call) and choice.callee is ir.select:
        condition, value, other = choice.args
    elif isinstance(choice, ir.If) and len(choice.outs) == 1 and not choice.then.ops and not choice.orelse.ops:
        condition, value, other = choice.condition, choice.then.yields[0], choice.orelse.yields[0]
    else:
        return None
    if other is not arg or value is arg:
        return None
    test = loop.body.made.get(condition)
    if isinstance(test, ir.Call) and test.callee in (operator.or_, operator.ior):
        tests = [loop.body.made.get(a) for a in test.args]
        others = [t for t in tests if not _is_nan(t, value)]
        test = others[0] if len(others) == 1 else None
    if not isinstance(test, ir.Call) or test.callee not in _DIRECTIONS:
        return None
    if sum(any(o is arg for o in op.reads) for op in loop.body.ops) != 2:
        # something else depends on what was taken so far
        return None
    first, second = _DIRECTIONS[test.callee]
    if test.args[0] is value and test.args[1] is arg:
        return first
    return second if test.args[0] is arg and test.args[1] is value else None


def _is_nan(op: ir.Op | None, value: ir.Operand) -> bool:
    is_test = isinstance(op, ir.Call) and op.callee is operator.ne
    return is_test and op is not None and all(a is value for a in op.operands)


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
