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
from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.alias import Aliases
from adjit.transform.independence import Sum, Trips, lowest_is_natural
from adjit.transform.support import reassociable_add, reassociable_sub
from adjit.transform.types import array_type, array_type_of, slice_type, typed_const
from adjit.transform.uniformity import Kind, Uniformity


@dataclasses.dataclass(frozen=True)
class Turned:
    """A copy of the block's part of an array, without the axis of the trips and with a last one for the lanes."""

    axis: int
    extents: tuple[ir.Operand, ...]
    array: ir.Var


class Blocking:
    """Rewrites one loop. `width`: lanes a block at most; `laned`: for each array of a trip, the one with a last axis
    for the lanes, and `shapes` the shape of that; `turned`: arrays of which the block's part is copied."""

    def __init__(
        self,
        loop: ir.For,
        trips: Trips,
        uniformity: Uniformity,
        aliases: Aliases,
        laned: Mapping[ir.Operand, ir.Var],
        shapes: Mapping[ir.Operand, tuple[ir.Operand, ...]],
        turned: Mapping[ir.Operand, Turned],
        width: ir.Operand,
    ):
        self._loop = loop
        self._trips = trips
        self._uniformity = uniformity
        self._aliases = aliases
        self._laned = laned
        self._width = width
        self._uses = Counter(o for op in loop.body.ops for o in ir.reads(op))
        self._uses.update(loop.body.yields)
        counter = loop.body.args[0]
        self._counter = counter
        self._first = ir.Var(f"{counter.name}0", counter.type)
        self._lanes = ir.Var("lanes", types.intp)
        # where values live that are used in another loop over lanes than the one that makes them
        self.kept: dict[ir.Operand, ir.Var] = {}
        self._lane_of: dict[ir.For, ir.Var] = {}
        self._sum_of: dict[ir.Operand, Sum] = {v: s for s in trips.sums for v in s.chain if not s.is_inner}
        # what lanes add up each by itself starts from zero
        self.zeros: dict[ir.Operand, ir.Const] = {
            arg: typed_const(0, arg.type) for arg, s in zip(loop.body.args[1:], trips.sums, strict=True) if s.is_inner
        }
        self._now: dict[Sum, ir.Operand] = {}
        self._ordered: list[ir.Op] = []
        # the part of an array that a block sees, along an axis that the trips go through
        self._parts: dict[tuple[ir.Operand, int], ir.Slice] = {}
        self._turned = turned
        self._shapes = shapes
        self._end = ir.Var(f"{counter.name}1", types.intp)
        stores = [op for op in ir.walk(loop.body) if isinstance(op, ir.Store)]
        self._stored = {aliases.find(op.array) for op in stores}
        self._loaded = {aliases.find(op.array) for op in ir.walk(loop.body) if isinstance(op, ir.Load)}
        made_inside = (out for op in ir.walk(loop.body) for out in op.results)
        self._inside: set[ir.Operand] = {*made_inside, *laned}
        self._counts_up = lowest_is_natural(loop)

    def made(self) -> list[ir.Op]:
        """The operations that stand for the loop; `kept` has the arrays that they need then."""
        loop, builder = self._loop, ir.Builder()
        builder.origin = loop.origin
        start, stop = loop.start, loop.stop
        if loop.step != ir.integer(1):
            start = _plus_one(builder, loop.stop)
            stop = _plus_one(builder, loop.start)
        args = [dataclasses.replace(arg) for arg in loop.body.args[1:]]
        self._now = dict(zip(self._trips.sums, args, strict=True))
        with builder.region() as head:
            left = builder.call(operator.sub, stop, self._first, type=types.intp, name="left")
            builder.emit(ir.Call(callee=min, args=(self._width, left), outs=(self._lanes,)))
        ops = self._ops(loop.body, ())
        ops += self._over_lanes(self._ordered, ())
        totals = _LaneLoop(self)
        for found, y in zip(self._trips.sums, loop.body.yields, strict=True):
            if found.is_inner:
                totals.add_to(found, y)
        ops += totals.made()
        copies = [self._copying(array, copied) for array, copied in self._turned.items()]
        ops = [*self._parts.values(), *copies, *(kept for op in ops for kept in self._with_kept(op, None))]
        if self._parts:
            ops.insert(0, ir.Call(callee=operator.add, args=(self._first, self._lanes), outs=(self._end,)))
        yields = tuple(self._now[s] for s in self._trips.sums)
        builder.emit(
            ir.For(
                start=start,
                stop=stop,
                step=self._width,
                inits=loop.inits,
                body=ir.Region((self._first, *args), (*head, *ops), yields),
                outs=loop.outs,
            )
        )
        return builder.ops

    def _copying(self, array: ir.Operand, copied: Turned) -> ir.Op:
        """The loops that copy an array's part, lanes innermost."""
        axis, lane = copied.axis, ir.Var("lane", types.intp)
        counters = [ir.Var("j", types.intp) for _ in copied.extents]
        builder = ir.Builder()
        part, _ = self._part(array, axis, len(counters) + 1)
        item = builder.load(part, (*counters[:axis], lane, *counters[axis:]), ir.element_name(array))
        builder.store(copied.array, (*counters, lane), item)
        made = _simple_loop(lane, self._lanes, builder.ops)
        for counter, extent in zip(reversed(counters), reversed(copied.extents), strict=True):
            made = _simple_loop(counter, extent, [made])
        return made

    def _part(self, array: ir.Operand, axis: int, rank: int) -> tuple[ir.Var, int]:
        """The view of what a block sees of an array along an axis."""
        if (array, axis) not in self._parts:
            span = ir.Span(self._first, self._end)
            selectors = tuple(span if k == axis else ir.Span() for k in range(rank))
            name = array.name if isinstance(array, ir.Var) else "array"
            out = ir.Var(f"{name}_block", slice_type(array_type_of(array), selectors))
            self._parts[array, axis] = ir.Slice(base=array, selectors=selectors, out=out)
        return self._parts[array, axis].out, axis

    def part(self, array: ir.Operand, index: Sequence[ir.Operand]) -> tuple[ir.Var, int] | None:
        """The view of an array in which a lane stands for the loop's counter, and the axis; None if there is none.

        An index into it is known not to be negative, which one of the array itself is not in the eyes of the compiler.
        """
        if self._counter not in index or array in self._inside or not self._counts_up:
            return None
        return self._part(array, index.index(self._counter), len(index))

    def in_parts(self, op: ir.Op, lane: ir.Var) -> ir.Op:
        """The operation on the block's parts of arrays."""
        if isinstance(op, ir.Load | ir.Store):
            if op.array in self._turned:
                copied = self._turned[op.array]
                index = (*op.index[: copied.axis], *op.index[copied.axis + 1 :], lane)
                return dataclasses.replace(op, array=copied.array, index=index)
            found = self.part(op.array, op.index)
            if found is None:
                return op
            array, axis = found
            return dataclasses.replace(op, array=array, index=(*op.index[:axis], lane, *op.index[axis + 1 :]))
        if not op.regions:
            return op
        regions = [ir.Region(r.args, tuple(self.in_parts(i, lane) for i in r.ops), r.yields) for r in op.regions]
        return op.rebuilt(op.operands, regions, op.results)

    # ------------------------------------------------------------------------------- loops and branches of all lanes

    def _ops(self, region: ir.Region, last: Sequence[tuple[ir.Var, ir.Operand]]) -> list[ir.Op]:
        """The operations of a region; `last`: values that go into arrays by lane at its end."""
        ops: list[ir.Op] = []
        group: list[ir.Op] = []
        for op in region.ops:
            kind = self._uniformity.kind(op)
            if kind is Kind.BY_LANE:
                if any(s is not None and s.is_ordered for s in map(self._sum_of.get, op.results)):
                    self._ordered.append(op)
                else:
                    group.append(op)
                continue
            if kind is Kind.ONCE:
                if isinstance(op, ir.Comment) or _stores(op):
                    ops += self._over_lanes(group, ())
                    group = []
                ops.append(self._once(op))
                continue
            assert isinstance(op, ir.For | ir.If)
            starts = self._slots(op, region)
            ops += self._over_lanes(group, starts)
            group = []
            ops.append(self._together_loop(op) if isinstance(op, ir.For) else self._together_branch(op))
        return ops + self._over_lanes(group, last)

    def _once(self, op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Alloc) and op.out in self._laned:
            return dataclasses.replace(op, like=None, shape=self._shapes[op.out], out=self._laned[op.out])
        return _in_arrays(op, self._laned, None)

    def _slots(self, op: ir.For | ir.If, region: ir.Region) -> list[tuple[ir.Var, ir.Operand]]:
        """Gives each result that differs an array; what a loop has to store there before it starts."""
        starts: list[tuple[ir.Var, ir.Operand]] = []
        for k, out in enumerate(op.outs):
            if not self._uniformity.differs(out):
                continue
            if isinstance(op, ir.If):
                self.kept[out] = _array_for(out)
                continue
            init, arg = op.inits[k], op.body.args[1 + k]
            # a value that nobody else reads is added to where it is
            here = (*region.args, *(o for other in region.ops if other.regions for o in other.results))
            is_free = init in self.kept and init in here and self._uses[init] == 1
            self.kept[arg] = self.kept[out] = self.kept[init] if is_free else _array_for(arg)
            if not is_free:
                starts.append((self.kept[arg], init))
        return starts

    def _together_loop(self, op: ir.For) -> ir.For:
        places = [k for k, out in enumerate(op.outs) if not self._uniformity.differs(out)]
        inits, args, sums = [], [], {}
        for k in places:
            arg = op.body.args[1 + k]
            found = self._sum_of.get(arg)
            inits.append(op.inits[k] if found is None else self._now[found])
            args.append(arg)
            if found is not None:
                sums[k] = found
                self._now[found] = arg
        last = [
            (self.kept[out], y)
            for out, y in zip(op.outs, op.body.yields, strict=True)
            if self._uniformity.differs(out) and self.kept.get(y) is not self.kept[out]
        ]
        ops = self._ops(op.body, last)
        yields = tuple(self._now[sums[k]] if k in sums else op.body.yields[k] for k in places)
        for k, found in sums.items():
            self._now[found] = op.outs[k]
        return dataclasses.replace(
            op,
            inits=tuple(inits),
            body=ir.Region((op.body.args[0], *args), tuple(ops), yields),
            outs=tuple(op.outs[k] for k in places),
            pair=None,
            is_mirror=False,
        )

    def _together_branch(self, op: ir.If) -> ir.If:
        places = [k for k, out in enumerate(op.outs) if not self._uniformity.differs(out)]
        sums = {k: self._sum_of[op.outs[k]] for k in places if op.outs[k] in self._sum_of}
        before = dict(self._now)
        sides: list[ir.Region] = []
        for side in op.regions:
            self._now = dict(before)
            last = [
                (self.kept[out], y)
                for out, y in zip(op.outs, side.yields, strict=True)
                if self._uniformity.differs(out)
            ]
            ops = self._ops(side, last)
            yields = tuple(self._now[sums[k]] if k in sums else side.yields[k] for k in places)
            sides.append(ir.Region((), tuple(ops), yields))
        for k, found in sums.items():
            self._now[found] = op.outs[k]
        return dataclasses.replace(op, then=sides[0], orelse=sides[1], outs=tuple(op.outs[k] for k in places))

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
            loop = _LaneLoop(self)
            for op in ops:
                loop.op(op)
            loop.keep(values)
            made += loop.made()
        return made

    def _is_scattered(self, op: ir.Load | ir.Store) -> bool:
        """Whether the lanes' elements of an array that is read only, or of their own, are apart in memory."""
        if op.array in self._turned or self._aliases.find(op.array) in (
            self._stored if isinstance(op, ir.Load) else self._loaded
        ):
            return False
        differing = [axis for axis, i in enumerate(op.index) if self._uniformity.differs(i)]
        known = (self._counter, *self._uniformity.made_again)
        if not differing or any(op.index[axis] not in known for axis in differing):
            return False
        type_ = array_type_of(op.array)
        return differing != [0 if type_.layout == "F" else type_.ndim - 1] or type_.layout == "A"

    def _with_kept(self, op: ir.Op, lane: ir.Var | None) -> list[ir.Op]:
        """The operation, and what of its results other loops over lanes read, stored in their arrays."""
        if op.regions and lane is None:
            inside = self._lane_of.get(op) if isinstance(op, ir.For) else None
            regions = [
                ir.Region(r.args, tuple(k for i in r.ops for k in self._with_kept(i, inside)), r.yields)
                for r in op.regions
            ]
            op = op.rebuilt(op.operands, regions, op.results)
        if lane is None:
            return [op]
        stores = [
            ir.Store(array=self.kept[out], index=(lane,), value=out, origin=op.origin)
            for out in op.results
            if out in self.kept
        ]
        return [op, *stores]


