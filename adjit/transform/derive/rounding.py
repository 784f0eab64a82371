"""How much each operation's rounding may change the result, to first order.

In: a function on numbers, its loops written out. Out: the function in which every result that is rounded is marked, and
a memory with a number for each statement, whose adjoints the marks add up in:

    y = x * w          y = rounded(x * w, bounds[3])        bounds_bar[3] += |y y_bar| u

The computed y is y (1 + d) with |d| <= u, which changes the result by y_bar y d to first order; the sum of the bounds
of all that is a bound for the result (Linnainmaa, "Taylor expansion of the accumulated rounding error", BIT 16, 1976;
Menon et al., "ADAPT: algorithmic differentiation applied to floating-point precision tuning", SC 2018; Singh et al.,
"Fast and automatic floating point error analysis with CHEF-FP", IPDPS 2023). u is half a unit in the last place.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import math
import operator
from typing import Any

import numpy as np
from numba import types

from adjit.errors import Unsupported
from adjit.rules.registry import Entry, lookup
from adjit.transform import ir
from adjit.transform.derive.activity import Activity, is_constant
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.rewrite.notes import Rounded, note
from adjit.transform.source.callables import spoken

# results that are numbers among the arguments, or these with another sign
_EXACT = {
    operator.neg, operator.pos, builtins.abs, max, min, np.absolute, np.fabs, math.fabs, np.maximum, np.minimum,
    np.fmax, np.fmin, math.copysign, np.copysign, np.negative, np.positive, ir.select,
}  # fmt: skip
# and those that IEEE 754 has rounded correctly: |d| <= u
_CORRECT = {
    operator.add, operator.sub, operator.mul, operator.truediv, np.add, np.subtract, np.multiply, np.divide, math.sqrt,
    np.sqrt, np.square, ir.cast,
}  # fmt: skip
_ELEMENTARY = 2.0  # in u: one unit in the last place, of exp, log, sin, cos, pow and the like
_OTHER = 8.0  # four units in the last place, of the others
_WITHIN_ONE = {
    operator.pow, math.pow, np.power, math.exp, np.exp, math.exp2, np.exp2, math.log, np.log, math.log2, np.log2,
    math.log10, np.log10, math.log1p, np.log1p, math.expm1, np.expm1, math.sin, np.sin, math.cos, np.cos, math.tan,
    np.tan, math.asin, np.arcsin, math.acos, np.arccos, math.atan, np.arctan, math.atan2, np.arctan2, math.hypot,
    np.hypot, math.cbrt, np.cbrt,
}  # fmt: skip


@functools.cache
def _mark(size: float) -> ir.Place:
    """The callee of a mark, of a result whose relative error is at most this."""

    def adjoint(x: Any, bound: Any, *, y: Any, y_bar: Any) -> Any:
        return y_bar, abs(y * y_bar) * size

    return ir.Place("", Entry(adjoint=adjoint))


def rounded(function: ir.Function) -> tuple[ir.Function, ir.Var]:
    """The function with marks, and the memory with a number for each statement; Unsupported where an operation on whole
    arrays is not made of operations on numbers."""
    marking = _Marking(Activity(function, (), function.body.yields))
    body = marking.region(function.body)
    bounds = marking.bounds
    statements = tuple(marking.places)
    note(Rounded(statements))
    made = ir.Alloc(shape=(ir.integer(len(statements)),), fill=typed_const(0, types.float64), out=bounds)
    return ir.with_body(function, dataclasses.replace(body, ops=(made, *body.ops))), bounds


class _Marking:
    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        self.bounds = ir.Var("bounds", array_type(types.float64, 1))
        self.places: dict[tuple[str, int, str], int] = {}

    def region(self, region: ir.Region) -> ir.Region:
        builder = ir.Builder()
        for op in region.ops:
            builder.origin = op.origin
            op = ir.with_regions(op, [self.region(inner) for inner in op.regions])
            if isinstance(op, ir.For) and op.outs:
                # a sum with marks in it is no sum to others
                op = dataclasses.replace(op, order_free=False)
            self.op(builder, op)
        return dataclasses.replace(region, ops=tuple(builder.ops))

    def op(self, builder: ir.Builder, op: ir.Op) -> None:
        if not any(map(self.activity.is_useful, (op.array,) if isinstance(op, ir.Store) else op.results)):
            # another result may be all that it is for, or nothing
            builder.emit(op)
            return
        if isinstance(op, ir.Store) and op.add:
            # an addition as any other
            kind = array_type_of(op.array).dtype
            before = builder.load(op.array, op.index)
            total = builder.call(operator.add, before, op.value, type=kind, name="sum")
            value = ir.Var("sum", kind)
            self.mark(builder, op, total, value, 1.0)
            builder.emit(dataclasses.replace(op, value=value, add=False))
            return
        size = _size(op)
        if size == 0.0:
            builder.emit(op)
            return
        (out,) = op.results
        exact = dataclasses.replace(out)
        builder.emit(op.rebuilt(op.operands, op.regions, (exact,)))
        self.mark(builder, op, exact, out, size)

    def mark(self, builder: ir.Builder, op: ir.Op, value: ir.Var, out: ir.Var, size: float) -> None:
        unit = float(np.finfo(str(out.type)).eps) / 2.0
        bound = builder.load(self.bounds, (ir.integer(self.place(op.origin)),), "bound")
        builder.emit(ir.Call(callee=_mark(size * unit), args=(value, bound), outs=(out,)))

    def place(self, origin: ir.Origin | None) -> int:
        key = ("", 0, "") if origin is None else (origin.filename, origin.line, origin.text.strip())
        return self.places.setdefault(key, len(self.places))


def _size(op: ir.Op) -> float:
    """How many u the relative error of a result is at most; 0 where it is exact, or no float."""
    if not isinstance(op, ir.Call) or not any(ir.is_float(out.type) for out in op.outs):
        return 0.0
    if is_constant(op.callee) or op.effect or op.callee in _EXACT or isinstance(op.callee, ir.Place):
        return 0.0
    if len(op.outs) > 1 or any(map(ir.is_reference, (*op.args, *op.outs))):
        raise _refused(op)
    if op.callee is ir.cast:
        return float(_narrows(op.args[0].type, op.outs[0].type))
    if op.callee in (operator.mul, np.multiply) and any(map(_is_power_of_two, op.args)):
        return 0.0
    if op.callee in _CORRECT:
        return 1.0
    if lookup(op.callee) is None:
        raise _refused(op)
    return _ELEMENTARY if op.callee in _WITHIN_ONE else _OTHER


def _narrows(given: types.Type, out: types.Type) -> bool:
    """Whether a conversion rounds."""
    if isinstance(given, types.Float) and isinstance(out, types.Float):
        return out.bitwidth < given.bitwidth
    return isinstance(given, types.Integer) and 8 * np.dtype(str(given)).itemsize > np.finfo(str(out)).nmant + 1


def _is_power_of_two(operand: ir.Operand) -> bool:
    return isinstance(operand, ir.Const) and operand.value != 0 and abs(math.frexp(operand.value)[0]) == 0.5


def _refused(op: ir.Call) -> Unsupported:
    return Unsupported(
        f"the rounding error of {spoken(op.callee)}",
        ir.place_of(op.origin),
        "The operations inside it are not known.",
        "Write it as a loop, or treat its result as exact with adjit.stop_gradient.",
    )
