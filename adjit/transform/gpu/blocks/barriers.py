"""Where a block's threads have to wait for each other.

In: a function whose blocks store by their threads. Out: the same, with barriers.

    for t: part[t] = x[t]                     for t: part[t] = x[t]
    for t: y[t] = part[15 - t]                barrier()
                                              for t: y[t] = part[15 - t]

Between two stretches there is one unless no thread touches an element that another one stores to; round a loop, the
last stretches of a trip and the first ones of the next are such. What the block loads, all threads load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.gpu.blocks.block_operations import axes_of_threads, is_blocks, is_threads, launches_in
from adjit.transform.gpu.blocks.conflicts import Meeting

Private = Callable[[ir.For], Collection[ir.Operand]]


def with_barriers(function: ir.Function, private: Private) -> ir.Function:
    """The function with barriers. `private`: of a launch, the memory of which threads touch their own elements."""
    made: dict[ir.Op, Sequence[ir.Op]] = {
        loop: [_in_blocks(loop, _Barriers(Meeting(function, private(loop))))]
        for loop in launches_in(function.body)
        if axes_of_threads(loop.body)
    }
    return ir.with_body(function, ir.replaced(function.body, made))


def _in_blocks(loop: ir.For, barriers: _Barriers) -> ir.For:
    if any(map(is_blocks, loop.body.ops)):
        inner = [_in_blocks(op, barriers) if isinstance(op, ir.For) and is_blocks(op) else op for op in loop.body.ops]
        return ir.with_regions(loop, [ir.with_ops(loop.body, inner)])
    body, _ = barriers.region(loop.body, [])
    return ir.with_regions(loop, [body])


class _Barriers:
    """Goes through a block. What was done since the last barrier is `pending`."""

    def __init__(self, meeting: Meeting):
        self.meeting = meeting

    def region(self, region: ir.Region, pending: Sequence[ir.Op]) -> tuple[ir.Region, list[ir.Op]]:
        """The region with barriers, and what is pending after it."""
        ops: list[ir.Op] = []
        left = list(pending)
        for op in region.ops:
            if is_threads(op) or not op.regions:
                if self.clash(left, [op]):
                    ops.append(ir.Barrier())
                    left = []
                left.append(op)
                ops.append(op)
                if op.results and is_threads(op):
                    left = []  # a sum over the block is behind a barrier
            elif isinstance(op, ir.If):
                made, left = self.branch(op, left)
                ops.append(made)
            else:
                assert isinstance(op, ir.For | ir.While)
                before, loop, left = self.loop(op, left)
                ops += [*before, loop]
        return ir.with_ops(region, ops), left

    def clash(
        self, before: Sequence[ir.Op], after: Sequence[ir.Op], varying: Collection[ir.Operand] | None = None
    ) -> bool:
        return any(self.meeting.meet(one, other, varying) for one in before for other in after)

    def branch(self, op: ir.If, pending: Sequence[ir.Op]) -> tuple[ir.Op, list[ir.Op]]:
        regions, left = list[ir.Region](), list(pending) if not op.orelse.ops else []
        for region in op.regions:
            made, after = self.region(region, pending)
            regions.append(made)
            left += [one for one in after if one not in left]
        return ir.with_regions(op, regions), left

    def loop(self, op: ir.For | ir.While, pending: Sequence[ir.Op]) -> tuple[list[ir.Op], ir.Op, list[ir.Op]]:
        """Barriers before the loop, the loop, and what is pending after it."""
        tests = [] if isinstance(op, ir.For) else list(op.test.ops)
        body, last = self.region(op.body, tests)
        heads = [*tests, *_first(body)]
        varying = {v for region in op.regions for v in region.defines} | set(op.body.args)
        if self.clash(last, tests, varying):
            body, last = ir.with_ops(body, [*body.ops, ir.Barrier()]), []
        elif self.clash(last, heads, varying) and self.clash(pending, heads):
            # one barrier for the first trip and for those after it
            body, last = ir.with_ops(body, [ir.Barrier(), *body.ops]), [one for one in last if one not in tests]
            heads = tests
        elif self.clash(last, heads, varying):
            body, last = ir.with_ops(body, [*body.ops, ir.Barrier()]), []
        before: list[ir.Op] = []
        left = list(pending)
        if self.clash(left, heads):
            before, left = [ir.Barrier()], []
        trips = literal_trips(op) if isinstance(op, ir.For) else None
        if trips and isinstance(body.ops[0], ir.Barrier):
            left = []
        regions = [body] if isinstance(op, ir.For) else [op.test, body]
        left += [one for one in (*tests, *last) if one not in left]
        return before, ir.with_regions(op, regions), left


def _first(region: ir.Region) -> list[ir.Op]:
    """What is done before the first barrier of a region, as far as there is one for certain."""
    found: list[ir.Op] = []
    for op in region.ops:
        if isinstance(op, ir.Barrier):
            return found
        if is_threads(op) or not op.regions:
            found.append(op)
            if op.results and is_threads(op):
                return found
        else:
            for inner in op.regions:
                found += _first(inner)
            trips = literal_trips(op) if isinstance(op, ir.For) else None
            if trips and any(isinstance(inner, ir.Barrier) for inner in op.body.ops):  # type: ignore[attr-defined]
                return found
    return found
