"""Pairs: trips that add to what they are about and, in a loop over all others, to what those are about.

In: a function. Out: the same, in which an element gets what it has of pairs from one thread.

    for i in range(n):                        for j in range(n):
        for j in range(m):                        total = 0.0
            c = f(x[i], x[j])                     for i in range(n): total -= f(x[i], x[j])
            x_bar[i] += c             ──►         x_bar[j] += total
            x_bar[j] -= c                     for i in range(n):
                                                  total = 0.0
                                                  for j in range(m): total += f(x[i], x[j])
                                                  x_bar[i] += total

What a pair makes is made twice, in the place of an atomic addition for each; also what an earlier loop of the trip
kept of it, on a tape of its own. The loop over the others has the same
range in all trips, and nothing that the first of the two reads is changed before it has read it.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.gpu.sums.uniform_sums import MOST_TRIPS, together
from adjit.transform.ir.types import is_scalar, typed_const
from adjit.transform.rewrite.simplify import simplify

MOST_SUMS = 16  # of one thread, for the elements that it is about


def by_pairs(function: ir.Function) -> ir.Function:
    """The function with such loops apart."""
    pairs, untaped = _Pairs(function), dict[ir.Op, Sequence[ir.Op]]()
    for loop in together(function):
        for inner, _, _ in pairs.about(loop) if loop.level is None else ():
            untaped[inner] = [_without_tapes(function, loop, inner)]
    if any(made is not inner for inner, (made,) in untaped.items()):
        function = simplify(ir.with_body(function, ir.replaced(function.body, untaped)))
    found = _Pairs(function)
    made: dict[ir.Op, Sequence[ir.Op]] = {}
    for loop in together(function):
        if loop.level is None:
            instead = found.apart(loop)
            if instead is not None:
                made[loop] = instead
    return ir.with_body(function, ir.replaced(function.body, made)) if made else function


class _Pairs:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.sharings = LoopDependences(function)

    def apart(self, outer: ir.For) -> Sequence[ir.Op] | None:
        """The two loops in the place of one; None if it is not about pairs."""
        for inner, of_others, of_own in self.about(outer):
            first = self.exchanged(outer, inner, of_others)
            return None if first is None else [first, self.without(outer, inner, of_others, of_own)]
        return None

    def about(self, outer: ir.For) -> Iterator[tuple[ir.For, list[ir.Store], list[ir.Store]]]:
        """Loops over all others, what a trip adds to what that is about, and what it adds to what the outer one is."""
        for inner in outer.body.ops:
            if isinstance(inner, ir.For) and self.is_over_all(inner, outer):
                of_others, of_own, at_last = self.additions(inner, outer)
                both = {self.memory(s) for s in of_others} & {self.memory(s) for s in (*of_own, *at_last)}
                # what the others get besides goes with it
                of_own = [s for s in of_own if self.memory(s) in both]
                if both and len(of_others) <= MOST_SUMS and len(of_own) <= MOST_SUMS:
                    yield inner, of_others, of_own

    def memory(self, store: ir.Store) -> ir.Operand:
        return self.aliases.find(store.array)

    def is_over_all(self, inner: ir.For, outer: ir.For) -> bool:
        """Whether it has the same range in all trips of the loop around, of many trips as far as is known."""
        ends, trips = (inner.start, inner.stop, inner.step), literal_trips(inner)
        if trips is not None and len(trips) <= MOST_TRIPS:
            return False  # which are written out, and sums of the loop around
        return not inner.stops and inner.level is None and not any(end in outer.body.defines for end in ends)

    def additions(self, inner: ir.For, outer: ir.For) -> tuple[list[ir.Store], ...]:
        """Those of a trip of the inner loop to what that is about, and to what the outer one is, and those of a trip of
        the outer one to that; nothing else in the outer loop has to do with the memory."""
        counter = inner.body.args[0]
        others, own = list[ir.Store](), list[ir.Store]()
        at_last = [s for s in _conditional(outer.body) if s.add and s.array not in outer.body.defines]
        for store in _conditional(inner.body):
            if not store.add or store.array in outer.body.defines:
                continue
            if counter in store.index and all(i is counter or i not in outer.body.defines for i in store.index):
                others.append(store)
            elif not any(i in inner.body.defines for i in store.index):
                own.append(store)
        known = {*others, *own, *at_last}
        spoiled = {
            self.aliases.find(array)
            for op in outer.body.inside
            if op not in known
            for array in (*op.memory_read, *((op.memory_written,) if op.memory_written is not None else ()))
        }
        return tuple([s for s in each if self.memory(s) not in spoiled] for each in (others, own, at_last))

    # ------------------------------------------------------------------------------------------------ for the others

    def exchanged(self, outer: ir.For, inner: ir.For, stores: Sequence[ir.Store]) -> ir.For | None:
        """The loop over the others, each of which adds up what all trips have for it."""
        place = outer.body.ops.index(inner)
        wanted = self.wanted(outer, inner, stores)
        if wanted is None:
            return None
        before = [op for op in outer.body.ops[:place] if op in wanted]
        kept = ir.with_ops(inner.body, _kept(inner.body.ops, wanted, stores))
        args = [ir.Var("total", store.value.type) for store in stores]
        ops, sums = _summed(kept.ops, dict(zip(stores, args, strict=True)))
        body = ir.Region((outer.body.args[0], *args), (*before, *ops), tuple(sums))
        outs = tuple(dataclasses.replace(arg) for arg in args)
        inits = tuple(typed_const(0, arg.type) for arg in args)
        loop = dataclasses.replace(
            outer, inits=inits, body=body, outs=outs, parallel=False, order_free=False, pair=None, is_mirror=False
        )
        added = [dataclasses.replace(s, value=out, promised=False) for s, out in zip(stores, outs, strict=True)]
        around = ir.Region((inner.body.args[0],), (loop, *added), ())
        made = dataclasses.replace(
            inner, inits=(), body=around, outs=(), parallel=outer.parallel, order_free=False, pair=None, is_mirror=False
        )
        copied = ir.Cloner().op(made)
        assert isinstance(copied, ir.For)
        return copied

    def wanted(self, outer: ir.For, inner: ir.For, stores: Sequence[ir.Store]) -> set[ir.Op] | None:
        """The operations that what is stored hangs on; None if they are more than numbers of elements that stay."""
        made = outer.body.made
        carried = {*inner.body.args[1:], *inner.outs, *outer.body.args[1:]}
        holders = {store: branch for branch in outer.body.inside for store in _inside(branch)}
        found: set[ir.Op] = set()
        pending: list[ir.Operand] = [o for s in stores for o in (*s.index, s.value)]
        pending += [branch.condition for s in stores for branch in _branches(s, holders)]
        while pending:
            operand = pending.pop()
            if operand in carried:
                return None
            op = made.get(operand)
            if op is None or op in found:
                continue
            found.add(op)
            if isinstance(op, ir.If):
                if not all(isinstance(i, ir.Call | ir.Load | ir.Extent | ir.If) for r in op.regions for i in r.inside):
                    return None
                found.update(i for r in op.regions for i in r.inside)
            elif not isinstance(op, ir.Call | ir.Load | ir.Extent):
                return None
            pending += op.reads
            pending += [branch.condition for branch in _branches(op, holders)]
        return found if all(self.stays(op, outer, inner) for op in found) else None

    def stays(self, op: ir.Op, outer: ir.For, inner: ir.For) -> bool:
        """Whether an operation gives before the loop what it gives in it."""
        if isinstance(op, ir.Call):
            return not op.effect and all(is_scalar(o.type) for o in (*op.args, *op.outs))
        if not isinstance(op, ir.Load):
            return True
        memory = self.aliases.find(op.array)
        stores = [
            s
            for s in outer.body.inside
            if s.memory_written is not None and self.aliases.find(s.memory_written) == memory
        ]
        if not stores:
            return True
        shared = self.sharings.of(outer)
        is_own = not isinstance(shared, Serial) and any(self.aliases.find(v) == memory for v in shared.disjoint)
        order = list(outer.body.inside)
        is_first = op not in inner.body.inside and all(order.index(op) < order.index(s) for s in stores)
        return is_own and is_first

    # -------------------------------------------------------------------------------------------------- for its own

    def without(
        self, outer: ir.For, inner: ir.For, of_others: Collection[ir.Store], of_own: Sequence[ir.Store]
    ) -> ir.For:
        """The loop with what it adds to its own elements as sums, and nothing for the others."""
        left = ir.replaced(inner.body, dict.fromkeys(of_others, ()))
        args = [ir.Var("total", store.value.type) for store in of_own]
        ops, sums = _summed(left.ops, dict(zip(of_own, args, strict=True)))
        slots = [
            ir.Slot(typed_const(0, arg.type), arg, total, dataclasses.replace(arg))
            for arg, total in zip(args, sums, strict=True)
        ]
        loop = ir.with_slots(ir.with_regions(inner, [left]), slots, ops)
        added = [dataclasses.replace(s, value=slot.out) for s, slot in zip(of_own, slots, strict=True)]
        place = outer.body.ops.index(inner)
        body = ir.with_ops(outer.body, (*outer.body.ops[:place], loop, *added, *outer.body.ops[place + 1 :]))
        return ir.with_regions(outer, [body])


def _without_tapes(function: ir.Function, outer: ir.For, inner: ir.For) -> ir.For:
    """The loop over the others, in which what an earlier one kept of each pair is made again."""
    made: dict[ir.Op, Sequence[ir.Op]] = {}
    names: dict[ir.Var, ir.Operand] = {}
    aliases = function.analysis(Aliases)
    changed = {aliases.find(array) for op in outer.body.inside if (array := op.memory_written) is not None}
    written = {op.array for op in outer.body.inside if isinstance(op, ir.Load) and aliases.find(op.array) in changed}
    for load in inner.body.inside:
        kept = _kept_of_each(function, outer, inner, load)
        if kept is None:
            continue
        earlier, store = kept
        wanted = _pure_slice(earlier, store.value, written)
        if wanted is None:
            continue
        cloner = ir.Cloner({earlier.body.args[0]: inner.body.args[0]})
        made[load] = [cloner.op(op) for op in earlier.body.inside if op in wanted]
        names[load.results[0]] = cloner.operand(store.value)
    if not made:
        return inner
    # a value may be made again of others that are
    body = ir.substituted_region(ir.replaced(inner.body, made), names)
    return ir.with_regions(inner, [body])


def _kept_of_each(function: ir.Function, outer: ir.For, inner: ir.For, load: ir.Op) -> tuple[ir.For, ir.Store] | None:
    """The loop that kept, for each pair, what is loaded, and the store that did; None if it is no such load."""
    if not isinstance(load, ir.Load) or load.index != (inner.body.args[0],):
        return None
    alloc = function.body.made.get(load.array)
    if not isinstance(alloc, ir.Alloc) or alloc.role is None or alloc.role.kind != "tape":
        return None
    users = [op for op in function.body.inside if load.array in op.reads and not op.regions]
    stores = [op for op in users if op.memory_written is load.array]
    # one that each trip writes for itself
    is_own = set(outer.body.inside).issuperset(users) and all(isinstance(op, ir.Load | ir.Store) for op in users)
    if len(stores) != 1 or not is_own:
        return None
    (store,) = stores
    for earlier in outer.body.ops[: outer.body.ops.index(inner)]:
        is_there = isinstance(earlier, ir.For) and store in earlier.body.inside
        if is_there and isinstance(store, ir.Store) and not store.add and store.index == earlier.body.args[:1]:  # type: ignore[attr-defined]
            return earlier, store  # type: ignore[return-value]
    return None


def _pure_slice(loop: ir.For, value: ir.Operand, written: Collection[ir.Operand]) -> set[ir.Op] | None:
    """The operations of a trip that a value hangs on; None if they are more than numbers of elements that stay."""
    inside, found, pending = loop.body.made, set[ir.Op](), [value]
    while pending:
        operand = pending.pop()
        if operand in loop.body.args[1:]:
            return None
        op = inside.get(operand)
        if op is None or op in found:
            continue
        is_number = isinstance(op, ir.Call) and not op.effect and all(is_scalar(o.type) for o in (*op.args, *op.outs))
        if (
            not is_number
            and not (isinstance(op, ir.Load) and op.array not in written)
            and not isinstance(op, ir.Extent)
        ):
            return None
        found.add(op)
        pending += op.operands
    return found


def _inside(op: ir.Op) -> Sequence[ir.Op]:
    """What stands in a branch, in neither of its branches' branches."""
    return [inner for region in op.regions for inner in region.ops] if isinstance(op, ir.If) else ()


