"""Sums in single precision, added up in double precision, where that is asked for.

In: a function. Out: the same, in which loops carry their sums of float32 as float64, rounded once, after the loop.

    total = float32(0.0)                    wide = 0.0
    for i in range(n):                      for i in range(n):
        total += x[i] * x[i]                    wide += float64(x[i] * x[i])
                                            total = float32(wide)

Terms stay in single precision. So do elements of arrays that are added to, and what is carried otherwise; what threads
add up in rows of their own for elements of an array is in double precision, too (`outline.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.sums import partial_sums
from adjit.transform.ir.types import typed_const
from adjit.transform.rewrite.simplify import renamed


def widened(function: ir.Function) -> ir.Function:
    """The function with its sums of float32 as such of float64."""
    return ir.with_body(function, _region(function.body))


def _region(region: ir.Region) -> ir.Region:
    """The outermost loops first: a sum that an inner loop goes on with is one sum."""
    ops = [made for op in region.ops for made in (_loop(op) if isinstance(op, ir.For) else [op])]
    return ir.with_ops(region, [ir.with_regions(op, [_region(inner) for inner in op.regions]) for op in ops])


def _loop(loop: ir.For) -> Sequence[ir.Op]:
    """The loop with its sums in double precision, and what they start from before it, and the sums after it."""
    wide: dict[ir.Operand, ir.Var] = {}
    before, after = ir.Builder(loop.origin), ir.Builder(loop.origin)
    inits: list[ir.Operand] = []
    for slot in loop.slots:
        names = _names(loop, slot)
        wide |= {name: dataclasses.replace(name, type=types.float64) for name in names}
        inits.append(as_type(before, slot.init, types.float64) if names else slot.init)
        if names:
            call = ir.Call(callee=ir.cast, args=(wide[slot.out],), outs=(slot.out,), origin=loop.origin)
            after.emit(call)
    if not wide:
        return [loop]
    body = renamed(ir.rewritten(loop.body, lambda op: _added(op, wide)), wide)
    outs = [wide.get(out, out) for out in loop.outs]
    return [*before.ops, ir.with_parts(loop, [loop.start, loop.stop, loop.step, *inits], [body], outs), *after.ops]


def _names(loop: ir.For, slot: ir.Slot) -> list[ir.Var]:
    """All that a sum of float32 is called in a loop, and after it; nothing if it is no such sum."""
    if loop.stops or slot.arg.type != types.float32 or slot.yielded is slot.arg:
        return []
    found = partial_sums(slot.arg, slot.yielded, loop.body)
    return [] if found is None else [*(name for name in found if isinstance(name, ir.Var)), slot.out]


def _added(op: ir.Op, sums: Collection[ir.Operand]) -> Sequence[ir.Op]:
    """An addition to one of the sums, with its term in double precision."""
    if not isinstance(op, ir.Call) or not op.outs or op.outs[0] not in sums:
        return [op]
    builder = ir.Builder(op.origin)
    args = tuple(a if a in sums else as_type(builder, a, types.float64) for a in op.args)
    return [*builder.ops, dataclasses.replace(op, args=args)]


def as_type(builder: ir.Builder, operand: ir.Operand, type_: ir.Type) -> ir.Operand:
    """A number in the precision of this type."""
    if operand.type == type_:
        return operand
    if isinstance(operand, ir.Const):
        return typed_const(float(operand.value), type_)
    return builder.call(ir.cast, operand, type=type_, name=operand.name)
