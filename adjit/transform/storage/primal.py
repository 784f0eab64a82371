"""Where operations stand in the primal, and which stores may change what was read before them.

In: a function. Out: `Primal`: the region and position of each operation and value, the stores that have to be
undone if a load is to be made again in the reverse sweep, and the arrays that can have an axis more for loops around
their use. `storage.py` makes a `Joint` of it, with both sweeps.

    here = v[i]              v[i] = ... in the same trip may overwrite what is loaded
    v[i] = here * c
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import FRESH, Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type_of


class Primal:
    """`expanded`: the scratch arrays that are taken to have an axis more for each of these loops."""

    def __init__(self, function: ir.Function):
        self.function = function
        self.top = function.body
        self.aliases = Aliases(function)  # takes in what storage adds
        self._uses = function.analysis(Uses)
        self.region_of = self._uses.home
        self.position: dict[ir.Op, int] = {}
        self.owner: dict[ir.Region, ir.Op] = {}
        self.made: dict[ir.Var, tuple[ir.Region, int]] = {}
        for region in ir.regions(self.top):
            self.made.update((arg, (region, -1)) for arg in region.args)
            for k, op in enumerate(region.ops):
                self.position[op] = k
                self.made.update((out, (region, k)) for out in op.results)
                self.owner.update((inner, op) for inner in op.regions)
        self.stores = self.aliases.stores()
        self.expanded: dict[ir.Operand, Sequence[ir.For]] = {}
        self._index_model = function.analysis(IndexModel)

    # ------------------------------------------------------------------------------------------------------- regions

    def chain(self, region: ir.Region) -> tuple[ir.Op, ...]:
        """The operations around a region, outermost first."""
        return () if region is self.top else self._path(self.owner[region])

    def _path(self, op: ir.Op) -> tuple[ir.Op, ...]:
        """The operations around an operation, outermost first, and itself."""
        return (*self._uses.around[op], op)

    def undone_at(self, op: ir.Op) -> int:
        """The place in its region from which on stores are undone when the adjoint of an operation runs: one with
        regions is undone by its mirror, anything else before."""
        return self.position[op] + (1 if op.regions else 0)

    def place_in(self, home: ir.Region, region: ir.Region, place: int) -> int | None:
        """The place behind what holds a place of a region inside `home`; None if that is not around it."""
        while region is not home and region is not self.top:
            owner = self.owner[region]
            place, region = self.position[owner] + 1, self.region_of[owner]
        return place if region is home else None

    def is_in_loop(self, region: ir.Region) -> bool:
        return any(isinstance(op, ir.For | ir.While) for op in self.chain(region))

    def nest(self, region: ir.Region) -> list[ir.For] | None:
        """The loops around a region if all their trip counts are known before the outermost, else None."""
        chain = self.chain(region)
        loops: list[ir.For] = []
        for op in chain:
            if isinstance(op, ir.For) and self.are_known(op.operands[:3], chain[0]):
                loops.append(op)
            elif not isinstance(op, ir.If):
                return None
        return loops

    def are_known(self, operands: Iterable[ir.Operand], top: ir.Op) -> bool:
        """Whether operands are there before the operation `top` of the function's own region."""
        places = [self.made[operand] for operand in operands if isinstance(operand, ir.Var)]
        return all(region is self.top and k < self.position[top] for region, k in places)

    # ------------------------------------------------------------------------------------------------ scratch arrays

    @functools.cached_property
    def scratch(self) -> dict[ir.Operand, Sequence[ir.For]]:
        """Every array that can have an axis more for each loop around its use, and the loops, outermost first."""
        find = self.aliases.find
        allocs: defaultdict[ir.Operand, list[ir.Alloc]] = defaultdict(list)
        held = list(self._uses.held)
        for op in ir.walk(self.top):
            if isinstance(op, ir.Alloc):
                allocs[find(op.out)].append(op)
            elif isinstance(op, ir.For | ir.While | ir.Push):
                held += op.operands
        # memory that goes by several names, or that something else keeps
        shared = {find(o) for o in held if ir.is_array(o)}
        own = [alloc for memory, (alloc, *others) in allocs.items() if not others and memory not in shared]
        accesses = (list(self.aliases.touching(self.top.ops, find(alloc.out))) for alloc in own)
        found = {alloc.out: self._loops_around(alloc, ops) for alloc, ops in zip(own, accesses, strict=True)}
        return {array: loops for array, loops in found.items() if loops}

    def _loops_around(self, alloc: ir.Alloc, accesses: Sequence[ir.Op]) -> tuple[ir.For, ...]:
        """The loops that an array with these accesses can be given axes for; none if there are no such loops."""
        memory, around = self.aliases.find(alloc.out), self._uses.around[alloc]
        model = self.function.analysis(IndexModel)
        chains = [self._uses.around[op] for op in accesses]
        common = [first for first, *others in zip(*chains, strict=False) if all(other is first for other in others)]
        if not common or not self.are_known(alloc.operands, common[0]):
            return ()
        # a row of an array with more axes is of the same type
        has_rows_like_it = array_type_of(alloc.out).layout == "C" and array_type_of(alloc.out).ndim > 0
        if not has_rows_like_it and not all(isinstance(op, ir.Load | ir.Store) for op in accesses):
            return ()
        loops: list[ir.For] = []
        for op in common:
            if isinstance(op, ir.If) and op not in around:
                continue
            if not isinstance(op, ir.For) or op.stops or not model.is_private(memory, op):
                break
            if model.is_own(memory, op) and op not in around:
                # each trip has its own part of the array already
                continue
            if not self.are_known(op.operands[:3], common[0]):
                break
            loops.append(op)
        return tuple(loops) if set(around) <= set(loops) else ()

    def expand(self, arrays: Iterable[ir.Operand]) -> bool:
        """Gives those of these arrays their axes that can have them; whether there was a new one among them."""
        new = (array for array in arrays if array in self.scratch and array not in self.expanded)
        more = {array: self.scratch[array] for array in new}
        self.expand_to({**self.expanded, **more})
        return bool(more)

    def expand_to(self, expanded: dict[ir.Operand, Sequence[ir.For]]) -> None:
        if expanded != self.expanded:
            self.expanded = expanded
            self._index_model = IndexModel(self.function, expanded) if expanded else self.function.analysis(IndexModel)

    def puts_back_in_order(self, loop: ir.For, saved: Collection[ir.Store]) -> bool:
        """Whether the order of trips of which it does not matter does matter for what their stores overwrite.

        Sums may be added up in any order; but what one of them finds is what those before it have left, and to put
        that back is to go from the last to the first.

            for i in range(n): u_bar[idx[i]] += s_bar       idx may have a number twice
        """
        if not loop.order_free:
            return False
        stores = [op for op in loop.body.inside if isinstance(op, ir.Store)]
        return any(
            self.aliases.find(store.array) == self.aliases.find(other.array)
            and self._index_model.may_meet_in_other_trip(loop, other, store)
            for store in stores
            if store in saved
            for other in stores
        )

    def extent(self, array: ir.Operand, axis: int) -> Affine | None:
        return self._index_model.iterations.extent(array, axis)

    def is_scratch(self, array: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip of the loop has the array's memory to itself, and nothing outside reads what it leaves."""
        memory, inside = self.aliases.find(array), set(ir.walk(loop.body))
        if any(ir.is_array(y) and self.aliases.find(y) == memory for y in self.top.yields):
            return False
        for op in self.aliases.touching(self.top.ops, memory):
            reads = [op.array] if isinstance(op, ir.Store) and op.add else op.memory_read
            if op not in inside and any(self.aliases.find(a) == memory for a in reads):
                return False
        return self._index_model.is_private(memory, loop)

    # ---------------------------------------------------------------------------------------------------- overwriting

    def overwriters(self, reader: ir.Op) -> list[ir.Store]:
        """The stores that may overwrite what an operation reads, after it."""
        memory = dict.fromkeys(self.aliases.find(array) for array in reader.memory_read)
        stores = [store for array in memory for store in self.stores_after(reader, array)]
        stores = [store for store in stores if not self._is_of_others(store, reader)]
        if isinstance(reader, ir.Load):
            return [store for store in stores if self._index_model.may_overwrite(reader, store)]
        return stores

    def overwriters_of(self, place: ir.Op | None, array: ir.Operand) -> list[ir.Store]:
        """The stores that may overwrite an element of an array, or of a view, after an operation that sees it."""
        stores = self.stores_after(place, self.aliases.find(array))
        if place is None or array not in self.made:
            return stores
        return [store for store in stores if self._index_model.may_overwrite_in(place, array, store)]

    def stores_after(self, reader: ir.Op | None, memory: ir.Operand) -> list[ir.Store]:
        """The stores into an alias class that may come after an operation that reads it."""
        return [store for store in self.stores.get(memory, ()) if self.may_follow(reader, store)]

    def _is_of_others(self, store: ir.Store, reader: ir.Op) -> bool:
        """Whether a store that may follow is into an array that is made anew in each trip, and the reader reads others.

        Only what follows in that trip sees the array, and there names tell: it is none that the trip was handed.
        """
        home = self.made_by(store.array)
        if home is None:
            return False
        own = ir.base_of(store.array, self.top.made)
        return all(self.aliases.are_distinct(array, own) for array in reader.memory_read)

    def is_shared_addition(self, store: ir.Store) -> bool:
        """Whether several threads of a block may add to the element: what one of them finds there is no old value."""
        around = self.chain(self.region_of[store])
        is_shared = store.add and not store.promised
        return is_shared and any(isinstance(op, ir.For) and op.level == "threads" for op in around)

    def stored_values(self) -> dict[ir.Var, ir.Store]:
        """Numbers that are stored, in the region that makes them, in memory that nothing overwrites afterwards.

        What is stored in an argument is not looked for there: where that is the caller's, nothing is stored after all.
        """
        found: dict[ir.Var, ir.Store] = {}
        callers = {self.aliases.find(p) for p in self.top.args if ir.is_reference(p)}
        for op in ir.walk(self.top):
            if not isinstance(op, ir.Store) or op.add or not isinstance(op.value, ir.Var) or op.value in found:
                continue
            if self.aliases.find(op.array) in callers:
                continue
            region, _ = self.made[op.value]
            if region is self.region_of[op] and region is not self.top and not self._is_overwritten(op):
                found[op.value] = op
        return found

    def _is_overwritten(self, store: ir.Store) -> bool:
        """Whether what is stored may be gone before the mirror of the store."""
        # asked of isl as if the element were read where it is stored
        others = self.stores[self.aliases.find(store.array)]
        return any(self._index_model.may_reach(store, other) for other in others)

    def may_follow(self, first: ir.Op | None, second: ir.Store) -> bool:
        """Whether a store may run in the forward sweep after `first`, and in memory that was there by then."""
        if first is None:
            return False
        a, b = self._path(first), self._path(second)
        home = self.made_by(second.array)
        if home is not None:
            # each run of its region makes the array anew: only what follows in that run sees it
            region, made = self.region_of[home], self.position[home]
            if isinstance(home, ir.Alloc) and home.out in self.expanded:
                region, made = self.expanded[home.out][-1].body, -1
            depth = next((k for k, op in enumerate(a) if self.region_of[op] is region), None)
            if depth is None or self.position[a[depth]] < made:
                return False
            a, b = a[depth:], b[depth:]
        for op, other in zip(a, b, strict=False):
            if op is other:
                if isinstance(op, ir.For | ir.While):
                    return True
                continue
            return self.region_of[other] is self.region_of[op] and self.position[other] > self.position[op]
        return False

    def made_by(self, array: ir.Operand) -> ir.Op | None:
        """The operation that makes the array, where views lead to a single one."""
        op = self.top.made.get(ir.base_of(array, self.top.made))
        return op if isinstance(op, FRESH) else None

    def is_stored_between(
        self,
        access: ir.Load | ir.Store,
        region: ir.Region,
        place: int,
        end: int,
        among: Container[ir.Op] | None = None,
    ) -> bool:
        """Whether an operation of the region after `place` and before `end` may store to the memory of an access."""
        memory = self.aliases.find(access.array)
        return any(
            isinstance(inner, ir.Store)
            and self.aliases.find(inner.array) == memory
            and (among is None or inner in among)
            for op in region.ops[place + 1 : end]
            for inner in ir.with_inner(op)
        )


def roots(function: ir.Function, aliases: Aliases) -> dict[ir.Operand, list[ir.Var]]:
    """The arrays that are made, or come in, by alias class."""
    made = (out for op in ir.walk(function.body) if isinstance(op, FRESH) for out in op.results)
    found: dict[ir.Operand, list[ir.Var]] = {}
    for array in filter(ir.is_array, (*made, *function.body.args)):
        found.setdefault(aliases.find(array), []).append(array)
    return found


def with_parameters(
    function: ir.Function, params: tuple[ir.Var, ...], ops: Sequence[ir.Op], yields: Sequence[ir.Operand]
) -> ir.Function:
    """A function of these parameters that does these operations, and returns a tuple."""
    body, names = ir.Region(params, tuple(ops), tuple(yields)), tuple(p.name for p in params)
    return dataclasses.replace(function, names=names, params=params, body=body, result=tuple(range(len(yields))))


@dataclass(frozen=True)
class Joint:
    """Both sweeps in one function: the value's leaves if asked for, then the adjoints.

    `shadows` has the shadow of each array that has one, `scratch` the arrays of which a trip of these loops has a part
    to itself, `tapes` how many axes each tape of the loops of the outermost level has.
    """

    function: ir.Function
    shadows: dict[ir.Operand, ir.Var]
    scratch: dict[ir.Operand, Sequence[ir.For]]
    primal: Primal
    tapes: dict[ir.Op, list[int]]
