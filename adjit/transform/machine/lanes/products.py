"""Products of matrices among the loops of a block, each as one call.

    for j in range(m):                               for j in range(m):
        for lane in range(lanes):                        for lane in range(lanes):
            s_lanes[lane] = 0.0                              s_lanes[j, lane] = 0.0
        for k in range(d):                           add_product(s_lanes[:, :lanes], w, x[:, :lanes])
            w_item = w[j, k]                         for j in range(m):
            for lane in range(lanes):                    for lane in range(lanes):
                s_lanes[lane] += x[k, lane] * w_item         y[j, lane] = exp(s_lanes[j, lane])
        for lane in range(lanes):
            y[j, lane] = exp(s_lanes[lane])

In: what stands for a loop in lanes. Out: the same with such calls, and the arrays that are new. The loop around the two
of a product (`product_terms.py`) is parted into what comes before it, the product, and what comes after; what a trip
hands on from one part to the next gets an axis for the trips. Factors that are the same in all trips of the inner loop
are made before it. Elements are added up in the order of the loops, but for sums over the lanes, which have none. The
call keeps sums in registers, where the loops fetch and store them for every term (`runtime/backend/products.py`).
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adjit.runtime.library import add_product, subtract_product
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import Effects, touched
from adjit.transform.analysis.integers import Naturals, emit_integer
from adjit.transform.analysis.loop_dependences import LoopDependences, is_own
from adjit.transform.ir.types import array_type, array_type_of, transposed_type
from adjit.transform.machine.lanes.lane_loops import Block, array_for
from adjit.transform.machine.lanes.product_terms import Element, Finding, Product


class Written(NamedTuple):
    """The operations of a block with calls for its products; arrays that are new, and those that they stand for."""

    ops: Sequence[ir.Op]
    allocs: Sequence[ir.Alloc] = ()
    gone: frozenset[ir.Operand] = frozenset()


def write_products(
    ops: Sequence[ir.Op], block: Block, sharing: LoopDependences, made: Mapping[ir.Operand, ir.Op]
) -> Written:
    """The operations of a block with their products as calls. `made`: by result, in the function."""
    for part in block.parts.ops:
        sharing.aliases.note(part)
    standing_for: dict[ir.Operand, ir.Operand] = {alloc.out: array for array, alloc in block.laned.items()}
    standing_for.update((copied.array, array) for array, copied in block.turned.items())

    def is_free(array: ir.Operand) -> bool:
        is_known = array in standing_for or array not in block.kept.values()
        return is_known and not sharing.reach.has_memory(standing_for.get(array, array))

    def finding_in(body: ir.Region) -> Finding:
        kept = set(block.kept.values())
        return Finding(block.counters, body.defines, kept, sharing.aliases, sharing.naturals, is_free)

    body = ir.Region((), tuple(ops), ())
    body = _FactorsApart(block, finding_in(body)).region(body)
    matrices = _Matrices(block, {**made, **body.made}, sharing.naturals)
    finding = finding_in(body)
    writing = _Writing(body, finding, matrices)
    written = writing.region(body)
    matrices.direct = _only_multiplied(written, block)
    if matrices.direct:
        writing = _Writing(body, finding, matrices)
        written = ir.rewritten(writing.region(body), lambda op: () if block.copies.get(op) in matrices.direct else op)
        for array in [array for array, copied in block.turned.items() if copied.array in matrices.direct]:
            del block.turned[array]
    return Written(written.ops, writing.allocs, frozenset(writing.gone))


def _only_multiplied(body: ir.Region, block: Block) -> set[ir.Operand]:
    """The copies of blocks that products alone look at, or are added to: those take the block as it is."""
    copied: set[ir.Operand] = {turned.array for turned in block.turned.values() if turned.kind != "summed"}
    products = [op for op in body.inside if isinstance(op, ir.AddProduct)]
    multiplied: set[ir.Operand] = {ir.base_of(o, body.made) for op in products for o in op.operands}
    copying = {inner for op in block.copies for inner in ir.with_inner(op)}
    touched_else = {op.array for op in body.inside if isinstance(op, ir.Load | ir.Store) and op not in copying}
    return (copied & multiplied) - touched_else


# ------------------------------------------------------------------------------------------------------ factors apart


class _FactorsApart:
    """Has factors that are the same in all trips of the inner loop made before it, where that makes it a product."""

    def __init__(self, block: Block, finding: Finding):
        self.block, self.finding = block, finding

    def region(self, region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        for op in region.ops:
            if isinstance(op, ir.For) and self.finding.is_parted(op):
                body = [made for inner in op.body.ops for made in self.apart(inner, op)]
                op = ir.with_regions(op, [ir.with_ops(op.body, body)])
            ops.append(ir.with_regions(op, list(map(self.region, op.regions))))
        return ir.with_ops(region, ops)

    def apart(self, inner: ir.Op, around: ir.For) -> Sequence[ir.Op]:
        loop = self.finding.over_lanes(inner) if isinstance(inner, ir.For) else None
        if loop is None or not isinstance(inner, ir.For):
            return [inner]
        fixed = self.fixed(loop, inner)
        others = [op for op in loop.body.ops if op not in fixed]
        read = {o for op in others for o in ir.reads(op)} | set(loop.body.yields)
        factors = [op.outs[0] for op in fixed if isinstance(op, ir.Call) and op.outs[0] in read]
        if not factors or not all(ir.is_float(factor.type) for factor in factors):
            return [inner]
        arrays: dict[ir.Operand, ir.Var] = {factor: array_for(factor) for factor in factors}
        loads = [ir.Load(array=arrays[factor], index=loop.body.args[:1], out=factor) for factor in factors]
        still = [op for op in fixed if isinstance(op, ir.Load) and op.out in read]
        short = ir.with_regions(loop, [ir.with_ops(loop.body, [*loads, *still, *others])])
        rest = ir.with_regions(inner, [ir.with_ops(inner.body, [short if op is loop else op for op in inner.body.ops])])
        if not self.finding.products(rest, around, arrays.values()):
            return [inner]
        lane = dataclasses.replace(loop.body.args[0])
        cloner = ir.Cloner({loop.body.args[0]: lane})
        ops = [cloner.op(op) for op in fixed]
        ops += [
            ir.Store(array=a, index=(lane,), value=cloner.operand(v), origin=loop.origin) for v, a in arrays.items()
        ]
        self.block.counters.add(lane)
        self.block.kept.update(arrays)
        return [dataclasses.replace(loop, inits=(), body=ir.Region((lane,), tuple(ops), ()), outs=()), rest]

    def fixed(self, loop: ir.For, inner: ir.For) -> list[ir.Op]:
        """What a loop over lanes does alike in all trips of the loop around it."""
        written = set(map(self.finding.aliases.find, inner.body.memory_written))
        varying: set[ir.Operand] = {inner.body.args[0], *loop.body.args[1:]}
        varying.update(out for op in inner.body.ops for out in op.results)
        found: list[ir.Op] = []
        for op in loop.body.ops:
            is_pure = isinstance(op, ir.Call) and not op.effect
            is_pure |= isinstance(op, ir.Load) and self.finding.aliases.find(op.array) not in written
            if is_pure and varying.isdisjoint(op.operands):
                found.append(op)
            else:
                varying.update(op.results)
        return found


# --------------------------------------------------------------------------------------------------- parts of a loop


class _Part(NamedTuple):
    """What a trip of a loop does between two products, or the products of an inner loop."""

    ops: list[ir.Op]
    inner: ir.For | None = None
    products: Sequence[Product] = ()


class _Writing:
    def __init__(self, body: ir.Region, finding: Finding, matrices: _Matrices):
        self.finding, self.matrices, self.aliases = finding, matrices, finding.aliases
        self.allocs: list[ir.Alloc] = []
        self.gone: set[ir.Operand] = set()
        self.touching: dict[ir.Operand, list[ir.Op]] = {array: [] for array in finding.kept}
        for op in body.inside:
            for operand in op.operands:
                if operand in self.touching:
                    self.touching[operand].append(op)

    def region(self, region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        for op in region.ops:
            parted = self.parted(op) if isinstance(op, ir.For) and self.finding.is_parted(op) else None
            ops += [ir.with_regions(op, list(map(self.region, op.regions)))] if parted is None else parted
        return ir.with_ops(region, ops)

    def parted(self, loop: ir.For) -> list[ir.Op] | None:
        """What stands for a loop with products in its trips; None if there are none, or the loop cannot be parted."""
        parts = [_Part([])]
        for op in loop.body.ops:
            products = self.finding.products(op, loop) if isinstance(op, ir.For) else []
            if products and isinstance(op, ir.For):
                parts += [_Part([op], op, products), _Part([])]
            else:
                parts[-1].ops.append(op)
        shared = self.shared(loop, parts) if len(parts) > 1 else None
        if shared is None:
            return None
        parting = _Parting(loop, parts, shared, self.matrices, self.aliases)
        made = parting.made()
        if made is not None:
            self.allocs += parting.allocs
            self.gone.update(shared)
        return made

    def shared(self, loop: ir.For, parts: Sequence[_Part]) -> list[ir.Var] | None:
        """The arrays of a trip that several parts touch, or a product; None if the parts cannot run one after the
        other."""
        effects = [[Effects(op, self.aliases) for op in part.ops] for part in parts]
        if any(e.is_ordered for own in effects for e in own):
            return None
        touching = [[op for e in own for op in e.touching] for own in effects]
        memories = [{self.aliases.find(a) for op in own for a in touched(op)} for own in touching]
        written = set(map(self.aliases.find, loop.body.memory_written))
        found: list[ir.Var] = []
        for memory in dict.fromkeys(m for own in memories for m in own):
            users = [k for k, own in enumerate(memories) if memory in own]
            if isinstance(memory, ir.Var) and memory in self.finding.kept:
                if len(users) > 1 or parts[users[0]].products:
                    if not self.is_of_trip(memory, loop):
                        return None
                    found.append(memory)
            elif memory in written and len(users) > 1 and not self.is_only_added_to(memory, [parts[k] for k in users]):
                ops = [op for k in users for op in touching[k] if memory in map(self.aliases.find, touched(op))]
                if not self.are_apart(ops, loop):
                    return None
        return found

    def is_only_added_to(self, memory: ir.Operand, parts: Sequence[_Part]) -> bool:
        """Whether all that parts do with memory is to add products to it, in whatever order."""
        products = [product for part in parts for product in part.products]
        read = {self.aliases.find(e.array) for product in products for e in (product.one, product.other)}
        return all(part.products for part in parts) and memory not in read and self.finding.is_free(memory)

    def are_apart(self, ops: Sequence[ir.Op], loop: ir.For) -> bool:
        """Whether each trip touches elements of its own."""
        elements = [op for op in ops if isinstance(op, ir.Load | ir.Store)]
        counter = loop.body.args[0]
        return len(elements) == len(ops) and is_own(elements, lambda index: 0 if index is counter else None)

    def is_of_trip(self, array: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip stores to an array before it looks at it, and nobody else touches it."""
        users = self.touching[array]
        if not set(loop.body.inside).issuperset(users):
            return False
        first = next(op for op in loop.body.ops if any(inner in users for inner in ir.with_inner(op)))
        if not isinstance(first, ir.For) or first.body.args[0] not in self.finding.lanes:
            return False
        earliest = next((op for op in first.body.ops if op in users), None)
        return isinstance(earliest, ir.Store) and not earliest.add


