"""What a user who writes prange says of a store: that no other trip touches the element.

In: the body of a loop over prange. Out: the same, without that of arrays that a trip makes for itself: they may become
one array of all trips, and nobody said anything about that one.

    for i in prange(n):
        y[order[i]] = x[i]          promised
        s = np.empty(2)
        s[k[i]] = x[i]              nothing said
        h[k[i]] += x[i]             nothing said: many who write this mean the sum
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from adjit.transform import ir


def without_own_promises(body: ir.Region) -> ir.Region:
    def made(op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Store) and op.promised and _base(op.array, body.made) in body.defines:
            return dataclasses.replace(op, promised=False)
        return op

    return ir.rewritten(body, made)


def _base(array: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> ir.Operand:
    """The array that a view made in the body looks into."""
    while isinstance(array, ir.Var) and isinstance(view := made.get(array), ir.VIEWS):
        array = view.base
    return array
