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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import is_clear
from adjit.transform.analysis.trip_counts import has_trips
from adjit.transform.sweeps.clears.clears import is_never_negative


def carry_clears(function: ir.Function) -> ir.Function:
    """The function without the clears in its outermost loops that the next trip makes superfluous."""
    clears = [op for op in ir.walk(function.body) if isinstance(op, ir.Store) and is_clear(op)]
    if not clears:
        return function
    search = _Search(function)
    for clear in clears:
        found = next(search.pairs(clear), None)
        if found is not None:
            function = found.applied(function)
            search = _Search(function)
    return function


@dataclass(frozen=True)
class _Spot:
    """An operation in a trip: in which of the trip's operations, in what nest there, and where in the innermost."""

    op: ir.Op
    top: int
    nest: tuple[ir.Op, ...]
    place: int

    def is_before(self, other: _Spot) -> bool:
        """Whether all that it does to an element is done before the other one gets there.

        In one trip of one nest, the two are at one element, and no other trip is.
        """
        if self.top != other.top:
            return self.top < other.top
        return self.nest == other.nest and _index(self.op) == _index(other.op) and self.place < other.place


def _index(op: ir.Op) -> tuple[ir.Operand, ...]:
    assert isinstance(op, ir.Load | ir.Store)
    return op.index


def _shift(
    operand: ir.Operand, counters: Collection[ir.Operand], definitions: Mapping[ir.Operand, ir.Op]
) -> tuple[ir.Operand, int] | None:
    """The counter that this is, and how much more. (Less could be below zero, and another element.)"""
    if operand in counters:
        return operand, 0
    match definitions.get(operand):
        case ir.Call(callee=operator.add, args=(counter, ir.Const(value=int(more)))) if (
            counter in counters and more > 0
        ):
            return counter, more
    return None


def _spots(region: ir.Region, nest: tuple[ir.Op, ...] = (), top: int | None = None) -> Iterator[_Spot]:
    for place, op in enumerate(region.ops):
        own = place if top is None else top
        yield _Spot(op, own, nest, place)
        for inner in op.regions:
            yield from _spots(inner, (*nest, op), own)


