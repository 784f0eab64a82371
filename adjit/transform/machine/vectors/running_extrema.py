"""Running extrema as vectors: what is greatest is found in any order, and then the first trip that had it.

In: a function, as it will be emitted. Out: the same, with such loops.

    largest, place = x[0], 0                          first = x[0]
    for i in range(1, n):                             best = first
        place = i if x[i] > largest else place        for i in range(1, n):
        largest = max(largest, x[i])                      best = reassociable_max(best, max(-np.inf, x[i]))
                                                      if best > first:
                                                          place = 1
                                                          while x[place] != best: place += 1
                                                          largest = x[place]
                                                      else: place = 0

The first trip that has a number equal to the greatest is the one that would have been kept, so that all bits are the
same: signs of zeros, places of ties. `max(-np.inf, x[i])` is x[i] unless that is nan, which never takes a place; where
`first` is nan, so is `best`, and nothing is greater. A trip of the loop as it was waits for the comparison before it;
half of the trips are searched on average, several in that time.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Sequence

import numpy as np
from numba import types

from adjit.runtime.library import reassociable_add, reassociable_max, reassociable_min, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.choices import Choice, Extremum, extrema_of
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import typed_const
from adjit.transform.machine.vectors.elementary import are_vectorisable, is_elementary
from adjit.transform.machine.vectors.recurrence import Recurrence

_FEWEST_TRIPS = 32  # of a loop of which the number is known
_MOST_AGAIN = 6  # operations that a trip of the search does
_IN_ANY_ORDER = (reassociable_add, reassociable_sub, reassociable_max, reassociable_min)
_WITHOUT_PRODUCTS = {
    operator.add, operator.sub, operator.neg, operator.pos, abs, max, min, float, math.fabs, np.fabs, np.absolute,
    ir.cast, ir.select,
}  # fmt: skip


def search_extrema(function: ir.Function) -> ir.Function:
    """The function with its running extrema searched; the same object if there are none."""
    loops = [op for op in function.body.inside if isinstance(op, ir.For) and _may_be(op)]
    if not loops:
        return function
    aliases, naturals = function.analysis(Aliases), function.analysis(Naturals)
    made: dict[ir.Op, Sequence[ir.Op]] = {}
    for loop in loops:
        extrema = extrema_of(loop)
        rest = Recurrence(loop, aliases.find, naturals.counts(loop))
        if extrema and _is_all(loop, extrema, rest):
            made[loop] = _Search(loop, rest).made(extrema)
    return ir.with_body(function, ir.replaced(function.body, made)) if made else function


def _may_be(loop: ir.For) -> bool:
    """Whether an innermost loop carries floats, and does nothing that vectors cannot."""
    if loop.stops or loop.parallel or loop.over_chunks or loop.level or loop.step != ir.integer(1):
        return False
    counter, *carried = loop.body.args
    if loop.start.type != counter.type or not any(ir.is_float(arg.type) for arg in carried):
        return False
    trips = literal_trips(loop)
    if trips is not None and len(trips) < _FEWEST_TRIPS:
        return False
    return are_vectorisable(loop.body.ops) and not any(map(is_elementary, loop.body.inside))


def _is_all(loop: ir.For, extrema: Sequence[Extremum], rest: Recurrence) -> bool:
    """Whether trips wait for nothing but their extrema, and what these found can be told from the trip alone."""
    slots = {slot.arg for extremum in extrema for slot in extremum.slots}
    ops = {op for extremum in extrema for op in extremum.ops}
    if {loop.slots[k].arg for k in rest.bound} != slots or not ops.issuperset(rest.ops):
        return False
    others = [choice.value for extremum in extrema for choice in extremum.beside]
    if any(rest.cheaply(value, _MOST_AGAIN) is None for value in others):
        return False
    return all(_is_exact(rest.cheaply(extremum.choice.value, _MOST_AGAIN)) for extremum in extrema)


def _is_exact(ops: Sequence[ir.Op] | None) -> bool:
    """Whether a number that these operations compute is the same to the bit wherever they stand.

    What takes a product and adds to it rounds once or twice, as the compiler likes.
    """
    if ops is None:
        return False
    callees = {ir.canonical(op.callee) for op in ops if isinstance(op, ir.Call) and ir.is_float(op.outs[0].type)}
    has_sums = not callees.isdisjoint((operator.add, operator.sub))
    return callees.isdisjoint(_IN_ANY_ORDER) and not (has_sums and callees - _WITHOUT_PRODUCTS)


class _Search:
    def __init__(self, loop: ir.For, rest: Recurrence):
        self.loop, self.rest = loop, rest
        self.builder = ir.Builder(loop.origin)

    def made(self, extrema: Sequence[Extremum]) -> Sequence[ir.Op]:
        """The loop that compares in any order, and the searches after it."""
        loop = self.loop
        gone = {slot.arg for extremum in extrema for slot in extremum.slots}
        kept = [slot for slot in loop.slots if slot.arg not in gone]
        instead: dict[ir.Op, Sequence[ir.Op]] = {op: () for extremum in extrema for op in extremum.ops}
        best: list[ir.Var] = []
        for extremum in extrema:
            slot, value = extremum.choice.slot, extremum.choice.value
            better, any_order = (max, reassociable_max) if extremum.is_greatest else (min, reassociable_min)
            compared = ir.Builder(extremum.choice.op.origin)
            arg, out = ir.Var("best", slot.arg.type), ir.Var("best", slot.arg.type)
            least = typed_const(-math.inf if extremum.is_greatest else math.inf, arg.type)
            known = compared.call(better, least, value, type=arg.type)
            found = compared.call(any_order, arg, known, type=arg.type, name="best")
            instead[extremum.choice.op] = compared.ops
            kept.append(ir.Slot(slot.init, arg, found, out))
            best.append(out)
        ops = [made for op in loop.body.ops for made in instead.get(op, (op,))]
        empty = ir.Region(loop.body.args[:1], (), ())
        plain = dataclasses.replace(loop, inits=(), body=empty, outs=(), pair=None, is_mirror=False)
        self.builder.emit(ir.with_slots(plain, kept, ops))
        for extremum, out in zip(extrema, best, strict=True):
            self.emit_search(extremum, out)
        return self.builder.ops

    def emit_search(self, extremum: Extremum, best: ir.Var) -> None:
        """What the first trip that found `best` found, unless that was there from the beginning."""
        choices = [extremum.choice, *extremum.beside]
        first = extremum.choice.slot.init
        test = operator.gt if extremum.is_greatest else operator.lt
        is_found = self.builder.call(test, best, first, type=types.boolean, name="is_found")
        with self.builder.region() as ops:
            place = self.emit_loop(choices, best)
            found = self.emit_again([choice.value for choice in choices], place)
        then, orelse = ir.Region((), tuple(ops), tuple(found)), ir.Region((), (), tuple(c.slot.init for c in choices))
        outs = tuple(choice.slot.out for choice in choices)
        self.builder.emit(ir.If(condition=is_found, then=then, orelse=orelse, outs=outs))

    def emit_loop(self, choices: Sequence[Choice], best: ir.Var) -> ir.Var:
        """The loop that ends at the first trip whose value is `best`, and says which one that is."""
        counter = self.loop.body.args[0]
        name = next((choice.slot.out.name for choice in choices if choice.value is counter), counter.name)
        tested, place, last = (ir.Var(name, counter.type) for _ in range(3))
        with self.builder.region() as ops:
            (here,) = self.emit_again([choices[0].value], tested)
            is_other = self.builder.call(operator.ne, here, best, type=types.boolean, name="is_other")
        test = ir.Region((tested,), tuple(ops), (is_other,))
        with self.builder.region() as ops:
            further = self.builder.call(operator.add, place, ir.integer(1), type=counter.type, name=name)
        body = ir.Region((place,), tuple(ops), (further,))
        self.builder.emit(ir.While(inits=(self.loop.start,), test=test, body=body, outs=(last,)))
        return last

    def emit_again(self, values: Sequence[ir.Operand], counter: ir.Var) -> list[ir.Operand]:
        """The values of the trip of that number."""
        cloner = ir.Cloner({self.loop.body.args[0]: counter})
        wanted = {op for value in values for op in self.rest.cheaply(value, _MOST_AGAIN) or ()}
        for op in self.loop.body.ops:
            if op in wanted:
                self.builder.emit(cloner.op(op))
        return [cloner.operand(value) for value in values]
