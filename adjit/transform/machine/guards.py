"""Checks that the user asks for, of each element that is touched and of each number that is made.

In: a derivative as it is emitted. Out: the same, which raises at the line of the user's that a fault belongs to.

    y = x[i]           if not is_inside(i, x.shape[0]): raise IndexError("...")      before it
    y = log(x)         if y != y: raise FloatingPointError("...")                    after it
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import has_nan, is_inside
from adjit.transform import ir


def guarded(function: ir.Function, of_bounds: bool, of_nans: bool) -> ir.Function:
    """The function with these checks: in both sweeps, of primal values and of adjoints."""
    allocs = (op for op in ir.walk(function.body) if isinstance(op, ir.Alloc))
    # which have an element for each trip
    tapes = {op.out for op in allocs if op.role is not None and op.role.kind in ("tape", "snapshots")}

    def make(op: ir.Op) -> Sequence[ir.Op]:
        b = ir.Builder(op.origin)
        if of_bounds and isinstance(op, ir.Load | ir.Store) and op.array not in tapes:
            _check_index(b, op)
        # a sum is looked at in each trip
        b.emit(dataclasses.replace(op, order_free=False) if isinstance(op, ir.For) and op.order_free else op)
        if of_nans:
            _check_numbers(b, op)
        return b.ops

    return ir.with_body(function, ir.rewritten(function.body, make))


def _check_index(b: ir.Builder, op: ir.Load | ir.Store) -> None:
    array = op.array
    called = f" of `{array.name}`" if isinstance(array, ir.Var) else ""
    for axis, index in enumerate(op.index):
        fits = b.call(is_inside, index, b.extent(array, axis), type=types.boolean)
        message = _message(f"an index is out of bounds for axis {axis}{called}", op)
        b.emit(ir.Raise(exception=IndexError, args=(message,), condition=fits))


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
