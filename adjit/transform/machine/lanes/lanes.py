"""Independent trips of a loop side by side in SIMD lanes, where its inner loops keep the compiler from doing that.

In: a function that is ready to be emitted. Out: the same, with such loops in blocks (`strip_mining.py`).

The inner loops are sums or recurrences, in which each step waits for the one before; across the trips of the loop
around them nothing waits. Which trips may run side by side says `analysis/loop_dependences.py`, what differs between
them `uniformity.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.loop_dependences import LoopDependences
from adjit.transform.ir.types import array_type, array_type_of
from adjit.transform.machine.lanes.cost_model import is_faster_in_lanes
from adjit.transform.machine.lanes.lane_loops import Block, Turned
from adjit.transform.machine.lanes.packing import TurnedKind, turned_axes
from adjit.transform.machine.lanes.product_terms import may_be_product
from adjit.transform.machine.lanes.products import Written, write_products
from adjit.transform.machine.lanes.scalar_expansion import with_terms_apart
from adjit.transform.machine.lanes.strip_mining import Blocking
from adjit.transform.machine.lanes.uniformity import Uniformity
from adjit.transform.rewrite.array_contraction import Replaced
from adjit.transform.strategy import CHEAPEST, Strategy

# Lanes of a block, at most and at least; elements that all lanes together may keep, which is what fits into a cache.
MOST_LANES, LEAST_LANES = 64, 16
ELEMENTS = 32768
# Pairs of arrays of which LLVM tests at run time whether they overlap, before it vectorises a loop.
MOST_CHECKS = 128


def lay_lanes(function: ir.Function, values: Collection[int], strategy: Strategy = CHEAPEST) -> ir.Function:
    """The function with loops in lanes; the results at the positions `values` keep all their bits."""
    laying = _Laying(function, values, strategy)
    if strategy.uses("terms"):
        laying = _with_terms_apart(laying)
    body = laying.region(laying.body)
    return laying.function if body is laying.body else ir.with_body(laying.function, laying.without_old_arrays(body))


def fitting_lanes(
    function: ir.Function, values: Collection[int], counters: Collection[ir.Var], strategy: Strategy = CHEAPEST
) -> frozenset[ir.Var]:
    """Those of the counters, of loops in the function, whose loops would go in lanes."""
    return _Laying(function, values, strategy).fitting(counters)


def _with_terms_apart(laying: _Laying) -> _Laying:
    """The function with the terms of ordered sums kept apart in loops that would go in lanes but for these."""
    for counter in [op.body.args[0] for op in ir.walk(laying.body) if isinstance(op, ir.For) and laying.waits(op)]:
        loop = next(op for op in ir.walk(laying.body) if isinstance(op, ir.For) and op.body.args[0] is counter)
        sums = laying.sharing.trips(loop)
        assert sums is not None
        made = with_terms_apart(laying.function, loop, {v for s in sums.sums if s.is_ordered for v in s.chain})
        if made is not laying.function:
            apart = _Laying(made, laying.values, laying.strategy)
            laying = apart if apart.fitting({counter}) else laying
    return laying


class _Laying:
    def __init__(self, function: ir.Function, values: Collection[int], strategy: Strategy):
        self.function, self.body = function, function.body
        self.values, self.strategy = values, strategy
        self.sharing = LoopDependences(function, values)
        allocs = (op for op in ir.walk(function.body) if isinstance(op, ir.Alloc))
        self.allocs: dict[ir.Operand, ir.Alloc] = {op.out: op for op in allocs}
        self.laned: set[ir.Operand] = set()
        self.places = function.analysis(Iterations).places
        self.deepest = _depth(function.body)
        self._uniformities: dict[ir.For, Uniformity | None] = {}
        # the extents that have been asked for before the operation at hand
        self.known: dict[tuple[ir.Operand, int], ir.Var] = {}

    def region(self, region: ir.Region) -> ir.Region:
        """The region with loops in lanes."""
        found: list[ir.Op] = []
        for op in region.ops:
            if isinstance(op, ir.Extent) and region is self.body:
                self.known[op.array, op.axis] = op.out
            made = self.loop(op) if isinstance(op, ir.For) else None
            found += [ir.with_regions(op, list(map(self.region, op.regions)))] if made is None else made
        return ir.with_ops(region, found)

    def loop(self, loop: ir.For) -> list[ir.Op] | None:
        """What stands for the loop in lanes; None if it stays as it is."""
        uniformity = self.uniformity(loop)
        if uniformity is None or not _orders_fit(uniformity):
            return None
        trips = uniformity.trips
        if _is_sum_of_rows(loop) and not any(s.is_ordered for s in trips.sums):
            return None
        if _checks_by_lane(uniformity):
            return None
        axes = turned_axes(uniformity) if self.sharing.naturals.counts(loop) else {}
        is_fit = self.is_fit(uniformity, axes)
        arrays = self.private_arrays(uniformity) if is_fit or self.may_have_products(loop) else None
        made = None if arrays is None else self.in_lanes(uniformity, arrays, axes)
        if arrays is None or made is None or not (is_fit or _has_products(made)):
            return None
        self.laned.update(op.out for op in arrays)
        return made

    def is_fit(self, uniformity: Uniformity, axes: Mapping[ir.Var, tuple[int, TurnedKind]]) -> bool:
        """Whether lanes gain something by themselves, and no more where an inner loop has them."""
        loop = uniformity.loop
        if not is_worth_it(loop.body, uniformity):
            return False
        inner = [op for op in loop.body.ops if isinstance(op, ir.For) and _lies_closer(op, loop)]
        if any(self.loop(op) is not None for op in inner):
            return False
        copied = {array: 2 if kind == "own" else 1 for array, (_, kind) in axes.items()}
        return not self.strategy.uses("weigh") or is_faster_in_lanes(uniformity, copied, self.sharing.reach)

    def may_have_products(self, loop: ir.For) -> bool:
        """Whether inner loops multiply elements of two arrays such that these may be matrices."""
        if not self.strategy.uses("products"):
            return False
        nests = (op for op in loop.body.inside if isinstance(op, ir.For))
        return any(
            may_be_product(inner, op, loop) for op in nests for inner in op.body.ops if isinstance(inner, ir.For)
        )

    def fitting(self, counters: Collection[ir.Var]) -> frozenset[ir.Var]:
        """Those of the counters whose loops would go in lanes."""
        loops = [op for op in ir.walk(self.body) if isinstance(op, ir.For) and op.body.args[0] in counters]
        found = frozenset(loop.body.args[0] for loop in loops if self.loop(loop) is not None)
        self.laned.clear()  # they are not laid yet
        return found

    def waits(self, loop: ir.For) -> bool:
        """Whether the loop may go in lanes but for the order of sums that its inner loops add to."""
        uniformity = self.uniformity(loop)
        return uniformity is not None and is_worth_it(loop.body, uniformity) and not _orders_fit(uniformity)

    def uniformity(self, loop: ir.For) -> Uniformity | None:
        """What differs between the trips of a loop that may go in lanes, as far as the order of sums does not tell."""
        if loop not in self._uniformities:
            self._uniformities[loop] = self._found(loop)
        return self._uniformities[loop]

    def _found(self, loop: ir.For) -> Uniformity | None:
        if loop.parallel or not isinstance(loop.step, ir.Const) or abs(loop.step.value) != 1:
            return None
        # the time goes into the deepest loops; others are not worth the time to compile them
        inside = _depth(loop.body)
        around = sum(map(_is_nesting, self.places[loop].loops))
        if not inside or around + 1 + inside < self.deepest - 1:
            return None
        trips = self.sharing.trips(loop)
        if trips is None or (loop.step.value < 0 and any(s.is_ordered for s in trips.sums)):
            return None
        return Uniformity(loop, trips, self.sharing.aliases)

    def private_arrays(self, uniformity: Uniformity) -> list[ir.Alloc] | None:
        """The arrays that need an axis for the lanes; None if their extents are not known before the loop."""
        body = uniformity.loop.body
        found = [op for op in self.allocs.values() if uniformity.is_laned(op.out)]
        made_here = [op for op in ir.walk(body) if isinstance(op, ir.Alloc)]
        is_once = all(op in uniformity and uniformity.kind(op) == "once" for op in made_here)
        return found if is_once and not any(o in body.defines for op in found for o in op.operands) else None

    def in_lanes(
        self, uniformity: Uniformity, arrays: list[ir.Alloc], axes: Mapping[ir.Var, tuple[int, TurnedKind]]
    ) -> list[ir.Op] | None:
        loop, width = uniformity.loop, ir.Var("width", types.intp)
        builder = ir.Builder(loop.origin)
        laned: dict[ir.Operand, ir.Alloc] = {op.out: self.with_lanes(builder, op, width) for op in arrays}
        is_natural = self.sharing.naturals.counts(loop)
        turned: dict[ir.Operand, Turned] = {
            array: self.turned(builder, array, axis, kind) for array, (axis, kind) in axes.items()
        }
        block = Block(uniformity, laned, turned, width, is_natural)
        written = Written(Blocking(block).made())
        if self.strategy.uses("products"):
            written = write_products(written.ops, block, self.sharing, self.body.made)
        if _is_crowded(written.ops, block.counters):
            return None
        allocs = [laned[op.out] for op in arrays if op.out not in loop.body.made]
        allocs += [ir.Alloc(shape=(*copied.extents, width), out=copied.array) for copied in turned.values()]
        kept = [array for array in dict.fromkeys(block.kept.values()) if array not in written.gone]
        allocs += [*written.allocs, *(ir.Alloc(shape=(width,), out=array) for array in kept)]
        self.width(builder, loop, width, [alloc.shape[:-1] for alloc in allocs])
        for alloc in allocs:
            builder.emit(alloc)
        comment = ir.Comment(text="several iterations at once, in SIMD lanes", origin=loop.origin)
        return [comment, *builder.ops, *written.ops]

    def turned(self, builder: ir.Builder, array: ir.Var, axis: int, kind: TurnedKind) -> Turned:
        """The array for the copy of a block's part."""
        type_ = array_type_of(array)
        extents = tuple(self.known.get((array, k)) or builder.extent(array, k) for k in range(type_.ndim) if k != axis)
        return Turned(axis, extents, ir.Var(f"{array.name}_turned", array_type(type_.dtype, type_.ndim)), kind)

    def with_lanes(self, builder: ir.Builder, op: ir.Alloc, width: ir.Var) -> ir.Alloc:
        """The array of one trip with a last axis for the lanes."""
        model, type_ = Replaced(self.allocs).model(op.out), array_type_of(op.out)
        shape = model.shape if model.like is None else builder.shape(model.like)
        out = dataclasses.replace(op.out, type=array_type(type_.dtype, type_.ndim + 1))
        return dataclasses.replace(op, shape=(*shape, width), like=None, out=out)

    def width(
        self, builder: ir.Builder, loop: ir.For, width: ir.Var, shapes: Collection[tuple[ir.Operand, ...]]
    ) -> None:
        """How many lanes a block has: as many as fit into a cache, and no more than there are trips."""

        def call(callee: object, *args: ir.Operand, name: str = "trips") -> ir.Operand:
            return builder.call(callee, *args, type=types.intp, name=name)

        low, high = (loop.start, loop.stop) if loop.step == ir.integer(1) else (loop.stop, loop.start)
        trips = high if low == ir.integer(0) else call(operator.sub, high, low)
        most: list[ir.Operand] = [ir.integer(MOST_LANES), call(max, ir.integer(1), trips)]
        sizes: list[ir.Operand] = []
        # one more, so that there are some in any case
        for shape, count in sorted(Counter([*shapes, ()]).items(), key=lambda item: -len(item[0])):
            size: ir.Operand = ir.integer(count)
            for n, extent in enumerate(shape):
                size = extent if n == 0 and count == 1 else call(operator.mul, size, extent, name="size")
            sizes.append(size)
        if len(sizes) > 1:
            elements = functools.reduce(lambda a, b: call(operator.add, a, b, name="elements"), sizes)
            steps = call(operator.floordiv, ir.integer(ELEMENTS // LEAST_LANES), elements, name="steps")
            steps = call(max, ir.integer(1), steps, name="steps")
            most.append(call(operator.mul, ir.integer(LEAST_LANES), steps, name="fitting"))
        builder.emit(ir.Call(callee=min, args=tuple(most), outs=(width,)))

    def without_old_arrays(self, body: ir.Region) -> ir.Region:
        """The region without the arrays that have an axis for the lanes now, and with what asks for their shape."""
        gone = Replaced({array: op for array, op in self.allocs.items() if array in self.laned})

        def without(op: ir.Op) -> Sequence[ir.Op]:
            return () if isinstance(op, ir.Alloc) and op.out in self.laned else gone.asked(op)

        return ir.substituted_region(ir.rewritten(body, without), gone.extents)


def _has_products(ops: Collection[ir.Op]) -> bool:
    return any(isinstance(inner, ir.AddProduct) for op in ops for inner in ir.with_inner(op))


def _is_crowded(ops: Collection[ir.Op], lanes: Collection[ir.Operand]) -> bool:
    """Whether a loop over lanes touches so many arrays that the compiler behind us gives up telling them apart."""
    loops = (inner for op in ops for inner in ir.with_inner(op) if isinstance(inner, ir.For))
    return any(loop.body.args[0] in lanes and _overlap_checks(loop.body) > MOST_CHECKS for loop in loops)


def _overlap_checks(region: ir.Region) -> int:
    stored = {op.array for op in ir.walk(region) if isinstance(op, ir.Store)}
    loaded = {op.array for op in ir.walk(region) if isinstance(op, ir.Load)} - stored
    return len(stored) * (len(stored) - 1) // 2 + len(stored) * len(loaded)


def _depth(region: ir.Region) -> int:
    """The loops inside of each other in a region."""
    return max((_is_nesting(op) + _depth(inner) for op in region.ops for inner in op.regions), default=0)


def _is_nesting(op: ir.Op) -> bool:
    """Whether it is a loop that makes a nest deeper; the trips of chunks are those of one loop."""
    return isinstance(op, ir.For | ir.While) and not (isinstance(op, ir.For) and op.over_chunks)


def is_worth_it(region: ir.Region, uniformity: Uniformity) -> bool:
    """Whether a loop that all lanes make together is a sum or recurrence of floats, or leaps through memory."""
    together = [op for op in region.ops if uniformity.kind(op) == "together"]
    counter = uniformity.loop.body.args[0]
    return any(
        (isinstance(op, ir.For) and (any(ir.is_float(out.type) for out in op.outs) or _leaps(op, counter)))
        or any(is_worth_it(inner, uniformity) for inner in op.regions)
        for op in together
    )


def _is_sum_of_rows(loop: ir.For) -> bool:
    """Whether nothing is done but to sum up all elements, row by row: in any order, that is fast along the rows."""
    inner = [op for op in loop.body.ops if isinstance(op, ir.For)]
    if not inner:
        touched = [op.index for op in loop.body.inside if isinstance(op, ir.Load)]
        return all(index[-1] is loop.body.args[0] for index in touched if loop.body.args[0] in index)
    is_alone = len(inner) == 1 and len(loop.outs) == len(inner[0].outs) == 1 and inner[0].order_free
    stores = any(isinstance(op, ir.Store | ir.While | ir.Push | ir.Pull) for op in loop.body.inside)
    return is_alone and not stores and _is_sum_of_rows(inner[0])


def _leaps(loop: ir.For, counter: ir.Var) -> bool:
    """Whether more of what an innermost loop touches is side by side for the trips around it than for its own."""
    touched = [i.index for i in ir.walk(loop.body) if isinstance(i, ir.Load | ir.Store) and len(i.index) > 1]
    inner = loop.body.args[0]
    across = sum(index[-1] is counter and inner in index for index in touched)
    along = sum(index[-1] is inner and counter in index for index in touched)
    return _depth(loop.body) == 0 and across > along


def _lies_closer(inner: ir.For, loop: ir.For) -> bool:
    """Whether all that the trips of a loop touch is touched by those of another one in it, and closer together."""
    if any(op.regions for op in loop.body.ops if op is not inner):
        return False
    outer, counter = loop.body.args[0], inner.body.args[0]
    touched = [op.index for op in loop.body.inside if isinstance(op, ir.Load | ir.Store) and outer in op.index]
    return all(counter in index and index.index(counter) > index.index(outer) for index in touched)


def _checks_by_lane(uniformity: Uniformity) -> bool:
    """Whether something is checked that differs between lanes."""
    checks = [op for op in ir.walk(uniformity.loop.body) if isinstance(op, ir.Call) and op.effect]
    return any(uniformity.differs(a) or op not in uniformity for op in checks for a in op.args)


def _orders_fit(uniformity: Uniformity) -> bool:
    """Whether sums that have to keep their order are added to by operations of the trip itself, which only do that.

    They are done once the lanes have done all else, so what they load has to be there still.
    """
    chains = {v for s in uniformity.trips.sums if s.is_ordered for v in s.chain}
    ops = uniformity.loop.body.ops
    for n, op in enumerate(ops):
        if not any(o in chains for o in ir.reads(op)):
            continue
        if uniformity.kind(op) != "by lane" or len(op.results) != 1:
            return False
        inside = [i for region in op.regions for i in ir.walk(region)]
        if not all(isinstance(i, ir.Call | ir.Load | ir.For | ir.Comment) for i in inside):
            return False
        written = {w for later in ops[n + 1 :] for i in ir.with_inner(later) if (w := i.memory_written) is not None}
        stored = set(map(uniformity.aliases.find, written))
        if any(uniformity.aliases.find(i.array) in stored for i in inside if isinstance(i, ir.Load)):
            return False
    return True
