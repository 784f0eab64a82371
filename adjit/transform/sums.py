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
    if yielded is arg:
        return not any(arg in ir.reads(op) for op in body.ops)
    if not isinstance(yielded, ir.Var) or not isinstance(arg.type, types.Float):
        return False
    made = {out: op for op in body.ops for out in op.results}
    readers = [op for op in body.ops if any(o is arg for o in ir.reads(op))]
    if len(readers) != 1 or sum(o is arg for o in ir.reads(readers[0])) != 1:
        return False
    if sum(y is yielded for y in body.yields) != 1 or any(y is arg for y in body.yields):
        return False
    (reader,) = readers
    step: ir.Var
    if isinstance(reader, ir.For) and arg in reader.inits:
        slot = reader.inits.index(arg)
        if not is_sum(reader.body.args[1 + slot], reader.body.yields[slot], reader.body):
            return False
        step = reader.outs[slot]
    elif isinstance(reader, ir.Call) and (
        reader.callee is operator.add or (reader.callee is operator.sub and reader.args[0] is arg)
    ):
        step = reader.outs[0]
    elif isinstance(reader, ir.If) and arg not in reader.operands:
        sides = [k for k, y in enumerate(reader.then.yields) if arg in (y, reader.orelse.yields[k])]
        if len(sides) != 1:
            return False
        step = reader.outs[sides[0]]
    else:
        return False
    return step is yielded or (step in made and is_sum(step, yielded, body))
