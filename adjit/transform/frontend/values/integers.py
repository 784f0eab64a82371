"""Integers as NumPy and Python have them, in plain Python functions; where numba compiles them, numba's meaning holds.

In: a function of integers and what it is called with. Out: how NumPy computes it, or nothing, where compiled code does
the same. NumPy computes in the type of the arrays and of its own numbers, whatever Python's numbers beside them are.

    n * 3 of int8       int8(n[i] * 3)                          2 ** k      integer_power(2, k);  beside floats 2.0 ** k
    n << m of int64     shift_left(n[i], m[i])                  n ** -1     refused, as NumPy raises ValueError
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types

from adjit.runtime.library import integer_fmod, integer_power, shift_count, shift_left, shift_right
from adjit.transform import ir
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.numbers import Number, dtype, is_array
from adjit.transform.frontend.values.values import Value
from adjit.transform.ir.types import call_type, is_integer, is_small_integer, typed_const

_UFUNCS: dict[Any, np.ufunc] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.floordiv: np.floor_divide,
    operator.mod: np.remainder, operator.pow: np.power, operator.lshift: np.left_shift,
    operator.rshift: np.right_shift, operator.and_: np.bitwise_and, operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor, operator.neg: np.negative, operator.pos: np.positive, operator.invert: np.invert,
    abs: np.absolute,
}  # fmt: skip
_OPERATORS = {ufunc: of for of, ufunc in _UFUNCS.items()}
_SHIFTS: dict[Any, Any] = {operator.lshift: shift_left, operator.rshift: shift_right}


Kind = TypeVar("Kind", bound=Value)


class Way(NamedTuple):
    """How NumPy computes: a function of integers of 64 bits, and as what it keeps them."""

    callee: Any
    wide: types.Type
    made: types.Type


def way_of(ctx: Context, callee: Any, args: Sequence[Value]) -> Way | None:
    """How NumPy computes a function of integers, None where that is what compiled code does."""
    ufunc = callee if isinstance(callee, np.ufunc) else _UFUNCS.get(callee)
    kinds = [dtype(a) for a in args]
    if ufunc is None or ufunc.nout != 1 or not ctx.is_plain or not all(map(is_integer, kinds)):
        return None
    is_numpys = any(map(is_array, args)) or any(map(_is_numpys, kinds))
    own = _OPERATORS.get(ufunc, integer_fmod if ufunc is np.fmod else ufunc)
    if not any(map(_is_numpys, kinds)):
        # of 64 bits, all of them
        if not is_numpys and not isinstance(callee, np.ufunc) and _all_python(ctx, args):
            return None
        is_own = own in (operator.pow, integer_fmod, *_SHIFTS) and not all(isinstance(k, types.Boolean) for k in kinds)
        return Way(_checked(ctx, own, args, is_numpys), types.intp, types.intp) if is_own else None
    weak = [_is_weak(ctx, a, any(map(is_array, args))) for a in args]
    given = [int if is_weak else np.dtype(str(kind)) for kind, is_weak in zip(kinds, weak, strict=True)]
    try:
        made = ufunc.resolve_dtypes((*given, None))[-1]
    except TypeError:
        return None
    if made.kind not in "iu":
        return None
    kind = _type_of(made)
    for a, is_weak in zip(args, weak, strict=True):
        if is_weak:
            _check_fits(ctx, a, kind)
    return Way(_checked(ctx, own, args, is_numpys), kind if kind == types.uint64 else types.intp, kind)


def computed(ctx: Context, way: Way, args: Sequence[ir.Operand], name: str = "") -> ir.Operand:
    """The call of a function of integers as NumPy makes it."""
    wide = [scalars.cast(ctx, a, way.wide) for a in args]
    if way.callee is np.sign and way.wide == types.uint64:
        # numba takes the upper half for negative
        return scalars.scalar(ctx, min, (*wide, typed_const(1, way.wide)))
    made: ir.Operand | None = scalars.fold(way.callee, wide, way.wide)
    if made is None:
        # numba has a sign for what is negative
        kind = call_type(way.callee, (way.wide,) * len(wide)) or way.wide
        made = ctx.builder.call(way.callee, *wide, type=kind, name=name or scalars.name_of(way.callee))
    return scalars.cast(ctx, made, way.made)


def _is_numpys(kind: types.Type) -> bool:
    """Whether only NumPy has such integers: Python's have 64 bits and a sign."""
    return is_small_integer(kind) or kind == types.uint64


