"""Sums of inner loops, for an element that all trips of a launch add to: each trip adds its own term.

In: a function. Out: the same, so that the loops are a nest, whose trips are threads each. Who adds up what, and where,
is decided for the nest then.

    for i in range(n):                          for i in range(n):
        k_bar_sum = 0.0                             for j in range(m):
        for j in range(m):                              k_bar[0] += u[i, j] * v_bar[i, j]
            k_bar_sum += u[i, j] * v_bar[i, j]
        if m > 0: k_bar[0] += k_bar_sum
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.analysis.trip_counts import has_trips
from adjit.transform.gpu.sums.uniform_sums import MOST_SUMS, together, uniform_additions


def added_by_terms(function: ir.Function) -> ir.Function:
    """The function with such sums as additions of their terms."""
    while True:
        found = _Terms(function).of_one_loop()
        if found is None:
            return function
        function = ir.with_body(function, ir.replaced(function.body, found))


class _Terms:
    def __init__(self, function: ir.Function):
        self.function, self.made = function, function.body.made

    def of_one_loop(self) -> dict[ir.Op, Sequence[ir.Op]] | None:
        """What takes the place of a loop that makes such sums, and of what adds them; None if there is none."""
        for launched in together(self.function):
            if launched.level is not None:
                continue
            uniform = set(uniform_additions(self.function, launched, ()))
            if len({(store.array, store.index) for store in uniform}) > MOST_SUMS:
                continue  # they stay additions, of as few numbers as can be
            for region in (launched.body, *(r for op in launched.body.inside for r in op.regions)):
                for place, op in enumerate(region.ops):
                    if isinstance(op, ir.For) and not op.stops and op.outs:
                        found = self.of_loop(op, region.ops[place + 1 :], uniform, launched)
                        if found:
                            return found
        return None

    def of_loop(
        self, loop: ir.For, after: Sequence[ir.Op], uniform: Collection[ir.Store], launched: ir.For
    ) -> dict[ir.Op, Sequence[ir.Op]]:
        own = {slot.out: slot for slot in loop.slots if ir.is_literal(slot.init, 0)}
        gone: dict[ir.Op, Sequence[ir.Op]] = {}
        stores: dict[ir.Operand, ir.Store] = {}  # by what a sum is called on its way
        kept = list(range(len(loop.outs)))
        for op in after:
            for store in self.adding(op, loop):
                slot = own.get(store.value) if isinstance(store.value, ir.Var) else None
                if slot is None or store not in uniform or self.is_read_again(store, launched):
                    continue
                names = partial_sums(slot.arg, slot.yielded, loop.body)
                if names is not None:
                    stores.update(dict.fromkeys(names, store))
                    kept.remove(loop.outs.index(slot.out))
                    gone[store] = ()
        if not gone:
            return {}
        body = ir.with_ops(loop.body, _with_terms(loop.body.ops, stores))
        return {**gone, loop: [ir.with_results(ir.with_regions(loop, [body]), kept)]}

    def adding(self, op: ir.Op, loop: ir.For) -> list[ir.Store]:
        """The additions that an operation after a loop is, if they are made where that has trips."""
        if isinstance(op, ir.Store):
            return [op]
        if not isinstance(op, ir.If) or op.orelse.ops or not self.says_that_it_runs(op.condition, loop):
            return []
        return [inner for inner in op.then.ops if isinstance(inner, ir.Store)]

    def says_that_it_runs(self, condition: ir.Operand, loop: ir.For) -> bool:
        builder, test = ir.Builder(), self.made.get(condition)
        has_trips(builder, loop, self.made)
        same = builder.ops[-1]
        if not isinstance(test, ir.Call) or not isinstance(same, ir.Call) or len(builder.ops) > 1:
            return False
        return (test.callee, test.args) == (same.callee, same.args)

    def is_read_again(self, store: ir.Store, launched: ir.For) -> bool:
        """Whether something else reads the sum."""
        readers = [op for op in launched.body.inside if any(o is store.value for o in op.operands)]
        handed = [y for op in launched.body.inside for r in op.regions for y in r.yields if y is store.value]
        return readers != [store] or bool(handed) or any(y is store.value for y in launched.body.yields)


def _with_terms(ops: Sequence[ir.Op], stores: Mapping[ir.Operand, ir.Store]) -> list[ir.Op]:
    """The operations with the additions to sums, by the names of these, as those to their elements."""
    builder = ir.Builder()
    for op in ops:
        if isinstance(op, ir.Call) and op.outs and op.outs[0] in stores:
            builder.origin = op.origin
            term = next(arg for arg in op.args if arg not in stores)
            if ir.canonical(op.callee) is operator.sub:
                term = builder.call(operator.neg, term, type=term.type, name="term")
            store = stores[op.outs[0]]
            builder.ops.append(dataclasses.replace(store, value=term, origin=op.origin or store.origin))
        elif isinstance(op, ir.If | ir.For) and any(out in stores for out in op.outs):
            regions = [ir.with_ops(region, _with_terms(region.ops, stores)) for region in op.regions]
            others = [k for k, out in enumerate(op.outs) if out not in stores]
            builder.ops.append(ir.with_results(ir.with_regions(op, regions), others))
        else:
            builder.ops.append(op)
    return builder.ops
