"""A loop in blocks of trips, with the trips of a block innermost.

In: a loop with independent trips, and what differs between them. Out: the operations in its place.

    for i in range(n):                        for i0 in range(0, n, width):
        s = 0.0                                   lanes = min(width, n - i0)
        for j in range(d):                        for lane in range(lanes):
            s += x[i, j] * w[j]                       s_lanes[lane] = 0.0
        total += s                                for j in range(d):
                                                      w_item = w[j]
                                                      for lane in range(lanes):
                                                          s_lanes[lane] += x[i0 + lane, j] * w_item
                                                  for lane in range(lanes):
                                                      total += s_lanes[lane]

Loops over lanes hold straight-line code, which the compiler behind us turns into SIMD instructions. What lives from one
of them to the next is in an array with an entry a lane; what is the same for all lanes is done once, outside of them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.machine.lanes.lane_loops import Block, LaneLoop, Turned, array_for, in_arrays


class Blocking:
    """Rewrites the loop of a block."""

    def __init__(self, block: Block):
        self.block = block
        self._loop = loop = block.uniformity.loop
        self._uniformity = block.uniformity
        self._aliases = block.uniformity.aliases
        self._uses = _reads(loop.body)
        self._stored = set(map(self._aliases.find, loop.body.memory_written))
        self._loaded = {self._aliases.find(op.array) for op in ir.walk(loop.body) if isinstance(op, ir.Load)}
        self._ordered: list[ir.Op] = []

    def made(self) -> list[ir.Op]:
        """The operations that stand for the loop; `kept` has the arrays that they need then."""
        block, loop, sums = self.block, self._loop, self._uniformity.trips.sums
        builder = ir.Builder(loop.origin)
        start, stop = loop.start, loop.stop
        if loop.step != ir.integer(1):
            start = emit_integer(builder, operator.add, loop.stop, ir.integer(1), "end")
            stop = emit_integer(builder, operator.add, loop.start, ir.integer(1), "end")
        carried = [dataclasses.replace(slot.arg) for slot in loop.slots]
        block.now = dict(zip(sums, carried, strict=True))
        with builder.region() as head:
            left = builder.call(operator.sub, stop, block.first, type=types.intp, name="left")
            builder.emit(ir.Call(callee=min, args=(block.width, left), outs=(block.lanes,)))
        ops = self._ops(loop.body, ())
        ops += self._over_lanes(self._ordered, ())
        totals = LaneLoop(block)
        for found, slot in zip(sums, loop.slots, strict=True):
            if found.is_inner:
                totals.add_to(found, slot.yielded)
        ops += totals.made()
        turned = block.turned.items()
        copies = [self._copying(array, copied) for array, copied in turned]
        back = [self._copying(array, copied, True) for array, copied in turned if copied.kind != "read"]
        ops = [*block.parts.ops, *copies, *(ir.rewritten_op(op, self._with_kept) for op in ops), *back]
        if block.parts.ops:
            ops.insert(0, ir.Call(callee=operator.add, args=(block.first, block.lanes), outs=(block.end,)))
        body = ir.Region((block.first, *carried), (*head, *ops), tuple(block.now[s] for s in sums))
        builder.emit(ir.For(start=start, stop=stop, step=block.width, inits=loop.inits, body=body, outs=loop.outs))
        return builder.ops

    def _copying(self, array: ir.Operand, copied: Turned, back: bool = False) -> ir.Op:
        """The loops that copy an array's part, lanes innermost; or what stands for it then back to the array."""
        axis, builder = copied.axis, ir.Builder()

        def copy(index: tuple[ir.Var, ...]) -> None:
            *counters, lane = index
            place = (*counters[:axis], lane, *counters[axis:])
            if back:
                item = builder.load(copied.array, index, ir.element_name(array))
                builder.store(self.block.view(array, axis), place, item, add=copied.kind == "summed")
            elif copied.kind == "summed":
                builder.store(copied.array, index, typed_const(0, array_type_of(array).dtype))
            else:
                item = builder.load(self.block.view(array, axis), place, ir.element_name(array))
                builder.store(copied.array, index, item)

        extents = (*copied.extents, self.block.lanes)
        builder.nest(extents, copy, [*["j"] * len(copied.extents), "lane"], ordered=range(len(extents)))
        self.block.copies[builder.ops[0]] = copied.array
        return builder.ops[0]

    # ------------------------------------------------------------------------------- loops and branches of all lanes

    def _ops(self, region: ir.Region, last: Sequence[tuple[ir.Var, ir.Operand]]) -> list[ir.Op]:
        """The operations of a region; `last`: values that go into arrays by lane at its end."""
        ops: list[ir.Op] = []
        group: list[ir.Op] = []
        for n, op in enumerate(region.ops):
            kind = self._uniformity.kind(op)
            if kind == "by lane":
                is_ordered = any(s is not None and s.is_ordered for s in map(self.block.sum_of.get, op.results))
                (self._ordered if is_ordered else group).append(op)
            elif kind == "once":
                if isinstance(op, ir.Comment) or any(isinstance(inner, ir.Store) for inner in ir.with_inner(op)):
                    ops += self._over_lanes(group, ())
                    group = []
                ops.append(self._once(op))
            else:
                assert isinstance(op, ir.For | ir.If)
                starts = self._slots(op, region)
                self._stored_early(group, region.ops[n:], region, last)
                ops += self._over_lanes(group, starts)
                group = []
                ops.append(self._together(op))
        # what an inner loop left in an array is there
        return ops + self._over_lanes(group, [(array, y) for array, y in last if self.block.kept.get(y) is not array])

    def _stored_early(
        self,
        group: Sequence[ir.Op],
        later: Sequence[ir.Op],
        region: ir.Region,
        last: Sequence[tuple[ir.Var, ir.Operand]],
    ) -> None:
        """Gives what a loop hands on its array where it is made, if what the trip started from is read no more."""
        kept = self.block.kept
        read = {*(o for op in later for o in ir.reads(op)), *region.yields}
        for array, y in last:
            args = [arg for arg in region.args if kept.get(arg) is array]
            at = next((k for k, op in enumerate(group) if y in op.results), None)
            if at is None or not isinstance(y, ir.Var) or y in kept or y in self.block.sum_of:
                continue
            readers = (k for k, op in enumerate(group) if any(arg in ir.reads(op) for arg in args))
            if not read.isdisjoint(args) or next(readers, at) > at:
                continue
            kept[y] = array

    def _once(self, op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Alloc) and op.out in self.block.laned:
            return self.block.laned[op.out]
        return in_arrays(op, self.block.laned, None)

    def _slots(self, op: ir.For | ir.If, region: ir.Region) -> list[tuple[ir.Var, ir.Operand]]:
        """Gives each result that differs an array; what a loop has to store there before it starts."""
        starts: list[tuple[ir.Var, ir.Operand]] = []
        for k, out in enumerate(op.outs):
            if not self._uniformity.differs(out):
                continue
            if isinstance(op, ir.If):
                self.block.kept[out] = array_for(out)
                continue
            init, arg = op.inits[k], op.body.args[1 + k]
            # a value that nobody else reads is added to where it is
            here = (*region.args, *(o for other in region.ops if other.regions for o in other.results))
            is_free = init in self.block.kept and init in here and self._uses[init] == 1
            self.block.kept[arg] = self.block.kept[out] = self.block.kept[init] if is_free else array_for(arg)
            if not is_free:
                starts.append((self.block.kept[arg], init))
        return starts

    def _together(self, op: ir.For | ir.If) -> ir.Op:
        """A loop or branch of all lanes, which hands on what is the same for them, and sums over all trips."""
        block, differs = self.block, self._uniformity.differs
        places = [k for k, out in enumerate(op.outs) if not differs(out)]
        sums = {k: block.sum_of[op.outs[k]] for k in places if op.outs[k] in block.sum_of}
        before = dict(block.now)
        bodies: list[ir.Region] = []
        for region in op.regions:
            counter, carried = region.args[:1], region.args[1:]
            block.now = before | {found: carried[k] for k, found in sums.items() if carried}
            last = [(block.kept[out], y) for out, y in zip(op.outs, region.yields, strict=True) if differs(out)]
            ops = self._ops(region, last)
            yields = tuple(block.now[sums[k]] if k in sums else region.yields[k] for k in places)
            bodies.append(ir.Region((*counter, *(carried[k] for k in places if carried)), tuple(ops), yields))
        block.now.update((found, op.outs[k]) for k, found in sums.items())
        outs = tuple(op.outs[k] for k in places)
        if isinstance(op, ir.If):
            return dataclasses.replace(op, then=bodies[0], orelse=bodies[1], outs=outs)
        inits = tuple(before[sums[k]] if k in sums else op.inits[k] for k in places)
        return dataclasses.replace(op, inits=inits, body=bodies[0], outs=outs, pair=None, is_mirror=False)

    # ------------------------------------------------------------------------------------------- loops over lanes

    def _over_lanes(self, group: Sequence[ir.Op], last: Sequence[tuple[ir.Var, ir.Operand]]) -> list[ir.Op]:
        """Loops that do these operations for each lane and then store the values of `last` in their arrays.

        Elements that do not lie side by side are fetched before and stored after, so that the rest is in SIMD lanes.
        """
        group = [op for op in group if not any(out in self._uniformity.made_again for out in op.results)]
        before = {op for op in group if isinstance(op, ir.Load) and self._is_scattered(op)}
        made_here = {out for op in group for out in op.results}
        stores = [op for op in group if isinstance(op, ir.Store)]
        # what the arrays of `last` held is gone by then, and stores to one array stay in their order
        nested = [op for other in group for r in other.regions for op in ir.walk(r) if isinstance(op, ir.Store)]
        kept = [s for s in stores if s.value not in made_here or not self._is_scattered(s)]
        staying = {self._aliases.find(s.array) for s in (*kept, *nested)}
        after = {op for op in stores if self._aliases.find(op.array) not in staying}
        if not any(isinstance(op, ir.Call) and ir.is_float(op.outs[0].type) for op in group):
            before, after = set(), set()
        made: list[ir.Op] = []
        for ops, values in (
            ([op for op in group if op in before], ()),
            ([op for op in group if op not in before and op not in after], last),
            ([op for op in group if op in after], ()),
        ):
            loop = LaneLoop(self.block)
            for op in ops:
                loop.op(op)
            loop.keep(values)
            made += loop.made()
        return made

    def _is_scattered(self, op: ir.Load | ir.Store) -> bool:
        """Whether the lanes' elements of an array that is read only, or of their own, are apart in memory."""
        if op.array in self.block.turned or self._aliases.find(op.array) in (
            self._stored if isinstance(op, ir.Load) else self._loaded
        ):
            return False
        differing = [axis for axis, i in enumerate(op.index) if self._uniformity.differs(i)]
        known = (self.block.counter, *self._uniformity.made_again)
        if not differing or any(op.index[axis] not in known for axis in differing):
            return False
        type_ = array_type_of(op.array)
        return differing != [0 if type_.layout == "F" else type_.ndim - 1] or type_.layout == "A"

    def _with_kept(self, op: ir.Op) -> ir.Op:
        """The operation; in loops over lanes, what other such loops read is stored in its array."""
        if not isinstance(op, ir.For) or op.body.args[0] not in self.block.counters:
            return op
        region, lane, kept = op.body, op.body.args[0], self.block.kept
        reads = _reads(region)
        arrays = set(kept.values())
        stored = {op.value for op in region.ops if isinstance(op, ir.Store) and op.array in arrays}
        # what is only stored, once, needs no name of its own
        unnamed: dict[ir.Var, ir.Var] = {
            out: dataclasses.replace(out, user=False)
            for op in region.ops
            for out in op.results
            if (out in kept) != (out in stored) and reads[out] == (out in stored)
        }
        ops: list[ir.Op] = []
        for inner in region.ops:
            made = ir.substituted(inner, unnamed)
            ops.append(made.rebuilt(made.operands, made.regions, [unnamed.get(out, out) for out in inner.results]))
            for out in inner.results:
                if out in kept:
                    value = unnamed.get(out, out)
                    ops.append(ir.Store(array=kept[out], index=(lane,), value=value, origin=inner.origin))
        return ir.with_regions(op, [ir.with_ops(region, ops)])


def _reads(region: ir.Region) -> Counter[ir.Operand]:
    """How often each operand is read in a region, and handed on by it."""
    return Counter((*(o for op in region.ops for o in ir.reads(op)), *region.yields))
