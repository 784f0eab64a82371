"""Long loops that say how far they are, and are left when that is asked for.

In: a derivative as it is emitted. Out: the same, in which what comes after a loop that was left is left out, and the
results are empty arrays and zeros, which nobody gets to see: the caller raises.

    for i in range(n): ...            for i in range(n): ...; if is_stopped(12, False, i, n): break
    return x_bar                      return empty if it was left else x_bar

An exception would be shorter, but numba gives no memory back where one is raised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from numba import types

from adjit.runtime.library import is_stopped
from adjit.runtime.library.watch import QUIET
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, trip_number
from adjit.transform.ir.types import typed_const

# What a region yields where it is left, for which operations are emitted.
Otherwise = Callable[[ir.Builder], Sequence[ir.Operand]]


def poll_progress(function: ir.Function) -> ir.Function:
    """The function with its long loops watched: those with loops in them, and recurrences that are in none."""
    body = function.body
    ops, yields = _region(body.ops, body.yields, lambda b: [_empty(b, y) for y in body.yields], is_outermost=True)
    return ir.with_body(function, dataclasses.replace(body, ops=tuple(ops), yields=tuple(yields)))


def _is_watched(op: ir.Op, is_outermost: bool) -> bool:
    if not isinstance(op, ir.For | ir.While) or (isinstance(op, ir.For) and op.parallel):
        return False
    if any(isinstance(inner, ir.For | ir.While) for inner in op.body.inside):
        return True
    return is_outermost and not (isinstance(op, ir.For) and op.order_free)


def _region(
    ops: Sequence[ir.Op], yields: Sequence[ir.Operand], otherwise: Otherwise, is_outermost: bool
) -> tuple[list[ir.Op], Sequence[ir.Operand]]:
    """The operations with their loops watched, and what they yield."""
    made: list[ir.Op] = []
    for k, op in enumerate(ops):
        own, stopped = _op(op, is_outermost)
        made += own
        if stopped is not None:
            rest, ends = _region(ops[k + 1 :], yields, otherwise, is_outermost)
            builder = ir.Builder()
            left = otherwise(builder)
            outs = tuple(ir.Var(ir.name_of(y, "value"), y.type) for y in yields)
            then = ir.Region((), tuple(builder.ops), tuple(left))
            orelse = ir.Region((), tuple(rest), tuple(ends))
            return [*made, ir.If(condition=stopped, then=then, orelse=orelse, outs=outs)], outs
    return made, yields


def _op(op: ir.Op, is_outermost: bool) -> tuple[list[ir.Op], ir.Var | None]:
    """The operation, and whether it was left, if it may be."""
    if isinstance(op, ir.If) and any(_is_watched(inner, is_outermost) for inner in op.then.inside + op.orelse.inside):
        return _branch(op, is_outermost)
    if _is_watched(op, is_outermost):
        assert isinstance(op, ir.For | ir.While)
        return _loop(op, is_outermost)
    return [op], None


def _branch(op: ir.If, is_outermost: bool) -> tuple[list[ir.Op], ir.Var]:
    stopped = ir.Var("is_left", types.boolean)
    sides: list[ir.Region] = []
    for side in op.regions:

        def otherwise(b: ir.Builder, yields: Sequence[ir.Operand] = side.yields) -> Sequence[ir.Operand]:
            return [*(_empty(b, y) for y in yields), ir.boolean(True)]

        ops, yields = _region(side.ops, (*side.yields, ir.boolean(False)), otherwise, is_outermost)
        sides.append(ir.Region((), tuple(ops), tuple(yields)))
    return [op.rebuilt(op.operands, sides, (*op.outs, stopped))], stopped


def _loop(op: ir.For | ir.While, is_outermost: bool) -> tuple[list[ir.Op], ir.Var]:
    around, inside = ir.Builder(), ir.Builder()
    line = _line(op) if is_outermost else QUIET
    place: list[ir.Operand] = [ir.integer(0), ir.integer(0)]
    if isinstance(op, ir.For) and line != QUIET:
        place = [trip_number(inside, op, op.body.args[0]), count_trips(around, op)]
    is_reverse = ir.integer(int(isinstance(op, ir.For) and op.is_mirror))
    asked = inside.call(is_stopped, ir.integer(line), is_reverse, *place, type=types.boolean, name="is_left")
    inside.ops[-1] = dataclasses.replace(inside.ops[-1], effect=True)  # type: ignore[call-arg]
    stop, cut = asked, len(op.outs)
    if op.stops:
        stop = inside.call(ir.select, asked, ir.boolean(True), op.body.yields[-1], type=types.boolean, name="is_last")
    carried = ir.carried_args(op)

    def otherwise(b: ir.Builder) -> Sequence[ir.Operand]:
        return [*carried, ir.boolean(True), ir.boolean(True)]

    ops, yields = _region((*op.body.ops, *inside.ops), (*op.body.yields[:cut], asked, stop), otherwise, False)
    *kept, is_left, last = yields
    arg, out = ir.Var("was_left", types.boolean), ir.Var("is_left", types.boolean)
    in_order = dataclasses.replace(op, order_free=False) if isinstance(op, ir.For) else op
    bare = dataclasses.replace(in_order, body=dataclasses.replace(op.body, yields=(*kept, last)), stops=True)
    made = ir.with_slots(bare, [ir.Slot(ir.boolean(False), arg, is_left, out)], ops)
    return [*around.ops, made], out


def _line(op: ir.For | ir.While) -> int:
    """That of the loop, or of what is in it."""
    return next((o.origin.line for o in (op, *op.body.inside) if o.origin is not None), QUIET)


def _empty(builder: ir.Builder, like: ir.Operand) -> ir.Operand:
    """A value of the type of another that costs nothing to make."""
    if isinstance(like, ir.Const):
        return like
    out = ir.Var("empty", like.type)
    if isinstance(like.type, types.Array):
        builder.emit(ir.Alloc(shape=(ir.integer(0),) * like.type.ndim, out=out))
    elif isinstance(like.type, types.List):
        builder.emit(ir.NewTape(out=out))
    else:
        return typed_const(0, like.type)
    return out
