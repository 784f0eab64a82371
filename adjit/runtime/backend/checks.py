"""How numba compiles the checks of extents and the hints of generated code: a few instructions each.

In: extents or numbers. Out: instructions. As functions of their own numba would take 40 ms for each.

    n = broadcast_extent(a.shape[0], b.shape[0])      two comparisons and a choice
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from adjit.errors import Stretched
from adjit.runtime.library.extents import STRETCHED, UNFIT, UNSTORED, broadcast_extent, same_extent, stored_extent
from adjit.runtime.library.hints import reassociable_add, reassociable_sub


@type_callable(reassociable_add)
@type_callable(reassociable_sub)
def _type_of_sum(context: Any) -> Any:
    def typer(total: types.Type, term: types.Type) -> types.Type | None:
        return total if isinstance(total, types.Float) and total == term else None

    return typer


@lower_builtin(reassociable_add, types.Float, types.Float)
def _add_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc", "contract"))


@lower_builtin(reassociable_sub, types.Float, types.Float)
def _subtract_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fsub(*args, flags=("reassoc", "contract"))


def _type_of_extents(result: types.Type) -> Any:
    def of_context(context: Any) -> Any:
        def typer(left: types.Type, right: types.Type) -> types.Type | None:
            return result if isinstance(left, types.Integer) and isinstance(right, types.Integer) else None

        return typer

    return of_context


type_callable(broadcast_extent)(_type_of_extents(types.intp))
type_callable(stored_extent)(_type_of_extents(types.intp))
type_callable(same_extent)(_type_of_extents(types.none))


def _extents(context: Any, builder: Any, signature: Any, args: Any) -> list[Any]:
    return [context.cast(builder, a, t, types.intp) for a, t in zip(args, signature.args, strict=True)]


@lower_builtin(broadcast_extent, types.Integer, types.Integer)
def _shared_extent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    left, right = _extents(context, builder, signature, args)
    takes_left = builder.or_(builder.icmp_signed("==", left, right), builder.icmp_signed("==", right, right.type(1)))
    is_one = builder.icmp_signed("==", left, left.type(1))
    with builder.if_then(builder.not_(builder.or_(takes_left, is_one)), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (UNFIT,))
    return builder.select(takes_left, left, right)


@lower_builtin(stored_extent, types.Integer, types.Integer)
def _target_extent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    target, value = _extents(context, builder, signature, args)
    fits = builder.or_(builder.icmp_signed("==", value, target), builder.icmp_signed("==", value, value.type(1)))
    with builder.if_then(builder.not_(fits), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (UNSTORED,))
    return target


@lower_builtin(same_extent, types.Integer, types.Integer)
def _equal_extents(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    left, right = _extents(context, builder, signature, args)
    with builder.if_then(builder.icmp_signed("!=", left, right), likely=False):
        context.call_conv.return_user_exc(builder, Stretched, (STRETCHED,))
    return context.get_dummy_value()
