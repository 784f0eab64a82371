"""Numbers, dates, flags and loggers of Python's that no machine has, which are worked out while the code is compiled.

In: what they are made of, as far as it is known. Out: an object, or the number that is taken out of it.

    Fraction(ring, sun) + 1             the fraction; where a number of a machine is beside it, that float
    math.log2(Fraction(3, 2))           the float
    (day - date(2024, 1, 1)).days       the integer
    Side.LEFT | Side.RIGHT              the flag
    log.isEnabledFor(logging.DEBUG)     whether it is
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import logging
import math
from collections.abc import Mapping, Sequence
from enum import EnumMeta, Flag
from types import BuiltinFunctionType
from typing import Any, TypeGuard

from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values.fold import constant, is_constant
from adjit.transform.frontend.values.frame import Context, wrap
from adjit.transform.frontend.values.values import Static, TupleValue, Value, describe, is_number
from adjit.transform.source.callables import sign_of

KINDS = (
    fractions.Fraction, decimal.Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
    datetime.timezone,
)  # fmt: skip

# What takes one for an argument, and changes nothing.
_TAKING = (abs, bool, divmod, float, int, len, pow, round, str, math.ceil, math.floor, math.trunc)
_OF_NOW = ("now", "today", "utcnow")
_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError)


def is_known_object(value: Value) -> TypeGuard[Static | ir.Const]:
    """Whether it is such an object, and of no class derived from theirs, which flags always are; flags that are
    integers are literals."""
    return isinstance(value, Static | ir.Const) and (type(value.value) in KINDS or isinstance(value.value, Flag))


def members_in(value: Value) -> EnumMeta | Flag | None:
    """The enumeration, or the flags in one of its members, that a value is; None of any other."""
    known = value.value if isinstance(value, Static | ir.Const) else None
    return known if isinstance(known, EnumMeta | Flag) else None


def called(ctx: Context, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of one of the classes, of a method, or of a function that takes such objects; None of any other."""
    owner = getattr(callee, "__self__", None)
    kind: Any = callee if isinstance(callee, type) else owner
    is_of_class = isinstance(kind, type) and kind in KINDS
    takes_one = any(map(is_known_object, args)) and callee in _TAKING
    takes_one |= _is_of_math(callee) and any(map(_has_known, args)) and all(map(is_constant, (*args, *named.values())))
    if not (is_of_class or type(owner) in KINDS or takes_one or _is_of_logging(callee, owner)):
        return None
    if is_of_class and callee.__name__ in _OF_NOW:
        raise ctx.unsupported(
            f"{kind.__name__}.{callee.__name__}",
            "Pass the values that you take from it.",
            why="Its value at compile time would be used in every call.",
        )
    what = getattr(callee, "__qualname__", str(callee))
    given, options = [_object(ctx, a, what) for a in args], {name: _object(ctx, a, what) for name, a in named.items()}
    return _made(ctx, what, callee, given, options)


def _is_of_logging(callee: Any, owner: Any) -> bool:
    """Whether a call finds a logger, or asks one what it would say."""
    return callee is logging.getLogger or (isinstance(owner, logging.Logger) and callee.__name__ in _ASKED)


_ASKED = ("isEnabledFor", "getEffectiveLevel", "hasHandlers", "getChild")


def given(callee: Any, args: Sequence[Value]) -> Sequence[Value]:
    """The arguments of a call, fractions and decimals beside what is known at run time as the floats that `math` takes
    them for."""
    takes_floats = _is_of_math(callee) and callee is not math.prod
    return [_float(one) for one in args] if takes_floats and any(map(_has_known, args)) else args


def _float(value: Value) -> Value:
    if isinstance(value, TupleValue):
        return dataclasses.replace(value, items=tuple(map(_float, value.items)))
    if is_known_object(value) and hasattr(value.value, "__float__"):
        return ir.Const(float(value.value), types.float64)
    return value


def _is_of_math(callee: Any) -> bool:
    return isinstance(callee, BuiltinFunctionType) and callee.__module__ in ("math", "cmath")


def _has_known(value: Value) -> bool:
    """Whether there is such an object among what a list or a tuple has, or it is one."""
    return any(map(_has_known, value.items)) if isinstance(value, TupleValue) else is_known_object(value)


def operated(ctx: Context, callee: Any, operands: Sequence[Value]) -> Value | None:
    """An operator with such objects; None without one, or where `as_floats` has numbers for them."""
    is_of_known = any(map(is_known_object, operands)) and all(isinstance(o, Static) or is_number(o) for o in operands)
    if not any(isinstance(o, Static) for o in operands) and any(isinstance(o, ir.Var) for o in operands):
        return None  # an integer
    if not is_of_known or (any(map(_is_float, operands)) and any(map(_is_fraction, operands))):
        return None
    what = f"`{sign_of(callee)}` of {' and '.join(map(describe, operands))}"
    return _made(ctx, what, callee, [_object(ctx, one, what) for one in operands], {})


def as_floats(operands: Sequence[Value]) -> Sequence[Value]:
    """The operands, fractions beside a float that is known at run time only as floats: so Python takes them."""
    if not any(map(_is_float, operands)):
        return operands
    return [ir.Const(float(one.value), types.float64) if _is_fraction(one) else one for one in operands]


def _is_float(value: Value) -> bool:
    is_fixed = isinstance(value, ir.Const)
    return is_number(value) and not is_fixed and isinstance(value.type, types.Float)


def _is_fraction(value: Value) -> TypeGuard[Static]:
    return isinstance(value, Static) and type(value.value) is fractions.Fraction


def _object(ctx: Context, value: Value, what: str) -> Any:
    def refused(part: Value) -> Exception:
        of = f"{what}, with a value that is only known at run time" if part is value else f"{what} of {describe(part)}"
        return ctx.not_constant(of, "Convert it to numbers first: float(...), .days, .total_seconds().")

    return constant(value, refused)


def _made(ctx: Context, what: str, callee: Any, given: Sequence[Any], options: Mapping[str, Any]) -> Value:
    try:
        return wrap(ctx, callee(*given, **options))
    except _FAULTS as fault:
        raise ctx.mismatch(
            f"{what}: {fault}", "See Python's documentation of fractions, decimal, datetime and enum."
        ) from None
