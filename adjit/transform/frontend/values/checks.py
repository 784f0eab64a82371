"""Checks that a program makes when it runs; their errors name the user's line.

In: extents, or conditions. Out: operations, and the extent that two axes share.

    z = a @ x        equal_extent(a.shape[1], x.size, where="...")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import types

from adjit.runtime.library import equal_extent, equal_size, some_elements
from adjit.transform import ir
from adjit.transform.frontend.values.frame import Context


def is_checked(ctx: Context) -> bool:
    """Whether checks of shapes are made that name a line: not in kernels, which cannot raise errors."""
    return ctx.kernel is None and ctx.is_program


def require(ctx: Context, holds: ir.Operand, error: type[Exception], said: str) -> None:
    """An error of the program, unless the condition holds."""
    if holds != ir.boolean(True):
        said = ir.said_at(ctx.builder.origin, said)
        ctx.builder.emit(ir.Raise(exception=error, args=(said,), condition=holds))


def emit_check(ctx: Context, check: Any, *args: ir.Operand, what: str) -> None:
    """A check that gives nothing; `what`: what its error says in front of the place."""
    where = (("where", ir.said_at(ctx.builder.origin, what)),)
    ctx.builder.emit(ir.Call(callee=check, args=args, outs=(), options=where, effect=True))


def fitting_extent(
    ctx: Context, check: Any, left: ir.Operand, right: ir.Operand, what: str, effect: bool = True
) -> ir.Var:
    """The extent that `check` has of two; what: what is said of them if they do not fit."""
    where = (("where", ir.said_at(ctx.builder.origin, what)),) if is_checked(ctx) else ()
    out = ir.Var("n", types.intp)
    ctx.builder.emit(ir.Call(callee=check, args=(left, right), outs=(out,), options=where, effect=effect))
    return out


def require_equal(ctx: Context, left: ir.Operand, right: ir.Operand, what: str) -> None:
    """Axes of one length."""
    if left != right:
        fitting_extent(ctx, equal_extent, left, right, what)


def require_elements(ctx: Context, shape: Sequence[ir.Operand], what: str) -> None:
    """Axes with elements. Code that compiles for equal lengths leaves this to what is called."""
    for extent in shape:
        if not isinstance(extent, ir.Const):
            emit_check(ctx, some_elements, extent, what=what)


def require_size(ctx: Context, left: ir.Operand, right: ir.Operand, what: str) -> None:
    """Sizes that are equal. Code that compiles for equal lengths leaves this to what is called."""
    if left != right:
        emit_check(ctx, equal_size, left, right, what=what)
