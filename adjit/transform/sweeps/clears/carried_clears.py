"""Elements that one trip of a loop clears and the next one adds to are stored to.

    for t in range(n - 1, -1, -1):             for t in range(n - 1, -1, -1):
        for i in range(m):                         for i in range(m):
            e = v_bar[i]; v_bar[i] = 0.0               e = v_bar[i]
            u_bar[i] += f(e)                           u_bar[i] = f(e)
        u_bar, v_bar = v_bar, u_bar                u_bar, v_bar = v_bar, u_bar
                                               if n > 0:
                                                   for i in range(m): u_bar[i] = 0.0

In: a function. Out: the same with such pairs made one store. By induction over the trips: the elements are zero before
the loop, the addition is the first that happens to them in a trip, and the clear the last that happens to those of the
array that the next trip adds to. Where they are read after the loop they are cleared there, once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import is_clear
from adjit.transform.analysis.integers import Naturals, parted
from adjit.transform.analysis.trip_counts import has_trips
from adjit.transform.rewrite.affine_ops import Writer


def carry_clears(function: ir.Function) -> ir.Function:
    """The function without the clears in its outermost loops that the next trip makes superfluous."""
    for clear in [op for op in ir.walk(function.body) if isinstance(op, ir.Store) and is_clear(op)]:
        found = function.analysis(CarriedClears).pair(clear)
        if found is not None:
            addition = dataclasses.replace(found.addition, add=False)
            instead = {clear: (), found.addition: (addition,), found.loop: (found.loop, *found.clearing)}
            function = ir.with_body(function, ir.replaced(function.body, instead))
    return function


class _Spot(NamedTuple):
    """An access in a trip: in what nest there, and after how many operations."""

    op: ir.Load | ir.Store
    nest: tuple[ir.Op, ...]
    order: int

    def is_before(self, other: _Spot) -> bool:
        """Whether all that it does to an element is done before the other one gets there.

        In one trip of one nest, the two are at one element, and no other trip is.
        """
        in_one_nest = self.nest[:1] == other.nest[:1] != ()
        is_alike = self.nest == other.nest and self.op.index == other.op.index
        return self.order < other.order and (is_alike or not in_one_nest)


class Pair(NamedTuple):
    """A loop of which a trip adds to what the one before clears, and what is left to clear after it, if any is."""

    loop: ir.For
    clearing: Sequence[ir.Op]
    addition: ir.Store


class CarriedClears:
    def __init__(self, function: ir.Function):
        self.function = function
        self.ops, self.made = function.body.ops, function.body.made
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)
        self.naturals = function.analysis(Naturals)
        self.outer = {*function.body.args, *(out for op in self.ops for out in op.results)}

    def pair(self, clear: ir.Store, wanted: ir.Store | None = None, later: Collection[ir.Op] = ()) -> Pair | None:
        """The loop and the addition for which the clear need not be.

        wanted: the addition, which may be in the making, at the start of the clear's trip.
        later: operations of its nest that will come after that.
        """
        chain = self.iterations.places[clear].chain
        loop = chain[0][0] if chain else None
        if not isinstance(loop, ir.For) or loop.stops or loop.parallel:
            return None
        k, own = self.ops.index(loop), self.spot(clear)
        memory, elements = self.aliases.find(clear.array), self.elements(own)
        touching = [op for op in self.aliases.touching(loop.body.ops, memory) if op not in later]
        spots = [self.spot(op) for op in touching if isinstance(op, ir.Load | ir.Store)]
        if wanted is not None and wanted not in touching:
            spots.append(_Spot(wanted, own.nest, self.iterations.places[own.nest[-1]].order))
        if elements is None or len(spots) < len(touching):
            return None
        last = [s for s in spots if s.op.array is clear.array and s.op is not clear]
        for target, init, out in self.successors(loop, clear.array):
            if not all(s.op.array in (target, clear.array) for s in spots) or not self.starts_at_zero(k, init):
                continue
            if target is not clear.array and not self.aliases.are_distinct(target, clear.array):
                continue
            first = [s for s in spots if s.op.array is target]
            for spot in first:
                addition = spot.op
                if not isinstance(addition, ir.Store) or not addition.add or wanted not in (None, addition):
                    continue
                is_first = self.elements(spot) == elements and all(s is spot or spot.is_before(s) for s in first)
                if is_first and all(s.is_before(own) for s in last):
                    is_read = self.is_read_after(k, memory)
                    return Pair(loop, self.clearing(clear, own.nest, loop, out) if is_read else (), addition)
        return None

    def spot(self, op: ir.Load | ir.Store) -> _Spot:
        place = self.iterations.places[op]
        return _Spot(op, tuple(around for around, _ in place.chain[1:]), place.order)

    def successors(self, loop: ir.For, array: ir.Operand) -> Iterator[tuple[ir.Operand, ir.Operand, ir.Operand]]:
        """What the next trip calls the array, and what that is called before the loop and after it."""
        if array in self.outer:
            yield array, array, array
        for init, arg, yielded, out in loop.slots:
            if yielded is array and array in loop.body.args:
                yield arg, init, out

    def elements(self, spot: _Spot) -> list[object] | None:
        """Which elements a store in a nest gets to, each once a trip; None where that is not the same in all trips."""
        ranges: dict[ir.Operand, object] = {}
        for op in spot.nest:
            bounds = self.iterations.bounds(op) if isinstance(op, ir.For) and not op.stops else None
            if not isinstance(op, ir.For) or bounds is None or not self.naturals.counts(op):
                return None
            symbols = [symbol for end in bounds for symbol in end.terms]
            if not all((symbol[0] if isinstance(symbol, tuple) else symbol) in self.outer for symbol in symbols):
                return None
            ranges[op.body.args[0]] = bounds
        places = [self.parted(index, ranges) for index in spot.op.index]
        counted = [i for i, _ in places if i in ranges]
        if len(counted) != len(ranges) or set(counted) != set(ranges):
            return None
        if not all(i in ranges or i in self.outer or isinstance(i, ir.Const) for i, _ in places):
            return None
        return [(ranges.get(i, i), shift) for i, shift in places]

    def parted(self, index: ir.Operand, counters: Collection[ir.Operand]) -> tuple[ir.Operand, int]:
        """A counter and how much more the index is, or itself. (Less could be below zero, and another element.)"""
        base, more = parted(index, self.made)
        return (base, more) if base in counters and more >= 0 else (index, 0)

    def starts_at_zero(self, k: int, init: ir.Operand) -> bool:
        """Whether the array is all zeros before operation `k`: it is made so, and nothing is stored to it."""
        memory = self.aliases.find(init)
        if self.aliases.is_named(memory, self.function.body.args):
            return False
        for op in ir.walk(self.function.body):
            is_zeros = isinstance(op, ir.Alloc) and op.fill is not None and op.fill.value == 0 and op.out in self.outer
            is_sure = is_zeros or isinstance(op, ir.For | ir.While)
            if not is_sure and self.aliases.is_named(memory, op.results):
                return False
        before = self.aliases.touching(self.ops[:k], memory)
        stores = [op for op in before if isinstance(op, ir.Store | ir.Push)]
        arrays = [op.array for op in stores if isinstance(op, ir.Store) and op.array in self.outer]
        return len(arrays) == len(stores) and all(self.aliases.are_distinct(array, init) for array in arrays)

    def is_read_after(self, k: int, memory: ir.Operand) -> bool:
        is_shown = self.aliases.is_named(memory, self.function.body.yields)
        return is_shown or any(self.aliases.has_inside(op, memory) for op in self.ops[k + 1 :])

    def clearing(self, clear: ir.Store, nest: Sequence[ir.Op], loop: ir.For, out: ir.Operand) -> list[ir.Op]:
        """The clear that is left over: that of the last trip, if there is one; `out`: the array after the loop."""
        writer = Writer(clear.origin)
        loops = [op for op in nest if isinstance(op, ir.For)]
        bounds = [ends for op in loops if (ends := self.iterations.bounds(op)) is not None]

        def fill(counters: tuple[ir.Var, ...]) -> None:
            cloner = ir.Cloner({op.body.args[0]: counter for op, counter in zip(loops, counters, strict=True)})
            for index in clear.index:
                if index not in cloner.mapping and self.parted(index, cloner.mapping)[0] is not index:
                    writer.emit(cloner.op(self.made[index]))
            writer.store(out, [cloner.operand(i) for i in clear.index], clear.value)

        with writer.when(has_trips(writer, loop, self.made)):
            writer.box(loops, bounds, fill, with_threads=False)
        return writer.ops
