"""Calls on numbers: typing, folding of literals, conversion, truth.

In: a callee and operands that are numbers. Out: an operand.

    scalar(ctx, operator.mul, (%x, 2.0))  ->  %value:float64, a Call emitted;  on two literals, a literal
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.notation import to_text
from adjit.transform import ir
from adjit.transform.frontend.values.frame import Context, Held
from adjit.transform.ir.types import call_type, is_integer, is_known, typed_const, unify
from adjit.transform.source.callables import spoken

Side = Callable[[], ir.Operand]
Options = tuple[tuple[str, Any], ...]  # what a call is given by name

_FOLDED = {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.neg, operator.pos, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.not_, operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift,
    abs, max, min, int, float, bool, math.sqrt, math.exp, math.log, math.pow, math.sin, math.cos, math.lgamma,
    np.sqrt, np.exp, np.log,
}  # fmt: skip

_NAMES = {
    operator.add: "sum", operator.sub: "difference", operator.mul: "product", operator.truediv: "quotient",
    operator.pow: "power", operator.neg: "negated", operator.mod: "remainder", operator.floordiv: "quotient",
    operator.lt: "is_below", operator.gt: "is_above", operator.le: "is_below", operator.ge: "is_above",
    operator.eq: "is_equal", operator.ne: "differs", operator.not_: "is_not", max: "larger", min: "smaller",
}  # fmt: skip


def name_of(callee: Any) -> str:
    """What the result of a call is called when the user gave it no name."""
    try:
        found = _NAMES.get(callee)
    except TypeError:
        found = None
    if found is None:
        found = getattr(callee, "__name__", "value").strip("_")
    return found if found.isidentifier() else "value"


def fold(callee: Any, args: Sequence[ir.Operand], type_: types.Type) -> ir.Const | None:
    """The literal result of a call on literals, where Python computes what numba would."""
    given = [_plain(a.value) for a in args if isinstance(a, ir.Const)]
    if len(given) < len(args) or isinstance(type_, types.Array):
        return None
    try:
        if callee not in _FOLDED:
            return None
        with np.errstate(all="ignore"):
            value = callee(*given)
    except (ArithmeticError, ValueError, TypeError):
        return None
    is_whole = isinstance(value, int | np.integer)
    if isinstance(value, complex) or (isinstance(type_, types.Integer) and not is_whole):
        return None
    return typed_const(value, type_)


def _plain(value: Any) -> Any:
    """A literal as numba computes with it: integers in more bits than NumPy's may have."""
    return int(value) if isinstance(value, np.integer) else value


def scalar(ctx: Context, callee: Any, args: Sequence[ir.Operand], name: str = "") -> ir.Operand:
    """The call of a function of numbers."""
    args = tuple(args)
    type_ = call_type(callee, tuple(a.type for a in args))
    if type_ is None:
        raise no_such_call(ctx, callee, [a.type for a in args])
    if isinstance(type_, types.Complex):
        raise ctx.no_rule(f"{name_of(callee)}, which returns a complex number,")
    folded = fold(callee, args, type_)
    if folded is not None:
        return folded
    args = tuple(_of_64_bits(ctx, a, args, type_) for a in args)
    is_widening = callee in _WIDENING or isinstance(callee, np.ufunc)
    if is_widening and isinstance(type_, types.Number) and all(is_integer(a.type) for a in args):
        # as they are computed with, so that the text says the same to numba and to plain Python
        args = tuple(cast(ctx, a, type_) for a in args)
    return ctx.builder.call(callee, *args, type=type_, name=name or name_of(callee))


def _of_64_bits(ctx: Context, value: ir.Operand, args: Sequence[ir.Operand], type_: types.Type) -> ir.Operand:
    """An operand of a function that makes such a number; an integer that has more bits as a float, beside floats."""
    if not isinstance(value, ir.Const) or not isinstance(value.value, int) or -(2**63) <= value.value < 2**63:
        return value
    if any(isinstance(one, types.Float) for one in (type_, *(a.type for a in args))):
        return typed_const(float(value.value), types.float64)
    raise ctx.unsupported(
        f"the integer {value.value} with an integer that is only known at run time",
        "Write it as a float, or keep the numbers below 2**63.",
        why="Compiled code has signed integers of 64 bits.",
    )


# Of small integers numba computes these in 64 bits, NumPy in as many bits as they have.
_WIDENING = {
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow, operator.lshift,
    operator.and_, operator.or_, operator.xor, operator.neg, operator.invert, operator.pos, abs,
}  # fmt: skip


def wrapped(ctx: Context, callee: Any, args: Sequence[ir.Operand], type_: types.Type, name: str = "") -> ir.Operand:
    """The call of a function of small integers as NumPy makes it for the elements of arrays, in as many bits."""
    wide = call_type(callee, tuple(a.type for a in args))
    assert wide is not None
    made = fold(callee, args, wide) or ctx.builder.call(callee, *args, type=wide, name=name or name_of(callee))
    return cast(ctx, made, type_)


def no_such_call(ctx: Context, callee: Any, given: Sequence[types.Type], options: Options = ()) -> errors.AdjitError:
    """The refusal of a function that numba does not have for these types."""
    shown = ", ".join([*map(to_text, given), *(f"{key}={value!r}" for key, value in options)])
    if not is_known(callee):
        name = spoken(callee)
        return ctx.mismatch(
            f"compiled code has no {name}",
            f"Pass its result, write its operations out, or define a numba.extending.overload({name}).",
            why="The derivative calls the function itself, too.",
        )
    return ctx.mismatch(
        f"numba has no {spoken(callee)}({shown})",
        "Check the types and the number of arguments, or write the computation out.",
    )


def cast(ctx: Context, value: ir.Operand, type_: types.Type) -> ir.Operand:
    """`value` as a number of the given type."""
    if value.type == type_:
        return value
    if isinstance(value, ir.Const):
        return typed_const(value.value, type_)
    if isinstance(type_, types.Float) and value in ctx.numbers.as_floats:
        return cast(ctx, ctx.numbers.as_floats[value](), type_)
    return ctx.builder.call(ir.cast, value, type=type_, name=value.name)


def truth(ctx: Context, value: ir.Operand) -> ir.Operand:
    """The boolean that Python's `if` makes of a number."""
    if isinstance(value.type, types.Boolean):
        return value
    return scalar(ctx, operator.ne, (value, typed_const(0, value.type)))


def negated(ctx: Context, condition: ir.Operand) -> ir.Operand:
    return scalar(ctx, operator.not_, (condition,))


def ready(value: Held) -> Callable[[], Held]:
    """A side of a conditional expression that is computed already."""
    return lambda: value


def wider(left: types.Type, right: types.Type) -> types.Type:
    """The type of a sum."""
    found = left if left == right else call_type(operator.add, (left, right))
    assert found is not None
    return found


def common(ctx: Context, left: types.Type, right: types.Type) -> types.Type:
    from_numba = unify(left, right)
    if from_numba is None:
        raise ctx.mismatch(
            f"the two sides are of types {to_text(left)} and {to_text(right)}", "Give both the same type."
        )
    return from_numba
