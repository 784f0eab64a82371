"""Stretches between which threads exchange nothing are one.

In: a kernel as a nest, whose tiles may have been seen through. Out: the same with one stretch, if no array of the block
is left, and no thread stores what another one loads or stores in another stretch; else as it is.

    for b:                                        for b:
        total_kept = np.empty(16)                     for t:
        for t: total_kept[t] = 0.0                        total = 0.0
        for s in range(n):                                for s in range(n):
            for t: total_kept[t] += x[s] * w[t]               total += x[s] * w[t]
        for t: y[t] = total_kept[t]                       y[t] = total

What threads kept from one stretch to another are values of theirs again.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.gpu.kernels.launches import launch_in
from adjit.transform.ir.types import array_type, array_type_of


def in_one_stretch(function: ir.Function) -> ir.Function:
    """The function with one stretch, or itself."""
    launch = launch_in(function)
    if launch is None or any(loop.level != "blocks" for loop in launch.loops):
        return function
    body = launch.loops[-1].body
    found = _Merged(function, body)
    if not found.is_legal():
        return function
    ops: Sequence[ir.Op] = found.ops()
    for loop in reversed(launch.loops):
        ops = [dataclasses.replace(loop, body=ir.Region(loop.body.args, tuple(ops), ()))]
    return ir.with_body(function, ir.with_ops(function.body, [*launch.before, *ops]))


_NEVER_FAIL = (operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.gt, operator.ge)


class _Merged:
    def __init__(self, function: ir.Function, body: ir.Region):
        self.aliases, self.body = function.analysis(Aliases), body
        self.stretches = list(_stretches(body, False))
        self.axes = _axes(self.stretches[0][0]) if self.stretches else []
        self.kept = [op for op in body.ops if isinstance(op, ir.Alloc)]
        self.cells: dict[ir.Operand, ir.Var] = {}
        self.known: dict[ir.Var, ir.Operand] = {}
        self.head: list[ir.Op] = []
        self.made: dict[object, ir.Var] = {}
        self.at_hand: set[ir.Operand] = set()

    # --------------------------------------------------------------------------------------------------- legality

    def is_legal(self) -> bool:
        if len(self.stretches) < 2 or not self.axes:
            return False
        arrays = {op.out for op in self.kept}
        if any(op.role is None or op.role.kind != "kept" or op.fill is not None for op in self.kept):
            return False
        if not all(self.is_plain(op) for op in _of_block(self.body)):
            return False
        stored: dict[ir.Operand, set[int]] = {}
        touched: dict[ir.Operand, set[int]] = {}
        for number, (stretch, in_loop) in enumerate(self.stretches):
            axes = _axes(stretch)
            if len(axes) != len(self.axes) or any(axis.outs for axis in axes):
                return False
            counters = tuple(axis.body.args[0] for axis in axes)
            for op in axes[-1].body.inside:
                if isinstance(op, ir.Alloc):
                    continue
                for o in dict.fromkeys(op.operands):
                    if o in arrays and not _is_own(op, o, counters):
                        return False
                own = axes[-1].body.defines
                for o in (*op.memory_read, *([] if op.memory_written is None else [op.memory_written])):
                    memory = self.aliases.find(o)
                    if o in own or any(self.aliases.find(a) == memory for a in arrays):
                        continue
                    touched.setdefault(memory, set()).add(number)
                    if memory is not None and o is op.memory_written:
                        if in_loop:
                            return False
                        stored.setdefault(memory, set()).add(number)
        return all(len(touched[memory]) == 1 for memory in stored)

    def is_plain(self, op: ir.Op) -> bool:
        """Whether each thread may do it that the block does, and as often."""
        if isinstance(op, ir.Call):
            return not op.effect and not any(map(ir.is_reference, (*op.args, *op.outs)))
        if isinstance(op, ir.Load):
            return not self.aliases.is_written(op.array)
        return isinstance(op, (ir.Alloc, ir.Extent, ir.Comment, ir.Undefined, ir.If, ir.For, ir.While, *ir.VIEWS))

    # ---------------------------------------------------------------------------------------------------- merging

    def ops(self) -> list[ir.Op]:
        """The loops over threads, in them all that was in stretches."""
        counters = [dataclasses.replace(axis.body.args[0]) for axis in self.axes]
        self.at_hand.update((*self.body.args, *counters))
        builder = ir.Builder()
        for op in self.kept:
            if len(op.shape) == len(self.axes):
                start = ir.Var(op.out.name.removesuffix("_kept"), array_type_of(op.out).dtype, op.out.user)
                builder.emit(ir.Undefined(out=start))
                self.cells[op.out] = start
            else:
                shape = op.shape[len(self.axes) :]
                own = dataclasses.replace(op.out, type=_inner(op.out, len(self.axes)))
                builder.emit(ir.Alloc(shape=shape, out=own, origin=op.origin))
                self.known[op.out] = own
        self.region(builder, self.body, counters)
        ops: Sequence[ir.Op] = [*self.head, *builder.ops]
        for axis, counter in zip(reversed(self.axes), reversed(counters), strict=True):
            ops = [dataclasses.replace(axis, body=ir.Region((counter,), tuple(ops), ()))]
        return list(ops)

    def region(self, builder: ir.Builder, region: ir.Region, counters: Sequence[ir.Var]) -> None:
        """What is in a region; `counters`: of the axes of which no loop is around it yet."""
        for op in region.ops:
            if isinstance(op, ir.For) and op.level == "threads":
                self.known[op.body.args[0]] = counters[0]
                self.region(builder, op.body, counters[1:])
            elif op in self.kept:
                continue
            elif isinstance(op, ir.Load) and op.array in self.cells:
                self.known[op.out] = self.cells[op.array]
            elif isinstance(op, ir.Store) and op.array in self.cells:
                self.cells[op.array] = self.named(builder, ir.substituted_operand(op.value, self.known), op.array)
            elif isinstance(op, ir.Slice) and any(op.base is alloc.out for alloc in self.kept):
                self.known[op.out] = ir.substituted_operand(op.base, self.known)
            elif op.regions:
                self.control(builder, op, counters)
            elif isinstance(op, ir.Call) and self.is_made_at_first(op):
                self.at_first(op)
            else:
                builder.ops.append(ir.substituted(op, self.known))

    def is_made_at_first(self, op: ir.Call) -> bool:
        """Whether it makes an integer that each stretch makes again, of the thread's place and what is the same."""
        args = [ir.substituted_operand(a, self.known) for a in op.args]
        is_whole = all(isinstance(o.type, types.Integer | types.Boolean) for o in (*args, *op.outs))
        never_fails = ir.canonical(op.callee) in _NEVER_FAIL and not op.effect and not op.options
        return is_whole and never_fails and all(a in self.at_hand or a not in self.body.defines for a in args)

    def at_first(self, op: ir.Call) -> None:
        """Makes it once, before all else that the thread does."""
        made = ir.substituted(op, self.known)
        assert isinstance(made, ir.Call)
        key = made.callee, made.args
        if key not in self.made:
            self.made[key] = made.outs[0]
            self.head.append(made)
            self.at_hand.add(made.outs[0])
        self.known[op.outs[0]] = self.made[key]

    def named(self, builder: ir.Builder, value: ir.Operand, array: ir.Operand) -> ir.Var:
        """A value as a variable."""
        if isinstance(value, ir.Var):
            return value
        return builder.call(ir.cast, value, type=value.type, name=self.cells[array].name)

    def control(self, builder: ir.Builder, op: ir.Op, counters: Sequence[ir.Var]) -> None:
        """A branch or a loop, which hands on what threads keep in it."""
        stored = [
            array
            for array in self.cells
            if any(isinstance(inner, ir.Store) and inner.array is array for inner in ir.with_inner(op))
        ]
        before = dict(self.cells)
        operands = [ir.substituted_operand(o, self.known) for o in op.operands]
        if isinstance(op, ir.If):
            regions: list[ir.Region] = []
            for region in op.regions:
                self.cells = dict(before)
                with builder.region() as ops:
                    self.region(builder, region, counters)
                yields = [ir.substituted_operand(y, self.known) for y in region.yields]
                regions.append(ir.Region((), tuple(ops), (*yields, *(self.cells[array] for array in stored))))
            outs = [dataclasses.replace(before[array]) for array in stored]
            builder.ops.append(op.rebuilt(operands, regions, (*op.outs, *outs)))
            self.cells = {**before, **dict(zip(stored, outs, strict=True))}
            return
        assert isinstance(op, ir.For | ir.While)
        args = [dataclasses.replace(before[array]) for array in stored]
        outs = [dataclasses.replace(before[array]) for array in stored]
        self.cells = {**before, **dict(zip(stored, args, strict=True))}
        with builder.region() as ops:
            self.region(builder, op.body, counters)
        handed = tuple(ir.substituted_operand(y, self.known) for y in op.body.yields)
        bodies = [ir.Region(op.body.args, tuple(ops), handed)]
        if isinstance(op, ir.While):
            bodies.insert(0, ir.substituted_region(op.test, self.known))
        made = op.rebuilt(operands, bodies, op.results)
        slots = [
            ir.Slot(before[array], arg, self.cells[array], out)
            for array, arg, out in zip(stored, args, outs, strict=True)
        ]
        builder.ops.append(ir.with_slots(made, slots) if slots else made)
        self.cells = {**before, **dict(zip(stored, outs, strict=True))}


