"""Loops whose trips are independent run upwards, whatever way the reverse sweep would take them.

In: a function. Out: the same with such loops turned round. A loop that goes down is rarely vectorised.

    for i in range(n - 2, 0, -1):        for i in range(1, n - 1):
        x_bar[i] += a * y_bar[i]             x_bar[i] += a * y_bar[i]
"""

from __future__ import annotations

import dataclasses

from adjit.transform import ir
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.loop_dependences import LoopDependences
from adjit.transform.rewrite.affine_ops import Writer


def ascending(function: ir.Function) -> ir.Function:
    """The function with independent loops that go down by ones turned round, all of a nest or none."""
    loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and _is_descending(op)]
    if not loops:
        return function
    model, sharings = function.analysis(IndexModel), LoopDependences(function)
    turned: dict[ir.Op, list[ir.Op]] = {}
    for loop in reversed(loops):
        inside = loop.body.inside
        # a loop that adds to one element again and again is not vectorised either way
        is_inner = not any(isinstance(op, ir.For | ir.While) for op in inside)
        if any(_is_descending(op) and op not in turned for op in inside):
            continue
        bounds = model.iterations.bounds(loop)
        if bounds is not None and sharings.are_independent(loop, but_for_sums=not is_inner):
            writer = Writer(loop.origin)
            start, stop = (writer.integer(end) for end in bounds)
            made = dataclasses.replace(loop, start=start, stop=stop, step=ir.integer(1))
            turned[loop] = [*writer.ops, made]
    return ir.with_body(function, ir.replaced(function.body, turned))


def _is_descending(op: ir.Op) -> bool:
    return isinstance(op, ir.For) and op.step == ir.integer(-1)
