"""What an array starts from is stored by the launch that stores to all of it but a rim.

In: a function. Out: the same without copies, and without zeros, of which a nest overwrites all but a rim.

    q = copy(p)                                 q = empty_like(p)
    for i in range(1, n - 1): q[i] = f(i)       for i in range(n):
                                                    if i >= 1 and i < n - 1: q[i] = f(i)
                                                    else: q[i] = p[i]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.must_writes import Cover, Covers
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.affine_ops import Writer


def with_rims(function: ir.Function) -> ir.Function:
    """The function with such arrays whole after one launch."""
    while (made := _Rims(function).once()) is not None:
        function = made
    return function


class _Rims:
    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases = function.analysis(Aliases)
        self.covers = function.analysis(Covers)
        self.sharings = function.analysis(LoopDependences)

    def once(self) -> ir.Function | None:
        """The function with one more; None if there is none."""
        for region in ir.regions(self.function.body):
            for place, op in enumerate(region.ops):
                found = self.cover(op, region.ops[place + 1 :])
                if found is not None:
                    nest, cover = found
                    return ir.with_body(self.function, ir.replaced(self.function.body, self.instead(op, nest, cover)))
        return None

    def cover(self, made: ir.Op, later: Sequence[ir.Op]) -> tuple[ir.For, Cover] | None:
        """The nest behind what makes an array that stores to it all but a rim; None if something comes between."""
        is_filled = isinstance(made, ir.Alloc) and made.fill is not None
        if not (isinstance(made, ir.Copy) or is_filled) or array_type_of(made.out).layout != "C":  # type: ignore[attr-defined]
            return None
        array, source = made.results[0], made.source if isinstance(made, ir.Copy) else None
        for op in later:
            touches = any(array in inner.operands for inner in ir.with_inner(op) if not isinstance(inner, ir.Extent))
            if touches or array in [y for region in op.regions for y in region.yields]:
                return self.of_nest(op, made, array, source)
            if source is not None and self.changes(op, source):
                return None
        return None

    def of_nest(
        self, nest: ir.Op, made: ir.Op, array: ir.Var, source: ir.Operand | None
    ) -> tuple[ir.For, Cover] | None:
        if not isinstance(nest, ir.For) or nest.level is not None or isinstance(self.sharings.of(nest), Serial):
            return None
        found = self.covers.of(nest, array)
        if found is None or (source is not None and self.changes(nest, source)):
            return None
        if found.store.add and isinstance(made, ir.Alloc) and made.fill is not None and made.fill.value != 0:
            return None
        if found.store.add and not ir.is_float(array.type):
            return None
        if isinstance(made, ir.Alloc) and found.loads:
            return None
        # what an outer loop does besides is done in trips of the rim as well
        beside = [
            op
            for loop, inner in zip(found.loops, found.loops[1:], strict=False)
            for op in loop.body.ops
            if op is not inner
        ]
        is_idle = all(
            isinstance(op, ir.Comment | ir.Extent) or (isinstance(op, ir.Call) and not op.effect) for op in beside
        )
        return (nest, found) if is_idle else None

    def changes(self, op: ir.Op, source: ir.Operand) -> bool:
        stored = (inner.memory_written for inner in ir.with_inner(op))
        return any(m is not None and ir.is_array(m) and not self.aliases.are_distinct(m, source) for m in stored)

    def instead(self, made: ir.Op, nest: ir.For, cover: Cover) -> dict[ir.Op, Sequence[ir.Op]]:
        array = made.results[0]
        if isinstance(made, ir.Copy):
            assert isinstance(made.source, ir.Var)
            bare = ir.Alloc(shape=(), like=made.source, out=array, origin=made.origin)
        else:
            assert isinstance(made, ir.Alloc)
            bare = dataclasses.replace(made, fill=None)
        before, region = Writer(nest.origin, name="n"), self.body(made, cover)
        for loop, around, axis in self.from_inside(cover):
            counter, shift = loop.body.args[0], cover.shifts[axis]
            if shift:
                # the loop counts elements from here on
                counter = dataclasses.replace(counter)
                number = ir.Call(callee=operator.sub, args=(counter, ir.integer(shift)), outs=(loop.body.args[0],))
                region = ir.Region((counter, *region.args[1:]), (number, *region.ops), region.yields)
            stop = before.integer(cover.extents[axis])
            whole = dataclasses.replace(loop, start=ir.integer(0), stop=stop, body=region)
            if around is not None:
                region = ir.with_ops(around.body, [whole if op is loop else op for op in around.body.ops])
        return {made: (bare,), nest: (*before.ops, whole)}

    def from_inside(self, cover: Cover) -> Iterator[tuple[ir.For, ir.For | None, int]]:
        """The loops of the nest, each with the one around it and its axis."""
        return zip(reversed(cover.loops), (*reversed(cover.loops[:-1]), None), reversed(cover.axes), strict=True)

    def body(self, made: ir.Op, cover: Cover) -> ir.Region:
        """What a trip of the innermost loop does: what it did, or the element of the rim."""
        inner = cover.loops[-1]
        builder = ir.Builder(cover.store.origin)
        tests: list[ir.Operand] = []
        for loop, axis in zip(cover.loops, cover.axes, strict=True):
            counter, (low, left) = loop.body.args[0], cover.rims[axis]
            for needed, callee, end in ((low, operator.ge, loop.start), (left, operator.lt, loop.stop)):
                if needed:
                    tests.append(builder.call(callee, counter, end, type=types.boolean, name="is_inside"))
        ops = list(inner.body.ops)
        place, store = ops.index(cover.store), dataclasses.replace(cover.store, add=False)
        ops[place] = store
        if isinstance(made, ir.Copy):
            mapping = {made.out: made.source}
            ops = [ir.substituted(op, mapping) if op in cover.loads else op for op in ops]
            if cover.store.add:
                ops[place : place + 1] = self.added(made.source, store)
        if not tests:
            return ir.with_ops(inner.body, ops)
        condition = tests[0]
        for test in tests[1:]:
            condition = builder.call(operator.and_, condition, test, type=types.boolean, name="is_inside")
        with builder.region() as rim:
            value: ir.Operand
            places = {axis: loop.body.args[0] for loop, axis in zip(cover.loops, cover.axes, strict=True)}
            index = [self.place(builder, places[axis], shift) for axis, shift in enumerate(cover.shifts)]
            if isinstance(made, ir.Copy):
                value = builder.load(made.source, index, "old")
            else:
                assert isinstance(made, ir.Alloc)
                assert made.fill is not None
                value = made.fill
            builder.store(cover.store.array, index, value)
        _, *args = inner.body.args
        outs = tuple(dataclasses.replace(arg) for arg in args)
        then, orelse = ir.Region((), tuple(ops), inner.body.yields), ir.Region((), tuple(rim), tuple(args))
        builder.emit(ir.If(condition=condition, then=then, orelse=orelse, outs=outs, origin=inner.origin))
        return ir.Region(inner.body.args, tuple(builder.ops), outs)

    def added(self, source: ir.Operand, store: ir.Store) -> list[ir.Op]:
        """The store of what is added to what the element was."""
        builder = ir.Builder(store.origin)
        old = builder.load(source, store.index, "old")
        type_ = max(old.type, store.value.type, key=lambda t: t.bitwidth)  # type: ignore[attr-defined]
        total = builder.call(operator.add, old, store.value, type=type_, name="total")
        return [*builder.ops, dataclasses.replace(store, value=total)]

    def place(self, builder: ir.Builder, counter: ir.Var, shift: int) -> ir.Operand:
        if not shift:
            return counter
        return builder.call(operator.add, counter, ir.integer(shift), type=types.intp, name=counter.name)
