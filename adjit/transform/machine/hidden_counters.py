"""Loops that run downwards around loops that the compiler behind us vectorises.

In: a function, as it will be emitted. Out: the same, where such a loop hides its counter.

    for t in range(n - 1, -1, -1):       for t in range(n - 1, -1, -1):
        for i in range(m):                   t = opaque(t)
            x_bar[t, i] += ...               for i in range(m):
                                                 x_bar[t, i] += ...

LLVM tests whether arrays overlap before it runs a loop as vectors. It makes the test once, before the loop around that
one, if it can tell which elements that touches as a whole; but where their address falls from trip to trip, the test
that it makes there never holds, and everything runs one element at a time. Where it cannot tell, it tests in each trip
of the outer loop, and all is well: twice as fast.
"""

from __future__ import annotations

import dataclasses

from adjit.runtime.library import opaque
from adjit.transform import ir


def hide_counters(function: ir.Function) -> ir.Function:
    """The function with counters hidden where that pays; the same object if there are none."""
    body = ir.rewritten(function.body, _op)
    return ir.with_body(function, body)


def _op(op: ir.Op) -> ir.Op:
    return _hidden(op) if isinstance(op, ir.For) and _runs_down(op) and _has_vectors(op) else op


def _runs_down(loop: ir.For) -> bool:
    return isinstance(loop.step, ir.Const) and bool(loop.step.value < 0)


def _has_vectors(loop: ir.For) -> bool:
    """Whether a loop just inside, that may run as vectors, stores something, and the counter says into what."""
    moving: set[ir.Operand] = {loop.body.args[0]}
    for op in ir.walk(loop.body):
        if isinstance(op, (ir.Call, *ir.VIEWS)) and any(o in moving for o in op.operands):
            moving.update(op.results)
    return any(_moves(inner, moving) for inner in _just_inside(loop.body))


def _just_inside(region: ir.Region) -> list[ir.For]:
    """The loops of a region that no other loop in it is around."""
    found: list[ir.For] = []
    for op in region.ops:
        if isinstance(op, ir.For):
            found.append(op)
        elif isinstance(op, ir.If):
            found += [loop for side in op.regions for loop in _just_inside(side)]
    return found


def _moves(inner: ir.For, moving: set[ir.Operand]) -> bool:
    ops = inner.body.inside
    if inner.step != ir.integer(1) or any(isinstance(op, ir.For | ir.While) for op in ops):
        return False
    touched = [op for op in ops if isinstance(op, ir.Load | ir.Store)]
    is_stored = any(isinstance(op, ir.Store) for op in touched)
    return is_stored and any(o in moving for op in touched for o in (op.array, *op.index))


def _hidden(loop: ir.For) -> ir.For:
    counter = loop.body.args[0]
    hidden = dataclasses.replace(counter)
    hide = ir.Call(callee=opaque, args=(counter,), outs=(hidden,), origin=None)
    mapping: dict[ir.Var, ir.Operand] = {counter: hidden}
    ops = (hide, *(ir.substituted(op, mapping) for op in loop.body.ops))
    yields = tuple(ir.substituted_operand(y, mapping) for y in loop.body.yields)
    return dataclasses.replace(loop, body=ir.Region(loop.body.args, ops, yields))
