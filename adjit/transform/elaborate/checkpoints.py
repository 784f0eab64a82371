"""Calls of functions that are checkpointed: as a loop of one trip, which the reverse sweep runs again.

In: the call. Out: its value, which leaves the loop as what it carries.

    y = checkpoint(layer)(x, w)      for once in checkpoint(range(1)): y = layer(x, w)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.elaborate.control import CHECKPOINTED, Trips, carried_loop
from adjit.transform.elaborate.values.elementwise import materialise
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.values import Value, leaves_of


def checkpointed(frame: Frame, call: Callable[[], Value]) -> Value:
    """The value of a call whose trip back makes it again."""
    ctx = frame.ctx
    outer = ctx.builder.origin

    def body() -> Sequence[ir.Operand]:
        value = materialise(ctx, call(), "result")
        fresh = (op for op in ctx.builder.ops if isinstance(op, ir.Alloc | ir.Copy | ir.Call))
        made = {out for op in fresh for out in op.results}
        for leaf in leaves_of(value):
            if isinstance(leaf.type, types.Array) and leaf not in made:
                raise ctx.unsupported(
                    "a checkpointed call that returns an array which it did not make itself",
                    "Return a copy, or write into an argument and return nothing.",
                    why="Run again, it would return another one.",
                )
        frame.env[CHECKPOINTED] = value
        ctx.builder.origin = outer
        return ()

    def build(trips: Trips) -> ir.Op:
        return ir.For(
            stop=ir.integer(1),
            inits=trips.inits,
            body=trips.body(ir.Var("once", types.intp)),
            outs=trips.outs,
            snapshots=1,
            origin=outer,
        )

    carried_loop(frame, (CHECKPOINTED,), body, build)
    return frame.env.pop(CHECKPOINTED)
