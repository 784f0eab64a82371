"""Whether the trips of a loop know nothing of each other but the sums that they add to, and what each has for itself.

In: a function and one of its loops. Out: `Trips`, None where a trip may see what another one did.

    for i in range(n):
        for j in range(d): v[j] = x[i, j] ** 2       v is private: each trip stores all that it reads of it
        for j in range(d): s += v[j]; w[j] += v[j]   s and w are sums
        y[i] = s                                     y is own: trip i touches y[i] alone
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass

from numba import types

from adjit.runtime.library import some_elements
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.exact import Reach
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.ir.types import array_type_of


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

    private: frozenset[ir.Operand]
    own: frozenset[ir.Operand]
    summed: frozenset[ir.Operand]
    sums: tuple[Sum, ...]


class LaneSharing:
    """Answers for the loops of one function, of which the results at `values` have to keep every bit."""

    def __init__(self, function: ir.Function, values: Collection[int]):
        self.aliases = function.analysis(Aliases)
        self.naturals = function.analysis(Naturals)
        self._function = function
        self._values = values
        self.allocs: dict[ir.Operand, list[ir.Alloc]] = {}
        self._accesses: dict[ir.Operand, list[ir.Op]] = {}
        self._shared = {self.aliases.find(y) for y in function.body.yields if ir.is_reference(y)}
        self._shared |= {self.aliases.find(a) for a in function.body.args if ir.is_reference(a)}
        for op in ir.walk(function.body):
            if isinstance(op, ir.Alloc):
                self.allocs.setdefault(self.aliases.find(op.out), []).append(op)
            elif not isinstance(op, ir.Extent):
                self._note(op)

    def _note(self, op: ir.Op) -> None:
        for operand in op.operands:
            if ir.is_reference(operand):
                self._accesses.setdefault(self.aliases.find(operand), []).append(op)
                if not isinstance(op, ir.Load | ir.Store):
                    self._shared.add(self.aliases.find(operand))
        self._shared.update(self.aliases.find(r) for r in op.results if ir.is_reference(r))

    @functools.cached_property
    def _reach(self) -> Reach:
        return Reach(self._function, self.aliases, self._values)

    @functools.cached_property
    def _index_model(self) -> IndexModel:
        return self._function.analysis(IndexModel)

    def trips(self, loop: ir.For) -> Trips | None:
        """What the trips of the loop share; None if they are not known to be independent."""
        if loop.stops or not all(self._is_simple(op) for op in ir.walk(loop.body)):
            return None
        sums = [self._sum(arg, y, loop) for arg, y in zip(loop.body.args[1:], loop.body.yields, strict=True)]
        kinds: dict[str, set[ir.Operand]] = {"private": set(), "own": set(), "summed": set()}
        for memory in {self.aliases.find(op.array): None for op in ir.walk(loop.body) if isinstance(op, ir.Store)}:
            kind = self._kind(memory, loop)
            if kind is None:
                return None
            kinds[kind].add(memory)
        found = tuple(s for s in sums if s is not None)
        return Trips(**{k: frozenset(v) for k, v in kinds.items()}, sums=found) if len(found) == len(sums) else None

    def _is_simple(self, op: ir.Op) -> bool:
        """Whether it may run in another order than the operations of other trips, as far as memory does not tell."""
        if isinstance(op, ir.Call):
            is_pure = not op.effect or op.callee is some_elements
            return is_pure and not any(ir.is_reference(o) for o in (*op.args, *op.outs))
        if isinstance(op, ir.For | ir.If):
            is_plain = isinstance(op, ir.If) or not (op.stops or op.parallel)
            return is_plain and not any(ir.is_reference(o) for o in (*op.operands, *op.results))
        return isinstance(op, ir.Load | ir.Store | ir.Extent | ir.Comment | ir.Alloc)

    # --------------------------------------------------------------------------------------------------- memory

    def _kind(self, memory: ir.Operand, loop: ir.For) -> str | None:
        inside = [op for op in ir.walk(loop.body) if isinstance(op, ir.Load | ir.Store) and self._is_in(op, memory)]
        if self._is_own(inside, loop):
            return "own"
        is_made_here = any(op in self.allocs.get(memory, ()) for op in ir.walk(loop.body))
        if not is_made_here and all(isinstance(op, ir.Store) and op.add for op in inside):
            exact = not isinstance(array_type_of(inside[0].array).dtype, types.Float)
            return "summed" if exact or not self._reach.has_memory(memory) else None
        return "private" if self._is_private(memory, inside, loop) else None

    def _is_in(self, op: ir.Load | ir.Store, memory: ir.Operand) -> bool:
        return self.aliases.find(op.array) == memory

    def _is_own(self, inside: list[ir.Load | ir.Store], loop: ir.For) -> bool:
        """Whether the counter is an index on the same axis of one array everywhere."""
        if not self.naturals.counts(loop):
            return False
        counter = loop.body.args[0]
        axes = [{axis for axis, i in enumerate(op.index) if i is counter} for op in inside]
        return len({op.array for op in inside}) == 1 and bool(set.intersection(*axes))

    def _is_private(self, memory: ir.Operand, inside: list[ir.Load | ir.Store], loop: ir.For) -> bool:
        allocs = self.allocs.get(memory, [])
        if len(allocs) != 1 or memory in self._shared or len(inside) != len(self._accesses[memory]):
            return False
        if any(op is allocs[0] for op in ir.walk(loop.body)):
            return True
        if self._index_model.is_private(memory, loop, lambda op: False):
            return True
        fill = allocs[0].fill
        return fill is not None and fill.value == 0 and self._index_model.is_cleared(memory, loop)

    # --------------------------------------------------------------------------------------------------- sums

    def _sum(self, arg: ir.Var, yielded: ir.Operand, loop: ir.For) -> Sum | None:
        chain = partial_sums(arg, yielded, loop.body)
        if chain is None:
            return None
        is_ordered = isinstance(arg.type, types.Float) and any(
            isinstance(v, ir.Var) and self._reach.has_var(v) for v in chain
        )
        is_inner = any(isinstance(op, ir.For) and any(out in chain for out in op.outs) for op in loop.body.ops)
        return Sum(frozenset(v for v in chain if isinstance(v, ir.Var)), is_ordered, is_inner and not is_ordered)
