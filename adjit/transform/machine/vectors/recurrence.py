"""What of a loop depends on the trips before, and what does not.

In: a loop without inner loops. Out: its `Recurrence`: the operations that have to run trip after trip, and the values
that they take from the others, which may all run first.

    for i in range(n):
        e = exp(x[i])            first
        y[i] = e                 first: each trip has an element of its own
        total += e               a recurrence, which takes e; not if it may be added up in any order
        count[cell[i]] += 1      one, too: two trips may share an element; cell[i] is loaded again
"""

from __future__ import annotations

from collections.abc import Callable

from adjit.runtime.library import reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.cost import is_cheap
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.integers import parted
from adjit.transform.analysis.loop_dependences import is_own
from adjit.transform.analysis.sums import partial_sums

_MOST_AGAIN = 3  # operations that are run again rather than handing on their result


class Recurrence:
    """The recurrence of a loop. `is_plain`: no two values of the counter are the same element of an axis.

    memory_of: what arrays that are taken to be the same memory have in common, as their class.
    ops:   the operations of the recurrence, of those directly in the body, in order
    taken: values of the others that it needs; `again`: what it computes itself although others do so, too
    free:  the slots of carried sums that may be added up in any order; `bound`: the others
    """

    def __init__(self, loop: ir.For, memory_of: Callable[[ir.Operand], ir.Operand], is_plain: bool):
        self._loop, self._memory_of, self._is_plain = loop, memory_of, is_plain
        self._made: dict[ir.Operand, ir.Op] = {out: op for op in loop.body.ops for out in op.results}
        self._written = set(map(memory_of, loop.body.memory_written))
        self._wild = {memory for memory in self._written if not self._is_own(memory)}
        # what waits for trips before it is a recurrence, and with it the sums that it takes part in
        self._sums = _free_sums(loop)
        while True:
            self._chosen: set[ir.Op] = set()
            while self._grow():
                pass
            sums = {arg: adding for arg, adding in self._sums.items() if not self._chosen & adding}
            if len(sums) == len(self._sums):
                break
            self._sums = sums
        self.ops = tuple(op for op in loop.body.ops if op in self._chosen)
        self.bound = tuple(k for k, slot in enumerate(loop.slots) if slot.arg not in sums)
        self.free = tuple(k for k, slot in enumerate(loop.slots) if slot.arg in sums)
        self.is_empty = not self.ops and not self.bound
        again: set[ir.Op] = set()
        self.taken: list[ir.Var] = []
        yields = (loop.slots[k].yielded for k in self.bound)
        for var in dict.fromkeys((*(o for op in self.ops for o in ir.reads(op)), *yields)):
            if isinstance(var, ir.Var) and var in self._made and self._made[var] not in self._chosen:
                same = self.cheaply(var, _MOST_AGAIN)
                if same is None:
                    self.taken.append(var)
                else:
                    again.update(same)
        self.again = tuple(op for op in loop.body.ops if op in again)

    def _is_own(self, memory: ir.Operand) -> bool:
        """Whether each trip touches elements of its own."""
        inside = ((op, filter(ir.is_array, op.operands)) for op in ir.walk(self._loop.body))
        ops = [op for op, arrays in inside if memory in map(self._memory_of, arrays)]
        elements = [op for op in ops if isinstance(op, ir.Load | ir.Store)]
        is_plain = self._is_plain and len(elements) == len(ops) and is_own(elements, self._distance)
        return is_plain and elements[0].array not in self._loop.body.defines

    def _distance(self, index: ir.Operand) -> int | None:
        """How far the index is from the counter, where a literal says so."""
        base, far = parted(index, self._made)
        return far if base is self._loop.body.args[0] else None

    def _grow(self) -> bool:
        """One more round through the body; whether anything was chosen."""
        before = len(self._chosen)
        tainted: set[ir.Operand] = {arg for arg in self._loop.body.args[1:] if arg not in self._sums}
        tainted.update(out for op in self._chosen for out in op.results)
        read: set[ir.Operand] = set()  # by what is chosen, so far in the trip
        stored: set[ir.Operand] = set()
        looked_at: set[ir.Operand] = set()  # indices that were checked: what they are of comes after that
        for op in self._loop.body.ops:
            reads, writes = self._memory(op)
            waits = bool((reads | writes) & self._wild or writes & read or (reads | writes) & stored)
            if is_check(op):
                waits = True
                looked_at.update(op.operands)
            else:
                touching = (inner for inner in ir.with_inner(op) if isinstance(inner, ir.Load | ir.Store))
                waits = waits or any(not looked_at.isdisjoint(inner.index) for inner in touching)
            if op in self._chosen or waits or any(o in tainted for o in ir.reads(op)):
                self._chosen.add(op)
                tainted.update(op.results)
                read |= reads
                stored |= writes
        return len(self._chosen) > before

    def _memory(self, op: ir.Op) -> tuple[set[ir.Operand], set[ir.Operand]]:
        """The memory, of what the loop writes, that an operation reads and writes."""
        inside = list(ir.with_inner(op))
        reads = {self._memory_of(a) for inner in inside for a in inner.memory_read}
        writes = {self._memory_of(target) for inner in inside if (target := inner.memory_written) is not None}
        return reads & self._written, writes

    def cheaply(self, var: ir.Operand, most: int) -> list[ir.Op] | None:
        """The operations that compute a value from what is there in any trip; None if they are more, or not cheap."""
        ops: dict[ir.Op, None] = {}
        pending: list[ir.Operand] = [var]
        while pending:
            definition = self._made.get(pending.pop())
            if definition is None or definition in ops:
                continue
            is_load = isinstance(definition, ir.Load) and self._memory_of(definition.array) not in self._written
            if not is_load and not (isinstance(definition, ir.Call) and is_cheap(definition)):
                return None
            ops[definition] = None
            if len(ops) > most:
                return None
            pending += definition.operands
        return list(ops)


def _free_sums(loop: ir.For) -> dict[ir.Var, set[ir.Op]]:
    """The carried values that are only added to, in any order, with the operations that do."""
    found: dict[ir.Var, set[ir.Op]] = {}
    for slot in loop.slots:
        if (chain := partial_sums(slot.arg, slot.yielded, loop.body)) is not None and len(chain) > 1:
            adding = {op for op in loop.body.ops if any(out in chain for out in op.results)}
            if all(isinstance(op, ir.Call) and op.callee in (reassociable_add, reassociable_sub) for op in adding):
                found[slot.arg] = adding
    return found
