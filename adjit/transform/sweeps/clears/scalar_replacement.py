"""Sums that a loop adds up in one element of a shadow are added up in a variable, and go into the element once.

In: a function and its shadows. Out: the same, with such loops carrying the sum.

    for l in range(n):                          x_bar_sum = 0.0
        x_bar[j] += w[l] * y_bar[l]             for l in range(n):
                                                    x_bar_sum += w[l] * y_bar[l]
                                                x_bar[j] += x_bar_sum

The compiler behind us cannot do this: it would have to know that no other array in the loop shares memory with this
one. Only adjoints are treated so, because the order of the additions changes; values keep the bits of the primal's.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterable, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.trip_counts import has_trips
from adjit.transform.ir.types import array_type_of, typed_const


def promote_sums(function: ir.Function, shadows: Iterable[ir.Var]) -> ir.Function:
    """The function with its sums over loops in variables, innermost loops first, and on through the loops around."""
    return ir.with_body(function, _Promoting(function, shadows).region(function.body))


class _Promoting:
    def __init__(self, function: ir.Function, shadows: Iterable[ir.Var]):
        self.aliases = function.analysis(Aliases)
        self.index_model = function.analysis(IndexModel)
        self.adjoints = {self.aliases.find(s) for s in shadows}
        self.made = function.body.made
        # additions of sums of inner loops, and the stores that they stand for, which the analyses know
        self.stands_for: dict[ir.Store, ir.Store] = {}

    def region(self, region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        for was in region.ops:
            op = ir.with_regions(was, [self.region(r) for r in was.regions])
            ops += self.loop(op, was) if isinstance(op, ir.For) and isinstance(was, ir.For) else [op]
        return ir.with_ops(region, ops)

    def loop(self, op: ir.For, was: ir.For) -> list[ir.Op]:
        """The loop with its sums in variables. `was` stood in its place in the function that is asked about."""
        found = [] if op.stops else self.candidates(op, was)
        if not found:
            return [op]
        # several additions to one element have one sum
        elements: dict[object, list[ir.Store]] = {}
        for store in found:
            elements.setdefault((store.array, store.index), []).append(store)
        slots, ops = list[ir.Slot](), op.body.ops
        sure, unsure = list[ir.Op](), list[ir.Op]()
        for first, *more in elements.values():
            arg = ir.Var(f"{ir.name_of(first.array, 'array')}_sum", array_type_of(first.array).dtype)
            ops, last = _with_sum(ops, (first, *more), arg)
            slots.append(ir.Slot(typed_const(0, arg.type), arg, last, dataclasses.replace(arg)))
            add = dataclasses.replace(first, value=slots[-1].out)
            self.stands_for[add] = self.stands_for.get(first, first)
            (sure if self.index_model.is_inside(was, first) else unsure).append(add)
        builder = ir.Builder()
        builder.ops.extend((ir.with_slots(op, slots, ops), *sure))
        if unsure:
            # without a trip their elements may not be there
            with builder.when(has_trips(builder, op, self.made)):
                builder.ops.extend(unsure)
        return builder.ops

    def candidates(self, loop: ir.For, was: ir.For) -> list[ir.Store]:
        """Additions, each run once a trip, to an element that is the same in all trips and only added to in them."""
        inside = loop.body.defines
        looked_at: dict[ir.Operand, list[ir.Op]] = {}
        for op in ir.walk(loop.body):
            if not isinstance(op, ir.Store | ir.Extent) or (isinstance(op, ir.Store) and not op.add):
                # what makes names or passes them on counts as well
                arrays = (*op.memory_read, *filter(ir.is_array, (*op.operands, *op.results)))
                for memory in set(map(self.aliases.find, arrays)):
                    looked_at.setdefault(memory, []).append(op)
        return [
            op
            for op in loop.body.ops
            if isinstance(op, ir.Store)
            and op.add
            and self.aliases.find(op.array) in self.adjoints
            and not any(o in inside for o in (op.array, *op.index))
            and self.is_only_added_to(op, looked_at.get(self.aliases.find(op.array), ()), was)
        ]

    def is_only_added_to(self, add: ir.Store, others: Sequence[ir.Op], loop: ir.For) -> bool:
        """Whether what else the trips of the loop do with the memory is done to other elements.

        isl is asked of innermost loops only: elsewhere an addition takes no time to speak of.
        """
        is_inner = not any(isinstance(op, ir.For | ir.While) for op in ir.walk(loop.body))
        if others and not (is_inner and all(isinstance(op, ir.Load | ir.Store) for op in others)):
            return False
        asked = self.stands_for.get(add, add)
        return not any(self.index_model.may_meet(op, asked, loop) for op in others)


def _with_sum(ops: Sequence[ir.Op], additions: Collection[ir.Op], total: ir.Var) -> tuple[tuple[ir.Op, ...], ir.Var]:
    """The operations with what is added to an element added to a number, and what that is in the end."""
    builder = ir.Builder()
    for op in ops:
        if isinstance(op, ir.Store) and op in additions:
            builder.origin = op.origin
            total = builder.call(operator.add, total, op.value, type=total.type, name=total.name)
        else:
            builder.ops.append(op)
    return tuple(builder.ops), total
