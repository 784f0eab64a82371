"""A store, or addition, to elements that a nest further on adds to goes there: one pass over the array, not two.

    for i in range(1, n - 1):                  for i in range(1, n - 1):
        e_bars[i + 1] = k[i] * v_bar[i]            e_bars[i + 1] = k[i] * v_bar[i]
        u_bar[i] = v_bar[i]                    for i in range(0, min(1, n)):
    for i in range(n):                             u_bar[i] += e_bars[i] + e_bars[i + 2]
        u_bar[i] += e_bars[i] + e_bars[i + 2]  for i in range(1, n - 1):
                                                   u_bar[i] = v_bar[i] + (e_bars[i] + e_bars[i + 2])
                                               for i in range(max(1, n - 1), n):
                                                   u_bar[i] += e_bars[i] + e_bars[i + 2]

In: a function. Out: the same with such stores moved. The second nest is cut where the first one begins and ends; what
is stored or added is computed once more, from elements that are still what they were.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import is_cheap

MOST_OPERATIONS = 8  # that compute the value once more
MOST_ARRAYS = 1  # that the second nest reads for that, and has not read so far


def move_stores(function: ir.Function) -> ir.Function:
    """The function with its stores in the nests that add to the same elements."""
    search = _Search(function)
    body = search.region(function.body)
    return ir.with_body(function, body)


def _spine(loop: ir.For) -> tuple[ir.For, ...] | None:
    """The loops of a nest that go up by ones, to the innermost; None if there is another kind among them."""
    found: list[ir.For] = []
    inner: ir.Op = loop
    while isinstance(inner, ir.For):
        if inner.stops or inner.step != ir.integer(1) or not isinstance(inner.start, ir.Const) or inner.start.value < 0:
            return None
        found.append(inner)
        loops = [op for op in inner.body.ops if op.regions]
        if not loops:
            return tuple(found)
        if len(loops) > 1:
            return None
        inner = loops[0]
    return None


@dataclass(frozen=True)
class _Target:
    """A nest that ends in its only store, an addition to an element a trip; `axes`: the axis of each loop."""

    spine: tuple[ir.For, ...]
    store: ir.Store
    axes: tuple[int, ...]


def _target(loop: ir.For) -> _Target | None:
    spine = _spine(loop)
    if spine is None or any(op.outs for op in spine):
        return None
    ops = [op for inner in spine for op in inner.body.ops if op not in spine]
    if not ops:
        return None
    *before, last = ops
    if not isinstance(last, ir.Store) or not last.add or not all(isinstance(op, ir.Load | ir.Call) for op in before):
        return None
    axes = _axes(spine, last.index)
    return None if axes is None else _Target(spine, last, axes)


def _axes(spine: Sequence[ir.For], index: Sequence[ir.Operand]) -> tuple[int, ...] | None:
    """Which axis each loop's counter is the index of; None if they are not all indices, and nothing else is."""
    counters = [loop.body.args[0] for loop in spine]
    if len(index) != len(counters) or set(index) != set(counters):
        return None
    return tuple(index.index(counter) for counter in counters)


