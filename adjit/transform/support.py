"""The few functions that generated code calls. Each is plain Python that numba compiles.

In: the extents of axes, or arrays. Out: an extent, or an error that NumPy would raise too.

    n = broadcast_extent(a.shape[0], b.shape[0])     the loop bound of `a + b`
"""

from __future__ import annotations

from typing import Any

from numba import njit

from adjit.errors import Aliased, TypeMismatch


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


@njit
def check_output(output: Any, argument: Any) -> None:
    """TypeMismatch if an array that takes the gradient has another shape than the argument."""
    if output.shape != argument.shape:
        raise TypeMismatch("an array in `out` has another shape than its argument")
