"""An array takes the memory of another one that is read for the last time where it is filled.

    p = np.dot(a, b)                   h = np.dot(a, b)
    h = np.empty((n, m))               for i in range(n):
    for i in range(n):                     for j in range(m):
        for j in range(m):                     h[i, j] = f(h[i, j])
            h[i, j] = f(p[i, j])

In: a function as it is about to be emitted. Out: the same with fewer arrays, of which more stay in the caches. Both are
made in one region and of one shape, and isl finds no element that is touched in the first after it was stored to in the
second. The first is not the user's: a name of theirs stands for what they call so, and with `_bar` for its adjoint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Equalities
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.extents import is_product, ndim
from adjit.transform.rewrite.dead import eliminate_dead
from adjit.transform.rewrite.simplify import Renamer


def reuse_memory(function: ir.Function) -> ir.Function:
    """The function with its arrays in the memory of others where they can be."""
    refused: set[ir.Op] = set()
    while any(isinstance(op, ir.Alloc) and op.fill is None and op not in refused for op in ir.walk(function.body)):
        found = _Search(function).pair(refused)
        if found is None:
            break
        alloc, old = found
        kept, gone = (alloc.out, old) if _is_the_users(alloc) else (old, alloc.out)
        body = Renamer({gone: kept}).whole(_without(function.body, alloc, kept))
        function = eliminate_dead(_without_idle_stores(dataclasses.replace(function, body=body), kept))
    return function


def _without(region: ir.Region, alloc: ir.Alloc, kept: ir.Var) -> ir.Region:
    """The region without the allocation; a comment says where an adjoint is that has no array of its own any more."""

    def made(op: ir.Op) -> ir.Op | tuple[ir.Op, ...]:
        if op is not alloc:
            return op
        if kept is alloc.out or alloc.role is None or alloc.role.kind != "shadow":
            return ()
        text = f"{alloc.out.name} is in the memory of {{}}, which is not needed any more"
        return ir.Comment(text=text, about=(kept,), origin=alloc.origin)

    return ir.rewritten(region, made)


def _without_idle_stores(function: ir.Function, array: ir.Var) -> ir.Function:
    """Without stores to an array of what was loaded from the same element, nothing having been stored there since."""
    aliases = function.analysis(Aliases)

    def rewritten(region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        there: dict[tuple[ir.Operand, ...], ir.Operand] = {}
        for op in region.ops:
            if isinstance(op, ir.Store) and aliases.may_share(op.array, array):
                if op.array is array and not op.add and there.get(op.index) is op.value:
                    continue
                there.clear()
            elif isinstance(op, ir.Load) and op.array is array:
                there[op.index] = op.out
            elif op.regions:
                there.clear()
                op = ir.with_regions(op, [rewritten(r) for r in op.regions])
            ops.append(op)
        return ir.Region(region.args, tuple(ops), region.yields)

    return dataclasses.replace(function, body=rewritten(function.body))


def _is_the_users(alloc: ir.Alloc) -> bool:
    """Whether the array is one of the user's, or the adjoint of one."""
    role = alloc.role
    is_shadow = role is not None and role.kind == "shadow" and isinstance(role.of, ir.Var) and role.of.user
    return alloc.out.user or is_shadow


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases = function.analysis(Aliases)
        self.model = function.analysis(IndexModel)
        self.iterations = self.model.iterations
        self.names: dict[ir.Operand, set[ir.Operand]] = {}  # of each class of memory, but for views
        self.touching: dict[ir.Operand, list[ir.Op]] = {}
        for arg in function.body.args:
            self._name(arg)
        for op in ir.walk(function.body):
            for name in (*op.results, *(a for region in op.regions for a in region.args)):
                if not isinstance(op, ir.VIEWS):
                    self._name(name)
            arrays = (*op.memory_read, op.array) if isinstance(op, ir.Store) else op.memory_read
            for memory in {self.aliases.find(a) for a in arrays}:
                self.touching.setdefault(memory, []).append(op)
        self.shown = {self.aliases.find(y) for y in function.body.yields if ir.is_reference(y)}

    def _name(self, name: ir.Operand) -> None:
        if ir.is_reference(name):
            self.names.setdefault(self.aliases.find(name), set()).add(name)

    def pair(self, refused: set[ir.Op]) -> tuple[ir.Alloc, ir.Var] | None:
        """An array, and the one whose memory it takes; `refused` are those that have been looked at in vain."""
        for region in ir.regions(self.function.body):
            for alloc in region.ops:
                if not isinstance(alloc, ir.Alloc) or alloc.fill is not None or alloc in refused:
                    continue
                if self.is_alone(alloc.out) and any(alloc.out in ir.reads(op) for op in region.ops):
                    first = next(k for k, op in enumerate(region.ops) if op is not alloc and alloc.out in ir.reads(op))
                    equal = self.equalities(region, first)
                    older = self.earlier(region.ops[:first], alloc)
                    found = next((x for x in older if self.fits(alloc.out, x, equal)), None)
                    if found is not None:
                        return alloc, found
                refused.add(alloc)
        return None

    def is_alone(self, array: ir.Var) -> bool:
        """Whether the memory has no other name but those of views, and nobody gets to see it."""
        memory = self.aliases.find(array)
        return self.names[memory] == {array} and memory not in self.shown

    def equalities(self, region: ir.Region, first: int) -> Equalities:
        """What the products that were made by then tell: their inner extents are equal, or there was an error."""
        found = Equalities()
        for op in region.ops[:first] if region is self.function.body else ():
            if isinstance(op, ir.Call) and is_product(op):
                left, right = op.args
                one, other = self.iterations.extent(left, ndim(left) - 1), self.iterations.extent(right, 0)
                if one is not None and other is not None:
                    found.equate(one, other)
        return found

    def earlier(self, ops: Sequence[ir.Op], alloc: ir.Alloc) -> Iterator[ir.Var]:
        """Arrays of the same type that are made before anything uses this one, the last one first."""
        for op in reversed(ops):
            if isinstance(op, ir.Alloc | ir.Copy | ir.Call) and op is not alloc and len(op.results) == 1:
                out = op.results[0]
                if out.type == alloc.out.type and not out.user and self.is_alone(out):
                    yield out

    def fits(self, new: ir.Var, old: ir.Var, equal: Equalities) -> bool:
        """Whether both have one shape, and what the old one holds is of no use where something new is stored."""
        for axis in range(ndim(new)):
            one, other = (self.iterations.extent(array, axis) for array in (new, old))
            if one is None or other is None or equal.settled(one) != equal.settled(other):
                return False
        touched, stores = (self.touching.get(self.aliases.find(a), []) for a in (old, new))
        fresh = [op for op in stores if isinstance(op, ir.Store)]
        return bool(fresh) and not any(
            self.model.may_touch_later(s, old, op) or self.depends_on_order(s, op) for s in fresh for op in touched
        )

    def depends_on_order(self, store: ir.Store, op: ir.Op) -> bool:
        """Whether both are in a loop whose trips may run in any order, and may be at one element in different ones."""
        one, other = (self.iterations.places[o].chain for o in (store, op))
        shared = {around for around, _ in one} & {around for around, _ in other}
        if not any(isinstance(around, ir.For) and (around.parallel or around.order_free) for around in shared):
            return False
        return one != other or not isinstance(op, ir.Load | ir.Store) or op.index != store.index