class _Search:
    def __init__(self, function: ir.Function):
        self.iterations = function.analysis(Iterations)
        self.definitions = self.iterations.definitions
        self.aliases = function.analysis(Aliases)

    def region(self, region: ir.Region) -> ir.Region:
        ops = [self.inside(op) for op in region.ops]
        for b, op in enumerate(region.ops):
            target = _target(op) if isinstance(op, ir.For) else None
            if target is None or ops[b] is not op or self.reads_its_target(target):
                continue
            for a in range(b - 1, -1, -1):
                edit = self.edit(region.ops, a, b, target) if ops[a] is region.ops[a] else None
                if edit is not None:
                    # the cut nest is more than one operation: what follows it is looked at in a region of its own
                    ops[a : b + 1] = [edit.without_store(), *ops[a + 1 : b], *edit.cut()]
                    return ir.Region(region.args, tuple(ops), region.yields)
                if self.touches(region.ops[a], target.store.array):
                    break
        return ir.with_ops(region, ops)

    def reads_its_target(self, target: _Target) -> bool:
        """Whether the nest looks at the array that it adds to, and so at what would not be there yet."""
        others = (op for op in ir.walk(target.spine[0].body) if op is not target.store and not op.regions)
        return any(self.touches(op, target.store.array) for op in others)

    def inside(self, op: ir.Op) -> ir.Op:
        return ir.with_regions(op, [self.region(r) for r in op.regions])

    def edit(self, ops: Sequence[ir.Op], a: int, b: int, target: _Target) -> _Edit | None:
        """How the store of nest `a` moves to nest `b`, if it may and that helps."""
        first = ops[a]
        spine = _spine(first) if isinstance(first, ir.For) else None
        if spine is None:
            return None
        stores = [op for op in spine[-1].body.ops if isinstance(op, ir.Store)]
        store = next((op for op in stores if op.array is target.store.array), None)
        axes = None if store is None else _axes(spine, store.index)
        if store is None or axes is None or set(axes) != set(target.axes):
            return None
        others = [op for op in ir.walk(ir.Region((), (first,), ())) if op is not store and not op.regions]
        if any(self.touches(op, store.array) for op in others):
            return None
        middle = [spine[axes.index(axis)] for axis in target.axes]
        if not all(self.is_within(one, other) for one, other in zip(middle, target.spine, strict=True)):
            return None
        made = {out for op in ir.walk(ir.Region((), (first,), ())) for out in op.results}
        if any(bound in made for loop in middle for bound in (loop.start, loop.stop)):
            return None
        writes = [op for k in range(a, b + 1) for op in ir.with_inner(ops[k]) if isinstance(op, ir.Store)]
        between = [w for w in writes if w is not store and w is not target.store]
        value = made_again(store, spine, between, target.spine[0].body, self.aliases)
        return None if value is None else _Edit(store, tuple(spine), tuple(middle), target, tuple(value))

    def touches(self, op: ir.Op, array: ir.Operand) -> bool:
        """Whether the operation, or one inside it, may look at the array's memory or change it."""
        return any(touches(inner, array, self.aliases) for inner in ir.with_inner(op))

    def is_within(self, inner: ir.For, outer: ir.For) -> bool:
        """Whether a loop has no trips but those of the other one."""
        stop, beyond = self.iterations.value(inner.stop), self.iterations.value(outer.stop)
        assert isinstance(inner.start, ir.Const)
        assert isinstance(outer.start, ir.Const)
        if stop is None or beyond is None or inner.start.value < outer.start.value:
            return False
        rest = beyond.plus(stop, -1)
        return rest.is_constant and rest.constant >= 0


def touches(op: ir.Op, array: ir.Operand, aliases: Aliases) -> bool:
    """Whether the operation itself may look at the array's memory or change it."""
    arrays = [*op.memory_read, op.array] if isinstance(op, ir.Store) else op.memory_read
    return any(ir.is_array(o) and not aliases.are_distinct(o, array) for o in arrays)


def made_again(
    store: ir.Store, spine: Sequence[ir.For], writes: Sequence[ir.Store], other: ir.Region, aliases: Aliases
) -> list[ir.Op] | None:
    """The operations that make the value of `store` in the nest `spine`, to be made again in the nest with `other`.

    None if they are not to be had there: `writes` are the stores to either nest and in between.
    """
    own = {out: op for loop in spine for op in loop.body.ops for out in op.results}
    carried = {arg for loop in spine for arg in loop.body.args[1:]}
    kept = {w.value: w for w in spine[-1].body.ops if isinstance(w, ir.Store) and not w.add}
    known = {op.array for op in ir.walk(other) if isinstance(op, ir.Load)}
    found: dict[ir.Var, ir.Op] = {}

    def needs(operand: ir.Operand) -> bool:
        if operand in carried:
            return False
        if not isinstance(operand, ir.Var) or operand in found or operand not in own:
            return True
        op = own[operand]
        where = kept.get(operand)
        if where is not None and where is not store and where.array in known and isinstance(op, ir.Call):
            # the second nest reads the array anyway
            op = ir.Load(array=where.array, index=where.index, out=operand, origin=op.origin)
        is_there = is_cheap(op) and all(needs(o) for o in op.operands if not ir.is_array(o))
        if isinstance(op, ir.Load):
            is_there = is_there and all(w is where or aliases.are_distinct(w.array, op.array) for w in writes)
        elif not isinstance(op, ir.Call):
            return False
        found[operand] = op
        return is_there

    if not needs(store.value) or len(found) > MOST_OPERATIONS:
        return None
    new = {op.array for op in found.values() if isinstance(op, ir.Load)} - known
    return list(found.values()) if len(new) <= MOST_ARRAYS else None


