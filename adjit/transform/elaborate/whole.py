"""Calls that stay calls: matrix products, solves, sorts and everything else that numba has and no loop is written for.

    whole_call(ctx, np.linalg.solve, (%A, %b))  ->  %x, an array of the type that numba infers
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from numba import njit, types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.frame import Context
from adjit.transform.elaborate.scalars import name_of
from adjit.transform.elaborate.values import Static, TupleValue, Value
from adjit.transform.types import call_type


@functools.cache
def compiled(callee: Any) -> Any:
    """What numba can call: a plain Python function as a dispatcher."""
    return njit(callee) if isinstance(callee, FunctionType) else callee


def whole_call(ctx: Context, callee: Any, args: Sequence[ir.Operand], name: str = "", effect: bool = False) -> Value:
    """A call on whole arrays (or numbers); tuples of results come back as such."""
    callee = callee if call_type(callee, tuple(a.type for a in args)) is not None else compiled(callee)
    type_ = call_type(callee, tuple(a.type for a in args))
    if type_ is None:
        shown = ", ".join(str(a.type) for a in args)
        raise ctx.fail(errors.TypeMismatch, f"numba cannot type {getattr(callee, '__name__', callee)}({shown})")
    name = name or name_of(callee)
    parts = list(type_.types) if isinstance(type_, types.BaseTuple) else [type_]
    if type_ == types.none:
        ctx.builder.emit(ir.Call(callee=callee, args=tuple(args), outs=(), effect=True))
        return Static(None)
    outs = tuple(ir.Var(name if len(parts) == 1 else f"{name}_{k}", types.unliteral(t)) for k, t in enumerate(parts))
    for out in outs:
        if not isinstance(out.type, types.Array | types.Number | types.Boolean):
            raise ctx.fail(errors.Unsupported, f"{name} returns {out.type}", "Only numbers, arrays and tuples of them are taken.")
    ctx.builder.emit(ir.Call(callee=callee, args=tuple(args), outs=outs, effect=effect))
    for out in outs:
        if isinstance(out.type, types.Array):
            ctx.new_array(out)
    return TupleValue(outs) if isinstance(type_, types.BaseTuple) else outs[0]
