"""What an operation does besides giving its result, and what may be moved past what.

In: operations. Out: `Effects` of each; which of those between two have to come before both.

    is_check(call broadcast_extent(%n, %m))   ->   True: it raises, or gives an extent

    for i in ...: a[i] = x[i]       k = 2 * n goes before both loops, if they are to be one
    k = 2 * n
    for i in ...: b[i] = a[i] * k
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adjit.runtime.library import (
    broadcast_extent,
    check_bounds,
    check_index,
    check_mask,
    check_size,
    equal_extent,
    equal_size,
    same_extent,
    stored_extent,
)
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases

_OF_EXTENTS = (broadcast_extent, stored_extent, equal_extent, equal_size, same_extent, check_mask)
_OF_INDICES = (check_bounds, check_index)


def is_check(op: ir.Op) -> bool:
    """Whether an operation may raise an error, and does nothing else but to give an extent."""
    return isinstance(op, ir.Call) and op.callee in (*_OF_EXTENTS, *_OF_INDICES, check_size)


def is_check_of_extents(op: ir.Op) -> bool:
    """Whether it is one of two extents."""
    return isinstance(op, ir.Call) and op.callee in _OF_EXTENTS


def draws(op: ir.Op) -> bool:
    """Whether an operation gives other numbers each time that it runs."""
    return isinstance(op, ir.Call) and op.effect and bool(op.outs) and not is_check(op)


def has_effect(op: ir.Op) -> bool:
    """Whether an operation itself has to happen as often as it is written, in its order: it raises, or draws."""
    return isinstance(op, ir.Raise) or (isinstance(op, ir.Call) and op.effect)


def is_unsure(op: ir.Op) -> bool:
    """Whether an operation has an index of the program's of which it has yet to be seen whether it is in bounds."""
    return isinstance(op, ir.Load | ir.Store | ir.Slice) and op.unsure


def touched(op: ir.Op) -> tuple[ir.Operand, ...]:
    """The arrays and tapes whose contents an operation itself reads or changes."""
    return op.memory_read if op.memory_written is None else (*op.memory_read, op.memory_written)


class _Sets:
    """What operations read, overwrite and add to, by alias class, and what they use and make."""

    def __init__(self) -> None:
        self.touching: list[ir.Op] = []
        self.reads: set[ir.Operand] = set()
        self.writes: set[ir.Operand] = set()
        self.adds: set[ir.Operand] = set()
        self.uses: set[ir.Var] = set()
        self.makes: set[ir.Var] = set()
        self.is_ordered = False

    def take(self, other: _Sets) -> None:
        """Takes up what another one has."""
        self.touching += other.touching
        self.reads |= other.reads
        self.writes |= other.writes
        self.adds |= other.adds
        self.uses |= other.uses
        self.makes |= other.makes
        self.is_ordered |= other.is_ordered

    def is_tied_to(self, other: _Sets) -> bool:
        """Whether one needs what the other makes, or both have to happen in their order."""
        return bool(self.uses & other.makes or self.makes & other.uses or (self.is_ordered and other.is_ordered))

    def may_clash(self, other: _Sets, in_any_order: bool) -> bool:
        """Whether one may change what the other touches; `in_any_order`: additions to one memory may change places."""
        mine, theirs = self.reads | self.adds, other.reads | other.adds
        return bool(
            self.writes & (theirs | other.writes)
            or mine & other.writes
            or self.adds & other.reads
            or self.reads & other.adds
            or (not in_any_order and self.adds & other.adds)
        )

    def guards(self, later: _Sets) -> bool:
        """Whether this may raise an error that keeps the later one from what is beyond the end of an array."""
        return self.is_ordered and bool(later.touching)


class Effects(_Sets):
    """Those of an operation and all inside it."""

    def __init__(self, op: ir.Op, aliases: Aliases):
        super().__init__()
        self.op = op
        self.touching = [inner for inner in ir.with_inner(op) if touched(inner)]
        self.reads = {aliases.find(array) for inner in self.touching for array in inner.memory_read}
        for inner in self.touching:
            if inner.memory_written is not None:
                is_addition = isinstance(inner, ir.Store) and inner.add
                (self.adds if is_addition else self.writes).add(aliases.find(inner.memory_written))
        self.is_ordered = any(map(has_effect, ir.with_inner(op)))
        self.uses = {o for o in ir.reads(op) if isinstance(o, ir.Var)}
        self.makes = set(op.results)


def needed_before(
    a: int,
    b: int,
    effects: Callable[[int], Effects],
    in_any_order: bool,
    conflict: Callable[[int, int], bool] | None = None,
) -> Iterator[int]:
    """Those between the places `a` and `b` that have to stay before `b`, or before another such one; the last first.

    in_any_order: additions to one memory may change places. conflict: whether two that touch one array may not.
    """
    needed, together = [b], _Sets()
    together.take(effects(b))
    for k in range(b - 1, a, -1):
        own = effects(k)
        # one question for all of them
        if not (own.guards(together) or own.is_tied_to(together) or own.may_clash(together, in_any_order)):
            continue
        if conflict is None or any(own.guards(effects(later)) or conflict(k, later) for later in reversed(needed)):
            needed.append(k)
            together.take(own)
            yield k
