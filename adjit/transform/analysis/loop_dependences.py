"""What the trips of a loop share, and so whether they may run at the same time, in any order or side by side.

In: a function and a loop in it. Out: of `LoopDependences`, for threads a `Sharing`, which says what is made private, or
`Serial`, why they may not; for lanes `Trips`, None where a trip may see what another one did; for whoever turns a loop
round, whether its trips are independent. That the user wrote prange is no proof: it is a promise about the primal. It
is believed of plain stores and of their mirrors where the element is not known; not of additions, and not where the
promise is seen to be broken.

    for i in prange(n):
        total += u[i] * w[k[i]]             total: a sum
        u_bar[i] += w[k[i]]                 u_bar: disjoint, no two trips touch one element
        w_bar[k[i]] += u[i]                 w_bar: only added to, so each thread may add up its own
        v_bar[i] += a; v_bar[i + 1] -= a    v_bar: shared by trips that are neighbours
        for j in range(d): v[j] = x[i, j]   v: each trip stores all that it reads of it
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numba import types

from adjit.runtime.library import some_elements
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check, touched
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.extents import ndim
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.order_sensitive import Reach
from adjit.transform.analysis.sums import carries_adjoint_sums, partial_sums
from adjit.transform.ir.types import array_type_of

Pair = tuple[ir.Op, ir.Store]

Shared = Literal["private", "own", "summed"]

MOST_NEAR = 4


@dataclass(frozen=True)
class Sharing:
    """What trips that run at the same time do about the memory that they store to, and about carried values.

    disjoint: arrays of which no two trips touch one element where one of them stores
    shared:   arrays to an element of which trips that are `near` each other may both add
    added:    arrays that the trips only add to
    scratch:  what makes the arrays of which each trip uses only what it stores itself, and a name for one's own
    near:     trips further than this apart never add to the same element; 0: no two trips ever do
    sums:     the carried values, which are only added to
    """

    disjoint: tuple[ir.Var, ...]
    added: tuple[ir.Var, ...]
    scratch: Mapping[ir.Alloc, ir.Var]
    sums: tuple[ir.Var, ...]
    near: int = 0
    shared: tuple[ir.Var, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether nothing has to be private."""
        return not self.added and not self.scratch and not self.sums and not self.near


@dataclass(frozen=True)
class Serial:
    """Why trips run one after the other. `{}` in the text stands for the name of an array in `about`."""

    why: str
    about: tuple[ir.Var, ...] = ()


@dataclass(frozen=True, eq=False)
class Sum:
    """A carried value that is only added to. `chain`: its names, from the loop's argument to what is yielded.

    is_ordered: it has to be added up in the order of the trips; is_inner: inner loops add to it, in any order.
    """

    chain: frozenset[ir.Var]
    is_ordered: bool
    is_inner: bool


@dataclass(frozen=True)
class Trips:
    """Arrays that the loop stores into, by alias class, and a sum for each carried value.

    private: there is one array, which only this loop looks at, and what a trip leaves in it is read by no other trip
    own:     each trip touches elements of its own
    summed:  trips only add to it, in an order that does not matter
    """

    kinds: Mapping[ir.Operand, Shared]
    sums: tuple[Sum, ...]