def _type_of(kind: np.dtype[Any]) -> types.Type:
    found: types.Type = getattr(types, kind.name)
    return types.intp if found == types.int64 else found


def _checked(ctx: Context, own: Any, args: Sequence[Value], is_numpys: bool) -> Any:
    """What computes powers and shifts, which compiled code has for some exponents and counts only."""
    if own is not operator.pow and own not in _SHIFTS:
        return own
    by = args[1]
    if isinstance(by, ir.Const) and not is_array(by):
        if own is operator.pow and by.value < 0:
            raise ctx.mismatch(
                f"integers to the power {by.value}",
                "Convert them to floats: n.astype(float).",
                "NumPy raises ValueError.",
            )
        return own if 0 <= by.value < 64 or own is operator.pow else _SHIFTS[own]
    return integer_power if own is operator.pow else _SHIFTS[own]


def _check_fits(ctx: Context, value: Value, kind: types.Type) -> None:
    """OverflowError, as NumPy has it, where one of Python's integers does not fit in."""
    assert isinstance(value, ir.Operand)
    least, most = (int(limit) for limit in (kind.minval, kind.maxval))  # type: ignore[attr-defined]
    said = f"Python integer out of bounds for {kind}"
    if isinstance(value, ir.Const):
        if not least <= value.value <= most:
            raise ctx.mismatch(f"{value.value} beside {kind}", "Convert the array, as by astype(np.int64).", said)
        return
    for fits, limit in ((operator.ge, least), (operator.le, most)):
        if -(2**63) < limit < 2**63 - 1:
            holds = scalars.scalar(ctx, fits, (value, ir.integer(limit)))
            require(ctx, holds, OverflowError, said)


# ----------------------------------------------------------------------------------------------- Python's own integers


def of_python(ctx: Context, callee: Any, args: Sequence[Number]) -> ir.Operand | None:
    """Powers and shifts of Python's integers, None of all else: what is no integer, or has more bits, is a float where
    floats are beside it."""
    is_own = callee is operator.pow or callee in _SHIFTS
    if not is_own or not ctx.is_plain or any(map(_is_numpys, map(dtype, args))) or not _all_python(ctx, args):
        return None
    left, right = (scalars.cast(ctx, _real(a), types.intp) for a in args)
    if (known := scalars.fold(callee, (left, right), types.intp)) is not None:
        return known
    if callee is operator.pow:

        def as_float() -> ir.Operand:
            return scalars.scalar(ctx, operator.pow, (scalars.cast(ctx, left, types.float64), right))

        if isinstance(right, ir.Const):
            return as_float() if right.value < 0 else None
        made = ctx.builder.call(integer_power, left, right, type=types.intp, name="power")
        ctx.numbers.as_floats[made] = as_float
        return made
    if isinstance(right, ir.Const) and right.value < 0:
        raise ctx.mismatch("a negative shift count", "Shift the other way.")
    if isinstance(right, ir.Const) and right.value < 64:
        return None
    count = right
    if not isinstance(right, ir.Const):
        count = ctx.builder.call(shift_count, right, type=types.intp, name="count")
    made = ctx.builder.call(_SHIFTS[callee], left, count, type=types.intp, name="shifted")
    if callee is operator.lshift:
        two = typed_const(2.0, types.float64)

        def shifted() -> ir.Operand:
            factor = scalars.scalar(ctx, operator.pow, (two, count))
            return scalars.scalar(ctx, operator.mul, (scalars.cast(ctx, left, types.float64), factor))

        ctx.numbers.as_floats[made] = shifted
    return made


def _real(value: Number) -> ir.Operand:
    assert isinstance(value, ir.Operand)
    return value