def _branches(op: ir.Op, holders: Mapping[ir.Op, ir.Op]) -> Sequence[ir.If]:
    """The branches around an operation."""
    found: list[ir.If] = []
    while isinstance(branch := holders.get(op), ir.If):
        found.append(branch)
        op = branch
    return found


def _conditional(region: ir.Region) -> Sequence[ir.Store]:
    """The stores of a trip, those in branches too, without those of loops."""
    found: list[ir.Store] = []
    for op in region.ops:
        if isinstance(op, ir.Store):
            found.append(op)
        elif isinstance(op, ir.If):
            found += [store for inner in op.regions for store in _conditional(inner)]
    return found


def _kept(ops: Sequence[ir.Op], wanted: Collection[ir.Op], stores: Collection[ir.Op]) -> list[ir.Op]:
    """Those of the operations that are wanted, and branches around these stores."""
    found: list[ir.Op] = []
    for op in ops:
        if op in stores or op in wanted:
            found.append(op)
        elif isinstance(op, ir.If) and any(inner in stores for inner in ir.with_inner(op)):
            narrow = ir.with_results(op, [])
            regions = [ir.with_ops(r, _kept(r.ops, wanted, stores)) for r in narrow.regions]
            found.append(ir.with_regions(narrow, regions))
    return found


