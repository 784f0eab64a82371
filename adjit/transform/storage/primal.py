"""Where operations stand in the primal, and which stores may change what was read before them.

In: a function. Out: `Primal`: the region and position of each operation and value, the stores that have to be
undone if a load is to be made again in the reverse sweep, and the arrays that can have an axis more for loops around
their use. `storage.py` makes a `Joint` of it, with both sweeps.

    here = v[i]              v[i] = ... in the same trip may overwrite what is loaded
    v[i] = here * c
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.ir.types import array_type_of


class Primal:
    """`expanded`: the scratch arrays that are taken to have an axis more for each of these loops."""

    def __init__(self, function: ir.Function):
        self.function = function
        self.top = function.body
        self.aliases = Aliases(function)  # takes in what storage adds
        self.region_of: dict[ir.Op, ir.Region] = {}
        self.position: dict[ir.Op, int] = {}
        self.owner: dict[ir.Region, ir.Op] = {}
        self.made: dict[ir.Var, tuple[ir.Region, int]] = {}
        self._note(self.top)
        self.stores = self.aliases.stores()
        self.expanded: dict[ir.Operand, Sequence[ir.For]] = {}
        self._index_model = function.analysis(IndexModel)
        self._scratch = _Scratch(self, self._index_model)

    def _note(self, region: ir.Region) -> None:
        for arg in region.args:
            self.made[arg] = (region, -1)
        for k, op in enumerate(region.ops):
            self.region_of[op] = region
            self.position[op] = k
            for out in op.results:
                self.made[out] = (region, k)
            for inner in op.regions:
                self.owner[inner] = op
                self._note(inner)

    # ------------------------------------------------------------------------------------------------------- regions

    def chain(self, region: ir.Region) -> list[ir.Op]:
        """The operations around a region, outermost first."""
        return [] if region is self.top else self._path(self.owner[region])

    def _path(self, op: ir.Op) -> list[ir.Op]:
        """The operations around an operation, outermost first, and itself."""
        return [*self.chain(self.region_of[op]), op]

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
            if isinstance(op, ir.If):
                continue
            if not isinstance(op, ir.For):
                return None
            if not self.are_known(op.operands[:3], chain[0]):
                return None
            loops.append(op)
        return loops

    def are_known(self, operands: Iterable[ir.Operand], top: ir.Op) -> bool:
        """Whether operands are there before the operation `top` of the function's own region."""
        places = [self.made[operand] for operand in operands if isinstance(operand, ir.Var)]
        return all(region is self.top and k < self.position[top] for region, k in places)

    # ------------------------------------------------------------------------------------------------ scratch arrays

    def scratch(self) -> dict[ir.Operand, Sequence[ir.For]]:
        """Every array that could have an axis more for some loops."""
        allocs = [op for op in ir.walk(self.top) if isinstance(op, ir.Alloc)]
        found = {op.out: self._scratch.loops(self.aliases.find(op.out)) for op in allocs}
        return {array: loops for array, loops in found.items() if loops}

    def expand(self, arrays: Iterable[ir.Operand]) -> bool:
        """Gives those of these arrays their axes that can have them; whether there was a new one among them."""
        more = {
            array: loops
            for array in arrays
            if array not in self.expanded and (loops := self._scratch.loops(self.aliases.find(array)))
        }
        self.expand_to({**self.expanded, **more})
        return bool(more)

    def expand_to(self, expanded: dict[ir.Operand, Sequence[ir.For]]) -> None:
        if expanded != self.expanded:
            self.expanded = expanded
            self._index_model = IndexModel(self.function, expanded)

    def extent(self, array: ir.Operand, axis: int) -> Affine | None:
        return self._index_model.iterations.extent(array, axis)

    def is_private(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip of the loop writes all that it reads of an alias class first."""
        return self._index_model.is_private(memory, loop, lambda op: False)

    def is_scratch(self, array: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip of the loop has the array's memory to itself, and nothing outside reads what it leaves."""
        memory, inside = self.aliases.find(array), set(ir.walk(loop.body))
        if any(ir.is_array(y) and self.aliases.find(y) == memory for y in self.top.yields):
            return False
        for op in ir.walk(self.top):
            reads = [op.array] if isinstance(op, ir.Store) and op.add else op.memory_read
            if op not in inside and any(self.aliases.find(a) == memory for a in reads):
                return False
        return self.is_private(memory, loop)

    # ---------------------------------------------------------------------------------------------------- overwriting

    def overwriters(self, reader: ir.Op) -> list[ir.Store]:
        """The stores that may overwrite what an operation reads, after it."""
        memory = dict.fromkeys(self.aliases.find(array) for array in reader.memory_read)
        stores = [store for array in memory for store in self.stores_after(reader, array)]
        if isinstance(reader, ir.Load):
            return [store for store in stores if self._index_model.may_overwrite(reader, store)]
        return stores

    def stores_after(self, reader: ir.Op | None, memory: ir.Operand) -> list[ir.Store]:
        """The stores into an alias class that may come after an operation that reads it."""
        return [store for store in self.stores.get(memory, ()) if self.may_follow(reader, store)]

    def stored_values(self) -> dict[ir.Var, ir.Store]:
        """Numbers that are stored, in the region that makes them, in memory that nothing overwrites afterwards."""
        found: dict[ir.Var, ir.Store] = {}
        for op in ir.walk(self.top):
            if not isinstance(op, ir.Store) or op.add or not isinstance(op.value, ir.Var) or op.value in found:
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
        return op if isinstance(op, ir.Alloc | ir.Copy | ir.Call) else None

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


class _Scratch:
    """The arrays of a function that can have an axis more for each loop around their use, and the loops."""

    def __init__(self, primal: Primal, index_model: IndexModel):
        self._primal = primal
        self._find = primal.aliases.find
        self._index_model = index_model
        self._allocs: dict[ir.Operand, list[ir.Alloc]] = {}
        self._users: dict[ir.Operand, list[ir.Op]] = {}
        # memory that goes by several names, or that something else keeps
        self._shared = {self._find(y) for y in primal.top.yields if ir.is_array(y)}
        for op in ir.walk(primal.top):
            if isinstance(op, ir.Alloc):
                self._allocs.setdefault(self._find(op.out), []).append(op)
            else:
                self._note(op)

    def _note(self, op: ir.Op) -> None:
        for operand in op.operands:
            if ir.is_array(operand):
                self._users.setdefault(self._find(operand), []).append(op)
        handed_on: list[ir.Operand] = [y for r in op.regions for y in r.yields]
        if isinstance(op, ir.For | ir.While | ir.Push):
            handed_on += op.operands
        self._shared.update(self._find(o) for o in handed_on if ir.is_array(o))

    def loops(self, memory: ir.Operand) -> tuple[ir.For, ...]:
        """The loops, outermost first, that an array can be given axes for; none if there are no such loops."""
        primal, allocs = self._primal, self._allocs.get(memory, [])
        accesses = [op for op in self._users.get(memory, ()) if not isinstance(op, ir.Extent | ir.Alloc)]
        if len(allocs) != 1 or memory in self._shared or not accesses:
            return ()
        (alloc,) = allocs
        around = primal.chain(primal.region_of[alloc])
        common = _common([primal.chain(primal.region_of[op]) for op in accesses])
        loops: list[ir.For] = []
        if not common or not primal.are_known(alloc.operands, common[0]):
            return ()
        if not (_has_rows_like_it(alloc.out) or all(isinstance(op, ir.Load | ir.Store) for op in accesses)):
            return ()
        for op in common:
            if isinstance(op, ir.If) and op not in around:
                continue
            if not isinstance(op, ir.For) or op.stops or not self._index_model.is_private(memory, op, _counts):
                break
            if self._index_model.is_own(memory, op) and op not in around:
                # each trip has its own part of the array already
                continue
            if not primal.are_known(op.operands[:3], common[0]):
                break
            loops.append(op)
        return tuple(loops) if set(around) <= set(loops) else ()


def _has_rows_like_it(array: ir.Var) -> bool:
    """Whether a row of an array with more axes is of the same type."""
    type_ = array_type_of(array)
    return type_.layout == "C" and type_.ndim > 0


def _counts(op: ir.Op) -> bool:
    return False


def _common(chains: Sequence[Sequence[ir.Op]]) -> list[ir.Op]:
    """What is around all of them."""
    return [first for first, *others in zip(*chains, strict=False) if all(other is first for other in others)]


def roots(function: ir.Function, aliases: Aliases) -> dict[ir.Operand, list[ir.Var]]:
    """The arrays that are made, or come in, by alias class."""
    makers = (op for op in ir.walk(function.body) if isinstance(op, ir.Alloc | ir.Copy | ir.Call))
    found: dict[ir.Operand, list[ir.Var]] = {}
    for array in (*(out for op in makers for out in op.results), *function.body.args):
        if ir.is_array(array):
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
    to itself, `tapes` how many axes the tapes of the loops of the outermost level have.
    """

    function: ir.Function
    shadows: dict[ir.Operand, ir.Var]
    scratch: dict[ir.Operand, Sequence[ir.For]]
    primal: Primal
    tapes: dict[ir.Op, int]
