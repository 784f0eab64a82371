"""Python's builtins: ranges and lengths, conversions, and sums over what they are given; what a loop runs over.

In: the values of a call, or the value after `in`. Out: a value, mostly a number; or a range, and a function from its
counter to the value, or all items, where they are known when the code is compiled.

    len(x)  the first extent          max(a, b, 0)  two scalar calls
    for x, k in zip(a, range(3, n))   range(min(len(a), n - 3));  counter i  ->  (a[i], 3 + i)
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.elaborate import indexing
from adjit.transform.elaborate.operators import binary
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.arrays import shape_of
from adjit.transform.elaborate.values.choices import functions_in
from adjit.transform.elaborate.values.elementwise import elementwise, materialise, operand, total
from adjit.transform.elaborate.values.frame import Context, Frame, as_index, static_items, wrap
from adjit.transform.elaborate.values.handlers import Handler, operands_of, refused, takes
from adjit.transform.elaborate.values.values import (
    Complex,
    Number,
    OneOf,
    Paired,
    Range,
    Static,
    TupleValue,
    Value,
    described,
    elements,
    is_array,
    is_number,
    is_numeric,
    ndim,
)
from adjit.transform.ir.types import const, is_integer
from adjit.transform.source.marks import Checkpointed, checkpoint


def _range(frame: Frame, args: list[Value], named: dict[str, Value]) -> Range:
    ctx = frame.ctx
    given = operands_of(frame, "range", args, named, 3)
    ends = [scalars.cast(ctx, as_index(ctx, a, "an end of range"), types.intp) for a in given]
    if len(ends) == 1:
        ends = [ir.integer(0), *ends]
    start, stop, step = (*ends, ir.integer(1))[:3]
    return Range(start, stop, step)


def _prange(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return dataclasses.replace(_range(frame, args, named), parallel=True)


def _checkpoint(frame: Frame, what: Value, snapshots: Value | None) -> Value:
    ctx = frame.ctx
    functions = functions_in(what) if snapshots is None else ()
    marked = tuple(Static(Checkpointed(function.value)) for function in functions)
    if isinstance(what, OneOf) and marked:
        return OneOf(marked, what.which)
    if marked:
        return marked[0]
    if not isinstance(what, Range):
        raise ctx.unsupported(
            "adjit.checkpoint of something that is neither a range nor a function", "Loop over a range and index."
        )
    if snapshots is None:
        return dataclasses.replace(what, snapshots=0)
    if not isinstance(snapshots, ir.Const) or not isinstance(snapshots.value, int) or snapshots.value < 0:
        raise ctx.unsupported("a number of snapshots that is not a literal", "Write the number, or leave it out.")
    return dataclasses.replace(what, snapshots=snapshots.value)


def _enumerate(frame: Frame, iterable: Value, first: Value | None) -> Value:
    return Paired((None, iterable), None if first is None else as_index(frame.ctx, first, "the start of enumerate"))


def _zip(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return Paired(tuple(args))


def _len(frame: Frame, value: Value) -> Value:
    if isinstance(value, TupleValue):
        return ir.integer(len(value.items))
    if not is_array(value) or ndim(value) == 0:
        what = described(value) if not is_array(value) else "an array of rank 0"
        raise frame.ctx.mismatch(f"len of {what}", "Give it an array or a tuple.")
    return shape_of(frame.ctx, value)[0]


def _extreme(callee: Any) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        items = list(args[0].items) if len(args) == 1 and isinstance(args[0], TupleValue) else args
        if named or len(items) < 2 or not all(is_number(i) for i in items):
            raise ctx.unsupported(f"{callee.__name__} of this", f"Use np.{callee.__name__}, or two or more numbers.")
        result = operand(ctx, items[0])
        for item in items[1:]:
            result = scalars.scalar(ctx, callee, (result, operand(ctx, item)))
        return result

    return handle


def _abs(frame: Frame, value: Value) -> Value:
    if not is_numeric(value):
        raise frame.ctx.mismatch(f"abs of {described(value)}", "Give a number or an array.")
    if is_array(value):
        return elementwise(frame.ctx, np.absolute, (value,))
    return scalars.scalar(frame.ctx, abs, (operand(frame.ctx, value),))


def _to_number(name: str, kind: types.Type) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        items = [frame.ctx.builder.load(operand(frame.ctx, a), ()) if is_array(a) and ndim(a) == 0 else a for a in args]
        (number,) = operands_of(frame, name, items, named, 1)
        if isinstance(kind, types.Boolean):
            return scalars.truth(frame.ctx, number)
        if is_integer(kind) and isinstance(number.type, types.Float):
            return scalars.scalar(frame.ctx, int, (number,))
        return scalars.cast(frame.ctx, number, kind)

    return handle


def _complex(frame: Frame, real: Number | None, imag: Number | None) -> Value:
    ctx = frame.ctx
    real = const(0.0) if real is None else real
    if imag is None:
        return complexes.promote(ctx, real)
    if not isinstance(real, Complex) and not isinstance(imag, Complex):
        return complexes.make(ctx, real, imag)
    return binary(frame, operator.add, real, binary(frame, operator.mul, wrap(ctx, 1j), imag))


def _round(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if any(is_array(a) for a in args):
        raise ctx.mismatch("round of an array", "Use np.round for arrays.")
    return scalars.scalar(ctx, round, operands_of(frame, "round", args, named, 2))


def _tuple_builtin(frame: Frame, value: Value) -> Value:
    return TupleValue(static_items(frame.ctx, value, "the argument of tuple"))


def _sum_builtin(frame: Frame, value: Value, start: ir.Operand | None) -> Value:
    ctx = frame.ctx
    if is_array(value):
        if ndim(value) != 1:
            raise ctx.unsupported("Python's sum of an array of rank above 1", "Use np.sum.")
        result = total(ctx, value)
        return result if start is None else scalars.scalar(ctx, operator.add, (start, operand(ctx, result)))
    accumulated: Value = const(0) if start is None else start
    for item in static_items(ctx, value, "the argument of sum"):
        accumulated = binary(frame, operator.add, accumulated, item)
    return accumulated


PYTHON_BUILTINS: dict[Any, Handler] = {
    range: _range,
    numba.prange: _prange,
    checkpoint: takes("adjit.checkpoint", "what snapshots?", _checkpoint),
    enumerate: takes("enumerate", "iterable start?", _enumerate),
    zip: _zip,
    len: takes("len", "obj", _len),
    max: _extreme(max),
    min: _extreme(min),
    abs: takes("abs", "x", _abs),
    float: _to_number("float", types.float64),
    int: _to_number("int", types.intp),
    bool: _to_number("bool", types.boolean),
    complex: takes("complex", "real:scalar? imag:scalar?", _complex),
    round: _round,
    tuple: takes("tuple", "iterable", _tuple_builtin),
    list: refused("a list built at run time", "Use an array."),
    dict: refused("a dictionary", "Use variables or arrays."),
    print: refused("print inside a differentiated function", "Take it out; ADJIT_DUMP=1 prints what is compiled."),
    builtins.sum: takes("sum", "iterable start:number?", _sum_builtin),
}


# ------------------------------------------------------------------------------------------------ what a loop runs over


def iteration(frame: Frame, iterated: Value) -> tuple[Range, Callable[[ir.Operand], Value]]:
    """The range a loop runs over, and what its target is bound to at a counter."""
    if isinstance(iterated, Range):
        return iterated, lambda counter: counter
    trips = Range(ir.integer(0), _length(frame, iterated), ir.integer(1))
    return trips, lambda counter: _item(frame, iterated, counter)


def _length(frame: Frame, iterated: Value) -> ir.Operand:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        lengths = [_length(frame, p) for p in iterated.parts if p is not None]
        shortest = lengths[0]
        for other in lengths[1:]:
            shortest = shortest if other == shortest else scalars.scalar(ctx, min, (shortest, other), "n")
        return shortest
    if isinstance(iterated, Range):
        span = scalars.scalar(ctx, operator.sub, (iterated.stop, iterated.start))
        ahead = scalars.scalar(ctx, operator.add, (span, iterated.step))
        sign = complexes.branch(
            ctx, scalars.scalar(ctx, operator.gt, (iterated.step, ir.integer(0))),
            lambda: ir.integer(-1), lambda: ir.integer(1), "sign",
        )  # fmt: skip
        ahead = scalars.scalar(ctx, operator.add, (ahead, sign))
        count = scalars.scalar(ctx, operator.floordiv, (ahead, iterated.step))
        return scalars.scalar(ctx, max, (count, ir.integer(0)), "n")
    if isinstance(iterated, TupleValue):
        return ir.integer(len(iterated.items))
    if is_array(iterated) and ndim(iterated) > 0:
        return shape_of(ctx, iterated)[0]
    raise ctx.unsupported("a loop over this", "Loop over a range, an array, a tuple, enumerate(...) or zip(...).")


def _item(frame: Frame, iterated: Value, counter: ir.Operand) -> Value:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        parts: list[Value] = []
        for p in iterated.parts:
            if p is not None:
                parts.append(_item(frame, p, counter))
            else:
                parts.append(_number(ctx, iterated, counter))
        return TupleValue(tuple(parts))
    if isinstance(iterated, Range):
        moved = scalars.scalar(ctx, operator.mul, (counter, iterated.step))
        return scalars.scalar(ctx, operator.add, (iterated.start, moved))
    if isinstance(iterated, TupleValue):
        raise ctx.unsupported("a tuple zipped with an array", "Loop over a range and index both.")
    return indexing.read(ctx, indexing.resolve(ctx, iterated, (counter,)))


def known_items(ctx: Context, iterated: Value) -> Sequence[Value] | None:
    """All that a loop runs over, where that is tuples, and their numbers; else None."""
    if isinstance(iterated, TupleValue):
        return iterated.items
    if not isinstance(iterated, Paired):
        return None
    columns = [p if p is None else known_items(ctx, p) for p in iterated.parts]
    known = [column for column in columns if column is not None]
    if len(known) < sum(p is not None for p in iterated.parts):
        return None
    return [
        TupleValue(tuple(_number(ctx, iterated, ir.integer(k)) if c is None else c[k] for c in columns))
        for k in range(min(map(len, known), default=0))
    ]


def so_many(frame: Frame, value: Value, count: int) -> Sequence[Value]:
    """The items of what has to have so many. ValueError, as Python has it, where it has not."""
    ctx, iterated = frame.ctx, materialise(frame.ctx, elements(value))
    if not isinstance(iterated, Range | Paired) and not (is_array(iterated) and ndim(iterated) > 0):
        raise ctx.mismatch(f"unpacking of {described(value)}", "Give it a tuple, or an array.")
    fits = scalars.scalar(ctx, operator.eq, (_length(frame, iterated), ir.integer(count)))
    if isinstance(fits, ir.Const) and not fits.value:
        raise ctx.mismatch(f"unpacking to {count} names of what has another length", "Give a name for each value.")
    if not isinstance(fits, ir.Const):
        ctx.builder.emit(ir.Raise(exception=ValueError, args=(f"not {count} values to unpack",), condition=fits))
    return [_item(frame, iterated, ir.integer(k)) for k in range(count)]


def _number(ctx: Context, iterated: Paired, counter: ir.Operand) -> Value:
    """What enumerate says in the trip of this number, from 0."""
    if iterated.first is None or iterated.first == ir.integer(0):
        return counter
    return scalars.scalar(ctx, operator.add, (counter, iterated.first))
