"""Numbers of which a branch decides whether they count: their adjoint may be zero because nobody read them.

In: a function. Out: those numbers. Zero times an infinite or undefined partial must stay zero for them.

    s = np.sqrt(x)                          at x == 0 the partial of s is infinite, but its element is not selected
    y = np.where(x > 0.0, s, 1.0)
"""

from __future__ import annotations

import operator

from adjit.transform import ir
from adjit.transform.alias import Aliases

# the partials of these are finite whatever goes in
_BOUNDED = (operator.add, operator.sub, operator.neg, operator.pos, ir.cast, ir.select)


def selective(function: ir.Function, aliases: Aliases) -> set[ir.Var]:
    """The float results of calls that go, on numbers, into an element that some branch alone reads."""
    chosen = _read_in_branches(function.body, aliases, False)
    made = {out: op for op in ir.walk(function.body) for out in op.results}
    found: set[ir.Var] = set()
    pending = [
        op.value for op in ir.walk(function.body) if isinstance(op, ir.Store) and aliases.find(op.array) in chosen
    ]
    while pending:
        value = pending.pop()
        if not isinstance(value, ir.Var) or value in found or not ir.is_float(value.type):
            continue
        op = made.get(value)
        if isinstance(op, ir.Call) and not any(ir.is_array(a) for a in op.args):
            found.add(value)
            pending.extend(op.args)
    return found


def is_bounded(op: ir.Call) -> bool:
    return op.callee in _BOUNDED


def _read_in_branches(region: ir.Region, aliases: Aliases, inside: bool) -> set[ir.Operand]:
    found: set[ir.Operand] = set()
    for op in region.ops:
        if inside and isinstance(op, ir.Load) and ir.is_float(op.out.type):
            found.add(aliases.find(op.array))
        for inner in op.regions:
            found |= _read_in_branches(inner, aliases, inside or isinstance(op, ir.If))
    return found
