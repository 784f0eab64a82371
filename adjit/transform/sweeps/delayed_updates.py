"""Outer products that trips of a loop add to a matrix are put off, and added by blocks of trips: as one product.

    for k in range(n - 1, -1, -1):               for block in range((n + 31) // 32):
        ... Q_bar[k] ...                             first = n - 1 - 32 * block; last = max(first - 31, 0)
        for i in range(k):                           for k in range(first, last - 1, -1):
            for j in range(m):                           ... Q_bar[k] ...
                Q_bar[i, j] += c[i] * v[j]               for i in range(last, k):
                                                             for j in range(m): Q_bar[i, j] += c[i] * v[j]
                                                         columns[first - k, :] = c[:last]; rows[first - k, :] = v
                                                     Q_bar[:last] += columns.T @ rows

In: a function with both sweeps. Out: the same with such loops in blocks. A trip that adds to all rows in front of its
own goes through the matrix for two operations on each element; a product of matrices is as fast as arithmetic is.
That is how LAPACK's factorisations go (Dongarra, Du Croz, Hammarling and Duff, 1990). What is added in another order
are adjoints alone, and isl says that no later trip of a block looks at the rows in front of the block's last one.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.extents import sliced
from adjit.transform.analysis.trip_counts import count_trips, literal_trips
from adjit.transform.ir.types import array_type, array_type_of, transposed_type
from adjit.transform.rewrite.affine_ops import Writer

TRIPS, FEW = 32, 8  # of a block, and fewer than are worth while
LEAST = 2_048  # elements that are: a matrix of them takes half of a first cache


def delay_updates(function: ir.Function) -> ir.Function:
    """The function with such loops in blocks; the same object if there are none."""
    loops = [op for op in function.body.inside if isinstance(op, ir.For) and _is_plain(op) and _is_long(op)]
    search = _Search(function) if loops else None
    found = {loop: updates for loop in loops if search is not None and (updates := search.updates(loop))}
    made: dict[ir.Op, list[ir.Op]] = {loop: _in_blocks(loop, updates) for loop, updates in found.items()}
    return ir.with_body(function, ir.replaced(function.body, made)) if made else function


def _is_long(loop: ir.For) -> bool:
    trips = literal_trips(loop)
    return trips is None or len(trips) >= FEW


def _is_plain(loop: ir.For) -> bool:
    is_marked = loop.stops or loop.parallel or loop.over_chunks or loop.level or loop.snapshots is not None
    return not is_marked and loop.step in (ir.integer(1), ir.integer(-1))


class _Term(NamedTuple):
    """`column * row`, or less that: a number of each row, and one of each column."""

    is_less: bool
    column: ir.Operand
    row: ir.Operand


class _Rows(NamedTuple):
    """The rows that a nest goes through: those in front of a bound, or, `start` being that, from there to the end.

    limit: the array and the axis along which they are, so that its extent may be less than the bound.
    """

    bound: Affine
    limit: tuple[ir.Operand, int] | None
    start: ir.Operand | None = None


class _Update(NamedTuple):
    """What a nest adds to these rows of a matrix, in all columns."""

    nest: ir.For
    inner: ir.For
    target: ir.Var
    terms: Sequence[_Term]
    rows: _Rows
    columns: Affine


class _Search:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.model = function.analysis(IndexModel)
        self.made = function.body.made

    def updates(self, loop: ir.For) -> list[_Update]:
        found = (self.update(loop, op) for op in loop.body.ops if isinstance(op, ir.For))
        return [update for update in found if update is not None]

    def update(self, loop: ir.For, nest: ir.For) -> _Update | None:
        store = _store_of(nest)
        if store is None or not self.is_shadow(store.array, loop):
            return None
        (inner,) = (op for op in nest.body.ops if isinstance(op, ir.For))
        terms = _Terms(self, nest, inner).of(store.value, False)
        element, rows = self.model.element(store), self.rows(loop, nest)
        if terms is None or element is None or rows is None:
            return None
        root, index = element
        first = index[0].plus(Affine({nest: 1}), -1)
        is_head = rows.start is None
        if not isinstance(root, ir.Var) or first != (Affine() if is_head else rows.bound):
            return None
        if index[1:] != (Affine({inner: 1}),) or array_type_of(root).dtype != store.value.type:
            return None
        change = rows.bound.terms.get(loop, 0)
        columns = self.in_variables(self.model.iterations.value(inner.stop), loop)
        bound = self.in_variables(rows.bound, loop, but=loop) if (change <= 0 if is_head else change >= 0) else None
        if columns is None or bound is None or not self.may_wait(loop, store, rows):
            return None
        return _Update(nest, inner, root, terms, rows._replace(bound=bound), columns)

    def is_shadow(self, array: ir.Operand, loop: ir.For) -> bool:
        """Whether it is an adjoint that was there before the loop."""
        alloc = self.made.get(ir.base_of(array, self.made))
        is_shadow = isinstance(alloc, ir.Alloc) and alloc.role is not None and alloc.role.kind == "shadow"
        return is_shadow and alloc not in loop.body.inside

    def rows(self, loop: ir.For, nest: ir.For) -> _Rows | None:
        """The rows that a nest goes through, if each trip has a bound for them; None if that is not known."""
        bound = self.model.iterations.value(nest.stop)
        if bound is not None:
            return _Rows(bound, None)
        extent = self.made.get(nest.stop)
        view = self.made.get(extent.array) if isinstance(extent, ir.Extent) else None
        if not isinstance(extent, ir.Extent) or not isinstance(view, ir.Slice) or view.base in loop.body.defines:
            return None
        selector, axis = sliced(view, extent.axis)
        if not isinstance(selector, ir.Span) or selector.step not in (None, ir.integer(1)):
            return None
        start, stop = selector.start, selector.stop
        is_head = start in (None, ir.integer(0))
        end = stop if is_head else start
        bound = None if end is None or not (is_head or stop is None) else self.model.iterations.value(end)
        if bound is None or not self.model.is_natural(view, bound):
            return None
        return _Rows(bound, (view.base, axis), None if is_head else start)

    def in_variables(self, value: Affine | None, loop: ir.For, but: ir.For | None = None) -> Affine | None:
        """An integer that is the same in all trips of a loop, `but` for its counter; None if it is none."""
        around = (*self.model.iterations.places[loop].loops, but)
        loops = (symbol for symbol in (value or Affine()).terms if isinstance(symbol, ir.For | ir.While))
        is_fixed = value is not None and all(symbol in around for symbol in loops)
        return self.model.iterations.in_variables(value) if value is not None and is_fixed else None

    def may_wait(self, loop: ir.For, store: ir.Store, rows: _Rows) -> bool:
        """Whether no later trip looks at those of the rows that are on the same side of its own bound."""
        memory = self.aliases.find(store.array)
        for op in loop.body.inside:
            if isinstance(op, ir.Store) and op.add:
                continue
            if op.memory_written is not None and not isinstance(op, ir.Store):
                if self.aliases.find(op.memory_written) == memory:
                    return False
            elif self.aliases.touches(op, memory) and self.model.may_meet_beside(
                store, op, loop, "<" if rows.start is None else ">=", rows.bound
            ):
                return False
        return True


def _store_of(nest: ir.For) -> ir.Store | None:
    """What a nest of two loops adds to an element, if that is all it does."""
    inner = [op for op in nest.body.ops if isinstance(op, ir.For)]
    if len(inner) != 1 or not all(_is_whole(loop) for loop in (nest, *inner)):
        return None
    *before, last = inner[0].body.ops or (None,)
    around = [op for op in nest.body.ops if op is not inner[0]]
    if not isinstance(last, ir.Store) or not last.add or not ir.is_float(last.value.type):
        return None
    is_simple = all(
        isinstance(op, ir.Load | ir.Extent | ir.Comment) or (isinstance(op, ir.Call) and not op.effect)
        for op in (*before, *around)
    )
    return last if is_simple else None


def _is_whole(loop: ir.For) -> bool:
    return _is_plain(loop) and not loop.outs and (loop.start, loop.step) == (ir.integer(0), ir.integer(1))


class _Terms:
    """The sum of products that a nest adds to an element."""

    def __init__(self, search: _Search, nest: ir.For, inner: ir.For):
        self.made = search.made
        self.counters: dict[ir.Operand, str] = {nest.body.args[0]: "row", inner.body.args[0]: "column"}
        self.inside = nest.body.defines

    def of(self, value: ir.Operand, is_less: bool) -> list[_Term] | None:
        call = self.made.get(value)
        if not isinstance(call, ir.Call) or value not in self.inside:
            return None
        callee = ir.canonical(call.callee)
        if callee is operator.neg:
            return self.of(call.args[0], not is_less)
        if callee in (operator.add, operator.sub):
            sides = [self.of(arg, is_less ^ (k == 1 and callee is operator.sub)) for k, arg in enumerate(call.args)]
            left, right = sides
            return None if left is None or right is None else left + right
        if callee is not operator.mul or any(arg.type != value.type for arg in call.args):
            return None
        for column, row in (call.args, call.args[::-1]):
            if "column" not in self.told_by(column) and "row" not in self.told_by(row):
                return [_Term(is_less, column, row)]
        return None

    def told_by(self, value: ir.Operand) -> set[str]:
        """Which of the two counters a number depends on."""
        if value in self.counters:
            return {self.counters[value]}
        op = self.made.get(value) if value in self.inside else None
        return set() if op is None else set().union(*(self.told_by(operand) for operand in ir.reads(op)))


# ------------------------------------------------------------------------------------------------------- doing it


class _Panels(NamedTuple):
    """What a block of trips puts off: for so many rows of the matrix, from the first of them on; it may be none."""

    first: ir.Operand
    height: ir.Operand
    width: ir.Operand
    columns: ir.Var
    rows: ir.Var


def _in_blocks(loop: ir.For, updates: Sequence[_Update]) -> list[ir.Op]:
    """The loop in blocks of trips."""
    builder = Writer(loop.origin, name="n")
    trips = count_trips(builder, loop)
    blocks = _integer(builder, operator.add, trips, ir.integer(TRIPS - 1), "blocks")
    blocks = _integer(builder, operator.floordiv, blocks, ir.integer(TRIPS), "blocks")
    is_up = loop.step == ir.integer(1)
    along, name = operator.add if is_up else operator.sub, loop.body.args[0].name.lstrip("_")
    block, args = ir.Var("block", types.intp), [dataclasses.replace(slot.arg) for slot in loop.slots]
    outs = [dataclasses.replace(slot.out) for slot in loop.slots]
    with builder.region() as ops:
        done = _integer(builder, operator.mul, block, ir.integer(TRIPS), "done")
        count = _integer(builder, operator.sub, trips, done, "count")
        count = _integer(builder, min, count, ir.integer(TRIPS), "count")
        first = _integer(builder, along, loop.start, done, f"{name}_first".lstrip("_"))
        stop = _integer(builder, along, first, count, f"{name}_stop".lstrip("_"))
        last = _integer(builder, operator.sub, stop, loop.step, f"{name}_last".lstrip("_"))
        panels: dict[ir.Op, _Panels] = {u.nest: _panels(builder, loop, u, last, count) for u in updates}
        with builder.region() as inside:
            for op in loop.body.ops:
                update = next((u for u in updates if u.nest is op), None)
                if update is None:
                    builder.emit(op)
                else:
                    low, high = (first, loop.body.args[0]) if is_up else (loop.body.args[0], first)
                    place = _integer(builder, operator.sub, high, low, "place")
                    _put_off(builder, update, panels[op], place)
        body = ir.with_ops(loop.body, inside)
        builder.emit(dataclasses.replace(loop, start=first, stop=stop, inits=tuple(args), body=body, outs=tuple(outs)))
        for update in updates:
            _add(builder, update, panels[update.nest])
    region = ir.Region((block, *args), tuple(ops), tuple(outs))
    builder.emit(ir.For(stop=blocks, inits=loop.inits, body=region, outs=loop.outs, origin=loop.origin))
    return builder.ops


def _panels(builder: Writer, loop: ir.For, update: _Update, last: ir.Operand, count: ir.Operand) -> _Panels:
    rows = update.rows
    bound = builder.integer(rows.bound.substituted({loop.body.args[0]: Affine({last: 1})}))
    end = None if rows.limit is None else builder.extent(*rows.limit)
    border = bound if end is None else _integer(builder, min, bound, end, "border")
    border = _integer(builder, max, border, ir.integer(0), "border")
    is_head = end is None or rows.start is None
    height = border if is_head or end is None else _integer(builder, operator.sub, end, border, "height")
    width = builder.integer(update.columns)
    elements = _integer(builder, operator.mul, height, width, "elements")
    is_large, is_long = (
        builder.call(operator.ge, number, ir.integer(least), type=types.boolean, name=name)
        for number, least, name in ((elements, LEAST, "is_large"), (count, FEW, "is_long"))
    )
    is_many = builder.call(operator.and_, is_large, is_long, type=types.boolean, name="is_many")
    height, width = (
        builder.call(ir.select, is_many, extent, ir.integer(0), type=types.intp, name=name)
        for extent, name in ((height, "height"), (width, "width"))
    )
    first = ir.integer(0) if is_head or end is None else _integer(builder, operator.sub, end, height, "border")
    depth = _integer(builder, operator.mul, count, ir.integer(len(update.terms)), "depth")
    made = []
    for extent, name in ((height, "columns"), (width, "rows")):
        made.append(ir.Var(f"{update.target.name}_{name}", array_type(array_type_of(update.target).dtype, 2)))
        builder.emit(ir.Alloc(shape=(depth, extent), out=made[-1]))
    return _Panels(first, height, width, *made)


def _put_off(builder: Writer, update: _Update, panels: _Panels, place: ir.Operand) -> None:
    """What a trip adds to rows that wait is kept, in the rows of the panels for it; the others are added to."""
    nest, begin = update.nest, update.rows.start
    # of the nest's trips, the first one that waits, where the last ones do
    behind = None if begin is None else _integer(builder, operator.sub, panels.first, begin, "behind")
    start = _integer(builder, operator.mul, place, ir.integer(len(update.terms)), "start")
    for k, term in enumerate(update.terms):
        row = _integer(builder, operator.add, start, ir.integer(k), "row")
        with builder.loop(panels.height, "i", order_free=True) as i:
            own = i if behind is None else _integer(builder, operator.add, i, behind, "i")
            value = _copied(builder, update, term.column, {nest.body.args[0]: own})
            if term.is_less:
                value = builder.call(operator.neg, value, type=value.type, name="negated")
            builder.store(panels.columns, (row, i), value)
        with builder.loop(panels.width, "j", order_free=True) as j:
            value = _copied(builder, update, term.row, {update.inner.body.args[0]: j})
            builder.store(panels.rows, (row, j), value)
    builder.emit(
        dataclasses.replace(nest, start=panels.height) if behind is None else dataclasses.replace(nest, stop=behind)
    )


def _copied(builder: Writer, update: _Update, value: ir.Operand, counter: dict[ir.Var, ir.Operand]) -> ir.Operand:
    """A number that a nest makes, made where its counter has another name."""
    ops = [op for op in (*update.nest.body.ops, *update.inner.body.ops) if op.results and not op.regions]
    needed: set[ir.Operand] = {value}
    for op in reversed(ops):
        if needed.intersection(op.results):
            needed.update(op.operands)
    cloner = ir.Cloner(counter)
    for op in ops:
        if needed.intersection(op.results):
            builder.emit(cloner.op(op))
    return cloner.operand(value)


def _add(builder: Writer, update: _Update, panels: _Panels) -> None:
    """Adds what a block of trips put off."""
    is_some = builder.call(operator.gt, panels.height, ir.integer(0), type=types.boolean, name="is_some")
    with builder.when(is_some):
        axes = (1, 0)
        turned = ir.Var(f"{panels.columns.name}_T", transposed_type(array_type_of(panels.columns), axes))
        builder.emit(ir.Transpose(base=panels.columns, axes=axes, out=turned))
        total = ir.Var("product", array_type(array_type_of(update.target).dtype, 2))
        builder.emit(ir.Call(callee=np.dot, args=(turned, panels.rows), outs=(total,)))

        def add(index: tuple[ir.Var, ...]) -> None:
            i, j = index
            row = _integer(builder, operator.add, panels.first, i, "i")
            builder.store(update.target, (row, j), builder.load(total, index), add=True)

        builder.nest((panels.height, panels.width), add)


def _integer(builder: ir.Builder, callee: object, left: ir.Operand, right: ir.Operand, name: str) -> ir.Operand:
    return builder.call(callee, left, right, type=types.intp, name=name)
