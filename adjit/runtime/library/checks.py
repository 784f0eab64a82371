"""Checks of the extents of axes that operands share, as NumPy makes them, and of the caller's arrays.

In: extents, or arrays. Out: an extent, or nothing; or an error, for extents one that NumPy would raise too.

    n = broadcast_extent(a.shape[0], b.shape[0])     the loop bound of `a + b`
    check_separate(u, v)       Aliased, where a derivative writes into one of two arrays that share memory
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from adjit.errors import Aliased, BeyondLoop, OutOfBounds, Stretched, TypeMismatch, UnfitMask, UnfitShapes

UNFIT = "operands could not be broadcast together"
UNSTORED = "could not broadcast the value into the shape of the target"
UNEQUAL = "shapes do not fit"
EMPTY = "zero-size array to reduction operation which has no identity"
# how what numba and NumPy raise of shapes begins
_OF_LIBRARIES = (
    "incompatible array sizes", "Incompatible array sizes", "total size of new array", "zero-size array",
    "cannot reshape array", "shapes (", "matmul: ", "solve: ", "solve1: ", "fp and xp are not",
)  # fmt: skip
BEFOREHAND = "an axis\n  in code that checks its indices before it runs"
STRETCHED = "two axes differ in length, and this code is for axes of equal length"


def broadcast_extent(left: int, right: int, where: str = "") -> int:
    """The extent of an axis that two operands share: one of them may be 1. ValueError if they do not fit."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    if where:
        raise UnfitShapes(where, left, right)
    raise ValueError(UNFIT)


def stored_extent(target: int, value: int, where: str = "") -> int:
    """The extent of an axis that a value of extent `value` is stored into; ValueError if it does not fit."""
    if value == target or value == 1:
        return target
    if where:
        raise UnfitShapes(where, target, value)
    raise ValueError(UNSTORED)


def equal_extent(left: int, right: int, where: str = "") -> int:
    """The extent of two axes of one length, as those that a product sums over; ValueError if they differ in length."""
    if left == right:
        return left
    if where:
        raise UnfitShapes(where, left, right)
    raise ValueError(UNEQUAL)


def equal_size(left: int, right: int, where: str) -> None:
    """UnfitShapes if two sizes differ."""
    if left != right:
        raise UnfitShapes(where, left, right)


def same_extent(left: int, right: int) -> None:
    """Stretched if two axes are not of one length, as the code that follows takes them to be."""
    if left != right:
        raise Stretched(STRETCHED)


@njit
def slice_inside(start: int, stop: int, extent: int) -> None:
    """Stretched if a slice is not as long as its bounds say, as the code that follows takes it to be."""
    if not 0 <= start <= stop <= extent:
        raise Stretched("a slice exceeds its array, and this code is for slices within bounds")


def check_bounds(least: int, greatest: int, extent: int) -> None:
    """BeyondLoop if an index may be out of bounds that lies between these two; if they leave none, no trip has one."""
    if least <= greatest and least < -extent:
        raise BeyondLoop(BEFOREHAND, least, extent)
    if least <= greatest and greatest >= extent:
        raise BeyondLoop(BEFOREHAND, greatest, extent)


def check_index(index: int, extent: int, where: str) -> None:
    """OutOfBounds if an axis of this extent has no element at the index, which may count from its end."""
    if not -extent <= index < extent:
        raise OutOfBounds(where, index, extent)


def check_mask(extent: int, own: int, where: str) -> None:
    """UnfitMask if an axis of this extent is chosen from by a mask of another one."""
    if own != extent:
        raise UnfitMask(where, extent, own)


def check_size(extent: int, where: str) -> None:
    """ValueError, which says where, if an array is made with an axis of less than no elements."""
    if extent < 0:
        raise ValueError(where)


@njit
def index_range(indices: Any) -> tuple[int, int]:
    """The least and the greatest of an array of integers; 0 and -1 where it has none."""
    if indices.size == 0:
        return 0, -1
    least = greatest = 0
    is_first = True
    for place in indices.flat:
        if is_first or place < least:
            least = int(place)
        if is_first or place > greatest:
            greatest = int(place)
        is_first = False
    return least, greatest


@njit
def has_nan(array: Any) -> bool:
    """Whether some element is nan."""
    return bool(np.isnan(array).any())


def some_elements(extent: int, where: str = "") -> None:
    """ValueError if there are none of which one could be the greatest or the least."""
    if extent == 0:
        raise ValueError(where or EMPTY)


def is_of_shapes(fault: Exception) -> bool:
    """Whether code for equal lengths failed by the lengths, so that code that assumes nothing is to run.

    That gives the result, or an error that names the line and the lengths.
    """
    said = str(fault)
    is_unplaced = said in (UNFIT, UNSTORED, UNEQUAL) or said.startswith(_OF_LIBRARIES)
    return isinstance(fault, Stretched) or (isinstance(fault, ValueError) and is_unplaced)


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
def is_same_array(left: Any, right: Any) -> bool:
    """Whether two arrays of one rank are the same; Aliased where they share memory and are not."""
    if left.shape == right.shape and left.strides == right.strides and left.ctypes.data == right.ctypes.data:
        return True
    if overlaps(left, right):
        raise Aliased("more than one seed for an adjoint that changes views of one array")
    return False


@njit
def check_separate(left: Any, right: Any) -> None:
    """Aliased if two arguments share memory of which one is written."""
    if overlaps(left, right):
        raise Aliased("two arguments share memory, and the function writes into one of them")


@njit
def overlaps_itself(array: Any) -> bool:
    """Whether elements of an array share memory, as those of a broadcast array do."""
    for axis in range(array.ndim):
        # how far an element reaches with all that lie closer to each other
        reach = array.itemsize
        for other in range(array.ndim):
            is_closer = abs(array.strides[other]) < abs(array.strides[axis])
            is_closer |= other < axis and array.strides[other] == array.strides[axis]
            if is_closer and array.shape[other] > 1:
                reach += (array.shape[other] - 1) * abs(array.strides[other])
        if array.shape[axis] > 1 and abs(array.strides[axis]) < reach:
            return True
    return False


@njit
def check_apart(array: Any) -> None:
    """Aliased if elements of an array that is written share memory."""
    if overlaps_itself(array):
        raise Aliased("the function writes into an argument whose elements share memory, as after np.broadcast_to")


@njit
def check_output(output: Any, argument: Any) -> None:
    """TypeMismatch if an array that takes the gradient has another shape than the argument."""
    if output.shape != argument.shape:
        raise TypeMismatch(_ANOTHER_SHAPE)


_ANOTHER_SHAPE = "an array in `out` has another shape than its argument\n  Give an array with the argument's shape."
