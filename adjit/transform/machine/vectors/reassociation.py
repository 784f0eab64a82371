"""Sums of adjoints and of array statements, such that the compiler may add them up in any order, and so as vectors.

In: a function, as it will be emitted. Out: the same, with such sums.

    for i in range(n):                       for i in range(n):
        y_bar[i] = k * x_bar[i]                  y_bar[i] = k * x_bar[i]
        k_bar += y[i] * x_bar[i]                 k_bar = reassociable_add(k_bar, y[i] * x_bar[i])

Values that the user's own loops add up keep their bits (`order_sensitive.py`): the order is that of the program. A
loop in which something else stands in the way of vectors stays as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.order_sensitive import Reach
from adjit.transform.analysis.sums import in_any_order, partial_sums
from adjit.transform.machine.vectors.elementary import are_vectorisable, is_elementary
from adjit.transform.machine.vectors.recurrence import Recurrence


def reassociate(function: ir.Function, values: Collection[int], vectormath: bool) -> ir.Function:
    """The function with such sums; the results at the positions `values` keep all their bits."""
    loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and _may_be(op, vectormath)]
    if not loops:
        return function
    aliases = function.analysis(Aliases)
    reach, naturals = Reach(function, aliases, values), function.analysis(Naturals)
    made: dict[ir.Op, tuple[ir.Op]] = {}
    for loop in loops:
        names = {v for chain in _chains(loop) if not reach.is_ordered(loop, chain) for v in chain}
        if not names:
            continue
        body = ir.with_ops(loop.body, [in_any_order(op, names) for op in loop.body.ops])
        reordered = dataclasses.replace(loop, body=body)
        is_plain = loop.step == ir.integer(1) and naturals.counts(loop)
        rest = Recurrence(reordered, aliases.find, is_plain)
        # what is left of a recurrence gets a loop of its own where there are functions to vectorise
        has_strips = rest.free and any(map(is_elementary, ir.walk(loop.body)))
        # arrays that may be one, as two that change places, are told apart when the loop is run
        if rest.is_empty or has_strips or Recurrence(reordered, lambda array: array, is_plain).is_empty:
            made[loop] = (reordered,)
    return dataclasses.replace(function, body=ir.replaced(function.body, made)) if made else function


def in_program_order(function: ir.Function) -> ir.Function:
    """The function with the sums of its array statements in the order in which its loops stand."""

    def made(op: ir.Op) -> ir.Op:
        is_sum = isinstance(op, ir.For) and op.order_free and any(ir.is_float(out.type) for out in op.outs)
        return dataclasses.replace(op, order_free=False) if isinstance(op, ir.For) and is_sum else op

    return ir.with_body(function, ir.rewritten(function.body, made))


def _may_be(loop: ir.For, vectormath: bool) -> bool:
    """Whether an innermost loop carries floats, and does nothing that vectors cannot."""
    inside = loop.body.inside
    if loop.stops or loop.parallel or not any(ir.is_float(arg.type) for arg in loop.body.args[1:]):
        return False
    if any(isinstance(op, ir.For | ir.While | ir.Raise) for op in inside):
        return False
    return are_vectorisable(loop.body.ops) and (vectormath or not any(map(is_elementary, inside)))


def _chains(loop: ir.For) -> list[set[ir.Var]]:
    """What the sums of the loop are called on their way through a trip."""
    found = [partial_sums(s.arg, s.yielded, loop.body) for s in loop.slots if ir.is_float(s.arg.type)]
    return [{v for v in chain if isinstance(v, ir.Var)} for chain in found if chain is not None]
