"""A store, or addition, to elements that a nest further on adds to goes there: one pass over the array, not two.

    for i in range(n):                         for i in range(n):
        u_bar[i] = 0.5 * b_bar[i]                  u_bar[i] = 0.5 * b_bar[i] + a_bar[i]
    for i in range(n):
        u_bar[i] += a_bar[i]

In: a function. Out: the same with such stores moved. What is stored or added is computed once more, from elements that
are still what they were.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import is_cheap

MOST_OPERATIONS = 8  # that compute the value once more
MOST_ARRAYS = 1  # that the second nest reads for that, element by element, and has not read so far


def move_stores(function: ir.Function) -> ir.Function:
    """The function with its stores in the nests that add to the same elements."""
    return ir.with_body(function, _Search(function).region(function.body))


class _Nest(NamedTuple):
    """Loops that go up by ones, a store in the innermost one to an element a trip, and the loop of each of its axes."""

    spine: Sequence[ir.For]
    store: ir.Store
    loops: Sequence[ir.For]


def _nests(op: ir.Op) -> Iterator[_Nest]:
    """A nest for each store that it ends in."""
    spine: list[ir.For] = []
    inner = [op]
    while len(inner) == 1:
        (loop,) = inner
        if not isinstance(loop, ir.For) or loop.stops or loop.step != ir.integer(1):
            return
        if not isinstance(loop.start, ir.Const) or loop.start.value < 0:
            return
        spine.append(loop)
        inner = [op for op in loop.body.ops if op.regions]
    counters = {loop.body.args[0]: loop for loop in spine}
    for store in spine[-1].body.ops if not inner else ():
        if isinstance(store, ir.Store) and len(store.index) == len(counters) and set(store.index) == set(counters):
            yield _Nest(spine, store, [counters[i] for i in store.index if isinstance(i, ir.Var)])


def _target(op: ir.Op) -> _Nest | None:
    """A nest that is nothing but loads and calls, and an addition at its end."""
    for nest in _nests(op):
        *before, last = [op for op in ir.with_inner(op) if op not in nest.spine]
        is_pure = all(isinstance(op, ir.Load | ir.Call) for op in before) and not any(op.outs for op in nest.spine)
        if last is nest.store and nest.store.add and is_pure:
            return nest
    return None


class _Search:
    def __init__(self, function: ir.Function):
        self.iterations = function.analysis(Iterations)
        self.aliases = function.analysis(Aliases)

    def region(self, region: ir.Region) -> ir.Region:
        ops = [ir.with_regions(op, [self.region(r) for r in op.regions]) for op in region.ops]
        for b, op in enumerate(ops):
            target = _target(op) if op is region.ops[b] else None
            if target is None or not self.is_alone(target):
                continue
            for a in range(b - 1, -1, -1):
                instead = self.edit(ops[a : b + 1], target) if ops[a] is region.ops[a] else None
                if instead is not None:
                    return ir.replaced(ir.with_ops(region, ops), instead)
                if any(self.aliases.may_access(inner, target.store.array) for inner in ir.with_inner(ops[a])):
                    break
        return ir.with_ops(region, ops)

    def is_alone(self, nest: _Nest) -> bool:
        """Whether nothing else in the nest touches the array, and so what would not be there yet, or no more."""
        others = (op for op in ir.with_inner(nest.spine[0]) if op is not nest.store)
        return not any(self.aliases.may_access(op, nest.store.array) for op in others)

    def edit(self, ops: Sequence[ir.Op], target: _Nest) -> dict[ir.Op, Sequence[ir.Op]] | None:
        """How the store of the nest `ops[0]` moves to that of the target, the last, if it may and that helps."""
        first = next((nest for nest in _nests(ops[0]) if nest.store.array is target.store.array), None)
        if first is None or not self.is_alone(first):
            return None
        trips, others = ([(o.start, self.iterations.value(o.stop)) for o in nest.loops] for nest in (first, target))
        if trips != others or any(stop is None for _, stop in trips):
            return None
        inside = [inner for op in ops for inner in ir.with_inner(op)]
        writes = [op for op in inside if isinstance(op, ir.Store) and op not in (first.store, target.store)]
        known = {op.array for op in ir.walk(target.spine[0].body) if isinstance(op, ir.Load)}
        value = made_again(first.store, first.spine, writes, known, (), self.aliases)
        if value is None:
            return None
        pairs = zip(first.loops, target.loops, strict=True)
        cloner = ir.Cloner({one.body.args[0]: other.body.args[0] for one, other in pairs})
        builder = ir.Builder()
        builder.ops.extend(cloner.op(op) for op in value)
        builder.origin = target.store.origin
        stored = cloner.operand(first.store.value)
        total = builder.call(operator.add, stored, target.store.value, type=stored.type, name="total")
        builder.store(target.store.array, target.store.index, total, add=first.store.add)
        return {first.store: (), target.store: builder.ops}


def made_again(
    store: ir.Store,
    spine: Sequence[ir.For],
    writes: Sequence[ir.Store],
    known: Collection[ir.Operand],
    kept: Collection[ir.Operand],
    aliases: Aliases,
) -> list[ir.Op] | None:
    """The operations that make the value of `store` in the nest `spine`, to be made again in another nest further on.

    None if they are not to be had there: `writes` are the stores to either nest and in between. That nest reads the
    arrays `known` anyway, and has the values `kept`.
    """
    own, counters = spine[0].body.made, {loop.body.args[0] for loop in spine}
    carried = {arg for loop in spine for arg in loop.body.args[1:]}
    found: dict[ir.Var, ir.Op] = {}

    def needs(operand: ir.Operand) -> bool:
        if operand in carried:
            return False
        if not isinstance(operand, ir.Var) or operand in found or operand in kept or operand not in own:
            return True
        op = own[operand]
        is_there = is_cheap(op) and all(needs(o) for o in op.operands if not ir.is_array(o))
        if isinstance(op, ir.Load):
            is_there = is_there and all(aliases.are_distinct(w.array, op.array) for w in writes)
        found[operand] = op
        return is_there and isinstance(op, ir.Load | ir.Call)

    if not needs(store.value) or len(found) > MOST_OPERATIONS:
        return None
    loads = [op for op in found.values() if isinstance(op, ir.Load) and op.array not in known]
    # rows and columns, as of an outer product, are in the cache
    has_whole = any(counters <= set(op.index) for op in loads)
    return list(found.values()) if not has_whole or len({op.array for op in loads}) <= MOST_ARRAYS else None
