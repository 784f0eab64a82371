"""Counters of array statements that start where the elements do: no offset in most of the subscripts.

In: a function. Out: the same with ranges moved, so that it reads like the loop a person writes, and an index that goes
down from the counter is surely not below zero, which numba need not test then.

    for i in range(n - 2):                       for i in range(1, n - 1):
        v[i + 1] = u[i] + u[i + 2]                   v[i] = u[i - 1] + u[i + 1]
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import Counter, defaultdict
from collections.abc import Mapping

from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer, parted


def move_origins(function: ir.Function) -> ir.Function:
    """The function with the ranges of its own loops (not the user's) moved to the commonest of their offsets."""
    # the user's names stay
    made = {out: op for out, op in function.body.made.items() if not op.results[0].user}
    offsets: defaultdict[ir.Operand, Counter[int]] = defaultdict(Counter)
    for op in ir.walk(function.body):
        if isinstance(op, ir.Load | ir.Store):
            for index in op.index:
                base, offset = parted(index, made)
                offsets[base][offset] += 1
    move = functools.partial(_moved, made=made, offsets=offsets)
    return ir.with_body(function, ir.rewritten(function.body, move))


def _moved(
    loop: ir.Op, made: Mapping[ir.Operand, ir.Op], offsets: Mapping[ir.Operand, Counter[int]]
) -> ir.Op | list[ir.Op]:
    """The operation, or the loop that is moved after what its bounds are made of."""
    if not isinstance(loop, ir.For) or loop.start != ir.integer(0) or loop.step != ir.integer(1):
        return loop
    before = loop.body.args[0]
    found = offsets.get(before)
    if found is None or before.user:
        return loop
    shift = max(found, key=lambda offset: (found[offset], -offset))
    return _by(loop, shift, made) if shift > 0 else loop


def from_zero(function: ir.Function) -> ir.Function:
    """The function with the ranges of its own loops moved back to zero, where those of one length are alike."""
    made = {out: op for out, op in function.body.made.items() if not op.results[0].user}

    def move(op: ir.Op) -> ir.Op | list[ir.Op]:
        is_own = isinstance(op, ir.For) and op.order_free and op.step == ir.integer(1) and not op.body.args[0].user
        if not is_own or not isinstance(op.start, ir.Const) or not op.start.value:  # type: ignore[attr-defined]
            return op
        assert isinstance(op, ir.For)
        return _by(op, -int(op.start.value), made)

    return ir.with_body(function, ir.rewritten(function.body, move))


def _by(loop: ir.For, shift: int, made: Mapping[ir.Operand, ir.Op]) -> list[ir.Op]:
    """The loop with a counter that is so much greater in each trip, after what its bounds are made of."""
    before, *carried = loop.body.args
    assert isinstance(loop.start, ir.Const)
    builder, inside = ir.Builder(loop.origin), ir.Builder()
    base, offset = parted(loop.stop, made)
    stop = _plus(builder, base, offset + shift, "n") if offset + shift else base
    counter = dataclasses.replace(before)
    mapping: dict[ir.Var, ir.Operand] = {before: _plus(inside, counter, -shift, counter.name)}
    for op in loop.body.inside:
        mapping.update((out, counter) for out in op.results if parted(out, made) == (before, shift))
    body = ir.substituted_region(loop.body, mapping)
    region = ir.Region((counter, *carried), (*inside.ops, *body.ops), body.yields)
    start = ir.integer(loop.start.value + shift)
    return [*builder.ops, dataclasses.replace(loop, start=start, stop=stop, body=region)]


def _plus(builder: ir.Builder, operand: ir.Operand, offset: int, name: str) -> ir.Operand:
    return emit_integer(builder, operator.add if offset > 0 else operator.sub, operand, ir.integer(abs(offset)), name)
