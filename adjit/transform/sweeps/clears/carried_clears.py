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
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import is_clear
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.trip_counts import has_trips
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.sweeps.clears.clears import touches


def carry_clears(function: ir.Function) -> ir.Function:
    """The function without the clears in its outermost loops that the next trip makes superfluous."""
    for clear in [op for op in ir.walk(function.body) if isinstance(op, ir.Store) and is_clear(op)]:
        search = function.analysis(CarriedClears)
        found = next(search.pairs(clear), None)
        if found is not None:
            addition = dataclasses.replace(found.addition, add=False)
            instead = {clear: (), found.addition: (addition,), found.loop: (found.loop, *search.clearing(found))}
            function = ir.with_body(function, ir.replaced(function.body, instead))
    return function


@dataclass(frozen=True)
class _Spot:
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


@dataclass(frozen=True)
class _Pair:
    """A clear of one trip of a loop and the addition of the next; `out`: the array after the loop, if that is read."""

    loop: ir.For
    clear: _Spot
    addition: ir.Store
    out: ir.Operand | None


class CarriedClears:
    def __init__(self, function: ir.Function):
        self.function = function
        self.ops = function.body.ops
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)
        self.naturals = function.analysis(Naturals)
        self.outer = {*function.body.args, *(out for op in self.ops for out in op.results)}

    def carried(
        self, clear: ir.Store, addition: ir.Store, later: Collection[ir.Op]
    ) -> tuple[ir.For, Sequence[ir.Op]] | None:
        """The loop of which a trip adds to what the one before clears, and what is left to clear after it, if any is.

        The addition may be in the making, at the start of the clear's trip. `later`: operations of its nest that will
        come after that.
        """
        found = next(self.pairs(clear, addition, later), None)
        return None if found is None else (found.loop, self.clearing(found))

    def pairs(self, clear: ir.Store, wanted: ir.Store | None = None, later: Collection[ir.Op] = ()) -> Iterator[_Pair]:
        chain = self.iterations.places[clear].chain
        loop = chain[0][0] if chain else None
        if not isinstance(loop, ir.For) or loop.stops or loop.parallel:
            return
        k, own = self.ops.index(loop), self.spot(clear)
        memory, elements = self.aliases.find(clear.array), self.elements(own)
        touching = [op for op in ir.walk(loop.body) if op not in later and touches(op, memory, self.aliases)]
        spots = [self.spot(op) for op in touching if isinstance(op, ir.Load | ir.Store)]
        if wanted is not None and wanted not in touching:
            spots.append(_Spot(wanted, own.nest, self.iterations.places[own.nest[-1]].order))
        if elements is None or len(spots) < len(touching):
            return
        for target, init, out in self.successors(loop, clear.array):
            if not all(s.op.array in (target, clear.array) for s in spots) or not self.starts_at_zero(k, init):
                continue
            if target is not clear.array and not self.aliases.are_distinct(target, clear.array):
                continue
            first = [s for s in spots if s.op.array is target]
            last = [s for s in spots if s.op.array is clear.array and s.op is not clear]
            for spot in first:
                is_addition = isinstance(spot.op, ir.Store) and spot.op.add and wanted in (None, spot.op)
                if not is_addition or self.elements(spot) != elements:
                    continue
                if all(s is spot or spot.is_before(s) for s in first) and all(s.is_before(own) for s in last):
                    assert isinstance(spot.op, ir.Store)
                    yield _Pair(loop, own, spot.op, out if self.is_read_after(k, memory) else None)

    def spot(self, op: ir.Load | ir.Store) -> _Spot:
        place = self.iterations.places[op]
        return _Spot(op, tuple(around for around, _ in place.chain[1:]), place.order)

    def successors(self, loop: ir.For, array: ir.Operand) -> Iterator[tuple[ir.Operand, ir.Operand, ir.Operand]]:
        """What the next trip calls the array, and what that is called before the loop and after it."""
        if array in self.outer:
            yield array, array, array
        for slot, yielded in enumerate(loop.body.yields):
            if yielded is array and array in loop.body.args:
                yield loop.body.args[1 + slot], loop.inits[slot], loop.outs[slot]

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
        shifts = [self.shifted(index, ranges) for index in spot.op.index]
        places = [(i, 0) if shift is None else shift for i, shift in zip(spot.op.index, shifts, strict=True)]
        if sorted(map(id, ranges)) != sorted(id(shift[0]) for shift in shifts if shift is not None):
            return None
        if not all(i in ranges or i in self.outer or isinstance(i, ir.Const) for i, _ in places):
            return None
        return [(ranges.get(i, i), shift) for i, shift in places]

    def shifted(self, operand: ir.Operand, counters: Collection[ir.Operand]) -> tuple[ir.Operand, int] | None:
        """The counter that this is, and how much more. (Less could be below zero, and another element.)"""
        if operand in counters:
            return operand, 0
        match self.function.body.made.get(operand):
            case ir.Call(callee=operator.add, args=(counter, ir.Const(value=int(more)))) if (
                counter in counters and more > 0
            ):
                return counter, more
        return None

    def starts_at_zero(self, k: int, init: ir.Operand) -> bool:
        """Whether the array is all zeros before operation `k`: it is made so, and nothing is stored to it."""
        memory = self.aliases.find(init)
        if any(ir.is_reference(p) and self.aliases.find(p) == memory for p in self.function.body.args):
            return False
        for op in ir.walk(self.function.body):
            if not any(ir.is_reference(out) and self.aliases.find(out) == memory for out in op.results):
                continue
            is_zero = isinstance(op, ir.Alloc) and op.fill is not None and op.fill.value == 0 and op.out in self.outer
            if not is_zero and not isinstance(op, ir.For | ir.While):
                return False
        stores = [s for op in self.ops[:k] for s in ir.with_inner(op) if isinstance(s, ir.Store | ir.Push)]
        return all(
            isinstance(store, ir.Store) and store.array in self.outer and self.aliases.are_distinct(store.array, init)
            for store in stores
            if touches(store, memory, self.aliases)
        )

    def is_read_after(self, k: int, memory: ir.Operand) -> bool:
        later = (inner for op in self.ops[k + 1 :] for inner in ir.with_inner(op))
        shown = any(ir.is_reference(y) and self.aliases.find(y) == memory for y in self.function.body.yields)
        return shown or any(touches(op, memory, self.aliases) for op in later)

    def clearing(self, pair: _Pair) -> list[ir.Op]:
        """The clear that is left over: that of the last trip, if there is one and anything reads the elements."""
        if pair.out is None:
            return []
        clear = pair.clear.op
        assert isinstance(clear, ir.Store)
        writer = Writer(clear.origin)
        with writer.when(has_trips(writer, pair.loop, self.function.body.made)):
            self.cleared(writer, pair.clear, pair.out, ir.Cloner())
        return writer.ops

    def cleared(self, writer: Writer, clear: _Spot, out: ir.Operand, cloner: ir.Cloner, depth: int = 0) -> None:
        if depth < len(clear.nest):
            loop = clear.nest[depth]
            assert isinstance(loop, ir.For)
            counter, bounds = loop.body.args[0], self.iterations.bounds(loop)
            assert bounds is not None
            start, stop = map(writer.integer, bounds)
            with writer.loop(stop, counter.name, start=start, order_free=True) as own:
                cloner.mapping[counter] = own
                self.cleared(writer, clear, out, cloner, depth + 1)
            return
        made = self.function.body.made
        for index in clear.op.index:
            if self.shifted(index, cloner.mapping) is not None and index not in cloner.mapping:
                writer.emit(cloner.op(made[index]))
        assert isinstance(clear.op, ir.Store)
        writer.store(out, [cloner.operand(i) for i in clear.op.index], clear.op.value)
