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
from dataclasses import dataclass

from adjit.runtime.library import reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.cost import is_cheap
from adjit.transform.analysis.integers import parted
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.analysis.trips import is_own

_MOST_AGAIN = 3  # operations that are run again rather than handing on their result


@dataclass(frozen=True, eq=False)
class Recurrence:
    """`ops`: the operations of the recurrence, in order; `taken`: values of the others that it needs; `again`: what it
    computes itself although others do so, too; `free`: the slots of carried sums that may be added up in any order."""

    ops: tuple[ir.Op, ...]
    taken: tuple[ir.Var, ...]
    again: tuple[ir.Op, ...]
    free: tuple[int, ...]
    is_empty: bool


def recurrence(loop: ir.For, memory_of: Callable[[ir.Operand], ir.Operand], is_plain: bool) -> Recurrence:
    """The recurrence of a loop. `is_plain`: no two values of the counter are the same element of an axis.

    `memory_of`: what arrays that are taken to be the same memory have in common, as their class.
    """
    found = _Split(loop, memory_of, is_plain)
    ops = tuple(op for op in loop.body.ops if op in found.chosen)
    needed = dict.fromkeys(o for op in ops for o in ir.reads(op) if isinstance(o, ir.Var))
    args, yields = loop.body.args[1:], loop.body.yields
    bound = [k for k, arg in enumerate(args) if arg not in found.free]
    needed |= dict.fromkeys(y for k in bound if isinstance(y := yields[k], ir.Var))
    taken: list[ir.Var] = []
    again: dict[ir.Op, None] = {}
    for var in needed:
        definition = found.definitions.get(var)
        if definition is None or definition in found.chosen:
            continue
        same = found.cheaply(var)
        if same is None:
            taken.append(var)
        else:
            again |= dict.fromkeys(same)
    order = {op: k for k, op in enumerate(loop.body.ops)}
    free = tuple(k for k in range(len(args)) if k not in bound)
    return Recurrence(ops, tuple(taken), tuple(sorted(again, key=order.__getitem__)), free, not ops and not bound)


class _Split:
    """`chosen`: the operations, of those directly in the body, that belong to the recurrence."""

    def __init__(self, loop: ir.For, memory_of: Callable[[ir.Operand], ir.Operand], is_plain: bool):
        self.loop, self.memory_of, self.is_plain = loop, memory_of, is_plain
        self.definitions: dict[ir.Operand, ir.Op] = {out: op for op in loop.body.ops for out in op.results}
        self.made = loop.body.defines
        self.written = {memory_of(m) for op in ir.walk(loop.body) if (m := op.memory_written) is not None}
        self.wild = {memory for memory in self.written if not self.is_own(memory)}
        # what waits for trips before it is a recurrence, and with it the sums that it takes part in
        self.free = _free_sums(loop)
        while True:
            self.chosen: set[ir.Op] = set()
            while self.grow():
                pass
            free = {arg: adding for arg, adding in self.free.items() if not self.chosen & adding}
            if len(free) == len(self.free):
                break
            self.free = free

    def is_own(self, memory: ir.Operand) -> bool:
        """Whether each trip touches elements of its own."""
        ops = [op for op in ir.walk(self.loop.body) if any(self.is_in(o, memory) for o in op.operands)]
        elements = [op for op in ops if isinstance(op, ir.Load | ir.Store)]
        is_plain = self.is_plain and len(elements) == len(ops) and is_own(elements, self.distance)
        return is_plain and elements[0].array not in self.made

    def is_in(self, operand: ir.Operand, memory: ir.Operand) -> bool:
        return ir.is_array(operand) and self.memory_of(operand) == memory

    def distance(self, index: ir.Operand) -> int | None:
        """How far the index is from the counter, where a literal says so."""
        base, far = parted(index, self.definitions)
        return far if base is self.loop.body.args[0] else None

    def grow(self) -> bool:
        """One more round through the body; whether anything was chosen."""
        before = len(self.chosen)
        tainted: set[ir.Operand] = {arg for arg in self.loop.body.args[1:] if arg not in self.free}
        tainted.update(out for op in self.chosen for out in op.results)
        read: set[ir.Operand] = set()  # by what is chosen, so far in the trip
        stored: set[ir.Operand] = set()
        for op in self.loop.body.ops:
            reads, writes = self.memory(op)
            waits = bool((reads | writes) & self.wild or writes & read or (reads | writes) & stored)
            if op in self.chosen or waits or any(o in tainted for o in ir.reads(op)):
                self.chosen.add(op)
                tainted.update(op.results)
                read |= reads
                stored |= writes
        return len(self.chosen) > before

    def memory(self, op: ir.Op) -> tuple[set[ir.Operand], set[ir.Operand]]:
        """The memory, of what the loop writes, that an operation reads and writes."""
        reads: set[ir.Operand] = set()
        writes: set[ir.Operand] = set()
        for inner in ir.with_inner(op):
            reads.update(self.memory_of(a) for a in inner.memory_read)
            target = inner.memory_written
            if target is not None:
                writes.add(self.memory_of(target))
        return reads & self.written, writes

    def cheaply(self, var: ir.Var) -> list[ir.Op] | None:
        """The few operations that compute a value from what is there in any trip; None if they are not few or cheap."""
        ops: dict[ir.Op, None] = {}
        pending: list[ir.Operand] = [var]
        while pending:
            definition = self.definitions.get(pending.pop())
            if definition is None or definition in ops:
                continue
            is_load = isinstance(definition, ir.Load) and self.memory_of(definition.array) not in self.written
            if not is_load and not (isinstance(definition, ir.Call) and is_cheap(definition)):
                return None
            ops[definition] = None
            if len(ops) > _MOST_AGAIN:
                return None
            pending += definition.operands
        return list(ops)


def _free_sums(loop: ir.For) -> dict[ir.Var, set[ir.Op]]:
    """The carried values that are only added to, in any order, with the operations that do."""
    found: dict[ir.Var, set[ir.Op]] = {}
    for arg, yielded in zip(loop.body.args[1:], loop.body.yields, strict=False):
        if (chain := partial_sums(arg, yielded, loop.body)) is not None and len(chain) > 1:
            adding = {op for op in loop.body.ops if any(out in chain for out in op.results)}
            if all(isinstance(op, ir.Call) and op.callee in (reassociable_add, reassociable_sub) for op in adding):
                found[arg] = adding
    return found
