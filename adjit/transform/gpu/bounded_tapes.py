"""Tapes that grow in a thread, and never beyond a length that is known, are arrays of that length.

In: a function. Out: the same, in which such lists, made in a trip that runs beside others, are arrays; and arrays that
are no longer than something that is known before the loop are as long as that.

    for s in prange(n):                         for s in prange(n):
        tape = []                                   tape = np.empty(9)
        for p in range(3):                          for p in range(3):
            for i in range(p + 1, 3):                   for i in range(p + 1, 3):
                tape.append(f)                              tape[position] = f

Each loop counts with the most trips that it may make: `while y > tol and n < most: ...; n += 1` with `most`, and
`for s in range(min(steps[i], most))` as well. `for s in range(steps[i])` makes no more trips than an array has elements
that each trip loads at s.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations, Loop
from adjit.transform.analysis.trip_counts import count_trips, literal_trips
from adjit.transform.gpu.allocation import MOST_LOCAL
from adjit.transform.ir.types import array_type, is_scalar
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked


def with_bounded_tapes(function: ir.Function, of_thread: bool = False) -> ir.Function:
    """The function with lists of numbers in threads as arrays. `of_thread`: one thread does all of it."""
    found = _Tapes(function)
    instead: dict[ir.Op, Sequence[ir.Op]] = {}
    for loop in [function] if of_thread else _together(function.body):
        for op in loop.body.inside:
            if isinstance(op, ir.NewTape) and (length := found.length(op, loop)) is not None:
                instead.update(found.as_array(op, *length))
            if isinstance(op, ir.Alloc) and op.role is not None and op.role.kind == "tape":
                instead.update(found.widened(op, loop))
    if not instead:
        return function
    return checked(simplify(checked(ir.with_body(function, ir.replaced(function.body, instead)), "bounded")), "bounded")


def _together(region: ir.Region) -> Iterator[ir.For]:
    """The outermost loops whose trips run beside each other."""
    for op in region.ops:
        if isinstance(op, ir.For) and (op.parallel or op.level is not None):
            yield op
        else:
            for inner in op.regions:
                yield from _together(inner)


class _Tapes:
    def __init__(self, function: ir.Function):
        self.iterations = function.analysis(Iterations)
        self.users: dict[ir.Operand, list[ir.Op]] = {}
        for op in function.body.inside:
            for o in (*op.operands, *(y for region in op.regions for y in region.yields)):
                if isinstance(o.type, types.List):
                    self.users.setdefault(o, []).append(op)
        # by what a loop goes up to, the loops that do
        self.up_to: dict[ir.Operand, list[ir.For]] = {}
        for op in function.body.inside:
            if isinstance(op, ir.For) and isinstance(op.step, ir.Const) and op.step.value > 0:
                self.up_to.setdefault(op.stop, []).append(op)

    def length(self, tape: ir.NewTape, outer: ir.For | ir.Function) -> tuple[int, list[ir.Op], ir.Operand] | None:
        """How many entries the list may have: so many times an integer that these operations make, of what is there
        before the loop. None if nobody knows, or it is no list of numbers."""
        users = self.users.get(tape.out, [])
        if not all(isinstance(user, ir.Push | ir.Pull) and user.tape is tape.out for user in users):
            return None
        dtype = tape.out.type.dtype  # type: ignore[attr-defined]
        if not is_scalar(dtype):
            return None
        around = self.iterations.places[tape].loops
        total = 0
        bounds: dict[ir.Operand, list[ir.Op]] = {}
        for user in users:
            if not isinstance(user, ir.Push):
                continue
            own = [loop for loop in self.iterations.places[user].loops if loop not in around]
            if any(isinstance(loop, ir.For) and loop.level == "threads" for loop in own):
                # of which each would have its own place in the list
                return None
            most = [self.most_trips(loop) or self.bound(loop, outer) for loop in own]
            if None in most:
                return None
            total += math.prod(n for n in most if isinstance(n, int))
            bounds.update(n for n in most if isinstance(n, tuple))
        if len(bounds) > 1 or (bounds and sum(isinstance(user, ir.Push) for user in users) > 1):
            return None
        for operand, ops in bounds.items():
            return total, ops, operand
        return (total, [], ir.integer(1)) if total * getattr(dtype, "bitwidth", 8) // 8 <= MOST_LOCAL else None

    def bound(self, loop: Loop, outer: ir.For | ir.Function) -> tuple[ir.Operand, list[ir.Op]] | None:
        """The trips of a loop that are known before `outer`, the most of a `while` that counts, and what makes that."""
        if isinstance(loop, ir.For) and not any(
            end in outer.body.defines for end in (loop.start, loop.stop, loop.step)
        ):
            known = ir.Builder(loop.origin)
            trips = count_trips(known, loop)
            return known.call(max, trips, ir.integer(0), type=types.intp, name="most"), known.ops
        if isinstance(loop, ir.For) and loop in self.up_to.get(loop.stop, ()):
            known = ir.Builder(loop.origin)
            start, stop = self.least(loop.start, outer), self.most(known, loop.stop, outer)
            if start is not None and stop is not None:
                trips = count_trips(known, dataclasses.replace(loop, start=start, stop=stop))
                return known.call(max, trips, ir.integer(0), type=types.intp, name="most"), known.ops
        found = self.counted(loop)
        if found is None or found[1] in outer.body.defines:
            return None
        first, end, step = found
        builder = ir.Builder(loop.origin)
        most = builder.call(operator.sub, end, ir.integer(first), type=types.intp, name="most")
        if step > 1:
            more = builder.call(operator.add, most, ir.integer(step - 1), type=types.intp, name="most")
            most = builder.call(operator.floordiv, more, ir.integer(step), type=types.intp, name="most")
        return builder.call(max, most, ir.integer(0), type=types.intp, name="most"), builder.ops

    def least(self, operand: ir.Operand, outer: ir.For | ir.Function) -> ir.Operand | None:
        """An integer that is there before the loop, and that another one is not below; None if none is known."""
        if operand not in outer.body.defines:
            return operand
        form = self.iterations.value(operand)
        if form is None or not all(isinstance(s, ir.For) and f >= 0 for s, f in form.terms.items()):
            return None
        return ir.integer(form.constant)

    def counted(self, loop: Loop) -> tuple[int, ir.Operand, int] | None:
        """What a `while` counts from, to before which integer, and in which steps; None if its test does not say."""
        if not isinstance(loop, ir.While):
            return None
        made = loop.test.made
        for test in _parts(loop.test.yields[0], made):
            if not isinstance(test, ir.Call) or test.callee is not operator.lt or test.args[0] not in loop.test.args:
                continue
            slot = loop.slots[loop.test.args.index(test.args[0])]
            stop = loop.body.yields[-1] if loop.stops else ir.boolean(False)
            steps = self.steps(slot.yielded, slot.arg, stop)
            if isinstance(slot.init, ir.Const) and steps and min(steps) > 0:
                step = min(steps)
                # the trip that ends the loop need not count
                return int(slot.init.value) - (step if loop.stops else 0), test.args[1], step
        return None

    def steps(self, value: ir.Operand, counter: ir.Var, stop: ir.Operand) -> set[int]:
        """By how much `value` may be more than the counter in a trip that does not `stop`; 0 for what is not known."""
        if stop == ir.boolean(True):
            return set()
        op = self.iterations.definitions.get(value)
        if isinstance(op, ir.If):
            found: set[int] = set()
            for branch, is_taken in ((op.then, True), (op.orelse, False)):
                ends = ir.boolean(is_taken) if stop is op.condition else stop
                ends = branch.yields[op.outs.index(stop)] if stop in op.outs else ends
                found |= self.steps(branch.yields[op.outs.index(value)], counter, ends)
            return found
        if isinstance(op, ir.Call) and op.callee is operator.add and counter in op.args:
            more = [int(a.value) for a in op.args if isinstance(a, ir.Const)]
            return set(more) or {0}
        return {0}

    def most_trips(self, loop: Loop) -> int | None:
        """The most trips that a loop makes; None if that is not known while compiling."""
        counted = self.counted(loop)
        if counted is not None and isinstance(counted[1], ir.Const):
            return max(0, -(-(int(counted[1].value) - counted[0]) // counted[2]))
        if not isinstance(loop, ir.For) or not isinstance(loop.step, ir.Const):
            return None
        step = int(loop.step.value)
        low, high = (loop.start, loop.stop) if step > 0 else (loop.stop, loop.start)
        ends = self.iterations.value(low), self.greatest_operand(high)
        if ends[0] is None or ends[1] is None:
            return None
        distance = ends[1].plus(ends[0], -1)
        far = self.greatest(distance)
        return None if far is None else max(0, -(-far // abs(step)))

    def greatest_operand(self, operand: ir.Operand) -> Affine | None:
        """An affine form that the integer is not above."""
        found = self.iterations.value(operand)
        made = self.iterations.definitions.get(operand)
        if found is None and isinstance(made, ir.Call) and ir.canonical(made.callee) is min:
            literals = [int(a.value) for a in made.args if isinstance(a, ir.Const)]
            return Affine(constant=min(literals)) if literals else None
        if found is None and isinstance(made, ir.Call) and made.callee is operator.sub:
            left, right = self.greatest_operand(made.args[0]), self.iterations.value(made.args[1])
            return None if left is None or right is None else left.plus(right, -1)
        return found

    def greatest(self, value: Affine) -> int | None:
        """The greatest value of an affine form of numbers of trips."""
        total = value.constant
        for symbol, factor in value.terms.items():
            if not isinstance(symbol, ir.For):
                return None
            trips = self.most_trips(symbol)
            if trips is None:
                return None
            total += max(0, factor * (trips - 1))
        return total

    def widened(self, alloc: ir.Alloc, outer: ir.For | ir.Function) -> dict[ir.Op, Sequence[ir.Op]]:
        """A tape with extents that are known before the loop, and not less than its own; nothing if those are known."""
        inside = outer.body.defines
        if not any(extent in inside for extent in alloc.shape):
            return {}
        builder = ir.Builder(alloc.origin)
        shape = [self.most(builder, extent, outer) for extent in alloc.shape]
        if None in shape:
            return {}
        builder.emit(dataclasses.replace(alloc, shape=tuple(extent for extent in shape if extent is not None)))
        return {alloc: builder.ops}

    def most(self, builder: ir.Builder, operand: ir.Operand, outer: ir.For | ir.Function) -> ir.Operand | None:
        """An integer, made of what is there before the loop, that another one is not above; None if none is known."""
        if operand not in outer.body.defines:
            return operand
        loaded = self.most_loaded(builder, operand, outer)
        if loaded is not None:
            return loaded
        op = self.iterations.definitions.get(operand)
        if not isinstance(op, ir.Call):
            return None
        callee, args = ir.canonical(op.callee), op.args
        if callee in (operator.add, operator.sub) and isinstance(args[1], ir.Const):
            found = [self.most(builder, args[0], outer), args[1]]
        elif callee in (min, max) or op.callee is ir.cast:
            found = [self.most(builder, arg, outer) for arg in args]
            if callee is min:
                found = [next((o for o in found if o is not None), None)]
        else:
            return None
        known = [o for o in found if o is not None]
        if len(known) < len(found):
            return None
        return known[0] if callee is min else builder.call(op.callee, *known, type=types.intp, name="most")

    def most_loaded(self, builder: ir.Builder, stop: ir.Operand, outer: ir.For | ir.Function) -> ir.Operand | None:
        """What a loop goes up to at most, as each trip loads an element at its counter."""
        inside = outer.body.defines
        for loop in self.up_to.get(stop, ()):
            if loop.start in inside:
                continue
            for load in _in_each_trip(loop.body):
                if not isinstance(load, ir.Load) or load.array in inside:
                    continue
                for axis, index in enumerate(load.index):
                    ahead = self.ahead(index, loop)
                    if ahead is not None:
                        n = builder.extent(load.array, axis)
                        return builder.call(max, self.plus(builder, n, -ahead), loop.start, type=types.intp)
        return None

    def ahead(self, index: ir.Operand, loop: ir.For) -> int | None:
        """By what literal an index is more than the counter of a loop; None if it is not."""
        form, counter = self.iterations.value(index), self.iterations.value(loop.body.args[0])
        ahead = None if form is None or counter is None else form.plus(counter, -1)
        return ahead.constant if ahead is not None and ahead.is_constant else None

    def plus(self, builder: ir.Builder, operand: ir.Operand, more: int) -> ir.Operand:
        return builder.call(operator.add, operand, ir.integer(more), type=types.intp) if more else operand

    def as_array(
        self, tape: ir.NewTape, count: int, ops: Sequence[ir.Op], most: ir.Operand
    ) -> dict[ir.Op, Sequence[ir.Op]]:
        """What takes the place of the operations on a list, with room for `count` times `most` entries."""
        builder = ir.Builder(tape.origin)
        length: ir.Operand = ir.integer(count)
        if ops:
            builder.ops.extend(ops)
            length = most if count == 1 else builder.call(operator.mul, most, length, type=types.intp, name="length")
        out = dataclasses.replace(tape.out, type=array_type(tape.out.type.dtype, 1))  # type: ignore[attr-defined]
        builder.emit(ir.Alloc(shape=(length,), out=out, role=tape.role, origin=tape.origin))
        found: dict[ir.Op, Sequence[ir.Op]] = {tape: builder.ops}
        for user in self.users.get(tape.out, []):
            if isinstance(user, ir.Push):
                store = ir.Store(array=out, index=(user.index,), value=user.value, origin=user.origin)
                found[user] = [store]
            elif isinstance(user, ir.Pull):
                found[user] = [ir.Load(array=out, index=(user.index,), out=user.out, origin=user.origin)]
        return found


def _in_each_trip(region: ir.Region) -> Iterator[ir.Op]:
    """What is done whatever happens, in loops of which the literals say that they make trips as well."""
    for op in region.ops:
        if not op.regions:
            yield op
        elif isinstance(op, ir.For) and literal_trips(op):
            yield from _in_each_trip(op.body)


def _parts(condition: ir.Operand, made: Mapping[Any, ir.Op]) -> Iterator[ir.Op]:
    """The conditions that hold where this one does: both of `a and b`, a branch that yields b where a holds."""
    op = made.get(condition)
    if isinstance(op, ir.If) and op.orelse.yields[op.outs.index(condition)] == ir.boolean(False):
        yield from _parts(op.condition, made)
        yield from _parts(op.then.yields[op.outs.index(condition)], made)
    elif isinstance(op, ir.Call) and op.callee is operator.and_:
        for arg in op.args:
            yield from _parts(arg, made)
    elif op is not None:
        yield op