class _LaneLoop:
    """One loop over lanes in the making."""

    def __init__(self, block: Blocking):
        self.block = block
        self.builder = ir.Builder()
        self.lane = ir.Var("lane", types.intp)
        self._here: dict[ir.Operand, ir.Operand] = {self.lane: self.lane}
        # sums that this loop adds to: what the loop carries, and where they stand
        self._sums: dict[Sum, ir.Var] = {}
        self._current: dict[Sum, ir.Operand] = {}
        self._stores: list[tuple[ir.Store, ir.Var, ir.Operand]] = []

    def op(self, op: ir.Op) -> None:
        block = self.block
        self.builder.origin = op.origin
        if isinstance(op, ir.Store) and self._is_one_sum(op):
            self._add_up(op)
            return
        op = block.in_parts(op, self.lane)
        free = dict.fromkeys(o for o in ir.reads(op) if isinstance(o, ir.Var))
        for region in op.regions:
            for inner in (region, *(r for i in ir.walk(region) for r in i.regions)):
                for var in (*inner.args, *(out for i in inner.ops for out in i.results)):
                    free.pop(var, None)
        mapping = {v: self.value(v) for v in free}
        op = ir.substituted(_in_arrays(_reassociated(op, block._sum_of), block._laned, self.lane), mapping)
        self.builder.ops.append(op)
        for out in op.results:
            self._here[out] = out
            if out in block._sum_of:
                self._current[block._sum_of[out]] = out

    def _is_one_sum(self, op: ir.Store) -> bool:
        """Whether all lanes add to the same element."""
        block = self.block
        is_summed = block._aliases.find(op.array) in block._trips.summed
        return is_summed and not any(block._uniformity.differs(i) for i in op.index)

    def _add_up(self, op: ir.Store) -> None:
        type_ = array_type_of(op.array).dtype
        name = f"{op.array.name}_sum" if isinstance(op.array, ir.Var) else "sum"
        arg = ir.Var(name, type_)
        self._stores.append((op, arg, self._plus(arg, op.value)))

    def _plus(self, total: ir.Var, term: ir.Operand) -> ir.Var:
        callee = reassociable_add if isinstance(total.type, types.Float) else operator.add
        return self.builder.call(callee, total, self.value(term), type=total.type, name=total.name)

    def add_to(self, found: Sum, term: ir.Operand) -> None:
        """Adds what each lane has added up by itself."""
        now = self.block._now[found]
        assert isinstance(now, ir.Var)
        self._sums[found] = dataclasses.replace(now)
        self._current[found] = self._plus(self._sums[found], term)

    def keep(self, last: Sequence[tuple[ir.Var, ir.Operand]]) -> None:
        values = [(array, self.value(operand)) for array, operand in last]
        for array, value in values:
            self.builder.store(array, (self.lane,), value)

    def value(self, operand: ir.Operand) -> ir.Operand:
        """What stands for an operand in this loop."""
        block = self.block
        if operand in self._here:
            return self._here[operand]
        if operand in block.zeros:
            return block.zeros[operand]
        found = block._sum_of.get(operand)
        if found is not None:
            if found not in self._sums:
                assert isinstance(operand, ir.Var)
                self._current[found] = self._sums[found] = dataclasses.replace(operand)
            return self._current[found]
        if not isinstance(operand, ir.Var) or not block._uniformity.differs(operand):
            return operand
        made: ir.Operand
        if operand is block._counter:
            made = self.builder.call(operator.add, block._first, self.lane, type=operand.type, name=operand.name)
        elif operand in block._uniformity.made_again:
            again = block._uniformity.made_again[operand]
            args = [self.value(a) for a in again.args]
            made = dataclasses.replace(operand)
            self.builder.ops.append(again.rebuilt(args, (), (made,)))
        else:
            array = block.kept.get(operand)
            if array is None:
                array = block.kept[operand] = _array_for(operand)
            made = self.builder.load(array, (self.lane,), operand.name)
        self._here[operand] = made
        return made

    def made(self) -> list[ir.Op]:
        if not self.builder.ops:
            return []
        args = [*self._sums.values(), *(arg for _, arg, _ in self._stores)]
        outs = [dataclasses.replace(arg) for arg in args]
        totals = [dataclasses.replace(arg) for _, arg, _ in self._stores]
        outs[len(self._sums) :] = totals
        loop = ir.For(
            start=ir.integer(0),
            stop=self.block._lanes,
            step=ir.integer(1),
            inits=(
                *(self.block._now[s] for s in self._sums),
                *(typed_const(0, arg.type) for _, arg, _ in self._stores),
            ),
            body=ir.Region(
                (self.lane, *args),
                tuple(self.builder.ops),
                (*(self._current[s] for s in self._sums), *(total for _, _, total in self._stores)),
            ),
            outs=tuple(outs),
            origin=self.builder.ops[0].origin,
        )
        self.block._lane_of[loop] = self.lane
        self.block._now.update(zip(self._sums, outs, strict=False))
        stores = [dataclasses.replace(op, value=out) for (op, _, _), out in zip(self._stores, totals, strict=True)]
        return [loop, *stores]


