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
from collections.abc import Iterable, Mapping, Sequence

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
        # additions of sums of inner loops, and the stores that they stand for
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
        elements: dict[object, ir.Store] = {}
        for store in found:
            elements.setdefault((store.array, store.index), store)
        firsts = list(elements.values())
        sums = [ir.Var(f"{ir.name_of(f.array, 'array')}_sum", array_type_of(f.array).dtype) for f in firsts]
        args = {store: sums[firsts.index(elements[store.array, store.index])] for store in found}
        outs = [dataclasses.replace(arg) for arg in sums]
        ops, last = _with_sums(op.body, args, sums)
        zeros = (typed_const(0, arg.type) for arg in sums)
        made = ir.with_slots(op, list(map(ir.Slot, zeros, sums, last, outs)), ops)
        sure, unsure = list[ir.Op](), list[ir.Op]()
        for first, out in zip(firsts, outs, strict=True):
            add = dataclasses.replace(first, value=out)
            self.stands_for[add] = self.asked(first)
            (sure if self.index_model.is_inside(was, first) else unsure).append(add)
        return [made, *sure, *(self.unless_empty(op, unsure) if unsure else ())]

    def asked(self, store: ir.Store) -> ir.Store:
        """The store of the function that is asked about."""
        return self.stands_for.get(store, store)

    def candidates(self, loop: ir.For, was: ir.For) -> list[ir.Store]:
        """Additions, each run once a trip, to an element that is the same in all trips and only added to in them."""
        inside = loop.body.defines
        looked_at: dict[ir.Operand, list[ir.Op]] = {}
        for op in ir.walk(loop.body):
            if not isinstance(op, ir.Store | ir.Extent) or (isinstance(op, ir.Store) and not op.add):
                for memory in _memory(op, self.aliases):
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
        return not any(self.index_model.may_meet(op, self.asked(add), loop) for op in others)

    def unless_empty(self, loop: ir.For, stores: Sequence[ir.Op]) -> Sequence[ir.Op]:
        """Stores that are made only if the loop makes a trip, as their elements may not be there otherwise."""
        builder = ir.Builder()
        with builder.when(has_trips(builder, loop, self.made)):
            builder.ops.extend(stores)
        return builder.ops


def _memory(op: ir.Op, aliases: Aliases) -> set[ir.Operand]:
    """The alias classes that an operation itself may touch; for one that makes or passes on names, those too."""
    arrays = [*op.memory_read, *(o for o in op.operands if ir.is_array(o)), *(r for r in op.results if ir.is_array(r))]
    return {aliases.find(a) for a in arrays}


def _with_sums(
    body: ir.Region, args: Mapping[ir.Store, ir.Var], sums: Sequence[ir.Var]
) -> tuple[list[ir.Op], list[ir.Var]]:
    builder = ir.Builder()
    current: dict[ir.Var, ir.Var] = {arg: arg for arg in sums}
    for op in body.ops:
        if isinstance(op, ir.Store) and op in args:
            builder.origin = op.origin
            arg = args[op]
            current[arg] = builder.call(operator.add, current[arg], op.value, type=arg.type, name=arg.name)
        else:
            builder.ops.append(op)
    return builder.ops, list(current.values())