class _Parting:
    """A loop part by part: loops of the same trips, and calls for the products.

    shared: the arrays that get an axis for the trips.
    """

    def __init__(
        self,
        loop: ir.For,
        parts: Sequence[_Part],
        shared: Sequence[ir.Var],
        matrices: _Matrices,
        aliases: Aliases,
    ):
        self.loop, self.parts, self.matrices, self.aliases = loop, parts, matrices, aliases
        self.counter, self.block = loop.body.args[0], matrices.block
        self.wide: dict[ir.Operand, ir.Var] = {
            array: ir.Var(array.name, array_type(array_type_of(array).dtype, 2)) for array in shared
        }
        self.allocs = [ir.Alloc(shape=(loop.stop, self.block.width), out=array) for array in self.wide.values()]
        matrices.made.update((alloc.out, alloc) for alloc in self.allocs)

    def made(self) -> list[ir.Op] | None:
        """None if parts need values of others, which cannot be made again there."""
        homes = [self.home(slot) for slot in self.loop.slots]
        builder = ir.Builder(self.loop.origin)
        for k, part in enumerate(self.parts):
            slots = [slot for slot, home in zip(self.loop.slots, homes, strict=True) if home == k]
            again = self.again(part)
            if None in homes or again is None:
                return None
            if part.inner is not None:
                for product in part.products:
                    self.call(builder, product, part.inner)
            elif slots or any(op.memory_written is not None or op.regions for op in part.ops):
                builder.emit(self.part([*again, *part.ops], slots))
        return builder.ops

    def home(self, slot: ir.Slot) -> int | None:
        """The one part that a carried value belongs to."""
        own = [
            k
            for k, part in enumerate(self.parts)
            if any(slot.arg in ir.reads(op) or slot.yielded in op.results for op in part.ops)
        ]
        return own[0] if len(own) == 1 and self.parts[own[0]].inner is None else None

    def again(self, part: _Part) -> list[ir.Op] | None:
        """What a part needs of what others make, to be made again there; None if it cannot be."""
        others = (op for other in self.parts if other is not part for op in other.ops)
        made: dict[ir.Operand, ir.Op] = {out: op for op in others for out in op.results}
        written = set(map(self.aliases.find, self.loop.body.memory_written))
        found: dict[ir.Op, None] = {}

        def need(operand: ir.Operand) -> bool:
            op = made.get(operand)
            if op is None or op in found:
                return True
            is_pure = isinstance(op, (ir.Extent, *ir.VIEWS)) or (isinstance(op, ir.Call) and not op.effect)
            is_pure = is_pure and not (isinstance(op, ir.Call) and any(map(ir.is_array, op.results)))
            is_pure |= isinstance(op, ir.Load) and self.aliases.find(op.array) not in written
            if not is_pure or not all(map(need, op.operands)):
                return False
            found[op] = None
            return True

        return list(found) if all(need(o) for op in part.ops for o in ir.reads(op)) else None

    def part(self, ops: Sequence[ir.Op], slots: Sequence[ir.Slot]) -> ir.For:
        """A loop that does this in its trips, and carries these values."""
        counter = dataclasses.replace(self.counter)
        cloner = ir.Cloner({self.counter: counter})
        args = tuple(cloner.fresh(slot.arg) for slot in slots)
        made = tuple(cloner.op(ir.rewritten_op(op, self.widened)) for op in ops)
        body = ir.Region((counter, *args), made, tuple(cloner.operand(slot.yielded) for slot in slots))
        self.block.counters.update(new for old, new in cloner.mapping.items() if old in self.block.counters)
        inits, outs = tuple(slot.init for slot in slots), tuple(slot.out for slot in slots)
        return dataclasses.replace(self.loop, inits=inits, body=body, outs=outs)

    def widened(self, op: ir.Op) -> ir.Op:
        """The operation on the array with an axis for the trips."""
        if isinstance(op, ir.Load | ir.Store) and op.array in self.wide:
            return dataclasses.replace(op, array=self.wide[op.array], index=(self.counter, *op.index))
        return op

    def call(self, builder: ir.Builder, product: Product, inner: ir.For) -> None:
        loops: dict[ir.Operand, ir.For] = {loop.body.args[0]: loop for loop in (self.loop, inner)}
        target, one, other = (
            Element(self.wide[e.array], (self.counter, *e.place), (0, *e.shifts)) if e.array in self.wide else e
            for e in product.elements
        )
        builder.origin = product.origin

        def counter_of(element: Element) -> ir.Operand:
            return next(index for index in element.place if index in loops)

        if any(index in self.block.counters for index in target.place):
            if any(index in self.block.counters for index in one.place):
                one, other = other, one
            rows, summed = counter_of(target), counter_of(other)
        else:
            # a sum over the lanes
            rows, summed = counter_of(one), None
            one, other = map(self.matrices.as_given, (one, other))
        left, right = (self.matrices.of(builder, e, loops, first) for e, first in ((one, rows), (other, summed)))
        out = self.matrices.of(builder, target, loops, rows)
        callee = subtract_product if product.is_taken_off else add_product
        builder.emit(ir.AddProduct(callee=callee, target=out, left=left, right=right))


