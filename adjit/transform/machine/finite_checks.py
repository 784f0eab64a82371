"""Checks that the user asks for, of each number that is made.

In: a derivative as it is emitted. Out: the same, which raises at the line of the user's that a fault belongs to.

    y = log(x)         if y != y: raise FloatingPointError("...")                    after it
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import has_nan
from adjit.transform import ir
from adjit.transform.analysis.uses import Uses


def check_finite(function: ir.Function) -> ir.Function:
    """The function with these checks: in both sweeps, of primal values and of adjoints."""
    around = function.analysis(Uses).around

    def make(op: ir.Op) -> Sequence[ir.Op]:
        # loops of a rule have the statement that it is asked for, and what is in them none of its own
        origins = [one.origin for one in (*around.get(op, ()), op) if one.origin is not None]
        b = ir.Builder(origins[-1] if origins else None)
        # a sum is looked at in each trip
        b.emit(dataclasses.replace(op, order_free=False) if isinstance(op, ir.For) and op.order_free else op)
        _check_numbers(b, op.at(b.origin))
        return b.ops

    return ir.with_body(function, ir.rewritten(function.body, make))


def _check_numbers(b: ir.Builder, op: ir.Op) -> None:
    if isinstance(op, ir.Store) and op.add and ir.is_float(op.value.type):
        value = b.load(op.array, op.index)
        _check_number(b, value, op, op.array.name if isinstance(op.array, ir.Var) else "it")
    if not isinstance(op, ir.Call):
        return
    for out in op.outs:
        if isinstance(out.type, types.Array) and ir.is_float(out.type):
            is_free = b.call(has_nan, out, type=types.boolean)
            fine = b.call(operator.not_, is_free, type=types.boolean)
            b.emit(ir.Raise(exception=FloatingPointError, args=(_nan(out.name, op),), condition=fine))
        elif isinstance(out.type, types.Float):
            _check_number(b, out, op, out.name)


def _check_number(b: ir.Builder, value: ir.Var, op: ir.Op, name: str) -> None:
    fine = b.call(operator.eq, value, value, type=types.boolean, name="is_number")
    b.emit(ir.Raise(exception=FloatingPointError, args=(_nan(name, op),), condition=fine))


def _nan(name: str, op: ir.Op) -> str:
    return _message(f"`{name}` is nan", op)


def _message(what: str, op: ir.Op) -> str:
    place = ir.place_of(op.origin)
    lines = [] if place is None else dataclasses.replace(place, column=0, end_column=0).lines()[:2]
    return "\n  ".join((what, *lines))
