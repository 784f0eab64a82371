"""Rules as operations of the IR: the body of a rule is elaborated like the user's code, into the builder of a pass.

In: a rule and the operands of a call. Out: the values that the rule returns.

    apply(ctx, lambda a, b, *, c: (b, a), (%a, %b), (%c,))   ->   [%b, %a]
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from numba import types

from adjit.errors import InternalError, NoRule
from adjit.transform import ir
from adjit.transform.elaborate.entry import BuildDerivative, new_context
from adjit.transform.elaborate.values.elementwise import materialise
from adjit.transform.elaborate.values.frame import Context
from adjit.transform.elaborate.values.values import Lazy, TupleValue, Value
from adjit.transform.ir.types import typed_const
from adjit.transform.source.callables import spoken


def context(builder: ir.Builder, build: BuildDerivative) -> Context:
    """A context that emits into `builder`."""
    ctx = new_context(build)
    ctx.builder = builder
    return ctx


def keyword_only(rule: Any) -> list[str]:
    return [p.name for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY]


def result_value(outs: Sequence[ir.Operand]) -> Value:
    return outs[0] if len(outs) == 1 else TupleValue(tuple(outs))


def apply(
    ctx: Context, rule: Any, args: Sequence[Value], outs: Sequence[ir.Operand], bar: Value | None = None
) -> list[Value]:
    """What a rule returns on these arguments, results and (in an adjoint or transpose) adjoint of the result."""
    named: dict[str, Value] = {}
    for name in keyword_only(rule):
        if name.endswith("_bar"):
            if bar is None:
                raise InternalError(f"the rule {rule.__name__} asks for an adjoint where there is none")
            named[name] = bar
        else:
            named[name] = result_value(outs)
    value = ctx.inline(rule, args, named, True, True)
    return list(value.items) if isinstance(value, TupleValue) else [value]


def operands_of(values: Sequence[Value]) -> list[ir.Operand]:
    found: list[ir.Operand] = []
    for v in values:
        if not isinstance(v, ir.Var | ir.Const):
            raise InternalError("a partial is not a number")
        found.append(v)
    return found


def zero_like(array: ir.Operand, ctx: Context) -> Value:
    """The tangent of an argument that is not active."""
    if isinstance(array.type, types.Array):
        dtype = array.type.dtype
        return Lazy(ctx.shape(array), dtype, lambda index: typed_const(0, dtype), ())
    return typed_const(0, array.type)


def tangent_body(
    builder: ir.Builder,
    rule: Any,
    args: Sequence[ir.Operand],
    dots: dict[int, Value],
    outs: Sequence[ir.Operand],
    build: Any,
) -> list[Value]:
    """The tangents of the results; arguments without one in `dots` are held fixed."""
    ctx = context(builder, build)
    parameters = [p.name for p in inspect.signature(rule).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    named: dict[str, Value] = {}
    positions = {name: k for k, name in enumerate(parameters) if not name.endswith("_dot")}
    for name, k in positions.items():
        if k < len(args):
            named[name] = args[k]
        dot = f"{name}_dot"
        if dot in parameters and k < len(args):
            given = named[dot] = dots[k] if k in dots else zero_like(args[k], ctx)
            if isinstance(given, ir.Var) and isinstance(given.type, types.Array):
                ctx.new_array(given, ctx.shape(args[k]))
    for name in keyword_only(rule):
        named[name] = result_value(outs)
    value = ctx.inline(rule, (), named, True, True)
    values = list(value.items) if isinstance(value, TupleValue) else [value]
    return [materialise(ctx, v) for v in values]


def no_rule(op: ir.Call, depends_on: str) -> NoRule:
    """The error for a call that active values go into but no rule belongs to."""
    name = spoken(op.callee)
    why = (
        f"It depends on {depends_on}, which you differentiate."
        if depends_on
        else "It depends on what you differentiate."
    )
    instead = f"Either write a rule:  @adjit.rules.tangent({name})    or hold it fixed:  adjit.stop_gradient(...)"
    return NoRule(f"{name} has no derivative rule", ir.place_of(op.origin), why, instead)


def pure_operations_for(ops: Sequence[ir.Op], used: Sequence[ir.Operand]) -> list[ir.Op]:
    """Those of some pure operations that the operands used are made of."""
    wanted = {u for u in used if isinstance(u, ir.Var)}
    kept: list[ir.Op] = []
    for op in reversed(ops):
        if any(r in wanted for r in op.results):
            kept.append(op)
            wanted.update(o for o in ir.reads(op) if isinstance(o, ir.Var))
    return kept[::-1]