class _Matrices:
    """Views of what elements run through. `made`: by result; `direct`: copies of blocks that there need not be."""

    def __init__(self, block: Block, made: Mapping[ir.Operand, ir.Op], naturals: Naturals):
        self.block, self.naturals = block, naturals
        self.direct: set[ir.Operand] = set()
        self.made: dict[ir.Operand, ir.Op] = dict(made)
        self.made.update((alloc.out, alloc) for alloc in block.laned.values())
        self.copied: dict[ir.Operand, ir.Operand] = {}
        for array, copied in block.turned.items():
            self.made[copied.array] = ir.Alloc(shape=(*copied.extents, block.width), out=copied.array)
            self.copied[copied.array] = array

    def of(
        self, builder: ir.Builder, element: Element, loops: Mapping[ir.Operand, ir.For], rows: ir.Operand | None
    ) -> ir.Operand:
        """The part of an array that the element runs through, with a row for each trip that `rows` counts, or for each
        lane. `loops`: by counter."""
        if element.array in self.direct:
            element = self.as_given(element)
        selectors: list[ir.Selector] = []
        axes: list[ir.Operand | None] = []
        for axis, (index, shift) in enumerate(zip(element.place, element.shifts, strict=True)):
            if index not in loops and index not in self.block.counters:
                selectors.append(ir.At(index))
                continue
            start, stop = (loops[index].start, loops[index].stop) if index in loops else (None, self.block.lanes)
            selectors.append(self.span(builder, element.array, axis, start, stop, shift))
            axes.append(index if index in loops else None)
        found = element.array
        if any(selector != ir.Span() for selector in selectors):
            found = builder.slice(found, selectors, ir.name_of(found, "array"))
        if axes[0] is rows:
            return found
        out = ir.Var(f"{ir.name_of(found, 'array')}_T", transposed_type(array_type_of(found), (1, 0)))
        builder.emit(ir.Transpose(base=found, axes=(1, 0), out=out))
        return out

    def span(
        self,
        builder: ir.Builder,
        array: ir.Operand,
        axis: int,
        start: ir.Operand | None,
        stop: ir.Operand,
        shift: int,
    ) -> ir.Span:
        """What an index runs through that is a literal from a counter, which counts from `start`, or a lane."""
        first = (start.value if isinstance(start, ir.Const) else 0) + shift
        if not first and not shift and self.is_extent(array, axis, stop):
            return ir.Span()
        end = emit_integer(builder, operator.add, stop, ir.integer(shift), "end")
        if shift < 0 or not (stop is self.block.lanes or stop in self.naturals):
            # no trips, rather than a place from the end
            end = emit_integer(builder, max, end, ir.integer(first), "end")
        return ir.Span(ir.integer(first) if first else None, end)

    def is_extent(self, array: ir.Operand, axis: int, stop: ir.Operand) -> bool:
        """Whether an axis is known to have this extent."""
        made = self.made.get(array)
        if isinstance(made, ir.Alloc) and made.like is None:
            return made.shape[axis] == stop
        if isinstance(made, ir.Slice) and made in self.block.parts.ops:
            is_whole = made.selectors[axis] == ir.Span()
            return self.is_extent(made.base, axis, stop) if is_whole else stop is self.block.lanes
        asked = self.made.get(stop)
        return isinstance(asked, ir.Extent) and asked.array is array and asked.axis == axis

    def as_given(self, element: Element) -> Element:
        """The element in the array of which a block was copied, where the lanes run along another axis."""
        array = self.copied.get(element.array)
        if array is None or (self.block.turned[array].kind != "read" and element.array not in self.direct):
            return element
        axis = self.block.turned[array].axis
        *others, lane = element.place
        *shifts, far = element.shifts
        place, moved = (*others[:axis], lane, *others[axis:]), (*shifts[:axis], far, *shifts[axis:])
        return Element(self.block.view(array, axis), place, moved)