@dataclass(frozen=True)
class _Pair:
    """A clear of one trip of a loop and the addition of the next; `out`: the array after the loop, if that is read."""

    loop: ir.For
    clear: _Spot
    addition: _Spot
    out: ir.Operand | None

    def applied(self, function: ir.Function) -> ir.Function:
        addition = self.addition.op
        assert isinstance(addition, ir.Store)
        instead: dict[ir.Op, Sequence[ir.Op]] = {
            self.clear.op: (),
            addition: (dataclasses.replace(addition, add=False),),
            self.loop: (self.loop, *(self._clearing(function, self.out) if self.out is not None else ())),
        }
        return dataclasses.replace(function, body=ir.replaced(function.body, instead))

    def _clearing(self, function: ir.Function, out: ir.Operand) -> list[ir.Op]:
        """The clear that is left over: that of the last trip, if there is one."""
        clear = self.clear.op
        assert isinstance(clear, ir.Store)
        definitions = function.body.made
        cloner = ir.Cloner()
        loops = [loop for loop in self.clear.nest if isinstance(loop, ir.For)]
        counters = [cloner.fresh(loop.body.args[0]) for loop in loops]
        own = {loop.body.args[0] for loop in loops}
        places = [definitions[i] for i in clear.index if i not in own and _shift(i, own, definitions) is not None]
        ops = [cloner.op(op) for op in (*places, clear)]
        assert isinstance(ops[-1], ir.Store)
        ops[-1] = dataclasses.replace(ops[-1], array=out, promised=False)
        for loop, counter in reversed(list(zip(loops, counters, strict=True))):
            body = ir.Region((counter,), tuple(ops), ())
            ops = [
                ir.For(
                    start=loop.start, stop=loop.stop, step=loop.step, body=body, order_free=True, origin=clear.origin
                )
            ]
        builder = ir.Builder()
        builder.origin = clear.origin
        condition = has_trips(builder, self.loop, definitions)
        with builder.when(condition):
            builder.ops.extend(ops)
        return builder.ops


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.ops = function.body.ops
        self.aliases = function.analysis(Aliases)
        self.outer = {*function.body.args, *(out for op in self.ops for out in op.results)}

    def pairs(self, clear: ir.Store) -> Iterator[_Pair]:
        for k, loop in enumerate(self.ops):
            if isinstance(loop, ir.For) and not loop.stops and not loop.parallel:
                spots = list(_spots(loop.body))
                own = next((spot for spot in spots if spot.op is clear), None)
                if own is not None:
                    yield from self.pairs_in(k, loop, own, spots)

    def pairs_in(self, k: int, loop: ir.For, clear: _Spot, spots: Sequence[_Spot]) -> Iterator[_Pair]:
        assert isinstance(clear.op, ir.Store)
        cleared, memory = clear.op.array, self.aliases.find(clear.op.array)
        wanted = self.elements(clear)
        for target, init, out in self.successors(loop, cleared):
            if wanted is None or not self.starts_at_zero(k, init):
                continue
            touching = [s for s in spots if self.touches(s.op, memory)]
            if not all(isinstance(s.op, ir.Load | ir.Store) and s.op.array in (target, cleared) for s in touching):
                continue
            if target is not cleared and not self.aliases.are_distinct(target, cleared):
                continue
            for spot in touching:
                is_addition = isinstance(spot.op, ir.Store) and spot.op.add and spot.op.array is target
                if not is_addition or self.elements(spot) != wanted:
                    continue
                first = [s for s in touching if s is not spot and _array(s.op) is target]
                last = [s for s in touching if s is not clear and _array(s.op) is cleared]
                if all(spot.is_before(s) for s in first) and all(s.is_before(clear) for s in last):
                    yield _Pair(loop, clear, spot, out if self.is_read_after(k, memory) else None)

    def successors(self, loop: ir.For, array: ir.Operand) -> Iterator[tuple[ir.Operand, ir.Operand, ir.Operand]]:
        """What the next trip calls the array, and what that is called before the loop and after it."""
        if array in self.outer:
            yield array, array, array
        for slot, yielded in enumerate(loop.body.yields):
            if yielded is array and array in loop.body.args:
                yield loop.body.args[1 + slot], loop.inits[slot], loop.outs[slot]

    def elements(self, spot: _Spot) -> tuple[object, ...] | None:
        """Which elements a store in a nest gets to, each once a trip; None where that is not the same in all trips."""
        counters: dict[ir.Operand, tuple[ir.Operand, ...]] = {}
        for op in spot.nest:
            if not isinstance(op, ir.For) or op.stops or not is_never_negative(op):
                return None
            bounds = (op.start, op.stop, op.step)
            if not all(isinstance(b, ir.Const) or b in self.outer for b in bounds):
                return None
            counters[op.body.args[0]] = bounds
        index, definitions = _index(spot.op), self.function.body.made
        shifts = [_shift(i, counters, definitions) for i in index]
        if sorted(map(id, counters)) != sorted(id(shift[0]) for shift in shifts if shift is not None):
            return None
        if not all(shift or isinstance(i, ir.Const) or i in self.outer for i, shift in zip(index, shifts, strict=True)):
            return None
        return tuple(
            i if shift is None else (counters[shift[0]], shift[1]) for i, shift in zip(index, shifts, strict=True)
        )

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
            if self.touches(store, memory)
        )

    def touches(self, op: ir.Op, memory: ir.Operand) -> bool:
        """Whether the operation itself has to do with what the memory holds."""
        if isinstance(op, ir.Extent | ir.Alloc):
            return False
        operands = (*op.operands, *(y for region in op.regions for y in region.yields))
        return any(ir.is_reference(o) and self.aliases.find(o) == memory for o in operands)

    def is_read_after(self, k: int, memory: ir.Operand) -> bool:
        later = (inner for op in self.ops[k + 1 :] for inner in ir.with_inner(op))
        shown = any(ir.is_reference(y) and self.aliases.find(y) == memory for y in self.function.body.yields)
        return shown or any(self.touches(op, memory) for op in later)


def _array(op: ir.Op) -> ir.Operand:
    assert isinstance(op, ir.Load | ir.Store)
    return op.array
