"""The functions and methods that the compiler itself writes as IR: the tables of them, and sums and choices.

In: a callee or the name of a method. Out: what emits its operations.

    np.sum(x)  a loop          np.where(c, x, y)  a branch in each element          np.any(x)  a loop that may end early
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.creation import CREATION
from adjit.transform.elaborate.elementwise import as_lazy, elementwise, operand, store_all, total, where
from adjit.transform.elaborate.frame import Frame
from adjit.transform.elaborate.handlers import Handler, axis_argument, bound, identity, refused, taken
from adjit.transform.elaborate.operators import binary as by_operator
from adjit.transform.elaborate.operators import both, either, truth
from adjit.transform.elaborate.python_builtins import PYTHON_BUILTINS
from adjit.transform.elaborate.shaping import SHAPING, SHAPING_METHODS
from adjit.transform.elaborate.values import Static, Value, is_array, is_complex, is_number, ndim
from adjit.transform.elaborate.whole import whole_call


def _sum(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, axis = bound(frame, "np.sum", "a:array axis?", args, named)
    assert value is not None
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return total(ctx, value)
    place = axis_argument(frame, "np.sum", axis, ndim(value))
    return total(ctx, value) if ndim(value) == 1 else total(ctx, value, place)


def _where(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if len(args) != 3 or named:
        raise frame.ctx.fail(
            errors.Unsupported, "np.where with one argument", "", "Use the three-argument form, or a mask as an index."
        )
    condition, yes, no = (taken(frame, "np.where", "value", a) for a in args)
    return where(frame.ctx, condition, yes, no)


def _any_all(name: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        (value,) = bound(frame, f"np.{name}", "a:array", args, named)
        assert value is not None
        lazy = as_lazy(ctx, value)
        combine = either if name == "any" else both
        return ctx.reduce(
            lazy.shape,
            ir.boolean(name == "all"),
            lambda index, found: combine(frame, found, lambda: truth(frame, lazy.element(index))),
            f"{name}_true",
        )

    return handle


def _dot(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    left, right, out = bound(frame, "np.dot", "a:value b:value out:array?", args, named)
    assert left is not None
    assert right is not None
    if is_complex(left) or is_complex(right):
        return by_operator(frame, operator.matmul if is_array(left) and is_array(right) else operator.mul, left, right)
    if is_number(left) or is_number(right):
        return (
            elementwise(ctx, operator.mul, (left, right))
            if is_array(left) or is_array(right)
            else scalars.scalar(ctx, operator.mul, (operand(ctx, left), operand(ctx, right)))
        )
    product = whole_call(ctx, np.dot, (operand(ctx, left), operand(ctx, right)), "product")
    if out is None:
        return product
    assert isinstance(out, ir.Var)
    store_all(ctx, out, product)
    return out


INTRINSICS: dict[Any, Handler] = {
    **CREATION,
    **SHAPING,
    **PYTHON_BUILTINS,
    np.sum: _sum,
    np.where: _where,
    np.any: _any_all("any"),
    np.all: _any_all("all"),
    np.dot: _dot,
    np.real: identity,
    np.conj: identity,
}

METHODS: dict[str, Handler] = {
    **SHAPING_METHODS,
    "sum": _sum,
    "dot": _dot,
    "any": _any_all("any"),
    "all": _any_all("all"),
    "conj": identity,
    "conjugate": identity,
    "view": refused("the array method `view`", "Use astype, which converts."),
    "sort": refused("sorting in place", "Use np.sort, which returns a sorted copy."),
}
