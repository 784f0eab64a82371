"""A loop in strips: of some hundred trips, first what is independent of other trips, then the recurrence.

In: a loop and its recurrence. Out: the loop over strips, which holds both, and the scratch arrays between them.

    for i in range(n):                        for i_start in range(0, n, 256):
        total += exp(x[i])                        i_stop = min(i_start + 256, n)
                                                  x_strip = x[i_start:i_stop]
                                                  for k in range(i_stop - i_start):
                                                      exp_strip[k] = exp(x_strip[k])
                                                  for k in range(i_stop - i_start):
                                                      total += exp_strip[k]

Elements stand in views of a strip, so that their index is plain to the compiler.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import TypeVar

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import array_type, array_type_of, slice_type
from adjit.transform.machine.vectors.recurrence import Recurrence

STRIP = 256  # trips: what two dozen arrays hold of them stays in the nearest cache


def strip_mined(loop: ir.For, rest: Recurrence) -> tuple[list[ir.Op], ir.For]:
    """The scratch arrays, and the loop, which counts up by ones from a number that is not negative."""
    return _Strips(loop, rest).made()


Slot = TypeVar("Slot")


def _at(slots: Sequence[Slot], places: Sequence[int]) -> tuple[Slot, ...]:
    return tuple(slots[k] for k in places)


class _Strips:
    def __init__(self, loop: ir.For, rest: Recurrence):
        self.loop, self.rest = loop, rest
        self.counter = loop.body.args[0]
        self.bound = tuple(k for k in range(len(loop.outs)) if k not in rest.free)
        self.inside = loop.body.defines
        self.builder = ir.Builder()
        self.start = ir.Var(f"{self.counter.name}_start", types.intp)
        self.views: dict[tuple[ir.Operand, tuple[ir.Operand | None, ...]], ir.Var] = {}
        self.scratch = {v: ir.Var(f"{v.name}_strip", array_type(v.type, 1)) for v in rest.taken}

    def made(self) -> tuple[list[ir.Op], ir.For]:
        loop, b = self.loop, self.builder
        ahead = b.call(operator.add, self.start, ir.integer(STRIP), type=types.intp)
        self.stop = b.call(min, ahead, loop.stop, type=types.intp, name=f"{self.counter.name}_stop")
        count = b.call(operator.sub, self.stop, self.start, type=types.intp, name="n")
        carried = tuple(dataclasses.replace(a) for a in loop.body.args[1:])
        first, second = self.independent(), self.dependent()
        outs = tuple(dataclasses.replace(o) for o in loop.outs)
        free, bound = self.rest.free, self.bound
        plain = dataclasses.replace(
            loop, start=ir.integer(0), stop=count, step=ir.integer(1), order_free=False, pair=None, is_mirror=False
        )
        b.emit(dataclasses.replace(plain, inits=_at(carried, free), body=first, outs=_at(outs, free)))
        b.emit(dataclasses.replace(plain, inits=_at(carried, bound), body=second, outs=_at(outs, bound)))
        body = ir.Region((self.start, *carried), tuple(b.ops), outs)
        made = dataclasses.replace(plain, start=loop.start, stop=loop.stop, step=ir.integer(STRIP), body=body)
        return [ir.Alloc(shape=(ir.integer(STRIP),), out=array) for array in self.scratch.values()], made

    def independent(self) -> ir.Region:
        """What all trips of a strip do first; each value that the recurrence takes goes to its scratch array."""
        k, counter = self.counters()
        ops: list[ir.Op] = []
        for op in self.loop.body.ops:
            if op not in self.rest.ops:
                ops.append(ir.substituted(op, {self.counter: counter}))
                stored = [v for v in op.results if v in self.scratch]
                ops += [ir.Store(array=self.scratch[v], index=(k,), value=v, origin=op.origin) for v in stored]
        args, yields = _at(self.loop.body.args[1:], self.rest.free), _at(self.loop.body.yields, self.rest.free)
        return self.region((k, *args), ops, yields, counter)

    def dependent(self) -> ir.Region:
        """The recurrence, on copies, since what is computed again has its variables in the other loop."""
        k, counter = self.counters()
        cloner = ir.Cloner({self.counter: counter})
        ops: list[ir.Op] = [
            ir.Load(array=array, index=(k,), out=cloner.fresh(taken)) for taken, array in self.scratch.items()
        ]
        args = tuple(cloner.fresh(a) for a in _at(self.loop.body.args[1:], self.bound))
        kept = {*self.rest.again, *self.rest.ops}
        ops += [cloner.op(op) for op in self.loop.body.ops if op in kept]
        yields = _at(self.loop.body.yields, self.bound)
        return self.region((k, *args), ops, tuple(cloner.operand(y) for y in yields), counter)

    def counters(self) -> tuple[ir.Var, ir.Var]:
        """The place in the strip, and what the loop counted."""
        return ir.Var("k", types.intp), dataclasses.replace(self.counter)

    def region(
        self, args: tuple[ir.Var, ...], ops: Sequence[ir.Op], yields: tuple[ir.Operand, ...], counter: ir.Var
    ) -> ir.Region:
        """The body of one of the two loops, which computes the counter where anything still needs it."""
        done = [self.through_view(op, counter, args[0]) for op in ops]
        if counter in yields or any(counter in ir.reads(op) for op in done):
            done.insert(0, ir.Call(callee=operator.add, args=(self.start, args[0]), outs=(counter,)))
        return ir.Region(args, tuple(done), yields)

    def through_view(self, op: ir.Op, counter: ir.Var, k: ir.Var) -> ir.Op:
        """The operation with elements of arrays at the counter found in views of the strip."""
        if op.regions:
            regions = [
                ir.Region(r.args, tuple(self.through_view(i, counter, k) for i in r.ops), r.yields) for r in op.regions
            ]
            return ir.with_regions(op, regions)
        if not isinstance(op, ir.Load | ir.Store) or op.array in self.inside:
            return op
        others = [i for i in op.index if i is not counter]
        if len(others) != len(op.index) - 1 or any(i in self.inside for i in others):
            return op
        place = tuple(None if i is counter else i for i in op.index)
        return dataclasses.replace(op, array=self.view(op.array, place), index=(k,))

    def view(self, array: ir.Operand, place: tuple[ir.Operand | None, ...]) -> ir.Var:
        """The strip of an array along the axis at which `place` has None."""
        found = self.views.get((array, place))
        if found is None:
            selectors = [ir.Span(self.start, self.stop) if i is None else ir.At(i) for i in place]
            name = f"{array.name}_strip" if isinstance(array, ir.Var) else "strip"
            found = ir.Var(name, slice_type(array_type_of(array), selectors))
            self.views[array, place] = found
            self.builder.emit(ir.Slice(base=array, selectors=tuple(selectors), out=found))
        return found
