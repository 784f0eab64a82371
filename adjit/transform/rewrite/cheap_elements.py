"""Elements of temporaries that cost less than their memory are worked out where they are read.

In: a function whose array statements are fused. Out: the same without such arrays.

    for k in range(n):                           for k in range(n):
        d[k] = a[k] - b[k]                           s += (a[k] - b[k]) ** 2
        s += d[k] ** 2                           w = f(s)
    w = f(s)                                     for k in range(n):
    for k in range(n): c[k] += w * d[k]              c[k] += w * (a[k] - b[k])

The loops are array statements. That is what a person writes for coordinates of differences. What the elements are made
of must not change in between. Elements that are picked out, by an index that is no counter, are fewer than there are:
those are worked out there even if they cost more, and before maps are fused.

    p = x - np.log(total)                        for i in range(n): s += x[i, label[i]] - log[i]
    s = p[np.arange(n), label].sum()
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import LOAD, cost
from adjit.transform.analysis.uses import Uses
from adjit.transform.rewrite.simplify import simplify

MOST_CYCLES = 4  # of an element, beside those to load one
MOST_REPEATED = 1  # of an element that would be worked out once a trip of a loop that it does not depend on
MOST_PLACES = 4  # where it is worked out
MOST_PICKED = 5  # of an element that is picked out


def substitute_elements(function: ir.Function) -> ir.Function:
    """The function with cheap elements in the place of arrays."""
    while (found := _Substitution(function).once()) is not None:
        function = simplify(found)
    return function


def substitute_picked(function: ir.Function) -> ir.Function:
    """The function with cheap elements worked out where they are picked out of an array."""
    while (found := _Picking(function).once()) is not None:
        function = simplify(found)
    return function


# what is to stand for operations, and for numbers
_Edits = tuple[dict[ir.Op, Sequence[ir.Op]], dict[ir.Var, ir.Operand]]


class _Substitution:
    most_cycles = MOST_CYCLES

    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases = function.analysis(Aliases)
        self.uses = function.analysis(Uses)
        self.made = function.body.made
        self.counters = self.uses.counters
        self.instead: dict[ir.Op, Sequence[ir.Op]] = {}
        self.mapping: dict[ir.Var, ir.Operand] = {}
        self.read: set[ir.Operand] = set()  # by what is worked out elsewhere
        self.taken: set[ir.Operand] = set()  # arrays that are not there any more, or wait for others to go

    def once(self) -> ir.Function | None:
        """The function without such arrays, of which none has to do with another one; None if there are none."""
        for op in self.made.values():
            if isinstance(op, ir.Alloc) and op.out not in self.uses.held:
                self.take_out(op)
        if not self.mapping:
            return None
        body = ir.replaced(self.function.body, self.instead)
        return ir.with_body(self.function, ir.substituted_region(body, self.mapping))

    def take_out(self, alloc: ir.Alloc) -> None:
        """Has the element worked out in the place of the array's loads, where it may be, and should."""
        users = self.uses.users.get(alloc.out, [])
        stores = [op for op in users if isinstance(op, ir.Store)]
        loads = [op for op in users if isinstance(op, ir.Load)]
        if len(stores) != 1 or len(stores) + len(loads) != len(users) or not 0 < len(loads) <= MOST_PLACES:
            return
        (store,), region = stores, self.uses.home[alloc]
        loads = [load for load in loads if self.is_meant(load, store, region)]
        nest = self.uses.within(store, region)
        # what the user wrote as loops stays one
        if store.add or nest is None or not all(isinstance(op, ir.For) and op.order_free for op in nest[:-1]):
            return
        ranges = [self.counters[index] for index in store.index if index in self.counters]
        if not len(ranges) == len(store.index) == len(nest) - 1 or set(ranges) != set(nest[:-1]):
            return
        element = self.element(store.value, nest[0]) if loads else None
        if element is None or not self.stays(element, region, nest[0], loads):
            return
        arrays = {op.array for op in element if isinstance(op, ir.Load)}
        if alloc.out in self.read or not arrays.isdisjoint(self.taken):
            self.taken.add(alloc.out)
            return
        found = self.substituted(store, ranges, element, loads, nest[0])
        if found is not None:
            self.taken.add(alloc.out)
            if self.instead.keys().isdisjoint(found[0]):
                self.instead |= found[0]
                self.mapping |= found[1]
                self.read |= arrays

    # ------------------------------------------------------------------------------------------- may it be

    def is_meant(self, load: ir.Load, store: ir.Store, region: ir.Region) -> bool:
        """Whether the element is to be worked out in the place of a load: of all, or of none."""
        return True

    def element(self, value: ir.Operand, nest: ir.Op) -> list[ir.Op] | None:
        """The operations of a nest that make a value; None if they cost too much, or do not stand alone."""
        inside = set(ir.with_inner(nest))
        counters = {op.body.args[0] for op in inside if isinstance(op, ir.For)}
        args = {a for op in inside for r in op.regions for a in r.args} - counters
        found: dict[ir.Op, None] = {}
        pending = [value]
        while pending:
            operand = pending.pop()
            if operand in args:
                return None
            op = self.made.get(operand)
            if op in found or op not in inside:
                continue
            if not isinstance(op, ir.Call | ir.Load):
                return None
            found[op] = None
            pending += op.operands
        if not found or None in map(cost, found) or sum(cost(op) or 0 for op in found) > self.most_cycles + LOAD:
            return None
        return [op for op in ir.with_inner(nest) if op in found]

    def stays(self, element: list[ir.Op], region: ir.Region, nest: ir.Op, loads: list[ir.Load]) -> bool:
        """Whether all loads come later in the region, and nothing changes what the element is made of before them."""
        chains = (self.uses.within(load, region) for load in loads)
        places = [region.ops.index(chain[0]) for chain in chains if chain is not None]
        first = region.ops.index(nest)
        if len(places) < len(loads) or min(places) <= first:
            return False
        memory = {self.aliases.find(op.array) for op in element if isinstance(op, ir.Load)}
        between = [inner for op in region.ops[first : max(places) + 1] for inner in ir.with_inner(op)]
        written = [op.memory_written for op in between]
        return not any(w is not None and self.aliases.find(w) in memory for w in written)

    # ------------------------------------------------------------------------------------------- doing it

    def substituted(
        self, store: ir.Store, ranges: list[ir.For], element: list[ir.Op], loads: list[ir.Load], nest: ir.Op
    ) -> _Edits | None:
        """The element worked out in the innermost loops whose counters the loads are indexed by.

        Where those are around the nest that made the array, that is where the nest stands: what the element is made of
        may come to be what it is in the same trip.
        """
        assert isinstance(store.array, ir.Var)
        heads: dict[ir.Op, list[ir.Op]] = {}  # for a loop what its trips begin with, for the nest what comes before it
        values: dict[tuple[ir.Op, tuple[ir.Operand, ...]], ir.Operand] = {}
        mapping: dict[ir.Var, ir.Operand] = {}
        for load in loads:
            others = [self.counters[index] for index in load.index if index in self.counters]
            if list(map(_range, others)) != list(map(_range, ranges)):
                return None
            around = self.uses.around[load]
            inner: ir.Op = [op for op in around if op in others][-1]
            repeated = [op for op in around[: around.index(inner)] if isinstance(op, ir.For | ir.While)]
            if set(repeated) - set(others) - set(self.uses.around[nest]) and _cycles(element) > MOST_REPEATED:
                return None
            if self.uses.within(inner, self.uses.home[nest]) is None:
                inner = nest
            key = (inner, load.index)
            if key not in values:
                cloner = ir.Cloner(dict(zip((loop.body.args[0] for loop in ranges), load.index, strict=True)))
                *made, last = (cloner.op(op) for op in element)
                values[key] = named = ir.Var(store.array.name, store.value.type, store.array.user)
                value = cloner.operand(store.value)
                last = last.rebuilt(last.operands, (), [named if out is value else out for out in last.results])
                heads.setdefault(inner, []).extend((*made, last))
            mapping[load.out] = values[key]
        instead: dict[ir.Op, Sequence[ir.Op]] = dict.fromkeys((store, *loads), ())
        for op, head in heads.items():
            assert isinstance(op, ir.For)
            inside = ir.with_ops(op.body, (*head, *op.body.ops))
            instead[op] = (*head, op) if op is nest else (ir.with_regions(op, [inside]),)
        return instead, mapping


