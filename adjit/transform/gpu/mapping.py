"""Which loops become launches, what the host does itself, and what one thread does.

In: a function. Out: for each operation of the host's regions, what it is; for a loop that is launched, a `Nest`.

    for t in range(steps):            a loop of the host: the trips need each other, and there is something to launch
        for i in range(1, n - 1):     launched: the trips are proved independent, but for sums
            q[i] = p[i - 1] + p[i + 1]
        p, q = q, p
    q[0] = p[0] + 1.0                 one thread: it touches elements
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial, Sharing
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.gpu.allocation import Place, places
from adjit.transform.gpu.blocks.block_operations import is_blocks
from adjit.transform.gpu.callees import in_kernel
from adjit.transform.gpu.memory_spaces import BlockNest, homes
from adjit.transform.gpu.sums.loop_sums import Split, extreme, split
from adjit.transform.gpu.thread_rows import Rows, rows_of
from adjit.transform.ir.types import array_type_of, is_scalar

Kind = Literal["launch", "host", "thread"]
MOST_AXES = 3
FEW_TRIPS = 16  # a loop with fewer, known while compiling, is no work for a grid


@dataclass(frozen=True, eq=False)
class Nest:
    """Perfectly nested loops, outermost first, whose trips may all run at the same time.

    sunk:   for each but the last, what a trip does before the loop inside it, pure and done again by each thread
    atomic: the memory that several threads may add to, by alias class
    own:    the arrays of which no two threads touch one element
    places: of the arrays that each thread has for itself
    split: additions that a thread adds up itself over the trips of one of the loops
    rows: how several threads share a trip, None if one has it
    """

    loops: tuple[ir.For, ...]
    sunk: tuple[tuple[ir.Op, ...], ...]
    atomic: frozenset[ir.Operand]
    own: tuple[ir.Var, ...]
    places: tuple[Place, ...]
    split: Split | None = None
    rows: Rows | None = None

    def additions(self, aliases: Aliases, by_rows: bool = False) -> list[tuple[str, tuple[ir.Var, ...]]]:
        """What is done about each array and sum that the nest changes, and which those are."""
        apart = set(self.split.stores) if self.split else set()
        adds = [op for op in self.outer.body.inside if isinstance(op, ir.Store) and op.add and op not in apart]
        shared = dict.fromkeys(op.array for op in adds if aliases.find(op.array) in self.atomic)
        split = dict.fromkeys(store.array for store in apart)
        raised = dict.fromkeys(s.array for s in self.outer.body.inside if isinstance(s, ir.Store) and s.extreme)
        found = [
            ("own elements", tuple(v for v in self.own if v not in raised)),
            ("raised or lowered, atomically", tuple(raised)),
            (f"{extreme(self.outer) or 'sums'}, a part for each block", tuple(slot.out for slot in self.outer.slots)),
            ("each thread adds up its iterations, and a second launch adds up these sums", split),
            ("atomic additions", shared),
            ("each row's own" if by_rows else "each thread's own", tuple(place.made.out for place in self.places)),
        ]
        # several values may be called the same
        return [
            (text, tuple({v.name: v for v in arrays if isinstance(v, ir.Var)}.values()))
            for text, arrays in found
            if arrays
        ]

    @property
    def outer(self) -> ir.For:
        return self.loops[0]

    @property
    def inner(self) -> ir.For:
        return self.loops[-1]

    @functools.cached_property
    def axes(self) -> tuple[int, ...]:
        """The places of the loops that are the axes x, y, z of the grid: along x elements lie side by side."""
        last = Counter[int]()
        counters = {loop.body.args[0]: k for k, loop in enumerate(self.loops)}
        made = self.inner.body.made
        for op in self.inner.body.inside:
            if isinstance(op, ir.Load | ir.Store) and op.index:
                last.update({k for counter, k in counters.items() if _depends(op.index[-1], counter, made)})
        order = sorted(counters.values(), key=lambda k: (last[k], k), reverse=True)
        if self.split is not None:
            order.remove(self.split.loop)
            return (order[0], *sorted(order[1:], reverse=True), self.split.loop)
        return (order[0], *sorted(order[1:], reverse=True))


def _depends(operand: ir.Operand, counter: ir.Var, made: object) -> bool:
    if operand is counter:
        return True
    op = made.get(operand)  # type: ignore[attr-defined]
    return isinstance(op, ir.Call) and any(_depends(a, counter, made) for a in op.args)


class Mapping:
    """Answers for one function. `serial`: why a loop that was not launched was not.

    on_host: arrays, by alias class, that the host keeps for itself
    with_rows: several threads may share a trip
    """

    def __init__(self, function: ir.Function, on_host: Collection[ir.Operand] = (), with_rows: bool = True):
        self._function, self.on_host, self._with_rows = function, frozenset(on_host), with_rows
        self._sharings = LoopDependences(function)
        self._aliases = function.analysis(Aliases)
        self._iterations = function.analysis(Iterations)
        self.nests: dict[ir.Op, Nest] = {}
        self.launches: dict[ir.Op, BlockNest] = {}  # of the user's own blocks and threads
        self.serial: dict[ir.Op, Serial] = {}
        self._kinds: dict[ir.Op, Kind] = {}
        self._region(function.body)

    def kind(self, op: ir.Op) -> Kind:
        """What an operation of a region of the host's is."""
        return self._kinds[op]

    def of_integers(self) -> set[ir.Operand]:
        """Arrays, by alias class, that the host could keep for itself: of whole numbers, and no kernel has them.

        Such are counts of trips, places of snapshots, conditions that were true.
        """
        given = (*self._function.body.args, *self._function.body.yields)
        made = (op for op in self._function.body.inside if isinstance(op, ir.Alloc | ir.Copy))
        found = {self._aliases.find(op.out) for op in made}
        found -= {self._aliases.find(o) for o in given if ir.is_reference(o)}
        for op in self._function.body.inside:
            for array in (o for o in (*op.operands, *op.results) if ir.is_reference(o)):
                is_whole = ir.is_array(array) and isinstance(array_type_of(array).dtype, types.Integer | types.Boolean)
                is_access = isinstance(op, ir.Alloc | ir.Copy | ir.Load | ir.Store | ir.Extent) and op in self._kinds
                if not is_whole or not is_access or isinstance(array, ir.Const):
                    found.discard(self._aliases.find(array))
        return self.without_half_copies(found)

    def without_half_copies(self, kept: set[ir.Operand]) -> set[ir.Operand]:
        """Those of these arrays, by alias class, that are copied from and to no others."""
        pairs = [
            {self._aliases.find(op.source), self._aliases.find(op.out)}
            for op in self._function.body.inside
            if isinstance(op, ir.Copy)
        ]
        while half := [pair for pair in pairs if len(pair & kept) == 1 < len(pair)]:
            kept = kept.difference(*half)
        return kept

    def _region(self, region: ir.Region) -> bool:
        """Whether anything in it is the host's, or launched."""
        found = [self._op(op) for op in region.ops]
        return any(found)

    def _op(self, op: ir.Op) -> bool:
        if is_blocks(op):
            assert isinstance(op, ir.For)
            self.launches[op], self._kinds[op] = BlockNest(op, homes(self._function, op)), "launch"
            return True
        if isinstance(op, ir.For):
            nest = self._nest(op)
            if nest is not None:
                self.nests[op], self._kinds[op] = nest, "launch"
                return True
        if op.regions:
            inside = [self._region(region) for region in op.regions]
            has_work = any(inside)
            self._kinds[op] = "host" if has_work else "thread"
            return has_work
        is_thread = isinstance(op, ir.Load | ir.Store) or (isinstance(op, ir.Call) and not _is_hosts(op))
        is_kept = isinstance(op, ir.Load | ir.Store) and self._aliases.find(op.array) in self.on_host
        self._kinds[op] = "thread" if is_thread and not is_kept else "host"
        if is_kept:
            return True
        return isinstance(op, ir.Alloc | ir.Copy | ir.NewTape | ir.Push | ir.Pull | ir.Raise | ir.Slice) or (
            isinstance(op, ir.Call) and not is_thread
        )

    # ---------------------------------------------------------------------------------------------- nests

    def _nest(self, loop: ir.For) -> Nest | None:
        trips = literal_trips(loop)
        if trips is not None and len(trips) < FEW_TRIPS and not loop.parallel:
            return None
        found = self._sharing(loop)
        own = None if found is None else places(loop, found.scratch, self._iterations)
        if found is None or own is None:
            return None
        loops, sunk = [loop], list[tuple[ir.Op, ...]]()
        sharings = [found]
        while len(loops) < MOST_AXES and not own:
            inside = self._inner(loops)
            if inside is None:
                break
            inner, before = inside
            shared = self._sharing(inner)
            if shared is None or shared.scratch:
                break
            loops.append(inner)
            sunk.append(before)
            sharings.append(shared)
        meeting: dict[ir.Operand, set[int]] = {}
        for k, shared in enumerate(sharings):
            for v in (*shared.added, *shared.shared):
                meeting.setdefault(self._aliases.find(v), set()).add(k)
        apart = split(loops, meeting, self._aliases)
        atomic = set(meeting) - ({self._aliases.find(s.array) for s in apart.stores} if apart else set())
        plain = dict.fromkeys(v for s in sharings for v in s.disjoint if self._aliases.find(v) not in atomic)
        rows = None
        if self._with_rows and apart is None:
            ops = (*(op for ops in sunk for op in ops), *loops[-1].body.ops)
            rows = rows_of(loops, ops, atomic, own, self._sharings.of, self._function)
        return Nest(tuple(loops), tuple(sunk), frozenset(atomic), tuple(plain), own, apart, rows)

    def _sharing(self, loop: ir.For) -> Sharing | None:
        if any(map(_stays_outside, loop.body.inside)):
            return None
        found = self._sharings.of(loop)
        if isinstance(found, Serial) and extreme(loop) is not None:
            return Sharing((), (), {}, loop.body.args[1:])
        if isinstance(found, Serial):
            self.serial[loop] = found
            return None
        return found

    def _inner(self, loops: Sequence[ir.For]) -> tuple[ir.For, tuple[ir.Op, ...]] | None:
        """The loop that is all that a trip of the innermost one does, with what it needs before; None if none is.

        Its range is the same in all trips, and it hands on the sums as they are.
        """
        loop = loops[-1]
        ops = [op for op in loop.body.ops if not isinstance(op, ir.Comment)]
        if not ops or not isinstance(inner := ops[-1], ir.For):
            return None
        before = ops[:-1]
        varying = {v for outer in loops for v in outer.body.args} | {out for op in before for out in op.results}
        is_rectangular = not any(end in varying for end in (inner.start, inner.stop, inner.step))
        carried = loop.body.args[1:]
        hands_on = inner.inits == carried and loop.body.yields == inner.outs
        stored = {self._aliases.find(array) for array in loops[0].body.memory_written}
        is_pure = all(self._is_cheap(op, stored) for op in before)
        is_pure &= not any(o in carried for op in before for o in op.operands)
        trips = literal_trips(inner)
        is_long = trips is None or len(trips) >= FEW_TRIPS or inner.parallel
        return (inner, tuple(before)) if is_rectangular and hands_on and is_pure and is_long else None

    def _is_cheap(self, op: ir.Op, stored: Collection[ir.Operand]) -> bool:
        """Whether each thread may do it for itself: it makes numbers, of what the nest does not store."""
        if isinstance(op, ir.Call):
            return not op.effect and all(is_scalar(o.type) for o in (*op.args, *op.outs))
        if isinstance(op, ir.Load):
            return self._aliases.find(op.array) not in stored
        return isinstance(op, ir.Extent)


def _is_hosts(op: ir.Call) -> bool:
    """Whether a call is of arrays, or checks, or says something, or is of what no kernel can call."""
    is_of_numbers = all(is_scalar(o.type) for o in (*op.args, *op.outs))
    return op.effect or is_check(op) or not is_of_numbers or in_kernel(op.callee, len(op.args)) is None


def _stays_outside(op: ir.Op) -> bool:
    """Whether no kernel can do it."""
    if isinstance(op, ir.NewTape | ir.Push | ir.Pull | ir.Raise):
        return True
    return isinstance(op, ir.Call) and _is_hosts(op)


def sums(nest: Nest) -> Iterator[tuple[ir.Var, ir.Operand, ir.Var]]:
    """The sums of a nest: what the outermost loop calls the result, what it starts from, and its argument inside."""
    for slot in nest.outer.slots:
        assert isinstance(slot.arg.type, types.Float | types.Integer)
        yield slot.out, slot.init, slot.arg