def _stretches(region: ir.Region, in_loop: bool) -> Iterator[tuple[ir.For, bool]]:
    """The loops over threads, of each stretch the outermost, and whether a loop of the block's is around it."""
    for op in region.ops:
        if isinstance(op, ir.For) and op.level == "threads":
            yield op, in_loop
        else:
            for inner in op.regions:
                yield from _stretches(inner, in_loop or isinstance(op, ir.For | ir.While))


def _of_block(region: ir.Region) -> Iterator[ir.Op]:
    """What the block does."""
    for op in region.ops:
        if not (isinstance(op, ir.For) and op.level == "threads"):
            yield op
            for inner in op.regions:
                yield from _of_block(inner)


def _axes(stretch: ir.For) -> list[ir.For]:
    """The loops over threads of a stretch."""
    found = [stretch]
    while found[-1].body.ops:
        *before, inner = found[-1].body.ops
        are_numbers = all(isinstance(op, ir.Call | ir.Extent | ir.Comment) for op in before)
        if not isinstance(inner, ir.For) or inner.level != "threads" or not are_numbers:
            break
        found.append(inner)
    return found


def _is_own(op: ir.Op, array: ir.Operand, counters: tuple[ir.Var, ...]) -> bool:
    """Whether an access is to the thread's own element of what threads keep, or its own array."""
    if isinstance(op, ir.Load | ir.Store) and op.array is array:
        return op.index == counters
    if isinstance(op, ir.Slice) and op.base is array:
        first = [s.index if isinstance(s, ir.At) else None for s in op.selectors[: len(counters)]]
        rest = op.selectors[len(counters) :]
        return first == list(counters) and all(s == ir.Span() for s in rest)
    return False


def _inner(array: ir.Var, axes: int) -> ir.Type:
    """The type of a thread's own array."""
    own = array_type_of(array)
    return array_type(own.dtype, own.ndim - axes)
