"""How the functions that the compiler itself writes as IR take their arguments.

In: the values of a call, by position and by name. Out: one for each parameter, None where not given.

    bound(frame, "np.full", "shape fill_value:scalar dtype?", (%n, 0.0), {})  ->  [%n, 0.0, None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from numba import types

from adjit import errors
from adjit.runtime.library import check_size
from adjit.transform import ir
from adjit.transform.frontend.values.arrays import array_of
from adjit.transform.frontend.values.checks import emit_check
from adjit.transform.frontend.values.elementwise import operand
from adjit.transform.frontend.values.frame import Frame, as_index
from adjit.transform.frontend.values.lists import TupleValue, items_or_one
from adjit.transform.frontend.values.numbers import is_array, is_number, is_numeric, is_scalar
from adjit.transform.frontend.values.statics import Static, is_none
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import dtype_of

NEGATIVE = "negative dimensions are not allowed"

Handler = Callable[[Frame, list[Value], dict[str, Value]], Value]


def bound(
    frame: Frame, name: str, parameters: str, args: Sequence[Value], named: dict[str, Value]
) -> list[Value | None]:
    """Arguments in the order of `parameters` ('a:array dtype?'), None where not given.

    What a parameter takes may stand behind its name: an `array` (tuples and lists of numbers are made one, as in
    NumPy), a real `number`, a `scalar`, which may be complex, or a `value`, any of these. Without, the handler asks.
    """
    ctx = frame.ctx
    kinds = {p.partition(":")[0]: p.partition(":")[2] for p in parameters.replace("?", "").split()}
    names = list(kinds)
    required = [p.partition(":")[0] for p in parameters.split() if not p.endswith("?")]
    known = f"adjit takes {', '.join(names)}."
    if len(args) > len(names):
        raise ctx.unsupported(f"{len(args)} arguments for {name}", "Write the computation without the others.", known)
    found: dict[str, Value] = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in names or key in found:
            twice = ", given twice" if key in names else ""
            raise ctx.unsupported(f"argument `{key}` of {name}{twice}", "Write the computation without it.", known)
        found[key] = value
    for key in required:
        if key not in found:
            raise ctx.fail(errors.WrongCall, f"{name} is called without `{key}`", known, "Give it.")
    return [taken(frame, name, kinds[n], found[n]) if n in found else None for n in names]


def takes(name: str, parameters: str, handle: Callable[..., Value]) -> Handler:
    """A handler as a row of a table: `handle` gets the frame, and the arguments in the order of `parameters`."""

    def handler(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        return handle(frame, *bound(frame, name, parameters, args, named))

    return handler


def taken(frame: Frame, name: str, kind: str, value: Value) -> Value:
    """An argument, if it is of the kind that the function takes."""
    if kind in ("array", "value") and isinstance(value, TupleValue):
        return array_of(frame.ctx, value)
    is_taken, what = _KINDS[kind]
    if not is_taken(value):
        raise frame.ctx.mismatch(f"{name} of {describe(value)}", f"Give it {what}.")
    return value


_KINDS: dict[str, tuple[Callable[[Value], bool], str]] = {
    "": (lambda value: True, ""),
    "array": (is_array, "an array"),
    "number": (is_number, "a real number"),
    "scalar": (is_scalar, "a number"),
    "value": (is_numeric, "a number or an array"),
}


def operands_of(frame: Frame, name: str, args: Sequence[Value], named: dict[str, Value], most: int) -> list[ir.Operand]:
    """Between one and `most` numbers, by position."""
    if named or not 1 <= len(args) <= most:
        takes = "1 number" if most == 1 else f"1 {'or' if most == 2 else 'to'} {most} numbers"
        given = f"{len(args)} arguments" + (f" and `{next(iter(named))}`" if named else "")
        raise frame.ctx.mismatch(f"{name} is given {given}", f"Give it {takes}, by position.")
    return [operand(frame.ctx, taken(frame, name, "number", a)) for a in args]


def axis_argument(frame: Frame, name: str, value: Value | None, rank: int) -> int:
    """An axis of an array of that rank, from 0 on."""
    ctx = frame.ctx
    if not isinstance(value, ir.Const) or not isinstance(value.type, types.Integer):
        raise ctx.unsupported(
            f"{name} over an axis that is only known at run time",
            "Write the axis as a number, or a tuple of numbers.",
            why="The remaining axes have to be known at compile time.",
        )
    if not -rank <= value.value < rank:
        raise ctx.mismatch(f"axis {value.value} of an array of rank {rank}", f"Give an axis from 0 to {rank - 1}.")
    return int(value.value) % rank


def shape_argument(frame: Frame, value: Value) -> tuple[ir.Operand, ...]:
    if isinstance(value, TupleValue):
        return tuple(as_index(frame.ctx, v, "an extent") for v in value.items)
    return (as_index(frame.ctx, value, "the shape"),)


def sizes_argument(frame: Frame, value: Value) -> tuple[ir.Operand, ...]:
    """The shape of a new array that the program gives."""
    return tuple(checked_size(frame, extent) for extent in shape_argument(frame, value))


def checked_size(frame: Frame, extent: ir.Operand) -> ir.Operand:
    """An extent of a new array, of which it is checked that it is not below zero; what rules give never is."""
    ctx = frame.ctx
    is_known = isinstance(extent, ir.Const) and extent.value >= 0
    if is_known or frame.is_rule or ctx.kernel is not None:
        return extent
    emit_check(ctx, check_size, extent, what=NEGATIVE)
    return extent if isinstance(extent, ir.Var) else ir.integer(0)


Type = TypeVar("Type", types.Type, types.Type | None)


def dtype_argument(frame: Frame, value: Value | None, default: Type) -> Type:
    if value is None or is_none(value):
        return default
    found = dtype_of(value.value) if isinstance(value, Static) else None
    if found is None:
        raise frame.ctx.mismatch(f"{describe(value)} as a dtype", "Give np.float64, np.float32 or an integer type.")
    return element_type(frame, found)


def element_type(frame: Frame, kind: types.Type) -> types.Type:
    """The type of numbers to convert to, unless numba has no arithmetic for it."""
    if isinstance(kind, types.Float) and kind not in (types.float32, types.float64):
        raise frame.ctx.unsupported(
            f"numbers of {kind}", "Use np.float32 or np.float64.", why="numba does not calculate with them."
        )
    return kind


def axes_of(frame: Frame, name: str, axis: Value | None, rank: int) -> tuple[int, ...] | None:
    """The axes that `axis` names, in order; None where it names none."""
    if axis is None or is_none(axis):
        return None
    given = items_or_one(axis)
    found = sorted(axis_argument(frame, name, one, rank) for one in given)
    if len(set(found)) < len(found):
        raise frame.ctx.mismatch(f"{name} over an axis twice", "Name each axis once.")
    return tuple(found)


def refused(what: str, instead: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        raise frame.ctx.unsupported(what, instead)

    return handle


def _same(frame: Frame, value: Value) -> Value:
    return value


# Of a real number or array, which is its own real part and conjugate.
identity = takes("np.real or np.conj", "a:value", _same)
