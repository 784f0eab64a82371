"""Counters of array statements that start where the elements do: no offset in most of the subscripts.

In: a function. Out: the same with ranges moved, so that it reads like the loop a person writes, and an index that goes
down from the counter is surely not below zero, which numba need not test then.

    for i in range(n - 2):                       for i in range(1, n - 1):
        v[i + 1] = u[i] + u[i + 2]                   v[i] = u[i - 1] + u[i + 1]
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter, defaultdict
from collections.abc import Mapping

from numba import types

from adjit.transform import ir


def move_origins(function: ir.Function) -> ir.Function:
    """The function with the ranges of its own loops (not the user's) moved to the commonest of their offsets."""
    made = function.body.made
    offsets: defaultdict[ir.Operand, Counter[int]] = defaultdict(Counter)
    for op in ir.walk(function.body):
        if isinstance(op, ir.Load | ir.Store):
            for index in op.index:
                base, offset = _parted(index, made)
                offsets[base][offset] += 1
    body = _Moving(made, offsets).region(function.body)
    return ir.with_body(function, body)


def _parted(operand: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> tuple[ir.Operand, int]:
    """An integer as another one and a literal that is added to it."""
    op = made.get(operand) if isinstance(operand, ir.Var) else None
    if isinstance(op, ir.Call) and len(op.args) == 2 and not op.outs[0].user:
        left, right = op.args
        callee = ir.canonical(op.callee)
        if callee is operator.add and isinstance(left, ir.Const):
            left, right = right, left
        if callee in (operator.add, operator.sub) and isinstance(right, ir.Const) and right.type == types.intp:
            return left, int(right.value) if callee is operator.add else -int(right.value)
    return operand, 0


def _plus(builder: ir.Builder, operand: ir.Operand, offset: int, name: str) -> ir.Operand:
    if offset == 0:
        return operand
    if isinstance(operand, ir.Const):
        return ir.integer(operand.value + offset)
    callee = operator.add if offset > 0 else operator.sub
    return builder.call(callee, operand, ir.integer(abs(offset)), type=types.intp, name=name)


class _Moving:
    def __init__(self, made: Mapping[ir.Operand, ir.Op], offsets: Mapping[ir.Operand, Counter[int]]):
        self.made = made
        self.offsets = offsets

    def region(self, region: ir.Region) -> ir.Region:
        builder = ir.Builder()
        for op in region.ops:
            op = ir.with_regions(op, [self.region(r) for r in op.regions])
            builder.ops.append(self.moved(op, builder) if isinstance(op, ir.For) else op)
        return ir.with_ops(region, builder.ops)

    def moved(self, loop: ir.For, builder: ir.Builder) -> ir.For:
        counter, *carried = loop.body.args
        found = self.offsets.get(counter)
        if found is None or counter.user or loop.start != ir.integer(0) or loop.step != ir.integer(1):
            return loop
        shift = max(found, key=lambda offset: (found[offset], -offset))
        if shift <= 0:
            return loop
        builder.origin = loop.origin
        base, offset = _parted(loop.stop, self.made)
        stop = _plus(builder, base, offset + shift, "n")
        counter = dataclasses.replace(counter)
        inside = ir.Builder()
        mapping: dict[ir.Var, ir.Operand] = {loop.body.args[0]: _plus(inside, counter, -shift, counter.name)}
        for op in ir.walk(loop.body):
            for out in op.results:
                base, offset = _parted(out, self.made)
                if base is loop.body.args[0] and offset == shift:
                    mapping[out] = counter
        body = ir.substituted_region(loop.body, mapping)
        region = ir.Region((counter, *carried), (*inside.ops, *body.ops), body.yields)
        return dataclasses.replace(loop, start=ir.integer(shift), stop=stop, body=region)