def _summed(ops: Sequence[ir.Op], sums: Mapping[ir.Store, ir.Operand]) -> tuple[Sequence[ir.Op], Sequence[ir.Operand]]:
    """The operations with additions to sums in the place of these stores, and what the sums are then, in order."""
    now, builder = dict(sums), ir.Builder()
    for op in ops:
        builder.origin = op.origin
        if isinstance(op, ir.Store) and op in now:
            so_far = now[op]
            now[op] = builder.call(operator.add, so_far, op.value, type=so_far.type, name=ir.name_of(so_far, "total"))
        elif isinstance(op, ir.If) and any(inner in now for inner in ir.with_inner(op)):
            own = [s for s in now if s in set(ir.with_inner(op))]
            parts = [_summed(region.ops, {s: now[s] for s in own}) for region in op.regions]
            outs = tuple(ir.Var(ir.name_of(now[s], "total"), now[s].type) for s in own)
            regions = [
                ir.Region((), tuple(made), (*region.yields, *totals))
                for region, (made, totals) in zip(op.regions, parts, strict=True)
            ]
            builder.emit(dataclasses.replace(op, then=regions[0], orelse=regions[1], outs=(*op.outs, *outs)))
            now.update(zip(own, outs, strict=True))
        else:
            builder.ops.append(op)
    return builder.ops, list(now.values())
