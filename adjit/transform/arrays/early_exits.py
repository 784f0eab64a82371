"""Loops that are left early and whose trips are to be run again, as loops that make all their trips.

In: a function. Out: the same, with checkpointed loops of which it is known before them how many trips they make.

    for t in checkpoint(range(n)):          is_over = False
        x = step(x)                         for t in checkpoint(range(n)):
        if x > 1.0: break                       if not is_over: x = step(x); is_over = x > 1.0
"""

from __future__ import annotations

import dataclasses

from numba import types

from adjit.transform import ir


def make_all_trips(function: ir.Function) -> ir.Function:
    """Marked loops without an early end."""
    body = ir.rewritten(function.body, _op)
    return ir.with_body(function, body)


def _op(op: ir.Op) -> ir.Op:
    return _to_the_end(op) if isinstance(op, ir.For) and op.stops and op.snapshots is not None else op


def _to_the_end(loop: ir.For) -> ir.For:
    counter, *args = loop.body.args
    is_over, out = ir.Var("is_over", types.boolean), ir.Var("is_over", types.boolean)
    results = tuple(dataclasses.replace(arg) for arg in (*args, is_over))
    trip = ir.If(
        condition=is_over,
        then=ir.Region((), (), (*args, is_over)),
        orelse=ir.Region((), loop.body.ops, loop.body.yields),
        outs=results,
        origin=loop.origin,
    )
    return dataclasses.replace(
        loop,
        inits=(*loop.inits, ir.boolean(False)),
        body=ir.Region((counter, *args, is_over), (trip,), results),
        outs=(*loop.outs, out),
        stops=False,
    )
