"""Several threads a trip: loops inside of a trip whose own trips the threads share.

In: the loops of a nest. Out: `Rows`: which loops inside are shared, where the threads of a row wait for each other, how
they lie in a block; None where each trip is best left to one thread.

    for i in range(n):                    i: a row, which `threads` threads have together; t: one of them
        s = 0.0
        for j in range(m):                    for j in range(t, m, threads): own += exp(a[i, j])
            s += exp(a[i, j])                 s = row_sum(own)
        y[i] = log(s)                         if t == 0: y[i] = log(s)
        for j in range(m):                    for j in range(t, m, threads): b[i, j] = exp(a[i, j]) / s
            b[i, j] = exp(a[i, j]) / s

What stands between such loops all threads of a row do alike; what it stores, the first one does. How many threads a row
has is for the host to say, by how many rows there are, and how long: with one thread it is a trip as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.loop_dependences import Serial, Sharing, is_own
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.gpu.allocation import Place
from adjit.transform.gpu.sums.loop_sums import Extreme, extreme
from adjit.transform.ir.types import array_type_of

FEW_TRIPS = 16  # a loop with fewer, known while compiling, is not worth sharing

Who = Literal["all", "first", "shared"]
SharingOf = Callable[[ir.For], Sharing | Serial]


@dataclass(frozen=True, eq=False)
class Rows:
    """shared:  the loops whose trips the threads of a row share, and what they take of the values that these make
    barriers: operations before which the threads of a row wait for each other
    carried: what the sums of the nest are called in a trip
    together: several rows may be in one block: all get to the same barriers, and to the same sums
    along:   elements that lie side by side are of one row, so that threads of a row are beside each other
    trips:   how many trips shared loops make, in what is known before the nest
    listed:  if nobody knows that: arrays that have an element for each trip of all rows together
    """

    shared: Mapping[ir.Op, Extreme | None]
    barriers: frozenset[ir.Op]
    carried: frozenset[ir.Operand]
    together: bool
    along: bool
    trips: tuple[Affine, ...]
    listed: tuple[ir.Var, ...] = ()


@dataclass(frozen=True, eq=False)
class _Event:
    """What a row does between two others, and which of its threads do it. `loop`: the one whose trips they share."""

    op: ir.Op
    who: Who
    accesses: tuple[ir.Op, ...]
    loop: ir.For | None = None


def rows_of(
    loops: Sequence[ir.For],
    ops: Sequence[ir.Op],
    atomic: Collection[ir.Operand],
    own: Sequence[Place],
    sharing: SharingOf,
    function: ir.Function,
) -> Rows | None:
    """How the trips of a nest, each of which does `ops`, are shared by several threads; None if they are not.

    atomic: memory, by alias class, that several trips may add to. own: the arrays that each trip has for itself.
    """
    if extreme(loops[0]) is not None or any(place.is_local for place in own):
        return None
    return _Rows(loops, atomic, own, sharing, function).of(ops)


def outside(ops: Sequence[ir.Op], shared: Collection[ir.Op]) -> Iterator[ir.Op]:
    """The operations, and those in them, but what is in shared loops."""
    for op in ops:
        yield op
        if op not in shared:
            for region in op.regions:
                yield from outside(region.ops, shared)


class _Rows:
    def __init__(
        self,
        loops: Sequence[ir.For],
        atomic: Collection[ir.Operand],
        own: Sequence[Place],
        sharing: SharingOf,
        function: ir.Function,
    ):
        self.loops, self.atomic, self.sharing = loops, atomic, sharing
        self.aliases, self.iterations = function.analysis(Aliases), function.analysis(Iterations)
        self.naturals = function.analysis(Naturals)
        self.counters = [loop.body.args[0] for loop in loops]
        self.inside = loops[0].body.defines
        self.made = loops[0].body.made
        self.own = {place.made for place in own}
        mine = {self.aliases.find(op.out) for op in self.own}
        self.stored = {self.aliases.find(array) for array in loops[0].body.memory_written} - mine
        self.carried: set[ir.Operand] = set()
        self.shared: dict[ir.Op, Extreme | None] = {}
        self.barriers: set[ir.Op] = set()
        # what a row that is none finds in arrays of integers may be no index
        self.together = all(ir.is_float(op.out.type) for op in self.own)
        self.fits = True
        self._shareable: dict[ir.For, bool] = {}

    def of(self, ops: Sequence[ir.Op]) -> Rows | None:
        inner = self.loops[-1].body
        for arg, yielded in zip(inner.args[1:], inner.yields, strict=True):
            names = partial_sums(arg, yielded, inner)
            if names is None:
                return None
            self.carried |= names
        self.walk(ops, [], True)
        trips = tuple(dict.fromkeys(n for loop in self.shared if (n := self.trips(loop)) is not None))
        listed = () if trips else self.listed()
        if not self.fits or not (trips or listed):
            return None
        along = self.lies_along()
        together = self.together and not self.has_made_indices(ops)
        return Rows(self.shared, frozenset(self.barriers), frozenset(self.carried), together, along, trips, listed)

    # ------------------------------------------------------------------------------------------------- what is shared

    def is_shareable(self, loop: ir.For) -> bool:
        if loop not in self._shareable:
            self._shareable[loop] = self._is_shareable(loop)
        return self._shareable[loop]

    def _is_shareable(self, loop: ir.For) -> bool:
        trips = literal_trips(loop)
        if (trips is not None and len(trips) < FEW_TRIPS) or loop.stops or not all(map(_is_plain, loop.body.inside)):
            return False
        if extreme(loop) is not None:
            return loop.outs[0] not in self.carried
        found = self.sharing(loop)
        if isinstance(found, Serial) or found.scratch:
            return False
        # what rows add to atomically threads of one may as well
        return all(self.aliases.find(array) in self.atomic for array in (*found.added, *found.shared))

    def trips(self, loop: ir.Op) -> Affine | None:
        """How many trips a shared loop makes, as it is known before the nest."""
        assert isinstance(loop, ir.For)
        bounds = self.iterations.bounds(loop)
        if bounds is None:
            return None
        found = bounds[1].plus(bounds[0], -1)
        named = (symbol[0] if isinstance(symbol, tuple) else symbol for symbol in found.terms)
        return None if any(name in self.inside for name in named) else found

    def listed(self) -> tuple[ir.Var, ...]:
        """Arrays that shared loops go through, each row from where the one before has ended, as far as one can tell."""
        found: dict[ir.Operand, None] = {}
        for loop in self.shared:
            assert isinstance(loop, ir.For)
            loads = (op for op in loop.body.inside if isinstance(op, ir.Load) and op.index == loop.body.args[:1])
            if all(any(self.depends(end, row, True) for row in self.counters) for end in (loop.start, loop.stop)):
                found.update(dict.fromkeys(op.array for op in loads if op.array not in self.inside))
        return tuple(v for v in found if isinstance(v, ir.Var))

    def lies_along(self) -> bool:
        """Whether more of what a row alone touches lies side by side along it than across rows."""
        along = across = 0
        for loop in self.shared:
            assert isinstance(loop, ir.For)
            ends = (loop.start, loop.stop)
            for op in loop.body.inside:
                if isinstance(op, ir.Load | ir.Store) and op.index:
                    fastest = op.index[0 if array_type_of(op.array).layout == "F" else -1]
                    of_row = any(self.depends(fastest, row) for row in self.counters)
                    of_own = self.depends(fastest, loop.body.args[0])
                    told_by = (op.array, *op.index)
                    is_rows = all(
                        any(self.depends(o, row) for o in told_by) or any(self.depends(o, row, True) for o in ends)
                        for row in self.counters
                    )
                    along += of_own and is_rows and not of_row
                    across += of_row and not of_own
        return along > across

    def depends(self, operand: ir.Operand, counter: ir.Var, by_elements: bool = False) -> bool:
        """Whether an index or a view hangs on a counter; `by_elements`: also through elements that are loaded."""
        if operand is counter:
            return True
        op = self.made.get(operand)
        is_followed = isinstance(op, (ir.Call, *ir.VIEWS)) or (by_elements and isinstance(op, ir.Load))
        return is_followed and op is not None and any(self.depends(o, counter, by_elements) for o in op.operands)

    def has_made_indices(self, ops: Sequence[ir.Op]) -> bool:
        """Whether an element depends on what shared loops make: of a row that is none it may be none as well."""
        made: set[ir.Operand] = {out for loop in self.shared for out in loop.results}
        others = list(outside(ops, self.shared))
        count = -1
        while count < len(made):
            count = len(made)
            for op in others:
                yields = (y for region in op.regions for y in region.yields)
                if any(o in made for o in (*op.operands, *yields)):
                    made.update(op.results, *(region.args for region in op.regions))
        return any(i in made for op in others if isinstance(op, ir.Load) for i in op.index)

    # ------------------------------------------------------------------------------------------------- a row in order

    def walk(self, ops: Sequence[ir.Op], pending: Sequence[_Event], is_uniform: bool) -> list[_Event]:
        """What is pending after operations: what was done since threads last waited. `is_uniform`: all rows do them."""
        left = list(pending)
        for op in ops:
            if isinstance(op, ir.For) and self.is_shareable(op):
                left = self.event(op, left, is_uniform)
                self.shared[op] = extreme(op)
                if any(slot.arg not in self.carried for slot in op.slots):
                    left = []  # a sum over the threads is behind a barrier
                    self.together &= is_uniform
            elif op.regions:
                left = self.control(op, left, is_uniform)
            elif not _is_plain(op) and op not in self.own:
                self.fits = False
            else:
                left = self.event(op, left, is_uniform)
        return left

    def event(self, op: ir.Op, pending: list[_Event], is_uniform: bool) -> list[_Event]:
        found = self.as_event(op)
        if found is None:
            return pending
        if found.who == "all" and any(self.aliases.find(a) in self.stored for a in touched(op)):
            self.together = False  # a row that is none would look at what another one stores
        if any(self.clash(one, found) for one in pending):
            self.barriers.add(op)
            self.together &= is_uniform
            return [found]
        return [*pending, found]

    def control(self, op: ir.Op, pending: list[_Event], is_uniform: bool) -> list[_Event]:
        count = len(self.shared)
        if isinstance(op, ir.If):
            known = is_uniform and op.condition not in self.inside
            left = list(pending) if not op.orelse.ops else []
            for region in op.regions:
                left += [one for one in self.walk(region.ops, pending, known) if one not in left]
            return left
        known = is_uniform and isinstance(op, ir.For) and not op.stops
        known = known and not any(o in self.inside for o in op.operands[:3])
        self.together &= known
        # of an earlier trip anything may be pending
        left = [*pending, *(event for region in op.regions for event in self.events(region))]
        for region in op.regions:
            left = self.walk(region.ops, left, known)
        trips = literal_trips(op) if isinstance(op, ir.For) else None
        if len(self.shared) == count and (trips is None or len(trips) >= FEW_TRIPS):
            self.fits = False  # most of the work is in there, and one thread does it as well
        return [*pending, *(one for one in left if one not in pending)]

    def events(self, region: ir.Region) -> Iterator[_Event]:
        for op in region.ops:
            if op.regions and not (isinstance(op, ir.For) and self.is_shareable(op)):
                for inner in op.regions:
                    yield from self.events(inner)
            elif (found := self.as_event(op)) is not None:
                yield found

    def as_event(self, op: ir.Op) -> _Event | None:
        """What an operation touches, None if that is nothing."""
        if isinstance(op, ir.Alloc | ir.Copy):
            return self.filling(op)
        accesses = tuple(inner for inner in ir.with_inner(op) if touched(inner))
        if not accesses:
            return None
        if isinstance(op, ir.For):
            return _Event(op, "shared", accesses, op)
        return _Event(op, "first" if isinstance(op, ir.Store) else "all", accesses)

    def filling(self, op: ir.Alloc | ir.Copy) -> _Event | None:
        """What the threads of a row do together where an array is made."""
        if isinstance(op, ir.Copy):
            item = ir.Var("item", array_type_of(op.out).dtype)
            accesses = [ir.Load(array=op.source, index=(), out=item), ir.Store(array=op.out, index=(), value=item)]
            return _Event(op, "shared", tuple(accesses))
        if op.fill is None:
            return None
        return _Event(op, "shared", (ir.Store(array=op.out, index=(), value=op.fill),))

    def clash(self, one: _Event, other: _Event) -> bool:
        """Whether a thread of the row may be at an element that another one stores to."""
        if one.who == other.who and one.who != "shared":
            return False  # what all do is loads, and the first thread is one
        return any(self.meet(one, a, other, b) for a in one.accesses for b in other.accesses)

    def meet(self, one: _Event, a: ir.Op, other: _Event, b: ir.Op) -> bool:
        if a.memory_written is None and b.memory_written is None:
            return False
        if all(self.aliases.are_distinct(x, y) for x in touched(a) for y in touched(b)):
            return False
        if isinstance(a, ir.Store) and isinstance(b, ir.Store) and a.add and b.add:
            memory = {self.aliases.find(a.array), self.aliases.find(b.array)}
            if memory <= set(self.atomic):
                return False
        if one.loop is None or other.loop is None or not self.are_dealt_alike(one.loop, other.loop):
            return True
        if not isinstance(a, ir.Load | ir.Store) or not isinstance(b, ir.Load | ir.Store):
            return True
        counters = (one.loop.body.args[0], other.loop.body.args[0])
        return not is_own([a, b], lambda index: 0 if index in counters else None)

    def are_dealt_alike(self, one: ir.For, other: ir.For) -> bool:
        """Whether a thread has the same counters in both, as far as those are in both, none of them below zero."""
        is_same = one.start == other.start and one.step == other.step
        return is_same and self.naturals.counts(one) and self.naturals.counts(other)


def _is_plain(op: ir.Op) -> bool:
    """Whether a thread can do it for its row, or all of them alike."""
    if isinstance(op, ir.Call):
        return not op.effect and not any(map(ir.is_reference, (*op.args, *op.outs)))
    return isinstance(op, (ir.Load, ir.Store, ir.Extent, ir.Comment, ir.Undefined, ir.If, ir.For, ir.While, *ir.VIEWS))
