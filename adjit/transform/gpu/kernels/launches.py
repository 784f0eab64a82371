"""The launch in a kernel's function: the loops over its blocks, or over the elements that they were made into.

In: a function that is a nest, after operations that set it up. Out: what one trip does, as a function of its own; and
a function that does in each trip what another one does.

    for b in range(blocks):                    def trip(x, y, b): ...
        ...                      ──►           for b in range(blocks): trip(x, y, b)
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.ir.types import typed_const


@dataclasses.dataclass(frozen=True, eq=False)
class Launch:
    """`before`: operations that set it up; `loops`: those around a trip, the outermost first, each with nothing but the
    next one in it; `after`: what follows them."""

    function: ir.Function
    before: tuple[ir.Op, ...]
    loops: tuple[ir.For, ...]

    @property
    def counters(self) -> tuple[ir.Var, ...]:
        return tuple(loop.body.args[0] for loop in self.loops)

    @property
    def trip(self) -> ir.Function:
        """What one trip does, as a function of what it reads; it yields the arrays that the launch changes."""
        body = self.loops[-1].body
        around = [v for v in ir.free_vars(body) if v not in self.function.body.args and v not in self.counters]
        params = (*self.function.body.args, *around, *self.counters)
        made = ir.Region(params, body.ops, self.function.body.yields)
        names = tuple(p.name for p in params)
        counts = (*self.function.counts, *self.counters)
        return dataclasses.replace(self.function, names=names, params=params, body=made, result=None, counts=counts)

    def around(self, trip: ir.Function, sums: Sequence[ir.Var]) -> ir.Function:
        """The function that does what `trip` does in each trip, and adds up what that yields, into an element each.

        The arrays in `sums`, its parameters, take these.
        """
        given = (*self.function.body.args, *self.counters)
        own = tuple(p for p in trip.body.args if p not in given and p not in self._made_before)
        totals = [typed_const(0, y.type) for y in trip.body.yields]
        inits: Sequence[ir.Operand] = totals
        builder = ir.Builder()
        outs = self._nest(builder, 0, trip, inits)
        ops = [*self.before, *builder.ops]
        for array, total in zip(sums, outs, strict=True):
            ops.append(ir.Store(array=array, index=(ir.integer(0),), value=total, add=True))
        params = (*self.function.params, *own)
        names = (*self.function.names, *(p.name for p in own))
        args = (*self.function.body.args, *own)
        return dataclasses.replace(
            trip,
            name=self.function.name,
            names=names,
            params=params,
            body=ir.Region(args, tuple(ops), ()),
            result=None,
            counts=self.function.counts,
        )

    @property
    def _made_before(self) -> set[ir.Var]:
        return {out for op in self.before for out in op.results}

    def _headed(self, comment: ir.Comment) -> Sequence[ir.Comment]:
        """The heading of a sweep as one of what a block does, or a trip, which begins without."""
        is_block = self.loops[-1].level == "blocks"
        if comment.text == ir.FORWARD_SWEEP:
            return [dataclasses.replace(comment, text=ir.BLOCK_AGAIN)] if is_block else []
        if comment.text == ir.REVERSE_SWEEP:
            return [dataclasses.replace(comment, text=ir.REVERSE_BLOCK if is_block else ir.REVERSE_TRIP)]
        return [comment]

    def _nest(
        self, builder: ir.Builder, depth: int, trip: ir.Function, values: Sequence[ir.Operand]
    ) -> Sequence[ir.Operand]:
        """The loops from a depth on; what they carry starts from these values, and is what they leave in the end."""
        if depth == len(self.loops):
            for op in trip.body.ops:
                for made in self._headed(op) if isinstance(op, ir.Comment) else (op,):
                    builder.emit(made)
            return [
                builder.call(operator.add, value, bar, type=bar.type, name=ir.name_of(bar, "sum"))
                for value, bar in zip(values, trip.body.yields, strict=True)
            ]
        loop = self.loops[depth]
        names = [ir.name_of(bar, "sum") for bar in trip.body.yields]
        args = [ir.Var(name, y.type) for name, y in zip(names, trip.body.yields, strict=True)]
        with builder.region() as ops:
            yields = self._nest(builder, depth + 1, trip, args)
        outs = tuple(dataclasses.replace(arg) for arg in args)
        body = ir.Region((loop.body.args[0], *args), tuple(ops), tuple(yields))
        builder.emit(dataclasses.replace(loop, inits=tuple(values), body=body, outs=outs))
        return outs


def launch_in(function: ir.Function) -> Launch | None:
    """The launch that the function is; None if it has none.

    What a block does besides one loop over its threads, if that is pure, each thread does by itself.
    """
    *before, last = function.body.ops or (None,)
    if not isinstance(last, ir.For) or last.outs:
        return None
    loops, shared = [last], list[ir.Op]()
    while loops[-1].body.ops:
        *first, inner = loops[-1].body.ops
        if (
            not isinstance(inner, ir.For)
            or inner.outs
            or not _follows(loops[-1], inner)
            or not all(map(_is_pure, first))
        ):
            break
        shared += first
        loops.append(inner)
    trip = ir.with_ops(loops[-1].body, (*shared, *loops[-1].body.ops))
    loops[-1] = dataclasses.replace(loops[-1], body=trip)
    return Launch(function, tuple(op for op in before if op is not None), tuple(loops))


def _follows(outer: ir.For, inner: ir.For) -> bool:
    """Whether the inner loop is one of the launch, as the one around it is."""
    if outer.level is None:
        return inner.level is None and outer.parallel and inner.parallel
    return inner.level is not None


def _is_pure(op: ir.Op) -> bool:
    """Whether it may be done by each thread as well as once by all."""
    if isinstance(op, ir.Comment):
        return True
    if isinstance(op, ir.Call):
        return not op.effect and not any(map(ir.is_reference, op.outs))
    return isinstance(op, (ir.Load, ir.Extent, *ir.VIEWS))


def without_levels(function: ir.Function) -> ir.Function:
    """The function for the CPU, where blocks and threads are loops as any others."""

    def plain(op: ir.Op) -> ir.Op:
        return dataclasses.replace(op, level=None) if isinstance(op, ir.For) and op.level is not None else op

    return ir.with_body(function, ir.rewritten(function.body, plain))
