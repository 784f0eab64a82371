"""The extents of axes that operands share, checked as NumPy checks them.

In: the extents of axes. Out: an extent, or an error that NumPy would raise too.

    n = broadcast_extent(a.shape[0], b.shape[0])     the loop bound of `a + b`
"""

from __future__ import annotations

from numba import njit

from adjit.errors import Stretched

UNFIT = "operands could not be broadcast together"
UNSTORED = "could not broadcast the value into the shape of the target"
STRETCHED = "two axes differ in length where this code takes them to be the same"


def broadcast_extent(left: int, right: int) -> int:
    """The extent of an axis that two operands share: one of them may be 1. ValueError if they do not fit."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    raise ValueError(UNFIT)


def stored_extent(target: int, value: int) -> int:
    """The extent of an axis of an array that a value of extent `value` is stored into; ValueError if it does not."""
    if value != target and value != 1:
        raise ValueError(UNSTORED)
    return target


def same_extent(left: int, right: int) -> None:
    """Stretched if two axes are not of one length, as the code that follows takes them to be."""
    if left != right:
        raise Stretched(STRETCHED)


@njit
def slice_inside(start: int, stop: int, extent: int) -> None:
    """Stretched if a slice is not as long as its bounds say, as the code that follows takes it to be."""
    if not 0 <= start <= stop <= extent:
        raise Stretched("a slice goes beyond its array where this code takes it not to")


@njit
def some_elements(extent: int) -> None:
    """ValueError if there are none of which one could be the greatest or the least."""
    if extent == 0:
        raise ValueError("zero-size array to reduction operation which has no identity")
