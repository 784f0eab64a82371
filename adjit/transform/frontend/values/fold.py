"""What Python itself works out while a program is compiled: all that it is made of is known then.

In: values, or a call of what has no effects. Out: the Python object that a value stands for (`constant`); the value of
the call (`fold`).

    Fraction(ring, sun) + 1             the fraction; where a number of a machine is beside it, that float
    math.log2(Fraction(3, 2))           the float
    (day - date(2024, 1, 1)).days       the integer
    Side.LEFT | Side.RIGHT              the flag
    log.isEnabledFor(logging.DEBUG)     whether it is
    "abc".upper()                       the text
    labels, z = np.unique(groups, return_inverse=True)      labels: an array of texts; z: a constant array
    x[labels == "a"]                                        a mask that is a constant
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import EnumMeta, Flag
from types import BuiltinFunctionType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values.cells import WHERE_TEXTS_GO
from adjit.transform.frontend.values.dictionaries import KnownDict
from adjit.transform.frontend.values.frame import Context, wrap
from adjit.transform.frontend.values.lists import Fields, TupleValue
from adjit.transform.frontend.values.numbers import Complex, is_number
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static, StringArray, stands_for
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.source.callables import sign_of

# ----------------------------------------------------------------------------------------------------------- constants


class Unknown(Exception):
    """Something is known at run time only."""


def constant(value: Value, refused: Callable[[Value], Exception] = Unknown, is_frozen: bool = False) -> Any:
    """The Python object that a value known while compiling stands for; `refused`: the error for a part that is not.

    is_frozen: as a key of a dictionary, or for what might change a list: lists as tuples, and no dictionaries, slices
    and complex numbers.
    """
    match value:
        case Static(value=StringArray(array=array)):
            return array
        case Static() | ir.Const():
            return value.value
        case TupleValue(fields=fields):
            items = [constant(one, refused, is_frozen) for one in value.items]
            kind = fields.of if isinstance(fields, Fields) and not is_frozen else tuple
            return items if value.is_list and not is_frozen else tuple.__new__(kind, items)
        case KnownDict() if not is_frozen:
            return {key: constant(one, refused) for key, one in zip(value.keys, value.items, strict=True)}
        case SliceValue(span=span) if not is_frozen:
            ends = (span.start, span.stop, span.step)
            return slice(*(None if end is None else constant(end, refused) for end in ends))
        case Complex(real=ir.Const(value=real), imag=ir.Const(value=imag)) if not is_frozen:
            return real + 1j * imag
    raise refused(value)


def is_constant(value: Value, is_frozen: bool = False) -> bool:
    """Whether there is an object that a value stands for."""
    try:
        constant(value, is_frozen=is_frozen)
    except Unknown:
        return False
    return True


def structured_dtype(value: Value) -> np.dtype[Any] | None:
    """The dtype of records that a value stands for, `[("a", "f8"), ("b", int, (3,))]` or one of NumPy's; else None."""
    try:
        known = constant(value)
        if isinstance(known, list) and known and all(isinstance(field, tuple) for field in known):
            known = np.dtype(known)
    except (Unknown, TypeError):
        return None
    return known if isinstance(known, np.dtype) and known.names else None


# ---------------------------------------------------------------------------------------------------------------- calls


class Pure(NamedTuple):
    """How errors speak of calls that have no effects.

    what: by the function and its arguments; unknown: what is said, and to be done, of an argument of which a part is
    known at run time only; instead: what to do where Python raises an error
    """

    what: Callable[[Any, Sequence[Value]], str]
    unknown: Callable[[str, Value, Value], tuple[str, str]]
    instead: str


def _in_objects(what: str, value: Value, part: Value) -> tuple[str, str]:
    of = ", with a value that is only known at run time" if part is value else f" of {describe(part)}"
    return f"{what}{of}", "Convert it to numbers first: float(...), .days, .total_seconds()."


def _beside_texts(what: str, value: Value, part: Value) -> tuple[str, str]:
    instead = "Number the strings before the call: np.unique(..., return_inverse=True)."
    return f"{what} and a value that is only known at run time", instead


def _in_texts(what: str, value: Value, part: Value) -> tuple[str, str]:
    return f"{what} of a value that is only known at run time", WHERE_TEXTS_GO


def _in_numbers(what: str, value: Value, part: Value) -> tuple[str, str]:
    return f"{what} of a number that is only known at run time", "Call it before the function, and pass its result."


_OF_OBJECTS = "See Python's documentation of fractions, decimal, datetime and enum."
OBJECTS = Pure(lambda callee, args: getattr(callee, "__qualname__", str(callee)), _in_objects, _OF_OBJECTS)
OPERATORS = Pure(
    lambda callee, args: f"`{sign_of(callee)}` of {' and '.join(map(describe, args))}", _in_objects, _OF_OBJECTS
)
ARRAYS_OF_TEXTS = Pure(
    lambda callee, args: f"{getattr(callee, '__name__', 'a function')} of an array of strings",
    _beside_texts,
    "See NumPy's documentation.",
)
TEXTS = Pure(
    lambda callee, args: f"the method `{callee.__name__}` of a string",
    _in_texts,
    "See Python's documentation of str and re.",
)
BY_PERCENT = Pure(lambda callee, args: "a string by `%`", _in_texts, "See Python's documentation.")
BUILTINS = Pure(lambda callee, args: callee.__name__, _in_texts, "See Python's documentation.")
OF_NUMBERS = BUILTINS._replace(unknown=_in_numbers)
NAMED_TUPLES = Pure(lambda callee, args: "collections.namedtuple", _in_texts, "See Python's collections.")


