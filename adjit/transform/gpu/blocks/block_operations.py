"""What a block does, as loops over its threads and operations that all threads do alike.

In: a function with loops over blocks. Out: the same, in which whatever a block stores is stored by its threads: single
elements by the first one, zeros that fill an array by all of them.

    part_bar = np.zeros(16)                   part_bar = np.empty(16)
    for t: ...                                for t: part_bar[t] = 0.0
    part_bar[0] += mean_bar                   for t: ...
                                              for t: if t == 0: part_bar[0] += mean_bar
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from numba import types

from adjit.errors import InternalError, Unsupported
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type_of

_SIMPLE = (ir.Call, ir.Load, ir.Extent, *ir.VIEWS)


def is_threads(op: ir.Op) -> bool:
    """Whether it is a loop over threads."""
    return isinstance(op, ir.For) and op.level == "threads"


def is_blocks(op: ir.Op) -> bool:
    """Whether it is a loop over blocks."""
    return isinstance(op, ir.For) and op.level == "blocks"


def around_block(loop: ir.For) -> tuple[ir.For, ...]:
    """The loops over blocks from this one on, the outermost first."""
    found = [loop]
    while (inner := next((op for op in found[-1].body.ops if is_blocks(op)), None)) is not None:
        assert isinstance(inner, ir.For)
        found.append(inner)
    return tuple(found)


def launches_in(region: ir.Region) -> Iterator[ir.For]:
    """The outermost loops over blocks."""
    for op in region.ops:
        if isinstance(op, ir.For) and op.level == "blocks":
            yield op
        else:
            for inner in op.regions:
                yield from launches_in(inner)


def axes_of_threads(region: ir.Region) -> tuple[ir.For, ...]:
    """The loops over the threads of a block, those of its first stretch; none if there is one thread."""
    first = next((op for op in region.inside if isinstance(op, ir.For) and op.level == "threads"), None)
    found: list[ir.For] = []
    while first is not None:
        found.append(first)
        first = next((op for op in first.body.ops if isinstance(op, ir.For) and op.level == "threads"), None)
    return tuple(found)


def stretches(region: ir.Region) -> list[ir.For]:
    """The loops over threads, of each stretch the outermost."""
    found: list[ir.For] = []
    for op in region.ops:
        if isinstance(op, ir.For) and op.level == "threads":
            found.append(op)
        else:
            for inner in op.regions:
                found += stretches(inner)
    return found


def axes_in(stretch: ir.For) -> list[ir.For]:
    """The loops over threads inside of one."""
    return [op for op in stretch.body.inside if isinstance(op, ir.For) and op.level == "threads"]


def extent(loop: ir.For) -> int:
    """How many threads a loop is over."""
    trips = literal_trips(loop)
    assert trips is not None
    return len(trips)


def stored_by_threads(function: ir.Function) -> ir.Function:
    """The function with all stores of blocks in loops over threads."""
    made = function.body.made

    def shaped(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        if isinstance(op, ir.Alloc) and op.like is not None:
            return _with_shape(op, made)
        return _upwards(op) if isinstance(op, ir.For) and op.level == "threads" else op

    if not any(launches_in(function.body)):
        return function
    body = ir.rewritten(function.body, shaped)
    return ir.with_body(function, ir.rewritten(body, _in_threads))


def _upwards(op: ir.For) -> ir.For:
    """A loop over threads from the first one on: those of a mirror run from the last one, and threads in any order."""
    trips = literal_trips(op)
    if trips is None or sorted(trips) != list(range(len(trips))):
        raise InternalError(f"threads that are not counted from 0: {op}")
    return dataclasses.replace(op, start=ir.integer(0), stop=ir.integer(len(trips)), step=ir.integer(1))


def _with_shape(op: ir.Alloc, made: Mapping[ir.Operand, ir.Op]) -> Sequence[ir.Op]:
    """An array like another one with a shape of its own."""
    like = made.get(op.like) if op.like is not None else None
    if isinstance(like, ir.Alloc) and like.like is not None:
        return _with_shape(dataclasses.replace(op, like=like.like), made)
    builder = ir.Builder(op.origin)
    assert op.like is not None
    shape = like.shape if isinstance(like, ir.Alloc) else builder.shape(op.like)
    builder.emit(dataclasses.replace(op, shape=tuple(shape), like=None))
    return builder.ops


def _in_threads(op: ir.Op) -> ir.Op:
    if not isinstance(op, ir.For) or op.level != "blocks" or any(is_blocks(inner) for inner in op.body.ops):
        return op
    axes = axes_of_threads(op.body)
    return dataclasses.replace(op, body=_Threads(axes).region(op.body)) if axes else op


class _Threads:
    """Writes loops over the threads of a block, which are like those of one of its stretches."""

    def __init__(self, axes: Sequence[ir.For]):
        self.axes = axes

    def region(self, region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        simple: list[ir.Op] = []
        for op in region.ops:
            if isinstance(op, (ir.Store, *_SIMPLE)):
                simple.append(op)
                continue
            ops += self.by_first(simple, region)
            simple = []
            if is_threads(op):
                ops.append(op)
            elif isinstance(op, ir.Alloc) and op.fill is not None and op.shape:
                ops += [dataclasses.replace(op, fill=None), self.filling(op, op.fill)]
            else:
                ops.append(ir.with_regions(op, [self.region(inner) for inner in op.regions]))
        return ir.with_ops(region, [*ops, *self.by_first(simple, region)])

    # ------------------------------------------------------------------------------------------ by the first thread

    def by_first(self, ops: Sequence[ir.Op], region: ir.Region) -> list[ir.Op]:
        """Operations in a row, with stores and what only those need done by the first thread."""
        if not any(isinstance(op, ir.Store) for op in ops):
            return list(ops)
        inside = set(ops)
        kept = {o for op in region.ops if op not in inside for o in op.reads} | set(region.yields)
        own: set[ir.Op] = set()
        for op in reversed(ops):
            needed = any(out in kept for out in op.results)
            if isinstance(op, ir.Store) or (op.results and not needed and not has_effect(op)):
                own.add(op)
            else:
                kept.update(op.reads)
        # what all threads need, and comes after a store, comes after that stretch
        found: list[ir.Op] = []
        waiting: list[ir.Op] = []
        for op in ops:
            if op in own:
                waiting.append(op)
                continue
            if isinstance(op, ir.Load) and any(isinstance(w, ir.Store) for w in waiting):
                found.append(self.first(waiting))
                waiting = []
            found.append(op)
        return [*found, self.first(waiting)] if waiting else found

    def first(self, ops: Sequence[ir.Op]) -> ir.Op:
        """What the first thread alone does."""

        def body(counters: Mapping[ir.For, ir.Var], builder: ir.Builder) -> None:
            tests = [
                builder.call(operator.eq, counter, ir.integer(0), type=types.boolean, name="is_first")
                for counter in counters.values()
            ]
            made: Sequence[ir.Op] = ops
            for test in reversed(tests):
                made = [ir.If(condition=test, then=ir.Region((), tuple(made), ()))]
            for op in made:
                builder.ops.append(op)

        origin = next((op.origin for op in ops if op.origin is not None), None)
        return self.loops(body, origin)

    def loops(self, body: Callable[[Mapping[ir.For, ir.Var], ir.Builder], None], origin: ir.Origin | None) -> ir.Op:
        """Loops over the threads around what `body` emits."""
        counters = {axis: dataclasses.replace(axis.body.args[0]) for axis in self.axes}
        builder = ir.Builder(origin)
        body(counters, builder)
        ops: Sequence[ir.Op] = builder.ops
        for axis in reversed(self.axes):
            made = ir.Region((counters[axis],), tuple(ops), ())
            ops = [ir.For(stop=ir.integer(extent(axis)), body=made, level="threads", origin=origin)]
        return ops[0]

    # ---------------------------------------------------------------------------------------------- filling an array

    def filling(self, alloc: ir.Alloc, value: ir.Const) -> ir.Op:
        """All threads together put a number into all elements."""
        shape = alloc.shape
        extents = [extent(axis) for axis in self.axes]
        sizes = [int(n.value) if isinstance(n, ir.Const) else None for n in shape]
        places = _window(sizes, extents)

        def body(counters: Mapping[ir.For, ir.Var], builder: ir.Builder) -> None:
            own = list(counters.values())
            if places is not None:
                rest = [axis for axis in range(len(shape)) if axis not in places]
                known = dict(zip(places, own, strict=True))

                def store(at: tuple[ir.Var, ...]) -> None:
                    around = dict(zip(rest, at, strict=True))
                    index = tuple(known.get(axis) or around[axis] for axis in range(len(shape)))
                    builder.store(alloc.out, index, value)

                builder.nest([shape[axis] for axis in rest], store)
                return
            self.strided(builder, own, extents, alloc, value)

        return self.loops(body, alloc.origin)

    def strided(
        self, builder: ir.Builder, own: Sequence[ir.Var], extents: Sequence[int], alloc: ir.Alloc, value: ir.Const
    ) -> None:
        """Along each of the last axes a thread begins at its place, in steps of all threads along that."""
        rank = len(alloc.shape)
        # the thread's axes, the fastest last, to the array's last ones; more of them than the array has are one
        first: list[tuple[ir.Operand, int]] = [(ir.integer(0), 1)] * max(0, rank - len(own))
        pairs = list(zip(own, extents, strict=True))
        while len(pairs) > rank:
            (slow, n), (fast, m), *others = pairs
            far = builder.call(operator.mul, slow, ir.integer(m), type=types.intp, name="row")
            pairs = [(builder.call(operator.add, far, fast, type=types.intp, name="place"), n * m), *others]
        places = [*first, *pairs]

        def level(done: tuple[ir.Var, ...]) -> None:
            depth = len(done)
            if depth == rank:
                builder.store(alloc.out, done, value)
                return
            start, step = places[depth]
            with builder.loop(alloc.shape[depth], "k", start=start, step=ir.integer(step)) as k:
                level((*done, k))

        level(())


def has_effect(op: ir.Op) -> bool:
    """Whether it has to be done as it is written."""
    return isinstance(op, ir.Call) and op.effect


def _window(sizes: Sequence[int | None], extents: Sequence[int]) -> list[int] | None:
    """The neighbouring axes of an array that are as long as the block is along its own."""
    for first in (0, *range(len(sizes) - len(extents), 0, -1)):
        if list(sizes[first : first + len(extents)]) == list(extents):
            return list(range(first, first + len(extents)))
    return None


# ------------------------------------------------------------------------------------------------------------- refusing


def refuse(region: ir.Region) -> None:
    """Unsupported for what a kernel cannot do."""
    for op in sorted(region.inside, key=lambda op: not isinstance(op, ir.Raise)):
        if isinstance(op, ir.NewTape | ir.Push | ir.Pull):
            tape = op.out if isinstance(op, ir.NewTape) else op.tape
            pushes = [o for o in region.inside if isinstance(o, ir.Push) and o.tape is tape]
            if any(ir.is_array(push.value) for push in pushes):
                raise Unsupported(
                    "parts of an array that are exchanged in a kernel",
                    ir.place_of(_origin_of(region, tape)),
                    "The reverse could not tell the parts apart.",
                    "Use one array with one more axis, and exchange indices.",
                )
            raise Unsupported(
                "a loop with an unknown number of iterations in a kernel, whose reverse needs its values",
                ir.place_of(_origin_of(region, tape)),
                "The values would need a growing list, and kernels have none.",
                "Write `for` over a range that depends only on the kernel's arguments, with an `if` "
                'inside; or use target="cpu".',
            )
        if isinstance(op, ir.Raise) and issubclass(op.exception, RecursionError):
            raise Unsupported(
                "a function that calls itself, in a kernel",
                ir.place_of(op.origin),
                "The depth is only known at run time, and a thread has no memory for it.",
                "Write it as a loop.",
            )
        if isinstance(op, ir.Raise):
            raise Unsupported("an error that a kernel raises", ir.place_of(op.origin), "", "Check it on the host.")


def _origin_of(region: ir.Region, tape: ir.Operand) -> ir.Origin | None:
    """The line of what is kept, or of the innermost statement around, or of the first one in that."""
    found: ir.Origin | None = None
    for op in region.inside:
        inside = list(ir.with_inner(op))
        if any(isinstance(inner, ir.Push | ir.Pull) and inner.tape is tape for inner in inside):
            found = next((inner.origin for inner in inside if inner.origin is not None), found)
    return found or next((op.origin for op in region.inside if op.origin is not None), None)


def shared_bytes(alloc: ir.Alloc) -> int | None:
    """How large an array of literal shape is; None of others."""
    sizes = [int(n.value) for n in alloc.shape if isinstance(n, ir.Const)]
    if len(sizes) < len(alloc.shape) or alloc.like is not None:
        return None
    return math.prod(sizes) * int(getattr(array_type_of(alloc.out).dtype, "bitwidth", 8)) // 8
