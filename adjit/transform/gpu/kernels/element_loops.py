"""Loops over elements, in the place of blocks and threads that only say which element is meant.

In: a kernel as a nest. Out: the same without blocks, if it has one stretch, no array of a block, and along each axis
the block and the thread are read for the element alone; else as it is.

    for b in range(blocks):                   for i in prange(min(n, blocks * 16)):
        for t in range(16):                       y[i] = x[i] * x[i]
            i = b * 16 + t
            if i < n: y[i] = x[i] * x[i]

    for k in range(i, n, blocks * 16): ...    for k in prange(n): ...
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.effects import has_effect
from adjit.transform.gpu.kernels.launches import Launch, launch_in

_FLIPPED = {operator.lt: operator.gt, operator.gt: operator.lt, operator.le: operator.ge, operator.ge: operator.le}
_OPPOSITE = {operator.lt: operator.ge, operator.ge: operator.lt, operator.gt: operator.le, operator.le: operator.gt}


def by_elements(function: ir.Function) -> ir.Function:
    """The function over elements, or itself; blocks are taken to be one at least along each axis."""
    launch = launch_in(function)
    if launch is None or any(loop.level is None for loop in launch.loops):
        return function
    made = _Elements(function, launch).made()
    return function if made is None else ir.with_body(function, ir.with_ops(function.body, made))


@dataclasses.dataclass(eq=False)
class _Axis:
    """The loop over the blocks and that over the threads along an axis, what they are read as, and the element."""

    blocks: ir.For | None
    threads: ir.For | None
    index: ir.Var
    spent: tuple[ir.Op, ...] = ()  # what makes the element


class _Elements:
    def __init__(self, function: ir.Function, launch: Launch):
        self.function, self.launch = function, launch
        self.body = launch.loops[-1].body
        self.made_by = {out: op for op in self.body.ops for out in op.results}
        self.readers: dict[ir.Operand, list[ir.Op]] = {}
        for op in self.body.inside:
            for o in (*op.operands, *(y for region in op.regions for y in region.yields)):
                self.readers.setdefault(o, []).append(op)

    def made(self) -> Sequence[ir.Op] | None:
        """The operations of the function over elements."""
        if any(isinstance(op, ir.For) and op.level is not None for op in self.body.inside):
            return None  # there is more than one stretch, or an array of the block
        axes = self.axes()
        if axes is None:
            return None
        spent = {op for axis in axes for op in axis.spent}
        ops = [inner for op in self.body.ops if op not in spent for inner in _flat(op)]
        return self.strided(axes, ops) or self.guarded(axes, ops)

    # ---------------------------------------------------------------------------------------------------------- axes

    def axes(self) -> list[_Axis] | None:
        """What each axis is read as; None if one is read otherwise than as an element."""
        blocks = [loop for loop in self.launch.loops if loop.level == "blocks"]
        threads = [loop for loop in self.launch.loops if loop.level == "threads"]
        found: list[_Axis] = []
        for loop in reversed(blocks):
            axis = self.along(loop, threads)
            if axis is None:
                return None
            found.append(axis)
            threads = [other for other in threads if other is not axis.threads]
        return found + [_Axis(None, loop, loop.body.args[0]) for loop in threads]

    def along(self, blocks: ir.For, threads: Sequence[ir.For]) -> _Axis | None:
        """The axis of a loop over blocks, by how its counter is read: added to that of threads, times their number."""
        counter = blocks.body.args[0]
        readers = self.readers.get(counter, [])
        if not readers:
            return None
        first = [r for r in readers if isinstance(r, ir.Call) and r.callee is operator.mul and counter in r.args]
        if len(first) < len(readers):
            return None if threads and self._is_added_to(counter, threads) else _Axis(blocks, None, counter)
        products = [(r, next((a for a in r.args if a is not counter), None)) for r in first]
        spent, indices, own = list[ir.Op](first), list[ir.Var](), set[ir.For]()
        for product, size in products:
            for op in self.readers.get(product.outs[0], []):
                loop = self._thread_added(op, product.outs[0], threads)
                if loop is None or loop.stop != size:
                    return None
                own.add(loop)
                spent.append(op)
                indices += op.results
        if len(own) != 1:
            return None
        (loop,) = own
        if any(reader not in spent for reader in self.readers.get(loop.body.args[0], [])):
            return None
        return _Axis(blocks, loop, indices[0], tuple(spent)) if len(set(indices)) == 1 else None

    def _is_added_to(self, counter: ir.Var, threads: Sequence[ir.For]) -> bool:
        return any(self._thread_added(op, counter, threads) is not None for op in self.readers.get(counter, []))

    def _thread_added(self, op: ir.Op, product: ir.Operand, threads: Sequence[ir.For]) -> ir.For | None:
        if not isinstance(op, ir.Call) or op.callee is not operator.add or op not in self.body.ops:
            return None
        other = next((a for a in op.args if a is not product), None)
        return next((loop for loop in threads if loop.body.args[0] is other), None)

    def trips(self, builder: ir.Builder, axis: _Axis) -> ir.Operand:
        """How many elements there are threads for."""
        if axis.blocks is None or axis.threads is None:
            loop = axis.blocks or axis.threads
            assert loop is not None
            return loop.stop
        blocks, threads = axis.blocks.stop, axis.threads.stop
        return builder.call(operator.mul, blocks, threads, type=types.intp, name="threads")

    # ------------------------------------------------------------------------------------------------ grid-stride loops

    def strided(self, axes: Sequence[_Axis], ops: Sequence[ir.Op]) -> Sequence[ir.Op] | None:
        """A loop that each thread begins at its element, in steps of all threads: it is one over all elements."""
        if len(axes) != 1 or not ops:
            return None
        (axis,), (*first, loop) = axes, ops
        if (
            not isinstance(loop, ir.For)
            or loop.start is not axis.index
            or loop.outs
            or loop.stops
            or self.readers[axis.index] != [loop]
        ):
            return None
        before, around, inside = self._split(first)
        builder = ir.Builder(loop.origin)
        for op in before:
            builder.emit(op)
        if inside or not self._is_stride(loop.step, axis) or not self._is_around(loop.stop, around):
            return None
        made = dataclasses.replace(loop, start=ir.integer(0), step=ir.integer(1), parallel=True)
        return (*self.launch.before, *builder.ops, made)

    def _is_stride(self, step: ir.Operand, axis: _Axis) -> bool:
        """Whether it is the number of all threads."""
        op = self.function.body.made.get(step)
        if axis.blocks is None or axis.threads is None:
            loop = axis.blocks or axis.threads
            return loop is not None and step == loop.stop
        if not isinstance(op, ir.Call) or op.callee is not operator.mul:
            return False
        return set(op.args) == {axis.blocks.stop, axis.threads.stop}

    # --------------------------------------------------------------------------------------------------------- guards

    def guarded(self, axes: Sequence[_Axis], ops: Sequence[ir.Op]) -> Sequence[ir.Op]:
        """Loops over the elements, as far as a condition around all that has an effect says."""
        before, around, inside = self._split(ops)
        builder = ir.Builder()
        for op in before:
            builder.emit(op)
        ends: dict[ir.Var, tuple[int, ir.Operand]] = {axis.index: (0, self.trips(builder, axis)) for axis in axes}
        inside = list(inside)
        while True:
            found = self._without_guard(inside, ends, around, builder)
            if found is None:
                break
            inside = found
        body: Sequence[ir.Op] = inside
        for axis in sorted(axes, key=lambda axis: -self._lastness(axis.index)):
            start, stop = ends[axis.index]
            region = ir.Region((axis.index,), tuple(body), ())
            body = [ir.For(start=ir.integer(start), stop=stop, body=region, parallel=True)]
        return (*self.launch.before, *builder.ops, *body)

    def _lastness(self, index: ir.Var) -> int:
        """How often what follows from it is the last subscript of an element, less how often it is another."""
        follows = {index}
        for op in self.body.inside:
            if isinstance(op, ir.Call) and not follows.isdisjoint(op.args):
                follows.update(op.outs)
        accesses = [op.index for op in self.body.inside if isinstance(op, ir.Load | ir.Store)]
        last = sum(i[-1] in follows for i in accesses if i)
        return last - sum(o in follows for i in accesses for o in i[:-1])

    def _split(self, ops: Sequence[ir.Op]) -> tuple[list[ir.Op], set[ir.Operand], list[ir.Op]]:
        """Integers that are the same for all elements, which may be made before the loops; and the other operations."""
        inside = {v for loop in self.launch.loops for v in loop.body.args} | set(self.body.defines)
        before, around, rest = list[ir.Op](), set[ir.Operand](), list[ir.Op]()
        for op in ops:
            is_fixed = isinstance(op, ir.Extent) or _is_comparable(op)
            if is_fixed and all(o not in inside or o in around for o in op.operands):
                before.append(op)
                around.update(op.results)
            else:
                rest.append(op)
        return before, around, rest

    def _is_around(self, operand: ir.Operand, around: set[ir.Operand]) -> bool:
        return operand in around or operand not in self.body.defines

    def _without_guard(
        self,
        ops: Sequence[ir.Op],
        ends: dict[ir.Var, tuple[int, ir.Operand]],
        around: set[ir.Operand],
        builder: ir.Builder,
    ) -> list[ir.Op] | None:
        """The operations without a branch around all that has an effect, where bounds of the loops do as well."""
        if not ops:
            return None
        *first, last = ops
        if not isinstance(last, ir.If) or last.outs or any(map(_changes, first)):
            return None
        then, orelse = last.then.ops, last.orelse.ops
        if bool(then) == bool(orelse):
            return None
        made: dict[ir.Operand, ir.Op] = {out: op for op in first for out in op.results}
        facts = list(_facts(last.condition, bool(then), made))
        bounds = [None if fact is None else self._bound(fact, ends, around) for fact in facts]
        if None in bounds:
            return None
        for bound in bounds:
            assert bound is not None
            index, start, stop = bound
            least, most = ends[index]
            if stop is not None:
                most = builder.call(min, most, stop, type=types.intp, name="stop")
            ends[index] = (max(least, start), most)
        return [*first, *then, *orelse]

    def _bound(
        self, fact: _Fact, ends: Mapping[ir.Var, tuple[int, ir.Operand]], around: set[ir.Operand]
    ) -> tuple[ir.Var, int, ir.Operand | None] | None:
        """What a comparison says of an element: from where it is on, and before which."""
        callee, left, right = fact
        if right in ends:
            callee, left, right = _FLIPPED[callee], right, left
        if left not in ends or not isinstance(left, ir.Var) or right in ends:
            return None
        if callee is operator.lt and self._is_around(right, around):
            return left, 0, right
        if isinstance(right, ir.Const):
            value = int(right.value)
            if callee in (operator.gt, operator.ge):
                return left, value + (callee is operator.gt), None
            return left, 0, ir.integer(value + 1)
        return None


_Fact = tuple[Any, ir.Operand, ir.Operand]


def _facts(condition: ir.Operand, holds: bool, made: Mapping[ir.Operand, ir.Op]) -> Iterator[_Fact | None]:
    """The comparisons of integers that all hold where the condition does, or does not; None for what is no such."""
    op = made.get(condition)
    if isinstance(op, ir.If) and len(op.outs) == 1:
        (yes,), (no,) = op.then.yields, op.orelse.yields
        if holds and no == ir.boolean(False):
            yield from _facts(op.condition, True, made)
            yield from _facts(yes, True, made)
            return
        if not holds and yes == ir.boolean(True):
            yield from _facts(op.condition, False, made)
            yield from _facts(no, False, made)
            return
    if isinstance(op, ir.Call) and op.callee is operator.not_:
        yield from _facts(op.args[0], not holds, made)
    elif isinstance(op, ir.Call) and op.callee is operator.and_ and holds:
        for part in op.args:
            yield from _facts(part, True, made)
    elif isinstance(op, ir.Call) and op.callee in _OPPOSITE and all(_is_integer(a) for a in op.args):
        yield (op.callee if holds else _OPPOSITE[op.callee], *op.args)  # type: ignore[misc]
    else:
        yield None


def _flat(op: ir.Op) -> list[ir.Op]:
    """A condition such as `0 < i and i < n - 1` with what its parts are made of before it, as that cannot fail."""
    if not isinstance(op, ir.If) or len(op.outs) != 1 or not isinstance(op.outs[0].type, types.Boolean):
        return [op]
    parts = [[inner for o in region.ops for inner in _flat(o)] for region in op.regions]
    if not all(_is_condition(o) for part in parts for o in part):
        return [op]
    regions = [ir.Region((), (), region.yields) for region in op.regions]
    return [*parts[0], *parts[1], op.rebuilt(op.operands, regions, op.results)]


def _is_condition(op: ir.Op) -> bool:
    """Whether it is part of a condition on integers, and cannot fail."""
    if isinstance(op, ir.If):
        return not op.then.ops and not op.orelse.ops
    if isinstance(op, ir.Call) and not op.effect and all(isinstance(out.type, types.Boolean) for out in op.outs):
        return not any(map(ir.is_reference, op.args))
    return isinstance(op, ir.Extent) or _is_comparable(op)


def _is_integer(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.Integer)


def _is_comparable(op: ir.Op) -> bool:
    """Whether it computes an integer and cannot fail."""
    if not isinstance(op, ir.Call) or op.effect or any(map(ir.is_reference, op.args)):
        return False
    divides = op.callee in (operator.floordiv, operator.mod)
    return all(isinstance(out.type, types.Integer) for out in op.outs) and not divides


def _changes(op: ir.Op) -> bool:
    """Whether an operation does more than to compute numbers, or reads elements, which may not be there."""
    inside = list(ir.with_inner(op))
    return any(has_effect(o) or o.memory_written is not None or isinstance(o, ir.Load | ir.Alloc) for o in inside)
