"""What the trips of a loop share, and so whether they may run at the same time.

In: a function and a loop in it. Out: `Sharing`, which says what has to be made private for that, or `Serial`, why they
may not. That the user wrote prange is no proof: it is a promise about the primal. It is believed of plain stores and of
their mirrors where the element is not known; not of additions, and not where the promise is seen to be broken.

    for i in prange(n):
        total += u[i] * w[k[i]]             total: a sum
        u_bar[i] += w[k[i]]                 u_bar: disjoint, no two trips touch one element
        w_bar[k[i]] += u[i]                 w_bar: only added to, so each thread may add up its own
        v_bar[i] += a; v_bar[i + 1] -= a    v_bar: shared by trips that are neighbours
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.distinct import Distinct
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.sums import is_added_to

Pair = tuple[ir.Op, ir.Store]

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


class Sharings:
    """Answers for one function."""

    def __init__(self, function: ir.Function):
        self._aliases = function.analysis(Aliases)
        self._distinct = Distinct(function, self._aliases)
        self._model = function.analysis(IndexModel)
        self._definitions = self._model.iterations.definitions
        self._users: dict[ir.Operand, list[ir.Op]] = {}
        self._handed_out = {self._aliases.find(y) for y in function.body.yields if ir.is_array(y)}
        for op in ir.walk(function.body):
            for array in _arrays(op):
                self._users.setdefault(self._aliases.find(array), []).append(op)

    def of(self, loop: ir.For) -> Sharing | Serial:
        inside = loop.body.inside
        obstacle = self._obstacle(loop, inside)
        if obstacle is not None:
            return obstacle
        own = {out for op in inside for out in op.results} | {
            arg for op in (loop, *inside) for region in op.regions for arg in region.args
        }
        conflicts = self._conflicting(loop, inside)
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
                return Serial("another trip may store what one uses of {}", (base,) if isinstance(base, ir.Var) else ())
        stored = dict.fromkeys(self._base(op.array) for op in inside if isinstance(op, ir.Store))
        disjoint = [b for b in stored if isinstance(b, ir.Var) and b not in own and b not in conflicts]
        return Sharing(tuple(disjoint), tuple(added), scratch, loop.body.args[1:], near=near, shared=tuple(shared))

    def bounds(self, loop: ir.For) -> tuple[Affine, Affine] | None:
        """The least counter and one more than the greatest, of a loop in steps of one, in variables."""
        return self._model.iterations.bounds(loop)

    # ------------------------------------------------------------------------------------------------------ obstacles

    def _obstacle(self, loop: ir.For, inside: Sequence[ir.Op]) -> Serial | None:
        if loop.stops:
            return Serial("a trip may end the loop")
        tapes = {op.out for op in inside if isinstance(op, ir.NewTape)}
        for op in inside:
            if isinstance(op, ir.Raise) or is_check(op):
                return Serial("a trip may raise an error")
            if isinstance(op, ir.Call) and op.effect:
                return Serial("random numbers are drawn in the order of the trips")
            if isinstance(op, ir.Push) and op.tape not in tapes:
                return Serial("what the trips save has no size known before")
        for arg, yielded in zip(loop.body.args[1:], loop.body.yields, strict=True):
            is_number = isinstance(arg.type, types.Float | types.Integer)
            if not is_number or not is_added_to(arg, yielded, loop.body):
                return Serial("a trip starts from the {} that the last one left", (arg,))
        return None

    # --------------------------------------------------------------------------------------------------------- memory

    def _base(self, array: ir.Operand) -> ir.Operand:
        """The array that a view looks into."""
        return ir.base_of(array, self._definitions)

    def _conflicting(self, loop: ir.For, inside: Sequence[ir.Op]) -> dict[ir.Operand, list[Pair]]:
        """The arrays of which two trips may touch the same element and one stores to it, with what touches it."""
        found: dict[ir.Operand, list[Pair]] = {}
        for store in inside:
            if not isinstance(store, ir.Store):
                continue
            for op in inside:
                touched = (op.array,) if isinstance(op, ir.Store) else op.memory_read
                near = [a for a in touched if ir.is_array(a) and not self._distinct.are_distinct(a, store.array)]
                if near and not self._is_promised(op, store) and self._model.may_meet_in_other_trip(loop, op, store):
                    for base in {self._base(array): None for array in (store.array, *near)}:
                        found.setdefault(base, []).append((op, store))
        return found

    def _is_promised(self, op: ir.Op, store: ir.Store) -> bool:
        """Whether the user says that the two do not meet, where nothing else is known of the elements."""
        stores = [s for s in (op, store) if isinstance(s, ir.Store) and s.promised and not s.add]
        return any(self._model.element(s) is None for s in stores)

    def _distance(self, loop: ir.For, pairs: Sequence[Pair]) -> int | None:
        """How far apart two trips can be that add to the same element; None if that has no end, or they do not add."""
        if not all(isinstance(op, ir.Store) and op.add and store.add for op, store in pairs):
            return None
        for distance in range(1, MOST_NEAR + 1):
            pairs = [(a, b) for a, b in pairs if self._model.may_meet_in_other_trip(loop, a, b, beyond=distance)]
            if not pairs:
                return distance
        return None

    def _is_only_added_to(self, base: ir.Operand, inside: Sequence[ir.Op]) -> bool:
        """Whether no trip looks at what is in the array, or in what may be the same memory."""
        if (
            not isinstance(base.type, types.Array)
            or base.type.ndim == 0
            or not isinstance(base.type.dtype, types.Float)
        ):
            return False
        for op in inside:
            for array in _arrays(op):
                if self._distinct.are_distinct(array, base):
                    continue
                is_addition = isinstance(op, ir.Store) and op.add and op.array is array
                if not is_addition and not isinstance(op, (ir.Extent, ir.Alloc, *ir.VIEWS)):
                    return False
        return True

    def _names(self, base: ir.Operand, loop: ir.For) -> list[ir.Var]:
        """The names that the array, or a view of it, comes into the loop by."""
        return [v for v in ir.free_vars(loop.body) if ir.is_array(v) and self._base(v) is base]

    def _scratch(self, loop: ir.For, base: ir.Operand) -> list[ir.Alloc] | None:
        """What makes the memory of an array outside the loop, if trips, and whatever else uses it, need not share it.

        None if they do.
        """
        memory = self._aliases.find(base)
        names = [v for v in ir.free_vars(loop.body) if ir.is_array(v) and self._aliases.find(v) == memory]
        allocs = [made for v in names if isinstance(made := self._definitions.get(v), ir.Alloc)]
        if len(allocs) != len(names) or not names or memory in self._handed_out:
            return None
        around = set(self._model.iterations.places[loop].loops)
        for op in self._users[memory]:
            if isinstance(op, ir.Extent | ir.Alloc):
                continue
            own = [other for other in (*self._model.iterations.places[op].loops, op) if other not in around]
            if not any(isinstance(other, ir.For) and self._is_fresh(other, memory) for other in own):
                return None
        return allocs

    def _is_fresh(self, loop: ir.For, memory: ir.Operand) -> bool:
        """Whether the trips of a loop would do the same if each had memory of its own."""
        return self._model.is_private(memory, loop, lambda op: False)


def _arrays(op: ir.Op) -> Iterator[ir.Operand]:
    """The arrays that an operation uses, those that its regions hand back included."""
    for operand in (*op.operands, *(y for region in op.regions for y in region.yields)):
        if ir.is_reference(operand):
            yield operand
