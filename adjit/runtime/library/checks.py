"""Checks of the caller's arrays.

In: arrays. Out: nothing, or an error.

    check_separate(u, v)       Aliased, where a derivative writes into one of two arrays that share memory
"""

from __future__ import annotations

from typing import Any

from numba import njit

from adjit.errors import Aliased, TypeMismatch


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
        raise TypeMismatch(_ANOTHER_SHAPE)


_ANOTHER_SHAPE = "an array in `out` has another shape than its argument\n  Give one of the argument's shape."
