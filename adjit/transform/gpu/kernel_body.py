"""The operations of a kernel: the trips of a nest, a thread each, or several a thread.

In: a nest, the axes of its grid, and room for sums and for arrays of the threads' own. Out: `KernelBody.ops`.

    for i in range(n):                    stride, i = cuda.gridsize(1), cuda.grid(1)
        total += x[i] * x[i]              while 0 <= i and i < n: total += x[i] * x[i]; i += stride
                                          block_sum(total, total_parts[0])
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.gpu import callees
from adjit.transform.gpu.allocation import Place
from adjit.transform.gpu.mapping import Nest
from adjit.transform.gpu.sums.double_precision import as_type
from adjit.transform.gpu.sums.loop_sums import Extreme
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.rewrite.affine_ops import Writer


@dataclass(frozen=True)
class Sum:
    """A sum of a launch: the number, what it starts from, and where its parts are: the rows of an array.

    extreme: it is no sum, but the greatest or the least value, from what it starts from on
    """

    out: ir.Var
    init: ir.Operand
    parts: ir.Var
    row: int
    extreme: Extreme | None = None

    @property
    def first(self) -> ir.Operand:
        """What a thread starts from."""
        return typed_const(0, self.out.type) if self.extreme is None else self.init

    def own_parts(self, builder: ir.Builder) -> ir.Var:
        """The row of its parts."""
        return builder.slice(self.parts, (ir.At(ir.integer(self.row)), ir.Span()), "own_parts")


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a grid: a loop, its trips ascending from `start` to before `stop`, and how many they are.

    is_counted: those are the numbers of its trips, and the counter follows from them.
    is_natural: no trip has a counter below zero.
    """

    loop: ir.For
    start: ir.Operand
    stop: ir.Operand
    trips: ir.Operand
    is_counted: bool = False
    is_natural: bool = True

    @property
    def counter(self) -> ir.Var:
        return self.loop.body.args[0]


