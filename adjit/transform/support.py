"""The few functions that generated code calls. Each is plain Python that numba compiles.

In: the extents of axes, or arrays. Out: an extent, or an error that NumPy would raise too.

    n = broadcast_extent(a.shape[0], b.shape[0])     the loop bound of `a + b`
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import lower_builtin, type_callable

from adjit.errors import Aliased


@njit
def broadcast_extent(left: int, right: int) -> int:
    """The extent of an axis that two operands share: one of them may be 1. ValueError if they do not fit."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    raise ValueError("operands could not be broadcast together")


@njit
def stored_extent(target: int, value: int) -> int:
    """The extent of an axis of an array that a value of extent `value` is stored into; ValueError if it does not."""
    if value != target and value != 1:
        raise ValueError("could not broadcast the value into the shape of the target")
    return target


@njit
def overlaps(left: Any, right: Any) -> bool:
    """Whether the memory from the first to the last element of `left` meets that of `right`."""
    if left.size == 0 or right.size == 0:
        return False
    left_low = left_high = left.ctypes.data
    for axis in range(left.ndim):
        reach = (left.shape[axis] - 1) * left.strides[axis]
        if reach > 0:
            left_high += reach
        else:
            left_low += reach
    right_low = right_high = right.ctypes.data
    for axis in range(right.ndim):
        reach = (right.shape[axis] - 1) * right.strides[axis]
        if reach > 0:
            right_high += reach
        else:
            right_low += reach
    return bool(left_low < right_high + right.itemsize and right_low < left_high + left.itemsize)


@njit
def check_separate(left: Any, right: Any) -> None:
    """Aliased if two arguments share memory of which one is written."""
    if overlaps(left, right):
        raise Aliased("two arguments share memory and the function writes into one of them")


def reassociable_add(total: float, term: float) -> float:
    """total + term, in a sum that the compiler may add up in any order, and so in SIMD lanes."""
    return total + term


def reassociable_sub(total: float, term: float) -> float:
    """total - term, in such a sum."""
    return total - term


@type_callable(reassociable_add)
@type_callable(reassociable_sub)
def _type_of_sum(context: Any) -> Any:
    def typer(total: types.Type, term: types.Type) -> types.Type | None:
        return total if isinstance(total, types.Float) and total == term else None

    return typer


@lower_builtin(reassociable_add, types.Float, types.Float)  # type: ignore[no-untyped-call, untyped-decorator]
def _add_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc", "contract"))


@lower_builtin(reassociable_sub, types.Float, types.Float)  # type: ignore[no-untyped-call, untyped-decorator]
def _subtract_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fsub(*args, flags=("reassoc", "contract"))
