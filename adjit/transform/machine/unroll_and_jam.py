"""Loops over the rows of a matrix take several rows at once, so that what all rows read or add to is fetched once.

    for i in range(n):                       whole = n // 4 * 4
        total = 0.0                          for i in range(0, whole, 4):
        for j in range(m):                       total = 0.0; total_2 = 0.0; ...
            total += A[i, j] * x[j]              for j in range(m):
        for j in range(m):                           total += A[i, j] * x[j]; total_2 += A[i + 1, j] * x[j]; ...
            z[j] += total * A[i, j]              for j in range(m):
                                                     z[j] = z[j] + total * A[i, j] + total_2 * A[i + 1, j] + ...
                                             for i in range(whole, n): ...

In: a function, as it will be emitted. Out: the same, with such loops. Each row's sums are added up as they were, and
what rows add to one element goes there in the order of the rows.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence

from numba import types

from adjit.runtime.library import reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.loop_dependences import is_own
from adjit.transform.analysis.order_sensitive import Reach
from adjit.transform.analysis.sums import partial_sums

ROWS = 4
MOST_PLACES = 16  # that a loop in a row goes through: beyond that LLVM gives up on checking that they do not overlap


def take_rows(function: ir.Function, values: Collection[int]) -> ir.Function:
    """The function with several rows at once; the results at the positions `values` keep all their bits."""
    loops = [op for op in function.body.inside if isinstance(op, ir.For) and _may_be(op)]
    if not loops:
        return function
    rows = _Rows(function, values)
    made: dict[ir.Op, list[ir.Op]] = {loop: _several(loop) for loop in loops if rows.are_independent(loop)}
    return ir.with_body(function, ir.replaced(function.body, made)) if made else function


# ----------------------------------------------------------------------------------------------- is it worth while


def _may_be(loop: ir.For) -> bool:
    if not _is_plain(loop) or loop.start != ir.integer(0):
        return False
    inner = [op for op in loop.body.ops if isinstance(op, ir.For)]
    if not all(isinstance(op, ir.Call | ir.Load | ir.Store | ir.Extent | ir.Comment | ir.For) for op in loop.body.ops):
        return False
    return all(_is_innermost(op, loop) for op in inner) and any(_is_shared(op, loop.body.args[0]) for op in inner)


def _is_plain(loop: ir.For) -> bool:
    is_marked = loop.stops or loop.parallel or loop.over_chunks or loop.level or loop.snapshots is not None
    return not is_marked and loop.step == ir.integer(1)


def _is_innermost(loop: ir.For, around: ir.For) -> bool:
    """Whether a loop in a row makes the same trips in each row, and has nothing but arithmetic and elements in it."""
    bounds = (loop.start, loop.stop)
    if not _is_plain(loop) or any(bound in around.body.defines for bound in bounds):
        return False
    if not all(isinstance(op, ir.Call | ir.Load | ir.Store | ir.Comment) for op in loop.body.ops):
        return False
    counter = around.body.args[0]
    places = {(op.array, counter in op.index) for op in loop.body.ops if isinstance(op, ir.Load | ir.Store)}
    return sum(ROWS if of_row else 1 for _, of_row in places) <= MOST_PLACES


def _is_shared(loop: ir.For, counter: ir.Var) -> bool:
    """Whether each row has a sum in any order of products with the same elements, as those of matrices and vectors are.

    Other loops that add rows to a vector gain nothing (0.97 to 1.12 of the time in attention and normalisations).
    """
    along = [op for op in loop.body.ops if isinstance(op, ir.Load) and loop.body.args[0] in op.index]
    own = [op for op in along if counter in op.index]
    in_any_order = (
        op.callee in (reassociable_add, reassociable_sub) for op in loop.body.ops if isinstance(op, ir.Call)
    )
    return 0 < len(own) < len(along) and any(in_any_order)


# ----------------------------------------------------------------------------------------------------- is it right


class _Rows:
    def __init__(self, function: ir.Function, values: Collection[int]):
        self.aliases = function.analysis(Aliases)
        self.naturals = function.analysis(Naturals)
        self.reach = Reach(function, self.aliases, values)

    def are_independent(self, loop: ir.For) -> bool:
        """Whether rows may run side by side, loop for loop, without that anything is added up in another order that
        a value depends on."""
        inside = loop.body.inside
        if loop.stop not in self.naturals:
            # what is left over is counted from there
            return False
        if any(
            isinstance(op, ir.Call) and (op.effect or any(map(ir.is_reference, (*op.args, *op.outs)))) for op in inside
        ):
            return False
        if not all(self.is_sum(slot, loop) for slot in loop.slots):
            return False
        stored = {self.aliases.find(op.array) for op in inside if isinstance(op, ir.Store)}
        touching = [op for op in inside if isinstance(op, ir.Load | ir.Store)]
        return all(self.is_apart(memory, touching, loop) for memory in stored)

    def is_sum(self, slot: ir.Slot, loop: ir.For) -> bool:
        """Whether rows add to what they carry in one operation, the inner loops if the order does not matter."""
        chain = partial_sums(slot.arg, slot.yielded, loop.body)
        steps = [op for op in loop.body.ops if any(o is slot.arg for o in ir.reads(op))]
        if chain is None or len(steps) != 1 or slot.yielded not in steps[0].results:
            return False
        if not isinstance(steps[0], ir.For):
            return True
        inner = next(other for other in steps[0].slots if other.init is slot.arg)
        added = [op for op in steps[0].body.ops if any(o is inner.arg for o in op.operands)]
        return inner.yielded in added[0].results and not self.reach.is_ordered(loop, chain)

    def is_apart(self, memory: ir.Operand, touching: Sequence[ir.Load | ir.Store], loop: ir.For) -> bool:
        """Whether each row has elements of its own, or all add to the same ones."""
        counter = loop.body.args[0]
        found = [op for op in touching if self.aliases.find(op.array) == memory]
        if is_own(found, lambda index: 0 if index is counter else None):
            return True
        if not all(isinstance(op, ir.Store) and op.add for op in found):
            return False
        if not self.reach.has_memory(memory):
            return True
        # the rows' terms keep their order where each element gets one of each row
        (store, *others) = found
        homes = [op for op in loop.body.ops if isinstance(op, ir.For) and store in op.body.ops]
        return not others and bool(homes) and store.index == (homes[0].body.args[0],)


# -------------------------------------------------------------------------------------------------------- doing it


def _several(loop: ir.For) -> list[ir.Op]:
    """The loop by several rows at once, and one for the rows that are left over."""
    builder = ir.Builder(loop.origin)
    blocks = builder.call(operator.floordiv, loop.stop, ir.integer(ROWS), type=types.intp, name="blocks")
    whole = builder.call(operator.mul, blocks, ir.integer(ROWS), type=types.intp, name="whole")
    between = tuple(dataclasses.replace(slot.out) for slot in loop.slots)
    several = dataclasses.replace(loop, stop=whole, step=ir.integer(ROWS), body=_Side(loop).body(), outs=between)
    builder.emit(dataclasses.replace(several, order_free=False))
    builder.emit(dataclasses.replace(loop, start=whole, inits=between))
    return builder.ops


class _Side:
    """The body of a loop for several rows side by side: of each operation one for each row."""

    def __init__(self, loop: ir.For):
        self.loop = loop
        self.counter = loop.body.args[0]
        self.builder = ir.Builder(loop.origin)
        self.rows: list[ir.Cloner] = []

    def body(self) -> ir.Region:
        args = tuple(dataclasses.replace(arg) for arg in self.loop.body.args)
        for k in range(ROWS):
            number = (operator.add, args[0], ir.integer(k))
            here = self.builder.call(*number, type=types.intp, name=args[0].name) if k else args[0]
            self.rows.append(ir.Cloner({self.counter: here}))
        sums = _Sums(self.loop.body.args[1:], self.loop.body.yields, args[1:])
        for op in self.loop.body.ops:
            if isinstance(op, ir.For):
                self.inner(op, sums)
            else:
                self.of_each(op, sums)
        return ir.Region(args, tuple(self.builder.ops), tuple(sums.known.values()))

    def of_each(self, op: ir.Op, sums: _Sums) -> None:
        if isinstance(op, ir.Comment):
            self.builder.emit(op)
        elif isinstance(op, ir.Store) and op.add and len({tuple(map(row.operand, op.index)) for row in self.rows}) == 1:
            # each element is fetched and stored once
            index = tuple(map(self.rows[0].operand, op.index))
            total = self.builder.load(op.array, index)
            for row in self.rows:
                total = self.builder.call(operator.add, total, row.operand(op.value), type=total.type, name=total.name)
            self.builder.store(op.array, index, total)
        else:
            for row in self.rows:
                row.mapping.update(sums.known)
                sums.follow(op.results, self.builder.emit(row.op(op)).results)

    def inner(self, loop: ir.For, sums: _Sums) -> None:
        """A loop in a row, for all rows: each carries its own values, and all what the loop around carries."""
        counter = dataclasses.replace(loop.body.args[0])
        summed: list[tuple[ir.Slot, ir.Var, ir.Var]] = []
        own: list[tuple[ir.Slot, list[ir.Var]]] = []
        for slot in loop.slots:
            if isinstance(slot.init, ir.Var) and slot.init in sums.known:
                summed.append((slot, slot.init, dataclasses.replace(slot.arg)))
            else:
                own.append((slot, [dataclasses.replace(slot.arg) for _ in self.rows]))
        inner_sums = _Sums([s.arg for s, *_ in summed], [s.yielded for s, *_ in summed], [arg for *_, arg in summed])
        with self.builder.region() as ops:
            for k, row in enumerate(self.rows):
                row.mapping[loop.body.args[0]] = counter
                row.mapping.update((slot.arg, args[k]) for slot, args in own)
            for op in loop.body.ops:
                self.of_each(op, inner_sums)
        slots = [
            ir.Slot(row.operand(slot.init), arg, row.operand(slot.yielded), row.fresh(slot.out))
            for slot, args in own
            for row, arg in zip(self.rows, args, strict=True)
        ]
        for slot, around, arg in summed:
            out = dataclasses.replace(slot.out)
            slots.append(ir.Slot(sums.known[around], arg, inner_sums.known[slot.arg], out))
            sums.follow((slot.out,), (out,))
        empty = dataclasses.replace(loop, inits=(), body=ir.Region((counter,), (), ()), outs=())
        self.builder.emit(ir.with_slots(empty, slots, ops))


class _Sums:
    """What rows add to one after the other: what it is called where the next row adds to it.

    args, yields: what the body calls it, at first and at last; now: what the first row adds to.
    """

    def __init__(self, args: Sequence[ir.Var], yields: Sequence[ir.Operand], now: Sequence[ir.Var]):
        self.known: dict[ir.Var, ir.Operand] = dict(zip(args, now, strict=True))
        self._last = dict(zip(yields, args, strict=True))

    def follow(self, results: Sequence[ir.Var], made: Sequence[ir.Var]) -> None:
        """Takes notice of what a row's operation gives in the place of these results."""
        for result, here in zip(results, made, strict=True):
            if result in self._last:
                self.known[self._last[result]] = here
