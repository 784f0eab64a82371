"""Which arrays a function drops before it returns, so that their memory can be kept for its next call.

In: a function. Out: the results of allocations that are empty or zero, may be large, and that no result may refer to.

    x_tape = np.empty(n); ...; return x_bar        {x_tape}
"""

from __future__ import annotations

import math

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases

# Elements up to which an array is small whatever its type.
_SMALL = 4096


def temporaries(function: ir.Function) -> frozenset[ir.Var]:
    """The allocations to make in the workspace."""
    aliases = function.analysis(Aliases)
    returned = {aliases.find(y) for y in function.body.yields if ir.is_reference(y)}
    return frozenset(
        op.out
        for op in ir.walk(function.body)
        if isinstance(op, ir.Alloc) and _is_eligible(op) and aliases.find(op.out) not in returned
    )


def _is_eligible(op: ir.Alloc) -> bool:
    own = op.out.type
    assert isinstance(own, types.Array)
    if op.fill is not None and (op.fill.value != 0 or math.copysign(1.0, op.fill.value) < 0):
        return False
    if op.like is not None:
        like = op.like.type
        return isinstance(like, types.Array) and like.layout == own.layout == "C" and like.dtype == own.dtype
    known = 1
    for extent in op.shape:
        if not isinstance(extent, ir.Const):
            return True
        known *= extent.value
    return known > _SMALL