class LoopDependences:
    """Answers for one function, of which the results at `values` have to keep every bit."""

    def __init__(self, function: ir.Function, values: Collection[int] = ()):
        self.aliases = function.analysis(Aliases)
        self.naturals = function.analysis(Naturals)
        self._function, self._values = function, values
        self._model = function.analysis(IndexModel)
        self._allocs: dict[ir.Operand, list[ir.Alloc]] = {}
        given = (*function.body.args, *function.body.yields)
        self._handed_out = {self.aliases.find(y) for y in given if ir.is_reference(y)}
        for op in ir.walk(function.body):
            if isinstance(op, ir.Alloc):
                self._allocs.setdefault(self.aliases.find(op.out), []).append(op)

    @functools.cached_property
    def reach(self) -> Reach:
        return Reach(self._function, self.aliases, self._values)

    # ------------------------------------------------------------------------------------------------- in any order

    def are_independent(self, loop: ir.For, but_for_sums: bool = True) -> bool:
        """Whether it is proved that no trip touches an element that another one stores to.

        `but_for_sums`: two of them may add to the same one. In the reverse sweep, where order is of no account, they
        may add to what the loop carries.

            for i in range(1, n): v[i] = u[i - 1]        independent
            for i in range(1, n): u[i] = u[i - 1]        not
            for i in range(1, n): u_bar[i - 1] += v_bar[i];  u_bar[i] += v_bar[i]      but for sums
        """
        if loop.stops or (loop.inits and not carries_adjoint_sums(loop)):
            return False
        inside = loop.body.inside
        if any(isinstance(op, ir.Push | ir.Raise) or (isinstance(op, ir.Call) and op.effect) for op in inside):
            return False
        return not any(self._meetings(loop, lambda op, store: but_for_sums and _are_sums(op, store)))

    def _meetings(
        self, loop: ir.For, is_ignored: Callable[[ir.Op, ir.Store], bool]
    ) -> Iterator[tuple[ir.Op, ir.Store, list[ir.Operand]]]:
        """What touches an element that is stored to in another trip, and the arrays that it may be of."""
        for store in (op for op in loop.body.inside if isinstance(op, ir.Store)):
            for op in self.aliases.touching(loop.body.ops, self.aliases.find(store.array)):
                near = [a for a in touched(op) if ir.is_array(a) and not self.aliases.are_distinct(a, store.array)]
                if near and not is_ignored(op, store) and self._model.may_meet_in_other_trip(loop, op, store):
                    yield op, store, near

    # ---------------------------------------------------------------------------------------------- at the same time

    def of(self, loop: ir.For) -> Sharing | Serial:
        inside = loop.body.inside
        obstacle = self._obstacle(loop, inside)
        if obstacle is not None:
            return obstacle
        own = loop.body.defines
        conflicts: dict[ir.Operand, list[Pair]] = {}
        for op, store, near_by in self._meetings(loop, self._is_promised):
            for base in dict.fromkeys(map(self.aliases.base, (store.array, *near_by))):
                conflicts.setdefault(base, []).append((op, store))
        added: list[ir.Var] = []
        scratch: dict[ir.Alloc, ir.Var] = {}
        shared: list[ir.Var] = []
        near = 0
        for base, pairs in conflicts.items():
            allocs = self._scratch(loop, base)
            distance = self._distance(loop, pairs)
            if allocs is not None:
                scratch.update((alloc, dataclasses.replace(alloc.out)) for alloc in allocs if alloc not in scratch)
            elif distance is not None and isinstance(base, ir.Var):
                shared.append(base)
                near = max(near, distance)
            elif base not in own and self._is_only_added_to(base, inside):
                added += self._names(base, loop)
            else:
                return Serial(
                    "an iteration may use elements of {} that another one stores to",
                    (base,) if isinstance(base, ir.Var) else (),
                )
        stored = dict.fromkeys(self.aliases.base(op.array) for op in inside if isinstance(op, ir.Store))
        disjoint = [b for b in stored if isinstance(b, ir.Var) and b not in own and b not in conflicts]
        return Sharing(tuple(disjoint), tuple(added), scratch, loop.body.args[1:], near=near, shared=tuple(shared))

    def _obstacle(self, loop: ir.For, inside: Sequence[ir.Op]) -> Serial | None:
        if loop.stops:
            return Serial("an iteration may end the loop")
        tapes = {op.out for op in inside if isinstance(op, ir.NewTape)}
        for op in inside:
            if isinstance(op, ir.Raise) or is_check(op):
                return Serial("an iteration may raise an error")
            if isinstance(op, ir.Call) and op.effect:
                return Serial("random numbers are drawn in the order of the iterations")
            if isinstance(op, ir.Push) and op.tape not in tapes:
                return Serial("the size of what iterations save is not known before")
        for arg, yielded in zip(loop.body.args[1:], loop.body.yields, strict=True):
            is_number = isinstance(arg.type, types.Float | types.Integer)
            if not is_number or partial_sums(arg, yielded, loop.body) is None:
                return Serial("an iteration starts from the {} that the last one left", (arg,))
        return None

    def _is_promised(self, op: ir.Op, store: ir.Store) -> bool:
        """Whether the user says that the two do not meet, where nothing else is known of the elements; or they may."""
        if isinstance(op, ir.Store) and op.extreme and op.extreme == store.extreme and op.atomic and store.atomic:
            return True  # a GPU raises an element in whatever order
        stores = [s for s in (op, store) if isinstance(s, ir.Store) and s.promised and not s.add]
        return any(s.promised == "surely" or self._model.element(s) is None for s in stores)

    def _distance(self, loop: ir.For, pairs: Sequence[Pair]) -> int | None:
        """How far apart two trips can be that add to the same element; None if that has no end, or they do not add."""
        if not all(_are_sums(op, store) for op, store in pairs):
            return None
        for distance in range(1, MOST_NEAR + 1):
            pairs = [(a, b) for a, b in pairs if self._model.may_meet_in_other_trip(loop, a, b, beyond=distance)]
            if not pairs:
                return distance
        return None

    def _is_only_added_to(self, base: ir.Operand, inside: Sequence[ir.Op]) -> bool:
        """Whether no trip looks at what is in the array, or in what may be the same memory."""
        if not ir.is_array(base) or not ir.is_float(base.type) or not ndim(base):
            return False
        for op in inside:
            for array in _arrays(op):
                if self.aliases.are_distinct(array, base):
                    continue
                is_addition = isinstance(op, ir.Store) and op.add and op.array is array
                if not is_addition and not isinstance(op, (ir.Extent, ir.Alloc, *ir.VIEWS)):
                    return False
        return True

    def _names(self, base: ir.Operand, loop: ir.For) -> list[ir.Var]:
        """The names that the array, or a view of it, comes into the loop by."""
        return [v for v in ir.free_vars(loop.body) if ir.is_array(v) and self.aliases.base(v) is base]

    def _scratch(self, loop: ir.For, base: ir.Operand) -> list[ir.Alloc] | None:
        """What makes the memory of an array outside the loop, if trips, and whatever else uses it, need not share it.

        None if they do.
        """
        memory = self.aliases.find(base)
        names = [v for v in ir.free_vars(loop.body) if ir.is_array(v) and self.aliases.find(v) == memory]
        allocs = [made for v in names if isinstance(made := self._function.body.made.get(v), ir.Alloc)]
        if len(allocs) != len(names) or not names or memory in self._handed_out:
            return None
        around = set(self._model.iterations.places[loop].loops)
        for op in self.aliases.touching(self._function.body.ops, memory):
            own = [other for other in (*self._model.iterations.places[op].loops, op) if other not in around]
            # loops whose trips would do the same if each had memory of its own
            if not any(isinstance(other, ir.For) and self._model.is_private(memory, other) for other in own):
                return None
        return allocs

    # ------------------------------------------------------------------------------------------------- side by side

    def trips(self, loop: ir.For) -> Trips | None:
        """What the trips of the loop share; None if they are not known to be independent."""
        if loop.stops or not all(self._is_simple(op) for op in ir.walk(loop.body)):
            return None
        sums = [self._sum(arg, y, loop) for arg, y in zip(loop.body.args[1:], loop.body.yields, strict=True)]
        kinds: dict[ir.Operand, Shared] = {}
        for memory in {self.aliases.find(op.array): None for op in ir.walk(loop.body) if isinstance(op, ir.Store)}:
            kind = self._kind(memory, loop)
            if kind is None:
                return None
            kinds[memory] = kind
        found = tuple(s for s in sums if s is not None)
        return Trips(kinds, found) if len(found) == len(sums) else None

    def _is_simple(self, op: ir.Op) -> bool:
        """Whether it may run in another order than the operations of other trips, as far as memory does not tell."""
        if isinstance(op, ir.Call):
            is_pure = not op.effect or op.callee is some_elements
            return is_pure and not any(ir.is_reference(o) for o in (*op.args, *op.outs))
        if isinstance(op, ir.For | ir.If):
            is_plain = isinstance(op, ir.If) or not (op.stops or op.parallel)
            return is_plain and not any(ir.is_reference(o) for o in (*op.operands, *op.results))
        return isinstance(op, ir.Load | ir.Store | ir.Extent | ir.Comment | ir.Alloc)

    def _kind(self, memory: ir.Operand, loop: ir.For) -> Shared | None:
        inside = [op for op in ir.walk(loop.body) if isinstance(op, ir.Load | ir.Store)]
        inside = [op for op in inside if self.aliases.find(op.array) == memory]
        counter = loop.body.args[0]
        if self.naturals.counts(loop) and is_own(inside, lambda index: 0 if index is counter else None):
            return "own"
        is_made_here = any(op in self._allocs.get(memory, ()) for op in ir.walk(loop.body))
        if not is_made_here and all(isinstance(op, ir.Store) and op.add for op in inside):
            exact = not isinstance(array_type_of(inside[0].array).dtype, types.Float)
            return "summed" if exact or not self.reach.has_memory(memory) else None
        users = list(self.aliases.touching(self._function.body.ops, memory))
        is_alone = memory not in self._handed_out and inside == users
        allocs = self._allocs.get(memory, [])
        if not is_alone or len(allocs) != 1:
            return None
        is_zero = allocs[0].fill is not None and allocs[0].fill.value == 0
        is_private = is_made_here or self._model.is_private(memory, loop)
        return "private" if is_private or (is_zero and self._model.is_cleared(memory, loop)) else None

    def _sum(self, arg: ir.Var, yielded: ir.Operand, loop: ir.For) -> Sum | None:
        chain = partial_sums(arg, yielded, loop.body)
        if chain is None:
            return None
        names = frozenset(v for v in chain if isinstance(v, ir.Var))
        is_ordered = isinstance(arg.type, types.Float) and self.reach.is_ordered(loop, names)
        is_inner = any(isinstance(op, ir.For) and any(out in chain for out in op.outs) for op in loop.body.ops)
        return Sum(names, is_ordered, is_inner and not is_ordered)


def _arrays(op: ir.Op) -> Iterator[ir.Operand]:
    """The arrays that an operation uses, those that its regions hand back included."""
    for operand in (*op.operands, *(y for region in op.regions for y in region.yields)):
        if ir.is_reference(operand):
            yield operand


def _are_sums(op: ir.Op, store: ir.Store) -> bool:
    return isinstance(op, ir.Store) and op.add and store.add


def is_own(ops: Sequence[ir.Load | ir.Store], distance: Callable[[ir.Operand], int | None]) -> bool:
    """Whether all elements are of one array, and along an axis of it at one distance from the counter of a loop."""
    axes = [{(k, far) for k, i in enumerate(op.index) if (far := distance(i)) is not None} for op in ops]
    return len({op.array for op in ops}) == 1 and bool(set.intersection(*axes))
