"""What a loop runs over: a range of counters, and the value that the target is bound to at each.

In: the value after `in`. Out: a range, and a function from its counter to the value; or all items, where they are known
when the code is compiled.

    for x, k in zip(a, range(3, n))    range(min(len(a), n - 3));  counter i  ->  (a[i], 3 + i)
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from adjit.transform import ir
from adjit.transform.elaborate import indexing
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.arrays import shape_of
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.values import Paired, Range, TupleValue, Value, is_array, ndim


def iteration(frame: Frame, iterated: Value) -> tuple[Range, Callable[[ir.Operand], Value]]:
    """The range a loop runs over, and what its target is bound to at a counter."""
    if isinstance(iterated, Range):
        return iterated, lambda counter: counter
    trips = Range(ir.integer(0), _length(frame, iterated), ir.integer(1))
    return trips, lambda counter: _item(frame, iterated, counter)


def _length(frame: Frame, iterated: Value) -> ir.Operand:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        lengths = [_length(frame, p) for p in iterated.parts if p is not None]
        shortest = lengths[0]
        for other in lengths[1:]:
            shortest = shortest if other == shortest else scalars.scalar(ctx, min, (shortest, other), "n")
        return shortest
    if isinstance(iterated, Range):
        span = scalars.scalar(ctx, operator.sub, (iterated.stop, iterated.start))
        ahead = scalars.scalar(ctx, operator.add, (span, iterated.step))
        sign = complexes.branch(
            ctx, scalars.scalar(ctx, operator.gt, (iterated.step, ir.integer(0))),
            lambda: ir.integer(-1), lambda: ir.integer(1), "sign",
        )  # fmt: skip
        ahead = scalars.scalar(ctx, operator.add, (ahead, sign))
        count = scalars.scalar(ctx, operator.floordiv, (ahead, iterated.step))
        return scalars.scalar(ctx, max, (count, ir.integer(0)), "n")
    if isinstance(iterated, TupleValue):
        return ir.integer(len(iterated.items))
    if is_array(iterated) and ndim(iterated) > 0:
        return shape_of(ctx, iterated)[0]
    raise ctx.unsupported("a loop over this", "Loop over a range, an array, a tuple, enumerate(...) or zip(...).")


def _item(frame: Frame, iterated: Value, counter: ir.Operand) -> Value:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        parts: list[Value] = []
        for p in iterated.parts:
            if p is not None:
                parts.append(_item(frame, p, counter))
            elif iterated.first is None or iterated.first == ir.integer(0):
                parts.append(counter)
            else:
                parts.append(scalars.scalar(ctx, operator.add, (counter, iterated.first)))
        return TupleValue(tuple(parts))
    if isinstance(iterated, Range):
        moved = scalars.scalar(ctx, operator.mul, (counter, iterated.step))
        return scalars.scalar(ctx, operator.add, (iterated.start, moved))
    if isinstance(iterated, TupleValue):
        raise ctx.unsupported("a tuple zipped with an array", "Loop over a range and index both.")
    return indexing.read(ctx, indexing.resolve(ctx, iterated, (counter,)))


def is_static(iterated: Paired) -> bool:
    return all(
        p is None or isinstance(p, TupleValue) or (isinstance(p, Paired) and is_static(p)) for p in iterated.parts
    )


def static_items(iterated: Value) -> list[Value]:
    if isinstance(iterated, TupleValue):
        return list(iterated.items)
    assert isinstance(iterated, Paired)
    columns = [static_items(p) if p is not None else None for p in iterated.parts]
    length = min(len(c) for c in columns if c is not None)
    first = iterated.first.value if isinstance(iterated.first, ir.Const) else 0
    return [TupleValue(tuple(ir.integer(first + k) if c is None else c[k] for c in columns)) for k in range(length)]
