"""The operations of a kernel in which several threads have a trip, a row, together.

In: a nest, how its rows are shared, the axes of its grid, room for sums. Out: `RowBody.ops`.

    for i in range(n):                          t, threads = cuda.threadIdx.x, cuda.blockDim.x
        s = 0.0                                 i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for j in range(m): s += a[i, j]         for k in range((m + threads - 1 - t) // threads):
        y[i] = s                                    own += a[i, t + k * threads]
                                                s = row_sum(own, ...)
                                                if t == 0: y[i] = s

The last rows of a block may be none. Where all rows of a block wait for each other these go along, as the last one, and
neither make the trips of shared loops nor store anything.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.trip_counts import count_trips
from adjit.transform.gpu import callees
from adjit.transform.gpu.allocation import Place
from adjit.transform.gpu.kernel_body import Axis, Sum
from adjit.transform.gpu.mapping import Nest
from adjit.transform.gpu.sums.loop_sums import Extreme
from adjit.transform.gpu.thread_rows import Rows, outside
from adjit.transform.ir.types import array_type, typed_const
from adjit.transform.rewrite.affine_ops import Writer

_MOST_THREADS = 256  # of a block


class RowBody:
    def __init__(
        self,
        nest: Nest,
        rows: Rows,
        axes: Sequence[Axis],
        sums: Sequence[Sum],
        slots: Mapping[Place, ir.Var],
        is_spread: bool,
        aliases: Aliases,
    ):
        self.nest, self.rows, self.axes, self.aliases = nest, rows, axes, aliases
        self.sums, self.slots = sums, slots
        self.trip = (*(op for ops in nest.sunk for op in ops), *nest.inner.body.ops)
        self.builder = builder = Writer(nest.outer.origin)
        self.known: dict[ir.Var, ir.Operand] = {}
        self.parts: dict[ir.Type, ir.Var] = {}
        self.is_strided = [is_spread, True, True]
        self.declared = ir.Builder()
        # along rows their threads are side by side, else the rows are
        own, first = ("x", "y") if rows.along else ("y", "x")
        self.places = [first, "z"]
        self.thread = self.place("threadIdx", own, "t")
        self.threads = self.place("blockDim", own, "threads")
        last = self.integer(operator.sub, self.threads, ir.integer(1), "last")
        self.spare = self.integer(operator.sub, last, self.thread, "spare")
        self.is_first: ir.Operand = ir.boolean(False)  # where the first thread does nothing
        if any(map(self.is_firsts, outside(self.trip, rows.shared))):
            self.is_first = builder.call(operator.eq, self.thread, ir.integer(0), type=types.boolean, name="is_first")
        self.is_row: ir.Operand | None = None  # None where there is no row that is none
        self.own = {place.made for place in slots}
        for place, room in slots.items():
            width, local = self.place("blockDim", first, "width"), self.place("threadIdx", first, "own")
            before = self.integer(operator.mul, self.place("blockIdx", "x", "block"), width, "first")
            row = self.integer(operator.add, before, local, "row")
            selectors = place.selectors(row, rows.along or place.is_first)
            builder.emit(ir.Slice(base=room, selectors=selectors, out=place.made.out))
        head = builder.ops
        with builder.region() as ops:
            totals = self.level(len(axes) - 1, [s.first for s in sums])
            for s, total in zip(sums, totals, strict=True):
                args = (total, s.own_parts(builder))
                builder.emit(ir.Call(callee=callees.OF_BLOCK[s.extreme], args=args, outs=(), effect=True))
        self.ops: list[ir.Op] = [*head, *self.declared.ops, *ops]

    def place(self, what: str, axis: str, name: str) -> ir.Var:
        out = ir.Var(name, types.int64)
        self.builder.emit(ir.Call(callee=ir.of_cuda(f"{what}.{axis}"), args=(), outs=(out,)))
        return out

    def far(self) -> ir.Operand:
        """How far apart two threads of a row are in the block that are beside each other in the row."""
        return ir.integer(1) if self.rows.along else self.place("blockDim", "x", "far")

    def integer(self, callee: object, left: ir.Operand, right: ir.Operand, name: str) -> ir.Operand:
        return self.builder.call(callee, left, right, type=types.int64, name=name)

    def operand(self, operand: ir.Operand) -> ir.Operand:
        return ir.substituted_operand(operand, self.known)

    # ------------------------------------------------------------------------------------------------- rows

    def level(self, k: int, totals: Sequence[ir.Operand]) -> Sequence[ir.Operand]:
        """The rows along an axis, and along those inside. All threads of a block do as much."""
        if k < 0:
            return self.row(totals)
        axis, builder = self.axes[k], self.builder
        name = axis.counter.name
        # along the third axis a block has one row: its own third one is that of a row's threads, or of the second
        width = self.place("blockDim", self.places[k], "width") if k < 2 else ir.integer(1)
        first: ir.Operand = self.place("blockIdx", "xyz"[k], "block" if k < 2 else name)
        first = self.integer(operator.mul, first, width, "first") if k < 2 else first
        if axis.start != ir.integer(0):
            first = self.integer(operator.add, first, axis.start, "first")
        own = self.place("threadIdx", self.places[k], "own") if k < 2 else ir.integer(0)
        if not self.is_strided[k]:
            test = builder.call(operator.lt, first, axis.stop, type=types.boolean, name="is_inside")
            with builder.when(test):
                self.counted(axis, self.integer(operator.add, first, own, name))
                self.level(k - 1, ())
            return ()
        stride: ir.Operand = self.place("gridDim", "xyz"[k], "count" if k < 2 else "stride")
        stride = self.integer(operator.mul, stride, width, "stride") if k < 2 else stride
        at = ir.Var("first" if k < 2 else name, types.int64)
        args = (at, *(dataclasses.replace(s.out) for s in self.sums))
        with builder.region() as ops:
            if k < 2:
                self.counted(axis, self.integer(operator.add, at, own, name))
            else:
                self.count(axis, at)
            found = self.level(k - 1, args[1:])
            further = self.integer(operator.add, at, stride, at.name)
        outs = tuple(dataclasses.replace(arg) for arg in args)
        body = ir.Region(args, tuple(ops), (further, *found))
        with builder.region() as tests:
            high = builder.call(operator.lt, at, axis.stop, type=types.boolean, name="is_inside")
        test_region = ir.Cloner().region(ir.Region(args, tuple(tests), (high,)))
        builder.emit(ir.While(inits=(first, *totals), test=test_region, body=body, outs=outs))
        return outs[1:]

    def counted(self, axis: Axis, place: ir.Operand) -> None:
        """The loop's counter, of a row that there is."""
        builder = self.builder
        is_inside = builder.call(operator.lt, place, axis.stop, type=types.boolean, name="is_row")
        if self.rows.together:
            last = self.integer(operator.sub, axis.stop, ir.integer(1), "last")
            place = builder.call(ir.select, is_inside, place, last, type=types.int64, name=axis.counter.name)
        self.is_row = is_inside if self.is_row is None else self.both(self.is_row, is_inside, "is_row")
        self.count(axis, place)

    def count(self, axis: Axis, place: ir.Operand) -> None:
        if not axis.is_counted:
            self.known[axis.counter] = place
            return
        offset = self.integer(operator.mul, axis.loop.step, place, "offset")
        self.builder.emit(ir.Call(callee=operator.add, args=(axis.loop.start, offset), outs=(axis.counter,)))

    def both(self, one: ir.Operand, other: ir.Operand, name: str) -> ir.Operand:
        return self.builder.call(operator.and_, one, other, type=types.boolean, name=name)

    def row(self, totals: Sequence[ir.Operand]) -> Sequence[ir.Operand]:
        assert self.is_row is not None
        builder, inner = self.builder, self.nest.inner.body
        self.known.update(zip(inner.args[1:], totals, strict=True))
        if self.slots:
            self.wait()  # of the row before some threads may be at an element yet
        if self.rows.together:
            if isinstance(self.is_first, ir.Var):
                self.is_first = self.both(self.is_first, self.is_row, "is_first")
            self.several(self.trip)
            return [self.operand(y) for y in inner.yields]
        with builder.region() as made:
            self.several(self.trip)
        yields = tuple(self.operand(y) for y in inner.yields)
        outs = tuple(dataclasses.replace(s.out) for s in self.sums)
        then, otherwise = ir.Region((), tuple(made), yields), ir.Region((), (), tuple(totals))
        builder.emit(ir.If(condition=self.is_row, then=then, orelse=otherwise, outs=outs))
        return outs

    # ------------------------------------------------------------------------------------------------- in a row

    def several(self, ops: Sequence[ir.Op]) -> None:
        for op in ops:
            if op in self.rows.barriers:
                self.wait()
            self.op(op)

    def wait(self) -> None:
        """The threads of the row wait for each other."""
        self.builder.emit(ir.Call(callee=callees.ROW_BARRIER, args=(self.threads,), outs=(), effect=True))

    def op(self, op: ir.Op) -> None:
        """What all threads of a row do alike, or the first one, or all of them together."""
        if op in self.rows.shared:
            assert isinstance(op, ir.For)
            self.shared(op)
        elif isinstance(op, ir.Alloc | ir.Copy):
            self.filled(op)
        elif isinstance(op, ir.Store):
            self.by_first(ir.substituted(self.addition(op), self.known))
        elif isinstance(op, ir.Call) and self.is_firsts(op):
            self.builder.ops.append(ir.substituted(op, self.known))
            before = next(self.operand(a) for a in op.args if a in self.rows.carried)
            args, out = (self.is_first, op.outs[0], before), dataclasses.replace(op.outs[0])
            self.builder.emit(ir.Call(callee=ir.select, args=args, outs=(out,)))
            self.known[op.outs[0]] = out
        elif op.regions:
            operands = [self.operand(o) for o in op.operands]
            regions: list[ir.Region] = []
            for region in op.regions:
                with self.builder.region() as ops:
                    self.several(region.ops)
                regions.append(ir.Region(region.args, tuple(ops), tuple(map(self.operand, region.yields))))
            self.builder.ops.append(op.rebuilt(operands, regions, op.results))
        else:
            self.builder.ops.append(ir.substituted(op, self.known))

    def is_firsts(self, op: ir.Op) -> bool:
        """Whether the first thread of a row does it, or has what comes of it."""
        return isinstance(op, ir.Store) or (isinstance(op, ir.Call) and op.outs[0] in self.rows.carried)

    def by_first(self, op: ir.Op) -> None:
        """What the first thread of a row does."""
        ops = self.builder.ops
        last = ops[-1] if ops else None
        if isinstance(last, ir.If) and last.condition is self.is_first and not last.outs:
            ops[-1] = ir.with_regions(last, [ir.with_ops(last.then, [*last.then.ops, op]), last.orelse])
        else:
            ops.append(ir.If(condition=self.is_first, then=ir.Region((), (op,), ())))

    def addition(self, op: ir.Op) -> ir.Op:
        """An addition to what several rows add to is atomic."""
        if not isinstance(op, ir.Store) or not op.add or self.aliases.find(op.array) not in self.nest.atomic:
            return op
        return dataclasses.replace(op, atomic=True)

    def shared(self, loop: ir.For) -> None:
        """A loop of which each thread of the row makes its own trips, and what comes of them."""
        builder = self.builder
        start, stop, step = (self.operand(o) for o in (loop.start, loop.stop, loop.step))
        is_counted = (start, step) != (ir.integer(0), ir.integer(1))
        own = self.turns(self.trips(dataclasses.replace(loop, start=start, stop=stop, step=step)))
        at, counter = ir.Var("turn", types.int64), loop.body.args[0]
        with builder.region() as ops:
            place = self.turn(at, counter.name)
            if step == ir.integer(-1):
                place = self.integer(operator.sub, start, place, counter.name)
            elif is_counted:
                offset = place if step == ir.integer(1) else self.integer(operator.mul, step, place, "offset")
                place = self.integer(operator.add, start, offset, counter.name)
            self.known[counter] = place
            made = ir.rewritten(ir.Region((), loop.body.ops, ()), self.addition)
            for op in made.ops:
                builder.ops.append(ir.substituted(op, self.known))
            yields = tuple(self.operand(y) for y in loop.body.yields)
        kind = self.rows.shared[loop]
        is_own = [slot.arg in self.rows.carried for slot in loop.slots]
        inits = [
            self.operand(slot.init) if own_sum or kind is not None else typed_const(0, slot.arg.type)
            for slot, own_sum in zip(loop.slots, is_own, strict=True)
        ]
        outs = tuple(dataclasses.replace(slot.out) for slot in loop.slots)
        body = ir.Region((at, *loop.body.args[1:]), tuple(ops), yields)
        builder.emit(ir.For(stop=own, inits=tuple(inits), body=body, outs=outs, origin=loop.origin))
        for slot, own_sum, out in zip(loop.slots, is_own, outs, strict=True):
            self.known[slot.out] = out if own_sum else self.of_row(slot, out, kind)

    def turns(self, trips: ir.Operand) -> ir.Operand:
        """How many of so many trips the thread makes: none of a row that is none."""
        if self.rows.together:
            assert self.is_row is not None
            args = (self.is_row, trips, ir.integer(0))
            trips = self.builder.call(ir.select, *args, type=types.int64, name="trips")
        spared = self.integer(operator.add, trips, self.spare, "spared")
        return self.integer(operator.floordiv, spared, self.threads, "turns")

    def turn(self, number: ir.Var, name: str) -> ir.Operand:
        """Which trip the thread makes in its turn of this number."""
        before = self.integer(operator.mul, number, self.threads, "before")
        return self.integer(operator.add, before, self.thread, name)

    def filled(self, op: ir.Alloc | ir.Copy) -> None:
        """What an array of the row's own has in it when it is made: the threads store what is beside each other."""
        if isinstance(op, ir.Alloc) and op.fill is None:
            return
        builder, out = self.builder, op.out
        *others, last = builder.shape(out)

        own = self.turns(last)

        def row(at: tuple[ir.Var, ...]) -> None:
            with builder.loop(own, "turn", origin=op.origin) as turn:
                index = (*at, self.turn(turn, "k"))
                if isinstance(op, ir.Copy):
                    builder.store(out, index, builder.load(self.operand(op.source), index))
                else:
                    assert op.fill is not None
                    builder.store(out, index, op.fill)

        builder.nest(others, row)

    def trips(self, loop: ir.For) -> ir.Operand:
        """How many trips a loop makes; what is below zero is none, too."""
        if loop.step == ir.integer(1):
            ends = loop.stop, loop.start
        elif loop.step == ir.integer(-1):
            ends = loop.start, loop.stop
        else:
            return count_trips(self.builder, loop)
        if all(isinstance(end, ir.Const) for end in ends) or ends[1] == ir.integer(0):
            return count_trips(self.builder, loop) if isinstance(ends[0], ir.Const) else ends[0]
        return self.integer(operator.sub, *ends, "trips")

    def of_row(self, slot: ir.Slot, own: ir.Var, kind: Extreme | None) -> ir.Operand:
        """What the threads of a row have made together."""
        if own.type not in self.parts:
            part = ir.Var("row_parts", array_type(own.type, 1))
            self.declared.emit(ir.Alloc(shape=(ir.integer(_MOST_THREADS),), out=part, role=ir.Role("block")))
            self.parts[own.type] = part
        args = (own, self.parts[own.type], self.thread, self.threads, self.far())
        total = dataclasses.replace(slot.out)
        self.builder.emit(ir.Call(callee=callees.OF_ROW[kind], args=args, outs=(total,), effect=True))
        if kind is not None or ir.is_literal(slot.init, 0):
            return total
        out = dataclasses.replace(slot.out)
        self.builder.emit(ir.Call(callee=operator.add, args=(self.operand(slot.init), total), outs=(out,)))
        return out
