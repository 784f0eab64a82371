"""Elementary functions in the rows of a loop, for a block of rows at once.

    for i in range(n):                           for i0 in range(0, n, rows):
        ... largest ...                              i1 = min(i0 + rows, n)
        for j in range(m):                           for i in range(i0, i1):
            e[j] = exp(x[i, j] - largest)                ... largest ...
            total += e[j]                                largest_rows[i - i0] = largest
        ...                                          exp_of_rows(e_rows[: i1 - i0], x[i0:i1], largest_rows)
                                                     for i in range(i0, i1):
                                                         for j in range(m): total += e_rows[i - i0, j]
                                                         ...

In: a function, as it will be emitted, before its loops are vectorised. Out: the same, where such loops are parted. What
a vector leaves over of a row of ten takes most of the time; in a call (`runtime/vectormath/rows.py`), which is compiled
once for a machine and knows how long the rows are, vectors run on from one row to the next. A block has so many rows
that they stay in the first cache. Softmax and log-sum-exp over rows of 10 take 0.6 of the time, over rows of 100 0.95,
over rows of 400 1.0.

The trips have to be independent but for sums, as those in lanes are; each sum belongs to one of the two parts, and what
a trip keeps in an array for the other part has a row for each trip of the block.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from numba import types

from adjit.runtime import vectormath
from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.analysis.loop_dependences import LoopDependences
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type, array_type_of
from adjit.transform.machine.vectors.elementary import ELEMENTARY, is_elementary
from adjit.transform.rewrite.dead_code import eliminate_dead

ELEMENTS = 1024  # of the rows of a block
SHORT, FEW = 128, 8  # elements of rows that a call gains nothing for; trips that are too few to be parted


def call_for_rows(function: ir.Function, values: Collection[int]) -> ir.Function:
    """The function with such loops parted; the results at the positions `values` keep all their bits."""
    made = function.body.made
    loops = [op for op in function.body.inside if isinstance(op, ir.For)]
    found = {loop: row for loop in loops if (row := _row_of(loop, made)) is not None}
    if not found:
        return function
    sharing = LoopDependences(function, values)
    instead: dict[ir.Op, Sequence[ir.Op]] = {}
    for loop, row in found.items():
        if any(loop in other.body.inside for other in instead if isinstance(other, ir.For)):
            continue
        parts = _Parts.of(loop, row, function, sharing)
        if parts is not None:
            instead[loop] = parts.made()
            instead.update(dict.fromkeys(parts.wide.values(), ()))
    return eliminate_dead(ir.with_body(function, ir.replaced(function.body, instead))) if instead else function


class _Row(NamedTuple):
    """What an inner loop does to a row: `function(source - less)` for each element, with more or less besides."""

    loop: ir.For
    call: ir.Call
    source: ir.Load
    less: ir.Operand


def _row_of(loop: ir.For, made: Mapping[ir.Operand, ir.Op]) -> _Row | None:
    """The first inner loop of a loop over rows that does so, if it goes through short rows or ones of any length.

    made: by result. Loops over lanes, of which the compiler knows how many there are, go to a number that is computed.
    """
    if not _is_plain(loop) or _is_known_as(loop, range(FEW)):
        return None
    for inner in loop.body.ops:
        if isinstance(inner, ir.For) and _is_plain(inner) and inner.start == ir.integer(0):
            is_fixed = inner.stop not in loop.body.defines and not isinstance(made.get(inner.stop), ir.Call)
            is_fixed = is_fixed and not _is_known_as(inner, range(SHORT, 1 << 62))
            calls = (op for op in inner.body.ops if isinstance(op, ir.Call) and is_elementary(op))
            rows = (_row(loop, inner, call) for call in calls) if is_fixed and not _has_loops(inner) else ()
            if (row := next(filter(None, rows), None)) is not None:
                return row
    return None


def _row(loop: ir.For, inner: ir.For, call: ir.Call) -> _Row | None:
    made, inside = inner.body.made, inner.body.defines
    taken = made.get(call.args[0])
    if ELEMENTARY[call.callee] not in vectormath.OF_ROWS or not isinstance(taken, ir.Call):
        return None
    if taken.callee is not operator.sub or taken.args[1] in inside or taken.args[1].type != call.outs[0].type:
        return None
    source, (i, j) = made.get(taken.args[0]), (loop.body.args[0], inner.body.args[0])
    if not isinstance(source, ir.Load) or source.array in loop.body.defines or source.index[-1:] != (j,):
        return None
    if source.out.type != taken.args[1].type or taken.args[1] in loop.body.args:
        return None
    *others, _ = source.index
    is_row = others.count(i) == 1 and not any(o in loop.body.defines for o in others if o is not i)
    return _Row(inner, call, source, taken.args[1]) if is_row else None


def _is_plain(loop: ir.For) -> bool:
    is_marked = loop.stops or loop.parallel or loop.over_chunks or loop.level
    return not is_marked and loop.step == ir.integer(1)


def _is_known_as(loop: ir.For, counts: range) -> bool:
    trips = literal_trips(loop)
    return trips is not None and len(trips) in counts


def _has_loops(loop: ir.For) -> bool:
    return any(isinstance(op, ir.For | ir.While) for op in loop.body.inside)


class _Parts:
    """A loop in two parts, before and after the call.

    wide: arrays that get a row for each trip of a block, with what made them; again: views that both parts make
    kept: values that the second part needs of the first, or the call; slots: of each part
    """

    def __init__(self, loop: ir.For, row: _Row, function: ir.Function):
        self.loop, self.row, self.made_before = loop, row, function.body.made
        self.iterations = function.analysis(Iterations)
        self.store = self.stored_result()
        place = loop.body.ops.index(row.loop)
        self.first, self.second = loop.body.ops[:place], loop.body.ops[place:]
        self.wide: dict[ir.Var, ir.Alloc] = {}
        self.again: dict[ir.Op, None] = {}
        self.kept: dict[ir.Var, ir.Var] = {}
        self.slots: tuple[list[int], list[int]] = ([], [])

    @classmethod
    def of(cls, loop: ir.For, row: _Row, function: ir.Function, sharing: LoopDependences) -> _Parts | None:
        """The loop in parts; None where one part touches what the other changes in another trip."""
        trips = sharing.trips(loop) if sharing.naturals.counts(loop) else None
        if trips is None:
            return None
        parts, uses = cls(loop, row, function), function.analysis(Uses)
        if not parts.are_rows_whole():
            return None
        one, other = ({i for op in part for i in ir.with_inner(op)} for part in (parts.first, parts.second))
        if sharing.aliases.find(row.source.array) in set(map(sharing.aliases.find, row.loop.body.memory_written)):
            return None
        for memory, kind in trips.kinds.items():
            touching = [op for op in (*one, *other) if sharing.aliases.touches(op, memory)]
            is_shared = kind != "own" and not one.isdisjoint(touching) and not other.isdisjoint(touching)
            # with one for each trip it is where the call stores
            is_home = kind == "private" and parts.store in touching
            is_widened = (is_shared or is_home) and kind == "private" and parts.is_widened(touching, uses)
            if is_shared and not is_widened:
                return None
        return parts if parts.are_slots_apart() and parts.are_values_kept() else None

    def are_rows_whole(self) -> bool:
        """Whether what the function is of are rows that lie one after the other."""
        array, type_ = self.row.source.array, array_type_of(self.row.source.array)
        *others, _ = self.row.source.index
        is_block = type_.layout == "C" and others[-1] is self.loop.body.args[0]
        return is_block and self.is_extent(array, type_.ndim - 1)

    def is_extent(self, array: ir.Operand, axis: int) -> bool:
        """Whether the inner loop goes as far as an axis of an array does."""
        stop = self.iterations.value(self.row.loop.stop)
        return stop is not None and stop == self.iterations.extent(array, axis)

    def is_widened(self, touching: Sequence[ir.Op], uses: Uses) -> bool:
        """Whether an array of a trip's own is a row as long as that, of which nobody asks anything else."""
        elements = [op for op in touching if isinstance(op, ir.Load | ir.Store)]
        alloc = self.made_before.get(elements[0].array)
        if not isinstance(alloc, ir.Alloc) or alloc.shape != (self.row.loop.stop,) or alloc.fill is not None:
            return False
        if len(elements) < len(touching) or set(uses.users[alloc.out]) != set(elements):
            return False
        self.wide[alloc.out] = alloc
        return True

    def are_slots_apart(self) -> bool:
        """Whether each carried value belongs to one part."""
        for k, slot in enumerate(self.loop.slots):
            homes = [
                n
                for n, part in enumerate((self.first, self.second))
                if any(slot.arg in ir.reads(op) or slot.yielded in op.results for op in part)
            ]
            if len(homes) != 1:
                return False
            self.slots[homes[0]].append(k)
        return True

    def are_values_kept(self) -> bool:
        """Whether the second part gets what it needs of the first."""
        made: dict[ir.Operand, ir.Op] = {out: op for op in self.first for out in op.results}
        pending = [o for op in self.second for o in ir.reads(op)]
        pending += [self.loop.slots[k].yielded for k in self.slots[1]]
        while pending:
            operand = pending.pop()
            op = made.get(operand)
            if op is None or op in self.again or op in self.wide.values() or operand in self.kept:
                continue
            if isinstance(op, (ir.Alloc, ir.Extent, *ir.VIEWS)):
                # an array that the first part looks at has a row for each trip
                self.again[op] = None
                pending += op.operands
            elif isinstance(operand, ir.Var) and isinstance(operand.type, types.Number | types.Boolean):
                self.kept[operand] = self.of_block(operand.name, operand.type, 1)
            else:
                return False
        return True

    def of_block(self, name: str, dtype: ir.Type, ndim: int) -> ir.Var:
        return ir.Var(f"{name}_rows", array_type(dtype, ndim))

    # --------------------------------------------------------------------------------------------------- doing it

    def made(self) -> list[ir.Op]:
        """What stands for the loop: its arrays, and the loop over blocks."""
        loop, row, b = self.loop, self.row, ir.Builder(self.loop.origin)
        result = row.call.outs[0]
        length = emit_integer(b, max, row.loop.stop, ir.integer(1), "length")
        count = emit_integer(b, operator.floordiv, ir.integer(ELEMENTS), length, "rows")
        count = emit_integer(b, max, count, ir.integer(1), "rows")
        wide: dict[ir.Operand, ir.Var] = {
            array: self.of_block(alloc.out.name, array_type_of(array).dtype, 2) for array, alloc in self.wide.items()
        }
        counter = loop.body.args[0]
        name = counter.name.lstrip("_") or "i"
        start, place = ir.Var(f"{name}_start", types.intp), ir.Var("place", types.intp)
        store = self.store if self.store is not None and self.is_home(self.store) else None
        target: ir.Operand = self.of_block(result.name, result.type, 2)
        first = place
        if store is not None:
            target, first = (wide[store.array], place) if store.array in wide else (store.array, counter)
        keeping: dict[ir.Operand, ir.Var] = dict(self.kept.items())
        less = keeping.setdefault(row.less, self.of_block(ir.name_of(row.less, "number"), result.type, 1))
        for rows in dict.fromkeys((*wide.values(), target)):
            if isinstance(rows, ir.Var) and (store is None or rows is not store.array):
                b.emit(ir.Alloc(shape=(count, row.loop.stop), out=rows))
        for numbers in keeping.values():
            b.emit(ir.Alloc(shape=(count,), out=numbers))

        carried = tuple(dataclasses.replace(slot.arg) for slot in loop.slots)
        outs = tuple(dataclasses.replace(out) for out in loop.outs)
        place_op = ir.Call(callee=operator.sub, args=(counter, start), outs=(place,))

        def widened(op: ir.Op) -> ir.Op:
            if isinstance(op, ir.Load | ir.Store) and op.array in wide:
                return dataclasses.replace(op, array=wide[op.array], index=(place, *op.index))
            return op

        with b.region() as ops:
            ahead = b.call(operator.add, start, count, type=types.intp, name="ahead")
            stop = b.call(min, ahead, loop.stop, type=types.intp, name=f"{name}_stop")
            stores = [
                ir.Store(array=array, index=(place,), value=value, origin=loop.origin)
                for value, array in keeping.items()
            ]
            before = [op for op in self.first if op not in self.wide.values()]
            self.part(b, start, stop, 0, [place_op, *before, *stores], carried, outs, widened)
            height = b.call(operator.sub, stop, start, type=types.intp, name="height")
            span = ir.Span(stop=height) if first is place else ir.Span(start, stop)
            part = b.slice(target, (span, ir.Span()), "rows")
            *others, _ = row.source.index
            selectors = (*(ir.Span(start, stop) if o is counter else ir.At(o) for o in others), ir.Span())
            source = b.slice(row.source.array, selectors, "source")
            callee = ELEMENTARY[row.call.callee]
            b.emit(ir.OfRows(callee=callee, target=part, source=source, less=less, origin=row.call.origin))
            taking = [ir.Load(array=array, index=(place,), out=value) for value, array in self.kept.items()]
            taken = ir.Load(array=target, index=(first, row.loop.body.args[0]), out=result)
            rest = self.rest(store, taken)
            again = [op for op in self.first if op in self.again]
            after = [op for op in self.second if op is not row.loop]
            self.part(b, start, stop, 1, [place_op, *taking, *again, *rest, *after], carried, outs, widened)
        body = ir.Region((start, *carried), tuple(ops), outs)
        b.emit(dataclasses.replace(loop, step=count, body=body, order_free=False, pair=None, is_mirror=False))
        return [ir.Comment(text="a block of rows at once", origin=loop.origin), *b.ops]

    def stored_result(self) -> ir.Store | None:
        """The store of the function's value to an array that the inner loop does not touch else; None if there is
        none."""
        ops = [op for op in self.row.loop.body.inside if isinstance(op, ir.Load | ir.Store)]
        stores = (op for op in ops if isinstance(op, ir.Store) and op.value is self.row.call.outs[0] and not op.add)
        return next((s for s in stores if [op.array for op in ops].count(s.array) == 1), None)

    def is_home(self, store: ir.Store) -> bool:
        """Whether the values are stored to rows that lie one after the other, as long as those of the block."""
        j = self.row.loop.body.args[0]
        if store.array in self.wide:
            return store.index == (j,)
        is_whole = array_type_of(store.array).layout == "C" and store.index == (self.loop.body.args[0], j)
        return is_whole and self.is_extent(store.array, 1)

    def rest(self, store: ir.Store | None, taken: ir.Load) -> list[ir.Op]:
        """What is left of the inner loop, with the function's value at hand."""
        inner, call = self.row.loop, self.row.call
        ops = [taken if op is call else op for op in inner.body.ops if op is not store]
        is_some = inner.slots or any(isinstance(i, ir.Store) for op in ops for i in ir.with_inner(op))
        return [ir.with_regions(inner, [ir.with_ops(inner.body, ops)])] if is_some else []

    def part(
        self,
        b: ir.Builder,
        start: ir.Operand,
        stop: ir.Operand,
        which: int,
        ops: Sequence[ir.Op],
        carried: Sequence[ir.Var],
        outs: Sequence[ir.Var],
        widened: Callable[[ir.Op], ir.Op],
    ) -> None:
        """Emits a loop over the rows of a block that does this, with the carried values of its part."""
        loop, slots = self.loop, self.slots[which]
        cloner = ir.Cloner()
        args = tuple(cloner.fresh(a) for a in (loop.body.args[0], *(loop.slots[k].arg for k in slots)))
        made = tuple(cloner.op(ir.rewritten_op(op, widened)) for op in ops)
        body = ir.Region(args, made, tuple(cloner.operand(loop.slots[k].yielded) for k in slots))
        b.emit(
            dataclasses.replace(
                loop,
                start=start,
                stop=stop,
                inits=tuple(carried[k] for k in slots),
                body=body,
                outs=tuple(outs[k] for k in slots),
                order_free=False,
                pair=None,
                is_mirror=False,
            )
        )
