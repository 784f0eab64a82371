"""In kernels, loads stand before stores to other arrays, and atomic additions after all that does not wait for them; a
store to what is being loaded waits for that.

In: the operations of a kernel. Out: the same, in another order, and with conditions before some stores.

    stored_bar = y_bar[i]                          stored_bar = y_bar[i]
    y_bar[i] = 0.0                                 r_bar_item = r_bar[i]
    cuda.atomic.add(table_bar, j, stored_bar)      if stored_bar != 0.0:
    r_bar[i] += table[j] * stored_bar                  y_bar[i] = 0.0
                                                   r_bar[i] = r_bar_item + table[j] * stored_bar
                                                   cuda.atomic.add(table_bar, j, stored_bar)

    part[t] = x[row, t]                            x_bar_item = x_bar[row, t]
    (a tree, with barriers)                        part[t] = x[row, t]
    x_bar[row, t] += part_bar[t]                   (a tree, with barriers)
                                                   x_bar[row, t] = x_bar_item + part_bar[t]

A compiler moves no load up over a store, as it does not know that the arrays are apart; nor can a thread go on before
what it loads is there. Several loads in a row are waited for once. What is loaded moves over stores alone: between them
the compiler puts it where it likes.

A store does not wait for a load of the same element, unless it stores what follows from it. On an H200 it then holds up
all of the multiprocessor: `k[i] = y[i] * w[i]; y[i] = 0` in single precision takes 73 microseconds for 2^24 elements
without the second store, 80 with it, and 426 if it comes before the first one. As a condition asks what was loaded, it
is waited for: 90. (With it: interpolation 463 to 246, tridiagonal systems 1268 to 541, a filter 1063 to 136, all single
precision.) Loads before barriers, the second example: 0.88 of the time.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched
from adjit.transform.ir.types import array_type_of

MOST_AHEAD = 4  # loads that stand before what is waited for: each takes a register for longer


def in_memory_order(ops: Sequence[ir.Op], aliases: Aliases) -> list[ir.Op]:
    """The operations of a kernel, with loads early and atomic additions late."""
    region = ir.Region((), tuple(ops), ())
    own = frozenset(op.out for op in region.inside if isinstance(op, ir.Alloc))
    order = _Order(aliases, own, region)
    return order.ahead(order.waiting(order.ordered(ops)))


class _Order:
    """`own`: arrays of threads and blocks, of which the compiler knows that no other pointer leads to them."""

    def __init__(self, aliases: Aliases, own: Collection[ir.Operand], region: ir.Region):
        self.aliases, self.own, self.made = aliases, own, region.made

    def ordered(self, ops: Sequence[ir.Op], yields: Sequence[ir.Operand] = ()) -> list[ir.Op]:
        """The operations, and those inside them, in order; `yields`: what is read after them."""
        found: list[ir.Op] = []
        start = 0  # of those that others may stand before
        late: list[ir.Op] = []
        for op in ops:
            if isinstance(op, ir.Store) and op.atomic and not op.extreme:
                late.append(op)
                continue
            if op.regions or _is_waited_for(op):
                found += late
                late = []
                self.keep_early(found, start, op.reads)
                inner = [ir.with_ops(region, self.ordered(region.ops, region.yields)) for region in op.regions]
                found.append(ir.with_regions(op, inner) if inner else op)
                start = len(found)
                continue
            if any(self.is_at(op, store) for store in late):
                found += late
                late = []
            self.place(op, found, start)
        found += late
        self.keep_early(found, start, yields)
        return found

    def place(self, op: ir.Op, found: list[ir.Op], start: int) -> None:
        """Puts an operation behind the others, and what it loads before stores to other arrays."""
        if isinstance(op, ir.Load):
            found.insert(self.before_stores(op, found, start), op)
            return
        if isinstance(op, ir.Store) and op.add and self.is_shown(op.array):
            load, *rest = self.taken_apart(op)
            place = self.before_stores(load, found, start)
            if place < len(found) and op.value.type == load.out.type:
                found.insert(place, load)
                found += rest
                return
        found.append(op)

    def before_stores(self, load: ir.Load, found: Sequence[ir.Op], start: int) -> int:
        """The place before the first store of those that a load may stand before; the end if there is none."""
        place = len(found)
        if not self.is_shown(load.array):
            return place
        for k in range(len(found) - 1, start - 1, -1):
            op = found[k]
            if any(out in load.operands for out in op.results) or (isinstance(op, ir.Store) and self.is_at(load, op)):
                break
            if isinstance(op, ir.Store) and self.is_shown(op.array):
                place = k
        return place

    def keep_early(self, found: list[ir.Op], start: int, read: Sequence[ir.Operand]) -> None:
        """Makes statements of loads, from a place on, of which something is made behind a store to another array."""
        needed, behind = set(read), set[ir.Operand]()  # after the place at hand; and there after a store
        for k in range(len(found) - 1, start - 1, -1):
            op = found[k]
            if isinstance(op, ir.Store) and self.is_shown(op.array):
                behind |= needed
            if isinstance(op, ir.Load) and op.out in behind and self.is_shown(op.array):
                found[k] = dataclasses.replace(op, early=True)
            elif isinstance(op, ir.Call) and not op.effect:
                # it is written where it is read
                behind.update(op.args if behind.intersection(op.outs) else ())
            needed.update(op.operands)

    def ahead(self, ops: list[ir.Op]) -> list[ir.Op]:
        """The operations, with loads before what is waited for, where that takes long: a few, of arrays of which a
        thread touches one element once, so that no other thread changes it."""
        begin = next((k for k, op in enumerate(ops) if any(map(_is_waited_for, ir.with_inner(op)))), None)
        if begin is None:
            return ops
        inside = (op for top in ops for op in ir.with_inner(top))
        counts = Counter(self.aliases.find(array) for op in inside for array in touched(op))
        found, moved = list(ops), 0
        wait = ops[begin]
        for k in range(begin, len(ops)):
            op = ops[k]
            if moved == MOST_AHEAD or not isinstance(op, ir.Load | ir.Store) or not self.is_shown(op.array):
                continue
            count = counts[self.aliases.find(op.array)]
            first = self.first_place(op, found)
            if first is None or first > found.index(wait):
                continue
            place = found.index(op)
            if isinstance(op, ir.Load) and (count == 1 or (count == 2 and self.is_put_back(op, ops[k:]))):
                found[place : place + 1] = []
                found.insert(first, dataclasses.replace(op, early=True))
            elif isinstance(op, ir.Store) and op.add and not op.atomic and count == 1:
                load, *rest = self.taken_apart(op)
                found[place : place + 1] = rest
                found.insert(first, dataclasses.replace(load, early=True))
            else:
                continue
            moved += 1
        return found

    @staticmethod
    def is_put_back(load: ir.Load, after: Sequence[ir.Op]) -> bool:
        """Whether a store of the same element comes after a load."""
        return any(isinstance(op, ir.Store) and op.array is load.array and op.index == load.index for op in after)

    def taken_apart(self, store: ir.Store) -> tuple[ir.Load, ir.Call, ir.Store]:
        """An addition to an element as a load, a sum and a store."""
        kind = array_type_of(store.array).dtype
        item, total = ir.Var(ir.element_name(store.array), kind), ir.Var("total", kind)
        load = ir.Load(array=store.array, index=store.index, out=item, origin=store.origin)
        added = ir.Call(callee=operator.add, args=(item, store.value), outs=(total,), origin=store.origin)
        return load, added, dataclasses.replace(store, value=total, add=False)

    def first_place(self, load: ir.Load | ir.Store, ops: Sequence[ir.Op]) -> int | None:
        """The first place at which all is there that a load of an element needs; None if that is inside of others."""
        needed = [o for o in (load.array, *load.index) if o in self.made]
        places = [next((k for k, op in enumerate(ops) if o in op.results), None) for o in needed]
        if None in places:
            return None
        return max((k + 1 for k in places if k is not None), default=0)

    def waiting(self, ops: Sequence[ir.Op]) -> list[ir.Op]:
        """The operations, and those inside them, with clears that ask what was loaded."""
        found: list[ir.Op] = []
        for op in ops:
            if op.regions:
                inner = [ir.with_ops(region, self.waiting(region.ops)) for region in op.regions]
                found.append(ir.with_regions(op, inner))
                continue
            place = self.loaded(op, found) if isinstance(op, ir.Store) and op.handed_on else None
            if place is None:
                found.append(op)
                continue
            load = found[place]
            assert isinstance(load, ir.Load)
            assert isinstance(op, ir.Store)
            # a statement of its own, as it stands before the store
            found[place] = dataclasses.replace(load, early=True)
            test = ir.Var("is_there", types.boolean)
            found.append(ir.Call(callee=operator.ne, args=(load.out, op.value), outs=(test,), origin=op.origin))
            found.append(ir.If(condition=test, then=ir.Region((), (op,), ()), origin=op.origin))
        return found

    def loaded(self, clear: ir.Store, before: Sequence[ir.Op]) -> int | None:
        """Where, of the operations before a clear, the load of its element stands, if nothing can have changed that."""
        if clear.add or not self.is_shown(clear.array):
            return None
        for k in range(len(before) - 1, -1, -1):
            op = before[k]
            if isinstance(op, ir.Load) and op.array is clear.array and op.index == clear.index:
                return k
            writes = (own.memory_written for own in ir.with_inner(op))
            if _is_waited_for(op) or any(a is not None and self.is_same(a, clear.array) for a in writes):
                return None
        return None

    def is_same(self, left: ir.Operand, right: ir.Operand) -> bool:
        """Whether two arrays may share memory."""
        return self.aliases.find(left) is self.aliases.find(right)

    def is_shown(self, array: ir.Operand) -> bool:
        """Whether it is an array of the caller's, or of another kernel's."""
        return ir.base_of(array, self.made) not in self.own

    def is_at(self, op: ir.Op, store: ir.Op) -> bool:
        """Whether an operation reads or writes the array that a store is to."""
        assert isinstance(store, ir.Store)
        return self.aliases.find(store.array) in map(self.aliases.find, touched(op))


def _is_waited_for(op: ir.Op) -> bool:
    """Whether other threads may be waited for there."""
    return isinstance(op, ir.Barrier) or (isinstance(op, ir.Call) and op.effect)
