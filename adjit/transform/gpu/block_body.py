"""The operations of a kernel that runs blocks of threads as they are: the loops over blocks and threads are the grid.

In: a launch with barriers, the homes of its arrays, room for sums. Out: `BlockBody.ops`.

    for b in range(blocks):                       b, t = cuda.blockIdx.x, cuda.threadIdx.x
        part = np.empty(16)                       part = cuda.shared.array(16, float64)
        for t in range(16): part[t] = x[b, t]     part[t] = x[b, t]
        barrier()                                 cuda.syncthreads()
        for t in range(16): ...                   ...

What the block does, all its threads do alike. A sum over the threads is handed to all of them.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.gpu import callees
from adjit.transform.gpu.blocks.block_operations import axes_of_threads, is_blocks, is_threads
from adjit.transform.gpu.kernel_body import Sum
from adjit.transform.gpu.memory_spaces import BlockNest, Home
from adjit.transform.ir.types import array_type, typed_const
from adjit.transform.rewrite.affine_ops import Writer

_PURE = (ir.Extent, ir.Comment, ir.Undefined, *ir.VIEWS)


class BlockBody:
    """`slots`: the global arrays that hold those of threads and blocks."""

    def __init__(self, nest: BlockNest, sums: Sequence[Sum], slots: Mapping[Home, ir.Var]):
        self.nest, self.slots = nest, slots
        self.builder = Writer(nest.outer.origin)
        self.known: dict[ir.Var, ir.Operand] = {}
        self.scratch: dict[ir.Type, ir.Var] = {}
        axes = axes_of_threads(nest.body)
        self.axes = len(axes)
        self.threads = [self.place("threadIdx", k, a.body.args[0].name) for k, a in enumerate(reversed(axes))]
        self.threads.reverse()  # the outermost loop first, as those are
        self._total = [s.first for s in sums]
        for k, loop in enumerate(reversed(nest.blocks)):
            self.known[loop.body.args[0]] = self.place("blockIdx", k, loop.body.args[0].name)
        head = self.builder.ops
        declared = ir.Builder()
        self.declared = declared
        with self.builder.region() as ops:
            self.blocks(nest.outer, self._total)
            if sums:
                self.parts(sums)
        self.ops: list[ir.Op] = [*head, *declared.ops, *ops]

    # ------------------------------------------------------------------------------------------------- indices

    def place(self, what: str, axis: int, name: str) -> ir.Var:
        """A counter of the thread's place, or the block's, along an axis."""
        out = ir.Var(name, types.intp, user=True)
        self.builder.emit(ir.Call(callee=ir.of_cuda(f"{what}.{'xyz'[axis]}"), args=(), outs=(out,)))
        return out

    def block_number(self, builder: ir.Builder) -> ir.Operand:
        """Which block it is, of all."""
        if len(self.nest.blocks) == 1:
            return self.known[self.nest.outer.body.args[0]]
        return builder.call(callees.BLOCK_NUMBER, type=types.intp, name="block_number")

    def thread_number(self, builder: ir.Builder) -> ir.Operand:
        """Which thread of its block it is."""
        if not self.threads:
            return ir.integer(0)
        return (
            self.threads[0] if self.axes == 1 else builder.call(callees.THREAD_NUMBER, type=types.intp, name="thread")
        )

    def number_of_all(self, builder: ir.Builder) -> ir.Operand:
        """Which thread it is, of all blocks'."""
        count = ir.integer(math.prod(self.nest.threads))
        first = builder.call(operator.mul, self.block_number(builder), count, type=types.intp, name="first")
        return builder.call(operator.add, first, self.thread_number(builder), type=types.intp, name="number")

    def is_first(self, builder: ir.Builder) -> ir.Operand:
        """Whether it is the first thread of its block."""
        number = self.thread_number(builder)
        return builder.call(operator.eq, number, ir.integer(0), type=types.boolean, name="is_first")

    # -------------------------------------------------------------------------------------------- what a block does

    def blocks(self, loop: ir.For, totals: Sequence[ir.Operand]) -> None:
        self.known.update(zip(loop.body.args[1:], totals, strict=True))
        for op in loop.body.ops:
            if is_blocks(op):
                assert isinstance(op, ir.For)
                self.blocks(op, [self.operand(o) for o in op.inits])
            else:
                self.op(op)
        self.yields = [self.operand(y) for y in loop.body.yields]
        self.known.update(zip(loop.outs, self.yields, strict=True))

    def operand(self, operand: ir.Operand) -> ir.Operand:
        return ir.substituted_operand(operand, self.known)

    def parts(self, sums: Sequence[Sum]) -> None:
        """The first thread stores what its block adds to the sums."""
        builder = self.builder
        number = self.block_number(builder)
        with builder.when(self.is_first(builder)):
            for s, value in zip(sums, self.yields, strict=True):
                builder.store(s.parts, (ir.integer(s.row), number), value)

    def op(self, op: ir.Op) -> None:
        """An operation of the block's, or a stretch."""
        if is_threads(op):
            assert isinstance(op, ir.For)
            self.stretch(op)
        elif op.regions:
            regions: list[ir.Region] = []
            for region in op.regions:
                with self.builder.region() as ops:
                    for inner in region.ops:
                        self.op(inner)
                regions.append(ir.Region(region.args, tuple(ops), tuple(map(self.operand, region.yields))))
            operands = [self.operand(o) for o in op.operands]
            self.builder.ops.append(op.rebuilt(operands, regions, op.results))
        else:
            self.plain(op)

    def plain(self, op: ir.Op) -> None:
        """An operation of each thread's."""
        if op in self.nest.homes:
            self.array(self.nest.homes[op])
        else:
            for made in self.own_elements(op):
                term = self.first_term(made)
                if term is not None:
                    self.known[made.results[0]] = self.operand(term)
                else:
                    self.builder.ops.append(ir.substituted(made, self.known))

    def first_term(self, op: ir.Op) -> ir.Operand | None:
        """What is added to a sum that starts from zero here."""
        if not isinstance(op, ir.Call) or op.callee is not operator.add or len(op.args) != 2:
            return None
        for sum_, term in (op.args, op.args[::-1]):
            starts = isinstance(sum_, ir.Var) and ir.is_literal(self.operand(sum_), 0)
            if starts and term.type == op.outs[0].type:
                return term
        return None

    # ------------------------------------------------------------------------------------------------- stretches

    def stretch(self, loop: ir.For) -> None:
        for slot in loop.slots:
            if partial_sums(slot.arg, slot.yielded, loop.body) is None:
                raise InternalError(f"threads pass on `{slot.arg.name}`, which is not a sum")
        own = self.trips(loop, 0, [typed_const(0, slot.arg.type) for slot in loop.slots])
        for slot, value in zip(loop.slots, own, strict=True):
            total = self.total(value, slot.out.name)
            if ir.is_literal(slot.init, 0):
                self.known[slot.out] = total
            else:
                args = (self.operand(slot.init), total)
                self.builder.emit(ir.Call(callee=operator.add, args=args, outs=(slot.out,)))

    def trips(self, loop: ir.For, depth: int, values: Sequence[ir.Operand]) -> list[ir.Operand]:
        """What one thread does of the loops over threads from a depth on."""
        counter, *args = loop.body.args
        self.known[counter] = self.threads[depth]
        self.known.update(zip(args, values, strict=True))
        is_last = depth + 1 == self.axes
        for op in loop.body.ops:
            if is_threads(op):
                assert isinstance(op, ir.For)
                found = self.trips(op, depth + 1, [self.operand(o) for o in op.inits])
                self.known.update(zip(op.outs, found, strict=True))
            elif is_last or isinstance(op, _PURE) or _is_pure(op):
                self.inside(op)
            else:
                raise InternalError(f"an operation of some threads of a block: {op}")
        return [self.operand(y) for y in loop.body.yields]

    def inside(self, op: ir.Op) -> None:
        """An operation of a thread's, with all that is in it."""
        if op.regions:
            regions: list[ir.Region] = []
            for region in op.regions:
                with self.builder.region() as ops:
                    for inner in region.ops:
                        self.inside(inner)
                regions.append(ir.Region(region.args, tuple(ops), tuple(map(self.operand, region.yields))))
            self.builder.ops.append(op.rebuilt([self.operand(o) for o in op.operands], regions, op.results))
        else:
            self.plain(op)

    def total(self, value: ir.Operand, name: str) -> ir.Operand:
        """A sum over the threads of the block."""
        if not self.axes:
            return value
        if value.type not in self.scratch:
            count = ir.integer(math.prod(self.nest.threads))
            out = ir.Var("totals", array_type(value.type, 1), user=True)
            self.declared.emit(ir.Alloc(shape=(count,), out=out, role=ir.Role("block")))
            self.scratch[value.type] = out
        return self.effect(callees.BLOCK_TOTAL, (value, self.scratch[value.type]), value.type, name)

    def effect(self, callee: ir.External, args: tuple[ir.Operand, ...], type_: ir.Type, name: str) -> ir.Var:
        out = ir.Var(name, type_)
        self.builder.emit(ir.Call(callee=callee, args=args, outs=(out,), effect=True))
        return out

    # ------------------------------------------------------------------------------------------------- arrays

    def array(self, home: Home) -> None:
        """What makes an array, in the place of what made it in the program."""
        out = home.made.out
        named = dataclasses.replace(out, type=home.own_type)
        self.known[out] = named
        if home.kind == "shared":
            self.declared.emit(ir.Alloc(shape=home.literal, out=named, role=ir.Role("block")))
        elif home.kind == "local":
            # in each thread, so it may as well be there from the start
            target = self.builder if not home.dropped else self.declared
            target.emit(ir.Alloc(shape=home.literal, out=named))
        else:
            is_blocks_own = home.kind == "of blocks"
            place = (self.block_number if is_blocks_own else self.number_of_all)(self.declared)
            self.declared.emit(ir.Slice(base=self.slots[home], selectors=home.selectors(place), out=named))
        if isinstance(home.made, ir.Copy):
            source = self.operand(home.made.source)
            builder = self.builder
            builder.nest(builder.shape(named), lambda at: builder.store(named, at, builder.load(source, at)))
        elif home.made.fill is not None:
            fill, builder = home.made.fill, self.builder
            builder.nest(home.literal, lambda at: builder.store(named, at, fill))

    def own_elements(self, op: ir.Op) -> Sequence[ir.Op]:
        """An access to an array of which the threads have the axes for themselves, without those."""
        if not isinstance(op, ir.Load | ir.Store | ir.Slice):
            return [op]
        array = op.base if isinstance(op, ir.Slice) else op.array
        home = next((h for h in self.nest.homes.values() if h.made.out is array and h.dropped), None)
        if home is None:
            return [op]
        if isinstance(op, ir.Slice):
            selectors = tuple(s for k, s in enumerate(op.selectors) if k not in home.dropped)
            if all(s == ir.Span() for s in selectors):
                self.known[op.out] = self.operand(array)
                return []
            return [dataclasses.replace(op, selectors=selectors)]
        index = tuple(i for k, i in enumerate(op.index) if k not in home.dropped)
        if not index and home.kind == "local":
            index = (ir.integer(0),)
        return [dataclasses.replace(op, index=index)]


def _is_pure(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) and not op.effect and not any(map(ir.is_reference, (*op.args, *op.outs)))
