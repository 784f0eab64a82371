"""Where operations stand in the primal, and which stores may change what was read before them.

In: a function. Out: `Primal`: the region and position of each operation and value, and the stores that have to be
undone if a load is to be made again in the reverse sweep.

    here = v[i]              v[i] = ... in the same trip may overwrite what is loaded
    v[i] = here * c
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.storage.expansion import Scratch


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
        self.stores: dict[ir.Operand, list[ir.Store]] = {}
        for op in ir.walk(self.top):
            if isinstance(op, ir.Store):
                self.stores.setdefault(self.aliases.find(op.array), []).append(op)
        self.expanded: dict[ir.Operand, Sequence[ir.For]] = {}
        self._index_model = function.analysis(IndexModel)
        self._scratch = Scratch(function, self.aliases, self._index_model)

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
        chain: list[ir.Op] = []
        while region is not self.top:
            op = self.owner[region]
            chain.append(op)
            region = self.region_of[op]
        return chain[::-1]

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
            if not all(self._is_known(o, chain[0]) for o in (op.start, op.stop, op.step)):
                return None
            loops.append(op)
        return loops

    def _is_known(self, operand: ir.Operand, outermost: ir.Op) -> bool:
        if isinstance(operand, ir.Const):
            return True
        region, k = self.made[operand]
        return region is self.top and k < self.position[outermost]

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

    def overwriters(self, load: ir.Op) -> list[ir.Store]:
        """The stores that may overwrite what a load reads, after it."""
        (array,) = load.memory_read
        return [
            store
            for store in self.stores.get(self.aliases.find(array), ())
            if self.may_follow(load, store) and self._index_model.may_overwrite(load, store)
        ]

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
        return any(
            self._index_model.stored_may_be_overwritten(store, other)
            for other in self.stores[self.aliases.find(store.array)]
        )

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
            depth = next((k for k, (inside, _, _) in enumerate(a) if inside is region), None)
            if depth is None or a[depth][1] < made:
                return False
            a, b = a[depth:], b[depth:]
        for (region, p, op), (_, q, other) in zip(a, b, strict=False):
            if op is other:
                if isinstance(op, ir.For | ir.While):
                    return True
                continue
            return self.region_of[other] is region and q > p
        return False

    def made_by(self, array: ir.Operand) -> ir.Op | None:
        """The operation that makes the array, where views lead to a single one."""
        while isinstance(array, ir.Var):
            region, k = self.made[array]
            op = region.ops[k] if k >= 0 else None
            if isinstance(op, ir.VIEWS):
                array = op.base
                continue
            return op if isinstance(op, ir.Alloc | ir.Copy | ir.Call) else None
        return None

    def _path(self, op: ir.Op) -> list[tuple[ir.Region, int, ir.Op]]:
        path: list[tuple[ir.Region, int, ir.Op]] = []
        while True:
            region = self.region_of[op]
            path.append((region, self.position[op], op))
            if region is self.top:
                return path[::-1]
            op = self.owner[region]

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