def fold(
    ctx: Context, pure: Pure, callee: Any, args: Sequence[Value], named: Mapping[str, Value] | None = None
) -> Value:
    """The value of a call that Python runs now."""
    what = pure.what(callee, args)

    def known(value: Value) -> Any:
        return constant(value, lambda part: ctx.not_constant(*pure.unknown(what, value, part)))

    given, keywords = [known(one) for one in args], {name: known(one) for name, one in (named or {}).items()}
    found = execute(ctx, what, pure.instead, callee, given, keywords)
    return wrap(ctx, tuple(found) if isinstance(found, Iterator) else found)


def execute(
    ctx: Context, what: str, instead: str, callee: Any, args: Sequence[Any], named: Mapping[str, Any] | None = None
) -> Any:
    """What a function makes of objects; what it raises is an error at the user's line."""
    try:
        return callee(*args, **(named or {}))
    except (TypeError, ValueError, ArithmeticError, LookupError, re.error) as fault:
        raise ctx.mismatch(f"{what}: {fault}" if what else str(fault), instead) from None


# -------------------------------------------------------------------------------- fractions, decimals, dates and flags


KINDS = (
    fractions.Fraction, decimal.Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
    datetime.timezone,
)  # fmt: skip

# What takes one for an argument, and changes nothing.
_TAKING = (abs, bool, divmod, float, int, len, pow, round, str, math.ceil, math.floor, math.trunc)
_OF_NOW = ("now", "today", "utcnow")


def is_known_object(value: Value) -> TypeGuard[Static | ir.Const]:
    """Whether it is such an object, and of no class derived from theirs, which flags always are; flags that are
    integers are literals."""
    return isinstance(value, Static | ir.Const) and (type(value.value) in KINDS or isinstance(value.value, Flag))


def members_in(value: Value) -> EnumMeta | Flag | None:
    """The enumeration, or the flags in one of its members, that a value is; None of any other."""
    known = value.value if isinstance(value, Static | ir.Const) else None
    return known if isinstance(known, EnumMeta | Flag) else None


def takes_objects(ctx: Context, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> bool:
    """Whether it is a call of one of the classes, of a method, or of a function that takes such objects. Those that ask
    for the time of now are refused."""
    owner = getattr(callee, "__self__", None)
    kind: Any = callee if isinstance(callee, type) else owner
    is_of_class = isinstance(kind, type) and kind in KINDS
    if is_of_class and callee.__name__ in _OF_NOW:
        raise ctx.unsupported(
            f"{kind.__name__}.{callee.__name__}",
            "Pass the values that you take from it.",
            why="Its value at compile time would be used in every call.",
        )
    takes_one = any(map(is_known_object, args)) and callee in _TAKING
    takes_one |= _is_of_math(callee) and any(map(_has_known, args)) and all(map(is_constant, (*args, *named.values())))
    return is_of_class or type(owner) in KINDS or takes_one or _is_of_logging(callee, owner)


def _is_of_logging(callee: Any, owner: Any) -> bool:
    """Whether a call finds a logger, or asks one what it would say."""
    return callee is logging.getLogger or (isinstance(owner, logging.Logger) and callee.__name__ in _ASKED)


_ASKED = ("isEnabledFor", "getEffectiveLevel", "hasHandlers", "getChild")


def with_floats(callee: Any, args: Sequence[Value]) -> Sequence[Value]:
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


def takes_operands(operands: Sequence[Value]) -> bool:
    """Whether an operator has such objects, and `as_floats` no numbers for them."""
    is_of_known = any(map(is_known_object, operands)) and all(isinstance(o, Static) or is_number(o) for o in operands)
    if not any(isinstance(o, Static) for o in operands) and any(isinstance(o, ir.Var) for o in operands):
        return False  # an integer
    return is_of_known and not (any(map(_is_float, operands)) and any(map(_is_fraction, operands)))


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


# -------------------------------------------------------------------------------------------------------------- texts


def is_texts(value: Value) -> TypeGuard[Static]:
    """Whether it is an array of texts."""
    return stands_for(value, StringArray)


def _is_of_texts(value: Value) -> bool:
    """Whether it is a text, or has texts in it."""
    if isinstance(value, TupleValue):
        return any(map(_is_of_texts, value.items))
    return stands_for(value, str | StringArray)


def takes_texts(callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> bool:
    """Whether it is a call of NumPy's, or an operator, of texts in arrays, or in a list where all is known."""
    has_texts = bool(args) and _is_of_numpy(callee) and (any(map(is_texts, args)) or _is_of_texts(args[0]))
    if not has_texts or stands_for(args[0], str):
        return False
    is_known = any(map(is_texts, args)) or all(map(is_constant, (*args, *named.values())))
    return is_known and not any(structured_dtype(one) is not None for one in (*args[1:2], *named.values()))


def _is_of_numpy(callee: Any) -> bool:
    """Whether it is a function of NumPy's, a method of its arrays, or an operator."""
    is_method = getattr(callee, "__objclass__", None) is np.ndarray
    home = str(getattr(callee, "__module__", "")).split(".")[0]
    return isinstance(callee, np.ufunc) or is_method or home in ("numpy", "_operator")


def items_of_texts(ctx: Context, value: Static) -> TupleValue:
    """What a loop over an array of texts runs over."""
    return TupleValue(tuple(wrap(ctx, one) for one in value.value.array))
