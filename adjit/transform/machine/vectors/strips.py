"""A loop in strips: of a few dozen trips, first what is independent of other trips, then the recurrence.

In: a loop and its recurrence. Out: the loop over strips, which holds both, and the scratch arrays between them.

    for i in range(n):                        for i_start in range(0, n, 32):
        total += exp(x[i])                        i_stop = min(i_start + 32, n)
                                                  x_strip = x[i_start:i_stop]
                                                  for k in range(i_stop - i_start):
                                                      exp_strip[k] = exp(x_strip[k])
                                                  for k in range(i_stop - i_start):
                                                      total += exp_strip[k]

Elements stand in views of a strip, so that their index is plain to the compiler. Strips are so short that a processor
works on the next one while the steps of a recurrence wait for each other: sums of exponentials take 0.78 of the time
that strips of 256 take, a softmax over rows of 100 or 400 0.80 to 0.90, and none of 16 loops more than 1.01.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import array_type
from adjit.transform.machine.vectors.recurrence import Recurrence

STRIP = 32  # trips: a few vectors


@dataclass(eq=False)
class Block:
    """Trips of a loop, from number `first` to the one before `stop`, which see elements through views.

    shifts: from what is used as an index to the literal that it is from the number of the trip
    is_careful: elements that only some trips touch are left where they are, with other indices perhaps beyond the array
    """

    builder: ir.Builder
    loop: ir.For
    first: ir.Operand
    stop: ir.Operand
    shifts: Mapping[ir.Operand, int]
    name: str
    is_careful: bool = False
    made: dict[tuple[ir.Operand, tuple[ir.Operand | None, ...], int], ir.Var] = field(default_factory=dict)

    def through(self, op: ir.Op, k: ir.Var, is_sure: bool = True) -> ir.Op:
        """The operation on views, where `k` counts the trips from zero; `is_sure`: it is done in each trip."""
        if op.regions:
            inner = [[self.through(i, k, not self.is_careful) for i in r.ops] for r in op.regions]
            return ir.with_regions(op, list(map(ir.with_ops, op.regions, inner)))
        inside = self.loop.body.defines
        if not isinstance(op, ir.Load | ir.Store) or op.array in inside:
            return op
        shifts = [self.shifts[i] for i in op.index if i in self.shifts]
        others = [i for i in op.index if i not in self.shifts]
        if len(shifts) != 1 or any(i in inside for i in others) or (others and not is_sure):
            return op
        place = tuple(None if i in self.shifts else i for i in op.index)
        return dataclasses.replace(op, array=self.view(op.array, place, shifts[0]), index=(k,))

    def view(self, array: ir.Operand, place: tuple[ir.Operand | None, ...], shift: int) -> ir.Var:
        """The part of an array along the axis at which `place` has None, so many elements on."""
        if (array, place, shift) not in self.made:
            span = ir.Span(self.shifted(self.first, shift), self.shifted(self.stop, shift))
            selectors = [span if i is None else ir.At(i) for i in place]
            name = f"{array.name}_{self.name}" if isinstance(array, ir.Var) else self.name
            self.made[array, place, shift] = self.builder.slice(array, selectors, name)
        return self.made[array, place, shift]

    def shifted(self, end: ir.Operand, shift: int) -> ir.Operand:
        if not shift:
            return end
        return self.builder.call(operator.add, end, ir.integer(shift), type=types.intp, name="shifted")


class Strips:
    """The scratch arrays, and the loop, which counts up by ones from a number that is not negative."""

    def __init__(self, loop: ir.For, rest: Recurrence):
        self.loop, self.rest = loop, rest
        self.counter = loop.body.args[0]
        self.builder = ir.Builder()
        self.start = ir.Var(f"{self.counter.name}_start", types.intp)
        self.scratch = {v: ir.Var(f"{v.name}_strip", array_type(v.type, 1)) for v in rest.taken}

    def made(self) -> tuple[list[ir.Op], ir.For]:
        loop, b = self.loop, self.builder
        ahead = b.call(operator.add, self.start, ir.integer(STRIP), type=types.intp)
        stop = b.call(min, ahead, loop.stop, type=types.intp, name=f"{self.counter.name}_stop")
        self.block = Block(b, loop, self.start, stop, {self.counter: 0}, "strip")
        count = b.call(operator.sub, stop, self.start, type=types.intp, name="n")
        plain = dataclasses.replace(
            loop, start=ir.integer(0), stop=count, step=ir.integer(1), order_free=False, pair=None, is_mirror=False
        )
        carried = tuple(dataclasses.replace(slot.arg) for slot in loop.slots)
        outs = tuple(dataclasses.replace(out) for out in loop.outs)
        inner = dataclasses.replace(plain, inits=carried, outs=outs)
        first, second = ir.with_results(inner, self.rest.free), ir.with_results(inner, self.rest.bound)
        bodies = self.independent(first.body), self.dependent(second.body)
        for part, body in zip((first, second), bodies, strict=True):
            b.emit(dataclasses.replace(part, body=body))
        body = ir.Region((self.start, *carried), tuple(b.ops), outs)
        made = dataclasses.replace(plain, start=loop.start, stop=loop.stop, step=ir.integer(STRIP), body=body)
        return [ir.Alloc(shape=(ir.integer(STRIP),), out=array) for array in self.scratch.values()], made

    def independent(self, body: ir.Region) -> ir.Region:
        """What all trips of a strip do first; each value that the recurrence takes goes to its scratch array."""
        k, counter = self.counters()
        ops: list[ir.Op] = []
        for op in body.ops:
            if op not in self.rest.ops:
                ops.append(ir.substituted(self.block.through(op, k), {self.counter: counter}))
                stored = [v for v in op.results if v in self.scratch]
                ops += [ir.Store(array=self.scratch[v], index=(k,), value=v, origin=op.origin) for v in stored]
        return self.region((k, *body.args[1:]), ops, body.yields, counter)

    def dependent(self, body: ir.Region) -> ir.Region:
        """The recurrence, on copies, since what is computed again has its variables in the other loop."""
        k, counter = self.counters()
        cloner = ir.Cloner({self.counter: counter})
        ops: list[ir.Op] = [
            ir.Load(array=array, index=(k,), out=cloner.fresh(taken)) for taken, array in self.scratch.items()
        ]
        args = tuple(cloner.fresh(a) for a in body.args[1:])
        kept = {*self.rest.again, *self.rest.ops}
        ops += [cloner.op(self.block.through(op, k)) for op in body.ops if op in kept]
        return self.region((k, *args), ops, tuple(cloner.operand(y) for y in body.yields), counter)

    def counters(self) -> tuple[ir.Var, ir.Var]:
        """The place in the strip, and what the loop counted."""
        return ir.Var("k", types.intp), dataclasses.replace(self.counter)

    def region(
        self, args: tuple[ir.Var, ...], ops: Sequence[ir.Op], yields: tuple[ir.Operand, ...], counter: ir.Var
    ) -> ir.Region:
        """The body of one of the two loops, which computes the counter where anything still needs it."""
        is_needed = counter in yields or any(counter in ir.reads(op) for op in ops)
        first = [ir.Call(callee=operator.add, args=(self.start, args[0]), outs=(counter,))] if is_needed else []
        return ir.Region(args, (*first, *ops), yields)
