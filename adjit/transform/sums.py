"""Carried values that are only added to.

In: a value that a loop carries. Out: whether the order of the trips matters to it no more than rounding.

    total += x[i] * w
"""

from __future__ import annotations

import operator

from numba import types

from adjit.transform import ir


def is_sum(arg: ir.Var, yielded: ir.Operand, body: ir.Region) -> bool:
    """Whether a carried value is only added to, so that the order of the trips does not matter (up to rounding)."""
    if sum(y is arg for y in body.yields) != (yielded is arg):
        return False
    readers = [op for op in body.ops if any(o is arg for o in ir.reads(op))]
    if yielded is arg:
        return not readers
    if not isinstance(yielded, ir.Var) or not isinstance(arg.type, types.Float) or len(readers) != 1:
        return False
    step = _step(arg, readers[0])
    return step is not None and is_sum(step, yielded, body)


def _step(arg: ir.Var, reader: ir.Op) -> ir.Var | None:
    """What a value is after the one operation that reads it, if that only adds to it."""
    if isinstance(reader, ir.If):
        if arg in reader.operands:
            return None
        # each side hands it on, maybe with something added
        slots = zip(reader.outs, reader.then.yields, reader.orelse.yields, strict=True)
        found = [out for out, yes, no in slots if is_sum(arg, yes, reader.then) and is_sum(arg, no, reader.orelse)]
        return found[0] if len(found) == 1 else None
    if sum(o is arg for o in ir.reads(reader)) != 1:
        return None
    if isinstance(reader, ir.For) and arg in reader.inits:
        slot = reader.inits.index(arg)
        inside = reader.body
        return reader.outs[slot] if is_sum(inside.args[1 + slot], inside.yields[slot], inside) else None
    if isinstance(reader, ir.Call) and reader.callee in (operator.add, operator.sub):
        return reader.outs[0] if reader.callee is operator.add or reader.args[0] is arg else None
    return None