class _Picking(_Substitution):
    most_cycles = MOST_PICKED

    def is_meant(self, load: ir.Load, store: ir.Store, region: ir.Region) -> bool:
        """Whether it picks elements out, and not each again and again: fewer loops are around it than there are axes,
        which are array statements or go along an axis."""
        chain = self.uses.within(load, region)
        if chain is None:
            return False
        loops = [op for op in chain if isinstance(op, ir.For | ir.While)]
        is_once = all(isinstance(op, ir.For) and (op.order_free or op.body.args[0] in load.index) for op in loops)
        return is_once and len(loops) < len(store.index)

    def substituted(
        self, store: ir.Store, ranges: list[ir.For], element: list[ir.Op], loads: list[ir.Load], nest: ir.Op
    ) -> _Edits | None:
        """The element worked out in the place of the loads, in which an index may be below zero; of one array."""
        if self.mapping:
            return None
        assert isinstance(store.array, ir.Var)
        counters: dict[ir.Operand, ir.For] = {loop.body.args[0]: loop for loop in ranges}
        if not all(self.is_along(store.array, axis, counters[index]) for axis, index in enumerate(store.index)):
            return None
        for op in element:
            if not isinstance(op, ir.Load):
                if not counters.keys().isdisjoint(op.operands):
                    return None
            elif any(i in counters and not self.is_along(op.array, k, counters[i]) for k, i in enumerate(op.index)):
                return None
        instead: dict[ir.Op, Sequence[ir.Op]] = {}
        mapping: dict[ir.Var, ir.Operand] = {}
        for load in loads:
            cloner = ir.Cloner(
                {i: own for i, own in zip(store.index, load.index, strict=True) if isinstance(i, ir.Var)}
            )
            instead[load] = [cloner.op(op) for op in element]
            mapping[load.out] = cloner.operand(store.value)
        if len(loads) == len(self.uses.users[store.array]) - 1:
            instead[store] = ()
        return instead, mapping

    def is_along(self, array: ir.Operand, axis: int, loop: ir.For) -> bool:
        """Whether a loop's counter takes each index of an axis."""
        iterations = self.function.analysis(Iterations)
        stop = iterations.value(loop.stop)
        is_from_zero = (loop.start, loop.step) == (ir.integer(0), ir.integer(1))
        return is_from_zero and stop is not None and stop == iterations.extent(array, axis)


def _cycles(element: Sequence[ir.Op]) -> int:
    """What the elements takes beside its loads."""
    return sum(cost(op) or 0 for op in element if not isinstance(op, ir.Load))


def _range(loop: ir.For) -> tuple[ir.Operand, ir.Operand, ir.Operand]:
    return loop.start, loop.stop, loop.step
