"""How numba compiles the checks of extents and the hints of generated code: a few instructions each.

In: extents or numbers. Out: instructions. As functions of their own numba would take 40 ms for each.

    n = broadcast_extent(a.shape[0], b.shape[0])      two comparisons and a choice
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from adjit.errors import Stretched
from adjit.runtime.backend.arrays import told
from adjit.runtime.library.checks import (
    BEYOND,
    OTHER_ITEM,
    OTHER_OUTPUT,
    STRETCHED,
    UNFIT,
    UNFIT_FACTORS,
    UNSTORED,
    broadcast_extent,
    check_bounds,
    inner_extent,
    item_extent,
    output_extent,
    same_extent,
    stored_extent,
)
from adjit.runtime.library.hints import reassociable_add, reassociable_max, reassociable_min, reassociable_sub, usual


def _of_sum(context: Any) -> Any:
    return lambda total, term: total if isinstance(total, types.Float) and total == term else None


def _in_any_order(instruction: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=("reassoc", "contract"))

    return lower


def _extreme(intrinsic: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        function = builder.module.declare_intrinsic(intrinsic, (kind,), ir.FunctionType(kind, (kind, kind)))
        return builder.call(function, args, fastmath=("nsz",))

    return lower


told(reassociable_add, _of_sum, _in_any_order("fadd"), 2)
told(reassociable_sub, _of_sum, _in_any_order("fsub"), 2)
told(reassociable_max, _of_sum, _extreme("llvm.maximum"), 2)
told(reassociable_min, _of_sum, _extreme("llvm.minimum"), 2)


def _of_test(context: Any) -> Any:
    return lambda test: test if isinstance(test, types.Boolean) else None


def _expected(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = args[0].type
    function = builder.module.declare_intrinsic("llvm.expect", (kind,), ir.FunctionType(kind, (kind, kind)))
    return builder.call(function, (args[0], kind(1)))


told(usual, _of_test, _expected, 1)


def _checks(function: Any, result: types.Type, error: type[Exception], message: str) -> Callable[[Any], Any]:
    """Registers what says of two extents whether they fit, and the result of a call then."""

    def typer(context: Any) -> Any:
        return lambda left, right: result if all(isinstance(t, types.Integer) for t in (left, right)) else None

    def register(checked: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right = (context.cast(builder, a, t, types.intp) for a, t in zip(args, signature.args, strict=True))
            fits, found = checked(builder, left, right)
            with builder.if_then(builder.not_(fits), likely=False):
                context.call_conv.return_user_exc(builder, error, (message,))
            return context.get_dummy_value() if found is None else found

        told(function, typer, lower, 2)
        return checked

    return register


def _equal(builder: Any, left: Any, right: Any) -> Any:
    return builder.icmp_signed("==", left, right)


@_checks(broadcast_extent, types.intp, ValueError, UNFIT)
def _shared_extent(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    takes_left = builder.or_(_equal(builder, left, right), _equal(builder, right, right.type(1)))
    fits = builder.or_(takes_left, _equal(builder, left, left.type(1)))
    return fits, builder.select(takes_left, left, right)


@_checks(stored_extent, types.intp, ValueError, UNSTORED)
def _target_extent(builder: Any, target: Any, value: Any) -> tuple[Any, Any]:
    return builder.or_(_equal(builder, value, target), _equal(builder, value, value.type(1))), target


@_checks(item_extent, types.intp, ValueError, OTHER_ITEM)
def _item_extent(builder: Any, items: Any, given: Any) -> tuple[Any, Any]:
    return _equal(builder, items, given), items


@_checks(inner_extent, types.intp, ValueError, UNFIT_FACTORS)
def _inner_extent(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    return _equal(builder, left, right), left


@_checks(output_extent, types.intp, ValueError, OTHER_OUTPUT)
def _output_extent(builder: Any, output: Any, made: Any) -> tuple[Any, Any]:
    return _equal(builder, output, made), output


@_checks(same_extent, types.none, Stretched, STRETCHED)
def _equal_extents(builder: Any, left: Any, right: Any) -> tuple[Any, None]:
    return _equal(builder, left, right), None


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
        context.call_conv.return_user_exc(builder, Stretched, (BEYOND,))
    return context.get_dummy_value()


told(check_bounds, _of_three, _bounded, 3)