def _simple_loop(counter: ir.Var, stop: ir.Operand, ops: Sequence[ir.Op]) -> ir.For:
    body = ir.Region((counter,), tuple(ops), ())
    return ir.For(start=ir.integer(0), stop=stop, step=ir.integer(1), inits=(), body=body, outs=())


def _array_for(value: ir.Var) -> ir.Var:
    return ir.Var(f"{value.name}_lanes", array_type(value.type, 1))


def _plus_one(builder: ir.Builder, value: ir.Operand) -> ir.Operand:
    if isinstance(value, ir.Const):
        return ir.integer(value.value + 1)
    return builder.call(operator.add, value, ir.integer(1), type=types.intp, name="end")


def _stores(op: ir.Op) -> bool:
    return isinstance(op, ir.Store) or any(isinstance(i, ir.Store) for r in op.regions for i in ir.walk(r))


def _in_arrays(op: ir.Op, laned: Mapping[ir.Operand, ir.Var], lane: ir.Var | None) -> ir.Op:
    """The operation on the arrays with an axis for the lanes; `lane` None where it looks at their extents alone."""
    if isinstance(op, ir.Load | ir.Store) and op.array in laned:
        assert lane is not None
        return dataclasses.replace(op, array=laned[op.array], index=(*op.index, lane))
    if isinstance(op, ir.Extent) and op.array in laned:
        return dataclasses.replace(op, array=laned[op.array])
    if not op.regions:
        return op
    regions = [ir.Region(r.args, tuple(_in_arrays(i, laned, lane) for i in r.ops), r.yields) for r in op.regions]
    return op.rebuilt(op.operands, regions, op.results)


def _reassociated(op: ir.Op, sum_of: Mapping[ir.Operand, Sum]) -> ir.Op:
    """The operation with its additions to sums in any order made such that the compiler may reorder them."""
    if op.regions:
        regions = [ir.Region(r.args, tuple(_reassociated(i, sum_of) for i in r.ops), r.yields) for r in op.regions]
        return op.rebuilt(op.operands, regions, op.results)
    found = sum_of.get(op.results[0]) if len(op.results) == 1 else None
    if found is None or found.is_ordered or not isinstance(op, ir.Call) or not ir.is_float(op.outs[0].type):
        return op
    total, term = op.args if op.args[0] in found.chain else op.args[::-1]
    if total.type != term.type:
        return op
    callee = reassociable_add if op.callee is operator.add else reassociable_sub
    return dataclasses.replace(op, callee=callee, args=(total, term))
