"""Loops in which all lanes add up term by term take several terms at once, so that sums are fetched once for them.

    for k in range(d):                               whole = d // 4 * 4
        w_item = w[k]                                for k in range(0, whole, 4):
        for lane in range(lanes):                        w_item = w[k]; w_item_2 = w[k + 1]; ...
            s_lanes[lane] += x[k, lane] * w_item         for lane in range(lanes):
                                                             s = s_lanes[lane] + x[k, lane] * w_item
                                                             ...
                                                             s_lanes[lane] = s_4
                                                     for k in range(whole, d): ...

In: what stands for a loop in lanes, and the counters of its loops over lanes. Out: the same with such loops. Each
lane's steps keep their order, and what they do: all that is left out is to store what the next step loads.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals

STEPS = 4


def take_steps(
    ops: Sequence[ir.Op], lanes: Collection[ir.Operand], aliases: Aliases, naturals: Naturals
) -> list[ir.Op]:
    """The operations with such loops, of those that are deepest: there the time goes, and each is one loop more."""
    taking = _Taking(lanes, aliases, naturals, max(map(_depth, ops), default=0))
    return taking.ops(ops, 0)


class _Taking:
    def __init__(self, lanes: Collection[ir.Operand], aliases: Aliases, naturals: Naturals, deepest: int):
        self.lanes, self.aliases, self.naturals, self.deepest = lanes, aliases, naturals, deepest

    def ops(self, ops: Sequence[ir.Op], depth: int) -> list[ir.Op]:
        """`depth`: the loops around them."""
        made: list[ir.Op] = []
        for op in ops:
            over_lanes = self.over_lanes(op) if isinstance(op, ir.For) and depth + 2 == self.deepest > 3 else None
            if isinstance(op, ir.For) and over_lanes is not None and self.is_sum(op, over_lanes):
                made += _several(op, over_lanes)
            else:
                inside = depth + isinstance(op, ir.For | ir.While)
                made.append(ir.with_regions(op, [ir.with_ops(r, self.ops(r.ops, inside)) for r in op.regions]))
        return made

    def over_lanes(self, loop: ir.For) -> ir.For | None:
        """The loop over lanes that is all that a loop does, after some arithmetic; None if there is none."""
        ops = [op for op in loop.body.ops if not isinstance(op, ir.Comment)]
        if loop.stops or loop.slots or (loop.start, loop.step) != (ir.integer(0), ir.integer(1)) or not ops:
            return None
        *before, last = ops
        if not isinstance(last, ir.For) or last.body.args[0] not in self.lanes or last.slots:
            return None
        is_plain = all(isinstance(op, ir.Load) or (isinstance(op, ir.Call) and not op.effect) for op in before)
        is_innermost = all(isinstance(op, ir.Load | ir.Store | ir.Call | ir.Comment) for op in last.body.ops)
        return last if is_plain and is_innermost and loop.stop in self.naturals else None

    def is_sum(self, loop: ir.For, inner: ir.For) -> bool:
        """Whether all that the steps do is to add products to a number of each lane, with one factor for all lanes."""
        touching = [op for op in inner.body.ops if isinstance(op, ir.Load | ir.Store)]
        stores = [op for op in touching if isinstance(op, ir.Store)]
        # windows that move with the steps are short
        if len(stores) != 1 or any(index in inner.body.made for op in touching for index in op.index):
            return False
        (store,) = stores
        memory = self.aliases.find(store.array)
        sums = [
            op
            for op in loop.body.inside
            if isinstance(op, ir.Load | ir.Store) and self.aliases.find(op.array) == memory
        ]
        if any((op.array, op.index) != (store.array, (inner.body.args[0],)) for op in sums):
            return False
        term, value = store.value, inner.body.made.get(store.value)
        if not store.add:
            is_added = isinstance(value, ir.Call) and value.callee in (operator.add, operator.sub)
            if len(sums) != 2 or not isinstance(value, ir.Call) or not is_added or value.args[0] not in sums[0].results:
                return False
            term = value.args[1]
        product = inner.body.made.get(term)
        if not isinstance(product, ir.Call) or product.callee is not operator.mul:
            return False
        return sum(arg in inner.body.made for arg in product.args) == 1


def _depth(op: ir.Op) -> int:
    """How many loops are inside of each other in an operation, itself included."""
    inside = max((_depth(inner) for region in op.regions for inner in region.ops), default=0)
    return inside + isinstance(op, ir.For | ir.While)


def _several(loop: ir.For, inner: ir.For) -> list[ir.Op]:
    """The loop by several steps at once, and one for the steps that are left over."""
    builder = ir.Builder(loop.origin)
    blocks = builder.call(operator.floordiv, loop.stop, ir.integer(STEPS), type=types.intp, name="blocks")
    whole = builder.call(operator.mul, blocks, ir.integer(STEPS), type=types.intp, name="whole")
    counter, lane = (dataclasses.replace(op.body.args[0]) for op in (loop, inner))
    with builder.region() as ops:
        steps: list[ir.Cloner] = []
        for k in range(STEPS):
            here = (
                builder.call(operator.add, counter, ir.integer(k), type=types.intp, name=counter.name) if k else counter
            )
            steps.append(ir.Cloner({loop.body.args[0]: here, inner.body.args[0]: lane}))
            for op in loop.body.ops:
                if op is not inner and not (k and isinstance(op, ir.Comment)):
                    builder.emit(steps[-1].op(op))
        with builder.region() as inside:
            _steps(builder, inner.body.ops, steps, lane)
        body = ir.Region((lane,), tuple(inside), ())
        builder.emit(dataclasses.replace(inner, body=body))
    body = ir.Region((counter,), tuple(ops), ())
    builder.emit(dataclasses.replace(loop, stop=whole, step=ir.integer(STEPS), body=body, order_free=False))
    builder.emit(dataclasses.replace(loop, start=whole))
    return builder.ops


def _steps(builder: ir.Builder, ops: Sequence[ir.Op], steps: Sequence[ir.Cloner], lane: ir.Var) -> None:
    """What a lane adds in these steps, one after the other, to a number that is stored once."""
    (store,) = (op for op in ops if isinstance(op, ir.Store))
    now: ir.Operand = builder.load(store.array, (lane,), ir.element_name(store.array))
    for k, step in enumerate(steps):
        for op in ops:
            if isinstance(op, ir.Load) and op.array is store.array:
                step.mapping[op.out] = now
            elif isinstance(op, ir.Store):
                value = step.operand(op.value)
                now = (
                    builder.call(operator.add, now, value, type=now.type, name=ir.element_name(store.array))
                    if op.add
                    else value
                )
            elif not (k and isinstance(op, ir.Comment)):
                builder.emit(step.op(op))
    builder.store(store.array, (lane,), now)
