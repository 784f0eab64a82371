"""Complex numbers inside a program, as pairs of real ones; their derivatives follow from those of the parts.

In: numbers, of which one is complex. Out: a pair of real operands, or a real one.

    z * w    (z.real * w.real - z.imag * w.imag,  z.real * w.imag + z.imag * w.real)
"""

from __future__ import annotations

import math
import operator
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.frame import Context
from adjit.transform.elaborate.values import Complex, Value, is_number
from adjit.transform.types import typed_const

_ZERO = ir.Const(0.0, types.float64)


def literal(value: complex) -> Complex:
    return Complex(ir.Const(value.real, types.float64), ir.Const(value.imag, types.float64))


def promote(ctx: Context, value: Value) -> Complex:
    if isinstance(value, Complex):
        return value
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        return Complex(scalars.cast(ctx, value, types.float64), _ZERO)
    raise ctx.fail(
        errors.Unsupported, "complex arithmetic with arrays", "", "Keep real and imaginary part in real arrays."
    )


def make(ctx: Context, real: ir.Operand, imag: ir.Operand = _ZERO) -> Complex:
    return Complex(scalars.cast(ctx, real, types.float64), scalars.cast(ctx, imag, types.float64))


def binary(ctx: Context, callee: Any, left: Value, right: Value) -> Value:
    if (
        callee is operator.pow
        and isinstance(right, ir.Const)
        and isinstance(right.type, types.Integer)
        and right.value >= 0
    ):
        result: Complex = literal(1.0)
        for _ in range(int(right.value)):
            result = _times(ctx, result, promote(ctx, left))
        return result
    a, b = promote(ctx, left), promote(ctx, right)
    if callee in (operator.add, operator.sub):
        return Complex(scalars.scalar(ctx, callee, (a.real, b.real)), scalars.scalar(ctx, callee, (a.imag, b.imag)))
    if callee is operator.mul:
        if not isinstance(left, Complex):
            return Complex(_mul(ctx, a.real, b.real), _mul(ctx, a.real, b.imag))
        if not isinstance(right, Complex):
            return Complex(_mul(ctx, a.real, b.real), _mul(ctx, a.imag, b.real))
        return _times(ctx, a, b)
    if callee is operator.truediv:
        if not isinstance(right, Complex):
            return Complex(
                scalars.scalar(ctx, operator.truediv, (a.real, b.real)),
                scalars.scalar(ctx, operator.truediv, (a.imag, b.real)),
            )
        size = _add(ctx, _mul(ctx, b.real, b.real), _mul(ctx, b.imag, b.imag))
        above = _times(ctx, a, Complex(b.real, scalars.scalar(ctx, operator.neg, (b.imag,))))
        return Complex(
            scalars.scalar(ctx, operator.truediv, (above.real, size)),
            scalars.scalar(ctx, operator.truediv, (above.imag, size)),
        )
    raise ctx.fail(
        errors.Unsupported, f"`{callee.__name__}` of complex numbers", "", "Write it with real and imaginary parts."
    )


def unary(ctx: Context, callee: Any, value: Complex) -> Value:
    if callee is operator.neg:
        return Complex(
            scalars.scalar(ctx, operator.neg, (value.real,)), scalars.scalar(ctx, operator.neg, (value.imag,))
        )
    if callee is operator.pos:
        return value
    raise ctx.fail(errors.Unsupported, f"`{callee.__name__}` of a complex number")


def conjugate(ctx: Context, value: Complex) -> Complex:
    return Complex(value.real, scalars.scalar(ctx, operator.neg, (value.imag,)))


def function(ctx: Context, name: str, value: Complex) -> Value:
    """A function of one complex number by the name that NumPy and cmath give it."""
    if name in ("abs", "absolute", "fabs"):
        return scalars.scalar(ctx, math.hypot, (value.real, value.imag))
    if name in ("angle", "phase"):
        return scalars.scalar(ctx, math.atan2, (value.imag, value.real))
    if name in ("conj", "conjugate"):
        return conjugate(ctx, value)
    if name == "exp":
        size = scalars.scalar(ctx, math.exp, (value.real,))
        return Complex(
            _mul(ctx, size, scalars.scalar(ctx, math.cos, (value.imag,))),
            _mul(ctx, size, scalars.scalar(ctx, math.sin, (value.imag,))),
        )
    if name == "log":
        size = scalars.scalar(ctx, math.hypot, (value.real, value.imag))
        return Complex(
            scalars.scalar(ctx, math.log, (size,)), scalars.scalar(ctx, math.atan2, (value.imag, value.real))
        )
    if name == "square":
        return _times(ctx, value, value)
    if name == "sqrt":
        # the principal root: sqrt((|z| + x) / 2) + i sign(y) sqrt((|z| - x) / 2)
        size = scalars.scalar(ctx, math.hypot, (value.real, value.imag))
        half = typed_const(0.5, types.float64)
        real = scalars.scalar(ctx, math.sqrt, (_mul(ctx, half, _add(ctx, size, value.real)),))
        rest = scalars.scalar(ctx, operator.sub, (size, value.real))
        imag = scalars.scalar(ctx, math.sqrt, (_mul(ctx, half, rest),))
        return Complex(real, scalars.scalar(ctx, math.copysign, (imag, value.imag)))
    raise ctx.fail(
        errors.NoRule,
        f"{name} of a complex number has no derivative rule",
        "",
        "Write it with real and imaginary parts.",
    )


def _times(ctx: Context, a: Complex, b: Complex) -> Complex:
    real = scalars.scalar(ctx, operator.sub, (_mul(ctx, a.real, b.real), _mul(ctx, a.imag, b.imag)))
    return Complex(real, _add(ctx, _mul(ctx, a.real, b.imag), _mul(ctx, a.imag, b.real)))


def _mul(ctx: Context, left: ir.Operand, right: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, operator.mul, (left, right))


def _add(ctx: Context, left: ir.Operand, right: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, operator.add, (left, right))
