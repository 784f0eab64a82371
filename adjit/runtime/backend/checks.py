"""How numba compiles checks of extents, hints, and powers and shifts of integers as NumPy and Python have them: a few
instructions each. LLVM's own shifts by 64 and more, and divisions by zero, have no meaning.

In: extents or numbers. Out: instructions. As functions of their own numba would take 40 ms for each.

    n = broadcast_extent(a.shape[0], b.shape[0])      two comparisons and a choice
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature

from adjit.errors import BeyondLoop, OutOfBounds, Stretched, UnfitMask, UnfitShapes
from adjit.runtime.backend.arrays import told
from adjit.runtime.backend.machine_code import has_fused_products
from adjit.runtime.library.checks import (
    BEFOREHAND,
    EMPTY,
    STRETCHED,
    UNEQUAL,
    UNFIT,
    UNSTORED,
    broadcast_extent,
    check_bounds,
    check_index,
    check_mask,
    check_size,
    equal_extent,
    equal_size,
    same_extent,
    some_elements,
    stored_extent,
)
from adjit.runtime.library.hints import (
    multiply_add,
    multiply_subtract,
    reassociable_add,
    reassociable_max,
    reassociable_min,
    reassociable_sub,
)
from adjit.runtime.library.integers import (
    NEGATIVE_COUNT,
    NO_INTEGER,
    integer_fmod,
    integer_power,
    shift_count,
    shift_left,
    shift_right,
)
from adjit.runtime.library.raising import RaisedWith, raise_made


def _of_sum(context: Any) -> Any:
    return lambda total, term: total if isinstance(total, types.Float) and total == term else None


def _in_any_order(instruction: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, term = args
        if isinstance(term, ir.Instruction) and term.opname == "fmul":
            term.flags = [*term.flags, "contract"]  # which a sum in any order may round once
        return getattr(builder, instruction)(*args, flags=("reassoc", "contract"))

    return lower


def _extreme(intrinsic: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        function = builder.module.declare_intrinsic(intrinsic, (kind,), ir.FunctionType(kind, (kind, kind)))
        return builder.call(function, args, fastmath=("nsz",))

    return lower


def _of_product(context: Any) -> Any:
    def typer(left: Any, right: Any, total: Any) -> Any:
        return total if isinstance(total, types.Float) and left == right == total else None

    return typer


def _rounded_once(is_less: bool) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right, total = args
        if has_fused_products():
            return builder.fma(builder.fneg(left) if is_less else left, right, total)
        return (builder.fsub if is_less else builder.fadd)(total, builder.fmul(left, right))

    return lower


told(multiply_add, _of_product, _rounded_once(False), 3)
told(multiply_subtract, _of_product, _rounded_once(True), 3)
told(reassociable_add, _of_sum, _in_any_order("fadd"), 2)
told(reassociable_sub, _of_sum, _in_any_order("fsub"), 2)
told(reassociable_max, _of_sum, _extreme("llvm.maximum"), 2)
told(reassociable_min, _of_sum, _extreme("llvm.minimum"), 2)


def _of_three(context: Any) -> Any:
    def typer(least: Any, greatest: Any, extent: Any) -> Any:
        return types.none if all(isinstance(t, types.Integer) for t in (least, greatest, extent)) else None

    return typer


def _bounded(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    given = (context.cast(builder, a, t, types.intp) for a, t in zip(args, signature.args, strict=True))
    least, greatest, extent = given
    is_low = builder.icmp_signed("<", least, builder.neg(extent))
    is_high = builder.icmp_signed(">=", greatest, extent)
    is_any = builder.icmp_signed("<=", least, greatest)
    with builder.if_then(builder.and_(is_any, builder.or_(is_low, is_high)), likely=False):
        given = builder.function.args[:2]
        beyond = _beyond(context, builder.module, [a.type for a in given])
        builder.ret(builder.call(beyond, (*given, builder.select(is_low, least, greatest), extent)))
    return context.get_dummy_value()


def _beyond(context: Any, module: Any, given: Sequence[Any]) -> Any:
    """What raises the error of an index: once for all checks of a function, as it takes longer to compile than these.

    given: the types of what a compiled function has first, where its result and its error go.
    """
    name = "adjit_beyond"
    if name in module.globals:
        return module.globals[name]
    word = ir.IntType(64)
    made = ir.Function(module, ir.FunctionType(ir.IntType(32), (*given, word, word)), name)
    made.linkage = "internal"
    made.attributes.add("noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    said, known = (BEFOREHAND, *made.args[2:]), (None, types.intp, types.intp)
    context.call_conv.return_dynamic_user_exc(builder, BeyondLoop, said, known)
    return made


told(check_bounds, _of_three, _bounded, 3)


def _told(
    function: Any, error: type[Exception], bare: tuple[type[Exception], str] | None = None, has_integers: bool = True
) -> Callable[[Any], Any]:
    """Registers what says of integers whether they are right, and the result of a call then. The error has the place
    that the function is called with last, a literal, and the integers, if it has them; `bare`: the error where the call
    has no place."""
    signature = inspect.signature(function)
    takes_place = "where" in signature.parameters
    count = len(signature.parameters) - takes_place
    has_result = signature.return_annotation == "int"

    def typer(context: Any) -> Any:
        def typed(*args: types.Type, **named: types.Type) -> types.Type | None:
            given = signature.bind(*args, **named).args
            integers, place = given[:count], given[count:]
            is_known = all(isinstance(t, types.StringLiteral) for t in place) if place else bare is not None
            is_of_integers = is_known and all(isinstance(t, types.Integer) for t in integers)
            return (types.intp if has_result else types.none) if is_of_integers else None

        typed.__signature__ = signature  # type: ignore[attr-defined]
        return typed

    def register(checked: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            given = [context.cast(builder, a, t, types.intp) for a, t in zip(args[:count], sig.args, strict=False)]
            holds, found = checked(builder, *given)
            with builder.if_then(builder.not_(holds), likely=False):
                if len(args) == count:
                    kind, text = bare or (error, "")
                    context.call_conv.return_user_exc(builder, kind, (text,))
                elif has_integers:
                    said, known = (sig.args[count].literal_value, *given), (None, *[types.intp] * count)
                    context.call_conv.return_dynamic_user_exc(builder, error, said, known)
                else:
                    context.call_conv.return_user_exc(builder, error, (sig.args[count].literal_value,))
            return found if has_result else context.get_dummy_value()

        told(function, typer, lower, *([count] if bare else []), *([count + 1] if takes_place else []))
        return checked

    return register


def _equal(builder: Any, left: Any, right: Any) -> Any:
    return builder.icmp_signed("==", left, right)


@_told(broadcast_extent, UnfitShapes, (ValueError, UNFIT))
def _shared_extent(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    takes_left = builder.or_(_equal(builder, left, right), _equal(builder, right, right.type(1)))
    fits = builder.or_(takes_left, _equal(builder, left, left.type(1)))
    return fits, builder.select(takes_left, left, right)


@_told(stored_extent, UnfitShapes, (ValueError, UNSTORED))
def _target_extent(builder: Any, target: Any, value: Any) -> tuple[Any, Any]:
    return builder.or_(_equal(builder, value, target), _equal(builder, value, value.type(1))), target


@_told(equal_extent, UnfitShapes, (ValueError, UNEQUAL))
@_told(equal_size, UnfitShapes)
@_told(same_extent, Stretched, (Stretched, STRETCHED))
def _equal_extents(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    return _equal(builder, left, right), left


@_told(some_elements, ValueError, (ValueError, EMPTY), has_integers=False)
def _some(builder: Any, extent: Any) -> tuple[Any, None]:
    return builder.icmp_signed("!=", extent, extent.type(0)), None


@_told(check_index, OutOfBounds)
def _has_element(builder: Any, index: Any, extent: Any) -> tuple[Any, None]:
    is_low = builder.icmp_signed("<", index, builder.neg(extent))
    return builder.not_(builder.or_(is_low, builder.icmp_signed(">=", index, extent))), None


@_told(check_mask, UnfitMask)
def _fits(builder: Any, extent: Any, own: Any) -> tuple[Any, None]:
    return _equal(builder, extent, own), None


@_told(check_size, ValueError, has_integers=False)
def _is_size(builder: Any, extent: Any) -> tuple[Any, None]:
    return builder.icmp_signed(">=", extent, extent.type(0)), None


# ----------------------------------------------------------------------------------------------------------- exceptions


def _of_values(context: Any) -> Any:
    def typed(kind: types.Type, how: types.Type, values: types.Type) -> types.Type | None:
        is_known = isinstance(kind, types.ExceptionClass) and isinstance(how, types.StringLiteral)
        return types.none if is_known and isinstance(values, types.BaseTuple) else None

    return typed


def _raised(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, how, own = sig.args
    kinds = tuple(map(types.unliteral, own))
    values = [context.cast(builder, builder.extract_value(args[2], k), t, kinds[k]) for k, t in enumerate(own)]
    for one, value in zip(kinds, values, strict=True):
        context.nrt.incref(builder, one, value)  # the exception has it, too
    said, known = (kind.exc_class, how.literal_value, *values), (None, None, *kinds)
    with builder.if_then(context.get_constant(types.boolean, True), likely=False):
        context.call_conv.return_dynamic_user_exc(builder, RaisedWith, said, known)
    return context.get_dummy_value()


told(raise_made, _of_values, _raised, 3)


# ------------------------------------------------------------------------------------------------------------- integers


def _type_of(*given: types.Type) -> types.Type | None:
    if not all(isinstance(kind, types.Integer | types.Boolean) for kind in given):
        return None
    return types.uint64 if types.uint64 in given else types.intp


def _of_one(context: Any) -> Any:
    return lambda value: _type_of(value)


def _of_two(context: Any) -> Any:
    return lambda value, by: _type_of(value, by)


def _lowered(function: Any, count: int) -> Any:
    """Registers what writes the instructions, of operands that are all of one type."""

    def register(write: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = sig.return_type
            wide = [context.cast(builder, a, t, kind) for a, t in zip(args, sig.args, strict=True)]
            return write(context, builder, kind, *wide)

        told(function, _of_one if count == 1 else _of_two, lower, count)
        return write

    return register


def _holds(context: Any, builder: Any, holds: Any, said: str) -> None:
    with builder.if_then(builder.not_(holds), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (said,))


@_lowered(integer_power, 2)
def _power(context: Any, builder: Any, kind: Any, base: Any, exponent: Any) -> Any:
    if kind.signed:
        _holds(context, builder, builder.icmp_signed(">=", exponent, exponent.type(0)), NO_INTEGER)
    made = context.get_function(operator.pow, signature(kind, kind, kind))
    return made(builder, (base, exponent))


@_lowered(integer_fmod, 2)
def _fmod(context: Any, builder: Any, kind: Any, value: Any, by: Any) -> Any:
    # of the least integer by -1 the instruction has no result: it is 0, as by 1
    is_of_all = builder.icmp_unsigned("==", by, by.type(0))
    if kind.signed:
        is_of_all = builder.or_(is_of_all, builder.icmp_signed("==", by, by.type(-1)))
    by = builder.select(is_of_all, by.type(1), by)
    return builder.srem(value, by) if kind.signed else builder.urem(value, by)


@_lowered(shift_count, 1)
def _count(context: Any, builder: Any, kind: Any, count: Any) -> Any:
    if kind.signed:
        _holds(context, builder, builder.icmp_signed(">=", count, count.type(0)), NEGATIVE_COUNT)
    return count


@_lowered(shift_left, 2)
def _left(context: Any, builder: Any, kind: Any, value: Any, count: Any) -> Any:
    is_within = builder.icmp_unsigned("<", count, count.type(64))
    shifted = builder.shl(value, builder.select(is_within, count, count.type(0)))
    return builder.select(is_within, shifted, value.type(0))


@_lowered(shift_right, 2)
def _right(context: Any, builder: Any, kind: Any, value: Any, count: Any) -> Any:
    is_within = builder.icmp_unsigned("<", count, count.type(64))
    if kind.signed:
        return builder.ashr(value, builder.select(is_within, count, count.type(63)))
    shifted = builder.lshr(value, builder.select(is_within, count, count.type(0)))
    return builder.select(is_within, shifted, value.type(0))