class KernelBody:
    """The operations of a kernel that runs the trips of a nest: a thread each, or, with sums, several a thread."""

    def __init__(
        self,
        nest: Nest,
        axes: Sequence[Axis],
        sums: Sequence[Sum],
        slots: dict[Place, ir.Var],
        rows: Sequence[ir.Var],
        is_spread: bool,
        aliases: Aliases,
    ):
        self.nest, self.axes, self.sums, self.slots, self.aliases = nest, axes, sums, slots, aliases
        self.rows, self.apart = rows, nest.split.stores if nest.split else ()
        # a thread makes all its trips along the axis that is split at once, and keeps what they add
        last = len(axes) - 1
        self.nesting = [*range(last - 1, -1, -1), last] if nest.split else list(range(last, -1, -1))
        self.builder = builder = Writer(nest.outer.origin)
        self.known: dict[ir.Var, ir.Operand] = {}
        self.is_strided = [is_spread or k > 0 for k in range(len(axes))]
        self.own: dict[ir.Op, Place] = {place.made: place for place in nest.places}
        if slots:
            self.thread = builder.call(callees.GRID, ir.integer(1), type=types.int64, name="thread")
        inside = set(nest.outer.body.inside)
        for place in nest.places:
            if place.made not in inside:
                builder.ops.extend(self.array(place.made))
        self.places = self.coordinates(callees.GRID, [axis.counter.name for axis in axes])
        if any(self.is_strided):
            self.strides = self.coordinates(callees.GRID_SIZE, ["stride", "row_stride", "plane_stride"][: len(axes)])
        # from the slowest axis to the fastest
        totals = self.level(0, [s.first for s in sums])
        for s, total in zip(sums, totals, strict=True):
            args = (total, s.own_parts(builder))
            builder.emit(ir.Call(callee=callees.OF_BLOCK[s.extreme], args=args, outs=(), effect=True))
        self.ops = builder.ops

    def coordinates(self, callee: ir.External, names: Sequence[str]) -> tuple[ir.Var, ...]:
        outs = tuple(ir.Var(name, types.int64) for name in names)
        self.builder.emit(ir.Call(callee=callee, args=(ir.integer(len(names)),), outs=outs))
        return outs

    def level(self, depth: int, totals: Sequence[ir.Operand]) -> Sequence[ir.Operand]:
        """The trips along an axis, and those inside."""
        if depth == len(self.nesting):
            return self.trip(totals)
        axis = self.nesting[depth]
        own, builder = self.axes[axis], self.builder
        first: ir.Operand = self.places[axis]
        if own.start != ir.integer(0):
            first = builder.call(operator.add, first, own.start, type=types.int64, name=own.counter.name)
        if not self.is_strided[axis]:
            test = builder.call(operator.lt, first, own.stop, type=types.boolean, name="is_inside")
            with builder.when(test):
                self.count(own, first)
                self.level(depth + 1, ())
            return ()
        is_split = self.rows and depth + 1 == len(self.nesting)
        rows = zip(self.apart, self.rows, strict=True) if is_split else ()
        kept = [ir.Var(f"{ir.name_of(s.array, 'item')}_sum", array_type_of(row).dtype) for s, row in rows]
        inits = [*totals, *(typed_const(0, var.type) for var in kept)]
        at = ir.Var(own.counter.name, types.int64)
        args = (at, *(dataclasses.replace(s.out) for s in self.sums), *kept)
        with builder.region() as ops:
            self.count(own, at)
            found = self.level(depth + 1, args[1:])
            further = builder.call(operator.add, at, self.strides[axis], type=types.int64, name=at.name)
        outs = tuple(dataclasses.replace(arg) for arg in args)
        body = ir.Region(args, tuple(ops), (further, *found))
        test_region = self.inside(args, at, own)
        builder.emit(ir.While(inits=(first, *inits), test=test_region, body=body, outs=outs))
        if is_split:
            others = [ir.substituted_operand(a.counter, self.known) for a in self.axes[:-1]]
            for parts, total in zip(self.rows, outs[1 + len(self.sums) :], strict=True):
                builder.store(parts, (self.places[axis], *others), total)
        return outs[1 : 1 + len(self.sums)]

    def inside(self, args: Sequence[ir.Var], at: ir.Var, axis: Axis) -> ir.Region:
        """Whether a place is before the end; that it is not negative, where none is, is for the compiler to know."""
        builder, stop = self.builder, axis.stop
        if not axis.is_natural:
            with builder.region() as tests:
                high = builder.call(operator.lt, at, stop, type=types.boolean, name="is_inside")
            return ir.Cloner().region(ir.Region(tuple(args), tuple(tests), (high,)))
        with builder.region() as tests:
            some = builder.call(operator.le, ir.integer(0), at, type=types.boolean, name="is_some")
            with builder.region() as rest:
                high = builder.call(operator.lt, at, stop, type=types.boolean, name="is_inside")
            both, no = ir.Var("is_inside", types.boolean), ir.Region((), (), (ir.boolean(False),))
            builder.emit(ir.If(condition=some, then=ir.Region((), tuple(rest), (high,)), orelse=no, outs=(both,)))
        return ir.Cloner().region(ir.Region(tuple(args), tuple(tests), (both,)))

    def count(self, axis: Axis, place: ir.Operand) -> None:
        """The loop's counter, from the place in the grid."""
        if not axis.is_counted:
            self.known[axis.counter] = place
            return
        offset = self.builder.call(operator.mul, axis.loop.step, place, type=types.int64, name="offset")
        self.builder.emit(ir.Call(callee=operator.add, args=(axis.loop.start, offset), outs=(axis.counter,)))

    def trip(self, totals: Sequence[ir.Operand]) -> Sequence[ir.Operand]:
        nest = self.nest
        own, kept = totals[: len(self.sums)], dict(zip(self.apart, totals[len(self.sums) :], strict=False))
        self.known.update(zip(nest.inner.body.args[1:], own, strict=True))
        ops = (*(op for ops in nest.sunk for op in ops), *nest.inner.body.ops)
        made = ir.rewritten(ir.Region((), ops, ()), lambda op: self.array(self.addition(op)))
        for before, op in zip(ops, made.ops, strict=True) if kept else ((None, op) for op in made.ops):
            if isinstance(before, ir.Store) and before in kept:
                total = kept[before]
                value = as_type(self.builder, ir.substituted_operand(before.value, self.known), total.type)
                name = ir.name_of(total, "total")
                kept[before] = self.builder.call(operator.add, total, value, type=total.type, name=name)
            else:
                self.builder.ops.append(ir.substituted(op, self.known))
        yields = [ir.substituted_operand(y, self.known) for y in nest.inner.body.yields]
        return [*yields, *kept.values()]

    def addition(self, op: ir.Op) -> ir.Op:
        """An addition to what several threads add to is atomic."""
        if not isinstance(op, ir.Store) or not op.add or self.aliases.find(op.array) not in self.nest.atomic:
            return op
        return dataclasses.replace(op, atomic=True)

    def array(self, op: ir.Op) -> Sequence[ir.Op]:
        """What makes an array of the thread's own, in the place of what makes one in the program; other operations."""
        place = self.own.get(op)
        if place is None:
            return [op]
        builder = ir.Builder(op.origin)
        out = place.made.out
        if place.is_local:
            extents = tuple(ir.integer(extent.constant) for extent in place.shape)
            builder.emit(ir.Alloc(shape=extents, out=out))
        else:
            builder.emit(
                ir.Slice(base=self.slots[place], selectors=place.selectors(self.thread, place.is_first), out=out)
            )
        if isinstance(op, ir.Copy):
            source = op.source
            builder.nest(builder.shape(out), lambda at: builder.store(out, at, builder.load(source, at)))
        elif isinstance(op, ir.Alloc) and op.fill is not None:
            fill = op.fill
            builder.nest(builder.shape(out), lambda at: builder.store(out, at, fill))
        return builder.ops
