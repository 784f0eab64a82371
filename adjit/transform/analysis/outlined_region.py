"""Operations of a function as a function of their own, to ask about them alone.

In: a function, and some of its operations. Out: a function of all that they read.

    for level in range(4):                      def of_loop(part, half):
        half = 8 >> level                           for t in range(16): if t < half: ...
        for t in range(16): if t < half: ...

With `half` a parameter, isl knows that threads below `half` and those from there on touch other elements.
"""

from __future__ import annotations

import dataclasses

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals


def alone(function: ir.Function, *ops: ir.Op) -> ir.Function:
    """Operations as a function in which all that is made outside of them is a parameter, integers included. Views that
    they read are made in it."""
    aliases, naturals, defined = function.analysis(Aliases), function.analysis(Naturals), function.body.made
    free = ir.free_vars(ir.Region((), ops, ()))
    while views := [op for v in free if isinstance(op := defined.get(v), ir.VIEWS)]:
        ops = (*views, *ops)
        free = ir.free_vars(ir.Region((), ops, ()))
    groups: dict[ir.Operand, list[ir.Var]] = {}
    for v in free:
        if ir.is_reference(v):
            groups.setdefault(aliases.find(v), []).append(v)
    overlapping = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    counts = tuple(v for v in free if isinstance(v.type, types.Integer) and v in naturals)
    made = ir.Region(tuple(free), ops, ())
    names = tuple(v.name for v in free)
    return dataclasses.replace(
        function, names=names, params=tuple(free), body=made, result=None, counts=counts, overlapping=overlapping
    )