def _all_python(ctx: Context, args: Iterable[Value]) -> bool:
    """Whether all are Python's integers, or may be: NumPy's numbers of 64 bits are those that are known to be."""
    return all(isinstance(a, ir.Operand) and is_integer(a.type) and is_pythons(ctx, a) is not False for a in args)


def as_floats(ctx: Context, value: Kind) -> Kind | ir.Operand:
    """A number as it is beside floats."""
    made = ctx.numbers.as_floats.get(value) if isinstance(value, ir.Var) else None
    return value if made is None else made()


# ------------------------------------------------------------------------------------------------- whose a number is

_PYTHONS = frozenset((int, float, bool, round, len, operator.not_))
_OF_BOTH = frozenset((*_UFUNCS, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, min, max))
_OF_BOTH |= {operator.truediv, integer_power, shift_left, shift_right, shift_count, ir.cast}


def _is_weak(ctx: Context, value: Value, beside_array: bool) -> bool:
    """Whether it is one of Python's integers, which NumPy takes as what is beside it."""
    if not isinstance(value, ir.Operand) or is_array(value) or value.type != types.intp:
        return False
    found = is_pythons(ctx, value)
    if found is None and beside_array:
        raise ctx.mismatch(
            f"an array of small integers and `{ir.name_of(value, 'a number')}`, an integer from a loop or branch",
            "Write int(...) or np.int64(...) around it.",
            "NumPy's result is small with a Python integer, and has 64 bits with a NumPy integer.",
        )
    return bool(found)


def is_pythons(ctx: Context, value: ir.Operand) -> bool | None:
    """Whether a number is Python's, not NumPy's; None where that is not known."""
    found = _Whose(ctx).of(value, ())
    return found if isinstance(found, bool) else None


_AROUND = "around a loop"  # what is asked itself: what else there is decides


class _Whose:
    """What follows from how numbers are made: whether they are Python's, None where that is not known."""

    def __init__(self, ctx: Context):
        self.ctx = ctx
        self.met: set[ir.Operand] = set()

    def of(self, value: ir.Operand, inside: tuple[Mapping[ir.Operand, ir.Op], ...]) -> bool | str | None:
        if isinstance(value, ir.Const):
            return not isinstance(value.value, np.generic)
        if value in self.ctx.numbers.whose:
            return self.ctx.numbers.whose[value]
        if value in self.ctx.arrays.given:
            return True
        if value in self.met:
            return _AROUND
        self.met.add(value)
        made = next((region[value] for region in reversed(inside) if value in region), None)
        made = self.ctx.builder.maker(value) if made is None else made
        if isinstance(made, ir.Call):
            return self._of_call(made, inside)
        if isinstance(made, ir.If | ir.For | ir.While):
            (sides,) = (pair for name, *pair in ir.joined(made) if name is value)
            if isinstance(made, ir.If):
                within: Sequence[Mapping[ir.Operand, ir.Op]] = (made.then.made, made.orelse.made)
            else:
                # what a loop carries is what it begins with, or what trips make of that
                self.met |= {name for name, *pair in ir.joined(made) if pair == sides}
                within = ({}, made.body.made)
            return _alike(self.of(one, (*inside, of_side)) for one, of_side in zip(sides, within, strict=True))
        return True if isinstance(made, ir.Extent) else False if isinstance(made, ir.Load) else None

    def _of_call(self, made: ir.Call, inside: tuple[Mapping[ir.Operand, ir.Op], ...]) -> bool | str | None:
        if made.callee in _PYTHONS or getattr(made.callee, "__module__", None) == "math":
            return True
        if made.callee is ir.select:
            return _alike(self.of(a, inside) for a in made.args[1:])
        if made.callee in _OF_BOTH:
            found = {self.of(a, inside) for a in made.args}
            return False if False in found or is_small_integer(made.outs[0].type) else _alike(found)
        return False if isinstance(made.callee, np.ufunc) else None


def _alike(found: Iterable[bool | str | None]) -> bool | str | None:
    """What all of them are; None where that differs."""
    met = {one for one in found if one != _AROUND} or {_AROUND}
    return met.pop() if len(met) == 1 else None
