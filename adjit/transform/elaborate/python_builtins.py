"""Python's builtins: ranges and lengths, conversions, and sums over what they are given.

In: the values of a call. Out: a value, mostly a number.

    len(x)  the first extent          range(n)  what a loop runs over          max(a, b, 0)  two scalar calls
"""

from __future__ import annotations

import builtins
import cmath
import dataclasses
import operator
from typing import Any

import numba
import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import complexes, scalars
from adjit.transform.elaborate.elementwise import elementwise, operand, shape_of, total
from adjit.transform.elaborate.frame import Frame, LocalFunction, as_index, static_items
from adjit.transform.elaborate.handlers import Handler, bound, refused
from adjit.transform.elaborate.values import Paired, Range, Static, TupleValue, Value, is_array, is_number, ndim
from adjit.transform.marks import Checkpointed, checkpoint
from adjit.transform.types import const, is_integer


def _range(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    ends = [as_index(ctx, a, "an end of range") for a in args]
    ends = [scalars.cast(ctx, e, types.intp) for e in ends]
    if len(ends) == 1:
        ends = [ir.integer(0), *ends]
    if len(ends) == 2:
        ends = [*ends, ir.integer(1)]
    start, stop, step = ends
    return Range(start, stop, step)


def _prange(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    trips = _range(frame, args, named)
    assert isinstance(trips, Range)
    return dataclasses.replace(trips, parallel=True)


def _checkpoint(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    what, snapshots = bound(frame, "adjit.checkpoint", "what snapshots?", args, named)
    if (
        isinstance(what, Static)
        and (callable(what.value) or isinstance(what.value, LocalFunction))
        and snapshots is None
    ):
        return Static(Checkpointed(what.value))
    if not isinstance(what, Range):
        raise ctx.fail(
            errors.Unsupported,
            "adjit.checkpoint of something that is neither a range nor a function",
            "",
            "Loop over a range and index.",
        )
    if snapshots is None:
        return dataclasses.replace(what, snapshots=0)
    if not isinstance(snapshots, ir.Const) or not isinstance(snapshots.value, int) or snapshots.value < 0:
        raise ctx.fail(
            errors.Unsupported, "a number of snapshots that is not a literal", "", "Write the number, or leave it out."
        )
    return dataclasses.replace(what, snapshots=snapshots.value)


def _enumerate(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    iterable, first = bound(frame, "enumerate", "iterable start?", args, named)
    start = None if first is None else as_index(frame.ctx, first, "the start of enumerate")
    return Paired((None, iterable), start)


def _zip(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return Paired(tuple(args))


def _len(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    if isinstance(value, TupleValue):
        return ir.integer(len(value.items))
    if not is_array(value) or ndim(value) == 0:
        raise frame.ctx.fail(errors.TypeMismatch, "len of something that has no length")
    return shape_of(frame.ctx, value)[0]


def _extreme(callee: Any) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        items = list(args[0].items) if len(args) == 1 and isinstance(args[0], TupleValue) else args
        if named or len(items) < 2 or not all(is_number(i) for i in items):
            raise ctx.fail(
                errors.Unsupported,
                f"{callee.__name__} of this",
                "",
                f"Use np.{callee.__name__}, or two or more numbers.",
            )
        result = operand(ctx, items[0])
        for item in items[1:]:
            result = scalars.scalar(ctx, callee, (result, operand(ctx, item)))
        return result

    return handle


def _abs(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    if is_array(value):
        return elementwise(frame.ctx, np.absolute, (value,))
    if not is_number(value):
        raise frame.ctx.fail(errors.TypeMismatch, "abs of something that is not a number or an array")
    return scalars.scalar(frame.ctx, abs, (operand(frame.ctx, value),))


def _to_number(kind: types.Type) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        (value,) = args
        if is_array(value) and ndim(value) == 0:
            value = frame.ctx.builder.load(operand(frame.ctx, value), ())
        if not is_number(value):
            raise frame.ctx.fail(errors.TypeMismatch, f"{kind} of something that is not a number")
        number = operand(frame.ctx, value)
        if isinstance(kind, types.Boolean):
            return scalars.truth(frame.ctx, number)
        if is_integer(kind) and isinstance(number.type, types.Float):
            return scalars.scalar(frame.ctx, int, (number,))
        return scalars.cast(frame.ctx, number, kind)

    return handle


def _complex(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    parts = [operand(ctx, a) for a in args]
    return complexes.make(ctx, *parts)


def _complex_function(name: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        return complexes.function(frame.ctx, name, complexes.promote(frame.ctx, args[0]))

    return handle


def _round(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if not all(is_number(a) for a in args) or named:
        raise ctx.fail(errors.TypeMismatch, "round of something that is not a number", "", "Use np.round for arrays.")
    return scalars.scalar(ctx, round, [operand(ctx, a) for a in args])


def _tuple_builtin(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    return TupleValue(static_items(frame.ctx, value, "the argument of tuple"))


def _sum_builtin(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    value, *rest = args
    if is_array(value):
        if ndim(value) != 1:
            raise ctx.fail(errors.Unsupported, "Python's sum of an array of rank above 1", "", "Use np.sum.")
        result: Value = total(ctx, value)
        return scalars.scalar(ctx, operator.add, (operand(ctx, rest[0]), operand(ctx, result))) if rest else result
    items = static_items(ctx, value, "the argument of sum")
    accumulated = operand(ctx, rest[0]) if rest else const(0)
    for item in items:
        accumulated = scalars.scalar(ctx, operator.add, (accumulated, operand(ctx, item)))
    return accumulated


PYTHON_BUILTINS: dict[Any, Handler] = {
    range: _range,
    numba.prange: _prange,
    checkpoint: _checkpoint,
    enumerate: _enumerate,
    zip: _zip,
    len: _len,
    max: _extreme(max),
    min: _extreme(min),
    abs: _abs,
    float: _to_number(types.float64),
    int: _to_number(types.intp),
    bool: _to_number(types.boolean),
    complex: _complex,
    round: _round,
    tuple: _tuple_builtin,
    list: refused("a list built at run time", "Use an array."),
    dict: refused("a dictionary", "Use variables or arrays."),
    print: refused("print inside a differentiated function", "Take it out; ADJIT_DUMP=1 prints what is compiled."),
    builtins.sum: _sum_builtin,
    cmath.exp: _complex_function("exp"),
    cmath.phase: _complex_function("angle"),
}