@dataclass(frozen=True)
class _Edit:
    """`value`: the operations that make what `store`, in the nest `spine`, stores; `middle`: its loops in the order of
    the target's."""

    store: ir.Store
    spine: tuple[ir.For, ...]
    middle: tuple[ir.For, ...]
    target: _Target
    value: tuple[ir.Op, ...]

    def without_store(self) -> ir.Op:
        *outer, innermost = self.spine
        ops = tuple(op for op in innermost.body.ops if op is not self.store)
        made: ir.Op = dataclasses.replace(innermost, body=dataclasses.replace(innermost.body, ops=ops))
        inner: ir.Op = innermost
        for loop in reversed(outer):
            ops = tuple(made if op is inner else op for op in loop.body.ops)
            made = dataclasses.replace(loop, body=dataclasses.replace(loop.body, ops=ops))
            inner = loop
        return made

    def cut(self) -> list[ir.Op]:
        """The target's nest in parts: the trips that the first nest makes, and those before and after."""
        return list(self._parts(0, ir.Cloner()))

    def _parts(self, depth: int, outer: ir.Cloner) -> Iterator[ir.Op]:
        whole, inner = self.target.spine[depth], self.middle[depth]
        builder = ir.Builder()
        builder.origin = whole.origin
        if inner.start != whole.start:
            end = builder.call(min, inner.start, whole.stop, type=types.intp, name="n")
            builder.emit(self._strip(whole, whole.start, end, outer))
        cloner = ir.Cloner(outer.mapping)
        counter = cloner.fresh(whole.body.args[0])
        ops: list[ir.Op] = []
        for op in whole.body.ops:
            if depth + 1 < len(self.middle) and op is self.target.spine[depth + 1]:
                ops += self._parts(depth + 1, cloner)
            else:
                ops += self._sum(cloner) if op is self.target.store else [cloner.op(op)]
        region = ir.Region((counter,), tuple(ops), ())
        builder.emit(dataclasses.replace(whole, start=inner.start, stop=inner.stop, body=region))
        if inner.stop != whole.stop:
            start = builder.call(max, inner.stop, inner.start, type=types.intp, name="n")
            builder.emit(self._strip(whole, start, whole.stop, outer))
        yield from builder.ops

    def _strip(self, whole: ir.For, start: ir.Operand, stop: ir.Operand, outer: ir.Cloner) -> ir.Op:
        """A few trips of the target's loop as it is."""
        cloned = ir.Cloner(outer.mapping).op(whole)
        assert isinstance(cloned, ir.For)
        return dataclasses.replace(cloned, start=start, stop=stop, parallel=False)

    def _sum(self, outer: ir.Cloner) -> list[ir.Op]:
        """The last operation of the target's nest, with what was stored in the sum."""
        last = self.target.store
        own = dict(zip(self.target.axes, self.target.spine, strict=True))
        places = {loop.body.args[0]: self.store.index.index(loop.body.args[0]) for loop in self.spine}
        cloner = ir.Cloner({counter: outer.operand(own[axis].body.args[0]) for counter, axis in places.items()})
        builder = ir.Builder()
        builder.ops.extend(cloner.op(op) for op in self.value)
        builder.origin = last.origin
        stored, rest = cloner.operand(self.store.value), outer.operand(last.value)
        total = builder.call(operator.add, stored, rest, type=stored.type, name="total")
        builder.store(last.array, [outer.operand(i) for i in last.index], total, add=self.store.add)
        return builder.ops
